"""Derivatives as a picture shows them: the rule of each operation in LaTeX, and the paths of the chain rule.

The local derivatives of a picture's operations are for the table and the tooltips of a page.

The paths between an output and a variable: there may be more than atoms in the universe, so they are counted without
being walked (:meth:`Chain.count_paths`), and only the best of them are built (:meth:`Chain.largest_paths`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backprop.engine import topological
from ...base.groups import grouped
from ...nodes.nodes import Holder, Node
from ...nodes.records import Record
from ..model.data import Array, GraphData, Numbers, numbers
from ..model.gathering import total, uses_of
from ..model.names import Titles, titles_of
from .algebra import DOTS, Term, product_of
from .latex import below, equations, local_is_a_number, local_terms, operand_terms, partial, result_term

# ---------------------------------------------------------------- local derivatives in LaTeX

MOST = 60  # operations; each is derived again, which is slow


def rules(roots: Sequence[Node], picture: GraphData) -> tuple[tuple[int, str], ...]:
    r"""For each operation of a whole picture its number and ``z = xy, \frac{\partial z}{\partial x} = y, …``.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> ((number, text),) = rules([np.sin(x)], af.graph(np.sin(x)))
    >>> print(text)
    z = \sin x, \quad \frac{\partial z}{\partial x} = \cos x
    """
    behind = dict.fromkeys([x for root in roots if root.grad_fn is not None for x in topological(root.grad_fn)])
    records = sorted([r for r in behind if r.parents], key=lambda r: r.number)
    operations = [v.id for v in picture.nodes if v.kind == "Operation"]
    if len(records) != len(operations) or len(operations) > MOST:
        return ()
    titles = titles_of(behind)
    for record in records:
        titles.add(record)
    texts = [write_equations(record, titles) for record in records]
    return tuple([(k, text) for k, text in zip(operations, texts, strict=True) if text])


def write_equations(record: Record, titles: Titles) -> str:
    """The equations of one operation, and the meaning of z; empty if its rule cannot be written down."""
    try:
        lines = equations(record, titles)
        if lines and not titles.name(record) and local_is_a_number(record):
            z = result_term(record, operand_terms(record, titles), titles)
            lines = [(z.text, below(record, titles).text), *lines]
        return ", \\quad ".join([" = ".join(sides) for sides in lines])
    except Exception:  # an error in a user's rule does not spoil the page
        return ""


# ---------------------------------------------------------------- the paths between an output and a variable


MANY = 10**18  # counts of paths stop there
LONG, ENDS = 14, 6  # of a path with more steps only both ends are shown


@dataclass(frozen=True, slots=True)
class Route:
    """One way from the output back to the variable."""

    titles: tuple[str, ...]  # from the output to the variable
    factors: tuple[float | None, ...]  # the local derivative of each step, None for "…"; empty where there are arrays
    product: Numbers  # what arrives along this path alone
    formula: Term  # the product of the local derivatives
    user: Any  # the operation at its end, which uses the variable; of sums in sums the whole one


def records_between(root: Record, target: Holder) -> list[Holder]:
    """The records on paths from ``root`` back to ``target``, consumers first; empty if there is no path."""
    order = topological(root)
    reaching = uses_of(target, order)
    return [r for r in order if r in reaching] if root in reaching else []


class Chain:
    """The part of the graph between an output and a variable, with the steps along its arrows."""

    def __init__(self, order: Sequence[Any], root: Record, target: Holder, titles: Titles) -> None:
        self.root, self.target, self.titles = root, target, titles
        within = set(order)
        self.order = [r for r in order if r is not target]
        self.steps = {r: [(k, p) for k, p in enumerate(r.parents) if p is not None and p in within] for r in self.order}
        self.inner = inner_links(root, titles)
        self.written: dict[tuple[Any, int], Term] = {}  # the local derivatives as formulas
        self.scalars = all([r.shape == () and r.dtype.kind == "f" for r in within])

    def through(self, gradients: dict[Any, Array]) -> dict[Any, list[Array]]:
        """The gradient that each operation using the target sends to it, in the order of creation."""
        heads: dict[Any, Any] = {}  # of sums that are part of a larger one: the whole sum
        for record in self.order:  # consumers first, so those of a sum are known
            larger = self.inner.get(record)
            heads[record] = record if larger is None else heads.get(larger, larger)
        users = grouped([(heads[r], r(gradients[r])[slot]) for r in reversed(self.order)
                         for slot, parent in self.steps[r] if parent is self.target])  # fmt: skip
        return dict(sorted(users.items(), key=lambda pair: pair[0].number))

    def gradients(self) -> dict[Any, Array]:
        """One backward pass, to what lies on the paths alone."""
        arriving: dict[Any, list[Array]] = {self.root: [np.ones(self.root.shape, self.root.dtype)]}
        sums: dict[Any, Array] = {}
        for record in [*self.order, self.target]:
            sums[record] = total(arriving.pop(record, []), record)
            sent = record(sums[record]) if self.steps.get(record) else ()
            for slot, parent in self.steps.get(record, ()):
                arriving.setdefault(parent, []).append(sent[slot])
        return sums

    def count_paths(self) -> int:
        """The number of paths: to a node, the sum of those to its consumers, arrow by arrow."""
        count: dict[Any, int] = {self.root: 1}
        for record in self.order:
            for _, parent in self.steps[record]:
                count[parent] = min(MANY, count.get(parent, 0) + count[record])
        return count[self.target]

    def largest_paths(self, limit: int) -> list[Route]:
        """The paths with the largest products, largest first.

        Each node passes on the best paths to itself, times the local derivative. A path that is not among the best to
        a node cannot become one later, so ``limit`` of them per node are enough. A path is a chain of pairs
        (the path before, (record, slot)), shared between its continuations.
        """
        best: dict[Any, list[tuple[float, float, int, Any]]] = {self.root: [(1.0, 1.0, 0, None)]}
        tie = 0
        local: dict[tuple[Any, int], float] = {}
        for record in self.order:
            sent = record(np.ones((), record.dtype))
            ways = best.pop(record)
            for slot, parent in self.steps[record]:
                local[record, slot] = factor = float(sent[slot])
                for _, value, _, way in ways:
                    tie -= 1  # equal products: the first one found stays in front
                    size = abs(value * factor)
                    entry = (math.inf if math.isnan(size) else size, value * factor, tie, (way, (record, slot)))
                    heap = best.setdefault(parent, [])
                    (heapq.heappush if len(heap) < limit else heapq.heappushpop)(heap, entry)
        entries = sorted(best.pop(self.target), key=lambda entry: entry[:3], reverse=True)
        return [self.path(way, value, local) for _, value, _, way in entries]

    def path(self, way: object, value: float, local: dict[tuple[Any, int], float]) -> Route:
        """A path as it is shown: sums of sums and products of products as one step, very long ones by their ends."""
        steps = self.merged(unroll(way))
        abridged = steps if len(steps) <= LONG else [*steps[:ENDS], [], *steps[-ENDS:]]
        factors = [math.prod([local[step] for step in steps]) if steps else None for steps in abridged]
        terms = [product_of(self.formulas(steps)) if steps else DOTS for steps in abridged]
        return Route(self.names(steps), tuple(factors), numbers(np.float64(value)), product_of(terms), user_of(steps))

    def merged(self, steps: Sequence[tuple[Any, int]]) -> list[list[tuple[Any, int]]]:
        """The steps in groups: x + y, which is only there for (x + y) + z, belongs to its step."""
        groups: list[list[tuple[Any, int]]] = []
        for record, slot in steps:
            if not groups or record not in self.inner:
                groups.append([])
            groups[-1].append((record, slot))
        return groups

    def names(self, groups: Sequence[Sequence[tuple[Any, int]]]) -> tuple[str, ...]:
        """The titles along a path."""
        titles = [self.titles.of(steps[0][0]) for steps in groups]
        if len(titles) > LONG:
            titles = [*titles[:ENDS], f"({len(titles) - 2 * ENDS:,} steps)", *titles[-ENDS:]]
        return (*titles, self.titles.of(self.target))

    def formulas(self, steps: Sequence[tuple[Any, int]]) -> list[Term]:
        """The local derivatives of a group of steps; of a long one those at both ends."""
        if len(steps) <= LONG:
            return [self.formula(*step) for step in steps]
        return [*self.formulas(steps[:ENDS]), DOTS, *self.formulas(steps[-ENDS:])]

    def formula(self, record: Record, slot: int) -> Term:
        """The same of one step, found once for all paths: printed by the rule; ∂z/∂x if the rule cannot be run."""
        if (term := self.written.get((record, slot))) is None:
            operands = operand_terms(record, self.titles)
            with suppress(Exception):
                term = local_terms(record, self.titles, operands)[slot]
            if term is None:
                term = Term(partial(result_term(record, operands, self.titles).text, operands[slot].text))
            self.written[record, slot] = term
        return term

    def first_paths(self, limit: int, gradients: dict[Any, Array]) -> list[Route]:
        """The first paths found, and the gradient that arrives along each: a product of Jacobians, from the left."""
        routes: list[Route] = []
        stack: list[tuple[Any, Any, Array]] = [(self.root, None, np.ones(self.root.shape, self.root.dtype))]
        while stack and len(routes) < limit:
            record, way, g = stack.pop()
            if record is self.target:
                steps = self.merged(unroll(way))
                routes.append(Route(self.names(steps), (), numbers(g), DOTS, user_of(steps)))
                continue
            sent = record(with_zeros(g, gradients[record]))
            stack += [(parent, (way, (record, slot)), sent[slot]) for slot, parent in reversed(self.steps[record])]
        return routes


def with_zeros(g: Array, whole: Array) -> Array:
    """The gradient that arrives along one path, in the form that the rule takes. To an operation with several results a
    path brings the gradient of one; its ``backward`` may rely on the others that the ``whole`` pass brings, so those
    are zero."""
    if not hasattr(g, "grads"):
        return g
    return type(g)({j: np.zeros_like(h) for j, h in whole.grads.items()}) + g


def unroll(way: Any) -> list[tuple[Any, int]]:
    """A chain of pairs as a list, from the output on."""
    steps = []
    while way is not None:
        way, step = way
        steps.append(step)
    return steps[::-1]


def user_of(groups: Sequence[Sequence[tuple[Any, int]]]) -> Any:
    """The user of the variable at the end of a path in groups; None if the output is the variable itself."""
    return groups[-1][0][0] if groups else None


def inner_links(root: Record, titles: Titles) -> dict[Any, Any]:
    """Sums that are part of a larger sum, products of a larger product -> what uses them. As in pictures.

    They have no name and are used once. Likewise what is 1 times of something: ``1*cos(x)``.
    """
    users = grouped([(parent, r) for r in topological(root) for parent in r.parents if parent is not None])
    links = {}
    for record, used in users.items():
        alone = record.parents and len(used) == 1 and not titles.name(record)
        same = alone and record.rule.name in ("add", "multiply") and used[0].rule is record.rule
        if same or (alone and titles.times_one(record) is not None):
            links[record] = used[0]
    return links
