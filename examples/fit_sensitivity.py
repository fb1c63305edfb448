"""How each measurement changes the result of a least-squares fit, and how uncertain the result is.

Shows af.implicit.root: at the best parameters the gradient of the sum of squares is zero. That equation says how they
change with the data, whichever solver found them: here Newton's method, or scipy.optimize if you give it as ``solver``.
"""

import numpy as np

import autoflow as af

rng = np.random.default_rng(0)
time = np.linspace(0.0, 5.0, 40)
noise = 0.05
data = 2.0 * np.exp(-0.7 * time) + rng.normal(scale=noise, size=40)


def sum_of_squares(parameters, data):
    amplitude, rate = parameters
    return np.sum((amplitude * np.exp(-rate * time) - data) ** 2)


def fitted(data):
    return af.implicit.root(af.grad(sum_of_squares), np.array([1.5, 0.6]), data)


amplitude, rate = fitted(data)
sensitivity = af.jacobian(fitted)(data)  # of shape (2, 40): d parameter / d measurement
errors = noise * np.sqrt(np.sum(sensitivity**2, axis=1))  # of independent noise
print(f"amplitude {amplitude:.6f}, rate {rate:.6f}")
print(f"amplitude_error {errors[0]:.6f}, rate_error {errors[1]:.6f}")

# The rate depends on the data in a curved way: the second derivative says by how much noise shifts it.
curvature = np.diag(af.hessian(lambda data: fitted(data)[1])(data))
print(f"bias {0.5 * noise**2 * np.sum(curvature):.6e}")

worst = np.argmax(np.abs(sensitivity[1]))
print(f"moved {worst}, rate_slope {sensitivity[1, worst]:.6f}")
