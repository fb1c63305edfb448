"""The six models of the site's live pages, for programs as text and for live pages."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "site"))
import live_pages

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
