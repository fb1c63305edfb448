"""Records and leaves know where in the program they were made: every entrance says the depth of the user's frame."""

import asyncio
import copy
import gc
import linecache
import operator
import pickle
import sys
import weakref
from itertools import pairwise

import numpy as np
import pytest
from cases import Case, dress
from naming import run_file, traced
from row_examples import examples_of
from support import call, rows
from threads import in_threads

import autoflow as af
from autoflow.forward.replay import record_again
from autoflow.program.names import Naming
from autoflow.program.places import Activation, here
from autoflow.program.source import find


def line_of(record):
    """The code and the line that a record says it was made in."""
    code = record.place.code if type(record.place) is Activation else record.place
    return code, list(code.co_positions())[record.last // 2][0]


def made_here(node, since):
    """Are all records behind ``node`` that are younger than ``since`` of the caller's frame, and of its line?"""
    frame = sys._getframe(1)
    waiting, found = [node.grad_fn], []
    while waiting:
        record = waiting.pop()
        if record is not None and record.parents and record.number > since:
            found.append(record)
            waiting += record.parents
    assert found
    for record in found:
        assert line_of(record) == (frame.f_code, frame.f_lineno), record


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [0, 3, 9000])
def test_operators(function, size):
    x = af.Variable(np.full(size, 2.0)) if size else af.Variable(2.0)
    for a, b in [(x, 3.0), (3.0, x), (x, x), (x * 1.0, x), (np.full(x.shape, 2.0), x), (x, np.full(x.shape, 3.0))]:
        since = getattr(a, "number", 0), getattr(b, "number", 0)
        z = function(a, b); made_here(z, max(since))  # fmt: skip  # noqa: E702


@pytest.mark.parametrize("size", [0, 3, 9000])
def test_entrances(size):
    """Each of the ways into the package that have a depth of their own, on numbers, small and large arrays."""
    x = af.Variable(np.full(size, 2.0)) if size else af.Variable(2.0)
    y = x * 1.0
    n = y.number
    # fmt: off
    made_here(-y, n); made_here(+y, n); made_here(abs(y), n); made_here(-x, n)  # noqa: E702
    made_here(np.tanh(y), n); made_here(np.add(y, x), n); made_here(np.sum(y), n); made_here(y.sum(), n)  # noqa: E702
    made_here(np.mean(y), n); made_here(y.mean(), n); made_here(np.std(y), n); made_here(y[...], n)  # noqa: E702
    made_here(y.T, n); made_here(y.reshape(-1), n); made_here(np.where(y > 0, x, y), n)  # noqa: E702
    made_here(np.concatenate([np.ravel(y), np.ravel(x)]), n); made_here(np.maximum(y, 0), n)  # noqa: E702
    made_here(np.add.reduce(np.ravel(y)), n); made_here(np.linalg.norm(np.ravel(y)), n)  # noqa: E702
    made_here(af.nn.softmax(np.ravel(y)), n); made_here(y.astype("f4"), n); made_here(2.0 * y, n)  # noqa: E702
    with af.scope("a"):
        made_here(y * x, n); made_here(y.sum(), n)  # noqa: E702
    rows_of = list(np.ravel(y)[:2])
    n = rows_of[-1].number
    for row in rows_of:
        made_here(row * 1.0, n)
    # fmt: on


@pytest.mark.parametrize("row", rows(scipys=False), ids=lambda row: row.name)
def test_every_row_of_the_table(row):
    """The last operation is of the frame that calls the function, not of one further out: a false place."""
    case = Case(row, examples_of(row)[0])
    operands, _, _ = dress(case, case.values("float64"), "Variables")
    z = case.run(operands)
    record = (z if isinstance(z, af.Node) else z[0]).grad_fn
    assert line_of(record)[0] is call.__code__


def test_writes_keep_their_places():
    x, a = af.Variable(np.ones(3)), af.zeros(4)
    a[1:] = x
    write = sys._getframe().f_lineno - 1
    view = a[1:]
    taken = sys._getframe().f_lineno - 1
    a[0] = x[0]
    assert line_of(view.grad_fn)[1] == taken  # taken again, because its base was written into
    view *= 2.0
    base = a.grad_fn
    assert line_of(base)[1] == sys._getframe().f_lineno - 2
    assert line_of(base.parents[0].parents[0])[1] == write


def double(x):
    return x * 2.0


def test_one_activation_for_each_call():
    x = af.Variable(2.0)
    first, second = [double(x).grad_fn.place for _ in range(2)]
    assert first is not second
    assert first.code is second.code is double.__code__

    def both():
        return x * 2.0, x * 3.0

    a, b = both()
    assert a.grad_fn.place is b.grad_fn.place


def nested(x, n):
    return x * 1.0 if n == 0 else nested(x, n - 1) * 2.0


def test_recursion():
    record, seen = nested(af.Variable(2.0), 30).grad_fn, []
    while record.parents:
        seen.append(record.place)
        record = record.parents[0]
    assert len(set(seen)) == 31
    assert [inner.parent for outer, inner in pairwise(seen)] == seen[:-1]


def test_deep_stacks_without_an_activation():
    def deep(n):
        return af.Variable(2.0) * 1.0 if n == 0 else deep(n - 1)

    place, depth = deep(300).grad_fn.place, 0
    while place.code is deep.__code__:
        place, depth = place.parent, depth + 1
    assert depth == 301


def test_generators_that_take_turns():
    def steps(x):
        for k in range(3):
            yield x * k

    a, b = steps(af.Variable(1.0)), steps(af.Variable(2.0))
    pairs = [(next(a).grad_fn.place, next(b).grad_fn.place) for _ in range(3)]
    assert len({id(p) for p, _ in pairs}) == len({id(q) for _, q in pairs}) == 1
    assert pairs[0][0] is not pairs[0][1]


def test_tasks_and_threads():
    x, found = af.Variable(2.0), {}

    async def task(name):
        found.setdefault(name, []).append((x * 1.0).grad_fn.place)
        await asyncio.sleep(0)
        found[name].append((x * 2.0).grad_fn.place)

    async def main():
        await asyncio.gather(task("a"), task("b"))

    asyncio.run(main())

    def work():
        found["c"] = [(x * 1.0).grad_fn.place, (x * 2.0).grad_fn.place]

    in_threads(work)
    assert all([p is q for p, q in found.values()])
    assert len({id(p) for p, _ in found.values()}) == 3


def test_no_frame_is_kept_alive():
    class Big:
        pass

    def run():
        big = Big()
        return af.Variable(2.0) * 3.0, weakref.ref(big)

    node, ref = run()
    assert ref() is None
    assert node.grad_fn.place is not None

    class Model:
        def __init__(self):
            self.w = af.Variable(2.0)

        def __call__(self, x):
            return self.w * x

    model = Model()
    y, ref = model(3.0), weakref.ref(model)
    del model
    assert ref() is None
    assert y.grad_fn.place.owner is not None


class Keeping:
    """Methods that ask for their variables, as many a class does for its settings."""

    def __init__(self, size=3, rate=0.5):
        self.given = locals()
        self.given.pop("self")
        self.w = af.Variable(np.ones(size))

    def call(self, x):
        given = vars()
        y = x * self.w
        return sorted(given), y

    def run(self, x):
        exec("power = 3.0")
        return x * self.w * eval("power")


def test_the_variables_of_a_program_stay_as_they_are():
    """Up to Python 3.12 ``locals()`` is a dict that the frame keeps, and ``f_locals`` the same one."""
    one, x = Keeping(), af.Variable(1.0)
    assert sorted(one.given) == ["rate", "size"]
    assert {"self", "x"} <= set(one.call(x)[0])
    if sys.version_info < (3, 13):  # from then on each call of ``exec`` has variables of its own
        np.testing.assert_array_equal(one.run(x), np.full(3, 3.0))


def who_is_alive_after_a_step():
    """A function without assertions: those of pytest ask for ``locals()``."""
    w = af.Variable(np.ones(3), name="w")
    optimiser = af.optim.SGD([w], lr=0.1)
    big = {0.0}
    ref = weakref.ref(big)
    np.sum(w * w).backward()
    optimiser.step()
    y = w * 2.0
    str(y.graph())
    del big
    return ref()


def test_who_looks_at_the_variables_of_a_frame_keeps_none_alive():
    assert who_is_alive_after_a_step() is None


def test_nothing_is_a_cycle(no_gc):
    while gc.collect():  # what a finalizer of other tests' objects lets go is found by the next collection
        pass
    for _ in range(10):
        double(af.Variable(2.0)).backward()
    assert gc.collect() == 0


def test_under_a_tracer_the_calls_are_unknown():
    """As coverage does on 3.11: frames that begin under it are the tracer's."""

    def tracer(frame, event, arg):
        return tracer

    with traced(tracer):
        y = double(af.Variable(2.0))
    assert y.grad_fn.place is double.__code__
    assert find(y.grad_fn.place, y.grad_fn.last).text == "x * 2.0"


def test_a_debugger_that_begins_in_the_middle():
    """It overwrites tags; what follows may be the same call, and says so."""
    x = af.Variable(2.0)

    def stopped():
        before = x * 1.0
        frame = sys._getframe()
        own, frame.f_trace = frame.f_trace, lambda *_: None
        under = x * 2.0
        frame.f_trace = None
        after = x * 3.0
        return own, before, under, after

    own, before, under, after = stopped()
    assert before.grad_fn.place is own
    assert under.grad_fn.place is stopped.__code__
    assert after.grad_fn.place is not own
    assert after.grad_fn.place.is_continued
    assert not own.is_continued
    assert not double(x).grad_fn.place.is_continued


def test_a_later_frame_at_the_same_address_is_another_call():
    """Frames die, and their addresses are used again: here each call of ``double`` has the same."""
    x = af.Variable(2.0)
    with traced(lambda *_: lambda *_: None):
        double(x)
    assert not any([double(x).grad_fn.place.is_continued for _ in range(9)])


def test_without_source():
    with af.options(source=False):
        x = af.Variable(2.0)
        y = x * 3.0
    assert not hasattr(y.grad_fn, "place")
    assert not hasattr(x, "_place")
    assert Naming([y.grad_fn, x]).name(x) is None
    y.backward()
    assert x.grad == 3.0


def test_transforms_keep_places_only_where_somebody_looks():
    seen = []

    def f(x):
        y = x * x
        seen.append(hasattr(y.grad_fn, "place"))
        return y

    gradient = af.grad(f)
    with af.options(prove="never"):
        gradient(2.0)
        assert seen == [False]
        with af.options(strict=True):
            seen.clear()
            gradient(2.0)
        assert seen[0]


def test_recorded_passes_have_no_places():
    x = af.Variable(2.0)
    y = x * x
    y.backward(create_graph=True)
    assert not hasattr(x.grad.grad_fn, "place")


def test_replays_copies_and_pickles():
    x = af.Variable(2.0)
    y = x * x
    again, _ = record_again(y, {x: 3.0})
    assert line_of(again.grad_fn) == line_of(y.grad_fn)
    assert "① x  Variable = 3" in str(again.graph())
    assert float(pickle.loads(pickle.dumps(y))) == 4.0
    assert float(copy.deepcopy(x)) == 2.0
    place = Naming([y.grad_fn]).place(y.grad_fn)
    assert pickle.loads(pickle.dumps(place)) == place
    assert place.text == "x * x"
    assert pickle.loads(pickle.dumps(y.grad_fn.place)) is None


def test_checkpoint_vmap_and_compile():
    x = af.Variable(np.ones((2, 3)))
    mine = af.checkpoint(double)(x).grad_fn
    assert line_of(mine)[0] is test_checkpoint_vmap_and_compile.__code__
    batched = af.vmap(double)(x).grad_fn
    while batched.rule.name != "multiply":
        batched = batched.parents[0]
    assert line_of(batched)[0] is double.__code__


@pytest.mark.parametrize("other", ["    z = x * 3.0\n    return z\n", "    z = x * 2.0\n    return z\n"])
def test_text_that_is_not_what_ran(tmp_path, other):
    """No name rather than a false one, also where only a variable has another name."""
    file = tmp_path / "program.py"
    f = run_file(file, "def f(x):\n    y = x * 2.0\n    return y\n")["f"]
    file.write_text("def f(x):\n" + other)
    linecache.checkcache(str(file))
    record = f(af.Variable(2.0)).grad_fn
    assert "2.0" in other or find(record.place.code, record.last) is None
    assert Naming([record]).name(record) is None


def test_here_counts_from_the_caller():
    def inner():
        return here(1)

    place, _ = inner()
    assert place.code is test_here_counts_from_the_caller.__code__
