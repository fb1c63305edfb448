"""NumPy's odd corners: af.vmap is a loop and a compiled function the function, in values, dtypes, shapes, memory and
errors; af.vmap of either, and derivatives of each, too."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse
from by_loop import by_loop, difference, outcome
from corners import CORNERS, CORNERS_OF_TWO
from support import NIGHTLY

import autoflow as af
from autoflow.backprop.trials import SEARCHED
from autoflow.base import pytree
from autoflow.errors import CompileError, InputError

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.array([[1.0, 2.0, 3.0], [2.0, 0.5, 4.0], [3.0, 3.0, 0.0]])
OTHER = np.array([[0.0, 2.0, 1.0], [1.0, 5.0, -4.0], [2.0, 1.0, 1.0]])
KINDS = {
    "float64": lambda: X.copy(), "other numbers": lambda: OTHER.copy(), "columns": lambda: X.T.copy().T,
    "reversed": lambda: X[::-1, ::-1].copy()[::-1, ::-1], "float32": lambda: X.astype(np.float32),
    "integers": lambda: (X + 1).astype(int), "bytes": lambda: (X + 1).astype(np.uint8), "complex": lambda: X + 1j,
    "booleans": lambda: X > 1, "swapped": lambda: X.astype(">f8"),
    "every second": lambda: np.repeat(X, 2, 1)[:, ::2],
}  # fmt: skip
BY_DAY = ["float64", "other numbers", "reversed"]


def check(name, found, expected, refusable=False):
    """A compiled function may refuse, but not give anything else."""
    if not (refusable and isinstance(found, CompileError)):
        wrong = difference(found, expected, 1e-12)
        assert not wrong, f"{name}: {wrong}"


def mapped(f):
    return af.vmap(f, loop="allow")


def loop(f):
    return partial(by_loop, f)


@pytest.mark.parametrize("kind", [k for k in KINDS if NIGHTLY or k in BY_DAY])
def test_a_function_of_a_batch_and_a_compiled_one_are_the_function(kind):
    make = KINDS[kind]
    for name, f in CORNERS.items():
        check(f"vmap, {name}", outcome(mapped(f), make()), outcome(by_loop, f, make()))
        eager, compiled = outcome(f, make()[0]), af.compile(f)
        for _ in range(2):
            check(f"compile, {name}", outcome(compiled, make()[0]), eager, refusable=True)


@pytest.mark.parametrize("kind", ["float64", "columns"] if NIGHTLY else ["float64"])
def test_transforms_of_transforms(kind):
    make = KINDS[kind]
    for name, f in CORNERS.items():
        both = np.stack([make(), make() + 1])
        check(f"vmap vmap, {name}", outcome(mapped(mapped(f)), both), outcome(by_loop, loop(f), both.copy()))
        expected = outcome(by_loop, f, make())
        check(f"compile vmap, {name}", outcome(af.compile(mapped(f)), make()), expected, refusable=True)
        check(f"vmap compile, {name}", outcome(mapped(af.compile(f, fallback=True)), make()), expected)


@pytest.mark.parametrize("way", ["grad", "jvp", "hessian"] if NIGHTLY else ["grad"])
def test_derivatives_of_a_batch_and_of_compiled_functions(way):
    ways = {"grad": af.grad, "hessian": af.hessian, "jvp": lambda f: lambda x: af.jvp(f, (x,), (np.ones(3),))}
    for name, f in CORNERS.items():
        derivative = ways[way](lambda x, f=f: np.sum(np.real(f(x))))
        expected, found = outcome(by_loop, derivative, X.copy()), outcome(mapped(derivative), X.copy())
        if not (isinstance(found, Exception) and isinstance(expected, Exception)):
            check(f"vmap {way}, {name}", found, expected)
        eager, compiled = [outcome(function, X[0].copy()) for function in (derivative, af.compile(derivative))]
        if not (isinstance(compiled, Exception) and isinstance(eager, Exception)):
            check(f"compile {way}, {name}", compiled, eager, refusable=True)


def numbers(*shape):
    """Small ones, some of them equal."""
    rng = np.random.default_rng(len(shape))
    return rng.integers(0, 4, shape) + 0.5 * rng.integers(0, 2, shape)


TWO = {  # in_axes, and the two arguments; by day the first seven
    "the second is shared": ((0, None), numbers(2, 3), numbers(3)), "numbers": ((0, 0), numbers(2), numbers(2)),
    "a shared number": ((0, None), numbers(2, 3), np.float64(2.0)),
    "other axes": ((1, -1), numbers(3, 2), numbers(3, 2)),
    "a matrix and a vector": ((0, 0), numbers(2, 3, 3), numbers(2, 3)),
    "infinite": ((0, 0), np.where(numbers(2, 3) > 2, np.inf, numbers(2, 3)), np.where(numbers(2, 3) < 1, -np.inf, 2)),
    "two precisions": ((0, 0), numbers(2, 3).astype(np.float32), numbers(2, 3)),
    "both": ((0, 0), numbers(3, 3), numbers(3, 3)), "the first is shared": ((None, 0), numbers(3), numbers(2, 3)),
    "a vector and a number": ((0, 0), numbers(2, 3), numbers(2)),
    "matrices": ((0, None), numbers(2, 3, 3), numbers(3, 3)), "one example": ((0, 0), numbers(1, 3), numbers(1, 3)),
    "the last axis": ((2, None), numbers(3, 3, 2), numbers(3)),
    "nothing in each": ((0, 0), numbers(2, 0), numbers(2, 0)),
    "integers": ((0, 0), numbers(2, 3).astype(int), numbers(2, 3).astype(int)),
    "integers and floats": ((0, 0), numbers(2, 3).astype(int), numbers(2, 3)),
    "bytes": ((0, None), numbers(2, 3).astype(np.uint8), numbers(3).astype(int)),
    "complex": ((0, 0), numbers(2, 3) + 1j, numbers(2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*TWO][: None if NIGHTLY else 7])
@pytest.mark.parametrize("out_axes", [0, -1])
def test_functions_of_two_arguments(kind, out_axes):
    in_axes, *given = TWO[kind]
    for name, f in CORNERS_OF_TWO.items():
        before = [np.array(x) for x in given]
        both = af.vmap(f, in_axes, out_axes, loop="allow")
        found, compiled = outcome(both, *given), outcome(af.compile(both), *given)
        assert name.startswith("(y.__setitem__") or all(map(np.array_equal, given, before)), name
        for x, old in zip(given, before, strict=True):
            if isinstance(x, np.ndarray):
                x[...] = old
        definition = partial(by_loop, in_axes=in_axes, out_axes=out_axes)
        check(f"vmap, {name}", found, outcome(definition, f, *given))
        check(f"compile, {name}", compiled, outcome(definition, f, *given), refusable=True)


def test_orders_in_memory_under_two_transforms():
    """What vmap has learnt under one transform is not wrong under another; columns are side by side under all."""
    W, batch = np.array([1.0, 2.0, 3.0]), KINDS["columns"]()
    both = np.stack([batch, batch + 1])

    def turned(x):
        return np.outer(x, W).T.ravel("K")

    def written(x):
        y = x * 1.0
        y.ravel()[0] = 9.0
        return y

    for f in (turned, written):
        check("vmap vmap", outcome(mapped(mapped(f)), both), outcome(by_loop, loop(f), both.copy()))
        for _ in range(2):
            check("compile vmap", outcome(af.compile(mapped(f)), batch), outcome(by_loop, f, batch), refusable=True)


def test_results_that_examples_share_are_arrays_of_their_own():
    table, places = np.arange(12.0).reshape(3, 4).astype(">f8"), np.array([[0, 1], [2, 1]])
    taken = af.vmap(lambda t, i: np.take(t, i, axis=0), (None, 0))(table, places)
    assert type(taken) is np.ndarray
    assert taken.flags.writeable
    assert np.array_equal(taken, table[places])
    for f in (af.vmap(lambda x, y: y, (0, None), -1), af.compile(af.vmap(lambda x, y: y, (0, None), -1))):
        given = np.full(3, 2.0)
        found = f(np.ones((2, 3)), given)
        assert found.strides == (8, 24)
        assert not np.may_share_memory(found, given)


WRITES = {
    "a number": lambda y, e: y.__setitem__(0, e), "all of it": lambda y, e: y.fill(e),
    "add": lambda y, e: y.__iadd__(e), "at": lambda y, e: np.add.at(y, [0], e), "copyto": np.copyto,
    "a mask": lambda y, e: y.__setitem__(e > 2, 5.0),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_into_an_outer_example_where_no_search_finds_it(write):
    """Of inner examples the last one counts. Nothing else notices: the results of the first outer example are right."""

    def nested(transform):
        def f(x):
            y = np.outer(x, x)
            kept = [[[[[[y]]]]], [[[]] for _ in range(SEARCHED)]]

            def g(e):
                write(kept[0][0][0][0][0][0], e)
                return e * 1.0

            return transform(g)(np.array([[3.0], [1.0], [3.0]])), y

        return transform(f)

    check("written", outcome(nested(mapped), X), outcome(nested(loop), X))


class Tagged(np.ndarray):
    def __array_finalize__(self, x):
        self.tag = 7


class Replacing(np.ndarray):
    """Its sum of the first example is that of an ndarray."""

    def sum(self, *_, **__):
        return 6.0 if self.flat[0] < 1.5 else 5.0


def objects(x):
    z = np.empty(len(x), object)
    z[:] = list(x)
    return z


@pytest.mark.parametrize("make", [
    lambda x: np.ma.array(x, mask=x > 1), np.matrix, lambda x: x.view(Tagged),
    lambda x: x.view(Replacing), objects,
], ids=["masked", "matrix", "tagged", "replacing", "objects"])  # fmt: skip
@pytest.mark.parametrize("f", [
    lambda x: x, lambda x: x * 2, lambda x: x * x.T, lambda x: np.sum(x), lambda x: x.shape, lambda x: x[0],
    lambda x: getattr(x, "tag", 3), lambda x: len(type(x).__name__), lambda x: x if np.sum(x) > 1 else x * 0,
], ids=["x", "2x", "product", "sum", "shape", "place", "tag", "class", "if"])  # fmt: skip
def test_arrays_of_other_classes(f, make):
    """Mapped, shared, and found outside. Matrices become arrays when they are stacked, which NumPy cannot do."""
    x = make(X)
    for g, args in ((f, (x,)), (lambda e, x: f(x), (X, x)), (lambda e: f(x), (X,))):
        each = af.vmap(g, (0, None)[: len(args)], loop="allow")
        assert in_full(each, *args) == in_full(by_stack, g, *args)
    assert make is not objects or x[0].flags.writeable  # the caller's own


def test_sparse_matrices():
    """Their rows are examples, and they are no results."""
    a = scipy.sparse.csr_array(X)
    np.testing.assert_array_equal(af.vmap(lambda row: row.toarray() * 2, loop="allow")(a), 2 * X)
    assert af.vmap(lambda x: a)(X) is a
    with pytest.raises(InputError, match="is not stacked"):
        af.vmap(lambda row: row * 2, loop="allow")(a)


def by_stack(g, rows, *shared):
    results = [g(rows[k], *shared) for k in range(rows.shape[0])]
    parts = [[x.A if isinstance(x, np.matrix) else x for x in pytree.tree_leaves(z)] for z in results]
    return pytree.tree_unflatten(results[0], list(map(np.stack, zip(*parts, strict=True))))


def in_full(f, *args):
    """What it gives, with masks and classes; or the class of its error."""
    try:
        return [(type(z), repr(z)) for z in pytree.tree_leaves(f(*args))]
    except Exception as error:
        return type(error)
