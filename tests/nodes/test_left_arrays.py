"""``array += node``: right where nobody else holds the array, an error where somebody does."""

import builtins
import operator
import sys
import types
from types import SimpleNamespace  # noqa: F401 - for the texts below

import numpy as np
import pytest
from threads import in_threads

import autoflow as af
from autoflow.errors import LostGradientError


def in_a_loop(x):
    total = np.zeros(2)
    for k in range(4):
        total += x * k
    return total


def in_a_cycle(x):
    def inside():
        a = np.zeros(2)
        cycle = [a]
        cycle.append(cycle)
        a += x
        return a

    return inside()


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


# Functions, and the statements of others, which return a.
RIGHT = [
    in_a_loop, in_a_cycle, lambda x: operator.iadd(np.zeros(2), x), "a = np.zeros(2); locals(); a += x",
    "held = [np.zeros(2)]; held[0] += x; a = held[0]", "a = np.ones(2); a *= x; a -= x * x",
    "held = SimpleNamespace(a=np.zeros(2)); held.a += x; a = held.a", "a = np.zeros(2, np.float32); a += x",
    "a = builtins._ = np.zeros(2); a += x", "a = np.zeros(2); sys.modules['__main__']._oh = {3: a}; a += x",
]  # fmt: skip
HELD = [
    by_the_caller, by_a_list_and_a_name, "b = a = np.zeros(2); b += x", "a = np.zeros(2); operator.iadd(a, x)",
    "a = np.ones(2); np.multiply(a, x, out=a)",
]  # fmt: skip


def made_by(make, x):
    if isinstance(make, str):
        scope = {**globals()}
        exec(compile(f"def f(x): {make}; return a", __file__, "exec"), scope)
        make = scope["f"]
    return make(x)


@pytest.fixture(autouse=True)
def _nothing_is_shown(monkeypatch):
    monkeypatch.setattr(builtins, "_", None, raising=False)
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))


@pytest.mark.parametrize("make", RIGHT)
def test_a_name_is_bound_anew(make):
    x, h = af.Variable([1.5, -0.5]), np.array([1e-3, 2e-3])
    (made_by(make, x) * [1.0, 3.0]).sum().backward()
    difference = np.asarray(made_by(make, x.value + h)) - np.asarray(made_by(make, x.value - h))
    np.testing.assert_allclose(x.grad * h, [1.0, 3.0] * difference / 2, rtol=1e-4)


BLOCKS = {
    "scope": lambda: af.scope("part"), "options": lambda: af.options(digits=3), "enable_grad": af.enable_grad,
    "anomaly": af.detect_anomaly, "nested": lambda: af.scope("inner"),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("way", ["with", "decorator", "generator"])
def test_a_block_that_is_left_meanwhile_takes_no_mark_with_it(name, way):
    x, a = af.Variable([1.5, -0.5]), np.zeros(2)

    def add():
        out = a
        out += x

    def adding():
        with BLOCKS[name]():
            yield add()

    if way == "generator":
        list(adding())
    elif way == "with":
        with af.scope("outer"), BLOCKS[name]():
            add()
    elif name in ("anomaly", "options"):
        BLOCKS[name]()(add)()
    else:
        af.scope("outer")(BLOCKS[name]()(add))()
    with pytest.raises(LostGradientError, match=r"array \+= node at .*test_left_arrays"):
        (x * a).sum()


@pytest.mark.parametrize("caught", [Exception, LostGradientError, BaseException])
@pytest.mark.parametrize("again", [af.backward, lambda z: z.backward(), lambda z: af.gradients(z, [z.operands[0]])])
def test_a_program_that_catches_the_error_is_told_by_each_pass(caught, again):
    x = af.Variable([1.5, -0.5])
    a = held = np.zeros(2)
    a += x
    try:
        y = x * 2
    except caught:
        y = x
    for _ in range(2):
        with pytest.raises(LostGradientError, match=r"array \+= node at .*test_left_arrays"):
            again((y * held).sum())
    held = a = np.ones(2)
    again((y * held).sum())


def test_an_error_that_was_shown_at_a_prompt_is_said_once(monkeypatch):
    x = af.Variable([1.5, -0.5])
    a = held = np.zeros(2)
    a += x
    with pytest.raises(LostGradientError) as error:
        x * 2
    monkeypatch.setattr(sys, "last_value", error.value, raising=False)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert held.tolist() == [1.5, -0.5]


def test_another_thread_is_not_told():
    x = af.Variable([1.5, -0.5])
    a = held = np.zeros(2)
    a += x
    in_threads(lambda: (x * x).sum().backward())
    with pytest.raises(LostGradientError):
        (x * held).sum()


@pytest.mark.parametrize("make", HELD)
def test_others_who_hold_the_array_are_told(make):
    x = af.Variable([1.5, -0.5])
    with pytest.raises(LostGradientError, match=r"array \+= node at .*test_left_arrays"):
        (x * made_by(make, x)).sum()
    (x * x).sum().backward()  # said once
    assert x.grad.tolist() == [3.0, -1.0]


def when_a_gradient_is_asked_for(x):
    a = b = np.zeros(2)
    a += x
    a.backward(np.ones(2))
    return b


def at_a_write(x):
    z, total = x * 1, np.zeros(2)
    kept = total
    total += x
    z[0] = kept[0]  # its last use: the pass finds nobody who holds it
    return z


@pytest.mark.parametrize("f", [when_a_gradient_is_asked_for, at_a_write])
def test_who_holds_the_array_is_told(f):
    with pytest.raises(LostGradientError, match="holds the array"):
        f(af.Variable([1.5, -0.5]))


def test_without_a_history_nothing_is_lost():
    x = af.Variable([1.0, 2.0])
    a = b = np.zeros(2)
    with af.no_grad():
        a += x
    a += af.Constant([1.0, 1.0])
    assert a.tolist() == b.tolist() == [2.0, 3.0]
    assert (x * b).tolist() == [2.0, 6.0]
