"""Graphs are freed with little stack, whatever their shape, by reference counts and by the garbage collector."""

import ast
import gc
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import numpy as np
import pytest
from interrupts import UNSEEN, interrupt

import autoflow as af
from autoflow.nodes import versions

PROGRAMS = """
    import gc, sys, threading
    import numpy as np
    import autoflow as af

    def chain(others, along=1, n=4_000):
        y, side = af.Variable(2.0), af.Variable(1.0)
        for _ in range(n // along):
            for _ in range(along):
                y = y * 1.0
            for _ in range(others):
                side * 1.0
        return y

    def arrays(n=10_000):
        y = af.Variable([1.0, 2.0])
        for k in range(n):
            y = np.sin(y) if k % 2 else 1.0 + y
        return y

    def functions(n=4_000):
        y = af.Variable([1.0, 2.0])
        with af.scope("layer"):
            for _ in range(n):
                y = np.sort(y).astype(np.float64)
        return y

    def written(n=4_000):
        y = af.Variable([1.0, 2.0]) * 1.0
        for _ in range(n):
            y *= 1.0
        return y

    def views(n=10_000, base=1.0):
        y = af.Variable(np.ones(3)) * base
        for k in range(n):
            y = y[::-1] if k % 2 else y.T
        return y

    def views_of_constants(n=10_000):
        with af.no_grad():
            return views(n)

    def written_through_views(n=1_000):
        y = views(n)
        y += 1.0
        return y

    def cycle(collected_before):
        y = chain(0, n=10_000)
        if collected_before:
            gc.collect()
        y = y * chain(0, n=10_000)
        around = [y]
        around.append(around)
        del y, around
        gc.collect()
        assert not gc.callbacks
"""

WORK = [
    "chain(0, n=50_000)", "chain(1)", "chain(4, along=3)", "chain(60)", "chain(63)", "chain(127)", "chain(125, 125)",
    "arrays()", "functions()", "written()", "views()",
    "views_of_constants()", "written_through_views()", "cycle(False)", "cycle(True)",
]  # fmt: skip

FRAME = """
    gc.set_threshold(100_000, 10, 10)
    def work():
        {work}
        done.append(True)

    done = []
    threading.stack_size(256 * 1024)
    sys.setrecursionlimit(200)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print("done" if done else "")
"""


def run(*work):
    """Exit status and output of these statements on a stack of 256 KB, in a process of its own."""
    program = textwrap.dedent(PROGRAMS) + textwrap.dedent(FRAME).format(work="; ".join(work))
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    return ran.returncode, ran.stdout.strip() or ran.stderr[-1000:]


def test_graphs_of_many_shapes_are_freed_with_little_stack():
    """All in one process: if one dies, the next test says which."""
    assert run(*WORK) == (0, "done")


@pytest.mark.nightly
@pytest.mark.parametrize("work", WORK)
def test_each(work):
    assert run(work) == (0, "done")


@pytest.mark.skipif(sys.version_info[:2] != (3, 13), reason="another Python does not nest so deeply")
def test_without_releases_python_dies():
    """The tests above can fail."""
    without = "from itertools import *; import autoflow.forward.closures as o; o.NEW = zip(count(), repeat(None))"
    assert run(without, "chain(0)")[0] != 0


def test_200_000_operations_are_freed():
    """In this process, so also in a browser, whose stack ends after some thousand."""
    x = af.Variable(1.0)
    y = x
    for _ in range(200_000):
        y = y + 1.0
    y.backward()
    assert x.grad == 1.0
    here = weakref.ref(x)
    del x, y
    assert here() is None
    assert not versions.FREED.waiting


def test_an_interrupt_while_a_graph_is_freed_stops_no_later_freeing():
    """Wherever it comes: the next graph goes at once, and with it what was left of this one."""

    def graph():
        y = af.Variable(np.ones(3))
        for _ in range(1_000):
            y = y * 1.0
        return [y]

    before = len(UNSEEN)
    for place in range(interrupt(graph().clear, sys.maxsize)):
        interrupt(graph().clear, place)
        graph().clear()
        assert not versions.FREED.waiting, place
    assert len(UNSEEN) > before


def test_what_the_collector_finds_goes_at_once():
    x = af.Variable(np.ones(3))
    here = weakref.ref(x)
    y = x
    for _ in range(5_000):
        y = y * 1.0
    around = [y]
    around.append(around)
    del x, y, around
    gc.collect()
    assert here() is None
    assert versions.FREED.after_collection not in gc.callbacks


def test_a_finalizer_that_reads_a_graph_of_its_cycle_finds_it_whole():
    """The collector asks ours before or after the user's: the history must be there either way."""
    found = []

    class Trainer:
        def __init__(self):
            self.me = self
            self.x = y = af.Variable(1.0)
            for _ in range(3_000):
                y = y * 1.0
            self.loss = y * 3.0

        def __del__(self):
            self.loss.backward()
            found.append(float(self.x.grad))

    for _ in range(5):
        Trainer()
        gc.collect()
    assert found == [3.0] * 5


# ---------------------------------------------------------------- when Python ends, names of modules are None

KEPT_BY = {
    "a module in C": "import math; math.kept = y", "numpy": "np.kept = y", "sys": "import sys; sys.kept = y",
    "a cycle": "import math, gc; gc.disable(); math.kept = kept = [y]; kept.append(kept)",
    "a log of writes": "import math; math.kept = af.Variable(np.ones(3)); math.kept += 1.0",
    "a hook": "import math; math.kept = v = af.Variable(1.0); v.register_hook(lambda g: g)",
}  # fmt: skip


@pytest.mark.parametrize("keeper", KEPT_BY)
def test_nothing_is_said_when_python_ends(keeper):
    program = f"""
        import numpy as np
        import autoflow as af
        y = af.Variable(1.0)
        for _ in range(3000):
            y = y * 1.0
        with af.no_grad():
            {KEPT_BY[keeper]}
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert ended.stderr == ""


def names_of_modules(tree):
    """The names of their module that are used by ``__del__``, by what weak references call, and by Freed."""
    top = {word.id for s in tree.body if isinstance(s, ast.Assign) for word in s.targets if isinstance(word, ast.Name)}
    top |= {alias.asname or alias.name for s in tree.body if hasattr(s, "names") for alias in s.names}
    top |= {s.name for s in tree.body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}
    top |= {s.target.id for s in tree.body if isinstance(s, ast.AnnAssign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__del__":
            bodies = node.body
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("weakref.ref", "weakref.finalize"):
            bodies = [f.body if isinstance(f, ast.Lambda) else f for f in node.args[1:]]  # defaults are read before
        elif isinstance(node, ast.ClassDef) and node.name == "Freed":
            bodies = [
                s for f in node.body[1:] if isinstance(f, ast.FunctionDef) and f.name != "__init__" for s in f.body
            ]
        else:
            continue
        yield from [n.id for body in bodies for n in ast.walk(body) if isinstance(n, ast.Name) and n.id in top]


def test_finalizers_use_no_name_of_their_module():
    paths = list(Path(af.__file__).parent.rglob("*.py"))
    found = {str(path): list(names_of_modules(ast.parse(path.read_text(encoding="utf-8")))) for path in paths}
    assert len(found) > 100
    assert {name: words for name, words in found.items() if words} == {}


def test_a_name_in_a_finalizer_is_found():
    program = "import gc\nclass A:\n    def __del__(self): gc.collect()\nf = weakref.ref(x, lambda _: f)"
    assert list(names_of_modules(ast.parse(program))) == ["gc", "f"]
