"""What folding knows about a graph: nodes without their values, and the boxes around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

DEEPEST = 20  # boxes around a node that are drawn
NAMES = 4  # Variables of a repeated part that are listed by name
Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """How many equal parts, and how many different sets of Variables they use.

    ``between``: the names of the first and last part in this box, if it is the middle of a long sequence.
    """

    parts: int
    sets: int
    between: tuple[str, str] | None = None

    def text(self) -> str:
        """As it is written behind the name.

        >>> Repeat(5, 1).text(), Repeat(28, 28, ("step 2", "step 29")).text()
        ('×5', '+28 alike')
        """
        return f"×{self.parts}" if self.between is None else f"+{self.parts:,} alike"

    def words(self, names: Sequence[str]) -> list[str]:
        """What a reader should know about the parts, and about their Variables called ``names``.

        >>> Repeat(12, 12).words(["W", "b"]), Repeat(28, 1, ("step 2", "step 29")).words(["W"])
        (['each with its own W, b'], ['step 2 … step 29', 'all with the same W'])
        >>> Repeat(4, 2).words(["W"]), Repeat(3, 3).words(list("abcdef"))
        (['2 different sets of Variables'], ['each with its own Variables'])
        """
        told = [] if self.between is None else [" … ".join(self.between)]
        if not names:
            return told
        called = ", ".join(names) if len(names) <= NAMES else "Variables"
        if self.sets in (1, self.parts):
            return [*told, ("all with the same " if self.sets == 1 else "each with its own ") + called]
        return [*told, f"{self.sets} different sets of Variables"]


@dataclass(slots=True)
class Skeleton:
    """A graph without its values: all that folding needs to know. Nodes are in the order of their creation."""

    sources: list[Sequence[int]]  # the operands of each node
    paths: list[Path]  # the boxes around each node, the outermost first
    names: dict[int, str]  # of boxes
    words: list[str]  # the operations; "" for leaves
    variables: list[bool]
    outputs: Sequence[int]
    repeats: dict[int, Repeat] = field(default_factory=dict)  # boxes that hold equal parts
    labels: dict[int, str] = field(
        default_factory=dict
    )  # numbered names, of boxes that share their name with a neighbour
    newest: int = 0
    added: set[int] = field(default_factory=set)  # boxes that are ours, not the user's scopes
    sections: set[int] = field(default_factory=set)  # those among them that have no other reason than their size

    def __post_init__(self) -> None:
        self.paths = [path[:DEEPEST] for path in self.paths]

    def visible(self, closed: set[int]) -> list[tuple[bool, int]]:
        """What represents each node: (True, a closed box) or (False, itself)."""
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

    def new_box(self, name: str, label: str) -> int:
        """Add a box, and return its number."""
        self.newest = number = 1 + (self.newest or max(self.names, default=0))
        self.names[number], self.labels[number] = name, label
        self.added.add(number)
        return number

    def forget(self, boxes: set[int], paths: Sequence[Path], newest: int) -> None:
        """Remove boxes that were tried: the paths and the newest number are those before."""
        self.paths, self.newest = list(paths), newest
        for box in boxes:
            del self.names[box], self.labels[box]
        self.added -= boxes
        self.sections -= boxes

    def label(self, box: int) -> str:
        """What a box is called in the picture: its name; "step 3" if it is the third of that name in the same box."""
        if box not in self.labels:
            alike: dict[tuple[Path, str], dict[int, None]] = {}
            for path in dict.fromkeys(self.paths):
                for level, one in enumerate(path):
                    alike.setdefault((path[:level], self.names[one]), {})[one] = None
            for (_, name), found in alike.items():
                for number, one in enumerate(found, 1):
                    self.labels.setdefault(one, f"{name} {number}" if len(found) > 1 else name)
            self.labels.setdefault(box, self.names[box])
        return self.labels[box]

    def boxes(self) -> dict[int, int]:
        """All boxes and how deep they are."""
        return {box: level for path in dict.fromkeys(self.paths) for level, box in enumerate(path)}
