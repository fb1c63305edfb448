"""Questions of lesson 18: dual numbers, and passes forwards and backwards."""

from typing import Any

from .checks import Question, same


def quotient_moves(function: Any) -> bool:
    """Whether ``function(a, da, b, db)`` is the tangent of a / b."""
    return same(function(6.0, 1.0, 2.0, 0.0), 0.5) and same(function(6.0, 0.5, 2.0, 1.0), -1.25)


QUESTIONS = {
    "product": Question(
        (15, 13), "The tangent is 2 · 5 + 3 · 1.", {(15, 2): "Each factor moves.", (15, 17): "The other factor is 5."}
    ),
    "cube": Question((8, 12), "The square is 4 + 4ε. Multiply it by 2 + ε.", {(8, 1): "ε is in each factor."}),
    "network": Question(
        (4810, 1), "Forwards: one for each input. Backwards: one for each output.",
        {(1, 4810): "Its inputs are the weights.", (4810, 4810): "It has one output."},
    ),
    "ridge_path": Question(
        (1, 10), "Forwards: one for each input. Backwards: one for each output.", {(10, 1): "Its only input is λ."}
    ),
    "exercise_1": Question(
        quotient_moves, "q b = a, so dq b + q db = da.",
        [(lambda a, da, b, db: da / db, "That is no rule."), (lambda a, da, b, db: da / b, "b moves, too.")],
    ),
    "exercise_2_arm": Question("reverse", "Compare 7 with 3.", {"forward": "That takes 7 passes."}),
    "exercise_2_weather": Question("forward", "Compare 3 with a million.", {"reverse": "That takes a million passes."}),
    "exercise_2_loss": Question("reverse", "Compare a million with 1.", {"forward": "That takes a million passes."}),
    "exercise_3": Question(
        1.25338, "np.exp(np.sin(1 + 1j * h)).imag / h, with a tiny h.",
        {2.31978: "That is the value.", 0.5403: "That is cos 1."},
    ),
}  # fmt: skip
