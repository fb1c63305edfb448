"""What the generated tests need: inputs for a row, layouts of memory, differences, few but well chosen combinations.

Everything here reads the table and nothing else, so a new row needs nothing added here.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import itertools
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

import autoflow as af
from autoflow.cli import demo
from autoflow.cli.commandline import nodes_of
from autoflow.extending import custom
from autoflow.forward import operators
from autoflow.table.table import RULES, Example, Rule

# All rows are there before a test asks for them, whichever test is collected first.
ABOUT_SCIPY = "special", "bessel", "distributions", "matrix_functions"
SCIPYS = "autoflow.scipy.", *[f"autoflow.rules.{name}" for name in ABOUT_SCIPY]  # how names of their modules begin
WITH_ROWS = "linalg", "signal", "special", "stats", "integrate", "fft", "sparse.linalg", "bodies"
if importlib.util.find_spec("scipy.special"):
    for name in (*SCIPYS[1:], *[f"autoflow.scipy.{name}" for name in WITH_ROWS]):
        importlib.import_module(name)

Array = Any
NIGHTLY = bool(os.environ.get("AUTOFLOW_NIGHTLY"))  # then all combinations, and the rarer dtypes
H = 5e-4  # step of the differences: the truncation error h⁴ and the rounding error ε/h are both about 1e-12
TINY = 1e-30  # step of the complex differences, from which nothing is subtracted
Stencil = tuple[tuple[int, float], ...]
STENCIL: Stencil = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))  # df/dx = Σ weight · f(x + k h) / h + O(h⁴)
# The same with O(h⁸), in twice the time, for functions that bend so much that h⁴ is seen.
FINE: Stencil = (
    (-4, 1 / 280), (-3, -4 / 105), (-2, 1 / 5), (-1, -4 / 5), (1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280),
)  # fmt: skip


def example(x: float = 3.0, y: float = 5.0, z: float = 4.0) -> tuple[Any, tuple[Any, ...]]:
    """The computation that the documentation is about: a5, and the Variables x, y, z."""
    a5 = demo.example(x, y, z)
    return a5, tuple([node for node in nodes_of(a5) if isinstance(node, af.Variable)])


# -- rows and their inputs -------------------------------------------------------------------------------------------


def rows(scipys: bool = True) -> list[Rule]:
    """Every row once, also if several functions share it, in the order of their names; or all but those for SciPy."""
    unique = {id(row): row for row in RULES.values() if scipys or not is_scipys(row)}
    return sorted(unique.values(), key=lambda row: (row.name, str(row.function)))


def is_scipys(row: Rule) -> bool:
    """Is it a ufunc that NumPy has not, or of one of the modules that import SciPy, or its derivative written there?"""
    if isinstance(row.function, np.ufunc):
        return getattr(np, row.function.__name__, None) is not row.function
    homes = {getattr(row.function, "__module__", ""), *[f.__module__ for f in row.derivatives.values()]}
    return any([home.startswith(SCIPYS) for home in homes if home])


def booleans(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.permutation(np.arange(int(np.prod(shape))) % 2 == 0).reshape(shape)


# What the table cannot say yet: operands that are no floats (row, operand), and inputs that a function needs to be
# special (row -> what to compute of the random operands first, recorded, so that its derivatives take part).
DRAWN: dict[tuple[str, str], Callable[[np.random.Generator, tuple[int, ...]], Array]] = {("where", "c"): booleans}
PREPARED: dict[str, Callable[..., Any]] = {}


def operand_names(row: Rule, example: Example) -> list[str]:
    """The name of each operand in the row; all arrays of a sequence have the same."""
    return [row.names[0 if row.variadic else k] for k in range(len(example.shapes))]


def differentiable(row: Rule, example: Example) -> list[int]:
    """To which operands gradients may flow."""
    names = operand_names(row, example)
    return [k for k, name in enumerate(names) if name in row.derivatives and example.shapes[k] is not None]


def values_of(row: Rule, example: Example, *, imaginary: bool = False, salt: int = 0) -> list[Array]:
    """One float64 array per operand, inside the row's domain, no two numbers alike anywhere.

    They are evenly spread and shuffled, so that no difference crosses a tie, and rounded to half precision (where
    that keeps them apart), so that every dtype computes with the same numbers. None stays None.
    """
    rng = np.random.default_rng(zlib.crc32(f"{row.name} {example!r} {imaginary} {salt}".encode()))
    low, high = (-0.5, 0.5) if imaginary else row.domain
    sizes = [0 if shape is None else int(np.prod(shape)) for shape in example.shapes]
    n = sum(sizes)
    # 0.37 keeps the numbers off the places where kinks are: 0, the integers, the halves
    flat = rng.permutation(low + (high - low) * (np.arange(n) + 0.37 + rng.uniform(-0.1, 0.1, n)) / max(n, 1))
    half = flat.astype(np.float16)
    flat = (half if len(np.unique(half)) == n else flat.astype(np.float32)).astype(np.float64)
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    made: list[Array] = []
    for name, shape, part in zip(operand_names(row, example), example.shapes, parts, strict=True):
        draw = DRAWN.get((row.name, name))
        made.append(None if shape is None else draw(rng, shape) if draw else part.reshape(shape))
    return made


def cast(x: Array, dtype: Any) -> Array:
    """``x`` with that dtype; other kinds keep their own."""
    return x if x is None or x.dtype.kind not in "fc" else np.asarray(x).astype(dtype)


def prepare(row: Rule, operands: Sequence[Any]) -> list[Any]:
    """The operands as the row is called with them."""
    return list(PREPARED[row.name](*operands)) if row.name in PREPARED else list(operands)


def call(row: Rule, operands: Sequence[Any], options: dict[str, Any]) -> Any:
    """The call that a user writes."""
    if row.variadic:
        return row.function(list(operands), **options)
    if isinstance(row.function, np.ufunc):  # ufuncs take no argument by name
        return row.function(*operands, *options.values())
    return row.function(*operands, **options)


def plain(x: Any) -> Any:
    return x.value if isinstance(x, af.Node) else x


# -- layouts ---------------------------------------------------------------------------------------------------------


def reverse(x: Array) -> Array:
    """Negative strides on every axis."""
    back: Any = (..., *[slice(None, None, -1)] * x.ndim)
    return x[back].copy()[back]


def stride(x: Array) -> Array:
    """Every other element of something larger."""
    other: Any = (..., *[slice(None, None, 2)] * x.ndim)
    z = np.zeros([2 * n for n in x.shape], x.dtype)[other]
    z[...] = x
    return z


def spread(x: Array) -> Array:
    """Stride 0: the first row repeated, read-only. The only layout that changes values."""
    return np.broadcast_to(x[:1], x.shape) if x.ndim and x.shape[0] else x.copy()


def lock(x: Array) -> Array:
    z = x.copy()
    z.flags.writeable = False
    return z


def shift(x: Array) -> Array:
    """One byte off the alignment of its dtype."""
    z = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    z[...] = x
    return z


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": lambda x: np.array(x, order="C"), "F": lambda x: np.array(x, order="F"), "reversed": reverse,
    "strided": stride, "broadcast": spread, "read-only": lock, "unaligned": shift,
}  # fmt: skip


# -- differences -----------------------------------------------------------------------------------------------------


def directional(
    f: Callable[[list[Array]], Any], xs: Sequence[Array], direction: Sequence[Array], stencil: Stencil = STENCIL
) -> Any:
    """d/dt f(x + t·direction) at t = 0, by differences. f may return an array or a list of them."""
    total: Any = None
    for k, weight in stencil:
        at = f([x if d is None else np.asarray(x + k * H * d) for x, d in zip(xs, direction, strict=True)])
        part = [weight / H * a for a in at] if isinstance(at, list) else weight / H * at
        if total is None:
            total = part
        else:
            total = [a + b for a, b in zip(total, part, strict=True)] if isinstance(at, list) else total + part
    return total


def central(f: Callable[[list[Array]], Any], xs: Sequence[Array], k: int) -> Array:
    """The gradient of the real function f with respect to ``xs[k]``, by differences; complex: df/da + i df/db."""
    grad = np.zeros_like(xs[k])
    for place in np.ndindex(grad.shape):
        for unit in (1.0, 1.0j) if grad.dtype.kind == "c" else (1.0,):
            step = np.zeros_like(grad)
            step[place] = unit
            grad[place] += unit * directional(f, xs, [step if i == k else None for i in range(len(xs))])
    return grad


def complex_step(f: Callable[[list[Array]], Any], xs: Sequence[Array], k: int) -> Array:
    """The same for an analytic f of real arguments: Im f(x + ih)/h, exact to rounding, nothing is subtracted."""
    grad = np.zeros_like(xs[k])
    for place in np.ndindex(grad.shape):
        x = xs[k].astype(complex)
        x[place] += TINY * 1j
        z = f([x if i == k else v for i, v in enumerate(xs)])
        grad[place] = np.imag(z) / TINY
    return grad


def assert_close(ours: Array, theirs: Array, rtol: float, what: str) -> None:
    """Equal shapes, and equal numbers up to ``rtol`` of the largest."""
    assert ours.shape == theirs.shape, f"{what}: shape {ours.shape}, not {theirs.shape}"
    if not theirs.size:
        return
    scale = max(1.0, float(np.max(np.abs(theirs))))
    error = np.abs(ours - theirs)
    assert np.all(error <= rtol * scale), f"{what}: off by {np.max(error):.3g}\nours   {ours}\ntheirs {theirs}"


def same_bits(ours: Any, theirs: Any) -> bool:
    """Same dtype, shape and bits. NaNs are equal whatever their payload; so are the padding bytes of longdouble."""
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.itemsize in (16, 32) and a.dtype.char in "gG":
        return _same_numbers(a, b)
    return a.tobytes() == b.tobytes() or bool(np.isnan(b).any() and _same_numbers(a, b))


def _same_numbers(a: Array, b: Array) -> bool:
    same_signs = np.array_equal(np.signbit(a.real), np.signbit(b.real))
    return same_signs and np.array_equal(a, b, equal_nan=True)


# -- combinations ----------------------------------------------------------------------------------------------------


def combinations(axes: dict[str, Sequence[Any]], every: bool = NIGHTLY) -> Iterator[dict[str, Any]]:
    """Combinations of one value per axis: so few that every pair of values occurs in one, or also one in 13 of all (no
    axis has a multiple of 13 values, so these are spread evenly)."""
    sizes = tuple([len(values) for values in axes.values()])
    more = itertools.islice(itertools.product(*map(range, sizes)), 0, None, 13) if every else ()
    for numbers in (*pairwise(sizes), *more):
        yield {name: values[i] for (name, values), i in zip(axes.items(), numbers, strict=True)}


def unseen_append(calls: list[Any]) -> Callable[[Any], None]:
    """A function that appends to ``calls``, which no guard of a compiled function finds: the list is in an object of
    Python's library, whose state is not searched. So a function can count its calls, and is not refused."""
    box: Any = threading.Event()
    box.calls = calls
    return lambda x: box.calls.append(x)


def every_pair(*axes: Any) -> list[tuple[Any, ...]]:
    """Combinations of one value of each collection: by night all of them, by day as :func:`pairwise` has them."""
    values = [list(axis) for axis in axes]
    if NIGHTLY:
        return list(itertools.product(*values))
    return [tuple([axis[i] for axis, i in zip(values, k, strict=True)]) for k in pairwise(tuple(map(len, values)))]


@lru_cache
def pairwise(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Rows of numbers, the k-th below ``sizes[k]``, in which every pair of values of two columns stands together.

    Most faults need one setting or two that meet, not five. Greedy: start a row with the first pair that is
    missing, and fill each other column with the value that brings most missing pairs (the least used of those).

    >>> pairwise((2, 2, 2))
    [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    columns = range(len(sizes))
    missing = dict.fromkeys(
        (i, a, j, b) for i in columns for j in columns if i < j for a in range(sizes[i]) for b in range(sizes[j])
    )
    used = [[0] * n for n in sizes]
    made = []
    while missing:
        i, a, j, b = next(iter(missing))
        row = {i: a, j: b}
        for k in columns:
            if k not in row:
                gains = [(sum(pair in missing for pair in _pairs(row, k, v)), -used[k][v], -v) for v in range(sizes[k])]
                row[k] = -max(gains)[-1]
        for k in columns:
            used[k][row[k]] += 1
            for pair in _pairs(row, k, row[k]):
                missing.pop(pair, None)
        made.append(tuple([row[k] for k in columns]))
    return made


def covering(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """As few rows of numbers as it takes for each number to stand somewhere in its column.

    Shorter columns begin again one number later each time, so that not always the same stand together.

    >>> covering((4, 2))
    [(0, 0), (1, 1), (2, 1), (3, 0)]
    """
    return [tuple([(i + i // n) % n for n in sizes]) for i in range(max(sizes))]


def _pairs(row: dict[int, int], k: int, v: int) -> list[tuple[int, int, int, int]]:
    """The pairs that the value v in column k forms with the rest of the row."""
    return [(i, a, k, v) if i < k else (k, v, i, a) for i, a in row.items() if i != k]


class Split(af.Function):
    """Two results, and a backward that needs the gradients of both."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h


# -- rules that a test replaces --------------------------------------------------------------------------------------


@contextmanager
def row_restored(function: Any) -> Iterator[Rule]:
    """A test may replace the row of ``function`` in the block: afterwards it is in every respect what it was."""
    row = RULES[function]
    before = copy.copy(row)
    own = function in custom.OWN
    try:
        yield row
    finally:
        custom._become(row, before)
        if not own:
            custom.OWN.discard(function)
        operators.install()
