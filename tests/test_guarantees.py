"""docs/guarantees.md names the tests that hold its lines: they must be there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from doors import BEGIN, DOORS, END, ON_EVERY_PYTHON, PAGE, row

ROOT = Path(__file__).parent.parent


def test_each_line_has_a_test() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    text = text.split(BEGIN)[0] + text.split(END)[1]
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(lines) > 20
    for line in lines:
        found = re.findall(r"`(tests/[\w/]+\.py)`", line.rsplit("|", 2)[1])
        assert found, line
        for name in found:
            assert "def test_" in (ROOT / name).read_text(encoding="utf-8")


LIBRARIES = {"scipy": "scipy", "csr": "scipy", "pandas": "pandas"}


@pytest.mark.parametrize("name", [name for doors in DOORS.values() for name in doors])
def test_what_happens_at_each_door_is_as_the_table_says(name: str) -> None:
    for word, library in LIBRARIES.items():
        if word in name:
            pytest.importorskip(library)
    page = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].splitlines()
    columns = None if sys.version_info >= (3, 12) else 1 + ON_EVERY_PYTHON  # and the door
    assert row(name).split(" | ")[:columns] in [line.split(" | ")[:columns] for line in page]
