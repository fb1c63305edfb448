"""The memory lens: its bytes are those that Python's allocator sees, by line."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autoflow as af
from autoflow import nn

N = 200_000
DATA = np.random.default_rng(0).normal(size=(2000, 50))  # there without the graph, and so not counted


def loop(x: Any) -> Any:
    h = x
    for _ in range(5):
        h = np.sin(h) * 0.9
    return np.sum(h)


def network_of_data(x: Any) -> Any:
    h = np.tanh(DATA @ x[:5000].reshape(50, 100))
    return np.mean(np.maximum(h @ x[5000:15_000].reshape(100, 100), 0.0) ** 2)


def written(x: Any) -> Any:
    y = af.zeros(N)
    y[: N // 2] = np.exp(x[: N // 2])
    y[N // 2 :] = x[N // 2 :] ** 2
    return np.sum(y * y)


def attention(x: Any) -> Any:
    q = x[:40_000].reshape(200, 200)
    return np.sum(nn.softmax(q @ q.T / 14.0) @ q)


def normal(x: Any) -> Any:
    h = x.reshape(400, 500)
    m, v = np.mean(h, axis=1, keepdims=True), np.var(h, axis=1, keepdims=True)
    return np.sum(((h - m) / np.sqrt(v + 1e-5)) ** 3)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{f.__name__: f for f in (loop, network_of_data, written, attention, normal)},
    "elementwise": lambda x: np.sum(np.exp(x * 2.0) * np.tanh(x)),
    "matrices": lambda x: np.sum(np.maximum(x.reshape(400, 500) @ np.ones((500, 300)), 0.5) ** 2),
    "views": lambda x: np.sum(x[1:] * x[:-1]) + np.mean(np.sin(x.reshape(2, -1).T)),
    "classes": lambda x: nn.cross_entropy(DATA @ x[:500].reshape(50, 10), np.arange(2000) % 10),
    "largest": lambda x: np.sum(np.max(x.reshape(400, 500), axis=1) ** 2) + np.sum(np.sort(x) * np.arange(float(N))),
    "noise": lambda x: np.sum(nn.dropout(x, 0.5, rng=np.random.default_rng(0)) * x),
    "single precision": lambda x: np.sum(np.exp(x.astype(np.float32)) * 2.0),
    "forgotten": lambda x: np.sum(af.checkpoint(lambda v: np.sin(np.exp(v)) * 2.0)(x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_are_those_of_the_allocator(name: str) -> None:
    f, x = PROGRAMS[name], af.Variable(np.linspace(0.1, 1.0, N))
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
    assert sum(v.kept for v in found.graph(fold=False).nodes) == found.kept


def block(x: Any) -> Any:
    return np.sin(np.exp(x)) * 2.0


def test_lines_rows_and_checkpoints() -> None:
    x = af.Variable(np.ones(10_000), name="x")
    found = np.sum(block(x)).summary(memory=True)
    assert found.lines[0].line == f"line {block.__code__.co_firstlineno + 1}"
    assert found.lines[0].rows == "exp"
    assert found.savings == found.boxes == {"block(x)": 80_000}
    assert "80,008 bytes kept" in str(found)
    assert "a checkpoint of block(x) saves 80,000" in repr(found)


def test_each_card_and_each_row_of_the_table_says_what_it_keeps() -> None:
    found = np.sum(block(af.Variable(np.ones(10_000), name="x"))).summary(memory=True)
    picture = found.graph()
    table = [line.split() for line in picture.table(memory=True).splitlines()]
    place = table[0].index("kept")
    assert table[0][:place] == picture.table().splitlines()[0].split()[:place]
    assert sum(v.kept for v in picture.nodes) == found.kept
    rows = zip(picture.nodes, table[1:], strict=True)
    assert all([f"{v.kept:,}" in row for v, row in rows])
    svg = found.graph(fold=False).to_svg()
    whole = f"{found.kept:,} bytes kept; a backward pass holds at most {found.peak:,}"
    assert [text for text in ("80,000 bytes kept", whole, "saves 80,000") if text not in svg] == []
    assert picture.nodes[-1].notes[-1:] == ("8 bytes kept",)


def test_without_a_history() -> None:
    with pytest.raises(af.errors.LostGradientError, match="keeps nothing: it is made of Constants"):
        af.Constant(1.0).summary(memory=True)


def test_calls_of_one_title_are_added_up() -> None:
    def deeper(h: Any, n: int) -> Any:
        return h if n == 0 else deeper(np.exp(h) * 0.5 * np.sin(h), n - 1)

    h: Any = af.Variable(np.ones(10_000), name="x")
    for _ in range(3):
        h = block(h)
    found = np.sum(h).summary(memory=True)
    once = np.sum(block(af.Variable(np.ones(10_000)))).summary(memory=True)
    assert found.savings["block(h)"] == 3 * once.savings["block(af.Variable(np.ones(10_000)))"] == 240_000
    assert found.lines[0][1:3] == ("np.exp(x)", "exp")
    inner = np.sum(deeper(af.Variable(np.ones(10_000)), 4)).summary(memory=True)
    assert max(inner.boxes.values()) <= inner.kept
