"""Engines, all in use elsewhere: anything that maps, a Dask client, an MPI communicator. None of them is imported here.

A map (the built-in one, an Executor's, a Pool's) gives answers in the order of the jobs, and they are added up as they
come. Dask gets the tree of sums as a graph, so partial sums meet on the workers, and it repeats what a dead worker had.
With a communicator every rank calls the function itself, with examples of its own, and one Allreduce joins the sums.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.lazy import show_bar
from .tasks import Answer, Part, Task, add_answers, call, is_dask, tree_sum

Array = Any
RETRIES = 2  # of Dask: how often a part that failed is tried again


def kind_of(workers: Any) -> str:
    """How these workers are asked: "map", "dask" or "ranks"."""
    if hasattr(workers, "Allreduce"):
        return "ranks"
    if any(
        [
            cls.__module__.partition(".")[0] == "distributed" and cls.__name__ == "Client"
            for cls in type(workers).__mro__
        ]
    ):
        return "dask"
    if workers is None or callable(workers) or callable(getattr(workers, "map", None)):
        return "map"
    raise TypeError(
        f"data_parallel: workers is a map (pool.map, an Executor, map itself), a Dask client or an MPI communicator, "
        f"not {workers!r}"
    )


def run(workers: Any, task: Task, parts: list[Part], together: int, progress: bool) -> Answer:
    """The sum over all parts. With a communicator: over those of all ranks."""
    kind = kind_of(workers)
    groups = [parts[k : k + together] for k in range(0, len(parts), together)]
    if kind == "dask":
        return by_dask(workers, task, groups)
    if kind == "ranks":
        return over_ranks(workers, task, parts)
    found: Iterable[Answer] = answers(workers, task, groups)
    return tree_sum(show_bar(found, desc="parts", total=len(groups), leave=False) if progress else found)


# -- maps


def answers(workers: Any, task: Task, groups: list[list[Part]]) -> Iterator[Answer]:
    """The answers to all jobs, in their order."""
    each: Any = map if workers is None else workers if callable(workers) else workers.map
    done = 0
    try:
        for answer in each(call, [(task, group) for group in groups]):
            yield answer
            done += 1
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        check_sendable(task, error)
        raise
    except BrokenExecutor as error:
        first, last = groups[done][0].number + 1, groups[done][-1].number + 1
        which = f"part {first}" if first == last else f"parts {first} to {last}"
        error.add_note(
            f"{which} of {task.parts} had no answer: a worker died. Parameters are as they were. This pool is "
            f"finished: make a new one (a Dask client replaces its workers by itself)"
        )
        raise


def check_sendable(task: Task, error: Exception) -> None:
    """Raise InputError if the error came from pickling the function, and not from a part, which says so in a note."""
    if any([note.startswith("in part ") for note in getattr(error, "__notes__", ())]):
        return
    try:
        pickle.dumps(task.program)
    except Exception as reason:
        raise InputError(
            f"data_parallel: f cannot be sent to another process ({reason}). Define it at the top of a module, or use "
            f"loky, Dask or Ray, which send functions by value, or threads"
        ) from error


# -- Dask


def by_dask(client: Any, task: Task, groups: list[list[Part]]) -> Answer:
    """The tree as a graph. The blocks of a Dask array are taken where they lie."""
    from dask.delayed import delayed

    given = delayed(task, pure=False, traverse=False)
    blocks: dict[int, list[Any]] = {}  # of a Dask array
    leaves = []
    for group in groups:
        lying = []
        for part in group:
            found = [rows_of(x, blocks) for x in part.data]
            lying.append([x for x in found if x is not None])
        if any(lying):
            bare = [
                Part(p.number, p.rows, p.weight, [None if is_dask_rows(x) else x for x in p.data], p.seed)
                for p in group
            ]
            leaves.append(delayed(call_with, pure=False)(given, delayed(bare, traverse=False), lying))
        else:
            leaves.append(delayed(call_with, pure=False)(given, delayed(group, traverse=False), None))
    total = tree_sum(leaves, delayed(add_answers, pure=False))
    answer: Answer = client.compute(total, retries=RETRIES).result()
    return answer


def is_dask_rows(rows: Any) -> bool:
    """Are these rows a part of a Dask array?"""
    return is_dask(getattr(rows, "source", None))


def rows_of(rows: Any, blocks: dict[int, list[Any]]) -> Any:
    """The block of a Dask array that these rows are; None if they are of something else."""
    if not is_dask_rows(rows):
        return None
    x = rows.source
    if id(x) not in blocks:
        ends = np.cumsum(x.chunks[0]).tolist()
        blocks[id(x)] = [
            (end, block) for end, size, block in zip(ends, x.chunks[0], x.to_delayed().ravel(), strict=True) if size
        ]
    return next(block for end, block in blocks[id(x)] if end == rows.last)


def call_with(task: Task, group: list[Part], lying: list[list[Array]] | None) -> Answer:
    """A job whose blocks Dask has brought."""
    if lying is None:
        return task(group)
    full = []
    for part, blocks in zip(group, lying, strict=True):
        remaining = iter(blocks)
        data = [np.asarray(next(remaining)) if x is None else x for x in part.data]
        full.append(Part(part.number, part.rows, part.weight, data, part.seed))
    return task(full)


# -- ranks


def over_ranks(comm: Any, task: Task, parts: list[Part]) -> Answer:
    """The parts of this rank here, then one Allreduce of all sums, laid in a row. Pieces stay where they are."""
    answer, failure = None, None
    try:
        answer = task(parts)
    except Exception as error:  # the others must hear of it: they would wait for ever
        failure = error
    said = comm.allgather(None if failure is None else f"{type(failure).__name__}: {failure}")
    if failure is not None:
        raise failure
    failed = [f"rank {k}: {text}" for k, text in enumerate(said) if text is not None]
    if failed or answer is None:
        raise RuntimeError(f"data_parallel: another rank failed, so there is no sum: {'; '.join(failed)}")
    sums, pieces = answer
    return join_ranks(comm, sums), pieces


def join_ranks(comm: Any, sums: list[Array]) -> list[Array]:
    """Each array summed over all ranks."""
    arrays = [np.asarray(x) for x in sums]
    kind = np.result_type(np.float32, *arrays)  # float16 is not known to MPI
    flat = np.concatenate([x.ravel().astype(kind) for x in arrays])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    ends = np.cumsum([x.size for x in arrays])[:-1]
    return [part.reshape(x.shape).astype(x.dtype) for part, x in zip(np.split(total, ends), arrays, strict=True)]


def rows_of_all_ranks(comm: Any, n: int, shared: list[Any], name: str, first: bool) -> int:
    """How many rows all ranks have together. In the first call also: are f and its parameters the same everywhere?"""
    digest = digest_of(name, shared) if first else None
    said = comm.allgather((n, digest))
    other = [k for k, (_, theirs) in enumerate(said) if theirs != said[0][1]]
    if other:
        raise InputError(
            f"data_parallel: rank {other[0]} has another function or other parameters than rank 0, so the sum would "
            f"mean nothing: begin with the same numbers on all ranks, as with comm.bcast(parameters)"
        )
    return sum([n for n, _ in said])


def digest_of(name: str, shared: list[Any]) -> str:
    """Of the function's name and the numbers of its shared arguments."""
    found = hashlib.sha256(name.encode())
    for x in shared:
        array = np.asarray(x)
        found.update(repr((array.shape, array.dtype)).encode() + array.tobytes())
    return found.hexdigest()
