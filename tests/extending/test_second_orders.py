"""Second derivatives through rules of the user: right, or an error."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError


@pytest.mark.parametrize("leave", [lambda g: g.value, np.asarray, lambda g: g.detach(), af.stop_gradient])
@pytest.mark.parametrize("kind", ["primitive", "Function", "register_rule"])
def test_a_derivative_in_which_g_loses_its_history_is_noticed_when_differentiated_again(leave, kind):
    """In sin(f(x)) the gradient that reaches f depends on x: without its history the second derivative lacks a term."""

    class Double(af.Function):
        @staticmethod
        def forward(ctx, x):
            return 2.0 * x

        @staticmethod
        def backward(ctx, g):
            return 2.0 * (leave(g) if isinstance(g, af.Node) else g)

    def double(x):
        return 2.0 * x

    def derivative(g):
        return 2.0 * (leave(g) if isinstance(g, af.Node) else g)

    if kind == "Function":
        f = Double.apply
    elif kind == "primitive":
        f = af.primitive(double).defvjp(x=lambda g: derivative(g))
    else:
        f = af.register_rule(double, x=lambda g: derivative(g))
    x = np.array([0.3, 0.4])
    h = lambda x: np.sum(np.sin(f(x)))  # noqa: E731
    np.testing.assert_allclose(af.grad(h)(x), 2.0 * np.cos(2.0 * x))  # first derivatives are right
    with pytest.raises(LostGradientError, match="lost the history of g"):
        af.grad(lambda x: np.sum(af.grad(h)(x)))(x)


def test_derivatives_that_keep_g_or_are_zero_are_not_refused():
    def step(x):
        return np.floor(x)

    f = af.primitive(step).defvjp(x=lambda g: np.zeros(g.shape))
    assert af.grad(lambda x: np.sum(af.grad(lambda x: np.sum(np.sin(f(x)) * x))(x)))(np.array([1.5])) == 0.0


def keep_array(ctx, y):
    ctx.y = y


def keep_in_a_dict(ctx, y):
    ctx.y = {"cache": [y, 3]}


def keep_a_number_of_numpy(ctx, y):
    ctx.y = y.sum()


def keep_a_constant(ctx, y):
    ctx.y = np.full_like(y, 2.0)
    ctx.mark_constant(ctx.y)


KEPT = {f.__name__: f for f in (keep_array, keep_in_a_dict, keep_a_number_of_numpy, keep_a_constant)}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("shape", [(3,), ()])
def test_what_forward_keeps_in_an_attribute_is_no_constant_when_differentiated_again(name, shape):
    class Kept(af.Function):
        @staticmethod
        def forward(ctx, x, other):
            KEPT[name](ctx, np.exp(x))
            ctx.shape, ctx.words, ctx.other = x.shape, "words", other
            return np.exp(x)

        @staticmethod
        def backward(ctx, g):
            y = ctx.y["cache"][0] if isinstance(ctx.y, dict) else ctx.y
            return g * y * ctx.other, None

    x, other = np.full(shape, 0.3), np.full(shape, 2.0)
    h = lambda x: np.sum(Kept.apply(x, other) * 1.0)  # noqa: E731
    first = af.grad(h)(x)
    assert np.all(first > 0)
    second = af.grad(lambda x: np.sum(x * af.grad(h)(x)))
    if name == "keep_a_constant":
        np.testing.assert_array_equal(second(x), 4.0)
    else:
        with pytest.raises(LostGradientError, match=r"ctx\.y, .* ctx\.mark_constant"):
            second(x)
    v = af.Variable(x)
    h(v).backward(create_graph=True)  # the first derivative may be recorded as often as one likes
    np.testing.assert_array_equal(v.grad.value, first)


def test_a_result_that_forward_was_given_moves_with_the_arguments_when_differentiated_again():
    """A value that is known already, such as that of a solver: forward saves it, and returns it."""

    class Exp(af.Function):
        @staticmethod
        def forward(ctx, x, known):
            ctx.save_for_backward(known)
            return known

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(np.diagonal(af.hessian(lambda x: np.sum(Exp.apply(x, np.exp(x.value))))(x)), np.exp(x))
