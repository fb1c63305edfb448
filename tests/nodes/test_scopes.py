"""Scopes: who records them, that they nest, and that they cost nothing where there are none."""

import asyncio

import numpy as np
import pytest
from threads import in_threads

import autoflow as af
from autoflow.base.modes import modes
from autoflow.nodes.records import scope


def test_operations_of_every_door_know_their_scope():
    x = af.Variable([1.0, 2.0, 3.0], name="x")
    with scope("a"):
        inside = [x + 1, x @ x, np.exp(x), x[1:], x.sum(axis=0), np.concatenate([x, x]), x.reshape(3, 1), x.T]
        with scope("b"):
            deeper = x * x
    assert all(node.grad_fn.scope == ("a",) for node in inside)
    assert deeper.grad_fn.scope == ("a", "b")
    assert (x + 1).grad_fn.scope == ()
    for node in (inside[0], inside[2]):
        x.zero_grad()
        node.sum().backward()
        np.testing.assert_array_equal(x.grad, np.ones(3) if node is inside[0] else np.exp(x.value))


def test_each_entering_is_another_box():
    x = af.Variable(2.0)
    nodes = []
    for _ in range(2):
        with scope("step"):
            nodes.append(x * x)
            nodes.append(x * x)
    numbers = [node.grad_fn.entered[0][1] for node in nodes]
    assert numbers[0] == numbers[1] < numbers[2] == numbers[3]


def test_decorators_also_without_parentheses_and_for_coroutines():
    x = af.Variable(2.0)

    @scope("layer")
    def one(x):
        return x * x

    @scope
    def two(x):
        return one(x) + 1

    @scope("waiting")
    async def three(x):
        await asyncio.sleep(0)
        return x * x

    assert one(x).grad_fn.scope == ("layer",)
    assert two(x).grad_fn.scope == ("two",)
    assert two(x).grad_fn.parents[0].scope == ("two", "layer")
    assert one.__name__ == "one"
    assert asyncio.run(three(x)).grad_fn.scope == ("waiting",)
    with pytest.raises(TypeError, match="generator"):

        @scope("g")
        def four():
            yield 1


def test_an_exception_ends_the_scope_and_threads_have_their_own():
    x = af.Variable(2.0)
    with pytest.raises(KeyError), scope("a"):
        raise KeyError
    assert modes().scope == ()
    with scope("main"):
        found = in_threads(lambda: (x * x).grad_fn.scope)
    assert found in ([()], [("main",)])  # a thread inherits the context from Python 3.14 on, if it is told so


def test_a_scope_records_nothing_by_itself():
    x = af.Variable([1.0, 2.0])
    with scope("a"):
        with af.no_grad():
            y = x * 2
            x -= 0.5
        c = af.Constant(1.0) + 1
    assert not y.requires_grad
    assert not c.requires_grad
    np.testing.assert_array_equal(x.value, [0.5, 1.5])


def test_without_a_scope_the_fast_path_is_as_before():
    limit = modes().fast_path_limit
    with scope("a"):
        assert modes().fast_path_limit == -1
    assert modes().fast_path_limit == limit == modes().keep


@pytest.mark.parametrize("wrong", [1, None, 2.5])
def test_names_are_text(wrong):
    with pytest.raises(TypeError, match="a scope has a name"):
        scope(wrong)


def test_scopes_of_generators_that_take_turns():
    x, found = af.Variable(1.0), []

    def computing(name):
        with scope(name):
            found.append((x * 1.0).grad_fn.entered)
            yield
            found.append((x * 1.0).grad_fn.entered)

    first, second = computing("a"), computing("b")
    next(first)
    next(second)
    next(first, None)
    next(second, None)
    a, b = found[0] + found[1][1:]
    assert found == [(a,), (a, b), (a, b), (b,)]
    assert not modes().scope
