"""LLVM's text, line by line: names, constants, loops. What is computed in them is decided elsewhere.

In LLVM's text every name is given once (static single assignment), and a block of lines ends in a jump. A value that
changes from one round of a loop to the next is a *phi* at the head of the block: "what it was before the loop, or what
the round before has made of it, depending on where we come from".

    >>> t = Text()
    >>> loop = t.begin_for(0, 10, 1, [("double", "0.0")])
    >>> t.end_for(loop, [t.let(f"fadd double {loop.values[0]}, 1.0")])
    >>> print(t)
      br label %loop1
    loop1:
      %i1 = phi i64 [0, %entry], [%i1.next, %loop1]
      %v2 = phi double [0.0, %entry], [%v3, %loop1]
      %v3 = fadd double %v2, 1.0
      %i1.next = add i64 %i1, 1
      %i1.more = icmp ult i64 %i1.next, 10
      br i1 %i1.more, label %loop1, label %after1
    after1:
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

LANES = 8  # numbers that a vector holds, on every machine: so sums add in the same order on every machine
# fmt: off
CODES = {  # the dtypes that loops compute with, and LLVM's names of them
    np.dtype(np.float64): "double", np.dtype(np.float32): "float", np.dtype(np.bool_): "i1",
    np.dtype(np.int8): "i8", np.dtype(np.int16): "i16", np.dtype(np.int32): "i32", np.dtype(np.int64): "i64",
}
# fmt: on


def type_of(scalar: str, width: int) -> str:
    """A number, or a vector of them.

    >>> type_of("double", 1), type_of("double", 8)
    ('double', '<8 x double>')
    """
    return scalar if width == 1 else f"<{width} x {scalar}>"


def suffix_of(scalar: str, width: int) -> str:
    """The same in names of LLVM's own functions: ``llvm.sqrt.v8f64``."""
    short = {"double": "f64", "float": "f32"}[scalar]
    return short if width == 1 else f"v{width}{short}"


def number(scalar: str, x: Any) -> str:
    """A constant; of floats all bits.

    >>> number("double", 1.0), number("float", 0.1), number("i1", True), number("i8", -3)
    ('0x3FF0000000000000', '0x3FB99999A0000000', 'true', '-3')
    """
    if scalar in ("double", "float"):
        wide = float(x) if scalar == "double" else float(np.float32(x))
        return f"0x{struct.unpack('<Q', struct.pack('<d', wide))[0]:016X}"
    return ("true" if x else "false") if scalar == "i1" else str(int(x))


def constant(scalar: str, x: Any, width: int) -> str:
    """A constant, in every lane."""
    if width == 1:
        return number(scalar, x)
    return f"splat ({scalar} {number(scalar, x)})"


@dataclass
class Loop:
    """A loop that is being written: its number, the names of its index and of the values that change."""

    k: int
    index: str
    values: list[str]
    types: list[str]
    begin: list[str]  # the values before the loop
    bounds: tuple[int, int, int]
    before: str  # the block that we come from
    head: int  # where the phis go


class Text:
    """Lines, and the names that are taken."""

    def __init__(self, own_functions: bool = False) -> None:
        self.own_functions = own_functions  # also where the C library's are quicker
        self.lines: list[str] = []
        self.count = 0
        self.numbers = False  # is it text of numbers, without a loop?
        self.block = "entry"
        self.declared: set[str] = set()  # functions that the module must declare
        self.helpers: set[tuple[str, int]] = set()  # functions of ours that it must define: name and width

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def say(self, line: str) -> None:
        """One more line."""
        self.lines.append("  " + line)

    def let(self, expression: str) -> str:
        """Name what an expression gives."""
        self.count += 1
        name = f"%v{self.count}"
        self.say(f"{name} = {expression}")
        return name

    def call(self, result: str, function: str, *args: tuple[str, str]) -> str:
        """Call a function of LLVM's, or of the C library: (type, name) of each argument."""
        self.declared.add(f"declare {result} @{function}({', '.join([kind for kind, _ in args])})")
        return self.let(f"call {result} @{function}({', '.join([f'{kind} {name}' for kind, name in args])})")

    def splat(self, scalar: str, x: str, width: int) -> str:
        """The number ``x`` in every lane."""
        if width == 1:
            return x
        kind = type_of(scalar, width)
        first = self.let(f"insertelement {kind} poison, {scalar} {x}, i32 0")
        return self.let(f"shufflevector {kind} {first}, {kind} poison, <{width} x i32> zeroinitializer")

    def begin_for(self, start: int, end: int, step: int, values: list[tuple[str, str]] | None = None) -> Loop:
        """The head of a loop of at least one round; (type, value before) of all that changes."""
        self.count += 1
        k, values = self.count, values or []
        self.say(f"br label %loop{k}")
        self.lines.append(f"loop{k}:")
        names = []
        for _ in values:
            self.count += 1
            names.append(f"%v{self.count}")
        head = len(self.lines)
        before, self.block = self.block, f"loop{k}"
        types, begin = [kind for kind, _ in values], [x for _, x in values]
        return Loop(k, f"%i{k}", names, types, begin, (start, end, step), before, head)

    def end_for(self, loop: Loop, values: list[str] | None = None) -> None:
        """Its end; what the values are after the round, and so after the loop."""
        start, end, step = loop.bounds
        i, k = loop.index, loop.k
        self.say(f"{i}.next = add i64 {i}, {step}")
        self.say(f"{i}.more = icmp ult i64 {i}.next, {end}")
        self.say(f"br i1 {i}.more, label %loop{k}, label %after{k}")
        phis = [f"  {i} = phi i64 [{start}, %{loop.before}], [{i}.next, %{self.block}]"]
        for name, kind, old, new in zip(loop.values, loop.types, loop.begin, values or [], strict=True):
            phis.append(f"  {name} = phi {kind} [{old}, %{loop.before}], [{new}, %{self.block}]")
        self.lines[loop.head : loop.head] = phis
        self.lines.append(f"after{k}:")
        self.block = f"after{k}"
