"""Six models as a user would write them, NumPy and autoflow.nn only: for programs as text, and for live pages."""

import numpy as np

from autoflow import nn


def logistic_predict(w, b, x):
    z = x @ w + b
    return z


def logistic_loss(w, b, x, t):
    z = logistic_predict(w, b, x)
    return np.mean(np.log1p(np.exp(-t * z)))


def spiral_predict(W1, b1, W2, b2, w3, b3, x):
    h1 = np.tanh(x @ W1 + b1)
    h2 = np.tanh(h1 @ W2 + b2)
    return h2 @ w3 + b3


def spiral_loss(W1, b1, W2, b2, w3, b3, x, t):
    y = spiral_predict(W1, b1, W2, b2, w3, b3, x)
    return np.mean(np.logaddexp(0.0, -(t * y)))


def curve_predict(c, x):
    powers = np.stack([np.ones_like(x), x, x**2, x**3], axis=1)
    return powers @ c


def curve_loss(c, x, t):
    y = curve_predict(c, x)
    return np.mean((y - t) ** 2)


def digits_predict(W, b, x):
    return x @ W + b


def digits_loss(W, b, x, labels):
    return nn.cross_entropy(digits_predict(W, b, x), labels)


def rnn_predict(W, U, b, v, x):
    h = np.zeros((x.shape[0], 5))
    for k in range(x.shape[1]):
        h = np.tanh(x[:, k] @ U + h @ W + b)
    return h @ v


def rnn_loss(W, U, b, v, x, t):
    y = rnn_predict(W, U, b, v, x)
    return np.var(y - t) + np.mean((y - t) ** 2)


def attention_predict(Wq, Wk, Wv, x):
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = np.einsum("bij,bkj->bik", q, k) / np.sqrt(3.0)
    return nn.softmax(scores, axis=-1) @ v


def attention_loss(Wq, Wk, Wv, x, t):
    return np.mean((attention_predict(Wq, Wk, Wv, x) - t) ** 2)


MODELS = ["logistic", "spiral", "curve", "digits", "rnn", "attention"]


def model(name):
    """The loss, the prediction, parameters and data by name, and the learning rate."""
    rng = np.random.default_rng(0)

    def matrices(**shapes):
        return {key: rng.normal(size=shape) * 0.5 for key, shape in shapes.items()}

    points, sequences = rng.normal(size=(20, 2)), rng.normal(size=(6, 5, 4))
    planar = {"x": points, "t": np.sign(points[:, 0] * points[:, 1])}
    if name == "logistic":
        return logistic_loss, logistic_predict, matrices(w=2, b=()), planar, 0.3
    if name == "spiral":
        return spiral_loss, spiral_predict, matrices(W1=(2, 8), b1=8, W2=(8, 8), b2=8, w3=8, b3=()), planar, 0.1
    if name == "curve":
        x = points[:, 0].copy()
        return curve_loss, curve_predict, matrices(c=4), {"x": x, "t": np.sin(x)}, 0.02
    if name == "digits":
        images = {"x": rng.uniform(size=(30, 64)), "labels": rng.integers(0, 10, size=30)}
        return digits_loss, digits_predict, matrices(W=(64, 10), b=10), images, 0.2
    if name == "rnn":
        shapes = {"W": (5, 5), "U": (4, 5), "b": 5, "v": 5}
        return rnn_loss, rnn_predict, matrices(**shapes), {"x": sequences, "t": rng.normal(size=6)}, 0.05
    shifted = np.roll(sequences, 1, axis=1)[:, :, :2].copy()
    shapes = {"Wq": (4, 3), "Wk": (4, 3), "Wv": (4, 2)}
    return attention_loss, attention_predict, matrices(**shapes), {"x": sequences, "t": shifted}, 0.2
