"""What a worker does: some parts of the data in, the sum over them out.

A program takes the shared arrays and the rows of one part, and returns two lists: what is summed over the parts, and
what is not, gradients of rows for example. The derivative of such a thing is such a thing again: a gradient of shared
arrays is summed, the cotangent of a sum is shared, and those of pieces are cut as the rows are. So derivatives of all
orders are made of the same three classes.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
import random
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import pytree
from ..backprop.anomaly import detect_anomaly
from ..backprop.random_states import reachable_generators, states_of
from ..errors import InputError, LostGradientError
from ..lazy import later
from ..modes import MODES, Modes, modes
from ..nodes.nodes import NodeRole, gradient_target, value_of
from ..nodes.records import ancestors
from ..numbering import now
from ..transforms.gradient import checked_scalar, value_and_grad
from ..transforms.vjp_jvp import vjp
from .parts import Rows
from .sums import Answer, tree_sum

Array = Any
TRAVELLING = (
    "recording",
    "keep",
    "strict",
    "max_bytes",
    "safe_masking",
    "autocast",
    "anomaly",
)  # modes that a task takes along
COMPILED: OrderedDict[bytes, Callable[..., Any]] = OrderedDict()  # of this process, by the digest of the program
KEPT = 16


class Slot:
    """Stands in the arguments of f for the k-th of the shared arrays, or of those that are cut."""

    def __init__(self, is_cut: bool, k: int) -> None:
        self.is_cut, self.k = is_cut, k


@dataclass(frozen=True)
class Loss:
    """f, with slots in its arguments. The value is summed, nothing else."""

    f: Callable[..., Any]
    arguments: Any  # (args, options)
    check_captured: bool = True

    def __call__(self, shared: list[Any], cut: list[Any], rng: Any = None) -> tuple[list[Any], list[Any]]:
        def fill(x: Any) -> Any:
            return (cut if x.is_cut else shared)[x.k] if isinstance(x, Slot) else x

        args, options = pytree.tree_unflatten(self.arguments, map(fill, pytree.tree_leaves(self.arguments)))
        start = now()
        z = self.f(*args, **options, **({} if rng is None else {"rng": rng}))
        if pytree.is_container(z):
            raise TypeError(f"f returned a {type(z).__name__}: data_parallel sums up functions that return one number")
        checked_scalar(z)
        if self.check_captured:
            check_captured(z, start, shared, cut)
        return [z], []


@dataclass(frozen=True)
class ValueAndGradient:
    """Value and gradient of a loss at once."""

    of: Loss
    wanted: Wanted

    def __call__(self, shared: list[Any], cut: list[Any], rng: Any = None) -> tuple[list[Any], list[Any]]:
        def total(leaves: list[Any]) -> Any:
            return self.of(*self.wanted.put(leaves, shared, cut), rng)[0][0]

        value, g = value_and_grad(total)(self.wanted.pick(shared, cut))
        n = len(self.wanted.shared)
        return [value, *g[:n]], g[n:]


@dataclass(frozen=True)
class Pullback:
    """From cotangents of the results of another program to gradients of its arguments. The cotangents stand behind the
    arguments: of sums with the shared arrays, of pieces with what is cut."""

    of: Any
    wanted: Wanted
    sums: int  # how many results are summed, and
    pieces: int  # how many are not

    def __call__(self, shared: list[Any], cut: list[Any], rng: Any = None) -> tuple[list[Any], list[Any]]:
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
        remaining = iter(leaves)
        new_shared, new_cut = [*shared], [*cut]
        for k in self.shared:
            new_shared[k] = next(remaining)
        for k in self.cut:
            new_cut[k] = next(remaining)
        return new_shared, new_cut


@dataclass(frozen=True)
class Part:
    """One part: which rows, what its result is multiplied by, and the seed of its random numbers."""

    number: int
    rows: tuple[int, int]
    weight: float
    data: list[Rows | Array]
    seed: Any = None


class Task:
    """A program with the shared arrays: what each worker needs beside its rows. Called with some parts."""

    def __init__(self, program: Any, shared: list[Any], parts: int, compiled: bool, owners: Any) -> None:
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
        with entered(self.modes), np.errstate(**self.errors):
            run = self.compiled_program() if self.compiled else self.program
            return tree_sum(self.one(run, part) for part in parts)

    def one(self, run: Any, part: Part) -> Answer:
        """One part; an error says which it was."""
        try:
            drawn = states_of(watched_generators(self.owners))
            data = [rows.load() if isinstance(rows, Rows) else rows for rows in part.data]
            sums, pieces = run(self.shared, data, *[np.random.default_rng(part.seed)] * (part.seed is not None))
            if any([state.has_changed() for state in drawn]):
                raise InputError(
                    "data_parallel: f draws from a random generator that it finds outside, so workers would draw the "
                    "same numbers: give data_parallel(rng=...), and take rng as an argument of f"
                )
            return [weigh(x, part.weight) for x in sums], [[weigh(x, part.weight)] for x in pieces]
        except Exception as error:
            first, last = part.rows
            error.add_note(f"in part {part.number + 1} of {self.parts}, rows {first}:{last}")
            raise

    def compiled_program(self) -> Callable[..., Any]:
        """The program, compiled once in each process. Another process may get it again with each task."""
        if self.ready is None:
            key = hashlib.sha256(pickled(self.program)).digest()
            self.ready = COMPILED.get(key)
            if self.ready is None:
                self.ready = COMPILED[key] = later("autoflow.compiler:compile")(self.program)
                while len(COMPILED) > KEPT:
                    COMPILED.popitem(last=False)
        return self.ready


def call(job: tuple[Task, list[Part]]) -> Answer:
    """One job. (Maps pass one argument.)"""
    task, parts = job
    return task(parts)


def weigh(x: Any, weight: float) -> Array:
    """The numbers of x, times the weight."""
    x = value_of(x)
    return x if weight == 1 else x * weight


@contextmanager
def entered(travelled: dict[str, Any]) -> Iterator[None]:
    """The modes of the task, and no other: neither those of this thread nor those of transforms around us.

    Running statistics stay as they are (``repeating``): else they would depend on which worker had which part.
    """
    token = MODES.set(Modes(**travelled, repeating=True))
    try:
        if travelled["anomaly"]:
            with detect_anomaly():
                yield
        else:
            yield
    finally:
        MODES.reset(token)


def watched_generators(owners: Any) -> list[Any]:
    """The random generators that f must not draw from. Those of the process are watched where no other thread, which
    may draw, is in it: in workers that are processes above all."""
    alone = [np.random, random] if len(sys._current_frames()) == 1 else []
    return alone if owners is None else [*alone, *own_generators(owners)]


def own_generators(owners: Any) -> list[Any]:
    """The random generators that are reached from there, but those of the process, which other threads use, too."""
    return [x for x in reachable_generators(owners) if x is not np.random and x is not random]


def pickled(x: Any) -> bytes:
    """As pickle sends it, or as cloudpickle does: who got a function in that way has it."""
    try:
        return pickle.dumps(x)
    except Exception:
        cloudpickle = importlib.import_module("cloudpickle")
        data: bytes = cloudpickle.dumps(x)
        return data


def check_captured(z: Any, start: int, shared: list[Any], cut: list[Any]) -> None:
    """Raise LostGradientError if f has used a Variable that is not one of its arguments: it would get no gradient.

    start : when f was called; what is older was made outside.
    """
    record = gradient_target(z) if isinstance(z, NodeRole) else None
    if record is None:
        return
    ours = {id(gradient_target(x)) for x in (*shared, *cut) if isinstance(x, NodeRole)}
    for r in ancestors(record, lambda r: id(r) not in ours):
        if r.number < start and id(r) not in ours:
            name = getattr(r, "name", None) or getattr(r, "node_name", "a node")
            raise LostGradientError(
                f"data_parallel: f uses {name}, a node that is not one of its arguments, so it would get no gradient: "
                f"make it an argument (of a model with nn.functional_call), or use its numbers, {name}.value"
            )
