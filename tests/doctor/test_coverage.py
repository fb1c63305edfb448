"""Coverage of gradients: each line of a program has the state that it should have."""

from __future__ import annotations

import contextlib
import runpy
from pathlib import Path

import pytest

import autoflow as af
from autoflow.__main__ import main
from autoflow.doctor.coverage import STATES, Coverage

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
    assert rows[expected.index("lost")].endswith("# lost  <- float(number)")
    assert shown[-1] == "Gradients flow on 40 % of the lines with operations."


# Programs, each line with its state; a second word is what takes the numbers.
OTHERS = {
    "a class, called in a loop": """
import numpy as np
import autoflow as af
class Net:
    def __init__(self):
        self.w = af.Variable([1.0, 2.0])
    def __call__(self, x):
        return np.tanh(x * self.w)  # flows
net = Net()
for x in np.ones((3, 2)):
    loss = np.sum(net(x)) ** 2  # flows
    loss.backward()
    with af.no_grad():
        net.w -= 0.1 * net.w.grad
""",
    "numbers taken in several ways": """
import numpy as np
import autoflow as af
w = af.Variable([1.0, 2.0])
total = np.sum(w * float(np.mean(w)))  # lost float(np.mean(w))
total = total + np.sum(w) * w.max().item()  # lost w.max().item()
picked = np.max([float(v) for v in w])  # recorded
total = total + np.sum(w * picked)  # lost float(v)
total = total + np.sum(w * w.value)  # flows
(total + np.prod(w)).backward()  # flows
""",
    "overwritten": """
import numpy as np
import autoflow as af
w = af.Variable([1.0, 2.0])
a = np.sin(w)  # recorded
b = a * w  # overwritten
w.value = [3.0, 4.0]
np.sum(b).backward()  # flows
""",
    "comprehensions, lambdas and two passes": """
import numpy as np
import autoflow as af
w = af.Variable([1.0, -2.0])
parts = [np.exp(v) for v in w]  # flows
f = lambda v: np.maximum(v, 0.0)  # flows
g = lambda v: np.minimum(v, -9.0)  # zero
sum(parts).backward()  # flows
np.sum(f(w) + g(w) + np.floor(w)).backward()  # zero
unused = af.Constant(2.0) * 3.0
""",
    "kinks, and what is not a number": """
import numpy as np
import autoflow as af
w = af.Variable([0.0, 1.0])
a = np.sum(np.abs(w))  # kink
b = np.sum(np.maximum(w, 1.0))  # kink
c = np.sum(np.where(w > 0, np.sqrt(w), 0.0))  # nan
(a + b + c).backward()  # flows
""",
    "cut on purpose": """
import numpy as np
import autoflow as af
w = af.Variable([0.5, 1.0])
with af.no_grad():  # constant
    k = w * 2.0
t = af.stop_gradient(w * w)  # constant
np.sum(w * k + w * t).backward()  # flows
""",
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_other_programs(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(OTHERS[name], encoding="utf-8")
    seen = Coverage()
    with contextlib.suppress(af.errors.StaleValueError), seen.watch():
        runpy.run_path(str(path), run_name="__main__")
    for k, state, text in seen.rows(str(path)):
        wanted, _, taker = text.partition("  <- ")[0].partition("  # ")[2].partition(" ")
        assert (state, text.partition("  <- ")[2]) == (wanted, taker), (k, text)


def test_a_program_that_stops_is_shown_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    path.write_text(OTHERS["overwritten"], encoding="utf-8")
    assert main(["--coverage", str(path)]) == 1
    shown = capsys.readouterr()
    assert "w    6 b = a * w" in shown.out
    assert "StaleValueError" in shown.err
    path.write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    assert main(["--coverage", str(path)]) == 1
    capsys.readouterr()


def test_a_bound_and_a_page(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = program.with_suffix(".html")
    assert main(["--coverage", str(program), "--html", str(page), "--fail-under", "50"]) == 1
    text = page.read_text(encoding="utf-8")
    assert '<span class="zero"><i>zero</i>   9 c = np.round(w)' in text
    assert "http" not in text
    capsys.readouterr()
