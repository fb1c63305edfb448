"""What a notebook shows of a node: its numbers, then what it is; the picture is one click away.

A node is an array, and debuggers and notebooks print arrays all the time. So this is cheap, however large the graph: it
looks at no more than 60 nodes, computes gradients of small graphs only, starts no program, and never raises.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any

from ..modes import modes
from ..nodes.nodes import Node, Variable
from .model.callers import bound_names
from .model.names import Titles
from .model.numbers import numbers
from .model.style import clean, clip
from .pages.exports import wanted_kinds
from .pages.html import PLAIN, image
from .walk import graph as picture_of, identity_of

MOST = 60  # nodes that are drawn without being asked for
ELEMENTS = 100_000  # in all of them; going back through more takes noticeable time


def node_bundle(node: Any, include: Any = None, exclude: Any = None) -> dict[str, Any]:
    """What IPython shows for a node: the text of ``repr``, and HTML.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> bundle = node_bundle(x * x)
    >>> bundle["text/plain"]
    '9.0  Operation multiply_0 = multiply(x, x)'
    >>> "<summary>graph (1 Variable, 1 Operation)</summary>" in bundle["text/html"]
    True
    """
    answer: dict[str, Any] = {}
    for kind in wanted_kinds(["text/plain"] if modes().static else ["text/plain", "text/html"], include, exclude):
        try:
            answer[kind] = repr(node) if kind == "text/plain" else html(node, repr(node))
        except Exception as error:
            if kind == "text/plain":
                answer[kind] = f"<{type(node).__name__}, which cannot be shown: {type(error).__name__}>"
    return answer


def html(node: Any, text: str) -> str:
    """Numbers, a line about the node, and what can be unfolded."""
    body, _, _ = text.rpartition("\n" if "\n" in text else "  ")
    lines = f"<pre>{escape(body or text)}</pre>"
    if not hasattr(node, "name"):  # NumPy made it from a node
        return lines
    try:
        return f'<div class="{PLAIN}">{lines}<div>{escape(node_title(node))}</div>{behind(node)}</div>'
    except Exception:  # a rule of the user's, a value that is gone: the numbers are still right
        return lines


def node_title(node: Any) -> str:
    """``a5: Operation subtract · gradient 1``."""
    record = node.grad_fn
    name = Titles(bound_names()).name(node if record is None else record) or node.name
    words = [type(node).__name__.replace("View", "Operation")]
    if record is not None:
        words[0] += f" {record.rule.name}"
    if node.shape or node.dtype != "float64":
        words.append(f"{numbers(None, node.shape, node.dtype).shape_text()}".strip())
    if isinstance(node, Variable) and not node.requires_grad:
        words.append("frozen")
    gradient = node.grad
    if gradient is not None:
        words.append(f"gradient {numbers(getattr(gradient, 'value', gradient)).text(modes().digits)}")
    return f"{clip(clean(name), 60)}: " + " · ".join(words)


def behind(node: Any) -> str:
    """The picture, folded away; of a large graph how to draw it."""
    record = identity_of(node)
    if record is None or not record.parents:
        return ""
    found = few(record)
    if found is None:
        return f"<div>graph: more than {MOST} nodes; .graph() draws it</div>"
    small = sum([math.prod(x.shape) for x in found]) <= ELEMENTS
    graph = picture_of(node, gradients=None if small else False)
    counts = graph.counts().replace(" · ", ", ")
    return f"<details><summary>graph ({escape(counts)})</summary>{image(graph)}</details>"


def few(record: Any) -> list[Any] | None:
    """The nodes behind a record, itself included; None if there are many. Looks at no more than it needs to."""
    seen = {id(record): record}
    queue = [record]
    for one in queue:
        operands = getattr(one, "operands", ()) if len(getattr(one, "parents", ())) <= MOST else None
        if operands is None:
            return None
        for x in operands:
            if id(x) in seen or not (isinstance(x, Node) or hasattr(x, "node_name")):
                continue
            seen[id(x)] = x
            if len(seen) > MOST:
                return None
            if hasattr(x, "node_name"):
                queue.append(x)
    return list(seen.values())
