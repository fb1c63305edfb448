"""Other people's functions that lose a gradient, noticed on Python 3.12 and newer.

``scipy.linalg.solve(A, y)`` begins with ``np.asarray(y)``, which asks no node, and under ``backward()`` there is no
function that could run a second time. So the call itself is watched. When a package of ``af.options.watched`` is
imported, Python's ``sys.monitoring`` is told to call us where one of its public functions and methods begins (these are
*local* events: nothing else in the program becomes slower). The outermost of them that is given a node with a history
must return one, or no floating-point numbers at all: anything else is a LostGradientError. So must one that is given a
function, once that function has returned such a node, of a history that is older than the call. If it returns a node
(many functions of SciPy are written with NumPy's), it is run once more, as ``af.grad`` runs its function, to see
whether all of the history is there.

What is known of a call lies among the local variables of its frame, under a name that no variable can have: so it goes
with the frame, however the call ends. (Of a call that ends in an exception nobody tells us.)

There is no error under ``af.no_grad()``, nor inside ``af.grad`` and its kin, which prove the whole function, nor of
modules that want numbers (``program/callers.py`` lists them with reasons), nor of statistical tests, whose results have
a ``statistic`` and a ``pvalue``.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import LostGradientError
from ..base.lazy import SCIPY
from ..base.modes import CHANGED, modes
from ..base.numbering import now
from ..nodes.nodes import AnyFunction, ByName, NodeRole, gradient_target
from ..nodes.records import Holder, from_outside
from ..program.callers import NUMBERS, PACKAGE, getframe, is_library, is_listed, where
from ..program.places import LATER
from ..table.outside import OUT_OF_SCOPE

python: Any = getattr(sys, "monitoring", None)
module_at: Any = getattr(sys, "_getframemodulename", None)
VARIADIC = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
CALL = "<call>"  # the key of the facts about a call
SEARCHES = "scipy.optimize"  # its functions are watched, though they get plain numbers
TOOLS = (3, 4)  # the numbers that Python keeps for no kind of tool
STARTS = {"x0", "p0", "bounds", "callback"}  # arguments whose numbers alone are meant: a search begins there
MORE_STARTS = {"lb", "ub", "bracket", "brack", "ranges", "init", "xin", "x1", "x2", "xa", "xb", "a", "b"}  # of SEARCHES
EQUATIONS = {"lsq_linear", "nnls"}  # of these, where ``b`` is not the end of an interval
PLAIN = {np.ndarray, float, int, bool, str, type(None), np.float64, type}  # they hold no node


def only_numbers(module: str | None, name: str) -> bool:
    """Is that a function whose results nobody differentiates, such as a metric?"""
    return is_listed(module, NUMBERS) and (name == "check_grad" or not is_listed(module, [SEARCHES]))


class WatchedCall(NamedTuple):
    """A call whose result is looked at."""

    given: list[str]  # the arguments that are nodes with a history, or functions that have returned one
    starts: set[Holder]  # where the search begins: Variables, records
    since: int  # creation number
    function: AnyFunction
    args: list[Any]
    options: ByName


class Watch:
    """The tool that Python calls, and the finder that it asks for modules."""

    def __init__(self) -> None:
        self.tool: int | None = None
        self.packages: set[str] = set()
        self.codes: dict[int, tuple[types.CodeType, tuple[str, ...]]] = {}  # by id: what is watched, its arguments
        self.given: set[int] = set()  # of those, the user's functions that were arguments of others
        # Is the module of that name in one of the packages?
        self.watches = functools.cache(lambda module: is_listed(module, self.packages))
        self.kinds: set[type] = set()  # classes that have been looked through
        self.behind: set[int] = set()  # of those, the ones that are called by functions in C

    def add(self, packages: Iterable[str]) -> None:
        """Watch these packages, too: what is imported already, and what will be."""
        new = set(packages) - self.packages
        if python is None or not new:
            return
        self.packages |= new
        self.watches.cache_clear()
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for name, module in list(sys.modules.items()):
            if is_listed(name, new) and module is not None:  # None: it may not be imported
                self.look_through(module)

    def give_back(self) -> None:
        """Watch nothing any more."""
        if self.tool is not None:
            for code, _ in self.codes.values():
                python.set_local_events(self.tool, code, 0)
            python.free_tool_id(self.tool)
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self.__init__()  # type: ignore[misc]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """For ``import``: a module of a watched package is looked through as soon as it has run."""
        spec = PathFinder.find_spec(name, path, target) if self.watches(name) else None
        if spec is not None and (loader := spec.loader) is not None:
            run = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                run(module)
                self.look_through(module)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def look_through(self, module: Any) -> None:
        """Ask to be called where a module's functions begin, if it is public, and the methods of its classes and
        objects: a public function may return one of a class that is not."""
        names, is_private = vars(module), "._" in module.__name__
        if is_private and is_listed(module.__name__, NUMBERS):
            return
        for name in names if is_private else names.get("__all__", names):
            x = names.get(name)
            kind, home = x if isinstance(x, type) else type(x), getattr(x, "__module__", None)
            if name[0] == "_" or not self.watches(home) or only_numbers(home, name) or (is_private and x is not kind):
                continue
            new = [owner for owner in kind.__mro__ if owner not in self.kinds and self.watches(owner.__module__)]
            self.kinds.update(new)
            candidates = [x, *[f for k in new for key, f in vars(k).items() if key[0] != "_" or key[-2:] == "__"]]
            if callable(x) and not self.watches(kind.__module__) and not hasattr(x, "__code__"):
                # A function in C (scipy.fft's) finds its code by its name, in a module beside its own.
                beside = [vars(m) for key, m in list(sys.modules.items()) if key.startswith(str(home))]
                candidates = [f for functions in beside if hasattr(f := functions.get(x.__name__), "__code__")]
                self.behind |= {id(f.__code__) for f in candidates}
            for f in candidates:
                code = getattr(getattr(f, "__func__", f), "__code__", None)
                if code is not None and id(code) not in self.codes and not code.co_flags & LATER:
                    self.ask(code, python.events.PY_START)

    def ask(self, code: types.CodeType, events: int) -> None:
        """Be called at these events of a function. The tool is taken for the first."""
        if self.tool is None and self.packages:
            self.tool = next((tool for tool in TOOLS if python.get_tool(tool) is None), None)
            if self.tool is None:
                self.give_back()
                message = f"other tools have the places {TOOLS} of sys.monitoring, so what SciPy loses is not noticed"
                warnings.warn(message, RuntimeWarning, stacklevel=2)
            else:
                python.use_tool_id(self.tool, PACKAGE)
                python.register_callback(self.tool, python.events.PY_START, self.begin)
                python.register_callback(self.tool, python.events.PY_RETURN, self.end)
        if self.tool is not None:
            n = code.co_argcount + code.co_kwonlyargcount + sum([bool(code.co_flags & flag) for flag in VARIADIC])
            self.codes[id(code)] = code, code.co_varnames[:n]
            python.set_local_events(self.tool, code, events)

    def begin(self, code: types.CodeType, offset: int) -> None:
        """A function begins: is it given a node with a history, or a function? (Every call pays for this.)"""
        if PLAIN.issuperset(map(type, getframe(1).f_locals.values())):
            return
        home = module_at(2) or ""
        if not (self.watches(home) or home.startswith(SCIPY)) or id(code) in self.behind:
            self.look_at(getframe(1))

    def look_at(self, frame: types.FrameType) -> None:
        """The same of a call that is not made by a watched package itself."""
        switches, arguments = modes(), [(name, x) for name, value in arguments_of(frame) for x in held_in(value)]
        if not arguments or not switches.recording or switches.depth or switches.shadow:
            return
        if self.call_around(frame.f_back) is None:
            module, name = name_of(frame)
            if not is_listed(module, switches.watched) or only_numbers(module, name):
                return
            starts = STARTS | MORE_STARTS if is_listed(module, [SEARCHES]) and name not in EQUATIONS else STARTS
            begin = {gradient_target(x) for name, x in arguments if name in starts}
            arguments = [(name, x) for name, x in arguments if name not in starts]
            names = [name for name, x in arguments if isinstance(x, NodeRole)]
            frame.f_locals[CALL] = WatchedCall(names, begin, now(), *call_to_repeat(frame))
            self.ask(frame.f_code, python.events.PY_START | python.events.PY_RETURN)
            for _, x in arguments:
                if not isinstance(x, NodeRole) and id(code := x.__code__) not in self.codes:
                    self.given.add(id(code))
                    self.ask(code, python.events.PY_RETURN)

    def call_around(self, frame: types.FrameType | None) -> Any:
        """The watched call that contains this frame; None outside of one: the user's own functions are not watched."""
        while frame is not None and id(frame.f_code) not in self.given:
            if id(frame.f_code) in self.codes and (call := frame.f_locals.get(CALL)) is not None:
                return call
            frame = frame.f_back
        return None

    def end(self, code: types.CodeType, offset: int, result: object) -> None:
        """It ends: does it return numbers without a history? If it returns a node, is all of the history there?"""
        frame = getframe(1)
        if id(code) in self.given:
            # Inside of a transform, as in jac=af.jacobian(f), nodes are the transform's.
            nodes = [] if modes().depth else [x for x in held_in(result) if isinstance(x, NodeRole)]
            call = self.call_around(frame.f_back) if nodes else None
            if call and not call.given and depends_on_older(nodes, call, frame.f_locals, self.codes[id(code)][1]):
                call.given.append(f"the result of {code.co_qualname}")
            return
        call = frame.f_locals.get(CALL)
        if not (call and call.given):
            return
        from .shadow import keeps_history, leaves

        if results := list(leaves(call.args[0] if call.args and result is None else result)):  # it writes into self
            if any([gradient_target(x) is not None for x in results]):
                if modes().prove != "never" and not keeps_history(results, call.function, call.args, call.options):
                    raise LostGradientError(message(frame, call.given[0], "a node without part of the history"))
            elif not is_constant(frame, call):
                raise LostGradientError(message(frame, call.given[0], "numbers without one"))


def call_to_repeat(frame: types.FrameType) -> tuple[AnyFunction, list[Any], ByName]:
    """The call that begins in a frame, to be made once more: a function, its arguments."""
    code, values = frame.f_code, frame.f_locals
    n, m = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = WATCH.codes[id(code)][1]
    cells = tuple([types.CellType(values[name]) for name in code.co_freevars])
    args, options = [values[name] for name in names[:n]], {name: values[name] for name in names[n:m]}
    for more in [values[name] for name in names[m:]]:
        if type(more) is tuple:
            args += more
        else:
            options |= more
    return types.FunctionType(code, frame.f_globals, code.co_name, None, cells), args, options


def arguments_of(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The arguments of that call by name: those of a decorator's wrapper have the names of what it wraps."""
    code = getattr(wrapped_in(frame), "__code__", frame.f_code)
    _, args, options = call_to_repeat(frame)
    names = *code.co_varnames[: code.co_argcount], *["args"] * len(args)
    return [*zip(names, args, strict=False), *options.items()]


def depends_on_older(nodes: list[Any], call: WatchedCall, values: ByName, names: tuple[str, ...]) -> bool:
    """Is something in the history of these nodes, which a user's function has returned, older than the call? Not where
    the search begins, if the function was given a node: then that came from there."""
    handed = any([isinstance(x, NodeRole) for name in names for x in held_in(values.get(name))])
    return any([from_outside(gradient_target(x), call.since, call.starts if handed else ()) for x in nodes])


def wrapped_in(frame: types.FrameType) -> Any:
    """The function around which the one that runs in a frame is the wrapper of a decorator; None of others."""
    values = [frame.f_locals.get(name) for name in frame.f_code.co_freevars]
    return next((f for f in values if isinstance(f, types.FunctionType) and "<" not in f.__qualname__), None)


def name_of(frame: types.FrameType) -> tuple[str, str]:
    """Module and name of the function that runs in a frame: of a method those of the object's class, of a decorator's
    wrapper those of what it wraps."""
    code, values = frame.f_code, frame.f_locals
    owner = type(values.get(code.co_varnames[0])) if code.co_argcount else None
    if owner is not None and "." in code.co_qualname and hasattr(owner, code.co_name):
        return owner.__module__, f"{owner.__name__}.{code.co_name}"
    f = wrapped_in(frame)
    return (f.__module__, f.__qualname__) if f else (frame.f_globals["__name__"], code.co_qualname)


def is_constant(frame: types.FrameType, call: WatchedCall) -> bool:
    """Is it a SciPy function, of nodes alone, whose result does not move with them, such as ranks?"""
    home, name = name_of(frame)
    home = home.partition("._")[0]
    if is_listed(home, ["scipy"]) and all([isinstance(x, NodeRole) for x in held_in([call.args, call.options])]):
        with contextlib.suppress(Exception):
            theirs, proofs = [importlib.import_module(x) for x in (home, f"{PACKAGE}.scipy.proofs")]
            return bool(proofs.check_proof(getattr(theirs, name), f"{home}.{name}", call.args, call.options) == "flat")
    return False


def message(frame: types.FrameType, argument: str, result: str) -> str:
    """The message about a call: the function, the argument, the line, and what to use instead."""
    module, name = name_of(frame)
    place: Any = frame
    while is_library(place.f_code.co_filename) and place.f_back is not None:
        place = place.f_back
    module, advice = module.partition("._")[0], "write it with NumPy's functions"
    advice = next((text for home, text in OUT_OF_SCOPE.items() if is_listed(module, [home])), advice)
    with contextlib.suppress(ImportError):
        has = hasattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
        advice = f"use {PACKAGE}.{module}.{name}" if has else f"{advice}, or with those of {PACKAGE}.{module}"
        proofs = importlib.import_module(f"{PACKAGE}.scipy.proofs")
        advice = proofs.remedy(f"{module}.{name}", frame.f_locals.get("lmbda")) or advice
    return (
        f"{module}.{name} was given a node with a history ({argument}), and returned {result}, at "
        f"{where(place)}: {advice}; or give it x.value, if no gradient is wanted"
    )


def held_in(x: Any, depth: int = 4) -> Iterator[Any]:
    """The nodes with a history and the user's functions in this argument: in a tuple, list, dict, in a method, a
    ``partial``, an object that is called, in an object of a watched package."""
    if isinstance(x, NodeRole):
        yield from [x] if gradient_target(x) is not None else []
        return
    if isinstance(x, (types.MethodType, functools.partial)):
        x = getattr(x, "__func__", None) or x.func  # type: ignore[union-attr]
    elif isinstance(called := getattr(type(x), "__call__", None), types.FunctionType):  # noqa: B004
        x = called if not is_listed(type(x).__module__, [PACKAGE]) and not WATCH.watches(type(x).__module__) else x
    if isinstance(x, types.FunctionType):
        yield from [x] if not WATCH.watches(x.__module__) else []
        return
    x = getattr(x, "__dict__", x) if WATCH.watches(type(x).__module__) else x
    x = list(x.values()) if type(x) is dict else x
    if depth and type(x) in (list, tuple) and not PLAIN.issuperset(map(type, x)):
        for v in x:
            yield from held_in(v, depth - 1)


WATCH = Watch()


def watch_packages(packages: tuple[str, ...], outside: bool) -> None:
    """Watch these, too; without any, and outside of a block, give the tool back."""
    if outside and not packages:
        WATCH.give_back()
    WATCH.add(packages)


CHANGED["watched"] = watch_packages
WATCH.add(modes().watched)
