"""Numbers that NumPy reads past us: found by a second run, in which there are other numbers to be read.

``np.array([v, v])`` of vectors, ``np.full(n, node)``, ``plain.dot(node)``, ``np.asarray(node)`` read the memory of a
node, and call nothing of ours. But a node has its numbers twice: in its own memory, which is what others see, and in
the plain array with which we compute (``node._value``). Usually both are the same memory. In a shadow run every new
node lies on memory of its own with slightly other numbers. All that asks nodes computes what it did before, to the bit,
so if the result is another one, then numbers were read past us: the gradient through them is lost.

Numbers that leave on purpose, by ``x.value``, ``float(x)``, ``af.stop_gradient(x)``, are the right ones in either run.
The call itself comes first, and its result is handed out. The second run begins with what the first one found
(``backprop/snapshots.py``) and leaves no trace.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
import sys
import time
import types
import warnings
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar, copy_context
from itertools import zip_longest
from operator import attrgetter
from typing import Any

import numpy as np

from ..backends.registry import AnyFunction, ByName, Values, on_host
from ..backprop.second_runs import is_busy, is_users, mark, named_by, reachable
from ..backprop.snapshots import MISSING, Snapshot, cell_value, others_run, silence, slots_of, value_in_context
from ..base import pytree
from ..base.errors import LostGradientError, UnprovedWarning
from ..base.modes import OTHER, TRUE, modes, switched, switched_elsewhere
from ..base.numbering import now
from ..base.process import finally_
from ..base.transformed import FunctionOfFunction
from ..nodes.nodes import ARGUMENT, NodeRole, current_record, gradient_target, shadow_of, value_of
from ..nodes.records import Holder, Record, ancestors
from ..program.source import numbers_read
from ..table.bodies import names_in

Run = Callable[[], Any]
busy_time: Callable[[], float] = getattr(time, "thread_time", time.process_time)  # browsers have no clock of threads
LONGEST = 3.0  # seconds of this thread's processor, or ten times as many by the clock; longer functions run once
LARGEST = 2**30  # bytes that a graph keeps; while a function runs again, there are three times as many
FILLED = 5e10  # bytes in a second that no processor fills; to look through a graph takes 0.7 µs for each operation
NEAR = (19, 30)  # for ``modes().shadow``
HELD = 200  # objects whose attributes are looked through for functions
COUNTS = 8  # ways that are looked at, of one function and kind of arguments
MOST = 1000  # functions whose proofs are remembered, and kinds of arguments of each


class Ways(set[tuple[int, int]]):
    """How many operations a function has recorded, and how many of them its results need, for some kind of arguments:
    as far as that has been looked at. ``last``: at the last call."""

    last = -1, -1
    are_zeros = False  # are all results so far zeros? Plain factors of 0 make them of any numbers.


class Proofs(dict[Any, Any]):
    """What is proved of a function: the arguments by which it is differentiated -> Proofs: kind of arguments -> Ways.
    Without any, it is looked at."""

    __hash__, __eq__ = object.__hash__, object.__eq__  # type: ignore[assignment]


OF_CODE: dict[Values, tuple[Any, Proofs]] = {}  # by the ids of codes, which are held here
Operations = list[tuple[Record, list[Any]]]  # of a run: the records, and the operands that they read
Note = tuple[Callable[[Any], Any], Any, Any]  # how and where to read what a function names, and what was there
# The same by the ids of the function or its globals, or of an object with its method, and of the code; what the closure
# held, and what is named.
PROVED: dict[tuple[int, int, int], tuple[Callable[[], Any], Any, list[Any], list[Note], Proofs]] = {}
UNKNOWN: Any = object, None, None, (), None  # of a function that is not in there
WORDS = (str, bytes, bool, np.bool_, type(None))
CODE = attrgetter("__code__")
CONTAINERS = (list, tuple, dict, deque, set, frozenset, types.MappingProxyType)
NAMED = (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)  # not what the user's __getattr__ answers
GROWING = (list, dict, deque, OrderedDict, defaultdict)
OPEN = sys.stdlib_module_names - {"builtins"}  # modules of Python's whose objects may hold others
LOAD_GLOBAL, EXTENDED = dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]
PARTIALS = (functools.partial, functools.partialmethod)
WRAPPED = ("fget", "__func__", "func")  # of properties, of methods of classes and static ones, of cached properties
SINGLE = (int, float, complex, np.generic, NodeRole)
NUMBERS = (*SINGLE, np.ndarray)
MANY = 100  # elements of a container that are looked at
NOT_ALIKE = ("cannot run twice, computes in a thread that was there before, or compares numbers that it reads without "
             "asking the node")  # fmt: skip
INNER: ContextVar[dict[int, list[Any]] | None] = ContextVar("autoflow_inner_results", default=None)  # in a proof
PAST_US = (
    "np.array([v, v]) of arrays, np.full(n, node), plain.dot(node), np.asarray(node) and functions of a library that "
    "knows no nodes, such as cupy.where, read the memory of a node and ask nobody. Use af.array([...]), np.stack, "
    "af.full, np.where; or x.value, float(x) or af.stop_gradient(x), if only the numbers are meant."
)


def proved_run(counts: Any, *call: Any) -> tuple[Any, Any]:
    """The result of a call (the arguments of :class:`Proof`), and ``counts``, the numbers with which it was proved
    before; None if it adds nothing to them. Raises LostGradientError if numbers of nodes reach its results past us.

    That is looked at once for each function, places and kind of arguments, and again when the number of operations, or
    of those that its results need, is new, or when it gives the first numbers other than 0; under strict and anomaly
    mode, and with ``af.options(prove="always")``, at each call. While the user has other threads there is no proof of a
    function that changes what it reaches, as what they change would be put back; the next call is looked at.
    """
    run, f, unused, _, _, places, *_ = call
    if counts:
        return run(), counts
    switches = modes()
    always = switches.strict or switches.anomaly or switches.prove == "always"
    refuse = switches.layer is not None or switches.wrap_open_record is not None  # arrays that can't be read past us
    if switches.shadow or ((switches.depth > 1 or refuse) and not always):
        result = run()
        if not always and (refuse or switches.depth > 1) and (table := INNER.get()) is not None:
            # In a recording, derivatives of numbers that it knows are told: these are the same in each call.
            leaves = result[2] if refuse and places else ()
            if not refuse or any([isinstance(x, np.ndarray) for x in leaves]):
                table.setdefault(id(code_of(f)), []).extend([] if refuse else numbers_with_gradient(result[:1], unused))
        return result, None
    if counts is not None and counts.are_zeros:
        result, inner = run_with_inner(run)
        counts.are_zeros = are_zeros(numbers_seen(result, inner, unused))
        return result, counts if not counts.are_zeros and Proof(*call).look_afterwards() else None
    proof = Proof(*call)
    result, looked = proof.run_and_look()
    if counts is not None:
        counts.are_zeros = proof.are_zeros
    return result, counts if looked and not proof.are_zeros else None


def counts_of(f: Any, args: Any, options: Any, place: Any, memory: Any = None) -> Ways:
    """The numbers with which ``f`` is proved for such arguments. ``place``: of what a proof does not hold elsewhere."""
    proofs, kind = proofs_of(f, place, memory), pytree.kind_of((args, options) if options else args, kind_of_object)
    if (counts := proofs.get(kind)) is None:
        if len(proofs) > MOST:
            proofs.clear()
        proofs[kind] = counts = Ways()
    return counts


def note_way(counts: Ways, way: tuple[int, int], *call: Any) -> None:
    """Note the numbers of a call. It has been looked at if there are no others; else it is now."""
    if way in counts or len(counts) >= COUNTS or not counts or Proof(*call).look_afterwards():
        counts.last = way
        counts |= {way} if len(counts) < COUNTS else set()
    else:
        counts.clear()  # the next call is looked at
        counts.last = -1, -1


def proofs_of(f: Any, place: Any = None, memory: list[Any] | None = None) -> Proofs:
    """What is proved of a function, or of another one with the same code; of it what holds at ``place``. ``memory``
    gets what ``evaluation.py:known_counts`` compares."""
    beside: Any = None
    code = f.__code__ if type(f) is types.FunctionType else None
    cells = (code and f.__closure__) or ()
    contents, holder = [*map(cell_value, cells)], f
    marks = [*map(mark_of, contents)]
    if code:
        # It is made anew at each call in many a program: its code stays, and most often what its closure decides.
        if not (None in marks or f.__defaults__ or f.__kwdefaults__ or vars(f)):
            holder, beside = code, f.__globals__
    elif type(f) is types.MethodType:
        holder, beside, code = f.__self__, f.__func__, getattr(f, "__code__", None)
    key = id(holder), id(beside), id(code)
    proved, _, marked, notes, proofs = PROVED.get(key, UNKNOWN)
    if proved() is holder and marked == marks and is_unchanged(notes):
        kinds, proofs = [*map(type, contents)], proofs.get(place) or proofs.setdefault(place, Proofs())
        if memory is not None and code is not None and (marks == kinds or holder is f):
            memory[:] = code, [*zip(cells, kinds, strict=True)], notes and group_notes(notes), proofs, *[None] * 4
        return proofs
    codes = held_codes(f, notes := [])
    for table in (OF_CODE, PROVED):
        if len(table) > MOST:
            table.clear()
    parts = tuple([x if type(x) in (str, bytes, int) else id(x) for x in codes])
    _, proofs = OF_CODE.setdefault(parts, (codes, Proofs()))
    forget = PROVED.pop
    with contextlib.suppress(TypeError):  # not of all objects there are weak references
        PROVED[key] = weakref.ref(holder, lambda _: forget(key, None)), (beside, code), marks, notes, proofs
    return proofs.setdefault(place, Proofs())


def is_unchanged(notes: list[Note]) -> bool:
    """Does a function still find what it found?"""
    try:
        return all([read(place) is there for read, place, there in notes])
    except IndexError:  # of a list that has become shorter
        return False


def group_notes(notes: list[Note]) -> tuple[list[object], list[object], list[Note]]:
    """The notes as ``evaluation.py:known_counts`` compares them, for which each call waits: an object, with how many
    attributes it and its class have; an entry of a dict or a list, and the code if it is a function; the others."""
    sizes = {id(parts): (parts, size) for read, parts, size in notes if read is len}
    codes = {id(f): (f, code) for read, f, code in notes if read is CODE}
    objects, entries, others = groups = list[object](), list[object](), list[Note]()
    for read, place, there in notes:
        scope = getattr(read, "__self__", None)
        if read is value_at and place[1] == "__class__":
            x = place[0]()
            sized = [sizes.pop(id(attributes_of(v)), ((), 0)) for v in (x, there)]
            objects.append((x, there, *sized[0], *sized[1]))
        elif type(scope) in (list, tuple) or (type(scope) is dict and place in scope):
            entries.append((scope, place, *codes.pop(id(there), (there, None))))
        elif read is not len and read is not CODE:
            others.append((read, place, there))
    others += [*[(len, *size) for size in sizes.values()], *[(CODE, *code) for code in codes.values()]]
    return groups


def kind_of_object(x: Any) -> object:
    """What two arguments that are functions, objects, sets ... must have in common to be proved by one of them."""
    return x if isinstance(x, types.ModuleType) else proofs_of(x) if decides(x) else type(x)


def mark_of(x: Any) -> object:
    """What decides in an object that a closure holds: a text or flag itself, the type of numbers, arrays and nodes, the
    code of a function that holds nothing, the marks of elements. None: more of the object has to be looked at."""
    kind = type(x)
    if kind in WORDS:
        return x, kind
    if isinstance(x, NUMBERS):
        return kind
    if kind in (list, tuple) and len(x) <= MANY:
        marks = [*map(mark_of, x)]
        return None if None in marks else (kind, marks)
    is_function = kind is types.FunctionType
    return None if not is_function or x.__closure__ or x.__defaults__ or x.__kwdefaults__ or vars(x) else x.__code__


def held_codes(f: Any, notes: list[Note]) -> Values:
    """The code of a function and of those that it may call, and texts, flags and classes that may decide about its way:
    in its closure, defaults, attributes and globals, in containers, attributes, slots and methods of the user's objects
    and classes, in ``partial``. What can be another one later, in a notebook whose cells run again, is added to
    ``notes``.
    """
    values: list[Any] = []
    methods: list[tuple[Any, Any]] = []  # of classes: what would be added to ``notes``, and the function
    called = [f] if type(f) is types.FunctionType else []
    queue, depth_of = [f], {id(f): 0}
    for x in queue:
        before = len(notes)
        values.append(code_of(x))
        for read, place in places_in(x) if len(queue) < HELD else ():
            v = there = read(place)
            if isinstance(x, type) and type(there) not in PARTIALS:
                v = next((getattr(there, key) for key in WRAPPED if hasattr(there, key)), there)
            is_function, note = type(v) is types.FunctionType, (read, place, there)
            if isinstance(x, type) and is_function:
                methods.append((note, v))
            elif (decides(there) or there is MISSING) and read is not same_object and there is not f:
                notes.append(note)
            if is_function and not isinstance(x, type):
                called.append(v)
            if type(v) in WORDS:
                values.append(v)
            elif id(v) in depth_of:  # which of those that it names is there
                values.append(depth_of[id(v)])
            elif decides(v) and not isinstance(v, NodeRole):
                depth_of[id(v)] = len(queue)
                queue.append(v)
            elif not isinstance(v, SINGLE):  # arrays of some classes read nodes in a way of their own
                values.append(type(v))
        if type(x) is set and (not x or any(map(decides, x))):
            notes.append((frozenset(x).__eq__, x, True))
        for parts in parts_of(x):
            if len(parts) <= MANY and (parts is not x or not parts or len(notes) > before):
                notes.append((len, parts, len(parts)))  # there may be more of them later
    # Methods that are called, by Python as well, or by ``getattr(self, text)``, and code that is replaced in its
    # function, as by IPython's autoreload.
    names = {note[1] for note, _ in methods if note[1][:2] == "__"}.union([v for v in values if type(v) is str])
    called += [method for note, method in methods if note[1] in names]
    for x in called:
        names |= (new := words_in(x.__code__) - names)
        called += [method for note, method in methods if note[1] in new]
    notes += [note for note, _ in methods if note[1] in names]
    notes += [(CODE, x, x.__code__) for x in {id(x): x for x in called if x is not getattr(f, "__func__", f)}.values()]
    return tuple(values)


def code_of(x: object) -> Any:
    """What stands for an object, but for what is found in it: the code of a function, a class or a function in C
    itself, of others the class."""
    if type(x) is types.FunctionType:
        return x.__code__
    if type(x) is types.BuiltinMethodType and not isinstance(x.__self__, types.ModuleType):
        return x.__qualname__
    is_one = isinstance(x, type) or (not holds(x) and hasattr(x, "__name__") and type(x) is not types.MethodType)
    return x if is_one and not isinstance(x, FunctionOfFunction) else type(x)


def decides(x: object) -> bool:
    """May it decide what a function does, or hold what does?"""
    return type(x) in WORDS or callable(x) or holds(x)


def holds(x: object) -> bool:
    """Is it a container, a dataclass or a user's object, in which functions may be, or another object that has
    one of the user's functions in an attribute?"""
    kind = type(x)
    if isinstance(x, CONTAINERS) or is_users(kind) or hasattr(kind, "__dataclass_fields__"):
        return True
    if str(kind.__module__).partition(".")[0] in OPEN:
        return not is_busy(kind)
    own = x.__dict__ if kind.__dictoffset__ and not isinstance(x, (type, types.ModuleType)) else None
    return type(own) is dict and any([type(v) is types.FunctionType and is_users(v) for v in own.values()])


def parts_of(x: Any) -> list[Any]:
    """What may have more entries later: a list or a dict itself, the attributes of a user's object, or of a
    class."""
    own = attributes_of(x) if (is_users(x) if isinstance(x, type) else holds(x)) else None
    grows = x if type(x) in GROWING else x.keywords if type(x) in PARTIALS else None
    return [part for part in (grows, own) if part is not None]


def attributes_of(x: Any) -> Any:
    """The dict with the attributes of an object, or of a class (not Python's proxy of it, which takes longer to read);
    None without one."""
    return gc.get_referents(vars(x))[0] if isinstance(x, type) else getattr(x, "__dict__", None)


def places_in(x: Any) -> list[tuple[Callable[[Any], Any], Any]]:
    """Where functions may be in an object: how to read, and where."""
    kind = type(x)
    if kind is types.FunctionType:
        defaults = [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        decide = any([decides(v) or not isinstance(v, SINGLE) for v in defaults])
        places: list[Any] = [(value_at, (reference(x), name)) for name in ("__defaults__", "__kwdefaults__") if decide]
        places += [(cell_value, cell) for cell in x.__closure__ or ()]
        if is_users(x):
            for each in named_by(x):
                places += [(each.scope.get, name) for name in sorted(each.names & each.scope.keys())]
            # Globals that are not there yet, or are Python's own until the user has others.
            places += [(x.__globals__.get, name) for name in sorted(globals_in(x.__code__) - x.__globals__.keys())]
            places += [(vars(x).get, name) for name in vars(x)]
        return places
    if kind in (types.MethodType, types.BuiltinMethodType):
        return [(same_object, getattr(x, "__func__", None)), (same_object, x.__self__)]
    if kind in PARTIALS:
        return [*[(same_object, v) for v in (x.func, *x.args)], *[(x.keywords.get, name) for name in x.keywords]]
    if isinstance(x, FunctionOfFunction):
        return [(same_object, type(x)), (same_object, x.f)]
    if isinstance(x, weakref.ref):
        return [(same_object, x())]
    if kind is ContextVar:
        return [(value_in_context, x)]
    if isinstance(x, type):
        own = attributes_of(x)
        getters = [(own.get, name) for name, v in [*own.items()] if name[:2] != "__" or type(v) is types.FunctionType]
        return [*getters, *[(same_object, base) for base in (kind, *x.__bases__)]] if is_users(x) else []
    own = getattr(x, "__dict__", {})  # of what functools.cache makes it has the function
    places = [(own.get, name) for name in [*own] if name[:2] != "__" or name == "__wrapped__"]
    base: Any = next((base for base in CONTAINERS if isinstance(x, base)), None)  # a subclass may have other methods
    if base in (list, tuple, deque):
        places += [(base.__getitem__.__get__(x), k) for k in range(min(base.__len__(x), MANY))]
    elif base in (dict, types.MappingProxyType):
        keys = [*base.keys(x)][:MANY]
        places += [*[(functools.partial(base.get, x), key) for key in keys], *[(same_object, key) for key in keys]]
    elif base is not None:  # sets: their order depends on where functions lie in memory
        order = sorted(x, key=lambda v: getattr(v, "__qualname__", "") if isinstance(v, NAMED) else "")
        places += [(same_object, v) for v in order[:MANY]]
    for name in slots_of(kind) if base or is_users(kind) else ():  # those of a Path are text, another in each
        places.append((value_at, (reference(x), name)))
    return places


def reference(x: Any) -> Callable[[], Any]:
    """A weak reference to ``x``; one that keeps it alive where there is none."""
    with contextlib.suppress(TypeError):
        return weakref.ref(x)
    return lambda: x


def value_at(place: tuple[Callable[[], Any], str]) -> Any:
    """What is in a slot of an object, or its class; MISSING if nothing is."""
    return getattr(place[0](), place[1], MISSING)


@functools.lru_cache(maxsize=4096)
def globals_in(code: types.CodeType) -> frozenset[str]:
    """The names that code, and the functions in it, look up among globals, and then among Python's own."""
    names, n = set(), 0
    for instruction, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        n = n << 8 | argument
        if instruction == LOAD_GLOBAL:
            names.add(code.co_names[n >> 1])
        n = n if instruction == EXTENDED else 0
    return frozenset(names).union(*[globals_in(part) for part in code.co_consts if isinstance(part, types.CodeType)])


@functools.lru_cache(maxsize=4096)
def words_in(code: types.CodeType) -> frozenset[str]:
    """The names and texts in code, and in the functions in it."""
    constants = list[Any](code.co_consts)
    for x in constants:
        constants += x.co_consts if isinstance(x, types.CodeType) else x if isinstance(x, tuple) else ()
    return names_in(code).union([x for x in constants if type(x) is str])


def same_object(x: object) -> object:
    """What cannot be another one."""
    return x


def checked_run(run: Run, *roots: object, leaves: Sequence[object] = ()) -> Any:
    """The result of ``run()``, called first and as it is. Raises LostGradientError if numbers reach it past us.

    It runs once more, from the state that the first call found, with other numbers in the memory of nodes. Afterwards
    all is as the first call left it: arrays, lists, attributes, random generators (``backprop/snapshots.py``).

    roots : where to look for what it may change: the function and its arguments.
    leaves : Variables that were there before, and also show other numbers.

    >>> import autoflow as af
    >>> x = af.Variable(2.0)
    >>> float(checked_run(lambda: np.sum(af.full(3, np.square(x)) * x * float(x))))
    48.0
    >>> checked_run(lambda: np.sum(np.full(3, np.square(x)) * x))  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    autoflow.errors.LostGradientError: numbers of nodes reach the result without a gradient ...
    """
    f, *args = roots or (run,)
    return Proof(run, f, None, args, leaves=leaves).run_and_look()[0]


class Proof:
    """The first run, in which nothing differs from a plain call, and the runs that are compared with it.

    run : calls f with its arguments.
    unused : not None: plain numbers in the first of its results must be the same, too, if another result has a
        gradient; True: in any case. None: the results are (number, anything).
    places : where among ``args`` and ``options`` (numbers, names) numbers and containers are; f gets copies of these.
    leaves : Variables that were there before, and also show other numbers.
    """

    def __init__(
        self, run: Run, f: Any, unused: bool | None, args: Sequence[Any], options: Any = (), places: Sequence[Any] = (),
        leaves: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        others = [
            [v for v in pytree.tree_leaves(x) if not pytree.is_number(v)] if k in places else x
            for k, x in [*enumerate(args), *dict(options).items()]
        ]
        self.run, self.unused, self.roots = run, unused, (f, others, leaves)
        self.leaves = [x for x in leaves if type(x._value) is np.ndarray]
        self.shared = False  # may other threads be in the user's code?
        self.are_zeros = False  # does it give nothing else?

    def begin(self) -> None:
        """The first run."""
        self.before, self.context = Snapshot(*self.roots), copy_context()
        began, busy = time.perf_counter(), busy_time()
        self.result, self.inner = run_with_inner(self.run)
        self.seconds, self.busy = time.perf_counter() - began, busy_time() - busy
        nodes = [x for x in pytree.tree_leaves(self.result) if gradient_target(x) is not None]
        self.is_on_host = all([isinstance(x, np.ndarray) for x in nodes])

    def run_and_look(self) -> tuple[Any, bool]:
        """Make the call, and look at it if that is possible; warn if it is not. Returns its result, and False if the
        next call has to be looked at: this one changed what other threads may change meanwhile."""
        self.begin()
        if not (why := self.obstacle()):
            before, after, self.shared = self.before, Snapshot(*self.roots), others_run()
            if self.shared and (before.large or before.differs(after)):
                return self.result, False
            with finally_(after.restore, self.shared), silence(), warnings.catch_warnings(record=True), before.locked():
                why = "" if self.look() else NOT_ALIKE
        if why:
            warnings.warn(
                f"{self.roots[0]!r} {why}: whether numbers leave the graph could not be seen in a second run. "
                "af.options(prove='never') says that this is meant", UnprovedWarning, stacklevel=2)  # fmt: skip
        return self.result, True

    def look_afterwards(self) -> bool:
        """The same for a call that has been made: f runs twice more, from the state that the call has left. Returns
        whether it could: not while there are other threads, nor where an iterator may move on."""
        left = Snapshot(*self.roots)
        if left.iterators or others_run():
            return False
        try:
            with finally_(left.restore), silence(), warnings.catch_warnings(record=True), left.locked():
                copy_context().run(switched(listeners=(), shadow=TRUE, shown={}).call, self.begin)
                return not self.obstacle() and self.look()
        except LostGradientError:
            raise
        except Exception:  # it cannot run again
            return False

    def obstacle(self) -> str:
        """Why ``run`` cannot run again; empty if it can."""
        if self.before.has_moved():
            return "takes from an iterator, or moves a file or a queue"
        if self.busy > LONGEST or self.seconds > 10 * LONGEST:
            return "took long"
        may_be_large = self.seconds * FILLED > LARGEST or not self.is_on_host
        if may_be_large and size_of_graph(self.result) > LARGEST:
            return "keeps much memory"
        return "" if self.before.is_whole else "reaches more than can be put back"

    def again(self, shadow: int, **changes: Any) -> list[Any]:
        """The numbers with a gradient of another run, in which nodes show ``shadow``."""
        self.before.restore(self.shared)
        if shadow and not self.shared:
            self.show(shadow)
        # Nodes that other threads make meanwhile: those that were there before see no shadow.
        others, start, shown = list[Any](), now(), dict[int, Any]()
        with switched_elsewhere(0 if self.shared else shadow, shown, (others.append,) if self.shared else ()):
            run_again = switched(**{"listeners": (), **changes}, shadow=shadow, shown=shown).call
            result, inner = self.context.copy().run(run_again, run_with_inner, self.run)
        if others and any([r.number > start for r in records_of(others) & records_of(result)]):
            raise RuntimeError("another thread computes with these nodes")
        numbers = numbers_with_gradient(result, self.unused)
        for key, values in self.inner.items():  # some functions run in the first call only, as those that vmap compares
            numbers += inner[key] if len(inner.get(key, ())) == len(values) else values
        return numbers

    def show(self, shadow: int) -> None:
        """Let the leaves show in their memory what new Variables show, until a snapshot is put back. (Those that are
        too large for a copy are locked, and show their own numbers.)"""
        places = [(x, x._value, x._value.copy(order="K")) for x in self.leaves if x._value.flags.writeable]
        for x, memory, value in places:
            x._value = value
            memory[...] = shadow_of(value, shadow)

    def numbers(self, shadow: int) -> list[Any] | None:
        """The same; None if the run fails: it writes into an array that is too large for a copy, or got other
        numbers."""
        with contextlib.suppress(Exception):
            return self.again(shadow)
        return None

    def look(self) -> bool:
        """Is it certain that no number was read past us? LostGradientError if one was."""
        expected = numbers_seen(self.result, self.inner, self.unused)
        self.are_zeros, alike = are_zeros(expected), functools.partial(same, rounding=not self.is_on_host)
        if (other := self.numbers(OTHER)) is not None and alike(expected, other):
            return True
        # On memory of its own a product may go another way through a library, and have other last bits.
        repeated = self.numbers(TRUE)
        if other is not None and alike(other, repeated):
            return True
        if repeated is not None and not (alike(expected, self.numbers(0)) and alike(repeated, self.numbers(TRUE))):
            return True  # it gives another one each time
        # A choice, a comparison or a check may read such numbers: by those far nearer it does not change, or, if it is
        # an exact one, as much as before.
        near = [self.numbers(shadow) for shadow in NEAR] if repeated is not None else [None]
        choice = is_jump(other, repeated) and all([is_choice(x, other, repeated) for x in near])
        if not choice and any([x is not None for x in near]):
            runs = noted_runs(self.again)
            if all([same(x, repeated, rounding=True) for x in (other, *near)]) and is_reordered(*runs):
                return True
            raise LostGradientError(message(*runs))
        return near[-1] is not None and all([x is None or alike(x, repeated) for x in near])


def numbers_seen(result: Any, inner: dict[int, list[Any]], unused: bool | None) -> list[Any]:
    """The numbers with a gradient that a run, and functions inside it, returned."""
    return numbers_with_gradient(result, unused) + [x for values in inner.values() for x in values]


def are_zeros(numbers: list[Any]) -> bool:
    """Are there numbers, and all of them 0?"""
    return bool(numbers) and not any(map(np.any, numbers))


def run_with_inner(run: Run) -> tuple[Any, dict[int, list[Any]]]:
    """The result of ``run()``, and the numbers with a gradient that functions inside it returned to transforms of their
    own, by the id of their proofs: by the numbers of a gradient alone one would not see what the function read past
    us."""
    before = INNER.set({})
    try:
        return run(), INNER.get() or {}
    finally:
        INNER.reset(before)


def keeps_history(results: list[Any], f: Any, args: Sequence[Any], options: ByName) -> bool:
    """Is all of the history in ``results``, the numbers that ``f(*args, **options)`` returned? It is called once more
    for each kind of arguments, and sees other numbers in the memory of nodes, also of those that it captures."""
    if not (counts := counts_of(f, args, options, "a call")):
        first = [(results,)]

        def run() -> Any:
            if first:
                return first.pop()
            g, shadowed, named = with_shadows((f, list(args), options), {})
            result = g(*shadowed, **named)
            return ([*leaves(shadowed[0] if shadowed and result is None else result)],)

        try:
            Proof(run, f, True, args, options).run_and_look()
        except LostGradientError:
            return False
        counts.add((0, 0))
    return True


def check_captured(result: Any, f: Any, args: Sequence[Any], options: ByName) -> None:
    """Raise LostGradientError if a user's function that gets plain arrays reads numbers of nodes that it captures."""
    if "captured" in (proofs := proofs_of(f)):
        return
    captured = [x for x in reachable(f) if isinstance(x, NodeRole) and gradient_target(x) is not None]
    if not captured or keeps_history(list(leaves(result)), f, args, options):
        proofs["captured"] = Ways()
    else:
        raise LostGradientError(
            f"{getattr(f, '__qualname__', f)} gets plain arrays, and reads numbers of {captured[0].name}, which it "
            f"captures: no gradient would flow there. Make that an argument, or use its .value, if that is meant"
        )


def with_shadows(tree: Any, shadows: dict[int, Any]) -> Any:
    """The same with other numbers in the memory of nodes: in lists, tuples and dicts, and where the user's functions
    find them. ``shadows``: these functions so far, by their ids."""

    def of_leaf(x: Any) -> Any:
        if not isinstance(x, types.FunctionType) or not is_users(x):
            return np.positive(x) if gradient_target(x) is not None else x
        if id(x) not in shadows:
            scope, cells = dict(x.__globals__), tuple([types.CellType() for _ in x.__closure__ or ()])
            shadows[id(x)] = f = types.FunctionType(x.__code__, scope, x.__name__, x.__defaults__, cells)
            f.__kwdefaults__ = x.__kwdefaults__
            scope |= {name: with_shadows(scope[name], shadows) for name in names_in(x.__code__) & scope.keys()}
            for new, old in zip(cells, x.__closure__ or (), strict=True):
                if (value := cell_value(old)) is not MISSING:
                    new.cell_contents = with_shadows(value, shadows)
        return shadows[id(x)]

    return pytree.tree_map(of_leaf, tree)


def is_jump(other: list[Any] | None, right: list[Any] | None) -> bool:
    """Did other numbers change a result by more than rounding could hide when they are near? (None: by an error.)"""
    if other is None or right is None or len(other) != len(right):
        return True
    pairs = zip(other, right, strict=True)
    return any([x.shape != y.shape or np.any(np.abs(x - y) > 2**-8 * np.max(np.abs(y), initial=0)) for x, y in pairs])


def is_choice(near: list[Any] | None, other: list[Any] | None, right: Any) -> bool:
    """Are the results at near numbers the right ones, or about as far from them as those at other numbers?"""
    if near is None or other is None or not len(near) == len(other) == len(right or ()):
        return near is None or same(near, right)
    return all([
        np.array_equal(x, y, equal_nan=True)
        or (x.shape == y.shape == z.shape and np.max(np.abs(x - y)) > 2**-8 * np.max(np.abs(z - y)))
        for x, y, z in zip(near, right, other, strict=True)
    ])  # fmt: skip


def noted_runs(again: AnyFunction) -> tuple[Operations, Operations]:
    """The operations of two runs, the second with other numbers in memory, each with what it has read."""
    runs: tuple[Operations, Operations] = [], []
    for shadow, run in zip((TRUE, OTHER), runs, strict=True):
        with contextlib.suppress(Exception):  # later calls of transforms keep no places
            again(shadow, keep=sys.maxsize, listeners=(functools.partial(note_operation, run),), source=True)
    return runs


def is_reordered(*runs: Operations) -> bool:
    """Do the operations of two runs compute with the same numbers from outside, in whatever order? Elements of a set
    come in another one each time, which changes the last bits of their sum."""

    def outside(run: Operations) -> Counter[object]:
        reads = [(record.rule.name, zip_longest(read, record.parents)) for record, read in run]  # with options
        return Counter([(name, x) for name, pairs in reads for x, parent in pairs if not isinstance(parent, Record)])

    return outside(runs[0]) == outside(runs[1])


def message(*runs: Operations) -> str:
    """The message, with what computes first with numbers that differ between two runs."""
    cause = PAST_US
    for (record, one), (_, other) in zip(*runs, strict=False):
        changed = [j for j, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
        if changed:
            plain = [j for j in changed if j < len(record.parents) and record.parents[j] is None]
            if plain and (text := numbers_read(record, plain[0])):
                cause = f"{text}; or x.value.copy(), if only the numbers are meant."
            break
    return f"numbers of nodes reach the result without a gradient: {cause}"


def note_operation(notes: Operations, node: NodeRole) -> None:
    """Note the record of an operation, and what it has read."""
    notes.append((record := current_record(node), operands_read(record)))


def operands_read(record: Record) -> list[Any]:
    """Marks of the operands and options of an operation, equal for equal ones."""
    return [mark(on_host(v)) for v in record.saved[:-1]]


def numbers_with_gradient(z: Any, unused: bool | None = None) -> list[Any]:
    """The numbers of the results that have a gradient, except those that a transform has given to the function; and of
    those in ``z[0]`` without one, if another has one (``unused``: True: in any case; None: never)."""
    pairs = [(x, gradient_target(x)) for x in pytree.tree_leaves(z)]
    live = [x for x, r in pairs if getattr(r, "_live", r) not in (None, ARGUMENT)]
    if unused or (live and unused is not None):
        live += [x for x in pytree.tree_leaves(z[0]) if gradient_target(x) is None and pytree.is_number(x)]
    return [np.array(on_host(value_of(x))) for x in live]


def records_of(z: object) -> set[Holder]:
    """The records from which the results were computed."""
    return {r for x in pytree.tree_leaves(z) if (root := gradient_target(x)) is not None for r in ancestors(root)}


def size_of_graph(z: object) -> int:
    """The bytes that are kept for the way back from the results; views and data count in full."""
    saved = {id(x): x for r in records_of(z) for x in getattr(r, "saved", ())}
    return sum([getattr(x, "nbytes", 0) for x in saved.values() if not isinstance(x, type)])


def leaves(x: Any, depth: int = 4) -> Iterator[Any]:
    """The floating-point numbers in a result, nodes among them: in containers, and in attributes of objects."""
    if isinstance(x, (float, complex, np.inexact, np.ndarray)):
        if np.asarray(x).dtype.kind in "fc":
            yield x
        elif depth and np.asarray(x).dtype.hasobject:  # the rows of a lil_matrix
            yield from leaves(np.asarray(x).tolist(), depth - 1)
    elif depth and not (isinstance(x, types.ModuleType) or (hasattr(x, "pvalue") and hasattr(x, "statistic"))):
        x = x if isinstance(x, (tuple, list, dict)) else getattr(x, "__dict__", ())
        for v in x.values() if isinstance(x, dict) else x:
            yield from leaves(v, depth - 1)


def same(a: list[Any] | None, b: list[Any] | None, rounding: bool = False) -> bool:
    """Bit for bit, but for NaNs; None: it failed. With ``rounding`` the last six bits may differ: a device adds in any
    order."""
    if a is None or b is None:
        return a is b
    return len(a) == len(b) and all([
        np.array_equal(x, y, equal_nan=True) or (rounding and x.shape == y.shape and np.allclose(
            x, y, rtol=0, atol=64 * np.finfo(y.dtype).eps * np.max(np.abs(y), initial=0), equal_nan=True
        ))
        for x, y in zip(a, b, strict=True)
    ])  # fmt: skip
