"""The chain rule, written out."""

import itertools
import re

import numpy as np
import pytest
from graphs import lesson as example, repeat
from support import Split

import autoflow as af
from autoflow.cli.commandline import nodes_of
from autoflow.errors import LostGradientError
from autoflow.pictures.formulas.chain import MANY
from autoflow.pictures.formulas.why import slope


def lesson():
    a5, (x, y, z) = example()
    return x, y, z, next(node for node in nodes_of(a5) if node.name == "a1"), a5


def test_the_lesson():
    x, _, _, _, a5 = lesson()
    assert str(x.why(a5)) == (
        "∂a5/∂x: 4 paths from x to a5\n"
        "  a5 → a3 → a1**2 → a1 → x     1 × 0.8415 × 7 × 1 = 5.89\n"
        "  a5 → a4 → a1 → x             −1 × 0.5403 × 1 = −0.5403\n"
        "  a5 → a3 → sin(a2) → a2 → x   1 × 12.25 × 0.5403 × 0.5 = 3.309\n"
        "  a5 → a4 → cos(a2) → a2 → x   −1 × 3.5 × (−0.8415) × 0.5 = 1.473\n"
        "∂a5/∂x = ∂a5/∂a1 · ∂a1/∂x + ∂a5/∂a2 · ∂a2/∂x\n"
        "∂a5/∂x = 5.35 (through a1) + 4.78 (through a2) = 10.13"
    )


def test_formulas():
    x, _, _, _, a5 = lesson()
    text = x.why(a5).to_latex()
    assert text.splitlines()[1:3] == [  # signs stand in front of a product, as one writes it
        r"\frac{\partial a_{5}}{\partial x} &= \sin a_{2} \cdot 2 \, a_{1} - \cos a_{2}"
        r" + a_{1}^{2} \cdot \cos a_{2} \cdot z \cdot y + a_{1} \cdot \sin a_{2} \cdot z \cdot y \\",
        r"&= 0.8415 \cdot 7 - 0.5403 + 12.25 \cdot 0.5403 \cdot 0.5 + 3.5 \cdot 0.8415 \cdot 0.5 \\",
    ]
    assert r"\underbrace{5.35}_{\text{through } a_{1}} + \underbrace{4.78}_{\text{through } a_{2}}" in text
    assert text.endswith("&= 10.13\n\\end{aligned}")


def test_signs_in_formulas():
    x = af.Variable(2.0, name="x")
    a, b = -x, np.cos(x)
    z = a * b - x
    rows = x.why(z).to_latex().splitlines()
    assert rows[1] == r"\frac{\partial z}{\partial x} &= -b - a \cdot \sin x - 1 \\"
    assert r"\underbrace" in rows[3]
    assert not re.search(r"\+ -|\\left\(-", "".join(rows))


def test_an_operation_may_be_asked():
    _, _, _, a1, a5 = lesson()
    assert str(a1.why(a5)).endswith("∂a5/∂a1 = 5.89 (through a1**2) − 0.54 (through a4) = 5.35")
    assert str(a1.why(a1)) == "∂a1/∂a1: 1 path from a1 to a1\n  a1   1"


@pytest.mark.parametrize("seed", range(8))
def test_the_paths_add_up_to_the_gradient(seed):
    rng = np.random.default_rng(seed)
    x = af.Variable(rng.normal(), name="x")
    nodes = [x]
    functions = [np.add, np.multiply, np.subtract, lambda p, q: np.sin(p) * q]
    for _ in range(8):
        a, b = rng.choice(len(nodes), 2)
        nodes.append(functions[rng.integers(4)](nodes[a], nodes[b]))
    out = nodes[-1] + nodes[-2] * x
    why = x.why(out, paths=100_000)
    assert len(why.paths) == why.count
    out.backward()
    for parts in (why.paths, why.through):
        assert np.isclose(sum(part.product.elements[0] for part in parts), x.grad)
    assert np.isclose(why.total.elements[0], x.grad)
    for path in why.paths:
        assert None in path.factors or np.isclose(np.prod(path.factors), path.product.elements[0])
    groups = [[p.product.elements[0] for p in group] for _, group in itertools.groupby(why.paths, lambda p: p.user)]
    assert np.allclose([sum(group) for group in groups], [t.product.elements[0] for t in why.through])
    assert all([group == sorted(group, key=abs, reverse=True) for group in groups])
    few = x.why(out, paths=3)
    largest = sorted([abs(p.product.elements[0]) for p in why.paths], reverse=True)[:3]
    assert sorted([abs(p.product.elements[0]) for p in few.paths], reverse=True) == largest


def test_paths_stand_in_the_order_of_the_picture():
    """And in that of the last line: what one part of the sum adds up stands together."""
    x = af.Variable(2.0, name="x")
    a = x + 1.0
    b = a * x
    L = b**2
    assert [path.titles for path in x.why(L).paths] == [("L", "b", "a", "x"), ("L", "b", "x")]  # 24, then 36
    L.backward()
    assert "24 (through a) + 36 (through b) = 60" in str(x.why(L))
    assert "= 24 + 36" in str(L.graph())
    v = af.Variable([1.0, 2.0], name="v")
    late, early = v * v, np.exp(v)
    z = np.sum(early * late)
    assert [t.title for t in v.why(z).through] == ["late", "early"]
    assert [path.titles[-2] for path in v.why(z).paths] == ["late", "late", "early"]


def test_repeated_operands_are_two_paths():
    x = af.Variable(3.0, name="x")
    z = x * x
    assert str(x.why(z)) == "∂z/∂x: 2 paths from x to z\n  z → x   3\n  z → x   3\n∂z/∂x = 6"


def test_many_paths_are_counted_and_not_walked():
    x = af.Variable(1.0, name="x")
    y = repeat(lambda y: y + y, x, 50)
    why = x.why(y, paths=2)
    assert why.count == 2**50
    assert len(why.paths) == 2
    assert f"{2**50 - 2:,} others, none of them larger, are left out" in str(why)
    many = x.why(repeat(lambda y: y + y, y, 100))
    assert many.count == MANY
    assert "more than 10¹⁸ paths" in str(many)


def test_long_paths_show_their_ends():
    x = af.Variable(0.5, name="x")
    why = x.why(repeat(np.sin, x, 3000))
    assert why.count == 1
    assert len(str(why)) < 1000
    assert "(2,988 steps)" in str(why)
    assert r"\cdots" in why.to_latex()


def test_arrays_have_sizes():
    w, b = af.Variable(np.ones((3, 3)), name="w"), af.Variable(np.arange(3.0), name="b")
    h = np.tanh(b @ w + b)
    loss = (h * h).sum()
    why = b.why(loss)
    loss.backward()
    assert why.count == 4
    np.testing.assert_allclose(why.total.elements, b.grad)
    np.testing.assert_allclose(sum(np.array(p.product.elements) for p in why.paths), b.grad)
    assert "3 × 3 with rms" in str(w.why(loss))
    assert "Jacobian" in why.to_latex()
    assert "2 others are left out" in str(b.why(loss, paths=2))


def test_broadcasting_is_summed():
    x = af.Variable(2.0, name="x")
    out = (x * np.arange(3.0)).sum()
    assert x.why(out).total.elements == (3.0,)


def test_errors():
    x, y, frozen = [af.Variable(1.0, name=name) for name in ("x", "y", "frozen")]
    z = x * frozen
    frozen.requires_grad = False
    lost = [(y, z, "no gradient of z reaches y"), (af.Constant(1.0, "c"), z, "c, is constant"),
            (x, 2.0, "the output is a node; float"), (frozen, z, "is constant")]  # fmt: skip
    for node, output, said in lost:
        with pytest.raises(LostGradientError, match=said):
            node.why(output)
    with pytest.raises(ValueError, match="complex"):
        x.why(x * 1j)


def test_through_a_function_with_several_results():
    """Along a path arrives the gradient of one result: the others are zero then, not missing."""
    x, y = af.Variable(2.0, name="x"), af.Variable(3.0, name="y")
    a, b = Split.apply(x * x, y)
    z = a * b
    assert str(x.why(z)) == (
        "∂z/∂x: 4 paths from x to z\n"
        "  z → a → Split(x*x, y) → x*x → x   42\n"
        "  z → a → Split(x*x, y) → x*x → x   42\n"
        "  z → b → Split(x*x, y) → x*x → x   24\n"
        "  z → b → Split(x*x, y) → x*x → x   24\n"
        "∂z/∂x = 132 (through x*x)"
    )
    z.backward()
    assert x.grad == 132.0


def test_special_values():
    x = af.Variable(0.0, name="x")
    z = np.sqrt(x)
    assert str(x.why(z)).endswith("∂z/∂x = ∞")
    assert "NaN" in str(x.why(z * x))


def test_notebooks_show_formulas():
    x, *_, a5 = lesson()
    bundle = x.why(a5)._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/plain"] == str(x.why(a5))
    assert bundle["text/latex"].startswith(r"$\displaystyle \begin{aligned}")


def test_every_node_of_the_lesson_before_backward_and_after_it():
    *nodes, a5 = lesson()
    before = [node.why(a5).total.elements[0] for node in nodes]
    assert all(n.grad is None for n in (*nodes, a5))  # nothing changes in the graph
    a5.backward()
    assert np.allclose(before, [node.grad for node in nodes])
    assert [node.why(a5).total.elements[0] for node in nodes] == before


def test_one_path_that_is_left_out_is_one():
    t = af.Variable(1.0, name="t")
    s = t + t + t
    assert "1 other, which is not larger, is left out" in str(t.why(s, paths=2))
    assert "2 others, none of them larger, are left out" in str(t.why(s, paths=1))


def test_a_sum_below_the_line_is_in_parentheses():
    told = {"sin(x) + cos(y)": "(sin(x) + cos(y))", "x": "x", "sin(x)": "sin(x)", "w[0, 1]": "w[0, 1]", "x+y": "(x+y)"}
    assert [slope("z", name) for name in told] == [f"∂z/∂{text}" for text in told.values()]
