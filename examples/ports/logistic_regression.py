"""Logistic regression by gradient descent, as HIPS autograd's users write it.

The change: two imports. NumPy itself is used, not a wrapped copy of it.
"""

import numpy as np  # was: import autograd.numpy as np

from autoflow import grad  # was: from autograd import grad

rng = np.random.RandomState(0)
inputs = np.hstack([np.ones((80, 1)), rng.randn(80, 2)])
targets = inputs @ np.array([0.5, 2.0, -1.0]) + rng.logistic(size=80) > 0


def predict(weights, inputs):
    return 0.5 * (np.tanh(0.5 * np.dot(inputs, weights)) + 1)


def loss(weights):
    p = predict(weights, inputs)
    return -np.mean(np.log(np.where(targets, p, 1 - p)))


gradient = grad(loss)
weights = np.zeros(3)
print(f"loss at first: {loss(weights):.6f}")
for _ in range(500):
    weights -= 2.0 * gradient(weights)

print(f"loss: {loss(weights):.6f}")
print(f"bias: {weights[0]:.5f} first: {weights[1]:.5f} second: {weights[2]:.5f}")
