"""An array of ``af.zeros`` and its like that the function fills: in all transforms as in eager code, without a loop.

By night each way of making one meets each way of filling one, by day a third of them. A function under ``af.vmap`` is
compared with a loop, a compiled one with the function, its gradients with those of eager code, at three points.
"""

from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
from by_loop import by_loop
from support import NIGHTLY, every_pair

import autoflow as af

POINTS = np.array([[0.7, 1.3, 0.4, 1.1], [0.99, 0.36, 1.17, 0.63], [0.9, 1.5, 0.6, 1.3]])
TANGENTS = np.array([[1.0, -2.0, 0.5, 0.25], [0.0, 1.0, 0.0, -1.0], [2.0, 2.0, -3.0, 0.5]])
AF = af.Autodiff(np.ndarray)
MAKERS = {
    "zeros": lambda v: af.zeros(4), "ones": lambda v: af.ones(4), "full": lambda v: af.full(4, 0.5),
    "empty": lambda v: (z := af.empty(4), z.fill(0.5))[0], "of a number": lambda v: af.full(4, v[0]),
    "several": lambda v: af.full(4, [1.0, 2.0, 3.0, 4.0]), "of an array type": lambda v: AF.zeros(4),
    "like": lambda v: np.ones_like(af.zeros(2), shape=4), "a slice": lambda v: af.ones(6)[1:5],
    "reshaped": lambda v: af.zeros((2, 2)).reshape(4), "a column": lambda v: af.zeros((2, 4)).T[:, 1],
    "a copy": lambda v: af.zeros(4).copy(), "float32": lambda v: af.zeros(4, np.float32),
    "complex": lambda v: af.zeros(4, complex), "without axes": lambda v: np.broadcast_to(af.zeros(()), 4).copy(),
}  # fmt: skip


def one_by_one(z, v):
    for i in range(4):
        z[i] = v[i] ** 2


def recurrence(z, v):
    for i in range(1, 4):
        z[i] = z[i - 1] * v[i] + v[0]


def through_a_view(z, v):
    part = z[1:]
    part[...] = np.sin(v[1:])
    part *= v[0]


def used_before(z, v):
    a = z * v + v
    z[...] = a * v
    z[0] = a[1]


def in_place(z, v):
    z += v
    z *= v


def partly_plain(z, v):
    z[0], z[1], z[2] = 3.0, v[0], 1


FILLS = {
    "items": one_by_one, "recurrence": recurrence, "view": through_a_view, "used": used_before, "+=": in_place,
    "numbers": partly_plain, "whole": lambda z, v: z.__setitem__(..., v[0]),
    "places": lambda z, v: z.__setitem__(np.array([2, 0]), v[:2]), "step": lambda z, v: z[::-2].__setitem__(..., v[:2]),
    "mask": lambda z, v: z.__setitem__(np.array([True, False, True, False]), v[1:3] * v[0]),
    "put": lambda z, v: np.put(z, [0, 3], v[:2] * v[:2]), "add.at": lambda z, v: np.add.at(z, [0, 0, 3], v[:3]),
    "out=": lambda z, v: np.multiply(v, v[0], out=z), "cumsum": lambda z, v: np.cumsum(v * v, dtype=z.dtype, out=z),
    "copyto": lambda z, v: np.copyto(z, v, where=np.array([True, False, True, True])),
    "transposed": lambda z, v: z.reshape(2, 2).T[0].__setitem__(..., v[:2]),
    "diagonal": lambda z, v: np.fill_diagonal(z.reshape(2, 2), v[:2]),
    "along": lambda z, v: np.put_along_axis(z, np.array([1, 2]), v[:2], 0),
}  # fmt: skip
ENGINES = ["numpy"] + [name for name, library in (("llvm", "llvmlite"), ("jax", "jax")) if find_spec(library)]


def at_once(f):
    return af.vmap(f, loop="refuse")


def each(f):
    """The definition, by the function itself."""
    return partial(by_loop, f)


def tangents(g):
    return lambda x, t: af.jvp(g, x, t)[1]


TRANSFORMS = {  # of f(v), and of a sum g(v): what is computed, its definition, and of what
    "vmap": lambda f, g: (at_once(f), each(f), POINTS),
    "vmap of grad": lambda f, g: (at_once(af.grad(g)), each(af.grad(g)), POINTS),
    "grad of vmap": lambda f, g: (af.grad(lambda xs: np.sum(at_once(g)(xs))), each(af.grad(g)), POINTS),
    "vmap of jvp": lambda f, g: (at_once(tangents(g)), each(tangents(g)), POINTS, TANGENTS),
    "vmap of vmap": lambda f, g: (at_once(at_once(f)), each(each(f)), np.stack([POINTS, POINTS * 2])),
    "hessian": lambda f, g: (af.vmap(af.hessian(g), loop="allow"), each(af.hessian(g)), POINTS),
    "compile": lambda f, g: (each(af.compile(f)), each(f), POINTS),
    **{
        f"compile of grad, {name}": lambda f, g, name=name: (
            each(af.compile(af.grad(g), engine=name)), each(af.grad(g)), POINTS
        ) for name in ENGINES
    },
    "compile of jvp": lambda f, g: (each(af.compile(tangents(g))), each(tangents(g)), POINTS, TANGENTS),
    "compile of vmap": lambda f, g: (af.compile(at_once(f)), each(f), POINTS),
    "compile of vmap of grad": lambda f, g: (af.compile(at_once(af.grad(g))), each(af.grad(g)), POINTS),
}  # fmt: skip
ROWS = every_pair(MAKERS, FILLS, TRANSFORMS)[:: 1 if NIGHTLY else 3]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_an_array_that_is_filled(transform):
    wrong, tried = [], 0
    for maker, fill, _ in [row for row in ROWS if row[2] == transform]:

        def f(v, maker=maker, fill=fill):
            z = MAKERS[maker](v)
            FILLS[fill](z, v)
            return z

        def g(v, f=f):
            z = f(v)
            return np.sum(np.sin(z.real - z.imag) * np.array([1.0, 2.0, 3.0, 4.0]))

        ours, definition, *given = TRANSFORMS[transform](f, g)
        found, expected = ours(*given), definition(*given)
        tried += 1
        rtol = 1e-5 if maker == "float32" else 1e-12
        if found.dtype != expected.dtype or found.shape != expected.shape or not np.allclose(found, expected, rtol):
            wrong.append((maker, fill))
    assert wrong == []
    assert tried > 4


def test_a_function_that_runs_for_each_example_fills_arrays_of_its_own():
    def middle(v):
        z = af.zeros(3)
        z[0], z[2] = v[0], float(v[1])
        return z.value

    f = af.vmap(lambda x: np.apply_along_axis(middle, 0, x), loop="allow")
    np.testing.assert_array_equal(f(POINTS), [[x[0], 0.0, x[1]] for x in POINTS])
