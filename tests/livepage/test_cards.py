"""The cards of a page: what they show, how large they are, and where they lie."""

import itertools

import numpy as np
import pytest
from live_models import MODELS, page_of

import autoflow as af


def test_units_of_layers_are_maps_and_their_weights_are_not():
    """Also weights that a loop takes out of one array: they are operations of the prediction, but of no point."""
    rng = np.random.default_rng(0)
    params = {"first": rng.normal(size=(2, 3)), "inner": rng.normal(size=(2, 3, 3)), "last": rng.normal(size=3)}

    def predict(first, inner, last, x):
        h = x @ first
        for w in inner:
            h = np.tanh(h @ w)
        total = np.sum(w)
        return h @ last + total

    def loss(first, inner, last, x, t):
        return np.mean((predict(first, inner, last, x) - t) ** 2)

    page = af.live(loss, params, {"x": rng.normal(size=(7, 2)), "t": np.ones(7)}, predict)
    shapes = [tuple(c["shape"]) for c in page.about["cards"] if c.get("map") is not None]
    assert shapes == [(7, 3)] * 5 + [(7,)] * 2
    operations = {tuple(c["shape"]) for c in page.about["cards"] if c["kind"] == "Operation" and c["map"] is None}
    assert {(3, 3), ()} <= operations


def penalised():
    """Weights of three layers are used once more, far below, so that their arrows begin anew there."""
    shapes = {"W1": (2, 16), "b1": 16, "W2": (16, 16), "b2": 16, "W3": (16, 1), "b3": 1}

    def predict(p, x):
        h = np.tanh(x @ p["W1"] + p["b1"])
        h = np.tanh(h @ p["W2"] + p["b2"])
        return (h @ p["W3"] + p["b3"])[:, 0]

    def loss(p, x, t):
        return np.mean(np.maximum(0, 1 - t * predict(p, x))) + 1e-3 * sum([np.sum(p[f"W{k}"] ** 2) for k in (1, 2, 3)])

    params = {name: np.ones(shape) for name, shape in shapes.items()}
    return af.live(loss, params, (np.ones((40, 2)), -np.ones(1)), predict)


@pytest.mark.parametrize("name", [*MODELS, "penalised"])
def test_cards_have_room_and_do_not_overlap_and_arrows_end_at_them(name):
    for layout in (penalised() if name == "penalised" else page_of(name)).about["layouts"].values():
        boxes = layout["boxes"]
        for _, target, _, _, *points in layout["edges"]:
            (x, y, wide, high), tip = boxes[target], points[-2:]
            along, across = (tip[1] - y, tip[0] - x) if layout["down"] else (tip[0] - x, tip[1] - y)
            assert abs(along) < 1
            assert 0 < across < (wide if layout["down"] else high)
        assert all([wide >= 100 and high >= 20 for _, _, wide, high in boxes])
        for (x, y, wide, high), (a, b, w, h) in itertools.combinations(boxes, 2):
            assert x + wide <= a or a + w <= x or y + high <= b or b + h <= y


def test_only_of_elementwise_operations_each_entry_is_a_product():
    page = af.live(lambda w, x: np.sum(np.tanh(np.sort(np.cumsum(w * x)))), {"w": np.ones(3)}, {"x": np.ones(3)})
    sent = {card["word"]: card["sends"][0]["alone"] for card in page.about["cards"] if "sends" in card}
    assert sent == {"multiply": True, "cumsum": False, "sort": False, "tanh": True, "sum": False}


def test_marks_count_letters_and_not_bytes():
    def loss(w, x):
        αβγ = np.exp
        return np.mean(αβγ(x @ w) + np.sum(w * w))

    page = af.live(loss, {"w": np.ones(2)}, {"x": np.ones((3, 2))})
    found = {}
    for card in page.about["cards"]:
        if card.get("place"):
            function, line, begin, _, end = card["place"]
            found[card["name"]] = page.about["source"][function][line][begin:end]
    assert found["x @ w"] == "x @ w"
    assert found["loss"] == "np.mean(αβγ(x @ w) + np.sum(w * w))"
