"""While a vmap runs: its layer, and nodes on top of Batched arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..backends.duck_arrays import Registration
from ..backends.registry import NodeTypes
from ..modes import modes, switched
from ..nodes.nodes import NUMPY
from .batched import FORM_OF, Batched, Layer
from .questions import refuse_number

Array = Any


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
