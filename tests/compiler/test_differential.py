"""A compiled function against the function, in generated programs: a call, what is done around it, and its arguments.

What is compared: the class of an exception, or of each array the bits (all NaNs are one), dtype, shape and order in
memory. A CompileError is right, too, but not where nothing is asked that a program cannot know; with ``fallback=True``
there is none. By day most calls meet most forms, each pair with one kind of arguments; by night all do, with 20 each.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from compiled import between_bars
from support import NIGHTLY

import autoflow as af
from autoflow.base import pytree
from autoflow.compiler.llvm import engine as llvm
from autoflow.errors import CompileError

# Calls of x, which is an array or one of NumPy's numbers. Each takes bad values, too: it raises, warns or gives NaN.
CALLS = between_bars(
    """
    x * 2 | x + x | x - -x | -x - x | -(-x) | -(x * 0) | x * 0.0 - 0.0 | x * -1 | x / -1 | -x / 2 | -x / x | 0 * x
    (-x) * (-x) | -(3 * x) | +x | x * 1 | 1 * x | np.positive(x) | np.square(-x) | np.arctan2(-(x * 0), -1.0)
    np.copysign(3.0, np.nan_to_num(-(x * 0))) | 1 / (x * 0) | 1 / -(x * 0) | 1 / x | x / x | np.log(x) | np.sqrt(x)
    np.exp(x * 100) | np.reciprocal(x) | x**2 | x**-1 | x**x | 2**x | np.power(x, 3) | np.power(x, x) | x // 2 | x // x
    x % 3 | divmod(x, 2)[1] | x > 0 | x == x | (x <= 3) * x | ~x | x & 1 | x << 1 | abs(x) | np.sign(x)
    np.maximum(x, 0) | np.fmax(x, 0) | np.nan_to_num(x) | np.isnan(x) | np.clip(x, 0, 1) | np.round(x) | np.real(x)
    x.imag | x.conj() | np.logical_xor(x, 1e-8) | np.sum(x) | np.max(x, axis=(0,)) | x.sum(axis=0)
    x.sum(axis=-1, keepdims=True) | np.sum(x[..., :1], axis=-1) | np.sum(-(x[..., :1] * 0), axis=-1) | np.prod(x)
    np.max(x) | np.max(x[..., :1], axis=-1) | x.min(axis=0) | np.argmax(x) | np.any(x) | x.mean() | np.mean(x, axis=0)
    np.std(x) | np.var(x, axis=-1) | np.median(x) | np.ptp(x) | np.quantile(x, 0.3) | np.quantile([1.0, 2.0, 4.0], x)
    np.average(x, weights=x) | np.cumsum(x) | np.sort(x, axis=None) | np.argsort(x) | np.diff(x) | np.linalg.cholesky(x)
    np.linalg.inv(x) | np.linalg.solve(x, x) | np.linalg.eigvalsh(x) | np.linalg.det(x) | np.linalg.norm(x)
    np.linalg.norm(x, 2) | np.linalg.matrix_power(x, -1) | np.linalg.svd(x)[1] | np.linalg.pinv(x)
    np.linalg.slogdet(x)[1] | x @ x | np.dot(x, x) | np.outer(x, x) | np.inner(x, x) | np.einsum("...i->...", x)
    np.trace(x) | np.diagonal(x) | np.take(x, [0]) | x.take(x.astype(int)) | x[x.astype(int)]
    x.ravel()[x.astype(int).ravel()] | np.choose(x.astype(int), [x, x]) | np.bincount(x.astype(int).ravel())
    np.digitize(x, x.ravel()) | np.searchsorted([0.0, 1.0], x) | np.interp(x, [0.0, 1.0], [2.0, 3.0]) | np.repeat(x, 2)
    np.repeat(x.ravel(), x.astype(int).ravel()) | np.unique(x) | np.nonzero(x)[0] | np.histogram(x)[0] | x[x > 0]
    x[x > 1].sum() | np.compress([True, False], x, axis=0) | np.where(x > 0, x, 0) | np.where(x > 0)[0]
    np.full_like(x, 2) | np.zeros_like(x) | np.ones_like(x) + x | np.zeros_like(x.sum()) | np.full_like(x.sum(), 2)
    np.copy(x.sum()) | x.sum()[...] | x.sum().reshape(1) | x.copy() | np.copy(x) | x.T | x.T.copy() | x.T.ravel("K")
    x.ravel("A") | x.flatten("F") | x.reshape(-1) | x[::-1] | x[..., None] | x[0] | x[-1:] | np.squeeze(x)
    np.transpose(x) | np.broadcast_to(x, (2,) + x.shape) | np.atleast_1d(x) | np.concatenate([x, x]) | np.stack([x, -x])
    np.tril(x) | np.pad(x, 1) | np.roll(x, 1) | np.flip(x) | x.astype(np.float32) | x.astype(np.int8)
    x.astype(x.dtype, copy=False) | x.astype(complex) | x.astype(x.dtype.newbyteorder()) | x.view(np.uint8)
    np.reshape(x, (7,)) | x[9] | x + np.ones(7) | x.sum(axis=5)
"""
)

# What is done around a call, and whether a program must be able to do it.
FORMS = {
    "alone": ("return CALL", True), "silent": ("with np.errstate(all='ignore'):\n  return CALL", True),
    "unused": ("CALL\n return x * 2", True), "twice": ("return CALL, CALL", True),
    "caught": ("try:\n  return CALL\n except Exception:\n  return x * 5", True),
    "caught by anything": ("try:\n  CALL\n except:\n  return x * 5\n return x * 3", True),
    "finally": ("try:\n  return CALL\n finally:\n  return x * 5", True),
    "caught with another": ("try:\n  return CALL\n except (ValueError, IndexError):\n  return -x", True),
    "suppressed": ("with contextlib.suppress(Exception):\n  return CALL\n return x * 5", True),
    "errors raised": (
        "with np.errstate(all='raise'):\n  try:\n   return CALL\n  except FloatingPointError:\n   return x * 5", False
    ),
    "seterr": ("old = np.seterr(all='raise')\n try:\n  return CALL\n finally:\n  np.seterr(**old)", False),
    "warnings counted": (
        "with warnings.catch_warnings(record=True) as w:\n  warnings.simplefilter('always')\n  CALL\n"
        " return x * len(w)", False,
    ),
    "warnings raised": (
        "with warnings.catch_warnings():\n  warnings.simplefilter('error')\n  try:\n   return CALL\n"
        "  except RuntimeWarning:\n   return x * 5", False,
    ),
    "text": ("return x * len(str(CALL))", False), "format": ("return x * len(f'{CALL}')", False),
    "sign of a text": ("return x * (2 if '-' in repr([CALL]) else 3)", False),
    "truth": ("try:\n  return x * 2 if CALL else x * 3\n except Exception:\n  return x * 5", False),
    "float": ("try:\n  return x * float(CALL)\n except:\n  return x * 5", False),
    "class": ("return x * (2 if isinstance(CALL, np.ndarray) else 3)", True),
    "number": ("return x * (2 if isinstance(CALL, np.generic) else 3)", True),
    "type": ("return x * (2 if type(CALL) is np.ndarray else 3)", False),
    "identity": ("z = CALL\n return x * (2 if z is x else 3)", True),
    "contiguous": ("return x * (2 if CALL.flags.c_contiguous else 3)", False),
    "strides": ("return x * len(CALL.strides)", False), "base": ("return x * (2 if CALL.base is None else 3)", False),
    "memory": ("return x * (2 if np.shares_memory(CALL, x) else 3)", False),
    "+=": ("z = CALL\n w = z\n z += 1\n return z, w", False),
    "+= in a function": ("z = CALL\n add(z)\n return z * 1", False),
    "[...] =": ("z = CALL\n z[...] = 3\n return z", False),
    "written copy": ("x = x.copy()\n z = CALL\n x[:1] = 7\n return z, x", False),
    "written product": ("x = x * 1\n z = CALL\n x += 1\n return z, x", False),
    "written view": ("z = CALL\n v = z.reshape(-1)\n v[:1] = 7\n return z", False),
}  # fmt: skip

DTYPES = ("f8", "f4", "f2", ">f8", "c16", "i8", "u1", "?")
LAYOUTS = {
    "C": lambda x: x.copy(), "F": lambda x: np.asfortranarray(x), "gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1], "read-only": lambda x: read_only(x),
    "vector": lambda x: x[0].copy(), "one": lambda x: x[:1, :1].copy(), "0-d": lambda x: np.array(x[0, 0]),
    "number": lambda x: x[0, 0], "empty": lambda x: x[:0].copy(),
}  # fmt: skip
GOOD = np.array([[2.0, 1.0], [1.0, 3.0]])
VALUES = (GOOD, -GOOD, GOOD * 0, np.array([[-0.0, np.nan], [np.inf, -np.inf]]), GOOD * 200)
ORDERS = ((0, 0, 1, 2, 3, 4, 0), (1, 1, 0, 4, 3, 2, 1), (2, 2, 0, 3, 1, 4, 2), (3, 3, 0, 1, 4, 2, 3))
KINDS = [*itertools.product(DTYPES, LAYOUTS)]
ENGINES = ["numpy", *(["llvm"] if llvm.is_there() else [])]


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def add(z):
    z += 1


def made(call, form):
    """The function of that text."""
    scope = {"np": np, "add": add, "warnings": warnings, "contextlib": __import__("contextlib"), "__name__": __name__}
    exec(f"def f(x):\n {FORMS[form][0].replace('CALL', f'({call})')}", scope)
    return scope["f"]


def argument(dtype, layout, which):
    """A new one, with the values of that place."""
    with np.errstate(all="ignore"):
        return LAYOUTS[layout](VALUES[which].astype(dtype))


def outcome(f, x):
    """What it gives, and what becomes of its argument, as arrays; or the class of what it raises."""
    try:
        return [np.asarray(getattr(v, "value", v)) for v in [*pytree.tree_leaves(f(x)), x]]
    except Exception as error:
        return type(error)


def same(ours, expected, exact):
    """Equal in all that is compared."""
    if isinstance(ours, type) or isinstance(expected, type):
        return ours is expected
    return len(ours) == len(expected) and all(same_array(a, b, exact) for a, b in zip(ours, expected, strict=True))


def same_array(a, b, exact):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.ndim > 1 and a.size and order_of(a) != order_of(b):
        return False
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)]
    return all(same_numbers(*part, exact) for part in parts)


def same_numbers(a, b, exact):
    """Bits, signs of zeros included; for other engines to their accuracy."""
    nan = np.isnan(a)
    if not np.array_equal(nan, np.isnan(b)) or not np.array_equal(np.signbit(a)[~nan], np.signbit(b)[~nan]):
        return False
    if exact:
        return np.array_equal(a[~nan], b[~nan])
    return np.allclose(a, b, rtol={2: 1e-2, 4: 1e-5}.get(a.dtype.itemsize, 1e-12), atol=0, equal_nan=True)


def order_of(x):
    """The order of its axes in memory, of those that have one."""
    return [k for k in np.argsort([-abs(s) for s in x.strides], kind="stable") if x.shape[k] > 1]


def wrong_calls(call, form, dtype, layout, order, engine):
    """The calls, by the places of their arguments, that are neither right nor refused; and how many were refused."""
    f = made(call, form)
    compiled, falling = (af.compile(f, engine=engine, fallback=fallback) for fallback in (False, True))
    found, refused = [], 0
    for k, which in enumerate(order):
        expected, ours, fallen = (outcome(g, argument(dtype, layout, which)) for g in (f, compiled, falling))
        refused += ours is CompileError
        for result in (ours, fallen):
            if not same(result, expected, engine == "numpy") and (result is fallen or result is not CompileError):
                found.append((k, ["ours", "fallback"][result is fallen], expected, result))
    return found, refused


def cases(first, step):
    """Calls and forms, each with arguments of one kind, in turn."""
    pairs = [*itertools.product(CALLS, FORMS)]
    for n in range(first, len(pairs), step):
        dtype, layout = KINDS[(7 * n + n // len(FORMS)) % len(KINDS)]
        if (pairs[n][1], dtype, layout) != ("identity", "?", "number"):  # there are two such objects in all
            yield *pairs[n], dtype, layout, ORDERS[n % len(ORDERS)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("first", range(4))
def test_generated_programs(first, engine, record_property):
    count = refused = 0
    wrong = []
    by_night, by_day = {"numpy": (4, 29), "llvm": (7, 97)}[engine]  # every pair; else prime to the number of forms
    step = by_night if NIGHTLY else by_day
    with np.errstate(all="ignore"):
        for call, form, dtype, layout, order in cases(first, step):
            found, refusals = wrong_calls(call, form, dtype, layout, order, engine)
            wrong += [(call, form, dtype, layout, *each) for each in found]
            count, refused = count + len(order), refused + refusals
    print(f"{count} calls of generated programs, {refused} of them refused")
    record_property("cases", count)
    assert not wrong, f"{len(wrong)} wrong, as {wrong[:5]}"
    assert refused < 0.7 * count
