"""``node.graph()`` and its arguments: a :class:`~.facade.Graph` of one walk over the records behind a node."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import LOST, LostGradientError
from ..forward.replay import key_of, record_again
from ..modes import modes
from ..nodes.nodes import Node, OperationRole
from .facade import Graph, facade
from .folding import huge
from .formulas.sent_back import rules_of
from .model.data import GraphData, Look, Vertex
from .model.gathering import Walk, identity_of
from .model.numbers import FEW
from .model.style import clip
from .render.directions import TIGHTER, best_way, excess, fit_picture

LIMIT = 2000  # nodes whose numbers a picture has by default
LESSON = 60  # larger graphs are drawn without local derivatives, unless these are asked for
WORDS = {
    "detail": ("names", "values", "lesson", "arrays"),
    "direction": ("right", "down", "rows", "boxes"),
    "constants": ("inline", "nodes"),
    "theme": ("auto", "light", "dark"),
    "engine": ("built-in", "dot"),
}


def graph(
    node: Any, detail: str | None = None, *, direction: str | None = None, constants: str = "inline",
    legend: bool = True, theme: str | None = None, engine: str | None = None, gradients: bool | None = None,
    limit: int | None = None, depth: int | None = None, open: str | Sequence[str] = (), around: Any = None,
    radius: int = 2, highlight: Any = None, merge: bool = True, fold: bool = True,
) -> Graph:  # fmt: skip
    """The picture of how ``node`` (or each of a list of nodes) was computed, and of one backward pass from it.

    detail : how much a node shows. "names"; "values"; "lesson": also the local derivative and the product sent
        back on every arrow; "arrays": shapes and statistics. None decides: "arrays" if something has more than 6
        elements, "lesson" after ``backward()``, else "values".
    direction : "right", "down", "rows" (to the right, in several rows), or "boxes" (the same, but downwards inside
        boxes). None: right if that fits on a page, else whichever is easiest to read.
    constants : "inline" writes plain numbers into the operand's row, "nodes" draws them as nodes.
    legend : whether to add a line that explains the symbols.
    theme : "auto" (as the reader's screen), "light" or "dark". None: ``af.options.theme``.
    engine : "built-in", or "dot" to let Graphviz arrange the SVG, if it is installed.
    gradients : True shows them, False does not, None shows them if ``backward()`` has been called. They are computed
        anew, in one pass seeded with ones; nothing is written into the nodes.
    limit : of a larger graph the nodes nearest to the output are drawn. None: boxes fold instead, or sections of a
        graph without boxes.
    depth : boxes (``af.scope``) inside this many others are folded; 0 folds all boxes. None: depends on the size.
    open : names of boxes that stay open.
    around, radius : draw only what is at most ``radius`` arrows away from the node ``around``.
    highlight : a node; everything that is not on a path from it to the output is faded.
    merge : draw chains of + or of * whose inner results have no names as one card.
    fold : False draws everything, however large.

    Raises LostGradientError for anything but a node, ValueError for unknown options.

    >>> import autoflow as af
    >>> x, y = af.Variable(3.0, name="x"), af.Variable(5.0, name="y")
    >>> g = graph(x * y, gradients=True)
    >>> [(edge.source, edge.target, edge.sent.elements) for edge in g.edges]
    [(0, 2, (5.0,)), (1, 2, (3.0,))]
    """
    words: dict[str, Any] = dict(locals())  # all arguments, by name
    picture = build_picture(**words)

    def again(inputs: Any) -> Graph:
        new, places = record_again(check_nodes(node), inputs)
        there = {word: places.get(key_of(words[word])) for word in ("around", "highlight") if words[word] is not None}
        if any([x is None for x in there.values()]):
            raise ValueError(
                "the node that this picture is drawn around, or highlights, is no longer part of the graph"
            )
        shown = picture.gradients or gradients
        return replace(graph(**{**words, **there, "node": new, "gradients": shown}), again=again)

    return facade(picture, again=again)


def build_picture(
    node: Any, detail: str | None, direction: str | None, constants: str, legend: bool, theme: str | None,
    engine: str | None, gradients: bool | None, limit: int | None, depth: int | None, open: str | Sequence[str],
    around: Any, radius: int, highlight: Any, merge: bool, fold: bool,
) -> GraphData:  # fmt: skip
    """What :func:`graph` returns, as plain data."""
    theme, engine = theme or modes().theme, engine or "built-in"
    check_words(detail=detail, direction=direction, constants=constants, theme=theme, engine=engine)
    roots = check_nodes(node)
    opened = (open,) if isinstance(open, str) else tuple(open)
    walk = Walk(roots, constants == "nodes", limit or LIMIT)
    if around is not None:
        walk.keep(around, radius)
    elif walk.hidden and limit is None and fold and (folded := huge.fold_huge_graph(walk, depth, opened)):
        way, size = best_way(folded)
        for _, few in () if direction or depth is not None or opened else TIGHTER:
            if excess(size) > 1.0 and (tried := huge.fold_huge_graph(walk, depth, opened, few)):
                other, found = best_way(tried)
                folded, way, size = (tried, other, found) if excess(found) < excess(size) else (folded, way, size)
        way = direction or way
        return replace(folded, look=Look(detail or "values", way, bool(legend), theme, engine, modes().digits, False))
    notes = walk.go(gradients)
    nodes, outputs = walk.vertices()
    chosen = detail is None
    if detail is None:
        large = any([n.value.size > FEW for n in nodes])
        detail = "arrays" if large else "lesson" if walk.flow and len(nodes) <= LESSON else "values"
    if detail == "arrays" and walk.flow and len(nodes) <= LIMIT:
        nodes = with_rules(nodes, walk)
    faded = () if highlight is None else walk.faded(highlight)
    look = Look(
        detail, direction or "", bool(legend), theme, engine, modes().digits, bool(merge), bool(fold) and limit is None,
        depth, opened, compact=None if chosen and constants == "inline" else False,
    )  # fmt: skip
    picture = GraphData(
        nodes, outputs, walk.title(), bool(walk.flow), tuple(notes), look, faded=faded, hidden=walk.hidden,
        several=walk.several(),
    )  # fmt: skip
    return picture if direction else fit_picture(picture)


def with_rules(nodes: Sequence[Vertex], walk: Walk) -> tuple[Vertex, ...]:
    """The nodes, with what each sends back to its operands in letters."""
    rules = {walk.ids[id(r)]: rules_of(r, walk.titles) for r in walk.shown if r.parents}
    return tuple(
        [
            replace(v, operands=tuple([
                replace(row, rule=rules[v.id][row.slot]) if row.sent is not None and rules[v.id][row.slot] else row
                for row in v.operands
            ])) if v.id in rules else v
            for v in nodes
        ]
    )  # fmt: skip


def check_words(**given: Any) -> None:
    """Raise ValueError with the allowed words if one of the arguments is not among them."""
    for name, value in given.items():
        if value is not None and value not in WORDS[name]:
            words = ", ".join(map(repr, WORDS[name]))
            raise ValueError(
                f"{name} is one of {words}{'' if name == 'constants' else ', or None'}; not {clip(repr(value), 40)}"
            )


def check_nodes(node: Any) -> list[Any]:
    """The nodes to draw, each once."""
    given = list(node) if isinstance(node, (list, tuple)) else [node]
    for x in given or [node]:
        orphan = isinstance(x, OperationRole) and x.grad_fn is None  # NumPy made it from a node, without a history
        if not isinstance(x, Node) or orphan:
            raise LostGradientError(
                f"a picture starts from a node, not from {type(x).__name__} {clip(repr(x), 60)}.\n{LOST}"
            )
    return list({id(x): x for x in given}.values())


def draw(node: Any, detail: str | None = None, **options: Any) -> Graph:
    """Show the picture of ``node`` here and now, in IPython or a notebook, and return it. Arguments: :func:`graph`."""
    picture = graph(node, detail, **options)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return picture
    from IPython.display import display

    display(picture)
    shown = facade(picture, Drawn)
    shown.__dict__["cell"] = shell.execution_count
    return shown


class Drawn(Graph):
    """A Graph that has been shown in this cell: as the cell's value it is not shown a second time."""

    def _ipython_display_(self) -> None:
        from IPython import get_ipython
        from IPython.display import display

        if self.__dict__["cell"] != get_ipython().execution_count:
            display(facade(self))

    def __reduce__(self) -> Any:
        """A copy has not been shown."""
        return facade(self).__reduce_ex__(2)


def to_dot(node: Any, detail: str | None = None, **options: Any) -> str:
    """The picture of ``node`` in Graphviz's language. Arguments as for :func:`graph`."""
    return graph(node, detail, **options).to_dot()


__all__ = ["draw", "graph", "identity_of", "to_dot"]
