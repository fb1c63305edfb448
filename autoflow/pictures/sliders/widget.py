"""Sliders whose numbers Python computes: for arrays, and for functions that take different ways.

The page is the same script as in :mod:`.explore`; the model carries the sliders' values to Python, and a new picture
back. A recorded graph is recorded once more at the new values, a function is called again. For the plot the model
carries which sliders it is over, and the output on a grid back. A step downhill moves the sliders against the gradient
in ``point``; what it did is told when the next one has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from ...forward.naming import names_of
from ...forward.replay import record_again
from ...nodes.nodes import Variable
from ..model.data import FEW_NUMBERS
from ..model.style import clean, clip
from ..render.svg import properties
from ..walk import graph, identity_of
from .live import Slider, script, slider, variables_of

if TYPE_CHECKING:
    from ..walk import Graph

Page = Any  # an Explorer: explore.py imports this file
SAMPLES, COLUMNS, LINES = 80, 24, 16  # places of a curve, of contours
SECONDS = 0.4  # for all of them; a slow function gets fewer
ESM = "export default { render({ model, el }) { widget(model, el); } }"


@cache
def model_class() -> Any:
    """The model: one number per slider, the picture as SVG, a note. (anywidget is imported when it is needed.)"""
    import anywidget
    import traitlets

    class Sliders(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = script() + ESM
        inputs = traitlets.List().tag(sync=True)
        values = traitlets.List().tag(sync=True)
        picture = traitlets.Unicode().tag(sync=True)
        note = traitlets.Unicode().tag(sync=True)
        colours = traitlets.Unicode().tag(sync=True)
        digits = traitlets.Int(4).tag(sync=True)
        point = traitlets.Dict().tag(sync=True)  # the output's name and value, and its gradient
        axes = traitlets.List().tag(sync=True)  # which sliders the plot is over; -1: the output itself
        samples = traitlets.Dict().tag(sync=True)  # the output on a grid over these axes

    return Sliders


def widget(page: Page) -> Any:
    """The widget of a page of sliders; it draws again whenever a slider moves."""
    places = elements(page)
    shown = [{"title": s.title, "low": s.low, "high": s.high, "start": s.start} for _, _, s in places]
    start = [s.start for _, _, s in places]
    axes = [0, 1 if len(places) == 2 else -1]
    made = model_class()(
        inputs=shown, values=start, digits=page.picture.look.digits, picture=page.picture.to_svg(),
        colours=properties("autoflow-widget", "auto"), point=point(page, places, page.picture, start),
        axes=axes,
    )  # fmt: skip

    known: list[Any] = [None]  # what the grid was computed for

    def draw(change: Any) -> None:
        try:
            if change["name"] == "values":
                picture = redraw(page, places, made.values)
                made.picture, made.point, made.note = picture.to_svg(), point(page, places, picture, made.values), ""
            fixed = tuple([x for k, x in enumerate(made.values) if k not in made.axes])
            if made.point and known[0] != (tuple(made.axes), fixed):  # it does not change with the axes' own sliders
                made.samples = on_grid(page, places, made.values, made.axes)
                known[0] = tuple(made.axes), fixed
        except Exception as error:
            made.note = f"{type(error).__name__}: {clip(clean(error), 200)}"

    made.observe(draw, ["values", "axes"])
    draw({"name": "axes"})
    return made


def elements(page: Page) -> list[tuple[Any, int, Slider]]:
    """What moves: the numbers, and the elements of small arrays: (Variable, place in it, slider)."""
    variables = [v for _, v in sorted(page.f[1].items())] if page.f else variables_of(page.root)
    places = []
    for v in variables:
        if v in page.inputs:
            places.append((v, 0, page.inputs[v]))
        elif v.size <= FEW_NUMBERS and v.dtype.kind == "f":
            names = [f"{clean(v.name)}[{', '.join(map(str, np.unravel_index(k, v.shape)))}]" for k in range(v.size)]
            places += [(v, k, slider(name, None, v.value.reshape(-1)[k])) for k, name in enumerate(names)]
    return places


def root_at(page: Page, places: list[tuple[Any, int, Slider]], values: Sequence[float]) -> tuple[Any, Any]:
    """The output at other values, and what its nodes are called."""
    moved: dict[Any, Any] = {}
    for (v, k, _), value in zip(places, values, strict=True):
        moved.setdefault(v, v.value.copy()).reshape(-1)[k] = value
    if page.f:
        f, variables = page.f
        return f(**{name: Variable(moved.get(v, v.value), name) for name, v in variables.items()}), page.bound
    root, new = record_again(page.root, moved)
    return root, page.bound.kept({id(old): id(identity_of(node)) for old, node in new.items()})


def redraw(page: Page, places: list[tuple[Any, int, Slider]], values: Sequence[float]) -> Graph:
    """The picture at other values."""
    root, bound = root_at(page, places, values)
    with names_of(bound):
        return graph(root, gradients=True, theme=page.picture.look.theme)


def point(
    page: Page, places: list[tuple[Any, int, Slider]], picture: Graph, values: Sequence[float]
) -> dict[str, Any]:  # fmt: skip
    """Where the plot stands: the values, the output, and the gradient of each slider, 0 if the output does not depend
    on it. Nothing if the output is not one number."""
    output = picture.nodes[picture.outputs[0]]
    if not (output.value.scalar and output.value.elements) or output.value.dtype.startswith("complex"):
        return {}
    known = {v.name: v.gradient.elements for v in picture.nodes if v.kind == "Variable" and v.gradient}
    slopes = [(known.get(clean(v.name)) or (0.0,) * (k + 1))[k] for v, k, _ in places]
    value = finite(output.value.elements[0])
    gradients = [finite(x) for x in slopes]
    return {"title": page.picture.title, "at": list(values), "value": value, "gradients": gradients}


def on_grid(
    page: Page, places: list[tuple[Any, int, Slider]], values: Sequence[float], axes: Sequence[int]
) -> dict[str, Any]:
    """The output over one slider or two, the others where they are: rows of numbers.

    A function may take long, so after SECONDS the grid is what there is: fewer places, evenly spread.
    """
    a, b = axes
    columns, lines = (COLUMNS, LINES) if b >= 0 else (SAMPLES, 0)
    begin = process_time()
    at(page, places, values)
    allowed = SECONDS / max(process_time() - begin, 1e-6)
    while columns > 8 and (columns + 1) * (lines + 1) > allowed:
        columns, lines = columns // 2, lines // 2
    low, high = places[a][2].low, places[a][2].high
    grid = []
    for j in range(lines + 1):
        row = list(values)
        if lines:
            row[b] = places[b][2].low + (places[b][2].high - places[b][2].low) * j / lines
        grid.append([
            finite(at(page, places, [*row[:a], low + (high - low) * i / columns, *row[a + 1 :]]))
            for i in range(columns + 1)
        ])  # fmt: skip
    return {"axes": list(axes), "grid": grid}


def at(page: Page, places: list[tuple[Any, int, Slider]], values: Sequence[float]) -> float:
    """The output at other values, alone."""
    with np.errstate(all="ignore"):
        return float(root_at(page, places, values)[0])


def finite(x: Any) -> float | None:
    """A number for JSON, which has no NaN and no infinity."""
    return float(x) if x is not None and np.isfinite(x) else None
