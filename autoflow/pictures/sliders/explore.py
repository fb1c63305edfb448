"""``af.explore``: sliders for the inputs, and the numbers and gradients that follow them.

A graph of numbers goes to the browser as a *tape* (what was computed, in order); the page computes it there, forwards
and backwards, so it works without Python, in exported pages too. The JavaScript of an operation is traced from its row
of the table (``live.py``). Where arrays are involved, or the function branches on its inputs, Python computes,
and the sliders are a widget (extra ``widget``); without it there is a picture and one line of advice.

Sliders whose numbers Python computes: for arrays, and for functions that take different ways.

The page is the same script as in :mod:`.explore`; the model carries the sliders' values to Python, and a new picture
back. A recorded graph is recorded once more at the new values, a function is called again. For the plot the model
carries which sliders it is over, and the output on a grid back. A step downhill moves the sliders against the gradient
in ``point``; what it did is told when the next one has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, cached_property
from operator import methodcaller
from time import process_time
from typing import Any

import numpy as np

from ...backprop.engine import topological
from ...backprop.passes import run_pass
from ...base.errors import LostGradientError
from ...base.modes import listening
from ...forward.replay import record_again, replay_node
from ...nodes.nodes import AnyFunction, ByName, Constant, Node, Operation, Variable
from ..model.data import FEW_NUMBERS
from ..model.names import titles_of
from ..model.style import clean, clip
from ..pages.html import BODY, document, ground
from ..pages.stepper import MovingPage, show, widget_class
from ..render.svg import properties
from ..walk import Graph, graph
from .live import Slider, find_row, fragment, may_start, script, slider, start_of, trace_row, variables_of

LARGEST = 2000  # operations that a page computes
LONGEST = 5.0  # seconds that a call of the function may take
TRIES = 8  # inputs between the ends for which the recorded graph must agree with the function


class Explorer(MovingPage):
    """Sliders for a graph. Notebooks show it; ``save("page.html")`` writes a page that needs nothing else."""

    what = "sliders"

    def __init__(self, root: Node, inputs: dict[Any, Slider], reason: str | None, f: Any = None) -> None:
        self.root, self.inputs, self.reason, self.f = root, inputs, reason, f
        self.picture = graph(root, gradients=True)

    def to_html(self, *, full: bool = True) -> str:
        """A page that needs nothing else: sliders, the curve or the contours, the picture.

        full : False gives the content of its body: no address, no program but its own, and an image where scripts
            are removed.
        """
        text, program = self.fragment()
        return document(clean(self.picture.title), text, program, ground("auto") + BODY) if full else text

    def fragment(self) -> tuple[str, str]:
        """The content of a cell, and the program in it."""
        return fragment(self) if self.reason is None else self.without_program(self.advice())

    def advice(self) -> str:
        """One line: how to get sliders when the browser alone cannot compute."""
        return f'{self.reason}, so Python has to compute: sliders need `pip install "autoflow[widget]"` and a notebook.'

    def __str__(self) -> str:
        ranges = [f"{s.title} from {s.low:g} to {s.high:g}" for s in self.inputs.values()]
        return f"sliders for {', '.join(ranges)}\n{self.picture}" + (f"\n{self.advice()}" if self.reason else "")

    __repr__ = __str__

    def widget_bundle(self) -> Any:
        """What IPython shows of a widget; None if the browser can compute by itself."""
        return None if self.reason is None else methodcaller("_repr_mimebundle_")(widget(self))

    def _ipython_display_(self) -> None:
        """What notebooks show under ``af.options.static``, where nothing moves: see :func:`~..pages.stepper.show`."""
        show(self.picture)

    @cached_property
    def places(self) -> list[tuple[Any, int, Slider]]:
        """What moves: the numbers, and the elements of small arrays: (Variable, place in it, slider)."""
        variables = [v for _, v in sorted(self.f[1].items())] if self.f else variables_of(self.root)
        titles, places = titles_of(topological(self.root.grad_fn)), []
        for v in variables:
            if v in self.inputs:
                places.append((v, 0, self.inputs[v]))
            elif v.size <= FEW_NUMBERS and v.dtype.kind == "f" and may_start(v.value):
                names = [f"{titles.of(v)}[{', '.join(map(str, np.unravel_index(k, v.shape)))}]" for k in range(v.size)]
                places += [(v, k, slider(name, None, v.value.reshape(-1)[k])) for k, name in enumerate(names)]
        return places

    def picture_at(self, values: Sequence[float]) -> Graph:
        """The picture at other values of what moves."""
        return picture_of(self, root_at(self, values)[0])


def picture_of(page: Explorer, root: Node) -> Graph:
    """The picture of the output at other values."""
    return graph(root, gradients=True, theme=page.picture.look.theme)


def explore(f: Any, /, **ranges: Any) -> Explorer:
    """Sliders that move the inputs of a function, or of a recorded graph; values and gradients follow.

    For one input the page draws the curve with its tangent, for two the contours with the gradient. *Step downhill*
    moves against the gradient, by the gradient times the learning rate, and leaves a trail.

    f : a function of NumPy expressions, called with the names in ``ranges``; or a node, whose Variables move.
    **ranges : for each input ``(low, high)``, ``(low, high, start)``, or only the start: then the slider goes twice as
        far to both sides. The elements of an array with at most 6 elements get a slider each; larger arrays stay fixed,
        and so do Variables of a graph that are not finite.

    Graphs of single numbers are computed by the page itself. Other graphs need the extra ``widget``: its plot is drawn
    from numbers that Python computes on a grid.

    Raises ValueError for invalid ranges and unknown names, LostGradientError if the result has no history, TimeoutError
    if the function takes longer than 5 s.

    >>> x = af.Variable(2.0, name="x")
    >>> page = explore(x * np.sin(x), x=(-3, 3))
    >>> page.reason is None, page.inputs[x]
    (True, Slider(title='x', low=-3.0, high=3.0, start=2.0))
    """
    return of_node(f, ranges) if isinstance(f, Node) else of_function(f, ranges)


def of_node(root: Node, ranges: dict[str, Any]) -> Explorer:
    """Sliders for the Variables of a recorded graph."""
    if not isinstance(root, Operation):
        raise LostGradientError(f"{root.name} was not computed from Variables: there is nothing to move")
    titles = titles_of(topological(root.grad_fn))
    variables = variables_of(root)
    named = {titles.of(v): v for v in variables}
    if unknown := [name for name in ranges if name not in named]:
        raise ValueError(f"{', '.join(unknown)}: no Variable of the graph is called that; it has {', '.join(named)}")
    inputs = {v: slider(titles.of(v), ranges.get(titles.of(v)), v.value) for v in variables
              if not v.shape and may_start(v.value)}  # fmt: skip
    return Explorer(root, inputs, why_unsuited(root))


def of_function(f: AnyFunction, ranges: dict[str, Any]) -> Explorer:
    """Sliders for the arguments of a function."""
    if not callable(f):
        raise LostGradientError(f"explore takes a function or a node, not {type(f).__name__} {clip(repr(f), 60)}")
    if not ranges:
        raise ValueError("explore(f, x=(-3, 3), y=1.0): say which arguments move, and from where to where")
    variables = {name: Variable(start_of(name, spec), name) for name, spec in ranges.items()}
    root = output_of(f, variables)
    if not isinstance(root, Operation):
        raise LostGradientError(f"f returned {type(root).__name__} {clip(repr(root), 60)}, which has no history")
    inputs = {v: slider(name, ranges[name], v.value) for name, v in variables.items() if not v.shape}
    return Explorer(root, inputs, why_unsuited(root) or has_branches(f, root, inputs, variables), (f, variables))


def output_of(f: AnyFunction, variables: ByName) -> Node:
    """The result of f, named like f unless it has a name. (A lambda has no name.) An input that is given back, as by
    ``max(x, 0)``, gets an operation. A ``while`` in f may end for some inputs and not for others: that is a
    TimeoutError, at the next operation."""
    end = process_time() + LONGEST

    def check_time(_: object) -> None:
        if process_time() > end:
            raise TimeoutError(f"not over after {LONGEST:g} s. Is there a loop that does not end?")

    with listening(check_time):
        root, name = f(**variables), getattr(f, "__name__", "")
    for v in [v for v in variables.values() if v is root]:
        root = +v
        root.name = name if name.isidentifier() else f"+{v.name}"
    if isinstance(root, Operation) and name.isidentifier() and titles_of([root.grad_fn]).name(root.grad_fn) is None:
        root.name = name
    return root


def why_unsuited(root: Node) -> str | None:
    """Why a page cannot compute this graph by itself; None if it can."""
    trace_row.cache_clear()  # a user's rule may have read a global name that has another value now
    order = topological(root.grad_fn)
    if len(order) > LARGEST:
        return f"there are {len(order):,} operations"
    for record in order:
        name = clean(record.node_name if record.parents else record.name)
        if record.shape != () or any([np.shape(x) for x in (record.operands if record.parents else ())]):
            return f"{name} is or uses an array"
        if str(record.dtype) != "float64":
            return f"{name} is {record.dtype}"
        if record.parents and find_row(record) is None:
            return f"{clean(record.rule.name)} has no JavaScript"
    return None


def has_branches(f: AnyFunction, root: Node, inputs: dict[Any, Slider], variables: ByName) -> str | None:
    """Does the function compute something else for other inputs (an ``if``, a comparison), or fail? Tried at the ends
    of each slider, and at a few others."""
    rng, start, in_graph = np.random.default_rng(0), {v: s.start for v, s in inputs.items()}, variables_of(root)
    places = [{**start, v: end} for v, s in inputs.items() for end in (s.low, s.high)]
    for at in [*places, *[{v: rng.uniform(s.low, s.high) for v, s in inputs.items()} for _ in range(TRIES)]]:
        try:
            with np.errstate(all="ignore"):
                moved = {name: Variable(at.get(v, v.value), name) for name, v in variables.items()}
                theirs = np.asarray(output_of(f, moved), float)
        except Exception as error:
            return f"the function raises {type(error).__name__} for other inputs"
        ours = replay_node(root, {v: x for v, x in at.items() if v in in_graph})  # an n may be in range(int(n)) only
        if theirs.shape != ours.shape or not np.allclose(theirs, ours, rtol=1e-9, atol=1e-300, equal_nan=True):
            return "the function computes something else for other inputs (an if, a comparison, or float(x))"
    return None


SAMPLES, COLUMNS, LINES = 80, 24, 16  # places of a curve, of contours
SECONDS = 0.4  # for all of them; a slow function gets fewer
ESM = "export default { render({ model, el }) { widget(model, el); } }"


@cache
def model_class() -> Any:
    """The model: one number per slider, the picture as SVG, a note. ``point`` is the output's name and value, and its
    gradient; ``axes`` says which sliders the plot is over (-1: the output itself); ``samples`` is the output on a grid
    over them."""
    return widget_class(
        "Sliders", script() + ESM, inputs="List", values="List", picture="Unicode", note="Unicode", colours="Unicode",
        digits="Int", point="Dict", axes="List", samples="Dict",
    )  # fmt: skip


def widget(page: Explorer) -> Any:
    """The widget of a page of sliders; it draws again whenever a slider moves."""
    sliders = [asdict(s) for _, _, s in page.places]
    start = [s.start for _, _, s in page.places]
    first = point(page, page.root, {v: v for v, *_ in page.places}, start)
    axes = [0, 1 if len(page.places) == 2 else -1]
    model = model_class()(
        inputs=sliders, values=start, digits=page.picture.look.digits, picture=page.picture.to_svg(),
        colours=properties("autoflow-widget", "auto"), point=first, axes=axes,
    )  # fmt: skip

    where: list[Any] = [None]  # what the grid was computed for

    def draw(change: Any) -> None:
        try:
            if change["name"] == "values":
                root, new = root_at(page, model.values)
                model.picture = picture_of(page, root).to_svg()
                model.point, model.note = point(page, root, new, model.values), ""
            fixed = tuple([x for k, x in enumerate(model.values) if k not in model.axes])
            if model.point and where[0] != (tuple(model.axes), fixed):  # it does not change with the axes' own sliders
                model.samples = on_grid(page, model.values, model.axes)
                where[0] = tuple(model.axes), fixed
        except Exception as error:
            model.note = f"{type(error).__name__}: {clip(clean(error), 200)}"

    model.observe(draw, ["values", "axes"])
    draw({"name": "axes"})
    return model


def root_at(page: Explorer, values: Sequence[float]) -> tuple[Any, dict[Any, Any]]:
    """The output at other values, and the Variables there by those here."""
    moved: dict[Any, Any] = {}
    for (v, k, _), value in zip(page.places, values, strict=True):
        moved.setdefault(v, v.value.copy()).reshape(-1)[k] = value
    if page.f:
        f, variables = page.f
        new = {v: Variable(moved.get(v, v.value), name) for name, v in variables.items()}
        root = output_of(f, dict(zip(variables, new.values(), strict=True)))
        return root if isinstance(root, Node) else Constant(1.0 * root), new  # in "x if x > 0 else 0.0" the other way
    return record_again(page.root, moved)


def point(page: Explorer, root: Node, new: dict[Any, Any], values: Sequence[float]) -> dict[str, Any]:
    """Where the plot stands: the values, the output, and the gradient of each slider, 0 if the output does not depend
    on it. Nothing if the output is not one real number."""
    if root.shape or root.dtype.kind != "f":
        return {}
    gradients = dict(run_pass(root)) if isinstance(root, Operation) else {}
    slopes = [finite(np.ravel(gradients.get(new[v], np.zeros(v.shape)))[k]) for v, k, _ in page.places]
    return {"title": page.picture.title, "at": list(values), "value": finite(root), "gradients": slopes}


@np.errstate(all="ignore")
def on_grid(page: Explorer, values: Sequence[float], axes: Sequence[int]) -> dict[str, Any]:
    """The output over one slider or two, the others where they are: rows of numbers.

    A function may take long, so after SECONDS the grid is what there is: fewer places, evenly spread.
    """
    a, b = axes
    columns, lines = (COLUMNS, LINES) if b >= 0 else (SAMPLES, 0)
    begin = process_time()
    root_at(page, values)
    allowed = SECONDS / max(process_time() - begin, 1e-6)
    while columns > 8 and (columns + 1) * (lines + 1) > allowed:
        columns, lines = columns // 2, lines // 2

    def along(k: int, steps: int) -> list[float]:
        return np.linspace(page.places[k][2].low, page.places[k][2].high, steps + 1).tolist()

    def moved(x: float, y: float) -> list[float]:
        return [x if k == a else y if k == b else v for k, v in enumerate(values)]

    rows = along(b, lines) if lines else [0.0]
    grid = [[finite(root_at(page, moved(x, y))[0]) for x in along(a, columns)] for y in rows]
    return {"axes": list(axes), "grid": grid}


def finite(x: Any) -> float | None:
    """A number for JSON, which has no NaN and no infinity."""
    return float(x) if np.isfinite(x) else None
