"""Random programs by XLA: what eager code gives, but for 1e-12 of the largest entry."""

import numpy as np
import pytest
from programs import random_hostile, random_program, random_recurrent, random_scalars

import autoflow as af
from autoflow.errors import CompileError

pytestmark = pytest.mark.peers
pytest.importorskip("jax")


def results(x):
    """What ``f`` or ``value_and_grad(f)`` returned, as arrays."""
    return [np.asarray(a) for a in ([x[0], *x[1]] if isinstance(x, tuple) else [x])]


def largest(arrays):
    """The largest finite entry of all."""
    return max([float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))) for a in arrays])


def distance(one, other):
    """The largest difference where both are finite; infinities and NaN are at the same places."""
    found = 0.0
    for a, b in zip(one, other, strict=True):
        finite = np.isfinite(a)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        found = max(found, float(np.max(np.abs(a[finite] - b[finite]), initial=0.0)))
    return found


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


def outcome(f, args):
    """What it returns, as a list of arrays; or the class of its error."""
    try:
        return results(f(*args))
    except Exception as error:
        return type(error)


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
                for a, b in zip(expected, ours, strict=True):
                    bound = (1e-11 if a.dtype == np.float64 else 1e-5) * largest([a, *args])
                    np.testing.assert_allclose(b, a, rtol=0, atol=bound, strict=True)
            state.change(rng)
