"""The lessons as notebooks that run in the browser: JupyterLite, with the packages of the lessons, without a network.

JupyterLite's kernel would ask PyPI for what it needs. Here everything is in one list, the lock file that Pyodide
reads: IPython, SciPy, Matplotlib, scikit-learn, autoflow. So ``import autoflow`` works without a line of installing.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import runtime

ROOT = Path(__file__).parent.parent
if str(ROOT / "notebooks") not in sys.path:
    sys.path.append(str(ROOT / "notebooks"))  # at the end: another make.py is in there

import links  # noqa: E402 - found by the line above

PACKAGES = ("jupyterlite_core", "jupyterlite_pyodide_kernel", "jupyter_server")  # of the extra lab
PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"
KERNEL = (
    "micropip",
    "piplite",
    "ipykernel",
    "comm",
    "pyodide-kernel",
    "jedi",
    "ipython",
)  # there before the first cell
NEEDS = {  # what wheels say in words that Pyodide does not read
    "ipython": ["decorator", "ipython-pygments-lexers", "jedi", "matplotlib-inline", "prompt-toolkit", "pygments",
                "stack-data", "traitlets"],
    "jedi": ["parso"], "matplotlib-inline": ["traitlets"], "prompt-toolkit": ["wcwidth"], "comm": ["traitlets"],
    "ipython-pygments-lexers": ["pygments"], "stack-data": ["asttokens", "executing", "pure-eval"],
    "autoflow": ["numpy", "graphviz", "matplotlib", "scipy", "tqdm"],  # what it imports late: no cell names that
    "pyodide-kernel": ["ipython", "ipykernel", "comm"],
}  # fmt: skip


def build(out: Path, wheel: bytes, version: str) -> str:
    """Write ``out/lab``; return why not, or the empty text. ``wheel``: autoflow's own, of that version."""
    if absent := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        return f"JupyterLite is not installed (extra lab): no {', '.join(absent)}"
    try:
        files = runtime.bring("playground", "lessons")
    except runtime.UnavailableError as reason:
        return str(reason)
    target = out / "lab"
    with tempfile.TemporaryDirectory() as scratch:
        write_settings(Path(scratch))
        write_notebooks(Path(scratch) / "lessons")
        command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", scratch, "--no-sourcemaps"]
        command += ["--contents", str(Path(scratch) / "lessons"), "--output-dir", str(target), "--apps", "notebooks"]
        run_tool(command, Path(scratch))
    for path in target.rglob("*.map"):
        path.unlink()
    write_lock(target, files, wheel, version)
    add_script(target)
    return ""


def run_tool(command: list[str], folder: Path) -> None:
    """Run a program in a folder. Raises RuntimeError with what it printed if it fails."""
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", errors="replace", cwd=folder)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{runtime.printed(done, 3000)}")


def lessons() -> list[Path]:
    """The notebooks, in order."""
    return sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def place_of(link: str) -> str | None:
    """Where a link of a lesson leads below JupyterLite's files: to another lesson, or to documentation.

    ``page/lab.js`` sends both on. None if the site does not have it.
    """
    path = Path(link)
    if path.suffix == ".ipynb":
        return link
    return f"docs/{path.stem}.html" if link.startswith("../docs/") and (ROOT / "docs" / path.name).is_file() else None


def write_notebooks(folder: Path) -> None:
    """The lessons, with links that work in JupyterLite."""
    folder.mkdir()
    for path in lessons():
        lesson = nbformat.read(path, as_version=4)
        nbformat.write(links.relink_notebook(lesson, place_of), folder / path.name)


def add_script(target: Path) -> None:
    """The script that sends links on, into the page that shows notebooks. Raises ValueError if that has changed."""
    path = target / "notebooks" / "index.html"
    text = path.read_text(encoding="utf-8")
    if text.count("</head>") != 1:
        raise ValueError(f"{path} has no one head")
    shutil.copyfile(Path(__file__).parent / "page" / "lab.js", target / "lab.js")
    path.write_text(text.replace("</head>", '<script src="../lab.js" defer></script>\n</head>'), encoding="utf-8")


def write_settings(folder: Path) -> None:
    """JupyterLite's settings: our Pyodide, our list of packages, nobody asked for more."""
    settings: dict[str, Any] = {
        "pyodideUrl": "./pyodide/pyodide.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": list(KERNEL)},
    }
    data = {"appName": "autoflow", "litePluginSettings": {PLUGIN: settings}, "exposeAppInBrowser": True}
    text = json.dumps({"jupyter-lite-schema-version": 0, "jupyter-config-data": data})
    (folder / "jupyter-lite.json").write_text(text, encoding="utf-8")


def write_lock(target: Path, files: Path, wheel: bytes, version: str) -> None:
    """Pyodide and all packages in one folder, and the lock file that lists them.

    (A second copy of Pyodide: JupyterLite finds it below its own folder only.)
    """
    place = target / "pyodide"
    place.mkdir()
    lock = json.loads((files / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = listed(files, lock)
    for name in runtime.files_of("playground", "lessons"):
        if not name.startswith("katex"):
            shutil.copyfile(files / name, place / name)
    for path in target.rglob("static/pypi/*.whl"):  # of JupyterLite's kernel
        if path.name.split("-")[0] in ("piplite", "ipykernel", "pyodide_kernel"):
            shutil.copyfile(path, place / path.name)
            name, row = entry(place / path.name)
            packages[name] = row
    path = place / f"autoflow-{version}-py3-none-any.whl"
    path.write_bytes(wheel)
    packages["autoflow"] = entry(path)[1]
    for row in packages.values():
        row["depends"] = [name for name in row["depends"] if name in packages]
    lock["packages"] = packages
    (place / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def listed(files: Path, lock: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of the lock file for our wheels: Pyodide's own, and ours for a wheel that it does not list."""
    known = {row["file_name"]: (name, row) for name, row in lock["packages"].items()}
    packages = {}
    for file in runtime.files_of("playground", "lessons"):
        if file.endswith(".whl"):
            name, row = known.get(file, ("", {}))
            if row.get("sha256") != runtime.digest(files / file):
                name, row = entry(files / file)
            packages[name] = row
    for row in packages.values():
        row["depends"] = [name for name in row["depends"] if name in packages]
    return packages


def entry(path: Path) -> tuple[str, dict[str, Any]]:
    """A row of the lock file for a wheel: its name there, and the row."""
    project, version = path.name.split("-")[:2]
    name = project.lower().replace("_", "-")
    with zipfile.ZipFile(path) as archive:
        tops = {member.partition("/")[0] for member in archive.namelist()}
    imports = sorted({top.removesuffix(".py") for top in tops if not top.endswith((".dist-info", ".data", ".libs"))})
    return name, {
        "name": name, "version": version, "file_name": path.name, "install_dir": "site", "imports": imports,
        "sha256": runtime.digest(path), "package_type": "package", "depends": NEEDS.get(name, []),
        "unvendored_tests": False,
    }  # fmt: skip
