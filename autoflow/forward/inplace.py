"""Writing into nodes: NumPy's meaning, or a loud error; never a silently wrong gradient.

``a += b`` writes into a's memory, and the array object ``a`` gets a new record, whose first operand is the record
that it had. Operations that used ``a`` before keep pointing at the old record: no other history changes.

    before   a -> tanh_0(x)                  c -> multiply_0(tanh_0, w)
    a += b   a -> add_0(tanh_0, b)           c -> multiply_0(tanh_0, w)

What is left is the memory. A derivative may need a value that has just been overwritten. What the writer can see
(tanh needs its own result; ``a *= w`` needs the old a) it copies first; every other use is found at backward, which
compares the times of reads and writes (``nodes/versions.py``) and raises StaleValueError with the line that wrote.

A view (``v = u[1:]``) knows its base. Writing through it is also recorded on the base, as ``base[index] = view``;
and a view whose base got a new record takes itself again when it is used next (``nodes.current_record``).

The last section has NumPy's functions that write into their first argument: put, place, putmask, fill_diagonal, and
``np.add.at``. Each of them is ``x[places] = values`` for some places, and is recorded as that; the places are found
there. Where NumPy repeats values until there are enough of them, a recorded function does so.

>>> import autoflow as af
>>> x, a = af.Variable([1.0, 2.0]), af.zeros(4)
>>> np.put(a, [0, 3], x * x)
>>> a.sum().backward()
>>> x.grad
array([2., 4.])
"""

from __future__ import annotations

import contextlib
import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES, on_host
from ..base.errors import InPlaceError, LostGradientError, NoRuleError, StaleValueError, lost
from ..base.modes import LEFT, modes
from ..nodes import nodes, versions
from ..nodes.coercion import WHY, plain_array
from ..nodes.cuts import note_cut
from ..nodes.nodes import AnyFunction, ByName, Node, NodeRole, VariableRole, current_record, new_record, value_of
from ..nodes.rebinding import check_left, leave
from ..nodes.records import Extras
from ..program.callers import caller
from ..rules import RULES
from ..rules.ordering import along
from ..rules.variants import as_booleans
from ..table import shapes
from ..table.indexing import getitem, is_basic, put_back, setitem
from ..table.outside import advice, public_name
from ..table.shapes import Array, Mode, Values, as_array, as_dtype, has_gradient, is_numpys, together
from ..table.table import Rule
from . import recording
from .closures import HOOKS, NUMPYS_HOOK, Binary, is_anothers
from .writing import become_constant, is_unfinished, overwrite, rescue_result, save_overwritten_values, write_noted

# ---------------------------------------------------------------- writing: into memory, and into the history


def write(x: NodeRole, rule: Rule, inputs: Values, run: AnyFunction, partly: bool = False) -> NodeRole:
    """Do ``run(memory, *values)``, which writes into x's memory, and let x become the operation ``rule(*inputs)``.

    ``inputs``: operands, then options, as the row names them; where x itself stands its old value is meant.
    ``partly``: only ``x[i]`` is written; i is the last option, and has no node in it.
    """
    is_recorded = modes().recording
    check_writable(x, is_recorded)
    old, memory = current_record(x), x._value
    values, parents, constants, mutable = operands_of_write(x, rule, inputs, partly)
    region = written_region(memory, values[-1]) if partly else memory
    if old is not None and rule is RULES[setitem] and is_unfinished(old) and region.size == memory.size:
        parents[0] = None  # all of it is written again: nothing half written is left
    flowing = tuple([p is not None for p in parents])
    is_rounded = memory.dtype.kind not in "fc"  # whole numbers and booleans have no derivative
    is_forgotten = old is None or (is_recorded and parents[0] is None)
    if is_forgotten and (is_rounded or not (is_recorded and True in flowing)):
        # Numbers into a Constant, into whole numbers, or no_grad.
        recording.call_explained(write_noted, (memory, region, run, values), rule, inputs)
        if old is not None:
            become_constant(x)
        elif is_rounded:
            note_cut(x, parents, constants.values())
        return x
    if not is_recorded:
        raise InPlaceError(
            f"{x.name} has a history, and under no_grad the write would not be in it. Write while recording, or into "
            f"x.detach().copy()."
        )
    saved, marks = keep_values(rule, values, flowing, memory, mutable)
    save_overwritten_values(x, old, parents)
    extra = Extras(constants, marks, line=caller(), scope=modes().scope)
    record = new_record(rule, tuple(parents), (*saved, memory), extra)
    recording.call_explained(write_noted, (memory, region, run, values, x, record), rule, inputs)
    if getattr(x, "_view", None) is not None and memory.nbytes <= versions.COPY_BYTES:
        rescue_result(record, x, 0)  # a small view, as one that is read
    return announce_write(x, region)


def operands_of_write(x: NodeRole, rule: Rule, inputs: Values, partly: bool) -> recording.Operands:
    """The operands and options of a write into x."""
    n = rule.operands
    operands = recording.split_inputs(inputs[:n])
    for k in [*operands.constants]:
        if operands.constants[k] is x:
            del operands.constants[k]  # no leaf of its own: what x was is the first operand
    for k, option in enumerate(inputs[n:], n):
        operands.values.append(option if partly else recording.plain_option(option, rule, k))
    batch = recording.hidden_batch(operands.values) if len(NODE_TYPES) > 1 else None
    if batch is not None and hasattr(x._value, "batch_layer"):
        batch.lift_operands(rule, inputs, operands)
    return operands


def announce_write(x: NodeRole, region: Array) -> NodeRole:
    """Tell those who look at operations of a write into that part of x; returns x."""
    switches = modes()
    if switches.shadow:
        nodes.show_writing(region)
    if switches.listeners:
        recording.announce_node(x)
    if switches.left:  # now: it may hold numbers of an array that is let go before the pass
        check_left()
    return x


def keep_values(
    rule: Rule, values: list[Any], flowing: tuple[bool, ...], written: Array, mutable: list[int]
) -> tuple[list[Any], list[tuple[Array, bytes | None]]]:
    """The operands and options as the record keeps them: copies of what derivatives read and the write, or the user,
    may change; and the fingerprints of index arrays that are too large to be copied.

    flowing : the operands to which gradients flow.
    """
    needed = rule.must_save(flowing)
    saved = list(values)
    marks: list[tuple[Array, bytes | None]] = []
    for k, v in enumerate(values[: rule.operands]):
        if type(v) in NODE_TYPES:
            overlaps = np.may_share_memory(v, written)
            if k in needed and (overlaps or k in mutable or not flowing[k]):
                saved[k] = v.copy()
            elif k not in needed and (overlaps or v.size > modes().keep):
                saved[k] = versions.FreedArray(v)
    for k, v in enumerate(values[rule.operands :], rule.operands):
        if isinstance(v, recording.MAY_CHANGE) or type(v) in NODE_TYPES:
            saved[k] = recording.protect_operand(v, True, marks)
    return saved, marks


def written_region(memory_of_x: Array, place: Any) -> Array:
    """The part of the array that a write to ``place`` changes: exact for basic indices, else all of it."""
    if not is_basic(place):
        return memory_of_x
    place = place if type(place) is tuple else (place,)
    return memory_of_x[place if ... in place else (*place, ...)]  # with ... one element is a view, too


def check_writable(x: NodeRole, is_recorded: bool) -> None:
    """Raise InPlaceError if x may not be written into."""
    root = x
    while (view := getattr(root, "_view", None)) is not None:
        root = view[1]
        if hasattr(root, "_value"):
            nodes.check_base(*view)
    if not hasattr(root, "_value"):
        raise recording.history_lost(root)
    if isinstance(root, VariableRole) and is_recorded:
        what = f"{x.name} is a Variable" if root is x else f"{x.name} is a view of the Variable {root.name}"
        raise InPlaceError(
            f"{what}: writing into it would change the point of differentiation. Write into a copy (a = x.copy()), or "
            f"change it between passes: x.assign(value), or under af.no_grad()."
        )
    if (start := modes().repeating) and root.grad_fn is not None and root.number <= start:
        raise StaleValueError(
            f"a checkpointed function has written into {x.name}, which is from outside, and runs again: it would write "
            f"twice. Let it write into a copy (a = x.copy())."
        )
    if not getattr(x._value.flags, "writeable", True):
        raise InPlaceError(
            f"{x.name} is read-only (detached, broadcast, a view that was taken under no_grad, or made so): write into "
            f"a copy of it, {x.name}.copy()"
        )


def write_item(x: Node, i: Any, y: Any) -> None:
    """``x[i] = y``, recorded."""
    if not hasattr(x, "_value"):
        write_numbers(x, lambda a: a.__setitem__(value_of(i), value_of(y)), y)
        return
    if getattr(y, "_view", None) is not None and y._view[1] is x and written_through(x, i, y):
        return  # ``x[i] += 1`` has written through the view x[i] already; Python now stores it where it is
    if type(i) not in recording.SIMPLE:
        i = recording.plain_option(i, is_place=True)
    write(x, RULES[setitem], (x, y, i), lambda memory, a, b, i: memory.__setitem__(i, b), partly=True)


def write_numbers(x: Any, run: Callable[[Array], object], y: object = None) -> None:
    """Let ``run(memory)`` write numbers, those of y, into a node, or into an array of our class that NumPy made in C
    (``masked.data``), if no gradient is lost, of y or of a node that it is a view of."""
    if hasattr(x, "_value"):
        write(x, RULES[setitem], (x, None, ...), lambda memory, *_: run(memory))
        return
    numbers, base = recording.orphan_numbers(x), x
    loses = modes().recording and has_gradient([y])
    while (base := getattr(base, "base", None)) is not None:
        loses |= has_gradient(base)
    if loses:
        raise recording.history_lost(x)
    with contextlib.suppress(ValueError):  # a view of a node is read-only, what the node looks at need not be
        nodes.set_flags(numbers, True)
    write_noted(numbers, numbers, run)


def written_through(x: Node, i: Any, y: Array) -> bool:
    """Is y the view x[i], just written into?"""
    how = y._view[0]
    if how.rule is not RULES[getitem] or current_record(x) is not how.parents[0]:
        return False
    return bool(is_basic(i) and recording.plain_option(i) == how.saved[1])


def set_value(x: Node, value: Any) -> None:
    """``x.value = value``: overwrite the numbers. ``x.value -= y`` comes here as well, already done in place."""
    value = value_of(value)
    if not hasattr(x, "_value"):
        raise recording.history_lost(x)
    if value is x._value:
        if current_record(x) is not None:
            raise InPlaceError(f"{x.name} has a history, which x.value -= y would not be in: write x -= y")
        overwrite([value], [value])
    elif isinstance(x, VariableRole):
        new = plain_array(value)
        if new.shape != x._value.shape:
            raise InPlaceError(
                f"{x.name} has shape {x._value.shape}; assigned was shape {new.shape}. Make a new Variable for "
                f"another shape."
            )
        overwrite([x._value], [x.family.from_numpy(new) if type(new) is np.ndarray else new])
    else:
        write_item(x, ..., value)


def set_layout(x: Node, name: str, new: object) -> None:
    """``x.shape = shape``: x becomes the reshape of what it was. Earlier users of x keep the old record. Strides and
    dtype can be set where there is no history.

    Raises InPlaceError for Variables, whose gradients have their shape, and for views, which must find themselves in
    their base; what NumPy raises where the elements would have to be copied.
    """
    if not hasattr(x, "_value"):
        raise recording.history_lost(x)
    record, is_view = current_record(x), getattr(x, "_view", None) is not None
    past = record is not None and name != "shape"
    if isinstance(x, VariableRole) or is_view or past or type(x._value) is not np.ndarray:
        what = "a view" if is_view else "an Operation" if record is not None else f"a {type(x).__name__}"
        raise InPlaceError(
            f"{x.name} is {what}, whose {name} cannot be assigned to. Make a new node: x.reshape(...), x.astype(...)"
        )
    value = x._value.view()
    shapes.set_layout_of(value, name, new)
    if value.dtype.kind in WHY:
        raise InPlaceError(f"a node cannot have dtype {value.dtype}: {WHY[value.dtype.kind]}")
    if name == "shape" and value.shape == x._value.shape:
        return
    if record is not None:
        saved = versions.FreedArray(x._value), value.shape, "C", None, value
        x._record = new_record(RULES[np.reshape], (record,), saved)
        x._record._name = getattr(record, "_name", None)
    shapes.set_layout_of(x, name, getattr(value, name))
    x._value = x._operand = value


def assign(x: Any, value: Any) -> Any:
    """Overwrite the numbers of a Variable, as an optimiser does; returns it.

    ``value`` has the same shape, and a dtype that casts to the Variable's without changing kind. A graph that was
    recorded before and needs the old numbers notices (StaleValueError).

    >>> import autoflow as af
    >>> w = af.Variable([1.0, 2.0], name="w")
    >>> w.assign([3.0, 4.0])
    [3., 4.]  Variable w
    """
    set_value(x, value)
    return x


def write_composed(function: AnyFunction, composed: AnyFunction, args: Values, options: ByName) -> Any:
    """A function, which is ``composed`` of others, with ``out=``: an array, or a tuple of as many as there are
    results."""
    options = dict(options)
    out = options.pop("out")
    z = composed(*args, **options)
    results, targets = z if isinstance(z, tuple) else (z,), out if isinstance(out, tuple) else (out,)
    for result, target in zip(results, targets, strict=True):
        if isinstance(result, NodeRole) and target is not None and not isinstance(target, NodeRole):
            raise lost(
                f"np.{function.__name__}(..., out=) into a plain array keeps only numbers: make it with af.zeros(...)"
            )
    written = []
    for result, target in zip(results, targets, strict=True):
        if target is not None:
            store(target, result, function if len(targets) == 1 else None, args, options)
        written.append(result if target is None else target)
    return tuple(written) if isinstance(z, tuple) else written[0]


def write_out(rule: Rule, args: Values, options: ByName, out: Array) -> Array:
    """``np.add(x, y, out=a)``; ``plain += node``, where Python rebinds ``plain`` to our answer."""
    (out,) = out if isinstance(out, tuple) else (out,)
    if rule.variadic and options.get("dtype") is not None:
        raise TypeError(f"{rule.name} takes out= or dtype=, not both")
    is_ufunc = isinstance(rule.function, np.ufunc) and not options and not rule.variadic
    # Numbers written over a view are part of the history of what it is a view of: see store().
    if isinstance(out, NodeRole) and is_ufunc and (getattr(out, "_view", None) is None or has_gradient(args)):
        inputs = rule.bind(args, {})
        return write(out, rule, inputs, lambda memory, *values: rule.function(*values, out=memory))
    augmented = args and out is args[0]
    plain = not (augmented or (modes().recording and has_gradient([*args, *options.values()])))
    if isinstance(out, NodeRole) or plain:
        z = recording.apply(rule, args, options)
        k = len(args) if rule.variadic else rule.operands  # methods give all arguments by position, in the row's order
        named = shapes.given_keywords(**dict(zip(rule.names[k:], args[k:], strict=False)), **options)
        store(out, value_of(z) if plain else z, rule.function, args[:k], named)
        return out
    if not (augmented and out.base is None):
        raise LostGradientError(
            f"{rule.name}(..., out=) into a plain array, or plain[i] += node, keeps only numbers. Make the array with "
            f"af.zeros(...) or np.zeros_like(node): then the write is recorded."
        )
    old, switches = out.copy(), modes()
    node = recording.apply(rule, (old, *args[1:]), options)  # plain += node
    if not isinstance(node, NodeRole):
        raise lost("this in-place operation gave no node")
    try:
        overwrite([out], [node._value])  # everyone who holds the array sees the write
        if not node.requires_grad:
            return nodes.constant_from(out)
        if switches.shadow:  # and in a proof other numbers, as in the memory of nodes
            np.copyto(out, nodes.shadow_of(node._value))
        node = as_dtype(node, out.dtype)
        if switches.depth == 0:
            leave(weakref.ref(out))
        return node
    except BaseException:  # the numbers may not stay where their history has not arrived
        np.copyto(out, old)
        LEFT[:] = [mark for mark in LEFT if mark[0]() is not out]
        raise


def store(out: Array, z: Array, function: Any, args: Values, options: ByName) -> None:
    """Write the result z of ``function(*args, **options)`` into ``out``. If that has another dtype, NumPy computes in
    it, so NumPy's own numbers are written then."""
    is_alike = function is None or getattr(z, "dtype", out.dtype) == out.dtype != np.float16
    casting, numbers = options.get("casting", "same_kind"), {k: value_of(v) for k, v in options.items()}

    def run(memory: Array, _: object, new: Array, *place: object) -> None:
        if is_alike:
            np.copyto(memory, new, casting=casting)
        else:
            function(*value_of(args), out=memory, **numbers)

    if isinstance(out, NodeRole):
        write(out, RULES[setitem], (out, z, ...), run)
    else:
        run(out, None, value_of(z))


def copyto(dst: Array, src: Array, casting: str = "same_kind", where: Array = True) -> None:
    """``np.copyto(dst, src)``, recorded if ``dst`` is a node."""
    src = src if where is True else np.where(as_booleans("np.copyto", shapes.numbers_of(where)), src, dst)
    store(node(dst, "copyto"), src, None, (), {"casting": casting})


def is_number(x: NodeRole) -> bool:
    """Would this 0-d node be a number in NumPy? A view of an array, such as ``a[0, ...]``, is an array there."""
    return not isinstance(x, VariableRole) and not (is_numpys(x) and versions.owner_of(value_of(x)).shape)


def augmented_operator(ufunc: np.ufunc) -> Binary:
    """``x += y``. Numbers are rebound, as in Python; arrays are written into."""
    rule, quick = RULES[ufunc], recording.FORWARD.get(ufunc)
    forward = quick or (lambda x, y: recording.apply(rule, (x, y)))  # a user's row may lack a derivative

    def run(memory: Array, a: Array, b: Array) -> Array:  # NumPy's x **= 2 squares, and has other bits than np.power
        return ufunc(a, b, out=memory) if rule.operator is None else operator.ipow(memory, b)  # type: ignore[no-untyped-call]

    def inplace(x: Node, y: Array) -> Array:
        if not x.shape and is_number(x):
            return forward(x, y)
        hook = getattr(type(y), "__array_ufunc__", NUMPYS_HOOK)
        if hook not in HOOKS and is_anothers(ufunc, (type(y),), (x, y), True):
            return NotImplemented
        if not hasattr(x, "_value"):
            write_numbers(x, lambda a: run(a, a, value_of(y)), y)
            return x
        return write(x, rule, (x, y) if quick else rule.bind((x, y), {}), run)

    return inplace


# ---------------------------------------------------------------- functions that write into their first argument


def node(x: Array, name: str) -> Array:
    """``x``, if it is a node, which records writes into it."""
    if not isinstance(x, NodeRole):
        raise lost(f"np.{name} of a node into a plain array keeps only numbers: make the array with af.zeros(...)")
    return x


def repeat_values(values: Array, n: int) -> Array:
    """The first n of ``values``, ``values``, ..."""
    values = as_array(values)
    flat = values.reshape(-1)
    return flat if flat.size == n else np.resize(flat, n)


def plain_places(option: Array) -> Array:
    """An index or a mask as an array on the host, where the places are found."""
    return np.asarray(on_host(recording.plain_option(option)))


def write_places(x: Array, places: Array, values: Array) -> None:
    """Write into the elements of these numbers (in C order); the values are repeated until there are enough.

    If an element gets several values, the last one stays; the others are not written, so no gradient reaches them.
    """
    places = np.asarray(places).reshape(-1)
    if not places.size or not np.size(value_of(values)):
        return
    values = repeat_values(together(x, values)[1], places.size)
    different, last = np.unique(places[::-1], return_index=True)
    if different.size < places.size:
        values, places = values[places.size - 1 - last], different
    write_item(x, *(np.unravel_index(places, x.shape), values) if x.shape else ((), values[-1]))


def put(a: Array, ind: Array, v: Array, mode: Mode = "raise") -> None:
    """Elements by their numbers."""
    x, i = node(a, "put"), plain_places(ind)
    write_places(x, np.take(np.arange(x.size), i if i.size else i.astype(int), mode=mode), v)


def where_true(mask: Array, x: Array, name: str) -> Array:
    """The places at which the mask of ``np.place`` or ``np.putmask`` holds."""
    if (mask := plain_places(mask)).size != x.size:
        raise ValueError(f"{name}: mask and data must be the same size")
    return np.flatnonzero(mask)


def place(arr: Array, mask: Array, vals: Array) -> None:
    """The elements at which the mask holds, one after the other."""
    places = where_true(mask, x := node(arr, "place"), "place")
    if not np.size(value_of(vals)) and places.size:
        raise ValueError("Cannot insert from an empty array!")
    write_places(x, places, vals)


def putmask(a: Array, mask: Array, values: Array) -> None:
    """The elements at which the mask holds; each takes the value at its own place."""
    places = where_true(mask, x := node(a, "putmask"), "putmask")
    if places.size and np.size(value_of(values)):
        write_places(x, places, repeat_values(together(x, values)[1], x.size)[places])


def fill_diagonal(a: Array, val: Array, wrap: bool = False) -> None:
    """The diagonal of all axes; of a tall matrix with ``wrap`` again and again."""
    x = node(a, "fill_diagonal")
    numbers = np.zeros(x.shape, bool)
    np.fill_diagonal(numbers, True, wrap)
    write_places(x, np.flatnonzero(numbers), val)


def put_along_axis(arr: Array, indices: Array, values: Array, axis: int | None = -1) -> None:
    """The twin of take_along_axis."""
    x, i = node(arr, "put_along_axis"), plain_places(indices)
    places = along(i, x.shape, axis) if axis is not None else np.unravel_index(np.where(i < 0, i + x.size, i), x.shape)
    numbers = np.arange(x.size).reshape(x.shape)[places]
    write_places(x, numbers, np.broadcast_to(together(x, values)[1], numbers.shape))


WRITERS = {getattr(np, f.__name__): f for f in (copyto, fill_diagonal, place, put, put_along_axis, putmask)}


def write_at(ufunc: np.ufunc, x: Array, i: Any, y: Array = None) -> None:
    """``np.add.at(x, i, y)``: x[i] += y, where an element that is named several times gets all of its y.

    Sums are recorded as x + (the y at their places); other functions, if no element is named twice, as
    x[i] = ufunc(x[i], y).

    >>> import autoflow as af
    >>> w, a = af.Variable([1.0, 2.0, 3.0]), af.zeros(2)
    >>> write_at(np.add, a, [0, 0, 1], w)
    >>> a
    [3., 3.]  Operation add_0 = add(float64[2], put_back_0)
    """
    i = recording.plain_option(i)
    if not has_gradient([x, y]):
        numbers = () if y is None else (value_of(y),)
        into = write_numbers if isinstance(x, NodeRole) else lambda plain, run: run(plain)
        into(x, lambda memory: ufunc.at(memory, i, *numbers))
        return
    x = node(x, f"{ufunc.__name__}.at")
    i = np.asarray(i) if isinstance(i, list) else i
    if ufunc not in RULES:
        raise NoRuleError(f"{public_name(ufunc, 'at')} into a node is not recorded: {advice(ufunc, 'at')}")
    places = np.arange(x.size, like=shapes.like_argument(x)).reshape(x.shape)[i]
    if ufunc in (np.add, np.subtract):
        values = np.broadcast_to(as_array(y), places.shape)
        added = put_back(as_dtype(values, x.dtype), i, x.shape)
        in_numpy = is_numpys(x)  # a library may not take every index here
        write(x, RULES[ufunc], (x, added),
              lambda a, _, b: ufunc.at(a, i, value_of(y)) if in_numpy else ufunc(a, b, out=a))  # fmt: skip
        return
    if np.unique(places).size != places.size:
        raise NoRuleError(
            f"np.{ufunc.__name__}.at of a node with an element named twice is not recorded: write a loop, x[i] = ..."
        )
    write_item(x, i, ufunc(x[i]) if y is None else ufunc(x[i], y))
