"""Products that sum over axes (matmul, dot, inner, outer, tensordot, einsum), and norms.

All products are bilinear: z is a sum of products x y. So dL/dx is the same kind of sum, of products g y, in which the
axes that x shares with z stay, and those that only y and z have are summed over.

Norms of vectors and matrices, and the condition number: where a norm has a kink its derivative is one of the slopes
there, 0 for the norm of zeros, an even split where several elements are the largest.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.types import Array, DTypeLike, Shape
from ..table.bodies import run_own, with_copies
from ..table.indexing import put_back
from ..table.kernels import product
from ..table.outside import is_node
from ..table.shapes import (
    as_array,
    as_dtype,
    axes_of,
    inverse,
    is_on_host,
    like_argument,
    numbers_of,
    restore_axes,
    sum_to,
)
from ..table.table import composed, primitive, rule
from ..table.vjps import reciprocal
from .arithmetic import times_share
from .reductions import in_dtype

# ---------------------------------------------------------------- matmul


def matmul_x(g: Array, x_shape: Shape, y: Array) -> Array:
    """z = x y, so dL/dx = g yᵀ.  Shapes: x (..., n, k), y (..., k, m), g (..., n, m).

    Source: M. B. Giles, "Collected matrix derivative results", 2008, under "Multiplication".
    """
    if y.ndim == 2 and len(x_shape) > 1:
        return product(g, y.T) if g.ndim == 2 else g @ y.T
    rows, cols = _matrices(x_shape, y.shape)
    return sum_to(g.reshape(_product(rows, cols)) @ y.reshape(cols).mT, rows).reshape(x_shape)


def matmul_y(g: Array, x: Array, y_shape: Shape) -> Array:
    """z = x y, so dL/dy = xᵀ g.  Shapes as in :func:`matmul_x`."""
    if len(y_shape) == 2 and x.ndim > 1:
        if x.ndim == 2:
            return product(x.T, g)
        n = math.prod(x.shape[:-1])  # a stack of x: one tall product adds up the contributions of all
        return product(x.reshape(n, x.shape[-1]).T, g.reshape(n, y_shape[1]))
    rows, cols = _matrices(x.shape, y_shape)
    return sum_to(x.reshape(rows).mT @ g.reshape(_product(rows, cols)), cols).reshape(y_shape)


def _matrices(x: Shape, y: Shape) -> tuple[Shape, Shape]:
    """The shapes of both operands as matmul sees them: a vector is a row on the left, a column on the right."""
    return (x if len(x) > 1 else (1, *x)), (y if len(y) > 1 else (*y, 1))


def _product(rows: Shape, cols: Shape) -> Shape:
    """The shape of the product: stacks broadcast, then (n, k) (k, m) -> (n, m)."""
    return (*np.broadcast_shapes(rows[:-2], cols[:-2]), rows[-2], cols[-1])


# fmt: off
rule(np.matmul, "x y", "@", r"$x\,$y", x=matmul_x, y=matmul_y, precedence=2)
rule(np.matvec, "x y", "@", r"$x\,$y", precedence=2,
     x=lambda g, x_shape, y: sum_to(g[..., :, None] * y[..., None, :], x_shape),
     y=lambda g, x, y_shape: sum_to((x.mT @ g[..., None])[..., 0], y_shape))
rule(np.vecmat, "x y", "@", r"$x\,$y", precedence=2, holomorphic=False,
     x=lambda g, x_shape, y: sum_to((y @ np.conjugate(g)[..., None])[..., 0], x_shape),
     y=lambda g, x, y_shape: sum_to(x[..., :, None] * g[..., None, :], y_shape))
rule(np.vecdot, "x y", "·", r"$x \cdot $y", precedence=2, holomorphic=False,
     x=lambda g, x_shape, y: sum_to(np.conjugate(g)[..., None] * y, x_shape),
     y=lambda g, x, y_shape: sum_to(g[..., None] * x, y_shape))
# fmt: on

# ---------------------------------------------------------------- tensordot, and dot and inner as cases of it


def contract_x(g: Array, x_shape: Shape, y: Array, xs: Shape, ys: Shape) -> Array:
    """z[i, j] = Σₖ x[i, k] y[k, j] for groups of axes i, j, k: dL/dx[i, k] = Σⱼ g[i, j] y[k, j].

    ``xs``, ``ys``: the axes k in x and in y. The result of tensordot has the axes i in order, then k as they are
    ordered in y; so they are moved to their places in x. A number has no axes: it is a factor.
    """
    if not x_shape or not np.ndim(y):
        return sum_to(g * y, x_shape)
    y_free = tuple([a for a in range(np.ndim(y)) if a not in ys])
    x_free = tuple([a for a in range(len(x_shape)) if a not in xs])
    sent = np.tensordot(g, y, (tuple(range(len(x_free), len(x_free) + len(y_free))), y_free))
    return sent.transpose(inverse(x_free + tuple([xs[ys.index(a)] for a in sorted(ys)])))


def contract_y(g: Array, x: Array, y_shape: Shape, xs: Shape, ys: Shape) -> Array:
    """The same for y: dL/dy[k, j] = Σᵢ x[i, k] g[i, j]."""
    if not y_shape or not np.ndim(x):
        return sum_to(g * x, y_shape)
    x_free = tuple([a for a in range(np.ndim(x)) if a not in xs])
    y_free = tuple([a for a in range(len(y_shape)) if a not in ys])
    sent = np.tensordot(x, g, (x_free, tuple(range(len(x_free)))))
    return sent.transpose(inverse(tuple([ys[xs.index(a)] for a in sorted(xs)]) + y_free))


def summed_axes(axes: Any, nx: int, ny: int) -> tuple[Shape, Shape]:
    """The axes that tensordot sums over, in x and in y.

    >>> summed_axes(1, 3, 2), summed_axes(((0, -1), (1, 0)), 3, 2)
    (((2,), (0,)), ((0, 2), (1, 0)))
    """
    if not isinstance(axes, (tuple, list)) and np.ndim(axes) == 0:
        return tuple(range(nx - int(axes), nx)), tuple(range(int(axes)))
    return axes_of(axes[0], nx), axes_of(axes[1], ny)


def dot_axes(x_ndim: int, y_ndim: int) -> tuple[Shape, Shape]:
    """np.dot sums over the last axis of x and the last but one of y (of a vector, its only one)."""
    return (x_ndim - 1,), (max(y_ndim - 2, 0),)


# fmt: off
rule(np.dot, "x y", "·", r"$x \cdot $y", precedence=2,  # a product of matrices, or a tensordot
     x=lambda g, x_shape, y: (g @ y.T if len(x_shape) == 2 == np.ndim(y) else
                              contract_x(g, x_shape, y, *dot_axes(len(x_shape), np.ndim(y)))),
     y=lambda g, x, y_shape: (x.T @ g if np.ndim(x) == 2 == len(y_shape) else
                              contract_y(g, x, y_shape, *dot_axes(np.ndim(x), len(y_shape)))))
rule(np.inner, "x y", "·", r"\langle $x, $y \rangle",  # z[i, j] = Σₖ x[i, k] y[j, k]
     x=lambda g, x_shape, y: contract_x(g, x_shape, y, (len(x_shape) - 1,), (np.ndim(y) - 1,)),
     y=lambda g, x, y_shape: contract_y(g, x, y_shape, (np.ndim(x) - 1,), (len(y_shape) - 1,)))
rule(np.outer, "x y", "⊗", r"$x \otimes $y", precedence=2,
     x=lambda g, x_shape, y: (g @ np.ravel(y)).reshape(x_shape),
     y=lambda g, x, y_shape: (np.ravel(x) @ g).reshape(y_shape))
rule(np.vdot, "x y", "·", r"\overline{$x} \cdot $y", precedence=2, holomorphic=False,
     x=lambda g, x_shape, y: (np.conjugate(g) * y).reshape(x_shape), y=lambda g, x, y_shape: (g * x).reshape(y_shape))
rule(np.tensordot, "x y | axes=2", "⊗", r"$x \cdot $y", precedence=2,
     x=lambda g, x_shape, y, axes: contract_x(g, x_shape, y, *summed_axes(axes, len(x_shape), np.ndim(y))),
     y=lambda g, x, y_shape, axes: contract_y(g, x, y_shape, *summed_axes(axes, np.ndim(x), len(y_shape))))
# fmt: on

# ---------------------------------------------------------------- einsum


@composed(np.einsum)
def einsum(*operands: Any, optimize: object = False, **options: Any) -> Array:
    """Both spellings of ``np.einsum``: ``("ij,jk", x, y)`` and ``(x, [0, 1], y, [1, 2])``."""
    arrays, call = arrays_and_subscripts(operands)
    if not isinstance(call, str) and any([is_node(part) for part in call]):  # NumPy says what is wrong
        return np.einsum(*[numbers_of(x) for x in operands], **options)
    letters = explicit(call, [np.ndim(x) for x in arrays])
    return indexed_sum(arrays, call, letters, optimize, **options)


def arrays_and_subscripts(operands: Any) -> tuple[Any, Any]:
    """The arrays of a call in either spelling, and its subscripts as given: a text, or lists of numbers."""
    if isinstance(operands[0], str):
        return operands[1:], operands[0]
    pairs = len(operands) // 2
    return operands[: 2 * pairs : 2], operands[1 : 2 * pairs : 2] + operands[2 * pairs :]


def indexed_sum(xs: Any, call: Any, letters: str, optimize: Any = False, **options: Any) -> Array:
    """einsum of a sequence of arrays. ``call``: the subscripts as given; ``letters``: the same, in full."""
    for x in xs:
        if hasattr(type(x), "family"):  # a node, of whatever array type
            options = {"optimize": optimize, **options}
            return x.__array_function__(indexed_sum, (type(x),), (xs, call, letters), options)
    return compute_einsum(xs, call, letters, optimize=optimize, **options)


def compute_einsum(xs: Sequence[Array], call: Any, letters: str, **options: Any) -> Array:
    """The call as it was given, so that its bits and its errors are NumPy's."""
    if isinstance(call, str):
        return np.einsum(call, *xs, **options)
    operands = [word for pair in zip(xs, call, strict=False) for word in pair]
    return np.einsum(*operands, *call[len(xs) :], **options)


indexed_sum.compute = compute_einsum  # type: ignore[attr-defined]


def explicit(call: Any, ndims: Sequence[int]) -> str:
    """The subscripts with a letter for every axis and with an output.

    >>> explicit("ij,jk", [2, 2]), explicit("...i->...", [3]), explicit(([0, 1], [1]), [2, 1])
    ('ij,jk->ik', 'ABi->AB', 'AB,B->A')
    """
    text = (call if isinstance(call, str) else spell_subscripts(call, len(ndims))).replace(" ", "")
    inputs, arrow, output = text.partition("->")
    unused = "".join([c for c in string.ascii_uppercase + string.ascii_lowercase if c not in text])
    terms, widest = [], ""
    for term, ndim in zip(inputs.split(","), ndims, strict=False):
        dots = unused[: max(ndim - len(term.replace("...", "")), 0)] if "..." in term else ""
        widest = max(widest, dots, key=len)
        terms.append((term, dots))
    # Ellipses are aligned at their last axis: the shorter get the last letters of the longest.
    full = [term.replace("...", widest[len(widest) - len(dots) :]) for term, dots in terms]
    if not arrow:
        every = "".join(full)
        output = "..." + "".join(sorted([c for c in set(every) if every.count(c) == 1 and c not in widest]))
    return ",".join(full) + "->" + output.replace("...", widest)


def spell_subscripts(lists: Sequence[Any], n: int) -> str:
    """Lists of numbers as subscripts: NumPy's 0, 1, 2, ... are A, B, C, ..."""
    letters = string.ascii_uppercase + string.ascii_lowercase
    terms = ["".join(["..." if i is Ellipsis else letters[int(i)] for i in part]) for part in lists]
    return ",".join(terms[:n]) + ("->" + terms[n] if len(terms) > n else "")


def einsum_x(g: Array, k: int, xs_others: Any, xs_shape: Any, letters: str, optimize: Any, dtype: DTypeLike) -> Array:
    """z[out] = Σ x₀[...] x₁[...] ..., so dL/dxₖ[own] = Σ g[out] · the others: an einsum again, out and own swapped.

    Three cases are corrected afterwards: a letter that only xₖ has (it was summed over: every
    element receives the same), an axis of length 1 that was broadcast (sum), a letter twice (only the diagonal counts).
    """
    inputs, _, out = letters.partition("->")
    terms = inputs.split(",")
    own = terms.pop(k)
    sizes = dict(zip(own, xs_shape[k], strict=True))
    other_letters = set(out).union(*terms)
    shared = "".join([c for c in sizes if c in other_letters])
    others = [in_dtype(x, dtype) for i, x in enumerate(xs_others) if i != k]
    road = optimize if isinstance(optimize, (bool, str)) else True
    sent = np.einsum(",".join([out, *terms]) + "->" + shared, g, *others, optimize=road)
    lengths = dict(zip(shared, sent.shape, strict=True))
    wide = [lengths.get(c, 1) for c in sizes]
    sent = sum_to(sent.reshape(wide), tuple([1 if n == 1 else w for n, w in zip(sizes.values(), wide, strict=True)]))
    sent = np.broadcast_to(sent, tuple(sizes.values()))
    if len(sizes) == len(own):
        return sent
    places = dict(zip(sizes, np.ogrid[tuple([slice(n) for n in sizes.values()])], strict=True))
    return put_back(sent, tuple([places[c] for c in own]), xs_shape[k])


# fmt: off
rule(indexed_sum, "*xs | call letters optimize=False dtype=None order='K' casting='safe'", "einsum",
     r"\operatorname{einsum}($xs)", xs=einsum_x, name="einsum", compute=compute_einsum, by_name=True, view=True)
# fmt: on


# ---------------------------------------------------------------- kron, cross, powers, and the names of the array API


@composed(np.kron)
def kron(a: Array, b: Array) -> Array:
    """Every element of a times all of b: axes (a₀, 1, a₁, 1) and (1, b₀, 1, b₁) multiplied, then joined in pairs."""
    x, y = as_array(a), as_array(b)
    if not x.ndim or not y.ndim:
        return x * y
    n = max(x.ndim, y.ndim)
    xs, ys = (1,) * (n - x.ndim) + x.shape, (1,) * (n - y.ndim) + y.shape
    z = x.reshape([k for size in xs for k in (size, 1)]) * y.reshape([k for size in ys for k in (1, size)])
    return z.reshape([k * m for k, m in zip(xs, ys, strict=True)])


@composed(np.cross)
def cross(a: Array, b: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """x × y of vectors along an axis. If they have two elements, as NumPy allowed until 2.4, the third is 0."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_array(a), as_array(b)
    if not x.ndim or not y.ndim:
        raise ValueError("At least one array has zero dimension")
    x, y = np.moveaxis(x, axisa, -1), np.moveaxis(y, axisb, -1)
    lengths = x.shape[-1], y.shape[-1]
    if lengths != (3, 3):
        np.cross(np.ones(lengths[0]), np.ones(lengths[1]))  # NumPy's errors and warnings
    x0, x1, x2 = [x[..., k] if k < lengths[0] else None for k in range(3)]
    y0, y1, y2 = [y[..., k] if k < lengths[1] else None for k in range(3)]
    last = _difference(x0, y1, x1, y0)
    if lengths == (2, 2):
        return last
    z = np.stack(np.broadcast_arrays(_difference(x1, y2, x2, y1), _difference(x2, y0, x0, y2), last), axis=-1)
    return np.moveaxis(z, -1, axisc)


def _difference(a: Any, b: Any, c: Any, d: Any) -> Array:
    """a b - c d, where None is a missing component."""
    if c is None or d is None:
        return a * b
    return -(c * d) if a is None or b is None else a * b - c * d


run_own(np.linalg.matmul, np.linalg.outer, np.linalg.tensordot, np.linalg.matrix_transpose, np.linalg.diagonal,
        np.linalg.trace, np.linalg.cross, np.linalg.matrix_power, np.linalg.vecdot)  # fmt: skip
run_own(np.linalg.multi_dot, sequences="arrays")

# ---------------------------------------------------------------- norms, and the condition number


INF = math.inf


@primitive
def norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norms of vectors, and the Euclidean norm of anything."""
    return np.linalg.norm(x, ord, axis, keepdims)


def norm_x(g: Array, x: Array, z: Array, ord: Any, axis: Any, keepdims: bool) -> Array:
    """z = (Σ |xᵢ|ᵖ)^(1/p), so dz/dxᵢ = (|xᵢ|/z)^(p-1) xᵢ/|xᵢ|; its limits for p = 0, 1, 2, ∞ are their own cases.

    >>> import autoflow as af
    >>> x = af.Variable([0.0, 0.0])
    >>> np.linalg.norm(x).backward()
    >>> x.grad
    array([0., 0.])
    """
    g, z = restore_axes(g, x.shape, axis, keepdims), restore_axes(z, x.shape, axis, keepdims)
    if ord in (None, "fro", "f", 2):
        zero = numbers_of(z) == 0
        all_long = is_on_host(z) and not np.any(zero)
        scale = g / z if all_long else times_share(g / np.where(zero, 1, z), ~zero)
        return x * scale if is_on_host(scale) and not np.isinf(numbers_of(scale)).any() else times_share(scale, x)
    if ord == 0:
        return np.zeros(x.shape, numbers_of(x).dtype, like=like_argument(x))
    if ord == 1:
        return times_share(g, unit(x))
    size = np.abs(x)
    if ord in (INF, -INF):
        reached = numbers_of(size) == numbers_of(z)
        count = np.sum(reached, axis=axis, keepdims=True, dtype=np.result_type(z.dtype, np.float32))
        return times_share(g / count, unit(x) * reached)
    zero = (numbers_of(size) == 0) | (numbers_of(z) == 0)
    ratio = np.where(zero, 1, size * reciprocal(z, numbers_of(z) == 0))
    return times_share(ratio ** (ord - 1) * g, unit(x) * ~zero)


def unit(x: Array) -> Array:
    """x/|x|: the sign of a real number, the phase of a complex one; 0 at 0."""
    return x * reciprocal(np.abs(x), numbers_of(x) == 0) if x.dtype.kind == "c" else np.sign(numbers_of(x))


theirs: Any = np.linalg.norm
numpys_norm = with_copies(theirs._implementation)


@composed(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Norms of matrices are NumPy's own code, by sums along columns or rows or by singular values."""
    x = as_array(x)
    of_matrix = len({*axes_of(axis, x.ndim)}) == 2 and ord in (1, -1, 2, -2, INF, -INF, "nuc")
    return (numpys_norm if of_matrix else norm)(x, ord, axis, keepdims)


run_own(np.linalg.vector_norm, np.linalg.matrix_norm)


@composed(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Array:
    """‖x‖ ‖x⁻¹‖; by the largest and the smallest singular value if p is None, 2 or -2; inf for a singular x."""
    x = as_array(x)
    right = np.linalg.cond(numbers_of(x), p)  # and its errors
    if p is None or p in (2, -2):
        s = np.linalg.svdvals(x)
        with np.errstate(all="ignore"):
            r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        bad = ~np.isfinite(right)[..., None, None]
        eye = np.identity(x.shape[-1], numbers_of(x).dtype, like=like_argument(x))
        regular = np.where(bad, eye, x) if np.any(bad) else x
        regular = as_dtype(regular, np.result_type(eye.dtype, np.float64))  # in which NumPy inverts
        r = np.linalg.norm(x, p, (-2, -1)) * np.linalg.norm(np.linalg.inv(regular), p, (-2, -1))
        r = as_dtype(r, right.dtype)
    lost = ~np.isfinite(right)
    return np.where(lost, right, r) if np.any(lost) else r


# fmt: off
rule(norm, "x | ord=None axis=None keepdims=False", "norm", r"\left\| $x \right\|", x=norm_x, holomorphic=False)
# fmt: on
