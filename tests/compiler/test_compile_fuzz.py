"""Random programs: compiled as eager, bit for bit."""

import numpy as np
import pytest
from programs import make_blocks_small, random_hostile, random_program, random_recurrent, random_scalars
from seeds import make_seed_tests
from support import NIGHTLY

import autoflow as af
from autoflow.compiler import passes
from autoflow.errors import CompileError

CHUNK = 50
FEW, MANY = 150, 4_000


def results(x):
    """What ``f`` or ``value_and_grad(f)`` returned, as a list."""
    return [x[0], *x[1]] if isinstance(x, tuple) else [x]


def check(seed):
    """Three calls: with the arrays of the recording, with others, and again."""
    f, arrays = (random_scalars if seed % 5 == 0 else random_program)(seed)
    eager = f if seed % 7 == 0 else af.value_and_grad(f, tuple(range(len(arrays))))
    compiled = af.compile(eager)
    with np.errstate(all="ignore"):
        for inputs in (arrays, [a + 0.3 * np.sin(7 * a) for a in arrays], arrays):
            for expected, ours in zip(results(eager(*inputs)), results(compiled(*inputs)), strict=True):
                np.testing.assert_array_equal(ours, np.asarray(expected), f"seed {seed}", strict=True)


test_programs, test_many_programs = make_seed_tests(check, FEW, MANY, CHUNK, 500)


@pytest.mark.parametrize("first", range(0, 200 if NIGHTLY else 50, 50))
@pytest.mark.slow
def test_joined_sums(first):
    """Here the order of summation changes: equal but for 1e-13 of the largest entry of all results. (Of one result
    alone it would say nothing: where the terms of a sum cancel, its last bits are those of its terms.)"""
    for seed in range(first, first + 50):
        f, arrays = random_recurrent(seed)
        eager = af.value_and_grad(f, tuple(range(len(arrays))))
        compiled = af.compile(eager)
        for inputs in (arrays, [a + 0.1 * np.sin(7 * a) for a in arrays]):
            expected, ours = results(eager(*inputs)), results(compiled(*inputs))
            scale = max([np.max(np.abs(a)) for a in expected])
            for a, b in zip(expected, ours, strict=True):
                assert np.max(np.abs(a - b)) <= 1e-13 * scale, f"seed {seed}"
                assert a.shape == b.shape


@pytest.mark.parametrize("first", range(0, 300 if NIGHTLY else 50, 50))
@pytest.mark.slow
def test_blocks(first, monkeypatch):
    """All programs block by block, in two threads, as if their arrays were large. The same bound."""
    make_blocks_small(monkeypatch)
    for seed in range(first, first + 50):
        f, arrays = random_program(seed, rows=13)
        eager = af.value_and_grad(f, tuple(range(len(arrays))))
        compiled = af.compile(eager)
        with np.errstate(all="ignore"):
            for inputs in (arrays, [a + 0.3 * np.sin(7 * a) for a in arrays]):
                expected, ours = results(eager(*inputs)), results(compiled(*inputs))
                if not all([np.isfinite(a).all() for a in expected]):
                    continue
                scale = max([np.max(np.abs(a)) for a in expected])
                for a, b in zip(expected, ours, strict=True):
                    assert np.max(np.abs(a - b)) <= 1e-13 * scale, f"seed {seed}"
                    assert a.shape == b.shape
                for a, b in zip(ours, results(compiled(*inputs)), strict=True):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("first", range(0, 100 if NIGHTLY else 50, 50))
@pytest.mark.slow
def test_computing_again(first, monkeypatch):
    """Whatever can be computed again is; bit for bit."""
    monkeypatch.setattr(passes, "SMALL", 0)
    monkeypatch.setattr(passes, "PAUSE", 0.03)
    for seed in range(first, first + 50):
        f, arrays = random_program(seed)
        arrays = [np.array(a, order="F") for a in arrays]  # another layout, another order of summation
        eager = af.value_and_grad(f, tuple(range(len(arrays))))
        compiled = af.compile(eager, checkpointing="balanced")
        with np.errstate(all="ignore"):
            for inputs in (arrays, [a + 0.3 * np.sin(7 * a) for a in arrays]):
                for expected, ours in zip(results(eager(*inputs)), results(compiled(*inputs)), strict=True):
                    np.testing.assert_array_equal(ours, np.asarray(expected), f"seed {seed}", strict=True)


HOSTILE_FEW, HOSTILE_MANY = 25, 2_600
TRANSFORMS = (lambda f: f, af.grad, af.value_and_grad)


def outcome(f, args):
    """What it returns, as a list of arrays; or the class of its error."""
    try:
        return [np.asarray(getattr(x, "value", x)) for x in results(f(*args))]
    except Exception as error:
        return type(error)


def check_hostile(seed):
    """Shapes from values, layouts, dtypes, aliasing and state outside that changes between the calls, from three first
    calls: right or CompileError, and with fallback=True right. How many calls were right, and how many refused?"""
    f, arguments, state, rng, _ = random_hostile(seed)
    eager = TRANSFORMS[seed % 3](f)
    counts = [0, 0]
    for _ in range(3):
        strict, loose = af.compile(eager), af.compile(eager, fallback=True)
        for _ in range(5):
            args = arguments()
            expected = outcome(eager, args)
            for compiled in (strict, loose):
                ours = outcome(compiled, args)
                if ours is CompileError and compiled is strict:
                    counts[1] += 1
                elif isinstance(expected, type):
                    assert ours is expected, f"seed {seed}"
                else:
                    assert not isinstance(ours, type), f"seed {seed}: {ours}"
                    counts[0] += compiled is strict
                    for a, b in zip(expected, ours, strict=True):
                        assert a.dtype == b.dtype, f"seed {seed}"
                        scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
                        bound = 1e-12 if a.dtype == np.float64 else 1e-5
                        np.testing.assert_allclose(a, b, rtol=0, atol=bound * scale, err_msg=f"seed {seed}")
            state.change(rng)
    return counts


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", range(0, HOSTILE_FEW, 25))
def test_hostile_programs(first):
    with np.errstate(all="ignore"):
        counts = np.sum([check_hostile(seed) for seed in range(first, first + 25)], axis=0)
    assert counts.min() > 25  # neither all are refused nor none


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", range(HOSTILE_FEW, HOSTILE_MANY, 500))
def test_many_hostile_programs(first):
    with np.errstate(all="ignore"):
        for seed in range(first, min(first + 500, HOSTILE_MANY)):
            check_hostile(seed)
