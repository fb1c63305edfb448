"""Are the reference graphs good to look at? Contrast, overlaps, cut text, arrows over cards, measured on each."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from eyes import along
from gallery import SVG, make
from graphs import luminance

import autoflow as af
from autoflow.pictures.model.style import THEMES as COLOURS
from autoflow.pictures.render.png import Sheet, shapes

READABLE, VISIBLE = 4.5, 3.0  # contrast of a text, and of a line: WCAG 2.1, 1.4.3 and 1.4.11 (AA)
THEMES = ("light", "dark")


def drawn(name, theme="light"):
    """The root of a picture, and all shapes in the order in which they are painted."""
    af.reset()
    root = ElementTree.fromstring(make.GALLERY[name](theme=theme).to_svg())
    return root, list(shapes(root, Sheet(root), (0.0, 0.0), ()))


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def area(shape, whole):
    """Left, top, right and bottom of a rectangle."""
    sizes = [
        float(whole.get(side)) if shape[side] == "100%" else float(shape[side]) for side in ("width", "height")
    ]  # of the picture, if it is its background
    x, y = [at + float(shape.get(key, 0)) for at, key in zip(shape["at"], "xy", strict=True)]
    return x, y, x + sizes[0], y + sizes[1]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", make.GALLERY)
def test_every_text_can_be_read_on_what_is_behind_it(name, theme):
    root, painted = drawn(name, theme)
    fills, seen = [], 0
    for shape in painted:
        if shape["tag"] == "rect":
            fills.append((area(shape, root), shape["fill"]))
        if shape["tag"] == "text":
            x, y = [at + float(shape[key]) for at, key in zip(shape["at"], "xy", strict=True)]
            behind = [fill for (left, top, right, low), fill in fills if left <= x <= right and top <= y <= low][-1]
            assert contrast(shape["fill"], behind) >= READABLE, (shape["text"], shape["fill"], behind)
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("theme", THEMES)
def test_every_arrow_can_be_seen(theme):
    colours = COLOURS[theme]
    for arrow in ("edge", "con-line", "flow0", "flow1", "flow2", "flow3", "flow4"):
        assert min(contrast(colours[arrow], colours[ground]) for ground in ("bg", "sco-fill")) >= VISIBLE, arrow


@pytest.mark.parametrize("name", make.GALLERY)
def test_no_arrow_runs_over_a_card(name):
    root, _ = drawn(name)
    boxes = {}
    for group in root.iter(SVG + "g"):
        if group.get("data-node"):
            x, y = map(float, re.findall(r"[\d.]+", group.get("transform")))
            box = group.find(SVG + "rect")
            boxes[group.get("data-node")] = (x, y, x + float(box.get("width")), y + float(box.get("height")))
    arrows = [group for group in root.iter(SVG + "g") if group.get("data-edge")]
    assert arrows
    for group in arrows:
        ends = group.get("data-edge").split("-")[:2]
        for x, y in along(group.find(SVG + "path").get("d")):
            for node, (left, top, right, low) in boxes.items():
                assert node in ends or not (left + 1 < x < right - 1 and top + 1 < y < low - 1), (ends, node)


def test_an_arrow_of_a_leaf_begins_anew_in_the_row_that_needs_it():
    af.reset()
    root = ElementTree.fromstring(make.recurrent(direction="rows", fold=False).to_svg())
    labels = [t.text for t in root.iter(SVG + "text") if t.get("class") == "parts"]
    assert sorted(labels) == ["U"] * 4 + ["W"] * 4 + ["b"] * 4 + ["→ 4 uses below"] * 3  # the first has them beside it
    starts = {}
    for group in root.iter(SVG + "g"):
        if group.get("data-edge"):
            source = group.get("data-edge").split("-")[0]
            starts.setdefault(source, set()).add(group.find(SVG + "path").get("d").partition("L")[0])
    assert sorted(map(len, starts.values()))[-3:] == [5, 5, 5]


def test_what_is_too_wide_stands_in_rows():
    x = af.Variable(1.0, name="x")
    short, long, broad = x, x, [x * k for k in range(2, 9)]
    for _ in range(3):
        short = np.sin(short)
    for _ in range(20):
        long = long * x - 1.0
    for _ in range(7):
        broad = [a * b / 1000.0 - c for (a, b), c in zip(pairwise([*broad, broad[0]]), broad, strict=True)]
    total = sum(broad)
    assert af.graph(short).look.direction == "right"
    assert af.graph(long, fold=False).look.direction == "rows"
    assert af.graph(total, fold=False).look.direction == "down"  # too many arrows would have to turn round


# ------------------------------------------------------------------ in a browser, with its fonts

MEASURE = """[...document.querySelectorAll('[data-node]')].map(card => {
    const place = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] };
    const texts = [...card.querySelectorAll('text')].map(t => [t.textContent, ...place(t)]);
    return [place(card.querySelector('rect')), texts];
})"""


@pytest.mark.browser
@pytest.mark.slow
def test_no_text_is_cut_or_runs_into_another(browser, tmp_path):
    for name in make.GALLERY:
        af.reset()
        path = tmp_path / f"{name}.svg"
        path.write_text(make.GALLERY[name](theme="light").to_svg(), encoding="utf-8")
        for (left, top, right, low), texts in browser.open(path).run(MEASURE):
            for k, (text, a, b, c, d) in enumerate(texts):
                assert left <= a, (name, text)
                assert c <= right, (name, text)
                assert top <= b + 4, (name, text)  # what a font leaves free above its letters may reach further
                assert d - 4 <= low, (name, text)
                for other, e, f, g, h in texts[:k]:
                    assert c <= e + 0.5 or g <= a + 0.5 or d <= f + 6 or h <= b + 6, (name, text, other)


def test_png_fades_what_is_in_a_faded_group():
    x, y = af.Variable(2.0, name="x"), af.Variable(3.0, name="y")
    z = x * y
    root = ElementTree.fromstring(af.graph(z, "names", highlight=x, legend=False).to_svg())
    seen = {shape["text"]: float(shape["opacity"]) for shape in shapes(root, Sheet(root), (0.0, 0.0), ())}
    assert (seen["x"], seen["y"], seen["z"]) == (1.0, 0.3, 1.0)
