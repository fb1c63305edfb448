"""While a vmap runs: its layer, and nodes on top of Batched arrays."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..backends.registry import NODE_TYPES, NodeTypes, families_changed
from ..modes import modes, switched
from ..nodes.nodes import NUMPY
from .batched import FORM_OF, Batched, Layer
from .questions import refuse_number

Array = Any
LOCK = threading.Lock()
RUNNING: list[Layer] = []  # in all threads
MADE: list[NodeTypes] = []


@contextmanager
def batched_over(size: int, may_loop: bool = True) -> Iterator[Layer]:
    """A layer for a block. While there is one, nodes can be made of Batched arrays: with one array type alone eager
    calls are quicker."""
    layer = Layer(size, may_loop)
    with LOCK:
        RUNNING.append(layer)
        if MADE:
            NODE_TYPES[Batched] = MADE[0]
            families_changed()
        else:
            MADE.append(NodeTypes(Batched, NUMPY.roles, NUMPY.slots))
            MADE[0].from_numpy, MADE[0].to_numpy = for_all, numbers_of
            MADE[0].call = lambda function, x: FORM_OF["loop"](x.batch_layer, function, (x,), {})  # type: ignore[method-assign]
    try:
        with switched(layer=layer):
            yield layer
    finally:
        layer.open = False
        with LOCK:
            RUNNING.remove(layer)
            if not RUNNING:
                NODE_TYPES.pop(Batched, None)
                families_changed()


def for_all(array: Array) -> Any:
    """A NumPy array where Batched ones are wanted (a seed, a start value): the same for all examples."""
    return Batched(array, modes().layer, mapped=False)


def numbers_of(x: Batched) -> Array:
    """Pictures and texts want numbers."""
    raise refuse_number("a picture or a text")
