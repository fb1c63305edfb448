"""What mypy knows of NumPy's functions with the plugin: NumPy's own stubs say floating, ndarray or Any."""

from typing import TypeAlias, assert_type

import numpy as np

import autoflow as af

x = af.Variable([[1.0, 2.0], [3.0, 4.0]])
plain = np.ones((2, 2))

Four: TypeAlias = tuple[af.Node, af.Node, af.Node, af.Node]

assert_type((np.mean(x), np.sum(x, axis=0), np.max(x), np.exp(x)), Four)
assert_type((np.maximum(x, 0), np.matmul(plain, x), np.where(x > 0, x, 0), np.concatenate((x, x))), Four)
assert_type((np.linalg.norm(x), np.linalg.solve(x, plain), np.mean((plain @ np.tanh(x)) ** 2), x.sum()), Four)
assert_type(np.einsum("ij,ij", x, x), af.Node)
assert_type(np.exp(plain), np.ndarray)
assert_type(np.greater(x, 0), np.ndarray)
np.mean(x).backward()
