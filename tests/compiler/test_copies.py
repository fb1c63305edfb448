"""Compiled functions are copied and pickled as their function and their options, with nothing recorded."""

import copy
import functools
import pickle

import numpy as np
import pytest

import autoflow as af
from autoflow import nn

X = np.array([1.0, 2.0])


def twice(x):
    return x * 2


@af.compile
def thrice(x):
    return x * 3


class Holder:
    """A model with a compiled function, and a compiled method."""

    def __init__(self, scale):
        self.scale = scale
        self.f = af.compile(twice, fallback=True, limit=3)
        self.bound = af.compile(self.scaled)

    def scaled(self, x):
        return x * self.scale

    @af.compile
    def method(self, x):
        return x + self.scale


def pickled(x):
    return pickle.loads(pickle.dumps(x))


WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copy_has_the_function_and_the_options(way, engine):
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    options = {"fallback": True, "verify": True, "limit": 3, "watch": False, "checkpointing": "balanced"}
    options["engine"] = engine
    compiled = af.compile(twice, **options)
    compiled(X)
    other = way(compiled)
    assert other is not compiled
    assert (other.f, other.how, other.__name__) == (twice, compiled.how, "twice")
    assert options.items() <= other.how.items()
    assert not other.entries
    assert compiled.entries
    assert other(X).tolist() == compiled(X).tolist() == [2.0, 4.0]


def test_a_decorated_function_is_found_by_its_name():
    thrice(X)
    assert pickled(thrice) is thrice
    other = copy.deepcopy(thrice)
    assert not other.entries
    assert other(X).tolist() == [3.0, 6.0]
    assert pickled(functools.partial(thrice, X))().tolist() == [3.0, 6.0]


@pytest.mark.parametrize("way", [copy.deepcopy, pickled])
def test_what_holds_a_compiled_function_is_copied(way):
    holder = Holder(5.0)
    assert (holder.f(X).tolist(), holder.bound(X).tolist(), holder.method(X).tolist()) == ([2, 4], [5, 10], [6, 7])
    other = way(holder)
    other.scale = 7.0
    assert (other.f(X).tolist(), other.bound(X).tolist(), other.method(X).tolist()) == ([2, 4], [7, 14], [8, 9])
    assert holder.bound(X).tolist() == [5, 10]


def test_a_model_that_holds_its_compiled_step_is_copied():
    model = nn.Sequential(nn.Linear(2, 3, rng=np.random.default_rng(0)))
    model.quick = af.compile(model.__call__)
    model.quick(X)
    other = copy.deepcopy(model)
    for p in other.parameters():
        p.assign(np.zeros(p.shape))
    assert other.quick(X).tolist() == [0.0, 0.0, 0.0]
    assert model.quick(X).tolist() == model(X).value.tolist()


def test_copies_of_local_functions():
    """Deep copies of functions are the functions; pickle finds them by name only, and says so."""
    compiled = af.compile(lambda x: x * 2)
    assert copy.deepcopy(compiled)(X).tolist() == [2.0, 4.0]
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(compiled)
