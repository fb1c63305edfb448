"""Calls and loops as boxes: exact, or not there. (Those of whole programs are in the golden files of test_names.py.)"""

import contextlib
import sys

import numpy as np
import pytest
from naming import boxes_of, operations_of

import autoflow as af


def paths(*nodes):
    """The titles of the boxes around these operations, in the picture of the last one."""
    boxes = boxes_of(nodes[-1])
    return [tuple([title for title, _ in boxes.around(node.grad_fn)]) for node in nodes]


def twice(x):
    y = x * 2.0
    return y + 1.0


def test_calls():
    x = af.Variable(1.0)
    a = twice(x)
    b = twice(a)
    assert paths(a, b, a * b) == [("twice(x)",), ("twice(a)",), ()]
    assert paths(a) == [()]  # all of the picture is in that call


def test_scopes_stand_where_they_were_entered():
    def model(x):
        with af.scope("inner"):
            y = twice(x)
            return y * 3.0, y

    x = af.Variable(1.0)
    with af.scope("outer"):
        z, y = model(x)
    assert paths(y, z, z * 1.0) == [("outer", "inner", "twice(x)"), ("outer", "inner"), ()]


def box_of(y, root):
    """The title of the innermost one, and what is noted there."""
    boxes = boxes_of(root)
    title, key = boxes.around(y.grad_fn)[-1]
    return title, boxes.note(key)


def test_loops_say_what_is_sure():
    x = af.Variable(1.0)
    for _ in range(4):
        y = x * 2.0
        x = y + 1.0
    assert box_of(y, x * 1.0) == ("for _ in range(4)", "at least 4 turns")


def test_functions_of_several_operations_are_one_execution():
    x = af.Variable(np.arange(3.0))
    for _ in range(2):
        y = np.std(x)
        x = x * y
    assert box_of(y, np.sum(x)) == ("for _ in range(2)", "at least 2 turns")


def test_a_loop_around_the_whole_picture_is_not_in_it():
    for k in range(3):
        x = af.Variable(float(k))
        y = twice(x) * 3.0
        assert paths(y) == [()]


def test_a_box_around_one_operation_is_not_drawn():
    def square(x):
        return x * x

    x = af.Variable(2.0)
    y = square(x)
    assert paths(y, y + 1.0) == [(), ()]


def test_a_debugger_draws_no_second_call():
    def stopped(x):
        a = x * 2.0
        b = a + 1.0
        frame = sys._getframe()
        frame.f_trace = lambda *_: None
        c = b * 2.0
        frame.f_trace = None
        d = c * 3.0
        return a, b, d + 1.0

    a, b, d = stopped(af.Variable(1.0))
    z = d * 1.0
    boxes = boxes_of(z)
    path = boxes.around(a.grad_fn)
    assert path == boxes.around(b.grad_fn) == boxes.around(d.grad_fn)
    assert boxes.note(path[-1][1]) == "continued under a debugger"


def test_turns_are_not_counted_from_calls_within_one_run():
    """``sum`` of a generator, and ``map``, call often in one turn; a record of the same instruction is no other run."""

    def model(filters):
        found = []
        for f in filters:
            found.append(sum(f * k for k in range(3)) + sum(map(twice, [f, f, f])))
        return sum(found)

    z = model([af.Variable(1.0), af.Variable(2.0)]) * 1.0
    boxes = boxes_of(z)
    told = {boxes.note(key) for r in operations_of(z) for title, key in boxes.around(r) if "for f in filters" in title}
    assert told == {"at least 2 turns"}


def test_turns_of_a_loop_in_a_loop_are_those_of_all_its_runs():
    x = af.Variable(1.0)
    for _ in range(3):
        for _ in range(2):
            y = x * 2.0
            x = y + 1.0
    assert box_of(y, x * 1.5)[1] == "at least 6 turns in all"


def test_each_turn_of_loops_in_loops_is_told():
    """Loops that have nothing but loops in them are no boxes: the boxes inside say which of their turns it is."""
    x = af.Variable(1.0)
    with af.trace():
        for _i in range(2):
            for _j in range(2):
                for _k in range(2):
                    x = np.sin(x) * 0.5
    told = {v.scope[0] for v in x.graph(fold=False, merge=False).nodes if v.word == "sin"}
    assert told == {f"_i = {i} · _j = {j} · for _k in range(2)" for i in range(2) for j in range(2)}


@pytest.mark.parametrize("between", [(), (0,), (1,), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("runs", [1, 2, 3])
def test_no_loop_holds_what_the_loop_around_it_computes(runs, between):
    """Nothing tells where the inner loop ended; if the outer one has computed something in between, it is no box."""
    x = af.Variable(1.0)
    for i in range(runs):
        for _ in range(2):
            y = x * 2.0
            x = y + 1.0
        if i in between:
            c = np.sin(x)
            x = c * 0.5
    for v in (x * 1.5).graph(fold=False).drawn.nodes:
        is_between = v.word == "sin" or "0.5" in v.title
        assert not (is_between and "for _ in range(2)" in v.scope)
        assert "for _ in range(2)" in v.scope or v.word != "add" or {*range(runs - 1)} & {*between}


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("watched", [False, True])
def test_a_box_has_one_box_around_it(watched, late, calls):
    """Also a loop in scopes that another loop enters in each turn, or a scope that is left in a later turn."""
    x, scope = af.Variable(1.0), af.scope("layer")
    with af.trace() if watched else contextlib.nullcontext():
        for i in range(3):
            if i == 0 or not late:
                scope.__enter__()
            for _ in range(2):
                x = twice(x) if calls else np.sin(x) * 0.5
            if i == 2 or not late:
                scope.__exit__(None, None, None)
            x = x * 1.5 + i
    g = x.graph(fold=False)
    ways = {v.entered[:n] for v in g.nodes for n in range(1, len(v.entered) + 1)}
    assert len(ways) == len({way[-1] for way in ways})
    for depth in range(5):
        assert all(r.source is None or r.source < v.id for v in x.graph(depth=depth).drawn.nodes for r in v.operands)
    outer = {"3 turns"} if watched else {"at least 3 turns"}
    inner = {"", "2 turns"} if watched else {"", "at least 2 turns in all"}
    assert late or outer <= {*g.told.values()} <= outer | inner
