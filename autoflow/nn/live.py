"""Training while it happens: losses, sizes of gradients, the decision boundary, drawn again and again in one place.

``af.watch`` makes a model that notes how large the result and the gradient of each layer are. :func:`plot_sizes` draws
the notes afterwards, :meth:`Watched.draw` meanwhile.

``fit(..., view=True)`` draws after each epoch, ``af.watch(model).draw(loss)`` in a loop of your own. In a notebook it
is a figure (matplotlib, if installed), in a terminal lines that are written over, in a file one picture at the end.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TextIO

import numpy as np

from ..backprop.hooks import on_operation
from ..base.columns import aligned
from ..base.errors import InputError
from ..base.groups import grouped
from ..base.modes import modes
from ..base.types import AnyFunction, Array, ByName
from . import plots
from .module import Module, numbers_of

# ---------------------------------------------------------------- af.watch: a model that takes notes


def watch(model: AnyFunction) -> Watched:
    """The same model, but each call records how large every layer's result is, and later its gradient.

    A layer is a box in the picture of the graph: a Module inside the model, or a ``with af.scope("layer 1"):`` block of
    a plain function; an operation outside all boxes is a layer of its own. The result of a layer is that of its last
    operation. Under ``af.no_grad`` nothing is recorded.

    >>> from autoflow import nn
    >>> rng = np.random.default_rng(0)
    >>> watched = watch(nn.Sequential(nn.Linear(2, 3, rng=rng), nn.tanh, nn.Linear(3, 1, rng=rng)))
    >>> watched(np.ones((5, 2))).sum().backward()
    >>> watched.layers
    ['Linear_0', 'tanh', 'Linear_2']
    >>> watched.gradients[0]["Linear_2"]
    1.0
    """
    return Watched(model)


class Watched:
    """A model that takes notes: see :func:`watch`. All other attributes are the model's.

    ``activations`` and ``gradients`` have one dict for each call: name of the layer -> root mean square. The gradient
    of a layer is NaN until ``backward()`` has reached it; a second backward pass overwrites it.
    """

    __module__ = "autoflow"

    def __init__(self, model: AnyFunction) -> None:
        self.model = model
        self.activations: list[dict[str, float]] = []
        self.gradients: list[dict[str, float]] = []
        self.losses: list[float] = []  # those that draw() was given
        self.live: LiveDisplay | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # while it is being copied or unpickled
            raise AttributeError(name)
        return getattr(self.model, name)

    @property
    def layers(self) -> list[str]:
        """The names of all layers, in the order in which they were first computed."""
        return list(dict.fromkeys([name for sizes in self.activations for name in sizes]))

    def __call__(self, *args: object, **options: object) -> Any:
        """Call the model."""
        depth = len(modes().scope) + isinstance(self.model, Module)  # a Module's own box is not one of its layers
        last: dict[tuple[str, int], Any] = {}

        def notice(node: Any) -> None:
            record = node.grad_fn
            box = record.entered[depth] if len(record.entered) > depth else (record.rule.name, record.number)
            last[box] = node

        with on_operation(notice):
            result = self.model(*args, **options)
        if last:
            self.note(last)
        return result

    def draw(self, loss: object, data: tuple[Array, Array] | None = None, *, last: bool = False) -> None:
        """Draw the training so far, replacing the previous picture: call it after each step, with the step's loss.

        loss : a number. data : points (n, 2) and their classes (n,), if the boundary between the classes is wanted.
        last : draw now; otherwise it is drawn twice a second at most, and nothing is drawn where no picture can be
            written over, such as in a file.

        In a notebook it is a figure, in a terminal lines of text, one of them for the loss:

        >>> from autoflow import nn
        >>> watched = watch(nn.Linear(2, 1, rng=np.random.default_rng(0)))
        >>> for _ in range(2):
        ...     loss = np.mean(watched(np.ones((5, 2))) ** 2)
        ...     loss.backward()
        ...     watched.draw(loss)
        >>> len(watched.losses)
        2
        """
        self.live = self.live or LiveDisplay()
        self.losses.append(float(numbers_of(loss)))
        boundary = None if data is None else (self.model, numbers_of(data[0]), numbers_of(data[1]))
        self.live.draw({"loss": self.losses}, self.gradients, boundary, last=last, axis="step")

    def note(self, last: dict[tuple[str, int], Any]) -> None:
        """Note the size of each layer's result now, and of its gradient when it arrives."""
        activations: dict[str, float] = {}
        gradients: dict[str, float] = {}
        for (name, _), node in last.items():
            name = plots.another(name, activations)
            activations[name], gradients[name] = root_mean_square(node.value), np.nan
            node.register_hook(lambda g, name=name: gradients.update({name: root_mean_square(numbers_of(g))}))
        self.activations.append(activations)
        self.gradients.append(gradients)


def root_mean_square(x: Array) -> float:
    """√(Σ |x|² / n); NaN of nothing.

    >>> root_mean_square(np.array([3.0, -4.0, 0.0, 0.0]))
    2.5
    """
    x = np.abs(x).astype(float)
    return float(np.sqrt(np.mean(x * x))) if x.size else float("nan")


# ---------------------------------------------------------------- the picture that is drawn again


EVERY = 0.5  # seconds between two pictures; the first and the last are always drawn
COLUMNS, ROWS = 48, 14  # letters of the decision boundary
POINTS = 80  # of it in a figure, in each direction
NAMED = 12  # at most this many layers are named along the axis


class LiveDisplay:
    """One place that is drawn again. ``stream`` is where a terminal's lines go; the default is stderr."""

    def __init__(self, stream: TextIO | None = None) -> None:
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
        drawn if x are points of the plane and y classes, and the model has scores between the points.
        """
        notebook = in_notebook()
        waits = self.drawn > 0 and time.monotonic() - self.drawn < EVERY
        if not last and (waits or not (notebook or is_terminal(self.stream))):
            return False
        boundary = data if data is not None and has_boundary(*data) else None
        if notebook:
            self.show(bundle(losses, gradients, boundary, axis))
        else:
            self.write(text_lines(losses, gradients, boundary))
        self.drawn = time.monotonic()
        return True

    def show(self, picture: dict[str, Any]) -> None:
        """Show the picture in the notebook's cell, replacing the previous one."""
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
    """Does this run in a kernel that can show pictures?"""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def is_terminal(stream: object) -> bool:
    """Can lines be written over?"""
    return bool(getattr(stream, "isatty", lambda: False)())


def has_boundary(model: object, x: Array, y: Array) -> bool:
    """Are these points of the plane and their classes, and has the model scores for any such points? (An Embedding of
    two words has none, and other models return a dict.)"""
    fits = x.ndim == 2 and x.shape[1] == 2 and y.ndim == 1 and y.dtype.kind in "biu"
    with suppress(Exception):  # of whatever kind: no picture ends a training that goes well without it
        return fits and plots.scores_of(model, np.resize(x, (3, 2)).astype(float)).ndim == 2
    return False


def layer_sizes(model: object, parameters: Sequence[Any]) -> dict[str, float]:
    """The root mean square of the gradient of each layer's parameters, as far as they are in ``parameters``: gradients
    of the model's others are the sum of all batches. A layer is what stands before the last dot of a parameter's name.

    >>> import autoflow as af
    >>> from autoflow import nn
    >>> model = nn.Sequential(nn.Linear(2, 2, rng=np.random.default_rng(0)))
    >>> np.sum(model(np.ones((1, 2)))).backward()
    >>> layer_sizes(model, model.parameters())
    {'0': 1.0}
    """
    named = model.named_parameters() if isinstance(model, Module) else plots.by_name(parameters, "parameter")
    ids = {*map(id, parameters)}
    pairs = [(name, getattr(p, "grad", None)) for name, p in named.items() if id(p) in ids]
    grads = grouped([(name.rpartition(".")[0] or name, np.ravel(numbers_of(g))) for name, g in pairs if g is not None])
    return {layer: root_mean_square(np.concatenate(parts)) for layer, parts in grads.items()}


def text_lines(losses: Any, gradients: Any, data: Any) -> list[str]:
    """The picture as lines of text."""
    lines = aligned([(name, plots.sparkline(x), f"{x[-1]:.4g}") for name, x in losses.items() if len(x)])
    if gradients and gradients[-1]:
        lines += ["sizes of gradients", *[f"  {line}" for line in plots.size_bars(gradients[-1])]]
    if data is not None:
        model, x, _ = data
        _, _, places = plots.grid_of(np.asarray(x, float), COLUMNS, ROWS)
        classes = np.argmax(plots.scores_of(model, places), axis=1).reshape(ROWS, COLUMNS)
        lines += ["classes", *[f"  {row}" for row in plots.region_rows(classes)]]
    return lines


def bundle(losses: Any, gradients: Any, data: Any, axis: str) -> dict[str, Any]:
    """The picture for a notebook: a figure and its text; without matplotlib the text alone."""
    formats: ByName = {"text/plain": "\n".join(text_lines(losses, gradients, data))}
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return formats
    sizes = bool(gradients and gradients[-1])
    panels = 1 + sizes + (data is not None)
    figure = Figure(figsize=(4.2 * panels, 3.0), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, panels)))
    plots.plot_loss(dict(losses), ax=axes[0]).set_xlabel(axis)
    if sizes:
        plots.draw_sizes(axes[1], by_layer(gradients), "gradients").set_xlabel(axis)
    if data is not None:
        plots.plot_boundary(*data, points=POINTS, ax=axes[-1])
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=96)
    formats["image/png"] = file.getvalue()
    return formats


def by_layer(rows: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    """Sizes over time by the name of the layer; NaN where a row has none."""
    names = dict.fromkeys([name for row in rows for name in row])
    return {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}


def plot_sizes(watched: Watched, of: str = "gradients", *, along: str = "steps", ax: Any = None) -> Any:
    """The sizes that ``af.watch`` recorded, on a logarithmic axis.

    of : "gradients" or "activations".
    along : "steps", a line for each layer, the last layer's most intense; or "layers", a line for the first call and
        one for the last.

    >>> from autoflow import nn
    >>> rng = np.random.default_rng(0)
    >>> watched = watch(nn.Sequential(nn.Linear(2, 3, rng=rng), nn.tanh, nn.Linear(3, 1, rng=rng)))
    >>> watched(np.ones((5, 2))).sum().backward()
    >>> plot_sizes(watched, along="layers").get_ylabel()
    'gradients (root mean square)'
    """
    for name, value, *allowed in (("of", of, "gradients", "activations"), ("along", along, "steps", "layers")):
        if value not in allowed:
            raise ValueError(f"plot_sizes: {name} is {' or '.join(map(repr, allowed))}, not {value!r}")
    lines = by_layer(getattr(watched, of))
    if not lines:
        raise InputError("nothing was recorded yet: call the watched model, outside of af.no_grad(), then plot")
    layers, sizes = list(lines), np.stack([*lines.values()], axis=1)
    if not np.any(sizes > 0):
        raise InputError(f"all {of} are zero, NaN or not there: was backward() called on what the model returned?")
    if along == "steps":
        ax = plots.draw_sizes(ax, lines, of)
        ax.set_xlabel("step")
        return ax
    ends = {"first step": sizes[0]} if len(sizes) == 1 else {"first step": sizes[0], "last step": sizes[-1]}
    ax = plots.draw_sizes(ax, ends, of, ".")
    ax.set_xlabel("layer")
    if len(layers) <= NAMED:
        ax.set_xticks(range(1, len(layers) + 1), layers, rotation=30, ha="right")
    return ax
