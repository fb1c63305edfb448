"""SciPy's functions under all transforms: forward mode, second order, vmap, compile and checkpoint agree with reverse
mode, each beside the others.

Each function that ``docs/scipy.md`` says gives gradients is called with the arguments of ``docs/make_scipy.py``, and
those of ``stats`` along each axis as well; each array in turn is a node. What a transform refuses is no gradient.
"""

import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

import autoflow as af
from autoflow.errors import AutoflowError

sys.path.insert(0, str(Path(__file__).parent))
import make_scipy
from test_keywords import OPEN, differentiated

# Points in an order that is drawn; a fit whose steps end where rounding says; the inverse of a matrix whose condition
# number is 1e5, so that a derivative has 6 digits, and a second one 1.
LEFT_OUT = {*OPEN, "interpolate.barycentric_interpolate", "linalg.svd", "linalg.eig", "stats.epps_singleton_2samp"}
# By day the functions in which a mistake was found, and some of each way to write one.
BY_DAY = {
    "fft": ["fft", "irfft"], "integrate": ["romb"], "linalg": ["expm", "solve", "companion"], "signal": ["lfilter"],
    "ndimage": ["convolve", "gaussian_filter"], "spatial.distance": ["cosine"], "interpolate": ["krogh_interpolate"],
    "stats": ["f_oneway", "levene", "skew", "tvar", "bartlett"],
}  # fmt: skip


def transforms(loss, x, d):
    """What each transform says, beside what reverse mode says."""
    others = [x, x + 0.01 * d, x - 0.02 * d]
    by_reverse = [af.grad(loss)(y) for y in others]
    yield "forward", lambda: (af.jvp(loss, (x,), (d,))[1], np.sum(by_reverse[0] * d))
    yield "checkpoint", lambda: (af.grad(af.checkpoint(loss))(x), by_reverse[0])
    yield "vmap", lambda: (af.vmap(af.grad(loss))(np.stack(others)), np.stack(by_reverse))
    compiled = af.compile(af.grad(loss))
    yield "compile", lambda: (np.stack([compiled(y) for y in others]), np.stack(by_reverse))
    yield "second", lambda: (af.hvp(loss, x, d), af.grad(lambda v: np.sum(af.grad(loss)(v) * d))(x))


def calls(module, name, most):
    """Up to ``most`` calls of a function that have a gradient by an argument: of one argument, and that argument."""
    theirs, ours = [getattr(importlib.import_module(f"{home}.{module}"), name) for home in ("scipy", "autoflow.scipy")]
    if isinstance(theirs, np.ufunc) or hasattr(theirs, "rvs") or make_scipy.takes_function(theirs):
        return
    found = list(make_scipy.calls(theirs, ours))
    if module == "stats" and "axis" in inspect.signature(theirs).parameters:
        x, y = make_scipy.draw(7, 3), make_scipy.draw(7, 3)
        for axis, rest in ((0, ()), (0, (y,)), (1, (y,))):
            found.append([lambda v, f=f, a=axis, rest=rest: f(v, *rest, axis=a) for f in (theirs, ours)] + [x])
    right = 0
    for f, g, x in reversed(found):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(make_scipy, "repeats", lambda *_: False)  # bits are what other tests ask for
            try:
                has_gradient = x.size > 1 and make_scipy.outcome(f, g, x, exact=False) == "gradient"
            except AssertionError:
                continue
        if has_gradient:
            yield g, x
            right += 1
            if right == most:
                return


def wrong(module, name, most=3):
    """What is wrong in a function's calls, and how many transforms agree."""
    found, right = [], 0
    for g, x in calls(module, name, most):
        rng = np.random.default_rng(0)
        d, weights = rng.normal(size=x.shape), rng.normal(size=99)
        sizes = [np.max(np.abs(z), initial=1.0, where=np.isfinite(z)) for z in make_scipy.parts(g(x))]
        weights = weights[: len(sizes)] / sizes  # the sine of a large number has no digits

        def loss(v, g=g, weights=weights):
            parts = make_scipy.parts(g(v))
            return sum([np.sum(np.sin(np.real(z * w))) for z, w in zip(parts, weights, strict=False)])

        with np.errstate(all="ignore"):
            try:
                value, gradient = loss(x), af.grad(loss)(x)
                if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
                    continue
                if np.max(np.abs(gradient), initial=0) * np.max(np.abs(x), initial=0) < 1e-6 * np.abs(value):
                    x = 0.1 * x  # where the function is flat (tanh far from 0), rounding leaves a derivative few digits
                    loss(x)
            except AutoflowError:
                continue
            right += compare(loss, x, d, f"{module}.{name} {x.shape}", found)
    return found, right


def compare(loss, x, d, what, found):
    """How many transforms agree; where they don't, that is added to ``found``."""
    right = 0
    for transform, both in transforms(loss, x, d):
        try:
            ours, expected = both()
            rtol = 1e-5 if transform == "second" else 1e-7
            atol = rtol * np.max(np.abs(expected), initial=1e-6)
            np.testing.assert_allclose(ours, expected, rtol=rtol, atol=atol)
            right += 1
        except AutoflowError:
            continue
        except AssertionError as error:
            found.append(f"{what} {transform}: {' '.join(str(error).split())[:150]}")
    return right


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", BY_DAY)
def test_transforms(module):
    found = [wrong(module, name, most=1) for name in BY_DAY[module]]
    assert not any([errors for errors, _ in found]), found
    assert all([right >= 4 for _, right in found]), found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.nightly
@pytest.mark.parametrize("module", make_scipy.MODULES)
def test_all_transforms(module):
    names = [name for name in differentiated(module) if f"{module}.{name}" not in LEFT_OUT]
    found = [error for name in names for error in wrong(module, name)[0]]
    assert not found, "\n".join(found)


# -- distributions: their shapes, and how many of these are whole numbers ----------------------------------------------

WITHOUT_SHAPES = [
    "cauchy", "expon", "gumbel_l", "gumbel_r", "halfnorm", "laplace", "logistic", "norm", "rayleigh", "uniform",
]  # fmt: skip
DISTRIBUTIONS = {
    **dict.fromkeys(WITHOUT_SHAPES, ((), 0)),
    "gamma": ((2.3,), 0), "beta": ((2.2, 1.7), 0), "t": ((4.5,), 0), "lognorm": ((0.6,), 0), "chi2": ((3.4,), 0),
    "weibull_min": ((1.7,), 0), "pareto": ((2.6,), 0), "poisson": ((2.7,), 0), "binom": ((7, 0.4), 1),
    "bernoulli": ((0.4,), 0), "nbinom": ((3.5, 0.4), 0), "geom": ((0.4,), 0), "skewnorm": ((1.3,), 0),
    "genextreme": ((0.2,), 0), "genpareto": ((0.2,), 0), "invgamma": ((3.3,), 0), "f": ((4.2, 6.3), 0),
    "burr12": ((2.1, 3.2), 0), "truncnorm": ((-1.1, 1.3), 0), "exponnorm": ((1.4,), 0), "vonmises": ((1.2,), 0),
    "johnsonsu": ((0.4, 1.5), 0), "betabinom": ((6, 1.2, 2.1), 1), "zipf": ((3.2,), 0),
}  # fmt: skip
AT_POINTS = "logpdf pdf logpmf pmf cdf sf logcdf logsf".split()  # noqa: SIM905
FIRST = {"ppf": ([0.3, 0.8],), "isf": ([0.3, 0.8],), "moment": (2,), "interval": (0.8,)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.slow if name in ("gamma", "binom") else pytest.mark.nightly)
    for name in DISTRIBUTIONS
])  # fmt: skip
def test_distributions(name):
    """All methods, frozen or not, beside the differences of SciPy's and under all transforms."""
    theirs, ours = [getattr(importlib.import_module(f"{home}.stats"), name) for home in ("scipy", "autoflow.scipy")]
    shapes, fixed = DISTRIBUTIONS[name]
    x = np.array([*shapes[fixed:], *([] if hasattr(theirs, "pmf") else [0.1, 1.3])])
    given = {**dict.fromkeys(AT_POINTS, (theirs.ppf([0.2, 0.6], *shapes[:fixed], *x),)), **FIRST}
    d, found, right = np.random.default_rng(0).normal(size=x.shape), [], 0
    for method in [*given, "mean", "var", "std", "median", "entropy", "stats"]:
        if not hasattr(theirs, method):
            continue
        for frozen in (False, True):

            def call(v, of=ours, method=method, frozen=frozen):
                first, values = given.get(method, ()), [*shapes[:fixed], *v]
                return getattr(of(*values), method)(*first) if frozen else getattr(of, method)(*first, *values)

            def loss(v, call=call):
                return sum([np.sum(np.sin(z)) for z in make_scipy.parts(call(v))])

            if make_scipy.outcome(lambda v, call=call: call(v, theirs), call, x, exact=False) != "gradient":
                continue
            if not np.all(np.isfinite(loss(x))):  # of a moment that does not exist
                continue
            right += compare(loss, x, d, f"{method} {frozen=}", found)
    assert not found, "\n".join(found)
    assert right > 15, right
