"""Functions that write in place, for one example and for all: what is a number in NumPy is one here, too.

``z[0]`` of a vector is a number, and stays what it was when z is written into; ``m[0]`` of a matrix is a view.
"""

import contextlib
from functools import partial

import numpy as np
import pytest
from by_loop import by_loop, outcome

import autoflow as af
from autoflow.errors import CompileError, InPlaceError, NoRuleError
from autoflow.table.shapes import since

POINTS = np.random.default_rng(0).normal(size=(4, 5))


def insertion_sort(x):
    z = x * 1
    for i in range(1, 5):
        for j in range(i, 0, -1):
            low, high = np.minimum(z[j - 1], z[j]), np.maximum(z[j - 1], z[j])
            z[j - 1], z[j] = low, high
    return z * np.arange(5.0)


def running(x):
    z = x * 1
    for k in range(1, 5):
        z[k] = z[k - 1] * 0.5 + z[k]
    return z


def fibonacci(x):
    a, b = x[0], x[1]
    for _ in range(5):
        a, b = b, a + b
    return a * x


# The statements of other functions of x.
STATEMENTS = [
    "z = x * 1; z[0], z[1] = z[1], z[0]; return z * x", "z = np.outer(x, x); z[0], z[1] = z[1], z[0]; return z @ x",
    "z = np.outer(x, x); z[[0, 1]] = z[[1, 0]]; return z @ x", "z = x * 1; first = z[0]; z += 1; return first * z",
    "z = np.outer(x, x); a, b, c = z[0, 1], z[(2, 3)], z[-1][1]; z[:] = x; return np.sum(z * a) + b * c",
    "z = np.outer(x, x); a, b = z[0, 1, ...], z[2:3, 3]; z[:] = x; return np.sum(z * a) + b",
    "z = x * 1; a, b, *rest = z; z[:] = 0; return np.stack([a, b, *rest]) + z",
    "z = x * 1; z[1:] += z[:-1]; z[:-1] = z[1:]; return z * x", "return np.exp(x, where=x > 0, out=x * 3)",
    "z = np.zeros_like(x); np.multiply(x, x, out=z, where=MASK); return z",
    "a, b = x * 0, x * 0 - 3; np.divmod(x, 0.35, out=(a, b), where=x > 0); return a + b",
    "z = x * x; z[x > 0] = 2.0; z[:3][x[2:] > x[:3]] = 0.5; return z",
]  # fmt: skip
SCOPE = {"np": np, "MASK": np.array([True, False, True, True, False])}
PROGRAMS = [insertion_sort, running, fibonacci]
for text in STATEMENTS:
    exec(f"def f(x): {text}", SCOPE)
    PROGRAMS.append(SCOPE["f"])
EACH = pytest.mark.parametrize("f", PROGRAMS, ids=["insertion_sort", "running", "fibonacci", *STATEMENTS])


@EACH
def test_all_examples(f):
    np.testing.assert_allclose(af.vmap(f)(POINTS), [f(x) for x in POINTS], rtol=1e-14)


@EACH
def test_differentiated(f):
    loss = lambda x: np.sum(f(x) ** 2)  # noqa: E731
    wanted = [af.grad(loss)(x) for x in POINTS]
    np.testing.assert_allclose(af.vmap(af.grad(loss))(POINTS), wanted, rtol=1e-12)
    np.testing.assert_allclose(af.grad(lambda points: np.sum(af.vmap(loss)(points)))(POINTS), wanted, rtol=1e-12)


@EACH
def test_compiled(f):
    """The same numbers, or a refusal: a compiled function does not write through views, nor into a batch."""
    compiled, batched = af.compile(f), af.compile(af.vmap(f))
    for run, x, wanted in [*[(compiled, x, f(x)) for x in POINTS], *[(batched, POINTS, [f(x) for x in POINTS])] * 2]:
        found = outcome(run, x)
        if isinstance(found, CompileError):
            assert "writes in place into" in str(found)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


VIEWS = (lambda x: x[:, ::2], lambda x: x[::-1], lambda x: x[:, 1:-1].T, lambda x: x.T[::-2], lambda x: x[:1, ::3])
READINGS = [np.ravel, lambda x: x.flatten(), lambda x: x.reshape(-1), *[partial(np.ravel, order=k) for k in "KAF"]]


@pytest.mark.parametrize("read", READINGS)
@pytest.mark.parametrize("view", VIEWS)
def test_arrays_with_gaps_are_read_as_they_lie(view, read):
    """Whether that is a view or a copy is known without the numbers, too: then no form is given up."""

    def written(x):
        y = x * 2.0
        z = read(view(y))
        z[0] = 7.0
        return np.sum(y) * z

    batch = np.random.default_rng(1).normal(size=(3, 4, 6))
    for f in (lambda x: read(view(x)) * 2.0, written):
        mapped, wanted = af.vmap(f, loop="refuse"), by_loop(f, batch)
        compiled = af.compile(mapped)(batch) if f is not written else wanted  # which does not write through views
        for found in (mapped(batch), mapped(af.Variable(batch)), compiled):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_views_from_outside_whose_array_was_written_into_before_are_not_changed():
    u, c = af.Variable(np.ones(3)) * 1.0, af.zeros(3)
    v, w = u[1:], c[1:]
    u *= 2.0
    c += u
    assert af.vmap(lambda x: (x[1:] * v * w).sum(), loop="refuse")(np.ones((2, 3))).value.tolist() == [8.0, 8.0]


def test_where_needs_no_numbers_elsewhere():
    """``out=`` keeps its own, also in a compiled function, whose buffers hold those of earlier calls."""

    def f(x):
        return np.log(x, where=x > 0.5, out=np.full_like(x, -1.0))

    compiled = af.compile(f)
    for x in np.random.default_rng(1).uniform(0, 1, (20, 50)):
        np.testing.assert_array_equal(compiled(x), f(x))
        compiled(x * 3)


VIEWS = {
    "einsum ii->i": lambda z: np.einsum("ii->i", z), "einsum ij->ji": lambda z: np.einsum("ij->ji", z),
    "einsum ...": lambda z: np.einsum("...", z), "einsum lists": lambda z: np.einsum(z, [0, 0], [0]),
    "diagonal": lambda z: np.einsum("ii->i", z)[1:], "T": lambda z: z.T, "reshape": lambda z: z.reshape(-1)[::2],
    "ravel of steps": lambda z: np.ravel(z[:, ::2]), "ravel of a column": lambda z: z[:, :1].ravel("F"),
    "ravel": lambda z: np.ravel(z), "ravel K": lambda z: z.ravel("K"), "flip": lambda z: np.flip(z, 0),
    "rot90": lambda z: np.rot90(z), "swapaxes": lambda z: np.swapaxes(z, 0, 1), "real": lambda z: np.real(z),
    "squeeze": lambda z: np.squeeze(z[:, :1]), "expanded": lambda z: np.expand_dims(z[1], 0),
    "split": lambda z: np.split(z, 3)[1], "hsplit": lambda z: np.hsplit(z, 3)[2], "unstack": lambda z: [*z][1],
    "atleast": lambda z: np.atleast_3d(z), "moveaxis": lambda z: np.moveaxis(z, 0, -1), "view": lambda z: z.view(),
    "asarray": lambda z: np.asarray(z, like=z), "broadcast": lambda z: np.broadcast_arrays(z, z[0])[0].T,
    "triangle": lambda z: np.tril(z), "copy": lambda z: z.flatten(), "rolled": lambda z: np.roll(z, 1, 0),
    "same": lambda z: np.copy(z),
    "places": lambda z: z[[0, 1]], "conj": lambda z: np.conj(z), "clip": lambda z: z.clip(-9.0, 9.0),
    "nan_to_num": lambda z: np.nan_to_num(z, copy=False), "astype": lambda z: z.astype(float, copy=False),
}  # fmt: skip
WRITES = {
    "in place": lambda d: d.__imul__(2.0), "items": lambda d: d.__setitem__(0, 7.0), "all": lambda d: d.fill(3.0),
    "out=": lambda d: np.sin(d, out=d),
}  # fmt: skip
MATRICES = np.random.default_rng(1).normal(size=(2, 3, 3))


def ways(f):
    """Each way, what it gives, and what it should give."""
    mapped, expected = af.vmap(f, loop="allow"), by_loop(f, MATRICES)
    yield "vmap", lambda: mapped(MATRICES), expected
    yield "compile", lambda: by_loop(af.compile(f), MATRICES), expected
    yield "compile of vmap", lambda: af.compile(mapped)(MATRICES), expected
    yield "vmap of vmap", lambda: af.vmap(mapped)(MATRICES[None])[0], expected
    with contextlib.suppress(NoRuleError, InPlaceError):
        loss = lambda m: np.sum(np.sin(f(m)))  # noqa: E731
        slopes = by_loop(af.grad(loss), MATRICES)
        yield "grad of vmap", lambda: af.grad(lambda x: np.sum(af.vmap(loss, loop="allow")(x)))(MATRICES), slopes


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.filterwarnings("ignore")
def test_writes_through_what_may_be_a_view(write, turned):
    wrong, right = [], 0
    for name, view in VIEWS.items():

        def f(m, view=view):
            z = (m.T * 1 if turned else m * 1)[...]
            WRITES[write](view(z))
            return z * m

        with contextlib.suppress(ValueError):  # read-only
            for way, call, expected in ways(f):
                try:
                    found = call()
                except CompileError as error:
                    if "compile" not in way:
                        wrong.append((name, way, str(error)))
                    continue
                right += 1
                if not np.allclose(found, expected, 1e-12):
                    wrong.append((name, way))
    assert wrong == []
    assert right > 3 * len(VIEWS)


def test_a_read_only_example_is_written_into_once():
    """By ``np.add.at``, which writes into it in NumPy, too; a run that is abandoned must not have done so before."""

    def f(x):
        np.add.at(x, 0, 1.0)
        return x if x[0] > 0 else -x

    X = np.zeros((3, 2))
    if since("2.5"):  # NumPy refuses it itself
        with pytest.raises(ValueError, match="read-only"):
            af.vmap(f, loop="allow")(X)
        return
    np.testing.assert_array_equal(af.vmap(f, loop="allow")(X), [[1.0, 0.0]] * 3)
    np.testing.assert_array_equal(X, [[1.0, 0.0]] * 3)
