"""The work of a worker: some parts of the data in, the sum over them out.

Sums in a fixed order. Rounding depends on the order, so a sum in order of arrival would be another in every run. Here
the order is that of a binary tree, ((0+1) + (2+3)) + ..., whose shape depends on the number of parts alone. Groups of
2, 4, 8 ... parts are subtrees of it, so it does not matter how many a worker adds up before it answers.

Parts of the data: what travels to a worker is the place of its rows, if a file has them, and otherwise these rows
alone.

Programs. A program takes the shared arrays and the rows of one part, and returns two lists: what is summed over the
parts, and results that are not, such as gradients of rows. The derivative of such a thing is such a thing again: a
gradient of shared arrays is summed, the cotangent of a sum is shared, and those of pieces are cut as the rows are. So
derivatives of all orders are made of the same three classes.
"""

from __future__ import annotations

import _thread
import hashlib
import importlib
import mmap
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..backprop.anomaly import detect_anomaly
from ..backprop.second_runs import OWN, codes_of, is_at, reachable_generators, state_of
from ..base import pytree
from ..base.errors import InputError, LostGradientError
from ..base.modes import MODES, Modes, modes
from ..base.numbering import now
from ..nodes.nodes import AnyFunction, Array, gradient_target, value_of
from ..nodes.records import from_outside, holder_name
from ..transforms.gradient import checked_scalar, value_and_grad
from ..transforms.vjp_jvp import vjp

# ---------------------------------------------------------------- sums in the order of a tree

Answer = tuple[list[Array], list[list[Array]]]  # for some parts: the sums, and the pieces of other results in order


def add_answers(a: Answer, b: Answer) -> Answer:
    """The answer of both, b being right behind a.

    >>> add_answers(([1.0], [["a"]]), ([2.0], [["b"]]))
    ([3.0], [['a', 'b']])
    """
    return [x + y for x, y in zip(a[0], b[0], strict=True)], [[*x, *y] for x, y in zip(a[1], b[1], strict=True)]


def tree_sum(items: Iterable[Any], add: Callable[[Any, Any], Any] = add_answers) -> Any:
    """The sum in the order of the tree. For n items at most log₂ n sums are held at a time.

    >>> tree_sum("abcdef", lambda a, b: f"({a}{b})")
    '(((ab)(cd))(ef))'
    """
    stack: list[tuple[int, Any]] = []  # level, sum of 2^level items
    for item in items:
        stack.append((0, item))
        while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
            level, b = stack.pop()
            stack[-1] = level + 1, add(stack[-1][1], b)
    total = stack.pop()[1]
    while stack:
        total = add(stack.pop()[1], total)
    return total


# ---------------------------------------------------------------- parts: which rows a worker gets


Cut = list[tuple[str, Any]]  # what is divided, by name


@dataclass(frozen=True)
class RowRange:
    """Rows first ... last − 1 of something that can be sliced: an array, a memmap, a Zarr array, a Dask array."""

    source: Any
    first: int
    last: int

    def load(self) -> Array:
        """These rows as a NumPy array; those of a memmap stay in the file until they are read."""
        return np.asarray(self.source[self.first : self.last])

    def __reduce__(self) -> tuple[object, ...]:
        x = self.source
        if is_whole_file(x):
            return rows_of_file, (str(x.filename), x.dtype.str, x.offset, x.shape, self.first, self.last)
        if isinstance(x, np.ndarray):
            return RowRange, (x[self.first : self.last].view(np.ndarray), 0, self.last - self.first)
        return RowRange, (x, self.first, self.last)


def is_whole_file(x: Any) -> bool:
    """Is it a memmap (no slice of one) whose numbers are those of its file? Then the file can be opened elsewhere."""
    shared = isinstance(x, np.memmap) and isinstance(x.base, mmap.mmap) and x.mode != "c"
    return shared and x.filename is not None and x.flags.c_contiguous and x.dtype.names is None


@lru_cache(8)
def open_file(name: str, file: tuple[int, int], dtype: str, offset: int, shape: tuple[int, ...]) -> Array:
    """The memmap, opened once in a process. ``file``: its device and number, which are others if it is replaced."""
    return np.memmap(name, dtype, "r", offset, shape)


def rows_of_file(name: str, dtype: str, offset: int, shape: tuple[int, ...], first: int, last: int) -> RowRange:
    """The function that pickle calls to open the rows of a file."""
    there = os.stat(name)
    return RowRange(open_file(name, (there.st_dev, there.st_ino), dtype, offset, shape), first, last)


def cut_places(n: int, chunks: int) -> list[int]:
    """Where n rows are cut into parts whose lengths differ by at most one row; with fewer rows than parts, one row
    each.

    >>> cut_places(10, 3)
    [0, 3, 6, 10]
    """
    chunks = min(chunks, n)
    return [n * k // chunks for k in range(chunks + 1)]


def is_dask(x: object) -> bool:
    """A dask.array? Nothing is imported to find out."""
    return type(x).__module__.partition(".")[0] == "dask" and hasattr(x, "to_delayed")


def block_places(name: str, x: Any) -> list[int]:
    """Where a Dask array is cut already, along its first axis."""
    if any([len(sizes) > 1 for sizes in x.chunks[1:]]):
        axes = ", ".join([f"{axis}: -1" for axis in range(1, x.ndim)])
        message = f"{name} is a Dask array of chunks {x.chunks}; a part must hold whole examples: x.rechunk({{{axes}}})"
        raise InputError(f"data_parallel: {message}")
    if any([size != size for size in x.chunks[0]]):
        raise InputError(
            f"data_parallel: {name} is a Dask array whose chunk sizes are not known: x.compute_chunk_sizes()"
        )
    return [0, *np.cumsum([size for size in x.chunks[0] if size]).tolist()]


def places_of(cut: Cut, chunks: int) -> list[int]:
    """Where all of these arrays, given by name, are cut. Raises InputError if they do not have the same rows."""
    for name, x in cut:
        if not np.shape(x) and not getattr(x, "shape", ()):
            raise InputError(f"data_parallel: {name} should be divided, but it has no rows (a {type(x).__name__})")
    chunk_places = {tuple(block_places(name, x)) for name, x in cut if is_dask(x)}
    lengths = {name: int(x.shape[0]) for name, x in cut}
    if len(set(lengths.values())) > 1:
        shapes = ", ".join([f"{name} of shape {tuple(x.shape)}" for name, x in cut])
        raise InputError(f"data_parallel: the arguments that are divided have different lengths: {shapes}")
    n = next(iter(lengths.values()), 0)
    if not n:
        raise InputError("data_parallel: there are no rows to work on")
    if len(chunk_places) > 1:
        raise InputError("data_parallel: the chunks of Dask arrays end at different rows: x.rechunk({0: y.chunks[0]})")
    return list(chunk_places.pop()) if chunk_places else cut_places(n, chunks)


# ---------------------------------------------------------------- programs, their derivatives, the task of a worker


# Modes that a task takes along.
TRAVELLING = ("recording", "keep", "strict", "max_bytes", "safe_masking", "autocast", "anomaly", "shadow")
# In this process, by the digest of the program and the code of its functions, which pickle knows by their names.
COMPILED: OrderedDict[tuple[Any, ...], AnyFunction] = OrderedDict()
KEPT = 16


class Slot:
    """A placeholder in the arguments of f for the k-th of the shared arrays, or of those that are cut."""

    def __init__(self, is_cut: bool, k: int) -> None:
        self.is_cut, self.k = is_cut, k


@dataclass(frozen=True)
class Loss:
    """f, with slots in its arguments. The value is summed, nothing else."""

    f: AnyFunction
    arguments: Any  # (args, options)

    def __call__(self, shared: list[Any], cut: list[Any], rng: object = None) -> tuple[list[Any], list[Any]]:
        def fill(x: object) -> Any:
            return (cut if x.is_cut else shared)[x.k] if isinstance(x, Slot) else x

        args, options = pytree.tree_unflatten(self.arguments, map(fill, pytree.tree_leaves(self.arguments)))
        start = now()
        z = self.f(*args, **options, **({} if rng is None else {"rng": rng}))
        if pytree.is_container(z):
            raise TypeError(f"f returned a {type(z).__name__}: data_parallel sums up functions that return one number")
        checked_scalar(z)
        check_captured(z, start, shared, cut)
        return [z], []


@dataclass(frozen=True)
class LossAndGradient:
    """Value and gradient of a loss at once."""

    of: Loss
    wanted: Wanted

    def __call__(self, shared: list[Any], cut: list[Any], rng: object = None) -> tuple[list[Any], list[Any]]:
        def total(leaves: list[Any]) -> Any:
            return self.of(*self.wanted.put(leaves, shared, cut), rng)[0][0]

        value, g = value_and_grad(total)(self.wanted.pick(shared, cut))
        n = len(self.wanted.shared)
        return [value, *g[:n]], g[n:]


@dataclass(frozen=True)
class Pullback:
    """From cotangents of the results of another program to gradients of its arguments. The cotangents follow the
    arguments: those of sums the shared arrays, those of pieces what is cut."""

    of: Any
    wanted: Wanted
    sums: int  # how many results are summed, and
    pieces: int  # how many are not

    def __call__(self, shared: list[Any], cut: list[Any], rng: object = None) -> tuple[list[Any], list[Any]]:
        n, m = len(shared) - self.sums, len(cut) - self.pieces
        shared, cut, cotangent = shared[:n], cut[:m], (shared[n:], cut[m:])

        def results(leaves: list[Any]) -> Any:
            return self.of(*self.wanted.put(leaves, shared, cut), rng)

        _, pullback = vjp(results, self.wanted.pick(shared, cut), allow_unused=True)
        (g,) = pullback(cotangent)
        return g[: len(self.wanted.shared)], g[len(self.wanted.shared) :]


@dataclass(frozen=True)
class Wanted:
    """Which arguments gradients are wanted for: places among the shared ones and among those that are cut."""

    shared: tuple[int, ...]
    cut: tuple[int, ...]

    def pick(self, shared: list[Any], cut: list[Any]) -> list[Any]:
        """These, in one list."""
        return [*[shared[k] for k in self.shared], *[cut[k] for k in self.cut]]

    def put(self, leaves: list[Any], shared: list[Any], cut: list[Any]) -> tuple[list[Any], list[Any]]:
        """The arguments with others in their places."""
        remaining, ours, theirs = iter(leaves), {*self.shared}, {*self.cut}
        new = [next(remaining) if k in ours else x for k, x in enumerate(shared)]
        return new, [next(remaining) if k in theirs else x for k, x in enumerate(cut)]


@dataclass(frozen=True)
class Part:
    """One part: which rows, what its result is multiplied by, and the seed of its random numbers."""

    number: int
    rows: tuple[int, int]
    weight: float
    data: list[RowRange | Array]
    seed: Any = None


class Task:
    """A program with the shared arrays: all that a worker needs besides its rows. Called with some parts."""

    def __init__(self, program: AnyFunction, shared: list[Any], parts: int, compiled: bool, owners: object) -> None:
        """``parts``: how many in all. ``owners``: what may refer to random generators; None if nothing does."""
        self.program, self.shared, self.parts, self.compiled, self.owners = program, shared, parts, compiled, owners
        switches = modes()
        self.modes = {name: getattr(switches, name) for name in TRAVELLING}
        self.errors: Any = np.geterr()
        self.ready: Any = None  # the compiled program; of this process alone

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "ready": None}

    def __call__(self, parts: list[Part]) -> Answer:
        """The sum over these parts; only one at a time is in memory."""
        with enter_modes(self.modes), np.errstate(**self.errors):
            run = self.compiled_program() if self.compiled else self.program
            return tree_sum(self.one(run, part) for part in parts)

    def one(self, run: Any, part: Part) -> Answer:
        """One part; an error says which it was."""
        try:
            drawn = [(x, state_of(x)) for x in watched_generators(self.owners)]
            data = [rows.load() if isinstance(rows, RowRange) else rows for rows in part.data]
            sums, pieces = run(self.shared, data, *[np.random.default_rng(part.seed)] * (part.seed is not None))
            if not all([is_at(*pair) for pair in drawn]):
                raise InputError(
                    "data_parallel: f draws from a random generator that it finds outside, so workers would draw the "
                    "same numbers: give data_parallel(rng=...), and take rng as an argument of f"
                )
            return [weigh(x, part.weight) for x in sums], [[weigh(x, part.weight)] for x in pieces]
        except Exception as error:
            first, last = part.rows
            error.add_note(f"in part {part.number + 1} of {self.parts}, rows {first}:{last}")
            raise

    def compiled_program(self) -> AnyFunction:
        """The program, compiled once in each process. Another process may get it again with each task."""
        if self.ready is None:
            key = hashlib.sha256(pickle_function(self.program)).digest(), *codes_of(self.program)
            self.ready = COMPILED.get(key)
            if self.ready is None:
                from ..compiler import compile

                self.ready = COMPILED[key] = compile(self.program)
                while len(COMPILED) > KEPT:
                    COMPILED.popitem(last=False)
        return self.ready


def call(job: tuple[Task, list[Part]]) -> tuple[int, Answer]:
    """One job: the number of its first part, and its answer. (Maps pass one argument.)"""
    task, parts = job
    return parts[0].number, task(parts)


def weigh(x: Any, weight: float) -> Array:
    """The numbers of x, times the weight."""
    x = value_of(x)
    return x if weight == 1 else x * weight


@contextmanager
def enter_modes(travelled: dict[str, Any]) -> Iterator[None]:
    """The modes of the task, and no other: neither those of this thread nor those of transforms around us.

    Running statistics stay as they are (``repeating``): else they would depend on which worker had which part.
    """
    token = MODES.set(Modes(**travelled, repeating=-1))
    try:
        with detect_anomaly() if travelled["anomaly"] else nullcontext():
            yield
    finally:
        MODES.reset(token)


def watched_generators(owners: object) -> list[Any]:
    """The random generators that f must not draw from. Those of the process are watched where no other thread, which
    may draw, is in it: in workers that are processes above all."""
    alone = () if _thread._count() else OWN
    return [*alone, *([] if owners is None else own_generators(owners))]


def own_generators(owners: object) -> list[Any]:
    """The random generators that are reached from there, but those of the process, which other threads use, too."""
    return [x for x in reachable_generators(owners) if x not in OWN]


def pickle_function(x: object) -> bytes:
    """A function as pickle sends it, or else cloudpickle, which then exists at the receiver."""
    try:
        return pickle.dumps(x)
    except Exception:
        return importlib.import_module("cloudpickle").dumps(x)


def check_captured(z: object, start: int, shared: list[Any], cut: list[Any]) -> None:
    """Raise LostGradientError if f has used a Variable that is not one of its arguments: it would get no gradient.

    start : when f was called; older nodes were made outside.
    """
    own = {gradient_target(x) for x in (*shared, *cut)}
    if (ancestor := from_outside(gradient_target(z), start, own)) is not None:
        name = holder_name(ancestor)
        raise LostGradientError(
            f"data_parallel: f uses {name}, a node that is not one of its arguments, so it would get no gradient: "
            f"make it an argument (of a model with nn.functional_call), or use its numbers, {name}.value"
        )
