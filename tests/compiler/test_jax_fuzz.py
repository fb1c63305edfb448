"""Random programs by XLA: what eager code gives, but for 1e-12 of the largest entry."""

import numpy as np
import pytest
from distances import distance, largest, outcome, results
from programs import random_hostile, random_program, random_recurrent, random_scalars

import autoflow as af
from autoflow.errors import CompileError

pytestmark = pytest.mark.peers
pytest.importorskip("jax")


@pytest.mark.parametrize("seed", range(60))
def test_programs(seed):
    """Where the bound is passed, eager code must be as far from the truth, a quarter at least."""
    make = random_recurrent if seed % 3 == 2 else random_scalars if seed % 5 == 0 else random_program
    f, arrays = make(seed)
    eager = f if seed % 7 == 0 else af.value_and_grad(f, tuple(range(len(arrays))))
    compiled = af.compile(eager, engine="jax")
    with np.errstate(all="ignore"):
        for inputs in (arrays, [a + 0.3 * np.sin(7 * a) for a in arrays]):
            expected, ours = results(eager(*inputs)), results(compiled(*inputs))
            assert [(a.shape, a.dtype) for a in ours] == [(a.shape, a.dtype) for a in expected]
            if (found := distance(expected, ours)) > 1e-12 * largest(expected):
                truth = results(eager(*[np.asarray(a, np.longdouble) for a in inputs]))
                assert found <= 4 * distance(expected, truth), f"seed {seed}"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(60))
def test_hostile_programs(seed):
    """Shapes from values, layouts, dtypes, aliasing and state outside that changes: right or refused. The bound is one
    of the largest number among arguments and results, since sums cancel."""
    f, arguments, state, rng, _ = random_hostile(seed)
    eager = (lambda f: f, af.grad, af.value_and_grad)[seed % 3](f)
    compiled = af.compile(eager, engine="jax")
    with np.errstate(all="ignore"):
        for _ in range(4):
            args = arguments()
            expected, ours = outcome(eager, args), outcome(compiled, args)
            if ours is CompileError:
                pass
            elif isinstance(expected, type):
                assert ours is expected
            else:
                assert not isinstance(ours, type), ours
                for k, (a, b) in enumerate(zip(expected, ours, strict=True)):
                    is_narrow = any([np.asarray(x).dtype == np.float32 for x in [a, *args]])
                    bound = (1e-5 if is_narrow else 1e-11) * largest([a, *args])
                    if is_narrow and np.max(np.abs(b - a), initial=0) > bound:  # is eager code as far from the truth?
                        truth = outcome(eager, [np.asarray(x, np.float64) for x in args])[k]
                        bound = 4 * np.max(np.abs(a - truth))
                    np.testing.assert_allclose(b, a, rtol=0, atol=bound, strict=True)
            state.change(rng)
