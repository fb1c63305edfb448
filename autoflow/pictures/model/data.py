"""A picture as plain data, which every renderer reads and none changes.

:class:`Numbers` are what a picture needs of an array: few, plain, and made once. A :class:`GraphData` has them, and
cards, arrows and boxes. Neither holds an array or a node: the picture does not change while the program continues, two
equal programs give equal data, it can be pickled, and it keeps no memory. :mod:`~..walk` makes it; the modules of
``render`` and ``pages`` turn it into files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ...base.types import Array as Array, DTypeLike

# ---------------------------------------------------------------- numbers: what a picture needs of an array

FEW_NUMBERS = 6  # arrays of at most this many elements are printed in full
LEAST_SIDE, MOST_SIDE = 4, 16  # rows and columns of a matrix that is drawn as an image, and cells of the image
LEVELS = 6  # of one sign in an image
NOISE = "≈ 0"
LEAST = 0.02  # of a part of a sum may get lost in its rounding


@dataclass(frozen=True, slots=True)
class Image:
    """A matrix as an image of few cells: from −6 to 6 sixths of ``top``, or None where something is not finite.

    Each cell of a larger matrix has the element of a block that is furthest from zero, so none is overlooked.
    """

    levels: tuple[tuple[int | None, ...], ...]
    top: float  # the largest magnitude
    range: tuple[int, int]  # the ends of its scale: zero, where all numbers have the other sign


def image_of(array: object) -> Image | None:
    """The image of a matrix with at least four rows and columns, in which something is not zero; else None.

    >>> image_of(np.diag([1.0, 2.0, 3.0, -6.0])).levels[3]
    (0, 0, 0, -6)
    """
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        return None
    if array.ndim != 2 or min(array.shape) < LEAST_SIDE:
        return None
    finite = np.isfinite(array)
    wide = np.where(finite, array, 0).astype(np.float64)
    starts = [np.arange(0, n, -(-n // MOST_SIDE)) for n in array.shape]

    def reduce(f: np.ufunc, x: Array) -> Any:
        return f.reduceat(f.reduceat(x, starts[0], axis=0), starts[1], axis=1)

    high, low = reduce(np.maximum, wide), reduce(np.minimum, wide)
    extreme = np.where(high >= -low, high, low)
    if not (top := float(abs(extreme).max())):
        return None
    levels = np.rint(extreme / top * LEVELS).astype(int)
    is_finite = reduce(np.minimum, finite.astype(int))
    rows = zip(levels.tolist(), is_finite.tolist(), strict=True)
    cells = tuple([tuple([x if k else None for x, k in zip(*row, strict=True)]) for row in rows])
    return Image(cells, top, (-LEVELS * bool(low.min() < 0), LEVELS * bool(high.max() > 0)))


@dataclass(frozen=True, slots=True)
class Numbers:
    """A summary of the values, or a gradient, of one node.

    ``elements`` in C order if there are at most six; else ``mean`` and ``sd`` of the finite ones. ``rms`` is the root
    mean square, used to compare gradients. All are None if the values were not ``kept``.
    """

    shape: tuple[int, ...]
    dtype: str
    kept: bool = False
    elements: tuple[Any, ...] | None = None
    mean: float | complex | None = None
    sd: float | None = None
    rms: float | None = None
    nans: int = 0
    infinite: int = 0
    noise: float = 0.0  # amounts up to that are what rounding has left of larger ones that cancel
    image: Image | None = None  # of a matrix that may be drawn as one

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    @property
    def scalar(self) -> bool:
        """Is it one number, without axes?"""
        return self.shape == ()

    def text(self, digits: int) -> str:
        """The values: ``8.417``, ``[1, 2.5]``, ``0.029 ± 1.4``, or "not kept".

        >>> numbers(np.array([1.0, 2.5])).text(4)
        '[1, 2.5]'
        """
        if not self.kept:
            return "not kept" if self.size else "no numbers"
        if self.rms and self.rms <= self.noise:
            return NOISE
        if self.elements:
            say = self.word if self.noise else number  # most have no noise: a call less for each
            return nest_words([say(v, digits) for v in self.elements], self.shape)
        if not self.size:
            return "empty"
        if self.mean is None:
            return "no finite value" if self.nans or self.infinite else "not numbers"
        return f"{number(self.mean, digits)} ± {number(self.sd or 0.0, digits)}"

    def word(self, v: float, digits: int) -> str:
        """One of its elements."""
        return NOISE if self.noise and 0 < abs(v) <= self.noise else number(v, digits)

    def magnitude(self, digits: int) -> str:
        """One number for how large it is: the number itself, or the root mean square."""
        return self.text(digits) if self.scalar or self.rms is None else self.word(self.rms, digits)

    def flags(self) -> str:
        """``3 NaN, 1 infinite``; the empty string if all are finite, or for a single number, which shows it itself."""
        words = [f"{self.nans} NaN"] if self.nans else []
        words += [f"{self.infinite} infinite"] if self.infinite else []
        return ", ".join(words)

    def blocks(self) -> int:
        """How many of six blocks: all for a root mean square of 1 and more, one less per factor of ten."""
        if not self.rms or math.isnan(self.rms) or self.rms <= self.noise:
            return 0
        return 6 if self.rms >= 1 else min(6, max(0, round(6 + math.log10(self.rms))))

    def shape_text(self) -> str:
        """``32 × 128``, ``(128,)``, and the dtype if it is not float64."""
        text = " × ".join(map(str, self.shape)) if len(self.shape) > 1 else str(self.shape) if self.shape else ""
        return text if self.dtype == "float64" else f"{text} {self.dtype}".strip()


@dataclass(frozen=True, slots=True)
class Placeholder(Numbers):
    """Words in the place of a number: a line to write on, a mark that a page replaces."""

    words: str = ""

    def text(self, digits: int) -> str:
        """The words."""
        return self.words


def numbers(array: Array | None, shape: tuple[int, ...] = (), dtype: DTypeLike = "float64") -> Numbers:
    """The summary of ``array``; ``shape`` and ``dtype`` describe an array that was not kept (None)."""
    if array is None:
        return Numbers(tuple(shape), str(dtype))
    array = array if hasattr(array, "dtype") and hasattr(array, "reshape") else np.asarray(array)
    shape, dtype = tuple(array.shape), str(array.dtype)
    if array.dtype.kind not in "fciub":
        return Numbers(shape, dtype, kept=True)
    if not array.size:
        return Numbers(shape, dtype, kept=True, elements=())
    kind = {"c": complex, "f": float, "b": bool}.get(array.dtype.kind, int)
    elements = tuple([kind(v) for v in array.reshape(-1).tolist()]) if array.size <= FEW_NUMBERS else None
    with np.errstate(all="ignore"):
        return Numbers(shape, dtype, True, elements, **_statistics(array))


def _statistics(array: Array) -> dict[str, Any]:
    """Mean, standard deviation and root mean square of the finite elements, summed in double precision."""
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    nans = infinite = 0
    if array.dtype.kind in "fc":
        finite = np.isfinite(array)
        if not bool(finite.all()):
            nans = int(np.isnan(array).sum())
            infinite = int(array.size) - int(finite.sum()) - nans
            array = array[finite]
    if not array.size:
        return {"nans": nans, "infinite": infinite}
    scaled = array.astype(wide)
    scale = float(abs(scaled).max()) or 1.0  # the squares of 1e200 would overflow
    scaled /= scale
    rms = scale * math.sqrt(float((abs(scaled) ** 2).mean()))
    mean = scale * scaled.mean().item()
    if array.dtype.kind in "fc" and abs(mean) < 64 * float(np.finfo(array.dtype).eps) * rms:
        mean = 0.0  # cancellation leaves rounding errors, which differ from machine to machine
    return {"mean": mean, "sd": scale * float(scaled.std()), "rms": rms, "nans": nans, "infinite": infinite}


EXACT, SHOWN = 6, 4  # digits of a number in a program that are written in full; else four and an ellipsis


def number(v: float | complex, digits: int | None) -> str:
    """``v`` with ``digits`` significant digits and a true minus sign; whole numbers below a million in full. None: as
    the program has it. Such a number is not rounded, but may be cut off.

    >>> number(-0.00001234, 4), number(1e7, 4), number(12345.0, 4), number(2 - 1j, 4)
    ('−1.234e−5', '1e7', '12345', '2 − 1j')
    >>> number(0.99999, 4), number(0.99999, None), number(2 / 3, None), number(-12345678.5, None)
    ('1', '0.99999', '0.6666…', '−1.234…e7')
    """
    if isinstance(v, bool):
        return str(v)
    if isinstance(v, complex):
        sign = "−" if v.imag < 0 or math.copysign(1, v.imag) < 0 else "+"
        return f"{number(v.real, digits)} {sign} {number(abs(v.imag), digits)}j"
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "∞" if v > 0 else "−∞"
    if v == int(v) and abs(v) < 10 ** (6 if isinstance(v, float) else 9):
        return str(int(v)).replace("-", "−")
    text, more = f"{v:.{EXACT if digits is None else max(1, digits)}g}", ""
    if digits is None and float(text) != v:
        first, _, power = f"{v:.16e}".partition("e")
        text, more = f"{float(first[: first.index('.') + SHOWN] + 'e' + power):#.{SHOWN}g}", "…"
    mantissa, e, exponent = text.partition("e")
    return (mantissa + more + (e + str(int(exponent)) if e else "")).replace("-", "−")


def pythons(x: object) -> Any:
    """One of NumPy's numbers as Python's; anything else itself.

    >>> pythons(np.float32(0.1)), pythons(np.array(True)), pythons(None)
    (0.1, True, None)
    """
    x = np.asarray(x)[()] if hasattr(x, "dtype") else x
    return float(str(x)) if isinstance(x, np.floating) else x.item() if isinstance(x, np.generic) else x


def counted(n: int, word: str) -> str:
    """``1 card``, ``1,200 cards``."""
    return f"{n:,} {word}{'s' * (n != 1)}"


def nest_words(words: list[str], shape: tuple[int, ...]) -> str:
    """Words in the brackets of an array.

    >>> nest_words(["1", "2", "3", "4"], (2, 2))
    '[[1, 2], [3, 4]]'
    """
    for n in reversed(shape):
        words = ["[" + ", ".join(words[i : i + n]) + "]" for i in range(0, len(words), n)]
    return words[0]


def add_up(parts: Sequence[Numbers], total: Numbers, digits: int) -> tuple[list[str], str, str]:
    """Parts and their total as texts, and the sign between them: = where what is printed adds up, with up to two digits
    more if that helps; else ≈; none before a total that is rounding noise.

    >>> add_up([numbers(155.64), numbers(-123.26)], numbers(32.38), 4)
    (['155.64', '−123.26'], '=', '32.38')
    >>> add_up([numbers(1 / 3)] * 3, numbers(1.0), 4)
    (['0.3333', '0.3333', '0.3333'], '≈', '1')
    """
    words, whole = [p.text(digits) for p in parts], total.text(digits)
    real = [v for x in (total, *parts) for v in x.elements or (math.nan,) if isinstance(v, (int, float))]
    plain = all([type(x) is Numbers and x.shape == total.shape for x in (total, *parts)])  # no lines to write on
    size = len(total.elements or ()) if plain else 0
    if not size or whole == NOISE or len(real) < size * (1 + len(parts)) or not all(map(math.isfinite, real)):
        return words, "" if whole == NOISE else "=", whole
    for more in range(3):
        columns = [column(total, [p.elements[k] for p in parts if p.elements], k, digits + more) for k in range(size)]
        if all(columns):
            whole, *words = [nest_words([*row], total.shape) for row in zip(*columns, strict=True)]
            return words, "=", whole
    return words, "≈", whole


def column(total: Numbers, values: Sequence[float], k: int, digits: int) -> list[str]:
    """An element of the total, and of what it is the sum of, as texts that add up; empty if they do not."""
    whole = total.elements[k] if total.elements else 0.0
    total_text, words = total.word(whole, digits), [number(v, digits) for v in values]
    if total_text == NOISE:
        return [total_text, *words]
    if not any(["e" in word for word in (total_text, *words)]):
        exact = float(exactly(total_text)) == whole
        places = max([len(word.partition(".")[2]) for word in (words if exact else [total_text])])
        words = [f"{v + 0.0:.{places}f}".replace("-", "−") for v in values]
        words = [word.rstrip("0").rstrip(".") if places else word for word in words]
    lost = [abs(float(exactly(word)) - v) > LEAST * abs(v) for v, word in zip(values, words, strict=True)]
    return [] if any(lost) or sum(map(exactly, words)) != exactly(total_text) else [total_text, *words]


def exactly(word: str) -> Fraction:
    """The printed number. (Sums of ``decimal`` would be those of the user's context.)"""
    return Fraction(word.replace("−", "-"))


def signed_sum(parts: Sequence[tuple[str, str]]) -> str:
    """Amounts with words behind each: ``5.35 (through a1) − 0.54 (through a4)``."""
    text = ""
    for amount, words in parts:
        minus = text and amount.startswith("−")
        text += (" − " if minus else " + ") * bool(text) + (amount[1:] if minus else amount) + words
    return text


# ---------------------------------------------------------------- cards, arrows and boxes


ALIKE = 6  # equal parts beside each other that are all drawn
FEW = 40  # cards above which boxes fold by themselves, and which are left if there are boxes enough
ROWS = 12  # operands of one operation that get a row of their own
CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫"  # their numbers, which stand for them in rules: names of a program cannot be like these,
BRIEF = re.compile(r"(?!(g|array)$)\w{1,6}|\d\.\d{1,4}")  # their replacements
ITSELF = "●"  # nor like the sign of the result


@dataclass(frozen=True, slots=True)
class Operand:
    """One argument of an operation: a row of its card."""

    slot: int  # its place among the operands
    title: str
    source: int | None = None  # the Vertex it comes from; None if that is not drawn
    flows: bool = False  # does a gradient flow back to it?
    local: Numbers | None = None  # d(result)/d(operand), of numbers
    sent: Numbers | None = None  # the contribution sent back: the gradient times this number
    note: str = ""  # "no gradient", "broadcast × 32"
    rule: str = ""  # for arrays: the rule of the contribution sent back, "g ②ᵀ"
    result: int | None = None  # in what is drawn: which of several results of its source


@dataclass(frozen=True, slots=True)
class Fold:
    """The contents of a folded box."""

    what: str  # the operations in a few words
    variables: int
    operations: int
    parameters: int  # numbers in the Variables
    exits: int = 0  # how many values leave it
    box: int = -1  # the number of the box
    sequence: bool = False  # is it between the first and the last of equal parts?
    told: tuple[str, ...] = ()  # of equal parts: which they are, whether they share their Variables

    def text(self) -> str:
        """``matmul, add · 8,320 parameters``."""
        return " · ".join([text for text in (self.what, self.count_text()) if text])

    def count_text(self) -> str:
        """``8,320 parameters``; empty without parameters."""
        return counted(self.parameters, "parameter") if self.parameters else ""

    def content(self) -> list[str]:
        """``["1 operation", "2 Variables"]``."""
        kinds = [(self.operations, "operation"), (self.variables, "Variable")]
        return [counted(n, word) for n, word in kinds if n]


@dataclass(frozen=True, slots=True)
class Frame:
    """An open box around nodes: those whose ``entered`` begins with ``path``."""

    path: tuple[int, ...]
    title: str
    fold: Fold
    sequence: bool = False  # are its parts equal, one after another in time?


@dataclass(frozen=True, slots=True)
class Several:
    """Nodes that are one function with several results (ids)."""

    word: str  # the function
    title: str
    call: int | None  # the node of the function; None if only its results were recorded: ``split``
    results: tuple[int, ...]
    inside: tuple[int, ...] = ()  # nodes between call and results, and others that are not drawn
    source: int | None = None  # what was split


@dataclass(frozen=True, slots=True)
class Vertex:
    """One node of the picture."""

    id: int  # from 0, in the order of creation
    kind: str  # Variable, Constant or Operation; in what is drawn also Scope, a folded box
    title: str
    name: str  # the node's own name
    word: str  # the operation in words, or the kind
    value: Numbers
    gradient: Numbers | None = None
    parts: tuple[Numbers, ...] = ()  # whose sum the gradient is, if there are several
    of_parts: int = 0  # how many there are in all
    operands: tuple[Operand, ...] = ()  # of those without a row the ones that are drawn: their arrows end at one line
    more_operands: int = 0  # operands without a row of their own
    output: bool = False
    notes: tuple[str, ...] = ()
    named: bool = False  # has it a name of its own, or is the title how it was computed?
    scope: tuple[str, ...] = ()  # the names of the boxes around it, the outermost first
    entered: tuple[int, ...] = ()  # and their numbers: equal names may be different boxes
    place: tuple[Any, ...] | None = None  # where in the program: file, lines, columns, text (a Place as plain data)
    members: tuple[int, ...] = ()  # in what is drawn: the ids of the recorded nodes that it represents
    fold: Fold | None = None  # of a folded box
    equals: int | None = None  # the id of the node that this one is 1 times of; not drawn then
    write: str = ""  # the statement that writes it into an array: "f[1:] −= …"
    goes_on: bool = False  # with the execution of its expression that another node began: the terms of sum(...)
    results: tuple[Vertex, ...] = ()  # in what is drawn: of a function with several
    kept: int = 0  # bytes that it keeps for the way back, and no earlier one does
    turns: tuple[str, ...] = ()  # of the loops around it, the outermost first: "t = 2, iteration 3 of 5"

    def carried(self, result: int | None) -> Vertex:
        """The value that an arrow from here carries: that result, or the only one."""
        return self if result is None or result >= len(self.results) else self.results[result]

    @property
    def several(self) -> str:
        """``2 results``."""
        return counted(len(self.results), "result")

    @property
    def rows(self) -> tuple[Operand, ...]:
        """The operands that have a row."""
        return self.operands[:ROWS] if self.more_operands else self.operands

    @property
    def left_out(self) -> str:
        """``… 3 more operands``; empty if each has a row of its own."""
        return f"… {counted(self.more_operands, 'more operand')}" if self.more_operands else ""

    @property
    def said(self) -> str:
        """The part of the operation that the title does not show: nothing for ``sin(a2)``, the axis for ``sum``."""
        if self.write:
            return self.write
        if self.word.startswith("getitem ") and self.title.endswith(self.word[8:]):
            return ""
        name, _, more = self.word.partition(", ")
        return more if self.title == name else "" if self.title.startswith(self.word + "(") else self.word


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow, along which values go forward and gradients back. ``x*x`` has two."""

    source: int
    target: int
    slot: int  # the place among the target's operands
    flows: bool  # does a gradient flow back?
    local: Numbers | None
    sent: Numbers | None
    result: int | None = None  # which of several results of the source


@dataclass(frozen=True, slots=True)
class Look:
    """How to draw it: what the arguments of ``node.graph()`` were decided to be."""

    detail: str
    direction: str
    legend: bool
    theme: str
    engine: str
    digits: int
    merge: bool = True  # draw chains of + or of * as one card
    fold: bool = True  # may boxes fold by themselves?
    depth: int | None = None  # boxes deeper than that are folded
    open: tuple[str, ...] = ()  # names of boxes that stay open
    alike: int = ALIKE  # equal parts beside each other that are all drawn; of more the first and the last
    few: int = FEW  # cards above which boxes fold by themselves
    closed: tuple[int, ...] | None = None  # the numbers of the folded boxes, which a reader of the page clicked
    images: bool = False  # are matrices drawn as images?
    compact: bool | None = False  # cards without values, since the picture would be large; None: where that helps


@dataclass(frozen=True)
class GraphData:
    """How values were computed and how gradients flow back. Users have it as a :class:`~..walk.Graph`."""

    nodes: tuple[Vertex, ...]
    outputs: tuple[int, ...]
    title: str  # of the output, as gradients name it: a5 in ∂a5/∂x
    gradients: bool
    notes: tuple[str, ...]  # notes for the reader: what is hidden, why there are no gradients
    look: Look
    frames: tuple[Frame, ...] = ()  # open boxes, of what is drawn
    faded: tuple[int, ...] = ()  # ids of nodes outside the highlighted part
    hidden: int = 0  # recorded nodes that are not in it
    rules: tuple[tuple[int, str], ...] = ()  # of a lesson: local derivatives in LaTeX, each with its operation's id
    view: bool = False  # is this the drawn graph (True), or the recorded one?
    several: tuple[Several, ...] = ()  # which nodes are one function with several results
    told: dict[int, str] = field(default_factory=dict)  # of calls and loops: how many turns a loop had
    objects: dict[int, str] = field(default_factory=dict)  # of calls: the path of the object

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All arrows, in the order of their ends' creation and of operands."""
        return tuple([
            Edge(row.source, node.id, row.slot, row.flows, row.local, row.sent, row.result)
            for node in self.nodes for row in node.operands if row.source is not None
        ])  # fmt: skip

    def rule(self, node: Vertex, row: Operand) -> str:
        """The rule of the contribution sent back to an operand, with short names instead of signs: ``g Wᵀ``."""
        used: dict[str, tuple[Any, str]] = {ITSELF: (None, node.title if node.named and not node.results else "")}
        for r in node.rows[: len(CIRCLED)]:
            source = None if r.source is None else self.nodes[r.source]
            named = not r.flows if source is None else source.named or not (source.operands or source.fold)
            used[CIRCLED[r.slot]] = (r.source, r.result), r.title if named else ""
        all_names = [name for _, name in set(used.values())]
        names = {sign: name for sign, (_, name) in used.items() if BRIEF.fullmatch(name) and all_names.count(name) == 1}
        return "".join([names.get(c, c) for c in row.rule])

    def partial(self, node: Vertex) -> str:
        """The name of the gradient of ``node``: ``∂a5/∂x``, or just "gradient" where names are long."""
        text = f"∂{self.title}/∂{node.title}"
        named = self.called and (node.named or node.kind != "Operation")
        fits = len(text) <= 16 and (node.title + self.title).replace("_", "").isalnum()
        return text if named and fits else "gradient"

    @cached_property
    def called(self) -> bool:
        """Do the outputs have names? (Without one, the title is the expression.)"""
        return all([self.nodes[k].named or self.nodes[k].kind != "Operation" for k in self.outputs])


Picture = TypeVar("Picture", bound=GraphData)  # the same type goes in and out: data, or the users' facade


def on_paper(graph: Picture) -> Picture:
    """The picture for a file or a film, which has no reader whose screen its theme could follow: paper is light."""
    return replace(graph, look=replace(graph.look, theme="light")) if graph.look.theme == "auto" else graph
