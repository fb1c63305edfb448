"""Moving elements: the composed functions and the keywords that the generated tests of the rows do not reach."""

# ruff: noqa: E501 - tables of calls

import numpy as np
import pytest
from checks import check
from support import same_bits

import autoflow as af
from autoflow.errors import InPlaceError, NoRuleError
from autoflow.table.shapes import since

A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
V = np.array([0.5, -1.0, 2.0])
T = np.cos(np.arange(24.0)).reshape(2, 3, 4)
S = np.array(1.25)


@pytest.mark.parametrize(("f", "xs"), [
    (np.atleast_1d, (S,)), (np.atleast_3d, (S,)), (np.atleast_3d, (V,)), (np.atleast_3d, (A,)),
    (lambda x: np.concat([x, [[1, 2, 3]]]), (A,)), (lambda x: np.stack([[1, 2, 3], x]), (V,)),
    (lambda x: np.split(x, 3)[1], (V,)),  # no part needs to be used
    # booleans and lists beside numbers are numbers
    (lambda x: np.tile(x, (True, 2)), (A,)), (lambda x: np.tile(x, np.array([False, True])), (A,)),
    (lambda x: np.tensordot(x, x * x, axes=([0], 0)), (A,)), (lambda x: np.tensordot(x, x * x, axes=(-1, (1,))), (A,)),
    *([(lambda x: np.pad(x, {0: 2, -1: (1, 0)}, mode="wrap"), (A,))] if since("2.4") else []),
])  # fmt: skip
def test_values_and_derivatives(f, xs):
    check(f, *xs)


@pytest.mark.parametrize("f", [
    lambda x: np.pad(x, 1, lambda *_: None), lambda x: np.reshape(x, 6, order="A"), lambda x: np.ravel(x, "K"),
    lambda x: x.flatten("A"), lambda x: np.copy(x, subok=True), lambda x: np.broadcast_to(x, (2, 2, 3), subok=True),
])  # fmt: skip
def test_what_has_no_derivative_is_refused(f):
    with pytest.raises(NoRuleError):
        f(af.Variable(A))


@pytest.mark.parametrize("join", [
    lambda x: np.concatenate([x, A]), lambda x: np.concatenate([x, x], dtype="f8"),
    lambda x: np.vstack([x, x], dtype="f2", casting="unsafe"), lambda x: np.stack([x, A], dtype="f4", casting="unsafe"),
])  # fmt: skip
def test_dtype_and_casting_of_joins(join):
    x = af.Variable(A.astype(np.float32))
    z = join(x)
    assert same_bits(z.value, join(x.value))
    z.sum().backward()
    assert x.grad.dtype == np.float32
    with pytest.raises(TypeError, match="Cannot cast"):
        np.concatenate([x, x], dtype=int)


@pytest.mark.parametrize("view", [
    lambda x: x.T, lambda x: x.mT, lambda x: x.reshape(3, 2), lambda x: x.ravel(), lambda x: x.swapaxes(0, 1), lambda x: np.flip(x, 1),
    lambda x: np.fliplr(x), lambda x: np.flipud(x), lambda x: np.rot90(x), lambda x: np.moveaxis(x, 0, 1), lambda x: np.rollaxis(x, 1),
    lambda x: np.expand_dims(x, 0), lambda x: np.squeeze(x[None]), lambda x: x.view(), lambda x: np.atleast_3d(x),
    lambda x: np.unstack(x)[1], lambda x: np.hsplit(x, 3)[1], lambda x: x.T.reshape(3, 2, 1)[1:], lambda x: np.broadcast_arrays(x)[0],
])  # fmt: skip
def test_writing_into_a_view_or_its_base_is_seen_in_both(view):
    def through_the_view(x):
        a = x * x
        v = view(a)
        v *= 3.0
        v[0] = v[0] * 2.0 + 1.0
        return a * a

    def through_the_base(x):
        a = x * x
        v = view(a)
        a *= 3.0
        return v * v

    check(through_the_view, A)
    check(through_the_base, A)


@pytest.mark.parametrize("view", [lambda x: np.broadcast_to(x, (2, 2, 3)), np.diagonal, np.diag])
def test_what_numpy_makes_read_only_is_not_written_into(view):
    v = view(af.Variable(A) * 2)
    with pytest.raises(InPlaceError, match="read-only"):
        v[0] = 1.0


@pytest.mark.parametrize("f", [lambda x: x.flatten(), np.copy, lambda x: x.astype(float), lambda x: np.tile(x, 1),
                               lambda x: np.roll(x, 1)])  # fmt: skip
def test_a_copy_is_no_view(f):
    a = af.Variable(A) * 1.0
    z = f(a)
    z[0] = 0.0
    np.testing.assert_array_equal(a.value, A)


@pytest.mark.parametrize("f", [np.sum, np.mean, np.transpose, np.ravel, lambda a: np.tile(a, 2), lambda a: np.pad(a, 1),
                               np.cumsum, np.diagonal])  # fmt: skip
def test_unneeded_values_are_let_go(f):
    """A derivative that reads only shapes keeps no array."""
    with af.options(keep=0):
        record = f(af.Variable(np.ones((50, 50))) * 1.0).grad_fn
    assert not any([isinstance(v, np.ndarray) and v.size > 1 for v in record.saved])


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int8])
@pytest.mark.parametrize("f", [
    np.roll, lambda x, k: np.roll(x, (k,), (1,)), lambda x, k: np.roll(x, np.array([k]), 0), np.rot90, np.diagonal,
    np.trace, np.triu, np.tril, np.diag, lambda x, k: np.sum(x, axis=k), lambda x, k: x[k], lambda x, k: x[k:],
    lambda x, k: np.take(x, k, axis=0), lambda x, k: np.repeat(x, k), lambda x, k: np.moveaxis(x, k, 0),
    lambda x, k: np.diff(x, k), lambda x, k: np.expand_dims(x, k), lambda x, k: np.rollaxis(x, k),
    lambda x, k: np.cumsum(x, k), lambda x, k: np.partition(x, k), lambda x, k: np.flip(x, k),
])  # fmt: skip
def test_an_option_may_be_an_integer_of_any_kind(f, kind):
    """The way back takes -k, which an unsigned integer does not have."""

    def weighted(x, k):
        z = f(x, k)
        return np.sum(z * np.cos(np.arange(np.size(z))).reshape(np.shape(z)))

    x = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(*[af.grad(weighted)(x, k) for k in (kind(1), 1)])


@pytest.mark.parametrize("indices", [[True, True, True], [True, False, True], [False], True])
def test_taking_by_truth_values_takes_the_elements_0_and_1(indices):
    numbers = np.asarray(indices).astype(int)
    weights = 2.0 ** np.arange(numbers.size).reshape(numbers.shape)
    found, right = [af.grad(lambda x, k=k: np.sum(np.take(x, k) * weights))(V) for k in (indices, numbers)]
    np.testing.assert_array_equal(found, right)
