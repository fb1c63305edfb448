"""NumPy's odd corners: af.vmap is a loop and a compiled function the function, in values, dtypes, shapes, memory and
errors; af.vmap of either, and derivatives of each, too."""

import numpy as np
import pytest
from corners import CORNERS
from support import NIGHTLY

import autoflow as af
from autoflow.base import pytree
from autoflow.errors import BatchError, CompileError

pytestmark = pytest.mark.filterwarnings("ignore")
X = np.array([[1.0, 2.0, 3.0], [2.0, 0.5, 4.0], [3.0, 3.0, 0.0]])
OTHER = np.array([[0.0, 2.0, 1.0], [1.0, 5.0, -4.0], [2.0, 1.0, 1.0]])
KINDS = {
    "float64": lambda: X.copy(),
    "other numbers": lambda: OTHER.copy(),
    "columns": lambda: X.T.copy().T,
    "reversed": lambda: X[::-1, ::-1].copy()[::-1, ::-1],
    "float32": lambda: X.astype(np.float32),
    "integers": lambda: (X + 1).astype(int),
    "bytes": lambda: (X + 1).astype(np.uint8),
    "complex": lambda: X + 1j,
    "booleans": lambda: X > 1,
    "swapped": lambda: X.astype(">f8"),
    "every second": lambda: np.repeat(X, 2, 1)[:, ::2],
}
BY_DAY = ["float64", "other numbers", "reversed"]


def loop(f):
    """The definition of af.vmap(f)."""

    def run(batch):
        results = []
        for k in range(len(batch)):
            example = batch[k]
            example.flags.writeable = False
            results.append(f(example))
        columns = list(zip(*map(pytree.tree_leaves, results), strict=True))
        return pytree.tree_unflatten(results[0], list(map(stack, columns)))

    return run


def stack(column):
    """The results of all examples as one."""
    if not hasattr(column[0], "shape") and not isinstance(column[0], (int, float, complex)):
        return column[0]
    if len({(np.shape(x), np.result_type(x)) for x in column}) > 1:
        raise BatchError("other shapes or dtypes")
    return np.stack(column)


def outcome(f, *args, writable=True):
    """What a call gives, in all that is compared."""
    try:
        with np.errstate(all="ignore"):
            result = f(*args)
    except Exception as error:
        return type(error)
    leaves = []
    for x in pytree.tree_leaves(result):
        if not hasattr(x, "dtype"):
            leaves.append((type(x), repr(x)))
            continue
        a = np.asarray(x)
        order = sorted([k for k in range(a.ndim) if a.shape[k] > 1], key=lambda k: -abs(a.strides[k]))
        is_open = writable and isinstance(x, np.ndarray) and x.flags.writeable
        leaves.append((a.shape, a.dtype, order, is_open, a))
    return type(result) if pytree.is_container(result) else "leaf", leaves


def agree(found, expected):
    """Are two outcomes the same?"""
    if isinstance(found, type) or isinstance(expected, type):
        return found is expected
    if found[0] != expected[0] or [x[:-1] for x in found[1]] != [x[:-1] for x in expected[1]]:
        return False
    for x, y in zip(found[1], expected[1], strict=True):
        a, b = x[-1], y[-1]
        if not isinstance(a, np.ndarray) or a.dtype.kind not in "fc":
            if not np.all(a == b):
                return False
            continue
        signs = a.dtype.kind == "c" or np.array_equal(np.signbit(a[a == a]), np.signbit(b[b == b]))
        if not signs or not np.allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True):
            return False
    return True


def check(name, found, expected, refusable=False):
    """A compiled function may refuse, but not give anything else."""
    if not (refusable and found is CompileError):
        assert agree(found, expected), f"{name}: {found}, not {expected}"


@pytest.mark.parametrize("kind", [k for k in KINDS if NIGHTLY or k in BY_DAY])
def test_a_function_of_a_batch_and_a_compiled_one_are_the_function(kind):
    for name, f in CORNERS.items():
        batch = KINDS[kind]()
        check(f"vmap, {name}", outcome(af.vmap(f, loop="allow"), KINDS[kind]()), outcome(loop(f), batch))
        eager, compiled = outcome(f, KINDS[kind]()[0], writable=False), af.compile(f)
        for _ in range(2):
            check(f"compile, {name}", outcome(compiled, KINDS[kind]()[0], writable=False), eager, refusable=True)


@pytest.mark.parametrize("kind", ["float64", "columns"] if NIGHTLY else ["float64"])
def test_transforms_of_transforms(kind):
    for name, f in CORNERS.items():
        make = KINDS[kind]
        both = np.stack([make(), make() + 1])
        mapped = af.vmap(f, loop="allow")
        check(f"vmap vmap, {name}", outcome(af.vmap(mapped, loop="allow"), both), outcome(loop(loop(f)), both.copy()))
        expected = outcome(loop(f), make(), writable=False)
        check(f"compile vmap, {name}", outcome(af.compile(mapped), make(), writable=False), expected, refusable=True)
        other = af.vmap(af.compile(f, fallback=True), loop="allow")
        check(f"vmap compile, {name}", outcome(other, make(), writable=False), expected)


def total(f):
    """A function with a gradient."""
    return lambda x: np.sum(np.real(f(x)))


@pytest.mark.parametrize("way", ["grad", "jvp", "hessian"] if NIGHTLY else ["grad"])
def test_derivatives_of_a_batch_and_of_compiled_functions(way):
    ways = {"grad": af.grad, "hessian": af.hessian, "jvp": lambda f: lambda x: af.jvp(f, (x,), (np.ones(3),))}
    for name, f in CORNERS.items():
        derivative = ways[way](total(f))
        expected = outcome(loop(derivative), X.copy())
        found = outcome(af.vmap(derivative, loop="allow"), X.copy())
        if not (isinstance(found, type) and isinstance(expected, type)):
            check(f"vmap {way}, {name}", found, expected)
        eager = outcome(derivative, X[0].copy(), writable=False)
        compiled = outcome(af.compile(derivative), X[0].copy(), writable=False)
        if not (isinstance(compiled, type) and isinstance(eager, type)):
            check(f"compile {way}, {name}", compiled, eager, refusable=True)
