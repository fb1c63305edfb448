"""``af.data_parallel``, and its engines, all in use elsewhere: anything that maps, a Dask client, an MPI communicator.
None of them is imported here.

A map (the built-in one, an Executor's, a Pool's) gives answers in the order of the jobs, and they are added up as they
come. Dask gets the tree of sums as a graph, so partial sums meet on the workers, and it repeats what a dead worker had.
With a communicator every rank calls the function itself, with examples of its own, and one Allreduce joins the sums.

``af.data_parallel`` gives a function of the same arguments and with the same value, computed in parts; one node.

Its gradient comes with its value, so going back is a product. Where the pass back is recorded, that product is a sum
over parts itself (``tasks.Pullback``), and so on, to any order.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from ..base import pytree
from ..base.errors import CompileError, InputError, StaleValueError
from ..base.lazy import show_bar
from ..base.modes import modes
from ..extending.joint import Parts, record_results, split_inputs, step_row
from ..nodes.nodes import AnyFunction, Array, NodeRole, gradient_target, value_of
from ..nodes.versions import fingerprint
from ..transforms.evaluation import find_argument
from . import tasks

RETRIES = 2  # of Dask: how often a part that failed is tried again


def kind_of(workers: object) -> str:
    """The way to call these workers: "map", "dask" or "ranks"."""
    if hasattr(workers, "Allreduce"):
        return "ranks"
    if ("distributed", "Client") in [(cls.__module__.partition(".")[0], cls.__name__) for cls in type(workers).__mro__]:
        return "dask"
    if workers is None or callable(workers) or callable(getattr(workers, "map", None)):
        return "map"
    raise TypeError(
        f"data_parallel: workers is a map (pool.map, an Executor, map itself), a Dask client or an MPI communicator, "
        f"not {workers!r}"
    )


def run(how: DataParallel, task: tasks.Task, parts: list[tasks.Part]) -> tasks.Answer:
    """The sum over all parts. With a communicator: over those of all ranks."""
    groups = [parts[k : k + how.together] for k in range(0, len(parts), how.together)]
    if how.kind == "dask":
        return by_dask(how.workers, task, groups)
    if how.kind == "ranks":
        return over_ranks(how.workers, task, parts)
    results: Iterable[tasks.Answer] = answers(how.workers, task, groups)
    return tasks.tree_sum(show_bar(results, desc="parts", total=len(groups), leave=False) if how.progress else results)


# -- maps


def answers(workers: Any, task: tasks.Task, groups: list[list[tasks.Part]]) -> Iterator[tasks.Answer]:
    """The answers to all jobs, in their order."""
    each: Any = map if workers is None else workers if callable(workers) else workers.map
    done = 0
    try:
        pairs = each(tasks.call, [(task, group) for group in groups])
        for group, (number, answer) in zip(groups, pairs, strict=False):
            if number != group[0].number:
                break
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
    if done < len(groups):
        raise InputError(
            f"data_parallel: the workers' answer number {done + 1} is missing, or belongs to another of the "
            f"{len(groups)} jobs: give a map that answers all of them in their order, pool.map and not "
            f"pool.imap_unordered"
        )


def check_sendable(task: tasks.Task, error: Exception) -> None:
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


def by_dask(client: Any, task: tasks.Task, groups: list[list[tasks.Part]]) -> tasks.Answer:
    """The tree as a graph. The blocks of a Dask array are taken where they lie."""
    from dask.delayed import delayed

    blocks: dict[int, list[Any]] = {}  # of a Dask array
    lazy = delayed(task, pure=False, traverse=False)
    leaves = []
    for group in groups:
        bare = [replace(part, data=[]) for part in group]
        rows = [[rows_of(x, blocks) for x in part.data] for part in group]  # in lists Dask finds what it has to bring
        leaves.append(delayed(call_with, pure=False)(lazy, delayed(bare, traverse=False), rows))
    total = tasks.tree_sum(leaves, delayed(tasks.add_answers, pure=False))
    return client.compute(total, retries=RETRIES).result()


def rows_of(rows: Any, blocks: dict[int, list[Any]]) -> Any:
    """These rows as Dask brings them: the block of a Dask array, or they themselves."""
    from dask.delayed import delayed

    x: Any = getattr(rows, "source", None)
    if not tasks.is_dask(x):
        return delayed(rows, traverse=False)
    if id(x) not in blocks:
        pairs = zip(np.cumsum(x.chunks[0]).tolist(), x.chunks[0], x.to_delayed().ravel(), strict=True)
        blocks[id(x)] = [(end, block) for end, size, block in pairs if size]
    return next(block for end, block in blocks[id(x)] if end == rows.last)


def call_with(task: tasks.Task, group: list[tasks.Part], rows: list[list[Any]]) -> tasks.Answer:
    """A job whose rows Dask has brought."""
    return task([replace(part, data=data) for part, data in zip(group, rows, strict=True)])


# -- ranks


def over_ranks(comm: object, task: tasks.Task, parts: list[tasks.Part]) -> tasks.Answer:
    """The parts of this rank here, then one Allreduce of all sums, laid in a row. Pieces stay where they are."""
    if modes().shadow:
        raise InputError("a proof does not run what ranks say to each other once more: they may not all look")
    (sums, pieces), _ = on_all_ranks(comm, lambda: (task(parts), None))
    return join_ranks(comm, sums), pieces


def on_all_ranks(comm: Any, compute: Callable[[], tuple[Any, Any]]) -> tuple[Any, list[Any]]:
    """The result of ``compute()`` here, and the words of all ranks: it returns its result and a word for the others.
    If one rank fails, all do: otherwise they would wait for it for ever."""
    result, word, failure = None, None, None
    try:
        result, word = compute()
    except Exception as error:
        failure = error
    reports = comm.allgather((word, None if failure is None else f"{type(failure).__name__}: {failure}"))
    if failure is not None:
        raise failure
    if failed := [f"rank {k}: {text}" for k, (_, text) in enumerate(reports) if text is not None]:
        raise RuntimeError(f"data_parallel: another rank failed, so there is no sum: {'; '.join(failed)}")
    return result, [word for word, _ in reports]


def join_ranks(comm: Any, sums: list[Array]) -> list[Array]:
    """Each array summed over all ranks."""
    arrays = [np.asarray(x) for x in sums]
    kind = np.result_type(np.float32, *arrays)  # float16 is not known to MPI
    flat = np.concatenate([x.ravel().astype(kind) for x in arrays])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    ends = np.cumsum([x.size for x in arrays])[:-1]
    return [part.reshape(x.shape).astype(x.dtype) for part, x in zip(np.split(total, ends), arrays, strict=True)]


def cut_on_all_ranks(how: DataParallel, shared: list[Any], cut: tasks.Cut) -> tuple[list[int], int, list[int]]:
    """Where this rank's rows are cut, how many rows all ranks have together, and how many parts each has. In the first
    call f and its parameters must be the same everywhere."""

    def cut_here() -> tuple[Any, Any]:
        places = tasks.places_of(cut, how.chunks)
        return places, (places[-1], len(places) - 1, None if how.calls else digest_of(how.f, shared))

    places, reports = on_all_ranks(how.workers, cut_here)
    other = [k for k, (*_, theirs) in enumerate(reports) if theirs != reports[0][-1]]
    if other:
        raise InputError(
            f"data_parallel: rank {other[0]} has another function or other parameters than rank 0, so the sum would "
            f"mean nothing: begin with the same numbers on all ranks, as with comm.bcast(parameters)"
        )
    return places, sum([n for n, *_ in reports]), [count for _, count, _ in reports]


def digest_of(f: object, shared: list[Any]) -> str:
    """The digest of the function's name and the numbers of its shared arguments."""
    hasher = hashlib.sha256(f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', '')}".encode())
    for x in shared:
        array = np.asarray(x)
        hasher.update(repr((array.shape, array.dtype)).encode() + array.tobytes())
    return hasher.hexdigest()


def data_parallel(
    f: AnyFunction, *, over: int | str | Sequence[int | str], workers: object = None, chunks: int = 16,
    together: int = 1, reduction: str = "mean", rng: np.random.Generator | None = None, compiled: bool = False,
    progress: bool = False,
) -> DataParallel:  # fmt: skip
    """``f`` for data in parts: the same arguments and the same value, computed part by part, here or by workers.

    f : returns the mean (or the sum) over its examples, one number.
    over : the arguments that hold the examples, by position or name. They are divided along their first axis: arrays,
        memmaps, Zarr arrays, Dask arrays, and containers of them. All others are shared by the parts.
    workers : None: in this process, one part after the other, which bounds the memory that is needed. Anything that
        maps: an Executor, a Pool, ``pool.map``. A Dask client: sums are formed on its workers, which are replaced when
        they fail. An MPI communicator: then each rank calls with its own examples, and gets the result for all of them.
    chunks : how many parts; a Dask array is divided into its own chunks. The bits of the result depend on ``chunks``
        and not on the engine, the number of workers or their timing. The exception is a communicator: results are the
        same on all ranks, but their last bits depend on the number of ranks.
    together : parts for each job, a power of two: fewer messages, the same bits.
    reduction : what f is over its examples, "mean" or "sum". A mean is weighted exactly, even if parts differ in size.
    rng : a generator: part k of a call gets a child of it as ``f(..., rng=)``, the same with all engines. (Parts are
        counted over all ranks.)
    compiled : compile f with ``af.compile``, once in each process.
    progress : show a progress bar over the jobs, if tqdm is installed.

    The result is one node, differentiable to any order with respect to all arguments, also those that are divided.
    The caller's modes (``safe_masking``, ``autocast``, ``strict``, anomaly) and ``np.errstate`` hold in workers, too.
    Normalisation over a batch sees one part; its running statistics stay as they are. f is pickled for other processes;
    files are sent by name.

    Raises InputError if the arguments differ in the number of rows, if f cannot be sent, draws from a generator of its
    own, or differs between ranks; LostGradientError if f uses a node that is not an argument. Errors in f say in which
    part.

    >>> import autoflow as af
    >>> def loss(w, x, y):
    ...     return np.mean((x @ w - y) ** 2)
    >>> x, w = np.arange(12.0).reshape(6, 2), af.Variable([1.0, 2.0], name="w")
    >>> total = data_parallel(loss, over=("x", "y"), chunks=3)
    >>> (total(w, x, np.ones(6)) + np.sum(w**2)).backward()
    >>> w.grad
    array([232., 266.])
    """
    return DataParallel(f, over, workers, chunks, together, reduction, rng, compiled, progress)


class DataParallel:
    """The result of :func:`data_parallel`: f, computed in parts."""

    def __init__(
        self, f: AnyFunction, over: Any, workers: Any, chunks: int, together: int, reduction: str, rng: Any,
        compiled: bool, progress: bool,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, f)
        self.f, self.over = f, (over,) if isinstance(over, (int, str)) else tuple(over)
        self.workers, self.chunks, self.together = workers, chunks, together
        self.reduction, self.rng, self.compiled, self.progress = reduction, rng, compiled, progress
        self.kind, self.calls = kind_of(workers), 0
        for is_right, message in (
            (self.over, "over names the arguments that are divided, at least one"),
            (not isinstance(chunks, bool) and chunks >= 1, f"chunks is a number of parts, at least 1, not {chunks!r}"),
            (together > 0 and not together & (together - 1), f"together is a power of two (1, 2, 4), not {together!r}"),
            (reduction in ("mean", "sum"), f"reduction is 'mean' or 'sum', whichever f is, not {reduction!r}"),
            (rng is None or isinstance(rng, np.random.Generator), f"rng is np.random.default_rng(seed), not {rng!r}"),
            (rng is None or not compiled, "a compiled function draws no random numbers: give rng= or compiled=True"),
        ):
            if not is_right:
                raise InputError(f"data_parallel: {message}")

    def __call__(self, *args: object, **options: object) -> Any:
        """The value of f for all rows."""
        check_surroundings([args, options])
        places = [find_argument(self.f, k, args, options) for k in self.over]
        shared: list[Any] = []
        cut: tasks.Cut = []

        def slot(where: object, path: str, x: object) -> Any:
            if where in places:
                cut.append((path, x))
                return tasks.Slot(True, len(cut) - 1)
            if not (pytree.is_number(x) or hasattr(x, "dtype")):
                return x
            shared.append(x)
            return tasks.Slot(False, len(shared) - 1)

        def slots(where: object, tree: object) -> Any:
            paths = pytree.tree_paths(tree, where if isinstance(where, str) else f"argument {where}")
            leaves = zip(paths, pytree.tree_leaves(tree), strict=True)
            return pytree.tree_unflatten(tree, iter([slot(where, path, x) for path, x in leaves]))

        positional = tuple([slots(k, tree) for k, tree in enumerate(args)])
        loss = tasks.Loss(self.f, (positional, {name: slots(name, tree) for name, tree in options.items()}))
        total = Total(self, [value_of(x) for x in shared], [(path, value_of(x)) for path, x in cut], loss)
        self.calls += 1
        return total.apply(loss, shared, [x for _, x in cut])

    def __repr__(self) -> str:
        return f"<data_parallel of {getattr(self.f, '__name__', self.f)}, {self.chunks} chunks>"


def check_surroundings(arguments: object) -> None:
    """Raise an error inside af.compile and af.vmap: what other processes do cannot be recorded there."""
    if any([hasattr(value_of(x), "tape") for x in pytree.tree_leaves(arguments)]):
        raise CompileError(
            "data_parallel inside a compiled function: its workers cannot be recorded. Compile what they do, "
            "af.data_parallel(f, ..., compiled=True), and call that outside, or say af.compile(f, fallback=True)."
        )
    if (layer := modes().layer) is not None:
        layer.doubt("data_parallel (take af.vmap inside its function instead)")


class Total:
    """One call: how the rows are cut, weighed and seeded. The same for all derivatives of it."""

    def __init__(self, how: DataParallel, shared: list[Any], cut: tasks.Cut, loss: tasks.Loss) -> None:
        self.how = how
        if how.kind == "ranks":
            places, n, counts = cut_on_all_ranks(how, shared, cut)
            mine = how.workers.Get_rank()
        else:
            places = tasks.places_of(cut, how.chunks)
            n, counts, mine = places[-1], [len(places) - 1], 0
        self.spans = list(itertools.pairwise(places))
        self.weights = [(b - a) / n if how.reduction == "mean" else 1.0 for a, b in self.spans]
        first, count = sum(counts[:mine]), sum(counts)  # no two parts have the same seed, of whichever ranks
        # Others in each call; seeds, not generators: a pass back draws the same numbers.
        seeds = [None] * count if how.rng is None else how.rng.bit_generator.seed_seq.spawn(count)
        self.seeds = seeds[first : first + counts[mine]]
        self.owners = loss if tasks.own_generators(loss) else None

    def evaluate(self, program: AnyFunction, shared: list[Any], cut: list[Any]) -> tuple[list[Array], list[Array]]:
        """The results of a program over all parts, from plain arrays."""
        compiled = self.how.compiled and not isinstance(program, tasks.Pullback)
        task = tasks.Task(program, [value_of(x) for x in shared], len(self.spans), compiled, self.owners)
        sources = [value_of(x) for x in cut]
        parts = [
            tasks.Part(k, span, weight, [tasks.RowRange(x, *span) for x in sources], seed)
            for k, (span, weight, seed) in enumerate(zip(self.spans, self.weights, self.seeds, strict=True))
        ]
        sums, pieces = run(self.how, task, parts)
        return [np.asarray(x) for x in sums], [np.concatenate(x) for x in pieces]

    def apply(self, program: Any, shared: list[Any], cut: list[Any], known: Any = None) -> Any:
        """The results of a program as nodes; of a loss the one. known : the numbers, if they are there already."""
        places = [tuple([k for k, x in enumerate(xs) if gradient_target(x) is not None]) for xs in (shared, cut)]
        wanted = tasks.Wanted(*places)
        operands = wanted.pick(shared, cut) if modes().recording else []
        step = BackwardStep(self, program, wanted, shared, cut)
        if operands and isinstance(program, tasks.Loss):
            (value, *gradients), pieces = self.evaluate(tasks.LossAndGradient(program, wanted), shared, cut)
            step.gradients = [*gradients, *pieces]
            sums, pieces = [value], []
        else:
            sums, pieces = known or self.evaluate(program, shared, cut)
        step.sums, step.pieces = [x.shape for x in sums], [x.shape for x in pieces]
        results, several = [*sums, *pieces], not isinstance(program, tasks.Loss)
        if not operands and not any([isinstance(x, NodeRole) for x in (*shared, *cut)]):
            return tuple(results) if several else results[0][()]
        row = step_row(BackwardStep, "data_parallel", len(operands), range(len(operands)))
        return record_results(row, split_inputs(operands), [step], results, several)


class BackwardStep:
    """The backward step from the results of one program, as the record keeps it."""

    def __init__(self, total: Total, program: Any, wanted: tasks.Wanted, shared: list[Any], cut: list[Any]) -> None:
        self.total, self.program, self.wanted = total, program, wanted
        self.shared, self.cut = [value_of(x) for x in shared], [value_of(x) for x in cut]
        plain = wanted.put([None] * len(wanted.pick(shared, cut)), self.shared, self.cut)
        self.marks = [(x, fingerprint(x)) for x in (*plain[0], *plain[1]) if isinstance(x, np.ndarray)]
        self.gradients: list[Array] | None = None  # of a loss: computed with its value
        self.sums: list[tuple[int, ...]] = []
        self.pieces: list[tuple[int, ...]] = []

    def __call__(self, g: object, saved: Sequence[Any]) -> list[Any]:
        """dL/d(operand) for each, from dL/d(result): as plain arrays, or, in a recorded pass, as nodes."""
        record, again = saved[-1], modes().recording
        n = len(record.parents)
        if self.gradients is not None and not again:
            return [g * x for x in self.gradients]
        if any([fingerprint(x) != mark for x, mark in self.marks]):
            raise StaleValueError(
                f"{record.node_name} would compute with its data again, to be differentiated again, but they have been "
                f"overwritten since. Give data_parallel a copy, or overwrite them after the pass."
            )
        shared, cut = self.wanted.put(list(saved[:n]), self.shared, self.cut)
        shapes, m = [*self.sums, *self.pieces], len(self.sums)
        arrived = [g.grads.get(j) for j in range(len(shapes))] if isinstance(g, Parts) else [g]
        cotangents = [np.zeros(s) if x is None else x for x, s in zip(arrived, shapes, strict=True)]
        program = tasks.Pullback(self.program, self.wanted, m, len(self.pieces))
        known = None
        if self.gradients is not None:  # their numbers need no worker
            numbers = [np.asarray(value_of(g) * x) for x in self.gradients]
            known = numbers[: len(self.wanted.shared)], numbers[len(self.wanted.shared) :]
        return list(self.total.apply(program, [*shared, *cotangents[:m]], [*cut, *cotangents[m:]], known))
