"""Calls that a row does not cover: where= and out= of every ufunc, and what is asked only once of a function."""

from functools import partial

import numpy as np
import pytest
from support import assert_close, is_scipys, rows, same_bits

import autoflow as af
from autoflow.errors import LostGradientError, NoRuleError
from autoflow.table.table import COMPOSED, RULES

A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
UFUNCS = [
    row for row in rows()
    if isinstance(row.function, np.ufunc) and row.function.signature is None and row.function.types[0][-1] not in "FD"
]  # fmt: skip
WORD = "_".join(["same", "kind"])  # another object than NumPy's
USUAL = {"dtype": None, "casting": WORD, "order": "K", "subok": True, "where": np.True_}  # as if not given
STRANGE = np.array([0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, 1e300, 0.5])  # where most functions are in trouble


@pytest.mark.parametrize("row", UFUNCS, ids=lambda row: row.name)
def test_where_of_ufuncs(row):
    """Values are NumPy's; the gradient is that of np.where(c, f(x), out), and exactly 0 where c does not hold, also of
    numbers for which f has no value, and in second derivatives."""
    (low, high), places = row.domain, tuple(range(row.operands))
    xs, where = (
        [np.linspace(low + 0.11 * k, high - 0.07 * k, 8) for k in places],
        np.array([1, 0, 1, 1, 0, 0, 1, 0], bool),
    )
    tame = [np.where(where, x, x[0]) for x in xs]

    def ours(*xs):
        return np.sum(np.sin(row.function(*xs, out=xs[0] + 0.3, where=where)))

    def theirs(*xs):
        return np.sum(np.sin(np.where(where, row.function(*xs), xs[0] + 0.3)))

    strange = [np.where(where, x, STRANGE) for x in xs]
    with np.errstate(all="ignore"):
        z = row.function(*[af.Variable(x) for x in strange], out=af.full(8, 0.3), where=where)
        # SciPy's functions write where they should not (SciPy 1.17)
        start = {"out": np.full(8, 0.3), "where": where}
        wanted = np.where(where, row.function(*strange), 0.3) if is_scipys(row) else row.function(*strange, **start)
        assert same_bits(z.value, wanted)
        for one, other in zip(af.grad(ours, places)(*tame), af.grad(theirs, places)(*tame), strict=True):
            assert_close(one, other, 1e-13, row.name)
    with np.errstate(all="raise", under="ignore"):
        grads = af.grad(lambda *xs: row.function(*xs, out=af.zeros(8), where=where).sum(), places)(*strange)
    for g in grads:
        np.testing.assert_array_equal(g[~where], 0.0)
    single = [x.astype(np.float32) for x in tame]
    assert same_bits(row.function(af.Variable(single[0]), *single[1:], **USUAL).value, row.function(*single))


@pytest.mark.parametrize("f", [np.log, np.sqrt, np.reciprocal, np.arctanh, np.arccosh, np.log1p, np.cbrt])
def test_second_derivatives_are_zero_where_nothing_is_computed(f):
    low, high = RULES[f].domain
    where = np.arange(8) % 2 == 0
    x = np.where(where, np.linspace(low, high, 10)[1:9], STRANGE)
    found = af.hvp(lambda x: np.sum(f(x, out=np.zeros_like(x), where=where)), x, np.ones(8))
    np.testing.assert_array_equal(found[~where], 0.0)
    np.testing.assert_array_equal(found[where], af.hvp(lambda x: np.sum(f(x)), x[where], np.ones(4)))


def test_safe_division():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0])
    for where in (b != 0, [0, 1, 1]):
        x, y = af.Variable(a), af.Variable(b)
        z = np.divide(x, y, out=np.zeros_like(x), where=where)
        np.testing.assert_array_equal(z.value, [0.0, 1.0, 0.75])
        z.sum().backward()
        np.testing.assert_array_equal([x.grad, y.grad], [[0.0, 0.5, 0.25], [0.0, -0.5, -3 / 16]])


def test_where_broadcasts_and_may_be_written_over_an_operand():
    x, c = af.Variable(A), np.array([[True], [False]])
    y = 1.0 * x
    assert np.multiply(y, [1.0, 2.0, 3.0], out=y, where=c) is y
    np.testing.assert_array_equal(y.value, np.where(c, A * [1.0, 2.0, 3.0], A))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, np.where(c, [[1.0, 2.0, 3.0]], 1.0))
    w, a = af.Variable(2.0), af.zeros((2, 3))
    np.add(w, 1.0, out=a, where=c)
    a.sum().backward()
    assert w.grad == 3.0


def test_where_of_functions_with_several_results():
    x = af.Variable(np.array([1.25, -2.5, 0.75]))
    parts = np.modf(x, out=(af.zeros(3), af.ones(3)), where=np.array([True, False, True]))
    np.testing.assert_array_equal(parts, [[0.25, 0.0, 0.75], [1.0, 1.0, 0.0]])
    parts[0].sum().backward()
    np.testing.assert_array_equal(x.grad, [1.0, 0.0, 1.0])


def test_where_that_is_refused():
    x, c = af.Variable(A), A > 0
    with pytest.raises(NoRuleError, match=r"np.exp\(x, where=c\) .* undefined: say what they are, out=np.zeros_like"):
        np.exp(x, where=c)
    with pytest.raises(LostGradientError, match=r"np.exp\(..., out=, where=\) into a plain array"):
        np.exp(x, out=np.zeros((2, 3)), where=c)
    methods = [getattr(x, name) for name in ("sum", "prod", "mean", "max", "min", "var", "std")]
    for f in (partial(np.sum, x), partial(np.nanmean, x), *methods):  # NumPy takes None for what never holds
        with pytest.raises(NoRuleError, match="not with where=None"):
            f(where=None)
    with pytest.raises(TypeError, match="where= takes booleans"):
        np.exp(x, out=np.zeros_like(x), where=np.ones((2, 3)))
    with pytest.raises(ValueError, match="shape"):
        np.exp(x[0], out=af.zeros(3), where=np.ones((4, 3), bool))


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
def test_spread_about_a_mean_of_another_kind(f):
    means = [np.float64(0.5), np.array([1.0, 2.0, 4.0]), *[A] * (f in (np.var, np.std))]  # A: of more axes than x
    for dtype in ("float16", "float32", "complex64", "float64"):
        for mean in means:
            z, wanted = [f(x, mean=mean, ddof=1) for x in (af.Variable(A[0], dtype=dtype), A[0].astype(dtype))]
            assert z.dtype == wanted.dtype
            np.testing.assert_allclose(z.value, wanted, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_where_with_one_argument_says_where():
    (places,) = np.where(af.Variable([0.0, 2.0, 0.0, 3.0]))
    assert type(places) is np.ndarray
    np.testing.assert_array_equal(places, [1, 3])


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: np.matmul(x, x.T, axis=0), "axis="), (lambda x: np.matmul(x, x.T, keepdims=True), "keepdims="),
    (lambda x: np.vecdot(x, x, axis=0, axes=[(0,), (0,), ()]), "axis"),
    (lambda x: np.matmul(x, x[0], axes=[(0, 1), (0,), (0,)]), "axes="),
    (lambda x: np.vecdot(x, x, axes=[(0, 1), 0]), "axes="),
])  # fmt: skip
def test_axes_that_do_not_fit_are_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call(af.Variable(A))
    with pytest.raises(np.exceptions.AxisError):
        np.vecdot(af.Variable(A), A, axis=2)


OF_UFUNCS = [f for f in COMPOSED if f in vars(np).values() and isinstance(f, np.ufunc)]


@pytest.mark.parametrize("ufunc", OF_UFUNCS, ids=lambda f: f.__name__)
def test_composed_ufuncs_take_where(ufunc):
    xs, starts = [np.array([1.5, 2.5]), *[np.array([2, 3])] * (ufunc.nin - 1)], np.zeros((ufunc.nout, 2))
    expected = ufunc(*xs, out=tuple(starts.copy()), where=[True, False], casting="unsafe")
    found = ufunc(af.Variable(xs[0]), *xs[1:], out=tuple([af.Constant(z) for z in starts]), where=[True, False])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("axes", [None, [(0, 1), (0, 1), (1, 0)], [(-2, -1)] * 3, [(1, 0), (0, 1), (0, 1)]])
def test_axes_and_out_of_a_product(axes):
    """The result is the array that was given, as NumPy's: for Constants, and with a history."""
    a, b = np.arange(16.0).reshape(4, 4), np.arange(16.0).reshape(4, 4) ** 2
    how = {} if axes is None else {"axes": axes}
    wanted, x, plain, recorded = (
        np.matmul(a, b, out=np.empty((4, 4)), **how),
        af.Variable(a),
        a.copy(),
        af.zeros((4, 4)),
    )
    assert np.matmul(a, af.Constant(b), out=plain, **how) is plain
    assert np.matmul(x, b, out=recorded, **how) is recorded
    for found in (plain, recorded):
        np.testing.assert_array_equal(found, wanted)
    recorded.sum().backward()
    np.testing.assert_allclose(x.grad, af.grad(lambda a: np.matmul(a, b, **how).sum())(a))
    held = c = a.copy()
    c @= af.Constant(b)
    assert c is held
    np.testing.assert_array_equal(held, a @ b)


def test_a_reduction_of_a_plain_array_into_a_node():
    """NumPy gives methods of ufuncs their out= in a tuple."""
    data, out = np.arange(9).reshape(3, 3), af.Constant(np.zeros(3))
    for reduced, wanted in ((np.multiply.reduce, data.prod(axis=1)), (np.ndarray.var, data.var(axis=1))):
        assert reduced(data, axis=1, out=out) is out
        np.testing.assert_array_equal(out.value, wanted)


def test_bounds_of_a_plain_array():
    x, one = af.Variable([0.5, 1.5]), np.ones(2)
    for z in (one.clip(x, 3.0), one.clip(0.0, x), one.clip(x), one.clip(max=x), one.clip(x, 2 * x)):
        assert isinstance(z, af.Operation)
    one.clip(x, 3.0).sum().backward()
    np.testing.assert_array_equal(x.grad, [0.0, 1.0])
