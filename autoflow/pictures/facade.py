"""The picture as users see it: :class:`Graph`, which shows itself and knows every format.

Its data hold no array and no node. For :meth:`Graph.replay` it keeps a reference to the nodes, and so to their
arrays. (A copy or a pickle does not.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .folding import views
from .model.data import Frame, GraphData, Look, Several, Vertex  # noqa: F401 - of inherited fields

if TYPE_CHECKING:
    from .pages.stepper import Stepper


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

    def __getstate__(self) -> dict[str, Any]:
        kept = {field.name for field in fields(self)} | {"drawn"}
        return {name: x for name, x in self.__dict__.items() if name in kept} | {"again": None}

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
        if self.again is None:
            raise ValueError("this picture is a copy or was unpickled, so it has no nodes: draw it again, node.graph()")
        return self.again(inputs)

    def open(self, *names: str) -> Graph:
        """The same picture with these boxes open: ``g.open("encoder")``, ``g.open("encoder/layer")``."""
        if any([v.fold for v in self.nodes]):
            raise ValueError(f"this picture does not have all nodes. Draw it again: node.graph(open={names!r:.60})")
        views.check_open(views.skeleton_of(self), names)
        return replace(self, look=replace(self.look, open=(*self.look.open, *names)))

    def counts(self) -> str:
        """``3 Variables · 8 Operations``."""
        return views.counts(self)

    def table(self, *, ascii: bool = False) -> str:
        """One line per node: number, title, operation, shape, value, gradient, operands."""
        from .render.tables import table

        return table(self, ascii=ascii)

    def summary(self) -> str:
        """One sentence for readers who cannot see the picture."""
        return views.alt_text(self)

    def to_svg(self) -> str:
        """The picture as SVG: one text without scripts, links or fonts, the same for the same graph."""
        from .render.svg import to_svg

        return to_svg(self)

    def to_html(self, *, full: bool = True) -> str:
        """A page that needs nothing else: the picture, controls that step through it, all steps as a table.

        full : False gives the content of its body, for a page of your own: its styles and names clash with no others,
            and one page may hold several.
        """
        from .pages.html import fragment, page

        return page(self) if full else fragment(self)

    def step(self) -> Stepper:
        """Step through this picture, as ``node.step()`` does."""
        from .pages.stepper import Stepper

        return Stepper(self)

    def to_dot(self) -> str:
        """The picture in Graphviz's language (needs the Python package ``graphviz``, not the program)."""
        from .render.dot import to_dot

        return to_dot(self)

    def to_tex(self, *, full: bool = True) -> str:
        """The picture in TikZ. full : False gives the ``tikzpicture`` alone, for a document that has ``tikz``."""
        from .render.tikz import to_tex

        return to_tex(self, full)

    def to_mermaid(self) -> str:
        """A flowchart for Markdown files: GitHub and GitLab draw it."""
        from .render.text_formats import to_mermaid

        return to_mermaid(self)

    def to_json(self) -> str:
        """Everything in the picture, for programs."""
        from .render.text_formats import to_json

        return to_json(self)

    def to_text(self, *, ascii: bool = False) -> str:
        """A tree of lines, from the output down to the leaves."""
        from .render.text import to_text

        return to_text(self, ascii)

    def save(self, path: Any, *, seconds: float = 1.4) -> Path:
        """Write a file in the format that its name ends with: .svg .html .png .pdf .tex .dot .mmd .json .txt, or
        a film of its steps: .gif .mp4. Returns the path.

        seconds : how long a film shows each step.

        PNG and PDF are drawn by matplotlib, pygraphviz or Graphviz's program ``dot``; one of them must be installed.
        A film needs matplotlib, and Pillow (extra ``images``) or ffmpeg (extra ``video``). Raises ImportError or
        FileNotFoundError, which say what to install, and ValueError for other names.
        """
        from .pages.exports import save

        return save(self, path, seconds=seconds)

    def __str__(self) -> str:
        from .render.text import to_text

        return to_text(self)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What notebooks show. An exception here would print a traceback into the page, so there is none."""
        from .pages.exports import bundle

        return bundle(self, include, exclude)

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``: see :mod:`~.pages.still`."""
        from .pages.still import show
        from .render.tables import table_rows

        show(self, lambda: table_rows(self.drawn))


Kind = TypeVar("Kind", bound="Graph")


def facade(data: GraphData, kind: type[Kind] = Graph, **more: Any) -> Kind:  # type: ignore[assignment]
    """The data as a picture that shows itself, with what is drawn of it if that is known."""
    made = kind(**{field.name: getattr(data, field.name) for field in fields(data)} | more)
    if "drawn" in data.__dict__:
        made.__dict__["drawn"] = facade(data.__dict__["drawn"], kind)
    if "written" in data.__dict__:  # need not be computed again
        made.__dict__["written"] = data.__dict__["written"]
    return made
