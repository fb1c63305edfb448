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
import types

import numpy as np
import pytest
from by_loop import by_loop, difference, expressions, outcome
from rare_programs import BODIES, EXPRESSIONS
from support import NIGHTLY

import autoflow as af
from autoflow.errors import BatchError, CompileError

PROGRAMS = [*[f"return {text}" for text in expressions(EXPRESSIONS)], *BODIES]
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


MODULES = af, np, collections, contextlib, dataclasses, functools, itertools, math, operator, random, types
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


def calls(f, *args):
    """Three calls, with copies of the first two examples; and what is left of the arguments."""
    found = []
    for k in (0, 0, 1):
        given = [a[k].copy() for a in args]
        found.append((f(*given), given))
    return found


WAYS = {
    "vmap": (by_loop, lambda f, *args: af.vmap(f, loop="allow")(*args), 1e-8),
    "vmap again": (
        lambda f, *args: [by_loop(f, *args), by_loop(f, *args)],
        lambda f, *args: (lambda g: [g(*args), g(*args)])(af.vmap(f, loop="allow")), 1e-8,
    ),
    "compile": (calls, lambda f, *args: calls(af.compile(f), *args), 0),
    "fallback": (calls, lambda f, *args: calls(af.compile(f, fallback=True), *args), 0),
    "vmap of compile": (by_loop, lambda f, *args: af.vmap(af.compile(f, fallback=True), loop="allow")(*args), 1e-8),
}  # fmt: skip


def check(body, kind, way):
    """Did af.compile refuse the program? AssertionError if it does anything else than its definition."""
    definition, ours, tolerance = WAYS[way]
    args = KINDS[kind](X), KINDS[kind](M), K
    one = Run(body)
    theirs = outcome(definition, one.f, *args)
    left, other = one.outside(), Run(body)
    found = outcome(ours, other.f, *args)
    if isinstance(found, CompileError) and not isinstance(theirs, CompileError):
        assert way == "compile"
        return True
    if isinstance(found, BatchError) and isinstance(theirs, BatchError):
        return False
    wrong = difference(found, theirs, tolerance, words=True)
    if not wrong and not isinstance(theirs, Exception) and left != other.outside():
        wrong = "what is outside"
    assert not wrong, f"{way} of {body!r}, {kind}: {wrong}"
    return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_rare_programs(kind, way):
    start = [*itertools.product(KINDS, WAYS)].index((kind, way))
    tried = PROGRAMS if NIGHTLY else PROGRAMS[start % DAY :: DAY * 4]
    refused = [check(body, kind, way) for body in tried]
    assert sum(refused) < 0.5 * len(refused) or kind in ("dates", "spans", "records", "texts")
