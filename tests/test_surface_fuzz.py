"""Random programs over the whole surface: their gradients are their differences.

By day few and fixed ones; by night many, and as many of that day, which are reported and decide nothing.
"""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pytest
from surface import CASES, fit, surface_program

import autoflow as af
from autoflow.errors import LostGradientError

DAY, NIGHT, CHUNK = 100, 20_000, 25
WIDE, CLOSE = (1e-4, 5e-5), (1e-6, 5e-7)  # central differences at two widths, whose distance says how far to trust them


def differences(f, xs, direction, widths=WIDE):
    """The derivative of f along ``direction`` by differences, extrapolated, and its uncertainty."""
    slopes = []
    for h in widths:
        ahead, behind = [f(*[x + s * d for x, d in zip(xs, direction, strict=True)]) for s in (h, -h)]
        slopes.append((ahead - behind) / (2 * h))
    slope = slopes[1] + (slopes[1] - slopes[0]) / 3
    return slope, abs(slopes[1] - slopes[0])


def differs(ours, f, xs, direction, wanted, doubt):
    """Is a derivative neither that of the wide differences nor that of close ones?

    A kink between the point and both wide steps, where another element is the least, bends the two differences alike,
    and their distance does not tell. Close ones are less exact, but no wrong derivative is near them.
    """

    def is_near(wanted, doubt):
        size = 1 + abs(wanted)
        return doubt <= 1e-4 * size and abs(ours - wanted) <= 1e-5 * size + doubt  # not so of NaN

    return not is_near(wanted, doubt) and not is_near(*differences(f, xs, direction, CLOSE))


def along(f, direction):
    """The derivative of f along ``direction``, as a function: from the gradient."""

    def slope(*xs):
        grads = af.grad(f, (0, 1), allow_unused=True)(*xs)
        return sum([np.sum(g * d) for g, d in zip(grads, direction, strict=True)])

    return slope


def compare(seed, scipys=False, order=1):
    """ "", or "unsure" where NumPy refuses the program or differences say nothing (at a kink), or what is wrong."""
    f, xs, steps = surface_program(seed, scipys)
    rng = np.random.default_rng(seed)
    direction = [rng.normal(size=x.shape) for x in xs]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            f(*xs)
        except Exception:  # a list where NumPy wants an array, an empty array: no program
            return "unsure"
        f = along(f, direction) if order == 2 else f
        try:
            value, ours = af.value_and_grad(f, (0, 1), allow_unused=True)(*xs)[0], along(f, direction)(*xs)
            wanted, doubt = differences(f, xs, direction)
            wrong = differs(ours, f, xs, direction, wanted, doubt)
        except LostGradientError:  # a list that first goes alone to another function
            if not any(["list None" not in step and "list" in step for step in steps]):
                raise
            return "unsure"
        plain = f(*xs)
    if not np.isfinite(wanted) or doubt > 1e-4 * (1 + abs(wanted)):
        return "unsure"
    if not abs(float(value) - plain) <= 1e-12 * (1 + abs(plain)):
        return f"seed {seed}: value {value!r} instead of {plain!r}: {steps}"
    if wrong:
        return f"seed {seed}: derivative {ours!r} instead of {wanted!r}: {steps}"
    return ""


def compare_single(seed):
    """The same in single precision: its gradients are float32, and near those of the same numbers in double."""
    f, xs, steps = surface_program(seed)
    rng = np.random.default_rng(seed)
    direction = [rng.normal(size=x.shape) for x in xs]
    single = [x.astype(np.float32) for x in xs]
    double = [x.astype(float) for x in single]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value, near = f(*double), f(*single)
        except Exception:
            return "unsure"
        if not abs(value - near) < 1e-4 * (1 + abs(value)):  # infinite, or rounding goes another way
            return "unsure"
        try:
            grads = af.grad(f, (0, 1), allow_unused=True)(*single)
            wanted = along(f, direction)(*double)
        except LostGradientError:
            return "unsure"
    if any(g.dtype != np.float32 for g in grads):
        return f"seed {seed}: gradients of {[g.dtype for g in grads]}: {steps}"
    ours = sum([np.sum(g * d) for g, d in zip(grads, direction, strict=True)])
    if np.isfinite(wanted) and not abs(ours - wanted) <= 1e-2 * (1 + abs(wanted)):
        return f"seed {seed}: derivative {ours!r} instead of {wanted!r}: {steps}"
    return ""


def compare_complex(seed):
    """The same of complex numbers: along d the real part of the value grows by Re Σ conj(gradient) d.

    Without lists: NumPy takes complex numbers out of a list of nodes without asking (docs/lost-gradients.md).
    """
    program, xs, steps = surface_program(seed)
    if not all(["list None" in step or "list" not in step for step in steps]):
        return "unsure"

    def f(*xs):
        return np.real(program(*xs))

    rng = np.random.default_rng(seed)
    xs = [x + 0.3j * rng.normal(size=x.shape) for x in xs]
    direction = [rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape) for x in xs]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted, doubt = differences(f, xs, direction)
        except Exception:  # NumPy does not take complex numbers there
            return "unsure"
        if not abs(wanted) < 1e6 or doubt > 1e-4 * (1 + abs(wanted)):
            return "unsure"
        grads = af.grad(f, (0, 1), allow_unused=True)(*xs)
        ours = sum([np.real(np.sum(np.conj(g) * d)) for g, d in zip(grads, direction, strict=True)])
        wrong = differs(ours, f, xs, direction, wanted, doubt)
    if wrong:
        return f"seed {seed}: derivative {ours!r} instead of {wanted!r}: {steps}"
    return ""


def check(seeds, scipys=False, order=1):
    """All of them are right, and few say nothing."""
    judge([compare(seed, scipys, order) for seed in seeds], 0.3)


def judge(answers, most):
    """None is wrong, and no more than that share says nothing."""
    wrong = [answer for answer in answers if answer not in ("", "unsure")]
    assert not wrong, "\n".join(wrong)
    assert answers.count("unsure") < most * len(answers)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, DAY, CHUNK))
def test_gradients_of_programs_are_their_differences(first):
    check(range(first, first + CHUNK))


@pytest.mark.thorough
def test_second_derivatives_of_programs_are_differences_of_first():
    check(range(DAY, DAY + CHUNK), order=2)


@pytest.mark.thorough
def test_programs_in_single_precision_and_of_complex_numbers():
    judge([compare_single(seed) for seed in range(CHUNK)], 0.3)
    judge([compare_complex(seed) for seed in range(2 * CHUNK)], 0.9)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_many_in_single_precision_and_of_complex_numbers(first):
    judge([compare_single(seed) for seed in range(first, first + 500)], 0.3)
    judge([compare_complex(seed) for seed in range(first, first + 500)], 0.9)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_many_second_derivatives(first):
    check(range(first, first + 500), order=2)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_many_programs_with_functions_of_scipy(first):
    pytest.importorskip("scipy", reason="SciPy is not installed")
    check(range(first, first + 500), scipys=True)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(DAY, NIGHT, 500))
def test_many_programs(first):
    check(range(first, min(first + 500, NIGHT)))


@pytest.mark.nightly
def test_programs_of_the_day():
    first = int(datetime.date.today().strftime("%Y%m%d")) * 1000
    answers = [compare(seed) for seed in range(first, first + 1000)]
    print(f"from seed {first}:", *[a for a in answers if a not in ("", "unsure")], sep="\n")


def test_a_wrong_rule_is_found(monkeypatch):
    """The comparison can fail: with a wrong derivative of arctan, which every program uses."""
    row = af.rules.RULES[np.arctan]
    monkeypatch.setattr(row, "vjps", tuple([lambda g, saved, right=vjp: 1.01 * right(g, saved) for vjp in row.vjps]))
    with pytest.raises(AssertionError, match="derivative"):
        check(range(20))


def test_a_kink_beside_the_point_is_no_error_and_hides_none():
    def f(x):
        return x + 5e-4 * np.maximum(x, 1.3e-5)

    wide, doubt = differences(f, [0.0], [1.0])
    assert abs(wide - 1) > 2e-5 + doubt  # sure, and wrong
    assert not differs(1.0, f, [0.0], [1.0], wide, doubt)
    assert all([differs(1 + error, f, [0.0], [1.0], wide, doubt) for error in (1e-4, -1e-4, np.nan, np.inf)])
    assert differs(0.0, lambda x: np.sign(x - 1e-9), [0.0], [1.0], 0.5, 0.0)  # close ones that are unsure say nothing


def test_zeros_do_not_become_the_middle_of_a_domain():
    places = {(case.example.shapes[k], case.row.domain) for case, live in CASES[True] for k in live}
    for shape, (low, high) in places:
        for x in (np.zeros(1), np.zeros((2, 3))):
            assert np.all(np.abs(fit(x, shape, (low, high)) - (low + high) / 2) > 1e-5 * (high - low)), (shape, low)
