"""Why a function under af.vmap is called for each example: each reason once, and what the loop over the examples gives.

Each program is there for the one check that gives this reason: without it the function would go on with all examples.
"""

import re
import warnings
from contextvars import ContextVar

import numpy as np
import pytest
from by_loop import by_loop, difference, outcome
from user_functions import function

import autoflow as af
from autoflow.batching import batched, looping
from autoflow.batching.forms import FORMS
from autoflow.batching.vmap import vmap  # noqa: F401 - fills FORMS
from autoflow.errors import BatchError, InputError, LoopWarning

X = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, 6.0]])
M, TURN = np.arange(12.0).reshape(2, 2, 3), np.array([[0.0, 1.0], [-1.0, 0.0]])
KEPT = []
BUFFER, NODE = np.zeros(3), af.Variable(5.0)


def after(change, make=lambda x: x * 1.0):
    """A function that makes an array of x, changes it, and returns it."""

    def f(x):
        z = make(x)
        change(z, x)
        return z

    return f


def zeros(x):
    return np.zeros(3)


def recording(x):
    with warnings.catch_warnings(record=True):
        return np.exp(x)


def listening(x):
    with np.errstate(divide="call"):
        before = np.seterrcall(lambda kind, flag: None)
        try:
            return 1.0 / x
        finally:
            np.seterrcall(before)


def cumulated(x):
    z = np.zeros_like(x, np.float32)
    np.cumsum(x, out=z)
    return z


def half_sum(x):
    z = x.astype(np.float16)
    np.cumsum(z * z, out=z)
    return z


class FirstOfAll:
    """Answers NumPy's calls in its own way: of all examples this would be the first one."""

    def __array_ufunc__(self, ufunc, method, x, *_, **__):
        return x[0]

    def __array_function__(self, function, types, args, options):
        return args[0][0][0]


class Wrapping:
    def __array__(self, dtype=None, copy=None):
        return np.ones(3)

    def __array_wrap__(self, *_):
        return 5.0


class Turned(np.ndarray):
    def __mul__(self, other):
        return np.asarray(self) + other

    __rmul__ = __mul__


class Half(float):
    pass


QUIET = np.errstate(all="ignore")
WITHOUT_A_LINE = "ZeroDivisionError for one example", "from outside that the function changes"
REASONS = [  # the reason, the function, and the batch
    ("the class FirstOfAll", lambda x: x * FirstOfAll(), X),
    ("the class FirstOfAll", lambda x: np.stack([x, FirstOfAll()]), X),
    ("a result that is not an array", lambda x: x * Wrapping(), X),
    ("the class Turned, which computes in its own way", lambda x: x * np.ones(3).view(Turned), X),
    ("an operator of Python's", QUIET(lambda x: 1j / x), np.array([1.0, 0.0])),
    ("an operator of Python's", QUIET(lambda x: 0j**x), np.array([1.0, -1.0])),
    ("an operator of Python's", QUIET(lambda x: Half(2.0) / x), np.array([1.0, 0.0])),
    ("a number that integers cannot hold", lambda x: ((z := np.zeros_like(x, int)).fill(x[0]), z)[1], X * 1e20),
    ("float(x)", lambda x: x * float(x[0]), X), ("a range, a shape", lambda x: x * len(range(6 + x[0].astype(int))), X),
    ("np.asarray, np.array", lambda x: np.asarray(x) * 2, X), ("x.tolist()", lambda x: np.array(x.tolist()), X),
    ("x.item()", lambda x: x * x[1].item(), X), ("the question `in`", lambda x: x * (1.0 in x), X),
    ("a format", lambda x: x * len(f"{x[0]:.2f}"), X), ("x.data", lambda x: x * x.data.ndim, X),
    ("plain[i] = x", after(lambda z, x: z.__setitem__(slice(2), x[:2]), zeros), X),
    ("np.nonzero", lambda x: np.sum(np.nonzero(x > 0)[0]), X), ("x.flags", lambda x: x * x.flags.c_contiguous, X),
    ("np.linalg.lstsq", lambda x: np.linalg.lstsq(np.outer(x, x), x, rcond=None)[0], X),
    ("the text of an array", lambda x: x * len(str(x)) * ("-" in repr(x)), X),
    ("a key", lambda x: x * len({x[0]: 1}), X), ("an index with", lambda x: x[True], X),
    ("another result for one example", lambda x: x * (type(x) is np.ndarray), X),
    ("a node written into an array of plain numbers", after(lambda z, x: np.add.at(z, [0], NODE)), X),
    ("a node written into an array of plain numbers", after(lambda z, x: z.__setitem__(0, NODE)), X),
    ("a function that finds an array of one example",
     lambda x: function(lambda ctx, y: x, lambda ctx, g: g).apply(np.ones(3)), X),
    ("warnings that are recorded", recording, X), ("np.seterrcall", listening, X),
    ("the length of a text", lambda x: x.dtype.itemsize * 1.0, np.array(["a", "bcd"])),
    ("the length of a number", lambda x: x * len(x), X[0]), ("iteration over a number", lambda x: sum([*x]), X[0]),
    ("a question about memory", lambda x: x * np.shares_memory(x, x[1:]), X),
    ("what out= keeps where where=", after(lambda z, x: np.clip(x, 0.0, 2.0, out=z, where=x > 0)), X),
    ("a result written into an array that may be shared", lambda x: np.sin(x, out=np.zeros(3)), X),
    ("a result written into an array that may be shared", lambda x: np.cumsum(x, out=np.zeros(3)), X),
    ("out= of another dtype than the result's", cumulated, X), ("out= of another dtype than the result's", half_sum, X),
    ("TypeError in add", lambda x: np.add(x, 0.5, out=x.astype(int)), X),
    ("TypeError in add", lambda x: np.add(np.ones((2, 3)), x, out=x * 1.0), X),
    ("TypeError in setitem", lambda x: x.sum().__setitem__(..., 1.0), X),
    ("x[mask] = y with several numbers", after(lambda z, x: z.__setitem__(x > 0, np.array([7.0, 8.0]))), X),
    ("or a mask of another shape", after(lambda z, x: z.__setitem__((x > 0)[:1], 1.0)), X),
    ("IndexError in setitem", after(lambda z, x: z.__setitem__(np.array([0.0]), 1.0)), X),
    ("np.copyto into an array", after(np.copyto, zeros), X),
    ("np.copyto into an array", lambda x: np.copyto(x.astype(int), x), X),
    ("np.put into an array", after(lambda z, x: np.put(z, [0], x[0]), zeros), X),
    ("np.put into an array", lambda x: (np.put(x.sum(), [0], 1.0), x)[1], X),
    ("a write into an array that all examples share", after(lambda z, x: np.add.at(z, [0], x[0]), zeros), X),
    ("Error in matmul", lambda x: np.matmul(x, x[0]), X), ("Error in matmul", lambda x: np.matmul(x[0], x), X),
    ("ValueError in tensordot", lambda x: np.tensordot(x, x.T, 2), M),
    ("ValueError in transpose", lambda x: np.transpose(x, (0,)), M),
    ("ZeroDivisionError for one example", lambda x: x * (1 // (type(x).__name__ != "ndarray")), X),
    ("from outside that the function changes", lambda x: (KEPT.append(1.0), x)[1], X),
    ("if, and, or, not, while", lambda x: x if x[0] > 0 else -x, X),
    ("if, and, or, not, while", lambda x: x if x[0] > -9 else -x, X),
    ("if, and, or, not, while", lambda x: (KEPT.append(1.0), x if x[0] > 0 else -x)[1], X),
    ("x[mask], whose length", lambda x: np.sum(x[x > 0]), X), ("IndexError in getitem", lambda x: x[0, 0], X),
    ("an index with too many axes", lambda x: x[[0], [0]], X),
    ("an index with too many axes", lambda x: x[np.bool_(True)], X),
    ("sliding_window_view(writeable=True)",
     lambda x: np.lib.stride_tricks.sliding_window_view(x * 1, 2, writeable=True) * 1, X),
    ("x.view(dtype)", lambda x: x.view(np.int64), X), ("x.view(dtype)", lambda x: x.view(dtype=np.int64), X),
    ("ValueError in add", after(lambda z, x: z.__iadd__(np.ones((2, 3)))), X),
    ("ValueError in setitem", after(lambda z, x: z.__setitem__(slice(0), np.ones((2, 0)))), X),
    ("ValueError in setitem", after(lambda z, x: z.__setitem__(slice(None), np.ones((2, 3)))), X),
    ("AttributeError at", lambda x: x.backward(), X), (f" at {__file__}", lambda x: af.grad(lambda v: v * 1.0)(x), X),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "f", "batch"), REASONS)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_reason_is_given_and_the_loop_decides(reason, f, batch):
    """The definition: f for each example. ``loop=`` says what is said of it, once and with the line."""
    with pytest.raises(BatchError, match=re.escape(reason)) as refused:
        af.vmap(f, loop="refuse")(batch)
    assert ("test_reasons.py:" in str(refused.value)) is (reason not in WITHOUT_A_LINE)
    assert KEPT == []
    expected = outcome(by_loop, lambda x: np.asarray(f(x)), batch)
    looping.SAID.clear()
    for loop, times in (("allow", 0), ("warn", 1), ("warn", 0)):
        KEPT.clear()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", LoopWarning)
            assert not difference(outcome(af.vmap(f, loop=loop), batch), expected, 0)
        assert len(said) == (0 if isinstance(expected, Exception) else times)
        assert all([reason in str(w.message) for w in said])
    KEPT.clear()


@pytest.mark.parametrize(("reason", "f"), [
    ("Python objects from np.array2string that differ", lambda x: x * len(np.array2string(x))),
    ("results of np.nonzero with different shapes or dtypes", lambda x: x * np.sum(np.nonzero(x > -3)[0])),
    ("np.array_equal at", lambda x: x * np.array_equal(x, np.abs(x))),
    ("Python objects from np.array_equal that differ", lambda x: np.float64(-np.array_equal(x, X[0]))),
    ("np.array_equal at", lambda x: x if np.array_equal(x, -x) else 2 * x),
    ("np.pad at", lambda x: np.pad(x, 1, constant_values=x[0])),
    ("np.asarray at", lambda x: np.asarray(np.asarray(x, np.float64, like=x), np.float32, like=x)),
    ("np.apply_along_axis at", lambda x: np.apply_along_axis(lambda v: filled(af.zeros(3), v), 0, x)),
])  # fmt: skip
def test_results_of_the_examples_that_do_not_fit_together_are_a_reason_too(reason, f):
    looping.SAID.clear()
    with pytest.warns(LoopWarning, match=re.escape(reason)):
        np.testing.assert_array_equal(af.vmap(f)(X), by_loop(f, X), strict=True)


def filled(z, v):
    z[...] = v
    return np.asarray(z)


def test_an_array_of_the_batch_outside_is_shared_by_the_examples_inside():
    """The vmap inside may not write into it at once: the last of its examples counts. At the first call, which is
    compared with one example, their numbers are equal."""

    def f(y, batch, mapped):
        z = y * 1.0

        def inner(x):
            z[0] = x[0]
            return z + 0.0

        return mapped(inner)(batch) + z

    at_once = af.vmap(lambda y, batch: f(y, batch, lambda g: af.vmap(g, loop="allow")), (0, None))
    for batch in (np.ones((2, 3)), X):
        wanted = [f(y, batch, lambda inner: lambda rows: np.stack([inner(x) for x in rows])) for y in X]
        np.testing.assert_array_equal(at_once(X, batch), wanted)


def test_the_kinds_of_calls_that_are_remembered_are_not_too_many(monkeypatch):
    monkeypatch.setattr(looping, "KNOWN", {})
    monkeypatch.setattr(looping, "MANY", 3)
    for n in range(1, 9):
        np.testing.assert_array_equal(af.vmap(np.sum)(np.ones((2, n))), [n, n])
        assert len(looping.KNOWN) <= 3
        assert True in looping.KNOWN.values()


def test_calls_with_other_dtypes_or_places_are_of_another_kind():
    values = np.float32, np.float64, np.int64(0), np.int64(1), np.True_, np.False_, np.str_("wrap"), np.str_("clip")
    assert len({looping.part(x, None) for x in values}) == len(values)


def test_what_the_comparison_changes_is_put_back():
    def f(x):
        if type(x) is np.ndarray:
            KEPT.append(x)
        return x * 2.0

    np.testing.assert_array_equal(af.vmap(f)(X), X * 2.0)
    assert KEPT == []


def test_what_the_comparison_writes_into_memory_is_what_the_loop_writes():
    def f(x):
        if type(x) is np.ndarray:
            BUFFER[:] = x
        return x * 2.0

    np.testing.assert_array_equal(af.vmap(f, loop="allow")(X), X * 2.0)
    np.testing.assert_array_equal(BUFFER, X[-1])


def test_comparisons_are_not_heard(capsys, monkeypatch):
    monkeypatch.setattr(looping, "KNOWN", {})
    heard = []

    def f(x):
        print("once")
        return np.cumprod(np.nanmean(np.full_like(x, np.nan)) + x)

    before = np.seterrcall(lambda kind, flag: heard.append(kind))
    try:
        with warnings.catch_warnings(record=True) as said, np.errstate(all="call"):
            warnings.simplefilter("always")
            af.vmap(f, loop="refuse")(X)
            af.vmap(np.cumprod, loop="refuse")(1e200 * (X > -9))
    finally:
        np.seterrcall(before)
    assert capsys.readouterr().out == "once\n"
    assert [str(w.message) for w in said] == ["Mean of empty slice"] * 2
    assert heard == ["overflow"] * 2


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize(("f", "out_axes"), [
    (lambda x: x, 0), (lambda x: x, None), (lambda x: BUFFER, None), (lambda x: BUFFER, 0),
])  # fmt: skip
def test_results_are_new_memory(f, out_axes, looks):
    batch = np.ones((2, 3))
    z = af.vmap(lambda x: (looks and bool(x[0] > 0), f(x))[1], out_axes=out_axes, loop="allow")(batch)
    assert z.flags.writeable
    assert not np.shares_memory(z, batch)
    assert not np.shares_memory(z, BUFFER)


def test_a_node_that_is_returned_is_another_one():
    v = af.Variable(X)
    assert not np.shares_memory(af.vmap(lambda x: x)(v).value, v.value)


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("out_axes", [2, -3, "x", True])
def test_an_axis_of_results_that_does_not_exist(out_axes, looks):
    with pytest.raises(InputError, match="out_axes"):
        af.vmap(lambda x: (looks and bool(x[0] > 0), x)[1], out_axes=out_axes, loop="allow")(X)


def test_a_node_of_outside_that_is_returned_keeps_its_gradient():
    np.testing.assert_array_equal(af.grad(lambda w: np.sum(af.vmap(lambda x: w, loop="refuse")(X)))(X[0]), [2.0] * 3)


def inside(layer, x):
    return batched.open_layer(x, layer)[0]


CUMSUM, FLIP, SLOGDET = np.add.accumulate, FORMS[np.flip], np.linalg.slogdet
WRONG = {  # a function, and a form of it that is wrong in one thing
    "shape": (np.cumsum, lambda layer, x: CUMSUM(x)[None]), "plain shape": (np.cumsum, lambda layer, x: np.zeros(1)),
    "dtype": (np.cumsum, lambda layer, x: CUMSUM(x).astype(np.float32)),
    "numbers": (np.cumsum, lambda layer, x: CUMSUM(x) + 1.0), "a part": (np.flip, lambda *x: FLIP(*x)[:1]),
    "plain numbers": (np.cumsum, lambda layer, x: np.zeros(3)), "a list": (np.flip, lambda *x: [FLIP(*x)]),
    "length": (np.cumsum, lambda layer, x: batched.wrap_batched(np.cumsum(inside(layer, x), 1)[:1], layer)),
    "a copy where NumPy has a view": (np.flip, lambda *x: FLIP(*x).copy()),
    "two results for one": (SLOGDET, lambda layer, a: (a, a)), "one for two": (SLOGDET, lambda layer, a: a),
    "three for two": (SLOGDET, lambda layer, a: (a[0, 0],) * 3),
    "no error": (np.linalg.inv, lambda layer, a: a),
}  # fmt: skip


@pytest.mark.parametrize(("function", "form"), WRONG.values(), ids=WRONG)
def test_a_form_that_is_wrong_is_not_used(function, form, monkeypatch):
    monkeypatch.setattr(looping, "KNOWN", {})
    monkeypatch.setitem(FORMS, function, form)

    def f(x):
        y = x * 1.0
        z = function(y)
        y[0] = 7.0
        return [*z] if isinstance(z, tuple) else z

    batch = {SLOGDET: M[:, :, :2], np.linalg.inv: np.ones((2, 2, 2))}.get(function, X)
    for _ in range(2):
        assert not difference(outcome(af.vmap(f, loop="allow"), batch), outcome(by_loop, f, batch), 1e-12)
    with pytest.raises(BatchError, match=r"which has no batched form|LinAlgError in inv|np\.asarray, np\.array"):
        af.vmap(f, loop="refuse")(batch)


def test_a_form_that_gives_a_view_where_numpy_copies_is_mended(monkeypatch):
    monkeypatch.setattr(looping, "KNOWN", {})
    monkeypatch.setitem(FORMS, np.sort, lambda layer, x: x[...])
    f = after(lambda z, x: np.sort(z).__setitem__(0, 7.0))
    np.testing.assert_array_equal(af.vmap(f, loop="refuse")(np.sort(X)), np.sort(X))


HELD: ContextVar = ContextVar("held")
GIVEN: ContextVar = ContextVar("given")


@pytest.mark.parametrize("write", [
    lambda z, x: z.__setitem__(0, x[0]), lambda z, x: z.__setitem__(np.argsort(x)[:1], 7.0), lambda z, x: z.__iadd__(x),
])  # fmt: skip
def test_an_array_of_the_batch_that_nothing_names_is_shared_by_the_examples_inside(write):
    """At the first call, which is compared with one example, the numbers of the examples are equal."""

    def inner(x):
        write(HELD.get(), x)
        return x * 1.0

    def f(y, mapped):
        HELD.set(y * 1.0)
        mapped(inner)(GIVEN.get())
        return HELD.get()

    at_once = af.vmap(lambda y: f(y, lambda g: af.vmap(g, loop="allow")), loop="allow")
    for batch in (np.zeros((2, 3)), X):
        GIVEN.set(batch)
        wanted = [f(y, lambda g: lambda rows: [g(x) for x in rows]) for y in batch]
        np.testing.assert_array_equal(at_once(batch), wanted)


@pytest.mark.parametrize("short", ["all examples", "one example", "a call"])
def test_no_loop_begins_where_memory_is_short(short, monkeypatch):
    monkeypatch.setattr(looping, "KNOWN", {})

    def refuse(*_):
        raise MemoryError

    def f(x):
        if short == "a call":
            return np.cumsum(x)
        if (type(x) is np.ndarray) == (short == "one example") and not HELD.get(None):
            HELD.set("once")
            refuse()
        return x * 2.0

    if short == "a call":
        monkeypatch.setitem(FORMS, np.cumsum, refuse)
    before = HELD.set(None)
    try:
        with pytest.raises(MemoryError):
            af.vmap(f, loop="allow")(X)
    finally:
        HELD.reset(before)


def test_a_number_that_all_share_hinders_no_comparison():
    found = af.vmap(lambda x, n: x * (n if type(x).__name__ == "ndarray" else 3), (0, None), loop="allow")(X, 2)
    np.testing.assert_array_equal(found, X * 2)


def test_a_primitive_that_fills_an_array_and_looks_at_numbers_in_its_derivative(monkeypatch):
    monkeypatch.setattr(looping, "KNOWN", {})

    @af.primitive
    def doubled(x):
        z = af.zeros(3)
        z[...] = 2.0 * x
        return z

    doubled.defvjp(x=lambda g: 2.0 * g if g[0] > 0 else g + g)

    def f(x):
        y = z = doubled(x)
        z += 1.0
        return y

    np.testing.assert_array_equal(af.vmap(f, loop="refuse")(X), by_loop(f, X))
    slope = af.grad(lambda x: np.sum(doubled(x) ** 2))
    with pytest.warns(LoopWarning, match="the derivative of doubled"):
        np.testing.assert_array_equal(af.vmap(slope)(X), by_loop(slope, X))
    second = af.grad(lambda x: np.sum(slope(x) ** 2))
    np.testing.assert_array_equal(af.vmap(second, loop="allow")(X), by_loop(second, X))


SQUARE = X[[0, 1, 0]] + np.eye(3)
# What a derivative of the user's own does with the seed, which all examples share; and whether that needs no loop.
OF_A_SEED = {
    "a number": (lambda g, x: float(g) * x, True), "a question": (lambda g, x: x if g > 0 else -x, True),
    "an array": (lambda g, x: np.asarray(g) * x, True),
    "an array of its own": (lambda g, x: (np.asarray(g).fill(7.0), x * float(g))[1], True),
    "a product": (lambda g, x: np.dot(g, x), True),
    "a question of several": (lambda g, x: x if g * np.ones(3) > 0 else -x, False),
    "a write": (lambda g, x: overwritten(np.ones(3) * g, x), False),
    "a write of one number": (lambda g, x: overwritten(np.ones(3) * g, x[0]), False),
    "a write at places": (lambda g, x: np.add.at(z := np.ones(3) * g, np.argsort(x)[:1], 7.0) or z, False),
    "in place": (lambda g, x: (np.ones(3) * g).__iadd__(x), False),
    "in place, with a number": (lambda g, x: (np.ones(3) * g).__iadd__(x[0]), False),
}  # fmt: skip


def overwritten(z, new):
    z[...] = new
    return z


@pytest.mark.parametrize("name", OF_A_SEED)
def test_a_derivative_of_the_users_own_may_ask_what_all_examples_share(name):
    vjp, at_once = OF_A_SEED[name]
    total = af.primitive(lambda x: np.sum(x) * 2.0)
    total.defvjp(x=vjp)
    slope = lambda x: af.vjp(total, x)[1](np.float64(3.0))[0]  # noqa: E731
    mapped = af.vmap(slope, loop="refuse" if at_once else "allow")
    for batch in (np.ones((3, 3)), SQUARE):  # compared is the first
        assert not difference(outcome(mapped, batch), outcome(by_loop, slope, batch), 0)


def test_an_empty_batch_may_get_another_shape():
    assert af.vmap(lambda x: x.reshape(3, -1), loop="refuse")(X[:0]).shape == (0, 3, 1)
    assert af.vmap(np.linalg.inv, loop="refuse")(np.zeros((0, 3, 3))).shape == (0, 3, 3)


@pytest.mark.parametrize(("reason", "f"), [
    ("ValueError in tensordot", lambda x: np.tensordot(x, x.T, 2)), ("np.reshape", lambda x: x.reshape(4, 3)),
])  # fmt: skip
def test_an_empty_batch_hides_no_shapes_that_do_not_fit(reason, f):
    with pytest.raises(BatchError, match=reason):
        af.vmap(f)(M[:0])


# Programs in which a check must say yes: they need no loop.
AT_ONCE = {
    "no interface of a device": lambda x: x * (2.0 if hasattr(x, "__cuda_array_interface__") else 3.0),
    "errors that nobody hears": np.errstate(divide="ignore")(lambda x: 1.0 / x),
    "a mask of the shape in front": after(lambda z, x: z.__setitem__(x > 0, 0.0), lambda x: np.outer(x, x)),
    "out= of the same dtype": after(lambda z, x: np.cumsum(x, out=z)),
    "out= of a truth": after(lambda z, x: np.any(x > 0, out=z[0, ...])),
    "out= of a wider dtype": lambda x: np.add(x, 1.0, out=np.zeros_like(x, complex)),
    "a number at a mask": after(lambda z, x: z.__setitem__(x > 0, x[0])),
    "an argument of the deepest in a slice": lambda x: x[slice(0, 2)],
    "a dict with an example in it": lambda x: np.sum(np.ones(3), where=x > 0),
    "astype that copies nothing": lambda x: x.astype(float, copy=False),
    "astype to another order": lambda x: np.outer(x, x).astype(float, order="F", copy=False),
    "a power of an array": lambda x: x ** np.arange(3), "a power by an array": lambda x: 2.0**x,
    "own truth": lambda x: x * bool(np.shape(x)), "astype copies": after(lambda z, x: z.astype(float).fill(7.0)),
    "astype copies for another order": after(
        lambda z, x: z.astype(float, order="F", copy=False).fill(7.0), lambda x: np.outer(x, x)
    ),
    "astype to another dtype": lambda x: x.astype(np.float32, copy=False),
    "a number in an array of its own": lambda x: (s := np.sum(x), np.reshape(s, 1).fill(7.0), s + x)[2],
    "an array without axes": after(lambda z, x: np.squeeze(z[:1].reshape(())).fill(7.0)),
    "zeros like": lambda x: (z := np.zeros(3, like=x), z.__setitem__(0, x[1]), z)[2],
    "a number dot an array": lambda x: np.dot(x[0], x) + np.inner(x[1], x),
    "stacks of matrices": lambda x: np.multiply.outer(x, np.outer(x, x)) @ np.multiply.outer(x, np.outer(x, x)),
    "a stack times a matrix": lambda x: np.multiply.outer(np.outer(x, x), x) @ np.outer(x, x),
    "out= of clip": after(lambda z, x: np.clip(x, 0.0, 2.0, out=z)),
    "infinite numbers": lambda x: np.cumsum(x + np.inf),
    "an index with None between places": lambda x: np.outer(x, x)[np.argsort(x), None, np.arange(3)],
    "an index of True": lambda x: x[np.array(True)],
    "a stack of matrices times a vector": lambda x: np.multiply.outer(np.outer(x, x), x) @ x,
    "eigenvalues that are all complex": lambda x: np.linalg.eigvals(TURN * x[0]),
    "another byte order": lambda x: x.astype(">f8"),
    "dtype= of a ufunc": lambda x: np.add(x, 1.0, dtype=np.float32, casting="same_kind"),
    "weights": lambda x: np.quantile(np.outer(x, x), 0.3, axis=0, weights=np.abs(X[0]), method="inverted_cdf"),
    "a write that is differentiated": lambda x: af.grad(lambda v: np.sum(two_first(v, x) ** 2))(x),
}  # fmt: skip


def two_first(v, x):
    z = v * 1.0
    z[np.argsort(x)[:2]] = v[:2] * v[0]
    return z


@pytest.mark.parametrize("name", AT_ONCE)
def test_without_a_reason_there_is_no_loop(name):
    found, expected = af.vmap(AT_ONCE[name], loop="refuse")(X), by_loop(AT_ONCE[name], X)
    np.testing.assert_array_equal(found, expected, strict=True)
    assert found.flags.f_contiguous == expected.flags.f_contiguous


WRITES = [
    lambda x: x.__iadd__(1.0), lambda x: x.__setitem__(0, 9.0), lambda x: x[1:].fill(9.0), lambda x: np.sin(x, out=x),
    lambda x: x.sort(), lambda x: (bool(x[0] > 0), x.__setitem__(0, 9.0)),
]  # fmt: skip
OUTSIDE = {
    "array": lambda x: x * 1.0, "operation": lambda x: af.Variable(x) * 1.0, "constant": af.Constant,
    "columns": lambda x: (af.Variable(x) * 1.0).T,
}  # fmt: skip


@pytest.mark.parametrize("make", OUTSIDE)
@pytest.mark.parametrize("write", WRITES)
def test_what_is_mapped_is_read_only(make, write):
    """Nodes were written into: at once, at the comparison, and in the loop."""
    u = OUTSIDE[make](X)
    before = np.array(u)
    with pytest.raises(ValueError, match="read-only"):
        af.vmap(lambda x: (write(x), x * 2.0)[1], int(make == "columns"), loop="allow")(u)
    np.testing.assert_array_equal(np.array(u), before)
    assert u.flags.writeable


def put_along(z, x):
    np.put_along_axis(z, np.argsort(W, 0)[:2], x[:2], 0)


*A, W = np.random.default_rng(3).normal(size=(4, 4, 4))


@pytest.mark.parametrize("f", [
    lambda x: x[0, 0, 0], lambda x: x[0, 0][1], lambda x: x[np.array([0]), 0, 0], lambda x: x[True],
    lambda x: np.transpose(x, (0,)), lambda x: np.tril(np.linalg.matrix_transpose(x[0])), lambda x: x.__iadd__(W),
    lambda x: np.diag(np.stack([x, x])), lambda x: np.sum(x[0, 0], axis=1), lambda x: np.matmul(x[0, 0], W),
    lambda x: np.tensordot(x, W[:3], 1), lambda x: np.linalg.solve(x[0], W), lambda x: np.linalg.inv(x[0]),
    after(lambda z, x: np.put_along_axis(z, np.argsort(x.ravel()), x.ravel(), None)),
    lambda x: np.sum(af.grad(lambda x: np.sum(after(put_along)(x)))(x)), lambda x: np.copyto(np.zeros((4, 4)), x),
    lambda x: np.add.at(W * 1.0, 0, x[0]), after(lambda z, x: z.__setitem__(x > 0, x[0])),
    lambda x: np.linalg.cholesky(x), lambda x: x + np.ones((3, 4, 4)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")
def test_errors_are_those_of_a_loop(f):
    """Type and text; or the values, where an example can what a batch cannot."""
    assert not difference(outcome(af.vmap(f), np.stack(A)), outcome(by_loop, f, np.stack(A)), 0, words=True)


@pytest.mark.parametrize(("name", "f"), [
    ("np.add.reduceat", lambda x: np.add.reduceat(x, np.argsort(x[0])[:2], 1)),
    ("np.linalg.pinv", lambda x: np.linalg.pinv(x, x[0, 0])), ("np.sum", lambda x: np.sum(x, initial=x[0, 0])),
    ("np.repeat", lambda x: np.repeat(x, x[0].astype(int))), ("np.full_like", lambda x: np.full_like(x, x[0])),
    ("np.pad", lambda x: np.pad(x, 1, constant_values=x[0, 0])),
    ("np.quantile", lambda x: np.quantile(x, x[0, 0])), ("np.interp", lambda x: np.interp(x[0], x[1], x[2])),
])  # fmt: skip
def test_an_empty_batch_has_no_example_to_ask(name, f):
    with pytest.raises(BatchError, match=f"{name}, which has no batched form .*: an empty batch has no example"):
        af.vmap(f)(np.zeros((0, 4, 4)))
