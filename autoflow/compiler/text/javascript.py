"""A program as loops over typed arrays in JavaScript, each with its shape written in.

Three mechanisms do most of it. An elementwise function is a formula: the table of ``pictures/sliders/live.py``, in
which the rows of derivatives are traced, too. A function that only moves elements (a view, ``np.roll``, an index) is
called with addresses: see ``places.py``. Every product of arrays is an ``einsum``.

Numbers are those of the typed array: float32 is rounded, int32 wraps; int64 is exact up to 2⁵³ and does not wrap.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any

import numpy as np

from ...pictures import sliders
from ...pictures.sliders.live import TEMPLATES
from ...table.indexing import put_view
from ...table.table import RULES
from ..matching import CAPTURED, CONSTANT, Value, written_call
from ..program import Program
from ..signature import is_array
from ..trace.memory import flatten, set_items, write_into_copy
from ..trace.recorded import record
from ..trace.tape import fill_slots
from ..trace.traced import power_of_arrays
from .calls import AT_RUN, CALLS
from .forms import FORMS
from .places import FAR, REACH, Number, Ref, as_box, as_view, heads, merge_axes
from .writer import RefusedError, Writer, call_of, name_of

KINDS = {
    "d": "Float64Array", "f": "Float32Array", "?": "Uint8Array", "b": "Int8Array", "B": "Uint8Array", "h": "Int16Array",
    "H": "Uint16Array", "i": "Int32Array", "I": "Uint32Array", "l": "Float64Array", "q": "Float64Array",
}  # fmt: skip
SPECIAL = {  # functions of scipy.special, by their names
    "erf": "erf({})", "erfc": "erfc({})", "gammaln": "gammaln({})", "loggamma": "gammaln({})", "psi": "psi({})",
    "digamma": "psi({})", "expit": "(1 / (1 + Math.exp(-{})))", "logit": "Math.log({0} / (1 - {0}))",
    "log_expit": "(-logaddexp(0, -{}))", "xlogy": "({0} === 0 && !isNaN({1}) ? 0 : {0} * Math.log({1}))",
    "xlog1py": "({0} === 0 && !isNaN({1}) ? 0 : {0} * Math.log1p({1}))",
}  # fmt: skip
FORMULAS: dict[Any, str] = {**TEMPLATES, power_of_arrays: "({} ** {})", operator.pow: "({} ** {})"}
OF_BOOLEANS = {np.bitwise_and, np.bitwise_or, np.invert}
REDUCED = {  # where it begins, and what one more element does
    np.add: ("0", "s += {}"), np.multiply: ("1", "s *= {}"), np.maximum: ("-Infinity", "s = Math.max(s, {})"),
    np.minimum: ("Infinity", "s = Math.min(s, {})"), np.logical_or: ("0", "s = s || {} ? 1 : 0"),
    np.logical_and: ("1", "s = s && {} ? 1 : 0"), np.logaddexp: ("-Infinity", "s = logaddexp(s, {})"),
    np.hypot: ("0", "s = Math.hypot(s, {})"),
}  # fmt: skip
MOVES = {  # elements stay as they are
    np.roll, np.flip, np.fliplr, np.flipud, np.rot90, np.tile, np.repeat, np.pad, np.concatenate, np.stack, np.vstack,
    np.hstack, np.dstack, np.column_stack, np.split, np.array_split, np.tril, np.triu, np.diag, np.diagonal, np.reshape,
    np.ravel, np.squeeze, np.expand_dims, np.swapaxes, np.transpose, np.moveaxis, np.broadcast_to, np.broadcast_arrays,
    np.take, np.compress, np.delete, np.insert, np.append, np.atleast_1d, np.atleast_2d, np.array, np.asarray,
    np.ascontiguousarray, np.meshgrid, np.resize, np.block, np.extract, operator.getitem, set_items, put_view, flatten,
    np.diagflat, np.take_along_axis, write_into_copy, np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip
METHODS = {"copy", "flatten"}
BOUND = {"clip", "round"}  # what their formulas take may be left out
KNOWN = CAPTURED, CONSTANT
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class JavaScript(Writer):
    """``lines`` is what one run does, ``data`` are the arrays that it finds outside."""

    language = "JavaScript"

    def __init__(self, program: Program) -> None:
        self.lines: list[str] = []
        self.data: list[str] = []
        self.names = count(1)
        super().__init__(program)
        self.write()

    # -- buffers

    def new(self, shape: Sequence[int], dtype: Any) -> Ref:
        """A buffer of its own for a value."""
        if dtype is None or dtype.char not in KINDS:
            raise RefusedError(f"arrays of {dtype}")
        name = f"v{next(self.names)}"
        self.data.append(f"const {name} = new {KINDS[dtype.char]}({math.prod(shape)});")
        return Ref(name, shape)

    def table(self, numbers: Any, kind: str = "Int32Array") -> str:
        """Numbers that are known, as a buffer."""
        name = f"c{next(self.names)}"
        self.data.append(f"const {name} = {kind}.of({', '.join([literal(x) for x in np.ravel(numbers)])});")
        return name

    def constant(self, array: Any) -> Ref:
        """A number or an array that is known."""
        array = np.asarray(array)
        if array.dtype.char not in KINDS:
            raise RefusedError(f"a constant of {array.dtype}")
        if not array.shape:
            return Number(literal(array), float(array))
        return Ref(self.table(array, KINDS[array.dtype.char]), array.shape)

    # -- loops

    def loop(self, target: Ref, operands: Sequence[Ref], body: Callable[..., str]) -> Ref:
        """``body(target, *operands)`` for each element, in as few loops as possible."""
        refs = [x.broadcast(target.shape) for x in operands]
        varying = [x for x in refs if not isinstance(x, Number)]  # a number fits any loop
        lengths, steps = merge_axes(target.shape, [target, *varying])
        names = [f"q{k}" for k in range(len(lengths))]
        strides = dict(zip(map(id, [target, *varying]), steps, strict=True))
        written = [x.at(names, strides.get(id(x))) for x in refs]
        to = strides[id(target)]
        self.lines.append(f"{heads(zip(names, lengths, strict=True))}{body(target.at(names, to), *written)};")
        return target

    def elementwise(self, v: Any, formula: str, operands: Sequence[Ref]) -> Ref:
        """A formula for each element; a long operand that occurs twice is still read once."""
        return self.loop(self.new(v.shape, v.dtype), operands, lambda to, *x: f"{to} = {formula.format(*x)}")

    def copied(self, x: Ref, shape: Sequence[int], dtype: Any) -> Ref:
        """The same numbers in C order in a buffer of their own."""
        return self.loop(self.new(shape, dtype), [x], lambda to, a: f"{to} = {a}")

    def straight(self, v: Value) -> Ref:
        """A value in C order."""
        x = self.known[v]
        return x if x.is_dense and not isinstance(x, Number) else self.copied(x, v.shape, v.dtype or np.dtype(float))

    # -- the kinds of values

    def write_input(self, v: Value) -> Ref:
        if v.layout is not None:
            raise RefusedError("an argument whose axes are not in C order")
        return self.new(v.shape, v.dtype)

    def write_constant(self, v: Value) -> Ref:
        return self.constant(v.sample)

    write_captured = write_constant

    def write_ufunc(self, v: Value, *operands: Any) -> Ref:
        return self.elementwise(v, formula_of(v.function, v.args, v.dtype), operands)

    def write_reduce(self, v: Value, x: Any) -> Ref:
        if v.function not in REDUCED:
            raise RefusedError(f"{name_of(v.function)}.reduce")
        letters, (axis, _) = LETTERS[: len(x.shape)], v.options
        gone = {*range(len(letters))} if axis is None else {*np.ravel(axis) % len(letters)}
        kept = "".join([a for k, a in enumerate(letters) if k not in gone])
        return self.contracted(v, [(x, letters)], kept, *REDUCED[v.function])

    def write_product(self, v: Value, x: Any, y: Any) -> Ref:
        one, other = len(x.shape) == 1, len(y.shape) == 1
        batch = LETTERS[: max(len(x.shape), len(y.shape), 2) - 2]
        left = batch[len(batch) - len(x.shape) + 2 :] + "xk" if not one else "k"
        right = batch[len(batch) - len(y.shape) + 2 :] + "ky" if not other else "k"
        return self.contracted(v, [(x, left), (y, right)], batch + "x" * (not one) + "y" * (not other))

    def contracted(
        self, v: Any, operands: Sequence[tuple[Ref, str]], out: str, start: str = "0", more: str = "s += {}"
    ) -> Ref:
        """``np.einsum``: a letter for each axis of each operand, and those of the result. The sum may be another
        reduction: where it begins, and what one more product does."""
        size = {a: n for x, letters in operands for a, n in zip(letters, x.shape, strict=True) if n != 1}
        target = self.new(v.shape, v.dtype)
        within = [a for a in size if a not in out]

        def element(x: Ref, letters: str) -> str:
            real = [(f"i_{a}", s) for a, s, n in zip(letters, x.strides, x.shape, strict=True) if n != 1]
            return x.at([a for a, _ in real], [s for _, s in real])

        outer, inner = [heads([(f"i_{a}", size[a]) for a in names if a in size]) for names in (out, within)]
        factors = " * ".join([element(x, letters) for x, letters in operands])
        to = element(target.reshape([size.get(a, 1) for a in out]), out)
        self.lines.append(f"{outer}{{ let s = {start}; {inner}{more.format(factors)}; {to} = s; }}")
        return target

    def write_view(self, v: Value, x: Any) -> Any:
        return x.broadcast(v.shape) if isinstance(x, Number) else self.moved(v, v.function, [x])

    def write_stack(self, v: Value, *operands: Any) -> Any:
        return self.moved(v, lambda *arrays: np.stack(arrays), operands)

    def write_call(self, v: Value, *operands: Any) -> Any:
        function, args, options = call_of(v, v.args)
        function = getattr(np, getattr(function, "method", ""), function)
        name = getattr(function, "__name__", "")
        if function in CALLS:
            return CALLS[function](self, v, *args, **options)
        if function in FORMS and not (function in MOVES and all([a.kind in KNOWN for a in v.args[1:]])):
            return self.formed(v, FORMS[function])
        if function in FORMULAS or name in SPECIAL or isinstance(function, np.ufunc):
            bound = RULES[function].bind(args, options) if options or name in BOUND else args
            return self.elementwise(v, formula_of(function, bound, v.dtype), [self.operand(a) for a in bound])
        in_memory = {"K", "A"} & {str(a) for a in (*args, *options.values())}
        if (function in MOVES or name in METHODS) and not in_memory:
            known = [a.sample if a.kind in KNOWN and is_index(a) else None for a in v.args]
            try:
                return self.moved(v, v.function, [x if k is None else k for x, k in zip(operands, known, strict=True)])
            except (IndexError, TypeError, ValueError):  # an index that is known only when it runs
                if function in AT_RUN:
                    return AT_RUN[function](self, v, *args, **options)
        raise RefusedError(name_of(function))

    def formed(self, v: Value, form: Any) -> Any:
        """By simpler functions, which are recorded in turn."""
        _, args, options = written_call(v.function, len(v.args))

        def run(*arrays: Any) -> Any:
            return form(*fill_slots(args, arrays), **fill_slots(options, arrays))

        try:
            inside = record(run, tuple([np.asarray(a.sample) for a in v.args]), {}, is_array).program
        except TypeError as error:
            raise RefusedError(f"{v.name} with these arguments") from error
        self.known.update(zip(inside.inputs, [self.known[a] for a in v.args], strict=True))
        self.walk(inside)
        return self.known[inside.outputs[0]]

    def operand(self, a: Any) -> Any:
        """A value, or a number written in the call."""
        return self.known[a] if isinstance(a, Value) else Number("null", math.nan) if a is None else self.constant(a)

    def moved(self, v: Value, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """What only moves elements, known from where it puts addresses. Arrays among the operands are known."""
        starts: dict[str, float] = {}
        given = []
        for x in operands:
            if isinstance(x, Number):
                x = np.full(x.shape, x.value)
            elif isinstance(x, Ref):
                x = x.addresses(starts.setdefault(x.buffer, FAR * (len(starts) + 1)))
            given.append(x)
        found = function(*given)
        if isinstance(found, (tuple, list)):
            return [self.gathered(np.asarray(f), starts, d) for f, (_, d) in zip(found, v.parts, strict=True)]
        return self.gathered(np.asarray(found, float), starts, v.dtype)

    def gathered(self, address: Any, starts: dict[str, float], dtype: Any) -> Ref:
        """Elements from these addresses: a view if they are one, else a copy, box by box where that goes."""
        inside = {buffer: (address >= start) & (address < start + REACH) for buffer, start in starts.items()}
        for buffer, places in inside.items():
            if places.all() and (view := as_view(buffer, address - starts[buffer])) is not None:
                return view
        target = self.new(address.shape, dtype)
        known = ~np.any([*inside.values(), np.zeros(address.shape, bool)], axis=0)
        for x in np.unique(address[known]):
            if x or np.isnan(x):  # buffers begin with zeros
                same = known & ((address == x) | (np.isnan(address) & np.isnan(x)))
                self.fill(target, same, Number(literal(x), float(x)), None)
        for buffer, start in starts.items():
            self.fill(target, inside[buffer], buffer, address - start)
        return target

    def fill(self, target: Ref, where: Any, source: Any, address: Any) -> None:
        """Write one source into some places."""
        if not where.any():
            return
        box = as_box(where)
        part = None if box is None else target.part([s.start for s in box], [s.stop - s.start for s in box])
        is_number = isinstance(source, Number)
        view = source if is_number else None if box is None else as_view(source, address[box])
        if part is not None and view is not None:
            self.loop(part, [view], lambda to, a: f"{to} = {a}")
            return
        to = self.table(np.flatnonzero(where))
        value = source.text if is_number else f"{source}[{self.table(address[where])}[k]]"
        self.lines.append(f"for (let k = 0; k < {int(where.sum())}; k++) {target.buffer}[{to}[k]] = {value};")


def is_index(v: Value) -> bool:
    """Does it hold places, or a mask?"""
    return v.dtype is not None and v.dtype.kind in "iub"


def literal(x: Any) -> str:
    """A number.

    >>> literal(2.0), literal(-0.5), literal(np.inf), literal(True)
    ('2', '(-0.5)', 'Infinity', '1')
    """
    x = float(x)
    if not math.isfinite(x):
        return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "(-Infinity)"
    text = repr(int(x)) if x == int(x) and abs(x) < 2**53 and (x or math.copysign(1, x) > 0) else repr(x)
    return f"({text})" if text.startswith("-") else text


def formula_of(function: Any, args: Sequence[Any], dtype: Any) -> str:
    """An elementwise function with ``{}`` for its operands."""
    kinds = {getattr(getattr(a, "dtype", None), "kind", "f") for a in args}
    name = getattr(function, "__name__", "")
    found = FORMULAS.get(function) or (None if hasattr(np, name) else SPECIAL.get(name))
    if found is None or (function in OF_BOOLEANS and kinds - {"b"}):
        raise RefusedError(name_of(function))
    if dtype.kind in "iu" and function in (np.power, np.floor_divide, np.remainder, power_of_arrays):
        raise RefusedError(f"{name_of(function)} of integers")
    return f"({found} ? 1 : 0)" if dtype.kind == "b" else found


# ---------------------------------------------------------------- the whole text


@cache
def helpers() -> dict[str, str]:
    """The functions that JavaScript lacks, by name."""
    ours = (files(__package__) / "functions.js").read_text(encoding="utf-8")
    rows = (files(sliders) / "explore.js").read_text(encoding="utf-8").partition("// -- the two passes")
    pieces = re.split(r"^(?=function |const )", ours + rows[0], flags=re.MULTILINE)
    names = [re.match(r"(?:function|const) (\w+)", piece) for piece in pieces]
    return {
        m[1]: re.sub(r"^//.*\n", "", p, flags=re.MULTILINE).strip() for m, p in zip(names, pieces, strict=True) if m
    }


def used_helpers(text: str) -> list[str]:
    """Those that a text uses, and those that they use."""
    found: dict[str, str] = {}
    queue = [text]
    for piece in queue:
        for name, source in helpers().items():
            if name not in found and re.search(rf"(?<![.\w]){name}[\[(]", piece):
                found[name] = source
                queue.append(source)
    return [source for name, source in helpers().items() if name in found]


def to_javascript(program: Program, name: str) -> str:
    """A function ``name`` that makes one copy of the program: its inputs, its outputs, and ``run``."""
    w = JavaScript(program)
    outputs = [w.straight(v) for v in program.outputs]
    inputs = [w.known.get(v) or w.new(v.shape, v.dtype) for v in program.inputs]
    whole = f"\n{''.join(w.lines)}"
    views = [f"{r.buffer}.subarray({r.offset}, {r.offset + r.size})" for r in outputs]
    body = [*used_helpers(whole), *w.data, "function run() {", *w.lines, "}"]
    body.append(f"return {{ inputs: [{', '.join([r.buffer for r in inputs])}], outputs: [{', '.join(views)}], run }};")
    return "\n".join([f"function {name}() {{", *["  " + line.replace("\n", "\n  ") for line in body], "}"]) + "\n"
