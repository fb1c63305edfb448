"""In examples, ports and lessons the doctor finds nothing but what is listed here.

Each result from which gradients flow is examined first, whether by ``backward()`` or by ``af.grad`` and the like.
"""

import contextlib
import json
import runpy
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from seeds import by_day
from support import NIGHTLY

from autoflow.backprop import passes
from autoflow.base.modes import modes
from autoflow.doctor.graphs import diagnose_node
from autoflow.nodes.nodes import value_of

ROOT = Path(__file__).parents[2]
BY_DAY = {"fit_a_curve", "linear_regression", "own_rule", "logistic_regression"}
PATHS = sorted([*ROOT.glob("examples/**/*.py"), *ROOT.glob("notebooks/*.ipynb")])
MOST = 60 if NIGHTLY else 8  # results of one program, which ends there
# (program, kind) -> the reason why it is there and is found.
WANTED = {
    ("00_backprop_by_hand", "exploding"): "a number is doubled 60 times, to count paths",
    ("04_derivatives_of_derivatives", "zero factor"): "every other coefficient of a series is 0",
    ("05_your_own_rules", "infinite value"): "exp of 1000, which a rule of one's own avoids",
    ("07_vanishing_and_exploding", "exploding"): "the subject",
    ("07_vanishing_and_exploding", "vanishing"): "the subject",
    ("11_debugging", "infinite slope"): "a root at 0, to be found",
    ("11_debugging", "zero factor"): "the norm at 0, which has a slope of 0 by convention",
    ("11_debugging", "masked nan"): "x log x at 0, to be found",
    ("11_debugging", "dead"): "a layer that is dead, to be found; and |x| at 0",
    ("11_debugging", "overwritten"): "a write before backward(), to be found",
    ("15_backward_by_hand", "infinite value"): "log(softmax) of a large score, which log_softmax avoids",
}


class Enough(BaseException):
    """Ends a program."""


def as_program(path, folder):
    """A program; of a notebook its cells, one after another."""
    if path.suffix == ".py":
        return path
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = [
        "".join(cell["metadata"].get("short", cell["source"])) for cell in cells
        if cell["cell_type"] == "code" and "whole" not in cell["metadata"].get("tags", ())
    ]  # fmt: skip
    made = folder / f"{path.stem}.py"
    made.write_text("\n\n".join(sources), encoding="utf-8")
    return made


@pytest.mark.filterwarnings("ignore")  # of the programs
@pytest.mark.parametrize("path", by_day(PATHS, BY_DAY, lambda path: path.stem))
def test_nothing_is_found_but_what_is_there(path, monkeypatch, tmp_path):
    if "matplotlib" in path.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")
    found = {}
    seen = []

    def examined(run):
        def examine_first(root, *args, **options):
            if len(seen) == MOST:
                raise Enough
            if type(value_of(root)) is np.ndarray and modes().layer is None:
                seen.append(1)
                for x in diagnose_node(root):
                    found.setdefault(x.kind, []).append(str(x))
            return run(root, *args, **options)

        return examine_first

    monkeypatch.setattr(passes, "set_gradients", examined(passes.set_gradients))
    monkeypatch.setattr(passes, "run_pass", examined(passes.run_pass))
    monkeypatch.chdir(tmp_path)  # some write files
    with contextlib.suppress(Enough):
        runpy.run_path(str(as_program(path, tmp_path)), run_name="__main__")
    tracemalloc.stop()  # of a program that measures memory, and was ended meanwhile
    wanted = {kind for name, kind in WANTED if name == path.stem}
    assert {kind: texts[0] for kind, texts in found.items() if kind not in wanted} == {}
    assert wanted <= set(found)
