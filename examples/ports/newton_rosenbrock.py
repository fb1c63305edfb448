"""Newton's method in Rosenbrock's valley, as JAX's users write it: grad and hessian take a function and return one.

The change: two imports. (JAX computes in float32 unless told otherwise, autoflow in float64, as NumPy does.)
"""

import numpy as jnp  # was: import jax.numpy as jnp

from autoflow import compile as jit, grad, hessian  # was: from jax import grad, hessian, jit


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@jit
def newton(x):
    return x - jnp.linalg.solve(hessian(rosenbrock)(x), grad(rosenbrock)(x))


x = jnp.array([-1.2, 1.0])
for step in range(1, 7):
    x = newton(x)
    print(f"step{step}: {float(rosenbrock(x)):.5e}")

print(f"x0: {float(x[0]):.5f} x1: {float(x[1]):.5f}")
