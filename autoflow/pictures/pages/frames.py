"""The picture at each of its steps, as SVG: what ``fragment.js`` shows in a page, for formats that run no script.

A frame is made as there: from the first step on, cards that wait are pale, numbers that are not there yet are hidden,
the card at work has a thick outline. The rules for that are those of ``fragment.css``. Above the picture stands what
the step says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from xml.etree import ElementTree

from ..folding.views import visible_picture
from ..model.data import GraphData, on_paper
from ..model.steps import Step, steps_of
from ..model.style import THEMES, break_words
from ..render.shapes import local_name
from ..render.svg import MARGIN, to_svg
from .html import frame, pack_file

LINE = 19.0  # of the caption
SVG = "{http://www.w3.org/2000/svg}"


def frames(graph: GraphData) -> Iterator[tuple[Step, Any]]:
    """Each step with the root of its SVG; all are of one size.

    Raises ValueError for a picture with folded boxes, whose parts have no cards to show a step on.
    """
    shown = on_paper(visible_picture(graph))
    if any([v.fold for v in shown.nodes]):
        raise ValueError("the steps of a folded picture cannot be drawn: node.step().save(...) draws all nodes")
    steps = steps_of(shown)
    told = [frame(shown, step) for step in steps]
    text = to_svg(replace(shown, look=replace(shown.look, engine="built-in")))
    wide = float(ElementTree.fromstring(text).get("width", "1")) - 2 * MARGIN  # noqa: S314 - our own text
    captions = [break_words(step.caption, wide, "numbers") for step in steps]
    lines = max(map(len, captions)) + 1
    for k, step in enumerate(steps):
        root = ElementTree.fromstring(text)  # noqa: S314
        set_classes(root, state_of(told, k), shown.look.theme)
        said = [f"{k} / {len(steps) - 1}  {step.phase}", *captions[k]]
        yield step, with_caption(root, said, lines)


@dataclass
class State:
    """What a step changes: ids of cards, names of arrows, rows of products, texts of sums that are not complete."""

    marks: dict[str, set[str]] = field(default_factory=dict)  # "n3" for a card, "e0-3-1" for an arrow: its classes
    received: set[int] = field(default_factory=set)
    sums: dict[int, str] = field(default_factory=dict)
    unsent: set[tuple[int, int]] = field(default_factory=set)  # card, and which of its products

    def mark(self, names: Iterable[str], kind: str) -> None:
        """Give them a class of the style sheet."""
        for name in names:
            self.marks.setdefault(name, set()).add(kind)


def state_of(told: Sequence[dict[str, Any]], k: int) -> State | None:
    """The state of step ``k``, made from the first one on; None: all is as in the finished picture."""
    if told[k]["phase"] == "end":
        return None
    state = State()
    for place, step in enumerate(told):
        done, products = place <= k, step.get("products", ())
        if step["phase"] == "forward" and not done:
            state.mark([f"n{step['node']}"], "wait")
        if not done:
            state.mark([f"e{p['edge']}" for p in products], "quiet")
            state.unsent |= {(step["node"], p["row"]) for p in products}
            continue
        arrived = [(step["node"], step)] if step["phase"] == "seed" else [(p["to"], p) for p in products]
        for receiver, sent in arrived:
            state.received.add(receiver)
            state.sums.pop(receiver, None)
            if not sent.get("complete", True):
                state.sums[receiver] = sent["sum"]
    step = told[k]
    state.mark([f"n{step['node']}"] if "node" in step else [], "act")
    state.mark([f"e{edge}" for edge in step.get("inputs", ())], "busy")
    state.mark([f"e{p['edge']}" for p in step.get("products", ())], "back")
    return state


def set_classes(root: Any, state: State | None, theme: str) -> None:
    """Put a state into an SVG, and the rules that say how it looks."""
    if state is None:
        return
    for group in root.iter(SVG + "g"):
        names: set[str] = set()
        if (edge := group.get("data-edge")) is not None:
            names = state.marks.get(f"e{edge}", names)
        elif (node := group.get("data-node")) is not None:
            names = set_card(group, int(node), state)
        group.set("class", " ".join([group.get("class", ""), *sorted(names)]).strip())
    sheet = next(e for e in root.iter() if local_name(e) == "style")
    sheet.text = f"{sheet.text}\n{step_rules(theme)}"


def set_card(group: Any, k: int, state: State) -> set[str]:
    """A card's texts, and its classes."""
    names = set(state.marks.get(f"n{k}", ()))
    if k not in state.received:
        names.add("dry")
    texts = [e for e in group if local_name(e) == "text"]
    if k in state.sums:
        names.add("partly")
        next(e for e in texts if e.get("class") == "gradient").text = state.sums[k]
    for row, e in enumerate([e for e in texts if e.get("class") == "sent"]):
        if (k, row) in state.unsent:
            e.set("class", "sent unsent")
    return names


@cache
def step_rules(theme: str) -> str:
    """The rules of ``fragment.css`` for steps, in the words that a picture's own style sheet uses."""
    rules = pack_file("fragment.css").partition("/* A step:")[2].partition("*/")[2].partition("@media")[0]
    rules = re.sub(r"var\(--([\w-]+)\)", lambda m: THEMES[theme][m[1]], rules)
    return rules.replace("visibility: hidden", "opacity: 0").replace(" !important", "")


def with_caption(root: Any, said: Sequence[str], lines: int) -> Any:
    """The picture with lines of text above it, in room for ``lines`` of them."""
    high = lines * LINE + MARGIN / 2
    _, *rest = [e for e in root if local_name(e) in ("rect", "g", "text")]
    for e in rest:
        root.remove(e)
    below = ElementTree.SubElement(root, SVG + "g", {"transform": f"translate(0 {high})"})
    below.extend(rest)
    for k, text in enumerate(said):
        where = {"class": "numbers", "x": str(MARGIN), "y": str(MARGIN / 2 + (k + 0.8) * LINE)}
        ElementTree.SubElement(root, SVG + "text", where).text = text
    height = float(root.get("height", "1")) + high
    root.set("height", str(round(height)))
    root.set("viewBox", f"0 0 {root.get('width')} {round(height)}")
    return root
