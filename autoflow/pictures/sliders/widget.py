"""Sliders whose numbers Python computes: for arrays, and for functions that take different ways.

The page is the same script as in :mod:`.explore`; the model carries the sliders' values to Python, and a new picture
back. A recorded graph is recorded once more at the new values, a function is called again.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...forward.replay import record_again
from ...nodes.nodes import Variable
from ..model.callers import names_of
from ..model.numbers import FEW
from ..model.style import clean, clip
from ..render.css import properties
from ..walk import graph, identity_of
from .live import script
from .ranges import Slider, slider

if TYPE_CHECKING:
    from .explore import Explorer

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

    return Sliders


def widget(page: Explorer) -> Any:
    """The widget of a page of sliders; it draws again whenever a slider moves."""
    places = elements(page)
    shown = [{"title": s.title, "low": s.low, "high": s.high, "start": s.start} for _, _, s in places]
    made = model_class()(
        inputs=shown, values=[s.start for _, _, s in places], digits=page.picture.look.digits,
        picture=page.picture.to_svg(), colours=properties("autoflow-widget", "auto"),
    )  # fmt: skip

    def draw(change: Any) -> None:
        try:
            made.picture, made.note = redraw(page, places, change["new"]), ""
        except Exception as error:
            made.note = f"{type(error).__name__}: {clip(clean(error), 200)}"

    made.observe(draw, "values")
    return made


def elements(page: Explorer) -> list[tuple[Any, int, Slider]]:
    """What moves: the numbers, and the elements of small arrays: (Variable, place in it, slider)."""
    variables = [v for _, v in sorted(page.f[1].items())] if page.f else page_variables(page)
    places = []
    for v in variables:
        if v in page.inputs:
            places.append((v, 0, page.inputs[v]))
        elif v.size <= FEW and v.dtype.kind == "f":
            names = [f"{clean(v.name)}[{', '.join(map(str, np.unravel_index(k, v.shape)))}]" for k in range(v.size)]
            places += [(v, k, slider(name, None, v.value.reshape(-1)[k])) for k, name in enumerate(names)]
    return places


def page_variables(page: Explorer) -> list[Any]:
    """The Variables of a recorded graph, in the order of their creation."""
    seen, stack = set(), [page.root.grad_fn]
    while stack:
        r = stack.pop()
        if r is not None and r not in seen:
            seen.add(r)
            stack += r.parents
    return sorted([r for r in seen if not r.parents], key=lambda v: v.number)


def redraw(page: Explorer, places: list[tuple[Any, int, Slider]], values: list[float]) -> str:
    """The picture at other values."""
    moved: dict[Any, Any] = {}
    bound = page.bound
    for (v, k, _), value in zip(places, values, strict=True):
        moved.setdefault(v, v.value.copy()).reshape(-1)[k] = value
    if page.f:
        f, variables = page.f
        root = f(**{name: Variable(moved.get(v, v.value), name) for name, v in variables.items()})
    else:
        root, new = record_again(page.root, moved)
        bound = bound.kept({id(old): id(identity_of(node)) for old, node in new.items()})
    with names_of(bound):
        return graph(root, gradients=True, theme=page.picture.look.theme).to_svg()
