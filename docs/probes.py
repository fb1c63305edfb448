"""Expressions in plain NumPy, and whether their gradients are right: the figures of ``docs/numpy-coverage.md``.

    python docs/probes.py                     how many of them autoflow differentiates, and which it does not
    python docs/probes.py --peers             the same for JAX, autograd and MyGrad; the figures go into peers.json

A probe is one line of :data:`PROBES`. The lower-case letter in it is what is differentiated, its shape as in
:data:`INPUTS`; upper-case letters are plain arrays, :data:`CONSTANTS`. A probe counts when the gradient of a weighted
sum of its results is that which differences of NumPy's own values give. Where the true derivative is zero, zero
counts.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = Any
HERE = Path(__file__).parent
STEP, TOLERANCE = 1e-6, 2e-5

INPUTS: dict[str, Array] = {
    "n": np.array(0.7),
    "v": np.array([0.31, 0.62, 0.47, 0.85]),  # between 0 and 1
    "w": np.array([0.9, -1.3, 2.2, 0.4, -0.6]),
    "r": np.array([[0.9, -1.3, 2.2], [0.4, -0.6, 1.7]]),
    "t": np.array([[[0.9, -1.3], [0.4, -0.6]], [[1.1, 0.8], [-0.2, 2.5]], [[0.3, 1.4], [-1.9, 0.7]]]),
    "m": np.array([[2.9, -0.3, 0.2], [0.4, 3.6, 0.7], [-0.5, 0.1, 4.3]]),
    "s": np.array([[[2.9, -0.3], [0.4, 3.6]], [[4.1, 0.8], [-0.2, 2.5]]]),
    "c": np.array([0.9 - 0.3j, -1.3 + 0.8j, 0.2 + 1.1j]),
    "k": np.array([[2.9 + 0.2j, -0.3j, 0.2], [0.4, 3.6 - 0.5j, 0.7j], [-0.5j, 0.1, 4.3]]),
    "q": np.array([0.9, np.nan, 2.2, 0.4, -0.6]),  # with a NaN, which nan functions leave out
    "p": np.array([[0.9, np.nan, 2.2], [0.4, -0.6, 1.7]]),
}
CONSTANTS: dict[str, Array] = {
    "V": np.array([0.6, -0.4, 1.3, 0.2]), "W": np.array([1.4, 0.3, -0.8, 2.1, -0.7]),
    "R": np.array([[0.6, -0.4, 1.3], [0.2, -1.1, 0.5]]), "M": np.array([[1.6, -0.4, 0.3], [0.2, 1.1, 0.5], [0.7, 0.1, -1.2]]),
    "B": np.array([True, False, True, True, False]), "G": np.array([0.2, 0.5, 0.6, 0.9]),
    "C": np.array([0.3 + 0.6j, -0.8j, 1.2 - 0.1j]),
}  # fmt: skip

# ruff: noqa: E501
PROBES = """
np.absolute(w)  np.abs(w)  np.fabs(w)  np.negative(w)  np.positive(w)  np.sign(w)  np.square(w)  np.sqrt(v)  np.cbrt(v)
np.exp(w)  np.exp2(w)  np.expm1(w)  np.log(v)  np.log2(v)  np.log10(v)  np.log1p(v)  np.reciprocal(v)
np.sin(w)  np.cos(w)  np.tan(v)  np.arcsin(v)  np.arccos(v)  np.arctan(w)  np.sinh(w)  np.cosh(w)  np.tanh(w)
np.arcsinh(w)  np.arccosh(v + 1)  np.arctanh(v)  np.asin(v)  np.acos(v)  np.atan(w)  np.asinh(w)  np.acosh(v + 1)  np.atanh(v)
np.degrees(w)  np.radians(w)  np.deg2rad(w)  np.rad2deg(w)  np.sinc(w)  np.i0(w)  np.floor(w)  np.ceil(w)  np.trunc(w)
np.rint(w)  np.round(w)  np.around(w, 1)  np.fix(w)  np.nan_to_num(w)  np.nan_to_num(q)  np.conjugate(w)  np.conj(w)
np.real(w)  np.imag(w)  np.angle(w)  np.frexp(v)[0]  np.modf(w)[0]  np.ldexp(v, 3)  np.divmod(w, 0.7)[1]  np.spacing(v)
np.add(w, W)  np.subtract(W, w)  np.multiply(w, W)  np.divide(W, v[0])  np.true_divide(w, W)  np.power(v, 2.5)
np.power(2.5, w)  np.pow(v, v)  np.float_power(v, 1.5)  np.floor_divide(w, 0.7)  np.remainder(w, 0.7)  np.mod(5.0, v)
np.fmod(w, 0.7)  np.fmod(5.0, v)  np.hypot(w, W)  np.arctan2(w, W)  np.arctan2(W, w)  np.atan2(w, 1.5)  np.logaddexp(w, W)
np.logaddexp2(W, w)  np.maximum(w, W)  np.minimum(w, W)  np.fmax(w, 0.5)  np.fmin(0.5, w)  np.fmax(q, 0.1)  np.copysign(w, W)
np.heaviside(w, 0.5)  np.nextafter(w, 9.0)  np.clip(w, -1, 1)  np.clip(0.5, v, 1)  np.clip(w, None, 0.5)  np.maximum(w, w)
w + W  W - w  w * W  W / v[0]  v ** 3  3.0 ** w  w % 0.7  w // 0.7  -w  +w  abs(w)  r @ r.T  R @ r.T  divmod(w, 0.7)[1]
np.where(W > 0, w, 2 * w)  np.where(w > 0, w * w, -w)  np.square(n)  n * V  V / n  np.exp(n)  np.multiply(r, r[0])
np.sum(w)  np.sum(r, axis=0)  np.sum(t, axis=(0, -1), keepdims=True)  np.sum(w, where=B)  np.sum(w, initial=2.0)
np.prod(w)  np.prod(r, axis=1)  np.prod(t, axis=(0, 2))  np.prod(w, where=B)  np.mean(w)  np.mean(r, axis=-1)  np.mean(w, where=B)
np.mean(t, axis=(0, 1), keepdims=True)  np.var(w)  np.var(r, axis=0, ddof=1)  np.var(r, axis=0, correction=1)  np.std(w)
np.std(r, axis=1, keepdims=True)  np.std(w, ddof=1)  np.max(w)  np.min(w)  np.max(r, axis=0)  np.min(r, axis=1, keepdims=True)
np.amax(w)  np.amin(r, axis=0)  np.max(w, initial=0.5)  np.max(w, where=B, initial=-9.0)  np.ptp(w)  np.ptp(r, axis=0)
np.median(w)  np.median(r, axis=1)  np.median(t, axis=(0, 1))  np.average(w)  np.average(r, axis=0)  np.average(W, weights=np.exp(w))
np.average(w, weights=W)  np.cumsum(w)  np.cumsum(r, axis=1)  np.cumprod(w)  np.cumprod(r, axis=0)  np.cumulative_sum(w)
np.cumulative_sum(r, axis=1, include_initial=True)  np.cumulative_prod(w)  np.cumulative_prod(r, axis=0)
np.percentile(w, 30.0)  np.percentile(r, V[::3] * 60 + 10, axis=1)  np.quantile(w, 0.3)  np.quantile(r, 0.6, axis=0)
np.quantile(W, v)  np.quantile(W, n)  np.percentile(W, 100 * n)  np.nanquantile(W, v)  np.nanpercentile(W, 100 * v)
np.quantile(w, 0.4, method="lower")  np.quantile(w, 0.4, method="higher")  np.quantile(w, 0.4, method="midpoint")
np.quantile(w, 0.4, method="nearest")  np.quantile(w, 0.4, method="hazen")  np.quantile(w, 0.4, method="median_unbiased")
np.quantile(w, 0.4, method="weibull")  np.quantile(w, 0.4, method="inverted_cdf")
np.nansum(q)  np.nansum(p, axis=0)  np.nanprod(q)  np.nanmean(q)  np.nanmean(p, axis=1)  np.nanvar(q)  np.nanstd(q)
np.nanstd(p, axis=1, ddof=1)  np.nanmax(q)  np.nanmin(q)  np.nanmax(p, axis=0)  np.nanmedian(q)  np.nanmedian(p, axis=1)  np.nancumsum(q)
np.nancumprod(q)  np.nanquantile(q, 0.3)  np.nanpercentile(q, 30.0)  np.nanpercentile(p, 40.0, axis=1)
np.cov(r)  np.cov(w, W)  np.cov(r, rowvar=False)  np.cov(r, bias=True)  np.cov(r, aweights=V[:3] ** 2)  np.corrcoef(r)  np.corrcoef(w, W)
np.add.reduce(w)  np.multiply.reduce(w)  np.maximum.reduce(r)  np.minimum.reduce(r, axis=1)  np.logaddexp.reduce(w)
np.logaddexp2.reduce(r, axis=1)  np.hypot.reduce(w)  np.subtract.reduce(w)  np.add.accumulate(w)  np.multiply.accumulate(w)
np.maximum.accumulate(w)  np.minimum.accumulate(w)  np.logaddexp.accumulate(w)  np.add.outer(w, W)  np.multiply.outer(w, W)
np.subtract.outer(W, w)  np.maximum.outer(w, V)  np.power.outer(v, v)  np.hypot.outer(w, V)  np.add.reduceat(w, np.array([0, 2]))
np.multiply.reduceat(w, np.array([0, 3]))  np.maximum.reduceat(w, np.array([0, 3]))  np.logaddexp.reduce(r, axis=(0, 1))  np.logaddexp.reduce(r, axis=None)
np.divide.reduce(w)  np.fmax.reduce(q)  np.fmin.reduce(q)  np.float_power.outer(v, v)  np.arctan2.outer(w, W)
np.sort(w)  np.sort(r, axis=0)  np.sort(r, axis=None)  np.sort(w, kind="stable")  np.partition(w, 2)[2]  np.take(w, np.argsort(W))
w[np.argsort(-W)]  np.unique(w)  np.unique_values(w)  np.sort_complex(c)  np.trim_zeros(w)  np.union1d(w, W)  np.setdiff1d(w, W)
np.intersect1d(w, w)  np.setxor1d(w, W)  np.unique(r, axis=0)  np.unique_all(w)[0]  np.unique_counts(w)[0]  np.unique_inverse(w)[0]
np.interp(v, G, V)  np.interp(G, v[np.array([0, 2, 1, 3])], V)  np.interp(G, G, v)  np.interp(v, G, V, left=0.0, right=1.0)  np.interp(n, G, V)
np.convolve(w, V)  np.convolve(W, v, mode="same")  np.convolve(w, V, mode="valid")  np.correlate(w, V)  np.correlate(W, v, mode="full")
np.gradient(w)  np.gradient(w, 0.5)  np.gradient(r, axis=1)  np.gradient(w, W + 9 * np.arange(5))  np.gradient(w, edge_order=2)
np.gradient(r)[0]  np.diff(w)  np.diff(r, n=2, axis=1)  np.diff(w, prepend=0.0, append=1.0)  np.diff(W, prepend=n)  np.ediff1d(w)
np.ediff1d(w, to_begin=0.5, to_end=np.array([1.0, 2.0]))  np.trapezoid(w)  np.trapezoid(w, dx=0.1)  np.trapezoid(W, w)  np.trapezoid(r, axis=0)
np.unwrap(4 * w)  np.unwrap(4 * r, axis=0)  np.unwrap(w, period=1.7)  np.cross(r[:, :3], R)  np.cross(R, r)  np.cross(r[0], R[1])
np.kron(r, R)  np.kron(V, v)  np.vander(v)  np.vander(v, 3, increasing=True)  np.polyval(w, 0.7)  np.polyval(W, v)  np.polyval(w, R)
np.polyadd(w, V)  np.polysub(V, w)  np.polymul(w, V)  np.polydiv(w, V)[0]  np.polydiv(w, V)[1]  np.polyder(w)  np.polyint(w)
np.polyder(w, 2)  np.polyint(w, 2)  np.polyfit(V, v, 2)  np.polyfit(v, V, 1)  np.poly(v)  np.poly(m)  np.roots(w)
np.select([W > 0, W < -0.75], [w, 2 * w])  np.select([W > 0], [w], default=w[0])  np.choose(np.array([0, 1, 1, 0, 0]), [w, W])  np.choose(np.array([0, 1, 1, 0, 0]), [w, w * w])
np.compress(B, w)  np.compress(B[:2], r, axis=0)  np.extract(B, w)  w[B]  np.piecewise(w, [W > 0], [np.sin, np.cos])
np.piecewise(w, [W > 0], [lambda y: y * y, 0.5])  np.take_along_axis(r, np.array([[2, 0], [1, 1]]), axis=1)  np.take_along_axis(w, np.array([0, 0]), axis=0)
np.take(r, np.array([2, 0]), axis=1)  np.take(w, np.array([9, -7]), mode="clip")  np.take(w, np.array([9, -7]), mode="wrap")  np.delete(w, 1)  np.delete(r, np.array([0, 2]), axis=1)
np.insert(w, 1, 5.0)  np.insert(W, 2, n)  np.insert(r, 1, 2.0, axis=1)  np.append(w, V)  np.append(r, R, axis=0)
np.repeat(w, 2)  np.repeat(r, np.array([1, 2]), axis=0)  np.tile(w, 2)  np.tile(r, (2, 1))  np.resize(w, (2, 4))  np.roll(w, 2)  np.roll(r, 1, axis=1)
np.roll(r, (1, 1), axis=(0, 1))  np.flip(w)  np.flip(t, axis=(0, 1))  np.fliplr(r)  np.flipud(r)  np.rot90(r)  np.rot90(t, axes=(0, 2))
np.block([[r, R], [R, r]])  np.concatenate([w, W])  np.concatenate([r, R], axis=1)  np.concatenate([r, R], axis=None)  np.concat([w, w])
np.stack([w, W])  np.stack([r, R], axis=-1)  np.vstack([w, W])  np.hstack([w, W])  np.dstack([w, W])  np.column_stack([w, W])
np.r_[w, 1.0, W]  np.r_["0,2", w, W]  np.c_[w, W]  np.c_[r, R]  np.c_[w]  np.r_["1,2,0", w, W]
np.split(w, [2])[1]  np.array_split(w, 2)[0]  np.hsplit(r, 3)[1]  np.vsplit(r, 2)[0]  np.dsplit(t, 2)[1]  np.unstack(r)[1]
np.meshgrid(w, V)[0]  np.meshgrid(V, w, indexing="ij")[1]  np.meshgrid(w, V, sparse=True)[0]  np.tril(m)  np.triu(m, 1)  np.tril(s, -1)
np.diag(w)  np.diag(m)  np.diag(m, 1)  np.diagflat(w)  np.diagonal(m)  np.diagonal(t, axis1=1, axis2=2)  np.trace(m)  np.trace(t, 1)
np.pad(w, 2)  np.pad(w, 2, mode="edge")  np.pad(w, 2, mode="reflect")  np.pad(w, 2, mode="symmetric")  np.pad(w, 2, mode="wrap")
np.pad(w, (1, 2), mode="linear_ramp", end_values=3.0)  np.pad(w, 2, mode="maximum")  np.pad(w, 2, mode="minimum")  np.pad(w, 2, mode="mean")
np.pad(w, 2, mode="median")  np.pad(w, 2, mode="mean", stat_length=2)  np.pad(r, ((1, 0), (0, 2)), mode="edge")  np.pad(w, 1, constant_values=2.0)
np.pad(w, 2, mode="reflect", reflect_type="odd")  np.pad(w, 2, mode="symmetric", reflect_type="odd")  np.pad(r, 1, mode="wrap")  np.pad(w, 2, mode="empty")[2:-2]
np.lib.stride_tricks.sliding_window_view(w, 3)  np.lib.stride_tricks.sliding_window_view(r, (2, 2))
np.reshape(r, (3, 2))  np.reshape(r, -1, order="F")  np.ravel(r)  np.ravel(r, order="F")  np.transpose(t, (2, 0, 1))  np.permute_dims(r, (1, 0))
np.moveaxis(t, 0, -1)  np.rollaxis(t, 2)  np.swapaxes(t, 0, 1)  np.squeeze(r[None])  np.expand_dims(w, 0)  np.expand_dims(w, (0, 2))
np.atleast_1d(n)  np.atleast_2d(w)  np.atleast_3d(r)  np.broadcast_to(w, (2, 5))  np.broadcast_arrays(w, np.ones((2, 1)))[0]
np.matrix_transpose(t)  np.copy(w)  np.astype(w, np.float64)  np.real_if_close(c)  np.array_split(r, 2, axis=1)[1]
r.T  r.sum(0)  r.mean()  r.reshape(3, 2)  r.ravel()  r.flatten()  r.max()  r.std()  r.var()  r.prod()  r.cumsum()  t.swapaxes(0, 1)  w.dot(W)  r.transpose()
r.min(1)  r.squeeze()  r.take(np.array([0, 2]))  r.repeat(2)  r.trace()  r.diagonal()  r.round(1)  r.clip(0, 1)  r.argmax() * r  r.copy()  r.astype(np.float64)  t.mT
r[0]  r[:, 1]  w[::2]  w[-1]  w[np.array([0, 0, 2])]  r[..., None]  t[1, :, 0]  t[:, np.array([0, 1]), np.array([1, 0])]  r[np.ix_(np.array([0, 1]), np.array([2, 0]))]  r[r > 0]
np.zeros_like(w)  np.ones_like(w)  np.full_like(W, n)  np.full_like(w, 2.0)  np.full(3, n)  np.array([n, n])  np.array([w, W])  np.asarray(w)  np.array(w)
np.linspace(n, 2.0, 4)  np.linspace(W, w, 3)  np.linspace(0.0, v, 3, endpoint=False)  np.geomspace(n, 2.0, 4)  np.geomspace(1.0, v, 3)  np.logspace(n, 1.5, 4)
np.logspace(0.0, v, 3, base=2.0)  np.linspace(n, 2.0, 4, retstep=True)[1]  np.tri(3) * m  np.apply_along_axis(np.sum, 0, r)  np.apply_along_axis(np.cumsum, 1, r)
np.apply_over_axes(np.sum, t, [0, 1])  np.vectorize(lambda y: y * y)(w)  np.histogram(V, bins=4, weights=v)[0]  np.bincount(np.array([0, 1, 1, 2]), weights=v)  np.histogram2d(V, V, bins=2, weights=v)[0]
np.histogram(V, bins=4, weights=v, density=True)[0]  np.isclose(w, W) * w  np.count_nonzero(w) * w  np.nonzero(w)[0] * w  np.searchsorted(G, v) * v
np.dot(w, W)  np.dot(R, r.T)  np.dot(2.0, w)  np.inner(r, R)  np.outer(w, V)  np.vdot(w, W)  np.matmul(R, m)  np.matmul(s, s)  np.tensordot(t, t.T, 2)  np.tensordot(r, R, axes=([1], [1]))
np.vecdot(r, R)  np.matvec(m, V[:3])  np.vecmat(r[0], M)  np.matvec(M, r)  np.vecmat(V[:2], r)  np.einsum("ij,kj->ik", r, R)  np.einsum("ij->", r)  np.einsum("ii->i", m)  np.einsum("ij,jk,kl->il", R, m, M)
np.einsum("...i,...i", r, R)  np.einsum(r, [0, 1], R, [2, 1])  np.einsum("bij,bjk->bik", s, s, optimize=True)
np.linalg.det(m)  np.linalg.det(s)  np.linalg.slogdet(m)[1]  np.linalg.slogdet(s)[1]  np.linalg.inv(m)  np.linalg.inv(s)  np.linalg.pinv(r)  np.linalg.pinv(m)  np.linalg.pinv(s)
np.linalg.solve(m, V[:3])  np.linalg.solve(M, r.T)  np.linalg.solve(s, R[:, :2, None])  np.linalg.cholesky(m @ m.T)  np.linalg.cholesky(s @ s.mT)  np.linalg.cholesky(m @ m.T, upper=True)
np.linalg.qr(m)[0]  np.linalg.qr(m)[1]  np.linalg.qr(r.T)[0]  np.linalg.qr(r)[1]  np.linalg.qr(m, mode="r")  np.linalg.qr(s)[1]
np.linalg.eigh(m + m.T)[0]  abs(np.linalg.eigh(m + m.T)[1])  np.linalg.eigvalsh(m + m.T)  np.linalg.eigvalsh(s + s.mT)  np.linalg.eig(m)[0]  abs(np.linalg.eig(m)[1])  np.linalg.eigvals(m)  np.linalg.eigvals(s)
np.linalg.eigh(m + m.T, UPLO="U")[0]  np.linalg.svd(r)[1]  np.linalg.svd(m, compute_uv=False)  abs(np.linalg.svd(m)[0])  abs(np.linalg.svd(r, full_matrices=False)[2])  np.linalg.svdvals(r)  np.linalg.svd(s, compute_uv=False)
np.linalg.svd(m + m.T, compute_uv=False, hermitian=True)  np.linalg.pinv(m + m.T, hermitian=True)
np.linalg.lstsq(M[:, :2], r.T, rcond=None)[0]  np.linalg.lstsq(r.T, V[:3], rcond=None)[0]  np.linalg.lstsq(r.T, V[:3], rcond=None)[1]  np.linalg.lstsq(r.T, V[:3], rcond=None)[3]
np.linalg.tensorsolve(M, r[0])  np.linalg.tensorinv(m.reshape(3, 3), ind=1)  np.linalg.tensorsolve(m, V[:3])
np.linalg.norm(w)  np.linalg.norm(r)  np.linalg.norm(r, axis=1)  np.linalg.norm(r, "fro")  np.linalg.norm(r, "nuc")  np.linalg.norm(r, 2)  np.linalg.norm(r, -2)  np.linalg.norm(r, 1)  np.linalg.norm(r, -1)
np.linalg.norm(r, np.inf)  np.linalg.norm(r, -np.inf)  np.linalg.norm(w, 1)  np.linalg.norm(w, 3)  np.linalg.norm(w, np.inf)  np.linalg.norm(w, -np.inf)  np.linalg.norm(w, 0)  np.linalg.norm(w, 0.5)  np.linalg.norm(w, -1)
np.linalg.norm(t, axis=(0, 1))  np.linalg.norm(t, "nuc", axis=(1, 2))  np.linalg.norm(r, 3, axis=0, keepdims=True)  np.linalg.cond(m)  np.linalg.cond(m, "fro")  np.linalg.cond(m, 1)  np.linalg.cond(m, -2)  np.linalg.cond(s)  np.linalg.cond(m, np.inf)
np.linalg.matrix_power(m, 3)  np.linalg.matrix_power(m, -2)  np.linalg.matrix_power(s, 2)  np.linalg.matrix_power(m, 0)  np.linalg.multi_dot([R, m, M])  np.linalg.multi_dot([V[:2], r, V[:3]])
np.linalg.cross(r, R)  np.linalg.diagonal(s)  np.linalg.trace(s)  np.linalg.matrix_norm(s)  np.linalg.matrix_norm(s, ord="nuc")  np.linalg.vector_norm(r)  np.linalg.vector_norm(r, axis=0, ord=3)  np.linalg.outer(w, V)  np.linalg.matmul(m, M)
np.linalg.matrix_transpose(s)  np.linalg.vecdot(r, R)  np.linalg.tensordot(t, t.T, axes=1)  np.linalg.matrix_rank(m) * m
np.fft.fft(w)  np.fft.ifft(w)  np.fft.rfft(w)  np.fft.irfft(c)  np.fft.irfft(c, 5)  np.fft.hfft(c)  np.fft.ihfft(w)  np.fft.fft2(r)  np.fft.ifft2(r)  np.fft.fftn(t)  np.fft.ifftn(t)  np.fft.rfft2(r)
np.fft.irfft2(k)  np.fft.rfftn(t)  np.fft.irfftn(k)  np.fft.fftshift(w)  np.fft.ifftshift(w)  np.fft.fft(c)  np.fft.ifft(c)  np.fft.fft(w, 8)  np.fft.fft(w, 3)  np.fft.fft(r, axis=0)  np.fft.fft(w, norm="ortho")
np.fft.rfft(w, norm="forward")  np.fft.fftn(t, axes=(0, 2))  np.fft.fft2(k)  np.fft.rfft(w, 4)  np.fft.fft2(r, s=(3, 4))
np.emath.sqrt(w)  np.emath.log(w)  np.emath.log2(w)  np.emath.log10(w)  np.emath.logn(2.0, v)  np.emath.logn(v, 3.0)  np.emath.power(w, 1.5)  np.emath.power(w, np.array([2, 2, 3, 3, 1]))  np.emath.arccos(w)  np.emath.arcsin(w)  np.emath.arctanh(w)
np.sin(c)  np.cos(c)  np.exp(c)  np.log(c)  np.sqrt(c)  np.absolute(c)  np.angle(c)  np.real(c)  np.imag(c)  np.conjugate(c)  c * C  C / c  c ** 2  c ** 1.5  np.tanh(c)  np.sinh(c)  np.arctan(c)  np.arcsin(c)  np.log1p(c)
np.reciprocal(c)  np.square(c)  np.sum(c)  np.prod(c)  np.mean(c)  np.var(c)  np.std(c)  np.cumsum(c)  np.cumprod(c)  np.dot(c, C)  np.vdot(c, C)  np.outer(c, C)  np.matmul(k, C)  np.vecdot(c, C)  np.vecmat(c, M)
np.einsum("i,i", c, C)  np.linalg.det(k)  np.linalg.inv(k)  np.linalg.solve(k, C)  np.linalg.slogdet(k)[1]  np.linalg.pinv(k)  np.linalg.eigvals(k)  np.linalg.svdvals(k)  np.linalg.norm(c)  np.linalg.norm(k, "nuc")  np.linalg.norm(k, 2)
np.linalg.eigvalsh(k + k.conj().T)  np.linalg.cholesky(k @ k.conj().T)  np.linalg.matrix_power(k, 3)  np.linalg.lstsq(k, C, rcond=None)[0]  np.convolve(c, C)  np.correlate(c, C)  np.interp(G, G, np.concatenate([c, c[:1]]))  np.linspace(c, 1j, 3)
np.where(np.array([True, False, True]), c, C)  np.sort(c)  np.take(c, np.array([0, 0]))  np.concatenate([c, C])  np.sign(c)  np.trapezoid(c)  np.gradient(c)  np.polyval(c, 0.5)  np.cov(c)  np.average(c)  np.kron(c, C)  np.pad(c, 1)  np.diff(c)  np.nan_to_num(c)
abs(c)  c.real  c.imag  c.conj()  np.tan(c)  np.cosh(c)  np.arccos(c)  np.arccosh(c)  np.arcsinh(c)  np.arctanh(c)  np.exp2(c)  np.expm1(c)  np.log2(c)  np.log10(c)  np.subtract(c, C)  np.divide(c, C)  np.negative(c)  np.power(c, C)  np.tensordot(k, k, 1)
np.linalg.eig(k)[0]  np.roots(c)  np.poly(c)  np.vander(c)  np.cross(c, C)  np.trace(k)  np.tril(k)  np.fft.fftn(k)  np.max(np.abs(c))  np.linalg.tensorinv(k, ind=1)  np.linalg.multi_dot([k, k, C])  np.real_if_close(c * 1j)  np.emath.sqrt(c)
"""


def probes() -> list[str]:
    """All of them, one string each."""
    return [text.strip() for line in PROBES.strip().splitlines() for text in re.split(r" {2,}", line)]


def letter(probe: str) -> str:
    """What is differentiated in a probe.

    >>> letter("np.convolve(W, v, mode='same')")
    'v'
    """
    text = re.sub(r"\"[^\"]*\"|'[^']*'|lambda y|\.\w+", "", probe)  # names of methods and texts are not letters
    (found,) = set(re.findall(r"\b[a-z]\b(?!=)", text)) & set(INPUTS)
    return str(found)


def function(probe: str, module: Any) -> Callable[[Any], Any]:
    """The probe as a function of its letter, with ``module`` for np."""
    made: Callable[[Any], Any] = eval(f"lambda {letter(probe)}: {probe}", {"np": module, **CONSTANTS})  # noqa: S307 - the probes above
    return made


def weights(shape: tuple[int, ...], k: int) -> Array:
    """Different numbers, so that no two elements of a result can be mistaken for each other."""
    return np.cos(1.7 * np.arange(np.prod(shape, dtype=int)) + 0.3 + k).reshape(shape)


def weighted(z: Any, np: Any) -> Any:
    """A real number made of every element of the results, computed with ``np`` (NumPy's or a peer's)."""
    parts = z if isinstance(z, (tuple, list)) else (z,)
    total: Any = 0.0
    for k, part in enumerate(parts):
        if "complex" in str(part.dtype):
            total = (
                total
                + (np.real(part) * weights(part.shape, k)).sum()
                + (np.imag(part) * weights(part.shape, k + 9)).sum()
            )
        else:
            total = total + (part * weights(part.shape, k)).sum()  # fmt: skip
    return total


def by_differences(probe: str) -> Array:
    """dL/da + i dL/db for every element of the input, from NumPy's values alone."""
    f, x = function(probe, np), INPUTS[letter(probe)]
    gradient = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        for unit in (1.0, 1.0j) if x.dtype.kind == "c" else (1.0,):
            ends = []
            for sign in (1, -1):
                moved = x.copy()
                moved[place] += sign * STEP * unit
                ends.append(float(np.real(weighted(f(moved), np))))
            gradient[place] += unit * (ends[0] - ends[1]) / (2 * STEP)
    return gradient


def autoflows(probe: str) -> Array:
    """autoflow's gradient, with NumPy itself for np."""
    import autoflow as af

    x = af.Variable(INPUTS[letter(probe)])
    loss = weighted(function(probe, np)(x), np)
    if not isinstance(loss, af.Operation):
        return np.zeros_like(x.value)  # plain numbers: right if the derivative is zero
    loss.backward()
    return np.zeros_like(x.value) if x.grad is None else np.asarray(x.grad)


def jaxs(probe: str) -> Array:
    """JAX's. Its complex gradients are the conjugates."""
    import jax

    jax.config.update("jax_enable_x64", True)
    f = function(probe, jax.numpy)
    return np.conj(jax.grad(lambda x: weighted(f(x), jax.numpy))(jax.numpy.asarray(INPUTS[letter(probe)])))


def autograds(probe: str) -> Array:
    """HIPS autograd's; conjugates as well."""
    import autograd
    import autograd.numpy as anp

    f = function(probe, anp)
    return np.conj(autograd.grad(lambda x: weighted(f(x), anp))(INPUTS[letter(probe)]))


def mygrads(probe: str) -> Array:
    """MyGrad's: NumPy's functions and its own."""
    import mygrad

    x = mygrad.tensor(INPUTS[letter(probe)])
    loss = weighted(function(probe, mygrad)(x), mygrad)
    loss.backward()
    return np.zeros_like(x.data) if x.grad is None else x.grad


GRADIENTS: dict[str, Callable[[str], Array]] = {
    "autoflow": autoflows, "MyGrad": mygrads, "autograd": autograds, "JAX": jaxs,
}  # fmt: skip


def wrong(probe: str, whose: str = "autoflow") -> str:
    """Why the probe does not count; empty if it does."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        right = by_differences(probe)
        try:
            found = np.asarray(GRADIENTS[whose](probe))
        except Exception as error:  # whatever a library does not know it says in its own way
            return f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
    known = np.isfinite(right)
    if found.shape != right.shape or not np.allclose(found[known], right[known], rtol=TOLERANCE, atol=TOLERANCE):
        return f"not the derivative: {found.tolist()} instead of {right.tolist()}"
    return ""


def failures(whose: str = "autoflow", chosen: Sequence[str] = ()) -> dict[str, str]:
    """Probes that do not count, and why."""
    return {probe: why for probe in (chosen or probes()) if (why := wrong(probe, whose))}


def main() -> int:
    """Print the figures; with ``--peers`` write those of the peers."""
    path, count = HERE / "peers.json", len(probes())
    for whose in GRADIENTS if "--peers" in sys.argv else ["autoflow"]:
        failed = failures(whose)
        print(f"{whose}: {count - len(failed)} of {count}")
        if whose == "autoflow":
            print(*[f"  {probe}: {why}" for probe, why in failed.items()], sep="\n")
        else:
            data = json.loads(path.read_text(encoding="utf-8"))
            data.setdefault("_probes", {})[whose] = count - len(failed)
            path.write_text(json.dumps(data, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
