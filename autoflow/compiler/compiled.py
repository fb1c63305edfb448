"""``af.compile``: a function as a program, recorded at the first call and replayed at the later ones.

This file finds the program for a call (signature.py, the guards), keeps a bounded number of programs, and puts results
back into the containers that the function returned. A call with the same kind of arguments as the one before takes a
short cut: only shapes and dtypes are compared.
"""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Callable
from contextvars import copy_context
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from ..backends.duck_arrays import flat
from ..backprop.snapshots import Snapshot, others_run
from ..base import pytree
from ..base.errors import CompileError
from ..base.modes import modes
from ..base.numbering import now
from ..base.process import Lock
from ..base.transformed import FunctionOfFunction
from ..nodes.cuts import note_constants, take_constants
from ..nodes.nodes import Array, ByName, Node, Values, gradient_target, value_of
from .matching import Nth, assembler, has_dtype, matcher
from .report import PlanReport, count_phrase, profile_entry, random_input
from .run.buffers import Reported
from .signature import Same, is_array, key_of_modes, shape_of, signature
from .trace.reachable import aliases
from .trace.recorded import Recorded, record
from .trace.traced import Traced

if TYPE_CHECKING:
    from .text.program_text import ProgramText

P = ParamSpec("P")
R = TypeVar("R")
MANY = 8
SLOW = (
    "the compiled {} has been recorded {} times, because something that it finds outside changes between the calls (a "
    "number, an array that is written into). Make it an argument. If it is an array that the function only computes "
    "with, and no if or float() looks at, af.compile(f, watch=False) is enough."
)
ACCURACY = {"e": 1e-2, "f": 1e-4, "F": 1e-4}  # of the largest entry: sums may be added in another order
DIFFERS = (
    "something in it differs from call to call or may not be asked while it is recorded (the time, random numbers, a "
    "file, `type(x)`, `id(x)`, `is` with an array that it finds outside). Pass that as an argument, write "
    "isinstance(x, np.ndarray) for type(x), or say af.compile(f, fallback=True)."
)
ANOTHER = object()  # the answer of a plan when a call needs another program


ENGINES = {"numpy": "engine", "llvm": "llvm.native", "auto": "llvm.native", "jax": "jax.engine"}


def engine_of(name: str) -> ModuleType:
    """The engine, see ``engine.py``, imported at its first use."""
    if name not in ENGINES:
        raise ValueError(f'engine is "numpy", "llvm", "jax" or "auto", not {name!r}')
    return import_module(f"{__package__}.{ENGINES[name]}")


class Compiled(FunctionOfFunction, Generic[P, R]):
    """What :func:`compile` returns: call it like the function. ``plan()`` shows what it does.

    A copy, like an unpickled one, has the function and the options, but no recorded program.
    """

    def __init__(self, f: Callable[P, R], how: ByName) -> None:
        super().__init__(f, how)
        self.fallback, self.limit = how["fallback"], how["limit"]
        self.entries: OrderedDict[Any, Entry | CompileError | None] = OrderedDict()
        self.latest: Entry | None = None
        self.refused = False  # once a recording was refused, later ones do not wait for other threads
        self.renewed = 0  # how often something outside had changed
        self.lock = Lock()  # two threads do not record the same

    @overload
    def __call__(self: Compiled[P, Node], *args: P.args, **options: P.kwargs) -> np.ndarray: ...
    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> R: ...
    def __call__(self, *args: object, **options: object) -> Any:
        entry = self.latest
        if entry is None or entry.unproved or options:
            return self.at_length(args, options)
        try:
            results = entry.quick(args)
        except CompileError as error:
            return self.handle_failure(error, args, options)
        except Exception:  # rare: NumPy has something to report, or raises; eager code decides what it means
            return self.run_eagerly(args, options)
        return results if results is not ANOTHER else self.at_length(args, options)

    def at_length(self, args: Values, options: ByName) -> Any:
        """A call unlike the last one: look the program up, or record it."""
        leaves = pytree.tree_leaves([args, options])
        if wants_nodes(leaves):
            return self.f(*args, **options)
        arrays = [x for x in leaves if is_array(x)]
        try:
            key = signature(args, options, leaves)
            with self.lock:
                entry = self.look_up(key, args, options)
                if entry is not None and (inside := entry.ids_outside(arrays)) != entry.inside:
                    key = (*key, inside)
                    entry = self.look_up(key, args, options, inside)
        except Exception as error:
            return self.handle_failure(error, args, options)
        if entry is None:
            return self.f(*args, **options)
        entry.calls += 1
        is_due = entry.is_due(self.how["verify"])
        self.latest = entry
        try:
            results = entry.run([value_of(x) for x in arrays])
        except CompileError as error:
            return self.handle_failure(error, args, options)
        except Exception as error:
            # The first call's recording has reported everything.
            with np.errstate(all="ignore" if type(error) is Reported and entry.calls == 1 else None):
                return self.run_eagerly(args, options)
        return self.compare(key, entry, args, options, results) if is_due else results

    def look_up(self, key: Values, args: Values, options: ByName, inside: Any = ()) -> Entry | None:
        """The program for these arguments, recorded at the first such call; None if they run eagerly."""
        entry = self.entries.get(key)
        if isinstance(entry, CompileError):  # it was compared with eager code, and differed
            raise entry
        if key not in self.entries or (entry is not None and not entry.recorded.guards.hold()):
            entry = self.record(key, args, options)
            if entry is not None:
                entry.inside = inside
        self.entries.move_to_end(key)
        return entry

    def compare(self, key: Values, entry: Entry, args: Values, options: ByName, results: object) -> Any:
        """The results, if they are those of eager code for these arguments."""
        scale = max([size_of_numbers(x) for x in pytree.tree_leaves([args, options]) if is_array(x)], default=0.0)
        before = Snapshot(self.f, args, options)
        eager = self.f(*args, **options)
        try:
            check_equal(eager, results, self.name, entry.accuracy, scale)
            if not entry.guards_hold() and not others_run():
                raise CompileError(f"the compiled {self.name} changes what it finds outside: {DIFFERS}")
        except CompileError as error:
            self.latest = None
            self.entries[key] = None if self.fallback else error
            if not self.fallback or entry.calls == 1:  # the recording has already changed it once
                before.restore()
            if self.fallback:
                return eager
            raise
        sizes = [size_of_numbers(x) for x in pytree.tree_leaves(results) if has_dtype(x)]
        if self.how["verify"] == "second" and entry.calls > 1 and (any(sizes) or not sizes or entry.calls > MANY):
            entry.unproved = False  # equal zeros would say little
        return results

    def run_eagerly(self, args: Values, options: ByName) -> Any:
        """The function's result as a program returns it: new arrays instead of nodes and NumPy's numbers."""
        results = self.f(*args, **options)
        return pytree.tree_map(lambda x: np.array(value_of(x)) if has_dtype(x) else x, results)

    def handle_failure(self, error: Exception, args: Values, options: ByName) -> Any:
        """The function cannot be compiled, or recording it raised an error. Run it eagerly: an error that eager code
        raises, too, is the user's; any other is ours, and counts as a refusal."""
        if isinstance(error, CompileError) and not self.fallback:
            raise error
        if self.fallback:
            return self.f(*args, **options)
        before = Snapshot(self.f, args, options)
        copy_context().run(self.f, *args, **options)
        before.restore()
        raise CompileError(
            f"the compiled {self.name} ended in {type(error).__name__}: {error}. Eager code does not: take the part "
            f"that fails out of the compiled function, or say af.compile(f, fallback=True)."
        ) from error

    @property
    def name(self) -> str:
        """The name of the function in messages."""
        return getattr(self.f, "__name__", "function")

    def record(self, key: Values, args: Values, options: ByName) -> Entry | None:
        """Record the function for arguments like these; None if it has to run eagerly."""
        entry = None
        if self.entries.get(key) is not None:
            self.renewed += 1
            if self.renewed == MANY:
                warnings.warn(SLOW.format(self.name, MANY), RuntimeWarning, stacklevel=4)
        before = Snapshot(self.f, args, options)
        try:
            if self.fallback and before.iterators:
                raise CompileError("an iterator that moves on while a function is recorded cannot be put back")
            keys = [x for x in flat(key[:2]) if type(x) is Same or (isinstance(x, type) and x.__module__ != "builtins")]
            others = [x.x if type(x) is Same else x for x in keys]
            # In a copy of the context: what the function sets in it is not there for a second run.
            how = self.how["watch"], not self.refused, others
            recorded = copy_context().run(record, self.f, args, options, is_array, *how)
            entry = Entry(recorded, args, options, self.how)
        except BaseException as error:  # eager code knows whether it is one of the user's
            before.restore()
            self.refused |= isinstance(error, Exception)
            if not self.fallback or not isinstance(error, Exception):
                raise
        self.entries[key] = entry
        while len(self.entries) > self.limit:
            self.entries.popitem(last=False)
        return entry

    def plan(self, *args: object, profile: bool = False) -> PlanReport:
        """What the last used program does, or the one for ``args``: calls, buffers, bytes, as a table and as a picture.
        ``profile``: also how long each call takes; without ``args`` it runs with random numbers. Raises CompileError if
        nothing has been recorded, or random numbers will not do.

        >>> import autoflow as af
        >>> f = compile(lambda x: np.tanh(x * 2.0).sum())
        >>> f(np.zeros(3))
        array(0.)
        >>> f.plan()
        3 NumPy calls, 1 buffer of 24 bytes in all
            call        shape  dtype    operands  into
         1  multiply    (3,)   float64  x0 2.0    buffer 0
         2  tanh        (3,)   float64  1         buffer 0
         3  add.reduce  ()     float64  2         result 0
        """
        if args:
            start = now()
            self.at_length(args, {})
            take_constants(start)
        entry = self.latest_entry()
        if profile:
            return profile_entry(entry, [value_of(x) for x in pytree.tree_leaves(args) if is_array(x)] or None)
        return PlanReport(entry.free[-1])

    def program(self, *args: object) -> ProgramText:
        """The recorded program for ``args``, or for arguments like those of the last recording: an object whose
        ``to_python()`` and ``to_javascript()`` write it as source that does not need autoflow.

        Raises CompileError if the function cannot be compiled, or if nothing has been recorded.

        >>> import autoflow as af
        >>> af.compile(af.grad(lambda x: np.sum(x**2))).program(np.ones(3))
        <program of <lambda>: x float64(3,); 3 values>
        """
        from .text.program_text import ProgramText

        if not args:  # of the signature that was recorded last, with numbers between 0.5 and 1.5
            entry = self.latest_entry()
            arrays = iter([random_input(v) for v in entry.program.inputs])
            args = pytree.tree_map(lambda x: next(arrays) if type(x) is Nth else x, entry.arguments)
        return ProgramText(self.f, args)

    def latest_entry(self) -> Entry:
        """The program that was used last."""
        used = [entry for entry in self.entries.values() if isinstance(entry, Entry)]
        if not used:
            raise CompileError("nothing was recorded yet: call the compiled function once, or give arguments")
        return used[-1]

    def __repr__(self) -> str:
        return f"<compiled {self.name}, {count_phrase(len(self.entries), 'program')}>"


class Entry:
    """A program for one signature, and plans for it: one per thread that is inside at the same time."""

    def __init__(self, recorded: Recorded, args: Values, options: ByName, how: ByName) -> None:
        self.recorded, self.how = recorded, how
        self.program = recorded.program
        self.modes, self.switches = modes(), key_of_modes()
        self.guards_hold = recorded.guards.hold
        self.matches = None if options else matcher(args)
        self.outside, self.constants = recorded.outside, recorded.guards.constants
        self.inside: tuple[int, ...] = ()  # which arguments are arrays that the function finds outside, too
        self.arguments = pytree.tree_map(lambda x: Nth(0) if is_array(x) else x, args)
        self.aliases = aliases([x for x in pytree.tree_leaves([args, options]) if is_array(x)])
        self.calls = 0
        self.unproved = how["verify"] is not False  # is a later call to be compared with eager code?
        letters = {getattr(v.dtype, "char", "d") for v in self.program.order()}
        self.accuracy = max([ACCURACY.get(letter, 1e-10) for letter in letters], default=0)
        self.assemble = assembler(recorded.tree)
        self.plan: Callable[[], Any] = engine_of(how["engine"]).prepare(self.program, how)
        self.free: list[Any] = [self.plan()]
        self.program.forget_samples()

    def quick(self, args: Values) -> Any:
        """The result for arguments like those of the recording; ``ANOTHER`` if this is not the program for them."""
        arrays: list[Array] = []
        if self.matches is None or not self.matches(args, arrays):
            return ANOTHER
        if (self.aliases or len({*map(id, arrays)}) != len(arrays)) and aliases(arrays) != self.aliases:
            return ANOTHER
        if not self.outside.isdisjoint(map(id, arrays)) and self.ids_outside(arrays) != self.inside:
            return ANOTHER
        if (modes() is not self.modes and key_of_modes() != self.switches) or not self.guards_hold():
            return ANOTHER
        return self.run(arrays)

    def ids_outside(self, arrays: list[Any]) -> tuple[int, ...]:
        """The ids of arguments that are also arrays from outside; 0 for the others; () if there are none. For
        ``x is W``."""
        ids = [id(x) if id(x) in self.outside else 0 for x in arrays]
        return tuple(ids) if any(ids) else ()

    def is_due(self, verify: Any) -> bool:
        """Is this one of the calls that are compared with eager code?"""
        if isinstance(verify, bool):
            return verify
        if self.calls == 1:
            return self.recorded.asks or bool(self.inside)
        if verify == "second":
            return self.unproved
        return self.calls % verify == 0 or (self.calls < verify and self.calls & (self.calls - 1) == 0)

    def run(self, arrays: object) -> Any:
        """The results for these inputs, in the containers that the function returned. Raises Reported if NumPy would
        report something that the caller does not ignore."""
        try:
            plan = self.free.pop()  # atomic: a second thread finds none, and makes its own
        except IndexError:
            plan = self.plan()
        try:
            results = plan.run(arrays)
        finally:
            reports, plan.noticed.any = plan.noticed.any, False
            self.free.append(plan)
        if reports:
            raise Reported
        if self.constants:
            note_constants(self.constants)
        return self.assemble(results)


def wants_nodes(leaves: list[Any]) -> bool:
    """Are we in a recording or a transform that needs nodes, or does one of these arguments have a history?"""
    m = modes()
    inside = any([isinstance(x, Traced) for x in leaves]) or m.depth or m.layer or m.listeners or m.strict
    return bool(inside or (m.recording and any([gradient_target(x) is not None for x in leaves])))


def size_of_numbers(x: Array) -> float:
    """The largest finite number of an array, in size."""
    x = np.asarray(value_of(x))
    if x.dtype.kind not in "fciub":
        return 0.0
    return float(np.max(np.abs(x), initial=0, where=np.isfinite(x)))


def check_equal(eager: object, ours: object, name: str, accuracy: float = 1e-10, scale: float = 0.0) -> None:
    """Raise CompileError unless both results are equal: to ``accuracy``, relative to the largest number in an array or,
    since large ones may cancel, to ``scale``."""
    one, other = pytree.tree_leaves(eager), pytree.tree_leaves(ours)
    if shape_of(eager) != shape_of(ours):
        raise CompileError(f"the compiled {name} returned {len(other)} things, eager code {len(one)}: {DIFFERS}")
    for a, b in zip(one, other, strict=True):
        a, b = value_of(a), value_of(b)
        if not has_dtype(b):
            if type(a) is not type(b) or (a is not b and a != b and a == a):
                raise CompileError(f"the compiled {name} returned {b!r}, eager code {a!r}: {DIFFERS}")
            continue
        a = np.asarray(a)
        if a.shape != b.shape or a.dtype != b.dtype:
            actual, expected = f"{b.dtype} of shape {b.shape}", f"{a.dtype} of shape {a.shape}"
            raise CompileError(f"the compiled {name} returned {actual}, eager code {expected}: {DIFFERS}")
        bound = accuracy * max(size_of_numbers(a), scale)
        is_equal = np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM")
        if not (is_equal or (a.dtype.kind in "fc" and np.allclose(a, b, rtol=0, atol=bound, equal_nan=True))):
            by = size_of_numbers(np.subtract(a, b, dtype=complex)) if a.dtype.kind in "fciub" else np.nan
            raise CompileError(
                f"the compiled {name} and eager code disagree by {by:.3g} in a result of shape {a.shape}: {DIFFERS}"
            )


def compile(
    f: Callable[P, R], *, fallback: bool = False, verify: bool | int | str = "second", watch: bool = True,
    limit: int = 32, checkpointing: str | None = None, engine: str = "numpy",
    cache: str | os.PathLike[str] | None = None, own_functions: bool = False,
) -> Compiled[P, R]:  # fmt: skip
    """``f`` as a program: recorded at the first call, replayed without any bookkeeping at later calls.

    f : a function of arrays, numbers, and lists, tuples, dicts and dataclasses of them: NumPy code,
        ``af.value_and_grad(...)``, a whole training step that returns its new parameters.
    fallback : run eagerly what cannot be compiled. Without it that is an error that says why.
    verify : which calls with a program run ``f`` as well and compare: "second" the second one, which finds what differs
        from call to call; True every one; n the second, fourth, eighth ... and every n-th; False none.
    watch : False does not compare the contents of arrays from outside that the program reads at every run, nor of
        parameters that ``nn.functional_call`` replaces. Their new numbers are used in any case. The risk: a
        number that was read from such an array while recording, by ``if w[0] > 0``, ``float(w[0])``,
        ``w[w > 0].size`` or ``w + 1.0`` without a traced operand, silently stays what it was at the first call.
    limit : how many programs are kept, one per signature; the least recently used is dropped.
    checkpointing : "balanced" computes results of elementwise functions again instead of keeping them for the
        backward pass: less memory, more time.
    engine : "numpy" replays NumPy's calls. "llvm" (extra ``autoflow[llvm]``) compiles what it can into its own loops,
        mainly for small arrays and numbers; the rest stays NumPy's calls. "auto" uses it where it is installed.
        "jax" (extra ``autoflow[jax]``) gives the whole program to XLA, for a GPU or TPU: ``docs/jax.md``. Raises
        ImportError if llvmlite or JAX is missing; see ``docs/speed.md``.
    cache : with "llvm", a folder in which machine code is kept for later processes, created if missing. It is run,
        so the folder must be the user's alone: raises PermissionError if another user owns it or may write into it.
    own_functions : with "llvm", use our own exp, log, tanh, sin and cos even where those of the C library or of NumPy
        are faster, so that results do not depend on which of them is installed.

    Returns a function that gives what ``f`` gives: the same bits, except where the order of a summation changes (sums
    of four or more products, arrays of 100,000 elements and more; with "llvm" all sums, and exp, log, tanh, sin and cos
    are within 2 units of the last place): there the error is below 1e-13 of the largest entry.
    Arrays are new at every call, and nothing else writes into them. Nodes come out as plain arrays.

    The *signature* decides which program is used, or that a new one is recorded: containers; shapes, dtypes and order
    in memory of arrays, and whether a 0-d one is an array or one of NumPy's numbers; of everything else the value
    (Python's numbers too: make numbers that change often 0-d arrays), or which object it is; and switches such as
    ``af.no_grad``. What the code of ``f`` names, and that of the functions outside of packages that it reaches
    (closures, globals, defaults, attributes, buffers, ContextVars, ``os.environ``), is guarded by identity,
    and arrays and collections in full: if something has changed, ``f`` is recorded again. So values that change often,
    such as parameters, should be arguments; a large array outside takes time to compare (10⁶ numbers 0.4 ms).
    ``docs/guarantees.md`` lists changes that are not noticed and need ``verify=n``.

    In doubt, a compiled function is the function. After an exception in a run, or a warning or error of NumPy's that
    the caller does not ignore (``np.errstate``, warnings as errors), the call is made again eagerly, and that is the
    answer. An unused value is not computed, and cannot warn, unless its call may raise an error (``np.linalg.inv``);
    neither do overflows inside a product of matrices, nor values computed from constants. What ``f`` itself prints, and
    its own warnings, appear when it is recorded or compared (there perhaps twice), and not in later calls.

    Raises CompileError for anything that could differ at the next call: Python that asks for a value or a text
    (``if x.sum() > 0``, ``float(x)``, ``np.asarray(x)``, ``str(x)``); an exception that ``f`` catches while it is
    recorded; ``np.errstate`` in ``f`` that does not only silence; another shape or dtype of a call like ``x[x > 0]``;
    random numbers drawn inside; arrays of a subclass of ndarray; the time; names looked up by text; ``next`` of an
    iterator from outside; writing into an argument or into something outside; a value that is kept outside; and at the
    second call, if the results are not those of ``f``. With an argument that has a history, inside another
    transform, and in strict mode, ``f`` runs eagerly. (Otherwise no gradient comes back to a Variable that ``f``
    captures; a later pass that reaches it gives an UnprovedWarning.)

    >>> import autoflow as af
    >>> @af.compile
    ... def step(w, x, y):
    ...     loss, g = af.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
    ...     return loss, w - 0.5 * g
    >>> x, y, w = np.eye(2), np.array([1.0, 2.0]), np.zeros(2)
    >>> for _ in range(20):
    ...     loss, w = step(w, x, y)
    >>> w.round(3)
    array([1., 2.])
    """
    if not (isinstance(verify, bool) or verify == "second" or (isinstance(verify, int) and verify > 0)):
        raise ValueError(f'verify is "second", True, False or a positive integer, not {verify!r}')
    if checkpointing not in (None, "balanced"):
        raise ValueError(f'checkpointing is None or "balanced", not {checkpointing!r}')
    how: ByName = {
        "checkpointing": checkpointing, "watch": watch, "engine": engine, "fallback": fallback, "verify": verify,
        "limit": limit,
    }  # fmt: skip
    how |= engine_of(engine).options(how | {"cache": cache, "own_functions": own_functions})
    kind: type[Compiled[P, R]] = getattr(engine_of(engine), "KIND", Compiled)
    return kind(f, how)
