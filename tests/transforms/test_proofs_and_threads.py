"""A proof runs a function again and puts back what it changed, but never what another thread has changed meanwhile."""

import _thread
import asyncio
import contextlib
import contextvars
import functools
import importlib
import inspect
import logging
import math
import multiprocessing
import multiprocessing.pool
import os
import sched
import sys
import threading
import time
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from interrupts import signals
from processes import alone
from threads import quick_switches

import autoflow as af
from autoflow import nn, optim
from autoflow.backprop import snapshots
from autoflow.backprop.snapshots import Snapshot, may_run_users_code, others_run, silence
from autoflow.base.numbering import Kind
from autoflow.train import fit

X = np.array([1.0, 2.0, 3.0])
CHANGES = {  # what another thread changes, how, and how much has come of it
    "list": (list, lambda x: x.append(1), len), "deque": (deque, lambda x: x.append(1), len),
    "dict": (dict, lambda x: x.update({len(x): 1}), len), "set": (set, lambda x: x.add(len(x)), len),
    "attribute": (lambda: SimpleNamespace(n=0), lambda x: setattr(x, "n", x.n + 1), lambda x: x.n),
    "array": (lambda: np.zeros(1), lambda x: np.add(x, 1, out=x), lambda x: int(x[0])),
    "large array": (lambda: np.zeros(2**23 + 1), lambda x: np.add(x[:1], 1, out=x[:1]), lambda x: int(x[0])),
}  # fmt: skip
TRANSFORMS = {
    "grad": lambda f: af.grad(f)(X), "jacobian": lambda f: af.jacobian(f)(X), "jvp": lambda f: af.jvp(f, (X,), (X,)),
    "vjp": lambda f: af.vjp(f, X), "hessian": lambda f: af.hessian(f)(X),
}  # fmt: skip


async def finish(loop, work):
    work()


def in_scheduler(work):
    scheduler = sched.scheduler()
    scheduler.enter(0, 0, work)
    return threading.Thread(target=scheduler.run)


def known_to_python(work):
    """A thread of ``_thread`` that has asked who it is."""
    threading.current_thread()
    work()


def in_thread(work):
    """A thread without a class: how to start it, and to wait for it."""
    ended, before = threading.Event(), _thread._count()

    def run():
        work()
        ended.set()

    def join():
        ended.wait(10)
        for _ in range(1000):  # it still counts for a moment, as the next test would see
            if _thread._count() > before:
                time.sleep(0.01)

    return SimpleNamespace(start=lambda: _thread.start_new_thread(run, ()), join=join)


def in_pool(pool):
    """A worker of a pool of Python's."""

    def make(work):
        found = pool(1)
        submit = getattr(found, "submit", None) or found.apply_async
        end = getattr(found, "shutdown", None) or found.terminate
        return SimpleNamespace(start=lambda: submit(work), join=end)

    return make


STARTS = {  # in how many ways may a thread run the user's code?
    "target": lambda work: threading.Thread(target=work),
    "partial": lambda work: threading.Thread(target=functools.partial(functools.partial(work))),
    "object": lambda work: threading.Thread(target=type("Work", (), {"__call__": lambda self: work()})()),
    "class": lambda work: type("OfTheUser", (threading.Thread,), {"run": lambda self: work()})(),
    "named like ours": lambda work: threading.Thread(target=work, name="autoflow_0"),
    "timer": lambda work: threading.Timer(0, work),
    "timer of a loop": lambda work: threading.Timer(0, asyncio.run, (finish(None, work),)),
    "loop": lambda work: threading.Thread(target=asyncio.run, args=(finish(None, work),)), "scheduler": in_scheduler,
    "context": lambda work: threading.Thread(target=contextvars.Context().run, args=(work,)),
    "exec": lambda work: threading.Thread(target=exec, args=("work()", {"work": work})), "_thread": in_thread,
    "_thread, known": lambda work: in_thread(functools.partial(known_to_python, work)),
    "executor": in_pool(ThreadPoolExecutor), "pool": in_pool(multiprocessing.pool.ThreadPool),
}  # fmt: skip


class Other:
    """A thread of the user's that makes one change each time it is asked to, and waits in the user's code meanwhile."""

    def __init__(self, change, start="target"):
        self.asked, self.done, self.made, self.change = threading.Event(), threading.Event(), 0, change
        self.thread = STARTS[start](self.work)

    def work(self):
        while self.asked.wait() and self.change is not None:
            self.asked.clear()
            self.change()
            self.made += 1
            self.done.set()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.change = None
        self.asked.set()
        self.thread.join()


@pytest.mark.parametrize(("kind", "transform", "start"), [
    *[(k, t, "target") for k in CHANGES for t in TRANSFORMS], *[("list", "grad", start) for start in STARTS],
])  # fmt: skip
def test_changes_by_another_thread_stay(kind, transform, start):
    make, change, count = CHANGES[kind]
    x = make()
    with Other(lambda: change(x), start) as other:
        asked, done = other.asked, other.done

        def f(v):  # at each run there is one change
            done.clear()
            asked.set()
            done.wait(10)
            return np.sum(v**3) + 0 * (x is None)

        for k in range(3):
            TRANSFORMS[transform](lambda v, k=k: f(v * (k + 1)))
        made = other.made
    assert count(x) == made >= 3


@pytest.mark.parametrize("writes", [False, True])
def test_numbers_are_seen_beside_a_thread_that_waits(writes):
    """As long as nothing is to be put back; and again as soon as the other thread is gone."""
    calls = []

    def f(v):
        if writes:
            calls.append(1)
        return np.sum(np.full(3, np.sum(v)) * v[0]) + np.sum(v)

    with Other(None), pytest.raises(af.errors.LostGradientError) if not writes else contextlib.nullcontext():
        af.grad(f)(X)
    with pytest.raises(af.errors.LostGradientError):
        af.grad(f)(X)
    assert len(calls) == 2 * writes


@pytest.mark.parametrize("read", [lambda v, a: np.full(3, np.sum(v)), lambda v, a: np.asarray(a)])
def test_a_function_that_waits_for_the_proof_of_another_thread_is_proved(read):
    with ThreadPoolExecutor(1) as pool:

        def f(v):
            a = af.zeros(3)
            g = pool.submit(af.options(prove="always")(af.grad(lambda u: np.sum(u**3))), X).result()
            a[:] = v
            return np.sum(read(v, a) * v[0]) + np.sum(v * g)

        with pytest.raises(af.errors.LostGradientError):
            af.grad(f)(X)


def test_numbers_read_by_workers_are_seen():
    def f(w, x):
        return np.sum(np.full(3, np.sum(w * x)) * w[0]) + np.sum(w * x)

    with ThreadPoolExecutor(2) as pool:
        parts = af.data_parallel(f, over="x", workers=pool, chunks=2)
        with pytest.raises(af.errors.LostGradientError):
            af.value_and_grad(parts)(X, np.ones((4, 3)))


LOST_IN_THREADS = {
    "memory of an argument": np.asarray, "memory of a result": lambda y: np.asarray(y * 2),
    "a function in C": lambda y: math.sin(y[0]), "a number of a result": lambda y: np.float64(y[0] * 2),
    "an array of numbers": lambda y: np.full(3, y[0]),
}  # fmt: skip


def loss_in(run, work):
    """A function with a term that another thread computes, beside one that is recorded here."""
    return lambda v: np.sum(np.sin(v)) + np.sum(run(work, v * 1.0))


def in_new_pool(work, y):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, y).result()


@pytest.mark.parametrize("name", LOST_IN_THREADS)
def test_what_threads_compute_is_proved(name):
    """Threads that the function starts; of those that were there before one knows that they take part."""
    work = LOST_IN_THREADS[name]
    with pytest.raises(af.errors.LostGradientError):
        af.grad(loss_in(in_new_pool, work))(X)
    assert np.allclose(af.grad(loss_in(in_new_pool, lambda y: y * 2))(X), np.cos(X) + 2)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        for f in (lambda y: work(y * 1.0), lambda y: y * 2):
            with (
                af.options(prove="always"),
                pytest.warns(af.errors.UnprovedWarning, match="in a thread that was there before"),
            ):
                af.grad(loss_in(lambda work, y: pool.submit(work, y).result(), f))(X)
    y = af.Variable(X) * 2.0  # all is as before
    assert np.array_equal(np.asarray(y), y.value)
    assert np.array_equal(in_new_pool(lambda y: np.asarray(y * 1.0), y), y.value)


def test_a_thread_that_computes_with_other_nodes_leaves_a_proof_alone():
    weight, ended = af.Variable(X), threading.Event()

    def other():
        while not ended.is_set():
            np.sum(weight * weight * 2.0)

    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as at_the_end:
        pool.submit(other)
        at_the_end.callback(ended.set)
        with warnings.catch_warnings(action="error"), pytest.raises(af.errors.LostGradientError):
            af.grad(lambda v: np.sum(np.full(3, np.sum(v)) * weight) + np.sum(v))(X)


def test_threads_that_train_one_model_do_not_disturb_each_other():
    """Each puts its parameters into the model while it computes."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = nn.Sequential(nn.Linear(2, 4, rng=rng), nn.tanh, nn.Linear(4, 2, rng=rng))
        data, labels = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
        optimiser = optim.SGD(model, lr=0.1)
        with ThreadPoolExecutor(3) as pool, quick_switches():
            fit(model, data, labels, loss=nn.cross_entropy, optimiser=optimiser, rng=rng, epochs=1, batch_size=10,
                progress=False, workers=pool, chunks=5)  # fmt: skip
        assert {type(p) for p in model.parameters()} == {af.Variable}


def test_names_of_new_kinds_may_be_made_meanwhile():
    with ThreadPoolExecutor(1) as pool, quick_switches():
        made = pool.submit(lambda: [Kind(f"kind {k}") for k in range(5_000)])
        while not made.done():
            Snapshot(None)  # raises nothing
    assert {*made.result()} <= Snapshot(None).kinds.keys()


@pytest.mark.parametrize("module", ["asyncio", "sched", "socketserver", "concurrent.futures.thread", "runpy", "code"])
def test_what_pythons_library_runs_in_a_thread_may_be_the_users(module):
    # Without the module's loader, which some packages patch.
    found = [x for name, x in vars(importlib.import_module(module)).items() if not name.startswith("__")]
    targets = [x for x in found if inspect.isroutine(x)]
    targets += [m for x in found if isinstance(x, type) for m in vars(x).values() if inspect.isroutine(m)]
    assert targets
    for target in targets:
        assert may_run_users_code(threading.Thread(target=target)), target
        assert may_run_users_code(threading.Timer(0, target)), target


@pytest.mark.parametrize("package", ["tqdm._monitor", "ipykernel.heartbeat", "ipykernel.iostream", "ipykernel.control",
                                     "ipykernel.parentpoller", "IPython.core.history"])  # fmt: skip
def test_threads_of_packages_that_are_installed_do_not_count(package):
    """Classes of threads and functions that are targets; but not if a target is the user's."""
    found = vars(pytest.importorskip(package))
    kinds = [x for x in found.values() if isinstance(x, type) and x.__module__.startswith(package.partition(".")[0])]
    targets = [m for x in kinds for m in vars(x).values() if inspect.isfunction(m) and m.__module__ == x.__module__]
    for target in targets:
        assert not may_run_users_code(threading.Thread(target=target)), target
    threads = [x for x in kinds if issubclass(x, threading.Thread)]
    assert threads or targets
    for kind in threads:
        thread = type(kind.__name__, (threading.Thread,), {"__module__": kind.__module__})()
        assert not may_run_users_code(thread)
        thread._target = test_threads_of_packages_that_are_installed_do_not_count
        assert may_run_users_code(thread)


def test_this_test_is_proved():
    """Nothing that runs the tests counts: neither pytest nor its workers' threads."""
    np.exp(np.zeros(3_000_000))
    assert not others_run()
    if hasattr(os, "fork"):  # with what Python knows of threads in the parent
        with Other(None, "_thread"):
            child = os.fork()
            if child == 0:
                os._exit(others_run())
            assert os.waitpid(child, 0)[1] == 0
    assert not others_run()


def test_a_thread_from_before_the_first_transform_counts():
    told = alone("""
        import _thread, time, autoflow
        begun = _thread.allocate_lock()
        begun.acquire()
        _thread.start_new_thread(lambda: begun.release() or time.sleep(60), ())
        begun.acquire()  # until it runs: one that is still to begin is not counted
        from autoflow.backprop.snapshots import others_run
        print(others_run())
    """)
    assert told == "True\n"


def test_silence_of_several_threads_ends_with_the_last(capsys):
    """They begin and end in turns, the first before the second."""
    streams, handle = (sys.stdout, sys.stderr), logging.Logger.handle
    begun, left = threading.Event(), threading.Event()

    def second():
        with silence():
            begun.set()
            left.wait(10)
            print("not shown")

    thread = threading.Thread(target=second)
    with silence():
        thread.start()
        begun.wait(10)
        print("not shown either")
    print("shown")
    left.set()
    thread.join()
    assert (sys.stdout, sys.stderr, logging.Logger.handle) == (*streams, handle)
    assert capsys.readouterr().out == "shown\n"


def test_ctrl_c_leaves_nothing_locked_or_silent(monkeypatch):
    """Wherever it comes while arrays are read-only and nothing is printed."""
    monkeypatch.setattr(snapshots, "COPIED", 8)
    base = np.zeros(4)
    snapshot, before = Snapshot(base, base[1:]), (sys.stdout, sys.stderr, logging.Logger.handle)

    def act():
        with silence(), snapshot.locked():
            assert not base.flags.writeable

    n = 0
    while signals(act, n) == n:
        assert all(x.flags.writeable for x in snapshot.large)
        assert (sys.stdout, sys.stderr, logging.Logger.handle) == before
        n += 1
    assert n > 5
    assert len(snapshot.large) == 2
