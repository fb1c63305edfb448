"""Questions of lesson 14: steps on a parabola, and optimisers."""

from typing import Any

import numpy as np

from .checks import Question, same

STEP = "The gradient at 1 is 4. Multiply it by the learning rate, and subtract that from 1."


def steps_like_nesterov(step: Any) -> bool:
    """Whether two steps with gradients 1 and 2, learning rate 0.1, land where Nesterov's do."""
    memory: dict[str, Any] = {}
    first = step(np.array([5.0]), np.array([1.0]), memory, lr=0.1)
    second = step(first, np.array([2.0]), memory, lr=0.1)
    return same(first, [4.81]) and bool(np.allclose(second, [4.81 - 0.1 * (2 + 0.9 * 2.9)]))


def momentum_only(x: Any, g: Any, memory: dict[str, Any], lr: float) -> Any:
    """A usual mistake."""
    memory["v"] = 0.9 * memory.get("v", 0.0) + g
    return x - lr * memory["v"]


QUESTIONS = {
    "with_0_1": Question(0.6, STEP, {0.4: "That is the step.", 1.4: "A step goes against the gradient."}),
    "with_0_25": Question(0.0, STEP, {1.0: "That is the step."}),
    "with_0_5": Question(-1.0, STEP, {2.0: "That is the step.", 0.0: "It goes beyond the bottom."}),
    "three_velocities": Question(
        (1.0, 1.9, 2.71), "Each time: 0.9 times the last one, plus 1.", {(1, 2, 3): "It keeps only 0.9 of what it had."}
    ),
    "in_the_end": Question(
        10.0, "In the end v does not change: v = 0.9 v + 1.", {9.0: "That is 0.9 v.", 0.9: "That is what it keeps."}
    ),
    "exercise_1": Question(
        (0.1, 0.3162), "With it m/√s is g/|g|. Without it m = 0.1 g, s = 0.001 g².",
        {(0.3, 0.9487): "Adam's steps do not depend on the size of g.", (0.1, 0.01): "s is too small as well."},
    ),
    "exercise_2": Question(
        steps_like_nesterov, "First update v, then step by lr · (g + 0.9 v).",
        [(momentum_only, "That is momentum."), (lambda x, g, memory, lr: x - lr * g, "That is plain descent.")],
    ),
    "exercise_3": Question(
        2508.0, "Divide the larger eigenvalue of af.hessian(banana) at (1, 1) by the smaller one.",
        {1001.6: "That is the larger eigenvalue."},
    ),
}  # fmt: skip
