"""The display list: rectangles, circles, paths and texts in groups. All formats but DOT's are written from it.

A shape has a *role*, a group has *states*: the box of a card is a ``box`` in a group that is ``op`` and ``out``.
:data:`RULES` says what roles look like in groups of a state, with colours by their names in a theme. An SVG gets the
rules as its style sheet, so that one file can follow the reader's light or dark screen. For all other formats
:func:`resolve` gives every shape its place and its colours. All coordinates are rounded when the list is made, so that
all formats have the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..model.style import MONO, SANS, SHORT, STYLES, THEMES

Point = tuple[float, float]
Look = dict[str, str]  # properties of a shape as CSS calls them
Step = tuple[str, *tuple[float, ...]]  # of a path
Rule = tuple[tuple[str, ...], Look]  # ("op", "box"): of boxes in an op

# ---------------------------------------------------------------- shapes and groups


@dataclass(frozen=True, slots=True)
class Rect:
    """At the corner of its group, if it has no place of its own. Fields are called as the attributes in SVG."""

    role: str
    x: float | None
    y: float | None
    width: float
    height: float
    rx: float | None = None


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle around (cx, cy)."""

    role: str
    cx: float
    cy: float
    r: float


@dataclass(frozen=True, slots=True)
class Path:
    """Commands of SVG with their numbers: M, L, C, H, and h, l, z."""

    role: str
    d: tuple[Step, ...]
    stroke_width: str = ""
    stroke_opacity: str = ""

    def outline(self) -> tuple[list[Point], list[int]]:
        """Its points, and matplotlib's codes: 1 move, 2 line, 4 curve, 79 close.

        >>> Path("", (("M", 1.0, 2.0), ("H", 5.0), ("l", 1.0, 1.0), ("z",))).outline()
        ([(1.0, 2.0), (5.0, 2.0), (6.0, 3.0), (1.0, 2.0)], [1, 2, 2, 79])
        """
        points: list[Point] = []
        codes = []
        for command, *numbers in self.d:
            if command in "Hhl":  # from the point before
                x, y = points[-1]
                numbers = [numbers[0], y] if command == "H" else [x + numbers[0], y + sum(numbers[1:])]
            points += list(zip(numbers[::2], numbers[1::2], strict=True)) or points[:1]
            codes += {"M": [1], "C": [4, 4, 4], "z": [79]}.get(command, [2])
        return points, codes


@dataclass(frozen=True, slots=True)
class Polygon:
    """The head of an arrow."""

    role: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """One line. ``goto``: the card that a click on it leads to. ``text_anchor``: which of its points is at (x, y)."""

    role: str
    goto: int | None
    x: float
    y: float
    text: str
    text_anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Title:
    """What a group says when one points at it, in formats that can."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """What is drawn at one place in one state. ``mark``: n3 of a card, e0-3-1 of an arrow."""

    items: tuple[Item, ...]
    at: Point | None = None
    states: tuple[str, ...] = ()
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, ready to be written; ``theme`` is "light", "dark" or "auto"."""

    wide: int
    high: int
    theme: str
    items: tuple[Item, ...]


Shape = Rect | Circle | Path | Polygon | Text
Item = Shape | Title | Group


@lru_cache(8192)
def tenth(x: float) -> float:
    """A coordinate with at most one digit behind the point.

    >>> tenth(12.04), tenth(-0.01), tenth(3.25)
    (12.0, 0.0, 3.2)
    """
    return round(x, 1) + 0.0  # never -0


def step(command: str, *numbers: float) -> Step:
    """One of a path."""
    return (command, *[tenth(x) for x in numbers])


def tag_of(item: Item) -> str:
    """The name of its element in an SVG."""
    return type(item).__name__.lower()


# ---------------------------------------------------------------- what they look like


# The cells of images: of values and of gradients, above zero and below, and what is not finite.
CELLS = {"warm": "op-line", "cold": "var-line", "more": "grad", "less": "con-line", "void": "warn"}


def all_rules() -> Iterator[Rule]:
    """Later ones win."""
    yield ("text",), {"font-family": SANS}
    yield ("bg",), {"fill": "bg"}
    yield ("path",), {"fill": "none"}
    for key, (family, size, bold, colour) in STYLES.items():
        mono = {"font-family": MONO} if family == "mono" else {}
        yield (key,), {"font-size": f"{size:g}px", **mono, **({"font-weight": "700"} if bold else {})}
        if "@" in colour:
            yield from [((short, key), {"fill": colour.replace("@", short)}) for short in SHORT.values()]
        else:
            yield (key,), {"fill": colour}
    for short in SHORT.values():
        yield (short, "box"), {"fill": f"{short}-fill", "stroke": f"{short}-line", "stroke-width": "1.5"}
        yield (short, "band"), {"fill": f"{short}-head"}
        yield (short, "rule"), {"stroke": f"{short}-line"}
    yield ("con", "box"), {"stroke-dasharray": "6 4"}
    yield ("faded",), {"opacity": ".3"}
    yield ("out", "box"), {"stroke-width": "3.4"}
    yield ("alarm", "box"), {"stroke": "warn", "stroke-width": "3"}
    yield ("ring",), {"fill": "none", "stroke": "sub"}
    yield ("full",), {"fill": "grad"}
    yield ("empty",), {"fill": "none", "stroke-width": ".7", "stroke": "sub"}
    for key, colour in CELLS.items():
        yield (key,), {"stroke": colour, "shape-rendering": "crispEdges"}
    yield ("ground",), {"fill": "bg", "stroke": "sub", "stroke-width": ".7"}
    yield ("fixed", "path"), {"stroke-dasharray": "6 4"}
    for key, colour in [("plain", "edge"), ("fixed", "con-line"), *[(f"f{i}", f"flow{i}") for i in range(5)]]:
        yield (key, "path"), {"stroke": colour}
        yield (key, "polygon"), {"fill": colour}


def hide(state: str, *roles: str) -> list[Rule]:
    """These roles cannot be seen in groups of that state."""
    return [((state, role), {"visibility": "hidden"}) for role in roles]


RULES = list(all_rules())
STEPS: list[Rule] = [  # of one step: what waits is pale, numbers to come are hidden, the card at work is outlined
    (("wait",), {"opacity": ".38"}),
    *hide("wait", "value", "numbers", "local", "warm", "cold"),
    *hide("dry", "gradient", "parts", "partial", "full", "empty", "more", "less"),
    *hide("partly", "parts"),
    (("act", "box"), {"stroke-width": "4.2"}),
]
for _state, _colour, _wide in (("quiet", "edge", "1.3"), ("busy", "ink", "3"), ("back", "grad", "4.2")):
    STEPS += [((_state, "path"), {"stroke": _colour, "stroke-width": _wide}), ((_state, "polygon"), {"fill": _colour})]


@lru_cache(1024)
def look_of(tag: str, role: str, states: tuple[str, ...], theme: str) -> Look:
    """All properties of a shape in a group of these states, with the colours of a theme."""
    answer = {"opacity": "1"}
    for (*above, own), look in RULES + STEPS:
        if own in (tag, role, *states) and set(above) <= set(states):
            answer |= {what: THEMES[theme].get(value, value) for what, value in look.items()}
    return answer


def resolve(drawing: Drawing) -> Iterator[tuple[Shape, Point, Look]]:
    """All shapes that can be seen, from the background to the front, with their group's place and their looks."""
    ground = Rect("bg", 0, 0, drawing.wide, drawing.high)
    yield from resolve_group(Group((ground, *drawing.items)), (0.0, 0.0), (), drawing.theme)


def resolve_group(group: Group, at: Point, above: tuple[str, ...], theme: str) -> Iterator[tuple[Shape, Point, Look]]:
    """The same for a group at ``at``, inside others of the states ``above``."""
    x, y = group.at or (0.0, 0.0)
    at, states = (at[0] + x, at[1] + y), above + group.states
    for item in group.items:
        if isinstance(item, Group):
            yield from resolve_group(item, at, states, theme)
        elif not isinstance(item, Title):
            look = look_of(tag_of(item), item.role, states, theme)
            if isinstance(item, Path) and item.stroke_width:
                look = {"stroke-width": item.stroke_width, **look}
            if isinstance(item, Path) and item.stroke_opacity:
                look = {**look, "opacity": f"{float(look['opacity']) * float(item.stroke_opacity):g}"}
            if "visibility" not in look:
                yield item, at, look
