"""Axes that an array does not have: NumPy's error, never another axis (counted modulo n it would be wrong in silence).

For each NumPy function of the table the calls below are tried with axis 0; those that NumPy takes are then made with
axes out of range. What NumPy refuses must be refused, by an error of the same class or a subclass.
"""

import re
import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.rules.variants import METHODS, VARIANTS
from autoflow.table.table import COMPOSED, RULES

A = np.sqrt(np.arange(24.0)).reshape(2, 3, 4) + 0.1
FUNCTIONS = {
    f.__name__: f
    for f in [*RULES, *COMPOSED, *VARIANTS]
    if not isinstance(f, np.ufunc) and (getattr(f, "__module__", None) or "").startswith("numpy")
}
CALLS = [
    lambda f, x, axis: f(x, axis=axis), lambda f, x, axis: f(x, axis=(axis,)), lambda f, x, axis: f(x, axis=(1, axis)),
    lambda f, x, axis: f(x, axes=axis), lambda f, x, axis: f(x, axes=(axis,)), lambda f, x, axis: f(x, axes=(axis, 2)),
    lambda f, x, axis: f(x, 1, axis=axis), lambda f, x, axis: f(x, 1, 2, axis=axis),
    lambda f, x, axis: f(x, [0, 1], axis=axis), lambda f, x, axis: f(x, 0.5, axis=axis),
    lambda f, x, axis: f(x, x, axis=axis), lambda f, x, axis: f(x, x[0, 0], axis=axis),
    lambda f, x, axis: f(x, np.zeros((2, 3, 4), int), axis=axis), lambda f, x, axis: f([x, x], axis=axis),
    lambda f, x, axis: f([True, False], x, axis=axis), lambda f, x, axis: f(x, mean=1.0, axis=axis),
    lambda f, x, axis: f(x, axis), lambda f, x, axis: f(x, axis, 1), lambda f, x, axis: f(x, 1, axis),
    lambda f, x, axis: f(x, axis1=axis), lambda f, x, axis: f(x, axis2=axis, axis1=2),
    lambda f, x, axis: f(x, x[..., :3], axisa=axis, axisb=-1), lambda f, x, axis: f(x[..., :3], x[..., :3], axisc=axis),
    lambda f, x, axis: f(x, x[:2], axes=([axis], [0])), lambda f, x, axis: f(x, x[:2], ((0,), (axis,))),
    lambda f, x, axis: f(np.cumsum, axis, x), lambda f, x, axis: f(np.sum, x, [axis]),
    lambda f, x, axis: f(x, shift=1, axis=axis), lambda f, x, axis: f(x, kth=0, axis=axis),
    lambda f, x, axis: f(x, n=2, axis=axis), lambda f, x, axis: f(x, s=(2,), axes=(axis,)),
    lambda f, x, axis: f(x, source=axis, destination=0), lambda f, x, axis: f(x, 0, destination=axis),
]  # fmt: skip
OUTSIDE = (3, -4, 6, 7, -7)


def outcome(call, f, x, axis):
    """The result or the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call(f, x, axis)
        except Exception as error:
            return error


def check(f):
    """Returns how many calls were refused. (What is refused whatever the axis says nothing.)"""
    count = 0
    for call in CALLS:
        if any([isinstance(outcome(call, f, x, 0), Exception) for x in (A, af.Variable(A))]):
            continue
        for axis in OUTSIDE:
            theirs = outcome(call, f, A, axis)
            if not isinstance(theirs, Exception):
                continue
            for x in (af.Variable(A), 1.0 * af.Variable(A)):
                ours = outcome(call, f, x, axis)
                assert isinstance(ours, (type(theirs), np.exceptions.AxisError)), f"{f.__name__}, axis {axis}: {ours!r}"
            count += 1
    return count


def test_axes_out_of_range():
    """And the calls reach many functions."""
    assert len(FUNCTIONS) > 150
    asked = [name for name, f in FUNCTIONS.items() if check(f)]
    assert len(asked) > 80
    assert {"diff", "gradient", "apply_along_axis", "array_split", "trim_zeros", "trapezoid", "max", "fft",
            "tensordot", "moveaxis", "insert", "quantile", "stack", "norm"} <= set(asked)  # fmt: skip


@pytest.mark.parametrize("key", [(m, f) for m in ("reduce", "accumulate", "reduceat") for f in METHODS[m]], ids=str)
def test_axes_of_the_methods_of_ufuncs(key):
    method, ufunc = key
    extra = ([0, 1],) if method == "reduceat" else ()
    for axis in OUTSIDE:
        with pytest.raises(np.exceptions.AxisError):
            getattr(ufunc, method)(af.Variable(A), *extra, axis=axis)


@pytest.mark.parametrize("f", [np.diff, np.gradient, np.trapezoid, np.trim_zeros, np.array_split, np.sum, np.flip])
def test_an_axis_is_a_whole_number(f):
    extra = (2,) if f is np.array_split else ()
    with pytest.raises(TypeError):
        f(af.Variable(A), *extra, axis=1.0)


def test_axes_named_twice():
    for f in (np.gradient, np.trim_zeros):
        for axis in ((0, 0), (0, -3)):
            with pytest.raises((ValueError, TypeError)) as theirs:  # before NumPy 2.4 trim_zeros took one axis
                f(A, axis=axis)
            with pytest.raises(theirs.type, match=re.escape(str(theirs.value))):
                f(af.Variable(A), axis=axis)


def test_differences_of_order_zero_are_the_array():
    x = af.Variable(A)
    for axis in (0, -1, 7):  # NumPy does not look at the axis then
        np.testing.assert_array_equal(np.diff(x, 0, axis), A)


@pytest.mark.parametrize("place", [[1.0], [0.0, 2.0], 1.0, 7, [0, 9]])
@pytest.mark.parametrize("f", [lambda x, i: np.insert(x, i, 5.0), np.delete, lambda x, i: np.delete(x, i, axis=0)])
def test_places_that_are_none(f, place):
    """NumPy's error (IndexError, of some a TypeError), also where the place is a node."""
    x = np.arange(4.0)
    with pytest.raises((IndexError, TypeError)) as theirs:
        f(x, np.asarray(place))
    whole = isinstance(place, int) or (isinstance(place, list) and isinstance(place[0], int))
    for i in (place,) if whole else (place, af.Variable(place), 1.0 * af.Variable(place)):
        for a in (af.Variable(x), x):
            if isinstance(a, af.Node) or isinstance(i, af.Node):
                with pytest.raises(theirs.type):
                    f(a, i)
