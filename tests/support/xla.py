"""What tests of the engine "jax" share."""

import numpy as np
from compiled import check_near

import autoflow as af

X = np.random.default_rng(0).standard_normal((5, 4))


def compiled(f, verify=False, **options):
    """Without a comparison at the second call, which would raise eager code's errors itself."""
    return af.compile(f, engine="jax", verify=verify, **options)


def check(f, *args, bound=1e-13):
    """Compiled twice as eager code; the compiled function."""
    ours = compiled(f)
    ours.run_eagerly = None  # there is no reason for it
    check_near(ours, f, args, bound, signs=False)
    return ours


def left(ours):
    """What NumPy computes in the latest program, by name."""
    return {v.name: why for v, why in ours.latest.free[-1].lowering.left.items()}
