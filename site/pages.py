"""The pages to read: documentation, lessons, licences. Markdown and notebooks as they are in the repository."""

from __future__ import annotations

import html
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

import lists
import mistune
import nbformat
import pygments
import runtime
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOTEBOOKS = ROOT / "notebooks"
BRAND = (
    '<svg viewBox="0 0 32 20" width="32" height="20" aria-hidden="true"><path d="M6 4 22 10M6 16 22 10" '
    'stroke="currentColor" stroke-width="1.6" fill="none"/><circle cx="5" cy="4" r="3.4" class="v"/>'
    '<circle cx="5" cy="16" r="3.4" class="c"/><circle cx="24" cy="10" r="5" class="o"/></svg>autoflow'
)
MENU = {
    "index.html": "Playground", "live/index.html": "Live networks", "lessons/index.html": "Lessons",
    "docs/index.html": "Documentation",
    "api/autoflow.html": "Reference",
}  # fmt: skip
# Documentation in the order of its list: file, and what it is called there.
LISTED = {
    "tasks": "I want to ...: which function does it", "numpy-code": "Gradients for a NumPy program",
    "coming-from": "Coming from another library: the names side by side",
    "guarantees": "What is promised, and what is not",
    "glossary": "Glossary", "vmap": "Many at once: vmap", "gpu": "On a GPU", "typing": "Types",
    "teaching": "For teachers: courses, lesson by lesson", "site": "This site: how it is made, what works offline",
    "numpy-coverage": "NumPy's functions: which have a derivative",
}  # fmt: skip


SEARCH = (
    '<h1>Search</h1><form id="form" role="search"><input type="search" id="question" name="q" autocomplete="off" '
    'aria-label="Search lessons, documentation and reference"></form>'
    '<p id="count" class="hint" role="status"></p><ol id="results" class="lessons"></ol>'
    "<noscript><p>Searching needs JavaScript.</p></noscript>"
)

# -- the frame of every page


def header(up: str, here: str) -> str:
    """The line at the top. ``up`` leads to the front page: ``../`` from a folder."""
    links = "".join(
        [f'<a href="{up}{to}"{" aria-current=page" * (to == here)}>{name}</a>' for to, name in MENU.items()]
    )
    find = (
        f'<form role="search" action="{up}search.html"><input type="search" name="q" placeholder="Search" '
        'aria-label="Search lessons, documentation and reference"></form>'
    )
    brand = f'<a class="brand" href="{up}index.html">{BRAND}</a>'
    return f'<header>{brand}<nav aria-label="Site">{links}</nav>{find * (here != "search.html")}</header>'


def footer(up: str) -> str:
    """The line at the bottom."""
    return (
        f'<footer>autoflow, MIT licence. Python in the browser by <a href="{up}licences.html">Pyodide, NumPy and '
        "others</a>. No third-party requests, no tracking.</footer>"
    )


def page(title: str, body: str, up: str = "../", here: str = "", script: str = "") -> str:
    """A page to read. Formulas are typeset by KaTeX, where there are some. ``script``: a module that the page runs."""
    needs_math = 'class="math' in body
    math = f'<script src="{up}vendor/katex.min.js" defer></script><script src="{up}math.js" defer></script>'
    policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
    policy += "; connect-src 'self'" * bool(script)
    scripts = f'{math * needs_math}<script src="{up}reading.js" defer></script>\n'
    scripts += f'<script type="module" src="{up}{script}"></script>\n' * bool(script)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{html.escape(title)} · autoflow</title>\n'
        f'<link rel="stylesheet" href="{up}site.css">\n<link rel="icon" href="{up}icon.svg">\n'
        f"{scripts}</head>\n<body>\n{header(up, here)}\n"
        f"<main><article>\n{body}\n</article></main>\n{footer(up)}\n</body>\n</html>\n"
    )


# -- Markdown


class Renderer(mistune.HTMLRenderer):
    """Markdown as HTML: code in colours, headings with an id, links that lead somewhere on this site or are text."""

    def __init__(self, known: dict[str, str], source: str) -> None:
        super().__init__(escape=False)
        self.known, self.source, self.ids = known, source, set()

    def block_code(self, code: str, info: str | None = None) -> str:
        return f"<pre><code>{coloured(code, (info or '').split(' ')[0])}</code></pre>\n"

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        name = base = re.sub(r"[^\w]+", "-", re.sub(r"<.*?>", "", text).lower()).strip("-") or "part"
        while name in self.ids:
            name += "-"
        self.ids.add(name)
        return f'<h{level} id="{name}">{text}</h{level}>\n' if base else f"<h{level}>{text}</h{level}>\n"

    def link(self, text: str, url: str, title: str | None = None) -> str:
        place, _, anchor = url.partition("#")
        if re.match(r"https?:|mailto:", url) or not place:
            return f'<a href="{html.escape(url)}">{text}</a>'
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), place))
        if path not in self.known:
            return text  # a file of the repository that is not on the site
        to = posixpath.relpath(self.known[path], posixpath.dirname(self.known[self.source]))
        return f'<a href="{html.escape(to + ("#" + anchor if anchor else ""))}">{text}</a>'


def coloured(code: str, language: str) -> str:
    """Code as HTML; of a language that Pygments does not know, plain."""
    try:
        lexer = get_lexer_by_name({"py": "python"}.get(language, language) or "text")
    except ClassNotFound:
        return html.escape(code)
    return pygments.highlight(code, lexer, HtmlFormatter(nowrap=True))


def markdown(text: str, known: dict[str, str], source: str) -> str:
    """The HTML of a text from the file ``source`` of the repository."""
    read = mistune.create_markdown(
        renderer=Renderer(known, source), plugins=["table", "math", "strikethrough", "footnotes"]
    )
    return str(read(text))


def title_of(text: str) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else "autoflow"


# -- documentation, lessons, licences


def build(out: Path, *, lab: bool = False) -> None:
    """Write all pages. ``lab``: the lessons run in JupyterLite as well."""
    docs, lessons = sorted(DOCS.glob("*.md")), sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
    known = {f"docs/{path.name}": f"docs/{path.stem}.html" for path in docs}
    known |= {f"notebooks/{path.name}": f"lessons/{path.stem}.html" for path in lessons}
    known |= {"README.md": "docs/readme.html", "CHANGELOG.md": "docs/changelog.html", "notebooks": "lessons/index.html"}
    known |= {f"images/{path.name}": f"images/{path.name}" for path in (ROOT / "images").glob("*.svg")}
    for folder in ("docs", "lessons", "images"):
        (out / folder).mkdir()
    for name, to in known.items():
        if name.endswith(".md"):
            text = (ROOT / name).read_text(encoding="utf-8")
            body = linked_images(markdown(text, known, name))
            (out / to).write_text(page(title_of(text), body), encoding="utf-8")
            for image in re.findall(r'(?:src|srcset)="\.\./(images/[\w./-]+)"', body):
                (out / image).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / image, out / image)
    write_list(out / "docs" / "index.html", docs)
    write_lessons(out / "lessons", lessons, known, lab=lab)
    (out / "licences.html").write_text(page("Licences", licences(lab=lab), up=""), encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", out / "LICENSE.txt")
    for name in ("math.js", "reading.js", "search.js"):
        shutil.copyfile(Path(__file__).parent / "page" / name, out / name)
    (out / "search.html").write_text(page("Search", SEARCH, up="", here="search.html", script="search.js"), "utf-8")


def linked_images(body: str) -> str:
    """The README names its images from the root; its page is in a folder."""
    return re.sub(r'(src|srcset)="images/', r'\1="../images/', body)


def write_list(path: Path, docs: list[Path]) -> None:
    """The first page of the documentation."""
    texts = {p.stem: p.read_text(encoding="utf-8") for p in docs}
    told = {name: f"<small>{html.escape(lists.summary(text))}</small>" for name, text in texts.items()}
    rest = {name: title_of(text) for name, text in texts.items() if name not in LISTED}
    items = ['<li><a href="readme.html">What autoflow is, and how to install it</a></li>']
    items += [f'<li><a href="{name}.html">{text}</a>{told[name]}</li>' for name, text in LISTED.items() if name in told]
    items += ['<li><a href="../live/index.html">Networks that train in the page</a></li>']
    items += ['<li><a href="../api/autoflow.html">Reference of all functions</a></li>']
    others = [f'<li><a href="{name}.html">{html.escape(text)}</a>{told[name]}</li>' for name, text in rest.items()]
    others += ['<li><a href="changelog.html">What changed</a></li>']
    body = (
        f'<h1>Documentation</h1><ul class="lessons">{"".join(items)}</ul><h2>Coming from another library, and more</h2>'
        f'<ul class="lessons">{"".join(others)}</ul>'
    )
    path.write_text(page("Documentation", body, here="docs/index.html"), encoding="utf-8")


def write_lessons(folder: Path, paths: list[Path], known: dict[str, str], *, lab: bool) -> None:
    """A page for each lesson, and the list of them."""
    import lessons  # which needs this module

    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    titles = [title_of(notebook.cells[0].source) for notebook in notebooks]
    items = []
    for k, path in enumerate(paths):
        around = [
            f'<a href="{paths[j].stem}.html">{arrow}</a>' if 0 <= j < len(paths) else "<span></span>"
            for j, arrow in ((k - 1, "← the lesson before"), (k + 1, "the next lesson →"))
        ]
        shutil.copyfile(path, folder / path.name)
        jupyter = f' or open it <a href="../lab/notebooks/index.html?path={path.name}">in JupyterLite</a>' * lab
        take = f'<p class="hint">Take <a href="{path.name}" download>the notebook</a> into Jupyter{jupyter}.</p>'
        lesson = lessons.Lesson(path, lessons.shown(path), known, folder)
        text = lessons.page(lesson, titles[k], "".join(around), take)
        (folder / f"{path.stem}.html").write_text(text, encoding="utf-8")
        items.append(lists.lesson_item(k, path.stem, titles[k], notebooks[k].cells[0].source))
    body = (
        "<h1>Lessons</h1><p>From one derivative by hand to networks that read and write. Questions have boxes for "
        "your answers, which Python checks in the page; every cell runs and can be changed; pictures of graphs can be "
        "stepped. Nothing that you write leaves your computer, unless you save it as a notebook and hand it in.</p>"
        f'<ol class="lessons">{"".join(items)}</ol>'
    )
    (folder / "index.html").write_text(page("Lessons", body, here="lessons/index.html"), encoding="utf-8")


def cell_html(cell: Any, known: dict[str, str], source: str) -> str:
    """One cell of a notebook, with its stored outputs."""
    if cell.cell_type != "code":
        return markdown(cell.source, known, source)
    shown = "".join([output_html(output) for output in cell.outputs])
    shown = f'<div class="output">{shown}</div>' if shown else ""
    return f'<div class="cell"><pre><code>{coloured(cell.source, "python")}</code></pre>{shown}</div>'


def output_html(output: Any) -> str:
    """What a cell has shown: an image, a formula, a table, or text."""
    if output.output_type == "stream":
        return f"<pre>{html.escape(output.text)}</pre>"
    if output.output_type == "error":
        text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback[-1:]))
        return f'<div class="error"><pre>{html.escape(text)}</pre></div>'
    data = output.data
    if "image/png" in data:
        text = html.escape(str(data.get("text/plain", "picture")).partition("\n")[0])
        return f'<img alt="{text}" src="data:image/png;base64,{data["image/png"].replace(chr(10), "")}">'
    if "text/latex" in data:
        return f'<div class="math">{html.escape(data["text/latex"])}</div>'
    return f"<pre>{html.escape(str(data.get('text/plain', '')))}</pre>"


JUPYTER = (
    "The lessons run in <a href='https://jupyterlite.readthedocs.io'>JupyterLite</a> (BSD-3-Clause); the licences of "
    "what it includes are in its folders of <code>lab</code>, the licences of wheels in the wheels, which are zips. "
)


def licences(*, lab: bool) -> str:
    """Whose work is on the site, under which licence, and where its source is."""
    rows = [
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(row['licence'])}</td>"
        f'<td><a href="{row["home"]}">{html.escape(row["home"])}</a></td><td><code>{row["sha256"]}</code></td></tr>'
        for name, row in runtime.files_of("playground", "lessons").items()
    ]
    return (
        "<h1>Licences</h1><p>autoflow: <a href='LICENSE.txt'>MIT licence</a>. In the folders <code>vendor</code> and "
        "<code>wheels</code> are files of others, unchanged but for Pyodide's lists of packages, which are shortened. "
        "Pyodide is under the "
        "<a href='https://www.mozilla.org/MPL/2.0/'>Mozilla Public License 2.0</a>; its source is at "
        "<a href='https://github.com/pyodide/pyodide'>github.com/pyodide/pyodide</a>. The texts of NumPy's licence and "
        "of what it includes are in its wheel, which is a zip. KaTeX: <a href='vendor/katex-LICENSE.txt'>MIT</a>. "
        f"{JUPYTER * lab}Python: <a href='https://docs.python.org/3/license.html'>PSF licence</a>.</p>"
        "<table><thead><tr><th>file</th><th>licence</th><th>home</th><th>SHA-256</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def without_network(folder: Path) -> None:
    """The reference asks another host for MathJax: it gets our KaTeX instead, the icon, and a way to the other pages.

    Raises RuntimeError if anything still loads from another host.
    """
    for path in folder.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        up = "../" * len(path.relative_to(folder.parent).parent.parts)
        ours = f'<script src="{up}vendor/katex.min.js" defer></script><script src="{up}math.js" defer></script>'
        text = re.sub(r"<script>\s*window\.MathJax.*?</script>\s*<script id=\"MathJax-script\".*?</script>\s*"
                      r"<script>.*?</script>", ours, text, count=1, flags=re.DOTALL)  # fmt: skip
        text = text.replace("</head>", f'<link rel="icon" href="{up}icon.svg">\n</head>', 1)
        back = f'<p><a href="{up}index.html">all of autoflow</a><a href="{up}search.html">search everything</a></p>'
        text = re.sub(r'(<nav class="pdoc">)', rf"\1{back}", text, count=1)
        if re.search(r"<(script|link|img)[^>]* (src|href)=\"?(https?:)?//", text):
            raise RuntimeError(f"{path} loads something from another host")
        path.write_text(text, encoding="utf-8")
