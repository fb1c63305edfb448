"""The picture as users see it: :class:`Graph`, the functions that make it, and what a notebook shows of a node.

A Graph shows itself and knows every format. Its data hold no array and no node. For :meth:`Graph.replay` it keeps a
reference to the nodes, and so to their arrays. (A copy or a pickle does not.)

``node.graph()`` makes it of one walk over the records behind a node; its arguments are explained there.

A notebook shows of a node its numbers, then what it is; the picture is one click away. A node is an array, and
debuggers and notebooks print arrays all the time. So this is cheap, however large the graph: it looks at no more than
60 nodes, computes gradients of small graphs only, starts no program, and never raises.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from html import escape
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from ..base.errors import LOST, LostGradientError
from ..base.modes import modes
from ..forward.replay import key_of, record_again
from ..nodes.nodes import AnyFunction, ByName, Node, OperationRole, Variable
from ..program.watch import trace
from .folding import views
from .folding.choose import open_boxes
from .formulas.sent_back import rules_of
from .model.data import FEW_NUMBERS, Frame, GraphData, Look, Several, Vertex, numbers  # noqa: F401 - inherited fields
from .model.gathering import Walk, identity_of
from .model.names import titles_of
from .model.style import clean, clip
from .pages import stepper
from .pages.html import PLAIN, fragment, image, page
from .render import cards, dot, svg, text, tikz
from .render.placing import FAR, NEAR, best_way, fit_picture, fold_further

# ---------------------------------------------------------------- Graph: it shows itself and knows every format


@dataclass(frozen=True)
class Graph(GraphData):
    """A picture of how values were computed and how gradients flow back. ``node.graph()`` makes it.

    It shows itself in a notebook, and as a tree in a terminal; ``save("figure.svg")`` writes a file. ``nodes`` and
    ``edges`` are plain data.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> print(af.graph(x * x))
    x*x  multiply = 9
    ├─① x  Variable = 3
    └─② x  (shown above)
    1 Variable · 1 Operation
    call backward() to see gradients
    """

    again: Callable[[Any], Graph] | None = field(default=None, repr=False, compare=False)  # for other inputs
    weighed: Callable[[], GraphData] | None = field(default=None, repr=False, compare=False)  # with the bytes of each

    def __getstate__(self) -> dict[str, Any]:
        names = {field.name for field in fields(self)} | {"drawn"}
        return {name: x for name, x in self.__dict__.items() if name in names} | {"again": None, "weighed": None}

    @property
    def drawn(self) -> Graph:
        """The picture as it is drawn: chains of + or of * on one card, boxes folded. ``members`` of its nodes are ids
        of this
        graph's nodes."""
        return views.visible_picture(self)

    def replay(self, inputs: Mapping[Any, Any]) -> Graph:
        """The picture of the same graph with other values: ``g.replay({x: 4.0})``. Nothing in the nodes changes.

        inputs : as for ``node.replay``, whose errors it raises.

        >>> import autoflow as af
        >>> x = af.Variable(3.0, name="x")
        >>> g = af.graph(x * x)
        >>> [v.value.elements for v in g.replay({x: 4.0}).nodes]
        [(4.0,), (16.0,)]
        """
        return of_nodes(self.again)(inputs)

    def open(self, *names: str) -> Graph:
        """The same picture with these boxes open: ``g.open("encoder")``, ``g.open("encoder/layer")``."""
        if any([v.fold for v in self.nodes]):
            raise ValueError(f"this picture does not have all nodes. Draw it again: node.graph(open={names!r:.60})")
        opened = replace(self, look=replace(self.look, open=(*self.look.open, *names)))
        views.boxes_of(opened)  # raises ValueError for a name that no box has
        skeleton, closed = views.boxes_of(self)[0], self.look.closed
        left = closed and tuple([box for box in closed if box not in open_boxes(skeleton, names)])
        return replace(opened, look=replace(opened.look, closed=left))

    def counts(self) -> str:
        """``3 Variables · 8 Operations``."""
        return views.counts(self)

    def table(self, *, ascii: bool = False, memory: bool = False) -> str:
        """One line per node: number, title, operation, shape, value, gradient, operands.

        memory : True adds the bytes that each keeps for the way back.
        """
        return cards.table(of_nodes(self.weighed)() if memory else self, ascii=ascii, memory=memory)

    def summary(self) -> str:
        """One sentence for readers who cannot see the picture."""
        return views.alt_text(self)

    def to_svg(self) -> str:
        """The picture as SVG: one text without scripts, links or fonts, the same for the same graph."""
        return svg.to_svg(self)

    def to_html(self, *, full: bool = True) -> str:
        """A page that needs nothing else: the picture, controls that step through it, all steps as a table.

        full : False gives the content of its body, for a page of your own: its styles and names clash with no others,
            and one page may hold several.
        """
        return page(self) if full else fragment(self)

    def step(self) -> stepper.Stepper:
        """Step through this picture, as ``node.step()`` does."""
        return stepper.Stepper(self)

    def to_dot(self) -> str:
        """The picture in Graphviz's language (needs the Python package ``graphviz``, not the program)."""
        return dot.to_dot(self)

    def to_tex(self, *, full: bool = True) -> str:
        """The picture in TikZ. full : False gives the ``tikzpicture`` alone, for a document that has ``tikz``."""
        return tikz.to_tex(self, full)

    def to_mermaid(self) -> str:
        """A flowchart for Markdown files: GitHub and GitLab draw it."""
        return text.to_mermaid(self)

    def to_json(self) -> str:
        """Everything in the picture, for programs."""
        return text.to_json(self)

    def to_text(self, *, ascii: bool = False) -> str:
        """A tree of lines, from the output down to the leaves."""
        return text.to_text(self, ascii)

    def save(self, path: str | PathLike[str], *, seconds: float = 1.4) -> Path:
        """Write a file in the format that its name ends with: .svg .html .png .pdf .tex .dot .mmd .json .txt, or
        a film of its steps: .gif .mp4. Returns the path.

        seconds : how long a film shows each step.

        PNG and PDF are drawn by matplotlib, pygraphviz or Graphviz's program ``dot``; one of them must be installed.
        A film needs matplotlib, and Pillow (extra ``images``) or ffmpeg (extra ``video``). Raises ImportError or
        FileNotFoundError, which say what to install, and ValueError for other names.
        """
        return stepper.save(self, path, {".html": lambda _: self.to_html()}, seconds)

    def __str__(self) -> str:
        return text.to_text(self)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: stepper.Kinds = None, exclude: stepper.Kinds = None) -> dict[str, str]:
        """What notebooks show. An exception here would print a traceback into the page, so none is raised."""
        return stepper.bundle(self, include, exclude)

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: see :func:`~.pages.stepper.show`."""
        stepper.show(self, lambda: cards.table_rows(self.drawn))


Kind = TypeVar("Kind", bound="Graph")
Way = TypeVar("Way", bound=AnyFunction)


def of_nodes(way: Way | None) -> Way:
    """What a picture can do while it has its nodes."""
    if way is None:
        raise ValueError("this picture is a copy or was unpickled, so it has no nodes: draw it again, node.graph()")
    return way


def facade(data: GraphData, kind: type[Kind] = Graph, **more: object) -> Kind:  # type: ignore[assignment]
    """The data as a picture that shows itself, with what is drawn of it if that is known."""
    drawing = kind(**{field.name: getattr(data, field.name) for field in fields(data)} | more)
    if "drawn" in data.__dict__:
        drawing.__dict__["drawn"] = facade(data.__dict__["drawn"], kind)
    if "written" in data.__dict__:  # need not be computed again
        drawing.__dict__["written"] = data.__dict__["written"]
    return drawing


# ---------------------------------------------------------------- node.graph(): from a node to its picture


LIMIT = 2000  # nodes whose numbers a picture has by default
LESSON = 60  # larger graphs are drawn without local derivatives unless the user requests them
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
    limit: int | None = None, depth: int | None = None, open: str | Sequence[str] = (), around: object = None,
    radius: int = 2, highlight: object = None, merge: bool = True, fold: bool | Callable[[str], bool] = True,
) -> Graph:  # fmt: skip
    """The picture of how ``node`` (or each of a list of nodes) was computed, and of one backward pass from it.

    detail : how much a node shows. "names"; "values"; "lesson": also the local derivative and the product sent
        back on every arrow; "arrays": shapes and statistics, and matrices of at least 4 × 4 as small images. None
        decides: "arrays" if something has more than 6 elements (with images if there is room), "lesson" after
        ``backward()``, else "values".
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
    fold : False draws everything, however large. A function gives the title of each box ("layers[0](…)")
        whether it folds.

    Raises LostGradientError for anything but a node, ValueError for unknown options.

    >>> import autoflow as af
    >>> x, y = af.Variable(3.0, name="x"), af.Variable(5.0, name="y")
    >>> g = graph(x * y, gradients=True)
    >>> [(edge.source, edge.target, edge.sent.elements) for edge in g.edges]
    [(0, 2, (5.0,)), (1, 2, (3.0,))]
    """
    words: ByName = dict(locals())  # all arguments, by name
    picture = build_picture(asked := SimpleNamespace(**words))

    def again(inputs: Any) -> Graph:
        new, places = record_again(check_nodes(node), inputs)
        there = {word: places.get(key_of(words[word])) for word in ("around", "highlight") if words[word] is not None}
        if any([x is None for x in there.values()]):
            raise ValueError(
                "the node that this picture is drawn around, or highlights, is no longer part of the graph"
            )
        has_gradients = picture.gradients or gradients
        return replace(graph(**{**words, **there, "node": new, "gradients": has_gradients}), again=again)

    return facade(picture, again=again, weighed=lambda: build_picture(asked, memory=True))


def build_picture(asked: Any, memory: bool = False) -> GraphData:
    """What :func:`graph` returns for the arguments ``asked``, as plain data."""
    detail, direction, limit, depth, fold = asked.detail, asked.direction, asked.limit, asked.depth, asked.fold
    theme, engine, legend = asked.theme or modes().theme, asked.engine or "built-in", bool(asked.legend)
    check_words(detail=detail, direction=direction, constants=asked.constants, theme=theme, engine=engine)
    roots = check_nodes(asked.node)
    opened = (asked.open,) if isinstance(asked.open, str) else tuple(asked.open)
    walk = Walk(roots, asked.constants == "nodes", limit or LIMIT, memory)
    if asked.around is not None:
        walk.keep(asked.around, asked.radius)
    elif walk.hidden and limit is None and fold and (folded := views.fold_huge_graph(walk, depth, opened)):
        way, over = best_way(folded)
        if not direction and depth is None and not opened:
            again = partial(views.fold_huge_graph, walk, depth, opened)
            is_cut = " section" in folded.notes[0].partition(" folded")[0]
            folded, way, _ = fold_further(folded, way, over, again, NEAR if is_cut else FAR)
        way = direction or way
        return replace(folded, look=Look(detail or "values", way, legend, theme, engine, modes().digits, False))
    notes = walk.go(asked.gradients)
    nodes, outputs = walk.vertices()
    is_automatic = detail is None
    if detail is None:
        large = any([n.value.size > FEW_NUMBERS for n in nodes])
        detail = "arrays" if large else "lesson" if walk.flow and len(nodes) <= LESSON else "values"
    if detail == "arrays" and walk.flow and len(nodes) <= LIMIT:
        nodes = with_rules(nodes, walk)
    may, closed = bool(fold) and limit is None, None
    if callable(fold):
        titles = {box: title for v in nodes for box, title in zip(v.entered, v.scope, strict=True)}
        may, closed = False, tuple([box for box, title in titles.items() if fold(title)])
    look = Look(
        detail, direction or "", legend, theme, engine, modes().digits, bool(asked.merge), may, depth, opened,
        closed=closed, images=detail == "arrays" and not is_automatic,
        compact=None if is_automatic and asked.constants == "inline" else False,
    )  # fmt: skip
    picture = GraphData(
        nodes, outputs, walk.title(), bool(walk.flow), tuple(notes), look, hidden=walk.hidden,
        faded=() if asked.highlight is None else walk.faded(asked.highlight),
        several=walk.several(), told=walk.told, objects=walk.objects,
    )  # fmt: skip
    return picture if direction else fit_picture(picture)


def with_rules(nodes: Sequence[Vertex], walk: Walk) -> tuple[Vertex, ...]:
    """The nodes, with what each sends back to its operands in letters."""
    rules = {walk.ids[id(r)]: rules_of(r) for r in walk.shown if r.parents}
    rows = {k: [replace(row, rule=rule[row.slot]) if row.sent is not None else row for row in nodes[k].operands]
            for k, rule in rules.items()}  # fmt: skip
    return tuple([replace(v, operands=tuple(rows[v.id])) if v.id in rows else v for v in nodes])


def check_words(**given: object) -> None:
    """Raise ValueError with the allowed words if one of the arguments is not among them."""
    for name, value in given.items():
        if value is not None and value not in WORDS[name]:
            words = ", ".join(map(repr, WORDS[name])) + ", or None" * (name != "constants")
            raise ValueError(f"{name} is one of {words}; not {clip(repr(value), 40)}")


def check_nodes(node: Any) -> list[Any]:
    """The nodes to draw, each once."""
    nodes = list(node) if isinstance(node, (list, tuple)) else [node]
    for x in nodes or [node]:
        orphan = isinstance(x, OperationRole) and x.grad_fn is None  # NumPy made it from a node, without a history
        if not isinstance(x, Node) or orphan:
            what = f"{type(x).__name__} {clip(repr(x), 60)}"
            raise LostGradientError(f"a picture starts from a node, not from {what}.\n{LOST}")
    return list({id(x): x for x in nodes}.values())


def draw(node: Any, *args: Any, **options: Any) -> Graph:
    """Show the picture of ``node`` here and now, in IPython or a notebook, and return it. Arguments: :func:`graph`.

    ``draw(f, x, y)`` draws what ``f(x, y)`` returns, and knows the turns of its loops: see ``af.trace``. Raises
    LostGradientError if that is not a node.

    >>> import autoflow as af
    >>> len(draw(lambda x: x * x + 1.0, af.Variable(2.0)).nodes)
    3
    """
    if callable(node):
        with trace():
            node, args = node(*args), ()
    picture = graph(node, *args, **options)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return picture
    from IPython.display import display

    display(picture)
    drawing = facade(picture, Drawn)
    drawing.__dict__["cell"] = shell.execution_count
    return drawing


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


# ---------------------------------------------------------------- what a notebook shows of a node


MOST = 60  # nodes that are drawn without being asked for
ELEMENTS = 100_000  # in all of them; going back through more takes noticeable time


def node_bundle(node: Node, include: stepper.Kinds = None, exclude: stepper.Kinds = None) -> dict[str, Any]:
    """What IPython shows for a node: the text of ``repr``, and HTML.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> bundle = node_bundle(x * x)
    >>> bundle["text/plain"]
    '9.0  Operation multiply_0 = multiply(x, x)'
    >>> "<summary>graph (1 Variable, 1 Operation)</summary>" in bundle["text/html"]
    True
    """
    makers = {"text/plain": lambda: repr(node)}
    if not modes().static:
        makers["text/html"] = lambda: html(node, repr(node))
    return stepper.make_bundle(makers, include, exclude, f"<{type(node).__name__}, which cannot be shown: %s>")


def html(node: Node, text: str) -> str:
    """Numbers, a line about the node, and what can be unfolded."""
    body, _, _ = text.rpartition("\n" if "\n" in text else "  ")
    lines = f"<pre>{escape(body or text)}</pre>"
    if not hasattr(node, "name"):  # NumPy made it from a node
        return lines
    try:
        return f'<div class="{PLAIN}">{lines}<div>{escape(node_title(node))}</div>{behind(node)}</div>'
    except Exception:  # a user's rule, a value that is gone: the numbers are still right
        return lines


def node_title(node: Node) -> str:
    """``a5: Operation subtract · gradient 1``."""
    record = node.grad_fn
    name = titles_of([node if record is None else record]).name(node if record is None else record) or node.name
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


def behind(node: Node) -> str:
    """The picture, folded away; of a large graph how to draw it."""
    record = identity_of(node)
    if record is None or not record.parents:
        return ""
    nodes = few(record)
    if nodes is None:
        return f"<div>graph: more than {MOST} nodes; .graph() draws it</div>"
    small = sum([math.prod(x.shape) for x in nodes]) <= ELEMENTS
    picture = graph(node, gradients=None if small else False)
    counts = picture.counts().replace(" · ", ", ")
    return f"<details><summary>graph ({escape(counts)})</summary>{image(picture)}</details>"


def few(record: Any) -> list[Any] | None:
    """The nodes behind a record, itself included; None if there are many. Looks at no more than it needs to."""
    seen, queue = {id(record): record}, [record]
    for one in queue:
        if max(len(seen), len(one.parents)) > MOST:
            return None
        for x in one.operands:
            if id(x) not in seen and (isinstance(x, Node) or hasattr(x, "node_name")):
                seen[id(x)] = x
                queue += [x] if hasattr(x, "node_name") else []
    return list(seen.values()) if len(seen) <= MOST else None
