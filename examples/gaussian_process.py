"""A Gaussian process whose length scale and noise are learned from the data.

Shows gradients through a Cholesky factorisation and through solving, on the way to the log marginal likelihood, and
an optimiser on a plain dictionary of Variables.
"""

import numpy as np

import autoflow as af
from autoflow import optim

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 10.0, size=40))
y = np.sin(x) + rng.normal(scale=0.2, size=40)

# Logarithms, so that both stay positive.
log_scale = af.Variable(0.0, name="log scale")
log_noise = af.Variable(0.0, name="log noise")


def kernel(a, b):
    return np.exp(-0.5 * ((a[:, None] - b[None, :]) / np.exp(log_scale)) ** 2)


def covariance():
    return kernel(x, x) + np.exp(2 * log_noise) * np.eye(x.size)


def surprise():
    """−log p(y): half of yᵀ K⁻¹ y + log det K + n log 2π, with K = L Lᵀ."""
    factor = np.linalg.cholesky(covariance())
    whitened = np.linalg.solve(factor, y)
    return 0.5 * np.sum(whitened**2) + np.sum(np.log(np.diagonal(factor))) + 0.5 * x.size * np.log(2 * np.pi)


optimiser = optim.Adam([log_scale, log_noise], lr=0.05)
for _ in range(400):
    loss = surprise()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

with af.no_grad():
    points = np.array([2.5, 5.0, 7.5])
    mean = kernel(points, x) @ np.linalg.solve(covariance(), y)
    print(f"length scale {np.exp(log_scale).item():.5f}, noise {np.exp(log_noise).item():.5f}")
    print(f"log marginal likelihood {-surprise().item():.6f}")
    for point, value in zip(points, mean, strict=True):
        print(f"f({point}) = {value:.5f}")
