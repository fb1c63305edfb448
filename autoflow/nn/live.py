"""Training while it happens: losses, sizes of gradients, the decision boundary, drawn again and again in one place.

``fit(..., view=True)`` draws so after each epoch, ``af.watch(model).draw(loss)`` in a loop of your own. In a notebook
it is a figure (matplotlib, if installed), in a terminal lines that are written over, in a file one picture at the end.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .charts import region_rows, size_bars, sparkline
from .checks import numbers_of
from .module import Module
from .plots import add_legend, blend_colours, canvas, grid_of, plot_boundary, plot_loss, scores_of

Array = Any
EVERY = 0.5  # seconds between two pictures; the first and the last are always drawn
COLUMNS, ROWS = 48, 14  # letters of the decision boundary
POINTS = 80  # of it in a figure, in each direction


class Live:
    """One place that is drawn again. ``stream`` is where a terminal's lines go; the default is stderr."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.drawn = -float("inf")  # when
        self.lines = 0  # that stand on the terminal
        self.handle: Any = None  # of the notebook's cell

    def draw(
        self, losses: Mapping[str, Sequence[float]], gradients: Sequence[Mapping[str, float]] = (),
        data: tuple[Any, Array, Array] | None = None, *, last: bool = False, axis: str = "epoch",
    ) -> bool:  # fmt: skip
        """Draw if it is time to, and say whether it was.

        losses : by name, over time. gradients : their sizes by layer, over time. data : model, x, y; the boundary is
        drawn if x are points of the plane and y classes.
        """
        notebook = in_notebook()
        waits = self.drawn > 0 and time.monotonic() - self.drawn < EVERY
        if not last and (waits or not (notebook or is_terminal(self.stream))):
            return False
        shown = data if data is not None and has_boundary(*data[1:]) else None
        if notebook:
            self.show(bundle(losses, gradients, shown, axis))
        else:
            self.write(text_lines(losses, gradients, shown))
        self.drawn = time.monotonic()
        return True

    def show(self, picture: dict[str, Any]) -> None:
        """Into the notebook's cell, in place of the picture before."""
        from IPython.display import display

        if self.handle is None:
            self.handle = display(picture, raw=True, display_id=True)
        else:
            self.handle.update(picture, raw=True)

    def write(self, lines: list[str]) -> None:
        """To the terminal, over the lines before."""
        up = f"\x1b[{self.lines}A" if self.lines else ""
        clear = "\x1b[K" if is_terminal(self.stream) else ""
        self.stream.write(up + "".join([f"{line}{clear}\n" for line in lines]))
        self.stream.flush()
        self.lines = len(lines)


def in_notebook() -> bool:
    """Does a kernel run us, which can show pictures?"""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def is_terminal(stream: Any) -> bool:
    """Can lines be written over?"""
    return bool(getattr(stream, "isatty", lambda: False)())


def has_boundary(x: Array, y: Array) -> bool:
    """Are these points of the plane and their classes?"""
    return x.ndim == 2 and x.shape[1] == 2 and y.ndim == 1 and y.dtype.kind in "biu"


def layer_sizes(model: Any, parameters: Sequence[Any]) -> dict[str, float]:
    """The root mean square of the gradient of each layer's parameters. A layer is what stands before the last dot of a
    parameter's name.

    >>> import autoflow as af
    >>> from autoflow import nn
    >>> model = nn.Sequential(nn.Linear(2, 2, rng=np.random.default_rng(0)))
    >>> np.sum(model(np.ones((1, 2)))).backward()
    >>> layer_sizes(model, model.parameters())
    {'0': 1.0}
    """
    if isinstance(model, Module):
        named = model.named_parameters()
    else:
        named = {getattr(p, "name", f"parameter {k}"): p for k, p in enumerate(parameters)}
    sums: dict[str, list[float]] = {}
    for name, p in named.items():
        if getattr(p, "grad", None) is not None:
            g = np.abs(np.asarray(numbers_of(p.grad), complex if p.dtype.kind == "c" else float))
            total = sums.setdefault(name.rpartition(".")[0] or name, [0.0, 0.0])
            total[0] += float(np.sum(g * g))
            total[1] += g.size
    return {name: float(np.sqrt(square / max(n, 1))) for name, (square, n) in sums.items()}


def text_lines(losses: Any, gradients: Any, data: Any) -> list[str]:
    """The picture as lines of text."""
    longest = max([len(name) for name in losses], default=0)
    lines = [f"{name:{longest}}  {sparkline(x)}  {x[-1]:.4g}" for name, x in losses.items() if len(x)]
    if gradients and gradients[-1]:
        lines += ["sizes of gradients", *[f"  {line}" for line in size_bars(gradients[-1])]]
    if data is not None:
        model, x, _ = data
        _, _, places = grid_of(np.asarray(x, float), COLUMNS, ROWS)
        classes = np.argmax(scores_of(model, places), axis=1).reshape(ROWS, COLUMNS)
        lines += ["classes", *[f"  {row}" for row in region_rows(classes)]]
    return lines


def bundle(losses: Any, gradients: Any, data: Any, axis: str) -> dict[str, Any]:
    """The picture for a notebook: a figure and its text; without matplotlib the text alone."""
    found: dict[str, Any] = {"text/plain": "\n".join(text_lines(losses, gradients, data))}
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return found
    sizes = bool(gradients and gradients[-1])
    panels = 1 + sizes + (data is not None)
    figure = Figure(figsize=(4.2 * panels, 3.0), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, panels)))
    plot_loss(dict(losses), ax=axes[0]).set_xlabel(axis)
    if sizes:
        plot_layers(gradients, axes[1], axis)
    if data is not None:
        plot_boundary(*data, points=POINTS, ax=axes[-1])
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=96)
    found["image/png"] = file.getvalue()
    return found


def plot_layers(gradients: Sequence[Mapping[str, float]], ax: Any, axis: str) -> None:
    """A line for each layer, the last one's most intense."""
    names = list(dict.fromkeys([name for row in gradients for name in row]))
    ax, theme = canvas(ax)
    first, last = theme["gradients"]
    for name, shade in zip(names, blend_colours(first, last, len(names)), strict=True):
        sizes = np.array([row.get(name, np.nan) for row in gradients])
        ax.plot(range(1, len(sizes) + 1), np.where(sizes > 0, sizes, np.nan), color=shade, label=name)
    ax.set_yscale("log")
    ax.set_xlabel(axis)
    ax.set_ylabel("gradients (root mean square)")
    add_legend(ax, ends_only=len(names) > 6)
