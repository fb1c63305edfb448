"""NumPy's own functions, run on nodes: what the copies are, and that none of them can lose a node unseen.

Their values and derivatives are tried with those of all composed functions (test_composed.py, test_keywords.py,
backends/test_device.py, batching/test_definition.py).
"""

import inspect
from types import FunctionType

import numpy as np
import pytest
from support import same_bits

import autoflow as af
from autoflow.table.bodies import ARGUMENTS, OWN, names_in, place, stand_ins, with_copies
from autoflow.table.outside import CONSTRUCTORS
from autoflow.table.table import COMPOSED

EVERY = sorted(OWN, key=lambda f: f"{f.__module__}.{f.__name__}")
# Constructors that the copies call with numbers, shapes or axes alone.
HARMLESS = {"asarray", "asanyarray", "array", "empty", "zeros", "arange", "identity"}  # the last: of a ufunc


def copies_of(function):
    """The copy of a function, and those of the private functions that it calls."""
    made = stand_ins()
    made.find(function._implementation)
    return [f for f in made.values() if isinstance(f, FunctionType) and f.__globals__.get("__builtins__")]


def constructors_in(f):
    """The names of functions in C that take the numbers of what they are given, as the code of ``f`` says them."""
    known = {c.__name__: c for c in CONSTRUCTORS}
    spaces = [f.__globals__, *[vars(m) for m in f.__globals__.values() if inspect.ismodule(m)]]
    return {name for name in names_in(f.__code__) & known.keys() for s in spaces if s.get(name) is known[name]}


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_a_copy_takes_what_numpys_function_takes(function):
    assert inspect.signature(COMPOSED[function]) == inspect.signature(function)
    before = dict(function._implementation.__globals__)
    copies_of(function)
    assert function._implementation.__globals__ == before, "NumPy itself stays as it is"
    code = stand_ins().find(function._implementation).__code__
    assert code == function._implementation.__code__
    assert code is not function._implementation.__code__, "who watches NumPy's code would see nodes in it"


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
def test_no_copy_makes_arrays_in_another_way(function):
    """Of a node they would take the numbers. (A newer NumPy may have other code: then this says which function.)"""
    for f in copies_of(function):
        assert constructors_in(f) <= HARMLESS, f.__name__


def test_a_constructor_that_takes_numbers_is_noticed():
    space = {"np": np, "__builtins__": __builtins__}
    f = FunctionType((lambda x: np.ascontiguousarray(x)).__code__, space)
    assert constructors_in(f) == {"ascontiguousarray"}


def test_a_list_with_nodes_and_a_new_array_are_kept_and_numbers_become_numpys_arrays():
    x, plain = af.Variable(2.0), np.arange(3.0)
    make, as_array = [stand_ins()[id(f)] for f in (np.array, np.asarray)]
    z = make([x, 3.0], np.float32, ndmin=2)
    assert (type(z), z.dtype, z.shape) == (af.nodes.nodes.View, np.float32, (1, 2))
    assert same_bits(make(plain, ndmin=2), plain[None])
    for given in (x, plain):
        assert as_array(given) is given
        assert make(given) is not given


def test_new_arrays_are_like_the_arguments():
    """A node remembers what is written; integers, and arrays of a call without nodes, are NumPy's."""
    made, x = stand_ins(), af.Variable([1.0, 2.0])
    for arguments, kind in (((), np.ndarray), ((3, [x]), af.Constant)):
        before = ARGUMENTS.set(arguments)
        try:
            assert type(made[id(np.zeros)](3)) is kind
            assert type(made[id(np.zeros)](3, int)) is np.ndarray
            assert type(made[id(np.empty_like)](np.ones(2))) is kind
        finally:
            ARGUMENTS.reset(before)


def test_the_place_of_a_call_is_left_with_it():
    """Also if it raises, and while a function of NumPy's that is called inside has no nodes."""
    x, seen = af.Variable([1.0, 2.0]), []
    inner = with_copies(lambda y: seen.append(place()))

    def outer(y):
        inner(np.ones(2))
        seen.append(place())
        raise ValueError("after that")

    with pytest.raises(ValueError, match="after that"):
        with_copies(outer)(x)
    assert [type(each) for each in seen] == [type(None), af.Variable]
    assert place() is None
