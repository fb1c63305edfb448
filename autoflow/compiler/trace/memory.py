"""Writes in a recording: calls that write, as data; and which arrays look at the memory that is written into.

Calls as data. ``np.sum(x, axis=0)`` is recorded as a function of the array x. NumPy's engine only runs that function;
other engines look at its description: ``written`` is the function, its arguments with a :class:`~..matching.Nth` for
each array, and its options. So a write in place is a function here that returns a new array, and has a name.

Memory. A program knows values, which never change; NumPy has memory, and views of it. So an array that is written into
becomes another value, and a view knows its source and how it was taken: it is taken again when the source has become
another value, and a write through it is one into the source.

    z = x * 1        z is v1
    part = z[1:]     part is v2 = v1[1:], taken of z
    part += 1        z becomes v4 = v1 with v3 = v2 + 1 in [1:]
    part             taken again: v4[1:]

Where arrays would lie is shown by empty arrays that are taken in the same way: so ``nodes/versions.py`` finds values
that a derivative needs and that have been overwritten, as in eager code.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...base.errors import CompileError
from ...nodes.versions import AnyFunction, Array
from ...program.callers import caller
from ...table.indexing import put_view
from .doubts import into_outside

# ---------------------------------------------------------------- calls as data, also those that write


def write_down(run: AnyFunction, function: object, args: object, options: object) -> AnyFunction:
    """``run``, a function of arrays, with the call that it makes as data."""
    run.__name__ = getattr(function, "__name__", "call")
    run.written = function, args, options  # type: ignore[attr-defined]
    return run


def as_index(v: Any) -> Any:
    """The number that an object has for ``__index__``, which may be another one later; anything else as it is."""
    return operator.index(v) if hasattr(type(v), "__index__") and not isinstance(v, (int, np.generic)) else v


def set_items(x: Array, index: object, new: object) -> Array:
    """``x[index] = new``, on a copy."""
    x = np.array(x, order="K")
    x[index] = new
    return x


def update_at(ufunc: np.ufunc, x: Array, *rest: Any) -> Array:
    """``ufunc.at(x, *rest)``, on a copy."""
    x = np.array(x, order="K")
    ufunc.at(x, *rest)
    return x


def write_into_copy(function: AnyFunction, x: Array, *rest: object, **options: object) -> Array:
    """``function(x, *rest)``, which writes into its first argument, on a copy."""
    x = np.array(x, order="K")
    function(x, *rest, **options)
    return x


def compute_into(function: AnyFunction, x: Array, /, *args: object, **options: object) -> Any:
    """``function(*args, out=x)``, on a copy."""
    return function(*args, out=np.array(x, order="K"), **options)


def check_answer(x: Array, answer: bool) -> Array:
    """x, if its truth is still ``answer``: NumPy's own code asks for it, and would else take another branch."""
    if bool(x) is not answer:
        raise ValueError("NumPy computes this in another way than in the recording")
    return x


def cast(x: Array, dtype: np.dtype[Any], order: Any, casting: Any) -> Array:
    """``x.astype(dtype, order, casting)``."""
    return (x if hasattr(x, "astype") else np.asarray(x)).astype(dtype, order, casting)


def flatten(x: Array, order: Any) -> Array:
    """``x.flatten(order)``, of numbers, too."""
    return np.asarray(x).flatten(order)


# ---------------------------------------------------------------- memory: views, and writes through them


def itself(x: Array) -> Array:
    """A view that shows all of its base: a node on top of an array."""
    return x


def root(x: Any) -> Any:
    """The array at the root of the view x; x itself if it is not a view."""
    while x.source is not None:
        x = x.source
    return x


def look_again(x: Any) -> None:
    """Take the view x again, after the views that it is taken of, if its base has become another value."""
    chain = [x]
    while (x := chain[-1].source) is not None and x.time != x.tape.writes:
        chain.append(x)
    for x in reversed(chain):
        x.time = x.tape.writes
        if x.source is not None:
            x.now = x.viewed(x.source).now
            x.held = x.now.sample


def write(x: Any, new: Any) -> None:
    """x becomes the value of ``new``, which has its shape and dtype; if it is a view, so does that part of its base."""
    if not hasattr(x, "tape"):
        raise into_outside()
    if x.is_number:
        raise TypeError(f"a {x.dtype} number cannot be written into")
    if getattr(root(x), "borrowed", False):
        if not x.held.flags.writeable:
            raise ValueError("assignment destination is read-only")
        raise CompileError(
            f"{caller()} writes into an argument of a compiled function, or into an array from outside of it: its "
            f"caller would see that in the first call only. Make a new array: x = x + 1 instead of x += 1."
        )
    if getattr(root(x), "shared", False):
        raise CompileError(
            f"{caller()} writes in place into an array whose memory a call may still look into, and a compiled "
            f"function would need to know how: make a new array (a = a + b instead of a += b), or say "
            f"af.compile(f, fallback=True)."
        )
    while x.source is not None:
        if x.viewed is not itself:
            new = x.tape.call(put_view, (x.source, new, x.viewed), fixed=True)
        x = x.source
    if isinstance(x.held, np.ndarray) and isinstance(new.held, np.generic):  # it stays a 0-d array
        new = x.tape.new_traced(x.tape.program.as_array(new.expr))
    if not same_layout(x.held, new.held):
        new = x.tape.call(set_items, (x, ..., new), fixed=True)
        if not same_layout(x.held, new.held):
            raise CompileError(
                f"{caller()} writes into an array whose axes do not lie in memory in their order: write into a copy, "
                f"x.copy(), make a new array, or say af.compile(f, fallback=True)."
            )
    x.now, x.held = new.expr, new.held
    x.tape.writes += 1


def dummy_of(x: Any) -> Array:
    """An array without numbers, laid out in memory as x would be."""
    chain = [x]
    while not hasattr(chain[-1], "memory") and chain[-1].source is not None:
        chain.append(chain[-1].source)
    for part in reversed(chain):
        if not hasattr(part, "memory"):
            part.memory = np.empty_like(part.held) if part.source is None else part.viewed(part.source.memory)
    return x.memory


def same_layout(x: Array, y: Array) -> bool:
    """Do their elements lie in the same order? Whether a ``reshape`` makes a copy depends on it."""
    return np.ndim(x) < 2 or all([s == t for n, s, t in zip(x.shape, x.strides, y.strides, strict=True) if n > 1])
