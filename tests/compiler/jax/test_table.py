"""Which function of JAX computes what a function of NumPy's or SciPy's does, or why none does; words of 64 bits."""

import importlib
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from compiled import check_same
from xla import compiled

from autoflow.compiler.jax import table
from autoflow.table.facts import FIXED
from autoflow.table.table import COMPOSED, RULES

DOCS = Path(__file__).parents[3] / "docs"


def known_functions():
    """NumPy's and SciPy's functions that a program may call, with their names."""
    modules = [sys.modules[name] for name in table.NAMESPACES if name in sys.modules]
    names = {f: n for module in modules for n, f in vars(module).items() if callable(f) and not isinstance(f, type)}
    return {f: n for f, n in names.items() if isinstance(f, np.ufunc) or f in RULES or f in FIXED or f in COMPOSED}


def test_each_function_has_a_counterpart_or_a_reason():
    for function, name in known_functions().items():
        found = table.counterpart(function)
        assert re.fullmatch(r"jax\.(numpy|scipy|nn)\.[\w.]+|left to NumPy: \w.*", found), name
    assert table.counterpart(np.linalg.solve) == "jax.numpy.linalg.solve"
    assert table.counterpart(np.fix) == "jax.numpy.trunc"
    assert table.counterpart(len) == table.counterpart([]) == "left to NumPy: no function of NumPy or SciPy"


@pytest.mark.peers
def test_every_counterpart_is_there_and_nothing_else_that_is_said_to_be_missing():
    pytest.importorskip("jax")
    pytest.importorskip("scipy.special")
    for function, name in known_functions().items():
        found = table.counterpart(function)
        module, _, word = found.rpartition(".") if found.startswith("jax.") else ("jax." + name).rpartition(".")
        try:
            has = hasattr(importlib.import_module(module), word)
        except ImportError:
            has = False
        if found.startswith("jax.") or found.endswith(table.NONE):
            assert has == found.startswith("jax."), name


def test_exceptions_are_functions():
    """Nothing is listed that is not there, or twice."""
    for name in (*table.LEFT, *table.OTHER_NAMES):
        module, _, function = name.rpartition(".")
        if module == "scipy.special":
            pytest.importorskip("scipy")
        assert callable(getattr(importlib.import_module(module), function)), name
    assert not {*table.LEFT} & {*table.OTHER_NAMES}
    assert not {name.rpartition(".")[2] for name in (*table.LEFT, *table.OTHER_NAMES)} & table.SCIPYS


def test_page():
    """The tables of docs/jax.md are those of the code, and every form is explained there."""
    if not (DOCS / "jax.md").exists():
        pytest.skip("not a checkout")
    make_jax = types.ModuleType("make_jax")
    make_jax.__file__ = str(DOCS / "make_jax.py")
    exec((DOCS / "make_jax.py").read_text(encoding="utf-8"), make_jax.__dict__)
    text = (DOCS / "jax.md").read_text(encoding="utf-8")
    assert text == make_jax.page(text), "run python docs/make_jax.py"
    assert [name for name in table.LEFT if name not in text] == []


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.int64, np.uint64])
def test_words(dtype):
    """Of 64 bits: there and back with the same bits."""
    x = np.array([[0.0, 1.5, 3.0], [2.0, 7.0, 1e9]]).astype(dtype)
    there = table.to_host(x)
    assert (there.shape, there.dtype) == table.described(x.shape, x.dtype)
    np.testing.assert_array_equal(table.from_host(there, x.shape, x.dtype), x, strict=True)
    assert table.to_host(np.ones(2, np.float32)).dtype == np.float32


@pytest.mark.peers
@pytest.mark.parametrize("name", sorted(table.SCIPYS))
def test_scipys_functions(name):
    """Values at places far apart."""
    pytest.importorskip("jax")
    function = getattr(pytest.importorskip("scipy.special"), name)
    for low, high in ((0.02, 0.98), (0.1, 4), (-4, 4), (1, 25)):
        args = np.random.default_rng(1).uniform(low, high, (function.nin, 100))
        if name == "expn":
            args[0] = np.ceil(np.abs(args[0]))
        with np.errstate(all="ignore"):
            check_same(compiled(lambda *args: function(*args))(*args), function(*args), 5e-12, 1e-300)
