"""Writes, views and copies in compiled functions: generated programs that look at memory in several ways and write
through all of them. The compiled function agrees with NumPy, or is refused. Of NumPy comes the truth: the value, and
central differences.
"""

import array
import contextlib
import itertools
import operator
import os
import warnings

import numpy as np
import pytest
from compiled import check_calls, check_same, functions

import autoflow as af
from autoflow.compiler.llvm import engine as engines
from autoflow.compiler.run.buffers import Plan
from autoflow.compiler.trace import memory
from autoflow.compiler.trace.tape import Tape
from autoflow.errors import BatchError, CompileError, InPlaceError, LostGradientError, NoRuleError, StaleValueError

POINTS = np.random.default_rng(5).uniform(0.5, 1.5, (2, 6))

# -- calls that write, and views, of a recording that is made by hand

WRITTEN_DOWN = [  # the function, what it gets beside an array z, and the statement that it is
    (memory.set_items, (slice(1, None), 7.0), lambda z: operator.setitem(z, slice(1, None), 7.0)),
    (memory.update_at, (np.add, [0, 0], 1.0), lambda z: np.add.at(z, [0, 0], 1.0)),
    (memory.write_into_copy, (np.put, [0], 5.0), lambda z: np.put(z, [0], 5.0)),
    (memory.compute_into, (np.cumsum, POINTS, 0), lambda z: np.cumsum(POINTS, 0, out=z)),
]


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize(("function", "rest", "statement"), WRITTEN_DOWN)
def test_a_call_that_writes_gives_a_new_array_instead(function, rest, statement, order):
    x, z = [np.array(POINTS, order=order) for _ in range(2)]
    new = function(*rest[:1], x, *rest[1:]) if callable(rest[0]) else function(x, *rest)
    statement(z)
    np.testing.assert_array_equal(new, z)
    np.testing.assert_array_equal(x, POINTS)
    assert new.strides == z.strides


def test_the_truth_of_the_recording_is_asked_for_in_each_run():
    assert memory.check_answer(np.array(2.0), True) == 2.0
    with pytest.raises(ValueError, match="another way"):
        memory.check_answer(np.array(0.0), True)


def test_a_write_through_a_view_is_one_into_its_source_and_other_views_look_again():
    tape = Tape()
    z = tape.new_traced(tape.program.input(np.zeros((2, 3))))
    part, turned, borrowed = z[1:], z.T, tape.borrow(tape.program.constant(np.zeros(3)))
    assert memory.root(part[0]) is z
    assert np.shares_memory(memory.dummy_of(part), memory.dummy_of(turned))
    assert memory.dummy_of(turned).strides == np.zeros((2, 3)).T.strides
    before = turned.expr
    memory.write(part, tape.new_traced(tape.program.constant(np.array([[1.0, 2.0, 3.0]]))))
    assert turned.expr is not before
    tape.program.outputs = [z.expr, tape.program.in_memory(turned.expr)]
    found = Plan(tape.program).run([np.full((2, 3), 9.0)])
    np.testing.assert_array_equal(found[0], [[9.0, 9.0, 9.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(found[1], found[0].T)
    for x, error in ((borrowed, CompileError), (np.zeros(3), CompileError), (tape.call(np.sum, (z,)), TypeError)):
        with pytest.raises(error, match=r"writes into an a|cannot be written into"):
            memory.write(x, x)


# -- programs that write

NIGHTLY = os.environ.get("AUTOFLOW_NIGHTLY") == "1"
REFUSED = BatchError, CompileError, InPlaceError, LostGradientError, NoRuleError, StaleValueError


def basic_index(rng, shape):
    """Slices, numbers, None and the ellipsis, that give at least one element."""
    parts = []
    for n in shape:
        kind = rng.integers(4)
        start, step = int(rng.integers(n)), int(rng.choice([1, 1, 2, -1]))
        parts.append(
            int(rng.integers(-n, n)) if kind == 0 else slice(None, None, step) if kind == 1
            else slice(start, None) if kind == 2 else slice(None)
        )  # fmt: skip
    if rng.integers(4) == 0:
        parts.insert(int(rng.integers(len(parts) + 1)), None)
    if rng.integers(4) == 0:
        parts = [*parts[: max(0, len(parts) - 2)], ...]
    return tuple(parts)


LOOKS = {  # most often views
    "index": lambda rng, z: (basic_index(rng, z.shape), operator.getitem), "T": lambda rng, z: (None, lambda a, _: a.T),
    "reshape": lambda rng, z: ((-1,) if rng.integers(2) else (1, -1), lambda a, s: a.reshape(s)),
    "ravel": lambda rng, z: ("CFK"[rng.integers(3)], lambda a, o: np.ravel(a, order=o)),
    "flip": lambda rng, z: (None, lambda a, _: np.flip(a)),
    "swap": lambda rng, z: (None, lambda a, _: np.swapaxes(a, 0, -1)),
    "expand": lambda rng, z: (None, lambda a, _: np.expand_dims(a, 0)),
    "squeeze": lambda rng, z: (None, lambda a, _: np.squeeze(a)),
    "real": lambda rng, z: (None, lambda a, _: np.real(a)), "ellipsis": lambda rng, z: (None, lambda a, _: a[...]),
    "split": lambda rng, z: (None, lambda a, _: np.array_split(a, 2)[0]), "same": lambda rng, z: (None, lambda a, _: a),
    "diagonal": lambda rng, z: (None, lambda a, _: np.diagonal(a) if a.ndim > 1 else a),
    "broadcast": lambda rng, z: (None, lambda a, _: np.broadcast_to(a, (2, *a.shape))),
    "einsum": lambda rng, z: (None, lambda a, _: np.einsum("ij->ji" if a.ndim == 2 else "...->...", a)),
}  # fmt: skip
COPIES = functions("""
    a.copy() | a.copy(order="K") | a * 1.25 | np.exp(0.3 * a) | a[[0, -1]] | a.sum(axis=0, keepdims=True) * 0.5
    np.zeros_like(a) + 0.5 * a | a * a | np.stack([a, a])[1] | a.flatten() | np.roll(a, 1) | np.where(a > 1.0, a, 0.5)
""", "a", globals())  # fmt: skip


def every_second(a):
    """A mask that does not depend on the numbers."""
    mask = np.zeros(a.shape, bool)
    mask.reshape(-1)[::2] = True
    return mask


def softmax(a, b):
    a -= a.max()
    np.exp(a, out=a)
    a /= a.sum()


WRITES = {  # through a, with the numbers of b, which broadcasts against it
    "+=": lambda a, b: operator.iadd(a, b) if a.ndim else None,
    "*=": lambda a, b: operator.imul(a, b) if a.ndim else None,
    "**=": lambda a, b: operator.ipow(a, 2) if a.ndim else None, "all": lambda a, b: operator.setitem(a, ..., b),
    "first": lambda a, b: operator.setitem(a, 0, 0.5 * b) if a.ndim else None,
    "half": lambda a, b: operator.setitem(a, slice(None, None, 2), b * b) if a.ndim else None,
    "own": lambda a, b: operator.setitem(a, slice(1, None), a[:1] * b) if a.ndim == 1 else None,
    "several": lambda a, b: operator.setitem(a, [0, -1], b) if a.ndim else None,
    "mask": lambda a, b: operator.setitem(a, a > 1.0, 0.9), "out=": lambda a, b: np.multiply(a, b, out=a),
    "tanh": lambda a, b: np.tanh(a, out=a), "copyto": lambda a, b: np.copyto(a, np.sin(b)),
    "at": lambda a, b: np.add.at(a, [0, 0], b) if a.ndim == 1 else None,
    "element": lambda a, b: operator.setitem(a, 0, a[0] * 1.5) if a.ndim == 1 else None,
    "swap": lambda a, b: operator.setitem(a, slice(None), a[::-1].copy()) if a.ndim == 1 else None,
    "softmax": lambda a, b: softmax(a, b) if a.ndim else None,
    "own slice": lambda a, b: operator.setitem(a, np.s_[1:], operator.iadd(a[1:], a[:-1])) if a.ndim == 1 else None,
    "sort": lambda a, b: a.sort(),
    "partition": lambda a, b: a.partition(0),
    "shuffle": lambda a, b: np.random.default_rng(1).shuffle(a) if a.ndim else None,
    "put": lambda a, b: np.put(a, [0, -1], b), "a.put": lambda a, b: a.put([0], [b]) if a.ndim else None,
    "place": lambda a, b: np.place(a, every_second(a), [0.5, 0.25]),
    "putmask": lambda a, b: np.putmask(a, every_second(a), b),
    "diagonal=": lambda a, b: np.fill_diagonal(a, b) if a.ndim > 1 else None,
    "where=": lambda a, b: np.add(a, b, out=a, where=every_second(a)), "fill": lambda a, b: a.fill(b),
    "clip": lambda a, b: a.clip(0.3, 1.2, out=a),
    "matmul": lambda a, b: np.matmul(a, np.eye(a.shape[-1]) * 1.5, out=a) if a.ndim == 2 else None,
    "cumsum": lambda a, b: np.cumsum(a, axis=0, out=a) if a.ndim else None,
    "multiply.at": lambda a, b: np.multiply.at(a, slice(None, 2), b) if a.ndim == 1 else None,
}  # fmt: skip


def program(seed):
    """A function of six numbers, which looks, copies and writes; of the arrays that it has in the end all count."""
    rng = np.random.default_rng(seed)
    plain = [POINTS[0].reshape(2, 3) * 1.0, POINTS[0] * 2.0, np.zeros_like(POINTS[0])]
    steps = []
    for _ in range(int(rng.integers(4, 10))):
        kind, k = rng.integers(8), int(rng.integers(len(plain)))
        if kind < 3:
            name = rng.choice([*LOOKS])
            how, run = LOOKS[name](rng, plain[k])
            steps.append((name, k, how, lambda a, _, h=how, r=run: r(a, h)))
        elif kind == 3:
            name = rng.choice([*COPIES])
            steps.append((name, k, None, lambda a, _, r=COPIES[name]: r(a)))
        else:
            name = rng.choice([*WRITES])
            steps.append((name, k, int(rng.integers(3)), WRITES[name]))
        try:
            advance(plain, POINTS[0], *steps[-1])
        except (ValueError, IndexError, TypeError):  # NumPy refuses it: read-only, no such axis
            steps.pop()
            continue
        if plain[-1].size > 40 or not plain[-1].size:
            plain.pop()
            steps.pop()

    def f(x):
        arrays = [x.reshape(2, 3) * 1.0, x * 2.0, np.zeros_like(x)]
        for step in steps:
            advance(arrays, x, *step)
        return sum([np.sum(np.cos(a + k) * (k + 1)) for k, a in enumerate(arrays)])

    f.__name__ = " ".join([f"{name}:{k}" for name, k, *_ in steps]) or "nothing"
    return f


def advance(arrays, x, name, k, how, run):
    if name in WRITES and type(how) is int:
        run(arrays[k], [0.75, x[1], np.sum(x[:2])][how])
    else:
        arrays.append(run(arrays[k], how))


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


WAYS = {
    "value": af.compile, "gradient": lambda f: af.compile(af.grad(f)), "eager": af.grad,
    "llvm": lambda f: af.compile(af.grad(f), engine="llvm"), "forward": lambda f: af.compile(af.jacfwd(f)),
    "checkpoint": lambda f: af.grad(af.checkpoint(f)),
}  # fmt: skip
BATCHES = {
    "batch": lambda f: af.compile(af.vmap(af.grad(f))), "eager batch": lambda f: af.vmap(af.grad(f)),
    "forward batch": lambda f: af.vmap(af.jacfwd(f)),
}  # fmt: skip
needs_llvm = pytest.mark.skipif(not engines.is_there(), reason="llvmlite is not installed")
each_way = pytest.mark.parametrize(
    "way", [pytest.param(way, marks=needs_llvm if way == "llvm" else ()) for way in (*WAYS, *BATCHES)]
)


def outcome(f, way):
    """Is it right, or refused? Raises AssertionError if it is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            got = BATCHES[way](f)(POINTS) if way in BATCHES else np.stack([WAYS[way](f)(x) for x in POINTS])
        except REFUSED as error:
            return type(error).__name__
    want = np.stack([f(x) if way == "value" else differences(f, x) for x in POINTS])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=f"{way}: {f.__name__}")
    return "right"


@pytest.mark.thorough
@each_way
@pytest.mark.parametrize("first", range(0, 300 if NIGHTLY else 20, 20))
def test_a_program_that_writes_is_right_or_refused(way, first):
    n = 20 if NIGHTLY or way != "llvm" else 4
    outcomes = [outcome(program(seed), way) for seed in range(first, first + n)]
    assert outcomes.count("right") >= 0.6 * n, outcomes


@each_way
def test_who_looks_at_the_memory_sees_the_write(way):
    def through_everything(x):
        whole = x.reshape(2, 3) * 1.0
        flat, turned, part, same = whole.reshape(-1), whole.T, whole[:, 1:], np.squeeze(whole)
        turned *= x[0]  # one after the other, each through another view
        part += x[1]
        flat[::2] = x[:3] ** 2
        np.tanh(same, out=same)
        later = whole[0]
        whole[0, 1] = x[4]
        return sum([np.sum(np.cos(a + k)) for k, a in enumerate([whole, flat, turned, part, same, later])])

    assert outcome(through_everything, way) == "right"


@each_way
def test_a_value_that_a_derivative_needs_may_not_be_overwritten(way):
    def overwritten(x):
        y = x * 1.0
        z = y * y
        y[::2] = 0.0
        return np.sum(z + y)

    def beside(x):  # the halves do not overlap
        y = x * 1.0
        z = np.sum(y[::2] * y[::2])
        y[1::2] = z
        return np.sum(y)

    assert outcome(overwritten, way) == ("right" if way == "value" else "StaleValueError")
    assert outcome(beside, way) == "right"


def test_numbers_taken_from_a_node_see_the_write():
    def numbers(x):
        y = x * 1.0
        before = y.value
        copy = y.value.copy()
        with af.no_grad():
            part = y[1:]
        y += 1.0
        return np.sum(y) + np.sum(before) + np.sum(part) + np.sum(copy)

    x = POINTS[0]
    assert af.compile(lambda x: af.value_and_grad(numbers)(x)[0])(x) == af.value_and_grad(numbers)(x)[0]


NUMBERS = {"sum": np.sum, "max": np.max, "x[0]": lambda x: x[0], "x[-1] * 2": lambda x: x[-1] * 2}


@pytest.mark.parametrize("update", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_not_written_into(number, update):
    def f(x):
        s = t = number(x)
        s = getattr(operator, update)(s, 2.0)
        return np.stack([s, t, x[0] * 1.0])

    check_calls(f, *zip(POINTS))
    check_calls(f, *zip(POINTS), engine="auto")
    check_same(check_calls(af.vmap(f), (POINTS,))(POINTS), np.stack([f(x) for x in POINTS]))


VIEWED = [
    lambda z: z, lambda z: z.view(), lambda z: z.reshape(-1), np.atleast_1d, lambda z: z[...], lambda z: z[None].T,
    lambda z: np.broadcast_to(z, (1,)), lambda z: np.ravel(z, "K"), lambda z: z.reshape(1, 1)[0], np.squeeze, np.real,
]  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_a_node_without_axes_is_written_into(name):
    """NumPy's numbers are not: a view of one is another array. By day each view meets each write once."""
    pairs = [*itertools.product(VIEWED, WRITES.values())]

    def answer(f):
        try:
            return np.hstack(af.pytree.tree_leaves(f(POINTS[0]))).tolist()
        except Exception as error:
            return type(error)

    for look, write in pairs if NIGHTLY else pairs[[*NUMBERS].index(name) :: len(NUMBERS)]:

        def f(x, look=look, write=write):
            z = NUMBERS[name](x) * 1.0
            write(look(z), x[1])
            return z * 3.0 + x[2]

        for g in (f, af.value_and_grad(f)):
            assert answer(af.compile(g, verify=False)) in (answer(g), CompileError)


def test_an_order_that_depends_on_the_memory():
    def f(x):
        z = np.exp(x.reshape(2, 3).T)
        z[0] = 1.0
        w = z.ravel(order="K")
        return w * 2.0, z

    def written(x):
        z = np.exp(x.reshape(2, 3).T)
        w = z.ravel(order="K")
        w += 1.0
        return z

    check_calls(f, *zip(POINTS))
    with pytest.raises(CompileError, match="writes in place"):
        af.compile(written)(POINTS[0])


def of_one_row(x):
    z = (x[:, None] * 1).T
    z += 1
    return z * x


def of_one_row_copied(x):
    z = np.stack([x * 1]).T.copy("K")
    z += x[:, None]
    return z


def test_a_copy_of_a_read_only_array_is_written_into():
    x = np.broadcast_to(POINTS, (2, 6))
    for copy in (*COPIES.values(), lambda a: a * 1, lambda a: a.T[1:] + 0, lambda a: a.sum(())):

        def f(x, copy=copy):
            z = copy(x)
            z[0] = 7.0
            return z

        check_calls(f, (x,))


@pytest.mark.parametrize("f", [of_one_row, of_one_row_copied])
def test_axes_of_length_1_lie_anywhere_in_memory(f):
    check_calls(f, (np.arange(3.0),))


@pytest.mark.parametrize("in_place", [lambda z: np.nan_to_num(z, copy=False), lambda z: np.nan_to_num(z, False)])
def test_nan_to_num_writes_and_returns(in_place):
    def f(x):
        z = x * 1.0
        z[0] = np.nan
        y = in_place(z)
        y += 1.0
        return z, y

    check_calls(f, (POINTS[0],))
    with pytest.raises(CompileError, match="writes into an argument"):
        af.compile(in_place)(POINTS[0].copy())


ORDERING = ["median", "nanmedian", "percentile", "nanpercentile", "quantile", "nanquantile"]


@pytest.mark.parametrize("by_position", [False, True])
@pytest.mark.parametrize("name", ORDERING)
def test_what_may_leave_its_argument_in_another_order_is_refused(name, by_position):
    function, given = getattr(np, name), () if "median" in name else (0.5,)
    how = ((None, None, True), {}) if by_position else ((), {"overwrite_input": True})

    def f(x):
        y = x * 2.0
        return function(y, *given, *how[0], **how[1]), x * 2.0

    with pytest.raises(CompileError, match="overwrite_input=True"):
        af.compile(f)(POINTS[0])
    np.testing.assert_array_equal(af.compile(f, fallback=True)(POINTS[0])[1], 2.0 * POINTS[0])
    check_calls(lambda x: function(x, *given, overwrite_input=False), (POINTS[0],))


INTO = {  # z is larger than the result
    "add": lambda x, z: np.add(x[0], 1.0, out=z), "divmod": lambda x, z: np.divmod(x[0], 2.0, out=(z, None)),
    "sum": lambda x, z: np.sum(x, axis=0, out=z), "max": lambda x, z: x.max(0, z),
    "mean": lambda x, z: x.mean(0, out=z), "cumsum": lambda x, z: np.cumsum(x[0], out=z),
    "clip": lambda x, z: np.clip(x[0], 0.5, 1.0, out=z), "fewer axes": lambda x, z: np.add(x, 1.0, out=z[0]),
    "matmul": lambda x, z: np.matmul(x, x[:, :1], out=z), "dot": lambda x, z: np.dot(x, x[:, :1], out=z),
    "round": lambda x, z: x[0].round(1, z), "take": lambda x, z: np.take(x[0], [0, 1, 2], out=z),
    "x @= y": lambda x, z: operator.imatmul(z, x[:, :1]), "x += y": lambda x, z: operator.iadd(z[0], x),
}  # fmt: skip


def answer(f, x):
    try:
        return f(x).tolist()
    except (ValueError, CompileError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", INTO)
def test_a_result_is_repeated_where_numpy_repeats_it(name):
    """And where NumPy refuses an array of another shape, the error is NumPy's."""

    def f(x):
        z = x * 0.0
        INTO[name](x, z)
        return z

    x = np.array([[0.25, 1.5, -2.0], [1.0, 0.75, 3.0], [2.0, -1.0, 0.5]])
    found = answer(af.compile(f), x)
    if name == "divmod":  # of two results
        assert found[0] is CompileError
    else:
        assert found == answer(f, x)


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("x", [POINTS.reshape(4, 3), np.ones((4, 3)), POINTS[0]], ids=["rows", "equal rows", "numbers"])
def test_what_code_in_c_moves_about(make, x):
    """It exchanges rows by way of a buffer, if it sees an array of NumPy, and else through views, of which one is
    overwritten before it is read. Numbers are no views."""

    def f(x):
        y = x * 1.0
        make(3).shuffle(y)
        return y * y

    for g in (f, af.grad(lambda x: np.sum(f(x) * np.arange(1.0, 1 + x.size).reshape(x.shape)))):
        np.testing.assert_array_equal(af.compile(g, fallback=True)(x), g(x))
        if x.ndim == 1:
            np.testing.assert_array_equal(af.compile(g)(x), g(x))
        else:
            with pytest.raises(CompileError, match=r"exchanges parts of an array.*write x\[generator.permutation"):
                af.compile(g)(x)


def test_a_long_chain_of_views():
    def f(x):
        z = w = x * 1.0
        for _ in range(1500):
            w = w[...]
        z += 1.0  # 1500 views see it
        return np.sum(z * w)

    for x in POINTS:
        np.testing.assert_allclose(af.compile(f)(x), np.sum((x + 1) ** 2))


# What is given, to which calls, and what is then done with it.
GIVEN = {
    "axes": ("p = [1, 0]", ["y.transpose(p)", "np.moveaxis(y, p, [0, 1])"], "p.reverse()"),
    "shape": ("p = [1, 3]", ["y[0].reshape(p)", "np.broadcast_to(y[:1], p)"], "p.reverse()"),
    "index": ("i = Index()", ["y[i]", "y[i:] * 1", "y[0, i:]", "np.sum(y, i)"], "i.k = 1"),
    "numbers": ("a = array.array('d', [0, 1, 2])", ["np.interp(y, a, [3.0, 1.0, 2.0])"], "a[0] = -5"),
    "variable": ("k = 2", ["np.apply_along_axis(lambda v: v * k, 0, y)"], "k = 3"),
    "element": ("k = [2]", ["np.frompyfunc(lambda v: v * k[0], 1, 1)(y)"], "k[0] = 3"),
    "what it saw": ("k = []", ["np.piecewise(y, [y < 9], [lambda v: (k.append(v.sum()), v)[1]])"], "y = y * k[0]"),
    "what it set": ("k = Index()", ["np.apply_along_axis(k, 0, y)"], "y = y * k.k"),
}  # fmt: skip


class Index:
    k = 0

    def __index__(self):
        return self.k

    def __call__(self, v):
        self.k = v.max()
        return v


@pytest.mark.parametrize("name", GIVEN)
def test_a_call_keeps_what_it_was_given(name):
    setup, calls, later = GIVEN[name]
    for call in calls:
        body = f"y = x * 1\n {setup}\n z = {call}\n {later}\n y += 1\n return y, z"
        exec(f"def f(x):\n {body}", scope := {"np": np, "array": array, "Index": Index})
        compiled = af.compile(scope["f"])
        for x in (POINTS[0], POINTS[0], POINTS[0] + 1.0):
            x = np.subtract.outer(x[:3], 2 * x[:3])
            with contextlib.suppress(CompileError):
                check_same(compiled(x), scope["f"](x), message=call)
