"""What folding knows of a graph: nodes without their numbers, and the boxes around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

DEEPEST = 20  # boxes around a node that are drawn
Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """How many equal parts, and how many different sets of Variables they use."""

    parts: int
    sets: int

    def text(self) -> str:
        """As it is written behind the name.

        >>> Repeat(5, 1).text(), Repeat(12, 12).text(), Repeat(4, 2).text()
        ('×5', '+11 more', '×2 +1 more')
        """
        if self.sets == 1:
            return f"×{self.parts}"
        if self.parts % self.sets:
            return f"{self.parts} parts, {self.sets} sets of Variables"
        return (f"×{self.parts // self.sets} " if self.parts > self.sets else "") + f"+{self.sets - 1} more"


@dataclass(slots=True)
class Skeleton:
    """A graph without its numbers: what folding needs to know. Nodes are in the order of their creation."""

    sources: list[Sequence[int]]  # the operands of each node
    paths: list[Path]  # the boxes around each node, the outermost first
    names: dict[int, str]  # of boxes
    words: list[str]  # the operations; "" for leaves
    variables: list[bool]
    outputs: Sequence[int]
    repeats: dict[int, Repeat] = field(default_factory=dict)  # boxes that hold equal parts

    def __post_init__(self) -> None:
        self.paths = [path[:DEEPEST] for path in self.paths]

    def visible(self, closed: set[int]) -> list[tuple[bool, int]]:
        """For each node what stands for it: (True, a closed box) or (False, itself)."""
        if not closed:
            return [(False, k) for k in range(len(self.paths))]
        known: dict[Path, int | None] = {}
        answer = []
        for k, path in enumerate(self.paths):
            if path not in known:
                known[path] = next((box for box in path if box in closed), None)
            box = known[path]
            answer.append((False, k) if box is None else (True, box))
        return answer

    def count(self, closed: set[int]) -> int:
        """How many cards there would be."""
        return len(set(self.visible(closed)))

    def boxes(self) -> dict[int, int]:
        """All boxes and how deep they are."""
        return {box: level for path in dict.fromkeys(self.paths) for level, box in enumerate(path)}
