"""Gauss-Newton products, and gradients of several arguments: what users of HIPS autograd know by these names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from .. import pytree
from ..transformed import FunctionOfFunction
from .evaluation import parameters_of
from .gradient import grad
from .vjp_jvp import hvp, jvp, vjp

Array = Any
T = TypeVar("T")


def half_square(z: Any) -> Any:
    """½ Σ |z|², over all leaves: its Hessian is the identity, and G = JᵀJ.

    >>> float(half_square([np.array([1.0, 2.0]), 1.0]))
    3.0
    """
    return 0.5 * sum([np.sum(np.real(np.conjugate(x) * x)) for x in pytree.tree_leaves(z) if pytree.is_number(x)])


@overload
def ggnvp(
    f: Callable[..., Any], primals: np.ndarray | complex, vectors: Any, *, loss: Callable[[Any], Any] = half_square,
    allow_unused: bool = False,
) -> np.ndarray: ...  # fmt: skip
@overload
def ggnvp(
    f: Callable[..., Any], primals: T, vectors: Any, *, loss: Callable[[Any], Any] = half_square,
    allow_unused: bool = False,
) -> T: ...  # fmt: skip
def ggnvp(
    f: Callable[..., Any], primals: Any, vectors: Any, *, loss: Callable[[Any], Any] = half_square,
    allow_unused: bool = False,
) -> Any:  # fmt: skip
    """The generalised Gauss-Newton matrix of ``loss(f(primals))`` times a vector: Jᵀ H J v, J = ∂f, H the Hessian of
    ``loss`` at the value of f.

    It is the Hessian if f is replaced by its linear approximation. If ``loss`` is convex, it has no negative
    eigenvalues, so a Newton step with it always goes downhill.

    f : the model: of arrays or containers, returns an array or a container of them.
    primals : a tuple of the arguments; anything else is the one argument.
    vectors : the same containers and shapes. The answer has them too.
    loss : a scalar function of what f returns; half the sum of squares by default (then G = JᵀJ).

    f runs twice. Raises LostGradientError if the value of f depends on none of the primals, or the loss not on the
    value, unless ``allow_unused``; SeedError if the vectors do not fit; TypeError if ``loss`` does not return one
    number. Source: Schraudolph, Neural Computation 14, 2002.

    >>> x = np.array([0.0, 1.0, 2.0])
    >>> def line(p):
    ...     return p[0] + p[1] * x
    >>> ggnvp(line, np.zeros(2), np.array([1.0, 0.0]))  # the first column of JᵀJ
    array([3., 3.])
    """
    args = primals if isinstance(primals, tuple) else (primals,)
    directions = vectors if isinstance(primals, tuple) else (vectors,)
    value, tangent = jvp(f, args, directions, allow_unused=allow_unused)
    (bent,) = hvp(loss, (value,), (tangent,), allow_unused=allow_unused)
    _, pullback = vjp(f, *args, allow_unused=allow_unused)
    products = pullback(bent)
    return products if isinstance(primals, tuple) else products[0]


def multigrad(
    f: Callable[..., Any], argnums: Any = (0,), *, allow_unused: bool = False
) -> Callable[..., tuple[Any, ...]]:
    """The gradients with respect to several arguments, as a function that returns a tuple, also if it is one argument.

    argnums : positions or names, in a tuple or list. Otherwise as :func:`grad`, whose ``argnum`` may be a tuple as
        well.

    >>> multigrad(lambda x, y, z: x * y * z, [0, 2])(2.0, 3.0, 5.0)
    (array(15.), array(6.))
    """
    choice = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
    return grad(f, choice, allow_unused=allow_unused)


def multigrad_dict(f: Callable[..., Any], *, allow_unused: bool = False) -> Callable[..., dict[str, Any]]:
    """The gradients with respect to all arguments that hold numbers, as a function that returns a dict by name.

    Arguments that are left to their defaults count, too; arguments without numbers (text, None, a function) have no
    entry. ``*args`` has one entry, a tuple; ``**options`` has a dict.

    Raises errors as :func:`grad` does, and TypeError if Python does not know the arguments of f.

    >>> multigrad_dict(lambda x, y=3.0, mode="fast": x * y)(2.0)
    {'x': array(3.), 'y': array(2.)}
    """
    parameters = parameters_of(f)
    if not parameters:
        raise TypeError(f"multigrad_dict needs to know the arguments of {f!r:.60}; use af.grad with argnum=")

    return GradientsByName(f, {"parameters": parameters, "allow_unused": allow_unused})


class GradientsByName(FunctionOfFunction):
    """The gradients of ``f`` as a dict, a function of the arguments of ``f``."""

    def __call__(self, *args: Any, **options: Any) -> dict[str, Any]:
        """At these arguments."""
        bound = inspect.Signature(self.how["parameters"]).bind(*args, **options)
        bound.apply_defaults()
        given = {k: x for k, x in bound.arguments.items() if any(map(pytree.is_number, pytree.tree_leaves(x)))}

        def of_dict(chosen: dict[str, Any]) -> Any:
            call = inspect.BoundArguments(bound.signature, {**bound.arguments, **chosen})
            return self.f(*call.args, **call.kwargs)

        found: dict[str, Any] = grad(of_dict, allow_unused=self.how["allow_unused"])(given)
        return found
