"""Turns of loops: where the steps name one, it is the one in which the operation was computed."""

import linecache
import os
import random
import re

import numpy as np

import autoflow as af
from autoflow.nodes.records import ancestors
from autoflow.program.names import Program
from autoflow.program.turns import RUN, Turns

TOLD = re.compile(r"(?:(\w+) = (\S+), )?iteration (\d+) of (\d+)")
FUNCTIONS = """
def double(v):
    w = v * 2.0
    return note(w + 0.5, **now)

class Scale:
    def __init__(self, k):
        self.k = k
    def __call__(self, v):
        return note(v * self.k, **now)

scale = Scale(0.5)
n = 3
"""


def turns_of(node):
    """The turns of all operations behind a node, by their records."""
    everything = list(ancestors(node.grad_fn))
    records = [r for r in everything if r.parents]
    turns = Turns(Program(everything), records)
    return {id(r): turns.of(r) for r in records}


class Author:
    """Writes a program with loops at random, in which each operation notes the values of the loops' variables."""

    def __init__(self, seed):
        self.random, self.names = random.Random(seed), iter("abcdefghij")

    def block(self, loops, deep):
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement(loops, deep)]
        return lines or ["pass"]

    def statement(self, loops, deep):
        noted = ", ".join([f"{name}={name}" for name in loops])
        odd = f"({' + '.join(loops or ['1'])} + {self.random.randint(0, 2)}) % {self.random.randint(2, 3)} == 0"
        kinds = ["step", "step", "step", "square", "call", "method", "map", "sum", "lambda", "begin"]
        kinds += ["if", "jump", "try"] if loops else []
        kinds += ["loop", "loop"] if deep < 3 else []
        now = f"now.clear(); now.update({noted})"
        match self.random.choice(kinds):
            case "step":
                return [f"x = note(x * 1.5, {noted})"]
            case "square":
                return [f"x = note(x + note(leaf * x, {noted}), {noted})"]
            case "begin":  # what was computed before is no longer in the graph
                return [f"x = note(leaf * 1.0, {noted})"]
            case "call":
                return [now, "x = double(x)"]
            case "method":
                return [now, "x = scale(x)"]
            case "map":
                return [now, f"x = sum(map(double, [x] * {self.random.randint(1, 3)}))"]
            case "sum":
                return [f"x = sum([note(x * k, {noted}) for k in range(1, 3)])"]
            case "lambda":
                return [now, f"x = (lambda v: note(v - 1.0, {noted}))(x)"]
            case "if":
                return [f"if {odd}:", *indent(self.block(loops, deep))]
            case "jump":
                return [f"if {odd}:", f"    {self.random.choice(['continue', 'break'])}"]
            case "try":
                failed = [f"x = note(x * 2.0, {noted})"]
                return ["try:", *indent(self.block(loops, deep)), f"    if {odd}:", "        raise ValueError",
                        "except ValueError:", *indent(failed), "finally:", *indent(failed)]  # fmt: skip
        name = next(self.names, None)
        if name is None:
            return ["x = x * 1.0"]
        values = self.random.choice(
            ["range(3)", "range(n)", "range(many)", "range(1, 6, 2)", "(4, 7)", "list(range(2))"]
        )
        return [f"for {name} in {values}:", *indent(self.block([*loops, name], deep + 1))]

    def program(self):
        lines = ["def run(x, many):", *indent(self.statement([], 0) + self.block([], 0)), "    return note(x * leaf)"]
        return "\n".join([FUNCTIONS, *lines, "end = run(leaf * 1.0, 2)", ""])


def indent(lines):
    return [f"    {line}" for line in lines]


def check(seed):
    """Run a program, and compare what is told with what it noted; how often that was."""
    text, name, truth = Author(seed).program(), f"<turns {seed}>", {}

    def note(x, **loops):
        truth[id(x.grad_fn)] = x, dict(loops)
        return x

    linecache.cache[name] = len(text), None, text.splitlines(True), name
    names = {"leaf": af.Variable(0.9), "note": note, "now": {}}
    with np.errstate(all="ignore"):
        exec(compile(text, name, "exec"), names)
    told = [(key, found.groups()) for key, texts in turns_of(names["end"]).items() for found in map(TOLD.search, texts)
            if found is not None]  # fmt: skip
    compared = [(truth[key][1][variable], value) for key, (variable, value, _, _) in told
                if variable in truth.get(key, (0, {}))[1]]  # fmt: skip
    assert all([str(was) == value for was, value in compared]), (text, compared)
    return len(compared)


def test_a_turn_that_is_told_is_the_turn_in_which_it_was():
    assert sum(map(check, range(300 if "AUTOFLOW_NIGHTLY" in os.environ else 40))) > 100


def test_loops_that_the_program_counts():
    def run(w, many):
        x = w * 1.0
        n = 2
        for t in range(3):  # noqa: B007 - it is told
            x = np.tanh(w * x)
        for k in range(n):
            x = x + w * k
        for _ in range(many):
            for c in ("up", "down"):  # noqa: B007 - it is told
                x = x * w
        return x

    w = af.Variable(0.5)
    found = list(dict.fromkeys(turns_of(run(w, 2)).values()))
    assert sorted(found) == sorted([
        (), *[(f"t = {t}, iteration {t + 1} of 3",) for t in range(3)],
        *[(f"k = {k}, iteration {k + 1} of 2",) for k in range(2)],
        *[(f"iteration {k + 1} of 2", f'c = "{c}", iteration {j + 1} of 2')
          for k in range(2) for j, c in enumerate(("up", "down"))],
    ])  # fmt: skip


def test_what_is_not_certain_is_not_called_a_turn():
    w, x = af.Variable(0.5), af.Variable(2.0)
    while x > 1.0:
        x = x * w + 0.1
    texts = {text for texts in turns_of(x).values() for text in texts}
    assert texts == {f"while x > 1.0{RUN}{k} of 2" for k in (1, 2)}
    n = 3
    for k in range(n):  # noqa: B007 - it is told
        n = 7  # so the name does not say how often
        x = x * w
    assert not [text for texts in turns_of(x).values() for text in texts if "iteration" in text]
    for k in range(3):  # the first is not in the graph
        x = x * w if k else w * 1.0
    assert {text for texts in turns_of(x).values() for text in texts} == {
        f"for k in range(3){RUN}{k} of 2" for k in (1, 2)
    }


def test_steps_say_the_turn_forwards_and_backwards():
    w = af.Variable(0.5)
    x = w
    for t in range(3):  # noqa: B007 - it is told
        x = x * w
    captions = [(step.phase, step.caption) for step in x.step() if "iteration" in step.caption]
    turns = [(phase, caption.partition(":")[0]) for phase, caption in captions]
    forth = [("forward", f"t = {t}, iteration {t + 1} of 3") for t in range(3)]
    back = [("backward", text) for _, text in reversed(forth)]
    assert turns == [*forth, ("seed", forth[-1][1]), *back]
