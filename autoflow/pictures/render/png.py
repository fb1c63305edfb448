"""PNG and PDF without Graphviz: our own SVG, read again and drawn by matplotlib.

So a picture has one layout and one style sheet, whatever the format. The reader comes first: it finds the elements with
their style and place. It is no general reader: it knows the few elements and properties that :mod:`.svg` writes, and
the test says when that begins to write others. Then matplotlib draws what was found.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..model.data import GraphData, on_paper
from .svg import to_svg

# ---------------------------------------------------------------- shapes: the SVG, read again

Shape = dict[str, Any]
Style = dict[str, str]
TAGS = ("rect", "circle", "polygon", "path", "text")
TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+(?:e-?\d+)?")


class Sheet:
    """The rules of an SVG's style sheet: ``.name .op .box{fill:#FFF7EA}``."""

    def __init__(self, root: Any) -> None:
        text = next((e.text or "" for e in root.iter() if local_name(e) == "style"), "")
        found = re.findall(r"([^{}]+)\{([^{}]*)\}", text)
        self.rules = [(part.split(), pairs(body)) for selectors, body in found for part in selectors.split(",")]

    def of(self, element: Any, above: tuple[Any, ...]) -> Style:
        """What holds for an element below others: its attributes, then the rules in order, as in CSS."""
        answer = dict(element.attrib)
        for selector, body in self.rules:
            if matches(selector[-1], element) and below(selector[:-1], above):
                answer |= body
        return answer


def pairs(body: str) -> Style:
    """``fill:none;stroke:#000`` as a dictionary."""
    return {k.strip(): v.strip() for k, _, v in [p.partition(":") for p in body.split(";")] if v}


def local_name(element: Any) -> str:
    """The tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def matches(part: str, element: Any) -> bool:
    """Does ``.op``, ``path`` or ``.op.out`` mean this element?"""
    tag, *names = part.split(".")
    return tag in ("", local_name(element)) and set(names) <= set(element.get("class", "").split())


def below(parts: list[str], above: tuple[Any, ...]) -> bool:
    """Are there ancestors for all parts of a selector, in this order?"""
    ancestors = iter(above)
    return all([any(matches(part, element) for element in ancestors) for part in parts])


def shapes(
    element: Any, sheet: Sheet, at: tuple[float, float], above: tuple[Any, ...], opacity: float = 1.0
) -> Iterator[Shape]:  # fmt: skip
    """All elements that are drawn, with their style and where their group stands; a faded group fades what is in it."""
    for child in element:
        x, y = at
        if moved := re.match(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", child.get("transform", "")):
            x, y = x + float(moved[1]), y + float(moved[2])
        inside = (*above, element)
        tag = local_name(child)
        style = sheet.of(child, inside)
        left = opacity * float(style.get("opacity", "1"))
        if tag in TAGS:
            yield {"tag": tag, "at": (x, y), "text": child.text or "", **style, "opacity": str(left)}
        elif tag == "g":
            yield from shapes(child, sheet, (x, y), inside, left)


def number(shape: Shape, name: str, whole: float = 0.0) -> float:
    """An attribute as a number; a percentage is of ``whole``."""
    text = str(shape.get(name, "0")).removesuffix("px")
    return whole * float(text[:-1]) / 100 if text.endswith("%") else float(text)


def outline(d: str) -> tuple[list[tuple[float, float]], list[int]]:
    """The points of a path and matplotlib's codes (1 move, 2 line, 4 curve, 79 close), of commands M L C H V h l v z.

    >>> outline("M1 2H5l1 1z")
    ([(1.0, 2.0), (5.0, 2.0), (6.0, 3.0), (1.0, 2.0)], [1, 2, 2, 79])
    """
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    tokens = TOKEN.findall(d)
    place = 0
    command = ""
    while place < len(tokens):
        if tokens[place].isalpha():
            command = tokens[place]
            place += 1
        if command not in COUNTS:
            raise ValueError(f"shapes.py does not know the path command {command!r}")
        numbers = [float(t) for t in tokens[place : place + COUNTS[command]]]
        place += COUNTS[command]
        x, y = points[-1] if points else (0.0, 0.0)
        if command == "z":
            points.append(points[max(i for i, code in enumerate(codes) if code == 1)])
            codes.append(79)
            continue
        if command in "hvl":
            dx, dy = {"h": (numbers[0], 0.0), "v": (0.0, numbers[0])}.get(command, tuple(numbers))
            numbers = [x + dx, y + dy]
        elif command in "HV":
            numbers = [numbers[0], y] if command == "H" else [x, numbers[0]]
        points += list(zip(numbers[::2], numbers[1::2], strict=True))
        codes += {"M": [1], "C": [4, 4, 4]}.get(command, [2])
        command = "L" if command == "M" else command
    return points, codes


COUNTS = {"M": 2, "L": 2, "l": 2, "C": 6, "H": 1, "h": 1, "V": 1, "v": 1, "z": 0}


# ---------------------------------------------------------------- files, pixels, figures


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


# ---------------------------------------------------------------- drawing, one function for each tag


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
