"""One set of node classes per array type. A stand-in type shows what another array library meets."""

import numpy as np
import pytest

import autoflow as af
from autoflow.backends import registry
from autoflow.errors import MixedArraysError
from autoflow.nodes.nodes import ROLES, SLOTS


class Other(np.ndarray):
    """An array of another library, as far as autoflow can tell."""


@pytest.fixture
def other():
    family = registry.Family(Other, ROLES, SLOTS)
    yield family
    del registry.FAMILIES[Other]


def test_variables_of_another_array_type(other):
    x = af.Variable(np.ones(2).view(Other), name="x")
    assert type(x) is other.Variable
    assert isinstance(x, af.Variable)
    assert isinstance(x, Other)
    assert not issubclass(other.Variable, af.Variable)
    z = x * 2.0
    assert isinstance(z, af.Operation)
    assert isinstance(z, Other)
    z.backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


def test_arrays_of_two_libraries_do_not_mix(other):
    x, y = af.Variable(np.ones(2).view(Other)), af.Variable(np.ones(2))
    for mix in (lambda: x * y, lambda: y + x, lambda: np.concatenate([x, y]), lambda: np.where(y > 0, x, y)):
        with pytest.raises(MixedArraysError, match=r"arrays of numpy\.ndarray and .*Other.*Bring one side over"):
            mix()
