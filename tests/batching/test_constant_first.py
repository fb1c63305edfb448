"""A form is compared with one example at the first call, whose numbers may be equal: later ones are right, too."""

from unittest import mock

import numpy as np
import pytest
from calls import ARRAY_METHODS, CALLS, UFUNC_METHODS, VARIANT_CALLS
from support import NIGHTLY

import autoflow as af
from autoflow.batching import looping

EVERY = {f"{name} {k}": each for calls in (CALLS, ARRAY_METHODS, UFUNC_METHODS, VARIANT_CALLS)
         for name, of_one in calls.items() for k, each in enumerate(of_one)}  # fmt: skip


@pytest.mark.parametrize("size", [2, 3, 4] if NIGHTLY else [2, 3])
@pytest.mark.parametrize("first", ["zeros", "the middle"])
def test_numbers_of_the_first_call_decide_nothing(first, size):
    wrong, tried = [], 0
    for name, each in EVERY.items():
        rng = np.random.default_rng(1)
        values = [np.asarray(rng.uniform(*each.domain, (size, *shape))) for shape in each.shapes]
        alike = [np.full_like(v, 0.0 if first == "zeros" else np.mean(each.domain)) for v in values]
        with mock.patch.dict(looping.KNOWN, clear=True), np.errstate(all="ignore"):
            f = af.vmap(lambda *xs, each=each: each.function(*xs), loop="allow")
            try:
                f(*alike)
                found = f(*values)
            except Exception:  # not for these numbers, or of other dtypes for some: test_composed has its values
                continue
        tried += 1
        expected = np.stack([each.function(*[v[k] for v in values]) for k in range(size)])
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True):
            wrong.append(name)
    assert wrong == []
    assert tried > 300
