"""Curves through places and values: SciPy's values, and their slopes by all that defines them."""

import importlib

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")

import scipy.interpolate  # noqa: E402, F811
import scipy.sparse.linalg  # noqa: E402
from scipys import check  # noqa: E402

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.uniform(0.5, 1.5, shape)


X, Y = np.cumsum(draw(8)), draw(8)
POINTS, TABLE = X[:-1] + 0.1, draw(8, 8)
METHODS = {
    "values": lambda s, p: s(p), "slopes": lambda s, p: s(p, 1), "derivative": lambda s, p: s.derivative(2)(p),
    "antiderivative": lambda s, p: s.antiderivative()(p), "integral": lambda s, p: s.integrate(p[0], p[3]),
    "roots": lambda s, p: s.roots(), "outside": lambda s, p: s(p + 20.0),
}  # fmt: skip


def on_grid(m, x, y, how):
    exact = {"solver": scipy.sparse.linalg.spsolve} if how == "cubic" else {}  # else SciPy's values are of an iteration
    table = m.RegularGridInterpolator((x, x), TABLE * y[:, None], how, **exact)
    return lambda p, *_: table(np.stack([p, p[::-1]], 1))


CURVES = {
    **{f"CubicSpline {end}": lambda m, x, y, end=end: m.CubicSpline(x, y, bc_type=end)
        for end in ("not-a-knot", "natural", "clamped")},
    **{name: lambda m, x, y, name=name: getattr(m, name)(x, y) for name in (
        "PchipInterpolator", "Akima1DInterpolator", "make_interp_spline", "UnivariateSpline", "make_smoothing_spline",
        "BarycentricInterpolator", "KroghInterpolator")},
    **{f"degree {k}": lambda m, x, y, k=k: m.make_interp_spline(x, y, k) for k in (1, 2, 4, 5)},
    **{f"interp1d {k}": lambda m, x, y, k=k: m.interp1d(x, y, k, fill_value="extrapolate")
        for k in ("linear", "nearest", "cubic", "next")},
    "PPoly": lambda m, x, y: m.PPoly(np.stack([y[:-1], y[1:]]), x),
    "from_spline": lambda m, x, y: m.PPoly.from_spline(m.make_interp_spline(x, y)),
    **{f"grid {how}": lambda m, x, y, how=how: on_grid(m, x, y, how) for how in ("linear", "nearest", "cubic")},
}  # fmt: skip
# From SciPy 1.18 on a spline of numbers computes with an object of numbers alone, and refuses places that are nodes.
DELEGATES = hasattr(scipy.interpolate.BSpline(np.arange(4.0), np.ones(2), 1), "_delegate_to")
WITHOUT_SLOPES = {"UnivariateSpline", "interp1d nearest", "interp1d next", "grid nearest"}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("method", METHODS)
def test_curves(name, method):
    if method == "outside" and name in ("BarycentricInterpolator", "KroghInterpolator"):
        return  # polynomials of degree 7 go on there, to numbers that have few digits in common with their differences
    given = [X, Y, POINTS]
    for k, x in enumerate(given):

        def call(which, v, k=k):
            m = importlib.import_module(f"{which}.interpolate")
            np.random.seed(0)  # BarycentricInterpolator takes its points in an order that is drawn
            x, y, points = [*given[:k], v, *given[k + 1 :]]
            return METHODS[method](CURVES[name](m, x, y), points)

        found = check(call, x)
        is_refused = DELEGATES and name.startswith(("degree", "from_spline", "make_"))
        of_nodes_at_numbers = k < 2 or method != "values"
        assert found or is_refused or of_nodes_at_numbers or name in WITHOUT_SLOPES


@pytest.mark.parametrize("ext", range(4))
@pytest.mark.parametrize("k", [1, 2, 3])
def test_curves_of_fitpack(k, ext):
    """Knots, values and slopes as FITPACK has them; and the curve of least squares with given knots."""
    points = np.append(POINTS, [X[0] - 0.3, X[-1] + 0.2] if ext != 2 else [])
    for j, x in enumerate((X, Y, points)):

        def call(which, v, j=j):
            m = importlib.import_module(f"{which}.interpolate")
            x, y, p = [*(X, Y, points)[:j], v, *(X, Y, points)[j + 1 :]]
            tck, knots = m.splrep(x, y, k=k), np.concatenate([[X[0]] * (k + 1), X[3:5], [X[-1]] * (k + 1)])
            fit = m.make_lsq_spline(x, y, knots, k)(p[:7]) if j == 1 or (j and not DELEGATES) else 0.0
            slope = m.splev(p, tck, 1, ext) if ext != 3 or k == 1 else 0.0  # FITPACK's own ends are refused
            return tck[0], tck[1], m.splev(p, tck, 0, ext), slope, m.splint(p[0], p[6], tck), fit

        assert check(call, x)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_as_few_points_as_a_curve_may_have(k):
    def call(which, y):
        return importlib.import_module(f"{which}.interpolate").splrep(X[: k + 1], y, k=k)[:2]

    assert check(call, Y[: k + 1])


def test_splines_of_places_in_the_plane():
    places = RNG.uniform(size=(9, 2))

    def call(which, x):
        m = importlib.import_module(f"{which}.interpolate")
        with np.errstate(all="raise"):
            made = m.RBFInterpolator(places, x[:9], smoothing=0.1)
            return made(np.reshape(x[9:], (2, 2)))

    is_differentiated = check(call, np.concatenate([places[:, 0] ** 2, [0.3, 0.4, 0.5, 0.7]]))
    assert is_differentiated == hasattr(scipy.interpolate._rbfinterp, "_rbfinterp_xp")  # before SciPy 1.17 it is in C
