"""Stiffness and friction of a pendulum from its swings, as HIPS autograd's users fit differential equations.

The gradient goes through SciPy's solver. The change: the imports; tuples are Python's own; np.stack turns a list of
results into an array. Needs SciPy.
"""

import numpy as np  # was: import autograd.numpy as np
from scipy.optimize import minimize

from autoflow import value_and_grad  # was: from autograd import value_and_grad
from autoflow.integrate import odeint  # was: from autograd.scipy.integrate import odeint

# was: from autograd.builtins import tuple

times, start = np.linspace(0.0, 2.0, 8), np.array([2.0, 0.0])
rng = np.random.RandomState(0)


def slope(y, t, stiffness, friction):
    angle, speed = y[0], y[1]
    bend = -stiffness * np.sin(angle) - friction * speed
    return np.stack([speed, bend])  # was: return np.array([speed, bend])


observed = odeint(slope, start, times, (4.0, 0.3))[:, 0] + 0.02 * rng.randn(8)


def loss(p):
    parameters = (p[0], p[1])  # was: parameters = tuple((p[0], p[1]))
    path = odeint(slope, start, times, parameters)
    return np.mean((path[:, 0] - observed) ** 2)


result = minimize(value_and_grad(loss), np.array([3.5, 0.2]), jac=True, method="BFGS", options={"gtol": 1e-5})
print(f"stiffness: {result.x[0]:.4f} friction: {result.x[1]:.4f}")
print(f"error: {result.fun:.6f}")
