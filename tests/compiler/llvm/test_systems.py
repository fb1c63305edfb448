"""Systems of linear equations in machine code's programs: triangular ones, and those that share their factors."""

import numpy as np
import pytest
from compiled import check_calls, check_same
from loops import RNG, calls_of, positive

import autoflow as af
from autoflow.compiler.llvm import engine as engines

pytestmark = pytest.mark.skipif(not engines.is_there(), reason="llvmlite is not installed")
scipy = pytest.importorskip("scipy")

N = 7
MATRICES = {
    "lower": lambda k: np.linalg.cholesky(k), "upper": lambda k: np.linalg.cholesky(k, upper=True),
    "lower, turned": lambda k: np.linalg.cholesky(k).T, "turned twice": lambda k: np.linalg.cholesky(k).T.mT,
    "any": lambda k: k, "any, turned": lambda k: k.T,
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "order"), [(np.float64, "C"), (np.float64, "F"), (np.float32, "C")])
@pytest.mark.parametrize("matrix", MATRICES)
def test_value_and_gradients_are_those_of_eager_code(matrix, dtype, order):
    """Two systems of each matrix, one of them with the result of the other; all have gradients."""
    k = positive(N, dtype, order)
    sides = [np.array(RNG.standard_normal(shape), dtype, order=order) for shape in ((N,), (N, 1), (N, 3))]

    def f(k, sides):
        a = MATRICES[matrix](k)
        return sum([(np.linalg.solve(a, np.linalg.solve(a, np.sin(y))) ** 2).sum() for y in sides])

    eager = af.value_and_grad(f, (0, 1))
    compiled = af.compile(eager, engine="llvm")
    for _ in range(3):
        found = compiled(k, sides)
    for a, b in zip(*map(af.tree_leaves, (found, eager(k, sides))), strict=True):
        check_same(a, b, atol=np.finfo(dtype).eps * 50 * np.abs(b).max())
    assert "solve" not in calls_of(compiled)


def test_one_factorisation_for_a_solution_and_its_gradient():
    k, y = positive(N), RNG.standard_normal((N, 1))
    compiled = af.compile(af.grad(lambda k: (y * np.linalg.solve(k, y)).sum()), engine="llvm")
    compiled(k), compiled(k)
    assert calls_of(compiled).count("factorise") == 1
    assert calls_of(compiled).count("solve_with_factors") == 2


@pytest.mark.parametrize("dtype", [complex, ">f8", int])
def test_other_numbers_and_stacks_are_numpys(dtype):
    k, y = positive(N, dtype), np.ones(N, dtype)
    stack = np.stack([k, k])
    for matrix, side in ((k, y), (stack, np.stack([y, y])[..., None])):
        f = lambda a, b: (np.linalg.solve(a, b), np.linalg.solve(a, b + b))  # noqa: E731
        compiled = check_calls(f, *[(matrix, side)] * 2, engine="llvm")
        assert calls_of(compiled).count("solve") == 2


@pytest.mark.parametrize("matrix", MATRICES)
def test_what_is_not_finite_and_errors_are_those_of_eager_code(matrix):
    def f(k, y):
        a = MATRICES[matrix](k)
        return np.linalg.solve(a, np.linalg.solve(a.T, np.sin(y)))

    compiled = af.compile(f, engine="llvm")
    k, y = positive(N), RNG.standard_normal((N, 2))
    for _ in range(3):
        compiled(k, y)
    assert "solve" not in calls_of(compiled)
    for odd in (np.nan, np.inf, 0.0):
        a, b = k.copy(), y.copy()
        a[0], a[:, 0], b[1, 0] = odd, odd, odd
        for args in ((a, y), (k, b)):
            with np.errstate(invalid="ignore"):
                try:
                    expected = f(*args)
                except np.linalg.LinAlgError as error:
                    with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                        compiled(*args)
                else:
                    np.testing.assert_allclose(compiled(*args), expected, rtol=1e-12, atol=1e-14)


def test_without_scipy_they_are_numpys(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    compiled = af.compile(af.grad(lambda k: np.linalg.solve(k, np.ones(N)).sum()), engine="llvm")
    k = positive(N)
    compiled(k), compiled(k)
    assert calls_of(compiled).count("solve") == 2
