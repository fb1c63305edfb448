"""Calls that NumPy refuses are refused with nodes as well: the same class of error, the same message.

Only of functions whose rows are written in Python here (composed ones): the others call NumPy, which refuses.
"""

import warnings

import numpy as np
import pytest

import autoflow as af

V, M = np.arange(1.0, 6.0), np.arange(1.0, 7.0).reshape(2, 3)
# fmt: off
REFUSED = {
    "einsum, no subscripts": lambda v, m: np.einsum(v), "einsum, no subscripts of a matrix": lambda v, m: np.einsum(m),
    "add, of None": lambda v, m: np.add(v, None), "putmask": lambda v, m: np.putmask(v * 1.0, [True], 1.0),
    "split": lambda v, m: np.split(v, 2), "hsplit": lambda v, m: np.hsplit(v[0], 2),
    "vsplit": lambda v, m: np.vsplit(v, 2), "dsplit": lambda v, m: np.dsplit(m, 2),
    "unstack": lambda v, m: np.unstack(v[0]), "cross": lambda v, m: np.cross(v[:4], v[:4]),
    "polyint": lambda v, m: np.polyint(v, 3, [1.0, 2.0]), "polyint, negative": lambda v, m: np.polyint(v, -1),
    "polyder": lambda v, m: np.polyder(v, -1), "polyfit, degree": lambda v, m: np.polyfit(v, v, -1),
    "polyfit, covariance": lambda v, m: np.polyfit(v[:2], v[:2], 1, cov=True), "roots": lambda v, m: np.roots(m),
    "poly": lambda v, m: np.poly(m), "tile": lambda v, m: np.tile(v, -1),
    "trapezoid": lambda v, m: np.trapezoid(v, v[:3]), "pad": lambda v, m: np.pad(v, -1),
    "unwrap": lambda v, m: np.unwrap(v, axis=1), "select": lambda v, m: np.select([v > 1], [v, v]),
    "average": lambda v, m: np.average(v, weights=v * 0.0), "cov": lambda v, m: np.cov(v, ddof=0.5),
    "insert": lambda v, m: np.insert(v, 9, 1.0), "delete": lambda v, m: np.delete(v, 9),
    "rot90": lambda v, m: np.rot90(v), "rollaxis": lambda v, m: np.rollaxis(m, 3),
    "diagonal": lambda v, m: np.diagonal(v), "trace": lambda v, m: np.trace(v),
    "choose": lambda v, m: np.choose([0, 7], [v[:2], v[:2]]), "nanquantile": lambda v, m: np.nanquantile(v, 2.0),
    "quantile": lambda v, m: np.quantile(v, -0.5), "percentile": lambda v, m: np.percentile(v, 200),
    "interp": lambda v, m: np.interp(v, v[:2], v[:3]), "vander": lambda v, m: np.vander(m),
    "tensordot": lambda v, m: np.tensordot(m, m, 1), "place": lambda v, m: np.place(v * 1.0, [True], [1.0]),
    "put": lambda v, m: np.put(v * 1.0, [9], [1.0]),
    "compress, of a matrix": lambda v, m: np.compress([[True, False, True]], v),
    "compress, of a number": lambda v, m: np.compress(True, v),
    "accumulate, of a number": lambda v, m: np.add.accumulate(v[0]),
    "accumulate, of a number, without a row": lambda v, m: np.fmax.accumulate(v[0]),
    "accumulate, along no axis": lambda v, m: np.logaddexp.accumulate(m, axis=None),
    "accumulate, along two axes": lambda v, m: np.multiply.accumulate(m, axis=(0, 1)),
    "reduceat, of a number": lambda v, m: np.maximum.reduceat(v[0], [0]),
    "reduceat, along no axis": lambda v, m: np.maximum.reduceat(m, [0], axis=None),
    "insert, of a complex number": lambda v, m: np.insert(v, 1, 1j),
    "tensorsolve, negative axes": lambda v, m: np.linalg.tensorsolve(m.reshape(6, 1, 1), m, axes=(-1,)),
    "bincount, of floats": lambda v, m: np.bincount(np.zeros(0), v[:0]),
    "reduceat, before the first": lambda v, m: np.maximum.reduceat(v, [-1]),
    "reduceat, behind the last": lambda v, m: np.maximum.reduceat(v, [7]),
    "apply_along_axis, of a list": lambda v, m: np.apply_along_axis(np.cumsum, [0], m),
    "histogramdd, lengths": lambda v, m: np.histogramdd(M, bins=2, weights=v),
    "histogramdd, complex": lambda v, m: np.histogramdd(M, bins=2, weights=v[:2] * 1j),
}  # fmt: skip
# fmt: on


def refusal(f, *arrays):
    """The error, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            f(*arrays)
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("name", REFUSED)
def test_call_is_refused_as_by_numpy(name):
    f = REFUSED[name]
    theirs, ours = refusal(f, V, M), refusal(f, af.Variable(V), af.Variable(M))
    assert theirs is not None
    assert isinstance(ours, type(theirs)), repr(ours)
    assert str(theirs).splitlines()[0] in str(ours)
