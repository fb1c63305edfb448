"""Turns of loops: where a picture names one, it is the one in which the operation was computed."""

import ast
import asyncio
import linecache
import os
import random
import re
import sys
from functools import partial

import numpy as np
import pytest
from naming import operations_of, traced
from processes import alone
from threads import in_threads

import autoflow as af
from autoflow.program import watch
from autoflow.program.callers import OWN
from autoflow.program.turns import Turns

TOLD = re.compile(r"(\w+): (?:(\w+) = (\S+), )?iteration (\d+)(?: of (\d+))?$")
SEEDS = range(400 if "AUTOFLOW_NIGHTLY" in os.environ else 40)


def turns_of(node, kind=Turns):
    """The turns of all operations behind a node, by their records."""
    turns = kind()
    return {id(r): turns.of(r) for r in operations_of(node)}


class Named(Turns):
    """Says the loop with each turn, as the programs below call it."""

    def told(self, place, loop):
        if isinstance(loop, ast.While):
            line = linecache.getlines(place.code.co_filename)[loop.lineno - 2]  # v3_run = [0]
            return f"{line.split('_')[0].strip()}: {super().told(place, loop)}"
        return f"{getattr(loop.target, 'elts', [loop.target])[0].id}: {super().told(place, loop)}"


class Author:
    """Writes a program at random that counts the turns of its loops itself, and notes them with each operation.

    ``a_run`` is a list with the number of turns of one run of the loop over a, ``a_turn`` tells of the turns around.
    """

    def __init__(self, seed):
        self.random, self.count, self.functions, self.loops = random.Random(seed), 0, [], 0

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def block(self, now, deep, most=3):
        return [line for _ in range(self.random.randint(1, most)) for line in self.statement(now, deep)]

    def statement(self, now, deep):
        inside = now != "L"
        odd = f"(len(notes) + {self.random.randint(0, 3)}) % {self.random.randint(2, 4)} == 0"
        kinds = ["step", "step", "square", "lambda", "comprehension", "inner"]
        kinds += ["jump", *["if", "try"] * (deep < 5)] if inside else []  # Python takes twenty blocks in each other
        kinds += ["for", "for", "while", "while", "function"] if deep < 3 and self.count < 25 else []
        match self.random.choice(kinds):
            case "step":
                return [f"x = note(x * 0.9, {now})"]
            case "square":
                return [f"x = note(x + note(leaf * x, {now}), {now})"]
            case "lambda":
                return [f"x = (lambda v: note(v - 0.1, {now}))(x)"]
            case "comprehension":
                k, m = self.new(), self.new()
                own, made = (
                    f"('{k}', {k}, {k}_run, {k}_run[0])",
                    f"for {k} in range(1, 4) if tick({k}_run) and {k} != 2",
                )
                if self.random.random() < 0.5:
                    own += f", ('{m}', {m}, {m}_runs[-1], {m}_runs[-1][0])"
                    made += f" and not {m}_runs.append([0]) for {m} in (0.2, 0.3) if tick({m}_runs[-1])"
                return [f"{k}_run, {m}_runs = [0], []", f"x = sum([note(x * {k}, (*{now}, {own})) {made}])"]
            case "inner":
                f = self.new()
                return [f"def {f}(v):", f"    return note(v * 0.8, {now})",
                        f"x = {self.random.choice([f'{f}(x)', f'sum(map({f}, [x] * 2))'])}"]  # fmt: skip
            case "if":
                other = ["else:", *indent(self.block(now, deep + 1, 2))] * self.random.randint(0, 1)
                return [f"if {odd}:", *indent(self.block(now, deep + 1, 2)), *other]
            case "jump":
                return [f"if {odd}:", f"    {self.random.choice(['continue', 'break'])}"]
            case "try":
                return ["try:", *indent(self.block(now, deep + 1, 2)), f"    if {odd}:", "        raise ValueError",
                        "except ValueError:", *indent(self.block(now, deep + 1, 2)),
                        *self.random.choice([["finally:", *indent(self.block(now, deep + 1, 1))], []])]  # fmt: skip
            case "function":
                return self.function(now, deep)
        return self.loop(now, deep)

    def loop(self, now, deep):
        self.loops += 1
        v, kind = self.new(), self.random.choice(["for", "for", "while", "whole", "true", "with"])
        own = f"{v}_turn"
        if kind == "for":
            values = self.random.choice(
                ["range(3)", "range(many)", "range(1, many + 2)", "range(5, 0, -2)", "(4, 7)", "list(range(2))"]
            )
            target, values = self.random.choice([(v, values), (f"{v}, _", f"enumerate({values})")])
            head, known = f"for {target} in {values}:", f"'{v}', {v}"
        else:
            n = self.random.randint(1, 4)
            head = f"while {v}_run[0] < {n}:" if kind != "true" else "while True:"
            head = f"while (x := note(x * 0.9, {now})) is not None and {v}_run[0] < {n}:" if kind == "with" else head
            known = f"'{v}', None"
            if kind == "whole":  # the body begins with whatever comes
                body = self.block(f"(*{now}, ('{v}', None, {v}_run, {v}_run[0]))", deep + 1)
                return [f"{v}_run = [0]", f"while goes_on({v}_run, {n}):", *indent(body)]
        begin = [
            f"{v}_run[0] += 1",
            f"{own} = (*{now}, ({known}, {v}_run, {v}_run[0]))",
            f"if {v}_run[0] > 3:",
            "    break",
        ]
        body = self.block(own, deep + 1)
        other = ["else:", f"    x = note(x + 0.1, {now})"] * self.random.randint(0, 1)
        return [f"{v}_run = [0]", head, *indent(begin + body), *other]

    def function(self, now, deep):
        """A function with loops of its own, that is called here: plain, a generator, a coroutine, by itself again."""
        f, kind = self.new(), self.random.choice(["plain", "generator", "coroutine", "recursive"])
        body = self.loop("L", deep + 1) + self.block("L", deep + 1, 1)
        head = f"def {f}(x, L, many):"
        if kind == "generator":
            self.functions += [head, *indent([*body, "yield x", *self.loop("L", deep + 1), "yield x"])]
            v = self.new()
            return [f"for {v} in {f}(x, {now}, many):", f"    x = x + {v}"]
        if kind == "coroutine":
            self.functions += [f"async {head}", *indent([*body, "await asyncio.sleep(0)", *self.loop("L", deep + 1)]),
                               "    return x"]  # fmt: skip
            return [f"x = asyncio.run({f}(x, {now}, many))"]
        again = ["if many > 1:", f"    x = {f}(x, L, many - 1)"] if kind == "recursive" else []
        self.functions += [head, *indent([*body, *again]), "    return x"]
        return [f"x = {f}(x, {now}, many)"]

    def program(self):
        lines = self.loop("L", 0) + self.block("L", 0)
        run = ["def run(x, L, many):", *indent(lines), "    return note(x * leaf, L)"]
        return "\n".join([*self.functions, *run, ""])


def indent(lines):
    return [f"    {line}" for line in lines]


class Trial:
    """A program that has run, and what it has noted."""

    def __init__(self, seed):
        self.notes, self.text = {}, Author(seed).program()
        name = f"<turns {seed}>"
        linecache.cache[name] = len(self.text), None, self.text.splitlines(True), name
        self.names = {"leaf": af.Variable(0.9), "note": self.note, "tick": tick, "goes_on": goes_on,
                      "asyncio": asyncio, "notes": self.notes}  # fmt: skip
        exec(compile(self.text, name, "exec"), self.names)

    def note(self, x, turns):
        self.notes.setdefault(id(x.grad_fn), (x, turns))
        return x

    def run(self):
        with np.errstate(all="ignore"):
            return self.names["run"](self.names["leaf"] * 1.0, (), 2)

    def check(self, end):
        """Compare what is told with what was noted; returns how many turns are told, of how many."""
        told = turns_of(end, Named)
        right, all_of_them = 0, 0
        for key, (_, truth) in self.notes.items():
            found = [TOLD.match(text).groups() for text in told.get(key, ())]
            known = {loop: (value, run, n) for loop, value, run, n in truth}
            loops = [loop for loop, *_ in found]
            assert loops == [loop for loop in known if loop in loops], (self.text, found, truth)
            for loop, name, was, n, of in found:
                value, run, turn = known[loop]
                assert name in (None, loop), (self.text, found, truth)
                assert name is None or was == str(value), (self.text, found, truth)
                assert int(n) == turn, (self.text, found, truth)
                assert of is None or int(of) == run[0], (self.text, found, truth)
            all_of_them += len(truth) if key in told else 0
            right += len(found)
        return np.array([right, all_of_them])


def tick(run):
    run[0] += 1
    return run[0]


def goes_on(run, most):
    return run[0] < most and bool(tick(run))


def test_a_turn_that_is_told_is_the_turn_in_which_it_was():
    told = np.zeros(2, int)
    for seed in SEEDS:
        trial = Trial(seed)
        with af.trace():
            end = trial.run()
        told += trial.check(end)
    assert told[0] > 0.5 * told[1] > 500, told


def step(x):
    for k in range(2):  # noqa: B007 - it is told
        x = x * 0.9
    return x


def texts(node):
    return list(dict.fromkeys(turns_of(node).values()))


def test_a_loop_in_progress_does_not_say_of_how_many():
    x, seen = af.Variable(0.5), []
    with af.trace():
        for t in range(3):
            x = x * 0.5
            if t == 1:
                seen = texts(x)
    assert sorted(seen) == [("t = 0, iteration 1",), ("t = 1, iteration 2",)]
    assert sorted(texts(x)) == [(f"t = {t}, iteration {t + 1} of 3",) for t in range(3)]


def test_a_range_of_ones_own_and_a_variable_that_is_set_have_turns_and_no_values():
    def range(n):
        return [10, 20, 30][:n]

    def counted(enumerate, x):
        for k, _ in enumerate([1.0, 2.0]):
            x = x * k
        return x

    def moved(x):
        for k in (1.0, 2.0):
            k += 5.0
            x = x * k
        return x

    x = af.Variable(0.5)
    with af.trace():
        for t in range(2):
            x = x * t
        x = counted(lambda items: [(5, v) for v in items], x)
        x = moved(x)
    assert sorted(texts(x)) == [(f"iteration {k} of 2",) for k in (1, 2)]


def test_of_a_loop_that_was_running_already_nothing_is_told():
    x, watched = af.Variable(0.5), af.trace()
    for t in range(4):
        if t == 1:
            watched.__enter__()
        x = step(x)
    watched.__exit__(None, None, None)
    inner = {(f"k = {k}, iteration {k + 1} of 2",) for k in range(2)}
    assert inner <= set(texts(x)) <= inner | {()}


def test_threads_know_their_own_turns():
    x, many = af.Variable(0.5), (2, 3, 4)

    def work(n):
        with af.trace():
            y = x
            for t in range(n):  # noqa: B007 - it is told
                y = y * 0.5
        return y

    for n, y in zip(many, in_threads(*[partial(work, n) for n in many]), strict=True):
        assert sorted(texts(y)) == [(f"t = {t}, iteration {t + 1} of {n}",) for t in range(n)]


def test_what_a_generator_computes_is_in_its_own_turns_only():
    def halves(x):
        for k in range(4):  # noqa: B007 - it is told
            x = x * 0.5
            yield x

    with af.trace():
        source = halves(af.Variable(8.0))
        for _ in range(2):
            next(source)
            y = next(source)
    told = {text for texts in turns_of(y).values() for text in texts}
    known = {f"k = {k}, iteration {k + 1}" for k in range(4)}
    assert told == known if sys.version_info >= (3, 12) else told <= known  # 3.11: a generator is not watched


def test_what_is_taken_of_a_generator_at_once_is_in_the_turn_of_its_loop():
    def repeated(w, h):
        for _ in range(3):
            a, b = (np.sin(h * w * k) for k in (1, 2))
            h = sum(x * a for x in tuple(h + k for k in (1, 2))) + max(np.stack([*(b * k for k in (1, 2))]))
        return h

    with af.trace():
        h = repeated(af.Variable(0.5), 1.0)
    assert {sum([text.endswith("of 3") for text in texts]) for texts in turns_of(h).values()} == {1}


def test_where_a_debugger_is_at_work_no_turn_is_told():
    def tracer(frame, event, arg):
        return tracer

    x = af.Variable(0.5)
    with traced(tracer), af.trace():
        y = step(x)
    assert texts(y) == [()]
    with af.trace():
        for t in range(4):  # one that comes in the middle, and goes
            if t == 1:
                sys._getframe().f_trace = tracer
            if t == 2:
                sys._getframe().f_trace = None
            x = x * 0.5
    told = {text for texts in turns_of(x).values() for text in texts}
    assert {text.partition(" of")[0] for text in told} <= {"t = 0, iteration 1"}


def test_nothing_is_watched_unasked():
    assert texts(step(af.Variable(0.5))) == [()] or sys.version_info >= (3, 12)  # watched in the tests before
    program = (
        "import sys, autoflow as af\nprint(sys.gettrace(), {*map(sys.monitoring.get_tool, range(6))} - {'coverage.py'})"
    )
    if sys.version_info >= (3, 12):
        assert alone(program) == "None {None}\n"


def test_loops_that_are_pythons_alone_are_not_watched_for_long():
    def run(x, many):
        total = 0
        for k in range(many):
            total += k
        for t in range(many):  # noqa: B007 - it is told
            x = x * 0.999
        return x + 0.0 * total

    def loop(x, many):
        for k in range(many):
            if k == many - 1:
                x = x * 0.5
        return x

    with af.trace():
        long, short = run(af.Variable(0.5), 1500), loop(af.Variable(0.5), 3)
        few = texts(short)
        late = loop(af.Variable(0.5), 1500)
    assert {(), ("t = 1499, iteration 1500 of 1500",)} <= set(texts(long))
    assert few == [("k = 2, iteration 3 of 3",)]
    if sys.version_info < (3, 12):
        return
    assert texts(late) == texts(short) == [()]  # what is not seen to the end is not told
    events = [watch.EVENTS[id(f.__code__)][1] for f in (run, loop)]
    assert [len({event[1] for x in known.values() for event in x}) for known in events] == [1, 0]


def test_notebooks_are_watched_from_the_beginning():
    pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    program = (
        "from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance(); import autoflow;"
        "s.run_cell('import autoflow as af; y = af.Variable(2.0)\\nfor t in range(2): y = y * 0.5');"
        "s.run_cell('for t in y.steps(): print(t)')"
    )
    shown = alone(program)
    assert ("t = 1, iteration 2 of 2" in shown) == (sys.version_info >= (3, 12)), shown


def test_a_function_is_drawn_with_a_box_for_each_turn():
    def newton(x):
        for t in range(9):  # noqa: B007 - it is told
            error = x * x - 2.0
            x = x - error / (2.0 * x)
        return x

    g = af.draw(newton, af.Variable(3.0, name="x"), merge=False)
    assert {v.scope for v in g.nodes if v.kind == "Operation"} == {
        ("for t in range(9)", f"t = {t}") for t in range(9)
    }  # fmt: skip
    assert [v.fold.told[0] for v in g.drawn.nodes if v.fold] == ["t = 1 … t = 7"]
    assert set(g.told.values()) == {"9 turns", ""}


def test_a_turn_that_is_one_call_is_one_box_with_it():
    def run(x):
        for _ in range(2):
            x = step(np.tanh(step(x)))
        for t in range(2):  # noqa: B007 - it is told
            x = step(x)
        return x

    g = af.draw(run, af.Variable(0.5, name="x"), merge=False)
    found = {v.scope for v in g.nodes if v.kind == "Operation"}
    assert {scope[0] for scope in found if scope[0][0] == "t"} == {
        f"t = {t} · step(x) · for k in range(2)" for t in range(2)
    }  # fmt: skip
    assert {scope[:2] for scope in found if scope[0] == "for _ in range(2)"} == {
        ("for _ in range(2)", "iteration 1"), ("for _ in range(2)", "iteration 2"),
    }  # fmt: skip


def test_steps_say_the_turn_forwards_and_backwards():
    w = af.Variable(0.5)
    x = w
    with af.trace():
        for t in range(3):  # noqa: B007 - it is told
            x = x * w
    captions = [(step.phase, step.caption) for step in x.step() if "iteration" in step.caption]
    turns = [(phase, caption.partition(":")[0]) for phase, caption in captions]
    forth = [("forward", f"t = {t}, iteration {t + 1} of 3") for t in range(3)]
    back = [("backward", text) for _, text in reversed(forth)]
    assert turns == [*forth, ("seed", forth[-1][1]), *back]


def test_drawing_a_function_adds_no_call_of_ours():
    def scaled(x):
        for _ in range(2):
            x = x * 2.0
        return x

    def product(x):
        kept.append(scaled(x) * scaled(x))
        return kept[-1]

    kept = []
    drawn, plain = [
        {v.title for v in way(product, af.Variable(2.0, name="x")).nodes}
        for way in (af.draw, lambda f, x: af.draw(f(x)))
    ]  # fmt: skip
    assert drawn == plain
    for node in kept:
        place = node.grad_fn.place
        while place is not None:
            assert not place.code.co_filename.startswith(OWN), place.code
            place = place.parent


class Growing:
    def __init__(self):
        self.rate = af.Variable(2.0)

    def run(self, x, n):
        for _ in range(n):
            x = x * self.rate
        return x, n


def test_a_watched_method_keeps_its_variables():
    """On Python 3.11 what a tracer leaves in ``f_locals`` becomes the variables."""
    growing = Growing()
    with af.trace():
        y, n = growing.run(af.Variable(1.0), 3)
    assert (float(y), n) == (8.0, 3)
