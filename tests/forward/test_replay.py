"""A recorded graph, run again with other inputs."""

import pickle

import numpy as np
import pytest
from row_examples import examples_of
from support import rows, values_of

import autoflow as af
from autoflow.errors import LostGradientError, NoRuleError, StaleValueError
from autoflow.forward.replay import record_again, replay

ONCE = rows()


@pytest.mark.thorough
@pytest.mark.parametrize("row", ONCE, ids=lambda row: row.name)
def test_every_row_gives_the_same_bits_again(row):
    for example in examples_of(row)[:4]:
        operands = [af.Variable(v) if v is not None and v.dtype.kind in "fc" else v for v in values_of(row, example)]
        try:
            node = row.function(*([operands] if row.variadic else operands), **example.options)
        except (np.linalg.LinAlgError, ValueError, TypeError):  # it wants special inputs
            continue
        if isinstance(node, af.Operation):
            again = node.replay()
            np.testing.assert_array_equal(again, node.value)
            assert type(again) is np.ndarray
            assert again.dtype == node.dtype
            used = [p for p in node.grad_fn.parents if isinstance(p, af.Variable)]
            np.testing.assert_array_equal(node.replay({v: v.value for v in used[:1]}), node.value)


def test_other_inputs():
    x, w = af.Variable([1.0, 2.0]), af.Variable([[1.0, 2.0], [3.0, 4.0]])
    loss = (np.tanh(x @ w) ** 2).sum() + x[1:].sum() * 2
    new = np.array([0.5, -1.0])
    expected = (np.tanh(new @ w.value) ** 2).sum() + new[1:].sum() * 2
    assert loss.replay({x: new}) == expected
    assert loss.replay({x: [0.5, -1]}) == expected
    assert replay(loss.grad_fn, {x: new}) == expected
    assert loss.replay() == loss.value


def test_a_node_on_the_way_may_be_given_and_variables_have_the_values_of_now():
    x = af.Variable(2.0)
    a = np.exp(x)
    y = a * x
    assert y.replay({a: 10.0}) == 20.0
    assert y.replay({a: 10.0, x: 3.0}) == 30.0
    x.assign(5.0)
    assert y.replay({a: 10.0}) == 50.0


def test_writes_in_place():
    x = af.Variable([1.0, 2.0, 3.0])
    u = x * 1.0
    u[1:] += x[:-1]
    v = u.T
    v *= 2.0
    np.testing.assert_array_equal(u.replay({x: [2.0, 2.0, 2.0]}), [4.0, 8.0, 8.0])


def test_dtypes_stay():
    x = af.Variable(np.float32(2.0))
    y = x * 0.1 + 1.0
    assert y.replay({x: 3.0}).dtype == np.float32
    assert af.Variable(2.0).sum().replay().dtype == np.float64


def test_a_chain_of_any_length():
    x = af.Variable(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    assert y.replay({x: 5.0}) == 20_005.0


def test_nothing_is_recorded_and_nothing_changes():
    x = af.Variable(1.0, name="x")
    y = np.sin(x)
    before = y.value.copy()
    y.replay({x: 2.0})
    assert x.value == 1.0
    assert y.value == before
    assert x.grad is None


def test_record_again_has_gradients_and_names():
    x = af.Variable(2.0, name="x")
    a = x * x
    a.name = "a"
    z = a * np.maximum(x, af.Constant(1.0, "low"))
    y, new = record_again(z, {x: 3.0})
    y.backward()
    assert new[x].grad == 27.0
    assert new[a.grad_fn].name == "a"
    assert x.grad is None
    assert y.value == 27.0
    y, new = record_again(z, {a: 5.0})  # from there on
    y.backward()
    assert (y.value, new[a.grad_fn].grad, x in new) == (10.0, 2.0, True)


def test_what_is_refused():
    x, y = af.Variable([1.0, 2.0], name="x"), af.Variable(1.0, name="y")
    z = af.Operation.create_node([1.0, 4.0], "my_square", x)
    z.grad_fn = lambda g: g * 2 * x.value
    for call, error, words in (
        (
            lambda: x.sum().replay({x: np.ones(3)}),
            ValueError,
            r"x was recorded with shape \(2,\) and cannot be given shap",
        ),
        (lambda: (x * 2).replay({y: 1.0}), ValueError, "y plays no part"),
        (lambda: (x * 2).replay({"x": 1.0}), ValueError, "inputs are Variables"),
        (lambda: af.Constant(1.0).replay(), LostGradientError, "const_0 has no history"),
        (lambda: (z + 1).replay({x: [4.0, 5.0]}), NoRuleError, "my_square_0 cannot be run again"),
    ):
        with pytest.raises(error, match=words):
            call()
    np.testing.assert_array_equal((z + 1).replay({z: [4.0, 5.0]}), [5.0, 6.0])


def test_plain_operands_are_kept_or_noticed():
    """Small ones are copied; large ones are not kept where no derivative needs them, and may have been overwritten."""
    x, small, large = af.Variable(np.ones(5000)), np.array([3.0]), np.ones(5000)
    y = x * large
    assert y.replay({x: np.zeros(5000)}).sum() == 0
    z = x * small
    small[:] = large[:] = 7.0
    np.testing.assert_array_equal(z.replay({x: np.ones(5000)}), np.full(5000, 3.0))
    with pytest.raises(StaleValueError, match=r"operand 2 of multiply_0.* has been written into"):
        y.replay({x: np.zeros(5000)})
    with pytest.raises(StaleValueError, match=r"operand 2 of add_0, an array of shape \(5000,\), was not kept"):
        (x + np.ones(5000)).replay({x: np.zeros(5000)})
    kept = x + af.Constant(np.ones(5000))
    np.testing.assert_array_equal(kept.replay({x: np.zeros(5000)}), np.ones(5000))


def test_pictures_with_other_inputs():
    x, y = af.Variable([1.0, 2.0], name="x"), af.Variable(3.0, name="y")
    z = x * y
    z.name = "z"
    total = z.sum()
    total.name = "total"
    g = af.graph([z, total], gradients=True, detail="lesson", highlight=x, around=z)
    same = g.replay({})
    assert same == g
    other = g.replay({x: [5.0, 6.0]}).replay({y: 2.0})  # of the same nodes: x is as it was
    values = {v.title: v.value.elements for v in other.nodes}
    assert values["x"] == (1.0, 2.0)
    assert values["z"] == (2.0, 4.0)
    assert other.gradients
    assert other.look == g.look
    assert x.grad is None
    np.testing.assert_array_equal(x, [1.0, 2.0])
    with pytest.raises(ValueError, match="plays no part"):
        g.replay({af.Variable(1.0): 2.0})
    with pytest.raises(ValueError, match="draw it again"):
        pickle.loads(pickle.dumps(g)).replay({x: [5.0, 6.0]})


def test_replay_as_a_program():
    """Compiled, the graph runs without bookkeeping; what is not given is read anew at every call."""
    x, w = af.Variable(np.ones(3)), af.Variable(np.arange(3.0))
    y = np.tanh(x * w).sum() + w.max()
    at = af.compile(lambda value: y.replay({x: value}))
    for value in (np.ones(3), np.full(3, 2.0)):
        np.testing.assert_array_equal(at(value), y.replay({x: value}))
    with af.no_grad():
        w += 1.0
    np.testing.assert_array_equal(at(np.ones(3)), np.tanh(w.value).sum() + 3.0)


def test_replay_takes_the_numbers_of_other_arrays():
    x = af.Variable(np.array([[1.0, 2.0], [3.0, 4.0]]))
    y = x**2
    masked = np.ma.array([[5.0, 2.0], [3.0, 4.0]], mask=[[1, 0], [0, 0]])
    np.testing.assert_array_equal(y.replay({x: masked})[0, 0], 25.0)


def test_pictures_of_replays_keep_their_boxes_and_need_no_mode():
    x = af.Variable(np.ones(2), name="x")
    with af.scope("box"):
        y = np.tanh(x * 2.0)
    g = af.graph(y.sum(), depth=0)
    with af.no_grad():
        other = g.replay({x: np.zeros(2)})
    assert len(other.drawn.nodes) == len(g.drawn.nodes)
    assert len(other.open("box").drawn.nodes) == len(g.open("box").drawn.nodes) > len(g.drawn.nodes)


@pytest.mark.parametrize("size", [6, 60_000])
def test_what_a_row_kept_is_found_anew(size):
    """Of large arrays maximum keeps which argument won, and max always where its maxima are: not those of before."""
    x, y = af.Variable(np.arange(float(size))), np.arange(float(size))[::-1].copy()
    loss = np.maximum(x, y).sum() + np.max(x.reshape(2, -1), axis=0).sum()
    new, nodes = record_again(loss, {x: -x.value})
    new.backward()
    again = af.Variable(-x.value)
    (np.maximum(again, y).sum() + np.max(again.reshape(2, -1), axis=0).sum()).backward()
    np.testing.assert_array_equal(nodes[x].grad, again.grad)
    loss.backward()
    assert (x.grad != again.grad).any()
