"""Rows for scipy.special at edges: 0, ±∞, huge, tiny, ends of domains, parameters that are whole and that are not.

Each derivative is compared with differences of SciPy's values (see :mod:`edges`). What is left is in ``LEFT``, which
may only become shorter.
"""

import functools
import importlib.metadata

import numpy as np
import pytest

special = pytest.importorskip("scipy.special")

import edges  # noqa: E402
from support import NIGHTLY, rows  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow.table.table import COMPOSED  # noqa: E402

HOMES = {f"autoflow.rules.{home}" for home in ("special", "bessel", "distributions")}
NOT_TRIED = {
    **dict.fromkeys(["hyp1f1", "hyp2f1", "hyperu", "zeta", "log_betainc"], "SciPy needs minutes for some edges"),
    **dict.fromkeys(["hankel1", "hankel1e", "hankel2", "hankel2e", "lambertw", "wofz"], "complex values"),
    **dict.fromkeys(["eval_hermite", "eval_hermitenorm", "spherical_jn", "spherical_yn", "spherical_in",
                     "spherical_kn"], "SciPy takes whole orders only"),
    "slope_near_one": "of ellipkinc, for m near 1 only",
    **dict.fromkeys(["log_powers", "times_powers", "log_half_step"], "of af.stats: tests/scipy/stats/test_edges.py"),
}  # fmt: skip
PARTS = {"airy": 4, "ellipj": 4, "pbdv": 2, "pbvv": 2, "pbwa": 2}
KINDS = {name: [{"k": k} for k in range(n)] for name, n in PARTS.items()}
KINDS["log_gammainc"] = [{"upper": False}, {"upper": True}]
SCIPY = tuple(map(int, importlib.metadata.version("scipy").split(".")[:2]))
# How many derivatives differ at most, most of them NaN, at the ends of a parameter's domain, or at 1e10 and beyond,
# where SciPy's values are rough or turn faster than differences can follow.
LEFT = {
    "beta": 28, "betainc": 46, "betaincc": 45, "betainccinv": 19, "betaincinv": 14, "binom": 33, "boxcox": 4,
    "boxcox1p": 5, "chdtr": 1, "chdtrc": 1, "chdtri": 3, "cosm1": 4, "cotdg": 4, "dawsn": 2, "ellipeinc": 5,
    "ellipj": 19, "ellipk": 1, "ellipkinc": 15, "ellipkm1": 1, "erfcx": 1, "eval_chebyc": 4, "eval_chebys": 3,
    "eval_chebyt": 4, "eval_chebyu": 3, "eval_gegenbauer": 33, "eval_genlaguerre": 7,
    "eval_jacobi": 6 + (SCIPY >= (1, 18)), "eval_laguerre": 4, "eval_legendre": 2, "eval_sh_chebyt": 4,
    "eval_sh_chebyu": 5, "eval_sh_jacobi": 13, "eval_sh_legendre": 1, "fdtr": 90, "fdtrc": 88, "fresnel_0": 4,
    "fresnel_1": 4, "gammainccinv": 1, "gammaincinv": 1, "gdtr": 2, "gdtrix": 38, "huber": 1, "hyp0f1": 7, "i1e": 6,
    "inv_boxcox": 3, "inv_boxcox1p": 3, "itj0y0_0": 2, "itj0y0_1": 1, "itstruve0": 2, "iv": 4, "j0": 2, "j1": 2,
    "jv": 17, "jve": 17, "k1e": 3, "keip": 1, "kl_div": 1, "log_gammainc": 29, "log_stdtr": 30, "log_wright_bessel": 18,
    "modstruve": 5, "ndtri_exp": 1, "owens_t": 6, "pbdv": 13, "pbvv": 8, "poch": 13, "powm1": 16, "pseudo_huber": 3,
    "rgamma": 5, "sici_0": 4, "sici_1": 3, "skewnorm": 4, "stdtr": 1, "stdtrit": 5, "struve": 29, "tandg": 4,
    "tklmbda": 8, "voigt_profile": 100, "y0": 1, "y1": 1, "yn": 11, "yv": 12, "yve": 12,
}  # fmt: skip

OURS = [row for row in rows() if row.name not in NOT_TRIED
        and {f.__module__ for f in row.derivatives.values()} & HOMES]  # fmt: skip


def call(row, operands, options):
    """The row by its ufunc, as users call it: that is where orders lose their fraction."""
    turn = COMPOSED.get(getattr(special, row.name, None))
    if not isinstance(turn, functools.partial):
        return row.function(*operands, **options)
    values = [*operands, *[options[name] for name in row.names[row.operands :]]]
    return getattr(special, row.name)(*[values[place] for place in turn.args[1]])


def differing(row):
    """For each derivative at each edge that differs: where, what it is, and between which numbers it should be."""
    found = []
    names = row.names[row.operands :]
    for kind in KINDS.get(row.name, [{}]):
        kind = {name: value for name, value in kind.items() if name in names}
        free = [name for name in names if name not in kind]
        columns = edges.grid(row.operands, len(free))
        points, options = columns[: row.operands], dict(zip(free, columns[row.operands :], strict=True)) | kind
        operands = [af.Variable(x) for x in points]
        with np.errstate(all="ignore"):
            z = call(row, operands, options)
            z.backward(np.ones(z.shape))
        for i, x in enumerate(points):

            def of_one(x, i=i, points=points, options=options):
                return np.asarray(call(row, [*points[:i], x, *points[i + 1 :]], options))

            low, high = edges.slopes(of_one, x)
            g = np.asarray(operands[i].grad)
            for k in np.flatnonzero(~np.isnan(low) & ~((g >= low) & (g <= high))):
                at = [float(p[k]) for p in points], [float(options[name][k]) for name in free], kind
                found.append((row.names[i], *at, float(g[k]), float(low[k]), float(high[k])))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", OURS, ids=lambda row: row.name)
def test_derivatives_at_edges_are_those_of_the_values(row):
    found = differing(row)
    assert len(found) <= LEFT.get(row.name, 0), "\n".join(map(str, found[:20]))


MIDDLE = np.array([0.01, 0.3, 0.75, 1.5, 20.5, 100.0, 1e3, 1e5])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [row for row in OURS if row.operands < 3 + NIGHTLY], ids=lambda row: row.name)
def test_single_precision_loses_no_digits_on_the_way(row):
    """SciPy computes in double precision whatever it is given; so do derivatives in which large terms cancel."""
    names = row.names[row.operands :]
    options = {name: KINDS.get(row.name, [{}])[0].get(name, 2.0) for name in names}
    points = [x.ravel() for x in np.meshgrid(*[MIDDLE.astype(np.float32)] * row.operands)]
    grads, values = [], []
    for dtype in (np.float32, np.float64):
        operands = [af.Variable(x, dtype=dtype) for x in points]
        z = call(row, operands, options)
        values.append(np.asarray(z.value, float))
        np.sum(z).backward()
        grads.append([np.asarray(x.grad, float) for x in operands])
    same = np.isclose(*values, rtol=1e-6, atol=1e-37)
    for single, double in zip(*grads, strict=True):
        sure = same & (np.abs(double) < 1e38)
        np.testing.assert_allclose(single[sure], double[sure], rtol=5e-4, atol=1e-37)


SLOPE = (np.tan(0.5) / np.cos(0.5) - np.arctanh(np.sin(0.5))) / 4  # ½ ∫ sin²/cos³ up to ½


@pytest.mark.parametrize(("f", "at", "bend"), [
    (lambda m: special.ellipkinc(0.5, m), 1.0, np.tan(0.5) ** 3 / np.cos(0.5) * 3 / 16 - 9 / 8 * SLOPE),  # ¾ ∫ tan⁴/cos
    (lambda x: special.binom(x, 2.0), 1e-8, 1.0), (lambda x: special.binom(x, 3.0), 1 + 1e-10, 1e-10),
    (lambda y: special.binom(2.0, y), 4 - 1e-8, -0.18055555132394066),  # this one and the next: mpmath
    (lambda y: special.binom(0.5, y), 2.5 - 1e-8, -0.36286520952586426),
    (lambda x: special.poch(x, 2.0), -1 + 1e-9, 2.0), (lambda x: special.struve(0, x), 0.0, 0.0),
    (lambda x: special.struve(1.0, x), 0.0, 4 / (3 * np.pi)), (lambda x: special.modstruve(0, x), 0.0, 0.0),
    (lambda x: special.modstruve(0, x), 1e4, np.inf), (lambda x: special.pseudo_huber(2.0, x), np.inf, 0.0),
    (lambda x: af.grad(lambda x: special.shichi(x)[0])(x), 0.0, 1 / 3), (af.grad(af.grad(special.ber)), 0.0, -3 / 8),
    (special.it2struve0, 0.0, 0.0), (af.grad(special.it2struve0), 1e-7, 4 / (9 * np.pi)),
    # of distribution functions where the density is 0
    (lambda x: special.gammainc(2.0, x), 0.0, 1.0), (lambda x: special.gammaincc(3.0, x), 0.0, 0.0),
    (lambda x: special.betainc(2.0, 3.0, x), 0.0, 12.0), (lambda x: special.betaincc(2.0, 2.0, x), 1.0, 6.0),
    (lambda x: special.chdtr(4.0, x), 0.0, 0.25), (lambda x: special.chdtrc(6.0, x), 0.0, 0.0),
    (lambda x: special.fdtr(6.0, 4.0, x), 0.0, 0.0), (lambda x: special.fdtrc(4.0, 2.0, x), 0.0, -8.0),
    (lambda x: special.gdtr(3.0, 2.0, x), 0.0, 9.0), (lambda x: special.gdtrc(2.0, 3.0, x), 0.0, 0.0),
    (lambda p: special.bdtr(1, 4, p), 0.0, -12.0), (lambda p: special.bdtrc(2, 5, p), 1.0, 0.0),
    (lambda p: special.nbdtr(3, 2, p), 0.0, 20.0), (lambda p: special.nbdtrc(1, 3, p), 1.0, 12.0),
    (lambda m: special.pdtr(1, m), 0.0, -1.0), (lambda m: special.pdtrc(2, m), 0.0, 0.0),
    (np.arcsin, 1.0, np.inf), (np.arcsin, -1.0, -np.inf), (np.arccos, 1.0, -np.inf), (np.arccos, -1.0, np.inf),
    (np.arctanh, 1.0, np.inf), (np.arctanh, -1.0, -np.inf), (special.logit, 0.0, -np.inf), (special.logit, 1.0, np.inf),
    (special.ellipk, 1.0, np.inf), (special.ellipkm1, 0.0, np.inf), (special.kei, 0.0, np.inf),
    (lambda a: special.gammainc(a, 1.0), 0.0, -0.4489500816),  # Richardson's, of first derivatives
    (lambda x: special.beta(x, 0.5), -0.5, -4 * np.pi * (1 - np.log(2)) * 2), (special.dawsn, -np.inf, 0.0),
    (special.erfcx, np.inf, 0.0), (lambda x: special.expn(3, x), 0.0, np.inf),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_curvature_at_edges(f, at, bend):
    """The same in every mode."""
    tangent = lambda x: af.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    for found in (af.hessian(f)(at), af.grad(tangent)(at), af.jvp(af.grad(f), (at,), (1.0,))[1]):
        np.testing.assert_allclose(found, bend, rtol=1e-7, atol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(("f", "at", "slope"), [
    (lambda x: special.poch(x, 1.0), 0.0, 1.0), (lambda x: special.poch(x, -2.0), 0.0, 0.75),
    (lambda x: special.poch(x, -1.0), 1e-8, -1.0), (lambda y: special.boxcox(0.0, y), 0.5, 4.0),
    (lambda x: special.pseudo_huber(x, 0.0), 0.0, 0.0), (lambda x: special.pseudo_huber(x, -2.0), 0.0, 2.0),
    (lambda y: special.pseudo_huber(0.0, y), 0.0, 0.0), (lambda y: special.pseudo_huber(1.5, y), -np.inf, -1.5),
    (lambda x: special.pseudo_huber(x, np.inf), 1.5, np.inf), (lambda x: special.eval_legendre(-3, x), 0.3, 0.9),
    (lambda x: special.eval_chebyu(-3, x), 0.3, -2.0), (lambda x: special.eval_chebyu(-1, x), 0.3, 0.0),
    (lambda x: special.agm(x, 1.0), 0.0, np.inf), (lambda x: special.agm(1.0, x), -0.0, np.inf),
    (lambda x: special.agm(0.0, x), 1.0, 0.0), (lambda x: special.agm(x, x), 0.0, 0.0),
    (lambda x: special.agm(x, 1.0), 1e-200, np.pi / 2 / np.log(4e200) ** 2 / 1e-200),
    (special.kolmogorov, -1.0, 0.0), (special.kolmogorov, np.inf, 0.0), (lambda x: special.tklmbda(x, 2.0), 3.0, 0.0),
    (lambda x: special.expn(0.3, x), 1.0, -2 * np.exp(-1)), (lambda x: special.kn(0.3, x), 1.0, -special.k1(1.0)),
    (lambda x: special.yn(0.3, x), 1.0, -special.y1(1.0)), (lambda p: special.bdtr(0, 1.7, p), 0.5, -1.0),
    (lambda p: special.nbdtr(0.7, 2.7, p), 0.5, 1.0), (lambda p: special.bdtr(2, 2, p), 1.0, 0.0),
    (lambda a: special.gammainc(a, np.inf), 1.0, 0.0), (lambda x: special.gammainc(1.0, x), np.inf, 0.0),
    (lambda n: special.stdtr(n, 1.0), np.inf, 0.0), (lambda m: special.fdtr(m, 2.0, 0.0), 1.0, 0.0),
    (lambda a: special.gdtr(a, 0.5, 0.0), 1.0, 0.0), (lambda s: special.voigt_profile(np.inf, s, 1.0), 1.0, 0.0),
    (lambda t: special.stdtr(np.inf, t), 0.0, 1 / np.sqrt(2 * np.pi)),
    # A narrow peak is that of 1/π(1 + x²), and its slope by the width is s times the second derivative.
    (lambda x: special.voigt_profile(x, 0.0, 1.0), 2.0, -4 / (25 * np.pi)),
    (lambda x: special.voigt_profile(x, 1e-10, 1.0), 2.0, -4 / (25 * np.pi)),
    (lambda c: special.voigt_profile(2.0, 1e-10, c), 1.0, 3 / (25 * np.pi)),
    (lambda s: special.voigt_profile(2.0, s, 1.0), 1e-10, 22e-10 / (125 * np.pi)),
    (lambda n: special.binom(n, 187.88), -0.19, -0.023307017558056),
    (lambda n: special.binom(n, 7915.5), 0.7, -1.7817166339040e-07),
    (lambda k: special.binom(-2465.25, k), 2.5, 324041913.55677354),
    (special.it2struve0, 0.0, -2 / np.pi), (lambda x: special.jve(0.5, x), 0.0, np.inf),
    (lambda m: special.ellipkinc(0.5, m), 1.0, SLOPE), (lambda m: special.ellipkinc(0.5, m), 1 - 1e-12, SLOPE),
    (lambda m: special.ellipj(np.arctanh(np.sin(0.5)), m)[3], 1.0, -np.cos(0.5) * SLOPE),
    (lambda x: special.ellipkinc(x, 1 - 1e-12), 1.5707, 1 / np.sqrt(np.cos(1.5707) ** 2 + 1e-12)),
    (lambda x: special.beta(x, 0.5), -0.5, -2 * np.pi), (lambda x: special.beta(0.5, x), -0.5, -2 * np.pi),
    (lambda x: special.beta(x, 2.0), -3.0, 5 / 36), (lambda x: special.betaln(x, 2.0), -3.0, 5 / 6),
    (lambda a: special.gammainc(a, 1.0), 0.0, -special.exp1(1.0)),
    (lambda a: special.gammaincc(a, 0.1), 0.0, special.exp1(0.1)),
    (lambda y: special.inv_boxcox(-1.0, y), 1.0, -1.0), (lambda y: special.inv_boxcox1p(-2.0, y), 0.5, 0.0),
    (lambda y: special.inv_boxcox(-0.5, y), 2.0, -np.inf), (special.kolmogi, 1.0, -np.inf),
    (special.kolmogorov, np.nan, np.nan), (special.kolmogi, 2.0, np.nan),
    (lambda x: special.struve(-2.5, x), 1e-3, special.struve(-3.5, 1e-3) + 2.5e3 * special.struve(-2.5, 1e-3)),
    (lambda x: np.real(special.hankel1e(1.5, x)), -700.0, 1.5 * np.sqrt(2 / np.pi) * 700**-2.5),
    (lambda x: np.real(special.hankel2e(0.0, x)), -700.0,
     np.real(-special.hankel2e(1.0, -700.0) + 1j * special.hankel2e(0.0, -700.0))),
    (lambda x: np.arctan2(x, 1.0), np.inf, 0.0), (lambda x: np.arctan2(x, 1.0), 1e-200, 1.0),
    (lambda x: np.sum(np.concatenate([np.stack([x, x]), 2.0], axis=None)), 1.0, 2.0),
    (lambda x: special.hyp1f1(0.5, 0.0, x), 0.5, np.inf), (lambda x: special.kve(np.True_, x), 1.0, -1.14446307981),
    (lambda x: np.power(x, np.array(0.0)), 5e-324, 0.0), (lambda x: np.power(x, np.array(0.0)), -1e-310, 0.0),
])  # fmt: skip
def test_named_edges(f, at, slope):
    x = af.Variable(at)
    f(x).backward()
    np.testing.assert_allclose(x.grad, slope, rtol=1e-7, atol=1e-300)
