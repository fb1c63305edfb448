"""A recording that is made by hand: what becomes of a call, of what it is given, and of a doubt."""

import numpy as np
import pytest

from autoflow.compiler.matching import Nth, fill_slots
from autoflow.compiler.program import Program
from autoflow.compiler.run.buffers import Plan
from autoflow.compiler.trace.doubts import Abandoned
from autoflow.compiler.trace.tape import RECORDINGS, Tape, gives_object, has_fixed_places, has_fixed_shape, strip
from autoflow.errors import CompileError

X = np.array([2.0, 1.0, 3.0])


@pytest.fixture
def tape():
    return Tape()


def test_arrays_are_taken_out_of_a_call_and_put_back():
    for number, tree in (
        (1, X), (1, (X, 2)), (2, [X, {"a": (X, None)}]), (1, slice(X[:1], None)), (1, ((), "text", [X[0]], X)),
        (2, {"axis": 0, "out": [X, X]}), (0, (2, ...)),
    ):  # fmt: skip
        found = []
        assert repr(fill_slots(strip(tree, found), found)) == repr(tree)
        assert len(found) == number


@pytest.mark.parametrize(("function", "args", "other"), [
    (np.nonzero, ([0, 1],), ([1, 1],)), (np.where, ([0, 1],), ([1, 1],)), (np.unique, ([1, 1],), ([1, 2],)),
    (np.repeat, ([1, 2], [1, 1]), ([1, 2], [1, 2])), (np.compress, ([0, 1], [1, 2]), ([1, 1], [1, 2])),
    (np.bincount, ([1, 2],), ([1, 5],)), (np.arange, (3,), (4,)), (np.trim_zeros, ([0, 1],), ([1, 1],)),
])  # fmt: skip
def test_shapes_that_depend_on_values_are_not_fixed(function, args, other):
    assert np.shape(function(*args)) != np.shape(function(*other))
    assert not has_fixed_shape(function, tuple([Nth(k) for k in range(len(args))]), {})


@pytest.mark.parametrize(("index", "fixed"), [
    (Nth(0), True), (Nth(1), False), ((slice(None), Nth(0)), True), (slice(None, Nth(0)), False),
    ((0, ..., None), True),
])  # fmt: skip
def test_places_that_depend_on_values_are_not_fixed(index, fixed):
    assert has_fixed_places(index, [np.array([0, 1]), np.array([True, False])]) is fixed


def test_a_call_is_a_value_that_any_arrays_can_be_given_to(tape):
    x, y = [tape.borrow(tape.program.input(a)) for a in (X, X * 2)]
    z = tape.call(np.concatenate, ([x, y],), {"axis": 0})
    np.testing.assert_array_equal(z.expr.function(X, X + 1), np.concatenate([X, X + 1]))
    function, args, options = z.expr.function.written
    assert (function, [place.k for place in args[0]], options) == (np.concatenate, [0, 1], {"axis": 0})
    assert tape.call(np.sort, (x,)).expr is tape.call(np.sort, (x,)).expr
    assert not tape.program.checks
    n = tape.borrow(tape.program.input(np.array([1, 2, 1])))
    kept = [tape.call(np.repeat, (x, n)), tape.call(np.linalg.inv, (np.eye(2) * x[0],)), tape.item(x, x > 1)]
    assert tape.program.checks == [v.expr for v in kept]  # shapes, and errors, that depend on values


def test_numbers_are_constants_and_arrays_are_captured_as_they_were_when_they_were_read(tape):
    a = X.copy()
    assert tape.value(2.0).kind == tape.value(np.float64(2.0)).kind == "constant"
    first = tape.value(a)
    a[0] = 7.0  # the function has made it, and writes into it after use
    second = tape.value(a)
    tape.settle()
    np.testing.assert_array_equal([first.sample, second.sample], [X, a])
    outside = Tape(outside={id(a)})  # there guards look
    assert outside.value(a) is outside.value(a)
    assert not outside.copies


def test_memory_that_is_written_into_is_a_constant_or_a_repeated_number(tape):
    for a, kind in ((X, "constant"), (np.zeros((2, 3)), "view"), (np.full(4, np.nan), "view"), (X[:0], "view")):
        made = tape.own_memory(a)
        assert made.expr.kind == kind
        np.testing.assert_array_equal(made.expr.sample, a)


def test_results_that_are_no_arrays_of_numbers_are_refused(tape):
    x = tape.borrow(tape.program.input(X))
    for function, message in (
        (np.array2string, "returns more than arrays"), (lambda x: x.view(np.matrix), "makes a matrix"),
        (lambda x: np.sum(x.astype(object)), "returns more than arrays|gives an object"),
    ):  # fmt: skip
        with pytest.raises(CompileError, match=message):
            tape.call(function, (x,))
    of_objects = Program().capture(X.astype(object))
    assert gives_object(Program().call(np.sum, [of_objects], (), None), 2.0)


def test_a_doubt_stays_the_first_one_and_belongs_to_the_recording_that_is_open(tape):
    first, second = ValueError("first"), ValueError("second")
    assert isinstance(tape.doubt(first), Abandoned)
    tape.doubt(second)
    assert tape.reason is first
    tape.open = False
    assert tape.doubt(second) is second
    later = Tape()
    RECORDINGS.append(later)
    try:
        assert isinstance(tape.doubt(second), Abandoned)
    finally:
        RECORDINGS.remove(later)
    assert later.reason is second
    with pytest.raises(Abandoned):
        later.value(tape.new_traced(tape.program.constant(1.0)))


def test_a_view_is_simplified_and_the_program_runs(tape):
    x = tape.borrow(tape.program.input(X))
    y = tape.view(np.reshape, tape.view(np.transpose, x, (), {}), ((3,),), {})
    assert y.expr is x.expr
    tape.program.outputs = [tape.call(np.cumsum, (tape.view(np.reshape, x, ((3, 1),), {}),), {"axis": 0}).expr]
    np.testing.assert_array_equal(Plan(tape.program).run([X * 2])[0], np.cumsum(X * 2)[:, None])
