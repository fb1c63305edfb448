"""autoflow.linalg: values are SciPy's, derivatives those of differences."""

# ruff: noqa: E501 - tables of calls

import sys
from functools import partial

import numpy as np
import pytest
from cases import check_row
from checks import check
from support import assert_close, same_bits

scipy = pytest.importorskip("scipy.linalg")

import autoflow as af  # noqa: E402 - after SciPy, without which there is nothing to test
from autoflow import linalg  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402
from autoflow.table.table import RULES  # noqa: E402

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 3)) + np.diag([4.0, 6.0, 9.0])
B, V = RNG.normal(size=(3, 2)), RNG.normal(size=3)
C = A + 1j * RNG.normal(size=(3, 3)) / 3
S = np.stack([A, A.T])


ROWS = ["expm", "sqrtm", "logm", "power", "general", "triangular", "cholesky", "sylvester", "banded"]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.slow
def test_rows(name):
    function = getattr(linalg, name)
    check_row(RULES[function if function in RULES else function.__wrapped__], share=len(ROWS))


@pytest.mark.parametrize(("name", "args", "options"), [
    ("expm", (A / 9,), {}), ("expm", (S / 9,), {}), ("expm", (C / 9,), {}), ("sqrtm", (A,), {}), ("sqrtm", (-A,), {}), ("sqrtm", (C,), {}),
    *[("logm", (x,), {}) for x in (A, -A, C, S)], *[("fractional_matrix_power", (x, t), {}) for x in (A, -A, C, S) for t in (0.3, -1.5, 2)],
    *[("solve", (A, B), {"assume_a": kind, "lower": lower}) for kind in ("gen", "sym", "her", "diagonal", "tridiagonal") for lower in (False, True)],
    *[("solve", (A, V), {"assume_a": kind, "transposed": t}) for kind in ("upper triangular", "lower triangular", None) for t in (False, True)],
    ("solve", (A, V), {"assume_a": "pos"}), ("solve", (S, B), {}), ("solve", (C, V), {"assume_a": "her"}), ("solve", (C, V), {"assume_a": "sym"}),
    *[("solve_triangular", (C, V, trans, lower), {"unit_diagonal": unit}) for trans in (0, 1, 2, "N", "T", "C") for lower in (False, True) for unit in (False, True)],
    ("cholesky", (A,), {}), ("cholesky", (A, True), {}), ("solve_sylvester", (A, A[:2, :2], B), {}), ("solve_banded", ((1, 1), A, V), {}),
    ("solve_banded", ((0, 2), A[::-1], B), {}), ("block_diag", (A, B, V, 2.0), {}), ("block_diag", (A.astype(np.float32), C), {}),
])  # fmt: skip
def test_values_are_scipys(name, args, options):
    nodes = [af.Variable(x) if isinstance(x, np.ndarray) else x for x in args]
    z, right = getattr(linalg, name)(*nodes, **options), getattr(scipy, name)(*args, **options)
    assert isinstance(z, af.Operation)
    assert z.dtype == right.dtype
    assert_close(z.value, right, 1e-6 if right.dtype == np.float32 else 1e-14, name)
    plain = getattr(linalg, name)(*args, **options)
    assert type(plain) is np.ndarray
    assert same_bits(plain, z.value)


@pytest.mark.parametrize(("f", "xs"), [
    *[(partial(linalg.solve, assume_a=kind), (A, B)) for kind in ("sym", "pos", "diagonal", "tridiagonal", "upper triangular")],
    (partial(linalg.solve, assume_a="her", lower=True), (A, V)), (partial(linalg.solve, assume_a="lower triangular", transposed=True), (A, V)),
    (partial(linalg.solve_triangular, trans=2), (A, B)), (lambda x, y: linalg.cho_solve(linalg.cho_factor(x), y), (A, B)),
    (lambda x, y: linalg.cho_solve(linalg.cho_factor(x, lower=True), y), (A, V)), (partial(linalg.solve_banded, (1, 1)), (A, B)),
    (linalg.block_diag, (A, B, V)),
])  # fmt: skip
def test_derivatives(f, xs):
    check(f, *xs)


@pytest.mark.parametrize(("error", "match", "call"), [
    (NoRuleError, "assume_a='vandermonde'", lambda x: linalg.solve(x, V, assume_a="vandermonde")),
    (ValueError, "trans", lambda x: linalg.solve_triangular(x, V, "X")),
    (NoRuleError, "stack", lambda x: linalg.solve_banded((1, 1), np.stack([x, x]), V)),
    (NoRuleError, "not a stack", lambda x: linalg.solve_banded((0, 0), A[:1], x[None, :, :1] * np.ones((2, 1, 1)))),
    (NoRuleError, "'economic'", lambda x: linalg.qr(x, mode="reduced")),
    *[(ValueError, "no eigenvalues", lambda x, ends=ends: linalg.eigh(x, subset_by_index=ends)) for ends in ([-2, -1], [0, 3], [2, 1])],
    *[(ValueError, "do not fit", lambda x, n=n, trans=trans: linalg.lu_solve(scipy.lu_factor(A), np.ones(n) * x[0, 0], trans))
      for n, trans in ((5, 0), (3, 3))],
    # of float16 and longdouble SciPy's answers would be those of another dtype in one function, and an error in the next
    *[(TypeError, "single and double precision", lambda x, f=f: f(x.astype(np.longdouble)))
      for f in (linalg.expm, linalg.sqrtm, lambda x: linalg.solve(x, x), linalg.cholesky)],
    (TypeError, "single and double precision", lambda x: linalg.solve(x.astype(np.float16), V)),
])  # fmt: skip
def test_what_is_refused(error, match, call):
    """Not nothing, and no numbers, of a node either."""
    with pytest.raises(error, match=match):
        call(af.Variable(A))


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        linalg.expm(af.Variable(A))


@pytest.mark.parametrize("f", [
    linalg.expm, linalg.sqrtm, linalg.cholesky, lambda x: linalg.solve_triangular(x, x),
    lambda x: linalg.solve_sylvester(x, x, x), lambda x: linalg.solve_banded((0, 0), x[:1], np.ones(2)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:Calling .* with arguments of dtype=float16:DeprecationWarning")  # plain arrays
def test_half_precision_is_computed_in_single(f):
    """By us: SciPy deprecates it."""
    half = np.array([[4.0, 0.5], [0.0, 9.0]], np.float16)
    single = f(half.astype(np.float32))
    assert f(af.Variable(half)).dtype == single.dtype
    assert same_bits(f(half), single)


@pytest.mark.parametrize(("kind", "lower", "unread"), [
    ("sym", False, (1, 0)), ("her", False, (2, 1)), ("pos", True, (0, 1)), ("diagonal", False, (0, 2)),
    ("tridiagonal", False, (2, 0)), ("upper triangular", False, (1, 0)), ("lower triangular", False, (0, 1)),
])  # fmt: skip
def test_what_solve_does_not_read_may_be_anything(kind, lower, unread):
    a = np.diag([4.0, 5.0, 6.0]) + 0.5
    x, clean = af.Variable(a), af.Variable(a)
    with af.no_grad():
        x[unread], clean[unread] = np.nan, 0.0
    for v in (x, clean):
        linalg.solve(v, [1.0, 2.0, 3.0], lower, assume_a=kind).sum().backward()
    np.testing.assert_array_equal(x.grad, clean.grad)
    assert x.grad[unread] == 0


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["det", "eigvals", "inv", "pinv", "cholesky", "qr", "svd"])
def test_results_of_nodes_have_scipys_dtypes(name, kind):
    x = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 0.3], [0.5, 0.3, 6.0]]).astype(kind)
    ours, theirs = getattr(af.linalg, name)(af.Variable(x)), getattr(scipy, name)(x)
    pairs = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]
    for one, other in pairs:
        assert np.result_type(one) == np.result_type(other)


@pytest.mark.parametrize("trans", [-1, 0, 1, 2, 3, "T", True])
@pytest.mark.parametrize("lower", [False, True])
def test_every_way_to_say_transposed(trans, lower):
    a, b = np.array([[2.0, 1.0], [3.0, 4.0]]) + 0.5j, np.array([1.0, 2.0])
    found = af.linalg.solve_triangular(a, af.Variable(b), trans, lower)
    np.testing.assert_allclose(found.value, scipy.solve_triangular(a, b, trans, lower))


SOLVERS = {
    "solve": lambda m, a, b: m.solve(a, b), "solve_triangular": lambda m, a, b: m.solve_triangular(a, b),
    "solve_triangular, transposed": lambda m, a, b: m.solve_triangular(a, b, 1, lower=True),
    "cho_solve": lambda m, a, b: m.cho_solve((a, False), b),
    **{f"lu_solve, {k}": lambda m, a, b, k=k: m.lu_solve((a, np.broadcast_to([2, 2, 2], a.shape[:-1])), b, k)
       for k in (0, 1, 2)},
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("b", [(3,), (3, 2), (3, 3, 2), (2, 1, 3, 1)])
@pytest.mark.parametrize("a", [(3, 3), (3, 3, 3), (1, 3, 3)])
def test_one_or_several_matrices_and_right_sides(name, a, b):
    """A vector belongs to every matrix; where there are as many as unknowns it is no column of something else."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1.5, a) + 3 * np.eye(3), rng.uniform(0.5, 1.5, b)
    right = SOLVERS[name](scipy, x, y)
    found = SOLVERS[name](af.linalg, af.Variable(x), af.Variable(y))
    assert found.shape == right.shape
    np.testing.assert_allclose(found.value, right, rtol=1e-12)
    w = rng.normal(size=right.shape)
    af.gradcheck(lambda x, y: np.sum(w * SOLVERS[name](af.linalg, x, y)), x, y)


@pytest.mark.parametrize("driver", [None, "gelsd", "gelsy", "gelss"])
def test_least_squares_by_every_driver(driver):
    a, b = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]]), np.array([1.0, 2.0, 4.0])
    how = {} if driver is None else {"lapack_driver": driver}
    for z, want in zip(af.linalg.lstsq(af.Variable(a), b, **how), scipy.lstsq(a, b, **how), strict=True):
        assert (z is None) == (want is None)
        if want is not None:
            np.testing.assert_allclose(getattr(z, "value", z), want)


@pytest.mark.parametrize("lower", [False, True])
def test_a_hermitian_matrix_has_a_real_diagonal(lower):
    """What is imaginary there SciPy does not read."""
    a, b = np.array([[2.0 + 1j, 0.3], [0.3, 3.0 - 2j]]), np.diag([1.0, 2.0]) + np.array([[0.0, 0.2j], [-0.2j, 0.0]])
    found = af.linalg.eigh(af.Variable(a), b, lower=lower, eigvals_only=True)
    np.testing.assert_allclose(found.value, scipy.eigh(a, b, lower=lower, eigvals_only=True))
