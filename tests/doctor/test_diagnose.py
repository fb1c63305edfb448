"""The doctor finds what is wrong in a sick program, and nothing in its healthy twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sick_programs import PROGRAMS

import autoflow as af
from autoflow.doctor.findings import KINDS, Diagnosis

CASES = [(kind, k) for kind, pairs in PROGRAMS.items() for k in range(len(pairs))]


def examine(program: Any) -> Diagnosis:
    """What is found in one of the programs."""
    made = program()
    if callable(made) and getattr(made, "__code__", None) is not None and made.__code__.co_name == "<lambda>":
        result = made()
        if isinstance(result, tuple):
            return result[0].diagnose(*result[1:])
    return af.diagnose(made)


@pytest.mark.parametrize(("kind", "k"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_sick_program(kind: str, k: int) -> None:
    found = examine(PROGRAMS[kind][k][0])
    assert found.kinds[0] == kind, str(found)
    assert len(found) <= 2, str(found)


@pytest.mark.parametrize(("kind", "k"), CASES)
def test_its_healthy_twin(kind: str, k: int) -> None:
    found = examine(PROGRAMS[kind][k][1])
    assert not found, str(found)


def test_every_kind_has_a_program() -> None:
    assert set(PROGRAMS) == set(KINDS)
