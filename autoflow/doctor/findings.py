"""Findings, and reports of them: text, HTML, dict."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..program.source import Place

# Every kind of finding, the most important first. docs/doctor.md says what each is.
KINDS = (
    "became nan", "rebound", "growing", "no backward", "no history", "lost", "overwritten", "nan value",
    "infinite value", "masked nan", "infinite slope", "error", "unreached", "step", "dead", "underflow", "saturated",
    "zero factor", "dead units", "alike", "linear", "twice", "range", "shapes", "exploding", "vanishing", "repeated",
    "accumulated", "cleared", "clipped", "made anew", "unmoved", "kept", "uphill", "learning rate",
)  # fmt: skip


# Findings that are left out if one of these is there, since they follow from it.
FOLLOWS = {
    "unreached": {"lost"}, "unmoved": {"rebound"}, "growing": {"rebound"},
    "error": {"growing", "nan value", "infinite value", "masked nan", "infinite slope"},
}  # fmt: skip
ASTRAY = {"became nan", "uphill", "learning rate"}  # of steps, from which what is found in later runs follows


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what, where, and what to write instead.

    kind : one of ``KINDS``. place : file, line, columns and text of the expression, if known. numbers : the same
    facts as data.
    """

    kind: str
    text: str
    advice: str = ""
    place: Place | None = None
    numbers: dict[str, Any] = field(default_factory=dict)
    run: int = 1  # of a step that is run several times

    def __str__(self) -> str:
        where = f" ({self.place.where}: {self.place.text})" if self.place and "(line " not in self.text else ""
        return f"{self.text.rstrip('.')}{where}.{f' {self.advice}.' if self.advice else ''}"


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
        rows = ""
        for x in self.findings:
            place = x.place and f"<code>{html.escape(f'{x.place.where}: {x.place.text}')}</code>"
            parts = f"<b>{html.escape(x.text)}</b>", place, html.escape(x.advice)
            rows += f"<li>{'<br>'.join(filter(None, parts))}</li>"
        return f"<ol>{rows}</ol><p>{html.escape(str(self) if not rows else self.examined)}</p>"


def diagnosis(findings: Sequence[Finding], examined: str) -> Diagnosis:
    """The findings in order of importance, each once, without those that follow from others."""
    seen: dict[tuple[str, Any], Finding] = {}
    kinds = {x.kind for x in findings}
    for x in [x for x in findings if kinds.isdisjoint(FOLLOWS.get(x.kind, ()) if x.run == 1 else ASTRAY)]:
        seen.setdefault((x.kind, (x.place.where, x.place.text) if x.place else x.text), x)
    return Diagnosis(tuple(sorted(seen.values(), key=lambda x: KINDS.index(x.kind))), examined)
