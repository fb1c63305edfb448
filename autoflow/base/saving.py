"""What is saved of a model or an optimiser: a dictionary of plain arrays, checked as a whole before anything is loaded.

Files are npz archives of arrays and nothing else, or, if they are called so, safetensors: reading one runs no code (no
pickle).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .errors import StateError
from .lazy import load_package

Array = Any
SAFETENSORS = ".safetensors"


def check_state(who: str, own: dict[str, Array], given: dict[str, Any]) -> dict[str, Array]:
    """``given`` as arrays, if it has exactly the entries of ``own``, of their shapes and of dtypes that cast to theirs.

    Raises StateError that lists every difference.

    >>> check_state("model", {"w": np.zeros(2)}, {"v": np.ones(2)})
    Traceback (most recent call last):
    autoflow.errors.StateError: this state does not fit model, which is unchanged:
      missing: w
      unexpected: v
    """
    arrays = {name: np.asarray(value) if np.isscalar(value) else value for name, value in given.items()}
    wrong = [f"missing: {name}" for name in own if name not in arrays]
    wrong += [f"unexpected: {name}" for name in arrays if name not in own]
    for name in own.keys() & arrays.keys():
        mine, new = own[name], arrays[name]
        if mine.shape != new.shape:
            wrong.append(f"{name}: expected shape {mine.shape}, got {new.shape}")
        elif not np.can_cast(new.dtype, mine.dtype, "same_kind"):
            wrong.append(f"{name}: expected {mine.dtype}, got {new.dtype}")
    if wrong:
        raise StateError("\n  ".join([f"this state does not fit {who}, which is unchanged:", *sorted(wrong)]))
    return arrays


def save_state(path: str | Path, state: dict[str, Array]) -> Path:
    """Write the arrays to ``path`` (with .npz appended if it has no suffix) and return where they are.

    A path that ends in ``.safetensors`` is written in that format, with the package of this name (ImportError without
    it). Raises StateError for arrays that it cannot hold: complex ones.
    """
    path = _with_suffix(path)
    if path.suffix == SAFETENSORS:
        wrong = [f"{name} ({x.dtype})" for name, x in state.items() if x.dtype.kind not in "fiub"]
        if wrong:
            raise StateError(f"a {SAFETENSORS} file holds real numbers and booleans, not {', '.join(wrong)}: save .npz")
        safetensors().save_file({name: np.asarray(x, order="C") for name, x in state.items()}, path)
        return path
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **state)
    return path


def load_state(path: str | Path) -> dict[str, Array]:
    """The arrays in an npz or safetensors file. Pickled objects are refused."""
    path = _with_suffix(path)
    if path.suffix == SAFETENSORS:
        arrays: dict[str, Array] = safetensors().load_file(path)
        return arrays
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def safetensors() -> Any:
    """The package that reads and writes this format."""
    return load_package(
        "safetensors.numpy",
        f"{SAFETENSORS} files are read and written by the package safetensors, which is not installed: pip install "
        f"safetensors, or save the model as .npz",
    )


def _with_suffix(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix else path.with_suffix(".npz")
