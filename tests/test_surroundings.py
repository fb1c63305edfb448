"""The cheap rows of surroundings.py always; all of them by night."""

import subprocess
import sys

import pytest
import surroundings
from places import ROOT, Untried
from seeds import by_day
from surroundings import CHEAP, PLACES, counted, row, run


@pytest.mark.parametrize("place", by_day(PLACES, CHEAP, lambda place: place.name))
def test_surroundings(place):
    """Nothing fails there, or the row cannot be tried and says why."""
    outcome = run(place)
    if outcome.untried:
        pytest.skip(outcome.said)
    assert not outcome.failed, str(outcome)


def test_names_and_files_are_there():
    names = [place.name for place in PLACES]
    assert len(set(names)) == len(names)
    for test in {test for place in PLACES for test in place.tests}:
        file, _, function = test.partition("::")
        assert not function or f"def {function}(" in (ROOT / "tests" / file).read_text("utf-8"), test
        assert (ROOT / "tests" / file).exists(), test


def test_what_fails_is_said(capsys, monkeypatch):
    monkeypatch.setattr(surroundings, "PLACES", [row("broken", {"PYTHONHASHSEED": "no number"}, ())])
    assert surroundings.main(["broken"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("broken ")
    assert "probe failed" in out
    assert "PYTHONHASHSEED" in out


def test_a_probe_that_finds_another_number_fails():
    wrong = "import runpy, autoflow; autoflow.compile = lambda f: lambda x: [6, 6]; runpy.run_path('tests/probe.py')"
    done = subprocess.run([sys.executable, "-OO", "-c", wrong], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"compiled: [6, 6], not [5.0, 6.0]" in done.stderr


def test_what_cannot_be_tried_is_no_failure(capsys, monkeypatch):
    def ready(place, scratch):
        raise Untried("the moon is not full")

    monkeypatch.setattr(surroundings, "PLACES", [row("moon", ready=ready)])
    assert surroundings.main([]) == 0
    assert "could not be tried: the moon is not full" in capsys.readouterr().out


@pytest.mark.parametrize(("code", "out", "said", "failed"), [
    (0, "..\n2 passed in 0.1s\n", "2 passed", False),
    (1, "FAILED a.py::test_b - no\n1 failed, 2 passed in 0.1s\n", "1 failed, 2 passed", True),
    (4, "no tests ran in 0.1s\n", "no tests ran", True), (-11, "", "nothing was said", True),
])  # fmt: skip
def test_pytest_is_understood(code, out, said, failed):
    found = counted(subprocess.CompletedProcess([], code, out, ""))
    assert found[0] == said
    assert bool(found[1]) is failed


def test_an_unknown_name_is_told_the_names(capsys):
    assert surroundings.main(["nowhere"]) == 2
    assert "locale-turkish" in capsys.readouterr().out
