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
        like(lambda X, W, g: X.T @ g, *SCORES), "The result is (3, 2), X is (4, 3), g is (4, 2): the 4 has to go.",
        [(lambda X, W, g: g.T @ X, "That is its transpose."), (lambda X, W, g: X @ g, "These shapes do not fit.")],
    ),
    "dL_dX": Question(
        like(lambda X, W, g: g @ W.T, *SCORES), "The result is (4, 3), g is (4, 2), W is (3, 2): the 2 has to go.",
        [(lambda X, W, g: W @ g.T, "That is its transpose."), (lambda X, W, g: g @ W, "These shapes do not fit.")],
    ),
    "summed_for_b2": Question(
        20, "It was used once for each example.", {1: "It was stretched over the batch.", 160: "H has no part in it."}
    ),
    "shape_for_50": Question(
        (1,), "A gradient has the shape of its variable.", {(50, 1): "That is Y's.", (50,): "The examples are summed."}
    ),
    "exercise_1": Question(
        like(lambda Q, K, g: (g @ K, g.T @ Q), (5, 4), (7, 4), (5, 7)),
        "The gradient of Q is (5, 4), that of K is (7, 4), and g is (5, 7).",
        [(lambda Q, K, g: (g @ K, Q.T @ g), "K's is transposed."), (lambda Q, K, g: g @ K, "Both are wanted.")],
    ),
    "exercise_2": Question(
        like(lambda A, x: (A + A.T) @ x, (3, 3), (3,)), "x is used twice: add both contributions.",
        [(lambda A, x: 2 * A @ x, "That is right for symmetric matrices only."), (lambda A, x: A @ x, "")],
    ),
    "exercise_3": Question(
        like(lambda B, g: -B.T @ g @ B.T, (3, 3), (3, 3)), "dB = −B dA B. Move both factors over to g.",
        [(lambda B, g: -B @ g @ B, "What is moved over is transposed."), (lambda B, g: B.T @ g @ B.T, "")],
    ),
    "exercise_4": Question(
        like(lambda X, A, C, g: (X @ A).T @ (g @ C.T), (9, 3), (3, 4), (5, 2), (9, 2)),
        "What stands to the left of B goes to the left of g, transposed; what stands to the right goes to the right.",
        [(lambda X, A, C, g: (g @ C.T).T @ (X @ A), "That is its transpose.")],
    ),
}  # fmt: skip
