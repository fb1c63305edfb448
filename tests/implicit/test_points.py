"""af.implicit.root and fixed_point: solutions and their derivatives, beside closed forms, unrolled iterations and
differences; under every transform; and what is refused."""

import dataclasses

import numpy as np
import pytest
from standin import Device, put

import autoflow as af
from autoflow import backends
from autoflow.batching import looping
from autoflow.errors import BatchError, CompileError, ConvergenceError, InputError, LoopWarning, LostGradientError
from autoflow.implicit import argmin, fixed_point, linear_solve, root

RNG = np.random.default_rng(3)


def cubic(theta, **how):
    """The x with x³ + x = θ: for θ = 10 it is 2."""
    return root(lambda x, theta: x**3 + x - theta, 1.0, theta, **how)


# -- closed forms ------------------------------------------------------------------------------------------------------


def test_three_derivatives_of_a_number():
    """x' = 1 / (3x² + 1), x'' = −6x x'³, x''' = −6 x'⁴ − 18 x x'² x''."""
    first, f = 1 / 13, cubic
    for right in (2.0, first, -12 * first**3, -6 * first**4 + 36 * 12 * first**5):
        np.testing.assert_allclose(f(10.0), right, rtol=1e-13)
        f = af.grad(f)


def test_the_solution_may_be_where_the_search_begins():
    """Then it is no other array than x0, and still a result. (A start may be of a class of floats.)"""
    np.testing.assert_allclose(root(lambda x, t: x**3 + x - t, type("Metre", (float,), {})(1.0), 10.0), 2.0)
    for f, at, value, second in (
        (lambda theta: root(lambda x, theta: x**3 + x - theta, 2.0, theta), 10.0, 2.0, -12 / 13**3),
        (lambda theta: fixed_point(lambda x, theta: x / 2 + theta**2, 8.0, theta), 2.0, 8.0, 4.0),
    ):
        assert float(f(at)) == value
        np.testing.assert_allclose(af.grad(af.grad(f))(at), second, rtol=1e-13)


def test_a_solution_may_begin_at_its_parameter():
    """One array in two places, one of them fixed."""
    m = np.array([1.0, 10.0])
    m.flags.writeable = False
    x = root(lambda x, m: x**3 + x - m, m, m)
    slope = 1 / (3 * x**2 + 1)
    h = af.hessian(lambda m: np.sum(root(lambda x, m: x**3 + x - m, m, m) ** 2))(m)
    np.testing.assert_allclose(h, np.diag(2 * slope**2 - 12 * x**2 * slope**3), rtol=1e-12)


def test_a_root_of_a_root():
    """y = x(y a) + 1, where x(p) has x³ + x = p: the unknown of one equation is a parameter of the other."""
    inner = lambda p: root(lambda x, p: x**3 + x - p, 1.0, p)  # noqa: E731
    outer = lambda a: root(lambda y, a: y - inner(y * a) - 1, 1.0, a)  # noqa: E731
    y = outer(2.0)
    np.testing.assert_allclose((y - 1) ** 3 + (y - 1), 2 * y, rtol=1e-13)
    one = lambda a: root(lambda y, a: (y - 1) ** 3 + (y - 1) - a * y, 2.0, a)  # noqa: E731
    for f, g in ((outer, one), (af.grad(outer), af.grad(one)), (af.grad(af.grad(outer)), af.grad(af.grad(one)))):
        np.testing.assert_allclose(f(2.0), g(2.0), rtol=1e-11)


def test_a_linear_system():
    """a x = b: derivatives are those of np.linalg.solve."""
    a, b = RNG.normal(size=(4, 4)) + 4 * np.eye(4), RNG.normal(size=4)
    ours = lambda a, b: np.sum(root(lambda x, p: p[0] @ x - p[1], np.zeros(4), (a, b)) ** 3)  # noqa: E731
    right = lambda a, b: np.sum(np.linalg.solve(a, b) ** 3)  # noqa: E731
    for of, k, rtol in ((af.grad, 0, 1e-11), (af.grad, 1, 1e-11), (af.hessian, 1, 1e-10), (af.hessian, 0, 1e-9)):
        np.testing.assert_allclose(of(ours, k)(a, b), of(right, k)(a, b), rtol=rtol, atol=rtol / 10)


def test_keplers_equation_for_a_batch_of_parameters():
    """x − e sin x = m: dx/dm = 1 / (1 − e cos x), dx/de = sin x / (1 − e cos x), each x for its own e and m."""
    e, m = RNG.uniform(0, 0.9, (5, 3)), RNG.uniform(0, 6, (5, 3))
    f = lambda e, m: root(lambda x, p: x - p["e"] * np.sin(x) - p["m"], m, {"e": e, "m": m})  # noqa: E731
    x = f(e, m)
    np.testing.assert_allclose(x - e * np.sin(x), m, rtol=0, atol=1e-13)
    by_e, by_m = af.grad(lambda e, m: np.sum(f(e, m)), (0, 1))(e, m)
    np.testing.assert_allclose(by_m, 1 / (1 - e * np.cos(x)), rtol=1e-10)
    np.testing.assert_allclose(by_e, np.sin(x) / (1 - e * np.cos(x)), rtol=1e-10, atol=1e-12)


# -- unrolled iterations -----------------------------------------------------------------------------------------------

W, B = 0.3 * RNG.normal(size=(4, 4)), RNG.normal(size=4)


def layer(x, p):
    return np.tanh(p["w"] @ x + p["b"])


def deep(w, b, **how):
    return fixed_point(layer, np.zeros(4), {"w": w, "b": b}, **how)


def unrolled(w, b, steps=120):
    x = np.zeros(4)
    for _ in range(steps):
        x = layer(x, {"w": w, "b": b})
    return x


HOW = {
    "anderson": {}, "gmres": {"linear": "gmres"}, "many steps": {"solver": lambda f, x: unrolled(W, B)},
    "own linear": {"linear": lambda product, b: np.linalg.solve(np.stack([product(e) for e in np.eye(4)], 1), b)},
}  # fmt: skip


@pytest.mark.parametrize("how", HOW)
def test_a_fixed_point_beside_the_unrolled_iteration(how):
    if how == "gmres":
        pytest.importorskip("scipy", reason="SciPy is not installed")
    ours = lambda w, b: np.sum(deep(w, b, **HOW[how]) ** 2)  # noqa: E731
    right = lambda w, b: np.sum(unrolled(w, b) ** 2)  # noqa: E731
    np.testing.assert_allclose(deep(W, B, **HOW[how]), unrolled(W, B), rtol=1e-11)
    for one, other in zip(af.grad(ours, (0, 1))(W, B), af.grad(right, (0, 1))(W, B), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(af.hessian(ours, 1)(W, B), af.hessian(right, 1)(W, B), rtol=1e-8, atol=1e-10)


def test_a_root_beside_newtons_method_unrolled():
    """Seven steps from nearby, through which gradients flow: the first six end where the derivative no longer grows."""

    def steps(theta):
        x = np.float64(1.9)
        for _ in range(7):
            x = x - (x**3 + x - theta) / (3 * x**2 + 1)
        return x

    for f, right in ((cubic, steps), (af.grad(cubic), af.grad(steps)), (af.grad(af.grad(cubic)),) * 2):
        np.testing.assert_allclose(f(10.0), right(10.0), rtol=1e-12)


# -- problems that are drawn -------------------------------------------------------------------------------------------


def drawn(seed):
    """Equations of n unknowns with one solution: monotone in x, and every product of x and θ is in them."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    a = rng.normal(size=(n, n))
    c, d = rng.normal(size=(n, k)), 0.3 * rng.normal(size=(n, k, n))
    a = a @ a.T + (1 + np.abs(d).sum()) * np.eye(n)

    def f(x, theta):
        bent = np.sum(d * np.sin(theta)[:, None] * np.tanh(x), axis=(1, 2))
        return a @ x + 0.1 * x**3 + bent - np.cos(c @ theta)

    return f, n, rng.normal(size=k)


@pytest.mark.parametrize("seed", [*range(3), *[pytest.param(k, marks=pytest.mark.nightly) for k in range(3, 80)]])
def test_two_derivatives_of_drawn_problems(seed):
    f, n, theta = drawn(seed)
    af.gradcheck(lambda theta: root(f, np.zeros(n), theta), theta, order=2)
    slow = lambda x, theta: x - 0.1 * f(x, theta) / (1 + np.abs(f(np.ones(n), theta * 0)).sum())  # noqa: E731
    one = af.hessian(lambda theta: np.sum(np.exp(root(f, np.zeros(n), theta))))(theta)
    other = af.hessian(lambda theta: np.sum(np.exp(fixed_point(slow, np.zeros(n), theta))))(theta)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


# -- containers, shapes, dtypes ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Material:
    """Parameters as users keep them: floats, and other things than numbers."""

    stiffness: object
    load: object
    bend: object = np.sinh
    power: int = 3


def test_unknowns_and_parameters_in_containers():
    """A matrix and a number as unknowns, a dataclass as θ: the same as in one vector."""

    def f(x, p):
        return {"m": p.stiffness * x["m"] + p.bend(x["m"]) - p.load, "s": [x["s"][0] ** p.power + x["m"].sum()]}

    def flat(stiffness, load):
        x = root(f, {"m": np.zeros((2, 2)), "s": [1.0]}, Material(stiffness, load))
        assert x["m"].shape == (2, 2)
        assert x["s"][0].shape == ()
        return np.sum(x["m"] ** 2) + x["s"][0]

    load = np.array([[1.0, 2.0], [3.0, 4.0]])
    x = root(f, {"m": np.zeros((2, 2)), "s": [1.0]}, Material(2.0, load))
    np.testing.assert_allclose(2 * x["m"] + np.sinh(x["m"]), load, rtol=1e-12)
    np.testing.assert_allclose(x["s"][0], -np.cbrt(x["m"].sum()), rtol=1e-12)
    af.gradcheck(flat, 2.0, load, order=2)


def test_lists_as_scipys_users_write_them():
    f = lambda t: root(lambda x, t: [x[0] + x[1] - t, x[0] - x[1]], [1, 2], t)  # noqa: E731
    np.testing.assert_allclose(f(3.0), [1.5, 1.5], rtol=1e-15)
    assert af.jacobian(f)(3.0).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("dtype", "digits"), [(np.float32, 1e-6), (np.float16, 2e-3)])
def test_single_and_half_precision(dtype, digits):
    for x0 in (dtype(1), 1.0, 1):  # Python's numbers take the dtype of θ
        f = lambda theta, x0=x0: root(lambda x, theta: x**3 + x - theta, x0, theta)  # noqa: E731
        z, slope = f(dtype(10)), af.grad(f)(dtype(10))
        assert z.dtype == slope.dtype == dtype
        np.testing.assert_allclose([float(z), float(slope)], [2.0, 1 / 13], rtol=digits)
    x = fixed_point(lambda x, theta: np.cos(x * theta), np.zeros(2, dtype), dtype(1))
    assert x.dtype == dtype
    np.testing.assert_allclose(x.astype(float), 0.7390851332, rtol=digits)


def test_small_numbers_have_their_own_units():
    """No tolerance is meant for numbers around 1, and units do not make a system singular."""
    tiny = 1e-12
    np.testing.assert_allclose(fixed_point(lambda x, t: x / 2 + t, 0.0, tiny), 2 * tiny, rtol=1e-10)
    np.testing.assert_allclose(root(lambda x, t: tiny * (x**2 - t), 1.0, 4.0), 2.0, rtol=1e-14)
    f = lambda t: root(lambda x, t: np.array([1e-20, 1e20]) * x - t, np.zeros(2), t)  # noqa: E731
    np.testing.assert_allclose(af.jacobian(f)(np.ones(2)), np.diag([1e20, 1e-20]), rtol=1e-12)


def test_what_is_a_node_and_what_is_not():
    theta = af.Variable(10.0)
    z = cubic(theta)
    z.backward()
    np.testing.assert_allclose(theta.grad, 1 / 13, rtol=1e-14)
    assert type(cubic(10.0)) is np.ndarray
    assert isinstance(cubic(af.Constant(10.0)), af.Constant)
    with af.no_grad():
        assert isinstance(cubic(theta), af.Constant)
    x0 = af.Variable(1.0)
    root(lambda x, t: x**3 + x - t, x0, theta).backward()
    assert x0.grad is None  # where the search begins does not matter
    np.testing.assert_allclose(theta.grad, 2 / 13, rtol=1e-14)


def test_gradients_flow_to_the_floats_of_theta():
    """Other things are handed on."""
    f = lambda x, p: p["w"][p["k"]] * x**2 - p["c"]  # noqa: E731
    solve = lambda w, c: root(f, 1.0, {"w": w, "k": np.array(1), "c": c, "name": "text"})  # noqa: E731
    by_w, by_c = af.grad(solve, (0, 1))(np.array([1.0, 2.0]), 8.0)
    np.testing.assert_allclose([*by_w, by_c], [0.0, -0.5, 0.125], rtol=1e-14)  # x = √(c / w)


# -- transforms --------------------------------------------------------------------------------------------------------

THETA = np.array([10.0, 2.0])


def pair(theta):
    """Two solutions, each of both parameters."""
    return root(lambda x, t: np.stack([x[0] ** 3 + x[0] - t[0], x[1] ** 3 + x[1] * x[0] - t[1]]), np.ones(2), theta)


def pair_jacobian(theta):
    x, y = pair(theta)
    return np.linalg.inv(np.array([[3 * x**2 + 1, 0], [y, 3 * y**2 + x]]))


TRANSFORMS = {
    "jacobian": lambda: af.jacobian(pair)(THETA), "forward": lambda: af.jacobian(pair, mode="forward")(THETA),
    "jvp": lambda: np.stack([af.jvp(pair, THETA, e)[1] for e in np.eye(2)], 1),
    "linearize": lambda: np.stack([af.linearize(pair, THETA)[1](e) for e in np.eye(2)], 1),
    "vjp": lambda: np.stack([af.vjp(pair, THETA)[1](e)[0] for e in np.eye(2)]),
    "compiled": lambda: af.compile(af.jacobian(pair))(THETA),
    "compiled jvp": lambda: np.stack([af.compile(lambda t, e: af.jvp(pair, t, e)[1])(THETA, e) for e in np.eye(2)], 1),
    "checkpoint": lambda: af.jacobian(af.checkpoint(pair))(THETA),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_first_derivatives(name):
    np.testing.assert_allclose(TRANSFORMS[name](), pair_jacobian(THETA), rtol=1e-12, atol=1e-15)


def loss(theta):
    return np.sum(np.exp(pair(theta)))


SECOND = {
    "hessian": lambda: af.hessian(loss)(THETA), "hvp": lambda: np.stack([af.hvp(loss, THETA, e) for e in np.eye(2)]),
    "jacfwd of jacrev": lambda: af.jacfwd(af.jacrev(loss))(THETA),
    "compiled": lambda: af.compile(af.hessian(loss))(THETA),
    "grad of backward": lambda: np.stack([af.grad(lambda t, k=k: af.grad(loss)(t)[k])(THETA) for k in range(2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    slope, h = lambda t: np.exp(pair(t)) @ pair_jacobian(t), 1e-5
    right = np.stack([(slope(THETA + h * e) - slope(THETA - h * e)) / (2 * h) for e in np.eye(2)])
    np.testing.assert_allclose(SECOND[name](), right, rtol=1e-8)


def test_a_compiled_function_solves_anew():
    """The search is one call of the program, and sees the numbers of each call."""
    f = af.compile(af.value_and_grad(lambda theta: cubic(theta) ** 2))
    for x in (1.0, 2.0, 3.0):
        value, slope = f(np.array(x**3 + x))
        np.testing.assert_allclose([value, slope], [x**2, 2 * x / (3 * x**2 + 1)], rtol=1e-13)


@pytest.fixture
def loops():
    """A search runs for each example, which is said the first time."""
    looping.SAID.clear()
    with pytest.warns(LoopWarning, match=r"root|Solution|fixed_point"):
        yield
    looping.SAID.clear()


def test_vmap_solves_for_each_example(loops):
    thetas = np.array([[10.0, 2.0], [30.0, 1.0], [3.0, 2.5]])
    right = np.stack([pair_jacobian(t) for t in thetas])
    np.testing.assert_allclose(af.vmap(pair)(thetas), np.stack([pair(t) for t in thetas]), rtol=1e-14)
    np.testing.assert_allclose(af.vmap(af.jacobian(pair))(thetas), right, rtol=1e-12, atol=1e-15)
    by_each = np.stack([af.hessian(loss)(t) for t in thetas])
    np.testing.assert_allclose(af.vmap(af.hessian(loss))(thetas), by_each, rtol=1e-10)
    through = af.grad(lambda t: np.sum(af.vmap(loss)(t)))(thetas)
    np.testing.assert_allclose(through, np.stack([af.grad(loss)(t) for t in thetas]), rtol=1e-12)
    compiled = af.compile(af.vmap(af.jacobian(pair)))(thetas)
    np.testing.assert_allclose(compiled, right, rtol=1e-12, atol=1e-15)


def test_vmap_over_starting_points(loops):
    """Of x² = 4 they decide which root is found; θ is shared."""
    f = lambda x0, theta: root(lambda x, theta: x**2 - theta, x0, theta)  # noqa: E731
    np.testing.assert_allclose(af.vmap(f, (0, None))(np.array([1.0, -3.0]), np.array(4.0)), [2.0, -2.0], rtol=1e-14)
    slopes = af.vmap(af.grad(f, 1), (0, None))(np.array([1.0, -3.0]), np.array(4.0))
    np.testing.assert_allclose(slopes, [0.25, -0.25], rtol=1e-13)


def test_arrays_of_another_library():
    """The search is on the host, the way back where the arrays are."""
    backends.register(Device, from_numpy=put, to_numpy=Device.get)
    try:
        f = lambda t: root(lambda x, t: x**3 + x - t, put(np.ones(2)), t)  # noqa: E731
        x, slope = f(put(np.array([10.0, 2.0]))), af.grad(lambda t: np.sum(f(t)))(put(np.array([10.0, 2.0])))
        assert type(x) is type(slope) is Device
        np.testing.assert_allclose(x.get(), [2.0, 1.0], rtol=1e-14)
        np.testing.assert_allclose(slope.get(), [1 / 13, 0.25], rtol=1e-13)
    finally:
        del backends.NODE_TYPES[Device]
        backends.families_changed()


def test_modes_of_the_user_do_not_disturb_the_search():
    with af.detect_anomaly():  # trial steps may give NaN
        slope = af.grad(lambda t: root(lambda x, t: np.where(x > 0, np.log(np.abs(x)), np.nan) - t, 0.1, t))(3.0)
    np.testing.assert_allclose(slope, np.exp(3.0), rtol=1e-12)
    with af.options(strict=True):
        np.testing.assert_allclose(af.grad(cubic)(10.0), 1 / 13, rtol=1e-13)
    with af.autocast():
        np.testing.assert_allclose(cubic(10.0), 2.0, rtol=1e-14)
    seen = []
    with af.on_operation(lambda node: seen.append(node.opmethod)):
        cubic(af.Variable(10.0))
    assert seen == ["Solution", "reshape"]


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [None, lambda f, x: x, lambda f, x: x + 1e-3])
@pytest.mark.parametrize("unit", [1e-8, 1e-12, 1e-100])
def test_small_values_are_no_solution(solver, unit):
    """A residual below the tolerance counts only where there is a root: F may be as small everywhere."""
    with pytest.raises(ConvergenceError, match=r"did not converge: the largest residual is \S+e-\d+, the tolerance"):
        root(lambda x, t: unit * (x**2 + t), 1.0, 1.0, solver=solver)
    with pytest.raises(ConvergenceError, match=r"did not converge"):
        root(lambda x, t: unit * np.stack([x[0] + x[1], x[0] + x[1] - t]), np.zeros(2), 1.0, solver=solver)
    with pytest.raises(ConvergenceError, match=r"did not converge"):
        argmin(lambda x, t: unit * t * x, 1.0, 1.0, solver=solver or (lambda f, x: x - 1))
    shifted = lambda x, t: unit * (x**2 - t) + 0.1 * unit  # noqa: E731
    exact = root(shifted, np.sqrt(0.9) + 1e-15, 1.0, solver=solver and (lambda f, x: x))
    np.testing.assert_allclose(exact, np.sqrt(0.9), rtol=1e-14)


def test_too_few_steps_are_enough_for_a_large_tolerance_and_a_singular_system_has_solutions():
    assert issubclass(ConvergenceError, RuntimeError)
    x = fixed_point(lambda x, t: np.cos(x), 1.0, 1.0, maxiter=2, tol=0.5)
    assert abs(float(x) - 0.739) < 0.5
    np.testing.assert_allclose(np.sum(parallel(3.0)), 3.0, rtol=1e-14)


def parallel(t):
    """Two equations that say the same, and one of their solutions."""
    return root(lambda x, t: np.stack([x[0] + x[1] - t, 2 * x[0] + 2 * x[1] - 2 * t]), np.zeros(2), t)


X = np.ones(2)
REFUSED = {
    "a shape": (lambda: root(lambda x, t: x[:1], X, 1.0), InputError, r"returns has shape \(1,\) where x0 has \(2,\)"),
    "an axis": (lambda: root(lambda x, t: x[None], 1.0, 1.0), InputError, r"shape \(1,\) where x0 has \(\)"),
    "a map": (lambda: fixed_point(lambda x, t: x[:1], X, 1.0), InputError, r"fixed_point returns has shape"),
    "a container": (lambda: root(lambda x, t: x["a"], {"a": 1.0}, 1.0), InputError, r"parts \['it'\], but x0 has"),
    "complex": (lambda: root(lambda x, t: x, 1j, 1.0), TypeError, r"x0 is complex: the unknowns are real"),
    "complex array": (lambda: root(lambda x, t: x, X * 1j, 1.0), TypeError, r"x0 is complex128"),
    "text": (lambda: root(lambda x, t: x, ["a"], 1.0), TypeError, r"x0\[0\] is str"),
    "nothing": (lambda: root(lambda x, t: x, np.zeros(0), 1.0), InputError, r"no elements"),
    "text returned": (lambda: root(lambda x, t: "x", 1.0, 1.0), TypeError, r"what f of \S+ returns is <U1: .* real"),
    "complex returned": (lambda: root(lambda x, t: x * 1j, 1.0, 1.0), TypeError, r"is complex128: it has to be real"),
    "complex parameter": (lambda: root(lambda x, t: x, 1.0, af.Variable(1j)), TypeError, r"give its real and"),
    "linear": (lambda: root(lambda x, t: x, 1.0, 1.0, linear="lu"), ValueError, r"'dense', 'cg', .* not by 'lu'"),
    "no solution": (
        lambda: root(lambda x, t: x**2 + t, 1.0, 1.0), ConvergenceError,
        r"af.implicit.root did not converge: the largest residual is 1, the tolerance 2.98e-08 \(at the start it was "
        r"2\)\. The solver said: After \d+ steps of Newton's method no step .* larger tol",
    ),
    "too few steps": (lambda: root(lambda x, t: np.exp(x) - t, -3.0, 1000.0, maxiter=2), ConvergenceError,
                      r"residual is 95.9, the tolerance 1.49e-05 .* has made 2 steps"),
    "too few iterations": (lambda: fixed_point(lambda x, t: np.cos(x), 1.0, 1.0, maxiter=2), ConvergenceError,
                           r"fixed_point did not .* residual is 0.317, .* has made 2 steps"),
    "running away": (lambda: fixed_point(lambda x, t: np.exp(x) + t, 1.0, 10.0, maxiter=50), ConvergenceError,
                     r"fixed_point did not converge"),
    "NaN": (lambda: root(lambda x, t: x * np.nan - t, 1.0, 1.0), ConvergenceError, r"residual is nan.*not finite"),
    "the same twice": (lambda: af.grad(lambda t: parallel(t)[0])(3.0), np.linalg.LinAlgError,
                       r"derivative of af.implicit.root: .* 2 × 2, is singular .* twice"),
    "all are fixed": (lambda: af.grad(lambda t: fixed_point(lambda x, t: x + t * 0, 1.0, t))(1.0),
                      np.linalg.LinAlgError, r"fixed_point: the matrix .* is singular"),
    "a double root": (lambda: af.grad(lambda t: root(lambda x, t: t * x**2, 0.0, t))(1.0), np.linalg.LinAlgError,
                      r"1 × 1, is singular"),
    "no graph": (lambda: root(lambda x, t: np.array(x.tolist()) ** 3 - t, X, 8.0), LostGradientError,
                 r"depends on none of the arguments"),  # its derivative by x would be zero
    "a solver's shape": (lambda: solved(solver=lambda f, x: x[:1]), InputError, r"solver returned has shape \(1,\)"),
    "a linear solver's shape": (
        lambda: af.grad(lambda t: np.sum(solved(t, linear=lambda multiply, b: b[:1])))(1.0), InputError,
        r"returned shape \(1,\) for a system of shape \(2,\)",
    ),
}  # fmt: skip


def solved(theta=1.0, **how):
    return root(lambda x, t: x - t, X, theta, **how)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


def test_nodes_that_are_no_arguments():
    w = af.Variable(2.0)
    for call in (root, lambda f, x0, t: fixed_point(lambda x, t: x - 0.5 * f(x, t), x0, t)):
        with pytest.raises(LostGradientError, match=r"node that is not one of its arguments .* pass it in theta"):
            call(lambda x, t: x - w, 1.0, 1.0)
        with pytest.raises(LostGradientError, match=r"not one of its arguments"):
            af.grad(lambda w, call=call: call(lambda x, t: x - w * t, 1.0, 1.0))(2.0)
        with pytest.raises(LostGradientError, match=r"not one of its arguments"):
            call(lambda x, t: x - t if x < 0.5 else x - w * t / 2, 0.1, 1.0)  # not where the search begins
        with af.no_grad():
            np.testing.assert_allclose(call(lambda x, t: x - w, 1.0, 1.0), 2.0, rtol=1e-9)


NUMBERS_OF_THETA = {
    "all": np.asarray, "part": lambda t: np.asarray(t) + t, "element": lambda t: t + np.full(3, t[0]),
}  # fmt: skip
POINTS = {
    "linear_solve": lambda take, t: linear_solve(lambda x, t: (2.0 + take(t)) * x, np.ones(3), t),
    "root": lambda take, t: root(lambda x, t: x**3 + x - take(t), np.zeros(3), t),
    "fixed_point": lambda take, t: fixed_point(lambda x, t: 0.5 * np.cos(x) + 0.1 * take(t), np.zeros(3), t),
    "argmin": lambda take, t: argmin(lambda x, t: np.sum((x - take(t)) ** 2), np.zeros(3), t),
}


@pytest.mark.parametrize("way", ["backward", "grad", "jvp"])
@pytest.mark.parametrize("take", NUMBERS_OF_THETA)
@pytest.mark.parametrize("point", POINTS)
def test_numbers_of_theta_that_are_read_past_us(point, take, way):
    """The derivative by θ would be too small, or zero."""

    def loss(t):
        return np.sum(POINTS[point](NUMBERS_OF_THETA[take], t)) + np.sum(t)

    t = np.array([0.6, 1.5, 0.4])
    af.grad(lambda t: np.sum(POINTS[point](lambda t: t, t)))(t)  # what is proved of another equation does not count
    ways = {"backward": lambda: loss(af.Variable(t)).backward(), "grad": lambda: af.grad(loss)(t)}
    with pytest.raises(LostGradientError):
        (ways | {"jvp": lambda: af.jvp(loss, (t,), (t,))})[way]()


def test_arrays_of_a_batch_and_of_a_program_that_are_no_arguments():
    f = lambda w, t: root(lambda x, t: x - w * t, 1.0, t)  # noqa: E731
    looping.SAID.clear()
    with pytest.raises(BatchError, match=r"root, which has no batched form for this call"):
        af.vmap(f, loop="refuse")(np.ones(2), np.ones(2))
    with pytest.warns(LoopWarning):
        np.testing.assert_array_equal(af.vmap(f)(np.ones(2), np.ones(2)), [f(1.0, 1.0)] * 2)
    with pytest.raises(CompileError, match=r"pass it in theta"):
        af.compile(f)(np.ones(()), np.ones(()))
