"""A network that tells two moons apart, as JAX's users write it: parameters in lists of dicts, a compiled update.

The change: the imports. (JAX computes in float32 unless told otherwise, autoflow in float64, as NumPy does.)
"""

from itertools import pairwise

import numpy as jnp  # was: import jax.numpy as jnp
import numpy as np

from autoflow import compile as jit, tree_map, value_and_grad  # was: from jax import jit, value_and_grad

# was: from jax.tree_util import tree_map

rng = np.random.RandomState(0)
angle = np.pi * rng.rand(200)
labels = np.arange(200) % 2
moons = np.where(labels, [1 - np.cos(angle), 0.5 - np.sin(angle)], [np.cos(angle), np.sin(angle)]).T
points = moons + 0.1 * rng.randn(200, 2)


def init(sizes):
    return [{"w": rng.randn(n, m) / np.sqrt(n), "b": np.zeros(m)} for n, m in pairwise(sizes)]


def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return (x @ params[-1]["w"] + params[-1]["b"])[:, 0]


def loss(params, x, y):
    scores = network(params, x)
    return jnp.mean(jnp.logaddexp(0.0, scores) - y * scores)


@jit
def update(params, x, y):
    value, gradient = value_and_grad(loss)(params, x, y)
    return tree_map(lambda p, g: p - 0.5 * g, params, gradient), value


params = init([2, 16, 16, 1])
for _ in range(500):
    params, value = update(params, points, labels * 1.0)

right = np.mean((np.asarray(network(params, points)) > 0) == labels)
print(f"loss: {float(value):.5f}")
print(f"right: {100 * right:.1f} %")
