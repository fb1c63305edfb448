"""Where things stand: the direction that reads best, rows without holes, leaves beside their use, stubs."""

import math

import eyes
import numpy as np
import pytest
from gallery import make

import autoflow as af
from autoflow.pictures.layout.layers import Box, Line, Plan
from autoflow.pictures.layout.rows import wrapped
from autoflow.pictures.layout.scoring import PAGE, cost, crossings


def network():
    """Two layers without boxes, on plain arrays."""
    x, t = af.Constant(make.spread(32, 4), name="x"), af.Constant(make.spread(32, 3), name="t")
    w1, b1 = af.Variable(make.spread(4, 16), name="W1"), af.Variable(np.zeros(16), name="b1")
    w2, b2 = af.Variable(make.spread(16, 3), name="W2"), af.Variable(np.zeros(3), name="b2")
    loss = np.mean((np.tanh(x @ w1 + b1) @ w2 + b2 - t) ** 2)
    loss.backward()
    return af.graph(loss, legend=False)


def titled(graph):
    return {v.title: v.id for v in graph.drawn.nodes}


def test_attention_reads_from_top_to_bottom():
    g = make.attention(legend=False)
    assert g.look.direction == "down"
    root = eyes.root_of(g)
    wide, _ = eyes.size(root)
    assert wide <= 1000
    assert eyes.crossings(root) <= 2
    cards, number = eyes.cards(root), titled(g)
    for (source, target, _), path in eyes.arrows(root).items():
        assert path[-1][1] > path[0][1]  # nothing goes back up
        assert eyes.length(path) <= 1.35 * math.dist(path[0], path[-1]) + 160, (source, target)  # nor round the page
    for leaf, use in (("Wq", "q"), ("Wk", "k"), ("Wv", "v")):
        assert cards[number[use]][1] - cards[number[leaf]][3] < 110
    assert cards[number["q"]][1] - cards[number["words"]][3] < 300
    assert not stubs(root)


def test_a_network_of_two_layers_fills_its_rows():
    g = network()
    assert g.look.direction == "rows"
    root = eyes.root_of(g)
    wide, high = eyes.size(root)
    assert high < 700
    for row in rows_of(eyes.cards(root)):
        assert max([right for _, _, right, _ in row]) > 0.8 * wide  # no half-empty row
    cards, number = eyes.cards(root), titled(g)
    for leaf, use in (("W1", "x @ W1"), ("b1", "x @ W1 + b1"), ("b2", None), ("t", None)):
        target = number[use] if use else next(e.target for e in g.drawn.edges if e.source == number[leaf])
        assert 0 < cards[target][0] - cards[number[leaf]][2] < 220  # a leaf goes with its use into the next row
        assert abs(cards[target][1] - cards[number[leaf]][1]) < 250
    assert eyes.crossings(root) == 0
    assert not stubs(root)


def rows_of(cards):
    """The cards in rows: those of one row overlap in height, directly or by others."""
    rows, low = [], -math.inf
    for card in sorted(cards.values(), key=lambda card: card[1]):
        if card[1] > low:
            rows.append([])
        rows[-1].append(card)
        low = max(low, card[3])
    return rows


def stubs(root):
    """Texts at the ends of cut arrows, and the cards that they lead to."""
    return [(t.text, int(t.get("data-goto"))) for t in root.iter(eyes.SVG + "text") if t.get("data-goto")]


def far():
    """A value that is used again a row later, and a leaf that is used in each."""
    x, w = af.Variable(make.spread(8, 8), name="x"), af.Variable(make.spread(8, 8), name="W")
    near = x @ w
    y = near
    for _ in range(8):
        y = np.tanh(y @ w)
    total = np.sum(y + near)
    return af.graph(total, direction="rows", legend=False, gradients=True)


def test_what_is_used_far_away_has_a_labelled_stub_at_both_ends():
    g = far()
    root, number = eyes.root_of(g), titled(g)
    found = stubs(root)
    use = next(e.target for e in g.drawn.edges if e.source == number["near"] and g.drawn.nodes[e.target].word == "add")
    assert ("near", number["near"]) in found  # where it is used: leads to where it was made
    assert [goal for text, goal in found if text.startswith("→ ") and goal == use]  # and the other way round
    cards, ways = eyes.cards(root), eyes.arrows(root)
    (key,) = [key for key in ways if key[:2] == (number["near"], use)]
    assert eyes.length(ways[key]) < 1600  # it does not run round a row
    for place in [t for t in root.iter(eyes.SVG + "text") if t.get("data-goto")]:
        x, y = float(place.get("x")), float(place.get("y"))
        assert not any([eyes.over(card, [(x, y - 4)]) for card in cards.values()])


@pytest.mark.parametrize("name", make.GALLERY)
def test_no_box_is_crossed_by_a_foreign_arrow(name):
    g = make.GALLERY[name](legend=False)
    drawn, root = g.drawn, eyes.root_of(g)
    frames = eyes.boxes(root)
    assert len(frames) == len(drawn.frames)
    for frame, rectangle in zip(drawn.frames, frames, strict=True):
        inside = {v.id for v in drawn.nodes if v.entered[: len(frame.path)] == frame.path}
        for (source, target, slot), path in eyes.arrows(root).items():
            if source not in inside and target not in inside:
                assert not eyes.over(rectangle, path), (frame.title, source, target, slot)


def test_small_pictures_are_not_tried_out(monkeypatch):
    from autoflow.pictures.render import directions

    monkeypatch.setattr(directions, "price", None)  # would raise
    assert make.lesson().look.direction == "right"
    assert make.square().look.direction == "right"


# ------------------------------------------------------------------ the pieces

BOX = Box(200.0, 100.0, (30.0, 60.0), 15.0)
LEAF = Box(150.0, 60.0, (), 30.0, leaf=True)


def strip(count, leaves=()):
    """A chain of operations from left to right; before each of ``leaves`` stands one."""
    boxes, corners, lines, paths = [], [], [], []
    for k in range(count):
        boxes.append(BOX)
        corners.append((254.0 * k, 0.0))
        if k:
            lines.append(Line(k - 1, k, 0))
            paths.append([(254.0 * k - 54, 30.0), (254.0 * k - 54, 30.0), (254.0 * k, 30.0)])
    for k in leaves:
        boxes.append(LEAF)
        corners.append((254.0 * (k - 1), 122.0))
        lines.append(Line(len(boxes) - 1, k, 1, named=True))
        paths.append([(254.0 * k - 104, 152.0), (254.0 * k - 54, 152.0), (254.0 * k, 60.0)])
    return Plan(corners, paths, 254.0 * count - 54, 182.0, [254.0 * k for k in range(count)]), boxes, lines


def test_rows_share_what_they_have():
    plan = wrapped(*strip(10))
    tops = sorted({y for _, y in plan.corners})
    assert [sum([y == top for _, y in plan.corners]) for top in tops] == [6, 4]
    assert plan.along < 1640
    assert not plan.stubs


def test_a_leaf_beside_a_cut_goes_with_its_use():
    leaves = range(1, 10)
    plan = wrapped(*strip(10, leaves))
    for k, leaf in zip(leaves, range(10, 19), strict=True):
        (x, y), (a, b) = plan.corners[leaf], plan.corners[k]
        assert 0 <= a - x - LEAF.along <= 104
        assert 0 <= y - b <= 122
    assert not plan.stubs


def test_the_price_of_a_layout():
    free = Plan([(0.0, 0.0)], [], 100.0, 100.0)
    assert cost(free, [], 10_000.0, down=False) == 0.0
    wide = Plan([(0.0, 0.0)], [], 2 * PAGE[0], 100.0)
    assert cost(wide, [], 2 * PAGE[0] * 100.0, down=False) == pytest.approx(2.0)  # letters of half the size
    high = Plan([(0.0, 0.0)], [], 100.0, 3 * PAGE[1])
    assert cost(high, [], 300.0 * PAGE[1], down=False) == pytest.approx(2.0)  # two screens to scroll
    assert cost(high, [], 300.0 * PAGE[1], down=True) > 2.0  # that is its width
    cross = [[(0.0, 0.0), (50.0, 50.0)], [(0.0, 50.0), (50.0, 0.0)]]
    assert crossings(cross, [0, 1]) == 1
    assert crossings(cross, [0, 0]) == 0  # of one node: they share a stem
    assert crossings([cross[0], [(50.0, 50.0), (90.0, 0.0)]], [0, 1]) == 0
