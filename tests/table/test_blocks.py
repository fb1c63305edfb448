"""Large arrays in blocks, on threads: the bits, errors and layouts of one piece, and nobody computes who should not."""

import os
import sys
import threading
import time
import types
import warnings
from functools import partial

import numpy as np
import pytest
from processes import alone

import autoflow as af
from autoflow.backprop import opening
from autoflow.rules import RULES
from autoflow.table import blocks

ELEMENTWISE = {id(row): row for row in RULES.values() if row.is_numpys_elementwise}.values()
ROWS = pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)


class Threads:
    """``used``: how often something went through blocks. ``off``: then it does not."""

    used, off = 0, False

    def by_rows(self, *args):
        z = None if self.off else self.whole(*args)
        self.used += z is not None
        return z


@pytest.fixture
def small(monkeypatch):
    """Two threads and blocks of 64 elements, wherever there are more than 64."""
    least = blocks.FROM
    for name, module in [*sys.modules.items()]:
        if name.startswith("autoflow.") and vars(module).get("FROM") == least:
            monkeypatch.setattr(module, "FROM", 65)
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(opening, "LARGE", 64)
    threads = Threads()
    threads.whole = blocks.by_rows
    monkeypatch.setattr(blocks, "by_rows", threads.by_rows)
    with af.options(threads=2, keep=0), np.errstate(all="ignore"):
        yield threads


def same(found, expected):
    """The same to the bit, also the sign of zeros and of NaN; and in the same order in memory."""
    for a, b in zip(found, expected, strict=True):
        assert (type(a), a.dtype, a.shape, a.strides) == (type(b), b.dtype, b.shape, b.strides)
        np.testing.assert_array_equal(a, b)
        if a.dtype.char not in "gG":  # with bytes that mean nothing
            assert a.tobytes() == b.tobytes()


def numbers(rng, char, n):
    """n numbers of that dtype, small and large, some of them zero, infinite and NaN."""
    kind = np.dtype(char).kind
    if kind in "biu":
        return rng.integers(0, 2 if kind == "b" else 100, n).astype(char)
    x = rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 2 if char == "e" else 6, n)
    x = x + 1j * rng.permutation(x) if kind == "c" else x
    for special in (0.0, -0.0, np.inf, -np.inf, np.nan):
        x[rng.integers(0, n, 3)] = special
    return x.astype(char)


# ---------------------------------------------------------------- the same bits


def dtypes_of(ufunc):
    return [chars for t in ufunc.types if not set("OMmSUV") & set(chars := t.partition("->")[0])]


UFUNCS = {f.__name__: f for f in vars(np).values() if type(f) is np.ufunc and f.nout == 1 and not f.signature}


@pytest.mark.parametrize("name", sorted([name for name, ufunc in UFUNCS.items() if dtypes_of(ufunc)]))
def test_every_ufunc_in_every_dtype(name, small):
    """Blocks begin at other addresses than arrays do, which are here at odd ones as well."""
    ufunc, rng = UFUNCS[name], np.random.default_rng(0)
    for dtypes in dtypes_of(ufunc):
        for first in (0, 1, 3):
            arrays = [numbers(rng, char, 64 * 9 + 13 + first)[first:] for char in dtypes]
            same([blocks.in_blocks(ufunc, *arrays)], [ufunc(*arrays)])
    assert small.used


def operands_of(row, rng, shapes, dtype):
    """Of a row: in its domain, and for ``where`` a condition."""
    low, high = row.domain
    xs = [rng.uniform(low, high, shape).astype(dtype) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        xs = [x + (0.25 * rng.uniform(low, high, x.shape) * 1j).astype(dtype) for x in xs]
    for x in xs:
        x.reshape(-1)[::7] = x.reshape(-1)[0]  # ties, for maximum
    return [xs[0].real > np.mean(xs[0].real), *xs[1:]] if row.name == "where" else xs


SHAPES = [
    ((300,), (300,), (300,)), ((5, 67), (5, 67), (5, 67)), ((200, 3), (200, 1), (3,)), ((200, 3), (3,), ()),
    ((1, 3), (70, 3), (70, 1)), ((), (150,), (1,)),
]  # fmt: skip


@ROWS
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_every_row_forward_and_backward(row, dtype, small):
    rng = np.random.default_rng(0)
    for shapes in SHAPES[: 2 if row.operands == 1 else None]:
        xs, found = operands_of(row, rng, shapes[: row.operands], dtype), []
        try:
            row.function(*xs)
        except TypeError:
            return
        for small.off in (False, True):
            found.append([])
            for create_graph in (False, True):
                variables = [af.Variable(x) if x.dtype.kind in "fc" else x for x in xs]
                z = row.function(*variables)
                g = np.random.default_rng(1).permutation(np.linspace(-1, 1, z.size))
                (z * g.reshape(z.shape).astype(z.dtype)).sum().real.backward(create_graph=create_graph)
                grads = [v.grad for v in variables if isinstance(v, af.Variable)]
                found[-1] += [z.value, *[g.value if create_graph else g for g in grads]]
        same(*found)
    assert small.used


@ROWS
def test_what_is_written_over_g_is_what_the_row_sends(row, small):
    """And what goes to the operands before is no part of g, nor is it written over."""
    rng = np.random.default_rng(0)
    operands = operands_of(row, rng, [(300,)] * row.operands, float)
    z = row.function(*operands)
    saved = [*operands, z]
    flows = tuple([needs is not None for needs in row.needs])
    if row.residual:
        saved, row = [*row.append_residual(operands, z, flows), z], row.with_residual()
    expected = [vjp and vjp(np.cos(z), tuple(saved)) for vjp in row.vjps]
    for over in (False, True):
        g = np.cos(z)
        found = [vjp and vjp(g, tuple(saved)) for vjp in opening.vjps_in_blocks(row, row.vjps, flows, over)]
        same([f for f in found if f is not None], [e for e in expected if e is not None])
        if not over:
            np.testing.assert_array_equal(g, np.cos(z))


def test_gradients_of_one_ufunc_are_that_ufunc():
    x = np.linspace(0.5, 2.0, 5)
    for (function, k), ufunc in opening.UFUNCS.items():
        row = RULES[function]
        saved = (*[x] * row.operands, function(*[x] * row.operands))
        read = [saved[i] for i, _ in row.needs[k]]
        same([ufunc(x[::-1].copy(), *read)], [row.derivatives[row.names[k]](x[::-1].copy(), *read)])


def random_array(rng, shape):
    """Of that shape, or one that broadcasts to it, in some order of memory."""
    some = tuple([1 if rng.random() < 0.15 else n for n in shape])[rng.integers(0, 2) * (rng.random() < 0.3) :]
    x = rng.standard_normal([2 * n for n in some]).astype(rng.choice(["d", "d", "f", "D"]))
    way = rng.integers(0, 9)
    if way == 0:
        x = x[tuple([slice(None, None, 2)] * x.ndim)]
    elif way == 1:
        x = x[tuple([slice(None, n) for n in some])]
    else:
        x = np.ascontiguousarray(x[tuple([slice(None, n) for n in some])])
        x = np.asfortranarray(x) if way == 2 else np.broadcast_to(x.reshape(-1)[0], some) if way == 3 else x
    return x[::-1] if x.ndim and rng.random() < 0.1 else x


@pytest.mark.parametrize("seed", range(20))
def test_any_layout(seed, small):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        shape = (rng.integers(1, 300), *rng.integers(1, 12, rng.integers(0, 3)))
        x, y = random_array(rng, shape), random_array(rng, shape)
        for f in (np.add, np.power, lambda x, y: np.tanh(x) * (1 - y * y)):
            same([np.asarray(blocks.in_blocks(f, x, y))], [np.asarray(f(x, y))])
        for axis in (-1, x.ndim - 1, 0, (-1,), None):
            for ufunc in (np.add, np.maximum):
                if (z := blocks.reduce_rows(ufunc, x, axis, None, seed % 2 == 0)) is not None:
                    same([z], [ufunc.reduce(x, axis, keepdims=seed % 2 == 0)])
    assert small.used > 20


def test_a_loss_of_several_rows(small):
    """A softmax: sums and maxima of rows, masks, contributions that are added."""
    rng, found = np.random.default_rng(0), []
    x, w, y = rng.standard_normal((90, 5)), rng.standard_normal((5, 7)), np.eye(7)[rng.integers(0, 7, 90)]

    def loss(w, b):
        z = np.matmul(x, w) + b
        z = z - np.max(z, axis=1, keepdims=True)
        e = np.exp(z) * np.where(z > -3, 1.0, z)
        return -(y * (z - np.log(np.sum(e, axis=1, keepdims=True)))).sum() + np.maximum(z, -1).mean(axis=1) @ x[:, 0]

    for small.off in (False, True):
        value, gradients = af.value_and_grad(loss, (0, 1))(w, np.zeros(7))
        found.append([np.asarray(value), *gradients])
    same(*found)
    assert small.used > 10


def test_writes_have_their_usual_meaning(small):
    """``out=`` and ``where=`` go one way only, in one piece; an argument may be what is written into."""
    found = []
    for small.off in (False, True):
        x, out = af.Variable(np.linspace(-1, 1, 300)), np.zeros(300)
        np.exp(x.value, out=out, where=x.value > 0)
        y = x * 1.0
        y *= y
        z = np.exp(y, where=x.value > 0, out=af.zeros(300))
        with af.no_grad():
            x -= 0.1 * x
        np.add(y, z, out=y)
        y.sum().backward()
        found.append([out, x.value.copy(), y.value, x.grad])
    same(*found)


# ---------------------------------------------------------------- the same errors, at the same place


@pytest.mark.parametrize("how", ["warn", "ignore", "raise", "call", "print"])
@pytest.mark.parametrize("f", [np.log, lambda x: 1.0 / x], ids=["log", "divide"])
def test_floating_point_errors_are_reported_as_in_one_piece(f, how, small, capfd):
    x, found, said = np.ones(1000), [], []
    x[[100, 700, 900]] = 0.0
    for small.off in (False, True):
        said.clear()
        errors = np.errstate(divide=how, call=lambda *what: said.append(what))
        with errors, warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                said.append(f(af.Variable(x)).value.tolist())
            except FloatingPointError as error:
                said.append(repr(error))
        found.append([*said, *[(str(w.message), w.category, w.filename, w.lineno) for w in seen], capfd.readouterr()])
    assert found[0] == found[1]
    assert len(found[0]) == (3 if how in ("warn", "call") else 2)


def test_an_error_of_numpys_says_what_the_operands_were(small):
    found = []
    for small.off in (False, True):
        with pytest.raises(ValueError, match="could not be broadcast") as caught:
            af.Variable(np.ones((30, 40))) * np.ones(300)
        found.append([str(caught.value), caught.value.__notes__])
    assert found[0] == found[1]


def test_a_gradient_that_was_half_written_over_is_an_error():
    def fail(g, x):
        if x.size and x[0] > 0.5:
            raise MemoryError
        return g * x

    x = np.linspace(0.0, 1.0, blocks.FROM)
    with af.options(threads=2), pytest.raises(MemoryError):
        blocks.in_blocks(fail, g := np.ones(blocks.FROM), x, out=g)


# ---------------------------------------------------------------- threads


def test_nobody_computes_any_more_after_an_interrupt():
    begun, running, done = threading.Event(), set(), []

    def compute(k):
        if threading.current_thread() is threading.main_thread():
            begun.wait(60)
            raise KeyboardInterrupt
        running.add(k)
        begun.set()
        time.sleep(0.05)
        running.discard(k)
        done.append(k)

    with pytest.raises(KeyboardInterrupt):
        blocks.share([partial(compute, k) for k in range(100)], 2)
    assert not running
    assert 1 <= len(done) < 10


def test_an_exception_of_a_thread_arrives():
    here, begun = threading.get_ident(), threading.Event()

    def compute(k):
        if threading.get_ident() != here:
            begun.set()
            raise ZeroDivisionError
        begun.wait(60)

    with pytest.raises(ZeroDivisionError):
        blocks.share([partial(compute, k) for k in range(100)], 2)


def test_nobody_waits_for_a_thread_that_has_not_begun():
    """Where all threads are busy, by another thread of the user's, the caller does all. What was left for a thread to
    begin holds no arrays: they would not be freed, and a gradient that is held is not written over."""
    busy, done = threading.Event(), []
    others = [blocks.pool().submit(busy.wait, 60) for _ in range(max(blocks.cores() - 1, 1))]
    blocks.share([partial(done.append, k) for k in range(10)], 3)
    assert done == [*range(10)]
    x = np.ones(blocks.FROM)
    before = sys.getrefcount(x)
    with af.options(threads=2):
        blocks.in_blocks(np.exp, x)
    assert sys.getrefcount(x) == before
    busy.set()
    assert all([other.result() for other in others])


def test_switches_hold_in_the_threads():
    seen = set()

    def look(k):
        seen.add((threading.get_ident(), af.options.digits, np.geterr()["divide"]))
        time.sleep(0.01)

    with af.options(digits=9), np.errstate(divide="call"):
        blocks.share([partial(look, k) for k in range(20)], 2)
    assert {(digits, divide) for _, digits, divide in seen} == {(9, "call")}
    assert len(seen) == 2


@pytest.fixture
def eight(monkeypatch):
    """A machine with eight cores, of which nothing is said."""
    monkeypatch.setattr(blocks, "cores", lambda: 8)
    for name in blocks.NUMBERS_OF_THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "threadpoolctl", raising=False)
    return monkeypatch


def test_how_many_threads(eight):
    def limited(n):
        """threadpoolctl, after it has let NumPy's products have n threads."""
        chosen = types.SimpleNamespace(lib_controllers=[types.SimpleNamespace(num_threads=n)])
        module = types.ModuleType("threadpoolctl")
        module.ThreadpoolController = lambda: types.SimpleNamespace(select=lambda user_api: chosen)
        return module

    assert blocks.count_threads() == 8
    with af.options(threads=3):
        assert blocks.count_threads() == 3
        eight.setenv("OMP_NUM_THREADS", "2")
        assert blocks.count_threads() == 3  # what is said here is more than what is said to all
    assert blocks.count_threads() == 2
    eight.setenv("OPENBLAS_NUM_THREADS", "none")
    assert blocks.count_threads() == 2
    eight.delenv("OMP_NUM_THREADS")
    eight.setitem(sys.modules, "threadpoolctl", limited(8))
    assert blocks.count_threads() == 8
    eight.setitem(sys.modules, "threadpoolctl", limited(1))
    with af.options(threads=3):
        assert blocks.count_threads() == 1  # a limit holds


def test_the_real_threadpoolctl(eight):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    eight.setitem(sys.modules, "threadpoolctl", threadpoolctl)
    with threadpoolctl.threadpool_limits(1):
        assert blocks.count_threads() == 1


def test_one_thread_in_children(eight):
    eight.setattr("multiprocessing.process._parent_process", object())
    assert blocks.count_threads() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_one_thread_after_a_fork():
    """Threads do not live on in a child, which computes all the same."""
    code = """
        import os, numpy as np, autoflow as af
        from autoflow.table import blocks
        blocks.cores = lambda: 4
        x = af.Variable(np.ones(300_000))
        with af.options(threads=4):
            np.exp(x)
            assert blocks.count_threads() == 4 and blocks.POOL
            if (child := os.fork()) == 0:
                np.exp(x)
                os._exit(10 * len(blocks.POOL) + blocks.count_threads())
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert alone(code, options=("-W", "ignore")) == "1\n"


def test_what_is_small_or_of_a_users_goes_its_old_way(monkeypatch):
    """Nothing is cut, and nothing is asked but for a size."""
    monkeypatch.setattr(blocks, "by_rows", None)
    monkeypatch.setattr(blocks, "count_threads", None)
    x = af.Variable(np.linspace(0.1, 1.0, blocks.FROM - 1).reshape(-1, 1))
    np.max(np.exp(x) * x - np.maximum(x, 0.5) ** 2, axis=1).sum().backward()
    own = af.primitive(lambda x: x * 1.0, elementwise=True)
    own.defvjp(x=lambda g: g)
    own(af.Variable(np.ones(blocks.FROM))).sum(axis=0).backward()
