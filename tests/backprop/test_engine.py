"""The walk: each record once, after all of its consumers; at any depth; beside and inside other walks.

The engine knows no arrays, so half of this is tried on plain Python objects and floats. The other half is what a
user sees of it: ``.grad`` all or nothing, freed memory, threads.
"""

import doctest
import gc
import math
import signal
import threading
import time
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from interrupts import signals
from processes import alone
from threads import in_threads, quick_switches

import autoflow as af
from autoflow.backprop import engine, passes
from autoflow.base.modes import modes

# -- on plain Python objects -----------------------------------------------------------------------------------------


class Number:
    """A float that remembers how it came about: all that the engine asks for is ``parents``."""

    def __init__(self, value, *made_from):
        self.value = value
        self.parents = tuple([parent for parent, _ in made_from])
        self.slopes = tuple([slope for _, slope in made_from])

    def __add__(self, other):
        return Number(self.value + other.value, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        return Number(self.value * other.value, (self, other.value), (other, self.value))


def pull_back(root, stop=()):
    """The engine's answer, and the numbers in the order in which they were processed."""
    visited = []

    def step(pair):
        record, g = pair
        visited.append(record)
        vjps = [lambda g, slopes, k=k: g * slopes[k] for k in range(len(record.parents))]
        return g, vjps, record.slopes, None

    return dict(engine.pull_back(root, 1.0, step, stop=stop)), visited


def test_a_record_waits_for_all_of_its_consumers():
    """out = x² + x³ at 2: 2x + 3x² = 16. A queue with a set of visited records would give 8, a stack without one 28."""
    x = Number(2.0)
    a = x * x
    out = a + a * x
    grads, visited = pull_back(out)
    assert grads == {x: 16.0}
    assert [record.value for record in visited] == [12.0, 8.0, 4.0]


def test_every_small_graph_is_right():
    """All graphs of three operations on one leaf, against derivatives carried forwards."""
    x = Number(1.5)

    def grow(numbers, depth):
        for a, da in numbers:
            for b, db in numbers:
                for z, dz in ((a + b, da + db), (a * b, da * b.value + a.value * db)):
                    yield z, dz
                    if depth > 1:
                        yield from grow([*numbers, (z, dz)], depth - 1)

    count = 0
    for root, slope in grow([(x, 1.0)], 3):
        grads, visited = pull_back(root)
        assert math.isclose(grads[x], slope, rel_tol=1e-12)
        assert len(visited) == len(set(visited)), "processed twice"
        count += 1
    assert count == 2 + 2 * 8 + 2 * 8 * 18


def textbook():
    """The function ``gradients`` at the top of engine.py, from its docstring."""
    (example,) = [found for found in doctest.DocTestFinder().find(engine) if found.name == engine.__name__]
    runner = doctest.DocTestRunner()
    assert runner.run(example, clear_globs=False).failed == 0
    return example.globs["gradients"]


TEXTBOOK = textbook()


@given(st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(-3, 3)), max_size=4), min_size=1, max_size=30))
def test_the_textbook_version_agrees(graph):
    """On random graphs: each record with up to four edges to older ones, repeats too. Integers, so exactly."""
    records = []
    for edges in graph:
        made_from = [(records[k % len(records)], slope) for k, slope in edges] if records else []
        records.append(Number(0.0, *made_from))
    taught = TEXTBOOK(records[-1])
    grads, visited = pull_back(records[-1])
    assert grads == {record: g for record, g in taught.items() if not record.parents}
    assert set(visited) == {record for record in taught if record.parents}


def test_edges_of_the_walk():
    x = Number(2.0)
    assert pull_back(x) == ({x: 1.0}, []), "a leaf alone gets the seed"
    z = Number(6.0, (None, math.nan), (x, 3.0), (None, math.nan))
    assert pull_back(z)[0] == {x: 3.0}, "nothing flows where a parent is None"
    assert engine.survey(x * x + x) == ({x: 2}, 3), "edges beyond the first are counted"
    # Sums of floats depend on the order, so the order is fixed; and there is no initial zero: -0.0 stays -0.0.
    assert math.copysign(1.0, pull_back(Number(1.0, (x, -0.0)))[0][x]) == -1.0


def test_the_seed_is_carried_whatever_it_is():
    """Zero is a seed like any other; and what adds may be anything, here strings."""
    x = Number(2.0)
    z = x * x

    def step(pair):
        return pair[1], [lambda g, s: g + "l", lambda g, s: g + "r"], None, None

    assert engine.pull_back(z, "g", step, add=lambda a, b: f"({b}+{a})") == [(x, "(gl+gr)")]
    assert engine.pull_back(z, "", step, add=lambda a, b: f"({b}+{a})") == [(x, "(l+r)")]


def test_stop_makes_leaves():
    x = Number(2.0)
    a = x * x
    out = a + a * x
    grads, visited = pull_back(out, stop={a})
    assert grads == {a: 3.0, x: 4.0}
    assert a not in visited
    assert pull_back(out, stop={out}) == ({out: 1.0}, [])
    assert pull_back(out, stop={x})[0] == {x: 16.0}, "a leaf may be among them"
    assert pull_back(out, stop={Number(0.0)})[0] == {x: 16.0}, "and what is not in the graph"


def test_what_step_keeps_is_in_the_answer():
    x = Number(2.0)
    a = x * x
    z = a * x
    vjps = [lambda g, slopes: g * slopes[0], lambda g, slopes: g * slopes[1]]
    answer = engine.pull_back(z, 1.0, lambda pair: (pair[1], vjps, pair[0].slopes, pair))
    assert answer == [(z, 1.0), (a, 2.0), (x, 12.0)]


def test_topological_order_puts_consumers_first():
    rng = np.random.default_rng(0)
    records = [Number(1.0)]
    for _ in range(200):
        i, j = rng.integers(0, len(records), 2)
        records.append(records[i] + records[j])
    order = engine.topological(records[-1])
    place = {record: k for k, record in enumerate(order)}
    assert order[0] is records[-1]
    assert len(place) == len(order)
    assert all(place[parent] > place[record] for record in order for parent in record.parents)


def test_records_are_only_read():
    """All bookkeeping is in the pass: the same graph, again and from the middle, gives the same."""
    x = Number(2.0)
    a = x * x
    out = a + a * x
    before = [dict(vars(n)) for n in (x, a, out)]
    assert pull_back(out) == pull_back(out)
    assert pull_back(a)[0] == {x: 4.0}
    assert [vars(n) for n in (x, a, out)] == before


def test_a_pass_inside_a_pass():
    """A derivative may start another pass, on the same graph too."""
    x = Number(2.0)
    a = x * x
    out = a + a * x
    inner = []

    def step(pair):
        inner.append(pull_back(out)[0][x])
        return pair[1], [lambda g, s, k=k: g * s[k] for k in range(2)], pair[0].slopes, None

    assert engine.pull_back(out, 1.0, step) == [(x, 16.0)]
    assert inner == [16.0] * 3


def test_the_engine_imports_neither_numpy_nor_anything_of_ours():
    source = Path(engine.__file__).read_text(encoding="utf-8")
    assert "numpy" not in [line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert "from ." not in source


# -- what a user sees of it ------------------------------------------------------------------------------------------


def test_two_losses_on_a_shared_part_give_the_sum():
    x = af.Variable([1.0, 2.0])
    shared = np.tanh(x) * x
    losses = (shared * shared).sum(), np.exp(shared).sum()
    for loss in losses:
        loss.backward()
    assert np.array_equal(x.grad, sum([af.gradients(loss)[x] for loss in losses]))
    assert np.allclose(x.grad, af.gradients(sum(losses))[x], rtol=1e-14)


# -- depth -----------------------------------------------------------------------------------------------------------

DEEP = """
    import sys, threading, time
    import autoflow as af

    def work():
        for start in 1.0, [1.0, 1.0]:  # numbers and arrays take other paths through the pass
            x = y = af.Variable(start, name="x")
            for _ in range(100_000):
                y = -y
                y = y + 1.0
            y.backward()
            assert x.grad.tolist() == y.value.tolist() == start, (x.grad, y.value)
            str(y), repr(y), f"{y}"
            del y
        done.append(True)

    done = []
    threading.stack_size(256 * 1024)
    sys.setrecursionlimit(200)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
    print("done")
"""


@pytest.mark.slow
def test_hundreds_of_thousands_of_operations_need_no_stack():
    """Forward, backward, printing, deletion: recursion limit 200, stack 256 KB. In a process of its own, whose memory
    is its own, and where an overflowing stack would be this test's failure and not the end of all tests."""
    assert alone(DEEP) == "done\n"


# -- threads ---------------------------------------------------------------------------------------------------------


def together(work, n=8):
    """Run ``work`` in n threads at once, between which Python changes as often as it can."""
    barrier = threading.Barrier(n)

    def run():
        barrier.wait()
        return work()

    with quick_switches():
        return in_threads(*[run] * n)


def tangle():
    """A graph with many shared parts, and its leaves."""
    rng = np.random.default_rng(1)
    x, w = af.Variable(rng.normal(size=(4, 3))), af.Variable(rng.normal(size=(3, 3)))
    nodes = [x, x @ w]
    for _ in range(100):
        i, j = rng.integers(max(0, len(nodes) - 6), len(nodes), 2)
        nodes.append(np.tanh(nodes[i] * 0.7 + nodes[j]))
    return sum(nodes[2:], nodes[1]).sum(), [x, w]


def test_eight_threads_on_one_graph_are_bit_equal_to_one():
    root, leaves = tangle()
    single = dict(passes.run_pass(root))
    for answer in together(lambda: dict(passes.run_pass(root))):
        assert all(np.array_equal(answer[leaf], single[leaf]) for leaf in leaves)


def test_eight_backwards_at_once_add_up_to_eight():
    root, leaves = tangle()
    for _ in range(8):
        root.backward()
    right = [leaf.grad.copy() for leaf in leaves]
    for _ in range(5):
        for leaf in leaves:
            leaf.zero_grad()
        together(root.backward)
        assert all(np.array_equal(leaf.grad, grad) for leaf, grad in zip(leaves, right, strict=True))


def test_no_pass_is_lost_when_threads_add_to_one_gradient():
    """Reading the old sum and storing the new one are two steps: the lock makes them one."""
    x = af.Variable(np.ones(3))
    root = x * 2.0

    def work():
        for _ in range(300):
            root.backward()

    together(work)
    assert x.grad.tolist() == [2.0 * 8 * 300] * 3


def fail(g):
    raise ValueError("in a derivative")


def test_eight_threads_build_graphs_of_their_own():
    def work():
        root, leaves = tangle()
        root.backward()
        return [leaf.grad for leaf in leaves]

    right = work()
    for grads in together(work):
        assert all(np.array_equal(a, b) for a, b in zip(grads, right, strict=True))


def test_names_are_unique_among_threads():
    x = af.Variable(1.0)
    lists = together(lambda: [(x * 2.0).name for _ in range(200)])
    names = [name for names in lists for name in names]
    assert len(set(names)) == len(names) == 1600


# -- passes inside passes --------------------------------------------------------------------------------------------


def custom(value, operand, f):
    """An Operation on one operand whose derivative is ``f``."""
    node = af.Operation.create_node(value, "custom", operand)
    node.grad_fn = f
    return node


def test_a_rule_may_run_backward_on_another_graph():
    x, y = af.Variable(3.0), af.Variable(2.0)
    other = y * y * y

    def f(g):
        y.zero_grad()
        other.backward()
        return g * y.grad

    z = custom(1.0, x * x, f) * x
    z.backward()
    assert y.grad == 12.0
    assert x.grad == 3.0 * 12.0 * 6.0 + 1.0


def test_a_rule_may_run_backward_on_the_same_graph():
    x = af.Variable(3.0)
    a = x * x
    inside = []

    def f(g):
        if not inside:
            inside.append(True)
            root.backward()  # the whole pass again, while the first one is under way
            inside.append(x.grad.copy())
        return g * 5.0

    root = custom(9.0, a, f) + a
    root.backward()
    assert inside[1] == 36.0, "(5 + 1) 2x: the inner pass is complete"
    assert x.grad == 72.0, "and the outer one adds as much"


# -- exceptions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, MemoryError])
def test_an_exception_in_a_derivative_changes_no_grad(error):
    x, y = af.Variable(3.0), af.Variable([1.0, 2.0])
    fail = [True]

    def f(g):
        if fail[0]:
            raise error("in a derivative")
        return g * 5.0

    a = y * 2.0
    z = custom(9.0, x * x, f) + a.sum()  # y is reached before f is called
    x.grad = 1.0
    with pytest.raises(error, match="in a derivative"):
        z.backward()
    assert x.grad == 1.0
    assert y.grad is None
    assert a.grad is None
    assert z.grad is None
    fail[0] = False
    z.backward()
    assert x.grad == 31.0
    assert y.grad.tolist() == [2.0, 2.0]
    assert af.is_grad_enabled(), "the modes are as they were"


def test_an_exception_in_a_recorded_pass_restores_the_modes():
    x = af.Variable(3.0)
    z = custom(9.0, x * x, fail)
    with af.no_grad():
        with pytest.raises(ValueError, match="in a derivative"):
            z.backward(create_graph=True)
        assert not af.is_grad_enabled()
    assert af.is_grad_enabled()
    assert x.grad is None


# What is raised in a finalizer, Python prints and drops.
finalizers_too = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@finalizers_too
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
def test_an_interrupt_at_any_moment_leaves_all_or_nothing():
    """Ctrl-C at a thousand moments of a pass: every gradient is there, or none is, and the next pass is right."""
    before_pass = np.geterr(), modes()
    leaves = [af.Variable(float(k)) for k in range(300)]
    z = sum(leaf * leaf for leaf in leaves)
    start = time.perf_counter()
    z.backward()
    once = time.perf_counter() - start
    outcomes = set()

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for moment in np.linspace(1e-6, 1.5 * once, 1000):
            for leaf in leaves:
                leaf.zero_grad()
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, moment)
                    z.backward()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
            grads = [leaf.grad for leaf in leaves]
            whole = all(g is None for g in grads) or grads == [2.0 * k for k in range(300)]
            assert whole, f"only some gradients after {moment} s"
            outcomes.add(grads[0] is None)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert outcomes == {True, False}, "interrupted both before and after the gradients were set"
    assert passes.LOCK.acquire(blocking=False), "the lock was not left locked"
    passes.LOCK.release()
    assert (np.geterr(), modes()) == before_pass


@finalizers_too
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_interrupt_leaves_no_switch_behind(create_graph):
    """NumPy's warnings and the modes are after it what they were before, wherever Python looks for signals."""

    def act():
        x = af.Variable([1.0, 2.0])
        y = (x[:, None] * np.exp(x)) @ x
        (y * np.max(x)).backward(np.ones(2), create_graph=create_graph)
        (x * 2.0).backward(np.ones(2), create_graph=create_graph)

    @af.enable_grad()
    def decorated():
        act()

    for run in (act, decorated):
        n = 0
        before = np.geterr(), modes()
        while signals(run, n) == n:
            assert (np.geterr(), modes()) == before, f"after an interrupt at place {n}"
            n += 1
        assert n > 200


# -- memory ----------------------------------------------------------------------------------------------------------


def step(w, x, **options):
    """A training step on a small model."""
    loss = ((np.tanh(x @ w) - 0.5) ** 2).sum()
    loss.backward(**options)
    with af.no_grad():
        w -= 0.01 * w.grad
    w.zero_grad()


def test_graphs_are_freed_without_the_garbage_collector(no_gc):
    x, big = af.Variable(np.ones(5000)), np.full(5000, 2.0)
    alive = weakref.ref(big)
    z = np.exp(x * big) + x
    middle = weakref.ref(z)
    loss = (z * z).sum()
    loss.backward()
    del big
    assert alive() is not None, "the graph keeps what it needs"
    del z, loss
    assert middle() is None
    assert alive() is None


def test_passes_make_no_reference_cycles(no_gc):
    w, x = af.Variable(np.ones((3, 2))), np.ones((4, 3))
    step(w, x)
    while gc.collect():  # what a finalizer of other tests' objects lets go is found by the next collection
        pass
    for _ in range(10):
        step(w, x)
        x_node = af.Variable(x)
        z = x_node[1:].T.reshape(-1) * 2.0
        z.sum().backward(keep_grads=True)
        str(z), repr(z.grad_fn), z.operands
        del x_node, z
    assert gc.collect() == 0, "something is freed by the garbage collector only"


def test_second_derivatives_leave_cycles_only_in_grad(no_gc):
    """A recorded gradient in ``.grad`` refers to its own graph: zero_grad frees it."""
    while gc.collect():
        pass
    for _ in range(5):
        x = af.Variable([1.0, 2.0])
        z = (np.exp(x) * x).sum()
        z.backward(create_graph=True)
        g = x.grad
        x.zero_grad()
        (g * g).sum().backward()
        x.zero_grad()
        for node in (z, *z.operands):
            node.zero_grad()
        del x, z, g, node
    assert gc.collect() == 0


def test_an_exception_in_a_pass_keeps_nothing_alive(no_gc):
    big = np.full(5000, 2.0)
    alive = weakref.ref(big)
    x = af.Variable(np.ones(5000))
    z = custom(1.0, (x * big).sum(), fail)
    with pytest.raises(ValueError, match="in a derivative") as caught:
        z.backward()
    del z, big, caught
    gc.collect()  # tracebacks are cycles, of Python's making
    assert alive() is None


@pytest.mark.slow
def test_two_thousand_steps_grow_memory_by_nothing(no_gc):
    w, x = af.Variable(np.ones((3, 2))), np.ones((4, 3))
    tracemalloc.start()
    try:
        for _ in range(500):
            step(w, x)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(2_000):
            step(w, x)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2_000, f"{after - before} bytes more after 2,000 steps"
