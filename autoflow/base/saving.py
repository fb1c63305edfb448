"""Saving a model or an optimiser: a dictionary of plain arrays, checked as a whole before anything is loaded.

Files are npz archives of arrays and nothing else, or, if they are called so, safetensors: reading one runs no code (no
pickle). A new file is written beside the old one, read again and compared; only then does it take the old one's place.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import numpy as np

from .errors import StateError
from .lazy import load_package
from .types import AnyFunction, Array, ByName

read_array: Callable[..., Array] = np.lib.format.read_array  # older versions of NumPy do not say what it takes
SAFETENSORS = ".safetensors"
CHECKSUM = "autoflow.crc32"  # npz has checksums of its own, safetensors has none: ours is a line of its header


def check_state(who: str, own: dict[str, Array], state: ByName, sizes: Collection[str] = ()) -> dict[str, Array]:
    """``state`` as arrays, if it has exactly the entries of ``own``, of their shapes, with numbers that their dtypes
    can hold. Arrays that are one in ``own`` must be equal. ``sizes`` are entries that must be finite and at least 0.

    Raises StateError that lists every difference.

    >>> check_state("model", {"w": np.zeros(2)}, {"v": np.ones(2)})
    Traceback (most recent call last):
    autoflow.errors.StateError: this state does not fit model, which is unchanged:
      missing: w
      unexpected: v
    """
    wrong = [f"missing: {name}" for name in own if name not in state]
    wrong += [f"unexpected: {name}" for name in state if name not in own]
    arrays: dict[str, Array] = {}
    for name in own.keys() & state.keys():
        mine, new = own[name], state[name]
        new = arrays[name] = np.asarray(new) if np.isscalar(new) or isinstance(new, np.memmap) else new
        foreign = not isinstance(new, np.ndarray) and isinstance(getattr(new, "dtype", None), np.dtype)
        if type(new) is not np.ndarray and not foreign:
            wrong.append(f"{name}: expected a plain array, got {type(new).__name__}")
        elif mine.shape != new.shape:
            wrong.append(f"{name}: expected shape {mine.shape}, got {new.shape}")
        elif not np.can_cast(new.dtype, mine.dtype, "same_kind"):
            wrong.append(f"{name}: expected {mine.dtype}, got {new.dtype}")
        elif not fits(new, mine.dtype):
            wrong.append(f"{name}: expected {mine.dtype}, got numbers that are too large for it")
        elif name in sizes and not ((new >= 0) & (new < np.inf)).all():
            wrong.append(f"{name}: expected finite numbers of at least 0, got {new}")
        elif not getattr(mine.flags, "writeable", True):
            wrong.append(f"{name}: the array to load into is read-only")
    first = {id(x): name for name, x in reversed(own.items())}
    for name, other in [(name, first[id(x)]) for name, x in own.items() if not wrong and first[id(x)] != name]:
        if arrays[name].astype(own[name].dtype).tobytes() != arrays[other].astype(own[name].dtype).tobytes():
            wrong.append(f"{name}: expected the numbers of {other}, which is the same array")
    if wrong:
        raise StateError("\n  ".join([f"this state does not fit {who}, which is unchanged:", *sorted(wrong)]))
    return arrays


def fits(x: Array, dtype: np.dtype) -> bool:
    """Can this dtype hold all numbers of x: none becomes infinite, no integer or text changes?"""
    if np.can_cast(x.dtype, dtype):
        return True
    with np.errstate(all="ignore"):
        cast = x.astype(dtype)
    return bool((np.isfinite(cast) | ~np.isfinite(x) if dtype.kind in "fc" else cast == x).all())


def save_state(path: str | Path, state: dict[str, Array]) -> Path:
    """Write the arrays to ``path`` (with .npz appended if it has no suffix) and return that path.

    A path that ends in ``.safetensors`` is written in that format, with the package of this name (ImportError without
    it). An exception, Ctrl-C or a full disk (OSError) leaves the old file as it was. Raises StateError for arrays and
    names that the format cannot hold, such as objects, and complex numbers in safetensors.
    """
    path = _with_suffix(path)
    wrong = [f"{name} ({x.dtype})" for name, x in state.items() if x.dtype.kind not in "fiub"]
    if wrong and path.suffix == SAFETENSORS:
        raise StateError(f"a {SAFETENSORS} file holds real numbers and booleans, not {', '.join(wrong)}: save .npz")

    def fill(file: BinaryIO) -> None:
        try:
            write_arrays(file, state, path.suffix)
            file.seek(0)
            if checksum(read_arrays(file, path.suffix)) != checksum(state):
                raise ValueError("the names or numbers in the file are not those that were written")
        except (OSError, MemoryError, ImportError):
            raise
        except Exception as error:
            raise StateError(f"this state cannot be saved in {path}, which is unchanged: {error}") from error

    replace_file(path, fill)
    return path


def replace_file(path: Path, fill: Callable[[BinaryIO], None]) -> None:
    """Let ``fill`` write a new file beside ``path``, and put it there at once: an exception at any line leaves the
    old file or the new one."""
    path = Path(os.path.realpath(path))  # a link stays a link
    if path.exists():
        if not path.is_file():
            raise StateError(f"{path} is a folder or a device: a state is saved in a file")
        path.open("r+b").close()  # PermissionError for a file that must not be changed
    beside = path.with_name(f".{os.urandom(8).hex()}.part")
    try:
        with beside.open("x+b") as file:
            fill(file)
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def load_state(path: str | Path) -> dict[str, Array]:
    """The arrays in an npz or safetensors file. Pickled objects are refused.

    Raises StateError for a file that is damaged, cut off, or of another format.
    """
    path = _with_suffix(path)
    if path.suffix == SAFETENSORS:
        safetensors()  # ImportError, whatever the file
    with path.open("rb") as file:
        try:
            return read_arrays(file, path.suffix)
        except Exception as error:
            raise StateError(
                f"{path} is damaged, cut off, or no {path.suffix} file of arrays: load another copy ({error!r})"
            ) from error


def write_arrays(file: BinaryIO, state: dict[str, Array], suffix: str) -> None:
    """In the format of files with this suffix. For ``np.savez`` an array called "file" would be a keyword."""
    if suffix == SAFETENSORS:
        arrays = {name: np.asarray(x, order="C") for name, x in state.items()}
        file.write(safetensors().save(arrays, metadata={CHECKSUM: str(checksum(state))}))
        return
    with zipfile.ZipFile(file, "w") as archive:
        for name, x in state.items():
            entry = io.BytesIO()
            write_array(entry, x, allow_pickle=False)
            archive.writestr(name + ".npy", entry.getvalue())  # at once: an open entry would hide Ctrl-C's exception


write_array: AnyFunction = np.lib.format.write_array  # which some versions of NumPy do not type


def read_arrays(file: BinaryIO, suffix: str) -> dict[str, Array]:
    """What :func:`write_arrays` wrote, and what other programs write; checksums are compared."""
    arrays: dict[str, Array] = {}
    if suffix == SAFETENSORS:
        content = file.read()
        arrays = safetensors().load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        if header.get("__metadata__", {}).get(CHECKSUM) not in (None, str(checksum(arrays))):
            raise ValueError("the checksum differs")
        return arrays
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            with archive.open(info) as entry:
                x = read_array(entry, allow_pickle=False)
                if entry.read(1) or arrays.setdefault(info.filename.removesuffix(".npy"), x) is not x:
                    raise ValueError(f"{info.filename} holds more than one array")  # zipfile compares at the end only
    return arrays


def checksum(arrays: dict[str, Array]) -> int:
    """One number for names, dtypes, shapes and bytes, whatever the order of bytes and entries."""
    total = 0
    for name, x in sorted(arrays.items()):
        little = np.asarray(x, x.dtype.newbyteorder("<"))
        total = zlib.crc32(repr((name, little.dtype.str, x.shape)).encode() + little.tobytes(), total)
    return total


def safetensors() -> ModuleType:
    """The package that reads and writes this format."""
    return load_package(
        "safetensors.numpy",
        f"{SAFETENSORS} files are read and written by the package safetensors, which is not installed: pip install "
        f"safetensors, or save the model as .npz",
    )


def _with_suffix(path: str | Path) -> Path:
    path = Path(path)
    return path if path.suffix else path.with_suffix(".npz")
