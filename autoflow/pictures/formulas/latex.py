r"""Formulas of a node's value and its local derivatives, in LaTeX.

The rows of the table hold a template each (``"\frac{$x}{$y}"``) and how strongly it binds; that is all that a formula
needs. The derivative of a row has no template: the row's derivative is run on named nodes, and what it recorded is
printed (see :func:`local_terms`). Only then is anything simplified: 1 · x, double signs, known numbers.

:class:`TermWriter` turns records into :class:`Term`, operands first; :mod:`.algebra` builds the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backprop.engine import topological
from ...base.errors import LostGradientError
from ...base.modes import switched
from ...forward.replay import again, shown_operand
from ...nodes.nodes import Array, Node, Variable
from ...nodes.records import Record
from ...nodes.versions import FreedArray
from ..model.names import Titles, titles_of
from .algebra import ARRAY, SIGN, Term, escape_text, fill_template, literal, simplify_step, symbol

LONGEST = 1500  # characters; a longer part of a formula is replaced by its node's name
SHORT = 80  # characters of an operand without a name, below the ∂
SAMPLES = 6  # elements of an array at which the derivative of an elementwise function is evaluated


class Formula(str):
    """LaTeX. A ``str``; notebooks show it typeset."""

    __slots__ = ()

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self}$"


def formula(node: object, *, expand: bool = False) -> Formula:
    r"""How ``node`` was computed, in LaTeX.

    Nodes with a name, given or among the caller's variables, appear as that name; ``expand=True`` writes them out
    down to the Variables. Arrays are bold; plain ones without a name are called c, c₂, c₃.

    >>> import autoflow as af
    >>> print(formula(np.sin(af.Variable(2.0, name="x1")) / 3 - 1))
    \frac{\sin x_{1}}{3} - 1
    """
    root = source(node)
    titles = titles_of(topological(root) if hasattr(root, "parents") else [root])
    if not hasattr(root, "node_name"):
        return Formula(leaf_term(node, titles).text)
    titles.outputs.add(id(root))
    return Formula(TermWriter(titles, {}, by_name=not expand).write(root).text)


def derivative_formula(node: Node) -> Formula:
    r"""The derivatives of ``node`` with respect to its operands, a line each, in LaTeX.

    They are printed from what the rule's derivative computes. For functions with branches (maximum, clip) it is the
    derivative on the branch where the values are; for arrays on each branch that occurs ("1 or 0"). Where elements
    mix (sums, products of matrices) it is the contribution sent back, in terms of ∂L/∂z.

    >>> import autoflow as af
    >>> x, y = af.Variable(3.0, name="x"), af.Variable(4.0, name="y")
    >>> z = x * np.sin(y)
    >>> z.name = "z"
    >>> print(derivative_formula(z))
    \begin{aligned}
    \frac{\partial z}{\partial x} &= \sin y \\
    \frac{\partial z}{\partial \sin y} &= x
    \end{aligned}
    """
    record = source(node)
    if not hasattr(record, "node_name"):
        raise LostGradientError(f"{node.name} is a leaf: it was not computed from anything, so it has no derivative")
    lines = equations(record, titles_of(topological(record)))
    if len(lines) == 1:
        return Formula(" = ".join(lines[0]))
    body = " \\\\\n".join([" &= ".join(line) for line in lines])
    return Formula(f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}")


def equations(record: Record, titles: Titles) -> list[tuple[str, str]]:
    """Left and right side for each operand that a gradient flows to."""
    operands = operand_terms(record, titles)
    above = result_term(record, operands, titles).text if local_is_a_number(record) else "L"
    rows = zip(record.parents, operands, local_terms(record, titles), strict=True)
    lines = [(partial(above, operand.within(SIGN)), term.text)
             for parent, operand, term in rows if parent is not None and term is not None]  # fmt: skip
    return list(dict.fromkeys(lines))  # x * x has two operands, which are one x


def partial(above: str, below: str) -> str:
    r"""``\frac{\partial z}{\partial x}``."""
    return f"\\frac{{\\partial {above}}}{{\\partial {below}}}"


def local_is_a_number(record: Record) -> bool:
    """Does each element of the result depend on one element of each operand? Then ∂z/∂x can be written down."""
    return bool(record.rule.elementwise) or (not record.shape and all([not np.shape(x) for x in record.operands]))


class TermWriter:
    """Records to terms, each once, operands before the operations that use them."""

    def __init__(self, titles: Titles, terms: dict[Any, Term], simplify: bool = False, by_name: bool = False) -> None:
        """``terms``: the known terms, extended here. by_name: use a node's name if it has one."""
        self.titles, self.terms, self.simplify, self.by_name = titles, terms, simplify, by_name

    def write(self, root: Any) -> Term:
        """The term of a record, a leaf or a plain value."""
        root = source(root) if isinstance(root, Node) else root
        if hasattr(root, "node_name") and root not in self.terms:
            self.write_behind(root)
        return self.term(root)

    def write_behind(self, root: Record) -> None:
        """The terms of ``root`` and of all that it was computed from, as far as they are not known yet."""
        waiting = [root]
        while waiting:
            record = waiting[-1]
            missing = [] if record in self.terms else [p for p in record.parents if p is not None and p.parents]
            missing = [p for p in missing if p not in self.terms and not self.is_named(p)]
            if not missing:
                waiting.pop()
                if record.parents and record not in self.terms:
                    self.terms[record] = self.operation(record)
            waiting += missing

    def is_named(self, record: Record) -> bool:
        """Is it called by its name? Then its term is that."""
        if self.by_name and self.titles.name(record):
            self.terms[record] = record_name(record, self.titles)
            return True
        return False

    def term(self, x: object) -> Term:
        """The term of a record that has been written already, of a leaf, or of a plain value."""
        term = self.terms.get(x) if isinstance(x, Node) or hasattr(x, "node_name") else None
        return term or leaf_term(x, self.titles)

    def operation(self, record: Record) -> Term:
        """The row's template, filled in."""
        same = self.titles.times_one(record)
        if same is not None:
            return self.operand(record, same)
        operands = [self.operand(record, k) for k in range(len(record.parents))]
        if self.simplify:
            scalars = not record.shape and all([not np.shape(x) for x in record.operands])
            shorter = simplify_step(record, operands, scalars)
            if shorter is not None:
                return shorter
        term: Term = fill_template(record, operands)
        return term if len(term.text) <= LONGEST else record_name(record, self.titles)

    def operand(self, record: Record, k: int) -> Term:
        """The term of the k-th operand. Plain numbers keep their value, so that terms can be simplified."""
        parent = record.parents[k]
        return self.term(parent) if parent is not None else plain_term(record, k, self.titles)


def source(node: Any) -> Any:
    """The record of an operation, a leaf itself."""
    record = node.grad_fn
    return node if record is None else record


def record_name(record: Record, titles: Titles) -> Term:
    """A record by its name."""
    return own_symbol(titles.name(record) or record.node_name, titles, record)


def leaf_term(x: Any, titles: Titles) -> Term:
    """A Variable by its name; a Constant by its name or its number; a plain number. Different arrays without a name are
    c, c₂, c₃."""
    name = titles.name(x) if isinstance(x, Node) else None
    if name is not None or isinstance(x, Variable):
        return own_symbol(name or x.name, titles, x)
    x = x.value if isinstance(x, Node) else x
    term = literal(x)
    if term.text != ARRAY:
        return term
    k = titles.place_of_array("", x)
    return Term(f"{ARRAY}_{{{k + 1}}}") if k else term


def own_symbol(name: str, titles: Titles, x: Any) -> Term:
    """The symbol of a name; where another name has it already, as of ``a1`` and ``a_1``, the name as it is. Where the
    name is that of another node or array as well, as in two calls of one function, y⁽²⁾."""
    letter = symbol(name, bool(x.shape))
    if name not in titles.symbols.setdefault(letter.text, {name: 0}):
        letter = Term(rf"\mathrm{{{escape_text(name)}}}")
    owners = titles.symbols.setdefault(letter.text, {name: 0})
    is_node = isinstance(x, Node) or hasattr(x, "node_name")
    is_gone = isinstance(x, FreedArray) and x.reference() is None  # then it is taken for the first
    owner = id(x) if is_node else 0 if is_gone else titles.place_of_array(name, x)
    k = owners.setdefault(owner, len(owners))
    return letter if k == 1 else Term(f"{{{letter.text}^{{({k})}}}}")


def plain_term(record: Record, slot: int, titles: Titles) -> Term:
    """A plain operand: an array by the name that the program has for it, if it has one."""
    x, name = record.operands[slot], titles.name_of_operand(record, slot)
    return leaf_term(x, titles) if name is None else own_symbol(name, titles, x)


def operand_terms(record: Record, titles: Titles) -> list[Term]:
    """The names of the operands below the ∂: by name, else how they were computed if that is short."""
    return [plain_term(record, slot, titles) if parent is None else below(parent, titles)
            for slot, parent in enumerate(record.parents)]  # fmt: skip


def below(x: Any, titles: Titles) -> Term:
    """The name of a record or leaf in a derivative."""
    if not hasattr(x, "node_name") or titles.name(x):
        return record_name(x, titles) if hasattr(x, "node_name") else leaf_term(x, titles)
    term = TermWriter(titles, titles.terms, by_name=True).write(x)  # each operation once for all that ask
    return term if len(term.text) <= SHORT else record_name(x, titles)


def result_term(record: Record, operands: Sequence[Term], titles: Titles) -> Term:
    """The name of the result: its own, else z as in the table, else f if there is a z already."""
    name = titles.name(record)
    letters = [c for c in "zfu" if not any([c in (t.text, t.text[-2:-1]) for t in operands])]
    return own_symbol(name, titles, record) if name else symbol(letters[0], bool(record.shape))


def local_terms(record: Record, titles: Titles, operands: Sequence[Term] | None = None) -> list[Term | None]:
    """For each operand the local derivative, or the contribution sent back, as the row's derivative computes it.

    The operation is done again on Variables with the operands' names, and its derivative is recorded. For an
    elementwise function of arrays single elements are taken: broadcasting is not part of the formula.
    """
    operands = operand_terms(record, titles) if operands is None else operands
    z = result_term(record, operands, titles)
    if record.rule.compute is None:  # a rule of the user: it runs on the values that it knows
        return one_run(record, None, operands, z, titles)
    if not record.rule.elementwise:
        return one_run(record, samples(record, None), operands, z, titles)
    places = list(range(min(int(np.prod(record.shape)), SAMPLES))) or [-1]
    rows = [one_run(record, samples(record, k), operands, z, titles) for k in places]
    return [choice([row[slot] for row in rows]) for slot in range(len(operands))]


def choice(terms: Sequence[Term | None]) -> Term | None:
    """The term; several different ones as ``1 or 0``."""
    branches = [t for t in terms if t is not None]
    different = {t.text: t for t in branches}
    if len(different) < 2:
        return branches[0] if branches else None
    return Term(r" \text{ or } ".join(different), 0)


def samples(record: Record, k: int | None) -> list[Any]:
    """The values on which to run: those of the graph, or of all arrays one element (the k-th of the result)."""
    values = []
    for slot, parent in enumerate(record.parents):
        x: Array = parent.value if parent is not None else operand_value(record, slot)
        if x is None and np.shape(record.saved[slot]) == () and not isinstance(record.saved[slot], FreedArray):
            x = record.saved[slot]  # a default that is None
        if isinstance(x, FreedArray) or (parent is not None and x is None) or (k == -1 and np.shape(x)):
            low, high = record.rule.domain
            shape = parent.shape if parent is not None else x.shape
            like = np.full((), low + 0.63 * (high - low)) if k is not None else spread_out(shape, low, high)
            values.append(like.astype((parent if parent is not None else x).dtype))
        elif k is not None and np.shape(x):
            values.append(np.broadcast_to(x, record.shape).reshape(-1)[k])
        else:
            values.append(x)
    return values


def operand_value(record: Record, slot: int) -> Array:
    """A plain operand's value; if it was not kept, its shape and dtype."""
    try:
        x = shown_operand(record, slot)
    except Exception:
        return record.saved[slot]
    return x.value if isinstance(x, Node) else x


def spread_out(shape: tuple[int, ...], low: float, high: float) -> Array:
    """Numbers between low and high, no two alike: values for an array that was not kept."""
    size = int(np.prod(shape))
    return (low + (high - low) * ((np.arange(size) * 0.618) % 1)).reshape(shape)


def one_run(
    record: Record, values: list[Any] | None, operands: Sequence[Term], z: Term, titles: Titles
) -> list[Term | None]:
    """Run the derivative of ``record`` on nodes, and write down what it recorded."""
    names: dict[Any, Term] = {}
    with switched(recording=True):
        if values is not None:
            symbols = []
            for value, parent, term in zip(values, record.parents, operands, strict=True):
                inexact = getattr(value, "dtype", None) is not None and value.dtype.kind in "fc"
                is_symbol = parent is not None or (inexact and term.value is None)
                symbols.append(Variable(value) if is_symbol else value)
                names |= {symbols[-1]: term} if is_symbol else {}
            again_record = again(record, symbols).grad_fn
        else:
            again_record = record
            names.update({p: t for p, t in zip(record.parents, operands, strict=True) if p is not None})
        names[again_record] = z
        g = Variable(np.ones(again_record.shape, again_record.dtype))
        names[g] = literal(1.0) if local_is_a_number(record) else Term(partial("L", z.text))
        sent = again_record(g)
    writer = TermWriter(titles, names, simplify=True)
    return [
        None if part is None or parent is None else writer.write(part)
        for part, parent in zip(sent, record.parents, strict=True)
    ]
