"""From a program to a function of JAX: NumPy's meaning by JAX's functions, in every row of the table."""

import re

import numpy as np
import pytest
from compiled import check_same, value_and_slopes
from row_examples import examples_of
from support import rows
from xla import X, check, compiled, left

import autoflow as af
from autoflow.compiler.jax import table
from autoflow.errors import CompileError

pytestmark = pytest.mark.peers
jax = pytest.importorskip("jax")

RNG = np.random.default_rng(1)
REFUSED = {"put_view", "recur"}  # they write into views of their own result


@pytest.mark.parametrize("row", rows(scipys=False), ids=lambda row: row.name)
def test_row(row):
    """Value and gradient of every row of NumPy's functions."""
    eager, values = value_and_slopes(row, examples_of(row)[0])
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


def test_dtypes_are_numpys():
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


def test_64_bits_on_the_way_to_numpy():
    """A call that stays NumPy's, in the midst of a long program: XLA makes it in a thread of its own."""
    for x in (X, X + 1j, (100 * X).astype(np.int64), X.astype(np.float32), X > 0, np.zeros((4, 0))):
        assert left(check(lambda x: np.partition(x, 0, axis=1), x)) == {"partition": table.ANOTHER_ORDER}
    x = RNG.standard_normal((300, 100))
    check(lambda x: (np.partition(np.sin(x @ x.T), 1, axis=0) @ x).sum(axis=0), x, bound=1e-12)


def test_training_step_with_gradients():
    """A network, its gradients and an update, ten times."""
    w = {"a": RNG.standard_normal((4, 8)) * 0.5, "b": np.zeros(8), "c": RNG.standard_normal((8, 3)) * 0.5}
    x, labels = RNG.standard_normal((30, 4)), RNG.integers(0, 3, 30)

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
    check_same(v, u, rtol=1e-10, atol=1e-12)
    assert not left(ours)


def test_layers_and_second_derivatives():
    rng = np.random.default_rng(0)
    model = af.nn.Sequential(af.nn.Linear(4, 6, rng=rng), np.tanh, af.nn.Linear(6, 1, rng=rng))
    parameters = {k: np.asarray(v.value) for k, v in model.named_parameters().items()}
    eager = af.value_and_grad(lambda p, x: (af.nn.functional_call(model, p, x) ** 2).mean())
    check_same(compiled(eager)(parameters, X), eager(parameters, X), rtol=1e-10, atol=1e-13)
    check(lambda x: af.hessian(lambda x: (np.tanh(x) ** 3).sum() + np.linalg.norm(x))(x), X[0], bound=1e-12)


def test_indices():
    """Negative ones, repeated ones; out of range is an error."""
    i = PLACES
    check(lambda x, i: (x[i], x[i, 1], x[:, np.array([1, 1])], np.take(x, i, axis=0), x[None, 1:3, ..., -1]), X, i)
    ends = np.array([[-5], [4]])
    assert not left(check(lambda x, i: (np.take(x, [-20, 19]), np.take_along_axis(x, i, 0), np.take(x, i)), X, ends))
    assert not left(check(lambda x, i: (np.take(x, i, mode="clip"), np.take(x, i, 0, mode="wrap")), X, ends * 9))
    assert not left(check(lambda x: (np.take_along_axis(x, np.array([-20, 19]), None), np.clip(x, 0.0, None)), X))

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

    assert not left(check(several, X, i, RNG.standard_normal((4, 4))))  # the last of two wins, as in NumPy


def test_integers_divided_by_zero():
    """0 in NumPy; and integers to a negative power are an error."""
    x, y = np.array([5, -7, 3]), np.array([2, 0, -2])
    assert not left(check(lambda x, y: (x // y, x % y, np.fmod(x, y), *np.divmod(x, y)), x, y))
    assert not left(check(lambda x, y: x**y, np.array([2, 1, -3]), np.array([0, 63, 2])))


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
    lambda x, m: (written(np.argsort(x) * 1, x), (m * 16).astype("i1"), x.astype("u4"), x.astype("i8")),
    lambda x, m: ((-x).astype("u8"), m.astype(int) ** 5, m.astype(np.uint8) ** np.uint8(70)),
    lambda x, m: (m.astype(int) + 3) ** np.array([100, 63, 300]),
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
    lambda x, m: (np.convolve(x.astype("f4")[1:], m[1].astype("f4")), np.correlate(x, m[0])),
    lambda x, m: (x // 2.0, x % 2.0, ZEROS // x, ZEROS % x, np.fmod(ZEROS, x), *np.divmod(-ZEROS, m[2, 2])),
    lambda x, m: (*[np.reciprocal(m.astype(kind)) for kind in ("u1", "i4", "i8")], x // ZEROS, x % ZEROS),
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


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize("f", OF_SPECIAL)
def test_special_values(f):
    """Also signs of zeros of real numbers, and orders in memory."""
    m = np.arange(9.0).reshape(3, 3)
    with np.errstate(all="ignore"):
        for a, b in zip(*[af.tree_leaves(g(SPECIAL, m)) for g in (f, compiled(f))], strict=True):
            a = np.asarray(a)
            np.testing.assert_allclose(b, a, rtol=1e-12, strict=True)
            assert b.strides == a.strides
            assert a.dtype.kind != "f" or np.array_equal(np.signbit(a[a == a]), np.signbit(b[b == b]))


def test_one_triangle_of_matrices():
    a = np.tril(X[:4] @ X[:4].T + 4 * np.eye(4)) + np.triu(np.full((4, 4), 100.0), 1)
    ours = check(lambda a: (np.linalg.cholesky(a), np.linalg.eigh(a)[0], np.linalg.eigvalsh(a, UPLO="U")), a)
    assert not left(ours)


PLACES = np.array([0, -1, 2, 2])
OUTSIDE = np.array([0, 5, 1, 1])
RAISED = {  # a function, arguments of which it makes something, others of which NumPy makes an error, and that error
    "no inverse": (lambda a: np.linalg.inv(a).sum(), (np.eye(2),), (np.zeros((2, 2)),), np.linalg.LinAlgError),
    "no root": (np.linalg.cholesky, (np.eye(2),), (-np.eye(2),), np.linalg.LinAlgError),
    "weights": (lambda x: np.average(x, weights=x), (np.ones(2),), (np.array([1.0, -1.0]),), ZeroDivisionError),
    "only NaN": (lambda x: np.nanargmax(x), (np.ones(2),), (np.full(2, np.nan),), ValueError),
    "no order": (lambda x: np.digitize(2.0, x), (np.arange(3.0),), (np.array([1.0, 0.0, 3.0]),), ValueError),
    "an index": (lambda x, i: x[i], (X, PLACES), (X, OUTSIDE), IndexError),
    "np.take": (lambda x, i: np.take(x, i, axis=0), (X, PLACES), (X, OUTSIDE), IndexError),
    "along an axis": (lambda x, i: np.take_along_axis(x, i[:, None], 0), (X, PLACES), (X, OUTSIDE), IndexError),
    "a write": (lambda x, i: written(x * 1.0, x[:4], i), (X, PLACES), (X, OUTSIDE), IndexError),
    "several": (lambda x, i: changed(np.add, written(x * 1.0, 2.0, i), 1.0), (X, PLACES), (X, OUTSIDE), IndexError),
    "a power": (lambda x, y: x**y, (np.array([5, -7]), np.array([2, 0])), (np.array([5, 3]), -PLACES[::2]), ValueError),
    "a choice of NumPy's": (lambda x, i: np.choose(i, [x, x + 1.0, np.array([1.0, 2.0])]),
        (np.zeros(2), np.array([0, 2])), (np.zeros(2), np.array([0, 3])), ValueError),
    "that nobody reads": (lambda x, i: (np.choose(i, [x, x]), np.choose(i, [x[:0], x[:0]]), x + 1.0)[2],
        (np.zeros(2), np.array([[0], [1]])), (np.zeros(2), np.array([[0], [3]])), ValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISED)
def test_errors_are_numpys(name):
    f, fine, wrong, error = RAISED[name]
    ours = compiled(f)
    with np.errstate(all="ignore"):
        check_same(ours(*fine), f(*fine), 1e-13)
        with pytest.raises(error) as expected:
            f(*wrong)
        with pytest.raises(error, match=re.escape(str(expected.value))):
            ours(*wrong)


def test_shapes_from_values():
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


def test_order_in_memory():
    """NumPy's part of a program finds arrays as they were when it was recorded."""
    check(lambda x: (np.outer(x[0], x[1]).T.ravel("K"), (x.T * 2.0).ravel("K"), x.flatten("F"), x.T.flatten("A")), X)
