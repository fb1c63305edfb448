"""Every example that a reader sees is run: docstrings, and the Python blocks of the Markdown files."""

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import stands_in_a_module

import autoflow as af
from autoflow.base.lazy import MOVED
from autoflow.rules import RULES

ROOT = Path(__file__).parent.parent
WALKED = [info.name for info in pkgutil.walk_packages(af.__path__, "autoflow.")]
MODULES = ["autoflow", *sorted(name for name in WALKED if name.partition(".")[2] not in MOVED)]
EXPORTING = ("autoflow", "autoflow.lessons", "autoflow.nn", "autoflow.optim", "autoflow.pictures")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "autoflow").rglob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(python|pycon)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Finder(doctest.DocTestFinder):
    """Examples where they are written: what is exported says that it is of the package that exports it."""

    def _from_module(self, module, object):
        if inspect.isfunction(object):
            return getattr(inspect.unwrap(object), "__globals__", None) is vars(module)
        exported = inspect.isclass(object) and object.__module__ in EXPORTING
        homes = {f.__globals__["__name__"] for f in vars(object).values() if inspect.isfunction(f)} if exported else ()
        return module.__name__ in homes if homes else super()._from_module(module, object)


def run_examples(examples):
    """Run one doctest, names counted from zero; a failure shows what doctest found."""
    af.reset()
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(examples, out=report.write)
    return report.getvalue()


def written(tree, prefix):
    """The dotted names of a module, of its functions and classes whose docstrings have examples in the source."""
    if ">>>" in (ast.get_docstring(tree) or ""):
        yield prefix
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from written(node, f"{prefix}.{node.name}")
        elif isinstance(node, ast.FunctionDef) and ">>>" in (ast.get_docstring(node) or ""):
            yield f"{prefix}.{node.name}"


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)  # whatever an example writes
    found = Finder().find(module, extraglobs={"af": af, "np": np})
    source = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    missed = set(written(source, name)) - {examples.name for examples in found if examples.examples}
    missed = set() if sys.flags.optimize == 2 else missed  # python -OO leaves them out
    assert not missed, f"examples that are not run: {sorted(missed)}"
    report = "".join(run_examples(examples) for examples in found if examples.examples)
    assert not report, report


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_pages(page, tmp_path, monkeypatch):
    """The blocks of a page are one program, from top to bottom; those with >>> also show what must come out."""
    monkeypatch.chdir(tmp_path)
    af.reset()
    names = {"af": af, "np": np, "__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] == "pycon" or match[2].lstrip().startswith(">>>"):
            run_session(match[2], names, page, line)
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * line + match[2], str(page), "exec"), names)


def run_session(text, names, page, line):
    examples = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
    examples.globs = names  # not a copy: the next block goes on with them
    report = io.StringIO()
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.write, clear_globs=False)
    assert not report.getvalue(), report.getvalue()


def test_a_wrong_example_is_found():
    examples = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert "Expected" in run_examples(examples)


def test_blocks_are_found():
    text = "```python\nx = 1\n```\nwords\n```bash\nrm\n```\n```pycon\n>>> x\n1\n```\n"
    assert [match[1] for match in BLOCK.finditer(text)] == ["python", "pycon"]


def test_rows_of_examples_are_gone():
    """Those of the docstrings and pages that were run above, and of programs in other tests."""
    assert [function for function in RULES if inspect.isfunction(function) and not stands_in_a_module(function)] == []
