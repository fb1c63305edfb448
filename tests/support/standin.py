"""An array library that is not NumPy, with CuPy's manners: what autoflow meets on a GPU, without one.

* A :class:`Device` is no ``ndarray``, and NumPy may not convert it: ``np.asarray(d)`` raises. Numbers leave it by
  ``get()`` only, which counts (:data:`COPIES`).
* NumPy's functions find it by its own ``__array_ufunc__`` and ``__array_function__``. With a NumPy array of one or
  more elements beside it they raise: it has to be brought over first. Numbers may mix.
* Every result is an array: 0-d results are no ``np.float64``.
* No ``flags.writeable``; ``view(cls)`` makes a subclass on the same memory.
* What CuPy refuses, or answers in a way of its own, is in ``manners.py``.

The numbers are in an ``ndarray`` that nobody else sees, so the stand-in computes NumPy's bits.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import manners
import numpy as np

COPIES: Counter[str] = Counter()  # "get": arrays that left; "put": arrays that came
CALLS: set[tuple[Any, str, int, tuple[str, ...]]] = set()  # what was asked of the library: see test_cupy.py


class Flags:
    """What CuPy knows of the memory of an array."""

    def __init__(self, host: np.ndarray) -> None:
        self.c_contiguous, self.f_contiguous = host.flags.c_contiguous, host.flags.f_contiguous
        self.owndata = host.flags.owndata
        self.fnc = host.flags.fnc


class Device:
    """An array somewhere else."""

    __slots__ = ("__weakref__", "_base", "_host")
    __array_priority__ = 100

    def __new__(cls, host: Any, base: Any = None) -> Any:
        self = object.__new__(cls)
        self._host, self._base = host, base
        return self

    def view(self, cls: type | None = None) -> Any:
        return Device.__new__(cls or type(self), self._host[...], self if self._base is None else self._base)

    def get(self) -> np.ndarray:
        """The numbers, as NumPy's."""
        COPIES["get"] += 1
        return self._host.copy()

    @property
    def flags(self) -> Flags:
        return Flags(self._host)

    @property
    def base(self) -> Any:
        return self._base

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self._host.__array_interface__, "strides": self._host.strides}

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        CALLS.add((ufunc, method, len(args), tuple(sorted(options))))
        if not manners.takes(ufunc, method, args, options, Device):
            return NotImplemented
        if method == "at":
            args = (args[0], brought(args[1]), *args[2:])
        return computed(getattr(ufunc, method), args, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        CALLS.add((function, "", len(args), tuple(sorted(options))))
        if function in (np.array, np.asarray):
            return args[0].copy() if isinstance(args[0], Device) else put(args[0])
        if function is np.take:
            args = (args[0], brought(args[1]), *args[2:])
        if function in manners.MISSING:
            return NotImplemented
        call = functools.partial(manners.FUNCTIONS[function], function) if function in manners.FUNCTIONS else function
        return computed(call, args, options)

    def __getitem__(self, i: Any) -> Any:
        return computed(lambda x, i: x[i], (self, brought(i)), {})

    def __setitem__(self, i: Any, value: Any) -> None:
        computed(lambda x, i, v: x.__setitem__(i, v), (self, brought(i), value), {})

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    def __index__(self) -> int:
        return self.get().__index__()

    def __format__(self, spec: str) -> str:
        return format(self.get(), spec)

    def __repr__(self) -> str:
        return repr(self.get())

    __hash__ = object.__hash__

    def item(self, *args: Any) -> Any:
        return self.get().item(*args)

    def tolist(self) -> Any:
        return self.get().tolist()

    def __reduce__(self) -> Any:
        return put, (self.get(),)

    def __copy__(self) -> Any:
        return self.copy()  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()  # type: ignore[attr-defined]


def put(host: Any) -> Device:
    """NumPy's array in the memory of this library."""
    COPIES["put"] += 1
    return Device(np.array(host))


def brought(i: Any) -> Any:
    """An index with its arrays brought over, as CuPy does by itself."""
    if isinstance(i, np.ndarray):
        return put(i)
    return tuple(map(brought, i)) if isinstance(i, tuple) else i


def inside(x: Any) -> Any:
    """The hidden array of a Device, also in sequences. An array of NumPy's is refused, as CuPy does."""
    if isinstance(x, Device):
        return x._host
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if type(x) in (tuple, list):
        return type(x)(map(inside, x))
    if type(x) is slice:
        return slice(*[k if k is None else k.__index__() for k in (x.start, x.stop, x.step)])
    return x


def computed(call: Any, args: Any, options: dict[str, Any]) -> Any:
    """The call on the hidden arrays; its results are Devices, the same objects where ``out`` says so."""
    sources = [x for x in flat((args, tuple(options.values()))) if isinstance(x, Device)]
    return outside(call(*inside(args), **{k: inside(v) for k, v in options.items()}), sources)


def flat(x: Any) -> Any:
    """The leaves of nested tuples and lists."""
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from flat(part)
    else:
        yield x


def outside(result: Any, sources: list[Device]) -> Any:
    """Arrays and numbers of NumPy as Devices."""
    for x in sources:
        if result is x._host:
            return x
    if isinstance(result, (np.ndarray, np.generic)):
        host = np.asarray(result)
        base = next((x for x in sources if host.base is not None and np.may_share_memory(host, x._host)), None)
        return Device(host, base if base is None or base._base is None else base._base)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[outside(r, sources) for r in result])
    return type(result)([outside(r, sources) for r in result]) if type(result) in (tuple, list) else result


METHODS = [
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "clip", "compress", "conj", "conjugate",
    "copy", "cumprod", "cumsum", "diagonal", "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "partition",
    "prod", "put", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes",
    "take", "tobytes", "trace", "transpose", "var",
]  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
SYMBOLS = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def method(name: str) -> Any:
    def run(self: Device, *args: Any, **options: Any) -> Any:
        call = manners.METHODS.get(name) or (lambda x, *a, **o: getattr(x, name)(*a, **o))
        return computed(call, (self, *args), options)

    return run


def operator(ufunc: Any, swapped: bool = False, inplace: bool = False) -> Any:
    """The operator that is this ufunc."""

    def run(self: Device, other: Any) -> Any:
        if getattr(type(other), "__array_ufunc__", True) is None:
            return NotImplemented
        if inplace:
            return ufunc(self, other, out=self)
        return ufunc(other, self) if swapped else ufunc(self, other)

    return run


def attribute(name: str) -> Any:
    """ndarray's attribute of that name; arrays as Devices."""
    return property(lambda self: outside(getattr(self._host, name), [self]))


def install() -> None:
    """Give Device the rest of an array."""
    for name in METHODS:
        setattr(Device, name, method(name))
    for name, ufunc in BINARY.items():
        setattr(Device, f"__{name}__", operator(ufunc))
        setattr(Device, f"__r{name}__", operator(ufunc, swapped=True))
        setattr(Device, f"__i{name}__", operator(ufunc, inplace=True))
    for name, ufunc in COMPARISONS.items():
        setattr(Device, f"__{name}__", operator(ufunc))
    for name, ufunc in SYMBOLS.items():
        setattr(Device, f"__{name}__", lambda self, ufunc=ufunc: ufunc(self))
    for name in ["T", "mT", "real", "imag", "shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes"]:
        setattr(Device, name, attribute(name))


install()
