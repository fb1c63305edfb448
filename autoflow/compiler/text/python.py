"""A program as NumPy source that does not need autoflow: the same calls in the same order, so the same bits.

A value that is used once is written into the expression that uses it, as long as that stays short. Elementary
operations have their signs; powers keep their function, since ``x**y`` of numbers is rounded otherwise than of arrays.
"""

from __future__ import annotations

import inspect
import operator
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...table.indexing import put_view
from ..matching import REDUCE, Value
from ..program import Program
from ..trace.memory import cast, flatten, set_items, update_at, write_into_copy
from ..trace.traced import power_of_arrays
from .writer import REDUCING, RefusedError, Writer, call_of, name_of

SIGNS = {  # and how tightly they bind
    np.add: ("+", 4), np.subtract: ("-", 4), np.multiply: ("*", 5), np.divide: ("/", 5), np.matmul: ("@", 5),
    np.less: ("<", 2), np.less_equal: ("<=", 2), np.greater: (">", 2), np.greater_equal: (">=", 2),
}  # fmt: skip
OURS = {f.__name__: f for f in (set_items, update_at, write_into_copy)}  # written into the file, if used
ERF = """def erf(x):
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype)"""
ATOM, SIGN = 9, 6  # how tightly a name and a minus bind
LONG = 72  # characters of an expression
FEW = 24  # numbers of an array that is written out where it is made


class Text:
    """An expression, and how tightly its last operation binds."""

    def __init__(self, text: str, binds: int = ATOM) -> None:
        self.text, self.binds = text, binds

    def within(self, binds: int) -> str:
        """As an operand of something that binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


class Python(Writer):
    """``lines`` are the assignments, ``outside`` the arrays and functions that they need.

    names : of some values, by the user.
    """

    language = "NumPy source"

    def __init__(self, program: Program, names: dict[Value, str]) -> None:
        self.lines: list[str] = []
        self.outside: dict[str, str] = {}
        self.modules = {"import numpy as np"}
        self.names, self.taken = names, Counter(names.values())
        order = program.order()
        self.uses = Counter([x for v in order for x in v.args] + program.outputs)
        self.is_double = all([v.dtype is None or v.dtype.kind in "biu" or v.dtype == np.float64 for v in order])
        super().__init__(program)
        self.write()

    def placed(self, v: Value, text: Text) -> Text:
        """Where it is used, or on a line of its own."""
        if v not in self.names and self.uses[v] == 1 and len(text.text) <= LONG and v.parts is None:
            return text
        name = self.names.get(v) or self.fresh(v)
        self.lines.append(f"{name} = {text.text}")
        return Text(name)

    def fresh(self, v: Value) -> str:
        """A new name after the last operation: ``exp_2``."""
        word = re.sub(r"\W", "_", v.name.partition(".")[0].lower())
        self.taken[word] += 1
        return f"{word}_{self.taken[word]}"

    # -- the kinds of values

    def write_input(self, v: Value) -> Text:
        return Text(self.names[v])

    def write_constant(self, v: Value) -> Text:
        if v.dtype is None or (not v.shape and v.dtype == np.float64 and self.is_double):
            return number(v.sample if v.dtype is None else v.sample.item())
        return self.array(v.sample)

    def array(self, x: Any) -> Text:
        """An array that is known."""
        if x.dtype.kind not in "fiubc":
            raise RefusedError(f"a constant of {x.dtype}")
        text = repr(x.tolist()).replace("nan", 'float("nan")').replace("inf", 'float("inf")')
        order = "" if x.flags.c_contiguous or x.ndim < 2 else ', order="F"'
        kind = "" if x.dtype in (np.float64, np.int64, np.bool_) else f", dtype=np.{x.dtype}"
        text = f"np.array({text}{kind}{order})" if isinstance(x, np.ndarray) else f"np.{x.dtype}({text})"
        if x.size > FEW:
            name = f"ARRAY_{len(self.outside) + 1}"
            self.outside[name] = f"{name} = {text}"
            return Text(name)
        return Text(text)

    def write_captured(self, v: Value) -> Text:
        return self.array(v.sample)

    def ufunc(self, function: Any, args: Sequence[Any], operands: Sequence[Text]) -> Text:
        """With its sign, or its name."""
        if function is np.negative:
            return Text(f"-{operands[0].within(SIGN)}", SIGN)
        if function in SIGNS and len(operands) == 2 and any([is_array(a) for a in args]):
            sign, binds = SIGNS[function]
            return Text(f"{operands[0].within(binds)} {sign} {operands[1].within(binds + 1)}", binds)
        return self.called(function, [x.text for x in operands], {})

    def called(self, function: Any, args: Sequence[str], options: dict[str, str]) -> Text:
        """``np.linalg.solve(a, b)``."""
        name = name_of(function)
        if not name.startswith(("np.", "scipy.")):
            raise RefusedError(name)
        if name.startswith("scipy."):
            self.modules.add(f"import {name.rpartition('.')[0]}")
        return Text(f"{name}({joined(args, options)})")

    def write_item(self, v: Value, parts: Text) -> Text:
        return self.placed(v, Text(f"{parts.within(ATOM)}[{v.options}]"))

    def write_call(self, v: Value, *operands: Text) -> Text:
        return self.placed(v, self.call(v, *call_of(v, operands)))

    def call(self, v: Value, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Text:
        """A call of NumPy, by its sign, as a method, or by its name."""
        if v.kind == REDUCE and v.function in REDUCING:
            function, options = (
                REDUCING[v.function],
                {k: x for k, x in options.items() if x is not None and x is not False},
            )
        if function is put_view:
            function, args = set_items, (args[0], index_of(args[2]), args[1])
        name = getattr(function, "__name__", "")
        words = [self.literal(a) for a in args]
        options = {k: self.literal(x) for k, x in options.items()}
        if isinstance(function, np.ufunc) and not options:
            return self.ufunc(function, v.args, [a if isinstance(a, Text) else Text(self.literal(a), 0) for a in args])
        if function is operator.getitem:
            return Text(f"{args[0].within(ATOM)}[{self.index(args[1])}]")
        if function is np.transpose and args[1:] == ((1, 0),):
            return Text(f"{args[0].within(ATOM)}.T")
        if function is cast:
            return self.method("astype", [words[0], f"np.{v.dtype}" if v.dtype.kind != "b" else "bool"], {})
        if function is flatten or hasattr(function, "method"):
            return self.method(getattr(function, "method", "flatten"), words, options)
        if function in (power_of_arrays, operator.pow):
            base = words[0] if v.args[0].shape or function is operator.pow else f"np.asarray({words[0]})"
            return Text(f"({base}) ** ({words[1]})", ATOM - 1)
        if name == "erf":  # that of autoflow.nn, which SciPy need not be installed for
            self.modules.add("import math")
            self.outside[name] = ERF
        elif OURS.get(name) is function:
            self.outside.setdefault(name, plain_source(function))
        else:
            return self.called(function, words, options)
        return Text(f"{name}({joined(words, options)})")

    def method(self, name: str, words: Sequence[str], options: dict[str, str]) -> Text:
        """One of ndarray's methods."""
        return Text(f"np.asarray({words[0]}).{name}({joined(words[1:], options)})")

    def literal(self, x: Any) -> str:
        """An argument as it is written."""
        if isinstance(x, Text):
            return x.text
        if type(x) in (tuple, list):
            inside = ", ".join([self.literal(a) for a in x]) + "," * (type(x) is tuple and len(x) == 1)
            return f"({inside})" if type(x) is tuple else f"[{inside}]"
        if x is None or x is ... or isinstance(x, (bool, int, float, complex, str)):
            return "..." if x is ... else number(x).text
        if isinstance(x, slice):
            return f"slice({', '.join([self.literal(a) for a in (x.start, x.stop, x.step)])})"
        if isinstance(x, (np.dtype, type)) and issubclass(np.dtype(x).type, np.generic):
            return f"np.{np.dtype(x)}"
        if isinstance(x, (np.ndarray, np.generic)):
            return self.array(x).text
        if callable(x):
            name = name_of(x)
            if name.startswith("np."):
                return name
        raise RefusedError(f"an argument {x!r:.40}")

    def index(self, x: Any) -> str:
        """The text of an index in brackets: ``:, 1:``."""
        if type(x) is tuple and x:
            return ", ".join([self.index(a) for a in x]) + "," * (len(x) == 1)
        if isinstance(x, slice):
            start, stop, step = ["" if a is None else self.literal(a) for a in (x.start, x.stop, x.step)]
            return f"{start}:{stop}" + f":{step}" * bool(step)
        return self.literal(x)


def joined(args: Sequence[str], options: dict[str, str]) -> str:
    """The text between the parentheses of a call.

    >>> joined(["x"], {"axis": "0"})
    'x, axis=0'
    """
    return ", ".join([*args, *[f"{k}={x}" for k, x in options.items()]])


def index_of(view: Any) -> Any:
    """The index that a view was taken by. A view that a closure takes has no text."""
    if not isinstance(view, operator.itemgetter):
        raise RefusedError("a write through a view that is not taken by an index")
    return view.__reduce__()[1][0]


def is_array(a: Any) -> bool:
    """Does it have NumPy's operators?"""
    return isinstance(a, Value) and a.dtype is not None


def number(x: Any) -> Text:
    """A number; a negative one binds as its sign."""
    if isinstance(x, float) and not np.isfinite(x):
        return Text(f'float("{x}")')
    return Text(repr(x), ATOM if not repr(x).startswith("-") else SIGN)


def plain_source(function: Any) -> str:
    """The source of a function of ours without its annotations."""
    source = textwrap.dedent(inspect.getsource(function))
    return re.sub(r": (Array|Any|np\.ufunc|Callable\[\.\.\., Any\])(?=[,)])| -> \w+(?=:)", "", source).rstrip()
