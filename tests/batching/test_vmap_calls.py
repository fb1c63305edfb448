"""Calls under af.vmap that no row's example makes: keywords, what all examples share, methods, writing in place.

Each is a function of x, one example of a batch, and w, an array that all examples share. It must return what it
returns for each example by itself; a gradient must be that of each example by itself.
"""

import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.batching import looping
from autoflow.errors import BatchError, LoopWarning

RNG = np.random.default_rng(3)
X, W = RNG.normal(size=(3, 4, 4)), RNG.normal(size=(4, 4))
MASK = W > 0


def written(write):
    """A function that writes into a copy of x and returns it."""

    def f(x, w):
        z = x * 1.0
        write(z, x, w)
        return z

    return f


def put_along(z, x, w):
    np.put_along_axis(z, np.argsort(w, 0)[:2], x[:2], 0)


def power_in_place(z, x, w):
    z **= 2


# fmt: off
CALLS = {
    # reductions: where=, no axes left, ufunc.reduce
    "where=": lambda x, w: np.sum(x, axis=0, where=x > 0),
    "where= shared": lambda x, w: np.sum(x, axis=1, where=MASK),
    "where= of a shared array": lambda x, w: np.sum(w, axis=0, where=x > 0),
    "where= of two shared ones": lambda x, w: np.sum(w, axis=0, where=MASK) + x,
    "where= of a number": lambda x, w: np.sum(x[0, 0], where=x[0, 1] > 0),
    "where= shared, of a number": lambda x, w: np.sum(x[0, 0], where=np.array(True)),
    "a number along axis 0": lambda x, w: np.max(x[0, 0], axis=0),
    "where and initial by position": lambda x, w: np.sum(x, 0, None, None, False, 2.0),
    "add.reduce": lambda x, w: np.add.reduce(x),
    "multiply.reduce along an axis": lambda x, w: np.multiply.reduce(x, 1),
    "add.accumulate": lambda x, w: np.add.accumulate(x, 1),
    "logaddexp.accumulate": lambda x, w: np.logaddexp.accumulate(x),
    "add.reduceat": lambda x, w: np.add.reduceat(x, [0, 2], 1),
    "add.reduceat, places of the examples": lambda x, w: np.add.reduceat(x, np.argsort(x[0])[:2], 1),
    "multiply.outer": lambda x, w: np.multiply.outer(x[0], w[0]),
    "hypot.outer": lambda x, w: np.hypot.outer(x[0], w[0]),
    "norm of what is shared": lambda x, w: np.linalg.norm(w) * x,
    "norm of a matrix": lambda x, w: np.linalg.norm(x),
    "norm, keepdims=": lambda x, w: np.linalg.norm(x, keepdims=True),
    "median of a number": lambda x, w: np.median(x[0, 0]),
    "percentile": lambda x, w: np.percentile(x, [20, 50], axis=0),
    "unwrap with a shared period": lambda x, w: np.unwrap(x, period=2.0, axis=0),
    "diff with what goes before": lambda x, w: np.diff(x, prepend=x[:, :1], axis=1),
    # moving
    "transpose of what is shared": lambda x, w: np.transpose(w) + x,
    "squeeze of what is shared": lambda x, w: np.squeeze(w[None]) + x,
    "diag of a vector": lambda x, w: np.diag(x[0], 1),
    "diag below": lambda x, w: np.diag(x[0], -2),
    "diag of what is shared": lambda x, w: np.diag(w) + x,
    "tril of a vector": lambda x, w: np.tril(x[0]),
    "triu of a matrix": lambda x, w: np.triu(x, 1),
    "tile of what is shared": lambda x, w: np.tile(w, 2) + x[0, 0],
    "pad of what is shared": lambda x, w: np.pad(w, 1) + x[0, 0],
    "pad with numbers of the examples": lambda x, w: np.pad(w, 1, constant_values=x[0, 0]),
    "repeat of what is shared": lambda x, w: np.repeat(w, 2, axis=0) * x[0, 0],
    "roll of what is shared": lambda x, w: np.roll(w, 1, axis=0) + x,
    "concatenate of what is shared": lambda x, w: np.concatenate([w, w]) * x[0, 0],
    "stack of what is shared": lambda x, w: np.stack([w, w]) + x,
    # products
    "matmul of what is shared": lambda x, w: (w @ w) + x,
    "a large product": lambda x, w: np.tile(x, (20, 20)) @ np.tile(w, (20, 20)),
    "dot with a number": lambda x, w: np.dot(x, x[0, 0]),
    "inner with a number": lambda x, w: np.inner(x, x[0, 0]),
    "tensordot of what is shared": lambda x, w: np.tensordot(w, w, 1) + x,
    "einsum with lists": lambda x, w: np.einsum(x, [0, 1], w, [1, 2], [0, 2]),
    "einsum with letters": lambda x, w: np.einsum("ij,jk", x, w),
    "solve for a vector": lambda x, w: np.linalg.solve(w + 5 * np.eye(4), x[0]),
    "solve for a shared vector": lambda x, w: np.linalg.solve(x + 5 * np.eye(4), w[0]),
    "solve for a matrix": lambda x, w: np.linalg.solve(x + 5 * np.eye(4), w),
    "isclose": lambda x, w: np.isclose(x, w, atol=0.5),
    "allclose of what is shared": lambda x, w: np.allclose(w, w + 1e-12) * x,
    "convolve with a longer one": lambda x, w: np.convolve(w[0, :2], x[0], "full"),
    "correlate with a longer one": lambda x, w: np.correlate(w[0, :2], x[0], "full"),
    "convolve, the middle by its number": lambda x, w: np.convolve(w[0, :2], x[0], 1),
    "correlate, what fits by its number": lambda x, w: np.correlate(x[0], w[0, :2], 0),
    "cross": lambda x, w: np.cross(x[:, :3], w[:, :3]),
    # places
    "take, wrap": lambda x, w: np.take(x, [5, -1], axis=0, mode="wrap"),
    "take, wrap, places of the examples": lambda x, w: np.take(x, np.argsort(x[0]) + 3, axis=0, mode="wrap"),
    "take, clip, places of the examples": lambda x, w: np.take(w, np.argsort(x[0]) + 2, axis=0, mode="clip"),
    "take, wrap by its number, places of the examples": lambda x, w: np.take(x, np.argsort(x[0]) + 3, axis=0, mode=1),
    "take, clip by its number, places of the examples": lambda x, w: np.take(w, np.argsort(x[0]) - 9, axis=0, mode=0),
    "a shared mask": lambda x, w: x[MASK],
    "where": lambda x, w: np.where(x > 0, x, w),
    # methods
    "flatten": lambda x, w: x.flatten(),
    "conjugate": lambda x, w: x.conjugate(),
    "conj of complex numbers": lambda x, w: (x + 1j * w).conj(),
    "compress": lambda x, w: x.compress([True, False, True, False], axis=1),
    "a power": lambda x, w: np.abs(x) ** w,
    "a power of a number": lambda x, w: 2.0 ** x,
    "a view": lambda x, w: (x * 2.0).view(),
    # writing in place
    "fill": written(lambda z, x, w: z.fill(7.0)),
    "sort": written(lambda z, x, w: z.sort(0)),
    "partition": written(lambda z, x, w: z.partition(1, axis=1)),
    "copyto": written(lambda z, x, w: np.copyto(z, w)),
    "copyto of itself turned round": written(lambda z, x, w: np.copyto(z, z[::-1])),
    "copyto where": written(lambda z, x, w: np.copyto(z, w, where=x > 0)),
    "out=": written(lambda z, x, w: np.exp(x, out=z)),
    "sum, where=, out=": written(lambda z, x, w: np.sum(x, 0, where=x > 0, out=z[0])),
    "nansum, where=, out=": written(lambda z, x, w: np.nansum(x, 0, where=x > 0, out=z[0])),
    "add.reduce, where=, out=": written(lambda z, x, w: np.add.reduce(x, 0, where=x > 0, out=z[0])),
    "mean, out=": written(lambda z, x, w: np.mean(x, axis=0, out=z[0])),
    "concatenate, out=": written(lambda z, x, w: np.concatenate([x[:2], w[2:]], out=z)),
    "matmul, out=": written(lambda z, x, w: np.matmul(x, w, out=z)),
    "add.at": written(lambda z, x, w: np.add.at(z, [0, 0, 2], x[:3])),
    "negative.at": written(lambda z, x, w: np.negative.at(z, [1])),
    "put_along_axis": written(put_along),
    "power in place": written(power_in_place),
    "one number at a mask": written(lambda z, x, w: z.__setitem__(x > 0, 1.0)),
    "a shared number": lambda x, w: x * w[0, 0] + w[0, 0][()],
}
# fmt: on
# No batched form: a loop, and a warning.
LOOPED = {"pad with numbers of the examples", "add.reduceat, places of the examples"}


def each(f, xs, w):
    return np.stack([np.asarray(f(x, w)) for x in xs])


@pytest.mark.parametrize("name", CALLS)
def test_call_is_that_of_each_example(name):
    f = CALLS[name]
    looping.SAID.clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LoopWarning)
        ours = af.vmap(f, (0, None))(X, W)
    theirs = each(f, X, W)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)
    assert bool(said) == (name in LOOPED)


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"put_along_axis"}))  # that is refused: see below
def test_gradient_of_call_is_that_of_each_example(name):
    slope = af.grad(lambda x, w: np.sum(np.abs(CALLS[name](x, w)) ** 2), (0, 1), allow_unused=True)
    looping.SAID.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        ours = af.vmap(slope, (0, None))(X, W)
    for k, g in enumerate(ours):
        np.testing.assert_allclose(g, np.stack([slope(x, W)[k] for x in X]), rtol=1e-12, atol=1e-12)


def nodes_inside(f):
    """f on nodes that are made inside of the vmap."""
    return lambda x, w: np.sum(af.grad(lambda x: np.sum(f(x, w)))(x))


def outcome(run):
    """What a call returns, or the type and text of its exception."""
    try:
        return run()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("f", [
    lambda x, w: x[0, 0, 0], lambda x, w: x[0, 0][1], lambda x, w: x[np.array([0]), 0, 0], lambda x, w: x[True],
    lambda x, w: np.transpose(x, (0,)), lambda x, w: np.tril(np.linalg.matrix_transpose(x[0])),
    lambda x, w: np.diag(np.stack([x, x])), lambda x, w: np.sum(x[0, 0], axis=1), lambda x, w: np.matmul(x[0, 0], w),
    lambda x, w: np.tensordot(x, w[:3], 1), lambda x, w: np.linalg.solve(x[0], w), lambda x, w: np.linalg.inv(x[0]),
    written(lambda z, x, w: np.put_along_axis(z, np.argsort(x.ravel()), x.ravel(), None)),
    nodes_inside(written(put_along)), written(lambda z, x, w: np.copyto(np.zeros((4, 4)), x)),
    written(lambda z, x, w: np.add.at(w * 1.0, 0, x[0])), written(lambda z, x, w: z.__setitem__(x > 0, x[0])),
    lambda x, w: np.linalg.cholesky(x), lambda x, w: x + np.ones((3, 4, 4)), lambda x, w: x.__iadd__(w),
])  # fmt: skip
def test_errors_are_those_of_a_loop(f):
    """Type and text; or the values, where an example can what a batch cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        ours = outcome(lambda: af.vmap(f, (0, None))(X, W))
    xs = X[...]
    xs.flags.writeable = False
    theirs = outcome(lambda: each(f, xs, W))
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        np.testing.assert_array_equal(ours, theirs)


def test_a_gradient_of_outside_is_not_added_to_a_plain_array():
    v = af.Variable(W[0])
    with pytest.raises(BatchError, match="a node written into an array of plain numbers"):
        af.vmap(written(lambda z, x, _: np.add.at(z, [0], v)), (0, None), loop="refuse")(X, W)


def test_a_gradient_of_outside_is_not_lost_in_a_plain_array():
    def g(v, x):
        z = x * 1.0
        z[0] = v
        return z

    v = af.Variable(W[0])
    with pytest.raises(BatchError, match="a node written into an array of plain numbers"):
        af.vmap(lambda x: g(v, x), loop="refuse")(X)
    with pytest.warns(LoopWarning, match="a node written into an array of plain numbers"):
        np.testing.assert_array_equal(af.vmap(lambda x: g(v, x))(X), np.stack([g(v, x) for x in X]))


@pytest.mark.parametrize(("name", "f"), [
    ("np.add.reduceat", lambda x: np.add.reduceat(x, np.argsort(x[0])[:2], 1)),
    ("np.linalg.pinv", lambda x: np.linalg.pinv(x, x[0, 0])), ("np.sum", lambda x: np.sum(x, initial=x[0, 0])),
    ("np.repeat", lambda x: np.repeat(x, x[0].astype(int))), ("np.full_like", lambda x: np.full_like(x, x[0])),
    ("np.pad", lambda x: np.pad(x, 1, constant_values=x[0, 0])),
    ("np.quantile", lambda x: np.quantile(x, x[0, 0])), ("np.interp", lambda x: np.interp(x[0], x[1], x[2])),
])  # fmt: skip
def test_an_empty_batch_has_no_example_to_ask(name, f):
    with pytest.raises(BatchError, match=f"{name}, which has no batched form .*: an empty batch has no example"):
        af.vmap(f)(np.zeros((0, 4, 4)))
