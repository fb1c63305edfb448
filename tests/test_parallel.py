"""af.data_parallel: value and gradients are those of one piece, the bits are the same on every engine, and every
message. Engines that must be installed are in test_parallel_engines.py."""

import functools
import multiprocessing
import pickle
import sys
import threading
import types
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import workers
from hypothesis import given, settings, strategies as st
from workers import digest, network_loss, problem, squares, step_digest, sum_of_squares

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import AnomalyError, BatchError, CompileError, InputError, LostGradientError, StaleValueError
from autoflow.parallel.tasks import RowRange, tree_sum

P, BATCH = problem()
W, X, Y = np.array([0.5, -1.0]), np.linspace(-2.0, 2.0, 26).reshape(13, 2), np.linspace(0.0, 1.0, 13)


def close(a, b, scale=1e-15):
    for x, y in zip(af.pytree.tree_leaves(a), af.pytree.tree_leaves(b), strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=0, atol=scale * (1 + np.max(np.abs(y), initial=0)))


# -- values and gradients ----------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    n=st.integers(1, 23), chunks=st.integers(1, 30), power=st.integers(0, 4), dtype=st.sampled_from(["f4", "f8"]),
    reduction=st.sampled_from(["mean", "sum"]),
)  # fmt: skip
def test_value_and_gradient_are_those_of_one_piece(n, chunks, power, reduction, dtype):
    rng = np.random.default_rng(n)
    w, x, y = [rng.normal(size=s).astype(dtype) for s in ((3,), (n, 3), (n,))]
    f = squares if reduction == "mean" else sum_of_squares
    one = af.value_and_grad(f)(w, x, y)
    how = {"over": ("x", "y"), "chunks": chunks, "reduction": reduction}
    parts = af.value_and_grad(af.data_parallel(f, **how))(w, x, y)
    close(parts, one, 2e-6 if dtype == "f4" else 4e-15)
    together = af.value_and_grad(af.data_parallel(f, together=2**power, **how))(w, x, y)
    assert digest(together) == digest(parts)


def test_containers_of_parameters_and_of_examples():
    total = af.data_parallel(network_loss, over="batch", chunks=7)
    close(af.value_and_grad(total)(P, BATCH), af.value_and_grad(network_loss)(P, BATCH), 4e-15)
    close(total(P, BATCH, scale=2.0), network_loss(P, BATCH, 2.0), 4e-15)
    with af.no_grad():
        close(total(P, BATCH), network_loss(P, BATCH), 4e-15)


def test_one_part_gives_the_bits_of_one_piece():
    total = af.data_parallel(squares, over=(1, 2), chunks=1)
    assert digest(af.value_and_grad(total)(W, X, Y)) == digest(af.value_and_grad(squares)(W, X, Y))


def test_it_is_one_node_in_a_graph():
    w = af.Variable(W, name="w")
    total = af.data_parallel(squares, over=("x", "y"), chunks=3)
    z = total(w, X, Y)
    assert z.name.startswith("data_parallel_")
    assert z.name != total(w, X, Y).name
    (z * 2 + np.sum(w**2)).backward()
    close(w.grad, 2 * af.grad(squares)(W, X, Y) + 2 * W)
    assert "data_parallel" in str(z.graph())
    assert type(total(W, X, Y)) is np.float64
    assert isinstance(total(af.Constant(W), X, Y), af.Constant)


def test_gradients_for_what_is_cut_are_concatenated():
    x = af.Variable(X)
    af.data_parallel(squares, over=(1, 2), chunks=5)(W, x, Y).backward()
    close(x.grad, af.grad(squares, 1)(W, X, Y))


def slope_of_squared_slopes(f):
    """By passes that are recorded."""
    w = af.Variable(W)
    f(w, X, Y).backward(create_graph=True)
    np.sum(w.grad**2).backward()
    return w.grad


ORDERS = {
    "hvp": lambda f: af.hvp(lambda w: f(w, X, Y), W, np.array([1.0, 3.0])),
    "hvp by what is cut": lambda f: af.hvp(lambda x: f(W, x, Y), X, np.cos(X)),
    "hvp by both": lambda f: af.hvp(lambda w, x: f(w, x, Y), (W, X), (W, np.cos(X))),
    "hessian": lambda f: af.hessian(lambda w: f(w, X, Y))(W),
    "hessian by what is cut": lambda f: af.hessian(lambda x: f(W, x, Y[:3]))(X[:3]),
    "third": lambda f: af.grad(lambda t: af.hvp(lambda w: f(w, X, Y), W * t, W)[0])(1.5),
    "fourth": lambda f: af.grad(af.grad(af.grad(af.grad(lambda t: f(W * t, X, Y)))))(0.7),
    "jvp": lambda f: af.jvp(lambda w: f(w, X, Y), W, W), "a recorded pass": slope_of_squared_slopes,
    "a penalty": lambda f: af.grad(lambda w: f(w, X, Y) + np.sum(af.grad(lambda v: f(v, X, Y))(w) ** 2))(W),
    "gradients of all": lambda f: af.grad(f, (0, 1, 2))(W, X, Y),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("f", [squares, sum_of_squares])
def test_derivatives(name, f):
    total = af.data_parallel(f, over=(1, 2), chunks=4, reduction="mean" if f is squares else "sum")
    close(ORDERS[name](total), ORDERS[name](f), 1e-14 if name == "gradients of all" else 1e-12)


def test_a_linear_function_has_second_derivative_zero():
    total = af.data_parallel(lambda w, x: np.mean(x @ w), over=1, chunks=3)
    assert af.hessian(lambda w: total(w, X))(W).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_complex_parameters():
    def f(w, x):
        return np.mean(np.abs(x * w) ** 2 + np.real(w * x))

    x = np.linspace(0, 1, 7) + 1j
    close(af.grad(af.data_parallel(f, over=1, chunks=3))(2.0 - 1j, x), af.grad(f)(2.0 - 1j, x))


# -- engines of the standard library -----------------------------------------------------------------------------------


def test_the_bits_depend_on_chunks_only(pool, tmp_path):
    serial = step_digest(None, P, BATCH)
    assert step_digest(map, P, BATCH) == serial
    assert step_digest(pool, P, BATCH) == step_digest(pool.map, P, BATCH, together=4) == serial
    for threads in (1, 3):
        with ThreadPoolExecutor(threads) as executor:
            assert step_digest(executor, P, BATCH, together=2) == serial
    files = {}
    for name, x in BATCH.items():
        files[name] = np.memmap(tmp_path / name, x.dtype, "w+", shape=x.shape)
        files[name][:] = x
        files[name].flush()
    assert step_digest(None, P, files) == step_digest(pool, P, files, together=8) == serial
    assert step_digest(None, P, BATCH, chunks=15) != serial


def test_a_pool_of_multiprocessing():
    if sys.platform == "emscripten":
        pytest.skip("not in a browser: no processes")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert step_digest(pool, P, BATCH, chunks=3) == step_digest(pool.imap, P, BATCH, chunks=3)
        assert step_digest(pool, P, BATCH, chunks=3) == step_digest(None, P, BATCH, chunks=3)


def test_second_derivatives_in_processes(pool):
    def product(workers):
        total = af.data_parallel(squares, over=(1, 2), chunks=3, workers=workers)
        return af.hvp(lambda w, x: total(w, x, Y), (W, X), (W, X))

    assert digest(product(pool)) == digest(product(None))


def test_compiled_in_each_process(pool):
    plain = step_digest(None, P, BATCH, chunks=4)
    here = step_digest(None, P, BATCH, chunks=4, compiled=True)
    assert step_digest(pool, P, BATCH, chunks=4, compiled=True, together=2) == here
    total = af.data_parallel(network_loss, over=1, workers=pool, chunks=4, compiled=True)
    step = af.value_and_grad(total)
    close(step(P, BATCH), af.value_and_grad(network_loss)(P, BATCH), 1e-14)
    other = {name: x + 0.1 for name, x in P.items()}
    close(step(other, BATCH), af.value_and_grad(network_loss)(other, BATCH), 1e-14)
    assert plain
    close(af.hvp(lambda w: af.data_parallel(squares, over=(1, 2), compiled=True)(w, X, Y), W, W),
          af.hvp(lambda w: squares(w, X, Y), W, W), 1e-13)  # fmt: skip


def scaled(scale, w, x):
    return np.mean(scale * w * x)


def test_a_compiled_function_that_has_changed_is_compiled_again(pool):
    for scale in (2.0, 3.0):
        total = af.data_parallel(functools.partial(scaled, scale), over=1, workers=pool, chunks=2, compiled=True)
        assert float(af.grad(total)(1.0, np.ones(4))) == scale


def test_a_function_that_is_defined_again_is_compiled_again(monkeypatch):
    """As in a notebook, where it has the name under which pickle knows it."""
    module = types.ModuleType("cells")
    monkeypatch.setitem(sys.modules, "cells", module)
    for factor in (2.0, 3.0):
        exec(f"import numpy\ndef f(w, x): return numpy.mean(w * x) * {factor}", vars(module))
        total = af.data_parallel(module.f, over=1, chunks=2, compiled=True)
        assert float(af.grad(total)(1.0, np.ones(4))) == factor


def test_a_program_that_a_part_has_recorded_is_that_of_parts():
    """In parts running statistics stay as they are, and the program without them ran everywhere afterwards."""
    mean, variance, x = np.zeros(2), np.ones(2), np.arange(12.0).reshape(6, 2)
    norm = af.compile(lambda x: nn.batch_norm(x, mean, variance, training=True))
    af.data_parallel(lambda x: np.mean(norm(x) * x), over=0, chunks=2)(x)
    assert mean.tolist() == [0, 0]
    with pytest.raises(CompileError, match="writes into an array"):
        norm(x[:3])


def test_modes_travel(pool):
    x, w = np.array([0.0, -1.0, 4.0, 9.0]), np.array(2.0)
    for workers_ in (None, pool):
        total = af.data_parallel(workers.masked, over=1, workers=workers_, chunks=2)
        with np.errstate(all="ignore"):
            assert np.isnan(af.grad(total)(w, x))
            with af.safe_masking():
                assert np.isfinite(af.grad(total)(w, x))
            with af.detect_anomaly(), pytest.raises(AnomalyError, match=r"sqrt_\d+ (sent|became) (inf|nan)"):
                af.grad(total)(w, x)
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
            total(w, x)


def test_modes_travel_to_threads():
    """Threads of a pool begin with modes of their own."""
    total = af.data_parallel(lambda w, x: np.mean(np.matmul(x, w).astype(np.float32)), over=1, chunks=2)
    w, x = np.eye(3, dtype="f4") / 3, np.full((4, 3), 1 / 3, "f4")
    with af.autocast():
        here = af.grad(total)(w, x)
        with ThreadPoolExecutor(2) as pool:
            there = af.grad(af.data_parallel(total.f, over=1, chunks=2, workers=pool))(w, x)
    assert digest(there) == digest(here) != digest(af.grad(total)(w, x))


def test_random_numbers(pool):
    x = np.ones((12, 2))

    def drawn(workers_, seed=0, calls=1, **how):
        total = af.data_parallel(workers.draws, over=1, workers=workers_, rng=np.random.default_rng(seed), **how)
        return [float(total(np.ones(2), x)) for _ in range(calls)]

    one, two = drawn(None, calls=2)
    assert one != two
    assert drawn(pool, calls=2, together=2) == [one, two]
    assert drawn(None, seed=1) != [one]
    each = []
    total = af.data_parallel(workers.draws, over=1, rng=np.random.default_rng(0), chunks=6, reduction="sum",
                             workers=lambda f, jobs: [each.append(f(job)) or each[-1] for job in jobs])  # fmt: skip
    total(np.ones(2), x)
    assert len({float(sums[0]) for _, (sums, _) in each}) == 6


def test_a_pass_back_draws_the_numbers_of_its_value():
    x = np.linspace(-1, 1, 24).reshape(12, 2)
    rng = np.random.default_rng(0)
    total = af.data_parallel(workers.noisy, over=1, rng=rng, chunks=3)
    value, pull = af.vjp(lambda w: total(w, x), W)
    close(value, np.sum(pull(np.ones(()))[0] * W), 1e-14)  # it is linear
    product = af.data_parallel(lambda w, x, rng: np.mean((x @ w) ** 2 * rng.random(len(x))), over=1, rng=rng, chunks=3)
    w = af.Variable(W)
    z = product(w, x)
    z.backward(create_graph=True)
    np.sum(w.grad * W).backward()
    close(w.grad.value @ W, 4 * z.value, 1e-13)  # gᵀw = 2z and (Hw)ᵀw = 2z


# -- memory and messages -----------------------------------------------------------------------------------------------


def test_only_one_part_is_in_memory():
    """The largest number of parts alive at a time, counted by what the data hands out."""

    class Source:
        shape, ndim, dtype = (1000, 100), 2, np.dtype(float)
        alive, most = 0, 0

        def __getitem__(self, rows):
            part = np.ones((rows.stop - rows.start, 100)).view(Counted)
            Source.alive += 1
            Source.most = max(Source.most, Source.alive)
            return part

    class Counted(np.ndarray):
        def __del__(self):
            if self.base is None or not isinstance(self.base, Counted):
                Source.alive -= 1

    total = af.data_parallel(lambda w, x: np.mean(x * w), over=1, chunks=10)
    assert float(af.grad(total)(2.0, Source())) == pytest.approx(1.0)
    assert Source.most <= 2


def test_what_travels_of_a_file_is_its_name(tmp_path):
    x = np.memmap(tmp_path / "x", float, "w+", shape=(1000, 10))
    x[:] = np.arange(10_000.0).reshape(1000, 10)
    x.flush()
    sent = pickle.dumps(RowRange(x, 10, 20))
    assert len(sent) < 300 + len(str(tmp_path))
    assert pickle.loads(sent).load().tolist() == x[10:20].tolist()
    assert len(pickle.dumps(RowRange(np.asarray(x), 10, 20))) < 1200  # ten rows, not all
    view = RowRange(x[5:], 10, 20)
    assert pickle.loads(pickle.dumps(view)).load().tolist() == x[15:25].tolist()
    private = np.memmap(tmp_path / "x", float, "c", shape=(1000, 10))
    private[0] = 7.0  # not in the file
    assert pickle.loads(pickle.dumps(RowRange(private, 0, 2))).load()[0].tolist() == [7.0] * 10


def test_a_file_that_is_replaced_is_opened_again(tmp_path):
    for number in (1.0, 2.0):
        np.full(5, number).tofile(tmp_path / "new")
        (tmp_path / "new").replace(tmp_path / "x")
        rows = pickle.loads(pickle.dumps(RowRange(np.memmap(tmp_path / "x", float, "r"), 1, 3)))
        assert rows.load().tolist() == [number] * 2


def test_the_driver_holds_few_sums():
    most, alive = [0], set()

    def add(a, b):
        alive.discard(b)
        return a

    def items():
        for k in range(1000):
            alive.add(k)
            most[0] = max(most[0], len(alive))
            yield k

    tree_sum(items(), add)
    assert most[0] <= 11


@given(st.integers(1, 70), st.integers(0, 5))
def test_groups_are_subtrees(n, power):
    def add(a, b):
        return f"({a} {b})"

    items = [str(k) for k in range(n)]
    size = 2**power
    assert tree_sum([tree_sum(items[k : k + size], add) for k in range(0, n, size)], add) == tree_sum(items, add)


BAD = {
    "lengths": (lambda: af.data_parallel(squares, over=(1, 2))(W, X, Y[:5]),
                InputError, r"different lengths: argument 1 of shape \(13, 2\), argument 2 of shape \(5,\)"),
    "no rows": (lambda: af.data_parallel(squares, over=(1, 2))(W, X[:0], Y[:0]), InputError, "no rows to work on"),
    "a number to cut": (lambda: af.data_parallel(squares, over=0)(1.0, X, Y), InputError, "0 should be divided, but"),
    "nothing to cut": (lambda: af.data_parallel(squares, over=()), InputError, "at least one"),
    "an unknown name": (lambda: af.data_parallel(squares, over="z")(W, X, Y), TypeError, "without the argument 'z'"),
    "chunks": (lambda: af.data_parallel(squares, over=1, chunks=0), InputError, "at least 1, not 0"),
    "together": (lambda: af.data_parallel(squares, over=1, together=3), InputError, "a power of two .*, not 3"),
    "reduction": (lambda: af.data_parallel(squares, over=1, reduction="max"), InputError, "'mean' or 'sum'.*'max'"),
    "rng": (lambda: af.data_parallel(squares, over=1, rng=0), InputError, r"np.random.default_rng\(seed\), not 0"),
    "rng, compiled": (lambda: af.data_parallel(squares, over=1, rng=np.random.default_rng(0), compiled=True),
                      InputError, "draws no random numbers"),
    "workers": (lambda: af.data_parallel(squares, over=1, workers=3), TypeError, "workers is a map .*, not 3"),
    "no number": (lambda: af.data_parallel(lambda w, x: x @ w, over=1, chunks=2)(W, X), TypeError, "returned shape"),
    "a container": (lambda: af.data_parallel(lambda w, x: (1.0, 2.0), over=1)(W, X), TypeError, "returned a tuple"),
    "a compiled caller": (lambda: af.compile(af.grad(af.data_parallel(squares, over=(1, 2))))(W, X, Y),
                          CompileError, "compiled=True"),
    "vmap": (lambda: af.vmap(af.data_parallel(squares, over=(1, 2)), (0, None, None), loop="refuse")(
        np.ones((3, 2)), X, Y), BatchError, "take af.vmap inside its function"),
    "a float() in f": (lambda: af.grad(af.data_parallel(lambda w, x: np.mean(x) * float(w.value), over=1))(1.0, Y),
                       LostGradientError, "depends on none"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    bad, kind, words = BAD[name]
    with pytest.raises(kind, match=words):
        bad()


def test_nodes_from_outside_are_refused():
    model = workers.small_network()
    total = af.data_parallel(lambda x, y: nn.mse_loss(model(x), y), over=(0, 1), chunks=2)
    with pytest.raises(LostGradientError, match=r"f uses \S+, a node that is not one of its arguments"):
        total(BATCH["x"], BATCH["y"])
    made = af.Variable(2.0) * 3.0  # an operation has the name by which pictures and messages call it
    with pytest.raises(LostGradientError, match=rf"use its numbers, {made.name}\.value"):
        af.data_parallel(lambda x: np.sum(x) * made, over=0, chunks=2)(BATCH["x"])
    with af.no_grad():
        close(total(BATCH["x"], BATCH["y"]), nn.mse_loss(model(BATCH["x"]), BATCH["y"]).value, 1e-14)


def test_a_generator_in_a_closure(pool):
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(5, 2, rng=rng), nn.Dropout(0.5, rng=rng))
    values = {path: p.value for path, p in model.named_parameters().items()}
    total = af.data_parallel(functools.partial(workers.model_loss, model=model), over=("x", "y"), chunks=2)
    with pytest.raises(InputError, match=r"the same numbers: give data_parallel\(rng=...\)"):
        total(values, BATCH["x"], BATCH["y"])
    model.eval()  # now it draws nothing
    assert np.isfinite(total(values, BATCH["x"], BATCH["y"]))


def test_the_generators_of_a_process(pool):
    total = af.data_parallel(workers.draws_from_all, over=1, workers=pool, chunks=2)
    with pytest.raises(InputError, match=r"workers would draw the same numbers"):
        total(1.0, np.ones(4))


def test_an_error_says_which_part(pool):
    x = np.ones(13)
    x[7] = -1.0
    for workers_ in (None, pool):
        total = af.data_parallel(workers.fails_in_the_middle, over=1, workers=workers_, chunks=4)
        with pytest.raises(ZeroDivisionError, match="a bad row") as found:
            total(1.0, x)
        assert found.value.__notes__ == ["in part 3 of 4, rows 6:9"]


def test_lambdas_to_processes(pool):
    total = af.data_parallel(lambda w, x: np.mean(w * x), over=1, workers=pool, chunks=2)
    with pytest.raises(InputError, match=r"f cannot be sent to another process \(.*lambda.*\)\. Define it at the top"):
        total(1.0, np.ones(4))


def test_a_pool_that_starts_its_workers_late_is_not_put_back():
    """Else a proof would start them again, and nobody would stop the first ones."""

    class Pool(Executor):
        __module__ = "pytest"  # of an installed package

        def __init__(self):
            self.starts, self.workers = threading.Semaphore(0), {}

        def map(self, f, *items):
            if not self.workers:
                self.workers["first"] = self.starts.release()
            return map(f, *items)

    pool = Pool()
    total = af.data_parallel(lambda w, x: np.mean(w * x), over=1, workers=pool, chunks=2)
    assert float(af.grad(total)(2.0, np.ones(4))) == 1.0
    assert pool.starts._value == 1


def test_a_dead_worker():
    if sys.platform == "emscripten":
        pytest.skip("not in a browser: no processes")
    x = np.ones(8)
    x[5] = -1.0
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        total = af.data_parallel(workers.dies_in_the_middle, over=1, workers=pool, chunks=4)
        w = af.Variable(1.0)
        with pytest.raises(Exception, match=r"terminated abruptly|not usable") as found:
            total(w, x)
        assert "of 4 had no answer: a worker died" in found.value.__notes__[0]
        assert w.grad is None


def test_what_does_not_pickle_in_the_data_is_not_blamed_on_f(pool):
    class Local(np.ndarray):
        def __reduce__(self):
            raise pickle.PicklingError("not this array")

    x = np.ones(4).view(Local)
    total = af.data_parallel(workers.waits, over=1, workers=pool, chunks=2)
    with pytest.raises(pickle.PicklingError, match="not this array"):
        total(np.ones(2).view(Local), x)


# -- ranks, played by threads ------------------------------------------------------------------------------------------


class Rank:
    """A communicator as mpi4py's, of threads."""

    def __init__(self, k, world):
        self.k, self.world = k, world

    def Get_rank(self):
        return self.k

    def allgather(self, x):
        return self.exchange(x)

    def Allreduce(self, sent, received):
        received[:] = sum(self.exchange(sent.copy()))

    def exchange(self, x):
        self.world["given"][self.k] = x
        self.world["barrier"].wait(30)
        found = list(self.world["given"])
        self.world["barrier"].wait(30)
        return found


def on_ranks(n, f, prove="never"):
    world = {"barrier": threading.Barrier(n), "given": [None] * n}

    def run(k):
        with af.options(prove=prove):
            return f(Rank(k, world), k)

    if n == 1:  # beside the thread that waits here a function that changes something is not proved
        return [run(0)]
    with ThreadPoolExecutor(n) as pool:
        return [future.result() for future in [pool.submit(run, k) for k in range(n)]]


@pytest.fixture
def threads():
    if sys.platform == "emscripten":
        pytest.skip("not in a browser: no threads")


@pytest.mark.usefixtures("threads")
def test_each_rank_has_its_own_examples_and_all_get_the_whole():
    def step(comm, k):
        total = af.data_parallel(squares, over=(1, 2), workers=comm, chunks=2)
        rows = slice([0, 2, 7][k], [2, 7, 13][k])
        second = af.hvp(lambda w: total(w, X[rows], Y[rows]), W, W)
        by_rows = af.grad(total, 1)(W, X[rows], Y[rows])
        return digest(af.value_and_grad(total)(W, X[rows], Y[rows])), total(W, X[rows], Y[rows]), second, by_rows

    found = on_ranks(3, step)
    assert len({first for first, *_ in found}) == 1
    close(found[0][1], squares(W, X, Y), 1e-15)
    close(found[0][2], af.hvp(lambda w: squares(w, X, Y), W, W), 1e-14)
    close(np.concatenate([rows for *_, rows in found]), af.grad(squares, 1)(W, X, Y))


@pytest.mark.usefixtures("threads")
def test_what_ranks_say_to_each_other_is_said_once(monkeypatch):
    """A second run of the function might be made by some of them only, and they would wait for ever."""
    monkeypatch.setattr("autoflow.transforms.shadow.others_run", lambda: False)  # the pools of other tests have threads
    said, allgather = [], Rank.allgather
    monkeypatch.setattr(Rank, "allgather", lambda self, x: (said.append(1), allgather(self, x))[1])

    def step(comm, k):
        return af.grad(lambda w: af.data_parallel(squares, over=(1, 2), workers=comm, chunks=2)(w, X, Y))(W)

    (expected,), calls = on_ranks(1, step), len(said)
    with pytest.warns(af.errors.UnprovedWarning, match="cannot run twice"):
        (found,) = on_ranks(1, step, prove="first")
    assert digest(found) == digest(expected)
    assert len(said) == 2 * calls


def differs(comm, k):
    af.data_parallel(squares, over=(1, 2), workers=comm)(W + k, X, Y)


def has_no_rows(comm, k):
    af.data_parallel(squares, over=(1, 2), workers=comm)(W, X[: 4 * k], Y[: 4 * k])


def fails(comm, k):
    af.data_parallel(workers.fails_in_the_middle, over=1, workers=comm, chunks=2)(1.0, np.ones(4) - 2.0 * k)


OTHERS = "^data_parallel: another rank failed, so there is no sum: rank "
APART = {  # what a rank does, and the errors that both have
    differs: [(InputError, "rank 1 has another function or other parameters than rank 0")] * 2,
    has_no_rows: [(InputError, "there are no rows to work on"), (RuntimeError, "there are no rows to work on")],
    fails: [(RuntimeError, f"{OTHERS}1: ZeroDivisionError: a bad row$"), (ZeroDivisionError, "^a bad row")],
}


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("act", APART, ids=lambda act: act.__name__)
def test_a_rank_on_its_own_does_not_leave_the_others_waiting(act):
    def step(comm, k):
        kind, words = APART[act][k]
        with pytest.raises(kind, match=words):
            act(comm, k)

    on_ranks(2, step)


@pytest.mark.usefixtures("threads")
def test_ranks_that_were_given_the_same_generator_draw_other_numbers():
    how = {"over": 1, "reduction": "sum"}

    def step(comm, k):
        rng = np.random.default_rng(0)
        return af.data_parallel(workers.draws, workers=comm, chunks=2, rng=rng, **how)(W, X[5 * k : 5 * k + 5])

    whole = af.data_parallel(workers.draws, chunks=4, rng=np.random.default_rng(0), **how)(W, X)
    first, second = on_ranks(2, step)
    assert first == second
    close(first, whole, 1e-15)


@pytest.mark.parametrize("choose", [
    lambda answers: answers[::-1], lambda answers: answers[:-1], lambda answers: [answers[0], *answers],
    lambda answers: [],
])  # fmt: skip
def test_a_map_that_answers_out_of_turn_is_noticed(choose):
    """The gradients of rows would silently be those of other rows."""
    total = af.data_parallel(squares, over=(1, 2), workers=lambda f, jobs: choose(list(map(f, jobs))), chunks=3)
    with pytest.raises(InputError, match="give a map that answers all of them in their order"):
        af.grad(total, 1)(W, X, Y)


# -- with the rest -----------------------------------------------------------------------------------------------------


def test_an_optimiser_over_parts_trains_as_over_one_piece(pool):
    def trained(f):
        p = {k: af.Variable(v, name=k) for k, v in P.items()}
        optimiser = optim.Adam(list(p.values()), lr=0.05)
        for _ in range(4):
            optimiser.zero_grad()
            (f(p, BATCH) + 0.01 * sum(np.sum(w**2) for w in p.values())).backward()
            optimiser.step()
        return {k: w.value for k, w in p.items()}

    total = af.data_parallel(network_loss, over="batch", workers=pool, chunks=4)
    close(trained(total), trained(network_loss), 1e-12)


@pytest.mark.parametrize("rows", [6, 6000])
@pytest.mark.parametrize("overwritten", ["shared", "cut"])
def test_data_that_are_overwritten_before_they_are_needed_again(rows, overwritten):
    """A pass that is recorded computes with them once more; one that is not has what it needs."""
    data = {"shared": np.array([2.0, 3.0]), "cut": np.linspace(1.0, 2.0, 2 * rows).reshape(rows, 2)}
    total = af.data_parallel(lambda w, shared, cut: np.mean((cut @ (w * shared)) ** 2), over="cut", chunks=3)

    def slope(again, changed):
        w = af.Variable([1.0, 2.0])
        z = total(w, **data)
        data[overwritten] *= changed
        g = af.gradients(z, [w], create_graph=again)[w]
        if not again:
            return g
        np.sum(g * g).backward()
        return w.grad

    first, second = slope(False, 1.0), slope(True, 1.0)
    np.testing.assert_array_equal(slope(False, 2.0), first)
    data[overwritten] /= 2
    with pytest.raises(StaleValueError, match=r"data_parallel_\d+ would compute with its data again"):
        slope(True, 2.0)
    data[overwritten] /= 2
    np.testing.assert_array_equal(slope(True, 1.0), second)


def test_progress(capsys):
    pytest.importorskip("tqdm")
    af.data_parallel(squares, over=(1, 2), chunks=4, progress=True)(W, X, Y)
    assert "parts:" in capsys.readouterr().err


def test_how_it_shows_itself():
    assert repr(af.data_parallel(squares, over=1, chunks=4)) == "<data_parallel of squares, 4 chunks>"
