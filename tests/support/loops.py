"""What tests of machine code share."""

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
