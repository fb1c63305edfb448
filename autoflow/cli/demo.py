"""``make demo``: the two main uses of autoflow.

First a small formula: its values, the gradient of everything in it, and a picture. Then a network that learns to
read handwritten digits: its scores are plain NumPy expressions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from .. import nn, optim
from ..nn.train import accuracy, fit
from ..nodes.nodes import Array, Node, Variable
from .commandline import nodes_of, print_table

PICTURES = ("example.svg", "example.dot", "example.html")


def main(folder: str | Path = "demo") -> int:
    """Run both parts; pictures go into ``folder``. Returns the exit status."""
    print("1. A formula: a5 = a3 - a4 at x = 3, y = 5, z = 4\n")
    a5 = example()
    a5.backward(keep_grads=True)
    print_table([node for node in nodes_of(a5) if node.requires_grad])
    print()
    for path in draw(a5, Path(folder)):
        print(f"   the picture of it: {path}")
    print("\n2. A network that reads digits (64 pixels, 64 tanh units, 10 classes)\n")
    digits = load_digits()
    if digits is None:
        print("   This part needs the digits of scikit-learn: pip install scikit-learn tqdm", file=sys.stderr)
        return 1
    accuracy = learn_digits(*digits)
    print(f"   test accuracy: {accuracy:.1%}")
    return 0


def example(x: float = 3.0, y: float = 5.0, z: float = 4.0) -> Node:
    """Plain NumPy. The only new thing is that x, y and z are Variables.

    >>> example()
    -32.46...  Operation a5 = subtract(a3, a4)
    """
    u, v, w = Variable(x, "x"), Variable(y, "y"), Variable(z, "z")
    a1 = u + v + w
    a2 = u * v * w
    a3 = a1**2 * np.sin(a2)
    a4 = a1 * np.cos(a2)
    a5 = a3 - a4
    for name, node in {"a1": a1, "a2": a2, "a3": a3, "a4": a4, "a5": a5}.items():
        node.name = name
    return a5


def draw(root: Node, folder: Path) -> Iterable[Path]:
    """Write the pictures of ``root`` that can be written here, and yield where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        try:
            root.graph().save(folder / name)
        except (OSError, ValueError, ImportError) as error:
            print(f"   no {name}: {str(error).partition(chr(10))[0]}")
        else:
            yield folder / name


def load_digits() -> tuple[Array, Array] | None:
    """1,797 images of 8 x 8 pixels, shape (1797, 64), in 0...1, and their labels; None without scikit-learn."""
    try:
        from sklearn import datasets
    except ImportError:
        return None
    images, labels = datasets.load_digits(return_X_y=True)
    return images / 16.0, labels


def learn_digits(images: Array, labels: Array, *, epochs: int = 60, seed: int = 0) -> float:
    """Train on four fifths of the images; returns the share of the others that the network reads correctly."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    test, train = np.split(order, [len(order) // 5])

    w1, b1 = Variable(rng.normal(0, 1 / 8, (64, 64)), "w1"), Variable(np.zeros(64), "b1")
    w2, b2 = Variable(rng.normal(0, 1 / 8, (64, 10)), "w2"), Variable(np.zeros(10), "b2")

    def scores(x: Array) -> Array:
        """One row per image, one score per class: (n, 64) -> (n, 10)."""
        return np.tanh(x @ w1 + b1) @ w2 + b2

    sgd = optim.SGD([w1, b1, w2, b2], lr=0.1, momentum=0.9)
    fit(scores, images[train], labels[train], loss=nn.cross_entropy, optimiser=sgd, rng=rng, epochs=epochs)
    return accuracy(scores(images[test]), labels[test])
