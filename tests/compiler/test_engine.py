"""The seam between recording and computing: an engine takes a program, and others know nothing of it but its name."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from processes import alone

import autoflow as af
from autoflow.compiler.compiled import ENGINES, engine_of
from autoflow.compiler.llvm import engine as llvm
from autoflow.compiler.program import Program
from autoflow.compiler.run.scalars import Slots

FOLDER = Path(af.__file__).parent / "compiler"
NEEDS = {"llvm": "llvmlite", "jax": "jax"}
LLVM = "llvm" if llvm.is_there() else "numpy"
HOW = {"checkpointing": None, "engine": "numpy", "cache": None, "own_functions": False}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from [f"{node.module or ''}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [alias.name for alias in node.names]


@pytest.mark.parametrize("engine", ["llvm", "jax"])
def test_nothing_else_knows_an_engine(engine):
    others = [p for p in FOLDER.rglob("*.py") if p.parent.name != engine]
    assert len(others) > 25
    known = [(p.name, name) for p in others for name in imported(p) if engine in name.split(".")]
    assert not known


def made(shape):
    """Σ tanh(x w), and x w, of a program that was made by hand."""
    program = Program()
    x, w = program.input(np.ones(shape)), program.input(np.ones(shape))
    y = program.ufunc(np.multiply, (x, w))
    z = program.ufunc(np.tanh, (y,))
    program.outputs = [program.reduce(np.add, z, None, False) if shape else z, y]
    return program


@pytest.mark.parametrize("engine", NEEDS)
def test_an_engine_that_is_not_installed_says_what_to_do(engine, monkeypatch):
    for name in (NEEDS[engine], f"{NEEDS[engine]}.binding"):
        monkeypatch.setitem(sys.modules, name, None)
    llvm.machine.cache_clear()
    try:
        with pytest.raises(ImportError, match=rf'pip install "autoflow\[{engine}\]"'):
            af.compile(np.tanh, engine=engine)
        assert af.compile(np.tanh, engine="auto").how["engine"] == ("numpy" if engine == "llvm" else LLVM)
    finally:
        monkeypatch.undo()
        llvm.machine.cache_clear()


def test_engines_are_imported_late():
    code = "import sys, numpy as np, autoflow as af; af.compile(np.tanh)(np.ones(3))"
    alone(f"{code}; import autoflow.compiler.jax.engine; assert not {{*sys.modules}} & {set(NEEDS.values())}")


@pytest.mark.parametrize("shape", [(), (5,), (3, 4)], ids=str)
@pytest.mark.parametrize("engine", sorted({*ENGINES} - {"auto"}))
def test_each_engine_runs_a_program_made_by_hand(engine, shape):
    if engine in NEEDS:
        pytest.importorskip(NEEDS[engine])
    how = HOW | {"engine": engine}
    module = engine_of(engine)
    module.options(how)
    rng = np.random.default_rng(0)
    program = made(shape)
    new_plan = module.prepare(program, how)
    plans = new_plan(), new_plan()
    for _ in range(2):
        x, w = rng.uniform(0.5, 1.5, size=(2, *shape))
        x, w = np.asarray(x), np.asarray(w)
        for plan in plans:
            total, y = plan.run([x, w])
            np.testing.assert_allclose(total, np.tanh(x * w).sum(), rtol=1e-13)
            np.testing.assert_array_equal(y, x * w)
            assert not plan.noticed.any
            assert plan.program is program
            assert plan.steps
    assert (type(plans[0]) is Slots) is (engine != "jax" and not shape)  # of few numbers llvm makes no loops


def test_a_result_is_new_memory_at_every_run():
    plan = import_module("autoflow.compiler.engine").prepare(made((5,)), HOW)()
    x = np.ones(5)
    results = [plan.run([x, x + k])[1] for k in range(3)]
    np.testing.assert_array_equal(results, [x * (x + k) for k in range(3)])


def test_what_is_no_engine():
    with pytest.raises(ValueError, match='engine is "numpy", "llvm", "jax" or "auto", not \'torch\''):
        af.compile(np.tanh, engine="torch")
    with pytest.raises(ValueError, match=r"cache=.* is an option of loops of our own"):
        af.compile(np.tanh, cache="folder")
