"""Where in the user's source each operation stands, and what it is called there: the target of its assignment."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Callable
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ..backprop.hooks import on_operation
from ..forward.naming import users

Span = tuple[int, int, int, int]  # first line, first column, last line, last column, from 0
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Source:
    """The source of one function. ``targets`` are the names that its expressions are assigned to, ``operands`` what
    stands in each."""

    def __init__(self, code: CodeType) -> None:
        self.lines: list[str] = []
        self.targets: dict[Span, str] = {}
        self.operands: dict[Span, list[str]] = {}
        self.first = code.co_firstlineno
        try:
            self.lines = inspect.getsource(code).rstrip().split("\n")
        except (OSError, TypeError):  # typed at a prompt that keeps no source
            return
        self.indent = len(self.lines[0]) - len(self.lines[0].lstrip())
        self.lines = [line[self.indent :] for line in self.lines]
        try:
            tree = ast.parse("\n".join(self.lines))
        except SyntaxError:  # a lambda inside another expression
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                self.note(node.targets[0], node.value)
            elif isinstance(node, (ast.BinOp, ast.Call)):
                parts = [node.left, node.right] if isinstance(node, ast.BinOp) else node.args
                self.operands[span_of(node)] = [ast.unparse(x) for x in parts]

    def note(self, target: Any, value: Any) -> None:
        """``a, b = x, y`` names two expressions."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, other in zip(target.elts, value.elts, strict=False):
                self.note(one, other)
        elif isinstance(target, ast.Name):
            self.targets[span_of(value)] = target.id

    def span(self, position: Any) -> Span | None:
        """A position of the code in these lines."""
        if not self.lines or None in position:
            return None
        line, end, column, last = position
        return line - self.first, column - self.indent, end - self.first, last - self.indent


class Places:
    """Run a function and note of each operation where it stands.

    spans : for each record the function that it stands in, and the span there.
    names : for each record its name, where it has one; in a loop x₁, x₂, ...
    """

    def __init__(self, run: Callable[[], Any]) -> None:
        self.sources: dict[CodeType, Source] = {}
        self.spans: dict[Any, tuple[CodeType, Span]] = {}
        self.first: dict[Any, Any] = {}
        alive: list[FrameType] = []  # so that each call is another frame
        last: dict[Any, Any] = {}  # of the operations in one expression, or in one call, the last is its value

        def note(node: Any) -> None:
            record, inner = node.grad_fn, None
            for frame in users(sys._getframe(1)):
                source = self.source(frame.f_code)
                position = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
                if (span := source.span(position)) is not None:
                    place = frame.f_code, span
                    if inner is None:
                        self.spans[record] = place
                    last[place, inner or self.run_of(record, place)] = record
                alive.append(frame)
                inner = frame

        with on_operation(note):
            self.root = run()
        alive.clear()
        targets = [(record, self.source(code).targets.get(span)) for ((code, span), _), record in last.items()]
        named = {record: name for record, name in targets if name}
        total, seen = Counter(named.values()), Counter[str]()
        self.names: dict[Any, str] = {}
        for record, name in sorted(named.items(), key=lambda pair: pair[0].number):
            seen[name] += 1
            self.names[record] = name if total[name] == 1 else name + str(seen[name]).translate(SUBSCRIPTS)

    def source(self, code: CodeType) -> Source:
        """The source of a function, read once."""
        if code not in self.sources:
            self.sources[code] = Source(code)
        return self.sources[code]

    def run_of(self, record: Any, place: Any) -> Any:
        """The first of the operations that one expression makes one from another."""
        before = next((p for p in record.parents if p is not None and self.spans.get(p) == place), None)
        self.first[record] = record if before is None else self.first[before]
        return self.first[record]

    def operand(self, record: Any, slot: int) -> str | None:
        """What the source calls an operand, if the operation is an expression of its own."""
        place = self.spans.get(record)
        if place is None or [*self.first.values()].count(self.first[record]) > 1:
            return None
        parts = self.sources[place[0]].operands.get(place[1], [])
        return parts[slot] if slot < len(parts) else None


def span_of(node: Any) -> Span:
    """Where an expression stands."""
    return node.lineno - 1, node.col_offset, node.end_lineno - 1, node.end_col_offset
