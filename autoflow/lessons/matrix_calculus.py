"""Questions of lesson 13: gradients of products of matrices. Most answers are functions of arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .checks import Question

SCORES = (4, 3), (3, 2), (4, 2)  # X, W, g


def like(reference: Callable[..., Any], *shapes: tuple[int, ...]) -> Callable[[Any], bool]:
    """Whether a function gives what ``reference`` gives, of arrays of these shapes: one array, or several."""

    def gives_the_same(function: Any) -> bool:
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=shape) for shape in shapes]
        given, wanted = function(*arrays), reference(*arrays)
        if not isinstance(wanted, tuple):
            given, wanted = (given,), (wanted,)
        pairs = zip(given, wanted, strict=True)
        return all([np.shape(a) == b.shape and bool(np.allclose(a, b)) for a, b in pairs])

    return gives_the_same


QUESTIONS = {
    "dL_dW": Question(
        like(lambda x, w, g: x.T @ g, *SCORES), "The result is (3, 2), X is (4, 3), g is (4, 2): the 4 has to go.",
        [(lambda x, w, g: g.T @ x, "That is its transpose."), (lambda x, w, g: x @ g, "These shapes do not fit.")],
    ),
    "dL_dX": Question(
        like(lambda x, w, g: g @ w.T, *SCORES), "The result is (4, 3), g is (4, 2), W is (3, 2): the 2 has to go.",
        [(lambda x, w, g: w @ g.T, "That is its transpose."), (lambda x, w, g: g @ w, "These shapes do not fit.")],
    ),
    "summed_for_b2": Question(
        20, "It was used once for each example.", {1: "It was stretched over the batch.", 160: "H has no part in it."}
    ),
    "shape_for_50": Question(
        (1,), "A gradient has the shape of its variable.", {(50, 1): "That is Y's.", (50,): "The examples are summed."}
    ),
    "exercise_1": Question(
        like(lambda q, k, g: (g @ k, g.T @ q), (5, 4), (7, 4), (5, 7)),
        "The gradient of Q is (5, 4), that of K is (7, 4), and g is (5, 7).",
        [(lambda q, k, g: (g @ k, q.T @ g), "K's is transposed."), (lambda q, k, g: g @ k, "Both are wanted.")],
    ),
    "exercise_2": Question(
        like(lambda a, x: (a + a.T) @ x, (3, 3), (3,)), "x is used twice: add both contributions.",
        [(lambda a, x: 2 * a @ x, "That is right for symmetric matrices only."), (lambda a, x: a @ x, "")],
    ),
    "exercise_3": Question(
        like(lambda b, g: -b.T @ g @ b.T, (3, 3), (3, 3)), "dB = −B dA B. Move both factors over to g.",
        [(lambda b, g: -b @ g @ b, "What is moved over is transposed."), (lambda b, g: b.T @ g @ b.T, "")],
    ),
    "exercise_4": Question(
        like(lambda x, a, c, g: (x @ a).T @ (g @ c.T), (9, 3), (3, 4), (5, 2), (9, 2)),
        "What stands to the left of B goes to the left of g, transposed; what stands to the right goes to the right.",
        [(lambda x, a, c, g: (g @ c.T).T @ (x @ a), "That is its transpose.")],
    ),
}  # fmt: skip
