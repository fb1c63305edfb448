"""Growth rate and capacity of a population, from counts over time. Needs SciPy.

Shows af.integrate.odeint: the solution of a differential equation is a node, so a loss on it can be minimised over the
equation's parameters and over its starting point.
"""

import numpy as np
from scipy.optimize import minimize

import autoflow as af
from autoflow.integrate import odeint

rng = np.random.default_rng(0)
time = np.linspace(0.0, 10.0, 21)
exact = 5.0 / (1.0 + 9.0 * np.exp(-0.8 * time))  # rate 0.8, capacity 5, start 0.5
counts = exact + rng.normal(scale=0.05, size=time.size)


def growth(y, t, rate, capacity):
    return rate * y * (1.0 - y / capacity)


def loss(parameters):
    rate, capacity, start = parameters
    solution = odeint(growth, start, time, (rate, capacity), rtol=1e-8, atol=1e-8)
    return np.sum((solution[:, 0] - counts) ** 2)


bounds = [(0.01, 10.0)] * 3  # all three are positive: elsewhere the equation may have no solution
found = minimize(af.value_and_grad(loss), x0=[1.0, 4.0, 1.0], jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-10)
rate, capacity, start = found.x
print(f"rate {rate:.5f}, capacity {capacity:.5f}, start {start:.5f}")
