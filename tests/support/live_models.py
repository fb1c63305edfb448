"""The six models of the site's live pages, for programs as text and for live pages."""

from functools import cache

import live_pages
import numpy as np
import pytest

import autoflow as af

PAGES = {make.__name__: make for make in live_pages.TITLES}
MODELS = [*PAGES]


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
