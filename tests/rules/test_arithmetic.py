"""What elementwise functions do where calculus has no answer, or an infinite one: every line of our policy is a test.

Each is asked three times: of an array, of a number (which has its own way through backward), and in a pass that is
itself recorded. Backward must not warn, whatever NumPy is told about floating-point errors.
"""

from itertools import product

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import NoRuleError
from autoflow.table.table import COMPOSED

INF, NAN, PI = np.inf, np.nan, np.pi


def slopes(f, *xs, dtype=None):
    """df/dx at numbers, one per argument; the three ways there agree on it."""
    answers = []
    for shape, recorded in (((2,), False), ((), False), ((2,), True), ((), True)):
        leaves = [af.Variable(np.full(shape, x, dtype)) for x in xs]
        with np.errstate(all="ignore"):  # what forward says is NumPy's own affair
            z = f(*leaves)
        with np.errstate(all="raise"):
            af.backward(z, np.ones_like(z.value), create_graph=recorded)
        grads = [np.asarray(leaf.grad).ravel()[0] for leaf in leaves]
        answers.append([complex(g) if g.dtype.kind == "c" else float(g) for g in grads])
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])
    return answers[0]


def curvature(f, x):
    """d²f/dx²."""
    leaf = af.Variable([x])
    with np.errstate(all="ignore"):
        z = f(leaf)
    with np.errstate(all="raise"):
        af.backward(z, create_graph=True)
        first = leaf.grad
        leaf.zero_grad()
        if not first.requires_grad:  # a constant
            return 0.0
        af.backward(first)
    return float(leaf.grad[0])


def test_the_pass_itself_raises_nothing():
    """The ``errstate`` in :func:`slopes` would notice: forward does raise here."""
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        np.log(af.Variable([0.0]))


def safe_log(x):
    """``where`` twice, so that no logarithm of 0 is computed."""
    return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)


STEPS = [np.sign, np.floor, np.ceil, np.trunc, np.fix, np.rint, np.round, np.around, lambda x: np.round(x, 1),
         lambda x: x // 1]  # fmt: skip
CHOICES = [np.maximum, np.minimum, np.fmax, np.fmin]
POWERS = [np.power, np.float_power, lambda x, y: x**y]
AT_ZERO = [(0, 0), (1, 1), (2, 0), (3, 0), (0.0, 0), (1.0, 1), (2.5, 0), (0.5, INF), (-1, -INF)]  # of powers
FMOD = np.nextafter(3.5, 0.0), 0.7  # x / y rounds to 5, but 0.7 goes into x only 4 times


# a function, its arguments, and what it sends back to each of them
@pytest.mark.parametrize(("f", "xs", "right"), [
    # An absolute value has slope 0 at 0, and so has a sign that is copied from or to a 0. Steps are flat at jumps, too.
    *[(f, [x], [y]) for f in (abs, np.absolute, np.fabs) for x, y in ((0.0, 0), (-0.0, 0), (-2.0, -1), (3.0, 1))],
    (np.absolute, [0j], [0]), (np.copysign, [0.0, 1.0], [0, 0]), (np.copysign, [0.0, -1.0], [0, 0]),
    (np.copysign, [2.0, -0.0], [-1, 0]), (np.copysign, [-2.0, -3.0], [1, 0]),
    *[(f, [x], [0]) for f in STEPS for x in (-1.5, -1.0, 0.0, 0.3, 0.5, 2.0)],
    # heaviside takes its value at 0 from the second operand.
    (np.heaviside, [0.0, 0.5], [0, 1]), (np.heaviside, [1.0, 0.5], [0, 0]), (np.heaviside, [-1.0, 0.5], [0, 0]),
    # Remainders have the slope of their branch at a jump: x % y = x − ⌊x / y⌋ y, continued from the right; fmod cuts
    # towards zero.
    (np.remainder, [6.0, 3.0], [1, -2]), (np.remainder, [-1.0, 3.0], [1, 1]), (np.fmod, [6.0, 3.0], [1, -2]),
    (np.fmod, [-4.0, 3.0], [1, 1]), (np.fmod, FMOD, [1, -4]),
    # A tie is shared evenly.
    *[(f, xs, [0.5, 0.5]) for f in CHOICES for xs in ([2.0, 2.0], [0.0, -0.0], [INF, INF])],
    *[(lambda x, f=f: f(x, x), [2.0], [1]) for f in CHOICES],
    *[(lambda x, f=f: f(x, 0), [0.0], [0.5]) for f in CHOICES],
    (np.maximum, [2.0, 1.0], [1, 0]), (np.minimum, [2.0, 1.0], [0, 1]),
    (np.maximum, [1j, 1.0], [0, 1]),  # NumPy orders complex numbers by their real part first
    # NaN loses in fmax and fmin.
    *[(f, xs, right) for f in (np.fmax, np.fmin)
      for xs, right in (([NAN, 1.0], [0, 1]), ([1.0, NAN], [1, 0]), ([NAN, NAN], [1, 0]))],
    # clip: in the closed interval, beyond it, in one of a single point, and with low > high, where NumPy gives high.
    *[(np.clip, [x, 0.0, 1.0], [1, 0, 0]) for x in (0.0, 0.5, 1.0)], (np.clip, [-1.0, 0.0, 1.0], [0, 1, 0]),
    (np.clip, [2.0, 0.0, 1.0], [0, 0, 1]), (np.clip, [1.0, 1.0, 1.0], [1, 0, 0]), (np.clip, [0.0, 1.0, 1.0], [0, 1, 0]),
    *[(np.clip, [x, 2.0, 1.0], [0, 0, 1]) for x in (0.0, 1.0, 1.5)],
    # clip in every spelling; it lets nothing infinite through from outside.
    (lambda x: np.clip(x, 0, 1), [2.0], [0]), (lambda x: np.clip(x, None, 1), [-2.0], [1]),
    (lambda x: np.clip(x, 0, None), [2.0], [1]), (lambda x, y: np.clip(x, a_min=None, a_max=y), [2.0, 1.0], [0, 1]),
    (lambda x, y: np.clip(x, a_min=y, a_max=None), [0.0, 1.0], [0, 1]),
    (lambda x, y: np.clip(x, max=y), [2.0, 1.0], [0, 1]), (lambda x, y: np.clip(x, min=y), [0.0, 1.0], [0, 1]),
    (lambda x, low, high: np.clip(x, min=low, max=high), [0.0, 1.0, 2.0], [0, 1, 0]),
    (lambda low, high: np.clip(5.0, low, high), [0.0, 1.0], [0, 1]), (lambda x: np.sqrt(np.clip(x, 0, 1)), [-1.0], [0]),
    # where sends exact zeros to what was not chosen, though the root of 0 sends infinity.
    (lambda x: np.sqrt(np.where(x.value > 0, x, 0.0)), [-1.0], [0]),
    (lambda x, y: np.where([True, True] if x.shape else True, x, y), [1.0, 2.0], [1, 0]),
    # The chain rule has it so: log receives 0 and sends 0 · ∞.
    (lambda x: np.where(x > 0, np.log(x), 0.0), [0.0], [NAN]),
    (safe_log, [0.0], [0]), (safe_log, [-1.0], [0]), (safe_log, [2.0], [0.5]),
    # nan_to_num is flat where it put a number in.
    (np.nan_to_num, [2.0], [1]), *[(np.nan_to_num, [x], [0]) for x in (NAN, INF, -INF)],
    (lambda x: np.nan_to_num(x, nan=1.0, posinf=9.0), [INF], [0]),
    # Powers at 0, in their exponent too: x log x goes to 0, and 0⁰ = 1, but 0 to any small power is 0.
    *[(lambda x, n=n: x**n, [0.0], [right]) for n, right in AT_ZERO],
    *[(lambda x, n=n: np.power(x, n), [0.0], [right]) for n, right in AT_ZERO],
    *[(lambda x, n=n: x ** np.full(x.shape, n), [0.0], [right]) for n, right in AT_ZERO],
    *[(lambda x, n=n: np.float_power(x, n), [0.0], [right]) for n, right in AT_ZERO],
    *[(f, xs, right) for f in POWERS for xs, right in (
        ([0.0, 2.0], [0, 0]), ([0.0, 0.5], [INF, 0]), ([0.0, 0.0], [0, -INF]), ([-2.0, 2.0], [-4, NAN]),
    )],
    *[(lambda y, f=f, x=x: f(x, y), [y], [right]) for f in POWERS
      for x, y, right in ((2.0, 0.0, np.log(2.0)), (0.0, 2.0, 0), (INF, -1.0, 0))],
    # Roots are infinitely steep at the end of their domain; the length of a vector has slope 0 at 0.
    (np.sqrt, [0.0], [INF]), (np.cbrt, [0.0], [INF]), (np.arcsin, [1.0], [INF]), (np.arccos, [1.0], [-INF]),
    (np.arccosh, [1.0], [INF]), (np.arctanh, [1.0], [INF]), (np.hypot, [0.0, 0.0], [0, 0]),
    (np.arctan2, [0.0, 0.0], [0, 0]), (np.hypot, [3.0, 4.0], [0.6, 0.8]),
    # The shares in logaddexp are limits.
    *[(f, xs, right) for f in (np.logaddexp, np.logaddexp2) for xs, right in (
        ([INF, INF], [0.5, 0.5]), ([-INF, -INF], [0.5, 0.5]), ([INF, 1.0], [1, 0]), ([1.0, -INF], [1, 0]),
        ([-INF, INF], [0, 1]), ([-INF, 1.0], [0, 1]), ([1e300, 1e300], [0.5, 0.5]), ([2000.0, -2000.0], [1, 0]),
    )],
    (np.sinc, [0.0], [0]), (np.i0, [0.0], [0]),
    # Parts of real numbers.
    (np.real, [2.0], [1]), (np.imag, [2.0], [0]), (np.angle, [-2.0], [0]), (np.conjugate, [2.0], [1]),
])  # fmt: skip
def test_slopes(f, xs, right):
    np.testing.assert_array_equal(slopes(f, *xs), right)


@pytest.mark.parametrize(("f", "xs", "right"), [
    (np.absolute, [3 + 4j], [0.6 + 0.8j]), (np.arctan2, [1e-200, 1e-200], [5e199, -5e199]),  # squares would be 0
    (np.arctan2, [1e200, 1e200], [5e-201, -5e-201]), (np.sinc, [1e-9], [-(PI**2) / 3 * 1e-9]),
    *[(f, [3.0, 3.0], [0.5, 0.5]) for f in (np.logaddexp, np.logaddexp2)],
    (np.i0, [1e-9], [0.5e-9]), (np.i0, [1.0], [0.5651591039924850]), (np.i0, [100.0], [1.068369390338162e42]),  # DLMF
    # of real functions of a complex number: dL/da + i dL/db
    (np.real, [1 + 2j], [1]), (np.imag, [1 + 2j], [1j]), (np.angle, [1j], [-1]), (np.angle, [0j], [0]),
    (lambda x: np.angle(x, deg=True), [2 + 0j], [1j * 90 / PI]), (lambda x: np.absolute(x) ** 2, [3 + 4j], [6 + 8j]),
    (lambda x: np.real(x * np.conjugate(x)), [3 + 4j], [6 + 8j]),
    (lambda x: np.real(x * x), [3 + 4j], [6 - 8j]),  # conj(2x)
    (lambda x: np.imag(np.exp(x)), [0j], [1j]), (lambda x: np.real(np.sign(x)), [2j], [0.5]),
    (lambda x: np.imag(np.sign(x)), [2j], [0]), (lambda x: np.real(np.sign(x)), [0j], [0]),
])  # fmt: skip
def test_slopes_up_to_rounding(f, xs, right):
    np.testing.assert_allclose(slopes(f, *xs), right, rtol=1e-14)


def test_the_series_of_sinc_ends_where_it_meets_the_quotient():
    below, above = [slopes(np.sinc, 0.5 / PI * (1 + side)) for side in (-1e-15, 1e-15)]
    np.testing.assert_allclose(below, above, rtol=1e-13)


@pytest.mark.parametrize(("f", "x", "right"), [
    *[(f, 0.0, 0) for f in (abs, np.absolute, np.fabs)], (lambda x: x * np.maximum(x, 0), 3.0, 2),
    *[(lambda v, f=f: v * f(v), x, 0) for f in STEPS for x in (-1.5, -1.0, 0.0, 0.3, 0.5, 2.0)],
    (safe_log, 2.0, -0.25), (safe_log, 0.0, 0),
    *[(lambda x, n=n: x**n, 0.0, right) for n, right in ((0, 0), (1, 0), (2, 2), (3, 0), (4, 0))],
    (lambda x: np.hypot(x, 0.0), 0.0, 0), (lambda x: np.arctan2(x, 0.0), 0.0, 0),
    # s (1 − s), where s is the share of x; nothing overflows
    *[(lambda v: np.logaddexp(v, 0.0), x, y) for x, y in ((0.0, 0.25), (1e3, 0), (-1e3, 0), (INF, 0), (-INF, 0))],
    (lambda x: np.logaddexp(x, 1e17), 1e17, 0.25), (lambda v: np.logaddexp(v, INF), 0.0, 0),
    (np.sinc, 0.0, -(PI**2) / 3), (np.i0, 0.0, 0.5),
])  # fmt: skip
def test_curvatures(f, x, right):
    np.testing.assert_allclose(curvature(f, x), right, rtol=1e-14)


@pytest.mark.parametrize(("call", "named"), [
    (lambda x: np.clip(x, 0, 1, min=0), "twice"), (lambda x: np.nan_to_num(x, copy=False), "copy=False"),
])  # fmt: skip
def test_what_is_refused(call, named):
    with pytest.raises(NoRuleError, match=named):
        call(af.Variable(1.0))


@pytest.mark.parametrize("f", [divmod, COMPOSED[np.divmod]])
def test_divmod_is_numpys_to_the_bit(f):
    rng = np.random.default_rng(0)
    a = np.append(rng.normal(0, 3, 200), [0.0, -0.0, INF, 1.0, -1.0, NAN])
    b = np.append(rng.normal(0, 1, 200), [2.0, 2.0, 2.0, 0.0, INF, 1.0])
    x, y = af.Variable(a), af.Variable(b)
    with np.errstate(all="ignore"):
        for ours, theirs in zip(f(x, y), np.divmod(a, b), strict=True):
            np.testing.assert_array_equal(ours.value.view(np.int64), theirs.view(np.int64))


def test_a_power_of_infinity_is_flat_where_it_is_1():
    for f in POWERS:
        assert slopes(f, INF, 0.0)[0] == 0


def test_a_constant_exponent_is_not_differentiated():
    """So nothing is said about log of a negative number, not even to somebody who asked for it."""
    x = af.Variable([-2.0, 0.0])
    with np.errstate(all="raise"):
        z = x**2 + x**3.0 + x ** np.array([2.0, 1.0])
        af.backward(z)
    np.testing.assert_array_equal(x.grad, [4.0, 1.0])


def test_mixed_second_derivative_of_power():
    """∂²(xʸ)/∂x∂y = xʸ⁻¹ (1 + y log x), from either side, also where the exponent is 0."""
    for a, b in ((2.0, 0.0), (2.0, 3.0), (0.5, -1.0)):
        x, y = af.Variable([a]), af.Variable([b])
        af.backward(x**y, create_graph=True)
        along_x, along_y = x.grad, y.grad
        right = a ** (b - 1) * (1 + b * np.log(a))
        for first, leaf in ((along_x, y), (along_y, x)):
            x.zero_grad(), y.zero_grad()
            af.backward(first)
            np.testing.assert_allclose(leaf.grad, [right], rtol=1e-12)


LENGTHS = [np.absolute, np.angle, np.std, lambda x: np.linalg.norm(x, axis=0),
           *[lambda x, p=p: np.linalg.norm(x, p) for p in (None, 1, 2, 3, 0.5, INF, -INF)]]  # fmt: skip
OF_REAL = [np.hypot.reduce, lambda x: np.hypot(x, 0.0), lambda x: np.arctan2(0.0, x), lambda x: np.arctan2(x, 0.0)]


@pytest.mark.parametrize(("f", "dtype"), [*product(LENGTHS, (float, complex)), *product(OF_REAL, (float,))])
def test_an_infinite_gradient_does_not_pass_a_length_of_zero(f, dtype):
    x = af.Variable(np.zeros(2, dtype))
    z = f(x)
    z.backward(np.full(z.shape, INF))
    np.testing.assert_array_equal(x.grad, [0, 0])


@pytest.mark.parametrize("p", [None, 1, 2, 3, INF])
def test_an_infinite_gradient_does_not_pass_what_is_zero_in_a_norm(p):
    x = af.Variable([0.0, 3.0])
    np.linalg.norm(x, p).backward(INF)
    np.testing.assert_array_equal(x.grad, [0, INF])


LARGE = [([1e16, 1e16 + 2], float), ([1e6, 1e6 + 0.25], np.float32), ([200.0, 200.5], np.float16)]


@pytest.mark.parametrize("f", [lambda v: np.logaddexp(v[0], v[1]), np.logaddexp.reduce])
@pytest.mark.parametrize(("x", "dtype"), LARGE)
def test_shares_of_large_numbers_add_up(f, x, dtype):
    """Though the logarithm of their sum is rounded."""
    x = np.array(x, dtype)
    e = np.exp(x - x[1], dtype=float)
    np.testing.assert_allclose(af.grad(f)(x), e / e.sum(), rtol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("dtype", "n"), [(np.float16, 2050), (np.float32, 2**25), (float, 2**60)])
def test_an_even_exponent_whose_lower_neighbour_has_no_number(dtype, n):
    """(−1)ⁿ⁻¹ is −1, though n − 1 is rounded to an even number."""
    x = np.array([-1.0, 1.0], dtype)
    for y in (n, float(n), dtype(n), np.full(2, n, dtype)):
        np.testing.assert_array_equal(af.grad(lambda x, y=y: np.sum(x**y))(x), np.array([-n, n], dtype))


@pytest.mark.thorough
@pytest.mark.parametrize("f", [
    np.absolute, np.square, np.reciprocal, np.sqrt, np.cbrt, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10,
    np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh,
    np.arctanh, np.sign, np.floor, np.round, np.sinc, np.i0, np.degrees, np.radians, np.nan_to_num,
    lambda x: x**3, lambda x: x**2, lambda x: x**0.5, lambda x: 2.0**x, lambda x: 1 / x, lambda x: x / 3,
    lambda x: x % 0.3, lambda x: 3 % x, lambda x: np.fmod(x, 0.3), lambda x: np.fmod(3, x), lambda x: x // 3,
    lambda x: np.maximum(x, 0), lambda x: np.minimum(0.0, x), lambda x: np.fmax(x, 0.5), lambda x: np.clip(x, 0, 1.0),
    lambda x: np.clip(x, x, x + 1), lambda x: np.where(x > 0, x, 0.0), lambda x: np.hypot(x, 1.0),
    lambda x: np.arctan2(1.0, x), lambda x: np.arctan2(x, 1.0), lambda x: np.logaddexp(x, 0.0),
    lambda x: np.logaddexp2(0, x), lambda x: np.copysign(x, -1), lambda x: np.heaviside(x, x),
])  # fmt: skip
def test_derivatives_are_computed_in_the_precision_of_the_operand(f):
    """Not only stored in it: what the row sends has the dtype already, so no float64 array is made on the way."""
    for shape, dtype in (((), np.float16), ((2,), np.float16), ((), np.float32), ((2,), np.float32)):
        x = af.Variable(np.full(shape, 0.7), dtype=dtype)
        z = f(x)
        assert z.dtype == dtype
        record = z.grad_fn
        for vjp, parent in zip(record.rule.vjps, record.parents, strict=True):
            if parent is not None:
                assert vjp(np.ones(shape, dtype)[()], record.saved).dtype == dtype
        af.backward(z, create_graph=True)
        assert x.grad.dtype == dtype


@pytest.mark.parametrize("x", [2.0 + 0j, -3.0 + 0j, 2.0 - 0.5j, 0.3 + 0j])
@pytest.mark.parametrize("f", [np.arcsin, np.arccos])
def test_inverse_sines_on_their_branch_cuts(f, x):
    """Along the cut, where they are continuous."""
    h, grad = 1e-6, af.grad(lambda x: np.real(f(x) * (1 - 2j)))(x)
    np.testing.assert_allclose(np.real(grad), np.real((f(x + h) - f(x - h)) / (2 * h) * (1 - 2j)), rtol=1e-6)


@pytest.mark.parametrize("f", [np.max, np.min, np.ptp, np.median, np.sort, np.mean, np.std, np.linalg.norm,
                               lambda x: np.quantile(x, 0.3), lambda x: np.partition(x, 1), np.logaddexp.reduce,
                               np.unique, np.maximum.reduce, np.maximum.accumulate])  # fmt: skip
def test_of_equal_entries_nothing_is_lost(f):
    """What arrives at the entries together is what moving all of them at once does."""
    x, h = np.array([2.0, 2.0, 1.0, 2.0, 1.0]), 1e-6
    v = af.Variable(x)
    z = f(v)
    weights = np.arange(1.0, np.size(z.value) + 1).reshape(np.shape(z.value))
    af.backward(z, weights)
    np.testing.assert_allclose(v.grad.sum(), np.sum(weights * (f(x + h) - f(x - h))) / (2 * h), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("f", "seed", "right"), [
    (np.ptp, 1.0, [0.5, 0.5, -1.0]),  # those that are the maximum share evenly
    (np.sort, [1.0, 10.0, 100.0], [10.0, 100.0, 1.0]), (np.median, 1.0, [1.0, 0.0, 0.0]),  # as in a stable sort
])  # fmt: skip
def test_what_each_of_equal_entries_gets(f, seed, right):
    x = af.Variable([2.0, 2.0, 1.0])
    af.backward(f(x), seed)
    np.testing.assert_array_equal(x.grad, right)


CHOOSING = {
    "clip": lambda x, y: np.clip(x, y, None), "where": lambda x, y: np.where(x > y, x, y),
    "max": lambda x, y: np.max(np.stack([x, y]), axis=0), "maximum": np.maximum, "fmax": np.fmax,
    "minimum": lambda x, y: -np.minimum(-x, -y), "fmin": lambda x, y: -np.fmin(-x, -y),
    "median": lambda x, y: np.median(np.stack([x, y, np.full_like(y, np.inf)]), axis=0),
    "quantile": lambda x, y: np.quantile(np.stack([x, y]), 1.0, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 3, 300_000])
@pytest.mark.parametrize("name", CHOOSING)
def test_what_is_not_chosen_has_gradient_zero_whatever_comes_in(name, n):
    """In the root of a choice the gradient is infinite where 0 is chosen: the x that lost has no part in that."""
    for create_graph in (False, True):
        x, y = af.Variable(np.resize([-1.0, 4.0, -2.0], n)), af.Variable(np.zeros(n))
        np.sum(np.sqrt(CHOOSING[name](x, y))).backward(create_graph=create_graph)
        np.testing.assert_array_equal(np.asarray(x.grad), np.resize([0.0, 0.25, 0.0], n))
        np.testing.assert_array_equal(np.asarray(y.grad), np.resize([np.inf, 0.0, np.inf], n))
    _, tangent = af.jvp(lambda x: np.sqrt(CHOOSING[name](x, np.zeros(n))), x.value, np.ones(n))
    np.testing.assert_array_equal(tangent, np.asarray(x.grad))


@pytest.mark.parametrize("f", [np.abs, np.fabs, lambda x: np.copysign(x, 2.0), np.std])
def test_a_length_of_zero_has_no_direction_whatever_comes_in(f):
    assert af.grad(lambda x: np.sum(np.sqrt(f(x))))(np.zeros(1)).tolist() == [0.0]


def test_the_value_of_a_step_that_is_not_taken_has_gradient_zero():
    y = af.Variable([0.0, 0.0])
    np.sum(np.sqrt(np.heaviside([-1.0, 0.0], y))).backward()
    np.testing.assert_array_equal(y.grad, [0.0, np.inf])


@pytest.mark.filterwarnings("ignore")
def test_what_foreign_code_leaves_out_is_right_under_safe_masking():
    """In corrcoef a division by the deviation of a constant row, in ttest_ind a variance of one number."""
    pytest.importorskip("scipy", reason="SciPy is not installed")
    from autoflow.scipy import stats

    rows = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0], [3.0, 1.0, 5.0]])
    without = np.vstack([np.zeros(3), af.grad(lambda x: np.corrcoef(x)[0, 1])(rows[1:])])
    for f, x, right in (
        (lambda x: np.corrcoef(x)[1, 2], rows, without),
        (lambda x: stats.ttest_ind(x, [2.0, 3.0, 4.0]).statistic, np.array([1.0]), np.sqrt([0.75])),
    ):
        assert np.isnan(af.grad(f)(x)).all()
        with af.safe_masking():
            np.testing.assert_allclose(af.grad(f)(x), right, rtol=1e-12)
