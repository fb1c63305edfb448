"""Questions of lesson 3: how often was each number used?"""

from typing import Any

import numpy as np

from .checks import Question, same


def rows_sum_to_zero(gradient: Any) -> bool:
    """Whether this is a gradient of shape (3, 4) with rows that sum to 0, and not nothing."""
    g = np.asarray(gradient, float)
    return g.shape == (3, 4) and bool(np.allclose(g.sum(axis=1), 0)) and bool(np.any(np.abs(g) > 1e-3))


def gives_both_gradients(function: Any) -> bool:
    """Whether ``function(g, a, b)`` gives the gradients of a and b of the table a[:, None] * b."""
    g, a, b = np.arange(6.0).reshape(3, 2), np.array([1.0, -2.0, 3.0]), np.array([4.0, 5.0])
    of_a, of_b = function(g, a, b)
    return same(of_a, [5.0, 23.0, 41.0]) and same(of_b, [8.0, 10.0])


QUESTIONS = {
    "each_of_b": Question(
        6,
        "Each entry of b was used in 3 rows, times 1, times 2 and times 3. Add what comes back.",
        {3: "It was used 3 times, but the local derivatives are the entries of x.", 2: "That is one of the three."},
    ),
    "each_of_x": Question(
        30,
        "Each entry of x was used in 2 columns, times 10 and times 20. Add what comes back.",
        {60: "Each row of x was used twice; the rows are not added up.", 2: "The local derivatives are 10 and 20."},
    ),
    "shape_of_bias_grad": Question(
        (2,),
        "A gradient has the shape of the array that it belongs to.",
        {(20, 2): "That is what comes back; for the bias it is summed over the 20 examples.", (20,): "Look at bias."},
    ),
    "shape_of_difference": Question(
        (442, 442),
        "(442,) stands as one row of 442 numbers. What does a column minus a row give?",
        {(442, 1): "That is the shape of the line alone.", (442,): "That is the shape of the targets alone."},
    ),
    "exercise_1": Question(
        (5, -4),
        "An entry of u was used once for each of the 5 columns, an entry of v for each of the 4 rows, with −1.",
        {(5, 4): "v is subtracted.", (4, -5): "Which axis of u is stretched?", (1, -1): "Each was used several times."},
    ),
    "exercise_1_shape": Question((4, 5), "Lengths of 1 are stretched.", {(4, 1): "v has 5 columns."}),
    "exercise_2": Question(
        rows_sum_to_zero,
        "It should have the shape (3, 4), and each of its rows the sum 0.",
        [(np.ones((3, 4)), "That is the gradient of the sum of t."), (np.zeros((3, 4)), "Take different weights.")],
    ),
    "exercise_3": Question(
        "row",
        "t.mean(axis=1) has the shape (4,): one mean for each row. And (4,) stands as a row: one for each column.",
        {"column": "axis=1 takes the mean along a row."},
    ),
    "exercise_4": Question(
        gives_both_gradients,
        "For a sum over j of g_ij b_j, for b sum over i of g_ij a_i: both are products with @.",
        [
            (lambda g, a, b: (g @ b, g @ b), "b has 2 entries."),
            (lambda g, a, b: (g.sum(axis=1), g.sum(axis=0)), "Where are a and b?"),
        ],
    ),
}
