"""What the playground asks Python for: run the reader's program, then draw what came out of it.

It runs as a module named ``autoflow.playground``, so that pictures look for names in the reader's program and not here.
The build uses it as well, for what the page shows before Python is there. Every answer is JSON. An error is an answer.
"""

import ast
import contextlib
import io
import json
import linecache
import re
import time
import traceback

import numpy as np

import autoflow as af
from autoflow.nodes.nodes import Operation
from autoflow.pictures.pages import html
from autoflow.pictures.render.text import safe_json
from autoflow.pictures.sliders import live

NAME = "your program"
ROWS = 12  # of the table
LONGEST = 20_000  # characters that are kept of what is printed
OF_LESSONS = ("scipy", "matplotlib", "sklearn", "PIL", "IPython")  # packages
OFTEN = 0.2  # seconds between two reports of what was printed
NO_TABLE = {"rows": [], "more": 0, "note": ""}
space = {}  # the reader's names
shown = {"result": None, "moving": None}  # what the views are of


class Printed(io.TextIOBase):
    """Keeps the beginning of what is printed, counts the rest, and tells it while the program runs."""

    def __init__(self, tell):
        self.parts, self.room, self.lost, self.tell, self.told = [], LONGEST, 0, tell, time.monotonic()

    def write(self, text):
        kept = text[: self.room]
        self.parts.append(kept) if kept else None
        self.room -= len(kept)
        self.lost += len(text) - len(kept)
        if self.tell and kept and time.monotonic() - self.told > OFTEN:
            self.told = time.monotonic()
            self.tell(self.text())
        return len(text)

    def text(self):
        return "".join(self.parts) + (f"\n... and {self.lost:,} characters more" if self.lost else "")


def run(code, tell=None):
    """Run the program; answer what was printed, the error, and the Variables with their gradients.

    A program that fails before it has a result leaves what is shown as it was: ``stays``.

    tell : called now and then with what was printed so far.
    """
    af.reset()
    before = dict(space), dict(shown), linecache.cache.get(NAME)
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    space.clear()
    space.update(__name__="__main__", np=np, af=af)
    shown.update(result=None, moving=None)
    printed, value, error = Printed(tell), None, None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            value = execute(code)
        except BaseException as problem:  # SystemExit, too: the page stays
            error = described(problem)
    name_nodes()
    shown["result"] = value if isinstance(value, Operation) else newest_result()
    stays = bool(error) and shown["result"] is None
    if stays:
        put_back(*before)
    try:
        table = NO_TABLE if stays else summary()
    except Exception as problem:  # a graph that cannot be walked through; the program has still run
        table, error = NO_TABLE, error or described(problem)
    return json.dumps({"printed": printed.text(), "error": error, "stays": stays, **table})


def put_back(names, result, lines):
    """Make the state that of an earlier program: its names, its result, its lines."""
    space.clear()
    space.update(names)
    shown.update(result)
    if lines:
        linecache.cache[NAME] = lines


def execute(code):
    """The value of the last line, which is printed if it is neither a node nor None, as Python's prompt does."""
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with af.trace():
        exec(compile(tree, NAME, "exec"), space)
        value = eval(compile(ast.Expression(last.value), NAME, "eval"), space) if last else None
    if value is not None and not isinstance(value, Operation):
        print(repr(value))
    return value


def name_nodes():
    """Nodes get the reader's names for them: sliders and pictures at other values do not look for these."""
    for name, x in list(space.items()):
        if isinstance(x, (af.Variable, Operation)) and not name.startswith("_"):
            kind = "var" if x.grad_fn is None or not isinstance(x, Operation) else x.grad_fn.rule.name
            if re.fullmatch(rf"{kind}_\d+", x.name):  # nobody has given it
                x.name = name


def newest_result():
    """The reader's result that was computed last."""
    results = [x for name, x in space.items() if isinstance(x, Operation) and not name.startswith("_")]
    return max([x for x in results if x.grad_fn is not None], key=lambda x: x.grad_fn.number, default=None)


def described(problem):
    """The error's last line, and the number of the reader's line that it comes from."""
    line = problem.lineno if isinstance(problem, SyntaxError) else None
    for frame in traceback.extract_tb(problem.__traceback__):
        line = frame.lineno if frame.filename == NAME else line
    text = "".join(traceback.format_exception_only(problem)).strip()
    if isinstance(problem, SyntaxError):
        text = f"{type(problem).__name__}: {problem.msg}"
    if isinstance(problem, ImportError) and (problem.name or "").partition(".")[0] in OF_LESSONS:
        text += "\nThe playground has NumPy and autoflow. The lessons, run in the browser, have this package too."
    return {"text": text[:2000], "line": line}


def summary():
    """A row for each Variable that the result depends on, and one for the result."""
    if shown["result"] is None:
        return NO_TABLE
    graph = draw("_it.graph(gradients=True)")
    rows = [
        {
            "title": v.title, "value": v.value.text(5), "shape": v.value.shape_text(),
            "gradient": v.gradient.text(5) if v.gradient else "",
        }
        for v in graph.nodes if v.kind == "Variable" or v.id in graph.outputs
    ]  # fmt: skip
    notes = [note.partition(". ")[0] for note in graph.notes if note.startswith("gradients are")]
    return {"rows": rows[:ROWS], "more": max(0, len(rows) - ROWS), "note": "; ".join(notes)}


def draw(call, **more):
    """The value of ``call``, as if the reader had written it: the names in pictures are those of the program."""
    with np.errstate(all="ignore"):
        return eval(call, {**space, "_it": shown["result"], "_af": af, "_html": html, "__name__": "__main__", **more})


def pane(name):
    """What a view shows: ``html``, or ``latex``, or ``inputs`` and a ``picture`` whose numbers Python computes."""
    if shown["result"] is None:
        return json.dumps({})
    try:
        return json.dumps(PANES[name]())
    except Exception as problem:
        return json.dumps({"error": described(problem)["text"]})


def graph_pane():
    """The picture with its steps. The page has the program that moves it, so that is left out."""
    text = html.fragment(draw("_it.graph(gradients=True)"))
    return {"html": text.replace(f"<script>{html.script()}</script>", "")}


def formula_pane():
    """How the result was computed, what it is in terms of the Variables, and the local derivatives: (title, LaTeX)."""
    formulas = [
        ("as it was computed", draw("_it.formula()")),
        ("from the Variables on", draw("_it.formula(expand=True)")),
        ("local derivatives of the last operation", draw("_it.derivative_formula()")),
    ]
    return {"latex": list({str(text): (title, str(text)) for title, text in reversed(formulas)}.values())[::-1]}


def sliders_pane():
    """Sliders: the browser computes if it can (``data``), else Python does (``inputs``, :func:`move`)."""
    page = draw("_af.explore(_it)")
    if page.reason is None:
        data, rows = draw("_live.tape(_page)", _live=live, _page=page)
        if rows.items() <= live.all_rows().items():
            return {"tape": safe_json(data)}
        page.reason = "a rule of yours takes part, and this page runs no JavaScript that it did not come with"
    shown["moving"] = page
    inputs = [{"title": s.title, "low": s.low, "high": s.high, "start": s.start} for *_, s in page.places]
    return {"inputs": inputs, "picture": page.picture.to_svg(), "reason": page.reason}


PANES = {"graph": graph_pane, "formula": formula_pane, "sliders": sliders_pane}


def move(values):
    """The picture at other values of the sliders."""
    if shown["moving"] is None:  # the page has shown what the build drew
        pane("sliders")
    try:
        picture = draw("_page.picture_at(_values)", _page=shown["moving"], _values=list(values))
        return json.dumps({"picture": picture.to_svg(), "note": ""})
    except Exception as problem:
        return json.dumps({"picture": None, "note": described(problem)["text"]})
