r"""The picture as TikZ, for papers and slides: ``\input`` it, or run pdflatex on the file as it is.

It is our own SVG, drawn by TikZ: the same places and colours, in the fonts of the document. What pdflatex has no
letter for is written in mathematics, or as a question mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from xml.etree import ElementTree

from ..model.data import GraphData, on_paper
from .png import Shape, Sheet, number, outline, shapes
from .svg import to_svg

POINT = 0.75  # big points per pixel
ROUND = 4  # digits behind the point of coordinates

HEAD = r"""%% Made by autoflow: pdflatex draws this file. To use it in a document, take what is between
%% \begin{document} and \end{document}, and \usepackage{tikz}.
\documentclass{article}
\usepackage{tikz}
\IfFileExists{lmodern.sty}{\usepackage[T1]{fontenc}\usepackage{lmodern}}{\usepackage{fix-cm}}
\usepackage[paperwidth=%sbp,paperheight=%sbp,margin=0pt]{geometry}
\setlength{\parindent}{0pt}
\setlength{\topskip}{0pt}
\pagestyle{empty}
\begin{document}
"""
PICTURE = r"\begin{tikzpicture}[x=%gbp,y=-%gbp,inner sep=0pt]"

# Letters that pdflatex does not know or would obey, and what is written instead.
SPECIAL = {
    **{c: "\\" + c for c in "#$%&_{}"}, "\\": r"\textbackslash{}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}", "…": r"\ldots{}", "–": "--", "—": "---", "−": "$-$", "·": r"$\cdot$", "×": r"$\times$",
    "∂": r"$\partial$", "±": r"$\pm$", "∞": r"$\infty$", "⊙": r"$\odot$", "ᵀ": r"$^{\mathsf{T}}$",
    "→": r"$\rightarrow$", "←": r"$\leftarrow$", "√": r"$\surd$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$",
    "Σ": r"$\Sigma$",
    "⁻": "$^{-}$", "′": r"$'$", "∘": r"$\circ$", "⟨": r"$\langle$", "⟩": r"$\rangle$",
    **{c: f"$^{{{k}}}$" for k, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}, **{c: f"$_{{{k}}}$" for k, c in enumerate("₀₁₂₃₄₅₆₇₈₉")},
}  # fmt: skip
NAMES = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon varphi chi "
    "psi omega Gamma Delta Theta Lambda Xi Pi Phi Psi Omega"
)
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΦΨΩ", NAMES.split(), strict=True))


def to_tex(graph: GraphData, full: bool = True) -> str:
    """The picture as a file for pdflatex; ``full=False``: the ``tikzpicture`` alone."""
    root = ElementTree.fromstring(to_svg(on_paper(graph)))  # noqa: S314 - our own text
    wide, high = [float(root.get(side, "1")) for side in ("width", "height")]
    found = list(shapes(root, Sheet(root), (0.0, 0.0), ()))
    lines = [rf"\definecolor{{af{c}}}{{HTML}}{{{c}}}" for c in colours(found)]
    lines += [PICTURE % (POINT, POINT), rf"\useasboundingbox (0,0) rectangle ({n(wide)},{n(high)});"]
    for shape in found:
        lines += DRAW[shape["tag"]](shape, (wide, high))
    text = "\n".join([*lines, r"\end{tikzpicture}%", ""])
    size = (n(POINT * wide + 1), n(POINT * high + 1))
    return HEAD % size + text + "\\end{document}\n" if full else text


def colours(found: Iterable[Shape]) -> list[str]:
    """All colours, in the order of their first use."""
    said = [shape.get(key, "none") for shape in found for key in ("fill", "stroke")]
    return list(dict.fromkeys([text[1:] for text in said if text.startswith("#")]))


def n(x: float) -> str:
    """A coordinate.

    >>> n(12.50001), n(-0.00001)
    ('12.5', '0')
    """
    text = f"{x:.{ROUND}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def paint(shape: Shape) -> str:
    """What is in the brackets of ``\\path``."""
    fill, line = shape.get("fill", "#000000"), shape.get("stroke", "none")
    words = [f"fill=af{fill[1:]}"] if fill != "none" else []
    if line != "none":
        width = number(shape, "stroke-width") if "stroke-width" in shape else 1.0
        words += [f"draw=af{line[1:]}", f"line width={n(POINT * width)}bp"]
        dashes = [n(POINT * float(d)) for d in shape.get("stroke-dasharray", "").split()]
        words += [f"dash pattern=on {dashes[0]}bp off {dashes[1]}bp"] if dashes else []
    words += faintness(shape)
    return ",".join(words)


def faintness(shape: Shape) -> list[str]:
    """What is faded."""
    opacity = float(shape.get("opacity", "1"))
    return [f"opacity={n(opacity)}"] if opacity < 1 else []


def draw_rectangle(shape: Shape, whole: tuple[float, float]) -> Iterator[str]:
    """With round corners if it has ``rx``."""
    (x, y), wide, high = shape["at"], number(shape, "width", whole[0]), number(shape, "height", whole[1])
    x, y = x + number(shape, "x"), y + number(shape, "y")
    radius = min(number(shape, "rx"), wide / 2, high / 2)
    corners = f",rounded corners={n(POINT * radius)}bp" if radius else ""
    yield rf"\path[{paint(shape)}{corners}] ({n(x)},{n(y)}) rectangle ({n(x + wide)},{n(y + high)});"


def draw_circle(shape: Shape, whole: tuple[float, float]) -> Iterator[str]:
    """A circle."""
    x, y = shape["at"]
    centre = f"({n(x + number(shape, 'cx'))},{n(y + number(shape, 'cy'))})"
    yield rf"\path[{paint(shape)}] {centre} circle[radius={n(POINT * number(shape, 'r'))}bp];"


def draw_polygon(shape: Shape, whole: tuple[float, float]) -> Iterator[str]:
    """The head of an arrow."""
    x, y = shape["at"]
    points = [tuple(map(float, pair.split(","))) for pair in shape["points"].split()]
    places = " -- ".join([f"({n(x + px)},{n(y + py)})" for px, py in points])
    yield rf"\path[{paint(shape)}] {places} -- cycle;"


def draw_path(shape: Shape, whole: tuple[float, float]) -> Iterator[str]:
    """Lines and curves."""
    x, y = shape["at"]
    points, codes = outline(shape["d"])
    places = [f"({n(x + px)},{n(y + py)})" for px, py in points]
    text, k = "", 0
    while k < len(codes):
        if codes[k] == 4:
            a, b, c = places[k : k + 3]
            text += f" .. controls {a} and {b} .. {c}"
            k += 3
            continue
        text += {1: f" {places[k]}", 2: f" -- {places[k]}", 79: " -- cycle"}[codes[k]]
        k += 1
    yield rf"\path[{paint(shape)}]{text};"


def draw_text(shape: Shape, whole: tuple[float, float]) -> Iterator[str]:
    """One line of text."""
    if not shape["text"]:
        return
    x, y = shape["at"]
    place = f"({n(x + number(shape, 'x'))},{n(y + number(shape, 'y'))})"
    size = n(POINT * (number(shape, "font-size") or 16.0))
    font = r"\ttfamily" if "monospace" in shape.get("font-family", "") else r"\sffamily"
    font += r"\bfseries" * (shape.get("font-weight") == "700")
    anchor = {"end": "base east", "middle": "base"}.get(shape.get("text-anchor", ""), "base west")
    words = [f"anchor={anchor}", f"text=af{shape.get('fill', '#000000')[1:]}", *faintness(shape)]
    font += rf"\fontsize{{{size}bp}}{{{size}bp}}\selectfont"
    yield rf"\node[{','.join(words)},font={{{font}}}] at {place} {{{tex_text(shape['text'])}}};"


DRAW: dict[str, Any] = {
    "rect": draw_rectangle, "circle": draw_circle, "polygon": draw_polygon, "path": draw_path, "text": draw_text,
}  # fmt: skip


def tex_text(text: str) -> str:
    r"""A text that TeX prints as it is.

    >>> tex_text("∂L/∂w_1 = −2 α")
    '$\\partial$L/$\\partial$w\\_1 = $-$2 $\\alpha$'
    """
    return "".join([tex_letter(c) for c in text])


def tex_letter(c: str) -> str:
    """One letter."""
    if c in SPECIAL:
        return SPECIAL[c]
    if c in GREEK:
        return f"$\\{GREEK[c]}$"
    return c if " " <= c <= "~" or "À" <= c <= "ÿ" else "?"
