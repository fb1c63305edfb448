"""Rows of your own: derivatives as formulas, in the notation of ``autoflow/rules``.

    @af.primitive                                a function that you write
    def cube(x): return x**3
    cube.defvjp(x=lambda g, x: g * 3 * x**2)

    af.register_rule(f, x=lambda g, x: ...)      a function of another library

``x``, ``y`` are the arguments by their names, ``z`` the result, ``g`` = dL/dz; a derivative names what it reads.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GradientShapeError
from ..forward import operators
from ..forward.recording import FORWARD
from ..rules import RULES, table
from ..rules.table import COMPOSED, MISSING, Example, Rule, rule
from .joint import check_history, own_result

Array = Any
Derivative = Callable[..., Any]
OWN: set[Any] = set()  # functions whose rows users have written: these may be written again


def primitive(function: Any = None, *, label: str = "", latex: str = "", elementwise: bool = False) -> Any:
    """Make ``function`` one operation of the graph, whose derivatives :func:`defvjp` gives. A decorator.

    The function gets plain arrays and returns one. Its positional parameters, up to the last one with a derivative, may
    be nodes; the rest are options. ``label`` and ``latex`` (with ``$x`` for an argument) are for pictures.
    ``elementwise=True``: arguments broadcast, and the table undoes that in the derivatives.

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
        return functools.partial(primitive, label=label, latex=latex, elementwise=elementwise)
    new = table.primitive(function)
    new.defvjp = functools.partial(_defvjp, new, {"label": label, "latex": latex, "elementwise": elementwise})
    return new


def _defvjp(function: Any, words: dict[str, Any], **derivatives: Derivative) -> Any:
    """Give a primitive its derivatives: one function per argument, by its name. More can be added later."""
    old = RULES.get(function)
    every: Any = {**(old.derivatives if old else {}), **derivatives}
    register_rule(function, **words, replace=True, **every)
    return function


def register_rule(
    function: Any, *, label: str = "", latex: str = "", arguments: tuple[str, ...] = (),
    elementwise: bool | None = None, domain: tuple[float, float] = (-2.0, 2.0), examples: tuple[Example, ...] = (),
    replace: bool = False, **derivatives: Derivative,
) -> Any:  # fmt: skip
    """Give a function of another library a row in the table of derivatives.

    function : a ufunc, which then takes nodes itself; or any function of arrays. NumPy cannot tell us when such a
        function is called with a node, so call the returned function instead.
    **derivatives : one per argument through which gradients flow, by its name.
    label, latex : for pictures; ``$x`` in the LaTeX is an argument.
    arguments : their names, if Python cannot tell them (ufuncs: the names of the derivatives, else x, y, ...).
    elementwise : arguments broadcast; the default for ufuncs.
    domain, examples : where the row can be tried, as in ``autoflow.rules.table.rule``.

    Raises ValueError if the function has a row, unless ``replace=True``. Finish with older graphs first: they would run
    the new row.

    >>> import autoflow as af
    >>> def bump(x, width=1.0):
    ...     return np.exp(-np.asarray(x)**2 / width)
    >>> bump = register_rule(bump, label="bump", x=lambda g, x, z, width: g * z * (-2 * x / width))
    >>> x = af.Variable(1.0)
    >>> bump(x).backward()
    >>> round(float(x.grad), 4)
    -0.7358
    """
    known = function in RULES or function in COMPOSED
    if known and not replace:
        raise ValueError(f"{function.__name__} has a rule. To put yours in its place: register_rule(..., replace=True)")
    if not derivatives:
        raise TypeError(f"register_rule of {function.__name__} wants derivatives by argument: x=lambda g, x: ...")
    if not (isinstance(function, np.ufunc) or hasattr(function, "compute") or known):
        function = table.primitive(function)
    parameters = parameters_of(function, arguments, derivatives)
    names = [p.name for p in parameters]
    if unknown := set(derivatives) - set(names):
        raise TypeError(f"{function.__name__} has no argument {', '.join(sorted(unknown))}; it has {', '.join(names)}")
    old = RULES.pop(function, None)
    try:
        row = _row(function, parameters, derivatives, label, latex, elementwise, domain, examples)
    except Exception:
        if old is not None:
            RULES[function] = old
        raise
    if old is not None:  # in many closures already: let the old row become the new one
        _become(old, row)
        RULES[function] = row = old
    OWN.add(function)
    if old is not None and function in FORWARD:
        operators.install()  # quick closures know what the old row needed
        if (precision := sys.modules.get("autoflow.forward.mixed_precision")) is not None:
            precision.connect()
    return function


def parameters_of(function: Any, names: tuple[str, ...], derivatives: dict[str, Any]) -> list[inspect.Parameter]:
    """The parameters of a function, by its signature or as they were given."""
    if isinstance(function, np.ufunc):
        names = names or (tuple(derivatives) if len(derivatives) == function.nin else tuple("xyzuvw"[: function.nin]))
        names = names[: function.nin]
    if names:
        return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise TypeError(f"the arguments of {function.__name__} are not known: give arguments=('x', ...)") from None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found):
        raise TypeError(f"{function.__name__} takes *args or **options: give arguments=('x', ...), all that are used")
    return found


def _row(
    function: Any, parameters: list[inspect.Parameter], derivatives: Any, label: str, latex: str,
    elementwise: bool | None, domain: tuple[float, float], examples: tuple[Example, ...],
) -> Rule:  # fmt: skip
    """The row, with what a user's functions need in addition: keyword-only options, and checks of the results."""
    names = [p.name for p in parameters]
    n = 1 + max(names.index(name) for name in derivatives)  # operands: up to the last with a derivative
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    plain, m = getattr(function, "compute", function), len(names) - len(keywords)

    def compute(*values: Any) -> Any:
        return own_result(plain(*values[:m], **dict(zip(keywords, values[m:], strict=True))), values)

    row = rule(
        function, " ".join(names[:n]) + " | " + " ".join(names[n:]), label or function.__name__,
        latex or rf"\operatorname{{{function.__name__}}}\left({', '.join('$' + name for name in names[:n])}\right)",
        compute=function if isinstance(function, np.ufunc) else compute, elementwise=elementwise, domain=domain,
        examples=examples, **derivatives,
    )  # fmt: skip
    row.defaults = tuple([MISSING if p.default is p.empty else p.default for p in parameters])
    row.required = row.defaults.count(MISSING)
    row.vjps = tuple([vjp and _checked_vjp(vjp, row, k) for k, vjp in enumerate(row.vjps)])
    row.scalar_vjps = tuple([vjp and _checked_vjp(vjp, row, k) for k, vjp in enumerate(row.scalar_vjps)])
    return row


def _checked_vjp(vjp: Any, row: Rule, k: int) -> Any:
    """A user's derivative, whose result is checked."""

    def pulling(g: Any, saved: tuple[Any, ...]) -> Any:
        sent, shape = vjp(g, saved), np.shape(saved[k]) if not hasattr(saved[k], "shape") else saved[k].shape
        if not hasattr(sent, "dtype"):
            sent = np.asarray(sent, g.dtype)
        if sent.shape != shape:
            raise GradientShapeError(
                f"the derivative of {row.name} by {row.names[k]} returned shape {sent.shape}, but {row.names[k]} has "
                f"shape {shape}"
            )
        check_history(sent, g, row.name)
        return sent

    return pulling


def _become(old: Rule, new: Rule) -> None:
    """Give a row that others refer to the contents of another row; the counter of its name goes on."""
    for slot in Rule.__slots__:
        if hasattr(new, slot):
            setattr(old, slot, getattr(new, slot))
        elif hasattr(old, slot):
            delattr(old, slot)
