"""The tools that read the source, as tests: what is red here is red on the build machine."""

import configparser
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMMANDS = ["ruff check", "ruff format --check", "mypy"]  # mypy's files and strictness are in setup.cfg


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


def test_the_extras_are_there():
    promised = "gpu gpu-test scipy draw widget notebooks docs bench dev"
    assert set(promised.split()) <= set(settings()["options.extras_require"])


def test_only_numpy_and_graphviz_are_required():
    required = settings()["options"]["install_requires"].split()
    assert [re.split(r"\W", line)[0] for line in required] == ["numpy", "graphviz"]


def test_the_package_is_marked_as_typed():
    assert (ROOT / "autoflow" / "py.typed").exists()
    assert "py.typed" in settings()["options.package_data"]["autoflow"]


def test_pyproject_says_only_how_to_build():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"^\[.*\]$", text, re.MULTILINE) == ["[build-system]"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such bit")
def test_the_build_machine_can_run_its_script():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


IGNORED = re.compile(r"#\s*(noqa(?!:)|type:\s*ignore(?!\[))", re.IGNORECASE)


@pytest.mark.parametrize("path", sorted((ROOT / "autoflow").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_an_ignored_rule_is_named(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        assert not IGNORED.search(line), f"{path.name}:{number} ignores every rule: name the one you mean"
