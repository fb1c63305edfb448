"""``x -= f(x)``: the write knows who has read what it overwrites, if that is among what it writes."""

import operator

import numpy as np
import pytest
from support import assert_close, central

import autoflow as af
from autoflow.errors import StaleValueError
from autoflow.forward import writing

A = np.array([[0.3, 1.2, 0.7, 0.9], [1.5, 0.4, 1.1, 0.2], [0.8, 1.4, 0.5, 1.0]])
OPERATORS = [operator.iadd, operator.isub, operator.imul, operator.itruediv]
READERS = {
    "max": lambda h: h.max(axis=1, keepdims=True), "min": lambda h: h.min(), "nanmax": lambda h: np.nanmax(h, axis=0),
    "max of some": lambda h: np.max(h, axis=0, initial=0.6, where=[[True], [False], [True]]),
    "ptp": lambda h: np.ptp(h), "sum": lambda h: h.sum(axis=0), "std": lambda h: h.std(),
    "std of columns": lambda h: np.std(h, axis=0, ddof=1), "var": lambda h: np.var(h),
    "norm": lambda h: np.linalg.norm(h), "norm of rows": lambda h: np.linalg.norm(h, axis=1, keepdims=True),
    "norm of order 3": lambda h: np.linalg.norm(h, 3, axis=0), "matrix norm": lambda h: np.linalg.norm(h, 1),
    "root of mean square": lambda h: np.sqrt(np.mean(h**2, axis=1, keepdims=True) + 1e-5),
    "log of sum": lambda h: np.log(np.sum(np.exp(h), axis=1, keepdims=True)), "prod": lambda h: h.prod(axis=0),
    "median": lambda h: np.median(h, axis=0), "quantile": lambda h: np.quantile(h, 0.3),
    "elementwise": lambda h: np.sin(h) + 1.5, "itself": lambda h: h, "its own column": lambda h: h[:, 1:2],
    "through a view": lambda h: (h.T * h.T).sum(axis=0)[: len(h), None],
}  # fmt: skip


def written(f, operate, whole, copied):
    """A function that writes twice what f reads of an array into it, or into its last rows; ``copied``: into copies."""

    def function(x):
        h = np.exp(0.5 * x)
        for _ in range(2):
            part = h if whole else h[1:]
            value = f(part)
            if copied:
                part = operate(part.copy(), value)
                h = part if whole else np.concatenate([h[:1], part])
            elif whole:
                h = operate(h, value)
            else:
                h[1:] = operate(part, value)
        return np.sum(np.sin(h))

    return function


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "a view"])
@pytest.mark.parametrize("name", READERS)
def test_what_is_written_may_have_read_it(name, whole):
    if name == "max of some" and not whole:
        return  # the mask is for all rows
    for operate in OPERATORS:
        ours = written(READERS[name], operate, whole, False)
        twin = written(READERS[name], operate, whole, True)
        assert ours(A) == twin(A)
        assert_close(af.grad(ours)(A), af.grad(twin)(A), 1e-12, f"{operate.__name__}")
    ours = written(READERS[name], operator.itruediv, whole, False)
    assert_close(af.grad(ours)(A), central(lambda ys: ours(ys[0]), [A], 0), 1e-5, "differences")


@pytest.mark.parametrize("name", ["max", "std", "norm", "root of mean square"])
def test_second_derivatives(name):
    ours, twin = (written(READERS[name], operator.itruediv, True, copied) for copied in (False, True))
    assert_close(af.hessian(ours)(A), af.hessian(twin)(A), 1e-11, name)
    assert_close(af.jvp(ours, A, np.cos(A))[1], af.jvp(twin, A, np.cos(A))[1], 1e-11, name)


def test_an_element_may_be_a_function_of_all():
    def written(x):
        h = np.exp(x)
        h[0] = np.linalg.norm(h, axis=0)
        h[1:] = h[:-1] * h[1:]
        h[2, 1] = h.std()
        return np.sum(np.sin(h))

    assert_close(af.grad(written)(A), central(lambda ys: written(ys[0]), [A], 0), 1e-7, "elements")


@pytest.mark.parametrize("f", [np.max, np.min, np.nanmax, np.nanmin, np.ptp])
def test_where_maxima_are_is_kept_whoever_writes(f):
    """An extreme keeps no values, so any write may follow. What else has read them still refuses."""
    x = af.Variable(A)
    h = 2.0 * x
    z, wave = f(h), np.sin(h)
    h *= 0.0
    z.backward()
    assert_close(x.grad, 2.0 * af.grad(f)(A), 1e-15, f.__name__)
    with pytest.raises(StaleValueError, match=r"np\.sin\(h\) \(line \d+ of .*\) needs the value of h, which h "):
        wave.sum().backward()


def test_what_has_read_and_is_not_written_refuses():
    x = af.Variable(A)
    h = 2.0 * x
    wave = np.sin(h)
    h /= np.linalg.norm(h)
    with pytest.raises(StaleValueError, match=r"np\.sin\(h\) .* needs the value of h, which h /= "):
        (wave + h).sum().backward()


def test_what_was_overwritten_before_is_not_taken_for_what_was_read():
    """Numbers that are written into a Constant make no record, so the write after it must ask when."""
    x, h = af.Variable(A), af.ones((3, 4))
    product = h * x
    h[0] = 5.0
    h *= product
    with pytest.raises(StaleValueError, match=r"h \* x .* needs the value of h, which h \*= product"):
        h.sum().backward()


def test_readers_far_away_are_not_looked_for():
    x = af.Variable(A)
    for steps, fine in ((writing.READERS - 3, True), (writing.READERS + 1, False)):
        h = 2.0 * x
        value = np.sin(h)
        for _ in range(steps):
            value = value + 1.0
        h *= value
        if fine:
            h.sum().backward()
        else:
            with pytest.raises(StaleValueError):
                h.sum().backward()


def test_one_copy_is_made_for_all_readers():
    x = af.Variable(A)
    h = 2.0 * x
    a, b = np.sin(h), np.cos(h)
    before = h.value.copy()
    h *= a * b
    first, second = a.grad_fn.saved[0], b.grad_fn.saved[0]
    assert first is second
    assert not np.shares_memory(first, h.value)
    np.testing.assert_array_equal(first, before)


def test_an_extreme_does_not_keep_its_array_alive():
    x = af.Variable(np.arange(10_000.0))
    z = np.max(x * 1.0)
    kept = [v for v in z.grad_fn.saved if getattr(v, "size", 0) > 1 and isinstance(v, np.ndarray)]
    assert kept == []
    assert z.grad_fn.saved[-2].mask.nbytes == 10_000
    z.backward()
    assert x.grad.sum() == x.grad[-1] == 1.0
