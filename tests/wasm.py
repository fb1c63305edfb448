"""The suite in the browser's Python: Pyodide, which has 32-bit integers, no threads and no floating-point flags.

    python tests/wasm.py nodes/test_nodes.py table/test_table.py

Pyodide and NumPy for it are those of the site: see site/runtime.py, which brings them, and the variable
AUTOFLOW_PYODIDE, which says where they are kept. pytest and hypothesis come from PyPI. Needs node, npm and pip.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "site"))

from runtime import UnavailableError, bring, pip  # noqa: E402 - from there

PACKAGES = ("pytest", "hypothesis", "graphviz")


def folder() -> Path:
    """The folder with everything in it, filled if it is not yet. Raises UnavailableError."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise UnavailableError(f"there is no {program}")
    place = bring("playground")
    if not (packages(place) / "complete").exists():
        try:
            pip("install", "--python-version", "3.14", "--platform", "any", "--target", str(packages(place)), *PACKAGES)
        except (OSError, subprocess.CalledProcessError) as error:
            raise UnavailableError(f"not to be had: {error}") from error
        (packages(place) / "complete").touch()
    return place


def packages(place: Path) -> Path:
    """Where PyPI's packages are. By this name af.compile knows that they are libraries."""
    return place / "site-packages"


def prefix(tree: Path) -> list[str]:
    """The command that runs pytest in Pyodide; its arguments follow. Raises UnavailableError."""
    place = folder()
    return ["node", str(HERE / "wasm.mjs"), str(place), str(tree), str(packages(place))]


if __name__ == "__main__":
    try:
        start = prefix(HERE.parent)
    except UnavailableError as reason:
        sys.exit(str(reason))
    wanted = ["-q", "--tb=short", "-m", "not slow and not browser", *[f"tests/{name}" for name in sys.argv[1:]]]
    sys.exit(subprocess.run([*start, "-p", "no:cacheprovider", *wanted], check=False).returncode)
