"""A function whose derivative you give in forward mode: how the result moves if the arguments move.

The rule is a function of primals and tangents that is linear in the tangents. Reverse mode is its transpose: record it
on tangents that are leaves, and go back from ⟨g, tangent of the result⟩ to these. So one rule serves ``af.grad``,
``af.jvp`` and, as it is written with NumPy functions, derivatives of any order. That it is linear is checked at every
pass: if T(t) = A t, then ⟨g, T(t)⟩ = ⟨Aᵀg, t⟩.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from ..base import pytree
from ..base.errors import GradientShapeError, LostGradientError, NoRuleError
from ..base.transformed import public_name
from ..extending.function import Function
from ..nodes.nodes import value_of
from ..table.shapes import AnyFunction, Array, ByName, Values, as_array
from .evaluation import Trace
from .vjp_jvp import inner, sent_back

P = ParamSpec("P")
R = TypeVar("R")
Grads = list[Array | None]
PLAIN = (np.ndarray, int, float, complex)  # what has no history, and is of no other library


class custom_jvp(Generic[P, R]):  # noqa: N801 - used like a function
    """``f`` with a derivative of your own, given as a rule in forward mode. A decorator; :meth:`defjvp` takes the rule.

    f : any function of arrays, numbers, or containers of them, that returns an array or a container. It is run on plain
        arrays, so it may use anything: loops, ``float(x)``, another library. (Under ``af.vmap`` and ``af.compile`` it
        must be made of NumPy functions, as any function there.)
    nondiff_argnums : positions of arguments without a derivative: functions, strings, settings. The rule gets them
        first.

    The rule takes ``(primals, tangents)``, two tuples with one entry per argument, nested as the arguments are, and
    returns ``(value, tangent of the value)``. A tangent has the shape of its primal; an argument that is not a number
    has the tangent None. The rule is written with NumPy functions and linear in the tangents.

    Raises NoRuleError if there is no rule; in a pass, GradientShapeError if the tangent does not fit the value,
    LostGradientError if the tangent is not computed from the tangents by functions that autoflow records, and
    TypeError if it is not linear in them.

    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log1p(np.exp(x))
    >>> @log1pexp.defjvp
    ... def _(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))
    >>> import autoflow as af
    >>> af.grad(log1pexp)(0.0), af.grad(af.grad(log1pexp))(0.0)
    (array(0.5), array(0.25))
    >>> value, tangent = af.jvp(log1pexp, 0.0, 2.0)
    >>> float(tangent)
    1.0
    """

    __module__ = "autoflow"

    def __init__(self, f: Callable[P, R], nondiff_argnums: Sequence[int] = ()) -> None:
        if not callable(f):
            raise TypeError(f"custom_jvp takes a function, not {type(f).__name__}")
        functools.update_wrapper(self, f)
        self.f, self.nondiff_argnums = f, tuple(nondiff_argnums)
        self.rule: AnyFunction | None = None
        self._function: Any = type(name_of(f), (Ruled,), {})

    def defjvp(self, rule: AnyFunction) -> AnyFunction:
        """Take ``rule`` as the derivative; returns it, so this is a decorator."""
        self.rule = rule
        return rule

    def defjvps(self, *rules: AnyFunction | None) -> None:
        """A rule in parts: for each argument the tangent that it alone causes, as ``rule(t, value, *primals)``; None if
        the result does not depend on it. All arguments and the result are arrays.

        >>> @custom_jvp
        ... def product(x, y):
        ...     return x * y
        >>> product.defjvps(lambda t, z, x, y: t * y, lambda t, z, x, y: t * x)
        >>> import autoflow as af
        >>> af.grad(product, (0, 1))(2.0, 5.0)
        (array(5.), array(2.))
        """

        self.rule = functools.partial(tangent_in_parts, self, rules)

    def __call__(self, *args: P.args, **options: P.kwargs) -> R:
        """The value; for nodes, a node."""
        if self.rule is None:
            raise NoRuleError(f"{name_of(self.f)} has no rule for its derivative yet: write one under @f.defjvp")
        call = RuleCall(self, self.rule, positional(self.f, args, options))
        leaves = [np.asarray(x) if isinstance(x, np.generic) else x for x in pytree.tree_leaves(call.primals)]
        if all([type(x) in PLAIN or not pytree.is_number(x) for x in leaves]):
            return self.f(*call.args)  # type: ignore[call-arg]
        answer = self._function.apply(call, *leaves)
        results = answer if isinstance(answer, tuple) else (answer,)
        return pytree.tree_unflatten(call.shape, results)

    def __get__(self, owner: Any, kind: object = None) -> AnyFunction:
        """As a method: with the object as first argument."""
        return self if owner is None else functools.partial(self, owner)

    def __reduce__(self) -> Any:
        return public_name(self, sys._getframe(1)) or (custom_jvp, (self.f, self.nondiff_argnums), {"rule": self.rule})

    def __repr__(self) -> str:
        return f"custom_jvp({name_of(self.f)})"


def tangent_in_parts(f: Any, rules: Sequence[AnyFunction | None], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The rule that :meth:`custom_jvp.defjvps` makes of the rules for each argument."""
    z = f(*primals)
    pairs = zip(rules, tangents, strict=True)
    parts = [rule(t, z, *primals) for rule, t in pairs if rule is not None and t is not None]
    return z, sum(parts, np.zeros_like(value_of(z)))


class RuleCall:
    """One call: its arguments, those without a derivative apart, and later the containers of its result."""

    def __init__(self, owner: custom_jvp[Any, Any], rule: AnyFunction, args: Values) -> None:
        n = len(args)
        for k in owner.nondiff_argnums:
            if not -n <= k < n:
                raise TypeError(f"{name_of(owner.f)} was called without the argument {k} of nondiff_argnums={k}")
        apart = [k % n for k in owner.nondiff_argnums]
        self.owner, self.rule, self.args, self.apart = owner, rule, args, apart
        self.fixed = [args[k] for k in apart]
        self.primals = tuple([x for k, x in enumerate(args) if k not in apart])
        self.shape: Any = None  # a tree like the result

    def value(self, leaves: Sequence[Array]) -> Values:
        """The leaves of what f returns, given those of its primals."""
        new = iter(pytree.tree_unflatten(self.primals, leaves))
        z = self.owner.f(*[x if k in self.apart else next(new) for k, x in enumerate(self.args)])
        self.shape = pytree.tree_map(lambda leaf: None, z)
        return tuple([x if hasattr(x, "dtype") else np.asarray(x) for x in pytree.tree_leaves(z)])

    def tangent(self, primals: Sequence[Array], tangents: Sequence[Array]) -> list[Array]:
        """The leaves of what the rule returns as tangent, checked."""
        name, rule = name_of(self.owner.f), self.rule
        answer = rule(*self.fixed, pytree.tree_unflatten(self.primals, primals),
                      pytree.tree_unflatten(self.primals, tangents))  # fmt: skip
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise TypeError(f"the rule of {name} returns a pair: the value, and its tangent; not {answer!r:.60}")
        values, slopes = [pytree.tree_leaves(x) for x in answer]
        shapes = [np.shape(z) for z in values]
        if [np.shape(t) for t in slopes] != shapes or len(slopes) != len(pytree.tree_leaves(self.shape)):
            raise GradientShapeError(
                f"the rule of {name} returned tangents of shapes {[np.shape(t) for t in slopes]} for values of shapes "
                f"{shapes}: one for each result, of its shape"
            )
        return slopes


class Ruled(Function):
    """The operation of a custom_jvp in the graph: there is a class of it for each function, which names it."""

    @staticmethod
    def forward(ctx: Any, call: RuleCall, *leaves: Any) -> Any:
        """The value, from plain arrays."""
        ctx.call = call
        ctx.save_for_backward(*leaves)
        results = call.value(leaves)
        return results if len(results) != 1 else results[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The contribution to the leaves: the transpose of the rule at g."""
        return (None, *transpose_rule(ctx.call, ctx.saved_tensors, ctx.needs_input_grad[1:], list(grads)))


def transpose_rule(call: RuleCall, primals: Sequence[Array], needed: Sequence[bool], grads: Grads) -> Grads:
    """Aᵀg for each primal where it is needed, A the linear function that the rule is."""
    zeros = [zero_tangent(x) for x in primals]
    places = [k for k, need in enumerate(needed) if need]
    starts = tuple([np.ones_like(zeros[k]) for k in places])

    def pushed(*moving: Array) -> Any:
        moved = dict(zip(places, moving, strict=True))
        return call.tangent(primals, [moved.get(k, zero) for k, zero in enumerate(zeros)])

    arrived = [g for g in grads if g is not None]
    trace = Trace(pushed, tuple(range(len(places))), starts, {}, also=[*primals, *arrived])
    roots = [z for z, g in zip(trace.z, grads, strict=True) if g is not None]
    ready = trace.to_user_tree(sent_back(trace, roots, arrived))
    pushed_pairs, pulled_pairs = [list(zip(*pair, strict=True)) for pair in ((roots, arrived), (ready, starts))]
    check_linear(name_of(call.owner.f), pushed_pairs, pulled_pairs, any(map(trace.reaches, roots)))
    answers = dict(zip(places, ready, strict=True))
    return [answers.get(k) for k in range(len(primals))]


def check_linear(name: str, pushed: list[tuple[Any, Any]], pulled: list[tuple[Any, Any]], reached: bool) -> None:
    """⟨g, T(t)⟩ = ⟨Aᵀg, t⟩, or an error; for NumPy's arrays, whose numbers may be read."""
    pushed, pulled = [[(as_array(value_of(a)), as_array(value_of(b))) for a, b in pairs] for pairs in (pushed, pulled)]
    every = [x for pairs in (pushed, pulled) for pair in pairs for x in pair]
    if not every or not all([type(x) is np.ndarray or isinstance(x, np.generic) for x in every]):
        return
    with np.errstate(all="ignore"):
        there, back = [sum([inner(a, b) for a, b in pairs]) for pairs in (pushed, pulled)]
        size = sum([np.sum(np.abs(a) * np.abs(b)) for a, b in (*pushed, *pulled)])
    digits = max([np.finfo(x.dtype).eps for x in every if x.dtype.kind in "fc"], default=1.0)
    if not np.isfinite(size) or abs(there - back) <= np.sqrt(digits) * size:
        return
    if not reached:
        raise LostGradientError(
            f"the tangent that the rule of {name} returns is not zero, but was not computed from the tangents by "
            f"functions that autoflow records: write the rule with NumPy functions of nodes"
        )
    raise TypeError(
        f"the rule of {name} is not linear in the tangents, or parts of it are not recorded: it moves by {there:g} "
        f"where its derivative says {back:g}. A tangent is what tangents are multiplied by, and sums of that"
    )


def zero_tangent(x: Array) -> Array:
    """The tangent of a leaf that does not move; None if it is not a number."""
    if not pytree.is_number(x):
        return None
    x = as_array(value_of(x))
    return np.zeros_like(x, dtype=x.dtype if x.dtype.kind in "fc" else float)


def positional(f: AnyFunction, args: Values, options: ByName) -> Values:
    """The arguments of a call in the order of the signature, with defaults."""
    try:
        bound = inspect.signature(f).bind(*args, **options)
    except TypeError as error:
        raise TypeError(f"{name_of(f)}: {error}") from None
    except ValueError:  # a function in C
        if options:
            raise TypeError(f"{name_of(f)}: Python cannot tell its arguments, so give them by position") from None
        return args
    bound.apply_defaults()
    if any([p.kind is p.KEYWORD_ONLY for p in bound.signature.parameters.values()]) or bound.kwargs:
        raise TypeError(f"{name_of(f)}: a custom_jvp has no keyword-only arguments: its rule gets primals by position")
    return bound.args


def name_of(f: object) -> str:
    """The name of a function."""
    return str(getattr(f, "__name__", type(f).__name__))
