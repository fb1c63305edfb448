"""Two interleaved half moons told apart by a small network.

Shows af.nn and af.optim: layers that hold their Variables, a loss, an optimiser, and a loop over small batches.
(af.fit is this loop with validation, metrics and a progress bar.)
"""

import numpy as np

from autoflow import nn, optim

rng = np.random.default_rng(0)


def two_moons(n):
    """n points around two half circles, and the circle of each."""
    angles = rng.uniform(0.0, np.pi, size=n)
    labels = rng.integers(0, 2, size=n)
    upper = np.column_stack([np.cos(angles), np.sin(angles)])
    lower = np.column_stack([1.0 - np.cos(angles), 0.5 - np.sin(angles)])
    return np.where(labels[:, None] == 0, upper, lower) + rng.normal(scale=0.1, size=(n, 2)), labels


points, labels = two_moons(1000)
model = nn.Sequential(nn.Linear(2, 16, rng=rng), nn.tanh, nn.Linear(16, 2, rng=rng))
optimiser = optim.Adam(model, lr=0.02)

for _ in range(20):
    order = rng.permutation(len(points))
    for batch in np.split(order, 20):
        loss = nn.cross_entropy(model(points[batch]), labels[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

new_points, new_labels = two_moons(1000)
right = np.argmax(model(new_points), axis=1) == new_labels
print(f"right on new points: {100 * np.mean(right):.1f} %")
