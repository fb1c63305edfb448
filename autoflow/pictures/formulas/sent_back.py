"""The contribution sent back to each operand, in a few letters: ``g Wᵀ``, ``g ⊙ (1 − ●²)``, ``g where acc > 0 (62 %)``.

For single numbers a card shows the local derivative and the product. For arrays neither fits, but the rule does: that
of :func:`~.latex.derivative_formula` in plain letters, with g for the gradient of the card, ①, ② for its operands and
● for its value. Rules that move elements, choose between them, or multiply matrices are not formulas of numbers: what
they send back is described in words. A rule that neither can write is left out; a card then says how large the array
is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ...nodes.records import Record
from ...table.indexing import is_basic
from ..model.data import CIRCLED, ITSELF
from ..model.names import Titles, index
from ..model.style import clip
from .algebra import Term
from .latex import local_is_a_number, local_terms, one_run

LONGEST = 34  # characters
RESULT = Term(ITSELF)
VALUES = ((0.3, 0.6), (0.6, 0.3), (-0.3, -0.6), (-0.3, 0.6), (0.3, -0.6))  # the values at which a rule must be the same
KNOWN: dict[Any, tuple[str, ...]] = {}  # per rule, options and ranks of operands: each is derived once
SIGNS = {
    r"\,": " ", r"\cdot": "·", r"^\top": "ᵀ", r"^{\top}": "ᵀ", "-": "−", r"\left(": "(", r"\right)": ")",
    r"\!": "", r"\nearrow": "↗", r"\pi": "π", r"\ ": " ", r"\odot": "⊙", r"\ldots": "…",
}  # fmt: skip
FUNCTION = re.compile(r"\\(sinh|cosh|tanh|sin|cos|tan|exp|log|operatorname\{(\w+)\}) ?")
FRACTION = re.compile(r"([a-z] )?\\frac\{([^{}\\]*)\}\{([^{}\\]*)\}")
READ = {"g", "π", "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sgn", "vec", "tril", "triu", "stretched"}
STRANGE = re.compile(r"[^ \w●⊙·/+−().,…^]|_|\^(?!\()")
CONTRACTED = re.compile(r"(?<![\d.]) · ")  # of arrays: nobody sees along which axes
POWER = re.compile(r"\^\{(−?[\d.]+)\}")
RAISED = str.maketrans("0123456789−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
UPSTREAM = rf"\frac{{\partial L}}{{\partial {ITSELF}}}"


def rules_of(record: Record) -> tuple[str, ...]:
    """The rule of each operand; empty where it has no rule.

    >>> import autoflow as af
    >>> W, h = af.Variable(np.ones((2, 3))), af.Variable(np.ones((4, 2)))
    >>> rules_of((h @ W).grad_fn)
    ('g ②ᵀ', '①ᵀ g')
    >>> rules_of(np.tanh(h).grad_fn), rules_of(np.maximum(h, 0.0).grad_fn)
    (('g ⊙ (1 − ●²)',), ('g where ① > ② (100 %)', ''))
    """
    count, kinds = len(record.parents), {getattr(x, "dtype", np.dtype(float)).kind for x in (*record.operands, record)}
    if not math.prod(record.shape) or "c" in kinds:  # of complex numbers much is conjugated
        return ("",) * count
    try:
        name = record.rule.name if is_ours(record.rule) else ""
        if name in CHOICES:
            texts = tuple([choice(record, slot, text) for slot, text in enumerate(CHOICES[name])])
        else:
            texts = WORDS.get(name, derived)(record)
        texts = tuple([text if parent is not None and len(text) <= LONGEST else ""
                       for text, parent in zip(texts, record.parents, strict=True)])  # fmt: skip
    except Exception:  # an error in a user's rule does not spoil the picture
        return ("",) * count
    return tuple([mention_sum(text, record, slot) for slot, text in enumerate(texts)])


def is_ours(rule: Any) -> bool:
    """Is it a row for a function of NumPy's or of ours? A user's may have any name."""
    return str(getattr(rule.function, "__module__", "numpy")).partition(".")[0] in ("numpy", "autoflow")


def mention_sum(text: str, record: Record, slot: int) -> str:
    """The rule of an operand that was broadcast: its contribution is summed."""
    if text in ("", "0") or not record.rule.elementwise or record.operands[slot].shape == record.shape:
        return text
    times = math.prod(record.shape) // max(1, math.prod(record.operands[slot].shape))
    return f"{text}, summed over {times}" if times > 1 else text


# ---------------------------------------------------------------- what chooses elements, multiplies matrices, moves


CHOICES = {  # row -> when the gradient goes to each operand
    "maximum": ("① > ②", "② > ①"), "fmax": ("① > ②", "② > ①"), "minimum": ("① < ②", "② < ①"),
    "fmin": ("① < ②", "② < ①"), "relu": ("① > 0",), "where": ("", "①", "not ①"),
    "clip": ("② ≤ ① ≤ ③", "① < ②", "① > ③"),
}  # fmt: skip


def choice(record: Record, slot: int, when: str) -> str:
    """``g where ① > ② (62 %)``: with the share that passes."""
    if record.parents[slot] is None:
        return ""
    part = np.asarray(record(np.ones(record.shape, record.dtype))[slot])
    ties = bool((part == 0.5).any())
    if record.rule.residual and part.shape != record.shape:
        return ""  # nobody knows how many halves are in a sum
    bounds = [x is not None for x in record.operands[1:]]
    if record.rule.name == "clip" and all(bounds) and not np.all(np.less_equal(*record.saved[1:3])):
        return ""  # bounds in the wrong order need no explanation
    if record.rule.name == "clip" and slot == 0:
        when = when[0 if bounds[0] else 4 : len(when) if bounds[1] else -4]
    share = 100 * float(part.sum(dtype=float)) / math.prod(record.shape)
    percentage = f"{share:.0f}" if 1 <= share <= 99 or share in (0, 100) else "< 1" if share < 1 else "> 99"
    return f"g where {when} ({percentage} %)" + ", half where =" * ties


VECTORS = {(1, 1): ("g ②", "g ①"), (2, 1): ("g ⊗ ②", "①ᵀ g"), (1, 2): ("② g", "① ⊗ g")}


def product(record: Record) -> tuple[str, ...]:
    """A product of matrices, vectors, or stacks of matrices."""
    x, y = shapes = [np.shape(operand) for operand in record.operands]
    if not (x and y):
        sums = [f", summed over {math.prod(record.shape)}" if record.shape and not shape else "" for shape in shapes]
        return f"g ⊙ ②{sums[0]}", f"g ⊙ ①{sums[1]}"
    if min(len(x), len(y)) == 1 or (max(len(x), len(y)) > 2 and record.rule.name != "matmul"):
        return VECTORS.get((len(x), len(y)), ("", ""))
    stacks = [math.prod(shape[:-2]) for shape in (*shapes, record.shape)]
    sums = [f", summed over {stacks[2] // n}" if n and stacks[2] > n else "" for n in stacks]
    return f"g ②ᵀ{sums[0]}", f"①ᵀ g{sums[1]}"


def einsum(record: Record) -> tuple[str, ...]:
    """An einsum again, with the operand's letters and those of the result exchanged."""
    inputs, _, out = record.options["letters"].partition("->")
    terms, texts = inputs.split(","), []
    axes = set(zip("".join(terms), [n for x in record.operands for n in np.shape(x)], strict=True))
    are_distinct = len({c for c, _ in axes}) == len(axes)  # no axis of length 1 that is broadcast
    for k, own in enumerate(terms):
        others = [term for j, term in enumerate(terms) if j != k]
        alone = "".join([c for c in own if c not in "".join([out, *others])])
        names = ", ".join(["g", *[CIRCLED[j] for j in range(len(terms)) if j != k]])
        shared = "".join([c for c in own if c not in alone])
        text = f"einsum {','.join([out, *others])}→{shared} of {names}" if others or out != shared else "g"
        texts.append(f"{text}{', stretched' * bool(alone)}" if are_distinct and len(set(own)) == len(own) else "")
    return tuple(texts)


def place_text(i: object) -> str:
    """An index in brackets."""
    return f"[{clip(index(i), 16)}]"


def item(record: Record) -> tuple[str, ...]:
    """A part of an array."""
    i = record.options["i"]
    return (f"g at {place_text(i)}, else 0" if is_basic(i) else f"g added at {place_text(i)}",)


def put(record: Record) -> tuple[str, ...]:
    """A part of an array that was written."""
    i, y = record.options["i"], record.operands[1]
    times = math.prod(np.empty(record.shape)[i].shape) // max(1, math.prod(np.shape(y))) if is_basic(i) else 0
    summed = f", summed over {times}" if times > 1 else ""
    return f"g, 0 at {place_text(i)}", f"g{place_text(i)}{summed}" if times else ""


def joined(record: Record) -> tuple[str, ...]:
    """A part of what arrays were joined to."""
    axis = record.options["axis"]
    if axis is None:
        return ("",) * len(record.operands)
    before = ":, " * (axis % len(record.shape))
    if record.rule.name == "stack":
        return tuple([f"g[{before}{k}]" for k in range(len(record.operands))])
    places = accumulate([np.shape(x)[axis] for x in record.operands], initial=0)
    return tuple([f"g[{before}{a}:{b}]" for a, b in pairwise(places)])


def largest(record: Record) -> tuple[str, ...]:
    """Where the maxima are."""
    units = np.asarray(record(np.ones(record.shape, record.dtype))[0])
    usual = record.options["initial"] is None and record.options["where"] is None
    return ("g where ① = ●" + ", shared" * bool(((units > 0) & (units < 1)).any()) if usual else "",)


def spread(record: Record) -> tuple[str, ...]:
    """Each element of a sum has the same part in it."""
    if record.options.get("where") is not None:
        return ("",)
    count = math.prod(np.shape(record.operands[0])) // max(1, math.prod(record.shape))
    return (f"g / {count}, stretched" if record.rule.name == "mean" else "g, stretched",)


def turned(record: Record) -> tuple[str, ...]:
    """Axes in another order."""
    rank, axes = len(record.shape), record.options.get("axes")
    return ("gᵀ" if rank == 2 and not axes else "g, moved back" if rank > 1 else "g",)


MOVED = ("swapaxes", "moveaxis", "rollaxis", "flip", "fliplr", "flipud", "rot90", "roll", "sort")
WORDS: dict[str, Callable[[Any], tuple[str, ...]]] = {
    "matmul": product, "dot": product, "einsum": einsum, "getitem": item, "setitem": put, "concatenate": joined,
    "stack": joined, "max": largest, "min": largest, "sum": spread, "mean": spread, "transpose": turned,
    "matrix_transpose": turned, "solve_triangular": lambda _: ("", ""), "cumsum": lambda _: ("g, summed from behind",),
    **dict.fromkeys(("reshape", "ravel", "flatten", "squeeze", "expand_dims"), lambda _: ("g, reshaped",)),
    **dict.fromkeys(MOVED, lambda _: ("g, moved back",)), **dict.fromkeys(("copy", "astype"), lambda _: ("g",)),
    **dict.fromkeys(("repeat", "tile"), lambda _: ("g, copies added",)),
}  # fmt: skip


# ---------------------------------------------------------------- formulas, from the derivative itself


def derived(record: Record) -> tuple[str, ...]:
    """The derivative as a text, with signs for the operands; each row is run once for each kind of call."""
    shapes, flows = [np.shape(x) for x in record.operands], [parent is not None for parent in record.parents]
    if len(shapes) > len(CIRCLED):
        return ("",) * len(shapes)
    sizes = [len(shape) for shape in shapes] if record.rule.elementwise else shapes
    plain = [x for x, shape, flowing in zip(record.operands, shapes, flows, strict=True) if not (flowing or shape)]
    key = record.rule, str([sizes, flows, plain, record.options, record.shape == ()])
    if key not in KNOWN:
        KNOWN[key] = derive_rules(record)
    return KNOWN[key]


def derive_rules(record: Record) -> tuple[str, ...]:
    """The rules; nothing for an operand whose rule depends on the values."""
    operands = [Term(sign) for sign in CIRCLED[: len(record.parents)]]
    number, titles = local_is_a_number(record), Titles()
    titles.given[id(record)] = ITSELF
    if not (number and record.rule.elementwise) or record.rule.compute is None:
        rows = [local_terms(record, titles, operands)]
    else:
        with np.errstate(all="ignore"):
            rows = [one_run(record, sample_operands(record, pair), operands, RESULT, titles) for pair in VALUES]
    texts = [["" if term is None else written(term, number) for term in terms] for terms in rows]
    return tuple([row[0] if len(set(row)) == 1 else "" for row in zip(*texts, strict=True)])


def sample_operands(record: Record, pair: tuple[float, float]) -> list[Any]:
    """Numbers for the operands; plain numbers keep theirs."""
    values = []
    for slot, (x, parent) in enumerate(zip(record.operands, record.parents, strict=True)):
        keeps = parent is None and not getattr(x, "shape", ())
        dtype = record.dtype if record.dtype.kind in "fc" else np.float64
        values.append(x if keeps else np.asarray(pair[slot % 2], dtype)[()])
    return values


def written(term: Term, number: bool) -> str:
    """A term in plain letters, times g where it is a derivative; empty if plain letters do not do."""
    text = re.sub(r"\\math(?:bf|rm)\{([^{}]*)\}", r"\1", term.text)
    text = text.replace(UPSTREAM, "g")
    text = FUNCTION.sub(lambda m: (m[2] or m[1]) + " ", text)
    for sign, letter in SIGNS.items():
        text = text.replace(sign, letter)
    text = POWER.sub(lambda m: m[1].translate(RAISED) if "." not in m[1] else f"^({m[1]})", text)
    text = FRACTION.sub(divide, text)
    text = re.sub(r" +", " ", re.sub(r"\((g)\)", r"\1", text)).strip()
    text = re.sub(r"(?<=\d) · (?=[①-⑫●])", " ", text)
    text = re.sub(r"^\(?([^()]*)\)?↗$", r"\1, stretched", text)
    words = set(re.findall(r"[A-Za-zα-ωΑ-Ω]+", text))
    if words - READ or STRANGE.search(text) or len(text) > LONGEST or (not number and CONTRACTED.search(text)):
        return ""
    if not number or text == "0":
        return text
    if text in ("1", "−1"):
        return "g" if text == "1" else "−g"
    if text.startswith("1 / ") and " " not in text[4:]:
        return f"g / {text[4:]}"
    if re.fullmatch(r"[0-9.…]+", text):
        return f"{text} g"
    return f"g ⊙ ({text})" if " " in text else f"g ⊙ {text}"


def divide(fraction: re.Match[str]) -> str:
    """A fraction in a line; in parentheses behind a function."""
    parts = [f"({part})" if " " in part.strip() else part for part in fraction.groups()[1:]]  # or read otherwise
    text = " / ".join(parts)
    return f"{fraction[1]}({text})" if fraction[1] else text
