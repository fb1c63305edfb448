"""Methods of nodes whose work is done elsewhere: their parameters are those of the functions that do it."""

import inspect
import re

import pytest

import autoflow as af
from autoflow.base.lazy import later
from autoflow.forward import node_methods
from autoflow.forward.operators import Operators

METHODS = {
    f"{cls.__name__}.{name}": (name, method)
    for cls in (node_methods.NodeMethods, node_methods.VariableMethods)
    for name, method in vars(cls).items()
    if inspect.isfunction(method)
}


def function_of(method):
    """The function that its source names."""
    return later(re.search(r'by_name\("(\w+)"\)', inspect.getsource(method)).group(1))


@pytest.mark.parametrize("name", METHODS)
def test_parameters_are_those_of_the_function(name):
    _, method = METHODS[name]
    ours = [p for p in inspect.signature(method).parameters.values() if p.name != "unknown"][1:]
    theirs = list(inspect.signature(function_of(method)).parameters.values())[1:]
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]


@pytest.mark.parametrize("name", METHODS)
def test_nodes_have_them_with_a_docstring(name):
    short, method = METHODS[name]
    of = af.Variable if name.startswith("Variable") else af.Node
    assert getattr(of, short) is method
    assert method.__doc__ or short == "__setitem__"
    assert "*args" not in str(inspect.signature(getattr(of, short)))


def test_all_parameters_reach_the_function(monkeypatch):
    x = af.Variable(2.0, name="x")
    y = x * x
    for name, (short, method) in METHODS.items():
        given = {}

        def taken(node, *args, given=given, method=method, **options):
            given.update(inspect.signature(function_of(method)).bind(node, *args, **options).arguments)

        monkeypatch.setattr(node_methods, "by_name", lambda path, taken=taken: taken)
        parameters = list(inspect.signature(method).parameters.values())[1:]
        values = {p.name: object() for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
        getattr(x if name.startswith("Variable") else y, short)(
            *[v for p, v in zip(parameters, values.values(), strict=False) if p.kind is p.POSITIONAL_OR_KEYWORD],
            **{p.name: values[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY},
        )
        passed = list(given.values())[1:]
        assert all(any(v is w for w in passed) for v in values.values()), name


def test_operators_can_be_found_by_their_names():
    source = inspect.getsource(Operators)
    arithmetic = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
    for name in [*arithmetic, *[f"r{n}" for n in arithmetic], *[f"i{n}" for n in arithmetic], *["neg", "lt", "eq"]]:
        assert f"__{name}__" in source
        assert getattr(af.Variable, f"__{name}__") is not getattr(__import__("numpy").ndarray, f"__{name}__", None)


def test_functions_are_looked_up_once():
    x = af.Variable(2.0)
    (x * x).backward()
    looked_up = node_methods.by_name.cache_info().misses
    (x * x).backward()
    assert node_methods.by_name.cache_info().misses == looked_up
