"""From an instruction to its expression: file, line, columns, text, and what the expression's value is stored in.

There is no answer unless the text compiles to the code that ran, position by position: a file that was edited since, or
a cell that was run again, has no names rather than false ones. A file is parsed once, a place is looked up once.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import functools
import io
import itertools
import linecache
import os
import sys
import tokenize
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .callers import PACKAGE, getframe, is_packages
from .places import Loop, RecordLike, is_cell, variables_of

FUTURES = 0x1FE0000  # flags of code: what ``from __future__`` has changed
AWAIT = 0x2000  # notebooks await at the top level
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # a text that Python does not parse, or not here
INNER = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
PARTS = ("co_code", "co_names", "co_varnames", "co_cellvars", "co_freevars")  # of a code, what is compared as it is
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module, ast.ClassDef)
MOVING = "code in C that exchanges parts of an array (instead of a shuffle write x[generator.permutation(len(x))])"
STORES = ("STORE_SUBSCR", "STORE_SLICE")
NUMPYS = frozenset(dir(np))
NUMPYS_OWN = NUMPYS - frozenset(dir(np.ndarray))  # those that are not methods of arrays
LOOPS = (ast.For, ast.AsyncFor, ast.While)
DATA = (int, float, complex, str, ModuleType)
Above = dict[ast.AST, ast.AST]


class Place(NamedTuple):
    """A place in a program, as plain data. Columns are counted from 0, in bytes of UTF-8."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int
    text: str

    @property
    def where(self) -> str:
        """``line 3 of FILE``; in a notebook ``line 3``."""
        return f"line {self.line}{'' if is_cell(self.file) else f' of {os.path.basename(self.file)}'}"


def written(node: ast.AST) -> str:
    """A piece of a program in one line, texts in double quotes."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


class Span(NamedTuple):
    """The first line and the last, and the columns in them."""

    line: int
    end_line: int
    column: int
    end_column: int


def span_of(node: Any, last: Any = None) -> Span:
    """Where a node of a tree stands, or several, up to the last."""
    last = last or node
    return Span(node.lineno, last.end_lineno, node.col_offset, last.end_col_offset)


def is_within(a: Span, b: Span) -> bool:
    """Is the first a part of the second, or the same?"""
    return (b.line, b.column) <= (a.line, a.column) and (a.end_line, a.end_column) <= (b.end_line, b.end_column)


class Source:
    """The text of one file or cell, its tree, and the code that it compiles to."""

    def __init__(self, file: str, lines: list[str], flags: int) -> None:
        self.file, self.lines = file, [line.encode() for line in lines]
        text = "".join(lines)
        self.text, self.tree, self.flags = text, ast.parse(text), flags
        self.codes: dict[tuple[str, int], list[CodeType]] = {}
        self.above: Above = {}
        self.at: dict[Span, list[ast.expr | ast.stmt]] = {}
        self.ends: dict[tuple[int, int], list[ast.expr | ast.stmt]] = {}
        self.imported: dict[str, str] = {}  # name -> package; also what is used like NumPy, and unlike an array: xp
        uses: dict[str, set[str]] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.above[child] = node
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                whole = "" if isinstance(node, ast.Import) else "." if node.level else node.module or ""
                names = [(a.asname or a.name.partition(".")[0], whole or a.name) for a in node.names]
                self.imported.update({name: package.partition(".")[0] for name, package in names})
            if isinstance(node, (ast.expr, ast.stmt)):
                span = span_of(node)
                self.at.setdefault(span, []).append(node)
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    uses.setdefault(node.value.id, set()).add(node.attr)
                if isinstance(node, (ast.Call, ast.Attribute)):
                    self.ends.setdefault((span.end_line, span.end_column), []).append(node)
        self.imported.update({x: "numpy" for x, used in uses.items() if used <= NUMPYS and used & NUMPYS_OWN})
        self.whiles = [node for node in self.above if isinstance(node, ast.While)]
        self.collect(self.tree, "exec")
        if is_cell(file):
            for statement in self.tree.body:
                self.collect(ast.Module([statement], []), "exec")
                self.collect(ast.Interactive([statement]), "single")

    def collect(self, tree: ast.Module | ast.Interactive, mode: str) -> None:
        """Keep the code that a tree compiles to, with that of all functions in it."""
        with contextlib.suppress(*UNREADABLE):
            waiting = [compile(tree, self.file, mode, flags=self.flags | AWAIT, dont_inherit=True)]
            for code in waiting:
                self.codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
                waiting += [x for x in code.co_consts if isinstance(x, CodeType)]

    @functools.cached_property
    def rewritten(self) -> bool:
        """Has the code been added that pytest makes of the file, with assertions that explain themselves?"""
        with contextlib.suppress(Exception):  # pytest is not there, or another one
            rewrite, tree = sys.modules["_pytest.assertion.rewrite"].rewrite_asserts, ast.parse(self.text)
            rewrite(tree, self.text.encode(), self.file, None)
            self.collect(tree, "exec")
            return True
        return False

    def verifies(self, code: CodeType) -> bool:
        """Does the text compile to that code, position by position? (Lambdas share a name: their positions tell.)"""
        alike = [is_same(other, code) for other in self.codes.get((code.co_name, code.co_firstlineno), ())]
        return any(alike) or ("rewritten" not in vars(self) and self.rewritten and self.verifies(code))


def segment(encoded: list[bytes], span: tuple[int, ...]) -> str:
    """The text between two places, in one line."""
    line, end_line, column, end_column = span
    lines = encoded[line - 1 : end_line] or [b""]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    text = b"".join(lines).decode(errors="replace")
    return " ".join((without_comments(text) if end_line > line else text).split())


def without_comments(text: str) -> str:
    """An expression over several lines, without what ends them: comments and backslashes."""
    rows = text.split("\n")
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # the file is another one by now
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{text}\n)").readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start[0] - 2, token.start[1]
                rows[row] = rows[row][:column]
    return "\n".join([row.removesuffix("\\") for row in rows])


def is_same(a: CodeType, b: CodeType) -> bool:
    """Are two codes the same, but for the code of functions inside, which are compared by themselves?"""
    return (
        all([getattr(a, name) == getattr(b, name) for name in PARTS])
        and [*map(told_apart, a.co_consts)] == [*map(told_apart, b.co_consts)]
        and list(a.co_positions()) == list(b.co_positions())
    )


def told_apart(constant: object) -> object:
    """A constant as text, which tells 0.0 from -0.0 and 1 from True. A set stays one: the order of its elements is not
    part of the program, and differs when the code comes from a file."""
    if isinstance(constant, tuple | frozenset):
        return type(constant)(map(told_apart, constant))
    return CodeType if isinstance(constant, CodeType) else repr(constant)


SOURCES: dict[tuple[str, int], tuple[list[str], Source | None]] = {}
CODES: dict[int, tuple[CodeType, Source | None, list[Any]]] = {}  # by id; each keeps its code, so the id is unique
FOUND: dict[tuple[int, int], Expression | None] = {}


def source_of(code: CodeType) -> Source | None:
    """The source of a code, if the text is still what ran."""
    if (entry := CODES.get(id(code))) is None:
        file, flags = code.co_filename, code.co_flags & FUTURES
        linecache.checkcache(file)
        lines = linecache.getlines(file)
        parsed = SOURCES.get((file, flags))
        if parsed is None or parsed[0] != lines:
            parsed = lines, None
            with contextlib.suppress(*UNREADABLE):
                parsed = lines, Source(file, lines, flags) if lines else None
            SOURCES[file, flags] = parsed
        source = parsed[1]
        verified = source if source is not None and source.verifies(code) else None
        entry = CODES[id(code)] = code, verified, list(code.co_positions())
    return entry[1]


def find(code: CodeType, last: int) -> Expression | None:
    """The expression that an instruction belongs to; None if that cannot be told."""
    key = id(code), last
    if key not in FOUND:
        FOUND[key] = look(code, last)
    return FOUND[key]


def look(code: CodeType, last: int) -> Expression | None:
    """The same, looked for."""
    source = source_of(code)
    if source is None or last < 0:
        return None
    where = CODES[id(code)][2][last // 2]
    if None in where:
        return None
    span = Span(*where)
    nodes = source.at.get(span, [])
    if not nodes:  # the call of a method over several lines begins, for Python, at the method's name
        begin = span.line, span.column
        ends = source.ends.get((span.end_line, span.end_column), [])
        nodes = [n for n in ends if (n.lineno, n.col_offset) <= begin][-1:]
    nodes = [n for n in nodes if not isinstance(n, ast.Expr)]
    return Expression(nodes[-1], source, dis.opname[code.co_code[last]]) if nodes else None


def units(line: bytes, column: int) -> int:
    """A column in bytes of UTF-8 as pages count, whose letters have 16 bits."""
    return len(line[:column].decode(errors="replace").encode("utf-16-le")) // 2


@functools.cache
def start_of(code: CodeType, last: int) -> int:
    """Where an instruction begins. (A method in Python may be called from what Python keeps behind it.)"""
    while last > 0 and dis.opname[code.co_code[last]] == "CACHE":
        last -= 2
    return last


def is_written_in_c(depth: int) -> bool:
    """Does code in C write into an array, ``depth`` calls up or through methods of ours? It knows the real class of an
    array, and may do with one of NumPy's what it does not do with ours. In Python ``x[i] = y`` is a statement."""
    inner, frame = None, getframe(depth)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        inner, frame = frame, frame.f_back
    code, is_method = frame.f_code, inner is not None and inner.f_code.co_name != "__setitem__"  # ``x.fill(1)``
    is_statement = dis.opname[code.co_code[start_of(code, frame.f_lasti)]].startswith("STORE_")
    return not (is_method or is_statement) and {"setitem", "__setitem__"}.isdisjoint(code.co_names)


class Count:
    """In a target: which one it is that a comprehension makes."""


COUNT = Count()
RETURNED = Count()  # instead of a target: it is what the function returns
Target = list[Any] | Count | None


class Expression:
    """An expression in a program."""

    __slots__ = ("iterates", "node", "source", "span", "stores", "target", "text")

    def __init__(self, node: Any, source: Source, instruction: str = "") -> None:
        self.node, self.source, self.stores = node, source, instruction in STORES
        self.span = span_of(node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else node)
        self.text = segment(source.lines, self.span)
        self.target: Target = None
        self.iterates = instruction == "FOR_ITER"  # a loop takes a value from it
        if has_own_value(node, self.stores):
            self.target = (target_of_loop if self.iterates else target_of)(node, source.above)

    @property
    def place(self) -> Place:
        """The same as plain data."""
        return Place(self.source.file, *self.span, self.text)

    @property
    def line(self) -> int:
        """Its first line; in a chain of calls over several lines that of the method's name."""
        called = getattr(self.node, "func", self.node)
        return (called.end_lineno if isinstance(called, ast.Attribute) else None) or self.span.line

    @property
    def is_write(self) -> bool:
        """Is it ``x[i] = ...`` or ``x += ...``?"""
        return self.stores or isinstance(self.node, ast.AugAssign)

    @property
    def statement(self) -> ast.AugAssign | ast.Assign | None:
        """The assignment that writes it: ``x[i] = ...``, ``x += ...``; else None."""
        node = self.source.above.get(self.node) if self.stores else self.node
        return node if isinstance(node, (ast.AugAssign, ast.Assign)) else None

    @property
    def is_call(self) -> bool:
        """Is it the call of a function?"""
        return isinstance(self.node, ast.Call)

    @property
    def function(self) -> str:
        """The called function of a call."""
        return segment(self.source.lines, span_of(self.node.func))

    @property
    def called(self) -> str:
        """The last name of the called function."""
        return called(self.node)

    @property
    def is_librarys(self) -> bool:
        """Does it call a function of Python's or of a package, as ``sum``, ``functools.reduce`` or ``af.explore``?"""
        function = self.node.func
        is_plain = isinstance(function, ast.Name) or self.is_module(function)
        if is_plain and any([hasattr(module, self.called) for module in (builtins, functools, itertools)]):
            return True
        while isinstance(function, ast.Attribute):
            function = function.value
        name = getattr(function, "id", "")
        module = sys.modules.get(self.source.imported.get(name, ""))
        return name in MODULES or (module is not None and is_packages(getattr(module, "__file__", None) or os.__file__))

    def is_module(self, node: ast.AST) -> bool:
        """Is it what an import has bound, here or in another cell, as ``np``, or something in it, and not an array?"""
        while isinstance(node, ast.Attribute):
            if node.attr in MODULES:
                return True  # ``self.np``
            node = node.value
        name = getattr(node, "id", "")
        is_elsewhere = isinstance(vars(sys.modules["__main__"]).get(name), ModuleType)
        return name in self.source.imported or name in MODULES or is_elsewhere

    def operands(self) -> list[ast.expr]:
        """The nodes of what the expression takes, as far as each is an operand by its place."""
        node = None if self.iterates else self.node
        match node:
            case ast.BinOp():
                return [node.left, node.right]
            case ast.AugAssign():
                return [node.target, node.value]
            case ast.UnaryOp():
                return [node.operand]
            case ast.Subscript(ctx=ast.Store()):
                above = self.source.above.get(node)
                return [node.value, above.value] if isinstance(above, ast.Assign) else [node.value]
            case ast.Subscript() | ast.Attribute():
                return [node.value]
            case ast.Call(func=function) if not any([isinstance(a, ast.Starred) for a in node.args]):
                args = [a for a in node.args if not (isinstance(a, ast.Constant) and isinstance(a.value, str))]
                if called(node) in SEQUENCES and args and isinstance(args[0], (ast.List, ast.Tuple)):
                    args = args[0].elts  # of one list of arrays its entries, but a list of numbers is an operand
                    return [] if any([isinstance(a, ast.Starred) for a in args]) else args
                if isinstance(function, ast.Attribute) and function.attr not in NUMPYS_OWN:
                    return args if self.is_module(function.value) else [function.value, *args]
                return args
        return []

    @property
    def sequence(self) -> str:
        """In ``np.stack(rows)`` what the arrays are entries of; empty for other expressions."""
        args = self.node.args if isinstance(self.node, ast.Call) and called(self.node) in SEQUENCES else ()
        return written(args[0]) if args and is_path(args[0]) else ""

    def operand_text(self, slot: int) -> str | None:
        """The name of the operand of that number there, if that is a name, an attribute or an item."""
        parts = self.operands()
        return written(parts[slot]) if slot < len(parts) and is_path(parts[slot]) else None

    def loops(self) -> Iterator[Loop]:
        """The loops of its function whose turns compute it, the innermost first."""
        return loops_around(self.node, self.source.above)


def loops_around(node: ast.AST, above: Above) -> Iterator[Loop]:
    """The loops of its function in whose turns a node of a tree is computed, the innermost first."""
    while (parent := above.get(node)) is not None and not isinstance(node, FUNCTIONS):
        if isinstance(parent, LOOPS) and (node in parent.body or node is getattr(parent, "test", None)):
            yield parent
        elif isinstance(parent, INNER):
            end = parent.generators.index(node) if isinstance(node, ast.comprehension) else None
            yield from reversed(parent.generators[:end])
        elif isinstance(parent, ast.comprehension) and node in parent.ifs:
            yield parent
        node = parent


DRAWS = ("exponential", "laplace", "lognormal", "multivariate_normal", "normal", "uniform")
# What makes a plain array of nodes -> what to write instead.
READERS = {
    **dict.fromkeys(["array", "fromiter", "matrix", "asmatrix"], "af.array([...]) or np.stack"),
    **dict.fromkeys(["asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "from_dlpack"], "the node itself"),
    **dict.fromkeys(["float32", "float64"], "x.astype(dtype)"), "full": "af.full", "Variable": "the node itself",
    **dict.fromkeys(DRAWS, "numbers drawn without nodes, as in mu + sigma * rng.normal(size=n),"),
}  # fmt: skip


def taken_out(records: Iterable[RecordLike]) -> list[tuple[RecordLike, str]]:
    """The records of a graph that compute with what the program takes out of it as numbers, and how: ``float(w)``,
    ``y.value``, ``np.array([v, v])``, also by a name that was given to it before."""
    pairs = []
    records = list(records)
    used: set[tuple[CodeType | None, str]] = set()  # the names of nodes, by code: worked out if something asks
    for record in dict.fromkeys([r for r in records for parent in r.parents if parent is None]):
        for part in [p for x, parent in operands_of(record) if parent is None for p in ast.walk(x)]:
            if takes_out(part):
                pairs += [] if is_plain(part, running(code_of(record))) else [(record, written(part))]
            elif isinstance(part, ast.Call) and called(part) in READERS:
                used = used or {(code_of(r), written(x)) for r in records for x, p in operands_of(r) if p is not None}
                names, frame = [x for a in argument_nodes(part) for x in numbers_in(a)], running(code_of(record))
                own = [getattr(value_in(x, frame), "requires_grad", False) is True for x in names]
                if any(own) or any([(code_of(record), written(x)) in used for x in names]):
                    pairs.append((record, written(part)))
    return pairs


def argument_nodes(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call, with keywords and without."""
    return [*call.args, *[keyword.value for keyword in call.keywords]]


def running(code: CodeType | None) -> FrameType | None:
    """The frame that runs a code now; of a cell that has ended that of the cell that runs. None if there is none."""
    frame: FrameType | None = sys._getframe()
    name = getattr(code, "co_name", "")
    while frame is not None and frame.f_code is not code and not frame.f_code.co_name == name == "<module>":
        frame = frame.f_back
    return frame


def value_in(path: Any, frame: FrameType | None) -> Any:
    """What a name or an attribute stands for in a frame; of an item what it is in. None if it is not there, or if it
    is a property that raises an error."""
    if isinstance(path, ast.Name):
        spaces = () if frame is None else (variables_of(frame), frame.f_globals, vars(builtins))
        return next((space[path.id] for space in spaces if path.id in space), None)
    owner = value_in(path.value, frame)
    with contextlib.suppress(Exception):
        return getattr(owner, path.attr, None) if isinstance(path, ast.Attribute) else owner
    return None


def is_plain(part: Any, frame: FrameType | None) -> bool:
    """Is it known in a frame that ``float(n)``, ``slider.value``, ``float(2 * x[k])`` or ``float(np.sqrt(n))`` takes a
    number of no node?"""
    operand = getattr(part, "value", None) or (part.args[:1] or [getattr(part.func, "value", part)])[0]
    if isinstance(operand, (ast.Name, ast.Attribute)) and is_path(operand):
        value = value_in(operand, frame)
        return value is not None and not hasattr(value, "requires_grad")
    return all([is_data(value_in(x, frame)) for x in paths_in(operand)])


def paths_in(node: ast.AST) -> list[ast.AST]:
    """The names, attributes and items that an expression is made of."""
    return [node] if is_path(node) else [x for part in ast.iter_child_nodes(node) for x in paths_in(part)]


def is_data(x: object) -> bool:
    """Is it a number, a text, something of NumPy's, a module, a method or function of these, or a container of them, as
    far as its first parts show?"""
    parts = [x]
    for part in itertools.islice(parts, 100):
        is_numpys = type(part).__module__.partition(".")[0] == "numpy" and getattr(part, "dtype", None) != np.object_
        if isinstance(part, (list, tuple, dict)):
            parts += itertools.islice(part.values() if isinstance(part, dict) else part, 100)
        elif hasattr(part, "__self__"):
            parts.append(part.__self__)
        elif not (is_numpys or isinstance(part, DATA)):
            return False
    return True


def numbers_read(record: RecordLike, slot: int) -> str:
    """How a plain operand of a record came by numbers of nodes, and what to write instead; empty where the program is
    not known."""
    expr = expression_of(record)
    own = expr.operands()[slot : slot + 1] if expr is not None else []
    if expr is None or not own:
        return ""
    names = [assigned(x, expr.source) for part in own for x in ast.walk(part) if isinstance(x, ast.Name)]
    calls = [x for part in (*own, *names) for x in ast.walk(part) if isinstance(x, ast.Call) and called(x) in READERS]
    text = written([*calls, *own][0])
    remedy = READERS[called(calls[0])] if calls else "NumPy's functions on nodes, af.zeros(...) or af.array([...])"
    where = f"{expr.text} ({expr.place.where})"
    return f"{text} has numbers of nodes only, and {where} computes with them. Take {remedy} to keep the history"


COMPREHENSIONS = frozenset({"<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>"})
STEPS = frozenset({"argmax", "argmin", "argsort", "astype", "count_nonzero", "searchsorted", "sign"})
SEQUENCES = frozenset({
    "block", "column_stack", "concat", "concatenate", "dstack", "hstack", "multi_dot", "stack", "vstack",
})  # fmt: skip
SHOWS = frozenset({"append", "print"})
COUNTS = frozenset({"astype", "count_nonzero", "float", "mean", "sum", "where"})  # of truth values


def numbers_taken(origin: CodeType | FrameType | None) -> str:
    """What seems to take numbers out of a graph in a code, with its lines; empty if nothing does. Not what only shows
    them: ``print(float(x))``. Of a frame, what it has run so far, and if there is any, not what takes them of data."""
    frame, code = (origin, origin.f_code) if isinstance(origin, FrameType) else (None, origin)
    if code is None or (source := source_of(code)) is None:
        return ""
    inner = [x for x in code.co_consts if isinstance(x, CodeType) and x.co_name in COMPREHENSIONS]
    places = [*code.co_positions()][: None if frame is None else frame.f_lasti // 2]
    nodes = [x for x in nodes_of([places, *[x.co_positions() for x in inner]], source) if seems_to_take(x, source)]
    nodes = [x for x in nodes if frame is None or not is_of_data(x, frame)] or nodes
    inmost = [x for x in nodes if not any([part in nodes for part in ast.walk(x) if part is not x])][:2]
    texts = [f"{written(x)} ({Expression(x, source).place.where})" for x in inmost]
    is_step = any([isinstance(x, ast.Compare) or (isinstance(x, ast.Call) and called(x) in STEPS) for x in inmost])
    advice = "A step has no slope: train with a smooth function" if is_step else "Use NumPy's functions on the nodes"
    return f"numbers leave the graph at {' and '.join(texts)}. {advice}" if texts else ""


def seems_to_take(node: ast.AST, source: Source) -> bool:
    """Does an expression take numbers out of a graph, and not to show them?"""
    around = [*parents_of(node, source)]
    names = [called(x) for x in around if isinstance(x, ast.Call)]
    is_shown = any([isinstance(x, ast.JoinedStr) for x in around]) or not SHOWS.isdisjoint(names)
    if is_shown or any(map(is_update, around)):
        return False
    if isinstance(node, ast.Compare):
        return bool(names) and names[0] in COUNTS
    return takes_out(node) or (isinstance(node, ast.Call) and is_reader(node))


def is_of_data(node: ast.AST, frame: FrameType) -> bool:
    """Is an expression known in a frame to consist of data?"""
    paths = [x for x in ast.walk(node) if is_path(x) and not hasattr(builtins, written(x))]
    return all([is_data(value_in(x, frame)) for x in paths])


def is_update(node: ast.AST) -> bool:
    """Is it a statement such as ``w.value = w.value - lr * w.grad``, with a gradient or a value that it sets?"""
    parts = ast.walk(node) if isinstance(node, (ast.Assign, ast.AugAssign)) else ()
    names = [(x.attr, type(x.ctx)) for x in parts if isinstance(x, ast.Attribute)]
    return ("value", ast.Store) in names or ("grad", ast.Load) in names


def computes_with_gradient(code: CodeType) -> bool:
    """Does a code compute ``w - lr * w.grad``, with ``w`` or its value first, as updates by hand do?"""
    nodes = [] if (source := source_of(code)) is None else nodes_of([code.co_positions()], source)
    sums = [x for x in nodes if isinstance(x, ast.BinOp)]
    paths = {x: f"{written(x.left).removesuffix('.value')}.grad" for x in sums}
    return any([is_path(part) and written(part) == paths[x] for x in sums for part in ast.walk(x)])


def nodes_of(places: Iterable[Iterable[Any]], source: Source) -> list[ast.expr | ast.stmt]:
    """The nodes of the tree that instructions at these places execute, in their order."""
    spans = sorted({Span(*where) for part in places for where in part if None not in where})
    return [x for span in spans for x in source.at.get(span, ())]


def is_reader(node: ast.Call) -> bool:
    """Is it ``np.asarray(x)``, ``math.sin(x)`` or ``np.argmax(model(x))``?"""
    arguments = argument_nodes(node)
    if isinstance(node.func, ast.Attribute) and called(node) in STEPS - {"astype"}:
        arguments = [*arguments, node.func.value]
    if not any([True for a in arguments for _ in numbers_in(a)]):
        return any([isinstance(a, ast.Call) for a in arguments]) and called(node) in STEPS | READERS.keys() - {*DRAWS}
    if called(node) == "astype":
        return any([written(a).startswith(("int", "bool", "np.int", "np.bool")) for a in arguments])
    is_maths = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "math"
    return is_maths or called(node) in STEPS | READERS.keys() - {*DRAWS}


def parents_of(node: ast.AST, source: Source) -> Iterator[ast.AST]:
    """What a node of a tree is inside of, the innermost first."""
    while (parent := source.above.get(node)) is not None:
        yield (node := parent)


def code_of(record: RecordLike) -> CodeType | None:
    """The code that made a record; None if it is not known."""
    place = getattr(record, "place", None)
    return getattr(place, "code", place)


def expression_of(x: Any) -> Expression | None:
    """The expression that made a record, which has a ``last``, or a leaf. (Records of derivatives of derivatives have
    no place.)"""
    place, last = (x.place, x.last) if hasattr(x, "last") else getattr(x, "_place", (None, 0))[:2]
    return None if place is None else find(getattr(place, "code", place), last)


def operands_of(record: RecordLike) -> Iterator[tuple[ast.AST, Any]]:
    """The operands of a record in the program, each with its parent in the graph; of names of plain operands
    what was assigned to them."""
    if (expr := expression_of(record)) is not None:
        for x, parent in zip(expr.operands(), record.parents, strict=False):
            yield assigned(x, expr.source) if parent is None else x, parent


def numbers_in(node: ast.AST) -> Iterator[ast.AST]:
    """The names, attributes and items whose numbers an argument consists of: of ``[v, 2*w[0]]`` v, ``w[0]`` and w."""
    if is_path(node):
        yield node
        if isinstance(node, ast.Subscript):
            yield from numbers_in(node.value)
    elif isinstance(node, (ast.List, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Starred)):
        for part in ast.iter_child_nodes(node):
            yield from numbers_in(part)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        yield from numbers_in(node.elt)


def called(call: ast.Call) -> str:
    """The last name of the called function."""
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def takes_out(node: ast.AST) -> bool:
    """Does it look like ``y.value``, ``w.item()``, ``float(w)``, ``af.stop_gradient(y)``?"""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Attribute) and node.attr == "value"
    takers = ("float", "int", "complex", "stop_gradient") if node.args else ("item", "tolist", "detach")
    return called(node) in takers and not any([isinstance(x, ast.Constant) for x in node.args[:1]])


def assigned(node: ast.AST, source: Source) -> ast.AST:
    """For a name the expression last assigned to it, above in the same function; anything else itself."""
    if not isinstance(node, ast.Name):
        return node
    function = next(x for x in parents_of(node, source) if isinstance(x, FUNCTIONS))
    assignments = [
        n for n in ast.walk(function)
        if isinstance(n, ast.Assign) and n.lineno < node.lineno and written(n.targets[0]) == node.id
    ]  # fmt: skip
    return max(assignments, key=lambda n: n.lineno).value if assignments else node


MODULES = frozenset({"np", "numpy", "af", "autoflow", "scipy", "special", "linalg", "math"})  # imported in other cells
CONTAINERS = frozenset({"dict", "enumerate", "filter", "iter", "list", "map", "set", "sorted", "tuple", "zip"})
VALUES = (
    ast.Attribute, ast.AugAssign, ast.AsyncFor, ast.Await, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.For,
    ast.Name, ast.UnaryOp,
)  # fmt: skip


def has_own_value(node: ast.AST, stores: bool) -> bool:
    """Is what an execution computes the value of the expression? Not the entries of a list, nor what ``list(x)`` takes
    out of x; and ``u[1:] += v`` reads ``u[1:]`` first."""
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in CONTAINERS)
    if isinstance(node, (ast.Tuple, ast.List)):
        return isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.Subscript):
        return stores or not isinstance(node.ctx, ast.Store)
    return isinstance(node, VALUES)


def is_path(node: ast.AST) -> bool:
    """Is it a name, an attribute or an item?"""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name)


def loop_text(loop: Loop, source: Source) -> str:
    """``for t in range(5)``, ``while error > 1e-6``."""
    if isinstance(loop, ast.While):
        return f"while {segment(source.lines, span_of(loop.test))}"
    return f"for {segment(source.lines, span_of(loop.target))} in {segment(source.lines, span_of(loop.iter))}"


# ---------------------------------------------------------------- targets


def target_of(node: ast.AST, above: Above) -> Target:
    """The target in which an expression's value is stored: parts of a text, ``["self.w", COUNT]``, or the node of
    several targets; RETURNED; or None."""
    parent = above.get(node)
    if isinstance(node, ast.AugAssign):
        return [written(node.target)]
    match parent:
        case ast.Assign(value=value) if value is node:
            return one_target(parent.targets[0])
        case ast.AnnAssign(value=value) | ast.NamedExpr(value=value) if value is node:
            return [written(parent.target)]
        case ast.Assign() | ast.AugAssign() if isinstance(getattr(node, "ctx", None), ast.Store):
            return one_target(node)
        case ast.Tuple() | ast.List() if isinstance(node, ast.expr):
            return in_display(node, parent, above)
        case ast.Dict() if node in parent.values:
            whole, key = target_of(parent, above), parent.keys[parent.values.index(node)]
            return [*whole, f"[{written(key)}]"] if isinstance(whole, list) and key is not None else None
        case ast.DictComp(value=value) if value is node:
            return keyed(parent, target_of(parent, above))
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) if element is node:
            whole = target_of(parent, above)
            return [*whole, COUNT] if isinstance(whole, list) else None
        case ast.IfExp() if parent.test is not node:
            whole = target_of(parent, above)
            return None if isinstance(whole, list) and COUNT in whole else whole  # the others are not counted
        case ast.Await():
            return target_of(parent, above)
        case ast.Return() | ast.Lambda():
            return RETURNED
        case ast.Call(func=ast.Name(id="tuple" | "list")) if isinstance(node, INNER):
            return target_of(parent, above)
    return None


def target_of_loop(node: ast.AST, above: Above) -> Target:
    """The target of each value that a loop takes from ``node``, unless it takes them apart. (Up to Python 3.12 the
    node is the whole statement.)"""
    target = getattr(node if isinstance(node, ast.For) else above[node], "target", None)
    return None if target is None or isinstance(target, (ast.Tuple, ast.List)) else [written(target)]


def one_target(target: ast.AST) -> Target:
    """A target as a text in a list; of several in a tuple the node."""
    return [target if isinstance(target, (ast.Tuple, ast.List)) else written(target)]


def in_display(node: ast.expr, display: ast.Tuple | ast.List, above: Above) -> Target:
    """The target of an entry of a list or a tuple."""
    if any([isinstance(e, ast.Starred) for e in display.elts]):
        return None
    place, whole = display.elts.index(node), target_of(display, above)
    if not isinstance(whole, list):
        return None
    if isinstance(whole[0], (ast.Tuple, ast.List)):
        targets = whole[0].elts
        fits = len(targets) == len(display.elts) and not any([isinstance(e, ast.Starred) for e in targets])
        return one_target(targets[place]) if fits and len(whole) == 1 else None
    return [*whole, f"[{place}]"]


def keyed(comprehension: ast.DictComp, whole: Target) -> Target:
    """The target of a value of ``{key: ... for key in ("Wq", "Wk")}``, or ``in "ifo"``: by its count, if the keys are
    written there."""
    loops = comprehension.generators
    if not isinstance(whole, list) or len(loops) != 1 or loops[0].ifs:
        return None
    keys, one = loops[0].iter, loops[0].target
    items: list[Any] = keys.elts if isinstance(keys, (ast.Tuple, ast.List)) else []
    if isinstance(keys, ast.Constant) and isinstance(keys.value, str):
        items = [ast.Constant(letter) for letter in keys.value]
    return [*whole, [written(key) for key in items]] if items and written(one) == written(comprehension.key) else None
