"""Calls that NumPy refuses are refused with nodes as well: the same class of error, the same message.

Of functions whose rows are written in Python here (composed ones): most others call NumPy, which refuses.
"""

import warnings

import numpy as np
import pytest

import autoflow as af

V, M = np.arange(1.0, 6.0), np.arange(1.0, 7.0).reshape(2, 3)
REFUSED = [
    lambda v, m: np.einsum(v), lambda v, m: np.einsum(m), lambda v, m: np.add(v, None), lambda v, m: np.sum(m, (0, 0)),
    lambda v, m: np.mean(m, axis=2), lambda v, m: np.max(v[:0]), lambda v, m: np.cumulative_sum(m),
    lambda v, m: np.putmask(v * 1.0, [True], 1.0), lambda v, m: np.place(v * 1.0, [True], [1.0]),
    lambda v, m: np.put(v * 1.0, [9], [1.0]), lambda v, m: np.astype(m, float, device="gpu"),
    # parts and joins
    lambda v, m: np.split(v, 2), lambda v, m: np.split(m, 2, axis=1), lambda v, m: np.array_split(m, 0),
    lambda v, m: np.hsplit(v[0], 2), lambda v, m: np.hsplit(m[0, 0], 1), lambda v, m: np.vsplit(v, 2),
    lambda v, m: np.vsplit(m[0], 1), lambda v, m: np.dsplit(m, 2), lambda v, m: np.dsplit(m, 1),
    lambda v, m: np.unstack(v[0]), lambda v, m: np.block([[m], m]), lambda v, m: np.block([[]]),
    lambda v, m: np.concatenate([m, m[0]]), lambda v, m: np.reshape(m, 5), lambda v, m: np.reshape(m.T, 6, copy=False),
    lambda v, m: np.tile(v, -1), lambda v, m: np.rot90(v), lambda v, m: np.rollaxis(m, 3), lambda v, m: np.diagonal(v),
    lambda v, m: np.trace(v), lambda v, m: np.insert(v, 9, 1.0), lambda v, m: np.insert(v, 1, 1j),
    lambda v, m: np.delete(v, 9), lambda v, m: np.compress([[True, False, True]], v), lambda v, m: np.compress(True, v),
    lambda v, m: np.trim_zeros(v, "x"), lambda v, m: np.meshgrid(v, indexing="ab"),
    lambda v, m: np.pad(v, -1), lambda v, m: np.pad(m, -1, "mean"), lambda v, m: np.pad(m, 0.5, "mean"),
    lambda v, m: np.pad(m, 1, "none"), lambda v, m: np.pad(m, 1, "mean", end_values=1),
    lambda v, m: np.pad(m, 1, "maximum", stat_length=0), lambda v, m: np.pad(m[:0], 1, "mean"),
    # choices
    lambda v, m: np.choose([0, 7], [v[:2], v[:2]]), lambda v, m: np.select([1], [v]), lambda v, m: np.select([], []),
    lambda v, m: np.select([v > 1], [v, v]), lambda v, m: np.piecewise(v, [v > 0], [1, 2, 3]),
    # differences, areas, polynomials
    lambda v, m: np.diff(v, -1), lambda v, m: np.diff(v[0]), lambda v, m: np.gradient(v[:1]),
    lambda v, m: np.gradient(v, edge_order=3), lambda v, m: np.gradient(v, [1.0]), lambda v, m: np.gradient(v, [[1.0]]),
    lambda v, m: np.gradient(v, 1.0, 2.0), lambda v, m: np.trapezoid(v, v[:3]), lambda v, m: np.unwrap(v, axis=1),
    lambda v, m: np.interp(v, v[:2], v[:3]), lambda v, m: np.interp(v, [0.0], [1.0], period=0),
    lambda v, m: np.vander(m), lambda v, m: np.poly(m), lambda v, m: np.roots(m), lambda v, m: np.polyder(v, -1),
    lambda v, m: np.polyint(v, 3, [1.0, 2.0]), lambda v, m: np.polyint(v, -1), lambda v, m: np.polyfit(v, v, -1),
    lambda v, m: np.polyfit(v[:2], v[:2], 1, cov=True),
    # statistics
    lambda v, m: np.average(v, weights=v * 0.0), lambda v, m: np.average(v, weights=[1.0]),
    lambda v, m: np.average(v[None], 0, [1.0, 2.0]), lambda v, m: np.cov(v, ddof=0.5),
    lambda v, m: np.cov(v[None, None]), lambda v, m: np.cov(v, aweights=[-1, 1, 1, 1, 1]),
    lambda v, m: np.cov(v, aweights=[1.0]), lambda v, m: np.cov(v, fweights=[[1]]),
    lambda v, m: np.cov(v, fweights=[0.5] * 5), lambda v, m: np.nanquantile(v, 2.0),
    lambda v, m: np.quantile(v, -0.5), lambda v, m: np.percentile(v, 200), lambda v, m: np.bincount(np.zeros(0), v[:0]),
    lambda v, m: np.histogramdd(M, bins=2, weights=v), lambda v, m: np.histogramdd(M, bins=2, weights=v[:2] * 1j),
    # products
    lambda v, m: np.cross(v[:4], v[:4]), lambda v, m: np.tensordot(m, m, 1),
    lambda v, m: np.linalg.tensorsolve(m.reshape(6, 1, 1), m, axes=(-1,)),
    # folds, and functions along axes
    lambda v, m: np.add.accumulate(v[0]), lambda v, m: np.fmax.accumulate(v[0]),
    lambda v, m: np.logaddexp.accumulate(m, axis=None), lambda v, m: np.multiply.accumulate(m, axis=(0, 1)),
    lambda v, m: np.maximum.reduceat(v[0], [0]), lambda v, m: np.maximum.reduceat(m, [0], axis=None),
    lambda v, m: np.maximum.reduceat(v, [-1]), lambda v, m: np.maximum.reduceat(v, [7]),
    lambda v, m: np.apply_along_axis(np.cumsum, [0], m), lambda v, m: np.apply_along_axis(np.sum, 0, v[None][:, :0]),
    lambda v, m: np.apply_over_axes(lambda y, axis: y[0, 0], v[None], [0]),
]  # fmt: skip


def refusal(f, *arrays):
    """The error, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            f(*arrays)
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("f", REFUSED)
def test_call_is_refused_as_by_numpy(f):
    theirs, ours = refusal(f, V, M), refusal(f, af.Variable(V), af.Variable(M))
    assert theirs is not None
    assert isinstance(ours, type(theirs)), repr(ours)
    assert str(theirs).splitlines()[0] in str(ours)
