"""Pictures of graphs that are too large to look at every number: boxes, their gradients, how to see more."""

import numpy as np
import pytest

import autoflow as af
from autoflow.pictures.model.gathering import Walk
from autoflow.pictures.pages.listing import Listing


@pytest.fixture
def network():
    """2,500 operations in ten layers of two blocks each."""
    y = af.Variable(np.full(3, 0.5), name="x")
    for k in range(10):
        with af.scope(f"layer{k}"):
            for _ in range(2):
                with af.scope("block"):
                    y = y * af.Variable(1.0, name=f"w{k}")
                    for _ in range(120 + k):
                        y = np.tanh(y)
    return np.sum(y)


def test_what_is_hidden_and_how_to_see_it(network):
    g = network.graph()
    assert len(g.nodes) <= 60
    assert g.notes[0].startswith("2,")
    assert 'More: graph(open="layer0/block"), graph(depth=3), graph(around=w, radius=2)' in g.notes[0]
    told = "gradients of a graph this large: after backward() those of Variables; around= shows all of a part"
    assert g.notes[1] == told
    opened = network.graph(open="layer0/block", depth=0)
    assert "layer0" in [f.title for f in opened.frames]
    assert "for _ in range(120 + k)" in [v.title.rstrip(" 12") for v in opened.nodes]  # loops are boxes, here too
    lines = Listing(opened)  # each card leads to its own line
    assert any(lines.nodes)
    assert lines.cards(opened.drawn) == {str(k): [] if n is None else [n] for k, n in enumerate(lines.nodes)}
    with pytest.raises(ValueError, match="no scope 'nobody'"):
        network.graph(open="nobody")


def test_gradients_that_there_are(network):
    assert not network.graph().gradients
    network.backward()
    g = network.graph(depth=1)
    assert g.gradients
    leaves = [r for r in af.backprop.engine.topological(network.grad_fn) if not r.parents]
    boxes = [v for v in g.nodes if v.fold]
    for box, k in zip(boxes, range(10), strict=True):
        names = {f"w{k}", "x"} if k == 0 else {f"w{k}"}  # x stands in the box that uses it
        inside = np.concatenate([np.ravel(r.grad) for r in leaves if r.name in names])
        assert box.gradient.rms == pytest.approx(float(np.sqrt(np.mean(inside**2))))
    assert 'class="full"' in g.to_svg()  # of the six blocks


def test_only_what_is_drawn_becomes_data(network, monkeypatch):
    made = []
    make = Walk.vertex
    monkeypatch.setattr(Walk, "vertex", lambda self, x: made.append(x) or make(self, x))
    for options in ({}, {"open": "layer3"}, {"depth": 1}):
        made.clear()
        g = network.graph(**options)
        variables = sum([v.fold.variables for v in g.nodes if v.fold])
        exits = sum([v.fold.exits for v in g.nodes if v.fold])
        assert len(made) <= len(g.nodes) + variables + exits
