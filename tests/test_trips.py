"""How long the ways through the package are: calls of ours, and changes of file between them, each with a budget.

A call is a function of the package that Python enters, when all is warm and proofs are done. Of calls that follow each
other in two files the second is a change of file. A way that gets longer needs a reason, and then a larger budget here.
What the first operation in a function of the user's pays to note which call it is has a row of its own ("its place").
"""

import gc
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import alone

import autoflow as af

ROOT = str(Path(af.__file__).parent)
PLACES = str(Path(ROOT) / "program")
CALLERS = str(Path(PLACES) / "callers.py")  # who calls; the others say where


def f(x):
    return np.sum(np.sin(x) * x)


def other():
    """The same function, which nobody has seen before."""
    return lambda x: np.sum(np.sin(x) * x)


def write_item(pair):
    pair[0][1:] = pair[1]
    return pair


def write_view(u):
    w = u[1:]
    w *= 2
    return u.sum()


x, y = af.Variable(2.0), af.Variable(3.0)
X = af.Variable(np.ones((3, 4)))
vector, batch = np.ones(4), np.ones((5, 4))
grad, vmap, compiled = af.grad(f), af.vmap(f), af.compile(f)

# Name -> what is made beforehand, the way; calls at most, and as many as are wanted; changes of file at most.
# (A compiled function's first call notes what is outside, so that nothing is left of a call that is refused.)
WAYS = {
    "x * y": (lambda: None, lambda _: x * y, 1, 1, 0),
    "its place": (lambda: None, lambda _: x * y, 3, 3, 0),
    "its backward": (lambda: x * y, lambda z: z.backward(), 23, 24, 14),
    "X.sum(axis=0)": (lambda: None, lambda _: X.sum(axis=0), 6, 8, 4),
    "np.sum(X, axis=0)": (lambda: None, lambda _: np.sum(X, axis=0), 8, 8, 4),
    "backward of the sum": (lambda: X.sum(axis=0), lambda z: z.backward(), 29, 36, 17),
    "a[1:] = v": (lambda: (X.sum(axis=1) * 1.0, af.Variable(np.ones(2))), write_item, 44, 45, 25),
    "w = u[1:]; w *= 2; u.sum()": (lambda: X.sum(axis=1) * 1.0, write_view, 64, 65, 37),
    "af.grad of three": (lambda: None, lambda _: grad(vector), 87, 87, 60),
    "af.vmap of three": (lambda: None, lambda _: vmap(batch), 140, 140, 54),
    "compiled, first": (lambda: af.compile(other()), lambda c: c(vector), 441, 450, 177),
    "compiled, later": (lambda: None, lambda _: compiled(vector), 9, 9, 4),
    "value_and_grad compiled, first": (
        lambda: af.compile(af.value_and_grad(other())), lambda c: c(vector), 1100, 1100, 553,
    ),
    "graph() of a product": (lambda: af.Variable(2.0) * af.Variable(3.0), lambda z: z.graph(), 530, 650, 180),
    "graph() with gradients": (lambda: x * y, lambda z: z.graph(gradients=True), 650, 650, 250),
}  # fmt: skip


def calls(way, made, places=False):
    """The files of all calls of ours, in order: of those that note places, or of the others."""
    seen = []

    def look(frame, event, _):
        file = frame.f_code.co_filename.partition(": ")[0]  # the text of a function is in that file
        notes_place = file.startswith(PLACES) and file != CALLERS
        if event == "call" and file.startswith(ROOT) and notes_place is places:
            seen.append(file)

    gc.collect()
    gc.disable()
    sys.setprofile(look)
    kept = way(made)  # what a value leaves behind when it is dropped does not count
    sys.setprofile(None)
    gc.enable()
    del kept
    return seen


def measure(name):
    """Calls, and changes of file."""
    make, way, *_ = WAYS[name]
    for _ in range(3):
        way(make())
    # One record in about a hundred gets a Release.
    seen = min([calls(way, make(), name == "its place") for _ in range(3)], key=len)
    return len(seen), sum([a != b for a, b in itertools.pairwise(seen)])


@pytest.fixture(scope="module")
def measured():
    """All of them in a process of their own: hooks and array types of other tests would make ways longer."""
    code = "import sys; sys.path.append('support'); "
    code += "import json, test_trips as t; print(json.dumps({name: t.measure(name) for name in t.WAYS}))"
    return json.loads(alone(code, cwd=Path(__file__).parent))


@pytest.mark.parametrize("name", WAYS)
def test_ways_are_short(name, measured):
    *_, budget, wanted, files = WAYS[name]
    found, changes = measured[name]
    assert found <= budget, f"{found} calls, not {budget} (wanted: {wanted})"
    assert changes <= files, f"{changes} changes of file, not {files}"
