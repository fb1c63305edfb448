"""Questions of lesson 15: softmax with cross entropy, and batch normalisation, backwards."""

from typing import Any

import numpy as np

from .checks import Question


def goes_back_through_layer_norm(function: Any) -> bool:
    """Whether ``function(x, g)`` is the gradient of Σ g ⊙ (x − mean) / std, mean and std of each row."""
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    std = x.std(axis=1, keepdims=True)
    rows = (x - x.mean(axis=1, keepdims=True)) / std
    share = np.mean(g * rows, axis=1, keepdims=True)
    given = np.asarray(function(x, g), float)
    return given.shape == x.shape and bool(np.allclose(given, (g - g.mean(axis=1, keepdims=True) - rows * share) / std))


QUESTIONS = {
    "gradient": Question(
        (0.7, -0.8, 0.1), "The probabilities, minus 1 at the right class, which is the second.",
        {(-0.3, 0.2, 0.1): "That is for the first class.", (-0.7, 0.8, -0.1): "That is against the gradient."},
    ),
    "its_sum": Question(0.0, "The probabilities add up to 1, and 1 is subtracted once.", {1.0: "Subtract the 1."}),
    "h_of_two": Question(
        (-1.0, 1.0), "Subtract the mean, 2, and divide by the standard deviation: the root of the mean of (1, 1).",
        {(1.0, 3.0): "That is x.", (-0.7071, 0.7071): "Divide the sum of squares by n, not by n − 1."},
    ),
    "gradient_of_two": Question(
        (0, 0), "Does h change if one of the two numbers moves a little?", {(-1, 1): "That is h.", (1, 1): "Try it."}
    ),
    "exercise_1": Question(
        (0.25, 0.75), "It is the softmax: e to the power of each, divided by their sum.",
        {(1.0, 3.0): "Divide by the sum.", (0.0, 1.0986): "That is s."},
    ),
    "exercise_2": Question(
        (-0.99753, -0.00492), "p − y, and 2 (p − y) p (1 − p), with p = 1/(1 + e⁶) = 0.00247 and y = 1.",
        {(-0.99753, -1.99505): "The slope of the sigmoid is missing.", (0.00247, 0.00492): "y is 1."},
    ),
    "exercise_3": Question(
        goes_back_through_layer_norm, "Mean and share are taken along each row: axis=1, keepdims=True.",
        [(lambda x, g: g, "That is without normalisation."),
         (lambda x, g: (g - g.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True), "A direction is missing.")],
    ),
    "exercise_4": Question(0.0, "If a whole column grows by the same amount, does h change?", {1.0: "Not at all."}),
}  # fmt: skip
