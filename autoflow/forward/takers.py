"""Who takes a number out of a node? Where NumPy has no hook, this is found in the code of the caller.

A list of 0-d nodes where an array is expected (``np.sum([x, y])``, ``np.array([[0, -w], [w, 0]])``, ``plain * [x, y]``)
is NumPy's own affair: it asks no node what to do, but takes the number of each by ``__float__``, and the gradient would
be lost without a word. ``float(x)``, ``f"{x:.3f}"``, Matplotlib and pandas take a number in the very same way, and on
purpose. What tells them apart is who calls:

* the frame that takes the number is a NumPy function, written in Python (``np.mean``). The outermost such frame
  is the function that the user has called;
* it is the user's own frame. Its current instruction is a call, and the instructions that begin at the same place in
  the source have loaded the called object: ``np`` and ``array``, or ``float``. They are looked up in that frame.

A function whose result can carry a gradient (:func:`carries`) is refused, if code outside the standard library and
``site-packages`` has called it. Where the instructions do not say where they stand in the source
(``python -X no_debug_ranges``), or are not a chain of names (``table["f"](x)``), nothing can be told.
"""

from __future__ import annotations

import dis
import inspect
from dataclasses import dataclass
from itertools import pairwise
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MemberDescriptorType
from typing import Any

import numpy as np

from ..base.errors import LostGradientError
from ..nodes.coercion import refuse_halfway
from ..nodes.cuts import named
from ..nodes.grads import read_once
from ..program.callers import USERS, Caller, calling_module, getframe, wants_numbers, who
from ..program.places import variables_of
from ..rules import RULES
from ..rules.arithmetic import zero
from ..rules.variants import METHODS
from ..table.outside import MADE, public_name
from ..table.shapes import functions
from ..table.table import COMPOSED
from .dispatch import has_scipy_rule

# Classes, and their methods that take the numbers.
CLASSES = {"matrix": "__new__", "poly1d": "__init__", "vectorize": "__call__"}
IN_PYTHON: dict[CodeType, str] = {}  # code of a NumPy function -> its name; filled by name_in_python
ARRAY_METHODS = frozenset(
    {"astype", "clip", "cumprod", "cumsum", "dot", "fill", "max", "mean", "min", "prod", "put", "std", "sum", "var"}
)
ON_PURPOSE = frozenset({float, format, print, str, repr})
# What NumPy's functions are; nothing else is looked up in a table, as that would run a ``__hash__`` of the user's.
KINDS = (np.ufunc, BuiltinFunctionType, FunctionType, type, type(np.sum))
UNKNOWN: Any = object()

# Instructions, of all versions of Python.
LOADS = {
    "LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS",
}  # fmt: skip
ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
CALLS = {"CALL", "PRECALL", "CALL_KW", "CALL_FUNCTION_EX"}
STORES = {"STORE_SUBSCR", "STORE_SLICE"}
BESIDE = {"PUSH_NULL", "EXTENDED_ARG", "CACHE", "NOP", "COPY_FREE_VARS", "KW_NAMES", "LOAD_CONST"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """The kind of an instruction ("call", "store", "operator", "format" or anything else), and the names of the called
    object: ("np", "array")."""

    does: str
    names: tuple[str, ...] = ()
    is_global: bool = False  # is the first name one of the module or a builtin?


def read_instruction(code: CodeType, last: int) -> Instruction:
    """What the instruction at ``last`` does."""
    rows = list(dis.get_instructions(code))
    k = next((k for k, row in enumerate(rows) if row.offset == last), None)
    if k is None:
        return Instruction("")
    name = rows[k].opname
    if name in STORES:
        return Instruction("store")
    if name.startswith(("BINARY_OP", "INPLACE")):
        return Instruction("format" if rows[k].argrepr.startswith("%") else "operator")
    if name not in CALLS:
        return Instruction(name)
    names, is_global = callee(rows[:k], rows[k].positions)
    return Instruction("call", names, is_global)


def callee(rows: list[Any], call: Any) -> tuple[tuple[str, ...], bool]:
    """The names of the called object: those loaded by the instructions whose source begins where that of the call
    begins.

    ``np.sum(x, axis=0)`` loads ``np`` and ``sum``; what belongs to all of the call (its tuple of keywords) is passed
    over. Where Python does not know the places there are no names.
    """
    names: list[str] = []
    first = ""
    has_position = call is not None and call.col_offset is not None
    for before, row in pairwise([None, *rows]) if has_position else ():
        where = row.positions
        if where is None or (where.lineno, where.col_offset) != (call.lineno, call.col_offset) or where == call:
            continue
        if not names and before is not None and "LOAD_FAST" in before.opname and type(before.argval) is tuple:
            names, first = [str(before.argval[-1])], before.opname  # two instructions in one, from Python 3.13 on
        if row.opname in LOADS:
            names, first = [str(row.argval)], row.opname
        elif row.opname in ATTRIBUTES and names:
            names.append(str(row.argval))
        elif row.opname not in BESIDE:
            names = []  # the result of another call, an element: no chain of names
    return tuple(names), first in ("LOAD_GLOBAL", "LOAD_NAME")


def called_in(frame: FrameType, instruction: Instruction) -> Any:
    """The object that is called there, looked up without running code of anybody's; UNKNOWN if that is not possible."""
    if not instruction.names:
        return UNKNOWN
    name, *attributes = instruction.names
    is_local = not (instruction.is_global and frame.f_code.co_flags & inspect.CO_OPTIMIZED)
    x: Any = variables_of(frame).get(name, UNKNOWN) if is_local else UNKNOWN
    if x is UNKNOWN:
        x = frame.f_globals.get(name, frame.f_builtins.get(name, UNKNOWN))
    for attribute in attributes:
        x = attribute_of(x, attribute)
    return x


def attribute_of(x: object, name: str) -> Any:
    """``x.name``, if to read it runs no code of a class: no property and no ``__getattr__`` is called."""
    if isinstance(x, (np.ndarray, np.generic, np.ufunc)):
        return getattr(x, name, UNKNOWN)
    attribute = inspect.getattr_static(x, name, UNKNOWN)
    if isinstance(attribute, MemberDescriptorType):  # a slot
        return getattr(x, name, UNKNOWN)
    return attribute.__func__ if isinstance(attribute, staticmethod) else attribute


# -- whose code, which function ----------------------------------------------------------------------------------------


def carries(function: object) -> str | None:
    """The name of a NumPy function (SciPy's, the user's) whose result can carry a gradient; else None.

    >>> carries(np.sum), carries(np.argmax), carries(float), carries(np.add.reduce), carries(np.ones(2).dot)
    ('np.sum', None, None, 'np.add.reduce', 'ndarray.dot')
    """
    if not isinstance(function, KINDS):
        return None
    rule = RULES.get(function)
    if isinstance(function, np.ufunc) and rule is None and function not in COMPOSED and has_scipy_rule(function):
        rule = RULES.get(function)
    if rule is not None:
        return None if all([d is zero for d in rule.derivatives.values()]) else public_name(function)
    if function in COMPOSED or function in MADE:
        return public_name(function)
    if isinstance(function, type):
        mine = issubclass(function, np.ndarray) or function in functions(np, " ".join(CLASSES))
        return public_name(function) if mine else None
    owner = getattr(function, "__self__", None) if isinstance(function, BuiltinFunctionType) else None
    if isinstance(owner, np.ufunc):
        return public_name(owner, function.__name__) if owner in METHODS.get(function.__name__, ()) else None
    if isinstance(owner, np.ndarray) and function.__name__ in ARRAY_METHODS:
        return f"ndarray.{function.__name__}"
    return None


def name_in_python(code: CodeType) -> str | None:
    """The name of the function of NumPy's that has this code, if its result can carry a gradient."""
    if not IN_PYTHON:
        kinds = {name: vars(np)[name] for name in CLASSES if name in vars(np)}
        names = [(getattr(kind, CLASSES[name]), public_name(kind)) for name, kind in kinds.items()]
        names += [(type(x).__getitem__, f"np.{name}") for name, x in (("r_", np.r_), ("mgrid", np.mgrid))]
        names += [(np.polynomial.Polynomial.__init__, "np.polynomial")]
        names += [(f, name) for f in (*RULES, *COMPOSED, *MADE) if (name := carries(f)) is not None]
        for function, name in names:
            code_of = getattr(getattr(function, "_implementation", function), "__code__", None)
            if code_of is not None and (getattr(function, "__module__", None) or "").startswith("numpy"):
                IN_PYTHON[code_of] = name
    return IN_PYTHON.get(code)


# -- the answer --------------------------------------------------------------------------------------------------------


def check_taker(x: Any, kind: type, strict: bool) -> bool:
    """Is the number of x taken on purpose, by a call of ``float``, ``int`` or ``complex`` itself, or to be printed?
    Raises LostGradientError if the code that takes it would lose the gradient. (Called by ``__float__``, which is
    called by the frame in question.)

    ``float(x)`` comes first, because it is called in every training loop.
    """
    frame = getframe(3)
    instruction = read_once(read_instruction, frame)
    function = called_in(frame, instruction) if instruction.does == "call" else UNKNOWN
    if instruction.does == "format" or (isinstance(function, KINDS) and function in ON_PURPOSE):
        return True
    refuse_halfway(module := calling_module(), True)
    if wants_numbers(module):
        return False
    if instruction.does == "store":
        raise LostGradientError(
            f"plain[i] = {named(x)} would store the number only, and its gradient would be lost. Make the array with "
            f"af.zeros(...) or np.zeros_like(node), then the write is recorded; or plain[i] = float(node)."
        )
    if kind is not int and (name := taker(frame, instruction, function)) is not None:
        raise LostGradientError(
            f"{name} would take the number of {named(x)}, and its gradient would be lost: NumPy does not ask the nodes "
            f"in a list. Write af.array([...]) or af.stack in place of the list; or float(x), if only the number is "
            f"meant, as in losses.append(float(loss))."
        )
    if strict:
        raise LostGradientError(
            f"{kind.__name__}({x.name}) leaves the graph, and strict mode refuses that, except for float(x) itself "
            f"and printing: use the node itself, or x.value.item() to leave on purpose"
        )
    return function is kind


def taker(frame: FrameType, instruction: Instruction, function: object) -> str | None:
    """The name of the function that takes the number, if that loses a gradient and the call is the user's own."""
    code, caller = None, who(frame)
    while caller is Caller.NUMPY and frame.f_back is not None:
        code, frame = frame.f_code, frame.f_back
        caller = who(frame)
    if caller not in USERS:
        return None
    if code is None:
        return "an operator of a plain array and a list" if instruction.does == "operator" else carries(function)
    if (name := name_in_python(code)) is not None:
        return name
    outer = read_once(read_instruction, frame)
    return carries(called_in(frame, outer)) if outer.does == "call" else None
