"""Who may import whom, and what `import autoflow` costs."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import autoflow

PACKAGE = Path(autoflow.__file__).parent

# A room (a module or subpackage of autoflow) and the rooms it may import, anywhere in its files; those above it in this
# list, so imports point one way. Rooms may import within themselves. Strings like "autoflow.backprop.passes:backward",
# resolved at the first call, are the sanctioned way up; they are no imports.
GROUND = {"errors", "lazy", "modes", "numbering", "pytree"}
CORE = GROUND | {"rules", "backends", "nodes", "forward", "extending", "backprop"}
USERS = CORE | {"arrays", "transforms"}
MAY_IMPORT = {
    "errors": set(),
    "lazy": set(),
    "modes": set(),
    "numbering": set(),
    "pytree": set(),
    "process": set(),
    "saving": {"errors"},
    "rules": {"errors", "modes", "numbering"},
    "backends": {"errors", "lazy", "rules"},
    "nodes": GROUND | {"rules", "backends"},
    "forward": GROUND | {"rules", "backends", "nodes"},
    "extending": GROUND | {"rules", "backends", "nodes", "forward"},
    "backprop": GROUND | {"rules", "backends", "nodes", "extending"},
    "arrays": CORE,
    "transforms": CORE | {"arrays"},
    "linalg": CORE,
    "special": {"rules"},
    "stats": {"rules"},
    "signal": {"rules"},
    "integrate": CORE | {"transforms"},
    "ops": USERS,
    "compiler": USERS | {"process"},
    # Of nodes the public attributes (tested below); the order of the engine; whether a value is still there.
    "pictures": {"errors", "modes", "nodes", "backprop", "forward"},
    "nn": USERS | {"saving"},
    "optim": USERS | {"saving"},
    "train": USERS | {"nn", "optim"},
    "cli": {"arrays", "errors", "modes", "nodes", "rules"},
    "__main__": {"cli", "errors", "modes"},
}
# These show pictures if asked to: inside functions only.
PICTURES_LATER = {"__main__", "compiler", "train"}
# Modules that are public names of their package. (Of autoflow.rules all are.)
MODULES_BY_DESIGN = {
    "autoflow.integrate", "autoflow.linalg", "autoflow.nn", "autoflow.nn.init", "autoflow.ops", "autoflow.optim",
    "autoflow.pictures", "autoflow.signal", "autoflow.special", "autoflow.stats",
}  # fmt: skip
# Docstrings only: what they hold is imported from where it is.
DOORLESS = {
    "nodes", "forward", "backprop", "arrays", "transforms", "extending", "cli", "compiler.trace", "compiler.passes",
    "compiler.run", "pictures.model", "pictures.folding", "pictures.layout", "pictures.render", "pictures.pages",
    "pictures.formulas", "pictures.sliders",
}  # fmt: skip
FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path):
    """The rooms of autoflow that a file imports: (room, inside a function?)."""
    package = ["autoflow", *path.relative_to(PACKAGE).parent.parts]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        for module in modules(node, package):
            first, *rest = module.split(".")
            if first == "autoflow":
                yield (rest[0] if rest else ""), id(node) in inside


def modules(node, package):
    """What an import statement names, in full; with ``from a import b`` also a.b, which may be a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        start = ".".join([*above, *([node.module] if node.module else [])])
        if start == "autoflow":
            yield from (f"autoflow.{alias.name}" for alias in node.names)
        else:
            yield start


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} is new: say in MAY_IMPORT what it may import"
    for imported, later in imports(path):
        if imported == room or (imported == "pictures" and later and room in PICTURES_LATER):
            continue
        assert imported in MAY_IMPORT[room], f"{path.name} imports autoflow.{imported}: not allowed to {room}"


def test_the_rooms_stand_in_order():
    rooms = list(MAY_IMPORT)
    for place, room in enumerate(rooms):
        assert MAY_IMPORT[room] <= set(rooms[:place]), room


def test_relative_absolute_and_late_imports_are_seen(tmp_path, monkeypatch):
    text = """
        from . import nodes
        import autoflow.backprop.engine as e
        from autoflow import modes
        def f():
            from .rules.table import rule
        """
    (tmp_path / "new.py").write_text(textwrap.dedent(text))
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    found = set(imports(tmp_path / "new.py"))
    assert found == {("nodes", False), ("backprop", False), ("modes", False), ("rules", True)}


def test_the_engine_knows_no_arrays():
    path = PACKAGE / "backprop" / "engine.py"
    assert not set(imports(path))
    text = path.read_text(encoding="utf-8").lower()
    assert "numpy" not in text
    assert "cupy" not in text
    assert "np." not in text


@pytest.mark.parametrize("path", sorted((PACKAGE / "pictures").rglob("*.py")), ids=lambda path: path.name)
def test_pictures_read_public_attributes_only(path):
    """What is drawn is what any user could read: no slot of a node, no private part of a record."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "sys")
            assert own, f"{path.name}:{node.lineno} reads {ast.unparse(node)}"


def test_paths_in_strings_lead_somewhere():
    paths = {
        text for path in FILES for text in re.findall(r"\"(autoflow(?:\.\w+)*:\w+)\"", path.read_text(encoding="utf-8"))
    }
    for path in sorted(paths):
        module, _, name = path.partition(":")
        assert hasattr(importlib.import_module(module), name), path


def test_no_public_name_hides_a_module():
    """``af.check`` cannot be a function and a module: whoever is imported last would win. So in every package."""
    packages = [autoflow, *[importlib.import_module(info.name) for info in walked() if info.ispkg]]
    assert len(packages) > 20
    for package in packages:
        public = set(getattr(package, "__all__", ()))
        for info in pkgutil.iter_modules(package.__path__):
            name = f"{package.__name__}.{info.name}"
            if info.name != "__main__":
                module = importlib.import_module(name)
                assert getattr(package, info.name) is module, name
                assert info.name not in public or name in MODULES_BY_DESIGN or package is autoflow.rules, name


def walked():
    return pkgutil.walk_packages(autoflow.__path__, "autoflow.")


def test_inner_packages_hold_a_docstring_and_nothing_else():
    found = {info.name.removeprefix("autoflow.") for info in walked() if info.ispkg}
    assert found == DOORLESS | {"backends", "rules", "nn", "optim", "compiler", "pictures"}
    for name in DOORLESS:
        path = PACKAGE.joinpath(*name.split("."), "__init__.py")
        (docstring,) = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(docstring.value.value, str), path


def test_there_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", autoflow.__version__)


def alone(code):
    """Run ``code`` in a new Python and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=PACKAGE.parent, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_nothing_beyond_numpy():
    new = alone(
        "import sys, numpy; before = set(sys.modules); import autoflow\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    assert set(new) <= {"autoflow", "numpy"}


def test_import_starts_nothing_and_reads_no_data():
    seen = alone(
        "import sys, threading, numpy\n"
        "seen = []\n"
        "def hook(event, args):\n"
        "    if event == 'open' and not str(args[0]).endswith(('.py', '.pyc')) and '.pyc.' not in str(args[0]):\n"
        "        seen.append(f'open:{args[0]}')\n"
        "    if event in ('subprocess.Popen', 'os.system', 'os.fork', 'os.exec', 'os.posix_spawn', 'socket.connect'):\n"
        "        seen.append(event)\n"
        "sys.addaudithook(hook)\n"
        "import autoflow\n"
        "print(threading.active_count(), *seen)"
    )
    assert seen == ["1"]


def test_import_loads_only_the_core():
    """What ``import autoflow`` costs is measured by benchmarks/startup.py; here, that nothing more is loaded."""
    code = (
        "import sys, autoflow; print(*[n.removeprefix('autoflow.') for n in sys.modules if n.startswith('autoflow.')])"
    )
    loaded = {name for name in alone(code) if not name.startswith("rules.")}
    assert loaded <= {
        "arrays", "arrays.creation", "backends", "backends.registry", "backprop", "backprop.deferred_products",
        "backprop.engine", "backprop.hooks", "backprop.passes", "backprop.quiet", "backprop.reuse", "errors", "forward",
        "forward.array_methods", "forward.dispatch", "forward.operators", "forward.python_protocols",
        "forward.recording", "lazy", "modes", "nodes", "nodes.coercion", "nodes.foreign", "nodes.freeing", "nodes.grads", "nodes.nodes",
        "nodes.printing", "nodes.records", "nodes.versions", "numbering", "pytree", "rules", "transforms",
        "transforms.evaluation", "transforms.gradient",
    }  # fmt: skip
