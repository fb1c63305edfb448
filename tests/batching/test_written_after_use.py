"""A plain array that the function writes into after it has computed with it: the gradient is that of the values then.

At the first call the gradients are multiplied by zero, so that the comparison with one example cannot notice anything.
"""

from unittest import mock

import numpy as np
import pytest
from calls import ARRAY_METHODS, CALLS, UFUNC_METHODS, VARIANT_CALLS

import autoflow as af
from autoflow.batching import looping

EVERY = {f"{name} {k}": each for calls in (CALLS, ARRAY_METHODS, UFUNC_METHODS, VARIANT_CALLS)
         for name, of_one in calls.items() for k, each in enumerate(of_one) if len(each.shapes) > 1}  # fmt: skip


def agrees(loss, x):
    """Is the batched gradient of s · loss(x) that of a loop, after a first call with s = 0? None if it has none."""
    wanted = [af.grad(lambda v, s: s * loss(v))(row, 1.0) for row in x]
    if not np.all(np.isfinite(wanted)):
        return None
    with mock.patch.dict(looping.KNOWN, clear=True):
        f = af.vmap(af.grad(lambda v, s: s * loss(v)), loop="allow")
        f(x, np.zeros(len(x)))
        return np.allclose(f(x, np.ones(len(x))), wanted, rtol=1e-9, atol=1e-12)


def test_the_other_arguments_of_every_call():
    wrong, tried = [], 0
    for name, each in EVERY.items():
        rng = np.random.default_rng(2)
        values = [rng.uniform(*each.domain, (2, *shape)) for shape in each.shapes]
        for k, x in enumerate(values):

            def loss(v, each=each, values=values, k=k):
                others = [np.array(a[0]) for a in values]
                z = each.function(*[*others[:k], v, *others[k + 1 :]])
                for a in others:
                    a *= 0.5
                return np.sum(np.sin(np.real(z)))

            with np.errstate(all="ignore"):
                try:
                    right = agrees(loss, x)
                except Exception:  # no gradient by this argument, or not of these dtypes
                    continue
            tried += right is not None
            if right is False:
                wrong.append((name, k))
    assert wrong == []
    assert tried > 150


I, MASK, W = np.array([2, 0, 2]), np.array([True, False, True]), np.array([1.0, 2.0, 3.0])
PROGRAMS = {
    "product": lambda v, i, m, w: v * w, "power": lambda v, i, m, w: w**v, "matmul": lambda v, i, m, w: v @ w,
    "einsum": lambda v, i, m, w: np.einsum("i,i->", v, w), "places": lambda v, i, m, w: v[i] * v[0],
    "take": lambda v, i, m, w: np.take(v, i) ** 2, "mask": lambda v, i, m, w: v[m] ** 2,
    "where": lambda v, i, m, w: np.where(m, v * 2, v**3), "list": lambda v, i, m, w: v[list(i)] * 2,
    "clip": lambda v, i, m, w: np.clip(v, 0.0, w / 4), "maximum": lambda v, i, m, w: np.maximum(v, w / 4),
    "interp": lambda v, i, m, w: np.interp(v, w, w**2), "method": lambda v, i, m, w: v.take(i) * v.dot(w),
    "along": lambda v, i, m, w: np.take_along_axis(v, i, 0) ** 2, "outer": lambda v, i, m, w: np.outer(w, v),
    "where=": lambda v, i, m, w: np.sum(v**2, where=m),
    "reduceat": lambda v, i, m, w: np.add.reduceat(v * w, np.sort(i)[:1]),
    "number": lambda v, i, m, w: v[0] * w + w ** v[1], "sum": lambda v, i, m, w: np.hypot(v.sum(), w) / v.mean(),
    "number first": lambda v, i, m, w: np.multiply(w, v[0]) - np.arctan2(v[2], w),
    "stack": lambda v, i, m, w: np.stack([v, w]).prod(0), "write": lambda v, i, m, w: written(v, i, w),
}  # fmt: skip


def written(v, i, w):
    z = af.zeros(3)
    z[i] = v * w
    z[i] *= w
    return z


@pytest.mark.parametrize("name", PROGRAMS)
def test_places_masks_and_factors(name):
    def loss(v):
        i, m, w = I.copy(), MASK.copy(), W.copy()
        z = PROGRAMS[name](v, i, m, w)
        i[...], m[...] = 1, ~m
        w *= 0.5
        return np.sum(np.sin(z))

    assert agrees(loss, np.random.default_rng(3).uniform(0.2, 0.9, (2, 3)))


LAYOUTS = {
    "C": lambda x: x, "F": np.asfortranarray,
    "examples in F": lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    "strided": lambda x: np.repeat(x, 2, -1)[..., ::2],
}  # fmt: skip
KEEPING = [
    *[f"y.astype(float,order='{order}',copy=False)" for order in "CFAK"], "np.astype(y,float,copy=False)",
    *[f"y.T.astype(float,order='{order}',copy=False).T" for order in "CFAK"], "y.astype(int,copy=False)", "y.copy('A')",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", KEEPING)
def test_what_is_written_into_a_cast_is_seen_where_it_is_no_copy(text, layout):
    scope = {"np": np}
    exec(f"def f(x):\n y = x*2\n z = {text}\n z[0] = 5\n return y, z", scope)
    f, x = scope["f"], LAYOUTS[layout](np.arange(24.0).reshape(2, 3, 4))
    for k, batch in enumerate(af.vmap(f, loop="refuse")(x)):
        np.testing.assert_array_equal(batch, [f(row)[k] for row in x])
    compiled = af.compile(f)
    for v in (x[0], x[1], x[0]):
        np.testing.assert_array_equal(compiled(v), f(v))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", "CFAK")
@pytest.mark.parametrize("text", ["np.exp(y,order=o)", "np.add(1,y.T,order=o)", "np.less(y,y.copy(),order=o)"])
def test_the_order_of_a_result_is_that_of_an_example(text, order, layout):
    f = eval(f"lambda y: {text}", {"np": np, "o": order})
    x = LAYOUTS[layout](np.arange(24.0).reshape(2, 3, 4))
    z, wanted = af.vmap(f, loop="refuse")(x), np.stack([f(row) for row in x])
    np.testing.assert_allclose(z, wanted)
    assert z.strides == wanted.strides
