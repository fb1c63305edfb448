"""Pictures as files: SVG, DOT, Mermaid, JSON, text, what notebooks get.

The golden files were looked at. After a change that is meant to change pictures: AUTOFLOW_GOLDEN=write pytest ..., and
look at them again.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import types
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from gallery import make
from graphs import EVIL, contrast, missing, repeat
from support import example as lesson

import autoflow as af
from autoflow.pictures import draw, graph
from autoflow.pictures.model.style import STYLES, THEMES, cells, clean, width
from autoflow.pictures.pages import stepper
from autoflow.pictures.render import dot, png
from autoflow.pictures.render.drawing import drawing_of

GOLDEN = Path(__file__).parents[1] / "golden"
SVG = "{http://www.w3.org/2000/svg}"
with_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def square():
    x = af.Variable(3.0, name="x")
    z = x * x
    z.name = "z"
    return z


def evil(name):
    """A picture with that name in every place where a name may stand."""
    a, b = af.Variable(2.0, name=name), af.Variable([1.0, 2.0], name=name)
    z = a * b + af.Constant(1.0, name=name)
    z.name = name
    return graph(z, gradients=True)


PICTURES = {  # others are those of test_gallery.py
    "lesson_dark_nodes": lambda: make.lesson(theme="dark", constants="nodes"),
    "lesson_right": lambda: make.lesson(theme="light", direction="right"),
    "values": lambda: graph(lesson()[0]),
    "names": lambda: make.lesson(detail="names"),
}
FILES = [f"{name}.{kind}" for name in PICTURES for kind in ("svg", "dot", "txt", "mmd")]


@pytest.mark.parametrize("file", FILES)
def test_golden_files(file, tmp_path):
    name, _, kind = file.partition(".")
    made = PICTURES[name]().save(tmp_path / f"picture.{kind}").read_text(encoding="utf-8")
    golden = GOLDEN / file
    if os.environ.get("AUTOFLOW_GOLDEN") == "write":
        golden.write_text(made, encoding="utf-8", newline="\n")
    made = made.replace(np.dtype(int).name, "int64")  # in a browser the integers of NumPy have 32 bits
    assert made == golden.read_text(encoding="utf-8")


# ------------------------------------------------------------------ SVG


def test_svg_is_the_same_each_time_and_pictures_do_not_disturb_each_other():
    one, again, other = [draw().to_svg() for draw in (make.lesson, make.lesson, make.square)]
    assert one == again
    names = [re.search(r'class="(af\w+)"', text)[1] for text in (one, other)]
    assert names[0] != names[1]
    rules = re.search(r"<style>(.*?)</style>", one, re.DOTALL)[1]
    for rule in re.findall(r"(?:^|\n|\})([^{}@]+)\{", rules):
        assert all(names[0] in selector for selector in rule.split(","))


def test_themes():
    z = square()
    light, dark, auto = [graph(z, theme=theme).to_svg() for theme in ("light", "dark", "auto")]
    blue = "#E6F1FB", "#10283C", "var("
    assert [missing(light, *blue), missing(dark, *blue)] == [["#10283C", "var("], ["#E6F1FB", "var("]]
    assert missing(auto, "prefers-color-scheme:dark", "data-jp-theme-light=false") == []
    with af.options(theme="dark"):
        assert graph(z).to_svg() == dark


def test_digits():
    def numbers():
        return set(re.findall(r">(−?\d+\.\d+)<", graph(lesson()[0]).to_svg()))

    assert numbers() == {"−0.3048", "−43.89", "−0.9524", "−11.43", "−32.46"}
    with af.options(digits=7):
        assert numbers() == {"−0.3048106", "−43.89273", "−0.952413", "−11.42896", "−32.46377"}


def test_nan_is_told_in_words_and_colour():
    v = af.Variable([1.0, 0.0, -1.0], name="v")
    with np.errstate(all="ignore"):
        s = np.sum(np.log(v))
    g = graph(s, gradients=True, theme="light")
    assert missing(g.to_svg(), "1 NaN, 1 infinite", 'class="op out alarm"') == []
    assert THEMES["light"]["warn"] in g.to_dot()
    assert "1 NaN" in str(g)


def test_the_legend_can_be_left_out():
    told = "computed left to right", "call z.backward() to see gradients"
    assert missing(graph(square()).to_svg(), *told) == []
    assert missing(graph(square(), legend=False).to_svg(), *told) == ["computed left to right"]


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_can_be_read_on_its_fill(theme):
    colours = THEMES[theme]
    parts = {"title": ["head"], "value": ["head"], "shape": ["head"], "word": ["head", "fill"]}
    for (style, (*_, colour)), kind in product(STYLES.items(), ("var", "con", "op")):
        grounds = [f"{kind}-{part}" for part in parts.get(style, ["fill"])]
        for ground in grounds + ["bg"] * (style in ("note", "local", "sent")):
            assert contrast(colours[colour.replace("@", kind)], colours[ground]) >= 4.5, (style, kind, ground)


def test_numbers_fit_into_their_room():
    assert width("0123456789", "value") == pytest.approx(10 * 0.61 * 14)
    assert width("日本", "operand") == pytest.approx(4 * 0.61 * 12.5)
    assert [cells(c) for c in "a日\u0301"] == [1, 2, 0]


# ------------------------------------------------------------------ whatever a name may be


@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_no_name_breaks_a_format(name):
    g = evil(name)
    root = ElementTree.fromstring(g.to_svg())
    shown = [t.text for t in root.iter(SVG + "text")]
    title = clean(name)
    assert any(text.startswith(title[:15]) for text in shown if text) or not name
    assert not list(root.iter(SVG + "script"))
    assert json.loads(g.to_json())["nodes"][0]["title"] == g.nodes[0].title
    assert not set("<>") & set(g.to_json())
    for text in (g.to_svg(), g.to_dot(), g.to_mermaid(), g.to_json(), str(g)):
        text.encode("utf-8")
        assert len(text) < 60_000
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
    lines = g.to_mermaid().splitlines()
    assert all(re.match(r"flowchart|    (n\d|classDef|class|%%)", line) for line in lines)
    assert len(str(g).splitlines()) == len(str(evil("plain")).splitlines())


def test_equal_names_stay_apart():
    x, y = af.Variable(2.0, name="same"), af.Variable(3.0, name="same")
    g = graph(x * y, gradients=True)
    assert [node.gradient.elements for node in g.nodes[:2]] == [(3.0,), (2.0,)]
    assert missing(str(g), "same #0", "same #1") == []


# ------------------------------------------------------------------ DOT


def test_dot_needs_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match="pip install graphviz"):
        graph(square()).to_dot()


@with_dot
@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_dot_draws_any_name_as_it_is(name):
    g = evil(name)
    svg = dot.run_dot(g, "svg").decode()
    texts = [t.text for t in ElementTree.fromstring(svg).iter(SVG + "text")]
    assert g.nodes[0].title.rstrip().replace("\xa0", " ") in "".join([t or "" for t in texts]).replace("\xa0", " ")


@with_dot
@pytest.mark.parametrize("name", [*PICTURES, "lesson", "square", "network", "network_folded", "hostile", "gradient"])
def test_dot_accepts_every_picture_without_a_warning(name):
    text = (PICTURES.get(name) or make.GALLERY[name])().to_dot()
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=True)
    assert not done.stderr


@with_dot
def test_engine_dot():
    text = graph(square(), engine="dot").to_svg()
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert not re.search("Generated by graphviz|DTD", text)
    assert root.find(SVG + "title").text == "z"


def test_a_pdf_has_fonts_that_publishers_take():
    pytest.importorskip("matplotlib")
    pdf = png.render(graph(square()), "pdf")
    assert b"/CIDFontType2" in pdf or b"/TrueType" in pdf
    assert b"/Type3" not in pdf


def test_a_png_has_a_glyph_for_every_letter():
    """A long name is told by its number in formulas; matplotlib would warn, and draw a box."""
    pytest.importorskip("matplotlib")
    weights = af.Constant(np.arange(8.0).reshape(4, 2), name="weights")
    z = np.sum(weights * af.Variable(np.ones((4, 2)), name="Z"))
    z.backward()
    assert "g ⊙ ①" in graph(z).to_svg()
    png.figure_of(drawing_of(graph(z, theme="light"))).savefig(io.BytesIO())


def test_a_png_says_that_dot_is_missing(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    found = []
    monkeypatch.setattr(png, "render", lambda g, form: found.append(g.notes))
    stepper.rasterise(graph(square(), engine="dot"), "png")
    assert "dot was not found; drew with the built-in layout" in found[0]


@with_dot
def test_dot_is_not_asked_for_too_much(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for name, few, error, said in (("NODES", 1, ValueError, "at most 1"), ("SECONDS", 1e-6, TimeoutError, "stopped")):
        with monkeypatch.context() as limited:
            limited.setattr(dot, name, few)
            with pytest.raises(error, match=said):
                graph(square()).save(tmp_path / "z.png")


# ------------------------------------------------------------------ text


def test_the_tree():
    assert graph(square(), gradients=True).to_text(ascii=True).splitlines()[:3] == [  # (1) is wider than ①
        "z  multiply = 9         d 1",
        "|-(1) x  Variable = 3   d 6  x3 = 3 + 3",
        "`-(2) x  (shown above)       x3",
    ]
    assert str(graph(square() + 0.0, gradients=True)).endswith("2 Operations")  # has no name to call
    assert "step()" not in str(graph([square(), square()], gradients=True))


def test_a_line_of_known_leaves_is_not_long():
    leaves = [af.Variable(1.0, name=f"weight_number_{k}") for k in range(12)]
    once, again = np.prod(af.stack(leaves)), np.sum(af.stack(leaves))
    (line,) = [line for line in str(graph(once * again)).splitlines() if "…  (shown above)" in line]
    assert len(line) < 100
    assert "weight_number_0, weight_number_1" in line


def test_the_tree_in_ascii(monkeypatch):
    g = make.lesson()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert str(g) == g.to_text(ascii=True)
    assert str(g).isascii()


def test_whatever_is_printed_is_ascii_where_the_terminal_is(monkeypatch, tmp_path):
    x = af.Variable([-1.0, 2.0], name="x")
    loss = np.tanh(x * np.ones((5, 2)) - x).sum()
    loss.backward()
    kinds = [loss.graph(), loss.step(), loss.step()[-1], loss.summary(), x.why(loss), af.explore(loss)]
    told = [str(kind) for kind in kinds]
    assert not any([text.isascii() for text in told])
    assert loss.graph().table(ascii=True).isascii()
    assert not loss.graph().table().isascii()
    for name in ("steps.txt", "again.txt"):  # a file does not depend on the terminal
        assert loss.step().save(tmp_path / name).read_text(encoding="utf-8") == told[1] + "\n"
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    found = [str(kind) for kind in kinds]
    monkeypatch.undo()
    assert all([text.isascii() and "\\u" not in text for text in found])


def test_a_deep_graph_stays_on_the_screen():
    lines = str(graph(repeat(np.tanh, af.Variable(1.0, name="x"), 300), fold=False)).splitlines()
    assert max(map(len, lines)) < 160
    assert sum("continued below" in line for line in lines) > 5
    assert len([line for line in lines if "= 0." in line]) == 300


# ------------------------------------------------------------------ JSON, files, notebooks


def test_json_is_strict_and_complete():
    v = af.Variable([1.0, 0.0], name="v")
    with np.errstate(all="ignore"):
        g = graph(np.sum(np.log(v)) * af.Variable(1j, name="i"))

    data = json.loads(g.to_json(), parse_constant=pytest.fail)
    assert (len(data["nodes"]), len(data["edges"])) == (len(g.nodes), len(g.edges))
    assert data["nodes"][0]["operands"] == []
    assert data["format"] == "autoflow graph 1"


def test_save_names_the_formats_it_knows(tmp_path):
    g = graph(square())
    with pytest.raises(ValueError, match=r"\.svg .*\.dot .*\.png"):
        g.save(tmp_path / "z.bmp")
    assert g.save(str(tmp_path / "z.svg")) == tmp_path / "z.svg"
    assert (tmp_path / "z.svg").read_bytes().decode() == g.to_svg()


@pytest.mark.usefixtures("without_source")
def test_draw_shows_once_in_a_cell(monkeypatch):
    shown = []
    shell = types.SimpleNamespace(user_ns={}, execution_count=7)
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    module.display = types.ModuleType("IPython.display")
    module.display.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    hidden_in_a_list = [af.Variable(1.0)]
    shell.user_ns["weight"] = hidden_in_a_list[0]
    picture = draw(hidden_in_a_list[0])
    assert picture.nodes[0].title == "weight"
    assert len(shown) == 1
    picture._ipython_display_()
    assert len(shown) == 1  # the value of the cell that has drawn it
    shell.execution_count = 8
    picture._ipython_display_()
    assert len(shown) == 2
