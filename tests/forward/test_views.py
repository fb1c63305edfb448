"""A result that lies in the memory of an operand is a view of it, which a write into either finds; of every row, and
of every method and function that takes one array, in its own order and by ``af.vmap``.
"""

import operator
import warnings
from contextlib import suppress
from contextvars import ContextVar
from itertools import product

import numpy as np
import pytest
from row_examples import examples_of
from support import NIGHTLY, call, prepare, rows, values_of

import autoflow as af
from autoflow.errors import BatchError, LostGradientError, NoRuleError
from autoflow.nodes.nodes import NodeRole, value_of


def nodes_in(x):
    """All nodes of a result."""
    if isinstance(x, NodeRole):
        yield x
    elif isinstance(x, (tuple, list)):
        for part in x:
            yield from nodes_in(part)


def memory(x):
    """The plain array under a node, of a batch that of all examples."""
    x = value_of(x)
    while hasattr(x, "batch_layer"):
        x = value_of(x.inner)
    return x


def looks_into(x, y):
    """Does the node x know that it is a view of y, of a view of y, ...?"""
    while x is not y and getattr(x, "_view", None) is not None:
        x = x._view[1]
    return x is y


def check_memory(result, operands):
    for z in nodes_in(result):
        for x in operands:
            if isinstance(memory(z), np.ndarray) and np.shares_memory(memory(z), memory(x)):
                assert looks_into(z, x), f"{z.name} lies in the memory of {x.name}, and is no view of it"


def eagerly(f, operands):
    f(*[af.Variable(x) for x in operands])


def in_a_batch(f, operands):
    def differentiated(*xs):
        f(*xs)
        return sum([np.sum(x) for x in xs])

    af.vmap(af.grad(differentiated, tuple(range(len(operands)))))(*[np.stack([x, x]) for x in operands])


def with_floats(row):
    """Each example of a row, its operands, and which of them are floats."""
    for example in examples_of(row):
        values = values_of(row, example)
        yield example, values, [k for k, x in enumerate(values) if x is not None and x.dtype.kind == "f"]


def called(row, example, values, given):
    """The row on these operands, some of which are given."""
    return call(row, prepare(row, [given.get(k, x) for k, x in enumerate(values)]), example.options)


pytestmark = pytest.mark.thorough
WAYS = pytest.mark.parametrize("way", [eagerly, in_a_batch])


@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")
@WAYS
@pytest.mark.parametrize("row", rows(scipys=False), ids=lambda row: row.name)
def test_results_in_the_memory_of_an_operand(row, way):
    for example, values, floats in with_floats(row):

        def run(*xs, values=values, floats=floats, example=example):
            given = {k: x * 1.0 for k, x in zip(floats, xs, strict=True)}
            check_memory(called(row, example, values, given), [*given.values()])

        if floats:
            try:
                way(run, [values[k] for k in floats])
            except np.linalg.LinAlgError:  # these numbers are no positive definite matrix
                assert row.name == "cholesky"
            except BatchError:  # a row that needs the numbers themselves
                assert way is in_a_batch


ARGUMENTS = [(), (0,), (1,), (float,), ((-1,),), (0, 1), ((0,), (0,))]
SHAPES = [(2, 3), (3, 3), ()] + [(4,), (1,), (1, 3), (3, 1)] * NIGHTLY
NOT_CALLED = {"save", "savez", "savetxt", "savez_compressed", "fromfile", "info", "tofile", "dump", "dumps", "test",
              "show_config", "show_runtime"}  # fmt: skip
CALLS = {
    **{f"x.{name}": (lambda x, *a, _n=name, **o: getattr(x, _n)(*a, **o)) for name in dir(np.ndarray)
       if not name.startswith("_") and callable(getattr(np.ndarray, name)) and name not in NOT_CALLED},
    **{f"x.{name}": (lambda x, _n=name: getattr(x, _n)) for name in ("T", "mT", "real", "imag", "flat")},
    **{f"np.{name}": f for name, f in vars(np).items()
       if not name.startswith("_") and callable(f) and not isinstance(f, type) and name not in NOT_CALLED},
}  # fmt: skip


@WAYS
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_methods_and_functions_in_the_memory_of_the_array(shape, way):
    def run(x):
        for function in CALLS.values():
            for arguments in ARGUMENTS:
                for options in ({}, {"copy": False}):
                    z = x * 1.0
                    try:
                        result = function(z, *arguments, **options)
                    except Exception:  # refused: there is no result
                        continue
                    check_memory(result, [z])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        way(run, [np.random.default_rng(0).uniform(0.5, 1.5, shape)])


def shows(seen, z):
    """The plain arrays of floats in a result that lie in the memory of the node z."""
    plain = [v for v in af.tree_leaves(seen) if isinstance(v, np.ndarray) and not isinstance(v, NodeRole)]
    return [v for v in plain if v.dtype.kind == "f" and v.size and np.shares_memory(v, z)]


@pytest.mark.filterwarnings("ignore")
def test_what_shows_the_memory_of_a_constant_is_lost_loudly_when_a_node_is_written_there():
    options = {}, {"copy": False}, {"order": "K"}, {"order": "A"}, {"subok": True}
    found = set()
    for name, function in CALLS.items():
        for arguments, named in product([*ARGUMENTS, (1, "f8"), ("f8",)], options):

            def f(x, function=function, arguments=arguments, named=named):
                z = af.zeros(4)
                seen = shows(function(z, *arguments, **named), z)
                z[1] = x
                return np.sum(z) + sum([np.sum(np.cos(v)) for v in seen])

            z = af.zeros(4)
            with suppress(Exception):
                if name not in found and shows(function(z, *arguments, **named), z):
                    found.add(name)
                    with pytest.raises((NoRuleError, LostGradientError)):
                        af.grad(f)(0.5)
    assert len(found) > 3, found


MADE = [lambda z: np.array(z, copy=None, subok=True, ndmin=2), np.ma.array, lambda z: np.ma.array(z)[:2].data,
        lambda z: np.ma.asarray(z).data]  # fmt: skip


def fill(made, y):
    made[...] = y


@pytest.mark.parametrize("make", MADE)
def test_what_is_written_through_an_array_that_numpy_made_is_lost_loudly(make):
    x = af.Variable([1.0, 2.0, 3.0])
    written = af.zeros(3)
    written[1] = x[0]
    calls = [*product([x * 1.0, (x * 1.0)[:2], written], [operator.iadd, fill], [0.5, x[0]]), (af.zeros(3), fill, x[0])]
    for z, write, y in calls:
        with pytest.raises(LostGradientError):
            write(make(z), y)
    fill(make(c := af.zeros(3)), 0.5)  # no gradient, and NumPy's meaning
    np.testing.assert_array_equal(np.ravel(make(c))[:2], 0.5)


LOOKS = [lambda c: c, lambda c: c[...], lambda c: c[1:], lambda c: c[::-1], lambda c: c.reshape(-1, 1), lambda c: c.T]


@pytest.mark.parametrize("make", [lambda x: af.zeros(3), np.zeros_like, lambda x: af.zeros(3) + 1.0])
def test_a_plain_array_of_a_constant_is_found_whichever_view_a_node_is_written_through(make):
    for read, write, node in product(LOOKS, LOOKS, (False, True)):

        def f(x, read=read, write=write, node=node):
            c = make(x)
            plain, view = np.asarray(read(c)), write(c)
            view[-1] = x[0] if node else 5.0
            return np.sum(np.cos(plain + x[1])) + np.sum(c)

        x = np.array([0.9, 1.2, 0.7])
        try:
            found = af.grad(f)(x)
        except LostGradientError:
            assert node
        else:
            slopes = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
            np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-6)


SEEN: ContextVar[list] = ContextVar("seen")  # what a function under vmap keeps in a list is that of the examples


def axes_in_memory(shape, strides):
    """The longer axes, the outermost in memory first, each with its direction."""
    axes = [(k, step > 0) for k, (n, step) in enumerate(zip(shape, strides, strict=True)) if n > 1]
    return sorted(axes, key=lambda axis: -abs(strides[axis[0]]))


@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")
@pytest.mark.parametrize("row", rows(scipys=False), ids=lambda row: row.name)
def test_an_example_of_a_batch_lies_as_it_would_alone(row):
    """Else ``reshape`` would be a view of one and a copy of the other, and a write would be seen or not."""
    for example, values, floats in with_floats(row):
        if not floats or 0 in np.shape(values[floats[0]]) or example.options.get("order") == "F":
            continue

        def run(*xs, values=values, floats=floats, example=example):
            SEEN.set(SEEN.get() or af.tree_leaves(called(row, example, values, dict(zip(floats, xs, strict=True)))))
            return xs[0]

        SEEN.set([])
        try:
            alone = af.tree_leaves(called(row, example, values, {}))
            af.vmap(run)(*[np.stack([values[k], values[k]]) for k in floats])
        except (BatchError, np.linalg.LinAlgError):
            continue
        for one, batch in zip(alone, SEEN.get(), strict=True):
            if hasattr(batch, "batch_layer") and isinstance(memory(batch), np.ndarray):
                one, strides = np.asarray(one), memory(batch).strides[batch.mapped :]
                assert axes_in_memory(batch.shape, strides) == axes_in_memory(one.shape, one.strides)
                steps = zip(one.shape, strides, one.strides, strict=True)
                assert all([a == b for n, a, b in steps if n > 1]) or not one.flags.forc
