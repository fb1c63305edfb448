"""Helpers for reading rows: lists of nodes, results packed into one array, derivatives as functions of (g, saved).

Lists of nodes given as arrays: in which arguments they become arrays of nodes.

Packed results. A row has one result. A function with several, such as ``q, r = np.linalg.qr(x)``, is a row whose result
is all of them side by side in one array, :func:`pack`, and the results are slices of it, :func:`unpack`. Slices have
rows, so what flows back through them adds up by itself, an unused one sends zeros, and the row's derivative unpacks
``g`` and ``z`` in the same way. The price is one copy; in return, the engine need not know of second results.

Then helpers for stacks of matrices. LAPACK reads one triangle of a Hermitian x and never looks at the other. So do our
derivatives: everything that arrives is folded onto that triangle, :func:`fold`, and the other one receives zeros. For a
matrix that was computed symmetric (``x @ x.T``, ``y + y.T``) nothing changes; for a Variable (g + gᵀ)/2 is the
symmetric gradient.

From a derivative in a row to a function of (g, saved): names become places in ``saved``.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.types import AnyFunction, Array, ByName, Shape, Values
from .shapes import greatest, has_gradient, is_numpys, is_on_host, join_list, like_argument, numbers_of, sum_to

# ---------------------------------------------------------------- lists with nodes


class Lists:
    """Turns lists and tuples with nodes in them, in a call of a composed function, into arrays of nodes.

    Python makes it easy to write ``np.append(x, [y, z])``, and ``np.asarray([y, z])`` would take the numbers.
    """

    def __init__(self, function: AnyFunction, sequences: list[str], untouched: list[str]) -> None:
        parameters = inspect.signature(function).parameters.values()
        kinds = {p.name: 2 if p.name in untouched else 1 if p.name in sequences else 0 for p in parameters}
        if wrong := {*sequences, *untouched} - set(kinds):
            raise ValueError(f"{function.__name__} has no argument {', '.join(sorted(wrong))}")
        self.positional = [kinds[p.name] for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
        self.named = kinds
        self.unnamed = next((kinds[p.name] for p in parameters if p.kind is p.VAR_KEYWORD), 0)

    def in_call(self, args: Values, options: ByName) -> tuple[Values, ByName]:
        """The arguments with lists replaced by arrays.

        >>> import autoflow as af
        >>> x = af.Variable(2.0)
        >>> Lists(lambda arr, values: None, [], []).in_call(([1.0, 3.0], [x, x]), {})[0]
        ([1.0, 3.0], [2., 2.]  Operation stack_0 = stack(var_0, var_0))
        """
        for k, x in enumerate(args):
            if type(x) is list or type(x) is tuple:
                kind = self.positional[k] if k < len(self.positional) else self.positional[-1]  # *args stands last
                args = (*args[:k], self.arranged(x, kind), *args[k + 1 :])
        for name, x in options.items():
            if type(x) is list or type(x) is tuple:
                options = {**options, name: self.arranged(x, self.named.get(name, self.unnamed))}
        return args, options

    @staticmethod
    def arranged(x: Any, kind: int) -> Any:
        """A list or the array in its place (kind 0); with arrays in place of its parts (1); as it is (2)."""
        if kind == 0:
            return join_list(x) if has_gradient(x) else x
        if kind == 1 and any([type(v) is list or type(v) is tuple for v in x]):
            return type(x)([join_list(v) if type(v) in (list, tuple) and has_gradient(v) else v for v in x])
        return x


def first_node(x: Any) -> Array:
    """The first node with a gradient in nested lists."""
    while isinstance(x, (list, tuple)):
        x = next(part for part in x if has_gradient(part))
    return x


# ---------------------------------------------------------------- packed results, and stacks of matrices


def pack(*parts: tuple[Array, int]) -> Array:
    """Results side by side in one array. ``parts``: each array, and how many of its last axes belong to one matrix.

    >>> pack((np.ones((5, 2, 3)), 2), (np.ones((5, 4)), 1)).shape
    (5, 10)
    """
    flat = [x.reshape((*x.shape[: x.ndim - n], math.prod(x.shape[x.ndim - n :]))) for x, n in parts]
    return np.concatenate(flat, axis=-1)


def unpack(z: Array, *shapes: Shape) -> list[Array]:
    """The results in what :func:`pack` returned, each with its shape after the axes of the stack.

    >>> [part.tolist() for part in unpack(np.arange(6), (2, 2), (2,))]
    [[[0, 1], [2, 3]], [4, 5]]
    """
    parts, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        part = z[..., start:stop]
        parts.append(part if len(shape) == 1 else part.reshape((*z.shape[:-1], *shape)))
        start = stop
    return parts


def adjoint(x: Array) -> Array:
    """xᴴ, the conjugate transpose of every matrix of a stack."""
    return np.conjugate(x).mT if x.dtype.kind == "c" else x.mT


def diagonal(x: Array) -> Array:
    """The diagonal of every matrix."""
    return np.diagonal(x, axis1=-2, axis2=-1)


def mask(n: int, like: Array, uplo: str = "L") -> Array:
    """Ones in one triangle, and halves on the diagonal, in the precision of ``like``.

    >>> mask(2, np.ones(2))
    array([[0.5, 0. ],
           [1. , 0.5]])
    """
    lower = _mask(n, np.zeros((), like.dtype).real.dtype, uplo)
    return lower if is_on_host(like) else np.asarray(lower, like=like_argument(like))


@functools.lru_cache(16)
def _mask(n: int, dtype: np.dtype, uplo: str) -> Array:
    lower = (np.tri(n, k=-1) + 0.5 * np.eye(n)).astype(dtype)
    lower.flags.writeable = False
    return lower if uplo == "L" else lower.T


def fold(g: Array, uplo: str) -> Array:
    """dL/dx for a Hermitian matrix x that is read from one triangle, given ``g`` for the whole matrix.

    An element below the diagonal is used at two places in the matrix, so two contributions add up, the second one
    conjugated; the diagonal is real.
    """
    return (g + adjoint(g)) * mask(g.shape[-1], g, uplo)


def inverse_gaps(x: Array) -> Array:
    """Fᵢⱼ = 1/(xⱼ - xᵢ), and 0 for i = j and wherever xᵢ and xⱼ are the same number up to rounding."""
    gaps = x[..., None, :] - x[..., :, None]
    size, scale = np.abs(numbers_of(gaps)), greatest(np.abs(numbers_of(x)))[..., None, None]
    return reciprocal(gaps, size <= 4 * x.shape[-1] * np.finfo(x.dtype).eps * scale)


def reciprocal(x: Array, zero: Array) -> Array:
    """1/x, and 0 where ``zero`` is true, without dividing there: derivatives of any order are then 0, not NaN."""
    one = np.asarray(np.ones((), numbers_of(x).dtype), like=like_argument(x))
    return np.where(zero, 0 * one, one / np.where(zero, one, x))


def solve(x: Array, y: Array) -> Array:
    """x⁻¹ y for matrices; NaN where an x is singular: backward does not raise what forward did not."""
    try:
        return solve_stack(x, y)
    except np.linalg.LinAlgError:
        singular = np.linalg.matrix_rank(numbers_of(x))[..., None, None] < x.shape[-1]
        nan = np.asarray(np.full((), np.nan, y.dtype), like=like_argument(y))
        eye = np.identity(x.shape[-1], x.dtype, like=like_argument(x))
        # a product, so that its derivative is NaN, too: that of np.where would be 0
        return np.where(singular, nan, 1) * solve_stack(np.where(singular, eye, x), y)


def solve_stack(x: Array, y: Array) -> Array:
    """``np.linalg.solve``; stacks are broadcast here for libraries that do not, such as CuPy."""
    if y.ndim > 1 and not is_numpys(x) and x.shape[:-2] != y.shape[:-2]:
        stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = np.broadcast_to(x, stack + x.shape[-2:]), np.broadcast_to(y, stack + y.shape[-2:])
    return np.linalg.solve(x, y)


# ---------------------------------------------------------------- derivatives as functions of (g, saved)


VJP = Callable[[Array, Values], Array]
VJPs = tuple[VJP | None, ...]  # one per operand; None where it has no derivative
# What a derivative reads: (place in ``saved``, "", "shape" or "dtype"), or of a sequence "others": without the k-th.
Needs = tuple[tuple[int, str], ...]


SIZES = ("shape", "dtype", "ndim", "size")
ALL = -2  # the place of all arrays of a sequence


def place_of(word: str, place: dict[str, int]) -> tuple[int, str]:
    """``"x_shape"`` -> (place of x, "shape")."""
    if word in place:
        return place[word], ""
    name, _, what = word.rpartition("_")
    if place.get(name) != ALL if what == "others" else name not in place or what not in SIZES:
        raise TypeError(f"a derivative reads {word}: it may read {', '.join(place)}, and shapes, as {min(place)}_shape")
    return place[name], what


def needs_of(derivative: AnyFunction, place: dict[str, int], first: int = 1) -> Needs:
    """What the derivative reads after its ``first`` arguments, by the names of its parameters."""
    return tuple([place_of(word, place) for word in list(inspect.signature(derivative).parameters)[first:]])


def vjp_by_position(derivative: AnyFunction, needs: Needs) -> VJP:
    """``derivative`` as a function of (g, saved). One closure per number of values: no loop, no names."""
    match needs:
        case ():
            return lambda g, saved: derivative(g)
        case ((i, ""),):
            return lambda g, saved: derivative(g, saved[i])
        case ((i, ""), (j, "")):
            return lambda g, saved: derivative(g, saved[i], saved[j])
        case ((i, "shape"), (j, "")):
            return lambda g, saved: derivative(g, saved[i].shape, saved[j])
        case ((i, ""), (j, "shape")):
            return lambda g, saved: derivative(g, saved[i], saved[j].shape)
        case ((i, "shape"), *rest) if len(rest) > 1 and not any([what for _, what in rest]):
            options = operator.itemgetter(*[j for j, _ in rest])
            return lambda g, saved: derivative(g, saved[i].shape, *options(saved))
    return lambda g, saved: derivative(g, *[getattr(saved[i], what) if what else saved[i] for i, what in needs])


def elementwise_vjp(derivative: AnyFunction, needs: Needs, k: int) -> VJP:
    """The same, with broadcasting undone: here, once, for every elementwise row. ``k`` is the operand's place."""
    match needs:
        case ():

            def vjp(g: Array, saved: Values) -> Array:  # fmt: skip
                shape = saved[k].shape  # nothing but g is read, so sum first: the derivative has less to do
                return derivative(g if g.shape == shape else sum_to(g, shape))
        case ((i, ""),):

            def vjp(g: Array, saved: Values) -> Array:  # fmt: skip
                sent, shape = derivative(g, saved[i]), saved[k].shape
                return sent if sent.shape == shape else sum_to(sent, shape)
        case _:
            plain = vjp_by_position(derivative, needs)

            def vjp(g: Array, saved: Values) -> Array:
                return sum_to(plain(g, saved), saved[k].shape)

    return vjp


def scalar_vjp(derivative: AnyFunction, needs: Needs) -> VJP:
    """The same for numbers, which never broadcast: np.float64, whose arithmetic is faster than that of 0-d arrays."""
    match needs:
        case ():
            return lambda g, saved: derivative(g)
        case ((i, ""),):
            return lambda g, saved: derivative(g, saved[i][()] if type(saved[i]) is np.ndarray else saved[i])
    return lambda g, saved: derivative(
        g, *[getattr(saved[i], what) if what else saved[i][()] if type(saved[i]) is np.ndarray else saved[i]
             for i, what in needs]
    )  # fmt: skip


def words_of_sequence(derivative: AnyFunction, n: int, names: tuple[str, ...]) -> Needs:
    """What the derivative for each array of a sequence reads, as places in the flat ``saved``."""
    first, *options = names
    return needs_of(derivative, {name: n + i for i, name in enumerate([*options, "z"])} | {first: ALL}, 2)


def needs_of_sequence(words: Needs, n: int, k: int) -> Needs:
    """The same for the k-th array, each array by itself."""
    read = [what for place, what in words if place == ALL]
    arrays = [(j, "") for j in range(n) if "" in read or ("others" in read and j != k)]
    return (*arrays, *[need for need in words if need[0] != ALL])


class Shapes(tuple[tuple[int, ...], ...]):
    """The shapes of a sequence of arrays, and where each would end if they were joined."""

    def ends(self, axis: int | None) -> list[int]:
        """0, and where each array ends along ``axis``; if that is None, each is flattened."""
        cache: dict[int | None, list[int]] = self.__dict__.setdefault("known", {})
        if axis not in cache:  # once for all arrays: adding them up again for each is quadratic
            lengths = [math.prod(shape) if axis is None else shape[axis] for shape in self]
            cache[axis] = [0, *itertools.accumulate(lengths)]
        return cache[axis]


def sequence_values(words: Needs, n: int) -> Callable[[Values], list[Any]]:
    """What the derivatives of a sequence of n arrays read, as a function of ``saved``."""

    def values(saved: Values) -> list[Any]:
        entries: list[Any] = []
        for i, what in words:
            if i == ALL:
                entries.append(Shapes([getattr(x, "shape", ()) for x in saved[:n]]) if what in SIZES else saved[:n])
            else:
                entries.append(getattr(saved[i], what) if what else saved[i])
        return entries

    return values


def in_kind_of(dtype: np.dtype, g: Array) -> Array:
    """``g`` for an operand of that dtype, whose imaginary part a real ``dtype=`` or a write may have dropped: a complex
    operand receives a complex gradient, even a number, so that the rows before it conjugate.

    >>> in_kind_of(np.dtype(complex), np.float64(2.0))
    np.complex128(2+0j)
    """
    return g + 0j if dtype.kind == "c" != g.dtype.kind else g


def sequence_vjp(derivative: AnyFunction, values: Callable[[Values], list[Any]], k: int) -> VJP:
    """The derivative of a sequence's k-th array as a function of (g, saved)."""
    return lambda g, saved: in_kind_of(saved[k].dtype, derivative(g, k, *values(saved)))


def sequence_joint(
    derivative: AnyFunction, values: Callable[[Values], list[Any]], holomorphic: bool
) -> Callable[[Array, Values], list[Array | None]]:
    """All of them at once, for long sequences: what they read is looked up once, not once for each array. A complex g
    is conjugated as by :func:`conjugate_vjp`, if the row is ``holomorphic``."""

    def joint(g: Array, saved: Values) -> list[Array | None]:
        read, record = values(saved), saved[-1]
        is_turned = holomorphic and g.dtype.kind == "c"
        g = np.conjugate(g) if is_turned else g
        sent = [None if p is None else derivative(g, k, *read) for k, p in enumerate(record.parents)]
        return [np.conjugate(x) if is_turned and x is not None else x for x in sent]

    return joint


def conjugate_vjp(vjp: VJP) -> VJP:
    """g is conjugated on the way in, the answer on the way out."""
    return lambda g, saved: np.conjugate(vjp(np.conjugate(g), saved))
