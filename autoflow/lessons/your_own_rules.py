"""Questions of lesson 5: rules of your own."""

from typing import Any

import numpy as np

from ..extending.function import Function
from ..nodes.nodes import Variable
from ..transforms.gradcheck import gradcheck
from .checks import Question, same


def cubes(function: Any) -> bool:
    """Whether a function is x³, and its first two derivatives are right."""
    return same(function(np.array([2.0, -1.0])), [8.0, -1.0]) and gradcheck(function, np.array([-1.0, 2.0]), order=2)


def reverses(function: Any) -> bool:
    """Whether a Function returns what it gets, and turns the sign on the way back."""
    x = Variable([3.0, -2.0])
    z = function.apply(x)
    np.sum(z * np.array([1.0, 4.0])).backward()
    return same(z, [3.0, -2.0]) and same(x.grad, [-1.0, -4.0])


class Straight(Function):
    """Changes no sign."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.copy()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


QUESTIONS = {
    "slope_at_0": Question(
        0.5, "Put x = 0 into 1/(1 + exp(−x)).", {1: "exp(0) is 1, and 1 + 1 is 2.", 0: "exp(0) is 1."}
    ),
    "slope_at_1000": Question(
        1, "exp(−1000) is as good as 0.", {0: "That is the slope at −1000.", 1000: "That is the value, not the slope."}
    ),
    "dE_dM": Question(
        2, "Put E = 0 and e = 1/2 into 1/(1 − e cos E). The cosine of 0 is 1.", {0.5: "That is the denominator."}
    ),
    "dE_de": Question(0, "Put E = 0 into sin E/(1 − e cos E).", {2: "The sine of 0 is 0."}),
    "gradient": Question(
        [0.2, -0.5, 0.3],
        "Take p, and subtract 1 at the right class, which is the second one.",
        [([0.2, 0.5, 0.3], "Those are the probabilities."), ([-0.2, 0.5, -0.3], "The sign is turned.")],
    ),
    "exercise_1": Question(
        cubes,
        "To the operand x send g · 3x². The rule must itself be made of functions with derivatives.",
        [(lambda x: x * x, "That is the square."), (lambda x: np.asarray(x) ** 3, "No gradient flows.")],
    ),
    "exercise_2": Question(
        -0.2847,
        "Differentiate the equation: 3x² dx + a dx + x da = 0. Solve for dx/da, and put in x = 0.6823.",
        {0.2847: "If a grows, x must shrink.", 0.6823: "That is x."},
    ),
    "exercise_3": Question(
        reverses,
        "forward returns a copy of x, backward returns −g, one gradient for its one argument.",
        [(Straight, "It changes nothing on the way back.")],
    ),
    "exercise_4": Question(
        (1, 3),
        "The engine lets a wait until both parts have arrived, 1 from the sum and x = 2 through the product.",
        {(2, 3): "Only the complete gradient is shown.", (1, 1): "Only when both have arrived."},
    ),
}
