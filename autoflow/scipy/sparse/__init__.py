"""scipy.sparse for nodes: SciPy's own classes, whose products have a rule, so that their data may be nodes.

    from autoflow.scipy import sparse
    sparse.csr_array((data, (rows, columns)), shape=(n, n)) @ x

Gradients flow to x, and to the data of the matrix, by A = Σₖ dataₖ eᵣ eᶜᵀ: dL/dx = Aᵀ g, dL/ddataₖ = gᵣ xᶜ. What only
moves data from one format into another moves nodes along.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as theirs
from scipy.sparse import _sparsetools as kernels

from ...batching.batched import open_layer, wrap_batched
from ...batching.forms import batched
from ...rules import kernel, rule
from ...table.indexing import put_back
from ...table.shapes import Array
from ..bodies import check_precision, copied, stand_for
from ..mirrors import mirrored, never_lost

CLASSES = [f"{name}_{kind}" for name in ("coo", "csc", "csr", "dia") for kind in ("array", "matrix")]
__all__ = [*CLASSES]


@kernel
def product(data: Array, x: Array, rows: Any = None, columns: Any = None, m: int = 0) -> Array:
    """A x for a matrix given by its elements. Shapes: data, rows, columns (k,); x (n,), (n, p) -> (m,), (m, p)."""
    check_precision(data, x)
    return theirs.csr_array((data, (rows, columns)), shape=(m, x.shape[0])) @ x


def product_data(g: Array, x: Array, rows: Any, columns: Any) -> Array:
    """gᵣ xᶜ, summed over the columns of x."""
    sent = g[rows] * x[columns]
    return np.sum(sent, axis=1) if sent.ndim == 2 else sent


rule(product, "data x | rows=None columns=None m=0", "A @", r"A $x", name="sparse_matmul", data=product_data,
     x=lambda g, data, x_shape, rows, columns: product(data, g, columns, rows, x_shape[0]))  # fmt: skip


@batched(product)
def product_of_batch(layer: Any, data: Any, x: Any, rows: Any = None, columns: Any = None, m: int = 0) -> Any:
    """Vectors are the columns of one matrix; of several matrices the elements are multiplied one by one."""
    (values, moves), (vectors, _) = open_layer(data, layer), open_layer(x, layer)
    if moves or np.ndim(x) == 2:
        return put_back(x[columns] * (data if np.ndim(x) == 1 else data[:, None]), rows, (m, *np.shape(x)[1:]))
    return wrap_batched(product(values, vectors.T, rows, columns, m).T, layer)


def expanded(indptr: Array) -> Array:
    """The row of each element, by where rows begin."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def matvec(turned: bool) -> Any:
    """What stands for csr_matvec and csr_matvecs, ``turned`` for those of csc: they add to their last argument."""

    def run(m: int, n: int, *args: Any) -> None:
        *vectors, indptr, indices, data, x, out = args
        places = [expanded(indptr), indices]
        rows, columns = places[::-1] if turned else places
        x = np.reshape(x, (n, vectors[0])) if vectors else x
        out[...] = out + np.reshape(product(data, x, rows, columns, m), out.shape)

    return run


def moving(kernel: Any, place: int) -> Any:
    """What stands for a function that moves data, argument ``place``, into its last argument: it moves numbers."""

    def run(*args: Any) -> Any:
        data, out = args[place], args[-1]
        order = np.zeros(np.shape(out), np.int64)
        found = kernel(*args[:place], np.arange(1, data.size + 1), *args[place + 1 : -1], order)
        moved = data[np.maximum(order - 1, 0)]
        out[...] = moved if order.all() else np.where(order > 0, moved, 0)
        return found

    return run


def coo_matvec(k: int, rows: Array, columns: Array, data: Array, x: Array, out: Array) -> None:
    """A x of elements in any order."""
    out[...] = out + product(data, x, rows, columns, out.size)


def dia_matvec(m: int, n: int, k: int, size: int, offsets: Array, data: Array, x: Array, out: Array) -> None:
    """A x of diagonals: data[i, j] is in the column j, and in the row j − offsets[i], if there is one."""
    i, columns = np.indices((k, min(size, n))).reshape(2, -1)
    rows = columns - offsets[i]
    inside = (rows >= 0) & (rows < m)
    i, rows, columns = i[inside], rows[inside], columns[inside]
    out[...] = out + product(data[i, columns], x, rows, columns, m)


def sort_indices(m: int, indptr: Array, indices: Array, data: Array) -> None:
    """The elements of each row in the order of their columns."""
    order = np.arange(data.size)
    kernels.csr_sort_indices(m, indptr, indices, order)
    data[...] = data[order]


def sum_duplicates(m: int, n: int, indptr: Array, indices: Array, data: Array) -> None:
    """Elements at the same place, which are neighbours, become one."""
    rows, count = expanded(indptr), np.ones(data.size)
    group = np.cumsum(np.diff(rows * n + indices, prepend=-1) != 0) - 1
    kernels.csr_sum_duplicates(m, n, indptr, indices, count)
    data[...] = put_back(data, group, data.shape)


def combined(sign: float) -> Any:
    """What stands for the sum or difference of two matrices: which elements of both meet is found with their places, as
    real and imaginary parts."""
    kernel = kernels.csr_plus_csr

    def run(m: int, n: int, p: Array, i: Array, a: Array, q: Array, j: Array, b: Array, *into: Array) -> None:
        found = np.zeros(np.shape(into[2]), complex)
        kernel(m, n, p, i, np.arange(1, a.size + 1) + 0j, q, j, np.arange(1, b.size + 1) * 1j, *into[:2], found)
        parts = [(found.real.astype(int), a), (found.imag.astype(int), sign * b)]
        x, y = [np.where(k > 0, v[np.maximum(k - 1, 0)], 0) if v.size else 0.0 for k, v in parts]
        into[2][...] = x + y

    return run


places = {"csr_tocsc": 4, "coo_tocsr": 5, "csr_todense": 4, "csr_diagonal": 5}  # of the data among the arguments
stand_for(kernels, {
    "csr_plus_csr": combined(1), "csr_minus_csr": combined(-1), "coo_matvec": coo_matvec, "dia_matvec": dia_matvec,
    "csr_sort_indices": sort_indices, "csr_sum_duplicates": sum_duplicates,
    **{f"{kind}_{word}": matvec(kind == "csc") for kind in ("csr", "csc") for word in ("matvec", "matvecs")},
    **{name: moving(getattr(kernels, name), place) for name, place in places.items()},
})  # fmt: skip
copied(theirs._base._spbase).__array_ufunc__ = None  # x * matrix is the matrix' to answer
for _name in CLASSES:
    globals()[_name] = never_lost(copied(getattr(theirs, _name)))
__getattr__, __dir__ = mirrored(globals())
