"""Every row of the table on arrays of another library than NumPy (see standin.py): NumPy's values to the bit, and its
gradients. And everything stays there: what a rule makes itself is made there, nothing is brought over to look at it.
"""

from __future__ import annotations

from typing import Any

import calls
import numpy as np
import pytest
import standin
from standin import COPIES, Device, put
from support import assert_close, plain, rows, same_bits
from test_composed import EVERY, name as name_of
from test_rules import Case, go_back

import autoflow as af
from autoflow import backends, nn, rules  # noqa: F401 - networks have rows, too
from autoflow.errors import DataError
from autoflow.rules import decompositions, packed

Array = Any
# Rows that decide by the numbers how to go on: is this matrix singular? They wait for the device, as the checks of a
# decomposition for errors do anyway.
LOOKS = {"det", "lstsq", "eigvals", "erf"}  # erf: a library has its own, which this one has not said
# Rows that are computed in another way where the library lacks NumPy's: the last bits may differ.
COMPOSED = {"hypot_reduce", "logaddexp_reduce", "logaddexp2_reduce", "nanvar", "nanstd"}
# Calls of composed functions that wait for the device: which zeros are at the end, is a number negative?
WAITS = {f"np.{name} {k}" for name, numbers in {
    "trim_zeros": "012", "choose": "0", "gradient": "23", "average": "1", "cov": "2", "polymul": "0", "polyfit": "012",
    "roots": "0", "poly": "1", "linalg.lstsq": "01", "linalg.cond": "012", "lib.scimath.sqrt": "01",
    "lib.scimath.log": "01", "lib.scimath.log2": "01", "lib.scimath.log10": "01", "lib.scimath.arccos": "01",
    "lib.scimath.arcsin": "01", "lib.scimath.arctanh": "01", "lib.scimath.logn": "01", "lib.scimath.power": "01",
}.items() for k in numbers}  # fmt: skip
REFUSED = {"np.einsum 2"}  # order= and casting=
COMBINATIONS = [("float64", 1), ("float64", 2), ("float32", 1), ("complex128", 1)]


@pytest.fixture(scope="module", autouse=True)
def family():
    yield backends.register(Device, from_numpy=put, to_numpy=Device.get)
    del backends.FAMILIES[Device]


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
    for k, example in enumerate(row.examples)
]


def on(place: Any, x: Array) -> Array:
    return x if x is None else place(x)


def gone_through(case: Case, dtypes: str, place: Any, order: int) -> list[Array]:
    """The value and the gradients of that order, with operands where ``place`` puts them."""
    xs = [on(place, x) for x in case.values(dtypes)]
    leaves = {k: af.Variable(xs[k]) for k in case.live}
    options = {name: on(place, v) if isinstance(v, np.ndarray) else v for name, v in case.example.options.items()}
    standing = Case(case.row, type(case.example)(case.example.shapes, options, case.example.prepare))
    with np.errstate(all="ignore"):
        COPIES.clear()
        z = standing.run([leaves.get(k, x) for k, x in enumerate(xs)])
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
        (_, v), (w, theirs_v) = packed.unpack(ours, (n,), (n, n)), packed.unpack(theirs, (n,), (n, n))
        return packed.pack((w, 1), (theirs_v * same_signs(v, theirs_v), 2))
    if name == "svd":
        shapes = decompositions.svd_shapes(x_shape, case.example.options.get("full_matrices", True))
        (u, *_), (theirs_u, s, vh) = packed.unpack(ours, *shapes), packed.unpack(theirs, *shapes)
        signs = same_signs(u, theirs_u)
        return packed.pack((theirs_u * signs, 2), (s, 1), (vh * signs.mT, 2))
    return theirs


def same_signs(v: Array, w: Array) -> Array:
    """1 or -1 for each column: the sign that w needs to have v's."""
    return np.where(np.sum(v * w, axis=-2, keepdims=True) < 0, -1, 1).astype(w.dtype)


@pytest.mark.parametrize(("dtypes", "order"), COMBINATIONS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_row_on_another_library(case, dtypes, order):
    expected = reference(case, dtypes, order)
    found = gone_through(case, dtypes, standin.put, order)
    expected[0] = chosen_as(case, plain(found[0]).get(), expected[0])
    for ours, theirs in zip(found, expected, strict=True):
        if theirs is None:
            assert ours is None or not np.any(plain(ours).get())
            continue
        assert isinstance(ours, Device), type(ours)
        assert_close(plain(ours).get(), theirs, 1e-6 if dtypes == "float32" else 1e-14, "gradient")
    assert case.row.name in COMPOSED or same_bits(plain(found[0]).get(), expected[0])


@pytest.mark.parametrize("each", [each for each in EVERY if each.name not in REFUSED], ids=name_of)
def test_composed_on_another_library(each, monkeypatch):
    """Functions composed of others bring along only what they make themselves, and that is made there."""
    case = Case(each, each.example)
    expected = gone_through(case, "float64", lambda x: x, 1)
    for key, value in vars(calls).items():
        if isinstance(value, np.ndarray):
            monkeypatch.setattr(calls, key, put(value))
    found = gone_through(case, "float64", put, 1)
    assert (COPIES["get"] > 0) is (each.name in WAITS)
    if each.name.startswith(("np.linalg.eigh", "np.linalg.svd")):  # up to signs
        found[0], expected[0] = np.absolute(found[0]), np.absolute(expected[0])
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, Device), type(ours)
        assert_close(plain(ours).get(), plain(theirs), 1e-14, "there")


@pytest.mark.parametrize("each", [each for each in EVERY if each.name in REFUSED], ids=name_of)
def test_refused(each):
    with pytest.raises(TypeError):
        gone_through(Case(each, each.example), "float64", put, 1)
