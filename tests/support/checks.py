"""Values and derivatives of any function, compared with NumPy's and with differences."""

import numpy as np
from support import assert_close, central, same_bits

import autoflow as af


def differences(work, h=1e-5):
    """The gradients by central differences, from the forward function alone."""
    found = []
    for k, parameter in enumerate(work.parameters):
        g = np.empty_like(parameter)
        for i in np.ndindex(parameter.shape):
            ends = []
            for step in (h, -h):
                moved = [p.copy() for p in work.parameters]
                moved[k][i] += step
                ends.append(work.forward(np, *work.data, *moved))
            g[i] = (ends[0] - ends[1]) / (2 * h)
        found.append(g)
    return found


def check(f, *xs, rtol=1e-7):
    """Values of f on nodes are NumPy's to the bit; first and second derivatives are those of differences."""
    leaves = [af.Variable(x) for x in xs]
    z = f(*leaves)
    assert isinstance(z, af.Operation)
    assert same_bits(z.value, f(*xs))
    w = np.cos(np.arange(z.size)).reshape(z.shape)

    def slope(xs, create_graph=False):
        leaves = [af.Variable(x) for x in xs]
        z = f(*leaves)
        (w * z * z).sum().backward(create_graph=create_graph)
        grads = [x.grad for x in leaves]
        for x in leaves:
            x.zero_grad()
        return leaves, grads

    leaves, grads = slope(xs, create_graph=True)
    for k, g in enumerate(grads):
        assert_close(g.value, central(lambda ys: np.sum(w * f(*ys) ** 2), xs, k), rtol, f"first, operand {k}")
    directions = [np.sin(1.0 + np.arange(x.size)).reshape(x.shape) for x in xs]

    def along(grads):
        return sum([np.sum(d * g) for d, g in zip(directions, grads, strict=True)])

    along(grads).backward()
    for k, x in enumerate(leaves):
        numeric = central(lambda ys: float(along(slope(ys)[1])), xs, k)
        assert_close(x.grad, numeric, 10 * rtol, f"second, operand {k}")


def gradients(f, *variables):
    """Those of ``f()``, a node, alone."""
    for v in variables:
        v.zero_grad()
    f().backward()
    return [v.grad.copy() for v in variables]


def same(a, b):
    """Raise AssertionError if two lists of arrays differ."""
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def numbers(shape, start=1):
    """All different, none of them 0, in no order."""
    n = int(np.prod(shape))
    return np.random.default_rng(n).permutation(np.arange(start, start + n)).reshape(shape) * 0.37 - 0.11


def weights(shape):
    """What flows into a result."""
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape)
