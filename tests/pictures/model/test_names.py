"""What things are called in pictures: plain arrays, rows of them, what nobody named; and what array rows say."""

from html import escape

import numpy as np
import pytest

import autoflow as af
from autoflow.pictures import graph
from autoflow.pictures.formulas.sent_back import rules_of
from autoflow.pictures.model.names import binding


def titles(g):
    return [v.title for v in g.nodes]


def test_a_plain_array_is_called_by_the_callers_name_and_is_one_card():
    rng = np.random.default_rng(0)
    x, big = rng.normal(size=(4, 3)), rng.normal(size=(3, 400))  # one is copied when it is recorded, one is not
    w = af.Variable(rng.normal(size=(3, 3)), name="w")
    z = np.sum((x @ w + x) @ big)
    g = graph(z)
    assert [titles(g).count(title) for title in ("x", "big", "array", "x @ w")] == [1, 1, 0, 1]
    (card,) = [v for v in g.nodes if v.title == "x"]
    assert len([e for e in g.edges if e.source == card.id]) == 2
    assert z.name.startswith("sum_")  # nothing is stored


def test_rows_of_an_array_and_entries_of_a_list_have_their_place():
    inputs, parts = np.arange(12.0).reshape(4, 3), [np.full(3, 7.0), np.full(3, 8.0)]
    data = af.Constant(np.arange(20.0, 32.0).reshape(4, 3), name="data")
    w = af.Variable(np.ones(3), name="w")
    total = w * inputs[2] + w * parts[1] + w * data[3]
    assert {"inputs[2]", "parts[1]", "data[3]"} <= set(titles(graph(total)))
    k, table = np.array([0, 2]), w * np.ones((3, 1))
    assert {"table[k, 1:]", "table[k]"} <= set(titles(graph(np.sum(table[k, 1:] * 2) + np.sum(table[k] * 3))))


def test_the_program_says_which_of_two_equal_arrays_it_is():
    a, b = np.zeros(3), np.zeros(3)
    w = af.Variable(np.ones(3), name="w")
    assert {"a", "b"} <= set(titles(graph(w * a + b)))
    with af.options(source=False):
        z = w * a + b
    assert titles(graph(z)).count("array") == 2
    c = np.array([1.0, 2.0, 3.0])
    first = w * c
    c = np.array([2.0, 3.0, 4.0])
    assert titles(graph(first + w * c)).count("c") == 2  # one name, two arrays


def test_the_outermost_name_wins_over_that_of_a_parameter():
    def show(node):
        return graph(node)

    def helper(array, node):
        return show(node * array)

    x, data = af.Variable(np.ones(3)), np.array([1.0, 2.0, 4.0])
    assert titles(helper(data, x))[:2] == ["x", "data"]

    def lonely(node):
        return graph(node * 2.0)

    assert titles(lonely(af.Variable(1.0)))[0] == "node"  # nobody else has a name for it


FUNCTIONS = """a, b = af.Variable(1.0), af.Variable(2.0)
def doubled(x):
    y = x * 2.0
    return y
def both(x):
    s, c = np.sin(x), np.cos(x)
    return s, c
"""
CALLS = {  # two calls of a function, whose variable is that of two values -> how what is made of them is called
    "p": ("p = doubled(a) - doubled(b)\nz = np.exp(p * 3.0)", "p*3"),
    "y": ("z = np.exp(doubled(a) - doubled(b))", None),
    "s": ("s, c = both(a)\nd, e = both(s)\nz = np.exp(d * e * c)", "d*e*c"), "one": ("z = np.exp(a * a * 1.0)", "a*a"),
    "x": ("def f(a): return a * a\nz = np.exp(f(a * 2 + 1))", "f(a*2 + 1)"),
    "inner": ("def f(a):\n    def g(a): return a * a * a\n    return g(a + 1)\nz = np.exp(f(a * 2))", None),
    "others": ("def f(a):\n    s = a * 2\n    t = a + s\n    return [s, t]\np, q = f(a), f(b)\nz = np.exp(p[0] * q[1])",
               "p[0]*q[1]"),
    "turns": ("def f(y, h): return [u + h * k for u, k in zip(y, [np.sin(y[0] * y[1]) - 0.123456789 * y[1], y[0]])]\n"
              "y = [a, b]\nfor _ in range(3): y = f(y, 0.1)\nz = np.exp(y[0] * y[1])", "y[0]*y[1]"),
    "constants": ("z = np.exp(a * af.Constant(2.0) + af.Constant(2.0))", "a*2 + 2"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CALLS)
def test_in_an_expression_a_name_is_that_of_one_value(kind, tmp_path):
    text, expected = CALLS[kind]
    path = tmp_path / "program.py"
    path.write_text(f"{FUNCTIONS}{text}\n")
    space = {"np": np, "af": af}
    exec(compile(path.read_text(), path, "exec"), space)
    found = titles(space["z"].graph(merge=False))
    assert expected is None or expected in found
    assert not {"y - y", "s*c*c", "a*a*a", "a + 1", "s*t", "a + h*k + h*k"} & {*found}


@pytest.mark.usefixtures("without_source")
def test_no_title_has_a_number_that_nobody_asked_for():
    x, w = af.Variable(np.ones((2, 3)), name="some_data"), af.Variable(np.ones((3, 3)), name="some_weights")
    y = [np.tanh(x @ w) @ w]
    z = np.mean(np.sum(np.exp(y[0] - 1.0), axis=1))
    g = graph(z)
    assert titles(g)[2:] == ["matmul", "tanh", "… @ some_weights", "… - 1", "exp", "sum", "z"]
    drawn = graph(z, gradients=True).to_svg()  # beside the title, what it does not say
    assert [text in drawn for text in (">sum<", ">axis=1<", "∂z/∂sum")] == [True, True, False]


# ------------------------------------------------------------------ rules in the rows of arrays

W, X = af.Variable(np.ones((3, 2)), name="W"), np.ones((5, 3))
b = af.Variable(np.zeros(2), name="b")
h = af.Variable(np.full((5, 2), 0.25), name="h")
u = af.Variable(np.full((5, 2), 0.5), name="u")
# fmt: off
RULES = [
    (lambda: X @ W, ["", "Xᵀ g"]), (lambda: h @ W.T, ["g ②ᵀ", "hᵀ g"]), (lambda: h + b, ["g", "g, summed over 5"]),
    (lambda: h - u, ["g", "−g"]), (lambda: h * u, ["g ⊙ u", "g ⊙ h"]), (lambda: h / u, ["g / u", "g ⊙ (−● / u)"]),
    (lambda: np.tanh(h), ["g ⊙ (1 − ●²)"]), (lambda: np.exp(h), ["g ⊙ ●"]), (lambda: np.sqrt(u), ["g ⊙ (1 / (2 ●))"]),
    (lambda: h**2, ["g ⊙ (2 h)", ""]), (lambda: 3.0 * h, ["", "3 g"]), (lambda: np.mean(h), ["g / 10, stretched"]),
    (lambda: np.sum(h), ["g, stretched"]), (lambda: h.T, ["gᵀ"]), (lambda: -h, ["−g"]),
    (lambda: np.maximum(h, u), ["g where h > u (0 %)", "g where u > h (100 %)"]),
    (lambda: h - u.value, ["g", ""]), (lambda: h.value - u, ["", "−g"]),
]
# fmt: on


@pytest.mark.parametrize(("make", "wanted"), RULES)
def test_a_row_says_how_its_gradient_is_computed(make, wanted):
    z = [make()]
    g = graph(z[0], "arrays", gradients=True)
    card = g.nodes[-1]
    assert [g.rule(card, row) for row in card.operands] == wanted
    shown = g.to_svg()
    for rule in wanted:
        assert not rule or f">{escape(rule)}<" in shown
    assert ("the gradient of its card" in shown) == any(wanted)
    assert "the gradient of its card" not in graph(z[0], "arrays", gradients=False).to_svg()


def test_a_rule_that_a_user_wrote_is_no_obstacle():
    class Twice(af.Function):
        @staticmethod
        def forward(ctx, x):
            return 2.0 * x

        @staticmethod
        def backward(ctx, g):
            return 2.0 * g

    x = af.Variable(np.ones(9), name="x")
    assert graph(Twice.apply(x), gradients=True).nodes[-1].operands[0].rule == "2 · g"
    many = np.ones((2, 3, 4)) @ af.Variable(np.ones((4, 5)))
    assert rules_of(many.grad_fn) == ("", "①ᵀ g, summed over 2")


def test_rules_of_merged_chains():
    x, y, t = [af.Variable(np.full(9, k), name=n) for n, k in (("x", 2.0), ("y", 3.0), ("t", 4.0))]
    added, product = x + y + t, x * y * t
    assert [row.rule for row in graph(added, gradients=True).drawn.nodes[-1].operands] == ["g", "g", "g"]
    drawn = graph(product, gradients=True).drawn
    told = [drawn.rule(drawn.nodes[-1], row) for row in drawn.nodes[-1].operands]
    assert told == ["g ⊙ y ⊙ t", "g ⊙ x ⊙ t", "g ⊙ x ⊙ y"]


def test_signs_of_the_program_bind_as_python_says():
    said = {"a+b": 1, "a-b": 1, "a | b": 0, "a > b": 0, "x if c else y": 0, "a and b": 0, "-a": 3, "a**-b": 4, "f₁": 9}
    said |= {"a[b + c]": 9, "self.w": 9, "… @ W": 2, "x*0.3333…": 2, "x + 3.333…e-5": 1, "mean squared error": 9}
    assert {title: binding(title) for title in said} == said
