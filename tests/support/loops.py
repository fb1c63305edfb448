"""What tests of machine code share."""

import numpy as np
from compiled import check_near

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
    check_near(compiled, f, args, rtol, signs)
    return compiled


RNG = np.random.default_rng(0)


def positive(n, dtype=float, order="C"):
    """A symmetric matrix with positive eigenvalues."""
    a = RNG.standard_normal((n, n))
    return np.array(a @ a.T + n * np.eye(n), dtype, order=order)


def calls_of(compiled):
    """The names of the calls that the latest program makes."""
    return [row[1] for row in compiled.plan().rows]
