"""One recording: a function is called with Traced arrays, and what it did is a program.

Three things can go wrong beyond what ``traced.py`` refuses, and all three are looked for here.

* A derivative of the table looks at numbers (the rule of ``max`` counts ties and takes a quick way if there are none).
  It is then not taken apart, but becomes one call of the program.
* The function keeps a value that it computed: in the ``grad`` of a Variable, in a list, in an attribute. No array of
  ours may live on after the recording, so those that do are found.
* The function changes something, or draws random numbers: ``guards.py``.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import pytree
from ...backends.duck_arrays import Registration
from ...backends.registry import NodeTypes
from ...errors import CompileError
from ...modes import switched
from ...nodes.nodes import NUMPY, NodeRole, value_of
from ..matching import Place, check_result, has_dtype
from ..program import Program
from .fresh import note_fresh_results
from .guards import Guards
from .kinds import refuse_number
from .stand_ins import noting_readers, only_stood_in
from .tape import Tape
from .traced import UNKNOWN, Traced

Array = Any


class Recorded:
    """A function for arguments of one signature.

    program : what to compute.
    tree : what the function returned, with places in ``program.outputs`` where arrays stood.
    guards : what it found outside, and must find again.
    identity : does it ask which object an array is? See ``identity.py``.
    outside : the ids of arrays outside, if it does.
    """

    def __init__(self, program: Program, tree: Any, guards: Guards, identity: bool, outside: frozenset[int]) -> None:
        self.program, self.tree, self.guards = program, tree, guards
        self.identity, self.outside = identity, outside


def record(
    f: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], is_input: Any, watch: bool = True
) -> Recorded:
    """Call ``f`` once, with Traced arrays where ``is_input(leaf)``. Raises CompileError for what cannot be compiled.

    watch : guard the contents of arrays that the program reads, in case they decided anything else? See ``guards.py``.
    """
    tape = Tape()
    program = tape.program
    guards = Guards(f, [x for x in pytree.tree_leaves([args, options]) if not is_input(x)])

    entered: dict[int, Any] = {}  # an array that is passed twice is one object

    def entering(x: Any) -> Any:
        if not is_input(x):
            return x
        value = program.input(value_of(x))
        return entered.setdefault(id(x), tape.borrow(value))

    try:
        with (
            RECORDING.needed_by(tape),
            switched(wrap_open_record=wrap_backward(tape)),
            noting_readers() as readers,
            note_fresh_results() as spy,
        ):
            result = f(*pytree.tree_map(entering, args), **pytree.tree_map(entering, options))
        check_result(result, [args, options])
        tree = pytree.tree_map(lambda x: add_output(tape, x), result)
        del result
    finally:
        tape.open = False
        entered.clear()
    guards.check_unchanged(spy.may_have_drawn)
    spy.check()
    identity = spy.asks_for_identity()
    outside = frozenset(guards.contents) if identity else frozenset()
    check_nothing_stays(tape)
    stood_in = only_stood_in(guards.edges, tape.replaced, readers)
    guards.watch(program, stood_in if watch else tape.replaced, watch)
    return Recorded(program, tree, guards, identity, outside)


def add_output(tape: Tape, x: Any) -> Any:
    """An array in the result becomes an output of the program."""
    x = value_of(x)
    if isinstance(x, str) and UNKNOWN in x:
        raise refuse_number("a text that is returned")
    if not has_dtype(x):
        return x
    plain = isinstance(x, np.generic) or (type(x) is np.ndarray and not x.dtype.hasobject)
    if not plain and not isinstance(x, Traced):
        raise CompileError(
            f"a compiled function returns a {type(x).__name__} of {x.dtype}, which would come back as a plain array, "
            f"or with objects that all calls share. Return plain arrays, or say af.compile(f, fallback=True)."
        )
    tape.program.outputs.append(tape.value(x))
    return Place(len(tape.program.outputs) - 1)


def wrap_backward(tape: Tape) -> Callable[[Any], Any]:
    """What wraps ``open_record`` of backward passes: derivatives that look at numbers become one call each."""

    def wrap_open_record(open_record: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def open_guarded(pair: Any) -> Any:
            g, vjps, saved, kept = open_record(pair)
            return g, [vjp and guarded(vjp) for vjp in vjps], saved, kept

        return open_guarded

    def guarded(vjp: Callable[..., Any]) -> Callable[..., Any]:
        def safely(g: Any, saved: Any) -> Any:
            if isinstance(g, NodeRole) or hasattr(g, "batch_layer"):  # nodes record it too; af.vmap calls us for each
                return vjp(g, saved)
            try:
                return vjp(g, saved)
            except CompileError:
                return tape.call(vjp, (g, tuple(saved)), shares=True)

        return safely

    return wrap_open_record


def check_nothing_stays(tape: Tape) -> None:
    """Raise CompileError if an array of the recording is still alive: something outside keeps it."""
    if not any([r() is not None for r in tape.alive]):
        return
    gc.collect()
    left = [x for r in tape.alive if (x := r()) is not None]
    if left:
        raise CompileError(
            f"the compiled function keeps {len(left)} of the arrays that it computed (the first has shape "
            f"{left[0].shape}): in the gradient of a Variable from outside, in a list, in an attribute. That would "
            f"happen in the first call only. Return them instead; for gradients of parameters make these an argument, "
            f"af.compile(af.value_and_grad(f))."
        )
    tape.alive.clear()


# -- nodes on top of Traced arrays -------------------------------------------------------------------------------------


def make_types() -> NodeTypes:
    """The classes of nodes on top of Traced arrays."""
    types = NodeTypes(Traced, NUMPY.roles, NUMPY.slots)
    types.from_numpy, types.to_numpy = on_this_tape, numbers_of
    types.call = as_one_call  # type: ignore[method-assign]
    return types


RECORDING = Registration(Traced, make_types)  # its users are the tapes that record


def on_this_tape(array: Array) -> Any:
    """A NumPy array as part of the program that this thread records."""
    here = threading.get_ident()
    tape = next(tape for tape in reversed(RECORDING.users) if tape.thread == here)
    return tape.borrow(tape.value(array))


def as_one_call(function: Any, x: Any) -> Any:
    """A function that NumPy knows nothing of, as one call of the program."""
    return x.tape.call(function, (x,))


def numbers_of(x: Any) -> Array:
    """What pictures and printing ask for."""
    raise refuse_number("printing or drawing")
