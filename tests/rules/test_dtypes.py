"""dtypes: a value has NumPy's, whatever it is computed with; a gradient has that of its node.

The rows' own tests try every dtype on its own and a few together. Here every dtype meets every other kind of operand:
Python numbers, which take the dtype of the array (NEP 50), NumPy's numbers, which do not, integers, truth values.
"""

import contextlib
import itertools
import operator
import warnings
from functools import partial

import numpy as np
import pytest
from support import assert_close, central, rows, same_bits

import autoflow as af
from autoflow.base.errors import NoRuleError
from autoflow.table.table import RULES

FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
DTYPES = [*FLOATS, np.complex64, np.complex128, np.clongdouble]
OTHERS = {
    "int": 3, "bool": True, "float": 0.75, "complex": 0.5 + 0.25j, "np.float16": np.float16(0.75),
    "np.float32": np.float32(0.75), "np.float64": np.float64(0.75), "np.int8": np.int8(3), "np.int64": np.int64(3),
    "np.bool": np.bool_(True), "0-d": np.array(0.75), "0-d int": np.array(3), "integers": np.array([3, 1, 2]),
    "int8": np.array([3, 1, 2], np.int8), "uint64": np.array([3, 1, 2], np.uint64),
    "booleans": np.array([True, False, True]), **{np.dtype(d).name: np.array([0.75, 1.25, 0.5], d) for d in DTYPES},
}  # fmt: skip
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
FUNCTIONS = [np.add, np.multiply, np.divide, np.maximum, np.hypot, np.arctan2, np.logaddexp, np.float_power, np.dot,
             lambda x, y: np.where(True, x, y), lambda x, y: np.concatenate([np.atleast_1d(x), np.atleast_1d(y)]),
             lambda x, y: np.stack(np.broadcast_arrays(x, y)), np.inner, np.copysign]  # fmt: skip
UNARY = [np.exp, np.sqrt, np.tanh, np.sum, np.mean, np.std, np.cumsum, np.prod, np.linalg.norm, np.sort, np.square]
FORMULAS = [
    lambda x: 2 * x**2 + 1.5, lambda x: 1 / x - 3, lambda x: np.where(x > 1, x, 0.0), lambda x: np.maximum(x, 0) ** 3,
    lambda x: np.clip(x, 0.0, 1.25) * True, lambda x: x**0.5, lambda x: 2.0**x, lambda x: np.power(x, 2),
]  # fmt: skip
WIDE = {"f": np.longdouble, "c": np.clongdouble}


def tolerance(*arrays):
    """Some units in the last place of the coarsest."""
    return max([32 * float(np.finfo(x.dtype).eps) for x in arrays if x.dtype.kind in "fc"])


def numpys(f, *args):
    """NumPy's result, or its error."""
    try:
        return np.asarray(f(*args))
    except (TypeError, OverflowError) as error:
        return type(error)


def slope(f, args, k, seed):
    """The gradient with respect to argument k in the widest dtype, computed from the same numbers."""
    wide = []
    for i, x in enumerate(args):
        kind = np.asarray(x).dtype.kind
        wide.append(af.Variable(np.asarray(x).astype(WIDE[kind])) if i == k else x)
    z = f(*wide)
    z.backward(seed.astype(z.dtype))
    return wide[k].grad


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("f", [*OPERATORS, *FUNCTIONS])
def test_two_operands(f, dtype):
    x = np.array([0.5, 1.5, 1.25], dtype)
    for name, other in OTHERS.items():
        for swapped in (False, True):
            args = (other, x) if swapped else (x, other)
            expected = numpys(f, *args)
            node = af.Variable(x)
            nodes = (other, node) if swapped else (node, other)
            if isinstance(expected, type):
                with pytest.raises(expected):
                    f(*nodes)
                continue
            z = f(*nodes)
            what = f"{f.__name__} of {np.dtype(dtype).name} and {name}"
            assert same_bits(z.value, expected), f"{what}: {z.value!r}, not {expected!r}"
            if not getattr(z, "requires_grad", False):
                assert swapped or expected.dtype.kind not in "fc", f"{what}: no gradient"
                continue
            seed = np.ones_like(z.value)
            z.backward(seed)
            assert (node.grad.dtype, node.grad.shape) == (node.dtype, node.shape), f"{what}: {node.grad.dtype}"
            if (np.dtype(dtype).kind == "c" or expected.dtype.kind != "c") and np.isfinite(expected).all():
                assert_close(node.grad, slope(f, args, int(swapped), seed), tolerance(x, expected), what)


@pytest.mark.parametrize("one", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("f", [operator.add, operator.mul, operator.truediv, operator.matmul, np.dot, np.hypot])
def test_two_nodes_of_different_dtypes(f, one):
    """Each gradient has the dtype of its own node; of a complex gradient a real node gets the real part."""
    for other in DTYPES:
        x, y = np.array([0.5, 1.5], one), np.array([1.25, 0.75], other)
        expected = numpys(f, x, y)
        if isinstance(expected, type):
            continue
        nodes = af.Variable(x), af.Variable(y)
        z = f(*nodes)
        assert same_bits(z.value, expected)
        z.backward(np.ones_like(z.value))
        for node in nodes:
            assert (node.grad.dtype, node.grad.shape) == (node.dtype, node.shape)
        wide = [af.Variable(v.astype(WIDE[v.dtype.kind])) for v in (x, y)]
        f(*wide).backward(np.ones(z.shape, f(*wide).dtype))
        for node, right in zip(nodes, wide, strict=True):
            assert_close(node.grad, right.grad, tolerance(x, y), f"{one} {other}")


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
def test_low_precision_gradients_are_those_of_double_precision_rounded(f, dtype):
    x = np.array([0.5, 1.5, 1.25, 0.875], dtype)
    expected = numpys(f, x)
    if isinstance(expected, type):
        with pytest.raises(expected):
            f(af.Variable(x))
        return
    node = af.Variable(x)
    z = f(node)
    assert same_bits(z.value, expected)
    seed = np.cos(np.arange(z.size)).reshape(z.shape).astype(z.dtype)
    z.backward(seed)
    assert node.grad.dtype == dtype
    assert_close(node.grad, slope(f, (x,), 0, seed), tolerance(x), f.__name__)


def test_an_array_is_rounded_once_in_half_precision():
    """What we add up, gradients and sums over broadcast axes, is added up in single precision."""
    x, b = af.Variable(np.ones((3000, 1), np.float16)), af.Variable(np.float16(0.5))
    (x * b).backward(np.full((3000, 1), 1.0, np.float16))
    assert b.grad == 3000, "in half precision it stays at 2048: 2048 + 1 is 2048"
    assert b.grad.dtype == np.float16
    y = af.Variable(np.float16(1.0))
    np.stack([y] * 3000).backward(np.ones(3000, np.float16))
    assert y.grad == 3000


def test_long_sums_of_half_precision():
    """The sums in rows, backwards and forwards, along an axis that is not the last one, too."""
    ends = af.Variable(np.ones((2, 3), np.float16))
    for f in (np.linspace, np.geomspace):
        ends.zero_grad()
        f(ends[0], ends[1], 3001).backward(np.ones((3001, 3), np.float16))
        np.testing.assert_array_equal(ends.grad, np.float16(1500.5))
    equal = np.ones((3000, 2), np.float16)
    for f in (np.max, np.linalg.norm):
        options = {"axis": 0} if f is np.max else {"axis": 0, "ord": np.inf}
        x = af.Variable(equal)
        f(x, **options).backward(np.ones(2, np.float16))
        np.testing.assert_array_equal(x.grad, np.float16(1 / 3000))
        moved = af.jvp(lambda x: f(x, **options), (equal,), (equal,))[1]  # noqa: B023 - called at once
        assert moved.dtype == np.float16
        np.testing.assert_allclose(moved, 1, rtol=1e-2)
    np.testing.assert_array_equal(af.jvp(lambda x: np.prod(x, axis=0), (equal,), (equal,))[1], 3000)
    x = af.Variable(np.ones(3000, np.float16))
    np.cumprod(x).backward(np.ones(3000, np.float16))
    np.testing.assert_array_equal(x.grad, np.arange(3000, 0, -1).astype(np.float16))
    for x in (9.5, -9.5):
        np.testing.assert_allclose(*[float(af.grad(np.i0)(d(x))) for d in (np.float16, np.float64)], rtol=1e-2)


def test_gradients_beyond_half_precision_are_infinite():
    """As every number that is too large for its dtype; and the pass does not warn."""
    x = af.Variable(np.array([300.0, 1.0], np.float16))
    with np.errstate(all="ignore"):
        z = x * x * x
    assert z.value.tolist() == [np.inf, 1.0]
    with np.errstate(all="raise"):
        z.backward(np.ones(2, np.float16))
    assert x.grad.dtype == np.float16
    assert x.grad.tolist() == [np.inf, 3.0]


@pytest.mark.parametrize("recorded", [False, True])
def test_no_pass_warns_where_gradients_are_rounded_or_added_up(recorded):
    """In single precision they fit; in the half precision of the node they do not."""
    for factor, expected in ((1e6, np.inf), (1e-9, 0.0)):
        x = af.Variable(np.array([1.0, 2.0], np.float16))
        with np.errstate(all="ignore"):
            z = np.astype(x, np.float32) * np.float32(factor)
        with np.errstate(all="raise"):
            z.backward(np.ones(2, np.float32), create_graph=recorded)
            assert x.grad.tolist() == [expected, expected]
    x = af.Variable(np.array([1.0, 2.0], np.float16))
    with np.errstate(all="raise"):
        for _ in range(2):
            (x * 1).backward(np.full(2, 6e4, np.float16), create_graph=recorded)
        assert x.grad.tolist() == [np.inf, np.inf]


def test_python_numbers_never_widen():
    """Neither values nor gradients, on either side, at any order."""
    for dtype in FLOATS:
        x = af.Variable(np.array([0.5, 1.5], dtype))
        for f in FORMULAS:
            x.zero_grad()
            z = f(x)
            assert z.dtype == dtype
            z.backward(create_graph=True)
            first = x.grad
            assert first.dtype == dtype
            x.zero_grad()
            if first.requires_grad:
                first.backward()
                assert x.grad is None or x.grad.dtype == dtype


def test_a_variable_of_integers_is_one_of_floats_and_a_constant_keeps_them():
    assert {af.Variable(x).dtype for x in ([1, 2], [True, False], np.array([1, 2], np.int8))} == {np.dtype(float)}
    c, x = af.Constant(np.array([1, 2], np.int8)), af.Variable(np.array([0.5, 1.5], np.float32))
    z = c * x
    assert (c.dtype, z.dtype) == (np.int8, np.float32)
    z.backward(np.ones(2, np.float32))
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [1.0, 2.0]
    assert (c + c).dtype == np.int8
    assert (c / c).dtype == (c.value / c.value).dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("other", [np.float16, np.float32, np.float64, np.longdouble, np.complex128])
def test_the_dtype_of_a_sum_does_not_reach_the_gradient(dtype, other):
    x = af.Variable(np.array([0.5, 1.5], dtype))
    if np.dtype(dtype).kind == "c" and np.dtype(other).kind != "c":
        return  # NumPy warns, and drops imaginary parts
    for f in (np.sum, np.prod, np.cumsum, np.mean):
        x.zero_grad()
        z = f(x, dtype=other)
        assert z.dtype == np.dtype(other)
        z.backward(np.ones(z.shape, z.dtype))
        assert x.grad.dtype == dtype
        if f is np.sum:
            assert x.grad.tolist() == [1.0, 1.0]


def test_foreign_byte_order_becomes_native():
    x = af.Variable(np.array([1.0, 2.0], ">f4"))
    assert x.dtype == np.float32
    z = x * np.array([3.0, 4.0], ">f4")
    z.backward(np.ones(2, np.float32))
    assert x.grad.dtype == np.float32
    assert x.grad.tolist() == [3.0, 4.0]


DROPPING = {  # a real dtype for complex numbers: NumPy drops imaginary parts, with a warning; and a complex one
    **{f"{f.__name__} {options}": partial(f, dtype=dtype, **options) for functions, dtype, how in (
        ((np.sum, np.prod, np.mean, np.nansum, np.nanprod, np.nanmean), float, ({}, {"axis": 1})),
        ((np.cumsum, np.cumprod, np.nancumsum, np.nancumprod), float, ({"axis": None}, {"axis": 1})),
        ((np.var, np.std, np.nanvar, np.nanstd), complex, ({}, {"axis": 1, "ddof": 1})),
    ) for f in functions for options in (*how, *[{"axis": 0, "keepdims": True}] * ("cum" not in f.__name__))},
    "geomspace": lambda x: np.geomspace(x[0], x[1], 4, dtype=np.float64),
    "linspace": lambda x: np.linspace(x[0], x[1], 4, dtype=np.float64), "astype": lambda x: x.astype(np.float64) ** 2,
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x, dtype=np.float64, casting="unsafe"),
    "einsum of three": lambda x: np.einsum("ij,kj,j", x, x, x[0], dtype=np.float64, casting="unsafe"),
    "add": lambda x: np.add(x, 2.0, dtype=np.complex128) * x,
}  # fmt: skip


@pytest.mark.parametrize("name", DROPPING)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_real_dtype_of_complex_numbers(name):
    rng = np.random.default_rng(3)
    x, t = rng.normal(size=(2, 2, 3)) + 1.5 + 0.4j * rng.normal(size=(2, 2, 3))

    def loss(x):
        z = DROPPING[name](x)
        return np.real(np.sum(z * np.exp(1j * np.arange(z.size)).reshape(z.shape)))

    wanted = central(lambda xs: loss(*xs), [x], 0)
    np.testing.assert_allclose(af.grad(loss)(x), wanted, atol=1e-7)
    np.testing.assert_allclose(af.jvp(loss, (x,), (t,))[1], np.sum(np.real(np.conj(wanted) * t)), atol=1e-6)


NARROW = {
    np.uint8: [0, 1, 2, 5, 200, 255], np.int8: [0, 1, 2, 5, -1, -3, -128, 127], np.float32: [0.1, 0.7, 1.3, 2.9],
    bool: [False, True, True, False, True, False, True],
}  # fmt: skip
# The first two take integers alone; af.stats gives the others none that are booleans.
OTHER_PARTNERS = ["eval_hermite", "eval_hermitenorm", "log_powers", "times_powers", "log_stdtr"]
PIECES = ["airy", "ellipj", "ldexp", "pbdv", "pbvv", "pbwa"]  # with an option that is one integer
SEVERAL = [row for row in rows() if row.elementwise and len(row.names) > 1 and row.name not in PIECES]


@pytest.mark.parametrize("dtype", NARROW)
def test_a_derivative_computes_with_narrow_partners_as_with_wide_ones(dtype):
    """The numbers beside a float64 node may be small integers or single precision, which the function casts. y - 1 of
    an unsigned 0, np.log of an int8 and a difference of float32 are not what they are in double precision."""
    compared = 0
    for row in SEVERAL:
        count = max(row.operands, row.required)
        low, high = row.domain
        values = np.array(NARROW[dtype], dtype)
        partners = [np.tile(np.roll(values, i), 4) for i in range(count - 1)]
        x = low + (high - low) * np.linspace(0.1, 0.9, 4 * values.size)
        for k in [k for k in range(row.operands) if row.needs[k] is not None]:
            try:
                found = [values_and_slope(row.function, x, y, k) for y in (partners, map(np.float64, partners))]
            except (TypeError, ValueError, OverflowError, NoRuleError):
                assert row.name in OTHER_PARTNERS[: 5 if dtype is bool else 2], row
                continue
            (z, narrow), (wide_z, wide) = found
            same = np.isclose(z, wide_z, rtol=1e-12, atol=0) & np.isfinite(wide)
            if row.name.startswith("spherical"):
                same &= np.abs(wide) < 1e200
            compared += int(same.sum())
            np.testing.assert_allclose(narrow[same], wide[same], rtol=1e-9, atol=1e-300, err_msg=f"{row} by {k}")
    assert compared > 9 * len(SEVERAL)  # without SciPy there are fewer rows


def values_and_slope(function, x, partners, k):
    """The values, and the gradient of their sum, by x, which stands in the k-th place."""
    v = af.Variable(x)
    others = list(partners)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of degrees that are no integers
        z = function(*others[:k], v, *others[k:])
        np.sum(np.real(z)).backward()
    return np.asarray(z), v.grad


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float32])
def test_interpolation_between_narrow_points(dtype):
    xp, fp = np.array([1, 3, 100], dtype), np.array([127, 5, 90], dtype)
    x = np.array([1.5, 2.0, 50.0])
    narrow, wide = [values_and_slope(np.interp, x, y, 0) for y in ((xp, fp), map(np.float64, (xp, fp)))]
    np.testing.assert_array_equal(narrow, wide)
    np.testing.assert_allclose(narrow[1][:2], -61)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("f", [
    lambda x, t: np.prod(x, dtype=t), lambda x, t: np.nanprod(x, dtype=t), lambda x, t: np.cumprod(x, dtype=t)[-1],
    lambda x, t: np.nancumprod(x, dtype=t)[-1], lambda x, t: np.float_power(x, 3)[1],
])  # fmt: skip
def test_a_result_of_a_wider_dtype_has_a_derivative_of_its_range(f, dtype):
    """Products of x alone would be infinite in the dtype of x; the gradient of their logarithm is not."""
    numbers = np.full(3, np.finfo(dtype).max / 8, dtype)
    x = af.Variable(numbers)
    np.log(f(x, np.float64)).backward()
    found = (x.grad.astype(float) * numbers)[np.flatnonzero(x.grad)]
    np.testing.assert_allclose(found, 3 / found.size, rtol=1e-2)
    moved = af.jvp(lambda x: np.log(f(x, np.float64)), (numbers,), (numbers,))[1]
    np.testing.assert_allclose(moved, 3, rtol=1e-2)


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
def test_deviations_of_half_precision_are_not_rounded(f):
    """The mean of these numbers lies between two numbers of half precision."""
    x, wide = (af.Variable(np.array([1000, 1000.5, 1000.5, 1000.5], d)) for d in (np.float16, np.float64))
    f(x).backward()
    f(wide).backward()
    if f in (np.var, np.std):  # the others round the mean in NumPy's own value
        np.testing.assert_allclose(x.grad, wide.grad, rtol=0.2)
    np.testing.assert_array_equal(np.sign(x.grad), np.sign(wide.grad))


ROWS_WITH_DTYPE = [row for row in RULES.values() if {"dtype", "casting"} & {*row.names} and row.holomorphic]
PUBLIC = {  # of rows whose function is called by another one
    "linspace": np.linspace, "einsum": lambda z, **how: np.einsum("i->", z, **how),
    "reduceat": lambda z, **how: np.add.reduceat(z, [0], **how),
}  # fmt: skip
SHAPED = {"()": (), "(1,)": (1,), "(1, 1)": (1, 1)}


def drops(row, given):
    """The function of a row with a real ``dtype=``, of what ``given`` makes of a number, as one real number."""
    f, how = PUBLIC.get(row.name, row.function), {"casting": "unsafe"} if "casting" in row.names else {}
    return lambda z: np.sum(f(*given(z), dtype=float, **how))


def written(write):
    """A write of a complex number into real ones."""
    return lambda z: np.sum((x := af.array(np.zeros((2, 2))), write(x, z))[0])


WRITES = {
    "copyto": written(lambda x, z: np.copyto(x, z, casting="unsafe")),
    "view": written(lambda x, z: np.copyto(x.T, z, casting="unsafe")),
    "element": written(lambda x, z: np.copyto(x[0, 1:], z, casting="unsafe")),
}
FORMS = {"z": lambda x: [x], "z, 2z": lambda x: [x, 2 * x]}


def dropping_calls():
    """Every row with ``dtype=``, of arrays of few axes, one, two or a list of them; those that NumPy takes."""
    found = dict(WRITES)
    for row, (text, shape) in itertools.product(ROWS_WITH_DTYPE, SHAPED.items()):
        is_list = row.variadic and row.name not in PUBLIC
        for form, arrange in ({"[z, z]": lambda x: [[x, x]]} if is_list else FORMS).items():
            f = drops(row, lambda z, shape=shape, arrange=arrange: arrange(np.reshape(z, shape)))
            with warnings.catch_warnings(), contextlib.suppress(TypeError, ValueError, IndexError):
                warnings.simplefilter("ignore")
                f(0.3 + 0.2j)
                found[f"{row.name}({form}) of {text}"] = f
    return found


CALLS_WITH_DTYPE = dropping_calls()


def test_every_row_that_drops_imaginary_parts_is_among_the_calls():
    assert {row.name for row in ROWS_WITH_DTYPE} <= {name.partition("(")[0] for name in CALLS_WITH_DTYPE}


@pytest.mark.parametrize("name", CALLS_WITH_DTYPE)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_what_goes_back_through_a_dropped_imaginary_part_is_conjugated(name):
    """A real number that came back to a complex record was taken for one of its own: c g instead of conj(c) g."""
    z, c, f = 0.3 + 0.2j, 3 + 4j, CALLS_WITH_DTYPE[name]
    y = af.Variable(z)
    f(y * c).backward()

    def numbers(z):
        return float(af.Constant(f(af.Constant(z * c))).value)

    np.testing.assert_allclose(y.grad, central(lambda xs: numbers(*xs), [np.array(z)], 0), rtol=1e-5, atol=1e-7)
    w = af.Variable(z)
    f(w * c).backward(create_graph=True)
    np.testing.assert_allclose(af.Constant(w.grad).value, y.grad)
