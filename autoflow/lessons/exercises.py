"""When an answer counts as the same as the right one, and how to show it in a few words.

The parts of the lessons' text files that need Python: checks of answers that are functions, and mistakes that are not
numbers in a list.

A text file says ``{ check = "pools" }`` for a function of this module that gets an answer and says whether it is right,
and ``{ mistake = "box" }`` for an entry of :data:`MISTAKES`. Both are in the order of the lessons. Functions that
students may write are tried in the tests: ``tests/support/wrong_answers.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..nodes.nodes import AnyFunction, Array, Variable
from ..transforms.gradcheck import gradcheck

TOLERANCE = 0.01  # of numbers that are not whole: two or three digits on paper are enough
NOTHING = 1e-6  # the rounding error of a computed 0


def plain(answer: object) -> Any:
    """An answer without the nodes that it is made of."""
    value = getattr(answer, "value", answer)
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def numbers(answer: object) -> np.ndarray:
    """An answer as an array of floats, whatever type of number it has. TypeError or ValueError if it is not a number or
    array."""
    array = np.asarray(plain(answer))
    array = array.real if array.dtype.kind == "c" and not np.any(array.imag) else array
    return np.array(array.tolist(), float)


def same(answer: object, right: object) -> bool:
    """Whether an answer is the right one, however it is written.

    Words in capital or small letters, whole numbers exactly, other numbers to 1 % or rounded to two digits, sets in
    any order, arrays and shapes entry by entry. A single number may be given in an array, in brackets, or without them.
    """
    try:
        if isinstance(right, (str, bool)):
            return fold(plain(answer)) == fold(right)
        return is_set(answer, right) if isinstance(right, set) else is_array(answer, np.asarray(right))
    except (TypeError, ValueError):
        return False


def fold(word: object) -> str:
    """A word as it is compared: ``True`` and NumPy's kinds of it are words, too."""
    return "".join(str(word).split()).casefold()


def is_set(answer: object, right: set[Any]) -> bool:
    """Whether the answer has all of these and nothing else; words may be given in one text: ``"a, d"``, ``"ad"``."""
    if isinstance(answer, str):
        words = re.findall(r"\w+", answer)
        answer = list(words[0]) if len(words) == 1 and max(map(len, right)) == 1 else words
    parts = list(plain(answer))
    has_all = all([any([same(part, one) for part in parts]) for one in right])
    return has_all and all([any([same(part, one) for one in right]) for part in parts])


def is_array(answer: object, right: np.ndarray) -> bool:
    """Whether numbers are the right ones, as exactly as their type and the question allow."""
    array, kind = numbers(answer), np.asarray(plain(answer)).dtype
    if right.size == array.size == 1 and 0 in (right.ndim, array.ndim):  # (2) is 2 in Python
        array = array.reshape(right.shape)
    if array.shape != right.shape:
        return False
    exact = right.dtype.kind == "i"
    fraction = max(1e-9 if exact else TOLERANCE, float(np.finfo(kind).eps) if kind.kind == "f" else 0.0)
    near = np.abs(array - right) <= np.where(right == 0, NOTHING, fraction * np.abs(right))
    two_digits = np.reshape([float(f"{number:.2g}") for number in right.ravel()], right.shape)
    return bool(np.all(near | (not exact and array == two_digits)))


def in_few_words(answer: object) -> str:
    """An answer in a few words."""
    if callable(answer):
        return f"{getattr(answer, '__name__', 'your function')}()"
    if isinstance(answer, str):
        return repr(answer)
    value = plain(answer)
    single = isinstance(value, (float, int, np.ndarray, np.generic)) and np.ndim(value) == 0
    if single and np.asarray(value).dtype.kind in "iuf":
        return f"{float(value):.6g}"
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:39] + "…"


def between(low: float, high: float) -> Callable[[Any], bool]:
    """Whether a number is between these two: ``{ between = [0.01, 0.5] }`` in a text file."""
    return lambda number: low < numbers(number).item() < high


def call(function: Any, *given: Any, **named: Any) -> Any:
    """The result of a student's function, without nodes: an array, or a tuple of arrays.

    Its arguments and its result are copies, since it may change arrays in place.
    """
    result = function(*[np.array(part) if isinstance(part, np.ndarray) else part for part in given], **named)
    return tuple(map(numbers, result)) if isinstance(result, (tuple, list)) else numbers(result)


def like(reference: AnyFunction, *shapes: tuple[int, ...]) -> Callable[[Any], bool]:
    """Whether a function gives what ``reference`` gives, of arrays of these shapes: one array, or several."""

    def gives_the_same(function: AnyFunction) -> bool:
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=shape) for shape in shapes]
        result, expected = call(function, *arrays), reference(*arrays)
        if not isinstance(expected, tuple):
            result, expected = (result,), (expected,)
        pairs = zip(result, expected, strict=True)
        return all([np.shape(a) == b.shape and bool(np.allclose(a, b)) for a, b in pairs])

    return gives_the_same


# -- lesson 1: an engine of 40 lines


class Number:
    """Like the lesson's, for functions that go back through numbers."""

    def __init__(self, value: float, parents: object = (), slopes: object = ()) -> None:
        self.value, self.parents, self.slopes, self.grad = value, parents, slopes, 0.0


def slope(result: Any, x: object) -> float:
    """The derivative of a number of the lesson's with respect to another, along all paths."""
    ways = zip(result.parents, result.slopes, strict=True)
    return 1.0 if result is x else sum([by * slope(parent, x) for parent, by in ways])


def has_difference_and_quotient(kind: Any) -> bool:
    """Whether a class of numbers knows x − y and x / y, and their slopes, in one step or in several."""
    x, y = kind(6.0), kind(2.0)
    results = [(z.value, slope(z, x), slope(z, y)) for z in (x - y, x / y)]
    return bool(np.allclose(results, [(4.0, 1.0, -1.0), (3.0, 0.5, -1.5)]))


def goes_back_twice(backward: Any) -> bool:
    """Whether the second call adds as much as the first one."""
    x = Number(2.0)
    a = Number(4.0, (x, x), (2.0, 2.0))
    product = Number(8.0, (a, x), (2.0, 4.0))
    out = Number(12.0, (a, product), (1.0, 1.0))
    gradients = []
    for _ in range(2):
        backward(out)
        gradients.append(x.grad)
    return bool(np.allclose(gradients, [16.0, 32.0]))


def is_trained(answer: object) -> bool:
    """Whether w and c are those of tanh(w) = 0.9 and c = 0."""
    w, c = numbers(answer)
    return bool(abs(w - 1.472) < 0.02 and abs(c) < 0.01)


# -- lesson 2: what is remembered


def collects_all(function: Any) -> bool:
    """Whether a function finds the four nodes of x · x + sin x, each once."""
    x = Variable(0.5)
    nodes = list(function(x * x + np.sin(x)))
    return sorted([node.opmethod for node in nodes if node is not x]) == ["add", "multiply", "sin"] and len(nodes) == 4


def slope_in_x(y: Any) -> float:
    """∂L/∂x of L = (x + y) sin(x y) at x = 2."""
    return math.sin(2 * float(y)) + (2 + float(y)) * float(y) * math.cos(2 * float(y))


def makes_x_flat(y: object) -> bool:
    """Whether the gradient of x is 0 there: it has different signs a little below and a little above."""
    there = numbers(y).item()
    return abs(there) <= 2 and slope_in_x(there - 0.005) * slope_in_x(there + 0.005) <= 0


# -- lesson 3: broadcasting backwards


def rows_sum_to_zero(gradient: object) -> bool:
    """Whether this is a gradient of shape (3, 4) with rows that sum to 0, and not nothing."""
    g = numbers(gradient)
    return g.shape == (3, 4) and bool(np.allclose(g.sum(axis=1), 0, atol=1e-5)) and bool(np.any(np.abs(g) > 1e-3))


gives_both_gradients = like(lambda g, a, b: (g @ b, a @ g), (3, 2), (3,), (2,))  # of a and b, of a[:, None] * b


# -- lesson 4: derivatives of derivatives


def finds_zeros(zero: object) -> bool:
    """Whether ``zero(f, x)`` finds √2 and the golden ratio."""
    zeros = [call(zero, lambda x: x**2 - 2, 1.0).item(), call(zero, lambda x: x**2 - x - 1, 2.0).item()]
    return bool(np.allclose(zeros, (math.sqrt(2), (1 + math.sqrt(5)) / 2), rtol=1e-9))


# -- lesson 5: rules of your own


def cubes(function: Any) -> bool:
    """Whether a function is x³, and its first two derivatives are right."""
    cubed = same(call(function, np.array([2.0, -1.0])), [8.0, -1.0])
    return cubed and bool(gradcheck(function, np.array([-1.0, 2.0]), order=2))


def reverses(function: Any) -> bool:
    """Whether a Function returns what it gets, and turns the sign on the way back."""
    x = Variable([3.0, -2.0])
    z = getattr(function, "apply", function)(x)
    np.sum(z * np.array([1.0, 4.0])).backward()
    return same(z, [3.0, -2.0]) and same(x.grad, [-1.0, -4.0])


# -- lesson 6: digits


def fools_the_network(answer: object) -> bool:
    """Whether what was read, what is read now, and the change are two digits and a small number."""
    shown_digit, read, change = numbers(answer)
    return bool(shown_digit != read and 0 < change < 0.6)


def swings(path: object) -> bool:
    """Whether 100 values of w, or 101 with the start, still go from −1 to 1 in their second half."""
    values = numbers(path).ravel()
    return len(values) in {100, 101} and bool(min(values[50:]) < -0.9 and max(values[50:]) > 0.9)


# -- lesson 7: thirty layers


def keeps_and_loses(answer: object) -> bool:
    """Whether the first of two factors is 1, and the second one less."""
    keeps, loses = numbers(answer)
    return bool(abs(keeps - 1) < 1e-3 and 0 < loses < 0.99)


# -- lesson 8: a network that writes


def writes_on(text: object) -> bool:
    """Whether 40 characters follow the words that were given."""
    return isinstance(text, str) and text.startswith("Zebras are ") and len(text) == 51


# -- lesson 9: convolution


# The largest of each 2 × 2 field, for any leading axes.
pools = like(lambda x: x.reshape((2, 3, 3, 2, 4, 2)).max(axis=(3, 5)), (2, 3, 6, 8))


# -- lesson 10: SciPy


def hangs(heights: object) -> bool:
    """Whether 19 heights are those of the cable: symmetric, lowest in the middle, at about −1."""
    h = numbers(heights)
    return h.shape == (19,) and -1.1 < h[9] < -0.9 and h.argmin() == 9 and bool(np.allclose(h, h[::-1], atol=0.01))


# -- lesson 11: debugging


def measures(distance: Any) -> bool:
    """Whether distances of pairs are right, and their gradients finite at 0. Something small may be added there."""
    p = Variable([[0.0, 0.0], [3.0, 4.0]])
    distances = distance(p, np.zeros((2, 2)))
    np.sum(distances).backward()
    at_0, at_5 = p.grad
    slopes = np.linalg.norm(at_0) <= 1.001 and np.allclose(at_5, [0.6, 0.8], atol=0.01)
    return np.shape(distances) == (2,) and bool(np.allclose(distances, [0.0, 5.0], atol=0.01) and slopes)


def is_stable(softplus: Any) -> bool:
    """Whether it is ln(1 + exp x) at 0.3 and does not overflow at 1000, forwards and backwards."""
    x = Variable([0.3, 1000.0])
    z = softplus(x)
    np.sum(z).backward()
    return bool(np.allclose(z, [0.8543552444685272, 1000.0]) and np.allclose(x.grad, [1 / (1 + np.exp(-0.3)), 1.0]))


def is_a_mean(mean: Any) -> bool:
    """Whether values and gradients of a mean are right."""
    x = np.array([1.5, 2.5, 4.0, 8.0])
    return same(call(mean, x), 4.0) and bool(gradcheck(mean, x))


# -- lesson 12: where the time goes


def agree(answer: Any) -> bool:
    """Whether two lists of two gradients, of w and u, are the same."""
    eager, compiled = answer
    shapes = [np.shape(g) for g in eager] == [(8, 16), (16, 16)]
    return shapes and all([np.allclose(a, b) for a, b in zip(eager, compiled, strict=True)])


def finds_the_root(root: Any) -> bool:
    """Whether it finds √2 from 1 and from 2, compiled or not."""
    return bool(np.allclose([call(root, np.array(start)).item() for start in (1.0, 2.0)], np.sqrt(2), rtol=1e-6))


# -- lesson 13: matrix calculus


SCORES = (4, 3), (3, 2), (4, 2)  # X, W, g

is_gradient_of_w = like(lambda x, w, g: x.T @ g, *SCORES)
is_gradient_of_x = like(lambda x, w, g: g @ w.T, *SCORES)
is_gradient_of_q_and_k = like(lambda q, k, g: (g @ k, g.T @ q), (5, 4), (7, 4), (5, 7))
is_gradient_of_a_square = like(lambda a, x: (a + a.T) @ x, (3, 3), (3,))
is_gradient_of_an_inverse = like(lambda b, g: -b.T @ g @ b.T, (3, 3), (3, 3))
is_gradient_of_the_middle = like(lambda x, a, c, g: (x @ a).T @ (g @ c.T), (9, 3), (3, 4), (5, 2), (9, 2))


# -- lesson 14: optimisers


def steps_like_nesterov(step: AnyFunction) -> bool:
    """Whether two steps with gradients 1 and 2, learning rate 0.1, land where Nesterov's do."""
    memory: dict[str, Any] = {}
    first = call(step, np.array([5.0]), np.array([1.0]), memory, lr=0.1)
    second = call(step, first, np.array([2.0]), memory, lr=0.1)
    return same(first, [4.81]) and bool(np.allclose(second, [4.81 - 0.1 * (2 + 0.9 * 2.9)]))


# -- lesson 15: normalisation, backwards


def gradient_of_layer_norm(x: Any, g: Any) -> Array:
    """That of Σ g ⊙ (x − mean) / std, mean and std of each row."""
    std = x.std(axis=1, keepdims=True)
    rows = (x - x.mean(axis=1, keepdims=True)) / std
    return (g - g.mean(axis=1, keepdims=True) - rows * np.mean(g * rows, axis=1, keepdims=True)) / std


goes_back_through_layer_norm = like(gradient_of_layer_norm, (3, 5), (3, 5))


# -- lesson 18: forward mode


def quotient_moves(function: AnyFunction) -> bool:
    """Whether ``function(a, da, b, db)`` is the tangent of a / b."""
    return same(call(function, 6.0, 1.0, 2.0, 0.0), 0.5) and same(call(function, 6.0, 0.5, 2.0, 1.0), -1.25)


# -- lesson 20: toolkit


def is_product_with_hessian(function: AnyFunction) -> bool:
    """Whether ``function(f, x, v)`` is H v, of f(x) = Σ x³ with the Hessian 6 diag(x)."""
    x, v = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    result = call(function, lambda x: np.sum(x**3), x, v)
    return np.shape(result) == (2,) and bool(np.allclose(result, 6 * x * v))


is_leaky = like(lambda x: np.where(x > 0, x, 0.1 * x), (8,))


# -- lesson 22: a network of neurons

is_margin = like(lambda y, t: np.asarray(np.mean(np.maximum(0.0, 1 - t * y))), (8,), (8,))

# Usual mistakes that a text file cannot hold. The file explains each.
MISTAKES: dict[str, Any] = {
    "ones": np.ones((3, 4)),
    "zeros": np.zeros((3, 4)),
    "path_with_zero_grad": [0.8**k for k in range(1, 101)],
    "straight_line": np.zeros(19),
    "box": -np.ones(19),
    "sum": np.sum,
    "gradients_that_differ": ([np.ones((8, 16)), np.ones((16, 16))], [np.ones((8, 16)), np.zeros((16, 16))]),
}

# What lesson 17 leaves out of its list: names of colours that people gave, and that nobody wants to read in class.
RUDE = ("poo", "shit", "piss", "puke", "vomit", "barf", "booger", "snot", "crap", "bile", "diarr")
