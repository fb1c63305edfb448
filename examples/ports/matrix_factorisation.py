"""The best factors of a matrix by gradient descent (what PCA finds), as MyGrad's users write it.

The change: what a tensor is called, and how it is overwritten; gradients add up here until they are cleared.
"""

import numpy as np

import autoflow as af  # was: import mygrad as mg

rng = np.random.RandomState(0)
data = rng.randn(30, 3) @ rng.randn(3, 12) + 0.1 * rng.randn(30, 12)

left = af.variable(0.1 * rng.randn(30, 3))  # was: left = mg.tensor(0.1 * rng.randn(30, 3))
right = af.variable(0.1 * rng.randn(3, 12))  # was: right = mg.tensor(0.1 * rng.randn(3, 12))

for _ in range(1000):
    loss = np.sum((data - left @ right) ** 2)
    loss.backward()
    left.assign(left.value - 0.005 * left.grad)  # was: left.data -= 0.005 * left.grad
    right.assign(right.value - 0.005 * right.grad)  # was: right.data -= 0.005 * right.grad
    left.zero_grad()  # was: left.null_grad()
    right.zero_grad()  # was: right.null_grad()

print(f"error: {loss.item():.6f}")
print(f"of: {np.sum(data**2):.4f}")
