"""SciPy's own functions, run on nodes: copies of them whose names stand for functions that keep nodes.

Many of SciPy's functions are written with NumPy's, and lose a gradient only where they say ``np.asarray``. A copy of
such a function (``table/bodies.py``) finds our ``asarray`` there, copies of the other functions, classes and objects of
SciPy that it uses, and our rules where SciPy goes on in C. Functions in C without a rule refuse nodes.

A copy may still lose something: SciPy has more than one way to read a number. So its result is returned only if it was
proved: ``proofs.py``.
"""

from __future__ import annotations

import builtins
import enum
import functools
import math
import threading
import weakref
from collections.abc import Callable, Iterable
from importlib import import_module
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..nodes.nodes import AnyFunction, ByName, NodeRole, constant_from, gradient_target, value_of
from ..rules import kernel, rule
from ..table.bodies import Copies, home_of, keeping, kept_in
from ..table.shapes import as_array, innermost

OWN: dict[str, Iterable[str]] = {}  # SciPy module -> its functions that have our rules
MODULES = [f"scipy.{name}" for name in (
    "fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse", "sparse.linalg", "spatial.distance",
    "special",
)]  # fmt: skip
PLAIN = (str, int, float, type(None))
KEPT = (tuple, BaseException, np.generic, np.ndarray, enum.Enum)  # classes that are not copied


@functools.cache
def load_rules() -> None:
    """Let all our rules stand for SciPy's functions in copies."""
    for home in MODULES:
        ours, theirs = import_module(f"autoflow.{home}"), import_module(home)
        COPIES.update({id(getattr(theirs, name)): getattr(ours, name) for name in OWN.get(home, ())})
        if home == "scipy.linalg":
            COPIES.update({id(getattr(theirs, name)): ours.apart(getattr(ours, name)) for name in ("eigh", "svd")})
    arrays, util, signal = [import_module(f"scipy.{name}") for name in ("_lib._array_api", "_lib._util", "signal")]
    COPIES[id(arrays.is_lazy_array)] = is_lazy
    asks, policy = COPIES.find(util._contains_nan), vars(import_module("scipy.stats._axis_nan_policy"))
    COPIES[id(util._contains_nan)] = functools.partial(contains_nan, asks)
    COPIES[id(policy)] = Space(policy, is_lazy_array=lambda x: False)  # else it leaves out axes
    COPIES[id(signal.get_window)] = signal.get_window  # it takes numbers, and its result must be read-only


def is_lazy(x: object) -> bool:
    """Does it lack numbers that an ``if`` could ask for? (SciPy asks, and catches the error.)"""
    return type(value_of(x)) is not np.ndarray


def contains_nan(asks: Any, x: Any, nan_policy: str = "propagate", **how: Any) -> Any:
    """SciPy's function, which ``asks`` for numbers. Without numbers there may be NaN, if SciPy can handle that."""
    may_have = how.get("xp_omit_okay", False)
    if is_lazy(x) and nan_policy not in ("propagate", "omit" if may_have else ""):
        raise NoRuleError(f"nan_policy={nan_policy!r} asks for numbers, which are not known one by one here")
    return may_have if is_lazy(x) else asks(x, nan_policy, **how)


def is_ours(x: object) -> bool:
    """A node with a history, or an array that hides a batch or writes a program; in lists and dicts, too."""
    if isinstance(x, (list, tuple, dict)):
        return any([is_ours(v) for v in (dict.values(x) if isinstance(x, dict) else x)])
    if isinstance(x, NodeRole):
        return gradient_target(x) is not None or type(x._value) is not np.ndarray
    if is_copy(x):
        return is_ours(attributes(x))
    return hasattr(x, "takes_primitives") or hasattr(x, "expr")


def check_precision(*arrays: Any) -> None:
    """Raise TypeError for half and extended precision, which SciPy's functions in C do not have."""
    if any([x.dtype.char in "egG" for x in arrays]):
        raise TypeError("SciPy computes this in single and double precision: use x.astype(np.float64)")


def is_copy(x: object) -> bool:
    """Is it an object of a class that is a copy?"""
    return "is_a_copy" in vars(type(x)) and hasattr(x, "__dict__")


def in_copies(x: object) -> Any:
    """An argument as copies know it: an object of a SciPy class, or of our class of that name, as one of the copied
    class."""
    kind = type(x)
    if not str(kind.__module__).startswith("scipy."):
        kind = (object, *kind.__bases__)[-1]
    is_theirs = str(kind.__module__).startswith("scipy.") and not is_copy(x) and hasattr(x, "__dict__")
    return replaced(x, copied(kind), lambda v: v) if is_theirs and copied(kind) is not kind else x


def is_in_python(kind: object) -> bool:
    """Are its objects made in Python, and nothing but their attributes?"""
    return kind.__new__ is object.__new__ or type(kind.__new__) is FunctionType


def replaced(x: object, kind: type, change: Callable[[Any], Any]) -> Any:
    """A copy of an object, of class ``kind``, with all attributes changed, and its own methods bound to the copy."""
    new: Any = object.__new__(kind)
    values = {}
    for name, v in attributes(x).items():
        is_own = type(v) is MethodType and v.__self__ is x
        values[name] = MethodType(getattr(kind, v.__name__, v.__func__), new) if is_own else change(v)
    return with_attributes(new, values)


def attributes(x: object) -> dict[str, Any]:
    """The attributes of an object, including those in slots."""
    slots = [name for kind in type(x).__mro__ for name in vars(kind).get("__slots__", ()) if hasattr(x, name)]
    return {**vars(x), **{name: getattr(x, name) for name in slots}}


def with_attributes(x: object, values: ByName) -> Any:
    """The object, with these as its attributes."""
    vars(x).update(values)
    for name in [name for name in values if isinstance(getattr(type(x), name, None), MemberDescriptorType)]:
        setattr(x, name, vars(x).pop(name))
    return x


# ---------------------------------------------------------------- what stands for NumPy's functions


class Seen(threading.local):
    """The last array that hides a batch or writes a program: arrays to be filled are made like it. And has SciPy's code
    asked for one of Python's numbers?"""

    array: Any = None
    floats = False


SEEN = Seen()


def keeper(name: str) -> AnyFunction:
    """``np.asarray``, or one of its kin, which keeps nodes, and nodes in lists."""
    theirs, keep = getattr(np, name), keeping(np.asarray, name == "array")

    def make(a: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        if not kept_in(a) or (isinstance(a, np.ndarray) and not isinstance(a, NodeRole)):
            return theirs(a, dtype, *args, **options)
        x = keep(a, dtype, **options)
        x = np.transpose(np.transpose(x).copy()) if options.get("order") == "F" else x
        if hasattr(value := value_of(x), "takes_primitives"):
            SEEN.array = weakref.ref(value)
        elif name == "ascontiguousarray" and not value.flags.c_contiguous:
            x = x.copy()
        return x

    return make


def allocator(name: str) -> AnyFunction:
    """``np.zeros`` and its kin: arrays of floats that nodes can be written into."""
    theirs = getattr(np, name)

    return lambda x, *args, **options: fillable(theirs(value_of(x), *args, **options))


def fillable(z: Any) -> Any:
    """An array of floating-point numbers as one that nodes can be written into."""
    if z.dtype.kind not in "fc":
        return z
    like = SEEN.array and SEEN.array()
    if like is not None and (getattr(like, "tape", None) or like.batch_layer).open:
        z = np.zeros_like(like, z.dtype, shape=z.shape) + z
    return constant_from(z)


def broadcast(*arrays: Any, **options: Any) -> Any:
    """``np.broadcast_arrays``; beside a node, nodes can be written into copies of the others."""
    results = np.broadcast_arrays(*arrays, **options)
    return tuple([fillable(x) if type(x) is np.ndarray else x for x in results]) if is_ours(results) else results


ALLOCATORS = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]


class Rows:
    """``np.r_``, also for nodes."""

    def __getitem__(self, key: Any) -> np.ndarray:
        if not is_ours([*key] if isinstance(key, tuple) else [key]):
            return np.r_[key]
        return np.concatenate([np.r_[x] if isinstance(x, slice) else np.atleast_1d(as_array(x)) for x in key])


def windows(x: Any, *args: Any, writeable: bool = False, **options: Any) -> np.ndarray:
    """``sliding_window_view``, which for nodes is a copy."""
    return np.lib.stride_tricks.sliding_window_view(x, *args, **options)


KEEPERS = ["array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray"]
MAKERS: dict[str, Any] = {"r_": Rows(), **{name: allocator(name) for name in ALLOCATORS}}
MAKERS |= {name: keeper(name) for name in KEEPERS}


def of_list(theirs: Any) -> AnyFunction:
    """A NumPy function of an array, also for a list with nodes."""
    return lambda x, *args, **how: theirs(MAKERS["asarray"](x) if isinstance(x, (list, tuple)) else x, *args, **how)


def of_number(theirs: Any, ours: Any) -> AnyFunction:
    """A function of ``math``, also for nodes; for numbers that it refuses (``sqrt(-1)``, ``exp(1000)``) its error."""

    def run(*x: Any, **how: Any) -> Any:
        if not is_ours(x):
            return theirs(*x, **how)
        SEEN.floats = True
        with np.errstate(all="ignore"):
            z = ours(*x, **how)
        numbers = innermost(z)
        if z.dtype.kind != "f" or (type(numbers) is np.ndarray and not np.isfinite(numbers).all()):
            theirs(*map(value_of, x), **how)
        return z

    return run


def of_several(theirs: Any, ours: Any) -> AnyFunction:
    """``max`` or ``min`` of the arguments, or of the elements of one array, also for nodes."""
    return lambda *x, **how: (
        theirs(*x, **how) if how or not is_ours(x) else functools.reduce(ours, x if x[1:] else x[0])
    )


# ---------------------------------------------------------------- copies


class KindOfFloat(type):
    """The class of :class:`Float`."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, float)


class Float(float, metaclass=KindOfFloat):
    """``float``, which lets nodes through."""

    dtype = np.dtype(float)

    def __new__(cls, x: Any = 0.0) -> Any:
        SEEN.floats = True
        return np.reshape(x, ()).astype(float) if is_ours(x) and x.size == 1 else float(x)


def imported(name: str, names: Any = None, *args: Any) -> Any:
    """``import`` in the body of a copy."""
    return COPIES.find(__import__(name, getattr(names, "names", names), *args))


BUILTINS = {**vars(builtins), "float": Float, "__import__": imported}
BUILTINS |= {f.__name__: of_several(f, u) for f, u in ((max, np.maximum), (min, np.minimum))}


class Space(dict[str, Any]):
    """The globals of copies: those of SciPy's module, copied when they are first used."""

    def __init__(self, names: ByName, **ours: object) -> None:
        super().__init__(__name__=__name__, __builtins__=BUILTINS, __keeps_nodes__=True, **ours)
        self.names = names

    def __missing__(self, name: str) -> Any:
        self[name] = value = COPIES.find(self.names[name]) if name in self.names else BUILTINS[name]
        return value


class Library(ModuleType):
    """A module of SciPy or NumPy, in copies."""

    def __init__(self, module: Any) -> None:
        super().__init__(module.__name__)
        self.module = module

    def __getattr__(self, name: str) -> Any:
        _, of_numpy, inside = self.module.__name__.partition("array_api_compat.numpy")  # NumPy's, partly rewritten
        theirs = import_module(f"numpy{inside}") if of_numpy and inside in ("", ".linalg", ".fft") else self.module
        value = COPIES.find(getattr(theirs if hasattr(theirs, name) else self.module, name))
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return library, (self.module.__name__,)


def library(name: str) -> Any:
    """The module of that name, in copies."""
    return COPIES.find(import_module(name))


@kernel
def steps(xs: Any, of: Any = None) -> Any:
    """A function that is constant between its jumps."""
    return of(*xs)


rule(steps, "*xs | of=None", "steps", r"\operatorname{steps}($xs)", xs=lambda g, k, xs_shape: np.zeros(xs_shape[k]))


def quantile_of_counts(theirs: Any, _: Any) -> AnyFunction:
    """SciPy's method, whose result moves with ``loc`` only."""

    def run(self: Any, q: Any, *args: Any, **options: Any) -> Any:
        shapes, loc, _ = self._parse_args(*args, **options)
        dist = replaced(self, type(self).__bases__[-1], lambda v: v)
        return steps([as_array(x) for x in (q, *shapes)], of=functools.partial(theirs, dist)) + loc

    return run


def with_known_median(_: object, method: AnyFunction) -> AnyFunction:
    """SciPy's method, which asks for the median to choose a formula, with a median computed from the numbers."""

    def run(self: object, *args: object) -> Any:
        dist, numeric = replaced(self, type(self).__bases__[-1], lambda v: v), replaced(self, type(self), lambda v: v)
        numeric._ppf = lambda q, *shapes: dist._ppf(q, *map(value_of, shapes))
        return method(numeric, *args)

    return run


def by_cholesky(_: object, init: Callable[..., None]) -> Callable[..., None]:
    """SciPy's covariances use eigenvectors; for a regular matrix its Cholesky factor does the same, and has a
    derivative where eigenvalues are equal."""

    theirs = import_module("scipy.linalg")
    cholesky, solve = COPIES.find(theirs.cholesky), COPIES.find(theirs.solve_triangular)

    def run(self: Any, M: Any, *args: Any, lower: bool = True, **options: object) -> None:  # noqa: N803 - SciPy's name
        try:
            half = cholesky(as_array(M), lower)
        except np.linalg.LinAlgError:
            init(self, M, *args, lower=lower, **options)
            return
        n = half.shape[0]
        self._M, self._pinv, self.rank, self.eps, self.V = M, None, n, 1.0, np.zeros((n, 0))
        inverse = solve(half, np.eye(n), lower=lower)
        self.U = inverse.T if lower else inverse
        self.log_pdet = 2 * np.sum(np.log(np.diagonal(half)))

    return run


def with_degrees(_: object, check: AnyFunction) -> AnyFunction:
    """SciPy's check for Wishart distributions, which reads the degrees of freedom, and wants them as a scalar."""

    def run(self: object, df: object, scale: object) -> Any:
        degrees = None if is_lazy(df) else value_of(df)
        dim, _, scale = check(self, degrees if degrees is None or np.ndim(degrees) else degrees[()], scale)
        return dim, df, scale

    return run


def unless_lazy(_: object, check: AnyFunction) -> AnyFunction:
    """A check of one array, which it returns; of a batch for each example. Numbers that are not yet known are not
    checked."""

    def run(x: Any) -> Any:
        if not is_lazy(x):
            return check(x)
        if type(numbers := innermost(x)) is np.ndarray:
            try:
                [check(one) for one in numbers.reshape(-1, *x.shape)]
            except ValueError:
                value_of(x).refuse_number("a parameter that is wrong")
        return x

    return run


def apart_from_nan(_: object, demean: AnyFunction) -> AnyFunction:
    """Distances to a mean. NaN gets a weight of 0 later, and must send no gradient: 0 · NaN would be NaN."""

    def run(*args: object, **options: object) -> Any:
        distance = demean(*args, **options)
        return np.where(np.isnan(distance), np.nan, distance)

    return run


def into_nodes(_: object, write: AnyFunction) -> AnyFunction:
    """The method of ``xpx.at`` that writes into a copy: also a node into a copy of numbers."""

    def run(self: Any, *args: Any, **options: object) -> Any:
        if type(self._x) is np.ndarray and is_ours(args):
            self._x = fillable(self._x.copy())
        return write(self, *args, **options)

    return run


def by_row(*_: object) -> AnyFunction:
    """The distribution function of the skewed normal distribution, which has a row."""
    from ..rules.distributions import skew_normal

    return lambda self, x, a: skew_normal(as_array(x), as_array(a))


AGAIN = {  # SciPy's functions that are not only copied -> makes their substitute of the function and its copy
    "_PSD.__init__": by_cholesky, "rv_discrete.ppf": quantile_of_counts, "rv_discrete.isf": quantile_of_counts,
    "wishart_gen._process_parameters": with_degrees, "_dirichlet_check_parameters": unless_lazy,
    "rv_continuous._logcdf": with_known_median, "rv_continuous._logsf": with_known_median, "at._op": into_nodes,
    "skewnorm_gen._cdf": by_row, "_demean": apart_from_nan,
}  # fmt: skip


def pickled(x: object) -> tuple[object, ...]:
    """What pickle keeps of an object of our classes: in place of our copies of functions it keeps SciPy's."""
    copied = [f for f in COPIES.held if not isinstance(f, ModuleType)]  # copies of modules pickle themselves
    theirs = {id(COPIES.get(id(f))): f for f in [*copied, *[getattr(np, name) for name in MAKERS]]}
    functions = {name: theirs[id(v)] for name, v in attributes(x).items() if id(v) in theirs}
    kind = type(x).__bases__[-1] if "is_a_copy" in vars(type(x)) else type(x)
    modules = {name: v.__name__ for name, v in attributes(x).items() if type(v) is ModuleType}
    return unpickled, (kind, {**attributes(x), **functions, **modules}, [*functions], [*modules])


def unpickled(kind: type, state: dict[str, Any], functions: list[str], modules: list[str]) -> Any:
    """The object."""
    state |= {name: COPIES.find(state[name]) for name in functions}
    state |= {name: import_module(state[name]) for name in modules}
    return with_attributes(object.__new__(COPIES.find(kind)), state)


class SciPysCopies(Copies):
    """What stands for SciPy's functions and modules, and also for its classes and their objects."""

    held: list[Any]  # what was copied: kept alive, so that no id is used again

    def add(self, x: Any) -> None:
        kind, home = type(x), home_of(x)
        if isinstance(x, ModuleType):
            if x.__name__.partition(".")[0] in ("numpy", "scipy", "math"):
                self[id(x)] = Library(x)
        elif kind is FunctionType:
            if "array_api_compat.numpy" in home and hasattr(np, x.__name__):  # NumPy's, partly rewritten
                self[id(x)] = self.find(getattr(np, x.__name__))
            elif home.startswith("scipy.optimize.") and is_search(x):
                self[id(x)] = with_memory(x)
            elif home.startswith("scipy.") or x.__globals__.get("__name__", "scipy.").startswith("scipy."):
                names = x.__globals__
                self.add_function(x, self.setdefault(id(names), Space(names)))
                if x.__qualname__ in AGAIN:
                    self[id(x)] = AGAIN[x.__qualname__](x, self[id(x)])
        elif isinstance(x, type):
            if home.startswith("scipy.") and not issubclass(x, KEPT) and is_in_python(x):
                self.add_class(x)
        elif is_in_c(x, home):
            self[id(x)] = with_memory(x)
        elif hasattr(x, "cache_info") and "array_api" not in home:  # where modules are looked up by name
            self[id(x)] = self.find(x.__wrapped__)
        elif kind.__name__ == "_Function":  # of scipy.fft, which looks for backends; SciPy's is in another module
            self[id(x)] = self.find(getattr(import_module(f"{home}_backend"), x.__name__))
        elif kind is functools.partial:
            self[id(x)] = functools.partial(self.find(x.func), *map(self.find, x.args), **x.keywords)
        elif kind is MethodType and self.find(x.__self__) is not x.__self__:
            self[id(x)] = MethodType(self.find(x.__func__), self.find(x.__self__))
        elif str(kind.__module__).startswith("scipy.") and hasattr(x, "__dict__") and self.find(kind) is not kind:
            self[id(x)] = new = replaced(x, self.find(kind), lambda v: v)
            vars(new).update({name: self.find(f) for name, f in vars(x).items() if callable(f)})
        elif kind in (dict, list, tuple) and 0 < len(x) < 100:
            entries = [*x.values()] if kind is dict else x
            new = [v if isinstance(v, PLAIN) else self.find(v) for v in entries]
            if any([a is not b for a, b in zip(entries, new, strict=True)]):
                self[id(x)] = dict(zip(x, new, strict=True)) if kind is dict else kind(new)
        if id(x) in self:
            self.held.append(x)

    def add_class(self, kind: type) -> None:
        """A class derived from ``kind``, with copies of its methods and bases."""
        self[id(kind)] = kind
        members = {name: f for name, f in vars(kind).items() if type(f) in MEMBERS}
        bases = [b for base in kind.__bases__ if (b := self.find(base)) is not base]
        if members or bases:
            self[id(kind)] = new = type(kind)(kind.__name__, (*bases, kind), {"is_a_copy": True, "__reduce__": pickled})
            for name, f in members.items():
                setattr(new, name, MEMBERS[type(f)](f))


COPIES = SciPysCopies({id(getattr(np, name)): function for name, function in MAKERS.items()})
COPIES.held = []
COPIES |= {id(np.lib.stride_tricks.sliding_window_view): windows, id(np.broadcast_arrays): broadcast}
COPIES |= {id(f): of_list(f) for f in (np.max, np.mean, np.min, np.prod, np.sum)}
IN_BOTH = [(getattr(math, name), getattr(np, name)) for name in ("cos", "exp", "log", "pow", "sin", "sqrt")]
COPIES |= {id(f): of_number(f, ours) for f, ours in IN_BOTH}
copied = COPIES.find
MEMBERS: dict[Any, Callable[[Any], Any]] = {
    FunctionType: copied,
    classmethod: lambda f: classmethod(copied(f.__func__)),
    staticmethod: lambda f: staticmethod(copied(f.__func__)),
    property: lambda f: property(copied(f.fget), copied(f.fset), copied(f.fdel)),
}


def is_search(x: Any) -> bool:
    """Does it search for a root or a minimum? The derivative of its steps would lag behind."""
    homes = [import_module(name) for name in ("scipy.optimize", "scipy.optimize.elementwise")]
    return x.__name__[:5] != "rosen" and any([getattr(home, x.__name__, None) is x for home in homes])


def is_in_c(x: object, home: str) -> bool:
    """Is it one of SciPy's functions in C, Cython or Fortran?"""
    kind = type(x).__name__
    if not kind.endswith(("cython_function", "function_or_method")):
        return kind == "fortran"
    return home.startswith("scipy.") or getattr(getattr(x, "__self__", None), "__name__", "").startswith("scipy.")


def with_memory(f: Any, ours: Any = None) -> AnyFunction:
    """A function in C, which may write into arrays that could take nodes, as long as none has been written there. With
    nodes ``ours`` is called; without ``ours`` they are refused."""

    def run(*args: Any, **options: Any) -> Any:
        if not is_ours([*args, options]):
            return f(*map(value_of, args), **{k: value_of(v) for k, v in options.items()})
        if ours is None:
            name = getattr(f, "__name__", f)
            raise NoRuleError(f"{name} of a node is SciPy's, in C or by steps, and has no derivative here")
        return ours(*args, **options)

    return run


def stand_for(module: object, functions: ByName) -> None:
    """Let our functions replace those with these names where copies call them with nodes."""
    for name, ours in functions.items():
        theirs = getattr(module, name)
        COPIES[id(theirs)] = with_memory(theirs, ours)
