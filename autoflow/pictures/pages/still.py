"""Cells for places that run no scripts, under ``af.options.static``: an image, and under ``tables`` a table below it.

Programs choose one form of each output, and those that remove scripts choose HTML and then cut the picture out of it.
So these are two outputs: an image, and HTML that has nothing but rows and cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...modes import modes
from ..model.data import GraphData
from ..render.tables import align_columns
from .exports import bundle, wanted_kinds
from .html import PLAIN, html_table

INCH = 0.0254  # metres, in which a PNG counts
SCREEN = 96  # pixels per inch, as pages count


def show(graph: GraphData, rows: Callable[[], Sequence[Sequence[str]]] | None = None, math: int = -1) -> None:
    """Display the picture, and under ``tables`` the table of ``rows()``, whose column ``math`` has formulas.

    Raises NotImplementedError where nothing of this is wanted: IPython then asks for ``_repr_mimebundle_``.
    """
    if not (modes().static and wanted_kinds(["image/png"])):
        raise NotImplementedError
    from IPython.display import display

    image = bundle(graph)
    display(image, raw=True, metadata=size(image))
    if modes().tables and rows:
        table = rows()
        text = "\n".join(align_columns(table))
        display({"text/html": f'<div class="{PLAIN}">{html_table(table, math)}</div>', "text/plain": text}, raw=True)


def size(image: dict[str, Any]) -> dict[str, Any]:
    """How wide a page should show a PNG: a sharp one has more pixels than that, and says how many to an inch."""
    png = image.get("image/png", b"")
    chunk = png.find(b"pHYs") + 4
    if chunk < 4:
        return {}
    pixels, per_metre = [int.from_bytes(png[at : at + 4], "big") for at in (16, chunk)]
    return {"image/png": {"width": round(pixels / (per_metre * INCH) * SCREEN)}}
