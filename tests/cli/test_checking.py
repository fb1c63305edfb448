"""``python -m autoflow --check program.py``: gradients that a whole program loses."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest
from seeds import by_day

from autoflow.__main__ import main
from autoflow.cli.checking import first_difference, run_program

START = """\
import sys
import numpy as np
import autoflow as af

w = af.Variable(np.random.default_rng(0).normal(size=3))
for _ in range(2):
    w.zero_grad()
    h = np.tanh(w * 2.0)
"""
END = """
    loss.backward()
    w.assign(w.value - 0.1 * w.grad)
    print(float(loss), len(sys.argv))
"""
LOSES = {
    "array": "loss = np.sum(np.array([h, h]) * w)", "full": "loss = np.sum(np.full(3, h[0]) * w)",
    "asarray": "loss = np.sum(np.asarray(h) * w)", "dot": "loss = np.sum(np.ones(3).dot(h) * w)",
    "float32": "loss = np.sum(np.float32(h[1]) * w)",
    "variable": "v = af.Variable(np.asarray(h)); loss = np.sum(v * w)",
    "written": "a = np.zeros(3); a[:] = h; loss = np.sum(a * w)",
    "default": "loss = np.sum(np.select([w > 9.0], [w.value], default=np.asarray(h)) * w)",
}  # fmt: skip
KEEPS = {
    "stack": "loss = np.sum(np.stack([h, h]) * w)", "full": "loss = np.sum(af.full(3, h[0]) * w)",
    "value": "loss = np.sum(h.value * w) + float(h[0]) * np.sum(w)",
    "stopped": "loss = np.sum(af.stop_gradient(h) * h)", "for a plot": "seen = np.asarray(h) * 2; loss = np.sum(h * w)",
}  # fmt: skip


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Where the log of a run departs from the log of the shadow run, of a program that ends like this."""
    states = random.getstate(), np.random.get_state()
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", ["", *sys.path])

    def compare(middle):
        program = tmp_path / "program.py"
        program.write_text(START + "    " + middle + END)
        for log in "first", "shadow":
            run_program(str(tmp_path / log), str(program))
        return first_difference(*[(tmp_path / log).read_text().splitlines() for log in ("first", "shadow")])

    yield compare
    random.setstate(states[0])
    np.random.set_state(states[1])


@pytest.mark.parametrize("middle", LOSES.values(), ids=LOSES)
def test_lost_gradients_are_found_at_their_line(compare, middle):
    assert compare(middle).endswith("program.py:9")


@pytest.mark.parametrize("middle", KEEPS.values(), ids=KEEPS)
def test_numbers_that_leave_on_purpose_are_allowed(compare, middle):
    assert compare(middle) == ""


def run(path, text, *arguments):
    path.write_text(text)
    return main(["--check", str(path), *arguments])


def test_a_program_as_a_whole(tmp_path, capfd):
    program = tmp_path / "program.py"
    assert run(program, START + "    loss = np.sum(np.array([h, h]) * w)" + END, "-k", "2") == 1
    out, error = capfd.readouterr()
    *printed, message = out.splitlines()
    assert [line.split()[1] for line in printed] == ["3", "3"]  # what it prints, once; its own arguments
    assert "read past autoflow, first used in multiply, at " + str(program) + ":9. " in message
    assert error == ""


@pytest.mark.nightly
def test_a_program_that_loses_nothing(tmp_path, capfd):
    assert run(tmp_path / "program.py", "import autoflow as af\n(af.Variable(2.0) * 3.0).backward()") == 0
    assert capfd.readouterr().out == "Operations: 1. No numbers of nodes are read past autoflow.\n"


TAKEN = {
    "float": "loss = float(w[0]) * np.sum(w)", "int": "loss = int(1e12 * w[0]) * np.sum(w)",
    "item": "loss = w[0].item() * np.sum(w)", "tolist": "loss = np.sum(np.array(w.tolist()) * w)",
    "a loss of floats": "loss = af.Variable(float(np.sum(w * w))) * np.sum(w)",
}  # fmt: skip


@pytest.mark.parametrize("how", by_day(TAKEN, {"a loss of floats"}))
def test_numbers_that_are_taken_on_purpose_are_named(tmp_path, capfd, how):
    assert run(tmp_path / "program.py", START + "    " + TAKEN[how] + END) == 0
    assert "Numbers taken by float(x), x.item() or x.tolist() are computed with, first in" in capfd.readouterr().out


@pytest.mark.parametrize("how", by_day(["file", "name"], {"name"}))
def test_a_module_in_a_package(tmp_path, capfd, monkeypatch, how):
    folder = tmp_path / "models" / "small"
    folder.mkdir(parents=True)
    for place in folder.parent, folder:
        (place / "__init__.py").write_text("")
    (folder.parent / "parts.py").write_text("import numpy as np\ndef lost(w): return np.sum(np.array([w, w]) * w)\n")
    (folder / "train.py").write_text(
        "import sys\nimport autoflow as af\nfrom ..parts import lost\n"
        "print(__name__, len(sys.argv))\nlost(af.Variable([1.0, 2.0]) * 1.0).backward()\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["--check", "models.small.train" if how == "name" else str(folder / "train.py"), "-v"]) == 1
    out = capfd.readouterr().out
    assert out.startswith("__main__ 2\n")
    assert "parts.py:2" in out


@pytest.mark.parametrize(("program", "text"), [
    ("stray/main.py", "import parts; parts.work()"),  # a script beside an __init__.py
    ("plain.main", "from . import parts; parts.work()"),  # a package without one
    ("plain", "from plain import parts; parts.work()"),  # its __main__.py
])  # fmt: skip
def test_programs_run_as_by_python(tmp_path, capfd, monkeypatch, program, text):
    for folder in ("stray", "plain"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "parts.py").write_text(
            "import autoflow as af\ndef work(): (af.Variable(2.0) * 3).backward()"
        )
    (tmp_path / "stray" / "__init__.py").touch()
    file = {"plain": "plain/__main__.py", "plain.main": "plain/main.py"}.get(program, program)
    (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["--check", program]) == 0
    assert "Operations: 1. " in capfd.readouterr().out


def test_programs_that_cannot_be_compared(tmp_path, capfd):
    program = tmp_path / "program.py"
    text = (START + "    loss = np.sum(h * w)" + END).replace("default_rng(0)", "default_rng()")
    assert run(program, text) == 2
    assert "Give its random generators a seed" in capfd.readouterr().out
    assert run(program, "import sys; sys.exit(7)") == 7
    assert run(program, f"import os; os.mkdir({str(tmp_path / 'made')!r})") == 2
    assert "fails when it is run again, and without input, with FileExistsError" in capfd.readouterr().out
    assert main(["--check", str(tmp_path / "none.py")]) == 2
    assert "there is no program" in capfd.readouterr().err
