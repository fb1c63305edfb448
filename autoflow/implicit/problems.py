"""What the integrators share: how the arguments of a user's function become arrays that gradients flow to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import array
from ..base import pytree
from ..base.errors import LostGradientError
from ..base.lazy import load_package
from ..base.modes import modes
from ..nodes.coercion import holds_node
from ..nodes.nodes import NodeRole
from ..table.shapes import Array, as_array


def scipy_integrate() -> Any:
    """The module, imported when it is needed."""
    missing = "af.integrate computes with SciPy, which is not installed: pip install scipy"
    return load_package("scipy.integrate", missing)


def real_array(x: Any, name: str) -> Array:
    """``x`` as an array of floats. Raises TypeError for complex numbers: the equation is that of real ones."""
    x = stack_if_list(x)
    if x.dtype.kind == "c":
        raise TypeError(f"{name} is complex: integrate real and imaginary part, np.concatenate([z.real, z.imag])")
    return x if x.dtype.kind == "f" else x.astype(float)


def stack_if_list(x: Any) -> Array:
    """Arrays and nodes as they are; of a list, which may have nodes in it, one array."""
    return array(x) if isinstance(x, (list, tuple)) and holds_node(x) else as_array(x)


def taken_apart(args: Any) -> tuple[list[Array], Callable[[Sequence[Any]], Any]]:
    """The arrays of floats in ``args``, however deep in lists, tuples, dicts and dataclasses, and the function that
    puts others in their place. Whole numbers, text and functions stay where they are: nothing flows to them.

    >>> arrays, put = taken_apart(({"w": 2.0, "n": 3}, np.ones(2)))
    >>> arrays
    [array(2.), array([1., 1.])]
    >>> put(["a", "b"])
    ({'w': 'a', 'n': 3}, 'b')
    """
    leaves = pytree.tree_leaves(args)
    places = [k for k, x in enumerate(leaves) if is_real(x)]
    rest = pytree.tree_map(lambda x: None if is_real(x) else x, args)  # without the arrays: it may outlive the call

    def put(values: Sequence[Any]) -> Any:
        new = pytree.tree_leaves(rest)
        for k, value in zip(places, values, strict=True):
            new[k] = value
        return pytree.tree_unflatten(rest, iter(new))

    for x in leaves:
        if getattr(x, "requires_grad", False) and not is_real(x):
            raise TypeError(f"{x.name}, an argument, is {x.dtype}: give its real and imaginary part")
    return [as_array(leaves[k]) for k in places], put


def is_real(x: Any) -> bool:
    """Is it a float, or an array of floats?"""
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") == "f"


def refuse_hidden(values: Any, name: str, place: str = "args=(...)") -> None:
    """Raise LostGradientError if a function of plain arrays has returned nodes: then it uses others than its arguments.

    The integrator would take their numbers, and no gradient would come back to them.
    """
    found = [x for x in pytree.tree_leaves(values) if isinstance(x, NodeRole) and x.requires_grad]
    if found and modes().recording:
        raise LostGradientError(
            f"{name} uses a node that is not one of its arguments ({found[0].name} was computed from it), and no "
            f"gradient would come back to it: pass it in {place}, or use node.value if it is fixed"
        )


def plain_arrays(xs: Sequence[Array]) -> list[Array]:
    """Copies of the numbers, for a first try."""
    return [np.array(getattr(x, "value", x)) for x in xs]
