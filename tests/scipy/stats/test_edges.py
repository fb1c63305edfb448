"""Edges of every method of every distribution: 0, ±∞, huge, tiny, ends of supports, parameters whole and not.

Each method of ``af.stats`` is called with mixtures of such numbers. Its value is SciPy's, and its gradient is that
of differences of SciPy's values, from the left, from the right or from both sides: at an edge one side is enough. A
gradient is never NaN. What deviates is listed in ``reason_of_value`` and ``reason_of_nan``.
"""

import itertools
import random

import numpy as np
import pytest

scipy_stats = pytest.importorskip("scipy.stats")

from distributions import COUNTS, LINES  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow import stats  # noqa: E402

inf = np.inf
X = [-inf, -1e300, -1e15, -800.0, -3.0, -1e-8, 0.0, 1e-300, 1e-8, 0.5, 1.0, 2.0, 40.0, 800.0, 1e15, 1e300, inf]
Q = [0.0, 1e-12, 0.25, 0.5, 0.75, 1 - 1e-10, 1.0]
K = [-inf, -1e300, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 9.0, 10.0, 11.0, 1e6, 1e15, 1e300, inf]
P = [0.0, 1e-10, 0.3, 0.5, 0.875, 1.0]
SIZES = [0.5, 1.0, 1.5, 2.0, 40.0, 1e6, 1e15]
SHAPES = {
    "lognorm": [0.5, 1.0, 2.0], "weibull_min": SIZES[:-2], "pareto": SIZES[:-1], "gamma": SIZES, "chi2": SIZES,
    "t": SIZES, "beta": [*itertools.product([0.5, 1.0, 1.5, 2.0, 40.0], repeat=2), (2.0, 1e6)],
    "poisson": [0.0, 1e-8, 0.5, 1.0, 2.0, 40.0, 1e6], "binom": [*itertools.product([0.0, 1.0, 2.0, 10.0, 1e6, 2.5], P)],
    "bernoulli": P, "nbinom": [*itertools.product([0.5, 1.0, 2.5, 10.0], P)], "geom": P,
}  # fmt: skip
AT = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
EVERY = (*AT, "ppf", "isf", "mean", "var", "std", "median", "entropy")
METHODS = [(name, method) for name in LINES | COUNTS for method in EVERY if hasattr(type(getattr(stats, name)), method)]


def calls(name, method):
    """The arguments of 8 calls, drawn with a fixed seed."""
    shapes = [s if isinstance(s, tuple) else (s,) for s in SHAPES.get(name, [()])]
    moves = [()] if name in COUNTS else [(0.0, 1.0), (0.5, 2.0)]
    points = [(x,) for x in (K if name in COUNTS else X)] if method in AT else [()]
    points = [(q,) for q in Q] if method in ("ppf", "isf") else points
    every = [(*point, *shape, *move) for point, shape, move in itertools.product(points, shapes, moves)]
    yield from random.Random(f"{name} {method}").sample(every, min(len(every), 8))


def reason_of_value(name, method, args, ours, theirs):
    """Why the value is not SciPy's; "" if there is no reason."""
    if np.isnan(theirs) and method in AT and abs(args[0]) >= 1e15:
        return "SciPy computes inf - inf; here it is the limit"
    if method in ("logcdf", "logsf") and abs(theirs) < 1e-6:
        return "SciPy takes the logarithm of a number near 1, which has no digits of it left"
    if theirs == -inf and np.isfinite(ours) and "log" in method:
        return "SciPy takes the logarithm of a tail that is too small for a number"
    if max(map(abs, args)) >= 1e15 and name in ("gamma", "chi2") and method in ("pdf", "logpdf"):
        return "SciPy subtracts numbers near 1e16"
    if name in ("nbinom", "poisson") and abs(args[0]) >= 1e6 and method in ("pmf", "logpmf"):
        return "differences of gammaln of large numbers, in SciPy or here"
    return ""


def reason_of_nan(name, method, args, value):
    """Why a gradient is NaN; "" if there is no reason."""
    if method in AT and np.isinf(args[0]) and value == -inf:
        return "log f is -inf at +-inf: its slope by a parameter is inf - inf or 0 * inf"
    if method == "pdf" and value == inf:
        return "the density itself is infinite: its slope by a parameter is inf - inf"
    if (name, method, args[-1]) == ("nbinom", "logsf", 1.0):
        return "log 0 by n"
    if (name, method) == ("binom", "std") and args[0] == 0 and args[1] in (0.0, 1.0):
        return "the root of 0 * 0"
    return ""


def one_sided(f, args, k, f0):
    """The slopes by args[k] from the right, from the left and from both, each with what rounding may do to it."""
    x, found = args[k], []
    for h in (1e-5 * abs(x) or 1e-7, -1e-5 * abs(x) or -1e-7):
        f1, f2 = (float(f(*args[:k], x + step * h, *args[k + 1 :])) for step in (1, 2))
        if np.isfinite(f1) and np.isfinite(f2):
            found.append(((-3 * f0 + 4 * f1 - f2) / (2 * h), 1e-11 * max(abs(f0), abs(f1), abs(f2)) / abs(h)))
    return [*found, (sum(s for s, _ in found) / 2, found[0][1])] if len(found) == 2 else found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "method"), METHODS)
def test_edges(name, method):
    ours, theirs = getattr(getattr(stats, name), method), getattr(getattr(scipy_stats, name), method)
    first = 1 if name in COUNTS and method in AT else 0
    wrong = []
    for args in calls(name, method):
        moving = [k for k in range(first, len(args)) if (name, k) != ("binom", first)]
        leaves = [af.Variable(v) if k in moving else v for k, v in enumerate(args)]
        with np.errstate(all="ignore"):
            z, right = ours(*leaves), float(theirs(*args))
            value = float(np.asarray(getattr(z, "value", z)))
            near = np.isclose(value, right, 1e-8, 1e-300, equal_nan=True)
            if not near and not reason_of_value(name, method, args, value, right):
                wrong.append((args, "value", value, right))
            if np.isnan(value) or not getattr(z, "requires_grad", False):
                continue
            z.backward()
            for k in moving:
                g = 0.0 if leaves[k].grad is None else float(leaves[k].grad)
                if np.isnan(g):
                    if not reason_of_nan(name, method, args, value):
                        wrong.append((args, k, g, "NaN"))
                elif np.isfinite(g) and near and np.isfinite(right) and np.isfinite(args[k]):
                    slopes = one_sided(theirs, list(args), k, right)
                    near_one = [abs(g - slope) <= 1e-3 * abs(slope) + noise + 1e-300 for slope, noise in slopes]
                    if len(slopes) == 3 and not any(near_one):
                        (a, _), (b, _), _ = slopes
                        if abs(a - b) <= 1e-5 * abs(a):  # the two sides agree so well that they are to be trusted
                            wrong.append((args, k, g, slopes))
    assert not wrong, f"{len(wrong)} calls, the first of them: {wrong[:5]}"


@pytest.mark.parametrize(("f", "args", "value", "slopes"), [
    # SciPy's values, from its asymptotic series; the slope of ½ log a is 1/(2a)
    (stats.cauchy.ppf, (1 - 1e-10, 0.0, 1.0), 3183098598.4671477, None),
    (stats.gamma.entropy, (1e15,), 18.688326730660016, (5e-16,)), (stats.t.entropy, (1e15,), 1.4189385332046727, None),
    (stats.t.pdf, (0.5, 1e15), stats.norm.pdf(0.5), None),
])  # fmt: skip
def test_large_parameters(f, args, value, slopes):
    np.testing.assert_allclose(f(*args), value, 1e-12)
    if slopes:
        np.testing.assert_allclose(af.grad(f, tuple(range(len(args))))(*args), slopes, 1e-6)


@pytest.mark.parametrize(("f", "at", "limit"), [
    (lambda p: stats.binom.pmf(1, 10, p), 0.0, 10.0), (lambda x: stats.gamma.pdf(x, 2.0), 0.0, 1.0),
    (lambda s: stats.norm.cdf(np.inf, 0.3, s), 2.0, 0.0), (lambda x: stats.gumbel_r.pdf(x), -800.0, 0.0),
    (lambda b: stats.pareto.logpdf(np.inf, 2.0, 0.0, b), 4.0, 0.5), (lambda x: stats.expon.ppf(x), 0.0, 1.0),
    (lambda x: stats.lognorm.logpdf(x, 0.5), np.inf, 0.0), (lambda s: stats.lognorm.logpdf(np.inf, s), 0.5, 0.0),
    *[(lambda n, n0=n: stats.nbinom.logpmf(3, n, 1 - 1 / n0), n, 1 / n + 1 / (n + 1) + 1 / (n + 2) + np.log(1 - 1 / n))
      for n in (2.0**10, 2.0**30, 2.0**50)],
    # where there is no density
    *[(lambda z, a=a: stats.gamma.pdf(z, a), 0.0, 0.0) for a in (1e4, 1e6, 1e15)],
    *[(lambda m, a=a: stats.poisson.pmf(a, m), 0.0, 0.0) for a in (1e4, 1e6, 1e15)],
    *[(lambda z, a=a: stats.gamma.logpdf(z, a), 0.0, np.inf) for a in (1e4, 1e6, 1e15)],
])  # fmt: skip
def test_a_gradient_at_an_edge_is_the_limit(f, at, limit):
    """By closed forms: where the density or probability is 0, n pⁿ⁻¹ ... and at ±∞ no NaN by scale."""
    np.testing.assert_allclose(af.grad(f)(at), limit, 1e-12)


def test_outside_of_the_support_of_vectors():
    """SciPy's errors, with the same classes."""
    for x, message in (([0.5, 0.6], "simplex"), ([-0.5, 1.5], "simplex"), ([0.0, 1.0], "density is infinite")):
        for dist in (stats.dirichlet, scipy_stats.dirichlet):
            with pytest.raises(ValueError, match=message if dist is stats.dirichlet else None):
                dist.logpdf(x, [0.5, 2.0])
    for x, scale in (([[1, 2], [2, 1]], np.eye(2)), (np.eye(2), [[1, 2], [2, 1]])):
        said = []
        for dist in (stats.wishart, scipy_stats.wishart):
            with pytest.raises(np.linalg.LinAlgError) as error:
                dist.logpdf(np.array(x, float), 3.0, np.array(scale, float))
            said.append(str(error.value))
        assert said[0] == said[1]


@pytest.mark.parametrize("method", [method for method in EVERY if hasattr(scipy_stats.t, method)])
def test_infinitely_many_degrees_of_freedom(method):
    """Then Student's distribution is the normal one, as SciPy's."""
    at = [[0.0, 0.2, 0.9]] if method in ("ppf", "isf") else [[-50.0, -0.3, 0.0, 2.0]] if method in AT else []
    expected = getattr(scipy_stats.t, method)(*at, inf, 0.5, 2.0)
    df = af.Variable(inf)
    found = getattr(stats.t, method)(*at, df, 0.5, 2.0)
    np.testing.assert_allclose(getattr(found, "value", found), expected, rtol=1e-13)
    if method != "mean":  # it does not depend on df
        np.sum(found).backward()
        assert df.grad == 0
