"""Distances between the rows of matrices."""

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")

import scipy.spatial.distance  # noqa: E402, F811

import autoflow as af  # noqa: E402
from autoflow.errors import NoRuleError  # noqa: E402
from autoflow.scipy.spatial import distance  # noqa: E402

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "options", [{"out": np.zeros((2, 3))}, {"metric": "js", "base": 2.0}, {"metric": "cosine", "p": 3}]
)
def test_keywords_that_distances_do_not_know(options):
    with pytest.raises(NoRuleError, match=r"do not know (out|base|p)="):
        distance.cdist(af.Variable(np.ones((2, 4))), np.ones((3, 4)), **options)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 2), (2, 3)])
@pytest.mark.parametrize("dtype", [np.float32, int, bool])
def test_distances_are_in_double_precision(n, m, dtype):
    a, b, V = np.ones((n, 3), dtype), RNG.uniform(0.5, 1.5, (m, 3)), np.array([0.5, 0.7, 0.9])
    for metric, options in (("euclidean", {}), ("seuclidean", {"V": V}), ("minkowski", {"p": 1.5})):
        found = distance.cdist(a, af.Variable(b), metric, **options)
        right = scipy.spatial.distance.cdist(a, b, metric, **options)
        np.testing.assert_allclose(af.stop_gradient(found), right, rtol=1e-12)
        assert found.dtype == right.dtype
    assert distance.squareform(af.Variable(np.zeros(0))).shape == (1, 1)
