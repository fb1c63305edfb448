"""Every rule of the simplifier gives the bits of eager code: for zeros of both signs, infinities, NaN, the smallest and
the largest numbers, in all formats."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import autoflow as af
from autoflow.compiler import program

CONSTANTS = (0, 1, -1, -3, 0.0, -0.0, 0.5, np.inf)
LEAVES = {
    "x": lambda x, y, c: x, "-x": lambda x, y, c: -x, "-y": lambda x, y, c: -y, "c": lambda x, y, c: c,
    "c x": lambda x, y, c: c * x, "-(c x)": lambda x, y, c: -(c * x), "x y": lambda x, y, c: x * y,
    "-(x y)": lambda x, y, c: -(x * y),
}  # fmt: skip
RULES = {
    np.multiply: lambda a, b: a * b, np.divide: lambda a, b: a / b, np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b, np.negative: lambda a, b: -a, np.square: lambda a, b: np.square(a),
    np.positive: lambda a, b: +a,
}  # fmt: skip
REDUCED = (np.add, np.multiply, np.maximum, np.minimum)


def special(dtype):
    """Pairs of all special values with each other."""
    info = np.finfo(dtype)
    one = [0.0, 1.0, 3.0, float(info.max), float(info.tiny), float(info.smallest_subnormal), np.inf, np.nan]
    values = np.array([sign * v for v in one for sign in (1, -1)], dtype)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def check_bits(ours, expected, what):
    """All bits but those of NaN, whose sign means nothing."""
    assert ours.dtype == expected.dtype, what
    nan = np.isnan(expected)
    np.testing.assert_array_equal(nan, np.isnan(ours), what)
    np.testing.assert_array_equal(np.where(nan, 0, ours), np.where(nan, 0, expected), what)
    np.testing.assert_array_equal(np.signbit(ours)[~nan], np.signbit(expected)[~nan], what)


def test_all_rules_are_tried():
    assert RULES.keys() == program.RULES.keys()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rules_keep_all_bits(rule, dtype):
    x, y = special(dtype)
    outer = RULES[rule]
    pairs = [(a, b) for a, b in itertools.product(LEAVES, LEAVES if rule.nin == 2 else ["x"]) if {a, b} != {"c"}]
    pairs = [pair for pair in pairs if rule.nin == 2 or pair[0] != "c"]

    def f(x, y, c):
        return [outer(LEAVES[a](x, y, c), LEAVES[b](x, y, c)) for a, b in pairs]

    with np.errstate(all="ignore"):
        for c in CONSTANTS:
            ours, expected = af.compile(f, verify=False)(x, y, c), f(x, y, c)
            for k, (a, b) in enumerate(zip(ours, expected, strict=True)):
                check_bits(a, b, f"{pairs[k]} with {c}")


CHOICES = {  # with slopes of 0, which an infinite gradient may meet
    "maximum": np.maximum, "fmin": np.fmin, "hypot": np.hypot, "angle": np.arctan2, "abs": lambda x, y: np.abs(x) * y,
    "clip": lambda x, y: np.clip(x, -1.0, 1.0) + y, "root": lambda x, y: np.sqrt(np.maximum(x, y)),
    "square": lambda x, y: np.real(np.square(x + 1j * y)), "power": lambda x, y: np.abs(x) ** y,
    "max": lambda x, y: np.stack([x, y]).max(axis=0),
    "norm": lambda x, y: np.linalg.norm(np.stack([x, y]), axis=0), "where": lambda x, y: np.where(x > y, np.log(x), y),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_of_zero_have_the_bits_of_eager_code(name, engine):
    """Whatever comes in, and whether or not its caller ignores it. (Of NaN that comes in nothing is promised, nor
    which of 0 and -0 is a maximum: NumPy's own loops do not agree.)"""
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    values = [0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, -0.0][: None if engine == "numpy" else -1]
    x, y, g = [v.ravel() for v in np.meshgrid(values, values, values)]
    back = lambda x, y, g: af.vjp(CHOICES[name], x, y)[1](g)  # noqa: E731
    forth = lambda x, y, g: af.jvp(CHOICES[name], (x, y), (g, g * 0.0))  # noqa: E731
    z = np.where(np.isnan(g), 0.5, g)
    for f in (back, forth):
        compiled = af.compile(f, engine=engine, verify=False)
        for invalid in ("ignore", "warn"):
            with np.errstate(all="ignore", invalid=invalid):
                for ours, expected in zip(compiled(x, y, z), f(x, y, z), strict=True):
                    np.testing.assert_allclose(ours, expected, rtol=1e-13 if engine == "llvm" else 0)
                    if engine == "numpy":
                        check_bits(ours, expected, f"{name} {invalid}")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("engine", ["numpy", "llvm"])
def test_reductions_of_one_number_are_made(dtype, engine):
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    x, _ = special(dtype)
    column = x[:, None]
    for axes, shape in ((1, column), ((0, 2), column.T[:, :, None]), (0, x[None])):

        def f(x, axes=axes):
            return [ufunc.reduce(-x, axis=axes) * 1.0 for ufunc in REDUCED]

        with np.errstate(all="ignore"):
            for ufunc, ours, expected in zip(REDUCED, af.compile(f, engine=engine)(shape), f(shape), strict=True):
                check_bits(ours, expected, f"{ufunc} {axes}")
    with np.errstate(all="ignore"):
        compiled = af.compile(lambda x: (np.sum(x), np.max(x), x.sum() + x), engine=engine, verify=False)
        for v in x:
            check_bits(
                np.array(compiled(np.array(v))), np.array([np.sum(v), v, np.sum(np.array(v)) + v], dtype), f"{v}"
            )
