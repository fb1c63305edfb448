"""One recording: a function is called with Traced arrays, and its operations become a program.

Three things can go wrong beyond what ``traced.py`` refuses, and all three are looked for here.

* A derivative of the table looks at numbers (the rule of ``max`` counts ties and takes a quick way if there are no
  ties). It is then not taken apart, but becomes one call of the program.
* The function keeps a value that it computed: in the ``grad`` of a Variable, in a list, in an attribute. No array of
  ours may live on after the recording, so those that do are found.
* The function changes something, or draws random numbers: ``guards.py``.

The first section is about parameters that a function has seen only because ``nn.functional_call`` has put others in
their place. An optimiser writes into the model's own parameters between the calls of a compiled step that gets them as
an argument. That need not matter, but it does if the function also looks at ``model.weight`` itself. So while a
function is recorded, ``Module`` reports who reads an attribute. A parameter does not matter if it was not read outside
of ``functional_call``, and if its memory cannot be reached otherwise.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from ...backends.duck_arrays import Registration, guard_derivatives
from ...base import pytree
from ...base.errors import CompileError
from ...base.lazy import NN_MODULE
from ...base.modes import switched
from ...base.process import Lock
from ...nodes.nodes import Array, NodeRole, value_of
from ...nodes.versions import owner_of
from ..matching import Place, check_result, has_dtype
from ..program import Program
from .doubts import Doubt, refuse_number
from .guards import Guards
from .tape import RECORDINGS, Tape, tape_here
from .traced import Traced

# ---------------------------------------------------------------- parameters in whose place others were put

LOCK = Lock()
# Of recordings that run: the thread, the code of functional_call, and the attributes that were read outside of it.
READERS: list[tuple[int, Any, set[tuple[int, str]]]] = []


def read_attribute(self: Any, name: str) -> Any:
    """``Module.__getattribute__`` during a recording."""
    value = object.__getattribute__(self, name)
    if name == "__dict__" or isinstance(value, (NodeRole, np.ndarray)):
        here = threading.get_ident()
        for thread, inside, seen in READERS:
            if thread == here and not is_running(inside):
                seen.add((id(self), name))
    return value


def is_running(code: Any) -> bool:
    """Is one of the calls around us a call of that code?"""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


@contextmanager
def noting_readers() -> Iterator[set[tuple[int, str]] | None]:
    """Note the attributes of modules that are read; None if there are no modules in this process."""
    file = sys.modules.get(NN_MODULE)
    if file is None:
        yield None
        return
    reader: Any = (threading.get_ident(), file.functional_call.__code__, set())
    with LOCK:
        READERS.append(reader)
        file.Module.__getattribute__ = read_attribute
    try:
        yield reader[2]
    finally:
        with LOCK:
            READERS[:] = [other for other in READERS if other is not reader]
            if not READERS:
                del file.Module.__getattribute__


def only_stood_in(edges: list[Any], replaced: set[int], seen: Any) -> set[int]:
    """The ids of replaced arrays that decide nothing: reachable only as an attribute that was not read."""
    if seen is None or not replaced:
        return set()
    Module = sys.modules[NN_MODULE].Module  # noqa: N806 - a class
    plain: Any = object.__getattribute__
    modules = {id(vars(x)): x for *_, x, _ in edges if isinstance(x, Module)}
    modules |= {id(vars(x)): x for x in (getattr(c, "__self__", None) for c, *_ in edges) if isinstance(x, Module)}
    reached = {id(child) for *_, child, _ in edges}
    fine: dict[int, set[int]] = {}  # the owner of memory -> ids of arrays in it
    others: set[int] = set()
    for container, key, child, _ in edges:
        array = getattr(child, "_value", None) if isinstance(child, NodeRole) else child
        if not isinstance(array, np.ndarray):
            continue
        owner, module = id(owner_of(array)), modules.get(id(container))
        read = (
            module is None
            or type(module).__getattribute__ is not plain
            or {(id(module), key), (id(module), "__dict__")} & seen
        )
        if id(array) in replaced and not read and id(container) not in reached:
            fine.setdefault(owner, set()).add(id(array))
        else:
            others.add(owner)
    return {array for owner, arrays in fine.items() if owner not in others for array in arrays}


ASKING = frozenset({"type", "id", "is_", "is_not"})  # for the class or the identity of an array


# ---------------------------------------------------------------- the recording, and what must not be left of it


class Recorded:
    """A function for arguments of one signature.

    program : what to compute.
    tree : what the function returned, with places in ``program.outputs`` where arrays stood.
    guards : what it found outside, and must find again.
    asks : may it ask for the class or the id of an array?
    outside : the ids of arrays outside.
    """

    def __init__(self, program: Program, tree: Any, guards: Guards, asks: bool, outside: frozenset[int]) -> None:
        self.program, self.tree, self.guards = program, tree, guards
        self.asks, self.outside = asks, outside


def record(
    f: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], is_input: Any, watch: bool = True
) -> Recorded:
    """Call ``f`` once, with Traced arrays where ``is_input(leaf)``. Raises CompileError for what cannot be compiled.

    watch : guard the contents of arrays that the program reads, in case they decided anything else? See ``guards.py``.
    """
    guards = Guards(f, [x for x in pytree.tree_leaves([args, options]) if not is_input(x)])
    tape = Tape(guards.named)
    program = tape.program

    entered: dict[int, Any] = {}  # an array that is passed twice is one object

    def entering(x: Any) -> Any:
        if not is_input(x):
            return x
        value = program.input(value_of(x))
        return entered.setdefault(id(x), tape.borrow(value))

    try:
        with (
            RECORDING.needed_by(tape),
            switched(wrap_open_record=guard_derivatives(partial(derive, tape))),
            noting_readers() as seen,
        ):
            try:
                result = f(*pytree.tree_map(entering, args), **pytree.tree_map(entering, options))
            except (Doubt, Exception):  # Ctrl-C passes
                if tape.reason is None:
                    raise
            if tape.reason is not None:
                raise tape.reason
        tape.settings.check_restored()
        check_result(result, [args, options])
        tree = pytree.tree_map(lambda x: add_output(tape, x), result)
        del result
    finally:
        tape.open = False
        entered.clear()
    guards.check_unchanged()
    asks = not ASKING.isdisjoint(guards.named)
    outside = frozenset(guards.contents)
    check_nothing_stays(tape)
    stood_in = only_stood_in(guards.edges, tape.replaced, seen)
    guards.watch(program, stood_in if watch else tape.replaced, watch)
    return Recorded(program, tree, guards, asks, outside)


def add_output(tape: Tape, x: Any) -> Any:
    """An array in the result becomes an output of the program."""
    x = value_of(x)
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


def derive(tape: Tape, vjp: Callable[..., Any], name: str, g: Any, saved: Any) -> Any:
    """A derivative in a backward pass: one that looks at numbers becomes one call."""
    if isinstance(g, NodeRole):  # nodes record it too
        return vjp(g, saved)
    before = tape.reason
    with suppress(Doubt):
        found = vjp(g, saved)
        if tape.reason is before:
            return found
    if before is not None:
        raise Doubt
    reason, tape.reason = tape.reason, None
    if hasattr(g, "batch_layer"):
        raise CompileError("af.vmap calls it for each example") from reason
    return tape.call(vjp, (g, tuple(saved)), shares=True)


WAITS = (0.001, 0.01, 0.1)  # seconds: a thread that looks at what others run (debuggers, proofs) holds their variables


def check_nothing_stays(tape: Tape) -> None:
    """Raise CompileError if an array of the recording is still alive: something outside keeps it."""
    if not any([r() is not None for r in tape.alive]):
        return
    gc.collect()
    for seconds in WAITS if threading.active_count() > 1 else ():
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
    tape.alive.clear()


# -- nodes on top of Traced arrays


def on_this_tape(array: Array) -> Any:
    """A NumPy array as part of the program that this thread records."""
    tape = tape_here()
    return tape.borrow(tape.value(array))


def numbers_for_display(x: Any) -> Array:
    """The numbers of an array, for pictures and printing."""
    raise x.tape.doubt(refuse_number("printing or drawing"))


# A function that NumPy knows nothing of is one call of the program.
RECORDING = Registration(
    Traced,
    RECORDINGS,
    from_numpy=on_this_tape,
    to_numpy=numbers_for_display,
    call=lambda function, x: x.tape.call(function, (x,)),
)
