"""The memory lens: its bytes are those that Python's allocator sees, by line."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autoflow as af

N = 200_000


def elementwise(x: Any) -> Any:
    return np.sum(np.exp(x * 2.0) * np.tanh(x))


def matrices(x: Any) -> Any:
    h = x.reshape(400, 500) @ np.ones((500, 300))
    return np.sum(np.maximum(h, 0.5) ** 2)


def views(x: Any) -> Any:
    return np.sum(x[1:] * x[:-1]) + np.mean(np.sin(x.reshape(2, -1).T))


def loop(x: Any) -> Any:
    h = x
    for _ in range(5):
        h = np.sin(h) * 0.9
    return np.sum(h)


@pytest.mark.parametrize("f", [elementwise, matrices, views, loop])
def test_bytes_are_those_of_the_allocator(f: Callable[[Any], Any]) -> None:
    x = af.Variable(np.linspace(0.1, 1.0, N))
    f(x)  # what is made once is there
    tracemalloc.start()
    loss = f(x)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    loss.backward()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    found = loss.summary(memory=True)
    assert found.kept == pytest.approx(held, rel=0.02, abs=50_000)
    assert 0.4 * peak - 50_000 <= found.peak - found.kept <= 1.6 * peak + 50_000  # sums send views, products write over
    assert sum(line.kept for line in found.lines) == found.kept


def test_lines_rows_and_checkpoints() -> None:
    def block(x: Any) -> Any:
        return np.sin(np.exp(x)) * 2.0

    x = af.Variable(np.ones(10_000), name="x")
    found = np.sum(block(x)).summary(memory=True)
    assert found.lines[0].line == f"line {block.__code__.co_firstlineno + 1}"
    assert found.lines[0].rows == "exp"
    assert found.savings == {"block(x)": 80_000}
    assert "80,008 bytes kept" in str(found)
    assert found.boxes == {"block(x)": 80_000}
    assert "a checkpoint of block(x) saves 80,000" in repr(found)


def test_each_card_and_each_row_of_the_table_says_what_it_keeps() -> None:
    def block(x: Any) -> Any:
        return np.sin(np.exp(x)) * 2.0

    found = np.sum(block(af.Variable(np.ones(10_000), name="x"))).summary(memory=True)
    picture = found.graph()
    table = [line.split() for line in picture.table(memory=True).splitlines()]
    place = table[0].index("kept")
    assert table[0][:place] == picture.table().splitlines()[0].split()[:place]
    assert sum(v.kept for v in picture.nodes) == found.kept
    rows = zip(picture.nodes, table[1:], strict=True)
    assert all([f"{v.kept:,}" in row for v, row in rows])
    svg = found.graph(fold=False).to_svg()
    assert "80,000 bytes kept" in svg
    assert f"{found.kept:,} bytes kept; a backward pass holds at most {found.peak:,}" in svg
    assert "saves 80,000" in svg
    assert picture.nodes[-1].notes[-1:] == ("8 bytes kept",)


def test_without_a_history() -> None:
    with pytest.raises(af.errors.LostGradientError, match="keeps nothing: it is made of Constants"):
        af.Constant(1.0).summary(memory=True)
