"""What tests of SciPy's twins share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import make_scipy


def check(call: Callable[[str, Any], Any], x: Any) -> bool:
    """Is ``call(which, x)``, with ``which`` "scipy" or "autoflow.scipy", a gradient or an error? True if a gradient."""
    return bool(make_scipy.outcome(lambda v: call("scipy", v), lambda v: call("autoflow.scipy", v), x) == "gradient")
