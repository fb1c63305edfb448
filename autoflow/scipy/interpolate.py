"""scipy.interpolate for nodes: SciPy's own classes, with splines that are evaluated here.

Gradients flow to the places x, to the values y, and to the points at which a curve is evaluated. A spline is a sum of
B-splines, and k + 1 of them are not 0 at a point; they come from those of lower degree: C. de Boor, "On calculating
with B-splines", 1972.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import interpolate as theirs
from scipy.interpolate import _bsplines, _dierckx, _fitpack_impl, _ppoly, _rbfinterp, _rgi

from ..nodes.nodes import constant_from
from ..table.indexing import put_back
from ..table.shapes import Array, as_array, numbers_of
from .bodies import COPIES, Library, is_ours, load_rules, stand_for
from .linalg import solve_banded
from .mirrors import mirrored, never_lost
from .proofs import numbers

CLASSES = [
    "Akima1DInterpolator", "BSpline", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator",
    "RegularGridInterpolator", "interp1d",
]  # fmt: skip
__all__ = [*CLASSES, "interpn", "make_interp_spline", "pchip_interpolate"]  # noqa: F822


def interval(x: Array, knots: Array, first: int, last: int) -> Array:
    """Which interval of the knots, ``first`` to ``last``, each point is in; points outside are in the nearest."""
    return np.clip(np.searchsorted(numbers_of(knots), numbers_of(x), "right") - 1, first, last)


def evaluate_polynomials(c: Array, x: Array, points: Array, nu: int, extrapolate: bool, out: Array) -> None:
    """``_ppoly.evaluate``: Σ c[m] (p − xᵢ)ⁿ⁻¹⁻ᵐ on the interval i of each point, or its derivative of order nu.

    Shapes: c (n, intervals, d), x (intervals + 1,), points and out (p,), (p, d).
    """
    if nu < 0:
        raise ValueError("Order of derivative cannot be negative")
    n, sign = c.shape[0], 1 if numbers_of(x)[-1] >= numbers_of(x)[0] else -1
    i = interval(sign * points, sign * x, 0, c.shape[1] - 1)
    s = (points - x[i])[:, None]
    z: Any = np.zeros((len(i), c.shape[2]), out.dtype)
    for m in range(n - nu):
        z = z * s + c[m, i] * np.prod(np.arange(n - m - nu, n - m), dtype=float)
    at, ends = sign * numbers_of(points), sign * numbers_of(x)
    inside = (at >= ends[0]) & (at <= ends[-1])
    out[...] = z if extrapolate else np.where(inside[:, None], z, np.nan)


def integrate_polynomials(c: Array, x: Array, a: float, b: float, extrapolate: bool, out: Array) -> None:
    """``_ppoly.integrate``: by the antiderivative, which begins each interval where it ended the one before."""
    n = c.shape[0]
    whole = c / np.arange(n, 0, -1.0)[:, None, None]
    steps = np.sum(whole * np.diff(x)[:, None] ** np.arange(n, 0, -1)[:, None, None], axis=0)
    start = np.concatenate([steps[:1] * 0, np.cumsum(steps, axis=0)[:-1]])
    ends = constant_from(np.zeros((2, c.shape[2])))
    evaluate_polynomials(
        np.concatenate([whole, start[None]]), x, np.stack([as_array(a), as_array(b)]), 0, extrapolate, ends
    )
    out[...] = ends[1] - ends[0]


def bsplines(x: Array, t: Array, k: int, i: Array) -> Array:
    """The k + 1 B-splines of degree k that are not 0 in the interval i of each point: x, i (p,) give (p, k + 1)."""
    b: list[Any] = [np.ones_like(x)]
    for d in range(1, k + 1):
        new: list[Any] = [0.0] * (d + 1)
        for r in range(d):
            left, right = t[i + r + 1 - d], t[i + r + 1]
            part = b[r] / (right - left)
            new[r] = new[r] + part * (right - x)
            new[r + 1] = new[r + 1] + part * (x - left)
        b = new
    return np.stack(b, axis=-1)


def evaluate_spline(t: Array, c: Array, k: int, x: Array, nu: int, extrapolate: bool) -> Array:
    """``_dierckx.evaluate_spline``. Shapes: c (n, d), x (p,) -> (p, d)."""
    if nu < 0:
        raise NotImplementedError(f"Cannot do derivative order nu= {nu}")
    c = c[: t.size - k - 1]  # the others are 0, and belong to no spline
    first, last = t[k], t[c.shape[0]]
    for _ in range(min(nu, k + 1)):  # the derivative is a spline of the next lower degree
        if not k:
            return np.zeros((x.size, c.shape[1])) * c[:1]
        c = k * (c[1:] - c[:-1]) / different(t[k + 1 : k + len(c)], t[1 : len(c)])[:, None]
        t, k = t[1:-1], k - 1
    i = interval(x, t, k, len(c) - 1)
    z = np.sum(bsplines(x, t, k, i)[:, :, None] * c[i[:, None] - k + np.arange(k + 1)], axis=1)
    points = numbers_of(x)
    inside = (points >= numbers_of(first)) & (points <= numbers_of(last))
    return z if extrapolate else np.where(inside[:, None], z, np.nan)


def different(a: Array, b: Array) -> Array:
    """a − b, and 1 where that is 0: between knots at the same place a spline has no piece."""
    d = a - b
    return np.where(numbers_of(d) == 0, 1.0, d)


def design(x: Array, t: Array, k: int, n: int) -> Array:
    """The matrix of all n B-splines (columns) at all points (rows)."""
    i = interval(x, t, k, n - 1)
    return put_back(bsplines(x, t, k, i), (np.arange(x.size)[:, None], i[:, None] - k + np.arange(k + 1)), (x.size, n))


def fill_collocation(x: Array, t: Array, k: int, ab: Array, offset: int = 0) -> None:
    """``_dierckx._coloc``: the same matrix by its diagonals, as LAPACK wants it, from row ``offset`` on."""
    a = design(x, t, k, ab.shape[0])
    rows, columns = np.nonzero(numbers_of(a))
    ab[columns, 2 * k + rows + offset - columns] = a[rows, columns]


def all_bsplines(t: Array, k: int, x: Array, i: int, nu: int = 0) -> Array:
    """``_dierckx.evaluate_all_bspl``: the B-splines that are not 0 in the interval i, at one point, or derivatives."""
    one = np.zeros((k + 1, len(t) - k - 1))
    one[np.arange(k + 1), i - k + np.arange(k + 1)] = 1.0
    return evaluate_spline(t, one.T, k, np.reshape(as_array(x), (1,)), nu, True)[0]


def lapack_functions(names: Any, arrays: Any = (), **options: Any) -> tuple[Array, ...]:
    """``get_lapack_funcs``; gbsv solves banded systems with nodes."""
    if names != ("gbsv",):
        return _bsplines.get_lapack_funcs(names, [numbers_of(x) for x in arrays], **options)
    return (lambda below, above, ab, b, **how: (None, None, solve_banded((below, above), ab[below:], b), 0),)


def find_indices(grid: Any, xi: Any) -> tuple[Any, Any]:
    """The cell of each point, and where in the cell it is, along each axis."""
    triples = [(g, x, interval(x, g, 0, len(g) - 2)) for g, x in zip(grid, xi, strict=True)]
    return np.stack([i for _, _, i in triples]), np.stack([(x - g[i]) / (g[i + 1] - g[i]) for g, x, i in triples])


def coordinates(points: Array, ndim: object = None) -> Array:
    """``_ndim_coords_from_arrays``: points as rows, from one array or from one for each axis."""
    if isinstance(points, tuple) and len(points) > 1:
        return np.stack(np.broadcast_arrays(*map(as_array, points)), axis=-1)
    x = as_array(points[0] if isinstance(points, tuple) else points)
    return x.reshape(-1, ndim or 1) if x.ndim == 1 else x


class Tensor:
    """``make_ndbspl``: along each axis the splines through (1, 0, 0 ...), (0, 1, 0 ...) and so on."""

    def __init__(self, points: Array, values: Array, k: int = 3, **how: object) -> None:
        self.points, self.values, self.k = points, values, k
        self.theirs = functools.cache(lambda: _rgi.make_ndbspl(*numbers([points, values]), k, **how))

    def __call__(self, xi: Array, nu: Any = None) -> Array:
        if not is_ours([xi, self.values, *self.points]):
            return self.theirs()(numbers(xi), nu=nu)
        z = self.values[None]
        for axis, x in enumerate(self.points):
            w = COPIES.find(theirs.make_interp_spline)(x, np.eye(len(x)), self.k)(xi[:, axis], nu[axis] if nu else 0)
            z = np.sum(np.reshape(w, (*w.shape, *[1] * (z.ndim - 2))) * z, axis=1)
        return z


def evaluate_linear_2d(values: Array, indices: Any, distances: Any, grid: Any, out: Array) -> Array:
    """Between the four corners of a cell."""
    (i, j), (s, t) = indices, distances
    rows = [values[k, j] * (1 - t) + values[k, j + 1] * t for k in (i, i + 1)]
    return rows[0] * (1 - s) + rows[1] * s


def fitpack_values(t: Array, c: Array, k: int, x: Array, *how: int) -> tuple[Array, int]:
    """``dfitpack.splev(t, c, k, x, ext)`` and ``splder(t, c, k, x, nu, ext)``, with the number of the error. ``ext``:
    outside, 0 extrapolates, 1 gives 0, 2 is an error, 3 stays at the end."""
    *nu, ext = how
    places, ends = numbers_of(x), [t[k], t[t.size - k - 1]]
    outside = (places < numbers_of(ends[0])) | (places > numbers_of(ends[1]))
    if ext == 2 and np.any(outside):
        return x, 1
    x = np.clip(x, *ends) if ext == 3 else x
    z = evaluate_spline(t, np.reshape(c, (-1, 1)), k, x, nu[0] if nu else 0, True)[:, 0]
    return np.where(outside & (ext == 1), 0.0, z), 0


def fitpack_integral(t: Array, c: Array, k: int, a: Array, b: Array) -> tuple[Any, None]:
    """``dfitpack.splint``: beyond its ends the spline is 0."""
    n = t.size - k - 1
    spline = COPIES.find(theirs.BSpline).construct_fast(t, as_array(c)[:n], k)
    return spline.integrate(*[np.clip(as_array(end), t[k], t[n]) for end in (a, b)]), None


def least_squares(x: Array, y: Array, t: Array, k: int, w: Array, *periodic: bool) -> tuple[Any, ...]:
    """``_lsq_solve_qr``, whose third result is the coefficients. Shapes: x, w (n,), y (n, d)."""
    a = design(x, t, k, t.size - k - 1) * w[:, None]
    return None, None, np.linalg.lstsq(a, y * w[:, None])[0], None, None


def fitpack_knots(
    task: int, x: Array, y: Array, w: Array, xb: Array, xe: Array, k: int, s: float, t: Array, *_: object
) -> tuple[int, Array, Array, float, int]:
    """The same for SciPy 1.18, which also returns the knots."""
    n, c, fp, ier = fitpack_curve(task, x, y, w, t, k, s)
    return n, t, c, fp, ier


def fitpack_curve(task: int, x: Array, y: Array, w: Array, t: Array, *memory: object) -> tuple[int, Array, float, int]:
    """``dfitpack.curfit`` for a spline through all points: writes the knots into t; returns their number, and c."""
    spline = COPIES.find(theirs.make_interp_spline)(x, y, memory[-2])
    t[: spline.t.size] = spline.t
    return spline.t.size, np.concatenate([spline.c, np.zeros(spline.k + 1)]), 0.0, -1


stand_for(_ppoly, {"evaluate": evaluate_polynomials, "integrate": integrate_polynomials})
stand_for(_dierckx, {"evaluate_spline": evaluate_spline, "_coloc": fill_collocation, "evaluate_all_bspl": all_bsplines})
stand_for(_rgi, {
    "find_indices": find_indices, "evaluate_linear_2d": evaluate_linear_2d, "_ndim_coords_from_arrays": coordinates,
})  # fmt: skip
if hasattr(_fitpack_impl, "dfitpack"):
    stand_for(_fitpack_impl.dfitpack, {
        "splev": fitpack_values, "splder": fitpack_values, "splint": fitpack_integral, "curfit": fitpack_curve,
    })  # fmt: skip
else:  # from SciPy 1.18 on
    stand_for(_fitpack_impl._fitpack, {
        "splev": fitpack_values, "splint": lambda *of: fitpack_integral(*of)[0],
        "splder": lambda t, c, k, nu, x, ext: fitpack_values(t, c, k, x, nu, ext), "curfit": fitpack_knots,
    })  # fmt: skip
COPIES |= {id(_bsplines.get_lapack_funcs): lapack_functions, id(_rgi.make_ndbspl): Tensor}
COPIES[id(_bsplines._lsq_solve_qr)] = least_squares
if hasattr(_rbfinterp, "_rbfinterp_xp"):  # from SciPy 1.17 on
    COPIES[id(_rbfinterp._rbfinterp_np)] = Library(_rbfinterp._rbfinterp_xp)
    # This is 0 at 0 without a warning, as in C.
    COPIES[id(_rbfinterp._rbfinterp_xp.thin_plate_spline)] = lambda r, xp: r**2 * xp.log(xp.where(r == 0, 1.0, r))
globals().update({name: never_lost(COPIES.find(getattr(theirs, name))) for name in CLASSES})
__getattr__, __dir__ = mirrored(globals())
load_rules()
