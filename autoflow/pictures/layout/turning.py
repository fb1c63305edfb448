"""A box with a direction of its own: it is read downwards, while the data outside flow to the right.

The box was arranged by itself, from top to bottom, so its arrows enter above and leave below. Around it they run from
left to right. So each arrow gets a lane: from the left border below the headline to the place where it goes down, or
below the nodes to the right border. The lanes are ordered so that no arrow crosses the lane of another.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .layers import Point, Value

LANES = 12.0  # between two of them
BELOW = 10.0  # between the nodes and the first lane
Path = tuple[int, ...]


@dataclass(slots=True)
class Nested:
    """What is inside one box, arranged: places relative to the box, which is ``along`` by ``across`` large."""

    along: float
    across: float
    corners: dict[int, Point] = field(default_factory=dict)
    frames: dict[Path, tuple[float, float, float, float]] = field(default_factory=dict)  # along, across, and sizes
    paths: dict[int, list[Point]] = field(default_factory=dict)  # per line: the part of it inside the box
    inputs: dict[Value, float] = field(default_factory=dict)  # what enters -> offset across
    outputs: dict[Value, float] = field(default_factory=dict)
    starts: list[float] = field(default_factory=list)
    stubs: set[int] = field(default_factory=set)  # lines that begin anew in here


def turn_box(box: Nested, head: float, entering: dict[int, Value], leaving: dict[int, Value]) -> Nested:
    """The box as a node for what is around it. ``head``: how far down its nodes may begin; ``entering`` and
    ``leaving``:
    the values of the lines that have only one end inside."""
    above, below = lanes(box.inputs, head), len(box.outputs) * LANES
    added = len(above) * LANES
    foot = box.along + added - 2.0
    places = {value: foot + y for value, y in lanes(box.outputs, 0.0).items()}
    answer = Nested(box.across, box.along + added + below + BELOW * bool(places), starts=[], stubs=set(box.stubs))
    answer.corners = {k: (b, a + added) for k, (a, b) in box.corners.items()}
    answer.frames = {p: (b, a + added, h, w) for p, (a, b, w, h) in box.frames.items()}
    answer.inputs, answer.outputs = above, places
    for i, path in box.paths.items():
        points = [(b, a + added) for a, b in path]
        if i in entering:
            x, y = points[0][0], above[entering[i]]
            points = [(0.0, y), (x, y), (x, y), *points[1:]]
        if i in leaving:
            x, y = points[-1][0], places[leaving[i]]
            points = [*points[:-1], (x, y), (x, y), (answer.along, y)]
        answer.paths[i] = points
    return answer


def lanes(ports: dict[Value, float], start: float) -> dict[Value, float]:
    """The heights of the lanes to or from these ports; the lane of the leftmost port is next to the nodes.

    >>> lanes({(7, None): 100.0, (8, None): 50.0}, 30.0)
    {(7, None): 30.0, (8, None): 42.0}
    """
    order = sorted(ports, key=ports.__getitem__, reverse=True)
    return {value: start + LANES * order.index(value) for value in ports}
