"""Draw every picture of this folder: python images/make.py"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import autoflow as af

HERE = Path(__file__).parent


def lesson() -> af.Node:
    """The example of the documentation, after ``backward()``."""
    x, y, z = af.Variable(3.0, name="x"), af.Variable(5.0, name="y"), af.Variable(4.0, name="z")
    a1 = x + y + z
    a2 = x * y * z
    a3 = a1**2 * np.sin(a2)
    a4 = a1 * np.cos(a2)
    a5 = a3 - a4
    for name, node in {"a1": a1, "a2": a2, "a3": a3, "a4": a4, "a5": a5}.items():
        node.name = name
    a5.backward()
    return a5


def network() -> af.Node:
    """Two layers and a loss: cards of arrays."""
    rng = np.random.default_rng(0)
    x = af.Constant(rng.normal(size=(32, 64)), name="x")
    labels = af.Constant(rng.normal(size=(32, 10)), name="labels")
    w1, b1 = af.Variable(rng.normal(size=(64, 128)) / 8, name="W1"), af.Variable(np.zeros(128), name="b1")
    w2, b2 = af.Variable(rng.normal(size=(128, 10)) / 8, name="W2"), af.Variable(np.zeros(10), name="b2")
    hidden = np.tanh(x @ w1 + b1)
    output = hidden @ w2 + b2
    loss = np.sum((output - labels) ** 2) / 320
    for name, node in {"hidden": hidden, "output": output, "loss": loss}.items():
        node.name = name
    loss.backward()
    return loss


def main() -> None:
    """Write the files."""
    a5, loss = lesson(), network()
    for theme in ("light", "dark"):
        af.graph(a5, theme=theme).save(HERE / f"lesson_{theme}.svg")
    af.graph(a5, "values", gradients=False, theme="light").save(HERE / "values.svg")
    af.graph(a5, "names", theme="light").save(HERE / "names.svg")
    af.graph(loss, theme="light").save(HERE / "network.svg")


if __name__ == "__main__":
    main()
