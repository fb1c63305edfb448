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


CALLS = [
    ("expm", (A / 9,), {}), ("expm", (S / 9,), {}), ("expm", (C / 9,), {}), ("sqrtm", (A,), {}), ("sqrtm", (-A,), {}), ("sqrtm", (C,), {}),
    *[("logm", (x,), {}) for x in (A, -A, C, S)], *[("fractional_matrix_power", (x, t), {}) for x in (A, -A, C, S) for t in (0.3, -1.5, 2)],
    *[("solve", (A, B), {"assume_a": kind, "lower": lower}) for kind in ("gen", "sym", "her", "diagonal", "tridiagonal") for lower in (False, True)],
    *[("solve", (A, V), {"assume_a": kind, "transposed": t}) for kind in ("upper triangular", "lower triangular", None) for t in (False, True)],
    ("solve", (A, V), {"assume_a": "pos"}), ("solve", (S, B), {}), ("solve", (C, V), {"assume_a": "her"}), ("solve", (C, V), {"assume_a": "sym"}),
    *[("solve_triangular", (C, V, trans, lower), {"unit_diagonal": unit}) for trans in (0, 1, 2, "N", "T", "C") for lower in (False, True) for unit in (False, True)],
    ("cholesky", (A,), {}), ("cholesky", (A, True), {}), ("solve_sylvester", (A, A[:2, :2], B), {}), ("solve_banded", ((1, 1), A, V), {}),
    ("solve_banded", ((0, 2), A[::-1], B), {}), ("block_diag", (A, B, V, 2.0), {}), ("block_diag", (A.astype(np.float32), C), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_values_are_scipys(name, args, options):
    nodes = [af.Variable(x) if isinstance(x, np.ndarray) else x for x in args]
    z, right = getattr(linalg, name)(*nodes, **options), getattr(scipy, name)(*args, **options)
    assert isinstance(z, af.Operation)
    assert z.dtype == right.dtype
    assert_close(z.value, right, 1e-6 if right.dtype == np.float32 else 1e-14, name)
    plain = getattr(linalg, name)(*args, **options)
    assert type(plain) is np.ndarray
    assert same_bits(plain, z.value)


@pytest.mark.parametrize(
    ("f", "xs"),
    [
        *[(partial(linalg.solve, assume_a=kind), (A, B)) for kind in ("sym", "pos", "diagonal", "tridiagonal", "upper triangular")],
        (partial(linalg.solve, assume_a="her", lower=True), (A, V)),
        (partial(linalg.solve, assume_a="lower triangular", transposed=True), (A, V)),
        (partial(linalg.solve_triangular, trans=2), (A, B)),
        (lambda x, y: linalg.cho_solve(linalg.cho_factor(x), y), (A, B)),
        (lambda x, y: linalg.cho_solve(linalg.cho_factor(x, lower=True), y), (A, V)),
        (partial(linalg.solve_banded, (1, 1)), (A, B)),
        (linalg.block_diag, (A, B, V)),
    ],
)  # fmt: skip
def test_derivatives(f, xs):
    check(f, *xs)


def test_cho_solve_solves():
    spd = A @ A.T
    x = linalg.cho_solve(linalg.cho_factor(spd), V)
    assert_close(x, scipy.cho_solve(scipy.cho_factor(spd), V), 1e-13, "cho_solve")


def test_what_is_refused():
    x = af.Variable(A)
    with pytest.raises(NoRuleError, match="assume_a='vandermonde'"):
        linalg.solve(x, V, assume_a="vandermonde")
    with pytest.raises(ValueError, match="trans"):
        linalg.solve_triangular(x, V, "X")
    with pytest.raises(NoRuleError, match="stack"):
        linalg.solve_banded((1, 1), af.Variable(S), V)


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        linalg.expm(af.Variable(A))


@pytest.mark.parametrize("f", [linalg.expm, linalg.sqrtm, lambda x: linalg.solve(x, x), linalg.cholesky])
def test_long_double_is_refused(f):
    """SciPy's answers would be those of float64 in one function, and an error in the next."""
    with pytest.raises(TypeError, match="single and double precision"):
        f(af.Variable(np.eye(2, dtype=np.longdouble)))


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


def test_half_precision_of_solve_is_refused():
    with pytest.raises(TypeError, match="single and double precision"):
        linalg.solve(af.Variable(np.eye(2, dtype=np.float16)), np.ones(2))


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
    x = (np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 0.3], [0.5, 0.3, 6.0]])).astype(kind)
    args = (x,)
    ours, theirs = getattr(af.linalg, name)(af.Variable(x), *args[1:]), getattr(scipy, name)(*args)
    pairs = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]
    assert [np.result_type(a) for a, b in pairs if np.ndim(b)] == [
        np.result_type(b) for b in (theirs if isinstance(theirs, tuple) else [theirs]) if np.ndim(b)
    ]
    if name == "det":
        assert ours.dtype == np.result_type(theirs)


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


def test_what_scipy_does_not_take():
    """Of a node, too, these are errors: not nothing, and no numbers."""
    a, rng = np.diag([3.0, 2.0, 1.0]), np.random.default_rng(0)
    for ends in ([-2, -1], [0, 3], [2, 1]):
        with pytest.raises(ValueError, match="no eigenvalues"):
            af.linalg.eigh(af.Variable(a), subset_by_index=ends)
    with pytest.raises(NoRuleError, match="'economic'"):
        af.linalg.qr(af.Variable(a), mode="reduced")
    factors = scipy.lu_factor(a)
    for b, trans in ((rng.random(5), 0), (rng.random(3), 3)):
        with pytest.raises(ValueError, match="do not fit"):
            af.linalg.lu_solve(factors, af.Variable(b), trans)
    with pytest.raises(NoRuleError, match="not a stack"):
        af.linalg.solve_banded((0, 0), a[:1], af.Variable(rng.random((2, 3, 1))))


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
