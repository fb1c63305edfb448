"""Code as users write it, and the type of each expression: what mypy and pyright must infer, and what Python finds.

``tests/test_typing.py`` gives this file to the checkers, and runs it with an ``assert_type`` that looks at the value.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, assert_type

import numpy as np

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import InputError, LostGradientError
from autoflow.pictures import Graph, Quiz, Step, Stepper, Summary

T = TypeVar("T")
Two: TypeAlias = tuple[T, T]
Three: TypeAlias = tuple[T, T, T]
Four: TypeAlias = tuple[T, T, T, T]
Array: TypeAlias = np.ndarray
Booleans: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.bool]]

# ---------------------------------------------------------------- nodes, and what is computed with operators

x = af.Variable([[1.0, 2.0], [3.0, 4.0]], name="x")
w = af.Variable(np.ones(2), requires_grad=True)
c = af.Constant([1, 2], "c")
y = x * 2

assert_type((x, af.variable(2.0, name="v")), Two[af.Variable])
assert_type((c, af.constant(2)), Two[af.Constant])
assert_type((y, 2 * x, 2.0 + x, x @ w), Four[af.Node])
assert_type((x - w, x / np.float64(2.0), np.float64(2.0) / x, x**2), Four[af.Node])
assert_type((2**x, x // 2, x % 2, -x), Four[af.Node])
assert_type((+x, abs(x)), Two[af.Node])
assert_type(divmod(x, 2.0), tuple[af.Node, af.Node])
assert_type(((x * 2 + w) ** 2 / 3 - 1, x + np.ones(2), c * 2), Three[af.Node])
assert_type((x < 1, x >= w, x == 1.0, x != w), Four[Booleans])
assert_type(sum([y, y], start=y), af.Node)
y += 1
assert_type(y, af.Node)
with af.no_grad():
    w -= 0.5
assert_type(w, af.Variable)

# ---------------------------------------------------------------- indexing and methods

assert_type((x[0], x[:, 1:], x[x.value > 1]), Three[af.Node])
assert_type([row for row in x], list[af.Node])  # noqa: C416 - iteration is what is tested
assert_type((x.mean(), x.sum(axis=0), x.max(axis=-1, keepdims=True), x.std()), Four[af.Node])
assert_type((x.reshape(4), x.reshape(-1, 1), x.T, x.ravel()), Four[af.Node])
assert_type((x.transpose(1, 0), x.dot(w), x.clip(0, 1), x.copy()), Four[af.Node])
assert_type((x.real, x.cumsum(), x.astype(float), x.astype(np.float32)), Four[af.Node])
assert_type(x.astype(np.int64), Array)
assert_type(x.view(), af.Node)
assert_type(x.detach(), af.Constant)
assert_type(x.mean().sum().reshape(1), af.Node)
assert_type(float(x.mean()), float)
assert_type((x.ndim, x.size), Two[int])

# ---------------------------------------------------------------- what only nodes have

assert_type((x.value, y.value), Two[Array])
assert_type(x.name, str)
assert_type(x.number, int)
assert_type(x.requires_grad, bool)
assert_type(y.opmethod, str | None)
assert_type(y.operands, tuple[af.Node, ...])
assert_type(x.assign([[1.0, 2.0], [3.0, 4.0]]), af.Variable)
loss = (x @ w).sum()
loss.backward()
gradient: Array = x.grad
assert_type(gradient, Array)
x.zero_grad()
assert_type(loss.graph(), Graph)
assert_type(loss.graph(detail="names", direction="down").to_svg(), str)
assert_type(loss.step(), Stepper)
assert_type(loss.quiz(), Quiz)
assert_type(loss.quiz().sheet().to_tex(full=False), str)
assert_type(loss.steps(), list[Step])
assert_type(loss.summary(), Summary)
assert_type(loss.replay({w: 1.0 * w.value}), Array)
loss.register_hook(lambda g: 2 * g).remove()

# ---------------------------------------------------------------- functions of autoflow

assert_type(af.graph(loss), Graph)
assert_type((af.zeros((2, 3)), af.array([[y[0, 0], 0.0]]), af.stack([y[0], y[1]]), af.full(3, 0.5)), Four[af.Node])
assert_type(af.stop_gradient(y), af.Constant)
assert_type(af.gradients(loss, [x, w])[x], Array)
assert_type(list(af.gradients(loss)), list[Array])
assert_type(list(af.gradients(loss).keys()), list[af.Node])
assert_type(af.gradients(loss, [x, w], create_graph=True)[x], af.Node)
assert_type(af.is_grad_enabled(), bool)
assert_type(af.options.keep, int)
assert_type(af.gradcheck(np.sin, 1.0), bool)
assert_type((af.nn.sigmoid(x), af.linalg.solve(x @ x.T, w), af.special.logsumexp(x, axis=1)), Three[af.Node])
assert_type((af.stats.norm.logpdf(x, scale=2.0), af.ops.tanh(x)), Two[af.Node])
af.backward(loss, keep_grads=True)
caught: tuple[type[Exception], ...] = (LostGradientError, InputError)


@af.no_grad
def doubled(v: Array, times: int = 1) -> Array:
    result: Array = v * 2**times
    return result


@af.primitive
def cube(v: Array) -> Array:
    result: Array = v**3
    return result


def pull_cube(g: Array, v: Array) -> Array:
    result: Array = g * 3 * v**2
    return result


cube.defvjp(v=pull_cube)
assert_type(doubled(np.ones(2), times=2), Array)
assert_type(cube(x), af.Node)

# ---------------------------------------------------------------- functions of functions


def energy(v: Array, factor: float = 1.0) -> af.Node:
    return af.array(v).sum() * factor


def norm(p: dict[str, Array]) -> Array:
    result: Array = p["a"].sum() * 2.0 + p["b"].sum()
    return result


def square(t: float) -> float:
    return t * t


v2 = np.ones(2)
tree = {"a": np.ones(2), "b": np.ones(3)}
assert_type((af.grad(energy)(v2), af.grad(energy)(v2, factor=2.0), af.grad(square)(3.0)), Three[Array])
assert_type(af.grad(af.grad(square))(3.0), Array)
assert_type(af.grad(norm)(tree), dict[str, Array])
assert_type(af.value_and_grad(energy)(v2), tuple[Array, Array])
assert_type(af.value_and_grad(norm)(tree), tuple[Array, dict[str, Array]])
assert_type((af.elementwise_grad(np.square)(v2), af.compile(energy)(v2)), Two[Array])
assert_type(af.compile(energy)(v2, factor=2.0), Array)
assert_type(af.compile(af.value_and_grad(norm))(tree), tuple[Array, dict[str, Array]])
assert_type((af.hvp(energy, v2, v2), af.jacobian(energy)(v2), af.grad(lambda t: t**3)(2.0)), Three[Array])
assert_type(af.grad(np.sin)(1.0), Array)
assert_type((af.checkpoint(energy)(v2), af.checkpoint(energy, v2)), Two[af.Node])

# ---------------------------------------------------------------- networks


class Net(nn.Module):
    def __init__(self, rng: np.random.Generator) -> None:
        self.hidden = nn.Linear(2, 4, rng=rng)
        self.memory = nn.RNN(4, 3, rng=rng)

    def forward(self, x: Array, *, scale: float = 1.0) -> tuple[af.Node, af.Node]:
        outputs, last = self.memory(nn.tanh(self.hidden(x)) * scale)
        return outputs, last


rng = np.random.default_rng(0)
net = Net(rng)
model = nn.Sequential(nn.Linear(2, 3, rng=rng), nn.relu, nn.Linear(3, 1, rng=rng))
batch = np.ones((5, 2))
assert_type((nn.Linear(2, 3, rng=rng)(batch), model(batch)), Two[af.Node])
assert_type(net(np.ones((5, 6, 2)), scale=0.5), tuple[af.Node, af.Node])
assert_type(net.hidden.weight, af.Variable)
assert_type(net.train(), Net)
assert_type(model.parameters(), list[af.Variable])
assert_type(model.named_parameters(), dict[str, af.Variable])
assert_type(model.state_dict(), dict[str, Array])
assert_type((nn.functional_call(model, {}, batch), nn.mse_loss(model(batch), np.ones((5, 1)))), Two[af.Node])
assert_type((nn.cross_entropy(model(batch), np.zeros(5, int)), nn.softmax(model(batch), axis=-1)), Two[af.Node])
optimiser = optim.Adam(model.parameters(), lr=0.01)
nn.mse_loss(model(batch), np.ones((5, 1))).backward()
optimiser.step()
assert_type(optimiser, optim.Adam)
assert_type(optim.clip_grad_norm(model.parameters(), 1.0), float)
history = af.fit(
    model, batch, np.ones((5, 1)), loss=nn.mse_loss, optimiser=optimiser, rng=rng, epochs=1, progress=False
)
assert_type(history["loss"], list[float])
layers: list[Callable[[Array], Array]] = [nn.gelu, nn.tanh, model]
