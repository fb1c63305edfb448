"""``af.vmap``: a function written for one example, run on a batch, without a loop. See ``batched.py``.

First what there is while a vmap runs: its layer, and the classes of nodes on top of Batched arrays. Then the function
of a batch: which axis of each argument, how long it is, what goes in and what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..backends.duck_arrays import Registration
from ..backends.registry import NodeTypes
from ..base import pytree
from ..base.errors import InputError
from ..base.modes import modes, switched
from ..base.transformed import FunctionOfFunction
from ..nodes.nodes import NUMPY, Array, NodeRole, gradient_target, value_of
from . import (
    along_axes,  # noqa: F401 - fill the table of forms
    forms,
    moving,  # noqa: F401 - fill the table of forms
    places,  # noqa: F401 - fill the table of forms
    products,  # noqa: F401 - fill the table of forms
)
from .batched import FORM_OF, Batched, Layer, refuse_number

# ---------------------------------------------------------------- while a vmap runs: layer, nodes on Batched arrays


def make_types() -> NodeTypes:
    """The classes of nodes on top of Batched arrays."""
    types = NodeTypes(Batched, NUMPY.roles, NUMPY.slots)
    types.from_numpy, types.to_numpy = for_all, numbers_of
    types.call = lambda function, x: FORM_OF["loop"](x.batch_layer, function, (x,), {})  # type: ignore[method-assign]
    return types


RUNNING = Registration(Batched, make_types)


@contextmanager
def batched_over(size: int, may_loop: bool = True) -> Iterator[Layer]:
    """A layer for a block, in which nodes can be made of Batched arrays."""
    layer = Layer(size, may_loop)
    try:
        with RUNNING.needed_by(layer), switched(layer=layer):
            yield layer
    finally:
        layer.open = False


def for_all(array: Array) -> Any:
    """A NumPy array where Batched ones are wanted (a seed, a start value): the same for all examples."""
    return Batched(array, modes().layer, mapped=False)


def numbers_of(x: Batched) -> Array:
    """Pictures, texts, and np.put on nodes want numbers."""
    raise refuse_number("a picture, a text, or a function that looks at numbers")


# ---------------------------------------------------------------- af.vmap: the function of a batch


Axes = Any  # an int, None, or a tree of them


def vmap(f: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """``f``, a function of one example, as a function of a batch of examples. f is called once, without a loop.

    in_axes : which axis of the arguments numbers the examples: one int for all, or a tuple with one per argument; None
        for an argument that all examples share. For an argument in containers also a container of axes. Arguments that
        are not arrays (text, None, a function) are shared, and so are keyword arguments.
    out_axes : where that axis is put in the results; None for a result that is the same for all examples.

    ``af.vmap(af.grad(f))`` gives the gradient of each example; vmap may be nested, differentiated and compiled. In f
    an array has the shape of one example. It has no single value: ``if x > 0``, ``float(x)`` and ``x[x > 0]`` are
    BatchErrors that name the line. A function without a batched form runs once for each example, and a
    LoopWarning says so once.

    Raises InputError if nothing is mapped, an axis does not exist, or lengths differ.

    >>> w = np.array([1.0, 2.0])
    >>> vmap(lambda x: np.sum(x * w))(np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]]))
    array([3., 2., 6.])
    >>> import autoflow as af
    >>> vmap(af.grad(lambda w, x: np.sum(w * x) ** 2), in_axes=(None, 0))(w, np.array([[1.0, 1.0], [2.0, 0.0]]))
    array([[6., 6.],
           [8., 0.]])
    """
    return BatchFunction(f, {"in_axes": in_axes, "out_axes": out_axes})


class BatchFunction(FunctionOfFunction):
    """``f`` as a function of a batch."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """For all examples in these arguments."""
        in_axes, out_axes = self.how["in_axes"], self.how["out_axes"]
        axes = axes_of_arguments(in_axes, args)
        flat, paths = pytree.tree_leaves(args), pytree.tree_paths(args, "")
        given = [(x, checked_axis(x, axis, path)) for x, axis, path in zip(flat, axes, paths, strict=True)]
        size = common_length(given, paths)
        around = modes()
        has_history = around.recording and any([gradient_target(x) is not None for x, _ in given])
        with (
            batched_over(size) as layer,
            switched(depth=around.depth + has_history, wrap_open_record=wrap_backward(around.wrap_open_record)),
        ):
            hidden = iter([enter(x, axis, layer) for x, axis in given])
            z = self.f(*pytree.tree_unflatten(args, hidden), **options)
            outs = spread_axes(out_axes, z, "out_axes", "result")
            return pytree.tree_unflatten(
                z, iter([leave(x, a, layer) for x, a in zip(pytree.tree_leaves(z), outs, strict=True)])
            )


def wrap_backward(outer: Any) -> Any:
    """What wraps ``open_record`` of backward passes: ours, and what was there (of af.compile)."""
    mine = forms.wrap_open_record
    return mine if outer is None or outer is mine else lambda open_record: mine(outer(open_record))


# -- which axes


def axes_of_arguments(in_axes: Axes, args: tuple[Any, ...]) -> list[Any]:
    """An axis, or None, for each leaf of the arguments."""
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise InputError(
                f"in_axes has {len(in_axes)} entries for {len(args)} arguments: one for each (keyword arguments are "
                f"shared by all examples), or one int for all"
            )
        parts = [
            spread_axes(axis, x, "in_axes", f"argument {k}")
            for k, (axis, x) in enumerate(zip(in_axes, args, strict=True))
        ]
        return [axis for part in parts for axis in part]
    return spread_axes(in_axes, args, "in_axes", "the arguments", shared=True)


def spread_axes(axes: Axes, tree: Any, what: str, of: str, shared: bool = False) -> list[Any]:
    """An axis for each leaf of ``tree``: ``axes`` is a tree that begins like it, and its leaves hold for all below.

    ``shared``: the axis was given for all arguments, so numbers, which have none, are passed as they are.
    """
    if axes is None or (isinstance(axes, (int, np.integer)) and not isinstance(axes, bool)):
        every = pytree.tree_leaves(tree)
        return [None if shared and not np.ndim(x) else axes for x in every] if shared else [axes] * len(every)
    if not pytree.is_container(axes):
        raise InputError(f"{what} are ints, None, or containers of these, not {axes!r}")
    if not pytree.is_container(tree):
        raise InputError(f"{what} has {type(axes).__name__} where {of} has no container")
    mine, theirs = dict(pytree.children(axes)), pytree.children(tree)
    if [step for step, _ in theirs] != list(mine):
        raise InputError(f"{what} for {of} has the entries {list(mine)}, but there are {[step for step, _ in theirs]}")
    return [axis for step, child in theirs for axis in spread_axes(mine[step], child, what, of + step)]


def checked_axis(x: Any, axis: Any, path: str) -> Any:
    """The axis as a positive number; None for what is shared."""
    if axis is None or not is_array(x):
        return None
    n = np.ndim(x)
    if not -n <= axis < n:
        raise InputError(
            f"argument {path[1:-1] if path.count('[') == 1 else path} has shape {np.shape(x)}, and so no axis {axis} "
            f"to map over: give in_axes, with None for an argument that all examples share"
        )
    return int(axis) % n


def is_array(x: Any) -> bool:
    """Can it be mapped over? Numbers and arrays of any dtype."""
    return hasattr(x, "shape") or pytree.is_number(x)


def common_length(given: list[tuple[Any, Any]], paths: list[str]) -> int:
    """How many examples there are."""
    lengths = {path: np.shape(x)[axis] for (x, axis), path in zip(given, paths, strict=True) if axis is not None}
    if not lengths:
        raise InputError("af.vmap has nothing to map over: all arguments are shared (in_axes=None), or there are none")
    if len(set(lengths.values())) > 1:
        said = ", ".join(
            [f"{n} in argument {path[1:-1] if path.count('[') == 1 else path}" for path, n in lengths.items()]
        )
        raise InputError(f"the mapped axes have different lengths: {said}. All count the same examples.")
    return int(next(iter(lengths.values())))


# -- in and out


def enter(x: Any, axis: Any, layer: Layer) -> Any:
    """An argument as f sees it. Read-only: it belongs to the caller."""
    if type(x) is np.ndarray:
        x = np.moveaxis(x, axis, 0) if axis else x.view()
        x.flags.writeable = False
        return Batched(x, layer, mapped=axis is not None)
    if axis is None:
        return x
    return Batched(np.moveaxis(x, axis, 0) if axis else x, layer)


def leave(z: Any, axis: Any, layer: Layer) -> Any:
    """A result as the caller gets it."""
    if not is_array(z):
        return z
    if isinstance(z, Batched) and z.batch_layer is layer:
        value = value_of(z) if isinstance(z, NodeRole) else z
        inner, mapped = value.inner, value.mapped
    else:
        inner, mapped = z if hasattr(z, "shape") else np.asarray(z), False
    if axis is None:
        if mapped:
            raise InputError(
                "out_axes=None is for a result that is the same for all examples, but this one is computed from mapped "
                "arguments: give the axis for the examples"
            )
        return inner
    inner = inner if gradient_target(inner) is not None else value_of(inner)
    inner = inner if mapped else np.broadcast_to(inner, (layer.size, *inner.shape))
    if not -inner.ndim <= axis < inner.ndim:
        raise InputError(f"out_axes={axis}: the result for all examples has the axes 0 to {inner.ndim - 1}")
    inner = np.moveaxis(inner, 0, axis) if axis else inner
    if type(inner) is np.ndarray and not inner.flags.writeable:
        return inner.copy()
    return inner
