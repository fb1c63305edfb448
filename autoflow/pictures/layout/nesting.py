"""The layout of a picture with boxes in it: each box is arranged by itself, and then is one node for what is around it.

So a box contains only its own nodes, and boxes do not overlap. An arrow across a border ends there at a port: a
node without size in the first or last rank of the box, which the layout places like every other.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from .arrange import AROUND, COLUMN, DOWNWARDS, RIGHT, Nested, arrange, turn_box
from .layers import Box, Line, Plan, Point, Value
from .rows import WIDEST, wrap_rows

EDGE = 16.0  # between the border of a box and what is in it
BOXES = 2300.0  # the widest row of boxes that one reads downwards
PORT = Box(0.0, 0.0, (0.0,), 0.0)
Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """The room that a box needs besides its nodes: for its headline, along or across, and its least length along."""

    head: float
    least: float


class Nesting:
    """The boxes and lines of a whole picture."""

    def __init__(
        self, boxes: Sequence[Box], lines: Sequence[Line], around: Sequence[Path], rooms: dict[Path, Room],
        direction: str, across: Container[Path] = (),
    ) -> None:  # fmt: skip
        self.boxes, self.lines, self.around, self.rooms = boxes, lines, around, rooms
        self.direction, self.across = direction, across

    def is_down(self, path: Path) -> bool:
        """Do the arrows directly inside the box ``path`` run from top to bottom?"""
        return is_down(self.direction, path, self.across)

    def plan(self) -> tuple[Plan, dict[Path, tuple[float, float, float, float]]]:
        """The places of all nodes, and the frames of all boxes."""
        whole = self.solve((), list(range(len(self.boxes))), list(range(len(self.lines))))
        corners = [whole.corners[k] for k in range(len(self.boxes))]
        paths = [whole.paths[i] for i in range(len(self.lines))]
        return Plan(corners, paths, whole.along, whole.across, whole.starts, whole.stubs), whole.frames

    def solve(self, path: Path, members: list[int], touching: list[int]) -> Nested:
        """Arrange the box ``path`` with these nodes; ``touching`` are the lines with an end in it."""
        level = len(path)
        item: dict[int, tuple[int, ...]] = {
            k: self.around[k][: level + 1] if len(self.around[k]) > level else (-1, k) for k in members
        }
        items = list(dict.fromkeys([item[k] for k in members]))
        children: dict[int, Nested] = {}
        for number, it in enumerate(items):
            if it[0] != -1:
                inner = [k for k in members if item[k] == it]
                ends = set(inner)
                mine = [i for i in touching if self.lines[i].source in ends or self.lines[i].target in ends]
                children[number] = self.solve(it, inner, mine)
                if self.is_down(it) and not self.is_down(path):
                    entering = {i: self.lines[i].value for i in mine if self.lines[i].source not in ends}
                    leaving = {i: self.lines[i].value for i in mine if self.lines[i].target not in ends}
                    children[number] = turn_box(children[number], self.rooms[it].head + EDGE, entering, leaving)
        return Level(self, path, items, item, children, touching).arranged()


def is_down(direction: str, path: Path, across: Container[Path]) -> bool:
    """Do arrows run from top to bottom directly inside of this box? (Of (): in the picture around all boxes.)

    >>> is_down("boxes", (1,), [(1,)]), is_down("boxes", (1, 2), [(1,)])  # time runs to the right, steps read down
    (False, True)
    """
    if direction != "boxes":
        return direction == "down"
    return any([path[: n + 1] not in across for n in range(len(path))])


class Level:
    """One box while it is arranged: its items are nodes, inner boxes, and ports for lines that enter and leave."""

    def __init__(
        self, nesting: Nesting, path: Path, items: list[tuple[int, ...]], item: dict[int, tuple[int, ...]],
        children: dict[int, Nested], touching: list[int],
    ) -> None:  # fmt: skip
        self.nesting, self.path, self.items, self.children, self.touching = nesting, path, items, children, touching
        place = {it: n for n, it in enumerate(items)}
        self.place = {k: place[it] for k, it in item.items()}
        self.boxes = [self.box(n) for n in range(len(items))]
        self.arriving: dict[Value, int] = {}  # value from outside -> port
        self.leaving: dict[Value, int] = {}  # value from inside -> port
        self.local: dict[tuple[int, int, int, Value | None], int] = {}  # ends of a line -> its number at this level
        self.lines: list[Line] = []
        self.turning = nesting.direction == "boxes" and not nesting.is_down(path)  # are the boxes in here turned?

    def box(self, number: int) -> Box:
        """The size of an item."""
        child = self.children.get(number)
        if child is None:
            return self.nesting.boxes[self.items[number][1]]
        return Box(child.along, child.across, tuple(child.inputs.values()), 0.0)

    def arranged(self) -> Nested:
        """The whole box."""
        within = {i: self.within(i) for i in self.touching}  # the inner box that holds the whole line, if one does
        owner = {i: self.line(i) for i in self.touching if within[i] is None}
        down = self.nesting.is_down(self.path)
        inside = down and self.nesting.direction == "boxes"
        manner = COLUMN if inside else DOWNWARDS if down else AROUND if self.turning else RIGHT
        plan = arrange(self.boxes, self.lines, list(self.arriving.values()), list(self.leaving.values()), manner)
        if not down and self.nesting.direction in ("rows", "boxes"):
            plan = wrap_rows(plan, self.boxes, self.lines, len(self.path), BOXES if self.turning else WIDEST)
        room = self.nesting.rooms.get(self.path)
        dx, dy, along, across = 0.0, 0.0, plan.along, plan.across
        if room is not None:
            dx, dy = EDGE + room.head * down, EDGE + room.head * (not down)
            along, across = plan.along + 2 * EDGE + room.head * down, plan.across + 2 * EDGE + room.head * (not down)
            if down:
                across = max(across, room.least)
            else:
                along = max(along, room.least)
        nested = Nested(along, across, starts=plan.starts)
        for number, it in enumerate(self.items):
            x, y = plan.corners[number][0] + dx, plan.corners[number][1] + dy
            self.put(nested, number, it, x, y)
        nested.inputs = {value: plan.corners[port][1] + dy for value, port in self.arriving.items()}
        nested.outputs = {value: plan.corners[port][1] + dy for value, port in self.leaving.items()}
        for i, child in within.items():
            if child is not None:
                x, y = plan.corners[child][0] + dx, plan.corners[child][1] + dy
                nested.paths[i] = [(a + x, b + y) for a, b in self.children[child].paths[i]]
                nested.stubs |= self.children[child].stubs & {i}
        for i, number in owner.items():
            nested.paths[i], stub = self.lead(i, number, plan, dx, dy, along)
            nested.stubs |= {i} if stub else set()
        return nested

    def within(self, i: int) -> int | None:
        """The inner box that has both ends of a line."""
        line = self.nesting.lines[i]
        source, target = self.place.get(line.source), self.place.get(line.target)
        return source if source is not None and source == target else None

    def put(self, nested: Nested, number: int, it: tuple[int, ...], x: float, y: float) -> None:
        """Record the position of an item, and of what is in it."""
        child = self.children.get(number)
        if child is None:
            nested.corners[it[1]] = (x, y)
            return
        nested.frames[it] = (x, y, child.along, child.across)
        nested.corners.update({k: (a + x, b + y) for k, (a, b) in child.corners.items()})
        nested.frames.update({p: (a + x, b + y, w, h) for p, (a, b, w, h) in child.frames.items()})

    def line(self, i: int) -> int:
        """The line's part at this level, as a number in ``lines``; parts between the same ends are one."""
        line = self.nesting.lines[i]
        source, target = self.place.get(line.source), self.place.get(line.target)
        if source is None:
            source = self.port(self.arriving, line.value)
        if target is None:
            target = self.port(self.leaving, line.value)
        out, slot, aim = line.out if source < len(self.items) else None, line.slot, line.aim
        if source in self.children:
            out = self.children[source].outputs[line.value]
        if target >= len(self.items):
            slot, aim = 0, None
        elif target in self.children:
            slot, aim = list(self.children[target].inputs).index(line.value), None
        if self.turning and (source in self.children or target in self.children) and target < len(self.items):
            leaving = self.boxes[source].output if out is None else out
            aim = leaving - (self.boxes[source].across - self.boxes[target].across) / 2  # middle beside middle
        key = (source, target, slot, None if out is None else line.value)
        if key not in self.local:
            self.local[key] = len(self.lines)
            self.lines.append(replace(line, source=source, target=target, slot=slot, aim=aim, out=out))
        return self.local[key]

    def port(self, ports: dict[Value, int], value: Value) -> int:
        """The port for lines that carry this value."""
        if value not in ports:
            ports[value] = len(self.boxes)
            self.boxes.append(PORT)
        return ports[value]

    def lead(
        self, i: int, number: int, plan: Plan, dx: float, dy: float, along: float
    ) -> tuple[list[Point], bool]:  # fmt: skip
        """The whole path of a line inside this box, from border to border, and whether it is a stub."""
        line = self.nesting.lines[i]
        source, target = self.place.get(line.source), self.place.get(line.target)
        points = [(a + dx, b + dy) for a, b in plan.paths[number]]
        tail, inner = self.piece(target, i, plan, dx, dy)
        if inner:
            return tail, True  # it begins in the box that it leads to
        stub = number in plan.stubs
        if not stub:
            start, stub = self.piece(source, i, plan, dx, dy)
            points = start[:-1] + points[1:] if start else points
            points[0] = (0.0, points[0][1]) if source is None else points[0]
        if target is None:
            points = [*points, (along, points[-1][1])]
        return points + tail[1:], stub

    def piece(self, number: int | None, i: int, plan: Plan, dx: float, dy: float) -> tuple[list[Point], bool]:
        """The part of a line inside an inner box, if ``number`` is one, and whether it begins there as a stub."""
        child = self.children.get(-1 if number is None else number)
        if child is None or number is None:
            return [], False
        x, y = plan.corners[number][0] + dx, plan.corners[number][1] + dy
        return [(a + x, b + y) for a, b in child.paths[i]], i in child.stubs
