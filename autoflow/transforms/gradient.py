"""Functions of functions: ``grad(f)`` is the gradient of ``f``, as a function. Pure: no ``.grad`` is touched.

All of them, and those in ``vjp_jvp.py`` and ``jacobian.py``, are a few lines on top of one evaluation of ``f`` on
leaves of its own: :class:`autoflow.transforms.evaluation.Trace`. That is why they can be nested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import pytree
from ..errors import SeedError
from ..modes import switched
from ..nodes.nodes import value_of
from ..rules.shapes import as_array
from ..transformed import FunctionOfFunction
from .evaluation import Argnum, Trace, chosen_argnum

if TYPE_CHECKING:
    from typing import Concatenate, Unpack

    from .signatures import A, Gradient, GradientAndAux, How, HowBy, N, OfFirst, P, ValueAndGradient, X

Array = Any


@overload
def grad(f: np.ufunc, **how: Unpack[How]) -> Callable[..., np.ndarray]: ...
@overload
def grad(f: OfFirst[N, P], **how: Unpack[How]) -> Gradient[N, P]: ...
@overload
def grad(f: OfFirst[A, P], **how: Unpack[How]) -> Gradient[A, P]: ...
@overload
def grad(f: Callable[P, Any], argnum: Argnum, **how: Unpack[How]) -> Callable[P, Any]: ...
@overload
def grad(f: Callable[P, Any], **how: Unpack[HowBy]) -> Callable[P, Any]: ...
def grad(
    f: Callable[..., Any], argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """The gradient of a scalar function with respect to one argument (or several), as a function.

    f : takes arrays, numbers, or nested lists, tuples, dicts and dataclasses of them, and returns one number.
    argnum : the argument: its position (default 0) or its name. A tuple of them gives a tuple of gradients.
    argnums : another name for argnum.
    allow_unused : give zeros instead of an error if the result depends on none of them.
    holomorphic : f is complex-differentiable: return f'(z), checked against the Cauchy-Riemann equations.

    Returns a function of the same arguments. A gradient has the shape and dtype of its argument, or its containers,
    with None where these hold no numbers. Plain arrays; inside another transform, or if an argument is a node with
    a history, nodes, so that they can be differentiated again.
    Everything that ``f`` captures in a closure counts as a constant, even a Variable: its ``grad`` stays as it is, and
    outside other transforms the result has no history that leads to it. To differentiate by it as well, make it an
    argument.

    Raises LostGradientError if the result depends on none of the arguments; TypeError if it is not one number.

    >>> float(grad(lambda x: x**3)(2.0))
    12.0
    >>> float(grad(grad(lambda x: x**3))(2.0))
    12.0
    >>> grad(lambda p: np.sum(p["w"] * 2.0) + p["b"])({"w": np.ones(3), "b": 1.0})
    {'w': array([2., 2., 2.]), 'b': array(1.)}
    >>> import autoflow as af
    >>> w = af.Variable(2.0)
    >>> grad(lambda x: w * x)(3.0), w.grad
    (array(2.), None)
    >>> grad(lambda x, w: w * x, (0, 1))(3.0, 2.0)
    (array(2.), array(3.))
    """
    how = {"argnum": chosen_argnum(f, argnum, argnums), "allow_unused": allow_unused, "holomorphic": holomorphic}
    return GradientFunction(f, {"which": 1, **how})


@overload
def value_and_grad(f: np.ufunc, **how: Unpack[How]) -> Callable[..., tuple[np.ndarray, np.ndarray]]: ...
@overload
def value_and_grad(f: OfFirst[N, P], **how: Unpack[How]) -> ValueAndGradient[N, P]: ...
@overload
def value_and_grad(f: OfFirst[A, P], **how: Unpack[How]) -> ValueAndGradient[A, P]: ...
@overload
def value_and_grad(f: Callable[P, Any], argnum: Argnum, **how: Unpack[How]) -> Callable[P, tuple[np.ndarray, Any]]: ...
@overload
def value_and_grad(f: Callable[P, Any], **how: Unpack[HowBy]) -> Callable[P, tuple[np.ndarray, Any]]: ...
def value_and_grad(
    f: Callable[..., Any], argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """The value of ``f`` and its gradient, from one evaluation: a function that returns the pair. As :func:`grad`.

    >>> value, slope = value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    how = {"argnum": chosen_argnum(f, argnum, argnums), "allow_unused": allow_unused, "holomorphic": holomorphic}
    return GradientFunction(f, {"which": (0, 1), **how})


@overload
def grad_and_aux(f: Callable[Concatenate[N, P], tuple[Any, X]], **how: Unpack[How]) -> GradientAndAux[N, P, X]: ...
@overload
def grad_and_aux(f: Callable[Concatenate[A, P], tuple[Any, X]], **how: Unpack[How]) -> GradientAndAux[A, P, X]: ...
@overload
def grad_and_aux(f: Callable[P, tuple[Any, X]], argnum: Argnum, **how: Unpack[How]) -> Callable[P, tuple[Any, X]]: ...
@overload
def grad_and_aux(f: Callable[P, tuple[Any, X]], **how: Unpack[HowBy]) -> Callable[P, tuple[Any, X]]: ...
def grad_and_aux(
    f: Callable[..., Any], argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """For a function that returns ``(number, aux)``: the gradient of the number, and aux, which may be anything.
    Arguments as for :func:`grad`.

    Nodes in the second part come out as plain arrays (inside another transform they stay nodes).

    >>> def loss(w):
    ...     prediction = w * 3.0
    ...     return (prediction - 1.0) ** 2, prediction
    >>> gradient, prediction = grad_and_aux(loss)(1.0)
    >>> float(gradient), float(prediction)
    (12.0, 3.0)
    """
    how = {"argnum": chosen_argnum(f, argnum, argnums), "allow_unused": allow_unused, "holomorphic": holomorphic}
    return GradientFunction(f, {"which": (1, 2), "aux": True, **how})


@overload
def elementwise_grad(f: np.ufunc, **how: Unpack[How]) -> Callable[..., np.ndarray]: ...
@overload
def elementwise_grad(f: OfFirst[N, P], **how: Unpack[How]) -> Gradient[N, P]: ...
@overload
def elementwise_grad(f: OfFirst[A, P], **how: Unpack[How]) -> Gradient[A, P]: ...
@overload
def elementwise_grad(f: Callable[P, Any], argnum: Argnum, **how: Unpack[How]) -> Callable[P, Any]: ...
@overload
def elementwise_grad(f: Callable[P, Any], **how: Unpack[HowBy]) -> Callable[P, Any]: ...
def elementwise_grad(
    f: Callable[..., Any], argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """The derivative of an elementwise function at each element. As :func:`grad`, for results of any shape.

    It is the gradient of the sum of the result, Σᵢ ∂zᵢ/∂xⱼ, which for an elementwise function is ∂zⱼ/∂xⱼ. Raises
    LostGradientError if the result depends on none of the arguments, SeedError if it is complex.

    >>> elementwise_grad(np.square)(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """
    how = {"argnum": chosen_argnum(f, argnum, argnums), "allow_unused": allow_unused, "holomorphic": holomorphic}
    return GradientFunction(f, {"which": 1, "scalar": False, **how})


class GradientFunction(FunctionOfFunction):
    """Evaluates ``f`` and returns, of (value, gradient, aux), what the transform promises: ``which`` of them."""

    def __init__(self, f: Callable[..., Any], how: dict[str, Any]) -> None:
        super().__init__(f, how)
        self.which, self.argnum = how["which"], how["argnum"]
        self.rest = {name: option for name, option in how.items() if name not in ("which", "argnum")}

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Of the arguments of f."""
        which = self.which
        parts = value_gradient_and_aux(self.f, self.argnum, args, options, **self.rest)
        return tuple([parts[k] for k in which]) if isinstance(which, tuple) else parts[which]


def value_gradient_and_aux(
    f: Callable[..., Any], argnum: Argnum, args: tuple[Any, ...], options: dict[str, Any], *,
    aux: bool = False, scalar: bool = True, allow_unused: bool = False, holomorphic: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Value, gradient and whatever else ``f`` returned."""
    trace = Trace(f, argnum, args, options)
    z, rest = _with_aux(trace.z) if aux else (trace.z, None)
    if pytree.is_container(z):
        raise TypeError(f"f returned a {type(z).__name__}, not a number. For (number, anything) use af.grad_and_aux.")
    if scalar:
        checked_scalar(z)
    trace.checked_reach([z], allow_unused)
    gradients = trace.gradients(z, checked_analytic(trace, z, holomorphic))
    if holomorphic:
        if not trace.nested:
            checked_holomorphic(trace, z, gradients)
        with switched(recording=trace.nested):  # g = conj f': see Rule.complex_vjps
            gradients = [None if g is None else np.conjugate(g) for g in gradients]
    return trace.detach_results(z), trace.to_user_tree(gradients), trace.detach_results(rest)


def checked_scalar(z: Any) -> None:
    """The result, checked: a gradient needs a single number."""
    if np.size(value_of(z)) != 1:
        raise TypeError(
            f"grad differentiates functions that return one number; this one returned shape {np.shape(z)}. Take its "
            f"sum or mean, or use af.elementwise_grad or af.jacobian."
        )


def checked_analytic(trace: Trace, z: Any, holomorphic: bool) -> Array | None:
    """The seed of a pass from ``z``, if ``z`` may be complex or real as it is."""
    value = as_array(value_of(z))
    if not holomorphic:
        if value.dtype.kind == "c":
            raise SeedError(
                "the function returned a complex number, which has no gradient. Return a real one (np.abs(z)**2, "
                "z.real), or say holomorphic=True if it is complex-differentiable: then the result is f'(z)."
            )
        return None
    if value.dtype.kind != "c" or any([x.dtype.kind != "c" for x in trace.leaves]):
        raise TypeError("holomorphic=True is for complex arguments and a complex result: give x + 0j")
    return np.ones_like(value)


def checked_holomorphic(trace: Trace, z: Any, gradients: list[Any]) -> None:
    """Turning the seed by 90° turns a holomorphic function's gradient by 90°: the Cauchy-Riemann equations."""
    turned = trace.gradients(z, np.full_like(value_of(z), 1j))
    for a, b in zip(gradients, turned, strict=True):
        if a is not None and not np.allclose(b, 1j * a, rtol=1e-4, atol=1e-6 * (1 + np.max(np.abs(a), initial=0))):
            raise TypeError("the function is not holomorphic here (the Cauchy-Riemann equations do not hold)")


def _with_aux(z: Any) -> tuple[Any, Any]:
    if not isinstance(z, tuple) or len(z) != 2:
        raise TypeError(f"grad_and_aux needs a function that returns (number, anything), not a {type(z).__name__}")
    return z
