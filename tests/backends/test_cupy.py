"""The real CuPy, also without a GPU: what a release of CuPy could break unseen.

Without a GPU CuPy can be imported and subclassed, but computes nothing. Its arrays can stand on the memory of this
machine, though: enough to see which call reaches which of our doors. Beside a GPU they are on the GPU, and what these
calls compute is right. (Everything else that is computed: tests/backends/test_gpu.py.)
"""

from __future__ import annotations

import contextlib
import inspect
import warnings

import numpy as np
import pytest
from devices import KEYWORDS, LACKING

cupy = pytest.importorskip("cupy", reason="CuPy is not installed (extra gpu-test)", exc_type=ImportError)

import cases  # noqa: E402
import devices  # noqa: E402
import standin  # noqa: E402
from cases import Case  # noqa: E402
from support import plain  # noqa: E402

import autoflow as af  # noqa: E402
from autoflow.backends import registry  # noqa: E402
from autoflow.errors import MixedArraysError, NoRuleError  # noqa: E402
from autoflow.forward import dispatch  # noqa: E402
from autoflow.table import indexing  # noqa: E402

NUMBERS = np.array([[1.0, 2.0], [3.0, 4.0]])


def cupys(numbers):
    """A CuPy array: on the GPU, or without one in the memory of this machine."""
    if cupy.is_available():
        return cupy.asarray(numbers)
    array = np.ascontiguousarray(numbers)
    memory = cupy.cuda.UnownedMemory(array.ctypes.data, array.nbytes, owner=array, device_id=0)
    return cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, 0))


@pytest.fixture
def x():
    return af.Variable(cupys(NUMBERS), name="x", copy=False)


@pytest.fixture
def asked(monkeypatch):
    """The functions that were asked for, instead of computing them."""
    calls = []

    def apply(rule, args, options=None):
        calls.append(rule.name)
        return "recorded"

    monkeypatch.setattr(dispatch, "apply", apply)
    for ufunc in list(dispatch.FORWARD):
        monkeypatch.setitem(dispatch.FORWARD, ufunc, lambda *a, name=ufunc.__name__: calls.append(name) or "recorded")
    return calls


def test_a_variable_is_a_cupy_array(x):
    assert isinstance(x, cupy.ndarray)
    assert isinstance(x, af.Variable)
    assert not isinstance(x, np.ndarray)
    assert type(x).__mro__[1].__name__ == "VariableRole"
    assert (x.name, x.shape, x.dtype, x.requires_grad, x.grad) == ("x", (2, 2), np.float64, True, None)
    assert type(x.value) is cupy.ndarray
    assert registry.NODE_TYPES[cupy.ndarray].Variable is type(x)


def test_slots_and_views(x):
    assert not hasattr(x, "__dict__")
    with pytest.raises(AttributeError):
        x.anything = 1
    assert type(x.value.view(type(x))) is type(x)
    assert type(x.value[0]) is cupy.ndarray
    c = x.detach()
    assert isinstance(c, af.Constant)
    assert c.value.data.ptr == x.value.data.ptr


@pytest.mark.parametrize("call", [
    lambda x: np.exp(x), lambda x: x + 1, lambda x: 1 - x, lambda x: x * x, lambda x: np.add(x, 1.0), lambda x: -x,
    lambda x: x @ x, lambda x: np.maximum(x, 0.5), lambda x: plain(x) + x,
])  # fmt: skip
def test_numpys_functions_and_operators_reach_us(x, asked, call):
    expected = call(NUMBERS)
    try:
        z = call(x)
    except Exception as error:  # an operator computes at once: without a GPU that fails inside CuPy
        assert not cupy.is_available()
        assert "CUDA" in str(error) or "cuda" in str(error) or "cublas" in str(error), error  # noqa: PT017
    else:
        if asked:
            assert z == "recorded"
        else:
            assert cupy.is_available()
            assert isinstance(z, af.Operation)
            assert type(z.value) is cupy.ndarray
            np.testing.assert_array_equal(cupy.asnumpy(z.value), expected)


def test_numpys_other_functions_reach_us(x, asked):
    np.sum(x)
    np.where(x.value is None, x, x)
    np.concatenate([x, x])
    assert asked == ["sum", "where", "concatenate"]


@pytest.mark.parametrize(("function", "name"), [
    (cupy.sin, "sin"), (cupy.exp, "exp"), (cupy.sqrt, "sqrt"), (cupy.absolute, "absolute"), (cupy.tanh, "tanh"),
    (cupy.negative, "negative"),
])  # fmt: skip
def test_cupys_functions_of_one_array_reach_us(x, asked, function, name):
    assert function(x) == "recorded"
    assert asked == [name]


@pytest.mark.parametrize(("function", "name"), [
    (cupy.add, "add"), (cupy.subtract, "subtract"), (cupy.multiply, "multiply"), (cupy.divide, "divide"),
    (cupy.power, "power"), (cupy.maximum, "maximum"), (cupy.arctan2, "arctan2"), (cupy.hypot, "hypot"),
])  # fmt: skip
def test_cupys_functions_of_two_arrays_reach_us(x, asked, function, name):
    assert function(x, x) == "recorded"
    assert function(x.value, x) == "recorded"
    assert function(2.0, x) == "recorded"
    assert asked == [name] * 3


def test_a_kernel_without_a_numpy_function_is_refused(x):
    with pytest.raises(NoRuleError, match="CuPy's kernel of_a_user of a node has no derivative"):
        cupy.ElementwiseKernel("T x", "T y", "y = x", "of_a_user")(x)


def test_a_copy_into_a_plain_array_is_refused(x):
    with pytest.raises(NoRuleError, match=r"cupy_copy of a node has no derivative\. Use the NumPy function"):
        cupy._core.core.elementwise_copy(x, x.value)


def test_methods_that_cupys_functions_call_are_ours(x):
    for name in ("sum", "mean", "reshape", "transpose", "dot", "max", "min", "prod", "var", "std", "ravel", "astype"):
        assert getattr(type(x), name) is getattr(af.Variable, name), name


def test_the_two_libraries_do_not_mix(x):
    with pytest.raises(MixedArraysError, match=r"cupy\.ndarray"):
        x + af.Variable(np.ones((2, 2)))
    with pytest.raises(MixedArraysError):
        x * np.ones((2, 2))


def namesake(function):
    """CuPy's function of the same name, None if it has none."""
    place = cupy
    for part in function.__module__.split(".")[1:] if not isinstance(function, np.ufunc) else ():
        place = place if part.startswith("_") else getattr(place, part, cupy)
    return getattr(place, function.__name__, getattr(cupy, function.__name__, None))


def out_of_place(ours, theirs, n):
    """Which of the first n arguments of NumPy's function stand elsewhere in CuPy's?"""
    a, b = (list(inspect.signature(function).parameters.values()) for function in (ours, theirs))
    places = {p.name: k for k, p in enumerate(b) if p.kind is not p.VAR_KEYWORD}
    return [p.name for k, p in enumerate(a[:n]) if places.get(p.name, k) != k]


def test_arguments_out_of_place_are_found():
    assert out_of_place(np.histogramdd, cupy.histogramdd, 3) == []
    assert out_of_place(np.histogramdd, cupy.histogramdd, 4) == ["density"]


def test_rules_add_at_an_index_with_cupys_own_function(monkeypatch):
    """np.add.at would ask CuPy as well, but not with a tuple as the index."""
    assert registry.family_of(cupys([1.0]))
    assert indexing.ADD_AT[cupy.ndarray] == cupy.add.at
    z = cupys([[1.0]])
    assert z.__array_ufunc__(np.add, "at", z, (0, cupys([0])), 1.0) is NotImplemented
    asked = []
    monkeypatch.setitem(indexing.ADD_AT, cupy.ndarray, lambda *call: asked.append(call))
    i = slice(None), np.array([0])
    indexing.add_at(z, i, z)
    assert asked == [(z, i, z)]
    z = cupys([[1.0 + 2j]])
    indexing.add_at(z, i, z)  # no GPU adds complex numbers in one step
    assert [call[0].dtype for call in asked] == [np.float64] * 3
    assert asked[1][0].data.mem is asked[2][0].data.mem is z.data.mem


@pytest.mark.slow
def test_cupy_has_what_rules_call():
    """Every row, and the calls of functions composed of them, run on the stand-in, which writes down what was asked of
    it; CuPy's signatures must take it."""
    registry.register(standin.Device, from_numpy=standin.put, to_numpy=standin.Device.get)
    standin.CALLS.clear()
    wrong = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in devices.CASES:
            devices.gone_through(case.values[0], "float64", standin.put, 2)
        for call in cases.EVERY:
            with contextlib.suppress(Exception):  # many of them bring arrays of NumPy along, which is refused
                devices.gone_through(Case(call, call.example), "float64", standin.put, 1)
    for function, method, n, names in standin.CALLS:
        theirs, name = namesake(function), function.__name__
        if theirs is None:
            wrong |= {name} - LACKING
        elif isinstance(function, np.ufunc):
            if not hasattr(theirs, method):
                wrong.add(f"{name}.{method}")
        else:
            try:
                inspect.signature(theirs).bind(*[None] * n, **dict.fromkeys(set(names) - KEYWORDS - {"mode"}))
                wrong |= {f"{name}: {word} stands elsewhere" for word in out_of_place(function, theirs, n)}
            except ValueError:  # a function in C, which shows no signature
                continue
            except TypeError as error:
                wrong.add(f"{name}: {error}")
    del registry.NODE_TYPES[standin.Device]
    assert not wrong
