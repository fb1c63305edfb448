"""Plots of training: lines of text and a small SVG, which need no library, and pictures with matplotlib.

The first kind is for terminals and notebooks; ``live.py`` draws with it. Each function of the second kind draws into
``ax`` (or a new figure) and returns it:

    plot_loss          losses over time
    plot_weights       a histogram of each parameter
    plot_boundary      the class that a classifier gives to each point of the plane

and in ``live.py``

    plot_sizes         sizes of activations and gradients, over the steps or over the layers: vanishing, exploding

The colours are those of autoflow's other pictures: parameters blue, results of operations orange, gradients purple and
nothing else. They follow the background of the axes, so ``plt.style.use("dark_background")`` is all that a dark figure
needs; new figures follow ``af.options.theme``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from ..base.columns import aligned
from ..base.errors import InputError
from ..base.lazy import load_package
from ..base.modes import modes, no_grad
from ..base.types import Array, ByName
from .module import Module, in_evaluation, numbers_of, shape_is

# ---------------------------------------------------------------- pictures that need no library

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
    finite = x[np.isfinite(x)]
    if not finite.size:
        return " " * len(x)
    low, span = finite.min(), np.ptp(finite) or 1.0
    last = len(LEVELS) - 1
    return "".join([LEVELS[round(last * (v - low) / span)] if np.isfinite(v) else " " for v in x])


def thin(x: Array, most: int) -> Array:
    """At most ``most`` of the values, evenly spaced, including the last.

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
    positive = [s for s in sizes.values() if np.isfinite(s) and s > 0]
    top = np.log10(max(positive)) if positive else 0.0
    rows = []
    for name, s in sizes.items():
        share = np.clip((np.log10(s) - top) / 6 + 1, 0, 1) if np.isfinite(s) and s > 0 else 0.0
        rows.append((name, ("█" * round(width * share)).ljust(width), f"{s:.3g}"))
    return aligned(rows)


def region_rows(classes: Array) -> list[str]:
    """The classes (rows, columns) that a model gives to points of the plane, as text. The first row is the lowest.

    >>> print(*region_rows(np.array([[0, 1], [0, 0]])), sep="\\n")
    ··
    ·░
    """
    return ["".join([REGIONS[k % len(REGIONS)] for k in row]) for row in np.asarray(classes)[::-1]]


def line_chart(lines: Mapping[str, Sequence[float]], *, axis: str = "epoch") -> str:
    """Lines over time as SVG, with the first and the last number of each axis, and their names. Lines that are called
    ``val_...`` are dashed. A value that is NaN or infinite is a gap.

    >>> line_chart({"loss": [2.0, 1.0]}).count("<polyline"), line_chart({"loss": [3, 2, np.nan, 1]}).count("<polyline")
    (1, 2)
    """
    values = {name: np.asarray(x, float) for name, x in lines.items()}
    finite = np.concatenate([x[np.isfinite(x)] for x in values.values()] or [np.zeros(0)])
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
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
        runs = groupby(thin(np.arange(len(x)), LONGEST).tolist(), np.isfinite(x).tolist().__getitem__)
        for points in [[place(k, x[k]) for k in run] for is_number, run in runs if is_number] or [[]]:
            at, how = (points, dashes) if len(points) > 1 else (points * 2, ' stroke-linecap="round"')  # a dot
            line = f'points="{" ".join(at)}" fill="none" stroke="{color}" stroke-width="2"{how}'
            parts.append(f"<polyline {line}/>")
        if len(x):
            label = f"{escape(name)} {x[-1]:.3g}"
            parts.append(f'<text x="{right + 8}" y="{20 + 16 * row}" fill="{color}">{label}</text>')
    text = ", ".join([f"{name} from {x[0]:.3g} to {x[-1]:.3g}" for name, x in values.items() if len(x)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" '
        f'role="img" aria-label="{escape(text)}" font-family="system-ui,sans-serif" font-size="11" fill="currentColor" '
        f'style="max-width:100%">{"".join(parts)}</svg>'
    )


def is_validation(name: str, others: Mapping[str, Any]) -> bool:
    """Is it ``val_loss`` beside a ``loss``?"""
    return name.startswith("val_") and name[4:] in others


# ---------------------------------------------------------------- pictures with matplotlib


# fmt: off
LIGHT = {
    "ink": "#17202A", "note": "#5B6675", "faint": "#C9D1D9",
    "activations": ("#F2C27E", "#8A4F00"), "gradients": ("#D9A5C8", "#5E1042"),  # of the first layer, and of the last
    "weights": "#0072B2", "classes": ("#0072B2", "#C8770A", "#007453", "#56B4E9", "#8D4A17", "#5B6675"),
}
DARK = {
    "ink": "#EDF2F7", "note": "#9AA7B5", "faint": "#35414D",
    "activations": ("#7A5210", "#FFE3B3"), "gradients": ("#83466F", "#FBD0E8"),
    "weights": "#56B4E9", "classes": ("#56B4E9", "#E69F00", "#2FC79A", "#8FA7FF", "#D98E5F", "#9AA7B5"),
}
# fmt: on
NO_MATPLOTLIB = (
    "this picture is drawn by matplotlib, which is not installed: pip install matplotlib, or "
    'pip install "autoflow[notebooks]"'
)
MARKERS = "os^Dvp"  # a second way to tell classes apart


# -- losses, weights, decisions


def plot_loss(losses: Any, *, ax: Any = None) -> Any:
    """Losses over time: a list of numbers, several such lists by name, or the History of ``af.fit``.

    A list called ``val_...`` is dashed, in the colour of the list that it validates. For a logarithmic axis:
    ``plot_loss(losses).set_yscale("log")``.

    >>> ax = plot_loss({"SGD": [3.0, 2.0, 1.5], "Adam": [3.0, 1.0, 0.5]})
    >>> [line.get_label() for line in ax.lines]
    ['SGD', 'Adam']
    """
    is_history = hasattr(losses, "epochs")
    losses = losses.lines() if is_history else losses if isinstance(losses, Mapping) else {"loss": losses}
    ax, theme = canvas(ax)
    for k, name in enumerate([name for name in losses if not is_validation(name, losses)]):
        color = theme["classes"][k % len(theme["classes"])]
        for label, style in ((name, "-"), (f"val_{name}", "--")):
            if label in losses:
                values = [float(numbers_of(x)) for x in losses[label]]
                ax.plot(range(1, len(values) + 1), values, style, color=color, label=label, marker=dot(values))
    ax.set_xlabel("epoch" if is_history else "step")
    return add_legend(ax)


def plot_weights(parameters: Any, *, bins: int = 41, ax: Any = None) -> Any:
    """A histogram of each parameter, one above the other, with its standard deviation. All share the axis of values.

    parameters : a Module, arrays by name, or a list of them.

    >>> from autoflow import nn
    >>> ax = plot_weights(nn.Linear(20, 30, rng=np.random.default_rng(0)))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['weight', 'bias']
    """
    if isinstance(parameters, Module):
        parameters = parameters.named_parameters()
    elif not isinstance(parameters, Mapping):
        parameters = by_name(parameters, "array")
    arrays = {name: np.asarray(numbers_of(x), float).ravel() for name, x in parameters.items()}
    for name, x in arrays.items():
        if not x.size or not np.isfinite(x).all():
            raise InputError(f"plot_weights: {name} {'has NaN or infinite entries' if x.size else 'is empty'}")
    if not arrays:
        raise InputError("plot_weights: there are no parameters")
    ax, theme = canvas(ax)
    widest = max([np.abs(x).max() for x in arrays.values()]) or 1.0
    for row, x in enumerate(arrays.values()):
        counts, edges = np.histogram(x, bins, (-widest, widest))
        base = len(arrays) - 1 - row
        ax.stairs(base + 0.8 * counts / counts.max(), edges, baseline=base, fill=True, color=theme["weights"])
        ax.text(1.1 * widest, base + 0.4, f"sd {x.std():.2g}", va="center", color=theme["note"], fontsize="small")
        ax.axhline(base, color=theme["faint"], linewidth=0.8, zorder=0)
    ax.set_yticks(np.arange(len(arrays))[::-1] + 0.4, list(arrays))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("value")
    return tidy(ax, left=False)


def plot_boundary(model: Callable[[Array], Any], x: Array, y: Array, *, points: int = 150, ax: Any = None) -> Any:
    """The class that a model gives to each point of the plane, and the examples. Classes differ in colour and marker.

    model : maps points (m, 2) to scores (m, classes), where the largest wins; or to one score each, (m,) or (m, 1),
        which means class 1 where it is positive. A Module runs in eval mode.
    x, y : examples (n, 2) and their classes (n,), 0, 1, 2 ... (Others have no region, but are drawn.)
    points : the number of points in each direction.

    >>> x = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> ax = plot_boundary(lambda x: x[:, 0] + x[:, 1] - 1, x, np.array([0, 1]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['class 0', 'class 1']
    """
    x, y = np.asarray(numbers_of(x), float), np.asarray(numbers_of(y))
    shape_is("plot_boundary", x, "n", 2)
    shape_is("plot_boundary", y, len(x), what="classes")
    across, up, places = grid_of(x, points, points)
    ahead = leads(scores_of(model, places)).T.reshape(-1, points, points)
    ax, theme = canvas(ax)
    edge, columns = theme["ink"], range(len(ahead))
    for row, k in enumerate([*columns, *[k for k in np.unique(y).tolist() if k not in columns]]):
        color, marker = theme["classes"][row % len(theme["classes"])], MARKERS[row % len(MARKERS)]
        if k in columns and ahead[row].max() > 0:
            ax.contourf(across, up, ahead[row], [0, np.inf], colors=[color], alpha=0.25)
        if k in columns and ahead[row].min() < 0 < ahead[row].max():
            ax.contour(across, up, ahead[row], [0], colors=[edge], linewidths=1.0)
        ax.scatter(*x[y == k].T, s=18, color=color, marker=marker, edgecolors=edge, linewidths=0.4, label=f"class {k}")
    return add_legend(ax)


def grid_of(x: Array, columns: int, rows: int) -> tuple[Array, Array, Array]:
    """A grid over the points x (n, 2) and a little beyond: its coordinates, and its places (rows · columns, 2)."""
    low, high = x.min(axis=0), x.max(axis=0)
    room = 0.1 * np.where(high > low, high - low, 1.0)
    across, up = [np.linspace(low[k] - room[k], high[k] + room[k], n) for k, n in ((0, columns), (1, rows))]
    return across, up, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)


@no_grad
def scores_of(model: Any, places: Array) -> Array:
    """The scores (m, classes) at ``places`` (m, 2), in eval mode."""
    with in_evaluation(model):
        scores = numbers_of(model(places))
    if scores.shape in ((len(places),), (len(places), 1)):  # one score: class 0 has no score of its own
        scores = scores.reshape(-1, 1) * [0.0, 1.0]
    shape_is("plot_boundary", scores, len(places), "classes", what="scores")
    return scores


def leads(scores: Array) -> Array:
    """By how much each class is ahead of the best other one; (m, classes) -> (m, classes).

    >>> leads(np.array([[1.0, 4.0, 2.0]]))
    array([[-3.,  2., -2.]])
    """
    best = np.sort(scores, axis=1)
    first, second = best[:, -1:], best[:, -2:-1]
    return scores - np.where(scores == first, second, first)


# -- what they share


def canvas(ax: Any) -> tuple[Any, Any]:
    """The axes to draw into, created if missing, and the colours for their background."""
    if ax is None:
        load_package("matplotlib", NO_MATPLOTLIB)
        from matplotlib import pyplot

        with pyplot.style.context("dark_background" if modes().theme == "dark" else {}):
            ax = pyplot.subplots(layout="constrained")[1]
    red, green, blue, alpha = ax.get_facecolor()
    return ax, DARK if alpha > 0.5 and 0.3 * red + 0.59 * green + 0.11 * blue < 0.5 else LIGHT


def by_name(arrays: Iterable[Any], kind: str) -> dict[str, Any]:
    """Arrays by their names, or by their numbers where they have none. Those that share a name keep apart."""
    named: ByName = {}
    for k, x in enumerate(arrays):
        named[another(getattr(x, "name", f"{kind} {k}"), named)] = x
    return named


def another(name: str, taken: Mapping[str, Any]) -> str:
    """A name that is not taken yet.

    >>> another("tanh", {"tanh": 1, "tanh 2": 1})
    'tanh 3'
    """
    k = 1
    while (new := name if k == 1 else f"{name} {k}") in taken:
        k += 1
    return new


def add_legend(ax: Any, *, ends_only: bool = False) -> Any:
    """Axes with a legend: of all lines, or of many only the first and the last."""
    handles, labels = ax.get_legend_handles_labels()
    if ends_only:
        handles, labels = [handles[0], handles[-1]], [f"{labels[0]} (first)", f"{labels[-1]} (last)"]
    if handles:
        ax.legend(handles, labels, edgecolor="none", framealpha=0.7)
    return tidy(ax)


def tidy(ax: Any, *, left: bool = True) -> Any:
    """Axes without the lines that carry no information."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines["left"].set_visible(left)
    return ax


def draw_sizes(ax: Any, lines: Mapping[str, Any], of: str, marker: str | None = None) -> Any:
    """A line for each of these sizes on a logarithmic axis, the last one's most intense."""
    ax, theme = canvas(ax)
    first, last = theme[of]
    for shade, (label, line) in zip(blend_colours(first, last, len(lines)), lines.items(), strict=True):
        sizes = np.where(np.greater(line, 0), line, np.nan)
        ax.plot(range(1, len(line) + 1), sizes, color=shade, marker=marker or dot(line), label=label)
    ax.set_yscale("log")
    ax.set_ylabel(f"{of} (root mean square)")
    return add_legend(ax, ends_only=len(lines) > 6) if len(lines) > 1 else tidy(ax)


def dot(values: Sequence[float]) -> str | None:
    """The marker of a line of one point, which would not be seen; longer lines have none."""
    return "." if len(values) == 1 else None


def blend_colours(first: str, last: str, n: int) -> list[str]:
    """n colours from one to the other; the last alone if n is 1.

    >>> blend_colours("#000000", "#FFFFFF", 3)
    ['#000000', '#808080', '#ffffff']
    """
    ends = np.array([[int(color[k : k + 2], 16) for k in (1, 3, 5)] for color in (first, last)])
    steps = np.linspace(0, 1, n) if n > 1 else np.ones(1)
    mixed = [np.rint(ends[0] + t * (ends[1] - ends[0])).astype(np.uint8) for t in steps]
    return [f"#{color.tobytes().hex()}" for color in mixed]
