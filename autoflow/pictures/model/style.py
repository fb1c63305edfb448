"""Colours, fonts and widths of text, shared by all pictures.

Three ways to know what a node is: its colour, its outline, its word. The colours are of the Okabe-Ito family, which
people who confuse red and green, or blue and yellow, tell apart. Every text on its own fill has a contrast of at
least 4.5 : 1, every arrow of 3 : 1 (WCAG 2.1, 1.4.3 and 1.4.11), and tests say so.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from math import fsum

from ...base.columns import cells, places

Theme = dict[str, str]
KINDS = ("Variable", "Constant", "Operation")
SHORT = {"Variable": "var", "Constant": "con", "Operation": "op", "Scope": "sco"}

# fmt: off
LIGHT: Theme = {
    "bg": "#FFFFFF", "ink": "#17202A", "sub": "#5B6675", "edge": "#808C99",
    "local": "#7A4A00", "grad": "#97266D", "warn": "#B3261E",
    "var-fill": "#E6F1FB", "var-head": "#E6F1FB", "var-line": "#0072B2", "var-text": "#003E63", "var-word": "#005C91",
    "con-fill": "#E2F5EE", "con-head": "#E2F5EE", "con-line": "#007453", "con-text": "#00503A", "con-word": "#00694B",
    "op-fill":  "#FFF7EA", "op-head":  "#FBD9A3", "op-line":  "#C8770A", "op-text":  "#5A3200", "op-word":  "#5A3200",
    "sco-fill": "#F5F7F9", "sco-head": "#F5F7F9", "sco-line": "#C9D1D9", "sco-text": "#17202A", "sco-word": "#4A5563",
    "flow0": "#A0859A", "flow1": "#9E6D8F", "flow2": "#9C5684", "flow3": "#993E78", "flow4": "#97266D",
}
DARK: Theme = {
    "bg": "#11161C", "ink": "#EDF2F7", "sub": "#9AA7B5", "edge": "#6B7885",
    "local": "#F2BE75", "grad": "#F59AD0", "warn": "#FF9A8F",
    "var-fill": "#10283C", "var-head": "#10283C", "var-line": "#56B4E9", "var-text": "#CFE9FB", "var-word": "#8CCBF0",
    "con-fill": "#0E2D25", "con-head": "#0E2D25", "con-line": "#2FC79A", "con-text": "#C6F2E3", "con-word": "#6FDDBB",
    "op-fill":  "#241B10", "op-head":  "#5A3B08", "op-line":  "#E69F00", "op-text":  "#FFE3B3", "op-word":  "#FFE3B3",
    "sco-fill": "#171E26", "sco-head": "#171E26", "sco-line": "#35414D", "sco-text": "#EDF2F7", "sco-word": "#B4BFCA",
    "flow0": "#766277", "flow1": "#96708D", "flow2": "#B67EA4", "flow3": "#D58CBA", "flow4": "#F59AD0",
}
# fmt: on
THEMES = {"light": LIGHT, "dark": DARK}

MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
SANS = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

# Role of a text -> family, size in pixels, bold, colour. "@" is replaced by the kind of the node around it.
# fmt: off
STYLES: dict[str, tuple[str, float, bool, str]] = {
    "title":    ("sans", 16.0, True,  "@-text"),   # the name of a node
    "word":     ("sans", 11.0, False, "@-word"),   # Variable, multiply
    "value":    ("mono", 14.0, True,  "ink"),
    "shape":    ("mono", 12.0, False, "ink"),
    "numbers":  ("mono", 12.0, False, "ink"),      # an array: elements, or mean ± standard deviation
    "operand":  ("mono", 12.5, False, "@-text"),
    "slot":     ("sans", 10.0, False, "sub"),      # the number of an operand, in a circle
    "local":    ("mono", 12.0, False, "local"),
    "sent":     ("mono", 12.0, False, "grad"),
    "partial":  ("sans", 11.0, False, "grad"),     # ∂a5/∂x
    "parts":    ("mono", 11.0, False, "sub"),
    "gradient": ("mono", 13.5, True,  "grad"),
    "blocks":   ("mono", 12.0, False, "grad"),     # how large a gradient is, on a log scale
    "note":     ("sans", 11.0, False, "sub"),
    "warn":     ("sans", 11.0, True,  "warn"),
}
# fmt: on

NARROW, SLIM, WIDE = frozenset("ijl.,:;|!'` I"), frozenset("frt()[]/\\"), frozenset("mwMW@%—…")


@lru_cache(4096)
def width(text: str, style: str) -> float:
    """How many pixels ``text`` takes at most. Digits are exact; for other fonts we have only their usual widths.

    Here and in every other length fsum adds: sum() of floats rounds otherwise before Python 3.12, and pictures are to
    be the same to the byte.

    >>> round(width("3.141", "value"), 1)
    42.7
    """
    family, size, bold, _ = STYLES[style]
    if style == "blocks":
        return 6 * BLOCK
    if style == "slot":
        return CIRCLE
    if family == "mono":
        return 0.61 * size * places(text)
    return size * (1.08 if bold else 1.0) * fsum([_em(c) for c in text])


BLOCK = 9.0  # one of the six blocks, with the space behind it
CIRCLE = 15.0  # the circle around an operand's number


def _em(c: str) -> float:
    """The width of a letter in a wide sans serif font, in units of its size."""
    if cells(c) != 1:
        return float(cells(c))
    if c in NARROW or c in SLIM or c in WIDE:
        return 0.38 if c in NARROW else 0.5 if c in SLIM else 0.95
    if c.isalnum():
        return 0.72 if c.isupper() else 0.63
    return 1.0 if ord(c) > 0x2FFF else 0.8


# They reorder what follows.
BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: object) -> str:
    r"""User text on one line, without anything that a file format or a terminal would obey.

    >>> clean("two\nlines"), clean("bell\a")
    ('two lines', 'bell�')
    """
    text = str(text)
    if text.isascii() and text.isprintable():  # most often
        return text
    return "".join([" " if c in "\t\n\r\v\f\x85\u2028\u2029" else "\ufffd" if _forbidden(c) else c for c in text])


def _forbidden(c: str) -> bool:
    code = ord(c)
    # control characters, halves of characters, and what Unicode calls noncharacters
    return c in BIDI or unicodedata.category(c) in ("Cc", "Cs") or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def break_words(text: str, widest: float, style: str) -> list[str]:
    """The words of ``text`` in lines that fit. Blanks between them stay."""
    lines = [""]
    for word in re.findall(r"\S+\s*", text):
        if lines[-1] and width((lines[-1] + word).rstrip(), style) > widest:
            lines.append("")
        lines[-1] += word
    return [line.rstrip() for line in lines]


def clip(text: str, longest: int) -> str:
    """At most ``longest`` characters.

    >>> clip("weights_of_the_first_layer", 12)
    'weights_of_…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


TO_ASCII = str.maketrans({
    "├": "|", "└": "`", "│": "|", "─": "-", "∂": "d", "×": "x", "−": "-", "·": ";", "±": "+-", "…": "...", "∞": "inf",
    "–": "-", "→": "->", "▰": "#", "▱": ".", "¹": "^1", "⁸": "8", **{chr(0x2460 + k): f"({k + 1})" for k in range(20)},
})  # fmt: skip


def shows_boxes() -> bool:
    """Can the terminal's encoding write the characters of the tree?"""
    try:
        "├─①∂×−".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def readable(text: str) -> str:
    """``text`` as the terminal can show it, for whatever is printed."""
    return text if shows_boxes() else to_ascii(text)


def to_ascii(text: str) -> str:
    """The same in ASCII."""
    return text.translate(TO_ASCII).encode("ascii", "backslashreplace").decode()
