"""af.integrate: values are SciPy's, gradients those of differences, by starting point, times, ends and parameters.

Parameters stand in lists, tuples, dicts and dataclasses; what is not an argument is refused.
"""

import dataclasses
import math

import numpy as np
import pytest
from support import assert_close

import autoflow as af
from autoflow.errors import LostGradientError, NoRuleError

pytest.importorskip("scipy", reason="SciPy is not installed")
from scipy import integrate as theirs

from autoflow.scipy.sparse import linalg as sparse_linalg

EXACT = {"rtol": 1e-11, "atol": 1e-11}
RNG = np.random.default_rng(5)


def check(f, *xs, rtol=1e-6):
    """Gradients by all arguments, against central differences."""
    xs, h = [np.asarray(x, float) for x in xs], 1e-5
    for k, g in enumerate(af.grad(f, tuple(range(len(xs))))(*xs)):
        steps = h * np.eye(xs[k].size).reshape(-1, *xs[k].shape)
        with af.no_grad():
            ends = [[float(f(*xs[:k], xs[k] + s * step, *xs[k + 1 :])) for step in steps] for s in (1, -1)]
        assert_close(np.asarray(g), np.reshape(np.subtract(*ends) / (2 * h), xs[k].shape), rtol, f"operand {k}")


# -- parameters in containers ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Layer:
    """A weight, a bias, and things that are no numbers."""

    w: object
    b: object
    function: object = np.tanh
    name: str = "layer"
    power: int = 1


W, B = RNG.normal(size=(2, 2)), RNG.normal(size=2)
CONTAINERS = {
    "list of tuples": (lambda w, b: [(w, b), (0.5 * w, 2.0)],
                       lambda y, p: np.tanh(y @ p[0][0] + p[0][1]) @ p[1][0] * p[1][1]),
    "dict": (lambda w, b: {"w": w, "rest": {"b": b, "n": 3}},
             lambda y, p: np.tanh(y @ p["w"]) ** p["rest"]["n"] + p["rest"]["b"]),
    "dataclass": (Layer, lambda y, p: p.function(y @ p.w + p.b) ** p.power),
    "tuple": (lambda w, b: (w, None, b, "text"), lambda y, p: np.tanh(y @ p[0]) + p[2]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTAINERS)
def test_parameters_in_containers(name):
    """odeint and solve_ivp: the same equation, the same gradients, in containers and flat."""
    put, f = CONTAINERS[name]
    t, y0 = np.array([0.0, 0.4, 1.1]), np.array([0.3, -0.2])

    def by_odeint(y0, w, b):
        return np.sum(af.integrate.odeint(lambda y, t, p: f(y, p) - t * y, y0, t, (put(w, b),), **EXACT)[1:] ** 2)

    def by_ivp(y0, w, b):
        how = {"method": "DOP853", "t_eval": t, "args": (put(w, b),), **EXACT}
        return np.sum(af.integrate.solve_ivp(lambda t, y, p: f(y, p) - t * y, (0.0, 1.1), y0, **how).y[:, 1:] ** 2)

    def flat(y0, w, b):
        return np.sum(af.integrate.odeint(lambda y, t, w, b: f(y, put(w, b)) - t * y, y0, t, (w, b), **EXACT)[1:] ** 2)

    check(by_odeint, y0, W, B)
    for one, other, third in zip(*[af.grad(g, (0, 1, 2))(y0, W, B) for g in (by_odeint, by_ivp, flat)], strict=True):
        assert_close(one, other, 1e-7, "solve_ivp")
        assert_close(one, third, 1e-9, "flat")


def test_gradients_come_back_in_the_container():
    params = [(0.1 * np.ones((2, 3)), np.zeros(3)), (0.1 * np.ones((3, 2)), np.zeros(2))]
    f = lambda y, t, p: np.tanh(np.tanh(y @ p[0][0] + p[0][1]) @ p[1][0] + p[1][1])  # noqa: E731
    g = af.grad(lambda p: np.sum(af.integrate.odeint(f, np.ones(2), np.linspace(0, 1, 5), args=(p,))))(params)
    assert [[x.shape for x in layer] for layer in g] == [[(2, 3), (3,)], [(3, 2), (2,)]]
    assert all([np.abs(x).min() > 0 for layer in g for x in layer])


# -- odeint ------------------------------------------------------------------------------------------------------------


def test_times_starting_points_and_parameters_of_odeint():
    """A pendulum that is pushed, with several losses along the way; values are SciPy's."""
    pendulum = lambda y, t, length, push: np.stack([y[1], -np.sin(y[0]) / length + push[0] * np.cos(push[1] * t)])  # noqa: E731
    weights = np.arange(8.0).reshape(4, 2) - 2.5
    by = lambda solve: lambda y0, t, *args: np.sum(solve(pendulum, y0, t, args, **EXACT) * weights)  # noqa: E731
    xs = np.array([0.5, 0.1]), np.array([0.0, 0.4, 1.0, 1.7]), np.array(0.8), np.array([0.3, 2.0])
    check(by(af.integrate.odeint), *xs)
    np.testing.assert_allclose(by(af.integrate.odeint)(*map(af.Variable, xs)), by(theirs.odeint)(*xs))
    f = lambda a: af.integrate.odeint(lambda y, t, a: a * y, 1.0, [0.0, 2.0], (a,), **EXACT)[-1, 0]  # noqa: E731
    np.testing.assert_allclose(af.grad(af.grad(f))(-0.5), 4 * np.exp(-1.0), rtol=1e-7)  # y = exp(a t)
    with pytest.raises(TypeError, match="does not know full_output"):
        af.integrate.odeint(lambda y, t: -y, af.Variable(1.0), [0.0, 1.0], full_output=True)


def test_a_function_may_return_a_list():
    """As SciPy's users write it. A list with numbers and nodes in it counts as an array."""
    k = np.array([2.0, 0.3])
    as_list = lambda y, t, k: [y[1], -k[0] * y[0] - k[1] * y[1]]  # noqa: E731
    as_array = lambda y, t, k: np.stack([y[1], -k[0] * y[0] - k[1] * y[1]])  # noqa: E731
    t = [0.0, 1.0, 2.0]
    losses = [lambda y0, k, f=f: np.sum(af.integrate.odeint(f, y0, t, (k,), **EXACT)) for f in (as_list, as_array)]
    for one, other in zip(*[af.grad(loss, (0, 1))(np.ones(2), k) for loss in losses], strict=True):
        assert_close(one, other, 1e-12, "a list")
    check(losses[0], np.ones(2), k)


def test_directional_derivatives():
    """jvp and Hessians go through the adjoint equation and through integrals of slopes."""
    y0, k = np.array([1.0, 0.2]), np.array(2.0)
    f = lambda y0, k: af.integrate.odeint(lambda y, t, k: [y[1], -k * y[0]], y0, [0.0, 2.0], (k,), **EXACT)[-1]  # noqa: E731
    _, along = af.jvp(f, (y0, k), (np.array([1.0, 0.0]), np.array(0.3)))
    h = 1e-5
    ends = [f(y0 + s * h * np.array([1.0, 0.0]), k + s * 0.3 * h) for s in (1, -1)]
    np.testing.assert_allclose(along, (np.asarray(ends[0]) - np.asarray(ends[1])) / (2 * h), rtol=1e-7)
    area = lambda c: af.integrate.quad(lambda x, c: np.exp(c[0] * x) * c[1], 0.0, 1.0, (c,))[0]  # noqa: E731
    right = lambda c: c[1] * (np.exp(c[0]) - 1.0) / c[0]  # noqa: E731
    c = np.array([0.3, 2.0])
    np.testing.assert_allclose(af.hessian(area)(c), af.hessian(right)(c), rtol=1e-7, atol=1e-9)


def test_tfirst_and_one_argument_without_a_tuple():
    f = lambda t, y, a: -a * y + t  # noqa: E731
    ours = af.integrate.odeint(f, af.Variable(1.0), [0.0, 1.0], 0.5, tfirst=True, **EXACT)
    np.testing.assert_allclose(ours.value, theirs.odeint(f, 1.0, [0.0, 1.0], (0.5,), tfirst=True, **EXACT))


HIDDEN = {
    "odeint": lambda a: af.integrate.odeint(lambda y, t: a * y, np.ones(1), [0.0, 1.0]),
    "odeint, beside another": lambda a: af.integrate.odeint(lambda y, t, b: b * y - a, np.ones(1), [0.0, 1.0], (a,)),
    "solve_ivp": lambda a: af.integrate.solve_ivp(lambda t, y: a * y, (0.0, 1.0), np.ones(1)).y,
    "an event": lambda a: af.integrate.solve_ivp(lambda t, y, a: -a * y, (0.0, 2.0), np.ones(1), args=(a,),
                                                 events=lambda t, y, b: y[0] - 0.5 * a).y,
    "quad": lambda a: af.integrate.quad(lambda x: a * x, 0.0, 1.0)[0],
    "odeint, later": lambda a: af.integrate.odeint(lambda y, t: -y if t < 0.5 else -a * y, np.ones(1), [0.0, 1.0]),
    "solve_ivp, later": lambda a: af.integrate.solve_ivp(lambda t, y: -y if t < 0.5 else -a * y, (0.0, 1.0), [1.0]).y,
    "an event, later": lambda a: af.integrate.solve_ivp(lambda t, y: -y, (0.0, 2.0), [1.0],
                                                        events=lambda t, y: y[0] - (0.5 if t < 0.5 else a)).y,
    "quad, elsewhere": lambda a: af.integrate.quad(lambda x: x if x < 0.9 else a * x, 0.0, 1.0)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", HIDDEN)
def test_nodes_that_are_no_arguments_are_refused(name):
    """They would be constants, without a word."""
    with pytest.raises(LostGradientError, match=r"uses a node that is not one of its arguments .* pass it in args="):
        HIDDEN[name](af.Variable(0.5))
    with af.no_grad():
        HIDDEN[name](af.Variable(0.5))
    HIDDEN[name](0.5)


@pytest.mark.parametrize("take", [af.grad, lambda f: lambda y0: f(af.Variable(y0)).backward()])
@pytest.mark.parametrize("by", ["odeint", "solve_ivp"])
def test_every_equation_is_proved_and_not_the_first_one_alone(by, take):
    ends = {
        "odeint": lambda f, y: af.integrate.odeint(lambda y, t: f(y), y, [0.0, 1.0]),
        "solve_ivp": lambda f, y: af.integrate.solve_ivp(lambda t, y: f(y), (0.0, 1.0), y).y,
    }
    take(lambda y: np.sum(ends[by](lambda y: -(y * y), y)))(np.ones(2))
    with pytest.raises(LostGradientError, match=r"np\.asarray\(y\) has numbers of nodes only"):
        take(lambda y: np.sum(ends[by](lambda y: -(np.asarray(y) * y), y)))(np.ones(2))


@pytest.mark.parametrize("call", [
    lambda z: af.integrate.odeint(lambda y, t: -y, z, [0.0, 1.0]),
    lambda z: af.integrate.solve_ivp(lambda t, y: -y, (0, 1), z),
    lambda z: af.integrate.odeint(lambda y, t, c: -y * c.real, 1.0, [0.0, 1.0], (z,)),
    lambda z: af.integrate.quad(np.sin, 0.0, z),
])  # fmt: skip
def test_complex_equations_are_refused(call):
    with pytest.raises(TypeError, match="real"):
        call(af.Variable(1.0 + 1j))


# -- solve_ivp ---------------------------------------------------------------------------------------------------------


def oscillator(t, y, k):
    return [y[1], -k[0] * y[0] - k[1] * y[1] + 0.1 * np.sin(t)]


@pytest.mark.parametrize("method", ["RK45", "LSODA", pytest.param("Radau", marks=pytest.mark.nightly)])
def test_values_and_gradients_of_solve_ivp(method):
    exact = {"rtol": 1e-9, "atol": 1e-10}
    y0, k, t = np.array([1.0, 0.2]), np.array([2.0, 0.3]), np.array([0.1, 0.5, 1.3])
    ours = af.integrate.solve_ivp(oscillator, (0.1, 1.3), af.Variable(y0), method, t, args=(k,), **exact)
    right = theirs.solve_ivp(oscillator, (0.1, 1.3), y0, method, t, args=(k,), **exact)
    np.testing.assert_array_equal(ours.y.value, right.y)
    np.testing.assert_array_equal(np.asarray(ours.t), right.t)
    assert (ours.nfev, ours.status, ours.message) == (right.nfev, right.status, right.message)
    weights = np.arange(6.0).reshape(2, 3) - 2.0

    def loss(y0, k, t):
        z = af.integrate.solve_ivp(oscillator, (t[0], t[2]), y0, method, t, args=(k,), **exact)
        return np.sum(weights * z.y) + np.sum(z.t**2)

    check(loss, y0, k, t, rtol=3e-6)


@pytest.mark.parametrize("span", [(0.1, 1.3), (1.3, 0.1)])
def test_the_solvers_own_steps_and_the_ends(span):
    """The last state moves with the last time, the first with the first; the steps between are constants."""

    def loss(y0, k, ends):
        z = af.integrate.solve_ivp(oscillator, (ends[0], ends[1]), y0, "DOP853", args=(k,), **EXACT)
        return np.sum(z.y[:, -1] ** 2) + z.t[-1] + 3.0 * z.t[0] + z.y[0, 0]

    check(loss, np.array([1.0, 0.2]), np.array([2.0, 0.3]), np.array(span))


def test_plain_arguments_give_scipys_answer():
    z = af.integrate.solve_ivp(oscillator, (0.0, 1.0), [1.0, 0.0], args=([2.0, 0.3],), dense_output=True)
    right = theirs.solve_ivp(oscillator, (0.0, 1.0), [1.0, 0.0], args=([2.0, 0.3],), dense_output=True)
    assert type(z.y) is np.ndarray
    np.testing.assert_array_equal(z.y, right.y)
    np.testing.assert_array_equal(z.sol(0.5), right.sol(0.5))


@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
def test_dense_output(span):
    """At times in any order, and one time; gradients by the times as well."""
    y0, k, t = np.array([1.0, 0.2]), np.array([2.0, 0.3]), np.array([1.2, 0.4, 1.9, 0.4])
    how = {"method": "DOP853", "dense_output": True, **EXACT}
    ours = af.integrate.solve_ivp(oscillator, span, af.Variable(y0), args=(k,), **how)
    right = theirs.solve_ivp(oscillator, span, y0, args=(k,), **how)
    for at in (t, 0.7):
        np.testing.assert_array_equal(ours.sol(at).value, right.sol(at))
    weights = np.arange(8.0).reshape(2, 4) - 3.0

    def loss(y0, k, t):
        sol = af.integrate.solve_ivp(oscillator, span, y0, args=(k,), **how).sol
        return np.sum(weights * sol(t)) + sol(t[1])[0] ** 2

    check(loss, y0, k, t, rtol=1e-5)
    with pytest.raises(ValueError, match="is known from t = 0 to 2"):
        ours.sol(2.5)


# -- events ------------------------------------------------------------------------------------------------------------


def ground(t, y, *args):
    return y[0]


ground.terminal, ground.direction = True, -1


def test_event_times():
    """When it is on the ground, by everything; and how fast it is then."""
    y0, g, drag = np.array([1.0, 6.0]), np.array(9.8), np.array(0.2)
    slow = lambda t, y, g, drag: y[1] - 0.1 * t * drag  # noqa: E731

    def solve(y0, g, drag, by=af.integrate):
        ball = lambda t, y, g, drag: [y[1], -g - drag * y[1]]  # noqa: E731
        return by.solve_ivp(ball, (0.0, 9.0), y0, "DOP853", events=[ground, slow], args=(g, drag), **EXACT)

    ours, right = solve(af.Variable(y0), g, drag), solve(y0, g, drag, theirs)
    assert ours.status == right.status == 1
    for k in range(2):
        np.testing.assert_array_equal(ours.t_events[k].value, right.t_events[k])
        np.testing.assert_array_equal(ours.y_events[k].value, right.y_events[k])
    check(lambda *xs: solve(*xs).t_events[0][0] ** 2, y0, g, drag)
    check(lambda *xs: solve(*xs).t_events[1].sum(), y0, g, drag)
    check(lambda *xs: np.sum(solve(*xs).y_events[0] * [2.0, 1.0]), y0, g, drag)
    check(lambda *xs: np.sum(solve(*xs).y_events[1] * [2.0, 1.0]), y0, g, drag)
    check(lambda *xs: np.sum(solve(*xs).y[:, -1]) + solve(*xs).t[-1], y0, g, drag)


def test_an_event_on_the_way_and_one_that_does_not_happen():
    cross = lambda t, y, k: y[0]  # noqa: E731
    never = lambda t, y, k: y[0] - 100.0  # noqa: E731

    def solve(y0, k):
        return af.integrate.solve_ivp(oscillator, (0.0, 6.0), y0, "DOP853", events=[cross, never], args=(k,), **EXACT)

    y0, k = np.array([1.0, 0.0]), np.array([2.0, 0.1])
    z = solve(af.Variable(y0), k)
    assert len(z.t_events[0]) > 2
    assert len(z.t_events[1]) == 0
    check(lambda y0, k: np.sum(solve(y0, k).t_events[0] * np.arange(1.0, 1.0 + len(z.t_events[0]))), y0, k)


def test_second_derivatives_of_an_event():
    """y = v t − g t²/2 is 0 at t = 2 v / g: d²t/dg² = 4 v / g³."""
    fall = lambda t, y, g: [y[1], -g]  # noqa: E731

    def time(g):
        z = af.integrate.solve_ivp(fall, (0.0, 9.0), [0.0, 20.0], "DOP853", events=ground, args=(g,), **EXACT)
        return z.t_events[0][0]

    np.testing.assert_allclose(af.grad(time)(10.0), -0.4, rtol=1e-7)
    np.testing.assert_allclose(af.grad(af.grad(time))(10.0), 0.08, rtol=1e-6)


def test_second_derivatives_of_solve_ivp():
    """Of y(1) = exp(−k). SciPy's values, which are saved for the way back, move with k."""

    def solve(k, **how):
        return af.integrate.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), [1.0], "DOP853", args=(k,), **how, **EXACT)

    ends = [lambda k: solve(k, t_eval=[1.0]).y[0, 0], lambda k: solve(k, dense_output=True).sol(1.0)[0]]
    for end in ends:
        np.testing.assert_allclose(af.grad(af.grad(end))(0.7), np.exp(-0.7), rtol=1e-6)


def test_options_of_solve_ivp():
    jac = lambda t, y, a: [[-a]]  # noqa: E731
    a = af.Variable(5.0)
    z = af.integrate.solve_ivp(lambda t, y, a: -a * (y - np.cos(t)), (0.0, 1.0), [0.0], "BDF", jac=jac, args=(a,),
                               rtol=1e-5, atol=[1e-6], max_step=0.1, first_step=1e-4)  # fmt: skip
    z.y[0, -1].backward()
    exact = lambda a: a * (a * np.cos(1.0) + np.sin(1.0) - a * np.exp(-a)) / (a**2 + 1)  # noqa: E731
    np.testing.assert_allclose(a.grad, af.grad(exact)(5.0), rtol=1e-3)
    with pytest.raises(TypeError, match="does not know jac_sparsity"):
        af.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), a, jac_sparsity=1)


def test_how_arguments_are_given():
    """A list of arguments is unpacked; a vectorized function gets columns. As SciPy has it, with nodes and without."""
    a, y0 = 0.7, np.array([1.0, 2.0])
    for fun, how in (
        (lambda t, y, a, b=0.0: -a * y + b, {"args": [a, 0.2]}),
        (lambda t, y: -y if y.ndim == 2 else 0 * y, {"vectorized": True}),
    ):
        right = theirs.solve_ivp(fun, (0.0, 1.0), y0, **how).y
        np.testing.assert_array_equal(af.integrate.solve_ivp(fun, (0.0, 1.0), y0, **how).y, right)
        np.testing.assert_array_equal(af.integrate.solve_ivp(fun, (0.0, 1.0), af.Variable(y0), **how).y.value, right)


# -- areas -------------------------------------------------------------------------------------------------------------


def bump(x, p):
    return p["height"] * np.exp(-((x - p["at"][0]) ** 2)) + p["at"][1] * x


@pytest.mark.parametrize("a", [-0.5, -np.inf])
def test_quad(a):
    """By the limits, by parameters in containers, twice."""
    p = lambda height, at: {"height": height, "at": [at, 0.1 if np.isfinite(a) else 0.0], "n": 3}  # noqa: E731
    exact = {"epsabs": 1e-9, "epsrel": 1e-9}

    def area(b, height, at):
        return af.integrate.quad(bump, a, b, (p(height, at),), **exact)[0]

    primals = np.array(1.5), np.array(2.0), np.array(0.3)
    ours, right = area(af.Variable(1.5), 2.0, 0.3), theirs.quad(bump, a, 1.5, (p(2.0, 0.3),), **exact)[0]
    assert ours.value == right
    check(area, *primals)
    if np.isfinite(a):
        check(lambda *xs: sum(af.grad(area, (0, 1, 2))(*xs)), *primals, rtol=1e-5)
        check(lambda a: af.integrate.quad(bump, a, 1.0, (p(2.0, 0.3),))[0], -0.5)


def test_quad_of_vectors_of_parameters_and_of_kinks():
    knots = np.array([0.5, -1.0, 2.0])
    check(lambda c: af.integrate.quad(lambda x, c: np.polyval(c, x) ** 2, 0.0, 1.0, (c,))[0], knots)
    check(lambda c: af.integrate.quad(lambda x, c: np.abs(x - 0.5) * c, 0.0, 2.0, c, points=[0.5], limit=80)[0], 3.0)
    value, error = af.integrate.quad(np.sin, 0.0, 1.0)
    assert (value, error) == theirs.quad(np.sin, 0.0, 1.0)
    with_weight = {"weight": "cos", "wvar": 2.0}
    assert af.integrate.quad(np.sin, 0.0, 1.0, **with_weight) == theirs.quad(np.sin, 0.0, 1.0, **with_weight)
    with pytest.raises(NoRuleError, match="weight"):
        af.integrate.quad(np.sin, 0.0, af.Variable(1.0), **with_weight)


def test_ends_are_not_looked_at_in_vain():
    """SciPy does not evaluate there; and an end counts for the gradient of the limit alone."""
    slope = af.grad(lambda v: af.integrate.quad(lambda x, v: v / np.sqrt(x), 0.0, 1.0, (v,))[0])
    np.testing.assert_allclose(slope(2.0), 2.0)  # a warning would be an error
    z = af.integrate.quad(lambda x, v: v * math.sqrt(x - 1500) * np.exp(2000 - x), 2000.0, np.inf, (af.Variable(2.0),))
    assert np.isfinite(float(z[0]))  # x = 1000 is no place for a root


def test_fixed_quad():
    f = lambda x, c: np.exp(c[0] * x) + c[1] * x  # noqa: E731
    c = np.array([0.7, 2.0])
    for n in (1, 4, 7):
        ours, right = (m.fixed_quad(f, 0.2, 1.7, (c,), n)[0] for m in (af.integrate, theirs))
        np.testing.assert_array_equal(ours, right)
        check(lambda a, b, c: af.integrate.fixed_quad(f, a, b, (c,), n)[0], 0.2, 1.7, c)  # noqa: B023
    with pytest.raises(ValueError, match="finite"):
        af.integrate.fixed_quad(f, 0.0, np.inf, (c,))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("name", ["simpson", "trapezoid", "cumulative_trapezoid"])
def test_areas_of_samples(name, n):
    """By the samples and by where they are, along any axis."""
    ours, right = getattr(af.integrate, name), getattr(theirs, name)
    y, x = RNG.normal(size=(2, n)), np.cumsum(0.3 + RNG.random(n))
    stack = np.cumsum(0.3 + RNG.random((2, n)), axis=1)
    for options in ({}, {"dx": 0.4}, {"x": x}, {"x": stack}):
        for turned in (False, True):
            samples, more = (y.T, {**options, "axis": 0}) if turned else (y, options)
            if turned and np.ndim(more.get("x")) == 2:
                more["x"] = stack.T
            assert_close(np.asarray(ours(samples, **more)), right(samples, **more), 1e-13, f"{more}")
    weights = np.arange(1.0, 1.0 + np.size(right(y, x=x))).reshape(np.shape(right(y, x=x)))
    check(lambda y, x: np.sum(weights * ours(y, x=x)), y, x)
    check(lambda y, x: np.sum(weights * ours(y, x=x)), y, stack)
    check(lambda y, dx: np.sum(weights * ours(y, dx=dx)), y, 0.4)
    check(lambda y: np.sum(ours([y[0], 2.0 * y[1]], dx=0.4) ** 2), y)
    with pytest.raises(IndexError):  # as SciPy's
        ours(af.Variable(y), axis=2)


def test_the_first_area_of_all_is_nothing():
    y = af.Variable([1.0, 2.0, 4.0])
    z = af.integrate.cumulative_trapezoid(y, initial=0)
    np.testing.assert_array_equal(z.value, [0.0, 1.5, 4.5])
    z.sum().backward()
    np.testing.assert_array_equal(y.grad, [1.0, 1.5, 0.5])
    with pytest.raises(ValueError, match="must be"):
        af.integrate.cumulative_trapezoid(y, initial=1.0)


@pytest.mark.parametrize("named", [{"rtol": [1e-9, 1e-10]}, {"atol": (1e-9, 1e-10)}, {k: [1e-9] * 2 for k in EXACT}])
@pytest.mark.parametrize("end", [
    lambda k, **how: af.integrate.odeint(lambda y, t, k: [-k * y[0], -y[1]], [1.0, 2.0], [0.0, 1.0], (k,), **how)[-1],
    lambda k, **how: af.integrate.solve_ivp(lambda t, y, k: [-k * y[0], -y[1]], (0, 1), [1.0, 2.0], args=(k,),
                                            **how).y[:, -1],
])  # fmt: skip
def test_each_equation_may_have_its_own_tolerance(end, named):
    named = {"rtol": 1e-9, "atol": 1e-9} | {k: np.array(v) for k, v in named.items()}
    np.testing.assert_allclose(af.grad(lambda k: np.sum(end(k, **named)))(0.5), -np.exp(-0.5), rtol=1e-6)


SCALES = [1e-9, 1e-13, 1e7]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("by", ["odeint", "RK45", "DOP853", "Radau", "LSODA"])
def test_how_a_loss_is_scaled_makes_no_difference(by, scale):
    """Solvers have absolute tolerances. y rests at its goal, so that only the adjoint state sets the steps."""

    def slope(y, t, goal):
        return goal - y

    def loss(y0, goal, scale):
        if by == "odeint":
            return scale * af.integrate.odeint(slope, y0, [0.0, 4.0, 10.0], (goal,))[-1, 0]
        found = af.integrate.solve_ivp(lambda t, y, goal: slope(y, t, goal), (0.0, 10.0), [y0], by, args=(goal,))
        return scale * found.y[0, -1]

    found = np.array(af.grad(loss, (0, 1))(1.0, 1.0, scale)) / scale
    np.testing.assert_allclose(found, [np.exp(-10.0), 1 - np.exp(-10.0)], atol=1e-5)


@pytest.mark.parametrize("scale", SCALES)
def test_absolute_tolerances_of_areas_and_of_iterations_are_in_units_of_the_gradient(scale):
    def area(a, scale=1.0):
        waves = lambda x, a: np.exp(a * x) * np.abs(np.sin(9 * x))  # noqa: E731
        return scale * af.integrate.quad(waves, 0, 3, (a,), epsabs=1e-9, limit=99)[0]

    np.testing.assert_allclose(af.grad(area)(1.0, scale) / scale, af.grad(area)(1.0), rtol=1e-12)
    matrix = np.diag([2.0, 3.0, 4.0, 5.0]) + 0.5

    def total(data, b):
        places = np.indices(matrix.shape).reshape(2, -1)
        a = af.scipy.sparse.csr_array((data, (*places,)), shape=matrix.shape)
        return scale * np.sum(sparse_linalg.cg(a, b, rtol=1e-9, atol=1e-7)[0])

    u = np.linalg.solve(matrix, np.ones(4))  # of ones, as b
    by_data, by_b = af.grad(total, (0, 1))(matrix.ravel(), np.ones(4))
    np.testing.assert_allclose(by_b / scale, u, rtol=1e-5)
    np.testing.assert_allclose(by_data.reshape(4, 4) / scale, -np.outer(u, u), rtol=1e-5)


def test_first_steps_and_failures_on_the_way_back_of_odeint():
    """The way back goes the other way in time: SciPy took the first step for an illegal input, and returned zeros."""
    y = lambda rate, **named: af.integrate.odeint(lambda y, t, rate: rate - y, 1.0, [0.0, 10.0], (rate,), **named)  # noqa: E731
    np.testing.assert_allclose(af.grad(lambda rate: np.sum(y(rate, h0=1e-3)))(1.0), 1 - np.exp(-10.0), rtol=1e-5)
    with pytest.raises(RuntimeError, match="on the way back: Excess work"), pytest.warns(theirs.ODEintWarning):
        y(af.Variable(1.0), mxstep=12).sum().backward()
