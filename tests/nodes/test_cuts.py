"""A LostGradientError names what cut the history: variable, line, what to write instead."""

import inspect
import math
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow.nodes.cuts import CAUSES, explain


def not_recorded(x):
    with af.no_grad():
        y = x * 2
    return np.sum(y) + 1.0


def of_several_results(x):
    with af.no_grad():
        q, _ = np.linalg.qr(np.outer(x, x) + np.eye(2))
    return np.sum(q)


@af.no_grad()
def inner(x):
    return np.sum(x * x)


def frozen(x):
    x.requires_grad = False
    return np.sum(np.exp(x))


def frozen_itself(x):
    x.requires_grad = False
    return x


def made_of_constants(x):
    c = af.Constant([1.0, 2.0])
    return np.sum(c * 2.0)


EXPECTED = {  # the function -> what is said, and of which of its lines
    (lambda x: np.sum(x.detach() * 2)): ("its history was cut by x.detach()", 0),
    (lambda x: np.sum(af.stop_gradient(x))[None][0]): ("its history was cut by af.stop_gradient(x)", 0),
    not_recorded: ("it was computed under af.no_grad()", 1), frozen: ("Set x.requires_grad = True", 1),
    of_several_results: ("it was computed under af.no_grad()", 1), frozen_itself: ("Set x.requires_grad = True", 1),
    (lambda x: inner(x) * 2.0): ("it was computed under af.no_grad()", None),
    made_of_constants: ("first of af.Constant([1.0, 2.0])", 1),
}  # fmt: skip


@pytest.mark.parametrize(("f", "cause"), EXPECTED.items())
def test_the_cause_is_named(f, cause):
    text, row = cause
    y = f(af.Variable([1.0, 2.0], name="x"))
    with pytest.raises(af.errors.LostGradientError) as caught:
        af.backward(y)
    message = str(caught.value)
    assert text in message
    assert "usual causes" not in message
    if not isinstance(y, af.Variable):
        with pytest.raises(af.errors.LostGradientError, match="no gradient flows to y, a Constant"):
            y.backward()
    line = inner.f.__code__.co_firstlineno if row is None else f.__code__.co_firstlineno + row
    assert f"(line {line} of test_cuts.py)" in message
    with pytest.raises(af.errors.LostGradientError) if not isinstance(y, af.Variable) else pytest.raises(TypeError):
        y.register_hook(print if not isinstance(y, af.Variable) else None)


def by_item(x):
    y = np.sum(x * x)
    return y.item() * 2.0


def by_value(x):
    y = np.exp(x).value
    return np.sum(y)


def as_array(x):
    y = np.asarray(x)
    print(float(np.sum(x)))  # shows a number, and takes none
    return np.sum(y * y)


TAKERS = {  # what takes numbers -> a function, and the word of the advice
    "float(np.sum(x * x))": lambda x: float(np.sum(x * x)), "y.item()": by_item, "np.exp(x).value": by_value,
    "x.tolist()": lambda x: sum([v * v for v in x.tolist()]), "np.asarray(x)": as_array,
    "math.sin(x[0])": lambda x: math.sin(x[0]) * 2.0, "float(v)": lambda x: np.sum([float(v) for v in x * 2.0]),
}  # fmt: skip
STEPS = {
    "np.argmax(x * 2.0)": lambda x: np.argmax(x * 2.0),
    "(x * 2.0).argmax()": lambda x: (x * 2.0).argmax() * 1.0, "x > 0.5": lambda x: 1.0 - np.mean(x > 0.5),
    "(x * 2.0).astype(int)": lambda x: np.sum((x * 2.0).astype(int)),
}  # fmt: skip


@pytest.mark.parametrize("text", TAKERS | STEPS)
def test_what_takes_numbers_out_of_the_graph_is_named(text, capsys):
    f = (TAKERS | STEPS)[text]
    source, first = Path(__file__).read_text(encoding="utf-8").splitlines(), f.__code__.co_firstlineno
    line = next(k for k, row in enumerate(source, 1) if k >= first and text in row)
    for differentiate in (af.grad, af.value_and_grad, af.jacobian):
        with pytest.raises(af.errors.LostGradientError) as caught, af.options(prove="never"):
            differentiate(f)(np.ones(2))
        message = str(caught.value)
        advice = "A step has no slope" if text in STEPS else "Use NumPy's functions on"
        assert f"numbers leave the graph at {text} (line {line} of test_cuts.py). {advice}" in message
        assert "usual causes" not in message
    capsys.readouterr()
    if "math" not in text:
        found = af.diagnose(lambda: f(af.Variable(np.ones(2), name="x") * 1.0))
        assert found.kinds == ("no history",)


def test_backward_of_a_number_says_where_it_came_from():
    x = af.Variable([1.0, 2.0], name="x")
    loss = float(np.sum(x * x))
    with pytest.raises(af.errors.LostGradientError, match=r"float 5.0: numbers leave the graph at float\(np.sum\(x"):
        af.backward(loss)


def halved(x):
    return float(x) / 2


def test_what_a_function_takes_is_found_from_where_backward_is_called():
    x = af.Variable(3.0, name="x")

    def above(v):
        return halved(v) + 1.0

    for start in (lambda: af.backward(above(x)), lambda: af.grad(lambda v: above(v))(3.0)):
        with pytest.raises(
            af.errors.LostGradientError, match=r"at float\(x\) \(line \d+ of test_cuts.py\). Use"
        ) as caught:
            start()
        assert "usual causes" not in str(caught.value)


def test_why_says_what_separates_two_nodes():
    w, x = af.Variable(2.0, name="w"), af.Variable([1.0, 2.0], name="x")
    loss = np.sum(float(w) * x)
    with pytest.raises(af.errors.LostGradientError, match=r"reaches w: float\(w\) takes a number out of the graph"):
        w.why(loss)
    loss = np.sum(w.detach() * x)
    with pytest.raises(af.errors.LostGradientError, match=r"reaches w: its history was cut by w.detach\(\) \(line"):
        w.why(loss)


def by_an_optimiser(w, X):
    af.optim.SGD([w], lr=0.1).step()


def by_assign(w, X):
    w.assign([3.0, 4.0])


def by_no_grad(w, X):
    with af.no_grad():
        w -= 0.1


def by_an_item(w, X):
    with af.no_grad():
        w[0] = 5.0


def by_its_value(w, X):
    w.value = [3.0, 4.0]


def into_data(w, X):
    X[:] = 7.0


WRITES = {
    "af.optim.SGD([w], lr=0.1).step()": by_an_optimiser, "w.assign([3.0, 4.0])": by_assign, "w -= 0.1": by_no_grad,
    "w[0] = 5.0": by_an_item,
    "w.value = [3.0, 4.0]": by_its_value, "X[:] = 7.0": into_data, "X.sort(axis=0)": lambda w, X: X.sort(axis=0),
    "X, shuffled": lambda w, X: np.random.default_rng(1).shuffle(X),
}  # fmt: skip


@pytest.mark.parametrize("last", WRITES)
def test_a_stale_value_is_named_with_the_write_and_what_to_do(last):
    w, X = af.Variable([1.0, 2.0], name="w"), np.random.default_rng(0).normal(size=(5000, 2))
    np.sum(w).backward()
    loss = np.mean((X @ w) ** 2) + np.sum(w**3)
    first = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    WRITES[last](w, X)
    with pytest.raises(af.errors.StaleValueError, match=rf"\(line {first} of test_cuts.py\)") as caught:
        loss.backward()
    message = str(caught.value)
    if "X" in last:
        assert "the derivative of X @ w (line" in message
        assert "needs X, a plain array of shape (5000, 2) that has been written into since" in message
    else:
        assert "needs the value of w, which " + last in message
        assert "w.copy()" in message
    assert "Call backward() before that" in message


def test_transforms_name_it_too():
    def f(v):
        return np.sum(v.detach() * 2.0)

    for differentiate in (af.grad, af.value_and_grad, af.jacobian, af.hessian):
        with pytest.raises(af.errors.LostGradientError, match=r"its history was cut by .*Leave out detach"):
            differentiate(f)(np.ones(2))
    x = af.Variable(np.ones(2), name="x")
    with pytest.raises(af.errors.LostGradientError, match="it is made of Constants"):
        af.gradients(np.sum(x * x), [af.Constant(1.0)])


def test_without_places_the_cause_is_named_all_the_same():
    with af.options(source=False):
        x = af.Variable([1.0, 2.0], name="x")
        assert explain(x.detach()).startswith("its history was cut by detach() or stop_gradient().")
        assert explain(af.Constant(x)).startswith("an af.Constant has its numbers only")


def test_a_constant_of_a_node_names_itself():
    x = af.Variable([1.0, 2.0], name="x")
    assert explain(af.Constant(x * 2.0)).startswith("af.Constant(x * 2.0) (line ")
    assert "has its numbers only" in explain(af.Constant(x) * 3.0)
    assert "has its numbers only" not in explain(af.Constant(x.detach()))


def test_what_nothing_is_known_of():
    assert explain(np.ones(2)) == ""
    assert set(CAUSES) == {"detached", "not recorded", "frozen", "not a float", "made", "wrapped"}
