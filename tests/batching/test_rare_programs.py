"""Rare programs (support/rare_programs.py): af.vmap is a loop, and a compiled function is the function.

Compared are the numbers (of compiled functions to the bit), dtypes, shapes, containers, order in memory, whether
results may be written into, the class and text of an exception, and what the program has changed outside. By day a part
of the programs with one kind of numbers each, by night all with all.
"""

import collections
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
import random
import re
import types
import warnings

import numpy as np
import pytest
from rare_programs import BODIES, EXPRESSIONS
from support import NIGHTLY

import autoflow as af
from autoflow.base import pytree
from autoflow.errors import BatchError, CompileError, InputError

PROGRAMS = [
    *[f"return {text}" for line in EXPRESSIONS.strip().splitlines() for text in line.strip().split("  ")],
    *BODIES,
]
RNG = np.random.default_rng(0)
X, M = np.round(RNG.normal(size=(3, 3)) * 3, 1), RNG.normal(size=(3, 3, 3)) + 3 * np.eye(3)
K = np.array([[0, 1], [2, 1], [1, 2]])
KINDS = {
    "f8": lambda a: a, "f2": lambda a: a.astype("f2"), "c16": lambda a: a + 1j * a[::-1],
    "swapped": lambda a: np.repeat(a.astype(">f4"), 2, -1)[..., ::2],
    "reversed": lambda a: np.round(a).astype("i8")[..., ::-1], "bool": lambda a: np.asfortranarray(a > 0.3),
    "u1": lambda a: np.abs(a * 90).astype("u1"), "dates": lambda a: np.round(a * 9).astype("i8").astype("M8[s]"),
    "spans": lambda a: np.round(a * 9).astype("i8").astype("m8[s]"),
    "records": lambda a: np.rec.fromarrays([a, a.astype("i4")], names="a,b").view(np.ndarray),
    "texts": lambda a: a.astype("U4"), "nothing": lambda a: a[..., :0, :0] if a.ndim > 2 else a[..., :0],
}  # fmt: skip
DAY = 8  # of so many programs one
NT = collections.namedtuple("NT", "a b")


@dataclasses.dataclass(eq=False)
class DC:
    """Two values."""

    a: object
    b: object


MODULES = (
    af, np, collections, contextlib, dataclasses, functools, itertools, math, operator, random, types,
)  # fmt: skip
NAMES = {module.__name__: module for module in MODULES} | {"np": np, "af": af, "NT": NT, "DC": DC}


class Run:
    """A program, with what is outside of it."""

    def __init__(self, body):
        class Cache:
            items, count = {}, 0

            @classmethod
            def get(cls, n):
                return cls.items.setdefault(n, n * 2.0)

        method = types.SimpleNamespace(scale=lambda a: a * 3.0)
        self.scope = {
            **NAMES, "Cache": Cache, "METH": method, "LST": [1.0], "DCT": {}, "CNTS": {}, "CNT": 0,
            "OBJ": types.SimpleNamespace(n=1), "BUF": np.array([1.0, 2.0, 3.0]), "RNG": np.random.default_rng(0),
            "ufuncs": {"sin": np.sin}, "PART": functools.partial(np.multiply, 3.0), "DEFAULT": lambda x, s=3.0: x * s,
            "f2": lambda x, a=(2.0,): x * a[0], "__name__": "__main__",
        }  # fmt: skip
        exec(f"def f(x, m, k):\n {body}", self.scope)
        self.f, self.cache = self.scope["f"], Cache
        np.random.seed(0)
        random.seed(0)

    def outside(self):
        """What is there afterwards."""
        names = "LST", "DCT", "CNTS", "OBJ", "CNT", "BUF"
        drawn = self.scope["RNG"].random(), np.random.random(), random.random()
        return repr(([self.scope[name] for name in names], self.cache.items, self.cache.count, drawn, np.geterr()))


def outcome(call):
    """The result, or the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            return error


def tree_of(z):
    """The classes of the containers."""
    return (type(z), *map(tree_of, pytree.branches(z))) if pytree.is_container(z) else None


def order(a):
    """The axes in memory; those of length 1 do not matter."""
    return sorted([k for k, n in enumerate(a.shape) if n > 1], key=lambda k: -abs(a.strides[k]))


def difference(ours, theirs, exact):
    """What differs; "" if nothing does."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        texts = [re.sub(r"_\d+", "", repr(z)) for z in (ours, theirs)]
        return "" if texts[0] == texts[1] else " for ".join(texts)
    if tree_of(ours) != tree_of(theirs):
        return "containers"
    for a, b in zip(pytree.tree_leaves(ours), pytree.tree_leaves(theirs), strict=True):
        if not isinstance(b, (np.ndarray, np.generic)):
            if type(a) is not type(b) or not (a is b or callable(a) or repr(a) == repr(b)):
                return f"{a!r} for {b!r}"
            continue
        writeable = getattr(b, "flags", None) is not None and b.flags.writeable
        a, b = np.asanyarray(a), np.asanyarray(b)
        if (type(a), a.dtype, a.shape, order(a) if a.size else 0) != (
            type(b),
            b.dtype,
            b.shape,
            order(b) if a.size else 0,
        ):
            return f"{type(a)} {a.dtype} {a.shape} {a.strides} for {type(b)} {b.dtype} {b.shape} {b.strides}"
        if writeable and not a.flags.writeable:
            return "read-only"
        if a.dtype.kind in "fc":
            small = 1e-8 if a.dtype.itemsize > 7 else 1e-3
            same = np.array_equal(a, b, equal_nan=True) if exact else np.allclose(a, b, small, small, equal_nan=True)
        else:
            same = a.tolist() == b.tolist()
        if not same:
            return f"{a.tolist()} for {b.tolist()}"
    return ""


def loop(f, args):
    """The definition of af.vmap."""
    views = [a.view() for a in args]
    for v in views:
        v.flags.writeable = False
    results = [f(*[v[k] for v in views]) for k in range(3)]
    columns = zip(*map(pytree.tree_leaves, results), strict=True)
    found = []
    for column in columns:
        numbers = hasattr(type(column[0]), "dtype") or pytree.is_number(column[0]) or type(column[0]) is bool
        if numbers and len({(np.shape(v), np.result_type(v)) for v in column}) > 1:
            raise BatchError
        if not numbers and any([v is not column[0] and v != column[0] for v in column]):
            raise InputError("a result that is not stacked (a text, or with out_axes=None) differs between examples")
        found.append(np.stack(column) if numbers else column[0])
    return pytree.tree_unflatten(results[0], found)


def calls(f, args):
    """Three calls, with copies of the first two examples; and what is left of the arguments."""
    found = []
    for k in (0, 0, 1):
        given = [a[k].copy() for a in args]
        found.append((f(*given), given))
    return found


WAYS = {
    "vmap": (loop, lambda f, args: af.vmap(f, loop="allow")(*args), False),
    "vmap again": (
        lambda f, args: [loop(f, args), loop(f, args)],
        lambda f, args: (lambda g: [g(*args), g(*args)])(af.vmap(f, loop="allow")), False,
    ),
    "compile": (calls, lambda f, args: calls(af.compile(f), args), True),
    "fallback": (calls, lambda f, args: calls(af.compile(f, fallback=True), args), True),
    "vmap of compile": (loop, lambda f, args: af.vmap(af.compile(f, fallback=True), loop="allow")(*args), False),
}  # fmt: skip


def check(body, kind, way):
    """Did af.compile refuse the program? AssertionError if it does anything else than its definition."""
    definition, ours, exact = WAYS[way]
    args = KINDS[kind](X), KINDS[kind](M), K
    one = Run(body)
    theirs = outcome(lambda: definition(one.f, args))
    left, other = one.outside(), Run(body)
    found = outcome(lambda: ours(other.f, args))
    if isinstance(found, CompileError) and not isinstance(theirs, CompileError):
        assert way == "compile"
        return True
    if isinstance(found, BatchError) and isinstance(theirs, BatchError):
        return False
    wrong = difference(found, theirs, exact)
    if not wrong and not isinstance(theirs, Exception) and left != other.outside():
        wrong = "what is outside"
    assert not wrong, f"{way} of {body!r}, {kind}: {wrong}"
    return False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_rare_programs(kind, way):
    start = [*itertools.product(KINDS, WAYS)].index((kind, way))
    tried = PROGRAMS if NIGHTLY else PROGRAMS[start % DAY :: DAY * 4]
    refused = [check(body, kind, way) for body in tried]
    assert sum(refused) < 0.5 * len(refused) or kind in ("dates", "spans", "records", "texts")
