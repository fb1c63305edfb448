"""Forward mode against differences, and backward mode against forward mode: ⟨u, J t⟩ = ⟨Jᵀ u, t⟩.

For each row and each composed function of the table at ordinary points, as their examples have them; and for functions
of matrices where something special happens: eigenvalues that are negative, complex or the same, too few eigenvectors,
too small a rank. What is differentiated there has a derivative, also where its factors have none.
"""

# ruff: noqa: E501 - tables of calls

import importlib.util
from typing import Any

import numpy as np
import pytest
from calls import CALLS
from cases import Case
from row_examples import examples_of
from support import NIGHTLY, assert_close, directional, rows

import autoflow as af
from autoflow import linalg
from autoflow.table.table import RULES

Array = Any
RNG = np.random.default_rng(17)
SCIPY = importlib.util.find_spec("scipy.special") is not None
needs_scipy = pytest.mark.skipif(not SCIPY, reason="SciPy is not installed")


def random_like(x, salt):
    """A direction."""
    rng = np.random.default_rng([x.size, salt])
    t = rng.normal(size=x.shape)
    return (t + 1j * rng.normal(size=x.shape)).astype(x.dtype) if x.dtype.kind == "c" else t.astype(x.dtype)


def inner(a, b):
    """Re Σ conj(a) b."""
    return float(np.real(np.vdot(a, b)))


def check_both(f, xs, rtol=1e-7, directions=None):
    """J t is what differences give, and Jᵀ is its transpose."""
    ts = directions or [random_like(x, k) for k, x in enumerate(xs)]
    with np.errstate(all="ignore"):
        z, forward = af.jvp(f, tuple(xs), tuple(ts), allow_unused=True)
        numeric = directional(lambda ys: np.asarray(f(*ys)), xs, ts)
        _, pullback = af.vjp(f, *xs, allow_unused=True)
        u = random_like(np.asarray(z), 99)
        back = pullback(u)
    assert_close(np.asarray(forward), np.asarray(numeric), rtol, "J t against differences")
    sides = inner(u, forward), sum([inner(g, t) for g, t in zip(back, ts, strict=True)])
    scale = max(1.0, *[float(np.linalg.norm(g) * np.linalg.norm(t)) for g, t in zip(back, ts, strict=True)])
    assert abs(sides[0] - sides[1]) <= 1e-10 * scale, f"⟨u, J t⟩ = {sides[0]}, ⟨Jᵀ u, t⟩ = {sides[1]}"


def check_second(f, x, rtol=1e-6):
    """The Hessian of Σ Re (w f²) times a direction is what differences of the gradient give."""
    w = random_like(np.asarray(f(x)).real, 5)
    loss = lambda x: np.sum(w * np.real(f(x) ** 2))  # noqa: E731
    t = random_like(x, 1)
    product = af.hvp(loss, x, t)
    assert_close(product, directional(lambda xs: af.grad(loss)(xs[0]), [x], [t]), rtol, "H t against differences")


def check_at_minimum(f, xs):
    """The Hessian of ½ Σ |f(x) − f(x₀)|² at x₀ times a direction is Jᵀ J t."""
    ts = [random_like(x, k) for k, x in enumerate(xs)]
    with np.errstate(all="ignore"):
        z = np.asarray(f(*xs))

        def loss(*xs):
            d = f(*xs) - z  # not |d|²: |d| has a kink there
            return 0.5 * (np.sum(np.real(d) ** 2) + np.sum(np.imag(d) ** 2) if z.dtype.kind == "c" else np.sum(d**2))

        product = af.hvp(loss, tuple(xs), tuple(ts), allow_unused=True)
        _, forward = af.jvp(f, tuple(xs), tuple(ts), allow_unused=True)
        back = af.vjp(f, *xs, allow_unused=True)[1](np.asarray(forward))
    for k, (ours, right) in enumerate(zip(product, back, strict=True)):
        assert_close(np.asarray(ours), np.asarray(right), 1e-8, f"H t, operand {k}")


# -- ordinary points --------------------------------------------------------------------------------------------------


def is_of_matrices(row):
    """Is the row in a file about matrices?"""
    return any([f.__module__.rpartition(".")[2] in MATRICES for f in row.derivatives.values()])


MATRICES = {"linalg", "solving", "decompositions", "leastsquares", "matrix_functions"}
# By day the composed functions and the rows of matrices. (Of the other rows test_transforms compares the two modes.)
SUBJECTS = [
    *[(each, each.example, f"{each!r}".replace(" ", "-")) for calls in CALLS.values() for each in calls],
    *[(row, example, f"{row.name}-{k}") for row in rows(SCIPY) for k, example in enumerate(examples_of(row))
      if NIGHTLY or is_of_matrices(row)],
]  # fmt: skip
MINIMA = [one for one in SUBJECTS if NIGHTLY or one[2].startswith("np.linalg") or one[0] in RULES.values()]


def function_of_floats(subject, example):
    """The call as a function of those operands that are numbers, and these."""
    case = Case(subject, example)
    live, xs = case.live, case.real
    if not live:
        pytest.skip("its operands are no numbers")

    def f(*floats):
        given = iter(floats)
        return case.run([next(given) if k in live else x for k, x in enumerate(xs)])

    return f, [xs[k] for k in live]


def each_of(subjects):
    """As arguments of a test."""
    return pytest.mark.parametrize(("subject", "example"), [s[:2] for s in subjects], ids=[s[2] for s in subjects])


@each_of(SUBJECTS)
def test_ordinary_points(subject, example):
    check_both(*function_of_floats(subject, example))


@each_of(MINIMA)
def test_where_the_cotangent_is_zero(subject, example):
    """At the minimum of ½ Σ |f(x) − f(x₀)|² nothing arrives at f, but the Hessian is JᵀJ: no short cut for g = 0."""
    check_at_minimum(*function_of_floats(subject, example))


def test_matrices_are_found():
    assert is_of_matrices(RULES[np.linalg.inv])
    assert not is_of_matrices(RULES[np.exp])


# -- matrices at which something special happens ----------------------------------------------------------------------

Q = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
NEGATIVE = {
    "of the findings": np.array([[-1.0, 0.3], [0.3, 2.0]]), "diagonal": np.diag([-1.0, 4.0, -9.0]),
    "all": -(Q * [1.0, 2.0, 5.0, 9.0]) @ Q.T, "not symmetric": np.array([[-2.0, 5.0, 1.0], [0.0, 3.0, 1.0], [0.0, 0.0, -0.5]]),
    **{f"random {k}": np.random.default_rng(k).normal(size=(3, 3)) - 0.5 * np.eye(3) for k in range(12 if NIGHTLY else 2)},
}  # fmt: skip
PAIRS = {  # complex eigenvalues
    "turned": np.array([[0.5, -2.0], [2.0, 0.5]]), "near the cut": np.array([[-1.0, -0.2], [0.2, -1.0]]),
    "complex": RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3)), "rotation": np.array([[0.0, -1.0], [1.0, 0.0]]),
}  # fmt: skip
REPEATED = {
    "identity": np.eye(3), "twice": (Q * [2.0, 2.0, 2.0, 5.0]) @ Q.T, "defective": np.array([[2.0, 1.0], [0.0, 2.0]]),
    "a chain": 3 * np.eye(4) + np.eye(4, k=1), "stack": np.stack([np.eye(2), np.diag([1.0, 4.0])]),
}  # fmt: skip
SINGULAR = {
    "zero": np.zeros((3, 3)), "rank 1": np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 3.0]), "nilpotent": np.eye(3, k=1),
    "rank 2": np.outer([1.0, 2.0, 0.0], [1.0, 0.0, 1.0]) + np.outer([0.0, 1.0, 1.0], [2.0, 1.0, 0.0]),
}  # fmt: skip
REGULAR = NEGATIVE | PAIRS | REPEATED
EVERYWHERE = {
    "expm": linalg.expm, "det": np.linalg.det, "cube": lambda x: np.linalg.matrix_power(x, 3), "product": lambda x: x @ x.mT @ x,
    "frobenius": lambda x: np.sum(np.abs(np.linalg.norm(x + 3, axis=(-2, -1)))), "trace": lambda x: np.trace(x @ x, axis1=-2, axis2=-1),
}  # fmt: skip
WHERE_REGULAR = {
    "sqrtm": linalg.sqrtm, "logm": linalg.logm, "root": lambda x: linalg.fractional_matrix_power(x, 0.3),
    "power": lambda x: linalg.fractional_matrix_power(x, -1.7), "whole power": lambda x: linalg.fractional_matrix_power(x, -2),
    "inv": np.linalg.inv, "solve": lambda x: np.linalg.solve(x, np.ones((x.shape[-1], 2))), "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "pinv": np.linalg.pinv, "lstsq": lambda x: np.stack([np.linalg.lstsq(a, np.ones(len(a)))[0] for a in (x if x.ndim > 2 else [x])]),
    "sylvester": lambda x: np.stack([linalg.solve_sylvester(a, 20 * np.eye(2), np.ones((len(a), 2))) for a in (x if x.ndim > 2 else [x])]),
}  # fmt: skip
POINTS = [
    *[(f, x, f"{name} of {point}") for name, f in EVERYWHERE.items() for point, x in (REGULAR | SINGULAR).items()],
    *[(f, x, f"{name} of {point}") for name, f in WHERE_REGULAR.items() for point, x in REGULAR.items()],
][:: 1 if NIGHTLY else 3]


@pytest.mark.parametrize(("f", "x"), [point[:2] for point in POINTS], ids=[point[2] for point in POINTS])
@needs_scipy
def test_hard_points(f, x):
    check_both(f, [x], 1e-6)
    check_second(f, x, 1e-5)
    check_at_minimum(f, [x])


NEGATIVE_TWICE = [-np.eye(3), (Q * [-1.0, -1.0, -1.0, 2.0]) @ Q.T, np.diag([-1.0, -1.0, 4.0, 4.0])]


@pytest.mark.parametrize("x", NEGATIVE_TWICE)
@needs_scipy
def test_roots_of_a_repeated_negative_eigenvalue(x):
    """Under most small steps the two eigenvalues part to both sides of the cut, so there are no differences. On the
    side that the result has chosen: z dz + dz z = dx, and the logarithm's derivative undoes that of the exponential."""
    e = random_like(x, 3)
    for root in (linalg.sqrtm, lambda x: linalg.fractional_matrix_power(x, 0.5)):
        z, dz = af.jvp(root, (x,), (e,))
        assert_close(z @ dz + dz @ z, e + 0j, 1e-12, "root")
    log, dlog = af.jvp(linalg.logm, (x,), (e,))
    assert_close(af.jvp(linalg.expm, (log,), (dlog,))[1], e + 0j, 1e-12, "logm")


@needs_scipy
def test_no_derivative_is_nan():
    """The eigenvalues of a quarter turn, i and −i, add up to 0, and so do 0 and 0."""
    for x in (np.array([[0.0, -1.0], [1.0, 0.0]]), np.zeros((2, 2))):
        assert np.isnan(linalg.solve_sylvester(af.Variable(x), x, np.eye(2)).value).all()


INVARIANT = {
    "Σ w³ of eigvalsh": lambda x: np.sum(np.linalg.eigvalsh((x + x.T) / 2) ** 3), "Σ w² of eigvals": lambda x: np.real(np.sum(np.linalg.eigvals(x) ** 2)),
    "Σ s² of svdvals": lambda x: np.sum(np.linalg.svdvals(x) ** 2), "projector": lambda x: projector(np.linalg.eigh((x + x.T) / 2)),
    "q r of qr": lambda x: np.matmul(*np.linalg.qr(x)), "cholesky": lambda x: np.linalg.cholesky(x @ x.T + np.eye(len(x))),
    "v w v⁻¹": lambda x: np.real(rebuilt(*np.linalg.eig(x))), "u s v": lambda x: (lambda u, s, v: (u * s) @ v)(*np.linalg.svd(x)),
}  # fmt: skip


def projector(found):
    """On the space of the first eigenvalues, up to the gap."""
    w, v = found
    v = v[:, : int(np.sum(np.asarray(af.stop_gradient(w)) < 3.5))]
    return v @ v.T


def rebuilt(w, v):
    return (v * w) @ np.linalg.inv(v)


FACTORED = {"twice": REPEATED["twice"], "pairs": np.array([[0.5, -2.0, 0.1], [2.0, 0.5, 0.3], [0.0, 0.2, 3.0]]), "negative": NEGATIVE["of the findings"]}  # fmt: skip


UNKNOWN = {("v w v⁻¹", "twice"), ("u s v", "twice")}  # see decompositions.py: keeps a part of what is left out
PRODUCTS = [(name, point) for name in INVARIANT for point in FACTORED if (name, point) not in UNKNOWN]


@pytest.mark.parametrize(("name", "point"), PRODUCTS)
def test_factors_that_are_not_unique(name, point):
    """What is made of them is, and has a derivative at equal eigenvalues, too."""
    check_both(INVARIANT[name], [FACTORED[point]], 1e-6)


@pytest.mark.parametrize("f", [
    lambda x: np.linalg.pinv(x, rcond=1e-6), lambda x: np.linalg.lstsq(x, np.array([1.0, 2.0, 0.5]), rcond=1e-6)[0],
])  # fmt: skip
def test_small_rank_that_stays(f):
    """The pseudo-inverse jumps where the rank changes; along matrices of one rank it is smooth."""
    a, b = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 4))
    check_both(lambda a, b: f(a @ b), [a, b], 1e-6)
