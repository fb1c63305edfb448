"""Questions of lesson 4: second derivatives, and Newton's method."""

import math
from typing import Any

import numpy as np

from .checks import Question


def finds_zeros(zero: Any) -> bool:
    """Whether ``zero(f, x)`` finds √2 and the golden ratio."""
    found = float(zero(lambda x: x**2 - 2, 1.0)), float(zero(lambda x: x**2 - x - 1, 2.0))
    return bool(np.allclose(found, (math.sqrt(2), (1 + math.sqrt(5)) / 2), rtol=1e-12))


QUESTIONS = {
    "second": Question(
        12,
        "The derivative of x³ is 3x². Differentiate that, and put in x = 2.",
        {24: "6x is 12 at x = 2.", 3: "At x = 2."},
    ),
    "third": Question(
        6,
        "The second derivative is 6x, which grows by 6 for each unit of x.",
        {0: "That is the fourth.", 12: "6x at 2."},
    ),
    "slope": Question(
        -12, "f'(x) = 4 (x − 3). Put in x = 0.", {12: "x is to the left of the bottom.", 18: "That is f(0)."}
    ),
    "curvature": Question(
        4, "f'(x) = 4 (x − 3). Differentiate once more.", {0: "It is the same for every x, but not 0."}
    ),
    "after_one_step": Question(
        3, "x − f'(x)/f''(x), with x = 0.", {-3: "Minus minus.", 12: "Divide the slope by the curvature."}
    ),
    "entries": Question(
        4810**2,
        "There is an entry for each pair: one row and one column for every parameter.",
        {4810: "That is the gradient.", 9620: "Multiply, do not add."},
    ),
    "exercise_1": Question(
        finds_zeros,
        "Call it with f and a start. Each step is x ← x − f(x)/f'(x), with f' = af.grad(f); 8 steps will do.",
        [(lambda f, x: x, "That is the start."), (lambda f, x: 1.41, "Not exact enough, and not for every f.")],
    ),
    "exercise_2": Question(
        1,
        "The inner derivative is taken with respect to y alone. What is it, whatever x is?",
        {2: "That is what a library finds that takes the outer x for its own y.", 0: "Something of x is left."},
    ),
    "exercise_3": Question(
        math.pi,
        "With |f''| every step goes downhill. Where is the nearest bottom of the cosine?",
        {0: "That is the top.", math.pi / 2: "There the slope is −1."},
    ),
    "exercise_4": Question(
        331.9, "Divide the largest eigenvalue of the Hessian at w = 0 by the smallest one.", {1: "Of the same one?"}
    ),
}
