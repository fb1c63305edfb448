"""Are the gradients right? ``af.gradcheck`` compares them with differences; ``af.check`` shows the comparison.

Several results are first made one number, L = Σ wᵢzᵢ, with fixed weights w that all differ: a rule that forgets its g,
or mixes up two places, would go unnoticed with equal ones. Then each entry of each input is moved, in one of two ways:

* by an imaginary step ih with h = 1e-30: Im L(x + ih)/h is exact to rounding, because nothing is subtracted (W. Squire
  and G. Trapp, SIAM Review 40, 1998). It needs functions that continue into the complex plane, which abs and max do
  not; so it is trusted only where it agrees with
* the central difference (L(x + h) - L(x - h)) / 2h.

If the slopes to the left and to the right differ, and still differ for a smaller step, there is a kink at x: then no
number can be right, and the report says so.

The file goes from a single difference to the report, which is text, or a table in a notebook, and then to the functions
that users call.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import brought, to_cpu
from ..backends.registry import array_type
from ..base import pytree
from ..base.columns import aligned
from ..base.errors import LOST, AutoflowError, GradcheckError, LostGradientError
from ..base.modes import modes, switched
from ..nodes.nodes import Variable, value_of
from ..table.shapes import Array, positional
from .gradient import value_gradient_and_aux
from .shadow import checked_run, same
from .vjp_jvp import vjp

# ---------------------------------------------------------------- differences: one entry of one input is moved a little

IMAGINARY = 1e-30


class Point:
    """A function, the point at which it is checked, and the tolerances."""

    def __init__(
        self, f: Callable[..., Any], xs: list[Array], names: list[str], eps: float | None, rtol: float, atol: float
    ) -> None:
        self.f, self.xs, self.names = f, xs, names
        self.eps = 6e-6 if eps is None else eps
        self.rtol, self.atol = rtol, atol
        self.analytic_continuation = True

    def values(self, xs: list[Array]) -> list[Array]:
        """The results at ``xs``, as plain arrays. f gets copies: it may write into them."""
        z = self.f(*[x.copy() for x in xs])
        return [np.array(value_of(part)) for part in pytree.tree_leaves(z)]

    def weights(self, values: list[Array]) -> list[Array]:
        """Fixed numbers between 0.5 and 1.5, no two alike, of either sign; for complex results complex ones."""
        rng = np.random.default_rng(20)
        made = []
        for z in values:
            w = rng.uniform(0.5, 1.5, z.shape) * rng.choice([-1.0, 1.0], z.shape)
            made.append(w + 1j * rng.uniform(0.5, 1.5, z.shape) if z.dtype.kind == "c" else w)
        return made

    def slopes(self, weights: list[Array]) -> list[Array]:
        """dL/dx for each x by a backward pass: the gradients to check."""
        value, pullback = vjp(self.f, *self.xs, allow_unused=True)
        seeds = iter(weights)
        return list(pullback(pytree.tree_map(lambda z: next(seeds).astype(z.dtype), value)))

    def gradient(self) -> Point:
        """The gradient of L as a function of its own, to be checked in turn."""
        weights = self.weights(self.values(self.xs))
        f = self.f

        def number(*xs: Any) -> Any:
            parts = [
                np.sum(np.real(np.conjugate(w) * z)) for w, z in zip(weights, pytree.tree_leaves(f(*xs)), strict=True)
            ]
            return sum(parts[1:], parts[0])

        def slope(*xs: Any) -> Any:
            return value_gradient_and_aux(number, tuple(range(len(xs))), xs, {}, allow_unused=True)[1]

        point = Point(slope, self.xs, self.names, self.eps, self.rtol, self.atol)
        point.analytic_continuation = False  # at x + ih it would be the gradient of something else
        return point


def only_weight(weights: list[Array]) -> float:
    """The weight of a single real result, which divides everything that is shown; else 1."""
    single = len(weights) == 1 and weights[0].size == 1 and weights[0].dtype.kind == "f"
    return float(weights[0].item()) if single else 1.0


def difference_at(
    point: Point, k: int, place: tuple[int, ...], values: list[Array], weights: list[Array], report: Report
) -> tuple[Any, float]:
    """dL/dx at one entry by differences, and how far rounding may have moved that. Complex x: dL/da + i dL/db."""
    total: Any = 0.0
    noise = 0.0
    for unit in (1.0, 1j) if point.xs[k].dtype.kind == "c" else (1.0,):
        h = point.eps * max(1.0, abs(point.xs[k][place]))
        right, left = [shift_entry(point, k, place, unit * step) for step in (h, -h)]
        slope = weighted_difference(weights, right, left) / (2 * h)
        biggest = sum([float(np.sum(np.abs(w * z))) for w, z in zip(weights, values, strict=True)])
        rounding = 1e-14 * biggest / h
        ahead, behind = (
            weighted_difference(weights, right, values) / h,
            weighted_difference(weights, values, left) / h,
        )
        if abs(ahead - behind) > 1e-3 * (1e-3 + max(abs(ahead), abs(behind))) + 4 * rounding:
            note_kink(point, k, place, unit, values, weights, (behind, ahead), report)
        exact = complex_step(point, k, place, weights) if unit == 1.0 else None
        if exact is not None and abs(exact - slope) <= 1e-4 * abs(slope) + 1e-6 + rounding:
            slope, rounding = exact, 1e-14 * biggest
        total, noise = total + unit * slope, noise + rounding
    return total, noise


def shift_entry(point: Point, k: int, place: tuple[int, ...], step: complex) -> list[Array]:
    """The results with one entry of one input moved."""
    xs = list(point.xs)
    xs[k] = xs[k].copy() if isinstance(step, float) or xs[k].dtype.kind == "c" else xs[k].astype(complex)
    xs[k][place] += step
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return point.values(xs)


def weighted_difference(weights: list[Array], a: list[Array], b: list[Array]) -> float:
    """L(a) - L(b), subtracted before summing, which rounds less."""
    with np.errstate(all="ignore"):
        parts = [np.sum(np.real(np.conjugate(w) * (x - y))) for w, x, y in zip(weights, a, b, strict=True)]
    return float(sum(parts))


def note_kink(
    point: Point, k: int, place: tuple[int, ...], unit: complex, values: list[Array], weights: list[Array],
    slopes: tuple[float, float], report: Report,
) -> None:  # fmt: skip
    """Curvature also makes the two slopes differ, but a hundredth of it for a hundredth of the step.

    If they agree for the small step, but on another slope than before, the kink is between the two.
    """
    h = point.eps * max(1.0, abs(point.xs[k][place])) / 100
    right, left = [shift_entry(point, k, place, unit * step) for step in (h, -h)]
    ahead, behind = weighted_difference(weights, right, values) / h, weighted_difference(weights, values, left) / h
    where = f"{point.names[k]}{list(place) if place else ''} = {point.xs[k][place]:.6g}"
    now_left, now_right, left_then, right_then = [x / only_weight(weights) for x in (behind, ahead, *slopes)]
    if not abs(ahead - behind) < 0.3 * abs(slopes[1] - slopes[0]):
        report.found.append(
            f"a kink at {where}: the slope is {now_left:.4g} to the left and {now_right:.4g} to the right, so there is "
            f"no derivative. Check elsewhere."
        )
    elif abs(sum(slopes) - ahead - behind) > 0.1 * abs(slopes[1] - slopes[0]):
        report.found.append(
            f"a kink within {100 * h:.1g} of {where}: the slopes there are {left_then:.4g} and {right_then:.4g}. "
            f"Check elsewhere, or with a smaller eps."
        )


def complex_step(point: Point, k: int, place: tuple[int, ...], weights: list[Array]) -> float | None:
    """Im L(x + ih)/h, or None where the function does not take complex numbers."""
    if not point.analytic_continuation or any([x.dtype.kind == "c" for x in (*point.xs, *weights)]):
        return None
    try:
        values = shift_entry(point, k, place, IMAGINARY * 1j)
    except Exception:  # whatever a function of real numbers raises for complex ones
        return None
    if any([z.shape != w.shape for z, w in zip(values, weights, strict=True)]):
        return None
    return float(sum([np.sum(w * np.imag(z)) for w, z in zip(weights, values, strict=True)]) / IMAGINARY)


# ---------------------------------------------------------------- the report of a check


SHOWN = 30  # rows of a table


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of one input."""

    __module__ = "autoflow"

    input: str
    entry: tuple[int, ...]
    analytic: Any
    numeric: Any
    error: float
    right: bool
    order: int

    def cells(self) -> list[str]:
        """The cells of one row of the table."""
        d = "" if self.order == 1 else f" (order {self.order})"
        numbers = [f"{x:.8g}" for x in (self.analytic, self.numeric)]
        return [self.input + d, str(self.entry), *numbers, f"{self.error:.1e}"]


@dataclass
class Report:
    """What a check found: true if all is well. ``rows``: one per entry; ``found``: what else is wrong, in words."""

    __module__ = "autoflow"

    of: str
    found: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.found and all([row.right for row in self.rows])

    def title(self) -> str:
        """The result in one line."""
        wrong = sum([not row.right for row in self.rows])
        n = len(self.rows)
        entries = f"{n} entr{'y' if n == 1 else 'ies'}"
        state = f"{wrong} wrong of {entries}" if wrong else f"{entries}, all right" if self else "cannot be compared"
        return f"check of {self.of}: {state}"

    def ordered_rows(self) -> list[Row]:
        """The rows of the table, wrong ones first, the worst of all on top."""
        order = sorted(self.rows, key=lambda row: (row.right, 0.0 if row.right else -row.error))
        return order[:SHOWN]

    def __str__(self) -> str:
        lines = [self.title(), *[f"  {text}" for text in self.found]]
        if self.rows:
            head = ("input    ", "entry", "      analytic", "       numeric", "rel. error", "")
            rows = [(*row.cells(), "" if row.right else "<- wrong") for row in self.ordered_rows()]
            lines += [f"  {line}" for line in aligned([head, *rows], right={2, 3, 4})]
        if len(self.rows) > SHOWN:
            lines.append(f"  ... and {len(self.rows) - SHOWN} more")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """For notebooks: a table that needs no script and no style sheet. None under ``af.options.static``: text."""
        if modes().static:
            return None
        parts = [f"<p><b>{html.escape(self.title())}</b></p>"]
        parts += [f"<pre>{html.escape(text)}</pre>" for text in self.found]
        if self.rows:
            head = "".join([f"<th>{x}</th>" for x in ("", "input", "entry", "analytic", "numeric", "rel. error")])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>")
            for row in self.ordered_rows():
                style = "" if row.right else ' style="background:#f8d7da;color:#58151c"'
                cells = ["✓" if row.right else "✗ wrong", *row.cells()]
                parts.append(f"<tr{style}>" + "".join([f"<td>{html.escape(c)}</td>" for c in cells]) + "</tr>")
            parts.append("</tbody></table>")
        if len(self.rows) > SHOWN:
            parts.append(f"<p>... and {len(self.rows) - SHOWN} more</p>")
        return "\n".join(parts)


# ---------------------------------------------------------------- af.gradcheck and af.check


# -- what the user calls


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


# -- what goes wrong before any derivative


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


# -- comparing


def compare(point: Point, report: Report, order: int) -> None:
    """Check the derivative of the function at the point, entry by entry, and note the problems."""
    before = [x.copy() for x in point.xs]
    written = [x.copy() for x in point.xs]
    values = [np.array(value_of(z)) for z in pytree.tree_leaves(point.f(*written))]
    for name, x, old in zip(point.names, written, before, strict=True):
        if not np.array_equal(x, old, equal_nan=True):
            report.found.append(f"the function writes into its input {name}: work on a copy, x = x.copy()")
    if not same(values, point.values(before)):
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
    if not same(analytic, again):
        report.found.append("the gradient is another one each time: a rule that uses random numbers?")
        return
    for k, name in enumerate(point.names):
        for place in np.ndindex(point.xs[k].shape):
            numeric, noise = difference_at(point, k, place, values, weights, report)
            report.rows.append(judge_entry(point, (name, place), (analytic[k][place], numeric, noise), weights, order))
    if any([not row.right for row in report.rows]) and not any([np.any(g) for g in analytic]):
        report.found.append(f"every gradient is zero: did the result leave the graph?\n{LOST}")


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
