"""A row of the table on its examples, dtypes, layouts: the checks that tests/rules/test_rules.py generates.

What is compared with what is said there.
"""

from __future__ import annotations

import operator
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from calls import ARRAY_METHODS, CALLS, UFUNC_METHODS, VARIANT_CALLS, Call
from row_examples import examples_of
from support import (
    FINE,
    LAYOUTS,
    NIGHTLY,
    STENCIL,
    Stencil,
    assert_close,
    call,
    cast,
    central,
    combinations,
    complex_step,
    differentiable,
    directional,
    plain,
    prepare,
    rows,
    same_bits,
    values_of,
)

import autoflow as af
from autoflow.table import table
from autoflow.table.table import Example, Rule

TABLES: list[dict[Any, list[Call]]] = [CALLS, VARIANT_CALLS, ARRAY_METHODS, UFUNC_METHODS]
EVERY = [each for table in TABLES for calls in table.values() for each in calls]


def name(value: Any) -> str:
    return value.name.replace(" ", "-") if isinstance(value, Call) else str(value)


Array = Any
DTYPES = ["float64", "float32", "complex128", "float32 float64", "float64 complex128", "complex128 float64"]
RARE = ["float16", "longdouble", "complex64", "clongdouble", "float16 float32"]
KEEP = {"small": 4096, "large": 0}
LEAST = 5  # combinations for an example by day; all of them for the examples of a row together
OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "power": operator.pow, "matmul": operator.matmul,
    "negative": operator.neg, "positive": operator.pos, "absolute": operator.abs, "getitem": operator.getitem,
}  # fmt: skip


# -- one row on one example ------------------------------------------------------------------------------------------


class Unsupported(Exception):
    """NumPy's own function does not take this dtype: nothing to compare with."""


@dataclass
class Case:
    """A row on one of its examples, with the numbers that all combinations share."""

    row: Rule
    example: Example
    references: dict[Any, list[Array]] = field(default_factory=dict)

    @cached_property
    def live(self) -> list[int]:
        return differentiable(self.row, self.example)

    @cached_property
    def real(self) -> list[Array]:
        return values_of(self.row, self.example)

    @cached_property
    def imaginary(self) -> list[Array]:
        return values_of(self.row, self.example, imaginary=True)

    def values(self, dtypes: str) -> list[Array]:
        """The operands with those dtypes, the last one for all that remain."""
        words, made = dtypes.split(), []
        for k, (a, b) in enumerate(zip(self.real, self.imaginary, strict=True)):
            dtype = np.dtype(words[min(k, len(words) - 1)])
            made.append(cast(a + 1j * b if dtype.kind == "c" and a is not None and a.dtype.kind == "f" else a, dtype))
        return made

    def run(self, operands: Sequence[Any]) -> Any:
        """The row's function, as a user calls it."""
        if self.example.prepare:
            operands = [self.example.prepare(operands[0]), *operands[1:]]
        return call(self.row, prepare(self.row, operands), self.example.options)

    @cached_property
    def scale(self) -> float:
        """1; of rows with large values (degrees) a power of two that lets their cubes fit into half precision."""
        with np.errstate(all="ignore"):
            z = np.abs(np.asarray(self.run(self.real)))
        largest = np.max(z, initial=0.0, where=np.isfinite(z))
        return 1.0 if largest <= 64 else 2.0 ** -np.ceil(np.log2(largest / 16))

    def loss(self, z: Any, dtype: Any = None) -> Any:
        """z (a + z (b + c z)) with random a, b, c: everything contributes to its sum, at every order.

        Not summed here: backward sums, and then the row of sum is in a graph only when it is the one that is tried.
        """
        a, b, c = coefficients(self.row.name, z.shape, np.dtype(dtype or z.dtype))
        z = z if self.scale == 1 else z * self.scale
        return z * (a + z * (b + z * c))

    def slope(self, z: Array) -> Array:
        """What arrives at z: the derivative of the loss."""
        a, b, c = coefficients(self.row.name, z.shape, z.dtype)
        z = z * z.dtype.type(self.scale)
        return np.conj(a + z * (2 * b + z * 3 * c)) * z.dtype.type(self.scale)

    def directions(self, k: int, order: int, like: Array) -> Array:
        """The random direction for operand k in which that order is taken."""
        return direction(k, order, like.shape, like.dtype)

    def real_loss(self, xs: list[Array]) -> Any:
        """The number that is differentiated: the real part, where the loss is complex."""
        with np.errstate(all="ignore"):
            return np.real(np.sum(self.loss(np.asarray(self.run(xs)))))

    def reference(
        self, dtypes: str, live: tuple[int, ...], order: int, stencil: Stencil = STENCIL
    ) -> list[Array]:  # fmt: skip
        """The derivatives by differences, in double precision. Each is computed once."""
        double = " ".join("complex128" if np.dtype(word).kind == "c" else "float64" for word in dtypes.split())
        key = double, live, order, stencil
        if key not in self.references:
            xs = self.values(double)
            if order == 1:
                self.references[key] = [self.first(xs, k) for k in live]
            else:
                direction = [self.directions(k, order, x) if k in live else None for k, x in enumerate(xs)]
                self.references[key] = directional(
                    lambda at: self.derivative(at, live, order - 1), xs, direction, stencil
                )
        return self.references[key]

    def first(self, xs: list[Array], k: int) -> Array:
        """dL/dx of one operand, by differences; of an analytic function also by a complex step, which is exact."""
        grad = central(self.real_loss, xs, k)
        with np.errstate(all="ignore"):
            z = np.asarray(self.run(xs))
            if not self.row.holomorphic or z.dtype.kind == "c":
                return grad
            try:
                exact = complex_step(lambda at: np.sum(self.loss(np.asarray(self.run(at)), z.dtype)), xs, k)
            except (TypeError, ValueError, np.exceptions.ComplexWarning):  # NumPy's function takes no complex numbers
                return grad
        tolerance = max(tolerance_of([z], 1), 1e-6)
        assert_close(exact, grad, tolerance, "the row says holomorphic, but NumPy's function is not: complex step")
        return exact

    def derivative(self, xs: list[Array], live: tuple[int, ...], order: int) -> list[Array]:
        """The derivatives of that order by autoflow: all operands in ``live`` Variables, the rest plain arrays."""
        leaves = {k: af.Variable(x) for k, x in enumerate(xs) if k in live}
        z = self.run([leaves.get(k, x) for k, x in enumerate(xs)])
        return self.back(z, [leaves[k] for k in live], live, order)

    def back(self, z: Any, leaves: list[Any], live: tuple[int, ...], order: int) -> list[Array]:
        """Gradients; second derivatives times a direction; third times two. See :meth:`reference`."""
        roots = [(self.loss(z), None)]
        for n in range(2, order + 1):
            go_back(roots, create_graph=True)
            grads = [leaf.grad for leaf in leaves]
            for leaf, grad in zip(leaves, grads, strict=True):
                if n == 2 or grad is not None:  # later it may be None: nothing of second order
                    assert_fits(grad, leaf)
                leaf.zero_grad()
            seeds = [self.directions(k, n, leaf.value) for k, leaf in zip(live, leaves, strict=True)]
            roots = list(zip(grads, seeds, strict=True))
        go_back(roots)
        return [np.zeros_like(leaf.value) if leaf.grad is None else plain(leaf.grad) for leaf in leaves]


def sixteenths(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Random numbers between 1/2 and 3/2 of either sign: exact in every dtype."""
    parts = [rng.integers(8, 24, shape) / 16 * rng.choice([-1, 1], shape) for _ in range(2)]
    return np.asarray(parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(dtype)


@lru_cache(64)
def direction(k: int, order: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """See :meth:`Case.directions`."""
    return sixteenths(np.random.default_rng([k, order]), shape, dtype)


@lru_cache(64)  # a sixth of the time of a check is spent here otherwise; a proof looks through all that is kept
def coefficients(name: str, shape: tuple[int, ...], dtype: Any) -> tuple[Array, ...]:
    """a, b and c of :meth:`Case.loss`."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return tuple([sixteenths(rng, shape, dtype) * scale for scale in (1, 0.5, 0.25)])


def assert_fits(grad: Any, node: Any) -> None:
    """A gradient has its node's dtype and shape."""
    ours, theirs = (grad.dtype, grad.shape), (node.dtype, node.shape)
    assert ours == theirs, f"gradient {ours} of a node {theirs}"


def go_back(roots: Sequence[tuple[Any, Any]], **options: Any) -> None:
    """``root.backward(seed)`` of each, so gradients add up; and the pass itself never warns or raises."""
    with np.errstate(all="raise"):
        for root, seed in roots:
            if getattr(root, "requires_grad", False):  # else it is the derivative of something piecewise linear
                root.backward(np.ones_like(root.value) if seed is None else seed, **options)


def tolerance_of(arrays: Sequence[Array], order: int) -> float:
    """How close we can be to differences: 1e-9 in double precision; single and half as far as they can be."""
    eps = max(float(np.finfo(a.dtype).eps) for a in arrays if a is not None and a.dtype.kind in "fc")
    eps = max(eps, float(np.finfo(np.float64).eps))
    return (1e-8 if eps < 1e-12 else 2e3 * eps if eps < 1e-4 else 0.1) * order


# -- the operands of one combination ---------------------------------------------------------------------------------


def kinds_of(row: Rule) -> list[str]:
    """Which operands are nodes, and what the others are. ``0 among plain``: only the first one is a node."""
    several = row.variadic or row.operands > 1
    if not several:
        return ["Variables", "Operations"]
    n = min(len(row.derivatives) + row.variadic, 4)
    one = [f"{k} among {what}" for k in range(n) for what in ("plain", "Constants", "numbers")]
    return ["Variables", "Operations", *one]


def dress(case: Case, xs: list[Array], kind: str) -> tuple[list[Any], list[Any], tuple[int, ...]]:
    """The operands of the call, the leaves whose gradients are asked for, and the operands that stand on them."""
    which, _, what = kind.partition(" among ")
    live = (case.live[int(which) % len(case.live)],) if what else tuple(case.live)
    leaves = {k: af.Variable(xs[k], copy=False) for k in live}
    operands: list[Any] = []
    for k, x in enumerate(xs):
        if k in live:
            operands.append(np.positive(leaves[k]) if kind == "Operations" or what == "Constants" else leaves[k])
        elif x is None or x.dtype.kind not in "fc":
            operands.append(x)
        elif what == "Constants":
            operands.append(af.Constant(x, copy=False))
        else:
            operands.append(x.item() if what == "numbers" and not x.ndim else x)
    return operands, [leaves[k] for k in live], live


# -- the checks ------------------------------------------------------------------------------------------------------


def check(case: Case, dtypes: str, layout: str, kind: str, order: int, keep: str) -> None:
    """One combination. Raises AssertionError, or Unsupported where NumPy refuses the dtype."""
    xs = [x if x is None else LAYOUTS[layout](x) for x in case.values(dtypes)]
    operands, leaves, live = dress(case, xs, kind)
    expected = numpys(case, operands, dtypes, layout)
    with af.options(keep=KEEP[keep]), np.errstate(all="ignore"):
        z = case.run(operands)
        assert isinstance(z, af.Operation), f"the result is {type(z).__name__}"
        assert same_bits(z.value, expected), f"value {z.value!r} instead of NumPy's {expected!r}"
        if order == 1:
            check_doors(case, operands)
            grads = check_grads(case, z, leaves)
        else:
            grads = case.back(z, leaves, live, order)
    if layout == "broadcast":  # it repeats numbers, where functions like max have kinks; so compare with plain C order
        wanted = case.derivative([x if x is None else x.copy() for x in xs], live, order)
    else:
        wanted = case.reference(dtypes, live, order)
    tolerance = tolerance_of([expected, *[x for x in xs if x is not None]], order)
    try:
        compare_grads(live, grads, wanted, tolerance, order)
    except AssertionError:  # is it we, or a function that bends too much for differences with few points?
        if order == 1 or layout == "broadcast":
            raise
        compare_grads(live, grads, case.reference(dtypes, live, order, FINE), tolerance, order)


def compare_grads(live: Any, grads: Any, wanted: Any, tolerance: float, order: int) -> None:
    """Raise AssertionError if derivatives are not the wanted ones."""
    for k, grad, right in zip(live, grads, wanted, strict=True):
        with np.errstate(all="ignore"):
            beyond = np.isinf(grad) & (right.astype(grad.dtype) == grad)  # too large for the dtype
        grad, right = np.where(beyond, 0, grad), np.where(beyond, 0, right)
        assert_close(grad, right, tolerance, f"derivative of order {order}, operand {k}")


def numpys(case: Case, operands: list[Any], dtypes: str, layout: str) -> Array:
    """NumPy's own result for the same arrays. It must take float64; other dtypes may be refused."""
    if case.row.function is np.vdot and layout == "unaligned":  # NumPy hands them to BLAS as they are, and OpenBLAS's
        raise Unsupported  # kernels for processors without AVX end the process
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            expected = np.asarray(case.run([plain(x) for x in operands]))
        except (TypeError, AttributeError, np.exceptions.ComplexWarning):
            if dtypes in ("float64", "float32") and not any(type(x) in (float, complex) for x in operands):
                raise
            raise Unsupported from None
        except np.linalg.LinAlgError:  # repeated rows make a matrix singular
            if layout != "broadcast":
                raise
            raise Unsupported from None
        assert layout != "C" or expected.dtype.kind in "fc", f"a row whose result is {expected.dtype} has no derivative"
        if layout != "C" and expected.size and np.isfinite(expected).all():
            arrays = [plain(x) for x in operands]
            base = np.asarray(case.run([x.copy(order="C") if isinstance(x, np.ndarray) else x for x in arrays]))
            assert_close(expected, base, 4 * float(np.finfo(base.dtype).eps), "another layout, more than 4 ulp apart")
    return expected


def check_doors(case: Case, operands: list[Any]) -> None:
    """The Python operator and the array method of that name give what NumPy's give; and no_grad records nothing."""
    arrays = [plain(x) for x in operands]
    with af.no_grad():
        z = case.run(operands)
        assert type(z) is af.Constant, f"under no_grad the result is {type(z).__name__}"
        assert same_bits(z.value, case.run(arrays))
    for door, few, many, options in doors(case, operands):
        z = door(*few, *many, **options)
        assert getattr(z, "requires_grad", False), f"{door} gives {type(z).__name__}"
        right = door(*[plain(x) for x in few], *many, **options)
        assert same_bits(z.value, right), f"{door}: {z.value!r} instead of {right!r}"


def doors(case: Case, operands: list[Any]) -> Iterator[tuple[Any, list[Any], list[Any], dict[str, Any]]]:
    """The other ways to the same function: (callable, operands, positional options, keyword options)."""
    row, options = case.row, case.example.options
    operate = OPERATORS.get(row.name)
    if operate and (row.function is getattr(np, row.name, None) or row.name == "getitem"):
        assert row.operator in (None, operate)
        yield operate, operands, list(options.values()), {}
    method = getattr(np.ndarray, row.name, None)
    if not callable(method) or row.variadic or not isinstance(operands[0], af.Node):
        return
    if row.name in ("sort", "partition"):  # these methods work in place
        return
    for many, named in (([], options), (list(options.values()), {})):
        caller = _method(row.name)
        try:
            caller(*[plain(x) for x in operands], *many, **named)
        except TypeError:
            continue  # NumPy's method wants them the other way
        yield caller, operands, list(many), dict(named)
        return


def _method(name: str) -> Callable[..., Any]:
    def caller(x: Any, *args: Any, **options: Any) -> Any:
        return getattr(x, name)(*args, **options)

    caller.__qualname__ = caller.__name__ = f"ndarray.{name}"
    return caller


def check_grads(case: Case, z: Any, leaves: list[Any]) -> list[Array]:
    """Backward twice. What is in ``.grad`` has its node's dtype and shape, and shares memory with nothing."""
    root = case.loss(z)
    seed = np.ones_like(root.value)
    go_back([(root, seed)])
    nodes = [*leaves, z, root] if af.options.keep else leaves
    once = [node.grad for node in nodes]
    others = [seed, z.value, *[node.value for node in nodes]]
    for node, grad in zip(nodes, once, strict=True):
        assert type(grad) is np.ndarray, f"gradient of type {type(grad).__name__}"
        assert_fits(grad, node)
        assert grad.flags.writeable, "a gradient that cannot be written into"
        assert not any([np.may_share_memory(grad, other) for other in others]), "a gradient that shares memory"
        others.append(grad)
    if len(nodes) > len(leaves) and z.size:
        assert_close(z.grad, case.slope(z.value), tolerance_of([z.value], 1), "the gradient of the result itself")
    first = [grad.copy() for grad in once[: len(leaves)]]
    go_back([(root, seed)])
    for leaf, grad in zip(leaves, first, strict=True):
        assert same_bits(leaf.grad, grad + grad), "two passes do not add up to twice one pass"
    return first


def check_row(row: Rule, number: int | None = None, share: int = 1) -> None:
    """The combinations on every example of a row, or on one; the first failure names its settings. By day the examples
    share them, and ``share`` rows of one kind do so, too."""
    several = row.variadic or row.operands > 1
    dtypes = [d for d in DTYPES + RARE * NIGHTLY if several or " " not in d]
    axes: dict[str, Sequence[Any]] = {
        "dtypes": dtypes, "layout": list(LAYOUTS), "kind": kinds_of(row), "order": (1, 2, 3), "keep": list(KEEP),
    }  # fmt: skip
    examples = examples_of(row)
    for place, example in enumerate(examples) if number is None else [(number, examples[number])]:
        case = Case(row, example)
        every = list(combinations(axes))
        turn = place + zlib.crc32(row.name.encode())
        for settings in every if NIGHTLY else [*shared(every, turn, share * len(examples)), *rarely(row, place)]:
            try:
                check(case, **settings)
            except Unsupported:
                pass
            except Exception as error:
                error.add_note(f"{row!r}, {example}, {settings}")
                raise


def shared(settings: list[dict[str, Any]], turn: int, examples: int) -> list[dict[str, Any]]:
    """Those that one of several examples is tried in when it is its turn: at least ``LEAST``."""
    few = max(1, min(examples, len(settings) // LEAST))
    mixed = [settings[k] for k in np.random.default_rng(len(settings)).permutation(len(settings))]
    return mixed[turn % few :: few]


def rarely(row: Rule, number: int) -> Iterator[dict[str, Any]]:
    """The rarer dtypes, each on two examples of a row, in layouts and orders that take turns."""
    several, n = row.variadic or row.operands > 1, len(examples_of(row))
    layouts, kinds = list(LAYOUTS), kinds_of(row)
    for k, dtypes in enumerate([d for d in RARE if several or " " not in d]):
        if number in (k % n, (k + 1) % n):
            turn = k + number
            yield {"dtypes": dtypes, "layout": layouts[turn % len(layouts)], "kind": kinds[turn % len(kinds)],
                   "order": 1 + turn % 2, "keep": list(KEEP)[turn % 2]}  # fmt: skip


# -- do these checks notice a broken row? ----------------------------------------------------------------------------


def forget(row: Any) -> None:
    """What the row has worked out from its derivatives."""
    row._must_save, row._of_arity, row._with_residual, row._complex = {}, {}, None, None


@contextmanager
def broken(row: Rule, operand: str, wrong: Callable[[Any, Any], Any], **flags: Any) -> Iterator[None]:
    """For a while dL/d(operand) is ``wrong(g, what the row has)``."""
    before = {slot: getattr(row, slot) for slot in Rule.__slots__ if hasattr(row, slot)}
    right = row.derivatives[operand]

    def derivative(g: Any, *saved: Any) -> Any:
        return wrong(g, right(g, *saved))

    derivative.__wrapped__ = right  # type: ignore[attr-defined]  # its signature is that of the right one
    if row.residual is not None:
        derivative.of_residual = lambda g, kept: wrong(g, right.of_residual(g, kept))  # type: ignore[attr-defined]
    try:
        row.derivatives = {**row.derivatives, operand: derivative}
        forget(row)
        for flag, value in flags.items():
            setattr(row, flag, value)
        if not row.variadic:
            table._compile(row)
        yield
    finally:
        for slot, value in before.items():
            setattr(row, slot, value)
        forget(row)


VICTIMS = [row for row in rows() if row.name in ("add", "multiply", "sum", "matmul", "tanh", "getitem", "concatenate")]
