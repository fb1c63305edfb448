"""``compiled.plan()``: the calls of a compiled step; with ``profile=True`` how long each of them takes."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import autoflow as af
from autoflow.compiler import report
from autoflow.errors import CompileError


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """A few runs are enough to see what is measured."""
    monkeypatch.setattr(report, "SECONDS", 0.01)


def test_each_call_has_its_time():
    f = af.compile(lambda x: np.sum(np.cumsum(np.tanh(x) * 2.0)))
    f(np.ones(20_000))
    found = f.plan(profile=True)
    assert [row[1] for row in found.rows] == ["tanh", "multiply", "cumsum", "add.reduce"]
    assert len(found.times) == 4
    assert all(0 < t < 1 for t in found.times)
    assert found.times[0] > found.times[1]  # a tanh takes longer than a product
    lines = str(found).splitlines()
    assert lines[0].startswith(report.in_units(found.seconds) + " a run (the least of ")
    assert "tanh        (20000,)" in lines[2]
    assert lines[2].split()[2].isdigit()  # per cent
    assert str(f.plan()) == "\n".join([str(f.plan()).splitlines()[0], *[line[16:] for line in lines[1:]]])


def test_a_coarse_clock_is_no_error():
    """The clock of browsers counts in tenths of a millisecond: the shortest of many runs takes no time at all."""
    f = af.compile(lambda x: np.sum(np.cumsum(np.tanh(x) * 2.0)))
    f(np.ones(3))
    found = f.plan(profile=True)
    found.times = [0.0] * 4
    assert str(found).splitlines()[2].split()[2:4] == ["0", "%"]


def test_a_slow_call_is_found():
    f = af.compile(lambda x: np.linalg.inv(x * 2.0) + 1.0)
    f(np.eye(120) + 1.0)
    found = f.plan(np.eye(120) + 2.0, profile=True)
    assert max(zip(found.times, [row[1] for row in found.rows], strict=True))[1] == "inv"


def test_arguments_choose_the_program():
    f = af.compile(lambda x: np.tanh(x) * 2.0)
    small, large = np.ones(3), np.ones(4)
    f(small)
    f(large)
    assert "(3,)" in str(f.plan(small))
    assert "(3,)" in str(f.plan(small, profile=True))
    assert "(4,)" in str(f.plan(large, profile=True))
    assert "(5,)" in str(f.plan(np.ones(5), profile=True))  # recorded by that


def test_without_arguments_random_ones_are_taken():
    def f(x, n, flags):
        return np.where(flags, x * n, x.T * 2.0).sum(axis=0)

    compiled = af.compile(f)
    compiled(np.asfortranarray(np.ones((3, 3))), np.array(2), np.array([True, False, True]))
    assert len(compiled.plan(profile=True).times) == 5  # the view, two products, where, sum
    picky = af.compile(lambda x: np.linalg.cholesky(x))
    picky(np.eye(3))
    with pytest.raises(CompileError, match=r"random arguments, and ended in LinAlgError.*plan\(x, y, profile=True\)"):
        picky.plan(profile=True)
    assert len(picky.plan(np.eye(3), profile=True).times) == 1
    with pytest.raises(CompileError, match="call the compiled function once"):
        af.compile(np.tanh).plan(profile=True)


def test_programs_of_numbers_have_one_time():
    f = af.compile(lambda x, y: np.exp(x * y) + np.log(x) * y)
    f(np.array(1.0), np.array(2.0))
    found = f.plan(profile=True)
    assert not found.times
    assert 0 < found.seconds < 1
    assert "operations on numbers" in str(found)
    assert str(f.plan()) == "5 operations on numbers"
    assert "<svg" in f.plan().svg()


def test_a_profile_changes_nothing():
    f = af.compile(lambda x: np.tanh(x) * 2.0)
    x = np.linspace(0.0, 1.0, 5)
    expected = f(x)
    f.plan(x, profile=True)
    np.testing.assert_array_equal(f(x), expected)
    assert len(f.entries) == 1


def test_units():
    assert [report.in_units(t) for t in (2e-8, 1.234e-5, 1.5e-4, 0.01234, 0.5)] == [
        "0.02 µs", "12.3 µs", "150 µs", "12.3 ms", "500 ms"
    ]  # fmt: skip


def test_a_stretch_of_loops_is_one_call():
    """With the reasons why the other calls are no loops."""
    pytest.importorskip("llvmlite")

    def f(x, w):
        h = np.tanh(x @ w)
        return np.sum(h * h, axis=1), np.sort(h, axis=0)

    compiled = af.compile(f, engine="llvm")
    x, w = np.ones((50, 8)), np.ones((8, 9))
    compiled(x, w)
    text = str(compiled.plan(x, w, profile=True))
    assert text.splitlines()[2].split()[3:6] == ["%", "1", "loops"]
    assert "loops of 1:\n    1 × matmul  (50, 8, 9)" in text
    assert "2 is NumPy's: no loop has it" in text


def test_report():
    compiled = af.compile(lambda x, w: np.tanh(x @ w).sum(axis=0))
    with pytest.raises(af.errors.CompileError, match="call the compiled function once"):
        compiled.plan()
    compiled(np.ones((20, 3)), np.ones((3, 2)))
    report = compiled.plan()
    assert str(report).splitlines() == [
        "3 NumPy calls, 1 buffer of 320 bytes in all",
        "    call        shape    dtype    operands  into",
        " 1  product     (20, 2)  float64  x0 x1     buffer 0",
        " 2  tanh        (20, 2)  float64  1         buffer 0",
        " 3  add.reduce  (2,)     float64  2         result 0",
    ]
    assert (report.calls, report.bytes, report.groups) == (3, 320, 0)
    for theme in ("light", "dark"):
        root = ET.fromstring(report.svg(theme))
        titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
        assert titles == ["1 product", "2 tanh"]
    assert "<svg" in report._repr_html_()
    assert "tanh" in report._repr_html_()
