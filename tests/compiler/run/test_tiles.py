"""Large arrays block by block, in threads."""

import sys

import numpy as np
import pytest
from compiled import check_same
from programs import plan_of

import autoflow as af
from autoflow.compiler.run import tiles
from autoflow.table import blocks


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
    check_same(found[1:], found[:1] * 2)


@no_browser
def test_errors_in_threads_arrive(large, monkeypatch):
    monkeypatch.setattr(tiles, "count_threads", lambda: 2)
    compiled = af.compile(chain)
    compiled(*large)
    call = next(v for v in plan_of(compiled).program.order() if v.name == "blocks")
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
