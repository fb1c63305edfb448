"""A program as NumPy source that does not need autoflow: the same calls in the same order, so the same bits.

A value that is used once is written into the expression that uses it, as long as that stays short. Elementary
operations have their signs; powers keep their function, since ``x**y`` is rounded differently for numbers and arrays.
Operands are put in parentheses, and Python itself removes those that are not needed.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
import textwrap
from collections import Counter
from typing import Any

import numpy as np

from ...base.pytree import tree_map
from ...base.types import Array, ByName, Values
from ...pictures.model.names import index
from ...pictures.sliders.live import OPERATORS
from ...table.indexing import put_view
from ...table.outside import public_name
from ..matching import REDUCE, Value, call_of
from ..program import Program
from ..trace.memory import cast, check_answer, flatten, set_items, update_at, write_into_copy
from ..trace.traced import power_of_arrays
from .writer import REDUCING, RefusedError, Writer

SIGNS = {f: sign for f, sign in OPERATORS.items() if sign in {*"+-*/<>", "<=", ">="}} | {np.matmul: "@"}
OURS = {f.__name__: f for f in (set_items, update_at, write_into_copy, check_answer)}  # written into the file, if used
RESERVED = {"np", "math", "scipy", "erf", "bool", "slice", "complex", *OURS}  # what a line may call
ERF = """def erf(x):
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype if x.dtype.kind == "f" else float)"""
LONG = 72  # characters of an expression
FEW = 24  # numbers of an array that is written out where it is made


class Word(str):
    """An expression, which is shown as it is, also in a container."""

    __slots__ = ()
    __repr__ = str.__str__


class Python(Writer):
    """``lines`` are the assignments, ``outside`` the arrays and functions that they need.

    names : of some values, by the user.
    origin : by the number of a value, where it comes from.
    """

    language = "NumPy source"

    def __init__(self, program: Program, names: dict[Value, str], origin: dict[int, str]) -> None:
        self.lines: list[str] = []
        self.outside: dict[str, str] = {}
        self.modules = {"import numpy as np"}
        self.names, self.taken, self.counts = names, {*names.values()}, Counter[str]()
        self.origin, self.latest = origin, ""
        order = program.order()
        self.uses = Counter([x for v in order for x in v.args] + program.outputs)
        self.is_double = all([v.dtype is None or v.dtype.kind in "biu" or v.dtype == np.float64 for v in order])
        super().__init__(program)
        self.write()

    def placed(self, v: Value, text: str) -> Word:
        """Where it is used, or on a line of its own."""
        text = plain(text)
        if v not in self.names and self.uses[v] == 1 and len(text) <= LONG and v.parts is None:
            return Word(f"({text})")
        name = self.names.get(v) or self.fresh(v)
        if (line := self.origin.get(int(v.number), "")) != self.latest:
            self.latest = line
            self.lines += [f"# {line}"] * bool(line)
        self.lines.append(f"{name} = {text}")
        return Word(name)

    def fresh(self, v: Value) -> str:
        """A new name after the last operation: ``exp_2``."""
        word = re.sub(r"\W", "_", v.name.partition(".")[0].lower())
        self.counts[word] += 1
        name = f"{word}_{self.counts[word]}"
        return self.fresh(v) if name in self.taken else name

    # -- the kinds of values

    def write_input(self, v: Value) -> Word:
        return Word(self.names[v])

    def write_constant(self, v: Value) -> Word:
        if v.dtype is None or (not v.shape and v.dtype == np.float64 and self.is_double):
            return self.leaf(v.sample if v.dtype is None else v.sample.item())
        return self.array(v.sample)

    def write_captured(self, v: Value) -> Word:
        return self.array(v.sample)

    def array(self, x: Array) -> Word:
        """An array that is known."""
        if x.dtype.kind not in "fiubc":
            raise RefusedError(f"a constant of {x.dtype}")
        text = array_text(x)
        if x.size > FEW:
            name = f"ARRAY_{len(self.outside) + 1}"
            self.outside[name] = f"{name} = {text}"
            return Word(name)
        return Word(text)

    def write_item(self, v: Value, parts: Word) -> Word:
        return self.placed(v, f"{parts}[{v.options}]")

    def write_call(self, v: Value, *operands: Word) -> Word:
        return self.placed(v, self.call(v, *call_of(v, operands)))

    def call(self, v: Value, function: object, args: Values, options: ByName) -> str:
        """A call of NumPy, by its sign, as a method, or by its name."""
        if v.kind == REDUCE and v.function in REDUCING:
            function = REDUCING[v.function]
            options = {k: x for k, x in options.items() if x is not None and x is not False}
        if function is put_view:
            function, args = set_items, (args[0], index_of(args[2]), args[1])
        if function is operator.getitem:
            text = index(args[1], lambda x: repr(self.literal(x)))
            return f"{args[0]}[{text}{',' * (type(args[1]) is tuple and len(args[1]) == 1)}]"
        if function is np.transpose and args[1:] == ((1, 0),):
            return f"{args[0]}.T"
        if function is cast:
            args, options = (args[0], bool if v.dtype.kind == "b" else v.dtype), {}
        words = [repr(self.literal(a)) for a in args]
        if function is np.negative and not options:
            return f"-{words[0]}"
        if function in SIGNS and len(args) == 2 and not options and any([a.dtype is not None for a in v.args]):
            return f"({words[0]}) {SIGNS[function]} ({words[1]})"
        if function in (power_of_arrays, operator.pow):
            base = words[0] if v.args[0].shape or function is operator.pow else f"np.asarray({words[0]})"
            return f"({base}) ** ({words[1]})"
        words[1:] += [f"{k}={self.literal(x)!r}" for k, x in options.items()]
        if function in (cast, flatten):
            method = "astype" if function is cast else "flatten"
            return f"np.asarray({words[0]}).{method}({', '.join(words[1:])})"
        return f"{self.called(function)}({', '.join(words)})"

    def called(self, function: object) -> str:
        """The name of a function, which the file then has."""
        name = getattr(function, "__name__", "")
        if name == "erf":  # that of autoflow.nn, which SciPy need not be installed for
            self.modules.add("import math")
            self.outside[name] = ERF
        elif OURS.get(name) is function:
            self.outside.setdefault(name, plain_source(function))
        else:
            name = public_name(function)
            if not name.startswith(("np.", "scipy.")):
                raise RefusedError(name)
            if name.startswith("scipy."):
                self.modules.add(f"import {name.rpartition('.')[0]}")
        return name

    def literal(self, x: Any) -> Any:
        """An argument that shows itself as it is written."""
        return tree_map(self.leaf, x) if type(x) in (tuple, list) else self.leaf(x)

    def leaf(self, x: object) -> Word:
        """The same for anything but a container."""
        if isinstance(x, (np.ndarray, np.generic)):
            return self.array(x)
        if x is None or isinstance(x, (bool, int, float, complex)):
            return Word(digits(x))
        if isinstance(x, str):
            return Word(repr(x))
        if x is ...:
            return Word("...")
        if isinstance(x, slice):
            return Word(f"slice({', '.join([self.leaf(a) for a in (x.start, x.stop, x.step)])})")
        if x is bool or (isinstance(x, (np.dtype, type)) and issubclass(np.dtype(x).type, np.generic)):
            return Word("bool" if x is bool else dtype_text(np.dtype(x)))
        if callable(x) and (name := public_name(x)).startswith("np."):
            return Word(name)
        raise RefusedError(f"an argument {x!r:.40}")


def plain(text: str) -> str:
    """An expression without the parentheses that it does not need.

    >>> plain("((a) * (b)) + (-(c))"), plain('f((x), order="F")')
    ('a * b + -c', 'f(x, order="F")')
    """
    return ast.unparse(ast.parse(text, mode="eval")).replace("'", '"')


def digits(x: object) -> str:
    """Numbers as they are written.

    >>> digits([0.5, -np.inf]), digits(complex(-0.0, np.nan))
    ('[0.5, -np.inf]', 'complex(-0.0, np.nan)')
    """
    if isinstance(x, list):
        return f"[{', '.join(map(digits, x))}]"
    if isinstance(x, complex):  # 1 - 0j is 1 + 0j
        return f"complex({digits(x.real)}, {digits(x.imag)})"
    return re.sub(r"\b(inf|nan)", r"np.\1", repr(x))


def array_text(x: Array) -> str:
    """An array, or a NumPy number.

    >>> array_text(np.zeros((0, 3), np.float32)), array_text(np.int64(2))
    ('np.array([], dtype=np.float32).reshape((0, 3))', 'np.int64(2)')
    """
    text = digits(x.tolist())
    if not isinstance(x, np.ndarray):
        return f"np.{x.dtype}({text})"
    order = "" if x.flags.c_contiguous or x.ndim < 2 else ', order="F"'
    kind = "" if x.dtype in (np.float64, np.int64, np.bool_) else f", dtype={dtype_text(x.dtype)}"
    return f"np.array({text}{kind}{order})" + f".reshape({x.shape})" * (not x.size)  # a list without elements has none


def dtype_text(dtype: np.dtype[Any]) -> str:
    """A dtype, also one of the other byte order.

    >>> dtype_text(np.dtype(np.float32)), dtype_text(np.dtype(">f8"))
    ('np.float32', 'np.dtype(">f8")')
    """
    return f"np.{dtype}" if dtype.isnative else f'np.dtype("{dtype.str}")'


def index_of(view: object) -> Any:
    """The index that a view was taken by. A view that a closure takes has no text."""
    if not isinstance(view, operator.itemgetter):
        raise RefusedError("a write through a view that is not taken by an index")
    return view.__reduce__()[1][0]


def plain_source(function: Any) -> str:
    """The source of our function without its annotations."""
    lines = textwrap.dedent(inspect.getsource(function)).rstrip().split("\n")
    nodes = [*ast.walk(ast.parse("\n".join(lines)))]
    hints = [(": ", x.annotation) for x in nodes if isinstance(x, ast.arg) and x.annotation]
    hints += [(" -> ", x.returns) for x in nodes if isinstance(x, ast.FunctionDef) and x.returns]
    for sign, x in sorted(hints, key=lambda pair: -pair[1].col_offset):
        k = x.lineno - 1
        lines[k] = lines[k][: x.col_offset - len(sign)] + lines[k][x.end_col_offset :]
    return "\n".join(lines)
