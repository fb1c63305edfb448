"""A straight line through points, by gradient descent.

Shows the three lines of every training loop: compute a loss from Variables, ask for gradients, step against them.
"""

import numpy as np

import autoflow as af

rng = np.random.default_rng(0)
x = rng.uniform(-1.0, 1.0, size=200)
y = 2.0 * x + 0.5 + rng.normal(scale=0.1, size=200)

slope = af.Variable(0.0, name="slope")
intercept = af.Variable(0.0, name="intercept")

for _ in range(200):
    loss = np.mean((slope * x + intercept - y) ** 2)
    slope.zero_grad()  # gradients add up until they are set to zero
    intercept.zero_grad()
    loss.backward()
    with af.no_grad():  # the step is not part of the loss
        slope -= 0.5 * slope.grad
        intercept -= 0.5 * intercept.grad

print(f"slope {float(slope):.6f}, intercept {float(intercept):.6f}")
