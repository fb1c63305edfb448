"""Rules of your own: an Operation whose value and derivative do not come from the table."""

from __future__ import annotations

from typing import Any

from .errors import lost
from .intake import leaf_array
from .nodes import new_record, record_of
from .recording import finish, operand
from .rules import RULES
from .rules.table import Rule


def create_operation(result: Any, opmethod: str, operands: tuple[Any, ...], name: str | None) -> Any:
    """``Operation.create_node``: a value made elsewhere, with the table's rule of that name or one set later."""
    inputs = [x for x in operands if x is not None]
    rule = next((r for r in RULES.values() if r.name == opmethod and r.operands == len(inputs)), None)
    rule = rule if rule is not None else custom_rule(opmethod, len(inputs), None)
    values, parents, constants, unsafe = [], [], {}, []
    for k, x in enumerate(inputs):
        value, parent, shown, risky = operand(x)
        values.append(value)
        parents.append(parent)
        if shown is not None:
            constants[k] = shown
        if risky:
            unsafe.append(k)
    array = leaf_array(result, None, True, inexact=True)
    options = list(rule.defaults[rule.operands :])
    node = finish(rule, array, inputs, values + options, tuple(parents), constants, unsafe)
    if name is not None:
        node.name = name
    return node


def custom_rule(name: str, n: int, f: Any) -> Rule:
    """A row that is in no table: ``f(g)`` returns what is sent to each of n operands."""
    row = Rule(name)
    row.function = row.compute = row.operator = None
    row.label, row.latex, row.precedence = name, rf"\operatorname{{{name}}}", 9
    row.names = tuple("xyzuvw"[:n]) if n <= 6 else tuple([f"x{k}" for k in range(n)])
    row.operands = row.required = row.free = n
    row.defaults, row.derivatives, row.examples, row.domain = (), {}, (), (0.0, 1.0)
    row.reads = row.pulls = row.pulls_0d = (None,) * n
    row.elementwise = row.variadic = row.view = False
    row.holomorphic, row._keeps, row._of_arity, row._complex = True, {}, {}, None

    def joint(g: Any, saved: tuple[Any, ...]) -> Any:
        if f is None:
            raise lost(f"there is no rule called {name!r} in the table: set one, node.grad_fn = lambda g: ...")
        return f(g)

    row.joint = joint
    return row


def set_grad_fn(node: Any, f: Any) -> None:
    """``node.grad_fn = f``: from now on ``f(g)`` says what the node sends to its operands."""
    old = record_of(node)
    if old is None:
        raise lost(f"{node.name} has no operands that a gradient could flow to")
    n = len(old.parents)
    record = new_record(custom_rule(old.rule.name, n, f), old.parents, (*old.saved[:n], old.saved[-1]), old.extra)
    record.count = old.count
    record._name = getattr(old, "_name", None)
    node._record = record
