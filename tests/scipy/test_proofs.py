"""When a proof that a function of SciPy's has no hidden slope holds, and for what."""

import copy

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")

import scipy.stats  # noqa: E402, F811

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402
from autoflow.scipy import bodies, proofs, stats  # noqa: E402
from autoflow.scipy.mirrors import on_nodes  # noqa: E402

X = np.random.default_rng(0).uniform(0.3, 1.2, (3, 8))
A = np.array([1.0, -0.4])


def test_an_equality_that_hides_a_slope_is_noticed():
    """Where a[0] is 1 this function does not divide by it, so its own code has no derivative by a[0] there."""

    def scaled(a):
        return a if a[0] == 1.0 else a / a[0]

    scaled.__module__ = "scipy.toy"
    for _ in range(2):  # also after a call that was proved
        with pytest.raises(NoRuleError, match="derivative is not that of its values"):
            on_nodes(scaled, "scipy.toy.scaled")(af.Variable(A))
        np.testing.assert_allclose(on_nodes(scaled, "scipy.toy.scaled")(af.Variable(2 * A)).value, A)


Y = np.array([1.0, 2.0, 4.0, 3.0])
# Where SciPy asks for equality it has the limit of a formula, which does not move with the parameter.
LIMITS = {
    "genextreme": (lambda m, v: np.sum(m.genextreme.logpdf(X[0] - 0.5, v)), 0.0),
    "genpareto": (lambda m, v: np.sum(m.genpareto.logpdf(X[0], v)), 0.0),
    "skewnorm": (lambda m, v: np.sum(m.skewnorm.logpdf(X[0], v)), 0.0),
    "boxcox_llf": (lambda m, v: m.boxcox_llf(v, Y), 0.0),
    "yeojohnson_llf": (lambda m, v: m.yeojohnson_llf(v, Y - 2.0), 2.0),
    "kappa4": (lambda m, v: np.sum(m.kappa4.logpdf(X[0], v, 0.2)), 0.0),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_proof_elsewhere_is_none_for_a_limit(name):
    call, limit = LIMITS[name]
    for x in (0.37, limit):
        v = af.Variable(x)
        try:
            z = call(stats, v)
        except NoRuleError:
            assert x == limit
            continue
        z.backward()
        slope = (call(scipy.stats, x + 1e-4) - call(scipy.stats, x - 1e-4)) / 2e-4
        np.testing.assert_allclose(v.grad, slope, rtol=1e-5)


def test_what_is_constant_is_proved_at_each_call():
    """Above 1 this function has no slope, below it loses one."""

    def lost(x, keeps):
        return np.full(x.shape, 1.0) if np.all(x > 1) else np.array(np.sin(x).tolist())

    def kept(x, keeps):
        return np.sin(x) if keeps[0] else np.array(np.sin(x).tolist())

    for f in (lost, kept):
        f.__module__ = "scipy.toy"
        run = on_nodes(f, f"scipy.toy.{f.__name__}")
        run(af.Variable(np.array([2.5, 3.5])), np.array([1]))
        with pytest.raises(NoRuleError, match=f.__name__):
            run(af.Variable(np.array([0.5, 0.7])), np.array([0]))


@pytest.mark.parametrize("near", [0.0, 3e-9, 3e-8, 3e-7])
def test_a_jump_nearby_hides_no_slope(near):
    """As where the signs of vectors turn: what changes by a jump on the way to both differences is not constant."""

    def turned(x):
        return np.array((np.sin(x) if abs(x[0] - 2.5) < near + 1e-15 else -np.sin(x)).tolist())

    turned.__module__ = "scipy.toy"
    with pytest.raises(NoRuleError, match="turned"):
        on_nodes(turned, f"scipy.toy.turned{near}")(af.Variable(np.array([2.5, 3.5])))


@pytest.mark.parametrize("name", ["skew", "gmean", "sem", "variation", "tvar", "tstd", "tsem"])
def test_a_proof_without_nan_is_none_with_nan(name):
    """There SciPy goes another way, for each row of its own."""
    x, h = X.copy(), 1e-6 * X[::-1]
    options = {"limits": (None, 1.1)} if name.startswith("t") else {}  # what is above is NaN for SciPy

    def f(m, x):
        return np.nansum(getattr(m, name)(x, axis=1, nan_policy="omit", **options) * np.array([1.0, 2.0, 3.0]))

    f(stats, af.Variable(x))
    x[1, 3] = np.nan
    slope = (f(scipy.stats, x + h) - f(scipy.stats, x - h)) / 2
    v = af.Variable(x)
    f(stats, v).backward()
    np.testing.assert_allclose(np.nansum(v.grad * h), slope, rtol=1e-5)


@pytest.mark.parametrize("name", ["boxcox", "yeojohnson"])
def test_a_power_that_is_given_is_not_searched(name):
    v, power = af.Variable(X[0]), af.Variable(0.3)
    for args, options in (((v, power), {}), ((v,), {"lmbda": power})):
        power.zero_grad()
        np.sum(getattr(stats, name)(*args, **options)).backward()
        above, below = [np.sum(getattr(scipy.stats, name)(X[0], p)) for p in (0.3 + 1e-5, 0.3 - 1e-5)]
        np.testing.assert_allclose(power.grad, (above - below) / 2e-5, rtol=1e-6)
    with pytest.raises(NoRuleError, match="it searches in steps"):
        getattr(stats, name)(v)


@pytest.mark.parametrize(("one", "other"), [
    ({"a": 1}, {"a": 2}), ({"a": 1}, {"b": 1}), (np.int64(1), np.int64(2)), (np.str_("wrap"), np.str_("same")),
    (np.bool_(True), np.bool_(False)), ({"a": np.ones(2)}, {"a": af.Variable(np.ones(2))}), (1, 1.0), (1, True),
    ([1, 2], (1, 2)), (np.ones(2), np.ones(3)), (np.ones(2), np.ones(2, np.float32)), (np.ones(2), [1.0, 1.0]),
])  # fmt: skip
def test_a_proof_is_for_one_kind_of_arguments(one, other):
    """What may choose another way through SciPy's code makes another kind, also in containers."""
    for wrap in (lambda x: x, lambda x: [x], lambda x: {"key": (x,)}):
        assert proofs.kind(wrap(one)) == proofs.kind(wrap(copy.copy(one)))
        assert repr(proofs.kind(wrap(one))) != repr(proofs.kind(wrap(other)))


def test_an_error_of_pythons_numbers_is_seen_around_another_call():
    """SciPy's code asks for a float, calls another function, and divides by 0, which for floats is an error."""
    x = af.Variable(0.0)

    def ours():
        number = bodies.Float(x)
        af.special.softmax(np.stack([x, x]))
        return 1 / number

    with np.errstate(all="ignore"), pytest.raises(ZeroDivisionError):
        proofs.with_errors(ours, lambda x: 1 / float(x), [x], {})


@pytest.mark.parametrize("f", [max, min])
def test_the_largest_by_a_key(f):
    numbers = -3.0, 2.0, 1.0
    for how in ({}, {"key": abs}, {"key": lambda x: -x}):
        wanted, nodes = f(numbers, **how), [*map(af.Variable, numbers)]
        largest = bodies.BUILTINS[f.__name__]
        assert [largest(*nodes, **how).item(), largest(nodes, **how).item()] == [wanted, wanted]
