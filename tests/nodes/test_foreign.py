"""Libraries that want numbers, and code that loses gradients halfway: the tables, and how a caller is known."""

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import LostGradientError, NoRuleError
from autoflow.nodes.nodes import NodeRole
from autoflow.program import callers


def called_from(module, program, **names):
    """The value of an expression in a module of that name."""
    return eval(program, {"np": np, "__name__": module, **names})


CALLS = [
    "np.sum(x)", "np.concatenate([x, x])", "np.zeros_like(x)", "np.atleast_1d(x)", "np.add(x, 1, where=True)",
    "np.add.reduce(x)", "np.argmax(x)", "x.ravel()", "x.copy()", "x[np.array([0, 1])]", "[*x]",
]  # fmt: skip


@pytest.mark.parametrize("program", CALLS)
@pytest.mark.parametrize("module", ["matplotlib.axes._base", "pandas", "numpy.ma.core", "scipy.optimize._lsq.trf"])
def test_a_library_gets_numbers(module, program):
    x = af.Variable([1.0, 2.0])
    for node in (x, x * 2, (x * 2)[:]):
        found = called_from(module, program, x=node)
        parts = found if isinstance(found, list) else [found]
        assert not any(isinstance(part, NodeRole) for part in parts)
        np.testing.assert_array_equal(found, called_from(module, program, x=node.value))


@pytest.mark.parametrize("program", [p for p in CALLS if "arg" not in p and "where" not in p])
@pytest.mark.parametrize("module", ["__main__", "matplotlibs", "mypandas.core", "scipy.special", "numpy.lib.x", None])
def test_others_get_nodes(module, program):
    x = af.Variable([1.0, 2.0])
    found = called_from(module, program, x=x)
    assert all(isinstance(part, NodeRole) for part in (found if isinstance(found, list) else [found]))


def test_a_library_may_store_single_numbers():
    x, plain = af.Variable(2.0), np.zeros(2)
    exec("plain[0] = x", {"__name__": "matplotlib.transforms", "x": x, "plain": plain})
    assert plain[0] == 2.0
    with pytest.raises(LostGradientError):
        exec("plain[0] = x", {"__name__": "mine", "x": x, "plain": plain})
    with af.options(strict=True):
        assert called_from("matplotlib.text", "float(x)", x=x) == 2.0


def test_halfway_is_refused_where_a_gradient_would_be_lost(monkeypatch):
    monkeypatch.setitem(callers.HALFWAY, "some._library", "use another")
    callers.wants_numbers.cache_clear()
    x = af.Variable([1.0, 2.0])
    for program in ("np.sum(x)", "np.stack([np.ones(2), x])"):
        with pytest.raises(NoRuleError, match=r"^some\.library of a node copies its numbers halfway.*: use another$"):
            called_from("some._library", program, x=x)
    assert called_from("some._library", "np.sum(x)", x=x.detach()) == 3.0
    monkeypatch.undo()
    callers.wants_numbers.cache_clear()


@pytest.mark.parametrize("name", [*callers.NUMBERS, *callers.HALFWAY])
def test_every_entry_has_a_reason(name):
    assert callers.wants_numbers(name)
    assert callers.wants_numbers(f"{name}.part")
    assert len((callers.NUMBERS | callers.HALFWAY)[name]) > 10
