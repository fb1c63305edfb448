"""The tools that read the source, as tests: what is red here is red on the build machine."""

import ast
import configparser
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMMANDS = ["ruff check", "ruff format --check"]  # what mypy says is in test_typing.py


@pytest.mark.slow  # `make check` runs the tools themselves
@pytest.mark.parametrize("command", COMMANDS)
def test_tool_finds_nothing(command):
    tool, *options = command.split()
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed (extra dev)")
    command_line = [sys.executable, "-m", tool, *options]
    done = subprocess.run(command_line, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-8000:]}{done.stderr[-2000:]}"


def settings():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_mypy_is_strict():
    assert settings().getboolean("mypy", "strict")
    assert settings()["mypy"]["files"] == "autoflow"


def test_the_package_is_marked_as_typed():
    assert (ROOT / "autoflow" / "py.typed").exists()
    assert "py.typed" in settings()["options.package_data"]["autoflow"]


def test_pyproject_says_only_how_to_build():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"^\[.*\]$", text, re.MULTILINE) == ["[build-system]"]


def exceptions_of(text):
    """What coverage does not count, by setup.cfg: each exception, and the line above it."""
    found, inside, above = [], False, ""
    for line in text[text.index("[coverage:report]") : text.index("[mypy]")].splitlines():
        if not line.startswith("    "):
            inside = line in ("omit =", "exclude_also =")
        elif inside and not line.strip().startswith("#"):
            found.append((line.strip(), above))
        above = line.strip()
    return found


def test_coverage_has_a_floor_and_each_exception_a_reason():
    assert settings().getfloat("coverage:report", "fail_under") >= 95
    found = exceptions_of((ROOT / "setup.cfg").read_text(encoding="utf-8"))
    assert "if TYPE_CHECKING:" in dict(found)
    assert [exception for exception, above in found if not above.startswith("# ")] == []
    assert [name for name, _ in found if name.endswith(".py") and not (ROOT / name).exists()] == []


def test_an_exception_without_a_reason_is_seen():
    text = "[coverage:report]\nomit =\n    # Why.\n    a.py\n    b.py\nfail_under = 1\n\n[mypy]\n    c.py\n"
    assert exceptions_of(text) == [("a.py", "# Why."), ("b.py", "a.py")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such bit")
def test_the_build_machine_can_run_its_scripts():
    for name in ("coverage", "run", "peers", "pythons", "versions"):
        assert os.access(ROOT / ".ci" / name, os.X_OK), name


IGNORED = re.compile(r"#\s*(noqa(?!:)|type:\s*ignore(?!\[))", re.IGNORECASE)


def test_an_ignored_rule_is_named():
    for path in (ROOT / "autoflow").rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not IGNORED.search(line), f"{path}:{number} ignores every rule: name the one you mean"


def cannot_fail(test):
    """Is what an assert asks true whatever happens, or nearly so? Why, or None.

    ``... or True``; a constant, a lambda, a tuple; a name that equals itself; and ``a in t or b not in t``, of which
    a test means one: where b is rare, the second is always true.
    """
    if isinstance(test, (ast.Constant, ast.JoinedStr, ast.Lambda, ast.Tuple, ast.GeneratorExp)):
        return "always true" if getattr(test, "value", True) else None  # `assert False` marks what is not reached
    if isinstance(test, ast.BoolOp):
        parts = [cannot_fail(part) for part in test.values]
        if any(parts):
            return f"a part is {next(filter(None, parts))}"
        asked = [part for part in test.values if isinstance(part, ast.Compare)]
        where = [ast.dump(part.comparators[0]) for part in asked if isinstance(part.ops[0], (ast.In, ast.NotIn))]
        if isinstance(test.op, ast.Or) and any([isinstance(part.ops[0], ast.NotIn) for part in asked]):
            return "in or not in the same" if len(set(where)) < len(where) else None
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.LtE, ast.GtE)):
        same = isinstance(test.left, ast.Name) and ast.dump(test.left) == ast.dump(test.comparators[0])
        return "compared with itself" if same else None
    return None


def asserts(path):
    """Its asserts; of expressions, in which there are none, nothing is gone through."""
    waiting = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in waiting:
        blocks = [getattr(node, name, ()) for name in ("body", "orelse", "finalbody", "handlers", "cases")]
        waiting += [child for block in blocks if isinstance(block, list) for child in block]
    return [node for node in waiting if isinstance(node, ast.Assert)]


SOURCES = [
    path for folder in ("tests", "benchmarks", "autoflow", "docs") for path in sorted((ROOT / folder).rglob("*.py"))
]


def test_every_assert_can_fail():
    found = [(path, node, cannot_fail(node.test)) for path in SOURCES for node in asserts(path)]
    assert len(found) > 2000
    assert [f"{path.relative_to(ROOT)}:{node.lineno} {why}" for path, node, why in found if why] == []


@pytest.mark.parametrize(("text", "caught"), [
    ('f(x) == ["call"] or True', True), ('"a" in texts or "-a" not in texts', True),
    ('"v" not in values or "w" not in values', True), ("(x, 'a message')", True), ("x == x", True),
    ("lambda: x > 0", True), ("f(x) and 'text'", True), ('"a" in texts or "b" in texts', False),
    ('"a" not in texts or kind == "b"', False), ('"a" not in texts and "b" in texts', False),
    ("f(x) == f(x)", False),  # twice the same: a fair question
    ("f(x) or not x", False), ("False", False),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_an_assert_that_cannot_fail_is_seen(text, caught):
    (statement,) = ast.parse(f"assert {text}").body
    assert bool(cannot_fail(statement.test)) is caught


def test_no_line_of_autoflow_is_wider_than_a_page():
    """Ruff measures lines; so nobody turns it off, for rows of the table neither."""
    off = [path.name for path in (ROOT / "autoflow").rglob("*.py") if "noqa: E501" in path.read_text(encoding="utf-8")]
    assert off == []
