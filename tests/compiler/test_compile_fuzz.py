"""Random programs: compiled as eager, bit for bit."""

import numpy as np
import pytest
from distances import check_hostile, check_program
from programs import make_blocks_small, random_program, random_recurrent, random_scalars
from seeds import make_seed_tests
from support import NIGHTLY

from autoflow.compiler import passes


def check(seed):
    check_program(seed, (random_scalars if seed % 5 == 0 else random_program)(seed), 0.0)


test_programs, test_many_programs = make_seed_tests(check, 150, 4_000, 50, 500)


@pytest.mark.parametrize("first", range(0, 200 if NIGHTLY else 50, 50))
@pytest.mark.slow
def test_joined_sums(first):
    """Here the order of summation changes."""
    for seed in range(first, first + 50):
        check_program(seed, random_recurrent(seed), 1e-13)


@pytest.mark.parametrize("first", range(0, 300 if NIGHTLY else 50, 50))
@pytest.mark.slow
def test_blocks(first, monkeypatch):
    """All programs block by block, in two threads, as if their arrays were large. The same bound."""
    make_blocks_small(monkeypatch)
    for seed in range(first, first + 50):
        check_program(seed, random_program(seed, rows=13), 1e-13)


@pytest.mark.parametrize("first", range(0, 100 if NIGHTLY else 50, 50))
@pytest.mark.slow
def test_computing_again(first, monkeypatch):
    """Whatever can be computed again is; bit for bit. In another layout: another order of summation."""
    monkeypatch.setattr(passes, "SMALL", 0)
    monkeypatch.setattr(passes, "PAUSE", 0.03)
    for seed in range(first, first + 50):
        f, arrays = random_program(seed)
        check_program(seed, (f, [np.array(a, order="F") for a in arrays]), 0.0, checkpointing="balanced")


FEW, MANY = 25, 2_600


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hostile_programs():
    with np.errstate(all="ignore"):
        counts = np.sum([check_hostile(seed, firsts=3, calls=5) for seed in range(FEW)], axis=0)
    assert counts.min() > 25  # neither all are refused nor none


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", range(FEW, MANY, 500))
def test_many_hostile_programs(first):
    with np.errstate(all="ignore"):
        for seed in range(first, min(first + 500, MANY)):
            check_hostile(seed, firsts=3, calls=5)
