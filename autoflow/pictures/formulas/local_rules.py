"""The local derivatives of a picture's operations in LaTeX, for the table and the tooltips of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...backprop.engine import topological
from ..model.callers import bound_names
from ..model.data import GraphData
from ..model.names import Titles
from .latex import below, equations, local_is_a_number, operand_terms, result_term

MOST = 60  # operations; each is derived again, which is slow


def rules(roots: Sequence[Any], picture: GraphData) -> tuple[tuple[int, str], ...]:
    r"""For each operation of a whole picture its number and ``z = xy, \frac{\partial z}{\partial x} = y, …``.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> ((number, text),) = rules([np.sin(x)], af.graph(np.sin(x)))
    >>> print(text)
    z = \sin x, \quad \frac{\partial z}{\partial x} = \cos x
    """
    records = {r: None for root in roots if root.grad_fn is not None for r in topological(root.grad_fn) if r.parents}
    operations = [v.id for v in picture.nodes if v.kind == "Operation"]
    if len(records) != len(operations) or len(operations) > MOST:
        return ()
    titles = Titles(bound_names())
    found = []
    for k, record in zip(operations, sorted(records, key=lambda r: r.number), strict=True):
        titles.add(record)
        found.append((k, write_equations(record, titles)))
    return tuple([(k, text) for k, text in found if text])


def write_equations(record: Any, titles: Titles) -> str:
    """The equations of one operation, and what z is; empty if its rule cannot be written down."""
    try:
        lines = equations(record, titles)
        if lines and not titles.name(record) and local_is_a_number(record):
            z = result_term(record, operand_terms(record, titles), titles)
            lines = [(z.text, below(record, titles).text), *lines]
        return ", \\quad ".join([" = ".join(sides) for sides in lines])
    except Exception:  # an error in a rule of the user's does not spoil the page
        return ""
