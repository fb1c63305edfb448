"""``af.vmap``: a function written for one example, run on a batch, without a loop. See ``batched.py``.

First what exists while a vmap runs: the classes of nodes on top of Batched arrays. Then the function of a batch: which
axis of each argument, how long it is, what goes in and what comes out.
"""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..backends.duck_arrays import Registration
from ..backends.registry import array_type
from ..backprop.snapshots import silence
from ..backprop.trials import Trial, value_key
from ..base import pytree
from ..base.errors import BatchError, InputError, LoopWarning, NoRuleError
from ..base.modes import modes, switched
from ..base.transformed import FunctionOfFunction
from ..nodes.nodes import NodeRole, gradient_target, value_of
from ..program.callers import user_frame
from ..table.shapes import AnyFunction, Array, ByName, Values, innermost
from . import forms, places, products, shapes  # noqa: F401 - they fill the table of forms
from .batched import Batched, Doubt, Layer, Shared, in_order_of_stack, layer_of, open_layer, own_type, users_line
from .definition import Axes, is_stacked, mapped_leaves, numbers_of, put_axis, run_loop, same_as_one, spread_axes
from .looping import KNOWN, SAID, is_same, remember

# ---------------------------------------------------------------- while a vmap runs: nodes on Batched arrays


# A NumPy array (a seed, a start value) is the same for all examples; pictures, texts, and np.put on nodes want numbers.
RUNNING = Registration(
    Batched, [], from_numpy=lambda x: Batched(x, modes().layer, mapped=False),  # type: ignore[arg-type]  # there is one
    to_numpy=lambda x: x.refuse_number("what a picture, a text, or a function that looks at numbers wants"),
    call=lambda function, x: x.run_each(function, (x,), {}, ""),
)  # fmt: skip

# ---------------------------------------------------------------- af.vmap: the function of a batch


def vmap(f: AnyFunction, in_axes: Axes = 0, out_axes: Axes = 0, *, loop: str = "warn") -> AnyFunction:
    """``f``, a function of one example, as a function of a batch of examples: what a loop over the examples returns.

    in_axes : which axis of the arguments numbers the examples: one int for all, or a tuple with one per argument; None
        for an argument that all examples share. For an argument in containers also a container of axes. Arguments that
        are neither arrays nor tables (text, None, a function) are shared, and so are keyword arguments.
    out_axes : where that axis is put in the results; None for a result that is the same for all examples.
    loop : what happens where only one example can answer (``if x > 0``, ``float(x)``, ``x[x > 0]``, a NumPy function
        without a batched form, an error). "warn": f, or that function, is called for each example, and a LoopWarning
        says why and where, once for each line; "allow": without a warning; "refuse": BatchError.

    Mostly f is called once, with all examples in arrays that have the shape of one; for arguments of new shapes once
    more, for one example, and results are compared. If f is called for each example after all, whatever the
    first call has changed (arrays and lists from outside, random generators) is restored before.

    ``af.vmap(af.grad(f))`` gives the gradient of each example; vmap may be nested, differentiated and compiled.

    Raises InputError if nothing is mapped, an axis does not exist, or lengths differ; BatchError if results of examples
    have different shapes or dtypes; and what f raises for an example.

    >>> w = np.array([1.0, 2.0])
    >>> vmap(lambda x: np.sum(x * w))(np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]]))
    array([3., 2., 6.])
    >>> import autoflow as af
    >>> vmap(af.grad(lambda w, x: np.sum(w * x) ** 2), in_axes=(None, 0))(w, np.array([[1.0, 1.0], [2.0, 0.0]]))
    array([[6., 6.],
           [8., 0.]])
    >>> vmap(lambda x: x if x > 0 else 0.0, loop="allow")(np.array([1.0, -2.0, 3.0]))
    array([1., 0., 3.])
    """
    if loop not in ("warn", "allow", "refuse"):
        raise InputError(f"loop={loop!r}: it is one of 'warn', 'allow', 'refuse'")
    return BatchFunction(f, {"in_axes": in_axes, "out_axes": out_axes, "loop": loop})


class BatchFunction(FunctionOfFunction):
    """``f`` as a function of a batch."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """For all examples in these arguments."""
        batch = Batch(self.f, args, options, self.how["in_axes"])
        before = Trial(self.f, *[x for x, axis in batch.leaves if axis is None], *options.values())
        layer = Layer(batch.size, self.how["loop"] != "refuse")
        result = batch.run_at_once(layer, self.how["out_axes"], before)
        if layer.reason is None:
            for name, line in dict.fromkeys(layer.loops):
                self.say(name, f"{name} at {line} has no batched form for this call: af.vmap runs it for each example")
            return result
        if before.has_moved():
            raise BatchError(f"{layer.reason}: meanwhile an iterator from outside has moved on, and cannot be put back")
        if not batch.size:
            raise BatchError(f"{layer.reason}: an empty batch has no example to ask")
        if self.how["loop"] == "refuse":
            raise BatchError(
                f"af.vmap(loop='refuse') would call the function for each example, because of {layer.reason}. Write "
                f"np.where(condition, a, b) instead of an if and of x[mask], and af.zeros(...) for an array to fill"
            )
        result = run_loop(self.f, batch, options, self.how["out_axes"])
        self.say(layer.reason, f"af.vmap calls the function for each example, because of {layer.reason}")
        return result

    def say(self, what: str, text: str) -> None:
        """A LoopWarning, once."""
        if self.how["loop"] == "warn" and what not in SAID:
            SAID.add(what)
            at = user_frame()
            warnings.warn_explicit(text, LoopWarning, at.f_code.co_filename, at.f_lineno, at.f_globals.get("__name__"))


SEVERAL = 8  # examples that are compared where a class may matter


class Batch:
    """One call: the arguments, with the axis of the examples in front.

    args : as they were given.
    leaves : those of the arguments, each with its axis, which is now in front, or None.
    flat : is no argument a container?
    parts : if some are: each argument, its leaves with their axes, and whether each example has its own.
    size : how many examples there are.
    """

    def __init__(self, f: AnyFunction, args: Values, options: ByName, in_axes: Axes) -> None:
        self.flat = not any([pytree.is_container(x) for x in args])
        self.f, self.args, self.options = f, args, options
        self.leaves, self.size = mapped_leaves(in_axes, args, self.flat)
        leaves = iter(self.leaves)
        parts = [] if self.flat else [(x, [next(leaves) for _ in pytree.tree_leaves(x)]) for x in args]
        self.parts = [(x, part, any([axis is not None for _, axis in part])) for x, part in parts]

    def arguments(self, take: Callable[[Any], Any], share: Callable[[Any], Any] | None = None) -> list[Any]:
        """The arguments of f, with ``take(leaf)`` for mapped leaves and ``share(leaf)`` for others. Without ``share``
        an argument that is not mapped is the object that was given."""

        def leaves(part: list[tuple[Any, Any]]) -> list[Any]:
            return [take(x) if axis is not None else x if share is None else share(x) for x, axis in part]

        if self.flat:
            return leaves(self.leaves)
        return [pytree.tree_unflatten(x, leaves(part)) if own or share else x for x, part, own in self.parts]

    def examples(self) -> Iterator[list[Any]]:
        """The arguments of f for each example."""
        for k in range(self.size):
            yield self.arguments(lambda x, k=k: example(x, k))  # type: ignore[misc]

    def run_at_once(self, layer: Layer, out_axes: Axes, before: Trial) -> Any:
        """The results for all examples. If ``layer.reason`` is set afterwards, they are invalid."""
        around = modes()
        others = [(x, axis) for x, axis in self.leaves if type(x) is not np.ndarray]
        has_history = around.recording and any([gradient_target(x) is not None for x, _ in others])
        z = result = None
        views: dict[int, Array] = {}

        def share(x: Any) -> Any:
            """As f sees what all examples share: what is one object stays one."""
            return views.setdefault(id(x), x.view(Shared)) if type(x) is np.ndarray else x

        layer.hears_errors, layer.asked = before.hears_errors, before.asked
        try:
            for x in [x for x, axis in others if axis is not None]:
                if own_type(type(x)) or not array_type(x):
                    layer.doubt(f"the class {type(x).__name__} of an array")
                if type(a := innermost(x)) is np.ndarray:
                    before.large += [a] * a.flags.writeable  # of nodes: read-only, as views of plain arrays are
            with (
                before.locked(), RUNNING.needed_by(layer),
                switched(layer=layer, own_memory=layer.own_memory, depth=around.depth + has_history,
                         wrap_open_record=wrap_backward(around.wrap_open_record)),
            ):  # fmt: skip
                args = self.arguments(lambda x: Batched(x, layer, number=x.ndim == 1), share)
                common = [x for x, (*_, own) in zip(args, self.parts, strict=False) if not own]
                is_unchanged = pytree.watched(common) if common else None
                z = self.f(*args, **(self.options and {name: share(x) for name, x in self.options.items()}))
                if is_unchanged is not None and not is_unchanged():
                    layer.reason = layer.reason or f"an argument's container that changes in {definition_line(self.f)}"
        except Doubt as doubt:
            if doubt.layer is not layer:
                raise
        except MemoryError:
            raise
        except Exception as error:
            layer.reason = layer.reason or f"{type(error).__name__} at {line_of(error)}"
        finally:
            layer.open = False
            changed = before.restore()
        layer.reason = layer.reason or (f"a {changed} from outside that the function changes" if changed else None)
        layer.reason = layer.reason or ("one call for all examples" if before.has_moved() else None)
        if layer.reason is None:
            try:
                result = take_out(z, out_axes, layer)
            except BatchError as error:  # in an array of another library is one of ours
                layer.reason = f"{type(error).__name__} at {line_of(error)}"
        if layer.size and layer.reason is None:
            self.compare(layer, result, out_axes, before)
        return result

    def compare(self, layer: Layer, result: object, out_axes: Axes, before: Trial) -> None:
        """Compare the result with what f returns for one example, the first time that arguments have these shapes: for
        that with the most numbers other than 0, NaN and infinity, as all functions may agree in these. For several if
        the code asks for classes: numbers decide whether the answer shows."""
        if layer.depth > 1:
            return
        arguments = [*self.leaves, *[(x, name) for name, x in self.options.items()]] if self.options else self.leaves
        containers = [] if self.flat else [type(x) for _, x in pytree.entries(self.args)]
        keys = [(name, value_key(x)) for x, name in arguments]
        key = type(self.f), layer.around.recording, before.codes, *keys, *containers
        if key in KNOWN and not before.identifies:
            return
        if not all([k is None or isinstance(value_of(x), np.ndarray) for x, k in self.leaves]):
            return
        is_replaced = [x for x, k in arguments if type(k) is not int and type(x) is np.ndarray] or containers
        if key in KNOWN and not is_replaced:  # else f may find outside what it is given
            return
        axes = spread_axes(out_axes, result, "out_axes", "result")
        numbers = numbers_of(result, axes, layer.size)
        most = (-numbers).argsort(kind="stable")[: SEVERAL if before.asks_for_classes else 1].tolist()
        try:
            if not all(self.is_alone(k, result, axes, before) for k in most):
                layer.reason = f"another result for one example alone, in {definition_line(self.f)}"
            elif numbers[most[0]]:  # equal zeros prove nothing
                remember(key, True)
        except MemoryError:
            raise
        except Exception as error:
            layer.reason = f"{type(error).__name__} for one example"

    def is_alone(self, k: int, result: object, axes: list[int | None], before: Trial) -> bool:
        """Is example k of the result what f returns for that example alone?"""
        try:
            with before.locked(), silence(), switched(prove="never"):  # arrays of the batch refuse to be read
                try:
                    one = self.f(*self.arguments(lambda x: example(x, k)), **self.options)
                except NoRuleError:  # of a node: here its batch is inside, and f has seen arrays
                    before.restore()
                    one = self.f(*self.arguments(lambda x: example(value_of(x), k)), **self.options)
            return same_as_one(result, one, axes, k)
        finally:
            before.restore()


def definition_line(f: AnyFunction) -> str:
    """Where a function was written."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    return f"{code.co_name} at {code.co_filename}:{code.co_firstlineno}" if code else repr(f)


def line_of(error: BaseException) -> str:
    """The user's line at which an exception was raised."""
    frames = [
        f"{frame.f_code.co_filename}:{line}" for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("autoflow", "numpy")
    ]  # fmt: skip
    return frames[-1] if frames else users_line()


def wrap_backward(outer: AnyFunction | None) -> AnyFunction:
    """The wrapper of ``open_record`` in backward passes: ours around the present one (of af.compile)."""
    mine = forms.wrap_open_record
    return mine if outer is None or outer is mine else lambda open_record: mine(outer(open_record))


# -- in and out


def example(x: Any, k: int) -> Any:
    """Example k of a mapped argument: an array is read-only, also a node. (An object is the caller's own.)"""
    one = x[k]
    if x.ndim > 1 and isinstance(memory := innermost(one), np.ndarray):
        memory.flags.writeable = False
    return one


def take_out(z: Any, out_axes: Axes, layer: Layer) -> Any:
    """What the function returns, as the caller gets it."""
    if type(out_axes) is int and not pytree.is_container(z):
        return leave(z, out_axes, layer, set())
    seen: set[int] = set()
    axes = spread_axes(out_axes, z, "out_axes", "result")
    leaves = [leave(x, axis, layer, seen) for x, axis in zip(pytree.tree_leaves(z), axes, strict=True)]
    return pytree.tree_unflatten(z, leaves)


def leave(z: Any, axis: int | None, layer: Layer, seen: set[int]) -> Any:
    """A result as the caller gets it: new memory, as np.stack gives it."""
    if not is_stacked(z):
        return z
    is_node = type(z) is not Batched and isinstance(z, NodeRole) and layer_of(z) is layer
    inner, mapped = open_layer(value_of(z) if is_node else z, layer)
    inner = inner if hasattr(inner, "shape") and type(inner) is not Shared else np.array(inner)
    inner = inner if gradient_target(inner) is not None else value_of(inner)  # a node only if a gradient flows to it
    if not mapped and inner.dtype.hasobject:
        layer.reason = "an array of objects among the results"
    if axis is None:
        if not mapped:
            return np.copy(inner)
        numbers = value_of(inner)
        if len(numbers) and is_same(numbers, numbers[:1]):
            return inner[0, ...].copy()
        raise InputError(
            "out_axes=None is for a result that is the same for all examples, but this one is computed from mapped "
            "arguments: give the axis for the examples"
        )
    inner = inner if mapped else np.broadcast_to(inner, (layer.size, *inner.shape))
    if inner.size and not inner.flags.c_contiguous:
        inner = in_order_of_stack(inner)
    inner = put_axis(axis, inner) if axis else inner
    # np.stack has the byte order of this machine, and records without gaps.
    dtype: Any = inner.dtype if inner.dtype.isnative and inner.dtype.kind != "V" else np.result_type(inner.dtype)
    if type(inner) is not np.ndarray:
        return np.copy(inner) if dtype is inner.dtype else inner.astype(dtype)
    if inner.base is None and inner.flags.writeable and dtype is inner.dtype and id(inner) not in seen:
        seen.add(id(inner))
        return inner
    return np.array(inner, dtype, subok=False)
