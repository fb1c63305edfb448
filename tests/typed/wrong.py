"""What checkers of types must report, one error a line: as ``tests/test_typing.py`` finds here. Never run."""

import numpy as np

import autoflow as af
from autoflow import nn, optim

x = af.Variable(2.0, nmae="x")  # call-arg
x = af.Variable(2.0)
y = x * 2
y.grpah()  # attr-defined
y.graph(detial="names")  # call-arg
y.graph(detail=3)  # arg-type
y.backwards()  # attr-defined
y.backward(create_grahp=True)  # arg-type
y.sum(axsi=0)  # arg-type
(x + 1).assign(3.0)  # attr-defined
x.value.backward()  # attr-defined
x.grad.rund(3)  # union-attr
x.name = 3  # assignment
x.number = 3  # misc
print(y.grad_fn.nmae)  # union-attr
af.grahp(y)  # attr-defined
print(af.options.kepe)  # attr-defined
print(af.nn.Liner)  # attr-defined
nn.Linear(2, 3)  # call-arg
nn.Linear("2", 3, rng=np.random.default_rng(0))  # arg-type
model = nn.Linear(2, 3, rng=np.random.default_rng(0))
print(model.wieght)  # attr-defined
model(np.ones(2), np.ones(3))  # call-arg
print(model(np.ones(2)).lenght)  # attr-defined
optim.Adam(model.parameters(), lr="fast")  # arg-type
optim.Adam(model.parameters(), learning_rate=0.1)  # call-arg
af.zeros(3).bakward()  # attr-defined


def energy(v: np.ndarray) -> af.Node:
    return af.array(v).sum()


af.grad(energy, alow_unused=True)  # call-overload
af.grad(energy)(np.ones(2), 3)  # call-overload
af.compile(energy, falback=True)  # call-arg
af.compile(energy)(np.ones(2), 3)  # call-overload
af.compile(energy)(np.ones(2)).backward()  # attr-defined
af.grad(energy)(np.ones(2)).graph()  # attr-defined
