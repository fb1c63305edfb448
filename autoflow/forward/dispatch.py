"""NumPy's two hooks: what happens when NumPy is called with a node.

A ufunc (``np.exp(x)``, ``plain + x``) asks ``__array_ufunc__``, most other functions ``__array_function__``. What a
function means for nodes is in the table (a row), composed of rows, a plain result, or refused with advice; nothing
falls through to NumPy, whose own code might drop the graph without a word. Another class that has such hooks is called
instead (we answer NotImplemented), but only where no gradient is lost: ``closures.py``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from ..base.errors import DataError, InPlaceError, LostGradientError, NoRuleError
from ..base.lazy import later
from ..base.modes import modes
from ..nodes.coercion import refuse_halfway
from ..nodes.cuts import note_cut
from ..nodes.nodes import Node, NodeRole, constant_from, memory_of, read_only, value_of
from ..program.callers import getframe, wants_numbers
from ..rules import RULES
from ..rules.variants import METHODS, VARIANTS, along_axes, computed_in, where_out
from ..table.outside import ALLOCATORS, WRITERS, advice, is_plain, public_name
from ..table.shapes import NOT_GIVEN, AnyFunction, ByName, Values, as_array, has_gradient, name_out
from ..table.table import COMPOSED, LISTS
from .closures import HOOKS, is_anothers
from .recording import FORWARD, apply, orphan_numbers

SHARING = (np.may_share_memory, np.shares_memory)
AXES = ("axes", "axis", "keepdims")  # keywords of products
DEFAULTS = {"casting": "same_kind", "dtype": None, "order": "K", "subok": True, "where": True}  # of ufuncs


def array_ufunc(
    self: Node, ufunc: np.ufunc, method: str, x: Any, y: Any = NOT_GIVEN, /, *rest: Any, **options: Any
) -> Any:  # fmt: skip
    """``np.exp(x)``, ``np.add(2.0, x)``, ``plain += x``, ``np.add.reduce(x)``."""
    # Positional parameters instead of *inputs save 0.1 µs, the quick closures another 0.5 over apply().
    try:
        if method == "__call__" and not options and not rest and (forward := FORWARD.get(ufunc)):
            return forward(x) if y is NOT_GIVEN else forward(x, y)
        return recorded_ufunc(self, ufunc, method, (x, *rest) if y is NOT_GIVEN else (x, y, *rest), options)
    except (NoRuleError, DataError, LostGradientError) as error:
        inputs = (x, *rest) if y is NOT_GIVEN else (x, y, *rest)
        return numbers_unless_lost(error, self, getattr(ufunc, method), inputs, options)


def recorded_ufunc(self: Node, ufunc: np.ufunc, method: str, inputs: Values, options: ByName) -> Any:
    """The same, of calls that are not quick."""
    if wants_numbers(caller := getframe(2).f_globals.get("__name__")):
        refuse_halfway(caller, has_gradient(inputs))
        return on_numbers(getattr(ufunc, method), inputs, options)
    if len(inputs) > 1 or "out" in options:
        kinds = [type(v) for v in (*inputs, *options.get("out", ()))]
        if is_anothers(ufunc, kinds, inputs, method == "at" or "out" in options):
            return NotImplemented
    if method != "__call__":  # NumPy repeats what was given by name
        repeated = ("array", "indices", "dtype") if options.get("dtype") is None else ("array", "indices")
        options = {k: v for k, v in options.items() if k not in repeated}
    elif not options.keys().isdisjoint(DEFAULTS):
        options = {k: v for k, v in options.items() if type(v) is not type(d := DEFAULTS.get(k, ...)) or v != d}
    if method == "__call__" and "where" in options and (ufunc in RULES or ufunc in COMPOSED):
        return where_out(ufunc, inputs, options)
    if method == "__call__" and ufunc in RULES:
        if "dtype" in options:
            inputs, options = computed_in(ufunc, inputs, options)
        if ufunc.signature is not None and not options.keys().isdisjoint(AXES):
            return along_axes(ufunc, inputs, options)
        return apply(RULES[ufunc], inputs, options)
    if method == "at":
        from .inplace import write_at

        return write_at(ufunc, *inputs)
    body = COMPOSED.get(ufunc) if method == "__call__" else METHODS.get(method, {}).get(ufunc)
    if body is not None:
        call = ufunc if method == "__call__" else getattr(ufunc, method)
        if (answer := numpys_answer(call, inputs, options)) is not None:
            return answer
        if method == "__call__":
            inputs = tuple([as_array(x) if isinstance(x, (list, tuple)) else x for x in inputs])
            if others := options.keys() - {"out"}:
                raise NoRuleError(
                    f"{public_name(ufunc)} of a node is not differentiated with {', '.join(others)}=. Write it "
                    "without, or leave the graph on purpose with x.value."
                )
        elif method == "outer":
            return body(*inputs, **options)
        elif "where" in options:  # a condition, to which nothing flows; it may be the only node
            options["where"] = value_of(options["where"])
        return run_composed(call, body, inputs, options)
    if ufunc not in RULES and ufunc not in COMPOSED and has_scipy_rule(ufunc):
        return recorded_ufunc(self, ufunc, method, inputs, options)
    return without_rule(ufunc, getattr(ufunc, method), inputs, options, method)


def has_scipy_rule(ufunc: np.ufunc) -> bool:
    """Is it one of SciPy's functions that have a row? Those rows are read when the first such function meets a node."""
    if "scipy.special" not in sys.modules:
        return False
    from ..rules import special  # noqa: F401 - fills the table
    from .closures import quicken

    quicken()
    return ufunc in RULES or ufunc in COMPOSED


def array_function(self: Node, function: AnyFunction, types: Collection[type], args: Values, options: ByName) -> Any:
    """``np.sum(x, axis=0)``, ``np.concatenate([x, y])``."""
    try:
        if wants_numbers(caller := getframe(1).f_globals.get("__name__")):
            refuse_halfway(caller, has_gradient(args))
            if function in WRITERS and has_gradient(args[:1]):
                raise InPlaceError(f"{caller} writes into {args[0].name}. Give it plain numbers: x.value")
            return on_numbers(function, args, options)
        if len(types) > 1 and is_anothers(function, types, (*args, *options.values()), False, "__array_function__"):
            return NotImplemented
        if function in VARIANTS:
            is_one, answer = VARIANTS[function]
            if is_one(args, options):
                return answer(*args, **options)
        if function in RULES:
            if len(args) > 1:  # perhaps out by position, which rows do not name
                args, options = name_out(function, args, options)
            return apply(RULES[function], args, options)
        return composed_function(function, args, options)
    except (NoRuleError, DataError, LostGradientError) as error:
        return numbers_unless_lost(error, self, function, args, options)


def composed_function(function: AnyFunction, args: Values, options: ByName) -> Any:
    """The same, of a function without a row: one that is composed of rows, that writes, or whose result is plain."""
    if function in COMPOSED:
        if (answer := numpys_answer(function, args, options)) is not None:
            return answer
        args, options = name_out(function, args, options)
        args, options = LISTS[function].in_call(args, options)
        try:
            return run_composed(function, COMPOSED[function], args, options)
        except TypeError:
            refuse_new_arguments(function, args, options)
            raise
        except (ValueError, IndexError) as error:
            from .naming import add_note

            add_note(error, function, args)
            raise
    if function in WRITERS:
        from . import inplace

        return inplace.WRITERS[function](*args, **options)
    return without_rule(function, function, args, options)


def refuse_new_arguments(function: AnyFunction, args: Values, options: ByName) -> None:
    """NumPy itself has accepted the call. If ours has no place for one of the arguments, this NumPy is newer."""
    try:
        inspect.signature(COMPOSED[function]).bind(*args, **{k: v for k, v in options.items() if k != "out"})
    except TypeError as error:
        name = public_name(function)
        raise NoRuleError(
            f"{name} of a node: {error}, as autoflow knows it; NumPy {np.__version__} knows more. Write it without, or "
            f"leave the graph on purpose with x.value."
        ) from None


def without_rule(function: AnyFunction, call: AnyFunction, args: Values, options: ByName, method: str = "") -> Any:
    """Handle a function that has no row: the plain result where that is right, else an error."""
    if function in ALLOCATORS:
        return constant_from(on_numbers(call, args, options))
    if is_plain(function, args, options):
        z = on_numbers(call, args, options)
        if not (z.dtype == object if hasattr(z, "dtype") else isinstance(z, (float, complex))):  # no operand itself
            return z
    raise NoRuleError(f"{public_name(function, method)} of a node is not differentiated: {advice(function, method)}")


def run_composed(call: AnyFunction, body: AnyFunction, args: Any, options: ByName) -> Any:
    """The result of ``body``, which is ``call`` composed of other functions; in ``out=`` if that is given."""
    if options.get("out") is None:
        return body(*args, **options)
    from .inplace import write_composed

    return write_composed(call, body, args, options)


def numpys_answer(call: AnyFunction, args: Values, options: ByName) -> Any:
    """NumPy's own result of a call that we compose of others, with its errors, dtypes and layouts; as Constants. None
    if a gradient flows, or if a result is a view, into which a node may be written."""
    if any([isinstance(x, NodeRole) and x.requires_grad for x in args]):  # most often
        return None
    nodes = nodes_in([*args, *options.values()])
    if any([x.requires_grad or type(memory_of(x)) is not np.ndarray for x in nodes]) or nodes_in([options.get("out")]):
        return None
    z = call(*map(given_plain, args), **{name: given_plain(x) for name, x in options.items()})
    parts = list(z) if isinstance(z, (tuple, list)) else [z]
    if is_view(parts, nodes):
        return None
    for k, part in enumerate(parts):
        if isinstance(part, (np.ndarray, np.number)) and part.dtype.kind in "fc":
            parts[k] = constant_from(np.asarray(part))
            note_cut(parts[k], (), nodes)
    if not isinstance(z, (tuple, list)):
        return parts[0]
    return type(z)(*parts) if hasattr(z, "_fields") else type(z)(parts)


def is_view(parts: Iterable[Any], nodes: list[Node]) -> bool:
    """Does one of these results show floats of a node, into which another node may be written?"""
    return any([has_floats(z) and np.may_share_memory(z, x) for z in parts for x in nodes])


def nodes_in(x: object) -> list[Any]:
    """The nodes in nested tuples and lists."""
    if isinstance(x, (tuple, list)):
        return [node for part in x for node in nodes_in(part)]
    return [x] if isinstance(x, NodeRole) else []


def numbers_unless_lost(error: Exception, self: Node, call: AnyFunction, args: Values, options: ByName) -> Any:
    """NumPy's own answer to a call that no row knows; or raise the error, if a gradient would be lost."""
    out = options.get("out")
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    lost = modes().recording and has_gradient([self, *args, *options.values()])
    if lost or (nodes_in(args[:1]) and (call in WRITERS or getattr(call, "__name__", "") == "at")):
        raise error
    try:
        numbers, named = given_plain([*args]), {k: given_plain(x) for k, x in options.items()}
    except LostGradientError:  # a node that NumPy made, whose history is gone
        raise error from None
    if isinstance(target, NodeRole):
        later("write_numbers")(target, lambda memory: call(*numbers, **{**named, "out": memory}))
        return target
    if nodes_in([out]):
        return run_composed(call, call, numbers, {**named, "out": out})
    result = call(*numbers, **named)
    if is_view(result if isinstance(result, (tuple, list)) else (result,), nodes_in([*args])):
        raise error
    return result


def given_plain(x: Any) -> Any:
    """The numbers of nodes, for reading."""
    if isinstance(x, NodeRole):
        return read_only(memory_of(x) if hasattr(x, "_value") else orphan_numbers(x))
    return type(x)([given_plain(v) for v in x]) if type(x) in (list, tuple) else x


def on_numbers(call: AnyFunction, args: Values, options: ByName) -> Any:
    """NumPy's own answer, for the numbers alone. The numbers of nodes with a gradient are read-only. In a proof floats
    are computed from the memory of nodes, so that code that goes on computing with them is found like code that reads
    the memory."""
    if modes().shadow:
        result = call(*value_of(args), **{k: value_of(v) for k, v in options.items()})
        parts = result if isinstance(result, (tuple, list)) else (result,)
        if not any([has_floats(x) for x in parts]) and (call not in SHARING or result):
            return result
    return call(*memory_of(args), **{k: memory_of(v) for k, v in options.items()})


def has_floats(x: object) -> bool:
    """Is it a float, or an array of floats?"""
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


HOOKS.add(array_ufunc)
NodeRole.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
NodeRole.__array_function__ = array_function  # type: ignore[attr-defined]
