"""Each way in which a user gives a gradient: text is refused, and complex numbers for a real value, whose half would be
lost. Where the value is complex, complex numbers are right, and a real operand is sent the real part."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import DataError, SeedError


def f(x):
    return x * 2.0


def seeded(x, g, **how):
    f(x).backward(g, **how)
    return x.grad


def hooked(x, g):
    x.register_hook(lambda _: g)
    return seeded(x, None if x.dtype.kind != "c" else np.ones(2))


def hooked_operation(x, g):
    y = f(x)
    y.register_hook(lambda _: g)
    y.backward(np.ones(2))


def by_primitive(x, g):
    af.primitive(lambda x: x * 2.0).defvjp(x=lambda _: g)(x).backward(np.ones(2))


def by_function(x, g):
    class Own(af.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, _):
            return (g,)

    Own.apply(x).backward(np.ones(2))


def by_grad_fn(x, g):
    y = np.negative(x)
    y.grad_fn = lambda _: (g,)
    y.backward(np.ones(2))


WAYS = {
    "backward": seeded, "create_graph": lambda x, g: seeded(x, g, create_graph=True),
    "a node": lambda x, g: seeded(x, af.Constant(g) if np.asarray(g).dtype.kind in "fc" else g, create_graph=True),
    "gradients": lambda x, g: af.gradients(f(x), [x], seed=g),
    "grad =": lambda x, g: setattr(x, "grad", g), "grad = of an operation": lambda x, g: setattr(f(x), "grad", g),
    "replace": lambda x, g: af.gradients(f(x), [x], seed=np.ones(2)).replace(x, g),
    "record": lambda x, g: f(x).grad_fn(g), "vjp": lambda x, g: af.vjp(f, x.value)[1](g),
    "jvp": lambda x, g: af.jvp(f, x.value, np.asarray(g)),  # lists are containers here, and in the next two
    "linearize": lambda x, g: af.linearize(f, x.value)[1](np.asarray(g)),
    "hvp": lambda x, g: af.hvp(lambda x: np.sum(np.abs(x) ** 2), x.value, np.asarray(g)),
    "transpose": lambda x, g: af.linear_transpose(f, x.value)(g), "hook": hooked,
    "hook of an operation": hooked_operation, "primitive": by_primitive, "Function": by_function, "grad_fn": by_grad_fn,
}  # fmt: skip
LOST, NO_NUMBERS = "is complex, but .* is float64: if its real part is meant", "it needs one number per element of"
WRONG = {
    "complex": (np.array([1 + 2j, 3.0]), LOST), "complex list": ([1 + 2j, 3.0], LOST),
    "complex zeros": (np.zeros(2, complex), LOST), "text": (np.array(["1", "2"]), NO_NUMBERS),
    "texts": (["1", "2"], NO_NUMBERS), "objects": (np.array([1.0, 2.0], object), NO_NUMBERS),
    "dates": (np.array(["2020-01-01", "2020-01-02"], "M8[D]"), NO_NUMBERS),
    "bytes": (np.array([b"1", b"2"]), NO_NUMBERS),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", WRONG)
def test_what_is_no_number_and_complex_for_a_real_value_are_errors(way, given):
    x, (g, words) = af.Variable([1.0, 2.0]), WRONG[given]
    with pytest.raises((DataError, SeedError), match=words):
        WAYS[way](x, g)
    assert x.grad is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "g", [np.array([1 + 2j, 3.0]), np.ones(2), np.ones(2, np.float32), np.ones(2, int), [1, 2], [True, False]]
)
def test_numbers_that_fit_are_taken(way, g):
    WAYS[way](af.Variable([1.0, 2.0] if np.asarray(g).dtype.kind != "c" else [1.0 + 1j, 2.0]), g)


@pytest.mark.parametrize("way", ["primitive", "Function"])
def test_a_real_operand_of_a_complex_result_is_sent_the_real_part(way):
    own = af.primitive(lambda x: x * 2j)
    own.defvjp(x=lambda g: g * 2j)
    x = af.Variable([1.0, 2.0])
    np.sum(np.imag(own(x))).backward()
    np.testing.assert_array_equal(x.grad, [2.0, 2.0])


def test_a_node_of_another_shape_is_no_gradient():
    x = af.Variable([1.0, 2.0])
    with pytest.raises(af.errors.GradientShapeError, match=r"has its shape \(2,\); this one has \(3,\)"):
        x.grad = af.Constant(np.ones(3))
