"""The pinned versions of ``.ci/constraints/``: complete, and for the Pythons that setup.cfg names."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".ci" / "constraints"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="not a checkout")


def setting() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def tried() -> list[str]:
    return re.findall(r"Python :: (3\.\d+)", setting()["metadata"]["classifiers"])


def required(extras: list[str]) -> set[str]:
    """Names of all packages that setup.cfg asks for, of these extras and those that they name."""
    parser, todo = setting(), list(extras)
    texts = [parser["options"]["install_requires"]]
    while todo:
        texts.append(parser["options.extras_require"][todo.pop()])
        for named in re.findall(r"autoflow\[(.+)\]", texts[-1]):
            todo += named.split(",")
    lines = "\n".join(texts).split("\n")
    return {re.match(r"[\w.-]+", line.strip())[0].lower() for line in lines if line.strip()} - {"autoflow"}


def pins(name: str) -> dict[str, str]:
    """Package and version of one file."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("version", tried())
def test_every_package_of_every_extra_is_pinned(version: str) -> None:
    assert required(list(setting()["options.extras_require"])) | {"pip", "setuptools"} <= set(pins(version))


def test_with_the_oldest_numpy_every_package_of_dev_is_pinned() -> None:
    """So that `make versions`, which runs everything there, does not change with the day."""
    asked = required(["dev"])
    assert {"numpy", "pytest", "ruff", "jupyterlab", "pdoc", "scikit-learn"} <= asked
    assert asked | {"pip", "setuptools"} <= set(pins("oldest"))


def test_there_is_a_file_for_each_python_that_is_named_and_no_other() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*tried(), "oldest"}


def test_the_oldest_numpy_is_the_declared_one() -> None:
    declared = re.search(r"numpy>=([\d.]+)", setting()["options"]["install_requires"])[1]
    assert pins("oldest")["numpy"].startswith(declared)


def test_users_are_not_bound() -> None:
    """No upper bound for NumPy, and the minimum is that of the README."""
    requires = setting()["options"]["install_requires"]
    assert "<" not in requires
    assert "==" not in requires
    declared = re.search(r"numpy>=([\d.]+)", requires)[1]
    assert f"NumPy {declared} or newer" in (ROOT / "README.md").read_text(encoding="utf-8")
