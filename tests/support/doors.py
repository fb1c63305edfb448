"""Doors: the ways in which numbers can leave the graph, and what happens at each of them.

``python tests/support/doors.py`` writes the table of docs/guarantees.md anew, on Python 3.12 or newer. The tests
compare it with what happens.
"""

from __future__ import annotations

import array
import copy
import ctypes
import functools
import io
import itertools
import json
import math
import operator
import pickle
import pkgutil
import statistics
import struct
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import autoflow as af
from autoflow.errors import AutoflowError, UnprovedWarning

V = np.array([0.6, 1.5, 0.4])
PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"
BEGIN, END = "<!-- doors: made by tests/support/doors.py -->\n", "<!-- end of doors -->\n"


def written(write: Callable[[Any, Any], Any], dtype: Any = float) -> Callable[[Any], Any]:
    """A plain array into which ``write(plain, y)`` writes."""

    def make(y: Any) -> Any:
        plain = np.ones(3, dtype)
        write(plain, y)
        return np.real(plain) + np.imag(plain)

    return make


def added(y: Any) -> Any:
    """The name becomes a node."""
    plain = np.ones(3)
    plain += y
    return plain


def added_where_held(y: Any) -> Any:
    """And the list keeps the array."""
    plain = np.ones(3)
    held = [plain]
    plain += y
    return y - y + held[0]


def shuffled(y: Any) -> Any:
    z = y * 1.0
    np.random.default_rng(0).shuffle(z)
    return z


def imported(name: str) -> Any:
    """A function of another library, imported when it is called."""
    return lambda *args, **options: pkgutil.resolve_name(name)(*args, **options)


def sparse() -> Any:
    return imported("scipy.sparse.csr_matrix")(np.diag([1.0, 2.0, 3.0]))


def through_file(write: Callable[..., Any], read: Callable[[Any], Any], y: Any) -> Any:
    """What is read after it was written."""
    file = io.BytesIO()
    write(file, y)
    file.seek(0)
    return read(file)


def to_disk(y: Any) -> Any:
    """The same, where only a file of the system will do."""
    with tempfile.TemporaryDirectory() as folder:
        y.tofile(f"{folder}/y")
        return np.fromfile(f"{folder}/y")


def captured(y: Any) -> Any:
    """A function of the user's with a derivative by x, that reads y beside it."""
    double = af.primitive(lambda x: x + np.asarray(y))
    return double.defvjp(x=lambda g: g)(y * 1.0)


def operator_of(y: Any) -> Any:
    """A product by a function that has y."""
    product = imported("scipy.sparse.linalg.LinearOperator")((3, 3), matvec=lambda v: v * y, dtype=float)
    return imported("scipy.sparse.linalg.eigsh")(product, k=1, v0=np.ones(3))[0]


DOORS: dict[str, dict[str, Callable[[Any], Any]]] = {
    "Copies": {
        "copy.copy(y)": copy.copy, "copy.deepcopy(y)": copy.deepcopy, "y.copy()": lambda y: y.copy(),
    },
    "Arrays made of nodes": {
        "np.asarray(y), np.array(y)": np.asarray, "np.ascontiguousarray(y)": np.ascontiguousarray,
        "np.array([y, y])": lambda y: np.array([y, y]), "np.array([y[0], y[1]])": lambda y: np.array([y[0], y[1]]),
        "np.stack([y, y])": lambda y: np.stack([y, y]), "np.full(3, y[0])": lambda y: np.full(3, y[0]),
        "np.arange(y[0], 3.0)": lambda y: np.arange(y[0], 3.0),
        "np.linspace(y[0], y[1])": lambda y: np.linspace(y[0], y[1]),
        "np.fromiter(y, float)": lambda y: np.fromiter(y, float), "np.float64(y[0])": lambda y: np.float64(y[0]),
        "np.from_dlpack(y)": np.from_dlpack, "np.matrix(y)": lambda y: np.asarray(np.matrix(y)),
        "np.ma.array(y)": lambda y: np.asarray(np.ma.array(y)),
        "np.array(y, dtype=object)": lambda y: sum(np.array(y, dtype=object)), "np.ix_(y)": lambda y: np.ix_(y)[0],
        "np.bmat([[y]])": lambda y: np.asarray(np.bmat([[y]])),
        "np.sin([y, y]), np.mean([y, y])": lambda y: np.sin([y, y]),
        "np.histogram_bin_edges(y)": lambda y: np.histogram_bin_edges(y, 3),
        "np.lib.stride_tricks.as_strided(y)": lambda y: np.lib.stride_tricks.as_strided(y, (2,), (8,)),
        "np.ma.sum(y), np.ma.exp(y)": np.ma.sum,
        "np.polynomial.Polynomial(y)": lambda y: np.polynomial.Polynomial(y)(2.0),
        "np.polynomial.polynomial.polyval(2.0, y)": lambda y: np.polynomial.polynomial.polyval(2.0, y),
        "np.poly1d(y)": lambda y: np.poly1d(y)(2.0),
    },
    "Options": {
        "np.select([plain > 1], [plain], default=y)": lambda y: np.select([V > 1], [V], default=y),
        "np.piecewise(plain, [plain > 1], [y[0], 1.0])": lambda y: np.piecewise(V, [V > 1], [y[0], 1.0]),
        "np.pad(plain, 1, constant_values=y[0])": lambda y: np.pad(V, 1, constant_values=y[0]),
        "np.unwrap(9 * plain, period=y[0])": lambda y: np.unwrap(9 * V, period=y[0]),
        "np.std(plain, ddof=y[0])": lambda y: np.std(V, ddof=y[0]),
    },
    "Memory": {
        "memoryview(y), array.array(y)": lambda y: np.array(array.array("d", y)),
        "memoryview(y)[0], y.data[0]": lambda y: memoryview(y)[0], "np.frombuffer(y)": np.frombuffer,
        "y.__array_interface__": lambda y: np.asarray(SimpleNamespace(__array_interface__=y.__array_interface__)),
        "ctypes.c_double(y[0])": lambda y: ctypes.c_double(y[0]).value,
        "struct.pack('d', y[0])": lambda y: struct.unpack("d", struct.pack("d", y[0]))[0],
    },
    "Elements": {
        "for e in y": lambda y: functools.reduce(operator.mul, y),
        "sum(y), max(y), sorted(y)": lambda y: sum(sorted(y)),
        "itertools.accumulate(y)": lambda y: sum(itertools.accumulate(y)),
        "np.ndenumerate(y)": lambda y: sum(e for _, e in np.ndenumerate(y)),
        "np.broadcast(y, plain)": lambda y: sum(e for e, _ in np.broadcast(y, V)),
        "np.nditer(y)": lambda y: sum(e.copy() for e in np.nditer(y)), "y.flat": lambda y: sum(y.flat),
        "map(float, y)": lambda y: sum(map(float, y)),
    },
    "Methods of plain arrays": {
        "plain @ y, np.dot(plain, y)": lambda y: np.arange(3.0) @ y,
        "memmap @ y": lambda y: np.arange(3.0).view(np.memmap) @ y,
        "np.dot(memmap, y)": lambda y: np.dot(np.arange(3.0).view(np.memmap), y),
        "np.outer(memmap, y)": lambda y: np.outer(np.arange(3.0).view(np.memmap), y),
        "plain.dot(y)": lambda y: np.arange(3.0).dot(y),
        "index.choose([y[0], y[1]])": lambda y: np.array([0, 1]).choose([y[0], y[1]]),
        "plain[0] = y[0]": written(lambda a, y: operator.setitem(a, 0, y[0])),
        "plain[:] = y": written(lambda a, y: operator.setitem(a, slice(None), y)),
        "plain[:] += y": written(lambda a, y: operator.iadd(a[:], y)), "plain += y": added,
        "plain += y, and something else holds plain": added_where_held,
        "np.add(plain, y, out=plain)": written(lambda a, y: np.add(a, y, out=a)),
        "np.add(1, y, out=plain)": written(lambda a, y: np.add(1, y, out=a)),
        "plain.fill(y[0])": written(lambda a, y: a.fill(y[0])),
        "plain.clip(y[0], 9.0)": lambda y: (V - 0.1).clip(y[0], 9.0),
        "plain.put(0, y[0])": written(lambda a, y: a.put(0, y[0])),
        "plain.real = y": written(lambda a, y: setattr(a, "real", y)),
        "plain.imag[:] = y": written(lambda a, y: operator.setitem(a.imag, slice(None), y), complex),
        "plain.flat[:] = y": written(lambda a, y: operator.setitem(a.flat, slice(None), y)),
        "np.copyto(plain, y)": written(np.copyto),
        "np.fill_diagonal(plain, y)": lambda y: (a := np.zeros((3, 3)), np.fill_diagonal(a, y))[0],
        "np.put(plain, [0], y[0])": written(lambda a, y: np.put(a, [0], y[0])),
        "np.add.at(plain, [0], y[0])": written(lambda a, y: np.add.at(a, [0], y[0])),
    },
    "Random numbers": {
        "rng.normal(y)": lambda y: np.random.default_rng(0).normal(y),
        "rng.permutation(y)": lambda y: np.random.default_rng(0).permutation(y),
        "rng.choice(y)": lambda y: np.random.default_rng(0).choice(y), "rng.shuffle(y)": shuffled,
    },
    "Python": {
        "math.sin(y[0])": lambda y: math.sin(y[0]), "math.fsum(y), statistics.fmean(y)": statistics.fmean,
        "statistics.NormalDist(y[0], 1)": lambda y: statistics.NormalDist(y[0], 1).pdf(0.3),
        "abs(y[0]), round(y[0], 1), divmod(y[0], 1)": lambda y: divmod(abs(y[0]), 1.0)[1],
        "y[0] ** 2, pow(y[0], 2)": lambda y: pow(y[0], 2),
    },
    "Other libraries": {
        "csr @ y": lambda y: sparse() @ y, "y @ csr": lambda y: y @ sparse(),
        "csr * y[0]": lambda y: (sparse() * y[0]).sum(), "csr.dot(y)": lambda y: sparse().dot(y),
        "dia.multiply(y)": lambda y: sparse().todia().multiply(y).sum(),
        "scipy.sparse.linalg.spsolve(csr, y)": lambda y: imported("scipy.sparse.linalg.spsolve")(sparse(), y),
        "scipy.sparse.linalg.expm_multiply(csr, y)": lambda y: imported("scipy.sparse.linalg.expm_multiply")(
            sparse(), y),
        "scipy.sparse.linalg.lsqr(A, y)": lambda y: imported("scipy.sparse.linalg.lsqr")(np.diag(V), y)[0],
        "scipy.linalg.solve(A, y)": lambda y: imported("scipy.linalg.solve")(np.diag(V), y),
        "scipy.special.softmax(y)": lambda y: imported("scipy.special.softmax")(y)[0],
        "scipy.special.expit(y)": lambda y: imported("scipy.special.expit")(y),
        "scipy.integrate.trapezoid(y)": imported("scipy.integrate.trapezoid"),
        "scipy.integrate.quad(f(y), 0, 1)": lambda y: imported("scipy.integrate.quad")(lambda t: t * y[0], 0, 1)[0],
        "scipy.integrate.solve_ivp(f(y), (0, 1), V)": lambda y: imported("scipy.integrate.solve_ivp")(
            lambda t, v: v * y, (0, 0.1), V).y[:, -1],
        "eigsh(LinearOperator(matvec=f(y)))": operator_of,
        "scipy.ndimage.gaussian_filter(y, 1)": lambda y: imported("scipy.ndimage.gaussian_filter")(y, 1),
        "scipy.fft.rfft(y)": lambda y: np.absolute(imported("scipy.fft.rfft")(y))[1],
        "scipy.signal.lfilter(b, a, y)": lambda y: imported("scipy.signal.lfilter")([1.0], [1.0, 0.5], y),
        "scipy.integrate.simpson(y, x=y)": lambda y: imported("scipy.integrate.simpson")(y, x=y * y),
        "scipy.stats.norm.logpdf(y)": imported("scipy.stats.norm.logpdf"),
        "pandas.Series(y)": lambda y: imported("pandas.Series")(y).to_numpy(),
    },
    "Functions of your own": {
        "af.primitive, af.Function that capture y": captured,
        "af.compile(f) of f that captures y": lambda y: af.compile(lambda x: x * y)(np.ones(3)),
        "af.grad(f) of f that captures y": lambda y: af.grad(lambda x: np.sum(x * y))(np.ones(3)),
    },
    "On purpose": {
        "y.value": lambda y: y.value if isinstance(y, af.Node) else y,
        "af.stop_gradient(y), y.detach()": af.stop_gradient, "float(y[0]), y[0].item()": lambda y: float(y[0]),
        "complex(y[0]), int(y[0])": lambda y: complex(y[0]).real,
        "y.tolist(), json.dumps(y.tolist())": lambda y: np.array(json.loads(json.dumps(y.tolist()))),
        "y.tobytes()": lambda y: np.frombuffer(y.tobytes()),
        "np.save(file, y)": lambda y: through_file(np.save, np.load, y),
        "np.savez(file, y)": lambda y: through_file(np.savez, lambda file: np.load(file)["arr_0"], y),
        "np.savetxt(file, y)": lambda y: through_file(functools.partial(np.savetxt, fmt="%.17g"), np.loadtxt, y),
        "y.tofile(path)": to_disk, "pickle.loads(pickle.dumps(y)), y.dumps()": lambda y: pickle.loads(pickle.dumps(y)),
        "f'{y[0]}', str(y), repr(y)": lambda y: float(f"{y[0]:.17g}"),
        "y.view(np.ndarray)": lambda y: y.view(np.ndarray),
    },
}  # fmt: skip


# Functions that read a node's memory, so that the node is silently lost under ``backward()``. An option in brackets:
# only there; a folder: all that is in it.
LOST = (
    "np.array", "np.asarray", "np.asarray_chkfinite", "np.ascontiguousarray", "np.asfortranarray", "np.asmatrix",
    "np.bmat", "np.broadcast", "np.from_dlpack", "np.frombuffer", "np.full", "np.full_like(dtype)",
    "np.histogram_bin_edges", "np.ix_", "np.logspace(dtype)", "np.matrix", "np.ndenumerate", "np.nditer",
    "np.require(requirements)", "np.select(default)", "np.std(ddof)", "np.std(correction)", "np.var(ddof)",
    "np.var(correction)", "np.nanstd(ddof)", "np.nanstd(correction)", "np.nanvar(ddof)", "np.nanvar(correction)",
    "np.unwrap(period)", "np.lib.stride_tricks.as_strided", "np.ma", "np.polynomial", "np.rec", "Generator",
    "method __array__", "method __array_wrap__", "method choose", "method dot",
)  # fmt: skip


def by_transform(f: Callable[[Any], Any]) -> Any:
    """The gradient by a function that takes a function."""
    return af.grad(f)(V)


def by_backward(f: Callable[[Any], Any]) -> Any:
    x = af.Variable(V)
    f(x).backward()
    return x.grad


def strictly(f: Callable[[Any], Any]) -> Any:
    with af.options(strict=True):
        return by_backward(f)


def in_class(f: Callable[[Any], Any]) -> Any:
    with af.options(preset="classroom"):
        return by_backward(f)


def unwatched(f: Callable[[Any], Any]) -> Any:
    """As on Python 3.11, which cannot watch other packages."""
    with af.options(watched=()):
        return by_backward(f)


WAYS = {
    "`af.grad` ...": by_transform, "`backward()`, Python 3.11": unwatched, "`backward()`": by_backward,
    "strict": strictly, "classroom": in_class,
}  # fmt: skip
ON_EVERY_PYTHON = 2  # of the ways, the first ones


def outcome(door: Callable[[Any], Any], way: Callable[[Any], Any]) -> str:
    """What happens to a term that goes through a door, beside one that does not: "recorded", "error", "warning", or
    "lost", which is silent."""

    def loss(x: Any) -> Any:
        return np.sum(np.sin(x)) + np.sum(door(x * 1.0) * 1.5)

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        right = [(loss(V + h) - loss(V - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        try:
            found = way(loss)
        except (AutoflowError, TypeError, ValueError, struct.error) as error:  # struct says its own of ours
            return "error" if isinstance(error, AutoflowError) else f"error ({type(error).__name__})"
    told = "warning" if any([w.category is UnprovedWarning for w in given]) else "lost"
    return "recorded" if np.allclose(found, right, rtol=1e-4, atol=1e-6) else told


def row(name: str) -> str:
    door = next(doors[name] for doors in DOORS.values() if name in doors)
    code, _, more = name.partition(", and ")
    return f"| `{code}`{more and ', and '}{more} | " + " | ".join(outcome(door, way) for way in WAYS.values()) + " |"


def table() -> str:
    """All of them, by group."""
    lines = [f"| door | {' | '.join(WAYS)} |", "|---" * (len(WAYS) + 1) + "|"]
    for group, doors in DOORS.items():
        lines += [f"| **{group}** |" + " |" * len(WAYS), *map(row, doors)]
    names = ", ".join([f"`{name}`" for name in LOST])
    lines += ["", f"Functions of NumPy's that lose a node under `backward()`: {names}."]
    return "\n".join(lines)


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
