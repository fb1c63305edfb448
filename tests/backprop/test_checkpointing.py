"""Checkpoints, and records that keep no value."""

import dataclasses
import functools
import sys
import tracemalloc
from collections import namedtuple

import numpy as np
import pytest
from checks import gradients, same

import autoflow as af
from autoflow import pytree
from autoflow.backprop.checkpointing import STRATEGIES, checkpoint, checkpointing
from autoflow.errors import LostGradientError, StaleValueError
from autoflow.rules.linalg import indexed_sum

N = 5000  # more than af.options.keep


def layer(x, w, b):
    z = x @ w + b
    return z / (1 + np.exp(-z)) * np.tanh(z)


def parts(shape=(100, 64)):
    rng = np.random.default_rng(0)
    w, b = af.Variable(0.1 * rng.normal(size=(64, 64))), af.Variable(rng.normal(size=64))
    return af.Variable(rng.normal(size=shape)), w, b


# -- checkpoint


def test_gradients_of_arguments_and_of_what_is_captured():
    x, w, b = parts()
    plain = gradients(lambda: np.sum(layer(x, w, b) * x), x, w, b)
    for run in (
        lambda: checkpoint(layer)(x, w, b), lambda: checkpoint(layer, x, w, b),
        lambda: checkpoint(layer, x, w, b, policy="products"), lambda: checkpoint(lambda y: layer(y, w=w, b=b))(x),
        lambda: checkpoint(lambda all: layer(*all))([x, w, b]),
    ):  # fmt: skip
        same(plain, gradients(lambda run=run: np.sum(run() * x), x, w, b))


@pytest.mark.parametrize("f", [np.fft.fft, lambda x: x * 2j, lambda x: np.fft.irfft(x + 1j), np.emath.sqrt])
def test_a_real_argument_of_complex_functions_is_sent_the_real_part(f):
    x, w = np.array([-1.0, 2.0, -3.0, 4.0]), np.arange(1.0, 7.0) * (1 - 2j)

    def loss(x):
        z = f(x)
        return np.sum(np.real(z * w[: z.size]))

    np.testing.assert_array_equal(af.grad(checkpoint(loss))(x), af.grad(loss)(x))


def test_checkpoints_nest_and_run_twice_each():
    x, w, b = parts()
    runs = []

    def counted(x):
        runs.append(1)
        return layer(x, w, b)

    def deep(x):
        return functools.reduce(lambda y, _: checkpoint(counted)(y), range(3), x)

    plain = gradients(lambda: np.sum(layer(layer(layer(x, w, b), w, b), w, b)), x, w, b)
    same(plain, gradients(lambda: np.sum(deep(x)), x, w, b))
    assert len(runs) == 6
    runs.clear()
    same(plain, gradients(lambda: np.sum(checkpoint(deep)(x)), x, w, b))
    assert len(runs) == 9  # forward, the outer one again, each inner one again


def test_several_results_constants_and_unused_ones():
    x = parts()[0]

    def f(x):
        y = np.tanh(x)
        return y * 2, 3.0 * x, np.argmax(y.value), x

    _, unused, place, itself = checkpoint(f)(x)
    assert type(place) is np.int64
    assert not np.shares_memory(itself, x)
    assert unused.requires_grad
    both = gradients(lambda: np.sum(sum(checkpoint(f)(x)[::3])), x)
    same(both, gradients(lambda: np.sum(np.tanh(x) * 2 + x), x))


Pair, Fields = namedtuple("Pair", "first second"), dataclasses.make_dataclass("Fields", ["first", "second"])
RESULTS = {
    "dict": lambda x: {"a": np.sin(x), "b": np.cos(x) * x}, "list": lambda x: [np.sin(x), np.cos(x) * x],
    "list of one": lambda x: [np.sin(x)], "named tuple": lambda x: Pair(np.sin(x), np.cos(x) * x),
    "dataclass": lambda x: Fields(np.sin(x), {"b": np.cos(x) * x}),
    "nested": lambda x: (np.sin(x), (np.cos(x) * x, [x * 2.0])),  # as an LSTM returns its state
    "with others": lambda x: {"y": np.sin(x), "n": 3, "s": 2.5, "text": "a", "none": None, "f": len, "flag": True},
    "with arrays": lambda x: (np.ones(2), np.sin(x), np.float64(1.0), af.Constant(2.0), x.value > 1.0),
    "twice the same": lambda x: (lambda y: {"a": y, "b": y})(np.sin(x)), "only others": lambda x: {"a": 1.0},
}  # fmt: skip


@pytest.mark.parametrize("kind", RESULTS)
def test_results_are_those_of_the_plain_call(kind):
    """The same containers with the same types in them, the same gradients, and the insides are not kept."""
    f, runs, x = RESULTS[kind], [], af.Variable([1.0, 2.0])

    def counted(x):
        runs.append(1)
        return f(x)

    def loss(made):
        return sum([np.sum(z * k) for k, z in enumerate(live(made), 1)])

    def live(made):
        return [z for z in af.tree_leaves(made) if isinstance(z, af.Operation)]

    plain, made = f(x), checkpoint(counted)(x)
    assert type(made) is type(plain)
    assert af.tree_map(type, made) == af.tree_map(type, plain)
    same([z.value for z in live(made)], [z.value for z in live(plain)])
    if live(plain):
        same(gradients(lambda: loss(plain), x), gradients(lambda: loss(made), x))
        second = af.grad(af.grad(lambda t: loss(checkpoint(f)(t * np.array([1.0, 2.0])))))(1.3)
        assert second == pytest.approx(af.grad(af.grad(lambda t: loss(f(t * np.array([1.0, 2.0])))))(1.3))
    assert len(runs) == 1 + bool(live(plain))


@pytest.mark.parametrize("dtype", ["g", "G", ">g"])
def test_bytes_that_fill_up_long_doubles_do_not_count(dtype):
    """They are whatever was there before."""
    f = checkpoint(lambda v: (v * 2.5)[:, :2] + 1.0)
    for k in range(30):
        np.sum(np.real(f(af.Variable(np.full((3, 3), k, dtype))))).backward()


def test_higher_derivatives_and_transforms():
    f = plain = lambda t: np.sin(t) * t**2
    f = checkpoint(f)
    for _ in range(3):
        f, plain = af.grad(f), af.grad(plain)
        assert f(1.3) == plain(1.3)


def test_generators_and_modes_are_restored():
    x = af.Variable(np.ones(N))

    def noisy(x, rng):
        seen.append(af.options.digits)
        mask = rng.random(N) < 0.5
        return np.where(mask, x * 2.0, 0.0)

    for call in (lambda r: checkpoint(noisy)(x, r), lambda r: checkpoint(lambda x: noisy(x, r), generators=[r])(x)):
        seen = []
        rng, twin = np.random.default_rng(1), np.random.default_rng(1)
        with af.options(digits=7):
            y = call(rng)
        before = rng.bit_generator.state
        (g,) = gradients(y.sum, x)
        assert np.array_equal(g, 2.0 * (twin.random(N) < 0.5))
        assert rng.bit_generator.state == before
        assert seen == [7, 7]


def test_nothing_to_record():
    x = af.Variable(2.0)
    with af.no_grad():
        assert isinstance(checkpoint(np.sin)(x), af.Constant)
    assert checkpoint(lambda x: x * 2)(3.0) == 6.0
    assert checkpoint(lambda x: "text")(x) == "text"


def test_what_was_overwritten_is_noticed():
    x = af.Variable(np.ones(3))
    y = checkpoint(lambda x: np.exp(x))(x)
    with af.no_grad():
        x += 1
    with pytest.raises(StaleValueError):
        y.sum().backward()
    small = np.ones(3)
    y = checkpoint(lambda x, c: x * c)(x, small)
    small[:] = 7
    assert np.array_equal(gradients(lambda: y.sum(), x)[0], np.ones(3))


def test_another_way_is_noticed():
    x, other = af.Variable(1.0), af.Variable(2.0, name="other")
    ways = iter([lambda: x * 1.0, lambda: x * other])
    y = checkpoint(lambda: next(ways)())()
    with pytest.raises(LostGradientError, match="used other when it ran again"):
        y.backward()


def test_an_error_the_second_time():
    x = af.Variable(1.0)
    runs = []

    def f(x):
        runs.append(1)
        if len(runs) == 2:
            raise KeyboardInterrupt
        return x * 2

    with af.options(digits=5):
        y = checkpoint(f)(x)
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    assert af.options.digits == 4
    assert x.grad is None
    y.backward()
    assert x.grad == 2.0


def peak(f):
    f()
    tracemalloc.start()
    f()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def chain(n, segment):
    """n layers, each of which keeps one array, in checkpoints of ``segment`` layers."""
    x = af.Variable(np.full(20_000, 0.1))

    def some(y):
        for _ in range(segment or n):
            y = np.tanh(y)
        return y

    run = checkpoint(some) if segment else some

    def step():
        y = x
        for _ in range(n // (segment or n)):
            y = run(y)
        y.sum().backward()

    return step


def test_memory_of_a_chain_grows_with_the_root():
    one = 20_000 * 8
    assert peak(chain(100, 0)) > 95 * one
    assert peak(chain(100, 10)) < 30 * one
    assert peak(chain(400, 20)) < 55 * one


# -- checkpointing


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("keep", [0, 4096])
def test_gradients_are_the_same(create_graph, keep):
    x, w, b = parts()

    def loss():
        y = layer(layer(x, w, b), w, b)[1:].T * 2.0 + np.ones(99)
        return np.sum(np.concatenate([y, np.where(y > 0, y, -y)]) ** 2) + np.mean(x.reshape(-1)[::2] * 3.0)

    plain = gradients(loss, x, w, b)
    with af.options(keep=keep):
        found = af.gradients(checkpointing()(loss)(), [x, w, b], create_graph=create_graph)
    for ours, theirs in zip(found, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_second_derivatives():
    x = np.linspace(0.1, 1.0, N)
    f = lambda x: np.sum(np.exp(np.sin(x)) * x)  # noqa: E731
    h = lambda f: af.grad(lambda x: np.sum(af.grad(f)(x) ** 2))(x)  # noqa: E731
    np.testing.assert_allclose(h(checkpointing()(f)), h(f))


def test_each_value_is_computed_once(monkeypatch):
    x = af.Variable(np.ones(N))
    calls = []
    with checkpointing():
        z = y = np.tanh(x)
        for _ in range(5):
            z = z * y + y
        z = z.sum()
    del y
    monkeypatch.setattr(af.rules.RULES[np.tanh], "compute", lambda x: calls.append(1) or np.tanh(x))
    z.backward()
    assert len(calls) == 1


def test_values_are_let_go_and_a_long_chain_needs_no_recursion():
    x = af.Variable(np.full(N, 0.5))
    with checkpointing():
        y = x
        for _ in range(3000):
            y = y + 0.001
        z = np.sum(y * y)
    record = y.grad_fn
    del y
    assert record.value is None
    chain = [record]
    while isinstance(chain[-1].parents[0], type(record)):
        chain.append(chain[-1].parents[0])
    assert sum(r.value is not None for r in chain) == 3000 // 13
    z.backward()
    np.testing.assert_allclose(x.grad, 2 * 3.5)


@pytest.mark.parametrize("change", [
    lambda w, c, m, p: af.no_grad().call(w.__iadd__, 1), lambda w, c, m, p: c.__setitem__(slice(None), 5.0),
    lambda w, c, m, p: m.__imul__(2.0), lambda w, c, m, p: p.__imul__(2.0),
])  # fmt: skip
def test_overwritten_values_are_noticed(change):
    x, w = af.Variable(np.ones((80, 80))), af.Variable(np.eye(80))
    c, p = af.Constant(np.ones((80, 80))), np.ones((80, 80))
    with checkpointing():
        m = x @ w
        z = np.sum(np.exp(m * c + p))
    change(w, c, m, p)
    with pytest.raises(StaleValueError):
        z.backward()
    assert x.grad is None


def test_own_strategy():
    asked = []

    class OnlyExp:
        def is_memory_bound(self, operation):
            asked.append((operation.opmethod, operation.shape))
            return operation.opmethod == "exp"

    x = af.Variable(np.ones(N))
    with checkpointing(OnlyExp()):
        y = np.exp(x)
        z = np.sin(y)
    e, s = y.grad_fn, z.grad_fn
    total = z.sum()
    del y, z
    assert asked == [("exp", (N,)), ("sin", (N,))]
    assert e.value is None
    assert s.value is not None
    total.backward()
    np.testing.assert_allclose(x.grad, np.cos(np.e) * np.e)
    assert STRATEGIES["balanced"](x * 1.0)
    assert not STRATEGIES["balanced"](x.sum())


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: checkpointing("lots"), ValueError, "no strategy 'lots'; there is balanced"),
    (lambda: checkpointing(object()), TypeError, r"a method is_memory_bound\(operation\); object has none"),
    (lambda: checkpoint(np.exp, policy="dots"), ValueError, "no strategy 'dots'; there is balanced, products"),
    (lambda: checkpoint(np.exp, policy="products", generators=[np.random]), TypeError, "so it takes no generators"),
])  # fmt: skip
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def normalised(x, w, b):
    """Products, and between them what is elementwise, sums, or neither."""
    h = x @ w + b
    h = h / np.sqrt(np.mean(h * h, axis=-1, keepdims=True) + 1e-5)
    return np.einsum("ij,kj->ik", np.exp(h - np.max(h, axis=-1, keepdims=True)), w) * np.sum(h)


@pytest.mark.parametrize("keep", [0, 4096])
@pytest.mark.parametrize("how", ["mode", "policy"])
def test_only_products_are_kept(keep, how):
    given = [af.Variable(np.random.default_rng(0).normal(size=n)) for n in ((6, 5), (5, 5), 5)]
    wrap = {"mode": checkpointing("products"), "policy": lambda f: checkpoint(f, policy="products")}[how]
    with af.options(keep=keep):
        z = wrap(normalised)(*given).sum()
        if keep == 0:
            kept = {r.rule.function for r in records_behind(z) if r.value is not None}
            assert kept <= {np.matmul, indexed_sum, np.sum, None}, kept  # the last sum stands outside
            assert {np.matmul, indexed_sum} <= kept
        same(gradients(lambda: z, *given), gradients(lambda: normalised(*given).sum(), *given))


def test_a_policy_runs_nothing_again_and_keeps_random_numbers():
    calls, rng = [], np.random.default_rng(0)

    def noisy(x):
        calls.append(1)
        return np.exp(x * rng.normal(size=x.shape))

    x = af.Variable(np.ones(N))
    z = checkpoint(noisy, policy="products")(x)
    z.sum().backward()
    assert calls == [1]
    noise = np.random.default_rng(0).normal(size=N)
    np.testing.assert_allclose(x.grad, noise * np.exp(noise))


def records_behind(z):
    found, queue = {}, [z.grad_fn]
    for record in queue:
        if record is not None and id(record) not in found:
            found[id(record)] = record
            queue += [p for p in record.parents if hasattr(p, "rule")]
    return list(found.values())


def test_less_memory():
    x, w, b = parts((2000, 64))

    def step():
        y = x
        for _ in range(6):
            y = layer(y, w, b)
        y.sum().backward()

    assert peak(checkpointing()(step)) < 0.6 * peak(step)


def test_only_the_first_run_is_heard():
    x, heard = af.Variable(2.0), []
    with af.on_operation(heard.append):
        z = checkpoint(lambda x: np.sin(x) * x)(x)
    names = [node.opmethod for node in heard]
    assert names == ["sin", "multiply", "checkpoint"]
    with af.on_operation(heard.append):
        z.backward()
    assert len(heard) == 3
    with af.detect_anomaly(), checkpointing(), pytest.raises(af.errors.AnomalyError, match="sqrt sent inf"):
        checkpoint(lambda x: np.sqrt(x * 0.0))(x).backward()  # these modes hear the second run


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("hook", [lambda k: [lambda g: g * 2, lambda g: g * 10][k], lambda k: lambda g, k=k: g * k])
def test_hooks_inside_are_those_of_the_first_run(hook, limit):
    """Not one hook in the first run only, nor another one in the second."""
    runs = []

    def f(x):
        z = x * 2
        if len(runs) < limit:
            z.register_hook(hook(len(runs)))
        runs.append(1)
        return z * 3

    z = checkpoint(f)(af.Variable(2.0))
    with pytest.raises(StaleValueError, match="what they were computed from"):
        z.backward()


@pytest.mark.parametrize("wrap", [
    checkpoint, lambda f: checkpoint(checkpoint(f)), lambda f: checkpoint(lambda u: checkpoint(f)(u * 1.0)),
])  # fmt: skip
def test_hooks_on_what_was_there_before_are_registered_once(wrap):
    def calls(wrap):
        called, x = [], af.Variable(2.0, name="x")
        u = x * 3

        def f(v):
            x.register_hook(lambda g: called.append("x"))
            x.register_post_accumulate_hook(lambda x: called.append("after x"))
            u.register_hook(lambda g: called.append("u"))
            handle = x.register_hook(lambda g: called.append("removed"))
            handle.remove()
            handle.remove()
            z = np.sin(v) * x
            z.register_hook(lambda g: called.append("z"))
            return z * 2 + u

        z = wrap(f)(u)
        for _ in range(2):
            z.backward()
        return called

    assert calls(wrap) == calls(lambda f: f) == ["z", "u", "x", "after x"] * 2


RETURNED = {
    "itself": lambda h: h, "in a dict": lambda h: {"h": h}, "with others": lambda h: (h * 2, h),
    "twice": lambda h: (h, h), "a view of it": lambda h: h[:1], "a view kept": lambda h: h,
}  # fmt: skip


@pytest.mark.parametrize("name", RETURNED)
@pytest.mark.parametrize("again", [False, True])
def test_a_node_that_the_function_has_kept_stays_as_it_is(name, again):
    kept = []

    def f(x):
        h = np.tanh(x) if again else x * 2
        kept.append(h[1:] if name == "a view kept" else h)
        return RETURNED[name](h)

    x, w = af.Variable([1.0, 2.0]), af.Variable(3.0)
    out = pytree.tree_leaves(checkpoint(f)(x))[-1]
    numbers = np.array(kept[0].value)
    out *= w
    np.testing.assert_array_equal(kept[0].value, numbers)
    kept[0].sum().backward()
    slope = 1 - np.tanh(x.value) ** 2 if again else np.full(2, 2.0)
    np.testing.assert_allclose(x.grad, slope * [name != "a view kept", 1])
    assert w.grad is None


def test_a_result_that_the_function_has_not_kept_is_not_copied():
    memory = []

    def f(x):
        h = x * 2
        memory.append(h.value.ctypes.data)
        return h

    z = checkpoint(f)(af.Variable(np.ones(5000)))
    if sys.version_info < (3, 14):  # which does not count all references
        assert z.value.ctypes.data == memory[0]
