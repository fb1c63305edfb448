"""Less memory for more time: values are computed again in the backward pass.

:func:`checkpoint` is explicit: a function whose insides are forgotten, and run again when gradients reach it. On a
chain of n layers, cut into √n checkpoints of √n layers each, about 2 √n values are alive instead of n, for one more
forward pass (T. Chen et al., "Training deep nets with sublinear memory cost", 2016).

:func:`checkpointing` is automatic: in its block, records of operations that are limited by memory rather than by
arithmetic (elementwise functions, views) keep no value. A pass that needs such a value computes it, once, from the
nearest values that were kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from sys import getrefcount
from typing import Any, overload

import numpy as np

from ..backends.registry import layer_of
from ..base.errors import LostGradientError, StaleValueError
from ..base.modes import MODES, listening, modes
from ..base.numbering import now
from ..base.pytree import tree_leaves, tree_map, tree_unflatten
from ..base.transformed import FunctionOfFunction
from ..base.types import F, T
from ..extending.joint import Operands, Parts, one_root, own_result, record_results, step_row
from ..nodes.grads import add_gradients, cast_gradient
from ..nodes.nodes import AnyFunction, Array, ByName, Node, NodeRole, Values, VariableRole, gradient_target, value_of
from ..nodes.records import Holder, Record, extend, holder_name
from ..nodes.versions import ALONE, COPY_BYTES, FreedArray, protect, writer_since
from ..rules.linalg import indexed_sum
from . import engine
from .anomaly import check_operation
from .opening import on_arrays, on_nodes, wrap_by_modes
from .second_runs import Fingerprint, checksum, is_at, put_state, reachable_generators, sources_and_made, state_of

IN_A_ROW = 12  # after this many operations without a kept value one is kept, else a recurrent network is computed again
# from its first step, with all of its values at once


@overload
def checkpoint(f: F, *, generators: Sequence[Any] = (), policy: Any = None) -> F: ...
@overload
def checkpoint(f: Callable[..., T], x: Any, /, *args: Any, generators: Sequence[Any] = (), policy: Any = None) -> T: ...
def checkpoint(f: Any, *args: Any, generators: Sequence[Any] = (), policy: Any = None) -> Any:
    """``f`` as one operation that keeps nothing but its operands, and runs ``f`` again in backward. With arguments it
    is called with them at once, as in PyTorch: ``checkpoint(f, x)`` is ``checkpoint(f)(x)``.

    f : any function of nodes, arrays and other things that returns a node, or containers with nodes and anything else
        in them. Nodes that it uses without taking them as arguments (the weights of a layer) get their gradients too.
        It runs twice, and must do the same both times. For that, the second run gets the modes of the first, the state
        of every random generator that f reaches (np.random, random, and those in arguments, closures, globals and
        attributes), and lists and dicts among the arguments as they were. The running statistics of ``nn.BatchNorm``
        are updated once, hooks on nodes from outside are registered once, and only the first run is told to
        ``af.on_operation`` around it. The nodes of the result have memory of their own, also where f returns an
        argument or a view.
    generators : other random generators of NumPy or Python that f draws from, which cannot be found that way.
    policy : a strategy of :func:`checkpointing`: then f is not run again as a whole, but its operations keep their
        values or not, as the strategy says. ``policy="products"`` keeps the results of matrix products, which are
        expensive, and computes the rest again. Random numbers are kept.

    The second run is compared with the first: results, operations, and their inputs from outside. Checkpoints can be
    nested. Raises, in the backward pass, StaleValueError if the runs differ or if something that f reads has been
    overwritten since, and LostGradientError if f used other nodes.

    >>> import autoflow as af
    >>> w = af.Variable(3.0)
    >>> layer = checkpoint(lambda x: np.tanh(w * x) * w)
    >>> layer(2.0).backward()
    >>> round(float(w.grad), 6)
    1.000135
    """
    if policy is not None and tuple(generators):
        raise TypeError("checkpoint: with a policy no random number is drawn again, so it takes no generators")
    run = CheckpointedFunction(f, {"generators": generators}) if policy is None else checkpointing(policy)(f)
    return run(*args) if args else run


class CheckpointedFunction(FunctionOfFunction):
    """``f`` as one operation."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call ``f`` and record only its operands."""
        if not modes().recording:
            return self.f(*args, **options)
        return Segment(self.f, args, options, self.how["generators"]).run(args, options)


class Segment:
    """One call of a checkpointed function: what is needed to repeat it and to compare the runs."""

    def __init__(self, f: AnyFunction, args: Values, options: ByName, generators: Sequence[Any]) -> None:
        self.f = f
        self.args, self.options = _copy_argument(args), _copy_argument(options)
        self.states = [(x, state_of(x)) for x in reachable_generators(*generators, f, args, options)]
        self.modes, self.start = modes(), now()

    def run(self, args: Values, options: ByName) -> Any:
        """The first run. Its graph is used to find out what the function reads, and then dropped."""
        answer = self.f(*args, **options)
        self.states = [pair for pair in self.states if not is_at(*pair)]
        results, roots = tree_leaves(answer), roots_of(answer)
        sources, _ = sources_and_made(roots, self.start)
        values = [value_of(x) if isinstance(x, VariableRole) else x.result for x in sources]
        if not sources or any([layer_of(x) is not modes().layer for x in values]):
            return answer  # gradients are asked for when a vmap around this has ended
        self.fingerprint = Fingerprint(roots, self.start, answer)
        inputs = [*values, *tree_leaves([args, options])]
        live = [k for k, root in enumerate(roots) if root is not None]
        arrays = [own_result(value_of(results[k]), inputs, None) for k in live]
        for j, k in enumerate(live):
            z, is_held = arrays[j], getrefcount(results[k]) > ALONE + 1
            if z is value_of(results[k]) and (is_held or getattr(z, "base", None) is not None):
                arrays[j] = z.copy(order="K")  # f may keep the node, or what it is a view of
        several = len(live) > 1
        row = step_row(Segment, "checkpoint", len(sources), range(len(sources)))
        nodes = record_results(row, Operands(values, list(sources), {}, []), [self], arrays, several)
        for k, node in zip(live, nodes if several else [nodes], strict=True):
            results[k] = node
        return tree_unflatten(answer, results)

    def again(self, record: Record) -> list[Holder]:
        """The records of the results once more. An error if this run differs from the first. ``record``: our own."""
        self.check_sources(record)
        start, before = now(), [(x, state_of(x)) for x, _ in self.states]
        heard = tuple([x if is_own(x) else ignore for x in self.modes.listeners])
        token = MODES.set(replace(self.modes, recording=True, repeating=start, listeners=heard))
        try:
            for pair in self.states:
                put_state(*pair)
            answer = self.f(*_copy_argument(self.args), **_copy_argument(self.options))
        finally:
            MODES.reset(token)
            for pair in before:
                put_state(*pair)
        roots = roots_of(answer)
        self.compare(record, Fingerprint(roots, start, answer))
        return roots

    def check_sources(self, record: Record) -> None:
        """Refuse if a node that ``f`` reads has been written into since; then ``f`` need not run again."""
        for source in record.parents:
            value = value_of(source) if isinstance(source, VariableRole) else source.result
            value = value.reference() if type(value) is FreedArray else value
            if where := writer_since(value, self.start):
                raise StaleValueError(
                    f"{record.node_name} was checkpointed and would run again, but {where} has overwritten "
                    f"{holder_name(source)} since. Write a = a * b instead of a *= b there, or give it a copy."
                )

    def compare(self, record: Record, second: Fingerprint) -> None:
        """Raise an error if the second run differs from the first."""
        name, sources = record.node_name, set(record.parents)
        for source in [source for source in second.sources if source not in sources]:
            if source.number > self.start:
                raise StaleValueError(
                    f"{name} used {holder_name(source)} when it ran again, which was made or written into since its "
                    f"first run. What a checkpointed function reads must stay as it is until backward."
                )
            raise LostGradientError(
                f"{name} used {holder_name(source)} when it ran again, and not the first time: a checkpointed "
                f"function must do the same in both runs. Does it read a counter, or random numbers that it was "
                f"not given as a Generator?"
            )
        difference = self.fingerprint.difference(second)
        if not difference and len(second.sources) < len(sources):
            difference = "it did not use all nodes that it used the first time"
        if difference:
            raise StaleValueError(
                f"{name} was checkpointed and ran again, but this run is not the first one: {difference}. Has an array "
                f"that it reads been overwritten since, does it count its calls or take from an iterator? Give it what "
                f"it reads as arguments, and copies. Does it draw random numbers? Name the generator: "
                f"checkpoint(f, generators=[rng])."
            )

    def compared_in_runs(self) -> tuple[int, ...]:
        """What a checkpoint around this one compares: the operations inside."""
        return (*self.fingerprint.steps,)

    def __call__(self, g: Array, saved: Values) -> list[Array | None]:
        """The gradients of the sources: run ``f`` again, and go back through that graph as far as the sources."""
        record = saved[-1]
        arrived = g.grads if isinstance(g, Parts) else {0: g}
        roots = [root for root in self.again(record) if root is not None]
        root = one_root([roots[j] for j in arrived], list(arrived.values()))
        open_record = wrap_by_modes((on_nodes if modes().recording else on_arrays)(-1))
        pairs = dict(engine.pull_back(root, Parts({}), open_record, add=add_gradients, stop=set(record.parents)))
        return [cast_gradient(pairs[x], x.dtype) if x in pairs else None for x in record.parents]


def roots_of(answer: object) -> list[Holder]:
    """For each leaf of what ``f`` returned the record, or Variable, that a gradient flows to; None for all others."""
    return [gradient_target(z) if isinstance(z, NodeRole) else None for z in tree_leaves(answer)]


def is_own(listener: object) -> bool:
    """Is it one of our modes that listens, and not the user, who has heard these operations in the first run?"""
    return listener is check_operation or getattr(listener, "func", None) is forget


def ignore(node: NodeRole) -> None:
    """A listener in the place of the user's. Without any, functions might take another way than in the first run."""


def _copy_argument(tree: Any) -> Any:
    """An argument that will not change: new lists and dicts, copies of small plain arrays."""
    return tree_map(lambda x: x.copy(order="K") if type(x) is np.ndarray and x.nbytes <= COPY_BYTES else x, tree)


# -- automatic


PRODUCTS = {np.matmul, np.matvec, np.vecmat, np.vecdot, np.dot, np.inner, np.vdot, np.tensordot, indexed_sum}


def is_cheap(node: Node) -> bool:
    """Is an operation elementwise, or a view?"""
    return bool(node.grad_fn.rule.elementwise or node.grad_fn.rule.view)


def is_no_product(node: Node) -> bool:
    """Is an operation anything but a product of matrices?"""
    return node.grad_fn.rule.function not in PRODUCTS


STRATEGIES = {"balanced": is_cheap, "products": is_no_product}  # the operations that are computed again


def checkpointing(strategy: Any = "balanced") -> listening:
    """In the block, let operations that are cheap to repeat keep no value; a context manager and a decorator.

    strategy : "balanced" (elementwise functions and views are computed again), "products" (everything except matrix
        products is computed again), or an object with ``is_memory_bound(operation)``, which is called once for each
        operation that is recorded, and says whether it is computed again.

    Values of at most ``af.options.keep`` elements are always kept. A value that a backward pass needs is computed once
    in that pass, from the nearest values that were kept, at most 12 operations away. Raises StaleValueError if one of
    those has been overwritten since. Plain arrays of operations in the block are compared in full.

    >>> import autoflow as af
    >>> x = af.Variable(np.ones(10_000))
    >>> with checkpointing("balanced"):
    ...     y = np.sum(np.exp(np.sin(x)) * x)
    >>> y.backward()
    >>> x.grad[:2].round(6)
    array([3.573158, 3.573158])
    """
    if isinstance(strategy, str) and strategy not in STRATEGIES:
        raise ValueError(f"there is no strategy {strategy!r}; there is {', '.join(STRATEGIES)}, or write your own")
    chosen = STRATEGIES[strategy] if isinstance(strategy, str) else getattr(strategy, "is_memory_bound", None)
    if not callable(chosen):
        raise TypeError(f"a strategy has a method is_memory_bound(operation); {type(strategy).__name__} has none")
    return listening(functools.partial(forget, chosen))


def depth_of(record: Record) -> int | None:
    """How many operations in a row, up to this, keep no value; 0 if it keeps its own. None without checkpointing."""
    return record.extra.recompute_depth if record.extra is not None else None


def forget(is_memory_bound: Callable[[Node], bool], node: Node) -> None:
    """The listener of :func:`checkpointing`: let the record of ``node`` keep as little as the strategy says."""
    record, keep = node._record, modes().keep
    if writer_since(node._value, record.number - 1):
        return  # an operation in place: the operand was in the same memory, and is gone
    saved, fingerprints = list(record.saved), list(record.extra.fingerprints if record.extra is not None else ())
    # Operations in a row, up to this one, whose values were not kept:
    steps = 1 + max([depth_of(p) or 0 for p in record.parents if type(p) is Record], default=0)
    bound = record.rule.compute is not None and steps <= IN_A_ROW and is_memory_bound(node)
    for k, parent in enumerate(record.parents):
        value = saved[k]
        if type(parent) is Record and depth_of(parent) is not None:
            if hasattr(value, "size") and type(value) is not FreedArray and value.size > keep:
                saved[k] = FreedArray(value)  # the parent has it, or can compute it again
        elif bound and type(value) is FreedArray:  # no derivative needs it, but this value will not come again without
            value = value.reference()
            if value is None:
                bound = False
            elif parent is None:
                saved[k], mark = protect(value)
                fingerprints += [] if mark is None else [(saved[k], mark)]
            else:
                saved[k] = value
    if node.size > keep:
        saved[-1] = FreedArray(node._value) if bound else node._value
    record.saved = tuple(saved)
    checksums = [(array, checksum(array)) for array, _ in fingerprints]
    extend(record, fingerprints=fingerprints, checksums=checksums, recompute_depth=steps if bound else 0)
