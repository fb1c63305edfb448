"""SciPy's own functions, run on nodes: copies of them whose names stand for functions that keep nodes.

Many functions of SciPy are written with NumPy's, and lose a gradient only where they say ``np.asarray``. A copy of such
a function (the same code, a code object of its own, other globals) finds our ``asarray`` there, copies of the other
functions of SciPy that it calls, and our rules where SciPy goes on in C. Decorators are functions with closures, so
they are copied as well. Nothing of SciPy itself is changed.

A copy may still lose something: SciPy has more than one way to read a number. So its result is handed out only if it
was proved, once for each function and kind of arguments: it has SciPy's values, and they stay what they are when
whoever reads the memory of a node, or takes a float out of it, finds other numbers there (``transforms/shadow.py``).
What is not proved is refused by name.
"""

from __future__ import annotations

import builtins
import copy
import enum
import functools
import math
import sys
import threading
import types
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..backprop.snapshots import MISSING, cell_value
from ..base.errors import NoRuleError
from ..nodes.nodes import NodeRole, constant_from, gradient_target, value_of
from ..table.shapes import as_array

KERNELS: dict[int, Any] = {}  # id of a function of SciPy's or NumPy's -> what stands for it in the copies
COPIES: dict[int, tuple[Any, Any]] = {}  # id -> what was copied, which is held here, and the copy
OWN: dict[str, dict[str, Any]] = {}  # module of SciPy's -> its functions that have rules of ours
MODULES = [f"scipy.{name}" for name in (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse", "sparse.linalg", "spatial.distance",
    "special",
)]  # fmt: skip
PLAIN = (str, int, float, type(None))
KEPT = (tuple, BaseException, np.generic, np.ndarray, enum.Enum)  # classes that are not copied


def load_rules() -> None:
    """Let all rules of ours for modules that are imported stand for SciPy's functions in copies."""
    for home in [name for name in MODULES if name in sys.modules and name not in OWN]:
        import_module(f"autoflow.{home}")
    for home, functions in OWN.items():
        if (theirs := sys.modules.get(home)) is not None and functions:
            KERNELS.update({id(getattr(theirs, name)): f for name, f in functions.items()})
            functions.clear()
    if (signal := sys.modules.get("scipy.signal")) is not None:
        KERNELS[id(signal.get_window)] = signal.get_window  # of numbers, and its result is to be read-only
    helpers = sys.modules.get("scipy._lib.array_api_compat.common._helpers")
    if (theirs := getattr(helpers, "is_lazy_array", None)) is not None:
        KERNELS[id(theirs)] = is_lazy


def is_lazy(x: Any) -> bool:
    """Has it no numbers that an ``if`` could ask for? (SciPy asks, and catches the error.)"""
    return type(value_of(x)) is not np.ndarray


def is_ours(x: Any) -> bool:
    """A node with a history, or an array that hides a batch or writes a program; in lists, too."""
    if isinstance(x, (list, tuple)):
        return any([is_ours(v) for v in x])
    if isinstance(x, NodeRole):
        return gradient_target(x) is not None or type(x._value) is not np.ndarray
    if is_copy(x):
        return is_ours(list(vars(x).values()))
    return hasattr(x, "takes_primitives") or hasattr(x, "expr")


def check_precision(*arrays: Any) -> None:
    """Raise TypeError for half and extended precision, which SciPy's functions in C do not have."""
    if any([x.dtype.char in "egG" for x in arrays]):
        raise TypeError("SciPy computes this in single and double precision: use x.astype(np.float64)")


def is_copy(x: Any) -> bool:
    """Is it an object of a class that is a copy?"""
    return type(x).__module__ == __name__ and hasattr(x, "__dict__")


def in_copies(x: Any) -> Any:
    """An argument as copies know it: an object of SciPy's as one of the copied class."""
    if type(x).__module__.startswith("scipy.") and hasattr(x, "__dict__") and (kind := copied(type(x))) is not type(x):
        return replaced(x, kind, lambda v: v)
    return x


def replaced(x: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """A copy of an object, of that class, with all attributes changed."""
    new = copy.copy(x)
    new.__class__ = kind
    vars(new).update({name: change(v) for name, v in vars(x).items()})
    return new


# ---------------------------------------------------------------- what stands for NumPy's functions


class Seen(threading.local):
    """The last array that hides a batch or writes a program: arrays to be filled are made like it."""

    array: Any = None


SEEN = Seen()


def asarray(a: Any, dtype: Any = None, *args: Any, copy: Any = None, **options: Any) -> Any:
    """``np.asarray`` that keeps nodes, and nodes in lists."""
    if not isinstance(a, NodeRole) and not is_ours(a):
        return np.asarray(a, dtype, *args, copy=copy, **options)
    x = as_array(a)
    if type(value := value_of(x)) is not np.ndarray:
        SEEN.array = weakref.ref(value)
    x = x if dtype is None or x.dtype == dtype else x.astype(dtype)
    return x.copy() if copy is True else x


def as_new_array(a: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **options: Any) -> Any:
    """``np.array`` that keeps them."""
    if not isinstance(a, NodeRole) and not is_ours(a):
        return np.array(a, dtype, copy=copy, ndmin=ndmin, **options)
    x = asarray(a, dtype, copy=copy)
    return x[(None,) * (ndmin - x.ndim)] if x.ndim < ndmin else x


def allocator(name: str) -> Callable[..., Any]:
    """``np.zeros`` and its kin: of floats what nodes can be written into."""
    theirs = getattr(np, name)

    def allocate(x: Any, *args: Any, **options: Any) -> Any:
        z = theirs(value_of(x), *args, **options)
        if z.dtype.kind not in "fc":
            return z
        like = SEEN.array and SEEN.array()
        if like is not None and (getattr(like, "tape", None) or like.batch_layer).open:
            z = np.zeros_like(like, z.dtype, shape=z.shape) + z
        return constant_from(z)

    return allocate


ALLOCATORS = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]


class Rows:
    """``np.r_``, of nodes as well."""

    def __getitem__(self, key: Any) -> Any:
        if not is_ours([*key] if isinstance(key, tuple) else [key]):
            return np.r_[key]
        return np.concatenate([np.r_[x] if isinstance(x, slice) else np.atleast_1d(as_array(x)) for x in key])


def windows(x: Any, *args: Any, writeable: bool = False, **options: Any) -> Any:
    """``sliding_window_view``, which of nodes is no view."""
    return np.lib.stride_tricks.sliding_window_view(x, *args, **options)


KERNELS[id(np.lib.stride_tricks.sliding_window_view)] = windows


def refuse_matrix(x: Any, *args: Any) -> Any:
    """``np.asmatrix``, which of nodes takes the numbers."""
    if is_ours(x):
        raise NoRuleError("np.matrix of a node has no derivative: use SciPy's arrays, such as csr_array")
    return np.asmatrix(x, *args)


KERNELS[id(np.asmatrix)] = refuse_matrix
MAKERS = {
    "r_": Rows(), "array": as_new_array, **{name: allocator(name) for name in ALLOCATORS},
    **dict.fromkeys(("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite"), asarray),
}  # fmt: skip
KERNELS |= {id(getattr(np, name)): function for name, function in MAKERS.items()}


def of_number(theirs: Any, ours: Any) -> Any:
    """A function of ``math``, of nodes as well."""
    return lambda *x: ours(*x) if is_ours(x) else theirs(*x)


for name in ("cos", "exp", "log", "pow", "sin", "sqrt"):
    KERNELS[id(getattr(math, name))] = of_number(getattr(math, name), getattr(np, name))


# ---------------------------------------------------------------- copies


class KindOfFloat(type):
    """That of :class:`Float`."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, float)


class Float(float, metaclass=KindOfFloat):
    """``float``, which lets nodes through."""

    dtype = np.dtype(float)

    def __new__(cls, x: Any = 0.0) -> Any:
        return np.reshape(x, ()).astype(float) if is_ours(x) and x.size == 1 else float(x)


def imported(name: str, names: Any = None, *args: Any) -> Any:
    """``import`` in the body of a copy."""
    return copied(__import__(name, getattr(names, "names", names), *args))


BUILTINS = {**vars(builtins), "float": Float, "__import__": imported}


class Space(dict[str, Any]):
    """The globals of a copied function: those of SciPy's module, copied when they are first used."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(__name__=__name__, __builtins__=BUILTINS)
        self.names = names

    def __missing__(self, name: str) -> Any:
        self[name] = found = copied(self.names[name])
        return found


class Module(types.ModuleType):
    """A module of SciPy's or NumPy's, in copies."""

    def __init__(self, module: Any) -> None:
        super().__init__(module.__name__)
        self.module = module

    def __getattr__(self, name: str) -> Any:
        _, of_numpy, inside = self.module.__name__.partition("array_api_compat.numpy")  # NumPy's, partly written again
        theirs = import_module(f"numpy{inside}") if of_numpy and inside in ("", ".linalg", ".fft") else self.module
        found = copied(getattr(theirs if hasattr(theirs, name) else self.module, name))
        setattr(self, name, found)
        return found


def copied(x: Any) -> Any:
    """What stands for ``x`` in copies; ``x`` itself, if it is not SciPy's."""
    if (key := id(x)) in KERNELS:
        return KERNELS[key]
    if key not in COPIES:
        kind, home = type(x), getattr(x, "__module__", None) or ""
        if isinstance(x, types.ModuleType) and x.__name__.partition(".")[0] in ("numpy", "scipy", "math"):
            COPIES[key] = x, Module(x)
        elif kind is types.FunctionType and (
            home.startswith("scipy.") or x.__globals__.get("__name__", "scipy.").startswith("scipy.")
        ):
            copy_function(x)
        elif isinstance(x, type) and home.startswith("scipy.") and not issubclass(x, KEPT):
            copy_class(x)
        elif is_in_c(x, home):
            COPIES[key] = x, with_memory(x)
        elif kind is functools.partial:
            COPIES[key] = x, functools.partial(copied(x.func), *x.args, **x.keywords)
        elif kind is types.MethodType and copied(x.__self__) is not x.__self__:
            COPIES[key] = x, types.MethodType(copied(x.__func__), copied(x.__self__))
        elif kind.__module__.startswith("scipy.") and hasattr(x, "__dict__") and copied(kind) is not kind:
            copy_object(x)
        elif kind in (dict, list, tuple) and 0 < len(x) < 100:
            held = [*x.values()] if kind is dict else x
            new = [v if isinstance(v, PLAIN) else copied(v) for v in held]
            if all([a is b for a, b in zip(held, new, strict=True)]):
                return x
            COPIES[key] = x, dict(zip(x, new, strict=True)) if kind is dict else kind(new)
        else:
            return x
    return COPIES[key][1]


def is_in_c(x: Any, home: str) -> bool:
    """Is it a function of SciPy's in C, Cython or Fortran?"""
    kind = type(x).__name__
    if not kind.endswith(("cython_function", "function_or_method")):
        return kind == "fortran"
    return home.startswith("scipy.") or getattr(getattr(x, "__self__", None), "__name__", "").startswith("scipy.")


def with_memory(f: Any) -> Any:
    """A function in C, which may write into arrays that nodes could be written into, as long as none was."""

    def run(*args: Any, **options: Any) -> Any:
        if is_ours([*args, *options.values()]):
            raise NoRuleError(f"{getattr(f, '__name__', f)} of a node is SciPy's in C, and has no derivative here")
        return f(*map(value_of, args), **{k: value_of(v) for k, v in options.items()})

    return run


def copy_function(f: Any) -> Any:
    """A function with the same code, which looks its names up in copies, in those of its closure as well."""
    space = COPIES.get(id(f.__globals__)) or COPIES.setdefault(id(f.__globals__), (f.__globals__, Space(f.__globals__)))
    cells = tuple([types.CellType() for _ in f.__closure__ or ()])
    new = types.FunctionType(f.__code__.replace(), space[1], f.__name__, f.__defaults__, cells or None)
    new.__kwdefaults__ = f.__kwdefaults__
    COPIES[id(f)] = f, new
    for name, old, cell in zip(f.__code__.co_freevars, f.__closure__ or (), cells, strict=True):
        if (held := cell_value(old)) is not MISSING:
            own = copied(held)
            cell.cell_contents = held if name == "__class__" and own.__bases__ == (held,) else own  # for super()
    vars(new).update({name: copied(x) for name, x in vars(f).items()})
    return new


def copy_class(kind: Any) -> None:
    """A class derived from ``kind``, with copies of its methods and bases."""
    functions = {name: f for name, f in vars(kind).items() if name != "__new__" and type(f) in MEMBERS}
    bases = [b for base in kind.__bases__ if (b := copied(base)) is not base]
    if not functions and not bases:
        COPIES[id(kind)] = kind, kind
        return
    COPIES[id(kind)] = kind, (new := type(kind)(kind.__name__, (*bases, kind), {"__module__": __name__}))
    for name, f in functions.items():
        setattr(new, name, MEMBERS[type(f)](f))


MEMBERS: dict[Any, Callable[[Any], Any]] = {
    types.FunctionType: copied,
    classmethod: lambda f: classmethod(copied(f.__func__)),
    staticmethod: lambda f: staticmethod(copied(f.__func__)),
    property: lambda f: property(copied(f.fget), copied(f.fset), copied(f.fdel)),
}


def copy_object(x: Any) -> None:
    """An object of a class that is copied."""
    COPIES[id(x)] = x, (new := copy.copy(x))
    new.__class__ = copied(type(x))
    for name, f in vars(x).items():
        if callable(f):
            setattr(new, name, copied(f))
