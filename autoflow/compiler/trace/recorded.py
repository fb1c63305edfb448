"""One recording: a function is called with Traced arrays, and its operations become a program.

Three things can go wrong beyond what ``traced.py`` refuses, and all three are looked for here.

* A derivative of the table looks at numbers (the rule of ``max`` counts ties and takes a short cut if there are none).
  It is then not taken apart, but becomes one call of the program.
* The function keeps a value that it computed: in the ``grad`` of a Variable, in a list, in an attribute. None of our
  arrays may outlive the recording, so those that do are found.
* The function changes something, or draws random numbers: ``guards.py``.

The first section is about parameters that ``nn.functional_call`` replaces with others. An optimiser writes into the
model's own ones between the calls of a compiled step that gets them as an argument. That does not matter as long as no
decision depends on their numbers. So while the function is recorded they are values of the program, too: a question for
their numbers is refused, and the function is recorded once more with the parameters themselves, which are then guards.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ...backends.duck_arrays import Registration, guard_derivatives
from ...backprop.snapshots import GRADIENT
from ...base import pytree
from ...base.errors import CompileError
from ...base.lazy import NN_MODULE
from ...base.modes import switched
from ...base.numbering import now
from ...batching.vmap import BatchFunction
from ...nodes.cuts import CONSTANTS, take_constants
from ...nodes.nodes import AnyFunction, Array, ByName, NodeRole, Values, Variable, gradient_target, value_of
from ...nodes.versions import owner_of
from ...transforms.shadow import INNER
from ..matching import Nth, check_result, has_dtype
from ..program import Program
from .doubts import Abandoned, refuse_number
from .guards import Guards, array_in
from .reachable import CATCHING
from .tape import RECORDINGS, Tape, tape_here
from .traced import Traced

# ---------------------------------------------------------------- parameters in whose place others are put


class Parameters:
    """The parameters and buffers of all modules that a function reaches, if it calls ``nn.functional_call``.

    ids : of their arrays.
    """

    def __init__(self, guards: Guards) -> None:
        self.nn: Any = sys.modules[NN_MODULE]
        objects = guards.reached() if "functional_call" in guards.named else []
        self.modules = [x for x in objects if isinstance(x, self.nn.Module)]
        self.own: dict[str, Any] = self.nn.entries({"parts": self.modules})
        self.ids = {id(value_of(x)) for x in self.own.values()}

    def hidden(self, tape: Tape, f: AnyFunction, *args: object, **options: object) -> Any:
        """``f(*args, **options)``, to which their numbers are values of the program."""
        new: dict[int, Any] = {}
        for x in self.own.values():
            if id(x) not in new:
                y = tape.borrow(tape.value(value_of(x)))
                new[id(x)] = Variable(y, copy=False, requires_grad=x.requires_grad) if isinstance(x, NodeRole) else y
        whole = self.nn.Module()
        whole.parts, whole.forward = self.modules, partial(f, *args, **options)
        result = self.nn.functional_call(whole, {path: new[id(x)] for path, x in self.own.items()})
        if any([getattr(x, slot, None) is not None for x in new.values() for slot in GRADIENT]):
            raise CompileError("the parameters of a module get gradients, which would happen in the first call only")
        return result

    def deciding_nothing(self, edges: list[Any]) -> set[int]:
        """The ids of the arrays that are hidden wherever the function can reach their memory."""
        inside = {id(vars(x)) for x in self.modules} - {id(child) for *_, child in edges}
        pairs = [(array_in(child), id(container) in inside) for container, _, child in edges]
        visible = [a for a, is_inside in pairs if isinstance(a, np.ndarray) and not (is_inside and id(a) in self.ids)]
        others = {id(owner_of(a)) for a in visible}
        return {id(a) for a in map(value_of, self.own.values()) if id(owner_of(a)) not in others}


# For the class, the identity or the attributes of an array, which exceptions of Python itself tell, too.
UNPROVED = "unproved"  # a name of functions in which something is done that eager code checks, and a recording cannot
ASKING = {"type", "id", "is_", "is_not", "hasattr", "getattr", "vars", "dir", "__doc__", "__module__", "vmap"}
ASKING |= {CATCHING, UNPROVED}


# ---------------------------------------------------------------- the recording, and what must not be left of it


class Recorded:
    """A function for arguments of one signature.

    program : what to compute.
    tree : what the function returned, with places in ``program.outputs`` instead of arrays.
    guards : what it found outside, and must find again.
    asks : may it ask for the class, the id or the attributes of an array, meet a number of Python's, which has others
        than an array, differentiate by numbers without a proof, or run af.vmap, which compares no recorded examples?
        Then the first call is compared, too.
    outside : the ids of arrays and collections outside.
    """

    def __init__(self, program: Program, tree: object, guards: Guards, asks: bool, outside: frozenset[int]) -> None:
        self.program, self.tree, self.guards = program, tree, guards
        self.asks, self.outside = asks, outside


def record(
    f: AnyFunction, args: Values, options: ByName, is_input: Any, watch: bool = True,
    patient: bool = True, others: Iterable[Any] = (),
) -> Recorded:  # fmt: skip
    """Call ``f`` once, with Traced arrays where ``is_input(leaf)``. Raises CompileError for what cannot be compiled.

    watch : guard the contents of arrays that the program reads, in case they decided anything else? See ``guards.py``.
    others : classes of containers among the arguments, and attributes of these.
    """
    guards = Guards(f, [*others, *[x for x in pytree.tree_leaves([args, options]) if not is_input(x)]])
    waits = WAITS if patient else ()
    parameters = Parameters(guards) if NN_MODULE in sys.modules else None
    ignored: set[int] = set()
    if parameters is None or not parameters.own:
        program, tree = run_once(f, args, options, is_input, guards, waits)
    else:
        try:
            program, tree = run_once(f, args, options, is_input, guards, waits, parameters.hidden)
            ignored = parameters.deciding_nothing(guards.edges)
        except Exception:
            program, tree = run_once(f, args, options, is_input, guards, waits)
    if guards.has_new_attributes():
        before, guards = guards, Guards(f, guards.roots[1:])
        guards.named, guards.constants = before.named, before.constants
    outside = frozenset(guards.contents)
    guards.watch(program, ignored, watch)
    return Recorded(program, tree, guards, not ASKING.isdisjoint(guards.named), outside)


def run_once(
    f: AnyFunction, args: Values, options: ByName, is_input: Any, guards: Guards,
    waits: Iterable[float], around: AnyFunction | None = None,
) -> tuple[Program, Any]:  # fmt: skip
    """The program, and what the function returned, with Places for arrays. ``around``: is called in place of f, with
    the tape, f, and f's arguments."""
    tape = Tape(guards.named, guards.contents)
    program = tape.program
    entered: dict[int, Any] = {}  # an array that is passed twice is one object

    def entering(x: Any) -> Any:
        if not is_input(x):
            return x
        value = program.input(value_of(x))
        return entered.setdefault(id(x), tape.borrow(value))

    traced = [pytree.tree_map(entering, args), pytree.tree_map(entering, options)]
    both = zip([*args, *options.values()], [*traced[0], *traced[1].values()], strict=True)
    rebuilt = [y for x, y in both if type(x) is type(y)]  # not an array, which is a Traced now
    is_unchanged: Any = rebuilt and pytree.watched(rebuilt)
    before, start = INNER.set(unproved := dict[int, Any]()), now()
    try:
        guard = guard_derivatives(partial(derive, tape))
        with RECORDING.needed_by(tape), switched(wrap_open_record=guard, own_memory=tape.own_memory):
            try:
                run = f if around is None else partial(around, tape, f)
                result = run(*traced[0], **traced[1])
            except (Abandoned, Exception):  # Ctrl-C passes
                if tape.reason is None:
                    raise
            if tape.reason is not None:
                raise tape.reason
        if rebuilt and not is_unchanged():
            raise CompileError(
                "a compiled function changes a list, dict or object among its arguments, which would happen in no "
                "call: change a copy and return it, or say af.compile(f, fallback=True)."
            )
        tape.settings.check_restored()
        check_result(result, [args, options])
        roots: list[Any] = []
        tree = pytree.tree_map(lambda x: add_output(tape, x, roots), result)
        if roots or CONSTANTS:
            guards.constants = take_constants(start, roots)
            roots.clear()
        del result
    finally:
        INNER.reset(before)
        tape.open = False
        entered.clear()
        del traced, both, rebuilt, is_unchanged
    guards.named |= {UNPROVED} if unproved or tape.gives_pythons or BatchFunction in guards.classes else set()
    for what in guards.changes():
        raise CompileError(f"the compiled function {what}.")
    for of_call in tape.given:
        if of_call.has_new_attributes() or [*of_call.changes()]:
            raise CompileError(
                "a compiled function changes an object that it gave to NumPy, or one that a function given to NumPy "
                "reads: each run would find it changed. Give a copy, or say af.compile(f, fallback=True)."
            )
    tape.given.clear()
    tape.settle()
    check_nothing_stays(tape, waits)
    return program, tree


def add_output(tape: Tape, x: Any, roots: list[Any]) -> Any:
    """An array in the result becomes an output of the program. The record of a node is added to ``roots``."""
    if issubclass(type(x), NodeRole) and (record := gradient_target(x)) is not None:
        roots.append(record)
    x = value_of(x)
    if not has_dtype(x):
        return x
    plain = isinstance(x, np.generic) or (type(x) is np.ndarray and not x.dtype.hasobject)
    if not plain and not isinstance(x, Traced):
        raise CompileError(
            f"a compiled function returns a {type(x).__name__} of {x.dtype}, which would come back as a plain array, "
            f"or with objects that all calls share. Return plain arrays, or say af.compile(f, fallback=True)."
        )
    tape.program.outputs.append(tape.program.in_memory(tape.value(x)))
    return Nth(len(tape.program.outputs) - 1)


def derive(tape: Tape, vjp: AnyFunction, name: str, g: Any, saved: Any) -> Any:
    """A derivative in a backward pass; if it looks at numbers, it becomes one call."""
    if isinstance(g, NodeRole):  # nodes record it too
        return vjp(g, saved)
    before = tape.reason
    with suppress(Abandoned):
        result = vjp(g, saved)
        if tape.reason is before:
            return result
    reason, tape.reason = tape.reason, before
    if hasattr(g, "batch_layer"):
        raise CompileError("af.vmap calls it for each example") from reason
    return tape.call(vjp, (g, tuple(saved)), shares=True)


WAITS = (0.001, 0.01, 0.1)  # seconds: a thread that looks at what others run (debuggers, proofs) holds their variables


def check_nothing_stays(tape: Tape, waits: Iterable[float]) -> None:
    """Raise CompileError if an array of the recording is still alive: something outside keeps it."""
    if not any([r() is not None for r in tape.alive]):
        return
    gc.collect()
    for seconds in waits if threading.active_count() > 1 else ():
        if any([r() is not None for r in tape.alive]):
            time.sleep(seconds)
    left = [x for r in tape.alive if (x := r()) is not None]
    if left:
        raise CompileError(
            f"the compiled function keeps {len(left)} of the arrays that it computed (the first has shape "
            f"{left[0].shape}): in the gradient of a Variable from outside, in a list, in an attribute. That would "
            f"happen in the first call only. Return them instead; for gradients of parameters make these an argument, "
            f"af.compile(af.value_and_grad(f))."
        )


# -- nodes on top of Traced arrays


def numbers_for_display(x: Any) -> Array:
    """The numbers of an array, for pictures and printing."""
    raise x.tape.doubt(refuse_number("printing or drawing"))


# A function that NumPy knows nothing of is one call of the program.
RECORDING = Registration(
    Traced, RECORDINGS, from_numpy=lambda x: tape_here().borrow(tape_here().value(x)), to_numpy=numbers_for_display,
    call=lambda function, x: x.tape.call(function, (x,)),
)  # fmt: skip
