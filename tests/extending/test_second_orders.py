"""Second derivatives through rules of the user: right, or an error."""

import numpy as np
import pytest
from user_functions import function

import autoflow as af
from autoflow.errors import LostGradientError


def test_derivatives_that_keep_g_or_are_zero_are_not_refused():
    f = af.primitive(lambda x: np.floor(x)).defvjp(x=lambda g: np.zeros(g.shape))
    assert af.grad(lambda x: np.sum(af.grad(lambda x: np.sum(np.sin(f(x)) * x))(x)))(np.array([1.5])) == 0.0


KEPT = {  # what forward keeps of an array in an attribute
    "an array": lambda ctx, y: y, "an array in a dict": lambda ctx, y: {"cache": [y, 3]},
    "a number of NumPy's": lambda ctx, y: y.sum(),
    "a constant": lambda ctx, y: ctx.mark_constant(c := 0 * y + 2.0) or c,
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("shape", [(3,), ()])
def test_what_forward_keeps_in_an_attribute_is_no_constant_when_differentiated_again(name, shape):
    def forward(ctx, x, other):
        ctx.y = KEPT[name](ctx, np.exp(x))
        ctx.shape, ctx.words, ctx.other = x.shape, "words", other
        return np.exp(x)

    def backward(ctx, g):
        y = ctx.y["cache"][0] if isinstance(ctx.y, dict) else ctx.y
        return g * y * ctx.other, None

    kept = function(forward, backward)
    x, other = np.full(shape, 0.3), np.full(shape, 2.0)
    h = lambda x: np.sum(kept.apply(x, other) * 1.0)  # noqa: E731
    first = af.grad(h)(x)
    assert np.all(first > 0)
    second = af.grad(lambda x: np.sum(x * af.grad(h)(x)))
    if name == "a constant":
        np.testing.assert_array_equal(second(x), 4.0)
    else:
        with pytest.raises(LostGradientError, match=r"ctx\.y, .* ctx\.mark_constant"):
            second(x)
    v = af.Variable(x)
    h(v).backward(create_graph=True)  # the first derivative may be recorded as often as one likes
    np.testing.assert_array_equal(v.grad.value, first)


def test_a_result_that_forward_was_given_moves_with_the_arguments_when_differentiated_again():
    """A value that is known already, such as that of a solver: forward saves it, and returns it."""

    exp = function(lambda ctx, x, y: ctx.save_for_backward(y) or y, lambda ctx, g: (g * ctx.saved_tensors[0], None))
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(np.diagonal(af.hessian(lambda x: np.sum(exp.apply(x, np.exp(x.value))))(x)), np.exp(x))
