"""Are the gradients right? ``af.gradcheck`` compares them with differences; ``af.check`` shows the comparison.

Several results are first made one number, L = Σ wᵢzᵢ, with fixed weights w that all differ: a rule that forgets its g,
or mixes up two places, would go unnoticed with equal ones. Then each entry of each input is moved, in one of two ways:

* by an imaginary step ih with h = 1e-30: Im L(x + ih)/h is exact to rounding, because nothing is subtracted (W. Squire
  and G. Trapp, SIAM Review 40, 1998). It needs functions that continue into the complex plane, which abs and max do
  not; so it is trusted only where it agrees with
* the central difference (L(x + h) - L(x - h)) / 2h. Where that is another one for a smaller step, h is made smaller
  until it is not: of log(x) at 1e-6 the first step leads to the other side of 0.

If the slopes to the left and to the right differ, and differ as much close to where they do, there is a kink: then no
number can be right, and the report says so. It also says where rounding hides slopes: 1e12 + x² tells nothing of x².

The file goes from a single difference to the report, which is text, or a table in a notebook, and then to the functions
that users call.
"""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ..arrays import to_cpu, to_library
from ..backends.registry import array_type
from ..base import pytree
from ..base.columns import aligned
from ..base.errors import LOST, AutoflowError, GradcheckError, LostGradientError
from ..base.modes import modes, switched
from ..base.numbering import now
from ..nodes.cuts import take_constants
from ..nodes.nodes import Variable, value_of
from ..table.shapes import AnyFunction, Array, Shape, Values, as_array, positional
from .gradient import grad
from .shadow import checked_run, same
from .vjp_jvp import vjp

# ---------------------------------------------------------------- differences: one entry of one input is moved a little

IMAGINARY = 1e-30


@dataclass
class Point:
    """A function, the point at which it is checked, and the tolerances."""

    f: AnyFunction
    xs: list[Array]
    names: list[str]
    eps: float
    rtol: float
    atol: float | None
    analytic_continuation: bool = True
    start: Sequence[Array] = ()  # the results there

    def values(self, xs: list[Array]) -> list[Array]:
        """The results at ``xs``, as plain arrays. f may write into these."""
        return [np.array(value_of(part)) for part in pytree.tree_leaves(self.f(*xs))]

    @cached_property
    def weights(self) -> list[Array]:
        """Fixed numbers between 0.5 and 1.5, no two alike, of either sign; for complex results complex ones."""
        rng = np.random.default_rng(20)
        weights = []
        for z in self.start:
            w = rng.uniform(0.5, 1.5, z.shape) * rng.choice([-1.0, 1.0], z.shape)
            weights.append(w + 1j * rng.uniform(0.5, 1.5, z.shape) if z.dtype.kind == "c" else w)
        return weights

    @property
    def weight(self) -> float:
        """The weight of a single real result, which divides everything that is shown; else 1."""
        single = len(self.weights) == 1 and self.weights[0].size == 1 and self.weights[0].dtype.kind == "f"
        return float(self.weights[0].item()) if single else 1.0

    def difference(self, moved: list[Array]) -> float:
        """How much larger L is with these results, subtracted before summing, which rounds less."""
        pairs = zip(self.weights, moved, self.start, strict=True)
        return float(sum([np.sum(np.real(np.conjugate(w) * (x - y))) for w, x, y in pairs]))

    def slopes(self) -> list[Array]:
        """dL/dx for each x by a backward pass: the gradients to check."""
        value, pullback = vjp(self.f, *self.xs, allow_unused=True)
        seeds = iter(self.weights)
        return list(pullback(pytree.tree_map(lambda z: next(seeds).astype(z.dtype), value)))

    def gradient(self) -> Point:
        """The gradient of L as a function of its own, to be checked in turn."""
        weights, f = self.weights, self.f

        def number(*xs: Any) -> Any:
            parts = zip(weights, pytree.tree_leaves(f(*xs)), strict=True)
            first, *others = [np.sum(np.real(np.conjugate(w) * z)) for w, z in parts]
            return sum(others, first)

        slope = grad(number, tuple(range(len(self.xs))), allow_unused=True)
        return replace(self, f=slope, analytic_continuation=False)  # at x + ih it is the gradient of something else


class Slopes(NamedTuple):
    """The slopes of L to the left and to the right for a step h, and that from end to end. ``noise``: how far rounding
    may have moved them."""

    h: float
    behind: float
    ahead: float
    central: float
    noise: float

    @property
    def bend(self) -> float:
        """How much those to the left and to the right differ."""
        return abs(self.ahead - self.behind)

    @property
    def scale(self) -> float:
        """The larger of them."""
        return max(abs(self.ahead), abs(self.behind))


class Direction:
    """L along the direction of one entry of one input; of a complex one also along i times that."""

    def __init__(self, point: Point, k: int, place: tuple[int, ...], unit: complex) -> None:
        self.point, self.k, self.place, self.unit = point, k, place, unit
        self.x = point.xs[k][place]
        self.biggest = sum([float(np.sum(np.abs(w * z))) for w, z in zip(point.weights, point.start, strict=True)])
        self.where = f"{point.names[k]}{list(place) if place else ''} = {self.x:.6g}"
        self.visible = 64 * math.ulp(abs(self.x))  # a step that is larger than the rounding of x

    def rise(self, step: float) -> tuple[float, float]:
        """The step as it was made, rounded, and how much L has grown."""
        moved = shift_entry(self.point, self.k, self.place, self.unit * step)
        shift = ((self.x + self.unit * step) - self.x) / self.unit
        return float(np.real(shift)), self.point.difference(moved)

    def slopes(self, h: float) -> Slopes:
        """The slopes for a step h."""
        (right, up), (left, down) = self.rise(h), self.rise(-h)
        behind, ahead, central = np.array([down, up, up - down]) / np.array([left, right, right - left])
        return Slopes(h, float(behind), float(ahead), float(central), 1e-14 * self.biggest / h)

    def settle(self, expected: float, report: Report) -> tuple[Slopes, float]:
        """The slopes for a step that is small enough, and their size for the first one. Notes a kink, and that they do
        not settle. ``expected`` decides about nothing but whether the first step is looked at closely."""
        at = self.slopes(self.point.eps * max(1.0, abs(self.x)))
        scale = at.scale
        for _ in range(LEVELS):
            is_smooth = at.bend <= 1e-3 * at.scale + 4 * at.noise
            if is_smooth and abs(at.central - expected) <= self.point.rtol * abs(at.central) + at.noise:
                return at, scale
            if (h := max(at.h / 100, self.visible)) > at.h / 4:
                break
            finer = self.slopes(h)
            scale = scale if np.isfinite(scale) else finer.scale
            near = 0.1 * self.point.rtol * abs(at.central) + at.noise + finer.noise
            is_same = abs(finer.central - at.central) <= near or abs(at.central) <= 1e-7 * scale  # x · |x| at 0
            if is_same and (finer.bend <= 0.3 * at.bend or finer.bend <= 1e-3 * finer.scale + 4 * finer.noise):
                return at, scale
            is_bent = np.isfinite(at.bend) and not is_smooth
            if is_bent and (place := self.kink_within(at.h)) is not None:
                self.note_kink(place, at, finer, report)
                return at, scale
            if finer.noise > 0.1 * finer.scale:
                return at, scale
            at = finer
        if not np.isfinite(at.central):
            report.found.append(f"the function is not finite on both sides of {self.where}: check elsewhere.")
        else:
            slope = at.central / self.point.weight
            report.found.append(
                f"the slope at {self.where} changes with the step, however small that is ({slope:.4g} for {at.h:.1g}): "
                f"a jump, a pole, or a vertical tangent? Check elsewhere."
            )
        return at, scale

    def kink_within(self, h: float) -> float | None:
        """How far from x the slope jumps, at most h; None if it does not.

        Half of the interval is left at each turn, that in which the slope changes most. By curvature it changes less
        and less, at a kink by the same amount, and more and more at a jump or a pole.
        """
        center, bends, slopes = 0.0, list[float](), dict[float, tuple[float, float]]()
        while h >= self.visible and len(bends) < 30:
            steps = [center + t * h for t in (-1.0, -0.5, 0.0, 0.5, 1.0)]
            slopes |= {t: self.rise(t) if t else (0.0, 0.0) for t in steps if t not in slopes}
            x, z = np.array([slopes[t] for t in steps]).T
            changes = np.abs(np.diff(np.diff(z) / np.diff(x)))
            j = int(np.argmax(changes))
            if not 2e-14 * self.biggest / h < 0.1 * changes[j]:  # false for NaN
                break
            center, h = steps[j + 1], h / 2
            bends.append(changes[j])
        last = bends[-8:]
        return center if len(last) >= 4 and max(last) < 2.5 * min(last) else None

    def note_kink(self, place: float, at: Slopes, finer: Slopes, report: Report) -> None:
        """Add to the report that there is a kink."""
        better = finer if abs(place) <= finer.h else at
        left, right = [f"{x / self.point.weight:.4g}" for x in (better.behind, better.ahead)]
        report.found.append(
            f"a kink at {self.where}: the slope is {left} to the left and {right} to the right, so there is no "
            f"derivative. Check elsewhere."
            if better is finer else
            f"a kink within {at.h:.1g} of {self.where}: the slopes there are {left} and {right}. Check elsewhere, or "
            f"with a smaller eps."
        )  # fmt: skip


LEVELS = 8  # steps that are tried, each a hundredth of the one before


class Numeric(NamedTuple):
    """dL/dx at one entry by differences; of complex x dL/da + i dL/db."""

    slope: Array
    noise: float  # how far rounding may have moved it
    scale: float  # the slope to the left or to the right for the first step, the larger one
    least: float  # smaller slopes are lost in the rounding of L, whatever the step
    exact: float | None  # by an imaginary step: not to be trusted


@np.errstate(all="ignore")
def difference_at(point: Point, k: int, place: tuple[int, ...], analytic: Array, report: Report) -> Numeric:
    """The slope at one entry by differences."""
    total, noise, scale = 0.0 + 0j if point.xs[k].dtype.kind == "c" else 0.0, 0.0, 0.0
    exact = complex_step(point, k, place)
    for unit in (1.0, 1j) if point.xs[k].dtype.kind == "c" else (1.0,):
        along = Direction(point, k, place, unit)
        at, size = along.settle(float(np.real(analytic) if unit == 1.0 else np.imag(analytic)), report)
        slope, rounding, least = at.central, at.noise, 1e-14 * along.biggest / max(1.0, abs(along.x))
        if exact is not None and abs(exact - slope) <= 1e-4 * abs(slope) + rounding and rounding <= 1e-2 * abs(slope):
            slope, rounding = exact, least
        total, noise, scale = total + unit * slope, noise + rounding, max(scale, size)
    return Numeric(total, noise, scale, least, exact)


def shift_entry(point: Point, k: int, place: tuple[int, ...], step: complex) -> list[Array]:
    """The results with one entry of one input moved."""
    xs = [x.copy() for x in point.xs]
    xs[k] = xs[k] if isinstance(step, float) else xs[k].astype(complex)
    xs[k][place] += step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return point.values(xs)


def complex_step(point: Point, k: int, place: tuple[int, ...]) -> float | None:
    """Im L(x + ih)/h, or None where the function does not take complex numbers."""
    if not point.analytic_continuation or any([x.dtype.kind == "c" for x in (*point.xs, *point.weights)]):
        return None
    try:
        values = shift_entry(point, k, place, IMAGINARY * 1j)
    except Exception:  # whatever a function of real numbers raises for complex ones
        return None
    if any([z.shape != w.shape for z, w in zip(values, point.weights, strict=True)]):
        return None
    return float(sum([np.sum(w * np.imag(z)) for w, z in zip(point.weights, values, strict=True)]) / IMAGINARY)


# ---------------------------------------------------------------- the report of a check


SHOWN = 30  # rows of a table


@dataclass(frozen=True, slots=True)
class Row:
    """One entry of one input."""

    __module__ = "autoflow"

    input: str
    entry: tuple[int, ...]
    analytic: Array
    numeric: Array
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
        wrong, n = sum([not row.right for row in self.rows]), len(self.rows)
        entries = f"{n} entr{'y' if n == 1 else 'ies'}"
        state = f"{wrong} wrong of {entries}" if wrong else f"{entries}, all right" if self else "cannot be compared"
        return f"check of {self.of}: {state}"

    def ordered_rows(self) -> list[Row]:
        """The rows of the table, wrong ones first, the worst of all on top."""
        return sorted(self.rows, key=lambda row: (row.right, 0.0 if row.right else -row.error))[:SHOWN]

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
    f: AnyFunction, *inputs: Any, order: int = 1, eps: float | None = None, rtol: float = 1e-5,
    atol: float | None = None,
) -> bool:  # fmt: skip
    """Compare the gradients of ``f`` at ``inputs`` with differences: True, or a GradcheckError with a table.

    f : any function of arrays that returns an array or several. It is called very often: use small inputs.
    inputs : float64 or complex128 arrays, numbers, or nested containers of them. Integers are passed on as they are.
    order : 2 also compares the derivatives of the gradient (3 of those, ...).
    eps : step of the differences, relative to max(1, abs(x)); by default 6e-6, the cube root of the rounding error.
        Where the function changes faster than that, a smaller one is used.
    rtol, atol : the allowed difference: ``atol + rtol * abs(numeric)``. By default atol is 1e-7, or 1e-7 times the
        largest slope, if that is below 1.

    Also reported: functions that give different results each time; kinks at the point, and points at the edge of where
    the function is defined; slopes that rounding hides; inputs that are written into or share memory, and inputs and
    results that have too few digits; and, if a gradient is wrong, whether NumPy has read numbers of nodes without
    asking them.

    >>> gradcheck(lambda x, y: np.sin(x) * y, np.array([0.5, 1.0]), 2.0)
    True
    """
    report = check(f, *inputs, order=order, eps=eps, rtol=rtol, atol=atol)
    if not report:
        raise GradcheckError(str(report))
    return True


def check(
    f: AnyFunction, *inputs: Any, order: int = 1, eps: float | None = None, rtol: float = 1e-5,
    atol: float | None = None,
) -> Report:  # fmt: skip
    """As :func:`gradcheck`, but returns a report: a table in notebooks, text elsewhere, true if all is well.

    >>> check(lambda x: x**2, 3.0)
    check of <lambda>: 1 entry, all right
      input      entry        analytic         numeric  rel. error
      x          ()                  6               6     ...
    """
    if order < 1:
        raise ValueError(f"order={order} checks nothing: it is 1, or 2 for the derivatives of the gradient as well")
    report = Report(getattr(f, "__name__", type(f).__name__))
    names = _input_names(f, inputs)
    values = pytree.tree_leaves(inputs)
    checked = [k for k, x in enumerate(values) if pytree.is_number(x) and as_array(x).dtype.kind in "fc"]
    if not checked:
        raise TypeError("there is nothing to check: give floats or float64 arrays")
    libraries = [array_type(x) for x in values]
    leaves = pytree.tree_leaves(to_cpu(inputs))
    copies = [np.array(value_of(x)) if k in checked else x for k, x in enumerate(leaves)]
    report.found += problems_of_inputs(leaves, names, checked)
    if report.found:
        return report

    def flat(*leaves: Any) -> Any:
        """The numbers that ``f`` returns, as a function of the leaves that are checked. On another device it computes
        there: moving arrays is differentiable, so everything else here needs only NumPy."""
        chosen = dict(zip(checked, leaves, strict=True))
        everything = [chosen.get(k, x) for k, x in enumerate(copies)]
        z = to_cpu(f(*pytree.tree_unflatten(inputs, map(to_library, everything, libraries))))
        return [part for part in pytree.tree_leaves(z) if pytree.is_number(part)]

    step, start = 6e-6 if eps is None else eps, now()
    point = Point(flat, [copies[k] for k in checked], [names[k] for k in checked], step, rtol, atol)
    for k in range(order):
        compare(point, report, k + 1)
        if not report:
            break
        point = point.gradient()
    if any([not row.right for row in report.rows]):
        try:
            with switched(recording=True):
                checked_run(lambda: flat(*[Variable(copies[k]) for k in checked]), f, inputs)
        except LostGradientError as error:
            report.found.append(str(error))
    take_constants(start)
    return report


def _input_names(f: AnyFunction, inputs: Values) -> list[str]:
    """A name for each leaf: the parameter's name, and the path into its container."""
    first = positional(f)[: len(inputs)]
    first += [f"input {k}" for k in range(len(first), len(inputs))]
    return [path for name, x in zip(first, inputs, strict=True) for path in pytree.tree_paths(x, name)]


# -- what goes wrong before any derivative


def problems_of_inputs(leaves: list[Array], names: list[str], checked: list[int]) -> list[str]:
    """Inputs with which a comparison would mislead."""
    problems = []
    arrays = [(names[k], np.asarray(value_of(leaves[k]))) for k in checked]
    for name, x in arrays:
        if problem := too_few_digits(name, x):
            double = "complex128" if x.dtype.kind == "c" else "float64"
            problems.append(f"{problem}: check with {name}.astype(np.{double})")
        if overlaps_itself(x):
            problems.append(f"entries of {name} share memory (np.broadcast_to?): to move one moves others; give a copy")
    for (name, x), (other, y) in combinations(arrays, 2):
        if np.may_share_memory(x, y) and np.shares_memory(x, y):
            problems.append(f"{name} and {other} share memory: to move one moves the other; give a copy of one")
    return problems


def too_few_digits(name: str, x: Array) -> str:
    """What is wrong with the dtype of ``x``, or ""."""
    is_short = x.dtype.kind in "fc" and x.dtype.itemsize < (16 if x.dtype.kind == "c" else 8)
    return f"{name} is {x.dtype}, which has too few digits to tell a wrong derivative from rounding" * is_short


def overlaps_itself(x: Array) -> bool:
    """Do two entries share an address? (Compares addresses only, so one byte of overlap is not seen.)"""
    addresses = np.zeros((), int)
    for n, stride in zip(x.shape, x.strides, strict=True):
        addresses = np.add.outer(addresses, stride * np.arange(n))
    return bool(len(np.unique(addresses)) < x.size)


# -- comparing


def compare(point: Point, report: Report, order: int) -> None:
    """Check the derivative of the function at the point, entry by entry, and note the problems."""
    written, again = [[x.copy() for x in point.xs] for _ in range(2)]
    values = point.start = point.values(written)
    for name, x, old in zip(point.names, written, point.xs, strict=True):
        if not np.array_equal(x, old, equal_nan=True):
            report.found.append(f"the function writes into its input {name}: work on a copy, x = x.copy()")
    problems = [too_few_digits("the result", z) for z in values]
    report.found += [f"{x}: check a function that computes in double precision" for x in problems if x][:1]
    if not values:
        report.found.append("the function returns no numbers, so there is nothing to compare")
    if not same(values, point.values(again)):
        report.found.append("the function gives another result each time: fix the seed of its random numbers")
    if report.found:
        return
    try:
        analytic = point.slopes()
        again = point.slopes()
    except AutoflowError as error:
        report.found.append(f"{type(error).__name__}: {error}")
        return
    if not same(analytic, again):
        report.found.append("the gradient is another one each time: a rule that uses random numbers?")
        return
    entries = [
        ((name, place), analytic[k][place], difference_at(point, k, place, analytic[k][place], report))
        for k, name in enumerate(point.names) for place in np.ndindex(point.xs[k].shape)
    ]  # fmt: skip
    scale = max([x.scale for *_, x in entries if np.isfinite(x.scale)], default=0.0)
    atol = 1e-7 * min(1.0, scale) if point.atol is None else point.atol
    rows = [judge_entry(*entry, point, atol, order) for entry in entries]
    report.rows += rows
    hidden = [row for row, (_, g, x) in zip(rows, entries, strict=True) if row.right and is_hidden(g, x, scale)]
    if hidden:
        report.found.append(
            f"rounding hides the slopes at {hidden[0].input}{list(hidden[0].entry) if hidden[0].entry else ''}: the "
            f"results are too large beside them. Leave out of the results what does not depend on the inputs."
        )
    if any([not row.right for row in report.rows]) and not any([np.any(g) for g in analytic]):
        report.found.append(f"every gradient is zero: did the result leave the graph?\n{LOST}")


def judge_entry(place: tuple[str, Shape], g: Array, estimate: Numeric, at: Point, atol: float, order: int) -> Row:
    """One line of the table; of a function with a single result what its derivative is, without the weight."""
    analytic, numeric, noise = g / at.weight, estimate.slope / at.weight, estimate.noise / abs(at.weight)
    with np.errstate(all="ignore"):
        error = abs(analytic - numeric)
        size = max(abs(analytic), abs(numeric))
        right = bool(error <= atol + at.rtol * abs(numeric) + noise) or bool(analytic == numeric)
        return Row(*place, analytic, numeric, float(error / size) if size else 0.0, right, order)


def is_hidden(g: Array, estimate: Numeric, scale: float) -> bool:
    """May a derivative that agrees with the differences be wrong, because they are nothing but rounding? One of zero
    may not be, unless an imaginary step says that it is another, which may be so."""
    exact = 0.0 if estimate.exact is None or abs(estimate.exact - estimate.slope) > estimate.noise else estimate.exact
    is_zero = max(abs(g), 0.1 * abs(exact)) <= estimate.least
    return bool(estimate.noise > 1e-2 * max(scale, abs(g)) and not is_zero)
