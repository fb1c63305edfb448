"""Pictures as data: what the walk finds, what flows back, what things are called, where they stand."""

import os
import pickle
import re
import sys
import time
import types
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from graphs import by_title, random_graph, repeat
from hypothesis import given, strategies as st
from processes import alone
from support import example as lesson

import autoflow as af
from autoflow.pictures import Graph, draw, graph, to_dot
from autoflow.pictures.layout import arrange, layers as ranking
from autoflow.pictures.model import names
from autoflow.pictures.model.data import number, numbers
from autoflow.pictures.render import placing
from autoflow.pictures.render.cards import cards


def test_contributions_are_those_of_backward():
    a5, leaves = lesson()
    a5.backward()
    g = graph(a5)
    nodes = by_title(g)
    for leaf in leaves:
        node = nodes[leaf.name]
        np.testing.assert_allclose(node.gradient.elements[0], leaf.grad, rtol=1e-12)
        np.testing.assert_allclose(sum(p.elements[0] for p in node.parts), leaf.grad, rtol=1e-12)
        arrived = [e.sent.elements[0] for e in g.edges if e.source == node.id]
        assert arrived == [p.elements[0] for p in node.parts]
    square, exponent = nodes["a1**2"].operands
    assert square.local.elements == (24.0,)
    np.testing.assert_allclose(square.sent.elements[0], 24 * np.sin(60.0))
    assert (square.note, exponent.note) == ("", "no gradient")


def test_parts_stand_in_the_order_of_use():
    x = af.Variable(2.0, name="x")
    g = graph(x * 10.0 + x * 20.0 + x * 30.0, gradients=True)
    assert [p.elements[0] for p in by_title(g)["x"].parts] == [10.0, 20.0, 30.0]


def test_gradients_appear_after_backward_and_are_of_one_pass():
    a5, (x, *_) = lesson()
    before = graph(a5)
    assert not before.gradients
    assert before.look.detail == "values"
    assert "call a5.backward() to see gradients" in before.notes
    assert all(e.sent is None for e in before.edges)
    a5.backward()
    one = graph(a5)
    assert one.gradients
    assert one.look.detail == "lesson"
    assert by_title(one)["x"].notes == ()
    a5.backward()
    two = graph(a5)
    assert by_title(two)["x"].gradient == by_title(one)["x"].gradient
    twice = number(2 * float(one.nodes[0].gradient.elements[0]), 4)
    assert by_title(two)["x"].notes == (f"x.grad = {twice}, 2 times this gradient",)
    x.grad = 1.0
    assert by_title(graph(a5))["x"].notes == ("x.grad = 1, of other passes too",)
    assert not graph(a5, gradients=False).gradients


def test_gradients_without_backward_change_nothing():
    a5, (x, *_) = lesson()
    g = graph(a5, gradients=True)
    g.to_svg()
    assert (x.grad, a5.grad) == (None, None)
    a5.backward()
    np.testing.assert_allclose(by_title(g)["x"].gradient.elements[0], x.grad)


def test_operands_keep_their_order():
    a, b = af.Variable(1.0, name="a"), af.Variable(2.0, name="b")
    for node, titles in ((a - b, ["a", "b"]), (b - a, ["b", "a"]), (7.0 - a, ["7", "a"])):
        assert [row.title for row in graph(node).nodes[-1].operands] == titles


def test_plain_numbers_stand_in_the_row_or_are_nodes():
    x = af.Variable(3.0, name="x")
    inline = graph(x**2)
    assert [row.source for row in inline.nodes[-1].operands] == [0, None]
    drawn = graph(x**2, constants="nodes")
    kinds = [("Variable", "x"), ("Constant", "2"), ("Operation", "x**2")]
    assert [(node.kind, node.title) for node in drawn.nodes] == kinds
    assert [e.flows for e in drawn.edges] == [True, False]


def test_a_constant_without_a_name_is_a_literal():
    """The seed of a backward pass that was recorded is one."""
    x = af.Variable(2.0, name="x")
    np.sin(x).backward(create_graph=True)
    x.grad.name = "slope"
    assert graph(x.grad).counts() == "1 Variable · 2 Operations"
    assert by_title(graph(x.grad))["slope"].operands[0].title == "1"
    assert graph(x.grad, constants="nodes").counts() == "1 Variable · 1 Constant · 2 Operations"
    assert graph(x * af.Constant(3.0, name="k")).counts() == "1 Variable · 1 Constant · 1 Operation"
    assert graph(x * af.Constant([3.0])).counts() == "1 Variable · 1 Constant · 1 Operation"


def test_looking_at_operands_changes_no_picture():
    x = af.Variable(2.0, name="x")
    z = x**2 + np.ones(())
    before = graph(z, constants="nodes").to_json(), graph(z).to_svg()
    assert [operand.name for operand in z.operands[0].operands] == ["x", "2"]
    assert (graph(z, constants="nodes").to_json(), graph(z).to_svg()) == before


def test_named_constants_arrays_and_frozen_variables_are_nodes():
    w = af.Variable(np.ones((4, 2)), name="w")
    frozen = af.Variable(1.0, name="f", requires_grad=False)
    k = af.Constant(3.0, name="k")
    g = graph((np.ones((3, 4)) @ w) * frozen + k, gradients=True)
    nodes = by_title(g)
    assert nodes["ones((3, 4))"].kind == "Constant"
    assert nodes["k"].notes == ("no gradient",)
    f = nodes["f"]
    assert (f.kind, f.notes, f.gradient) == ("Variable", ("frozen: no gradient",), None)


@pytest.mark.usefixtures("without_source")
def test_titles():
    p = af.Variable(2.0)  # its name in a picture is that of this variable
    q = af.Variable(3.0, name="given")
    table = {
        "p + given": p + q, "p/(p + given)": p / (p + q), "(p + given)*p": (p + q) * p, "p - (p - 1)": p - (p - 1.0),
        "-p": -p, "(-p)**2": (-p) ** 2, "p**(-1)": p**-1.0, "exp(p)": np.exp(p), "p**p**2": p ** (p**2),
        "(p**2)**2": (p**2) ** 2,
    }  # fmt: skip
    assert [graph(table[title]).nodes[-1].title for title in table] == [*table]
    v = af.Variable([1.0, 2.0, 3.0], name="v")
    assert graph(v[1:]).nodes[-1].title == "v[1:]"
    long = (p + q) * (p - q) * (p * q)
    anonymous = [long]
    del long
    assert graph(anonymous[0]).nodes[-1].title == "…*(p*given)"
    chosen = anonymous[0]
    assert graph(chosen).nodes[-1].title == "chosen"
    assert chosen.name.startswith("multiply_")
    chosen.name = "said"
    assert graph(chosen).nodes[-1].title == "said"


@pytest.mark.usefixtures("without_source")
def test_an_expression_is_a_title_up_to_sixteen_characters():
    left, right, longer = [af.Variable(1.0, name=name) for name in ("seven77", "sixsix", "seven_7")]
    sums = [left + right, left + longer]
    sums += [sums[1] * left, np.exp(sums[1])]
    titles = [graph(sums[k]).nodes[-1].title for k in range(4)]
    assert titles == ["seven77 + sixsix", "add", "…*seven77", "exp"]  # and no number that nobody asked for
    assert re.fullmatch(r"add_\d+", sums[1].name)


@pytest.mark.usefixtures("without_source")
def test_a_notebook_has_the_first_word(monkeypatch):
    values = [af.Variable(float(k)) for k in range(4)]
    values[3].name = "given"
    shell = types.SimpleNamespace(user_ns={"cell": values[0], "_hidden": values[1], "other": values[3]})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))

    def helper(node, local):
        return graph(node + local + values[1] + values[3])

    g = helper(values[0], values[2])
    assert [v.title for v in g.nodes if v.kind == "Variable"] == ["cell", values[1].name, "local", "given"]
    monkeypatch.undo()
    assert helper(values[0], values[2]).nodes[0].title == "node"
    assert values[0].name.startswith("var_")  # nothing is stored


def test_names_are_looked_up_once_per_drawing(monkeypatch):
    calls = []
    monkeypatch.setattr(names, "variables", lambda: calls.append(1) or {})
    with af.options(source=False):
        a5, _ = lesson()
    a5.backward()
    g = graph(a5)
    for make in (g.to_svg, g.to_dot, g.to_json, g.to_text, g.to_mermaid, g.to_html, g.table):
        make()
    assert calls == [1]


def test_the_name_that_came_first_wins():
    first = af.Variable(1.0)
    second = first  # noqa: F841
    assert graph(first).nodes[0].title == "first"


def test_arrays():
    x = af.Constant(np.ones((32, 4)), name="x")
    w, b = af.Variable(np.full((4, 3), 0.5), name="w"), af.Variable(np.zeros(3), name="b")
    g = graph(np.sum(x @ w + b), gradients=True)
    nodes = by_title(g)
    w_card, b_card = nodes["w"], nodes["b"]
    assert nodes["x @ w + b"].operands[1].note == "broadcast × 32"
    assert (w_card.value.text(4), w_card.value.shape_text(), w_card.gradient.rms) == ("0.5 ± 0", "4 × 3", 32.0)
    assert b_card.gradient.elements == (32.0, 32.0, 32.0)
    assert [h.look.detail for h in (g, graph(np.sum(w[:1])), graph(np.sum(b * b)))] == ["arrays", "arrays", "values"]


def test_summaries_of_arrays():
    texts = {"no finite value": np.full(9, np.nan), "empty": np.zeros((0, 2)), "not numbers": np.array(["a"]),
             "[[1, 2], [3, 4]]": np.array([[1, 2], [3, 4]]), "0 ± 0.216": np.array([0.1, 0.2, -0.3] * 4)}  # fmt: skip
    assert [numbers(x).text(4) for x in texts.values()] == [*texts]
    assert numbers(None, (3,), "float32").text(4) == "not kept"
    assert numbers(np.array([1.0, np.nan, np.inf])).flags() == "1 NaN, 1 infinite"
    assert numbers(np.float32(0.1)).shape_text() == "float32"
    assert numbers(np.full(10, 1e200)).rms == pytest.approx(1e200)
    assert numbers(np.full(9, -128, np.int8)).rms == 128.0
    means = [([0.1, 0.2, -0.3] * 4, 0.0), ([1e-9, 0.1, -0.1] * 4, pytest.approx(1e-9 / 3))]  # nothing but rounding is 0
    assert [numbers(np.array(x)).mean for x, _ in means] == [mean for _, mean in means]
    assert numbers(np.full(10, 60000, np.float16)).mean == 60000
    assert [numbers(np.full(9, v)).blocks() for v in (0.0, 1e-9, 1e-5, 0.01, 1.0, 50.0)] == [0, 0, 1, 4, 6, 6]
    written = {
        "−1": -1.0, "1.234e−5": 0.00001234, "3.142": 3.14159, "1e300": 1e300, "True": True, "0": -0.0,
        "98765": 98765.0, "−∞": float("-inf"), "NaN": float("nan"), "1.235e6": 1234567.0,
    }  # fmt: skip
    assert [number(v, 4) for v in written.values()] == [*written]


@given(st.lists(st.floats(width=32), max_size=20))
def test_no_array_breaks_a_summary(values):
    assert re.fullmatch("[^-]+", numbers(np.array(values)).text(4))


def test_values_that_were_not_kept():
    with af.options(keep=0):
        g = graph(np.sum(af.Variable(np.ones(50), name="x") * 2.0 + 1.0))
    value = by_title(g)["x*2"].value
    assert (value.text(4), value.shape) == ("not kept", (50,))


def test_overwritten_values_are_not_passed_off_as_old_ones():
    w = af.Variable([1.0, 2.0], name="w")
    loss = np.sum(w * w)
    loss.backward()
    with af.no_grad():
        w -= 1.0
    g = graph(loss)
    assert "overwritten since it was used" in str(by_title(g)["w"].notes)
    assert "last backward() left in .grad. StaleValueError" in str(g.notes)
    assert by_title(g)["w"].gradient.elements == (2.0, 4.0)
    assert not g.gradients
    w.zero_grad()
    g = graph(loss, gradients=True)
    assert "gradients are not shown. StaleValueError" in str(g.notes)
    assert by_title(g)["w"].gradient is None
    b = af.zeros(3)
    b[1] = af.Variable(5.0, name="v")
    (before,) = [v for v in graph(b).nodes if v.title == "b" and v.kind == "Constant"]
    assert before.value.text(4) == "not kept"


def test_a_rule_that_fails_leaves_the_values():
    x = af.Variable(3.0, name="x")
    z = af.Operation.create_node(9.0, "mine", x)
    z.grad_fn = lambda g: 1 / 0
    g = graph(z, gradients=True)
    assert g.nodes[-1].value.elements == (9.0,)
    assert any(note.startswith("gradients are not shown. ZeroDivisionError") for note in g.notes)


def test_complex_outputs_have_no_direction():
    z = af.Variable(1 + 2j, name="z")
    g = graph(z * z, gradients=True)
    assert not g.gradients
    assert any("complex" in note for note in g.notes)
    real = graph(np.abs(z * z), gradients=True)
    assert real.gradients
    assert all(e.local is None for e in real.edges if real.nodes[e.target].value.dtype == "complex128")


def test_several_outputs():
    x = af.Variable(3.0, name="x")
    a, b = x * x, x * 2.0
    g = graph([a, b, a], gradients=True)
    assert (len(g.outputs), by_title(g)["x"].gradient.elements) == (2, (8.0,))
    assert "gradients are those of the sum of the outputs" in g.notes
    inner = graph([a, a * 3.0], gradients=True)
    assert by_title(inner)["a"].gradient.elements == (4.0,)


def test_leaves_alone():
    assert [graph(leaf).counts() for leaf in (af.Constant(1.0), af.Variable(1.0))] == ["1 Constant", "1 Variable"]
    assert graph([af.Constant(1.0), af.Variable(1.0) * 2.0]).counts() == "1 Variable · 1 Constant · 1 Operation"


def test_wrong_arguments_say_what_is_right():
    x = af.Variable(1.0, name="x")
    wrong_words = {"detail": "all", "direction": "left", "constants": "none", "theme": "blue", "engine": "neato"}
    for name, word in wrong_words.items():
        with pytest.raises(ValueError, match="is one of '"):
            graph(x, **{name: word})
    for wrong in (1.0, [], [x, 1.0], None, np.ones(3)):
        with pytest.raises(af.errors.LostGradientError, match="a picture starts from a node"):
            graph(wrong)
    orphan = np.array(x * np.ones(2), subok=True)
    with pytest.raises(af.errors.LostGradientError):
        graph(orphan)
    assert graph(x)  # the orphan among the caller's variables does no harm


@pytest.mark.slow
def test_a_large_graph_shows_what_is_nearest_and_says_so():
    x = af.Variable(1.0, name="x")
    y = repeat(lambda y: y * 1.001 + x, x, 200)
    g = graph(y, gradients=True, limit=80)
    assert (len(g.nodes), g.nodes[-1].output) == (80, True)
    assert "401 nodes; showing the 80 nearest to the output; 321 are hidden" in g.notes[0]
    assert g.nodes[-1].operands[1].note == "hidden"
    whole = graph(y, gradients=True, limit=500)
    assert whole.nodes[-60].gradient == g.nodes[-60].gradient
    assert len(graph(y, limit=5).nodes) == 5
    assert "continued below" in str(whole)


def long_chain(n):
    """n operations on a number, and how long their picture takes."""
    y = repeat(lambda y: y * 1.0000001, af.Variable(1.0, name="x"), n)
    start = time.process_time()
    return y, graph(y, gradients=True), time.process_time() - start


@pytest.mark.slow
@pytest.mark.usefixtures("without_source")
def test_a_huge_graph():
    n = 1_000_000 if os.environ.get("AUTOFLOW_NIGHTLY") == "1" else 10_000
    part = long_chain(n // 10)[2]
    y, g, whole = long_chain(n)
    assert whole < 40 * part + 1.0  # ten times the work; a search that is quadratic takes a hundred times as long
    assert len(g.nodes) <= 40  # and all is there
    assert sum([node.fold.operations if node.fold else bool(node.operands) for node in g.nodes]) == n
    assert f"{n + 1:,} nodes; showing {len(g.nodes)}: " in g.notes[0]
    assert len(g.to_svg()) < 1000 * len(g.nodes)
    assert len(repr(y)) <= 2000


def test_many_operands_share_a_row():
    vs = [af.Variable(float(k), name=f"v{k}") for k in range(40)]
    g = graph(np.sum(np.concatenate([v.reshape(1) for v in vs])), gradients=True)
    node = next(node for node in g.nodes if node.word.startswith("concatenate"))
    assert (len(node.rows), node.more_operands) == (12, 28)
    assert [g.nodes[e.source].operands[0].title for e in g.edges if e.target == node.id] == [f"v{k}" for k in range(40)]
    assert len(re.findall(r"-> n\d+:r13:w", g.to_dot())) == 28  # at the line of the others
    assert by_title(g)["v3"].gradient.elements == (1.0,)
    assert g.to_svg()
    assert "28 more operands" in str(g)


def test_a_graph_is_plain_data():
    a5, _ = lesson()
    g = graph(a5, gradients=True)
    assert pickle.loads(pickle.dumps(g)) == g
    hash(g.nodes)
    with pytest.raises(AttributeError):
        g.title = "other"


def test_draw_and_to_dot_are_the_same_picture():
    a5, _ = lesson()
    assert draw(a5) == graph(a5)
    assert to_dot(a5) == graph(a5).to_dot()
    assert isinstance(a5.graph(), Graph)
    assert af.graph(a5) == a5.graph() == graph(a5)


def test_the_import_needs_no_renderer():
    late = ("graphviz", "IPython", "subprocess", "json", "matplotlib")
    code = f"import sys, {{}}; print([m for m in {late} if m in sys.modules])"
    assert alone(code.format("autoflow")) == alone(code.format("numpy"))


# ------------------------------------------------------------------ the layout


def placed(g):
    """Paths of a graph as SVG places them, and left, top, right, low of its cards."""
    g = replace(g, look=replace(g.look, direction="right"))
    drawn = cards(g)
    widths = [c.width for c in drawn]
    plan, _ = placing.place(g, drawn, widths)
    return plan.paths, [(x, y, x + c.width, y + c.height) for (x, y), c in zip(plan.corners, drawn, strict=True)]


PLACED = {"lesson": lambda: graph(lesson()[0], gradients=True), "names": lambda: graph(lesson()[0], "names"),
          "random": random_graph}  # fmt: skip


@pytest.mark.parametrize("name", PLACED)
def test_cards_do_not_overlap_and_arrows_go_forward_and_through_none(name):
    g = PLACED[name]()
    paths, boxes = placed(g)
    for (x, y, right, low), (u, v, end, bottom) in combinations(boxes, 2):
        assert right <= u or end <= x or low <= v or bottom <= y
    for edge, path in zip(g.edges, paths, strict=True):
        assert all(a[0] <= b[0] for a, b in pairwise(path))
        for (ax, ay), (bx, by) in zip(path[::2], path[1::2], strict=False):
            assert ay == by  # inside a rank an arrow is straight, and beside the cards
            others = [box for k, box in enumerate(boxes) if k not in (edge.source, edge.target)]
            assert not [box for box in others if box[0] < bx and ax < box[2] and box[1] < ay < box[3]]


def test_the_longest_way_is_straight():
    alone = repeat(lambda y: np.exp(y * 0.5), af.Variable(1.0, name="x"), 4)
    way = ["x", "x + y", "a1", "a1**2", "a3", "a5"]  # among others
    for g, titles in ((graph(alone, direction="right"), None), (graph(lesson()[0], gradients=True), [*pairwise(way)])):
        for edge, path in zip(g.edges, placed(g)[0], strict=True):
            if titles is None or (g.nodes[edge.source].title, g.nodes[edge.target].title) in titles:
                assert np.ptp([y for _, y in path]) < 0.5 + 0.1 * bool(titles)


def test_operands_of_one_use_stand_beside_it():
    y = af.Variable(1.0, name="x")
    for k in range(6):
        y = np.tanh(y) + np.exp(af.Variable(1.0, name=f"b{k}"))
    g = graph(y)
    rank = ranking.ranks(len(g.nodes), [(e.source, e.target) for e in g.edges])
    assert all([rank[e.target] == rank[e.source] + 1 for e in g.edges])


def test_crossings_are_removed():
    boxes = [ranking.NodeBox(10, 10, (3.0, 7.0), 5.0) for _ in range(4)]
    lines = [ranking.Arrow(0, 3, 0), ranking.Arrow(1, 2, 0), ranking.Arrow(0, 3, 1)]
    layers = ranking.Layers(boxes, lines)
    layers.rows = [[0, 1], [2, 3]]
    assert ranking.crossings(layers) == 2
    ranking.reorder(layers)
    assert ranking.crossings(layers) == 0


def test_neighbours_change_places_where_averages_do_not_help():
    boxes = [ranking.NodeBox(10, 10, (5.0,), 5.0) for _ in range(4)]
    layers = ranking.Layers(boxes, [ranking.Arrow(0, 3, 0), ranking.Arrow(1, 2, 0)])
    layers.rows = [[0, 1], [2, 3]]
    ranking.swap_neighbours(layers, {0: 0, 1: 1, 2: 0, 3: 1})
    assert ranking.crossings(layers) == 0


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10)), min_size=1, max_size=12), st.floats(0, 30))
def test_settle_keeps_order_and_gaps(wishes, gap):
    places = arrange.settle(wishes, [gap] * (len(wishes) - 1))
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(places))


def test_sizes_have_no_scale_below_which_they_are_equal():
    x = af.Variable(1e-12, name="x")
    y = x * 1e-12
    y.backward()
    (x * 1e-12).backward()
    assert by_title(graph(y))["x"].notes == ("x.grad = 2e−12, 2 times this gradient",)


def test_shares_of_half_precision_do_not_overflow():
    x = af.Variable(np.tile([1.0, -1.0], 80_000).astype(np.float16), name="x")
    z = np.sum(np.maximum(x, np.float16(0)) / np.float16(1000))
    assert "(50 %)" in graph(z, gradients=True).to_svg()
