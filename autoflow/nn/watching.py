"""``af.watch``: a model that notes how large the result and the gradient of each layer are, and draws the training.

``plot_sizes`` of :mod:`.plots` draws the notes afterwards, :meth:`Watched.draw` meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..backprop.hooks import on_operation
from ..modes import modes
from .checks import numbers_of
from .live import Live
from .module import Module

Array = Any


def watch(model: Callable[..., Any]) -> Watched:
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

    def __init__(self, model: Callable[..., Any]) -> None:
        self.model = model
        self.activations: list[dict[str, float]] = []
        self.gradients: list[dict[str, float]] = []
        self.losses: list[float] = []  # those that draw() was given
        self.live: Live | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # while it is being copied or unpickled
            raise AttributeError(name)
        return getattr(self.model, name)

    @property
    def layers(self) -> list[str]:
        """The names of all layers, in the order in which they were first computed."""
        return list(dict.fromkeys([name for sizes in self.activations for name in sizes]))

    def __call__(self, *args: Any, **options: Any) -> Any:
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

    def draw(self, loss: Any, data: tuple[Array, Array] | None = None, *, last: bool = False) -> None:
        """Draw the training so far, in place of the picture before: call it after each step, with the step's loss.

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
        if self.live is None:
            self.live = Live()
        self.losses.append(float(numbers_of(loss)))
        shown = None if data is None else (self.model, numbers_of(data[0]), numbers_of(data[1]))
        self.live.draw({"loss": self.losses}, self.gradients, shown, last=last, axis="step")

    def note(self, last: dict[tuple[str, int], Any]) -> None:
        """Note the size of each layer's result now, and of its gradient when it arrives."""
        activations: dict[str, float] = {}
        gradients: dict[str, float] = {}
        for (name, _), node in last.items():
            name = another(name, activations)
            activations[name], gradients[name] = root_mean_square(node.value), np.nan
            node.register_hook(lambda g, name=name: gradients.update({name: root_mean_square(numbers_of(g))}))
        self.activations.append(activations)
        self.gradients.append(gradients)


def another(name: str, taken: Mapping[str, Any]) -> str:
    """A name that is not taken yet.

    >>> another("tanh", {"tanh": 1, "tanh 2": 1})
    'tanh 3'
    """
    k = 1
    while (new := name if k == 1 else f"{name} {k}") in taken:
        k += 1
    return new


def root_mean_square(x: Array) -> float:
    """√(Σ |x|² / n); NaN of nothing.

    >>> root_mean_square(np.array([3.0, -4.0, 0.0, 0.0]))
    2.5
    """
    x = np.abs(x).astype(float)
    return float(np.sqrt(np.mean(x * x))) if x.size else float("nan")
