"""Write ``incomplete.npz``: distribution functions of gamma, beta and t, differentiated by their parameters.

    python tests/golden/make_incomplete.py     # needs mpmath, which autoflow and its tests do not; a minute

The integrals of the density's derivatives with 34 digits; where mpmath is quick enough with the function itself, its
numerical derivative with 60 digits must be the same. Columns: parameters, argument, first derivatives, second ones.
"""

from pathlib import Path

import mpmath as mp
import numpy as np
from scipy import special

GRID = [1e-2, 0.3, 1.0, 5.0, 60.0, 1e3, 1e4]
PLACES = [1e-30, 1e-6, 0.05, 0.6, 1 - 1e-9]


LEGENDRE = mp.calculus.quadrature.GaussLegendre(mp.mp)


def integrated(exponent, factors, steep):
    """∫ f(s) exp(h(s)) from 0 to ∞ for all factors: in pieces, doubled until h is far down, of 48 points each."""
    left, right, total = mp.mpf(0), 1 / steep / 8, None
    while left == 0 or exponent(left) > -90:
        middle, half = (left + right) / 2, (right - left) / 2
        for x, w in LEGENDRE.get_nodes(-1, 1, 5, mp.mp.prec):
            s = middle + half * x
            e = w * half * mp.exp(exponent(s))
            part = [e * f for f in factors(s)]
            total = part if total is None else [u + v for u, v in zip(total, part, strict=True)]
        left, right = right, 2 * right
    return total


def gamma(a, x):
    sign = 1 if x > a else -1
    h = lambda s: sign * a * s - x * mp.expm1(sign * s)  # noqa: E731
    psi, trigamma, log = mp.psi(0, a), mp.psi(1, a), mp.log(x)

    def factors(s):
        score = log + sign * s - psi
        return score, score**2 - trigamma

    unit = mp.exp(a * mp.log(x) - x - mp.loggamma(a))
    return [-sign * unit * v for v in integrated(h, factors, max(abs(a - x), mp.sqrt(x), 1 if sign > 0 else 0))]


def beta(a, b, x):
    sign = 1 if x > a / (a + b) else -1
    start = mp.log(x / (1 - x))
    log = lambda y: -mp.log1p(mp.exp(-y))  # noqa: E731 - of the t with logit y
    h = lambda s: a * (log(start + sign * s) - log(start)) + b * (log(-start - sign * s) - log(-start))  # noqa: E731
    psi_a, psi_b = mp.psi(0, a + b) - mp.psi(0, a), mp.psi(0, a + b) - mp.psi(0, b)
    aa, ab, bb = mp.psi(1, a + b) - mp.psi(1, a), mp.psi(1, a + b), mp.psi(1, a + b) - mp.psi(1, b)

    def factors(s):
        by_a, by_b = log(start + sign * s) + psi_a, log(-start - sign * s) + psi_b
        return by_a, by_b, by_a**2 + aa, by_a * by_b + ab, by_b**2 + bb

    unit = mp.exp(a * mp.log(x) + b * mp.log(1 - x) - mp.log(mp.beta(a, b)))
    steep = max(abs(a * (1 - x) - b * x), mp.sqrt((a + b) * x * (1 - x)))
    return [-sign * unit * v for v in integrated(h, factors, steep)]


def student(n, t):
    """The tail, for t > 0."""
    tail = lambda n: mp.betainc(n / 2, mp.mpf(1) / 2, 0, n / (n + t * t), regularized=True) / 2  # noqa: E731
    with mp.workdps(60):
        return [-mp.diff(tail, n), -mp.diff(tail, n, 2)]


def compare(found, f, point):
    """The first derivatives that the function itself gives."""
    with mp.workdps(60):
        for k, mine in enumerate(found[: len(point) - 1]):
            theirs = mp.diff(lambda v, k=k: f(*point[:k], v, *point[k + 1 :]), point[k])
            assert abs(mine / theirs - 1) < 1e-25, (point, mine, theirs)


def main():
    rows = {"gamma": [], "beta": [], "t": []}
    mp.mp.dps = 34
    for a in GRID:
        for x in {float(special.gammaincinv(a, p)) for p in PLACES} | {float(special.gammainccinv(a, 1e-40))}:
            if x > 1e-280:
                point = mp.mpf(a), mp.mpf(x)
                found = gamma(*point)
                if a < 100 and 0.1 < special.gammainc(a, x) < 0.9:
                    compare(found, lambda a, x: mp.gammainc(a, 0, x, regularized=True), point)
                rows["gamma"].append([a, x, *found])
    for a in GRID:
        for b in GRID:
            for x in {float(special.betaincinv(a, b, p)) for p in PLACES}:
                if 1e-280 < x < 1 - 1e-15:
                    point = mp.mpf(a), mp.mpf(b), mp.mpf(x)
                    found = beta(*point)
                    if a + b < 100 and 0.1 < special.betainc(a, b, x) < 0.9:
                        compare(found, lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), point)
                    rows["beta"].append([a, b, x, *found])
    for n in GRID:
        for t in (1e-3, 0.2, 1.0, 1.6, 3.0, 8.0, 30.0):
            rows["t"].append([n, t, *student(mp.mpf(n), mp.mpf(t))])
    arrays = {name: np.array([[float(v) for v in row] for row in found]) for name, found in rows.items()}
    np.savez_compressed(Path(__file__).with_name("incomplete.npz"), **arrays)
    print({name: array.shape for name, array in arrays.items()})


if __name__ == "__main__":
    main()
