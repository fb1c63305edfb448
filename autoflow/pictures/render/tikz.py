r"""The picture as TikZ, for papers and slides: ``\input`` it, or run pdflatex on the file as it is.

It has the places and colours of the SVG, in the fonts of the document. What pdflatex has no
letter for is written in mathematics, or as a question mark.
"""

from __future__ import annotations

from ..model.data import GraphData, on_paper
from .display import Circle, Look, Path, Point, Polygon, Rect, Shape, Text, resolve
from .drawing import drawing_of

POINT = 0.75  # big points per pixel
ROUND = 4  # digits behind the point of coordinates
ANCHORS = {"start": "base west", "middle": "base", "end": "base east"}
FORMS = {"M": "{}", "C": ".. controls {} and {} .. {}", "z": "-- cycle"}  # of a path's commands; of others -- {}

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

# Letters that pdflatex does not know or would interpret, and their replacements.
SPECIAL = {
    **{c: "\\" + c for c in "#$%&_{}"}, "\\": r"\textbackslash{}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}",
    "-": "{-}", "'": "{'}",  # alone: TeX makes one sign of two
    "`": r"\textasciigrave{}", "…": r"\ldots{}", "–": "--", "—": "---", "−": "$-$", "·": r"$\cdot$", "×": r"$\times$",
    "∂": r"$\partial$", "±": r"$\pm$", "∞": r"$\infty$", "⊙": r"$\odot$", "ᵀ": r"$^{\mathsf{T}}$",
    "→": r"$\rightarrow$", "←": r"$\leftarrow$", "√": r"$\surd$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$",
    "Σ": r"$\Sigma$",
    "●": r"$\bullet$", **{c: rf"\textcircled{{\tiny {k}}}" for k, c in enumerate("①②③", 1)},
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
    drawing = drawing_of(on_paper(graph))
    shapes = list(resolve(drawing))
    used = [look.get(key, "none") for _, _, look in shapes for key in ("fill", "stroke")]
    lines = [rf"\definecolor{{af{c[1:]}}}{{HTML}}{{{c[1:]}}}" for c in dict.fromkeys(used) if c != "none"]
    lines += [PICTURE % (POINT, POINT), rf"\useasboundingbox (0,0) rectangle ({n(drawing.wide)},{n(drawing.high)});"]
    lines += [command(*one) for one in shapes]
    text = "\n".join([*lines, r"\end{tikzpicture}%", ""])
    size = (n(POINT * drawing.wide + 1), n(POINT * drawing.high + 1))
    return HEAD % size + text + "\\end{document}\n" if full else text


def n(x: float) -> str:
    """A coordinate.

    >>> n(12.50001), n(-0.00001)
    ('12.5', '0')
    """
    text = f"{x:.{ROUND}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def command(shape: Shape, at: Point, look: Look) -> str:
    """What draws one shape."""
    if isinstance(shape, Text):
        return text_command(shape, at, look)
    (x, y), words = at, paint(look)
    match shape:
        case Rect(_, left, top, wide, high, radius):
            x, y = x + (left or 0.0), y + (top or 0.0)
            radius = min(radius or 0.0, wide / 2, high / 2)
            words += [f"rounded corners={n(POINT * radius)}bp"] if radius else []
            way = f"({n(x)},{n(y)}) rectangle ({n(x + wide)},{n(y + high)})"
        case Circle():
            way = f"({n(x + shape.cx)},{n(y + shape.cy)}) circle[radius={n(POINT * shape.r)}bp]"
        case Polygon():
            way = " -- ".join([f"({n(x + px)},{n(y + py)})" for px, py in shape.points]) + " -- cycle"
        case Path():
            places = iter([f"({n(x + px)},{n(y + py)})" for px, py in shape.outline()[0]])
            forms = [FORMS.get(step[0], "-- {}") for step in shape.d]
            way = " ".join([form.format(*[next(places) for _ in range(form.count("{}") or 1)]) for form in forms])
    return rf"\path[{','.join(words)}] {way};"


def text_command(shape: Text, at: Point, look: Look) -> str:
    """One line of text."""
    place = f"({n(at[0] + shape.x)},{n(at[1] + shape.y)})"
    size = n(POINT * float(look["font-size"].removesuffix("px")))
    font = r"\ttfamily" if "monospace" in look["font-family"] else r"\sffamily"
    font += r"\bfseries" * ("font-weight" in look) + rf"\fontsize{{{size}bp}}{{{size}bp}}\selectfont"
    words = [f"anchor={ANCHORS[shape.text_anchor]}", f"text=af{look['fill'][1:]}", *faintness(look)]
    return rf"\node[{','.join(words)},font={{{font}}}] at {place} {{{tex_text(shape.text)}}};"


def paint(look: Look) -> list[str]:
    r"""What is in the brackets of ``\path``."""
    fill, line = look["fill"], look.get("stroke", "none")
    words = [f"fill=af{fill[1:]}"] if fill != "none" else []
    if line != "none":
        words += [f"draw=af{line[1:]}", f"line width={n(POINT * float(look.get('stroke-width', '1')))}bp"]
        dashes = [n(POINT * float(d)) for d in look.get("stroke-dasharray", "").split()]
        words += [f"dash pattern=on {dashes[0]}bp off {dashes[1]}bp"] if dashes else []
    return words + faintness(look)


def faintness(look: Look) -> list[str]:
    """The opacity of faded parts."""
    opacity = float(look["opacity"])
    return [f"opacity={n(opacity)}"] if opacity < 1 else []


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
