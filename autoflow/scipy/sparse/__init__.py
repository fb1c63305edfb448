"""scipy.sparse for nodes: SciPy's own classes, whose products have a rule, so that their data may be nodes.

    from autoflow.scipy import sparse
    sparse.csr_array((data, (rows, columns)), shape=(n, n)) @ x

Gradients flow to x, and to the data of the matrix, by A = Σₖ dataₖ eᵣ eᶜᵀ: dL/dx = Aᵀ g, dL/ddataₖ = gᵣ xᶜ. Functions
that only move data from one format to another also move nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as theirs
from scipy.sparse import _sparsetools as kernels

from ...base.errors import NoRuleError
from ...batching.batched import open_layer, wrap_batched
from ...batching.forms import batched
from ...nodes.nodes import AnyFunction, NodeRole
from ...rules import kernel, rule
from ...table.indexing import put_back
from ...table.shapes import Array
from ..bodies import check_precision, copied, stand_for
from ..mirrors import mirrored, never_lost

CLASSES = [f"{name}_{kind}" for name in ("coo", "csc", "csr", "dia") for kind in ("array", "matrix")]
__all__ = [*CLASSES]


@kernel
def product(data: Array, x: Array, rows: Array = None, columns: Array = None, m: int = 0) -> Array:
    """A x for a matrix given by its elements. Shapes: data, rows, columns (k,); x (n,), (n, p) -> (m,), (m, p)."""
    check_precision(data, x)
    return theirs.csr_array((data, (rows, columns)), shape=(m, x.shape[0])) @ x


def product_data(g: Array, x: Array, rows: Array, columns: Array) -> Array:
    """gᵣ xᶜ, summed over the columns of x."""
    sent = g[rows] * x[columns]
    return np.sum(sent, axis=1) if sent.ndim == 2 else sent


rule(product, "data x | rows=None columns=None m=0", "A @", r"A $x", name="sparse_matmul", data=product_data,
     x=lambda g, data, x_shape, rows, columns: product(data, g, columns, rows, x_shape[0]))  # fmt: skip


@batched(product)
def product_of_batch(layer: Any, data: Any, x: Any, rows: Any = None, columns: Any = None, m: int = 0) -> Array:
    """Vectors become the columns of one matrix; with several matrices the elements are multiplied one by one."""
    (values, moves), (vectors, _) = open_layer(data, layer), open_layer(x, layer)
    if moves or np.ndim(x) == 2:
        return put_back(x[columns] * (data if np.ndim(x) == 1 else data[:, None]), rows, (m, *np.shape(x)[1:]))
    return wrap_batched(product(values, vectors.T, rows, columns, m).T, layer)


def expanded(indptr: Array) -> Array:
    """The row of each element, by where rows begin."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def matvec(turned: bool) -> AnyFunction:
    """Replaces csr_matvec and csr_matvecs, or with ``turned`` those of csc: they add to their last argument."""

    def run(m: int, n: int, *args: Any) -> None:
        *vectors, indptr, indices, data, x, out = args
        places = [expanded(indptr), indices]
        rows, columns = places[::-1] if turned else places
        x = np.reshape(x, (n, vectors[0])) if vectors else x
        out[...] = out + np.reshape(product(data, x, rows, columns, m), out.shape)

    return run


def moving(kernel: Any, place: int) -> AnyFunction:
    """Replaces a function that moves data, argument ``place``, into its last argument; SciPy's moves their numbers."""

    def run(*args: Any) -> Any:
        data, out = args[place], args[-1]
        order = np.zeros(np.shape(out), np.int64)
        result = kernel(*args[:place], np.arange(1, data.size + 1), *args[place + 1 : -1], order)
        moved = data[np.maximum(order - 1, 0)]
        out[...] = moved if order.all() else np.where(order > 0, moved, 0)
        return result

    return run


def coo_matvec(k: int, rows: Array, columns: Array, data: Array, x: Array, out: Array) -> None:
    """A x for elements in any order."""
    out[...] = out + np.reshape(product(data, x, rows, columns, out.size), out.shape)


def diagonals(m: int, n: int, k: int, size: int, offsets: Array) -> tuple[Array, Array, Array]:
    """Where the elements of diagonals belong: data[i, j] is in column j and row j − offsets[i], if that exists. Returns
    i, rows and columns."""
    i, columns = np.indices((k, min(size, n))).reshape(2, -1)
    rows = columns - offsets[i]
    inside = (rows >= 0) & (rows < m)
    return i[inside], rows[inside], columns[inside]


def dia_matvec(m: int, n: int, k: int, size: int, offsets: Array, data: Array, x: Array, out: Array) -> None:
    """A x for diagonals."""
    i, rows, columns = diagonals(m, n, k, size, offsets)
    out[...] = out + np.reshape(product(data[i, columns], x, rows, columns, m), out.shape)


def dia_tocoo(self: Any, copy: bool = False) -> Any:
    """SciPy leaves out elements that are 0; they have a derivative."""
    (m, n), (k, size) = self.shape, self.data.shape
    i, rows, columns = diagonals(m, n, k, size, self.offsets)
    return self._coo_container((self.data[i, columns], (rows, columns)), shape=self.shape)


def todense(m: int, n: int, indptr: Array, indices: Array, data: Array, out: Array) -> None:
    """The matrix with all its zeros. Elements at the same place are added."""
    out[...] = out + np.reshape(put_back(data, (expanded(indptr), indices), (m, n)), out.shape)


def coo_toarray(self: Any, order: object = None, out: object = None) -> Any:
    """The same for elements in any order, and any number of axes."""
    if out is not None:
        raise NoRuleError("a sparse matrix with nodes takes no out=: leave it out")
    return put_back(self.data, self.coords, self.shape)


def diagonal(k: int, m: int, n: int, indptr: Array, indices: Array, data: Array, out: Array) -> None:
    """The k-th diagonal."""
    rows = expanded(indptr)
    there = indices - rows == k
    out[...] = put_back(data[there], (rows[there] - max(-k, 0),), out.shape)


def submatrix(m: int, n: int, indptr: Array, indices: Array, data: Array, *ends: int) -> tuple[Array, Array, Array]:
    """Rows and columns from one place to another."""
    *places, order = kernels.get_csr_submatrix(m, n, indptr, indices, np.arange(data.size), *ends)
    return *places, data[order]


def with_all_elements(init: Any) -> AnyFunction:
    """From a dense node a matrix keeps all elements: one that is 0 has a derivative, too."""

    def run(self: Any, arg1: Any, shape: Any = None, **options: Any) -> None:
        if isinstance(arg1, NodeRole):
            x: Any = arg1
            x = np.atleast_2d(x) if isinstance(self, theirs.spmatrix) else x
            shape, arg1 = shape or x.shape, (np.ravel(x), tuple(np.indices(x.shape).reshape(x.ndim, -1)))
        init(self, arg1, shape, **options)

    return run


OPERATORS = {
    np.add: "add radd", np.subtract: "sub rsub", np.multiply: "mul rmul", np.divide: "truediv rtruediv",
    np.matmul: "matmul rmatmul", np.equal: "eq eq", np.not_equal: "ne ne", np.less: "lt gt", np.greater: "gt lt",
    np.less_equal: "le ge", np.greater_equal: "ge le",
}  # fmt: skip


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, x: Any, y: Any = None, *others: Any, **options: object) -> Any:
    """``np.sqrt(matrix)`` calls the matrix's own method, as NumPy does for any object; and ``x * matrix`` with an array
    x comes here, for the matrix to answer."""
    if method != "__call__" or options or others or (y is not None and ufunc not in OPERATORS):
        return NotImplemented
    if y is None:
        cell = np.empty((), object)
        cell[()] = x
        return ufunc(cell)
    word, turned = OPERATORS[ufunc].split()
    return getattr(x, f"__{word}__")(y) if theirs.issparse(x) else getattr(y, f"__{turned}__")(x)


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


def summed(places: Array, data: Array) -> tuple[Array, Array]:
    """The places in order, each once, and the sums of the elements there."""
    places, group = np.unique(places, return_inverse=True)
    return places, put_back(data, (group,), places.shape)


def fill(m: int, n: int, places: Array, data: Array, indptr: Array, indices: Array, out: Array) -> None:
    """Write elements at places, counted along the rows, as a compressed matrix."""
    indptr[...] = np.searchsorted(places, n * np.arange(m + 1))
    indices[: places.size], out[: places.size] = places % n, data


def combined(join: Any, compute: Any) -> AnyFunction:
    """Replaces an elementwise function of two matrices; ``join`` finds the places of the result."""

    def run(m: int, n: int, p: Array, i: Array, a: Array, q: Array, j: Array, b: Array, *into: Array) -> None:
        pairs = [summed(expanded(ends) * n + k, data) for ends, k, data in ((p, i, a), (q, j, b))]
        places = join(*[there for there, _ in pairs])
        parts = []
        for there, data in pairs:
            k = np.minimum(np.searchsorted(there, places), max(there.size - 1, 0))
            parts.append(np.where(there[k] == places, data[k], 0) if there.size else np.zeros(places.shape))
        fill(m, n, places, compute(*parts), *into)

    return run


def matmat(m: int, n: int, p: Array, i: Array, a: Array, q: Array, j: Array, b: Array, *into: Array) -> None:
    """The product of two matrices: each element of the first meets a row of the second."""
    lengths = np.diff(q)[i]
    first = np.repeat(np.arange(i.size), lengths)
    second = np.arange(first.size) + np.repeat(q[i] - np.cumsum(lengths) + lengths, lengths)
    fill(m, n, *summed(expanded(p)[first] * n + j[second], a[first] * b[second]), *into)


places = {  # of data among the arguments
    "csr_tocsc": 4, "coo_tocsr": 5, "csr_row_index": 4, "csr_row_slice": 5, "csr_column_index2": 4, "csr_hstack": 5,
}  # fmt: skip
stand_for(kernels, {
    "csr_plus_csr": combined(np.union1d, np.add), "csr_minus_csr": combined(np.union1d, np.subtract),
    "csr_maximum_csr": combined(np.union1d, np.maximum), "csr_minimum_csr": combined(np.union1d, np.minimum),
    "csr_elmul_csr": combined(np.intersect1d, np.multiply), "csr_matmat": matmat, "get_csr_submatrix": submatrix,
    "coo_matvec": coo_matvec, "dia_matvec": dia_matvec, "csr_todense": todense, "csr_diagonal": diagonal,
    "csr_sort_indices": sort_indices, "csr_sum_duplicates": sum_duplicates,
    **{f"{kind}_{word}": matvec(kind == "csc") for kind in ("csr", "csc") for word in ("matvec", "matvecs")},
    **{name: moving(getattr(kernels, name), place) for name, place in places.items()},
})  # fmt: skip
of_elements, of_diagonals = copied(theirs._coo._coo_base), copied(theirs._dia._dia_base)
of_elements.__init__, of_elements.toarray = with_all_elements(of_elements.__init__), coo_toarray
of_diagonals.tocoo, of_diagonals.tocsr = dia_tocoo, lambda self, copy=False: self.tocoo().tocsr()
of_any = copied(theirs._base._spbase)
of_any.__array_ufunc__, of_any.__carries_nodes__ = array_ufunc, "data"  # see nodes/coercion.py
for _name in CLASSES:
    globals()[_name] = never_lost(copied(getattr(theirs, _name)))
__getattr__, __dir__ = mirrored(globals())
