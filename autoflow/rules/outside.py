"""Every NumPy function without a row: composed of others, plain result, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np

PLAIN: set[Any] = {np.equal, np.not_equal, np.greater, np.less, np.shape, np.ndim, np.size, np.argmax, np.may_share_memory, np.shares_memory}
FRESH: set[Any] = {np.zeros_like, np.ones_like, np.empty_like}  # a Constant to be filled

WRITERS: set[Any] = {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}  # into their first argument


def advice(function: Any) -> str:
    return "use x.value to leave the graph on purpose"
