"""Random programs: loops of our own give what eager code gives, but for 1e-13 of the largest entry."""

import numpy as np
import pytest
from distances import any_program, check_hostile, check_program
from programs import make_blocks_small, random_program
from seeds import make_seed_tests

pytest.importorskip("llvmlite")

from autoflow.compiler.llvm import native


@pytest.fixture(autouse=True)
def everything_in_loops(monkeypatch):
    """Also single calls; and little effort of LLVM's for machine code, so that more programs fit into a second."""
    monkeypatch.setattr(native, "FEW", 1)
    monkeypatch.setattr(native, "LEVEL", 0)


def check(seed):
    check_program(seed, any_program(seed), 1e-13, factor=4, engine="llvm")


def check_single_precision(seed):
    """The bound is that of a float with 24 bits."""
    check_program(seed, any_program(seed), 1e-13 * 2**29, dtype=np.float32, factor=4, engine="llvm")


test_programs, test_many_programs = make_seed_tests(check, 40, 2_000, 20, 250)
test_single_precision, test_many_programs_of_single_precision = make_seed_tests(
    check_single_precision, 20, 740, 20, 180
)


@pytest.mark.slow
def test_blocks(monkeypatch):
    """The loops of a block, in two threads."""
    make_blocks_small(monkeypatch)
    for seed in (*range(13), 155, 166):  # of the last two a number is used in two phases
        check_program(seed, random_program(seed, rows=13), 1e-13, engine="llvm")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hostile_programs():
    with np.errstate(all="ignore"):
        counts = np.sum([check_hostile(seed, "llvm") for seed in range(30)], axis=0)
    assert counts.min() > 8  # neither all are refused nor none


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", range(30, 6000, 299))
def test_many_hostile_programs(first):
    with np.errstate(all="ignore"):
        for seed in range(first, min(first + 299, 6000)):
            check_hostile(seed, "llvm")
