"""Sparse Jacobians: coloured rows or columns, against the dense one; and patterns that leave something out."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import InputError

sparse = pytest.importorskip("scipy.sparse")
from autoflow.transforms import jacobian as jacobians  # noqa: E402 - after the question whether SciPy is there

X = np.random.default_rng(0).normal(size=30)
Y = np.random.default_rng(2).normal(size=40)


def chain(x):
    return x[1:-1] ** 2 * x[2:] - np.sin(x[:-2])


BAND = sparse.csr_array(np.eye(28, 30, 0) + np.eye(28, 30, 1) + np.eye(28, 30, 2))


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.coo_array, lambda a: a.toarray().astype(bool)])
def test_as_the_dense_one(mode, kind):
    ours = af.jacobian(chain, sparsity=kind(BAND), mode=mode)(X)
    assert type(ours) is sparse.csr_array
    assert ours.nnz == 3 * 28
    np.testing.assert_allclose(ours.toarray(), af.jacobian(chain)(X), rtol=1e-13)


def test_patterns_of_many_kinds():
    rng = np.random.default_rng(1)
    for m, n in ((20, 12), (12, 20), (40, 40)):
        a = np.where(rng.random((m, n)) < 0.15, rng.normal(size=(m, n)), 0)
        for mode in ("auto", "reverse", "forward"):
            j = af.jacobian(lambda x, a=a: np.tanh(a @ x) * 2, sparsity=a != 0, mode=mode)(Y[:n])
            np.testing.assert_allclose(j.toarray(), af.jacobian(lambda x, a=a: np.tanh(a @ x) * 2)(Y[:n]), atol=1e-14)


def test_shapes_are_flattened():
    x = X.reshape(5, 6)
    ours = af.jacobian(np.sin, sparsity=sparse.eye_array(30))(x)
    np.testing.assert_allclose(ours.toarray(), np.diag(np.cos(X)))
    one = af.jacobian(np.sin, sparsity=np.ones((1, 1)))(0.5)
    np.testing.assert_allclose(one.toarray(), [[np.cos(0.5)]])


def test_few_passes(monkeypatch):
    seen = []
    monkeypatch.setattr(jacobians, "seeds_of_colours", lambda colour, dtype, real=jacobians.seeds_of_colours: (
        seen.append(int(colour.max()) + 1), real(colour, dtype))[1])  # fmt: skip
    af.jacobian(chain, sparsity=BAND)(X)
    af.jacobian(np.sin, sparsity=np.eye(30))(X)
    assert seen == [3, 1]


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_precision(mode, dtype):
    x = X.astype(dtype)
    ours = af.jacobian(chain, sparsity=BAND, mode=mode)(x)
    np.testing.assert_allclose(ours.toarray(), af.jacobian(chain)(x), rtol=10 * np.finfo(dtype).eps)
    with pytest.raises(InputError, match="leaves out"):
        af.jacobian(lambda x: chain(x) + x[:-2] * x[:1], sparsity=BAND, mode=mode)(x)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_pattern_that_leaves_something_out(mode):
    less = BAND.toarray().astype(bool)
    less[4, 6] = False
    with pytest.raises(InputError, match="sparsity leaves out derivatives that are not zero"):
        af.jacobian(chain, sparsity=less, mode=mode)(X)
    more = less.copy()
    more[4, 3:9] = True  # places that are zero may be in it
    np.testing.assert_allclose(
        af.jacobian(chain, sparsity=more, mode=mode)(X).toarray(), af.jacobian(chain)(X), rtol=1e-13
    )


@pytest.mark.parametrize(("call", "message"), [
    (lambda: af.jacobian(chain, sparsity=BAND.T)(X), r"sparsity has shape \(30, 28\); .* it is \(28, 30\)"),
    (lambda: af.jacobian(lambda x, y: x * y, (0, 1), sparsity=np.eye(30))(X, X), "a function of one array"),
    (lambda: af.jacobian(np.exp, sparsity=np.eye(30))(X + 1j), "is for real numbers"),
    (lambda: af.jacobian(lambda x: {"z": x}, sparsity=np.eye(30))(X), "a function of one array"),
    (lambda: af.grad(lambda x: af.jacobian(np.exp, sparsity=np.eye(30))(x).sum())(X), "cannot be differentiated"),
])  # fmt: skip
def test_what_it_is_not_for(call, message):
    with pytest.raises(InputError, match=message):
        call()
