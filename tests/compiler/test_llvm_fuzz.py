"""Random programs: loops of our own give what eager code gives, but for 1e-13 of the largest entry."""

import numpy as np
import pytest
from distances import distance, largest, outcome, results
from programs import make_blocks_small, random_hostile, random_program, random_recurrent, random_scalars
from seeds import make_seed_tests

pytest.importorskip("llvmlite")

import autoflow as af
from autoflow.compiler.llvm import native
from autoflow.errors import CompileError

FEW, MANY, CHUNK = 40, 2_000, 20


@pytest.fixture(autouse=True)
def everything_in_loops(monkeypatch):
    """Also single calls; and little effort of LLVM's for machine code, so that more programs fit into a second."""
    monkeypatch.setattr(native, "FEW", 1)
    monkeypatch.setattr(native, "LEVEL", 0)


def check(seed, dtype=np.float64, bound=1e-13):
    """Three calls. Where the bound is passed, eager code must be as far from the truth, a quarter at least."""
    make = random_recurrent if seed % 3 == 2 else random_scalars if seed % 5 == 0 else random_program
    f, arrays = make(seed)
    eager = f if seed % 7 == 0 else af.value_and_grad(f, tuple(range(len(arrays))))
    compiled = af.compile(eager, engine="llvm")
    with np.errstate(all="ignore"):
        for inputs in (arrays, [a + 0.3 * np.sin(7 * a) for a in arrays], arrays):
            inputs = [np.asarray(a, dtype) for a in inputs]
            expected, ours = results(eager(*inputs)), results(compiled(*inputs))
            assert [(a.shape, a.dtype) for a in ours] == [(a.shape, a.dtype) for a in expected]
            if (found := distance(expected, ours)) > bound * largest(expected):
                truth = results(eager(*[a.astype(np.longdouble) for a in inputs]))
                assert found <= 4 * distance(expected, truth), f"seed {seed}"


test_programs, test_many_programs = make_seed_tests(check, FEW, MANY, CHUNK, 250)


def check_single_precision(seed):
    """The bound is that of a float with 24 bits."""
    check(seed, np.float32, 1e-13 * 2**29)


test_single_precision, test_many_programs_of_single_precision = make_seed_tests(
    check_single_precision, 20, 740, 20, 180
)


@pytest.mark.slow
def test_blocks(monkeypatch):
    """The loops of a block, in two threads; twice the same bits."""
    make_blocks_small(monkeypatch)
    for seed in (*range(13), 155, 166):  # of the last two a number is used in two phases
        f, arrays = random_program(seed, rows=13)
        eager = af.value_and_grad(f, tuple(range(len(arrays))))
        compiled = af.compile(eager, engine="llvm")
        with np.errstate(all="ignore"):
            expected, ours, again = results(eager(*arrays)), results(compiled(*arrays)), results(compiled(*arrays))
            assert distance(expected, ours) <= 1e-13 * largest(expected), f"seed {seed}"
            assert distance(ours, again) == 0, f"seed {seed}"


def accuracy(arrays):
    """Of the narrowest dtype of all."""
    return 1e-5 if any([a.dtype == np.float32 for a in arrays]) else 1e-12


def check_hostile(seed):
    """Shapes from values, layouts, dtypes, aliasing and state outside that changes: right or refused. How many?

    Where large numbers cancel, in a sum or in the slope 1 - tanh², a result has their rounding, in their dtype.
    """
    f, arguments, state, rng, steps = random_hostile(seed)
    eager = (lambda f: f, af.grad, af.value_and_grad)[seed % 3](f)
    compiled, counts = af.compile(eager, engine="llvm"), [0, 0]
    for _ in range(4):
        args = arguments()
        expected, ours = outcome(eager, args), outcome(compiled, args)
        if ours is CompileError:
            counts[1] += 1
        elif isinstance(expected, type):
            assert ours is expected, f"seed {seed}"
        else:
            assert not isinstance(ours, type), f"seed {seed}: {ours}"
            counts[0] += 1
            for a, b in zip(expected, ours, strict=True):
                bound = accuracy([a]) * largest([a])
                if distance([a], [b]) > bound:
                    bound = accuracy(steps(*args)) * max(largest(steps(*args)), 1.0)
                np.testing.assert_allclose(a, b, rtol=0, atol=bound, err_msg=f"seed {seed}", strict=True)
        state.change(rng)
    return counts


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hostile_programs():
    with np.errstate(all="ignore"):
        counts = np.sum([check_hostile(seed) for seed in range(30)], axis=0)
    assert counts.min() > 8  # neither all are refused nor none


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", range(30, 6000, 299))
def test_many_hostile_programs(first):
    with np.errstate(all="ignore"):
        for seed in range(first, min(first + 299, 6000)):
            check_hostile(seed)
