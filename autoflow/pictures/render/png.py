"""PNG and PDF without Graphviz: matplotlib draws the display list."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np

from ..model.data import Array, GraphData, on_paper
from .display import Circle, Drawing, Look, Path, Point, Polygon, Rect, Text, resolve
from .drawing import drawing_of

SHARPNESS = 2  # pixels of a PNG per pixel of the SVG
MOST = 12_000  # pixels on one side of a PNG; larger pictures are made less sharp
FONTS = {"mono": ["DejaVu Sans Mono", "DejaVu Sans"], "sans": ["DejaVu Sans"]}  # the first lacks ①
SIDES = {"start": "left", "middle": "center", "end": "right"}


class NoMatplotlibError(ImportError):
    """matplotlib is not installed."""


def render(graph: GraphData, form: str) -> bytes:
    """The picture as "png" or "pdf". Raises NoMatplotlibError if matplotlib is not installed."""
    drawing = drawing_of(on_paper(graph))
    file = io.BytesIO()
    sharp = min(SHARPNESS, MOST / max(drawing.wide, drawing.high))
    dated = {"Software": None} if form == "png" else {"CreationDate": None, "Creator": None, "Producer": None}
    figure = figure_of(drawing)
    from matplotlib import rc_context

    quiet = warnings.catch_warnings(action="ignore")  # letters that matplotlib's font has not are drawn as boxes
    with quiet, rc_context({"pdf.fonttype": 42}):  # publishers refuse fonts of type 3
        figure.savefig(file, format=form, dpi=96 * sharp, metadata=dated)
    return file.getvalue()


def pixels(drawing: Drawing, sharp: float) -> Array:
    """A drawing as an array of pixels: height, width, red, green and blue."""
    figure = figure_of(drawing)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(96 * sharp)
    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings(action="ignore"):
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def figure_of(drawing: Drawing) -> Any:
    """A drawing as a figure of matplotlib. Raises NoMatplotlibError if that is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NoMatplotlibError("matplotlib is not installed") from error
    figure = Figure(figsize=(drawing.wide / 96, drawing.high / 96))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawing.wide), ylim=(drawing.high, 0))
    axes.axis("off")
    for shape, at, look in resolve(drawing):
        if isinstance(shape, Text):
            add_text(axes, shape, at, look)
        else:
            axes.add_patch(patch_of(shape, at, paint(look)))
    return figure


def paint(look: Look) -> dict[str, Any]:
    """Colours and lines in matplotlib's terms. It uses points, 72 per inch; pixels are 96 per inch."""
    dashes = [float(d) for d in look.get("stroke-dasharray", "").split()]
    width, line = float(look.get("stroke-width", "1")), look.get("stroke", "none")
    return {
        "facecolor": look["fill"], "edgecolor": line, "linewidth": 0.75 * width * (line != "none"),
        "linestyle": (0, [d / width for d in dashes]) if dashes else "solid", "alpha": float(look["opacity"]),
        "clip_on": False,
    }  # fmt: skip


def patch_of(shape: Rect | Circle | Path | Polygon, at: Point, paint: dict[str, Any]) -> Any:
    """Anything but a text as a patch of matplotlib."""
    from matplotlib import patches
    from matplotlib.path import Path as Outline

    x, y = at
    match shape:
        case Rect(_, left, top, wide, high, radius):
            corner = x + (left or 0.0), y + (top or 0.0)
            if radius := min(radius or 0.0, wide / 2, high / 2):
                style = f"round,pad=0,rounding_size={radius}"
                return patches.FancyBboxPatch(corner, wide, high, boxstyle=style, **paint)
            return patches.Rectangle(corner, wide, high, **paint)
        case Circle():
            return patches.Circle((x + shape.cx, y + shape.cy), shape.r, **paint)
        case Polygon():
            return patches.Polygon([(x + px, y + py) for px, py in shape.points], closed=True, **paint)
        case Path():
            points, codes = shape.outline()
            return patches.PathPatch(Outline([(x + px, y + py) for px, py in points], codes), capstyle="butt", **paint)


def add_text(axes: Any, shape: Text, at: Point, look: Look) -> None:
    """One line of text; $ and backslash mean nothing."""
    family = "mono" if "monospace" in look["font-family"] else "sans"
    axes.text(
        at[0] + shape.x, at[1] + shape.y, shape.text, color=look["fill"], alpha=float(look["opacity"]),
        fontsize=0.75 * float(look["font-size"].removesuffix("px")), fontfamily=FONTS[family],
        fontweight="bold" if "font-weight" in look else "normal", ha=SIDES[shape.text_anchor], va="baseline",
        parse_math=False, clip_on=False,
    )  # fmt: skip
