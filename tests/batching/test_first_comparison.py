"""The first call of a kind is compared with one example; what a function finds outside is part of the kind.

A function is made twice. First it gets what leads to an array, and is right under vmap. Then it gets, in the same
place, what leads to one of NumPy's numbers, whose type it asks for: only the comparison with one example notices that.
"""

import functools
import operator
import os
import types
from unittest import mock

import numpy as np
import pytest

import autoflow as af
from autoflow.batching import looping

X = np.array([[0.1, 0.5, 0.2], [0.3, -0.4, 0.9]])
PAIRS = {  # what leads to an array, and to a number
    "function": (np.cumsum, np.sum), "ufunc": (np.tanh, np.sum), "built in": (abs, sum), "text": ("tanh", "sum"),
    "flag": (False, True), "count": (3, 1), "none": (None, 1),
    "item": (operator.itemgetter(slice(3)), operator.itemgetter(0)),
    "method": (operator.methodcaller("cumsum"), operator.methodcaller("sum")),
}  # fmt: skip


def decide(op, x):
    if callable(op):
        return op(x)
    if isinstance(op, str):
        return getattr(np, op)(x)
    return x.sum() if op == 1 else x * 1


def typed(z):
    return z * (2.0 if type(z) is np.float64 else 1.0)


def by_default(op):
    def f(x, op=op):
        return typed(decide(op, x))

    return f


def by_keyword(op):
    def f(x, *, op=op):
        return typed(decide(op, x))

    return f


def by_closure(op):
    def f(x):
        return typed(decide(op, x))

    return f


def of_a_global(x):
    return typed(decide(OP, x))  # noqa: F821 - a global of its copies


def by_global(op):
    return types.FunctionType(of_a_global.__code__, {**globals(), "OP": op})


def by_partial(op):
    return functools.partial(lambda op, x: typed(decide(op, x)), op)


class Holder:
    def __init__(self, op):
        self.op = op

    def __call__(self, x):
        return typed(decide(self.op, x))


WAYS = {"default": by_default, "keyword": by_keyword, "closure": by_closure, "global": by_global,
        "partial": by_partial, "attribute": Holder, "element": lambda op: by_closure_of_a_list([op])}  # fmt: skip


def by_closure_of_a_list(ops):
    def f(x):
        return typed(decide(ops[0], x))

    return f


# What is not a function, in an attribute or a container, is not looked at: see docs/guarantees.md.
TRIED = [(way, kind) for way in WAYS for kind in PAIRS
         if way not in ("partial", "attribute", "element") or callable(PAIRS[kind][0])]  # fmt: skip


@pytest.mark.parametrize(("way", "kind"), TRIED)
def test_the_same_code_with_something_else_is_compared_again(way, kind):
    with mock.patch.dict(looping.KNOWN, clear=True):
        for op in PAIRS[kind]:
            f = WAYS[way](op)
            np.testing.assert_array_equal(af.vmap(f, loop="allow")(X), np.stack([f(x) for x in X]))


def test_classes_and_getters_are_told_apart():
    x = np.ones((2, 1))
    with mock.patch.dict(looping.KNOWN, clear=True):
        for alone in (lambda f: f, functools.partial):
            assert len(af.vmap(alone(list), loop="allow")(x)) == 1
            assert af.vmap(alone(set), loop="allow")(x) == {1.0}
            assert af.vmap(alone(operator.attrgetter("ndim")), loop="allow")(x).tolist() == [1, 1]
            assert af.vmap(alone(operator.attrgetter("base.ndim")), loop="allow")(x).tolist() == [2, 2]


def test_the_comparison_is_one_call():
    """It proves nothing: numbers that are read past us would have made the function run for each example."""
    read, write = os.pipe()

    def f(x):
        os.write(write, b"x")
        return np.sum(x**3)

    with mock.patch.dict(looping.KNOWN, clear=True):
        af.vmap(af.grad(f))(X)
    os.close(write)
    with os.fdopen(read) as calls:
        assert calls.read() == "xx"


LAYOUTS = {
    "C": lambda a: a, "F": lambda a: a.copy("F"), "turned": lambda a: a.T, "backwards": lambda a: a[::-1, ::-1],
    "part": lambda a: a[:3].T, "one row": lambda a: np.broadcast_to(a[:1], a.shape),
    "three axes": lambda a: a.reshape(2, 2, 4).transpose(2, 0, 1), "one axis": lambda a: a.reshape(16),
}  # fmt: skip
READERS = {
    "ravel": lambda a, order: np.ravel(a, order), "flatten": lambda a, order: a.flatten(order),
    "reshape": lambda a, order: np.reshape(a, (2, -1), order), "copy": lambda a, order: a.copy(order).ravel("K"),
    "add": lambda a, order: np.add(a, 1.0, order=order).ravel("K"),
    "einsum": lambda a, order: np.einsum("...->...", a, order=order).ravel("K"),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_first_example_of_equal_numbers_shows_no_order(layout, reader):
    """Compared by its numbers, each order of reading it is right; the second example has others."""
    first = np.ones((4, 4))
    second = np.arange(16.0).reshape(4, 4)
    for order in ("C", "F", "A", "K", "c", "f", "a", "k", None):
        if reader == "reshape" and order in ("K", "k"):
            continue
        looping.KNOWN.clear()

        def f(a, order=order):
            return READERS[reader](LAYOUTS[layout](a), order)

        x = np.stack([first, second])
        loop = "refuse" if order in ("C", "F") and layout == "one axis" else "allow"
        np.testing.assert_array_equal(af.vmap(f, loop=loop)(x), np.stack([f(a) for a in x]), err_msg=str(order))
