"""Are the gradients right? ``af.gradcheck`` compares them with differences; ``af.check`` shows the comparison.

Several results are first made one number, L = Σ wᵢzᵢ, with fixed weights w that all differ: a rule that forgets its g,
or mixes up two places, would go unnoticed with equal ones. Then each entry of each input is moved, in one of two ways:

* by an imaginary step ih with h = 1e-30: Im L(x + ih)/h is exact to rounding, because nothing is subtracted (W. Squire
  and G. Trapp, SIAM Review 40, 1998). It needs functions that continue into the complex plane, which abs and max do
  not; so it is trusted only where it agrees with
* the central difference (L(x + h) - L(x - h)) / 2h.

If the slopes to the left and to the right differ, and still differ for a smaller step, there is a kink at x: then no
number can be right, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import pytree
from ..arrays.devices import brought, to_cpu
from ..backends.registry import array_type
from ..errors import LOST, AutoflowError, GradcheckError, LostGradientError
from ..modes import switched
from ..nodes.nodes import Variable, value_of
from ..rules.versions import positional
from .check_report import Report, Row
from .differences import Point, difference_at, only_weight
from .shadow import checked_run

Array = Any


# -- what the user calls ---------------------------------------------------------------------------------------------


def gradcheck(
    f: Callable[..., Any], *inputs: Any, order: int = 1, eps: float | None = None, rtol: float = 1e-5,
    atol: float = 1e-7,
) -> bool:  # fmt: skip
    """Compare the gradients of ``f`` at ``inputs`` with differences: True, or a GradcheckError with a table.

    f : any function of arrays that returns an array or several. It is called very often: use small inputs.
    inputs : float64 or complex128 arrays, numbers, or nested containers of them. Integers are passed on as they are.
    order : 2 also compares the derivatives of the gradient (3 of those, ...).
    eps : step of the differences, relative to max(1, abs(x)); by default 6e-6, the cube root of the rounding error.
    rtol, atol : the allowed difference: ``atol + rtol * abs(numeric)``.

    Also reported: functions that give different results each time; kinks at the point; inputs that are written into,
    share memory, or have too few digits; and, if a gradient is wrong, whether NumPy has read numbers of nodes without
    asking them.

    >>> gradcheck(lambda x, y: np.sin(x) * y, np.array([0.5, 1.0]), 2.0)
    True
    """
    report = check(f, *inputs, order=order, eps=eps, rtol=rtol, atol=atol)
    if not report:
        raise GradcheckError(str(report))
    return True


def check(
    f: Callable[..., Any], *inputs: Any, order: int = 1, eps: float | None = None, rtol: float = 1e-5,
    atol: float = 1e-7,
) -> Report:  # fmt: skip
    """As :func:`gradcheck`, but returns a report: a table in notebooks, text elsewhere, true if all is well.

    >>> check(lambda x: x**2, 3.0)
    check of <lambda>: 1 entry, all right
      input      entry        analytic         numeric  rel. error
      x          ()                  6               6     ...
    """
    report = Report(getattr(f, "__name__", type(f).__name__))
    names = _input_names(f, inputs)
    checked = [k for k, x in enumerate(pytree.tree_leaves(inputs)) if pytree.is_number(x) and _kind(x) in "fc"]
    if not checked:
        raise TypeError("there is nothing to check: give floats or float64 arrays")
    libraries = [array_type(x) for x in pytree.tree_leaves(inputs)]
    leaves = pytree.tree_leaves(to_cpu(inputs))
    copies = [np.array(value_of(x)) if k in checked else x for k, x in enumerate(leaves)]
    report.found += problems_of_inputs(leaves, names, checked)
    if report.found:
        return report

    def flat(*leaves: Any) -> Any:
        """``f`` as a function of the leaves that are checked. On another device it computes there: moving arrays is
        differentiable, so everything else here needs only NumPy."""
        given = dict(zip(checked, leaves, strict=True))
        everything = [given.get(k, x) for k, x in enumerate(copies)]
        return to_cpu(f(*pytree.tree_unflatten(inputs, map(brought, everything, libraries))))

    point = Point(flat, [copies[k] for k in checked], [names[k] for k in checked], eps, rtol, atol)
    for k in range(order):
        compare(point, report, k + 1)
        if report.found or not report:
            break
        point = point.gradient()
    if any([not row.right for row in report.rows]):
        try:
            with switched(recording=True):
                checked_run(lambda: flat(*[Variable(copies[k]) for k in checked]), f, inputs)
        except LostGradientError as error:
            report.found.append(str(error))
    return report


def _kind(x: Any) -> str:
    return x.dtype.kind if hasattr(x, "dtype") else str(np.asarray(x).dtype.kind)


def _input_names(f: Any, inputs: tuple[Any, ...]) -> list[str]:
    """A name for each leaf: the parameter's name, and the path into its container."""
    first = positional(f)[: len(inputs)]
    first += [f"input {k}" for k in range(len(first), len(inputs))]
    return [path for name, x in zip(first, inputs, strict=True) for path in pytree.tree_paths(x, name)]


# -- what goes wrong before any derivative ---------------------------------------------------------------------------


def problems_of_inputs(leaves: list[Any], names: list[str], checked: list[int]) -> list[str]:
    """Inputs with which a comparison would mislead."""
    found = []
    arrays = [(names[k], np.asarray(value_of(leaves[k]))) for k in checked]
    for name, x in arrays:
        if x.dtype.itemsize < (16 if x.dtype.kind == "c" else 8):
            found.append(
                f"{name} is {x.dtype}, which has too few digits to tell a wrong derivative from rounding: "
                f"check with {name}.astype(np.{'complex128' if x.dtype.kind == 'c' else 'float64'})"
            )
        if overlaps_itself(x):
            found.append(f"entries of {name} share memory (np.broadcast_to?): to move one moves others; give a copy")
    for i, (name, x) in enumerate(arrays):
        for other, y in arrays[i + 1 :]:
            if np.may_share_memory(x, y) and np.shares_memory(x, y):
                found.append(f"{name} and {other} share memory: to move one moves the other; give a copy of one")
    return found


def overlaps_itself(x: Array) -> bool:
    """Do two entries share an address? (Compares addresses only, so one byte of overlap is not seen.)"""
    addresses = np.zeros((), int)
    for n, stride in zip(x.shape, x.strides, strict=True):
        addresses = np.add.outer(addresses, stride * np.arange(n))
    return bool(len(np.unique(addresses)) < x.size)


# -- comparing ------------------------------------------------------------------------------------------------------


def compare(point: Point, report: Report, order: int) -> None:
    """Check the derivative of the function at the point, entry by entry, and write down what is found."""
    before = [x.copy() for x in point.xs]
    written = [x.copy() for x in point.xs]
    values = [np.array(value_of(z)) for z in pytree.tree_leaves(point.f(*written))]
    for name, x, old in zip(point.names, written, before, strict=True):
        if not np.array_equal(x, old, equal_nan=True):
            report.found.append(f"the function writes into its input {name}: work on a copy, x = x.copy()")
    if not _same(values, point.values(before)):
        report.found.append("the function gives another result each time: fix the seed of its random numbers")
    if report.found:
        return
    weights = point.weights(values)
    try:
        analytic = point.slopes(weights)
        again = point.slopes(weights)
    except AutoflowError as error:
        report.found.append(f"{type(error).__name__}: {error}")
        return
    if not _same(analytic, again):
        report.found.append("the gradient is another one each time: a rule that uses random numbers?")
        return
    for k, name in enumerate(point.names):
        for place in np.ndindex(point.xs[k].shape):
            numeric, noise = difference_at(point, k, place, values, weights, report)
            report.rows.append(judge_entry(point, (name, place), (analytic[k][place], numeric, noise), weights, order))
    if any([not row.right for row in report.rows]) and not any([np.any(g) for g in analytic]):
        report.found.append(f"every gradient is zero: did the result leave the graph?\n{LOST}")


def _same(a: list[Array], b: list[Array]) -> bool:
    """Bit for bit, NaNs included."""
    return len(a) == len(b) and all([np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True)])


def judge_entry(
    point: Point, entry: tuple[str, tuple[int, ...]], numbers: tuple[Any, Any, float], weights: list[Array], order: int
) -> Row:
    """One line of the table; of a function with a single result what its derivative is, without the weight."""
    weight = only_weight(weights)
    analytic, numeric, noise = numbers[0] / weight, numbers[1] / weight, numbers[2] / abs(weight)
    with np.errstate(all="ignore"):
        error = abs(analytic - numeric)
        size = max(abs(analytic), abs(numeric))
        right = bool(error <= point.atol + point.rtol * abs(numeric) + noise) or bool(analytic == numeric)
        return Row(*entry, analytic, numeric, float(error / size) if size else 0.0, right, order)
