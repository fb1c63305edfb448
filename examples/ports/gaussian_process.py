"""Hyperparameters of a Gaussian process by SciPy's optimiser, as HIPS autograd's users write it.

The change: two imports. Needs SciPy.
"""

import numpy as np  # was: import autograd.numpy as np
from scipy.optimize import minimize

from autoflow import value_and_grad  # was: from autograd import value_and_grad

rng = np.random.RandomState(1)
x = np.linspace(-3, 3, 25)
y = np.cos(2 * x) + 0.1 * rng.randn(25)


def covariance(parameters):
    scale, length, noise = np.exp(parameters)
    differences = (np.expand_dims(x, 1) - np.expand_dims(x, 0)) / length
    return scale * np.exp(-0.5 * differences**2) + noise * np.eye(25)


def objective(parameters):
    """−log p(y)"""
    k = covariance(parameters)
    _, log_determinant = np.linalg.slogdet(k)
    return 0.5 * np.dot(y, np.linalg.solve(k, y)) + 0.5 * log_determinant + 0.5 * 25 * np.log(2 * np.pi)


result = minimize(value_and_grad(objective), np.zeros(3), jac=True, method="CG", options={"gtol": 1e-7})
scale, length, noise = np.exp(result.x)
print(f"scale: {scale:.4f} length: {length:.4f} noise: {noise:.6f}")
print(f"likelihood: {-result.fun:.6f}")
