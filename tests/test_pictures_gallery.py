"""The reference graphs of images/make.py, in every format, compared with golden files that somebody has looked at.

After a change that is meant to change pictures: AUTOFLOW_GOLDEN=write pytest tests/test_pictures_gallery.py, then
python images/make.py, and look at them again.
"""

import importlib.util
import json
import math
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autoflow.pictures import dot

GOLDEN = Path(__file__).parent / "golden" / "gallery"
SVG = "{http://www.w3.org/2000/svg}"
spec = importlib.util.spec_from_file_location("images_make", Path(__file__).parent.parent / "images" / "make.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)
KINDS = ("svg", "dot", "mmd", "json", "txt")
# The JSON of these is long, and that of others like it; what is in it is tested with the others.
LONG = ("network", "recurrent", "large", "chain", "attention")
FILES = [f"{name}.{kind}" for name in make.GALLERY for kind in KINDS if kind != "json" or name not in LONG]


@pytest.mark.parametrize("file", FILES)
def test_golden_files(file, tmp_path):
    name, _, kind = file.partition(".")
    made = make.GALLERY[name]().save(tmp_path / f"picture.{kind}").read_text(encoding="utf-8")
    golden = GOLDEN / file
    if os.environ.get("AUTOFLOW_GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(made, encoding="utf-8", newline="\n")
    wanted = golden.read_text(encoding="utf-8")
    if kind == "json":
        same(json.loads(made), json.loads(wanted))
    else:
        assert made == wanted


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


@pytest.mark.parametrize("name", make.GALLERY)
def test_the_svg_is_xml_and_obeys_nobody(name):
    text = make.GALLERY[name]().to_svg()
    root = ElementTree.fromstring(text)
    assert re.findall(r"https?:[^\"' ]*", text) == ["http://www.w3.org/2000/svg"]
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "g", "path", "polygon", "text", "circle",
    }  # fmt: skip
    attributes = {key for element in root.iter() for key in element.attrib}
    assert not [key for key in attributes if key.startswith("on") or "href" in key or key == "id"]
    assert len(text) < 100_000


@pytest.mark.parametrize("name", make.GALLERY)
def test_all_text_is_inside_the_picture_and_no_card_overlaps_another(name):
    root = ElementTree.fromstring(make.GALLERY[name](legend=False).to_svg())
    wide, high = float(root.get("width")), float(root.get("height"))
    places = []
    for group in root.iter(SVG + "g"):
        if (group.get("class") or "").split()[:1] in (["var"], ["con"], ["op"]):
            x, y = map(float, re.findall(r"[\d.]+", group.get("transform")))
            box = group.find(SVG + "rect")
            w, h = float(box.get("width")), float(box.get("height"))
            assert x >= 0
            assert x + w <= wide
            assert y + h <= high
            for u, v, a, b in places:
                assert x + w <= u + 0.2 or u + a <= x + 0.2 or y + h <= v + 0.2 or v + b <= y + 0.2
            places.append((x, y, w, h))
            for text in group.iter(SVG + "text"):
                assert 0 <= float(text.get("x")) <= w
    assert places


def test_hostile_names_are_clipped_and_clean_everywhere():
    g = make.hostile()
    files = {"svg": g.to_svg(), "dot": g.to_dot(), "mmd": g.to_mermaid(), "json": g.to_json(), "txt": g.to_text()}
    for kind, text in files.items():
        assert "<script" not in text or kind == "txt", kind
        assert "\u202e" not in text
        assert "\x00" not in text
        assert len(text) < 60_000
    assert max(map(len, g.to_text().splitlines())) < 250


def test_the_lesson_has_ten_operations_on_eight_cards():
    g = make.lesson()
    assert g.counts() == "3 Variables · 10 Operations · 8 cards"
    assert len(json.loads(g.to_json())["nodes"]) == 13
    assert len(g.drawn.nodes) == 11


def test_the_gradient_is_a_graph_as_well():
    g = make.gradient()
    x = next(v for v in g.nodes if v.title == "x")
    second = 2 * math.sin(2) + 8 * math.cos(2) - 4 * math.sin(2)
    assert math.isclose(x.gradient.elements[0], second, rel_tol=1e-12)


@pytest.mark.skipif(not dot.shutil.which("dot"), reason="Graphviz is not installed")
@pytest.mark.parametrize("name", ["network", "network_folded", "hostile", "gradient"])
def test_dot_accepts_boxes_and_folds(name):
    from autoflow.pictures.dot import run_dot

    assert b"<svg" in run_dot(make.GALLERY[name](), "svg")


def test_the_picture_of_the_readme_is_that_of_its_example(tmp_path, monkeypatch):
    root = Path(make.__file__).parent.parent
    text = (root / "README.md").read_text(encoding="utf-8")
    assert text.index("images/lesson_light.svg") < text.index("```python")
    code = text.split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(code, {"__name__": "readme"})
    shown = (root / "images" / "lesson_light.svg").read_text(encoding="utf-8")
    assert texts((tmp_path / "a5.svg").read_text(encoding="utf-8")) == texts(shown)
    assert make.readme(theme="light").to_svg() == shown


def texts(svg):
    """All that can be read in a picture."""
    return [e.text for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]
