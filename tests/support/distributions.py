"""The distributions of af.stats with parameters and points to try them, and how their gradients are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import autoflow as af

Array = Any
# Shape parameters, and points inside of the support for loc 0.1 and scale 1.3; none where a density has a kink.
LINES = {
    "norm": (), "uniform": (), "expon": (), "laplace": (), "cauchy": (), "logistic": (), "gumbel_r": (), "gumbel_l": (),
    "lognorm": (0.7,), "weibull_min": (1.8,), "pareto": (2.6,), "gamma": (1.5,), "chi2": (3.2,), "beta": (1.5, 2.5),
    "t": (3.4,),
}  # fmt: skip
COUNTS = {"poisson": (2.5,), "binom": (6, 0.3), "bernoulli": (0.4,), "nbinom": (2.5, 0.4), "geom": (0.35,)}
BOUNDED = ("uniform", "beta")


def pair(name: str, method: str) -> Any:
    """Of a distribution, our method and SciPy's."""
    import scipy.stats

    return [getattr(getattr(home, name), method) for home in (af.stats, scipy.stats)]


def points(name: str) -> Array:
    """Some x inside."""
    if name in COUNTS:
        return np.array([1.0, 2.0, 3.0])
    x = np.array([0.2, 0.5, 0.8] if name in BOUNDED else [1.2, 2.0, 4.5] if name == "pareto" else [0.3, 1.2, 4.0])
    return 0.1 + 1.3 * x


def differences(f: Any, args: list[Any], k: int) -> Array:
    """∂ Σ w f/∂ args[k] for an f of arrays, to ten digits: by four points."""
    x = np.asarray(args[k], float)
    slope = np.zeros_like(x)
    w = weights(f(*args))
    for i in np.ndindex(x.shape):
        h = 1e-3 * max(abs(x[i]), 0.1)
        for step, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            moved = x.copy()
            moved[i] += step * h
            slope[i] += weight * np.sum(w * f(*args[:k], moved, *args[k + 1 :])) / (12 * h)
    return slope


def weights(z: Any) -> Array:
    """Different ones for all elements of a result."""
    z = np.asarray(getattr(z, "value", z))
    return np.cos(np.arange(1.0, z.size + 1)).reshape(z.shape)


def check_gradients(ours: Any, theirs: Any, args: list[Any], moving: list[int], rtol: float = 1e-8) -> None:
    """Of each argument in ``moving``, all of them nodes at once, against differences of SciPy's values."""
    leaves = [af.Variable(np.asarray(v, float)) if k in moving else v for k, v in enumerate(args)]
    z = ours(*leaves)
    np.testing.assert_allclose(z.value, theirs(*args), rtol=1e-10, atol=1e-13)
    (z * weights(z)).sum().backward()
    for k in moving:
        np.testing.assert_allclose(leaves[k].grad, differences(theirs, args, k), rtol, 1e-9, err_msg=f"argument {k}")
