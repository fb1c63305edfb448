"""exp, log, tanh, sin, cos of engine="llvm": errors in units of the last place, and what NumPy gives of odd numbers."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from autoflow.compiler.llvm import engine
from autoflow.compiler.llvm.engine import Binary, module_text
from autoflow.compiler.llvm.functions import IRText, Lanes, type_of
from autoflow.compiler.llvm.words import ROWS

NAMES = ("exp", "log", "tanh", "sin", "cos")
COUNT = 1024
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.3e-308, 1e300, -1e300, 800.0, -800.0, 709.9, -745.2, 2e6)


def make(name, width):
    """The function of 1,024 numbers, at this width."""
    t, kind = IRText(), type_of("double", width)
    loop = t.begin_for(0, COUNT, width)
    p, q = [t.let(f"getelementptr double, ptr %{a}, i64 {loop.index}") for a in "xz"]
    z = ROWS[getattr(np, name)][1](Lanes(t, width), t.let(f"load {kind}, ptr {p}, align 8"))
    t.say(f"store {kind} {z}, ptr {q}, align 8")
    t.end_for(loop)
    library = Binary(module_text([f"define void @run(ptr %x, ptr %z) #0 {{\nentry:\n{t}\n  ret void\n}}"], [t]), 1)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address("run"))

    def call(x):
        z = np.empty_like(x)
        for k in range(0, len(x), COUNT):
            run(x[k:].ctypes.data, z[k:].ctypes.data)
        return library and z

    return call


def samples(name, n):
    """Numbers of the whole range, and many where it is difficult."""
    rng = np.random.default_rng(0)
    wide = np.exp2(rng.uniform(-1074, 1023, n))
    if name == "log":
        tiny = 5e-324 * rng.integers(1, 2**40, n)
        return np.concatenate([wide, rng.uniform(0.5, 2, n), rng.uniform(0.99, 1.01, n), tiny])
    wide *= rng.choice([-1, 1], n)
    if name == "exp":
        return np.concatenate([rng.uniform(-745, 709.7, n), rng.uniform(-1, 1, n), rng.uniform(-745, -707, n)])
    if name == "tanh":
        return np.concatenate([rng.uniform(-22, 22, n), rng.uniform(-1, 1, n), rng.uniform(-0.01, 0.01, n), wide])
    near = rng.integers(-600_000, 600_000, n) * (np.pi / 2)
    return np.concatenate([rng.uniform(-10, 10, n), rng.uniform(-(2**20), 2**20, n), near, wide])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="this NumPy does not have it")
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_below_two_units_of_the_last_place(name):
    """Against the same function in longdouble, which has eleven bits more."""
    x = samples(name, 16 * COUNT)
    exact = getattr(np, name)(x.astype(np.longdouble))
    z = make(name, 8)(x)
    unit = np.spacing(np.abs(exact.astype(np.float64)))
    error = np.abs(z - exact) / unit
    assert np.max(error) < {"exp": 1.0, "log": 1.0, "tanh": 2.0, "sin": 1.0, "cos": 1.0}[name]


@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_vectors_have_the_same_bits(name):
    x = samples(name, 2 * COUNT)
    np.testing.assert_array_equal(make(name, 8)(x), make(name, 1)(x))


@pytest.mark.parametrize("name", NAMES)
def test_odd_numbers(name):
    """NaN, infinities, zeros and their signs, subnormal numbers, what is far away."""
    x = np.ones(COUNT)
    x[: len(ODD)] = ODD
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    for width in (1, 8):
        z = make(name, width)(x)
        np.testing.assert_allclose(z, expected, rtol=1e-15, atol=0)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(z[known]), np.signbit(expected[known]))


def test_machines_without_fma_leave_them_to_numpy(monkeypatch):
    import autoflow as af
    from autoflow.compiler.llvm import words

    monkeypatch.setattr(words, "has_fma", lambda: False)
    compiled = af.compile(lambda x: np.exp(x * 2.0 + 1.0) * 3.0 - x, engine="llvm")
    np.testing.assert_allclose(compiled(np.ones(3)), np.exp(np.full(3, 3.0)) * 3.0 - 1.0, rtol=1e-15)
    assert "exp" in str(compiled.plan())
    assert engine.has_fma() in (True, False)
