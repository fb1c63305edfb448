"""In the programs of examples/ the doctor finds nothing: each loss that goes backward there is examined first."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from seeds import by_day

from autoflow.backprop import passes
from autoflow.doctor.graphs import diagnose_node

ROOT = Path(__file__).parents[2] / "examples"
BY_DAY = {"fit_a_curve", "linear_regression", "own_rule", "logistic_regression"}
PATHS = sorted(ROOT.glob("**/*.py"))
MOST = 8  # losses of one program


@pytest.mark.parametrize("path", by_day(PATHS, BY_DAY, lambda path: path.stem))
def test_nothing_is_found_in_a_healthy_program(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if "matplotlib" in path.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    found: list[str] = []
    busy: list[Any] = []
    inner = passes.set_gradients

    def examined(root: Any, *args: Any) -> None:
        if len(busy) < MOST:
            busy.append(root)
            found.extend(map(str, diagnose_node(root)))
        inner(root, *args)

    monkeypatch.setattr(passes, "set_gradients", examined)
    monkeypatch.chdir(tmp_path)  # some write files
    runpy.run_path(str(path), run_name="__main__")
    assert found == []
