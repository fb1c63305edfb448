"""Compiled calls that few programs make: results written into arrays, odd dtypes, arguments of changing structure.

Each function gives what eager code gives, recorded and again with other numbers, with every engine.
"""

import numpy as np
import pytest
from compiled import check_calls

import autoflow as af
from autoflow.base import pytree
from autoflow.compiler.compiled import check_equal
from autoflow.compiler.llvm import engine as llvm
from autoflow.errors import CompileError

ENGINES = [
    "numpy",
    pytest.param("llvm", marks=pytest.mark.skipif(not llvm.is_there(), reason="llvmlite is not installed")),
]
RNG = np.random.default_rng(5)
X, OTHER = RNG.normal(size=(2, 4, 3)) * 3


def written(write):
    """A function that writes into a new array and returns it."""

    def f(x):
        z = np.zeros_like(x)
        write(z, x)
        return z + 0.0

    return f


def whole(x):
    return np.floor(x * 4).astype(np.int64)


# fmt: off
CALLS = {
    "mean, out=": lambda x: np.mean(x, axis=0, out=np.zeros_like(x[0])) * 2.0,
    "concatenate, out=": written(lambda z, x: np.concatenate([x[:2], x[2:] * 2], out=z)),
    "clip, out=": written(lambda z, x: np.clip(x, -1.0, 1.0, out=z)),
    "ufunc, out=": written(lambda z, x: np.multiply(x, 2.0, out=z)),
    "whole numbers into floats": written(lambda z, x: z.__setitem__(0, whole(x[1]))),
    "booleans into floats": written(lambda z, x: z.__setitem__(slice(2), x[:2] > 0)),
    "full_like of a number": lambda x: np.full_like(x, x[0, 0]) * x, "times −1": lambda x: (x * -1.0) / -1.0,
    "−1 times": lambda x: -1.0 * (x / 2.0), "minus in a quotient": lambda x: (-x) / 3.0 + x / (-(x * x + 1.0)),
    "reduce": lambda x: np.add.reduce(x) + np.multiply.reduce(x, 0),
    "reduce, keepdims": lambda x: np.add.reduce(x, axis=1, keepdims=True) * x,
    "any, all": lambda x: np.any(x > 1.0, axis=0) + np.all(x < 5.0, axis=0) * 2.0,
    "whole numbers": lambda x: whole(x) * 3 - whole(x) // 2,
    "whole numbers and a large one": lambda x: whole(x) + 2**40, "whole numbers and floats": lambda x: whole(x) * 0.5,
    "sum of whole numbers": lambda x: np.sum(whole(x), axis=0),
    "clip of whole numbers": lambda x: np.clip(whole(x), -3, 3),
    "minimum of whole numbers": lambda x: np.minimum(whole(x), 2) + np.maximum(whole(x), -2),
    "bits": lambda x: (whole(x) & 3) | (whole(x) ^ 5),
    "float16": lambda x: (x.astype(np.float16) * np.float16(0.5)).sum(0),
    "complex numbers": lambda x: (x + 2j * x) * (x - 1j),
    "sum of complex numbers": lambda x: np.sum(x + 1j * x, axis=1),
    "where, with a number": lambda x: np.where(x > 0, x, 0) + np.where(x > 1, 1, x),
    "where of whole numbers": lambda x: np.where(x > 0, whole(x), 7),
    "divmod": lambda x: divmod(x, 2.0)[1] + divmod(7.0, x * x + 1.0)[0], "a power of a number": lambda x: 2.0**x,
    "strides": lambda x: x.T[::2] * 2.0, "split": lambda x: np.split(x, 2)[1] * np.stack(np.unstack(x))[:2],
    "argmax as an index": lambda x: np.take_along_axis(x, np.argmax(x, 0)[None], 0),
    "sorting": lambda x: np.sort(x, axis=0) + np.argsort(x, axis=0),
    "linspace to a node": lambda x: af.grad(lambda w: np.sum(np.linspace(x[0], w, 3) ** 2))(x[1]),
    "interp of nodes": lambda x: af.grad(lambda w: np.sum(np.interp(x[0], np.arange(3.0), w)))(x[1]),
    "weights that are nodes": lambda x: af.grad(
        lambda w: np.quantile(x[0], 0.5, weights=w * w, method="inverted_cdf") * w[0])(x[1]),
    "logical functions": lambda x: np.logical_and(x > 0, x < 1) * 1.0 + np.logical_not(x > 0),
}  # fmt: skip
# fmt: on


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CALLS)
def test_call_gives_what_eager_code_gives(name, engine):
    check_calls(CALLS[name], (X,), (OTHER,), (X,), engine=engine, rtol=1e-13, atol=1e-13)


TREES = {
    "an array": X, "another layout": np.asfortranarray(X), "another shape": X[:2], "float32": X.astype(np.float32),
    "whole numbers": whole(X), "a tuple": (X,), "two": (X, OTHER), "three": (X, OTHER, X), "a list": [X, OTHER],
    "other shapes": (X[0], OTHER), "a dict": {"a": X}, "another key": {"b": X}, "two keys": {"a": X, "b": OTHER},
    "nested": {"a": (X, [OTHER])}, "nested otherwise": {"a": [X, (OTHER,)]}, "a number": 2.0, "a whole number": 2,
    "True": True, "nothing": (), "a number beside": (X, 2.0), "another number beside": (X, 3.0), "nan": (X, np.nan),
}  # fmt: skip


def total(tree):
    return sum([np.sum(x) * (k + 1) for k, x in enumerate(pytree.tree_leaves(tree))], start=np.float64(0.0))


def test_one_compiled_function_takes_trees_of_every_structure_in_turn():
    compiled = af.compile(total)
    for one in TREES.values():
        for other in TREES.values():
            for tree in (one, other):
                np.testing.assert_allclose(compiled(tree), total(tree), rtol=1e-6)
    assert repr(compiled) == f"<compiled total, {len(compiled.entries)} programs>"
    assert len(compiled.entries) >= len(TREES) - 3


@pytest.mark.parametrize(("eager", "ours", "message"), [
    ((X, X), (X,), "the compiled f returned 1 things, eager code 2: something in it differs"),
    ((X, 2), (X, 3), "the compiled f returned 3, eager code 2: something in it differs"),
    ((X, 2), (X, 2.0), "the compiled f returned 2.0, eager code 2: something in it differs"),
    (X, X + 1e-3, "the compiled f .* by 0.001"), (X, X[:1], "the compiled f"),
], ids=["number of results", "value", "class", "array", "shape"])  # fmt: skip
def test_results_that_differ_are_told(eager, ours, message):
    with pytest.raises(CompileError, match=message):
        check_equal(eager, ours, "f")


def test_results_that_are_equal_pass():
    check_equal((X, np.nan, "a", None), (X + 1e-15, np.nan, "a", None), "f")
