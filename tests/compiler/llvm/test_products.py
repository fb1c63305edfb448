"""Products that are written out as loops, and sums of products of windows."""

import numpy as np
import pytest
from compiled import check_near
from loops import check, left_to_numpy, natives

import autoflow as af
from autoflow.compiler.llvm import engine as engines, products

pytestmark = pytest.mark.skipif(not engines.is_there(), reason="llvmlite is not installed")


SIZES = [(1, 1, 1), (5, 3, 2), (32, 16, 32), (7, 5, 33), (4, 31, 1), (1, 8, 19), (9, 1, 9), (19, 4, 45), (42, 43, 44)]


@pytest.mark.parametrize("shape", SIZES)
def test_small_products_are_written_out(shape, everything_in_loops, monkeypatch):
    """With the same bits for blocks of any size; with wide registers medium ones as well."""
    n, m, p = shape
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((n, m)), rng.standard_normal((m, p))
    for dtype, rtol in ((np.float64, 1e-13), (np.float32, 1e-5)):
        a, b = x.astype(dtype), y.astype(dtype)
        found = []
        for wide in (False, True):
            monkeypatch.setattr(products, "has_wide_registers", lambda wide=wide: wide)
            compiled = check(lambda x, y: np.tanh(np.matmul(x, y)) + 1, a, b, rtol=rtol)
            assert left_to_numpy(compiled) == (["product"] if n * m * p > products.MOST and not wide else [])
            found.append(compiled(a, b))
        np.testing.assert_allclose(*found, rtol=0, atol=rtol) if n > 40 else np.testing.assert_array_equal(*found)
        for pair in ((a.T.copy().T, b), (a, np.asfortranarray(b)), (a[::-1], b[:, ::-1])):
            check(lambda x, y: x @ y, *pair, rtol=rtol)
        check(lambda x, y: x.T @ (x @ y) + (y @ y.T) @ y, a, b, rtol=rtol)


@pytest.mark.parametrize("shape", [(9000, 8), (30_000, 3), (30, 1000, 3), (1100, 2, 5), (5, 70, 3)])
def test_sums_of_many_short_rows_are_as_exact_as_numpys(shape, everything_in_loops):
    x, w = np.full(shape, 0.1), np.full(shape[-1], 0.13)
    check(lambda x, w: ((x * w + 0.01).sum(), np.exp(x * w).max(), (x * w).sum(axis=-1)), x, w)
    check(lambda x, w: ((x * w + 0.01).sum(), (x - w).min()), x, w)
    check(lambda x, w: (x * w).sum(axis=0), x, w)


@pytest.mark.parametrize("n", [1, 8])
def test_long_products_are_as_exact_as_the_librarys(n, everything_in_loops):
    """Of equal numbers all rounding errors have one sign. Products, and the gradients of windows of large images."""
    for k in (4096, 60_000):
        check(lambda x, y: np.matmul(x, y) + 1.0, np.full((n, k), 0.1), np.full((k, n), 0.13))
    x, y = np.full((12, n, 4000), 0.1), np.full((12, 4000, n), 0.13)
    check(lambda x, y: sum(map(np.matmul, x, y)) + 1.0, x, y)
    image, w = np.full((2, 200, 200, 1), 0.1), np.full((2, 1, n), 0.3)
    check(af.grad(lambda w: (np.matmul(image[:, 1:], w[0]) + np.matmul(image[:, :-1], w[1])).sum() * 0.7), w)


def windowed(rng):
    """A random sum of products of windows, and its arguments: axes in front, steps backwards, factors used twice."""
    lead, side = rng.integers(1, 5, rng.integers(0, 3)), rng.integers(4, 13, 2)
    n, m, terms = rng.integers(1, 14, 3)
    x = rng.standard_normal((*lead, *side, n))
    terms = min(terms, 9)
    rows, columns = rng.choice([1, 1, 2, -1], 2)
    w = rng.standard_normal((terms, len(range(n)[::columns]), m))
    a, b = side // 2
    starts = [(rng.integers(side[0] - a + 1), rng.integers(side[1] - b + 1)) for _ in range(terms)]
    twice = rng.integers(2)

    def f(x, w):
        windows = [x[..., i : i + a, j : j + b : abs(rows), ::columns] for i, j in starts]
        parts = [np.matmul(window, v) for window, v in zip(windows, w, strict=True)]
        total = sum(parts) + (parts[0] if twice else 1.0)
        z = total[..., ::rows] * 2.0 if n % 2 else np.swapaxes(total, -1, -2)
        return np.tanh(z / 10).sum()

    return f, x, w


@pytest.mark.parametrize("seed", range(12))
def test_sums_of_products_of_windows(seed):
    """Values and gradients of random ones; all products are loops, without a copy of a window."""
    rng = np.random.default_rng(seed)
    f, x, w = windowed(rng)
    if seed % 4 == 3:
        x, w = x.astype(np.float32), w.astype(np.float32)
    compiled = af.compile(af.value_and_grad(f, (0, 1)), engine="llvm")
    check_near(compiled, af.value_and_grad(f, (0, 1)), (x, w), 1e-13 if x.dtype == float else 2e-5, signs=False)
    assert not {"matmul", "product", "reshape"} & set(left_to_numpy(compiled))


def test_gradients_of_windows_are_added_up_where_they_lie():
    """No term of a gradient is an array of its own."""
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((2, 9, 9, 3)), rng.standard_normal((4, 3, 5))
    windows = [(slice(None), slice(i, i + 8), slice(j, j + 8)) for i in range(2) for j in range(2)]
    total = lambda x, w: np.tanh(sum([np.matmul(x[i], v) for i, v in zip(windows, w, strict=True)])).sum()  # noqa: E731
    (native,) = natives(check(af.grad(total, (0, 1)), x, w))
    for array in (x, w):
        assert [line.split()[2] for line in native.describe() if line.endswith(f"  {array.shape}")] == ["fill"]


def test_sums_of_products_of_constants():
    """No loop of these reads an array from outside its call."""
    assert natives(check(lambda x: np.ones_like(x) @ np.full_like(x, 2.0), np.arange(12.0).reshape(3, 2, 2)))


def test_sums_of_products_of_several_types():
    x = np.random.default_rng(0).standard_normal((5, 6, 4))
    w = np.random.default_rng(1).standard_normal((4, 3))

    def f(x, w):
        many = np.matmul(x, w) + np.matmul(x[::-1], w) + (x[..., :3] > 0)
        few = np.matmul(x.astype(np.float32), w.astype(np.float32))
        return many + few + few * 2 + np.rint(x[..., 1:]).astype(int)

    check(f, x, w, rtol=1e-6)
    check(lambda x, w: np.matmul(x, w) + np.matmul(x[::-1], w) + np.rint(x[..., 1:]).astype(int), x, w)
