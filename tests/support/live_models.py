"""The six models of the site's live pages with small data: for programs as text, and for live pages."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "site"))
import live_pages as site

MODELS = ["logistic", "spiral", "curve", "digits", "rnn", "attention"]


def model(name):
    """The loss, the prediction, parameters and data by name, and the learning rate."""
    rng = np.random.default_rng(0)

    def matrices(**shapes):
        return {key: rng.normal(size=shape) * 0.5 for key, shape in shapes.items()}

    points, sequences = rng.normal(size=(20, 2)), rng.normal(size=(6, 5, 4))
    planar = {"x": points, "t": np.sign(points[:, 0] * points[:, 1])}
    if name == "logistic":
        return site.logistic_loss, site.separate, matrices(w=2, b=()), planar, 0.3
    if name == "spiral":
        return site.spirals_loss, site.two_layers, matrices(w1=(2, 8), b1=8, w2=(8, 8), b2=8, w3=8, b3=()), planar, 0.1
    if name == "curve":
        x = points[:, 0].copy()
        return site.curve_loss, site.cubic, matrices(c=4), {"x": x, "t": np.sin(x)}, 0.02
    if name == "digits":
        images = {"x": rng.uniform(size=(30, 64)), "labels": rng.integers(0, 10, size=30)}
        return site.digits_loss, site.scores, matrices(w=(64, 10), b=10), images, 0.2
    if name == "rnn":
        shapes = {"w": (5, 5), "u": (4, 5), "b": 5, "v": 5}
        return site.recurrent_loss, site.recurrent, matrices(**shapes), {"x": sequences, "t": rng.normal(size=6)}, 0.05
    shifted = np.roll(sequences, 1, axis=1)[:, :, :2].copy()
    shapes = {"wq": (4, 3), "wk": (4, 3), "wv": (4, 2)}
    return site.attention_loss, site.attend, matrices(**shapes), {"x": sequences, "t": shifted}, 0.2
