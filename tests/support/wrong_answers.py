"""Functions and classes that students may write by mistake, by lesson and question: ``check`` must call each wrong."""

import numpy as np

import autoflow as af
from autoflow.lessons.exercises import Number


class SignForgotten(Number):
    """x / y with a sign forgotten."""

    def __sub__(self, other):
        return SignForgotten(self.value - other.value, (self, other), (1.0, -1.0))

    def __truediv__(self, other):
        return SignForgotten(self.value / other.value, (self, other), (1 / other.value, self.value / other.value**2))


class Straight(af.Function):
    """Changes no sign on the way back."""

    @staticmethod
    def forward(ctx, x):
        return x.copy()

    @staticmethod
    def backward(ctx, g):
        return g


def momentum_only(x, g, memory, lr):
    memory["v"] = 0.9 * memory.get("v", 0.0) + g
    return x - lr * memory["v"]


def mean_alone(x, g):
    """Of layer norm one of the two directions that stay."""
    return (g - g.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


WRONG = {
    ("micro_engine", "exercise_1"): [SignForgotten], ("micro_engine", "exercise_2"): [lambda out: None],
    ("graph_and_pictures", "exercise_2"): [lambda node: [node, *node.operands], lambda node: [node]],
    ("broadcasting_backwards", "exercise_4"): [
        lambda g, a, b: (g @ b, g @ b), lambda g, a, b: (g.sum(axis=1), g.sum(axis=0)),
    ],
    ("derivatives_of_derivatives", "exercise_1"): [lambda f, x: x, lambda f, x: 1.41],
    ("your_own_rules", "exercise_1"): [lambda x: x * x, lambda x: np.asarray(x) ** 3],
    ("your_own_rules", "exercise_3"): [Straight],
    ("convolution_and_attention", "exercise_2"): [lambda x: x[..., ::2, ::2], lambda x: x.max()],
    ("debugging", "exercise_1"): [lambda p, q: np.linalg.norm(p - q)],
    ("debugging", "exercise_2"): [lambda x: np.maximum(x, 0.0)],
    ("debugging", "exercise_3"): [lambda x: np.asarray(x).mean()],
    ("compile", "exercise_3"): [lambda x: x - (x**2 - 2) / (2 * x)],
    ("matrix_calculus", "dL_dW"): [lambda x, w, g: g.T @ x, lambda x, w, g: x @ g],
    ("matrix_calculus", "dL_dX"): [lambda x, w, g: w @ g.T, lambda x, w, g: g @ w],
    ("matrix_calculus", "exercise_1"): [lambda q, k, g: (g @ k, q.T @ g), lambda q, k, g: g @ k],
    ("matrix_calculus", "exercise_2"): [lambda a, x: 2 * a @ x, lambda a, x: a @ x],
    ("matrix_calculus", "exercise_3"): [lambda b, g: -b @ g @ b, lambda b, g: b.T @ g @ b.T],
    ("matrix_calculus", "exercise_4"): [lambda x, a, c, g: (g @ c.T).T @ (x @ a)],
    ("optimisers", "exercise_2"): [momentum_only, lambda x, g, memory, lr: x - lr * g],
    ("backward_by_hand", "exercise_3"): [lambda x, g: g, mean_alone],
    ("forward_mode", "exercise_1"): [lambda a, da, b, db: da / db, lambda a, da, b, db: da / b],
    ("toolkit", "exercise_2"): [lambda f, x, v: v, lambda f, x, v: 3 * x**2 * v],
    ("toolkit", "exercise_3"): [lambda x: 0.1 * x, lambda x: np.maximum(x, 0.0)],
    ("micrograd_live", "exercise_2"): [
        lambda y, t: np.sum(np.maximum(0.0, 1 - t * y)), lambda y, t: np.mean(1 - t * y),
    ],
}  # fmt: skip
