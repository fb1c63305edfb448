"""What elementwise functions do where calculus has no answer, or an infinite one: every line of our policy is a test.

Each is asked three times: of an array, of a number (which has its own way through backward), and in a pass that is
itself recorded. Backward must not warn, whatever NumPy is told about floating-point errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import NoRuleError
from autoflow.table.table import COMPOSED

Array = Any
INF, NAN = np.inf, np.nan


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    """Every warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def slopes(f: Callable[..., Any], *xs: Any, dtype: Any = None) -> list[Any]:
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


def curvature(f: Callable[[Any], Any], x: float) -> float:
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


def test_the_pass_itself_raises_nothing() -> None:
    """The fixture and ``errstate`` in :func:`slopes` would notice: forward does raise here."""
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        np.log(af.Variable([0.0]))


# -- sign, steps, rounding -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [abs, np.absolute, np.fabs])
def test_absolute_value_at_zero_has_slope_zero(f: Any) -> None:
    assert slopes(f, 0.0) == [0]
    assert slopes(f, -0.0) == [0]
    assert slopes(f, -2.0) == [-1]
    assert slopes(f, 3.0) == [1]
    assert curvature(f, 0.0) == 0


def test_absolute_value_of_complex_zero_has_slope_zero() -> None:
    assert slopes(np.absolute, 0j) == [0]
    np.testing.assert_allclose(slopes(np.absolute, 3 + 4j), [0.6 + 0.8j])


@pytest.mark.parametrize("f", [np.sign, np.floor, np.ceil, np.trunc, np.fix, np.rint, np.round, np.around,
                               lambda x: np.round(x, 1), lambda x: x // 1])  # fmt: skip
@pytest.mark.parametrize("x", [-1.5, -1.0, 0.0, 0.3, 0.5, 2.0])
def test_steps_are_flat_also_at_their_jumps(f: Any, x: float) -> None:
    assert slopes(f, x) == [0]
    assert curvature(lambda v: v * f(v), x) == 0


def test_heaviside_takes_its_value_at_zero_from_the_second_operand() -> None:
    assert slopes(np.heaviside, 0.0, 0.5) == [0, 1]
    assert slopes(np.heaviside, 1.0, 0.5) == [0, 0] == slopes(np.heaviside, -1.0, 0.5)


def test_copysign_at_zero_has_slope_zero_as_the_absolute_value() -> None:
    assert slopes(np.copysign, 0.0, 1.0) == [0, 0] == slopes(np.copysign, 0.0, -1.0)
    assert slopes(np.copysign, 2.0, -0.0) == [-1, 0]
    assert slopes(np.copysign, -2.0, -3.0) == [1, 0]


def test_remainders_have_the_slope_of_their_branch_at_a_jump() -> None:
    """x % y = x − ⌊x / y⌋ y, continued from the right; fmod cuts towards zero."""
    assert slopes(np.remainder, 6.0, 3.0) == [1, -2]
    assert slopes(np.remainder, -1.0, 3.0) == [1, 1]
    assert slopes(np.fmod, 6.0, 3.0) == [1, -2]
    assert slopes(np.fmod, -4.0, 3.0) == [1, 1]
    x, y = np.nextafter(3.5, 0.0), 0.7  # x / y rounds to 5, but 0.7 goes into x only 4 times
    assert np.trunc(x / y) == 5
    assert slopes(np.fmod, x, y) == [1, -4]


@pytest.mark.parametrize("f", [divmod, COMPOSED[np.divmod]])
def test_divmod_is_numpys_to_the_bit(f: Any) -> None:
    rng = np.random.default_rng(0)
    a = np.append(rng.normal(0, 3, 200), [0.0, -0.0, INF, 1.0, -1.0, NAN])
    b = np.append(rng.normal(0, 1, 200), [2.0, 2.0, 2.0, 0.0, INF, 1.0])
    x, y = af.Variable(a), af.Variable(b)
    with np.errstate(all="ignore"):
        for ours, theirs in zip(f(x, y), np.divmod(a, b), strict=True):
            np.testing.assert_array_equal(ours.value.view(np.int64), theirs.view(np.int64))


# -- maximum, minimum, clip, where -----------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_a_tie_is_shared_evenly(f: Any) -> None:
    assert slopes(f, 2.0, 2.0) == [0.5, 0.5]
    assert slopes(f, 0.0, -0.0) == [0.5, 0.5]
    assert slopes(f, INF, INF) == [0.5, 0.5]
    assert slopes(lambda x: f(x, x), 2.0) == [1]
    assert slopes(lambda x: f(x, 0), 0.0) == [0.5]


def test_maximum_and_minimum_choose() -> None:
    assert slopes(np.maximum, 2.0, 1.0) == [1, 0]
    assert slopes(np.minimum, 2.0, 1.0) == [0, 1]
    assert slopes(np.maximum, 1j, 1.0) == [0, 1]  # NumPy orders complex numbers by their real part first
    assert curvature(lambda x: x * np.maximum(x, 0), 3.0) == 2


@pytest.mark.parametrize("f", [np.fmax, np.fmin])
def test_nan_loses_in_fmax_and_fmin(f: Any) -> None:
    assert slopes(f, NAN, 1.0) == [0, 1]
    assert slopes(f, 1.0, NAN) == [1, 0]
    assert slopes(f, NAN, NAN) == [1, 0]


@pytest.mark.parametrize(("x", "low", "high", "right"), [
    (0.5, 0.0, 1.0, [1, 0, 0]), (0.0, 0.0, 1.0, [1, 0, 0]), (1.0, 0.0, 1.0, [1, 0, 0]),  # the closed interval
    (-1.0, 0.0, 1.0, [0, 1, 0]), (2.0, 0.0, 1.0, [0, 0, 1]),
    (1.0, 1.0, 1.0, [1, 0, 0]), (0.0, 1.0, 1.0, [0, 1, 0]),
    (0.0, 2.0, 1.0, [0, 0, 1]), (1.5, 2.0, 1.0, [0, 0, 1]), (1.0, 2.0, 1.0, [0, 0, 1]),  # low > high: NumPy gives high
])  # fmt: skip
def test_clip_at_and_beyond_its_bounds(x: float, low: float, high: float, right: list[float]) -> None:
    assert slopes(np.clip, x, low, high) == right


def test_clip_in_every_spelling() -> None:
    assert slopes(lambda x: np.clip(x, 0, 1), 2.0) == [0]
    assert slopes(lambda x: np.clip(x, None, 1), -2.0) == [1]
    assert slopes(lambda x: np.clip(x, 0, None), 2.0) == [1]
    assert slopes(lambda x, y: np.clip(x, a_min=None, a_max=y), 2.0, 1.0) == [0, 1]
    assert slopes(lambda x, y: np.clip(x, a_min=y, a_max=None), 0.0, 1.0) == [0, 1]
    assert slopes(lambda x, y: np.clip(x, max=y), 2.0, 1.0) == [0, 1]
    assert slopes(lambda x, y: np.clip(x, min=y), 0.0, 1.0) == [0, 1]
    assert slopes(lambda x, low, high: np.clip(x, min=low, max=high), 0.0, 1.0, 2.0) == [0, 1, 0]
    assert slopes(lambda low, high: np.clip(5.0, low, high), 0.0, 1.0) == [0, 1]
    with pytest.raises(NoRuleError, match="twice"):
        np.clip(af.Variable(1.0), 0, 1, min=0)


def test_clip_lets_nothing_infinite_through_from_outside() -> None:
    assert slopes(lambda x: np.sqrt(np.clip(x, 0, 1)), -1.0) == [0]


def test_where_sends_exact_zeros_to_what_was_not_chosen() -> None:
    def f(x: Any) -> Any:
        return np.sqrt(np.where(x.value > 0, x, 0.0))  # the root of 0 sends infinity

    assert slopes(f, -1.0) == [0]
    assert slopes(lambda x, y: np.where([True, True] if x.shape else True, x, y), 1.0, 2.0) == [1, 0]


def test_where_around_a_logarithm_is_nan_at_zero_and_twice_where_is_not() -> None:
    """The chain rule has it so: log receives 0 and sends 0 · ∞."""
    assert np.isnan(slopes(lambda x: np.where(x > 0, np.log(x), 0.0), 0.0)).all()

    def twice(x: Any) -> Any:
        return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)

    assert slopes(twice, 0.0) == [0] == slopes(twice, -1.0)
    assert slopes(twice, 2.0) == [0.5]
    assert curvature(twice, 2.0) == -0.25
    assert curvature(twice, 0.0) == 0


def test_nan_to_num_is_flat_where_it_put_a_number_in() -> None:
    assert slopes(np.nan_to_num, 2.0) == [1]
    assert [slopes(np.nan_to_num, x) for x in (NAN, INF, -INF)] == [[0], [0], [0]]
    assert slopes(lambda x: np.nan_to_num(x, nan=1.0, posinf=9.0), INF) == [0]
    with pytest.raises(NoRuleError, match="copy=False"):
        np.nan_to_num(af.Variable(1.0), copy=False)


# -- powers and roots ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "right"), [(0, 0), (1, 1), (2, 0), (3, 0), (0.0, 0), (1.0, 1), (2.5, 0), (0.5, INF), (-1, -INF)]
)
def test_power_at_zero(n: float, right: float) -> None:
    assert slopes(lambda x: x**n, 0.0) == [right]
    assert slopes(lambda x: np.power(x, n), 0.0) == [right]
    assert slopes(lambda x: x ** np.full(x.shape, n), 0.0) == [right]
    assert slopes(lambda x: np.float_power(x, n), 0.0) == [right]


@pytest.mark.parametrize(("n", "right"), [(0, 0), (1, 0), (2, 2), (3, 0), (4, 0)])
def test_curvature_of_a_power_at_zero(n: int, right: float) -> None:
    assert curvature(lambda x: x**n, 0.0) == right


@pytest.mark.parametrize("f", [np.power, np.float_power, lambda x, y: x**y])
def test_power_in_its_exponent(f: Any) -> None:
    assert slopes(f, 0.0, 2.0) == [0, 0]  # x log x goes to 0
    assert slopes(f, 0.0, 0.5) == [INF, 0]
    assert slopes(f, 0.0, 0.0) == [0, -INF]  # 0⁰ = 1, but 0 to any small power is 0
    slope = slopes(f, -2.0, 2.0)
    assert slope[0] == -4
    assert np.isnan(slope[1])
    assert slopes(lambda y: f(2.0, y), 0.0) == [np.log(2.0)]
    assert slopes(lambda y: f(0.0, y), 2.0) == [0]
    assert slopes(f, INF, 0.0)[0] == 0
    assert slopes(lambda y: f(INF, y), -1.0) == [0]


def test_a_constant_exponent_is_not_differentiated() -> None:
    """So nothing is said about log of a negative number, not even to somebody who asked for it."""
    x = af.Variable([-2.0, 0.0])
    with np.errstate(all="raise"):
        z = x**2 + x**3.0 + x ** np.array([2.0, 1.0])
        af.backward(z)
    np.testing.assert_array_equal(x.grad, [4.0, 1.0])


def test_mixed_second_derivative_of_power() -> None:
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


def test_roots_at_zero_are_infinitely_steep() -> None:
    assert slopes(np.sqrt, 0.0) == [INF] == slopes(np.cbrt, 0.0)
    assert slopes(np.arcsin, 1.0) == [INF]
    assert slopes(np.arccos, 1.0) == [-INF]
    assert slopes(np.arccosh, 1.0) == [INF] == slopes(np.arctanh, 1.0)


LENGTHS = [np.absolute, np.angle, np.std, lambda x: np.linalg.norm(x, axis=0),
           *[lambda x, p=p: np.linalg.norm(x, p) for p in (None, 1, 2, 3, 0.5, INF, -INF)]]  # fmt: skip
OF_REAL = [np.hypot.reduce, lambda x: np.hypot(x, 0.0), lambda x: np.arctan2(0.0, x), lambda x: np.arctan2(x, 0.0)]


@pytest.mark.parametrize(
    ("f", "dtype"), [(f, dtype) for dtype in (float, complex) for f in LENGTHS + OF_REAL * (dtype is float)]
)
def test_an_infinite_gradient_does_not_pass_a_length_of_zero(f: Any, dtype: Any) -> None:
    x = af.Variable(np.zeros(2, dtype))
    z = f(x)
    z.backward(np.full(z.shape, INF))
    np.testing.assert_array_equal(x.grad, [0, 0])


@pytest.mark.parametrize("p", [None, 1, 2, 3, INF])
def test_an_infinite_gradient_does_not_pass_what_is_zero_in_a_norm(p: Any) -> None:
    x = af.Variable([0.0, 3.0])
    np.linalg.norm(x, p).backward(INF)
    np.testing.assert_array_equal(x.grad, [0, INF])


def test_hypot_and_arctan2_at_the_origin_have_slope_zero() -> None:
    assert slopes(np.hypot, 0.0, 0.0) == [0, 0] == slopes(np.arctan2, 0.0, 0.0)
    assert curvature(lambda x: np.hypot(x, 0.0), 0.0) == 0 == curvature(lambda x: np.arctan2(x, 0.0), 0.0)
    assert slopes(np.hypot, 3.0, 4.0) == [0.6, 0.8]
    np.testing.assert_allclose(slopes(np.arctan2, 1e-200, 1e-200), [5e199, -5e199])  # squares would be 0
    np.testing.assert_allclose(slopes(np.arctan2, 1e200, 1e200), [5e-201, -5e-201])


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_logaddexp_at_infinities(f: Any) -> None:
    assert slopes(f, INF, INF) == [0.5, 0.5] == slopes(f, -INF, -INF)
    assert slopes(f, INF, 1.0) == [1, 0] == slopes(f, 1.0, -INF)
    assert slopes(f, -INF, INF) == [0, 1] == slopes(f, -INF, 1.0)
    assert slopes(f, 1e300, 1e300) == [0.5, 0.5]
    assert slopes(f, 2000.0, -2000.0) == [1, 0]
    np.testing.assert_allclose(slopes(f, 3.0, 3.0), [0.5, 0.5], rtol=1e-15)


LARGE = [([1e16, 1e16 + 2], float), ([1e6, 1e6 + 0.25], np.float32), ([200.0, 200.5], np.float16)]


@pytest.mark.parametrize("f", [lambda v: np.logaddexp(v[0], v[1]), np.logaddexp.reduce])
@pytest.mark.parametrize(("x", "dtype"), LARGE)
def test_shares_of_large_numbers_add_up(f: Any, x: Any, dtype: Any) -> None:
    """Though the logarithm of their sum is rounded."""
    x = np.array(x, dtype)
    e = np.exp(x - x[1], dtype=float)
    np.testing.assert_allclose(af.grad(f)(x), e / e.sum(), rtol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("dtype", "n"), [(np.float16, 2050), (np.float32, 2**25), (float, 2**60)])
def test_an_even_exponent_whose_lower_neighbour_has_no_number(dtype: Any, n: int) -> None:
    """(−1)ⁿ⁻¹ is −1, though n − 1 is rounded to an even number."""
    x = np.array([-1.0, 1.0], dtype)
    for y in (n, float(n), dtype(n), np.full(2, n, dtype)):
        np.testing.assert_array_equal(af.grad(lambda x, y=y: np.sum(x**y))(x), np.array([-n, n], dtype))


def test_curvature_of_logaddexp() -> None:
    """s (1 − s), where s is the share of x; nothing overflows."""
    np.testing.assert_allclose(curvature(lambda x: np.logaddexp(x, 0.0), 0.0), 0.25, rtol=1e-14)
    for x in (1000.0, -1000.0, INF, -INF):
        assert curvature(lambda v: np.logaddexp(v, 0.0), x) == 0
    assert curvature(lambda x: np.logaddexp(x, 1e17), 1e17) == 0.25
    assert curvature(lambda v: np.logaddexp(v, INF), 0.0) == 0


def test_sinc_near_and_at_zero() -> None:
    assert slopes(np.sinc, 0.0) == [0]
    np.testing.assert_allclose(curvature(np.sinc, 0.0), -(np.pi**2) / 3, rtol=1e-14)
    np.testing.assert_allclose(slopes(np.sinc, 1e-9), [-(np.pi**2) / 3 * 1e-9], rtol=1e-14)
    edge = 0.5 / np.pi  # where the series ends
    below, above = slopes(np.sinc, edge * (1 - 1e-15)), slopes(np.sinc, edge * (1 + 1e-15))
    np.testing.assert_allclose(below, above, rtol=1e-13)


def test_bessel_i0_at_and_far_from_zero() -> None:
    assert slopes(np.i0, 0.0) == [0]
    np.testing.assert_allclose(curvature(np.i0, 0.0), 0.5, rtol=1e-14)
    np.testing.assert_allclose(slopes(np.i0, 1e-9), [0.5e-9], rtol=1e-14)
    np.testing.assert_allclose(slopes(np.i0, 1.0), [0.5651591039924850], rtol=1e-14)  # DLMF table 10.75
    np.testing.assert_allclose(slopes(np.i0, 100.0), [1.068369390338162e42], rtol=1e-13)


# -- complex numbers: dL/da + i dL/db --------------------------------------------------------------------------------


@pytest.mark.parametrize(("f", "x", "right"), [
    (np.real, 1 + 2j, 1), (np.imag, 1 + 2j, 1j), (np.angle, 1j, -1), (np.angle, 0j, 0),
    (lambda x: np.angle(x, deg=True), 2 + 0j, 1j * 90 / np.pi), (lambda x: np.absolute(x) ** 2, 3 + 4j, 6 + 8j),
    (lambda x: np.real(x * np.conjugate(x)), 3 + 4j, 6 + 8j),
    (lambda x: np.real(x * x), 3 + 4j, 6 - 8j),  # conj(2x)
    (lambda x: np.imag(np.exp(x)), 0j, 1j), (lambda x: np.real(np.sign(x)), 2j, 0.5),
    (lambda x: np.imag(np.sign(x)), 2j, 0), (lambda x: np.real(np.sign(x)), 0j, 0),
])  # fmt: skip
def test_gradient_of_a_real_function_of_a_complex_number(f: Any, x: complex, right: complex) -> None:
    np.testing.assert_allclose(slopes(f, x), [right], rtol=1e-14)


def test_real_part_and_imaginary_part_of_real_numbers() -> None:
    assert slopes(np.real, 2.0) == [1]
    assert slopes(np.imag, 2.0) == [0] == slopes(np.angle, -2.0)
    assert slopes(np.conjugate, 2.0) == [1]


# -- half and single precision ---------------------------------------------------------------------------------------

UNARY = [
    np.absolute, np.square, np.reciprocal, np.sqrt, np.cbrt, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10,
    np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh,
    np.arctanh, np.sign, np.floor, np.round, np.sinc, np.i0, np.degrees, np.radians, np.nan_to_num,
    lambda x: x**3, lambda x: x**2, lambda x: x**0.5, lambda x: 2.0**x, lambda x: 1 / x, lambda x: x / 3,
    lambda x: x % 0.3, lambda x: 3 % x, lambda x: np.fmod(x, 0.3), lambda x: np.fmod(3, x), lambda x: x // 3,
    lambda x: np.maximum(x, 0), lambda x: np.minimum(0.0, x), lambda x: np.fmax(x, 0.5), lambda x: np.clip(x, 0, 1.0),
    lambda x: np.clip(x, x, x + 1), lambda x: np.where(x > 0, x, 0.0), lambda x: np.hypot(x, 1.0),
    lambda x: np.arctan2(1.0, x), lambda x: np.arctan2(x, 1.0), lambda x: np.logaddexp(x, 0.0),
    lambda x: np.logaddexp2(0, x), lambda x: np.copysign(x, -1), lambda x: np.heaviside(x, x),
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("f", UNARY)
def test_derivatives_are_computed_in_the_precision_of_the_operand(f: Any) -> None:
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


@pytest.mark.parametrize("x0", [2.0 + 0j, -3.0 + 0j, 2.0 - 0.5j, 0.3 + 0j])
@pytest.mark.parametrize("f", [np.arcsin, np.arccos])
def test_inverse_sines_on_their_branch_cuts(f, x0):
    x = af.Variable(x0)
    np.real(f(x) * (1 - 2j)).backward()
    h = 1e-6  # along the cut, where f is continuous
    numeric = [np.real((f(x0 + s) - f(x0 - s)) / (2 * h) * (1 - 2j)) for s in (h,)]
    np.testing.assert_allclose(np.real(x.grad), numeric[0], rtol=1e-6)


@pytest.mark.parametrize("f", [np.max, np.min, np.ptp, np.median, np.sort, np.mean, np.std, np.linalg.norm,
                               lambda x: np.quantile(x, 0.3), lambda x: np.partition(x, 1), np.logaddexp.reduce,
                               np.unique, np.maximum.reduce, np.maximum.accumulate])  # fmt: skip
def test_of_equal_entries_nothing_is_lost(f: Any) -> None:
    """What arrives at the entries together is what moving all of them at once does."""
    x, h = np.array([2.0, 2.0, 1.0, 2.0, 1.0]), 1e-6
    v = af.Variable(x)
    z = f(v)
    weights = np.arange(1.0, np.size(z.value) + 1).reshape(np.shape(z.value))
    af.backward(z, weights)
    np.testing.assert_allclose(v.grad.sum(), np.sum(weights * (f(x + h) - f(x - h))) / (2 * h), rtol=1e-6, atol=1e-9)


def test_entries_that_are_the_maximum_or_minimum_share_evenly() -> None:
    x = af.Variable([2.0, 2.0, 1.0])
    np.ptp(x).backward()
    np.testing.assert_array_equal(x.grad, [0.5, 0.5, -1.0])


def test_of_equal_entries_each_keeps_the_place_that_a_stable_sort_gives_it() -> None:
    x = af.Variable([2.0, 2.0, 1.0])
    af.backward(np.sort(x), [1.0, 10.0, 100.0])
    np.testing.assert_array_equal(x.grad, [10.0, 100.0, 1.0])
    x.zero_grad()
    np.median(x).backward()
    np.testing.assert_array_equal(x.grad, [1.0, 0.0, 0.0])


CHOOSING = {
    "clip": lambda x, y: np.clip(x, y, None), "where": lambda x, y: np.where(x > y, x, y),
    "max": lambda x, y: np.max(np.stack([x, y]), axis=0), "maximum": np.maximum, "fmax": np.fmax,
    "minimum": lambda x, y: -np.minimum(-x, -y), "fmin": lambda x, y: -np.fmin(-x, -y),
    "median": lambda x, y: np.median(np.stack([x, y, np.full_like(y, np.inf)]), axis=0),
    "quantile": lambda x, y: np.quantile(np.stack([x, y]), 1.0, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 3, 300_000])
@pytest.mark.parametrize("name", CHOOSING)
def test_what_is_not_chosen_has_gradient_zero_whatever_comes_in(name: str, n: int) -> None:
    """In the root of a choice the gradient is infinite where 0 is chosen: the x that lost has no part in that."""
    for create_graph in (False, True):
        x, y = af.Variable(np.resize([-1.0, 4.0, -2.0], n)), af.Variable(np.zeros(n))
        np.sum(np.sqrt(CHOOSING[name](x, y))).backward(create_graph=create_graph)
        np.testing.assert_array_equal(np.asarray(x.grad), np.resize([0.0, 0.25, 0.0], n))
        np.testing.assert_array_equal(np.asarray(y.grad), np.resize([np.inf, 0.0, np.inf], n))
    _, tangent = af.jvp(lambda x: np.sqrt(CHOOSING[name](x, np.zeros(n))), x.value, np.ones(n))
    np.testing.assert_array_equal(tangent, np.asarray(x.grad))


@pytest.mark.parametrize("f", [np.abs, np.fabs, lambda x: np.copysign(x, 2.0), np.std])
def test_a_length_of_zero_has_no_direction_whatever_comes_in(f: Any) -> None:
    assert af.grad(lambda x: np.sum(np.sqrt(f(x))))(np.zeros(1)).tolist() == [0.0]


def test_the_value_of_a_step_that_is_not_taken_has_gradient_zero() -> None:
    y = af.Variable([0.0, 0.0])
    np.sum(np.sqrt(np.heaviside([-1.0, 0.0], y))).backward()
    np.testing.assert_array_equal(y.grad, [0.0, np.inf])


def test_what_foreign_code_leaves_out_is_right_under_safe_masking() -> None:
    """In corrcoef a division by the deviation of a constant row, in ttest_ind a variance of one number."""
    pytest.importorskip("scipy", reason="SciPy is not installed")
    from autoflow.scipy import stats

    warnings.simplefilter("ignore")
    rows, one = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0], [3.0, 1.0, 5.0]]), np.array([1.0])
    for f, x, right in (
        (
            lambda x: np.corrcoef(x)[1, 2],
            rows,
            np.vstack([np.zeros(3), af.grad(lambda x: np.corrcoef(x)[0, 1])(rows[1:])]),
        ),
        (lambda x: stats.ttest_ind(x, [2.0, 3.0, 4.0]).statistic, one, np.sqrt([0.75])),
    ):
        assert np.isnan(af.grad(f)(x)).all()
        with af.safe_masking():
            np.testing.assert_allclose(af.grad(f)(x), right, rtol=1e-12)
