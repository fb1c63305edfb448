"""What table/facts.py says of NumPy's functions is so, and each reader uses it."""

import itertools

import numpy as np
import pytest

from autoflow.batching import shapes  # noqa: F401 - fills FORMS
from autoflow.batching.vmap import forms
from autoflow.table.facts import FIXED, KINDS, OTHERS, RAISING, find, of_kind

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3, 3)) + 4 * np.eye(3)
MORE = {np.partition: (1,), np.argpartition: (1,), np.repeat: (2,), np.linalg.matrix_power: (2,)}  # further arguments


def same(a, b):
    """Equal results, or tuples of them."""
    many = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
    return all([np.shape(p) == np.shape(q) and np.allclose(p, q, equal_nan=True) for p, q in many])


def test_all_names_are_numpys_and_no_function_is_of_two_kinds():
    assert [word for text in (*KINDS.values(), *OTHERS.values()) for word in text.split() if find(word) is None] == []
    for one, other in itertools.combinations(("reduces", "runs", "matrices", "elements", "writes", "likes"), 2):
        assert not of_kind(one) & of_kind(other)


def each(*kinds, among=None):
    """Every function of these kinds."""
    functions = of_kind(*kinds) if among is None else of_kind(*kinds) & {*among}
    return pytest.mark.parametrize("f", sorted(functions, key=lambda f: f.__name__), ids=lambda f: f.__name__)


@each("reduces")
def test_reductions_take_any_axes_and_none_means_all(f):
    x = np.stack([X, Y])
    assert np.shape(f(X)) == ()
    assert same(f(x, axis=(1, 2))[0], f(X))
    assert same(f(x, axis=1)[0], f(X, axis=0))


@each("runs")
def test_what_runs_along_an_axis_knows_nothing_of_the_others(f):
    x, more = np.stack([X, Y]), MORE.get(f, ())
    for axis in (0, 1):
        assert same(f(x, *more, axis=axis + 1)[0], f(X, *more, axis=axis))


@each("matrices", "elements")
def test_of_stacks_each_matrix_is_computed_alone(f):
    more = MORE.get(f, ())
    whole, alone = f(np.stack([X, Y]), *more), f(X, *more)
    assert same(tuple([z[0] for z in whole]) if isinstance(whole, tuple) else whole[0], alone)


@each("reduces", "runs", "matrices", "elements", among=FIXED)
def test_shapes_and_dtypes_follow_from_those_of_the_arrays(f):
    def kinds(z):
        return [(np.shape(v), np.result_type(v)) for v in (z if isinstance(z, tuple) else (z,))]

    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # has complex eigenvalues
    x, more = X if f is np.linalg.cholesky else turned, MORE.get(f, ())
    assert kinds(f(x, *more)) == kinds(f(np.eye(3), *more))


def test_vmap_has_a_form_for_each_function_whose_kind_gives_one():
    assert of_kind("reduces", "runs", "matrices", "elements", "likes") <= {*forms.FORMS}


def test_marks():
    assert {np.linalg.eig, np.linalg.inv, np.average} <= RAISING
    assert np.linalg.eig not in FIXED
    assert FIXED[np.where] == 3
