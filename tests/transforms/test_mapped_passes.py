"""``af.vmap`` of what the transforms return: a pullback, a pushforward, a transpose, once for many seeds.

``af.vmap(pullback)(np.eye(n))`` is how one asks JAX for a Jacobian. Here the graph is there before the vmap, and the
seeds hide a batch: every function below is compared with a loop over the seeds, as it is, differentiated, compiled.
"""

import gc
import weakref

import numpy as np
import pytest

import autoflow as af

W = np.random.default_rng(0).normal(size=(3, 4))


def shared(p):
    s = np.tanh(p["u"]) * p["v"]
    return {"a": s, "b": (s + p["u"], np.sum(s * s))}


def twice(p):
    y = np.sin(p["u"])
    return [y, y, p["v"] @ y]


FUNCTIONS = {
    "one array": (lambda x: np.tanh(W @ x) * np.sum(x), np.ones(4)),
    "a number": (lambda x: np.prod(x), np.array([0.5, 2.0, 3.0])),
    "a container": (shared, {"u": np.linspace(0.1, 1, 4), "v": np.linspace(-1, 1, 4)}),
    "one result twice": (twice, {"u": np.linspace(0.1, 1, 3), "v": np.arange(3.0)}),
    "views and writes": (
        lambda x: (x.reshape(2, 3).T, np.cumsum(x)[::-1], np.sort(x * x)),
        np.array([3.0, 1, 2, 6, 5, 4]),
    ),
    "linear algebra": (lambda a: (np.linalg.inv(a), np.linalg.det(a), np.linalg.eigh(a + a.T)), W @ W.T + np.eye(3)),
    "single precision": (lambda x: (np.exp(x), x[0] * x), np.array([0.5, 1.5], np.float32)),
    "complex": (lambda z: (z * z, np.abs(z), np.real(z) * 2), np.array([1 + 2j, 0.5 - 1j])),
    "not reached": (lambda x: (x * x, np.ones(2)), np.array([1.0, 2.0, 3.0])),
    "a checkpoint": (lambda x: af.checkpoint(lambda x: np.sin(x) * x)(x), np.array([1.0, 2.0, 3.0])),
}


def drawn(rng, like, n):
    """``n`` random trees like this one, and the same as one tree with an axis for them."""

    def one(x):
        x = np.asarray(x)
        numbers = rng.normal(size=(n, *x.shape)) + (1j * rng.normal(size=(n, *x.shape)) if x.dtype.kind == "c" else 0)
        return numbers.astype(x.dtype)

    together = af.tree_map(one, like)
    return [af.tree_map(lambda g, k=k: g[k], together) for k in range(n)], together


def assert_same(together, each):
    stacked = [np.stack(leaves) for leaves in zip(*[af.tree_leaves(tree) for tree in each], strict=True)]
    for got, wanted in zip(af.tree_leaves(together), stacked, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-5 if wanted.dtype == np.float32 else 1e-12, atol=1e-13)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize(("f", "x"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_vmap_of_a_pullback_and_of_a_pushforward(f, x, forward):
    """And a vmap of that vmap."""
    value, move = af.linearize(f, x) if forward else af.vjp(f, x)
    each, together = drawn(np.random.default_rng(1), x if forward else value, 6)
    wanted = [move(g) for g in each]
    assert_same(af.vmap(move)(together), wanted)
    folded = af.tree_map(lambda g: g.reshape(2, 3, *g.shape[1:]), together)
    assert_same(af.tree_map(lambda g: g.reshape(6, *g.shape[2:]), af.vmap(af.vmap(move))(folded)), wanted)


REAL = pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("complex", "single precision")])


def size(tree):
    return sum([np.sum(g**2) for g in af.tree_leaves(tree)])


@REAL
def test_differentiated_through(name):
    f, x = FUNCTIONS[name]
    each, together = drawn(np.random.default_rng(3), af.vjp(f, x)[0], 3)

    def mapped(x):
        return size(af.vmap(af.vjp(f, x)[1])(together))

    def looped(x):
        pullback = af.vjp(f, x)[1]
        return sum([size(pullback(g)) for g in each])

    assert_same(af.tree_map(lambda g: g[None], af.grad(mapped)(x)), [af.grad(looped)(x)])


@REAL
@pytest.mark.parametrize("forward", [False, True])
def test_differentiated_for_the_seeds(name, forward):
    f, x = FUNCTIONS[name]
    value, move = af.linearize(f, x) if forward else af.vjp(f, x)
    each, together = drawn(np.random.default_rng(4), x if forward else value, 3)
    found = af.grad(lambda g: size(af.vmap(move)(g)))(together)
    assert_same(found, [af.grad(lambda g: size(move(g)))(g) for g in each])


@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")  # a rule may look at numbers
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "a checkpoint"])
def test_compiled(name):
    f, x = FUNCTIONS[name]
    each, together = drawn(np.random.default_rng(5), af.vjp(f, x)[0], 3)
    compiled = af.compile(lambda x, g: af.vmap(af.vjp(f, x)[1])(g))
    for _ in range(2):
        assert_same(compiled(x, together), [af.vjp(f, x)[1](g) for g in each])


def test_vmap_of_a_transpose():
    transpose = af.linear_transpose(np.diff, np.zeros(3))
    np.testing.assert_array_equal(af.vmap(transpose)(np.eye(2))[0], [[-1, 1, 0], [0, -1, 1]])


def test_a_pullback_keeps_no_cotangents():
    value, pullback = af.vjp(*FUNCTIONS["a container"])
    (given,), _ = drawn(np.random.default_rng(7), value, 1)
    given = af.tree_map(np.array, given)
    held = [weakref.ref(g) for g in af.tree_leaves(given)]
    pullback(given)
    del given
    gc.collect()
    assert not any(r() is not None for r in held)


def test_inside_of_another_vmap():
    f, _ = FUNCTIONS["one array"]
    points = np.random.default_rng(6).normal(size=(5, 4))
    found = af.vmap(lambda x: af.vmap(af.vjp(f, x)[1])(np.eye(3))[0])(points)
    np.testing.assert_allclose(found, [af.jacobian(f)(x) for x in points], rtol=1e-12)


LINEAR = {
    "grad": lambda x: af.grad(lambda a: np.sum(W @ a))(x), "jacobian by rows": lambda x: af.jacrev(lambda a: W @ a)(x),
    "jacobian by columns": lambda x: af.jacfwd(lambda a: W @ a)(x),
    "hessian": lambda x: af.hessian(lambda a: np.sum((W @ a) ** 2))(x),
    "hvp": lambda x: af.hvp(lambda a: np.sum(a * a), x, np.ones(4)),
    "vjp": lambda x: af.vjp(lambda a: W @ a, x)[1](np.ones(3))[0],
    "jvp": lambda x: af.jvp(lambda a: W @ a, x, np.ones(4))[1],
    "linearize": lambda x: af.linearize(lambda a: W @ a, x)[1](np.ones(4)),
    "of two arguments": lambda x: af.grad(lambda a, b: np.sum(a * b), (0, 1))(x, np.ones(4))[0],
}  # fmt: skip


@pytest.mark.parametrize("derivative", LINEAR.values(), ids=LINEAR)
def test_derivatives_of_constant_derivatives_through_a_vmap_are_zero(derivative):
    x = np.arange(8.0).reshape(2, 4)
    assert not af.grad(lambda x: np.sum(af.vmap(derivative)(x)))(x).any()
    assert not af.jvp(lambda x: af.vmap(derivative)(x), x, x)[1].any()


X, CUBE = np.linspace(0.3, 0.9, 4), lambda x: np.tanh(W @ x) ** 3
PUSH, PULL = af.linearize(CUBE, X)[1], af.vjp(CUBE, X)[1]
OF_A_NODE = {
    "grad": lambda u: af.grad(lambda a: np.sum(CUBE(a)))(u),
    "value_and_grad": lambda u: af.value_and_grad(lambda a: np.sum(CUBE(a)))(u),
    "jacobian by rows": lambda u: af.jacrev(CUBE)(u), "jacobian by columns": lambda u: af.jacfwd(CUBE)(u),
    "hessian": lambda u: af.hessian(lambda a: np.sum(CUBE(a)))(u),
    "hvp": lambda u: af.hvp(lambda a: np.sum(CUBE(a)), X, u),
    "vjp": lambda u: af.vjp(CUBE, X)[1](u[:3])[0], "vjp at u": lambda u: af.vjp(CUBE, u)[1](np.ones(3)),
    "jvp": lambda u: af.jvp(CUBE, X, u)[1], "jvp at u": lambda u: af.jvp(CUBE, u, X),
    "linearize": lambda u: af.linearize(CUBE, u)[1](u), "ggnvp": lambda u: af.ggnvp(CUBE, X, u),
    "a pushforward from outside": PUSH, "a pullback from outside": lambda u: PULL(u[:3])[0],
}  # fmt: skip


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("derivative", OF_A_NODE.values(), ids=OF_A_NODE)
def test_of_what_was_computed_from_a_node_from_outside(derivative, backward):
    """Such a node is hidden behind the batch, where only some of the examples' numbers are the argument of the vmap."""
    by, u = np.array([1.0, -0.5]), af.Variable(X)

    def mapped(u):
        return size(af.vmap(lambda k: derivative(k * u))(by)) + np.sum(u)

    wanted = af.grad(lambda u: sum([size(derivative(k * u)) for k in by]) + np.sum(u))(X)
    found = af.gradients(mapped(u))[u] if backward else af.grad(mapped)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
