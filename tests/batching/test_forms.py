"""Every row of the table under af.vmap, on the examples of tests/rules: as a Python loop over the examples of a batch.

Values, gradients through the vmap (the nodes are inside), and gradients of each example (they are outside).
"""

import warnings

import numpy as np
import pytest
from cases import Case, tolerance_of
from row_examples import examples_of
from support import NIGHTLY, assert_close, rows, values_of

import autoflow as af
from autoflow.batching.forms import FORMS
from autoflow.batching.vmap import vmap
from autoflow.errors import LoopWarning

BATCH = 3
# Rows without a batched form: each example is computed by itself, and a warning says so. No other row may warn.
LOOPED = {
    "convolve", "histogram", "interp", "lstsq", "nanpercentile", "nanquantile", "orthogonal", "percentile", "quantile",
    "sparse_matmul", "spsolve",
}  # fmt: skip
ROWS = rows(scipys=False)
EVERY = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def telling(row):
    """The example that says most in one: shapes that differ, many axes, nothing empty."""

    def score(k):
        shapes = [shape for shape in examples_of(row)[k].shapes if shape is not None]
        return 0 not in sum(shapes, ()), len({len(shape) for shape in shapes}), sum(map(len, shapes))

    return max(range(len(examples_of(row))), key=score)


class Batch:
    """A row's example, several times with other numbers."""

    def __init__(self, row, number, dtype="float64"):
        self.case = Case(row, examples_of(row)[number])
        self.live = self.case.live
        made = [
            [values_of(row, examples_of(row)[number], salt=k, imaginary=i) for i in (False, True)] for k in range(BATCH)
        ]
        self.examples = [[as_dtype(x, y, dtype) for x, y in zip(*pair, strict=True)] for pair in made]

    def arguments(self, mapped):
        """The operands of each example: those that are not mapped are the first one's."""
        return [[x if k in mapped else self.examples[0][k] for k, x in enumerate(xs)] for xs in self.examples]

    def stacked(self, mapped, axes):
        """The operands of all examples: stacked along their axis, or the first one's."""
        every = zip(*self.arguments(mapped), strict=True)
        return [xs[0] if a is None else np.stack(xs, a) for xs, a in zip(every, axes, strict=True)]

    def axes(self, mapped, last):
        """Which axis of each operand is the batch: the first or the last."""
        return tuple([(-1 if last else 0) if k in mapped else None for k, _ in enumerate(self.examples[0])])

    def mappings(self):
        """Which operands have a batch: all, or one alone; of elementwise rows, which are alike, by day one in turn."""
        there = [k for k, x in enumerate(self.examples[0]) if x is not None]
        alone = [(k,) for k in there[:3] if len(there) > 1]
        if self.case.row.elementwise and not NIGHTLY:
            alone = alone[len(self.case.row.name) % len(there) :][:1]
        return [tuple(there), *alone]

    def value(self, *xs):
        return self.case.run(list(xs))

    def loss(self, *xs):
        """A number, to which every element of the value contributes in its own way."""
        return np.real(np.sum(self.case.loss(self.case.run(list(xs)))))


def as_dtype(x, y, dtype):
    """An operand in that dtype, with y as the imaginary part; None and booleans as they are."""
    if x is None or x.dtype.kind != "f":
        return x
    return (x + 1j * y if np.dtype(dtype).kind == "c" else x).astype(dtype)


def close(ours, theirs, what, order=0):
    """Equal up to rounding: products of a whole batch add up in another order."""
    assert ours.dtype == theirs.dtype, f"{what}: {ours.dtype}, not {theirs.dtype}"
    same = (ours == theirs) | ((ours != ours) & (theirs != theirs))
    assert_close(np.where(same, 0, ours), np.where(same, 0, theirs), tolerance_of([theirs], 1) / 100, what)


def check(row, number, dtype="float64", last=False):
    batch = Batch(row, number, dtype)
    for mapped in batch.mappings():
        try:
            expected = [np.asarray(batch.value(*xs)) for xs in batch.arguments(mapped)]
        except (TypeError, AttributeError, np.linalg.LinAlgError, np.exceptions.ComplexWarning):
            assert dtype != "float64"
            return  # NumPy's function does not take this dtype
        check_mapping(batch, mapped, batch.axes(mapped, last), expected)


def check_mapping(batch, mapped, axes, expected):
    given, single = batch.stacked(mapped, axes), batch.arguments(mapped)
    close(vmap(batch.value, axes)(*given), np.stack(expected), f"values, {axes}")
    slope = af.grad(batch.loss, tuple(batch.live), allow_unused=True)
    if expected[0].dtype.kind not in "fc":
        return
    each = [slope(*xs) for xs in single]
    for k, (ours, *theirs) in enumerate(zip(vmap(slope, axes)(*given), *each, strict=True)):
        close(ours, np.stack(theirs), f"gradient of each example, operand {batch.live[k]}, {axes}")
    total = af.grad(lambda *xs: np.sum(vmap(batch.loss, axes)(*xs)), tuple(batch.live), allow_unused=True)(*given)
    for k, (ours, *theirs) in enumerate(zip(total, *each, strict=True)):
        place = axes[batch.live[k]]
        right = np.sum(np.stack(theirs), axis=0) if place is None else np.stack(theirs, place)
        close(ours, right, f"gradient of the sum, operand {batch.live[k]}, {axes}")


def quietly(row):
    """Only rows of LOOPED may warn of a loop."""
    warnings.simplefilter("ignore" if row.name in LOOPED else "error", LoopWarning)


@pytest.mark.parametrize("row", [row for row in ROWS if row.function in FORMS], ids=lambda row: row.name)
def test_every_example_of_a_row_has_its_form(row):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        quietly(row)
        for number in range(len(examples_of(row))):
            batch = Batch(row, number, "float64")
            mapped = next(iter(batch.mappings()))
            axes = batch.axes(mapped, False)
            vmap(batch.value, axes)(*batch.stacked(mapped, axes))


@pytest.mark.thorough
@EVERY
def test_row(row):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        quietly(row)
        check(row, telling(row))


@pytest.mark.nightly
@EVERY
def test_row_on_all_examples(row):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        quietly(row)
        for number in range(len(examples_of(row))):
            check(row, number)


@pytest.mark.nightly
@pytest.mark.parametrize(("dtype", "some"), [("float32", 2), ("complex128", -2), ("float64", 1)])
@EVERY
def test_row_in_other_dtypes_and_along_the_last_axis(row, dtype, some):
    """In every second example from the first one on, or from the last."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        quietly(row)
        for number in range(len(examples_of(row)))[::some]:
            check(row, number, dtype, last=True)


@pytest.mark.nightly
@EVERY
def test_second_derivatives_of_a_row(row):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        quietly(row)
        for number in range(len(examples_of(row))):
            check_second(Batch(row, number))


def check_second(batch):
    """The gradient of Σ |gradient|² of each example, and of their sum."""
    mapped = batch.mappings()[0]
    axes, live = batch.axes(mapped, False), tuple(batch.live)

    def size(*xs):
        slopes = af.grad(batch.loss, live, allow_unused=True)(*xs)
        return sum([np.sum(np.abs(g) ** 2) for g in slopes])

    given, single = batch.stacked(mapped, axes), batch.arguments(mapped)
    slope = af.grad(size, live, allow_unused=True)
    each = [slope(*xs) for xs in single]
    for ours, *theirs in zip(vmap(slope, axes)(*given), *each, strict=True):
        close(ours, np.stack(theirs), "second derivative of each example")
    total = af.grad(lambda *xs: np.sum(vmap(size, axes)(*xs)), live, allow_unused=True)(*given)
    for ours, *theirs in zip(total, *each, strict=True):
        close(ours, np.stack(theirs), "second derivative of the sum")
