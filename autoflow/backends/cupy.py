"""CuPy: the family of ``cupy.ndarray``, and what CuPy does in a way of its own.

CuPy's functions do not ask a subclass as NumPy's do. ``np.exp(node)`` reaches our hooks. ``cp.exp(node)`` and every
other elementwise function of CuPy calls ``__cupy_override_elementwise_kernel__``: it is answered here, with the NumPy
function of the same name. ``cp.sum``, ``cp.mean``, ``cp.reshape``, ``cp.transpose``, ``cp.dot`` call the method of that
name, which is ours. So ``cp.where`` and whatever is made of these is recorded, too. The rest (``cp.concatenate``, most
of ``cp.linalg``) reads the memory of a node past us, which is an error: write ``np.concatenate([node, ...])``, which
computes on the GPU all the same.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..table.indexing import ADD_AT

RENAMED = {"true_divide": "divide", "abs": "absolute"}  # CuPy's name -> NumPy's


def make_family(join: Callable[..., Any]) -> None:
    """Make the node classes of ``cupy.ndarray``. Called by the registry when it meets the first CuPy array."""
    cupy = sys.modules["cupy"]
    family = join(cupy.ndarray, from_numpy=cupy.asarray, to_numpy=cupy.asnumpy)
    family.Node.__cupy_override_elementwise_kernel__ = elementwise
    family.call = lambda function, x: getattr(importlib.import_module("cupyx.scipy.special"), function.__name__)(x)
    ADD_AT[cupy.ndarray] = cupy.add.at  # of any index; np.add.at, which asks CuPy, takes arrays only


def elementwise(self: Any, kernel: Any, *args: Any, **options: Any) -> Any:
    """``cp.exp(node)``: NumPy's function of that name, recorded. Raises NoRuleError if NumPy has no such function."""
    options = {name: value for name, value in options.items() if value is not None}
    name = str(kernel.name).removeprefix("cupy_")
    function = getattr(np, RENAMED.get(name, name), None) if name != "copy" else None  # from one array to another
    if function is None:
        raise NoRuleError(
            f"CuPy's kernel {kernel.name} of a node has no derivative. Use the NumPy function that means the same, or "
            f"x.value for the numbers."
        )
    return function(*args, **options)
