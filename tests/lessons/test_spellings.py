"""A right answer is right however it is written, a wrong one gets no sentence that belongs to another, and hints do not
say the answer. All of it for every question, by what its answer is.
"""

import decimal
import fractions
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow.lessons.checks import questions_of
from autoflow.lessons.exercises import same

FOLDER = Path(sys.modules["autoflow.lessons"].__file__).parent
QUESTIONS = {
    f"{path.stem}: {name}": question
    for path in sorted(FOLDER.glob("*.toml")) for name, question in questions_of(path.stem).items()
}  # fmt: skip
VALUES = {name: question for name, question in QUESTIONS.items() if not callable(question.right)}
each_value = pytest.mark.parametrize("name", VALUES)


def spellings(right):
    """The same answer, written in other ways."""
    if isinstance(right, str):
        return [right.upper(), f"  {right}\n", np.str_(right), np.array(right)]
    if isinstance(right, bool):
        return [np.bool_(right), np.array(right), str(right), str(right).lower()]
    if isinstance(right, set):
        listed = sorted(right)
        ways = [listed, tuple(listed[::-1]), frozenset(right), dict.fromkeys(right).keys(), np.array(listed),
                [*listed, listed[0]]]  # fmt: skip
        if isinstance(listed[0], str):
            joined = [" ".join(listed), ", ".join(listed[::-1]), " + ".join(listed).upper()]
            return ways + joined + ["".join(listed)] * (max(map(len, listed)) == 1)
        return [*ways, [af.Variable(float(part)) for part in listed], [np.float32(part) for part in listed]]
    if isinstance(right, (tuple, list)):
        numbers = [float(part) for part in right]
        return [
            list(right), tuple(right), np.array(right), np.array(right, np.float32), af.Variable(numbers),
            tuple(map(af.Variable, numbers)), [np.array(part) for part in right], tuple(map(str, right)),
            *(right if len(right) == 1 else ()),
        ]  # fmt: skip
    number = float(right)
    kinds = (float, np.float32, np.float64, np.longdouble, complex, str, fractions.Fraction, decimal.Decimal, np.array,
             af.Variable, af.Constant)  # fmt: skip
    ways = [kind(number) for kind in kinds] + [[number], (number,), np.array([[number]]), af.Variable([number])]
    if isinstance(right, int):
        return [*ways, np.int64(right), np.array(right)]
    return [*ways, number * 1.009, number * 0.991, float(f"{number:.2g}"), number + 1e-7]


@each_value
def test_a_right_answer_is_right_however_it_is_written(name):
    for answer in spellings(VALUES[name].right):
        right, said = VALUES[name].judge(answer)
        assert right, f"{answer!r}: {said}"


def wrong_answers(right):
    """Neighbours of the right answer that are not right."""
    if isinstance(right, str):
        return [f"not {right}", right[:-1], ""]
    if isinstance(right, bool):
        return [not right, "maybe"]
    if isinstance(right, set):
        return [sorted(right)[:-1], [*right, "z"], "", {*right, 7}]
    if isinstance(right, (tuple, list)):
        return [[*right, 1], list(right)[:-1], [part + 7 for part in right], np.array(right)[:, None]]
    return [right + max(1, abs(right) / 8), right - max(1, abs(right) / 8), [right, right], f"{right} or so"]


@each_value
def test_a_wrong_answer_is_told_only_what_belongs_to_it(name):
    """Nothing is said to have been raised by a number, and the sentence of a mistake goes to that mistake alone."""
    question = VALUES[name]
    for answer in wrong_answers(question.right):
        right, said = question.judge(answer)
        assert not right, answer
        mine = [text for mistake, text in question.mistakes() if same(answer, mistake)]
        assert "raised" not in said
        assert [text for _, text in question.mistakes() if text and text in said] == mine[:1]


NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


@each_value
def test_a_hint_does_not_say_the_answer(name):
    right, hint = VALUES[name].right, VALUES[name].hint.replace("−", "-")
    if isinstance(right, bool):
        return
    found = [abs(float(text.replace(",", ""))) for text in NUMBER.findall(hint.replace(" - ", " "))]
    parts = right if isinstance(right, (tuple, list, set)) else [right]
    if isinstance(next(iter(parts)), str):
        said = [bool(re.search(rf"\b{re.escape(part)}\b", hint, re.IGNORECASE)) for part in parts]
    else:
        said = [any([same(number, abs(part)) for number in found]) for part in parts]
    assert not all(said)


# -- answers that are functions: one of each question, right in itself


def nesterov(x, g, memory, lr):
    memory["v"] = 0.9 * memory.get("v", 0.0) + g
    return x - lr * (g + 0.9 * memory["v"])


def layer_norm(x, g):
    std = x.std(axis=1, keepdims=True)
    rows = (x - x.mean(axis=1, keepdims=True)) / std
    return (g - g.mean(axis=1, keepdims=True) - rows * np.mean(g * rows, axis=1, keepdims=True)) / std


FUNCTIONS = {
    "broadcasting_backwards: exercise_4": lambda g, a, b: (g @ b, g.T @ a),
    "convolution_and_attention: exercise_2": lambda x: x.reshape(*x.shape[:-2], 3, 2, 4, 2).max(axis=(-3, -1)),
    "matrix_calculus: dL_dW": lambda x, w, g: x.T @ g, "matrix_calculus: dL_dX": lambda x, w, g: g @ w.T,
    "matrix_calculus: exercise_1": lambda q, k, g: (g @ k, g.T @ q),
    "matrix_calculus: exercise_2": lambda a, x: (a + a.T) @ x,
    "matrix_calculus: exercise_3": lambda b, g: -b.T @ g @ b.T,
    "matrix_calculus: exercise_4": lambda x, a, c, g: (x @ a).T @ (g @ c.T), "optimisers: exercise_2": nesterov,
    "backward_by_hand: exercise_3": layer_norm, "forward_mode: exercise_1": lambda a, da, b, db: (da - a / b * db) / b,
    "toolkit: exercise_2": lambda f, x, v: 6 * x * v,
    "micrograd_live: exercise_2": lambda y, t: np.mean(np.maximum(0.0, 1 - t * y)),
    "toolkit: exercise_3": lambda x: np.where(x > 0, x, 0.1 * x),
}  # fmt: skip


def in_all(result, convert):
    return tuple(map(convert, result)) if isinstance(result, tuple) else convert(result)


def listed(result):
    return list(result) if isinstance(result, tuple) else np.array(result).tolist()


def in_place(function):
    """It spoils what it was given, when it has what it needs."""

    def spoiling(*given, **named):
        result = function(*given, **named)
        arrays = [part for part in given if isinstance(part, np.ndarray)]
        fits = [part for part in arrays if isinstance(result, np.ndarray) and part.shape == result.shape]
        for part in arrays:
            part[...] = 99.0
        if not fits:
            return result
        fits[0][...] = result
        return fits[0]

    return spoiling


STYLES = {
    "plain": lambda function: function,
    "nodes": lambda function: lambda *a, **k: in_all(function(*a, **k), lambda x: af.Variable(x) + 0.0),
    "lists": lambda function: lambda *a, **k: listed(function(*a, **k)), "in place": in_place,
    "object": lambda function: type("Mine", (), {"__call__": lambda self, *a, **k: function(*a, **k)})(),
}  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_right_function_is_right_in_every_style(name, style):
    right, said = QUESTIONS[name].judge(STYLES[style](FUNCTIONS[name]))
    assert right, said


class Steps:
    """The lesson's number, with its difference and quotient in several steps each."""

    def __init__(self, value, parents=(), slopes=()):
        self.value, self.parents, self.slopes = value, parents, slopes

    def __add__(self, other):
        return Steps(self.value + other.value, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Steps(self.value * other.value, (self, other), (other.value, self.value))

    def __sub__(self, other):
        return self + other * Steps(-1.0)

    def __truediv__(self, other):
        return self * Steps(1 / other.value, (other,), (-(other.value**-2),))


def newton(f, x):
    for _ in range(8):
        x = x - f(x) / af.grad(f)(x)
    return af.Constant(x)


def behind(node):
    return {node, *node.operands, *[m for n in node.operands for m in n.operands]}


def roots(eps):
    return lambda p, q: np.sqrt(np.sum((p - q) ** 2, axis=-1) + eps)


@pytest.mark.parametrize(("name", "answer"), [
    ("debugging: exercise_1", roots(1e-12)), ("debugging: exercise_1", roots(1e-6)),
    ("debugging: exercise_1", lambda p, q: np.linalg.norm(p - q, axis=1)),
    ("debugging: exercise_2", lambda x: np.maximum(x, 0.0) + np.log1p(np.exp(-abs(x)))),
    ("micro_engine: exercise_1", Steps), ("micro_engine: exercise_4", (Steps(1.4722), Steps(0.0))),
    ("derivatives_of_derivatives: exercise_1", newton), ("graph_and_pictures: exercise_2", behind),
    ("graph_and_pictures: exercise_4", 0.96), ("graph_and_pictures: exercise_4", af.Constant(-1.187)),
    ("graph_and_pictures: exercise_4", [0.0]), ("digits: exercise_3", np.array([3.0, 8.0, 0.2])),
    ("digits: exercise_4", [(-1.0) ** k for k in range(101)]),
    ("digits: exercise_4", np.array([[(-1.0) ** k] for k in range(100)])),
    ("vanishing_and_exploding: exercise_2", (np.float32(0.99999), np.array(0.4))),
])  # fmt: skip
def test_other_right_answers(name, answer):
    right, said = QUESTIONS[name].judge(answer)
    assert right, said


@pytest.mark.parametrize(("name", "answer"), [
    ("debugging: exercise_1", lambda p, q: np.sqrt(np.sum((p - q) ** 2, axis=-1))),
    ("debugging: exercise_1", lambda p, q: np.sum(np.abs(p - q), axis=-1)), ("graph_and_pictures: exercise_4", 1.0),
    ("graph_and_pictures: exercise_4", 7.0),
    ("micro_engine: exercise_1", type("Sum", (Steps,), {"__sub__": Steps.__add__})),
])  # fmt: skip
def test_other_wrong_answers(name, answer):
    assert not QUESTIONS[name].judge(answer)[0]
