"""Arrays of JAX as arguments of a compiled function: they stay on their devices, and so do the results.

The program is looked up as for NumPy's arrays of these shapes and dtypes; if there is none, one is recorded with the
numbers, which are fetched for it. Where an array lies, and whether its rows are spread over many devices, is JAX's
matter: XLA divides the program as its inputs are divided.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import pytree
from ...modes import modes
from ...nodes.nodes import gradient_target, value_of
from ..run.reports import Reported
from ..signature import is_array, signature
from ..trace.traced import Traced
from .engine import is_on_device

Array = Any


def call_on_devices(compiled: Any, call: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``compiled(*args, **options)``, where ``call`` does it for arrays of NumPy."""
    leaves = pytree.tree_leaves([args, options])
    if not any([is_on_device(x) for x in leaves]):
        return call(*args, **options)
    if any([isinstance(x, Traced) or gradient_target(x) is not None for x in leaves]) or modes().depth:
        return compiled.f(*fetched(args), **fetched(options))
    similar = {id(x): np.empty(x.shape, x.dtype) for x in leaves if is_on_device(x)}
    tree = [pytree.tree_map(lambda x: similar.get(id(x), x), part) for part in (args, options)]
    key = signature(tree[0], tree[1], pytree.tree_leaves(tree))
    with compiled.lock:
        entry = compiled.entries.get(key)
        if entry is None or not entry.recorded.guards.hold():
            call(*fetched(args), **fetched(options))
            entry = compiled.entries.get(key)
    if entry is None:  # it runs eagerly
        return compiled.f(*fetched(args), **fetched(options))
    try:
        return entry.run([value_of(x) for x in leaves if is_array(x) or is_on_device(x)])
    except Reported as reported:
        compiled.f(*fetched(args), **fetched(options))  # for its exception
        return reported.results
    except Exception as error:
        return compiled.handle_failure(error, fetched(args), fetched(options))


def fetched(tree: Any) -> Any:
    """The same with arrays of NumPy; what was one object is one."""
    found: dict[int, Array] = {}
    return pytree.tree_map(lambda x: found.setdefault(id(x), np.array(x)) if is_on_device(x) else x, tree)
