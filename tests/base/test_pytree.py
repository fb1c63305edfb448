"""Nested containers: taken apart, put together, mirrored by gradients."""

import collections
import dataclasses
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import autoflow as af
from autoflow.base import pytree

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
    leaves, structure = af.tree_flatten(tree)
    assert leaves == af.tree_leaves(tree) == pytree.tree_leaves(tree)
    assert set(af.tree_leaves(structure)) <= {None}
    assert af.tree_paths(structure) == af.tree_paths(tree)
    assert len(pytree.tree_paths(tree, "x")) == len(leaves)
    for again in (pytree.tree_unflatten(tree, iter(leaves)), af.tree_unflatten(structure, leaves)):
        assert again == tree
        assert type(again) is type(tree)
        assert pytree.parts_like(again, tree) == leaves


def test_what_is_there_twice_or_in_itself_is_listed_once():
    chain = None
    for _ in range(40):  # its fields are attributes, too
        chain = Checked(1.0, chain)
    assert len(pytree.entries(chain)) < 200
    chain.first = chain.n.first = chain
    is_unchanged = pytree.watched([chain, chain])
    assert is_unchanged()
    chain.n.n.first = chain
    assert not is_unchanged()


def test_a_default_dict_stays_one():
    tree = collections.defaultdict(list, a=1.0)
    again = pytree.tree_map(lambda x: x + 1, tree)
    assert again == {"a": 2.0}
    assert again["new"] == []
    assert "new" not in tree


def test_paths():
    assert pytree.tree_paths(Frozen([1.0, {"k": 2.0}]), "p") == ["p.w[0]", "p.w[1]['k']", "p.activation"]


def test_other_containers_do_not_match():
    assert pytree.parts_like([1.0], (1.0, 2.0)) is None
    assert pytree.parts_like({"a": 1.0}, {"b": 1.0}) is None
    assert pytree.parts_like([1.0], {0: 1.0}) is None
    assert pytree.parts_like(1.0, [1.0]) is None
    assert pytree.parts_like([1.0], 1.0) is None
    assert pytree.parts_like([[1.0, 2.0], 3.0], (np.ones(2), 4.0)) == [[1.0, 2.0], 3.0]


@pytest.mark.parametrize(("tree", "total"), [
    ([1.0, 2.0], lambda t: t[0] * t[1]), ({"a": np.ones(2), "b": 3.0}, lambda t: np.sum(t["a"]) * t["b"]),
    (Pair(1.0, np.ones(3)), lambda t: t.left * np.sum(t.right)),
    (Frozen(np.ones(2)), lambda t: np.sum(getattr(np, t.activation)(t.w))),
    (Checked(2.0, [3.0]), lambda t: t.w * t.n[0]),
    ({"layers": [(np.ones((2, 2)), np.zeros(2))]}, lambda t: np.sum(t["layers"][0][0] @ t["layers"][0][1])),
], ids=lambda value: None if callable(value) else type(value).__name__)  # fmt: skip
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


def test_too_few_and_too_many_leaves():
    for leaves, word in (([1.0], "fewer"), ([1.0, 2.0, 3.0], "more")):
        with pytest.raises(ValueError, match=f"{word} leaves than the 2 of the tree"):
            af.tree_unflatten({"a": 1.0, "b": 2.0}, leaves)


def test_reduce():
    tree = {"w": [1.0, 2.0], "b": 4.0}
    assert af.tree_reduce(lambda a, b: a - b, tree) == -5.0
    assert af.tree_reduce(lambda a, b: a - b, tree, 10.0) == 3.0
    assert af.tree_reduce(lambda a, b: a - b, [], 10.0) == 10.0
    assert af.tree_reduce(lambda a, b: a, [None, 1.0]) is None
    with pytest.raises(TypeError, match="the tree has no leaves"):
        af.tree_reduce(max, {})


def test_ravel():
    tree = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": 7, "c": (np.zeros((0, 2)), "text", True), "n": None}
    vector, tree_of = af.tree_ravel(tree)
    assert vector.dtype == np.float64
    np.testing.assert_array_equal(vector, np.arange(8.0)[[0, 1, 2, 3, 4, 5, 7]])
    again = tree_of(vector)
    np.testing.assert_array_equal(again["w"], tree["w"])
    assert again["w"].dtype == np.float32
    assert again["b"] == 7.0
    assert again["b"].dtype == np.float64
    assert again["c"][0].shape == (0, 2)
    assert again["c"][1:] == ("text", True)
    assert again["n"] is None
    assert af.tree_ravel([np.ones(2, np.float32)])[0].dtype == np.float32
    assert af.tree_ravel([1j, 2.0])[1](np.array([1j, 2.0])) == [1j, 2.0]
    empty, made = af.tree_ravel({"a": "text"})
    assert empty.shape == (0,)
    assert made(empty) == {"a": "text"}
    for wrong in (np.zeros(6), np.zeros((7, 1)), 1.0):
        with pytest.raises(ValueError, match="this tree has 7 numbers; the vector has shape"):
            tree_of(wrong)


def test_ravel_can_be_differentiated():
    p = {"w": np.array([1.0, 2.0]), "b": 3.0}
    vector, tree_of = af.tree_ravel(p)

    loss = lambda p: np.sum(p["w"] ** 2) * p["b"]  # noqa: E731
    np.testing.assert_array_equal(af.grad(lambda v: loss(tree_of(v)))(vector), [6.0, 12.0, 5.0])
    np.testing.assert_array_equal(af.hessian(lambda v: loss(tree_of(v)))(vector), [[6, 0, 2], [0, 6, 4], [2, 4, 0]])
    found = af.grad(lambda p: np.sum(af.tree_ravel(p)[0] * np.array([1.0, 2.0, 3.0])))(p)
    assert found["w"].tolist() == [1.0, 2.0]
    assert found["b"] == 3.0
    mixed = {"w": np.ones(2, np.float32), "b": 1.0}
    assert af.grad(lambda p: np.sum(af.tree_ravel(p)[0] ** 2))(mixed)["w"].dtype == np.float32


def test_parameters_go_to_scipy():
    optimize = pytest.importorskip("scipy.optimize")
    target = {"w": np.array([1.0, -2.0]), "b": 0.5}

    def loss(p):
        return af.tree_reduce(lambda a, b: a + b, af.tree_map(lambda x, t: np.sum((x - t) ** 4), p, target))

    start, tree_of = af.tree_ravel({"w": np.zeros(2), "b": 0.0})
    found = optimize.minimize(af.value_and_grad(lambda v: loss(tree_of(v))), start, jac=True, tol=1e-12)
    np.testing.assert_allclose(tree_of(found.x)["w"], target["w"], atol=1e-3)


def test_an_array_that_is_a_dataclass_is_a_leaf():
    @dataclasses.dataclass
    class Stored:
        shape: tuple
        dtype: np.dtype

        def __array__(self, dtype=None, copy=None):
            return np.zeros(self.shape, self.dtype)

    stored = Stored((2, 3), np.dtype(float))
    assert pytree.tree_leaves([stored, 1.0])[0] is stored


@pytest.mark.parametrize("name", [
    "grad", "value_and_grad", "vjp", "linearize", "jacobian", "hessian", "vmap", "compile",
])  # fmt: skip
@pytest.mark.parametrize("change", ["append", "insert", "clear", "setdefault", "update"])
def test_functions_of_functions_keep_the_containers_of_their_arguments(name, change):
    """What a function does to the list or dict is done to one of its own; af.compile refuses it."""
    x = np.ones((2, 2))
    given = [x] if hasattr([], change) and change != "clear" else {"w": x}
    new = {"append": (1.0,), "insert": (0, 1.0), "clear": (), "setdefault": ("n", 1.0), "update": ({"n": 1.0},)}

    def f(tree):
        w = tree[0] if isinstance(tree, list) else tree["w"]
        getattr(tree, change)(*new[change])
        return np.sum(w**2)

    call = partial(getattr(af, name), f) if name in ("vjp", "linearize") else getattr(af, name)(f)
    refusal = pytest.raises(af.errors.CompileError, match="changes a list, dict or object among its arguments")
    with refusal if name == "compile" else nullcontext():
        call(given)
    assert len(given) == 1
    assert (given[0] if isinstance(given, list) else given["w"]) is x
    af.checkpoint(f)(given)
    assert len(given) == (0 if change == "clear" else 2)


CHANGES = {
    "clear": lambda p: [p.pop("w"), p.clear()][0], "pop": lambda p: p.pop("w"),
    "popitem": lambda p: dict([p.popitem(), p.popitem()])["w"],
    "replace": lambda p: [p["w"], p.update(w=p["w"] * 3.0)][0],
    "replace and read": lambda p: [p.update(w=p["w"] * 1.0), p["w"]][1],
    "swap": lambda p: [p["w"], p.update(w=p["v"], v=p["w"])][0], "add": lambda p: [p["w"], p.update(n=p["w"] * 2.0)][0],
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_gradients_come_in_the_containers_that_were_given(change):
    """Also if the function changes them."""
    w, v = np.array([1.0, 2.0]), np.array([3.0, -1.0])

    def f(p):
        return np.sum(CHANGES[change](p) ** 3)

    def seen(z):
        return {name: np.asarray(x).tolist() for name, x in z.items()}

    given, slope = {"w": w, "v": v}, {"w": (3 * w**2).tolist(), "v": [0.0, 0.0]}
    assert seen(af.grad(f)(given)) == seen(af.value_and_grad(f)(given)[1]) == slope
    assert seen(af.vjp(f, given)[1](1.0)[0]) == seen(af.jacobian(f)(given)) == slope
    assert float(af.jvp(f, (given,), ({"w": v, "v": w},))[1]) == float(np.sum(3 * w**2 * v))
    assert seen(af.hvp(f, given, {"w": v, "v": w})) == {"w": (6 * w * v).tolist(), "v": [0.0, 0.0]}
    assert seen(af.hessian(f)(given)["w"])["w"] == np.diag(6 * w).tolist()
    many = af.vmap(af.grad(f))({"w": np.stack([w, v]), "v": np.stack([v, w])})
    assert seen(many) == {"w": (3 * np.stack([w, v]) ** 2).tolist(), "v": np.zeros((2, 2)).tolist()}
