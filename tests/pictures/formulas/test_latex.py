r"""Formulas of nodes and of their derivatives."""

import decimal
import re
from types import SimpleNamespace

import numpy as np
import pytest
from graphs import lesson, repeat
from row_examples import SLOW, examples_of
from seeds import by_night
from support import rows, values_of

import autoflow as af
from autoflow.errors import LostGradientError
from autoflow.pictures import graph
from autoflow.pictures.formulas.latex import Formula, formula
from autoflow.pictures.sliders.live import as_javascript

ELEMENTARY = [row for row in rows() if as_javascript(row)]


def result_of(row, example):
    """The row's function on Variables called x, y, u, or None for those that want special inputs."""
    values = values_of(row, example)
    operands = [
        af.Variable(v, "xyu"[k % 3]) if v is not None and v.dtype.kind in "fc" else v for k, v in enumerate(values)
    ]
    try:
        result = row.function(*([operands] if row.variadic else operands), **example.options)
    except (np.linalg.LinAlgError, ValueError, TypeError):
        return None
    return result if isinstance(result, af.Operation) else None


def well_formed(text):
    r"""Braces and \left ... \right match; no second exponent or index on the same thing; no empty group at an end."""
    depth = 0
    for part in re.findall(r"\\[{}]|[{}]", text):
        depth += {"{": 1, "}": -1}.get(part, 0)
        assert depth >= 0, text
    assert depth == 0, text
    assert text.count(r"\left") - text.count(r"\leftarrow") == text.count(r"\right"), text
    assert text.count(r"\begin") == text.count(r"\end"), text
    assert not re.search(r"\^(\{[^{}]*\}|\w|\\[a-z]+)\s*\^", text), text
    assert not re.search(r"_(\{[^{}]*\}|\w)\s*_", text), text
    assert not re.search(r"[+-] *[+-]", text), text
    assert not re.search(r"\\(mathcal|mathbf|mathrm|overline|sqrt|frac|left|right)\s*[_^]", text), text
    assert "$" not in text.replace(r"\$", ""), text


@pytest.mark.parametrize("row", by_night(rows(), SLOW, lambda row: row.name))
def test_every_row_has_formulas(row):
    for example in examples_of(row)[:3]:
        z = result_of(row, example)
        if z is None:
            continue
        well_formed(z.formula())
        if any(d for d in row.derivatives):
            text = z.derivative_formula()
            well_formed(text)
            assert r"\partial" in text


@pytest.mark.parametrize("row", ELEMENTARY, ids=lambda row: row.name)
def test_derivatives_of_numbers_are_short(row):
    z = result_of(row, af.rules.Example(((),) * row.operands, examples_of(row)[0].options))
    if z is None:
        pytest.skip("its operands are no numbers")
    z.name = "z"
    text = z.derivative_formula()
    assert len(text) < 300, text
    assert not re.search(r"\\begin\{cases\}|\\mathbf|\\mathrm", text), text


def equations(f, *values):
    """The derivative formula of f(x, y): the fractions, and what they are."""
    z = f(*[af.Variable(v, name) for v, name in zip(values, "xy", strict=False)])
    lines = z.derivative_formula().replace("&", "").replace("\\begin{aligned}\n", "").replace("\n\\end{aligned}", "")
    return dict([line.split(" = ") for line in lines.split(" \\\\\n")])


@pytest.mark.parametrize(("f", "expected"), [
    (np.sin, [r"\cos x"]), (np.cos, [r"-\sin x"]), (np.tan, ["1 + z^{2}"]), (np.exp, ["z"]), (np.log, [r"\frac{1}{x}"]),
    (np.log2, [r"\frac{1}{\log 2 \cdot x}"]), (np.sqrt, [r"\frac{1}{2 \, z}"]), (np.tanh, ["1 - z^{2}"]),
    (np.sinh, [r"\cosh x"]), (np.arctan, [r"\frac{1}{1 + x^{2}}"]), (np.arcsin, [r"\frac{1}{\sqrt{1 - x^{2}}}"]),
    (np.arccos, [r"-\frac{1}{\sqrt{1 - x^{2}}}"]), (np.reciprocal, ["-z^{2}"]), (np.square, [r"2 \, x"]),
    (np.negative, ["-1"]), (np.abs, [r"\operatorname{sgn} x"]), (np.floor, ["0"]), (np.degrees, [r"\tfrac{180}{\pi}"]),
    (lambda x: x**3, [r"3 \, x^{2}"]), (lambda x: x**2, [r"2 \, x"]), (lambda x: 3 * x, ["3"]),
    (lambda x: x / 4, [r"\frac{1}{4}"]), (lambda x: 1 - x, ["-1"]), (np.cbrt, [r"\frac{1}{3 \, z^{2}}"]),
    (np.log1p, [r"\frac{1}{1 + x}"]), (np.expm1, ["e^{x}"]), (np.add, ["1", "1"]), (np.subtract, ["1", "-1"]),
    (np.multiply, ["y", "x"]), (np.divide, [r"\frac{1}{y}", r"-\frac{z}{y}"]),
    (np.power, [r"y \, x^{y - 1}", r"z \, \log x"]), (np.hypot, [r"\frac{x}{z}", r"\frac{y}{z}"]),
    (np.logaddexp, [rf"\frac{{e^{{{v} - z}}}}{{e^{{{v} - z}} + e^{{{w} - z}}}}" for v, w in ("xy", "yx")]),
    (np.maximum, ["0", "1"]),
])  # fmt: skip
def test_derivatives_of_numbers(f, expected):
    found = equations(f, *(0.5, 0.75)[: len(expected)])
    assert found == {rf"\frac{{\partial z}}{{\partial {x}}}": text for x, text in zip("xy", expected, strict=False)}


G, X, Y = r"\frac{\partial L}{\partial \mathbf{z}}", r"\mathbf{x}", r"\mathbf{y}"


@pytest.mark.parametrize(("f", "shapes", "above", "sent"), [  # of elementwise functions of z, else of the loss
    (np.multiply, [(5,), (4, 1)], r"\mathbf{z}", [Y, X]),
    (lambda x: np.maximum(x, 0.0), [4], r"\mathbf{z}", [r"1 \text{ or } 0"]),
    (np.matmul, [(2, 3), (3, 4)], "L", [rf"{G}\,{Y}^\top", rf"{X}^\top\,{G}"]),
    (lambda x: x[1:3], [4], "L", [rf"\operatorname{{put\_back}}_{{1{{:}}3 \to (4,)}} {G}"]),
])  # fmt: skip
def test_derivatives_of_arrays(f, shapes, above, sent):
    arrays = [np.cos(np.arange(np.prod(shape))).reshape(shape) for shape in shapes]
    wanted = [rf"\frac{{\partial {above}}}{{\partial {x}}}" for x in (X, Y)]
    assert equations(f, *arrays) == dict(zip(wanted, sent, strict=False))


@pytest.mark.parametrize(("f", "expected"), [
    (lambda x, y: x + y, "x + y"), (lambda x, y: x - (y - x), r"x - \left(y - x\right)"),
    (lambda x, y: x - y - x, "x - y - x"), (lambda x, y: (x + y) * x, r"\left(x + y\right) \, x"),
    (lambda x, y: x * y * 2, r"x \, y \cdot 2"), (lambda x, y: x / (y + 1), r"\frac{x}{y + 1}"),
    (lambda x, y: (x / y) ** 2, r"\left(\frac{x}{y}\right)^{2}"), (lambda x, y: (x**y) ** 2, r"\left(x^{y}\right)^{2}"),
    (lambda x, y: -(x * y), r"-x \, y"), (lambda x, y: -(x + y), r"-\left(x + y\right)"),
    (lambda x, y: x + (-y), r"x + \left(-y\right)"), (lambda x, y: x * (-2.0), r"x \, \left(-2\right)"),
    (lambda x, y: np.sin(x) ** 2, r"\left(\sin x\right)^{2}"), (lambda x, y: np.sin(x**2), r"\sin x^{2}"),
    (lambda x, y: np.sin(x * y), r"\sin \left(x \, y\right)"),
    (lambda x, y: np.sin(np.cos(x)), r"\sin \left(\cos x\right)"), (lambda x, y: np.sin(x) * y, r"\sin x \cdot y"),
    (lambda x, y: np.exp(x + y) + 1, r"e^{x + y} + 1"), (lambda x, y: np.sqrt(x + y), r"\sqrt{x + y}"),
    (lambda x, y: np.abs(x - y), r"\left|x - y\right|"),
    (lambda x, y: np.maximum(x + y, 0.5), r"\max\left(x + y, 0.5\right)"),
    (lambda x, y: np.hypot(x + y, 1.0), r"\sqrt{{\left(x + y\right)}^2 + {1}^2}"),
    (lambda x, y: x * 1e-9, r"x \cdot 10^{-9}"), (lambda x, y: x * np.inf, r"x \, \infty"),
])  # fmt: skip
def test_parentheses_stand_where_they_must(f, expected):
    text = f(af.Variable(2.0, name="x"), af.Variable(3.0, name="y")).formula()
    well_formed(text)
    assert text.replace(r"1 \cdot 10^", "10^") == expected


def test_names_stand_for_nodes_and_can_be_expanded():
    x = af.Variable(2.0, name="x")
    total = x * x + 1
    z = np.sin(total) / total
    assert z.formula() == r"\frac{\sin \mathrm{total}}{\mathrm{total}}"
    assert z.formula(expand=True) == r"\frac{\sin \left(x \, x + 1\right)}{x \, x + 1}"
    total.name = "a2"
    assert z.formula() == r"\frac{\sin a_{2}}{a_{2}}"


def test_leaves():
    leaves = [af.Variable(2.0, name="alpha"), af.Variable([2.0], name="alpha"), af.Variable(2.0), af.Constant(2.5)]
    texts = list(map(af.Node.formula, leaves))
    assert texts == [r"\alpha", r"\boldsymbol{\alpha}", r"\mathrm{leaves[2]}", "2.5"]
    with pytest.raises(LostGradientError, match="x is a leaf"):
        af.Variable(2.0, name="x").derivative_formula()


def test_names_are_no_commands():
    x = af.Variable(2.0, name=r"\href{javascript:alert(1)}{x}$ _^&<script>")
    for text in ((x * x).formula(), (x * x).derivative_formula(), *[rule for _, rule in (x * x).step().graph.rules]):
        assert not re.search(r"(?<!\\backslash )\\href|<|(?<!\\)\$", text)


def test_indices_and_options():
    x = af.Variable(np.ones((3, 3)), name="a1")
    wanted = [r"{\mathbf{a}_{1}}_{1{:},\ 0}", r"\sum_{\mathrm{axis=0}} \mathbf{a}_{1}", r"\mathbf{a}_{1}^\top"]
    assert [z.formula() for z in (x[1:, 0], x.sum(axis=0), x.T)] == wanted
    assert (x * np.ones(3)).formula().count(r"\odot") == 1


def test_shared_expressions_do_not_explode_and_long_chains_need_no_recursion():
    shared = repeat(lambda y: y * y, af.Variable(1.0, name="x"), 300)
    assert len(shared.formula(expand=True)) < 4000
    y = af.Variable(1.0, name="x")
    for _ in range(5000):
        y = np.sin(y)
    assert len(y.formula()) < 2000
    assert y.derivative_formula() == r"\frac{\partial y_{5000}}{\partial y_{4999}} = \cos y_{4999}"


def test_rules_of_users():
    x = af.Variable(3.0, name="x")
    z = af.Operation.create_node(9.0, "my_square", x)
    z.grad_fn = lambda g: g * 2 * x.value
    assert "x" in z.formula()
    assert z.derivative_formula() == r"\frac{\partial z}{\partial x} = 6"


def test_no_grad_around_it_changes_nothing_and_it_changes_no_gradient():
    x = af.Variable(3.0, name="x")
    z = np.sin(x)
    for context in (af.no_grad(), af.enable_grad()):
        with context:
            assert z.derivative_formula() == r"\frac{\partial z}{\partial x} = \cos x"
    assert (x.grad, z.grad) == (None, None)


def test_notebooks_show_it():
    text = np.sin(af.Variable(1.0, name="x")).formula()
    assert isinstance(text, Formula)
    assert text._repr_latex_() == r"$\displaystyle \sin x$"


def test_sums_are_those_of_no_context_of_the_users():
    a5, _ = lesson()
    a5.backward()
    before = a5.graph().to_svg()
    with decimal.localcontext() as context:
        context.prec = 2
        assert a5.graph().to_svg() == before


@pytest.mark.parametrize("last", [lambda x: x + 1.0, lambda x: x - 1.0], ids=["sum", "less"])
def test_the_second_factor_of_a_product_of_matrices_keeps_its_parentheses(last):
    x = af.Variable(np.eye(2), name="x")
    for product in (np.matmul, np.outer, np.kron):
        text = product(x, last(x)).formula(expand=True)
        assert rf"\left({last(x).formula(expand=True)}\right)" in text


def test_options_of_what_has_no_operator_in_front_stand_behind_it():
    x = af.Variable(np.arange(1.0, 9.0).reshape(2, 2, 2), name="x")
    found = {str(y.formula()) for y in (np.linalg.norm(x, axis=0), np.transpose(x, (1, 0, 2)), np.swapaxes(x, 0, 2))}
    assert len(found) == 3
    assert all(["_{" in text for text in found])


def test_complex_numbers_keep_their_exponents_and_parentheses():
    x = af.Variable(2.0, name="x")
    assert r"1.5 \cdot 10^{-7}" in np.abs(x * (2 - 1.5e-7j)).formula()
    assert "x*(2 - 1j)" in str(np.abs(x * (2 - 1j)).graph(gradients=False))


# ------------------------------------------------------------------ formulas are what they name

TOKEN = re.compile(r"\\left\(|\\right\)|\\[a-z]+|\\,|\d+(?:\.\d+)?|[a-z](?:_\{\d+\})?|[{}^+-]")


class Reader:
    """Evaluates a formula: sums of products of powers, with the names of numbers."""

    def __init__(self, text, values):
        self.tokens, self.values = [*TOKEN.findall(text), ""], values
        assert "".join(self.tokens) == text.replace(" ", "")

    def take(self, *wanted):
        return self.tokens.pop(0) if self.tokens[0] in wanted else ""

    def total(self):
        answer = -self.product() if self.take("-") else self.product()
        while sign := self.take("+", "-"):
            answer += self.product() if sign == "+" else -self.product()
        return answer

    def product(self):
        answer = self.power()
        while self.take(r"\cdot", r"\,") or self.tokens[0] not in ("", "}", r"\right)", "+", "-"):
            answer = answer * self.power()
        return answer

    def power(self):
        base = self.closed()
        return base ** self.group() if self.take("^") else base

    def group(self):
        if not self.take("{"):
            return self.closed()
        answer = self.total()
        assert self.take("}")
        return answer

    def closed(self):
        token = self.tokens.pop(0)
        if token == r"\left(":
            answer = self.total()
            assert self.take(r"\right)")
            return answer
        if token == r"\frac":
            return self.group() / self.group()
        if token in (r"\sin", r"\cos", r"\tanh"):
            return getattr(np, token[1:])(self.power())
        return float(token) if token[0].isdigit() else self.values[token]


def drawn(rng, depth, leaves):
    """A random expression, as Python writes it."""
    if not depth or rng.random() < 0.15:
        numbers = ["0.99999", "2.0", "-1.5", "3.0", "1e-7", "123456.0", "-2.0"]
        return str(rng.choice(numbers if rng.random() < 0.3 else leaves))
    a, b = drawn(rng, depth - 1, leaves), drawn(rng, depth - 1, leaves)
    forms = ["({a} + {b})", "({a} - {b})", "{a}*{b}", "{a}/({b} + 7.1)", "(-{a})", "({a})**2", "({a})**3.0"]
    form = str(rng.choice([*forms, "-({a})**2", "np.sin({a})", "np.cos({a})", "np.tanh({a})", "(2.0)**np.sin({a})"]))
    return form.format(a=a, b=b if not b.startswith("-") else f"({b})")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore")
def test_formulas_and_titles_evaluate_to_the_values_that_they_name(seed):
    rng = np.random.default_rng(seed)
    numbers = {"x": 0.7, "y": -1.3, "a1": 0.45}
    leaves = {name: af.Variable(value, name) for name, value in numbers.items()}
    symbols = {"x": 0.7, "y": -1.3, "a_{1}": 0.45}
    for _ in range(40):
        text = drawn(rng, 4, list(leaves))
        node = eval(text, {"np": np}, leaves)
        if not isinstance(node, af.Operation):
            continue
        right = pytest.approx(float(node.value), rel=1e-9, nan_ok=True)
        latex = formula(node, expand=True)
        if "ldots" not in latex:  # of two numbers Python has made one with many digits
            assert Reader(latex, symbols).total() == right, (text, latex)
        for v in graph(node).nodes:
            if v.operands and "…" not in v.title and ("(" in v.title or " " in v.title):
                functions = {f: getattr(np, f) for f in ("sin", "cos", "tanh")}
                assert eval(v.title, functions, dict(numbers)) == pytest.approx(v.value.elements[0], rel=1e-9), text


def test_numbers_of_the_program_are_not_rounded():
    x, m = af.Variable(2.0, name="x"), af.Variable(np.ones(3), name="m")
    assert formula(m * 0.99999) == r"\mathbf{m} \cdot 0.99999"
    assert formula(x * (2 / 3)) == r"x \cdot 0.6666\ldots"
    assert formula(m * np.float32(0.1)) == r"\mathbf{m} \cdot 0.1"
    assert graph(x * 0.99999).nodes[-1].title == "x*0.99999"
    assert (x * 0.99999).step()[0].caption == "x = 2"
    assert "0.99999 =" not in graph(x * 0.99999, constants="nodes").step()[0].caption


@pytest.mark.usefixtures("without_source")
def test_arrays_without_a_name_have_a_letter_each():
    m = af.Variable(np.ones(3), name="m")
    arrays = [np.arange(3.0) + k for k in range(2)]
    z = m * arrays[0] + arrays[1] - arrays[0]
    assert formula(z) == r"\mathbf{m} \odot \mathbf{c} + \mathbf{c}_{2} - \mathbf{c}"


def test_arrays_have_the_names_of_the_program():
    m, b = af.Variable(np.ones(3), name="m"), np.arange(3.0)
    z = np.convolve(m, b, mode="same")
    assert formula(z) == r"\left(\mathbf{m} * \mathbf{b}\right)_{\mathrm{mode=same}}"
    assert formula(np.convolve(m, b)) == r"\mathbf{m} * \mathbf{b}"


def test_two_names_have_two_symbols():
    a1, a_1 = af.Variable(2.0, name="a1"), af.Variable(3.0, name="a_1")
    assert formula(a1 - a_1) == r"a_{1} - \mathrm{a\_1}"


def energy(x):
    value = x * x
    return value


def test_two_nodes_of_one_name_have_two_symbols():
    """Two calls of one function have a variable each; a target that is given again has its number below."""
    a, state = af.Variable(2.0, name="a"), SimpleNamespace(x=af.Variable(3.0, name="b"))
    for _ in range(2):
        state.x = state.x * a
    d = energy(a) - energy(state.x)
    assert formula(d) == r"\mathrm{value} - {\mathrm{value}^{(2)}}"
    assert d.derivative_formula().count(r"\partial {\mathrm{value}^{(2)}}} &= -1") == 1
    assert formula(d**2 * state.x) == r"d^{2} \, \mathrm{state.x}_{2}"
    arrays = np.array([1.0, np.nan]), np.ones(2), np.array([1.0, np.nan])
    found = [np.sum(a * data) for data in arrays]  # and equal arrays have one
    text = formula(found[0] + found[1] + found[2], expand=True)
    assert sorted(re.findall(r"\\mathbf\{data\}(\S*)\\right", text)) == ["", "", "^{(2)}}"]
