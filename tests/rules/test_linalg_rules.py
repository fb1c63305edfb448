"""Contractions: the spellings of einsum, and shapes that the generated tests do not reach."""

import numpy as np
import pytest
from checks import check

import autoflow as af
from autoflow.rules.linalg import explicit

RNG = np.random.default_rng(5)
A, B, C = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4)), RNG.normal(size=(4, 4))
T = RNG.normal(size=(5, 2, 3))


@pytest.mark.parametrize(("f", "xs"), [
    (lambda x, y: np.einsum("ij,jk->ik", x, y), (A, B)), (lambda x, y: np.einsum(" i j , j k -> k i ", x, y), (A, B)),
    (lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), (A, B)),
    (lambda x, y: np.einsum(x, [5, 30], y, [30, 2]), (A, B)), (lambda x: np.einsum(x, [0, 0]), (C,)),
    (lambda x: np.einsum("...ij->...ji", x), (T,)), (lambda x: np.einsum("...j", x), (T,)),
    (lambda x, y: np.einsum("...ij,jk", x, y), (T, B)), (lambda x, y: np.einsum("...j,...j->...", x, y), (A[:1], T)),
    (lambda x, y: np.einsum("j...,j...->...", x, y), (A, A)),
    (lambda x, y: np.einsum(x, [..., 0, 1], y, [1, 2], [..., 0, 2]), (T, B)),
    (lambda x, y: np.einsum("iij,jk->ik", x, y), (RNG.normal(size=(2, 2, 3)), B)),
    (lambda x, y: np.einsum("ij,ij->ij", x, y), (A, A[:1])), (lambda x, y: np.einsum("ij,ij", x, y), (A[:, :1], A)),
    (lambda x, y, z: np.einsum("ij,jk,kl->il", x, y, z, optimize=True), (A, B, C)),
    (lambda x, y, z: np.einsum("ij,jk,kl->", x, y, z, optimize="greedy"), (A, B, C)),
    (lambda x, y, z: np.einsum("ij,jk,kl->l", x, y, z, optimize=["einsum_path", (1, 2), (0, 1)]), (A, B, C)),
    (lambda x, y: np.einsum(",ij->ij", x, y), (np.array(2.0), A)),
    (lambda x, y: np.einsum("ij,jk->ik", x, y, order="F", casting="safe"), (A, B)),
    (lambda x: np.einsum("ij,j->i", x, [1.0, 2.0, 3.0]), (A,)),
])  # fmt: skip
def test_einsum(f, xs):
    check(f, *xs)


@pytest.mark.parametrize(("call", "error"), [
    ("ij,jk->ik", "fewer operands|more operands"), ("ik->j", "output"), ("...i->i", "ellipsis|broadcast"),
    ("ijk", "too many subscripts|enough dim"), ("i", "ellipsis|subscripts"), ("ij->ii", "multiple times"),
])  # fmt: skip
def test_errors_of_einsum_are_numpys(call, error):
    with pytest.raises(ValueError, match=error):
        np.einsum(call, A)
    with pytest.raises(ValueError, match=error):
        np.einsum(call, af.Variable(A))


def test_einsum_in_full():
    assert explicit("...ij,...jk", [4, 3]) == "ABij,Bjk->ABik"
    assert explicit("Ba,aC", [2, 2]) == "Ba,aC->BC"
    assert explicit("i,j->", [1, 1]) == "i,j->"


def test_einsum_that_is_a_view_writes_through():
    """In memory as NumPy does, and in the derivative: what was overwritten has none."""
    x = af.Variable(C)
    a = x * 1.0
    d = np.einsum("ii->i", a)
    d[...] = 0.0
    plain = C.copy()
    np.einsum("ii->i", plain)[...] = 0.0
    np.testing.assert_array_equal(a.value, plain)
    a.sum().backward()
    np.testing.assert_array_equal(x.grad, 1.0 - np.eye(len(C)))


@pytest.mark.parametrize("f", [np.linalg.eigvalsh, lambda x: np.linalg.svd(x, compute_uv=False)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_that_are_nan_have_the_gradient_nan(f):
    """LAPACK gives NaN for values of a matrix with infinity, and numbers for their vectors; or it gives up."""
    x = np.array([[np.inf, 1.0], [1.0, 2.0]])
    try:
        f(x)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            af.grad(lambda x: np.sum(f(x)))(x)
    else:
        assert np.isnan(af.grad(lambda x: np.sum(f(x)))(x)).all()
