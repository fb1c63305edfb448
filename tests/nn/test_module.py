"""Every parameter of every structure has a name of its own, or the structure is refused when it is made."""

import itertools

import numpy as np
import pytest
from support import NIGHTLY

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import StateError

KEYS = ["a", "b", "a.b", "a.0", "0", 0, 1, "1", "file", "allow_pickle", "self", "path", "", 1.0, "1.0", True, None]


class Part(nn.Module):
    """Attributes with any names."""

    def __init__(self, /, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


def drawn(rng, depth, numbers):
    """A plan: a number for a parameter or buffer, or (kind, {key: plan})."""
    kind = ["list", "tuple", "dict", "part", "sequential", "leaf"][rng.integers(6)] if depth else "leaf"
    if kind == "leaf":
        return next(numbers)
    inside = [drawn(rng, depth - 1, numbers) for _ in range(rng.integers(1, 4))]
    keys = [KEYS[k] for k in rng.choice(len(KEYS), len(inside), replace=False)]
    if kind in ("list", "tuple", "sequential"):
        keys = range(len(inside))
    elif kind == "part":
        keys = [str(key) for key in keys]
    return kind, dict(zip(keys, inside, strict=True))


def made(plan):
    """The thing itself; parameters have odd numbers."""
    if isinstance(plan, int):
        return af.Variable([float(plan)]) if plan % 2 else np.array([float(plan)])
    kind, parts = plan
    parts = {key: made(part) for key, part in parts.items()}
    if kind == "sequential":
        return nn.Sequential(*[x if isinstance(x, nn.Module) else Part(x=x) for x in parts.values()])
    if kind == "part":
        return Part(**parts)
    return parts if kind == "dict" else {"list": list, "tuple": tuple}[kind](parts.values())


def named(plan, path=""):
    """All leaves with their names, without the code that is tested."""
    if isinstance(plan, int):
        return [(path[1:], plan)]
    kind, parts = plan
    if kind == "sequential":
        is_module = {k: not isinstance(x, int) and x[0] in ("part", "sequential") for k, x in parts.items()}
        parts = {k: x if is_module[k] else ("", {"x": x}) for k, x in parts.items()}
    return [leaf for key, part in parts.items() for leaf in named(part, f"{path}.{key}")]


@pytest.mark.parametrize("seed", range(150 if NIGHTLY else 50))
def test_each_parameter_is_named_trained_and_saved_or_the_model_is_refused(seed, tmp_path):
    rng, numbers = np.random.default_rng(seed), itertools.count(1)
    plan = "part", {str(KEYS[k]): drawn(rng, 3, numbers) for k in rng.choice(12, 3, replace=False)}
    leaves = named(plan)
    if len(dict(leaves)) < len(leaves):
        with pytest.raises(StateError, match="two parameters or buffers are called"):
            made(plan)
        return
    model = made(plan)
    assert {name: x[0] for name, x in model.state_dict().items()} == dict(leaves)
    assert {name: p.value[0] for name, p in model.named_parameters().items()} == {n: x for n, x in leaves if x % 2}
    path, state = model.save(tmp_path / "model.npz"), model.state_dict()
    model.load_state_dict({name: 0 * x for name, x in state.items()})
    model.load(path)
    for name, x in model.state_dict().items():
        np.testing.assert_array_equal(x, state[name], strict=True)


@pytest.mark.parametrize("make", [
    lambda v, w: Part(p={"a.b": v, "a": {"b": w}}), lambda v, w: Part(p={1: v, "1": w}),
    lambda v, w: Part(p=[{"a": Part(b=v), "a.b": w}]), lambda v, w: Part(**{"a.b": v, "a": Part(b=w)}),
    lambda v, w: Part(**{"a": Part(b=w), "a.b": v}), lambda v, w: nn.Sequential(Part(p={None: v, "None": w})),
])  # fmt: skip
def test_a_name_for_two_is_an_error_when_the_model_is_made(make):
    with pytest.raises(StateError, match=r"two parameters or buffers are called '.*'.*rename one of them"):
        make(af.Variable([1.0]), af.Variable([2.0]))
    both = af.Variable([1.0])
    assert len(make(both, both).parameters()) == 1


def test_private_attributes_and_other_values_may_have_any_names():
    Part(_cache={1: np.ones(1), "1": np.zeros(1)}, settings={1: "one", "1": "uno"})


def test_a_name_for_two_that_comes_later_is_found_at_the_next_use():
    model = Part(p={1: af.Variable(1.0)})
    model.p["1"] = af.Variable(2.0)
    for use in (model.parameters, model.state_dict, lambda: optim.SGD(model, lr=0.1)):
        with pytest.raises(StateError, match=r"are called 'p\.1'"):
            use()


@pytest.mark.parametrize("seed", range(50))
def test_parts_that_know_their_whole(seed):
    """A tree of modules and containers, with attributes that lead back up: what is found does not change."""
    rng = np.random.default_rng(seed)
    parts, above = [Part(w=af.Variable([0.0]))], [[]]
    for k in range(1, int(rng.integers(2, 8))):
        j = int(rng.integers(k))
        parts.append(Part(w=af.Variable([float(k)])))
        above.append([*above[j], j])
        setattr(parts[j], f"part{k}", [parts[k], {"x": parts[k]}, parts[k]][rng.integers(3)])
    whole = parts[0]
    names, text = list(whole.named_parameters()), list(whole.state_dict())
    for k in range(1, len(parts)):
        up = parts[int(rng.choice(above[k]))]
        parts[k].whole = [up, [up], {"up": (up,)}][rng.integers(3)]
    whole.me = [whole]
    whole.me.append(whole.me)
    assert list(whole.named_parameters()) == names
    assert list(whole.state_dict()) == text
    assert whole.modules() == [m for m in whole.modules() if m in parts]
    assert len(whole.modules()) == len(parts)
    assert "Part(" in repr(whole)
    assert all([part.parameters() for part in parts])
    assert not whole.eval().training
    whole.load_state_dict({name: x + 1 for name, x in whole.state_dict().items()})
    assert [float(p.w[0]) for p in parts] == [k + 1.0 for k in range(len(parts))]


def test_a_sequential_has_more_parts_than_its_layers():
    class Net(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Linear(2, 1, rng=np.random.default_rng(0)), nn.relu)
            self.scale = af.Variable(2.0)

    assert list(Net().named_parameters()) == ["0.weight", "0.bias", "scale"]


def test_one_parameter_by_two_paths_gets_one_value():
    shared = nn.Linear(1, 1, rng=np.random.default_rng(0))
    model = Part(a=shared, b=shared)
    before = model.state_dict()
    model.load_state_dict(before | {"a.bias": np.array([np.nan]), "b.bias": np.array([np.nan])})
    model.load_state_dict(before)
    with pytest.raises(StateError, match=r"b\.bias: expected the numbers of a\.bias, which is the same array"):
        model.load_state_dict(before | {"b.bias": before["b.bias"] + 1})
    np.testing.assert_array_equal(shared.bias.value, before["a.bias"])
