"""Are the reference graphs good to look at? Contrast, overlaps, cut text, arrows over cards, measured on each."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from eyes import SVG, arrows, cards, over, root_of
from gallery import NAMES, make, picture
from graphs import contrast, repeat
from seeds import by_day

import autoflow as af
from autoflow.pictures.model.style import THEMES as COLOURS
from autoflow.pictures.render.display import Rect, Text, resolve, tag_of
from autoflow.pictures.render.drawing import drawing_of

READABLE, VISIBLE = 4.5, 3.0  # contrast of a text, and of a line: WCAG 2.1, 1.4.3 and 1.4.11 (AA)
THEMES = ("light", "dark")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", NAMES)
def test_every_text_can_be_read_on_what_is_behind_it(name, theme):
    fills, seen = [], 0
    for shape, (x, y), look in resolve(drawing_of(picture(name, theme=theme))):
        if isinstance(shape, Rect):
            left, top = x + (shape.x or 0), y + (shape.y or 0)
            fills.append(((left, top, left + shape.width, top + shape.height), look["fill"]))
        if isinstance(shape, Text):
            x, y = x + shape.x, y + shape.y
            behind = [fill for (left, top, right, low), fill in fills if left <= x <= right and top <= y <= low][-1]
            assert contrast(look["fill"], behind) >= READABLE, (shape.text, look["fill"], behind)
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("theme", THEMES)
def test_every_arrow_can_be_seen(theme):
    colours = COLOURS[theme]
    for arrow in ("edge", "con-line", "flow0", "flow1", "flow2", "flow3", "flow4"):
        assert min(contrast(colours[arrow], colours[ground]) for ground in ("bg", "sco-fill")) >= VISIBLE, arrow


@pytest.mark.parametrize("name", NAMES)
def test_no_arrow_runs_over_a_card(name):
    root = root_of(picture(name, theme="light"))
    ways = arrows(root)
    assert ways
    for (source, target, _), path in ways.items():
        assert not [node for node, card in cards(root).items() if node not in (source, target) and over(card, path)]


def test_an_arrow_of_a_leaf_begins_anew_in_the_row_that_needs_it():
    af.reset()
    root = root_of(make.recurrent(direction="rows", fold=False))
    labels = [t.text for t in root.iter(SVG + "text") if t.get("class") == "parts"]
    assert sorted(labels) == ["U"] * 4 + ["W"] * 4 + ["b"] * 4 + ["→ 4 uses below"] * 3  # the first has them beside it
    starts = {(source, path[0]) for (source, *_), path in arrows(root).items()}
    assert sorted(Counter([source for source, _ in starts]).values())[-3:] == [5, 5, 5]


def test_what_is_too_wide_stands_in_rows():
    x = af.Variable(1.0, name="x")

    def woven(rows):
        return [a * b / 1000.0 - c for (a, b), c in zip(pairwise([*rows, rows[0]]), rows, strict=True)]

    assert af.graph(repeat(np.sin, x, 3)).look.direction == "right"
    assert af.graph(repeat(lambda y: y * x - 1.0, x, 20), fold=False).look.direction == "rows"
    broad = sum(repeat(woven, [x * k for k in range(2, 9)], 7))
    assert af.graph(broad, fold=False).look.direction == "down"  # too many arrows would have to turn round


# ------------------------------------------------------------------ in a browser, with its fonts

MEASURE = """[...document.querySelectorAll('[data-node]')].map(card => {
    const place = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] };
    const texts = [...card.querySelectorAll('text')].map(t => [t.textContent, ...place(t)]);
    return [place(card.querySelector('rect')), texts];
})"""


FEW = {"lesson", "hostile", "network", "attention"}


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", by_day(make.GALLERY, FEW))
def test_no_text_is_cut_or_runs_into_another(browser, tmp_path, name):
    for (left, top, right, low), texts in opened(browser, tmp_path, name, "light").run(MEASURE):
        for k, (text, a, b, c, d) in enumerate(texts):
            assert left <= a <= c <= right, text
            assert top - 4 <= b <= d <= low + 4, text  # what a font leaves free around its letters may reach further
            for other, e, f, g, h in texts[:k]:
                assert c <= e + 0.5 or g <= a + 0.5 or d <= f + 6 or h <= b + 6, (text, other)


def opened(browser, tmp_path, name, theme):
    path = tmp_path / f"{name}.svg"
    path.write_text(picture(name, theme=theme).to_svg(), encoding="utf-8")
    return browser.open(path)


def test_png_fades_what_is_in_a_faded_group():
    x, y = af.Variable(2.0, name="x"), af.Variable(3.0, name="y")
    z = x * y
    shapes = resolve(drawing_of(af.graph(z, "names", highlight=x, legend=False, theme="light")))
    seen = {shape.text: float(look["opacity"]) for shape, _, look in shapes if isinstance(shape, Text)}
    assert (seen["x"], seen["y"], seen["z"]) == (1.0, 0.3, 1.0)


# What a browser makes of each element, next to what the other formats get from the display list.
COMPUTED = """[...document.querySelectorAll('rect, circle, path, polygon, text')].map(e => {
    const style = getComputedStyle(e), opacity = getComputedStyle(e.parentElement).opacity;
    const hex = c => c === 'none' ? c : '#' + c.match(/\\d+/g).map(k => (+k).toString(16).padStart(2, '0')).join('');
    const line = style.stroke === 'none' ? [] : [parseFloat(style.strokeWidth), style.strokeDasharray];
    const font = e.tagName === 'text' ? [style.fontSize, style.fontWeight, /monospace/.test(style.fontFamily)] : [];
    return [e.tagName, hex(style.fill), +opacity, hex(style.stroke), line, font];
})"""


def expected(shape, look):
    """The same of a shape."""
    line, dashes = look.get("stroke", "none"), look.get("stroke-dasharray", "none").split()
    wide = [float(look.get("stroke-width", "1")), ", ".join([f"{d}px" for d in dashes if d != "none"]) or "none"]
    bold, mono = look.get("font-weight", "400"), "monospace" in look.get("font-family", "")
    font = [look["font-size"], bold, mono] if isinstance(shape, Text) else []
    colours = look["fill"].lower(), float(look["opacity"]), line.lower()
    return [tag_of(shape), *colours, wide if line != "none" else [], font]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", by_day(make.GALLERY, FEW))
def test_all_formats_have_the_colours_of_the_style_sheet(browser, tmp_path, name, theme):
    ours = [expected(shape, look) for shape, _, look in resolve(drawing_of(picture(name, theme=theme)))]
    assert opened(browser, tmp_path, name, theme).run(COMPUTED) == ours
