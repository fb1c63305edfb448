"""Functions with several results are one card with a row for each; products with 1 that nobody wrote are not drawn."""

import eyes
import numpy as np
import pytest
from graphs import titles
from picture_pages import PARTS
from support import Split

import autoflow as af
from autoflow.pictures.folding.results import tidy
from autoflow.pictures.model.names import PACKED
from autoflow.pictures.model.steps import steps_of


def matrix():
    return af.Variable(np.array([[3.0, 1.0], [0.5, 2.0], [1.0, 4.0]]), name="A")


def eigh(a):
    w, v = np.linalg.eigh(a.T @ a)
    return np.sum(w * w) + v[0, 0]


def qr(a):
    q, r = np.linalg.qr(a)
    return np.sum(q * q) + np.sum(r)


def svd(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum(u) + np.sum(s) + np.sum(vh)


def split(a):
    first, second, third = np.split(a, 3)
    return np.sum(first * second) + np.sum(third)


def unstack(a):
    left, right = np.unstack(a, axis=1)
    return np.sum(left * right)


FUNCTIONS = {eigh: ["w", "v"], qr: ["q", "r"], svd: ["u", "s", "vh"], split: ["first", "second", "third"],
             unstack: ["left", "right"]}  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_with_several_results_is_one_card(function):
    a = matrix()
    g = af.graph(function(a), gradients=True)
    (card,) = [v for v in g.drawn.nodes if v.results]
    assert [r.title for r in card.results] == FUNCTIONS[function]
    assert not [v for v in g.drawn.nodes if v.word.startswith(("reshape", "getitem [...", "moveaxis"))]
    for place, result in enumerate(card.results):
        sent = [e.sent for e in g.drawn.edges if (e.source, e.result) == (card.id, place)]
        assert result.gradient.shape == result.value.shape
        assert result.of_parts == len(sent) > 0
        if len(sent) == 1:
            assert result.gradient.rms == pytest.approx(sent[0].rms, rel=1e-12)
    (into,) = [e for e in g.drawn.edges if e.target == card.id]
    if function is not eigh:  # the only use of A
        assert into.sent.rms == pytest.approx(next(v for v in g.drawn.nodes if v.title == "A").gradient.rms, rel=1e-12)
    assert sorted(m for v in g.drawn.nodes for m in v.members) == list(range(len(g.nodes)))


@pytest.mark.parametrize("direction", ["right", "down", "rows"])
def test_arrows_leave_at_the_row_of_their_result(direction):
    a = matrix()
    q, r = np.linalg.qr(a)
    g = (np.sum(q) + np.sum(r)).graph(direction=direction, gradients=True, legend=False)
    (card,) = [v for v in g.drawn.nodes if v.results]
    root = eyes.root_of(g)
    left, top, right, bottom = eyes.cards(root)[card.id]
    ways = eyes.arrows(root)
    starts = {e.result: ways[e.source, e.target, e.slot][0] for e in g.drawn.edges if e.source == card.id}
    if direction == "down":
        assert left < starts[0][0] < starts[1][0] < right
        assert starts[0][1] == starts[1][1] == pytest.approx(bottom, abs=0.1)
    else:
        assert top + 50 < starts[0][1] < starts[1][1] < bottom
        assert starts[0][0] == starts[1][0] == pytest.approx(right, abs=0.1)
    assert "2 results" in g.to_svg()


def test_what_a_function_class_returns():
    a, b = af.Variable(2.0, name="a"), af.Variable(3.0, name="b")
    p, q = Split.apply(a, b)
    z = np.sin(p) * q
    z.backward()
    g = z.graph()
    assert titles(g) == ["a", "b", "Split(a, b)", "sin(p)", "z"]
    card = g.drawn.nodes[2]
    assert [(r.title, r.value.elements) for r in card.results] == [("p", (6.0,)), ("q", (5.0,))]
    assert [r.gradient.elements[0] for r in card.results] == [pytest.approx(5 * np.cos(6)), pytest.approx(np.sin(6))]
    assert str(g).splitlines()[2:5] == [
        "│   └─ p  of Split(a, b) = 6  ∂ 4.801    ×0.9602",
        "│       ├─① a  Variable = 2   ∂ 14.12",
        "│       └─② b  Variable = 3   ∂ 9.322",
    ]
    assert "no numbers" not in str(g) + g.to_svg() + g.to_mermaid() + g.to_dot()
    captions = [s.caption for s in z.steps()]
    assert captions[1] == "p, q = Split(a, b): 6, 5"
    assert "Split(a, b) has the gradients 4.801 of p, −0.2794 of q, sends back   to a: 14.12" in captions[7]


HELPERS = (
    PARTS
    + """
const gradients = () => [...card(2).querySelectorAll('.gradient')].map((e) => (visible(e) ? e.textContent : ''));
"""
)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_a_page_fills_in_each_gradient_where_it_arrives(show):
    a, b = af.Variable(2.0, name="a"), af.Variable(3.0, name="b")
    p, q = Split.apply(a, b)
    z = np.sin(p) * q
    page = show(z.step().to_html())
    wanted = {4: ["", ""], 5: ["", "−0.2794"], 6: ["4.801", "−0.2794"], 8: ["4.801", "−0.2794"]}  # backward: z, sin(p)
    for step, texts in wanted.items():
        assert page.run(f"slide({step}); gradients()") == texts, step


def test_what_is_used_otherwise_is_drawn_as_it_is():
    a = af.Variable(np.arange(1.0, 5.0), name="a")
    y = a[:2] * a[2:]  # by hand
    b, c = a[0:3], a[2:4]  # both have a[2]
    d, e = a[0:2], a[2:4]  # what np.split computes, by hand
    u, v = np.split(a, 2)
    for z in (np.sum(y), np.sum(b) + np.sum(c), np.sum(d) + np.sum(e), np.sum(u)):  # of u the other half is no part
        assert not [n for n in z.graph().drawn.nodes if n.results]
    with af.scope("inside"):
        w = u * 2
    assert [n.title for n in np.sum(w * v).graph().drawn.nodes if n.results] == ["split(a)"]


@pytest.mark.parametrize("k", [0, 1])
def test_a_part_is_split_again(k):
    """Each arrow leaves at the row of its part, also of the first one, and a part gets the gradient of its parts at
    once."""
    x = af.Variable(np.arange(8.0), name="x")
    halves = np.split(x, 2)
    left, right = halves
    first, second = np.split(halves[k], 2)
    graph = (np.sum(first * second) + np.sum(left * right)).graph(gradients=True)
    _, whole, part = graph.drawn.nodes[:3]
    (row,) = part.operands
    assert (row.source, row.result, row.title) == (whole.id, k, ["left", "right"][k])
    assert row.sent.elements == (*second.value, *first.value)
    sums = [p for step in steps_of(graph.drawn) for p in step.products if p.source == whole.id and p.result == k]
    assert [(p.place, p.of_places) for p in sums] == [(1, 2), (2, 2)]
    assert sums[-1].so_far == whole.results[k].gradient


def test_results_that_nobody_uses_have_no_row():
    a = af.Variable(np.array([[2.0, 1.0], [1.0, 3.0]]), name="A")
    z = np.sum(np.linalg.eigh(a)[0])
    (card,) = [v for v in z.graph().drawn.nodes if v.results]
    assert [r.title for r in card.results] == ["eigh(A)[0]"]
    assert set(PACKED) == {"eig", "eigh", "lstsq", "qr", "svd"}


def test_results_that_are_outputs():
    a = af.Variable(np.array([[2.0, 1.0], [1.0, 3.0]]), name="A")
    w, v = np.linalg.eigh(a)
    g = af.graph([w, v], gradients=True)
    assert [[r.output for r in n.results] for n in g.drawn.nodes] == [[], [True, True]]
    assert str(g).splitlines()[:3] == [
        "eigh(A)  2 results",
        "├─ w  of eigh(A)  (2,) = [1.382, 3.618]                          ∂ [1, 1]",
        "├─ v  of eigh(A)  2 × 2 = [[−0.8507, 0.5257], [0.5257, 0.8507]]  ∂ [[1, 1], [1, 1]]",
    ]
    assert g.summary().startswith("Computation graph of w = [1.382, 3.618], v = [[−0.8507, ")
    assert [s.caption for s in g.step() if s.phase == "seed"] == [
        "gradient of w = ones, (2,)", "gradient of v = ones, 2 × 2"
    ]  # fmt: skip
    first = w[0] * 2.0
    (told,) = [s for s in af.graph([w, first], gradients=True).step() if s.title == "w[0]" and s.phase == "backward"]
    assert told.caption == "w[0] has gradient 2, sends back   to w: [2, 0]   so far [3, 1]"
    table = af.graph(first, gradients=True).drawn.table()
    assert "1 result" in table
    assert "w = [1.382, 3.618]" in table
    z = np.sum(w) + v[0, 0]
    z.backward()
    assert str(z.summary()).splitlines()[1].split()[:3] == ["eigh", "2", "results"]


def test_a_folded_box_hides_its_results():
    a = matrix()
    with af.scope("decompose"):
        q, r = np.linalg.qr(a)
    g = (np.sum(q) + np.sum(r)).graph(depth=0, gradients=True)
    assert next(v.title for v in g.drawn.nodes) == "decompose"
    assert all([e.result is None for e in g.drawn.edges])
    assert g.to_svg()
    opened = (np.sum(q) + np.sum(r)).graph(gradients=True)  # both results leave the box
    assert sorted({e.result for e in opened.drawn.edges if e.result is not None}) == [0, 1]
    for direction in ("right", "down", "rows", "boxes"):
        assert af.graph(np.sum(q) + np.sum(r), direction=direction).to_svg()


def test_a_folded_box_sends_to_each_result_what_is_its():
    """A part that uses both halves has an arrow from each, with what it sends to that half."""
    x = af.Variable(np.arange(4.0), name="x")
    left, right = np.split(x, 2)
    with af.scope("part"):
        y = np.sum(left * right) + np.sum(left)
    box = y.graph(depth=0, gradients=True).drawn.nodes[-1]
    found = [(r.title, r.result, r.sent.elements) for r in box.operands]
    assert found == [("left", 0, (3.0, 4.0)), ("right", 1, (0.0, 1.0))]


# ------------------------------------------------------------------ products with 1


def test_seeds_of_arrays_are_not_drawn():
    x = af.Variable([1.0, 2.0, 3.0], name="x")
    np.sum(np.sin(x) ** 2).backward(create_graph=True)
    slope = x.grad
    g = af.graph(slope, gradients=True)
    assert titles(g) == ["x", "sin(x)", "cos(x)", "slope"]
    assert sorted(m for v in g.drawn.nodes for m in v.members) == list(range(len(g.nodes)))
    assert str(slope.formula()) == r"2 \, \sin \mathbf{x} \odot \cos \mathbf{x}"


def test_formulas_and_paths_have_no_factors_of_one():
    x = af.Variable(2.0, name="x")
    z = np.sin(x) / x
    z.backward(create_graph=True)
    slope = x.grad
    assert str(slope.formula()) == r"\frac{1}{x} \, \cos x + \frac{z}{-x}"
    assert "1*z" not in str(x.why(slope))
    assert "slope → z/-x → z → x " in str(x.why(slope))


def test_what_has_a_name_or_comes_out_is_drawn():
    x = af.Variable(2.0, name="x")
    same = 1.0 * x
    assert titles(np.sin(same).graph()) == ["x", "same", "sin(same)"]
    del same
    assert titles(af.graph(np.sin(1.0 * x))) == ["x", "sin(x)"]
    assert titles(af.graph(x * 1.0)) == ["x", "x*1"]
    ones = np.ones(3)
    y = af.Variable([1.0, 2.0, 3.0], name="y")
    assert titles(np.sum(y * ones).graph()) == ["y", "ones", "y*ones", "sum(y*ones)"]
    assert ones.shape == (3,)


@pytest.mark.usefixtures("without_source")
def test_a_product_with_one_that_is_used_twice_keeps_the_sum():
    x = af.Variable(3.0, name="x")
    twice = [1.0 * x]
    z = np.sin(twice[0]) + np.cos(twice[0])
    g = tidy(af.graph(z, gradients=True))
    node = next(v for v in g.nodes if v.title == "x")
    assert node.of_parts == 2
    assert sum([e.sent.elements[0] for e in g.edges if e.source == node.id]) == pytest.approx(node.gradient.elements[0])
    assert z.steps()[-1].caption == "∂z/∂x = −1.131"


def test_a_summary_counts_operands_without_a_row():
    ws = [af.Variable(np.ones(3), name=f"w{k}") for k in range(20)]
    found = np.sum(np.stack(ws) ** 2).summary()
    assert found.total == 60
    assert found.lines[0].parameters == 60
