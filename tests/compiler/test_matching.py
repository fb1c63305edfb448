"""What a compiled function returns is new at every call, or cannot be changed, or is refused."""

import array
import collections
import dataclasses
import enum
import io
import itertools
import random
import threading
import types
from fractions import Fraction

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import CompileError


class Box:
    """An object that holds something."""

    def __init__(self, x):
        self.x = x


class Listed(list):
    """A list with an attribute."""


class Number(float):
    """A number with an attribute."""


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None

    def __post_init__(self):
        if self.second == "more":
            self.third = []  # no field


class Level(enum.Enum):
    LOW = 1


Point = collections.namedtuple("Point", "x y")


def with_attribute(x):
    x.more = []
    return x


X = np.array([1.0, 2.0])
NEW = {
    "array": lambda x: x * 2, "argument": lambda x: x, "view": lambda x: x[:1],
    "many views": lambda x: (x, x[None].T, np.broadcast_to(x[0], (3, 2)), np.ones_like(x)),
    "one value twice": lambda x: (x + 1, x + 1, (x + 1).reshape(2, 1)), "array from outside": lambda x: X,
    "array made inside": lambda x: np.arange(3.0),
    "Python's numbers": lambda x: (np.array_equal(x, X), np.allclose(x, 0.0), {"a": np.array_equiv(x, X)}),
    "a condition of None": lambda x: [np.add(np.sum(x, where=None), x), np.add(x.prod(where=None), x)],
    "text in an array": lambda x: np.array(["a"]), "list": lambda x: [1, [x * 2]], "tuple": lambda x: ([1], (x, [])),
    "dict": lambda x: {"a": [1], 2: x}, "namedtuple": lambda x: Point(x, [1]), "dataclass": lambda x: Pair(x * 2, [1]),
    "list of its own class": lambda x: Listed([x]), "OrderedDict": lambda x: collections.OrderedDict(a=x),
    "defaultdict": lambda x: collections.defaultdict(list, a=[x]), "Counter": lambda x: collections.Counter("aab"),
}  # fmt: skip
UNCHANGEABLE = {
    "numbers": lambda x: (1, 2.5, True, 3j, None, ..., np.float64(3.0)), "text": lambda x: ["a", b"b"],
    "frozenset": lambda x: frozenset({1, ("a", 2)}), "range and slice": lambda x: (range(3), slice(1, None)),
    "enum": lambda x: Level.LOW, "dtype": lambda x: x.dtype,
    "function": lambda x: (np.tanh, with_attribute, len, Box, np),
}  # fmt: skip
REFUSED = {
    "set": lambda x: (x, {1, 2}), "frozenset of objects": lambda x: frozenset({Box(1)}),
    "bytearray": lambda x: bytearray(b"a"), "array.array": lambda x: array.array("d", [1.0]),
    "deque": lambda x: collections.deque([1]), "object": lambda x: (x, [Box([])]),
    "namespace": lambda x: types.SimpleNamespace(a=1), "number with attributes": lambda x: Number(2.0),
    "list with an attribute": lambda x: with_attribute(Listed([x])),
    "dataclass with an attribute": lambda x: Pair(x, "more"), "object as a key": lambda x: {Box(1): x},
    "memoryview": lambda x: memoryview(b"a"), "iterator": lambda x: iter([1]),
    "generator": lambda x: (i for i in range(3)), "local function": lambda x: lambda y: y,
    "local class": lambda x: type("Local", (), {"__qualname__": "f.<locals>.Local"}),
    "Python's method": lambda x: Box(1).__init__, "bound method": lambda x: [].append,
    "objects in an array": lambda x: np.array([[1], None], dtype=object),
    "masked array": lambda x: np.ma.masked_less(np.arange(3.0), 1), "matrix": lambda x: np.eye(2).view(np.matrix),
    "file": lambda x: io.StringIO(), "lock": lambda x: threading.Lock(), "random generator": lambda x: random.Random(0),
    "fraction": lambda x: Fraction(1, 2),
}  # fmt: skip


def parts(x):
    """A result and all that is in it."""
    yield x
    if isinstance(x, dict):
        for value in x.values():
            yield from parts(value)
    elif isinstance(x, (list, tuple)):
        for value in x:
            yield from parts(value)
    elif dataclasses.is_dataclass(x):
        yield from parts([x.first, x.second])


def spoil(x):
    """Change whatever can be changed."""
    for part in [*parts(x)]:
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            part[...] = 99.0
        elif isinstance(part, list):
            part.append("spoiled")
        elif isinstance(part, dict):
            part["spoiled"] = 1
        elif isinstance(part, Pair):
            part.first = "spoiled"


@pytest.mark.parametrize("f", NEW.values(), ids=NEW)
def test_results_that_can_be_changed_are_new(f):
    compiled = af.compile(f)
    for _ in range(3):
        x = np.array([1.0, 2.0])
        result = compiled(x)
        expected = f(x)
        assert repr(result) == repr(expected)
        assert type(result) is type(expected)
        arrays = [X, x, *[part for part in parts(result) if isinstance(part, np.ndarray)]]
        assert not any([np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2)])
        assert all([a.flags.writeable for a in arrays])
        before = [part for part in parts(result) if isinstance(part, (list, dict, np.ndarray, Pair))]
        spoil(result)
        again = [part for part in parts(compiled(x)) if isinstance(part, (list, dict, np.ndarray, Pair))]
        assert not {id(part) for part in before} & {id(part) for part in again}
    assert X.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("f", UNCHANGEABLE.values(), ids=UNCHANGEABLE)
def test_results_that_nobody_changes_are_returned(f):
    compiled = af.compile(f)
    for _ in range(2):
        assert compiled(X) == f(X)


@pytest.mark.parametrize("f", REFUSED.values(), ids=REFUSED)
def test_other_results_are_refused(f):
    with pytest.raises(CompileError, match=r"a compiled function returns an? .*fallback=True"):
        af.compile(f)(X)
    compiled = af.compile(f, fallback=True)
    first, second = compiled(X), compiled(X)
    assert type(first) is type(second) is type(f(X))
    assert first is not second


def test_an_argument_that_is_returned_is_the_argument():
    box, other = Box(1), Box(2)
    compiled = af.compile(lambda x, box: (x * 2, box))
    assert [compiled(X, b)[1] for b in (box, other, box)] == [box, other, box]


OBJECTS = ["a.sum()", "np.add.reduce(a)", "np.multiply.reduce(a, 0)", "np.max(a)", "a @ a", "a.cumsum()[0]", "a[0] * 2"]


@pytest.mark.parametrize("text", OBJECTS)
def test_objects_of_an_array_of_objects_are_no_numbers(text):
    """``a.sum()`` is a Python number there, and no array: a program cannot give it, fallback=True does."""
    f = eval(f"lambda x: (lambda a: {text})(x.astype(object))", {"np": np})
    with pytest.raises(CompileError):
        af.compile(f)(X)
    compiled = af.compile(f, fallback=True)
    assert [type(compiled(x)) for x in (X, X, X + 1)] == [type(f(X))] * 3


@pytest.mark.parametrize("text", [
    "np.ones_like(x, object) * 2", "np.full_like(x, 2, object)", "np.zeros_like(x, object) + x", "x.astype(object)",
    "np.empty_like(x, object)", "x[0].astype(object)", "np.sum(x, dtype=object)", "np.prod(x, dtype=object)",
    "x.sum(dtype=object)", "np.add.reduce(x, dtype=object)", "np.einsum('i->', x, dtype=object)",
    "np.trace(x[:, None], dtype=object)", "np.cumsum(x, dtype=object)", "(x * np.array([1, 2.5], 'O')).astype(float)",
    "np.frompyfunc(lambda v: v, 1, 1)(x[0] > 0)",
])  # fmt: skip
def test_objects_that_numbers_become_are_objects_or_refused(text):
    f = eval(f"lambda x: {text}", {"np": np})
    compiled, x = af.compile(f, verify=False), np.array([1.0, 2.0])
    for _ in range(2):
        try:
            z = compiled(x)
        except CompileError:
            assert "astype(float)" not in text
            return
        assert (type(z), getattr(z, "dtype", None)) == (type(f(x)), getattr(f(x), "dtype", None))
        np.testing.assert_array_equal(z, f(x))
