"""The parts of a compiled program: cleaning, buffers, numbers, joined products, blocks, the report."""

import gc
import sys
import threading
import time
import tracemalloc
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from processes import alone

import autoflow as af
from autoflow.base import process
from autoflow.compiler.program import Program
from autoflow.compiler.run import tiles
from autoflow.compiler.run.buffers import Plan
from autoflow.compiler.run.scalars import Slots
from autoflow.table import blocks


def plan_of(compiled):
    """The plan of its only program."""
    (entry,) = compiled.entries.values()
    return entry.free[-1]


def calls(f, *args):
    """The names of the NumPy calls that a compiled ``f`` makes, without views."""
    compiled = af.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(*args), f(*args))
    return [s.value.name for s in plan_of(compiled).steps if s.value.kind != "view"]


X, Y = np.array([[0.5, -1.0], [2.0, 3.0]]), np.array([[1.0, -2.0], [0.0, 4.0]])


# -- cleaning -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x, y: x * 1.0 + 0 * y.size, ["add"]),
        (lambda x, y: np.tanh(x) + np.tanh(x), ["tanh", "multiply"]),
        (lambda x, y: (-x) * (-y), ["multiply"]),
        (lambda x, y: x * -1.0 * -1.0 * y, ["multiply"]),
        (lambda x, y: 2.0 * -x, ["multiply"]),
        (lambda x, y: -(x * 2.0), ["multiply"]),
        (lambda x, y: (-x) / 4.0, ["divide"]),
        (lambda x, y: (-x) / (-y + 9.0), ["subtract", "divide", "negative"]),
        (lambda x, y: x - -y, ["add"]),
        (lambda x, y: x + -y, ["subtract"]),
        (lambda x, y: -x + y, ["subtract"]),
        (lambda x, y: -x - x, ["multiply"]),
        (lambda x, y: x * x, ["square"]),
        (lambda x, y: x**2, ["square"]),
        (lambda x, y: (-x) ** 2, ["square"]),
        (lambda x, y: +x * y / 1, ["multiply"]),
        (lambda x, y: x * y + y * x, ["multiply", "multiply"]),
        (lambda x, y: x * np.ones_like(x) * y, ["multiply"]),
        (lambda x, y: x * np.broadcast_to(y[0], (2, 2)), ["multiply"]),
        (lambda x, y: x.T.T.reshape(4).reshape(2, 2) * y, ["multiply"]),
        (lambda x, y: x[:, :1].sum(axis=1) * np.exp(np.zeros(2)), ["add.reduce", "multiply"]),
        (lambda x, y: (np.cos(np.zeros_like(x)) + 1.0) * x, ["multiply"]),
        (lambda x, y: (np.sin(y), x * 2.0)[1], ["multiply"]),  # what nobody needs
    ],
)
def test_calls_that_are_saved(f, expected):
    assert calls(f, X, Y) == expected


def test_nothing_is_saved_that_would_change_a_result():
    x = np.array([[np.inf, np.nan], [1.0, -0.0]])
    with np.errstate(all="ignore"):
        assert calls(lambda x, y: x * 0.0 + y, x, Y) == ["multiply", "add"]
        assert calls(lambda x, y: (x * 2.0) * 3.0, x, Y) == ["multiply", "multiply"]
        assert calls(lambda x, y: x - x + y, x, Y) == ["subtract", "add"]
    single = X.astype(np.float32)
    assert calls(lambda x: x * 1.0, single) == []
    assert calls(lambda x: x * np.float64(1.0), X) == []
    assert calls(lambda x: x * np.float64(1.0), single) == ["multiply"]  # of single precision it makes double
    assert af.compile(lambda x: x * np.float64(1.0))(single).dtype == np.float64


def test_a_seed_of_ones_is_never_multiplied():
    f = af.grad(lambda x: np.sum(np.exp(x)))
    assert calls(f, X) == ["exp"]


# -- buffers ------------------------------------------------------------------------------------------------------


def test_buffers_are_shared_and_written_in_place():
    compiled = af.compile(lambda x: np.exp(np.tanh(x * 2.0) + 1.0).sum())
    compiled(np.ones((30, 30)))
    assert [b.nbytes for b in plan_of(compiled).buffers] == [7200]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum(),
        lambda x: (x.sum(), x.sum()),
        lambda x: (x.sum(), x.sum() * 2.0),
        lambda x: (np.max(x), x.sum(axis=0), x.sum(axis=1, keepdims=True), x.sum(keepdims=True)),
        lambda x: (x.sum() * 3.0, np.prod(x[0])),
    ],
)
def test_numbers_are_returned_as_new_arrays(f):
    compiled = af.compile(f)
    compiled(X)
    first, second = [af.pytree.tree_leaves(compiled(x)) for x in (X, Y)]
    for ours, expected in zip([first, second], [f(X), f(Y)], strict=True):
        for z, e in zip(ours, af.pytree.tree_leaves(expected), strict=True):
            assert type(z) is np.ndarray
            assert z.flags.writeable
            np.testing.assert_array_equal(z, e, strict=False)
    everything = [*first, *second]
    assert not any([np.shares_memory(a, b) for k, a in enumerate(everything) for b in everything[:k]])


def test_sums_add_in_the_order_of_memory():
    """An array in Fortran order is summed in that order, and so is what is computed from it."""
    x = np.asfortranarray(np.random.default_rng(0).standard_normal((57, 83)) * 1e3)
    f = lambda x: np.tanh(x * 1e-3).sum() + np.exp(x.T * 1e-3).sum()  # noqa: E731
    compiled = af.compile(f)
    for _ in range(2):
        assert compiled(x) == f(x)


def test_arguments_that_are_read_often():
    def f(w):
        h = w
        for _ in range(30):
            h = np.tanh(h @ w)
        return h

    compiled = af.compile(f)
    w = np.random.default_rng(0).standard_normal((8, 8))
    for k in range(3):
        np.testing.assert_array_equal(compiled(w + k), f(w + k))


# -- programs of numbers ------------------------------------------------------------------------------------------


def test_serial_programs_of_numbers_use_slots():
    def f(x, y):
        for _ in range(20):
            x, y = y * x + 0.5, np.tanh(x - y)
        return x

    eager = af.value_and_grad(f, (0, 1))
    compiled = af.compile(eager)
    for x in (0.3, -1.2):
        args = np.array(x), np.array(0.7)
        expected, ours = eager(*args), compiled(*args)
        assert [expected[0], *expected[1]] == [ours[0], *ours[1]]
        assert all(type(g) is np.ndarray for g in (ours[0], *ours[1]))
    assert type(plan_of(compiled)) is Slots


def test_wide_programs_of_numbers():
    def f(*v):
        return sum(np.tanh(np.tanh(a * b + 1.0) * a - np.exp(b * 0.5) * (a - b)) for a in v for b in v)

    args = [np.array(x) for x in np.linspace(-1, 1, 8)]
    eager = af.value_and_grad(f, tuple(range(8)))
    compiled = af.compile(eager)
    for shift in (0.0, 0.1):
        moved = [a + shift for a in args]
        expected, ours = eager(*moved), compiled(*moved)
        assert [expected[0], *expected[1]] == [ours[0], *ours[1]]
    assert type(plan_of(compiled)) is Slots


def test_division_by_zero_is_infinity_as_in_numpy():
    def f(x, y):
        for _ in range(4):
            y = 1.0 / y + x / y
        return y

    compiled = af.compile(f)
    with np.errstate(all="ignore"):
        for x, y in ((1.0, 2.0), (1.0, 0.0), (0.0, 0.0), (1.0, 2.0)):
            args = np.array(x), np.array(y)
            np.testing.assert_array_equal(compiled(*args), f(*args))
    assert type(plan_of(compiled)) is Slots


def test_recording_takes_no_more_memory_than_eager_code():
    def f(x):
        t = x
        for _ in range(10):
            t = np.tanh(np.sin(t) + x)
        return t.sum()

    eager, peaks = af.grad(f), []
    for g in (eager, af.compile(eager)):
        x = np.ones(50_000)
        tracemalloc.start()
        try:
            g(x)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


# -- joined products ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_a_recurrent_network_has_one_product_for_each_weight(kept):
    """Also if each state waits for another elementwise function of the state before."""

    def recurrent(wx, wh, b, x):
        s = x[0] * 0
        for t in range(len(x)):
            s = np.tanh(x[t] @ wx + s @ wh + (b + s * kept if kept else b))
        return (s**2).sum()

    rng = np.random.default_rng(0)
    x, args = rng.standard_normal((20, 4, 5)), [*rng.standard_normal((2, 5, 5)) * 0.3, np.zeros(5)]
    compiled = af.compile(af.grad(recurrent, (0, 1, 2)))
    eager = af.grad(recurrent, (0, 1, 2))(*args, x)
    for a, b in zip(eager, compiled(*args, x), strict=True):
        assert np.max(np.abs(a - b)) < 1e-13 * np.max(np.abs(a))
    names = [s.value.name for s in plan_of(compiled).steps]
    assert names.count("product") == 1 + 20 + 19 + 2  # x wx; s wh; g whᵀ; two gradients
    assert names.count("stack") == 0  # nothing is copied: states and gradients are computed in place, x is a stack
    assert names.count("square") == 2  # of all states but the last at once
    assert names.count("add.reduce") == 1


# -- blocks -------------------------------------------------------------------------------------------------------


@pytest.fixture
def large():
    return np.random.default_rng(0).standard_normal((3, 150_001))


def chain(x, w, b):
    t = np.tanh(x * w + b)
    return np.exp(-(t * t)).sum()


def test_large_arrays_are_computed_by_blocks(large):
    eager = af.value_and_grad(chain, (0, 1, 2))
    compiled = af.compile(eager)
    expected, ours = eager(*large), compiled(*large)
    assert [s.value.name for s in plan_of(compiled).steps if s.value.kind == "call"] == ["blocks"]
    for a, b in zip([expected[0], *expected[1]], [ours[0], *ours[1]], strict=True):
        assert np.max(np.abs(a - b)) <= 1e-13 * np.max(np.abs(a))
    again = compiled(*large)
    assert again[0] == ours[0]
    assert not np.shares_memory(again[1][0], ours[1][0])


no_browser = pytest.mark.skipif(sys.platform == "emscripten", reason="not in a browser: no threads")


@no_browser
def test_blocks_give_the_same_bits_with_any_number_of_threads(large, monkeypatch):
    f = af.value_and_grad(lambda x, w: ((np.tanh(x[:, None] * w) - x.mean()) ** 2).sum() + (x @ x) * 0, (0, 1))
    found = []
    for n in (1, 2, 3):
        monkeypatch.setattr(tiles, "count_threads", lambda n=n: n)
        monkeypatch.setattr(blocks, "cores", lambda n=n: n)
        monkeypatch.setattr(blocks, "POOL", [])
        z, g = af.compile(f)(large[0], large[1, :4])
        found.append([z, *g])
        for pool in blocks.POOL:  # threads that stay are taken for the user's, beside which there is no proof
            pool.shutdown()
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_products_decide_where_they_take_most_of_the_time():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((400, 300)), rng.standard_normal((300, 300))
    compiled = af.compile(af.grad(lambda w, x: (np.tanh(x @ w) ** 2).sum()))
    compiled(w, x)
    assert "blocks" not in [s.value.name for s in plan_of(compiled).steps]


@no_browser
def test_errors_in_threads_arrive(large, monkeypatch):
    monkeypatch.setattr(tiles, "count_threads", lambda: 2)
    compiled = af.compile(chain)
    compiled(*large)
    (entry,) = compiled.entries.values()
    call = next(v for v in entry.program.order() if v.name == "blocks")
    whole = call.function.work

    def work(b, *rest):
        if b:
            raise KeyboardInterrupt
        whole(b, *rest)

    call.function.work = work
    with pytest.raises(KeyboardInterrupt):
        compiled(*large)
    call.function.work = whole
    compiled(*large)


# -- computing again ----------------------------------------------------------------------------------------------


def test_checkpointing_takes_less_memory_and_gives_the_same_bits():
    def f(x):
        for _ in range(60):
            x = np.tanh(np.sin(x) + x * 0.5)
        return x.sum()

    x = np.random.default_rng(0).standard_normal((40, 40))
    kept, again = af.compile(af.grad(f)), af.compile(af.grad(f), checkpointing="balanced")
    np.testing.assert_array_equal(kept(x), again(x))
    assert again.plan().bytes < kept.plan().bytes / 2.5
    assert again.plan().calls < kept.plan().calls * 1.5
    with pytest.raises(ValueError, match="checkpointing is None or"):
        af.compile(f, checkpointing="all")


# -- the report ---------------------------------------------------------------------------------------------------


def test_report():
    compiled = af.compile(lambda x, w: np.tanh(x @ w).sum(axis=0))
    with pytest.raises(af.errors.CompileError, match="call the compiled function once"):
        compiled.plan()
    compiled(np.ones((20, 3)), np.ones((3, 2)))
    report = compiled.plan()
    assert str(report).splitlines() == [
        "3 NumPy calls, 1 buffer of 320 bytes in all",
        "    call        shape    dtype    operands  into",
        " 1  product     (20, 2)  float64  x0 x1     buffer 0",
        " 2  tanh        (20, 2)  float64  1         buffer 0",
        " 3  add.reduce  (2,)     float64  2         result 0",
    ]
    assert (report.calls, report.bytes, report.groups) == (3, 320, 0)
    for theme in ("light", "dark"):
        root = ET.fromstring(report.svg(theme))
        titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
        assert titles == ["1 product", "2 tanh"]
    assert "<svg" in report._repr_html_()
    assert "tanh" in report._repr_html_()


def test_report_of_numbers():
    compiled = af.compile(lambda x: np.tanh(x * 2.0) + x)
    compiled(np.array(1.0))
    assert str(compiled.plan()) == "3 operations on numbers"
    assert "<svg" in compiled.plan().svg()


# -- switches of the process --------------------------------------------------------------------------------------


def test_gc_paused_nests_and_restores():
    assert gc.isenabled()
    with af.gc_paused():
        with af.gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), af.gc_paused():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with af.gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

    @af.gc_paused()
    def inside():
        return gc.isenabled()

    assert not inside()
    assert gc.isenabled()


def test_gc_paused_in_threads():
    """The collector runs again when the last of all blocks has ended, whichever that is."""
    inside, seen = threading.Barrier(2, timeout=10), []

    def work(wait):
        with af.gc_paused():
            inside.wait()
            time.sleep(wait)
            seen.append(gc.isenabled())

    threads = [threading.Thread(target=work, args=(w,)) for w in (0.0, 0.05)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == [False, False]
    assert gc.isenabled()
    assert process.PAUSES == [0]


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_warm_allocator_is_never_done_at_import():

    code = """if 1:
        import numpy, resource, autoflow
        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(20):
                x = numpy.ones(100_000)
                x * 2 + x * 3 - x
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        cold = faults()
        autoflow.warm_allocator()
        faults()
        print(cold, min(faults() for _ in range(5)))  # now and then the system moves memory
        """
    cold, warm = map(int, alone(code).split())
    if cold < 1000:
        pytest.skip("this C library keeps freed memory by itself")
    assert warm < cold / 10


def test_a_program_alone():
    p = Program()
    x, y = p.input(np.zeros(2)), p.input(np.zeros(2))
    p.outputs = [p.ufunc(np.add, (x, p.ufunc(np.multiply, (x, y))))]
    plan = Plan(p)
    assert plan.run([np.array([1.0, 2.0]), np.array([3.0, 4.0])])[0].tolist() == [4.0, 10.0]


def test_products_of_stacks_are_written_into_buffers():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 5, 3)), rng.standard_normal((3, 3))

    def f(x, w):
        h = np.tanh(x @ w) @ w
        return (h @ h.mT).sum()

    eager = af.value_and_grad(f, (0, 1))
    c = af.compile(eager)
    for k in range(3):
        for a, b in zip(af.pytree.tree_leaves(c(x + k, w)), af.pytree.tree_leaves(eager(x + k, w)), strict=True):
            np.testing.assert_array_equal(a, b)
    stacks = [row for row in c.plan().rows if row[1] == "matmul"]
    assert len(stacks) >= 4
    assert all(row[-1].startswith(("buffer", "result")) for row in stacks)


def test_where_is_done_block_by_block():
    """np.where of three arrays is elementwise, as the rule of max has it: softmax regression is one phase."""
    rng = np.random.default_rng(0)
    x, y, w = rng.standard_normal((2500, 64)), rng.random((2500, 80)), rng.standard_normal((64, 80))

    def loss(w):
        z = x @ w
        return (y * (z - np.max(z, axis=1, keepdims=True))).sum()

    f = af.compile(af.grad(loss))
    expected = af.grad(loss)(w)
    np.testing.assert_allclose(f(w), expected, rtol=0, atol=1e-13 * np.max(np.abs(expected)))
    names = [row[1] for row in f.plan().rows]
    assert "blocks" in names
    assert not {"where", "product"} & {*names}
