"""Which calls of a compiled function share a program: those whose arguments are alike, not those that are equal."""

import dataclasses
import enum
import functools
import zlib
from fractions import Fraction

import numpy as np
import pytest

import autoflow as af
from autoflow.base import pytree
from autoflow.errors import CompileError

X = np.array([1.0, 2.0])


class Rate:
    """Objects that are all equal."""

    def __init__(self, rate):
        self.rate = rate

    def __eq__(self, other):
        return isinstance(other, Rate)

    def __hash__(self):
        return 1

    def __repr__(self):
        return "Rate()"


class Text(str):
    """Text that says more than text."""

    __slots__ = ("rate",)

    def __new__(cls, rate):
        text = super().__new__(cls, "a")
        text.rate = rate
        return text


class Number(int):
    """An integer with a unit."""

    def __new__(cls, rate):
        number = super().__new__(cls, 3)
        number.rate = rate
        return number


class Level(enum.IntEnum):
    ONE = 1


def scale(option):
    """A number that says which of two options this is, even if they are equal."""
    return float(zlib.crc32(repr(described(option)).encode()))


def described(option):
    inside = [*option.items()] if isinstance(option, dict) else bytes(option) if isinstance(option, np.void) else option
    if isinstance(inside, (tuple, list, frozenset)):
        inside = [*map(described, inside)]
    return (
        type(option).__name__,
        getattr(option, "rate", None),
        described(option.stop) if isinstance(option, slice) else inside,
    )


ROWS = np.zeros(2, [("a", float, 2000)])  # of which the text is the same
ROWS["a"][1, 1000] = 3.0
PAIRS = [
    (1, True), (2, 2.0), (0.0, -0.0), (1, Level.ONE), (2.0, 2 + 0j), (2, Fraction(2)), (Rate(1.0), Rate(2.0)),
    (Text(1.0), Text(2.0)), ("a", Text(3.0)), (Number(1.0), Number(2.0)), (3, Number(4.0)), (range(1), range(2)),
    (slice(1), slice(True)), tuple(ROWS), (0j, -0j), (b"a", "a"), (Rate(1.0).__hash__, Rate(1.0).__repr__().__len__),
]  # fmt: skip
PADDED = np.full(9, np.longdouble(1) / 3)
if np.finfo(np.longdouble).nmant == 63:  # then the last six of 16 bytes mean nothing
    PADDED.view(np.uint8).reshape(9, -1)[:, 10:] = np.arange(9)[:, None]
WRAPPED = {
    "alone": lambda v: v, "in a tuple": lambda v: (v, "text"), "in a list of lists": lambda v: [[v], 2],
    "in a dict": lambda v: {"option": v}, "as a key": lambda v: {v: 1}, "as a key in a tuple": lambda v: {(v, 2): 1},
    "in a frozenset": lambda v: frozenset({v}), "in a frozenset of frozensets": lambda v: frozenset({frozenset({v})}),
}  # fmt: skip


def is_hashable(x):
    try:
        hash(x)
    except TypeError:  # slices, before Python 3.12
        return False
    return True


@pytest.mark.thorough
@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_equal_is_not_alike(first, second, wrap):
    if not (is_hashable(first) and is_hashable(second)):
        wrap = WRAPPED["in a list of lists"]

    def f(x, option):
        return x * scale(option)

    for pair in ((first, second), (second, first)):
        compiled = af.compile(f)
        for _ in range(2):
            for option in pair:
                given = wrap(option)
                assert compiled(X, given).tolist() == f(X, given).tolist()


def test_what_is_alike_shares_a_program():
    rate = Rate(2.0)
    compiled = af.compile(lambda x, option: x * 2)
    for make in (
        lambda: 2.5, lambda: (1, "a", None), lambda: {"a": frozenset({1, 2})}, lambda: rate, lambda: rate.__hash__,
        lambda: slice(1, None), lambda: {(1, "b"): np.str_("c")}, lambda: Level.ONE, lambda: np.tanh,
        iter([{x: 1} for x in PADDED]).__next__,
    ):  # fmt: skip
        compiled.entries.clear()
        compiled.latest = None
        for _ in range(3):
            compiled(X, make())
        assert len(compiled.entries) == 1


def test_keys_of_other_types_after_a_quick_call():
    """The quick way looks at keys, too."""

    def f(option):
        (key,) = option
        return option[key] * scale(key)

    compiled = af.compile(f)
    for key in ("a", "a", Text(9.0), 1, 1, True, 1.0, "a"):
        assert compiled({key: X}).tolist() == f({key: X}).tolist()


def test_the_smallest_type_of_a_number_depends_on_its_value():
    def f(x):
        return x.astype(np.min_scalar_type(x))

    compiled = af.compile(f)
    with pytest.raises(CompileError, match=r"min_scalar_type of a number needs the value"):
        compiled(np.array(3))
    compiled = af.compile(f, fallback=True)
    for x in (3, 1000):
        np.testing.assert_array_equal(compiled(np.array(x)), f(np.array(x)), strict=True)
    assert af.compile(f)(np.arange(3)).dtype == np.int64


# -- containers among the arguments that the function changes

CONTAINERS = {
    "a dict": lambda: {"w": np.ones(3), "n": 2.0}, "a list": lambda: [np.ones(3), 2.0],
    "a dict in a list": lambda: [{"w": np.ones(3), "n": 2.0}], "a list in a dict": lambda: {"k": [np.ones(3), 2.0]},
    "a list in a tuple": lambda: ([np.ones(3), 2.0],),
}  # fmt: skip
CHANGES = {
    "an array replaced": lambda c, x: put(c, 0, x * 2), "a number replaced": lambda c, x: put(c, 1, 5.0),
    "one more": lambda c, x: put(c, "new", x), "one number more": lambda c, x: put(c, "new", 1.0),
    "one fewer": lambda c, x: c.pop("n" if isinstance(c, dict) else 1), "none left": lambda c, x: c.clear(),
    "changed back": lambda c, x: (put(c, "new", x), c.pop("new" if isinstance(c, dict) else -1)),
}  # fmt: skip


def put(c, place, new):
    """Put ``new`` into a dict or list: at entry 0 or 1, or as one more."""
    if isinstance(c, dict):
        c[{0: "w", 1: "n"}.get(place, place)] = new
    elif place == "new":
        c.append(new)
    else:
        c[place] = new


def innermost(c):
    """The dict or list that holds the arrays."""
    inside = next(iter(c.values())) if isinstance(c, dict) else c[0]
    return innermost(inside) if isinstance(inside, (dict, list)) else c


ONE = dataclasses.make_dataclass("ONE", ["w"])


@pytest.mark.parametrize("base", [list, dict, tuple, ONE])
def test_a_new_attribute_of_a_container_is_made_or_refused(base):
    class Kind(base):
        doubled = functools.cached_property(lambda self: [v * 2 for v in pytree.tree_leaves(self)])

    def f(c):
        c.note = 3
        return c.doubled

    def given():
        return Kind({"w": X} if base is dict else X if base is ONE else [X])

    c = given()
    np.testing.assert_array_equal(af.compile(f, fallback=True)(c), [X * 2])
    assert c.note == 3
    with pytest.raises(CompileError, match="among its arguments"):
        af.compile(f)(given())
    for _ in range(2):  # what a class keeps is no change
        np.testing.assert_array_equal(af.compile(lambda c: c.doubled)(given()), [X * 2])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_change_of_a_container_is_made_or_refused(container, change):
    def f(x, c):
        CHANGES[change](innermost(c), x)
        return x * 2

    def called(g):
        c = CONTAINERS[container]()
        return repr((g(np.arange(3.0), **{"c": c}) if container == "a list" else g(np.arange(3.0), c), c))

    compiled, eager = af.compile(f, fallback=True), called(f)
    assert [called(compiled) for _ in range(3)] == [eager] * 3
    if change == "changed back":
        assert called(af.compile(f)) == eager
    else:
        with pytest.raises(CompileError, match="among its arguments"):
            called(af.compile(f))
