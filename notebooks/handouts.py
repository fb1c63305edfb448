"""What a teacher hands out: worksheets with answer sheets. ``make.py`` calls it. ``decks.py`` makes the slides.

Every file is one page of HTML that loads nothing, so it works from a memory stick. Worksheets are for paper: print
them from the browser. Formulas are typeset by KaTeX, files of others, which ``site/runtime.py`` brings once.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SITE = HERE.parent / "site"
for place in (HERE, SITE):
    if str(place) not in sys.path:
        sys.path.append(str(place))  # at the end: another make.py is in there

import pages  # noqa: E402 - found by the lines above
import runtime  # noqa: E402
import worksheets  # noqa: E402

from autoflow.pictures.pages.html import image  # noqa: E402

ANSWER = re.compile(r"<details>\s*<summary>Answer</summary>(.*?)</details>", re.DOTALL)
EXERCISE = re.compile(r"\*\*\d+\.\*\*")
LARGER, WIDE, HIGH = 0.36, 180.0, 185.0  # of pictures on paper: mm for a pixel, at most; mm
PAPER = """
@page { size: A4; margin: 14mm }
:root { color-scheme: light }
body { max-width: 182mm; margin: 6mm auto; font-size: 11.5pt }
h1 { font-size: 15pt } h1 + p { color: var(--sub); margin: .2rem 0 1rem }
h2 { font-size: 12.5pt; margin: 1.2rem 0 .3rem }
.name { float: right; font-size: 10.5pt } img { height: auto; display: block; margin: .3rem auto }
.back { break-before: page } ol { padding-left: 1.4em } li { break-inside: avoid; margin: .7rem 0 } li > p { margin: 0 }
.line { border-bottom: 1px solid #99a; height: 9mm } .answer { color: var(--link); margin: .15rem 0 }
code { font-family: var(--mono); font-size: .9em } pre { font: 9.5pt/1.4 var(--mono); white-space: pre-wrap }
"""


def page(title: str, body: str, style: str, scripts: list[str], kind: str = "") -> str:
    """A page that loads nothing: styles and scripts stand in it, and its policy allows no more. ``kind``: its class."""
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
    css = (SITE / "page" / "site.css").read_text(encoding="utf-8").partition("/* Python in colours")
    colours = css[0][: css[0].index("header {")] + css[2].partition("*/")[2].partition("/*")[0]
    if 'class="math' in body:
        scripts = [*math_scripts(), *scripts]
    inside = "".join([f"<script>{text.replace('</script', '<' + chr(92) + '/script')}</script>\n" for text in scripts])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>{html.escape(title)}</title>\n'
        f"<style>{colours}{style}</style>\n</head>\n<body class='{kind}'>\n{body}\n{inside}</body>\n</html>\n"
    )


def math_scripts() -> list[str]:
    """KaTeX, and what calls it; nothing where it cannot be had: formulas stay TeX then."""
    try:
        place = runtime.bring("playground", only=["katex.min.js"])
    except runtime.UnavailableError as reason:
        print(f"formulas stay as they are written: {reason}", file=sys.stderr)
        return []
    return [(place / "katex.min.js").read_text(encoding="utf-8"),
            (SITE / "page" / "math.js").read_text(encoding="utf-8")]  # fmt: skip


def rendered(text: str) -> str:
    """Markdown as HTML. Links to other files are text: these pages stand alone."""
    return pages.markdown(text, {}, "notebooks/lesson.ipynb")


def parts_of(notebook: Any) -> Iterator[tuple[str, str]]:
    """The title and the introduction, and all exercises with their answers, as pairs of Markdown."""
    yield pages.title_of(notebook.cells[0].source), notebook.cells[0].source.partition("\n")[2].strip()
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and EXERCISE.match(cell.source):
            yield ANSWER.sub("", cell.source).strip(), "\n\n".join(ANSWER.findall(cell.source)).strip()


# -- worksheets


def worksheet(notebook: Any, lesson: str, *, answers: bool) -> str:
    """The sheet of a lesson, or its answer sheet, as a page. A lesson without a function in ``worksheets.py`` gets its
    exercises, with lines to write on."""
    (title, _), *exercises = parts_of(notebook)
    graphs, questions = worksheets.LESSONS[lesson]() if lesson in worksheets.LESSONS else ([], [])
    questions = questions or [(EXERCISE.sub("", text, count=1).strip(), answer) for text, answer in exercises]
    body = [] if answers else ['<div class="name">Name: ______________________</div>']
    body += [f"<h1>{html.escape(title)}</h1>", f"<p>{'Answers' if answers else 'Worksheet'}</p>"]
    if graphs:
        body += [
            "<h2>Go back through the graph</h2><p>Each card has a row for every operand: write its local derivative "
            "behind ×, and what is sent back to it behind =. Below stands what has arrived: add it up.</p>"
        ]
    for node in graphs:
        quiz = node.quiz(theme="light", direction="down", legend=False)
        body.append(enlarged(quiz.answers() if answers else quiz.sheet()))
    rows = []
    for text, answer in questions:
        room = len(answer) // 45 + 1 if "```" not in answer else 6
        below = f'<div class="answer">{rendered(answer)}</div>' if answers else '<div class="line"></div>' * room
        rows.append(f"<li>{rendered(text)}{below}</li>")
    back = ' class="back"' if graphs else ""  # of the paper
    body.append(f"<h2{back}>Questions</h2><ol>{''.join(rows)}</ol>")
    return page(f"{title}: {'answers' if answers else 'worksheet'}", "\n".join(body), PAPER, [])


def enlarged(graph: Any) -> str:
    """The picture with room to write in it: larger than on a screen, as far as the paper allows."""
    width, height = map(float, re.findall(r"[\d.]+", graph.to_svg().partition('viewBox="')[2].partition('"')[0])[2:4])
    scale = min(LARGER, WIDE / width, HIGH / height)
    return image(graph).replace("max-width:100%", f"width:{scale * width:.1f}mm")


def write_worksheets(folder: Path, paths: list[Path]) -> None:
    """Two pages for each lesson: ``00_worksheet.html`` and ``00_answers.html``."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        notebook = pages.nbformat.read(path, as_version=4)
        for name, answers in (("worksheet", False), ("answers", True)):
            made = folder / f"{path.stem[:2]}_{name}.html"
            made.write_text(worksheet(notebook, path.stem[3:], answers=answers), encoding="utf-8")
            print(made)
