"""A layer that is applied until its result no longer changes, in a network that is trained.

Shows af.implicit.fixed_point: a deep equilibrium layer (S. Bai, J. Z. Kolter and V. Koltun, 2019). It is as deep as the
iteration needs, and takes the memory of one layer: the backward pass is one linear system at the fixed point.
"""

import numpy as np

import autoflow as af
from autoflow import optim

rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, (64, 2))
y = np.sin(x[:, :1] * x[:, 1:])  # a product, which one layer of tanh has no form for

n = 8
sizes = {"inside": (n, n), "from_input": (2, n), "bias": (n,), "to_output": (n, 1)}
p = {name: af.Variable(rng.normal(scale=0.3, size=size), name=name) for name, size in sizes.items()}


def layer(z, given):
    """z and input to z. Rows of the weights inside are kept short (Σ |w| < 0.9), so that there is one fixed point."""
    weights, shift = given
    short = 0.9 * weights / np.maximum(np.sum(np.abs(weights), axis=0), 0.9)
    return np.tanh(z @ short + shift)


def network(x, p):
    shift = x @ p["from_input"] + p["bias"]
    z = af.implicit.fixed_point(layer, np.zeros(shift.shape), (p["inside"], shift), linear=neumann)
    return z @ p["to_output"]


def neumann(product, g):
    """The linear system of the backward pass, (J - 1) u = g, by iterating u = J u - g, like the layer itself."""
    u = -g
    for _ in range(200):
        step = product(u) - g  # (J - 1) u - g
        u = u + step
        if np.max(np.abs(step)) < 1e-12:
            break
    return u


adam = optim.Adam(p.values(), lr=0.02)
for _ in range(150):
    adam.zero_grad()
    loss = np.mean((network(x, p) - y) ** 2)
    loss.backward()
    adam.step()

print(f"loss = {float(loss):.6f}")
print(f"of variance {np.var(y):.6f}")
