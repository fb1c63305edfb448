"""Numbers written past the package: into memory of a Constant's user (``copy=False``), and by ways that nobody sees."""

import array
import collections
import contextlib
import ctypes
import io

import numpy as np
import pytest
import scipy.linalg.blas
import scipy.ndimage

import autoflow as af
from autoflow.errors import StaleValueError

SHARED = {  # Constants on the user's memory, however that came to be
    "copy=False": lambda a: af.Constant(a, copy=False), "a buffer": lambda a: af.Constant(memoryview(a), copy=False),
    "an operand": lambda a: (af.Variable(np.ones(a.size)) * a).operands[1],
}  # fmt: skip


@pytest.mark.parametrize("n", [4, 5000])
@pytest.mark.parametrize("way", SHARED)
def test_a_constant_that_shares_memory(way, n):
    mine = np.full(n, 2.0)
    x, c = af.Variable(np.ones(n)), SHARED[way](mine)
    assert np.shares_memory(c.value, mine) or (way == "an operand" and n == 4)
    loss = (x * c).sum() + (x * c[1:].sum()).sum() + (x[1:] * c[1:]).sum()
    mine[:] = 100.0
    try:
        loss.backward()
    except StaleValueError:
        assert n == 5000
    else:
        assert n == 4
        np.testing.assert_array_equal(x.grad, 2.0 + 2.0 * (n - 1) + np.r_[0.0, np.full(n - 1, 2.0)])


def through_nditer(y):
    with np.nditer(y, op_flags=["readwrite"]) as numbers:
        for number in numbers:
            number[...] = 0.0


# What asks nobody, and what to write instead: the second table of docs/lost-gradients.md.
PAST = {
    "value": (lambda y: y.value.__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "value of a view": (lambda y: y[1:].value.__setitem__(0, 0.0), lambda y: y.__setitem__(1, 0.0)),
    "asarray": (lambda y: np.asarray(y).__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "asarray of a view": (lambda y: np.asarray(y[1:]).sort(), lambda y: y[1:].sort()),
    "base class": (lambda y: y.view(np.ndarray).fill(0.0), lambda y: y.fill(0.0)),
    "memoryview": (lambda y: memoryview(y).__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "frombuffer": (lambda y: np.frombuffer(y).__setitem__(0, 0.0), lambda y: y.__setitem__(0, 0.0)),
    "nditer": (through_nditer, lambda y: y.fill(0.0)),
    "random": (lambda y: np.random.default_rng(0).random(out=y), lambda y: y.__setitem__(..., np.ones(4))),
    "shuffle": (lambda y: np.random.default_rng(0).shuffle(np.asarray(y)), lambda y: y.__setitem__(..., y[::-1])),
    "take": (
        lambda y: np.arange(8.0).take([4, 5, 6, 7], out=y),
        lambda y: np.take(np.arange(8.0), [4, 5, 6, 7], out=y),
    ),
    "dot": (lambda y: np.eye(4).dot(np.zeros(4), out=y), lambda y: np.dot(np.eye(4), np.zeros(4), out=y)),
    "sort": (lambda y: np.ndarray.sort(y), lambda y: y.sort()),
    "readinto": (lambda y: io.BytesIO(bytes(32)).readinto(y), lambda y: y.fill(0.0)),
    "dlpack": (lambda y: np.from_dlpack(np.asarray(y)).fill(0.0), lambda y: y.fill(0.0)),
    "overwrite_b": (
        lambda y: scipy.linalg.lu_solve(scipy.linalg.lu_factor(np.eye(4)), np.asarray(y), overwrite_b=True),
        lambda y: y.fill(0.0),
    ),
    "out of scipy": (lambda y: scipy.ndimage.gaussian_filter(np.ones(4), 1.0, output=y), lambda y: y.fill(0.0)),
}
MADE = {
    "elementwise": lambda x: x * 1.0, "one operand": lambda x: np.positive(x), "a number first": lambda x: 1.0 * x,
    "general": lambda x: np.cumsum(x) * 1.0 - np.cumsum(x) * 0.5 + x,
    "large": lambda x: (np.concatenate([x, np.ones(5000)]) * 1.0)[:4],
    "under no_grad": lambda x: af.no_grad()(lambda: x * 1.0)(), "detached": lambda x: (x * 1.0).detach(),
    "a Constant": lambda x: af.Constant(x.value),
}  # fmt: skip


@pytest.mark.parametrize("way", PAST)
@pytest.mark.parametrize("made", MADE)
def test_nobody_writes_past_a_node(way, made):
    """It is an error, or leaves the node alone: its memory is read-only for all but the node itself."""
    past, instead = PAST[way]
    x = af.Variable([4.0, 3.0, 2.0, 1.0])
    y = MADE[made](x)
    before = y.value.copy()
    with contextlib.suppress(ValueError, TypeError, BufferError):
        past(y)
    np.testing.assert_array_equal(y.value, before)
    if made == "elementwise":
        z = (y * y).sum()
        instead(y)
        assert not np.array_equal(y.value, before)
        with pytest.raises(StaleValueError):
            z.backward()


def test_blas_itself_looks_at_no_flag():
    """SciPy's wrappers overwrite what they are told to. If that is an error one day, the better."""
    y = af.Variable([4.0, 3.0, 2.0, 1.0]) * 1.0
    scipy.linalg.blas.dscal(0.0, y)
    np.testing.assert_array_equal(y.value, 0.0)


@pytest.mark.parametrize("past", [lambda w: w.value.__setitem__(0, 0.0), lambda w: w.value.sort()])
def test_variables_lend_their_memory(past):
    """It belongs to the user, who changes it between passes; within one, ``x.assign`` says so."""
    w = af.Variable([4.0, 3.0, 2.0, 1.0])
    z = (w * w).sum()
    before = w.value.copy()
    past(w)
    assert not np.array_equal(w.value, before)
    z.backward()
    assert not np.array_equal(w.grad, 2.0 * before)


BUFFERS = {
    "memoryview": lambda: memoryview(np.ones(3)), "a part of one": lambda: memoryview(np.ones(6))[::2],
    "array.array": lambda: array.array("d", [1.0, 1.0, 1.0]), "ctypes": lambda: (ctypes.c_double * 3)(1.0, 1.0, 1.0),
    "bytearray": lambda: memoryview(bytearray(np.ones(3))).cast("d"), "array": lambda: np.ones(3)[:],
}  # fmt: skip


@pytest.mark.parametrize("kind", BUFFERS)
def test_arrays_over_memory_of_other_objects(kind):
    """They have a base that is no array: ``np.asarray(memoryview(...)).base`` has strides, but no base."""
    a, x = np.asarray(BUFFERS[kind]()), af.Variable(np.ones(3))
    z = np.sum(x * a)
    v = af.Variable(a, copy=False)
    w = np.sum(v * v)
    with af.no_grad():
        v += 1.0
    z.backward()
    np.testing.assert_array_equal(x.grad, np.ones(3))
    with pytest.raises(StaleValueError):
        w.backward()


class Own(np.ndarray):
    """An array of a class of the user's."""


class Column:
    """What keeps an array, as a Series of pandas does."""

    def __init__(self, *numbers):
        self.numbers = np.array(numbers)

    def __array__(self, dtype=None, copy=None):
        return self.numbers


PLACES = {  # places in an array of n elements, and how they become others
    "array": (lambda n: np.array([1, 2]), lambda i: i.__setitem__(slice(None), [3, 4])),
    "class of the user's": (lambda n: np.array([1, 2]).view(Own), lambda i: i.__setitem__(slice(None), [3, 4])),
    "masked": (lambda n: np.ma.array([1, 2]), lambda i: i.__setitem__(slice(None), [3, 4])),
    "column": (lambda n: Column(1, 2), lambda i: i.numbers.__setitem__(slice(None), [3, 4])),
    "list": (lambda n: [1, 2], lambda i: i.__setitem__(slice(None), [3, 4])),
    "tuple": (lambda n: (np.array([1, 2]).view(Own),), lambda i: i[0].__setitem__(slice(None), [3, 4])),
    "truth": (lambda n: np.arange(n) % 5 == 1, lambda i: i.__setitem__(slice(None), ~i)),
}
USES = {
    "x[i]": lambda y, i: y[i] * 3.0, "take": lambda y, i: np.take(y, np.ravel(i)),
    "x[i] = v": lambda y, i: y.__setitem__(i, 7.0), "x[i] = node": lambda y, i: y.__setitem__(i, y[0] * 3.0),
    "x[i] *= node": lambda y, i: y.__setitem__(i, y[i] * y[0]), "add.at": lambda y, i: np.add.at(y, i, y[0]),
    "copyto": lambda y, i: np.copyto(y, y[::-1] * 3.0, where=np.isin(np.arange(y.size), i)),
}  # fmt: skip


@pytest.mark.parametrize("n", [5, 5000])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", PLACES)
def test_places_that_become_others_before_the_pass(kind, use, n):
    """They were copied, or, if they are large, it is noticed."""
    make, change = PLACES[kind]
    grads = []
    for changes in (False, True):
        x, i = af.Variable(np.arange(1.0, n + 1.0)), make(n)
        y = x * 2.0
        used = USES[use](y, i)
        loss = np.sum((y if used is None else used) * 1.0)
        if changes:
            change(i)
        try:
            loss.backward()
        except StaleValueError:
            assert changes
            assert n == 5000
            return
        grads.append(x.grad)
    np.testing.assert_array_equal(*grads)


@pytest.mark.parametrize("parts", [("imag", "real"), ("real", "imag"), ("imag",)])
@pytest.mark.parametrize("read", ["real", "imag"])
def test_a_write_into_one_half_of_the_memory_forgets_no_write_into_the_other(parts, read):
    z = af.Variable(np.array([1.0 + 2.0j, 3.0 + 4.0j]))
    part = getattr(z, read)
    loss = np.sum(part * part)
    with af.no_grad():
        for name in parts:
            half = getattr(z, name)
            half[...] = 7.0
    if read in parts:
        with pytest.raises(StaleValueError):
            loss.backward()
    else:
        loss.backward()


Pair = collections.namedtuple("Pair", "first second")
OPTIONS = {  # options of a user's primitive, where their factor is, and how it becomes another one
    "dict": (lambda a: {"a": a}, lambda k: k["a"]), "dict in a list": (lambda a: [{"a": a}], lambda k: k[0]["a"]),
    "list": (lambda a: [a, "text"], lambda k: k[0]), "tuple": (lambda a: (a, None), lambda k: k[0]),
    "namedtuple": (lambda a: Pair(a, 2), lambda k: k.first), "array": (lambda a: a, lambda k: k),
    "class of the user's": (lambda a: a.view(Own), lambda k: k),
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 5000])
@pytest.mark.parametrize("kind", OPTIONS)
def test_options_of_a_primitive_that_change_before_the_pass(kind, n):
    make, factor_in = OPTIONS[kind]
    primitive = af.primitive(lambda x, k: x * factor_in(k))
    primitive.defvjp(x=lambda g, k: g * factor_in(k))
    x, option = af.Variable(np.ones(n)), make(np.full(n, 2.0))
    y = primitive(x, option)
    factor_in(option)[...] = 5.0
    try:
        y.backward(np.ones(n))
    except StaleValueError:
        assert n == 5000
    else:
        np.testing.assert_array_equal(x.grad, np.full(n, 2.0))


def test_an_option_that_is_replaced_in_its_dict_before_the_pass():
    primitive = af.primitive(lambda x, k: x * k["rate"])
    primitive.defvjp(x=lambda g, k: g * k["rate"])
    x, settings = af.Variable(1.0), {"rate": 2.0}
    y = primitive(x, settings)
    settings["rate"] = 5.0
    y.backward()
    assert x.grad == 2.0


def test_a_primitive_gets_objects_of_other_classes_as_they_are():
    column = Column(2.0, 3.0)
    primitive = af.primitive(lambda x, k: x * k.numbers)
    primitive.defvjp(x=lambda g, k: g * k.numbers)
    x = af.Variable(np.ones(2))
    primitive(x, column).backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2.0, 3.0])
