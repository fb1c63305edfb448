"""Where users find a class is what it says of itself, and what pickles name: files may move without breaking any."""

import importlib
import inspect
import pickle
import pickletools
import re
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim

PACKAGES = ["autoflow", "autoflow.nn", "autoflow.optim", "autoflow.pictures", "autoflow.backends"]
# And modules that users import by name.
PUBLIC = {
    *PACKAGES,
    *[f"autoflow.{name}" for name in ("errors", "linalg", "nn.init", "ops", "special", "stats", "train")],
}


STABILITY = Path(__file__).parent.parent / "docs" / "stability.md"
# Attributes of nodes that only autoflow uses.
INTERNAL = {"create_node", "family", "parents", "role", "takes_primitives"}


def network():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 2, rng=rng), nn.relu, nn.tanh, nn.LSTM(2, 2, rng=rng), nn.BatchNorm(2))
    return model, optim.Adam(model.parameters(), 0.1), af.watch(nn.sigmoid)


def picture():
    x = af.Variable(np.ones(3), name="x")
    with af.scope("box"):
        y = np.sum(x * x)
    return y.graph(depth=0), y.graph(depth=0).drawn, y.graph(merge=False), list(y.steps()), y.summary()


def differentiated():
    x = af.Variable([1.0, 2.0])
    (x * x).sum().backward()
    return x, x * x, af.Constant(2.0), af.gradients((x * x).sum(), [x]), af.check(np.sin, np.ones(2))


def failed():
    return [kind("why") for kind in vars(af.errors).values() if inspect.isclass(kind) and issubclass(kind, Exception)]


def functions():
    return [thing for name in PACKAGES for thing in exported(name).values() if inspect.isfunction(thing)]


def exported(package):
    module = importlib.import_module(package)
    return {name: getattr(module, name) for name in module.__all__}


def names_in(data):
    """The paths that a pickle has: (module, name)."""
    texts, found = [], []
    for opcode, value, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            found.append(tuple(value.split(" ", 1)))
        elif opcode.name == "STACK_GLOBAL":
            found.append(tuple(texts[-2:]))
        elif isinstance(value, str):
            texts.append(value)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_exports_says_that_it_is_there(package):
    for name, thing in exported(package).items():
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__module__ in PUBLIC, f"{package}.{name} says {thing.__module__}"


@pytest.mark.parametrize("make", [network, picture, differentiated, failed, functions])
def test_pickles_name_public_paths_only(make):
    data = pickle.dumps(make(), protocol=2)  # which writes each name out where it stands
    found = {(module, name) for module, name in names_in(data) if module.partition(".")[0] == "autoflow"}
    assert found
    assert {module for module, _ in found} <= PUBLIC, sorted(found)
    pickle.loads(data)


def test_nodes_of_every_library_are_of_autoflow():
    assert {kind.__module__ for kind in (af.Node, af.Variable, af.Constant, af.Operation)} == {"autoflow"}
    assert repr(af.Variable) == "<class 'autoflow.Variable'>"


def test_private_paths_are_seen():
    from autoflow.transforms.evaluation import Trace

    assert ("autoflow.transforms.evaluation", "Trace") in names_in(pickle.dumps(Trace, protocol=2))
    assert ("autoflow.transforms.evaluation", "Trace") in names_in(pickle.dumps(Trace, protocol=5))


MODULES = [
    "backends", "implicit", "integrate", "linalg", "nn", "nn.init", "optim", "pictures", "signal", "special", "stats",
]  # fmt: skip
MIRRORS = ("integrate", "linalg", "signal", "special", "stats")  # which have all names of SciPy's


@pytest.mark.parametrize("name", MODULES)
def test_completion_shows_the_public_names_of_a_module(name):
    module = importlib.import_module(f"autoflow.{name}")
    mirrored = importlib.import_module(f"scipy.{name}").__all__ if name in MIRRORS else ()
    assert dir(module) == sorted({*module.__all__, *mirrored})
    assert all(hasattr(module, shown) for shown in dir(module))


def test_completion_shows_the_public_names():
    assert dir(af) == sorted([*af.__all__, "__version__", "backends", "errors"])
    assert all(hasattr(af, name) for name in dir(af))
    assert {"tanh", "multiply", "register_function"} <= {*dir(af.ops)}
    assert all(callable(getattr(af.ops, name)) for name in dir(af.ops))


def stable_names(title):
    """The rows below a line of docs/stability.md: {what is in the first column: names in the second}."""
    lines = STABILITY.read_text(encoding="utf-8").partition(title)[2].strip().split("\n\n")[0].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines[2:]]
    assert rows
    return {first.strip("`"): re.findall(r"`(\w+)`", names) for first, names in rows}


def test_the_page_of_stable_names_lists_what_modules_export():
    listed = stable_names("the order of their parameters:")
    kinds = [name for name, kind in vars(af.errors).items() if inspect.isclass(kind)]
    for name, names in listed.items():
        exported_names = getattr(importlib.import_module(name), "__all__", kinds)
        assert names == sorted(exported_names), name
    others = stable_names("From other modules:")
    for name, names in others.items():
        assert all(hasattr(importlib.import_module(name), shown) for shown in names), name
    assert {*listed, *others} == {*PUBLIC, "autoflow.lessons", *[f"autoflow.{name}" for name in MODULES]}


def test_the_page_of_stable_names_lists_what_nodes_and_options_have():
    listed = stable_names("Attributes of objects:")
    public = {name for name in dir(af.Variable(0.0)) if name[0] != "_" and not hasattr(np.ndarray, name)}
    assert listed["nodes"] == sorted(public - INTERNAL)
    assert listed["af.options"] == sorted(dir(af.options))
