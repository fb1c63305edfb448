"""The API reference, from the docstrings: ``make docs``, or ``python docs/make_api.py FOLDER``. pdoc writes the pages.

It begins with the tasks of ``tasks.md``, and lists first what these name. A name that does not resolve, a docstring
that pdoc cannot show, or any other warning is an error. ``objects.inv`` says where each name is, so that the Sphinx
documentation of other projects can link to it (intersphinx).
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pdoc

import autoflow
from autoflow.base.spellings import Spelling

HERE = Path(__file__).parent
NODES = ["Variable", "Node", "Operation", "Constant"]
# What the pages of nodes leave out: methods of arrays, which mean what they mean in NumPy, and what only we use.
HIDDEN = {"create_node", "family", "parents", "role", *[name for name in dir(np.ndarray) if not name.startswith("_")]}
# What users import, with what these name in ``__all__``. The other modules are for those who read the source.
MODULES = ["autoflow", "autoflow.backends", "autoflow.errors", "autoflow.pictures"]


def tell_home(thing: Any) -> None:
    """Let a class or function say where it is written: there pdoc finds its source, and what its annotations name."""
    functions = vars(thing).values() if inspect.isclass(thing) else [thing]
    homes = [f.__globals__["__name__"] for f in functions if inspect.isfunction(f)]
    homes = [home for home in homes if home.startswith("autoflow")]  # methods of dataclasses may be Python's
    if homes:
        thing.__module__ = homes[0]
    if homes and inspect.isclass(thing) and sys.version_info >= (3, 13):  # which forgets the line with the module
        tree = ast.parse(inspect.getsource(sys.modules[homes[0]]))
        lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == thing.__name__]
        thing.__firstlineno__ = lines[0] if lines else 1  # type: ignore[attr-defined]


def find_place(name: str) -> str:
    """The link to ``af.nn.Linear``. Raises AttributeError if there is no such thing."""
    words = name.split(".")[1:]
    thing: Any = autoflow
    modules, page = 0, ""
    for k, word in enumerate(words):
        thing = getattr(thing, word)
        if inspect.ismodule(thing):  # af.linalg is autoflow.scipy.linalg
            modules, page = k + 1, thing.__name__.replace(".", "/") + ".html"
    place = ".".join(words[modules:])
    return f"{page}#{place}" if place else page


def link_names(text: str) -> str:
    """Every `af.name` of the text as a link to where it is described. `Node.name` pdoc links itself."""

    def link(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("examples/") and not (HERE.parent / name).exists():
            raise FileNotFoundError(name)
        if name.startswith("Node."):
            find_place(f"af.{name}")
        return f"[`{name}`]({find_place(name)})" if name.startswith("af.") else match[0]

    return re.sub(r"`([^`]+)`", link, text)


def order_names(tasks: str) -> list[str]:
    """What autoflow exports: the nodes, then in the order of the tasks, then the rest."""
    names = [*NODES, *re.findall(r"`af\.(\w+)", tasks), *sorted(autoflow.__all__)]
    return [name for name in dict.fromkeys(names) if name in autoflow.__all__]


# A name on a page of pdoc: its anchor, and what it is.
ANCHOR = re.compile(
    r'<(?:section|div) id="([\w.]+)"(?:(?!<div class="attr).){0,400}?<div class="attr (\w+)"', re.DOTALL
)
ROLES = {"class": "class", "function": "function", "variable": "data"}


def described(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Every name that the pages describe, as users write it: the name, its role in Sphinx, its address."""
    public = {m.__name__: f"autoflow.{n}" for n in autoflow.__all__ if inspect.ismodule(m := getattr(autoflow, n))}
    for path in sorted(folder.rglob("*.html")):
        address = path.relative_to(folder).as_posix()
        module = address.removesuffix(".html").replace("/", ".")
        if module.partition(".")[0] != "autoflow":  # index.html, search
            continue
        module = public.get(module, module)
        yield module, "module", address
        for name, kind in ANCHOR.findall(path.read_text(encoding="utf-8")):
            role = ROLES.get(kind, "data")
            if "." in name:
                role = {"function": "method", "data": "attribute"}.get(role, role)
            yield f"{module}.{name}", role, f"{address}#{name}"


def write_inventory(folder: Path) -> None:
    """``objects.inv`` in the format of Sphinx, version 2."""
    head = f"# Sphinx inventory version 2\n# Project: autoflow\n# Version: {autoflow.__version__}\n"
    rows = "".join([f"{name} py:{role} 1 {address} -\n" for name, role, address in described(folder)])
    packed = zlib.compress(rows.encode(), 9)
    (folder / "objects.inv").write_bytes(
        f"{head}# The remainder of this file is compressed using zlib.\n".encode() + packed
    )


def main(folder: Path) -> None:
    """Write the site into ``folder``."""
    warnings.simplefilter("error")
    for name in autoflow.__all__:  # pdoc looks into the module's dictionary, where names that wait are not yet
        setattr(autoflow, name, getattr(autoflow, name))
    options: Any = type(autoflow.options)  # whose docstring is that of af.options: pdoc shows those of classes only
    autoflow.options = options
    tasks = (HERE / "tasks.md").read_text(encoding="utf-8")
    tasks = re.sub(r"\[[^]]+\]\(([\w-]+\.md)\)", r"`docs/\1`", tasks)  # pages that are not part of the site
    autoflow.__all__ = order_names(tasks)
    autoflow.__doc__ = f"{autoflow.__doc__}\n\n{link_names(tasks)}"
    for name in MODULES:
        module = importlib.import_module(name)
        missing = [n for n in getattr(module, "__all__", []) if not (getattr(module, n).__doc__ or "").strip()]
        if missing:
            raise UserWarning(f"{name}: no docstring for {', '.join(missing)}")
    packages = autoflow.backends, autoflow.implicit, autoflow.integrate, autoflow.nn, autoflow.optim, autoflow.pictures
    for module in (autoflow, *packages):
        for name in module.__all__:
            tell_home(getattr(module, name))
    pdoc.doc_ast.walk_tree(options)  # now: its source is found by the name that it has there, and then remembered
    options.__name__ = options.__qualname__ = "options"
    pdoc.render.configure(math=True, docformat="restructuredtext", search=True, template_directory=HERE / "templates")
    pdoc.render.env.globals["hidden_members"] = dict.fromkeys(NODES, HIDDEN)
    for name in [name for name, x in vars(autoflow.Node).items() if isinstance(x, Spelling)]:
        delattr(autoflow.Node, name)  # x.int of another library is not a type in an annotation
    for cls in (autoflow.Node, autoflow.Variable, autoflow.Constant, autoflow.Operation):
        for name, member in vars(cls.role).items():  # node classes inherit from roles, which do not concern users
            if not name.startswith("_"):
                setattr(cls, name, member)
    for cls in (autoflow.Variable, autoflow.Constant):
        cls.role.__new__.__doc__ = ""  # the arguments are shown of a constructor that has a docstring
    pdoc.pdoc(*MODULES, output_directory=folder)
    write_inventory(folder)
    print(f"{len(list(folder.rglob('*.html')))} pages in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs"))
