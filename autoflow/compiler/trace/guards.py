"""Guards on what a function sees besides its arguments: closures, globals, attributes, defaults must not change.

A compiled function is called once, so what it found outside is taken for granted in later calls. Before the recording,
everything that can be reached from the function is listed, edge by edge (*this* cell holds *that* object). Afterwards

* no edge may have changed, no array, no iterator, and no random generator: a function that counts its calls, or draws a
  mask, would do so in the first call only, and is refused;
* the edges are watched, and arrays and collections in full: if one of them is not what it was at a later call, the
  function is recorded again.

Methods and clocks of the user's objects that no code names are watched, but refuse nothing; neither does code that runs
when a class is called, if it is only asked for, as in ``isinstance(x, C)``.

Parameters in whose place ``nn.functional_call`` has put others are left out (``recorded.py``). With
``af.compile(f, watch=False)`` so are the contents of arrays that the program reads at every run.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import gc
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Set
from functools import partial
from itertools import product
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ...backends.duck_arrays import DuckArray
from ...backprop.second_runs import GENERATORS, OWN, is_at, is_users, state_of
from ...backprop.snapshots import OF_FUNCTIONS, is_iterator, position_of
from ...base.errors import CompileError
from ...nodes.grads import read_grad
from ...nodes.nodes import AnyFunction, NodeRole, current_record
from ...program.callers import is_foreign
from ...program.places import Activation
from ..matching import CAPTURED
from ..program import Program
from . import reachable
from .reachable import ARRAYS, BUFFERS, COLLECTIONS, CONTAINERS, HOLDERS, MAPPINGS, Edge, is_equal, may_be_called

OPAQUE = (types.ModuleType, types.CodeType, np.dtype, NodeRole, Activation, *BUFFERS)  # not searched further
subclasses_of: Callable[[type], list[type]] = type.__subclasses__  # also of metaclasses
CHECKING = frozenset({"isinstance", "issubclass", "__match_args__", "dispatch"})  # may ask abstract classes
ATTRIBUTES: dict[str, Callable[[Any, Any], Any]] = {  # of nodes, which may change, and how they are read
    "name": getattr, "requires_grad": getattr,
    "grad": lambda x, name: read_grad(current_record(x) or x, x.dtype),
}  # fmt: skip
SETTINGS: tuple[Any, ...] = (  # functions that say how the process is set
    np.geterr, np.geterrcall, np.getbufsize, np.get_printoptions, sys.getrecursionlimit, sys.getswitchinterval,
    os.getcwd, gc.isenabled,
)  # fmt: skip
# What reads how far generators and iterators are, and moves none.
READING = {"bit_generator", "get_state", "getstate", "__getstate__", "gi_frame", "tell", "qsize"}
READING |= {"length_hint", "__length_hint__"}
COPYING = {*map(id, (copy, copy.copy, copy.deepcopy, pickle, pickle.dumps, dataclasses, dataclasses.replace))}
SAME, ONCE = "they would be the same in every call", "that would happen in the first call only"
WAY_OUT = "or say af.compile(f, fallback=True)"
LIMIT = 100_000  # edges; a function that sees more than that is refused


def array_in(x: Any) -> Any:
    """The array that a node holds; an array itself."""
    return getattr(x, "_value", None) if isinstance(x, NodeRole) else x


class Guards:
    """All that can be reached from ``f``, as edges; after the recording, the edges that are watched."""

    def __init__(self, f: AnyFunction, others: list[Any]) -> None:
        """``others``: arguments that are not arrays, such as a model."""
        self.edges: list[tuple[Any, Any, Any]] = []  # container, key, what was there
        self.moving: list[tuple[Any, Callable[[], Any], Any]] = []  # generators, iterators, and how far they were
        self.contents: dict[int, tuple[Any, Any, Callable[[], Any], Any]] = {}  # id -> holder, contents, how to read
        # How to read (None: an item), where, and what is there: also attributes of cells, functions and nodes.
        self.places: list[tuple[Callable[[Any, Any], Any] | None, Any, Any, Any]] = []
        self.numbers: list[tuple[Any, dict[str, Any], str, Any]] = []  # of an object of Python's library: where, which
        self.others: list[tuple[Callable[[], Any], Any]] = []  # the called function, and its result
        self.sizes: list[tuple[Callable[[], Any], Any]] = []  # how many attributes classes and functions have
        self.named: set[str] = set()  # all names in their code
        self.called: set[str] = set()  # those that it does not only ask for
        self.classes: set[type] = set()
        self.roots = [f, *others]
        self.ids = {*map(id, self.roots)}
        self.made: set[type] = set()  # classes that code may call
        self.waiting: list[Edge] = []  # to methods and clocks that no code names
        # The id of an object, is it handed on, and the attribute by whose name alone code gets it -> the edge to it.
        self.doors: dict[tuple[int, bool, str | None], tuple[Any, ...]] = {}
        self.seen: set[tuple[int, int, str]] = set()  # a name in a module, of which function; or of the module itself
        self.is_recorded = False  # then nothing is refused any more
        self.constants: frozenset[int] = frozenset()  # numbers of the Variables that results would lead back to
        self.find_all()

    def find_all(self) -> None:
        """Find what can be reached, and note how it is before the recording."""
        for x in (*OWN, *self.roots):
            self.note(x)
        self.search(self.roots, [edge for x in self.roots if isinstance(x, type) for edge in reachable.making(x)])
        if not reachable.ENVIRONMENT.isdisjoint(self.named):
            self.search([os.environ], [])
        names = self.named if self.named.isdisjoint(("backward", "zero_grad")) else {"grad", *self.named}
        attributes = [name for name in ATTRIBUTES if name in names or reachable.BY_TEXT & names]
        nodes = {id(x): x for x in self.reached() if isinstance(x, NodeRole)}.values() if attributes else ()
        self.attributes = [(ATTRIBUTES[name], x, name, ATTRIBUTES[name](x, name)) for x in nodes for name in attributes]
        for *_, value in self.attributes:
            self.note(value)

    def search(self, objects: list[Any], queue: list[Edge]) -> None:
        """Find what can be reached from these objects and along these edges. Methods wait until code names them."""
        for x in objects:
            queue += self.enter(x)
        for x, (container, key) in queue:
            child = reachable.follow(container, key)
            is_element = isinstance(x, CONTAINERS) and (container is x or type(container) is tuple)
            if is_element and reachable.is_number(child):
                continue  # a tuple stays what it is, of the others all elements are compared
            waits = isinstance(key, str) and key not in self.named and reachable.waits_for_name(x, key, child)
            if waits and not self.is_named(key):
                self.waiting.append((x, (container, key)))
                continue
            self.edges.append((container, key, child))
            if isinstance(child, type) and child not in self.made and may_be_called(x, container, key, child):
                self.made.add(child)
                queue += reachable.making(child)
            is_known = id(child) in self.ids
            if not is_known and reachable.is_number(child):
                continue
            is_handed_on = not isinstance(x, types.FunctionType) or reachable.is_handed_on(x, container, key)
            name = key if isinstance(container, type) or container is reachable.attributes_of(x) else None
            self.doors.setdefault((id(child), is_handed_on, name), (x, container, key, child))
            if not is_handed_on:
                queue += self.look_into(child, x, container, key)
            if is_known:
                continue
            if len(self.edges) > LIMIT:
                raise CompileError(
                    f"the compiled function finds more than {LIMIT} objects outside, too many to check for "
                    f"changes. Pass what it needs as an argument, {WAY_OUT}."
                )
            self.ids.add(id(child))
            names = reachable.names_given(child)
            self.named |= names
            self.called |= names
            self.note(child)
            if isinstance(child, OPAQUE):
                continue
            if not reachable.foreign(child):
                queue += self.enter(child)
            elif not isinstance(child, reachable.NAMED):  # such as an event, whose flag another thread may set
                own = reachable.attributes_of(child)
                self.numbers += [(child, own, name, v) for name, v in own.items() if reachable.is_number(v)]
        ready = [edge for edge in self.waiting if self.is_named(edge[1][1])]
        self.waiting = [edge for edge in self.waiting if not self.is_named(edge[1][1])]
        for (_, is_handed_on, name), (x, container, key, child) in self.doors.items():
            if is_handed_on and (name is None or self.is_named(name)):
                ready += self.look_into(child, x, container, key, is_handed_on=True)
        if ready:
            self.search([], ready)

    def look_into(self, child: Any, x: Any, container: object, key: object, is_handed_on: bool = False) -> list[Edge]:
        """New edges into a module, for the names in the code of the function ``x`` that finds it there, or for all
        names found by now. Raises CompileError for a door to something that no guard can check."""
        names: Set[str] = self.named
        attributes = names
        if not is_handed_on:
            of_code = reachable.names_of(x.__code__)
            names, attributes = of_code.all, set() if is_foreign(x.__globals__.get("__name__")) else of_code.attributes
        if not self.is_recorded and (what := reachable.door_to(child, attributes)):
            where = f"by {item_name(container, key)}"
            if isinstance(x, types.FunctionType):
                where += f", in {x.__qualname__}, at {x.__code__.co_filename}:{x.__code__.co_firstlineno}"
            raise CompileError(
                f"the compiled function {what} ({where}): what it finds would stay the same in every later call. Pass "
                f"it as an argument, {WAY_OUT}."
            )
        edges = reachable.edges_of_module(child, child if is_handed_on else x, names)
        new = [edge for edge in edges if (id(edge[0]), id(child), edge[1][1]) not in self.seen]
        self.seen |= {(id(x), id(child), name) for x, (_, name) in new}
        return new

    def is_named(self, name: str) -> bool:
        """May code call something of that name? Any name, if names are looked up by text, or the recording is over."""
        is_writing = name in reachable.WRITING and not reachable.TEXTS.isdisjoint(self.named)
        return name in self.named or is_writing or self.is_recorded or bool(reachable.BY_TEXT & self.named)

    def note(self, x: object) -> None:
        """Remember how far a generator or an iterator is, and what is in an array or a buffer."""
        holder = x.bit_generator if isinstance(x, np.random.Generator) else x  # of the state, which others may share
        if isinstance(array := array_in(x), (*ARRAYS, *BUFFERS)):
            self.contents.setdefault(id(array), (x, array, *reachable.reader(array)))
        if self.is_recorded or isinstance(array, ARRAYS):
            return
        if isinstance(holder, (*GENERATORS, np.random.SeedSequence)):
            seeds = getattr(holder, "seed_seq", None)  # from which others are spawned
            for g in (holder, *([seeds] if hasattr(seeds, "state") else [])):
                self.moving.append((g, partial(is_at, g, state_of(g)), True))
        elif is_iterator(type(x)):  # type: ignore[arg-type]
            if position_of(x) is None:
                raise CompileError(
                    f"the compiled function finds an iterator outside, a {type(x).__name__}: it would give its first "
                    f"element to all calls. Call next() outside, and pass what it gives as an argument."
                )
            self.moving.append((x, partial(position_of, x, gc.get_referents(x)), position_of(x)))

    def enter(self, x: object) -> list[Edge]:
        """The edges from an object. Remembers how many attributes it has, the contents of a collection, the parts of a
        function and the names in its code."""
        if isinstance(x, COLLECTIONS):
            self.contents[id(x)] = x, x, *reachable.reader(x)
        elif isinstance(x, types.FunctionType):
            self.places += [(getattr, x, name, v) for name in OF_FUNCTIONS if (v := getattr(x, name)) is not None]
            # What it finds in Python's own namespace or nowhere, as long as no global of that name comes up.
            if missing := reachable.names_of(x.__code__).read - x.__globals__.keys():
                self.others.append((partial(x.__globals__.keys().isdisjoint, missing), True))
            if not is_foreign(x.__globals__.get("__name__")):
                self.named |= reachable.names_of(x.__code__).all
                self.called |= reachable.names_of(x.__code__).called
        elif isinstance(x, classmethod) or (hasattr(type(x), "__get__") and is_users(type(x))):
            self.called.add("type")  # it may call its class, or the one that it is an attribute of
        if isinstance(scope := getattr(x, "__dict__", None), (dict, types.MappingProxyType)):
            sizes = self.sizes if isinstance(x, (type, types.FunctionType)) else self.others
            sizes.append((scope.__len__, len(scope)))
            if scope and reachable.attributes_of(x) is scope:  # which may be replaced as a whole
                self.places.append((object.__getattribute__, x, "__dict__", scope))
        self.classes.update(x.__mro__ if isinstance(x, type) else (), type(x).__mro__)
        return [*product([x], reachable.edges_of(x))]

    def changes(self) -> Iterator[str]:
        """What the function changed outside, and what to do instead."""
        for x in [x for x, read, mark in self.moving if read() != mark]:
            if is_iterator(type(x)):  # type: ignore[arg-type]
                what = f"takes elements of an iterator from outside, a {type(x).__name__}"
                yield f"{what}: {SAME}. Call next() outside, and pass what it gives as an argument"
            # If no code of the function's can have drawn, another thread has.
            elif not any([x is own for own in OWN]) or reachable.may_have_drawn(self.named, self.reached()):
                yield f"draws random numbers: {SAME}. Draw them outside and pass them as an argument, {WAY_OUT}"
        edges: Iterator[Any] = map((reachable.follow,).__add__, self.edges)
        for ask, container, key, child in (*edges, *self.attributes):
            now = ask(container, key)
            if not (is_equal(now, child) or (key == "grad" and isinstance(now, DuckArray))):  # recorded.py tells more
                what = f"changes {item_name(container, key)}, which it found outside"
                yield f"{what}: {ONCE}. Make it an argument and a result, {WAY_OUT}"
        for _, x, read, mark in self.contents.values():
            if read() != mark:
                what = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else f"a {type(x).__name__}"
                what, new = f"writes into {what}", "the new array"
                if isinstance(x, COLLECTIONS):
                    what, new = f"changes the elements of a {type(x).__name__}", "what it collects"
                yield f"{what} from outside: {ONCE}. Return {new}, {WAY_OUT}"

    def has_new_attributes(self) -> bool:
        """Has the function made globals or attributes, as a ``cached_property`` does?"""
        return any([read() != mark for read, mark in (*self.others, *self.sizes)])

    def reached(self) -> list[Any]:
        """All objects that were found."""
        return [*self.roots, *map(itemgetter(2), self.edges)]

    def watch(self, program: Program, replaced: set[int], all_contents: bool) -> None:
        """Note what every later call has to find again.

        replaced : ids of arrays in whose place others are used. all_contents : watch also those of arrays that the
        program reads.
        """
        self.is_recorded, writes_texts = True, not reachable.TEXTS.isdisjoint(self.named)
        self.search([], [])
        copies = not COPYING.isdisjoint(self.ids)
        if copies or not reachable.CALLING.isdisjoint(self.called):
            users = [cls for cls in self.classes if not is_foreign(cls.__module__)]
            if "__subclasses__" in self.named:
                users += [part for cls in users for part in subclasses_of(cls)]
            classes = {*users} - self.made
            special = [cls for cls in classes if not is_foreign(type(cls).__module__)]  # of metaclasses
            self.search(special, [edge for cls in classes for edge in reachable.making(cls)])
        if hidden := [name for name in self.named if name[:2] == name[-2:] == "__" and name != "__class__"]:
            users = [cls for cls in self.classes if not is_foreign(cls.__module__)] + self.users_functions_and_modules()
            self.search([], [(x, (x, name)) for x, name in product(users, hidden) if reachable.is_lasting(x, name)])
        captured = set() if all_contents else read_by(program)
        ignored, all_named = captured | replaced, copies or reachable.BY_TEXT & self.named
        # Not what is in attributes that no code names, such as a log or a queue.
        named_ids = set(map(id, self.roots))
        for k, _, name in self.doors:
            if all_named or name is None or name in self.named:
                named_ids.add(k)
        for x, *place in self.numbers:
            if id(x) in named_ids:
                self.places.append((None, *place))
        for k, (x, *_) in self.contents.items():
            if k not in named_ids and isinstance(x, reachable.FILES):
                ignored.add(k)
        for how, node, name, value in self.attributes:
            if id(array_in(node)) not in ignored or id(value) in captured:
                self.places.append((how, node, name, value))
            elif id(value) not in self.ids:
                ignored.add(id(value))
        for container, key, child in self.edges:
            is_attribute = isinstance(key, str) and not isinstance(container, MAPPINGS)
            ask: Any = reachable.follow if isinstance(container, HOLDERS) else getattr if is_attribute else None
            if ask or not (isinstance(container, tuple) or id(container) in self.contents):
                self.places.append((ask, container, key, child))
        for holder, array, read, mark in self.contents.values():
            if isinstance(holder, NodeRole):
                self.places.append((getattr, holder, "_value", array))
            if isinstance(array, np.ndarray):
                paths = [path for path in ("flags.num", "strides") if path.partition(".")[0] in self.named]
                read_form = attrgetter("shape", "dtype", *paths)
                self.others.append((partial(read_form, array), read_form(array)))
            if id(array) not in ignored:
                self.others.append((read, mark))
        self.watch_classes_and_functions()
        named = {*self.named, "get_printoptions"} if writes_texts else self.named
        self.others += [(read, read()) for read in SETTINGS if read.__name__ in named]
        if not CHECKING.isdisjoint(self.named):
            self.others.append((abc.get_cache_token, abc.get_cache_token()))
        is_read = "state" in self.named and any([isinstance(x, np.random.BitGenerator) for x in self.reached()])
        if is_read or copies or not READING.isdisjoint(self.named):
            self.others += [(read, mark) for _, read, mark in self.moving]
        self.edges, self.moving, self.contents, self.roots = [], [], {}, []
        self.attributes, self.ids, self.made, self.doors, self.numbers = [], set(), set(), {}, []

    def watch_classes_and_functions(self) -> None:
        """Watch their descriptions: the bases of classes, and how many attributes they have; and attributes that
        functions and modules may get later."""
        classes = [cls for cls in self.classes if not is_foreign(cls.__module__)]
        for cls in classes:
            self.places.append((getattr, cls, "__mro__", cls.__mro__))
            self.others.append((vars(cls).__len__, len(vars(cls))))
            if "__subclasses__" in self.named:
                self.others.append((partial(subclasses_of, cls), subclasses_of(cls)))
        if not self.named.isdisjoint((reachable.CATCHING, *reachable.BY_TEXT)):
            self.others += [(vars(x).__len__, len(vars(x))) for x in self.users_functions_and_modules()]

    def users_functions_and_modules(self) -> list[Any]:
        """Those that were found, except a library's."""
        objects = {id(x): x for x in self.reached() if isinstance(x, (types.FunctionType, types.ModuleType))}
        return [x for x in objects.values() if not is_foreign(getattr(x, "__module__", x.__name__))]

    def hold(self) -> bool:
        """Do all watched edges lead to the same objects, with the same contents? Called before every run."""
        try:
            for read, container, key, child in self.places:
                now = read(container, key) if read else container[key]
                if now is not child and not is_equal(now, child):
                    return False
        except (KeyError, IndexError, ValueError, AttributeError):  # it is no longer there
            return False
        return not self.others or all([read() == mark for read, mark in self.others])


def read_by(program: Program) -> set[int]:
    """The ids of arrays from outside that the program reads as a whole, perhaps through a view."""
    read: set[int] = set()
    for v in program.order():
        array = v.sample if v.kind == CAPTURED else None
        while array is not None and array.nbytes == v.sample.nbytes and 0 not in v.sample.strides:
            read.add(id(array))
            array = array.base if isinstance(array.base, np.ndarray) else None  # not the memory of other objects
    return read


def item_name(container: object, key: object) -> str:
    """For messages."""
    if isinstance(container, types.CellType):
        return "a variable of the function around it"
    name = getattr(container, "__name__", key)  # of a slot
    is_named = isinstance(container, (dict, NodeRole, types.MemberDescriptorType))
    return f"{name!r}" if is_named else f"the element {key!r} of a {type(container).__name__}"
