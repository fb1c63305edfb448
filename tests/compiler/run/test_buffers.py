"""Where results are written: buffers that are shared, new arrays, the order of memory."""

import tracemalloc

import numpy as np
import pytest
from compiled import check_calls, check_same
from programs import plan_of

import autoflow as af

X, Y = np.array([[0.5, -1.0], [2.0, 3.0]]), np.array([[1.0, -2.0], [0.0, 4.0]])


def test_buffers_are_shared_and_written_in_place():
    compiled = af.compile(lambda x: np.exp(np.tanh(x * 2.0) + 1.0).sum())
    compiled(np.ones((30, 30)))
    assert [b.nbytes for b in plan_of(compiled).buffers] == [7200]


@pytest.mark.parametrize("f", [
    lambda x: x.sum(), lambda x: (x.sum(), x.sum()), lambda x: (x.sum(), x.sum() * 2.0),
    lambda x: (np.max(x), x.sum(axis=0), x.sum(axis=1, keepdims=True), x.sum(keepdims=True)),
    lambda x: (x.sum() * 3.0, np.prod(x[0])),
])  # fmt: skip
def test_numbers_are_returned_as_new_arrays(f):
    compiled = af.compile(f)
    compiled(X)
    first, second = [af.pytree.tree_leaves(compiled(x)) for x in (X, Y)]
    check_same([first, second], [f(X), f(Y)], strict=False)
    assert all([type(z) is np.ndarray and z.flags.writeable for z in (*first, *second)])
    everything = [*first, *second]
    assert not any([np.shares_memory(a, b) for k, a in enumerate(everything) for b in everything[:k]])


def test_sums_add_in_the_order_of_memory():
    """An array in Fortran order is summed in that order, and so is what is computed from it."""
    x = np.asfortranarray(np.random.default_rng(0).standard_normal((57, 83)) * 1e3)
    check_calls(lambda x: np.tanh(x * 1e-3).sum() + np.exp(x.T * 1e-3).sum(), (x,))


def test_arguments_that_are_read_often():
    def f(w):
        h = w
        for _ in range(30):
            h = np.tanh(h @ w)
        return h

    w = np.random.default_rng(0).standard_normal((8, 8))
    check_calls(f, *[(w + k,) for k in range(3)])


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


def test_products_of_stacks_are_written_into_buffers():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((4, 5, 3)), rng.standard_normal((3, 3))

    def f(x, w):
        h = np.tanh(x @ w) @ w
        return (h @ h.mT).sum()

    c = check_calls(af.value_and_grad(f, (0, 1)), *[(x + k, w) for k in range(3)])
    stacks = [row for row in c.plan().rows if row[1] == "matmul"]
    assert len(stacks) >= 4
    assert all(row[-1].startswith(("buffer", "result")) for row in stacks)
