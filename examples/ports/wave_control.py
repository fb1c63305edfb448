"""The start of a wave that becomes a given shape later, as HIPS autograd's users write optimisations of simulations.

The string is simulated step by step, and SciPy's optimiser follows the gradient through all steps. The change: two
imports. Needs SciPy.
"""

import numpy as np  # was: import autograd.numpy as np
from scipy.optimize import minimize

from autoflow import value_and_grad  # was: from autograd import value_and_grad

places = np.arange(40)
target = np.exp(-((places - 25.0) ** 2) / 10)


def push(u, before):
    """One step of u'' = c² ∂²u/∂x² − friction, on a ring."""
    bend = np.roll(u, 1) - 2 * u + np.roll(u, -1)
    return u + 0.998 * (u - before) + 0.25 * bend


def simulate(start, steps=40):
    before = u = start
    for _ in range(steps):
        u, before = push(u, before), u
    return u


def mismatch(start):
    return np.sum((simulate(start) - target) ** 2) + 1e-2 * np.sum(start**2)


result = minimize(value_and_grad(mismatch), np.zeros(40), jac=True, method="CG", options={"gtol": 1e-6})
print(f"mismatch at first: {mismatch(np.zeros(40)):.6f}")
print(f"mismatch: {result.fun:.6f}")
print(f"highest: {np.max(result.x):.5f}")
