"""Where things stand: the direction that reads best, rows without holes, leaves beside their use, stubs."""

import math
import re
from collections import namedtuple
from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations, pairwise, product

import eyes
import hypothesis.strategies as st
import numpy as np
import pytest
import written
from gallery import DEAR, NAMES, make, picture
from graphs import repeat
from hypothesis import given, settings
from seeds import by_day, by_night
from support import NIGHTLY

import autoflow as af
from autoflow.pictures.folding.repeats import merge_chains
from autoflow.pictures.folding.views import fold_boxes
from autoflow.pictures.layout.arrange import PAGE, cost
from autoflow.pictures.layout.layers import Arrow, NodeBox, Placed
from autoflow.pictures.layout.nesting import Nesting, Room, wrap_rows
from autoflow.pictures.model.style import width
from autoflow.pictures.render import placing

HIGH = 8.0  # of a small letter, in pixels


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


def check_fits(graph, known=None):
    """It fits on a screen, and is as wide and high as it was, up to 5 %."""
    wide, high = eyes.size(eyes.root_of(graph))
    assert wide <= 1280
    assert high <= 900
    assert len(graph.drawn.nodes) <= 40
    assert known is None or (wide, high) == pytest.approx(known, rel=0.05)


def test_attention_reads_from_top_to_bottom():
    g = make.attention(legend=False, direction="down")
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
    assert high <= 900  # with images of its matrices,
    assert eyes.size(eyes.root_of(replace(g, look=replace(g.look, images=False))))[1] < 780  # and without
    for row in rows_of(eyes.cards(root)):
        assert max([right for _, _, right, _ in row]) > 0.7 * wide  # no half-empty row
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
    total = np.sum(repeat(lambda y: np.tanh(y @ w), near, 8) + near)
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
    ends = [t for t in root.iter(eyes.SVG + "text") if t.get("data-goto")]
    places = [(float(end.get("x")), float(end.get("y")) - 4) for end in ends]
    assert not any([eyes.over(card, places) for card in cards.values()])


@pytest.mark.parametrize("name", NAMES)
def test_no_box_is_crossed_by_a_foreign_arrow(name):
    g = picture(name, legend=False)
    drawn, root = g.drawn, eyes.root_of(g)
    frames = eyes.boxes(root)
    assert len(frames) == len(drawn.frames)
    for frame, rectangle in zip(drawn.frames, frames, strict=True):
        inside = {v.id for v in drawn.nodes if v.entered[: len(frame.path)] == frame.path}
        for (source, target, slot), path in eyes.arrows(root).items():
            if source not in inside and target not in inside:
                assert not eyes.over(rectangle, path), (frame.title, source, target, slot)


def test_small_pictures_are_not_tried_out(monkeypatch):
    monkeypatch.setattr(placing, "price", None)  # would raise
    assert make.square().look.direction == "right"


# ------------------------------------------------------------------ the pieces

BOX = NodeBox(200.0, 100.0, (30.0, 60.0), 15.0)
LEAF = NodeBox(150.0, 60.0, (), 30.0, leaf=True)


def strip(count, leaves=()):
    """A chain of operations from left to right; before each of ``leaves`` stands one."""
    boxes, corners, lines, paths = [BOX] * count, [(254.0 * k, 0.0) for k in range(count)], [], []
    for k in range(1, count):
        lines.append(Arrow(k - 1, k, 0))
        paths.append([(254.0 * k - 54, 30.0), (254.0 * k - 54, 30.0), (254.0 * k, 30.0)])
    for k in leaves:
        boxes.append(LEAF)
        corners.append((254.0 * (k - 1), 122.0))
        lines.append(Arrow(len(boxes) - 1, k, 1, named=True))
        paths.append([(254.0 * k - 104, 152.0), (254.0 * k - 54, 152.0), (254.0 * k, 60.0)])
    return Placed(corners, paths, 254.0 * count - 54, 182.0, [254.0 * k for k in range(count)]), boxes, lines


def test_rows_share_what_they_have():
    plan = wrap_rows(*strip(10), widest=1500.0)
    tops = sorted({y for _, y in plan.corners})
    assert [sum([y == top for _, y in plan.corners]) for top in tops] == [5, 5]
    assert plan.along < 1500
    assert not plan.stubs


def test_a_leaf_beside_a_cut_goes_with_its_use():
    leaves = range(1, 10)
    plan = wrap_rows(*strip(10, leaves), widest=1500.0)
    for k, leaf in zip(leaves, range(10, 19), strict=True):
        (x, y), (a, b) = plan.corners[leaf], plan.corners[k]
        assert 0 <= a - x - LEAF.along <= 104
        assert 0 <= y - b <= 122
    assert not plan.stubs


def test_the_price_of_a_layout():
    def price(wide, high, down=False, **crossed):
        return cost(Placed([(0.0, 0.0)], [], wide, high, **crossed), [], wide * high, down=down)

    assert price(100.0, 100.0) == 0.0
    assert price(2 * PAGE[0], 100.0) == pytest.approx(2.0)  # letters of half the size
    assert price(100.0, 3 * PAGE[1]) == pytest.approx(2.0)  # two screens to scroll
    assert price(100.0, 3 * PAGE[1], down=True) > 2.0  # that is its width
    assert price(100.0, 100.0, crossed=2) == pytest.approx(0.3)


@pytest.mark.parametrize("direction", ["right", "down", "rows", "boxes"])
def test_arrows_that_cross_in_a_box_count_too(direction):
    boxes = [NodeBox(100.0, 80.0, (20.0, 40.0, 60.0)[: 3 * (k > 2)], 40.0) for k in range(6)]
    lines = [Arrow(k, target, k) for k in range(3) for target in (3, 4, 5)]
    free, _ = Nesting(boxes, lines, [()] * 6, {}, direction).plan()
    inside, _ = Nesting(boxes, lines, [(1,)] * 6, {(1,): Room(26.0, 90.0)}, direction).plan()
    assert free.crossed == inside.crossed == 9


# ------------------------------------------------------------------ sequences


def recurrent(steps, scoped):
    """A recurrent network on plain arrays; its steps in scopes, or not."""
    w, u, b = [af.Variable(make.spread(*s), name=c) for c, s in (("W", (4, 4)), ("U", (3, 4)), ("b", (4,)))]
    inputs, h = make.spread(steps, 3) / 4, np.zeros(4)
    for t in range(steps):
        with af.scope("step") if scoped else nullcontext():
            h = np.tanh(h @ w + inputs[t] @ u + b)
    loss = np.sum(h * h)
    loss.backward()
    return loss


# steps: width and height in pixels without scopes, and with them
SIZES = {
    5: ((977, 656), (533, 871)), 6: ((985, 657), (541, 871)), 7: ((977, 656), (533, 871)),
    12: ((1006, 657), (534, 871)), 20: ((989, 656), (518, 870)), 30: ((998, 656), (526, 870)),
    50: ((1006, 657), (534, 871)), 60: ((989, 657), (525, 870)), 200: ((1035, 657), (536, 870)),
}  # fmt: skip


@pytest.mark.parametrize("steps", by_day(SIZES, {"5", "7", "12", "50"}))
def test_a_sequence_of_any_length_is_no_higher_than_a_screen(steps):
    for scoped, wanted in zip((False, True), SIZES[steps], strict=True):
        g = recurrent(steps, scoped).graph()
        check_fits(g, wanted)
        assert len(g.nodes) == 5 * steps + 2 + 3 + 1 + steps  # all is there: operations, W, U, b, h0, inputs


# pictures of the gallery: width, height, cards. Of more than a page, and in sequences, cards do without values.
GALLERY_SIZES = {
    "network": (998, 826, 12), "recurrent": (533, 871, 8), "long_recurrent": (526, 870, 8),
    "attention": (1221, 754, 11), "transformer": (1057, 720, 11), "residual": (888, 572, 5),
    "unet": (1203, 623, 15), "large": (596, 572, 4), "stencil": (1248, 879, 12), "chain": (1067, 897, 28),
    "matrices": (1268, 703, 13), "hostile": (1042, 861, 10),
}  # fmt: skip


@pytest.mark.parametrize("name", by_night(GALLERY_SIZES, DEAR))
def test_networks_fit_on_a_screen(name):
    *size, cards = GALLERY_SIZES[name]
    check_fits(picture(name), tuple(size))
    assert len(picture(name).drawn.nodes) == cards


@pytest.mark.parametrize("blocks", by_day([3, 6, 7, 20, 100], {"3", "7"}))
def test_deep_networks_fit_on_a_screen(blocks):
    h = af.Constant(make.spread(4, 8), name="x")
    for k in range(blocks):
        with af.scope(f"block_{k}"):
            w, v = (af.Variable(make.spread(8, 8) / 16, name=f"{c}{k}") for c in "WV")
            h = h + np.tanh(np.maximum(h @ w, 0.0) @ v)
    loss = np.mean(h * h)
    loss.backward()
    check_fits(loss.graph())
    assert len(loss.graph(fold=False).drawn.nodes) >= 7 * blocks


def test_cards_of_large_pictures_do_without_values():
    small, large = make.stencil(), make.transformer()
    asked = make.transformer(detail="arrays")  # then they are there
    assert ["mean ± standard deviation" in g.to_svg() for g in (small, large, asked)] == [True, False, True]
    assert re.search(r"W1: Variable = [^<]* ± ", large.to_svg())  # and where one points at a card
    kinds = [{v.kind for v in make.long_recurrent(**options).drawn.nodes}
             for options in ({}, {"constants": "nodes", "direction": "boxes"})]  # fmt: skip
    assert ["Constant" in some for some in kinds] == [False, True]  # a row says inputs[0]


def test_time_runs_to_the_right_and_a_step_reads_downwards():
    g = recurrent(12, scoped=True).graph(legend=False, direction="boxes")
    drawn = g.drawn
    assert [f.title for f in drawn.frames] == ["step 1", "step 12"]
    (fold,) = [v for v in drawn.nodes if v.fold]
    assert (fold.title, fold.fold.told) == ("+10 alike", ("step 2 … step 11", "all with the same U, W, b"))
    root = eyes.root_of(g)
    cards, (first, last) = eyes.cards(root), eyes.boxes(root)
    assert first[2] < cards[fold.id][0] < cards[fold.id][2] < last[0]
    for frame, box in zip(drawn.frames, (first, last), strict=True):
        inside = [v.id for v in drawn.nodes if v.entered == frame.path and v.operands]
        assert len(inside) == 4
        for e in [e for e in drawn.edges if {e.source, e.target} <= set(inside)]:
            assert cards[e.source][3] < cards[e.target][1]
        assert all([box[0] < cards[k][0] and cards[k][2] < box[2] for k in inside])
    assert not stubs(root)  # shared weights are led to every step
    assert all([cards[v.id][2] < first[0] for v in drawn.nodes if v.kind == "Variable"])  # and stand there once
    assert eyes.crossings(root) <= 12


def test_where_the_program_is_not_known_nothing_says_that_parts_are_alike():
    with af.options(source=False):
        g = recurrent(12, scoped=False).graph(legend=False)
    assert not [v for v in g.drawn.nodes if "alike" in v.title or "part" in v.title]
    assert len(g.drawn.nodes) <= 40
    assert eyes.size(eyes.root_of(g))[0] <= 1280


def test_an_opened_sequence_shows_its_parts_as_cards_beside_each_other():
    g = recurrent(12, scoped=True).graph(legend=False, direction="boxes")
    (box,) = [v.fold.box for v in g.drawn.nodes if v.fold]
    assert not [v for v in g.open("step").drawn.nodes if v.fold]  # who asks by name gets everything
    opened = replace(g, look=replace(g.look, closed=tuple(fold_boxes(merge_chains(g))[1] - {box})))
    parts = [v for v in opened.drawn.nodes if v.fold]
    assert [v.title for v in parts] == [f"step {k}" for k in range(2, 12)]
    cards = eyes.cards(eyes.root_of(opened))
    assert len(rows_of({v.id: cards[v.id] for v in parts})) <= 3


def test_six_alike_are_drawn_and_seven_are_folded():
    def chain(n):
        return np.exp(repeat(lambda y: np.sin(y) * 0.5, af.Variable(0.5, name="y0"), n)).graph()

    assert not [v for v in chain(6).drawn.nodes if v.fold]
    assert [v.title for v in chain(7).drawn.nodes if v.fold] == ["+5 alike"]
    x = af.Variable(make.spread(9), name="x")
    parallel = [np.sin(x[k]) for k in range(9)]
    assert not [v for v in sum(parallel).graph().drawn.nodes if v.fold]  # beside each other, no sequence


# ------------------------------------------------------------------ crossings and stubs


def heads(seed):
    """Projections of one array by weights of their own, some of them late: their arrows begin anew in other rows."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3, 4))
    h = x @ af.Variable(np.eye(4), name="W0")
    for k in range(1, int(rng.integers(3, 6))):
        h = (np.sin(h) if rng.integers(2) else np.tanh(h) * 2.0) + h
        late = (x if rng.integers(2) else h) @ af.Variable(np.eye(4), name=f"W{k}")
        h = h @ late.T @ late if rng.integers(2) else h * late
    return (h**2).mean()


@pytest.mark.parametrize("seed", range(8))
def test_no_arrow_to_a_card_crosses_the_stub_above_it(seed):
    loss = heads(seed) if seed else written.attention()
    root = eyes.root_of(af.graph(loss, gradients=True))
    found = eyes.arrows(root)
    names = [t for t in root.iter(eyes.SVG + "text") if t.get("class") == "parts" and not t.get("text-anchor")]
    begins = [(float(t.get("x")), float(t.get("y")) + 5) for t in names if t.get("data-goto")]
    for left, line in begins:
        target, end = next((key[1], way[-1][0]) for key, way in found.items() if math.dist(way[0], (left, line)) < 1)
        for points in [way for key, way in found.items() if key[1] == target]:
            assert not [a for a, b in pairwise(points) if (a[1] - line) * (b[1] - line) < 0 and left < a[0] < end]
    assert begins or seed


State = namedtuple("State", "pos vel")


def test_an_arrow_into_a_row_that_begins_with_leaves_stays_in_its_row():
    s = State(af.Variable(0.3), af.Variable(1.1))
    for _ in range(2):
        s = State(s.pos + 0.1 * s.vel, s.vel - 0.1 * s.pos)
    s2 = s._replace(vel=s.vel * 2)
    root = eyes.root_of((s2.pos**2 + s2.vel**2).graph(direction="rows", fold=False, constants="nodes"))
    cards = eyes.cards(root)
    for ends, path in eyes.arrows(root).items():
        assert not any([eyes.over(card, path) for k, card in cards.items() if k not in ends[:2]])


@settings(max_examples=1000 if NIGHTLY else 12)
@given(st.integers(1, 12), st.integers(6, 9), st.booleans())
def test_names_of_arrows_that_begin_anew_stand_on_nothing(variables, calls, shapes):
    """Parts with the same Variables, folded: in rows all of these begin anew."""
    w = [af.Variable(np.eye(3) / (k + 2), name=f"w{k}") for k in range(variables)]
    h = af.Variable(np.ones(3), name="h") if shapes else np.ones(3)
    for k in range(calls):
        with af.scope(chr(97 + k) * 9):
            for x in w:
                h = np.tanh(h @ x)
    root = eyes.root_of(af.graph(np.sum(h * h), gradients=False, direction="rows", depth=0))
    labels = [(float(t.get("x")), float(t.get("y")), t.text) for t in root.findall(eyes.SVG + "text")
              if t.get("class") == "parts" and not t.text.startswith("→")]  # fmt: skip
    areas = [(x, y - HIGH, x + width(text, "parts"), y) for x, y, text in labels]
    assert areas
    assert all([a[0] > b[2] or b[0] > a[2] or abs(a[1] - b[1]) > HIGH for a, b in combinations(areas, 2)])
    for (left, top, right, low), points in product(areas, eyes.arrows(root).values()):
        assert not any([left < x < right and top < y < low for x, y in points])


def test_no_picture_is_wider_than_a_page_unless_someone_wants_it():
    """Without boxes, and just wider than it seems from the widths of its cards: curves take room."""
    x = af.Variable(1.0, name="x")
    y = np.exp(x)
    for k in range(9):
        y = y * np.sin(x) if k % 2 else y + x * 2.0
        y.backward()
        check_fits(y.graph())
