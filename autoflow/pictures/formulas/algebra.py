r"""Terms: pieces of LaTeX that know how strongly they bind, and the few simplifications that a derivative needs.

How strongly: 1 sum, 2 product, 3 sign or a function without parentheses (``\sin x``), 4 power, 9 closed. A template's
place (``$x`` in ``$x - $y``) asks for a strength, and a weaker term gets parentheses there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...nodes.records import Record
from ..model.data import number, pythons
from ..model.names import DIGITS, index, options
from ..model.style import clean, clip

SUM, PRODUCT, SIGN, POWER, CLOSED = 1, 2, 3, 4, 9
LETTERS = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi
psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"""
GREEK = frozenset(LETTERS.split())
SIGNS = {"NaN": r"\mathrm{NaN}", "∞": r"\infty", "…": r"\ldots"}
KNOWN = {math.pi: r"\pi", math.log(2.0): r"\log 2", math.log(10.0): r"\log 10"}
PLACE = re.compile(r"\$([A-Za-z0-9]+(?:_[A-Za-z0-9]+)*)")
RAISED = re.compile(r"\^(\{[^{}]*\}|\\[a-z]+|\w)$")  # a text that ends with an exponent cannot take a second one
# What stands before a place that needs no parentheses: an opening bracket, a comma, a new cell.
OPENED = re.compile(r"(\{|\(|\||\\lfloor|\\lceil|\\langle|\\leftarrow|(?<!\\),|&|\\\\|\{cases\})\s*$")
ASSOCIATIVE = frozenset({"add", "multiply", "matmul", "outer", "logaddexp"})
# A prefix of a template that takes the options as an index.
OPERATOR = re.compile(
    r"^(\\operatorname\{\w+\}|\\mathcal F|\\(?!left|frac|tfrac|sqrt|begin|over|langle|math|bold)[a-z]+)"
)
ESCAPES = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\wedge ", "~": r"\sim ", "<": r"\lt ", ">": r"\gt ", " ": r"\ ",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """A piece of a formula."""

    text: str
    binds: int = CLOSED
    value: Any = None  # of a literal
    inner: Term | None = None  # of ``-x`` the x

    def within(self, strength: int) -> str:
        """The text for a place that asks for ``strength``; 0 asks for nothing."""
        return rf"\left({self.text}\right)" if self.binds < strength else self.text


DOTS = Term(r"\cdots")
ARRAY = r"\mathbf{c}"  # a plain array without a name


def escape_text(text: str) -> str:
    r"""User text for the inside of a formula: nothing in it is a command.

    >>> print(escape_text("w_1 {\\href}"))
    w\_1\ \{\backslash href\}
    """
    return "".join([ESCAPES.get(c, c) for c in clip(clean(text), 48)])


def symbol(name: str, bold: bool = False) -> Term:
    r"""The name of a node: ``a1`` is a₁, ``sigma`` is σ, longer names are upright, arrays bold.

    >>> [symbol(name).text for name in ("x", "a1", "y₁₀", "sigma", "loss", "var_0", "s.x₂")]
    ['x', 'a_{1}', 'y_{10}', '\\sigma', '\\mathrm{loss}', '\\mathrm{var}_{0}', '\\mathrm{s.x}_{2}']
    """
    match = re.fullmatch(r"(.+?)([₀-₉]+)|([A-Za-z]+)_?(\d{1,6})", name)
    stem, place = filter(None, match.groups()) if match else (name, "")
    place = place.translate(DIGITS)
    if stem in GREEK:
        text = rf"\boldsymbol{{\{stem}}}" if bold else f"\\{stem}"
    elif len(stem) == 1 and stem.isalpha():
        text = rf"\mathbf{{{stem}}}" if bold else stem
    else:
        text = rf"\{'mathbf' if bold else 'mathrm'}{{{escape_text(stem)}}}"
    return Term(f"{text}_{{{place}}}" if place else text)


def literal(x: object, digits: int | None = None) -> Term:
    r"""A plain value: a number in full, or with that many digits; an array as a bold c.

    >>> literal(0.5).text, literal(-1.5e-7).text, literal(np.arange(3.0)).text, literal(2 / 3).text
    ('0.5', '-1.5 \\cdot 10^{-7}', '\\mathbf{c}', '0.6666\\ldots')
    """
    if getattr(x, "shape", ()) != ():
        if isinstance(x, np.ndarray) and x.size and x.dtype.kind in "fiub":
            for same in (0, 1):  # what zeros_like and ones_like gave
                if (x == same).all():
                    return Term(rf"\mathbf{{{same}}}")
        return Term(ARRAY)
    x = pythons(x)
    if x is None or isinstance(x, (str, bytes)):
        return Term(r"\mathrm{None}" if x is None else rf"\mathrm{{{escape_text(str(x))}}}")
    if isinstance(x, bool):
        return Term(rf"\mathrm{{{x}}}", value=x)
    if not isinstance(x, (int, float, complex)):
        return Term(rf"\mathrm{{{escape_text(type(x).__name__)}}}")
    if isinstance(x, complex):
        parts = literal(x.real + 0.0, digits), literal(abs(x.imag), digits)
        sign = "-" if math.copysign(1.0, x.imag) < 0 else "+"
        return Term(rf"{parts[0].text} {sign} {parts[1].within(CLOSED)}\mathrm{{i}}", SUM, x)
    if x < 0 or (x == 0 and math.copysign(1.0, x) < 0):
        positive = literal(-x, digits)
        return Term("-" + positive.text, min(SIGN, positive.binds), x, positive)
    mantissa, e, exponent = number(x, digits).partition("e")
    for sign, command in SIGNS.items():
        mantissa = mantissa.replace(sign, command)
    text = KNOWN.get(x, mantissa)
    power = f"10^{{{exponent.replace('−', '-')}}}"
    return Term(text + (rf" \cdot {power}" if e else ""), PRODUCT if e else SIGN if " " in text else CLOSED, x)


def fill_template(record: Record, operands: Sequence[Term]) -> Term:
    """The row's template with the operands, and the options, in their places."""
    rule = record.rule
    named = dict(zip(rule.names, operands, strict=False))
    template = rule.latex
    places = list(PLACE.finditer(template))
    if not places:  # a rule of the user has only a name
        return Term(template + rf"\left({', '.join([t.text for t in operands])}\right)")
    if template == "$x":
        return operands[0]
    if rule.name == "multiply":
        return product(operands[0], operands[1], r"\odot" if all([np.shape(x) for x in record.operands]) else "")
    pieces, end = [], 0
    for k, place in enumerate(places):
        before, after, word = template[: place.start()], template[place.end() :], place[1]
        pieces.append(template[end : place.start()])
        end = place.end()
        if word in named:
            text = fit_term(named[word], strength(rule, before, after, k), before)
            pieces.append(f"{{{text}}}" if after.startswith("_") and "_" in text else text)  # a1 has an index already
        elif word in record.options:
            pieces.append(option_text(word, record.options[word]))
        else:  # the arrays of a sequence
            pieces.append(", ".join([t.text for t in operands]))
    text = "".join(pieces) + template[end:]
    operator = OPERATOR.match(text) if places[0].start() else None
    cut = operator.end() if operator else len(text) * (end < len(template) and not template.endswith("nearrow"))
    options_text = r",\,".join([escape_text(o) for o in options(record) if f"${o.partition('=')[0]}" not in template])
    binds = rule.precedence
    if options_text and cut:
        text = rf"{text[:cut]}_{{\mathrm{{{options_text}}}}}{text[cut:]}"
    elif options_text and len(places) > 1:  # a sign between operands
        return Term(rf"\left({text}\right)_{{\mathrm{{{options_text}}}}}")
    if end == len(template) and places[-1].start() and not OPENED.search(template[: places[-1].start()]):
        binds = min(binds, SIGN)  # an operator in front of its last operand, without brackets
    return Term(text, binds, inner=operands[0] if rule.name == "negative" else None)


def strength(rule: Any, before: str, after: str, k: int) -> int:
    """How strongly a term must bind to need no parentheses at a place of a template."""
    if re.match(r"\}?(\^|_|\\!)", after):
        return CLOSED
    if OPENED.search(before):
        return 0
    if before.rstrip().endswith("+") and rule.precedence == CLOSED:
        return SUM
    if not before:
        return int(rule.precedence)
    if k and rule.precedence < SIGN:
        return int(rule.precedence) + (rule.name not in ASSOCIATIVE)
    return PRODUCT if before == "-" else POWER


def fit_term(term: Term, needed: int, before: str) -> str:
    """The term at its place: in parentheses if it binds too weakly, or would put a sign behind a sign."""
    signs = term.text.startswith("-") and before.rstrip().endswith(("+", "-", r"\cdot", r"\,"))
    large = needed == CLOSED and (term.text.startswith((r"\frac", r"\begin")) or RAISED.search(term.text))
    if signs or large:
        return rf"\left({term.text}\right)"
    return term.within(needed)


def option_text(word: str, value: object) -> str:
    """An option that has a place in the template."""
    if word == "i":
        return escape_text(index(value)).replace(":", "{:}")
    if value is None:
        return {"min": r"-\infty", "max": r"\infty"}.get(word, "")
    return escape_text(getattr(value, "__name__", None) or str(value))


def product(a: Term, b: Term, sign: str = "") -> Term:
    """``a b``: with a sign between arrays, with a dot where numbers would run together."""
    left, right = a.within(PRODUCT), b.within(PRODUCT)
    right = rf"\left({right}\right)" if right.startswith("-") else right
    dot = right[:1].isdigit() or a.binds == SIGN or (a.text[-1:].isdigit() and right.startswith(r"\frac"))
    sign = sign or (r"\cdot" if dot else r"\,")
    return Term(f"{left} {sign} {right}", PRODUCT)


def negate(a: Term) -> Term:
    """``-a``, without a double sign."""
    if a.inner is not None:
        return a.inner
    return Term("-" + a.within(PRODUCT), min(SIGN, a.binds), None if a.value is None else -a.value, a)


def product_of(factors: Sequence[Term]) -> Term:
    r"""The product of several terms as it is written by hand: ones are left out, all signs become one in front.

    >>> product_of([literal(-1.0), literal(3.5), negate(symbol("x"))]).text
    '3.5 \\cdot x'
    """
    positive = [t if t.inner is None else t.inner for t in factors]
    numerator = [t for t in positive if t.value != 1] or [literal(1)]
    text = r" \cdot ".join([t.within(PRODUCT) for t in numerator])
    answer = numerator[0] if len(numerator) == 1 else Term(text, PRODUCT)
    return negate(answer) if sum([t.inner is not None for t in factors]) % 2 else answer


def plus(a: Term, b: Term) -> Term:
    """``a + b``, or ``a - b`` if b has a sign."""
    if b.inner is not None:
        return Term(f"{a.text} - {b.inner.within(PRODUCT)}", SUM)
    return Term(f"{a.text} + {b.text}", SUM)


def simplify_step(record: Record, operands: Sequence[Term], scalars: bool) -> Term | None:
    """A shorter way to write one step of a derivative, or None: factors known to be 1 or 0, signs, squares."""
    name = record.rule.name
    if name in ("positive", "copy", "astype", "reshape", "broadcast_view", "broadcast_to", "sum") and scalars:
        return operands[0]
    if name == "reshape" and record.shape == np.shape(record.operands[0]):
        return operands[0]
    if name == "conjugate" and operands[0].value is not None:
        return literal(np.conjugate(operands[0].value))
    if name == "where":
        return chosen_branch(record, operands)
    if name in ("degrees", "radians") and operands[0].value == 1:
        return Term(record.rule.latex.partition(" $x")[0])
    step = STEPS.get(name)
    return step(*operands) if step is not None and (scalars or None not in [t.value for t in operands[:1]]) else None


def chosen_branch(record: Record, operands: Sequence[Term]) -> Term | None:
    """The branch that was taken, if it is the same everywhere."""
    condition = record.saved[0]
    condition = np.asarray(condition) if isinstance(condition, (np.ndarray, np.generic, bool)) else None
    if condition is None or not condition.size or condition.any() != condition.all():
        return None
    return operands[1] if condition.any() else operands[2]


def with_signs(combine: Callable[[Term, Term], Term], a: Term, b: Term) -> Term:
    """What two terms make if one or both have a sign: the sign stands in front, and two cancel."""
    positive = combine(a.inner or a, b.inner or b)
    return negate(positive) if None in (a.inner, b.inner) else positive


def times(a: Term, b: Term) -> Term:
    """a · b."""
    if a.value is not None and b.value is not None:
        return literal(a.value * b.value)
    if b.value is not None:
        a, b = b, a
    if a.value in (0, 1):
        return b if a.value == 1 else literal(0.0)
    if a.inner is not None or b.inner is not None:
        return with_signs(times, a, b)
    if a.text == b.text:
        return Term(f"{fit_term(a, CLOSED, '')}^{{2}}", POWER)
    return product(a, b)


def over(a: Term, b: Term) -> Term:
    """a / b."""
    if b.value == 1 or a.value == 0:
        return a
    if a.inner is not None or b.inner is not None:
        return with_signs(over, a, b)
    return Term(rf"\frac{{{a.text}}}{{{b.text}}}")


def add_terms(a: Term, b: Term) -> Term:
    """a + b."""
    if a.value is not None and b.value is not None:
        return literal(a.value + b.value)
    if a.value == 0 or b.value == 0:
        return b if a.value == 0 else a
    return plus(a, b)


def less(a: Term, b: Term) -> Term | None:
    """a − b."""
    if a.value is not None and b.value is not None:
        return literal(a.value - b.value)
    if a.value == 0 or b.value == 0:
        return negate(b) if a.value == 0 else a
    return plus(a, b.inner) if b.inner is not None else None


STEPS: dict[str, Any] = {
    "multiply": times, "divide": over, "add": add_terms, "subtract": less, "negative": negate,
    "power": lambda a, b: a if b.value == 1 else None,
}  # fmt: skip
