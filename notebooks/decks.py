"""Slides, shown by reveal.js: a lesson, cut at its headings, and lectures, which are written for the wall.

A lecture is a file of ``lectures/``: Markdown, one slide after the other with ``---`` between them, what the speaker
says below ``Note:``. A block ```` ```python ```` is shown and run, ```` ```show ```` is run and shows its last value: a
picture, a stepper or a live page (an arrow key is one step of it), a figure. ``deck.js`` lets all of it fit its screen.
"""

from __future__ import annotations

import ast
import base64
import html
import io
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import handouts
import pages
import runtime

LECTURES = handouts.HERE / "lectures"
LONGEST = 700  # characters of text on a slide
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KEYS = '<p class="keys">→ one step · Page Down: the next slide</p>'


def deck(title: str, columns: list[list[str]], kind: str = "") -> str:
    """The page. ``columns`` of slides: arrows lead to the side from one to the next, and down within one.

    Raises UnavailableError where reveal.js cannot be had.
    """
    place = runtime.bring("slides")
    inside = "".join([f"<section>{''.join(column)}</section>\n" for column in columns])
    body = f'<div class="reveal"><div class="slides">\n{inside}</div></div>'
    read = [path.read_text(encoding="utf-8") for path in (place / "reveal.css", handouts.HERE / "deck.css")]
    scripts = [path.read_text(encoding="utf-8") for path in (place / "reveal.js", handouts.HERE / "deck.js")]
    return handouts.page(title, body, "\n".join(read), scripts, kind=kind)


# -- of a lesson


def slides(notebook: Any) -> str:
    """The lesson as slides: a column for each section, downwards its text, programs and pictures. An answer has a slide
    of its own, below its exercise."""
    return deck(pages.title_of(notebook.cells[0].source), columns_of(notebook))


def columns_of(notebook: Any) -> list[list[str]]:
    """Slides as HTML, by section."""
    columns: list[list[list[str]]] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if not cell.source.startswith("# your turn"):
                asks = cell.source.startswith("check(")  # what it shows is that nothing has been answered
                shown = pages.nbformat.from_dict({**cell, "outputs": []}) if asks else cell
                columns[-1][-1].append(pages.cell_html(shown, {}, "notebooks/lesson.ipynb"))
            continue
        for text in filter(None, sections_of(cell.source)):
            if text.startswith("#"):
                columns.append([])
            columns[-1] += [[handouts.rendered(part)] for part in pieces(text)]
    return [[f"<section>{''.join(slide)}</section>" for slide in column] for column in columns]


def sections_of(source: str) -> list[str]:
    """A cell's text, cut before its headings; then its folded answers."""
    texts = re.split(r"^(?=#{1,2} )", handouts.ANSWER.sub("", source), flags=re.MULTILINE)
    answers = [without_checks(text.strip()) for text in handouts.ANSWER.findall(source)]
    return [text.strip() for text in texts] + [f"**Answer**\n\n{text}" for text in answers]


def without_checks(answer: str) -> str:
    """An answer without the statements in which it checks itself; without a program that does nothing else."""

    def shortened(found: re.Match[str]) -> str:
        lines = found[2].splitlines()
        for statement in reversed(ast.parse(found[2]).body if found[1] == "python" else []):
            if isinstance(statement, ast.Assert) and ast.unparse(statement.test).startswith("check("):
                del lines[statement.lineno - 1 : statement.end_lineno]
        code = "\n".join(lines).strip("\n")
        return f"```{found[1]}\n{code}\n```" if code else ""

    return BLOCK.sub(shortened, answer).strip()


def pieces(text: str) -> Iterator[str]:
    """A text in parts for a slide each: paragraphs are kept together up to LONGEST characters, programs whole."""
    blocks: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        if blocks and blocks[-1].count("```") % 2:
            blocks[-1] += f"\n\n{paragraph}"  # inside of a program
        else:
            blocks.append(paragraph)
    part = blocks[0]
    for block in blocks[1:]:
        if len(part) + len(block) > LONGEST:
            yield part
            part = block
        else:
            part += f"\n\n{block}"
    yield part


# -- lectures


def lecture(path: Path) -> str:
    """The page of a lecture."""
    text = path.read_text(encoding="utf-8")
    return deck(pages.title_of(text), [[slide] for slide in lecture_slides(text, path.name)], kind="lecture")


def lecture_slides(text: str, name: str) -> list[str]:
    """The slides of a lecture as HTML. Its programs share their names, as cells of a notebook do."""
    space: dict[str, Any] = {"__name__": "__main__"}
    made = []
    for number, source in enumerate(re.split(r"^---$", text, flags=re.MULTILINE)):
        shown, _, note = source.partition("\nNote:")
        parts, keys, place = [], "", 0
        for found in BLOCK.finditer(shown):
            parts.append(handouts.rendered(shown[place : found.start()]))
            place = found.end()
            value = run(found[2], f"{name}-{number}-{place}", space) if found[1] in ("python", "show") else None
            if found[1] == "show":
                parts.append(html_of(value))
                keys = KEYS if moves(value) else keys
            else:
                parts.append(f"<pre><code>{pages.coloured(found[2].rstrip(), found[1])}</code></pre>")
        parts.append(handouts.rendered(shown[place:]))
        aside = f'<aside class="notes">{handouts.rendered(note.strip())}</aside>'
        made.append(f"<section>{''.join(parts)}{keys}{aside}</section>")
    return made


def run(code: str, name: str, space: dict[str, Any]) -> Any:
    """The value of the last line of a program, whose lines pictures can read."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    tree = ast.parse(code, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    return eval(compile(ast.Expression(last.value), name, "eval"), space) if last else None


def moves(value: Any) -> bool:
    """Does an arrow key do something on it?"""
    return hasattr(value, "steps") or hasattr(value, "settings")


def html_of(value: Any) -> str:
    """What a slide shows of a value."""
    if hasattr(value, "to_html"):  # a stepper, a live page
        return str(value.to_html(full=False)) if moves(value) else handouts.image(value)
    if hasattr(value, "savefig"):
        file = io.StringIO()
        value.savefig(file, format="svg")
        data = base64.b64encode(file.getvalue().encode()).decode()
        return f'<img alt="" src="data:image/svg+xml;base64,{data}">'
    return f"<pre>{html.escape(str(value))}</pre>"


def write_slides(folder: Path, paths: list[Path]) -> None:
    """One page for each lesson, and one for its lecture if it has one: ``00_backprop_by_hand_lecture.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        made = {folder / f"{path.stem}.html": slides(pages.nbformat.read(path, as_version=4))}
        if (written := LECTURES / f"{path.stem}.md").exists():
            made[folder / f"{path.stem}_lecture.html"] = lecture(written)
        for target, text in made.items():
            target.write_text(text, encoding="utf-8")
            print(target)
