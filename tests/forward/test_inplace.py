"""Programs that write into arrays: NumPy's values and the true gradient, or a loud error (design: in place)."""

import numpy as np
import pytest
from support import central

import autoflow as af
from autoflow.errors import InPlaceError, LostGradientError, StaleValueError

X = np.array([0.3, -0.7, 1.1, 0.4])
W = np.array([[0.2, -0.3, 0.5, 0.1], [0.4, 0.6, -0.2, 0.3], [-0.1, 0.2, 0.7, -0.4], [0.3, 0.1, -0.6, 0.2]])


def scalar_recurrence(x, w):
    out = np.zeros_like(x)
    out[0] = x[0]
    for i in range(1, 4):
        out[i] = out[i - 1] * out[i - 1] + np.exp(x[i]) * w[0, i]
    return out


def wraps_around(x, w):
    h = np.zeros_like(w)
    for t in range(4):
        h[t] = np.tanh(h[t - 1] @ w + x)  # at t = 0 this is h[3], which is overwritten at the end
    return h


def flux_stencil(x, w):
    u = np.sin(x) * 1.0
    for _ in range(3):
        flux = 0.1 * (u[1:] - u[:-1])
        u[:-1] += flux
        u[1:] -= flux
    return u


def heat_2d(x, w):
    u = w * 2.0
    for _ in range(2):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def scaled_by_node(x, w):
    y = np.tanh(x)  # tanh's derivative reads its own result
    y *= w[0]
    y /= np.exp(w[1])
    y -= w[2]
    y **= 2
    return y


def by_itself(x, w):
    a = x + w[0]
    a *= a
    a += a
    a *= a[::-1]
    return a


def two_names(x, w):
    a = x * 2
    b = a
    c = a + w[0]  # needs no value of a
    a *= 3
    return b * c * a


def overwritten(x, w):
    a = x * w[0]
    a[1:3] = w[1, :2]
    a[0] = 7.0
    return a * x


def broadcast_into(x, w):
    a = w * x
    a[...] = a[0] * 2
    a[:, 1] = x
    return np.sin(a)


def ufunc_out(x, w):
    a, sums = x * 2, np.zeros_like(x)
    np.add(x, w[0], out=a)
    np.tanh(a, out=a)
    np.sum(w * x, axis=0, out=sums)
    return a * sums


def plain_accumulator(x, w):
    acc = np.zeros(4)
    for i in range(4):
        acc += w[i] * x[i]
    return acc


def fancy_write(x, w):
    a = x * 1.0
    a[[0, 2]] = w[0, :2]
    a[np.array([False, True, False, True])] *= w[1, 2:]
    return a * a


def through_chain(x, w):
    u = w * 1.0
    v = u.T[1:].reshape(3, 2, 2)[:, 1]
    v *= x[:2]
    v[0] = x[2]
    return u * u


def through_reshape(x, w):
    u = x * 2.0
    m = u.reshape(2, 2).T
    m[0] *= w[0, :2]
    m[:, 1] = m[:, 0] * 2
    m *= 2
    return u


def older_view(x, w):
    a = x * 2
    v = a[1:3]
    a *= w[0]
    return v * a[1:3]  # v shows the new values, and its history says so


def sibling_views(x, w):
    u = x * 1.0
    v, s = u[:3], u[1:]
    v *= w[0, :3]
    s *= w[1, 1:]
    v += s
    return u + s.sum()


def view_of_constant(x, w):
    u = np.zeros_like(x)
    v = u[1:3]
    v[...] = x[:2]
    u[0] = x[3]
    return u * x


def swap_rows(x, w):
    a = w * 1.0
    top = a[0].copy()
    a[0] = a[1]
    a[1] = top
    return a @ x


def gauss(x, w):
    m, b = w + 3 * np.eye(4), x * 1.0
    for i in range(4):
        for j in range(i + 1, 4):
            f = m[j, i] / m[i, i]
            m[j] -= f * m[i]
            b[j] -= f * b[i]
    for i in (3, 2, 1, 0):
        b[i] /= m[i, i]
        b[:i] -= m[:i, i] * b[i]
    return b


def filled_by_copyto(x, w):
    a = np.empty_like(x)
    np.copyto(a, x * w[0])
    np.copyto(a, w[0], where=[k % 2 for k in range(x.shape[-1])])  # numbers in lists are truth values
    return a * x


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and callable(f)]


@pytest.mark.parametrize("keep", [4096, 0])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradients(program, keep):
    with af.options(keep=keep):
        x, w = af.Variable(X), af.Variable(W)
        z = program(x, w)
    np.testing.assert_allclose(z.value, program(X.copy(), W.copy()), rtol=1e-14)
    weights = np.random.default_rng(0).normal(size=z.shape)
    for _ in range(2):  # a second pass finds the graph as it should be
        x.zero_grad(), w.zero_grad()
        z.backward(weights)
    for k, node in enumerate((x, w)):
        got = np.zeros_like(node.value) if node.grad is None else node.grad
        numeric = central(lambda xs: np.sum(weights * program(*[x.copy() for x in xs])), [X, W], k)
        np.testing.assert_allclose(got, numeric, atol=1e-7)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(program):
    def slope(x):  # some programs do not depend on x: their gradient is zero
        gradient = af.grad(lambda x: np.sum(np.sin(program(x, af.Constant(W)))), allow_unused=True)
        return np.sum(gradient(x) * X)

    got = af.grad(slope, allow_unused=True)(X)
    numeric = np.array([(slope(X + h) - slope(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)])
    np.testing.assert_allclose(got, numeric, rtol=1e-5, atol=1e-6)


def needs_overwritten(x, w):
    a = x * 2
    c = a * w[0]  # dL/dw needs a
    a += 1
    return c


def overwritten_twice(x, w):
    a = np.exp(x)
    c = np.sin(a)
    a[2:] = 0.0
    a[2:] = 1.0
    return c


def assigned(x, w):
    c = x * w[0]
    x.assign(X + 1)
    return c


def value_assigned(x, w):
    c = np.sin(x)
    x.value -= 0.1
    return c


def written_under_no_grad(x, w):
    c = np.sin(w)
    with af.no_grad():
        w[0] = 0.0
    return c


def detached_then_written(x, w):
    a = x * 2
    c = w[0] * a.detach().reshape(2, 2).reshape(4) * 1.0
    big = np.repeat(a, 1000)
    d = np.repeat(w[0], 1000) * big.detach()
    big += 1
    return d.sum() + c.sum()


@pytest.mark.parametrize("program", [
    needs_overwritten, overwritten_twice, assigned, value_assigned, written_under_no_grad, detached_then_written,
], ids=lambda f: f.__name__)  # fmt: skip
def test_stale_values_are_refused(program):
    x, w = af.Variable(X, name="x"), af.Variable(W, name="w")
    z = program(x, w)
    for _ in range(2):
        with pytest.raises(StaleValueError, match=r"test_inplace\.py:\d+\) has overwritten since"):
            z.sum().backward()
    assert x.grad is None
    assert w.grad is None


def test_a_write_is_noticed_where_it_was_read_and_after_a_pass_too():
    w = af.Variable(W)
    a = np.repeat(w, 1000, axis=1)  # large: values are not copied
    z = np.sin(a[0])
    a[1] = 0.0
    np.testing.assert_allclose(af.gradients(z.sum())[w][0], 1000 * np.cos(W[0]))
    a[0] = 0.0
    with pytest.raises(StaleValueError, match="needs the value"):
        z.sum().backward()


@pytest.mark.parametrize(("compute", "c", "slope"), [
    (lambda x, c: x * c, np.full(4, 2.0), [2, 2, 2, 2]), (lambda x, c: x[c], np.array([0, 0, 2]), [2, 0, 1, 0]),
    (lambda x, c: x[0] * c, np.full(5000, 2.0), None),
])  # fmt: skip
def test_plain_operands_and_indices_may_change_unless_they_are_large(compute, c, slope):
    x, c = af.Variable(X), c.copy()
    z = compute(x, c)
    c[:] = 3
    if slope is None:
        with pytest.raises(StaleValueError, match="plain array of shape"):
            z.sum().backward()
    else:
        np.testing.assert_array_equal(af.gradients(z.sum())[x], slope)


@pytest.mark.parametrize(("write", "error", "words"), [
    (lambda x, a: x.__iadd__(1), InPlaceError, "x is a Variable"),
    (lambda x, a: x.__setitem__(0, 1), InPlaceError, r"x\.assign|assign\(value\)"),
    (lambda x, a: np.add(a, 1, out=x), InPlaceError, "x is a Variable"),
    (lambda x, a: x[1:].__imul__(2), InPlaceError, "view of the Variable x"),
    (lambda x, a: x.reshape(2, 2).__setitem__(0, 1), InPlaceError, "view of the Variable x"),
    (lambda x, a: a.detach().__iadd__(1), InPlaceError, "read-only"),
    (lambda x, a: np.broadcast_to(a, (2, 4)).__iadd__(1), InPlaceError, "read-only"),
    (lambda x, a: np.add(a, 1, out=np.zeros(4)), LostGradientError, r"af\.zeros"),
    (lambda x, a: np.zeros((2, 4))[0].__iadd__(a), LostGradientError, r"af\.zeros"),
    (lambda x, a: x.assign([1.0, 2.0]), InPlaceError, r"shape \(4,\)"),
    (lambda x, a: np.copyto(a, 1.0, where=np.array([1, 0, 1, 0])), TypeError, "where= takes booleans"),
    (lambda x, a: a.__iadd__(np.zeros((2, 4))), ValueError, "broadcast"),
    (lambda x, a: a.__iadd__(np.array(["a"])), TypeError, "text has no derivative"),
    (af.no_grad()(lambda x, a: a.__iadd__(1)), InPlaceError, "has a history"),
    (af.no_grad()(lambda x, a: a[1:].__imul__(0)), InPlaceError, "under no_grad"),
])  # fmt: skip
def test_refused(write, error, words):
    x = af.Variable(X, name="x")
    a = np.tanh(x)
    with pytest.raises(error, match=words):
        write(x, a)
    np.testing.assert_array_equal(a.value, np.tanh(X))
    np.testing.assert_array_equal(x.value, X)
    np.testing.assert_allclose(af.gradients(a.sum())[x], 1 - np.tanh(X) ** 2)


def test_variables_may_be_written_under_no_grad():
    x = af.Variable(X)
    memory = x.value
    with af.no_grad():
        x -= 1.0
        x[0] = 5.0
        x[1:] *= 2
    assert x.value is memory
    np.testing.assert_allclose(x.value, np.r_[5.0, (X[1:] - 1) * 2])
    s = af.Variable(2.0)
    with af.no_grad():
        s -= 0.5
    assert (type(s), float(s)) == (af.Variable, 1.5)


@pytest.mark.parametrize("power", [2, 0.5, -1, 3, 1.5, np.array([2.0])])
@pytest.mark.parametrize("dtype", [float, complex, np.complex64, np.longdouble])
def test_powers_in_place_have_the_bits_of_numpys(power, dtype):
    """NumPy's ``x **= 2`` is a square, and other bits than ``np.power(x, 2, out=x)``."""
    plain = np.random.default_rng(0).uniform(0.5, 2, 50).astype(dtype)
    if plain.dtype.kind == "c":
        plain.imag = plain.real[::-1] - 1
    node = af.Variable(plain) * 1
    node **= power
    plain **= power
    np.testing.assert_array_equal(node.value, plain, strict=True)


def test_0d_is_rebound():
    x = af.Variable(2.0)
    loss = x * 1
    first = loss
    for _ in range(3):
        loss += x * x
    assert float(first) == 2.0
    assert float(loss) == 14.0
    assert af.gradients(loss)[x] == 13.0


def test_a_constant_becomes_an_operation():
    a = af.zeros(4)
    a.name = "buffer"
    a[1:] = 5.0
    assert isinstance(a, af.Constant)
    a[0] = af.Variable(X)[0]
    assert isinstance(a, af.Operation)
    assert (a.opmethod, a.name) == ("setitem", "buffer")


def test_memory_is_shared_with_who_had_it():
    x = af.Variable(X)
    a = np.tanh(x)
    memory = a.value
    a *= 2
    assert np.shares_memory(a.value, memory)
    np.testing.assert_array_equal(memory, 2 * np.tanh(X))
    acc = mine = np.zeros(4)
    with af.no_grad():
        acc += a
        acc += 1
    np.testing.assert_array_equal(mine, a.value + 1)
    assert isinstance(acc, af.Constant)


def test_a_long_fill_loop_is_linear_in_memory_and_time():
    x = af.Variable(np.linspace(0, 1, 3000))
    out = np.zeros_like(x)
    for i in range(x.size):
        out[i] = x[i] * x[i]
    np.testing.assert_allclose(af.gradients(out.sum())[x], 2 * x.value)


def test_numbers_assigned_to_value_have_no_history_and_leave_older_derivatives_as_they_were():
    x = af.Variable(X)
    y = np.exp(x)
    older = y * 3.0
    y.value = X + 1.0
    np.testing.assert_array_equal(y, X + 1.0)
    (y * x + older).sum().backward()
    np.testing.assert_allclose(x.grad, X + 1.0 + 3.0 * np.exp(X), rtol=1e-15)  # the new y was not computed from x
    filled = af.zeros(4)
    filled.value = X
    np.testing.assert_array_equal(filled, X)


@pytest.mark.parametrize("write", [
    lambda y: setattr(y, "value", X), lambda y: setattr(y, "shape", (2, 2)), lambda y: np.put(y, [0], [1.0]),
    lambda y: y + 1.0, lambda y: 2.0 * y, lambda y: abs(y),
])  # fmt: skip
def test_an_array_that_numpy_made_of_a_node_has_lost_its_history(write):
    with pytest.raises(LostGradientError, match=r"NumPy made this Operation of shape .* so its history is lost"):
        write(np.array(af.Variable(X) * 2.0, subok=True))


CHOSEN = {
    "array": lambda: np.array([0, 1]), "mask": lambda: np.array([True, True, False, False]), "list": lambda: [0, 1],
    "tuple": lambda: (np.array([0, 1]),), "large": lambda: np.arange(1500) % 2,
}  # fmt: skip
WAYS = {
    "a[i] = y": lambda a, i, y: a.__setitem__(i, y), "a[i] *= y": lambda a, i, y: a.__setitem__(i, a[i] * y),
    "view[i] = y": lambda a, i, y: a[...].__setitem__(i, y),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", CHOSEN)
def test_what_chose_the_places_of_a_write_may_change(kind, way):
    weights = np.array([1.0, 10.0, 100.0, 1000.0])

    def slope(later):
        x, i = af.Variable(X), CHOSEN[kind]()
        a = x * 2.0
        WAYS[way](a, i, x[0] * 3.0)
        z = np.sum(a * weights)
        later(i[0] if kind == "tuple" else i)
        z.backward()
        return x.grad

    right, change = slope(lambda i: None), lambda i: i.__setitem__(slice(None), [1] * len(i))
    if kind == "large":
        with pytest.raises(StaleValueError, match="written into since"):
            slope(change)
    else:
        np.testing.assert_array_equal(slope(change), right)


@pytest.mark.parametrize("second", ["real", "imag"])
def test_a_write_into_one_part_of_complex_numbers_does_not_hide_one_into_the_other(second):
    """The real parts are as many as the complex numbers, but not all of their memory."""
    x = af.Variable(np.linspace(0.0, 1.0, 2000))
    z = x * (1 + 1j)
    first = {"real": "imag", "imag": "real"}[second]
    read = getattr(z, first) * getattr(z, first)
    getattr(z, first)[...] = 0.0
    getattr(z, second)[...] = 1.0
    with pytest.raises(StaleValueError):
        read.sum().backward()


@pytest.mark.parametrize("dtype", [int, np.int8, np.uint16, bool])
@pytest.mark.parametrize("write", [
    lambda a, y: a.__setitem__(slice(2), y), lambda a, y: np.put(a, [0, 1], y),
    lambda a, y: np.copyto(a[:2], y, casting="unsafe"),
])  # fmt: skip
def test_whole_numbers_that_were_rounded_have_no_derivative(dtype, write):
    x, a, plain = af.Variable([1.5, 2.5]), af.zeros(3, dtype), np.zeros(3, dtype)
    write(a, x * 1.0)
    write(plain, x.value)
    np.testing.assert_array_equal(a.value, plain, strict=True)
    np.testing.assert_array_equal(af.gradients(np.sum(a * np.ones(3) + x[0]))[x], [3.0, 0.0])
    with pytest.raises(LostGradientError, match="no gradient flows"):
        np.sum(a * 1.0).backward()


@pytest.mark.parametrize("take", [
    lambda a: a[0, ...], lambda a: a[0], lambda a: a[:1].reshape(()), lambda a: a[1:2].squeeze(),
    lambda a: a[:1].T[0, ...], lambda a: np.einsum("i->", a), lambda a: a[0].T, lambda a: a[0].reshape(()),
    lambda a: a[np.array(0)], lambda a: a[None, 0, ...][0, ...],
])  # fmt: skip
def test_a_0d_view_of_an_array_is_written_into_and_a_number_is_not(take):
    def program(x):
        a = x * 2.0
        part = take(a)
        part += x[1]
        return a * a + part

    x = af.Variable(X)
    z = program(x)
    np.testing.assert_array_equal(z.value, program(X))
    np.testing.assert_allclose(af.gradients(z.sum())[x], central(lambda xs: np.sum(program(xs[0])), [X], 0), atol=1e-7)


@pytest.mark.parametrize("i", [1, np.int64(1), np.array(1), np.uint8(1), (np.array(1),), (1, ...), [1], np.array([1])])
def test_an_index_gives_a_view_where_numpy_gives_one(i):
    w, plain = af.Variable(W) * 1.0, W.copy()
    assert np.shares_memory(w[i].value, w.value) == np.shares_memory(plain[i], plain)


def test_lent_memory_that_a_node_was_written_into_may_change():
    mine, x = np.ones(4), af.Variable(X)
    a = af.Constant(mine, copy=False)
    a[0] = x[0]
    z = a * a
    mine[:] = 7.0
    np.testing.assert_array_equal(af.gradients(z.sum())[x], [2 * X[0], 0, 0, 0])


PARTS = {
    "slice": lambda u: u[1:], "turned": lambda u: u.T[:, ::2], "reshaped": lambda u: u.reshape(-1)[3:],
    "view of a view": lambda u: u[:, 1:][1:], "all": lambda u: u[...], "entry": lambda u: u[1, 2, ...],
}  # fmt: skip
NUMBERS = {  # ways to write numbers over a part
    "x[...] =": lambda v: v.__setitem__(..., 0.5), "fill": lambda v: v.fill(0.5), "copyto": lambda v: np.copyto(v, 0.5),
    "out= of one": lambda v: np.exp(np.zeros(v.shape), out=v),
    "out= of two": lambda v: np.multiply(np.ones(v.shape), 2.0, out=v),
    "out= of Constants": lambda v: np.add(af.Constant(np.ones(v.shape)), 2.0, out=v),
    "out= with where=": lambda v: np.sqrt(np.ones(v.shape), out=v, where=np.ones(v.shape, bool)),
    "out= of a reduction": lambda v: np.sum(np.ones((2, *v.shape)), axis=0, out=v),
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("way", NUMBERS)
def test_numbers_over_a_view_stop_the_gradient_of_that_part(part, way):
    x = af.Variable(np.arange(1.0, 13.0).reshape(3, 4))
    u = x * 2
    later = u[:2]
    NUMBERS[way](PARTS[part](u))
    numbers, stays = 2 * x.value, np.ones((3, 4))
    NUMBERS[way](PARTS[part](numbers))
    PARTS[part](stays)[...] = 0
    np.testing.assert_array_equal(u.value, numbers)
    np.testing.assert_array_equal(af.gradients(u.sum() + later.sum())[x], stays * np.array([[4.0], [4.0], [2.0]]))


def imul(v):
    v *= 0


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("write", [*NUMBERS.values(), imul, lambda v: v.__setitem__(..., af.Variable(2.0))])
@pytest.mark.parametrize("inside", [True, False])
def test_a_view_taken_under_no_grad_is_a_constant_for_good(part, write, inside):
    """As if it were detached: what is written through it would be in no history."""
    x = af.Variable(np.arange(1.0, 13.0).reshape(3, 4))
    u = x * 2
    v = af.no_grad()(PARTS[part])(u)
    with af.set_grad_enabled(not inside), pytest.raises(InPlaceError, match="under no_grad"):
        write(v)
    np.testing.assert_array_equal(u.value, 2 * x.value)
    u += 1
    assert not v.requires_grad
    np.testing.assert_array_equal(v.value, PARTS[part](u).value)


def test_a_view_keeps_its_name_when_its_base_is_written_into():
    u = af.Variable(X) * 2
    v = u[1:]
    v.name = "tail"
    u += 1
    assert v.name == "tail"
    u[...] = 0.0
    np.multiply(1.0, np.ones(4), out=u)
    assert v.name == "tail"
    assert not v.requires_grad
