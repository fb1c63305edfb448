"""Rows of your own: derivatives as formulas, in the notation of ``autoflow/rules``.

    @af.primitive                                a function that you write
    def cube(x): return x**3
    cube.defvjp(x=lambda g, x: g * 3 * x**2)
    cube.defjvp(x=lambda t, x: t * 3 * x**2)     a formula for forward mode; without it the vjp is transposed

    af.register_rule(f, x=lambda g, x: ...)      a function of another library

``x``, ``y`` are the arguments by their names, ``z`` the result, ``g`` = dL/dz; a derivative names what it reads. ``g``
comes first, and may have another name. ``ans`` is the result, too, even if an argument is called ``z``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, overload

import numpy as np

from ..backends.registry import NODE_TYPES
from ..base import pytree
from ..base.errors import GradientShapeError, NoRuleError
from ..base.modes import modes
from ..base.types import F
from ..forward import operators
from ..forward.recording import FORWARD
from ..nodes.grads import check_numbers
from ..nodes.nodes import Node, NodeRole, read_only, unwritable, value_of
from ..rules import RULES
from ..table import table
from ..table.shapes import AnyFunction, Array, ByName, Values, has_gradient
from ..table.table import COMPOSED, MISSING, Example, Rule
from ..table.vjps import VJP, in_kind_of, needs_of, vjp_by_position
from .joint import call_on_numbers, check_history, check_numbers_read, own_gradient, own_result

P = ParamSpec("P")
OWN: set[AnyFunction] = set()  # functions whose rows users have written: these may be written again


class Primitive(Protocol[P]):
    """The result of :func:`primitive`: the function, with methods that give it derivatives."""

    def __call__(self, *args: P.args, **options: P.kwargs) -> Node:
        """The value: a node if an argument is one."""

    def defvjp(self, **derivatives: AnyFunction) -> Primitive[P]:
        """Give it its derivatives: one function per argument, by its name. More can be added later."""

    def defjvp(self, **tangents: AnyFunction) -> Primitive[P]:
        """The same for forward mode, after :meth:`defvjp`: ``x=lambda t, y: t * y``, the tangent of the result that x
        causes with its tangent t. Arguments that are not named go on by the transpose of their vjp."""


@overload
def primitive(
    *, label: str = "", latex: str = "", elementwise: bool = False, writable: bool = False
) -> Callable[[Callable[P, Any]], Primitive[P]]: ...
@overload
def primitive(function: Callable[P, Any]) -> Primitive[P]: ...
def primitive(
    function: Any = None, *, label: str = "", latex: str = "", elementwise: bool = False, writable: bool = False
) -> Any:  # fmt: skip
    """Make ``function`` one operation of the graph, whose derivatives :meth:`Primitive.defvjp` gives. A decorator.

    The function gets plain arrays and returns one. Parameters with a derivative may be nodes, and arrive read-only; the
    others, at any place, may be anything: functions, texts, None, plain arrays. ``label`` and ``latex`` (with
    ``$x`` for an argument) are for pictures. ``elementwise=True``: arguments broadcast, and the table undoes that in
    the derivatives.
    ``writable=True``: the function gets copies of arrays, in case it writes into them, or is in Cython and takes no
    read-only array.

    >>> import autoflow as af
    >>> @primitive
    ... def scaled(x, y, factor=2.0):
    ...     return factor * x * y
    >>> _ = scaled.defvjp(x=lambda g, y, factor: g * factor * y, y=lambda g, x, factor: g * factor * x)
    >>> x = af.Variable(3.0)
    >>> scaled(x, 5.0).backward()
    >>> x.grad
    array(10.)
    """
    if function is None:
        return functools.partial(primitive, label=label, latex=latex, elementwise=elementwise, writable=writable)
    new: Any = table.primitive(with_copies(function) if writable else function)
    words = {"label": label, "latex": latex, "elementwise": elementwise}
    new.tangents = {}
    new.defvjp, new.defjvp = functools.partial(_defvjp, new, words), functools.partial(_defjvp, new, words)
    return new


def with_copies(function: Any) -> Any:
    """``function``, which gets its own copies of arrays."""

    @functools.wraps(function)
    def copying(*args: Any, **options: Any) -> Any:
        copied, named = pytree.tree_map(lambda x: x.copy() if type(x) in NODE_TYPES else x, (args, options))
        return function(*copied, **named)

    return copying


def _defvjp(function: Any, words: ByName, /, **derivatives: AnyFunction) -> AnyFunction:
    """Give a primitive its derivatives: one function per argument, by its name. More can be added later."""
    old = RULES.get(function)
    _register(function, {**(old.derivatives if old else {}), **derivatives}, replace=True, **words)
    return function


def _defjvp(function: Any, words: ByName, /, **tangents: AnyFunction) -> AnyFunction:
    """Give a primitive its tangents: one function per argument that has a derivative."""
    old = RULES.get(function)
    if missing := tangents.keys() - (old.derivatives if old else {}).keys():
        names = ", ".join(sorted(missing))
        raise NoRuleError(f"{function.__name__} has no vjp with respect to {names}: give it with defvjp first")
    function.tangents.update(tangents)
    return _defvjp(function, words)


def register_rule(
    function: F, /, *, label: str = "", latex: str = "", arguments: tuple[str, ...] = (),
    elementwise: bool | None = None, domain: tuple[float, float] = (-2.0, 2.0), examples: tuple[Example, ...] = (),
    replace: bool = False, **derivatives: AnyFunction,
) -> F:  # fmt: skip
    """Give a function of another library a row in the table of derivatives.

    function : a ufunc, which then takes nodes itself; or any other function of arrays. Such a function does not know
        about nodes, so call the returned function instead.
    **derivatives : one per argument through which gradients flow, by its name.
    label, latex : for pictures; ``$x`` in the LaTeX is an argument.
    arguments : their names, if Python does not know them (ufuncs: the names of the derivatives, else x, y, ...).
    elementwise : arguments broadcast; the default for ufuncs.
    domain, examples : where the row can be tested, and the calls to test it with: ``autoflow.rules.of((2, 3),
    axis=1)``.

    Raises ValueError if the function already has a row, unless ``replace=True``. Then older graphs use the new row,
    too.

    >>> import autoflow as af
    >>> def bump(x, width=1.0):
    ...     return np.exp(-np.asarray(x)**2 / width)
    >>> bump = register_rule(bump, label="bump", x=lambda g, x, z, width: g * z * (-2 * x / width))
    >>> x = af.Variable(1.0)
    >>> bump(x).backward()
    >>> round(float(x.grad), 4)
    -0.7358
    """
    words: ByName = {
        "label": label, "latex": latex, "arguments": arguments, "elementwise": elementwise, "domain": domain,
        "examples": examples, "replace": replace,
    }  # fmt: skip
    named = {name: word for name, word in words.items() if callable(word)}  # arguments of that name
    return _register(function, {**derivatives, **named}, **{name: words[name] for name in words.keys() - named.keys()})


def _register(
    function: Any, derivatives: dict[str, AnyFunction], *, label: str = "", latex: str = "",
    arguments: tuple[str, ...] = (), elementwise: bool | None = None, domain: tuple[float, float] = (-2.0, 2.0),
    examples: tuple[Example, ...] = (), replace: bool = False,
) -> Any:  # fmt: skip
    """The same, with the derivatives in a dict: arguments may have any names."""
    exists = function in RULES or function in COMPOSED
    if exists and not replace:
        raise ValueError(f"{function.__name__} has a rule already. To replace it: register_rule(..., replace=True)")
    if not derivatives:
        raise TypeError(f"register_rule of {function.__name__} needs derivatives by argument name: x=lambda g, x: ...")
    if not (isinstance(function, np.ufunc) or hasattr(function, "compute") or exists):
        function = table.primitive(function)
    parameters = parameters_of(function, arguments, derivatives)
    names = [p.name for p in parameters]
    if unknown := set(derivatives) - set(names):
        raise TypeError(f"{function.__name__} has no argument {', '.join(sorted(unknown))}; it has {', '.join(names)}")
    row = _row(function, parameters, derivatives, elementwise)
    operands = ", ".join(["$" + name for name in row.names[: row.operands]])
    row.label, row.domain, row.examples = label or function.__name__, domain, examples
    row.latex = latex or rf"\operatorname{{{function.__name__}}}\left({operands}\right)"
    old = RULES.setdefault(function, row)
    if function in OWN and not isinstance(function, np.ufunc) and old.names != row.names:
        row.count_with(old)
        RULES[function] = row  # what was recorded keeps the old one, which has the order of its operands
    elif old is not row:  # many closures hold it: let the old row become the new one
        _become(old, row)
    OWN.add(function)
    if function in FORWARD:
        operators.install()  # without a derivative for each operand there is no quick closure
    return function


def parameters_of(function: AnyFunction, names: tuple[str, ...], derivatives: ByName) -> list[inspect.Parameter]:
    """The parameters of a function, from its signature or as given."""
    if isinstance(function, np.ufunc):
        names = names or (tuple(derivatives) if len(derivatives) == function.nin else tuple("xyzuvw"[: function.nin]))
        names = names[: function.nin]
    if names:
        return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise TypeError(f"the arguments of {function.__name__} are not known: give arguments=('x', ...)") from None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise TypeError(f"{function.__name__} takes *args or **options: give arguments=('x', ...), all that are used")
    return parameters


class OwnRule(Rule):
    """A user's row: its arguments come in the function's order, and a node where no derivative is known is refused (in
    our own rows, as for the condition of np.where, it is known to be zero)."""

    __slots__ = ()

    def bind(self, args: Values, options: ByName) -> Values:
        """The call as one tuple in the row's order."""
        if self.order != self.names:
            by_name = dict(zip(self.order, args, strict=False))
            if len(args) <= len(self.order) and not by_name.keys() & options.keys():
                args, options = (), {**by_name, **options}
        values = super().bind(args, options)
        if not modes().recording:
            return (*values[: self.operands], *[value_of(v) for v in values[self.operands :]])
        for k, (name, value) in enumerate(zip(self.names, values, strict=True)):
            if (k >= self.operands or self.needs[k] is None) and has_gradient(value):
                raise NoRuleError(
                    f"{self.name} has no derivative with respect to {name}, which is a node with a history here: "
                    f"give it one, {name}=lambda g, ...: ..., or use {name}.value, if it is a constant"
                )
        return values


def _row(function: Any, parameters: list[inspect.Parameter], derivatives: Any, elementwise: bool | None) -> Rule:
    """The row, with what users' functions need in addition: arguments in any order, keyword-only options, and checks
    of the results. Arguments that have a derivative come first in the row; all others are options, which may be
    anything. All arguments of a ufunc are arrays."""
    given_names = [p.name for p in parameters]
    is_ufunc = isinstance(function, np.ufunc)
    first = [name for name in given_names if is_ufunc or name in derivatives]
    names = (*first, *[name for name in given_names if name not in first])
    result = tuple([word for word in ("z", "ans") if word not in names])
    derivatives = {k: checked_derivative(function.__name__, k, f, names, result) for k, f in derivatives.items()}
    plain, place = getattr(function, "compute", function), {name: k for k, name in enumerate(names)}
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

    def compute(*values: Any) -> Any:
        values = (*map(read_only, values[: len(first)]), *values[len(first) :])  # memory of nodes, or of the user
        arguments = [values[place[name]] for name in positional]
        try:
            named = {name: values[place[name]] for name in keywords}
            return own_result(call_on_numbers(plain, arguments, named), values)
        except ValueError as error:
            pairs = zip(names, values, strict=True)
            fixed = [name for name, v in pairs if type(v) is np.ndarray and not v.flags.writeable]
            if fixed and "read-only" in str(error):
                error.add_note(
                    f"{function.__name__} gets read-only arrays as {', '.join(fixed)}. If it writes into them, or is "
                    f"in Cython and takes no const, af.primitive(writable=True) gives it copies."
                )
            raise

    default = {p.name: MISSING if p.default is p.empty else p.default for p in parameters}
    row = table.new_row(
        OwnRule, function, names, tuple([default[name] for name in names]), len(first), derivatives,
        compute=function if is_ufunc else compute, elementwise=elementwise, result=result,
    )  # fmt: skip
    row.order = tuple(positional)
    row.vjps = tuple([vjp and _checked_vjp(vjp, row, k) for k, vjp in enumerate(row.vjps)])
    row.scalar_vjps = tuple([vjp and _checked_vjp(vjp, row, k) for k, vjp in enumerate(row.scalar_vjps)])
    for name, tangent in getattr(function, "tangents", {}).items():
        _add_push(row, names.index(name), checked_derivative(function.__name__, name, tangent, names, result), result)
    return row


def _add_push(row: Rule, k: int, tangent: AnyFunction, result: tuple[str, ...]) -> None:
    """Let forward mode use ``tangent`` for the row, and keep the values that it reads, too."""
    needs = needs_of(tangent, {name: j for j, name in enumerate(row.names)} | dict.fromkeys(result, -1))
    pushes = row.pushes or (None,) * row.operands
    row.pushes = (*pushes[:k], _checked_vjp(vjp_by_position(tangent, needs), row, k, of=-1), *pushes[k + 1 :])
    row.needs = (*row.needs[:k], (*(row.needs[k] or ()), *needs), *row.needs[k + 1 :])


def checked_derivative(
    function: str, name: str, derivative: AnyFunction, names: tuple[str, ...], result: tuple[str, ...]
) -> AnyFunction:
    """The derivative, if its arguments make sense: first g, then the values it reads. Others need a default, as in
    ``lambda g, x, k=k: ...``, and keep it. Otherwise raises TypeError."""
    parameters = list(inspect.signature(derivative).parameters.values())
    readable = {*names, *result} | {f"{word}_{what}" for word in (*names, *result) for what in ("shape", "dtype")}
    words = [p.name for p in parameters]
    if not words or (words[0] != "g" and (words[0] in readable or "g" in set(words[1:]) - {*names})):
        raise TypeError(
            f"the derivative of {function} with respect to {name} gets g = dL/d(result) first, not ({', '.join(words)})"
        )
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    read = [p for p in parameters[1:] if p.name in readable and p.kind in places]
    left = [p for p in parameters[1:] if p not in read]
    wrong = [p.name for p in left if p.default is p.empty or p.name in readable]
    if wrong or parameters[0].kind not in places:
        raise TypeError(
            f"the derivative of {function} with respect to {name} reads {', '.join(wrong or words)}, which is not "
            f"known there. After g it may read {', '.join(names)}, the result as {' or '.join(result) or 'nothing'}, "
            f"and their shapes and dtypes ({names[0]}_shape, {names[0]}_dtype)"
        )
    if not left:
        return derivative

    def without_others(g: Array, *values: object) -> Array:
        return derivative(g, **{p.name: v for p, v in zip(read, values, strict=True)})

    without_others.__signature__ = inspect.Signature([parameters[0], *read])  # type: ignore[attr-defined]
    return without_others


def _checked_vjp(vjp: VJP, row: Rule, k: int, of: int | None = None) -> VJP:
    """A user's derivative with respect to operand k, whose result is checked: it is like that operand, or like
    ``saved[of]``."""
    of, like = (k, row.names[k]) if of is None else (of, "the result")
    what = f"the derivative of {row.name} with respect to {row.names[k]}"

    def pulling(g: Array, saved: Values) -> Array:
        arguments = [read_only(x) if type(x) is np.ndarray else x for x in saved]  # others read them, too
        sent, like_this = vjp(unwritable(g), tuple(arguments)), saved[of]
        sent = sent if isinstance(g, NodeRole) else value_of(sent)  # it may have computed with a node from outside
        shape = like_this.shape if hasattr(like_this, "shape") else np.shape(like_this)
        dtype = getattr(like_this, "dtype", g.dtype)
        if g.dtype.kind != "c":  # else a real argument is sent the real part
            check_numbers(sent, dtype, what, like)
        if not hasattr(sent, "dtype"):
            sent = np.asarray(sent, g.dtype)
        sent = in_kind_of(dtype, sent)
        if sent.shape != shape:
            raise GradientShapeError(f"{what} returned shape {sent.shape}, but {like} has shape {shape}")
        check_history(sent, [g], row.name)
        check_numbers_read(lambda copy: [vjp(copy(g), tuple(map(copy, saved)))], [sent], (g, *saved), row.name)
        return own_gradient(sent, [g], 1)

    return pulling


def _become(old: Rule, new: Rule) -> None:
    """Replace the contents of a row that others refer to with those of another row; its counter continues."""
    old.__class__ = type(new)
    for slot in Rule.__slots__:
        setattr(old, slot, getattr(new, slot))
