"""How rows of scipy.special are written: functions with arguments that have no derivative.

A row has operands first and then options, to which no gradient flows: a node there is refused by its name. SciPy's
order is another (``jv(v, x)``), so the row belongs to a function with its arguments in the row's order.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy import special

from ..base.errors import NoRuleError
from .shapes import AnyFunction, Array, as_dtype, numbers_of, widen
from .table import COMPOSED, kernel, primitive, rule

ROOT_PI, ROOT_2 = math.sqrt(math.pi), math.sqrt(2.0)
zeta = special._ufuncs._zeta  # the ufunc behind special.zeta


def check_real(x: Array) -> Array:
    """``x`` itself, unless it is complex: SciPy has no complex version of that derivative."""
    if x.dtype.kind == "c":
        raise NoRuleError(
            "this derivative is known for real numbers only: SciPy has no complex version of it. "
            "If the numbers are real, take np.real(x) first"
        )
    return x


def in_double(compute: Any) -> Any:
    """``compute`` in double precision, as SciPy's functions do; its result has the precision of the arguments."""

    @functools.wraps(compute)
    def run(*xs: Any, **options: Any) -> Array:
        kind = np.result_type(*[getattr(x, "dtype", x) for x in xs])
        return as_dtype(compute(*[widen(x, np.float64, "") for x in xs], **options), kind)

    return run


def ratio(x: Array, y: Array) -> Array:
    """x / y, and 0 where x is 0, whatever y is: the pole of log at 0 does not matter if it is multiplied by 0."""
    nothing = x == 0
    return np.where(nothing, 0, x / np.where(nothing, 1, y))


def normal(x: Array) -> Array:
    """The density of the normal distribution, exp(−x²/2) / √2π."""
    return np.exp(-0.5 * (x * x)) / (ROOT_2 * ROOT_PI)


def flat_at_infinity(slope: AnyFunction) -> AnyFunction:
    """A slope that is 0 where an argument is ±∞ (a distribution function no longer changes there), whatever its formula
    says: harmless numbers are put into it, so that 0 · ∞ occurs neither in it nor in its derivatives."""

    @functools.wraps(slope)
    def run(*xs: Array, **options: object) -> Array:
        edge = functools.reduce(np.logical_or, [np.isinf(numbers_of(x)) for x in xs])
        finite = [x if isinstance(x, (int, float)) and math.isfinite(x) else np.where(edge, 0.5, x) for x in xs]
        return np.where(edge, 0, slope(*finite, **options))

    return run


def with_parameters(
    ufunc: AnyFunction, arguments: str, label: str, latex: str = "", *, domain: tuple[float, float] = (0.5, 2.0),
    order: tuple[int, ...] = (), name: str = "", part: int | None = None, whole: str = "", **derivatives: Any,
) -> AnyFunction:  # fmt: skip
    r"""A row for a ufunc some of whose arguments are options, and the function that has it.

    arguments : in the row's order, as for :func:`~autoflow.table.table.rule`.
    latex : by default the label, with the options as an index: ``J_{$v}\left($x\right)``.
    order : ``order[i]`` is the place in the row of the ufunc's i-th argument; by default the options come first.
    part : which of the ufunc's results, if it has several.
    whole : the options whose fraction SciPy drops; the derivative drops it, too.
    """
    operands, names = len(arguments.partition("|")[0].split()), arguments.replace("|", " ").split()
    latex = latex or rf"{label}_{{${', $'.join(names[operands:])}}}\left(${names[0]}\right)"
    order = order or (*range(operands, len(names)), *range(operands))

    def compute(*args: Array, **named: Array) -> Array:
        values = (*args, *[named[word] for word in names[len(args) :]])
        z = ufunc(*[values[place] for place in order])
        return z if part is None else z[part]

    compute.__name__ = compute.__qualname__ = name or ufunc.__name__
    turned = (primitive if isinstance(ufunc, np.ufunc) else kernel)(compute)
    rule(turned, arguments, label, latex, elementwise=True, domain=domain, name=name, **derivatives)
    if part is None:
        cut = tuple([names[place] in whole.split() for place in order])
        COMPOSED[ufunc] = functools.partial(_turn, turned, order, cut)
    return turned


def _turn(turned: AnyFunction, order: tuple[int, ...], cut: tuple[bool, ...], *args: Array) -> Array:
    """Call the row's function with the ufunc's arguments."""
    args = tuple([np.trunc(x) if whole and np.asarray(x).dtype.kind == "f" else x
                  for x, whole in zip(args, cut, strict=True)])  # fmt: skip
    return turned(*[args[order.index(k)] for k in range(len(order))])
