"""Less memory for more time: values that are computed again on the way back.

:func:`checkpoint` is explicit: a function whose insides are forgotten, and run again when gradients reach it. On a
chain of n layers, cut into √n checkpoints of √n layers each, about 2 √n values are alive instead of n, for one more
forward pass (T. Chen et al., "Training deep nets with sublinear memory cost", 2016).

:func:`checkpointing` is automatic: in its block, records of operations that are limited by memory rather than by
arithmetic (elementwise functions, views) keep no value. A pass that needs one computes it, once, from the nearest
values that were kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..errors import LostGradientError
from ..extending.joint import NOTHING, Gathered, Parts, joint_row, own_result, record_results
from ..modes import MODES, modes, noticing
from ..nodes import versions
from ..nodes.grads import added
from ..nodes.nodes import NodeRole, VariableRole, new_record, source_of, value_of
from ..nodes.records import Record
from ..nodes.versions import COPY_BYTES, Ghost
from ..numbering import now
from ..rules.table import Rule
from . import engine
from .passes import on_arrays, on_nodes, watched

Array = Any
F = TypeVar("F", bound=Callable[..., Any])
_ROWS: dict[int, Rule] = {}  # of checkpoints, by number of operands
IN_A_ROW = 12  # after so many operations that keep no value one does, else a recurrent network would be computed again
# from its first step, with all of its values at once


def checkpoint(f: F, *, generators: Sequence[np.random.Generator] = ()) -> F:
    """``f`` as one operation that keeps nothing but its operands, and runs ``f`` again in backward.

    f : any function of nodes, arrays and other things that returns a node or a tuple of them. Nodes that it uses
        without taking them as arguments (the weights of a layer) get their gradients too. It runs twice, so it must
        do the same both times: the modes of the first run are set again, and so is the state of every
        np.random.Generator among its arguments or in ``generators``.

    Checkpoints nest. Raises StaleValueError at backward if something that f reads has been overwritten since,
    LostGradientError if f took another way the second time.

    >>> import autoflow as af
    >>> w = af.Variable(3.0)
    >>> layer = checkpoint(lambda x: np.tanh(w * x) * w)
    >>> layer(2.0).backward()
    >>> round(float(w.grad), 6)
    1.000135
    """

    @functools.wraps(f)
    def checkpointed(*args: Any, **options: Any) -> Any:
        if not modes().recording:
            return f(*args, **options)
        return Segment(f, args, options, generators).run()

    return checkpointed  # type: ignore[return-value]


class Segment:
    """One call of a checkpointed function: what is needed to repeat it."""

    def __init__(self, f: Any, args: tuple[Any, ...], options: dict[str, Any], generators: Any) -> None:
        self.f, self.args = f, tuple([_own(x) for x in args])
        self.options = {name: _own(x) for name, x in options.items()}
        random = [x for x in (*args, *options.values()) if isinstance(x, np.random.Generator)]
        self.generators = [*generators, *random]
        self.states = [r.bit_generator.state for r in self.generators]
        self.modes, self.start = modes(), now()

    def run(self) -> Any:
        """The first run. Its graph is used to find out what the function reads, and then dropped."""
        answer = self.f(*self.args, **self.options)
        several = isinstance(answer, (tuple, list))
        results = list(answer) if several else [answer]
        sources = self.sources([source_of(z) for z in results if isinstance(z, NodeRole)])
        if not sources:
            return answer
        flows = [source_of(z) is not None for z in results]
        values = [value_of(x) if isinstance(x, VariableRole) else x.saved[-1] for x in sources]
        arrays = [own_result(value_of(z), values) for z in results]
        n = len(sources)
        if n not in _ROWS:
            names = [f"x{k}" for k in range(n)]
            _ROWS[n] = joint_row(
                "checkpoint", names, ["segment"], joint=lambda g, saved: saved[n](g, saved), reads=range(n)
            )
        operands: Gathered = (values, tuple(sources), {}, [])
        return record_results(_ROWS[n], operands, [self], arrays, several, flows.__getitem__)

    def sources(self, roots: list[Any]) -> list[Any]:
        """The Variables and records from before this call from which ``roots`` were computed."""
        found: dict[Any, None] = {}
        seen, waiting = set(roots), [root for root in roots if root is not None]
        for record in waiting:
            if record.number <= self.start:
                found[record] = None
                continue
            fresh = {p: None for p in record.parents if p is not None and p not in seen}
            seen |= fresh.keys()
            waiting += fresh
        return list(found)

    def again(self) -> list[Any]:
        """The results once more, with their graph."""
        states = [r.bit_generator.state for r in self.generators]
        token = MODES.set(replace(self.modes, recording=True))
        try:
            for r, state in zip(self.generators, self.states, strict=True):
                r.bit_generator.state = state
            answer = self.f(*self.args, **self.options)
        finally:
            MODES.reset(token)
            for r, state in zip(self.generators, states, strict=True):
                r.bit_generator.state = state
        return list(answer) if isinstance(answer, (tuple, list)) else [answer]

    def __call__(self, g: Any, saved: Sequence[Any]) -> list[Any]:
        """What is sent to the sources: run again, and go back through that graph, as far as the sources."""
        record = saved[-1]
        arrived = g.grads if isinstance(g, Parts) else {0: g}
        roots, seeds = [], []
        for j, z in enumerate(self.again()):
            if j in arrived and source_of(z) is not None:
                roots.append(source_of(z))
                seeds.append(arrived[j])
        ends = joint_row("results", [f"x{k}" for k in range(len(roots))], joint=lambda g, saved: seeds)
        root = new_record(ends, tuple(roots), (*[Ghost(np.empty(r.shape, r.dtype)) for r in roots], NOTHING))
        step = watched((on_nodes if modes().recording else on_arrays)(-1))
        sources = set(record.parents)
        pairs = dict(engine.pull_back(root, Parts({}), step, add=added, stop=sources))
        for holder in pairs:
            if holder not in sources and holder.number <= self.start:
                raise LostGradientError(
                    f"{record.node_name} used {holder.name} when it ran again, and not the first time: a checkpointed "
                    f"function must do the same in both runs. Does it read a counter, or random numbers that it was "
                    f"not given as a Generator?"
                )
        return [pairs.get(source) for source in record.parents]


def _own(x: Any) -> Any:
    """A plain argument that will not change: a copy, if it is small."""
    return x.copy() if type(x) is np.ndarray and x.nbytes <= COPY_BYTES else x


# -- automatic


class Balanced:
    """Strategy: elementwise operations and views are computed again, everything else keeps its value.

    Write your own: any object with ``is_memory_bound(operation)``, which is asked once per recorded operation.
    """

    def is_memory_bound(self, operation: Any) -> bool:
        """Is it better to compute this value again than to keep it? ``operation`` is the node."""
        row = operation.grad_fn.rule
        return bool(row.elementwise or row.view)


STRATEGIES: dict[str, Callable[[], Any]] = {"balanced": Balanced}


def checkpointing(strategy: Any = "balanced") -> noticing:
    """In the block, let operations that are cheap to repeat keep no value; a context manager and a decorator.

    strategy : "balanced", or an object with ``is_memory_bound(operation)``.

    Values of at most ``af.options.keep`` elements stay in any case. A value that is needed in a backward pass is
    computed once in it, from the nearest values that were kept; at most 12 operations away.

    >>> import autoflow as af
    >>> x = af.Variable(np.ones(10_000))
    >>> with checkpointing("balanced"):
    ...     y = np.sum(np.exp(np.sin(x)) * x)
    >>> y.backward()
    >>> x.grad[:2].round(6)
    array([3.573158, 3.573158])
    """
    if isinstance(strategy, str):
        if strategy not in STRATEGIES:
            raise ValueError(f"there is no strategy {strategy!r}; there is {', '.join(STRATEGIES)}, or write your own")
        strategy = STRATEGIES[strategy]()
    if not callable(getattr(strategy, "is_memory_bound", None)):
        raise TypeError(f"a strategy has a method is_memory_bound(operation); {type(strategy).__name__} has none")
    return noticing(functools.partial(forget, strategy))


def forget(strategy: Any, node: Any) -> None:
    """The notice of :func:`checkpointing`: let the record of ``node`` keep as little as the strategy says."""
    record, keep = node._record, modes().keep
    if versions.overwritten(node._value, record.number - 1):
        return  # an operation in place: the operand was in the same memory, and is gone
    saved, extra = list(record.saved), dict(record.extra or {})
    behind = [(p.extra or {}).get("recall", 0) for p in record.parents if type(p) is Record]
    steps = 1 + max(behind, default=0)  # operations in a row, up to this one, whose values were not kept
    bound = record.rule.compute is not None and steps <= IN_A_ROW and strategy.is_memory_bound(node)
    for k, parent in enumerate(record.parents):
        value = saved[k]
        if type(parent) is Record and "recall" in (parent.extra or {}):
            if hasattr(value, "size") and type(value) is not Ghost and value.size > keep:
                saved[k] = Ghost(value)  # the parent has it, or can compute it again
        elif bound and type(value) is Ghost:  # no derivative needs it, but this value will not come again without
            value = value.reference()
            if value is None:
                bound = False
            elif parent is None:
                saved[k], mark = versions.protect(value)
                extra["prints"] = [*extra.get("prints", ()), *([] if mark is None else [(saved[k], mark)])]
            else:
                saved[k] = value
    if node.size > keep:
        saved[-1] = Ghost(node._value) if bound else node._value
    record.saved, record.extra = tuple(saved), {**extra, "recall": steps if bound else 0}
