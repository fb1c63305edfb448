"""Module: something with parameters that can be called. Layers are Modules, and so are networks made of layers.

Nothing has to be registered. A Module's attributes say what it consists of: Variables are parameters, plain arrays are
buffers (saved but not trained, such as running means), Modules are its parts; also inside lists, tuples and
dictionaries. Attributes that begin with an underscore do not count.

Checks of what a layer or a loss is given, before anything is computed.

``who`` is a name or a layer; its repr is made only for an error.
"""

from __future__ import annotations

import functools
import reprlib
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from ..arrays import Autodiff, usable_cupy
from ..backends.registry import NODE_TYPES, on_host
from ..backprop.second_runs import reachable
from ..base.errors import DataError, InputError, StateError
from ..base.modes import modes
from ..base.process import finally_
from ..base.pytree import tree_leaves, tree_map
from ..base.saving import check_state, load_state, save_state
from ..base.spellings import install
from ..forward.writing import overwrite, set_all
from ..nodes.grads import as_gradient_like, forget_grads
from ..nodes.nodes import AnyFunction, ByName, Constant, Variable, VariableRole, value_of
from ..nodes.records import scope
from ..table.shapes import Array, is_number, is_on_host

__all__ = ["Module", "functional_call"]

Self = TypeVar("Self", bound="Module")
P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Forward(Protocol[P, R]):
    """For checkers of types: calling a module takes what its ``forward`` takes, and returns what that returns."""

    label: str

    def forward(self, *args: P.args, **options: P.kwargs) -> R:
        """The function that the module computes."""


class Module:
    """Base of layers and networks: set attributes in ``__init__`` and write ``forward``.

    >>> from autoflow import nn
    >>> class Line(nn.Module):
    ...     def __init__(self):
    ...         self.slope, self.offset = af.Variable(2.0), af.Variable(1.0)
    ...     def forward(self, x):
    ...         return self.slope * x + self.offset
    >>> line = Line()
    >>> line(3.0)
    7.0  Operation add_0 = add(multiply_0, offset)
    >>> list(line.named_parameters())
    ['slope', 'offset']
    """

    training = True  # set by train() and eval()
    label = ""  # the label of its box in a picture; set when it becomes a part of another module
    _form = ""  # its repr, {0} is the module; without one its parts are shown

    def forward(self, *args: Any, **options: Any) -> Any:
        """The function that the module computes: each subclass writes it, and calling the module calls it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, x): write what it computes")

    def __call__(self: Forward[P, R], *args: P.args, **options: P.kwargs) -> R:
        """``forward``, in a scope of its own, so that pictures can fold it."""
        if not modes().recording:
            return self.forward(*args, **options)
        with scope(self.label or type(self).__name__):
            return self.forward(*args, **options)

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, Module) and not value.label:
            value.label = name
        if isinstance(value, VariableRole) and getattr(value, "_name", None) is None:
            value.name = name
        dotted = any(["." in other for other in (*vars(self), name)])
        if not name.startswith("_") and (dotted or isinstance(value, (list, tuple, dict))):
            entries({**(dict(self._parts()) if dotted else {}), name: value})  # a collision is an error here already
        if isinstance(value, (set, frozenset, deque)) and any([isinstance(x, (Module, VariableRole)) for x in value]):
            raise StateError(f"{name} is a {type(value).__name__}, in which no parameter is found: make it a list")
        super().__setattr__(name, value)

    def named_parameters(self) -> dict[str, Variable]:
        """Variables by path, such as ``"hidden.weight"``; a Variable that is used twice has its first path."""
        pairs: dict[int, tuple[str, Any]] = {}
        for path, value in self._state().items():
            if is_parameter(value):
                pairs.setdefault(id(value), (path, value))
        return dict(pairs.values())

    def parameters(self) -> list[Variable]:
        """All Variables, for an optimiser. Their names become their paths, so that errors can name them."""
        named = self.named_parameters()
        for path, parameter in named.items():
            if isinstance(parameter, VariableRole):
                parameter.name = path
        return list(named.values())

    def modules(self) -> list[Module]:
        """This module and all modules in it, at any depth, each once."""
        return list({id(value): value for _, value in walk("", self) if isinstance(value, Module)}.values())

    @staticmethod
    def _all_in(model: object) -> list[Module]:
        """Those of a model: a Module, also one that is watched, or a function, which reaches them."""
        return model.modules() if hasattr(model, "modules") else [x for x in reachable(model) if isinstance(x, Module)]

    def _parts(self) -> Iterable[tuple[Any, Any]]:
        """The parts of the module, with the names that begin their paths."""
        return [(name, value) for name, value in vars(self).items() if not name.startswith("_")]

    def train(self: Self, mode: bool = True) -> Self:
        """Behave as in training (dropout is active, batch norm uses the batch), in all parts; returns the module."""
        list(map(dict.update, map(vars, self.modules()), repeat({"training": bool(mode)})))  # one call in C
        return self

    def eval(self: Self) -> Self:
        """Switch to evaluation in all parts; returns the module."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters."""
        forget_grads([p for p in self.named_parameters().values() if isinstance(p, VariableRole)])

    def _state(self) -> dict[str, Any]:
        return entries(self)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all parameters and buffers as plain NumPy arrays, by path.

        >>> from autoflow import nn
        >>> {path: x.shape for path, x in nn.BatchNorm(2).state_dict().items()}
        {'weight': (2,), 'bias': (2,), 'running_mean': (2,), 'running_var': (2,)}
        """
        return {path: np.array(on_host(value_of(value))) for path, value in self._state().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Overwrite parameters and buffers.

        Raises StateError, and changes nothing, unless ``state`` has exactly the entries of :meth:`state_dict`. (The
        number of batches that PyTorch's batch norms have seen, ``num_batches_tracked``, is left out.)
        """
        own = self._state()
        counts = [path for path in state if path not in own and path.split(".")[-1] == "num_batches_tracked"]
        state = {path: value_of(value) for path, value in state.items() if path not in counts}
        arrays = check_state(repr(self), {path: value_of(value) for path, value in own.items()}, state)
        targets = [value_of(value) for value in own.values()]
        overwrite(targets, [as_gradient_like(arrays[path], target) for path, target in zip(own, targets, strict=True)])

    def to_gpu(self: Self) -> Self:
        """Parameters and buffers onto the GPU, in place; returns the module. Parameters are new Variables then: make
        the optimiser afterwards. Raises ImportError or RuntimeError where there is no GPU."""
        return self.to(usable_cupy().ndarray)

    def to_cpu(self: Self) -> Self:
        """Parameters and buffers back as NumPy's, in place; returns the module."""
        return self.to(np.ndarray)

    def to(self: Self, array_type: type) -> Self:
        """Parameters, Constants and buffers as arrays of that type, in place; returns the module. Parameters are new
        Variables."""
        AF, new_parameters = Autodiff(array_type), {}  # noqa: N806 - as users write it

        def moved(x: object) -> Any:
            if isinstance(x, VariableRole):
                if id(x) not in new_parameters:  # one that is used twice stays one
                    new_parameters[id(x)] = AF.Variable(on_host(value_of(x)), x.name, requires_grad=x.requires_grad)
                return new_parameters[id(x)]
            if isinstance(x, Constant):
                return AF.Constant(on_host(value_of(x)), x.name)
            return AF.put(on_host(x)) if type(x) in NODE_TYPES else x

        public = [{name: x for name, x in vars(part).items() if not name.startswith("_")} for part in self.modules()]
        new = [{name: tree_map(moved, x) for name, x in attributes.items()} for attributes in public]
        list(map(dict.update, map(vars, self.modules()), new))  # one call in C: all of them or none
        return self

    def save(self, path: str | Path) -> Path:
        """Write :meth:`state_dict` to an npz file, or to one that ends in ``.safetensors``; returns its path."""
        return save_state(path, self.state_dict())

    def load(self: Self, path: str | Path) -> Self:
        """Read what :meth:`save` wrote, or PyTorch's weights in a ``.safetensors`` file, into a module of the same
        structure and names; returns the module."""
        self.load_state_dict(load_state(path))
        return self

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in vars(self).items() if isinstance(value, Module)]
        return self._form.format(self) or f"{type(self).__name__}({', '.join(parts)})"


install(Module, "model")


@contextmanager
def in_evaluation(model: object) -> Iterator[None]:
    """For a block: all Modules of a model behave as in evaluation."""
    before = [(part, "training", part.training) for part in Module._all_in(model)]
    with finally_(set_all, before):
        set_all([(part, name, False) for part, name, _ in before])
        yield


def walk(path: str, value: object, inside: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """A value with its path, and everything in it. ``inside``: what is being walked, which parts may know."""
    yield path, value
    if any([value is whole for whole in inside]):
        return
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Module):
        parts = value._parts()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    elif isinstance(value, dict):
        parts = value.items()
    for name, part in parts:
        yield from walk(f"{path}.{name}" if inside else str(name), part, (*inside, value))


def entries(tree: object) -> dict[str, Any]:
    """The parameters and buffers in it, by path.

    Raises StateError if two have the same path: one of them would be neither trained nor saved.
    """
    state: ByName = {}
    for path, value in walk("", tree):
        if (is_parameter(value) or type(value) in NODE_TYPES) and state.setdefault(path, value) is not value:
            raise StateError(
                f"two parameters or buffers are called {path!r}: a dot in a name reads as a part, and 1 as '1'; rename "
                f"one of them"
            )
    return state


SWAPPING = threading.RLock()
STANDING_IN = threading.local()  # .ids: of the arrays and nodes that replace parameters at the moment


def is_parameter(x: object) -> bool:
    """A Variable, or the array with which :func:`functional_call` has replaced it."""
    return isinstance(x, VariableRole) or id(x) in getattr(STANDING_IN, "ids", ())


def functional_call(model: Forward[P, R], values: Mapping[str, Any], *args: P.args, **options: P.kwargs) -> R:
    """``model(*args)`` with its parameters replaced by other arrays.

    This turns a model into a function of its parameters: for ``af.value_and_grad``, ``af.hvp``, Jacobians, and for
    ``af.compile``, where parameters that change must be arguments.

    values : arrays or nodes by path, as in ``named_parameters()``. Parameters that are left out stay as they are.
        Buffers may be given, too; the others are the model's own, and a BatchNorm in training updates them.

    While the model computes, its attributes hold these values; afterwards they are as before. Other threads that call
    this function wait; meanwhile they must not use the model in any other way.
    Raises StateError for a path that the model does not have, an array of another shape, or two different values for
    a parameter that has two paths.

    >>> from autoflow import nn
    >>> model = nn.Linear(2, 1, rng=np.random.default_rng(0))
    >>> values = {path: p.value for path, p in model.named_parameters().items()}
    >>> nn.functional_call(model, {path: 0 * w for path, w in values.items()}, np.ones((1, 2)))
    array([[0.]])
    >>> x, y = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0], [2.0]])
    >>> def loss(values):
    ...     return ((nn.functional_call(model, values, x) - y) ** 2).mean()
    >>> step = af.compile(af.value_and_grad(loss))
    >>> for _ in range(300):
    ...     error, g = step(values)
    ...     values = {path: w - 0.02 * g[path] for path, w in values.items()}
    >>> bool(error < 0.01)
    True
    """
    whole: Any = model  # a Module; for checkers of types, anything with a forward
    with SWAPPING:
        new = stand_ins(whole, values)
        owners = [vars(module) for module in whole.modules()]
        before = [{name: value for name, value in own.items() if holds(value, new)} for own in owners]
        inside = [tree_map(lambda leaf: new.get(id(leaf), leaf), attributes) for attributes in before]
        outer: frozenset[int] = getattr(STANDING_IN, "ids", frozenset())
        variables = {id(p) for p in whole.named_parameters().values()}
        owners, before = [vars(STANDING_IN), *owners], [{"ids": outer}, *before]
        inside = [{"ids": outer | {id(value) for key, value in new.items() if key in variables}}, *inside]
        try:
            try:
                list(map(dict.update, owners, inside))  # one call in C
                return whole(*args, **options)
            finally:
                list(map(dict.update, owners, before))
        finally:  # Ctrl-C may come when the line above is reached, and not yet done
            list(map(dict.update, owners, before))


def stand_ins(model: Module, values: Mapping[str, Any]) -> dict[int, Any]:
    """The values, checked, by the ids of what they replace."""
    own, new = model._state(), dict[int, Any]()
    for path, value in values.items():
        if path not in own or np.shape(value) != own[path].shape:
            there = f"that entry has shape {own[path].shape}" if path in own else f"it has {', '.join(own)}"
            raise StateError(f"{path!r} of shape {np.shape(value)} cannot be put into {model!r}: {there}")
        other = new.setdefault(id(own[path]), value)
        if other is not value and not (type(other) is type(value) is np.ndarray and np.array_equal(other, value)):
            raise StateError(
                f"{path!r} is a parameter of {model!r} that has been given another value by another path: give one of "
                f"them, as model.named_parameters() has it"
            )
    return new


def holds(value: object, new: dict[int, Any]) -> bool:
    """Is one of the objects with these ids in it?"""
    return not isinstance(value, Module) and any([id(leaf) in new for leaf in tree_leaves(value)])


F = TypeVar("F", bound=AnyFunction)


def numbers_of(x: object) -> Array:
    """The numbers of an array, node or list: for labels and decisions, through which no gradient flows."""
    x = value_of(x)
    return x if hasattr(x, "dtype") else np.asarray(x)


def floats(who: Any, x: Any) -> None:
    """Refuse everything but real floats. Integers are mostly pixels that should be scaled first."""
    if not hasattr(x, "dtype"):
        raise DataError(f"{who} expected an array of floats, got {type(x).__name__}")
    if x.dtype.kind in "iub":
        raise DataError(
            f"{who} expected floats, got {x.dtype} of shape {x.shape}. Convert: x.astype(np.float32), and pixels of "
            f"0...255 divided by 255."
        )
    if x.dtype.kind != "f":
        raise DataError(f"{who} expected real floats, got {x.dtype}")


def shape_is(who: Any, x: Any, *shape: int | str, what: str = "input") -> None:
    """``shape_is("conv2d", x, "n", 3, "height", "width")``: numbers must be equal, words stand for any size; a
    first or last word "..." for any number of axes.

    >>> shape_is("Linear(3, 2)", np.zeros((5, 4)), "...", 3)
    Traceback (most recent call last):
    autoflow.errors.InputError: Linear(3, 2) expected input of shape (..., 3), got (5, 4)
    """
    rest = [n for n in shape if n != "..."]
    more = len(x.shape) - len(rest)
    sizes = x.shape[max(more, 0) :] if shape[:1] == ("...",) else x.shape  # those that the first of ``rest`` begins
    fits = more == 0 or (more > 0 and len(rest) < len(shape))
    if not fits or any([not isinstance(n, str) and n != m for n, m in zip(rest, sizes, strict=False)]):
        expected = ", ".join([str(n) for n in shape]) + ("," if len(shape) == 1 else "")
        raise InputError(f"{who} expected {what} of shape ({expected}), got {x.shape}")


def expect(who: object, x: object, *shape: int | str, what: str = "input") -> None:
    """Refuse an input that is not of real floats or not of this shape: :func:`floats` and :func:`shape_is`."""
    floats(who, x)
    shape_is(who, x, *shape, what=what)


def labels(who: Any, target: Any, classes: int, ignore: int | None = None) -> Array:
    """Class numbers as a plain integer array, all in 0...classes-1 or equal to ``ignore``.

    (Not checked on a GPU, where that would wait for the device.)"""
    target = numbers_of(target)
    if isinstance(target, np.ma.MaskedArray):
        raise DataError(f"{who}: labels that are masked would count. Say which number they are: target.filled(number)")
    if target.dtype.kind not in "iu":
        raise DataError(f"{who} expected integer class numbers, got {target.dtype}")
    if not is_on_host(target):
        return target
    wrong = find_outside_labels(target, classes, ignore)
    if wrong.any():
        first = target[wrong].ravel()[0]
        raise InputError(f"{who}: label {first} is not one of the {classes} classes 0 ... {classes - 1}")
    return target


def find_outside_labels(target: Array, classes: int, ignore: int | None) -> Array:
    """Which labels are neither a class nor ``ignore``."""
    wrong = (target < 0) | (target >= classes)
    return wrong if ignore is None else wrong & (target != ignore)


def explain_missing_rng(function: F) -> F:
    """Let a call without ``rng=`` reach :func:`generator`, whose message says what to do. In the signature ``rng`` is
    required, so checkers of types find such calls as well."""

    @functools.wraps(function)
    def calling(*args: object, **options: object) -> Any:
        return function(*args, **{"rng": None, **options})

    return calling  # type: ignore[return-value]


def generator(who: str, rng: object) -> np.random.Generator:
    """Refuse anything but a Generator. Use one for all layers, so that no two of them start with the same weights."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"{who} needs rng=, a Generator to draw from, one for all layers: rng = np.random.default_rng(0), then "
            f"{who}(..., rng=rng). Got {rng!r:.40}"
        )
    return rng


def shareable(who: str, things: str, n: int, groups: int, kind: str = "groups") -> None:
    """Refuse n things that cannot be shared evenly."""
    if groups < 1 or n % groups:
        raise InputError(f"{who}: {things} cannot be shared among {groups} {kind}")


def probability(who: str, p: float) -> float:
    """0 <= p <= 1."""
    if not is_number(p) or not 0 <= p <= 1:
        raise InputError(f"{who}: p is the probability of a zero, between 0 and 1, not {p!r}")
    return p
