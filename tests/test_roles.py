"""What docstrings and comments mention is there: ``:func:`grad``` is a function, ``engine.py`` is a file."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import tokenize
from pathlib import Path

import pytest

import autoflow

ROOT = Path(__file__).parent.parent
FOLDERS = ("autoflow", "tests", "benchmarks", "docs", "examples", "notebooks", "site", ".ci")
MODULES = ["autoflow", *sorted(info.name for info in pkgutil.walk_packages(autoflow.__path__, "autoflow."))]
FILES = ["/" + path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
ROLE = re.compile(r":(\w+):`~?([^`]*)`")
FILE = re.compile(r"[\w/.-]*\w\.py\b")
KINDS = {"mod": inspect.ismodule, "class": inspect.isclass, "func": callable, "meth": callable}
PARSE_EXAMPLES = doctest.DocTestParser().parse


def docstrings(tree, classes=()):
    """Pairs: a docstring without its examples, and the names of the classes around it, the outermost first."""
    classes += (tree.name,) if isinstance(tree, ast.ClassDef) else ()
    if isinstance(tree, ast.Module | ast.ClassDef | ast.FunctionDef):
        text = ast.get_docstring(tree) or ""
        yield "".join(part for part in PARSE_EXAMPLES(text) if isinstance(part, str)), classes
    for child in ast.iter_child_nodes(tree):
        yield from docstrings(child, classes)


def comments(path):
    with tokenize.open(path) as file:
        return [token.string for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.COMMENT]


def follow(start, names):
    """The attribute of an attribute of ...; of a field without a default its annotation; None if there is none."""
    for name in names:
        start = getattr(start, name, getattr(start, "__annotations__", {}).get(name))
    return start


def find_absolute(name):
    """A module by the name that its file has now, or what is in it; or something of NumPy's or SciPy's."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        home, rest = ".".join(parts[:k]), parts[k:]
        if home in MODULES:
            found = follow(importlib.import_module(home), rest)
            return None if rest and inspect.ismodule(found) else found  # a module by its old name
        if rest and parts[0] in ("numpy", "scipy") and importlib.util.find_spec(home):
            return follow(importlib.import_module(home), rest)
    return None


def find(target, module, classes):
    """What a role means: ``.name`` is in this package, ``..name`` in the one around it; any other name is that of
    something in the classes around the docstring, in the module, or a full name.
    """
    home = importlib.import_module(module)
    if target.startswith("."):
        return find_absolute(importlib.util.resolve_name(target, home.__package__))
    scopes = [follow(home, classes[:k]) for k in range(len(classes), -1, -1)]
    found = [follow(scope, target.split(".")) for scope in scopes]
    seen = next((x for x in found if x is not None), None)  # an empty dict is something as well
    return find_absolute(target) if seen is None else seen


def wrong_roles(text, module, classes=()):
    """The roles that lead nowhere, or to something of another kind."""
    for kind, target in ROLE.findall(text):
        found = find(target, module, classes)
        if found is None or not KINDS.get(kind, lambda x: True)(found):
            yield f":{kind}:`{target}`"


def wrong_files(text):
    """The files that are nowhere in the repository."""
    return [name for name in FILE.findall(text) if not any(path.endswith("/" + name) for path in FILES)]


@pytest.mark.parametrize("module", MODULES)
def test_what_is_mentioned_is_there(module):
    path = Path(importlib.import_module(module).__file__)
    texts = list(docstrings(ast.parse(path.read_text(encoding="utf-8"))))
    wrong = [role for text, classes in texts for role in wrong_roles(text, module, classes)]
    wrong += [name for text in [*comments(path), *(text for text, _ in texts)] for name in wrong_files(text)]
    assert not wrong, f"{path.relative_to(ROOT)} mentions what is not there: {', '.join(wrong)}"


def test_what_is_not_there_is_seen():
    text = ":func:`grad`, :func:`gard`, :class:`grad`, :mod:`.vjp_jvp`, :mod:`.gauss_newton`, :mod:`..implicit.linear`"
    assert list(wrong_roles(text, "autoflow.transforms.gradient")) == [
        ":func:`gard`", ":class:`grad`", ":mod:`.gauss_newton`",
    ]  # fmt: skip
    text = ":meth:`keys`, :meth:`kyes`"
    assert list(wrong_roles(text, "autoflow.transforms.gradient", ("Gradients",))) == [":meth:`kyes`"]
    assert list(wrong_roles(":mod:`autoflow.rules.table`", "autoflow")) == [":mod:`autoflow.rules.table`"]  # as it was
    assert wrong_files("``gradient.py``, ``transforms/gradient.py``, ``rules/gradient.py``") == ["rules/gradient.py"]
