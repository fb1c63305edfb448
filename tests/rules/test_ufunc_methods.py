"""reduce, accumulate, outer and reduceat of every binary ufunc with a row."""

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af
from autoflow.errors import NoRuleError
from autoflow.rules.variants import METHODS, NORMS, SUMS

X = np.array([[1.1, 0.6, 1.4], [0.9, 1.7, 0.8], [1.3, 0.7, 1.2], [0.5, 1.6, 1.9]])
Y = np.array([[0.55, 1.45], [1.15, 0.85]])
ALL = [(method, ufunc) for method, row in METHODS.items() for ufunc in row]
ROUNDING = (np.floor_divide, np.remainder, np.fmod, np.copysign, np.heaviside, np.nextafter)


def ours_or_numpys(method, ufunc):
    """Our function for nodes, NumPy's for plain arrays: what the door does."""
    ours, numpys = METHODS[method][ufunc], getattr(ufunc, method)
    return lambda *args, **how: (ours if any([isinstance(x, af.Node) for x in args]) else numpys)(*args, **how)


ARGUMENTS = {"reduce": (), "accumulate": (), "reduceat": ([0, 2, 1],)}


@pytest.mark.parametrize(("method", "ufunc"), ALL, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_method(method, ufunc):
    f = ours_or_numpys(method, ufunc)
    if ufunc in ROUNDING:  # jumps: their numbers are all that can be compared
        args = (X, Y) if method == "outer" else (X, *ARGUMENTS[method])
        np.testing.assert_array_equal(f(af.Variable(X), *args[1:]).value, getattr(ufunc, method)(*args))
    elif method == "outer":
        check(f, X[:2], Y)
        check(lambda y: f(X[0], y), Y)
    else:
        check(lambda x: f(x, *ARGUMENTS[method]), X[:, :2])
        check(lambda x: f(x, *ARGUMENTS[method], axis=1), X if method != "reduceat" else X.T.copy())


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logaddexp, np.fmin])
@pytest.mark.parametrize(("method", "args"), [("reduce", ()), ("reduceat", ([0, 500, 100, 999],))])
def test_long_arrays_to_the_bit(method, args, ufunc):
    x, f = np.random.default_rng(1).uniform(0.9, 1.1, 1000), ours_or_numpys(method, ufunc)
    np.testing.assert_array_equal(f(af.Variable(x), *args).value, f(x, *args))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.divide])
@pytest.mark.parametrize("method", ARGUMENTS)
def test_arguments_by_name(method, ufunc):
    named = {"axis": 1, "dtype": None} | ({"indices": [0, 2, 1]} if method == "reduceat" else {})
    check(lambda x: getattr(ufunc, method)(array=x, **named), X)
    if ufunc is np.add:
        named["dtype"] = np.dtype(float)  # it is equal to None
        assert getattr(ufunc, method)(af.Variable(X.astype(np.float32)), **named).dtype == float


KEYWORDS = {
    "reduce": [{}, {"axis": 1, "keepdims": True}, {"initial": 0.7}, {"axis": 1, "where": X > 1, "initial": 0.7},
               {"axis": (), "keepdims": True}, {"axis": None}],
    "accumulate": [{}, {"axis": -1}], "reduceat": [{"indices": [0, 2, 1]}, {"indices": [0, 2, 1], "axis": 1}],
    "outer": [{}, {"where": True}],
}  # fmt: skip


@pytest.mark.parametrize(("method", "ufunc"), ALL, ids=lambda v: v if isinstance(v, str) else v.__name__)
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_keywords(method, ufunc, dtype):
    """With each keyword of NumPy's there is its result, in its dtype, with its slopes, or a NoRuleError."""
    for given in KEYWORDS[method]:
        options, args = {**given, "dtype": dtype}, (Y,) if method == "outer" else ()
        call = lambda x, args=args, options=options: getattr(ufunc, method)(x, *args, **options)  # noqa: E731
        try:
            right = call(X)
        except (TypeError, ValueError) as error:
            with pytest.raises((type(error), NoRuleError)):
                call(af.Variable(X))
            continue
        if (dtype is int and ufunc not in SUMS[method]) or ("where" in given and "initial" in given and ufunc in NORMS):
            with pytest.raises(NoRuleError):
                call(af.Variable(X))
            continue
        z = call(af.Variable(X))
        assert z.dtype == right.dtype
        np.testing.assert_allclose(getattr(z, "value", z), right, rtol=1e-6 if right.dtype == np.float32 else 1e-15)
        if dtype is float and ufunc not in ROUNDING:
            check(call, X)


def test_the_result_is_no_view_of_the_argument():
    for z in (np.fmax.reduce(x := af.Variable(X[:1]) * 1), np.hypot.reduceat(x, [0]), np.subtract.reduce(x, axis=())):
        z[...] = 0
        np.testing.assert_array_equal(x.value, X[:1])


@pytest.mark.parametrize(("call", "x", "error", "words"), [
    (np.logaddexp.accumulate, [1j], TypeError, "not supported for the input types"),
    (lambda x: np.logaddexp.reduceat(x, [0]), [1j], TypeError, "not supported for the input types"),
    (lambda x: METHODS["reduce"][np.subtract](x, axis=(0, 1)), X, ValueError, "not reorderable"),
    (METHODS["reduce"][np.fmax], X[:0], ValueError, "zero-size"),
])  # fmt: skip
def test_what_numpy_refuses_is_refused(call, x, error, words):
    with pytest.raises(error, match=words):
        call(af.Variable(x))
    assert METHODS["accumulate"][np.hypot](af.Variable(X[:0])).shape == (0, 3)


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.logaddexp2, np.hypot, np.fmax, np.fmin, np.add, np.maximum])
@pytest.mark.parametrize("axis", [None, (0, 1), (-1,)])
def test_several_axes_at_once(ufunc, axis):
    f = ours_or_numpys("reduce", ufunc)
    check(lambda x: f(x, axis=axis), X)
    assert f(af.Variable(X), axis=axis, keepdims=True).shape == ufunc.reduce(X, axis=axis, keepdims=True).shape


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.hypot, np.fmax, np.fmin, np.add, np.minimum])
@pytest.mark.parametrize("axis", [(1, 0), (2, 0), (-1, 0), (2, 0, 1), (1,)])
def test_several_axes_in_any_order(ufunc, axis):
    x = np.random.default_rng(2).uniform(0.5, 1.5, (2, 2, 2))
    for keepdims in (False, True):
        z = ufunc.reduce(af.Variable(x), axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(z.value, ufunc.reduce(x, axis=axis, keepdims=keepdims))
    with pytest.raises(ValueError, match=r"duplicate|repeated"):
        ufunc.reduce(af.Variable(x), axis=(*axis, axis[0]))


@pytest.mark.parametrize(("ufuncs", "values", "right"), [
    # one infinite or huge entry takes all; equal ones share; nothing overflows and nothing is NaN
    *[([np.logaddexp, np.logaddexp2], values, right) for values, right in (
        ([1e300, 0.0, 1.0], [1, 0, 0]), ([1e300, 1e300, 0.0], [0.5, 0.5, 0]), ([np.inf, np.inf, 3.0], [0.5, 0.5, 0]),
        ([-np.inf, -np.inf], [0.5, 0.5]), ([-np.inf, 2.0], [0, 1]), ([2000.0, -2000.0], [1, 0]),
    )],
    ([np.hypot], np.zeros(3), np.zeros(3)),
])  # fmt: skip
def test_reductions_are_stable(ufuncs, values, right):
    for ufunc in ufuncs:
        x = af.Variable(values)
        with np.errstate(all="ignore"):  # NumPy's exp(-1e300) underflows, and its values are its own affair
            z = ufunc.reduce(x)
        with np.errstate(all="raise"):
            af.backward(z)
        np.testing.assert_array_equal(x.grad, right)


@pytest.mark.parametrize("options", [{}, {"keepdims": True}, {"axis": (0,)}, {"axis": None}])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.hypot, np.subtract, np.divide, np.fmax, np.fmin])
def test_a_reduction_of_nothing_has_a_history(ufunc, options):
    if ufunc in (np.subtract, np.divide) and options.get("axis", 0) is None:
        return  # NumPy takes one axis
    x = af.Variable(np.zeros((0, 3)))
    z = ufunc.reduce(x, initial=3.0, **options)
    assert same_bits(z.value, ufunc.reduce(x.value, initial=3.0, **options))
    z.sum().backward()
    assert x.grad.shape == (0, 3)
