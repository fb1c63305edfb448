"""Why nothing flows to a Constant: where its history was cut, and what to write instead.

A Constant that was computed from nodes says in its slot ``_cut`` what happened: it was detached, or computed while
nothing was recorded, or from frozen Variables, or from other Constants, whose cut it takes over. That costs one tuple,
and only where nothing is recorded. The text is made when somebody asks for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import islice
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

from ..base.errors import LostGradientError, UnprovedWarning
from ..base.modes import modes
from ..base.numbering import now
from ..program.callers import getframe, user_frame
from ..program.places import FILES, Activation, is_passed
from .records import Holder, ancestors
from .versions import Array, Values, writer_since


class Cut(NamedTuple):
    """The cause of a cut history: a key of :data:`CAUSES`, the instruction, and a name. (The slot holds a plain tuple:
    to make one of these takes as long as the rest.)"""

    cause: str
    code: Any = None
    last: int = -1
    name: str = ""


# Cause -> what happened, what to write instead, and the text where the program is not known.
CAUSES = {
    "detached": ("its history was cut by {text}{line}",
                 "Leave out detach() or stop_gradient() if the gradient is wanted", "detach() or stop_gradient()"),
    "wrapped": ("{text}{line} has its numbers only", "Compute with the node itself", "an af.Constant"),
    "not recorded": ("it was computed under {text}{line}, where nothing is recorded",
                     "Compute it outside of that block", "af.no_grad() or af.set_grad_enabled(False)"),
    "frozen": ("{name} is frozen{line}", "Set {name}.requires_grad = True to let gradients flow to it", "it"),
    "not a float": ("{text}{line} gives whole numbers or truth values, which have no derivative",
                    "Compute with floating-point numbers", "it"),
    "made": ("it is made of Constants and plain numbers only, first of {text}{line}",
             "Make an af.Variable of what you want the gradient of", "it"),
}  # fmt: skip


def note_cut(node: Array, parents: Iterable[Holder], leaves: Iterable[Array]) -> None:
    """Write down why a new Constant has no history. ``parents``: of its operands, what gradients would flow to.
    ``leaves``: the operands to which nothing flows."""
    if any([p is not None for p in parents]):
        switches = modes()
        node._cut = cut_here("not a float") if switches.recording else ("not recorded", switches.blocks)
        return
    for x in leaves:
        if (cut := getattr(x, "_cut", None) or cut_of_leaf(x)) is not None:
            node._cut = cut
            return


def cut_here(cause: str, name: str = "") -> Values:
    """A cut by the user's instruction that is running."""
    if not modes().source:
        return cause, None, -1, name
    frame = getframe(2)
    while ((passed := FILES.get(frame.f_code.co_filename)) or (passed is None and is_passed(frame))) and frame.f_back:
        frame = frame.f_back
    return cause, frame.f_code, frame.f_lasti, name


def cut_of_leaf(x: Array) -> Values | None:
    """Why nothing flows to a user's leaf; None if nothing is known."""
    place, last, _ = getattr(x, "_place", None) or (None, -1, 0)
    code = place.code if type(place) is Activation else place
    if hasattr(x, "_live"):
        return None if x._live else ("frozen", code, last, x.name)
    if code is not None:
        x._cut = "made", code, last
    return getattr(x, "_cut", None)


def cut_of(x: Array) -> Cut | None:
    """Why nothing flows to ``x``."""
    cut = getattr(x, "_cut", None) or cut_of_leaf(x)
    if cut is not None and cut[0] == "not recorded":
        blocks = [block for block, _ in cut[1] if block.changes.get("recording") is False]
        cut = "not recorded", *(blocks[-1].place if blocks else (None, -1))
    return None if cut is None else Cut(*cut)


def explain(x: Array) -> str:
    """Why nothing flows to ``x``, with the line and what to write instead; empty if nothing is known.

    >>> import autoflow as af
    >>> w = af.Variable(2.0, name="w", requires_grad=False)
    >>> explain(w * 3.0)
    'w is frozen (line 1). Set w.requires_grad = True to let gradients flow to it'
    """
    if (cut := cut_of(x)) is None:
        return ""
    text, line = text_of(cut)
    what, advice, _ = CAUSES[cut.cause]
    return f"{what}. {advice}".format(text=text, line=line, name=cut.name)


def text_of(cut: Cut) -> tuple[str, str]:
    """The expression that cut a history, and its line."""
    from ..program.source import find

    expr = find(cut.code, cut.last) if cut.code is not None else None
    if expr is None:
        return cut.name or CAUSES.get(cut.cause, ("", "", "it"))[2], ""
    return expr.text, f" ({expr.place.where})"


def cuts_among(records: Iterable[Holder]) -> str:
    """What has cut the histories of operands of these records, and what was taken out of the graph as numbers."""
    from ..program.source import taken_out

    records = list(records)
    constants = [c for r in records if r.extra is not None for c in r.extra.constants.values()]
    cuts = [explain(c) for c in constants if (cut := cut_of(c)) and cut.cause != "made"]
    said = "".join(cuts).replace(" ", "")
    more = [(text, wording(r)) for r, text in taken_out(records) if text.replace(" ", "") not in said]
    numbers = [f"{x} takes a number out of the graph, in {where}. Compute with the node itself" for x, where in more]
    return "; ".join(dict.fromkeys([*cuts, *numbers]))


def wording(record: Holder) -> str:
    """The expression that made a record, and its line; its name if they are not known."""
    place = getattr(record, "place", None)
    return "".join(text_of(Cut("", getattr(place, "code", place), getattr(record, "last", -1), record.node_name)))


def shown_operand(record: Holder, k: int) -> str:
    """An operand of a record as the program names it; empty if it does not."""
    from ..program.names import Naming

    is_named = hasattr(record, "last") and k < len(record.parents)
    return (Naming([record]).operand_text(record, k) if is_named else None) or ""


def name_before(call: str, frame: FrameType) -> str:
    """What a frame calls a method of: of ``loss.backward()`` ``loss``; empty if it is not known, or a module."""
    name = text_of(Cut("", frame.f_code, frame.f_lasti, " "))[0].rpartition(call)[0]
    return "" if isinstance(frame.f_globals.get(name), ModuleType) else name


def taken_by(*codes: CodeType | FrameType | None) -> str:
    """What seems to take numbers out of a graph, in the first of these codes or frames that does, or empty."""
    from ..program.source import numbers_taken

    return next((text for code in codes if (text := numbers_taken(code))), "")


def named(x: Array) -> str:
    """A node as the program names it: by its own name, or the expression that made it, with the line."""
    return x.name if getattr(x, "_name", None) or not hasattr(x, "grad_fn") or x.grad_fn is None else wording(x.grad_fn)


# ---------------------------------------------------------------- nodes that a transform took for constants


FARTHEST = 1000  # records behind which no Variable is looked for
# By file and line of the call: the numbers of the Variables, and when each was taken last; and Python's list of the
# warnings of that module. The dicts in it stay as they are: others take their places.
CONSTANTS: dict[tuple[str, int], tuple[dict[int, int], dict[str | tuple[str, type[Warning], int], int]]] = {}


def take_constants(start: int, records: Iterable[Holder] = ()) -> frozenset[int]:
    """The creation numbers of the Variables older than ``start`` that these were computed from, and of those that have
    been noted since, whose notes go: what was computed with them is not handed out, or is noted once more."""
    holders = [x for r in records for x in (islice(ancestors(r), FARTHEST) if r.parents else (r,))]
    behind = {x.number for x in holders if getattr(x, "_live", None) is True}  # not an argument of a transform
    for line, (variables, _) in [*CONSTANTS.items()]:  # a list: other threads may note some meanwhile
        behind.update(since := [n for n, when in variables.items() if when > start])
        forget_constants(line, since)
    return frozenset([n for n in behind if n < start])


def note_constants(variables: frozenset[int]) -> None:
    """Plain results that the user gets now depend on these Variables: a pass to one of them may lack a part. That is
    said by :func:`tell_of_constants`; whether they are a part of its root is not known."""
    switches, frame = modes(), user_frame()
    if variables and switches.recording and (switches.strict or switches.prove != "never"):
        line, warned = (frame.f_code.co_filename, frame.f_lineno), frame.f_globals.setdefault("__warningregistry__", {})
        earlier, _ = CONSTANTS.get(line, ({}, {}))
        CONSTANTS[line] = (earlier if len(earlier) < FARTHEST else {}) | dict.fromkeys(variables, now()), warned


def forget_constants(line: tuple[str, int], variables: Iterable[int]) -> None:
    """Take these Variables out of the notes of a line."""
    if variables:
        noted, warned = CONSTANTS.pop(line, ({}, {}))
        if left := {n: when for n, when in noted.items() if n not in variables}:
            CONSTANTS[line] = left, warned


def tell_of_constants(root: Holder, pairs: Iterable[tuple[Any, object]]) -> None:
    """Give an UnprovedWarning, in strict mode a LostGradientError, if a pass from ``root`` has brought a gradient to a
    Variable that was taken for a constant and not written into since, and plain operands came in later."""
    for (file, line), (variables, warned) in [*CONSTANTS.items()]:
        reached = {x.number: x for x, _ in pairs if x.number in variables}
        lacking = [n for n, x in reached.items() if not writer_since(x._value, variables[n])]
        start = min([variables[n] for n in lacking], default=0)
        later = [r for r in ancestors(root) if r.number > start] if lacking else ()
        # Python's whole numbers, as in w ** 2, are the program's own.
        is_told = any([p is None and type(r.saved[k]) is not int for r in later for k, p in enumerate(r.parents)])
        if is_told:
            name = reached[lacking[0]].name
            text = (
                f"the function that is differentiated, or runs compiled, at {file}:{line} takes {name} for a constant. "
                f"Now {name} gets a gradient: if what that line gave is a part of the result, the gradient "
                f"lacks a part. Make {name} an argument, and differentiate the whole by af.grad; or say that it is a "
                f"constant there: {name}.value, or af.no_grad() around the call"
            )
            if modes().strict:
                raise LostGradientError(text)
            warnings.warn_explicit(text, UnprovedWarning, file, line, registry=warned)
        forget_constants((file, line), reached if is_told else reached.keys() - {*lacking})
