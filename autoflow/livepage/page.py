"""``af.live``: the page as one file, and what a notebook shows."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from html import escape
from typing import Any

import numpy as np

from ..base.errors import CompileError
from ..pictures.model.style import clean, clip
from ..pictures.pages.html import document, key_of, pack_file, wrap_script
from ..pictures.pages.stepper import MovingPage, widget_class
from ..pictures.render.svg import properties
from ..table.shapes import AnyFunction, is_number
from .cards import describe, draw
from .study import NO_PREDICTION, POINTS, SIDE, Study, ends

FILES = ("training.js", "paint.js", "graph.js", "panel.js", "page.js")
RULES = ("sgd", "momentum", "adam")
LARGEST = 120  # cards
BYTES = 400_000  # of a page
NO_FALLBACK = ", or say af.compile(f, fallback=True)"  # which does not help here
DIGITS = 15  # of data in the page; parameters have all


class LivePage(MovingPage):
    """A page on which a network trains. Notebooks show it; ``save("page.html")`` writes one self-contained file.

    params : the parameters by name: those given; in a notebook with the extra ``widget``, those of the page as it was
        when it last paused.
    reason : why the browser cannot compute it, and there is only a picture; None if it can.
    """

    what = "a live page"

    def __init__(self, study: Study, title: str, lr: float, momentum: float, rule: str) -> None:
        self.study, self.title, self.picture = study, title, draw(study)
        self.params = {name: p.copy() for name, p in study.params.items()}
        self.settings = {"lr": lr, "momentum": momentum or 0.9, "rule": rule}
        self.reason, self.program, self.about = None, "", dict[str, Any]()
        try:
            self.program, self.about = self.build()
        except CompileError as error:
            self.reason = clean(str(error).replace(NO_FALLBACK, ""))

    @property
    def style(self) -> str:
        """The style sheet."""
        return pack_file("live.css", __package__ or "")

    @property
    def module(self) -> str:
        """The script of every page, and the two programs of this one."""
        return f"{script()}\n{self.program}"

    def build(self) -> tuple[str, dict[str, Any]]:
        """The two programs in JavaScript, and the data of the page."""
        study = self.study
        if len(study.records) > LARGEST:
            raise CompileError(f"the loss has {len(study.records)} operations, and a page shows at most {LARGEST}")
        prediction, shape = study.record_prediction() if study.predict is not None else (NO_PREDICTION, ())
        cards, edges, layouts = describe(study, self.picture)
        first, last = next(iter(study.data), None), next(reversed(study.data), None)
        about = {
            "title": escape(self.title), **self.settings, "names": [*study.params], "operations": len(study.records),
            "params": [p.ravel().tolist() for p in study.params.values()],
            "data": [rounded(study.data[name]) for name in study.moving],
            "x": fixed(study, first), "shape": np.shape(study.data[first]) if first else [],
            "labels": fixed(study, last), "kind": study.kind,
            "area": study.area, "side": SIDE, "points": POINTS,
            "classes": self.classes(shape), "cards": cards, "layouts": layouts,
            "source": [one.lines for one in study.sources],
        }  # fmt: skip
        program = f"{study.record_step(edges)}\n{prediction}"
        if (size := len(json.dumps(about)) + len(program) + len(script())) > BYTES:
            raise CompileError(f"its page would have {size // 1000} kB of at most {BYTES // 1000}: take fewer data")
        return program, about

    def classes(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """How targets name a class, and from which value on a single predicted number means the first one."""
        count = shape[-1] if len(shape) > 1 else 1
        data, summary = [*self.study.data.values()], {"count": count, "targets": "none", "middle": 0}
        if len(data) < 2 or data[-1].size not in (n := len(np.atleast_1d(data[0])), n * count):
            return summary  # no targets, or none of single points
        t = data[-1]
        if count > 1:
            is_class = bool(np.isin(t, range(count)).all())
            return summary | {"targets": "hot" if t.size > n else "labels" if is_class else "none"}
        low, high = ends(t)
        is_share = self.study.predict is not None and low >= 0 and self.predicts_shares()
        return summary | {"targets": "sign", "middle": 0.5 if is_share else 0, "at": (low + high) / 2}

    def predicts_shares(self) -> bool:
        """Does the prediction lie between 0 and 1, also for other parameters? (At first they may all be 0.)"""
        rng, data = np.random.default_rng(0), [*self.study.data.values()]
        for far in (0.0, 3.0, 30.0):
            params = [p + (far * rng.normal(size=p.shape)).astype(p.dtype) for p in self.params.values()]
            with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):  # the others may be none
                y = np.asarray(self.study.call(self.study.predict, params, data))
                if np.any((y < 0) | (y > 1)):
                    return False
        return True

    # -- as a file, and in a notebook

    def to_html(self, *, full: bool = True) -> str:
        """A self-contained page: it needs neither a network nor Python.

        full : False gives the content of its body.
        """
        text, program = self.fragment(full)
        body = "body{background:var(--bg);margin:0 auto;padding:12px 14px 30px;max-width:1500px}"
        styles = properties("autoflow-page", "auto") + body
        return document(self.title, text, program, styles, attributes=' class="autoflow-page"') if full else text

    def fragment(self, full: bool) -> tuple[str, str]:
        """The content of a cell, and the program in it."""
        if self.reason is not None:
            return self.without_program(self.reason)
        about = json.dumps({**self.about, "full": full, "css": self.style}, ensure_ascii=False).replace("<", "\\u003c")
        key = key_of(self.program + about)
        start = f'for (const host of document.querySelectorAll("[data-key={key!r}]:not([data-live])")) {{'
        start += f'host.dataset.live = "";host.live = live(host, {about}, makeStep, makePrediction);}}'
        program = wrap_script(self.module, start)
        style = "" if full else f"<style>{properties('autoflow-live', 'auto')}</style>"
        note = "<noscript>This page needs JavaScript.</noscript>"
        return f'{style}<div class="autoflow-live" data-key="{key}">{note}</div><script>{program}</script>', program

    def __repr__(self) -> str:
        shapes = ", ".join([f"{name} {np.shape(p)}" for name, p in self.params.items()])
        tail = f": a picture only, since {self.reason}" if self.reason else '; .save("page.html") writes it'
        return f"<live page of {self.title}: {shapes}{tail}>"

    def widget_bundle(self) -> Any:
        """What IPython shows for a widget; None if there is only a picture."""
        if self.reason is not None:
            return None
        data, metadata = widget(self)._repr_mimebundle_()
        return {**data, "text/plain": repr(self)}, metadata


@cache
def script() -> str:
    """The script that every page runs, as one function."""
    pieces = [pack_file(name, __package__) for name in FILES]
    return "\n".join(["function live(host, A, makeStep, makePrediction, notify) {", *pieces, "}"])


def rounded(x: np.ndarray) -> list[float]:
    """Numbers for the page, rounded to the accuracy of data."""
    return [float(f"{v:.{DIGITS}g}") for v in np.ravel(x).tolist()]


def fixed(study: Study, name: str | None) -> list[float] | None:
    """The numbers of an array that cannot be changed in the page."""
    return None if name is None or name in study.moving else rounded(study.data[name])


def live(
    loss: AnyFunction, params: object, data: object = (), predict: AnyFunction | None = None, *,
    lr: float = 0.1, momentum: float = 0.0, optimizer: str | None = None, grid: object = None, title: str | None = None,
) -> LivePage:  # fmt: skip
    """A page on which your own loss trains: the graph with all values and gradients, the curve of the loss, data and
    prediction, live. It runs entirely in the browser. Points and weights can be dragged.

    loss : a NumPy function that returns one number. It is called with the names in ``params`` and ``data`` if its
        parameters have these names, as in ``loss(w, b, x, t)``; otherwise as ``loss(params, x, t)``.
    params : a dict of arrays; or an array, a list, nested containers, which the loss then gets as they are.
    data : a dict of arrays, or a tuple: first the inputs of the prediction, last the targets. A loss may need none.
    predict : the prediction, from the same parameters and the first array of the data. For points of two numbers the
        page shows it on the plane, for points of one as a curve, for square images as their classes; otherwise each
        predicted number beside its target. If the loss begins with it, the cards of its units show their values on the
        plane.
    lr, momentum : for the first step; the page has sliders. SGD, with momentum if it is not 0; if that is switched on
        in the page, it begins with 0.9.
    optimizer : "sgd", "momentum" or "adam", to begin with. None: decided by ``momentum``.
    grid : the area that is shown: left, right, bottom, top. None: around the data.
    title : of the page; None takes the name of the loss.

    Returns a page with ``save``, ``to_html`` and ``reason``. Losses that draw random numbers, ask for values
    (``if x > 0``), or call functions that JavaScript lacks cannot be live: ``reason`` says why, and there is only a
    picture.

    Raises InputError for a loss that is not a number, or does not depend on ``params``; ValueError for unknown options.

    >>> def loss(w, b, x, t):
    ...     z = x @ w + b
    ...     return np.mean(np.logaddexp(0.0, -t * z))
    >>> x = np.array([[0.5, 1.0], [-1.0, 0.25], [1.0, -0.5]])
    >>> params = {"w": np.zeros(2), "b": np.array(0.0)}
    >>> page = live(loss, params, {"x": x, "t": np.array([1.0, -1.0, 1.0])}, predict=lambda w, b, x: x @ w + b)
    >>> page
    <live page of loss: w (2,), b (); .save("page.html") writes it>
    >>> page.reason is None, len(page.to_html()) < 400_000
    (True, True)
    """
    rule = optimizer or ("momentum" if momentum else "sgd")
    if rule not in RULES:
        raise ValueError(f"optimizer is one of {', '.join(map(repr, RULES))}, or None; not {clip(repr(rule), 40)}")
    if not (is_number(lr) and is_number(momentum)) or not 0 < lr < np.inf or not 0 <= momentum < 1:
        raise ValueError(f"lr has to be positive and finite, and momentum in [0, 1), not {lr} and {momentum}")
    name = title or getattr(loss, "__name__", "loss").replace("<lambda>", "loss").replace("_", " ")
    return LivePage(Study(loss, params, data, predict, grid), name, float(lr), float(momentum), rule)


# ---------------------------------------------------------------- the widget: the same face, and weights come back


def widget(page: LivePage) -> Any:
    """The widget of a page; whenever it pauses, ``page.params`` gets its weights: ``state`` is the step, the loss, and
    the parameters as flat lists."""
    script = f"{page.module}\n{pack_file('widget.js', __package__)}"
    kind = widget_class("Live", script, about="Dict", colours="Unicode", state="Dict")
    view = kind(about={**page.about, "full": False, "css": page.style}, colours=properties("autoflow-live", "auto"))

    def take(change: Any) -> None:
        for (name, old), flat in zip(page.study.params.items(), change["new"]["params"], strict=True):
            page.params[name] = np.array(flat, old.dtype).reshape(old.shape)

    view.observe(take, ["state"])
    return view
