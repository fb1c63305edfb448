"""What a compiled function refuses: each message once. With ``fallback=True`` it is the function all the same.

Each program is there for the one check that gives this message: without it something would be recorded that holds for
the first call only.
"""

import collections
import functools
import itertools
import random
import re
import threading
import types
import warnings

import numpy as np
import pytest
from compiled import between_bars, functions

import autoflow as af
from autoflow import nn
from autoflow.errors import CompileError
from autoflow.rules import RULES

X = np.array([1.0, -2.0])


def loud(x):
    with np.errstate(divide="raise"):
        return 1.0 / x


def heard(x):
    with np.errstate(divide="call", call=print):
        return 1.0 / x


def in_numbers(x):
    z = x.value * 1.0
    z[0] = x[1]
    return np.sum(x) + np.sum(z)


def counting():
    n = 0.0

    def f(x):
        nonlocal n
        n += 1.0
        return x

    return f


def with_outside(make, do):
    """Makes a function that does something with an object that it finds outside."""

    def program():
        outside = make()
        return lambda x: (do(outside, x), x * 2.0)[1]

    return program


def counted(x):
    """NumPy gives a part of a larger array."""
    h = np.histogram2d(x, x, 3)[0]
    h += 1.0
    return h


@pytest.fixture(scope="module", autouse=True)
def primitives():
    """With derivatives that look at numbers. Their rows are gone afterwards: other tests go through the table."""
    global tripled, doubled, guarded
    before = set(RULES)
    tripled, doubled, guarded = [af.primitive(f) for f in (lambda x: x * 3.0, lambda x: 2.0 * x, lambda x: x * 2.0)]
    tripled.defvjp(x=lambda g, x: g if x[0] > 0 else g * 2.0)
    guarded.defvjp(x=with_handler)
    doubled.defvjp(x=lambda g: g * (2.0 if np.any(g) else 3.0))
    yield
    for function in set(RULES) - before:
        del RULES[function]


def with_handler(g, x):
    try:
        return g if x[0] > 0 else g * 2.0
    except BaseException:
        return g * 5.0


def with_slope(x):
    """What was computed before may stand where something else has been computed meanwhile."""
    g = af.grad(lambda x: np.sum(np.exp(tripled(x))))(x)
    return (np.sin(np.exp(x) * 2.0) + 1.0) * g + g


def catching_all(x):
    try:
        return x * 1.0 if x[0] > 0 else x
    except BaseException:
        return with_slope(x)


def looked_into(x):
    """A view of memory that is then written into."""
    z = x * 1.0
    pairs = np.lib.stride_tricks.sliding_window_view(z, 2)
    z[0] = 7.0
    return pairs * 1.0


def overheard(x):
    with warnings.catch_warnings(record=True) as heard:
        z = 1.0 / x
    return z * (1.0 + len(heard))


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0.0

    def __call__(self, x):
        self.n += 1.0
        return x * self.n


OBJECTS, MATRIX = np.array([1.0, 2.0], object), np.ones((1, 2)).view(np.matrix)
# The message, and what makes the function.
REFUSED = [
    ("computes under np.errstate", lambda: loud), ("computes under np.errstate", lambda: heard),
    ("x.strides asks where numbers lie in memory", lambda: lambda x: x * x.strides[0]),
    ("x.flags asks where numbers lie in memory", lambda: af.grad(lambda x: np.sum(x) * x.flags.writeable)),
    ("np.shares_memory asks where numbers lie in memory", lambda: lambda x: x * np.shares_memory(x, x[1:])),
    ("np.shares_memory asks where numbers lie in memory",
     lambda: af.grad(lambda x: np.sum(x) * np.shares_memory(x, x[1:]))),
    ("a matrix may have arithmetic of its own", lambda: lambda x: np.multiply(x, MATRIX)),
    ("changes the filters of warnings", lambda: overheard),
    ("np.min_scalar_type of a number", lambda: lambda x: x * np.min_scalar_type(x[0]).itemsize),
    ("gives an object of an array of objects", lambda: lambda x: np.dot(x, OBJECTS)),
    ("makes a matrix, whose arithmetic", lambda: lambda x: np.asarray(x.view(np.matrix)) * 2),
    ("returns more than arrays", lambda: lambda x: x * len(np.array2string(x))),
    ("writes a node into a plain array", lambda: af.grad(in_numbers)),
    ("changes a variable of the function around it", counting),
    ("changes 'n', which it found outside",
     with_outside(lambda: types.SimpleNamespace(n=0.0), lambda o, x: setattr(o, "n", 1.0))),
    ("changes 'n', which it found outside", with_outside(Slotted, lambda o, x: setattr(o, "n", 1.0))),
    ("changes 'n', which it found outside", Slotted),
    ("changes the element 0 of a list",
     with_outside(lambda: [(lambda: 1.0), (lambda: 2.0)], lambda o, x: o.reverse())),
    ("changes the elements of a list", with_outside(list, lambda o, x: o.append(1.0))),
    ("changes the elements of a list", with_outside(lambda: [1.0, 2.0], lambda o, x: o.reverse())),
    ("changes the elements of a list", with_outside(lambda: [1.0, 2.0], lambda o, x: o.pop())),
    ("changes the elements of a set", with_outside(lambda: {1.0, 2.0}, lambda o, x: o.pop())),
    ("changes the elements of a dict", with_outside(lambda: {1.0: 2.0}, lambda o, x: o.popitem())),
    *[("changes the elements of a deque", with_outside(lambda: collections.deque([1.0, 2.0]), do))
      for do in (lambda o, x: o.popleft(), lambda o, x: o.rotate())],
    ("changes the elements of a dict", with_outside(lambda: {"a": 1.0}, lambda o, x: o.update(a=2.0))),
    ("writes into a bytearray from outside", with_outside(lambda: bytearray(b"a"), lambda o, x: o.__setitem__(0, 7))),
    ("writes into an array of shape (5000,) from outside",
     with_outside(lambda: np.zeros(5000), lambda o, x: o.__setitem__(4321, 7.0))),
    ("finds an iterator outside", with_outside(lambda: itertools.islice(iter([1.0] * 9), 9), lambda o, x: next(o))),
    ("takes elements of an iterator from outside", with_outside(lambda: iter([1.0] * 9), lambda o, x: next(o))),
    ("draws random numbers", with_outside(lambda: np.random.default_rng(0), lambda o, x: o.normal())),
    ("draws random numbers", with_outside(lambda: np.random.default_rng(0), lambda o, x: o.spawn(1))),
    ("draws random numbers", with_outside(lambda: np.random.SeedSequence(0), lambda o, x: o.spawn(1))),
    ("draws random numbers", lambda: lambda x: x + 0.0 * np.random.normal()),
    ("draws random numbers", lambda: lambda x: x * (random.random() < 2.0)),
    ("which is not a number", lambda: lambda x: x == {}),
    ("which would come back as a plain array", lambda: lambda x: (x * 2.0, np.ma.ones(2))[1]),
    ("which would come back as a plain array", lambda: lambda x: (x * 2.0, np.array([None, 1.0]))[1]),
    ("printing or drawing needs the value", lambda: af.grad(lambda x: np.sum(x) * len(str(x)))),
    ("a text of an array needs the value", lambda: lambda x: x * len(repr(x))),
    ("a text of an array needs the value", lambda: lambda x: x * len(f"{x}")),
    ("a text of an array needs the value", lambda: lambda x: (repr([x]), x)[1]),
    ("a format needs the value", lambda: lambda x: (f"{x[0]:.2f}", x)[1]),
    ("if, and, or, not, while needs the value of an array", lambda: lambda x: x if x[0] > 0 else -x),
    ("if, and, or, not, while needs the value of an array", lambda: lambda x: sorted(x)),
    ("if, and, or, not, while needs the value of an array",
     lambda: lambda x: af.grad(lambda y: y.sum() if y[0] > 0 else 0 * y.sum())(x)),
    ("float(x) needs the value of an array", lambda: lambda x: x * float(x[0])),
    ("int(x) needs the value of an array", lambda: lambda x: x * int(x[0])),
    ("item() needs the value of an array", lambda: lambda x: x * x[0].item()),
    ("tolist() needs the value of an array", lambda: lambda x: x.tolist()),
    ("np.asarray, np.array, plain[i] = x", lambda: lambda x: np.asarray(x) * 2),
    ("np.asarray, np.array, plain[i] = x", lambda: lambda x: np.array([x[0], x[1]])),
    ("an index, a range", lambda: lambda x: np.zeros(9)[x[0].astype(int)]),
    ("an index, a range", lambda: lambda x: range(x[0].astype(int))), ("the question", lambda: lambda x: 1.0 in x),
    ("needs the value of an array", lambda: catching_all),
    ("was made outside of the compiled function", with_outside(lambda: np.zeros(2), lambda o, x: np.sin(x, out=o))),
    ("was made outside of the compiled function", with_outside(lambda: np.zeros(2), lambda o, x: np.copyto(o, x))),
    ("was made outside of the compiled function",
     with_outside(lambda: np.zeros(2), lambda o, x: np.add.at(o, [0], x[0]))),
    ("writes into an argument of a compiled function", lambda: lambda x: np.sin(x, out=x)),
    ("writes into an argument of a compiled function", lambda: lambda x: x[:1].fill(3.0)),
    ("changes np.seterr or the filters of warnings", lambda: lambda x: (np.seterr(divide="ignore"), x)[1]),
    ("changes np.seterr or the filters of warnings", lambda: lambda x: (np.seterrcall(print), x)[1]),
    ("asks the system for random numbers",
     with_outside(lambda: types.SimpleNamespace(chance=random.SystemRandom()), lambda o, x: o.chance.random())),
    ("changes np.seterr or the filters of warnings",
     lambda: lambda x: (warnings.filters.insert(0, ("ignore", None, FutureWarning, None, 0)), x)[1]),
    ("whose axes do not lie in memory in their order", lambda: counted),
    ("into an array whose memory a call may still look into", lambda: looked_into),
    ("ended in ZeroDivisionError", lambda: lambda x: x * (1 / 0 if hasattr(x, "tape") else 2.0)),
    ("keeps 1 of the arrays", with_outside(types.SimpleNamespace, lambda o, x: vars(o).update(z=x * 3.0))),
]  # fmt: skip


def outcome(f, x):
    """What a call returns, or the type of its exception."""
    with np.errstate(divide="warn"):
        try:
            return np.asarray(f(x)).tolist()
        except Exception as error:
            return type(error)


@pytest.mark.parametrize(("message", "program"), REFUSED)
def test_it_is_refused_in_these_words(message, program):
    with np.errstate(divide="warn"), pytest.raises(CompileError, match=re.escape(message)):
        af.compile(program())(X.copy())


@pytest.mark.parametrize(("message", "program"), REFUSED)
def test_and_eager_code_does_it(message, program):
    eager, falling = program(), af.compile(program(), fallback=True)
    for x, _ in itertools.product((X, X + 3.0), range(2)):
        assert outcome(falling, x.copy()) == outcome(eager, x.copy())


def in_a_cycle(x):
    """What it has computed stays until the collector comes."""
    kept = [x * 2.0]
    kept.append(kept)
    return x + 1.0


def overwritten_at_the_end(x):
    h = np.full(2, 2.0)
    y = x * h
    h[...] = 5.0
    return y


def divided_silently(x):
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x / np.zeros(2)


def divided_in_part(x):
    z = x * 0.0
    whole, rest = np.divmod(x, 2.0, out=(z, None), where=np.array([True, False]))
    return np.append(whole, rest[0])


W = np.array([3.0, -1.0, 2.0])
ONE_NUMBER, IN_BYTES = np.array(-2), np.frombuffer(bytearray(np.array([3.0, -1.0]).tobytes()))


def warned_as_before(x):
    with warnings.catch_warnings():
        return x * 2.0


class Held:
    """Goes on with the array that it keeps."""

    __carries_nodes__ = "content"

    def __init__(self, content):
        self.content = content

    def __array_ufunc__(self, ufunc, method, x, y):
        return ufunc(x, y.content)


class Lists:
    def __getattr__(self, name):
        return [2.0]

    def __call__(self):
        return self.rate[0]


class Entries(dict):
    __getattr__ = dict.__getitem__


LISTS, ENTRIES, GENERIC = Lists(), Entries(rate=2.0), functools.singledispatch(lambda k: k * 2.0)
CONFIG = types.ModuleType("config")
CONFIG.itself, CONFIG.rate = CONFIG, 2.0
# Near what is refused; and what they get.
ACCEPTED = {
    "a cycle of its own": (in_a_cycle, X), "a plain array that is overwritten later": (overwritten_at_the_end, X),
    "a shape as an argument": (lambda x, s: np.reshape(x, s) * 2.0, np.arange(6.0), np.array([2, 3])),
    "errors that are silenced": (divided_silently, X),
    "a mean of integers": (lambda x: np.mean(x), np.array([2**62, 2**62, 4])),
    "a mean of halves": (lambda x: np.mean(x), np.arange(100, dtype=np.float16)),
    "a sum of halves": (lambda x: np.sum(x) + np.add.reduce(x), np.full(4000, 1.1, np.float16)),
    "a sum over no axes": (lambda x: np.sum(x, axis=()), np.ones((2, 3))),
    "a number that is broadcast": (lambda x: np.broadcast_to(x.sum(), (2, 2)) * 1.0, X),
    "a number that stays one": (lambda x: np.broadcast_to(x.sum(), ()), X),
    "a number that becomes an array": (lambda x: x * isinstance(np.broadcast_to(x.sum(), ()), np.ndarray), X),
    "a number in an array": (lambda x: np.reshape(x.sum(), (1, 1)), X),
    "a number in a shape that is an argument": (lambda x, s: np.reshape(x.sum(), s) * 2.0, X, np.array([1, 1])),
    "a number in an array that is written into": (lambda x: filled(np.reshape(x.sum(), (1,))), X),
    "a number that is cast": (lambda x: np.expand_dims(x.sum(), 0).astype(int), X),
    "the parts of a complex number": (lambda x: np.imag(x[0]) * np.real(x[0]), np.array([0.1 + 0.3j])),
    "a square of a complex number": (lambda x: np.square(x[0]), np.array([0.1 + 0.3j])),
    "sums of an array outside": (lambda x: copied(x, lambda z: np.add.reduce(np.diag(W)[:, :2], out=z)), X),
    "numbers in the memory of a bytearray": (lambda x: x * IN_BYTES, X),
    "a sum with an array that rows share": (lambda x: af.vmap(lambda v, w: np.add(v, w), in_axes=(0, None))(x, W), X),
    "an array of one number": (lambda x: x * ONE_NUMBER, X),
    "the truth of chosen elements": (lambda x: np.all(x > -3.0, where=x[0] > 0.0), X),
    "objects in an array": (lambda x: np.concatenate([x, OBJECTS]), X),
    "dates of which one is none": (lambda x: x.astype("M8[s]"), np.array([1.0, np.nan])),
    "an axis of NumPy's": (lambda x: np.sum(x, axis=np.int64(0)), np.ones((2, 3))),
    "an axis in an array": (lambda x: np.sum(x, axis=np.array(1)), np.ones((2, 3))),
    "two axes": (lambda x: np.max(x, axis=(0, -1)), np.arange(24.0).reshape(2, 3, 4)),
    "an unnamed dtype": (lambda x: np.sum(x, None, np.float32), X),
    "a power of a negative exponent": (lambda x: x ** np.array([2, 0]), np.array([3, 4])),
    "types of arrays": (lambda x: x.astype(np.result_type(x, np.float32)), X),
    "the smallest type of an array": (lambda x: x.astype(np.min_scalar_type(np.ones(2))), X),
    "zeros like a number": (lambda x: np.zeros_like(x.sum()) + 1.0, X),
    "full of a value": (lambda x: np.full_like(x, x[0]), X),
    "full of a number": (lambda x: np.full_like(x, fill_value=3.0), X),
    "full of numbers in turn": (lambda x: np.full_like(x, [1.0, 3.0]), X),
    "empty, and then filled": (lambda x: filled(np.empty_like(x)), X),
    "swapped bytes": (lambda x: np.zeros_like(x) + x, X.astype(">f8")),
    "another order": (lambda x: x.copy("F") + x.T.copy("C").T + x.copy("A"), np.arange(6.0).reshape(2, 3)),
    "a cast to its own dtype, in columns": (lambda x: x.astype(float, "F", copy=False) + 0, np.ones((2, 3))),
    "of columns, in rows": (lambda x: x.T.astype(float, "C", copy=False) + 0, np.arange(6.0).reshape(2, 3)),
    "of columns, in columns": (lambda x: x.T.astype(float, "F", copy=False) + 0, np.arange(6.0).reshape(2, 3)),
    "a copy in columns": (lambda x: x.copy("F"), np.arange(6.0).reshape(2, 3)),
    "a copy in rows": (lambda x: x.T.copy(), np.arange(6.0).reshape(2, 3)),
    "a copy that lies as it does": (lambda x: x.T.copy("K"), np.arange(6.0).reshape(2, 3)),
    "a copy without gaps": (lambda x: x[::2].copy(), np.arange(5.0)),
    "a write into a copy without gaps": (lambda x: filled_through(x[:, ::2].copy()), np.arange(8.0).reshape(2, 4)),
    "a product of complex numbers": (lambda x: x[0] * x[1], np.array([0.1 + 0.3j, 0.7 - 0.2j])),
    "a write at places that repeat": (lambda x: copied(x, lambda z: np.add.at(z, [0, 0], x)), X),
    "all of them by their places": (lambda x: np.sum(x, 0, None, None, True), np.ones((2, 3))),
    "a sum with the rows of an array": (lambda x: af.vmap(lambda w: np.add(x, w))(W), X),
    "writes through views": (lambda x: copied(x, in_views), X),
    "a write into a copy": (lambda x: copied(x, lambda z: z.T.reshape(-1).fill(3.0)), np.arange(6.0).reshape(2, 3)),
    "a write into places": (lambda x: np.add(i := np.nonzero(x)[0], 1, out=i) * 1, np.ones((2, 2))),
    "a power of integers": (lambda x: x**2.0, np.array([1, 3])),
    "a write by names": (lambda x: copied(x, lambda z: np.copyto(dst=z, src=x + np.ndim(a=x))), X),
    "an argument's name": (lambda x: np.reshape(x, shape=(2, 1)) * np.mean(a=x), X),
    "a write by a function": (lambda x: copied(x, lambda z: np.put(z, [0], x[1])), X),
    "a write of an element": (lambda x: copied(x, lambda z: z.__setitem__(0, x[1])), X),
    "one of two results, where a mask holds": (divided_in_part, np.array([5.0, 7.0])),
    "a write in another order": (lambda x: in_columns(x, np.arange(6.0).reshape(3, 2)), np.ones((2, 3))),
    "the slope of a maximum": (af.grad(np.max), X),
    "slopes of maxima": (af.vmap(af.grad(np.max), loop="allow"), np.array([[1.0, 2.0], [3.0, -1.0], [2.0, 2.0]])),
    "beside a node on NumPy's array": (lambda x: af.grad(lambda w: np.sum(np.concatenate([x, w]) ** 2))(W), X),
    "such a node after an array": (lambda x: af.grad(lambda w: np.sum(np.multiply(x[0], w) ** 2))(W), X),
    "a number times such a node": (lambda x: af.grad(lambda w: np.sum(np.real(x[0] * w)))(W), X + 1j),
    "a power with such a node": (lambda x: af.grad(lambda w: np.sum(x**w))(W[:2]), np.array([1.5, 2.0])),
    "beside the rows of an array": (lambda x: af.vmap(lambda w: np.concatenate([x, w]))(W[:, None]), X),
    "slopes that look at numbers": (lambda x: af.vmap(af.grad(doubled), loop="allow")(x), X),
    "a slope that looks at numbers": (af.grad(lambda x: np.sum(doubled(x) * x)), X),
    "products of rows": (lambda x: np.vecdot(x, x + 1.0), np.arange(4.0).reshape(2, 2)),
    "a product of numbers": (lambda x: np.multiply.outer(x[0], x), X),
    "filters that are put back": (warned_as_before, X), "an object with lists for names": (lambda x: x * LISTS(), X),
    "entries as attributes": (lambda x: x * ENTRIES.rate, X),
    "a regular expression": (lambda x, sub=re.sub: x * len(sub("a-(?=b)", "", "a-b")), X),
    "a generic function": (lambda x: x * GENERIC(2.0), X), "a module in itself": (lambda x: x * CONFIG.itself.rate, X),
    "an object that keeps an array": (lambda x: np.multiply(x, Held(W[:2])), X),
    "by a mask of an argument": (lambda x, m: np.where(m, x, 0.0), X, np.array([True, False])),
}  # fmt: skip


def copied(x, write):
    """A copy before the write, and after it."""
    z = x * 1.0
    before = z.copy()
    write(z)
    return np.stack([before, z])


def in_views(z):
    z[None].fill(3.0)
    z[..., 1:].fill(4.0)
    z[np.int64(0), None].fill(5.0)
    z.reshape(1, -1).T[1:].fill(6.0)
    np.atleast_1d(z)[:1] += 1.0


def in_columns(x, new):
    z = np.exp(x.T)
    z[...] = new + x.sum()
    return z


def filled_through(z):
    z.reshape(-1)[1:] = 3.0
    return z


def filled(z):
    z[...] = 3.0
    return z


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_near_a_refusal_is_compiled(name):
    f, *args = ACCEPTED[name]
    compiled = af.compile(f)
    for _ in range(2):
        found, expected = compiled(*[a.copy() for a in args]), np.asarray(f(*[a.copy() for a in args]))
        np.testing.assert_array_equal(found, expected, strict=True)
        assert found.strides == expected.strides
    assert [entry for entry in compiled.entries.values() if not hasattr(entry, "recorded")] == []
    for k in (2, 3):  # other numbers
        others = [a if a.dtype.kind in "bi" else a * k for a in args]
        np.testing.assert_array_equal(compiled(*others), np.asarray(f(*others)), strict=True)


RAISED = {  # for some values, or at once: also where nobody needs the result
    "a matrix without an inverse": (lambda a: (np.linalg.inv(a), a * 2.0)[1], np.eye(2), np.zeros((2, 2))),
    "weights that add up to zero": (lambda w: np.average(X, weights=w), np.ones(2), np.array([1.0, -1.0])),
    "a place that is not there": (lambda i: (np.take(i * 2, i), i * 3)[1], np.array([0, 1]), np.array([0, 7])),
    "an index that is not there": (lambda i: ((i * 2)[i], i * 3)[1], np.array([0, 1]), np.array([0, 7])),
    "a negative exponent": (lambda n: (np.power(3, n), n * 2)[1], np.array([1, 2]), np.array([1, -2])),
    "a mean over an axis that is not there": (lambda x: (np.mean(x.sum(), axis=0), x)[1], None, X),
    "a list times a number": (lambda x: x.sum() * [2.0], None, X),
    "a product that a number lacks": (lambda x: x.sum().dot(2.0), None, X),
    "a write into a number": (lambda x: (x.sum().__setitem__(..., 1.0), x)[1], None, X),
    "an imaginary part of real numbers": (lambda x: setattr(x * 1, "imag", x), None, X),
    "a product into columns": (lambda x: np.dot(x, x, out=np.zeros_like(x, order="F")), None, np.eye(2)),
}  # fmt: skip
LOCKED = functions("np.broadcast_to(x, (2, 2)) | (x * 1).imag | np.diagonal(x * np.eye(2))", "x", globals())
INTO = functions("""
    operator.iadd(z, 1) | operator.setitem(z, 0, 1) | z.sort() | z.fill(2) | np.exp(z, out=z) | np.copyto(z, 1)
    np.put(z, [0], 1) | np.fill_diagonal(z, 1) | np.cumsum(z, out=z)
""", "z", globals())  # fmt: skip
RAISED |= {
    f"{w} of {v}": (lambda x, v=v, w=w: INTO[w](LOCKED[v](x)), None, X) for v, w in itertools.product(LOCKED, INTO)
}
AXIS = "np.sum(x, axis=True) | x.max(False) | np.mean(x, (True,)) | np.any(x, axis=True) | np.add.reduce(x, True)"
RAISED |= {text: (f, None, np.eye(2)) for text, f in functions(AXIS, "x", globals()).items()}


@pytest.mark.parametrize("name", RAISED)
def test_errors_are_those_of_eager_code(name):
    f, fine, wrong = RAISED[name]
    compiled = af.compile(f)
    for _ in range(0 if fine is None else 3):  # the second call is compared with eager code, later ones are not
        np.testing.assert_array_equal(compiled(fine), f(fine), strict=True)
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        f(wrong)
    with pytest.raises(expected.type, match=re.escape(str(expected.value))):
        compiled(wrong)
    if fine is not None:  # the program is as it was
        np.testing.assert_array_equal(compiled(fine), f(fine), strict=True)


OTHERS = functions("""
    x == y | y == x | x != y | y != x | x < y | y >= x | x + y | y - x | x @ y | x.sum() == y | x * (x.sum() == y)
    x * (2.0 if x.max() == y else 3.0) | x * (2.0 if x.max() in (y, y) else 3.0) | ~(x.sum() == y)
""", "x, y", globals())  # fmt: skip


@pytest.mark.parametrize("other", [None, "a", "", b"a", ..., outcome, float, np.str_("a")],
                         ids=lambda x: getattr(x, "__name__", repr(x)))  # fmt: skip
def test_what_is_not_a_number_gives_what_numpy_gives(other):
    for (text, f), x in itertools.product(OTHERS.items(), (X, X[0], np.float32(2.0), np.array(2), X > 0.0, X + 1j)):
        compiled = af.compile(lambda x, f=f: f(x, other), verify=False)
        for value in (x, -x if x.dtype != bool else x):
            ours, expected = outcome(compiled, value), outcome(lambda x, f=f: f(x, other), value)
            assert (type(ours), ours) == (type(expected), expected), f"{text} of {x!r}"


# A function whose result is its argument itself for some values, or has another way; such a value, and another one.
ITSELF = {
    "a power of a matrix": (lambda n: np.linalg.matrix_power(n * np.eye(2), n), np.array(1), np.array(2)),
    "the sign of a root": (lambda x: np.copysign(1.0, x[0] ** 0.5), np.array([4.0]), np.array([-0.0])),
    "a derivative": (with_slope, np.array([1.0, 0.5]), np.array([-1.0, 2.0])),
    "one that catches errors": (lambda x: af.grad(lambda x: np.sum(guarded(x) * x))(x), X, -X),
    "derivatives at one place": (
        lambda x: af.vmap(lambda v: af.grad(lambda x: np.sum(tripled(x) * v))(x), loop="allow")(np.eye(2)), X, -X),
}  # fmt: skip


@pytest.mark.parametrize("name", ITSELF)
def test_what_may_be_the_argument_itself_is_computed_in_each_run(name):
    f, *values = ITSELF[name]
    for first, other in (values, values[::-1]):
        compiled = af.compile(f)
        for x in (first, first, first, other, first):
            np.testing.assert_array_equal(compiled(x), f(x), strict=True)


def test_a_handler_of_errors_that_the_caller_has_set_is_no_reason():
    with np.errstate(divide="call", call=lambda kind, flag: None):
        np.testing.assert_array_equal(af.compile(lambda x: x * 2.0)(X), X * 2.0)
        with pytest.raises(CompileError, match=r"computes under np\.errstate"):
            af.compile(under_another_handler)(X)


def under_another_handler(x):
    with np.errstate(call=print):
        return x * 2.0


def test_what_is_equal_again_is_no_reason_to_record_again():
    """Numbers that are made anew; arrays that nobody has written into; flags that nobody reads;
    parameters in whose place others are put, under other names of functional_call."""
    model, call, w = nn.Linear(2, 1, rng=np.random.default_rng(0)), nn.functional_call, af.Variable(X)
    scope = {
        "K": 2.0, "L": [w, 2.0, (2.0,)], "A": np.ones(2), "B": np.ones(5000), "O": np.array([None, 1.0]), "w": w,
    }  # fmt: skip
    exec("def f(x): return x * K * L[1] * A * B[0] * O[1] / 2.0 + (w.grad is w.name)", scope)

    def by_a_name_of_its_own(p, x):
        from autoflow.nn import functional_call

        return functional_call(model, p, x)

    compiled = scaled, *steps = [
        af.compile(f) for f in (scope["f"], lambda p, x: call(model, p, x), by_a_name_of_its_own)
    ]
    values = {path: p.value.copy() for path, p in model.named_parameters().items()}
    for k in range(3):
        scope["K"] = scope["L"][1] = float("2.0")
        scope["L"][2], scope["O"][1] = (float("2.0"),), float("1.0")
        scope["A"].flags.writeable = k % 2 == 0
        model.weight.assign(np.full(model.weight.shape, float(k)))
        np.testing.assert_array_equal(scaled(X), X * 2.0)
        for step in steps:
            step(values, X[None])
            values["weight"] += 1.0
    assert [c.renewed for c in compiled] == [0, 0, 0]


# Doors to what no guard can check, as expressions. What they give here is the same in every call, so that only their
# names are a reason to refuse them.
DOORS = {
    "reads the clock": """
        time.time() | time.time_ns() | time.monotonic() | time.monotonic_ns() | time.perf_counter() | time.asctime()
        time.perf_counter_ns() | time.process_time() | time.process_time_ns() | time.thread_time() | time.ctime()
        time.thread_time_ns() | time.localtime() | time.gmtime() | time.strftime('%H') | datetime.datetime.now()
        datetime.datetime.utcnow() | datetime.date.today() | datetime.datetime.today() | date.today() | now()
        DAY.today()
    """,
    "asks the system for random numbers": """
        secrets.token_bytes(1) | secrets.token_hex(1) | secrets.token_urlsafe(1) | secrets.randbelow(9) | uuid.uuid1()
        uuid.uuid4() | os.urandom(1) | random.SystemRandom() | CHANCE.random() | CHANCE.gauss | draw()
    """,
    "looks names up by text": """
        globals() | eval('2') | exec('2') is None | __import__('os') | importlib.import_module('os') | sys.modules
    """,
}
IMPORTS = """
import datetime, importlib, os, random, secrets, sys, time, uuid
from datetime import date
from time import time as now
DAY = date(2020, 1, 2)
CHANCE = random.SystemRandom()
draw = random.SystemRandom().random
"""
OPENED = [(what, each) for what, text in DOORS.items() for each in between_bars(text)]


@pytest.mark.parametrize(("what", "expression"), OPENED)
@pytest.mark.parametrize("where", ["{}", "(lambda: {})()", "[{} for _ in 'a'][0]"])
def test_a_door_is_refused_by_its_name(what, expression, where):
    scope = {}
    exec(IMPORTS, scope)
    exec(f"def f(x): return x * bool({where.format(expression)})", scope)
    with pytest.raises(CompileError, match=what):
        af.compile(scope["f"])(X)


@pytest.mark.parametrize("text", ["os.path.join('a', 'b')", "time.sleep(0)", "uuid.UUID(int=3)", "random.Random(3)",
                                  "Own.now()", "datetime.date(2020, 1, 2)", "sys.maxsize",
                                  "time.sleep(Own.modules)", "os.path.join('a', Own.os)",
                                  "np.random.default_rng(3)"])  # fmt: skip
def test_the_rest_of_such_a_module_is_no_door(text):
    scope = {"np": np, "Own": types.SimpleNamespace(now=lambda: 2.0, modules=0, os="b")}
    exec(f"import datetime, os, random, sys, time, uuid\ndef f(x): return x * bool(({text}, 1)[1])", scope)
    np.testing.assert_array_equal(af.compile(scope["f"])(X), X)


@pytest.mark.parametrize("method", ["__init__(self)", "__del__(self)", "__post_init__(self)", "__new__(cls)",
                                    "__init_subclass__(cls)"])  # fmt: skip
def test_what_makes_an_object_is_not_called_any_more(method):
    """It may read the clock: the object is there."""
    scope = {}
    exec(f"import time\nclass C:\n rate = 2.0\n def {method}: time.time()\nobject_of_c = object.__new__(C)", scope)
    exec("def f(x): return x * object_of_c.rate", scope)
    np.testing.assert_array_equal(af.compile(scope["f"])(X), X * 2.0)


ANSWERED_OTHERWISE = {  # by arrays that are recorded
    "hasattr": "hasattr(x, 'tape')", "getattr": "getattr(x, 'tape', None) is not None",
    "type": "type(x) is not np.ndarray", "except": "raises(lambda: x.tape)",
}  # fmt: skip


@pytest.mark.parametrize("question", ANSWERED_OTHERWISE.values(), ids=ANSWERED_OTHERWISE)
def test_whoever_may_ask_for_a_class_is_compared_at_the_first_call(question):
    scope = {"np": np, "raises": raises}
    exec(f"def f(x): return x * (2.0 if {question} else 3.0)", scope)
    compiled = af.compile(scope["f"])
    with pytest.raises(CompileError, match="differs from call to call"):
        compiled(X)
    np.testing.assert_array_equal(af.compile(scope["f"], fallback=True)(X), scope["f"](X))


def raises(ask):
    try:
        ask()
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("change", [
    "warnings.simplefilter('always')", "warnings.filterwarnings('always')", "warnings.resetwarnings()",
    "with warnings.catch_warnings(): warnings.filters[:] = [w for w in warnings.filters if w[0] != 'ignore']; x += 0",
    "with warnings.catch_warnings(): warnings.filters.insert(0, ('always', None, Warning, None, 0)); x = x * 1.0",
])  # fmt: skip
def test_filters_that_the_function_names_are_its_own_beside_other_threads_too(change):
    scope, stop = {"warnings": warnings}, threading.Event()
    exec(f"def f(x):\n {change}\n return x * 2.0", scope)
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            with pytest.raises(CompileError, match="the filters of warnings"):
                af.compile(scope["f"])(X)
    finally:
        stop.set()
        other.join()
