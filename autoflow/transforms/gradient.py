"""Gradients that leave ``.grad`` alone: ``af.gradients(loss)`` in a container, ``grad(f)`` as a function.

``gx, gw = af.gradients(loss, [x, w])`` unpacks the container. Two workers, two losses, or an optimiser that looks at
gradients before it applies them: each has its own container. Nothing accumulates automatically; to accumulate, add
containers.

``grad(f)`` is the gradient of ``f``, as a function. All functions of functions, here and in ``vjp_jvp.py`` and
``jacobian.py``, are a few lines on top of one evaluation of ``f`` on leaves of its own:
:class:`autoflow.transforms.evaluation.Trace`. That is why they can be nested.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..backprop import passes
from ..base import pytree
from ..base.errors import SeedError, lost
from ..base.modes import switched
from ..base.transformed import FunctionOfFunction
from ..nodes.cuts import explain, tell_of_constants
from ..nodes.grads import add_gradients, cast_gradient, checked_grad
from ..nodes.nodes import Holder, Node, NodeRole, Variable, VariableRole, gradient_target, value_of
from ..table.shapes import AnyFunction, Array, ByName, Values, as_array
from .evaluation import Argnum, Trace, chosen_argnum, copy_numbers, stop_set, with_types_of

if TYPE_CHECKING:
    from typing import Concatenate, Unpack

    from .evaluation import A, Gradient, GradientAndAux, How, HowBy, N, OfFirst, P, ValueAndGradient, X


# ---------------------------------------------------------------- af.gradients: a container


class Gradients:
    """Gradients by node, in the order asked for. Made by :func:`gradients`.

    pairs : (node, gradient) pairs.

    ``gx, gw = grads`` and ``for g in grads`` give the gradients. ``grads[x]``, ``x in grads``, ``len``, ``keys`` (the
    nodes), ``values``, ``items`` (pairs), ``get``, ``pop`` work as in a dict; ``replace``; ``a + b`` and ``a += b`` add
    gradients of equal nodes and keep the others. A node that was asked for twice has one gradient.

    The keys are objects that another process does not have. So a pickle holds names, values and gradients in order,
    and is loaded with new Variables as keys; ``grads.on([x, w])`` assigns the gradients to your own nodes, in that
    order.

    >>> import pickle
    >>> import autoflow as af
    >>> x, w = af.Variable(3.0, name="x"), af.Variable(2.0, name="w")
    >>> grads = gradients(x * w, [x, w])
    >>> gx, gw = grads
    >>> float(gx), float(gw)
    (2.0, 3.0)
    >>> x in grads, len(grads), [node.name for node in grads.keys()]
    (True, 2, ['x', 'w'])
    >>> pickle.loads(pickle.dumps(grads)).on([x, w])[x]
    array(2.)
    """

    __module__ = "autoflow"

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        self._found: dict[Any, Any] = dict(pairs)

    def __getitem__(self, node: Any) -> np.ndarray:
        if node not in self:
            raise KeyError(f"there is no gradient of {_name_of(node)}: there are those of {self._names()}")
        return self._found[node]

    def __contains__(self, node: object) -> bool:
        return isinstance(node, NodeRole) and node in self._found  # plain arrays have no hash

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def keys(self) -> KeysView[Node]:
        """The nodes."""
        return self._found.keys()

    def values(self) -> ValuesView[np.ndarray]:
        """The gradients."""
        return self._found.values()

    def items(self) -> ItemsView[Node, np.ndarray]:
        """Pairs (node, gradient)."""
        return self._found.items()

    def get(self, node: object, default: Any = None) -> Any:
        """The gradient of ``node``, or ``default``."""
        return self._found[node] if node in self else default

    def pop(self, node: object, *default: Any) -> Any:
        """Take the gradient of ``node`` out. Without one, ``default`` is returned if given, else it is a KeyError.

        >>> import autoflow as af
        >>> x = af.Variable(3.0)
        >>> grads = gradients(x * x)
        >>> grads.pop(x), x in grads
        (array(6.), False)
        """
        if node not in self and default:
            return default[0]
        g = self[node]
        del self._found[node]
        return g

    def replace(self, node: Node, g: Array) -> None:
        """Replace the gradient of ``node``, by a clipped one, an average, or one from another process, for example.

        >>> import autoflow as af
        >>> x = af.Variable([1.0, 2.0])
        >>> grads = gradients(np.sum(x * x), [x])
        >>> grads.replace(x, np.clip(grads[x], -3.0, 3.0))
        >>> grads[x]
        array([2., 3.])
        """
        self[node]  # there must be one: else KeyError
        if g is None:
            raise TypeError("a gradient cannot be None: grads.pop(x) takes it out")
        self._found[node] = checked_grad(node, g)

    def on(self, nodes: Any) -> Gradients:
        """The same gradients in the same order, for other nodes: one for each node that this was made for."""
        nodes = [nodes] if isinstance(nodes, NodeRole) else pytree.tree_leaves(nodes)
        if len(nodes) != len(self):
            raise ValueError(f"{len(self)} gradients for {len(nodes)} nodes")
        return Gradients([(x, checked_grad(x, g)) for x, g in zip(nodes, self.values(), strict=True)])

    def __add__(self, other: Gradients) -> Gradients:
        if not isinstance(other, Gradients):
            return NotImplemented
        total = Gradients([(x, g.copy()) for x, g in self.items()])
        total += other
        return total

    def __radd__(self, other: object) -> Gradients:
        return self + Gradients() if other == 0 else NotImplemented  # so that sum([...]) works

    def __iadd__(self, other: Gradients) -> Gradients:
        if not isinstance(other, Gradients):
            return NotImplemented
        for x, g in other.items():
            if x not in self:
                self._found[x] = g.copy()
                continue
            with switched(recording=True):  # if they are nodes; arrays stay arrays
                total = cast_gradient(add_gradients(self._found[x], g), x.dtype)
            self._found[x] = total if isinstance(total, NodeRole) else np.asarray(total)
        return self

    def __reduce__(self) -> Values:
        return _restored, ([(x.name, x.value, copy_numbers(g)) for x, g in self.items()],)

    def __repr__(self) -> str:
        return f"Gradients({self._names()})"

    def _names(self) -> str:
        return ", ".join([f"{x.name}: {x.dtype}{list(x.shape)}" for x in self._found]) or "of nothing"


def _restored(triples: list[tuple[str, Array, Array]]) -> Gradients:
    """What a pickle becomes."""
    return Gradients([(Variable(value, name), g) for name, value, g in triples])


_restored.__module__ = "autoflow"  # pickles say so, wherever it is


if TYPE_CHECKING:

    class RecordedGradients(Gradients):
        """Gradients that can be differentiated again."""

        def __getitem__(self, node: Any) -> Node: ...
        def __iter__(self) -> Iterator[Node]: ...


@overload
def gradients(root: Any, nodes: Any = None, seed: Any = None, *, create_graph: Literal[True]) -> RecordedGradients: ...
@overload
def gradients(root: Any, nodes: Any = None, seed: Any = None, *, create_graph: bool = False) -> Gradients: ...
def gradients(root: Any, nodes: Any = None, seed: Any = None, *, create_graph: bool = False) -> Gradients:
    """dL/d(node) for each of the nodes, in their order: ``gx, gw = gradients(L, [x, w])``. ``.grad`` is neither read
    nor written.

    root : the node L; seed : as of ``backward``.
    nodes : a node, or nested lists, tuples, dicts of them; None for every Variable that ``root`` was computed from.
        Those that it was not computed from get zeros; if it was computed from none, LostGradientError.
    create_graph : gradients that can be differentiated again; else plain arrays.

    >>> import autoflow as af
    >>> x, w = af.Variable(3.0, name="x"), af.Variable(2.0, name="w")
    >>> grads = gradients(x * w)
    >>> grads[x], x.grad
    (array(2.), None)
    >>> (grads + gradients(w * w, [w]))[w]
    array(7.)
    """
    if nodes is None:
        pairs = passes.run_pass(root, seed, create_graph=create_graph)
        tell_of_constants(gradient_target(root), pairs)
        leaves = sorted([(x, g) for x, g in pairs if isinstance(x, VariableRole)], key=lambda pair: pair[0].number)
        return Gradients([(x, _user_gradient(x, g, create_graph)) for x, g in leaves])
    targets = [nodes] if isinstance(nodes, NodeRole) else pytree.tree_leaves(nodes)
    for x in targets:
        if gradient_target(x) is None:
            raise lost(f"{_name_of(x)} has no gradient", explain(x) or "it is a Constant, or no node")
    grads = _find_gradients(root, [gradient_target(x) for x in targets], seed, create_graph)
    if targets and not grads:
        raise lost(f"{_name_of(root)} was computed from none of {', '.join([x.name for x in targets])}")
    return Gradients([(x, _user_gradient(x, grads.get(id(gradient_target(x))), create_graph)) for x in targets])


def _find_gradients(root: object, records: list[Holder], seed: Array, create_graph: bool) -> dict[int, Array]:
    """By id of the record: the gradients that a pass from ``root`` brings."""
    stop: Any = ()
    limit: int | None = None  # results of operations may lie behind each other: keep all, and take ours
    source = gradient_target(root)
    if source is not None and all([isinstance(record, VariableRole) for record in records]):
        stop, limit = stop_set(source, set(records), min([x.number for x in records], default=0))[0], -1
        if stop is None:
            return {}
    pairs = passes.run_pass(root, seed, create_graph=create_graph, stop=stop, limit=limit)
    tell_of_constants(source, pairs)
    ids = {id(record) for record in records}
    return {id(holder): g for holder, g in pairs if id(holder) in ids}


def _user_gradient(x: Array, g: Array | None, create_graph: bool) -> Array:
    """The gradient of ``x`` as the user gets it."""
    g = np.zeros_like(x.value) if g is None else cast_gradient(g, x.dtype)
    return g if create_graph else copy_numbers(g)


def _name_of(x: object) -> str:
    return str(x.name) if isinstance(x, NodeRole) else f"a {type(x).__name__}"


# ---------------------------------------------------------------- grad and its like: functions of functions


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
    f: AnyFunction, argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> AnyFunction:  # fmt: skip
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
    outside other transforms the result has no history that leads to it. A later pass to that Variable gives an
    UnprovedWarning (in strict mode a LostGradientError), unless the call was under ``af.no_grad``. To differentiate
    with respect to it as well, make it an argument.

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
    return gradient_function(f, 1, argnum, argnums, allow_unused=allow_unused, holomorphic=holomorphic)


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
    f: AnyFunction, argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> AnyFunction:  # fmt: skip
    """The value of ``f`` and its gradient, from one evaluation: a function that returns the pair. As :func:`grad`.

    >>> value, slope = value_and_grad(lambda x: x * x)(3.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    return gradient_function(f, (0, 1), argnum, argnums, allow_unused=allow_unused, holomorphic=holomorphic)


@overload
def grad_and_aux(f: Callable[Concatenate[N, P], tuple[Any, X]], **how: Unpack[How]) -> GradientAndAux[N, P, X]: ...
@overload
def grad_and_aux(f: Callable[Concatenate[A, P], tuple[Any, X]], **how: Unpack[How]) -> GradientAndAux[A, P, X]: ...
@overload
def grad_and_aux(f: Callable[P, tuple[Any, X]], argnum: Argnum, **how: Unpack[How]) -> Callable[P, tuple[Any, X]]: ...
@overload
def grad_and_aux(f: Callable[P, tuple[Any, X]], **how: Unpack[HowBy]) -> Callable[P, tuple[Any, X]]: ...
def grad_and_aux(
    f: AnyFunction, argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> AnyFunction:  # fmt: skip
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
    return gradient_function(f, (1, 2), argnum, argnums, allow_unused=allow_unused, holomorphic=holomorphic, aux=True)


@with_types_of(grad)
def elementwise_grad(
    f: AnyFunction, argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> AnyFunction:  # fmt: skip
    """The derivative of an elementwise function at each element. As :func:`grad`, for results of any shape.

    It is the gradient of the sum of the result, Σᵢ ∂zᵢ/∂xⱼ, which for an elementwise function is ∂zⱼ/∂xⱼ. Raises
    LostGradientError if the result depends on none of the arguments, SeedError if it is complex.

    >>> elementwise_grad(np.square)(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """
    return gradient_function(f, 1, argnum, argnums, allow_unused=allow_unused, holomorphic=holomorphic, scalar=False)


def gradient_function(f: Any, which: int | tuple[int, int], argnum: Any, argnums: Any, **how: bool) -> GradientFunction:
    """The transform of ``f`` that returns these parts."""
    return GradientFunction(f, {"which": which, "argnum": chosen_argnum(f, argnum, argnums), **how})


class GradientFunction(FunctionOfFunction):
    """Evaluates ``f`` and returns the parts of (value, gradient, aux) that the transform promises, given by
    ``which``."""

    def __init__(self, f: AnyFunction, how: ByName) -> None:
        super().__init__(f, how)
        self.memory: list[Any] | None = None  # of its proof, from the second call on

    def __call__(self, *args: Any, **options: Any) -> Any:
        """At these arguments of f."""
        how, which = self.how, self.how["which"]
        unused = None if "aux" in how else how["allow_unused"]
        trace = Trace(self.f, how["argnum"], args, options, memory=self.memory, unused=unused)
        if self.memory is None:
            self.memory = []
        z, aux = _with_aux(trace.z) if "aux" in how else (trace.z, None)
        if pytree.is_container(z):
            kind = type(z).__name__
            raise TypeError(f"f returned a {kind}, not a number. For (number, anything) use af.grad_and_aux.")
        if "scalar" not in how:
            checked_scalar(z)
        trace.checked_reach([z], how["allow_unused"])
        gradients = trace.gradients(z, checked_analytic(trace, z, how["holomorphic"]))
        if how["holomorphic"]:
            if not trace.nested:
                checked_holomorphic(trace, z, gradients)
            with switched(recording=trace.nested):  # g = conj f': see Rule.complex_vjps
                gradients = [None if g is None else np.conjugate(g) for g in gradients]
        parts: Values = z, gradients, aux
        ready = trace.detach_results, trace.to_user_tree, trace.detach_results
        return tuple([ready[k](parts[k]) for k in which]) if isinstance(which, tuple) else ready[which](parts[which])


def checked_scalar(z: Any) -> None:
    """The result, checked: a gradient needs a single number."""
    if np.size(value_of(z)) != 1:
        raise TypeError(
            f"grad differentiates functions that return one number; this one returned shape {np.shape(z)}. Take its "
            f"sum or mean, or use af.elementwise_grad or af.jacobian."
        )


def checked_analytic(trace: Trace, z: Array, holomorphic: bool) -> Array | None:
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


def checked_holomorphic(trace: Trace, z: Array, gradients: list[Array]) -> None:
    """Turning the seed by 90° turns a holomorphic function's gradient by 90°: the Cauchy-Riemann equations."""
    turned = trace.gradients(z, np.full_like(value_of(z), 1j))
    for a, b in zip(gradients, turned, strict=True):
        if a is not None and not np.allclose(b, 1j * a, rtol=1e-4, atol=1e-6 * (1 + np.max(np.abs(a), initial=0))):
            raise TypeError("the function is not holomorphic here (the Cauchy-Riemann equations do not hold)")


def _with_aux(z: object) -> tuple[Any, Any]:
    if not isinstance(z, tuple) or len(z) != 2:
        raise TypeError(f"grad_and_aux needs a function that returns (number, anything), not a {type(z).__name__}")
    return z
