"""LLVM's text, line by line; and exp, log, tanh, sin and cos, written in it without a branch.

The text: names, constants, loops. What they compute is decided elsewhere. Every name is given once (static single
assignment), and a block of lines ends in a jump. A value that changes from one round of a loop to the next is a *phi*
at the head of the block: "its value before the loop, or after the round before, depending on where we come from".

    >>> t = IRText()
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

The functions have no branch, so that eight numbers go through them at once. Each is a polynomial on a short interval
and an exact way to get there. Multiplication and addition in one step (``fma``, rounded once) are written out where
they are wanted, so the bits are the same on every machine; without that instruction these functions are left to NumPy.
Errors against mpmath, in units of the last place (ulp), over the whole range with subnormal numbers: exp 0.9, log 0.9,
tanh 1.7, sin and cos 0.9 (tests/compiler/llvm/test_functions.py: below 2). NaN, infinities, zeros and their signs are
NumPy's. The coefficients are Chebyshev fits (``mpmath.chebyfit``) of what is named beside them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

# ---------------------------------------------------------------- LLVM's text: names, constants, loops

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
    """The same in the names of LLVM's own functions: ``llvm.sqrt.v8f64``."""
    short = {"double": "f64", "float": "f32"}[scalar]
    return short if width == 1 else f"v{width}{short}"


def number(scalar: str, x: Any) -> str:
    """A constant; floats with all bits.

    >>> number("double", 1.0), number("float", 0.1), number("i1", True), number("i8", -3)
    ('0x3FF0000000000000', '0x3FB99999A0000000', 'true', '-3')
    """
    if is_float(scalar):
        wide = float(x) if scalar == "double" else float(np.float32(x))
        return f"0x{struct.unpack('<Q', struct.pack('<d', wide))[0]:016X}"
    return ("true" if x else "false") if scalar == "i1" else str(int(x))


def is_float(scalar: str) -> bool:
    """Is it LLVM's name of a float type?"""
    return scalar in ("double", "float")


def constant(scalar: str, x: object, width: int) -> str:
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
    bounds: tuple[int | str, int | str, int]
    before: str  # the block that we come from
    head: int  # where the phis go


class IRText:
    """Lines, and the names that are taken."""

    def __init__(self, own_functions: bool = False) -> None:
        self.own_functions = own_functions  # also where the C library's are quicker
        self.lines: list[str] = []
        self.count = 0
        self.numbers = False  # is it text of numbers, without a loop?
        self.block = "entry"
        self.declared: set[str] = set()  # functions that the module must declare
        self.helpers: set[tuple[str, int]] = set()  # our functions that it must define: name and width

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def say(self, line: str) -> None:
        """One more line."""
        self.lines.append("  " + line)

    def let(self, expression: str) -> str:
        """Name the result of an expression."""
        self.count += 1
        name = f"%v{self.count}"
        self.say(f"{name} = {expression}")
        return name

    def call(self, result: str, function: str, *args: tuple[str, str]) -> str:
        """Call a function of LLVM or of the C library: (type, name) of each argument."""
        self.declared.add(f"declare {result} @{function}({', '.join([kind for kind, _ in args])})")
        return self.let(f"call {result} @{function}({', '.join([f'{kind} {name}' for kind, name in args])})")

    def at(self, p: str, *steps: tuple[str, int]) -> str:
        """The pointer ``p``, moved by index · stride for each pair."""
        for i, stride in steps:
            p = self.let(f"getelementptr i8, ptr {p}, i64 {self.let(f'mul i64 {i}, {stride}')}") if stride else p
        return p

    def splat(self, scalar: str, x: str, width: int) -> str:
        """The number ``x`` in every lane."""
        if width == 1:
            return x
        kind = type_of(scalar, width)
        first = self.let(f"insertelement {kind} poison, {scalar} {x}, i32 0")
        return self.let(f"shufflevector {kind} {first}, {kind} poison, <{width} x i32> zeroinitializer")

    def begin_for(self, start: int | str, end: int | str, step: int, values: Iterable[tuple[str, str]] = ()) -> Loop:
        """The head of a loop of at least one round; (type, value before) of each value that changes."""
        self.count += 1
        k, values = self.count, [*values]
        self.say(f"br label %loop{k}")
        self.lines.append(f"loop{k}:")
        names = [f"%v{self.count + j}" for j in range(1, len(values) + 1)]
        self.count += len(values)
        head = len(self.lines)
        before, self.block = self.block, f"loop{k}"
        types, begin = [kind for kind, _ in values], [x for _, x in values]
        return Loop(k, f"%i{k}", names, types, begin, (start, end, step), before, head)

    def end_for(self, loop: Loop, values: list[str] | None = None) -> None:
        """Its end; the values after the round, and so after the loop."""
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


# ---------------------------------------------------------------- exp, log, tanh, sin, cos without a branch


# fmt: off
EXP = ("0x1p-1", "0x1.5555555555557p-3", "0x1.5555555555556p-5", "0x1.11111111100cep-7", "0x1.6c16c16c162ccp-10",
       "0x1.a01a01abef415p-13", "0x1.a01a01a6dcaffp-16", "0x1.71de021a90822p-19", "0x1.27e4db57442fbp-22",
       "0x1.af4e196027428p-26", "0x1.1f731ea5352cap-29")  # (eʳ − 1 − r) / r², |r| ≤ ln 2 / 2
LOG = ("0x1.5555555555555p-1", "0x1.9999999999a3ap-2", "0x1.2492492476765p-2", "0x1.c71c7201f207cp-3",
       "0x1.745cf8c4c7bcap-3", "0x1.3b1c42e3df02cp-3", "0x1.0fbd2bafa02d6p-3", "0x1.0c1263e1bac13p-3")
# (2 artanh s / s − 2) / s² by s², of s = f / (2 + f)
SIN = ("-0x1.5555555555555p-3", "0x1.1111111111110p-7", "-0x1.a01a01a01992fp-13", "0x1.71de3a545f835p-19",
       "-0x1.ae645410e9193p-26", "0x1.61217d923a998p-33", "-0x1.ab16f5bc68a29p-41")  # (sin r / r − 1) / r² by r²
COS = ("0x1.5555555555555p-5", "-0x1.6c16c16c16c16p-10", "0x1.a01a01a019d06p-16", "-0x1.27e4fb77125c5p-22",
       "0x1.1eed8deac3d25p-29", "-0x1.9394b8bd3b322p-37", "0x1.ab77954421f46p-45")  # (cos r − 1 + r²/2) / r⁴ by r²
# fmt: on
LN2 = "0x1.62e42fefa3800p-1", "0x1.ef35793c76730p-45"  # in two parts, so that n · ln 2 has no error
HALF_PI = "0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e09p-107"
FAR = 2.0**20  # from here on the reduction of sin and cos loses bits: the C library's, one by one


class Lanes:
    """Arithmetic of one type at one width, as methods: float64, unless a row of ``words.py`` is for others, too."""

    def __init__(self, t: IRText, w: int, scalar: str = "double") -> None:
        self.t, self.w, self.scalar = t, w, scalar
        self.kind, self.bits, self.masks = type_of(scalar, w), type_of("i64", w), type_of("i1", w)

    @property
    def is_float(self) -> bool:
        """Are these floats?"""
        return is_float(self.scalar)

    def c(self, x: object) -> str:
        """A constant."""
        return constant(self.scalar, float.fromhex(x) if isinstance(x, str) else x, self.w)

    def n(self, x: int) -> str:
        """An integer."""
        return constant("i64", x, self.w)

    def op(self, word: str, x: str, y: str) -> str:
        """fadd, fsub, fmul, fdiv; ``fcmp olt``."""
        return self.t.let(f"{word} {self.kind} {x}, {y}")

    def ints(self, word: str, x: str, y: str) -> str:
        """The same on bits."""
        return self.t.let(f"{word} {self.bits} {x}, {y}")

    def one(self, name: str, *x: str) -> str:
        """An LLVM function that becomes one instruction: fabs, copysign."""
        return self.t.call(self.kind, f"llvm.{name}.{suffix_of(self.scalar, self.w)}", *[(self.kind, a) for a in x])

    def fma(self, x: str, y: str, z: str) -> str:
        """x y + z, rounded once."""
        return self.one("fma", x, y, z)

    def test(self, word: str, x: str, y: str) -> str:
        """A comparison of floats."""
        return self.op(f"fcmp {word}", x, y)

    def either(self, x: str, y: str) -> str:
        """Does one of two conditions hold?"""
        return self.t.let(f"or {self.masks} {x}, {y}")

    def pick(self, condition: str, x: str, y: str) -> str:
        """x where it holds, else y."""
        return self.t.let(f"select {self.masks} {condition}, {self.kind} {x}, {self.kind} {y}")

    def to_bits(self, x: str) -> str:
        """The bits of a number."""
        return self.t.let(f"bitcast {self.kind} {x} to {self.bits}")

    def from_bits(self, x: str) -> str:
        """The number of these bits."""
        return self.t.let(f"bitcast {self.bits} {x} to {self.kind}")

    def polynomial(self, coefficients: Sequence[str], x: str) -> str:
        """c₀ + c₁ x + c₂ x² + ..., by Horner's rule."""
        total = self.c(coefficients[-1])
        for c in coefficients[-2::-1]:
            total = self.fma(total, x, self.c(c))
        return total

    def nearest(self, x: str, scale: str | float) -> tuple[str, str]:
        """The integer nearest to x · scale, as a number and in bits: added to 1.5 · 2⁵², it fills the last bits."""
        big = self.c(1.5 * 2.0**52)
        moved = self.fma(x, self.c(scale), big)
        return self.op("fsub", moved, big), self.ints("sub", self.to_bits(moved), self.to_bits(big))

    def power_of_2(self, n: str) -> str:
        """2ⁿ of an integer between −1022 and 1023: its exponent."""
        return self.from_bits(self.ints("shl", self.ints("add", n, self.n(1023)), self.n(52)))


def exp(m: Lanes, x: str) -> str:
    """eˣ = 2ⁿ eʳ with r = x − n ln 2. Two factors 2ⁿ⁻ᵏ and 2ᵏ, so that only the last one can overflow or underflow."""
    x = m.pick(m.test("ogt", x, m.c(710.0)), m.c(710.0), x)
    x = m.pick(m.test("olt", x, m.c(-750.0)), m.c(-750.0), x)
    n, bits = m.nearest(x, "0x1.71547652b82fep+0")
    minus = m.t.let(f"fneg {m.kind} {n}")
    r = m.fma(minus, m.c(LN2[1]), m.fma(minus, m.c(LN2[0]), x))
    tail = m.fma(m.op("fmul", r, r), m.polynomial(EXP, r), r)
    half = m.ints("ashr", bits, m.n(1))
    small = m.op("fmul", m.op("fadd", tail, m.c(1.0)), m.power_of_2(half))
    return m.op("fmul", small, m.power_of_2(m.ints("sub", bits, half)))


def log(m: Lanes, x: str) -> str:
    """log x = k ln 2 + log(1 + f) with √½ ≤ 1 + f < √2, by s = f / (2 + f). Of 0 and below this division is by zero."""
    tiny = m.test("olt", x, m.c(2.0**-1022))
    bits = m.to_bits(m.pick(tiny, m.op("fmul", x, m.c(2.0**54)), x))
    moved = m.ints("sub", bits, m.n(0x3FE6A09E667F3BCD))  # √½: its multiples of two lie below
    k = m.t.let(f"sitofp {m.bits} {m.ints('ashr', moved, m.n(52))} to {m.kind}")
    k = m.pick(tiny, m.op("fsub", k, m.c(54.0)), k)
    mantissa = m.ints("add", m.ints("and", moved, m.n(0x000FFFFFFFFFFFFF)), m.n(0x3FE6A09E667F3BCD))
    f = m.op("fsub", m.from_bits(mantissa), m.c(1.0))
    negative, none = m.test("olt", x, m.c(0.0)), m.test("ole", x, m.c(0.0))
    above = m.pick(negative, m.c(0.0), m.pick(none, m.c(-1.0), f))
    s = m.op("fdiv", above, m.pick(none, m.c(0.0), m.op("fadd", f, m.c(2.0))))
    t = m.op("fmul", s, s)
    half = m.op("fmul", m.op("fmul", f, f), m.c(0.5))
    tail = m.op("fmul", s, m.fma(t, m.polynomial(LOG, t), half))  # log(1 + f) = f − (f²/2 − s (f²/2 + R))
    low = m.fma(k, m.c(LN2[1]), tail)
    high = m.op("fsub", m.op("fsub", half, low), f)
    result = m.op("fsub", m.op("fmul", k, m.c(LN2[0])), high)
    result = m.pick(m.test("olt", x, m.c(float("inf"))), result, x)  # infinity and NaN stay
    return m.pick(none, s, result)


def tanh(m: Lanes, x: str) -> str:
    """tanh |x| = e / (e + 2) with e = exp(2 |x|) − 1 = 2ⁿ (eʳ − 1) + (2ⁿ − 1), and the sign of x.

    The rounding errors of e and e + 2 are added at the end, with 1 / (e + 2) = (1 − tanh) / 2.
    """
    size = m.one("fabs", x)
    size = m.pick(m.test("ogt", size, m.c(20.0)), m.c(20.0), size)
    y = m.op("fadd", size, size)
    n, bits = m.nearest(y, "0x1.71547652b82fep+0")
    minus = m.t.let(f"fneg {m.kind} {n}")
    high = m.fma(minus, m.c(LN2[0]), y)
    r = m.fma(minus, m.c(LN2[1]), high)
    lost = m.fma(minus, m.c(LN2[1]), m.op("fsub", high, r))
    tail = m.fma(m.op("fmul", r, r), m.polynomial(EXP, r), lost)
    p = m.op("fadd", r, tail)
    lost = m.op("fsub", tail, m.op("fsub", p, r))
    power = m.power_of_2(bits)
    less = m.op("fsub", power, m.c(1.0))
    e = m.fma(power, p, less)
    lost = m.fma(power, lost, m.fma(power, p, m.op("fsub", less, e)))
    below = m.op("fadd", e, m.c(2.0))
    q = m.op("fdiv", e, below)
    minus_q = m.t.let(f"fneg {m.kind} {q}")
    lost = m.op("fadd", m.fma(minus_q, below, e), lost)
    lost = m.fma(minus_q, m.op("fsub", e, m.op("fsub", below, m.c(2.0))), lost)
    lost = m.pick(m.test("olt", size, m.c(1.0)), lost, m.c(0.0))  # of a large e it is too little to be seen
    half = m.fma(minus_q, m.c(0.5), m.c(0.5))
    return m.one("copysign", m.fma(lost, half, q), x)


def near(m: Lanes, x: str, quarter: int) -> str:
    """sin(x + quarter · π/2) for |x| < 2²⁰: x = n π/2 + r, and sin r or cos r with the sign that n says."""
    n, bits = m.nearest(x, "0x1.45f306dc9c883p-1")
    minus = m.t.let(f"fneg {m.kind} {n}")
    first = m.fma(minus, m.c(HALF_PI[0]), x)
    second = m.op("fmul", minus, m.c(HALF_PI[1]))
    r = m.op("fadd", first, second)
    back = m.op("fsub", r, first)  # what r and the product have lost by rounding, exactly (Knuth's two-sum)
    lost = m.op("fadd", m.op("fsub", first, m.op("fsub", r, back)), m.op("fsub", second, back))
    lost = m.op("fadd", lost, m.fma(minus, m.c(HALF_PI[1]), m.t.let(f"fneg {m.kind} {second}")))
    lost = m.fma(minus, m.c(HALF_PI[2]), lost)
    t = m.op("fmul", r, r)
    cube = m.op("fmul", t, r)
    sine = m.op("fadd", r, m.fma(cube, m.polynomial(SIN, t), lost))
    half = m.op("fmul", t, m.c(0.5))
    one = m.op("fsub", m.c(1.0), half)
    rest = m.op("fsub", m.op("fsub", m.c(1.0), one), half)
    rest = m.fma(m.op("fmul", t, t), m.polynomial(COS, t), m.fma(m.t.let(f"fneg {m.kind} {r}"), lost, rest))
    cosine = m.op("fadd", one, rest)
    turns = m.ints("add", bits, m.n(quarter))
    odd = m.t.let(f"trunc {m.bits} {turns} to {m.masks}")
    value = m.pick(odd, cosine, sine)
    flip = m.ints("shl", m.ints("and", turns, m.n(2)), m.n(62))
    result = m.from_bits(m.ints("xor", m.to_bits(value), flip))
    return result if quarter else m.pick(m.test("oeq", x, m.c(0.0)), x, result)  # sin(−0) = −0


def trigonometric(name: str, quarter: int, m: Lanes, x: str) -> str:
    """sin or cos; numbers that are far away, infinite or NaN go to the C library, one by one."""
    t, result = m.t, near(m, x, quarter)
    close = m.test("olt", m.one("fabs", x), m.c(FAR))
    all_close = close if m.w == 1 else t.call("i1", f"llvm.vector.reduce.and.v{m.w}i1", (m.masks, close))
    t.say(f"br i1 {all_close}, label %close, label %far")
    t.lines.append("far:")
    there = m.pick(close, m.c(0.0), x)
    if m.w == 1:
        value = t.call("double", name, ("double", there))
    else:
        value = "poison"
        for k in range(m.w):
            one = t.call("double", name, ("double", t.let(f"extractelement {m.kind} {there}, i32 {k}")))
            value = t.let(f"insertelement {m.kind} {value}, double {one}, i32 {k}")
    t.say(f"ret {m.kind} {m.pick(close, result, value)}")
    t.lines.append("close:")
    return result


HELPERS: dict[str, Callable[[Lanes, str], str]] = {
    "exp": exp, "log": log, "tanh": tanh, "sin": partial(trigonometric, "sin", 0),
    "cos": partial(trigonometric, "cos", 1),
}  # fmt: skip


def define(name: str, w: int) -> tuple[str, set[str]]:
    """The text of one of them at a width, and what it declares."""
    t = IRText()
    m = Lanes(t, w)
    result = HELPERS[name](m, "%x")
    lines = [f"define internal {m.kind} @{name}.{w}({m.kind} %x) #0 {{", "entry:", str(t), f"  ret {m.kind} {result}"]
    return "\n".join([*lines, "}"]), t.declared
