"""One rule tested by hand: the worked example. The tests of all the others are generated (test_rules.py)."""

import numpy as np

import autoflow as af


def test_multiply_by_hand():
    """z = x · y: what goes back is g · y to x, and g · x to y, summed over the rows because y was broadcast."""
    x = af.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = af.Variable([10.0, 20.0, 30.0])
    g = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]])  # dL/dz
    z = x * y
    assert z.value.tolist() == [[10.0, 40.0, 90.0], [40.0, 100.0, 180.0]]
    z.backward(g)
    assert x.grad.tolist() == [[10.0, 0.0, 60.0], [0.0, -20.0, 30.0]]
    assert y.grad.tolist() == [1.0, -5.0, 12.0]  # 1·1 + 0·4, 0·2 − 1·5, 2·3 + 1·6
    # No rule needed: move y[2] a little, and see by how much L = Σ g ⊙ z changes.
    moved = x.value * np.array([10.0, 20.0, 30.5])
    assert np.sum(g * (moved - z.value)) / 0.5 == 12.0
    # The derivative has a derivative: ∂²z/∂x∂y = 1.
    assert af.grad(af.grad(np.multiply, 0), 1)(2.0, 5.0) == 1.0
