"""Trees as vectors."""

import numpy as np
import pytest

import autoflow as af
from autoflow.batching import looping
from autoflow.errors import InputError, LoopWarning
from autoflow.implicit.linear import Layout, call_on_numbers, weak_dtype

TREE = {"a": np.arange(4, dtype=np.float32).reshape(2, 2), "b": [1.5, (np.array([7, 8]),)]}


def test_there_and_back():
    layout = Layout(TREE, "x0")
    x = layout.ravel(TREE, "x")
    assert (x.tolist(), x.dtype) == ([0, 1, 2, 3, 1.5, 7, 8], np.float64)
    back = layout.unravel(x + 1)
    assert (back["a"].tolist(), back["a"].dtype) == ([[1, 2], [3, 4]], np.float32)
    assert back["b"][0] == 2.5
    assert (back["b"][1][0].tolist(), back["b"][1][0].dtype) == ([8, 9], np.float64)
    assert layout.eps == np.finfo(np.float32).eps


def test_gradients_pass_both_ways():
    layout = Layout(TREE, "x0")
    f = lambda a, c: np.sum(layout.unravel(layout.ravel({"a": a, "b": [c, (np.ones(2),)]}, "x") ** 2)["a"]) + c  # noqa: E731
    a, c = af.grad(f, (0, 1))(TREE["a"], 2.0)
    assert a.tolist() == [[0, 2], [4, 6]]
    assert a.dtype == np.float32
    assert c == 1.0


def test_one_vector_is_itself():
    x = np.arange(3.0)
    layout = Layout(x, "x0")
    assert layout.ravel(x, "x") is x
    assert layout.unravel(x) is x


def test_what_python_numbers_become():
    assert Layout(1.0, "x0", np.float32).dtypes == [np.float32]
    assert Layout([1, 2], "x0", np.float32).dtypes == [np.float32]
    assert Layout(np.float64(1), "x0", np.float32).dtypes == [np.float64]
    assert weak_dtype([]) == np.float64
    assert weak_dtype([np.ones(1, np.float16), np.ones(1, np.float32)]) == np.float32


@pytest.mark.parametrize(("tree", "message"), [
    ({"a": 1.0}, r"it returns has the parts \[\"it\['a'\]\"\], but x0 has \[\"x0\['a'\]\", "),
    ({"a": TREE["a"], "b": [1.0, (np.ones(3),)]}, r"shape \(3,\) where x0\['b'\]\[1\]\[0\] has \(2,\)"),
])  # fmt: skip
def test_other_containers_are_refused(tree, message):
    with pytest.raises(InputError, match=message):
        Layout(TREE, "x0").ravel(tree, "what it returns")


def test_a_call_on_numbers_keeps_shapes_and_dtypes():
    """Also where all arrays travel as one: inside af.vmap and af.compile."""
    kinds = lambda arrays: [float(8 * x.ndim + x.dtype.itemsize) for x in arrays]  # noqa: E731
    look = lambda *arrays: np.array([x.sum() for x in arrays] + kinds(arrays), np.float32)  # noqa: E731
    ask = lambda *arrays: call_on_numbers(look, arrays, "af.look")  # noqa: E731
    given = np.ones((2, 3), np.float32), np.full(4, 2.0), np.array(3.0)
    right = [6, 8, 3, 20, 16, 8]
    assert ask(*given).tolist() == right
    assert af.compile(ask)(*given).tolist() == right
    looping.SAID.clear()
    with pytest.warns(LoopWarning, match=r"autoflow\.look at .*test_vectors.py:\d+ has no batched form"):
        each = af.vmap(ask)(*[np.stack([x, x]) for x in given])
    assert each.tolist() == [right, right]
    assert af.compile(af.vmap(ask))(*[np.stack([x, 2 * x]) for x in given])[1].tolist() == [12, 16, 6, 20, 16, 8]
