"""What arrays that pretend have in common; what they are for is tested with vmap and compile."""

import copy
import operator
import pickle

import numpy as np
import pytest

import autoflow as af
from autoflow.backends import NODE_TYPES
from autoflow.backends.duck_arrays import OPERATORS, QUESTIONS, UNARY, DuckArray, Registration, store_results
from autoflow.backends.registry import NodeClass, families_changed

ALONE = """
    all any argmax argmin argsort cumprod cumsum diagonal max min nonzero prod ravel round squeeze std trace var
"""  # methods that need no argument


class Pretender(DuckArray):
    """Knows its shape, and notes what NumPy is asked to do with it."""

    is_number = False

    def __init__(self, *shape):
        self.shape, self.dtype = shape, np.dtype(np.float32)

    @staticmethod
    def refuse_number(word):
        return KeyError(word)

    def yields_to(self, y):
        return isinstance(y, str)

    def update(self, name, ufunc, y):
        return name, ufunc, y

    def copy(self, order="C"):
        return "a copy"

    def __getitem__(self, i):
        return i

    def __repr__(self):
        return "shown"

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return ufunc, inputs

    def __array_function__(self, function, types, args, options):
        return function


def test_facts_follow_from_shape_and_dtype():
    x = Pretender(2, 3)
    assert (x.ndim, x.size, x.itemsize, x.nbytes, len(x), list(x)) == (2, 6, 4, 24, 2, [0, 1])
    with pytest.raises(TypeError, match="unsized"):
        len(Pretender())
    with pytest.raises(TypeError, match="0-d"):
        iter(Pretender())


def test_operators_are_ufuncs_unless_the_other_operand_computes():
    x = Pretender(2)
    for name, ufunc in OPERATORS.items():
        assert getattr(x, f"__{name}__")(2.0) == (ufunc, (x, 2.0)), name
        assert getattr(x, f"__{name}__")("mine") is NotImplemented, name
    assert (2.0 - x)[1] == (2.0, x)
    assert [getattr(x, f"__{name}__")() for name in UNARY] == [(ufunc, (x,)) for ufunc in UNARY.values()]
    x += 3.0
    assert x == ("add", np.add, 3.0)


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_about_numbers_are_refused_in_the_users_words(name):
    with pytest.raises(KeyError) as caught:
        getattr(Pretender(2), f"__{name}__")()
    assert caught.value.args == (QUESTIONS[name],)


def test_copies_texts_and_files():
    x = Pretender(2)
    assert copy.copy(x) == copy.deepcopy(x) == "a copy"
    assert f"{x}" == "shown"
    for ask in (lambda: f"{x:.2f}", lambda: pickle.dumps(x), lambda: np.asarray(x)):
        with pytest.raises(KeyError):
            ask()


def test_methods_are_functions_of_numpy_and_the_rest_is_named():
    x = Pretender(2)
    assert (x.T, x.mT, x.sum(), x.mean(axis=0)) == (np.transpose, np.matrix_transpose, np.sum, np.mean)
    assert x.real is x
    assert [getattr(x, name)() for name in ALONE.split()] == [getattr(np, name) for name in ALONE.split()]
    assert x.to_device("cpu") is x
    with pytest.raises(KeyError, match="getfield"):
        x.getfield(int)


def test_results_are_stored_where_out_names_an_array():
    stored = []
    assert store_results((None, "b"), (1, 2), lambda x, r: stored.append((x, r))) == (1, "b")
    assert stored == [("b", 2)]
    assert store_results((..., "b"), (1, 2), lambda x, r: None) == (1, "b")
    assert store_results(("a",), 5, lambda x, r: None) == "a"


def test_a_class_is_registered_while_somebody_needs_it():
    class Array(np.ndarray):
        pass

    families_changed()  # after tests that take array types out of the table themselves
    alone = "__instancecheck__" not in vars(NodeClass)
    registration = Registration(Array, [], from_numpy=np.asarray, to_numpy=np.asarray, call=lambda f, x: "called")
    with registration.needed_by("one"):
        with registration.needed_by("two"):
            types = NODE_TYPES[Array]
            assert registration.users == ["one", "two"]
            assert (types.call(np.sin, 1.0), types.has_numbers) == ("called", False)
        assert NODE_TYPES[Array] is types
    assert Array not in NODE_TYPES
    with registration.needed_by("three"):
        assert NODE_TYPES[Array] is types
        assert isinstance(af.Variable(np.zeros(2).view(Array)), af.Variable)
    assert Array not in NODE_TYPES
    assert alone == ("__instancecheck__" not in vars(NodeClass))


CUBE = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = {
    "C": CUBE, "F": np.asfortranarray(CUBE), "every other": np.repeat(CUBE, 2, axis=2)[..., ::2],
    "one axis": np.ones(3),
}  # fmt: skip
AS_IN_NUMPY = {
    **{f"astype to its dtype, order {o}": lambda x, o=o: x.astype(x.dtype, o, copy=False) is x for o in "KACF"},
    "astype to another dtype": lambda x: x.astype(np.float32, copy=False),
    "astype, a copy": lambda x: x.astype(x.dtype) is x,
    "three axes": lambda x: x.transpose(*np.roll(np.arange(x.ndim), 1)), "conjugate": lambda x: x.conjugate() is x,
    "another device": lambda x: x.to_device("gpu"), "its device": lambda x: x.to_device("cpu"),
    "copy of a number": lambda x: copy.copy(x.sum()) * 2, "T of a number": lambda x: x.sum().T * 2,
    "power of a number": lambda x: operator.ipow(x.sum(), 2),
    "named parts": lambda x: np.linalg.svd(x.reshape(-1, 3)).S,
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", AS_IN_NUMPY)
def test_methods_as_in_numpy(name, layout):
    f, x = AS_IN_NUMPY[name], LAYOUTS[layout]
    batch = np.empty((2, x.size)).reshape(2, *x.shape, order="C")
    batch = np.stack([x.ravel("K")] * 2).reshape(2, *x.T.shape).swapaxes(1, -1) if layout == "F" else batch
    batch[...] = x
    try:
        right = f(x)
    except Exception as error:
        for run in (lambda: af.compile(f)(x), lambda: af.vmap(f, loop="allow")(batch)):
            with pytest.raises(type(error)):
                run()
        return
    np.testing.assert_allclose(af.compile(f)(x), right)
    np.testing.assert_allclose(af.vmap(f, loop="refuse")(batch), [f(y) for y in batch])
