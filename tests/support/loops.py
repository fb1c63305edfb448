"""What tests of machine code share."""

import numpy as np

import autoflow as af
from autoflow.compiler.llvm.native import Native


def natives(compiled):
    """The stretches of the latest program."""
    return [v.function for v in compiled.latest.program.order() if isinstance(v.function, Native)]


def left_to_numpy(compiled):
    """The names of the calls that are no loops."""
    order = compiled.latest.program.order()
    return [v.name for v in order if v.args and v.kind not in ("item", "view") and not isinstance(v.function, Native)]


def check(f, *args, rtol=1e-13, signs=True):
    """Compiled twice as eager code; the compiled function."""
    compiled = af.compile(f, engine="llvm")
    with np.errstate(all="ignore"):
        for _ in range(2):
            expected, ours = f(*args), compiled(*args)
            for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (expected, ours)], strict=True):
                a = np.asarray(a)
                scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a)) if a.dtype.kind == "f" else 0
                np.testing.assert_allclose(b, a, rtol=0, atol=rtol * scale, strict=True)
                zeros = (a == 0) & signs & (a.dtype.kind == "f")
                np.testing.assert_array_equal(np.signbit(a[zeros]), np.signbit(b[zeros]))
    return compiled
