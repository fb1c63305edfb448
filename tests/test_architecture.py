"""Who may import whom, and what `import autoflow` costs."""

import ast
import graphlib
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
RECORDING = {
    "backends",
    "display",
    "errors",
    "foreign",
    "freeing",
    "grads",
    "intake",
    "late",
    "memory",
    "modes",
    "numbering",
    "records",
    "rules",
}
CORE = RECORDING | {"nodes", "recording", "doors", "fast", "methods", "protocol", "inplace", "engine", "passes"}
CORE |= {"hooks"}
TRACING = {"tracing", "trees"}
TRANSFORMS = TRACING | {"transforms", "products", "jacobians"}
USERS = CORE | TRANSFORMS | {"create", "collected", "function"}

# A part (a module or subpackage of autoflow) and the parts it may import, anywhere in its files. Subpackages may
# import within themselves. Strings like "autoflow.passes:backward", resolved at the first call, are the sanctioned
# way up; they are no imports.
MAY_IMPORT = {
    "errors": set(),
    "late": set(),
    "modes": set(),
    "engine": set(),
    "numbering": set(),
    "memory": set(),
    "freeing": {"numbering"},
    "scopes": {"modes", "numbering"},
    "backends": {"errors", "late"},
    "foreign": {"errors"},
    "rules": {"errors", "modes", "numbering"},
    "grads": {"backends", "errors"},
    "quiet": set(),
    "reuse": {"engine", "grads", "rules"},
    "gathered": {"rules"},
    "display": {"errors", "modes"},
    "intake": {"errors", "backends"},
    "records": {"freeing", "late", "memory", "numbering", "rules"},
    "nodes": RECORDING,
    "recording": RECORDING | {"nodes"},
    "doors": RECORDING | {"nodes", "recording"},
    "fast": RECORDING | {"nodes", "recording", "doors"},
    "methods": RECORDING | {"nodes", "recording", "protocol"},
    "protocol": RECORDING | {"nodes"},
    "inplace": RECORDING | {"nodes", "recording", "doors", "fast"},
    "writers": RECORDING | {"nodes", "recording", "inplace"},
    "hooks": RECORDING | {"nodes"},
    "passes": RECORDING | {"nodes", "engine", "hooks", "quiet", "reuse", "gathered"},
    "create": CORE,
    "joint": CORE,
    "anomaly": CORE,
    "masking": {"modes", "rules"},
    "precision": CORE,
    "recompute": CORE | {"joint"},
    "trees": set(),
    "tracing": CORE | {"trees"},
    "transforms": CORE | TRACING,
    "products": CORE | TRACING | {"transforms"},
    "jacobians": CORE | TRACING | {"transforms", "products"},
    "collected": CORE | TRACING,
    "function": CORE | {"joint"},
    "custom": CORE | {"joint"},
    "linalg": CORE,
    "special": {"rules"},
    "stats": {"rules"},
    "signal": {"rules"},
    "integrate": CORE | {"function", "products"},
    "ops": USERS,
    "devices": CORE | {"create", "trees"},
    "gpu": {"backends", "errors", "late"},
    "verify": USERS | {"devices"},
    "plan": USERS,
    "replay": CORE,
    # Of nodes the public attributes (tested below); the order of the engine; whether a value is still there.
    "pictures": {"errors", "modes", "nodes", "engine", "memory", "replay"},
    "states": {"errors"},
    "nn": USERS | {"devices", "recompute", "scopes", "states"},
    "optim": USERS | {"states"},
    "train": USERS | {"nn", "optim", "precision"},
    # the command line
    "listing": set(),
    "commandline": {"create", "errors", "nodes", "rules"},
    "demo": {"listing", "modes", "nodes"},
    "__main__": {"commandline", "demo", "errors", "listing", "modes"},
}
# These show pictures if asked to: inside functions only.
PICTURES_LATER = {"__main__", "verify", "plan", "train"}
SUBPACKAGES_BY_DESIGN = {
    "nn", "optim", "linalg", "special", "stats", "signal", "integrate", "ops", "rules", "plan", "pictures",
}  # fmt: skip
FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def part_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path):
    """The parts of autoflow that a file imports: (part, inside a function?)."""
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
    part = part_of(path)
    assert part in MAY_IMPORT, f"{part} is new: say in MAY_IMPORT what it may import"
    for imported, later in imports(path):
        if imported == part or (imported == "pictures" and later and part in PICTURES_LATER):
            continue
        assert imported in MAY_IMPORT[part], f"{path.name} imports autoflow.{imported}: not allowed to {part}"


def test_the_table_has_no_cycle():
    graphlib.TopologicalSorter(MAY_IMPORT).prepare()


def test_relative_absolute_and_late_imports_are_seen(tmp_path, monkeypatch):
    text = """
        from . import nodes
        import autoflow.engine as e
        from autoflow import passes
        def f():
            from .rules.table import rule
        """
    (tmp_path / "new.py").write_text(textwrap.dedent(text))
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    found = set(imports(tmp_path / "new.py"))
    assert found == {("nodes", False), ("engine", False), ("passes", False), ("rules", True)}


def test_the_engine_knows_no_arrays():
    text = (PACKAGE / "engine.py").read_text(encoding="utf-8").lower()
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
    """``af.check`` cannot be a function and a module: whoever is imported last would win."""
    names = {info.name for info in pkgutil.iter_modules([str(PACKAGE)])} - {"__main__"}
    public = set(getattr(autoflow, "__all__", ()))
    for name in sorted(names):
        module = importlib.import_module(f"autoflow.{name}")
        assert getattr(autoflow, name, module) is module, f"af.{name} is not the module autoflow.{name}"
        assert name not in public or name in SUBPACKAGES_BY_DESIGN, name


def test_there_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", autoflow.__version__)


def alone(code):
    """Run ``code`` in a new Python and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, cwd=PACKAGE.parent, check=False
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
    code = "import sys, autoflow; print(*{n.split('.')[1] for n in sys.modules if n.startswith('autoflow.')})"
    assert set(alone(code)) <= {
        "backends", "create", "display", "doors", "engine", "errors", "fast", "foreign", "freeing", "gathered", "grads",
        "hooks", "intake", "late", "memory", "methods", "modes", "nodes", "numbering", "passes", "protocol", "quiet",
        "recording", "records", "reuse", "rules", "tracing", "transforms", "trees",
    }  # fmt: skip
