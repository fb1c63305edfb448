"""A network on two spirals that trains in a web page: open live_network.html and press Train.

Shows af.live: the loss and the prediction are plain NumPy. The page computes everything itself, without Python and
without a network: all values and gradients at every step, and what happens when you drag a point or a weight.
"""

import numpy as np

import autoflow as af


def predict(w1, b1, w2, b2, w3, b3, x):
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    return h2 @ w3 + b3


def loss(w1, b1, w2, b2, w3, b3, x, t):
    y = predict(w1, b1, w2, b2, w3, b3, x)
    margin = t * y
    return np.mean(np.logaddexp(0.0, -margin))


rng = np.random.default_rng(3)
turns = np.linspace(0.14, 1.0, 60) ** 0.75 * 3.7 * np.pi
arm = np.stack([np.cos(turns), np.sin(turns)], axis=1) * (turns / turns.max())[:, None] * 1.4
data = {"x": np.concatenate([arm, -arm]) + rng.normal(size=(120, 2)) * 0.03, "t": np.repeat([1.0, -1.0], 60)}
params = {
    "w1": rng.normal(size=(2, 8)) * 0.9, "b1": rng.normal(size=8) * 0.3, "w2": rng.normal(size=(8, 8)) * 0.45,
    "b2": np.zeros(8), "w3": rng.normal(size=8) * 0.4, "b3": np.array(0.0),
}  # fmt: skip

page = af.live(loss, params, data, predict, lr=0.1, momentum=0.9, title="Two spirals")
if __name__ == "__main__":
    path = page.save("live_network.html")
    print(f"size: {path.stat().st_size / 1000:.1f} kB")
    print(f"loss: {loss(**params, **data):.6f}")
