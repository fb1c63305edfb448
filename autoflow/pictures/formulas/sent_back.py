"""What is sent back to an operand, in a few letters for its row: ``g Wᵀ``, ``Xᵀ g``, ``g ⊙ (1 − h²)``, ``g, summed``.

For single numbers a card shows the local derivative and the product. For arrays neither fits, but the rule does: that
of :func:`~.latex.derivative_formula`, in plain letters, with g for the gradient of the card. A rule that cannot be
written like that is left out; the formula itself still shows it.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..model.names import Titles
from .algebra import Term
from .latex import local_is_a_number, local_terms, one_run

LONGEST = 26  # characters
SHORT = 6  # characters of a name in a rule
CIRCLED = "①②③"
PLACES = "\ue000\ue001\ue002"  # placeholders of operands; characters from Unicode's private use area
RESULT = "\ue00f"
VALUES = ((0.3, 0.6), (0.6, 0.3), (-0.3, -0.6), (-0.3, 0.6), (0.3, -0.6))  # at which a rule must be the same
KNOWN: dict[Any, tuple[str, ...]] = {}  # per rule, options and ranks of operands: each is derived once
SIGNS = {
    r"\,": " ", r"\cdot": "·", r"^\top": "ᵀ", r"^{\top}": "ᵀ", r"^{2}": "²", r"^{3}": "³", r"^{-1}": "⁻¹", "-": "−",
    r"\left(": "(", r"\right)": ")", r"\!": "", r"\nearrow": "↗", r"\pi": "π", r"\ ": " ",
}  # fmt: skip
FUNCTION = re.compile(r"\\(sin|cos|tan|sinh|cosh|tanh|exp|log|sign|operatorname\{(\w+)\}) ?")
FRACTION = re.compile(r"\\frac\{([^{}\\]*)\}\{([^{}\\]*)\}")
UPSTREAM = rf"\frac{{\partial L}}{{\partial {RESULT}}}"


def rules_of(record: Any, titles: Titles) -> tuple[str, ...]:
    """The rule of each operand; empty where there is none.

    >>> import autoflow as af
    >>> W, h = af.Variable(np.ones((2, 3)), name="W"), af.Variable(np.ones((4, 2)), name="h")
    >>> from autoflow.pictures.model.callers import Bound
    >>> rules_of((h @ W).grad_fn, Titles(Bound(())))
    ('g Wᵀ', 'hᵀ g')
    >>> rules_of(np.tanh(h).grad_fn, Titles(Bound(())))
    ('g ⊙ (1 − z²)',)
    """
    count = len(record.parents)
    if count > len(PLACES) or any([getattr(getattr(x, "dtype", None), "kind", "") == "b" for x in record.operands]):
        return ("",) * count  # what a condition chooses is no formula
    ranks = tuple([len(getattr(x, "shape", ())) for x in record.operands])
    plain = tuple([x if parent is None and not rank else None for x, parent, rank in
                   zip(record.operands, record.parents, ranks, strict=True)])  # fmt: skip
    try:
        sizes = ranks if record.rule.elementwise else tuple([getattr(x, "shape", ()) for x in record.operands])
        flows = tuple([parent is not None for parent in record.parents])
        key = (record.rule, sizes, flows, tuple(map(str, plain)), str(record.options), record.shape == ())
        if key not in KNOWN:
            KNOWN[key] = derive_rules(record)
        found = KNOWN[key]
    except Exception:  # an error in a rule of the user's does not spoil the picture
        return ("",) * count
    letters = CIRCLED if count > 1 else "x"  # the numbers of the rows
    names = [short_name(titles, x, letter) for x, letter in zip(record.operands, letters, strict=False)]
    told = dict(zip(PLACES, names, strict=False)) | {RESULT: short_name(titles, record, "z")}
    filled = [text if text in ("", "g") else "".join([told.get(c, c) for c in text]) for text in found]
    return tuple([mention_sum(text, record, slot) for slot, text in enumerate(filled)])


def short_name(titles: Titles, x: Any, letter: str) -> str:
    """What an operand is called in a rule: its name if that is short."""
    if hasattr(x, "node_name") and titles.name(x) is None:
        return letter
    name = titles.of(x)
    return name if len(name) <= SHORT and name.replace("_", "").isalnum() else letter


def derive_rules(record: Any) -> tuple[str, ...]:
    """The rules with placeholders for names; nothing for an operand whose rule depends on the values (maximum)."""
    operands = [Term(PLACES[k]) for k in range(len(record.parents))]
    number, titles = local_is_a_number(record), Anonymous()
    if not (number and record.rule.elementwise) or record.rule.compute is None:
        found = [local_terms(record, titles, operands)]
    else:
        z = Term(RESULT)
        with np.errstate(all="ignore"):
            found = [one_run(record, sample_operands(record, pair), operands, z, titles) for pair in VALUES]
    texts = [["" if term is None else written(term, number) for term in terms] for terms in found]
    return tuple([row[0] if len(set(row)) == 1 else "" for row in zip(*texts, strict=True)])


def sample_operands(record: Any, pair: tuple[float, float]) -> list[Any]:
    """Numbers for the operands; plain numbers keep theirs."""
    values = []
    for slot, (x, parent) in enumerate(zip(record.operands, record.parents, strict=True)):
        keeps = parent is None and not getattr(x, "shape", ())
        dtype = record.dtype if record.dtype.kind in "fc" else np.float64
        values.append(x if keeps else np.asarray(pair[slot % 2], dtype)[()])
    return values


class Anonymous(Titles):
    """Titles of a record without any names: its result is a placeholder."""

    def __init__(self) -> None:
        from ..model.callers import Bound

        super().__init__(Bound(()))

    def name(self, x: Any) -> str | None:
        """Every operation is called by the placeholder."""
        return RESULT if hasattr(x, "node_name") else super().name(x)


def written(term: Term, number: bool) -> str:
    """A term in plain letters, times g where it is a derivative; empty if plain letters do not do."""
    text = re.sub(r"\\math(?:bf|rm)\{([^{}]*)\}", r"\1", term.text)
    text = text.replace(UPSTREAM, "g")
    text = FUNCTION.sub(lambda m: (m[2] or m[1]) + " ", text)
    for sign, letter in SIGNS.items():
        text = text.replace(sign, letter)
    text = FRACTION.sub(lambda m: f"{parenthesise(m[1])} / {parenthesise(m[2])}", text)
    text = re.sub(r"\\operatorname\{reshape\}_\{[^{}]*\} ?", "", text)
    text = re.sub(r" +", " ", re.sub(r"\((g)\)", r"\1", text)).strip()
    text = re.sub(r"^\(?([^()]*)\)?↗$", r"\1, stretched", text)
    if re.search(r"[\\{}^_↗]", text) or len(text) > LONGEST:
        return ""
    if not number:
        return text
    if text in ("1", "−1"):
        return "g" if text == "1" else "−g"
    if text.startswith("1 / ") and " " not in text[4:]:
        return f"g / {text[4:]}"
    if text.replace(".", "").isdigit():
        return f"{text} g"
    return f"g ⊙ ({text})" if " " in text else f"g ⊙ {text}"


def parenthesise(text: str) -> str:
    """In parentheses where the fraction would otherwise be read as another one."""
    return f"({text})" if " " in text.strip() else text


def mention_sum(text: str, record: Any, slot: int) -> str:
    """The rule of an operand that was broadcast: what is sent back is summed."""
    if not text or not record.rule.elementwise or record.operands[slot].shape == record.shape:
        return text
    times = math.prod(record.shape) // max(1, math.prod(record.operands[slot].shape))
    return f"{text}, summed over {times}" if times > 1 else text
