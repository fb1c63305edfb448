"""Writes that an exception cuts short: the true gradient, or StaleValueError; never a wrong number."""

import threading
import warnings

import numpy as np
import pytest
from interrupts import interrupt, places
from threads import in_threads

import autoflow as af
from autoflow.base.numbering import now
from autoflow.errors import LostGradientError, StaleValueError
from autoflow.forward.inplace import write
from autoflow.nodes import versions
from autoflow.rules import RULES

# Python prints and drops what is raised while it closes a generator or runs a finalizer.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
X = np.array([0.5, 1.5, -2.0, 3.0])
W = np.array([2.0, -1.0, 0.5, 1.25])


class Things:
    """Two Variables, an array ``y`` to write into, what was computed from it, and what else a program makes."""

    def __init__(self):
        self.x, self.w = af.Variable(X, name="x"), af.Variable(W, name="w")
        self.y = self.x * 2.0
        self.earlier = self.y * self.y + np.sin(self.x)
        self.view = self.y[1:]
        self.deep = self.y.reshape(2, 2).T[1]
        self.constant = af.zeros(4)
        self.part = self.constant[:2]
        self.plain = np.ones(4)

    def nodes(self):
        """What somebody may go on with afterwards."""
        named = {name: value for name, value in vars(self).items() if isinstance(value, af.Node)}
        return {**named, "later": self.y * self.y, "of the view": self.view * self.w[1:], "of deep": self.deep * 1.0}


WRITES = [  # statements; ``t`` are the Things
    "t.y[0] = 7.0", "t.y[1] = t.w[0] * t.w[1]", "t.y[...] = t.w", "t.y[[0, 2]] = t.w[:2]", "t.y += t.w", "t.y *= t.w",
    "t.y *= t.y[::-1]", "t.y[2] *= 3.0", "t.view *= t.w[1:]", "t.deep += t.w[:2]", "np.multiply(t.x, t.w, out=t.y)",
    "np.sum(t.x * np.ones((3, 4)), axis=0, out=t.y)", "np.add.at(t.y, [0, 0, 2], t.w[:3])",
    "np.put(t.y, [1, 3], t.w[:2])", "np.place(t.y, X > 1, t.w[:2])", "np.copyto(t.y, t.w)", "t.y.fill(5.0)",
    "t.y.sort()", "t.constant[1] = t.x[1]", "t.constant[1] = 4.0", "t.part[...] = t.x[:2] * t.w[:2]", "t.plain += t.w",
    "t.x.assign(X + 1)", "t.x.value = X * 3", "with af.no_grad(): t.x -= 0.25",
]  # fmt: skip


def writing(statement, t):
    """The statement, to be called, with these Things."""
    code, names = compile(statement, "<write>", "exec"), {"t": t, "np": np, "af": af, "X": X}
    return lambda: exec(code, names)


def outcome(node, things):
    """The numbers of a node, and the gradients of its sum, or which error says that there are none."""
    numbers = node.value.copy()
    for v in (things.x, things.w):
        v.zero_grad()
    try:
        with np.errstate(all="ignore"):
            node.sum().backward()
    except StaleValueError:
        return numbers, "stale"
    except LostGradientError:
        return numbers, "lost"
    return numbers, [0.0 if v.grad is None else v.grad.copy() for v in (things.x, things.w)]


def same(a, b):
    """Are two answers of backward equal?"""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    return all([np.allclose(g, h, rtol=1e-12) for g, h in zip(a, b, strict=True)])


def outcomes(things):
    return {name: outcome(node, things) for name, node in things.nodes().items()}


def wrong_names(found, before, after):
    """Names of what is neither as it was before the write, nor as it is after it, nor refused."""
    for name, (numbers, answer) in found.items():
        fits = [state[name] for state in (before, after) if name in state]
        right = [a for n, a in fits if np.array_equal(n, numbers) and (a != "stale" or name == "earlier")]
        if name == "earlier":  # its numbers stay: the gradient is that of before
            right = right[:1]
        if answer != "stale" and not any([same(answer, a) for a in right]):
            yield name


@pytest.mark.parametrize("statement", WRITES)
def test_interrupted_anywhere(statement):
    before = outcomes(Things())
    done = Things()
    writing(statement, done)()
    after = outcomes(done)
    for k in places(lambda: writing(statement, Things()), by_day=40):
        things = Things()
        interrupt(writing(statement, things), k)
        assert [*wrong_names(outcomes(things), before, after)] == [], f"place {k}"


def check_is_refused(things, y):
    """An array whose write has failed can be read, and gives no gradient, until all of it is written."""
    assert y.value.shape == y.shape
    with np.errstate(all="ignore"), pytest.raises(StaleValueError, match=r"failed halfway.*Write all of it again"):
        y.sum().backward()
    with np.errstate(all="ignore"), pytest.raises(StaleValueError, match="failed halfway"):
        (y * 2).sum().backward(create_graph=True)
    y[...] = things.w[: y.size] * 3.0
    things.w.zero_grad()
    y.sum().backward()
    np.testing.assert_array_equal(things.w.grad, np.where(np.arange(4) < y.size, 3.0, 0.0))
    assert things.x.grad is None


def raising(kind, flag):
    raise ValueError(kind)


# Three ways to let NumPy's arithmetic raise: each when it has written already.
ERRORS_OF = {
    "warnings": lambda: warnings.catch_warnings(action="error"), "raise": lambda: np.errstate(all="raise"),
    "call": lambda: np.errstate(all="call", call=raising),
}  # fmt: skip


ZERO = np.array([0.0, 1.0, 1.0, 1.0])
FAILING = {
    "/=": lambda t: t.y.__itruediv__(ZERO), "*=": lambda t: t.y.__imul__(np.array([1e308, 1e308, 1e308, 1e308])),
    "**=": lambda t: t.y.__ipow__(0.5), "out": lambda t: np.divide(t.x, ZERO, out=t.y),
    "view": lambda t: t.view.__itruediv__(ZERO[:3]), "deep": lambda t: t.deep.__itruediv__(ZERO[:2]),
    "part": lambda t: t.y[:2].__itruediv__(ZERO[:2]),
}  # fmt: skip


@pytest.mark.parametrize("way", ERRORS_OF)
@pytest.mark.parametrize("name", FAILING)
def test_arithmetic_that_raises(name, way):
    t = Things()
    with ERRORS_OF[way](), pytest.raises((RuntimeWarning, FloatingPointError, ValueError)):
        FAILING[name](t)
    with np.errstate(all="ignore"):
        assert [outcome(z, t)[1] for z in (t.earlier, t.y, t.y * t.w)] == ["stale"] * 3
    t.x.zero_grad(), t.w.zero_grad()
    check_is_refused(t, t.y)


def test_a_constant_whose_write_failed_forgets_all_when_numbers_are_written():
    t = Things()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        t.y /= ZERO
    t.y.fill(3.0)
    assert isinstance(t.y, af.Constant)
    assert not t.y.requires_grad
    assert "const" in t.y.name


def test_a_refused_write_leaves_everything_as_it_was():
    """NumPy says no before it writes: shapes and dtypes that do not fit, an index outside."""
    for refused in (
        lambda t: t.y.__iadd__(np.zeros((2, 4))), lambda t: t.y.__setitem__(9, 1.0),
        lambda t: t.y.__setitem__([0, 9], t.w[:2]), lambda t: t.view.__imul__(np.zeros(2)),
        lambda t: t.y.__setitem__(slice(2), t.w), lambda t: t.x.assign(X * 1j),
        lambda t: t.constant.__iadd__(np.zeros(3)),
    ):  # fmt: skip
        t, whole = Things(), outcomes(Things())
        with pytest.raises((ValueError, IndexError, TypeError)):
            refused(t)
        found = outcomes(t)
        assert [name for name, (_, answer) in found.items() if not same(answer, whole[name][1])] == []


def test_a_value_error_of_a_signal_handler_is_no_refusal():
    """It may look like one of NumPy's."""
    t = Things()
    n = interrupt(writing("t.y *= t.w", t), 10**9)
    failed = 0
    for k in range(n):
        t = Things()
        interrupt(writing("t.y *= t.w", t), k, ValueError)
        numbers, answer = outcome(t.y, t)
        if np.array_equal(numbers, 2 * X * W):
            failed += answer == "stale"
            assert answer == "stale" or np.array_equal(answer[1], 2 * X)
        else:
            assert answer == "stale" or np.array_equal(answer[0], np.full(4, 2.0))
    assert failed


def test_the_time_of_the_latest_write_never_goes_back():
    """A thread is overtaken between the number that it takes and the note that it makes; so on one thread."""
    x = af.Variable(X)
    y = x * 1.0
    early = now()
    z = y * y
    y[0] = 5.0
    another = versions.Note(np.zeros(3), "elsewhere.py:1")
    another.stamp(early)  # taken before the write, made after it
    another.was_written(early)
    with pytest.raises(StaleValueError, match="overwritten"):
        z.sum().backward()


def test_a_write_that_ends_later_than_it_began():
    """Whoever reads the memory after the note and before the write, as a signal handler may, has read old numbers."""
    t, read = Things(), []

    def run(memory, *values):
        read.append(t.y * t.w)
        np.multiply(*values, out=memory)

    write(t.y, RULES[np.multiply], (t.y, 3.0), run)
    with pytest.raises(StaleValueError):
        read[0].sum().backward()
    t.y.sum().backward()
    np.testing.assert_array_equal(t.x.grad, np.full(4, 6.0))


def test_threads_that_write_into_arrays_of_their_own():
    stop, wrong = threading.Event(), []

    def writes():
        a = af.Variable(X) * 1.0
        while not stop.is_set():
            a[0] = 1.0

    def reads():
        for _ in range(300):
            x = af.Variable(X)
            y = x * 1.0
            z = y * y
            y[0] = 5.0
            try:
                z.sum().backward()
                wrong.append(x.grad)
            except StaleValueError:
                pass
        stop.set()

    in_threads(writes, writes, reads)
    assert wrong == []


def test_a_view_of_views_of_views_is_written_through():
    x = af.Variable(X)
    b = x * 1.0
    v, earlier = b, b * b
    for _ in range(2000):
        v = v[:]
    v[0] = 7.0
    np.testing.assert_array_equal(b.value, [7.0, *X[1:]])
    b.sum().backward()
    np.testing.assert_array_equal(x.grad, [0.0, 1.0, 1.0, 1.0])
    with pytest.raises(StaleValueError):
        earlier.sum().backward()
    x.zero_grad()
    (v * v).sum().backward()
    np.testing.assert_array_equal(x.grad, [0.0, *2 * X[1:]])
