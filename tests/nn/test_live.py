"""Training while it happens: what a terminal and a notebook get, how often, and that nothing else changes."""

import io
import re
import sys
import types
from xml.etree import ElementTree

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim
from autoflow.nn import live
from autoflow.nn.plots import LEVELS, line_chart, region_rows, size_bars, sparkline
from autoflow.train import History, fit


class Terminal(io.StringIO):
    def isatty(self):
        return True


def blobs(n=120):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(0, 0.3, (n, 2)) + 2.0 * y[:, None], y


def train(**options):
    rng = np.random.default_rng(1)
    model = nn.Sequential(nn.Linear(2, 8, rng=rng), nn.tanh, nn.Linear(8, 2, rng=rng))
    optimiser = optim.Adam(model, lr=0.05)
    return fit(model, *blobs(), loss=nn.cross_entropy, optimiser=optimiser, rng=rng, epochs=6, **options), model


def test_a_view_changes_no_number(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    seen, model = train(view=True)
    plain, other = train(progress=False)
    assert seen.epochs == plain.epochs
    assert all([np.array_equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True)])
    assert [list(row) for row in seen.gradients] == [["0", "2"]] * 6
    assert plain.gradients == []


def test_a_terminal_is_written_over(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(live, "EVERY", 0.0)
    history, _ = train(view=True)
    pictures = re.split(r"\x1b\[\d+A", stream.getvalue())
    assert len(pictures) == 7  # one for each epoch, and the last
    lines = pictures[-1].replace("\x1b[K", "").splitlines()
    assert lines[0] == f"loss  {sparkline(history['loss'])}  {history['loss'][-1]:.4g}"
    assert lines[1] == "sizes of gradients"
    assert [line.split()[0] for line in lines[2:4]] == ["0", "2"]
    assert lines[4] == "classes"
    assert len(lines) == 5 + live.ROWS
    assert lines[-1].strip()[0] == "·"  # class 0 is at the bottom left
    assert lines[5].strip()[-1] == "░"
    assert {len(line) for line in lines[5:]} == {2 + live.COLUMNS}
    assert set(re.findall(r"\x1b\[(\d+)A", stream.getvalue())) == {str(len(lines))}


def test_a_file_gets_one_picture(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    train(view=True)
    assert stream.getvalue().count("classes") == 1
    assert "\x1b" not in stream.getvalue()


def test_it_is_drawn_twice_a_second_at_most(monkeypatch):
    now, drawn, place = [100.0], [], live.LiveDisplay(Terminal())
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    for k in range(20):
        now[0] += 0.125
        drawn.append(place.draw({"loss": [1.0] * (k + 1)}))
    assert [k for k, was in enumerate(drawn) if was] == [0, 4, 8, 12, 16]
    assert place.draw({"loss": [1.0]}, last=True)


def test_a_notebook_gets_a_figure_in_one_cell(monkeypatch):
    pytest.importorskip("matplotlib")
    shown = []

    def display(picture, *, raw, display_id=None):
        assert raw
        shown.append(picture)
        return types.SimpleNamespace(update=display)

    ipython = types.ModuleType("IPython")
    ipython.version_info = (9, 0)  # matplotlib asks
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    train(view=True)
    assert len(shown) >= 2
    for picture in shown:
        assert picture["image/png"].startswith(b"\x89PNG")
        assert picture["text/plain"].startswith("loss")


@pytest.mark.parametrize(("x", "y", "model", "there"), [
    (np.zeros((3, 2)), np.zeros(3, int), np.sin, True), (np.zeros((1, 2), int), np.zeros(1, int), np.sin, True),
    (np.zeros((3, 3)), np.zeros(3, int), np.sin, False), (np.zeros((3, 2)), np.zeros(3), np.sin, False),
    (np.zeros((3, 2)), np.zeros((3, 1), int), np.sin, False),
    (np.zeros((3, 2), int), np.zeros(3, int), nn.Embedding(4, 3, rng=np.random.default_rng(0)), False),
    (np.zeros((3, 2)), np.zeros(3, int), lambda x: {"scores": x}, False),
    (np.zeros((3, 2)), np.zeros(3, int), lambda x: {}[len(x)], False),
])  # fmt: skip
def test_where_there_is_a_boundary(x, y, model, there):
    assert live.has_boundary(model, x, y) is there


def test_regression_has_no_boundary(monkeypatch):
    stream, rng = io.StringIO(), np.random.default_rng(0)
    monkeypatch.setattr(sys, "stderr", stream)
    x, w = rng.normal(size=(50, 2)), af.Variable(np.zeros(2), name="w")
    how = {"loss": nn.mse_loss, "optimiser": optim.SGD([w], lr=0.1), "rng": rng, "epochs": 2, "view": True}
    fit(lambda x: x @ w, x, x @ [1.0, -1.0], **how)
    assert "classes" not in stream.getvalue()
    assert re.search(r"^  w  █+", stream.getvalue(), re.MULTILINE)


def test_watch_draws_a_loop_of_ones_own(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    rng = np.random.default_rng(0)
    watched = af.watch(nn.Sequential(nn.Linear(2, 4, rng=rng), nn.tanh, nn.Linear(4, 2, rng=rng)))
    x, y = blobs()
    for _ in range(3):
        loss = nn.cross_entropy(watched(x), y)
        loss.backward()
        watched.draw(loss, (x, y))
    watched.draw(loss, (x, y), last=True)
    assert watched.losses == [float(loss.value)] * 4
    first = stream.getvalue().replace("\x1b[K", "").splitlines()
    assert [line.split()[0] for line in first[:5]] == ["loss", "sizes", "Linear_0", "tanh", "Linear_2"]
    assert stream.getvalue().count("classes") == 2


def test_sizes_of_layers():
    model = nn.Sequential(*[nn.Linear(*sizes, rng=np.random.default_rng(0)) for sizes in ((2, 3), (3, 1))])
    assert live.layer_sizes(model, model.parameters()) == {}
    np.sum(model(np.ones((4, 2)))).backward()
    sizes = live.layer_sizes(model, model.parameters())
    g = np.concatenate([np.ravel(p.grad) for p in model[1].parameters()])
    assert sizes["1"] == pytest.approx(np.sqrt(np.mean(g**2)))
    assert list(sizes) == ["0", "1"]
    assert live.layer_sizes(model, model[1].parameters()) == {"1": sizes["1"]}  # of layer 0 nobody calls zero_grad
    first, second = [af.Variable([1.0], name="w") for _ in range(2)]
    np.sum(2 * first + 3 * second).backward()
    assert live.layer_sizes(None, [first, second]) == {"w": 2.0, "w 2": 3.0}


def test_history_shows_itself():
    history = History()
    assert history._repr_html_() is None
    for k in range(3):
        history.add({"loss": 1.0 / (k + 1), "val_loss": 2.0, "accuracy": float("nan")})
    picture = ElementTree.fromstring(history._repr_html_())
    lines = [e for e in picture.iter() if e.tag.endswith("polyline")]
    assert [len(e.get("points").split()) for e in lines] == [3, 3, 0]
    assert lines[0].get("stroke") == lines[1].get("stroke") != lines[2].get("stroke")
    assert [e.get("stroke-dasharray") for e in lines] == [None, "5 3", None]
    assert picture.get("aria-label").startswith("loss from 1 to 0.333, val_loss from 2 to 2")
    heights = [float(p.split(",")[1]) for p in lines[0].get("points").split()]
    assert heights == sorted(heights)  # pages count downwards
    assert str(history).splitlines()[1] == "loss      █▃▁  1 -> 0.3333"
    with af.options(static=True):
        assert history._repr_html_() is None


def test_what_is_no_number_is_a_gap_in_a_line():
    nan, inf = float("nan"), float("inf")
    for values, lengths in [([3, 2, nan, 1.5, 1], [2, 2]), ([nan, 3, inf, nan, 2, 1, nan], [2, 2]), ([1, nan], [2])]:
        picture = ElementTree.fromstring(line_chart({"loss": values}))
        lines = [e.get("points").split() for e in picture.iter() if e.tag.endswith("polyline")]
        assert [len(line) for line in lines] == lengths
        places = {place for line in lines for place in line}
        assert len(places) == sum(map(np.isfinite, values))  # a number alone is a dot


def test_lines_of_any_numbers():
    assert "<b>" not in line_chart({"<b>": [1.0, 2.0]})  # names are text
    lines = {"": [], LEVELS[0] * 2: [1.0, 1.0], "  ": [float("nan"), float("inf")]}
    assert [sparkline(numbers) for numbers in lines.values()] == [*lines]
    assert len(sparkline(np.arange(1000.0))) == 40
    assert sparkline(np.arange(1000.0))[-1] == "█"
    assert size_bars({}) == []
    assert size_bars({"a": 0.0, "b": float("nan")}) == [f"a  {'':24}  0", f"b  {'':24}  nan"]
    assert region_rows(np.array([[5, 1]])) == ["·░"]
