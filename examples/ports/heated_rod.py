"""How well a rod conducts, from the temperatures along it: an inverse problem, as SciPy's users write it.

The change: one import, and the optimiser is given the gradient. Needs SciPy.
"""

import numpy as np
from scipy.optimize import minimize

from autoflow import scipy, value_and_grad  # was: import scipy.sparse.linalg

n = 30
between = np.arange(n - 1)
rows = np.concatenate([np.arange(n), between, between + 1])
columns = np.concatenate([np.arange(n), between + 1, between])


def temperatures(logs):
    """Heated everywhere, kept cold at its ends: a sparse system. The rod has three parts."""
    k = n**2 * np.repeat(np.exp(logs), [10, 11, 10])
    data = np.concatenate([k[:-1] + k[1:], -k[1:-1], -k[1:-1]])
    matrix = scipy.sparse.csc_array((data, (rows, columns)), shape=(n, n))
    return scipy.sparse.linalg.spsolve(matrix, np.ones(n))


seen = temperatures(np.log([1.0, 0.4, 2.0])) + 1e-4 * np.random.RandomState(0).randn(n)


def objective(logs):
    return 1e3 * np.sum((temperatures(logs) - seen) ** 2)


start = np.zeros(3)
result = minimize(value_and_grad(objective), start, jac=True)  # was: result = minimize(objective, start)
for name, number in zip(("left", "middle", "right"), np.exp(result.x), strict=True):
    print(f"{name}: {number:.4f}")
