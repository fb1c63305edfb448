"""A user's function that gets plain arrays, and reads numbers of nodes that it captures: each way of reading, each way
of capturing, each kind of function."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError

V = np.array([0.6, 1.5])
PAST_US = {
    "np.asarray(v)": np.asarray,
    "np.array([v, v])": lambda v: np.array([v, v])[0],
    "np.full": lambda v: np.full(2, v[0]),
    "np.ma": lambda v: np.asarray(np.ma.array(v)),
    "np.ndenumerate": lambda v: np.array([e for _, e in np.ndenumerate(v)]),
    "rng.permutation": lambda v: np.random.default_rng(0).permutation(v),
}
ON_PURPOSE = {
    "v.value": lambda v: v.value, "float(v)": lambda v: float(v[0]), "v.item()": lambda v: v[0].item(),
    "v.shape": lambda v: float(len(v.shape)),
}  # fmt: skip


def by_closure(read, v):
    return lambda x: x * read(v)


def by_list(read, v):
    held = [{"v": v}]
    return lambda x: x * read(held[0]["v"])


def by_helper(read, v):
    def helper():
        return read(v)

    return lambda x: x * helper()


def by_global(read, v):
    return eval("lambda x: x * read(v)", {"__name__": "users", "read": read, "v": v})


def of_function(f, v):
    class Captures(af.Function):
        @staticmethod
        def forward(ctx, x):
            return f(x)

        @staticmethod
        def backward(ctx, g):
            return g * v.value

    return Captures.apply


def of_primitive(f, v):
    return af.primitive(f).defvjp(x=lambda g: g * v.value)


@pytest.mark.parametrize("kind", [of_function, of_primitive])
@pytest.mark.parametrize("capture", [by_closure, by_list, by_helper, by_global])
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
