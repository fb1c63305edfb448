"""A training step as a compiled program: recorded once, run a thousand times without bookkeeping.

Shows af.compile around af.value_and_grad. The function takes what changes (the parameters) as an argument and returns
the new ones.
"""

from time import perf_counter

import numpy as np

import autoflow as af

rng = np.random.default_rng(0)
inputs = rng.normal(size=(50, 5))
targets = inputs @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + rng.normal(scale=0.1, size=50)


def loss(weights):
    """Ridge regression: squares of the errors, and a price for large weights."""
    return np.mean((inputs @ weights - targets) ** 2) + 0.1 * np.sum(weights**2)


def step(weights):
    value, gradient = af.value_and_grad(loss)(weights)
    return value, weights - 0.1 * gradient


def train(step):
    """The weights after 1,000 steps, and the microseconds of one."""
    weights = np.zeros(5)
    _, weights = step(weights)  # the first call of a compiled function records it
    begin = perf_counter()
    for _ in range(1000):
        _, weights = step(weights)
    return weights, (perf_counter() - begin) * 1e3


plain, plain_time = train(step)
compiled, compiled_time = train(af.compile(step))
print("weights", *[f"{weight:.6f}" for weight in compiled])
print(f"differs from the step that is not compiled by {np.max(np.abs(compiled - plain)):.1e}")
print(f"{plain_time:.0f} us per step, compiled {compiled_time:.0f} us")
