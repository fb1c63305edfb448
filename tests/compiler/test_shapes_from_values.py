"""Shapes that depend on values: a compiled function is right at every call, or refuses."""

import numpy as np
import pytest
from support import NIGHTLY

import autoflow as af
from autoflow.errors import CompileError

CALLS = {
    "mean of a mask": lambda x: x[x > 2].mean(), "number of elements": lambda x: x.sum() / len(x[x > 2]),
    "size": lambda x: x.sum() * x[x > 2].size, "shape": lambda x: (x * x[x > 2].shape[0]).sum(),
    "np.size": lambda x: x.sum() * np.size(x[x > 2]),
    "size of what follows": lambda x: (x * (np.sin(x[x > 2]) * 2.0).size).sum(),
    "average": lambda x: np.average(x[x > 2]), "var": lambda x: np.var(x[x > 2]),
    "diff": lambda x: np.diff(x[x > 2]).sum(), "where": lambda x: x[np.where(x > 2)].mean(),
    "take": lambda x: np.take(x, np.nonzero(x > 2)[0]).mean(),
    "length of nonzero": lambda x: x.sum() * len(np.nonzero(x > 2)[0]),
    "flatnonzero": lambda x: x.sum() * np.flatnonzero(x > 2).size,
    "argwhere": lambda x: x.sum() * np.argwhere(x > 2).shape[0],
    "concatenate": lambda x: np.concatenate([x[x > 2], x]).mean(),
    "stack": lambda x: np.stack([x[x > 2], x[x > 2]]).mean(), "reshape": lambda x: x[x > 2].reshape(-1, 1).mean(),
    "compress": lambda x: np.compress(x > 2, x).mean(), "extract": lambda x: np.extract(x > 2, x).mean(),
    "unique": lambda x: np.unique(x).mean(),
    "count of unique": lambda x: x.sum() * np.unique(x, return_counts=True)[1].size,
    "repeat": lambda x: np.repeat(x, (x > 2) + 1).mean(), "repeat by a method": lambda x: x.repeat((x > 2) + 1).mean(),
    "bincount": lambda x: np.bincount((x > 2) * 3, weights=x).mean(),
    "length of bincount": lambda x: x.sum() * np.bincount((x / 2).astype(int)).size,
    "slice": lambda x: x[: (x > 2).sum()].mean(), "length of a slice": lambda x: x.sum() * len(x[: (x > 2).sum()]),
    "delete": lambda x: np.delete(x, x > 2).mean(),
    "loop over a mask": lambda x: sum([v * k for k, v in enumerate(x[x > 2])], x[0]),
    "write at a mask": lambda x: (x * np.where(x > 2, x, 0.0)).sum() / x[x > 2].size,
    "two masks": lambda x: x[x > 2].mean() + x[x < 2].mean(),
    "a mask of a mask": lambda x: x[x > 1][x[x > 1] > 2].mean(),
    "dtype": lambda x: x.sum() * (2.0 if np.emath.sqrt(x - 2).dtype.kind == "c" else 1.0),
    "outer": lambda x: np.multiply.outer(x[x > 2], x).mean(),
    "matrix product": lambda x: (np.ones((1, 1)) * x[x > 2] @ x[x > 2]).sum() / x[x > 2].size,
    "mean of squares": lambda x: np.mean(x[x > 2] ** 2), "max": lambda x: x[x > 2].max() * x[x > 2].size,
    "sort": lambda x: np.sort(x[x > 2])[::-1].mean(),
    "no use of the value": lambda x: x.mean() + 0.0 * np.ones(len(x[x > 2])).sum(),
    "intersect1d": lambda x: x.sum() * np.intersect1d(x, np.array([1.0, 3.0])).size,
    "histogram": lambda x: x.sum() * np.histogram(x, bins="auto")[0].size,
    "ediff1d": lambda x: np.ediff1d(x[x > 2]).sum(), "split": lambda x: np.array_split(x[x > 2], 2)[0].mean(),
    "cumsum": lambda x: np.cumsum(x[x > 2]).mean(), "pad": lambda x: np.pad(x[x > 2], 1).mean(),
}  # fmt: skip

POINTS = [np.array(v) for v in (
    [1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [3.0, 1.0, 4.0], [5.0, 1.0, 1.0], [1.0, 1.5, 0.5],
)]  # fmt: skip
TRANSFORMS = {"value": lambda f: f, "grad": af.grad, "value_and_grad": af.value_and_grad}


def eager(f, x):
    """What eager code gives; the class of the error if it gives none."""
    with np.errstate(all="ignore"):
        try:
            return [np.asarray(v) for v in af.pytree.tree_leaves(af.pytree.tree_map(getattr_value, f(x)))]
        except Exception as error:
            return type(error)


def getattr_value(x):
    """Without its history."""
    return getattr(x, "value", x)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", CALLS)
def test_right_or_refused(name, transform):
    """From three first calls; with fallback=True right every time."""
    f = TRANSFORMS[transform](CALLS[name])
    right, firsts = 0, range(3) if NIGHTLY else [len(name + transform) % 3]
    for first in firsts:
        strict, loose = af.compile(f), af.compile(f, fallback=True)
        for x in [POINTS[first], *POINTS]:
            expected = eager(f, x)
            if isinstance(expected, type):
                with pytest.raises((expected, CompileError)):
                    strict(x)
                continue
            for a, b in zip(expected, eager(loose, x), strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-14, err_msg=f"{name} {x}", strict=True)
            try:
                ours = strict(x)
            except CompileError:
                continue
            right += 1
            for a, b in zip(expected, af.pytree.tree_leaves(ours), strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-14, err_msg=f"{name} {x}", strict=True)
    refused_always = {"dtype"}  # its derivative asks whether x < 2
    assert right >= len(firsts) or name in refused_always


def test_a_call_that_nobody_needs_is_made_only_if_its_shape_may_change():
    c = af.compile(lambda x: (np.cumsum(x), np.nonzero(x > 2), x * 2)[2])
    c(POINTS[0])
    assert [call.value.name for call in c.plan().plan.steps] == ["greater", "nonzero", "multiply"]
