"""Bayesian linear regression by black-box variational inference, as HIPS autograd's users write it.

A normal distribution without correlations is fitted to the posterior: the lower bound is estimated from samples that
depend on the parameters, so that the gradient goes through them. The change: two imports.
"""

import numpy as np  # was: import autograd.numpy as np

from autoflow import grad  # was: from autograd import grad

rng = np.random.RandomState(0)
x = np.hstack([np.ones((30, 1)), rng.randn(30, 2)])
y = x @ np.array([1.0, -2.0, 0.5]) + 0.5 * rng.randn(30)


def log_density(w):
    """log p(w, y) of each row of w, up to a constant: weights from N(0, 1), noise of 0.5."""
    return -0.5 * np.sum(w**2, axis=1) - 0.5 * np.sum((y - np.dot(w, x.T)) ** 2, axis=1) / 0.5**2


def lower_bound(parameters, noise):
    mean, log_deviation = parameters[:3], parameters[3:]
    samples = mean + np.exp(log_deviation) * noise
    return np.sum(log_deviation) + np.mean(log_density(samples))


gradient = grad(lower_bound)
parameters = np.concatenate([np.zeros(3), -2 * np.ones(3)])
for step in range(1500):
    half = rng.randn(20, 3)
    noise = np.concatenate([half, -half])
    parameters += 0.005 / (1 + 0.01 * step) * gradient(parameters, noise)

for k in range(3):
    print(f"mean{k}: {parameters[k]:.5f} deviation{k}: {np.exp(parameters[3 + k]):.5f}")
