"""The layout of a picture with boxes in it: each box is arranged by itself, and then is one node for what is around it.

So a box contains only its own nodes, and boxes do not overlap. An arrow across a border ends there at a port: a
node without size in the first or last rank of the box, which the layout places like every other.

Wide pictures in several rows, like lines of text: cut between ranks, each row below the one before.

Where to cut is decided as in typesetting: of all ways to break the line, the one with the lowest cost is taken.
Slack, arrows that turn round and arrows that are cut all add to the cost. Leaves next to a cut go with their use:
they get a column of their own at the start of the next row.

An arrow over a cut runs to the end of its row, back in a lane between the rows, and into the next one. If its value
has a name, the arrow is cut instead, unless it is the main one: the name is in the operand's row anyway. The arrow
begins again at the start of the row that needs it (a stub, see :attr:`Placed.stubs`), so no bundle of arrows turns
round.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...base.groups import grouped
from .arrange import AROUND, DOWNWARDS, RIGHT, Nested, arrange, settle, turn_box
from .layers import APART, LANE, Arrow, NodeBox, Placed, Point, Value

EDGE = 16.0  # between the border of a box and what is in it
BOXES = 2300.0  # the widest row of boxes that one reads downwards
PORT = NodeBox(0.0, 0.0, (0.0,), 0.0)
Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """The room that a box needs besides its nodes: for its headline, along or across, and its least length along."""

    head: float
    least: float


class Nesting:
    """The boxes and lines of a whole picture."""

    def __init__(
        self, boxes: Sequence[NodeBox], lines: Sequence[Arrow], around: Sequence[Path], rooms: dict[Path, Room],
        direction: str, across: Container[Path] = (),
    ) -> None:  # fmt: skip
        self.boxes, self.lines, self.around, self.rooms = boxes, lines, around, rooms
        self.direction, self.across = direction, across

    def is_down(self, path: Path) -> bool:
        """Do the arrows directly inside the box ``path`` run from top to bottom?"""
        return is_down(self.direction, path, self.across)

    def plan(self) -> tuple[Placed, dict[Path, tuple[float, float, float, float]]]:
        """The places of all nodes, and the frames of all boxes."""
        whole = self.solve((), list(range(len(self.boxes))), list(range(len(self.lines))))
        corners = [whole.corners[k] for k in range(len(self.boxes))]
        paths = [whole.paths[i] for i in range(len(self.lines))]
        placed = Placed(corners, paths, whole.along, whole.across, [], whole.stubs, whole.crossed)
        return placed, whole.frames

    def solve(self, path: Path, members: list[int], touching: list[int]) -> Nested:
        """Arrange the box ``path`` with these nodes; ``touching`` are the lines with an end in it."""
        n = len(path) + 1
        items = grouped([(self.around[k][:n] if len(self.around[k]) >= n else (-1, k), k) for k in members])
        children: dict[int, Nested] = {}
        for number, (it, inner) in enumerate(items.items()):
            if it[0] != -1:
                ends = set(inner)
                mine = [i for i in touching if self.lines[i].source in ends or self.lines[i].target in ends]
                children[number] = self.solve(it, inner, mine)
                if self.is_down(it) and not self.is_down(path):
                    entering = {i: self.lines[i].value for i in mine if self.lines[i].source not in ends}
                    leaving = {i: self.lines[i].value for i in mine if self.lines[i].target not in ends}
                    children[number] = turn_box(children[number], self.rooms[it].head + EDGE, entering, leaving)
        return Level(self, path, items, children, touching).arranged()


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
        self, nesting: Nesting, path: Path, items: dict[Path, list[int]], children: dict[int, Nested],
        touching: list[int],
    ) -> None:  # fmt: skip
        self.nesting, self.path, self.items, self.children = nesting, path, list(items), children
        place = {k: n for n, inner in enumerate(items.values()) for k in inner}
        pairs = {i: (nesting.lines[i].source, nesting.lines[i].target) for i in touching}
        self.ends = {i: (place.get(a), place.get(b)) for i, (a, b) in pairs.items()}  # of lines: items; None is outside
        self.boxes = [self.box(n) for n in range(len(items))]
        self.arriving: dict[Value, int] = {}  # value from outside -> port
        self.leaving: dict[Value, int] = {}  # value from inside -> port
        self.local: dict[tuple[int, int, int, Value | None], int] = {}  # ends of a line -> its number at this level
        self.lines: list[Arrow] = []
        self.turning = nesting.direction == "boxes" and not nesting.is_down(path)  # are the boxes in here turned?

    def box(self, number: int) -> NodeBox:
        """The size of an item."""
        child = self.children.get(number)
        if child is None:
            return self.nesting.boxes[self.items[number][1]]
        return NodeBox(child.along, child.across, tuple(child.inputs.values()), 0.0)

    def arranged(self) -> Nested:
        """The whole box."""
        owner = {i: self.line(i) for i, (source, target) in self.ends.items() if source != target}
        down = self.nesting.is_down(self.path)
        manner = DOWNWARDS if down else AROUND if self.turning else RIGHT
        plan = arrange(self.boxes, self.lines, list(self.arriving.values()), list(self.leaving.values()), manner)
        if not down and self.nesting.direction in ("rows", "boxes"):
            plan = wrap_rows(plan, self.boxes, self.lines, len(self.path), BOXES if self.turning else WIDEST)
        dx, dy, along, across = 0.0, 0.0, plan.along, plan.across
        if room := self.nesting.rooms.get(self.path):
            dx, dy = EDGE + room.head * down, EDGE + room.head * (not down)
            along, across = plan.along + 2 * EDGE + room.head * down, plan.across + 2 * EDGE + room.head * (not down)
            along, across = max(along, room.least * (not down)), max(across, room.least * down)
        self.plan, self.corners = plan, [(x + dx, y + dy) for x, y in plan.corners]
        self.parts = [[(x + dx, y + dy) for x, y in path] for path in plan.paths]
        crossed = plan.crossed + sum([child.crossed for child in self.children.values()])
        nested = Nested(along, across, crossed=crossed)
        for number, it in enumerate(self.items):
            self.put(nested, number, it, *self.corners[number])
        nested.inputs = {value: self.corners[port][1] for value, port in self.arriving.items()}
        nested.outputs = {value: self.corners[port][1] for value, port in self.leaving.items()}
        for i, (inner, _) in self.ends.items():  # of lines that lie in an inner box as they are there
            nested.paths[i], stub = self.lead(i, owner[i], along) if i in owner else self.piece(inner, i)
            nested.stubs |= {i} if stub else set()
        return nested

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
        line, (source, target) = self.nesting.lines[i], self.ends[i]
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

    def lead(self, i: int, number: int, along: float) -> tuple[list[Point], bool]:
        """The whole path of a line inside this box, from border to border, and whether it is a stub."""
        (source, target), points = self.ends[i], self.parts[number]
        tail, inner = self.piece(target, i)
        if inner:
            return tail, True  # it begins in the box that it leads to
        stub = number in self.plan.stubs
        if not stub:
            start, stub = self.piece(source, i)
            points = start[:-1] + points[1:] if start else points
            points = [(0.0, points[0][1]), *points[1:]] if source is None else points
        if target is None:
            points = [*points, (along, points[-1][1])]
        return points + tail[1:], stub

    def piece(self, number: int | None, i: int) -> tuple[list[Point], bool]:
        """The part of a line inside an inner box, if ``number`` is one, and whether it begins there as a stub."""
        child = self.children.get(-1 if number is None else number)
        if child is None or number is None:
            return [], False
        x, y = self.corners[number]
        return [(a + x, b + y) for a, b in child.paths[i]], i in child.stubs


WIDEST = 1110.0  # of a row, so that all is 1280 pixels wide with its margins and what turns round
INSIDE = 150.0  # of that for the borders of a box, and what turns round in it
BACKS, BESIDE = 12.0, 5.0  # between two arrows on their way back, and where they turn round
ROOM = 18.0  # above and below these
TURN = 22.0  # at the ends of a row, for arrows that turn round
STUB = 34.0  # more room for an arrow that begins anew, and for its name
FIXED = 1e6  # how strongly an arrow that comes round the end of a row wants to stay where it is
NAMED, BENT = 16.0, 20.0  # between two of these, and before their ends, if those are closer to each other
ROW, BACK, TORN = 1.0, 0.25, 0.1  # prices: of a row, of a second arrow that turns round, of a stub; an empty row is 1


def wrap_rows(
    plan: Placed, boxes: Sequence[NodeBox], lines: Sequence[Arrow], level: int = 0, widest: float = WIDEST
) -> Placed:
    """The same plan in rows. Inside ``level`` boxes the rows are narrower."""
    strip = Strip(plan, boxes, lines)
    cuts = strip.cuts(widest - level * INSIDE)
    return RowStrip(strip, cuts).plan() if cuts else plan


class Strip:
    """The plan before it is cut: its ranks, and the cost of a cut before each of them."""

    def __init__(self, plan: Placed, boxes: Sequence[NodeBox], lines: Sequence[Arrow]) -> None:
        self.old, self.boxes, self.lines, self.starts = plan, boxes, lines, plan.starts
        self.rank = [bisect_right(plan.starts, corner[0] + 0.01) - 1 for corner in plan.corners]
        self.leaf = [box.leaf for box in boxes]
        count = len(plan.starts)
        self.thick, self.column, self.inner = [0.0] * count, [0.0] * count, [0.0] * count
        for r, box, leaf in zip(self.rank, boxes, self.leaf, strict=True):
            self.thick[r] = max(self.thick[r], box.along)
            kind = self.column if leaf else self.inner
            kind[r] = max(kind[r], box.along)

    def gap(self, r: int) -> float:
        """The gap between rank r and the next."""
        return self.starts[r + 1] - self.starts[r] - self.thick[r]

    def lead(self, r: int) -> float:
        """The room of the leaves that go in front of rank r, if a row begins there."""
        return self.column[r - 1] + self.gap(r - 1) if r and self.column[r - 1] else 0.0

    def width(self, begin: int, end: int) -> float:
        """The width of a row with the ranks ``begin`` ... ``end - 1``."""
        last = self.thick[end - 1] if end == len(self.starts) else self.inner[end - 1]
        return self.starts[end - 1] + last - self.starts[begin] + self.lead(begin)

    def prices(self) -> list[float]:
        """The cost of a cut before each rank. Before a rank with only leaves in front of it no cut is possible."""
        turning: list[set[int]] = [set() for _ in self.starts]
        torn: list[set[int]] = [set() for _ in self.starts]
        for line in self.lines:
            low = self.rank[line.source] + 1 + self.leaf[line.source]
            for r in range(low, self.rank[line.target] + 1):
                (torn if line.named else turning)[r].add(line.source)
        return [
            math.inf if not any(self.inner[:r]) else BACK * max(0, len(back) - 1) + TORN * len(stubs)
            for r, (back, stubs) in enumerate(zip(turning, torn, strict=True))
        ]

    def cuts(self, widest: float) -> list[int]:
        """Before which ranks a new row begins, at the lowest cost; no cut if everything fits into one row."""
        count = len(self.starts)
        if not count or self.width(0, count) <= widest:
            return []
        prices = self.prices()
        best, way = [0.0] + [math.inf] * count, [0] * (count + 1)
        for end in range(1, count + 1):
            after = prices[end] if end < count else 0.0
            for begin in range(end - 1, -1, -1):
                wide = self.width(begin, end)
                if wide > widest and begin < end - 1 and best[end] < math.inf:
                    break
                slack = abs(widest - wide) / widest
                cost = best[begin] + ROW + slack * slack * (0.5 if end == count else 1.0) + after
                if cost < best[end]:
                    best[end], way[end] = cost, begin
        cuts, here = [], way[count]
        while here:
            cuts.append(here)
            here = way[here]
        return cuts[::-1]


class RowStrip:
    """Where each row begins in the strip, and how far down it is now."""

    def __init__(self, strip: Strip, cuts: list[int]) -> None:
        self.strip, self.begins = strip, [0, *cuts]
        old, boxes, lines = strip.old, strip.boxes, strip.lines
        self.row = [self.row_of(r + strip.leaf[k]) for k, r in enumerate(strip.rank)]
        self.late = [self.row[k] > self.row_of(r) for k, r in enumerate(strip.rank)]  # leaves in front of their row
        self.stubs = {i for i, x in enumerate(lines) if x.named and self.row[x.source] != self.row[x.target]}
        ends = {(self.row[k], strip.rank[k]) for k in [lines[i].target for i in self.stubs]}
        ending = {r for r, rank in ends if rank in self.begins and not strip.lead(rank)}  # they need room for names
        self.indent = [(STUB if r in ending else 0.0) + 2 * TURN for r in range(len(self.begins))]
        self.corners = [self.corner(k) for k in range(len(boxes))]
        self.width = max([x + box.along for (x, _), box in zip(self.corners, boxes, strict=True)]) + TURN
        self.paths = [self.placed(i) for i in range(len(old.paths))]
        self.lanes = [self.crossing(r) for r in range(len(cuts))]
        self.raise_leaves()
        self.begin_stubs()
        self.along = self.width + TURN + BESIDE * max([len(lanes) - 1 for lanes in self.lanes])
        self.stack()

    def plan(self) -> Placed:
        """The plan in rows."""
        corners = [(x, y + self.tops[r]) for (x, y), r in zip(self.corners, self.row, strict=True)]
        paths = [self.lead(i) for i in range(len(self.paths))]
        old, along, across = self.strip.old, self.along, self.across
        return replace(old, corners=corners, paths=paths, along=along, across=across, stubs=self.stubs)

    def row_of(self, rank: int) -> int:
        """The row of a rank."""
        return bisect_right(self.begins, rank) - 1

    def x(self, r: int, x: float) -> float:
        """Where a place of the strip is in row r."""
        begin = self.begins[r]
        return x - self.strip.starts[begin] + self.strip.lead(begin) * (r > 0) + self.indent[r]

    def corner(self, k: int) -> Point:
        """Where a box begins now, along; across it is moved later."""
        x, y = self.strip.old.corners[k]
        r = self.row[k]
        return (self.indent[r] if self.late[k] else self.x(r, x)), y

    def placed(self, i: int) -> list[tuple[Point, int]]:
        """The points of a path, each with its row; of a stub those in the row that it leads to."""
        strip, k, end = self.strip, self.strip.lines[i].source, self.row[self.strip.lines[i].target]
        path = strip.old.paths[i]
        rows = [max(self.row[k], self.row_of(bisect_right(strip.starts, x + 0.01) - 1)) for x, _ in path]
        answer = [((self.x(r, x), y), r) for (x, y), r in zip(path, rows, strict=True)]
        if self.late[k]:
            answer[0] = ((self.corners[k][0] + strip.boxes[k].along, answer[0][0][1]), self.row[k])
        return [(p, r) for p, r in answer if i not in self.stubs or r == end]

    def crossing(self, r: int) -> dict[Point, tuple[float, float]]:
        """The arrows over the cut behind row r, by where they start; the lowest first, which turns round inside."""
        before = [(path, [y for (_, y), row in path if row <= r]) for path in self.paths if path[-1][1] > r]
        height_of = {self.key(path): heights[-1] for path, heights in before if heights}
        return dict.fromkeys(sorted(height_of, key=lambda start: -height_of[start]), (0.0, 0.0))

    def raise_leaves(self) -> None:
        """Move the leaves of a column up, as far as the arrows that pass there allow; the column holds nothing else."""
        low: dict[int, float] = {}
        for k in sorted([k for k, late in enumerate(self.late) if late], key=lambda k: self.corners[k][1]):
            (x, y), r = self.corners[k], self.row[k]
            passing = {path[0][0]: path[j] for path in self.paths for j in range(len(path)) if path[j][1] < r}
            above = [p[1] + LANE for p, row in passing.values() if row == r - 1 and p[1] < y]
            above += [p[1] - out for p, out in self.stubs_before(k, r)]
            top = min([self.corners[j][1] for j, row in enumerate(self.row) if row == r and not self.late[j]])
            raised = min(y, max([top, low.get(r, -math.inf), *above]))
            self.corners[k] = x, raised
            low[r] = raised + self.strip.boxes[k].across + APART
            for i, line in enumerate(self.strip.lines):
                if line.source == k and i not in self.stubs:  # which begin at another place
                    self.paths[i] = [((a, b + raised - y) if n < 2 else (a, b), q)
                                     for n, ((a, b), q) in enumerate(self.paths[i])]  # fmt: skip

    def stubs_before(self, k: int, r: int) -> list[tuple[Point, float]]:
        """The ends of stubs in row r that an arrow of leaf k from higher up would cross, as it ends below them at the
        same card; and where that arrow leaves the leaf."""
        ends = [self.paths[j][-1][0] for j in self.stubs if self.paths[j][-1][1] == r]
        own = [self.paths[i] for i, line in enumerate(self.strip.lines) if line.source == k and i not in self.stubs]
        return [(p, path[0][0][1] - self.corners[k][1]) for path in own for p in ends
                if abs(p[0] - path[-1][0][0]) < 1.0 and p[1] < path[-1][0][1]]  # fmt: skip

    def begin_stubs(self) -> None:
        """Let the arrows that begin anew in a row begin so far from each other that there is room for their names."""
        for r, stubs in grouped([(self.row[self.strip.lines[i].target], i) for i in sorted(self.stubs)]).items():
            behind, weights = self.entry(r), {self.paths[i][0][0][1]: 1.0 for i in stubs}
            if behind is None:  # others come round the ends of rows to the same place
                ways = [path for path in self.paths if path[0][1] < r <= path[-1][1]]
                weights |= {next(p[1] for p, row in path if row == r): FIXED for path in ways}
            wishes = sorted(weights.items())
            places = settle(wishes, [NAMED] * (len(wishes) - 1))
            moved = {y: place for (y, _), place in zip(wishes, places, strict=True) if abs(place - y) > 0.5}
            for i in stubs:
                (x, y), *rest = [p for p, _ in self.paths[i]]
                start = TURN if behind is None else max(behind, x - STUB - BENT * (y in moved))
                points = [(start, y), *(rest or [(start, y), (x, y)])]
                if y in moved:
                    points = [(start, moved[y]), (x - BENT, moved[y]), (x, y), *rest]
                self.paths[i] = [(p, r) for p in points]

    def key(self, path: Sequence[tuple[Point, int]]) -> Point:
        """The same for arrows that start at one place, which run together."""
        (x, y), r = path[0]
        return x + 1e6 * r, y

    def stack(self) -> None:
        """Put the rows below each other, and the lanes between them."""
        self.tops: list[float] = []
        here = 0.0
        placed = zip(self.row, self.corners, self.strip.boxes, strict=True)
        spans = [(row, y, y + box.across) for row, (_, y), box in placed]
        spans += [(row, p[1], p[1]) for path in self.paths for p, row in path]
        spans += [(row, y, y) for path in self.paths for ((_, y), old), (_, row) in pairwise(path)
                  if row != old and self.entry(row) is not None]  # where it comes in, see ``lead``  # fmt: skip
        for r in range(len(self.begins)):
            top = min([low for row, low, _ in spans if row == r])
            self.tops.append(here - top)
            here += max([high for row, _, high in spans if row == r]) - top
            if r < len(self.begins) - 1:
                lanes = self.lanes[r]
                for place, start in enumerate(lanes):
                    lanes[start] = (here + ROOM + BACKS * place, BESIDE * place)
                here += 2 * ROOM + BACKS * max(0, len(lanes) - 1)
        self.across = here

    def entry(self, r: int) -> float | None:
        """The place behind the leaves at the start of row r; None if it has no leaves."""
        lead = self.strip.lead(self.begins[r]) if r else 0.0
        return self.indent[r] + lead - self.strip.gap(self.begins[r] - 1) if lead else None

    def lead(self, i: int) -> list[Point]:
        """The new path of an arrow, round the ends of rows."""
        path = self.paths[i]
        (x, y), r = path[0]
        points = [(x, y + self.tops[r])]
        for ((_, before), old), ((x, y), row) in pairwise(path):
            y += self.tops[row]
            if row != old:
                lane, bend = self.lanes[old][self.key(path)]
                left, right = TURN + bend, self.width + bend
                points[-1] = (right, points[-1][1])
                column = self.entry(row)
                into = (left, y) if column is None else (column, before + self.tops[row])
                points += [(right, lane), (left, lane), (left, into[1]), into]
            points.append((x, y))
        return points
