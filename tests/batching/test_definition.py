"""af.vmap against its definition: a loop over the examples, with np.stack of what they give.

Compared are values, dtypes, shapes, the order of strides, whether results may be written into and share no memory, the
type of an exception, and what has changed outside. By day each call of support/vmap_calls.py in two kinds of arrays,
by night in all; each also with its error caught. A call that is made for each example, and a function that is, stand
in a list: none may become one unnoticed.
"""

import collections
import contextlib
import contextvars
import functools
import itertools
import operator
import random
import sys
import threading
import types
import warnings

import numpy as np
import pytest
from by_loop import by_loop, difference, expressions, outcome
from vmap_calls import BODIES, EXPRESSIONS, WRITES

import autoflow as af
from autoflow.batching import looping
from autoflow.errors import BatchError, InputError, LoopWarning
from autoflow.table.facts import of_kind

SIZE, AXES = 5, (0, 0, 0, 0, None)
WRITTEN = [f"z = x*1; {text}; return z" for text in expressions(WRITES)]
CALLS = [*[f"return {text}" for text in expressions(EXPRESSIONS)], *BODIES, *WRITTEN]
LAYOUTS = {
    "C": lambda a: a, "F": np.asfortranarray,
    "examples last": lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0),
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 2, -1)[::2, ..., ::2],
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
}  # fmt: skip
DTYPES = ["f8", "f4", "i8", "?", "c16", "u1"]
KINDS = list(itertools.product(LAYOUTS, DTYPES))
# What is done with an error of the call.
CAUGHT = {
    "not caught": "{}", "Exception": "\n  try:\n   {}\n  except Exception: return x[:1]*3",
    "bare": "\n  try:\n   {}\n  except: return x[:1]*3",
}  # fmt: skip
LOOPED = {  # in arrays of C order and float64: calls that are made for each example, one by one
    "choose", "full_like(x,y[0])", "bincount", "histogram", "isin", "lexsort", "lstsq", "nonzero", "packbits",
    "constant_values=((1,2),(3,4))", "piecewise", "searchsorted(np.sort", "allclose", "array_equal",
    'ravel("K")', 'ravel("A")', 'order="A"', "argmin(x,keepdims=True)", "argmax(z,None,keepdims=True)",
    "reduceat(x,np.argsort", "pad(s,1,constant_values=x[0,0])",
}  # fmt: skip
ASKED = {  # what only one example can answer, or what is outside: the function is called for each
    "np.full(3,", "x[True]", "np.size(", "np.array(", "np.asarray", "float(x", "x if ", "str(", ".item()", " is ",
    "is_not", ".flags", ".strides", ".base", 'f"', "{x", "np.vectorize", "may_share", "= z[z>0]", "z[z>0] *=",
    "= s*1", "np.zeros(", "empty_like(s)", ".flat", ".shape =", "s[0] = 1", "BUF", "LST", "DCT", "RNG",
    "id(", "random", "OBJ", "CNT", "try:", "record=True",
}  # fmt: skip


def made(dtype, layout, shape, rng):
    """An array of the dtype in the layout."""
    v = rng.normal(size=shape) * 3
    if dtype == "c16":
        v = v + 1j * rng.normal(size=shape)
    return LAYOUTS[layout](v > 0 if dtype == "?" else (np.abs(v) if dtype == "u1" else v).astype(dtype))


class Run:
    """One call, with everything that is outside of it."""

    def __init__(self, body, layout, dtype, caught="not caught"):
        rng = np.random.default_rng(3)
        x, y, m = [made(dtype, layout, shape, rng) for shape in ((SIZE, 3, 4), (SIZE, 3, 4), (SIZE, 3, 3))]
        self.batches = [x, y, m, rng.integers(0, 3, (SIZE, 2))]
        self.shared = made(dtype, layout, (SIZE, 3, 4), rng)[2].copy()
        np.random.seed(0)
        random.seed(0)
        self.scope = {
            "np": np, "BUF": np.zeros(4), "LST": [1], "DCT": {}, "RNG": np.random.default_rng(0),
            "OBJ": types.SimpleNamespace(n=1, t=[np.True_]), "CNT": 0, "TRUE": np.True_, "ITR": iter([1.0, 2, 3, 4, 5]),
        }  # fmt: skip
        body = body.replace("\n", "\n ") if caught != "not caught" else body
        exec(f"def f(x, y, m, i, s):\n  {CAUGHT[caught].format(body)}", self.scope)

    def loop(self):
        return by_loop(self.scope["f"], *self.batches, self.shared, in_axes=AXES)

    def vmap(self):
        return af.vmap(self.scope["f"], AXES)(*self.batches, self.shared)

    def outside(self):
        """What is there afterwards."""
        s = self.scope
        drawn = s["RNG"].random(), np.random.random(), random.random()
        return repr(([s[name] for name in ("BUF", "LST", "DCT", "OBJ", "CNT")], self.shared, drawn, list(s["ITR"])))


def check(body, layout, dtype, caught="not caught"):
    """How the call ran under vmap: with a loop over the function, over a call in it, or with forms alone.
    AssertionError if it is not what the loop does."""
    single = Run(body, layout, dtype, caught)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        theirs, outside = outcome(single.loop), single.outside()
        batched = Run(body, layout, dtype, caught)
        looping.SAID.clear()
        warnings.simplefilter("always", LoopWarning)
        ours = outcome(batched.vmap)
    if isinstance(ours, BatchError) and "ITR" in body:
        return "refused"  # an iterator that has moved on cannot be put back
    apart = [*batched.batches, batched.shared, batched.scope["BUF"]]
    wrong = difference(ours, theirs, 1e-3 if dtype == "f4" else 1e-12, apart=apart)
    wrong = wrong or ("" if isinstance(theirs, Exception) or batched.outside() == outside else "what is outside")
    assert not wrong, f"{body!r} in {layout} {dtype}, error {caught}: {wrong}"
    whole = any([str(w.message).startswith("af.vmap calls the function") for w in said])
    return "whole" if whole else "loop" if said else "form"


@pytest.mark.parametrize("part", range(8))
def test_calls_are_those_of_a_loop(part):
    """By day each call in C order and one other kind; by night in all."""
    tally = collections.Counter()
    for k, body in [*enumerate(CALLS)][part::8]:
        how = check(body, "C", "f8")
        tally[how] += 1
        if how in ("loop", "whole"):
            known = LOOPED if how == "loop" else ASKED
            assert any([name in body for name in known]), f"{body} is made for each example"
        tally[check(body, *KINDS[k % len(KINDS)])] += 1
        tally[check(body, "C", "f8", ["Exception", "bare"][k % 2])] += 1
    assert tally["form"] > 0.6 * sum(tally.values())


@pytest.mark.nightly
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_calls_are_those_of_a_loop(layout, dtype):
    tally = collections.Counter([(caught, check(body, layout, dtype, caught)) for body in CALLS for caught in CAUGHT])
    print(f"{sum(tally.values())} cases in {layout} {dtype}: {dict(tally)}")


# -- with derivatives


def slopes(body, way):
    """Gradients of each example, or of the sum of all, by the first argument and by what is shared."""
    run = Run(body, "C", "f8")
    f, (x, *others), s = run.scope["f"], run.batches, run.shared

    def loss(x, *others):
        return sum([np.sum(np.abs(v) ** 2) for v in af.tree_leaves(f(x, *others))])

    def total(x, *others):
        mapped = by_loop if way == "loop outside" else lambda loss, *args, in_axes: af.vmap(loss, in_axes)(*args)
        return np.sum(mapped(loss, x, *others, in_axes=AXES))

    slope = af.grad(total if way.endswith("outside") else loss, (0, 4), allow_unused=True)
    if way == "loop inside":
        return by_loop(slope, x, *others, s, in_axes=AXES)
    return (slope if way.endswith("outside") else af.vmap(slope, AXES))(x, *others, s)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_derivatives_are_those_of_a_loop(part):
    for body in CALLS[part::8]:
        if "RNG" in body or "random" in body or "ITR" in body:
            continue
        for way in ("inside", "outside"):
            theirs, ours = outcome(slopes, body, f"loop {way}"), outcome(slopes, body, way)
            if isinstance(theirs, Exception):
                continue  # not differentiable
            assert not isinstance(ours, Exception), f"{body!r} {way}: {ours}"
            for g, wanted in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(g, wanted, 1e-12, 1e-12, err_msg=f"{body!r} {way}")


# -- what the abandoned run may not leave behind


BUFFER = np.zeros(3)
CATCHES = {
    "nothing": "{}", "ValueError": "try:\n  {}\n except ValueError: pass",
    "Exception": "try:\n  {}\n except Exception: pass", "bare": "try:\n  {}\n except: pass",
    "finally": "try:\n  {}\n finally:\n  return x * 2", "suppress": "with contextlib.suppress(ValueError):\n  {}",
    "in a function": "def g():\n  try:\n   {}\n  except ValueError: pass\n g()",
    "unlocked": "BUFFER.flags.writeable = True\n {}", "setflags": "BUFFER.setflags(write=True)\n {}",
}  # fmt: skip
WRITES = [
    "BUFFER[0] += 1", "BUFFER[:] = BUFFER + 1", "BUFFER.fill(7)", "np.add(BUFFER, 1, out=BUFFER)", "BUFFER.sort()",
    "np.copyto(BUFFER, 5)", "BUFFER.__iadd__(2)", "VIEW[0] += 1", "RECORD['f0'] += 1", "BUFFER[0] = by_keyword()",
    "BUFFER[0] = by_attribute()", "CONTEXT.set(CONTEXT.get() + 1); BUFFER[0] = CONTEXT.get()",
    "MODULES[0].n += 1; BUFFER[0] = MODULES[0].n",
]  # fmt: skip
COUNTING = """
def by_keyword(*, calls=[0]): return calls.append(1) or len(calls)
def by_attribute(): return by_attribute.calls.append(1) or len(by_attribute.calls)
by_attribute.calls, MODULES = [], [types.ModuleType("counts")]
MODULES[0].n, CONTEXT = 0, contextvars.ContextVar("n", default=0)
VIEW, RECORD = memoryview(BUFFER), BUFFER.view("f8,f8,f8")[0]
"""


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("catch", CATCHES)
def test_writes_into_what_is_outside(catch, write):
    """As often as in the loop, whatever the function does with NumPy's error."""
    found = []
    for run in (lambda f, x: [f(v) for v in x], lambda f, x: af.vmap(f, loop="allow")(x)):
        scope = {"contextlib": contextlib, "contextvars": contextvars, "types": types}
        scope |= {"np": np, "BUFFER": np.array([3.0, 1.0, 2.0])}
        exec(f"{COUNTING}\ndef f(x):\n {CATCHES[catch].format(write)}\n return x * 2 + BUFFER[0]", scope)
        z = np.stack(run(scope["f"], np.arange(4.0)))
        assert scope["BUFFER"].flags.writeable
        found.append((z.tolist(), scope["BUFFER"].tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("writeable", [True, False])
def test_an_element_of_a_structured_array_may_be_read(writeable):
    rows = np.array([(2.0, 3)], [("a", float), ("b", int)])
    rows.flags.writeable = writeable
    row = rows[0]
    np.testing.assert_array_equal(af.vmap(lambda x: x * row["a"])(np.ones(3)), [2.0] * 3)
    np.testing.assert_array_equal(af.grad(lambda x: np.sum(x * row["a"]))(np.ones(3)), [2.0] * 3)


@pytest.mark.parametrize("hold", [lambda d: d, af.nn.Sequential, lambda d: af.nn.Sequential(af.nn.Sequential(d))])
def test_a_layer_outside_draws_for_each_example(hold):
    found = []
    for run in (lambda f, x: [f(v) for v in x], lambda f, x: af.vmap(f, loop="allow")(x)):
        net = hold(af.nn.Dropout(0.5, rng=np.random.default_rng(3)))
        found += [np.stack(run(lambda x, net=net: net(x), np.ones((4, 2)))), net(np.ones(50))]
    for ours, theirs in zip(found[2:], found[:2], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rules_and_objects_that_count_their_calls():
    """A rule of af.custom_jvp, its function, and ``__getattr__`` are called as often as in the loop."""

    def counting(run):
        calls = []
        counted = af.custom_jvp(lambda x: x * len(calls[calls.append("f") or 0 :]))
        counted.defjvp(lambda primals, tangents: (primals[0], tangents[0] * len(calls[calls.append("jvp") or 0 :])))
        noting = type("Noting", (), {"__getattr__": lambda _, name: calls.append(name) or len(calls)})()
        for f in (counted, af.grad(lambda x: np.sum(counted(x))), lambda x: x * noting.foo):
            yield np.stack(run(f, np.ones((4, 2)))).tolist(), [*calls]

    theirs = counting(lambda f, x: [f(v) for v in x])
    assert [*counting(lambda f, x: af.vmap(f, loop="allow")(x))] == [*theirs]


def test_another_thread_writes_meanwhile():
    """Its array is not locked, and what it writes stays."""
    table, errors, stop = np.zeros(100), [], threading.Event()

    def work():
        while not stop.is_set():
            try:
                table[50:] += 1
            except ValueError as error:
                errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(50):
            np.testing.assert_array_equal(af.vmap(lambda x: x * table[0] + table[1], loop="allow")(np.ones(3)), 0)
    finally:
        stop.set()
        thread.join()
    assert not errors


# -- numbers of other examples, which the first one does not show


@pytest.mark.parametrize("other", [0.0, np.float32(2), np.int8(1), 7], ids=repr)
@pytest.mark.parametrize("dtype", ["i8", "u8", "f4", "f8", "c8"])
@pytest.mark.parametrize("write", ["mask", "copyto"])
def test_places_that_are_not_written_keep_all_digits(write, dtype, other):
    exact = 2**53 + 1 if dtype[0] in "iu" else 1 / 3
    batch = np.array([[1, 2, 3], [4, exact, 3]], dtype)
    kept = batch[1, 1]

    def f(x, y):
        z = x.copy()
        if write == "mask":
            z[x == 3] = y
        else:
            np.copyto(z, y, "unsafe", where=x == 3)
        return z

    for ways in (0, (0, None)):
        y = np.array([other] * 2) if ways == 0 else other
        found = af.vmap(f, in_axes=ways, loop="refuse")(batch, y)
        np.testing.assert_array_equal(found, [f(x, other) for x in batch], strict=True)
        assert found[1, 1] == kept


@pytest.mark.parametrize("dtype", [int, np.uint8, np.int16])
def test_whole_numbers_between_two_ends(dtype):
    def f(b):
        return np.linspace(0, b, 50, dtype=dtype)

    for ends in ([48.0, 49.0], [49.0, 0.0], [0.0, 49.0]):
        found = af.vmap(f, loop="allow")(np.array(ends))
        np.testing.assert_array_equal(found, [f(b) for b in ends], strict=True)


# -- containers whose entries have another order


@pytest.mark.parametrize("f", [
    lambda x: {"a": x, "b": 2 * x} if float(x) > 0 else {"b": 2 * x, "a": x},
    lambda x: {"a": {"c": x, "d": -x}, "b": [2 * x]} if float(x) > 0 else {"b": [2 * x], "a": {"d": -x, "c": x}},
])  # fmt: skip
def test_entries_are_stacked_by_name(f):
    numbers = np.array([1.0, -1.0, 3.0])
    found = af.vmap(f, loop="allow")(numbers)
    np.testing.assert_array_equal(found["b"][0] if isinstance(found["b"], list) else found["b"], 2 * numbers)
    np.testing.assert_array_equal(found["a"]["c"] if isinstance(found["a"], dict) else found["a"], numbers)


@pytest.mark.parametrize("second", [lambda x: {"a": x}, lambda x: {"a": x, "c": x}, lambda x: [x, x], lambda x: x])
def test_other_containers_cannot_be_stacked(second):
    with pytest.raises(BatchError, match="returns other containers for some examples"):
        af.vmap(lambda x: {"a": x, "b": x} if float(x) > 0 else second(x), loop="allow")(np.array([1.0, -1.0]))


def test_axes_are_given_by_name():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    found = af.vmap(lambda d: d["x"] * d["y"], in_axes=({"y": None, "x": 0},))({"x": x, "y": y})
    np.testing.assert_array_equal(found, x * y)


# -- a batch without examples


OF_STACKS = {
    f"{function.__name__} {x.shape} {options}": (function, x, options)
    for function in (*of_kind("reduces"), *of_kind("runs"), np.argsort, np.roll, np.repeat, np.take, np.linalg.norm)
    for x in (np.arange(1.0, 7.0), np.arange(1.0, 10.0).reshape(3, 3), np.array(2.0))
    for options in ({}, {"axis": None}, {"axis": 0}, {"axis": -1, "keepdims": True})
}
MORE = {np.roll: (1,), np.repeat: (2,), np.take: ([0],)}


def each(function, options, x):
    return function(x, *MORE.get(function, ()), **options)


def answer(function, x, options):
    """What the function returns; None if it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return each(function, options, x)
        except (TypeError, ValueError, IndexError, BatchError):
            return None


def test_an_empty_batch_has_the_shape_and_dtype_of_a_full_one():
    tried = 0
    for name, (function, x, options) in OF_STACKS.items():
        batched = af.vmap(functools.partial(each, function, options), loop="refuse")
        one, found = answer(batched, x[None], {}), answer(batched, x[None][:0], {})
        if not isinstance(one, np.ndarray):
            continue
        whole = tuple(range(1, x.ndim + 1)) if options.get("axis") is None and x.ndim > 1 else -1
        if found is None and answer(function, x[None][:0], {**options, "axis": whole}) is None:
            continue  # NumPy's own function refuses an empty stack
        assert found is not None, name
        assert (found.shape, found.dtype) == (one[:0].shape, one.dtype), name
        tried += 1
    assert tried > 100
    both = af.vmap(lambda x: np.concatenate([x, x], axis=None), loop="refuse")(np.zeros((0, 2, 3)))
    assert both.shape == (0, 12)


class Measured(np.ndarray):
    """A class of the user's."""


def mapped_file(tmp_path):
    x = np.memmap(tmp_path / "x", float, "w+", shape=(3, 2))
    x[:] = 1
    return x


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize(
    "make",
    [lambda _: np.ones((3, 2)), lambda _: np.ones((3, 2)).view(Measured), mapped_file, lambda _: np.ma.ones((3, 2))],
    ids=["array", "subclass", "memmap", "masked"],
)
def test_examples_are_read_only_whatever_their_class(make, loops, axis, tmp_path):
    x = make(tmp_path)

    def write(example):
        if loops:
            float(example[1])
        example[0] = 7.0
        return example

    with pytest.raises(ValueError, match="read-only"):
        af.vmap(write, axis, loop="allow")(x)
    np.testing.assert_array_equal(x, np.ones((3, 2)))
    assert x.flags.writeable


@pytest.mark.parametrize("other", [None, "float64", "d", float, np.float64, np.dtype(float)], ids=repr)
@pytest.mark.parametrize("first", [False, True])
def test_numbers_of_some_examples_and_anything_of_others_cannot_be_stacked(other, first):
    """np.stack would make objects or texts of them."""
    with pytest.raises(InputError, match="differs between examples"):
        af.vmap(lambda x: x if (x > 0) == first else other, loop="allow")(np.array([1.0, -1.0]))


class Target:
    shape = (2, 1)


@pytest.mark.parametrize("given", [np.float32, np.dtype("f4"), Target(), Target, np.ndarray, float])
def test_classes_and_objects_with_a_shape_are_no_arrays(given):
    x = np.ones((3, 2))
    found, same = af.vmap(lambda x, given: (x * 2, given), loop="refuse")(x, given)
    np.testing.assert_array_equal(found, x * 2)
    assert same is given
    with pytest.raises(InputError, match="nothing to map over"):
        af.vmap(lambda given: given)(given)


# -- NumPy's numbers, which are no arrays, and what else the first example does not show

FLOATS = [1.0, 0.0, -0.0, np.nan, np.inf, -np.inf, -2.0, 0.5]
NUMBERS = {
    "?": [True, False], "i1": [1, 0, -1, 127, -128, 3], "u8": [1, 0, 2**64 - 1, 7], "f4": FLOATS, "f8": FLOATS,
    "c16": [complex(a, b) for a in FLOATS for b in FLOATS],
}  # fmt: skip
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lshift, operator.and_, operator.eq,
]  # fmt: skip
OTHERS = [0, 2, -1, 0.5, True, np.float32(0.5), np.int8(2), np.array(0.5), [1, 2]]


def computed(function, y, turned, x):
    z = function(y, x) if turned else function(x, y)
    return np.size(z) if type(y) is list else z


def overflows(function, y, turned, x):
    try:
        with np.errstate(over="raise"):
            computed(function, y, turned, x)
    except FloatingPointError:
        return True
    return False


def agrees(f, batch):
    return not difference(outcome(af.vmap(f, loop="allow"), batch), outcome(by_loop, f, batch), 1e-3, apart=[batch])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("f", [computed, overflows])
def test_numbers_compute_as_numpys_numbers(f, dtype):
    for call in itertools.product(OPERATORS, OTHERS, (False, True)):
        assert agrees(functools.partial(f, *call), np.array(NUMBERS[dtype], dtype)), call


LATER = {
    "is None": (lambda x: x[0] is None, [[1.0, 2], [None, 3]], object),
    "is None, of an argument": (lambda x: x is None, [1.0, None], object),
    "a class": (lambda x: isinstance(x[0], str), [[1.0, 2], ["a", 3]], object),
    "the smallest dtype": (lambda x: np.min_scalar_type(x[0]).itemsize, [[1, 2], [1000, 2]], int),
    "a copy of a number": (lambda x: (n := x.sum(), n[...].fill(x[1]), n[...] + 1)[2], [[0.0, 3], [4, 5]], float),
    "texts of any length": (lambda x: x, [["a", "bc"], ["", "def"]], np.dtypes.StringDType()),
    "a table": (lambda x: sys.modules["pandas"].Series(x), [[1.0, 2], [3, 4]], float),
}


@pytest.mark.parametrize("f", [np.vdot, np.convolve, np.correlate, np.dot, np.inner])
def test_sums_of_half_precision_are_rounded_once(f):
    batch = np.array([[1, 2, 3], [300, 300, 7], [-300, 300, 9]], np.float16)
    assert agrees(lambda x: f(x, np.array([300, -300, 1], np.float16)), batch)


@pytest.mark.parametrize("name", LATER)
def test_what_later_examples_decide(name):
    if name == "a table":
        pytest.importorskip("pandas", reason="pandas is not installed")
    f, batch, dtype = LATER[name]
    batch = np.array(batch, dtype)
    expected = np.stack([f(x) for x in batch])
    found = af.vmap(f, loop="allow")(batch)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
