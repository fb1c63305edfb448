"""Functions of functions: ``grad(f)`` is the gradient of ``f``, as a function. Pure: no ``.grad`` is touched.

Transforms nest. Each call gives its function fresh leaves in place of the arguments (a copy outside, an identity
operation inside another transform), and its pass stops there. Otherwise ``f`` could not tell its argument from the
same number captured by a closure, and in ``grad(lambda x: x * grad(lambda y: x + y)(1.0))`` the inner derivative
would be 2 instead of 1 ("perturbation confusion": Siskind and Pearlmutter, 2005).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import lost
from .grads import fitted
from .modes import modes, switched
from .nodes import NodeRole, Variable, source_of, value_of
from .passes import pull_back
from .rules.table import of, primitive, rule

Array = Any
Argnum = int | tuple[int, ...]


@primitive
def unmoved(x: Array, y: Array) -> Array:
    """``x``, said to depend on ``y`` with the derivative zero: a constant gradient that is differentiated again."""
    return x.copy()


rule(unmoved, "x y", "=", r"$x", elementwise=False, x=lambda g: g, y=lambda g, y: np.zeros_like(y),
     examples=(of((2,), (3,)),))  # fmt: skip


def grad(f: Callable[..., Any], argnum: Argnum = 0, *, allow_unused: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar function with respect to one argument (or several), as a function.

    f : takes arrays or numbers, and returns one number, computed with NumPy functions.
    argnum : the position of the argument; a tuple of positions gives a tuple of gradients.
    allow_unused : give zeros, and no error, if the result depends on none of them.

    Returns a function of the same arguments: arrays of the arguments' shapes and dtypes.

    >>> float(grad(lambda x: x**3)(2.0))
    12.0
    >>> float(grad(grad(lambda x: x**3))(2.0))
    12.0
    """
    both = value_and_grad(f, argnum, allow_unused=allow_unused)

    @functools.wraps(f)
    def gradient(*args: Any, **options: Any) -> Any:
        return both(*args, **options)[1]

    return gradient


def value_and_grad(f: Callable[..., Any], argnum: Argnum = 0, *, allow_unused: bool = False) -> Callable[..., Any]:
    """The value of ``f`` and its gradient, from one evaluation: a function that returns the pair. As :func:`grad`.

    >>> value, slope = value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    places = argnum if isinstance(argnum, tuple) else (argnum,)

    @functools.wraps(f)
    def both(*args: Any, **options: Any) -> Any:
        nested = modes().depth > 0 or any([source_of(args[k]) is not None for k in places])
        arguments = list(args)
        with switched(recording=True, depth=modes().depth + 1):
            for k in places:
                arguments[k] = own_leaf(args[k])
            z = f(*arguments, **options)
            leaves = [arguments[k] for k in places]
            checked_scalar(z)
            gradients = gradients_of(z, leaves, nested, allow_unused)
        if not nested:
            return np.array(value_of(z)), gradients if isinstance(argnum, tuple) else gradients[0]
        return z, gradients if isinstance(argnum, tuple) else gradients[0]

    return both


def own_leaf(x: Any) -> Any:
    """A node in place of the argument ``x`` that nothing else in the graph is."""
    if isinstance(x, NodeRole) and x.requires_grad:
        return np.positive(x)
    return Variable(x)


def checked_scalar(z: Any) -> None:
    """A gradient is of one number."""
    if np.size(value_of(z)) != 1:
        raise TypeError(
            f"grad differentiates functions that return one number; this one returned shape {np.shape(z)}. Take its "
            f"sum or mean, or use af.elementwise_grad or af.jacobian."
        )


def gradients_of(z: Any, leaves: list[Any], nested: bool, allow_unused: bool) -> tuple[Any, ...]:
    """dz/d(leaf) for each leaf; zeros for those that z does not depend on, an error if it depends on none."""
    records = [source_of(leaf) for leaf in leaves]
    wanted, found = set(records), {}
    if isinstance(z, NodeRole) and z.requires_grad:
        seed = None if value_of(z).dtype.kind != "c" else np.ones_like(value_of(z))
        pairs = pull_back(z, seed, create_graph=nested, stop=wanted)
        found = {record: g for record, g in pairs if record in wanted}
    if not found and not allow_unused:
        raise lost("the function's result depends on none of the arguments that grad differentiates with respect to")
    answers = []
    for record, leaf in zip(records, leaves, strict=True):
        value = value_of(leaf)
        g = found.get(record)
        if g is None:
            g = np.zeros_like(value)
        g = fitted(g, value.dtype)
        if not nested:
            g = np.array(g)
        elif not (isinstance(g, NodeRole) and g.requires_grad):
            g = unmoved(g, leaf) if isinstance(leaf, NodeRole) else g
        answers.append(g)
    return tuple(answers)
