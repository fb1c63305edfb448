"""Questions of lesson 9: windows, and places that ask each other."""

from typing import Any

import numpy as np

from .checks import Question


def pools(function: Any) -> bool:
    """Whether a function takes the largest of each 2 × 2 field, for any leading axes."""
    x = np.random.default_rng(4).normal(size=(2, 3, 6, 8))
    expected = x.reshape(2, 3, 3, 2, 4, 2).max(axis=(3, 5))
    return np.array_equal(function(x), expected)


QUESTIONS = {
    "shape": Question(
        (24, 24),
        "A window of 5 fits at 28 − 5 + 1 places along each axis.",
        {(28, 28): "At the border it does not fit.", (23, 23): "One more: try a window of 1."},
    ),
    "at_a_corner": Question(
        1, "Where must the window lie to see the corner?", {9: "That is the middle.", 3: "An edge."}
    ),
    "at_an_edge": Question(
        3,
        "In the middle of an edge: the window can be moved along it to 3 places.",
        {1: "That is a corner.", 6: "It must touch the edge."},
    ),
    "in_the_middle": Question(9, "The pixel can be at each of the window's 9 places.", {25: "That is all pixels."}),
    "share": Question(
        1 / 3, "Equal products get equal shares, and the shares add up to 1.", {0: "exp(0) is 1.", 1: "All three do?"}
    ),
    "result": Question(
        20, "The mean of 10, 20 and 30, with equal shares.", {60: "The mean, not the sum.", 30: "The mean."}
    ),
    "exercise_1": Question(
        False, "A linear layer has a weight of its own for each pixel. What if the picture moves?", {True: "Try it."}
    ),
    "exercise_2": Question(
        pools,
        "np.maximum of the four slices x[..., 0::2, 0::2], x[..., 0::2, 1::2] and so on. Keep the leading axes.",
        [(lambda x: x[..., ::2, ::2], "That is one of the four."), (lambda x: x.max(), "That is one number.")],
    ),
    "exercise_3": Question(
        "slices",
        "Look at looks_at: what does the key at a place come from?",
        {"attention": "It gives the same for any order.", "embedding": "A digit has the same vector at every place."},
    ),
    "exercise_4": Question(
        lambda share: 0.02 < float(share) < 0.4,
        "It should be hardly better than guessing. Train a new model, whose key is made from the candidate itself.",
        {0.98: "Is the key really made from the candidate itself?"},
    ),
}
