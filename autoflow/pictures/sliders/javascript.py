"""Rules in JavaScript, for pages that compute in the browser: traced, not written by hand.

A row is written with NumPy's functions, so it is called with :class:`Letter` in place of numbers, and what it computes
is written down: its value, and what its vjps send to each operand. Only what JavaScript calls a function of NumPy is a
table. A row that asks for a number (an ``if``), or calls what is not in the table, has no JavaScript.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...rules.arithmetic import i0_derivative
from ...table.shapes import CLIP, functions
from ...table.table import RULES

FEW = 5  # operands that elementwise rows have at most
LONG = 24  # characters: a longer expression becomes a constant, so that one that is used twice is computed once
SAME = (
    np.sqrt, np.cbrt, np.exp, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.sinh, np.cosh,
    np.tanh, np.floor, np.ceil, np.trunc, np.sign,
)  # fmt: skip
INVERSE = np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh
MATH = {
    **{f: f"Math.{f.__name__}({{}})" for f in SAME},
    **{f: f"Math.{f.__name__.replace('arc', 'a')}({{}})" for f in INVERSE},
    np.absolute: "Math.abs({})", np.fabs: "Math.abs({})", np.hypot: "Math.hypot({}, {})",
    np.arctan2: "Math.atan2({}, {})", np.maximum: "Math.max({}, {})", np.minimum: "Math.min({}, {})",
    **dict.fromkeys(functions(np, "fix"), "Math.trunc({})"),
}  # fmt: skip
OPERATORS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.power: "**", np.float_power: "**",
    np.fmod: "%", np.greater: ">", np.greater_equal: ">=", np.less: "<", np.less_equal: "<=", np.equal: "===",
    np.not_equal: "!==", np.logical_and: "&&", np.bitwise_and: "&&", np.logical_or: "||", np.bitwise_or: "||",
}  # fmt: skip
OTHERS = {  # what is in no package is in explore.js
    np.positive: "{}", np.negative: "(-{})", np.square: "({0} * {0})", np.reciprocal: "(1 / {})", np.exp2: "(2 ** {})",
    np.degrees: "({} * 180 / Math.PI)", np.rad2deg: "({} * 180 / Math.PI)",
    np.radians: "({} * Math.PI / 180)", np.deg2rad: "({} * Math.PI / 180)",
    np.logical_not: "(!{})", np.invert: "(!{})", np.isnan: "isNaN({})", np.isfinite: "isFinite({})",
    np.where: "({} ? {} : {})", np.zeros_like: "0", np.ones_like: "1",
    np.conjugate: "{}", np.real: "{}", np.imag: "0", np.angle: "({} < 0 ? ({} ? 180 : Math.PI) : 0)",
    np.fmax: "(isNaN({0}) ? {1} : isNaN({1}) ? {0} : Math.max({0}, {1}))",
    np.fmin: "(isNaN({0}) ? {1} : isNaN({1}) ? {0} : Math.min({0}, {1}))",
    np.heaviside: "({0} > 0 ? 1 : {0} < 0 ? 0 : {0} === 0 ? {1} : NaN)", np.copysign: "copysign({}, {})",
    np.floor_divide: "floorDivide({}, {})", np.remainder: "remainder({}, {})", np.rint: "rint({})",
    np.round: "roundTo({}, {})", np.logaddexp: "logaddexp({}, {})",
    np.logaddexp2: "(logaddexp({} * Math.LN2, {} * Math.LN2) / Math.LN2)", np.sinc: "sinc({})", np.i0: "i0({}, 0)",
    i0_derivative: "i0({}, {})", np.nan_to_num: "finite({0}, {2}, {3}, {4})", **dict.fromkeys(
        (np.clip, CLIP), "clip({}, {}, {})"),
}  # fmt: skip
TEMPLATES: dict[Any, str] = {**MATH, **{f: f"({{}} {sign} {{}})" for f, sign in OPERATORS.items()}, **OTHERS}
KNOWN = {np.iscomplexobj: False, np.isrealobj: True}


class NoFormulaError(TypeError):
    """What is traced cannot be written down."""


class Letter(NDArrayOperatorsMixin):
    """A number that is not known: an expression in JavaScript. ``lines`` are the constants that it may use."""

    takes_primitives = True
    shape, ndim, size, dtype = (), 0, 1, np.dtype(float)

    def __init__(self, text: str, lines: list[str]) -> None:
        self.text, self.lines = text, lines

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        return self.call(ufunc if method == "__call__" else None, args, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return self.call(function, args, options)

    def call(self, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """The function's template filled in; of a function of ours that has none, what it computes."""
        if function in KNOWN:
            return KNOWN[function]
        if function not in TEMPLATES and hasattr(function, "compute"):
            return function.compute(*args, **options)
        if function not in TEMPLATES or options:
            raise NoFormulaError(f"JavaScript has no {function}")
        text = TEMPLATES[function].format(*map(literal, args))
        if len(text) > LONG:
            if text not in self.lines:
                self.lines.append(text)
            text = f"t{self.lines.index(text)}"
        return Letter(text, self.lines)

    def astype(self, dtype: Any) -> Letter:
        """JavaScript adds true and false as 1 and 0."""
        return self

    def __bool__(self) -> bool:
        raise NoFormulaError("an if")

    __float__ = __int__ = __index__ = __bool__


def literal(x: Any) -> str:
    """A letter or a known value in JavaScript.

    >>> literal(None), literal(True), literal(-2.0), literal(np.inf)
    ('null', 'true', '(-2.0)', 'Infinity')
    """
    if isinstance(x, Letter):
        return x.text
    if x is None or isinstance(x, (bool, np.bool)):
        return "null" if x is None else str(bool(x)).lower()
    x = np.asarray(x)[()]
    if np.ndim(x) or x.dtype.kind not in "iuf":
        raise NoFormulaError(f"{type(x).__name__} is no number")
    text = repr(x.item()) if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
    return f"({text})" if text.startswith("-") else text


def as_javascript(rule: Any, is_absent: tuple[bool, ...] = ()) -> str | None:
    """A row as a list of functions: the value, then what is sent to each operand. None if it cannot be written down.

    They get the operands, then the options. ``is_absent``: which operands are None. A function of ours is called as it
    was written.

    >>> as_javascript((af.Variable(1.0) * 2.0).grad_fn.rule)
    '[(x0,x1)=>(x0 * x1),(g,x0,x1,z)=>(g * x1),(g,x0,x1,z)=>(g * x0)]'
    """
    return trace_row(rule, rule.scalar_vjps, is_absent)


@lru_cache(1024)
def trace_row(rule: Any, vjps: tuple[Any, ...], is_absent: tuple[bool, ...]) -> str | None:
    """The same, once for all records of a rule."""
    names = [f"x{k}" for k in range(len(rule.names))]
    absent = {k for k, missing in enumerate(is_absent) if missing}

    def traced(run: Callable[[list[Any]], Any], parameters: list[str]) -> str:
        lines: list[str] = []
        letters = [None if k in absent else Letter(name, lines) for k, name in enumerate(names)]
        result = literal(run([*letters, Letter("z", lines), Letter("g", lines)]))
        constants = "".join([f"const t{k}={line};" for k, line in enumerate(lines)])
        return f"({','.join(parameters)})=>{f'{{{constants}return {result}}}' if constants else result}"

    def value(saved: list[Any]) -> Any:
        letter = next(x for x in saved if isinstance(x, Letter))
        if rule.function in TEMPLATES:
            return letter.call(rule.function, saved[:-2], {})
        function, order = getattr(rule.function, "compute", rule.compute), rule.order
        given = dict(zip(rule.names, saved, strict=False))
        return function(*[given.pop(name) for name in order], **given)

    def sent(k: int) -> Callable[[list[Any]], Any]:
        return lambda saved: vjps[k](saved[-1], saved[:-1])

    if rule.joint is not None or rule.variadic:
        return None
    try:
        found = [traced(value, names)]
        for k in range(rule.operands):
            missing = vjps[k] is None or k in absent
            found.append("()=>NaN" if missing else traced(sent(k), ["g", *names, "z"]))
    except Exception:  # whatever a rule of the user's does with a letter: then it needs numbers
        return None
    return f"[{','.join(found)}]"


def find_row(record: Any) -> tuple[str, str] | None:
    """What the row of a record is called in a page, and the row; None if the page cannot compute it."""
    rule, n = record.rule, record.rule.operands
    if not all([x is None or isinstance(x, (bool, int, float, np.generic)) for x in record.saved[n:-1]]):
        return None
    is_absent = tuple([x is None for x in record.saved[:n]])
    text = as_javascript(rule, is_absent if any(is_absent) else ())
    return None if text is None else (name_of(rule, is_absent), text)


def name_of(rule: Any, is_absent: Sequence[bool]) -> str:
    """``"clip"``, or ``"clip without max"``."""
    missing = [name for name, absent in zip(rule.names, is_absent, strict=False) if absent]
    return f"{rule.name} without {' '.join(missing)}" if missing else str(rule.name)


def all_rows() -> dict[str, str]:
    """Every row of the table that can be written down, by its name; with those in which operands are absent."""
    found: dict[str, str] = {}
    for rule in dict.fromkeys(RULES.values()):
        optional = [(False, True) if default is None else (False,) for default in rule.defaults[: rule.operands]]
        for is_absent in itertools.product(*optional) if len(optional) < FEW else ():
            text = as_javascript(rule, is_absent if any(is_absent) else ())
            if text is not None:
                found.setdefault(name_of(rule, is_absent), text)
    return found
