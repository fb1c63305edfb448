"""Comparing a batched form with single examples, and the loop for functions that have no form.

NumPy decides: the first call of each kind is also made for one example. Calls are of one kind if functions, shapes,
dtypes, layouts and options are the same. Values, shapes and dtypes are compared. For all calls of the kind is learnt
whether a result is a NumPy number or a 0-d array, in which order its axes lie in memory, whether it is a view of an
argument, and whether it may be written into. A form that is wrong in one of these is not used for the kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..backends.duck_arrays import flat, map_leaves, tuple_like
from ..nodes.nodes import NodeRole, value_of
from ..program.callers import caller
from ..table.facts import RAISING, of_kind
from ..table.outside import public_name
from ..table.shapes import AnyFunction, Array, ByName, Shape, Values
from .batched import Batched, Layer, in_memory, in_order, layer_of, open_layer, shares_memory, strides_of, wrap_batched

# ---------------------------------------------------------------- one example after the other

SAID: set[str] = set()  # functions whose LoopWarning has been given


def loop_over_batch(layer: Layer, function: AnyFunction, args: Values, options: ByName, name: str = "") -> Any:
    """Call the function for each example, and warn once."""
    if not name and (name := public_name(function)).startswith("autoflow.") and layer.written:
        name = public_name(layer.written[0])  # what the user calls, and calls a row of ours
    if not has_mapped((args, options), layer):
        result = run_one(layer, 0, function, args, options)
        return wrap_batched(result, layer, False, args[0] if isinstance(result, np.ndarray) else None)
    announce_loop(name, layer)
    results = [run_one(layer, k, function, args, options) for k in range(layer.size)]
    return together(results, layer, name, flat([args, options]))


def run_one(layer: Layer, k: int, function: AnyFunction, args: Values, options: ByName) -> Any:
    """Call the function for example k. What it makes belongs to that example alone."""
    with layer.alone():
        result = function(*one_of(args, layer, k), **one_of(options, layer, k))
    if layer in map(layer_of, flat(result)):
        layer.doubt_captured()
    return result


def announce_loop(name: str, layer: Layer) -> None:
    """Note that a function loops. Raises Doubt where loops are not allowed, or where the batch is empty."""
    if not layer.may_loop or not layer.size:
        layer.doubt(f"{name}, which has no batched form for this call,")
    layer.loops.append((name, caller()))


def has_mapped(x: object, layer: Layer) -> bool:
    """Is there an array with a batch in these arguments?"""
    return any([open_layer(v, layer)[1] for v in flat(x)])


def one_of(x: Any, layer: Layer, k: int) -> Any:
    """The arguments of example k."""

    def take(v: Any) -> Any:
        inner, mapped = open_layer(v, layer)
        if not mapped:
            return inner
        return inner[k] if v.is_number else inner[k, ...]

    return map_leaves(x, take)


def together(results: list[Any], layer: Layer, name: str, sources: Iterable[object] = ()) -> Any:
    """The results of all examples as one. ``sources``: arrays that they may be views of; then they are not copies."""
    first = results[0]
    if isinstance(first, (tuple, list)):
        return tuple_like(first, [together(list(part), layer, name, sources) for part in zip(*results, strict=True)])
    if not hasattr(first, "dtype"):  # Python computes with it as it does: 1 / False is an error
        if any([type(r) is not type(first) or r != first for r in results]):
            layer.doubt(f"Python objects from {name} that differ")
        return first
    if len({(np.shape(r), np.result_type(r)) for r in results}) > 1:
        layer.doubt(f"results of {name} with different shapes or dtypes")
    one, arrays = value_of(first), [a for x in sources if hasattr(a := open_layer(x, layer)[0], "dtype")]
    # May what is written into it be seen in an argument? Also where calls are recorded, or have nodes.
    if getattr(getattr(one, "flags", None), "writeable", False) and (
        getattr(one, "shared", False) or any([shares_memory(one, a) for a in arrays])
    ):
        layer.doubt(f"a view made by {name}")
    stacked = wrap_batched(np.stack(results), layer)
    stacked.is_number = not isinstance(first, (np.ndarray, Batched)) or getattr(first, "is_number", False)
    return stacked


# ---------------------------------------------------------------- is a form right?


MANY = 4096  # kinds of calls that are remembered
KNOWN: dict[object, Any] = {}  # kind of call -> a Manner, or a list of them for several results; LOOP
LOOP = "for each example"
OWN = of_kind("likes", "writes")  # what they make, or are given, is written into
DECIDING = (type, np.integer, np.bool_, np.str_)  # dtype=, axis=, keepdims=, mode=: here it does


class Manner(NamedTuple):
    """The manner in which NumPy returns the result of one example."""

    number: bool  # a NumPy number?
    order: Shape | None  # the order of the axes in memory, if the form's is another one
    copy: bool  # no view, though the form gives one?
    locked: bool  # read-only, though the form's is not?


class WrongFormError(Exception):
    """The form's result is not NumPy's."""


def settled(layer: Layer, function: AnyFunction, form: AnyFunction | None, args: Values, options: ByName) -> Any:
    """The result of the form if there is one and it is right, else the right result."""
    if form is None:
        return loop_over_batch(layer, function, args, options)
    # A batch of one lies in memory as its example does; others are not in the order "F" if that is.
    kind: Any = [part(x, layer) for x in args]
    if options:
        kind += [(n, part(x, layer)) for n, x in options.items()]
    kind = function, layer.size == 1, *kind
    try:
        how = KNOWN.get(kind)
    except TypeError:  # arguments without a hash make no kind
        kind = how = None
    if how is None and function not in OWN and are_shared([args, options], layer):
        how = remember(kind, LOOP)  # one call, whose result all examples share
    if how is not LOOP:
        result = form(layer, *args, **options)
        if result is not NotImplemented:
            if how is None and result is not None:
                how = learn(layer, function, args, options, result)
                if layer.size:  # of an empty batch no numbers were compared
                    remember(kind, how)
            if how is not LOOP:
                return in_manner(result, how)
    return loop_over_batch(layer, function, args, options)


def are_shared(x: object, layer: Layer) -> bool:
    """Are there arrays of the layer in these arguments, and none with a batch?"""
    return {v.mapped for v in flat(x) if type(v) is Batched and v.batch_layer is layer} == {False}


def remember(kind: object, how: Any) -> Any:
    """Remember ``how`` for calls of this kind, and return it."""
    if how is not None:
        if len(KNOWN) >= MANY:
            KNOWN.clear()
        KNOWN[kind] = how
    return how


# -- kinds of calls


def part(x: Any, layer: Layer) -> object:
    """The key of one argument: calls with equal keys are handled in the same way."""
    kind = type(x)
    if kind is Batched:
        inner, facts = x.inner, (x.is_number, x.mapped, x.batch_layer is layer)
        if type(inner) is np.ndarray:
            return inner.shape[1:], inner.dtype, inner.strides[1:], inner.flags.writeable, *facts
        return inner.shape[1:], inner.dtype, strides_of(inner)[1:], type(inner), *facts
    if kind is tuple or kind is list:
        return kind, *[part(v, layer) for v in x]
    if kind is dict:
        return tuple([(n, part(v, layer)) for n, v in x.items()])
    if kind is slice:
        return part((x.start, x.stop, x.step), layer)
    if hasattr(x, "dtype") and not isinstance(x, DECIDING):
        return kind, x.shape, x.dtype, (x.strides, x.flags.writeable) if kind is np.ndarray else None
    return kind if kind in (float, complex) else (kind, x)  # the value of a float decides nothing that is learnt


# -- what NumPy says


def learn(layer: Layer, function: AnyFunction, args: Values, options: ByName, result: object) -> Any:
    """The manner of the results of calls of this kind; LOOP if the form is wrong."""
    arrays = [x for x in flat([args, options]) if isinstance(x, (Batched, np.ndarray, NodeRole))]
    if any([callable(x) and not isinstance(x, (type, np.ufunc)) for x in flat([args, options])]):
        return None  # a user's function is not called once more than for each example
    plain = {id(x): example(x, layer) for x in arrays}
    is_known = all([numbers for _, numbers in plain.values()])

    def put_in(x: object) -> Any:
        return plain[id(x)][0] if id(x) in plain else x

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), layer.alone():
            warnings.simplefilter("ignore")
            one = function(*map_leaves(args, put_in), **map_leaves(options, put_in))
        return compare(function, result, one, layer, [(x, put_in(x)) for x in arrays], is_known)
    except WrongFormError:
        return LOOP
    except Exception as error:
        if is_known:
            raise
        return None if function in RAISING or isinstance(error, np.linalg.LinAlgError) else LOOP


def example(x: Array, layer: Layer) -> tuple[Array, bool]:
    """One example of the layer: plain, without nodes and outer layers; and whether it has the numbers. An empty batch,
    a function that is recorded, and arrays on a device have none: then places are 0, other numbers 1."""
    number = type(x) is Batched and x.is_number
    while isinstance(x, NodeRole) or (type(x) is Batched and not (x.mapped and not len(x.inner))):
        x = value_of(x) if isinstance(x, NodeRole) else x.inner[0, ...] if x.mapped else x.inner
    is_known = isinstance(x, np.ndarray)
    if not is_known:
        x = memory_like(x)
        x[...] = x.dtype.kind not in "iu"
    return x[()] if number else x, is_known


def memory_like(x: Array) -> Array:
    """An array that lies in memory as x does."""
    if not x.size or not x.itemsize:
        return np.empty(x.shape, x.dtype)
    steps = [(n - 1) * s for n, s in zip(x.shape, strides_of(x), strict=True)]
    start = -(sum([s for s in steps if s < 0]) // x.itemsize)
    memory = np.empty(sum(map(abs, steps)) // x.itemsize + 3, x.dtype)  # enough for steps between elements, too
    return as_strided(memory[start:], x.shape, strides_of(x))


def compare(function: AnyFunction, result: Any, one: Any, layer: Layer, arrays: list[Any], is_known: bool) -> Any:
    """The manner in which NumPy returns ``one``; WrongFormError if the form's result is of another kind."""
    if isinstance(one, (tuple, list)):
        if not isinstance(result, (tuple, list)) or len(result) != len(one):
            raise WrongFormError
        return [compare(function, r, v, layer, arrays, is_known) for r, v in zip(result, one, strict=True)]
    if type(result) is not Batched or result.batch_layer is not layer:
        is_set = type(result) is np.ndarray and is_known
        if np.shape(result) != np.shape(one) or (is_set and not close(result, one)):
            raise WrongFormError
        return None
    if result.shape != np.shape(one) or result.dtype != (one.dtype if hasattr(one, "dtype") else np.result_type(one)):
        raise WrongFormError
    inner = result.inner
    if result.mapped and len(inner) != layer.size:
        raise WrongFormError
    if function not in (np.empty_like, np.empty):  # whose numbers are anything
        mine, is_known = example(result, layer)
        if is_known and not close(mine, one):
            raise WrongFormError
    if not isinstance(one, np.ndarray):
        return Manner(True, None, False, False)
    is_view = any([np.may_share_memory(one, v) for _, v in arrays])
    mine_is_view = any([shares_memory(inner, open_layer(x, layer)[0]) for x, _ in arrays])
    if is_view and not mine_is_view and one.flags.writeable:
        raise WrongFormError
    copy = mine_is_view and not is_view and one.flags.writeable
    order = None
    strides = strides_of(inner)[result.mapped :]
    if strides and one.ndim > 1 and not is_view:
        own_order = in_memory(one.shape, one.strides)
        order = own_order if in_memory(one.shape, strides) != own_order or copy else None
    return Manner(False, order, copy, type(inner) is np.ndarray and not one.flags.writeable)


def is_same(a: Any, b: Any) -> bool:
    """Are these one object, or equal objects (NaN equals NaN)?"""
    try:
        return a is b or bool(np.all((a == b) | ((a != a) & (b != b))))
    except Exception:
        return False


def close(a: Array, b: Array) -> bool:
    """Equal but for rounding?"""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "fc":
        return is_same(a, b)
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
        tolerance = np.finfo(a.dtype).eps ** 0.5
        return bool(np.all((a == b) | ((a != a) & (b != b)) | (np.abs(a - b) <= tolerance * (np.abs(b) + scale))))


# -- and is done


def in_manner(result: Any, how: Any) -> Any:
    """The result in that manner."""
    if type(how) is list:
        return tuple_like(result, [in_manner(r, h) for r, h in zip(result, how, strict=True)])
    if how is None:
        return result
    result.is_number = how.number
    if how.copy or how.order:  # a copy, whose axes lie in this order in memory
        x = result.inner.copy() if how.order is None else in_order(result.inner, (0, *[k + 1 for k in how.order]))
        result = Batched(x, result.batch_layer, result.mapped)
    if how.locked:
        result.inner.flags.writeable = False
    return result
