"""``af.compile``: the results of eager code, from a program that was recorded once; or a refusal."""

import copyreg
import operator
import sys
import tracemalloc
import weakref
from dataclasses import dataclass
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import support
from compiled import check_calls, check_same
from threads import in_threads

import autoflow as af
from autoflow import nn
from autoflow.compiler.trace import reachable
from autoflow.errors import CompileError
from autoflow.program.callers import is_foreign


def equal(a, b):
    np.testing.assert_array_equal(a, b, strict=True)


CALLS = []


def counted(f):
    """``f``, and how often it was called: unseen, because changes of what is outside are refused."""
    call = support.unseen_append(CALLS)

    def g(*args, **options):
        call(1)
        return f(*args, **options)

    return g


def compiled_counting(f, **options):
    """``f`` compiled, so that all calls of it are recordings."""
    return af.compile(counted(f), verify=False, **options)


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


# -- right results ---------------------------------------------------------------------------------------------------


def test_second_derivatives_products_and_jacobians():
    def f(x):
        return np.sum(np.tanh(x) ** 3)

    def derivatives(x, v):
        return af.hvp(f, x, v), af.jacobian(np.tanh)(x), af.grad(lambda y: af.grad(f)(y)[0])(x)

    x, v = np.array([0.3, -1.0, 2.0]), np.array([1.0, 2.0, -1.0])
    check_calls(derivatives, *[(x + k, v) for k in range(3)])


def test_trees_and_keywords():
    def f(p, *, scale):
        return {"loss": (p["w"] * p["b"][0]).sum() * scale, "two": (p["w"], p["b"])}

    c = af.compile(f)
    p = {"w": np.arange(3.0), "b": [np.array(2.0)]}
    result = c(p, scale=3.0)
    assert result["loss"] == 18.0
    equal(result["two"][0], p["w"])
    assert result["two"][0] is not p["w"]
    assert c(p, scale=1.0)["loss"] == 6.0
    gradient = af.compile(af.grad(lambda p: (p["w"] * p["b"][0]).sum()))(p)
    equal(gradient["w"], np.full(3, 2.0))
    equal(gradient["b"][0], np.array(3.0))


def test_what_python_notes_in_a_class_is_no_change():
    @dataclass
    class Pair:
        a: float

    before = reachable.elements_of(dict(vars(Pair)))
    copyreg._slotnames(Pair)  # as the first copy of an object does
    assert "__slotnames__" in vars(Pair)
    assert reachable.has_elements(dict(vars(Pair)), before)


def test_dataclasses_are_trees():
    @dataclass
    class Pair:
        a: np.ndarray
        name: str

    c = compiled_counting(lambda p: Pair(p.a * 2, p.name))
    assert c(Pair(np.ones(2), "x")).name == "x"
    assert c(Pair(np.ones(2), "y")).name == "y"
    c(Pair(np.zeros(2), "x"))
    assert len(CALLS) == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex128, np.int64, bool])
def test_dtypes(dtype):
    x = np.arange(6).reshape(3, 2).astype(dtype)
    check_calls(lambda x: (x * 2 + 1, x.sum(), x.mean(axis=0), x[1:] == x[:-1], x.real.astype(np.float32)), (x,))
    if np.dtype(dtype).kind == "f":
        check_calls(af.grad(lambda x: np.exp(x * 0.5).sum()), (x,))


def test_networks():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 8, rng=rng), nn.relu, nn.LayerNorm(8), nn.Linear(8, 4, rng=rng))

    def f(x, t):
        return nn.cross_entropy(model(x), t)

    c = compiled_counting(f, watch=False)
    t = np.array([0, 3, 1, 2, 0])
    for _k in range(10):
        x = rng.standard_normal((5, 3))
        equal(c(x, t), f(x, t).value)
        for p in model.parameters():
            p.assign(p.value * 0.9)  # in place: seen at the next call
    assert len(CALLS) == 1


def test_recorded_once_for_each_signature():
    c = compiled_counting(lambda x: np.sin(x) * 2)
    for x in (np.ones(3), np.ones(3) * 2, np.ones((3, 1)), np.ones(3, np.float32), np.ones(3), np.ones((3, 1))):
        equal(c(x), np.sin(x) * 2)
    assert len(CALLS) == 3


def test_the_cache_is_bounded():
    c = compiled_counting(lambda x: x * 2, limit=2)
    for n in (1, 2, 3, 1):
        c(np.ones(n))
    assert len(c.entries) == 2
    assert len(CALLS) == 4


# -- memory ----------------------------------------------------------------------------------------------------------


def perceptron(x, w, v):
    return ((np.tanh(x @ w) @ v) ** 2).sum()


def test_a_network_makes_the_planned_calls_and_allocates_its_results_only():
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s) for s in ((200, 50), (50, 40), (40, 30))]
    c = af.compile(af.grad(perceptron, (1, 2)))
    c(*args)
    (entry,) = c.entries.values()
    (plan,) = entry.free
    # x @ w, tanh, @ v; 2 *; v.T, @; square, 1 -, *; x.T, two gradients
    assert len(plan.steps) == 12
    made = []
    for step in plan.steps:
        step.function = lambda *args, f=step.function: (made.append(f), f(*args))[1]
    plan.bind()
    expected = c(*args)
    assert len(made) == 12
    plan = type(plan)(entry.program)
    entry.free[:] = [plan]
    tracemalloc.start()
    try:
        for _ in range(2):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            got = c(*args)
            _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    results = sum(g.nbytes for g in got)
    assert results <= peak - before < results + 5000  # one array of 200 x 40 would be 64,000 bytes
    check_same(got, expected)


def test_arguments_and_results_are_not_kept():
    c = af.compile(lambda x: x * 2)
    x = np.ones(1000)
    result = c(x)
    result = c(x)
    seen = weakref.ref(x), weakref.ref(result)
    del x, result
    assert [r() for r in seen] == [None, None]


# -- refused ---------------------------------------------------------------------------------------------------------


def test_fallback_runs_eagerly_every_time():
    c = compiled_counting(lambda x: x if x.sum() > 0 else -x, fallback=True)
    assert c(np.array([-1.0])) == 1.0
    assert c(np.array([2.0])) == 2.0
    assert len(CALLS) == 3  # the attempt, whose note nobody finds, and both calls


def test_shapes_that_depend_on_values():
    def f(x):
        return x[x > 0] * 2

    c = af.compile(f)
    equal(c(np.array([1.0, -1.0, 2.0])), np.array([2.0, 4.0]))
    equal(c(np.array([-1.0, 3.0, 2.0])), np.array([6.0, 4.0]))
    with pytest.raises(CompileError, match=r"returned float64 of shape \(3,\), and float64 of shape \(2,\)"):
        c(np.array([1.0, 1.0, 2.0]))
    equal(c(np.array([1.0, -1.0, 2.0])), np.array([2.0, 4.0]))
    check_calls(f, (np.array([1.0, -1.0, 2.0]),), (np.array([1.0, 1.0, 2.0]),), fallback=True)


@pytest.mark.parametrize(("file", "users"), [
    ("/home/me/model.py", True), (None, True),  # the second is made by hand
    ("/venv/lib/python3.13/site-packages/library.py", False),
    ("/usr/lib/python3/dist-packages/library.py", False),  # Debian and Ubuntu
])  # fmt: skip
def test_libraries_are_not_expected_to_change(file, users, monkeypatch):
    module = ModuleType("library")
    module.__file__ = file
    monkeypatch.setitem(sys.modules, "library", module)
    assert is_foreign.__wrapped__("library.part") is not users


def test_random_numbers_of_an_argument_are_refused():
    with pytest.raises(CompileError, match=r"draws random numbers.*pass them as an argument"):
        af.compile(lambda x, rng: x + rng.normal(size=3))(np.ones(3), np.random.default_rng(0))


def test_dropout_is_refused_in_training_and_compiled_otherwise():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 4, rng=rng), nn.Dropout(0.5, rng=rng))
    c = af.compile(lambda x: model(x))
    with pytest.raises(CompileError, match="draws random numbers"):
        c(np.ones((2, 3)))
    model.eval()
    equal(c(np.ones((2, 3))), model(np.ones((2, 3))).value)


def test_gradients_of_captured_variables_are_refused():
    w = af.Variable(np.ones(3))

    def step(x):
        (w * x).sum().backward()
        return x

    with pytest.raises(CompileError, match=r"keeps 1 of the arrays.*gradient of a Variable from outside"):
        af.compile(step)(np.ones(3))
    w.zero_grad()
    assert w.grad is None


COPIES = [  # what gives a new array in NumPy, even where the numbers are those of its argument
    lambda x: x * 1, lambda x: x + 0, lambda x: x / 1, lambda x: +x, lambda x: x**1, lambda x: x.copy(), np.copy,
    lambda x: x.astype(float), lambda x: x.flatten(), lambda x: x.T.T.copy(), lambda x: x[:].copy(), np.positive,
    lambda x: np.maximum(x, x), lambda x: np.sum(x[None], 0), lambda x: np.mean(x[None], 0),
    lambda x: np.where(True, x, x),
]  # fmt: skip
VIEWS = [  # what is the same memory: a write would be seen in the argument
    lambda x: x, lambda x: x[:], lambda x: x.view(), lambda x: x.T.T, lambda x: x.squeeze(), np.real, np.atleast_1d,
    lambda x: x.astype(float, copy=False), lambda x: np.reshape(x, x.shape), lambda x: np.asarray(x, like=x),
]  # fmt: skip
WRITES = pytest.mark.parametrize("write", [
    lambda z: operator.setitem(z, 1, 7.0), lambda z: operator.iadd(z, 2.0), lambda z: np.add(z, z, out=z),
    lambda z: z.fill(3.0), lambda z: z.sort(), lambda z: z.partition(1), lambda z: z.put([0, -1], [5.0, 6.0]),
])  # fmt: skip


@WRITES
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_an_argument_may_be_written_into(copy, write):
    def f(x, y):
        z = copy(x)
        write(z)
        return z, z * x, x - y

    x = np.array([4.0, 1.0, 2.0])
    check_calls(f, (x, np.array([0.5, 0.25, 8.0])))
    equal(x, np.array([4.0, 1.0, 2.0]))


@WRITES
@pytest.mark.parametrize("view", VIEWS)
def test_the_memory_of_an_argument_is_not_written_into(view, write):
    def f(x):
        z = view(x)
        write(z)
        return x * 2

    x = np.array([4.0, 1.0, 2.0])
    with pytest.raises(CompileError, match="writes in"):
        af.compile(f)(x)
    equal(x, np.array([4.0, 1.0, 2.0]))


class Doubled(np.ndarray):
    """Has an operator of its own."""

    def __mul__(self, other):
        return 2 * np.multiply(np.asarray(self), other)

    __rmul__ = __mul__


class Counted(np.ndarray):
    """Its results are of its class."""


KINDS = {
    "masked": lambda a: np.ma.masked_less(a, 1), "matrix": lambda a: a.view(np.matrix),
    "operators": lambda a: a.view(Doubled), "results": lambda a: a.view(Counted),
    "recarray": lambda a: a.view(np.recarray),
}  # fmt: skip
MEETING = [
    lambda x, y: x * y, lambda x, y: y * x, lambda x, y: x + y, lambda x, y: np.where(x > 1, x, y), np.dot, np.multiply,
    lambda x, y: np.vstack([x, y]), lambda x, y: np.sum(y) * x,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", MEETING)
def test_arrays_of_other_classes_are_refused_or_as_in_eager_code(kind, f):
    """As an argument and from outside."""
    x, other = np.array([[2.0, 1.0], [0.5, 3.0]]), KINDS[kind](np.array([[2.0, 0.0], [1.0, 5.0]]))
    expected = f(x, other)
    for compiled, args in ((af.compile(f), (x, other)), (af.compile(lambda x: f(x, other)), (x,))):
        try:
            found = compiled(*args)
        except CompileError:
            continue
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)


def test_a_memmap_is_a_plain_array(tmp_path):
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=(3,))
    x[:] = 1, 2, 3
    np.testing.assert_array_equal(af.compile(lambda y: y * 2 + x)(x), [3, 6, 9])


def test_a_program_holds_for_the_option_that_it_was_recorded_with():
    f = af.jacobian(lambda x: x**2)
    compiled = af.compile(f)
    compiled(np.ones(3))
    with af.options(max_bytes=8):
        for g in (f, compiled):
            with pytest.raises(MemoryError, match="max_bytes"):
                g(np.ones(3))
    compiled(np.ones(3))
    assert len(compiled.entries) == 1


# -- what is outside -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("watch", [True, False])
def test_arrays_that_change_between_calls(watch):
    """Recorded anew, for f might have looked at them; with watch=False read anew. Others are watched in any case."""
    w, a = np.ones(3), np.zeros(2)

    def f(x):
        return (x * w).sum() + (1.0 if a[0] < 6 else 2.0)

    c, x = compiled_counting(f, watch=watch), np.ones(3)
    for _ in range(6):
        w[:] = w * 0.5
        assert c(x) == f(x)
    assert len(CALLS) == (6 if watch else 1)

    def go_on():
        for _ in range(10):
            a[0] += 1
            assert c(x) == f(x)

    with pytest.warns(RuntimeWarning, match="recorded 8 times, because something that it finds outside changes"):
        go_on()
    assert len(CALLS) == (16 if watch else 11)


def test_methods_and_models_as_arguments():
    class Model:
        __slots__ = ("rate", "w")
        power = 2

        def __init__(self):
            self.w, self.rate = np.ones(2), 0.5

        @af.compile
        def __call__(self, x):
            return (x * self.w * self.rate) ** self.power

    model, other = Model(), Model()
    other.rate = 2.0
    x = np.full(2, 2.0)
    for _ in range(2):
        assert model(x).tolist() == [1.0, 1.0]
        assert other(x).tolist() == [16.0, 16.0]
    model.rate = 1.0
    assert model(x).tolist() == [4.0, 4.0]
    model.w = np.zeros(2)
    assert model(x).tolist() == [0.0, 0.0]
    Model.power = 1
    assert other(x).tolist() == [4.0, 4.0]


def test_threads_record_once():
    c = compiled_counting(lambda x: np.tanh(x) * 2)
    in_threads(*[partial(c, np.ones(3))] * 8)
    assert len(CALLS) == 1


def test_nothing_is_recorded_again_for_nothing(monkeypatch):
    """Attributes that are called as globals are; another compiled function; equal numbers."""
    monkeypatch.setitem(globals(), "x", 0)
    inner = af.compile(lambda x: np.tanh(x))
    settings = SimpleNamespace(rate=0.5)
    c = compiled_counting(lambda p: inner(p.x) * settings.rate)
    for k in range(6):
        globals()["x"] = k
        settings.rate = float("0.5")
        inner(np.ones(k + 1))
        equal(c(Point(np.full(2, 0.1 * k))), np.tanh(np.full(2, 0.1 * k)) * 0.5)
    assert len(CALLS) == 1


@dataclass
class Point:
    x: object


def test_modes_are_part_of_the_signature():
    c = compiled_counting(lambda x: x * af.is_grad_enabled())
    assert c(np.ones(1)) == 1.0
    with af.no_grad():
        assert c(np.ones(1)) == 0.0
    assert c(np.ones(1)) == 1.0
    assert len(CALLS) == 2


def test_verify_finds_what_guards_cannot(tmp_path):
    path = tmp_path / "w.npy"
    np.save(path, np.ones(2))

    def f(x):
        return x * np.load(path)

    c, v, second = [af.compile(f, verify=verify) for verify in (False, True, "second")]
    x = np.ones(2)
    equal(v(x), np.ones(2))
    equal(second(x), np.ones(2))
    c(x)
    np.save(path, np.full(2, 2.0))
    equal(c(x), np.ones(2))  # the guards see no file
    for compiled in (v, second):
        with pytest.raises(CompileError, match=r"disagree by 1 in a result of shape \(2,\)"):
            compiled(x)


def test_every_nth_call_is_compared():
    c, runs = af.compile(counted(lambda x: x * 2), verify=5), []
    for _ in range(10):
        c(np.ones(2))
        runs.append(len(CALLS))
    assert runs == [1, 2, 2, 3, 4, 4, 4, 4, 4, 5]  # the second and the fourth call, and every fifth one


def test_without_watching_a_gradient_that_is_read_is_read_anew():
    w = af.Variable(np.ones(2))
    w.grad = np.full(2, 2.0)
    f = lambda x: x * w + w.grad  # noqa: E731
    c, x = af.compile(f, watch=False), np.ones(2)
    for change in (lambda: None, lambda: w.grad.fill(5.0), lambda: setattr(w, "grad", np.full(2, 7.0))):
        change()
        equal(c(x), f(x).value)


# -- among other things ------------------------------------------------------------------------------------------------


def test_nodes_with_a_history_go_the_eager_way():
    c = af.compile(lambda x: (x * x).sum())
    x = af.Variable([1.0, 2.0])
    z = c(x)
    z.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert af.grad(c)(np.array([1.0, 3.0])).tolist() == [2.0, 6.0]
    assert c(af.Constant([1.0, 2.0])) == 5.0


def listened_to(f):
    def run(x):
        with af.on_operation(lambda z: None):
            return f(af.Variable(x)).value

    return run


AROUND = {
    "grad": af.grad, "vmap": af.vmap, "jvp": lambda f: lambda x: af.jvp(f, (x,), (x,))[1], "listened to": listened_to,
    "strict mode": lambda f: lambda x: af.options(strict=True)(f)(af.Variable(x)).value,
}  # fmt: skip


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_where_nodes_are_wanted_plain_arguments_go_the_eager_way_too(around):
    """The function may capture a node."""
    inside, x = [], np.arange(3.0)
    note = support.unseen_append(inside)

    def call(w):
        c = af.compile(lambda x: np.sum(x * w))
        note(c)
        return c(np.ones(3))

    np.testing.assert_array_equal(around(call)(x), around(lambda w: np.sum(np.ones(3) * w))(x))
    assert not inside[0].entries  # af.vmap also calls it for one example, which is compared


def test_compiled_inside_compiled():
    inner = compiled_counting(lambda x: x * 2)
    outer = af.compile(lambda x: inner(x) + inner(x * 3), verify=False)
    for _ in range(3):
        equal(outer(np.ones(2)), np.full(2, 8.0))
    assert len(CALLS) == 2


def test_threads_have_a_plan_each():
    c = af.compile(lambda x: (np.tanh(x @ x) @ x).sum(axis=0))
    inputs = [np.random.default_rng(k).standard_normal((30, 30)) for k in range(4)]
    expected = [c(x) for x in inputs]

    def work(k):
        return all([np.array_equal(c(inputs[k]), expected[k]) for _ in range(100)])

    assert all(in_threads(*[partial(work, k) for k in range(4)]))


def test_a_call_inside_its_own_call():
    def f(x):
        return outside(x) + 1

    @af.primitive
    def outside(x):
        if x.size > 1:
            return np.append(c(x[1:]), x[-1])
        return x

    c = af.compile(f)
    for _ in range(2):
        equal(c(np.arange(4.0)), f(np.arange(4.0)))
