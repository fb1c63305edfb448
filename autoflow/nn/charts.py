"""Pictures of training that need no library: lines of text for terminals, and a small SVG for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

Array = Any
LEVELS = "▁▂▃▄▅▆▇█"
REGIONS = "·░▒▓█"  # of class 0, 1, ...; more classes begin again
COLORS = ("#0072B2", "#C8770A", "#007453", "#8D4A17", "#5B6675")  # that light and dark pages show
WIDE, HIGH, LEFT, BELOW = 520, 200, 56, 26  # pixels of an SVG, and of its margins
LONGEST = 400  # points of a line; of more every second, third ... is drawn, and the last


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Values over time as a line of blocks, the smallest lowest. A value that is NaN or infinite is a gap.

    >>> sparkline([4.0, 2.0, 1.0, float("nan"), 0.5])
    '█▄▂ ▁'
    """
    x = thin(np.asarray(values, float), width)
    seen = x[np.isfinite(x)]
    if not seen.size:
        return " " * len(x)
    low, span = seen.min(), np.ptp(seen) or 1.0
    last = len(LEVELS) - 1
    return "".join([LEVELS[round(last * (v - low) / span)] if np.isfinite(v) else " " for v in x])


def thin(x: Array, most: int) -> Array:
    """At most that many of the values, evenly, the last one among them.

    >>> thin(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    return x if len(x) <= most else x[np.linspace(0, len(x) - 1, most).round().astype(int)]


def size_bars(sizes: Mapping[str, float], width: int = 24) -> list[str]:
    """A line for each size, with a bar whose length is its logarithm: from a millionth of the largest to the largest.

    >>> print(*size_bars({"first": 1e-6, "last": 1.0}, 6), sep="\\n")
    first          1e-06
    last   ██████  1
    """
    known = [s for s in sizes.values() if np.isfinite(s) and s > 0]
    top = np.log10(max(known)) if known else 0.0
    longest = max([len(name) for name in sizes], default=0)
    lines = []
    for name, s in sizes.items():
        share = np.clip((np.log10(s) - top) / 6 + 1, 0, 1) if np.isfinite(s) and s > 0 else 0.0
        lines.append(f"{name:{longest}}  {'█' * round(width * share):{width}}  {s:.3g}")
    return lines


def region_rows(classes: Array) -> list[str]:
    """The classes (rows, columns) that a model gives to points of the plane, as text. The first row is the lowest.

    >>> print(*region_rows(np.array([[0, 1], [0, 0]])), sep="\\n")
    ··
    ·░
    """
    return ["".join([REGIONS[k % len(REGIONS)] for k in row]) for row in np.asarray(classes)[::-1]]


def line_chart(lines: Mapping[str, Sequence[float]], *, axis: str = "epoch") -> str:
    """Lines over time as SVG, with the first and the last number of each axis, and their names. Lines that are called
    ``val_...`` are dashed.

    >>> line_chart({"loss": [2.0, 1.0]}).count("<polyline")
    1
    """
    values = {name: np.asarray(x, float) for name, x in lines.items()}
    seen = np.concatenate([x[np.isfinite(x)] for x in values.values()] or [np.zeros(0)])
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    steps = max([len(x) for x in values.values()], default=1)
    right, bottom = WIDE - 110, HIGH - BELOW

    def place(k: int, v: float) -> str:
        across = LEFT + (right - LEFT) * (k / max(steps - 1, 1))
        return f"{across:.1f},{bottom - (bottom - 12) * (v - low) / (high - low or 1.0):.1f}"

    parts = [
        f'<path d="M{LEFT} 12V{bottom}H{right}" fill="none" stroke="currentColor" stroke-opacity=".4"/>',
        *[f'<text x="{LEFT - 6}" y="{y}" text-anchor="end">{v:.3g}</text>' for y, v in ((16, high), (bottom + 4, low))],
        f'<text x="{LEFT}" y="{HIGH - 8}">1</text><text x="{right}" y="{HIGH - 8}" text-anchor="end">{steps}</text>',
        f'<text x="{(LEFT + right) / 2}" y="{HIGH - 8}" text-anchor="middle">{escape(axis)}</text>',
    ]
    plain = [name for name in values if not is_validation(name, values)]
    for row, (name, x) in enumerate(values.items()):
        kind = name[4:] if is_validation(name, values) else name
        color, dashes = COLORS[plain.index(kind) % len(COLORS)], ' stroke-dasharray="5 3"' if kind != name else ""
        points = " ".join([place(k, x[k]) for k in thin(np.arange(len(x)), LONGEST) if np.isfinite(x[k])])
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>')
        if len(x):
            said = f"{escape(name)} {x[-1]:.3g}"
            parts.append(f'<text x="{right + 8}" y="{20 + 16 * row}" fill="{color}">{said}</text>')
    text = ", ".join([f"{name} from {x[0]:.3g} to {x[-1]:.3g}" for name, x in values.items() if len(x)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" '
        f'role="img" aria-label="{escape(text)}" font-family="system-ui,sans-serif" font-size="11" fill="currentColor" '
        f'style="max-width:100%">{"".join(parts)}</svg>'
    )


def is_validation(name: str, others: Mapping[str, Any]) -> bool:
    """Is it ``val_loss`` beside a ``loss``?"""
    return name.startswith("val_") and name[4:] in others
