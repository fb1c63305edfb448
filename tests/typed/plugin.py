"""What mypy knows of NumPy's functions with the plugin: NumPy's own stubs say floating, ndarray or Any."""

from typing import assert_type

import numpy as np

import autoflow as af

x = af.Variable([[1.0, 2.0], [3.0, 4.0]])
plain = np.ones((2, 2))

assert_type(np.mean(x), af.Node)
assert_type(np.sum(x, axis=0), af.Node)
assert_type(np.max(x), af.Node)
assert_type(np.exp(x), af.Node)
assert_type(np.maximum(x, 0), af.Node)
assert_type(np.matmul(plain, x), af.Node)
assert_type(np.where(x > 0, x, 0), af.Node)
assert_type(np.concatenate((x, x)), af.Node)
assert_type(np.linalg.norm(x), af.Node)
assert_type(np.linalg.solve(x, plain), af.Node)
assert_type(np.mean((plain @ np.tanh(x)) ** 2), af.Node)
assert_type(np.einsum("ij,ij", x, x), af.Node)
assert_type(np.exp(plain), np.ndarray)
assert_type(np.greater(x, 0), np.ndarray)
np.mean(x).backward()
