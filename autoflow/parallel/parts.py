"""Parts of the data. To a worker travels where the rows are, if a file has them, and otherwise these rows alone."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import InputError

Array = Any


@dataclass(frozen=True)
class Rows:
    """Rows first ... last − 1 of something that can be sliced: an array, a memmap, a Zarr array, a Dask array."""

    source: Any
    first: int
    last: int

    def load(self) -> Array:
        """These rows as a NumPy array; those of a memmap stay in the file until they are read."""
        return np.asarray(self.source[self.first : self.last])

    def __reduce__(self) -> Any:
        x = self.source
        if is_whole_file(x):
            return rows_of_file, (str(x.filename), x.dtype.str, x.offset, x.shape, self.first, self.last)
        if isinstance(x, np.ndarray):
            return Rows, (x[self.first : self.last].view(np.ndarray), 0, self.last - self.first)
        return Rows, (x, self.first, self.last)


def is_whole_file(x: Any) -> bool:
    """Is it a memmap (no slice of one) whose numbers are those of its file? Then the file can be opened elsewhere."""
    shared = isinstance(x, np.memmap) and isinstance(x.base, mmap.mmap) and x.mode != "c"
    return shared and x.filename is not None and x.flags.c_contiguous and x.dtype.names is None


@lru_cache(8)
def open_file(name: str, dtype: str, offset: int, shape: tuple[int, ...]) -> Array:
    """The memmap, opened once in a process."""
    return np.memmap(name, dtype, "r", offset, shape)


def rows_of_file(name: str, dtype: str, offset: int, shape: tuple[int, ...], first: int, last: int) -> Rows:
    """What pickle calls."""
    return Rows(open_file(name, dtype, offset, shape), first, last)


def cut_places(n: int, chunks: int) -> list[int]:
    """Where n rows are cut into parts that differ by at most one row; as many parts as rows, if these are fewer.

    >>> cut_places(10, 3)
    [0, 3, 6, 10]
    """
    chunks = min(chunks, n)
    return [n * k // chunks for k in range(chunks + 1)]


def is_dask(x: Any) -> bool:
    """A dask.array? Nothing is imported to find out."""
    return type(x).__module__.partition(".")[0] == "dask" and hasattr(x, "to_delayed")


def block_places(name: str, x: Any) -> list[int]:
    """Where a Dask array is cut already, along its first axis."""
    if any([len(sizes) > 1 for sizes in x.chunks[1:]]):
        axes = ", ".join([f"{axis}: -1" for axis in range(1, x.ndim)])
        raise InputError(
            f"data_parallel: {name} is a Dask array of chunks {x.chunks}; a part must hold whole examples: "
            f"x.rechunk({{{axes}}})"
        )
    if any([size != size for size in x.chunks[0]]):
        raise InputError(
            f"data_parallel: {name} is a Dask array whose chunk sizes are not known: x.compute_chunk_sizes()"
        )
    return [0, *np.cumsum([size for size in x.chunks[0] if size]).tolist()]


def places_of(cut: list[tuple[str, Any]], chunks: int) -> list[int]:
    """Where all of these arrays, given by name, are cut. Raises InputError if they do not have the same rows."""
    for name, x in cut:
        if not np.shape(x) and not getattr(x, "shape", ()):
            raise InputError(f"data_parallel: {name} is to be divided, but it has no rows (a {type(x).__name__})")
    given = {tuple(block_places(name, x)) for name, x in cut if is_dask(x)}
    lengths = {name: int(x.shape[0]) for name, x in cut}
    if len(set(lengths.values())) > 1:
        said = ", ".join([f"{name} of shape {tuple(x.shape)}" for name, x in cut])
        raise InputError(f"data_parallel: the arguments that are divided have different lengths: {said}")
    n = next(iter(lengths.values()), 0)
    if not n:
        raise InputError("data_parallel: there are no rows to work on")
    if len(given) > 1:
        raise InputError(
            "data_parallel: the chunks of the Dask arrays end at different rows: x.rechunk({0: y.chunks[0]})"
        )
    return list(given.pop()) if given else cut_places(n, chunks)
