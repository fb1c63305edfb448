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
    "x": lambda x, y, c: x,
    "-x": lambda x, y, c: -x,
    "-y": lambda x, y, c: -y,
    "c": lambda x, y, c: c,
    "c x": lambda x, y, c: c * x,
    "-(c x)": lambda x, y, c: -(c * x),
    "x y": lambda x, y, c: x * y,
    "-(x y)": lambda x, y, c: -(x * y),
}
RULES = {
    np.multiply: lambda a, b: a * b,
    np.divide: lambda a, b: a / b,
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.negative: lambda a, b: -a,
    np.square: lambda a, b: np.square(a),
    np.positive: lambda a, b: +a,
}
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


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("engine", ["numpy", "llvm"])
def test_reductions_of_one_number_are_made(dtype, engine):
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    x, _ = special(dtype)
    column = x[:, None]
    for ufunc in REDUCED:
        for axes, shape in ((1, column), ((0, 2), column.T[:, :, None]), (0, x[None])):
            with np.errstate(all="ignore"):
                ours = af.compile(lambda x, f=ufunc, a=axes: f.reduce(-x, axis=a) * 1.0, engine=engine)(shape)
                check_bits(ours, ufunc.reduce(-shape, axis=axes), f"{ufunc} {axes}")
    with np.errstate(all="ignore"):
        for v in x:
            ours = af.compile(lambda x: (np.sum(x), np.max(x), x.sum() + x), engine=engine, verify=False)(np.array(v))
            check_bits(np.array(ours), np.array([np.sum(v), v, np.sum(np.array(v)) + v], dtype), f"{v}")
