"""Questions of lesson 10: optimisation, a Gaussian process, a differential equation."""

import math
from typing import Any

import numpy as np

from .checks import Question


def hangs(heights: Any) -> bool:
    """Whether 19 heights are those of the cable: symmetric, lowest in the middle, at about −1."""
    h = np.asarray(heights, float)
    return h.shape == (19,) and -1.1 < h[9] < -0.9 and h.argmin() == 9 and bool(np.allclose(h, h[::-1], atol=0.01))


QUESTIONS = {
    "evaluations": Question(
        11,
        "One at the point itself, and one for each of the ten numbers, moved a little.",
        {10: "And the value to compare with.", 20: "That is for differences to both sides."},
    ),
    "whole_cycle": Question(
        1, "sin(π) = 0, and exp(0) = 1.", {0: "Two years a whole cycle apart are as alike as can be."}
    ),
    "half_cycle": Question(
        math.exp(-2), "sin(π/2) = 1, so the exponent is −2.", {math.exp(2): "The sign.", 0: "It is small, but not 0."}
    ),
    "error_of_32": Question(
        lambda error: 1.7e-8 < float(error) < 2.5e-8,
        "Divide the error of 16 steps by 16.",
        [(1.65e-7, "Half the step gives not half the error, but a sixteenth."), (3.3e-7, "That is with 16 steps.")],
    ),
    "exercise_1": Question(
        hangs,
        "Give the 19 inner heights, from left to right. Both ends are at 0, and it hangs down.",
        [(np.zeros(19), "That is a straight line."), (-np.ones(19), "A cable is no box.")],
    ),
    "exercise_2": Question(
        "cycle",
        "The kernel with the smaller surprise makes the data more probable.",
        {"smooth": "Compare the surprises."},
    ),
    "exercise_3": Question(
        "c",
        "Differentiate animals(theta)[-1, 1] with respect to theta; take the largest by size.",
        {"a": "That comes close.", "b": "Take the absolute values."},
    ),
}
