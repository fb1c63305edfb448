"""How far the results of a compiled program are from those of eager code, in programs that are drawn by chance."""

import numpy as np
from programs import random_hostile, random_program, random_recurrent, random_scalars

import autoflow as af
from autoflow.errors import CompileError


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
        np.testing.assert_array_equal(np.where(np.isfinite(b), 0, b), np.where(finite, 0, a))
        found = max(found, float(np.max(np.abs(a[finite] - b[finite]), initial=0.0)))
    return found


def outcome(f, args):
    """What it returns, as a list of arrays; or the class of its error."""
    try:
        return results(f(*args))
    except Exception as error:
        return type(error)


def any_program(seed):
    """Of arrays, of numbers, or a recurrent network."""
    return (random_recurrent if seed % 3 == 2 else random_scalars if seed % 5 == 0 else random_program)(seed)


def check_program(seed, program, bound, *, dtype=np.float64, factor=0, **how):
    """Three calls: with the arrays of the recording, with others, and again, which gives the same bits.

    bound : how far results may be from those of eager code, as a part of the largest entry of all results. (Of one
    result alone it would say nothing: where the terms of a sum cancel, its last bits are those of its terms.)
    factor : where the bound is passed, how many times as far as eager code from the truth.
    """
    f, arrays = program
    eager = f if seed % 7 == 0 else af.value_and_grad(f, tuple(range(len(arrays))))
    compiled, found = af.compile(eager, **how), []
    with np.errstate(all="ignore"):
        for inputs in (arrays, [a + 0.3 * np.sin(7 * a) for a in arrays], arrays):
            inputs = [np.asarray(a, dtype) for a in inputs]
            expected, ours = results(eager(*inputs)), results(compiled(*inputs))
            assert [(a.shape, a.dtype) for a in ours] == [(a.shape, a.dtype) for a in expected]
            if (off := distance(expected, ours)) > bound * largest(expected):
                truth = results(eager(*[a.astype(np.longdouble) for a in inputs]))
                assert off <= factor * distance(expected, truth), f"seed {seed}"
            found.append(ours)
    assert distance(found[0], found[2]) == 0, f"seed {seed}"


def accuracy(arrays):
    """Of the narrowest dtype of all."""
    return 1e-5 if any([a.dtype == np.float32 for a in arrays]) else 1e-12


def check_hostile(seed, engine="numpy", firsts=1, calls=4):
    """Shapes from values, layouts, dtypes, aliasing and state outside that changes: right or refused, and right with
    fallback=True. How many calls were right, and how many refused?

    Where large numbers cancel, in a sum or in the slope 1 - tanh², a result of other engines has their rounding, in
    their dtype. firsts : how often it is recorded, with other arguments.
    """
    f, arguments, state, rng, steps = random_hostile(seed)
    eager = (lambda f: f, af.grad, af.value_and_grad)[seed % 3](f)
    counts = [0, 0]
    for _ in range(firsts):
        strict, loose = [af.compile(eager, engine=engine, fallback=fallback) for fallback in (False, True)]
        for _ in range(calls):
            args = arguments()
            expected = outcome(eager, args)
            for compiled in (strict, loose) if engine == "numpy" else (strict,):
                ours = outcome(compiled, args)
                if ours is CompileError and compiled is strict:
                    counts[1] += 1
                elif isinstance(expected, type):
                    assert ours is expected, f"seed {seed}"
                else:
                    assert not isinstance(ours, type), f"seed {seed}: {ours}"
                    counts[0] += compiled is strict
                    for a, b in zip(expected, ours, strict=True):
                        bound = accuracy([a]) * largest([a])
                        if engine != "numpy" and distance([a], [b]) > bound:
                            bound = accuracy(steps(*args)) * max(largest(steps(*args)), 1.0)
                        np.testing.assert_allclose(a, b, rtol=0, atol=bound, err_msg=f"seed {seed}", strict=True)
            state.change(rng)
    return counts
