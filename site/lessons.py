"""The lessons as pages that live: cells run, blanks are boxes, what follows a question appears when it was tried.

A page is made from its notebook alone. ``page/lesson.js`` is what it runs, ``page/lesson.py`` what it asks Python for.
Pictures are those of a run of the notebook, with SVG and steps; that takes minutes, so it is kept in ``build/lessons``
for the next time. Where it cannot be had, and where ``AUTOFLOW_LESSONS=stored`` says so, the stored PNGs are shown.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import html
import json
import os
import re
import runpy
import shutil
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lab
import nbformat
import pages
import playground
import runtime

from autoflow.lessons.checks import questions_of
from autoflow.pictures.pages.html import script

HERE = Path(__file__).parent
ROOT = HERE.parent
CACHE = ROOT / "build" / "lessons"
FILES = ("lesson.js", "lesson.css", "lesson.py", "drawing.html")
EXERCISES = "## Exercises"
# Packages, and what in a lesson's code says that it needs them.
NEEDS = {"matplotlib": r"matplotlib|plot|png", "scipy": r"scipy|sklearn", "scikit-learn": r"sklearn"}
INLINE = '<div class="autoflow-picture'  # kinds shown in the page itself; other HTML gets a document of its own

# Before the first cell, after what notebooks/make.py does: pictures as a page shows them.
PREPARE = """
def prepare():
    import sys
    import autoflow

    sys.modules["anywidget"] = None
    autoflow.options.static = False
    get_ipython().run_line_magic("config", "InlineBackend.figure_formats = ['svg']")
    get_ipython().run_line_magic("config", "InlineBackend.rc = LOOK")
    get_ipython().display_formatter.active_types.append("text/html")

prepare()
del prepare
"""


# -- what a notebook shows


@functools.cache
def maker() -> Any:
    """``notebooks/make.py``, which is not imported by its name: another make.py is on the path."""
    return types.SimpleNamespace(**runpy.run_path(str(ROOT / "notebooks" / "make.py")))


@functools.cache
def python() -> Any:
    """``page/lesson.py`` as the page runs it."""
    sys.modules.setdefault("autoflow.playground", playground.runner())
    module = types.ModuleType("autoflow.lesson")
    path = HERE / "page" / "lesson.py"
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


def shown(path: Path) -> Any:
    """The notebook with what its cells show, from a run of today's sources, or as it is stored."""
    stored = nbformat.read(path, as_version=4)
    if os.environ.get("AUTOFLOW_LESSONS") == "stored":
        return stored
    prepare = PREPARE.replace("LOOK", repr(python().LOOK))
    sources = "\n".join([prepare, *[cell.source for cell in stored.cells]])
    key = hashlib.sha256(playground.zipped() + sources.encode()).hexdigest()[:12]
    kept = CACHE / f"{path.stem}-{key}.ipynb"
    if not kept.is_file():
        print(path.name, flush=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        for old in CACHE.glob(f"{path.stem}-*.ipynb"):
            old.unlink()
        nbformat.write(maker().run(stored, prepare=maker().PREPARE + prepare), kept)
    return nbformat.read(kept, as_version=4)


def output_html(output: Any, folder: Path, stem: str) -> str:
    """What a cell has shown. HTML with programs of its own gets a document in ``folder``, and a frame."""
    data = output.get("data", {})
    text = data.get("text/html", "")
    if text.startswith(INLINE):
        return text.replace(f"<script>{script()}</script>", "")
    if "<script" in text:
        name = f"{stem}_{len(list(folder.glob(f'{stem}_*.html'))) + 1}.html"
        document = (HERE / "page" / "drawing.html").read_text(encoding="utf-8")
        (folder / name).write_text(document.replace('<div id="place"></div>', text), encoding="utf-8")
        frame = 'sandbox="allow-scripts" loading="lazy" title="The result"'
        return f'<iframe class="drawing wide" src="{name}" {frame}></iframe>'
    if text:
        return text
    if "image/svg+xml" in data:
        made = python().image(data["image/svg+xml"])
        return f'<img class="figure" alt="{html.escape(made["alt"])}" src="{made["image"]}">'
    return pages.output_html(output)


# -- questions


@dataclass
class Ask:
    """A cell that asks: the questions with the form of their answers, what stands before and behind."""

    cell: int
    before: str  # code, in exercises
    asked: dict[str, str]  # name of a question: an answer with dots
    note: str  # the comment behind
    answer: str = ""  # the folded answer, as Markdown

    @property
    def exercise(self) -> bool:
        return any([name.startswith("exercise") for name in self.asked])


def ask_of(number: int, source: str) -> Ask | None:
    """What a cell asks, if it asks."""
    for statement in ast.parse(source).body:
        call = getattr(statement, "value", None)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check":
            asked = {str(one.arg): ast.unparse(one.value) for one in call.keywords}
            lines = source.splitlines()
            behind = lines[(statement.end_lineno or 1) - 1][statement.end_col_offset or 0 :]
            before = "\n".join(lines[: statement.lineno - 1]).replace("# your turn", "").strip()
            return Ask(number, before, asked, behind.strip(" #"))
    return None


def form(ask: Ask, lesson: str, answer: str) -> str:
    """The boxes of a question, its hints, and its folded answer."""
    rows = []
    for name, template in ask.asked.items():
        number = template.count("...")
        kind = f'type="text" autocomplete="off" autocapitalize="off" spellcheck="false" name="{name}"'
        labels = [f"{name}, part {k + 1} of {number}" if number > 1 else name for k in range(number)]
        boxes = "".join([f'<input {kind} aria-label="{label}">' for label in labels])
        hint = html.escape(questions_of(lesson)[name].hint)
        rows.append(
            f'<div class="question" data-name="{name}" data-template="{html.escape(template)}">'
            f'<code aria-hidden="true">{name} =</code> {boxes}<output role="status"></output>'
            f'<details class="hint"><summary>Hint</summary><p>{hint}</p></details></div>'
        )
    code = (
        '<label class="yours">Your code, if it takes some<textarea name="code" rows="3" spellcheck="false" '
        f'autocapitalize="off" wrap="off">{html.escape(ask.before)}</textarea></label>'
    )
    note = f'<p class="hint">{html.escape(ask.note)}</p>' * bool(ask.note)
    folded = f"<details class='answer'><summary>Answer</summary>{answer}</details>" if answer else ""
    return (
        f'<form class="ask" data-cell="{ask.cell}">{code * ask.exercise}{note}{"".join(rows)}'
        f'<div class="bar"><button class="main">Check</button></div>{folded}</form>'
    )


# -- pages


@dataclass
class Lesson:
    """A lesson on its way to a page: its parts, each ending with a question in the text."""

    path: Path
    notebook: Any
    known: dict[str, str]
    folder: Path
    parts: list[list[str]] = field(default_factory=lambda: [[]])

    @property
    def name(self) -> str:
        return self.path.stem[3:]

    def markdown(self, text: str) -> str:
        return pages.markdown(text, self.known, f"notebooks/{self.path.name}")

    def fill(self) -> None:
        """Make the parts from the cells."""
        folded = maker().ANSWER
        code = [(k, cell.source) for k, cell in enumerate(self.notebook.cells) if cell.cell_type == "code"]
        asks = {k: ask for k, source in code if (ask := ask_of(k, source))}
        waiting = self.answers(asks)
        for k, cell in enumerate(self.notebook.cells):
            if cell.cell_type == "markdown":
                text = folded.sub("", cell.source).strip()
                self.parts[-1].append(self.markdown(text if text != "Compare:" else ""))
            elif k in asks:
                self.parts[-1].append(form(asks[k], self.name, self.markdown(waiting.get(k, ""))))
                if not asks[k].exercise:
                    self.parts.append([])
            else:
                self.parts[-1].append(self.cell(k, cell))

    def answers(self, asks: dict[int, Ask]) -> dict[int, str]:
        """The folded answer of each cell that asks: behind a question of the text, in front of an exercise."""
        found: dict[int, str] = {}
        folds = [(k, text) for k, cell in enumerate(self.notebook.cells) for text in maker().ANSWER.findall(cell.source)
                 if cell.cell_type == "markdown"]  # fmt: skip
        for k, text in folds:
            before = [a for a in asks.values() if a.cell < k and not a.exercise and a.cell not in found]
            after = [a for a in asks.values() if a.cell > k and a.exercise]
            ask = before[-1] if before else after[0]
            found[ask.cell] = text
        return found

    def cell(self, number: int, cell: Any) -> str:
        """A cell that runs, with what it has shown."""
        source = cell.source.removeprefix(maker().LATER).lstrip("\n")
        outputs = "".join([output_html(output, self.folder, self.path.stem) for output in cell.outputs])
        return (
            f'<div class="cell" data-cell="{number}">'
            f'<pre tabindex="0"><code>{pages.coloured(source, "python")}</code></pre><div class="bar">'
            '<button type="button" class="run">Run</button><button type="button" class="edit">Edit</button></div>'
            f'<div class="output">{outputs}</div></div>'
        )

    def html(self) -> Iterator[str]:
        """The parts; all but the first are shown when the question before them was tried."""
        for k, pieces in enumerate(self.parts):
            last = k == len(self.parts) - 1
            gate = '<p class="gate"><button type="button" class="on">Go on without an answer</button></p>' * (not last)
            yield f'<section class="part{" open" * (k == 0)}">{"".join(pieces)}{gate}</section>'


def page(lesson: Lesson, title: str, around: str, lab_link: str) -> str:
    """The document of a lesson."""
    lesson.fill()
    body = "\n".join(lesson.html())
    code = "\n".join([cell.source for cell in lesson.notebook.cells if cell.cell_type == "code"])
    needed = [name for name, pattern in NEEDS.items() if re.search(pattern, code)]
    math = '<script src="../vendor/katex.min.js" defer></script><script src="../math.js" defer></script>'
    settings = {"lesson": lesson.name, "notebook": lesson.path.name, "packages": needed}
    return playground.fill(
        "lesson.html", policy=playground.policy([]) + "; frame-src 'self'", title=html.escape(title),
        header=pages.header("../", "lessons/index.html"), footer=pages.footer("../"), body=body, around=around,
        settings=html.escape(json.dumps(settings)), lab=lab_link, math=math,
        total=str(len(questions_of(lesson.name))),
    )  # fmt: skip


def build(out: Path, files: Path | None) -> None:
    """What the pages of lessons share: their programs, the pictures' program, the packages and their list."""
    for name in FILES:
        shutil.copyfile(HERE / "page" / name, out / name)
    (out / "pictures.js").write_text(script(), encoding="utf-8")
    if files is not None:
        write_wheels(out / "wheels", files)


def write_wheels(folder: Path, files: Path) -> None:
    """The packages that lessons need, and their list. Those of the front page stay where they are."""
    folder.mkdir()
    lock = json.loads((files / "pyodide-lock.json").read_text(encoding="utf-8"))
    there, needed = lab.listed(files, lock), ["numpy", *NEEDS]
    for name in needed:  # it grows
        needed += [other for other in there[name]["depends"] if other not in needed]
    lock["packages"] = {name: there[name] for name in needed}
    own = runtime.files_of("lessons")
    for row in lock["packages"].values():
        if row["file_name"] in own:
            shutil.copyfile(files / row["file_name"], folder / row["file_name"])
        else:
            row["file_name"] = f"../vendor/{row['file_name']}"
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
