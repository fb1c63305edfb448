"""The files of others that the site needs: Python for browsers (Pyodide), NumPy for it, KaTeX, packages of lessons.

    python site/runtime.py playground lessons    bring these parts into build/pyodide, or where AUTOFLOW_PYODIDE says

``runtime.toml`` lists each file with its SHA-256, and nothing else is accepted, wherever it comes from. It is looked
for in the folder, then among the packages of npm and of PyPI under its own name, then in a package that carries it.
(NumPy has no wheel for browsers on PyPI yet.) npm and pip fetch, so their settings hold.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VARIABLE = "AUTOFLOW_PYODIDE"  # names the folder; its default is build/pyodide of the checkout
PLATFORM = "pyemscripten_2026_0_wasm32"  # of wheels, as PEP 783 calls it
Sums = dict[str, str]  # name of a file -> its SHA-256


class UnavailableError(Exception):
    """Files that cannot be had here; the message says which, and why."""


def listed() -> dict[str, Any]:
    """``runtime.toml``: the files by name, and the package that carries wheels along."""
    return tomllib.loads((HERE / "runtime.toml").read_text(encoding="utf-8"))


def files_of(*parts: str) -> dict[str, dict[str, str]]:
    """The listed files of these parts: name -> sha256, source."""
    known = listed()["file"]
    unknown = set(parts) - {row["part"] for row in known.values()}
    if unknown:
        raise ValueError(f"no part {', '.join(sorted(unknown))} in runtime.toml")
    return {name: row for name, row in known.items() if row["part"] in parts}


def folder() -> Path:
    """Where the files are kept."""
    return Path(os.environ.get(VARIABLE) or HERE.parent / "build" / "pyodide").expanduser().resolve()


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def missing(place: Path, *parts: str, only: Collection[str] = ()) -> Sums:
    """What is not in the folder, or is there with another content. ``only``: these files of the parts."""
    sums = {name: row["sha256"] for name, row in files_of(*parts).items() if not only or name in only}
    return {n: s for n, s in sums.items() if not (place / n).is_file() or digest(place / n) != s}


def bring(*parts: str, place: Path | None = None, only: Collection[str] = ()) -> Path:
    """The folder with all files of these parts in it, or with those of ``only``. Raises UnavailableError."""
    place = place or folder()
    rows, wanted, troubles = files_of(*parts), missing(place, *parts, only=only), []
    place.mkdir(parents=True, exist_ok=True)
    for source in (from_npm, from_index, from_carrier):
        if wanted:
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    take({n: rows[n] for n in wanted}, source, Path(scratch), place)
                except (OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as error:
                    troubles.append(f"{source.__name__}: {error}")
            wanted = missing(place, *parts, only=only)
    if wanted:
        raise UnavailableError(f"not to be had: {', '.join(wanted)}. {'; '.join(troubles)}")
    return place


def take(rows: dict[str, dict[str, str]], source: Any, scratch: Path, place: Path) -> None:
    """Keep those files of a source that have the right sum."""
    for name, data in source(rows, scratch):
        if hashlib.sha256(data).hexdigest() == rows[name]["sha256"]:
            (place / name).write_bytes(data)


def from_npm(rows: dict[str, dict[str, str]], scratch: Path) -> Iterator[tuple[str, bytes]]:
    """Files of npm packages: ``npm = "pyodide@314.0.3/package/pyodide.mjs"``."""
    packages = sorted({row["npm"].partition("/")[0] for row in rows.values() if "npm" in row})
    npm = shutil.which("npm")
    if packages and npm is None:
        raise OSError("there is no npm")
    for package in packages:
        command(str(npm), "pack", "--loglevel=error", "--pack-destination", str(scratch), package)
        with tarfile.open(scratch / f"{package.replace('@', '-')}.tgz") as archive:
            for name, row in rows.items():
                if row.get("npm", "").startswith(f"{package}/"):
                    member = archive.extractfile(row["npm"].partition("/")[2])
                    if member is not None:
                        yield name, member.read()


def from_index(rows: dict[str, dict[str, str]], scratch: Path) -> Iterator[tuple[str, bytes]]:
    """Wheels that the index has under their own name."""
    for name in rows:
        if name.endswith(".whl"):
            project, version = name.split("-")[:2]
            tags = ["--platform", PLATFORM, "--platform", "any", "--python-version", "3.14", "--implementation", "cp"]
            try:
                pip("download", "--no-deps", *tags, "--dest", str(scratch), f"{project}=={version}")
            except subprocess.CalledProcessError:
                continue
            if (scratch / name).exists():
                yield name, (scratch / name).read_bytes()


def from_carrier(rows: dict[str, dict[str, str]], scratch: Path) -> Iterator[tuple[str, bytes]]:
    """Wheels inside a wheel: another project ships Pyodide's own files, unchanged."""
    pip("download", "--no-deps", "--python-version", "3.12", "--dest", str(scratch), listed()["carrier"])
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as archive:
        for member in archive.namelist():
            name = member.rpartition("/")[2]
            if name in rows:
                yield name, archive.read(member)


def command(*words: str) -> None:
    """Run a program; an error says what it printed."""
    done = subprocess.run(words, check=False, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        last = re.sub(r"\s+", " ", printed(done, 300))
        raise subprocess.CalledProcessError(done.returncode, f"{Path(words[0]).name} ... {words[-1]}: {last}")


def printed(done: subprocess.CompletedProcess[str], length: int) -> str:
    """The ends of what a program printed. Some tell the reason of a failure on stdout, and only warnings on stderr."""
    texts = {"stdout": done.stdout.strip(), "stderr": done.stderr.strip()}
    return "\n".join([f"{name}: {text[-length:]}" for name, text in texts.items() if text])


def pip(*words: str) -> None:
    """Wheels alone: nothing is built."""
    command(sys.executable, "-m", "pip", words[0], "--quiet", "--only-binary=:all:", *words[1:])


def main(parts: Collection[str]) -> None:
    """Bring the parts and say where they are."""
    try:
        place = bring(*parts)
    except UnavailableError as reason:
        sys.exit(str(reason))
    names = files_of(*parts)
    print(f"{place}: {len(names)} files, {sum((place / n).stat().st_size for n in names) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:] or ["playground"])
