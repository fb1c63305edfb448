"""Findings and reports: their kinds, their texts, what they advise."""

import inspect
import operator
import re
from pathlib import Path

import numpy as np
from sick_programs import PROGRAMS

import autoflow as af
from autoflow.doctor.findings import KINDS, Diagnosis


def test_every_kind_has_a_program_and_its_row_in_the_documentation():
    assert set(PROGRAMS) == set(KINDS)
    page = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8").partition("| finding |")[2]
    assert tuple(re.findall(r"^\| ([a-z ]+) \|", page, re.MULTILINE)[: len(KINDS)]) == KINDS


def test_what_a_report_gives():
    x = af.Variable([0.0, 4.0], name="x")
    found = np.sum(np.sqrt(x)).diagnose()
    assert found
    data = found.to_dict()
    assert data["findings"][0]["kind"] == "infinite slope"
    assert data["findings"][0]["place"]["text"] == "np.sqrt(x)"
    assert data["findings"][0]["index"] == [0]
    place = f"line {data['findings'][0]['place']['line']} of test_findings.py: np.sqrt(x)"
    assert f"x[0] = 0 is inf</b><br><code>{place}</code><br>Keep its argument above 0" in found._repr_html_()
    assert repr(np.sum(np.sqrt(x + 1.0)).diagnose()).startswith("Nothing found. Examined: 3 operations")


def test_what_advice_names_is_there():
    for path in (Path(inspect.getfile(Diagnosis)).parent).glob("*.py"):
        for name in re.findall(r"\baf\.((?:\w+\.)*\w+)", path.read_text(encoding="utf-8")):
            assert operator.attrgetter(name)(af) is not None, f"{path.name}: af.{name}"
