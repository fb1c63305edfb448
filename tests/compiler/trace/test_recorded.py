"""One recording of a function: its program, its result, what it found outside, and what must not be left of it."""

import numpy as np
import pytest

from autoflow import nn
from autoflow.compiler.matching import Nth
from autoflow.compiler.run.buffers import Plan
from autoflow.compiler.trace.guards import Guards
from autoflow.compiler.trace.recorded import Parameters, check_nothing_stays, derive, record
from autoflow.compiler.trace.tape import Tape
from autoflow.errors import CompileError

X, OUTSIDE = np.array([1.0, 2.0]), np.array([3.0, 4.0])


def recorded(f, *args, **options):
    return record(f, args, options, lambda x: isinstance(x, np.ndarray))


def test_a_recording_is_a_program_a_tree_and_guards():
    made = recorded(lambda p, *, scale: {"a": (np.tanh(p["x"]) * OUTSIDE, "text"), "b": p["x"]}, {"x": X}, scale=2.0)
    assert [v.name for v in made.program.order() if v.args] == ["tanh", "multiply"]
    (a, text), b = made.tree["a"], made.tree["b"]
    assert (type(a), a.k, text, b.k) == (Nth, 0, "text", 1)
    assert id(OUTSIDE) in made.outside
    assert made.guards.hold()
    assert not made.asks
    (y, z), x = Plan(made.program).run([X + 1]), X + 1
    np.testing.assert_array_equal([y, z], [np.tanh(x) * OUTSIDE, x])


def test_an_array_that_is_passed_twice_is_one_input_and_one_object():
    made = recorded(lambda x, y: x * 2 if x is y else x, X, X)
    assert [v.name for v in made.program.order() if v.args] == ["multiply"]


@pytest.mark.parametrize(("f", "asks"), [
    (lambda x: x * (2 if isinstance(x, np.ndarray) else 3), False), (lambda x: x * (2 if type(x) is int else 3), True),
    (lambda x: x * (2 if hasattr(x, "a") else 3), True), (lambda x: x * (id(x) > 0), True),
])  # fmt: skip
def test_who_asks_for_the_class_of_an_array_is_compared_at_the_first_call(f, asks):
    assert recorded(f, X).asks is asks


def test_an_array_that_stays_is_found():
    tape = Tape()
    check_nothing_stays(tape, ())
    kept = tape.new_traced(tape.program.input(X))
    with pytest.raises(CompileError, match=r"keeps 1 of the arrays .*shape \(2,\)"):
        check_nothing_stays(tape, (0.0,))
    del kept
    check_nothing_stays(tape, ())


def test_a_derivative_that_looks_at_numbers_becomes_one_call():
    tape = Tape()
    g = tape.new_traced(tape.program.input(X))
    plain = derive(tape, lambda g, saved: np.sin(g) * saved[0], "x", g, (2.0,))
    looking = derive(tape, lambda g, saved: g * (saved[0] if g[0] > 0 else 3.0), "x", g, (2.0,))
    assert tape.reason is None
    assert (plain.expr.name, looking.expr.kind) == ("multiply", "call")
    for sign in (1, -1):
        np.testing.assert_array_equal(looking.expr.function(sign * X), X * (2.0 if sign > 0 else -3.0))


def test_parameters_are_hidden_where_nothing_else_leads_to_them():
    model = nn.Linear(2, 1, rng=np.random.default_rng(0))
    weight, bias = model.weight.value, model.bias.value
    of_model = {id(weight), id(bias)}

    def call(p):
        return nn.functional_call(model, p, X)

    for f, ids, hidden in (
        (call, of_model, of_model), (lambda p: call(p) * model.weight.value, of_model, of_model),
        (lambda p: call(p) * bias, of_model, {id(weight)}), (lambda p: p["weight"] * model.weight.value, set(), set()),
    ):  # fmt: skip
        guards = Guards(f, [])
        parameters = Parameters(guards)
        assert (parameters.ids, parameters.deciding_nothing(guards.edges)) == (ids, hidden)


def test_what_a_function_does_to_its_arguments_or_returns_is_refused():
    for f, args, message in (
        (lambda p: p.pop("x"), ({"x": X},), "changes a list, dict or object among its arguments"),
        (lambda x: np.ma.ones(2), (X,), "comes? back as a plain array"),
        (lambda x: np.seterr(divide="ignore") and x, (X,), "changes np.seterr"),
    ):  # fmt: skip
        with np.errstate(), pytest.raises(CompileError, match=message):
            recorded(f, *args)
