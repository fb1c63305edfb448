"""Helpers of the rows: differences between versions of NumPy, arithmetic of shapes, and the place of arrays.

Versions of NumPy, tested with 2.3 to 2.5: the rest of the code asks here. What NumPy removes is silently absent from
the lists and the table. What it adds is refused by name until it has an answer here: a function that is in no list
(``outside.py``), a keyword that is not in the row (``table.py``) or in the composed function
(``forward/dispatch.py``), a method of ndarray (``forward/array_methods.py``). So a newer NumPy breaks nothing.

Arithmetic of shapes: each helper is the transpose of something simple.

Where arrays are: :func:`numbers_of`, :func:`like_argument`, :func:`is_on_host` and :func:`is_numpys`, which a row calls
before it makes an array or looks at a number, as its operands may be on a GPU.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..base.types import AnyFunction as AnyFunction, Array as Array, ByName as ByName, Shape as Shape, Values as Values
from .blocks import FROM, reduce_rows

# ---------------------------------------------------------------- versions of NumPy

INSTALLED = tuple([int(part) for part in np.__version__.split(".")[:2]])

# Both are in every version, but not in the type stubs of all.
NOT_GIVEN: Any = vars(np)["_NoValue"]  # the default of NumPy's own functions where None says something
CLIP: Any = getattr(vars(np)["_core"].umath, "clip", None)  # the ufunc that ``plain.clip(node, 1.0)`` calls
NEW_ARRAY: Any = ...  # as out=: an array also where the result has no axes


def since(version: str) -> bool:
    """Is this NumPy that version, or a newer one?

    >>> since("2.3"), since("99.0")
    (True, False)
    """
    return tuple([int(part) for part in version.split(".")]) <= INSTALLED


def functions(namespace: object, names: str) -> set[Any]:
    """The functions with these names that this version of NumPy has.

    >>> functions(np, "isnan not_in_this_version")
    {<ufunc 'isnan'>}
    """
    there = vars(namespace)  # getattr would warn of deprecated names
    return {there[name] for name in names.split() if name in there}


# Functions that not every version has: the last version with it, and what it does there with a node.
UNTIL = {"in1d": ("2.3", "plain"), "trapz": ("2.3", "unseen"), "row_stack": ("2.4", "unseen")}

# Keywords that not every version has.
KEYWORDS = {("sort", "descending"): "2.5"}

# Deprecated in NumPy: nothing of ours may call them.
DEPRECATED = {"fix": "2.5"}

# From 2.4 on NumPy knows the arguments of functions in C. These have rows with named arguments.
IN_C: dict[AnyFunction, str] = {
    np.concatenate: "arrays axis out", np.dot: "a b out", np.copyto: "dst src casting where",
    np.putmask: "a mask values",
}  # fmt: skip


def positional(function: AnyFunction) -> list[str]:
    """The names of the arguments that may be given by position; none if they are not known.

    >>> positional(np.dot), positional(np.exp)
    (['a', 'b', 'out'], ['x', 'out'])
    """
    try:
        theirs = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        if isinstance(function, np.ufunc):
            return ["x", "out"] if function.nin == 1 else [*[f"x{k + 1}" for k in range(function.nin)], "out"]
        return IN_C.get(function, "").split()
    return [p.name for p in theirs if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


@functools.cache
def _place_of_out(function: AnyFunction) -> int:
    """How many arguments may be given by position before ``out``."""
    names = positional(function)
    return names.index("out") if "out" in names else sys.maxsize


def name_out(function: AnyFunction, args: Values, options: ByName) -> tuple[Values, ByName]:
    """The arguments of a call, with ``out`` and those after it by name: ``np.cumsum(x, 0, None, z)`` writes into z.

    >>> name_out(np.cumsum, (1, 0, None, 4), {}), name_out(np.dot, (1, 2), {}), name_out(np.isposinf, (1, 2), {})
    (((1, 0, None), {'out': 4}), ((1, 2), {}), ((1,), {'out': 2}))
    """
    if len(args) < 2 or isinstance(function, np.ufunc) or len(args) <= (k := _place_of_out(function)):
        return args, options
    named = dict(zip(positional(function)[k:], args[k:], strict=False))
    if named.get("out") is None:
        named.pop("out", None)
    return args[:k], {**named, **options}


def set_layout_of(x: Array, name: str, new: object) -> None:
    """``x.shape = new``, which NumPy 2.5 deprecates; also strides and dtype. x must remain the same object, which a
    reshaped view would not be."""
    if name == "shape" and hasattr(np.ndarray, "_set_shape"):
        np.ndarray._set_shape(x, new)
    else:
        vars(np.ndarray)[name].__set__(x, new)


# ---------------------------------------------------------------- shapes, and where arrays are


Axis = int | tuple[int, ...] | None
Mode = Literal["raise", "wrap", "clip"]  # what an index out of range means
DOUBLE = np.dtype(np.float64)


def sum_to(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum ``g`` over the axes along which an array of ``shape`` was broadcast.

    Using one number n times means that its derivative is the sum of n derivatives:
    broadcasting forwards is summing backwards.

    >>> sum_to(np.ones((2, 3)), (2, 1))
    array([[3.],
           [3.]])
    """
    if g.shape == shape:
        return g
    new = g.ndim - len(shape)
    if new and g.shape[new:] == shape:  # the common case: a bias, a number
        return total(g, 0 if new == 1 else tuple(range(new)))
    stretched = tuple([new + i for i, n in enumerate(shape) if n == 1 and g.shape[new + i] != 1])
    return total(g, (*range(new), *stretched)).reshape(shape)


def total(g: Array, axis: Axis) -> Array:
    """``g.sum(axis)``; half precision is added up in single precision and rounded once."""
    is_large = type(g) is np.ndarray and g.size >= FROM and g.dtype != np.float16
    if is_large and (z := reduce_rows(np.add, g, axis, None, False)) is not None:
        return z
    if type(g) is np.ndarray and g.dtype is DOUBLE:  # faster for small arrays
        return np.add.reduce(g, axis)
    if g.dtype != np.float16:
        return g.sum(axis)
    return g.astype(np.float32).sum(axis).astype(np.float16)


def divide_by_count(g: Array, n: Array) -> Array:
    """``g / n`` for a count ``n``, which half precision may be too small to hold."""
    return g / n if g.dtype != np.float16 else g / np.float32(n)


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes as non-negative numbers; None means all of them. A number has the axes 0 and -1, too.

    Raises AxisError where there is no such axis, as NumPy does.

    >>> axes_of(None, 3), axes_of(-1, 3), axes_of((0, -1), 3)
    ((0, 1, 2), (2,), (0, 2))
    """
    if axis is None:
        return tuple(range(ndim))
    n = ndim or 1
    is_one = isinstance(axis, int) or not (isinstance(axis, tuple) or np.ndim(axis))
    axes = map(operator.index, (axis,) if is_one else axis)  # type: ignore[arg-type]
    return tuple([a % n if -n <= a < n else no_axis(a, ndim) for a in axes])


def no_axis(axis: int, ndim: int) -> int:
    """The AxisError for an array with ``ndim`` axes."""
    raise np.exceptions.AxisError(axis, ndim)


def restore_axes(g: Array, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Array:
    """Give ``g`` back, with length 1, the axes that a reduction of an array of ``shape`` removed."""
    if keepdims or not shape or (axis is None and not g.ndim):
        return g
    gone = axes_of(axis, len(shape))
    return g.reshape(tuple([1 if i in gone else n for i, n in enumerate(shape)]))


def count_along(shape: tuple[int, ...], axis: Axis) -> int:
    """From how many elements each element of a reduction over ``axis`` is made.

    >>> count_along((2, 3, 4), (0, 2))
    8
    """
    return math.prod([shape[a] for a in axes_of(axis, len(shape))]) if shape else 1


def inverse(axes: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes ``axes``: what transposes the gradient of a transpose.

    >>> inverse((2, 0, -2))
    (1, 2, 0)
    """
    order = axes_of(tuple(axes), len(axes))
    return tuple([order.index(i) for i in range(len(order))])


def to_last(x: Array, axis: Axis) -> Array:
    """``x`` with the given axes joined into one, the last. Undone by :func:`from_last`. (A number has no axis to move.)

    >>> to_last(np.ones((2, 3, 4)), (0, 2)).shape
    (3, 8)
    """
    gone = axes_of(axis if x.ndim else None, x.ndim)
    remaining = tuple([a for a in range(x.ndim) if a not in gone])
    return x.transpose(remaining + gone).reshape((*[x.shape[a] for a in remaining], count_along(x.shape, axis)))


def from_last(y: Array, shape: tuple[int, ...], axis: Axis) -> Array:
    """The array of ``shape`` whose :func:`to_last` is ``y``."""
    gone = axes_of(axis if shape else None, len(shape))
    order = tuple([a for a in range(len(shape)) if a not in gone]) + gone
    return y.reshape(tuple([shape[a] for a in order])).transpose(inverse(order))


def has_gradient(x: object) -> bool:
    """Do gradients flow to it, or to an element of it if it is a list?"""
    return any([has_gradient(v) for v in x]) if isinstance(x, (list, tuple)) else getattr(x, "requires_grad", False)


def as_array(x: Any) -> Array:
    """Arrays and nodes as they are, numbers and lists as arrays; a list with nodes in it as an array of nodes."""
    return x if hasattr(x, "ndim") else join_list(x) if has_gradient(x) else np.asarray(x)


def join_list(parts: Sequence[Any]) -> Array:
    """Nested lists with nodes in them as one array, through which gradients flow. (``np.asarray`` takes the numbers.)

    >>> import autoflow as af
    >>> x = af.Variable(3.0)
    >>> join_list([x, x * x])
    [3., 9.]  Operation stack_0 = stack(var_0, multiply_0)
    """
    return np.stack(together(*parts))


def together(*xs: Any) -> list[Array]:
    """Arrays and nodes as they are; numbers and lists as arrays where the first array is, on a GPU for example."""
    place = next((like_argument(x) for x in xs if like_argument(x) is not None), None)
    if place is None or is_numpys(place):
        return [as_array(x) for x in xs]
    xs = tuple([join_list(x) if isinstance(x, (list, tuple)) and has_gradient(x) else x for x in xs])
    return [np.asarray(x, like=place) if like_argument(x) is None else x for x in xs]


def numbers_of(x: Array) -> Any:
    """The numbers of an array or node, for decisions that are not differentiated. The history from nodes outside of an
    ``af.vmap`` is kept, unlike in ``x.value`` and :func:`without_history`."""
    return x._value if hasattr(x, "_value") else getattr(x, "value", x)


def innermost(x: Array) -> Array:
    """The plain array under a node; if that hides a batch, all its examples."""
    x = numbers_of(x)
    while hasattr(x, "inner"):
        x = numbers_of(x.inner)
    return x


def without_history(x: Array) -> Array:
    """The plain array; an array that hides a batch, without the nodes of outer layers."""
    return x.without_history() if hasattr(x, "without_history") else x


def like_argument(x: Array) -> Any:
    """The plain array under x, for ``np.identity(n, like=like_argument(x))``: arrays of a rule are made where x is.

    On a GPU the identity matrix that meets x must be there, too. None, which means NumPy, where x is a number.
    """
    x = numbers_of(x)
    return x if hasattr(x, "__array_function__") else None


def is_on_host(x: Array) -> bool:
    """Can we look at these numbers at no cost? On a GPU that would wait for the device, and copy."""
    return isinstance(numbers_of(x), (np.ndarray, np.generic))


def is_numpys(x: Array) -> bool:
    """Does NumPy compute with x? Also true for an array that is being compiled; other libraries may lack functions."""
    x = numbers_of(x)
    return isinstance(x, (np.ndarray, np.generic)) or getattr(type(x), "is_numpys", False)


def floats(x: Any) -> Array:
    """An array or node, with whole numbers as floats."""
    x = as_array(x)
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


def as_dtype(x: Array, dtype: Any) -> Array:
    """``x`` in that dtype; itself if it has it, as every cast is an operation of the graph."""
    return x if x.dtype == dtype else x.astype(dtype)


def widen(x: Array, dtype: Any, whole: str = "iu") -> Array:
    """``x`` in the precision of ``dtype`` or its own, whichever is finer; integers, and with ``whole="iub"`` booleans,
    in 64 bits.

    >>> widen(np.uint8(0), np.dtype(np.float64)) - 1, widen(np.ones(1, np.float16), np.dtype(np.complex64)).dtype
    (np.int64(-1), dtype('float32'))
    """
    kind = x.dtype.kind if hasattr(x, "astype") else ""
    if kind == "f":
        return as_dtype(x, np.promote_types(x.dtype, np.finfo(dtype).dtype))
    if type(x) is bool and "b" in whole:
        return int(x)
    return as_dtype(x, np.int64) if kind and kind in whole else x


def greatest(x: Array) -> Array:
    """The maximum along the last axis, 0 where there is nothing. (CuPy's ``max`` knows no ``initial``.)"""
    return np.max(x, axis=-1) if x.shape[-1] else zeros(x, x.shape[:-1])


def zeros(x: Array, shape: tuple[int, ...], dtype: Any = None) -> Array:
    """Zeros of ``shape`` where x is, in the memory order of ``np.zeros_like``, but quicker.

    (CuPy's zeros_like takes an empty ``shape`` for none.)
    """
    if type(x) is np.ndarray and x.flags.c_contiguous:
        return np.zeros(shape, dtype or x.dtype)
    return np.zeros_like(x, dtype, shape=shape) if shape else np.zeros((), dtype or x.dtype, like=like_argument(x))


def is_given(option: object) -> bool:
    """Was this keyword given? None and NumPy's own mark for "not given" mean no."""
    return option is not None and option is not NOT_GIVEN


def is_number(x: Any) -> bool:
    """Is it one number, of any class with ``__float__``: Python's, NumPy's, a Fraction, an array without axes?"""
    return hasattr(type(x), "__float__") and not np.ndim(x)


def given_keywords(**options: object) -> ByName:
    """The keywords that were given.

    >>> given_keywords(dtype=None, initial=0.0)
    {'initial': 0.0}
    """
    return {name: value for name, value in options.items() if is_given(value)}
