"""A damped oscillation fitted to noisy data with scipy.optimize.minimize. Needs SciPy.

Shows how an optimiser of another library gets exact gradients: jac=True expects a function that returns the value and
the gradient, and af.value_and_grad makes one from the plain loss.
"""

import numpy as np
from scipy.optimize import minimize

import autoflow as af

rng = np.random.default_rng(0)
time = np.linspace(0.0, 10.0, 200)
truth = np.array([2.0, 0.3, 1.5])  # amplitude, damping, frequency


def curve(parameters, time):
    amplitude, damping, frequency = parameters
    return amplitude * np.exp(-damping * time) * np.cos(frequency * time)


data = curve(truth, time) + rng.normal(scale=0.05, size=time.size)


def loss(parameters):
    return np.sum((curve(parameters, time) - data) ** 2)


found = minimize(af.value_and_grad(loss), x0=[1.0, 0.1, 1.3], jac=True, method="BFGS")
amplitude, damping, frequency = found.x
print(f"amplitude {amplitude:.5f}, damping {damping:.5f}, frequency {frequency:.5f}")
print(f"sum of squares {found.fun:.6f} after {found.nfev} evaluations")
