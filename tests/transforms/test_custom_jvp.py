"""custom_jvp: one rule in forward mode serves all transforms; what the rule must keep to is checked."""

import functools
import math

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import GradientShapeError, LoopWarning, LostGradientError, NoRuleError

X, Y = np.array([0.3, -0.7, 1.1]), np.array([2.0, 0.5, -1.5])


def in_python(x):
    """The sine, past autoflow: only a rule can differentiate it."""
    return np.vectorize(math.sin, otypes=[np.result_type(x, np.float32)])(x)


def ruled(sine=in_python):
    """sin(x) y, with a rule."""

    @af.custom_jvp
    def f(x, y=2.0):
        """A docstring."""
        return sine(x) * y

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), np.cos(x) * dx * y + np.sin(x) * dy

    return f


def plain(x, y=2.0):
    return np.sin(x) * y


def test_the_function_is_as_it_was():
    f = ruled()
    assert (f.__name__, f.__doc__, repr(f)) == ("f", "A docstring.", "custom_jvp(f)")
    z = f(X, Y)
    assert type(z) is np.ndarray
    np.testing.assert_allclose(z, plain(X, Y), rtol=1e-15)
    z = f(af.Variable(X), Y)
    assert z.opmethod == "f"
    assert z.requires_grad
    with af.no_grad():
        assert not f(af.Variable(X), Y).requires_grad


@pytest.mark.parametrize("transform", [
    lambda f: af.grad(lambda x, y: np.sum(f(x, y)), (0, 1))(X, Y), lambda f: af.jacobian(f, (0, 1))(X, Y),
    lambda f: af.jacfwd(f)(X, Y), lambda f: af.jvp(f, (X, Y), (Y, X)), lambda f: af.linearize(f, X, Y)[1](Y, X),
    lambda f: af.vjp(f, X, Y)[1](Y), lambda f: af.hvp(lambda x, y: np.sum(f(x, y) ** 2), (X, Y), (Y, X)),
    lambda f: af.hessian(lambda p: np.sum(f(p[:3], p[3:])))(np.concatenate([X, Y])),
    lambda f: af.jvp(lambda x: af.jvp(lambda x: f(x, Y), x, Y)[1], X, X),
    lambda f: af.jvp(lambda x: af.grad(lambda x: np.sum(f(x, x)))(x), X, Y),
    lambda f: af.grad(lambda x: af.jvp(lambda x: f(x, x), x, 3.0)[1])(0.4),
    lambda f: af.grad(af.grad(af.grad(af.grad(f))))(0.4, 3.0),
    lambda f: af.grad(f)(0.4),  # with the default of y
    lambda f: af.grad(f, "y")(x=0.4, y=3.0), lambda f: af.grad(lambda x: f(f(x)))(0.4), lambda f: af.grad(f)(2),
])  # fmt: skip
def test_every_transform_as_of_the_function_written_out(transform):
    """Values, tangents, gradients, up to four derivatives."""
    found, expected = transform(ruled()), transform(plain)
    for a, b in zip(af.tree_leaves(found), af.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("transform", [
    lambda f: af.vmap(af.grad(f, (0, 1)))(X, Y), lambda f: af.vmap(f, (0, None))(X, 2.0),
    lambda f: af.vmap(af.grad(af.grad(f)))(X, Y),
    lambda f: [af.compile(af.grad(lambda x: np.sum(f(x, x) ** 2)))(x) for x in (X, Y)],
    lambda f: af.compile(lambda x: af.hvp(lambda x: np.sum(f(x, x) ** 2), x, Y))(X),
])  # fmt: skip
def test_batched_and_compiled(transform):
    for a, b in zip(*[af.tree_leaves(transform(f)) for f in (ruled(np.sin), plain)], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_a_loop_over_the_examples_says_so():
    f = ruled(np.sin)
    with pytest.warns(LoopWarning, match="f.apply"):
        slope = af.grad(lambda y: np.sum(af.vmap(lambda x: f(x, y))(X)))(2.0)
    np.testing.assert_allclose(slope, np.sum(np.sin(X)))


def test_a_rule_may_say_something_else():
    """A gradient that is clipped: the point of such rules."""

    @af.custom_jvp
    def clipped(x):
        return x

    clipped.defjvp(lambda primals, tangents: (primals[0], np.where(np.abs(primals[0]) < 1, tangents[0], 0)))
    np.testing.assert_array_equal(af.grad(lambda x: np.sum(clipped(x) * 3))(X), [3.0, 3.0, 0.0])
    clipped.defjvp(lambda primals, tangents: (primals[0], 0 * tangents[0]))
    np.testing.assert_array_equal(af.grad(lambda x: np.sum(clipped(x)))(X), np.zeros(3))
    clipped.defjvps(None)
    np.testing.assert_array_equal(af.grad(lambda x: np.sum(clipped(x)))(X), np.zeros(3))


def test_containers_settings_and_several_results():
    @functools.partial(af.custom_jvp, nondiff_argnums=(0, -1))
    def model(activation, p, mode):
        assert mode == "fast"
        return {"hidden": activation(p["w"]), "rest": (p["b"] ** 2, 7.0)}

    @model.defjvp
    def rule(activation, mode, primals, tangents):
        (p,), (t,) = primals, tangents
        assert t["name"] is None
        slope = 1 - np.tanh(p["w"]) ** 2
        return model(activation, p, mode), {"hidden": t["w"] * slope, "rest": (2 * p["b"] * t["b"], 0.0)}

    def loss(p, model):
        z = model(np.tanh, p, "fast")
        return np.sum(z["hidden"] ** 2) * z["rest"][0] + z["rest"][1]

    p = {"w": X, "b": 1.5, "name": "net"}
    for transform in (af.grad, lambda f: lambda p, m: af.hvp(lambda p: f(p, m), p, {"w": Y, "b": 1.0, "name": None})):
        found, expected = transform(loss)(p, model), transform(loss)(p, model.f)
        for key in ("w", "b"):
            np.testing.assert_allclose(found[key], expected[key], rtol=1e-12)
    assert af.grad(lambda p: model(np.tanh, p, "fast")["rest"][0])(p)["b"] == 3.0  # one result alone
    assert af.grad(lambda p: model(np.tanh, p, "fast")["rest"][1] + p["b"])(p)["b"] == 1.0


def test_methods_and_integers():
    class Scaled:
        factor = 3.0

        @af.custom_jvp
        def of(self, x, n):
            return self.factor * x**n

        @of.defjvp
        def of_jvp(primals, tangents):
            (self, x, n), (none, t, zero) = primals, tangents
            assert none is None
            assert zero == 0.0
            return self.of(x, n), self.factor * n * x ** (n - 1) * t

    assert af.grad(Scaled().of)(2.0, 3) == 36.0
    assert af.grad(af.grad(Scaled().of))(2.0, 3) == 36.0
    assert isinstance(Scaled.of, af.custom_jvp)


def test_dtypes():
    f = ruled()
    x = af.Variable(X.astype(np.float32))
    z = f(x, np.float32(2.0))
    z.sum().backward()
    assert z.dtype == x.grad.dtype == np.float32
    np.testing.assert_allclose(x.grad, 2 * np.cos(X), rtol=1e-6)

    @af.custom_jvp
    def square(z):
        return z * z

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
    assert af.grad(square, holomorphic=True)(1 + 2j) == 2 + 4j
    g = af.grad(lambda z: np.abs(square(z)))(1 + 2j)
    np.testing.assert_allclose(g, af.grad(lambda z: np.abs(z * z))(1 + 2j), rtol=1e-12)


def test_strict_and_anomaly_mode():
    f = ruled()
    with af.options(strict=True):
        np.testing.assert_allclose(af.grad(af.grad(f))(0.3), -2 * np.sin(0.3))
    with af.detect_anomaly():
        np.testing.assert_allclose(af.grad(f)(0.3), 2 * np.cos(0.3))


@pytest.mark.parametrize(("kind", "message", "rule"), [
    (TypeError, "is not linear in the tangents.*moves by 1 where its derivative says 2",
     lambda p, t: (p[0] ** 2, t[0] ** 2)),
    (TypeError, "is not linear in the tangents", lambda p, t: (p[0] ** 2, 6.0 * t[0] + 1.0)),
    (TypeError, "parts of it are not recorded", lambda p, t: (p[0] ** 2, 3.0 * t[0] + 3.0 * t[0].value)),
    (LostGradientError, "the rule of f returns is not zero", lambda p, t: (p[0] ** 2, 6.0 * t[0].value)),
    (GradientShapeError, r"tangents of shapes \[\(2,\)\] for values of shapes \[\(\)\]",
     lambda p, t: (p[0] ** 2, t[0] * np.ones(2))),
    (GradientShapeError, "one for each result", lambda p, t: ((p[0], p[0]), (t[0], t[0]))),
    (TypeError, "returns a pair: the value, and its tangent", lambda p, t: t[0]),
])  # fmt: skip
def test_a_rule_that_cannot_be_right(kind, message, rule):
    f = af.custom_jvp(lambda x: x**2)
    f._function.__name__ = f.f.__name__ = "f"
    f.defjvp(rule)
    with pytest.raises(kind, match=message):
        af.grad(f)(3.0)


def with_rules(f, *rules, **how):
    f = af.custom_jvp(f, **how)
    f.defjvps(*rules)
    return f


def test_bad_calls():
    in_c = with_rules(max, lambda t, z, x, y: t, None)
    assert in_c(1.0, 2.0) == 2.0
    for call, error, words in (
        (lambda: af.custom_jvp(plain)(1.0), NoRuleError, r"plain has no rule for its derivative yet: .* under @f\.def"),
        (lambda: ruled()(1.0, 2.0, 3.0), TypeError, "f: too many positional arguments"),
        (lambda: af.custom_jvp(3), TypeError, "custom_jvp takes a function, not int"),
        (lambda: with_rules(lambda x, *, y=1.0: x, lambda t, z, x: t)(1.0), TypeError, "no keyword-only arguments"),
        (
            lambda: with_rules(lambda x: x, nondiff_argnums=(3,))(1.0),
            TypeError,
            "without the argument 3 of nondiff_argn",
        ),
        (lambda: in_c(1.0, 2.0, key=abs), TypeError, "max: Python cannot tell its arguments, so give them by position"),
    ):
        with pytest.raises(error, match=words):
            call()
