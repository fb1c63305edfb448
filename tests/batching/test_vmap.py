"""af.vmap as users meet it: axes, containers, other transforms, what is refused. Of rows see test_forms.py."""

import re
import warnings
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from by_loop import by_loop, difference, outcome
from support import Split
from threads import in_threads
from user_functions import function, saving

import autoflow as af
from autoflow import nn
from autoflow.backends.registry import NODE_TYPES
from autoflow.batching import looping
from autoflow.errors import BatchError, InputError, LoopWarning, LostGradientError
from autoflow.extending.custom import OWN
from autoflow.table.table import RULES

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(6, 4)), RNG.normal(size=(5, 4))


def f(x):
    return np.sum(np.sin(x) * x[::-1])


@contextmanager
def ignored_loops():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        yield


def close(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def check(g, *batches, **how):
    """Is af.vmap(g) the loop over the examples?"""
    close(af.vmap(g, **how)(*batches), by_loop(g, *batches, in_axes=how.get("in_axes", 0)))


# -- axes and containers


@pytest.mark.parametrize("axis", [0, 1, -1, -2, np.int64(1)])
def test_in_axes_and_out_axes(axis):
    batch = np.moveaxis(X, 0, axis)
    close(af.vmap(np.exp, in_axes=axis)(batch), np.exp(X))
    close(af.vmap(np.exp, out_axes=axis)(X), np.moveaxis(np.exp(X), 0, axis))


def test_an_axis_for_each_argument():
    close(af.vmap(np.dot, (0, None))(X, W[0]), X @ W[0])
    close(af.vmap(np.dot, (None, 1))(W, X.T), X @ W.T)
    close(af.vmap(lambda x, k=1: x * k)(X, k=3), 3 * X)
    close(af.vmap(lambda x, y, scale: (x - y) * scale, [0, 1, None])(X, X.T, 2.0), 0 * X)


class Pair(NamedTuple):
    w: Any
    b: Any


def test_containers():
    def model(p, x):
        return {"z": p["layer"].w @ x + p["layer"].b, "name": p["name"], "x": [x, None]}

    p = {"layer": Pair(W, RNG.normal(size=5)), "name": "first"}
    z = af.vmap(model, (None, 0), {"z": 1, "name": None, "x": 0})(p, X)
    close(z["z"], (X @ W.T + p["layer"].b).T)
    close(z["x"][0], X)
    assert (z["name"], z["x"][1]) == ("first", None)
    many = {"layer": Pair(np.stack([W] * 6, 2), np.zeros(5)), "name": "x"}
    axes = {"layer": Pair(2, None), "name": None}
    close(af.vmap(model, (axes, 0))(many, X)["z"], X @ W.T)


@dataclass
class Layer:
    w: Any


CONTAINERS = {
    "dict": lambda w: {"w": w}, "list": lambda w: ["w", w], "object": Layer, "nested": lambda w: ({"w": [w]},),
}  # fmt: skip
CHANGES = {
    "dict": ["p['w'] = p['w'] * 2", "p['w'] += 1", "p['new'] = x", "p.pop('w', 0)", "p.clear()", "p |= {'w': 3.0}"],
    "list": ["p[1] = p[1] * 2", "p[-1] += 1", "p.append(x)", "p and p.pop()", "p[:] = [1, 2]", "p.reverse()"],
    "object": ["p.w = p.w * 2", "p.w += 1", "p.w = [x]"],
    "nested": ["p[0]['w'] = p[0]['w'] * 2", "p[0]['w'][0] += 1", "p[0]['w'].append(x)"],
}


@pytest.mark.parametrize(("kind", "change"), [(kind, change) for kind in CHANGES for change in CHANGES[kind]])
def test_changes_of_containers_among_arguments(kind, change):
    """One that all examples share is the caller's, as in a loop; each example has its own of the others."""
    scope = {}
    exec(f"def changing(p, x, y=1.0):\n  {change}\n  return x * 2 + y", scope)
    changing = scope["changing"]
    looping.SAID.clear()
    mine, theirs = (CONTAINERS[kind](3.0) for _ in "ab")
    with pytest.warns(LoopWarning, match=r"container that changes in changing at <string>:1|from outside"):
        z = af.vmap(changing, (None, 0))(mine, X[:, 0])
    close(z, by_loop(lambda x: changing(theirs, x), X[:, 0]))
    assert repr(mine) == repr(theirs)
    with pytest.raises(BatchError, match="container that changes"):
        af.vmap(changing, (None, 0), loop="refuse")(CONTAINERS[kind](3.0), X[:, 0])
    for loop in ("allow", "refuse"):
        own = CONTAINERS[kind](X[:, 0])
        close(af.vmap(changing, loop=loop)(own, X[:, 0]), X[:, 0] * 2 + 1)
        assert repr(own) == repr(CONTAINERS[kind](X[:, 0]))


def test_out_axes_none_is_for_what_all_share():
    z, w = af.vmap(lambda x: (x * 2, W[0] * 2), out_axes=(0, None))(X)
    close(z, 2 * X)
    close(w, 2 * W[0])
    close(af.vmap(lambda x: W[0])(X), np.stack([W[0]] * 6))
    assert af.vmap(lambda x: 1.0)(X).tolist() == [1.0] * 6
    with pytest.raises(InputError, match="out_axes=None is for a result that is the same"):
        af.vmap(lambda x: x, out_axes=None)(X)
    with pytest.raises(InputError, match="out_axes=None is for a result that is the same"):
        af.vmap(lambda x: x, out_axes=None)(X[:0])


@pytest.mark.parametrize("f", [
    np.linalg.eigvals, lambda a: np.linalg.eig(a)[0], lambda a: np.linalg.eig(a)[1] * 2,
    lambda a: np.sum(np.linalg.eigvals(a)), lambda a: np.linalg.eigvals(np.stack([a, a.T])),
    lambda a: np.roots(np.stack([a[0, 0] * 0 + 1, -np.trace(a), 1.0])), lambda a: np.max(np.abs(np.linalg.eigvals(a))),
    lambda a: np.real_if_close(np.linalg.eigvals(a)), lambda a: np.emath.sqrt(a[1]), np.poly,
])  # fmt: skip
def test_eigenvalues_that_are_real_for_some_examples(f):
    """A batch of both kinds comes after the form has been found right for one kind, too."""
    kinds = np.array([[[2.0, 1.0], [1.0, 3.0]], [[0.0, 1.0], [-1.0, 0.0]]])
    for order in ([0, 0], [0, 1], [1, 1], [1, 0], [0, 1]):
        assert not difference(outcome(af.vmap(f, loop="allow"), kinds[order]), outcome(by_loop, f, kinds[order]), 1e-12)


@pytest.mark.parametrize("give", [
    lambda x, c: 2.0, lambda x, c: 2, lambda x, c: True, lambda x, c: np.float32(2), lambda x, c: c, lambda x, c: c[0],
    lambda x, c: x * 0 + np.nan, lambda x, c: np.full(2, np.nan), lambda x, c: x * 0 + c[1],
    lambda x, c: af.Constant(c), lambda x, c: af.zeros(2), lambda x, c: af.stop_gradient(af.Variable(x * 0)),
])  # fmt: skip
@pytest.mark.parametrize("axis", [0, None])
def test_shared_results_are_new_arrays_however_they_were_computed(give, axis):
    c = np.array([1.0, 2.0])
    at_once = af.vmap(lambda x: give(x, c), 0, axis, loop="refuse")(np.arange(3.0))
    one_by_one = af.vmap(lambda x: give(x, c * float(x > -1)), 0, axis, loop="allow")(np.arange(3.0))
    assert type(at_once) is np.ndarray
    assert not np.shares_memory(at_once, c)
    np.testing.assert_array_equal(one_by_one, at_once, strict=True)


def test_numbers_of_examples():
    assert af.vmap(af.grad(f))(X.astype(np.float32)).dtype == np.float32
    close(af.vmap(f)(X[:1]), [f(X[0])])
    assert af.vmap(lambda x: np.tanh(x @ W.T))(X[:0]).shape == (0, 5)
    many = np.random.default_rng(0).normal(size=1000)
    assert np.array_equal(af.vmap(lambda x: x**2)(many), many * many)  # to the last bit, as fast as a product


# -- what is refused


@pytest.mark.parametrize(("call", "message"), [
    (lambda: af.vmap(f, None)(X), "nothing to map over"), (lambda: af.vmap(lambda: 1.0)(), "nothing to map over"),
    (lambda: af.vmap(np.dot)(X, X[:5]), r"different lengths: 6 in argument 0, 5 in argument 1"),
    (lambda: af.vmap(f, 2)(X), r"argument 0 has shape \(6, 4\), and so no axis 2"),
    (lambda: af.vmap(np.dot, (0, 0))(X, 2.0), r"argument 1 has shape \(\), and so no axis 0"),
    (lambda: af.vmap(np.dot, (0,))(X, X), "in_axes has 1 entries for 2 arguments"),
    (lambda: af.vmap(lambda p: p["w"], ({"v": 0},))({"w": X}), r"in_axes for argument 0 has the entries"),
    (lambda: af.vmap(f, "first")(X), "in_axes are ints, None, or containers"),
    (lambda: af.vmap(f, ([0],))(X), "where argument 0 has no container"),
    (lambda: af.vmap(f, loop="never"), "it is one of 'warn', 'allow', 'refuse'"),
    (lambda: af.vmap(np.exp, out_axes=2)(X), "out_axes=2: the result for all examples has the axes 0 to 1"),
])  # fmt: skip
def test_wrong_axes(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(("g", "error", "message"), [
    (lambda x: x.__setitem__(0, 1.0), ValueError, "read-only"),
    (lambda x: 1 / 0, ZeroDivisionError, "division by zero"),
    (lambda x: np.add(x, np.ones(3)), ValueError, "could not be broadcast together with shapes (4,) (3,)"),
    (lambda x: {}["k"], KeyError, "k"),
])  # fmt: skip
def test_errors_are_those_of_an_example(g, error, message):
    before = dict(NODE_TYPES)
    with pytest.raises(error, match=re.escape(message)) as caught:
        af.vmap(g)(X)
    assert caught.value.__notes__ == ["(af.vmap: in example 0)"]
    assert dict(NODE_TYPES) == before
    check(f, X)


@pytest.mark.parametrize("results", [
    lambda x: x[: 1 + (x[0] > 0)], lambda x: x if x[0] > 0 else x.astype("f4"),
    lambda x: np.emath.sqrt(x[0]),
])  # fmt: skip
def test_results_that_cannot_be_stacked(results):
    with pytest.raises(BatchError, match="they cannot be one array"):
        af.vmap(results)(X)


def test_arrays_that_are_kept_are_those_of_the_examples():
    kept = []
    with ignored_loops():
        af.vmap(lambda x: (kept.append(x), x)[1])(X)
    np.testing.assert_array_equal(np.stack(kept), X)


def test_arrays_that_are_kept_in_secret_are_refused_later():
    """In a ContextVar, which nobody sees: see guarantees.md."""
    secret = ContextVar("secret")
    af.vmap(lambda x: (secret.set(x), x)[1], loop="refuse")(X[:0])  # of an empty batch no example is compared
    for use in (lambda x: x + 1, np.sum, lambda x: x[0]):
        with pytest.raises(BatchError, match="after the vmap"):
            use(secret.get())


def test_what_all_examples_share_is_known():
    """An argument with in_axes=None has one number; Python may ask for it."""
    close(af.vmap(lambda x, k: x if k > 0 else -x, (0, None))(X, np.array(-1)), -X)
    close(af.vmap(lambda x, table: table[x], (0, None))(np.array([2, 0]), W), W[[2, 0]])


# -- with other transforms


def product(w, x):
    return np.sum(np.tanh(w @ x) ** 2)


TRANSFORMED = {
    "grad": af.grad(f), "value_and_grad": lambda x: af.value_and_grad(f)(x)[1], "hessian": af.hessian(f),
    "jacobian": af.jacobian(lambda x: x[:2] * np.exp(x[2:])),
    "jacobian forward": af.jacobian(lambda x: x[:2] * np.exp(x[2:]), mode="forward"),
    "wide jacobian": af.jacobian(lambda x: np.tanh(np.outer(x, x)).ravel(), mode="reverse"),
    "grad of grad": af.grad(lambda x: np.sum(af.grad(f)(x) ** 2)), "closure": af.grad(lambda x: product(W, x)),
    "shared leaf": lambda x: af.grad(product)(W, x),
    "another leaf": lambda x: af.grad(lambda y: np.sum(y * x) ** 2)(np.ones(4)),
    "a number": lambda x: af.grad(lambda y: np.sum(np.sin(y * x)))(2.0),
    "perturbations": lambda x: af.grad(lambda y: y * af.grad(lambda z: y + z)(1.0))(x[0]),
    "vmap": lambda x: af.vmap(lambda w: product(w[None], x))(W),
    "vmap of grad": lambda x: af.vmap(af.grad(lambda w: product(w[None], x)))(W),
    "grad of vmap": af.grad(lambda x: np.sum(af.vmap(lambda w: product(w[None], x))(W) ** 2)),
    "grad of vmap of grad": af.grad(lambda a: np.sum(af.vmap(af.grad(lambda x: f(x * a)))(X) ** 2)),
    "jvp": lambda x: af.jvp(f, (x,), (x + 1,))[1], "vjp": lambda x: af.vjp(np.sin, x)[1](x + 1)[0],
    "plain cotangent": lambda x: af.vjp(np.sin, x)[1](np.ones(4))[0], "hvp": lambda x: af.hvp(f, x, x + 1),
    "no_grad": af.no_grad(f), "checkpoint": af.grad(af.checkpoint(f)), "own Variable": lambda x: own_gradient(x),
}  # fmt: skip


def own_gradient(x):
    w = af.Variable(2.0)
    np.sum(np.sin(w * x)).backward()
    return w.grad


@pytest.mark.parametrize("g", TRANSFORMED.values(), ids=TRANSFORMED)
def test_functions_that_differentiate(g):
    check(g, X)


@pytest.mark.parametrize("name", ["grad", "vmap", "grad of vmap", "closure", "another leaf", "hvp"])
def test_and_are_differentiated_again(name):
    g, weights = TRANSFORMED[name], RNG.normal(size=np.shape(by_loop(TRANSFORMED[name], X)))
    ours, theirs = [af.grad(lambda batch, h=h: np.sum(h(batch) ** 2 * weights))(X)
                    for h in (af.vmap(g), lambda batch: np.stack([g(x) for x in batch]))]  # fmt: skip
    close(ours, theirs)


@pytest.mark.parametrize(
    "name", ["grad", "hessian", "vmap", "grad of vmap", "closure", "another leaf", "wide jacobian"]
)
def test_and_are_compiled(name):
    g, compiled = TRANSFORMED[name], af.compile(af.vmap(TRANSFORMED[name]))
    compiled(X * 0.9)
    close(compiled(X), by_loop(g, X))
    close(af.vmap(af.compile(g))(X), by_loop(g, X))


def test_three_layers():
    a, b, c = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 2)), RNG.normal(size=(5, 2))

    def g(x, y, z):
        return np.sum(np.sin(x * y) * z) * x[0]

    inner = af.vmap(g, (None, None, 0))
    every = af.vmap(af.vmap(inner, (None, 0, None)), (0, None, None))
    right = np.array([[[g(x, y, z) for z in c] for y in b] for x in a])
    close(every(a, b, c), right)
    swapped = af.vmap(lambda y: af.vmap(lambda x: inner(x, y, c))(a))(b)
    close(swapped, right.swapaxes(0, 1))


def test_jacobian_of_a_vmap():
    pairs = lambda x: x[:2] * x[2:]  # noqa: E731
    close(af.jacobian(af.vmap(pairs))(X), af.jacobian(lambda X: by_loop(pairs, X))(X))


def test_variables_outside_get_their_gradients():
    w, once = af.Variable(W), af.Variable(W)
    af.vmap(lambda x: product(w, x))(X).sum().backward()
    sum([product(once, x) for x in X]).backward()
    close(w.grad, once.grad)
    z = af.vmap(lambda x: w @ x)(X)
    assert isinstance(z, af.Operation)


THROUGH_WEIGHTS = {
    "closure": lambda w: lambda x: af.grad(lambda x: product(w, x))(x),
    "shared leaf": lambda w: lambda x: af.grad(product)(w, x),
    "both": lambda w: lambda x: af.grad(product, (0, 1))(w * 2, x)[1],
    "checkpoint": lambda w: lambda x: sum(af.checkpoint(lambda x: (product(w, x), product(w, w.T)))(x)),
    "made inside": lambda w: lambda x: af.grad(lambda y: np.sum(np.sin(w * y) @ x))(np.ones(4)),
    "hessian": lambda w: lambda x: af.hessian(lambda x: product(w, x))(x),
    "written": lambda w: lambda x: af.grad(lambda x: written(w, x))(x),
    "vmap": lambda w: lambda x: af.vmap(af.grad(lambda r: np.sum(np.sin(r * x * w[0]))))(w),
}


def written(w, x):
    z = np.zeros_like(x)
    z[:2] = w[0, :2] * x[2:]
    z[2:] = w[1, 2:]
    z *= x
    return np.sum(z**3)


@pytest.mark.parametrize("name", THROUGH_WEIGHTS)
def test_gradients_of_gradients_for_what_is_outside(name):
    """Nodes of two layers meet: those of w, which came first, and those that the gradient inside makes."""
    g = THROUGH_WEIGHTS[name]
    close(af.grad(lambda w: np.sum(af.vmap(g(w))(X) ** 2))(W), af.grad(lambda w: np.sum(by_loop(g(w), X) ** 2))(W))
    w = af.Variable(W)
    assert isinstance(af.vmap(g(w))(X), af.Node) == isinstance(g(w)(X[0]), af.Node)


def test_a_backward_inside_stays_inside():
    """It is of each example's own Variables; those from outside are values to it."""
    w = af.Variable(W)

    def slope(x):
        v = af.Variable(x)
        np.sum(np.sin(w @ v)).backward()
        return v.grad

    ours = af.vmap(slope)(X)
    assert w.grad is None
    close(ours, by_loop(slope, X))


def test_what_a_node_from_outside_gives_is_no_node():
    """Without a node of the vmap's own layer nothing is recorded there."""
    w = af.Variable(W)

    def f(x):
        for z in (w * x, x * w, w @ x, np.maximum(w, x), w.dot(x)):
            assert not (hasattr(z, "batch_layer") and hasattr(type(z), "role")), type(z)
        return x

    close(af.vmap(f, loop="refuse")(X), X)


def test_arguments_that_are_nodes():
    v = af.Variable(X.T)
    z = af.vmap(af.grad(f), 1)(v)
    (z**2).sum().backward()
    close(z.value, by_loop(af.grad(f), X))
    close(v.grad.T, af.grad(lambda X: sum([np.sum(af.grad(f)(x) ** 2) for x in X]))(X))


@pytest.mark.parametrize("asks", [
    lambda y: isinstance(y, af.Node), lambda y: hasattr(y, "detach"), lambda y: getattr(y, "requires_grad", False),
])  # fmt: skip
def test_arguments_that_are_nodes_say_so(asks):
    def f(x):
        y = x * 2.0
        return np.sum((y.detach() if asks(y) else y) * x)

    for mode in (af.no_grad, af.enable_grad):
        with mode():
            ours = af.grad(lambda X: np.sum(af.vmap(f, loop="allow")(X)))(X)
            close(ours, af.grad(lambda X: sum([f(x) for x in X]))(X))
            close(af.vmap(f, loop="allow")(af.Variable(X)), [f(x) for x in X])


def test_places_that_differ():
    i = np.array([0, 4, 2, 2, 1, 3])
    w = af.Variable(W)
    g = lambda i, x: (w[i] @ x) ** 2  # noqa: E731
    af.vmap(g)(i, X).sum().backward()
    grad = w.grad
    w.zero_grad()
    sum([g(k, x) for k, x in zip(i, X, strict=True)]).backward()
    close(grad, w.grad)


@pytest.mark.parametrize("index", [
    lambda i, j: (i, slice(None), j), lambda i, j: (slice(None), i, j), lambda i, j: (slice(1, None), i),
    lambda i, j: (i, ..., [0, 1]), lambda i, j: (None, i, slice(None), [0]), lambda i, j: (..., j, i[:, None]),
    lambda i, j: (i, 0), lambda i, j: (slice(None), 1, i),
])  # fmt: skip
@pytest.mark.parametrize("mapped", [(0, 0, 0), (None, 0, None), (0, 0, None), (0, None, None), (None, 0, 0)])
def test_indices_of_arrays(index, mapped):
    x, i, j = RNG.normal(size=(3, 2, 3, 4)), RNG.integers(0, 2, (3, 2)), RNG.integers(0, 2, (3, 2))

    def read(x, i, j):
        return x[index(i, j)]

    def write(x, i, j):
        z = np.zeros_like(x) + x
        z[index(i, j)] = np.arange(2.0).reshape(2, 1)[0]
        return z

    given = [a[0] if axis is None else a for a, axis in zip((x, i, j), mapped, strict=True)]
    slope = af.grad(lambda x, i, j: np.sum(np.sin(read(x, i, j))))
    for f in (read, write, slope) if mapped[0] == 0 else (read, slope):
        check(f, *given, in_axes=mapped)


def running(x):
    z = np.zeros_like(x)
    z[0] = x[0]
    for k in range(1, 4):
        z[k] = z[k - 1] * 0.5 + x[k]
    z[1:] *= x[0]
    z += x
    z[np.array([0, 2])] = x[1]
    z[z > 1] = 1.0
    return z


def test_writing_in_place():
    check(running, X)
    slope = af.grad(lambda x: np.sum(summed(x)))
    check(slope, X)
    close(af.grad(lambda X: np.sum(af.vmap(summed)(X)))(X), by_loop(slope, X))


def summed(x):
    z = np.zeros_like(x)
    z[0] = x[0] * x[1]
    z[1:] = x[1:] ** 2
    z += x
    total = z[0]
    total += z[1] * z[2]
    return total * np.sum(z)


def test_stale_values_are_noticed():
    def g(x):
        a = np.exp(x)
        b = np.sin(a)
        a[...] = 0.0
        return np.sum(b)

    with pytest.raises(af.errors.StaleValueError):
        af.vmap(af.grad(g))(X)
    with pytest.raises(af.errors.StaleValueError):
        af.grad(lambda X: np.sum(af.vmap(g)(X)))(X)


# -- functions of the user's


# A derivative that is not that of the value, so that it shows whether it was used.
Seven = function(saving(np.square), lambda ctx, g: 7 * g * ctx.saved_tensors[0], "Seven")


def test_functions_with_a_derivative_of_their_own():
    slope = af.grad(lambda x: np.sum(Seven.apply(x)))
    close(af.vmap(slope)(X), 7 * X)
    looping.SAID.discard("Seven.apply")
    with pytest.warns(LoopWarning, match=r"Seven\.apply"):
        through = af.grad(lambda X: np.sum(af.vmap(lambda x: np.sum(Seven.apply(x)))(X)))(X)
    close(through, 7 * X)
    with pytest.warns(LoopWarning, match="differentiated both inside and outside"):
        close(af.grad(lambda X: np.sum(af.vmap(slope)(X)))(X), af.grad(lambda X: sum([np.sum(slope(x)) for x in X]))(X))
    two = af.grad(lambda x: sum([np.sum(z**2) for z in Split.apply(x, np.sin(x))]))
    check(two, X)


@pytest.fixture
def cube():
    """A row of the user's own, with a derivative that shows whether it was used."""
    made = af.register_rule(lambda x: x**3, label="cube", x=lambda g, x: 5 * g * x)
    yield made
    for f in [f for f, row in RULES.items() if row.label == "cube"]:
        del RULES[f]
        OWN.discard(f)


def test_rows_of_the_users_own(cube):
    slope = af.grad(lambda x: np.sum(cube(x)))
    close(slope(X[0]), 5 * X[0])
    close(af.vmap(slope)(X), 5 * X)
    with ignored_loops():
        close(af.grad(lambda X: np.sum(af.vmap(lambda x: np.sum(cube(x)))(X)))(X), 5 * X)
        close(af.vmap(lambda x: cube(x))(X), X**3)


def test_an_iterator_that_moves_on_cannot_be_put_back():
    numbers = iter(range(10))
    with pytest.raises(BatchError, match="meanwhile an iterator from outside has moved on"):
        af.vmap(lambda x: x + 0 * next(numbers))(X)
    assert list(numbers) == list(range(1, 10))


# -- networks


def network(rng):
    return nn.Sequential(nn.Linear(4, 5, rng=rng), nn.LayerNorm(5), nn.relu, nn.Linear(5, 3, rng=rng))


def test_per_example_gradients_of_a_network():
    model, y = network(np.random.default_rng(1)), RNG.normal(size=(6, 3))
    parameters = model.state_dict()

    def loss(p, x, y):
        return nn.mse_loss(nn.functional_call(model, p, x), y)

    ours = af.vmap(af.grad(loss), (None, 0, 0))(parameters, X, y)
    each = [af.grad(loss)(parameters, *pair) for pair in zip(X, y, strict=True)]
    for name, g in ours.items():
        close(g, np.stack([e[name] for e in each]))
    mean = af.grad(lambda p: np.mean(af.vmap(loss, (None, 0, 0))(p, X, y)))(parameters)
    for name, g in mean.items():
        close(g, np.mean(ours[name], axis=0))


def test_layers():
    rng = np.random.default_rng(2)
    images, words = rng.normal(size=(3, 2, 6, 6)), rng.integers(0, 7, (3, 4))
    conv, lstm, embedding = nn.Conv2d(2, 3, 3, rng=rng), nn.LSTM(4, 3, rng=rng), nn.Embedding(7, 4, rng=rng)
    labels = rng.integers(0, 3, 3)
    with af.no_grad():
        check(lambda x: conv(x[None])[0], images)
        check(lambda x: lstm(embedding(x)[None] * 1.0)[0], words)
    check(lambda s, k: nn.cross_entropy(s[None], k[None]), rng.normal(size=(3, 5)), labels)


# -- threads


def test_threads():
    slopes = [af.grad(lambda x, k=k: f(x) * k) for k in range(4)]
    for slope, z in zip(slopes, in_threads(*[lambda g=g: af.vmap(g)(X) for g in slopes]), strict=True):
        close(z, by_loop(slope, X))


def gradients_left(a, read):
    """a times the gradients that a pass of the function's own leaves."""
    v = af.Variable(a)
    z = v**2 * a
    af.backward(np.sum(z * v * a), keep_grads=True)
    return a * read(v, z)


STOPPED = {
    "grad": lambda a: gradients_left(a, lambda v, z: v.grad),
    "grad of a result": lambda a: gradients_left(a, lambda v, z: z.grad),
    "added grads": lambda a: gradients_left(a, lambda v, z: (np.sum(v * a).backward(), v.grad)[1]),
    "stop_gradient": lambda a: a * af.stop_gradient(a), "of a result": lambda a: a * af.stop_gradient(np.sin(a) * a),
    "of a derivative": lambda a: af.grad(lambda b: np.sum(b**3) * np.sum(af.stop_gradient(b)))(a),
    "value": lambda a: af.grad(lambda b: np.sum(b**3 * b.value))(a),
    "detach": lambda a: af.grad(lambda b: np.sum((b * b).detach() * b**2))(a),
    **{
        make.__name__: lambda a, make=make: a * make(a) + a * make(np.sin(a))
        for make in (af.Constant, af.Variable, af.constant, af.variable)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", STOPPED)
def test_gradients_stop_for_those_outside_of_vmap_too(name):
    f, x = STOPPED[name], np.array([[0.5, 1.5], [0.7, -0.4], [2.0, 0.1]])
    for mapped, examples in ((af.vmap(f), x.shape), (af.vmap(af.vmap(f)), (3, 2, 1))):
        ours = af.grad(lambda v: np.sum(mapped(v.reshape(examples)) ** 2))(x)  # noqa: B023 - called at once
        one_by_one = af.grad(lambda v: np.sum(by_loop(f, v.reshape(-1, examples[-1])) ** 2))(x)  # noqa: B023
        np.testing.assert_allclose(ours, one_by_one, rtol=1e-12)


OBJECTS = {
    "a deque": lambda x: deque([x]), "a namespace": lambda x: SimpleNamespace(a=x), "a function": lambda x: lambda: x,
    "a generator": lambda x: (v for v in x), "an iterator": iter, "a method": lambda x: x.sum,
    "an object in a list": lambda x: [x, SimpleNamespace(a=x)],
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("wrap", [lambda f: f, af.vmap], ids=["alone", "nested"])
def test_objects_that_hide_an_array_are_no_results(name, wrap):
    """They are other objects for each example: the loop could not stack them either."""
    x = X if wrap is not af.vmap else X[None]
    with pytest.raises(InputError, match=r"not stacked .* differs between examples"):
        wrap(af.vmap(OBJECTS[name], loop="allow"))(x)
    kept = SimpleNamespace()
    assert wrap(af.vmap(lambda x: (kept, x)))(x)[0] is kept


def put_in(*objects):
    z = np.empty(len(objects), object)
    z[:] = objects
    return z


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("f", [
    lambda x: put_in(x, None), lambda x: put_in(x[0], x), lambda x: put_in({"a": x}), lambda x: put_in(None, [1.0]),
    lambda x: put_in(np.ones(2), 1), lambda x: put_in(put_in(x * 2), 1), lambda x: np.array(x, object),
])  # fmt: skip
def test_arrays_of_objects_are_stacked(f, layers):
    found, wanted = af.vmap(f, loop="allow"), np.stack([f(x) for x in X])
    found = found(X) if layers == 1 else af.vmap(found, loop="allow")(X[None])[0]
    assert (found.dtype, found.shape) == (object, wanted.shape)
    assert repr(found.tolist()) == repr(wanted.tolist())


@pytest.mark.parametrize("text", ["x[0].dtype", "x.sum().dtype", "x.dtype", "x[1:].dtype", "(x * 2)[0].dtype"])
def test_numbers_have_the_byte_order_of_this_machine(text):
    swapped = X.astype(">f8")
    check(eval(f"lambda x: x * (2 if ({text}).isnative else 3)"), swapped)
    check(lambda v: v * (2 if v.dtype.isnative else 3), swapped[:, 0])


def by_function(s, w):
    return function(lambda ctx, w: w * s, lambda ctx, g: g * s).apply(w)


def by_primitive(s, w):
    scaled = af.primitive(lambda w: w * s)
    scaled.defvjp(w=lambda g: g * s)
    return scaled(w)


def by_an_option(s, w):
    scaled = af.primitive(lambda w, how: w * how["by"][0])
    scaled.defvjp(w=lambda g, how: g * how["by"][0])
    return scaled(w, {"by": [s]})


def by_rule(s, w):
    scaled = af.custom_jvp(lambda w: w * s)
    scaled.defjvp(lambda primals, tangents: (primals[0] * s, tangents[0] * s))
    return scaled(w)


scaled_by_first = af.custom_jvp(lambda s, w: w * s, nondiff_argnums=(0,))
scaled_by_first.defjvp(lambda s, primals, tangents: (primals[0] * s, tangents[0] * s))


@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")
@pytest.mark.parametrize(
    "scaled",
    [
        by_function, by_primitive, by_an_option, by_rule, scaled_by_first,
        lambda s, w: af.checkpoint(lambda w: w * s)(w), lambda s, w: w * s,
        lambda s, w: s * af.implicit.root(lambda z, w: (s * 2, z - w)[1], 0.0, w),
    ],
    ids=["Function", "primitive", "an option", "custom_jvp", "nondiff_argnums", "checkpoint", "written out", "solver"],
)  # fmt: skip
@pytest.mark.usefixtures("rows_as_before")
def test_a_rule_of_your_own_may_find_an_example_outside_of_its_arguments(scaled):
    """It gets plain numbers of a node from outside; what it finds hides a batch, and so does its result."""
    s = np.array([1.0, 2.0, 4.0])

    def total(w):
        return np.sum(af.vmap(lambda s: scaled(s, w))(s) * s) + w

    assert af.grad(total)(3.0) == np.sum(s * s) + 1
    w = af.Variable(3.0)
    total(w).backward()
    assert w.grad == np.sum(s * s) + 1
    np.testing.assert_array_equal(af.jvp(lambda w: af.vmap(lambda s: scaled(s, w))(s), 3.0, 2.0)[1], 2 * s)
    np.testing.assert_array_equal(af.vmap(lambda s: af.grad(lambda w: scaled(s, w))(3.0))(s), s)
    nested = af.grad(lambda w: np.sum(af.vmap(lambda a: af.vmap(lambda s: scaled(s * a, w))(s))(s)))(3.0)
    assert nested == np.sum(s) ** 2


READ_PAST_US = {
    "asarray": lambda w, x: np.sum(np.asarray(w) * x) + np.sum(w),
    "full": lambda w, x: np.sum(np.full(2, np.sum(w)) * x) + np.sum(w),
    "written": lambda w, x: np.sum(filled(np.zeros(2), w) * x) + np.sum(w),
}


def filled(array, w):
    array[0] = np.sum(w)
    return array


@pytest.mark.filterwarnings("ignore::autoflow.errors.LoopWarning")
@pytest.mark.parametrize("f", READ_PAST_US.values(), ids=READ_PAST_US)
@pytest.mark.parametrize("transform", [
    lambda f, w, s: af.vmap(af.grad(f), (None, 0))(w, s),
    lambda f, w, s: af.vmap(lambda x: af.grad(lambda w: f(w, x))(w))(s),
    lambda f, w, s: af.vmap(lambda x: af.jvp(lambda w: f(w, x), w, w)[1])(s),
    lambda f, w, s: af.vmap(lambda x: af.vjp(lambda w: f(w, x), w)[1](1.0)[0])(s),
    lambda f, w, s: af.vmap(lambda a: af.vmap(lambda x: af.grad(lambda w: f(w, x * a))(w))(s))(s),
    lambda f, w, s: af.grad(lambda v: np.sum(af.vmap(lambda x: af.grad(lambda w: f(w, x) * v)(w))(s)))(2.0),
], ids=["argument", "closure", "jvp", "vjp", "nested", "in a gradient"])  # fmt: skip
def test_numbers_of_shared_arguments_do_not_leave_the_graph(f, transform):
    """As in a loop, where the proof finds them."""
    for w in (2.0, np.array([1.0, 2.0])):
        with pytest.raises(LostGradientError, match=r"without a gradient|be lost"):
            transform(f, w, np.array([1.0, 2.0, 3.0]))
