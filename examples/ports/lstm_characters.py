"""A long short-term memory that learns a sentence by heart, as HIPS autograd's users write it.

Parameters are a dict of matrices, with a last row for the bias; the memory is carried through a loop in Python.
The change: two imports.
"""

import numpy as np  # was: import autograd.numpy as np

from autoflow import value_and_grad  # was: from autograd import value_and_grad

text = "she sells sea shells"
letters = sorted(set(text))
numbers = np.array([letters.index(c) for c in text])
hot = np.eye(len(letters))[numbers]
hidden, rng = 12, np.random.RandomState(0)


def sigmoid(x):
    return 0.5 * (np.tanh(0.5 * x) + 1)


def affine(matrix, *parts):
    return np.dot(np.concatenate([*parts, np.ones(1)]), matrix)


def loss(params):
    """Mean surprise by the next letter, in nats."""
    h, memory, total = np.zeros(hidden), np.zeros(hidden), 0.0
    for t in range(len(text) - 1):
        memory = sigmoid(affine(params["forget"], hot[t], h)) * memory
        memory = memory + sigmoid(affine(params["add"], hot[t], h)) * np.tanh(affine(params["change"], hot[t], h))
        h = sigmoid(affine(params["show"], hot[t], h)) * np.tanh(memory)
        scores = affine(params["predict"], h)
        total = total + np.log(np.sum(np.exp(scores))) - scores[numbers[t + 1]]
    return total / (len(text) - 1)


size = len(letters) + hidden + 1
params = {name: 0.2 * rng.randn(size, hidden) for name in ("forget", "add", "change", "show")}
params["predict"] = 0.2 * rng.randn(hidden + 1, len(letters))
velocity = {name: np.zeros(p.shape) for name, p in params.items()}
for step in range(80):
    value, gradient = value_and_grad(loss)(params)
    if step == 0:
        print(f"surprise at first: {value:.5f}")
    for name, g in gradient.items():
        velocity[name] = 0.9 * velocity[name] - 0.5 * g
        params[name] = params[name] + velocity[name]

print(f"surprise: {loss(params):.5f}")
