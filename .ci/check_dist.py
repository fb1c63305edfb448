"""Are the wheel and the sdist in ``dist/`` what users should get? ``make dist``, or ``TAG=v0.2.0 make dist``.

The wheel holds the package and nothing else, the sdist also the examples. The wheel, installed with what it asks for in
an environment of its own, runs every example that does without SciPy.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"}
MADE = {"MANIFEST.in", "PKG-INFO", "pyproject.toml", "setup.cfg"}


def find_version(path: str, pattern: str) -> str:
    """What the first group of the pattern matches in a file of the project."""
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else f"none in {path}"


def check_versions(tag: str) -> list[str]:
    """One version everywhere; a tag is that version, and the changelog has a chapter about it."""
    version = find_version("autoflow/__init__.py", r'^__version__ = "(.+)"$')
    wrong = []
    if (cited := find_version("CITATION.cff", r"^version: (.+)$")) != version:
        wrong.append(f"CITATION.cff has version {cited}, the package {version}")
    if tag and tag != f"v{version}":
        wrong.append(f"the tag is {tag}, the version {version}")
    if tag and not re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        wrong.append(f"CHANGELOG.md has no chapter {version}")
    return wrong


def package_files(folder: str, *endings: str) -> set[str]:
    """The files of a folder of the project, as paths from its root."""
    return {str(p.relative_to(ROOT).as_posix()) for p in (ROOT / folder).rglob("*") if p.suffix in endings}


def compare(what: str, there: set[str], expected: set[str]) -> list[str]:
    """Sentences about what is missing, and what is too much."""
    wrong = [f"{what} lacks {name}" for name in sorted(expected - there)]
    return wrong + [f"{what} should not have {name}" for name in sorted(there - expected)]


def check_contents(wheel: Path, sdist: Path) -> list[str]:
    """Exactly these files."""
    package = package_files("autoflow", ".py", ".css", ".js", ".toml", ".typed", ".md")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if not re.match(r"autoflow-[\w.]+\.dist-info/", name)}
    with tarfile.open(sdist) as archive:
        names = [member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()]
    in_sdist = {name for name in names if not name.startswith("autoflow.egg-info/")}
    wrong = compare("the wheel", in_wheel, package)
    return wrong + compare("the sdist", in_sdist, package | package_files("examples", ".py") | PAGES | MADE)


def check_installed(wheel: Path) -> list[str]:
    """In a new environment, away from the project."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "bare"), with_pip=True)
        python = str(Path(folder, "bare", "Scripts" if sys.platform == "win32" else "bin", "python"))
        pip = [python, "-I", "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", str(wheel)], check=True)
        commands = [[*pip, "check"], [python, "-I", "-m", "autoflow", "--version"]]
        scripts = [path for path in (ROOT / "examples").glob("*.py") if "Needs SciPy" not in path.read_text("utf-8")]
        commands += [[python, "-I", "-X", "utf8", str(path)] for path in sorted(scripts)]
        ran = [subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False) for command in commands]
    return [f"{' '.join(done.args[2:])} failed: {done.stderr}" for done in ran if done.returncode]


def main(tag: str) -> None:
    """Check; exit with what is wrong."""
    wheels, sdists = list((ROOT / "dist").glob("*.whl")), list((ROOT / "dist").glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        sys.exit(f"dist/ should have one wheel and one sdist, not {len(wheels)} and {len(sdists)}")
    wrong = [*check_versions(tag), *check_contents(wheels[0], sdists[0]), *check_installed(wheels[0])]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{wheels[0].name} and {sdists[0].name} are all right")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
