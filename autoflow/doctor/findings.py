"""Findings, and reports of them: text, HTML, dict."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..program.source import Place

# Every kind of finding, the most important first, and what it is.
KINDS = {
    "became nan": "a step has made parameters NaN or infinite",
    "rebound": "a Variable was replaced by the result of an operation",
    "growing": "the graph grows with every step",
    "error": "the function stopped with an error",
    "no backward": "no backward pass was made, and no result has a history",
    "no history": "nothing flows to the result",
    "lost": "numbers left the graph",
    "overwritten": "a value that a derivative needs has been overwritten",
    "nan value": "a value is not a number",
    "infinite value": "a value is infinite",
    "masked nan": "a branch that was not chosen sends NaN",
    "infinite slope": "a derivative is infinite or not a number",
    "unreached": "a Variable has no part in the result",
    "step": "a function is constant between its steps",
    "dead": "nothing passes",
    "underflow": "gradients are too small for their dtype",
    "saturated": "a function is flat where it is used",
    "zero factor": "a factor is zero",
    "dead units": "some units pass nothing for any example",
    "shapes": "a column met a row",
    "exploding": "gradients grow from step to step",
    "vanishing": "gradients shrink from step to step",
    "repeated": "backward() runs twice through one graph",
    "accumulated": "gradients add up over several steps",
    "unmoved": "a parameter never changes",
    "kept": "graphs of earlier steps are kept alive",
    "learning rate": "steps are too long for the curvature",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what, where, and what to write instead.

    kind : a key of ``KINDS``. place : file, line, columns and text of the expression, if known. numbers : the same
    facts as data.
    """

    kind: str
    text: str
    advice: str = ""
    place: Place | None = None
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """``line 3 of`` the file; in a notebook ``line 3``; empty if it is not known."""
        return self.place.where if self.place is not None else ""

    def __str__(self) -> str:
        where = f" ({self.line}: {self.place.text})" if self.place is not None else ""
        return f"{self.text}{where}.{f' {self.advice}.' if self.advice else ''}"


@dataclass(frozen=True)
class Diagnosis:
    """What was found, the most important first. True if there is anything; ``print`` shows it."""

    findings: tuple[Finding, ...]
    examined: str = ""  # what was looked at

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings."""
        return tuple([x.kind for x in self.findings])

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        rows = [
            {"kind": x.kind, "text": x.text, "advice": x.advice, "place": x.place and x.place._asdict(), **x.numbers}
            for x in self.findings
        ]
        return {"examined": self.examined, "findings": rows}

    def __str__(self) -> str:
        if not self.findings:
            return f"Nothing found. {self.examined}"
        return "\n".join([f"{k}. {x}" for k, x in enumerate(self.findings, 1)] + [self.examined])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join([f"<li>{html.escape(str(x))}</li>" for x in self.findings])
        return f"<ol>{rows}</ol><p>{html.escape(str(self) if not rows else self.examined)}</p>"


def diagnosis(findings: Sequence[Finding], examined: str) -> Diagnosis:
    """The findings in the order of their importance, each once."""
    order = list(KINDS)
    seen: dict[tuple[str, Any], Finding] = {}
    for x in findings:
        seen.setdefault((x.kind, x.place or x.text), x)
    return Diagnosis(tuple(sorted(seen.values(), key=lambda x: order.index(x.kind))), examined)
