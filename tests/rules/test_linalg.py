"""np.linalg: what the generated tests of the rows do not reach. Several results, complex factors, singular matrices."""

# ruff: noqa: E501 - tables of calls

from contextlib import nullcontext
from functools import partial
from itertools import product

import numpy as np
import pytest
from checks import check
from support import assert_close, central, same_bits

import autoflow as af
from autoflow.errors import NoRuleError
from autoflow.table.shapes import since

RNG = np.random.default_rng(11)
A = RNG.normal(size=(3, 3)) + np.diag([3.0, 5.0, 8.0])
T = RNG.normal(size=(4, 2)) + np.eye(4, 2) * [2.0, 4.0]
W = T.T.copy()
S = RNG.normal(size=(2, 3, 3)) + np.diag([3.0, 5.0, 8.0])
B = RNG.normal(size=(3, 2))
C = A + 1j * RNG.normal(size=(3, 3))
TC = T + 1j * RNG.normal(size=(4, 2))
HERMITIAN = C + C.conj().T
LOW_RANK = np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 3.0])
V = RNG.normal(size=3)
inv, norm = np.linalg.inv, np.linalg.norm


def parts(z):
    """The arrays of a result, which may be a tuple of them."""
    return list(z) if isinstance(z, tuple) else [z]


def check_complex(f, x, rtol=1e-7):
    """First and second derivatives of a real f of complex numbers, against differences; f does not depend on phases."""

    def grad(x, create_graph=False):
        leaf = af.Variable(x)
        f(leaf).backward(create_graph=create_graph)
        g = leaf.grad
        leaf.zero_grad()
        return leaf, g

    d = RNG.normal(size=x.shape) + 1j * RNG.normal(size=x.shape)
    leaf, g = grad(x, create_graph=True)
    assert_close(g.value, central(lambda xs: f(*xs), [x], 0), rtol, "first")
    np.sum(np.real(np.conj(d) * g)).backward()
    numeric = central(lambda xs: np.sum(np.real(np.conj(d) * grad(*xs)[1])), [x], 0)
    assert_close(leaf.grad, numeric, 10 * rtol, "second")


# -- values, types and structure are NumPy's --------------------------------------------------------------------------

CALLS = {
    "slogdet": [(A,), (S,), (C,)], "eigh": [(A,), (S, "U"), (C,)], "eig": [(A,), (S,), (C,), (A - A.T,)],
    "qr": [(A,), (T,), (W,), (S,), (TC,), (T, "r"), (W, "complete")], "svd": [(T,), (W, False), (S,), (TC,), (T, True, False), (A + A.T, True, True, True), (HERMITIAN, True, False, True), (HERMITIAN, True, True, True)],
    "lstsq": [(T, T[:, 0]), (T, T[:, :1]), (W, W), (TC, T), (LOW_RANK, V), (T, T[:, :0]), (T, T, 1e-3)],
}  # fmt: skip


@pytest.mark.parametrize(("name", "args"), [(name, args) for name, calls in CALLS.items() for args in calls])
def test_values_and_types_are_numpys(name, args):
    function = getattr(np.linalg, name)
    expected = function(*args)

    def node(x):
        return [node(v) for v in x] if isinstance(x, list) else af.Variable(x) if isinstance(x, np.ndarray) else x

    ours = function(*[node(x) for x in args])
    assert type(ours) is type(expected) or not isinstance(expected, tuple)
    assert getattr(ours, "_fields", None) == getattr(expected, "_fields", None)
    for p, q in zip(parts(ours), parts(expected), strict=True):
        if isinstance(p, np.int32):
            assert (p, type(p)) == (q, type(q))
        else:
            assert isinstance(p, af.Node)
            assert same_bits(p.value, q)
    with af.no_grad():
        assert not any([getattr(p, "requires_grad", False) for p in parts(function(*[node(x) for x in args]))])


@pytest.mark.parametrize("xs", [(V, V[::-1]), (A, V), (S, V), (S, S), (A[:, :2], A), (A, A[:, :2]), (A[:, :2], V[:2]), (C, V)])  # fmt: skip
def test_cross_products(xs):
    flat = 2 in [x.shape[-1] for x in xs]
    if flat and since("2.5"):
        for f in (lambda x, y: np.cross(af.Variable(x), y), np.cross):
            with pytest.raises(ValueError, match=rf"3-dimensional vectors, but they are {xs[0].shape[-1]} and"):
                f(*xs)
        return
    with pytest.warns(DeprecationWarning, match="2-dim") if flat else nullcontext():
        z, right = np.cross(*[af.Variable(x) for x in xs]), np.cross(*xs)
        assert same_bits(z.value, right)
        if C is not xs[0]:
            check(np.cross, *xs)


def test_cross_products_along_other_axes():
    x = af.Variable(S.transpose(1, 0, 2))
    assert same_bits(np.cross(x, S, 0, 1, 0).value, np.cross(x.value, S, 0, 1, 0))
    assert same_bits(np.linalg.cross(x, x.value, axis=0).value, np.linalg.cross(x.value, x.value, axis=0))
    for bad in (lambda x: np.cross(x[0, 0, 0], x), lambda x: np.cross(x[..., :1], x), lambda x: np.cross(x, x, axis=5)):
        for array in (x, x.value):
            with pytest.raises(ValueError):  # noqa: PT011
                bad(array)


@pytest.mark.parametrize("xs", [(A, B), (V, A), (A, V), (S, V), (V, np.array(2.0)), (V[:0], V), (V, V), (A[:1], S)])
def test_kronecker_products(xs):
    check(np.kron, *xs)


def test_rank_and_power_zero_are_plain_and_a_list_may_be_an_operand():
    x = af.Variable(S)
    np.testing.assert_array_equal(np.linalg.matrix_rank(x), [3, 3])
    assert same_bits(np.linalg.matrix_power(x, 0), np.linalg.matrix_power(S, 0))
    assert same_bits(np.linalg.solve(x, [1.0, 2.0, 3.0]).value, np.linalg.solve(S, [1.0, 2.0, 3.0]))


@pytest.mark.parametrize("mode", ["raw", "complete", "economic"])
def test_modes_of_qr_without_derivative_are_refused(mode):
    with pytest.raises(NoRuleError, match="mode"):
        np.linalg.qr(af.Variable(T), mode)


@pytest.mark.parametrize(("error", "call"), [
    *[(np.linalg.LinAlgError, f) for f in (
        lambda x: inv(x[:2]), lambda x: np.linalg.cholesky(-x @ x.T), lambda x: np.linalg.multi_dot([x, x, x[:, :, None]]),
        lambda x: np.linalg.tensorsolve(x[:2], x[0, :2]), lambda x: np.linalg.matrix_power(x[:2], 2), lambda x: np.linalg.cond(x[:0]),
    )],
    *[(ValueError, f) for f in (
        lambda x: np.linalg.solve(x, x[0, :2]), lambda x: norm(x, "nonsense"), lambda x: norm(x[0], "fro"), lambda x: norm(x, 3),
        lambda x: norm(x, 1, (0, 0)), lambda x: np.linalg.outer(x, x[0]), lambda x: np.linalg.cross(x[0, :2], x[0, :2]),
        lambda x: np.linalg.multi_dot([x]), lambda x: np.linalg.tensorinv(x, 0),
    )],
    *[(TypeError, f) for f in (lambda x: np.linalg.matrix_power(x, 0.5), lambda x: inv(x.astype(np.float16)))],
])  # fmt: skip
def test_errors_are_numpys(error, call):
    for x in (A, af.Variable(A)):
        with pytest.raises(error):
            call(x)


# -- derivatives of what is composed, and of single results -----------------------------------------------------------


@pytest.mark.parametrize(("f", "xs"), [
    (lambda x: np.linalg.svd(x)[0][:, :2], (T,)), (lambda x: (u := np.linalg.svd(x).U[:, 2:]) @ u.T, (T,)),
    (lambda x: (v := np.linalg.svd(x).Vh[2:]).T @ v, (W,)),
    (lambda x: np.linalg.svd(x, compute_uv=False, hermitian=True), (A - 6 * np.eye(3),)),
    (lambda x, y: np.linalg.multi_dot([y, x, x, y]), (A, V)), (lambda x, y: np.linalg.multi_dot([x, y, W, T]), (A, B)),
    *[(lambda x, p=p: np.linalg.cond(x, p), (A,)) for p in (None, -2, 1, "fro", "nuc")],
])  # fmt: skip
def test_derivatives(f, xs):
    check(f, *xs)


def big(z):
    """A real number from complex ones that does not depend on their phases."""
    return np.sum(np.real(z * np.conj(z)) * np.cos(np.arange(z.size)).reshape(z.shape))


@pytest.mark.parametrize(("f", "x"), [
    (lambda x: big(np.linalg.eigh(x)[1][:2]) + np.sum(np.linalg.eigh(x)[0] ** 2), C),
    (lambda x: big(np.linalg.eigh(x, "U")[1]), C), (lambda x: big(np.linalg.eigvalsh(x)), C),
    (lambda x: big(np.linalg.svd(x).U[:, :2]) + big(np.linalg.svd(x).S), TC),
    (lambda x: (f := np.linalg.svd(x, False)) and np.real(np.sum(f.U[0] * f.Vh[:, 1])), TC),  # one phase for both
    (lambda x: big(np.linalg.svd(x).Vh[:2]) + big(np.linalg.svd(x, compute_uv=False)), TC.T),
    (lambda x: big(np.linalg.svd(x, hermitian=True).Vh), HERMITIAN),
    (lambda x: np.real(np.linalg.slogdet(x)[0] * (1 + 2j)) + np.linalg.slogdet(x)[1], C),
    (lambda x: norm(x) + norm(x, 1) + norm(x, "nuc") + norm(x, 2) + norm(x, np.inf), C),
    (lambda x: norm(x[0], 3) + norm(x[0], np.inf) + norm(x[1], 1) + norm(x[2], 0.5), C),
    (lambda x: np.linalg.cond(x) + np.real(np.linalg.cond(x, 1)), C),  # complex in NumPy 2.3
    (lambda x: big(np.linalg.cholesky(x @ np.conj(x.T), upper=True)), C),
    (lambda x: big(np.linalg.lstsq(x, TC[:, 0] * 1j)[0]) + np.sum(np.linalg.lstsq(x, T)[1]), TC),
])  # fmt: skip
def test_derivatives_of_complex_numbers(f, x):
    check_complex(f, x)


def test_unused_results_and_both_together():
    def root(x):
        w, v = np.linalg.eigh(x @ x.T)
        return (v @ np.diag(np.sqrt(w)) @ v.T)[0, 1]

    same = af.grad(lambda x: (((z := np.linalg.svd(x)).U * z.S) @ z.U.T)[0, 1])(A)
    assert_close(af.grad(root)(A), same, 1e-10, "two ways to the square root of x xᵀ")


# -- singular matrices, zeros, equal values ---------------------------------------------------------------------------


def minors(x):
    """The derivative of the determinant, by definition."""
    n = len(x)
    kept = [[np.delete(np.delete(x, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return np.array([[(-1) ** (i + j) * np.linalg.det(kept[i][j]) for j in range(n)] for i in range(n)])


RANK_TWO = np.arange(1.0, 10.0).reshape(3, 3)


@pytest.mark.parametrize("x", [
    RANK_TWO, LOW_RANK, np.zeros((3, 3)), np.diag([1.0, 0.0, 2.0]), np.array([[0.0]]), np.zeros((2, 2)),
    np.diag([1.0, 1e-300, 1e-12]), np.stack([A, RANK_TWO, LOW_RANK, np.zeros((3, 3))]),
])  # fmt: skip
def test_det_of_singular_matrices(x):
    v = af.Variable(x)
    np.linalg.det(v).backward(np.ones(x.shape[:-2]))
    assert_close(v.grad, minors(x) if x.ndim == 2 else np.stack([minors(m) for m in x]), 1e-13, "minors")
    check(np.linalg.det, x)


@pytest.mark.parametrize("kind", ["regular", "rank 2", "stack", "complex", "beside nan"])
@pytest.mark.parametrize(
    ("far", "all_by"), [(3, 0), (12, 0), (100, 0), (100, -200), *[(0, k) for k in range(-180, -170)]]
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_det_in_other_units(kind, far, all_by):
    """Powers of two for rows and columns change each minor by a power of two, and nothing else."""
    x = {"regular": A, "rank 2": RANK_TWO, "stack": np.stack([A, RANK_TWO]), "complex": A * (1 + 2j),
         "beside nan": np.stack([A, np.full((3, 3), np.nan)])}[kind]  # fmt: skip
    rows, columns = np.random.default_rng(0).integers(-far, far + 1, (2, 3))
    d, e = (2.0 ** (k + all_by) for k in (rows, columns))
    found = af.grad(lambda x: np.sum(np.real(np.linalg.det(x))))(d[:, None] * x * e)
    right = af.grad(lambda x: np.sum(np.real(np.linalg.det(x))))(x) * (d.prod() / d)[:, None] * (e.prod() / e)
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12 * np.nanmin(np.abs(right)))


def test_det_of_a_matrix_with_nan_in_a_stack():
    """So is the derivative of this one, and of no other."""
    v = af.Variable([LOW_RANK, np.full((3, 3), np.nan), A])
    with np.errstate(invalid="ignore"):
        np.linalg.det(v).backward(np.ones(3))
    assert np.isnan(v.grad[1]).all()
    assert_close(v.grad[[0, 2]], np.stack([minors(LOW_RANK), minors(A)]), 1e-13, "minors")


def test_det_of_singular_complex_matrices():
    x = af.Variable(np.outer([1.0, 2j, 1.0], [1j, 1.0, 2.0]) + np.diag([1.0, 0.0, 0.0]))
    np.linalg.det(x).backward(1.0 + 0j)
    assert_close(x.grad, np.conj(minors(x.value)), 1e-13, "minors")


@pytest.mark.parametrize(("f", "x"), [
    *product([norm, *[partial(norm, ord=p) for p in (1, 3, 0.5, np.inf)], partial(norm, axis=0, keepdims=True),
              partial(np.linalg.vector_norm, ord=2.5)], [np.zeros(3), np.zeros(3, complex)]),
    *[(partial(norm, ord=p), np.zeros((2, 3))) for p in ("fro", "nuc", 2, -2, 1, np.inf)],
])  # fmt: skip
def test_norms_of_zeros_have_derivative_zero(f, x):
    v = af.Variable(x)
    z = f(v)
    z.backward(np.ones_like(z.value))
    np.testing.assert_array_equal(v.grad, x)


@pytest.mark.parametrize(("f", "x", "seed", "right"), [
    (partial(norm, axis=1), [[0.0, 0.0], [3.0, 4.0]], [1.0, 5.0], [[0.0, 0.0], [3.0, 4.0]]),  # partly of zeros
    (partial(norm, ord=0.5), [0.0, 3.0], 1.0, [0.0, 1.0]),
    (partial(norm, ord=np.inf), [2.0, -2.0, 1.0], 3.0, [1.5, -1.5, 0.0]),  # ties share evenly
    (partial(norm, ord=2), np.eye(2), 1.0, np.eye(2) / 2),
    (lambda x: np.sum(np.linalg.eigvalsh(x, "U")), [[2.0, 0.5], [np.nan, 3.0]], 1.0, np.eye(2)),  # one triangle is read
])  # fmt: skip
def test_gradients(f, x, seed, right):
    v = af.Variable(x)
    f(v).backward(seed)
    np.testing.assert_allclose(v.grad, right, atol=1e-15)


ROTATION = np.linalg.qr(RNG.normal(size=(3, 3)))[0]


@pytest.mark.parametrize("x", [np.eye(3), ROTATION @ np.diag([2.0, 2.0, 5.0]) @ ROTATION.T, np.zeros((3, 3))])
def test_equal_eigenvalues(x):
    """The sum of a function of them, and the projector on the space of two together, are smooth; and nothing is NaN."""
    inside = 3 * x @ x
    for f, right, rtol in (
        (lambda x: np.sum(np.linalg.eigh(x)[0] ** 3), np.tril(inside) + np.tril(inside, -1), 1e-12),  # tr x³
        (lambda x: ((v := np.linalg.eigh(x)[1]) @ v.T)[0, 1], 0 * x, 1e-10),
        (lambda x: np.sum(np.linalg.svd(x).S ** 2), 2 * x, 1e-12),
    ):
        assert_close(af.grad(f)(x), right, rtol, "equal eigenvalues")
    assert np.isfinite(af.grad(lambda x: np.sum((z := np.linalg.svd(x)).U @ z.Vh))(x)).all()


def test_projector_on_two_equal_eigenvalues():
    def projector(x):
        v = np.linalg.eigh(x + x.T)[1][:, :2]
        return (v @ v.T)[[0, 0, 1], [0, 1, 2]]

    x = ROTATION @ np.diag([2.0, 2.0, 5.0]) @ ROTATION.T
    v, w = af.Variable(x), np.array([1.0, -2.0, 0.5])
    projector(v).backward(w)
    assert_close(v.grad, central(lambda xs: np.sum(w * projector(*xs)), [x], 0), 1e-7, "projector")


def test_where_there_is_no_derivative_backward_does_not_raise():
    for f in (lambda x: np.linalg.slogdet(x)[1], lambda x: np.linalg.qr(x)[1].sum()):
        x = af.Variable([[1.0, 1.0], [0.0, 0.0]])
        with np.errstate(all="ignore"):
            f(x).backward()
            assert not np.isfinite(af.jvp(f, (x.value,), (np.ones((2, 2)),))[1])
        assert not np.isfinite(x.grad).all()
    x = af.Variable(np.stack([np.zeros((2, 2)), np.eye(2)]))
    np.linalg.slogdet(x)[1].backward(np.ones(2))
    np.testing.assert_array_equal(x.grad[1], np.eye(2))


def test_cholesky_reads_only_one_triangle():
    x = af.Variable([[2.0, np.nan], [0.5, 3.0]])
    np.linalg.cholesky(x).sum().backward()
    assert np.isfinite(x.grad).all()
    assert x.grad[0, 1] == 0.0


@pytest.mark.parametrize("n", [2, 16, 17, 20])
def test_products_of_many_complex_arrays(n):
    """Of a long sequence all gradients are computed together."""
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(n, 3)) + 1j * rng.normal(size=(n, 3))
    nodes = [af.Variable(x) for x in arrays]
    np.sum(np.real(np.einsum(",".join("a" * n) + "->a", *nodes))).backward()
    for k, node in enumerate(nodes):
        others = np.prod(np.delete(arrays, k, axis=0), axis=0)
        np.testing.assert_allclose(node.grad, np.conjugate(others), rtol=1e-10)
