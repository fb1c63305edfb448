r"""The table of derivatives: one row per function, and everything that is known about it.

    rule(np.multiply, "x y", "×", r"$x \odot $y",  x=lambda g, y: g * y,  y=lambda g, x: g * x)

``x``, ``y`` are the arguments, by the names given in the row; ``z`` is the result; ``g`` is dL/dz, its cotangent.
``x=lambda ...`` is the vjp with respect to x: it gives dL/dx, of the shape of x. A derivative names only what it uses:
``lambda g, y`` says at a glance that the derivative of a product needs the other factor kept in memory, and ``lambda g,
x_shape`` that a sum needs to know how long its argument was, but not its values.

How a row is run. An operation saves one tuple, ``saved = (x, y, ..., options, ..., z)``: its arguments in the
row's order and its result last (only the shape, if no derivative reads the values). The names of each derivative are
read once, when the row is written, and turned into places in that tuple; from then on the derivative is called
by position. In a backward pass over plain arrays ``saved`` holds arrays; when the backward pass is itself recorded, it
holds nodes, and NumPy's functions in the very same derivative record what they do.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..base.numbering import Kind
from ..base.spellings import advise
from ..base.types import F
from .blocks import in_blocks
from .shapes import NOT_GIVEN, AnyFunction, Array, ByName, Values, has_gradient, positional, widen
from .vjps import (
    VJP,
    Lists,
    Needs,
    VJPs,
    conjugate_vjp,
    elementwise_vjp,
    first_node,
    needs_of,
    needs_of_sequence,
    scalar_vjp,
    sequence_joint,
    sequence_values,
    sequence_vjp,
    vjp_by_position,
    words_of_sequence,
)

Residual = dict[str, AnyFunction] | None
RULES: dict[Any, Rule] = {}  # function -> its row
COMPOSED: dict[AnyFunction, AnyFunction] = {}  # function -> the same, written with functions that have rows
LISTS: dict[AnyFunction, Lists] = {}  # function of COMPOSED -> what a list means in each of its arguments
MISSING: Any = inspect.Parameter.empty
NEVER_NONE = ("where", "keepdims", "correction")  # keywords for which None in a row means that they are not given
LONG = 16  # for longer sequences all contributions are computed together, so that n arrays cost n


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Rule(Kind):
    """One row of the table. Build it with :func:`rule`, which fills in the defaults.

    It is a Kind: the operations of one row are counted and named together, ``add_0``, ``add_1``.
    """

    name: str  # NumPy's name: in node names, errors, test ids
    function: Any  # what the user calls, e.g. np.multiply
    compute: Any  # what we call on plain arrays, all arguments by position: the same, or a quicker way to it
    operator: AnyFunction | None = None  # what the Python operator computes, if in other bits than the function (x**2)
    label: str = ""  # inside the node of a picture
    names: tuple[str, ...]  # of all arguments, operands first
    order: tuple[str, ...]  # those that may be given by position, in the order of the call: see extending/custom.py
    operands: int  # how many leading arguments may be nodes, to which gradients flow
    defaults: Values  # one per argument, MISSING without a default
    derivatives: dict[str, AnyFunction]  # operand -> as written in the row
    needs: tuple[Needs | None, ...] = ()  # per operand, what its derivative reads; None where there is no derivative
    vjps: VJPs = ()  # per operand, (g, saved) -> the cotangent sent to it
    scalar_vjps: VJPs = ()  # the same for numbers
    pushes: VJPs | None = None  # a user's: per operand, (tangent, saved) -> its part of the result's
    joint: Callable[[Array, Values], Sequence[Any]] | None = None  # (g, saved) -> all cotangents at once
    residual: Residual  # per operand with a derivative: the residual kept in place of the values it reads, see rule()
    single: bool = False  # one operand, with a derivative and without a residual: the short way of recording
    elementwise: bool  # broadcasting is undone for it
    is_numpys_elementwise: bool = False  # and NumPy computes it: large arrays go in blocks, in derivatives too
    variadic: bool  # a function of a sequence of arrays
    view: bool = False  # the result may share memory with the operand
    holomorphic: bool = True  # the derivative is g times something complex-differentiable: see complex_vjps
    required: int  # how many arguments have no default
    latex: str = ""
    precedence: int = 9
    _places: dict[str, int] | None = None
    _must_save: dict[tuple[bool, ...], frozenset[int]] = field(default_factory=dict)
    _of_arity: dict[int, Rule] = field(default_factory=dict)
    _with_residual: Rule | None = None
    plain: Rule | None = None  # for a row made by with_residual(): the row without it
    _complex: VJPs | None = None
    domain: tuple[float, float] = (-2.0, 2.0)  # where the tests try it
    examples: tuple[Example, ...] = ()  # for a row that a user has registered, for their tests

    def __post_init__(self) -> None:
        Kind.__init__(self, self.name)

    def __repr__(self) -> str:
        return f"<rule of {self.name}({', '.join(self.names)})>"

    def bind(self, args: Values, options: ByName) -> Values:
        """The call as one tuple in the row's order. Nothing is ignored: an argument without a place is refused.

        >>> RULES[np.sum].bind((7.0,), {"keepdims": True})
        (7.0, None, None, True, None, None)
        """
        n = len(args)
        if not options and self.required <= n <= len(self.names):
            return args if n == len(self.names) else (*args, *self.defaults[n:])
        values = [*args, *self.defaults[n:]]
        wrong = [] if n <= len(self.names) else [f"{n} positional arguments"]
        for name, value in () if wrong else options.items():
            if value is NOT_GIVEN:  # what NumPy's own functions pass for "not given"
                continue
            place = self._place(name)
            if place is None or place < n:
                wrong.append(f"{name}=" if place is None else f"{name}= given twice")
            elif value is self.defaults[place] is None and name in NEVER_NONE:  # NumPy takes where=None for False
                wrong.append(f"{name}=None")
            else:
                values[place] = value
        if not wrong:
            wrong = [name for name, value in zip(self.names, values, strict=True) if value is MISSING]
        if wrong:
            hints = [f"{advice[0].upper()}{advice[1:]}. " for w in wrong if (advice := advise(w[:-1]))]
            raise NoRuleError(
                f"{self.name} of a node is differentiated as {self.signature()}; not with {', '.join(wrong)}. "
                f"{''.join(hints)}Write it without, or leave the graph on purpose with x.value."
            )
        return tuple(values)

    def _place(self, name: str) -> int | None:
        """Where the argument of that name stands: by the row's names or by NumPy's own (``a`` for ``x``)."""
        if self._places is None:
            self._places = {name: k for k, name in enumerate(self.names) if not name.startswith("_")}
            for k, (theirs, _) in enumerate(zip(positional(self.function), self.names, strict=False)):
                self._places.setdefault(theirs, k)
        return self._places.get(name)

    def signature(self) -> str:
        """``sum(x, axis=None, keepdims=False)``: what the row differentiates."""
        pairs = [(n, d) for n, d in zip(self.names, self.defaults, strict=True) if not n.startswith("_")]
        words = [n if d is MISSING else f"{n}={d!r}" for n, d in pairs]
        return f"{self.name}({', '.join(words)})"

    def of_arity(self, n: int) -> Rule:
        """The row of a function of a sequence (concatenate) for ``n`` arrays; made once per ``n``."""
        if n not in self._of_arity:
            names = tuple([f"{self.names[0]}{k}" for k in range(n)]) + self.names[1:]
            (derivative,) = self.derivatives.values()
            row = self._variant()
            row.names, row.operands, row.defaults = names, n, (MISSING,) * n + self.defaults[1:]
            row.required, row.variadic = n, False
            compute = self.compute
            row.compute = lambda *values: compute(values[:n], *values[n:])
            words = words_of_sequence(derivative, n, self.names)
            row.needs = tuple([needs_of_sequence(words, n, k) for k in range(n)])
            values = sequence_values(words, n)
            row.vjps = row.scalar_vjps = tuple([sequence_vjp(derivative, values, k) for k in range(n)])
            row.joint = sequence_joint(derivative, values, self.holomorphic) if n > LONG else None
            self._of_arity[n] = row
        return self._of_arity[n]

    def with_residual(self) -> Rule:
        """The row of results that keep the residual: the derivative with respect to x reads it, as ``_x``, and nothing
        else.

        >>> RULES[np.maximum].with_residual().names
        ('x', 'y', '_x', '_y')
        """
        if self._with_residual is None:
            row, n, compute = self._variant(), len(self.names), self.compute
            row.names = (*self.names, *["_" + name for name in self.derivatives])
            row.defaults = (*self.defaults, *[None] * len(self.derivatives))
            row.compute = lambda *values: compute(*values[:n])
            row.derivatives = {name: d.of_residual for name, d in self.derivatives.items()}  # type: ignore[attr-defined]
            row.needs = tuple([((n + k, ""),) for k in range(self.operands)])
            _make_vjps(row)
            self._with_residual, row.plain = row, self
        return self._with_residual

    def append_residual(self, values: Sequence[Any], result: Array, flows: Sequence[object]) -> list[Any]:
        """The arguments as that row saves them: followed by the residuals, None where nothing flows."""
        assert self.residual is not None  # noqa: S101
        saved, pairs = (*values, result), zip(self.residual.values(), flows, strict=True)
        call = in_blocks if self.is_numpys_elementwise else operator.call
        more = [None if flowing is None else call(find, *saved[: find.__code__.co_argcount]) for find, flowing in pairs]
        return [*values, *more]

    def _variant(self) -> Rule:
        """A copy of the row, to be changed; names are counted together."""
        row = Rule.__new__(Rule)
        for slot in ("name", *Rule.__slots__):
            setattr(row, slot, getattr(self, slot))
        row.count_with(self)
        row._must_save, row._complex, row._places = {}, None, None
        return row

    def must_save(self, flows: tuple[bool, ...]) -> frozenset[int]:
        """The places in ``saved`` whose values must stay in memory if gradients flow to these operands."""
        if flows not in self._must_save:
            last = len(self.names)
            read = [r for r, flowing in zip(self.needs, flows, strict=True) if flowing and r]
            self._must_save[flows] = frozenset([last if i < 0 else i for r in read for i, what in r if not what])
        return self._must_save[flows]

    def complex_vjps(self) -> VJPs:
        r"""The vjps for a complex ``g``.

        The gradient of a real L is dL/da + i dL/db, the direction of steepest ascent. With z = f(x) analytic it is
        g · conj(f'(x)): conjugate g on the way in, let the row multiply by f'(x), conjugate on the way out.
        """
        if self._complex is None:
            self._complex = tuple([vjp and conjugate_vjp(vjp) for vjp in self.vjps]) if self.holomorphic else self.vjps
        return self._complex


def rule(
    function: AnyFunction, arguments: str, label: str = "", latex: str = "", *,
    compute: AnyFunction | None = None, operator: AnyFunction | None = None, name: str = "", view: bool = False,
    elementwise: bool | None = None, holomorphic: bool = True, precedence: int = 9, by_name: bool = False,
    domain: tuple[float, float] = (-2.0, 2.0), also: Sequence[AnyFunction] = (), residual: Residual = None,
    precise: bool = False, **derivatives: AnyFunction,
) -> Rule:  # fmt: skip
    r"""Add a row to the table and return it.

    arguments : names in NumPy's order; those after the bar are options, which are never nodes:
        ``"x | axis=None keepdims=False"``; ``"*xs | axis=0"`` for a function of a sequence, whose derivative is
        called with (g, k, and what it names: xs_shape is the tuple of all shapes; of xs_others it may read all
        but the k-th). An option whose name begins with _ is for the derivatives alone.
    label, latex : inside the node of a picture, by default the name; and the formula, with ``$x`` for an argument, by
        default the label in front of the operands.
    precedence : how strongly the formula binds: 1 sum, 2 product, 3 sign, 4 power, 9 closed. A formula without
        brackets around its last operand, such as ``\sin $x``, binds as a sign by itself.
    compute : what to call instead of ``function`` on plain arrays, with all arguments by position.
    view : the result may share memory with x.
    holomorphic : False for functions that are not complex-differentiable (abs, real): its row then handles complex g
    itself.
    domain : where the generated tests try the row. Their calls are in tests/support/row_examples.py.
    also : other functions with the same row (np.amax).
    residual : per operand, what its derivative is computed from, in few bytes: a function of the arguments and, if it
        reads that, the result. The derivative is then called with (g, residual). The residual is kept, and operands may
        be freed or overwritten; only for small elementwise results the operands are kept, which is quicker.
    by_name : ``function`` gets options with a default by name, and only if they are not the default: other versions of
        NumPy and other libraries do not know all of them, and to some None means something else than nothing.
    precise : derivatives of single and half precision are computed in double precision, as SciPy computes its values.
    **derivatives : one per differentiable argument, by its name.
    """
    if residual:
        derivatives = {name: compute_residual(derivative, residual[name]) for name, derivative in derivatives.items()}
    before, _, behind = arguments.partition("|")
    words = [word.partition("=") for word in (before + behind).split()]
    names = tuple([word.lstrip("*") for word, _, _ in words])
    defaults = tuple([ast.literal_eval(text) if equals else MISSING for _, equals, text in words])
    defaults = tuple([sys.intern(d) if type(d) is str else d for d in defaults])  # as Python does: see call_by_name
    row = new_row(
        Rule, function, names, defaults, len(before.split()), derivatives, name=name,
        compute=call_by_name(compute or function, names, defaults) if by_name else compute,
        elementwise=elementwise, variadic=before.startswith("*"), residual=residual, precise=precise,
    )  # fmt: skip
    row.label, row.precedence = label or row.name, precedence
    row.latex = latex or as_operator(row.label, names[: row.operands])
    row.is_numpys_elementwise = row.elementwise and not view and getattr(np, row.name, None) is function
    row.operator, row.view, row.holomorphic, row.domain = operator, view, holomorphic, domain
    for key in (function, *also):
        if key in RULES:
            raise ValueError(f"row of {row.name}: written twice")
        RULES[key] = row
    return row


def as_operator(label: str, operands: Sequence[str]) -> str:
    r"""The formula of an operator in front of its operands, in brackets if there are several.

    >>> print(as_operator("sort", ["x"]), as_operator("hypot", ["x", "y"]))
    \operatorname{sort} $x \operatorname{hypot}\left($x, $y\right)
    """
    places = ", ".join([f"${name}" for name in operands])
    return rf"\operatorname{{{label}}}" + (rf"\left({places}\right)" if len(operands) > 1 else f" {places}")


def call_by_name(function: AnyFunction, names: tuple[str, ...], defaults: Values) -> AnyFunction:
    """``function``, called with all arguments by position, as a function that gets what is not the default by name.

    >>> call_by_name(dict, ("x", "axis", "kind"), (MISSING, -1, None))([], -1, "stable")
    {'kind': 'stable'}
    """
    n = defaults.count(MISSING)
    options = range(n, len(names))

    def compute(*values: Any) -> Array:
        return function(*values[:n], **{names[k]: values[k] for k in options if values[k] is not defaults[k]})

    return compute


def compute_residual(of_residual: AnyFunction, residual: AnyFunction) -> AnyFunction:
    """The derivative ``of_residual`` as a function of g and the arguments: ``of_residual(g, residual(x, y))``."""

    def derivative(g: Array, *arguments: object) -> Array:
        return of_residual(g, residual(*arguments))

    g, _ = inspect.signature(of_residual).parameters.values()
    derivative.__signature__ = inspect.Signature([g, *inspect.signature(residual).parameters.values()])  # type: ignore[attr-defined]
    derivative.of_residual = of_residual  # type: ignore[attr-defined]
    return derivative


def of_wide_operands(derivative: AnyFunction, whole: str, precise: bool) -> AnyFunction:
    """``derivative``, which gets operands as the function itself computes with them: floats in the precision of the
    result (``precise``: in double precision), those of the ``whole`` kinds as integers of 64 bits. In uint8, 0 - 1 is
    255, and NumPy computes the logarithm of an int8 or a boolean in half precision."""
    if len(inspect.signature(derivative).parameters) == 1:
        return derivative

    @functools.wraps(derivative)
    def run(g: Array, *read: Array) -> Array:
        least = np.promote_types(g.dtype, np.float64) if precise else g.dtype
        return derivative(g, *[widen(x, least, whole) for x in read])

    return run


def new_row(
    kind: type[Rule], function: Any, names: tuple[str, ...], defaults: Values, operands: int,
    derivatives: dict[str, AnyFunction], *, name: str = "", compute: AnyFunction | None = None, variadic: bool = False,
    elementwise: bool | None = None, result: tuple[str, ...] = ("z",), residual: Residual = None, precise: bool = False,
) -> Rule:  # fmt: skip
    """A row outside the table. The first ``operands`` of ``names`` may be nodes; ``result``: the names that derivatives
    use for the result."""
    name = name or function.__name__
    if set(derivatives) - set(names[:operands]):
        raise ValueError(f"row of {name}: a derivative of no operand")
    if elementwise is None:
        elementwise = isinstance(function, np.ufunc) and function.signature is None
    if elementwise and (len(names) > 1 or precise) and getattr(np, name, None) is not function:  # NumPy's rows do so
        whole = "iub" if kind is Rule else "iu"  # to a user's function a boolean may be a condition
        derivatives = {name: of_wide_operands(derivative, whole, precise) for name, derivative in derivatives.items()}
    row = kind(
        name=name, function=function, compute=compute or getattr(function, "compute", function), names=names,
        order=names, operands=operands, defaults=defaults, derivatives=derivatives, residual=residual,
        elementwise=elementwise, variadic=variadic, required=defaults.count(MISSING),
    )  # fmt: skip
    if not variadic:
        _compile(row, result)
    return row


def _compile(row: Rule, result: tuple[str, ...] = ("z",)) -> None:
    """Turn the names in each derivative into places in ``saved``. The first one is g, whatever its name."""
    place = {name: k for k, name in enumerate(row.names)} | dict.fromkeys(result, -1)
    derivatives = map(row.derivatives.get, row.names[: row.operands])
    row.needs = tuple([derivative and needs_of(derivative, place) for derivative in derivatives])
    row.single = row.operands == 1 and row.needs[0] is not None and row.residual is None
    _make_vjps(row)


def _make_vjps(row: Rule) -> None:
    """Make its vjps from its derivatives and what they read."""
    broadcasts = row.elementwise and len(row.names) > 1  # one array alone has the shape of its result
    vjps: list[VJP | None] = [None] * row.operands
    scalar_vjps = vjps.copy()
    for k, needs in enumerate(row.needs):
        if needs is not None:
            f = row.derivatives[row.names[k]]
            vjps[k] = elementwise_vjp(f, needs, k) if broadcasts else vjp_by_position(f, needs)
            scalar_vjps[k] = scalar_vjp(f, needs) if row.elementwise else vjps[k]
    row.vjps, row.scalar_vjps = tuple(vjps), tuple(scalar_vjps)


def composed(*functions: Any, sequences: str = "", untouched: str = "") -> Callable[[AnyFunction], AnyFunction]:
    """``@composed(np.vsplit)``: for nodes the decorated function replaces NumPy's.

    It has NumPy's signature, and is written with functions that have rows, so it needs no derivative of its own.
    Its values must be NumPy's to the bit.

    A list with nodes in it becomes an array of nodes before the function is called (:class:`Lists`), except in the
    arguments named here, separated by blanks. ``sequences``: the list stays, and lists inside it become arrays.
    ``untouched``: lists are left as they are.
    """

    def register(function: AnyFunction) -> AnyFunction:
        lists = Lists(function, sequences.split(), untouched.split())
        for key in functions:
            COMPOSED[key], LISTS[key] = function, lists
        return function

    return register


def primitive(compute: F) -> F:
    """Our own function, which nodes override like NumPy's: the protocol of NEP 18, by hand."""

    @functools.wraps(compute)
    def function(*args: Any, **options: Any) -> Any:
        for x in (*args, *options.values()) if options else args:
            if type(x) in (list, tuple) and {*map(type, x)} - {int} and has_gradient(x):  # not a shape
                x = first_node(x)
            if hasattr(type(x), "takes_primitives"):  # a node, of whatever array type, or an array that hides a batch
                types = (type(x),) if hasattr(type(x), "family") else tuple(map(type, args))  # might a node answer?
                z = x.__array_function__(function, types, args, options)
                if z is not NotImplemented:  # else NumPy calls a node among the others
                    return z
        return compute(*args, **options)

    marked: Any = function
    marked.compute = compute
    return marked


def kernel(compute: F) -> F:
    """A :func:`primitive` that ends in C, not in NumPy's functions: in a program it is one call."""
    marked: Any = primitive(compute)
    marked.compute = marked  # so that it also asks arrays that record a program
    return marked


@dataclass(frozen=True, slots=True)
class Example:
    """Shapes of the operands, and the options, of a call that tests a row. ``prepare`` turns the first operand into
    what the function needs (a positive definite matrix), by functions that have rows: its derivative takes part."""

    shapes: tuple[tuple[int, ...], ...]
    options: ByName
    prepare: Callable[[Array], Array] | None = field(default=None, repr=False, compare=False)


def of(*shapes: tuple[int, ...], prepare: Callable[[Array], Array] | None = None, **options: Any) -> Example:
    """``of((2, 3), axis=1)``: test the row on an operand of shape (2, 3) with ``axis=1``."""
    return Example(shapes, options, prepare)
