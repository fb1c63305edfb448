"""Pin every package of every extra, pip and setuptools too: ``make constraints``.

For each Python that is found (``.ci/pythons``), or named as an argument, the newest versions that fit together go into
``.ci/constraints/3.12.txt``; ``oldest.txt`` has the oldest NumPy that setup.cfg allows, on the oldest Python. pip
resolves them without installing anything. ``make test`` and ``make demo`` install from these files, users do not.
"""

from __future__ import annotations

import configparser
import datetime
import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".ci" / "constraints"


def read_settings() -> configparser.ConfigParser:
    """What setup.cfg says."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return settings


def oldest_numpy() -> str:
    """``numpy==2.3.0`` where setup.cfg says ``numpy>=2.3``."""
    found = re.search(r"numpy>=([\d.]+)", read_settings()["options"]["install_requires"])
    if not found:
        sys.exit("setup.cfg names no oldest NumPy: numpy>=...")
    parts = found[1].split(".")
    return "numpy==" + ".".join([*parts, "0", "0"][:3])


def find_pythons(only: list[str]) -> dict[str, str]:
    """Version and path of the Pythons on this machine."""
    ran = subprocess.run([ROOT / ".ci" / "pythons"], capture_output=True, text=True, check=True)
    found = dict(line.split(" ", 1) for line in ran.stdout.splitlines())
    missing = sorted(set(only) - set(found))
    if missing:
        sys.exit(f"not found: Python {', '.join(missing)}. There are {', '.join(found) or 'none'}.")
    return {version: path for version, path in found.items() if not only or version in only}


def resolve(python: str, extras: list[str], *more: str) -> list[str]:
    """``name==version`` of what pip would install for these extras, in an environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        own = str(Path(folder, "Scripts" if sys.platform == "win32" else "bin", "python"))
        report = Path(folder, "report.json")
        pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--upgrade", "pip"], check=True)
        packages = [f"{ROOT}[{','.join(extras)}]", "pip", "setuptools", *more]
        dry = ["--dry-run", "--ignore-installed", "--report", str(report)]
        subprocess.run([*pip, *dry, *packages], check=True)
        found = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    names = [(re.sub(r"[-_.]+", "-", item["name"]).lower(), item["version"]) for item in found]
    return [f"{name}=={version}" for name, version in sorted(names) if name != "autoflow"]


def write(name: str, python: str, pins: list[str]) -> None:
    """One file, with where it comes from."""
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.strip()
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    head = f"# Made by `make constraints` on {day} with {version}, {platform.system()} {platform.machine()}."
    FOLDER.mkdir(exist_ok=True)
    Path(FOLDER, f"{name}.txt").write_text("\n".join([head, *pins, ""]), encoding="utf-8")
    print(f"{name}: {len(pins)} packages, {', '.join(pin for pin in pins if re.match('(num|sci)py=', pin))}")


def main(only: list[str]) -> None:
    """Refresh the files."""
    extras = [extra for extra in read_settings()["options.extras_require"] if not extra.startswith("#")]
    pythons = find_pythons(only)
    for version, python in pythons.items():
        write(version, python, resolve(python, extras))
    if not only:
        python = next(iter(pythons.values()))
        write("oldest", python, resolve(python, ["dev"], oldest_numpy()))


if __name__ == "__main__":
    main(sys.argv[1:])
