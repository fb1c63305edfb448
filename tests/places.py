"""What surroundings.py needs first: a locale, a copy of the files, another user, ... or why it cannot be had here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import wasm

ROOT = Path(__file__).parent.parent
NOBODY = 65534  # a user and a group that own nothing, on every Linux
HOMES = ("HOME", *[f"XDG_{name}" for name in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR")])


class Untried(Exception):
    """These surroundings cannot be had here; the message says why."""


@dataclass(frozen=True)
class Place:
    """Where the tests run. ``ready(place, scratch)`` makes what is needed first, and returns the place with it."""

    name: str
    env: dict[str, str]
    tests: tuple[str, ...]
    python: tuple[str, ...] = ()  # options of the interpreter
    before: tuple[str, ...] = ()  # the command that starts it
    tree: Path = ROOT
    ready: Callable[[Place, Path], Place] = lambda place, scratch: place
    pytest: tuple[str, ...] = ()  # more options of pytest
    runner: tuple[str, ...] = ()  # another command that runs pytest; then no probe


def with_locale(source: str) -> Callable[[Place, Path], Place]:
    """A locale of our own making in a folder of our own: nothing is installed."""

    def ready(place: Place, scratch: Path) -> Place:
        name = f"{source}.UTF-8"
        try:
            command = ["localedef", "-i", source, "-f", "UTF-8", str(scratch / name)]
            subprocess.run(command, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Untried(f"localedef makes no {name} ({error})") from error
        return replace(place, env=place.env | {"LOCPATH": str(scratch), "LC_ALL": name})

    return ready


def without_cpu(*prefixes: str) -> Callable[[Place, Path], Place]:
    """NumPy without those of the processor's abilities that it would choose loops by."""

    def ready(place: Place, scratch: Path) -> Place:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

        there = [name for name in __cpu_dispatch__ if __cpu_features__.get(name) and name.startswith(prefixes)]
        if not there:
            raise Untried(f"this processor, or this NumPy, has no {' '.join(prefixes)}")
        return replace(place, env=place.env | {"NPY_DISABLE_CPU_FEATURES": " ".join(there)})

    return ready


def copied(name: str) -> Callable[[Place, Path], Place]:
    """The files in a folder of that name: those that git has, and new ones."""

    def ready(place: Place, scratch: Path) -> Place:
        tree = scratch / name
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False).stdout
        if not files:
            raise Untried("git lists no files: this is no checkout")
        for file in filter(None, files.split("\0")):
            if (ROOT / file).exists():  # and not just deleted
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, tree / file)
        return replace(place, tree=tree)

    return ready


def as_nobody(place: Place, scratch: Path) -> Place:
    """Another user, who may read the files and write nothing but a temporary folder."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Untried("only root can become another user, by setpriv")
    place = copied("tree")(place, scratch)
    mine = scratch / "tmp"
    mine.mkdir()
    os.chown(mine, NOBODY, NOBODY)
    scratch.chmod(0o755)
    before = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    again = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', 'import numpy']).returncode)"
    if subprocess.run([*before, sys.executable, "-c", again], cwd="/", check=False, capture_output=True).returncode:
        raise Untried(f"nobody may not run {sys.executable}")
    return replace(place, before=before, env=place.env | {"TMPDIR": str(mine)})


def read_only(place: Place, scratch: Path) -> Place:
    """Files and a home folder that nobody may write: not even root, whose powers are taken away."""
    place = copied("tree")(place, scratch)
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        before = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
        place = works(*before)(place, scratch)
    (scratch / "tmp").mkdir()
    for path in [place.tree, *place.tree.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    home = dict.fromkeys(HOMES, str(place.tree))
    return replace(place, before=before, env=place.env | home | {"TMPDIR": str(scratch / "tmp")})


def works(*before: str) -> Callable[[Place, Path], Place]:
    """If that command can start another one here."""

    def ready(place: Place, scratch: Path) -> Place:
        try:
            subprocess.run([*before, "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Untried(str(error)) from error
        return replace(place, before=before)

    return ready


def in_pyodide(place: Place, scratch: Path) -> Place:
    """The Python of browsers, under node."""
    try:
        return replace(place, runner=tuple(wasm.prefix(place.tree)))
    except wasm.UnavailableError as reason:
        raise Untried(str(reason)) from reason
