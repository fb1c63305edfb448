"""The front page: what ``page/`` has, a network that trains, autoflow as a zip, every example as Python draws it."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
import shutil
import types
import zipfile
from pathlib import Path
from typing import Any

import live_pages
import pages
import runtime

import autoflow
from autoflow.nn import functions  # noqa: F401 - has rows
from autoflow.pictures.pages.html import pack_file, script
from autoflow.pictures.render.svg import properties
from autoflow.pictures.render.text import safe_json
from autoflow.pictures.sliders import live
from autoflow.pictures.sliders.live import all_rows
from examples import EXAMPLES

HERE = Path(__file__).parent
PAGE = HERE / "page"
COPIED = (
    "site.css", "playground.css", "playground.js", "page.js", "editor.js", "views.js", "interpreter.js", "link.js",
    "home.js", "python.js", "runner.py", "offline.js", "manifest.webmanifest", "icon.svg",
)  # fmt: skip
VIEWS = ("graph", "sliders", "formula")
SUFFIXES = (".py", ".js", ".css", ".toml", ".txt", ".typed")  # of autoflow's files


def build(out: Path, files: Path | None) -> None:
    """Write the front page. ``files`` is runtime's folder; without it the examples are shown and nothing runs."""
    for name in COPIED:
        shutil.copyfile(PAGE / name, out / name)
    if files is not None:
        vendor(out / "vendor", files)
    (out / "autoflow.zip").write_bytes(zipped())
    drawn = draw_examples()
    (out / "examples").mkdir()
    for number, example in enumerate(drawn):
        (out / "examples" / f"{number}.json").write_text(json.dumps(example, ensure_ascii=False), encoding="utf-8")
    view, scripts = view_page()
    network, program = live_pages.EXAMPLE["page"].fragment(full=False)
    (out / "network.js").write_text(program, encoding="utf-8")
    first = {"names": [name for name, _ in EXAMPLES], "first": drawn[0]}
    page = fill(
        "index.html", policy=policy(scripts), header=pages.header("", "index.html"), footer=pages.footer(""),
        view=html.escape(view), first=safe_json(first), network=network.replace(f"<script>{program}</script>", ""),
    )  # fmt: skip
    (out / "index.html").write_text(page, encoding="utf-8")


def fill(name: str, **texts: str) -> str:
    """A file of ``page/`` with ``{{word}}`` replaced by that text. Raises KeyError for a word without one."""
    template = (PAGE / name).read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: texts[found[1]], template)


def vendor(folder: Path, files: Path) -> None:
    """What belongs to others, unchanged but for Pyodide's list of packages, which names those that are here."""
    folder.mkdir()
    names = runtime.files_of("playground")
    for name in names:
        shutil.copyfile(files / name, folder / name)
    lock = json.loads((files / "pyodide-lock.json").read_text(encoding="utf-8"))
    lock["packages"] = {key: row for key, row in lock["packages"].items() if row["file_name"] in names}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def zipped() -> bytes:
    """autoflow as a wheel for Pyodide, the same for the same sources."""
    package = Path(autoflow.__file__).parent
    entries = {
        path.relative_to(package.parent).as_posix(): path.read_bytes()
        for path in sorted(package.rglob("*")) if path.suffix in SUFFIXES
    }  # fmt: skip
    about, version = f"autoflow-{autoflow.__version__}.dist-info", autoflow.__version__
    entries[f"{about}/METADATA"] = f"Metadata-Version: 2.1\nName: autoflow\nVersion: {version}\n".encode()
    entries[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: site\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    entries[f"{about}/RECORD"] = b""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in entries.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return file.getvalue()


def runner() -> Any:
    """``runner.py`` as the page runs it: a module of autoflow's, so that pictures look for names further out."""
    module = types.ModuleType("autoflow.playground")
    path = PAGE / "runner.py"
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


def draw_examples() -> list[dict[str, Any]]:
    """What Python would answer to each example. Raises RuntimeError if it would answer with an error."""
    python, drawn = runner(), []
    for name, code in EXAMPLES:
        answer = json.loads(python.run(code))
        views = {view: json.loads(python.pane(view)) for view in VIEWS}
        errors = [answer["error"], *[view.get("error") for view in views.values()]]
        if any(errors):
            raise RuntimeError(f"the example {name!r}: {errors}")
        drawn.append({"name": name, "code": code, "answer": answer, "views": views})
    return drawn


def view_page() -> tuple[str, list[str]]:
    """The document of the frame, and the scripts that it may run."""
    rows = [f"{json.dumps(name)}: {row}" for name, row in all_rows().items()]
    program = fill(
        "view.js", pictures=script(), rows=",\n".join(rows),
        sliders=pack_file("unpack.js") + "\n" + live.script(),
    )  # fmt: skip
    if "</script" in program:
        raise RuntimeError("the frame's script would end too early")
    style = (PAGE / "view.css").read_text(encoding="utf-8") + "".join(
        [properties(f"autoflow-{name}", "auto") for name in ("explore", "widget")]
    )
    allowed = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {sum_of(program)}"
    return fill("view.html", policy=allowed, style=style, script=program), [program]


def sum_of(text: str) -> str:
    """How a policy names a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(scripts: list[str]) -> str:
    """What the front page may do: run its own files and WebAssembly, load from this site alone.

    The frame of the views and the worker of Python take it over, so it allows their script and style as well.
    """
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", "'wasm-unsafe-eval'", *map(sum_of, scripts)]),
        "worker-src": "'self' blob:",
        "connect-src": "'self'",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "manifest-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
    }
    return "; ".join([f"{name} {value}" for name, value in rules.items()])
