"""A derivative of your own for a function that NumPy does not have, and the test that it is right.

Shows @af.primitive and af.gradcheck. The function solves Kepler's equation, x − e sin(x) = m, by bisection: through
comparisons, which have no gradient. The equation itself has one, by the implicit function theorem.
"""

import numpy as np

import autoflow as af


@af.primitive(label="kepler", elementwise=True)
def kepler(e, m):
    """The x with x − e sin(x) = m, for 0 ≤ e < 1."""
    low, high = np.broadcast_arrays(m - 1.0, m + 1.0)
    for _ in range(60):
        middle = (low + high) / 2
        too_high = middle - e * np.sin(middle) > m
        low, high = np.where(too_high, low, middle), np.where(too_high, middle, high)
    return (low + high) / 2


# Differentiate x − e sin(x) = m on both sides: dx (1 − e cos x) − de sin(x) = dm. Here z is the result, x above.
kepler.defvjp(
    e=lambda g, z, e: g * np.sin(z) / (1 - e * np.cos(z)),
    m=lambda g, z, e: g / (1 - e * np.cos(z)),
)

print("gradcheck:", af.gradcheck(kepler, 0.3, np.array([0.5, 1.0, 2.0]), order=2))

e = af.Variable(0.3, name="e")
anomaly = kepler(e, 1.0)
anomaly.backward()
print(f"x = {float(anomaly):.8f}, dx/de = {float(e.grad):.8f}")
