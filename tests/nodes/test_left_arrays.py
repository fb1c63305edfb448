"""``array += node``: right where nobody else holds the array, an error where somebody does."""

import builtins
import operator
import sys
import types

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError


class Held:
    """An attribute."""

    a: np.ndarray


def in_a_list(x):
    held = [np.zeros(2)]
    held[0] += x
    return held[0]


def in_an_object(x):
    held = Held()
    held.a = np.zeros(2)
    held.a += x
    return held.a


def by_name(x):
    a = np.ones(2)
    a *= x
    a -= x * x
    return a


def in_a_loop(x):
    total = np.zeros(2)
    for k in range(4):
        total += x * k
    return total


def temporary(x):
    return operator.iadd(np.zeros(2), x)


def after_locals(x):
    a = np.zeros(2)
    locals()
    a += x
    return a


def in_a_cycle(x):
    def inside():
        a = np.zeros(2)
        cycle = [a]
        cycle.append(cycle)
        a += x
        return a

    return inside()


def of_another_dtype(x):
    a = np.zeros(2, np.float32)
    a += x
    return a


def shown_at_a_prompt(x):
    a = builtins._ = np.zeros(2)
    a += x
    return a


def shown_in_a_notebook(x):
    a = np.zeros(2)
    sys.modules["__main__"]._oh = {3: a}
    a += x
    return a


def by_two_names(x):
    a = b = np.zeros(2)
    a += x
    return b


def by_the_caller(x):
    def add(out):
        out += x

    a = np.zeros(2)
    add(a)
    return a


def by_a_list_and_a_name(x):
    held = [np.zeros(2)]
    for a in held:
        a += x
    return held[0]


def by_an_operator(x):
    a = np.zeros(2)
    operator.iadd(a, x)
    return a


def by_out(x):
    a = np.ones(2)
    np.multiply(a, x, out=a)
    return a


RIGHT = [
    in_a_list, in_an_object, by_name, in_a_loop, temporary, after_locals, in_a_cycle, of_another_dtype,
    shown_at_a_prompt, shown_in_a_notebook,
]  # fmt: skip
HELD = [by_two_names, by_the_caller, by_a_list_and_a_name, by_an_operator, by_out]


@pytest.fixture(autouse=True)
def _nothing_is_shown(monkeypatch):
    monkeypatch.setattr(builtins, "_", None, raising=False)
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))


@pytest.mark.parametrize("make", RIGHT)
def test_a_name_is_bound_anew(make):
    x, h = af.Variable([1.5, -0.5]), np.array([1e-3, 2e-3])
    (make(x) * [1.0, 3.0]).sum().backward()
    difference = np.asarray(make(x.value + h)) - np.asarray(make(x.value - h))
    np.testing.assert_allclose(x.grad * h, [1.0, 3.0] * difference / 2, rtol=1e-4)


@pytest.mark.parametrize("make", HELD)
def test_others_who_hold_the_array_are_told(make):
    x = af.Variable([1.5, -0.5])
    with pytest.raises(LostGradientError, match=r"array \+= node at .*test_left_arrays"):
        (x * make(x)).sum()
    (x * x).sum().backward()  # said once
    assert x.grad.tolist() == [3.0, -1.0]


def test_who_holds_the_array_is_told_when_a_gradient_is_asked_for():
    x = af.Variable(2.0)
    a = b = np.zeros(())
    a += x
    with pytest.raises(LostGradientError, match="holds the array"):
        a.backward()
    assert b == 2.0


def test_without_a_history_nothing_is_lost():
    x = af.Variable([1.0, 2.0])
    a = b = np.zeros(2)
    with af.no_grad():
        a += x
    a += af.Constant([1.0, 1.0])
    assert a.tolist() == b.tolist() == [2.0, 3.0]
    assert (x * b).tolist() == [2.0, 6.0]
