"""The fast path: ufuncs and operators of Operations, Variables, plain numbers and small plain arrays.

What :func:`autoflow.forward.recording.apply` does for every function in about 2 µs, these closures do for the common
calls in about 0.4: take the plain arrays from the slots, compute, make a view, store nine slots. Everything else
(Constants, views, large results, ``no_grad``) goes to ``apply`` and ``make_node``.

What each thing saves, measured one at a time: exact types instead of isinstance 40 ns; slots instead of a dict 170 ns;
writing the stores out (``templates.py`` does) instead of calling a function for them 45 ns. A 0-d float64 result keeps
the np.float64 beside its array (``_operand``), and arithmetic reads that: ``x * 2.0`` takes 0.3 µs less than on 0-d
arrays, with the same bits. Small results keep all their operands, needed or not, so nothing has to be decided: memory
matters only for large ones, and for those ``make_node`` decides.

Before the closures comes a question: who computes if there is another class beside a node? A Quantity, a labelled
array, a lazy one have NumPy's hooks as nodes have. NumPy calls one of them first; if it returns NotImplemented, the
other is called. We return it only where no gradient is lost. That is so if the class keeps the array that it is given
(``nodes/coercion.py`` knows which do), and if there is no history. A class that would take the numbers of a node is
refused, because the other way round, a node that takes the numbers of a Quantity, loses the unit without a word.
Libraries for which a node is its numbers (pandas) are data for us as they always were.

Where NumPy itself asks nobody (``node[...] = quantity``, ``node.dot(quantity)``, ``np.concatenate([node, labelled])``
if ``labelled`` has no ``__array_function__``) an object is the array that it keeps, a node included, or its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES, AnyFunction, Array, Values, registered_type
from ..base.errors import MixedArraysError
from ..base.modes import modes
from ..nodes.coercion import kept_in, plain_array, refuse_halfway
from ..nodes.nodes import NodeRole, Operation, Variable, set_flags  # noqa: F401 - in the texts
from ..nodes.records import Extras, Record  # noqa: F401 - in the texts
from ..nodes.versions import COPY_BYTES, NEW, protect  # noqa: F401 - in the texts
from ..program.callers import getframe, wants_numbers
from ..program.places import Activation, enter  # noqa: F401 - in the texts
from ..rules import RULES
from ..table.blocks import FROM, UFUNCS  # noqa: F401 - in the texts
from ..table.outside import public_name
from ..table.shapes import DOUBLE, has_gradient  # noqa: F401 - in the texts, Array, AnyFunction, AnyFunction, Array
from ..table.table import COMPOSED, Rule
from . import recording
from .recording import FORWARD, REALS  # noqa: F401 - in the texts
from .templates import written_out

# ---------------------------------------------------------------- another class beside a node: who computes?

NUMPYS_HOOK = np.ndarray.__array_ufunc__
Binary = Callable[[Array, Array], Array]
HOOKS: set[AnyFunction] = {NUMPYS_HOOK}  # operands with one of these are not looked at; dispatch.py adds that of nodes


def is_anothers(function: Any, kinds: Any, operands: Values, writes: bool, hook: str = "__array_ufunc__") -> bool:
    """Should a class of these ``kinds`` compute ``function(*operands)``? Then we return NotImplemented.

    Not for a function whose answer has no history (a comparison): of numbers NumPy asks the class by itself.

    Raises MixedArraysError if a history would be lost, or if the call ``writes`` into one of its arguments
    (``x *= quantity``): another class's result is not written into x.
    """
    others = [kind for kind in kinds if kind is not np.ndarray and not issubclass(kind, NodeRole)]
    classes = [kind for kind in others if has_own_hook(kind, hook)]
    if not classes or not (function in RULES or function in COMPOSED):
        return False
    loses = modes().recording and has_gradient(operands)
    for kind in classes:
        if getattr(kind, hook) is not None and (writes or (loses and kept_in(kind) is None)):
            raise not_kept(kind, public_name(function), writes)
    return True


def has_own_hook(kind: type, hook: str) -> bool:
    """Does the class compute in its own way, and not in NumPy's, ours, that of a registered array type or that of a
    library which wants numbers? ``__array_ufunc__ = None`` counts as its own way: Python calls the class."""
    family = registered_type(kind)
    if not hasattr(kind, hook) or (family is not None and getattr(kind, hook) is getattr(family, hook)):
        return False
    owner = next(cls for cls in kind.__mro__ if hook in vars(cls)).__module__
    ours = owner.startswith("autoflow.") and getattr(kind, hook) is not None and kept_in(kind) is None
    return not (ours or wants_numbers(owner))


def not_kept(kind: type, call: str, writes: bool) -> MixedArraysError:
    """The error where a class would take the numbers of a node, or a node those of a class that adds something."""
    name, full = kind.__qualname__, f"{kind.__module__}.{kind.__qualname__}"
    if writes:
        return MixedArraysError(
            f"{call} of a node and {full} in place: only numbers can be written, and what {name} adds to them would be "
            f"lost. Make a new object, x = x * y; or compute with its numbers, np.asarray(y)."
        )
    return MixedArraysError(
        f"{call} of a node and {full}, a class with arithmetic of its own that is not known to keep a node: the "
        f"history would be lost, or what {name} adds to numbers. Compute with its numbers, np.asarray(y). If its "
        f"arithmetic keeps the array that it is given, let the class say so: {name}.__carries_nodes__ = 'attribute "
        f"that holds it'."
    )


# ---------------------------------------------------------------- the closures


asarray, float64, ndarray, view = np.asarray, np.float64, np.ndarray, np.ndarray.view


unary: Callable[..., Callable[[Array], Array]] = written_out("""
def unary(rule, depth=2):
    '''The quick closure of a ufunc of one argument. The frame at ``depth`` is the one that asks for it: 1 is the caller
    of the closure, 2 the caller of NumPy's hook that calls it.'''
    ufunc = rule.function

    def forward(x):
        switches = modes()
        if switches.autocast is not None:
            return recording.apply(rule, (x,))
        try:
            if type(x) is Operation:
                parent = x._record
            elif type(x) is Variable and x._live:
                parent = x
            else:
                return recording.apply(rule, (x,))
            a = x._value
        except AttributeError:  # an array that NumPy made of our class, with empty slots: apply says so
            return recording.apply(rule, (x,))
        if x.size > switches.fast_path_limit:
            value = asarray(recording.call_explained(ufunc, (a,), rule, (x,), True))
            return recording.make_node(rule, value, (x,), ([a], (parent,), {}, ()))
        if parent is not x:
            a = x._operand
        value = z = ufunc(a)
        <value>
        <node (parent,) | (a, z) | None>

    return forward
""", globals())  # fmt: skip


binary: Callable[..., Binary] = written_out("""
def binary(rule, compute, numbers=True, depth=2):
    '''The quick closure of a function of two arguments. ``compute`` does it; on np.float64 if ``numbers``. ``depth``:
    see :func:`unary`.'''

    def forward(x, y):
        switches = modes()
        if switches.autocast is not None:
            return general(rule, x, y, compute)
        p = q = plain = extra = None
        try:
            <operand x | a | p | 0>
            <operand y | b | q | 1>
        except AttributeError:  # empty slots, or a large operand
            return general(rule, x, y, compute)
        try:
            value = z = compute(a, b)
        except (TypeError, AttributeError):
            if plain is not None:
                plain_array(b if plain else a)  # dates, text: says what to do instead
            raise
        except ValueError as error:
            recording.explain_error(error, rule, (x, y))
            raise
        <value>
        if value.size > switches.fast_path_limit:
            if plain is not None:
                plain_array(b if plain else a)  # of objects: says why it cannot be
            operands = [a, b], (p, q), {}, () if plain is None else (plain,)
            return recording.make_node(rule, value, (x, y), operands)
        if plain is not None:
            a, b, extra = protect_operands(rule, a, b, plain)
        <node (p, q) | (a, b, z) | extra>

    return forward
""", globals())  # fmt: skip


def protect_operands(rule: Rule, a: Any, b: Any, plain: int) -> tuple[Any, Any, Any]:
    """The operands as a record keeps them when one is a plain array, which the user may write into: a copy if it is
    small, else, if a derivative needs it, a view and a fingerprint."""
    array = b if plain else a
    if array.dtype.kind not in "fciub":
        plain_array(array)  # says why it cannot be
    extra = None
    if array.nbytes <= COPY_BYTES:
        array = array.copy()
    elif plain in rule.must_save((plain == 1, plain == 0)):  # only to the other one gradients flow
        array, mark = protect(array)
        extra = Extras(fingerprints=[(array, mark)])
    return (a, array, extra) if plain else (array, b, extra)


def general(rule: Rule, x: Array, y: Array, compute: AnyFunction) -> Array:
    """The same for every other kind of operand. If a class has arithmetic of its own, Python or NumPy calls it, no
    matter who called us."""
    t, u = type(x), type(y)
    known = getattr(t, "__array_ufunc__", NUMPYS_HOOK) in HOOKS and getattr(u, "__array_ufunc__", NUMPYS_HOOK) in HOOKS
    if not known and is_anothers(rule.function, (t, u), (x, y), False):
        return NotImplemented
    if modes().autocast is not None:
        return recording.apply(rule, (x, y))
    operands = recording.split_inputs((x, y))
    if len(NODE_TYPES) > 1:
        if (batch := recording.hidden_batch(operands.values)) is not None:
            return recording.apply_batched(batch, rule, (x, y), operands, compute)
        recording.one_family(rule, operands.values)
    z = recording.call_explained(compute, operands.values, rule, (x, y), True)
    return recording.make_node(rule, z if type(z) in NODE_TYPES else asarray(z), (x, y), operands)


def reflected(forward: Binary) -> Binary:
    """``2.0 * x``: what NumPy and Python leave to the operand on the right. (``plain * x`` in a library that would lose
    the gradient is refused.)"""

    def operate(y: Array, x: Array) -> Array:
        if type(x) is ndarray and wants_numbers(module := getframe(1).f_globals.get("__name__")):
            refuse_halfway(module, y.requires_grad)
        return forward(x, y)

    return operate


# The same bits as the ufunc's on arrays, and five times as fast on np.float64. (Not on complex numbers, whose
# division has other bits: they take the general way.)
QUICK: dict[np.ufunc, Binary] = {ufunc: operator for operator, ufunc in UFUNCS.items()}


def quicken() -> None:
    """Closures for the ufuncs of the table, except those whose row lacks a derivative with respect to one of the
    operands: they go
    to ``apply``, also if a user has given such a row to them since."""
    for function, rule in RULES.items():
        if isinstance(function, np.ufunc) and function.nout == 1 and function.nin <= 2:
            if None in rule.needs:
                FORWARD.pop(function, None)
            elif function not in FORWARD:
                quick = QUICK.get(function, function)
                FORWARD[function] = unary(rule) if function.nin == 1 else binary(rule, quick)


quicken()
