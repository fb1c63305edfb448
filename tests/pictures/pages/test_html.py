"""Pictures in pages and cells: the fragment without a browser, what a notebook shows of a node, PNG and PDF.

In a browser it is tested in test_browser.py.
"""

import base64
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import types
from contextlib import ExitStack
from xml.etree import ElementTree

import numpy as np
import pytest
from graphs import EVIL, lesson, missing, repeat, shared
from picture_pages import Reader, data_of
from support import NIGHTLY

import autoflow as af
from autoflow.pictures import graph, step, walk
from autoflow.pictures.pages import html, stepper
from autoflow.pictures.pages.html import LONG, PLAIN, attribute, fragment, pack_file, page, script, style
from autoflow.pictures.render import drawing, png, text as trees
from autoflow.pictures.render.display import resolve
from autoflow.pictures.render.drawing import drawing_of

PNG = b"\x89PNG\r\n"


def steppable():
    return lesson()[0].step().graph


def scoped(*names):
    """Two operations in each scope; in "a/b" they are in the inner one."""
    y = af.Variable(2.0, name="x")
    for name in names:
        with ExitStack() as stack:
            for part in name.split("/"):
                stack.enter_context(af.scope(part))
            y = np.tanh(y) * np.exp(-y)
    return y


def refuse(*_, **__):
    """Instead of what is not to be called."""
    raise ZeroDivisionError("it was called")


@pytest.fixture
def without_programs(monkeypatch):
    """Nothing here can draw PNG or PDF."""
    for module in ("matplotlib", "matplotlib.figure", "pygraphviz"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(shutil, "which", lambda name: None)


# ------------------------------------------------------------------ the fragment


def test_the_table_of_a_lesson_has_the_local_rules_in_latex():
    a5, _ = lesson()
    text = fragment(a5.step().graph)
    assert Reader(text).texts["b"] == ["step", "phase", "what happens", "local rule"]
    _, *rules = re.findall(r'<td class="tex2jax_process mathjax_process"[^>]*>(.*?)</td>', text)
    assert [bool(rule) for rule in rules] == [s.phase == "backward" for s in a5.steps()]
    by_title = {s.title: rule for s, rule in zip(a5.steps(), rules, strict=True) if rule}
    assert by_title["a3"].startswith(r"$\frac{\partial a_{3}}{\partial a_{1}^{2}} = \sin a_{2}, \quad ")
    assert by_title["sin(a2)"] == r"$z = \sin a_{2}, \quad \frac{\partial z}{\partial a_{2}} = \cos a_{2}$"
    told = {s["node"]: s["rule"] for s in data_of(text)["steps"] if "rule" in s}
    assert sorted(told.values()) == sorted([rule.strip("$") for rule in by_title.values()])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_rules_of_several_nodes_name_what_they_share_once(count):
    hidden = af.Variable(2.0) * 3.0
    texts = [text for _, text in step([f(hidden) for f in (np.sin, np.cos, np.tanh)[:count]]).graph.rules]
    assert len(texts) == 1 + count
    assert all([r"\mathrm{hidden}" in text and r"\mathrm{hidden}_" not in text for text in texts])


def test_nothing_comes_from_elsewhere():
    for text in (page(steppable(), 0), page(graph(shared()[0]))):
        outside = re.sub(r'src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]*"', "", text)
        active = r"https?:|//[a-z]|@import|url\(|eval\(|Function\(|innerHTML|<iframe|\sid=|\son\w+=|src=|href"
        assert not re.search(active, outside)


@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_names_of_users_are_text(name):
    x, w = af.Variable(2.0, name=name), af.Variable([1.0, 2.0], name=name)
    z = np.sum(x * w + af.Constant(1.0, name=name))
    z.name = name
    for text in (page(z.step().graph, 0), fragment(graph(z, gradients=True)), z._repr_mimebundle_()["text/html"]):
        text.encode("utf-8")
        tags = Reader(text).tags
        assert {tag for tag, _ in tags} <= {
            "html", "head", "meta", "title", "style", "body", "div", "img", "details", "summary", "table", "tr", "td",
            "b", "script", "pre",
        }  # fmt: skip
        assert {key for _, attributes in tags for key in attributes} <= {
            "lang", "charset", "http-equiv", "content", "name", "class", "data-autoflow", "hidden", "alt", "src",
            "style",
        }  # fmt: skip
        assert all([a["src"].startswith("data:image/svg+xml;base64,") for tag, a in tags if tag == "img"])
        assert len([tag for tag, _ in tags if tag == "script"]) in (0, 1)
        assert len(text) < 300_000


def test_the_data_of_the_script():
    a5, _ = lesson()
    stepper = a5.step()
    data = data_of(fragment(stepper.graph, 0))
    assert [s["caption"] for s in data["steps"]] == [s.caption for s in stepper]
    svg = ElementTree.fromstring(stepper.graph.to_svg())
    edges = {e.get("data-edge") for e in svg.iter()} - {None}
    cards = {e.get("data-node"): e for e in svg.iter() if e.get("data-node")}
    sent = {}
    for s in data["steps"]:
        assert str(s["node"]) in cards if "node" in s else s["phase"] in ("start", "end")
        assert set(s.get("inputs", ())) <= edges
        for product in s.get("products", ()):
            assert product["edge"] in edges
            texts = [t.text for t in cards[str(s["node"])].iter() if t.get("class") == "sent"]
            sent[product["edge"]] = texts[product["row"]]
    flowing = [e for e in stepper.graph.edges if e.flows]
    assert sent == {f"{e.source}-{e.target}-{e.slot}": f"= {e.sent.text(4)}" for e in flowing}


def test_the_start_and_the_theme():
    assert [data_of(text)["start"] for text in (page(steppable(), 0), page(steppable()))] == [0, -1]
    dark = graph(shared()[0], theme="dark")
    assert data_of(fragment(dark))["light"] == "false"
    assert 'content="dark"' in page(dark)
    assert 'content="light dark"' in page(graph(shared()[0]))


def test_without_gradients_there_is_a_picture_and_a_tree():
    g = graph(shared()[0])
    assert not g.gradients
    text = fragment(g)
    assert data_of(text)["steps"] == []
    assert "\nout  add = 12" in text.partition("<img")[0]
    assert "<details><summary>all nodes as text</summary><pre>node  title  operation" in text
    assert "prefers-reduced-motion" in style()


def test_the_script_is_short_and_strict():
    assert script().startswith('(() => {"use strict";')
    assert script().endswith("})();")
    longest = {("unpack.js", "fragment.js", "fragment.css"): 20_000, ("predict.js",): 8_500,
               ("program.js", "program.css", "zoom.js"): 8_000}  # fmt: skip
    for files, most in longest.items():
        assert sum([len(pack_file(name)) for name in files]) < most
    assert len(script()) < 31_000
    assert len(fragment(steppable())) < 100_000


def test_long_data_is_compressed():
    short, long = {"a": "b"}, {"a": "x'<>&" * LONG}
    assert attribute(short) == '{"a":"b"}'
    assert len(attribute(long)) < 0.02 * len(json.dumps(long))
    for data in (short, long):
        assert data_of(f"<div data-autoflow='{attribute(data)}'>") == data


def test_a_page_runs_no_script_but_its_own_and_is_the_same_each_time():
    text = page(steppable())
    assert text == page(steppable())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)">', text)
    (program,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    known = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    assert policy == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{known}'"


def test_every_click_on_a_box_leads_to_a_picture_and_back():
    g = graph(scoped("a/inner", "b/inner", "c/inner"), gradients=True)
    folds = data_of(fragment(g))["folds"]
    assert folds == data_of(fragment(g))["folds"]
    assert (len(folds), folds[0]["svg"], len(folds[0]["frames"])) == (html.PICTURES, "", 5)
    for k, one in enumerate(folds):
        targets = [*one["frames"], *one["cards"].values()]
        assert all([0 <= target < len(folds) for target in targets])  # every + and every − works
        if k < 4:  # all of whose neighbours were drawn
            assert all([k in [*folds[to]["frames"], *folds[to]["cards"].values()] for to in targets])
        if k:
            ElementTree.fromstring(one["svg"])
    assert data_of(fragment(graph(af.Variable(2.0) ** 2)))["folds"] == []


def test_a_box_opens_alone_where_the_set_was_not_drawn(monkeypatch):
    y = scoped("a", "b", "c")
    monkeypatch.setattr(html, "PICTURES", 4)
    folds = data_of(fragment(graph(y, depth=0)))["folds"]
    assert sorted(folds[0]["cards"].values()) == [1, 2, 3]
    for k in (1, 2, 3):  # one box is open; a click on another one opens that instead
        assert folds[k]["frames"] == [0]
        assert sorted([k, *folds[k]["cards"].values()]) == [1, 2, 3]
    monkeypatch.setattr(html, "PICTURES", 2)
    assert sorted(data_of(fragment(graph(y, depth=0)))["folds"][0]["cards"].values()) == [-1, -1, 1]


def test_a_folded_picture_is_stepped_box_by_box():
    y, w = af.Variable([0.5, 0.25], name="x"), af.Variable([2.0, 3.0], name="w")
    with af.trace():
        for name in ("a", "b"):
            with af.scope(name):
                y = np.tanh(y * w) * w
    z = np.sum(y)
    data = data_of(fragment(graph(z, depth=0, gradients=True)))
    told = [step["caption"] for step in data["steps"] if step["phase"] in ("forward", "backward")]
    turns = [f'name = "{name}", iteration {k} of 2:   ' for k, name in enumerate("ab", 1)]
    assert told == [
        f"{turns[0]}a: 3 operations compute [1.523, 1.905]",
        f"{turns[1]}b: 3 operations compute [1.991, 3]",
        "z = sum(b) = 4.991",
        "z has gradient 1, sends back   to b: [1, 1]",
        f"{turns[1]}b: 3 operations send back   to a: [0.03598, 0.0003901];   to w: [1.023, 1]",
        f"{turns[0]}a: 3 operations send back   to w: [0.04252, 0.0004223]   so far [1.065, 1.001]",
    ]
    np.testing.assert_allclose(af.gradients(z, [w])[w], [1.065, 1.001], rtol=1e-3)
    backward = [step for step in data["steps"] if step["phase"] == "backward"]
    assert [(p["name"], p["complete"]) for step in backward for p in step["products"]] == [
        ("b", True), ("a", True), ("w", False), ("w", True),
    ]  # fmt: skip
    assert [len(cards) for cards in data["folds"][1]["parts"].values()] == [4]  # x as well


def test_a_box_of_one_operation_computes_and_sends_back():
    x = af.Variable(0.5, name="x")
    with af.scope("a"):
        y = np.tanh(x)
    told = [step["caption"] for step in data_of(fragment(graph(y * x, depth=0, gradients=True)))["steps"]]
    assert "a: 1 operation computes 0.4621" in told
    assert any([text.startswith("a: 1 operation sends back   to x: ") for text in told])


def test_html_in_a_file_and_to_be_put_into_a_page(tmp_path):
    out, _ = shared()
    for thing in (graph(out, gradients=True), out.step()):
        text, part = thing.save(tmp_path / "g.html").read_text(encoding="utf-8"), thing.to_html(full=False)
        assert text == thing.to_html()
        assert text.startswith("<!doctype html>\n")
        assert Reader(text).texts["title"] == ["out"]
        assert part in text
        assert part.startswith('<div class="autoflow-picture')
        assert not re.search("<html|<body", part)


# ------------------------------------------------------------------ cells


def test_a_graph_and_its_steps_in_a_cell():
    out, _ = shared()
    for thing, start in ((out.step(), 0), (graph(out, gradients=True), -1)):
        bundle = thing._repr_mimebundle_()
        assert set(bundle) == {"text/html", "text/plain"}
        assert bundle["text/plain"] == str(thing)
        assert data_of(bundle["text/html"])["start"] == start
        assert set(thing._repr_mimebundle_(include=["text/plain"])) == {"text/plain"}
        assert "text/html" not in thing._repr_mimebundle_(exclude={"text/html"})
    asked = thing._repr_mimebundle_(include=["text/html", "image/svg+xml"])
    assert asked == {"text/html": bundle["text/html"], "image/svg+xml": thing.to_svg()}


def test_static_cells_have_images_only_which_are_as_wide_as_the_picture():
    picture = graph(shared()[0])
    with af.options(static=True):
        bundle = picture._repr_mimebundle_()
        assert set(shared()[0]._repr_mimebundle_()) == {"text/plain"}
    assert set(bundle) in ({"image/png", "text/plain"}, {"image/svg+xml", "text/plain"})
    assert stepper.size({"image/svg+xml": ""}) == {}
    if "image/png" not in bundle:
        pytest.skip("nothing here draws PNG")
    assert bundle["image/png"].startswith(PNG)
    wide = int(re.search(r'width="(\d+)"', picture.to_svg())[1])
    assert int.from_bytes(bundle["image/png"][16:20], "big") > 1.5 * wide
    assert stepper.size(bundle) == {"image/png": {"width": pytest.approx(wide, abs=1)}}


@pytest.mark.usefixtures("without_programs")
def test_without_any_png_writer_static_cells_have_svg():
    with af.options(static=True):
        assert set(graph(shared()[0])._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}


def test_a_node_shows_numbers_first():
    a5, (x, *_) = lesson()
    a5.backward()
    bundle = a5._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(a5)
    text = bundle["text/html"]
    assert text.startswith(f'<div class="{PLAIN}"><pre>8.41696149')
    told = ["<div>a5: Operation subtract · gradient 1</div>", "<details><summary>graph (3 Variables, ", "script"]
    assert missing(text, *told) == ["script"]
    assert "<img alt=" in text.partition("<details>")[2]
    assert inside(x) == "<pre>2.0</pre><div>x: Variable · gradient 10.13</div>"
    assert set(a5._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert set(a5._repr_mimebundle_(exclude={"text/plain"})) == {"text/html"}


def inside(node):
    """The HTML of a node in a cell, without the element around it."""
    return node._repr_mimebundle_()["text/html"].removeprefix(f'<div class="{PLAIN}">').removesuffix("</div>")


def test_arrays_show_numbers_first():
    w = af.Variable(np.ones((2, 2), np.float32), name="w")
    assert inside(w) == "<pre>[[1., 1.],\n [1., 1.]]</pre><div>w: Variable · 2 × 2 float32</div>"


def chain(count):
    return repeat(lambda y: y * 1.0, af.Variable(1.0, name="x"), count)


def test_nothing_of_a_large_graph_is_laid_out(monkeypatch):
    monkeypatch.setattr(walk, "graph", refuse)
    many = np.stack([af.Variable(1.0) for _ in range(100)])
    for node in (chain(100), many):
        text = node._repr_mimebundle_()["text/html"]
        assert "more than 60 nodes" in text
        assert len(text) < 2000


def test_the_size_of_a_repr_does_not_depend_on_the_graph(monkeypatch):
    looked = []
    found = walk.few
    monkeypatch.setattr(walk, "few", lambda record: looked.append(found(record)) or looked[-1])
    chain(20_000)._repr_mimebundle_()
    assert looked == [None]


def test_gradients_of_large_arrays_are_not_computed_for_a_repr(monkeypatch):
    asked = []
    draw_it = walk.graph
    monkeypatch.setattr(walk, "graph", lambda *a, **k: asked.append(k["gradients"]) or draw_it(*a, **k))
    for n, expected in ((10, None), (200_000, False)):
        np.sum(af.Variable(np.ones(n)) * 2.0)._repr_mimebundle_()
        assert asked[-1] is expected


def test_a_repr_starts_no_program(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert "<img" in lesson()[0]._repr_mimebundle_()["text/html"]


def test_a_repr_never_raises(monkeypatch):
    out, _ = shared()
    g = graph(out)
    monkeypatch.setattr(drawing, "place", refuse)
    assert set(g._repr_mimebundle_()) == {"text/plain"}
    monkeypatch.setattr(trees, "Tree", refuse)
    assert "failed" in g._repr_mimebundle_()["text/plain"]
    monkeypatch.setattr(walk, "graph", refuse)
    assert out._repr_mimebundle_()["text/html"] == "<pre>12.0</pre>"
    monkeypatch.setattr(walk, "html", refuse)
    assert set(out._repr_mimebundle_()) == {"text/plain"}
    monkeypatch.setattr(walk, "repr", refuse, raising=False)
    assert "cannot be shown" in out._repr_mimebundle_()["text/plain"]


def test_broken_names_and_print_options_do_not_break_a_repr():
    class Name(str):
        def isprintable(self):
            raise ZeroDivisionError

    x = af.Variable([1.0, 2.0], name="x")
    z = x * 2
    z.name = Name("z")
    with np.printoptions(formatter={"float": lambda v: 1 / 0}):
        for node in (x, z):
            assert re.search("which cannot be shown: ZeroDivisionError|Name", repr(node))
            assert node._repr_mimebundle_()["text/plain"] == repr(node)
            assert "autoflow-picture" in z.graph()._repr_mimebundle_()["text/html"]


def test_odd_nodes_are_shown_too():
    x = af.Variable([1.0, 2.0], name="x")
    leaves = [af.Variable(value) for value in (1j, np.float16(2.0), np.nan)]
    for node in (np.array(x, subok=True), x[:0], x.detach(), np.array([x * 2])[0], x.copy(), *leaves):
        bundle = walk.node_bundle(node)
        assert bundle["text/plain"]
        assert "<pre>" in bundle["text/html"]


def test_a_terminal_is_not_given_html(monkeypatch):
    shell = types.SimpleNamespace(display_formatter=types.SimpleNamespace(active_types=["text/plain"]), user_ns={})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    out, _ = shared()
    for thing in (out, graph(out), out.step()):
        assert set(thing._repr_mimebundle_()) == {"text/plain"}


def test_an_untrusted_notebook_shows_picture_and_table():
    """JupyterLab leaves of its outputs no scripts, styles, SVG."""
    kept = {"div", "img", "details", "summary", "table", "tr", "td", "b", "pre"}
    a5, _ = lesson()
    a5.backward()
    for text in (fragment(a5.step().graph), a5._repr_mimebundle_()["text/html"]):
        shown = re.sub(r"<(script|style|svg)\b.*?</\1>", "", text, flags=re.DOTALL)
        left = Reader(re.sub(r"</?(\w+)[^>]*>", lambda m: m[0] if m[1] in kept else "", shown))
        (image,) = [attributes for tag, attributes in left.tags if tag == "img"]
        assert image["alt"].startswith("Computation graph")
        assert base64.b64decode(image["src"].partition(",")[2]).startswith(b"<svg")
        assert "details" in [tag for tag, _ in left.tags]


# ------------------------------------------------------------------ PNG and PDF


@pytest.mark.slow
def test_matplotlib_draws_our_layout(tmp_path):
    pytest.importorskip("matplotlib")
    w = af.Variable(np.linspace(0, 1, 12).reshape(3, 4), name="$w_1$ \\frac")
    loss = np.sum(np.tanh(af.Constant(np.ones((5, 3)), name="data") @ w) ** 2) / np.float64("nan")
    looks = [{}, {"theme": "dark", "constants": "nodes"}, {"direction": "down"}, {"detail": "names"}] if NIGHTLY else []
    for g in [graph(loss, gradients=True), *[graph(lesson()[0], gradients=True, **look) for look in looks]]:
        data = g.save(tmp_path / "g.png").read_bytes()
        assert data.startswith(PNG)
        svg = ElementTree.fromstring(g.to_svg())
        size = [int.from_bytes(data[k : k + 4], "big") for k in (16, 20)]
        assert size == [2 * int(svg.get("width")), 2 * int(svg.get("height"))]
        assert png.render(g, "png") == data  # the same each time
        assert g.save(tmp_path / "g.PDF").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_matplotlib_draws_at_the_right_place_in_the_right_colour():
    image = pytest.importorskip("matplotlib.image")
    g = graph(lesson()[0], gradients=True, theme="dark", constants="nodes")
    pixels = (image.imread(io.BytesIO(png.render(g, "png")), format="png") * 255).round()
    svg = ElementTree.fromstring(g.to_svg())
    looks = {(round(x, 1), round(y, 1)): look for box, (x, y), look in resolve(drawing_of(g)) if box.role == "box"}
    cards = [e for e in svg.iter() if e.get("data-node")]
    assert len(cards) == len(g.drawn.nodes)
    for group in cards:
        x, y = [float(v) for v in re.findall(r"[-\d.]+", group.get("transform"))]
        box = next(e for e in group if e.get("class") == "box")
        wide, high = float(box.get("width")), float(box.get("height"))
        seen = pixels[int(2 * (y + high - 4)), int(2 * (x + wide / 2)), :3]
        assert bytes(map(int, seen)).hex() == looks[x, y]["fill"][1:].lower()
    assert list(pixels[-4, 4, :3]) == [0x11, 0x16, 0x1C]


@pytest.mark.usefixtures("without_programs")
def test_without_any_program_it_is_said_what_to_install(tmp_path):
    g = graph(shared()[0], engine="dot")
    assert "dot was not found; drew with the built-in layout" in Reader(g.to_svg()).texts["text"]
    for engine in ("built-in", "dot"):
        with pytest.raises(FileNotFoundError, match=r"dot was not found.*matplotlib.*save a \.svg"):
            graph(shared()[0], engine=engine).save(tmp_path / "g.png")
    assert not (tmp_path / "g.png").exists()


@pytest.mark.usefixtures("without_programs")
def test_pygraphviz_is_asked_when_dot_is_missing(monkeypatch, tmp_path):
    class Drawing:
        def __init__(self, string):
            self.text = string

        def draw(self, format, prog):
            return PNG + f"{format} {prog} {len(self.text)}".encode()

    monkeypatch.setitem(sys.modules, "pygraphviz", types.SimpleNamespace(AGraph=Drawing))
    data = graph(shared()[0]).save(tmp_path / "g.png").read_bytes()
    assert data.startswith(PNG + b"png dot ")
    assert stepper.by_pygraphviz(graph(shared()[0]), "pdf")
