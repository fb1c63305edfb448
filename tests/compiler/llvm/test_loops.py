"""``af.compile(f, engine="llvm")``: what loops compute, what stays NumPy's, and what may not go wrong on the way."""

from functools import partial

import numpy as np
import pytest
from compiled import check_calls, check_same, functions
from loops import check, left_to_numpy, natives
from support import unseen_append
from threads import in_threads

import autoflow as af
from autoflow.compiler.llvm import engine as engines, products
from autoflow.compiler.program import sort_values
from autoflow.compiler.run import tiles
from autoflow.compiler.run.scalars import Slots

needs_llvm = pytest.mark.skipif(not engines.is_there(), reason="llvmlite is not installed")
pytestmark = needs_llvm


@pytest.fixture
def narrow_registers(monkeypatch):
    """Medium products are the matrix library's, whatever the processor."""
    monkeypatch.setattr(products, "has_wide_registers", lambda: False)


X = np.random.default_rng(0).standard_normal((13, 11))
ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1e308, -2.5, 3.5, 0.5, -1e308])

ELEMENTWISE = {
    "arithmetic": lambda x: (x + 1.0) * (2.0 - x) / (x + 3.0) - -x,
    "roots": lambda x: np.sqrt(np.abs(x)) + np.square(x) + np.reciprocal(x) + +x,
    "exp and log": lambda x: np.exp(x) * np.log(np.abs(x)) - np.tanh(x), "waves": lambda x: np.sin(x) * np.cos(2.0 * x),
    "rounding": lambda x: (np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)),
    "maximum": lambda x: (np.maximum(x, 0.25), np.minimum(x, 0.25), np.fmax(x, 0.25), np.fmin(0.25, x)),
    "comparisons": lambda x: (x > 0.5, x >= 0.5, x < 0.5, x <= 0.5, x == 0.5, x != 0.5),
    "logic": lambda x: ((x > 0) & (x < 1), (x > 0) | (x < -1), ~(x > 0), np.logical_xor(x > 0, x > 1)),
    "questions": lambda x: (np.isnan(x), np.isinf(x), np.isfinite(x), np.sign(x)),
    "masks": lambda x: x * (x > 0) + np.where(x > 0.1, x, 0.2 * x) + np.clip(x, -0.5, 0.5),
    "integers": lambda x: ((x > 0).astype(np.int8) + (x >= 0)) * 0.5 + (x > 1).astype(float),
    "float32 inside": lambda x: (x.astype(np.float32) * 2).astype(np.float64) + x,
    "copysign": lambda x: np.copysign(3.0, x) * np.fabs(x),
}  # fmt: skip


@pytest.mark.parametrize("f", ELEMENTWISE.values(), ids=ELEMENTWISE)
def test_elementwise_functions(f, everything_in_loops):
    """Of vectors, of what is left over, of one number; of NaN, infinities and zeros with their signs. (NumPy reports
    whole numbers that do not fit, but not of arrays.)"""
    for x in (X, X[0], X[0, :1], np.array(0.3), ODD, ODD[5:]):
        left = ["add"] if f is ELEMENTWISE["integers"] and not x.shape else []
        assert left_to_numpy(check(f, x)) == left


REDUCTIONS = functions("""
    np.sum(x * 2.0) | np.sum(x * 2.0, axis=0) | np.max(x * 2.0, axis=-1) | x - np.min(x + 1.0, axis=-1, keepdims=True)
    np.sum(x.reshape(x.shape[0], -1, 1) * np.ones(3), axis=1) | np.sum(x[:, :, None] * np.arange(1.0, 4.0), axis=(0, 2))
    np.prod(x[:, :5] * 0.5, axis=0) | np.sum(x[:1] * 2.0, axis=0) | np.sum(x > 0, axis=1) * 0.5
    (np.any(x > 1, axis=0), np.all(x > -1, axis=1))
    (np.sum(x * x), np.max(x * x), np.sum(x * x, axis=0), np.sum(x * x, axis=1)) | np.mean(x, axis=0) + np.mean(x)
""", "x", globals())  # fmt: skip


@pytest.mark.parametrize("f", REDUCTIONS.values(), ids=REDUCTIONS)
def test_reductions(f, everything_in_loops):
    for x in (X, np.asfortranarray(X), X.astype(np.float32), X[:, :8], X[:, :8].T, X[:3, :3]):
        compiled = check(f, x, rtol=1e-13 if x.dtype == np.float64 else 1e-5)
        assert not left_to_numpy(compiled)


def test_odd_numbers_in_reductions(everything_in_loops):
    for x in (ODD, -ODD, np.array([-0.0, -0.0]), np.array([np.inf, -np.inf]), np.array([1.0, np.nan, 2.0])):
        check(lambda x: (np.sum(x * 1.5), np.max(x * 1.5), np.min(x * 1.5), np.prod(x * 1.5)), x, signs=False)


def test_long_sums_are_as_exact_as_numpys(everything_in_loops):
    """In blocks of blocks: 0.1 a million times, whose error grows with the number if one adds one after the other."""
    for n in (4097, 65_536, 99_999, 1_000_001):
        x = np.full(n, 0.1)
        ours = af.compile(lambda x: np.sum(x * 1.0 + 0.0), engine="llvm")(x)
        assert abs(ours - n * 0.1) <= 2e-14 * n * 0.1
    x = np.random.default_rng(6).standard_normal((3, 1_000_003)) ** 2
    exact = x.astype(np.longdouble).sum(axis=1)
    ours = af.compile(lambda x: np.sum(x * 2.0 - x, axis=1), engine="llvm")(x)
    assert np.max(np.abs(ours / exact - 1)) <= 2e-15
    assert np.max(np.abs(np.sum(x, axis=1) / exact - 1)) <= 2e-15  # NumPy's


VIEWS = functions("""
    x.T * 2.0 + 1.0 | x * x[0] + x[:, :1] * x[2, 3] | x[::-1, ::-2] * 2.0 - x[:, ::2]
    (x * 2.0).T[1:] + (x + 1.0).reshape(-1)[: x.size - x.shape[0]].reshape(x.shape[1] - 1, -1)
    (x * 2.0).T.reshape(-1) * 3.0 + 1.0 | x.T.reshape(-1) * 2.0 + x.reshape(-1) | x[:, None, :] * x[None, :, :] + 1.0
    np.diagonal(x * 2.0) + 1.0 | ((x * 2.0).T, (x + 1.0)[::2])
""", "x", globals())  # fmt: skip


@pytest.mark.parametrize("f", VIEWS.values(), ids=VIEWS)
def test_views_are_strides(f, everything_in_loops):
    for x in (X[:11], X[:11].T, np.asfortranarray(X[:11]), X[::-1][:11], np.repeat(X[:11], 2, axis=1)[:, ::2]):
        check(f, x)


WRITES = {
    "slices": lambda x, y: (x[1:-1, ::2] * y, np.tanh(x)[2], x[:9, ..., 1:3] * y[:, :1]),
    "a number": lambda x, y: x[2, 3] * y, "turned around": lambda x, y: x[::-1, ::-2] * x[3:, -1, None][::-1][:1],
    "new axes": lambda x, y: x[1:, None, 2] * y[:1], "of a view": lambda x, y: x.T[1:, 2:5] * 2.0 + x.reshape(-1)[7:8],
}  # fmt: skip


@pytest.mark.parametrize("f", WRITES.values(), ids=WRITES)
def test_gradients_of_slices_are_loops(f, everything_in_loops):
    """They write into a part of an array of zeros."""

    def total(x, y):
        found = f(x, y)
        return sum([np.sum(np.tanh(z)) for z in (found if isinstance(found, tuple) else (found,))])

    def both(x, y):
        value, slopes = af.value_and_grad(total, (0, 1))(x, y)
        return value, *slopes

    for x in (X[:11], np.asfortranarray(X[:11]), X[:11].astype(np.float32)):
        y = np.full((9, 6) if f is WRITES["slices"] else (1, 1), 0.7, x.dtype)
        compiled = check(both, x, y, rtol=1e-13 if x.dtype == np.float64 else 1e-5)
        assert "set_items" not in left_to_numpy(compiled)


def test_writing_into_an_array(everything_in_loops):
    def f(x, y):
        z = y[0, 0] * np.zeros((4, 5))
        z[1:3, ::2] = x
        z[0] = 3.0
        z[:, 1] = y[:, 0] * 2.0
        w = x * 1.5
        w[:1] = x[1:] * x[:1]
        w[...] = w * w
        x = x + 0.5
        x[x > 1.0] = 0.0  # a mask: NumPy's
        x[-1, -1] = y[0, 0]
        return z, w, x, z[:0]

    compiled = check(f, np.random.default_rng(9).random((2, 3)), np.random.default_rng(10).random((4, 2)))
    assert left_to_numpy(compiled).count("set_items") == 1


def test_results_lie_in_memory_as_in_eager_code(everything_in_loops):
    x = np.asfortranarray(X)
    f = lambda x: (x * 2.0 + 1.0, np.tanh(x.T) * 2.0, np.sum(x[:, :, None] * np.ones(2), axis=2))  # noqa: E731
    check_same(af.compile(f, engine="llvm")(x), f(x), 1e-13, 1e-13, strides=True)


def test_empty_arrays_and_numbers_without_a_shape(everything_in_loops):
    for shape in ((0,), (0, 3), (3, 0)):
        check(lambda x: (x * 2.0 + 1.0, np.sum(x * 2.0), np.sum(x + 1.0, axis=0)), np.ones(shape))
    compiled = af.compile(lambda x: x * 2.0 + 1.0, engine="llvm")
    assert [compiled(x) for x in (np.array(3.0), np.float64(4.0), np.array(3.0))] == [7.0, 9.0, 7.0]  # other memory


def block_of(compiled):
    """What the first block of the latest program runs: names of calls, loops of its stretches."""
    (phase,) = [v.function for v in compiled.latest.program.order() if isinstance(v.function, tiles.Phase)]
    program, targets = next(iter(phase.programs.values()))
    calls = [v for v in sort_values([*program.outputs, *targets]) if v.kind in ("call", "product")]
    return [v.name for v in calls], [len(v.function.schedule.calls) for v in calls if v.name == "loops"]


def test_large_arrays_of_zeros_can_be_written_into_more_than_once():
    """A large array of the recording that is gone is made again as it was: one that may be written into."""
    x = np.random.default_rng(0).standard_normal((200, 200))

    def f(x):
        return sum([np.tanh(x[i : i + 198, j : j + 198]).sum() for i in range(3) for j in range(3)])

    compiled = check(af.grad(f), x)
    assert left_to_numpy(compiled) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_large_arrays_run_in_blocks_of_loops(threads, monkeypatch):
    """A chain is one loop, which writes into its rows of the results; the last block is shorter."""
    monkeypatch.setattr(tiles, "count_threads", lambda: threads)
    x, w, b = np.random.default_rng(7).standard_normal((3, 300_001))
    step = af.value_and_grad(lambda x, w, b: np.exp(-(np.tanh(x * w + b) ** 2)).sum(), (0, 1, 2))
    compiled = af.compile(step, engine="llvm")
    (value, slopes), (our_value, ours) = step(x, w, b), compiled(x, w, b)
    np.testing.assert_allclose(ours, slopes, rtol=0, atol=1e-14)
    np.testing.assert_allclose(our_value, value, rtol=1e-14)
    assert block_of(compiled) == (["loops"], [2])  # what the sum begins with, and all the rest
    again = compiled(x, w, b)
    np.testing.assert_array_equal(again[1], ours)
    assert again[0] == our_value  # whichever thread was first
    assert not any([np.shares_memory(a, c) for a in again[1] for c in ours])
    with np.errstate(over="raise"):
        compiled(x, w, b)
        with pytest.raises(FloatingPointError):
            compiled(x * 1e200, w * 1e200, b)
    strided = np.repeat(x, 2)[::2]
    np.testing.assert_array_equal(compiled(strided, w, b)[1], ours)


def test_products_lie_between_loops_of_a_block(monkeypatch, narrow_registers):
    """Softmax regression: both products are NumPy's, what lies between them is one stretch."""
    monkeypatch.setattr(tiles, "count_threads", lambda: 2)
    rng = np.random.default_rng(8)
    x, y, w = rng.standard_normal((2500, 64)), rng.random((2500, 80)), rng.standard_normal((64, 80)) * 0.1

    def loss(w):
        z = x @ w
        z = z - np.max(z, axis=1, keepdims=True)
        return -(y * (z - np.log(np.sum(np.exp(z), axis=1, keepdims=True)))).sum()

    for f in (af.value_and_grad(loss), lambda w: (loss(w), np.tanh(x @ w) * 2.0 - y)):
        compiled = check(f, w)
        names, _ = block_of(compiled)
        assert names[0] == "product"
        assert names.count("loops") == 1


def test_blocks_whose_products_are_loops_run_on_threads(monkeypatch):
    """With the bits of one thread; the library's products have threads of their own."""
    rng = np.random.default_rng(8)
    x, w = rng.standard_normal((2500, 64)), rng.standard_normal((64, 80)) * 0.1
    step = af.value_and_grad(lambda w: np.exp(np.tanh(x @ w) * 2.0 - 1.0).sum())
    found = []
    for threads, wide in ((1, True), (2, True), (2, False)):
        monkeypatch.setattr(tiles, "count_threads", lambda threads=threads: threads)
        monkeypatch.setattr(products, "has_wide_registers", lambda wide=wide: wide)
        compiled = check(step, w)
        found.append(compiled(w))
        assert ("product" in block_of(compiled)[0]) == (not wide)
        (phase,) = [v.function for v in compiled.latest.program.order() if isinstance(v.function, tiles.Phase)]
        assert phase.has_products == (not wide)
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][0] == found[1][0]


def test_a_reshape_that_names_its_order_cuts_no_program(everything_in_loops):
    """The gradient of a reshape says order="C": between two loops it is a copy in the same function."""
    x = np.random.default_rng(3).standard_normal((4, 6, 5))
    step = af.grad(lambda x: (np.swapaxes(np.tanh(x), 0, 1).reshape(6, 20) * np.arange(20.0)).sum() ** 2)
    for f in (step, lambda x: np.reshape(np.swapaxes(x * 2.0, 0, 1), (20, 6), order="C") + 1.0):
        assert left_to_numpy(check(f, x)) == []


def test_large_products_and_other_functions_stay_numpys(narrow_registers):
    """Between loops: nothing is refused that NumPy's engine takes."""
    x = np.random.default_rng(2).standard_normal((60, 60))

    def f(x):
        y = np.tanh(x * 2.0 + 1.0) @ x
        y = np.linalg.solve(np.exp(-y * y) + 60 * np.eye(60), y * 0.5 + x)
        return np.cumsum(np.sin(y) * 2.0 - 1.0, axis=0)[1:] * 3.0 + np.arctan(y * 2.0 * x)[1:]

    compiled = check(f, x, rtol=1e-12)
    assert {"product", "solve", "cumsum"} <= {*left_to_numpy(compiled)}
    assert len(natives(compiled)) >= 3
    check(lambda x: np.sort(np.abs(x * 2.0) + 1.0)[0] * (x * 1j).imag, x)
    check(lambda x: (x * 3).astype(int) // 2 + (x > 0), x)


def test_gradients_and_second_derivatives():
    def f(w, x):
        h = np.maximum(x @ w, 0.0)
        z = h - np.max(h, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[:, 0])

    rng = np.random.default_rng(3)
    w, x = rng.standard_normal((4, 5)), rng.standard_normal((20, 4))
    compiled = check(af.grad(f), w, x)
    assert not left_to_numpy(compiled)  # the rule of max looks at no numbers: mask and count
    check(lambda w, x: af.hvp(lambda w: f(w, x), w, w * w), w, x)


def test_equal_loops_are_one_function(everything_in_loops):
    def f(x, w):
        state = x[0] * 0.0
        for t in range(20):
            state = np.tanh(x[t] @ w + state @ w)
        return np.sum(state)

    rng = np.random.default_rng(4)
    compiled = check(f, rng.standard_normal((20, 3, 5)), rng.standard_normal((5, 5)))
    calls, kernels = [sum(counts) for counts in zip(*[
        (len(n.schedule.calls), len(n.schedule.kernels)) for n in natives(compiled)], strict=True)]  # fmt: skip
    assert calls > 40
    assert kernels < 12


def test_long_programs_are_cut_into_pieces():
    """Of numbers and of small arrays: the time of making machine code grows as the program does."""

    def f(x):
        for k in range(150):
            x = np.tanh(x * 0.9 + k % 3) - x * 0.5
        return x, np.sum(x)

    for x in (np.array(0.3), np.array([0.3, -0.2, 0.1]), np.linspace(-1.0, 1.0, 9)):
        compiled = check(f, x)
        (native,) = natives(compiled)
        assert len(native.schedule.calls) >= 5


# -- what may not go wrong --------------------------------------------------------------------------------------------


def test_aliased_and_unaligned_arguments_and_new_results():
    f = lambda x, y: (x * y + 1.0, np.tanh(x + y) * 2.0)  # noqa: E731
    check(f, X, X)
    check(f, X[:-1], X[1:])
    odd = np.frombuffer(bytearray(8 * 30 + 1), np.uint8)[1:].view(np.float64)
    odd[:] = np.arange(30)
    check(f, odd, odd[::-1])
    compiled = af.compile(f, engine="llvm")
    first = compiled(X, X)
    kept = [a.copy() for a in first]
    second = compiled(X + 1.0, X)
    assert not any(np.shares_memory(a, b) for a in (*first, X) for b in second)
    check_same(first, kept)
    read_only = X.copy()
    read_only.flags.writeable = False
    check(f, read_only, read_only)


def test_arrays_from_outside_and_their_changes():
    outside = np.ones(5)
    compiled = af.compile(lambda x: (x + outside) * 2.0 - np.tanh(x), engine="llvm")
    for outside[:] in (1.0, 3.0):
        np.testing.assert_array_equal(compiled(np.zeros(5)), 2.0 * outside)


def test_two_threads_at_once():
    """Each has memory of its own for what passes from loop to loop; large stretches run without Python's lock."""
    compiled = af.compile(lambda x: np.sum((y := np.tanh(np.exp(x))) * np.sum(y * y) + y), engine="llvm")
    inputs = [np.random.default_rng(k).standard_normal(30_000) for k in range(2)]
    expected = [compiled(x) for x in inputs]

    def work(x, value):
        return all([compiled(x) == value for _ in range(100)])

    assert all(in_threads(*[partial(work, *pair) for pair in zip(inputs * 2, expected * 2, strict=True)]))


REPORTS = {
    "divide": lambda x: 1.0 / x + x * 2.0, "log": lambda x: np.log(x) * 2.0 + x, "root": lambda x: np.sqrt(x) + 1.0 - x,
    "overflow": lambda x: np.exp(x * 1e3) * 2.0 - 1.0, "overflow of a product": lambda x: (x * 1e200) * (x * 1e200),
    "hidden": lambda x: 3.0 / ((x * 1e200) * (x * 1e200)),
    "infinite angle": lambda x: np.sin(x / 0.0) * 2.0 + np.cos(x),
    "underflow": lambda x: np.exp(x * -1e3) * 1e-300 + 1.0, "nothing": lambda x: np.tanh(x) * 2.0 + np.sin(x),
}  # fmt: skip


@pytest.mark.parametrize("f", REPORTS.values(), ids=REPORTS)
def test_what_numpy_reports_is_reported(f):
    """np.errstate of the caller holds: the flags of the processor say what has happened."""
    for make in (np.array, lambda x: np.full(21, x)):
        compiled = af.compile(f, engine="llvm")
        with np.errstate(all="ignore"):
            compiled(make(1.0))
        for kind in ("divide", "over", "under", "invalid"):
            for number in (1.0, 0.0, -1.0, 0.5, np.nan, 2.0, 1e5):
                with np.errstate(all="ignore", **{kind: "raise"}):
                    outcomes = []
                    for g in (f, compiled):
                        try:
                            g(make(number))
                            outcomes.append(None)
                        except FloatingPointError as error:
                            outcomes.append(str(error))
                assert outcomes[0] == outcomes[1], (kind, number)


def test_silent_calls_run_no_eager_code():
    calls = []
    note = unseen_append(calls)

    def f(x):
        note(1)
        return np.exp(-(np.tanh(x) ** 2)) / (np.abs(x) + 1.0) + np.log(x + 20.0) * np.sin(x)

    compiled = af.compile(f, engine="llvm", verify=False)
    for x in (X, X * 3.0, X * 0.0):
        compiled(x)
    assert len(calls) == 1


def test_errors_of_calls_between_loops_are_numpys():
    compiled = af.compile(lambda x: np.linalg.inv(x * 2.0 + 0.0) * 3.0 - 1.0, engine="llvm")
    compiled(np.eye(3))
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            compiled(np.zeros((3, 3)))
    np.testing.assert_array_equal(compiled(np.eye(3)), np.eye(3) * 1.5 - 1.0)


def test_an_interrupt_loses_memory_and_nothing_else(monkeypatch):
    """Ctrl-C between a stretch's loops and its end: its memory is not used again, and the next call is right."""
    compiled = af.compile(lambda x: np.sum(np.tanh(x * 2.0) - x), engine="llvm")
    expected = compiled(X)
    (native,) = natives(compiled)
    function = native.function

    def interrupted(*args):
        function(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(native, "function", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(X)
    monkeypatch.setattr(native, "function", function)
    assert not native.free
    assert compiled(X) == expected


# -- the choice -------------------------------------------------------------------------------------------------------


def test_programs_of_numbers():
    def f(x, y):
        for _ in range(30):
            x, y = np.log(1.0 + np.exp(x)) * y, np.tanh(x + y) - 0.25 * x
        return x + y

    calls = [(np.array(x), np.array(1.5)) for x in (0.5, -0.25)]
    compiled = check_calls(af.value_and_grad(f, (0, 1)), *calls, rtol=1e-12, engine="llvm")
    assert not left_to_numpy(compiled)
    assert type(compiled.latest.free[-1]) is not Slots


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "cos"])
def test_own_functions_everywhere(name):
    """Numbers and single calls get the bits of vectors: those of our polynomials, whatever is installed."""
    function = getattr(np, name)
    numbers = np.random.default_rng(5).uniform(0.01, 30.0, 200)
    vectors = af.compile(lambda x: (function(x), x + 2.0, x * 3.0), engine="llvm")(numbers)[0]
    alone = af.compile(function, engine="llvm", own_functions=True)
    np.testing.assert_array_equal(alone(numbers), vectors)
    np.testing.assert_array_equal([alone(x) for x in numbers], vectors)
    (native,) = natives(alone)  # of the numbers
    assert f"call double @{name}.1(" in str(native.schedule.texts[0])
    assert alone.how["own_functions"]


def test_own_functions_need_fma(monkeypatch):
    monkeypatch.setattr(engines, "has_fma", lambda: False)
    with pytest.raises(RuntimeError, match="multiplies and adds in one"):
        af.compile(np.exp, engine="llvm", own_functions=True)


def test_short_stretches_are_left_to_numpy():
    compiled = af.compile(lambda x: x * 2.0, engine="llvm")
    compiled(X)
    assert not natives(compiled)


def test_few_loops_wait_for_those_that_read_them():
    """What could be done before a call of NumPy's, but is too little for a stretch, is done in the one after it."""

    def f(x, y):
        twice, total = y * -2.0, np.sum(y, axis=1)
        z = np.sort(x, axis=0)
        return np.tanh(z) * twice + total[:, None], np.exp(z), np.cumsum(total)

    compiled = check(f, X, X + 1.0)
    (native,) = natives(compiled)
    assert "multiply" in [v.name for v in native.members[:2]]
    assert left_to_numpy(compiled) == ["add.reduce", "sort", "cumsum"]  # the sum is wanted by a call of NumPy's as well


def test_the_default_is_numpy_and_auto_takes_what_is_there():
    for engine, found in (("numpy", 0), ("llvm", 1), ("auto", 1)):
        compiled = af.compile(lambda x: np.tanh(x * 2.0) + 1.0, engine=engine)
        compiled(X)
        assert len(natives(compiled)) == found
    assert af.compile(np.tanh).how["engine"] == "numpy"


def test_other_layouts_of_objects_are_refused(monkeypatch):
    monkeypatch.setattr(engines, "id", lambda x: 0, raising=False)
    monkeypatch.setattr(engines.sys, "implementation", type("Other", (), {"name": "pypy"}))
    with pytest.raises(RuntimeError, match="needs CPython"):
        engines.check_layout()


def test_a_plan_shows_its_loops_and_says_what_stayed_numpys_and_why(narrow_registers):
    compiled = af.compile(lambda x: np.cumsum(np.tanh(x * 2.0) - x, axis=0) @ x.T.astype(complex), engine="llvm")
    compiled(X)
    text = str(compiled.plan())
    assert "loops of 1:\n    1 × multiply tanh subtract  (13, 11)" in text
    assert "is NumPy's: no loop has it" in text
    assert "is NumPy's: computes in complex128" in text
    big = np.ones((60, 60))
    compiled = af.compile(lambda x: np.tanh(x @ x * 2.0 + 1.0), engine="llvm")
    compiled(big)
    assert "1 is NumPy's: a large product" in str(compiled.plan())
