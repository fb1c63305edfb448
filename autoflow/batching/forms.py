"""The batched form of each function: how a call is made for a whole batch.

A form is called like the function, with the layer before its arguments. For an elementwise function it follows from
its row: shapes are aligned after the batch axis. The other families (reductions, shapes, products, indexing) are in
the files that fill :data:`FORMS`. Functions that are composed of others need no form. Everything else runs once for
each example, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backends.duck_arrays import flat, guard_derivatives, run_masked, store_results
from ..nodes.nodes import Array, NodeRole
from ..program.callers import is_ours
from ..rules import RULES
from ..rules.variants import METHODS
from ..table.bodies import with_copies
from ..table.facts import of_kind
from ..table.shapes import AnyFunction, ByName, Values, name_out
from ..table.table import COMPOSED, Rule
from .batched import FORM_OF, Batched, Layer, layer_of, open_layer, sample, shares_memory, whose_turn, wrap_batched
from .looping import announce_loop, loop_over_batch, run_one, settled, together

ASKS, PLACES = of_kind("asks"), of_kind("places")
FORMS: dict[AnyFunction | str, AnyFunction] = {}  # or method of ufuncs -> form(layer, *arguments), or NotImplemented


def batched(*functions: AnyFunction | str, each: bool = False) -> Callable[[AnyFunction], AnyFunction]:
    """``@batched(np.reshape)``: the decorated function is the form of these. ``each``: it is told which one it is."""

    def register(form: AnyFunction) -> AnyFunction:
        FORMS.update({f: partial(form, f) if each else form for f in functions})
        return form

    return register


def run_function(layer: Layer, function: AnyFunction, args: Values, options: ByName) -> Any:
    """``function(*args, **options)`` for all examples, stored in ``out=`` if given."""
    if function in PLACES:
        if type(args[0]) is type(args[1]) is Batched and args[0].inner is args[1].inner:
            return bool(args[0].size)
        if is_ours(4):
            return shares_memory(*[x.inner if type(x) is Batched else x for x in args[:2]])
        layer.doubt("a question about memory")
    if function in ASKS:
        first = {np.min_scalar_type: 0, np.size: 1}.get(function)  # from this argument on a number would decide
        decides = [] if first is None else [*args[first:], *options.values()]
        if not any([type(x) is Batched and not x.ndim for x in decides]):
            return function(*map(sample, args), **{k: sample(v) for k, v in options.items()})
    args, options = name_out(function, args, options)
    if (out := options.pop("out", None)) is not None:
        if options.get("where", True) is not True and function in RULES and RULES[function].elementwise:
            layer.doubt("what out= keeps where where= does not hold")
        return stored(layer, out, function(*args, **options), options)
    form = FORMS.get(function)
    if form is None and function in RULES and RULES[function].elementwise:
        form = elementwise_of(function)
    if form is None and function not in layer.written and (written := as_written(function, layer, args, options)):
        form = partial(run_written, function, written)
    return settled(layer, function, form, args, options)


def run_written(function: AnyFunction, written: AnyFunction, layer: Layer, *args: object, **options: object) -> Any:
    """The form of a function that is composed of others: it runs on our arrays, as ``written``."""
    layer.written.append(function)  # it may come back to us by another function's name
    try:
        return layer.attempt(written, *args, **options)
    finally:
        layer.written.remove(function)


def as_numpy_wrote(*functions: Any) -> None:
    """The forms of these functions are NumPy's own code, run on our arrays."""
    FORMS.update({f: partial(run_written, f, with_copies(f._implementation)) for f in functions})


def as_written(function: AnyFunction, layer: Layer, args: Values, options: ByName) -> AnyFunction | None:
    """The Python function that may run on our arrays unchanged; None if it may not.

    A user's function may have its own derivative: if there are nodes inside, they must see the call.
    """
    if function in COMPOSED:
        return COMPOSED[function]
    ours = str(getattr(function, "__module__", "")).startswith("autoflow.")
    inside = [open_layer(x, layer)[0] for x in flat([args, options])]
    return getattr(function, "compute", None) if ours or not any([isinstance(x, NodeRole) for x in inside]) else None


def run_ufunc(layer: Layer, ufunc: np.ufunc, method: str, inputs: Values, options: ByName) -> Any:
    """Run a ufunc, or one of its methods, and store the results in ``out=`` if given."""
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    if (out := options.pop("out", None)) is not None:
        if method != "__call__" or (where := options.get("where", True)) is True:
            result = function(*inputs, **options)
        else:  # where it does not hold, copies of ``out`` keep their numbers
            n, _ = len(inputs), options.pop("where")
            result = elementwise(
                layer, lambda *a, **k: run_masked(ufunc, a[:n], a[n], a[n + 1 :], **k), (*inputs, where, *out), options
            )
        return stored(layer, out, result, options, is_cast=method == "__call__")
    if method == "__call__" and ufunc.signature is None:
        if "order" in options:  # that of one example, which only NumPy knows
            return settled(layer, ufunc, elementwise_of(ufunc), inputs, options)
        return elementwise(layer, ufunc, inputs, options)
    if method == "at":
        return FORMS[method](function, layer, *inputs, **options)
    form = FORMS.get(ufunc) if method == "__call__" else partial(FORMS[method], function)
    return settled(layer, function, form, inputs, options)


@batched("outer")
def outer(function: Any, layer: Layer, *args: Any, **options: Any) -> Any:
    """The forms of methods, too, are told whose."""
    row = METHODS["outer"].get(function.__self__)
    return NotImplemented if row is None else row(*args, **options)


def stored(layer: Layer, out: Array | Values, result: Any, options: ByName, is_cast: bool = False) -> Any:
    """Write a result into ``out=``, which must be an array of all examples of a fitting shape and dtype.

    is_cast : only the result is cast to that dtype. NumPy's sums, means, ... compute their parts in it.
    """
    casting = options.get("casting", "same_kind")

    def store(x: Array, new: Array) -> None:
        if layer_of(x) is not layer:
            layer.doubt("a result written into an array that may be shared")
        dtype, shape = np.result_type(sample(new)), np.shape(new)
        if not (is_cast or dtype.kind == "b") and (dtype != x.dtype or dtype == np.float16):
            layer.doubt("out= of another dtype than the result's")
        if not np.can_cast(dtype, x.dtype, casting) or np.broadcast_shapes(shape, x.shape) != x.shape:
            raise TypeError("out=")
        x[...] = new

    return store_results(out if isinstance(out, tuple) else (out,), result, store)


def run_row(layer: Layer, rule: Rule, values: list[Any], compute: AnyFunction | None = None) -> Any:
    """A row on values, in its order."""
    function = rule.function
    if not hasattr(function, "compute") or rule.names != RULES[function].names:
        return (compute or rule.compute)(*values)  # NumPy's function, which asks us
    return run_function(layer, function, tuple(values), {})


def elementwise_of(function: AnyFunction) -> AnyFunction:
    """The form of an elementwise function that is not a ufunc."""
    return lambda layer, *inputs, **options: elementwise(layer, function, inputs, options)


# -- elementwise


def elementwise(layer: Layer, function: AnyFunction, inputs: Values, options: ByName) -> Any:
    """Axes are aligned at their end, after the batch axis."""
    if not options:
        arrays, mapped = align(layer, inputs)
        return wrap_batched(function(*arrays), layer, mapped)
    names = [name for name, v in options.items() if isinstance(v, (Batched, np.ndarray))]
    arrays, mapped = align(layer, [*inputs, *[options[name] for name in names]])
    options = {**options, **dict(zip(names, arrays[len(inputs) :], strict=True))}
    return wrap_batched(function(*arrays[: len(inputs)], **options), layer, mapped)


def align(layer: Layer, arrays: Iterable[Array], cores: Sequence[int] | None = None) -> tuple[list[Array], bool]:
    """The arrays inside, reshaped to broadcast as one example's do; and whether one of them has the batch.

    cores : how many of each one's last axes belong to the function: only those before them broadcast.
    """
    pairs = [open_layer(x, layer) for x in arrays]
    if len(pairs) == 1:
        return [pairs[0][0]], pairs[0][1]
    loops = [ndim_of(x) - mapped for x, mapped in pairs]
    if cores is not None:
        loops = [n - core for n, core in zip(loops, cores, strict=False)]
    most, mapped, aligned = max(loops), False, []
    for (x, is_mapped), n in zip(pairs, loops, strict=True):
        mapped = mapped or is_mapped
        aligned.append(x.reshape((layer.size, *(1,) * (most - n), *x.shape[1:])) if is_mapped and n < most else x)
    return aligned, mapped


def ndim_of(x: Array) -> int:
    """The number of axes of anything that NumPy accepts as an array."""
    if type(x) is Batched:
        return x.inner.ndim - x.mapped
    if type(x) in (float, int):
        return 0
    return x.ndim if hasattr(x, "ndim") else np.ndim(x)


def in_front(x: Array, layer: Layer) -> Array:
    """The array behind ``x`` with the batch as its first axis, even if all examples share it."""
    inner, mapped = open_layer(x, layer)
    if mapped:
        return inner
    inner = inner if hasattr(inner, "shape") else np.asarray(inner)
    return np.broadcast_to(inner, (layer.size, *inner.shape))


# -- derivatives that look at numbers


def derive(vjp: AnyFunction, name: str, g: Array, saved: Values) -> Any:
    """A derivative in a backward pass; if it looks at numbers, it runs for each example."""
    layer, has_nodes = whose_turn(g, saved)
    if layer is None or has_nodes:  # a pass that is recorded: it would have to be, for each example
        return vjp(g, saved)
    result = layer.attempt(vjp, g, saved)
    if result is not NotImplemented:
        return result
    announce_loop(f"the derivative of {name}", layer)
    return together([run_one(layer, k, vjp, (g, saved), {}) for k in range(layer.size)], layer, name)


wrap_open_record = guard_derivatives(derive)
FORM_OF.update(ufunc=run_ufunc, function=run_function, row=run_row, loop=loop_over_batch)
