"""What a call is for a whole batch: the batched form of each function.

A form is called as the function is, with the layer before its arguments. Of an elementwise function it follows from
its row: shapes are aligned behind the batch axis. The other families (reductions, shapes, products, indexing) are in
the files that fill :data:`FORMS`. Functions that are composed of others need none. For what is left the function runs
once for each example, and that is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.duck_arrays import run_masked
from ..base.errors import BatchError, CompileError
from ..nodes.nodes import Array, NodeRole
from ..nodes.versions import caller
from ..rules import RULES
from ..rules.variants import METHODS
from ..table.outside import public_name
from ..table.table import COMPOSED, Rule
from .batched import FORM_OF, Batched, Layer, deepest, flat, open_layer, wrap_batched

Form = Callable[..., Any]
FORMS: dict[Any, Form] = {}  # function -> form(layer, *arguments); NotImplemented: not for these arguments
SAID: set[str] = set()  # functions of which a loop has been announced


class LoopWarning(UserWarning):
    """A function has no batched form, so ``af.vmap`` runs it for each example."""


def batched(*functions: Any) -> Callable[[Form], Form]:
    """``@batched(np.reshape)``: the decorated function is the form of these."""

    def register(form: Form) -> Form:
        FORMS.update(dict.fromkeys(functions, form))
        return form

    return register


def run_function(layer: Layer, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``function(*args, **options)`` for all examples."""
    form = FORMS.get(function)
    if form is not None:
        result = form(layer, *args, **options)
        if result is not NotImplemented:
            return result
    elif function in RULES and RULES[function].elementwise:
        return elementwise(layer, function, args, options)
    elif function not in layer.written and (written := as_written(function, layer, args, options)):
        layer.written.append(function)  # it may come back to us by another function's name
        try:
            return written(*args, **options)
        except BatchError:  # it looks at numbers
            pass
        finally:
            layer.written.remove(function)
    return loop_over_batch(layer, function, args, options)


def as_written(function: Any, layer: Layer, args: Any, options: Any) -> Any:
    """A function in Python that may be run on our arrays as it is; None if there is none.

    A user's may have a derivative of its own: where there are nodes inside, these must see the call of it.
    """
    if function in COMPOSED:
        return COMPOSED[function]
    ours = (getattr(function, "__module__", None) or "").startswith("autoflow.")
    inside = [open_layer(x, layer)[0] for x in flat([args, options])]
    return getattr(function, "compute", None) if ours or not any([isinstance(x, NodeRole) for x in inside]) else None


def run_ufunc(layer: Layer, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc, or one of its methods."""
    if method == "__call__" and ufunc.signature is None:
        return elementwise(layer, ufunc, inputs, options)
    if method == "outer" and ufunc in METHODS["outer"]:
        return METHODS["outer"][ufunc](*inputs, **options)
    form = FORMS.get(ufunc if method == "__call__" else method)
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    if form is not None:
        result = form(layer, *((function,) if method != "__call__" else ()), *inputs, **options)
        if result is not NotImplemented:
            return result
    return loop_over_batch(layer, function, inputs, options)


def run_row(layer: Layer, rule: Rule, values: list[Any], compute: Any = None) -> Any:
    """A row on values, in its order."""
    function = rule.function
    if rule.variadic or not hasattr(function, "compute") or rule.names != RULES[function].names:
        return (compute or rule.compute)(*values)  # NumPy's function, which asks us
    return run_function(layer, function, tuple(values), {})


# -- elementwise


def elementwise(layer: Layer, function: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Axes are aligned at their end; in front of them stands the batch."""
    names = [name for name, v in options.items() if isinstance(v, (Batched, np.ndarray))]
    arrays, mapped = align(layer, [*inputs, *[options[name] for name in names]])
    options = {**options, **dict(zip(names, arrays[len(inputs) :], strict=True))}
    return wrap_batched(function(*arrays[: len(inputs)], **options), layer, mapped)


def masked(layer: Layer, ufunc: np.ufunc, inputs: Any, options: dict[str, Any], out: Any) -> Any:
    """A ufunc with ``where=`` and ``out=``: the numbers of copies of ``out`` stay where it does not hold."""
    where = options.pop("where")
    arrays, mapped = align(layer, [*inputs, where, *out])
    n = len(inputs)
    return wrap_batched(
        run_masked(ufunc, tuple(arrays[:n]), arrays[n], tuple(arrays[n + 1 :]), **options), layer, mapped
    )


def align(layer: Layer, arrays: list[Any]) -> tuple[list[Any], bool]:
    """What is behind the arrays, so that they broadcast as one example's do; and whether one of them has the batch."""
    return align_loops(layer, [open_layer(x, layer) for x in arrays], (0,) * len(arrays))


def align_loops(layer: Layer, found: list[tuple[Array, bool]], cores: tuple[int, ...]) -> tuple[list[Array], bool]:
    """The same of arrays whose last ``cores`` axes belong to the function: only those before them broadcast."""
    loops = [ndim_of(x) - is_mapped - core for (x, is_mapped), core in zip(found, cores, strict=True)]
    most = max(loops)
    made = [
        x.reshape((layer.size, *(1,) * (most - n), *x.shape[1:])) if is_mapped and n < most else x
        for (x, is_mapped), n in zip(found, loops, strict=True)
    ]
    return made, any([is_mapped for _, is_mapped in found])


def ndim_of(x: Any) -> int:
    """Number of axes of anything that NumPy takes for an array."""
    return x.ndim if hasattr(x, "ndim") else np.ndim(x)


def in_front(x: Any, layer: Layer) -> Array:
    """What is behind ``x`` with the batch as its first axis, also where all examples have the same."""
    inner, mapped = open_layer(x, layer)
    if mapped:
        return inner
    inner = inner if hasattr(inner, "shape") else np.asarray(inner)
    return np.broadcast_to(inner, (layer.size, *inner.shape))


# -- one example after the other


def loop_over_batch(layer: Layer, function: Any, args: Any, options: dict[str, Any], name: str = "") -> Any:
    """The function for each example, and a warning, once."""
    name = name or public_name(function)
    if not has_mapped((args, options), layer):
        return wrapped_all(function(*one_of(args, layer, 0), **one_of(options, layer, 0)), layer)
    say_once(name, layer)
    if not layer.size:
        raise BatchError(f"{name} at {caller()} has no batched form, and an empty batch does not say what it returns")
    results = [function(*one_of(args, layer, k), **one_of(options, layer, k)) for k in range(layer.size)]
    return together(results, layer, name)


def say_once(name: str, layer: Layer) -> None:
    """Warn that there is a loop, the first time. BatchError where there is to be none."""
    if not layer.may_loop:
        raise BatchError(f"{name} has no batched form")
    if name not in SAID:
        SAID.add(name)
        warnings.warn(
            f"{name} at {caller()} has no batched form for this call: af.vmap runs it for each example", LoopWarning,
            stacklevel=2,
        )  # fmt: skip


def has_mapped(x: Any, layer: Layer) -> bool:
    """Is there an array with a batch in these arguments?"""
    if isinstance(x, (tuple, list)):
        return any([has_mapped(v, layer) for v in x])
    if isinstance(x, dict):
        return has_mapped(list(x.values()), layer)
    return open_layer(x, layer)[1]


def one_of(x: Any, layer: Layer, k: int) -> Any:
    """The arguments of example k."""
    if type(x) in (tuple, list):
        return type(x)([one_of(v, layer, k) for v in x])
    if type(x) is dict:
        return {name: one_of(v, layer, k) for name, v in x.items()}
    inner, mapped = open_layer(x, layer)
    return inner[k] if mapped else inner


def together(results: list[Any], layer: Layer, name: str) -> Any:
    """The results of all examples as one."""
    first = results[0]
    if isinstance(first, (tuple, list)):
        parts = [together(list(part), layer, name) for part in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    shapes = {np.shape(r) for r in results}
    if len(shapes) > 1:
        raise BatchError(
            f"{name} at {caller()} returns arrays of different shapes for the examples of a batch ({sorted(shapes)}): "
            f"they cannot be one array. Call the function for each example, without vmap."
        )
    return wrap_batched(np.stack(results), layer)


def wrapped_all(result: Any, layer: Layer) -> Any:
    """A result that is the same for all examples."""
    if isinstance(result, (tuple, list)):
        parts = [wrapped_all(r, layer) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return wrap_batched(result, layer, mapped=False)


def wrap_open_record(open_record: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Around ``open_record`` of backward passes: a derivative that looks at numbers runs for each example."""

    def open_guarded(pair: Any) -> Any:
        g, vjps, saved, kept = open_record(pair)
        return g, [vjp and guarded(vjp, pair[0].rule.name) for vjp in vjps], saved, kept

    def guarded(vjp: Callable[..., Any], name: str) -> Callable[..., Any]:
        def safely(g: Any, saved: Any) -> Any:
            try:
                return vjp(g, saved)
            except (BatchError, CompileError):  # for af.compile it is one that looks at numbers, too
                if isinstance(g, NodeRole):  # a pass that is recorded: it would have to be, for each example
                    raise
                layer = deepest([g, saved])
                say_once(f"the derivative of {name}", layer)
                return together(
                    [vjp(one_of(g, layer, k), one_of(saved, layer, k)) for k in range(layer.size)], layer, name
                )

        return safely

    return open_guarded


FORM_OF.update(ufunc=run_ufunc, masked=masked, function=run_function, row=run_row, loop=loop_over_batch)
