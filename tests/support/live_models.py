"""The six models of the site's live pages, for programs as text and for live pages."""

from functools import cache

import live_pages
import numpy as np
import pytest

import autoflow as af

PAGES = {make.__name__: make for make in live_pages.TITLES}
MODELS = [*PAGES]
HELPERS = """
const host = document.querySelector('.autoflow-live'), L = host.live, $ = L.$, root = host.shadowRoot;
const click = (...ids) => ids.forEach((id) => $(id).click());
const card = (title) => L.drawn().find((c) => c.c.title === title);
const heading = () => root.querySelector('.panel h2').textContent;
const hidden = (title) => [card(title).g.querySelector('.gradient').textContent, $('gradientText').textContent];
const say = (sign) => root.querySelector(`[data-say="${sign}"]`).click();
const place = (e) => (({ left, top, width, height }) => [left, top, width, height])(e.getBoundingClientRect());
const all = (list) => list.map((a) => Array.from(a));
const frames = (n) => new Promise((done) => {
  const next = () => (n-- ? requestAnimationFrame(next) : done());
  next();
});
const until = (step) => new Promise((done) => {
  const look = () => (L.state.at > step ? done() : setTimeout(look, 5));
  look();
});
"""


@cache
def page(name):
    return PAGES[name](np.random.default_rng(3), name)


def model(name):
    """The loss, the prediction, parameters and data by name, and the learning rate of gradient descent."""
    if name == "digits":
        pytest.importorskip("sklearn")
    study, settings = page(name).study, page(name).settings
    lr = settings["lr"] * (2 if settings["rule"] == "adam" else 1)
    return study.loss, study.predict, study.params, study.data, lr


def page_of(name, **options):
    """One of them."""
    loss, predict, params, data, lr = model(name)
    return af.live(loss, params, data, predict, **{"lr": lr, **options})


def drag(one, start, by):
    """With the pointer."""
    for kind, share in [("mousePressed", 0), *[("mouseMoved", k / 5) for k in range(1, 6)], ("mouseReleased", 1)]:
        x, y = [a + share * b for a, b in zip(start, by, strict=True)]
        held = int(kind != "mouseReleased")
        one.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=held, clickCount=1)
