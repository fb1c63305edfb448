"""What the page of a lesson asks Python for: run a cell, and compare answers that were typed into boxes.

It runs in the worker beside ``runner.py``, and the build uses it for pictures. Every answer is JSON. An error is an
answer.
"""

import ast
import base64
import contextlib
import io
import itertools
import json
import linecache
import os
import re
import sys
import traceback

import numpy as np

import autoflow as af
from autoflow.lessons.checks import UNANSWERED, questions_of
from autoflow.playground import Printed  # runner.py, which is loaded first

if sys.platform == "emscripten":
    os.environ["MPLBACKEND"] = "agg"
LESSON = "the lesson"
LONGEST = 2000  # characters of an error
KINDS = ("text/html", "image/svg+xml", "text/latex", "text/plain")  # of what a cell shows, the best first
LOOK = {
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none", "svg.fonttype": "none",
    "svg.hashsalt": "autoflow",
}  # fmt: skip
space = {}  # the lesson's names
numbers = itertools.count(1)


def begin():
    """Forget all names, as a fresh kernel does."""
    space.clear()
    space.update(__name__="__main__", np=np, af=af)


def run(code, tell=None):
    """Run a cell; answer what was printed, the error, and what it shows: ``html``, ``image``, ``latex`` or ``text``."""
    name = f"cell {next(numbers)}"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    printed, shown, error = Printed(tell), [], None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            prepare_figures(code)
            value = execute(code, name)
            shown = [*figures(), *formatted(value)]
        except BaseException as problem:  # SystemExit, too: the page stays
            error = described(problem, name)
    return json.dumps({"printed": printed.text(), "shown": shown, "error": error})


def execute(code, name):
    """The value of the last line, or None if it ends with a semicolon, as in a notebook."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    value = eval(compile(ast.Expression(last.value), name, "eval"), space) if last else None
    quiet = re.sub(r"#.*$", "", code.rstrip().rpartition("\n")[2]).rstrip().endswith(";")
    return None if quiet else value


def described(problem, name):
    """The error's last line, and the number of the cell's line that it comes from."""
    line = problem.lineno if isinstance(problem, SyntaxError) else None
    for frame in traceback.extract_tb(problem.__traceback__):
        line = frame.lineno if frame.filename == name else line
    text = "".join(traceback.format_exception_only(problem)).strip()
    text = f"{type(problem).__name__}: {problem.msg}" if isinstance(problem, SyntaxError) else text
    return (f"line {line}: " if line else "") + text[:LONGEST]


def formatted(value):
    """What a notebook would show of a value, in the best way that this page has."""
    if value is None:
        return []
    data = {}
    for kind, method in (("text/html", "_repr_html_"), ("text/latex", "_repr_latex_")):
        if (text := getattr(value, method, lambda: None)()) is not None:
            data[kind] = text
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_(include=KINDS)
        data |= bundle[0] if isinstance(bundle, tuple) else bundle
    data.setdefault("text/plain", repr(value))
    return [part(next(kind for kind in KINDS if kind in data), data)]


def part(kind, data):
    """What the page is told of an output: ``data`` by kinds, as notebooks have it."""
    if kind == "image/svg+xml":
        return image(data[kind])
    return {kind.partition("/")[2].replace("plain", "text"): data[kind]}


# -- pictures of Matplotlib, in the theme of the page


def prepare_figures(code):
    """Set the look of figures before the first cell that may draw one."""
    if "matplotlib" in sys.modules or re.search(r"matplotlib|plot", code):
        with contextlib.suppress(ImportError):
            import matplotlib

            matplotlib.rcParams.update(LOOK)


def figures():
    """The open figures, which are closed."""
    plt = sys.modules.get("matplotlib.pyplot")
    found = []
    for number in plt.get_fignums() if plt else ():
        file = io.StringIO()
        plt.figure(number).savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
        found.append(image(file.getvalue()))
    if plt:
        plt.close("all")
    return found


def image(svg):
    """An SVG for an element ``img``: its address, and the words in it for those who do not see it."""
    words = [re.sub(r"<.*?>", "", text).strip() for text in re.findall(r"<text.*?</text>", svg, re.DOTALL)]
    words = [word for word in dict.fromkeys(words) if re.search(r"[^\W\d]{2}", word)]
    text = base64.b64encode(themed(svg).encode()).decode()
    return {"image": f"data:image/svg+xml;base64,{text}", "alt": ", ".join(["picture", *words])[:300]}


def themed(svg):
    """A figure that is light or dark as the page is. One with an image in it stays as it is, on white."""
    light = "<image" in svg
    colours = "background: #fff; color-scheme: light" if light else "color-scheme: light dark"
    ink = "light-dark(#17202a, #edf2f7)"
    if not light:
        svg = re.sub(r"#000000|(?<=[:\s\"'])black\b", ink, svg)
        svg = svg.replace("</defs>", f"<style>text {{ fill: {ink} }}</style></defs>", 1)
    return re.sub(r"<svg ", f'<svg style="{colours}" ', svg[svg.index("<svg") :], count=1)


# -- answers


def answer(lesson, asked):
    """Verdicts on answers; ``needs`` if one of them has names of the lesson that are not there yet.

    asked : JSON, for each question its ``name``, a ``template`` such as ``(..., ...)``, and the ``texts`` of its boxes.
    """
    questions, verdicts, needs = questions_of(lesson), [], False
    for row in json.loads(asked):
        question = questions[row["name"]]
        source = written(row["template"], row["texts"], question.right)
        try:
            right, said = question.judge(eval(compile(source, LESSON, "eval"), {"np": np, "af": af, **space}))
            said = "write your answer into the box" if said == UNANSWERED else said
        except NameError as problem:
            needs = needs or problem.name not in space
            right, said, source = False, f"{problem}: it must be a name of the lesson.", row["template"]
        except Exception as problem:
            right, said = False, f"This cannot be read: {type(problem).__name__}: {problem}"
            source = row["template"]
        verdicts.append({"name": row["name"], "right": right, "said": said, "source": source})
    return json.dumps({"needs": needs, "verdicts": verdicts})


def written(template, texts, right):
    """An answer as Python: the texts of its boxes where the template has dots. Several boxes have a part each."""
    n = template.count("...")
    parts = right if isinstance(right, (tuple, list)) and len(right) == n > 1 else [right] * n
    boxes = itertools.zip_longest(texts[:n], parts, fillvalue="")
    return re.sub(r"\.\.\.", lambda _: box(*next(boxes)), template)


def box(text, right):
    """What was typed into one box, as Python. Words need no quotes there, and signs may be those of a formula.

    >>> box("2 · 3²", 18), box("row", "row"), box("24 × 24", (24, 24)), box("", 1), box("1,438", 1438)
    ('(2 * 3**2)', "'row'", '(24 , 24)', '...', '1438')
    """
    text = text.strip()
    if not text:
        return "..."
    if isinstance(right, bool) and text.casefold() in {"true", "yes", "false", "no"}:
        return str(text.casefold() in {"true", "yes"})
    words = isinstance(right, str) or (isinstance(right, set) and isinstance(next(iter(right)), str))
    if words and re.fullmatch(r"[\w ,]+", text):
        return repr(text)
    signs = {"−": "-", "·": "*", "^": "**", "²": "**2", "³": "**3", "×": "," if isinstance(right, tuple) else "*"}
    for sign, python in signs.items():
        text = text.replace(sign, python)
    if isinstance(right, tuple) and len(right) == 1 and (number := re.fullmatch(r"\(?\s*(\d+)\s*,?\s*\)?", text)):
        return f"({number[1]},)"  # a shape
    if isinstance(right, (int, float)):
        text = text.replace(",", "") if abs(right) >= 1000 and re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+", text) else text
        text = re.sub(r"(?<=\d),(?=\d)", ".", text) if re.fullmatch(r"[-+]?\d+,\d+", text) else text
    return text if re.fullmatch(r"[\w.\[\]+-]+", text) else f"({text})"


begin()
