"""Questions of lesson 12: where the time goes."""

from typing import Any

import numpy as np

from .checks import Question


def agree(answer: Any) -> bool:
    """Whether two lists of two gradients, of w and u, are the same."""
    eager, compiled = answer
    shapes = [np.shape(g) for g in eager] == [(8, 16), (16, 16)]
    return shapes and all([np.allclose(a, b, rtol=1e-8, atol=1e-12) for a, b in zip(eager, compiled, strict=True)])


def finds_the_root(root: Any) -> bool:
    """Whether it finds √2 from 1 and from 2, compiled or not."""
    return bool(np.allclose([float(root(np.array(start))) for start in (1.0, 2.0)], np.sqrt(2), rtol=1e-6))


QUESTIONS = {
    "operations": Question(
        4,
        "A mean, a subtraction, a power, and a mean again.",
        {3: "The mean is taken twice.", 32: "Arrays count once."},
    ),
    "programs": Question(
        2,
        "One for each shape. The last call has a shape that has been seen.",
        {4: "That is the number of calls.", 3: "Only a new shape needs a new one."},
    ),
    "calls": Question(4, "A square, a change of sign, an exponential, a sum.", {3: "The minus sign is one, too."}),
    "loops": Question(1, "A number can go through all four at once.", {4: "That is what NumPy makes."}),
    "looped": Question(
        4000,
        "1000 numbers, and for each x[k], the sine, the square and the sum.",
        {1000: "Four for each.", 3000: "And x[k]?"},
    ),
    "whole": Question(3, "The sine, the square, the sum, each of all numbers at once.", {3000: "Arrays count once."}),
    "exercise_1": Question(
        (3, 3), "The sine, the square, the sum, whatever the length.", {(30, 3000): "An array is one operation's work."}
    ),
    "exercise_2": Question(
        agree,
        "Two lists, each with the gradient of w, of shape (8, 16), and of u, of shape (16, 16).",
        [(([np.ones((8, 16)), np.ones((16, 16))], [np.ones((8, 16)), np.zeros((16, 16))]), "They differ.")],
    ),
    "exercise_3": Question(
        finds_the_root,
        "x − (x² − 2)/(2x), six times in a for loop, without any if.",
        [(lambda x: x - (x**2 - 2) / (2 * x), "That is one step.")],
    ),
}
