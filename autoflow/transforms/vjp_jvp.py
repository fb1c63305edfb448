"""Products with the Jacobian J = ∂z/∂x, without making it: ``vjp`` is gᵀJ, ``jvp`` is J t, ``hvp`` is H v.

A vjp is a pass back, which the engine does; a jvp a pass forward: ``forward_pass.py``. Both run f once, record it, and
go through its records. At the end are Gauss-Newton products, and gradients of several arguments: what users of HIPS
autograd know by these names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Unpack, overload

import numpy as np

from ..base import pytree
from ..base.errors import SeedError
from ..base.modes import modes, switched
from ..base.transformed import FunctionOfFunction
from ..base.types import T
from ..extending.joint import one_root
from ..nodes.grads import as_gradient_like, check_numbers
from ..nodes.nodes import Operation, Variable, gradient_target, operation_from, value_of
from ..table.shapes import AnyFunction, Array, ByName, Values, as_array, is_on_host
from .evaluation import Trace, Unused, copy_numbers, have_history, parameters_of
from .forward_pass import ForwardPass, number_leaves
from .gradient import grad

# ---------------------------------------------------------------- vjp, jvp, linearize, linear_transpose, hvp

PLAIN_NODES = (Variable, Operation)  # on NumPy's arrays


def vjp(f: AnyFunction, *primals: Any, allow_unused: bool = False) -> tuple[Any, Callable[[Any], Values]]:
    """The value of ``f(*primals)``, and its pullback: the function that takes dL/d(value) to dL/d(primals).

    primals : arrays, numbers, or nested containers of them. The value may be a container of arrays as well.

    The pullback takes one cotangent, shaped like the value, and returns a tuple, one gradient per primal. It may be
    called any number of times; ``af.vmap(pullback)`` takes many cotangents at once.

    Raises LostGradientError if the value depends on none of the primals, unless ``allow_unused``; SeedError, in the
    pullback, if the cotangent does not fit the value.

    >>> value, pullback = vjp(np.multiply, 3.0, 5.0)
    >>> pullback(1.0)
    (array(5.), array(3.))
    """
    trace = Trace(f, tuple(range(len(primals))), primals, {}, unused=allow_unused)
    roots = number_leaves(trace.z)
    trace.checked_reach(roots, allow_unused)

    def pullback(cotangent: Any) -> Values:
        seeds = match_leaves(cotangent, trace.z, "cotangent", "value")
        nested = is_differentiated(trace, seeds)
        return trace.to_user_tree(sent_back(trace, roots, seeds, nested), nested)

    return trace.detach_results(trace.z), pullback


def is_differentiated(trace: Trace, vectors: list[Array]) -> bool:
    """May what a pass makes of these vectors be differentiated?"""
    return modes().recording and (trace.nested or modes().depth > 0 or have_history(vectors))


def jvp(f: AnyFunction, primals: Any, tangents: Any, *, allow_unused: bool = False) -> tuple[Any, Any]:
    """The value of ``f`` and its derivative in a direction: how much it changes if the primals change by the tangents.

    primals : a tuple of the arguments; anything else is the one argument.
    tangents : the same containers and shapes.

    Raises LostGradientError if the value depends on none of the primals, unless ``allow_unused``; SeedError if the
    tangents do not fit.

    >>> value, tangent = jvp(lambda x, y: x * y, (3.0, 5.0), (1.0, 0.0))
    >>> float(value), float(tangent)
    (15.0, 5.0)
    """
    args, directions = in_tuples(primals, tangents)
    leaves = pytree.tree_leaves(directions)
    trace = Trace(f, tuple(range(len(args))), args, {}, leaves, unused=allow_unused, forward=ForwardPass)
    matched, push = match_leaves(directions, tuple(trace.arguments), "tangent", "primal"), trace.push
    out_tangents = push(matched)
    if all([t is None for t in out_tangents]):
        trace.checked_reach(push.roots, allow_unused)
    return trace.detach_results(trace.z), tangents_of_results(trace, out_tangents, trace.nested)


def in_tuples(primals: Any, vectors: Any) -> tuple[Values, Any]:
    """The arguments, and one vector for each; anything but a tuple is the one argument."""
    return (primals, vectors) if isinstance(primals, tuple) else ((primals,), (vectors,))


def linearize(f: AnyFunction, *primals: Any, allow_unused: bool = False) -> tuple[Any, AnyFunction]:
    """The value of ``f(*primals)``, and its derivative there as a linear function, which maps tangents to the tangent
    of the value. f itself runs once, however often that function is called.

    The linear function takes one tangent per primal. Errors are those of :func:`jvp`.

    >>> value, pushforward = linearize(lambda x, y: x * y, 3.0, 5.0)
    >>> float(value), float(pushforward(1.0, 0.0)), float(pushforward(0.0, 1.0))
    (15.0, 5.0, 3.0)
    """
    trace = Trace(f, tuple(range(len(primals))), primals, {}, unused=allow_unused)
    push = ForwardPass(trace)
    trace.checked_reach(push.roots, allow_unused)

    def pushforward(*tangents: Any) -> Any:
        matched = match_leaves(tangents, tuple(trace.arguments), "tangent", "primal")
        nested = is_differentiated(trace, matched)
        return tangents_of_results(trace, push(matched, nested), nested)

    return trace.detach_results(trace.z), pushforward


def linear_transpose(f: AnyFunction, *primals: Any) -> Callable[[Any], Values]:
    """The transpose of a linear function: it maps arrays shaped like the value to arrays shaped like the arguments.

    primals : arrays, numbers, or nested containers of them. Only shapes and dtypes count, since a linear function has
        the same transpose everywhere. f runs three times, at numbers of our own, to check that it is linear.

    The transpose Aᵀ takes one array, or container, like the value, and returns a tuple, one entry per primal. For a
    complex A it is Aᵀ as well, whereas :func:`vjp` gives the conjugate transpose.

    Raises TypeError if f is not linear, and errors as :func:`vjp` does.

    >>> difference = linear_transpose(np.diff, np.zeros(3))
    >>> difference(np.array([1.0, 10.0]))
    (array([-1., -9., 10.]),)
    """
    rng = np.random.default_rng(0)
    at = tuple([pytree.tree_map(lambda x: random_like(rng, x), tree) for tree in primals])
    value, pullback = vjp(f, *at)
    _, slope = jvp(f, at, at)
    opposite = f(*[pytree.tree_map(lambda x: -x if pytree.is_number(x) else x, tree) for tree in at])
    for z, t, other in zip(*[number_leaves(tree) for tree in (value, slope, opposite)], strict=True):
        z, t, other = [as_array(value_of(x)) for x in (z, t, other)]
        if is_on_host(z) and not (np.allclose(z, t, 1e-3, 1e-6) and np.allclose(z, -other, 1e-3, 1e-6)):
            name, off, odd = getattr(f, "__name__", "the function"), np.max(np.abs(z - t)), np.max(np.abs(z + other))
            raise TypeError(
                f"linear_transpose: {name} is not linear. At random x, f(x) should be J x, and f(-x) should be -f(x); "
                f"they differ by {off:.3g} and {odd:.3g}"
            )

    def transposed(cotangent: Any) -> Values:
        sent = pullback(pytree.tree_map(conjugate, cotangent))
        return tuple([pytree.tree_map(conjugate, tree) for tree in sent])

    return transposed


def random_like(rng: np.random.Generator, x: Array) -> Array:
    """A leaf replaced by random numbers; leaves that are not numbers stay."""
    if not pytree.is_number(x):
        return x
    dtype = as_array(value_of(x)).dtype
    drawn = rng.normal(size=np.shape(x)) + (1j * rng.normal(size=np.shape(x)) if dtype.kind == "c" else 0)
    return np.asarray(drawn, dtype if dtype.kind in "fc" else float)


def conjugate(x: Array) -> Array:
    """The conjugate of complex numbers; anything else as it is."""
    return np.conjugate(x) if getattr(x, "dtype", None) is not None and x.dtype.kind == "c" else x


@overload
def hvp(f: AnyFunction, primals: np.ndarray | complex, vectors: Any, **how: Unpack[Unused]) -> np.ndarray: ...
@overload
def hvp(f: AnyFunction, primals: T, vectors: Any, **how: Unpack[Unused]) -> T: ...
def hvp(f: AnyFunction, primals: Any, vectors: Any, *, allow_unused: bool = False) -> Any:
    """The Hessian of a scalar function times a vector: how its gradient changes in that direction.

    primals : a tuple of the arguments; anything else is the one argument.
    vectors : the same containers and shapes. The answer has them too.

    Raises errors as :func:`jvp` does, and TypeError if ``f`` does not return one number.

    >>> hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    array([6., 6.])
    """
    args, directions = in_tuples(primals, vectors)
    slope = grad(f, tuple(range(len(args))), allow_unused=allow_unused)
    _, products = jvp(slope, args, directions, allow_unused=allow_unused)
    return products if isinstance(primals, tuple) else products[0]


def tangents_of_results(trace: Trace, out_tangents: list[Any], nested: bool) -> Any:
    """Tangents as the caller gets them, in the containers of the results, with None for anything but numbers."""
    if not pytree.is_container(trace.z) and out_tangents:
        return tangent_of(trace, trace.z, out_tangents[0], nested)
    ready = iter([tangent_of(trace, z, t, nested) for z, t in zip(number_leaves(trace.z), out_tangents, strict=True)])
    return pytree.tree_map(lambda z: next(ready) if pytree.is_number(z) else None, trace.z)


def tangent_of(trace: Trace, z: Array, t: Array | None, nested: bool) -> Array:
    """One of them; zeros where nothing moves."""
    if t is None:
        t = np.zeros_like(as_array(value_of(z)))
    if not nested:
        return copy_numbers(t)
    with switched(recording=True):
        t = as_array(t)
    from_outside = [k for k in range(len(trace.leaves)) if trace.is_from_outside(k)]
    return trace.keep_differentiable(from_outside[0], t) if from_outside else t


def inner(a: Array, b: Array) -> Array:
    """⟨a, b⟩; for complex arrays the real part of Σ conj(a) b, which fits gradients written as dL/da + i dL/db."""
    if b.dtype.kind == "c":
        return np.sum(np.real(np.conjugate(a) * b))
    return np.sum(a * b)


def sent_back(trace: Trace, roots: list[Array], seeds: list[Array], nested: bool | None = None) -> list[Array]:
    """What these seeds, one for each root, send back together to the leaves of the trace."""
    reached = [(z, g) for z, g in zip(roots, seeds, strict=True) if trace.reaches(z)]
    root, seed = reached[0] if len(reached) == 1 else (None, None)
    if len(reached) > 1:
        root = operation_from(np.zeros(()), one_root([gradient_target(z) for z, _ in reached], [g for _, g in reached]))
    return trace.gradients(root, seed, nested)


def fits(g: Array, x: Array) -> bool:
    """Is ``g`` an array that can be the tangent or cotangent of the node ``x`` unchanged? A "no" is not an error."""
    return type(g) is np.ndarray and type(x) in PLAIN_NODES and g.dtype is x.dtype and g.shape == x.shape


def match_leaves(tree: object, like: object, what: str, of: str) -> list[Any]:
    """The leaves of ``tree``, one per leaf of ``like`` that is a number, with its shape and dtype. (Its own arrays are
    not copied: nobody writes into them.)"""
    if type(tree) is tuple is type(like) and len(tree) == len(like) and all(map(fits, tree, like)):
        return list(tree)  # as most often, and the rest would find the same
    parts = pytree.parts_like(tree, like)
    if parts is None:
        raise SeedError(f"the {what}s do not have the containers of the {of}s: one {what} per {of}, nested alike")
    leaves: list[Any] = []
    paths: Sequence[str] = ()
    targets = pytree.tree_leaves(like)
    for k, (target, g) in enumerate(zip(targets, parts, strict=True)):
        if fits(g, target):
            leaves.append(g)
            continue
        if not pytree.is_number(target):
            continue
        value, paths = as_array(value_of(target)), paths or pytree.tree_paths(like, of)
        if np.shape(g) != value.shape:
            raise SeedError(f"the {what} for {paths[k]} has shape {np.shape(g)}, but its shape is {value.shape}")
        check_numbers(g, value.dtype, f"the {what} for {paths[k]}", paths[k], SeedError)
        leaves.append(g if gradient_target(g) is not None else as_gradient_like(value_of(g), value))
    return leaves


# ---------------------------------------------------------------- names of HIPS autograd: ggnvp, multigrad


def half_square(z: Array) -> Array:
    """½ Σ |z|², over all leaves: its Hessian is the identity, and G = JᵀJ.

    >>> float(half_square([np.array([1.0, 2.0]), 1.0]))
    3.0
    """
    return 0.5 * sum([np.sum(np.real(np.conjugate(x) * x)) for x in pytree.tree_leaves(z) if pytree.is_number(x)])


class Newton(Unused, total=False):
    """The options of ggnvp."""

    loss: Callable[[Any], Array]


@overload
def ggnvp(f: AnyFunction, primals: np.ndarray | complex, vectors: Any, **how: Unpack[Newton]) -> np.ndarray: ...
@overload
def ggnvp(f: AnyFunction, primals: T, vectors: Any, **how: Unpack[Newton]) -> T: ...
def ggnvp(
    f: AnyFunction, primals: Any, vectors: Any, *, loss: Callable[[Any], Array] = half_square,
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
    args, directions = in_tuples(primals, vectors)
    value, tangent = jvp(f, args, directions, allow_unused=allow_unused)
    (bent,) = hvp(loss, (value,), (tangent,), allow_unused=allow_unused)
    _, pullback = vjp(f, *args, allow_unused=allow_unused)
    products = pullback(bent)
    return products if isinstance(primals, tuple) else products[0]


def multigrad(f: AnyFunction, argnums: Any = (0,), *, allow_unused: bool = False) -> Callable[..., Values]:
    """The gradients with respect to several arguments, as a function that returns a tuple, also if it is one argument.

    argnums : positions or names, in a tuple or list. Otherwise as :func:`grad`, whose ``argnum`` may be a tuple as
        well.

    >>> multigrad(lambda x, y, z: x * y * z, [0, 2])(2.0, 3.0, 5.0)
    (array(15.), array(6.))
    """
    choice = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
    return grad(f, choice, allow_unused=allow_unused)


def multigrad_dict(f: AnyFunction, *, allow_unused: bool = False) -> Callable[..., ByName]:
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

    def __call__(self, *args: Any, **options: Any) -> ByName:
        """At these arguments."""
        bound = inspect.Signature(self.how["parameters"]).bind(*args, **options)
        bound.apply_defaults()
        differentiable = {k: x for k, x in bound.arguments.items() if any(map(pytree.is_number, pytree.tree_leaves(x)))}

        def of_dict(selection: ByName) -> Any:
            call = inspect.BoundArguments(bound.signature, {**bound.arguments, **selection})
            return self.f(*call.args, **call.kwargs)

        return grad(of_dict, allow_unused=self.how["allow_unused"])(differentiable)
