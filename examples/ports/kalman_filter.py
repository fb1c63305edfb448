"""The noise in a path and in its measurement, by a Kalman filter's likelihood, as SciPy's users write it.

The change: one import, and the optimiser is given the gradient. Needs SciPy.
"""

import numpy as np
from scipy.optimize import minimize

from autoflow import scipy, value_and_grad  # was: import scipy.linalg

rng = np.random.RandomState(0)
move = np.array([[1.0, 1.0], [0.0, 1.0]])  # of a place and a velocity, in one step
path = [np.zeros(2)]
for _ in range(40):
    path.append(move @ path[-1] + np.sqrt(0.1) * rng.randn(2))
measured = np.array(path[1:]) + np.sqrt(0.5) * rng.randn(40, 2)


def objective(logs):
    """−log p(measured), without its constant."""
    process, noise = np.exp(logs)
    x, p, total = np.zeros(2), np.zeros((2, 2)), 0.0
    for y in measured:
        x, p = move @ x, move @ p @ move.T + process * np.eye(2)
        factor = scipy.linalg.cho_factor(p + noise * np.eye(2))
        total = total + np.sum(np.log(np.diag(factor[0]))) + 0.5 * (y - x) @ scipy.linalg.cho_solve(factor, y - x)
        gain = scipy.linalg.cho_solve(factor, p).T
        x, p = x + gain @ (y - x), p - gain @ p
    return total


start = np.zeros(2)
result = minimize(value_and_grad(objective), start, jac=True)  # was: result = minimize(objective, start)
print(f"process: {np.exp(result.x[0]):.4f}")
print(f"noise: {np.exp(result.x[1]):.4f}")
print(f"likelihood: {-result.fun:.5f}")
