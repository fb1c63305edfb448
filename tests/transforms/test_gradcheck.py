"""The gradient check: it passes what is right, and finds each of twenty wrong rules and whatever else misleads."""

import itertools

import numpy as np
import pytest
from support import plain

import autoflow as af
from autoflow.errors import GradcheckError
from autoflow.transforms.gradcheck import check, gradcheck

RNG = np.random.default_rng(8)
LINE = np.arange(4.0)
V, A, B = RNG.uniform(0.5, 1.5, 3), RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4))

RIGHT = [
    (lambda x: x, [2.0]), (lambda x: np.sum(np.sin(x) * x), [V]), (lambda x, y: x @ y, [A, B]),
    (lambda x: np.linalg.inv(x), [RNG.normal(size=(3, 3)) + 3 * np.eye(3)]),
    (lambda x: (np.sort(x), {"sum": np.sum(x)}), [V]), (lambda p: p["w"] * p["b"] ** 2, [{"w": V, "b": 2.0}]),
    (lambda x, k: x[k] * 3.0, [V, np.array([0, 2])]), (lambda x: 5.0, [V]),
    (lambda x: np.abs(x) ** 2, [np.array([1.0 + 2.0j, -0.5j])]),
    (lambda x: np.exp(x) * np.conj(x), [np.array([1.0 + 2.0j, -0.5j])]), (lambda x: np.exp(1j * x), [V]),
    (lambda x: 1e8 * x**2 + x, [V]), (lambda x: 1e-9 * x**2, [V]), (lambda x: x * 1.0, [np.ones((0, 2))]),
    (lambda x: x * 2.0, [af.Variable(3.0)]), (np.maximum, [V, V[::-1] + 0.1]), (np.sign, [V]),
    (lambda x: np.maximum(x, 0.0) * 1e6 + 1e6, [np.array([1.0, -2.0])]), (lambda x: 1e8 * np.abs(x) + x, [V]),
    (np.abs, [0.1]), (np.sqrt, [1e-3]), (lambda x: 1 / x, [1e-3]), (lambda x: x**3 * 1e3, [0.0]),
    (lambda x: {"y": x * x, "n": 3, "text": "a", "none": None, "flag": True}, [V]),
    (lambda x: (x * x, np.any(np.greater(x, 1.0)), np.argmax(x)), [V]), (np.multiply, [LINE[:2] + 1, LINE[2:]]),
    # Functions that change within the first step.
    (np.sin, [1e8]), (np.cos, [np.array([1e10, -1e9])]), (np.arcsin, [1 - 1e-9]), (np.tanh, [1e150]),
    (np.log, [np.array([1e-8 + 1e-8j])]), (np.std, [np.array([1.0, 1 + 1e-6, 1 - 1e-6])]), (lambda x: x**2, [1e150]),
    (lambda x: (x - 1) ** 2, [1.0]), (lambda x: np.tanh(1e5 * x), [1e-6]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "inputs", "order"), [
    *[(f, inputs, order) for f, inputs in RIGHT for order in (1, 2)], (lambda x: x * np.abs(x), [0.0], 1),
    (lambda x: np.sum(af.special.softmax(x)), [V], 1), (lambda x: np.sin(x) * x, [0.7], 3),
])  # fmt: skip
def test_right_ones_pass(f, inputs, order):
    assert gradcheck(f, *inputs, order=order) is True


# -- wrong rules -----------------------------------------------------------------------------------------------------


def with_rule(value, *pulls):
    """A function with the rule that sends ``pull(g, *plain operands)`` to each operand."""

    def f(*xs):
        numbers = [plain(x) for x in xs]
        z = af.Operation.create_node(value(*numbers), "mine", *xs)
        if z.requires_grad:
            z.grad_fn = lambda g: [pull(g, *numbers) for pull in pulls]
        return z

    return f


def at(x, k, factor):
    """``x`` with one entry multiplied."""
    y = np.array(x)
    y.flat[k] *= factor
    return y


M = RNG.normal(size=(3, 3))
WRONG = {
    "a wrong factor": (with_rule(np.square, lambda g, x: g * x), [V]),
    "a slightly wrong factor": (with_rule(np.square, lambda g, x: g * 2.001 * x), [V]),
    "a wrong sign": (with_rule(np.cos, lambda g, x: g * np.sin(x)), [V]),
    "the gradient forgotten": (with_rule(np.square, lambda g, x: 2 * x), [V]),
    "the gradient forgotten, one number": (with_rule(np.square, lambda g, x: 2 * x), [2.0]),
    "transposed": (with_rule(lambda x: x @ M, lambda g, x: g @ M), [M + 1]),
    "operands exchanged": (with_rule(np.multiply, lambda g, x, y: g * x, lambda g, x, y: g * y), [V, V[::-1] * 2]),
    "broadcasting not summed": (with_rule(np.multiply, lambda g, x, y: (g * y)[0], lambda g, x, y: g * x), [V, A]),
    "summed over the wrong axis": (
        with_rule(lambda x: x.sum(axis=0), lambda g, x: np.broadcast_to(g[:, None], x.shape)), [M],
    ),
    "wrong on one entry": (with_rule(np.exp, lambda g, x: at(g * np.exp(x), 2, 1.01)), [V]),
    "one entry zero": (with_rule(np.exp, lambda g, x: at(g * np.exp(x), 0, 0.0)), [V]),
    "one operand only": (with_rule(np.multiply, lambda g, x, y: g * y, lambda g, x, y: None), [V, V + 1]),
    "mean without n": (with_rule(np.mean, lambda g, x: g * np.ones_like(x)), [V]),
    "in the wrong order": (with_rule(lambda x: x[::-1].copy(), lambda g, x: g), [V]),
    "rolled the wrong way": (with_rule(lambda x: np.roll(x, 1), lambda g, x: np.roll(g, 1)), [V]),
    "of z, not of x": (with_rule(np.sqrt, lambda g, x: g / (2 * x)), [V]),
    "linearised elsewhere": (with_rule(np.sin, lambda g, x: g * np.cos(x + 1e-3)), [V]),
    "repeated indices overwritten": (
        with_rule(lambda x: x[[0, 0, 2]], lambda g, x: np.array([g[1], 0.0, g[2]])), [V],
    ),
    "a missing term": (with_rule(lambda x: x * np.sum(x), lambda g, x: g * np.sum(x)), [V]),
    "infinite": (with_rule(np.square, lambda g, x: g * np.inf), [V]),
    "not a number": (with_rule(np.square, lambda g, x: g * np.nan), [V]),
    "not conjugated": (with_rule(np.exp, lambda g, x: g * np.exp(x)), [np.array([1.0 + 2.0j])]),
    "half the gradient of abs": (with_rule(np.abs, lambda g, x: g * x / np.abs(x) / 2), [np.array([1.0 + 2.0j])]),
    "the imaginary part ignored": (with_rule(lambda x: x * (1 + 2j), lambda g, x: g.real * 1.0), [V]),
    "zero": (with_rule(np.exp, lambda g, x: 0.0 * x), [V]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_found(name):
    f, inputs = WRONG[name]
    with pytest.raises(GradcheckError, match=r"wrong of \d+ entr(y|ies)"):
        gradcheck(f, *inputs)


def test_only_wrong_entries_are_marked():
    f, inputs = WRONG["wrong on one entry"]
    report = check(f, *inputs)
    assert [(row.input, row.entry) for row in report.rows if not row.right] == [("input 0", (2,))]
    assert report.ordered_rows()[0].entry == (2,)


def test_a_second_derivative_that_is_wrong():
    f = with_rule(lambda x: x**3, lambda g, x: g * 3 * x**2)  # right, but its own derivative is lost
    assert gradcheck(f, V)
    with pytest.raises(GradcheckError, match="order 2"):
        gradcheck(f, V, order=2)


# -- scales ----------------------------------------------------------------------------------------------------------


def scaled(name, size, speed, factor):
    """size · f(speed · x), whose rule is wrong by a factor."""
    value, slope = {
        "sin": (np.sin, np.cos), "log": (np.log, lambda x: 1 / x), "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
        "1/x": (lambda x: 1 / x, lambda x: -1 / x**2), "x|x|": (lambda x: x * abs(x), lambda x: 2 * abs(x)),
    }[name]  # fmt: skip
    return with_rule(lambda x: size * value(speed * x), lambda g, x: factor * g * size * speed * slope(speed * x))


@pytest.mark.parametrize("speed", [1e-12, 1.0, 1e8])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e20])
@pytest.mark.parametrize("name", ["sin", "log", "sqrt", "1/x", "x|x|"])
def test_at_every_scale_what_is_right_passes_and_what_is_wrong_does_not(name, size, speed):
    x = np.array([0.3, 1.1]) / speed
    assert gradcheck(scaled(name, size, speed, 1.0), x)
    for factor in (0.999, 0.0):
        with pytest.raises(GradcheckError, match="wrong of"):
            gradcheck(scaled(name, size, speed, factor), x)


# -- other findings --------------------------------------------------------------------------------------------------

DRAWN, COUNTER = np.random.default_rng(), itertools.count()
KINK = r"kink at .*to the left and .* to the right"
HIDDEN = r"rounding hides the slopes at (x|input 0)\[0\]"


def no_rule(x):
    if isinstance(x, af.Node):
        raise af.errors.NoRuleError("mine")
    return x


FOUND = [
    # There is no derivative.
    (np.exp, [np.inf], "not finite on both sides of x = inf"), (np.exp, [np.array([1.0, np.nan])], "not finite on"),
    (np.sqrt, [0.0], "not finite on both sides of x = 0"), (lambda x: x**1.5, [0.0], "not finite on both sides"),
    (np.cbrt, [0.0], "the slope at x = 0 changes with the step"), (np.floor, [2.0], "the slope at x = 2 changes"),
    (lambda x: 1e-9 * np.abs(x), [0.0], "a kink at x = 0: the slope is -1e-09 to the left and 1e-09 to the right"),
    (lambda x: np.maximum(x, 1.0), [1 + 1e-7], "a kink within 6e-06 of x = 1"),
    (np.abs, [np.array([0j])], r"a kink at x\[0\] = 0"), (lambda x: np.abs(x - 1e9), [1e9], "a kink at x = 1e"),
    (np.abs, [0.0], "kink at x = 0: the slope is -1 to the left and 1 to the right"),
    (lambda x: np.maximum(x, 1.0), [np.array([0.5, 1.0])], KINK), (lambda x: x**2 + np.abs(x - 1), [1.0], KINK),
    (lambda x: np.where(x > 0, x, 0.1 * x), [np.array([-1.0, 1e-9])], KINK), (np.max, [np.array([2.0, 2.0])], KINK),
    # Slopes that rounding hides are no proof.
    (with_rule(lambda x: 1e12 + x * abs(x), lambda g, x: g * 3 * abs(x)), [V], HIDDEN),
    (with_rule(lambda x: 1e12 + x**2, lambda g, x: g * 3 * x), [V], HIDDEN),
    (with_rule(lambda x: 1e12 + x**2, lambda g, x: g * 0 * x), [V], HIDDEN),
    (lambda x: 1e12 + x * np.abs(x), [V], HIDDEN),
    # Functions that are not the same each time, and memory that overlaps.
    (lambda x: x * DRAWN.normal(), [1.0], "another result each time"),
    (with_rule(np.square, lambda g, x: g * (2 * x + next(COUNTER))), [V], "another one each time"),
    (lambda x: x * 2.0, [np.broadcast_to(V, (2, 3))], "entries of x share memory"),
    (lambda x: x * 2.0, [np.lib.stride_tricks.sliding_window_view(V, 2)], "entries of x share memory"),
    (lambda x, y: x * y, [LINE[:3], LINE[1:]], "x and y share memory"),
    # Too few digits, no numbers, and gradients that are lost.
    (lambda w: w * 2, [np.ones(2, np.float32)], r"w is float32.*w\.astype\(np\.float64\)"),
    (np.exp, [np.ones(2, np.complex64)], "complex128"),
    *[(lambda x, dtype=dtype: (x * x).astype(dtype), [V], f"the result is {dtype}, which has too few digits")
      for dtype in ("float32", "float16", "complex64")],
    (lambda x: (with_rule(np.square, lambda g, x: g * x)(x), None), [2.0], "1 wrong of"),
    (lambda x: None, [V], "returns no numbers"), (lambda x: np.exp(plain(x)), [V], "leave the graph"),
    (no_rule, [1.0], "NoRuleError"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "inputs", "words"), FOUND)
def test_what_misleads_is_said(f, inputs, words):
    with pytest.raises(GradcheckError, match=words):
        gradcheck(f, *inputs)


def test_inputs_that_are_written_into():
    def f(x):
        if type(x) is np.ndarray:
            x += 1.0
        return x * 2.0

    x = V.copy()
    with pytest.raises(GradcheckError, match="writes into its input x"):
        gradcheck(f, x)
    np.testing.assert_array_equal(x, V)


def test_nothing_to_check():
    with pytest.raises(TypeError, match="nothing to check"):
        gradcheck(lambda x: x * 2, np.arange(3))
    with pytest.raises(ValueError, match="order=0 checks nothing"):
        gradcheck(np.sin, V, order=0)


def test_tolerances():
    f = with_rule(np.square, lambda g, x: g * 2.001 * x)
    assert gradcheck(f, V, rtol=1e-2)
    assert gradcheck(f, V, atol=1.0)
    assert gradcheck(np.abs, 1e-3, eps=1e-6)
    with pytest.raises(GradcheckError, match=r"kink within 0\.01 of"):
        gradcheck(np.abs, 1e-3, eps=1e-2)


def test_inputs_are_not_touched():
    x, v = V.copy(), af.Variable(V)
    assert gradcheck(lambda x, v: x * v, x, v)
    assert v.grad is None
    np.testing.assert_array_equal(x, V)


# -- reports ---------------------------------------------------------------------------------------------------------


def test_report():
    def f(x, p):
        return x * p["k"]

    report = check(f, V, {"k": 2.0})
    assert report
    assert repr(report) == str(report)
    assert str(report).startswith("check of f: 4 entries, all right\n")
    assert "p['k']" in str(report)
    assert "✗" not in report._repr_html_()
    bad = check(WRONG["a wrong sign"][0], V)
    assert not bad
    assert str(bad).count("<- wrong") == 3
    assert bad._repr_html_().count("✗") == 3
    with af.options(static=True):
        assert bad._repr_html_() is None
    assert "3 wrong of 3 entries" in str(bad)


def test_reports_are_escaped_and_short():
    def f(x):
        return x * 2.0

    f.__name__ = "<script>"
    report = check(f, np.ones(100))
    assert "<script>" not in report._repr_html_()
    assert "and 70 more" in str(report)
    assert "and 70 more" in report._repr_html_()
    found = check(f, np.ones(2, np.float32))
    assert not found
    assert "cannot be compared" in str(found)
    assert "float32" in found._repr_html_()
