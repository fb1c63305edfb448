"""PNG and PDF without Graphviz: matplotlib draws our own SVG.

It knows what :mod:`.shapes` finds in that SVG.
"""

from __future__ import annotations

import io
import warnings
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..model.data import GraphData, on_paper
from .shapes import Shape, Sheet, number, outline, shapes
from .svg import to_svg

SHARPNESS = 2  # pixels of a PNG per pixel of the SVG
MOST = 12_000  # pixels on one side of a PNG; larger pictures are made less sharp
FONTS = {"mono": ["DejaVu Sans Mono", "DejaVu Sans"], "sans": ["DejaVu Sans"]}  # the first lacks ①


class NoMatplotlibError(ImportError):
    """matplotlib is not installed."""


def render(graph: GraphData, form: str) -> bytes:
    """The picture as "png" or "pdf". Raises NoMatplotlibError if matplotlib is not installed."""
    root = ElementTree.fromstring(to_svg(on_paper(graph)))  # noqa: S314 - our own text
    file = io.BytesIO()
    sharp = min(SHARPNESS, MOST / max(sides(root)))
    dated = {"Software": None} if form == "png" else {"CreationDate": None, "Creator": None, "Producer": None}
    with warnings.catch_warnings():  # about letters that matplotlib's font has not: they are drawn as boxes
        warnings.simplefilter("ignore")
        figure_of(root).savefig(file, format=form, dpi=96 * sharp, metadata=dated)
    return file.getvalue()


def pixels(root: Any, sharp: float) -> Any:
    """An SVG as an array of pixels: height, width, red, green and blue."""
    figure = figure_of(root)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(96 * sharp)
    canvas = FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def figure_of(root: Any) -> Any:
    """An SVG as a figure of matplotlib. Raises NoMatplotlibError if that is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NoMatplotlibError("matplotlib is not installed") from error
    wide, high = sides(root)
    figure = Figure(figsize=(wide / 96, high / 96))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(high, 0))
    axes.axis("off")
    for shape in shapes(root, Sheet(root), (0.0, 0.0), ()):
        if float(shape["opacity"]):
            DRAW[shape["tag"]](axes, shape, (wide, high))
    return figure


def sides(root: Any) -> tuple[float, float]:
    """Width and height in pixels."""
    return float(root.get("width", "1")), float(root.get("height", "1"))


# ------------------------------------------------------------------ drawing


def paint(shape: Shape) -> dict[str, Any]:
    """Colours and lines in matplotlib's terms. It uses points, 72 per inch; SVG uses pixels, 96 per inch."""
    dashes = [float(d) for d in shape.get("stroke-dasharray", "").split()]
    width = number(shape, "stroke-width") if "stroke-width" in shape else 1.0
    line = shape.get("stroke", "none")
    return {
        "facecolor": shape.get("fill", "#000000"), "edgecolor": line, "linewidth": 0.75 * width * (line != "none"),
        "linestyle": (0, [d / width for d in dashes]) if dashes and width else "solid",
        "alpha": float(shape.get("opacity", "1")),
    }  # fmt: skip


def draw_rectangle(axes: Any, shape: Shape, whole: tuple[float, float]) -> None:
    """With round corners if it has ``rx``."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    (x, y), (wide, high) = shape["at"], (number(shape, "width", whole[0]), number(shape, "height", whole[1]))
    x, y = x + number(shape, "x"), y + number(shape, "y")
    radius = min(number(shape, "rx"), wide / 2, high / 2)
    if radius:
        style = f"round,pad=0,rounding_size={radius}"
        axes.add_patch(FancyBboxPatch((x, y), wide, high, boxstyle=style, clip_on=False, **paint(shape)))
    else:
        axes.add_patch(Rectangle((x, y), wide, high, clip_on=False, **paint(shape)))


def draw_circle(axes: Any, shape: Shape, whole: tuple[float, float]) -> None:
    """A circle."""
    from matplotlib.patches import Circle

    x, y = shape["at"]
    centre = (x + number(shape, "cx"), y + number(shape, "cy"))
    axes.add_patch(Circle(centre, number(shape, "r"), clip_on=False, **paint(shape)))


def draw_polygon(axes: Any, shape: Shape, whole: tuple[float, float]) -> None:
    """The head of an arrow."""
    from matplotlib.patches import Polygon

    x, y = shape["at"]
    points = [tuple(map(float, pair.split(","))) for pair in shape["points"].split()]
    axes.add_patch(Polygon([(x + px, y + py) for px, py in points], closed=True, clip_on=False, **paint(shape)))


def draw_path(axes: Any, shape: Shape, whole: tuple[float, float]) -> None:
    """Lines and curves."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x, y = shape["at"]
    points, codes = outline(shape["d"])
    path = Path([(x + px, y + py) for px, py in points], codes)
    axes.add_patch(PathPatch(path, clip_on=False, capstyle="butt", **paint(shape)))


def draw_text(axes: Any, shape: Shape, whole: tuple[float, float]) -> None:
    """One line of text; $ and backslash mean nothing."""
    x, y = shape["at"]
    family = "mono" if "monospace" in shape.get("font-family", "") else "sans"
    axes.text(
        x + number(shape, "x"), y + number(shape, "y"), shape["text"], color=shape.get("fill", "#000000"),
        fontsize=0.75 * (number(shape, "font-size") or 16.0), fontfamily=FONTS[family],
        fontweight="bold" if shape.get("font-weight") == "700" else "normal", alpha=float(shape.get("opacity", "1")),
        ha={"end": "right", "middle": "center"}.get(shape.get("text-anchor", ""), "left"), va="baseline",
        parse_math=False, clip_on=False,
    )  # fmt: skip


DRAW = {"rect": draw_rectangle, "circle": draw_circle, "polygon": draw_polygon, "path": draw_path, "text": draw_text}
