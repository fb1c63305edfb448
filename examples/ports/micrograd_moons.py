"""A network of single numbers that tells two moons apart, as micrograd's users write it.

The change: what a number is called, and how it is overwritten; relu is a function.
"""

import math
import random

from autoflow import Variable as Value  # was: from micrograd.engine import Value
from autoflow.nn import relu  # was: relu = Value.relu

random.seed(1)


class Neuron:
    def __init__(self, inputs, bent=True):
        self.w = [Value(random.uniform(-1, 1)) for _ in range(inputs)]  # noqa: S311 - not for secrets
        self.b, self.bent = Value(0.0), bent

    def __call__(self, x):
        act = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
        return relu(act) if self.bent else act

    def parameters(self):
        return [*self.w, self.b]


layers = [[Neuron(2) for _ in range(8)], [Neuron(8, bent=False)]]
parameters = [p for layer in layers for neuron in layer for p in neuron.parameters()]


def network(x):
    for layer in layers:
        x = [neuron(x) for neuron in layer]
    return x[0]


angles = [math.pi * k / 9 for k in range(10)]
points = [(math.cos(a), math.sin(a)) for a in angles] + [(1 - math.cos(a), 0.5 - math.sin(a)) for a in angles]
labels = [-1] * 10 + [1] * 10

for step in range(80):
    scores = [network(x) for x in points]
    losses = [relu(1 + -y * s) for y, s in zip(labels, scores, strict=True)]
    loss = sum(losses) * (1 / len(losses)) + 1e-4 * sum(p * p for p in parameters)
    for p in parameters:
        p.zero_grad()  # was: p.grad = 0
    loss.backward()
    for p in parameters:
        p.assign(p.value - (0.5 - 0.005 * step) * p.grad)  # was: p.data -= (0.5 - 0.005 * step) * p.grad

print(f"loss: {loss.value:.5f}")  # was: print(f"loss: {loss.data:.5f}")
signs = [s.value > 0 for s in scores]  # was: signs = [s.data > 0 for s in scores]
print(f"right: {sum(sign == (y > 0) for sign, y in zip(signs, labels, strict=True))} of 20")
