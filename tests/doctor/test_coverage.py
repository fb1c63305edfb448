"""Coverage of gradients: each line of a program has the state that it should have."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoflow.__main__ import main
from autoflow.doctor.coverage import STATES

PROGRAM = """
import sys
import numpy as np
import autoflow as af
w = af.Variable([1.0, 2.0])
v = af.Variable([0.0, 3.0])
a = w * 2.0                        # flows
b = np.maximum(v * a, -100.0)      # flows
c = np.round(w)                    # zero
d = np.sqrt(v)                     # nan
e = (w * 3.0).detach()             # constant
f = np.abs(v)                      # kink
unused = w + 1.0                   # recorded
number = np.sum(a)                 # recorded
g = a * float(number)              # lost
loss = np.sum(b + c + d + e * w + f + g)  # flows
loss.backward()
print("printed", *sys.argv[1:])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program in a file."""
    path = tmp_path / "model.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_each_line_has_its_state(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--coverage", str(program), "--fail-under", "10", "--", "word"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split()[0] == "printed"
    expected = [line.rpartition("  # ")[2].strip() if "  # " in line else "" for line in PROGRAM.splitlines()]
    rows = shown[1 : 1 + len(expected)]
    found = [next((state for state, (sign, _) in STATES.items() if row.startswith(sign)), "") for row in rows]
    assert found == expected
    assert shown[-1] == "Gradients flow on 40 % of the lines with operations."


def test_a_bound_and_a_page(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = program.with_suffix(".html")
    assert main(["--coverage", str(program), "--html", str(page), "--fail-under", "50"]) == 1
    text = page.read_text(encoding="utf-8")
    assert '<span class="zero"><i>zero</i>   9 c = np.round(w)' in text
    assert "http" not in text
    capsys.readouterr()
