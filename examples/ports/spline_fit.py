"""A smooth curve through many noisy points, and where it is best bent: a spline fit, as SciPy's users write it.

The spline goes through a few values, which are fitted, at places between fixed ends, which are fitted, too; what its
curvature costs is its integral. The change: one import, and the optimiser is given the gradient. Needs SciPy.
"""

import numpy as np
from scipy.optimize import minimize

from autoflow import scipy, value_and_grad  # was: import scipy.interpolate

rng = np.random.RandomState(0)
x = np.sort(rng.uniform(0.0, 1.0, 80))
y = np.tanh(8.0 * (x - 0.6)) + 0.05 * rng.randn(80)


def curve(p):
    """The steps between the places are positive, and add up to 1."""
    steps = scipy.special.softmax(p[:5])
    places = np.concatenate([[0.0], np.cumsum(steps)[:-1], [1.0]])
    return scipy.interpolate.CubicSpline(places, p[5:])


def objective(p):
    spline = curve(p)
    bends = spline.derivative(2)
    return np.sum((spline(x) - y) ** 2) + 1e-6 * np.sum(bends(np.linspace(0.0, 1.0, 50)) ** 2)


start = np.zeros(11)
result = minimize(value_and_grad(objective), start, jac=True)  # was: result = minimize(objective, start)
print(f"squares: {result.fun:.4f}")
print(f"middle: {curve(result.x)(0.6):.3f}")
print(f"area: {curve(result.x).integrate(0.0, 1.0):.4f}")
