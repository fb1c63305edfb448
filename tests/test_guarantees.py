"""docs/guarantees.md names the tests that hold its lines: they must be there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_each_line_has_a_test() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(lines) > 20
    for line in lines:
        found = re.findall(r"`(tests/[\w/]+\.py)`", line.rsplit("|", 2)[1])
        assert found, line
        for name in found:
            assert "def test_" in (ROOT / name).read_text(encoding="utf-8")
