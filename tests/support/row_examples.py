"""The calls of every row of the table, for the generated tests: shapes of the operands, and options.

    np.repeat: (of((2, 3), repeats=2), of((), repeats=3)),

The key is the function of the row. A row without an entry is tested with ``UNARY`` or ``BINARY``. An entry whose
function has no row fails in tests/table/test_table.py. More are in :mod:`row_examples_matrices` and
:mod:`row_examples_scipy`. Functions that are composed of others have their calls in :mod:`calls`.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import numpy as np
import row_examples_matrices

from autoflow.rules.arithmetic import i0_derivative, times_power
from autoflow.rules.building import spaced
from autoflow.rules.calculus import interpolate
from autoflow.rules.joining import pad
from autoflow.rules.ordering import histogram_sums
from autoflow.rules.reductions import recur
from autoflow.rules.structure import astype, constant_with_history, flatten
from autoflow.rules.variants import NORMS, sums_at
from autoflow.table.indexing import getitem, put_back, put_view, setitem
from autoflow.table.kernels import broadcast_view
from autoflow.table.shapes import since
from autoflow.table.table import COMPOSED, Example, Rule, of

Array = Any
Examples = dict[Any, tuple[Example, ...]]


def ascending_points(x: Array) -> Array:
    return np.cumsum(0.4 + x * x) - 1.5


# -- the entries -----------------------------------------------------------------------------------------------------

# fmt: off
UNARY = (of(()), of((3,)), of((2, 3)), of((0, 2)))
BINARY = (of((), ()), of((2, 3), (2, 3)), of((2, 3), (3,)), of((2, 1), (1, 3)), of((), (2, 2)), of((1,), ()),
    of((4, 1), (3,)), of((0, 2), (2,)))
SPREADS = (of((2, 3)), of((2, 3), axis=1), of((2, 3, 4), axis=(0, -1)), of((2, 3), axis=0, keepdims=True),
    of((4,), ddof=1), of((2, 3), axis=1, correction=1), of((2, 3), axis=1, dtype=np.float64),
    of((2, 3), axis=1, where=np.array([True, False, True])), of((2, 0), axis=0))
EXTREMES = (of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=(0, 1), keepdims=True), of((2, 3, 4), axis=(0, -1)),
    of((3,)), of(()), of((0, 2), axis=1), of((2, 3), axis=-1, initial=0.1), of((0, 2), axis=0, initial=0.1),
    of((2, 3), axis=0, initial=0.0, where=np.array([True, False, True])))
NAN_SUMS = (of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=(0, -1), keepdims=True), of(()), of((0, 2), axis=0),
    of((2, 3), axis=0, where=np.array([True, False, True])), of((2, 3), initial=2.0), of((2, 3), dtype=np.float64))
NAN_MEANS = (of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=-2, keepdims=True), of(()),
    of((2, 3), axis=1, dtype=np.float64), of((2, 3), axis=1, where=np.array([True, False, True])))
NAN_SPREADS = (of((2, 3)), of((2, 3), axis=1), of((2, 3, 2), axis=(0, -1)), of((2, 3), axis=0, keepdims=True),
    of((4,), ddof=1), of((2, 3), axis=1, correction=1), of((2, 3), axis=1, dtype=np.float64),
    of((2, 3), axis=1, where=np.array([True, False, True])))
NAN_EXTREMES = (of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=(0, 1), keepdims=True), of((3,)), of(()),
    of((2, 3), axis=-1, initial=0.1), of((2, 3), axis=0, initial=0.0, where=np.array([True, False, True])))
NAN_RUNNING = (of((2, 3)), of((2, 3), axis=1), of(()), of((0, 2), axis=1), of((2, 3), dtype=np.float64))
FOLDS = (of((3,)), of((2, 3), axis=1), of((2, 3), axis=None), of((2, 3, 2), axis=(0, -1), keepdims=True),
    of((2, 3), axis=-2, initial=0.5), of((2, 0), axis=0))
SORTS = (of((5,)), of((2, 3)), of((2, 3), axis=0), of((2, 3), axis=None), of((2, 3, 2), axis=1, kind="stable"),
    of((0, 2)), of((2, 0)), of((2, 3), stable=True),
    *([of((5,), descending=True), of((2, 3), axis=0, descending=True),
       of((2, 3), axis=None, descending=False, stable=True)] if since("2.5") else []))
MIDDLES = (of((5,)), of((4,)), of((2, 3), axis=1), of((2, 3), axis=0, keepdims=True), of((2, 3, 2), axis=(0, -1)),
    of(()))
QUANTILES = (of((5,), ()), of((3,), (), keepdims=None), of((2, 3), (3,), axis=1), of((2, 3), (), axis=0, keepdims=True),
    of((2, 3, 2), (2, 1), axis=(0, -1)), of((), ()), of((4,), (), method="lower"), of((4,), (), method="nearest"),
    of((4,), (2,), method="median_unbiased"), of((2, 4), (2,), axis=1, method="hazen"),
    of((4,), (), method="inverted_cdf", weights=np.array([1.0, 2.0, 0.5, 1.0])), of((2, 3), (0,), axis=1))
NAN_QUANTILES = tuple([e for e in QUANTILES if len(e.shapes[1]) < 2])  # of more axes of q they are refused
SAMPLES = np.array([0.5, 2.0, 1.0, 3.5, 0.0])
SLIDES = (of((4,), (2,)), of((2,), (5,)), of((4,), (3,), mode="same"), of((2,), (5,), mode="same"),
    of((4,), (4,), mode="same"), of((5,), (2,), mode="valid"), of((2,), (3,), mode="valid"))
LENGTHS = (of((4,)), of((5,)), of((2, 3), axis=0), of((3,), n=5), of((5,), n=2, norm="ortho"),
    of((2, 3), n=4, axis=-1, norm="forward"), of((1,)), of((0, 3)))
HALVES = (of((4,)), of((3,)), of((2, 3), axis=0), of((3,), n=4), of((5,), n=5, norm="ortho"),
    of((2, 3), n=3, axis=-1, norm="forward"), of((2,), n=1), of((0, 3)))
DIAGONALS = (of((3, 3)), of((2, 4), offset=1), of((4, 2), offset=-1), of((2, 3, 4), axis1=-1, axis2=0),
    of((2, 2), offset=5), of((0, 2)))
PLACES = (of((4, 3), i=1), of((4,), i=2), of((4, 3), i=(slice(1, None), np.array([0, 0, 2]))), of((), i=()),
    of((4,), i=slice(None, None, -2)), of((3,), i=(None, slice(None))), of((2, 3), i=(..., 0)),
    of((4,), i=np.array([True, False, True, True])), of((4, 3), i=(np.array([[0], [2]]), np.array([1, 1]))),
    of((2, 3, 4), i=(0, slice(None), [1, 3])), of((0, 3), i=slice(None)), of((3,), i=np.array([], int)))
WRITES = (of((4,), (2,), i=slice(1, 3)), of((4, 3), (3,), i=slice(2)), of((4,), (), i=0), of((), (), i=()),
    of((3,), (1, 2), i=np.array([0, 2])), of((4, 3), (4, 3), i=...))
RANGES = (of((), (), num=4), of((3,), (3,), num=3), of((2, 1), (3,), num=4, axis=-1),
    of((2,), (), num=3, endpoint=False), of((), (), num=1), of((2,), (2,), num=3, axis=1),
    of((2,), (), num=3, dtype=np.float64))

EXAMPLES: Examples = {
    # arithmetic
    np.angle: (*UNARY, of((3,), deg=True)),
    # elementary
    i0_derivative: (of((3,), order=1), of((), order=2)),
    # comparing
    np.round: (of((3,)), of(()), of((2, 3), decimals=1), of((0, 2))),
    np.clip: (of((2, 3), (), ()), of((4,), (3, 1), (4,)), of((), (2,), ()), of((0, 2), (), (2,))),
    np.where: (of((2, 3), (2, 3), (3,)), of((3,), (), (2, 1)), of((), (2,), (2,)), of((), (), ()),
        of((2, 1), (1, 3), ()), of((0, 2), (2,), ())),
    np.nan_to_num: (of((3,)), of(()), of((2, 3), nan=1.0), of((3,), posinf=2.0, neginf=-2.0)),
    # floats
    times_power: (of((), k=3), of((2, 3), k=-1), of((3,), k=np.array([[1], [-2]])), of((0, 2), k=1)),
    # reductions
    np.sum: (of((2, 3)), of((2, 3), axis=1), of((2, 3, 4), axis=(0, -1)), of((2, 3), axis=-2, keepdims=True),
        of((2, 3), keepdims=True), of(()), of((), axis=0), of((0, 2)), of((0, 2), axis=0), of((2, 3), axis=()),
        of((2, 3), initial=2.0), of((2, 3), dtype=np.float64), of((2, 3), axis=1, where=np.array([True, False, True])),
        of((2, 3), where=np.array([[True], [False]]))),
    broadcast_view: (of((3,), shape=(2, 3)), of((), shape=(2, 3)), of((2, 1), shape=(2, 3)), of((1, 3), shape=(0, 3)),
        of((0, 1), shape=(0, 2))),
    np.mean: (of((2, 3)), of((2, 3), axis=1), of((2, 3, 4), axis=(0, -1)), of((2, 3), axis=0, keepdims=True), of(()),
        of((2, 0), axis=0), of((2, 3), axis=1, dtype=np.float64), of((2, 3), axis=0, where=np.array([[True], [False]])),
        of((2, 2), where=np.array([[True, False], [True, True]]))),
    np.var: (*SPREADS, of(())),
    np.std: SPREADS,
    np.prod: (of((2, 3)), of((2, 3), axis=1), of((2, 3, 2), axis=(0, -1)), of((2, 3), axis=-2, keepdims=True), of(()),
        of((0, 2)), of((2, 0), axis=0), of((2, 3), initial=2.0),
        of((2, 3), axis=1, where=np.array([True, False, True])), of((2, 3), dtype=np.float64)),
    np.cumsum: (of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=-2), of(()), of((0, 2), axis=1), of((2, 3, 2), axis=1),
        of((2, 3), dtype=np.float64)),
    np.cumprod: (of((2, 3)), of((2, 3), axis=1), of((2, 3), axis=-2), of(()), of((0, 2), axis=1), of((2, 3, 2), axis=1),
        of((2, 3), dtype=np.float64)),
    recur: (of((4,), (4,)), of((2, 3), (2, 3)), of((2, 0), (2, 0))),
    # extremes
    **dict.fromkeys((np.max, np.min), EXTREMES),
    # nans
    **dict.fromkeys((np.nansum, np.nanprod), NAN_SUMS),
    np.nanmean: NAN_MEANS,
    np.nanvar: (*NAN_SPREADS, of(())),
    np.nanstd: NAN_SPREADS,
    **dict.fromkeys((np.nanmax, np.nanmin), NAN_EXTREMES),
    **dict.fromkeys((np.nancumsum, np.nancumprod), NAN_RUNNING),
    # ufuncs
    **dict.fromkeys(NORMS.values(), FOLDS),
    sums_at: (of((5,), indices=[0, 2]), of((5,), indices=[0, 3, 1]), of((3, 4), indices=[1, 2], axis=1)),
    # ordering
    np.take_along_axis: (of((2, 3), indices=np.array([[0, 0], [2, -1]])),
        of((2, 3), indices=np.array([[1, 0, 1]]), axis=0), of((2, 3), indices=np.array([5, 0, 0]), axis=None),
        of((1, 3), indices=np.array([[0], [2]]), axis=1), of((2, 0), indices=np.zeros((2, 0), int))),
    np.sort: SORTS,
    np.partition: (of((5,), kth=2), of((2, 3), kth=1, axis=0), of((2, 3), kth=(1, 4), axis=None), of((3, 2), kth=-1)),
    # quantiles
    **dict.fromkeys((np.median, np.nanmedian), MIDDLES),
    np.quantile: QUANTILES,
    np.nanquantile: NAN_QUANTILES,
    np.percentile: QUANTILES,
    np.nanpercentile: NAN_QUANTILES,
    # counting
    histogram_sums: (of((5,), a=SAMPLES, bins=3), of((5,), a=SAMPLES, bins=[0.0, 1.0, 2.5]),
        of((5,), a=SAMPLES, bins=2, range=(0.0, 2.0)), of((5,), a=SAMPLES, bins=[3.0])),
    # calculus
    np.unwrap: (of((5,)), of((2, 3), axis=0), of((4,), period=1.5), of((4,), discont=4.0)),
    interpolate: (of((4,), (3,), (4,), prepare=ascending_points),
        of((3,), (2, 3), (3,), (), (), prepare=ascending_points), of((2,), (), (2,), prepare=ascending_points),
        of((1,), (3,), (1,), prepare=ascending_points), of((3,), (0,), (3,), prepare=ascending_points)),
    np.convolve: (*SLIDES, of((), (3,))),
    np.correlate: (*SLIDES, of((3,), (3,), mode="full")),
    # fourier
    **dict.fromkeys((np.fft.fft, np.fft.ifft, np.fft.rfft), LENGTHS),
    np.fft.irfft: HALVES,
    # structure
    np.reshape: (of((2, 3), shape=(3, 2)), of((), shape=(1, 1)), of((2, 3), shape=(-1,), order="F"),
        of((2, 3, 2), shape=(4, 3), order="F"), of((0, 3), shape=(3, 0)), of((1, 1), shape=()),
        of((2, 3), shape=6, copy=True)),
    **dict.fromkeys((np.ravel, flatten), (of((2, 3)), of((2, 3), order="F"), of(()), of((0, 2)))),
    np.squeeze: (of((1, 3, 1)), of((1, 3, 1), axis=0), of((1, 3, 1), axis=(0, -1)), of((1, 1)), of(())),
    np.expand_dims: (of((3,), axis=0), of((2, 3), axis=(0, -1)), of((), axis=0)),
    np.broadcast_to: (of((3,), shape=(2, 3)), of((), shape=(2, 3)), of((2, 1), shape=(4, 2, 3)), of((3,), shape=3),
        of((1,), shape=(0,))),
    np.copy: (of((2, 3)), of(()), of((2, 3), order="F")),
    astype: (of((2, 3), dtype=np.float64), of((), dtype=np.float64), of((2,), dtype=np.complex128),
        of((0,), dtype="f8")),
    constant_with_history: (of((2,), (3,)),),
    np.transpose: (of((2, 3)), of((2, 3, 4), axes=(2, 0, 1)), of((2, 3, 4), axes=(-2, 0, -1)), of(()), of((3,)),
        of((0, 2)), of((3,), axes=0)),
    np.matrix_transpose: (of((2, 3)), of((2, 3, 4))),
    np.swapaxes: (of((2, 3), axis1=0, axis2=1), of((2, 3, 4), axis1=-1, axis2=0)),
    np.moveaxis: (of((2, 3, 4), source=0, destination=-1), of((2, 3, 4), source=(0, -1), destination=(1, 0))),
    np.rollaxis: (of((2, 3, 4), axis=2), of((2, 3, 4), axis=0, start=2), of((2, 3, 4), axis=1, start=-1)),
    np.flip: (of((2, 3)), of((2, 3), axis=-1), of((2, 3, 2), axis=(0, 2)), of(())),
    np.fliplr: (of((2, 3)),),
    np.flipud: (of((2, 3)), of((3,))),
    np.rot90: (of((2, 3)), of((2, 3), k=2), of((2, 3, 4), k=3, axes=(2, 0)), of((2, 3), k=-1)),
    np.roll: (of((2, 3), shift=1), of((2, 3), shift=-2, axis=1), of((2, 3), shift=(1, 2), axis=(0, 1)), of((), shift=1),
        of((0,), shift=1)),
    np.diagonal: DIAGONALS,
    np.trace: (*DIAGONALS, of((2, 2), dtype=np.float64)),
    np.diag: (of((3,)), of((3,), k=-2), of((2, 3)), of((2, 3), k=1), of((0,))),
    **dict.fromkeys((np.tril, np.triu), (of((3, 3)), of((2, 3, 4), k=-1), of((3,)), of((2, 3), k=1))),
    # indexing
    getitem: PLACES,
    put_back: (of((3,), i=np.array([0, 0, 2]), shape=(4,)), of((2,), i=slice(1, 3), shape=(4,))),
    setitem: WRITES,
    put_view: (of((2, 3), (3, 2), view=np.transpose), of((2, 3), (6,), view=np.ravel),
        of((2, 3), (), view=np.transpose)),
    # joining
    np.concatenate: (of((2, 3), (1, 3)), of((2, 3), (2, 1), (2, 2), axis=-1), of((2, 3), (2,), axis=None), of((3,)),
        of((0, 2), (2, 2)), of((2,), (3,), dtype=np.float64, casting="unsafe")),
    np.stack: (of((), ()), of((2, 3), (2, 3)), of((2, 3), (2, 3), (2, 3), axis=-1), of((2,), (2,), axis=1),
        of((0,), (0,)), of((2,), (2,), dtype=np.float64, casting="unsafe")),
    np.repeat: (of((2, 3), repeats=2), of((2, 3), repeats=2, axis=-1), of((2, 3), repeats=np.array([2, 0, 1]), axis=1),
        of((), repeats=3), of((2, 3), repeats=[1, 2], axis=0), of((3,), repeats=0), of((0, 2), repeats=2, axis=0)),
    np.tile: (of((2, 3), reps=2), of((2, 3), reps=(2, 1, 3)), of((2, 3), reps=(2, 2)), of((), reps=3),
        of((0, 2), reps=2), of((3,), reps=0)),
    pad: (of((2, 3), pad_width=1), of((2, 3), pad_width=((1, 0), (2, 3)), constant_values=2.0),
        of((2, 3), pad_width=(1, 2), mode="edge"), of((2, 3), pad_width=(2, 4), mode="reflect"),
        of((3,), pad_width=(5, 2), mode="symmetric"), of((3,), pad_width=(4, 5), mode="wrap"), of((0, 2), pad_width=1)),
    np.take: (of((2, 3), indices=[0, 5, 5]), of((2, 3), indices=np.array([[0, 2], [2, -1]]), axis=1),
        of((2, 3), indices=1, axis=0), of((), indices=0), of((3,), indices=[-5, 4, 1], mode="wrap"),
        of((3,), indices=[-5, 4, 1], mode="clip"), of((2, 3), indices=np.array([], int), axis=0)),
    # building
    np.lib.stride_tricks.sliding_window_view: (of((5,), window_shape=3), of((3, 4), window_shape=(2, 2)),
        of((3, 4), window_shape=2, axis=-1), of((3, 4), window_shape=(2, 3), axis=(1, 0)),
        of((5,), window_shape=(2, 3), axis=(0, -1))),
    **dict.fromkeys((spaced, np.geomspace), RANGES),
}
# fmt: on


# -- rows that come with a package of their own, which is not imported for them --------------------------------------


@functools.cache
def of_networks() -> Examples:
    from autoflow.nn.functions import leaky_relu, log_softmax, softmax

    along = (of((3,)), of((2, 3)), of((2, 3), axis=0), of((2, 1, 3), axis=1), of((0, 2)))
    return {
        leaky_relu: (of(()), of((3,)), of((2, 3), slope=0.25), of((0, 2))),
        softmax: along,
        log_softmax: along,
    }


@functools.cache
def of_devices() -> Examples:
    from autoflow.arrays import fetch, put

    return {
        fetch: (of((2, 3), library=np.ndarray),),
        put: (of((2, 3), library=np.ndarray),),
    }


LATE = {"autoflow.nn": of_networks, "autoflow.arrays": of_devices}

# -- by row ----------------------------------------------------------------------------------------------------------


@functools.cache
def all_examples() -> Examples:
    """All entries but those of ``LATE``, by the function that is in the table."""
    found = EXAMPLES | row_examples_matrices.EXAMPLES
    if importlib.util.find_spec("scipy.special"):
        import row_examples_scipy

        found |= row_examples_scipy.EXAMPLES
    return {function_of_row(function): examples for function, examples in found.items()}


def function_of_row(function: Any) -> Any:
    """The function itself; or that with the arguments turned round: see autoflow/table/parameters.py."""
    turned = COMPOSED.get(function)
    return turned.args[0] if isinstance(turned, functools.partial) else function


def examples_of(row: Rule) -> tuple[Example, ...]:
    """The calls with which the row is tested. Those of a user's row were given with it."""
    home = getattr(row.function, "__module__", "")
    entry = LATE.get(home, all_examples)().get(row.function, row.examples)
    if not entry and home == "autoflow.table.parameters":
        from row_examples_scipy import at

        return at()
    return entry or (BINARY if row.operands == 2 else UNARY)


# Rows whose examples take a tenth of a second and more: special functions with differences in them.
SLOW = (
    "agm", "betainc", "betaincc", "betainccinv", "betaincinv", "ellipeinc", "ellipj", "ellipkinc", "fdtr", "fdtrc",
    "log_betainc", "log_stdtr",
)  # fmt: skip
