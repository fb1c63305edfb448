"""Compiled functions are right however arguments lie in memory, and if they look into each other's."""

import itertools

import numpy as np
import pytest
from compiled import check_calls, check_same
from support import NIGHTLY, every_pair

import autoflow as af

RNG = np.random.default_rng(0)
BASE = RNG.standard_normal((4, 6, 5))
VIEWS = {
    "C": lambda a: a.copy(), "F": lambda a: np.asfortranarray(a),
    "mixed": lambda a: a.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "last first": lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, -1, 0)), 0, -1),
    "gaps": lambda a: np.repeat(a, 2, axis=2)[:, :, ::2], "gaps in rows": lambda a: np.repeat(a, 3, axis=1)[:, ::3],
    "backwards": lambda a: a[:, ::-1].copy()[:, ::-1],
    "all backwards": lambda a: a[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
    "F backwards": lambda a: np.asfortranarray(a[::-1])[::-1], "repeated": lambda a: np.broadcast_to(a[0], a.shape),
    "repeated in columns": lambda a: np.broadcast_to(a[:, :, :1], a.shape),
}  # fmt: skip
ORDERS = ("C", "F", "A", "K")
READ = {
    "ravel": lambda x, o: (x * 2).ravel(o), "ravel of the argument": lambda x, o: x.ravel(o),
    "np.ravel": lambda x, o: np.ravel(x + 1.0, order=o), "flatten": lambda x, o: np.tanh(x).flatten(o),
    "flatten of the argument": lambda x, o: x.flatten(o), "copy": lambda x, o: x.copy(o).ravel("K"),
    "copy of a result": lambda x, o: (x * 3.0).copy(order=o).ravel("K"),
    "np.copy": lambda x, o: np.copy(x - 1.0, order=o).ravel("K"),
    "astype": lambda x, o: (x * 2).astype(np.float32, order=o).ravel("K"),
    "astype of the same": lambda x, o: (x * 2).astype(float, order=o).ravel("K"),
    "zeros_like": lambda x, o: (np.zeros_like(x, order=o) + x).ravel("K"),
    "reshape": lambda x, o: (x * 2).reshape(-1, 5, order="C" if o == "K" else o),
    "transposed": lambda x, o: (x.T * 2).ravel(o), "twice": lambda x, o: ((x * 2).ravel(o) * 2.0).sum(),
    "sum": lambda x, o: (np.tanh(x) * 0.1).sum(axis=0).ravel(o), "times one": lambda x, o: (x * 1.0).ravel(o),
    "two": lambda x, o: (x[:, ::-1] + x).ravel(o), "cumsum": lambda x, o: np.cumsum(x, axis=1).ravel(o),
    "jacobian": lambda x, o: (j := af.jacobian(lambda v: np.tanh(x[0] @ v))(x[0, 0]), j.ravel(o)),
    "a gradient": lambda x, o: (v := af.Variable(x), np.sum(v * v).backward(), v.grad.ravel(o))[2],
    "results": lambda x, o: (x * 2.0, np.tanh(x.T), x, x[:2], np.sum(x, axis=1)),
}  # fmt: skip


def equal(ours, expected):
    """Numbers, dtype, and the order in memory."""
    for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (ours, expected)], strict=True):
        np.testing.assert_array_equal(a, np.asarray(b), strict=True)
        if np.asarray(b).flags.c_contiguous or np.asarray(b).flags.f_contiguous:
            assert (a.flags.c_contiguous, a.flags.f_contiguous) == (b.flags.c_contiguous, b.flags.f_contiguous)


@pytest.mark.thorough
@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_every_layout_after_every_other(read):
    arrays = {name: view(BASE) for name, view in VIEWS.items()}
    for order in ORDERS:
        for first in arrays if NIGHTLY else ("C", "F", "repeated"):
            compiled = af.compile(lambda x, order=order: read(x, order))
            for name in (first, *arrays, first):
                equal(compiled(arrays[name]), read(arrays[name], order))


def test_gradients_of_every_layout():
    def f(x, y):
        return (np.tanh(x * y).sum(axis=1) * (x @ BASE[0].T).mean()).sum()

    check_calls(af.value_and_grad(f, (0, 1)), *itertools.product([view(BASE) for view in VIEWS.values()], repeat=2))


def test_arguments_that_look_into_each_other():
    def f(x, y):
        return (x * y - 2.0 * x, x, y.T, np.sum(x) * y)

    for g in (f, af.grad(lambda x, y: np.sum(np.tanh(x * y)), (0, 1))):
        compiled = af.compile(g)
        a = RNG.standard_normal((5, 5))
        for x, y in ((a, a), (a, a[::-1]), (a, a.T), (a[1:4], a[2:5]), (a.T, a), (a, a.copy()), (a[:2], a[:2])):
            before = a.copy()
            results = compiled(x, y)
            check_same(results, g(x, y))
            for r in results:
                assert not np.shares_memory(r, a)
                r[...] = 0.0
            np.testing.assert_array_equal(a, before)


def test_results_are_no_views_of_arguments_whatever_was_recorded():
    for f in (np.ravel, lambda x: x.reshape(-1), lambda x: x.reshape(5, 6, 4), lambda x: np.squeeze(x[:, None])):
        arrays = [view(BASE) for view in VIEWS.values()]
        for first in arrays:
            compiled = af.compile(f)
            for x in (first, *arrays):
                assert not np.shares_memory(compiled(x), x)


def test_layouts_share_programs_where_they_are_the_same():
    compiled = af.compile(lambda x: x * 2)
    for x in (BASE, BASE.copy(), BASE[:4]):
        compiled(x)
    assert len(compiled.entries) == 1
    compiled(np.asfortranarray(BASE))
    compiled(np.asfortranarray(BASE * 2))
    assert len(compiled.entries) == 2
    compiled = af.compile(lambda x: x * 2)
    for x in (np.ones((3, 1)), np.ones((3, 4))[:, :1].copy(), np.ones((1, 3)).T):  # strides of length one do not count
        compiled(x)
    assert len(compiled.entries) == 1


SPREAD = {
    "rows": lambda x: np.broadcast_to(x, (2, 3)), "columns": lambda x: np.broadcast_to(x[:, None], (3, 2)),
    "turned": lambda x: np.broadcast_to(x, (2, 3)).T, "a row more": lambda x: np.broadcast_to(x[None], (1, 3)),
    "blocks": lambda x: np.broadcast_to(x, (2, 2, 3)).transpose(1, 2, 0),
}  # fmt: skip
ELEMENTWISE = {
    "x * 1": lambda b: b * 1, "x + 0": lambda b: b + 0, "x / 1": lambda b: b / 1, "x ** 1": lambda b: b**1,
    "+x": lambda b: +b, "-x": lambda b: -b, "sin": np.sin, "x + 0.5": lambda b: b + 0.5, "2 x - x": lambda b: 2 * b - b,
    "copy": lambda b: b.copy(), "where": lambda b: np.where(b > 1, b, 0), "exp of sin": lambda b: np.exp(np.sin(b)),
    "float32": lambda b: np.tanh(b.astype(np.float32)), "bool": lambda b: b > 1, "nothing": lambda b: b,
    "zeros_like": np.zeros_like, "full_like": lambda b: np.full_like(b, 2), "swapped": lambda b: b.astype(">f8"),
}  # fmt: skip
ASKED = {
    "ravel": lambda y: y.ravel("K"), "T.ravel": lambda y: y.T.ravel("K"), "flatten": lambda y: y.T.flatten("A"),
    "copy": lambda y: y.copy("K").T.ravel("K"), "sort": lambda y: np.sort(y.T, 0).ravel("K"), "T": lambda y: y.T,
    "reshape": lambda y: y.reshape(-1) + 1, "expand": lambda y: np.expand_dims(y.T, 1).reshape(3, -1) + 1,
    "sum of two": lambda y: (y.T + np.cos(y.T)).ravel("K"), "cumsum": lambda y: np.cumsum(y.T, -1).ravel("K"),
}  # fmt: skip


def test_what_repeated_elements_meet_lies_as_numpy_lays_it():
    """The order of a result depends on that of all operands, and a result may be read before it is returned."""
    x = np.array([1.0, 2.0, 3.0])
    for case in every_pair(SPREAD, "CF", ELEMENTWISE, (np.add, np.subtract, np.arctan2), (False, True)):
        spread, order, name, ufunc, turned = case
        other = np.ones(SPREAD[spread](x).shape).copy(order)

        def f(x, other, spread=spread, name=name, ufunc=ufunc, turned=turned):
            pair = ELEMENTWISE[name](SPREAD[spread](x)), other
            z = ufunc(*pair[::-1] if turned else pair)
            return z, z.ravel("K")

        check_same(af.compile(f, verify=False)(x, other), f(x, other), 1e-13, message=str(case), strides=True)


def test_each_astype_is_a_call_of_its_own():
    """Whatever order and casting the one before it had."""
    ways = [{"order": order, "casting": casting} for order in "CFAK" for casting in ("unsafe", "same_kind", "safe")]
    for first, second in itertools.product(ways, repeat=2):

        def f(x, first=first, second=second):
            y, z = x.astype(np.float32, **first), x.astype(np.float32, **second)
            return y, z, z.ravel("K")

        x = np.arange(6.0).reshape(2, 3)
        try:
            expected = f(x)
        except TypeError:
            with pytest.raises(TypeError):
                af.compile(f, verify=False)(x)
        else:
            check_same(af.compile(f, verify=False)(x), expected, message=f"{first} {second}", strides=True)


def test_what_is_computed_of_repeated_elements_lies_as_numpy_lays_it():
    """A program computes each element once and repeats it; NumPy makes an array of all."""
    for case in every_pair(SPREAD, ("f8", ">f8"), ELEMENTWISE, ASKED):
        spread, dtype, name, asked = case

        def f(x, spread=spread, name=name, asked=asked):
            return ASKED[asked](ELEMENTWISE[name](SPREAD[spread](x)))

        compiled = af.compile(f, verify=False)
        for x in (np.array([1.0, 2.0, 3.0], dtype), np.array([0.5, 4.0, 1.5], dtype)):
            expected, found = f(x), compiled(x)
            np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=str(case))
        assert found.dtype == expected.dtype, case
        if 0 not in expected.strides:
            steps = [[s for s, n in zip(z.strides, z.shape, strict=True) if n > 1] for z in (found, expected)]
            assert steps[0] == steps[1], case
