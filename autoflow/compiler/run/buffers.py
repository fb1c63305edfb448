"""The calls of a plan, one by one; and how a run notices that NumPy had something to report.

Reports come first. Eager code knows best which operations warn or raise, with which words and in which line: it runs
backward passes silently, and ``with np.errstate(...)`` inside the function counts. So a program runs silently and only
notes whether something happened that its caller does not ignore; then the function itself runs once more, in the
caller's context. That is NumPy's own mechanism: in the context of a program each kind of error that the caller does not
ignore is set to "call", and the function that is called notes it. So nothing has to be checked after each call.

Then the calls: which NumPy function computes a value, with which arguments, and where it writes.

From a program to calls: where each result is written, and who may use that memory next.

Every NumPy call that can write into a given array (``out=``) gets one: a *buffer*, made once with the plan. A buffer
is used again as soon as the value in it has been read for the last time; an elementwise call may write over its own
operand. So a replayed program allocates its results and nothing else, and small arrays stay in the cache.

The calls are written as one Python function, a line for each: results in buffers, constants and arrays from outside are
known before; arguments, and results without ``out=``, are its variables, which are gone when it returns.

What buffers save, and what sharing them saves, is in ``benchmarks/README.md``.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from functools import cache, partial
from operator import attrgetter, itemgetter
from types import CodeType
from typing import Any

import numpy as np

from ...backends.duck_arrays import SIGNS
from ...backprop.passes import SWITCH
from ...base.errors import CompileError
from ...base.types import AnyFunction, ByName, Values
from ...table.facts import WRAPPING
from ..matching import CALL, INPUT, ITEM, KNOWN, PRODUCT, REDUCE, STACK, UFUNC, VIEW, Array, Value, describe_value
from ..program import Program, sort_values, with_numbers

# ---------------------------------------------------------------- reports: NumPy's warnings and errors are noted

callers_state: Callable[[], Any] = SWITCH[0].get if SWITCH else object  # of an unknown NumPy: a new one at every call


class Reported(Exception):  # noqa: N818 - the run went well
    """NumPy had something to report during a run."""


class Noticed:
    """What NumPy calls: ``any`` says that it did."""

    any = False

    def __call__(self, kind: str, flag: int) -> None:
        self.any = True


class WatchedPlan:
    """A plan, and the context that it runs in: silently, and noticing what the caller does not ignore."""

    program: Program

    def __init__(self) -> None:
        self.context = contextvars.copy_context()  # quicker to enter than np.errstate
        self.noticed = Noticed()
        self.state: Any = None  # the caller's at the last run
        self.kinds: frozenset[str] = frozenset()

    def adapt(self, state: object) -> None:
        """Notice what this caller does not ignore, and what the program does not."""
        noticed = ["invalid"] if self.program.reports_nan else []
        self.kinds = frozenset([*noticed, *[kind for kind, how in np.geterr().items() if how != "ignore"]])
        kinds: dict[str, Any] = {kind: "call" if kind in self.kinds else "ignore" for kind in np.geterr()}
        self.context.run(np.seterrcall, self.noticed)
        self.context.run(partial(np.seterr, **kinds))
        self.state = state

    def pass_on(self) -> None:
        """Tell the program that this one belongs to, in whose context it has run."""
        if self.noticed.any:
            self.noticed.any = False
            whole: Any = np.geterrcall()
            whole("part", 0)


# ---------------------------------------------------------------- calls: the function, its arguments, where it writes


class Planned:
    """One call: the value that it computes, the function, its arguments, and where it writes."""

    __slots__ = ("args", "function", "out", "value")

    def __init__(self, value: Value, function: AnyFunction, args: list[Any], out: Array | None) -> None:
        self.value, self.function, self.args, self.out = value, function, args, out


def copying_call(function: Any, *args: Any) -> None:
    """The result of a function that cannot write into an array, copied into the last argument."""
    np.copyto(args[-1], function(*args[:-1]))


def compile_lines(parameters: Sequence[str], lines: Sequence[str]) -> CodeType:
    """The code of a function ``run`` with these lines. It claims to be in this file, so that searches for the user's
    code skip it."""
    return compile("\n ".join([f"def run({', '.join(parameters)}):", *lines]), __file__, "exec")


def define(code: CodeType, space: ByName) -> AnyFunction:
    """That function, which finds everything else in ``space``."""
    space["__name__"] = __name__
    exec(code, space)  # noqa: S102 - our lines
    return space.pop("run")


def writes(v: Value) -> bool:
    """Can the value be computed into a given array?"""
    return (v.kind in (UFUNC, REDUCE, PRODUCT) and not may_wrap(v)) or (v.kind == CALL and v.function is np.matmul)


def may_wrap(v: Value) -> bool:
    """Is it a whole number that may not fit into its dtype? NumPy reports that of numbers, but not of arrays."""
    return v.kind == UFUNC and not v.shape and v.function in WRAPPING and v.dtype.kind in "iu"


def call_of(v: Value, out: Array | Value | None) -> tuple[AnyFunction, list[Any]]:
    """The function and its arguments, by position, the last one for ``out``; values, or objects that stay the same."""
    where = [] if out is None else [out]
    if v.kind == REDUCE:
        axis, keepdims = v.options
        return v.function.reduce, [v.args[0], axis, None, out, keepdims]
    if v.kind == PRODUCT:
        (x, y), dtype = v.args, v.dtype
        if x.dtype == y.dtype == dtype and dtype.kind in "fc" and min(*x.shape, *y.shape) > 1:
            return np.dot, [x, y, *where]  # it is quicker, and has the same bits, except for vectors
    return v.function, [*v.args, *where]


def checked_call(v: Value) -> AnyFunction:
    """A call whose result must have the shape and dtype of the recording: other calls rely on it."""
    function, shape, dtype, name, parts = v.function, v.shape, v.dtype, v.name, v.parts
    if may_wrap(v):
        function = with_numbers(
            SIGNS[function], {k: itemgetter(()) for k, x in enumerate(v.args) if x.dtype is not None}
        )

    def call(*arrays: Array) -> Array:
        z = function(*arrays)
        if z.shape != shape or z.dtype != dtype:
            raise another_result(name, describe_value(z), (shape, dtype))
        return z

    def call_for_several(*arrays: Array) -> Any:
        results = function(*arrays)
        if (specs := [describe_value(z) for z in results]) != parts:
            if len(specs) != len(parts):
                raise another_result(name, specs, parts)
            raise another_result(name, *next(pair for pair in zip(specs, parts, strict=True) if pair[0] != pair[1]))
        return results

    return call_for_several if parts is not None else call if dtype is not None else function


def another_result(name: str, new: Any, old: Any) -> CompileError:
    """The CompileError; ``new`` and ``old`` are pairs of shape and dtype, or lists of several."""
    words = [f"{len(x)} arrays" if isinstance(x, list) else f"{x[1]} of shape {x[0]}" for x in (new, old)]
    return CompileError(
        f"{name} returned {words[0]}, and {words[1]} when it was recorded: that depends on values, so it cannot be "
        f"compiled. Take it out of the function, or say fallback=True."
    )


@cache
def types_of(function: np.ufunc, given: Values) -> tuple[Any, ...]:
    """The dtypes in which a ufunc computes with operands of these dtypes, or of Python's classes, and its results';
    () if it does not."""
    try:
        return tuple(function.resolve_dtypes((*given, *[None] * function.nout)))
    except TypeError:
        return ()


def fitting_number(x: Any, a: object, v: Value) -> Any:
    """A Python number as a 0-d array of the other operand's dtype: the same result, without a conversion per call.
    (Not if a number close to 0 becomes 0 in that dtype: ``np.logical_or`` and its like would tell the two apart. Nor
    if a large one becomes infinite: each call reports that.)"""
    if type(x) not in (int, float) or v.kind != UFUNC or len(v.args) != 2:
        return x
    dtype = (v.args[1] if v.args[0] is a else v.args[0]).dtype
    if dtype is None or dtype.kind != "f" or types_of(v.function, (dtype, dtype))[:2] != (dtype, dtype):
        return x
    with np.errstate(over="ignore"):
        fitting = np.asarray(x, dtype)
    return fitting if bool(fitting) is bool(x) and bool(np.isinf(fitting)) is (abs(x) == np.inf) else x


NEVER = 1 << 60
MOVED = frozenset({"reshape", "transpose"})  # views that show all of their memory, once
BY_WORD = frozenset({np.maximum, np.minimum})  # they take ``out`` by its name only


class Plan(WatchedPlan):
    """A program with its own memory. It must not run twice at the same time.

    steps : the calls, in order.
    buffers : the blocks of memory that results are written into.
    """

    def __init__(
        self, program: Program, targets: dict[Value, Value] | None = None, order: list[Value] | None = None
    ) -> None:
        """``targets``: values that are written into arrays which are arguments (of a block: into its rows)."""
        super().__init__()
        self.program, self.targets = program, targets or {}
        order = order or sort_values([*program.outputs, *program.checks, *self.targets])
        self.steps: list[Planned] = []
        self.buffers: list[Array] = []
        self.place: dict[Value, Array] = {}  # values that are the same array object in every call
        self.home: dict[Value, Array] = {}  # the buffer of a value
        self.spare: list[Array] = []  # buffers that are free again
        self.owners = owners_of(order)
        self.read = {x for v in order for x in v.args}
        self.owned, self.presented = self.results(program.outputs)
        self.rows = self.rows_of_stacks(order)
        last = self.last_uses(order)
        for k, v in enumerate(order):
            self.plan_one(v, k, last)
        del self.spare, self.home, self.rows, self.read
        self.bind()

    # -- how long each value is needed

    def results(self, outputs: Sequence[Value]) -> tuple[set[Value], list[Callable[[Any], Any] | None]]:
        """The values that are computed into new arrays because they are returned, and for each output None, if it is
        returned as it is, such as a Python object, or the function that makes a new array of it."""
        owned: set[Value] = set()
        how: list[Callable[[Any], Any] | None] = []
        for v in outputs:
            source = v
            while source.kind == VIEW and source.options[0] in MOVED:
                source = source.args[0]
            if (writes(source) or source.owned) and source not in owned and source not in self.targets:
                owned.add(source)
                how.append(None if v.shape or v.owned or self.is_scalar_reduction(v) else np.asarray)
            else:
                how.append(None if v.dtype is None else np.array)
        return owned, how

    def is_scalar_reduction(self, v: Value) -> bool:
        """Is it a reduction to a number that nothing else reads, such as a loss? The NumPy number becomes an array."""
        return v.kind == REDUCE and v not in self.read

    def last_uses(self, order: list[Value]) -> dict[Value, int]:
        """For each value that owns memory, the index of the last value that reads it."""
        last: dict[Value, int] = {}
        for k, v in enumerate(order):
            for x in v.args:
                for owner in self.owners[x]:
                    last[owner] = k
        for v in self.program.outputs:
            for owner in self.owners[v]:
                last[owner] = NEVER
        return last

    def rows_of_stacks(self, order: list[Value]) -> dict[Value, Array]:
        """Memory for the stacks; values are computed directly into their rows."""
        rows: dict[Value, Array] = {}
        for v in order:
            if v.kind == STACK:
                self.place[v] = np.empty(v.shape, v.dtype)
                self.buffers.append(self.place[v])
                for k, x in enumerate(v.args):
                    if writes(x) and x not in self.owned and x not in rows and x.layout is None:
                        rows[x] = self.place[v][k]
        return rows

    # -- one value after the other

    def plan_one(self, v: Value, k: int, last: dict[Value, int]) -> None:
        """Decide how the k-th value is computed, and give back the buffers that are read for the last time."""
        if v in self.targets:
            self.write(v, self.targets[v])
        elif v.kind in KNOWN:
            self.place[v] = np.asarray(v.sample) if v.dtype is not None else v.sample
        elif v.kind in (INPUT, ITEM):
            pass
        elif (
            # Where NumPy has copied, as for some reshapes of repeated elements, each call takes the view anew.
            v.kind == VIEW
            and (base := self.place.get(v.args[0])) is not None
            and np.may_share_memory(view := v.function(base), base)
        ):
            self.place[v] = view
        elif v.kind == STACK:
            for row, x in zip(self.place[v], v.args, strict=True):
                if x not in self.rows or not np.shares_memory(self.rows[x], row):
                    self.steps.append(Planned(v, np.copyto, [row, x], row))
        elif writes(v):
            dying = [x for x in dict.fromkeys(v.args) for o in self.owners[x] if last.get(o) == k]
            out = None if v in self.owned else self.rows[v] if v in self.rows else self.buffer(v, dying)
            function, args = call_of(v, out)
            if v in self.owned and self.is_scalar_reduction(v):
                function, args = partial(v.function.reduce, out=..., keepdims=v.options[1]), [*v.args, v.options[0]]
            self.steps.append(Planned(v, function, args, out))
            if out is not None:
                self.place[v] = out
        else:
            is_turned = v.options == ("transpose", (1, 0))
            function = attrgetter("T") if is_turned else v.function if v.kind == VIEW else checked_call(v)
            self.steps.append(Planned(v, function, list(v.args), None))
        for x in v.args:
            for owner in self.owners[x]:
                if last.get(owner) == k and owner in self.home:
                    self.spare.append(self.home.pop(owner))

    def write(self, v: Value, target: Value) -> None:
        """Compute ``v`` into an argument."""
        function, args = call_of(v, target) if writes(v) else (partial(copying_call, v.function), [*v.args, target])
        self.steps.append(Planned(v, function, args, target))

    def buffer(self, v: Value, dying: list[Value]) -> Array:
        """An array to write ``v`` into: that of an operand, one that is free, or a new one."""
        # In place NumPy gives products of single complex numbers other last bits.
        if v.kind == UFUNC and (v.dtype.kind != "c" or v.nbytes > v.dtype.itemsize):
            for x in dying:
                if x in self.home and x.shape == v.shape and x.dtype == v.dtype and x.layout == v.layout:
                    self.home[v] = self.home.pop(x)
                    return self.place[x]
        if v.dtype.hasobject:  # NumPy has no view of bytes as references
            self.buffers.append(np.empty(v.nbytes // v.dtype.itemsize, v.dtype))
            return shape_buffer(self.buffers[-1], v.shape, v.layout)
        need = max(v.nbytes, 8)
        fitting = [b for b in self.spare if need <= b.nbytes <= 4 * need]
        if fitting:
            block = min(fitting, key=lambda b: b.nbytes)
            self.spare = [b for b in self.spare if b is not block]
        else:
            block = np.empty(need, np.uint8)
            self.buffers.append(block)
        self.home[v] = block
        return shape_buffer(block[: v.nbytes].view(v.dtype), v.shape, v.layout)

    # -- all calls as one function

    def bind(self) -> None:
        """A line for each step. Values known before are in ``space``, as are the functions, ``f0`` for step 0."""
        self.space: ByName = {}
        inputs = [f"x{k}" for k in range(len(self.program.inputs))]
        names: dict[Any, str] = dict(zip(self.program.inputs, inputs, strict=True))
        names.update({v: names[target] for v, target in self.targets.items()})

        def name_of(a: object, v: Value) -> str:
            if isinstance(a, Value):
                if a.kind == ITEM:
                    return f"{name_of(a.args[0], v)}[{a.options}]"
                if a not in self.place:
                    return names[a]
                a = fitting_number(self.place[a], a, v)
            if (name := names.get(id(a))) is None:
                name = names[id(a)] = f"c{len(names)}"
                self.space[name] = a
            return name

        lines = []
        for k, s in enumerate(self.steps):
            words = [name_of(a, s.value) for a in s.args]
            if s.out is not None and s.function in BY_WORD:
                words[-1] = f"out={words[-1]}"
            call = f"f{k}({', '.join(words)})"
            if s.out is None:
                names[s.value], call = f"r{k}", f"r{k} = {call}"
            self.space[f"f{k}"] = s.function
            lines.append(call)
        outputs = []
        for k, (v, how) in enumerate(zip(self.program.outputs, self.presented, strict=True)):
            self.space[f"p{k}"] = how
            outputs.append(name_of(v, v) if how is None else f"p{k}({name_of(v, v)})")
        self.calls = define(compile_lines(inputs, [*lines, f"return [{', '.join(outputs)}]"]), self.space)

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The results for these inputs, as new arrays."""
        if (state := callers_state()) is not self.state:
            self.adapt(state)
        return self.context.run(self.calls, *arrays)


def owners_of(order: list[Value]) -> dict[Value, tuple[Value, ...]]:
    """For each value, the owners of its memory: itself or, for a view, the value that it was taken of."""
    owners: dict[Value, tuple[Value, ...]] = {}
    for v in order:
        above = [o for x in v.args for o in owners[x]] if v.kind in (VIEW, ITEM) or v.shares else []
        owners[v] = tuple(dict.fromkeys([*above, v] if v.kind == CALL or not above else above))
    return owners


def shape_buffer(flat: Array, shape: tuple[int, ...], layout: tuple[int, ...] | None) -> Array:
    """A flat buffer as an array whose axes lie in memory in the order ``layout``."""
    if layout is None:
        return flat.reshape(shape)
    inverse = sorted(range(len(layout)), key=layout.__getitem__)
    return flat.reshape([shape[a] for a in layout]).transpose(inverse)
