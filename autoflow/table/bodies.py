"""NumPy's own functions, run on nodes: copies of those that are written in Python and compute with functions of the
table, but would lose a node where they say ``np.asarray``. (``scipy/bodies.py`` copies SciPy's in the same way.)

A copy has the code of the function. Its globals are NumPy's, except that ``asarray``, ``asanyarray`` and ``array`` keep
arrays of other classes than ndarray, and nodes in lists; NumPy's private functions that it calls are copied, too. An
array that it makes to write into is like its arguments: a node remembers what is written into it, a batch has an axis
for the examples, and an array of another library lies where the others lie. So values, errors and keywords are those of
the NumPy that is installed. Functions that would take many more operations are rewritten in ``rules/``.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
from collections.abc import Sequence
from contextvars import ContextVar
from operator import index
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .shapes import AnyFunction, Array, ByName, Values, as_dtype, is_numpys, join_list, like_argument
from .table import COMPOSED, composed

OWN: set[AnyFunction] = set()  # NumPy's functions that are run in this way
ARGUMENTS: ContextVar[Values] = ContextVar("ARGUMENTS", default=())  # of the copy that is running


def kept_in(x: object) -> list[Array]:
    """The arrays that compute in their own way (nodes, batches, other libraries'), also those in lists."""
    if isinstance(x, (list, tuple)):
        return [array for part in x for array in kept_in(part)]
    return [x] if hasattr(type(x), "__array_function__") and type(x) is not np.ndarray else []


def place() -> Array:
    """The argument that new arrays are to be like; None if all are plain."""
    return max(kept_in(ARGUMENTS.get()), key=precedence, default=None)


def library() -> Array:
    """An array of another library among the arguments; None without."""
    value = getattr(x := place(), "_value", x)
    return None if value is None or is_numpys(value) else value


def precedence(x: Any) -> tuple[int, bool, bool]:
    """Batches before others, the deepest first; then other libraries; then nodes."""
    value = getattr(x, "_value", x)
    depth = value.batch_layer.depth if hasattr(value, "batch_layer") else 0
    return depth, not isinstance(value, np.ndarray), x is not value


def keeping(theirs: AnyFunction, copies: bool | None) -> AnyFunction:
    """``theirs`` (np.array or its kin) for all arrays. ``copies``: its default for ``copy``."""

    def make(a: Array, dtype: Any = None, *, copy: bool | None = copies, ndmin: int = 0, **options: Any) -> Array:
        if kept_in(a):
            z = join_list(a) if isinstance(a, (list, tuple)) else a.copy() if copy else a
            z = z if dtype is None else as_dtype(z, dtype)
        elif (like := library()) is None or dtype is np.intp:  # places stay here
            return theirs(a, dtype, copy=copy, **({"ndmin": ndmin} if ndmin else {}), **options)
        else:
            z = np.asarray(a, dtype, like=like)
        return z[(None,) * (ndmin - z.ndim)] if z.ndim < ndmin else z

    return make


def new_array(theirs: AnyFunction, like: AnyFunction) -> AnyFunction:
    """``theirs``, np.zeros or one of its kin; floats are made by ``like``, np.zeros_like, where the arguments are."""

    def make(shape: Any, dtype: Any = float, order: str = "C") -> Any:
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (index(shape),)
        if np.dtype(dtype).kind not in "fc" or (x := place()) is None:
            z = theirs(shape, dtype, order)
            if theirs.__name__ == "ones" and z.dtype.kind == "i":
                return z.tolist()  # it will be a shape
            return np.asarray(z, like=library()) if z.dtype == bool and library() is not None else z
        if not shape and x.ndim and not is_numpys(x):  # CuPy's zeros_like takes an empty shape for none
            return theirs(shape, dtype, order, like=like_argument(x))
        return like(x, dtype=dtype, order=order, shape=shape)

    return make


def on_library(theirs: AnyFunction) -> AnyFunction:
    """``theirs``, np.arange or one of its kin, as an array that the library of the arguments can compute with."""

    def make(*args: object, **options: object) -> Array:
        z, like = theirs(*args, **options), library()
        return z if like is None else np.asarray(z, like=like)

    return make


def stand_ins() -> Copies:
    """What copies call in place of functions that take the numbers or make arrays to be written into."""
    makers = ((np.array, True), (np.asarray, None), (np.asanyarray, None))
    table = Copies({id(theirs): keeping(theirs, copies) for theirs, copies in makers})
    pairs = ((np.empty, np.empty_like), (np.zeros, np.zeros_like), (np.ones, np.ones_like))
    table |= {id(theirs): new_array(theirs, like) for theirs, like in pairs}
    table |= {id(theirs): on_library(theirs) for theirs in (np.arange, np.eye)}
    empty, asarray = table[id(np.empty)], table[id(np.asarray)]
    table[id(np.empty_like)] = lambda a, dtype=None: (
        np.empty_like(a, dtype) if kept_in(a) else empty(a.shape, a.dtype if dtype is None else dtype)
    )
    table[id(np.full)] = lambda shape, value, dtype: filled(empty(shape, dtype), value)
    concatenate: Any = np.concatenate
    for theirs in (concatenate, concatenate._implementation):
        table[id(theirs)] = lambda xs, *axis, **how: np.concatenate([asarray(x) for x in xs], *axis, **how)
    table[id(np.broadcast)] = lambda *xs: np.broadcast(*[np.broadcast_to(0, np.shape(x)) for x in xs])
    table[id(np.broadcast_to)] = lambda x, shape, subok=True: np.broadcast_to(x, shape)
    table[id(np.argsort)] = lambda x, **how: np.argsort(x, **how) if hasattr(x, "dtype") else np.argsort(x).tolist()
    table[id(np.ndarray)] = AnyArray
    return table


class KindOfArray(type):
    """The class of :class:`AnyArray`."""

    def __instancecheck__(cls, x: object) -> bool:
        return hasattr(x, "__array_function__")


class AnyArray(metaclass=KindOfArray):
    """What copies find as ``ndarray`` when they ask for a class."""


def written_like(x: Array, value: Array) -> Array:
    """A copy of floats, as an array like x."""
    y = value if hasattr(value, "dtype") else np.asarray(value, like=like_argument(x))
    return filled(np.zeros_like(x, y.dtype if y.dtype.kind in "fc" else float, shape=y.shape), y)


def filled(z: Array, value: Array) -> Array:
    """z, with this value everywhere."""
    z[...] = value
    return z


class Copies(dict[int, Any]):
    """The id of an object of a library, which lives on -> what stands for it in copies, made at its first use."""

    def find(self, x: Any) -> Any:
        """What stands for ``x`` in copies: ``x`` itself, unless it is a NumPy module or function written in Python."""
        if type(x) is type(np.sum) and x in OWN:
            return COMPOSED[x]
        if id(x) not in self:
            self.add(x)
        return self.get(id(x), x)

    def add(self, x: object) -> None:
        """Make a copy of ``x``, if it needs one."""
        if home_of(x).partition(".")[0] != "numpy":
            return
        if isinstance(x, ModuleType):
            self[id(x)] = module = ModuleType(x.__name__)
            vars(module).update({name: self.get(id(value), value) for name, value in vars(x).items()})
        elif isinstance(x, FunctionType):
            space: ByName = {"__builtins__": builtins, "__name__": __name__}
            self.add_function(x, space)
            space |= {name: self.find(x.__globals__[name]) for name in names_in(x.__code__) & x.__globals__.keys()}

    def add_function(self, f: FunctionType, space: ByName) -> None:
        """A function with the same code, whose globals are ``space``. The contents of its closure and attributes are
        copied as well, so decorators are followed."""
        cells = tuple([CellType() for _ in f.__closure__ or ()])
        self[id(f)] = new = FunctionType(f.__code__.replace(), space, f.__name__, f.__defaults__, cells or None)
        self[id(new)] = new  # so that it is not copied again
        new.__kwdefaults__ = f.__kwdefaults__
        for name, old, cell in zip(f.__code__.co_freevars, f.__closure__ or (), cells, strict=True):
            with contextlib.suppress(ValueError):  # an empty cell
                held, own = old.cell_contents, self.find(old.cell_contents)
                cell.cell_contents = held if name == "__class__" and own.__bases__ == (held,) else own  # for super()
        vars(new).update({name: self.find(x) for name, x in vars(f).items()})


def home_of(x: object) -> str:
    """The module of a function or class, or the name of a module."""
    return getattr(x, "__module__", None) or getattr(x, "__name__", None) or ""


@functools.lru_cache(4096)
def names_in(code: CodeType) -> frozenset[str]:
    """All globals and attributes that a function's code may read, also those of the functions inside it."""
    return frozenset(code.co_names).union(*[names_in(part) for part in code.co_consts if isinstance(part, CodeType)])


def run_own(*functions: Any, sequences: str = "", untouched: str = "", written: str = "") -> None:
    """For nodes a copy replaces each of these NumPy functions: see :func:`~autoflow.table.table.composed`.

    written : the arguments into whose copies NumPy writes what it computes from the others, so plain ones become arrays
        like those that are not.
    """
    for function in functions:
        copied = with_copies(function._implementation, written.split())
        composed(function, sequences=sequences, untouched=untouched)(copied)
        OWN.add(function)


def with_copies(theirs: AnyFunction, written: Sequence[str] = ()) -> AnyFunction:
    """The copy, which is made at the first call."""
    cache: list[AnyFunction] = []
    kind = inspect.signature(theirs)

    @functools.wraps(theirs)
    def run(*args: Any, **options: Any) -> Any:
        if not cache:
            cache.append(COPIES.find(theirs))
        before = ARGUMENTS.set((*args, *options.values()) if options else args)
        try:
            if written and (x := place()) is not None:
                arguments = kind.bind(*args, **options).arguments
                plain = [k for k in written if arguments.get(k) is not None and not kept_in(arguments[k])]
                return cache[0](**arguments | {k: written_like(x, arguments[k]) for k in plain})
            return cache[0](*args, **options)
        finally:
            ARGUMENTS.reset(before)

    return run


COPIES = stand_ins()
