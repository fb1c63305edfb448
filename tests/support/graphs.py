"""Graphs, names and colours that several tests of pictures need."""

import numpy as np
from support import example

import autoflow as af
from autoflow.pictures import graph

EVIL = [
    "</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<b>&amp;", "a'b\"c", "<!--", "]]>",
    "\u2028\u202e\x1b[31m", "javascript:alert(1)", "日本語 👍🏽", "\ud800", "", "a" * 100_000,
]  # fmt: skip


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return sum(
        w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True)
    )


def by_title(g):
    return {node.title: node for node in g.nodes}


def random_graph():
    rng = np.random.default_rng(1)
    nodes = [af.Variable(0.1 * k, name=f"v{k}") for k in range(5)]
    for k in range(60):
        a, b = rng.integers(0, len(nodes), 2)
        nodes.append(nodes[a] * nodes[b] if k % 3 else np.sin(nodes[a]) + nodes[b])
    return graph(sum(nodes[-8:], 0.0), gradients=True)


def lesson():
    """The example of the documentation, in the numbers of the mock-up."""
    return example(2.0, 1.0, 0.5)


def repeat(f, x, count):
    """f of f of ... of x."""
    for _ in range(count):
        x = f(x)
    return x


def shared():
    x = af.Variable(2.0, name="x")
    a = x * x
    out = a + a * x
    a.name, out.name = "a", "out"
    return out, x
