"""Rows of the table on arrays of another library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Case, go_back
from row_examples import examples_of
from standin import COPIES
from support import NIGHTLY, plain, rows

import autoflow as af
from autoflow import backends, nn, rules  # noqa: F401 - networks have rows, too
from autoflow.errors import DataError
from autoflow.rules import solving
from autoflow.table import vjps
from autoflow.transforms.shadow import checked_run

INDICES = [
    np.array([0, 2, 2]), [1, 1], (slice(None), np.array([0, 0, 3])), (np.array([[0], [2]]), np.array([1, 1])),
    (..., [1]), np.array([True, False, True]), (np.array([], int), 0), (1, np.array([3, 3])), -1,
]  # fmt: skip


# ---------------------------------------------------------------- what the rules ask CuPy for

# Functions of rows that CuPy does not have, so these rows do not run on a GPU.
LACKING = {"geomspace", "nanpercentile", "nanquantile", "matvec", "vecdot", "vecmat"}
# Keywords that NumPy's functions have and CuPy's do not: only where a user gives them.
KEYWORDS = {
    "initial", "where", "correction", "weights", "stable", "descending", "upper", "hermitian", "rtol", "sorted",
    "device",
}  # fmt: skip
METHODS = {"linear", "lower", "higher", "midpoint", "nearest"}  # of quantiles
REAL = {"clip"}  # rows that CuPy computes with real numbers only, and NumPy with complex numbers as well


def is_refused(row, example, dtypes="float64"):
    """Will CuPy's own error say that it cannot do this? docs/gpu.md lists these cases."""
    if row.name in REAL and "complex" in dtypes:
        return True
    if row.name in ("quantile", "percentile"):
        one_axis = len(example.shapes[1]) < 2 and 0 not in example.shapes[1]
        if not one_axis or example.options.get("method", "linear") not in METHODS:
            return True
    words = KEYWORDS - {"initial"} if row.name.endswith("_reduce") else KEYWORDS  # these rows do it themselves
    words = words | {"mode"} if row.name == "take" else words
    return row.name in LACKING or bool(words & set(example.options))


Array = Any
# Rows that decide by the numbers how to go on: is this matrix singular? They wait for the device, as the checks of a
# decomposition for errors do anyway.
LOOKS = {"det", "lstsq", "eigvals", "pinv", "erf"}  # erf: a library has its own, which this one has not said
# Calls of composed functions that wait for the device: which zeros are at the end, is a number negative?
WAITS = {f"np.{name} {k}" for name, numbers in {
    "trim_zeros": "012", "choose": "0", "gradient": "23", "average": "1", "cov": "2", "polymul": "0", "polyfit": "012",
    "roots": "0", "poly": "1", "linalg.lstsq": "01", "linalg.cond": "012", "lib.scimath.sqrt": "01",
    "lib.scimath.log": "01", "lib.scimath.log2": "01", "lib.scimath.log10": "01", "lib.scimath.arccos": "01",
    "lib.scimath.arcsin": "01", "lib.scimath.arctanh": "01", "lib.scimath.logn": "01", "lib.scimath.power": "01",
}.items() for k in numbers}  # fmt: skip
COMBINATIONS = [("float64", 1), ("float64", 2), ("float32", 1), ("complex128", 1)]


def dispatches(row: Any) -> bool:
    """Is it written with NumPy's functions? SciPy computes for itself, on the host."""
    if isinstance(row.function, np.ufunc):
        return getattr(np, row.function.__name__, None) is row.function
    package, _, module = row.function.__module__.rpartition(".")
    if package == "autoflow.rules":  # SciPy's rows are there as well, once another test has read them
        return module in rules.__all__
    return row.function.__module__.startswith(("numpy", "autoflow.nn"))


CASES = [
    pytest.param(Case(row, example), id=f"{row.name}-{k}")
    for row in rows()
    if dispatches(row)
    for k, example in list(enumerate(examples_of(row)))[:: 1 if NIGHTLY else 3]
]


def on(place: Any, x: Array) -> Array:
    return x if x is None else place(x)


def gone_through(case: Case, dtypes: str, place: Any, order: int) -> list[Array]:
    """The value and the gradients of that order, with operands where ``place`` puts them."""
    run, leaves = standing(case, dtypes, place)
    with np.errstate(all="ignore"):
        COPIES.clear()
        z = run()
        assert isinstance(z, af.Operation)
        seed = on(place, np.random.default_rng(1).choice([-1.5, 0.5], z.shape).astype(z.dtype))
        go_back([(z * z, seed)], create_graph=order == 2)
        if order == 2:
            grads = [leaf.grad for leaf in leaves.values()]
            for leaf in leaves.values():
                leaf.zero_grad()
            go_back([(g * g, None) for g in grads])
        assert case.row.name in LOOKS | WAITS or not COPIES["get"], f"{COPIES['get']} arrays were copied to the host"
    return [z, *[leaf.grad for leaf in leaves.values()]]


def standing(case: Case, dtypes: str, place: Any) -> tuple[Any, dict[int, Any]]:
    """The call of a case, and its leaves, with arrays where ``place`` puts them."""
    xs = [on(place, x) for x in case.values(dtypes)]
    leaves = {k: af.Variable(xs[k]) for k in case.live}
    options = {name: on(place, v) if isinstance(v, np.ndarray) else v for name, v in case.example.options.items()}
    there = Case(case.row, type(case.example)(case.example.shapes, options, case.example.prepare))
    return lambda: there.run([leaves.get(k, x) for k, x in enumerate(xs)]), leaves


def prove(case: Case, dtypes: str, place: Any) -> None:
    """Nothing is read past the nodes: no error, and no doubt."""

    def run() -> Any:
        z = standing(case, dtypes, place)[0]()
        return z * z if z.ndim else z  # a list of one for one array

    with np.errstate(all="ignore"):
        checked_run(run)


def reference(case: Case, dtypes: str, order: int) -> list[Array]:
    """The same of NumPy's arrays. np.partition puts them in order, as CuPy's does if they are short."""
    with pytest.MonkeyPatch.context() as patch:
        if case.row.name == "partition":
            patch.setattr(case.row, "compute", lambda x, kth, axis, kind, order: np.sort(x, axis))
        try:
            found = gone_through(case, dtypes, lambda x: x, order)
        except (TypeError, DataError, np.exceptions.ComplexWarning):
            if dtypes != "complex128":
                raise
            pytest.skip("NumPy does not have it for complex numbers")
    return [z if z is None else np.asarray(plain(z)) for z in found]


def chosen_as(case: Case, ours: Array, theirs: Array) -> Array:
    """``theirs``, and what the function leaves open as in ``ours``: are eigenvalues complex; the signs of vectors."""
    x_shape, name = case.example.shapes[0], case.row.name
    if name in ("eig", "eigvals"):
        return theirs.astype(ours.dtype) if ours.dtype.kind == "c" else theirs if theirs.size else theirs.real
    if name == "eigh":
        n = x_shape[-1]
        (_, v), (w, theirs_v) = vjps.unpack(ours, (n,), (n, n)), vjps.unpack(theirs, (n,), (n, n))
        return vjps.pack((w, 1), (theirs_v * same_signs(v, theirs_v), 2))
    if name == "svd":
        shapes = solving.svd_shapes(x_shape, case.example.options.get("full_matrices", True))
        (u, *_), (theirs_u, s, vh) = vjps.unpack(ours, *shapes), vjps.unpack(theirs, *shapes)
        signs = same_signs(u, theirs_u)
        return vjps.pack((theirs_u * signs, 2), (s, 1), (vh * signs.mT, 2))
    return theirs


def same_signs(v: Array, w: Array) -> Array:
    """1 or -1 for each column: the sign that w needs to have v's."""
    return np.where(np.sum(v * w, axis=-2, keepdims=True) < 0, -1, 1).astype(w.dtype)
