"""Six models that train in a page: logistic regression, spirals, a curve, digits, a recurrent network, attention."""

from __future__ import annotations

import html
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import autoflow as af
from autoflow import nn

DIGITS = 64  # images
EXAMPLE = runpy.run_path(str(Path(__file__).parent.parent / "examples" / "live_network.py"))
two_layers, spirals_loss = EXAMPLE["predict"], EXAMPLE["loss"]


def separate(w, b, x):
    z = x @ w + b
    return z


def logistic_loss(w, b, x, t):
    z = separate(w, b, x)
    margin = t * z
    return np.mean(np.log1p(np.exp(-margin)))


def cubic(c, x):
    powers = np.stack([np.ones_like(x), x, x**2, x**3], axis=1)
    return powers @ c


def curve_loss(c, x, t):
    y = cubic(c, x)
    return np.mean((y - t) ** 2)


def scores(w, b, x):
    return x @ w + b


def digits_loss(w, b, x, labels):
    z = scores(w, b, x)
    return nn.cross_entropy(z, labels)


def recurrent(w, u, b, v, x):
    h = np.zeros((x.shape[0], len(b)))
    for k in range(x.shape[1]):
        h = np.tanh(x[:, k] @ u + h @ w + b)
    return h @ v


def recurrent_loss(w, u, b, v, x, t):
    y = recurrent(w, u, b, v, x)
    return np.mean((y - t) ** 2)


def attend(wq, wk, wv, x):
    q, k, v = x @ wq, x @ wk, x @ wv
    looks = np.einsum("bij,bkj->bik", q, k) / np.sqrt(3.0)
    weights = nn.softmax(looks, axis=-1)
    return weights @ v


def attention_loss(wq, wk, wv, x, t):
    y = attend(wq, wk, wv, x)
    return np.mean((y - t) ** 2)


def logistic(rng: Any, title: str) -> Any:
    """Two clouds of points, and the line between them."""
    t = np.repeat([1.0, -1.0], 20)
    x = rng.normal(size=(40, 2)) * 0.55 + t[:, None] * [0.55, 0.35]
    return af.live(
        logistic_loss, {"w": np.array([-0.6, 1.1]), "b": np.array(0.4)}, {"x": x, "t": t}, separate, lr=0.3, title=title
    )


def spirals(rng: Any, title: str) -> Any:
    """Two hidden layers of eight units; each card shows what its units say on the plane."""
    return EXAMPLE["page"]


def curve(rng: Any, title: str) -> Any:
    """Four coefficients, and the distances that the loss squares."""
    x = np.sort(rng.uniform(-1.4, 1.4, size=24))
    data = {"x": x, "t": np.sin(2.2 * x) + rng.normal(size=24) * 0.12}
    return af.live(curve_loss, {"c": np.array([0.5, -0.4, 0.3, 0.1])}, data, cubic, lr=0.1, momentum=0.5, title=title)


def digits(rng: Any, title: str) -> Any:
    """Handwriting, 8 × 8: the weights of each class become an image of its digit."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    data = {"x": images[:DIGITS] / 16, "labels": labels[:DIGITS]}
    return af.live(digits_loss, {"w": np.zeros((64, 10)), "b": np.zeros(10)}, data, scores, lr=0.3, title=title)


def rnn(rng: Any, title: str) -> Any:
    """A memory of four numbers adds up three inputs."""
    x = rng.normal(size=(20, 3, 1))
    sizes = {"w": (4, 4), "u": (1, 4), "b": (4,), "v": (4,)}
    params = {name: rng.normal(size=shape) * 0.5 for name, shape in sizes.items()}
    data = {"x": x, "t": 0.5 * x[:, :, 0].sum(axis=1)}
    return af.live(recurrent_loss, params, data, recurrent, lr=0.03, optimizer="adam", title=title)


def attention(rng: Any, title: str) -> Any:
    """One head, asked for the input one place earlier."""
    x = rng.normal(size=(6, 5, 4))
    data = {"x": x, "t": np.roll(x, 1, axis=1)[:, :, :2].copy()}
    params = {name: rng.normal(size=(4, n)) * 0.5 for name, n in (("wq", 3), ("wk", 3), ("wv", 2))}
    return af.live(attention_loss, params, data, attend, lr=0.03, optimizer="adam", title=title)


TITLES: dict[Callable[[Any, str], Any], str] = {
    logistic: "Logistic regression", spirals: "Two spirals", curve: "A cubic through points",
    digits: "Digits by softmax", rnn: "A recurrent network", attention: "One head of attention",
}  # fmt: skip


def build(folder: Path) -> None:
    """Write the six pages and their list. Without scikit-learn there are no digits."""
    folder.mkdir()
    items = []
    for make, title in TITLES.items():
        try:
            page = make(np.random.default_rng(3), title)
        except ImportError:
            continue
        page.save(folder / f"{make.__name__}.html")
        told = html.escape(make.__doc__ or "")
        items.append(f'<li><a href="{make.__name__}.html">{html.escape(title)}</a><br>{told}</li>')
    body = "<h1>Networks that train in the page</h1><p>Press Train; drag a point or a weight; click a card.</p>"
    import pages  # which needs what only the site is made with

    text = pages.page("Live networks", f'{body}<ul class="lessons">{"".join(items)}</ul>', here="live/index.html")
    (folder / "index.html").write_text(text, encoding="utf-8")
