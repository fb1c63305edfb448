"""State outside of a compiled function: whatever it reads there is an input, a guard, or a refusal with the line."""

import _thread
import itertools
import os
import random
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from time import perf_counter as tick
from types import SimpleNamespace

import numpy as np
import pytest
from compiled import check_same
from support import unseen_append
from threads import in_threads

import autoflow as af
from autoflow import nn
from autoflow.compiler.program import Program
from autoflow.compiler.trace import guards as guards_module
from autoflow.errors import CompileError


def equal(a, b):
    np.testing.assert_array_equal(a, np.asarray(b), strict=True)


# -- by hand


def test_what_changes_during_the_recording_is_named():
    scope = {"K": [1.0], "D": {"a": 1.0}, "A": np.ones(2), "R": np.random.default_rng(0), "I": iter([1, 2])}
    exec("def f(x): return x * K[0] * D['a'] * A * R.random() * next(I)", scope)
    guards = guards_module.Guards(scope["f"], [])
    assert [*guards.changes()] == []
    for change, message in (
        ("A[0] = 2.0", "writes into an array of shape (2,) from outside"), ("R.random()", "draws random numbers"),
        ("next(I)", "takes elements of an iterator from outside, a list_iterator"),
        ("K.append(2.0)", "changes the elements of a list"), ("D['a'] = 2.0", "changes the elements of a dict"),
    ):  # fmt: skip
        exec(change, scope)
        assert any([found.startswith(message) for found in guards.changes()]), message


def test_arrays_that_a_program_reads_as_a_whole():
    program, (a, b, c) = Program(), [np.ones(4) for _ in range(3)]
    x = program.ufunc(np.add, (program.capture(a), program.capture(b[::-1])))
    program.outputs = [program.ufunc(np.multiply, (x, program.capture(np.broadcast_to(c[:1], 4))))]
    assert {id(a), id(b)} <= guards_module.read_by(program)
    assert id(c) not in guards_module.read_by(program)


def test_places_have_names_in_messages():
    cell = (lambda x: lambda: x)(1).__closure__[0]
    names = [guards_module.item_name(*place) for place in ((cell, None), ({"a": 1}, "a"), ([1], 0))]
    assert names == ["a variable of the function around it", "'a'", "the element 0 of a list"]


# -- arrays ------------------------------------------------------------------------------------------------------------


def uses(a):
    """Functions that read an array from outside: in the program, before it, and by Python."""
    return [
        lambda x: (x * a.ravel()[0]).sum(),
        lambda x: np.sum(x * np.sum(a + 1.0)),
        lambda x: x.sum() * float(a.sum()),
        lambda x: x.sum() * (2.0 if a.sum() > 0 else 3.0),
        lambda x: x.sum() * sum(a.ravel().tolist()),
        lambda x: x.sum() * np.count_nonzero(a),
        lambda x: x.sum() * a[a > 0].size,
        lambda x: (x * np.sort(a, axis=None)[-1]).sum(),
        lambda x: x.sum(axis=int(a.sum() > 6) - 1) * a.ravel()[0],
        lambda x: np.sum(x[int(a.sum()) % 2 :] * a.ravel()[0]) + np.full_like(x, float(a.sum())).sum(),
    ]


def test_an_array_may_decide_the_structure_of_a_result():
    a = np.zeros(2)
    c = af.compile(f := lambda x: {f"a{int(a[0])}": x * a[0]})
    for a[0] in range(4):
        check_same(c(np.ones(2)), found := f(np.ones(2)))
        assert c(np.ones(2)).keys() == found.keys()


LAYOUTS = {
    "large": lambda: np.zeros(10_000), "small": lambda: np.zeros(7), "Fortran": lambda: np.zeros((120, 100), order="F"),
    "a row": lambda: np.zeros((1, 5000)), "a deep row": lambda: np.zeros((1, 1, 1, 5000)),
    "a column": lambda: np.zeros((5000, 1)),
    "with gaps": lambda: np.zeros((200, 100))[::2, ::-3], "bytes": lambda: np.zeros(9_001, np.int8),
    "half": lambda: np.zeros((3001, 1), np.float16), "objects": lambda: np.zeros(500, object),
    "Variable": lambda: af.Variable(np.zeros(10_000), copy=False),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", range(10))
@pytest.mark.parametrize("transform", [lambda f: f, af.grad])
def test_one_element_of_an_array(layout, case, transform):
    """Any one may be written, at any place."""
    a = LAYOUTS[layout]()
    plain = a.value if isinstance(a, af.Variable) else a
    f = transform(uses(plain)[case])
    c, x, draw = af.compile(f), np.arange(3.0), random.Random(case)
    equal(c(x), f(x))
    for value in (7, 2, -1):
        place = tuple([draw.randrange(n) for n in plain.shape])
        plain[place] = value
        equal(c(x), f(x))
        equal(c(x), f(x))


def test_not_a_number_is_equal_to_itself_and_zero_has_a_sign():
    for size in (3, 10_000):
        calls = []
        note, a = unseen_append(calls), np.full(size, np.nan)
        c = af.compile(lambda x, a=a, note=note: (note(1), x * np.copysign(1.0, a[0]))[1])
        for value, expected, n in ((np.nan, 1.0, 1), (0.0, 1.0, 2), (-0.0, -1.0, 3)):
            a[0] = value
            assert c(np.ones(1)) == expected
            assert len(calls) == n


def test_without_watching_an_array_that_is_read_in_part_is_watched():
    numbers, complexes, pairs = np.zeros(5), np.zeros(5, complex), np.zeros(5, [("a", float), ("b", float)])
    for read, decide, change in (
        (lambda: numbers[:4], lambda: numbers[4], lambda: numbers.put(4, 1.0)),
        (lambda: np.broadcast_to(numbers[:1], 5), lambda: numbers[3], lambda: numbers.put(3, 1.0)),
        (lambda: complexes.real, lambda: complexes[0].imag, lambda: complexes.fill(1j)),
        (lambda: pairs["a"], lambda: pairs["b"][0], lambda: pairs["b"].fill(1.0)),
    ):
        c = af.compile(lambda x, r=read, d=decide: np.sum(x * r()) + (d() > 0), watch=False)
        assert [c(np.ones(1)), c(np.ones(1)), change(), c(np.ones(1))] == [0.0, 0.0, None, 1.0]


class Scaled(nn.Module):
    """A model whose own parameters are used in several ways beside those that stand in."""

    def __init__(self):
        weight = np.ones((2, 3))
        self.weight, self.frozen = af.Variable(weight), af.Variable(np.full(3, 2.0), requires_grad=False)
        self.parts, self.mean = [af.Variable(np.ones(3)), nn.Linear(3, 1, rng=np.random.default_rng(0))], np.ones(3)
        self.twice = self.weight

    def forward(self, x):
        return self.parts[1]((x @ self.weight + self.twice[0]) * self.frozen + self.parts[0] - self.mean)


ALSO = {  # what a function computes of the model itself, beside functional_call
    "nothing": lambda model, x: 0.0, "its result": lambda model, x: model(x).sum(),
    "a product": lambda model, x: (x @ model.weight).sum(),
    "a parameter in a list": lambda model, x: model.parts[0].sum() * x[0, 0],
    "a constant of parameters": lambda model, x: model.weight * 3.0,
    "its numbers": lambda model, x: model.weight.value.sum(), "a buffer": lambda model, x: model.mean * x[0, 0],
    "a decision": lambda model, x: x[0, 0] if model.weight.value[0, 0] > 0 else 0.0,
    "a decision by a buffer": lambda model, x: x[0, 0] if model.mean[0] > 0 else 0.0,
    "a decision in a list": lambda model, x: x[0, 0] if float(model.parts[0][0]) > 0 else 0.0,
    "a decision by its result": lambda model, x: x[0, 0] if model(np.ones((1, 2)))[0, 0] > 0 else 0.0,
    "a text": lambda model, x: x * len(repr(model.weight.value)),
    "a decision by an element": lambda model, x: x[0, 0] if float(model.weight[0, 0]) > 0 else 0.0,
    "a decision by its names": lambda model, x: x[0, 0] * (model.named_parameters()["weight"].value[0, 0] > 0),
    "a decision by vars": lambda model, x: x[0, 0] * (vars(model)["weight"].value[0, 0] > 0),
    "a decision by __dict__": lambda model, x: x[0, 0] * (model.__dict__["weight"].value[0, 0] > 0),
    "a decision by its state": lambda model, x: x[0, 0] * (model.state_dict()["weight"][0, 0] > 0),
    "a decision by its parameters": lambda model, x: x[0, 0] * (model.parameters()[0].value[0, 0] > 0),
    "a decision by another list": lambda model, x: x[0, 0] * (WEIGHTS[0].value[0, 0] > 0),
    "a decision by a list of numbers": lambda model, x: x[0, 0] * (WEIGHTS[1][0, 0] > 0),
    "gradients": lambda model, x: af.grad(lambda w: (w * model.weight).sum())(x[0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("also", ALSO)
def test_a_model_that_is_used_beside_its_parameters_that_stand_in(also):
    model = Scaled()
    values = {path: p.value.copy() for path, p in model.named_parameters().items()}
    values.pop("frozen")
    WEIGHTS[:] = [model.weight, model.weight.value] if "list" in also else []

    def f(values, x):
        return nn.functional_call(model, values, x), ALSO[also](model, x)

    c, x = af.compile(f), np.ones((3, 2))
    for k in range(5):
        for p in model.parameters():
            p.assign(np.full(p.shape, (-1.0) ** k * (k + 1)))
        model.mean[:] = (-1.0) ** k
        check_same(c(values, x), f(values, x), rtol=1e-12)


def test_gradients_of_a_model_are_not_lost_where_others_stand_in():
    model = nn.Linear(2, 1, rng=np.random.default_rng(0))
    values = {path: p.value.copy() for path, p in model.named_parameters().items()}

    def f(values, x):
        (model(x) * nn.functional_call(model, values, x)).sum().backward()
        return model.weight.grad

    with pytest.raises(CompileError):
        af.compile(f)(values, np.ones((3, 2)))


# -- other state ---------------------------------------------------------------------------------------------------


WEIGHTS: list = []
LOCAL = threading.local()


def test_more_objects_than_can_be_watched(monkeypatch):
    monkeypatch.setattr(guards_module, "LIMIT", 1000)
    many = [SimpleNamespace(rate=1.0) for _ in range(1001)]
    with pytest.raises(CompileError, match="more than 1000 objects"):
        af.compile(lambda x: x * many[-1].rate)(np.ones(1))
    numbers = {*range(1001), *[(k, k) for k in range(1001)]}
    assert af.compile(lambda x: x * len(numbers))(np.ones(1)) == 2002.0


def test_another_thread_has_its_own_locals():
    LOCAL.rate = 2.0
    c = af.compile(lambda x: x * LOCAL.rate)
    assert c(np.ones(1)) == 2.0

    def work():
        LOCAL.rate = 5.0
        return c(np.ones(1))

    assert in_threads(work) == [5.0]


# -- what is fresh in every call ---------------------------------------------------------------------------------------

SEQUENCE = np.random.SeedSequence(1)
BITS = np.random.PCG64(1)
PYTHONS = random.Random(1)
STEP = 2.0


def tick_by_import():
    import time

    return time.perf_counter()


FRESH = {  # doors are all in test_refusals.py
    "default_rng": lambda: np.random.default_rng().normal(),
    "Generator": lambda: np.random.Generator(np.random.PCG64()).normal(),
    "MT19937": lambda: np.random.Generator(np.random.MT19937()).normal(),
    "RandomState": lambda: np.random.RandomState().normal(),
    "SeedSequence": lambda: np.random.SeedSequence().entropy % 7919, "Random": lambda: random.Random().random(),
    "Random.seed": lambda: PYTHONS.seed(), "urandom": lambda: os.urandom(1)[0],
    "spawn": lambda: np.random.default_rng(SEQUENCE.spawn(1)[0]).normal(),
    "random_raw": lambda: BITS.random_raw() % 1_000_003, "random of a module": lambda: random.random(),
    "np.random": lambda: np.random.normal(), "Random of a global": lambda: PYTHONS.random(),
    "time": lambda: time.time(), "a clock by name": lambda: tick(), "time imported inside": lambda: tick_by_import(),
    "eval": lambda: eval("STEP"),
}  # fmt: skip


@pytest.mark.parametrize("name", FRESH)
@pytest.mark.parametrize("transform", [lambda f: f, af.grad])
def test_what_is_fresh_is_refused(name, transform):
    draw = FRESH[name]
    f = transform(lambda x: (x * (draw() or 0.0)).sum())
    compiled, falling = af.compile(f), af.compile(f, fallback=True)
    with pytest.raises(CompileError, match=r"test_guards.py:\d+|draws random numbers|differs from call to call"):
        [compiled(np.ones(2)) for _ in range(2)]  # what is different in every call shows in the second
    assert [falling(np.ones(2)) is not None for _ in range(3)]


def test_generators_with_a_seed_are_constants():
    f = lambda x: x * np.random.default_rng(3).normal() + random.Random(3).random()  # noqa: E731
    c = af.compile(f)
    for _ in range(2):
        equal(c(np.ones(2)), f(np.ones(2)))


ITERATORS = {
    "generator": lambda: (k for k in range(1, 9)), "list": lambda: iter([1.0, 2.0, 3.0]),
    "range": lambda: iter(range(1, 9)), "dict": lambda: iter({1.0: 2.0, 2.0: 3.0, 3.0: 4.0}),
    "count": lambda: itertools.count(1), "cycle": lambda: itertools.cycle([1.0, 2.0]),
    "zip": lambda: map(sum, zip([1.0, 2.0, 3.0])), "map": lambda: map(float, [1, 2, 3]),
    "enumerate": lambda: map(sum, enumerate([1.0, 2.0, 3.0])), "chain": lambda: itertools.chain([1.0], [2.0, 3.0]),
    "an iterator of its own": lambda: Batches(), "begun": lambda: (next(g := (k for k in range(1, 9))), g)[1],
    "begun, of equal numbers": lambda: (next(g := (1.0 for _ in [0] * 9)), g)[1],
    "begun, holding itself": lambda: (next(g := holding([1.0] * 9)), g.send(g), g)[2],
}  # fmt: skip


def holding(numbers):
    itself = yield
    for x in numbers:
        yield x * bool(itself)


class Batches:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        return float(self.n)


@pytest.mark.parametrize("name", ITERATORS)
@pytest.mark.parametrize("where", ["closure", "attribute", "list"])
def test_iterators_are_refused(name, where):
    batches = ITERATORS[name]()
    holder = {"closure": batches, "attribute": SimpleNamespace(batches=batches), "list": [batches]}[where]
    f = {
        "closure": lambda x: x * next(holder),
        "attribute": lambda x: x * next(holder.batches),
        "list": lambda x: x * next(holder[0]),
    }[where]
    with pytest.raises(CompileError, match=r"iterator|changes 'n'"):
        af.compile(f)(np.ones(2))
    equal(af.compile(f, fallback=True)(np.ones(2)).shape, np.array([2]))


def test_files_and_iterators_that_are_not_touched_are_no_reason(tmp_path):
    path = tmp_path / "log"
    path.write_text("")
    with path.open() as file:
        holder = SimpleNamespace(log=file, rate=2.0, unused=iter([1, 2]), begun=ITERATORS["begun"]())
        c = af.compile(lambda x: x * holder.rate)
        for _ in range(2):
            equal(c(np.ones(1)), np.full(1, 2.0))


def test_a_profiler_goes_on():

    events = []
    note = lambda frame, event, arg: events.append(event)  # noqa: E731
    sys.setprofile(note)
    try:
        af.compile(lambda x: x * 2)(np.ones(1))
        assert sys.getprofile() is note
    finally:
        sys.setprofile(None)
    assert "c_call" in events


def gauss():
    return random.gauss(0.0, 1.0)


DRAWS = {
    "np.random": lambda x: x * np.random.rand(), "random": lambda x: x * gauss(),
    "a method in a closure": (lambda draw: lambda x: x * draw())(np.random.normal),
    "a method as a default": lambda x, draw=random.random: x * draw(),
    "a module by another name": (lambda m: lambda x: x * m.power(2.0))(np.random),
    "a method by another name": (lambda draw: lambda x: x * draw(2.0))(np.random.power),
    "a generator of its own": (lambda own: lambda x: x * own.integers(1 << 40))(np.random.default_rng(0)),
    "a library": lambda x: x * scipy_draw(), "an import inside": lambda x: x * draw_by_import(),
}  # fmt: skip


def scipy_draw():
    return pytest.importorskip("scipy.stats").norm.rvs()


def draw_by_import():
    from numpy.random import rand

    return rand()


@contextmanager
def drawing_thread():
    """Another thread draws from both generators of the process, all the time."""
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            random.random()
            np.random.rand()

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def slow(x):
    """Long enough for the other thread to draw in between."""
    time.sleep(0.01)
    return np.sum(np.tanh(x) ** 2)


def test_what_another_thread_draws_is_not_the_functions():
    step = af.compile(af.value_and_grad(slow))
    with drawing_thread():
        value, g = step(np.ones(3))
    assert (value, *g) == (slow(np.ones(3)), *af.grad(slow)(np.ones(3)))


@pytest.mark.parametrize("f", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("beside", [nullcontext, drawing_thread])
def test_what_the_function_draws_is_refused_beside_other_threads_too(f, beside):
    compiled = af.compile(f)
    with beside(), pytest.raises(CompileError, match=r"draws random numbers|differs from call to call"):
        [compiled(np.ones(3)) for _ in range(2)]


@pytest.mark.parametrize("name", DRAWS)
def test_draws_that_no_result_shows_are_refused_too(name, monkeypatch):
    """Beside other threads those that are named."""
    if name == "a library":
        monkeypatch.setattr(_thread, "_count", lambda: 0)
    with nullcontext() if name == "a library" else drawing_thread(), pytest.raises(CompileError, match="draws random"):
        af.compile(lambda x: x + 0.0 * DRAWS[name](x))(np.ones(3))
