"""The shift and the turn between two pictures, by interpolation, as SciPy's users write it.

The change: one import, and the optimiser is given the gradient. Needs SciPy.
"""

import numpy as np
from scipy.optimize import minimize

from autoflow import scipy, value_and_grad  # was: import scipy.ndimage

rng = np.random.RandomState(0)
picture = scipy.ndimage.gaussian_filter(rng.rand(32, 32), 2.0)
rows, columns = np.indices(picture.shape) - 15.5
inside = np.hypot(rows, columns) < 11


def moved(parameters):
    angle, down, right = parameters
    places = np.stack(
        [
            np.cos(angle) * rows - np.sin(angle) * columns + 15.5 + down,
            np.sin(angle) * rows + np.cos(angle) * columns + 15.5 + right,
        ]
    )
    return scipy.ndimage.map_coordinates(picture, places, order=3, mode="nearest")


target = moved(np.array([0.15, 1.2, -0.7]))


def objective(parameters):
    return 1e4 * np.mean((moved(parameters) - target)[inside] ** 2)


start = np.zeros(3)
result = minimize(value_and_grad(objective), start, jac=True)  # was: result = minimize(objective, start)
for name, number in zip(("angle", "down", "right"), result.x, strict=True):
    print(f"{name}: {number:.4f}")
