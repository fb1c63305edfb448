"""Cells for places that run no scripts, under ``af.options.static`` and ``tables``: the picture, a table below it.

Programs choose one form of each output, and those that remove scripts choose HTML and then cut the picture out of it.
So these are two outputs: an image, and HTML that has nothing but rows and cells. The image is a PNG alone if there is
one: to LaTeX, nbconvert gives no SVG without Inkscape, whatever stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..modes import modes
from .data import Graph
from .exports import bundle, wanted
from .html import PLAIN, html_table
from .tables import aligned


def show(graph: Graph, rows: Callable[[], Sequence[Sequence[str]]], math: int = -1) -> None:
    """Display the picture, and the table of ``rows()``, whose column ``math`` has formulas.

    Raises NotImplementedError where one output is enough: IPython then asks for ``_repr_mimebundle_``.
    """
    if not (modes().static and modes().tables and wanted(["text/html"])):
        raise NotImplementedError
    from IPython.display import display

    image = bundle(graph)
    if "image/png" in image:
        del image["image/svg+xml"]
    display(image, raw=True)
    table = rows()
    text = "\n".join(aligned(table))
    display({"text/html": f'<div class="{PLAIN}">{html_table(table, math)}</div>', "text/plain": text}, raw=True)
