"""A regression on a file that is larger than memory: one part is read at a time.

Shows af.data_parallel over a numpy.memmap, and an optimiser on top of it.
"""

from pathlib import Path

import numpy as np

import autoflow as af
from autoflow import optim


def loss(w, x, y):
    """A mean over rows, as any loss. It sees a part of them."""
    return np.mean((x @ w - y) ** 2)


rng = np.random.default_rng(0)
truth = np.array([1.0, -2.0, 0.5])
x = np.memmap(Path("x.bin"), float, "w+", shape=(20_000, 3))
for first in range(0, len(x), 1000):  # written as it is read, in parts
    x[first : first + 1000] = rng.normal(size=(1000, 3))
y = np.memmap(Path("y.bin"), float, "w+", shape=len(x))
y[:] = x @ truth + rng.normal(0, 0.1, len(x))

total = af.data_parallel(loss, over=("x", "y"), chunks=16)  # workers=pool: the same bits from a pool of processes
w = af.Variable(np.zeros(3), name="w")
optimiser = optim.SGD([w], lr=0.4)
for _ in range(30):
    optimiser.zero_grad()
    error = total(w, x, y)
    error.backward()
    optimiser.step()
print(f"loss: {float(error):.6f}")
print(f"w0: {w.value[0]:.6f}, w1: {w.value[1]:.6f}, w2: {w.value[2]:.6f}")
