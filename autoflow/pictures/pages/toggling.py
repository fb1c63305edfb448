"""Boxes that fold and open on a click, in a page without any Python behind it.

The page gets the picture once for each set of folded boxes, drawn here by the same layout: a click only exchanges
pictures. There are 2ⁿ such sets for n boxes, so those which need the fewest clicks are drawn, up to a limit; a box
whose click would lead further stays as it is. The limits count cards and letters, not seconds: equal graphs give
equal pages.
"""

from __future__ import annotations

from typing import Any

from ..folding import views
from ..model.data import GraphData, Vertex
from ..render.svg import to_svg

PICTURES = 24  # as many as a picture may have folded boxes
CARDS = 800  # in all pictures together, to limit the time of their layout
LETTERS = 1_000_000  # a notebook keeps them all, compressed
NAMED = 500  # members of a folded box that can be found by their titles


def toggles(graph: GraphData) -> list[dict[str, Any]]:
    """For each set of folded boxes its picture, and where a click leads; the picture as it stands comes first.

    ``frames`` has, for each open box from the first drawn to the last, the number of the picture where it is folded;
    ``cards`` has, for the id of each folded one, that of the picture where it is open; -1 if the page does not have
    it. ``inside`` has the titles in each folded one, to be searched; ``at`` the card that represents each card of
    the first picture, ``parts`` all cards of what is folded there. Nothing without boxes.

    Where a set was not drawn, a click on + opens that box alone, with the others as in the first picture.
    """
    home = views.visible_picture(graph)
    if graph.view or graph.look.engine == "dot" or not (home.frames or any([v.fold for v in home.nodes])):
        return []
    if any([v.fold for v in graph.nodes]):
        return []  # so large that its parts were never gathered
    start = frozenset(views.boxes_of(graph)[1])
    known = {start: home}
    texts: dict[frozenset[int], str] = {start: ""}  # that picture is in the page already
    waiting, budget = [start], [CARDS - len(home.nodes), LETTERS]
    for closed in waiting:
        for other in ways(known[closed], closed).values():
            if other not in known and len(known) < PICTURES and min(budget) > 0:
                drawn = views.visible_picture(views.with_look(graph, closed=tuple(sorted(other))))
                budget[0] -= len(drawn.nodes)
                text = to_svg(drawn) if budget[0] > 0 else ""
                budget[1] -= len(text)
                if min(budget) > 0:
                    known[other], texts[other] = drawn, text
                    waiting.append(other)
    number = {closed: k for k, closed in enumerate(known)}
    titles = [v.title for v in graph.nodes]
    return [picture_data(drawn, closed, texts[closed], number, home, titles, start) for closed, drawn in known.items()]


def ways(drawn: GraphData, closed: frozenset[int]) -> dict[int, frozenset[int]]:
    """For each box that can be seen the set of folded boxes after a click on it."""
    opened = {v.fold.box: closed - {v.fold.box} for v in drawn.nodes if v.fold}
    return opened | {f.path[-1]: closed | {f.path[-1]} for f in drawn.frames}


def alone(drawn: GraphData, box: int, start: frozenset[int]) -> frozenset[int]:
    """The set at first, but for one box: open if it is folded in ``drawn``, with those around it; or folded."""
    for v in drawn.nodes:
        if v.fold and v.fold.box == box:
            return start - {box, *v.entered}
    return start | {box}


def picture_data(
    drawn: GraphData, closed: frozenset[int], svg: str, number: dict[frozenset[int], int], home: GraphData,
    titles: list[str], start: frozenset[int],
) -> dict[str, Any]:  # fmt: skip
    """One picture as the script needs it."""
    others = {box: (other, alone(drawn, box, start)) for box, other in ways(drawn, closed).items()}
    to = {box: next((number[x] for x in some if x in number), -1) for box, some in others.items()}
    card = {member: v.id for v in drawn.nodes for member in v.members}
    parts = {str(v.id): list(dict.fromkeys([card[m] for m in v.members if m in card])) for v in home.nodes if v.fold}
    return {
        "svg": svg,
        "frames": [to[f.path[-1]] for f in drawn.frames],
        "cards": {str(v.id): to[v.fold.box] for v in drawn.nodes if v.fold},
        "inside": {str(v.id): hidden_titles(v, titles) for v in drawn.nodes if v.fold},
        "at": [card.get(v.members[0], -1) for v in home.nodes],
        "parts": {k: found for k, found in parts.items() if len(found) > 1},
    }


def hidden_titles(v: Vertex, titles: list[str]) -> str:
    """The titles of what a folded box holds, each once."""
    return " ".join(dict.fromkeys([titles[k] for k in v.members[:NAMED]]))
