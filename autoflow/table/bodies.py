"""NumPy's own functions, run on nodes: copies of those that are written in Python and compute with functions of the
table, but would lose a node where they say ``np.asarray``. (``scipy/bodies.py`` copies SciPy's in the same way.)

A copy has the code of the function. Its globals are NumPy's, except that ``asarray``, ``asanyarray`` and ``array`` keep
arrays of other classes than ndarray, and nodes in lists; private functions of NumPy's that it calls are copied as well.
So its values, errors and keywords are those of the NumPy that is installed. For arrays of another library there are
copies of their own, in which new arrays are made where its arrays are. What writes into a new array, or takes more
operations than needed, is written out in ``rules/``.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
from collections.abc import Callable, Iterable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .shapes import as_dtype, is_numpys, join_list
from .table import COMPOSED, composed

LIBRARIES: dict[type, Copies] = {}  # class of arrays -> those of a call with arrays of that library
OWN: set[Any] = set()  # functions of NumPy's that are run in this way
PLAIN = {np.ndarray, np.float64, float, int, bool, str, type(None)}


def is_kept(x: Any) -> bool:
    """Is it an array with a way of its own to compute (a node, a batch, a library's), or a list with one in it?"""
    if isinstance(x, (list, tuple)):
        return any([is_kept(part) for part in x])
    return hasattr(type(x), "__array_function__") and type(x) is not np.ndarray


def keeping(theirs: Any, copies: bool | None, place: Any) -> Callable[..., Any]:
    """``theirs``, which is np.array or one of its kin and ``copies`` by default or only if it must, for all arrays."""

    def make(a: Any, dtype: Any = None, *, copy: bool | None = copies, ndmin: int = 0, **options: Any) -> Any:
        if is_kept(a):
            z = join_list(a) if isinstance(a, (list, tuple)) else a.copy() if copy else a
            z = z if dtype is None else as_dtype(z, dtype)
        elif place is None:
            return theirs(a, dtype, copy=copy, **({"ndmin": ndmin} if ndmin else {}), **options)
        else:
            z = np.asarray(a, dtype, like=place)
        return z[(None,) * (ndmin - z.ndim)] if z.ndim < ndmin else z

    return make


def stand_ins(place: Any) -> Copies:
    """What copies call instead of functions that take the numbers; ``place``: an array of another library, or None."""
    makers = ((np.array, True), (np.asarray, None), (np.asanyarray, None))
    found = Copies({id(theirs): keeping(theirs, copies, place) for theirs, copies in makers})
    found[id(np.broadcast_to)] = lambda x, shape, subok=True: np.broadcast_to(x, shape)
    if place is not None:
        found[id(np.argsort)] = lambda axes: np.argsort(axes).tolist()  # as a library takes axes
        found[id(np.zeros)] = lambda *args: np.asarray(np.zeros(*args), like=place)
    return found


class Copies(dict[int, Any]):
    """The id of what is a library's, which stays -> what stands for it in copies, made when it is first asked for."""

    def find(self, x: Any) -> Any:
        """What stands for ``x`` in copies: ``x`` itself, unless it is a function in Python or a module of NumPy's."""
        if type(x) is type(np.sum) and x in OWN:
            return COMPOSED[x]
        if id(x) not in self:
            self.add(x)
        return self.get(id(x), x)

    def add(self, x: Any) -> None:
        """Make a copy of ``x``, if there is to be one."""
        if home_of(x).partition(".")[0] != "numpy":
            return
        if isinstance(x, ModuleType):
            self[id(x)] = made = ModuleType(x.__name__)
            vars(made).update({name: self.get(id(value), value) for name, value in vars(x).items()})
        elif isinstance(x, FunctionType):
            space: dict[str, Any] = {"__builtins__": builtins, "__name__": __name__}
            self.add_function(x, space)
            space |= {name: self.find(x.__globals__[name]) for name in names_in(x.__code__) & x.__globals__.keys()}

    def add_function(self, f: FunctionType, space: dict[str, Any]) -> None:
        """A function with the same code, in an object of its own, whose globals are ``space``. What it has in its
        closure and attributes is copied as well, so decorators are followed."""
        cells = tuple([CellType() for _ in f.__closure__ or ()])
        self[id(f)] = new = FunctionType(f.__code__.replace(), space, f.__name__, f.__defaults__, cells or None)
        self[id(new)] = new  # which is not copied again
        new.__kwdefaults__ = f.__kwdefaults__
        for name, old, cell in zip(f.__code__.co_freevars, f.__closure__ or (), cells, strict=True):
            with contextlib.suppress(ValueError):  # an empty cell
                held, own = old.cell_contents, self.find(old.cell_contents)
                cell.cell_contents = held if name == "__class__" and own.__bases__ == (held,) else own  # for super()
        vars(new).update({name: self.find(x) for name, x in vars(f).items()})


def home_of(x: Any) -> str:
    """The module of a function or class, or the name of a module."""
    return getattr(x, "__module__", None) or getattr(x, "__name__", None) or ""


def names_in(code: CodeType) -> set[str]:
    """All names that a function's code reads, also those of the functions inside it."""
    return {*code.co_names}.union(*[names_in(part) for part in code.co_consts if isinstance(part, CodeType)])


def another_library(arguments: Iterable[Any]) -> Any:
    """An array among these, or in lists among them, that another library than NumPy computes with; None without."""
    for x in arguments:
        place = another_library(x) if isinstance(x, (list, tuple)) else getattr(x, "_value", x)
        if type(place) not in PLAIN and hasattr(type(place), "__array_function__") and not is_numpys(place):
            return place
    return None


def run_own(*functions: Any, sequences: str = "", untouched: str = "") -> None:
    """For nodes a copy replaces each of these functions of NumPy's: see :func:`~autoflow.table.table.composed`."""
    for function in functions:
        composed(function, sequences=sequences, untouched=untouched)(with_copies(function._implementation))
        OWN.add(function)


def with_copies(theirs: Any) -> Any:
    """The copy, which is made at the first call; or that of the library whose arrays are among the arguments."""
    made: list[Any] = []

    @functools.wraps(theirs)
    def run(*args: Any, **options: Any) -> Any:
        if (place := another_library((*args, *options.values()) if options else args)) is None:
            if not made:
                made.append(LIBRARIES.setdefault(np.ndarray, stand_ins(None)).find(theirs))
            return made[0](*args, **options)
        if type(place) not in LIBRARIES:
            LIBRARIES[type(place)] = stand_ins(place)
        return LIBRARIES[type(place)].find(theirs)(*args, **options)

    return run
