"""Why nothing flows to a Constant: where its history was cut, and what to write instead.

A Constant that was computed from nodes says in its slot ``_cut`` what happened: it was detached, or computed while
nothing was recorded, or from frozen Variables, or from other Constants, whose cut it takes over. That costs one tuple,
and only where nothing is recorded. The text is made when somebody asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..base.modes import modes
from ..program.places import Activation, enter, getframe


class Cut(NamedTuple):
    """What cut a history: a key of :data:`CAUSES`; the instruction that did it; a name."""

    cause: str
    place: Any = None  # an activation, or its code
    last: int = -1
    name: str = ""


# Cause -> what happened, and what to write instead.
CAUSES = {
    "detached": (
        "its history was cut by {text}{line}",
        "Leave out detach() or stop_gradient() if the gradient is wanted",
    ),
    "not recorded": (
        "{text} was computed{line} while nothing was recorded, under af.no_grad() or af.set_grad_enabled(False)",
        "Compute it outside of that block",
    ),
    "frozen": (
        "{name} is frozen",
        "Set {name}.requires_grad = True to let gradients flow to it",
    ),
    "not a float": (
        "{text}{line} gives whole numbers or truth values, which have no derivative",
        "Compute with floating-point numbers",
    ),
    "made": (
        "it is made of Constants and plain numbers only, first of {text}{line}",
        "Make an af.Variable of what you want the gradient of",
    ),
}


def note_cut(node: Any, parents: Iterable[Any], leaves: Iterable[Any]) -> None:
    """Write down why a new Constant has no history. ``parents``: of its operands, what gradients would flow to.
    ``leaves``: those operands to which nothing flows."""
    if any([p is not None for p in parents]):
        node._cut = cut_here("not a float" if modes().recording else "not recorded")
        return
    for x in leaves:
        if (cut := cut_of(x)) is not None:
            node._cut = cut
            return


def cut_here(cause: str) -> Cut:
    """A cut by the user's instruction that is running."""
    return Cut(cause, *enter(getframe(2))) if modes().source else Cut(cause)


def cut_of(x: Any) -> Cut | None:
    """Why nothing flows to a leaf; None if nothing is known."""
    if (cut := getattr(x, "_cut", None)) is not None:
        return cut
    place, last, _ = getattr(x, "_place", None) or (None, -1, 0)
    if hasattr(x, "_live"):
        return None if x._live else Cut("frozen", place, last, x.name)
    return Cut("made", place, last, x.name) if place is not None else None


def explain(x: Any) -> str:
    """Why nothing flows to ``x``, with the line and what to write instead; empty if nothing is known.

    >>> import autoflow as af
    >>> w = af.Variable(2.0, name="w", requires_grad=False)
    >>> explain(w * 3.0)
    'w is frozen. Set w.requires_grad = True to let gradients flow to it'
    """
    cut = cut_of(x)
    if cut is None:
        return ""
    text, line = text_of(cut)
    what, advice = CAUSES[cut.cause]
    return f"{what}. {advice}".format(text=text, line=line, name=cut.name)


def text_of(cut: Cut) -> tuple[str, str]:
    """The expression that cut a history, and its line."""
    from ..program.source import CELLS, find

    code = cut.place.code if type(cut.place) is Activation else cut.place
    found = find(code, cut.last) if code is not None else None
    if found is None:
        return cut.name or "it", ""
    file = found.place.file
    is_cell = any([sign in file for sign in CELLS])
    return found.text, f" (line {found.span.line}{'' if is_cell else f' of {os.path.basename(file)}'})"
