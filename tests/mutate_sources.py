"""Are the tests of optimisers, networks, af.vmap and af.compile any good? Change their source in one place and see
whether a test notices.

    python tests/mutate_sources.py                all of TESTS
    python tests/mutate_sources.py batching       one room, or one file: nn/losses.py
    python tests/mutate_sources.py --seconds 60   as many mutants as fit, evenly spread

The rows of the table, those of nn among them, are tests/mutate.py's. Here the mutants are: + for −, · for /, another
NumPy function of the same arguments, a condition negated, a sign dropped, a number one larger; not in messages. In
the rooms of GUARDED a doubt or a refusal that does not happen, a copy that is not made, and a condition negated. A
mutant is the function's code alone, exchanged in a process of its own where the tests of its file then run until
one fails. Printed: how many are caught, and the survivors. The exit status is 1 if they are fewer than WANTED.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import io
import multiprocessing
import os
import sys
import time
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
GUARDED = ("batching/", "compiler/")
WANTED = {
    "optim": 0.90,
    "nn": 0.80,
}  # LSTM and layers are compared with PyTorch only where it is installed
BROKEN = 99  # exit status
Mutant = tuple[str, int, str]  # file, number of the place in it, what is done there

# The files, and whose tests are theirs; the examples of the docstrings come first.
TESTS = {
    "optim/base.py": ["optim/test_optim.py"],
    "optim/optimisers.py": ["optim/test_optim.py", "optim/test_lbfgs.py"],
    "optim/schedules.py": ["optim/test_optim.py", "optim/test_accumulation.py", "optim/test_precision.py"],
    "nn/functions.py": ["nn/test_functions.py", "nn/test_fused.py", "nn/test_layers.py"],
    "nn/init.py": ["nn/test_layers.py"],
    "nn/layers.py": ["nn/test_layers.py", "nn/test_attention.py"],
    "nn/losses.py": ["nn/test_functions.py", "nn/test_layers.py"],
    **{f"batching/{name}.py": ["batching/test_writes.py", "batching/test_corners.py", "batching/test_definition.py",
                               "batching/test_vmap.py"]
       for name in ("batched", "definition", "forms", "looping", "places", "products", "shapes", "vmap")},
    **{f"compiler/trace/{name}.py": ["batching/test_corners.py", "compiler/test_doubts.py", "compiler/test_outside.py",
                                     "compiler/test_memory.py", "compiler/test_identity.py"]
       for name in ("doubts", "guards", "memory", "reachable", "recorded", "tape", "traced")},
}  # fmt: skip
ELSEWHERE = {"_clip_there": "for arrays on a device: tests/backends"}  # functions that these tests do not reach
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
FUNCTIONS = {
    "add": "subtract", "subtract": "add", "multiply": "divide", "divide": "multiply", "maximum": "minimum",
    "minimum": "maximum", "sqrt": "square", "exp": "expm1", "log": "log1p", "sum": "mean", "mean": "sum", "max": "min",
}  # fmt: skip


def changed(node: ast.AST) -> tuple[str, ast.AST] | None:
    """What is done to a node of the source, and the node it becomes; None if nothing is."""
    new: Any = copy.copy(node)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        new.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "np" and node.attr in FUNCTIONS:
        new.attr = FUNCTIONS[node.attr]
    elif isinstance(node, (ast.If, ast.IfExp)):
        new.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        return f"not {ast.unparse(node.test)}", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        new = node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        new.value = node.value + 1
    else:
        return None
    return f"{ast.unparse(node)} → {ast.unparse(new)}", new


def unguarded(node: ast.AST) -> tuple[str, ast.AST] | None:
    """The same for code that doubts, refuses, compares and copies."""
    new: Any = copy.copy(node)
    if isinstance(node, ast.Expr) and getattr(getattr(node.value, "func", None), "attr", "") == "doubt":
        return f"without {ast.unparse(node)[:60]}", ast.copy_location(ast.Pass(), node)
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
        new.test = ast.copy_location(ast.Constant(False), node.test)
        return f"never {ast.unparse(node.test)}", new
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "copy":
        return f"no copy: {ast.unparse(node)}", node.func.value  # type: ignore[attr-defined]
    return changed(node) if isinstance(node, (ast.If, ast.IfExp)) else None


class Change(ast.NodeTransformer):
    """Counts the places that can be changed, and changes one of them."""

    def __init__(self, file: str, wanted: int = -1) -> None:
        self.wanted, self.found = wanted, []  # type: tuple[int, list[tuple[int, str]]]
        self.changed = unguarded if file.startswith(GUARDED) else changed
        self.inside = False

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.arguments, ast.AnnAssign)) or self.is_skipped(node):
            return node
        if isinstance(node, ast.FunctionDef):
            if node.name in ELSEWHERE:
                return node
            outside, self.inside = self.inside, True
            node.body = [self.visit(statement) for statement in node.body]  # not its decorators
            self.inside = outside
            return node
        if self.inside and (done := self.changed(node)) is not None:
            self.found.append((node.lineno, done[0]))  # type: ignore[attr-defined]
            if len(self.found) - 1 == self.wanted:
                return done[1]
        return self.generic_visit(node)

    def is_skipped(self, node: ast.AST) -> bool:
        """Is it a check that only raises? Its negation would be noticed at once, and says nothing."""
        raises = isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and not node.orelse
        return raises and self.changed is changed


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and all inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes(inner)


def exchange(file: str, place: int) -> None:
    """Give the functions of a file the code of a mutant."""
    path = ROOT / "autoflow" / file
    tree = Change(file, place).visit(ast.parse(path.read_text(encoding="utf-8")))
    new = {(c.co_qualname, c.co_firstlineno): c for c in codes(compile(tree, str(path), "exec"))}
    gc.unfreeze()  # or the collector would not name what was there before
    ours = [f for f in gc.get_objects() if isinstance(f, types.FunctionType) and f.__code__.co_filename == str(path)]
    if len(ours) < 2:
        raise RuntimeError(f"{path} has no functions that could be exchanged")
    gc.freeze()
    for f in ours:
        f.__code__ = new[f.__code__.co_qualname, f.__code__.co_firstlineno]


def tests_of(file: str) -> list[str]:
    """Arguments for pytest."""
    examples = f"test_docs.py::test_docstrings[autoflow.{file.removesuffix('.py').replace('/', '.')}]"
    return [str(HERE / test) for test in (examples, *TESTS[file])]


def quietly(arguments: list[str]) -> int:
    """pytest's exit status; nothing is printed."""
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for all of the process
    os.dup2(sys.stdout.fileno(), 1)
    os.dup2(sys.stdout.fileno(), 2)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not peers", "--tb=no"]
    return int(pytest.main([*options, *arguments]))


def run(file: str, place: int) -> None:
    """In a process of its own: exit status 0 if no test failed."""
    try:
        if place >= 0:
            exchange(file, place)
    except Exception:  # nothing was tried: not to be taken for a mutant that was caught
        os._exit(BROKEN)
    os._exit(quietly(tests_of(file)))


def noticed(file: str, place: int, patience: float) -> bool:
    """Does a test fail, or not end?"""
    process = multiprocessing.get_context("fork").Process(target=run, args=(file, place))
    process.start()
    process.join(patience)
    if process.is_alive():
        process.kill()
        process.join()
    if process.exitcode == BROKEN:
        raise RuntimeError(f"{file}: mutant {place} could not be made")
    return process.exitcode != 0


def mutants(files: list[str]) -> list[Mutant]:
    """All of them."""
    found: list[Mutant] = []
    for file in files:
        counter = Change(file)
        counter.visit(ast.parse((ROOT / "autoflow" / file).read_text(encoding="utf-8")))
        found += [(file, place, f"{line}: {what}") for place, (line, what) in enumerate(counter.found)]
    return found


def main() -> int:
    """Run the mutants, print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="rooms, or files of them; without any, the rooms of WANTED")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after so long")
    parser.add_argument("--patience", type=float, default=120.0, help="longest time for one mutant")
    asked = parser.parse_args()
    if not hasattr(os, "fork"):
        print("this needs processes that can be forked: Linux or macOS")
        return 0
    sys.path[:0] = [str(HERE / "support"), str(HERE)]
    files = [file for file in TESTS if file.startswith(tuple(asked.names or WANTED))]
    with contextlib.redirect_stdout(io.StringIO()):  # what the tests import is loaded once, before the forks
        pytest.main(["--collect-only", *{test for file in files for test in tests_of(file)}])
    gc.collect()
    gc.freeze()  # the collector of a fork does not look at, and so copy, what was there before
    red = [file for file in files if noticed(file, -1, asked.patience)]
    if red or not files:
        print("the tests fail without a mutant:" if red else "no such file:", *red or asked.names)
        return 1
    every = mutants(files)
    start, caught, seen, survivors = time.perf_counter(), Counter(), Counter(), []
    for k in np.random.default_rng(0).permutation(len(every)):
        if time.perf_counter() - start > asked.seconds:
            break
        file, place, what = every[k]
        package = file.partition("/")[0]
        seen[package] += 1
        if noticed(file, place, asked.patience):
            caught[package] += 1
        else:
            survivors.append(f"{file}:{what}")
    took = time.perf_counter() - start
    print("survivors:", *sorted(survivors) or ["none"], sep="\n  ")
    shares = {package: caught[package] / seen[package] for package in sorted(seen)}
    print(f"{seen.total()} of {len(every)} mutants in {took:.0f} s, caught:",
          *[f"{package} {100 * share:.1f} %" for package, share in shares.items()])  # fmt: skip
    return int(any([share < WANTED.get(package, 0) for package, share in shares.items()]))


if __name__ == "__main__":
    sys.exit(main())
