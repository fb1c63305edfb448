"""Questions of lesson 2: what is remembered, and how to look at it."""

import math
from typing import Any

import numpy as np

from ..nodes.nodes import Variable
from .checks import Question


def collects_all(function: Any) -> bool:
    """Whether a function finds the four nodes of x · x + sin x, each once."""
    x = Variable(0.5)
    found = list(function(x * x + np.sin(x)))
    return sorted([node.opmethod for node in found if node is not x]) == ["add", "multiply", "sin"] and len(found) == 4


def slope_in_x(y: Any) -> float:
    """∂L/∂x of L = (x + y) sin(x y) at x = 2."""
    return math.sin(2 * float(y)) + (2 + float(y)) * float(y) * math.cos(2 * float(y))


QUESTIONS = {
    "to_s": Question(
        math.sin(1.0),
        "L is the product of s and sin(p): to one factor goes what has arrived, 1, times the other one.",
        {2.5: "That is s itself, which goes to the other factor.", 1: "That is what arrives at L."},
    ),
    "to_sin_p": Question(
        2.5, "To sin(p) goes 1 times the other factor, s.", {math.sin(1.0): "That is sin(p), which goes to s."}
    ),
    "paths": Question(
        3,
        "v is used twice in v * v and once in the exponential.",
        {2: "v * v is one operation, but both of its factors are v.", 1: "What about v * v?"},
    ),
    "parameters": Question(
        20,
        "W has 3 · 4 numbers, b has 4, V has 4 · 1.",
        {80: "The data are no parameters.", 16: "V counts, too.", 3: "That is the number of Variables."},
    ),
    "shape_of_answer": Question(
        (20, 1),
        "20 examples of 3 numbers, times 3 × 4, times 4 × 1: there is a row for each example.",
        {(20,): "A product of two matrices is a matrix, even if it has one column.", (4, 1): "That is the shape of V."},
    ),
    "exercise_1": Question(
        {1, -5},
        "Through x + y: the other factor is 3 − 2, times 1. Through x − y: the other factor is 3 + 2, times −1.",
        [({1, 5}, "x − y falls when y grows.")],
    ),
    "exercise_2": Question(
        collects_all,
        "Begin with the node itself, add the operands of each node that you find, and each node once only.",
        [(lambda node: [node, *node.operands], "Operands have operands."), (lambda node: [node], "There are more.")],
    ),
    "exercise_3": Question(
        2**30,
        "Each of the 30 rounds can be passed in two ways, whatever was chosen in the others.",
        {60: "Choices in different rounds multiply.", 30: "That is the number of rounds."},
    ),
    "exercise_4": Question(
        lambda y: abs(float(y)) <= 2 and abs(slope_in_x(y)) < 0.01,
        "At your y the gradient of x should be 0. Does it have different signs at both ends of the interval?",
        {1.5: "There the gradient is negative.", 0.5: "There the gradient is positive."},
    ),
}
