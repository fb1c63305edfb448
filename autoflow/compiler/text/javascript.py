"""A program as loops over typed arrays in JavaScript, each with its shape written in.

Three mechanisms do most of it. An elementwise function is a formula: the table of ``pictures/sliders/live.py``, in
which the rows of derivatives are traced, too. A function that only moves elements (a view, ``np.roll``, an index) is
called with addresses: see ``calls.py``. Every product of arrays is an ``einsum``.

Numbers are those of the typed array: float32 is rounded, int32 wraps. int64 is kept in doubles: it is exact up to 2⁵³
and does not wrap. Numbers that a typed array converts unlike NumPy are converted where they are written (``stored``).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from functools import cache, reduce
from importlib.resources import files
from itertools import count
from typing import Any

import numpy as np

from ...base.types import AnyFunction, Array
from ...pictures import sliders
from ...pictures.sliders.live import TEMPLATES, literal
from ...table.facts import find, of_kind
from ...table.indexing import put_view
from ...table.outside import public_name
from ...table.table import RULES
from ..matching import KNOWN, Value, call_of
from ..program import Program
from ..signature import is_array
from ..trace.memory import flatten, set_items, write_into_copy
from ..trace.recorded import record
from ..trace.traced import power_of_arrays
from .calls import AT_RUN, CALLS, FAR, FORMS, KnownNumber, Ref, as_view, heads, own_code
from .writer import RefusedError, Writer

KINDS = {  # of typed arrays, by the letter of the dtype
    "d": "Float64", "f": "Float32", "?": "Uint8", "b": "Int8", "B": "Uint8", "h": "Int16", "H": "Uint16", "i": "Int32",
    "I": "Uint32", "l": "Float64", "q": "Float64",
}  # fmt: skip
SPECIAL = {  # functions of scipy.special, by their names
    "erf": "erf({})", "erfc": "erfc({})", "gammaln": "gammaln({})", "psi": "psi({})", "digamma": "psi({})",
    "loggamma": "({0} < 0 ? NaN : gammaln({0}))", "expit": "(1 / (1 + Math.exp(-{})))",
    "logit": "logit({})",
    "log_expit": "(-logaddexp(0, -{}))", "xlogy": "({0} === 0 && !isNaN({1}) ? 0 : {0} * Math.log({1}))",
    "xlog1py": "({0} === 0 && !isNaN({1}) ? 0 : {0} * Math.log1p({1}))",
}  # fmt: skip
FORMULAS: dict[Any, str] = {
    **TEMPLATES, **dict.fromkeys((power_of_arrays, operator.pow), TEMPLATES[np.power]), np.isreal: "true",
}  # fmt: skip
OF_32_BITS = {np.multiply: "Math.imul({}, {})", np.square: "Math.imul({0}, {0})"}  # whose product no double holds
LARGEST = float(np.finfo(np.float32).max)
OF_BOOLEANS = {np.bitwise_and, np.bitwise_or, np.invert}
# Where these reductions begin; others at their identity.
EXTREMES = {np.maximum: -math.inf, np.minimum: math.inf, np.fmax: math.nan, np.fmin: math.nan}
NEW_ARRAYS = """
    append array asarray ascontiguousarray atleast_1d atleast_2d block broadcast_arrays column_stack compress
    concatenate delete diag diagflat dstack extract hstack insert lib.stride_tricks.sliding_window_view meshgrid pad
    repeat resize roll stack take take_along_axis tile tril triu vstack
"""
MOVES = {  # elements stay as they are
    *of_kind("shapes", "permutes", "shows", "slices"), *map(find, NEW_ARRAYS.split()),
    operator.getitem, set_items, put_view, flatten, write_into_copy,
}  # fmt: skip
PLACES = np.dtype(np.int32)  # in buffers
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class JavaScript(Writer):
    """``lines`` is what one run does, ``data`` are the arrays that it finds outside, ``dtypes`` those of buffers.

    asks : may a run end without numbers?
    """

    language = "JavaScript"

    def __init__(self, program: Program) -> None:
        self.lines: list[str] = []
        self.data: list[str] = []
        self.dtypes: dict[str, Any] = {}
        self.asks = False
        self.names = count(1)
        super().__init__(program)
        self.write()

    # -- buffers

    def new(self, shape: Sequence[int], dtype: np.dtype[Any] | None) -> Ref:
        """A buffer of its own for a value."""
        if dtype is None or dtype.char not in KINDS:
            raise RefusedError(f"arrays of {dtype}")
        name = f"v{next(self.names)}"
        self.data.append(f"const {name} = new {KINDS[dtype.char]}Array({math.prod(shape)});")
        self.dtypes[name] = dtype
        return Ref(name, shape)

    def table(self, numbers: np.ndarray, dtype: np.dtype[Any] = PLACES) -> str:
        """Numbers that are known, as a buffer."""
        name = f"c{next(self.names)}"
        text = ", ".join([literal(x) for x in np.ravel(numbers)])
        self.data.append(f"const {name} = {KINDS[dtype.char]}Array.of({text});")
        self.dtypes[name] = dtype
        return name

    def constant(self, array: object) -> Ref:
        """A number or an array that is known."""
        array = np.asarray(array)
        if array.dtype.char not in KINDS:
            raise RefusedError(f"a constant of {array.dtype}")
        return Ref(self.table(array, array.dtype), array.shape) if array.shape else KnownNumber(float(array))

    # -- loops

    def loop(self, target: Ref, operands: Sequence[Ref], formula: str = "{}", sign: str = "=") -> Ref:
        """A formula for each element; where all is in C order, in one loop."""
        refs = [x.broadcast(target.shape) for x in operands]
        to = target
        if all([x.is_dense for x in (target, *refs)]):
            to, *refs = [x.reshape([target.size]) for x in (target, *refs)]
        names = [f"q{k}" for k in range(len(to.shape))]
        text = formula.format(*[x.at(names) for x in refs])
        if sign == "=":
            text = self.stored(target, text, refs[0].buffer if formula == "{}" else "")
        self.lines.append(f"{heads(zip(names, to.shape, strict=True))}{to.at(names)} {sign} {text};")
        return target

    def stored(self, target: Ref, text: str, source: str = "") -> str:
        """How a number is written into a buffer: as a truth value, or as a whole number without −0, as in NumPy. An
        element of a ``source`` of the same dtype stays as it is."""
        dtype = self.dtypes[target.buffer]
        if source and self.dtypes[source] == dtype:
            return text
        if dtype.kind == "b":
            return f"({text} != 0 ? 1 : 0)"
        return f"(Math.trunc({text}) || 0)" if KINDS[dtype.char] == "Float64" and dtype.kind in "iu" else text

    def straight(self, x: Ref, dtype: np.dtype[Any] | None = None) -> Ref:
        """A value in C order in a buffer, of its dtype or another."""
        dtype = dtype or self.dtypes.get(x.buffer, np.dtype(float))
        is_so = x.buffer and x.is_dense and self.dtypes[x.buffer] == dtype
        return x if is_so else self.loop(self.new(x.shape, dtype), [x])

    # -- the kinds of values

    def write_input(self, v: Value) -> Ref:
        if v.layout is not None:
            raise RefusedError("an argument whose axes are not in C order")
        return self.new(v.shape, v.dtype)

    def write_constant(self, v: Value) -> Ref:
        return self.constant(v.sample)

    write_captured = write_constant

    def write_reduce(self, v: Value, x: Ref) -> Ref:
        start = EXTREMES.get(v.function, v.function.identity)
        if start is None:
            raise RefusedError(f"{public_name(v.function)}.reduce")
        letters, (axis, _) = LETTERS[: len(x.shape)], v.options
        gone = {*range(len(letters))} if axis is None else {*np.ravel(axis) % len(letters)}
        remaining = "".join([a for k, a in enumerate(letters) if k not in gone])
        return self.contracted(v, [(x, letters)], remaining, literal(start), formula_of(v.function, v.args, v.dtype))

    def contracted(
        self, v: Value, operands: Sequence[tuple[Ref, str]], out: str, start: str = "0", more: str = "{} + {}"
    ) -> Ref:
        """``np.einsum``: a letter for each axis of each operand, and those of the result. The sum may be another
        reduction: where it begins, and a formula of what there is and one more product."""
        size = {a: n for x, letters in operands for a, n in zip(letters, x.shape, strict=True) if n != 1}
        target = self.new(v.shape, v.dtype)
        within = [a for a in size if a not in out]
        outer, inner = [heads([(f"i_{a}", size.get(a, 1)) for a in letters]) for letters in (out, within)]
        times = OF_32_BITS[np.multiply] if is_of_32_bits(v.dtype) else "{} * {}"
        factors = reduce(times.format, [x.at([f"i_{a}" for a in letters]) for x, letters in operands])
        to, s = target.reshape([size.get(a, 1) for a in out]).at([f"i_{a}" for a in out]), self.stored(target, "s")
        self.lines.append(f"{outer}{{ let s = {start}; {inner}s = {more.format('s', factors)}; {to} = {s}; }}")
        return target

    def write_view(self, v: Value, x: Any) -> Ref | list[Ref]:
        return self.moved(v, v.function, [x])

    def write_call(self, v: Value, *operands: object) -> Ref | list[Ref]:
        function, args, options = call_of(v, v.args)
        name = getattr(function, "__name__", "")
        function = name if name in FORMS else function
        if function in CALLS:
            return CALLS[function](self, v, *args, **options)
        if function in FORMS and not (function in MOVES and all([a.kind in KNOWN for a in v.args[1:]])):
            return self.formed(v, function, FORMS[function])
        if function in FORMULAS or name in SPECIAL or isinstance(function, np.ufunc):
            optional = function in RULES and not isinstance(function, np.ufunc)  # what a formula takes may be left out
            bound = RULES[function].bind(args, options) if options or optional else args
            formula = formula_of(function, bound, v.dtype)
            return self.loop(self.new(v.shape, v.dtype), self.operands(bound), formula)
        in_memory = {"K", "A"} & {str(a) for a in (*args, *options.values())} and any([a.layout for a in v.args])
        if function in MOVES and not in_memory:
            places = [a.kind in KNOWN and a.dtype is not None and a.dtype.kind in "iub" for a in v.args]
            arguments = [a.sample if known else x for a, x, known in zip(v.args, operands, places, strict=True)]
            try:
                return self.moved(v, with_arrays(v, without=("dtype", "casting")), arguments)  # which are the result's
            except (IndexError, TypeError, ValueError):  # an index that is known only when it runs
                if function in AT_RUN:
                    return AT_RUN[function](self, v, *args, **options)
        return self.formed(v, function, own_code(function))

    def formed(self, v: Value, function: object, form: object) -> Ref | list[Ref]:
        """Written with simpler functions, which are recorded in turn."""
        refused = RefusedError(public_name(function) + " with these arguments" * (function in FORMS))
        if form is None:
            raise refused
        try:
            recorded = record(with_arrays(v, form), tuple([np.asarray(a.sample) for a in v.args]), {}, is_array)
        except Exception as error:  # whatever NumPy's code does with an array that has no numbers yet
            raise refused from error
        inside = recorded.program
        if any([x.name == v.name for x in inside.order()]):
            raise refused
        self.known.update(zip(inside.inputs, [self.known[a] for a in v.args], strict=True))
        missing = {**self.missing}
        self.walk(inside)
        if not self.refused.isdisjoint(inside.outputs):
            self.missing = missing
            raise refused
        results = [self.known[x] for x in inside.outputs] or [self.constant(recorded.tree)]
        if v.parts is None:
            return self.straight(results[0], v.dtype)
        return [self.straight(x, dtype) for x, (_, dtype) in zip(results, v.parts, strict=True)]

    def operand(self, a: Any) -> Any:
        """A value, or a number written in the call."""
        return self.known[a] if isinstance(a, Value) else KnownNumber(None) if a is None else self.constant(a)

    def operands(self, bound: Sequence[Any]) -> list[Any]:
        """Those of an elementwise function: beside float32 numbers of Python are float32."""
        samples = [a.sample if isinstance(a, Value) and a.kind in KNOWN and a.dtype is None else a for a in bound]
        dtypes = [a.dtype for a in samples if getattr(a, "dtype", None) is not None]
        is_single = bool(dtypes) and np.result_type(*dtypes) == np.float32
        with np.errstate(over="ignore"):
            return [
                self.constant(np.float32(x)) if is_single and type(x) in (int, float) else self.operand(a)
                for a, x in zip(bound, samples, strict=True)
            ]

    def moved(self, v: Value, function: AnyFunction, operands: Sequence[Any]) -> Ref | list[Ref]:
        """A function that only moves elements, known from where it puts addresses. Arrays among the operands are known.

        It is called twice: numbers that have moved with the buffers are addresses, and anything else is a number.
        """
        buffers = dict.fromkeys([x.buffer for x in operands if isinstance(x, Ref) and x.buffer])
        starts = {buffer: FAR * (k + 1) for k, buffer in enumerate(buffers)}

        def put(times: int) -> list[Any]:
            positions = []
            for x in operands:
                if isinstance(x, KnownNumber):
                    x = np.full(x.shape, x.value)
                elif isinstance(x, Ref):
                    x = x.addresses(times * starts[x.buffer])
                positions.append(x)
            results = function(*positions)
            results = [np.asarray(f) for f in (results if isinstance(results, (tuple, list)) else [results])]
            if starts and any([f.dtype not in (np.float64, np.int64) for f in results]):  # which hold no addresses
                raise RefusedError(f"{v.name} with these arguments")
            return results

        triples = zip(put(1), put(2), [(v.shape, v.dtype)] if v.parts is None else v.parts, strict=True)
        with np.errstate(invalid="ignore"):  # of infinite numbers
            moved = [self.gathered(one.astype(float), other - one, starts, dtype) for one, other, (_, dtype) in triples]
        return moved[0] if v.parts is None else moved

    def gathered(self, address: np.ndarray, way: Array, starts: dict[str, float], dtype: Any) -> Ref:
        """Elements from these addresses, which have been moved in that way: a view if possible, else a copy."""
        inside = {buffer: way == start for buffer, start in starts.items()}
        for buffer, where in inside.items():
            view = as_view(buffer, address - starts[buffer]) if where.all() else None
            if view is not None and (dtype is None or dtype == self.dtypes[buffer]):
                return view
        known = ~np.any([*inside.values(), np.zeros(address.shape, bool)], axis=0)
        written = address[known].astype(dtype or float).astype(float)
        bits, places = np.unique(written.view(np.int64), return_inverse=True)  # −0 is not 0
        numbers = bits.view(float)
        if known.all() and numbers.size == 1:
            return KnownNumber(numbers[0], address.shape)
        target = self.new(address.shape, dtype)
        if bits.any():  # buffers begin with zeros
            address[known] = places.ravel()
            self.fill(target, known, self.table(numbers, dtype or np.dtype(float)), address)
        for buffer, start in starts.items():
            self.fill(target, inside[buffer], buffer, address - start)
        return target

    def fill(self, target: Ref, where: np.ndarray, buffer: str, address: np.ndarray) -> None:
        """Write elements of a buffer into some places."""
        if where.any():
            to, source = self.table(np.flatnonzero(where)), self.table(address[where].astype(int))
            number = self.stored(target, f"{buffer}[{source}[k]]", buffer)
            self.lines.append(f"for (let k = 0; k < {where.sum()}; k++) {target.buffer}[{to}[k]] = {number};")


def with_arrays(v: Value, form: Any = None, without: Sequence[str] = ()) -> AnyFunction:
    """The call that computes a value, or the same of another function, as a function of its arrays."""

    def run(*arrays: object) -> Any:
        function, args, options = call_of(v, arrays)
        return (form or function)(*args, **{name: x for name, x in options.items() if name not in without})

    return run


def is_of_32_bits(dtype: np.dtype[Any]) -> bool:
    """Whole numbers whose products wrap."""
    return bool(dtype.kind in "iu" and dtype.itemsize == 4)


def formula_of(function: Any, args: Sequence[Any], dtype: np.dtype[Any]) -> str:
    """An elementwise function with ``{}`` for its operands."""
    kinds = {np.asarray(getattr(a, "sample", a)).dtype.kind for a in args}
    name = getattr(function, "__name__", "")
    formula = FORMULAS.get(function) or (None if hasattr(np, name) else SPECIAL.get(name))
    if formula is None or (function in OF_BOOLEANS and kinds - {"b"}):
        raise RefusedError(public_name(function))
    if is_of_32_bits(dtype):
        formula = OF_32_BITS.get(function, formula)
    if function is np.nan_to_num and dtype == np.float32:
        return f"finite({{0}}, {{2}}, {{3}} ?? {LARGEST}, {{4}} ?? -{LARGEST})"
    if dtype.kind in "iu" and function in (np.power, np.floor_divide, np.remainder, np.reciprocal, power_of_arrays):
        raise RefusedError(f"{public_name(function)} of integers")
    return formula


# ---------------------------------------------------------------- the whole text


@cache
def helpers() -> dict[str, str]:
    """The functions that JavaScript lacks, by name."""
    ours = (files(__package__) / "functions.js").read_text(encoding="utf-8")
    rows = (files(sliders) / "explore.js").read_text(encoding="utf-8").partition("// -- the two passes")[0]
    pieces = re.split(r"^(?=function |const |//)", ours + rows, flags=re.MULTILINE)
    return {piece.split()[1].partition("(")[0]: piece.strip() for piece in pieces if re.match("function|const", piece)}


def used_helpers(text: str, sources: Sequence[str] = ()) -> Sequence[str]:
    """Those that a text uses, and those that they use."""
    whole = "\n".join([text, *sources])
    more = [source for name, source in helpers().items() if re.search(rf"(?<![.\w]){name}[\[(]", whole)]
    return sources if len(more) == len(sources) else used_helpers(text, more)


def to_javascript(program: Program, name: str) -> str:
    """A function ``name`` that makes one copy of the program: its inputs, its outputs, and ``run``."""
    w = JavaScript(program)
    outputs = [w.straight(w.known[v], v.dtype) for v in program.outputs]
    if w.asks:  # it fills them with NaN
        outputs = [w.loop(w.new(r.shape, w.dtypes[r.buffer]), [r]) for r in outputs]
    inputs = [w.known.get(v) or w.new(v.shape, v.dtype) for v in program.inputs]
    whole = f"\n{''.join(w.lines)}"
    views = [f"{r.buffer}.subarray({r.offset}, {r.offset + r.size})" for r in outputs]
    body = [*used_helpers(whole), *w.data, f"const outputs = [{', '.join(views)}];", "function run() {", *w.lines, "}"]
    body.append(f"return {{ inputs: [{', '.join([r.buffer for r in inputs])}], outputs, run }};")
    return "\n".join([f"function {name}() {{", *["  " + line.replace("\n", "\n  ") for line in body], "}"]) + "\n"
