"""One example after the other: what has no batched form is called for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.duck_arrays import flat, map_leaves
from ..nodes.versions import caller
from ..table.outside import public_name
from .batched import Batched, Layer, open_layer, wrap_batched

SAID: set[str] = set()  # what has been said of loops


def loop_over_batch(layer: Layer, function: Any, args: Any, options: dict[str, Any], name: str = "") -> Any:
    """The function for each example, and a warning, once."""
    name = name or public_name(function)
    if not has_mapped((args, options), layer):
        return wrap_batched(function(*one_of(args, layer, 0), **one_of(options, layer, 0)), layer, False)
    announce_loop(name, layer)
    results = [function(*one_of(args, layer, k), **one_of(options, layer, k)) for k in range(layer.size)]
    return together(results, layer, name, flat([args, options]))


def announce_loop(name: str, layer: Layer) -> None:
    """Note that there is a loop. A doubt where there is to be none, or where no example says what it would return."""
    if not layer.may_loop or not layer.size:
        layer.doubt(f"{name}, which has no batched form for this call,")
    layer.loops.append((name, caller()))


def has_mapped(x: Any, layer: Layer) -> bool:
    """Is there an array with a batch in these arguments?"""
    return any([open_layer(v, layer)[1] for v in flat(x)])


def one_of(x: Any, layer: Layer, k: int) -> Any:
    """The arguments of example k."""

    def take(v: Any) -> Any:
        inner, mapped = open_layer(v, layer)
        if not mapped:
            return inner
        return inner[k] if v.shape or v.is_number else inner[k, ...]

    return map_leaves(x, take)


def together(results: list[Any], layer: Layer, name: str, given: Any = ()) -> Any:
    """The results of all examples as one. ``given``: arrays that they may be views of; then they are no copies."""
    first = results[0]
    if isinstance(first, (tuple, list)):
        parts = [together(list(part), layer, name, given) for part in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if first is None or isinstance(first, str):
        if any([r != first for r in results]):
            layer.doubt(f"texts from {name} that differ")
        return first
    if len({(np.shape(r), np.result_type(r)) for r in results}) > 1:
        layer.doubt(f"results of {name} with different shapes or dtypes")
    inside = [inner for x in given if type(inner := open_layer(x, layer)[0]) is np.ndarray]
    if type(first) is np.ndarray and first.flags.writeable and any([np.may_share_memory(first, a) for a in inside]):
        layer.doubt(f"a view made by {name}")
    made = wrap_batched(np.stack(results), layer)
    made.is_number = not isinstance(first, (np.ndarray, Batched)) or getattr(first, "is_number", False)
    return made
