"""What editors and checkers of types know of transformed functions. Nothing here runs, and nothing imports it to run.

``af.grad(f)`` takes what f takes. Its result depends on the first argument of f: an array for a number, a node or an
array (whose dtype it keeps), the same container for a container. A lambda says nothing of its arguments; it is taken
to be a function of an array. Of other arguments than the first (``argnum``) only the value is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, Required, TypedDict, TypeVar, overload

import numpy as np

from ..nodes.nodes import Node
from .evaluation import Argnum

P = ParamSpec("P")  # the other arguments
A = TypeVar("A")  # the first argument
N = TypeVar("N", bound=np.ndarray)
C = TypeVar("C", contravariant=True)
X = TypeVar("X", covariant=True)
OfFirst = Callable[Concatenate[A, P], Any]  # f


class How(TypedDict, total=False):
    """The options of grad and its like."""

    allow_unused: bool
    holomorphic: bool


class HowBy(How, total=False):
    """Those and the other name of argnum."""

    argnums: Required[Argnum]


class Gradient(Protocol[A, P]):
    """Of ``grad`` and ``elementwise_grad``."""

    @overload
    def __call__(
        self: Gradient[float, P] | Gradient[complex, P] | Gradient[Node, P],
        x: A, /, *args: P.args, **options: P.kwargs,
    ) -> np.ndarray: ...  # fmt: skip
    @overload
    def __call__(self, x: A, /, *args: P.args, **options: P.kwargs) -> A: ...


class ValueAndGradient(Protocol[A, P]):
    """Of ``value_and_grad``."""

    @overload
    def __call__(
        self: ValueAndGradient[float, P] | ValueAndGradient[complex, P] | ValueAndGradient[Node, P],
        x: A, /, *args: P.args, **options: P.kwargs,
    ) -> tuple[np.ndarray, np.ndarray]: ...  # fmt: skip
    @overload
    def __call__(self, x: A, /, *args: P.args, **options: P.kwargs) -> tuple[np.ndarray, A]: ...


class GradientAndAux(Protocol[A, P, X]):
    """Of ``grad_and_aux``."""

    @overload
    def __call__(
        self: GradientAndAux[float, P, X] | GradientAndAux[complex, P, X] | GradientAndAux[Node, P, X],
        x: A, /, *args: P.args, **options: P.kwargs,
    ) -> tuple[np.ndarray, X]: ...  # fmt: skip
    @overload
    def __call__(self, x: A, /, *args: P.args, **options: P.kwargs) -> tuple[A, X]: ...


class Jacobian(Protocol[C, P]):
    """Of ``jacobian`` and ``hessian``: of containers it is containers in containers."""

    @overload
    def __call__(
        self: Jacobian[float, P] | Jacobian[complex, P] | Jacobian[Node, P] | Jacobian[np.ndarray, P],
        x: C, /, *args: P.args, **options: P.kwargs,
    ) -> np.ndarray: ...  # fmt: skip
    @overload
    def __call__(self, x: C, /, *args: P.args, **options: P.kwargs) -> Any: ...
