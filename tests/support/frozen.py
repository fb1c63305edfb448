"""Results of another library, frozen in ``tests/golden``: compared anew where that library is installed."""

import os
from pathlib import Path
from typing import Any

import numpy as np


def check_frozen(path: Path, results: dict[str, Any], rtol: float = 1e-10, atol: float = 1e-12) -> None:
    """The file holds ``results``. With ``AUTOFLOW_FREEZE=1`` it is written first."""
    if os.environ.get("AUTOFLOW_FREEZE") == "1":
        np.savez_compressed(path, **results)
    with np.load(path) as file:
        assert set(file) == set(results)
        for key, theirs in results.items():
            np.testing.assert_allclose(file[key], theirs, rtol=rtol, atol=atol, err_msg=key)
