"""The reference graphs of images/make.py, in every format, and those of programs as their authors write them, compared
with golden files that somebody has looked at.

After a change that is meant to change pictures: AUTOFLOW_GOLDEN=write pytest tests/pictures/test_gallery.py, then
python images/make.py, and look at them again, light and dark.

JSON and HTML are long and nobody reads them in a review, so theirs are compressed (0.9 MB become 0.1); where they
differ, the test shows the lines. Of a page, what is a golden file of its own, or a source file, is left out (see
:func:`laid_open`).
"""

import base64
import difflib
import gzip
import json
import linecache
import math
import os
import re
import shutil
import subprocess
import zlib
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import eyes
import numpy as np
import pytest
from gallery import DEAR, NAMES, SVG, make, picture
from graphs import by_title
from seeds import by_night
from written import PROGRAMS

import autoflow as af
from autoflow.pictures.render.svg import style_sheet

ROOT = Path(make.__file__).parent.parent
GOLDEN = Path(__file__).parents[1] / "golden" / "gallery"
MADE = {
    "svg": lambda g: g.to_svg(), "dot": lambda g: g.to_dot(), "mmd": lambda g: g.to_mermaid(),
    "txt": lambda g: g.to_text() + "\n", "table": lambda g: g.table() + "\n", "json": lambda g: g.to_json(),
    "html": lambda g: laid_open(g.to_html(), g.to_svg()),
}  # fmt: skip
COMPRESSED = ("json", "html")
LONG = "large.json"  # 870 kB that say nothing new
FILES = [file for name in make.GALLERY for kind in MADE if (file := f"{name}.{kind}") != LONG]


@pytest.mark.parametrize("file", by_night(FILES, [file for file in FILES if file.startswith(DEAR)]))
def test_golden_files(file):
    """Processes draw different seeds of hashes, so that a set that is gone through in its order is found out."""
    name, _, kind = file.partition(".")
    compare(MADE[kind](picture(name)), GOLDEN / (file + ".gz" * (kind in COMPRESSED)))


def compare(made, golden):
    """A text is what its golden file holds; or becomes it, if that is wanted."""
    if os.environ.get("AUTOFLOW_GOLDEN") == "write" and (not golden.exists() or read(golden) != made):
        golden.parent.mkdir(exist_ok=True)
        data = made.encode()
        golden.write_bytes(gzip.compress(data, mtime=0) if golden.suffix == ".gz" else data)
    wanted = read(golden)
    if golden.name.endswith(".json.gz"):
        same(json.loads(made), json.loads(wanted))
    elif golden.name.endswith(".html.gz"):
        (made, ours), (wanted, theirs) = [text.split("\n{\n", 1) for text in (made, wanted)]
        same(json.loads("{" + ours), json.loads("{" + theirs))
        lines = difflib.unified_diff(wanted.splitlines(), made.splitlines(), "golden", "made", lineterm="", n=1)
        assert "\n".join([line[:300] for line in lines]) == ""
    else:
        assert made == wanted


def read(golden):
    """The text of a golden file."""
    data = golden.read_bytes()
    return (gzip.decompress(data) if golden.suffix == ".gz" else data).decode()


def laid_open(page, svg):
    """A page as text to compare: an element per line, its data as JSON, and without what is tested elsewhere.

    That is: the script and its fingerprint, which stand in fragment.js, the style sheet, and the SVG.
    """
    data = re.search(r"data-autoflow='([^']*)'", page)[1]
    if not data.startswith("{"):  # long ones are compressed, by whatever zlib is there
        data = zlib.decompress(base64.b64decode(data)).decode()
    data = json.loads(data)
    data["css"] = "(css.py)"
    assert data["program"]["cards"] == data["folds"][0]["program"] if data["folds"] else True
    data["program"] = [file["name"] for file in data["program"]["files"]]  # its lines move
    for fold in data["folds"]:  # the same cards again, others folded: what can be read on them
        del fold["program"]
        fold["svg"] = [text for text in texts(fold["svg"]) if text] if fold["svg"] else []
    image = re.search(r"base64,([^\"]*)\"", page)[1]
    assert base64.b64decode(image).decode() == svg
    page = page.replace(image, "(the .svg)")
    page = re.sub(r"<script>.*?</script>", "<script>(fragment.js)</script>", page, flags=re.DOTALL)
    page = re.sub(r"'sha256-[^']*'", "'(of the script)'", page)
    page = re.sub(r"data-autoflow='[^']*'", "data-autoflow='(below)'", page)
    page = re.sub(r"(?<=>)(?=<)", "\n", page)
    return page + json.dumps(data, ensure_ascii=False, indent=1) + "\n"


CELL = """w = af.Variable(np.eye(3))
b = af.Variable(np.zeros(3))
x = np.linspace(0, 1, 6).reshape(2, 3)
h = np.tanh(x @ w + b)
loss = (h**2).sum()
"""


def cell():
    """A cell of a notebook, as IPython runs it."""
    name, names = "<ipython-input-1>", {"af": af, "np": np}
    linecache.cache[name] = len(CELL), None, CELL.splitlines(True), name
    exec(compile(CELL, name, "exec"), names)
    return names["loss"]


@pytest.mark.parametrize("program", [*PROGRAMS, cell], ids=lambda f: f.__name__)
def test_the_picture_of_a_program_as_its_author_writes_it_fits_on_a_screen(program):
    af.reset()
    made = af.graph(program(), gradients=True)
    wide, high = eyes.size(eyes.root_of(made))
    assert wide <= 1280
    assert high <= 900
    assert 4 <= len(made.drawn.nodes) <= 40
    letters = [float(pixels) for pixels in re.findall(r"font-size:([\d.]+)px", made.to_svg())]
    assert min(letters) >= 10  # it fits, though no letter is smaller than elsewhere
    compare(made.to_svg(), GOLDEN.parent / "written" / f"{program.__name__}.svg")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_themes_differ_in_their_style_sheets_alone(theme):
    compare(style_sheet("picture", theme) + "\n", GOLDEN / f"{theme}.css")
    for name in ("lesson", "network", "recurrent_folded", "hostile"):
        assert bare(picture(name, theme=theme).to_svg()) == bare(picture(name).to_svg())


def bare(svg):
    """An SVG without its style sheet and the name that this hangs on."""
    return re.sub(r"<style>.*?</style>|(?<=class=\")af\w+", "", svg, flags=re.DOTALL)


def same(a, b):
    """Equal, numbers up to rounding: libraries of linear algebra differ in the last digit."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, float) and isinstance(b, float):
        assert math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    else:
        assert a == b


@pytest.mark.parametrize("name", NAMES)
def test_the_svg_is_xml_and_obeys_nobody(name):
    text = picture(name).to_svg()
    root = ElementTree.fromstring(text)
    assert (root.tag, root.get("role"), root.get("style")) == (SVG + "svg", "img", "max-width:100%;height:auto")
    assert root.find(SVG + "title").text
    assert root.find(SVG + "desc").text.startswith("Computation graph of ")
    assert not re.search(r"url\(|@import", text)
    assert re.findall(r"https?:[^\"' ]*", text) == ["http://www.w3.org/2000/svg"]
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "g", "path", "polygon", "text", "circle",
    }  # fmt: skip
    attributes = {key for element in root.iter() for key in element.attrib}
    assert not [key for key in attributes if key.startswith("on") or "href" in key or key == "id"]
    assert len(text) < 100_000


@pytest.mark.parametrize("name", NAMES)
def test_all_text_is_inside_the_picture_and_no_card_overlaps_another(name):
    root = eyes.root_of(picture(name, legend=False))
    wide, high = eyes.size(root)
    places = eyes.cards(root)
    assert places
    for left, top, right, low in places.values():
        assert 0 <= left < right <= wide
        assert 0 <= top < low <= high
    for (a, b, c, d), (e, f, g, h) in combinations(places.values(), 2):
        assert c <= e + 0.2 or g <= a + 0.2 or d <= f + 0.2 or h <= b + 0.2
    for group in [g for g in root.iter(SVG + "g") if g.get("data-node")]:
        across = float(group.find(SVG + "rect").get("width"))
        assert all([0 <= float(text.get("x")) <= across for text in group.iter(SVG + "text")])


def test_the_gradient_is_a_graph_as_well():
    g = make.gradient()
    second = 2 * math.sin(2) + 8 * math.cos(2) - 4 * math.sin(2)
    assert math.isclose(by_title(g)["x"].gradient.elements[0], second, rel_tol=1e-12)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("name", ["network", "hostile"])
def test_dot_leads_all_arrows_forward_and_boxes_one_after_another(name):
    g = make.GALLERY[name]().drawn
    plain = subprocess.run(["dot", "-Tplain"], input=g.to_dot().encode(), capture_output=True, check=True).stdout
    at = {line[1]: (float(line[2]), float(line[4])) for line in map(str.split, plain.decode().splitlines())
          if line[0] == "node"}  # fmt: skip
    left, right = [{k: x + sign * wide / 2 for k, (x, wide) in at.items()} for sign in (-1, 1)]
    for edge in g.edges:
        assert right[f"n{edge.source}"] < left[f"n{edge.target}"]
    boxes = [[f"n{v.id}" for v in g.nodes if v.entered == frame.path] for frame in g.frames]
    assert len(boxes) > 1
    for before, after in pairwise(boxes):
        assert max([right[k] for k in before]) < min([left[k] for k in after])


def test_the_picture_and_the_formula_of_the_readme_are_those_of_its_example(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("images/lesson_light.svg") < text.index("```python")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "readme"}
    exec(text.split("```python\n")[1].split("```")[0], names)
    shown = (ROOT / "images" / "lesson_light.svg").read_text(encoding="utf-8")
    assert texts((tmp_path / "a5.svg").read_text(encoding="utf-8")) == texts(shown)
    assert make.readme(theme="light").to_svg() == shown
    exec("formula = x.why(a5).to_latex()", names)
    assert text.split("```math\n")[1].split("\n```")[0] == names["formula"]


def test_pictures_of_the_readme_are_there_in_both_themes():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pairs = re.findall(r'srcset="(.*?)_dark(\.\w+)">\s*<img src="(.*?)_light(\.\w+)" alt="\w', text)
    assert len(pairs) == text.count("<picture>") == 4
    assert [name for name in re.findall(r'srcset="(.*?)"', text) if not (ROOT / name).is_file()] == []
    for dark, kind, light, same_kind in pairs:
        assert (dark, kind) == (light, same_kind)
        assert (ROOT / f"{light}_light{kind}").is_file()
    assert make.network_folded(theme="dark").to_svg() == (ROOT / "images/network_folded_dark.svg").read_text("utf-8")


def texts(svg):
    """All that can be read in a picture."""
    return [e.text for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]
