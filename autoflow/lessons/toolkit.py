"""Questions of lesson 20: vmap, solutions that have derivatives, Hessians from parts."""

from typing import Any

import numpy as np

from .checks import Question


def is_product_with_hessian(function: Any) -> bool:
    """Whether ``function(f, x, v)`` is H v, of f(x) = Σ x³ with the Hessian 6 diag(x)."""
    x, v = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    given = np.asarray(function(lambda x: np.sum(x**3), x, v), float)
    return given.shape == (2,) and bool(np.allclose(given, 6 * x * v))


def is_leaky(function: Any) -> bool:
    """Whether a function of arrays is x above 0 and 0.1 x below."""
    given = np.asarray(function(np.array([-1.0, 2.0, -3.0])), float)
    return given.shape == (3,) and bool(np.allclose(given, [-0.1, 2.0, -0.3]))


QUESTIONS = {
    "shape_of_gradients": Question(
        (600, 64, 10), "One gradient for each example, each with the shape of w.",
        {(64, 10): "That is their mean.", (600,): "A gradient has the shape of its variable."},
    ),
    "solution": Question(2.0, "Which number has the cube 8?", {8.0: "That is t."}),
    "its_slope": Question(1 / 12, "3 x² dx = dt, with x = 2.", {12.0: "That is dt/dx.", 1 / 192: "x is 2, not 8."}),
    "exercise_1": Question(
        (1.2907, 1.0906), "x from af.implicit.root; and dx (1 − e cos x) = dm.", {(1.0, 1.0): "That is for e = 0."}
    ),
    "exercise_2": Question(
        is_product_with_hessian, "How does af.grad(f) change at x, in the direction v?",
        [(lambda f, x, v: v, "The Hessian is missing."), (lambda f, x, v: 3 * x**2 * v, "That is f's gradient.")],
    ),
    "exercise_3": Question(
        is_leaky, "np.where(condition, a, b) takes both ways.",
        [(lambda x: 0.1 * x, "Above 0 it is x."), (lambda x: np.maximum(x, 0.0), "Below 0 it is 0.1 x.")],
    ),
}  # fmt: skip
