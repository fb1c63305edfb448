"""Functions of your own: an Operation whose value and derivative you compute.

:class:`Function` is for a computation that keeps things from forward for backward, or that has several results. For a
derivative that is a formula see ``custom.py``. As everywhere else, the operation has a row, and its node a record.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends.registry import NODE_TYPES, AnyFunction, Array, ByName, Values
from ..base import pytree
from ..base.errors import GradientShapeError, lost
from ..base.modes import modes
from ..forward.recording import make_node, plain_option
from ..nodes.coercion import leaf_array, plain_array
from ..nodes.nodes import Node, NodeRole, current_record, gradient_target, new_record, read_only, value_of
from ..nodes.records import Record
from ..nodes.versions import is_alone
from ..rules import RULES
from ..table.table import Rule
from . import joint


class Context:
    """What a Function keeps between forward and backward: ``ctx``. Set any attribute; save the arrays you need.

    ``needs_input_grad``: per argument of forward, whether its gradient is needed.
    """

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self._saved: list[Any] = []
        self._plain: list[object] = []  # results without a gradient
        self._constants: list[object] = []

    def save_for_backward(self, *arrays: object) -> None:
        """Keep these for backward: arguments, results, intermediate arrays. None stays None.

        Arguments and results are kept by the graph, which notices if they are overwritten; in a backward pass that
        is differentiated again they come back as nodes. The same holds in attributes of ``ctx``. How an intermediate
        array depends on the arguments is not known, so that is a LostGradientError there: save the arguments instead,
        and compute it again in backward.
        """
        self._saved.extend(arrays)

    save_variable = save_for_backward

    @property
    def saved_tensors(self) -> Values:
        """The saved arrays, in order."""
        return tuple(self._saved)

    saved_variables = saved_tensors  # another name for it

    def mark_non_differentiable(self, *results: object) -> None:
        """These results of forward have no gradient: they become Constants."""
        self._plain.extend(results)

    def mark_constant(self, *arrays: object) -> None:
        """These arrays, kept in attributes of ``ctx``, do not depend on the arguments of forward: a grid, a random
        mask. So a backward that reads them can be differentiated again."""
        self._constants.extend(arrays)


class Function:
    """An operation whose forward and backward you write. Call it as ``Square.apply(x)``.

    ``forward(ctx, *args, **options)`` gets plain arrays (a node's are read-only) and returns an array or a tuple of
    arrays. ``backward(ctx, *grads)`` gets dL/d(result) for each result, None for those that were not used, and
    returns one gradient per argument of forward, None where none is needed (Nones at the end may be left out). The
    gradients that it gets are copies, into which it may write; what ctx has saved is read-only. Written with NumPy
    functions, it can be differentiated again.

    Raises GradientShapeError if backward returns the wrong number of gradients, or one of a wrong shape.

    >>> import autoflow as af
    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 2 * x
    >>> x = af.Variable(3.0)
    >>> Square.apply(x).backward()
    >>> x.grad
    array(6.)
    """

    __module__ = "autoflow"

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError(f"do not make a {type(self).__name__}, but apply it: {type(self).__name__}.apply(...)")

    @staticmethod
    def forward(ctx: Any, *args: Any, **options: Any) -> Any:
        """The value, from plain arrays. Write it in your subclass."""
        raise NotImplementedError("a Function needs a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *grads: Any, **options: Any) -> Any:
        """The gradients of the arguments, from those of the results. Write it in your subclass."""
        raise NotImplementedError("a Function needs a static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args: Any, **options: Any) -> Node:
        """Compute forward, and record how to go back."""
        if (layer := modes().layer) is not None and (batch := layer.runs_alone([args, options])) is not None:
            return batch.run_each(cls.apply, args, options, f"{cls.__name__}.apply")
        plain_args, plain_options = [_plain(x) for x in args], {k: _plain(x) for k, x in options.items()}
        names, inputs = arguments(cls, args, options)
        _, plain = arguments(cls, plain_args, plain_options)
        ctx = Context()
        ctx.needs_input_grad = tuple([gradient_target(x) is not None for x in inputs])
        answer = joint.call_on_numbers(cls.forward, (ctx, *plain_args), plain_options)
        several = isinstance(answer, (tuple, list))
        answers = list(answer) if several else [answer]
        if any(z is None for z in answers):
            raise TypeError(f"{cls.__name__}.forward returned None: it returns an array, or a tuple of arrays")
        results = [joint.own_result(z, plain, 3 + sum([x is z for x in ctx._saved])) for z in answers]
        call = Application(cls, ctx, names, inputs, plain, answers, several)
        return joint.record_results(
            call.row(), joint.split_inputs([inputs[k] for k in call.places]),
            [call, *[results[j] for j in call.outs * several]], results, several,
            lambda j: not any(answers[j] is z for z in ctx._plain),
        )  # fmt: skip


class RecordPlace:
    """What ``ctx`` holds in place of an argument or result of forward: the record keeps it, and notices writes."""

    __slots__ = ("is_result", "k")

    def __init__(self, is_result: bool, k: int) -> None:
        self.is_result, self.k = is_result, k


class Application:
    """One application of a Function: everything that its record knows besides the arrays."""

    def __init__(
        self, cls: Any, ctx: Context, names: list[str], inputs: Any, plain: Any, answers: list[Any], several: bool
    ) -> None:
        """``plain``: the arguments as forward got them; ``answers``: what it returned."""
        self.cls, self.ctx, self.names, self.nresults, self.several = cls, ctx, names, len(answers), several
        self.places = [k for k, x in enumerate(inputs) if isinstance(x, NodeRole) or type(x) in NODE_TYPES]
        results = [(z, RecordPlace(True, j)) for j, z in enumerate(answers)]
        for i, k in enumerate(self.places):  # an argument that forward returns moves with arguments and results
            results.insert(0 if ctx.needs_input_grad[k] else len(results), (plain[k], RecordPlace(False, i)))
        self.changed: list[str] = []  # attributes in which there are places
        record_places: list[RecordPlace] = []

        def keep(x: Any, holders: int) -> Any:
            """The place of an argument or a result; a copy of an array in their memory, or of a buffer that others than
            these ``holders`` have, and may fill again."""
            if place := next((place for y, place in results if y is x), None):
                record_places.append(place)
                return place
            if type(x) not in NODE_TYPES or any([x is c for c in ctx._constants]):
                return x
            shares = any([type(y) is type(x) and np.may_share_memory(x, y) for y, _ in results])
            return x.copy() if shares or not is_alone(x, holders) else x

        ctx._saved = [keep(x, 3) for x in ctx._saved]
        for name in [name for name in vars(ctx) if name[0] != "_"]:
            leaves = pytree.tree_leaves(getattr(ctx, name))
            copies = [keep(x, 4) if type(x) in NODE_TYPES else x for x in leaves]
            if any([x is not y for x, y in zip(leaves, copies, strict=True)]):
                setattr(ctx, name, pytree.tree_unflatten(getattr(ctx, name), copies))
                self.changed.append(name)
        self.operands = sorted({place.k for place in record_places if not place.is_result})
        self.outs = sorted({place.k for place in record_places if place.is_result})
        needs = ctx.needs_input_grad
        self.constants = [*ctx._constants, *[x for x, needed in zip(plain, needs, strict=True) if not needed]]

    def row(self) -> Rule:
        """The row for this class and the saved arrays; all rows of a class are counted together."""
        n, k = len(self.places), len(self.outs)
        needs = [*self.operands, *(range(n + 1, n + 1 + k) if self.several else [-1] * k)]
        more = [f"_result{j}" for j in self.outs * self.several]
        return joint.step_row(self.cls, self.cls.__name__, [self.names[k] for k in self.places], needs, more)

    def compared_in_runs(self) -> ByName:
        """What a checkpoint compares, besides arrays among arguments and results: the contents of ctx for backward."""
        return vars(self.ctx)

    def __call__(self, g: Array, saved: Values) -> list[Any]:
        """Run backward: the row's joint function."""
        record = saved[-1]
        grads = [g.grads.get(j) for j in range(self.nresults)] if isinstance(g, joint.Parts) else [g]
        sent = self.send(grads, saved, record)
        arrived = [g for g in grads if g is not None]
        for x in sent:
            joint.check_history(0.0 if x is None else x, arrived, self.cls.__name__)
        joint.check_numbers_read(
            lambda copy: self.send(list(map(copy, grads)), list(map(copy, saved)), record), sent, (*arrived, *saved),
            self.cls.__name__,
        )  # fmt: skip
        return sent

    def send(self, grads: Sequence[Any], saved: Sequence[Any], record: Record) -> list[Any]:
        """The gradients that the user's backward returns for these gradients of the results."""
        ctx = copy.copy(self.ctx)  # passes may run at the same time
        for name in [k for k in vars(ctx) if k[0] != "_"] if modes().recording else self.changed:
            find = functools.partial(self.find, f"ctx.{name}", saved)
            setattr(ctx, name, pytree.tree_map(find, getattr(ctx, name)))
        ctx._saved = [self.find("a saved array", saved, x) for x in ctx._saved]
        grads = [g if g is None else np.array(g) if isinstance(g, np.generic) else g.copy() for g in grads]
        return [joint.own_gradient(x, grads, 2) for x in self.check_answer(self.cls.backward(ctx, *grads), record)]

    def find(self, name: str, saved: Sequence[Any], x: Any) -> Any:
        """What ``ctx`` kept, as backward gets it: the array at a place; in a recorded pass as a node."""
        record, again = saved[-1], modes().recording
        if not isinstance(x, RecordPlace):
            return self.as_node(name, record, x) if again else x
        k = -2 if x.is_result else x.k
        if x.is_result and self.several:
            k = len(self.places) + 1 + self.outs.index(x.k)
            if again and saved[k].dtype.kind in "fc":
                return joint.result_in_pass(record, x.k, saved[k])
        value = np.asarray(saved[k]) if isinstance(saved[k], np.generic) else saved[k]
        return read_only(value) if type(value) is np.ndarray else value

    def as_node(self, name: str, record: Record, x: Any) -> Any:
        """An array that forward made, which may depend on the arguments, for a recorded pass; anything else as it
        is."""
        is_array = (type(x) in NODE_TYPES or isinstance(x, np.generic)) and x.dtype.kind in "fc"
        return joint.made_by_forward(record, x, name) if is_array and not any([x is c for c in self.constants]) else x

    def check_answer(self, answer: Any, record: Record) -> list[Array | None]:
        """The answer of backward, checked: one gradient per operand, of the right shape."""
        answer = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        while len(answer) > len(self.names) and answer[-1] is None:
            answer.pop()
        if any(self.ctx.needs_input_grad[len(answer) :]) or len(answer) > len(self.names):
            raise GradientShapeError(
                f"{self.cls.__name__}.backward returned {len(answer)} gradients, but forward has {len(self.names)} "
                f"arguments ({', '.join(self.names)}): one each, in that order, None where none is needed"
            )
        answer += [None] * (len(self.names) - len(answer))
        for parent, k in zip(record.parents, self.places, strict=True):
            if parent is not None and answer[k] is not None and np.shape(answer[k]) != parent.shape:
                raise GradientShapeError(
                    f"{self.cls.__name__}.backward returned shape {np.shape(answer[k])} for the argument "
                    f"{self.names[k]}, whose shape is {parent.shape}"
                )
        return [answer[k] for k in self.places]


def _plain(x: Any) -> Any:
    """An argument as forward gets it; a node's memory is read-only."""
    if not isinstance(x, NodeRole):
        return plain_array(x) if type(x) in NODE_TYPES else plain_option(x)
    return read_only(value_of(x))


def arguments(cls: Any, args: Any, options: ByName) -> tuple[list[str], list[Any]]:
    """The arguments of forward with their names, in the order of its signature."""
    try:
        bound = inspect.signature(cls.forward).bind(None, *args, **options)
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.forward: {error}") from None
    names: list[str] = []
    values: list[Any] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}[{k}]" for k in range(len(value))]
            values += value
        elif kind is inspect.Parameter.VAR_KEYWORD:
            names += value
            values += value.values()
        else:
            names.append(name)
            values.append(value)
    return names[1:], values[1:]  # without ctx


def create_operation(result: Any, opmethod: str, operands: Values, name: str | None) -> Node:
    """``Operation.create_node``: a value made elsewhere, with the rule of that name in the table, or a later one."""
    inputs = tuple([x for x in operands if x is not None])
    row = next((r for r in RULES.values() if r.name == opmethod and r.operands == len(inputs)), None)
    row = row if row is not None else custom_row(opmethod, len(inputs), None)
    if (layer := modes().layer) is not None:
        layer.doubt("Operation.create_node")
    gathered = joint.split_inputs(inputs)
    gathered.values.extend(row.defaults[row.operands :])
    array = leaf_array(result, None, True, inexact=True)
    node = make_node(row, array, inputs, gathered)
    if name is not None:
        node.name = name
    return node


def custom_row(name: str, n: int, f: AnyFunction | None) -> Rule:
    """A row outside the table: ``f(g)`` returns the contribution to each of n operands."""

    def send(g: Array, saved: Values) -> Any:
        if f is None:
            raise lost(f"there is no rule called {name!r} in the table: set one, node.grad_fn = lambda g: ...")
        sent = f(np.array(g) if isinstance(g, np.generic) else g.copy())  # others may read the same array
        sent = list(sent) if isinstance(sent, (tuple, list)) else [sent]
        return [joint.own_gradient(x, [g], 2) for x in sent]

    return joint.joint_row(name, "xyz"[:n] if n <= 3 else n, joint=send)


def set_grad_fn(node: Node, f: AnyFunction) -> None:
    """``node.grad_fn = f``: from now on ``f(g)`` gives the node's contributions to its operands."""
    old = current_record(node)
    if old is None:
        raise lost(f"{node.name} has no operands that a gradient could flow to")
    n = len(old.parents)
    record = new_record(custom_row(old.rule.name, n, f), old.parents, (*old.saved[:n], old.saved[-1]), old.extra, old)
    record.count = old.count
    record._name = getattr(old, "_name", None)
    node._record = record
