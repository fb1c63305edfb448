"""Questions of lesson 16: overfitting, weight decay, dropout."""

from .checks import Question

QUESTIONS = {
    "by_heart": Question(1.0, "By heart means: as it was given, right or wrong.", {0.82: "That is the other one."}),
    "understood": Question(
        0.82, "It agrees with the 80 % that are right, and with one in ten of the others.",
        {1.0: "It does not believe the random labels.", 0.8: "Some random labels are right, too."},
    ),
    "left_of_the_weight": Question(
        0.04755, "Each step leaves 1 − 0.01 · 3 of it. Take that to the power of 100.",
        {0.97: "That is one step.", -2.0: "It shrinks by a share of what is left."},
    ),
    "exercise_1": Question(
        (0, 10, 2), "0, or 2 divided by 1 − p.",
        {(0, 2, 0.4): "The others are divided by 1 − p.", (0, 2.5, 2): "p is 0.8."},
    ),
    "exercise_2": Question(
        (0.5, 0.0), "Where is the derivative of the sum zero? With |w| it is w − 1 + λ for positive w.",
        {(0.5, 0.5): "The slope of |w| does not get smaller near 0.", (1.0, 1.0): "The penalty pulls."},
    ),
    "exercise_3": Question(
        "underfitting", "How far apart are the two losses?", {"overfitting": "Then the training loss would be low."}
    ),
}  # fmt: skip
