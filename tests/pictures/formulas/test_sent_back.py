"""Every formula on a card, computed with the numbers of its graph, is what was sent back: over rows, and over the
programs of the gallery."""

import re
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pytest
from cases import Case, Unsupported
from gallery import make
from graphs import by_title
from row_examples import SLOW, examples_of
from seeds import by_night
from support import rows

import autoflow as af
from autoflow.pictures import walk
from autoflow.pictures.formulas.sent_back import rules_of
from autoflow.pictures.model.data import CIRCLED, add_up, numbers
from autoflow.table.shapes import sum_to

RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
FUNCTIONS = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp,
    "log": np.log, "sgn": np.sign, "sign": np.sign, "vec": np.ravel, "tril": np.tril, "triu": np.triu,
}  # fmt: skip
TOKEN = re.compile(r"\s*(\d+\.?\d*|[a-z]+|[①-⑫●π]|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+|\^\([^)]*\)|.)")


class Formula:
    """A formula in plain letters, as a reader would compute it."""

    def __init__(self, text, values, elementwise):
        self.tokens, self.values, self.elementwise = TOKEN.findall(text), values, elementwise

    def peek(self):
        return self.tokens[0] if self.tokens else ""

    def sum(self):
        x = self.product()
        while self.peek() in ("+", "−"):
            x = x + self.product() if self.tokens.pop(0) == "+" else x - self.product()
        return x

    def product(self):
        x = self.factor()
        while self.peek() not in ("", ")", "+", "−"):
            sign = self.tokens.pop(0) if self.peek() in ("⊙", "·", "/", "⊗") else " "
            y = self.factor()
            if sign == "/":
                x = x / y
            elif sign == "⊗":
                x = np.multiply.outer(x, y)
            elif sign == "⊙" or self.elementwise or not np.ndim(x) or not np.ndim(y):
                x = x * y
            else:
                x = x @ y
        return x

    def factor(self):
        token = self.tokens.pop(0)
        if token == "−":
            return -self.factor()
        if token in FUNCTIONS:
            return FUNCTIONS[token](self.factor())
        if token == "(":
            x = self.sum()
            assert self.tokens.pop(0) == ")"
        else:
            x = self.values[token] if token in self.values else float(token)
        while self.peek()[:1] in tuple("ᵀ⁰¹²³⁴⁵⁶⁷⁸⁹⁻^"):
            token = self.tokens.pop(0)
            if token == "ᵀ":
                x = np.swapaxes(x, -1, -2) if np.ndim(x) > 1 else x
            elif token[0] == "^":
                x = x ** float(token[2:-1].replace("−", "-"))
            else:
                power = int(token.translate(RAISED))
                x = x**power if self.elementwise or power > 0 else np.linalg.matrix_power(x, power)
        return x


def transposed(record, g):
    """What a function that only copies elements sends back: each to where it came from."""
    x = record.operands[0]
    shape = np.shape(x)
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if record.rule.name in ("sort", "partition"):
        kept = -value(x) if record.options.get("descending") else value(x)
        axis = record.options["axis"]
        order = np.argsort(kept, axis=axis)
        numbers = order if axis is None else np.take_along_axis(numbers, order, axis)
    else:
        rule = record.rule.plain or record.rule
        numbers = rule.compute(numbers, *record.saved[rule.operands : len(rule.names)])
    z = np.zeros(numbers.size and int(np.prod(shape)))
    np.add.at(z, numbers.ravel().astype(int), np.ravel(g))
    return z.reshape(shape)


def value(x):
    return np.asarray(x.value if hasattr(x, "value") else x)


def compute(text, g, record, slot, operands, result):
    """What a reader understands."""
    shape = np.shape(operands[slot])
    if text == "0":
        return np.zeros(shape)
    values = dict(zip(CIRCLED, operands, strict=False)) | {"●": result, "g": g, "π": np.pi}
    text = re.sub(r"(?<=\d)…", "", text)  # numbers of the program are cut off
    text, *told = re.split(r", (?=summed|stretched|reshaped|shared|half|moved|copies|0 |else)", text)
    told = " ".join(told)
    if told in ("moved back", "copies added", "reshaped"):
        assert text == "g"
        return transposed(record, g)
    if told == "summed from behind":
        k, flat = (0, g.ravel()) if record.options["axis"] is None else (record.options["axis"], g)
        return np.flip(np.cumsum(np.flip(flat, k), k), k).reshape(shape)
    if match := re.fullmatch(r"g where (.*?)(?: \((.*) %\))?", text):
        return choose(match, told, g, record, operands, result, shape)
    if match := re.fullmatch(r"einsum (.*) of (.*)", text):
        found = np.einsum(match[1].replace("→", "->"), *[values[c] for c in match[2].split(", ")])
    elif match := re.fullmatch(r"g (?:at|added at) \[.*\]", text):
        found = np.zeros(shape)
        np.add.at(found, record.options["i"], g)
        return found
    elif told.startswith("0 at"):
        found = g.copy()
        found[record.options["i"]] = 0
        return found
    elif match := re.fullmatch(r"g\[(.*)\]", text):
        found = g[record.options["i"]] if "i" in record.options else eval(f"g[{match[1]}]")
    else:
        formula = Formula(text, values, record.rule.elementwise)
        found = formula.sum()
        assert not formula.tokens, text
    if told == "stretched":
        found = np.asarray(found)
        axis = record.options.get("axis")
        if "letters" in record.options:
            inputs, _, out = record.options["letters"].partition("->")
            own = inputs.split(",")[slot]
            terms = [out, *inputs.split(",")]
            del terms[slot + 1]
            found = found.reshape([n if c in "".join(terms) else 1 for c, n in zip(own, shape, strict=True)])
        elif axis is not None and found.ndim < len(shape):
            found = np.expand_dims(found, axis)
        return np.broadcast_to(found, shape)
    if match := re.fullmatch(r"summed over (\d+)", told):
        assert np.size(found) == int(match[1]) * max(1, int(np.prod(shape)))
        return sum_to(np.asarray(found), shape)
    return found


def choose(match, told, g, record, operands, result, shape):
    """``g where ① > ② (62 %)``."""
    names = dict(zip(CIRCLED, operands, strict=False)) | {"●": result}
    if match[1] == "① = ●":
        kept, axis = record.options["keepdims"], record.options["axis"]
        z, h = [x if kept or axis is None else np.expand_dims(x, axis) for x in (result, g)]
        mask = operands[0] == z
        count = mask.sum(axis=axis, keepdims=True)
        assert ("shared" in told) == bool((count > 1).any())
        return np.where(mask, h / count, 0)
    words = re.split(r" (?=[<>≤])|(?<=[<>≤]) ", match[1].removeprefix("not "))
    terms = [names[w] if w in names else float(w) for w in words[::2]]
    signs = {"<": np.less, ">": np.greater, "≤": np.less_equal}
    mask = np.asarray(terms[0], bool) if len(terms) == 1 else True
    for a, sign, b in zip(terms, words[1::2], terms[1:], strict=False):
        mask = mask & signs[sign](a, b)
    mask = np.broadcast_to(~mask if match[1].startswith("not ") else mask, np.shape(g))
    weights = mask.astype(float)
    if "half where =" in told:
        assert (terms[0] == terms[1]).any()
        weights = weights + 0.5 * (terms[0] == terms[1])
    elif len(terms) == 2 and record.rule.residual:
        assert not np.any(np.equal(*terms))
    share = 100 * weights.mean()
    assert share < 1 if match[2] == "< 1" else share > 99 if match[2] == "> 99" else abs(float(match[2]) - share) <= 0.5
    return sum_to(g * weights, shape)


@pytest.mark.parametrize("row", by_night(rows(), SLOW, lambda row: row.name))
@pytest.mark.filterwarnings("ignore")
def test_what_a_card_says_is_sent_back_is(row):
    for example in examples_of(row):
        case = Case(row, example)
        nodes = [af.Variable(x) if k in case.live else x for k, x in enumerate(case.values("float64"))]
        with suppress(Unsupported):
            record = getattr(case.run(nodes), "grad_fn", None)
            if record is not None and record.rule.name == row.name and record.dtype.kind == "f":
                check(record, [value(x) if x is not None else None for x in record.operands])


def check(record, operands):
    """Compare all rules of a record with what it sends."""
    g = np.random.default_rng(5).normal(size=record.shape)
    sent = record(g)
    for slot, text in enumerate(rules_of(record)):
        if text:
            with np.errstate(all="ignore"):
                found = compute(text, g, record, slot, operands, value(record.value))
            if np.size(found) == 1 == np.size(sent[slot]):
                found = np.reshape(found, np.shape(sent[slot]))
            assert np.shape(found) == np.shape(sent[slot]), (record.rule.name, text)
            close = 1e-3 if re.search(r"\d\.\d{3}", text) else 1e-7  # numbers are printed with four digits
            assert np.allclose(found, sent[slot], close, 2 * close, equal_nan=True), (record.rule.name, slot, text)


def stencil():
    u, k = af.Variable(np.linspace(0, 1, 9) ** 2) * 1.0, af.Variable(0.3)
    for _ in range(2):
        u[1:-1] -= k * (u[1:-1] - u[:-2])
        u[2:4] += k * u[0]
        u[5] -= k
        u[0] = 0.5 * u[1]
    return af.graph(np.sum(u * u * u), gradients=True)


def relu_net():
    rng = np.random.default_rng(0)
    x, w, b = rng.normal(size=(7, 4)), af.Variable(rng.normal(size=(4, 5))), af.Variable(rng.normal(size=5))
    h = np.maximum(x @ w + b, 0.0)
    windows = np.lib.stride_tricks.sliding_window_view(h, (3, 3))
    z = np.einsum("ijkl,kl->ij", windows, af.Variable(rng.normal(size=(3, 3))))
    v = af.Variable(rng.normal(size=3))
    return af.graph(np.sum((z @ v) ** 3) + np.max(z) + np.mean(h * h * b), "arrays", gradients=True, fold=False)


GRAPHS = [draw for name, draw in make.GALLERY.items() if name not in ("large", "hostile")]


@pytest.mark.parametrize("draw", [*GRAPHS, stencil, relu_net], ids=lambda draw: draw.__name__)
def test_every_rule_on_the_cards_of_a_picture_is_what_was_sent(draw, monkeypatch):
    walks = []

    class Watched(walk.Walk):
        def __init__(self, *args):
            super().__init__(*args)
            walks.append(self)
            self.arrays_of = {}

        def plain(self, place, x):
            self.arrays_of[self.ids[place]] = x
            return super().plain(place, x)

    monkeypatch.setattr(walk, "Walk", Watched)
    af.reset()
    picture = draw()
    seen = walks[-1]
    records = {seen.ids[id(r)]: r for r in seen.shown if id(r) in seen.ids}
    arrays = {k: r.value for k, r in records.items()} | seen.arrays_of
    gradients, sent = back(seen)
    count = 0
    for graph in (picture, picture.drawn):
        for card in graph.nodes:
            ids = [k for k in card.members or (card.id,) if k in records]
            record = records[max(ids)] if ids else None
            if record is None or not record.parents or card.fold or card.results or record.dtype.kind != "f":
                continue
            values = [operand(graph, r, arrays) for r in card.operands]
            found = {}  # by what it is sent to: two rows of x * x are one x
            for row in card.operands:
                with np.errstate(all="ignore"):
                    found.setdefault(row.source, []).append(said(row, gradients[record], record, values))
            for source, parts in found.items():
                if source is not None and all([part is not None for part in parts]):
                    theirs = {id(records[k]) for k in graph.nodes[source].members or (source,) if k in records}
                    pairs = [pair for k in ids for pair in zip(records[k].parents, sent[records[k]], strict=False)]
                    wanted = sum([part for parent, part in pairs if id(parent) in theirs])
                    assert np.allclose(sum(parts), wanted, rtol=1e-3), (card.title, [r.rule for r in card.operands])
                    count += 1
    assert count or picture.look.detail != "arrays"


def said(row, g, record, values):
    """What a row says is sent back; None if it says nothing."""
    if not row.rule:
        return None
    known = dict(zip(CIRCLED, values, strict=False)) | {"●": record.value}
    if any([known.get(sign, 0) is None for sign in row.rule]):
        return None  # not kept
    minus, text = row.rule.startswith("−g["), row.rule.replace("−g[", "g[")
    found = compute(text, g, record, row.slot, values, value(record.value))
    return -found if minus else found


def back(seen):
    """All gradients of a pass, and what each record sends."""
    gradients, sent = {r: np.ones(r.shape) for r in seen.records}, {}
    for record in seen.everything:
        sent[record] = record(gradients[record]) if record.parents else ()
        for parent, g in zip(record.parents, sent[record], strict=False):
            if parent is not None and g is not None:
                gradients[parent] = gradients[parent] + g if parent in gradients else g
    return gradients, sent


def operand(graph, row, arrays):
    """The array that a row is about; None if it was not kept."""
    if row.source is None:
        return float(row.title) if re.fullmatch(r"-?[\d.e-]+", row.title) else None
    found = arrays.get(max(graph.nodes[row.source].members or (row.source,)))
    return None if found is None or type(found).__name__ == "FreedArray" else value(found)


def test_rules_of_a_user_are_not_known_by_their_names():
    @af.primitive(elementwise=True)
    def relu(x):
        return np.maximum(x, 0.0)

    relu.defvjp(x=lambda g, x: 3.0 * g)
    assert rules_of(relu(af.Variable(np.ones(9))).grad_fn) == ("3 g",)
    assert rules_of((af.Variable(np.ones(2) * 1j) * np.ones(2)).grad_fn) == ("", "")  # what is conjugated, is not told


def test_a_name_in_a_rule_cannot_be_misread():
    def rules(z):
        picture = af.graph(z, "arrays", gradients=True)
        return [picture.rule(picture.nodes[-1], row) for row in picture.nodes[-1].operands]

    x, y = np.ones((2, 3)), af.Variable(np.ones((3, 4)))
    g = af.Variable(np.ones((4, 5)))
    same = [af.Variable(np.full(9, k), name="w") for k in (1.0, 2.0)]
    assert rules(x @ y) == ["", "xᵀ g"]
    assert rules(np.ones((2, 3)) @ y) == ["", "①ᵀ g"]  # an array without a name
    assert rules(y @ g) == ["g ②ᵀ", "yᵀ g"]  # g is the gradient of the card
    assert rules(same[0] * same[1]) == ["g ⊙ ②", "g ⊙ ①"]
    assert rules(y.sum(axis=0) @ g) == ["② g", "① ⊗ g"]  # the sum has no name


def test_sums_on_cards_are_true_as_they_are_printed():
    rng = np.random.default_rng(0)
    equal = 0
    for _ in range(500):
        parts = rng.normal(size=rng.integers(2, 4)) * 10.0 ** rng.integers(-2, 4)
        words, sign, whole = add_up([numbers(v) for v in parts], numbers(sum(parts)), 4)
        sums = sum([Decimal(word.replace("−", "-")) for word in words])
        assert sign != "=" or sums == Decimal(whole.replace("−", "-"))
        for word, v in zip(words, parts, strict=True):
            assert float(word.replace("−", "-")) == pytest.approx(v, rel=0.02)
        equal += sign == "="
    assert equal > 450
    x, y = af.Variable(155.6384, name="x"), af.Variable(1.0, name="y")
    shown = af.graph(x * y * 1.0 - y * 123.2626, gradients=True).to_svg()
    assert re.search(r">155\.638\d? − 123\.263\d? =<|>155\.64 − 123\.26 =<", shown)


def test_rounding_noise_is_called_so():
    rng = np.random.default_rng(0)
    x = af.Variable(rng.normal(size=(4, 10)), name="x")
    s = np.exp(x - np.max(x, axis=1, keepdims=True))
    loss = -np.mean(np.log((s / np.sum(s, axis=1, keepdims=True))[np.arange(4), [1, 2, 3, 4]]))
    g = af.graph(loss, gradients=True)
    (largest,) = [v for v in g.nodes if v.gradient and v.gradient.noise]
    assert (largest.word[:3], largest.gradient.text(4)) == ("max", "≈ 0")
    tiny = af.Variable(1.0, name="tiny")
    for z, text in ((tiny * 0.1 + tiny * 0.2 - tiny * 0.3, "≈ 0"), (np.sum(tiny * 1e-30 * np.ones(3)), "3e−30")):
        assert by_title(af.graph(z, gradients=True))["tiny"].gradient.text(4) == text
