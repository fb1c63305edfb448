"""Every row of the table on arrays of another library than NumPy (see standin.py): NumPy's values to the bit, and its
gradients. And everything stays there: what a rule makes itself is made there, nothing is brought over to look at it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import standin
from standin import COPIES, Device, put
from support import all_rows, assert_close, plain, same_bits
from test_rules import Case, go_back

import autoflow as af
from autoflow import backends, nn, rules  # noqa: F401 - networks have rows, too

Array = Any
# Rows that decide by the numbers how to go on: is this matrix singular? They wait for the device, as the checks of a
# decomposition for errors do anyway.
LOOKS = {"det", "lstsq", "eigvals", "erf"}  # erf: a library has its own, which this one has not said


@pytest.fixture(scope="module", autouse=True)
def family():
    yield backends.register(Device, from_numpy=put, to_numpy=Device.get)
    del backends.FAMILIES[Device]


def dispatches(row: Any) -> bool:
    """Is it written with NumPy's functions? SciPy computes for itself, on the host."""
    if isinstance(row.function, np.ufunc):
        return getattr(np, row.function.__name__, None) is row.function
    package, _, module = row.function.__module__.rpartition(".")
    if package == "autoflow.rules":
        return module in rules.__all__
    return row.function.__module__.startswith(("numpy", "autoflow.nn"))


CASES = [
    pytest.param(Case(row, example), id=f"{row.name}-{k}")
    for row in all_rows(scipy=False)
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
        assert case.row.name in LOOKS or not COPIES["get"], f"{COPIES['get']} arrays were copied to the host"
    return [z, *[leaf.grad for leaf in leaves.values()]]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_row_on_another_library(case):
    for dtypes, order in (("float64", 1), ("float64", 2), ("float32", 1)):
        expected = gone_through(case, dtypes, lambda x: x, order)
        found = gone_through(case, dtypes, standin.put, order)
        for ours, theirs in zip(found, expected, strict=True):
            if theirs is None:
                assert ours is None or not np.any(plain(ours).get())
                continue
            assert isinstance(ours, Device), type(ours)
            assert_close(plain(ours).get(), plain(theirs), 1e-14 if dtypes == "float64" else 1e-6, "gradient")
        assert same_bits(plain(found[0]).get(), plain(expected[0]))
