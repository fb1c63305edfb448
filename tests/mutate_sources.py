"""Are the tests of optimisers, networks, af.vmap, af.compile and array types any good? Change their source in one place
and see whether a test notices.

    python tests/mutate_sources.py                    the rooms of WANTED
    python tests/mutate_sources.py batching           one room, or files whose path begins so: nn/losses
    python tests/mutate_sources.py batching/vmap.py:139   the mutants of one line
    python tests/mutate_sources.py --seconds 60       as many mutants as fit

The rows of the table, those of nn among them, are tests/mutate.py's. Of optimisers and networks the mutants are: + for
−, · for /, another NumPy function of the same arguments, a condition negated, a sign dropped, a number one larger; not
in messages. In the rooms of GUARDED nothing is computed: there a call whose result nobody takes (a doubt, a check, what
is put back) is left out, a refusal never happens, a condition never or always holds, loses one of its parts or its
bound, a copy is not made, a handler or a context manager is not there, an attribute is not set, and each element of a
table of facts is missing.

All tests of a room run once, and the lines that each of them reaches are noted. A mutant is the function's code alone,
exchanged in a process of its own, where the tests that reach the place run until one fails: quick ones first, and
before these the ones that have caught others. What `--patience` leaves no time for does not run. Mutants that
do the same as the program stand in `support/alike_mutants.txt`, each with the reason, and are left out. Printed: the
survivors, and how many are caught. The exit status is 1 if they are fewer than WANTED.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import gc
import importlib
import multiprocessing
import os
import sys
import threading
import time
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ALIKE = HERE / "support" / "alike_mutants.txt"
GUARDED = ("backends", "batching", "compiler")
WANTED = {"optim": 0.90, "nn": 0.80}  # LSTM and layers are compared with PyTorch only where it is installed
OF_VMAP = ["batching", "transforms/test_mapped_passes.py", "transforms/test_batched_passes.py"]
OF_COMPILE = [
    f"compiler/{name}.py" for name in (
        "test_signature", "test_compile", "test_copies", "trace/test_doubts", "test_fallback", "test_identity",
        "trace/test_reachable", "test_layouts", "trace/test_memory", "run/test_scalars", "trace/test_guards",
        "test_rare_calls", "trace/test_traced", "test_refusals", "test_reports", "test_matching",
        "test_shapes_from_values", "test_special_values",
    )
]  # fmt: skip
OF_ARRAYS = ["backends", "test_interop.py", "nodes/test_foreign.py"]
# The files of a room, and whose tests are theirs; the examples of docstrings belong to them, too.
ROOMS: dict[str, tuple[list[str], list[str]]] = {
    "optim": (["optim/*"],
              [f"optim/test_{name}.py" for name in ("optimisers", "base", "lbfgs", "schedules", "precision")]),
    "nn": (["nn/functions.py", "nn/init.py", "nn/layers.py", "nn/losses.py"],
           [f"nn/test_{name}.py" for name in ("functions", "fused", "layers", "attention")]),
    "batching": (["batching/*"], OF_VMAP),
    "compiler/trace": (["compiler/trace/*"],
                       [*OF_COMPILE, "batching/test_corners.py", "batching/test_places.py",
                        "batching/test_not_numbers.py"]),
    "compiler/jax": (["compiler/jax/*"], ["compiler/jax", "compiler/test_jax_fuzz.py"]),
    "backends": (["backends/*"], [*OF_ARRAYS, "batching/test_vmap.py", "batching/test_definition.py",
                                  "compiler/test_compile.py"]),
}  # fmt: skip
ELSEWHERE = {  # functions that these tests do not reach
    "_clip_there": "for arrays on a device: tests/backends",
    "guard_methods": "it runs while autoflow is imported",
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
BOUNDS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
FUNCTIONS = {
    "add": "subtract", "subtract": "add", "multiply": "divide", "divide": "multiply", "maximum": "minimum",
    "minimum": "maximum", "sqrt": "square", "exp": "expm1", "log": "log1p", "sum": "mean", "mean": "sum", "max": "min",
}  # fmt: skip
LONGEST = 2000  # lines of a file
MOST = 80  # elements of a table of facts; of larger ones none is left out
LEFT_OUT, REFUSED, COPIED, PART, CONDITION, FACT, CHANGED = range(7)  # kinds of mutants; in this order they run
Found = tuple[int, str, Any, Any]  # kind, what is done, the node it becomes, the node whose lines are looked at


class Mutant(NamedTuple):
    """One change. ``place``: the how manieth in its file; of a table ``name``, its element."""

    file: str
    place: int
    name: str
    line: int
    kind: int
    what: str
    lines: frozenset[tuple[str, int]]  # who reaches one of them, judges
    telling: frozenset[tuple[str, int]]  # and those who reach one of these do so first

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


# ---------------------------------------------------------------- what is done to a node of the source


def changed(node: Any) -> Iterator[Found]:
    """For code that computes."""
    new: Any = copy.copy(node)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        new.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "np" and node.attr in FUNCTIONS:
        new.attr = FUNCTIONS[node.attr]
    elif isinstance(node, (ast.If, ast.IfExp)):
        new.test = ast.UnaryOp(ast.Not(), node.test)
        yield CHANGED, f"not {text(node.test)}", new, node.test
        return
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        new = node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        new.value = node.value + 1
    else:
        return
    yield CHANGED, f"{text(node)} → {text(new)}", new, node


def unguarded(node: Any) -> Iterator[Found]:
    """For code that doubts, refuses, compares and copies. What is left out stays as code that never runs: so the
    function sees the same variables of others."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield LEFT_OUT, f"without {text(node)}", ast.If(ast.Constant(False), [node], []), node
    elif isinstance(node, (ast.Assign, ast.AugAssign)) and sets_attributes(node):
        yield CONDITION, f"without {text(node)}", ast.If(ast.Constant(False), [node], []), node
    elif isinstance(node, ast.If):
        raises = isinstance(node.body[-1], ast.Raise) or "doubt(" in text(node.body[-1])
        yield REFUSED if raises else CONDITION, f"never {text(node.test)}", with_test(node, ast.And(), False), node.test
        if not raises:
            yield CONDITION, f"always {text(node.test)}", with_test(node, ast.Or(), True), node.test
    elif isinstance(node, ast.IfExp):
        yield CONDITION, f"never {text(node.test)} in {text(node)}", with_test(node, ast.And(), False), node
        yield CONDITION, f"always {text(node.test)} in {text(node)}", with_test(node, ast.Or(), True), node
    elif isinstance(node, ast.BoolOp):
        for k, part in enumerate(node.values):
            rest = [*node.values[:k], *node.values[k + 1 :]]
            yield PART, f"without {text(part)} in {text(node)}", instead(node, all_of(node.op, rest)), node
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in BOUNDS:
        new = copy.copy(node)
        new.ops = [BOUNDS[type(node.ops[0])]()]
        yield PART, f"{text(node)} → {text(new)}", new, node
    elif isinstance(node, ast.comprehension):
        for k, test in enumerate(node.ifs):
            other = copy.copy(node)
            other.ifs = [*node.ifs]
            other.ifs[k] = all_of(ast.Or(), [ast.Constant(True), test])
            yield PART, f"without if {text(test)}", other, test
    elif isinstance(node, ast.Call) and (thing := copied(node)) is not None:
        yield COPIED, f"no copy: {text(node)}", instead(node, thing), node
    elif isinstance(node, (ast.List, ast.Set)) and len(node.elts) == 1 and isinstance(node.elts[0], ast.Starred):
        yield COPIED, f"no copy: {text(node)}", instead(node, node.elts[0].value), node
    elif isinstance(node, ast.With):
        for k, item in enumerate(node.items):
            if item.optional_vars is None:
                new = copy.copy(node)
                new.items = [*node.items]
                null = ast.parse("__import__('contextlib').nullcontext()", mode="eval").body
                new.items[k] = ast.withitem(instead(item.context_expr, null), None)
                yield LEFT_OUT, f"not with {text(item.context_expr)}", new, item.context_expr
    elif isinstance(node, ast.Try):
        for k, handler in enumerate(node.handlers):
            new = copy.copy(node)
            new.handlers = [*node.handlers[:k], *node.handlers[k + 1 :]]
            if new.handlers or new.finalbody:
                what = f"without except {text(handler.type) if handler.type else ''}"
                yield REFUSED, what, ast.If(ast.Constant(True), [new], [node]), handler


def text(node: Any) -> str:
    """Its source, the beginning."""
    line = ast.unparse(node).replace("\n", " ")
    return line if len(line) < 100 else line[:97] + "..."


def instead(node: Any, new: Any) -> Any:
    """An expression for another one, which stays as code that never runs."""
    return ast.IfExp(ast.Constant(True), new, node)


def all_of(op: Any, values: list[Any]) -> Any:
    """``a and b``, or one of them alone."""
    return ast.BoolOp(op, values) if len(values) > 1 else values[0]


def with_test(node: Any, op: Any, constant: bool) -> Any:
    """An if whose condition always has that value."""
    new = copy.copy(node)
    new.test = ast.BoolOp(op, [ast.Constant(constant), node.test])
    return new


def sets_attributes(node: Any) -> bool:
    """Does an assignment set attributes or elements, and no variables?"""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return all([isinstance(part, (ast.Attribute, ast.Subscript)) for part in parts])


def copied(node: Any) -> Any:
    """What a call copies; None if it copies nothing."""
    name, value = getattr(node.func, "attr", ""), getattr(node.func, "value", None)
    if getattr(value, "id", "") == "np":
        return node.args[0] if name in ("copy", "array") and node.args else None
    return value if name == "copy" else None


def lines_of(nodes: list[Any]) -> range:
    """From the first to the last."""
    return range(nodes[0].lineno, nodes[-1].end_lineno + 1)


class Change(ast.NodeTransformer):
    """Counts the places that can be changed, and changes one of them."""

    def __init__(self, file: str, wanted: int = -1) -> None:
        self.wanted, self.found = wanted, []  # type: tuple[int, list[tuple[int, str, range, range]]]
        self.changes: Callable[[Any], Iterator[Found]] = unguarded if file.startswith(GUARDED) else changed
        self.inside, self.telling = "", range(0)  # the function; what runs if the condition holds that is visited

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.arguments)) or self.is_skipped(node):
            return node
        if isinstance(node, ast.AnnAssign):  # not the type
            node.value = node.value and self.visit(node.value)
            return node
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            outside, self.inside = self.inside, getattr(node, "name", "lambda")
            if isinstance(node, ast.Lambda):
                node.body = self.visit(node.body)
            elif node.name not in ELSEWHERE:
                node.body = [self.visit(statement) for statement in node.body]  # not its decorators
            self.inside = outside
            return node
        telling, self.telling = self.telling, lines_of(node.body) if isinstance(node, ast.If) else self.telling
        for kind, what, new, where in self.changes(node) if self.inside else ():
            if self.inside == "__init__" and kind == CONDITION and what.startswith("without"):
                continue  # whoever reads the attribute notices
            self.found.append((kind, what, lines_of([where]), self.telling))
            if len(self.found) - 1 == self.wanted:
                return ast.copy_location(new, node) if hasattr(node, "lineno") else new
        if isinstance(node, ast.If):
            node.test = self.visit(node.test)
            self.telling = telling
            node.body, node.orelse = [[self.visit(x) for x in part] for part in (node.body, node.orelse)]
            return node
        return self.generic_visit(node)

    def is_skipped(self, node: ast.AST) -> bool:
        """Is it a check that only raises? Its negation would be noticed at once, and says nothing."""
        raises = isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and not node.orelse
        return raises and self.changes is changed


# ---------------------------------------------------------------- the mutants of a file, and how one is made


def source_of(file: str) -> Path:
    return ROOT / "autoflow" / file


def tree_of(file: str) -> ast.Module:
    return ast.parse(source_of(file).read_text(encoding="utf-8"))


def module_of(file: str) -> Any:
    return importlib.import_module(name_of(file))


def name_of(file: str) -> str:
    return f"autoflow.{file.removesuffix('.py').replace('/', '.')}"


def places(file: str) -> Iterator[Mutant]:
    """What can be changed in its functions."""
    counter = Change(file)
    counter.visit(tree_of(file))
    for place, (kind, what, *parts) in enumerate(counter.found):
        lines, telling = [frozenset([(file, k) for k in part]) for part in parts]
        yield Mutant(file, place, "", parts[0].start, kind, what, lines, telling)


def facts(files: list[str]) -> Iterator[Mutant]:
    """Each element of each table that is a global constant of one of these files and is read in functions."""
    read: dict[str, set[tuple[str, int]]] = {}
    for file in files:
        for outer in ast.walk(tree_of(file)):
            if isinstance(outer, (ast.FunctionDef, ast.Lambda)):
                for node in ast.walk(outer):
                    if isinstance(node, ast.Name):
                        read.setdefault(node.id, set()).add((file, node.lineno))
    for file in files:
        for node in tree_of(file).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for name in [t.id for t in targets if isinstance(t, ast.Name) and t.id.isupper() and t.id in read]:
                table = getattr(module_of(file), name)
                if isinstance(table, (dict, set, frozenset, tuple, list)) and 0 < len(table) <= MOST:
                    for k, x in enumerate(table):
                        what = f"{name} without {getattr(x, '__name__', None) or repr(x)[:60]}"
                        yield Mutant(file, k, name, node.lineno, FACT, what, frozenset(read[name]), frozenset())


def make(mutant: Mutant) -> None:
    """Change the program that runs."""
    if mutant.name:
        leave_out(getattr(module_of(mutant.file), mutant.name), mutant.place)
        return
    path = str(source_of(mutant.file))
    tree = ast.fix_missing_locations(Change(mutant.file, mutant.place).visit(tree_of(mutant.file)))
    new = {(c.co_qualname, c.co_firstlineno): c for c in codes(compile(tree, path, "exec"))}
    ours = functions_in(path)
    if len(ours) < 2:
        raise RuntimeError(f"{path} has no functions that could be exchanged")
    for f in ours:
        f.__code__ = new[f.__code__.co_qualname, f.__code__.co_firstlineno]


def known_to_be_alike() -> dict[str, str]:
    """The mutants that do what the program does, and why: a line for each, `file: what is done  # why`."""
    lines = ALIKE.read_text(encoding="utf-8").splitlines()
    return dict([line.split("  # ", 1) for line in lines if "  # " in line])  # type: ignore[misc]


def leave_out(table: Any, k: int) -> None:
    """Take an element out of a table, wherever it is a global variable."""
    key = list(table)[k]
    if isinstance(table, dict):
        del table[key]
    elif isinstance(table, list):
        del table[k]
    elif isinstance(table, set):
        table.discard(key)
    else:
        rest = table - {key} if isinstance(table, frozenset) else (*table[:k], *table[k + 1 :])
        for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == "autoflow"]:
            for name in [name for name, x in vars(module).items() if x is table]:
                setattr(module, name, rest)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes(inner)


@functools.cache
def functions_in(path: str) -> list[Any]:
    """The functions of a file, wherever they are."""
    return [f for f in gc.get_objects() if isinstance(f, types.FunctionType) and f.__code__.co_filename == path]


# ---------------------------------------------------------------- the tests: what they reach, and whether they notice


class Reached(NamedTuple):
    """What one test does without a mutant."""

    seconds: float  # of the processor
    fails: bool
    lines: int  # a bit for each


class Judge:
    """A plugin of pytest that runs instead of its loop over the tests."""

    def __init__(self, files: list[str], asked: Any, say: Any) -> None:
        self.files, self.asked, self.say = files, asked, say
        self.paths = {str(source_of(file)): k * LONGEST for k, file in enumerate(files)}  # and their first bit
        self.fork = multiprocessing.get_context("fork")
        self.failed, self.status, self.items, self.reached = False, 1, [], {}  # type: bool, int, list[Any], dict
        self.sound: dict[Any, bool] = {}  # does the test pass alone, without a mutant?
        self.caught: Counter[tuple[str, Any]] = Counter()  # by file and test

    def pytest_runtest_logreport(self, report: Any) -> None:
        """After each part of a test."""
        self.failed = self.failed or report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.session, self.items = session, session.items
        if session.testsfailed or not self.items:
            print("the tests cannot be collected", file=self.say)
            return True
        gc.unfreeze()  # or the collector would not name what was there before
        for file, path in zip(self.files, self.paths, strict=True):
            module_of(file)  # those of an engine would be imported when it is first used
            functions_in(path)
        every = [m for file in self.files for m in places(file)] + [*facts(self.files)]
        every = [m for m in every if any([f"{m.file}:{m.line}:".startswith(name) for name in self.asked.names])]
        alike = known_to_be_alike()
        self.alike = [m for m in every if f"{m.file}: {m.what}" in alike]
        every = [m for m in every if m not in self.alike]
        gc.collect()
        gc.freeze()  # the collector of a fork does not look at, and so copy, what was there before
        if self.asked.list:
            print(*every, f"{len(every)} mutants", sep="\n", file=self.say)
            return True
        self.measure()
        self.judge(every)
        return True

    # -- processes

    def answers(self, queue: deque[Any]) -> Iterator[tuple[Any, Any]]:
        """Of each (key, seconds, function, *arguments) in the queue, which may grow: the key, and what the function
        returns in a process of its own; None if that has ended without an answer, or takes longer."""
        running: dict[Any, tuple[Any, Any, float]] = {}
        while queue or running:
            while queue and len(running) < self.asked.jobs:
                key, seconds, work, *args = queue.popleft()
                here, there = self.fork.Pipe(duplex=False)
                process = self.fork.Process(target=answer, args=(there, work, *args))
                process.start()
                there.close()
                running[here] = key, process, time.monotonic() + seconds
            ready = connection.wait([*running], timeout=0.5)
            late = [pipe for pipe, (_, _, end) in running.items() if pipe not in ready and time.monotonic() > end]
            for pipe in [*ready, *late]:
                key, process, _ = running.pop(pipe)
                try:
                    found = pipe.recv() if pipe in ready else None
                except EOFError:
                    found = None
                if pipe in late:
                    process.kill()
                process.join()
                yield key, found

    def run(self, k: int, following: int | None) -> bool:
        self.failed = False
        after = None if following is None else self.items[following]
        self.session.config.hook.pytest_runtest_protocol(item=self.items[k], nextitem=after)
        return self.failed

    def measure(self) -> None:
        """Run each test once, and note the lines that it reaches."""
        parts = [range(k, len(self.items), self.asked.jobs) for k in range(self.asked.jobs)]
        for _, found in self.answers(deque([(k, 3600, self.trace, part) for k, part in enumerate(parts)])):
            self.reached |= found or {}
        failing = [k for k, r in self.reached.items() if r.fails]
        for k, found in self.answers(deque([(k, 600, self.first_to_fail, None, [k]) for k in failing])):
            self.sound[k] = found == "none"
        red = [self.items[k].nodeid for k in failing if not self.sound[k]]
        total = sum([r.seconds for r in self.reached.values()])
        print(f"{len(self.reached)} of {len(self.items)} tests measured, {total:.0f} s", file=self.say, flush=True)
        if red:
            print("not asked, since they fail without a mutant:", *red, sep="\n  ", file=self.say, flush=True)

    def trace(self, part: range) -> dict[int, Reached]:
        """What each of these tests reaches."""
        reached, seen = {}, set()  # type: dict[int, Reached], set[int]

        def in_line(frame: Any, event: str, _: Any) -> Any:
            seen.add(self.paths[frame.f_code.co_filename] + frame.f_lineno)
            return in_line

        def in_call(frame: Any, event: str, _: Any) -> Any:
            return in_line if frame.f_code.co_filename in self.paths else None

        for k in part:
            seen.clear()
            start = time.process_time()
            sys.settrace(in_call)
            threading.settrace(in_call)
            try:
                fails = self.run(k, None)
            except BaseException:
                fails = True
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            reached[k] = Reached(time.process_time() - start, fails, sum([1 << line for line in seen]))
        return reached

    def first_to_fail(self, mutant: Mutant | None, chosen: list[int], most: float = 600.0) -> Any:
        """The first of these tests that fails; "none", or "broken" if the mutant cannot be made. ``most``: seconds of
        the processor, after which the process ends."""
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_CPU, (round(most), round(most) + 5))
        try:
            if mutant is not None:
                make(mutant)
        except Exception as error:
            return f"broken: {type(error).__name__}: {error}"
        for k, following in zip(chosen, [*chosen[1:], None], strict=True):
            try:
                if self.run(k, following):
                    return k
            except BaseException:
                return k
        return "none"

    # -- mutants

    def tests_for(self, mutant: Mutant) -> list[int]:
        """The tests that reach it, in the order in which they are asked, as many as there is time for."""
        mine, telling = [
            sum([1 << (self.paths[str(source_of(file))] + line) for file, line in lines])
            for lines in (mutant.lines, mutant.telling)
        ]
        there = {k: r for k, r in self.reached.items() if r.lines & mine and self.sound.get(k, True)}

        def order(k: int) -> Any:
            return not there[k].lines & telling, -self.caught[mutant.file, k] / (1 + there[k].seconds), there[k].seconds

        chosen, left = [], self.asked.patience
        for k in sorted(there, key=order):
            if self.reached[k].seconds <= left:
                chosen.append(k)
                left -= self.reached[k].seconds
        return chosen or [*there][:1]

    def judge(self, every: list[Mutant]) -> None:
        """Run the mutants, print what became of them."""
        shuffled = [every[k] for k in np.random.default_rng(0).permutation(len(every))]
        waiting = deque(sorted(shuffled, key=lambda m: m.kind))
        start, caught, seen, survivors = time.perf_counter(), Counter(), Counter(), []
        queue: deque[Any] = deque()

        def ask_more() -> None:
            while waiting and len(queue) < self.asked.jobs and time.perf_counter() - start < self.asked.seconds:
                mutant = waiting.popleft()
                tests = self.tests_for(mutant)
                if tests:
                    most = 5 + 3 * sum([self.reached[k].seconds for k in tests])
                    queue.append(((mutant, tests), 60 + 10 * most, self.first_to_fail, mutant, tests, most))
                else:
                    tell(mutant, "no test reaches it")

        def tell(mutant: Mutant, found: Any) -> None:
            room = room_of(mutant.file)
            if isinstance(found, str) and found.startswith("broken"):
                print(f"{mutant} could not be made: {found}", file=self.say, flush=True)
                return
            seen[room] += 1
            if isinstance(found, str):
                survivors.append(f"{mutant} ({found})")
                print("survives", survivors[-1], file=self.say, flush=True)
                return
            caught[room] += 1
            if self.asked.verbose:
                by = "its end" if found is None else self.items[found].nodeid
                print("caught", mutant, "by", by, file=self.say, flush=True)

        ask_more()
        for (mutant, tests), found in self.answers(queue):
            if mutant is None:  # is the test, which comes first, sound?
                k, (mutant, tests) = tests
                self.sound[k] = found == "none"
                found = k if self.sound[k] else None
                if not self.sound[k]:
                    print(self.items[k].nodeid, "fails alone, and is not asked any more", file=self.say, flush=True)
                    waiting.appendleft(mutant)
            elif isinstance(found, int) and found not in self.sound:
                queue.append(((None, (found, (mutant, tests))), 600, self.first_to_fail, None, [found]))
                continue
            if found is not None or mutant not in waiting:
                if isinstance(found, int):
                    self.caught[mutant.file, found] += 1
                tell(mutant, f"{len(tests)} tests" if found == "none" else found)
            ask_more()
        took = time.perf_counter() - start
        print("survivors:", *sorted(survivors) or ["none"], sep="\n  ", file=self.say)
        shares = {room: caught[room] / seen[room] for room in sorted(seen)}
        print(f"{seen.total()} of {len(every)} mutants in {took:.0f} s ({len(self.alike)} others are alike): caught",
              *[f"{room} {caught[room]} of {seen[room]}, {100 * share:.1f} %" for room, share in shares.items()],
              file=self.say, flush=True)  # fmt: skip
        self.status = int(any([share < WANTED.get(room, 0) for room, share in shares.items()]))


def answer(pipe: Any, work: Callable[..., Any], *args: Any) -> None:
    """In a process of its own."""
    pipe.send(work(*args))
    pipe.close()
    os._exit(0)


def room_of(file: str) -> str:
    return next(room for room in ROOMS if file.startswith(room + "/"))


def main() -> int:
    """Run the mutants, print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rooms, files of them, lines of these; else the rooms of WANTED")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after so long")
    parser.add_argument("--patience", type=float, default=30.0, help="seconds of tests for one mutant")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--verbose", action="store_true", help="also who has caught what")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--tests", nargs="*", help="files of tests, instead of the room's")
    asked = parser.parse_args()
    if not hasattr(os, "fork"):
        print("this needs processes that can be forked: Linux or macOS")
        return 0
    asked.names = asked.names or list(WANTED)
    rooms = [room for room in ROOMS if any([f"{name}/".startswith(room + "/") or room.startswith(name)
                                            for name in asked.names])]  # fmt: skip
    patterns = [pattern for room in rooms for pattern in ROOMS[room][0]]
    files = sorted({str(path.relative_to(ROOT / "autoflow")) for p in patterns for path in source_of(p).parent.glob(
        source_of(p).name) if path.suffix == ".py" and path.name != "__init__.py"})  # fmt: skip
    files = [file for file in files if any([file.startswith(n) or n.startswith(file) for n in asked.names])]
    if not files:
        print("no such file:", *asked.names)
        return 1
    tests = asked.tests or [test for room in rooms for test in ROOMS[room][1]]
    examples = [f"test_docs.py::test_docstrings[{name_of(file)}]" for file in files]
    say = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sys.stdout.flush()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    judge = Judge(files, asked, say)
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
    pytest.main([*options, *[str(HERE / test) for test in dict.fromkeys([*examples, *tests])]], plugins=[judge])
    say.flush()
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
