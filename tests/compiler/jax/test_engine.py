"""JAX itself: what a compiled function promises, with arrays of NumPy and of JAX, and what may not go wrong."""

import copy
import os
import pickle
import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from compiled import check_same
from processes import alone
from threads import in_threads
from xla import X, check, compiled, left

import autoflow as af
from autoflow.compiler.jax import table
from autoflow.errors import CompileError

pytestmark = pytest.mark.peers
jax = pytest.importorskip("jax")


def test_64_bits_without_touching_the_users_switch():
    before = jax.config.jax_enable_x64
    check(lambda x: (x * 1e-9 + 1.0).sum(), X)
    assert jax.config.jax_enable_x64 is before
    assert jax.numpy.ones(2).dtype == (np.float64 if before else np.float32)


def test_results_are_fresh_and_writeable():
    f = compiled(lambda x: (x + 1.0, x, np.zeros(2)))
    first, second = f(X), f(X)
    for a, b in zip(first, second, strict=True):
        a[...] = 7.0
        assert not np.shares_memory(a, b)
    np.testing.assert_array_equal(second[0], X + 1.0)
    assert not (X == 7.0).any()


def test_containers_numbers_and_options():
    """Dicts, tuples, numbers as part of the signature; keyword arguments."""

    def f(p, n, *, scale=1.0):
        return {"a": p["w"] * n, "b": [p["x"] ** n, (n, scale * p["w"].sum())]}

    ours, p = compiled(f), {"w": X, "x": X[0]}
    for n in (2, 3, 2):
        for options in ({}, {"scale": 2.0}):
            check_same(ours(p, n, **options), f(p, n, **options), 1e-13)
    assert len(ours.entries) == 4


def test_warnings_are_numpys():
    ours = compiled(lambda x: np.log(x))
    ours(np.ones(2))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.testing.assert_array_equal(ours(np.zeros(2)), -np.inf)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        ours(np.zeros(2))
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("error")
        ours(np.zeros(2))
    with pytest.warns(RuntimeWarning, match="divide by zero"):  # again, after a call that was to be silent
        ours(np.zeros(2))
    whole = compiled(lambda x: (6 // x, x % 2))
    whole(np.array([1, 2]))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.testing.assert_array_equal(whole(np.array([0, 2]))[0], [0, 3])
    by_numpy = compiled(lambda x: np.isinf(np.divide.accumulate(x)))
    by_numpy(np.ones(2))
    by_numpy.run_eagerly = None  # there is no reason for it
    with warnings.catch_warnings(), np.errstate(divide="ignore"):  # in the thread of XLA, too
        warnings.simplefilter("error")
        np.testing.assert_array_equal(by_numpy(np.array([1.0, 0.0])), [False, True])
    assert left(by_numpy) == {"accumulate": "no counterpart of np.divide.accumulate"}


def test_guards():
    outside, numbers = [2.0, np.ones(3)], np.ones(2000)
    ours = compiled(lambda x: x * outside[0] + outside[1])
    np.testing.assert_array_equal(ours(np.ones(3)), 3.0)
    outside[0] = 5.0
    np.testing.assert_array_equal(ours(np.ones(3)), 6.0)
    outside[1][:] = 2.0
    np.testing.assert_array_equal(ours(np.ones(3)), 7.0)
    unwatched = compiled(lambda x: x + numbers, watch=False)
    for numbers[:] in (1.0, 2.0):
        np.testing.assert_array_equal(unwatched(np.ones(2000)), 1.0 + numbers)


def test_refusals():
    for f in (
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x + np.random.default_rng().normal(),
        lambda x: float(x[0]),
    ):
        function = compiled(f, verify="second")
        with pytest.raises(CompileError):
            [function(np.ones(2)) for _ in range(2)]
    if np.dtype(np.longdouble).itemsize > 8:
        with pytest.raises(CompileError, match="has no such numbers"):
            compiled(lambda x: x + 1)(np.ones(2, np.longdouble))
    with pytest.raises(ValueError, match="XLA decides"):
        compiled(np.tanh, checkpointing="balanced")
    with pytest.raises(ValueError, match="an option of loops of our own"):
        compiled(np.tanh, own_functions=True)


def test_arrays_of_jax_stay_where_they_are():
    """And numbers are shared with NumPy's program; out of range is an error here, too."""

    def f(x, i):
        return {"z": np.tanh(x) * 2.0, "s": x[i].sum()}

    ours, i = compiled(f), np.array([1, 2])
    with jax.enable_x64(True):
        x = jax.device_put(X)
    for _ in range(2):
        found = ours(x, i)
        assert isinstance(found["z"], jax.Array)
        assert found["z"].dtype == np.float64
        np.testing.assert_allclose(np.asarray(found["z"]), np.tanh(X) * 2.0, rtol=1e-13)
        np.testing.assert_allclose(np.asarray(found["s"]), X[i].sum(), rtol=1e-12)
    assert type(ours(X, i)["z"]) is np.ndarray
    assert len(ours.entries) == 1
    with pytest.raises(IndexError):
        ours(x, np.array([1, 9]))
    root = compiled(np.linalg.cholesky)
    root(jax.numpy.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        root(jax.numpy.zeros((2, 2)))
    assert isinstance(ours(jax.numpy.ones((2, 2), np.float32), np.array([0]))["z"], jax.Array)
    with jax.enable_x64(True):
        large = jax.device_put(np.array([1, 70]))
    power = compiled(lambda i: i**i)
    power(i)
    assert isinstance(power(large), jax.Array)  # computed by eager code
    np.testing.assert_array_equal(power(large), np.array([1, 70]) ** np.array([1, 70]), strict=True)
    swap = compiled(lambda x, y: (x is y, x + y))
    assert swap(x, x)[0] is True
    outside = [1.0]
    scaled = compiled(lambda x: x * outside[0])
    scaled(x)
    outside[0] = 2.0
    np.testing.assert_array_equal(np.asarray(scaled(x)), 2.0 * X)


def test_threads():
    """Eight calls at once, with NumPy in the midst."""
    ours = compiled(lambda x: np.partition(x, 2, axis=0) * 2.0)
    for k, z in enumerate(in_threads(*[partial(ours, X + k) for k in range(8)])):
        np.testing.assert_array_equal(z, np.partition(X + k, 2, axis=0) * 2.0)


def test_plan_and_copies():
    ours = compiled(lambda x: np.partition(np.tanh(x), 1))
    ours(X)
    text = str(ours.plan())
    assert text.startswith("2 NumPy calls by JAX, as one program of XLA")
    assert f"2 is NumPy's: {table.ANOTHER_ORDER}" in text
    assert "<svg" in ours.plan().svg()
    assert str(ours.plan(jax.numpy.ones((2, 3)))).startswith("2 NumPy calls")
    with pytest.raises(ValueError, match=r"jax\.profiler"):
        ours.plan(profile=True)
    again = copy.copy(ours)
    assert type(again) is type(ours)
    np.testing.assert_array_equal(again(X), ours(X))
    step = pickle.loads(pickle.dumps(af.compile(np.tanh, engine="jax")))
    np.testing.assert_allclose(step(X), np.tanh(X), rtol=1e-14)
    assert step.how["engine"] == "jax"


def test_inside_transforms():
    """There it is eager code."""
    ours = compiled(lambda x: (np.tanh(x) ** 2).sum())
    np.testing.assert_allclose(af.grad(ours)(X), af.grad(ours.f)(X))
    x = af.Variable(X)
    ours(x).backward()
    np.testing.assert_allclose(x.grad, af.grad(ours.f)(X))
    there = jax.numpy.asarray(X, np.float32)
    for transform in (af.grad, lambda f: lambda x: af.jvp(f, (x,), (x,))[1], af.vmap):
        f = transform(lambda w: compiled(lambda x: np.sum(x * w))(there))
        np.testing.assert_allclose(f(X), transform(lambda w: np.sum(np.asarray(there) * w))(X))
    product = compiled(lambda x, y: np.sum(x * y))
    product(there, X)
    product(there, x := af.Variable(X)).backward()  # a node beside an array of JAX
    np.testing.assert_allclose(x.grad, np.asarray(there))
    with af.options(strict=True):
        assert isinstance(ours(there), np.generic)  # that of NumPy's eager code


def test_several_devices():
    """The example of docs/jax.md, on two CPUs of JAX: sharded inputs give eager code's numbers."""
    page = (Path(__file__).parents[3] / "docs" / "jax.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```py\n(.*?)```", page, re.DOTALL))
    code += """
assert len(jax.devices()) == 2 and len(data[0].sharding.device_set) == 2
expected, slope = af.value_and_grad(loss)(np.ones((3, 2)), x, y)
assert isinstance(gradient, jax.Array) and len(gradient.sharding.device_set) == 2
np.testing.assert_allclose(np.asarray(gradient), slope, rtol=1e-12)
np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-12)
rowwise = af.compile(lambda x: np.tanh(x) * 2.0, engine="jax")(data[0])
assert len(rowwise.addressable_shards) == 2 and rowwise.addressable_shards[0].data.shape == (4, 3)
sorted_by_numpy = af.compile(lambda x: np.partition(np.tanh(x), 1, axis=0), engine="jax")(data[0])
np.testing.assert_allclose(np.asarray(sorted_by_numpy), np.partition(np.tanh(x), 1, axis=0), rtol=1e-13)
"""
    alone(code, env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"})
