"""Sparse matrices of nodes, and what is solved with them."""

import importlib

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")

import scipy.sparse.linalg  # noqa: E402, F811
from scipys import check  # noqa: E402

import autoflow as af  # noqa: E402

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.uniform(0.5, 1.5, shape)


PLACES = np.array([0, 0, 1, 2, 2, 3]), np.array([0, 2, 1, 0, 3, 3])
OTHER = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1
OPERATIONS = {
    "sums": lambda m, a: [a.sum(), a.sum(axis=0), a.mean(axis=1), a.max(), a.max(axis=0)],
    "products": lambda m, a: [a @ np.arange(4.0), np.arange(4.0) @ a, a @ np.ones((4, 2)), a.dot(np.ones(4))],
    "of two": lambda m, a: a @ a, "with another": lambda m, a: m.csr_array(OTHER) @ a,
    "times": lambda m, a: (a * np.arange(1.0, a.shape[0] + 1), OTHER[0] * a, a * OTHER[:, :1], a * OTHER, a / OTHER[0]),
    "elementwise": lambda m, a: a.multiply(OTHER), "divided": lambda m, a: (a / 2, a / OTHER),
    "arithmetic": lambda m, a: (-a, 2 * a, a + a.T, a - m.csr_array(OTHER), a + OTHER),
    "rows": lambda m, a: a[1:3], "columns": lambda m, a: a[:, [0, 3]], "item": lambda m, a: a[2, 3],
    "places": lambda m, a: a[[0, 2], [2, 3]], "diagonal": lambda m, a: (a.diagonal(), a.trace()),
    "ufuncs": lambda m, a: (abs(a), a.power(3), a.sqrt(), a.sin(), a.log1p(), a.conj()),
    "formats": lambda m, a: (a.tocsc(), a.tocoo(), a.tocsr(), a.copy(), a.T), "dok": lambda m, a: a.todok(),
    "lil": lambda m, a: a.tolil(), "dia": lambda m, a: a.todia() @ np.arange(4.0), "bsr": lambda m, a: a.tobsr(),
    "stacked": lambda m, a: (m.hstack([a, a]), m.vstack([a, m.csr_array(OTHER)])), "kron": lambda m, a: m.kron(a, a),
    "triangle": lambda m, a: m.triu(a), "blocks": lambda m, a: m.block_diag([a, a]), "squared": lambda m, a: a ** 2,
    "dense": lambda m, a: a.todense(), "larger": lambda m, a: a.maximum(m.csr_array(OTHER)),
    "solved": lambda m, a: m.linalg.spsolve((a + 4 * m.csr_array(OTHER)).tocsc(), np.ones(4)),
    "lu": lambda m, a: m.linalg.splu((a + 4 * m.csr_array(OTHER)).tocsc()).solve(np.ones(4)),
    "expm": lambda m, a: m.linalg.expm(a.tocsc()), "expm x": lambda m, a: m.linalg.expm_multiply(a, np.ones(4)),
    "norm": lambda m, a: m.linalg.norm(a), "lsqr": lambda m, a: m.linalg.lsqr(a, np.ones(4))[0],
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_sparse(kind, name):
    def call(which, x):
        m = importlib.import_module(f"{which}.sparse")
        importlib.import_module(f"{which}.sparse.linalg")
        return OPERATIONS[name](m, getattr(m, kind)((x, PLACES), shape=(4, 4)))

    check(call, np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))


UNTIDY = np.array([0, 3, 4, 6]), np.array([0, 1, 1, 2, 2, 0])  # two elements at one place, and a row out of order


@pytest.mark.parametrize("name", [*OPERATIONS, "dense array", "diagonals", "diagonals in rows"])
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix"])
def test_sparse_with_zeros_and_several_elements_at_one_place(kind, name):
    """A zero has a derivative, too; what is at one place is added up."""
    others = {
        "dense array": lambda m, a: m.csr_array(a.data.reshape(2, 3)) @ np.ones(3),
        "diagonals": lambda m, a: m.diags_array([a.data[3:]], offsets=[0]).toarray(),
        "diagonals in rows": lambda m, a: m.diags_array([a.data[2:]], offsets=[1]).tocsr() @ np.arange(5.0),
    }

    def call(which, x):
        m = importlib.import_module(f"{which}.sparse")
        importlib.import_module(f"{which}.sparse.linalg")
        data = x.copy() if which == "scipy" else x  # SciPy writes into it
        matrix = getattr(m, kind)((data, UNTIDY[1].copy(), UNTIDY[0].copy()), shape=(3, 3))
        return {**OPERATIONS, **others}[name](m, matrix)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "OTHER", OTHER[:3, :3])
        check(call, np.array([1.0, 2.0, 3.0, 4.0, 0.0, 6.0]))


@pytest.mark.parametrize("trans", "NTH")
def test_factors_of_a_sparse_matrix(trans):
    """By the data of the matrix, and by the right side."""
    rows = np.nonzero(OTHER)

    def call(which, x):
        m = importlib.import_module(f"{which}.sparse")
        factors = importlib.import_module(f"{which}.sparse.linalg").splu(m.csc_array((x, rows), shape=(4, 4)))
        return factors.solve(np.arange(8.0).reshape(4, 2), trans), factors.solve(np.ones(4) * x[:4], trans)

    assert check(call, OTHER[rows])


def test_a_diagonal_of_blocks_may_be_a_stack():
    """SciPy's own body: blocks that are stacks make a stack of block diagonal matrices."""
    a, b = draw(2, 2, 3), draw(2, 1, 2)
    right = np.stack([scipy.linalg.block_diag(*pair) for pair in zip(a, b, strict=True)])
    np.testing.assert_array_equal(af.linalg.block_diag(af.Variable(a), b).value, right)
    assert check(lambda which, x: importlib.import_module(f"{which}.linalg").block_diag(x, b), a)
