"""Programs as their authors write them, for pictures that know the program: each function returns a loss.

Their names, boxes and lines stand in golden files (tests/golden/program), so they are not formatted anew.
"""

import random
from dataclasses import dataclass

import numpy as np

import autoflow as af


class Neuron:
    def __init__(self, inputs, linear=False):
        self.w = [af.Variable(random.uniform(-1, 1)) for _ in range(inputs)]
        self.b = af.Variable(0.0)
        self.linear = linear

    def __call__(self, x):
        act = sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b)
        return act if self.linear else np.tanh(act)


class Layer:
    def __init__(self, inputs, outputs, **options):
        self.neurons = [Neuron(inputs, **options) for _ in range(outputs)]

    def __call__(self, x):
        out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out


class MLP:
    def __init__(self, inputs, outputs):
        sizes = [inputs, *outputs]
        self.layers = [Layer(sizes[i], sizes[i + 1], linear=i == len(outputs) - 1) for i in range(len(outputs))]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def micrograd():
    random.seed(0)
    model = MLP(2, [2, 1])
    score = model([1.0, -2.0])
    loss = (score - 1.0) ** 2
    return loss


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class LSTMCell:
    def __init__(self, inputs, hidden):
        rng = np.random.default_rng(0)
        self.W = af.Variable(rng.normal(size=(inputs + hidden, 4 * hidden)))
        self.b = af.Variable(np.zeros(4 * hidden))

    def forward(self, x, h, c):
        gates = np.concatenate([x, h]) @ self.W + self.b
        i, f, o, g = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return h, c


def lstm():
    cell = LSTMCell(3, 4)
    h, c = np.zeros(4), np.zeros(4)
    xs = np.linspace(-1, 1, 15).reshape(5, 3)
    for t in range(5):
        h, c = cell.forward(xs[t], h, c)
    loss = (h**2).sum()
    return loss


class Block:
    def __init__(self, n):
        self.W = af.Variable(np.eye(n))

    def __call__(self, x):
        return np.maximum(x @ self.W, 0)


class UNet:
    def __init__(self, sizes):
        self.down = [Block(n) for n in sizes]
        self.up = [Block(n) for n in reversed(sizes)]

    def __call__(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = (x[:, ::2] + x[:, 1::2]) / 2
        for block in self.up:
            x = np.repeat(x, 2, axis=1) + skips.pop()
            x = block(x)
        return x


def unet():
    net = UNet([8, 4])
    y = net(np.linspace(0, 1, 16).reshape(2, 8))
    loss = (y**2).mean()
    return loss


def newton():
    a = af.Variable(2.0)
    x = a
    error = 1.0
    while error > 1e-6:
        step = (x * x - a) / (2 * x)
        x = x - step
        error = abs(float(step))
    return x


def diffusion():
    k = af.Variable(0.2)
    u = af.zeros(9)
    u[:] = np.exp(-(np.linspace(-2, 2, 9) ** 2))
    for _ in range(3):
        flux = k * (u[1:] - u[:-1])
        u[1:] -= flux
        u[:-1] += flux
    loss = (u * u).sum()
    return loss


def conv(img, kernel):
    m, n = kernel.shape
    rows, cols = img.shape[0] - m + 1, img.shape[1] - n + 1
    out = 0.0
    for i in range(m):
        for j in range(n):
            out = out + img[i : i + rows, j : j + cols] * kernel[i, j]
    return out


def convolution():
    img = np.arange(36.0).reshape(6, 6)
    kernel = af.Variable(np.ones((3, 3)) / 9)
    acc = conv(img, kernel)
    loss = np.maximum(acc, 0).sum()
    return loss


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(x, params, mask):
    q, k, v = x @ params["Wq"], x @ params["Wk"], x @ params["Wv"]
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = np.where(mask, scores, -1e9)
    return softmax(scores) @ v


def attention():
    params = {name: af.Variable(np.eye(4)) for name in ("Wq", "Wk", "Wv")}
    x = np.linspace(-1, 1, 12).reshape(3, 4)
    mask = np.tril(np.ones((3, 3), bool))
    out = attend(x, params, mask)
    loss = (out**2).mean()
    return loss


def power(x, n):
    if n == 0:
        return 1.0
    if n % 2:
        return x * power(x, n - 1)
    half = power(x, n // 2)
    return half * half


def recursion():
    x = af.Variable(1.1)
    y = power(x, 10)
    return y


def decays(x, rate):
    while True:
        x = x * rate
        yield x


def generator():
    rate = af.Variable(0.9)
    total = 0.0
    for k, x in enumerate(decays(1.0, rate)):
        total = total + x**2
        if k == 3:
            break
    return total


@dataclass
class Params:
    w: af.Variable
    b: af.Variable

    def predict(self, x):
        return x @ self.w + self.b


def dataclasses():
    p = Params(w=af.Variable(np.array([1.0, 2.0])), b=af.Variable(0.5))
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    error = p.predict(x) - np.array([4.0, 5.0])
    loss = (error**2).mean()
    return loss


def convolution_by_einsum():
    img = np.arange(36.0).reshape(6, 6)
    kernel = af.Variable(np.ones((3, 3)) / 9)
    view = np.lib.stride_tricks.sliding_window_view(img, (3, 3))
    acc = np.einsum("ijkl,kl->ij", view, kernel)
    loss = np.maximum(acc, 0).sum()
    return loss


PROGRAMS = [
    micrograd, lstm, unet, newton, diffusion, convolution, convolution_by_einsum, attention, recursion, generator,
    dataclasses,
]  # fmt: skip
