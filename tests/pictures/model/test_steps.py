"""Stepping: the steps say what backward() does, in its order, and end in the numbers of the picture."""

import dataclasses
import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
from graphs import lesson, repeat, shared
from hypothesis import example as tried, given
from support import Split

import autoflow as af
from autoflow.backprop import engine
from autoflow.pictures import graph, step, steps, wrong_queue_steps

FUNCTIONS = [np.add, np.subtract, np.multiply, np.sin, np.cos, np.tanh, np.maximum]


def phases(found):
    return [s.phase for s in found]


def visited(root):
    """The names of the operations in the order in which a pass of the engine itself reaches them."""
    order = []

    def step(pair):
        record, g = pair
        order.append(record.node_name)
        sent = record(g)
        return g, [lambda g, s, k=k: s[k] for k in range(len(sent))], sent, None

    engine.pull_back(root.grad_fn, np.ones(root.shape), step)
    return order


def test_the_steps_of_the_lesson():
    a5, _ = lesson()
    found = a5.steps()
    assert [s.number for s in found] == list(range(len(found)))
    assert phases(found) == ["start"] + ["forward"] * 10 + ["seed"] + ["backward"] * 10 + ["end"]
    captions = [s.caption for s in found]
    assert captions[0] == "x = 2, y = 1, z = 0.5"
    sent = "cos(a2) has gradient −3.5, sends back   to a2: −3.5 × −0.8415 = 2.945   so far 9.564"
    assert {"a5 = a3 - a4 = 8.417", "sin(a2) = 0.8415", "∂a5/∂a5 = 1", sent} <= {*captions}
    assert captions[-1] == "∂a5/∂x = 10.13, ∂a5/∂y = 14.91, ∂a5/∂z = 24.48"
    ids = [s.node for s in found if s.phase == "forward"]
    assert ids == sorted(ids)  # in the order of creation
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[0].phase = "end"
    assert pickle.loads(pickle.dumps(found)) == found


def test_every_product_and_every_sum():
    a5, variables = lesson()
    a5.backward()
    last = {}
    for s in a5.steps():
        for p in s.products:
            assert p.sent.elements[0] == pytest.approx(s.gradient.elements[0] * p.local.elements[0])
            assert 1 <= p.place <= p.of_places
            last[p.title] = p.so_far.elements[0]
    for v in variables:
        assert last[v.name] == v.grad  # to the last bit: added up in the engine's order


@given(st.integers(0, 2**32), st.integers(1, 14))
@tried(39972063, 12)  # contributions that arrive in another order than that of their uses
@tried(166, 12)
def test_random_programs(seed, operations):
    """Order, sums and end of random programs on numbers agree with backward()."""
    af.reset()
    rng = np.random.default_rng(seed)
    leaves = [af.Variable(rng.uniform(-2, 2), name=f"v{k}") for k in range(3)]
    nodes = list(leaves)
    for _ in range(operations):
        f = FUNCTIONS[rng.integers(len(FUNCTIONS))]
        nodes.append(f(*[nodes[k] for k in rng.integers(len(nodes), size=f.nin)]))
    root = nodes[-1]
    root.backward()
    g = graph(root, gradients=True)
    found = steps(root)
    assert [g.nodes[s.node].name for s in found if s.phase == "backward"] == visited(root)
    sums = {p.title: p.so_far.elements[0] for s in found for p in s.products}
    assert all([sums[v.name] == v.grad for v in leaves if v.grad is not None])
    pulled = [s for s in found if s.phase == "backward"]
    assert len({s.node for s in pulled}) == len(pulled)
    for s in pulled:
        assert s.gradient.elements[0] == pytest.approx(g.nodes[s.node].gradient.elements[0])


def test_x_times_x_sends_twice():
    x = af.Variable(3.0, name="x")
    found = [s for s in (x * x).steps() if s.products]
    assert [(p.slot, p.title, p.place, p.of_places) for p in found[0].products] == [(0, "x", 1, 2), (1, "x", 2, 2)]
    assert found[0].products[1].so_far.elements == (6.0,)


def test_arrays_say_shape_and_size():
    w, b = af.Variable(np.ones((3, 4)), name="w"), af.Variable(np.ones(4), name="b")
    loss = np.sum((af.Constant(np.ones((2, 3)), name="data") @ w + b) * b)
    text = str(loss.step())
    assert "3 × 4, rms 1" in text
    assert "to b: [2, 2, 2, 2]   so far [10, 10, 10, 10]" in text
    assert loss.steps()[-1].caption.endswith("∂loss/∂b = [10, 10, 10, 10]")


def test_half_precision_is_added_as_backward_adds_it():
    x = af.Variable(np.float16(0.1), name="x")
    z = x * np.float16(2049) + x * np.float16(0.3) + x
    z.backward()
    last = [p.so_far for s in z.steps() for p in s.products if p.title == "x"][-1]
    assert last.dtype == "float16"
    assert last.elements[0] == float(x.grad)


def test_leaves_constants_and_complex_numbers():
    assert phases(steps(af.Variable(2.0, name="x"))) == ["start", "seed", "end"]
    assert phases(steps(af.Constant(2.0))) == ["start", "end"]
    found = steps(af.Variable(1j, name="z") * 2)
    assert phases(found) == ["start", "forward", "end"]
    assert "complex" in found[-1].caption
    with pytest.raises(TypeError, match="starts from a node"):
        steps(np.ones(3))


def test_several_outputs_and_backward_already_called():
    x = af.Variable(3.0, name="x")
    a, b = x * 2.0, x * 5.0
    b.backward()
    found = steps([a, b])
    assert phases(found).count("seed") == 2
    assert "7" in found[-1].caption
    assert x.grad == 5.0


def test_each_of_several_results_passes_its_gradient_on():
    x, y = af.Variable(2.0, name="x"), af.Variable(3.0, name="y")
    a, b = Split.apply(x, y)
    z = a * b
    captions = [step.caption for step in steps(z) if step.phase == "backward"]
    assert captions == [
        "z has gradient 1, sends back   to a: 1 × 5 = 5;   to b: 1 × 6 = 6",
        "Split(x, y) has the gradients 5 of a, 6 of b, sends back   to x: 21;   to y: 16",
    ]
    assert [[r.gradient.elements for r in v.results] for v in z.graph(gradients=True).drawn.nodes if v.results] == [
        [(5.0,), (6.0,)]
    ]  # no sum
    assert "= 5 + 6" not in str(z.graph("lesson", gradients=True))
    z.backward()
    assert (x.grad, y.grad) == (21.0, 16.0)


def test_a_value_that_is_gone_leaves_the_way_forward():
    z = np.exp(af.Variable(np.ones(3), name="x") * 1.0)
    z *= 2.0
    w = np.sum(z * z)
    z[0] = 5.0
    assert "end" in phases(steps(w))
    assert str(w.step())


def test_long_graphs_need_no_recursion_and_are_cut():
    assert len(repeat(lambda y: y * 1.0, af.Variable(1.0, name="x"), 3000).steps()) < 2000


def test_operands_without_a_row_are_said():
    x = af.Variable(2.0, name="x")
    text = str(step(np.stack([x] * 20).sum()))
    assert "8 more operands" in text
    assert "gradient of x = 20" in text


def test_the_stepper_is_a_sequence():
    out, _ = shared()
    stepper, steps = out.step(), out.steps()
    assert list(stepper) == steps
    assert (stepper[-1], len(stepper)) == (steps[-1], len(steps))
    assert repr(stepper) == str(stepper) == "\n".join(map(str, steps))


def test_the_stepper_saves(tmp_path):
    stepper = shared()[0].step()
    txt, page, svg = [stepper.save(tmp_path / f"s.{kind}").read_text("utf-8") for kind in ("txt", "html", "svg")]
    assert txt == f"{stepper}\n"
    assert "Play" in page
    assert svg.startswith("<svg")


def test_names_of_users_stay_on_one_line():
    x = af.Variable(2.0, name="two\nlines\x1b[31m\u202e")
    lines = str((x * 3.0).step()).splitlines()
    assert len(lines) == len((x * 3.0).steps())
    assert "\x1b" not in "".join(lines)


def test_a_stack_visits_a_node_once_for_each_of_its_uses():
    """Its captions, and those of the queue, stand in the docstring of the function."""
    stack = wrong_queue_steps(shared()[0], visited=False)
    assert [s.title for s in stack if s.phase == "backward"].count("a") == 2


def test_the_wrong_queue_is_right_where_nothing_is_shared():
    x = af.Variable(2.0, name="x")
    assert wrong_queue_steps(np.sin(x * 3.0))[-1].caption.endswith("which is right")
    with pytest.raises(ValueError, match="graphs of numbers"):
        wrong_queue_steps(af.Variable(np.ones(3)) * 2.0)


def test_captions_read_as_titles_do():
    x, y = af.Variable([1.0, 2.0, 3.0], name="x"), af.Variable(2.0, name="y")
    a, b = -(x[1:] + y), y - (y - 1.0)
    c = a**2 * b
    d = np.sum((c - b) / (b * y), axis=0)
    e = (y**b) ** 2 - np.power(-y, 2.0)
    told = [s.caption.rpartition(" = ")[0] for s in steps(d * e) if s.phase == "forward"]
    assert {"a = -(x[1:] + y)", "b = y - (y - 1)", "c = a**2*b", "e = (y**b)**2 - (-y)**2"} <= set(told)
    assert [text for text in told if text.startswith("d = ")] == ["d = sum((c - b)/(b*y), axis=0)"]
    assert eval("a**2*b", {"a": a, "b": b}).tolist() == c.tolist()
