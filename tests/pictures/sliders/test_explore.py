"""Sliders: what the browser computes is what Python computes."""

import json
import math
import re
import sys

import numpy as np
import pytest
from graphs import lesson, missing
from picture_pages import Reader, data_of, rgb
from processes import in_node
from support import rows

import autoflow as af
from autoflow.errors import LostGradientError
from autoflow.forward.replay import record_again
from autoflow.pictures.model.data import number
from autoflow.pictures.model.style import DARK, LIGHT
from autoflow.pictures.sliders import explore as sliders
from autoflow.pictures.sliders.explore import Explorer, explore, point as where_it_stands, root_at
from autoflow.pictures.sliders.live import Slider, as_javascript, jsonable, mark, script

POINTS = 20
OPTIONS = {"i0_derivative": {"order": 1}, "round": {"decimals": 1}, "angle": {"deg": True}}
JAVASCRIPT = [row for row in rows() if as_javascript(row)]


# -- the rows


def inputs_of(row):
    """Twenty points of the row's domain: operands as numbers."""
    points = np.random.default_rng(7).uniform(*row.domain, (POINTS, row.operands)).tolist()
    return [[p[0] > 0, *p[1:]] for p in points] if row.name == "where" else points


def python_side(row, point):
    """The value, and what is sent to each operand by g = 0.7, as autoflow computes it."""
    operands = [x if isinstance(x, bool) else af.Variable(x) for x in point]
    node = row.function(*operands, **OPTIONS.get(row.name, {}))
    return [float(node), *[None if s is None else float(s) for s in node.grad_fn(np.float64(0.7))]]


def options_of(row):
    given = OPTIONS.get(row.name, {})
    return [given.get(name, default) for name, default in zip(row.names, row.defaults, strict=True)][row.operands :]


def comparison(cases):
    """JavaScript that computes all rows at their points, as RESULT."""
    table = ",".join([f"{json.dumps(row.name)}:{as_javascript(row)}" for row in JAVASCRIPT])
    return f"""{script()}
        const ROWS = {{{table}}}, cases = {json.dumps(cases)}, RESULT = {{}};
        for (const [name, [points, options]] of Object.entries(cases))
            RESULT[name] = points.map((point) => {{
                const args = [...point, ...options], z = ROWS[name][0](...args);
                return [z, ...ROWS[name].slice(1).map((pull) => pull(0.7, ...args, z))];
            }});"""


def agree(row, points, answers):
    """What JavaScript computed is what Python computes."""
    for point, theirs in zip(points, answers, strict=True):
        with np.errstate(all="ignore"):
            ours = python_side(row, point)
        for mine, other in zip(ours, theirs, strict=True):
            if mine is not None:
                close = math.isclose(mine, float(other), rel_tol=1e-12, abs_tol=1e-15)
                assert close or (math.isnan(mine) and other == "NaN"), (row.name, point, ours, theirs)


@pytest.fixture(scope="module")
def javascript_side():
    """All rows at all points, in one run of node."""
    points = {row: inputs_of(row) + EDGES.get(row.name, []) for row in JAVASCRIPT}
    return in_node(comparison({row.name: [of_row, options_of(row)] for row, of_row in points.items()}))


@pytest.mark.parametrize("row", JAVASCRIPT, ids=lambda row: row.name)
def test_a_row_means_the_same_in_javascript(row, javascript_side):
    agree(row, inputs_of(row) + EDGES.get(row.name, []), javascript_side[row.name])


EDGES = {  # and kinks
    "maximum": [(1.0, 1.0), (-1.0, 2.0)], "minimum": [(1.0, 1.0), (-1.0, 2.0)], "absolute": [(0.0,), (-3.0,)],
    "power": [(0.0, 0.0), (0.0, 2.0), (-2.0, 3.0)], "hypot": [(0.0, 0.0), (-3.0, 4.0)],
    "arctan2": [(0.0, 0.0), (-1.0, -2.0)], "sinc": [(0.0,), (0.1,), (-0.3,), (2.5,)],
    "rint": [(0.5,), (1.5,), (-0.5,), (-2.5,), (2.5,)], "round": [(0.25,), (-1.55,)],
    "remainder": [(-7.0, 3.0), (7.0, -3.0), (6.0, 3.0)],
    "floor_divide": [(-7.0, 3.0), (7.0, -3.0), (6.0, 3.0), (-6.5, 0.5)], "fmod": [(-7.0, 3.0), (7.0, -3.0)],
    "clip": [(0.0, 0.0, 1.0), (2.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (0.5, 2.0, 1.0)],
    "heaviside": [(0.0, 0.5), (1.0, 0.5), (-1.0, 0.5)], "logaddexp": [(1000.0, 1000.0), (-1000.0, 3.0)],
    "exp2": [(-3.5,)], "copysign": [(-2.0, 3.0), (2.0, -3.0)], "sign": [(0.0,), (-2.0,)],
    "i0": [(0.0,), (-4.0,), (20.0,)], "i0_derivative": [(0.0,), (-4.0,), (710.0,)],
}  # fmt: skip
# Of the parts of a floating-point number nothing is drawn.
OF_FLOATS = {"frexp", "ldexp", "modf", "nextafter"}


def test_rows_with_kinks_and_those_of_the_elementary_files_have_javascript():
    homes = {row.name: getattr(row.derivatives.get("x"), "__module__", None) or "" for row in rows(scipys=False)}
    elementary = {name for name, home in homes.items() if home.endswith(".arithmetic")}
    assert {*EDGES} | elementary - OF_FLOATS <= {row.name for row in JAVASCRIPT}


# -- numbers as the pictures print them


def test_numbers_are_printed_as_in_python():
    rng = np.random.default_rng(1)
    values = [0.0, -0.0, 1.0, -2.0, 12345.0, 1e7, 0.1, -0.00001234, 99999.0, 123456.7, 0.00012345, 1e300, 999999.5]
    values += (rng.normal(size=200) * 10.0 ** rng.integers(-8, 9, 200)).tolist()
    values += [*(rng.integers(1000, 9999, 60) + 0.5), 15.625, -15.625, 2.0**-7, 1.5 + 2.0**-9]  # halves
    shown = in_node(f"{script()}; const RESULT = {json.dumps(values)}.map((v) => number(v, 4))")
    assert shown == [number(value, 4) for value in values]


def test_axes_end_whatever_their_numbers():
    """An axis that is narrower than rounding has few marks or none; values that differ by rounding are a constant."""
    ranges = [(1.0, 1 + 2.0**-52), (1e17, 1e17 + 16), (-1 - 2.0**-51, -1.0), (1e300, 1.001e300), (0.0, 5e-324),
              (-1e-5, 3.0), (1e9, 1e9 + 1)]  # fmt: skip
    found = in_node(f"{script()}; const RESULT = {json.dumps(ranges)}.map(([low, high]) => ticks(low, high, 6))")
    for (low, high), places in zip(ranges, found, strict=True):
        assert len(places) <= 7
        assert all([low - 1e-9 * (high - low) <= x <= high + 1e-9 * (high - low) for x in places])
    assert len(found[-1]) == 6
    values = [[1 - 2.0**-53, 1.0, 1 + 2.0**-52], [0.0, 0.0], [1e-12, 1e-12], [-1e17, -1e17 + 16], [2.0, 3.0]]
    spans = in_node(f"{script()}; const RESULT = {json.dumps(values)}.map((some) => span(some, []))")
    np.testing.assert_allclose(spans, [(0, 2), (-1, 1), (0, 2e-12), (-2e17, 16), (1.93, 3.07)], rtol=1e-12, atol=1e-15)


# -- what explore makes


def titled(page):
    """Its sliders, by their names."""
    return {slider.title: slider for slider in page.inputs.values()}


def test_sliders_of_a_recorded_graph():
    a5, variables = lesson()
    page = explore(a5, x=(-3, 3), y=(0, 2, 1.5))
    assert page.reason is None
    limits = {"x": (-3.0, 3.0, 2.0), "y": (0.0, 2.0, 1.0), "z": (-0.5, 1.5, 0.5)}
    assert page.inputs == {v: Slider(v.name, *limits[v.name]) for v in variables}
    assert str(page).startswith("sliders for x from -3 to 3, y from 0 to 2, z")
    assert set(page._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert isinstance(page, Explorer)
    part = page.to_html(full=False)  # for a page of one's own
    assert part in page.to_html()
    assert part.startswith('<div class="autoflow-explore')


def test_sliders_of_a_function():
    page = explore(lambda x, y: np.maximum(x, y) * np.tanh(x), x=(-3, 3), y=1.0)
    assert page.reason is None
    assert titled(page) == {"x": Slider("x", -3.0, 3.0, 0.0), "y": Slider("y", -1.0, 3.0, 1.0)}


def test_a_condition_that_stays_is_said():
    x = af.Variable(2.0, name="x")
    assert "does not follow the sliders" in explore(np.where(x > 0, x, 0.0)).to_html()
    assert "something else" in explore(lambda x: np.where(x > 0, x, 0.0), x=(-2, 2)).reason


def test_arrays_are_for_python(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    page = explore(lambda x, w: np.tanh(w * x).sum(), x=(-3, 3), w=[1.0, 2.0])
    assert "array" in page.reason
    bundle = page._repr_mimebundle_()
    assert "<div" in bundle["text/html"].partition("<img")[0]
    assert missing(bundle["text/html"], "pip install &quot;autoflow[widget]&quot;", "<script") == ["<script"]
    assert 'pip install "autoflow[widget]"' in bundle["text/plain"]
    assert "\n" not in page.advice()


def test_other_reasons():
    assert "float32" in explore(af.Variable(np.float32(1.0), name="x") * 2).reason
    assert "no JavaScript" in explore(af.Variable(1.0).sum()).reason
    y = af.Variable(1.0)
    for _ in range(2100):
        y = y * 1.0
    assert "2,101 operations" in explore(y).reason


def test_ranges_are_checked():
    a5, _ = lesson()
    with pytest.raises(ValueError, match="w: no Variable of the graph is called that; it has x, y, z"):
        explore(a5, w=1.0)
    for wrong in ((3, -3), (1,), (0, 1, 2), (0, math.nan), ("a", "b")):
        with pytest.raises(ValueError, match="x="):
            explore(a5, x=wrong)
    with pytest.raises(ValueError, match="say which arguments move"):
        explore(lambda x: x)
    lost = [(lambda x: 3.0, {"x": 1.0}, "has no history"), (af.Variable(1.0), {}, "nothing to move"),
            (3.0, {}, "takes a function or a node")]  # fmt: skip
    for f, ranges, said in lost:
        with pytest.raises(LostGradientError, match=said):
            explore(f, **ranges)


def test_saved_pages(tmp_path):
    a5, _ = lesson()
    text = explore(a5).save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert not re.search("https?:", text.replace("http://www.w3.org/2000/svg", ""))
    (policy,) = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', text)
    assert re.fullmatch(r"default-src 'none';.* script-src 'sha256-[^' ]+'", policy)
    assert not re.search(r"eval\(|Function\(", text)
    with pytest.raises(ValueError, match=r"saved as \.html"):
        explore(a5).save(tmp_path / "page.svg")


def test_names_cannot_break_out():
    x = af.Variable(2.0, name='</script><img src=x onerror=alert(1)>"\\\u2028')
    text = explore(x * af.Variable(1.0, name="<b>&amp;")).to_html()
    tags, data = Reader(text).tags, data_of(text)
    assert [tag for tag, _ in tags].count("script") == 1
    assert all([attributes["src"].startswith("data:image/svg+xml;base64,") for tag, attributes in tags if tag == "img"])
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert data["inputs"][0]["title"].startswith("</script>")
    assert not re.search("<img|<b>", data["svg"])


def test_special_values_survive_json():
    written = {math.inf: "Infinity", -math.inf: "-Infinity", math.nan: "NaN", None: None}
    assert {value: jsonable(value) for value in written} == written
    assert jsonable(True) is True
    assert '"Infinity"' in explore(np.minimum(af.Variable(1.0), math.inf)).to_html()


def test_the_live_picture_has_a_place_for_every_number():
    a5, _ = lesson()
    data = data_of(explore(a5).to_html())
    places = set(re.findall(r'data-at="([a-z][\d.]+)"', data["svg"]))
    drawn = [i for i, title in enumerate(data["titles"]) if title is not None]
    assert {f"v{i}" for i in drawn} | {f"g{i}" for i in drawn} <= places
    assert {f"s{i}.{k}" for i, (op, _, flows, _) in enumerate(data["nodes"]) if op for k in flows} <= places
    assert "\ue000" not in data["svg"]
    assert len(mark("v3").text(4)) == 9


def test_a_large_graph_has_a_table_and_no_picture():
    y = x = af.Variable(0.5, name="x")
    for _ in range(250):
        y = np.sin(y) + x
    data = data_of(explore(y).to_html())
    assert (data["svg"], len(data["nodes"])) == ("", 501)


# -- where sliders begin, what they move


@pytest.mark.parametrize(("form", "told"), [("x * (x > 0)", "The condition in y"), ("x * float(x)", "float(x)")])
def test_what_was_decided_when_the_graph_was_made_is_told(form, told):
    x = af.Variable(2.0, name="x")
    y = x * (x > 0) if ">" in form else x * float(x)
    assert f"{told} stays as it was; it does not follow the sliders." in af.explore(y, x=(-3, 3)).to_html()


def of_positive(x):
    if x < 0:
        raise ValueError("negative")
    return x * 2.0


def root_of(x):
    guess = x + 0.5
    while abs(guess * guess - x) > 1e-9:
        guess = 0.5 * (guess + x / guess)
    return guess


STARTS = {  # a function, its sliders -> why Python has to compute, and what cannot be
    "an if": (lambda x, y: x * y if x > 0 else x - y, {"x": (-3, 3), "y": 1.0}, "something else"),
    "an if that is met at the end": (lambda x: 2 * x if x < 2.99 else 7 * x, {"x": (-3, 3)}, "something else"),
    "a function that fails": (of_positive, {"x": (-1, 3, 1)}, "the function raises ValueError for other inputs"),
    "one that returns no number there": (lambda x: x * 2.0 if x > 0 else None, {"x": (-1, 3, 1)}, "something else"),
    "an input, given back": (lambda x: max(x, 0.0), {"x": (-1, 3, 1)}, "something else"),
    "the input": (lambda x: x, {"x": 1.0}, None),
    "a loop that does not end": (root_of, {"x": (-1, 3, 2)}, "raises TimeoutError for other inputs"),
    "one that does not end here": (root_of, {"x": -1.0}, TimeoutError),
    "a number of turns": (lambda n, x: sum([x * k for k in range(int(n))]), {"n": 3.0, "x": 1.0}, "something else"),
    "an input that is not used": (lambda x, y: x * 2.0, {"x": 1.0, "y": 2.0}, None),
    "infinity": (lambda x: x * 2.0, {"x": np.inf}, ValueError), "NaN": (lambda x: x * 2.0, {"x": np.nan}, ValueError),
    "ends that are infinite": (lambda x: x * 2.0, {"x": -1e308}, ValueError),
    "a range that is infinite": (lambda x: x * 2.0, {"x": (-1e308, 1e308)}, ValueError),
    "a small number": (lambda x: x * 2.0, {"x": 5e-324}, None),
}  # fmt: skip


@pytest.mark.parametrize("what", STARTS)
def test_sliders_begin_wherever_they_can_move(what, monkeypatch):
    monkeypatch.setattr(sliders, "LONGEST", 0.5)
    f, ranges, expected = STARTS[what]
    if isinstance(expected, type):
        with pytest.raises(expected, match=r"a slider starts at a finite|with low < high|not over after 0\.5 s"):
            af.explore(f, **ranges)
        return
    page = af.explore(f, **ranges)
    assert (page.reason is None) if expected is None else expected in page.reason
    assert page.to_html()


@pytest.mark.parametrize("zero", [0, 0.0])
@pytest.mark.parametrize("slope", [1, 2.0])
def test_where_a_function_gives_a_plain_number_it_is_constant(slope, zero):
    page = explore(lambda x: (x if slope == 1 else slope * x) if x > 0 else zero, x=(-3, 3, 0.5))
    for at, value in ((2.0, 2.0 * slope), (-1.0, 0.0), (1.0, slope)):
        root, new = root_at(page, [at])
        stands = where_it_stands(page, root, new, [at])
        assert (stands["value"], stands["gradients"]) == (value, [slope * (value > 0)])
        assert page.picture_at([at]).to_svg()


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e308])
def test_a_variable_that_is_not_finite_stays_as_it_is(value):
    fixed, x, array = af.Variable(value, name="fixed"), af.Variable(0.5, name="x"), af.Variable([1.0, value])
    page = af.explore(x * fixed)
    assert [*titled(page)] == ["x"]
    assert page.to_html()
    assert [s.title for *_, s in af.explore(x * np.sum(array)).places] == ["x"]


def test_the_slopes_of_variables_with_one_name_are_their_own():
    a, b = af.Variable(np.array([1.0, 2.0]), name="w"), af.Variable(np.array([3.0, 4.0]), name="w")
    page = explore(np.sum(a * b**2))
    root, new = root_at(page, [1.0, 2.0, 5.0, 4.0])
    assert where_it_stands(page, root, new, [])["gradients"] == [25.0, 16.0, 10.0, 16.0]
    first = where_it_stands(page, page.root, {v: v for v, *_ in page.places}, [])
    assert first["gradients"] == [9.0, 16.0, 6.0, 16.0]


# -- names


def test_names_are_those_of_the_place_where_it_was_made():
    def made():
        u = af.Variable(2.0)
        inner = u * u
        outer = np.sin(inner) + 1.0
        return explore(outer, u=(-1, 3))

    data = data_of(made().to_html(full=False))
    assert [t for t in data["titles"] if t] == ["u", "inner", "sin(inner)", "outer"]
    assert ">inner<" in data["svg"]
    weights = af.Variable([1.0, 2.0])
    assert [s.title for *_, s in af.explore(np.sum(weights * weights)).places] == ["weights[0]", "weights[1]"]


def test_a_function_gives_its_name_to_its_value():
    def loss(w):
        return (w - 1.0) ** 2 + 0.1 * np.sin(5.0 * w)

    assert data_of(explore(loss, w=(-1, 3)).to_html())["titles"][-1] == "loss"


# -- the widget


@pytest.fixture
def widget():
    pytest.importorskip("anywidget", reason="the extra `widget` is not installed")
    return sliders.widget


def test_the_widget_keeps_names(widget):
    def made():
        data = np.array([1.0, 2.0])
        w = af.Variable(0.5)
        hidden = w * data
        return explore((hidden * hidden).sum())

    model = widget(made())
    for values in ([], [0.75]):
        model.values = values or model.values
        assert model.note == ""
        assert all([f">{name}<" in model.picture for name in ("w", "data", "hidden")])
    assert "0.75" in model.picture


def test_the_widget_draws_again_in_python(widget):
    page = explore(lambda x, w: np.tanh(w * x).sum(), x=(-3, 3), w=[1.0, 2.0])
    model = widget(page)
    assert [s["title"] for s in model.inputs] == ["w[0]", "w[1]", "x"]
    before = model.picture
    model.values = [1.0, 2.0, 2.5]
    assert model.picture != before
    assert model.note == ""
    assert "application/vnd.jupyter.widget-view+json" in str(page._repr_mimebundle_())


def test_the_plot_of_the_widget(widget):
    w = af.Variable([1.0, 2.0], name="w")
    loss = (w * w).sum()
    model = widget(explore(loss))
    assert model.point == {"title": "loss", "at": [1.0, 2.0], "value": 5.0, "gradients": [2.0, 4.0]}
    assert model.samples["axes"] == [0, 1]
    lengths = (sliders.COLUMNS, sliders.LINES)
    (x, y) = [np.linspace(s["low"], s["high"], n + 1) for s, n in zip(model.inputs, lengths, strict=True)]
    np.testing.assert_allclose(model.samples["grid"], x**2 + y[:, None] ** 2, rtol=1e-12, atol=1e-12)
    model.values = [3.0, 4.0]
    assert model.point == {"title": "loss", "at": [3.0, 4.0], "value": 25.0, "gradients": [6.0, 8.0]}
    assert "25" in model.picture
    model.axes = [1, -1]
    along = np.linspace(y[0], y[-1], sliders.SAMPLES + 1)
    np.testing.assert_allclose(model.samples["grid"], [9.0 + along**2], rtol=1e-12)
    model.values = [0.0, 4.0]
    assert model.samples["grid"][0][0] == y[0] ** 2  # the other one has moved
    assert w.grad is None
    assert w.value.tolist() == [1.0, 2.0]
    assert widget(explore(w * 2.0)).point == {}  # no single number: no plot
    poles = widget(explore(lambda u: 1 / u[0] + u[1], u=[1.0, 2.0]))
    assert None in [v for row in poles.samples["grid"] for v in row]  # 1/0


# -- in a browser

HELPERS = """
const r = () => document.querySelector('.autoflow-widget, .autoflow-explore > div').shadowRoot;
const press = (text) => [...r().querySelectorAll('button')].find((b) => b.textContent === text).click();
const type = (label, value) => { const f = r().querySelector(`[aria-label="${label}"]`);
  f.value = value; f.dispatchEvent(new Event('change')); };
const move = (k, value) => { const f = r().querySelectorAll('[type=range]')[k];
  f.value = value; f.dispatchEvent(new Event('input')); };
const upwards = (k) => { const f = r().querySelector('[aria-label=upwards]'); f.value = k; f.onchange(); };
const numbers = () => [...r().querySelectorAll('.bar [type=number]')].map((f) => f.valueAsNumber);
const all = (what) => [...r().querySelectorAll(what)].map((e) => e.textContent);
const said = () => all('.said')[0];
const plot = () => r().querySelector('.plot > svg');
const count = (what) => plot().querySelectorAll(what).length;
const path = (what) => plot().querySelector(what).getAttribute('d');
const label = () => plot().getAttribute('aria-label');
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const end = async () => { while (!said().includes('almost 0')) await wait(20); };
"""
FAKE = """
const listeners = {}, state = MODEL;
window.model = {
  get: (name) => state[name], set: (name, value) => { state[name] = value; }, saved: 0,
  save_changes() { this.saved += 1; }, on: (event, f) => { listeners[event] = f; },
  arrive(name, value) { state[name] = value; listeners["change:" + name](); },
};
PROGRAM.render({ model: window.model, el: document.body });
"""
SMALL, DOWN = "type('learning rate', 1e-9); ", "press('Step downhill'); "
SAID = {  # a function, its sliders, and what is done
    "is not a number: a smaller learning rate? (−2.996 → NaN)": (lambda x: np.log(x), {"x": (-30, 3, 0.05)}, DOWN),
    "The step is almost 0.": (lambda x: np.log(x), {"x": (-30, 3, 0.05)}, SMALL + DOWN),  # though the gradient is not
    "rises: a smaller learning rate?": (lambda x: x**4, {"x": (-2, 2, 1.0)}, "type('learning rate', 2); " + DOWN),
    "The next step would not be a number": (
        lambda x: x**4,
        {"x": (-2, 2, 1)},
        "type('learning rate', 2); " + 21 * DOWN,
    ),
    "not at right angles": (lambda x, y: x * y, {"x": (-1, 1), "y": (-100, 100)}, "0"),  # scales differ
}
BUTTONS = ["Step downhill", "Run", "Sweep", "Reset"]


def ends(page, what):
    """The coordinates in a path of the plot."""
    return np.array([float(v) for v in re.findall(r"-?[\d.]+", page.run(f"path('{what}')"))])


def page_of(model):
    """The module as anywidget loads it, with a model that only remembers."""
    names = ("inputs", "values", "picture", "note", "digits", "colours", "point", "axes", "samples")
    state = {name: getattr(model, name) for name in names}
    program = FAKE.replace("MODEL", json.dumps(state).replace("<", "\\u003c"))
    module = script() + sliders.ESM.replace("export default", "const PROGRAM =") + ";"
    return f"<!doctype html><body><script>{module}{program}</script></body>"


class TestInABrowser:
    pytestmark = pytest.mark.browser

    def test_a_slider_moves_values_and_gradients(self, show):
        a5, variables = lesson()
        page = show(explore(a5, x=(-3, 3), y=(-1, 2), z=(-1, 2)).to_html())
        place = [-1.25, 0.75, 1.5]
        page.run(f"{place}.forEach((value, k) => move(k, value))")
        moved, new = record_again(a5, dict(zip(variables, place, strict=True)))
        moved.backward()
        grads = [float(new[v].grad) for v in variables]
        assert page.run("[...r().querySelectorAll('[type=range]')].map((e) => e.valueAsNumber)") == place
        assert page.run("[...r().querySelectorAll('[type=range]')].map((e) => e.ariaLabel)") == ["x", "y", "z"]
        values, found = page.run("(({values, gradients}) => [values, gradients])"
                                 "(document.querySelector('.autoflow-explore').autoflow)")  # fmt: skip
        np.testing.assert_allclose([values[-1], *found[:3]], [float(moved), *grads], rtol=1e-12)
        assert page.run("all('.result')") == [f"a5 = {number(float(moved), 4)}"]
        for k, g in enumerate(grads):
            assert set(page.run(f"all('svg [data-at=g{k}]')")) == {number(g, 4)}
        assert page.run("document.querySelectorAll('img').length") == 0
        assert page.run("r().querySelector('.result').ariaLive") == "polite"
        assert page.run("all('tr').length") > 10

    def test_two_pages_in_one_document(self, show):
        """Each has rows of its own, also if both are there before the first script runs."""
        x = af.Variable(2.0, name="x")
        parts = [explore(z, x=(-3, 3)).fragment()[0].partition("<script>") for z in (np.sin(x) * x, np.exp(-x))]
        text = "".join([part[0] for part in parts] + [f"<script>{part[2]}" for part in parts])
        page = show(f"<!doctype html><meta charset=utf-8><body>{text}</body>")
        values = page.run("[...document.querySelectorAll('.autoflow-explore')].map((e) => e.autoflow?.values.at(-1))")
        np.testing.assert_allclose(values, [2 * np.sin(2), np.exp(-2)])

    def test_the_keyboard_moves_a_slider(self, show):
        page = show(explore(lesson()[0], x=(-3, 3)).to_html())
        before = page.run("all('.result')")
        page.run("r().querySelector('input').focus()")
        page.press("ArrowRight")
        assert page.run("r().querySelector('input').valueAsNumber") > 2
        assert page.run("all('.result')") != before

    def test_a_hostile_name_runs_nothing(self, show):
        bad = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1">'
        x = af.Variable(2.0, name=bad)
        page = show(re.sub("<meta http-equiv.*?>", "", explore(x * np.sin(x)).to_html()))
        assert page.run("[window.hit ?? 0, document.querySelectorAll('img').length]") == [0, 0]
        assert page.run("all('[type=range]').length") == 1

    @pytest.mark.nightly
    def test_rows_mean_the_same(self, show):
        """The same comparison as with node, in the program that readers have."""
        cases = {row.name: [inputs_of(row), options_of(row)] for row in JAVASCRIPT}
        page = show(f"<!doctype html><script>{{{comparison(cases)}; window.found = RESULT}}</script>")
        answer = page.run("JSON.parse(JSON.stringify(found))")
        assert set(answer) == set(cases)
        for row in JAVASCRIPT:
            agree(row, inputs_of(row), answer[row.name])

    def test_over_one_input_there_is_the_curve_and_its_tangent(self, show):
        page = show(explore(lambda x: x**3 - 3 * x, x=(-2, 2, 0.5)).to_html())
        assert page.run("[count('.curve'), count('.tangent'), count('.point'), count('.trail')]") == [1, 1, 1, 0]
        assert "x from −2 to 2" in page.run("label()")
        assert page.run("label()").endswith("at x = 0.5: value −1.375, slope −2.25")
        points = ends(page, ".curve").reshape(-1, 2)
        assert len(points) == 241
        xs = np.linspace(-2, 2, 241)
        line = np.polyfit(xs, points[:, 0], 1)  # pixels are linear in x, and in the value
        assert np.allclose(np.polyval(line, xs), points[:, 0], atol=0.02)
        scale = np.polyfit(xs**3 - 3 * xs, points[:, 1], 1)
        assert np.allclose(np.polyval(scale, xs**3 - 3 * xs), points[:, 1], atol=0.02)
        x0, y0, x1, y1 = ends(page, ".tangent")
        assert (y1 - y0) / (x1 - x0) * line[0] / scale[0] == pytest.approx(-2.25, abs=1e-3)
        page.keep("curve")

    @pytest.mark.nightly
    def test_a_pole_is_no_line(self, show):
        path = show(explore(lambda x: 1 / x, x=(-1, 1.001, 0.5)).to_html()).run("path('.curve')")
        assert path.count("M") == 2
        assert "NaN" not in path
        path = show(explore(lambda x: np.log(x), x=(-2, 2, 1.0)).to_html()).run("path('.curve')")
        assert path.count("M") == 1

    def test_over_two_inputs_there_are_contours_and_the_gradient(self, show):
        page = show(explore(lambda x, y: x**2 + y**2, x=(-2, 2, 1.0), y=(-2, 2, 0.5)).to_html())
        assert page.run("[count('.level') > 4, count('.gradient'), count('.point')]") == [True, 1, 1]
        assert page.run("label()").endswith("at 1, 0.5 its gradient is 2, 1: the arrow, uphill")
        x0, y0, x1, y1 = ends(page, ".gradient")
        assert (y0 - y1) / (x1 - x0) == pytest.approx(0.5, abs=0.01)  # of equal scales: at right angles to the circles
        inside = "(({width, height}) => [width, height].map((s) => s.baseVal.value / 2))"
        centre = np.array(page.run(f"{inside}(plot().querySelector('.inside'))"))
        ring = np.hypot(*(ends(page, ".level").reshape(-1, 2) - centre).T)
        assert np.ptp(ring) < 0.02 * ring.mean()
        page.run("upwards(-1)")
        assert page.run("[count('.level'), count('.curve')]") == [0, 1]
        page.keep("contours")

    def test_steps_downhill(self, show):
        page = show(explore(lambda x, y: x**2 + 3 * y, x=(-2, 2, 1.0), y=(-2, 2, 0.5)).to_html())
        page.run("type('learning rate', 0.25); press('Step downhill')")
        assert page.run("[numbers(), said()]") == [[0.5, -0.25], "step 1: x**2 + 3*y falls (2.5 → −0.5)"]
        page.run("press('Step downhill')")
        assert page.run("[numbers(), count('.past'), count('.trail'), count('.next')]") == [[0.25, -1], 2, 1, 1]
        page.run("type('learning rate', 1.5); press('Step downhill'); press('Step downhill')")
        assert "y left the range of the slider" in page.run("said()")
        page.run("press('Reset')")
        assert page.run("[numbers(), count('.past'), count('.trail'), said()]") == [[1, 0.5], 0, 0, ""]
        page.run("type('x, as a number', -1.5)")
        assert page.run("[numbers()[0], r().querySelector('[type=range]').valueAsNumber]") == [-1.5, -1.5]
        assert page.run("label()").split("; ")[1].startswith("at −1.5, 0.5 its gradient is −3, 3")

    @pytest.mark.parametrize("words", SAID)
    def test_what_is_said(self, show, words):
        f, ranges, act = SAID[words]
        page = show(explore(f, **ranges).to_html())
        page.run(act)
        assert words in f"{page.run('said()')} {page.run('all(`.note`)')}"

    @pytest.mark.nightly
    def test_a_run_ends_at_the_bottom(self, show):
        page = show(explore(lambda x: (x - 1) ** 2, x=(-2, 2, 2.0)).to_html(), reduced_motion=False)
        page.run("type('learning rate', 0.5); press('Run'); end()")
        assert page.run("wait(250).then(() => [numbers()[0], all('button')])") == [1, BUTTONS]

    @pytest.mark.nightly
    def test_a_sweep_moves_the_slider_and_comes_home(self, show):
        page = show(explore(lambda x: x * x, x=(-2, 2, 1.0)).to_html(), reduced_motion=False)
        page.run("window.seen = []; r().querySelector('[aria-label=\"Sweep x\"]').click(); "
                 "window.timer = setInterval(() => seen.push(numbers()[0]), 40); wait(1200)")  # fmt: skip
        page.run("press('Stop'); clearInterval(timer)")
        assert len(set(page.run("seen"))) > 3
        assert max(page.run("seen")) <= 2
        page.run("press('Reset')")
        assert page.run("numbers()") == [1]

    def test_a_click_in_the_plot_moves_the_inputs(self, show):
        page = show(explore(lambda x, y: x * y, x=(0, 4, 1.0), y=(0, 4, 1.0)).to_html())
        page.run("(() => { const b = plot().getBoundingClientRect(), s = b.width / 460, at = { bubbles: true, "
                 "buttons: 1, clientX: b.left + (58 + 388 / 2) * s, clientY: b.top + (12 + 388 / 4) * s }; "
                 "plot().dispatchEvent(new PointerEvent('pointerdown', at)); })()")  # fmt: skip
        assert page.run("numbers()") == pytest.approx([2, 3], abs=0.05)

    @pytest.mark.parametrize("dark", [False, True])
    @pytest.mark.nightly
    def test_colours_of_the_plot_are_those_of_the_theme(self, show, dark):
        page = show(explore(lambda x: x * x, x=(-2, 2, 1.0)).to_html(), dark=dark, width=800)
        for what, key in ((".curve", "op-line"), (".tangent", "grad")):
            stroke = page.run(f"getComputedStyle(plot().querySelector('{what}')).stroke")
            assert stroke == rgb((DARK if dark else LIGHT)[key])
        assert page.run("document.documentElement.scrollWidth <= 800")
        outside = "getComputedStyle(r().querySelector('.picture svg .gradient')).strokeWidth"
        assert page.run(outside) == "1px"  # the style of the plot does not reach the picture
        page.keep(f"explore_{'dark' if dark else 'light'}")

    @pytest.mark.nightly
    def test_a_printed_page_cuts_nothing_off(self, show):
        page = show(explore(lesson()[0]).to_html(), width=420)
        wide = "r().querySelector('.picture svg').getBoundingClientRect().width"
        assert page.run(wide) > 420
        before = "r().querySelector('.picture').previousSibling.textContent"
        page.wait(f"{before} == 'Fit to the page'", "the button, which comes when the page has been laid out,")
        page.call("Emulation.setEmulatedMedia", media="print")
        assert page.run(wide) <= 420
        assert page.run("getComputedStyle(r().querySelector('.tools')).display") == "none"

    def test_the_widget(self, show, widget):
        model = widget(explore(lambda x, w: np.tanh(w * x).sum(), x=(-3, 3), w=[1.0, 2.0]))
        page = show(page_of(model))
        assert page.run("all('[type=range]').length") == 3
        page.run("move(0, 0.5)")
        assert page.run("[model.get('values'), model.saved]") == [[0.5, 2.0, 0.0], 1]
        model.values = [0.5, 2.0, 0.0]  # as Python gets it, and draws
        page.run(f"model.arrive('picture', {json.dumps(model.picture)})")
        assert page.run("[all('.picture svg').length, count('.tangent')]") == [1, 1]
        assert page.run("path('.curve')").startswith("M0 ")
        page.run("upwards(2)")
        assert page.run("model.get('axes')") == [0, 2]  # Python is asked, and nothing is drawn before it has answered
        model.axes = [0, 2]
        page.run(f"model.arrive('samples', {json.dumps(model.samples)})")
        assert page.run("[count('.level') > 3, count('.gradient')]") == [True, 1]
        page.run("const box = r().querySelector('.plot'), frame = box.firstChild.getBoundingClientRect();"
                 "box.onpointerdown({ buttons: 1, clientX: frame.left + 200, clientY: frame.top + 100 })")  # fmt: skip
        x, y, _ = page.run("model.get('values')")
        assert (x != 0.5, y) == (True, 2.0)
        assert page.run("[...document.querySelectorAll('style')].map((s) => s.textContent).join('')") == model.colours
        rules = re.findall("([^{},]+)[{,]--", model.colours)
        assert all([re.search(r"[.]autoflow-widget\s*$", rule) for rule in rules])

    def test_steps_downhill_in_the_widget(self, show, widget):
        """Python computes: the numbers of a step are those of gradient descent, and it is told when they have come."""

        def f(x, w):
            return (x**2 + 3 * w).sum()

        model = widget(explore(f, x=(-2, 2, 1.0), w=[0.5]))
        page = show(page_of(model))

        def python():
            """What Python has to say to the values of the page."""
            model.values = page.run("model.get('values')")
            for name in ("picture", "point", "samples"):
                page.run(f"model.arrive({name!r}, {json.dumps(getattr(model, name))})")

        assert [s["title"] for s in model.inputs] == ["w[0]", "x"]
        page.run("type('learning rate', 0.25); press('Step downhill')")
        assert page.run("[model.get('values'), said()]") == [[-0.25, 0.5], ""]  # w - 0.25·3, x - 0.25·2x
        page.run("press('Step downhill')")  # too soon
        assert page.run("model.saved") == 1
        python()
        assert page.run("said()") == f"step 1: {model.point['title']} falls (2.5 → −0.5)"
        assert page.run("[count('.past'), count('.trail'), count('.next')]") == [1, 1, 1]
        assert page.run("all('.result')[0]").endswith(" = −0.5")
        page.run("press('Step downhill')")
        python()
        assert page.run("model.get('values')") == [-1.0, 0.25]
        assert page.run("said()").startswith("step 2: ")
        page.run("press('Reset')")
        python()
        assert page.run("[model.get('values'), said(), count('.past')]") == [[0.5, 1], "", 0]
        page.run("press('Step downhill')")
        page.run("model.arrive('note', 'ValueError: no')")  # Python could not: the page goes on
        page.run("type('x, as a number', -1.5)")
        assert page.run("[said(), model.get('values')[1]]") == ["", -1.5]

    @pytest.mark.nightly
    def test_a_run_in_the_widget_waits_for_python(self, show, widget):
        model = widget(explore(lambda x: ((x - 1) ** 2).sum(), x=[2.0]))
        page = show(page_of(model), reduced_motion=False)
        slow = """
        model.save_changes = () => setTimeout(() => { // a Python that takes longer than a tick
          const [x] = model.get("values");
          window.answers = (window.answers ?? 0) + 1;
          model.arrive("point", { ...model.get("point"), at: [x], value: (x - 1) ** 2, gradients: [2 * (x - 1)] });
        }, 250);"""
        page.run(slow + "type('learning rate', 0.5); press('Run'); end()")
        assert page.run("[model.get('values')[0], count('.past'), window.answers, all('button')]") == [1, 2, 1, BUTTONS]
