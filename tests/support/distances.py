"""How far the results of a compiled program are from those of eager code."""

import numpy as np


def results(x):
    """What ``f`` or ``value_and_grad(f)`` returned, as arrays."""
    return [np.asarray(a) for a in ([x[0], *x[1]] if isinstance(x, tuple) else [x])]


def largest(arrays):
    """The largest finite entry of all."""
    return max([float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))) for a in arrays])


def distance(one, other):
    """The largest difference where both are finite; infinities and NaN are at the same places."""
    found = 0.0
    for a, b in zip(one, other, strict=True):
        finite = np.isfinite(a)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        found = max(found, float(np.max(np.abs(a[finite] - b[finite]), initial=0.0)))
    return found


def outcome(f, args):
    """What it returns, as a list of arrays; or the class of its error."""
    try:
        return results(f(*args))
    except Exception as error:
        return type(error)
