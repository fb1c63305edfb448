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
