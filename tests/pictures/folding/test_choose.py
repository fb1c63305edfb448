"""Large graphs without parts of their own: sections, cards and pixels of pictures of any program."""

import re
from itertools import pairwise

import eyes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from seeds import by_day

import autoflow as af
from autoflow.base.groups import in_order
from autoflow.cli.commandline import nodes_of
from autoflow.nodes.records import scope
from autoflow.pictures import graph
from autoflow.pictures.folding.choose import HALF, by_creation, cut, cut_sections, lengths
from autoflow.pictures.folding.repeats import Skeleton
from autoflow.pictures.folding.views import boxes_of, with_look
from autoflow.pictures.model.steps import steps_of
from autoflow.pictures.model.style import clip

ONE = (np.sin, np.cos, np.tanh, np.exp, np.arctan, np.negative, np.square)
TWO = (np.add, np.subtract, np.multiply, np.maximum, np.hypot)
CARDS, PIXELS = 44, 1650  # about 40 cards, about 1,600 pixels


def some(rng, functions):
    return functions[rng.integers(len(functions))]


def leaves(count):
    return [af.Variable(0.5 + k / count, name=f"v{k}") for k in range(count)]


def more(rng, nodes, window=9):
    """One more operation on one or two of the latest nodes."""
    a, b = rng.integers(max(0, len(nodes) - window), len(nodes), 2)
    nodes.append(some(rng, TWO)(nodes[a], nodes[b]) if rng.random() < 0.6 else some(rng, ONE)(nodes[a]))


def shared(rng, n):
    """A graph whose values are used again."""
    nodes = leaves(5)
    for _ in range(n):
        more(rng, nodes)
    return nodes[-1]


def tree(rng, n):
    nodes = leaves(n // 2 + 1)
    while len(nodes) > 1:
        k = int(rng.integers(len(nodes) - 1))
        y = some(rng, TWO)(nodes.pop(k), nodes.pop(k))
        nodes.insert(k, some(rng, ONE)(y) if rng.random() < 0.5 else y)
    return nodes[0]


def chain(rng, n):
    """Different operations, one after another."""
    (x,) = leaves(1)
    for _ in range(n):
        x = some(rng, ONE)(x)
    return x


def named(rng, n):
    """The same; every value has a name."""
    x = chain(rng, n)
    for k, node in enumerate(nodes_of(x)):
        node.name = f"a{k}"
    return x


def sequences(rng, n):
    """Several sequences of alike steps, and others between them."""
    x, w = leaves(2)
    for _ in range(max(1, n // 60)):
        f, g = some(rng, ONE), some(rng, ONE)
        for _ in range(12):
            x = f(x * w)
        for _ in range(int(rng.integers(3, 9))):
            x = g(x) + w * some(rng, ONE)(x)
        for _ in range(12):
            x = g(f(x))
    return x


def scopes(rng, n):
    """Some in boxes, and in boxes of these."""
    nodes = leaves(4)

    def body():
        for _ in range(int(rng.integers(1, 9))):
            more(rng, nodes, 6)

    while len(nodes) < n:
        kind = rng.integers(3)
        if kind == 0:
            body()
            continue
        with scope(f"s{rng.integers(5)}"):
            body()
            if kind == 2:
                with scope(f"t{rng.integers(3)}"):
                    body()
            body()
    return nodes[-1]


def one_box(rng, n):
    """All of it in one box, so that opening this is not enough."""
    nodes = leaves(3)
    with scope("model"):
        for _ in range(n):
            more(rng, nodes)
    return nodes[-1] * 2.0


def loops(rng, n):
    """A loop in a loop."""
    x, w = af.Variable(np.ones(3) * 0.3, name="x"), af.Variable(np.ones(3), name="w")
    while n > 0:
        with scope("outer"):
            for _ in range(int(rng.integers(2, 6))):
                with scope("inner"):
                    for _ in range(int(rng.integers(1, 6))):
                        x, n = some(rng, ONE)(x * w) + x, n - 3
    return np.sum(x)


def broad(rng, n):
    """Much beside each other."""
    nodes = [some(rng, ONE)(x) for x in leaves(n // 3)]
    return np.sum(np.stack([some(rng, TWO)(nodes[rng.integers(len(nodes))], x) for x in nodes]))


def layers(rng, n):
    """A deep network without boxes, with a few skips."""
    x = af.Constant(np.ones((4, 8)), name="X")
    for k in range(n // 4):
        w, b = af.Variable(rng.normal(size=(8, 8)) * 0.3, name=f"W{k}"), af.Variable(np.zeros(8), name=f"b{k}")
        x = some(rng, ONE[:3])(x @ w + b) + (x if rng.random() < 0.3 else 0.0)
    return np.mean(x * x)


SHAPES = (shared, tree, chain, sequences, scopes, one_box, loops, broad, layers)


def drawn_small(y):
    """The default picture of y, which is small enough for a reader."""
    g = graph(y)
    assert len(g.drawn.nodes) <= CARDS
    assert max(eyes.size(eyes.root_of(g))) <= PIXELS
    return g


def made(shape, seed, n):
    with np.errstate(all="ignore"):
        return shape(np.random.default_rng(seed), n)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", by_day([41, 50, 60, 80, 120, 170, 200, 300, 500, 1000, 1900, 2500, 5000], {"60"}))
def test_pictures_of_any_shape_and_size_fit(shape, n):
    for seed in range(1 if n == 60 else 6 if n <= 500 else 2):
        y = made(shape, seed, n)
        if seed % 2 and not y.shape:
            y.backward()
        g = drawn_small(y)
        assert n > 60 or len(g.drawn.nodes) <= len(graph(y, fold=False).drawn.nodes)
        members = [m for v in g.drawn.nodes for m in v.members]
        assert sorted(members) == list(range(len(g.nodes))) or any([v.fold for v in g.nodes])  # nothing is hidden


@pytest.mark.parametrize("shape", by_day([shared, layers, one_box], {"shared", "one_box"}, lambda f: f.__name__))
def test_every_section_opens_into_a_picture_that_can_be_read(shape):
    """A click on each + of the first picture, and on each + of what appears."""
    g = graph(made(shape, 3, 400), gradients=False)
    whole = {m for v in g.drawn.nodes for m in v.members}
    start = frozenset(boxes_of(g)[1])
    seen, waiting = {start}, [start]
    for closed in waiting:
        drawn = with_look(g, closed=tuple(sorted(closed))).drawn
        assert {m for v in drawn.nodes for m in v.members} == whole
        assert len(drawn.nodes) <= CARDS * (1 + len(start - closed))
        for v in drawn.nodes:
            if v.fold:
                assert v.fold.operations > 1
                other = start - {*v.entered, v.fold.box}
                waiting += [other] if other not in seen else []
                seen.add(other)
    assert len(seen) > 10


def test_what_sections_say():
    y = made(named, 0, 60)
    g = graph(y, gradients=True)
    folded = [v for v in g.drawn.nodes if v.fold]
    one, two = [v.title for v in folded]
    assert re.search(rf"61 nodes; showing \d+: 2 sections folded. More: g.open\(\"{one}\"\)", g.drawn.notes[0])
    assert len(g.open(one).drawn.nodes) > len(g.drawn.nodes)
    assert [v.title for v in graph(y, open=two).drawn.nodes if v.fold] == [one]
    with pytest.raises(ValueError, match=f"no scope 'section' in this graph; there are '{one}'"):
        g.open("section")
    forward, backward = [s for s in steps_of(g.drawn) if s.title == two]
    assert (forward.phase, backward.phase, backward.products[0].title) == ("forward", "backward", one)


@pytest.mark.parametrize("shape", [named, shared], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [60, 170])
def test_a_section_is_called_by_its_first_and_its_last_operation(shape, n):
    """They are neighbours in the program, and so are all that are between them."""
    g = graph(made(shape, n, n), gradients=False, merge=False)
    order = [v.id for v in g.nodes if v.kind == "Operation"]
    found = [v for v in g.drawn.nodes if v.fold]
    assert found
    for v in found:
        inside = [k for k in order if k in v.members]
        assert inside == order[order.index(inside[0]) :][: len(inside)]
        assert v.title == " … ".join([clip(g.nodes[k].title, HALF) for k in (inside[0], inside[-1])])


# ------------------------------------------------------------------ the parts


def test_the_order():
    uses = [[], [0], [], [2], [1, 3]]
    assert by_creation([[k] for k in (0, 3, 1, 4, 5)], uses) == [0, 2, 1, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 11), max_size=4)), min_size=1, max_size=12))
def test_any_order_is_that_of_its_definition(drawn):
    """Again and again the key of the lowest rank comes, of those that need nothing else. (Circles are drawn, too.)"""
    needs = {k: [a % len(drawn) for a in some] for k, (_, some) in enumerate(drawn)}
    wanted, left = [], set(needs)
    while ready := [k for k in left if not {*needs[k]} - {*wanted}]:
        wanted.append(min(ready, key=lambda k: (drawn[k][0], k)))
        left.discard(wanted[-1])
    assert in_order(needs, lambda k: drawn[k][0]) == wanted


@given(st.integers(41, 6000), st.sampled_from([40, 28, 18, 10]))
def test_lengths_leave_as_many_cards_as_wanted(total, wanted):
    tail, long = lengths(total, wanted)
    assert 2 <= tail < wanted
    assert long >= 2
    assert (total - tail) / long + tail <= wanted + 2


@given(st.lists(st.integers(1, 4), min_size=4, max_size=60), st.integers(1, 12), st.integers(2, 9))
def test_cuts_are_in_order_and_sections_are_not_long(room, tail, long):
    cuts = cut(room, tail, float(long))
    assert cuts[0] == 0
    assert cuts == sorted(set(cuts))
    assert max([sum(room[a:b]) for a, b in pairwise(cuts)], default=0) < long + 4
    assert sum(room[cuts[-1] :]) <= tail


def test_a_try_leaves_nothing_behind():
    """Sixty leaves that all are used twice, far apart: they go where they are used first."""
    count = 60
    words = [""] * count + ["exp"] * count + ["add"] * count
    sources = [()] * count + [(k,) for k in range(count)]
    sources += [(k, 2 * count + k - 1 if k else count) for k in range(count)]
    skeleton = Skeleton(sources, [()] * len(words), {}, words, [not word for word in words], [len(words) - 1])
    new = cut_sections(skeleton, set(), 40, set())
    assert skeleton.count(new) <= 40
    assert set(skeleton.names) == set(skeleton.labels) == skeleton.added == skeleton.sections
    assert new == skeleton.sections
