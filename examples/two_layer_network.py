"""A network of two layers learns the sine, written out by hand.

Shows that a network is NumPy: two matrix products, a tanh, and gradient descent with momentum on a list of Variables.
"""

import numpy as np

import autoflow as af

rng = np.random.default_rng(0)
x = np.linspace(-np.pi, np.pi, 100)[:, None]
y = np.sin(x)

width = 20
w1 = af.Variable(rng.normal(size=(1, width)), name="w1")
b1 = af.Variable(rng.normal(size=width), name="b1")
w2 = af.Variable(rng.normal(size=(width, 1)) / np.sqrt(width), name="w2")
b2 = af.Variable(np.zeros(1), name="b2")
parameters = [w1, b1, w2, b2]


def network(x):
    return np.tanh(x @ w1 + b1) @ w2 + b2


velocities = [np.zeros(p.shape) for p in parameters]
for _ in range(3000):
    loss = np.mean((network(x) - y) ** 2)
    gradients = af.gradients(loss, parameters)
    with af.no_grad():
        for p, velocity in zip(parameters, velocities, strict=True):
            velocity *= 0.9
            velocity -= 0.05 * gradients[p]
            p += velocity

print(f"mean squared error {float(loss):.2e}")
with af.no_grad():
    for point in (-2.0, 0.0, 1.0):
        print(f"network({point}) = {network(np.array([[point]])).item():.3f}")
