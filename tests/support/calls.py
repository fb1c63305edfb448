"""Calls of the functions that are composed of others, of the methods of arrays and of those of ufuncs.

The calls of rows are in :mod:`examples`. What is here has no row of its own: a function of ``COMPOSED`` is written with
functions that have one. So its tests need calls as users write them, in which every keyword stands at least once;
:mod:`test_composed` runs them, and :mod:`test_keywords` says which keyword is missing.

    np.append: [call(lambda x, y: np.append(x, y, axis=0), (2, 3), (1, 3))]

The shapes are those of x, y, ...: random floats from the given domain, no two of them alike. All others are in the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from row_examples_matrices import dominant, dominant_real

from autoflow.rules.variants import METHODS
from autoflow.table.shapes import since
from autoflow.table.table import Example

Array = Any


@dataclass
class Call:
    """A call with what the generated tests read of a row; see ``test_rules.check``.

    Several results are made into one: the floats of all of them, one after the other.
    """

    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    domain: tuple[float, float]
    name: str = ""
    variadic: bool = False
    holomorphic: bool = False  # not known, so nothing is asked by complex steps
    operator: Any = None
    without: tuple[str, ...] = ()
    derivatives: dict[str, Any] = field(default_factory=dict)

    @property
    def operands(self) -> int:
        return len(self.shapes)

    @property
    def names(self) -> tuple[str, ...]:
        """x, y and so on."""
        return tuple(self.derivatives)

    @property
    def example(self) -> Example:
        """The call as the example of a row."""
        return Example(self.shapes, {})

    def function(self, *xs: Any) -> Any:
        """The call, with one array as the result."""
        z = self.call(*xs)
        if isinstance(z, (tuple, list)):
            arrays = [part if hasattr(part, "dtype") else np.asarray(part) for part in z]
            return np.concatenate([np.ravel(part) for part in arrays if part.dtype.kind in "fc"])
        return np.positive(z) if any([z is x for x in xs]) else z

    def __repr__(self) -> str:
        return self.name


def call(
    f: Callable[..., Any], *shapes: tuple[int, ...], domain: tuple[float, float] = (-2.0, 2.0), without: str = ""
) -> Call:
    """``f`` of arrays of these shapes. ``without``: dtypes and layouts in which its numbers cannot be compared."""
    return Call(f, shapes, domain, without=tuple(without.split()), derivatives=dict.fromkeys("xyuvw"[: len(shapes)]))


YES = np.array([True, False, True])
DEEP = np.array([[1, 0], [0, 2]])
SAMPLES = np.array([0.1, 1.9, 0.2, 2.2, 1.1])
POSITIVE = (0.5, 2.0)
SINGLE = "float16 float32 complex64"  # what NumPy does depends on rounding, so double precision is no reference


def written(x: Array, write: Callable[[Array], Any]) -> Array:
    """A copy of x after a method that writes into it."""
    a = np.copy(x)
    write(a)
    return a


def doubled(part: Array, factor: float = 2.0) -> Array:
    """Something for the functions that take a function."""
    return part * part * factor


# fmt: off
# ruff: noqa: E501
JOINING = {
    np.vstack: [call(lambda x, y: np.vstack([x, y]), (3,), (2, 3)), call(lambda x: np.vstack([x, x], dtype=np.float64, casting="unsafe"), (3,))],
    np.hstack: [call(lambda x, y: np.hstack([x, y]), (2, 1), (2, 3)), call(lambda x, y: np.hstack((x, y), dtype=np.float64, casting="unsafe"), (), (3,))],
    np.dstack: [call(lambda x, y: np.dstack([x, y]), (2, 3), (2, 3)), call(lambda x, y: np.dstack([x, y]), (3,), (1, 3, 2))],
    np.column_stack: [call(lambda x, y: np.column_stack([x, y]), (3,), (3, 2))],
    np.append: [call(lambda x, y: np.append(x, y), (2, 3), (2,)), call(lambda x, y: np.append(x, y, axis=-2), (2, 3), (1, 3))],
    np.block: [call(lambda x, y: np.block([[x, y], [y, x]]), (2, 2), (2, 2)), call(lambda x, y: np.block([x, y, 1.0]), (3,), ()), call(lambda x: np.block(x), (2,))],
    np.array_split: [call(lambda x: np.array_split(x, 2), (5,)), call(lambda x: np.array_split(x, [1, 2], axis=-1), (2, 3))],
    np.split: [call(lambda x: np.split(x, 2), (4,)), call(lambda x: np.split(x, [1, 2], axis=1), (2, 3))],
    np.hsplit: [call(lambda x: np.hsplit(x, 3), (2, 3)), call(lambda x: np.hsplit(x, [1]), (3,))],
    np.vsplit: [call(lambda x: np.vsplit(x, 2), (2, 3))],
    np.dsplit: [call(lambda x: np.dsplit(x, [1]), (2, 1, 3))],
    np.unstack: [call(lambda x: np.unstack(x), (2, 3)), call(lambda x: np.unstack(x, axis=-1), (2, 3))],
    np.compress: [call(lambda x: np.compress(YES, x), (2, 3)), call(lambda x: np.compress(YES, x, axis=1), (2, 3))],
}
BUILDING = {
    np.delete: [call(lambda x: np.delete(x, 1), (4,)), call(lambda x: np.delete(x, [0, 2], axis=1), (2, 3)), call(lambda x: np.delete(x, slice(1), 0), (2, 3))],
    np.insert: [call(lambda x, y: np.insert(x, 1, y), (3,), ()), call(lambda x, y: np.insert(x, [0, 2], y, axis=1), (2, 3), (2, 2))],
    np.resize: [call(lambda x: np.resize(x, (3, 2)), (4,)), call(lambda x: np.resize(x, 2), (2, 2))],
    np.extract: [call(lambda x: np.extract([[True, False, True], [False, True, True]], x), (2, 3))],
    np.trim_zeros: [call(lambda x: np.trim_zeros(x * YES), (3,)), call(lambda x: np.trim_zeros(np.pad(x, 2), trim="f"), (3,)), call(lambda x: np.trim_zeros(np.pad(x, 1), "b", axis=0), (2, 2))],
    np.select: [call(lambda x, y: np.select([YES, ~YES], [x, y]), (3,), (2, 3)), call(lambda x: np.select([x > 0, x < -1], [x, x * x], default=x[0, 0]), (2, 3))],
    np.choose: [call(lambda x, y: np.choose(YES, [x, y]), (2, 3), (3,)), call(lambda x, y: np.choose([3, -1, 0], [x, y], mode="wrap"), (3,), (3,))],
    np.piecewise: [call(lambda x: np.piecewise(x, [x > 0, x < -1], [doubled, 1.5, lambda t: -t]), (2, 3)), call(lambda x: np.piecewise(x, [YES], [doubled, 0.5], 3.0), (3,)), call(lambda x: np.piecewise(x, [YES], [doubled, 0.5], factor=3.0), (3,))],
    np.meshgrid: [call(lambda x, y: np.meshgrid(x, y), (2,), (3,)), call(lambda x, y: np.meshgrid(x, y, copy=False, sparse=True, indexing="ij"), (2,), (3,))],
    np.linspace: [call(lambda x, y: np.linspace(x, y, 4), (), (2,)), call(lambda x, y: np.linspace(x, y, num=3, endpoint=False, retstep=True, dtype=np.float64, axis=-1), (2,), (2,)), call(lambda x: np.linspace(x, 1.0, device="cpu"), ())],
    np.logspace: [call(lambda x, y: np.logspace(x, y, 3), (), (2,)), call(lambda x, y, u: np.logspace(x, y, num=3, endpoint=False, base=u, dtype=np.float64, axis=-1), (), (2,), (2,), domain=POSITIVE)],
    np.apply_along_axis: [call(lambda x: np.apply_along_axis(np.cumsum, 0, x), (2, 3)), call(lambda x: np.apply_along_axis(doubled, -1, x, 3.0), (2, 3)), call(lambda x: np.apply_along_axis(doubled, 1, x, factor=0.5), (2, 3))],
    np.apply_over_axes: [call(lambda x: np.apply_over_axes(np.sum, x, [0, -1]), (2, 3, 2))],
    np.full_like: [call(lambda x: np.full_like(x, x[0]), (3,)), call(lambda x: np.full_like(x, x[0], dtype=np.float64, order="F", shape=(2, 2), device="cpu", subok=True), (3,))],
    np.broadcast_arrays: [call(lambda x, y: np.broadcast_arrays(x, y), (2, 1), (3,)), call(lambda x, y: np.broadcast_arrays(x, y, subok=True), (2,), ())],
    np.atleast_1d: [call(lambda x, y: np.atleast_1d(x, y), (), (2,))],
    np.atleast_2d: [call(lambda x, y: np.atleast_2d(x, y), (), (2,))],
    np.atleast_3d: [call(lambda x, y: np.atleast_3d(x, y), (2,), (2, 3))],
    np.diagflat: [call(lambda x: np.diagflat(x), (2, 2)), call(lambda x: np.diagflat(x, k=-1), (3,))],
    np.astype: [call(lambda x: np.astype(x, np.float64), (3,)), call(lambda x: np.astype(x, np.complex128, copy=False, device="cpu"), (2, 3))],
}
ORDERING = {
    np.unique: [call(lambda x: np.unique(x), (2, 3)), call(lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=1, equal_nan=False, sorted=True), (2, 3)), call(lambda x: np.sort(np.unique(x, sorted=False)), (5,))],
    np.unique_all: [call(lambda x: np.unique_all(x), (2, 3))],
    np.unique_counts: [call(lambda x: np.unique_counts(x), (4,))],
    np.unique_inverse: [call(lambda x: np.unique_inverse(x), (4,))],
    np.unique_values: [call(lambda x: np.sort(np.unique_values(x)), (4,))],
    np.union1d: [call(lambda x, y: np.union1d(x, y), (3,), (2, 2))],
    np.intersect1d: [call(lambda x: np.intersect1d(x, x[:2]), (4,)), call(lambda x: np.intersect1d(x, x[1:], assume_unique=True, return_indices=True), (4,), without="broadcast")],
    np.setdiff1d: [call(lambda x: np.setdiff1d(x, x[1:3]), (4,)), call(lambda x: np.setdiff1d(x, x[:1], assume_unique=True), (4,), without="broadcast")],
    np.setxor1d: [call(lambda x, y: np.setxor1d(x, y), (3,), (2,)), call(lambda x: np.setxor1d(x, x[:1], assume_unique=True), (3,), without="broadcast")],
    np.sort_complex: [call(lambda x: np.sort_complex(x), (2, 3))],
}
CALCULUS = {
    np.diff: [call(lambda x: np.diff(x), (2, 3)), call(lambda x, y: np.diff(x, n=2, axis=0, prepend=y, append=0.5), (3, 2), ()), call(lambda x: np.diff(x, 0), (3,))],
    np.ediff1d: [call(lambda x: np.ediff1d(x), (2, 3)), call(lambda x, y, u: np.ediff1d(x, to_end=y, to_begin=u), (3,), (2,), ())],
    np.gradient: [call(lambda x: np.gradient(x), (3, 4)), call(lambda x, y: np.gradient(x, y, axis=0, edge_order=2), (4, 2), ()), call(lambda x, y: np.gradient(x, np.cumsum(np.abs(y) + 0.5), axis=-1), (2, 4), (4,)), call(lambda x, y: np.gradient(x, np.cumsum(np.abs(y) + 0.5), edge_order=2), (4,), (4,))],
    np.trapezoid: [call(lambda x: np.trapezoid(x, dx=0.5), (2, 3)), call(lambda x, y: np.trapezoid(x, x=y, axis=0), (3, 2), (3,)), call(lambda x, y: np.trapezoid(x, y), (2, 3), (2, 3))],
    np.interp: [call(lambda x, y: np.interp(x, [-1.0, 0.0, 1.5], y), (4,), (3,)), call(lambda x, y: np.interp(x, np.cumsum(y * y + 0.4) - 1.5, y, left=y[1], right=0.5), (4,), (4,)), call(lambda x, y: np.interp(x, [0.1, 0.3, 1.2], y, period=1.3), (4,), (3,))],
    np.polyval: [call(lambda x, y: np.polyval(x, y), (3,), (2, 2))],
    np.vander: [call(lambda x: np.vander(x), (3,)), call(lambda x: np.vander(x, N=2, increasing=True), (3,))],
    np.polyadd: [call(lambda x, y: np.polyadd(x, y), (3,), (2,))],
    np.polysub: [call(lambda x, y: np.polysub(x, y), (2,), (3,))],
    np.polymul: [call(lambda x, y: np.polymul(x, y), (2,), (3,))],
    np.polyder: [call(lambda x: np.polyder(x), (4,)), call(lambda x: np.polyder(x, m=2), (4,))],
    np.polyint: [call(lambda x: np.polyint(x), (3,)), call(lambda x: np.polyint(x, m=2, k=x[:2]), (3,))],
    np.polydiv: [call(lambda x, y: np.polydiv(x, y), (4,), (2,), domain=POSITIVE, without=SINGLE + " complex128 clongdouble")],
    np.polyfit: [call(lambda x, y: np.polyfit(x, y, 1), (5,), (5,), without="broadcast"), call(lambda x, y, u: np.polyfit(x, y, deg=2, rcond=1e-12, w=u, cov=True), (5,), (5,), (5,), domain=POSITIVE, without="broadcast"), call(lambda x, y: np.polyfit(x, y, 1, full=True)[:2], (5,), (5, 2), without="broadcast")],
    np.roots: [call(lambda x: np.roots(x), (3,), domain=POSITIVE)],
    np.poly: [call(lambda x: np.poly(x), (3,)), call(lambda x: np.poly(dominant(x)), (2, 2))],
}
REDUCING = {
    np.ptp: [call(lambda x: np.ptp(x), (2, 3)), call(lambda x: np.ptp(x, axis=1, keepdims=True), (2, 3))],
    np.cumulative_sum: [call(lambda x: np.cumulative_sum(x), (4,)), call(lambda x: np.cumulative_sum(x, axis=-1, dtype=np.float64, include_initial=True), (2, 3))],
    np.cumulative_prod: [call(lambda x: np.cumulative_prod(x), (4,)), call(lambda x: np.cumulative_prod(x, axis=0, dtype=np.float64, include_initial=True), (2, 3))],
    np.average: [call(lambda x: np.average(x), (2, 3)), call(lambda x, y: np.average(x, axis=1, weights=y, returned=True, keepdims=True), (2, 3), (3,), domain=POSITIVE)],
    np.cov: [call(lambda x: np.cov(x), (2, 4)), call(lambda x, y: np.cov(x, y=y, rowvar=False, bias=True), (4, 2), (4, 1)), call(lambda x, y: np.cov(x, ddof=0, fweights=[1, 2, 1, 2], aweights=y, dtype=np.float64), (2, 4), (4,), domain=POSITIVE)],
    np.corrcoef: [call(lambda x: np.corrcoef(x), (2, 4), without="broadcast"), call(lambda x, y: np.corrcoef(x, y=y, rowvar=False, dtype=np.float64), (4, 2), (4, 1), without="broadcast")],
    np.bincount: [call(lambda x: np.bincount([0, 2, 2], weights=x, minlength=4), (3,))],
    np.histogram: [call(lambda x: np.histogram(SAMPLES, bins=3, range=(0.0, 2.0), weights=x)[0], (5,)), call(lambda x: np.histogram(SAMPLES, [0.0, 1.0, 2.5], weights=x, density=True)[0], (5,), domain=POSITIVE)],
    np.histogram2d: [call(lambda x: np.histogram2d(SAMPLES, SAMPLES, bins=2, range=[(0.0, 2.0), (0.1, 2.5)], weights=x)[0], (5,)), call(lambda x: np.histogram2d(SAMPLES, SAMPLES, [0.0, 1.0, 2.5], weights=x, density=True)[0], (5,), domain=POSITIVE)],
    np.histogramdd: [call(lambda x: np.histogramdd([SAMPLES, SAMPLES], bins=[2, [0.0, 2.0, 4.0]], range=[(0.0, 2.0), None], weights=x)[0], (5,)), call(lambda x: np.histogramdd(SAMPLES, 3, weights=x, density=True)[0], (5,), domain=POSITIVE)],
    np.einsum: [call(lambda x, y: np.einsum("ij,jk", x, y), (2, 3), (3, 2)), call(lambda x, y: np.einsum(x, [0, 1], y, [1], [0], optimize=True), (2, 3), (3,)), call(lambda x: np.einsum("...i->...", x, dtype=np.float64, order="C", casting="unsafe"), (2, 3))],
}
PADDING = {
    np.pad: [
        call(lambda x: np.pad(x, 1), (2, 3)), call(lambda x: np.pad(x, ((1, 0), (2, 1)), mode="constant", constant_values=x[0, 0]), (2, 3)),
        call(lambda x: np.pad(x, 2, "linear_ramp", end_values=0.5), (3,)), call(lambda x: np.pad(x, 2, "mean", stat_length=2), (2, 3)),
        call(lambda x: np.pad(x, 2, "maximum"), (3,)), call(lambda x: np.pad(x, 1, "median"), (2, 3)), call(lambda x: np.pad(x, (2, 1), "minimum", stat_length=1), (3,)),
        call(lambda x: np.pad(x, (3, 1), "reflect", reflect_type="odd"), (3,)), call(lambda x: np.pad(x, 2, "symmetric", reflect_type="odd"), (3,)),
        call(lambda x: np.pad(x, 2, "edge"), (2, 2)), call(lambda x: np.pad(x, 2, "wrap"), (3,)),
    ],
}
FOURIER = {
    np.fft.hfft: [call(lambda x: np.fft.hfft(x), (3,)), call(lambda x: np.fft.hfft(x, n=5, axis=0, norm="ortho"), (3, 2))],
    np.fft.ihfft: [call(lambda x: np.fft.ihfft(x), (4,)), call(lambda x: np.fft.ihfft(x, n=3, axis=0, norm="forward"), (4, 2))],
    np.fft.fftshift: [call(lambda x: np.fft.fftshift(x), (2, 3)), call(lambda x: np.fft.fftshift(x, axes=1), (2, 3))],
    np.fft.ifftshift: [call(lambda x: np.fft.ifftshift(x), (2, 3)), call(lambda x: np.fft.ifftshift(x, axes=(0,)), (2, 3))],
} | {
    f: [call(lambda x, f=f: f(x), (2, 3)), call(lambda x, f=f: f(x, s=(4, 2), axes=(1, 0), norm="ortho"), (2, 3))]
    for f in (np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)
}
LINALG = {
    np.linalg.eigh: [call(lambda x: np.linalg.eigh(dominant_real(x)), (2, 2)), call(lambda x: np.linalg.eigh(dominant_real(x), UPLO="U"), (2, 2))],
    np.linalg.eig: [call(lambda x: np.linalg.eig(dominant(x)), (2, 2))],
    np.linalg.qr: [call(lambda x: np.linalg.qr(dominant(x)), (3, 2)), call(lambda x: np.linalg.qr(dominant(x), mode="r"), (2, 3)), call(lambda x: np.linalg.qr(dominant(x), mode="complete"), (2, 3))],
    np.linalg.svd: [call(lambda x: np.linalg.svd(dominant_real(x), full_matrices=False), (2, 3)), call(lambda x: np.linalg.svd(dominant_real(x), compute_uv=False), (3, 2)), call(lambda x: np.linalg.svd(dominant_real(x) + dominant_real(x).mT, hermitian=True), (2, 2))],
    np.linalg.slogdet: [call(lambda x: np.linalg.slogdet(dominant(x)), (2, 2))],
    np.linalg.lstsq: [call(lambda x, y: np.linalg.lstsq(dominant(x), y, rcond=1e-9), (3, 2), (3,)), call(lambda x, y: np.linalg.lstsq(dominant(x), y), (2, 3), (2, 2))],
    np.linalg.matrix_power: [call(lambda x: np.linalg.matrix_power(x, 3), (2, 2)), call(lambda x: np.linalg.matrix_power(dominant(x), n=-2), (2, 2)), call(lambda x: np.linalg.matrix_power(x, 5), (2, 2))],
    np.linalg.multi_dot: [call(lambda x, y, u: np.linalg.multi_dot([x, y, u]), (2,), (2, 3), (3, 2)), call(lambda x, y: np.linalg.multi_dot([x, y]), (2, 3), (3,))],
    np.linalg.matmul: [call(lambda x, y: np.linalg.matmul(x, y), (2, 3), (3, 2))],
    np.linalg.outer: [call(lambda x, y: np.linalg.outer(x, y), (2,), (3,))],
    np.linalg.tensordot: [call(lambda x, y: np.linalg.tensordot(x, y), (2, 3), (2, 3)), call(lambda x, y: np.linalg.tensordot(x, y, axes=1), (2, 3), (3, 2))],
    np.linalg.vecdot: [call(lambda x, y: np.linalg.vecdot(x, y), (2, 3), (3,)), call(lambda x, y: np.linalg.vecdot(x, y, axis=0), (2, 3), (2, 3))],
    np.linalg.matrix_transpose: [call(lambda x: np.linalg.matrix_transpose(x), (2, 3))],
    np.linalg.diagonal: [call(lambda x: np.linalg.diagonal(x), (2, 3)), call(lambda x: np.linalg.diagonal(x, offset=1), (2, 2, 3))],
    np.linalg.trace: [call(lambda x: np.linalg.trace(x), (2, 2)), call(lambda x: np.linalg.trace(x, offset=1, dtype=np.float64), (2, 2, 3))],
    np.linalg.cross: [call(lambda x, y: np.linalg.cross(x, y), (3,), (2, 3)), call(lambda x, y: np.linalg.cross(x, y, axis=0), (3, 2), (3, 2))],
    np.linalg.norm: [call(lambda x: np.linalg.norm(x), (2, 3)), call(lambda x: np.linalg.norm(x, ord=1, axis=(0, 1), keepdims=True), (2, 3)), call(lambda x: np.linalg.norm(x, -1), (2, 3)), call(lambda x: np.linalg.norm(dominant(x), 2), (2, 2)), call(lambda x: np.linalg.norm(dominant(x), -2), (2, 2)), call(lambda x: np.linalg.norm(dominant(x), "nuc"), (2, 2)), call(lambda x: np.linalg.norm(x, np.inf), (2, 3)), call(lambda x: np.linalg.norm(x, -np.inf), (2, 3)), call(lambda x: np.linalg.norm(x, 3, axis=1), (2, 3))],
    np.linalg.vector_norm: [call(lambda x: np.linalg.vector_norm(x), (2, 3)), call(lambda x: np.linalg.vector_norm(x, axis=(0, 2), keepdims=True, ord=3), (2, 2, 3))],
    np.linalg.matrix_norm: [call(lambda x: np.linalg.matrix_norm(x), (2, 3)), call(lambda x: np.linalg.matrix_norm(x, keepdims=True, ord=1), (2, 2, 3))],
    np.linalg.cond: [call(lambda x: np.linalg.cond(dominant(x)), (2, 2)), call(lambda x: np.linalg.cond(dominant(x), p=1), (2, 2)), call(lambda x: np.linalg.cond(dominant(x), -2), (2, 2))],
    np.linalg.tensorsolve: [call(lambda x, y: np.linalg.tensorsolve(np.reshape(dominant(x), (2, 2, 4)), y), (4, 4), (2, 2)), call(lambda x, y: np.linalg.tensorsolve(np.reshape(dominant(x), (4, 2, 2)), y, axes=(0,)), (4, 4), (2, 2))],
    np.linalg.tensorinv: [call(lambda x: np.linalg.tensorinv(np.reshape(dominant(x), (2, 2, 4))), (4, 4)), call(lambda x: np.linalg.tensorinv(np.reshape(dominant(x), (4, 2, 2)), ind=1), (4, 4))],
    np.kron: [call(lambda x, y: np.kron(x, y), (2, 2), (1, 3)), call(lambda x, y: np.kron(x, y), (2,), (2, 2))],
    np.cross: [call(lambda x, y: np.cross(x, y), (2, 3), (3,)), call(lambda x, y: np.cross(x, y, axisa=0, axisb=1, axisc=0), (3, 2), (2, 3)), call(lambda x, y: np.cross(x, y, axis=0), (3, 2), (3, 2))],
}
EXTENDED = {
    f: [call(lambda x, f=f: f(x), (2, 3)), call(lambda x, f=f: f(x), (), domain=(0.2, 0.8))]
    for f in (np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10, np.emath.arccos, np.emath.arcsin, np.emath.arctanh)
} | {
    np.emath.logn: [call(lambda x, y: np.emath.logn(x, y), (3,), (2, 3), domain=(1.2, 3.0)), call(lambda x: np.emath.logn(2.0, x), (3,))],
    np.emath.power: [call(lambda x, y: np.emath.power(x, y), (2, 3), (3,), domain=POSITIVE), call(lambda x: np.emath.power(x, -2), (3,), domain=POSITIVE)],
    np.real_if_close: [call(lambda x: np.real_if_close(x * (1 + 0j)), (3,)), call(lambda x: np.real_if_close(x * (1 + 1e-9j), tol=1e-3), (3,))],
    np.divmod: [call(lambda x, y: np.divmod(x, y), (2, 3), (3,), domain=POSITIVE)],
    np.modf: [call(lambda x: np.modf(x), (2, 3))],
    np.frexp: [call(lambda x: np.frexp(x), (2, 3), domain=(0.51, 0.99))],
    np.ldexp: [call(lambda x: np.ldexp(x, DEEP), (2, 2))],
}
# fmt: on


def _named(table: dict[Any, list[Call]], name: Callable[[Any], str]) -> dict[Any, list[Call]]:
    for function, calls in table.items():
        for number, each in enumerate(calls):
            each.name = f"{name(function)} {number}"
    return table


CALLS = _named(
    JOINING | BUILDING | ORDERING | CALCULUS | REDUCING | PADDING | FOURIER | LINALG | EXTENDED,
    lambda function: f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1),
)

# ---------------------------------------------------------------- calls that a row does not cover

# fmt: off
VARIANT_CALLS = _named({
    f: [
        call(lambda x, y, f=f: f(x + 0 * y, mean=y), (2, 3), ()), call(lambda x, y, f=f: f(x + 0 * y, axis=0, ddof=1, keepdims=True, mean=y), (3, 2), (1, 2)),
        call(lambda x, y, f=f: f(x + 0 * y, axis=1, dtype=np.float64, correction=1, mean=y), (2, 3), (2, 1), without="float16 float32 complex64 complex128 clongdouble longdouble"),
        call(lambda x, f=f: f(x, axis=-1, mean=np.mean(x, axis=1, keepdims=True), where=YES), (2, 3), without="float16"),
    ]
    for f in (np.var, np.std, np.nanvar, np.nanstd)
} | {
    np.vecdot: [call(lambda x, y: np.vecdot(x, y, axis=0), (3, 2), (3, 1)), call(lambda x, y: np.vecdot(x, y, axis=1, keepdims=True), (2, 3), (2, 3)), call(lambda x, y: np.vecdot(x, y, axes=[(0,), (1,)]), (3, 2), (2, 3))],
    np.matmul: [call(lambda x, y: np.matmul(x, y, axes=[(1, 0), (0, 1), (-1, 0)]), (3, 2), (3, 4)), call(lambda x, y: np.matmul(x, y, axes=[(0, 2), (0, 1), (1, 2)]), (2, 4, 3), (3, 2))],
    np.matvec: [call(lambda x, y: np.matvec(x, y, axes=[(1, 0), 0, 0]), (3, 2), (3,))],
    np.vecmat: [call(lambda x, y: np.vecmat(x, y, axes=[0, (1, 0), 0]), (3,), (2, 3))],
    np.divide: [call(lambda x, y: np.divide(x, y, out=np.zeros_like(x * y), where=YES), (2, 3), (3,), domain=POSITIVE), call(lambda x, y: np.divide(2.0, x, out=x * y, where=YES), (3,), (2, 3), domain=POSITIVE)],
    np.log: [call(lambda x: np.log(x, out=x - 1.0, where=YES), (2, 3), domain=POSITIVE)],
    np.multiply: [call(lambda x, y: np.multiply(x, y, out=np.ones_like(x * y), where=YES), (2, 3), ()), call(lambda x, y: written(x + 0 * y, lambda a: np.multiply(a, y, out=a, where=YES)), (2, 3), (3,))],
    np.clip: [call(lambda x, y: np.clip(x, y, 1.0, out=x * y, where=YES), (2, 3), ())],
}, lambda function: f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1) + " with")
# fmt: on

# ---------------------------------------------------------------- methods of arrays

REDUCED = {"axis": 1, "keepdims": True}
# fmt: off
ARRAY_METHODS = _named({
    "sum": [call(lambda x: x.sum(axis=1, dtype=np.float64, keepdims=True, initial=1.5, where=YES), (2, 3)), call(lambda x: x.sum(0), (2, 3))],
    "prod": [call(lambda x: x.prod(axis=1, dtype=np.float64, keepdims=True, initial=1.5, where=YES), (2, 3))],
    "mean": [call(lambda x: x.mean(axis=1, dtype=np.float64, keepdims=True, where=YES), (2, 3))],
    "max": [call(lambda x: x.max(axis=1, keepdims=True, initial=-1.0, where=YES), (2, 3))],
    "min": [call(lambda x: x.min(axis=1, keepdims=True, initial=1.0, where=YES), (2, 3))],
    "var": [call(lambda x: x.var(axis=1, dtype=np.float64, ddof=1, keepdims=True, where=YES), (2, 3)), call(lambda x, y: (x + 0 * y).var(mean=y), (2, 3), ())],
    "std": [call(lambda x: x.std(axis=1, dtype=np.float64, ddof=1, keepdims=True, where=YES), (2, 3)), call(lambda x, y: (x + 0 * y).std(mean=y), (2, 3), ())],
    "cumsum": [call(lambda x: x.cumsum(axis=1, dtype=np.float64), (2, 3))],
    "cumprod": [call(lambda x: x.cumprod(axis=1, dtype=np.float64), (2, 3))],
    "reshape": [call(lambda x: x.reshape(3, 2, order="F", copy=True), (2, 3)), call(lambda x: x.reshape((-1,)), (2, 3))],
    "transpose": [call(lambda x: x.transpose(), (2, 3)), call(lambda x: x.transpose(2, 0, 1), (1, 2, 3)), call(lambda x: x.transpose((1, 0)), (2, 3))],
    "T": [call(lambda x: x.T, (2, 3))],
    "mT": [call(lambda x: x.mT, (2, 2, 3))],
    "ravel": [call(lambda x: x.ravel(order="F"), (2, 3))],
    "flatten": [call(lambda x: x.flatten(order="F"), (2, 3))],
    "squeeze": [call(lambda x: x.squeeze(), (1, 3)), call(lambda x: x.squeeze(axis=0), (1, 3, 1))],
    "swapaxes": [call(lambda x: x.swapaxes(0, -1), (2, 3))],
    "flat": [call(lambda x: x.flat[1:3], (2, 3))],
    "take": [call(lambda x: x.take([0, -4, 5], axis=1, mode="wrap"), (2, 3))],
    "compress": [call(lambda x: x.compress(YES, axis=1), (2, 3))],
    "repeat": [call(lambda x: x.repeat(2, axis=1), (2, 3))],
    "diagonal": [call(lambda x: x.diagonal(offset=1, axis1=2, axis2=0), (2, 1, 3))],
    "trace": [call(lambda x: x.trace(offset=1, axis1=2, axis2=0, dtype=np.float64), (3, 1, 3))],
    "dot": [call(lambda x: x.dot(x.T), (2, 3))],
    "clip": [call(lambda x: x.clip(min=-0.5, max=1.0), (2, 3)), call(lambda x, y: x.clip(y), (2, 3), ()), call(lambda x, y: x.clip(-0.5, y), (2, 3), (3,))],
    "round": [call(lambda x: x.round(decimals=1), (2, 3))],
    "conjugate": [call(lambda x: x.conjugate(), (2, 3))],
    "conj": [call(lambda x: x.conj(), (2, 3))],
    "real": [call(lambda x: x.real, (2, 3))],
    "imag": [call(lambda x: (x * 2j).imag, (2, 3))],
    "copy": [call(lambda x: x.copy(order="F"), (2, 3))],
    "astype": [call(lambda x: x.astype(np.float64, order="F", casting="unsafe", subok=True, copy=True), (2, 3)), call(lambda x: x.astype(np.complex128, copy=False), (3,))],
    "view": [call(lambda x: x.view(), (2, 3))],
    "sort": [call(lambda x: written(x, lambda a: a.sort(axis=0, kind="stable")), (3, 2)), call(lambda x: written(x, lambda a: a.sort(stable=True)), (4,)),
             *([call(lambda x: written(x, lambda a: a.sort(descending=True)), (4,))] if since("2.5") else [])],
    "partition": [call(lambda x: written(x, lambda a: a.partition(1, axis=0)), (3, 2))],
    "put": [call(lambda x: written(x, lambda a: a.put([0, 7], a[1, :2], mode="wrap")), (2, 3))],
}, lambda name: f"ndarray.{name}")
# fmt: on

# ---------------------------------------------------------------- methods of ufuncs


def _ufunc_calls(method: str, ufunc: np.ufunc) -> list[Call]:
    f = getattr(ufunc, method)
    # NumPy adds up halves in single precision, but only where the axis lies close in memory. So there are two answers.
    without = "float16" if ufunc in (np.subtract, np.divide) else ""
    made = {
        "outer": [call(lambda x, y: f(x / 4 + 3, y / 4 + 2), (2,), (3,), domain=POSITIVE)],  # quotients from 1.2 to 1.7
        "reduce": [
            call(lambda x: f(x), (3, 2), domain=POSITIVE, without=without),
            call(lambda x: f(x, axis=1, keepdims=True), (2, 3), domain=POSITIVE, without=without),
        ],
        "accumulate": [call(lambda x: f(x, axis=1), (2, 3), domain=POSITIVE)],
        "reduceat": [call(lambda x: f(x, [0, 2, 1], axis=1), (2, 3), domain=POSITIVE)],
    }
    return made[method]


UFUNC_METHODS = _named(
    {(method, ufunc): _ufunc_calls(method, ufunc) for method, ufuncs in METHODS.items() for ufunc in ufuncs},
    lambda key: f"np.{key[1].__name__}.{key[0]}",
)
