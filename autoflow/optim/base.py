"""Optimiser: parameters, the arrays remembered for each, and a step that changes all of them or none.

A rule (``update``) works on plain arrays and writes in place: ``np.multiply(g, lr, out=a)`` into an existing array, so
a step allocates nothing of the size of the model. Two such scratch arrays, as large as the largest parameter, serve
all of them. Ctrl-C, or a warning that is an error, may cut a step short: what it changes is copied first (into existing
arrays, too), and copied back by one call in C.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable
from inspect import isfunction
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.registry import on_host
from ..base.errors import AnomalyError, DataError, InputError, StateError
from ..base.modes import announce
from ..base.numbering import now
from ..base.saving import check_state, load_state, save_state
from ..base.spellings import install
from ..nodes.grads import as_gradient_like, forget_grads
from ..nodes.nodes import NodeRole, VariableRole, value_of
from ..nodes.rebinding import original_of, rebound
from ..nodes.versions import Note
from ..program.callers import caller
from ..program.places import variables_of
from ..table.shapes import Array, is_number, is_on_host

__all__ = ["Optimiser"]

NOTHING = (
    "{}.step() changes nothing: none of its {} parameters has a gradient. Call zero_grad(), then loss.backward(), then "
    "step(), in this order"
)


class Setting:
    """A number of an optimiser that is checked whenever it is set; without a check it is a switch, on or off. (It is
    read like any other attribute: there is no ``__get__``.)"""

    def __init__(self, check: Callable[[str, str, Any], Any] = lambda who, name, value: bool(value)) -> None:
        self.check = check

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, optimiser: Any, value: object) -> None:
        vars(optimiser)[self.name] = self.check(type(optimiser).__name__, self.name, value)
        if hasattr(optimiser, "memory"):
            optimiser.remember()


OPTIMISER = "an optimiser, such as optim.Adam(model)"


def not_negative(who: str, name: str, value: Any) -> float:
    """A finite number of at least 0."""
    if not is_number(value) or not 0 <= value < math.inf:
        raise ValueError(f"{who}: {name} must be a finite number of at least 0, not {value!r}")
    return float(value)


def below_one(who: str, name: str, value: float) -> float:
    """The share of a running mean that stays: in [0, 1)."""
    if not is_number(value) or not 0 <= value < 1:
        raise ValueError(f"{who}: {name} must be at least 0 and less than 1, not {value!r}")
    return float(value)


def whole_numbers(who: str, **numbers: object) -> None:
    """Refuse, by name, anything but whole numbers of at least 1."""
    for name, n in numbers.items():
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"{who}: {name} must be a whole number of at least 1, not {n!r}")


def check_kind(who: str, method: str, what: str, **given: object) -> None:
    """Refuse what has no such method, by name: a text, or a class in the place of one of its objects, whose method is a
    function that is not bound."""
    for name, x in given.items():
        attribute = getattr(x, method, None)
        if not callable(attribute) or (isinstance(x, type) and isfunction(attribute)):
            raise TypeError(f"{who}: {name} must be {what}, not {x!r:.60}")


setting: Any = Setting


class Optimiser:
    """Base of all optimisers: a subclass writes ``update``, and names in ``remembers`` the arrays it keeps per
    parameter.

    parameters : Variables; or ``model.parameters()``; or the model.
    lr : the learning rate, the size of the steps. Like all settings it may be changed at any time: ``optimiser.lr =
        0.01``.
    """

    lr: float = setting(not_negative)
    momentum: float = setting(below_one)  # settings that several rules have
    weight_decay: float = setting(not_negative)
    eps: float = setting(not_negative)

    def __init__(self, parameters: object, lr: float, **settings: object) -> None:
        self.parameters = variables(parameters)
        self.lr = lr
        for name, value in settings.items():
            setattr(self, name, value)
        self.steps = [0] * len(self.parameters)  # the number of steps that each parameter has made
        self.memory: list[dict[str, Array]] = [{} for _ in self.parameters]
        self.remember()
        self.scratch = scratch_for(self.parameters)
        self.kept: dict[int, list[Array]] = {}  # each parameter and its memory, as before this step
        self.unfinished = ""  # names what holds part of a step that could not be undone

    @property
    def remembers(self) -> tuple[str, ...]:
        """The names of the arrays that :meth:`update` gets."""
        return ()

    def remember(self) -> None:
        """Zeros for what the rule remembers and has not yet, at first and when a setting was changed."""
        new = [name for name in self.remembers if name not in self.memory[0]]
        for p, own in zip(self.parameters, self.memory, strict=True):
            own |= {name: np.zeros_like(value_of(p), dtype=wide(value_of(p))) for name in new}

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """Change the plain array x in place. g: its gradient, not to be changed; t: the number of this step, from 1;
        a, b: scratch arrays of x's shape; then the remembered arrays, by name."""
        raise NotImplementedError

    def step(self) -> None:
        """One update of every parameter that has a gradient and is not frozen. If an exception cuts the step short, no
        parameter is changed.

        Warns if no parameter has a gradient.

        Raises AnomalyError, and changes nothing, if a gradient is NaN or infinite (not checked on a GPU). A graph
        that was recorded before and needs the old numbers raises StaleValueError. Raises StateError if a second
        exception came while an earlier step was being undone.
        """
        self.check_finished()
        announce("step", self, self.parameters)
        if max(self.steps) < 2:
            self.check_caller(sys._getframe(1))
        trained = [(k, p.grad) for k, p in enumerate(self.parameters) if p.requires_grad]
        moving = {k: value_of(g) for k, g in trained if g is not None}
        for k, g in moving.items():
            if not finite(g):
                raise AnomalyError(
                    f"{type(self).__name__}: the gradient of {self.parameters[k].name} contains NaN or infinity. No "
                    f"parameter was changed. Look at the data and the loss; clip gradients or lower lr={self.lr:g}."
                )
        if trained and not moving:
            warnings.warn(NOTHING.format(type(self).__name__, len(self.parameters)), RuntimeWarning, stacklevel=2)
        live = [array for k in moving for array in self.changed_by_step(k)]
        buffers = [array for k in moving for array in self.room_for(k)]
        where, before, steps = caller(), self.steps, list(self.steps)
        notes = [Note(value_of(self.parameters[k]), where) for k in moving]
        list(map(np.copyto, buffers, live))
        names = ", ".join([self.parameters[k].name for k in moving])
        try:
            for note in notes:
                note.stamp(now())
            self.unfinished = f"a step at {where} was cut short, and so was taking it back: {names} may hold half of it"
            for k, g in moving.items():
                x = value_of(self.parameters[k])
                a, b = self.scratch[wide(x)]
                a, b = a[: x.size].reshape(x.shape), b[: x.size].reshape(x.shape)
                steps[k] += 1
                y, g = x.astype(a.dtype, copy=False), g.astype(a.dtype, copy=False)
                self.update(y, g, steps[k], a, b, **self.memory[k])
                if y is not x:
                    x[...] = y
                self.check_memory(k)
            self.steps, self.unfinished = steps, ""
        except BaseException:
            list(map(np.copyto, live, buffers))
            self.steps, self.unfinished = before, ""
            for note in notes:
                note.undo()
            raise
        for note in notes:
            note.was_written(now())

    def check_memory(self, k: int) -> None:
        """Raise AnomalyError if the arrays remembered for parameter number k are no longer finite."""
        for name, array in self.memory[k].items():
            if not finite(array):
                raise AnomalyError(
                    f"{type(self).__name__}: the gradient of {self.parameters[k].name} is finite, but too large: "
                    f"the {name} remembered of it would leave {array.dtype}. No parameter was changed. Clip gradients, "
                    f"make the loss smaller, or train in float64."
                )

    def check_caller(self, frame: Any) -> None:
        """Raise TypeError if the caller has replaced one of our parameters by ``w = w - lr * w.grad``. Checked at the
        first two steps."""
        ours = {id(p) for p in self.parameters}
        for x in variables_of(frame).values():
            if (w := original_of(x)) is not None and id(w) in ours:
                raise rebound(x, w, f"{type(self).__name__}.step() changes Variables")

    def changed_by_step(self, k: int) -> list[Array]:
        """The arrays that a step writes for parameter number k: the parameter, and those remembered for it."""
        return [value_of(self.parameters[k]), *self.memory[k].values()]

    def room_for(self, k: int) -> list[Array]:
        """Arrays for a copy of :meth:`changed_by_step`."""
        if len(self.kept.get(k, ())) <= len(self.memory[k]):
            self.kept[k] = [np.empty_like(array) for array in self.changed_by_step(k)]
        return self.kept[k]

    def check_finished(self) -> None:
        """Raise StateError if a step was left half done."""
        if self.unfinished:
            who = type(self).__name__
            raise StateError(f"{who}: {self.unfinished}. Load a saved state of the model and one of the optimiser.")

    def zero_grad(self) -> None:
        """Clear the gradients: the next backward pass starts from zero."""
        forget_grads(self.parameters)

    def _state(self) -> dict[str, Array]:
        """The state on which later steps depend, besides the parameters, by name; arrays are not copied."""
        named = {f"{k}.{name}": array for k, m in enumerate(self.memory) for name, array in m.items()}
        return {"lr": np.array(self.lr), "steps": np.array(self.steps), **named}

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of everything that the next step depends on, besides the parameters and the settings with which the
        optimiser was made (betas, momentum ...).

        >>> from autoflow import optim
        >>> optim.SGD([af.Variable([1.0, 2.0])], lr=0.1, momentum=0.9).state_dict()
        {'lr': array(0.1), 'steps': array([0]), '0.velocity': array([0., 0.])}
        """
        return {name: np.array(on_host(array)) for name, array in self._state().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where :meth:`state_dict` was taken. Raises StateError, and changes nothing, if the state does not
        fit."""
        entries = {name: value_of(value) for name, value in state.items()}
        arrays = check_state(type(self).__name__, self._state(), entries, sizes=("lr", "steps"))
        memory = [
            {name: as_gradient_like(arrays[f"{k}.{name}"], array) for name, array in own.items()}
            for k, own in enumerate(self.memory)
        ]
        lr, steps = float(arrays["lr"]), [int(t) for t in arrays["steps"]]
        vars(self).update(lr=lr, steps=steps, memory=memory, unfinished="")  # one call in C

    def save(self, path: str | Path) -> Path:
        """Write :meth:`state_dict` to an npz file, or to one that ends in ``.safetensors``; returns its path."""
        return save_state(path, self.state_dict())

    def load(self, path: str | Path) -> None:
        """Read what :meth:`save` wrote."""
        self.load_state_dict(load_state(path))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.parameters)} parameters, lr={self.lr:g})"


install(Optimiser, "opt")


def variables(parameters: Any) -> list[Any]:
    """The Variables to be trained, each once."""
    if isinstance(parameters, VariableRole):
        parameters = [parameters]
    elif hasattr(parameters, "parameters"):
        parameters = parameters.parameters()
    elif isinstance(parameters, dict):
        parameters = parameters.values()
    elif not isinstance(parameters, Iterable):
        raise TypeError(f"an optimiser takes Variables or a model, not {type(parameters).__name__}")
    items = list(parameters)
    for p in items:
        if not isinstance(p, VariableRole):
            if (w := original_of(p)) is not None:
                raise rebound(p, w, "an optimiser changes Variables")
            advice = "give it what this was computed from" if isinstance(p, NodeRole) else "wrap it, w = af.Variable(w)"
            advice = "make an optimiser for each group of parameters" if isinstance(p, (dict, list, tuple)) else advice
            raise TypeError(f"an optimiser changes Variables; this is {type(p).__name__}: {p!r:.60}; {advice}")
        if value_of(p).dtype.kind == "c":
            raise DataError(f"{p.name} is complex: train its real and imaginary parts as two Variables")
    if not items:
        raise ValueError("an optimiser needs at least one Variable; an iterator that was used up gives none")
    if len({id(p) for p in items}) < len(items):
        raise ValueError("a Variable was given twice: it would make two steps at once")
    return items


def scratch_for(parameters: list[Any]) -> dict[Any, tuple[Array, Array]]:
    """Two flat arrays for each dtype in which steps compute, as large as the largest parameter."""
    largest: dict[Any, Array] = {}
    for p in parameters:
        x = value_of(p)
        if wide(x) not in largest or largest[wide(x)].size < x.size:
            largest[wide(x)] = x
    empty: Any = np.empty_like
    return {dtype: (empty(x, dtype, shape=x.size), empty(x, dtype, shape=x.size)) for dtype, x in largest.items()}


def wide(x: Array) -> np.dtype[Any]:
    """The dtype in which a step is computed and remembered: float32 at least. In float16 1e-8 is 0, and 300² is ∞."""
    return np.promote_types(x.dtype, np.float32)


def finite(g: Array) -> bool:
    """Is every element finite? NaN and infinity survive a sum, so a finite sum is proof, and ten times as fast.

    For an array on a GPU always True: checking would wait for the device in every step.
    """
    with np.errstate(all="ignore"):
        return not is_on_host(g) or bool(np.isfinite(g.sum())) or bool(np.isfinite(g).all())
