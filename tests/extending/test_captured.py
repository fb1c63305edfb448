"""A user's function that gets plain arrays, and reads numbers of nodes that it captures: each way of reading, each way
of capturing, each kind of function. And one that differentiates in it, with and without such nodes."""

import numpy as np
import pytest
from user_functions import function, saving

import autoflow as af
from autoflow import implicit, integrate
from autoflow.errors import LostGradientError

V = np.array([0.6, 1.5])
PAST_US = {
    "np.asarray(v)": np.asarray, "np.array([v, v])": lambda v: np.array([v, v])[0],
    "np.full": lambda v: np.full(2, v[0]), "np.ma": lambda v: np.asarray(np.ma.array(v)),
    "np.ndenumerate": lambda v: np.array([e for _, e in np.ndenumerate(v)]),
    "rng.permutation": lambda v: np.random.default_rng(0).permutation(v),
}  # fmt: skip
ON_PURPOSE = {
    "v.value": lambda v: v.value, "float(v)": lambda v: float(v[0]), "v.item()": lambda v: v[0].item(),
    "v.shape": lambda v: float(len(v.shape)),
}  # fmt: skip


def by_helper(read, v):
    def helper():
        return read(v)

    return lambda x: x * helper()


CAPTURES = {
    "closure": lambda read, v: lambda x: x * read(v), "helper": by_helper,
    "list": lambda read, v: (lambda held: lambda x: x * read(held[0]["v"]))([{"v": v}]),
    "global": lambda read, v: eval("lambda x: x * read(v)", {"__name__": "users", "read": read, "v": v}),
}  # fmt: skip


def of_function(f, v):
    return function(lambda ctx, x: f(x), lambda ctx, g: g * v.value).apply


def of_primitive(f, v):
    return af.primitive(f).defvjp(x=lambda g: g * v.value)


@pytest.mark.parametrize("kind", [of_function, of_primitive])
@pytest.mark.parametrize("capture", CAPTURES.values(), ids=CAPTURES)
@pytest.mark.parametrize("name", [*PAST_US, *ON_PURPOSE])
def test_reading_what_was_captured(name, capture, kind):
    read, v, x = {**PAST_US, **ON_PURPOSE}[name], af.Variable(V), af.Variable(V)
    f = kind(capture(read, v), v)
    for _ in range(4):
        if name in PAST_US:
            with pytest.raises(LostGradientError, match="which it captures"):
                f(x)
        else:
            np.sum(f(x)).backward()
    with af.no_grad():
        np.testing.assert_array_equal(f(x), V * read(v))
    with af.options(prove="never"):
        assert f(x).requires_grad


def test_what_it_does_is_done_once():
    """The second run leaves no trace."""
    v, calls, rng = af.Variable(V), [], np.random.default_rng(0)

    @af.primitive
    def noisy(x):
        calls.append(v.size)
        return x * rng.normal()

    noisy.defvjp(x=lambda g: g)
    found = [noisy(af.Variable(1.0)).item() for _ in range(3)]
    assert len(calls) == 3
    assert found == np.random.default_rng(0).normal(size=3).tolist()


# ---------------------------------------------------------------- derivatives in a function of plain arrays

# Of (x, k): derivatives of (y - k)³ at x, as the program of a user takes them inside such a function.
INSIDE = {
    "grad": lambda x, k: af.grad(lambda y: np.sum((y - k) ** 3))(x),
    "value_and_grad": lambda x, k: af.value_and_grad(lambda y: np.sum((y - k) ** 3))(x)[0],
    "vjp": lambda x, k: af.vjp(lambda y: (y - k) ** 3, x)[1](1.0)[0],
    "jvp": lambda x, k: af.jvp(lambda y: (y - k) ** 3, (x,), (1.0,))[1],
    "hessian": lambda x, k: af.hessian(lambda y: (y - k) ** 3)(x),
    "grad(grad)": lambda x, k: af.grad(lambda y: y * af.grad(lambda u: (y * u - k) ** 3)(1.0))(x),
    "allow_unused": lambda x, k: x + af.value_and_grad(lambda y: 2 * k, allow_unused=True)(x)[0],
}


def in_function(slope):
    backward = lambda ctx, g: af.vjp(lambda k: slope(1.2, k), *ctx.saved_tensors)[1](g)[0]  # noqa: E731
    return function(saving(lambda k: slope(1.2, k)), backward).apply


def in_primitive(slope):
    f = af.primitive(lambda k: slope(1.2, k))
    return f.defvjp(k=lambda g, k: af.vjp(lambda k: slope(1.2, k), k)[1](g)[0])


def in_custom_jvp(slope):
    f = af.custom_jvp(lambda k: slope(1.2, k))
    f.defjvp(lambda primals, tangents: (slope(1.2, *primals), af.jvp(lambda k: slope(1.2, k), primals, tangents)[1]))
    return f


TIGHT = {"rtol": 1e-11, "atol": 1e-11}
PLACES = {
    "Function": in_function, "primitive": in_primitive, "custom_jvp": in_custom_jvp,
    "root": lambda slope: lambda k: implicit.root(lambda x, k: x + 0.1 * slope(x, k) - 0.4, 0.5, k),
    "fixed_point": lambda slope: lambda k: implicit.fixed_point(lambda x, k: 0.02 * slope(x, k), 0.5, k),
    "argmin": lambda slope: lambda k: implicit.argmin(lambda x, k: 0.01 * slope(x, k) ** 2 + x**2, 0.5, k),
    "minimize": lambda slope: lambda k: af.minimize(
        lambda x, k: 0.01 * slope(x, k) ** 2 + x**2, 0.5, (k,), tol=1e-12).x,
    "odeint": lambda slope: lambda k: integrate.odeint(
        lambda y, t, k: np.reshape(0.1 * slope(y[0], k), 1), [1.2], [0.0, 0.1], (k,), **TIGHT)[-1, 0],
    "solve_ivp": lambda slope: lambda k: integrate.solve_ivp(
        lambda t, y, k: np.reshape(0.1 * slope(y[0], k), 1), (0.0, 0.1), [1.2], args=(k,), **TIGHT).y[0, -1],
    "quad": lambda slope: lambda k: integrate.quad(slope, 0.0, 1.0, (k,))[0],
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("inside", INSIDE)
def test_derivatives_inside(inside, place):
    """Transforms around it are not its own: it gets plain arrays of those inside, under each of them."""
    if place not in ("Function", "primitive", "custom_jvp"):
        pytest.importorskip("scipy", reason="SciPy is not installed")
    f, h = PLACES[place](INSIDE[inside]), 1e-5
    x = af.Variable(0.7)
    f(x).backward()
    np.testing.assert_allclose(x.grad, (float(f(0.7 + h)) - float(f(0.7 - h))) / (2 * h), 1e-6, 1e-6)
    for found in (af.grad(f)(0.7), af.jacfwd(f)(0.7), af.grad(af.checkpoint(f))(0.7)):
        np.testing.assert_allclose(found, x.grad, 1e-6, 1e-7)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("inside", INSIDE)
def test_derivatives_inside_by_what_was_captured(inside, place):
    """A transform takes what its function captures for a constant, which a node from outside is not."""
    if place not in ("Function", "primitive", "custom_jvp"):
        pytest.importorskip("scipy", reason="SciPy is not installed")

    def loss(w):
        return PLACES[place](lambda x, k: INSIDE[inside](x, k * w))(af.Variable(0.7)) + w**2

    for differentiate in (lambda: loss(af.Variable(1.0)).backward(), lambda: af.grad(loss)(1.0)):
        with pytest.raises(LostGradientError, match=r"node from outside|not one of its arguments|node for which"):
            differentiate()
    with af.no_grad():
        loss(af.Variable(1.0))


@pytest.mark.parametrize("inside", INSIDE)
def test_strict_mode_refuses_a_gradient_that_may_lack_what_a_derivative_captures(inside):
    """It counts as a constant, which is right where no gradient is wanted."""
    k, slope = af.Variable(2.0, name="k"), INSIDE[inside]
    right = slope(0.5, 2.0)
    with af.options(strict=True):
        assert slope(0.5, k.value) == slope(0.5, af.Variable(2.0, requires_grad=False)) == right
        with af.no_grad():
            assert slope(0.5, k) == right
        (k * k).backward()
        loss = k * k + slope(0.5, k)
        for _ in range(2):
            with pytest.raises(LostGradientError, match=r"takes k for a constant"):
                loss.backward()
        assert k.grad == 4.0
        k.assign(2.0)
        through = af.grad(lambda k: slope(0.5, k) ** 2)(2.0)
    assert abs(through - (slope(0.5, 2.0 + 1e-6) ** 2 - slope(0.5, 2.0 - 1e-6) ** 2) / 2e-6) < 1e-5
