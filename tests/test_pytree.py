"""Nested containers: taken apart, put together, mirrored by gradients."""

import collections
import dataclasses

import numpy as np
import pytest

import autoflow as af
from autoflow import pytree

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    w: object
    activation: str = "tanh"


@dataclasses.dataclass
class Checked:
    w: object
    n: object = 1.0

    def __post_init__(self):
        if self.w is None:
            raise ValueError("no weights")


TREES = [
    3.0, [1.0, 2.0], (1.0, [2.0, (3.0,)]), {"a": 1.0, "b": {"c": 2.0}}, Pair(1.0, [2.0]), Frozen(1.0),
    Checked(2.0, [3.0]), collections.OrderedDict(z=1.0, a=2.0), [], {}, (),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_apart_and_together(tree):
    parts = pytree.tree_leaves(tree)
    again = pytree.tree_unflatten(tree, iter(parts))
    assert again == tree
    assert type(again) is type(tree)
    assert len(pytree.tree_paths(tree, "x")) == len(parts)
    assert pytree.same_shape(again, tree)


def test_a_default_dict_stays_one():
    tree = collections.defaultdict(list, a=1.0)
    again = pytree.tree_map(lambda x: x + 1, tree)
    assert again == {"a": 2.0}
    assert again["new"] == []
    assert "new" not in tree


def test_paths():
    assert pytree.tree_paths(Frozen([1.0, {"k": 2.0}]), "p") == ["p.w[0]", "p.w[1]['k']", "p.activation"]


def test_other_containers_do_not_match():
    assert not pytree.same_shape([1.0], (1.0, 2.0))
    assert not pytree.same_shape({"a": 1.0}, {"b": 1.0})
    assert not pytree.same_shape([1.0], {0: 1.0})
    assert not pytree.same_shape(1.0, [1.0])
    assert not pytree.same_shape([1.0], 1.0)


@pytest.mark.parametrize(
    ("tree", "total"),
    [
        ([1.0, 2.0], lambda t: t[0] * t[1]),
        ({"a": np.ones(2), "b": 3.0}, lambda t: np.sum(t["a"]) * t["b"]),
        (Pair(1.0, np.ones(3)), lambda t: t.left * np.sum(t.right)),
        (Frozen(np.ones(2)), lambda t: np.sum(getattr(np, t.activation)(t.w))),
        (Checked(2.0, [3.0]), lambda t: t.w * t.n[0]),
        ({"layers": [(np.ones((2, 2)), np.zeros(2))]}, lambda t: np.sum(t["layers"][0][0] @ t["layers"][0][1])),
    ],
    ids=lambda value: None if callable(value) else type(value).__name__,
)
def test_gradients_mirror_their_arguments(tree, total):
    g = af.grad(total)(tree)
    assert type(g) is type(tree)
    for x, slope in zip(pytree.tree_leaves(tree), pytree.tree_leaves(g), strict=True):
        if isinstance(x, str):
            assert slope is None
        else:
            assert type(slope) is np.ndarray
            assert slope.shape == np.shape(x)


def test_numbers_only():
    config = {"w": 2.0, "name": "layer", "bias": None, "on": True, "f": np.exp, "mask": np.array([True])}

    def f(p):
        assert p["on"] is True
        assert p["mask"].dtype == bool
        assert p["name"] == "layer"
        return p["f"](p["w"])

    g = af.grad(f)(config)
    assert g.pop("w") == np.exp(2.0)
    assert set(g.values()) == {None}


def test_tree_map():
    tree = {"w": [np.ones(2), (2.0,)], "b": 3.0}
    assert af.tree_map(np.shape, tree) == {"w": [(2,), ((),)], "b": ()}
    twice = af.tree_map(lambda a, b: a + b, tree, tree)
    assert twice["w"][0].tolist() == [2.0, 2.0]
    assert (twice["w"][1], twice["b"]) == ((4.0,), 6.0)
    with pytest.raises(TypeError, match="tree 2 has the leaves"):
        af.tree_map(lambda a, b: a, tree, {"w": 1.0})


def test_an_array_that_is_a_dataclass_is_a_leaf():
    @dataclasses.dataclass
    class Stored:
        shape: tuple
        dtype: np.dtype

        def __array__(self, dtype=None, copy=None):
            return np.zeros(self.shape, self.dtype)

    stored = Stored((2, 3), np.dtype(float))
    assert pytree.tree_leaves([stored, 1.0])[0] is stored
