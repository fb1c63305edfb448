"""Titles of the nodes of a picture, found when it is drawn and stored nowhere; and nodes that are drawn as one.

Products with 1 are not in the user's formula: the backward pass begins with ones, and multiplies them. The picture of a
gradient has a card for each operation of that pass. ``1*cos(x)`` is ``cos(x)``: such a product is called like its other
factor, and is not drawn. What has a name is drawn.

Functions with several results: which recorded operations are one function, and which of them are its results.

    q, r = np.linalg.qr(x)     recorded as qr (all results side by side), getitem [..., a:b] for each, reshape
    p, q = PQ.apply(a, b)      an af.Function: recorded as PQ (which has no value) and a "part" for each result
    a, b = np.split(x, 2)      recorded as x[0:n], x[n:2*n]
    a, b = np.unstack(x)       recorded as moveaxis, x[0], x[1]

A picture draws each of them as one card with a row per result. (Both kinds: :mod:`~..folding.results`.)

The title of a node is the name it was given; else what the program calls it (:mod:`autoflow.program.names`), or, where
the program's text is not known, the variable that holds it; else how it was computed, if that is short (``a1**2``,
``sin(a2)``); else the same with dots for long parts (``… @ W``), or the bare operation. Never an automatic number
(``add_0``).
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from ...base.groups import grouped
from ...nodes.nodes import Constant, Node
from ...nodes.records import Record
from ...nodes.versions import FreedArray
from ...program.names import Naming, space_of
from ...program.places import is_passed, variables_of
from ...program.source import MODULES, written
from .data import number, pythons
from .style import clean, clip

# ---------------------------------------------------------------- products with 1

LOOKED = 100_000  # elements of an array that are compared with 1


def other_factor(record: Record) -> int | None:
    """The operand that ``record`` is equal to, as it is that times 1; None if it is something else.

    >>> import autoflow as af
    >>> x = af.Variable([2.0, 3.0], name="x")
    >>> other_factor((1.0 * x).grad_fn), other_factor((x * np.ones(2)).grad_fn), other_factor((x * 2).grad_fn)
    (1, 0, None)
    """
    flows = [parent is not None for parent in record.parents]
    if record.rule.name != "multiply" or len(flows) != 2 or sum(flows) != 1 or record.options:
        return None
    slot, operands = flows.index(True), record.operands
    x = operands[slot]
    return slot if (x.shape, x.dtype) == (record.shape, record.dtype) and is_one(operands[1 - slot]) else None


def is_one(x: Any) -> bool:
    """Is it 1, or an array of ones?"""
    value = x.value if isinstance(x, Constant) else x
    is_plain = isinstance(value, (int, float, np.ndarray, np.generic)) and not isinstance(value, bool)
    if not is_plain or not 0 < np.size(value) <= LOOKED:
        return False
    return bool(np.ravel(value)[0] == 1 and np.all(value == 1))  # the first element settles it for most arrays


# ---------------------------------------------------------------- functions with several results


# name of a row whose result is several packed ones (table/vjps.py) -> how many last axes each of these has
PACKED = {"eig": (1, 2), "eigh": (1, 2), "lstsq": (2, 1, 1, 1), "qr": (2, 2), "svd": (2, 1, 2)}
LEAST = 2  # parts of an array that are a split
SPLITS = frozenset({"split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"})


@dataclass(frozen=True, slots=True)
class Call:
    """A function with several results, in records."""

    word: str
    source: Any  # the record of the call, or the array that was split
    results: Sequence[Any]  # in order; results that nothing was computed from are not there
    inside: Sequence[Any] = ()  # records between the call and its results
    recorded: bool = True  # has the call a record of its own?


def packed_place(record: Record) -> tuple[Record, int, int] | None:
    """The call, the place and the axes of the result that ``record`` cuts out of all packed ones; None if it does
    not."""
    call = record.parents[0] if record.rule.name == "getitem" else None
    if call is None or not call.parents or call.rule.name not in PACKED:
        return None
    i, axes = record.options["i"], PACKED[call.rule.name]
    if not (isinstance(i, tuple) and len(i) == 2 and i[0] is Ellipsis and isinstance(i[1], slice)):
        return None
    middle = 1 if len(axes) == 3 else None
    place = 0 if i[1].start == 0 else len(axes) - 1 if i[1].stop == call.shape[-1] else middle
    return None if place is None else (call, place, axes[place])


def result_place(record: Record) -> tuple[Record, int] | None:
    """The call that ``record`` is a result of, and which one it is; None if it is not one.

    >>> import autoflow as af, numpy as np
    >>> w, v = np.linalg.eigh(af.Variable(np.eye(2)))
    >>> result_place(v.grad_fn)[1], result_place((v * 2).grad_fn)
    (1, None)
    """
    if record.rule.name == "part" and record.parents[0] is not None and hasattr(record.parents[0].rule, "joint"):
        return record.parents[0], record.options["i"]
    before = record.parents[0] if record.rule.name == "reshape" else record
    place = packed_place(before) if before is not None and before.parents else None
    return None if place is None or (place[2] == 1) != (before is record) else place[:2]


def calls_of(records: Iterable[Any], program: Naming) -> list[Call]:
    """The functions with several results among these records."""
    visible = set(records)
    in_order = sorted([r for r in visible if r.parents], key=lambda r: int(r.number))
    results = [(place, record) for record in in_order if (place := result_place(record)) and place[0] in visible]
    calls = []
    for call, parts in grouped([(call, (k, record)) for (call, k), record in results]).items():
        places = dict(parts)
        between = [r.parents[0] for r in places.values() if r.parents[0] is not call]
        calls.append(Call(call.rule.name, call, [places[k] for k in sorted(places)], between))
    return [*calls, *splits(in_order, visible, program)]


def splits(in_order: Sequence[Any], shown: set[Any], program: Naming) -> list[Call]:
    """Arrays that were split: what one call in the program, of ``np.split`` or its kin, has taken out of them."""
    pairs = [(r, program.expression(r)) for r in in_order if r.rule.name == "getitem" and r.parents[0] in shown]
    parts_of = grouped([((r.parents[0], id(r.place), r.last), r) for r, x in pairs
                     if x is not None and x.is_call and x.called in SPLITS])  # fmt: skip
    users = Counter([parent for record in in_order for parent in record.parents])
    calls = []
    for (source, *_), records in parts_of.items():
        for run in grouped([(r.number - k, r) for k, r in enumerate(records)]).values():  # of numbers without a gap
            moved = source.parents[0] if source.parents and source.rule.name == "moveaxis" else None
            if len(run) >= LEAST and not isinstance(run[0].options["i"], int):
                calls.append(Call("split", source, run, recorded=False))
            elif len(run) >= LEAST and moved in shown and users[source] == len(run):  # an axis came to the front for it
                calls.append(Call("unstack", moved, run, [source], recorded=False))
    return calls


# ---------------------------------------------------------------- titles


RUNNING = re.compile(r"(var|const)_\d+")
LEFT_OUT = "…"  # in an expression, for what is too long to be written there
LONGEST = 16  # characters of an expression that serves as a title
TITLE = 32  # characters of any title

# name of a row -> how Python writes it, and how strongly that binds
# fmt: off
FORMS = {
    "add": ("{} + {}", 1), "subtract": ("{} - {}", 1), "multiply": ("{}*{}", 2), "divide": ("{}/{}", 2),
    "matmul": ("{} @ {}", 2), "floor_divide": ("{}//{}", 2), "remainder": ("{} % {}", 2), "power": ("{}**{}", 4),
    "negative": ("-{}", 3), "positive": ("+{}", 3), "transpose": ("{}.T", 9), "matrix_transpose": ("{}.mT", 9),
}
# fmt: on
CLOSED = 9
STRENGTHS = {
    "Add": 1, "Sub": 1, "Mult": 2, "MatMult": 2, "Div": 2, "FloorDiv": 2, "Mod": 2, "USub": 3, "UAdd": 3, "Invert": 3,
    "Pow": 4,
}  # fmt: skip
DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")  # of names that were given again


def titles_of(nodes: Iterable[Any]) -> Titles:
    """The titles of a graph with these records and leaves, for a picture drawn now."""
    nodes = list(nodes)
    program = Naming(nodes)
    expressions = [x for x in program.expressions.values() if x is not None]
    return Titles(program, variables() if len(expressions) < len(nodes) else {})


def variables() -> dict[int, str]:
    """The names of the variables that hold nodes, in the notebook and in the user's frames, the outermost first: by the
    ids of leaves and records."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    spaces: list[Any] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        spaces += [] if is_passed(frame) else [variables_of(frame)]
        frame = frame.f_back
    names: dict[int, str] = {}
    for space in [*([] if shell is None else [shell.user_ns]), *reversed(spaces)]:
        for name, x in list(space.items()):
            if isinstance(x, Node) and name.isidentifier() and not name.startswith("_"):
                record = getattr(x, "grad_fn", None)  # arrays of our class made by NumPy have no history
                names.setdefault(id(x if record is None else record), name)
    return names


class Titles:
    """The titles of one picture. ``add`` operations with their operands first."""

    def __init__(self, program: Naming | None = None, variables: Mapping[int, str] = MappingProxyType({})) -> None:
        self.program = program or Naming(())  # what the program calls the nodes,
        self.variables = variables  # and the variables that hold them, where it is not known
        self.given: dict[int, str | None] = {}  # id -> the name, asked for once
        self.long: set[int] = set()  # ids of records whose expression is too long to be a part of another
        self.names = set(self.program.names.values())
        self.twice = {a for a, b in pairwise(sorted(self.program.names.values())) if a == b}  # in several calls
        self.letters: dict[int, dict[str, Any]] = {}  # id of a record -> name in its expression -> whose, and its space
        self.known: dict[int, str] = {}  # id -> expression
        self.terms: dict[Any, Any] = {}  # record -> the same in LaTeX; kept here by formulas,
        self.symbols: dict[str, dict[Any, int]] = {}  # with the name that a symbol is of, and what else has that name
        self.arrays: dict[str, list[Any]] = {}  # plain arrays by name
        self.outputs: set[int] = set()  # ids of records that are shown as they are

    def place_of_array(self, name: str, x: object) -> int:
        """Which of the plain arrays of that name it is, or is equal to."""
        arrays = self.arrays.setdefault(name, [])
        alike = [k for k, y in enumerate(arrays) if y is x or is_same(x, y)]
        arrays += [] if alike else [x]
        return [*alike, len(arrays) - 1][0]

    def add(self, record: Record) -> None:
        """Find the title of a record whose operands have theirs."""
        for slot, x in enumerate(record.operands):
            if isinstance(x, Constant) and x.shape and self.name(x) is None and id(x) not in self.known:
                text = self.program.operand(record, slot)  # as it is called where it is used first
                self.known.update({} if text is None else {id(x): text})
        name = self.name(record)
        if name is not None:
            self.known[id(record)] = name
            return
        same = self.times_one(record)
        if same is not None:
            self.known[id(record)] = self.term(record.operands[same])
            self.letters[id(record)] = self.letters.get(id(record.operands[same]), {})
            self.long |= {id(record)} if id(record.operands[same]) in self.long else set()
            return
        text = self.program.text(record) or ""
        if id(record) in self.program.calls and len(text) <= TITLE:
            self.known[id(record)] = as_title(text)
            self.letters[id(record)] = {text: (id(record), None)}
            return
        title, is_clear = self.expression(record), self.is_clear(record)
        title = title if is_clear else None
        if title is None and 0 < len(text) <= LONGEST and not self.is_of_others(record):
            title = as_title(text)
            here = {name: (id(record), space_of(record.place, name)) for name in re.findall(r"\b[^\W\d]\w*", title)}
            self.letters[id(record)] = here
        if title is None and is_clear and record.rule.name in (*FORMS, "getitem"):
            title = self.expression(record, brief=LONGEST) or self.expression(record, brief=LONGEST // 2)
        self.known[id(record)] = title or record.rule.name
        if title is None or is_cut(title):
            self.long.add(id(record))

    def is_of_others(self, record: Record) -> bool:
        """Has its expression in the program a name that another node of the picture has? A function calls something of
        its own ``x``, say."""
        for slot, x in enumerate(record.operands):
            text = self.program.operand_text(record, slot)
            is_part = text is None and getattr(x, "place", self) is record.place and x.last != record.last
            if self.is_of_others(x) if is_part else text in self.names and self.term(x) != text:
                return True
        return False

    def is_clear(self, record: Record) -> bool:
        """Is each name in its expression that of one node? In ``f(a) - f(b)`` a variable of f would be that of two, and
        outside of f nobody knows which of them it is."""
        pairs: list[tuple[str, Any]] = []
        for x in record.operands:
            name = self.known.get(id(x)) or self.given.get(id(x))
            if name and id(x) not in self.long:
                space = self.program.keys[id(x)][0] if id(x) in self.program.keys and name in self.twice else None
                pairs += self.letters.get(id(x), {name: (id(x), space)}).items()
        self.letters[id(record)] = letters = dict(pairs)
        is_here = [space is None or space == space_of(record.place, name) for name, (_, space) in pairs]
        return len({*pairs}) == len(letters) and all(is_here)

    def times_one(self, record: Record) -> int | None:
        """The operand that ``record`` is 1 times of, if none of all this has a name: such a product is not shown."""
        slot = None if id(record) in self.outputs or self.name(record) is not None else other_factor(record)
        return None if slot is None or self.name_of_operand(record, 1 - slot) is not None else slot

    def of(self, x: object) -> str:
        """The title of a record, a leaf or a plain value."""
        return clip(clean(self.term(x)), TITLE) or "(no name)"

    def of_operand(self, record: Record, slot: int) -> str:
        """The title of an operand."""
        return clip(clean(self.operand_term(record, slot)), TITLE) or "(no name)"

    def operand_term(self, record: Record, slot: int) -> str:
        """The same as a part of an expression."""
        text = self.name_of_operand(record, slot) if record.parents[slot] is None else None
        return self.term(record.operands[slot]) if text is None else text

    def name_of_operand(self, record: Record, slot: int) -> str | None:
        """The name of an operand to which nothing flows: its own, or for an array the expression where it is used, if
        that is short."""
        x: Any = record.operands[slot]
        if isinstance(x, Node) and (own := self.name(x)) is not None:
            return own
        shape: Any = getattr(x, "shape", ())
        name = self.program.operand(record, slot) if shape else None
        if name is None and shape:
            text = as_title(self.program.operand_source(record, slot) or "")
            name = text if 0 < len(text) <= LONGEST else None
        return name

    def index_of(self, record: Record) -> str:
        """What is in the brackets of ``x[i]``: its values; of arrays their names."""
        expr, place = self.program.expression(record), index(record.options["i"])
        is_item = expr is not None and isinstance(expr.node, ast.Subscript) and "array" in place
        if expr is None or not is_item:
            return place
        inside = expr.node.slice
        return ", ".join([as_title(written(x)) for x in (inside.elts if isinstance(inside, ast.Tuple) else [inside])])

    def term(self, x: Any) -> str:
        """The same as a part of an expression."""
        if id(x) in self.known:
            return self.known[id(x)]
        is_plain = not (isinstance(x, Node) or hasattr(x, "node_name"))
        name = None if is_plain else self.name(x)
        if is_plain or (not name and isinstance(x, Node) and x.name.startswith("const_")):
            return literal(x.value if isinstance(x, Node) else x)  # a number says more than its automatic name
        return name or str(x.node_name if hasattr(x, "node_name") else x.name)

    def name(self, x: Any) -> str | None:
        """The name that the user gave to ``x``, or has for it."""
        if id(x) not in self.given:
            name = str(x.node_name if hasattr(x, "node_name") else x.name)
            running = name == f"{x.rule.name}_{x.count}" if hasattr(x, "node_name") else RUNNING.fullmatch(name)
            if not running:
                self.given[id(x)] = name
            elif isinstance(x, Constant) and not x.shape:
                self.given[id(x)] = None  # a number says more than where it was made
            else:
                self.given[id(x)] = self.program.name(x) or self.variables.get(id(x))
        return self.given[id(x)]

    def expression(self, record: Record, brief: int = 0) -> str | None:
        """How it was computed, if that is short: ``sin(a2)``. ``brief``: with … for operands longer than that."""
        name, operands = record.rule.name, record.operands
        is_given = [x is not None for x in operands]  # a bound that np.clip was not given is written if it must be
        operands = operands[: is_given.count(True)]
        if len(operands) > 3 or not all(is_given[: len(operands)]):
            return None
        if result := result_place(record):
            call, place = result
            text = f"{self.term(call)}[{place}]"
            return text if len(text) <= LONGEST else f"{call.rule.name}(…)[{place}]"
        if not brief and any([id(x) in self.long for x in operands]):
            return None
        terms = [self.operand_term(record, slot) for slot in range(len(operands))]
        for slot, x in enumerate(operands):
            if id(x) in self.long or (brief and len(terms[slot]) > brief):
                text = self.program.operand_text(record, slot, exact=True) or ""  # as the program has it: self.w
                is_short = 0 < len(text) <= LONGEST // 2 and text not in self.names
                has_name = record.parents[slot] is not None or self.program.operand(record, slot) is not None
                terms[slot] = text if is_short else LEFT_OUT if has_name else self.term(x)
        if name in FORMS and len(terms) > 1 and all([text == LEFT_OUT for text in terms]):
            return None
        if name == "getitem":
            title = write_out(f"getitem [{self.index_of(record)}]", terms)
        elif extra := options(record):
            title = f"{name}({', '.join(terms + extra)})"
        else:
            title = write_out(name, terms)
        return title if len(title) <= LONGEST else None


@lru_cache(4096)
def as_title(text: str) -> str:
    """An expression of the program as :func:`write_out` writes it.

    >>> as_title("np.tanh(x@w+b) * v"), as_title("self.w [0]"), as_title("a layer's weight")
    ('tanh(x @ w + b)*v', 'self.w[0]', "a layer's weight")
    >>> as_title("model.linalg.layer(x)"), as_title("np.log(p+1e-9)")
    ('model.linalg.layer(x)', 'log(p + 1e-9)')
    """
    try:
        spaced = written(ast.parse(text.strip(), mode="eval"))
    except SyntaxError:
        return text
    spaced = spaced if '"' in spaced else re.sub(r"(?<=\de[-+])0", "", spaced)
    tight = re.sub(r" (\*\*?|//?) ", r"\1", spaced)
    return re.sub(rf"(?<![\w.])({'|'.join(MODULES)})\.(?:\w+\.)*(?=\w+\()", "", tight)


def _parenthesise(text: str, strength: int, place: int, name: str) -> str:
    """A term, in parentheses where Python would otherwise read something else."""
    binds = binding(text)
    tight = binds <= strength if (place == 1) != (name == "power") else binds < strength
    return f"({text})" if tight and binds < CLOSED else text


def write_out(name: str, titles: list[str]) -> str:
    """An operation of operands with these titles, as Python writes it.

    >>> write_out("multiply", ["x + y", "z"]), write_out("sin", ["a2"]), write_out("add", ["a", "b", "-c"])
    ('(x + y)*z', 'sin(a2)', 'a + b + -c')
    """
    form, strength = FORMS.get(name, ("", 0))
    if (form and form.count("{}") == len(titles)) or (name in ("add", "multiply") and len(titles) > 2):
        first, *others = [_parenthesise(title, strength, min(k, 1), name) for k, title in enumerate(titles)]
        return reduce(form.format, others, first) if others else form.format(first)
    if name.startswith("getitem [") and len(titles) == 1:
        return _parenthesise(titles[0], CLOSED, 0, name) + name.removeprefix("getitem ")
    return f"{name}({', '.join(titles)})"


@lru_cache(4096)
def binding(title: str) -> int:
    """How strongly the outermost sign of a title binds, 0 if weaker than +; a name or a call is closed, and what is not
    Python.

    >>> binding("x+y"), binding("-x"), binding("sin(x + y)"), binding("a layer's weight"), binding("x if b else y")
    (1, 3, 9, 9, 0)
    """
    if title.isidentifier():
        return CLOSED  # at once: most titles are names
    text = re.sub(r"(?<=\d)…", "", title).replace(LEFT_OUT, "_").translate(DIGITS)
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a name may be any text
        return CLOSED
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return STRENGTHS.get(type(node.op).__name__, 0)
    return 0 if isinstance(node, (ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda)) else CLOSED


def is_cut(title: str) -> bool:
    """Is something left out? (Digits of a number are not.)

    >>> is_cut("… @ W"), is_cut("w*0.3333…")
    (True, False)
    """
    return re.search(rf"(?<!\d){LEFT_OUT}", title) is not None


def is_same(a: Any, b: Any) -> bool:
    """Are two plain operands one array, or equal? (Small ones are copied when they are recorded.)"""
    x, y = [z.reference() if isinstance(z, FreedArray) else z for z in (a, b)]
    alike = type(x) is type(y) is np.ndarray and x.dtype == y.dtype
    return x is not None and (x is y or (alike and np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")))


def literal(x: object) -> str:
    """A plain value as a title: ``2``, ``0.5``, ``array``."""
    if isinstance(x, FreedArray) or getattr(x, "shape", ()) != ():
        return "array"
    x = pythons(x)
    return number(x, None).replace("−", "-") if isinstance(x, (float, int, complex)) else str(x)


def options(record: Record) -> list[str]:
    """The arguments that are not operands, where they differ from their defaults: ``["axis=0"]``.

    Those whose name begins with _ are for the backward pass alone (see ``extending/function.py``).
    """
    defaults = dict(zip(record.rule.names, record.rule.defaults, strict=False))  # rules set by users have no template
    public = {k: v for k, v in record.options.items() if not k.startswith("_")}
    return [f"{k}={brief(v)}" for k, v in public.items() if not _same(v, defaults.get(k))]


def _same(a: object, b: object) -> bool:
    return a is b or (type(a) is type(b) and not hasattr(a, "shape") and bool(a == b))


def brief(x: object) -> str:
    """An option in a few characters."""
    if hasattr(x, "shape") and x.shape:
        return "array"
    if callable(x):
        return getattr(x, "__name__", type(x).__name__)
    return clip(clean(x), 24)


def index(i: object, say: Callable[[Any], str] = brief) -> str:
    """What is in the brackets of ``x[i]``, as text.

    >>> index((slice(1, None), 0)), index(...)
    ('1:, 0', '...')
    """
    if isinstance(i, tuple):
        return ", ".join([index(p, say) for p in i]) or "()"
    if isinstance(i, slice):
        start, stop, step = ["" if p is None else say(p) for p in (i.start, i.stop, i.step)]
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "..." if i is Ellipsis else say(i)


def word(record: Record) -> str:
    """The operation in words: ``multiply``; ``sum, axis=0``; ``getitem [1:]``."""
    if record.rule.name in ("getitem", "setitem"):
        return clip(f"{record.rule.name} [{index(record.options['i'])}]", 30)
    if record.rule.name == "einsum":
        return clip(f"einsum {record.options['letters'].replace('->', '→')}", 30)
    return clip(", ".join([clean(record.rule.name), *options(record)]), 40)
