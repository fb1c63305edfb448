"""One set of node classes per array type. A stand-in type shows what another array library meets."""

import numpy as np
import pytest

import autoflow as af
from autoflow.backends import registry
from autoflow.errors import DataError

# -- types whose view does not give the class


class Stubborn(np.lib.mixins.NDArrayOperatorsMixin):
    """As a Dask array: ``view`` takes a dtype, and gives an array of the same class whatever it gets."""

    def __init__(self, host):
        self.host, self.dtype = host, host.dtype

    def astype(self, dtype, **_):
        return Stubborn(self.host.astype(dtype))

    def view(self, dtype):
        return Stubborn(self.host)

    __array_ufunc__ = __array_function__ = lambda self, *_, **__: NotImplemented


class Unviewable(Stubborn):
    def view(self, dtype):
        raise ValueError("no such dtype")


@pytest.mark.parametrize(("kind", "words"), [(Stubborn, "gives a Stubborn"), (Unviewable, "raises ValueError")])
def test_a_type_whose_view_does_not_give_the_class_is_refused(kind, words):
    with pytest.raises(DataError, match=rf"^array\.view\(cls\) of a .*\.{kind.__name__} {words}, so there can be no"):
        registry.register(kind, from_numpy=kind, to_numpy=lambda a: a.host)
    assert kind not in registry.NODE_TYPES


def test_a_function_that_makes_arrays_of_another_type_is_refused():
    with pytest.raises(DataError, match=r"^from_numpy gives a numpy\.ndarray, not a .*\.Another: nodes of that type"):
        registry.register(Another, from_numpy=np.array, to_numpy=np.array)
    assert Another not in registry.NODE_TYPES


class Another(np.ndarray):
    """Whose arrays are made of NumPy's by a view."""


@pytest.mark.parametrize("leaf", [af.Variable, af.Constant])
def test_so_is_a_type_of_a_library_that_is_registered_when_it_is_met(monkeypatch, leaf):
    """Then nothing is tried before the first array of it becomes a node."""
    monkeypatch.setitem(registry.KNOWN, Stubborn.__module__.partition(".")[0], join_stubborn)
    try:
        for _ in range(2):
            with pytest.raises(DataError, match=r"Stubborn gives a Stubborn, so there can be no nodes of it"):
                leaf(Stubborn(np.ones(2)))
    finally:
        registry.NODE_TYPES.pop(Stubborn, None)
        registry.families_changed()


def join_stubborn(join):
    join(Stubborn, from_numpy=Stubborn, to_numpy=lambda a: a.host)


def test_a_type_whose_view_gives_the_class_is_tried_once(monkeypatch):
    tried = []

    class Willing(np.ndarray):
        def view(self, cls):
            tried.append(cls)
            return super().view(cls)

    def put(a):
        return np.ndarray.view(a, Willing)

    try:
        family = registry.register(Willing, from_numpy=put, to_numpy=np.array)
        assert registry.register(Willing, from_numpy=put, to_numpy=np.array) is family
        assert [cls.__mro__[1] for cls in tried] == [Willing]
    finally:
        registry.NODE_TYPES.pop(Willing, None)
        registry.families_changed()
