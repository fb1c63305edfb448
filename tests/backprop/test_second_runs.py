"""A checkpointed function runs twice: the second run is the first one, or an error."""

import collections
import functools
import itertools
import random
import time
import types

import numpy as np
import pytest
from checks import gradients, same
from support import every_pair

import autoflow as af
from autoflow.backprop import second_runs
from autoflow.backprop.checkpointing import checkpoint, checkpointing
from autoflow.errors import StaleValueError

N = 5000  # more than af.options.keep


OUTSIDE, PYTHONS = np.random.default_rng(5), random.Random(5)


class Noisy:
    __slots__ = ("rng",)

    def __init__(self, rng):
        self.rng = rng

    def __call__(self, x):
        return x * self.rng.normal(size=x.shape)


def drawing_functions():
    """Each kind of place where a generator may be, as a function of x whose gradient is the drawn numbers."""
    rng, legacy = np.random.default_rng(1), np.random.RandomState(2)
    held = {"deep": [types.SimpleNamespace(rng=np.random.default_rng(3))]}
    streams = collections.deque([np.random.Generator(np.random.MT19937(4))])
    bits, bound = np.random.PCG64(6), np.random.default_rng(10).normal
    return {
        "numpy": lambda x: x * np.random.normal(size=x.shape), "python": lambda x: x * random.random(),
        "python's own class": lambda x: x * PYTHONS.random(), "global": lambda x: x * OUTSIDE.normal(size=x.shape),
        "closure": lambda x: x * rng.normal(size=x.shape),
        "default": lambda x, rng=rng: x * rng.normal(size=x.shape),
        "legacy": lambda x: x * legacy.normal(size=x.shape),
        "container": lambda x: x * held["deep"][0].rng.normal(size=x.shape),
        "deque": lambda x: x * streams[0].normal(size=x.shape),
        "bits": lambda x: x * float(bits.random_raw(1)[0] % 1000), "slot": Noisy(np.random.default_rng(7)),
        "method": Noisy(np.random.default_rng(8)).__call__,
        "partial": functools.partial(lambda r, x: x * r.normal(size=x.shape), np.random.default_rng(9)),
        "bound": lambda x, draw=bound: x * draw(size=x.shape),
        "function of a function": lambda x: Noisy(rng)(x) + drawn_from_outside(x),
        "layer": af.nn.Dropout(0.5, rng=np.random.default_rng(11)),
        "layers": af.nn.Sequential(af.nn.Dropout(0.5, rng=np.random.default_rng(12)), lambda x: x * 2.0),
        "checkpoint in a checkpoint": checkpoint(lambda x: x * rng.normal(size=x.shape)),
    }  # fmt: skip


def drawn_from_outside(x):
    return x * OUTSIDE.normal(size=x.shape)


@pytest.mark.parametrize("kind", drawing_functions())
@pytest.mark.parametrize("n", [3, N])
def test_random_numbers_are_the_same_again(kind, n):
    """y is x times what was drawn, and x is 1: so its gradient is y."""
    x = af.Variable(np.ones(n))
    run = checkpoint(drawing_functions()[kind])
    y, z = run(x), run(x)
    assert not np.array_equal(y, z) or n == 3
    after = random.random(), np.random.random(), OUTSIDE.random()
    for result in (z, y, y):
        same([result.value], gradients(result.sum, x))
    assert after != (random.random(), np.random.random(), OUTSIDE.random())


def test_generators_are_where_they_were_after_the_second_run():
    x = af.Variable(np.ones(3))
    y = checkpoint(lambda x: x * OUTSIDE.random() * PYTHONS.random() * np.random.random())(x)
    states = [OUTSIDE.bit_generator.state, PYTHONS.getstate(), np.random.get_state()[2]]
    y.sum().backward()
    assert states == [OUTSIDE.bit_generator.state, PYTHONS.getstate(), np.random.get_state()[2]]


@pytest.mark.parametrize("n", [3, N])
def test_other_numbers_the_second_time_are_noticed(n):
    """Generators that nobody can reach, counters, iterators: all that cannot be put back."""
    x, numbers = af.Variable(np.ones(n)), itertools.count(1.0)
    counter, stream = types.SimpleNamespace(n=0), (np.full(n, k) for k in range(9))
    taken = [3.0, 2.0, 1.0]

    def counts(x):
        counter.n += 1
        return x * float(counter.n)

    for f in (
        lambda x: x * np.random.default_rng().normal(size=n), lambda x: x * random.SystemRandom().random(),
        lambda x: x * next(numbers), lambda x: x * next(stream), lambda x: x * taken.pop(), counts,
        lambda x: x * time.perf_counter_ns(), lambda x: abs(x - x.detach() + next(numbers)) ** 0.0 * x,
    ):  # fmt: skip
        y = checkpoint(f)(x)
        with pytest.raises(StaleValueError, match="this run is not the first one"):
            y.sum().backward()
        assert x.grad is None


def test_the_message_says_what_differs():
    x = af.Variable(np.ones(3))
    first, other = lambda x: (x * 2.0, x + 1.0), lambda x: (x * 2.0, x + 2.0)
    for f, g, said in (
        (first, other, r"the values of result 1 \(float64 of shape \(3,\)\) differ"),
        (first, lambda x: x * 2.0, "it returned 1 results, and 2 the first time"),
        (first, lambda x: {"a": x * 2.0, "b": x + 1.0}, r"the results \['a'\], \['b'\], and \[0\], \[1\] the first"),
        (lambda x: (x * 1.0, 2), lambda x: (x * 1.0, 3), r"the values of result 1 \(no array\) differ"),
        (lambda x: (x * 1.0, x.detach()), lambda x: (x.detach(), x * 1.0), "not what they were computed from"),
        (np.exp, lambda x: np.exp(x)[1:], r"its result was float64 of shape \(3,\) the first time, and is float64 of"),
        (np.exp, lambda x: np.exp(x).astype("f4"), r"and is float32 of shape \(3,\) now"),
        (lambda x: x * 1.0, lambda x: x * 1.0 + 0.0, "the results are the same, but it took 2 operations instead of 1"),
        (lambda x: x * 2.0, lambda x: x + x.value, "not what they were computed from"),
        (lambda x: abs(x - 0.0), lambda x: abs(x - 2.0), "not what they were computed from, so the slopes may differ"),
        (lambda x: x * 2.0, lambda x: af.Constant(x.value * 2.0), "took 0 operations instead of 1"),
    ):
        ways = iter([f, g, g])
        y = checkpoint(lambda x, ways=ways: next(ways)(x))(x)
        with pytest.raises(StaleValueError, match=said):
            (y[0] + y[1] if isinstance(y, tuple) else y).sum().backward()


def written_into():
    """Per kind of input: how it is made, how f reads it, and how it changes before backward."""
    frozen = lambda a: af.Variable(a, requires_grad=False)  # noqa: E731
    return {
        "plain": (np.array, lambda x, c: x * c, lambda c: c.__imul__(3.0)),
        "plain, one element": (np.array, lambda x, c: x * c, lambda c: c.__setitem__(-3, 9.0)),
        "plain, and only the slope changes": (np.array, lambda x, c: abs(x - c), lambda c: c.__iadd__(2.0)),
        "plain that no derivative needs": (np.array, lambda x, c: (x + c) ** 2, lambda c: c.__isub__(4.0)),
        "view of plain": (lambda a: np.array([a, a])[1], lambda x, c: x * c, lambda c: c.base.__imul__(3.0)),
        "indices": (lambda a: np.arange(a.size), lambda x, c: x[c] ** 2 * (c + 1), lambda c: c[::-1].sort()),
        "Constant": (af.Constant, lambda x, c: x * c, lambda c: c.__imul__(3.0)),
        "Constant, and only the slope changes": (af.Constant, lambda x, c: abs(x - c), lambda c: c.__iadd__(2.0)),
        "frozen Variable": (frozen, lambda x, c: x * c, lambda c: c.assign(c.value * 3.0)),
        "Variable": (af.Variable, lambda x, c: x * c, lambda c: c.assign(c.value * 3.0)),
        "Operation": (lambda a: af.Variable(a) * 1.0, lambda x, c: x * c, lambda c: c.__imul__(3.0)),
        "view of an Operation": (
            lambda a: (af.Variable(a) * 1.0)[:], lambda x, c: x * c, lambda c: c._view[1].__imul__(3.0)),
        "in a list": (lambda a: [np.array(a)], lambda x, c: x * c[0], lambda c: c[0].__imul__(3.0)),
        "in a dict in an object": (
            lambda a: types.SimpleNamespace(d={"c": np.array(a)}), lambda x, c: x * c.d["c"],
            lambda c: c.d["c"].__imul__(3.0)),
        "another in an object": (
            lambda a: types.SimpleNamespace(c=np.array(a)), lambda x, c: x * c.c, lambda c: setattr(c, "c", c.c * 3.0)),
        "another node in an object": (
            lambda a: types.SimpleNamespace(c=af.Variable(a)), lambda x, c: x * c.c,
            lambda c: setattr(c, "c", af.Variable(c.c.value * 3.0))),
        "number": (lambda a: types.SimpleNamespace(c=2.0), lambda x, c: x * c.c, lambda c: setattr(c, "c", 3.0)),
    }  # fmt: skip


PLACES = "argument", "option", "closure", "nested", "balanced", "after create_graph"


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "place", "n"), every_pair(written_into(), PLACES, [5, 500, N]))
def test_whatever_is_overwritten_is_noticed_or_was_copied(kind, place, n):
    """Generated: the gradient is that of the values of the first run, or there is an error. Never another number."""
    make, f, change = written_into()[kind]
    numbers = np.full(n, 2.0)
    x = af.Variable(np.linspace(3.0, 4.0, n))
    right = gradients(lambda: f(x, make(numbers)).sum(), x)
    x.zero_grad()
    c = make(numbers)
    if place == "balanced":
        with checkpointing():
            y = np.tanh(f(x, c) * 1e-3) * 1e3
        right = gradients(lambda: (np.tanh(f(x, make(numbers)) * 1e-3) * 1e3).sum(), x)
        x.zero_grad()
    else:
        y = {
            "argument": lambda: checkpoint(f)(x, c), "closure": lambda: checkpoint(lambda x: f(x, c))(x),
            "nested": lambda: checkpoint(lambda x: checkpoint(f)(x, c))(x),
        }.get(place, lambda: checkpoint(f)(x, c=c))()  # fmt: skip
    change(c)
    try:
        y.sum().backward(create_graph=place == "after create_graph")
    except StaleValueError:
        assert x.grad is None
    else:
        np.testing.assert_allclose(x.grad, right[0], rtol=1e-9)


def test_lists_and_dicts_of_the_arguments_are_what_they_were():
    x, w = af.Variable(np.ones(3)), af.Variable(np.full(3, 2.0))
    args, options = [w, {"k": 2.0}], {"c": 5.0}
    y = checkpoint(lambda x, args, options: x * args[0] * args[1]["k"] * options.pop("c"))(x, args, options)
    assert options == {}  # f has the caller's own the first time
    args[0], args[1]["k"] = x, 7.0
    same(gradients(y.sum, x), [np.full(3, 20.0)])
    same(gradients(y.sum, x), [np.full(3, 20.0)])


def test_running_statistics_count_once():
    rng = np.random.default_rng(0)
    batch = rng.normal(size=(20, 3))
    plain, layer = af.nn.BatchNorm(3), af.nn.BatchNorm(3)
    x = af.Variable(batch)
    expected = gradients(lambda: (plain(x) ** 3).sum(), x)
    for f in (layer, checkpoint(layer)):
        layer.running_mean[:], layer.running_var[:] = 0.0, 1.0
        same(expected, gradients(lambda f=f: (checkpoint(f)(x) ** 3).sum(), x))
        same([plain.running_mean, plain.running_var], [layer.running_mean, layer.running_var])


def test_a_run_that_was_not_needed_is_not_repeated():
    x, runs = af.Variable(np.ones(N)), []
    a = x * 1.0
    y = checkpoint(lambda x: runs.append(1) or x * 2.0)(a)
    a *= 3.0
    with pytest.raises(StaleValueError, match=r"checkpoint_\d+ .*test_second_runs.py:\d+ has overwritten"):
        y.sum().backward()
    assert runs == [1]


def test_a_second_normal_number_that_is_set_back_is_in_the_state():
    """Its bits are those of the state without it, in which it was drawn."""
    before = np.random.get_state()
    try:
        np.random.seed(0)
        np.random.normal()
        held = np.random.get_state()
        np.random.normal()
        assert not second_runs.state_of(second_runs.OWN[0])["has_gauss"]
        np.random.set_state(held)
        assert second_runs.state_of(second_runs.OWN[0])["has_gauss"]
    finally:
        np.random.set_state(before)


def test_a_transposed_array_is_another_one():
    """Its bytes are the same in memory."""
    table, calls = np.arange(2500.0).reshape(50, 50), []  # too large for a copy

    def f(x):
        calls.append(1)
        return np.sum(x * (table if len(calls) == 1 else table.T))  # with x = 1 the results are the same

    z = af.checkpoint(f)(af.Variable(np.ones((50, 50))))
    with pytest.raises(StaleValueError, match="not what they were computed from"):
        z.backward()


@pytest.mark.parametrize("order", [np.asfortranarray, np.transpose, lambda a: a[::-1, ::2], lambda a: a[:, 0]])
@pytest.mark.parametrize("n", [4, 100])
def test_arguments_in_any_order_in_memory(order, n):
    rng = np.random.default_rng(0)
    a = order(rng.normal(size=(n, n)))
    x = af.Variable(rng.normal(size=a.shape))
    af.checkpoint(lambda x, a: np.sum(np.sin(x) * a))(x, a).backward()
    np.testing.assert_allclose(x.grad, np.cos(x.value) * a)


def number(how):
    return how["by"] if isinstance(how, dict) else how


class Reversed(af.Function):
    """The derivative changes its sign, and nothing else does."""

    @staticmethod
    def forward(ctx, x, how):
        ctx.how = number(how)
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return -ctx.how * g, None


CHANGING = {  # functions whose results do not show what their slope depends on
    "Function": lambda: Reversed.apply, "Function in a checkpoint": lambda: checkpoint(Reversed.apply),
    "primitive": lambda: af.primitive(lambda x, how: x * 1.0).defvjp(x=lambda g, how: -number(how) * g),
    "checkpoint": lambda: checkpoint(lambda x, how: np.abs(x * 0 - number(how) * x) ** 2 / 9),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGING)
@pytest.mark.parametrize("as_dict", [True, False])
@pytest.mark.usefixtures("rows_as_before")
def test_what_only_the_slope_depends_on_is_compared(name, as_dict):
    x, state = af.Variable([0.0, 0.0] if name == "checkpoint" else [1.0, 2.0]), {"by": 0.5}
    changing = CHANGING[name]()
    f = checkpoint(lambda x: changing(x, dict(state) if as_dict else state["by"]) * 2.0)
    f(x).sum().backward()
    y = f(x)
    state["by"] = 3.0
    with pytest.raises(StaleValueError, match="not what they were computed from"):
        y.sum().backward()


@pytest.mark.parametrize("part", [lambda a: a, lambda a: a[1:], lambda a: a.T])
@pytest.mark.parametrize("captured", [True, False])
def test_a_second_run_writes_into_nothing_from_outside(part, captured):
    x = af.Variable([1.0, 2.0, 3.0])
    a = x * 3

    def f(given):
        v = part(a if captured else given)
        v *= 2
        return v * v

    y = checkpoint(f)(a)
    before = np.array(a.value)
    with pytest.raises(StaleValueError, match="from outside"):
        y.sum().backward()
    np.testing.assert_array_equal(a.value, before)
    assert x.grad is None
