"""Python's collector of cycles rests during a pass through a large graph, and runs again whatever ends the pass."""

import gc
import threading

import numpy as np
import pytest
from interrupts import signals
from threads import in_threads

import autoflow as af
from autoflow.backprop import passes
from autoflow.base import process


@pytest.fixture(autouse=True)
def collector_runs():
    """Before each test and, which is half of what is tested, after it."""
    assert gc.isenabled()
    yield
    assert process.PAUSES == [0]
    assert gc.isenabled()


@pytest.fixture
def every_graph_is_large(monkeypatch):
    monkeypatch.setattr(passes, "LARGE_GRAPH", 0)


def chain(x, n):
    z = x
    for _ in range(n):
        z = np.sin(z)
    return z


def states(z, **options):
    """Was the collector on when the gradient of z arrived?"""
    seen = []
    z.register_hook(lambda g: seen.append(gc.isenabled()))
    z.backward(**options)
    return seen


@pytest.mark.parametrize("create_graph", [False, True])
def test_it_rests_in_passes_through_large_graphs_only(create_graph):
    x = af.Variable(1.0)
    assert states(chain(x, 100), create_graph=create_graph) == [True]
    assert states(chain(x, passes.LARGE_GRAPH), create_graph=create_graph) == [False]


def test_all_records_count_those_of_several_operands_too(monkeypatch):
    """Five: x, y, their sum, its sine, the product of both."""
    x, y = af.Variable(1.0), af.Variable(2.0)
    z = x + y
    for least, expected in ((5, [False]), (6, [True])):
        monkeypatch.setattr(passes, "LARGE_GRAPH", least)
        assert states(np.sin(z) * z) == expected


def test_whoever_has_switched_it_off_finds_it_off(every_graph_is_large):
    gc.disable()
    try:
        assert states(chain(af.Variable(1.0), 3)) == [False]
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_after_an_error(every_graph_is_large):
    x = af.Variable(1.0)
    z = np.sin(x)
    z.register_hook(lambda g: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        z.backward()
    assert x.grad is None


def test_a_pass_inside_a_pass(every_graph_is_large):
    x, y = af.Variable(1.0), af.Variable(2.0)
    z = np.sin(x)
    z.register_hook(lambda g: np.cos(y).backward())
    assert states(z) == [False]
    np.testing.assert_allclose([x.grad, y.grad], [np.cos(1.0), -np.sin(2.0)])


def test_inside_gc_paused(every_graph_is_large):
    with af.gc_paused():
        np.sin(af.Variable(1.0)).backward()
        assert not gc.isenabled()


def test_threads_share_it(every_graph_is_large):
    """It rests until the last of two passes has ended, in whichever order they end."""
    for first in (0, 1):
        inside, ended, seen = threading.Barrier(2, timeout=10), threading.Event(), []

        def work(k, first=first, inside=inside, ended=ended, seen=seen):
            z = np.sin(af.Variable(1.0))

            def wait(g):
                inside.wait()
                if k != first:
                    assert ended.wait(10)
                seen.append(gc.isenabled())

            z.register_hook(wait)
            z.backward()
            ended.set()

        in_threads(lambda: work(0), lambda: work(1))
        assert seen == [False, False]
        assert gc.isenabled()


def test_ctrl_c_anywhere(every_graph_is_large):
    """At each place where Python looks for signals: the collector runs, and the next pass gives the right gradient."""
    x = af.Variable(1.0)

    def run():
        chain(x, 2).backward()

    run()
    n = 0
    while signals(run, n) == n:
        assert gc.isenabled(), f"place {n}"
        assert process.PAUSES == [0], f"place {n}"
        n += 1
    assert n > 20
    x.zero_grad()
    run()
    np.testing.assert_allclose(x.grad, np.cos(np.sin(1.0)) * np.cos(1.0))
