"""Graphs, names and colours that several tests of pictures need."""

import numpy as np
from support import example

import autoflow as af
from autoflow.pictures import graph

EVIL = [
    "</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<b>&amp;", "a'b\"c", "<!--", "-->", "]]>",
    "\u2028\u202e\x1b[31m", "javascript:alert(1)", "日本語 é ñ 👍🏽", "lone \ud800 half", "", "two\nlines\ttab",
    "back\\slash \\N \\G \\L \\", "bell\a\x00\x1b[31m", "\u202egnp.exe", "{|}[]#;:%%", "\ufffe\uffff", "a" * 100_000,
]  # fmt: skip


def luminance(colour):
    """How bright it is, by WCAG 2.1."""
    parts = np.array([*bytes.fromhex(colour[1:])]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def by_title(g):
    return {node.title: node for node in g.nodes}


def titles(g):
    """Of what is drawn."""
    return [card.title for card in g.drawn.nodes]


def missing(text, *words):
    """Those that are not in it."""
    return [word for word in words if word not in text]


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
