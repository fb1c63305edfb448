"""Skips: each has a reason of the table in tests/support/skips.py, and a run counts them."""

import ast
import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
import skips

HERE = Path(__file__).parent


def reasons(tree):
    """The reasons that a file writes out, and those that pytest makes of a package that is not there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, given = node.func.attr, [k.value for k in node.keywords if k.arg == "reason"]
            if name == "skip":
                given += node.args[:1]
            elif name == "importorskip" and not given and isinstance(node.args[0], ast.Constant):
                yield f"could not import '{node.args[0].value}': No module named '...'"
            if name in ("skip", "skipif", "importorskip"):
                yield from [reason.value for reason in given if isinstance(reason, ast.Constant)]


def test_each_reason_that_is_written_somewhere_is_in_the_table():
    texts = {path.name: text for path in HERE.rglob("*.py") if b"skip" in (text := path.read_bytes())}
    written = {(name, reason) for name, text in texts.items() for reason in reasons(ast.parse(text))}
    assert len(written) > 40
    assert sorted([(name, reason) for name, reason in written if skips.kind(reason) is None]) == []


@pytest.mark.parametrize(("reason", "expected"), [
    ("could not import 'scipy.special': No module named 'scipy'", "SciPy is not installed"),
    ("could not import 'scipy.special': undefined symbol: dgemm_", None),
    ("could not import 'numpy': No module named 'numpy'", None),
    ("Skipped: there is a GPU: see tests/backends/test_gpu.py", "for machines without a GPU"),
    ("could not be tried: git lists no files\nat all", "these surroundings cannot be had"),
    ("got empty parameter set for (f)", None), ("today it fails", None), ("", None),
])  # fmt: skip
def test_which_row_of_the_table(reason, expected):
    assert skips.kind(reason) == expected


TESTS = """
import pytest

def test_passes():
    pass

@pytest.mark.parametrize("k", range(3))
def test_known(k):
    pytest.skip("needs CuPy and a GPU")

@pytest.mark.skipif(True, reason="its operands are no numbers")
def test_marked():
    pass

def test_unknown():
    pytest.skip("today it fails")

@pytest.mark.skip(reason="one day")
def test_unknown_mark():
    pass

@pytest.mark.parametrize("k", [])
def test_nothing_to_try(k):
    pass

@pytest.mark.xfail(reason="a bug")
def test_expected():
    assert False
"""


XDIST = ["-n2"] if importlib.util.find_spec("xdist") else []  # the hooks are in two kinds of processes then


def run(folder, *options, **env):
    """pytest on the tests of a folder, with the hooks of skips.py and without our settings."""
    (folder / "empty.ini").write_text("[pytest]\n")
    settings = ["-q", "-c", "empty.ini", "-p", "no:cacheprovider", "-p", "skips"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *settings, *options, "."],
        cwd=folder, capture_output=True, encoding="utf-8", check=False,
        env=os.environ | {"PYTHONPATH": str(HERE / "support"), "CI": "", **env},  # else pytest says it at length
    )  # fmt: skip


def test_a_run_counts_skips_and_fails_if_it_does_not_know_why(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_known.py").write_text("import pytest\npytest.skip('glibc only', allow_module_level=True)")
    (tmp_path / "test_unknown.py").write_text("import pytest\npytest.importorskip('nowhere.to_be')")
    lines = run(tmp_path, *XDIST, "--continue-on-collection-errors").stdout.splitlines()
    for line in ("    3 skipped: no GPU", "    1 skipped: another system", "    1 skipped: the example has no numbers"):
        assert line in lines
    for reason in ("today it fails", "one day", "got empty parameter set for (k)", "No module named 'nowhere'"):
        (place,) = [k for k, line in enumerate(lines) if line.endswith(reason)]
        assert lines[place + 1] == "This reason to skip is not in REASONS of tests/support/skips.py."
    assert lines[-1].startswith("1 failed, 1 passed, 5 skipped, 1 xfailed, 3 errors in")


def test_a_run_with_more_skips_than_are_allowed_fails(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS.partition("@pytest.mark.skipif")[0])
    (tmp_path / "most.txt").write_text("# reasons\n2 no GPU\n")
    done = run(tmp_path, AUTOFLOW_MOST_SKIPS="most.txt")
    assert done.returncode == 1
    assert "FAILED: 3 skipped: no GPU; most.txt allows 2" in done.stdout.splitlines()


@pytest.mark.parametrize(("most", "allowed"), [("3 no GPU", None), ("any no GPU", None), ("2 no GPU", 2), ("3 x", 0)])
def test_how_many_skips_are_too_many(most, allowed, tmp_path, monkeypatch):
    path = tmp_path / "most.txt"
    path.write_text(f"# reasons\n{most}\n")
    monkeypatch.setattr(skips, "MOST", str(path))
    skipped = [types.SimpleNamespace(longrepr=("test_some.py", 1, "Skipped: needs CuPy and a GPU"))] * 3
    found = skips.too_many(types.SimpleNamespace(stats={"skipped": skipped}))
    assert found == ([] if allowed is None else [f"3 skipped: no GPU; {path} allows {allowed}"])


def test_the_list_of_ci_names_reasons_of_the_table():
    lines = (HERE.parent / ".ci" / "skips.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split(maxsplit=1)[1] for line in lines if not line.startswith("#")]
    assert len(names) > 10
    assert set(names) <= set(skips.REASONS)
