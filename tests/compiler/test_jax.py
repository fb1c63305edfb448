"""``af.compile(f, engine="jax")``: NumPy's meaning by JAX's functions, and what may not go wrong on the way.

By day the table of counterparts; what needs JAX (CPU) is marked ``peers``.
"""

import builtins
import copy
import importlib
import os
import pickle
import re
import subprocess
import sys
import threading
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from row_examples import examples_of
from support import rows, values_of

import autoflow as af
from autoflow.base import pytree
from autoflow.compiler.jax import table
from autoflow.errors import CompileError
from autoflow.table.facts import FIXED
from autoflow.table.table import COMPOSED, RULES

ROOT = Path(__file__).parent.parent.parent
R = np.random.default_rng(0)
X = R.standard_normal((5, 4))

# -- without JAX


def known_functions():
    """NumPy's and SciPy's functions that a program may call, with their names."""
    modules = [sys.modules[name] for name in table.NAMESPACES if name in sys.modules]
    names = {f: n for module in modules for n, f in vars(module).items() if callable(f) and not isinstance(f, type)}
    return {f: n for f, n in names.items() if isinstance(f, np.ufunc) or f in RULES or f in FIXED or f in COMPOSED}


def test_each_function_has_a_counterpart_or_a_reason():
    for function, name in known_functions().items():
        found = table.counterpart(function)
        assert re.fullmatch(r"jax\.(numpy|scipy|nn)\.[\w.]+|left to NumPy: \w.*", found), name
    assert table.counterpart(np.linalg.solve) == "jax.numpy.linalg.solve"
    assert table.counterpart(np.fix) == "jax.numpy.trunc"
    assert table.counterpart(len) == "left to NumPy: no function of NumPy or SciPy"
    assert table.counterpart([]) == "left to NumPy: no function of NumPy or SciPy"


def test_exceptions_are_functions():
    """Nothing is listed that is not there, or twice."""
    for name in (*table.LEFT, *table.OTHER_NAMES):
        module, _, function = name.rpartition(".")
        if module == "scipy.special":
            pytest.importorskip("scipy")
        assert callable(getattr(importlib.import_module(module), function)), name
    assert not {*table.LEFT} & {*table.OTHER_NAMES}
    assert not {name.rpartition(".")[2] for name in (*table.LEFT, *table.OTHER_NAMES)} & table.SCIPYS


def test_page():
    """The tables of docs/jax.md are those of the code, and every form is explained there."""
    page = ROOT / "docs" / "jax.md"
    if not page.exists():
        pytest.skip("not a checkout")
    make_jax = types.ModuleType("make_jax")
    make_jax.__file__ = str(ROOT / "docs" / "make_jax.py")
    exec((ROOT / "docs" / "make_jax.py").read_text(encoding="utf-8"), make_jax.__dict__)
    text = page.read_text(encoding="utf-8")
    assert text == make_jax.page(text), "run python docs/make_jax.py"
    assert [name for name in table.LEFT if name not in text] == []


def test_missing(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name.partition(".")[0] == "jax":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(importlib, "import_module", lambda name: without(name))
    with pytest.raises(ImportError, match=r'pip install "autoflow\[jax\]"'):
        af.compile(np.tanh, engine="jax")


def test_import_does_not_load_jax():
    code = "import sys, autoflow, autoflow.compiler.jax.engine; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64, np.uint64])
def test_words(dtype):
    """Of 64 bits: there and back with the same bits."""
    x = np.array([[0.0, 1.5, 3.0], [2.0, 7.0, 1e9]]).astype(dtype)
    there = table.to_host(x)
    assert (there.shape, there.dtype) == table.described(x.shape, x.dtype)
    np.testing.assert_array_equal(table.from_host(there, x.shape, x.dtype), x, strict=True)
    assert table.to_host(np.ones(2, np.float32)).dtype == np.float32


# -- with JAX


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax")


def compiled(f, verify=False, **options):
    """Without a comparison at the second call, which would raise eager code's errors itself."""
    return af.compile(f, engine="jax", verify=verify, **options)


def check(f, *args, bound=1e-13):
    """Compiled twice as eager code; the compiled function."""
    ours = compiled(f)
    ours.run_eagerly = None  # there is no reason for it
    with np.errstate(all="ignore"):
        for _ in range(2):
            expected, found = f(*args), ours(*args)
            for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (expected, found)], strict=True):
                a = np.asarray(a)
                assert type(b) is np.ndarray
                scale = np.max(np.abs(a), initial=0, where=np.isfinite(a)) if a.dtype.kind in "fc" else 0
                np.testing.assert_allclose(b, a, rtol=0, atol=bound * scale, strict=True)
    return ours


def left(ours):
    """What NumPy computes in the latest program, by name."""
    return {v.name: why for v, why in ours.latest.free[-1].lowering.left.items()}


@pytest.mark.peers
def test_the_table_is_true(jax):
    """Every counterpart is there; what JAX is said not to have it has not."""
    pytest.importorskip("scipy.special")
    for function, name in known_functions().items():
        found = table.counterpart(function)
        module, _, word = found.rpartition(".") if found.startswith("jax.") else ("jax." + name).rpartition(".")
        try:
            has = hasattr(importlib.import_module(module), word)
        except ImportError:
            has = False
        if found.startswith("jax.") or found.endswith(table.NONE):
            assert has == found.startswith("jax."), name


REFUSED = {"put_view", "recur"}  # they write into views of their own result


@pytest.mark.peers
@pytest.mark.parametrize("row", rows(scipys=False), ids=lambda row: row.name)
def test_row(jax, row):
    """Value and gradient of every row of NumPy's functions."""
    for example in examples_of(row)[:1]:
        check_row(row, example)


def check_row(row, example):
    values = values_of(row, example)
    places = [k for k, v in enumerate(values) if v is not None and v.dtype.kind in "fc"]

    def f(*operands):
        if row.name == "interp":  # its points, which come first, must be in order
            operands = np.arange(np.size(operands[0])) + 0.1 * np.tanh(operands[0]), *operands[1:]
        z = row.function(*([list(operands)] if row.variadic else operands), **example.options)
        return (np.real(z) * np.sin(np.arange(1.0, np.size(z) + 1)).reshape(np.shape(z))).sum()

    eager = af.value_and_grad(f, tuple(places), allow_unused=True)
    with np.errstate(all="ignore"):
        try:
            value, grads = eager(*values)
        except Exception:  # some rows want other arguments: they have tests of their own
            return
        try:
            ours, found = compiled(eager)(*values)
        except CompileError:
            assert row.name in REFUSED
            return
    for a, b in zip([value, *grads], [ours, *found], strict=True):
        if a is not None:
            a = np.asarray(a)
            scale = np.max(np.abs(a), initial=0, where=np.isfinite(a))
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * scale, strict=True)


@pytest.mark.peers
@pytest.mark.parametrize("name", sorted(table.SCIPYS))
def test_scipys_functions(jax, name):
    """Values at places far apart."""
    special = pytest.importorskip("scipy.special")
    function = getattr(special, name)
    for low, high in ((0.02, 0.98), (0.1, 4), (-4, 4), (1, 25)):
        args = np.random.default_rng(1).uniform(low, high, (function.nin, 100))
        if name == "expn":
            args[0] = np.ceil(np.abs(args[0]))
        with np.errstate(all="ignore"):
            a, b = function(*args), compiled(lambda *args: function(*args))(*args)
        for x, y in zip(*[z if isinstance(z, tuple) else (z,) for z in (a, b)], strict=True):
            np.testing.assert_allclose(y, x, rtol=5e-12, atol=1e-300)


@pytest.mark.peers
def test_dtypes_are_numpys(jax):
    """JAX promotes int64 and float32 to float32, NumPy to float64."""
    i, f = np.arange(6).reshape(2, 3), np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    check(lambda i, f: (i + f, i * 2.5, f * 2.5, np.sin(i), i / 3, i // 2, i.sum(), f.sum(), (i > 2).sum()), i, f)

    def mixed(i, f):
        return np.concatenate([i, f]), np.where(i > 2, i, f), np.cumsum(i.astype(np.int32)), f.mean(), i @ f.T

    assert not left(check(mixed, i, f))
    check(lambda i, f: (f.astype(np.float16) * 2, i.astype(np.uint8) - 1, (i > 2) & (f < 3), ~(i > 2), i @ f.T), i, f)
    check(lambda f: np.mean(f.astype(np.int16), axis=0), f)
    assert not left(check(lambda i: (np.argmax(i, axis=1), np.sort(-i, axis=0), np.argsort(i)), i))
    assert not left(check(lambda x: x.astype("i1"), np.array([-128.9, 127.9])))

    def saying_nothing(x):  # options that JAX does not have
        return np.sort(x, kind="quicksort"), np.concatenate([x, x], casting="same_kind"), np.cumsum(x, 0, dtype=None)

    assert not left(check(saying_nothing, X))


@pytest.mark.peers
def test_64_bits_without_touching_the_users_switch(jax):
    before = jax.config.jax_enable_x64
    check(lambda x: (x * 1e-9 + 1.0).sum(), X)
    assert jax.config.jax_enable_x64 is before
    assert jax.numpy.ones(2).dtype == (np.float64 if before else np.float32)


@pytest.mark.peers
def test_64_bits_on_the_way_to_numpy(jax):
    """A call that stays NumPy's, in the midst of a long program: XLA makes it in a thread of its own."""
    for x in (X, X + 1j, (100 * X).astype(np.int64), X.astype(np.float32), X > 0, np.zeros((4, 0))):
        assert left(check(lambda x: np.partition(x, 0, axis=1), x)) == {"partition": table.ANOTHER_ORDER}
    x = R.standard_normal((300, 100))
    check(lambda x: (np.partition(np.sin(x @ x.T), 1, axis=0) @ x).sum(axis=0), x, bound=1e-12)


@pytest.mark.peers
def test_results_are_fresh_and_writeable(jax):
    f = compiled(lambda x: (x + 1.0, x, np.zeros(2)))
    first, second = f(X), f(X)
    for a, b in zip(first, second, strict=True):
        a[...] = 7.0
        assert not np.shares_memory(a, b)
    np.testing.assert_array_equal(second[0], X + 1.0)
    assert not (X == 7.0).any()


@pytest.mark.peers
def test_containers_numbers_and_options(jax):
    """Dicts, tuples, numbers as part of the signature; keyword arguments."""

    def f(p, n, *, scale=1.0):
        return {"a": p["w"] * n, "b": [p["x"] ** n, (n, scale * p["w"].sum())]}

    ours, p = compiled(f), {"w": X, "x": X[0]}
    for n in (2, 3, 2):
        for options in ({}, {"scale": 2.0}):
            a, b = f(p, n, **options), ours(p, n, **options)
            np.testing.assert_allclose(b["a"], a["a"])
            np.testing.assert_allclose(b["b"][0], a["b"][0])
            assert b["b"][1][0] == n
            np.testing.assert_allclose(b["b"][1][1], a["b"][1][1])
    assert len(ours.entries) == 4


@pytest.mark.peers
def test_training_step_with_gradients(jax):
    """A network, its gradients and an update, ten times."""
    w = {"a": R.standard_normal((4, 8)) * 0.5, "b": np.zeros(8), "c": R.standard_normal((8, 3)) * 0.5}
    x, labels = R.standard_normal((30, 4)), R.integers(0, 3, 30)

    def loss(w, x, labels):
        h = np.maximum(x @ w["a"] + w["b"], 0.0)
        z = h @ w["c"]
        z = z - z.max(axis=1, keepdims=True)
        return (np.log(np.exp(z).sum(axis=1)) - z[np.arange(30), labels]).mean()

    def step(w, x, labels):
        value, g = af.value_and_grad(loss)(w, x, labels)
        return value, {k: w[k] - 0.5 * g[k] for k in w}

    ours, u, v = compiled(step), w, w
    for _ in range(10):
        (a, u), (b, v) = step(u, x, labels), ours(v, x, labels)
        np.testing.assert_allclose(b, a, rtol=1e-12)
    for k in w:
        np.testing.assert_allclose(v[k], u[k], rtol=1e-10, atol=1e-12)
    assert not left(ours)


@pytest.mark.peers
def test_layers_and_second_derivatives(jax):
    rng = np.random.default_rng(0)
    model = af.nn.Sequential(af.nn.Linear(4, 6, rng=rng), np.tanh, af.nn.Linear(6, 1, rng=rng))
    names = {k: np.asarray(v.value) for k, v in model.named_parameters().items()}

    def loss(p, x):
        return (af.nn.functional_call(model, p, x) ** 2).mean()

    eager, ours = af.value_and_grad(loss), compiled(af.value_and_grad(loss))
    (a, g), (b, h) = eager(names, X), ours(names, X)
    np.testing.assert_allclose(b, a, rtol=1e-12)
    for k in names:
        np.testing.assert_allclose(h[k], g[k], rtol=1e-10, atol=1e-13)
    check(lambda x: af.hessian(lambda x: (np.tanh(x) ** 3).sum() + np.linalg.norm(x))(x), X[0], bound=1e-12)


@pytest.mark.peers
def test_indices(jax):
    """Negative ones, repeated ones; out of range is an error."""
    i = np.array([0, -1, 2, 2])
    check(lambda x, i: (x[i], x[i, 1], x[:, np.array([1, 1])], np.take(x, i, axis=0), x[None, 1:3, ..., -1]), X, i)
    ends = np.array([[-5], [4]])
    assert not left(check(lambda x, i: (np.take(x, [-20, 19]), np.take_along_axis(x, i, 0), np.take(x, i)), X, ends))
    assert not left(check(lambda x, i: (np.take(x, i, mode="clip"), np.take(x, i, 0, mode="wrap")), X, ends * 9))
    assert not left(check(lambda x: (np.take_along_axis(x, np.array([-20, 19]), None), np.clip(x, 0.0, None)), X))
    for f in (
        lambda x, i: x[i],
        lambda x, i: np.take(x, i, axis=0),
        lambda x, i: np.take_along_axis(x, i[:, None], 0),
        lambda x, i: written(x * 1.0, x[:4], i),
    ):
        ours = compiled(f)
        ours(X, i)
        with pytest.raises(IndexError), np.errstate(all="ignore"):
            ours(X, np.array([0, 5, 1, 1]))

    def several(x, i, new):
        z = np.tanh(x)
        z[i] = new
        z[1, 2] = 9.0
        z[:, 0] = x[:, 1]
        np.add.at(z, (i, 1), 1.0)
        np.multiply.at(z, i, 2.0)
        np.subtract.at(z, i, new)
        np.copyto(z, -1.0, where=x > 1.0)
        return z

    assert not left(check(several, X, i, R.standard_normal((4, 4))))  # the last of two wins, as in NumPy
    ours = compiled(several)
    ours(X, i, X[:4])
    with pytest.raises(IndexError):
        ours(X, np.array([0, 1, 2, 7]), X[:4])


@pytest.mark.peers
def test_integers_divided_by_zero(jax):
    """0 in NumPy; and integers to a negative power are an error."""
    x, y = np.array([5, -7, 3]), np.array([2, 0, -2])
    assert not left(check(lambda x, y: (x // y, x % y, np.fmod(x, y), *np.divmod(x, y)), x, y))
    assert not left(check(lambda x, y: x**y, np.array([2, 1, -3]), np.array([0, 63, 2])))
    ours = compiled(lambda x, y: x**y)
    np.testing.assert_array_equal(ours(x, abs(y)), x ** abs(y), strict=True)
    with pytest.raises(ValueError, match="negative integer powers"):
        ours(x, y)


SPECIAL, ZEROS = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, -2.5, 3e9]), np.array([0.0, -0.0] * 4)
OF_SPECIAL = [
    # XLA's algebra of real numbers
    lambda x, m: ((x <= 3).astype(float) * x, ((x < 0) + 0.0) * x, (x != 0) * x, (x > 0) @ x, np.vdot(x > 0, x)),
    lambda x, m: (x + 0.0, 0.0 + x, np.add(x, 0), x * 1e308 * 1e-300, np.log(np.exp(x))),
    lambda x, m: (x[3] + 0, x.astype("f4") + 0, x[3].astype("f4") + 0.0, np.zeros_like(x) + x, x + -0.0, x + ZEROS),
    lambda x, m: (x - -0.0, x - 0.0, 0.0 - x, x - ZEROS, ZEROS - x, x[3:].astype("f4") - np.float32(-0.0)),
    lambda x, m: (np.angle(x[3:] + 0j), np.angle(x[3:] - complex(-0.0, -0.0)), np.positive((0j + x[3:]).real)),
    lambda x, m: (x.astype("f2") * np.float16(60000) * np.float16(0.001), np.trace(m * -0.0), (m * -0.0).sum()),
    # casts
    lambda x, m: ((x * 1j).astype(bool), (x[5:] * 1j).imag.astype(int), np.sum(x, dtype=int), np.cumsum(x, dtype=int)),
    lambda x, m: (np.full_like(np.argsort(x), x[0]), np.full_like(x > 0, x[5]), np.mean(x, dtype=int)),
    lambda x, m: (
        written(np.argsort(x) * 1, x),
        (m * 16).astype("i1"),
        x.astype("u4"),
        x.astype("i8"),
        (-x).astype("u8"),
    ),
    lambda x, m: (
        m.astype(int) ** 5,
        (m.astype(int) + 3) ** np.array([100, 63, 300]),
        m.astype(np.uint8) ** np.uint8(70),
    ),
    # signs of zeros, and infinite numbers
    lambda x, m: (np.cumsum(x[3:]), np.cumsum(m * -0.0, axis=1), np.add.accumulate(x[3:]), np.cumsum(x > 0)),
    lambda x, m: (np.nancumsum(x), np.nancumsum(m * -0.0, axis=1), np.nancumsum(x > 0), np.nancumsum(x, dtype="f4")),
    lambda x, m: (*np.modf(x), np.trapezoid(x[1:4:2]), np.trapezoid(x[:1:-1])),
    lambda x, m: (np.sqrt(x + 1j * x[::-1]), np.log(x + 1j * x[::-1]), np.abs(x + 1j * x[::-1]), np.sign(x + 0j)),
    lambda x, m: (np.max(x * 1j), np.maximum(x * 1j, x), 1 / (x + 0j), np.arctan(x * 1j), (x + 1j) ** (x * 1j)),
    lambda x, m: (np.clip(x, min=0.0), np.clip(x, -0.0, None), np.clip(x, a_min=None, a_max=0.0), np.clip(x, 0.0, 2.0)),
    lambda x, m: (np.clip(x, 0.0, -0.0), np.clip(x, ZEROS, -ZEROS), np.clip(x, 1, np.nan), np.clip(x, 0.0, x[::-1])),
    lambda x, m: (np.power(x, 0.5), np.power(x, ZEROS + 0.5), np.power(x.astype("f4"), 0.5), np.power(x, m[0, 1] / 2)),
    lambda x, m: (np.quantile(x[1:5], 0.5), np.nanquantile(x[:3], 0.0), np.percentile(x[4:], 50.0)),
    lambda x, m: (np.fft.fft(x, norm="ortho"), np.fft.ihfft(x), np.linspace(0, x[1], 1), np.geomspace(1, x[1], 4)),
    lambda x, m: (np.interp(m[0], [0, 0, 1, 1], [0, 1, 2, 3.0]), np.take(x, [-1, 0]), np.take(m, 1, axis=-1)),
    lambda x, m: (
        np.reciprocal(m.astype("u1")),
        np.convolve(x.astype("f4")[1:], m[1].astype("f4")),
        np.correlate(x, m[0]),
    ),
    lambda x, m: (x // 2.0, x % 2.0, ZEROS // x, ZEROS % x, np.fmod(ZEROS, x), *np.divmod(-ZEROS, m[2, 2])),
    lambda x, m: (np.reciprocal(m.astype(np.int32)), np.reciprocal(m.astype(np.int64)), x // ZEROS, x % ZEROS),
    lambda x, m: (np.std(m, axis=1, ddof=3), np.var(x[3:5], correction=2), np.nanvar(x[2:5], ddof=1)),
    lambda x, m: (np.sqrt(x[3:] - 0j * x[3:]), np.arccos(-x[3:].astype(complex)), (x[5:] - 0j) ** 1.5, x[5:] * 1j - 1),
    lambda x, m: (np.unwrap(m.astype("i1")[0] * np.int8(100)), changed(np.add, m.astype("i1") - np.int8(5), 2.5)),
    lambda x, m: (stored(np.put, m, [1, 8], x[5:]), stored(np.place, x, x > 0, m), stored(np.copyto, m, m.T)),
    lambda x, m: (changed(np.maximum, x, ZEROS[:2]), changed(np.minimum, x, -ZEROS[:2]), changed(np.add, x > 0, 1)),
    # the order in memory
    lambda x, m: (m.T, m.T * 2.0, np.sin(m[::-1].T), np.stack([x, x]).T + 1, np.where(m.T > 0, m.T, 0.0)),
]


def written(z, x, index=np.s_[:]):
    z[index] = x
    return z


def stored(function, x, *args):
    z = x * 1
    function(z, *args)
    return z


def changed(ufunc, x, new):
    z = x | False if x.dtype == bool else x * 1
    ufunc.at(z, np.array([3, 3]) % len(z), new)
    return z


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("f", OF_SPECIAL)
def test_special_values(jax, f):
    """Also signs of zeros of real numbers, and orders in memory."""
    m = np.arange(9.0).reshape(3, 3)
    with np.errstate(all="ignore"):
        for a, b in zip(*[pytree.tree_leaves(g(SPECIAL, m)) for g in (f, compiled(f))], strict=True):
            a = np.asarray(a)
            np.testing.assert_allclose(b, a, rtol=1e-12, strict=True)
            assert b.strides == a.strides
            assert a.dtype.kind != "f" or np.array_equal(np.signbit(a[a == a]), np.signbit(b[b == b]))


@pytest.mark.peers
def test_one_triangle_of_matrices(jax):
    a = np.tril(X[:4] @ X[:4].T + 4 * np.eye(4)) + np.triu(np.full((4, 4), 100.0), 1)
    ours = check(lambda a: (np.linalg.cholesky(a), np.linalg.eigh(a)[0], np.linalg.eigvalsh(a, UPLO="U")), a)
    assert not left(ours)


@pytest.mark.peers
def test_errors_are_numpys(jax):
    ours = compiled(lambda a: np.linalg.inv(a).sum())
    ours(np.eye(2))
    with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError):
        ours(np.zeros((2, 2)))
    ours = compiled(lambda a: np.linalg.cholesky(a))
    ours(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        ours(-np.eye(2))
    for f, x, error in (
        (lambda x: np.average(x, weights=x), np.array([1.0, -1.0]), ZeroDivisionError),
        (lambda x: np.nanargmax(x), np.array([np.nan, np.nan]), ValueError),
        (lambda x: np.digitize(2.0, x), np.array([1.0, 0.0, 3.0]), ValueError),
    ):
        ours = compiled(f)
        np.testing.assert_allclose(ours(np.arange(1.0, len(x) + 1)), f(np.arange(1.0, len(x) + 1)))
        with np.errstate(all="ignore"), pytest.raises(error):
            ours(x)


@pytest.mark.peers
def test_warnings_are_numpys(jax):
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
    by_numpy = compiled(lambda x: np.isinf(np.divide.accumulate(x)))
    by_numpy(np.ones(2))
    by_numpy.run_eagerly = None  # there is no reason for it
    with warnings.catch_warnings(), np.errstate(divide="ignore"):  # in the thread of XLA, too
        warnings.simplefilter("error")
        np.testing.assert_array_equal(by_numpy(np.array([1.0, 0.0])), [False, True])
    assert left(by_numpy) == {"accumulate": "no counterpart of np.divide.accumulate"}


@pytest.mark.peers
def test_shapes_from_values(jax):
    ours = compiled(lambda x: x[x > 0].sum() * 1.0)
    assert ours(np.array([1.0, -1.0, 2.0])) == 3.0
    assert ours(np.array([1.0, 4.0, -2.0])) == 5.0
    with pytest.raises(CompileError, match="depends on values"):
        ours(np.array([1.0, 4.0, 2.0]))
    assert af.compile(lambda x: x[x > 0].sum(), engine="jax", fallback=True)(np.ones(3)) == 3.0
    product = compiled(lambda x: np.polymul(x, x))
    np.testing.assert_array_equal(product(np.ones(2)), [1.0, 2.0, 1.0])
    product(jax.numpy.ones(2))
    for x in (np.array([0.0, 1.0]), jax.numpy.array([0.0, 1.0])):
        with pytest.raises(CompileError, match="depends on values"):
            product(x)
    eig = compiled(lambda a: np.linalg.eigvals(a) ** 2)
    eig(np.eye(2))
    with pytest.raises(CompileError, match="complex128"):
        eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))


@pytest.mark.peers
def test_order_in_memory(jax):
    """NumPy's part of a program finds arrays as they were when it was recorded."""
    check(lambda x: (np.outer(x[0], x[1]).T.ravel("K"), (x.T * 2.0).ravel("K"), x.flatten("F"), x.T.flatten("A")), X)


@pytest.mark.peers
def test_guards(jax):
    outside, ours = [2.0, np.ones(3)], None

    def f(x):
        return x * outside[0] + outside[1]

    ours = compiled(f)
    np.testing.assert_array_equal(ours(np.ones(3)), 3.0)
    outside[0] = 5.0
    np.testing.assert_array_equal(ours(np.ones(3)), 6.0)
    outside[1][:] = 2.0
    np.testing.assert_array_equal(ours(np.ones(3)), 7.0)
    numbers = np.ones(2000)
    unwatched = compiled(lambda x: x + numbers, watch=False)
    assert unwatched(1.0 * np.ones(2000)).sum() == 4000
    numbers[:] = 2.0
    assert unwatched(1.0 * np.ones(2000)).sum() == 6000


@pytest.mark.peers
def test_refusals(jax):
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


@pytest.mark.peers
def test_arrays_of_jax_stay_where_they_are(jax):
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


@pytest.mark.peers
def test_threads(jax):
    """Eight calls at once, with NumPy in the midst."""
    ours, found = compiled(lambda x: np.partition(x, 2, axis=0) * 2.0), {}

    def work(k):
        found[k] = ours(X + k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, z in found.items():
        np.testing.assert_array_equal(z, np.partition(X + k, 2, axis=0) * 2.0)


@pytest.mark.peers
def test_errors_inside_numpys_part(jax):
    """An error of a function that NumPy computes is the user's."""

    @af.primitive
    def positive(x):
        return x * 1.0

    table_of = np.array([1.0, 2.0])
    ours = compiled(lambda x, i: np.choose(i, [x, x + 1.0, table_of]))
    i = np.array([0, 2])
    np.testing.assert_array_equal(ours(np.zeros(2), i), np.choose(i, [np.zeros(2), np.ones(2), table_of]))
    unread = compiled(lambda x, i: (np.choose(i, [x, x]), np.choose(i, [x[:0], x[:0]]), x + 1.0)[2])
    unread(np.zeros(2), np.array([[0], [1]]))
    for f, places in ((ours, [0, 3]), (unread, [[0], [3]])):
        with pytest.raises(ValueError, match="invalid entry in choice array"):
            f(np.zeros(2), np.array(places))
    assert positive(1.0) == 1.0


@pytest.mark.peers
def test_plan_and_copies(jax):
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


@pytest.mark.peers
def test_inside_transforms(jax):
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


@pytest.mark.peers
def test_several_devices(jax):
    """The example of docs/jax.md, on two CPUs of JAX: sharded inputs give eager code's numbers."""
    page = (ROOT / "docs" / "jax.md").read_text(encoding="utf-8")
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
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
