"""Questions of lesson 11: lost, NaN, wrong, added up twice, zero."""

from typing import Any

import numpy as np

from ..nodes.nodes import Variable
from ..transforms.gradcheck import gradcheck
from .checks import Question, same


def measures(distance: Any) -> bool:
    """Whether distances of pairs are right, and their gradients finite at 0."""
    p = Variable([[0.0, 0.0], [3.0, 4.0]])
    found = distance(p, np.zeros((2, 2)))
    np.sum(found).backward()
    return same(found, [0.0, 5.0]) and bool(np.allclose(p.grad, [[0.0, 0.0], [0.6, 0.8]]))


def is_stable(softplus: Any) -> bool:
    """Whether it is ln(1 + exp x) at 0.3 and does not overflow at 1000, forwards and backwards."""
    x = Variable([0.3, 1000.0])
    z = softplus(x)
    np.sum(z).backward()
    return bool(np.allclose(z, [0.8543552444685272, 1000.0]) and np.allclose(x.grad, [1 / (1 + np.exp(-0.3)), 1.0]))


def is_a_mean(mean: Any) -> bool:
    """Whether values and gradients of a mean are right."""
    x = np.array([1.5, 2.5, 4.0, 8.0])
    return same(mean(x), 4.0) and bool(gradcheck(mean, x))


QUESTIONS = {
    "stay": Question(
        {"a", "d"},
        "What goes through NumPy, node and all, stays; what makes a plain number or a plain array does not.",
        [
            ({"a", "b", "d"}, "math knows numbers only."),
            ({"a"}, "np.stack is NumPy's, too."),
            ({"a", "c"}, ".value is plain."),
        ],
    ),
    "analytic": Question(
        6, "The mistaken rule says g · 3x, with g = 1. Put in x = 2.", {12: "That is right, and the rule is wrong."}
    ),
    "numeric": Question(
        12, "Moving x shows the true slope, 3x².", {6: "That is what the rule says.", 8: "That is x³."}
    ),
    "after_three": Question(
        18, "Each pass adds 2w = 6.", {6: "Nothing has set it back to 0.", 216: "They are added, not multiplied."}
    ),
    "exercise_1": Question(
        measures,
        "The derivative of the root is infinite at 0. np.linalg.norm(..., axis=-1) knows about that.",
        [(lambda p, q: np.linalg.norm(p - q), "One distance for each pair: along the last axis.")],
    ),
    "exercise_2": Question(
        is_stable, "np.logaddexp(x, 0.0) is ln(exp x + exp 0).", [(lambda x: np.maximum(x, 0.0), "That is relu.")]
    ),
    "exercise_3": Question(
        is_a_mean,
        "Each entry has a share of 1/n only: divide by x.size.",
        [(np.sum, "That is the sum."), (lambda x: np.asarray(x).mean(), "Here the gradient is lost.")],
    ),
    "exercise_4": Question(
        1e7, "The gradient of 10⁶ Σ w² is 2 · 10⁶ w, and w = (3, 4) is 5 long.", {1: "That is its length afterwards."}
    ),
}
