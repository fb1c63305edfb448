"""What the doctor says of a result alone."""

import re

import numpy as np
import pytest
from sick_programs import PROGRAMS

import autoflow as af


def test_a_loss_says_what_was_read_while_its_program_runs():
    w, b = af.Variable([1.0, 2.0], name="w"), af.Variable(0.5, name="b")
    c = 0.5
    loss = np.sum(w * np.full(2, b)) + np.sum(w * np.full(2, c))
    assert loss.diagnose().kinds == loss.diagnose(w, b).kinds == ("lost",)
    assert "np.full(2, b) has numbers of nodes only" in str(loss.diagnose())
    assert not np.sum(w * np.full(2, c)).diagnose()


def test_one_large_factor_among_others_is_no_chain():
    x = af.Variable([1.0, 2.0], name="x")
    assert not np.sum(x * 1.5 * 2.0 * 1e9 * 0.5 * 3.0 * 0.7).diagnose()
    assert not sum([10.0**k * np.sum(x) for k in range(12)]).diagnose()  # side by side, not one after another


def test_what_has_left_the_graph_is_said_and_not_called():
    for x in (np.ones(2), 3.0, np.float64(1.0)):
        assert af.diagnose(x).kinds == ("no history",)
        assert type(x).__name__ in str(af.diagnose(x))


def test_in_class_a_column_that_meets_a_row_is_said_at_once():
    X, W, t = np.ones((5, 3)), af.Variable(np.ones((3, 1)), name="W"), np.arange(5.0)
    with af.options(preset="classroom"):
        with pytest.warns(UserWarning, match=r"\(5, 1\), \(5,\) -> \(5, 5\) in subtract") as seen:
            X @ W - t
        assert seen[0].filename == __file__
        x = af.Variable(t)
        assert (x[:, None] - x).shape == (5, 5)  # meant, and so not said
    assert (X @ W - t).shape == (5, 5)


def test_what_anomaly_mode_would_raise_is_said():
    loss = np.sum(np.sqrt(af.Variable([0.0, 4.0], name="x")))
    with af.detect_anomaly():
        assert loss.diagnose().kinds == ("infinite slope",)


def test_advice_fits_what_is_there():
    x = af.Variable([3.0, 5.0], name="x")
    assert "Weights" not in str(np.sum(x * np.zeros(2)).diagnose())  # a mask of data
    origin = af.Variable(np.zeros(2), name="origin")
    assert "the slope of norm is 0 here" in str(np.linalg.norm(origin).diagnose())
    assert "Clip" not in str(af.diagnose(PROGRAMS["vanishing"][0][0]()))
    assert "Clip" in str(af.diagnose(PROGRAMS["exploding"][0][0]()))


ONES, HALVES = np.ones(3, np.float32), np.ones(3, np.float16)
x, z = af.Variable([0.0, 1.0], name="x"), af.Variable([1e308 + 1e308j], name="z")
big = af.Variable(np.full(3000, 1e308), name="b")
NAMED = {  # a result, and what is said of it
    "complex": (lambda: np.sum(np.abs(z * z)), r"multiply of z\[0\] = 1e\+308\+1e\+308j and .* is "),
    "large and plain": (lambda: np.sum(big + np.full(3000, 1e308)), r"add of big\[0\] = 1e\+308 and 1e\+308 is inf"),
    "plain": (lambda: np.sum(np.where([False, True], x, np.array([np.nan, 1.0]))), "its operand y is already nan at"),
    "plain array": (lambda: np.sum(np.array([3.0, 1.0]) / x), r"divide of 3 and x\[0\] = 0 is inf"),
    "broadcast": (
        lambda: np.sum(np.where([[False, True]] * 2, np.array([[1.0, 1.0]] * 2) / x, 0.0)),
        r"divide sends NaN to x\[0\] = 0: the gradient that arrived was 0",
    ),
    "single precision": (
        lambda: np.sum(af.Variable(ONES, name="w") * np.float32(1e-30) * np.float32(1e-30)),
        "too small for float32",
    ),
    "half precision": (
        lambda: np.sum(af.Variable(HALVES, name="w") * af.Variable(0 * HALVES, name="v")),
        "v is 0 everywhere, so",
    ),
    "two masks": (lambda: np.sum(x * np.array([1.0, 0.0]) * np.array([0.0, 1.0])), "a factor is 0 where a gradient"),
    "two steep ones": (lambda: chain(6, 1e7), r"beyond 1e\+06 from step 1 on"),
    "large targets": (lambda: np.mean((np.tanh(big * 1e-308) - np.full(3000, 7.0)) ** 2), "3000 of 3000 targets"),
    "softmax of everything": (lambda: -np.mean(np.log(all_of(SCORES))[np.arange(4), [0, 1, 2, 0]]), "Nothing found"),
}
SCORES = af.Variable(np.random.default_rng(0).normal(size=(4, 3)), name="s")


def chain(n, factor):
    """Of sines."""
    y = af.Variable(1.0, name="y")
    for _ in range(n):
        y = np.sin(y * factor)
    return y


def all_of(s):
    """A softmax along all axes."""
    e = np.exp(s)
    return e / np.sum(e)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_said_of_a_result_is_so(name):
    result, said = NAMED[name]
    node = result()
    assert re.search(said, str(node.diagnose())), str(node.diagnose())
