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

# A room (a module or subpackage of autoflow) and the rooms it may import, anywhere in its files; those above it in this
# list, so imports point one way. Rooms may import within themselves. What counts is said at arrows().
GROUND = {"errors", "lazy", "modes", "numbering", "pytree", "transformed"}
CORE = GROUND | {"rules", "backends", "nodes", "forward", "extending", "backprop"}
USERS = CORE | {"arrays", "batching", "transforms"}
MAY_IMPORT = {
    "errors": set(),
    "lazy": set(),
    "transformed": set(),
    "modes": {"transformed"},
    "settings": {"lazy", "modes"},
    "numbering": set(),
    "pytree": set(),
    "process": {"transformed"},
    "threads": set(),
    "saving": {"errors", "lazy"},
    "rules": {"errors", "modes", "numbering"},
    "backends": {"errors", "lazy", "rules"},
    "nodes": GROUND | {"rules", "backends"},
    "forward": GROUND | {"rules", "backends", "nodes"},
    "extending": GROUND | {"rules", "backends", "nodes", "forward"},
    "backprop": GROUND | {"process", "rules", "backends", "nodes", "extending"},
    "arrays": CORE,
    "batching": CORE,
    "transforms": CORE | {"arrays", "batching"},
    "linalg": CORE,
    "special": {"lazy", "rules"},
    "stats": {"errors", "lazy", "rules", "special"},
    "signal": {"lazy", "rules"},
    "integrate": USERS,
    "implicit": USERS | {"integrate"},
    "mypy_plugin": {"rules"},
    "ops": USERS,
    "compiler": USERS | {"process"},
    # Of nodes the public attributes (tested below); the order of the engine; whether a value is still there.
    "pictures": {"errors", "lazy", "modes", "rules", "nodes", "backprop", "forward"},
    "nn": USERS | {"saving"},
    "optim": USERS | {"saving"},
    "parallel": USERS | {"compiler"},
    "train": USERS | {"nn", "optim", "parallel"},
    "lessons": USERS | {"nn"},  # and what a lesson's questions need to know
    "cli": {"arrays", "errors", "lazy", "modes", "nodes", "rules", "transforms"},
    "__main__": {"cli", "errors", "settings"},
}
# Calls upwards: file, the file that it calls, and why. From methods of nodes, and from a report to pictures.
UPWARDS = [
    ("settings", "backprop.anomaly", "af.options(preset='classroom') looks for the first NaN"),
    ("nodes.nodes", "forward.inplace", "x.value = v is a write"),
    ("nodes.nodes", "extending.function", "x.grad_fn = f and x.create_node(...) make rules of the user's"),
    ("nodes.records", "backprop.passes", "record(g): what an operation sends back, for those who look at a graph"),
    ("forward.node_methods", "backprop.passes", "x.backward(), x.zero_grad()"),
    ("forward.node_methods", "backprop.hooks", "x.register_hook(f)"),
    ("forward.node_methods", "arrays.devices", "x.to_gpu(), x.to_cpu()"),
    ("forward.node_methods", "pictures", "x.graph(), x.step(), x.summary(), what a notebook shows"),
    ("forward.node_methods", "pictures.formulas.latex", "x.formula()"),
    ("forward.node_methods", "pictures.formulas.why", "x.why(w)"),
    ("forward.recording", "forward.inplace", "np.add(x, y, out=z) is a write"),
    ("forward.recording", "forward.mixed_precision", "under af.autocast operands are cast before they are recorded"),
    ("forward.shape_notes", "pictures.model.callers", "an error about shapes calls arrays as the caller does"),
    ("compiler.report", "pictures.model.style", "a compiled function shows itself in the colours of pictures"),
    ("compiler.profile", "pictures.model.style", "and so does the time that its pieces take"),
]
# Modules that are public names of their package. (Of autoflow.rules all are.)
MODULES_BY_DESIGN = {
    "autoflow.implicit", "autoflow.integrate", "autoflow.linalg", "autoflow.nn", "autoflow.nn.init", "autoflow.ops",
    "autoflow.optim", "autoflow.pictures", "autoflow.signal", "autoflow.special", "autoflow.stats",
}  # fmt: skip
# Docstrings only: what they hold is imported from where it is.
DOORLESS = {
    "nodes", "forward", "backprop", "arrays", "batching", "transforms", "extending", "cli", "parallel",
    "compiler.jax", "compiler.llvm", "compiler.trace", "compiler.passes", "compiler.run",
    "pictures.model", "pictures.folding", "pictures.layout", "pictures.render", "pictures.pages", "pictures.formulas",
    "pictures.sliders",
}  # fmt: skip
FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def name_of(path):
    """``nodes/nodes.py`` -> ``nodes.nodes``, ``pictures/__init__.py`` -> ``pictures``; the package itself is ``""``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def arrows(path):
    """The modules that a file asks for, by their names in autoflow: imports wherever they stand, also in functions, and
    the strings that are resolved later. Not what only the type checker sees."""
    package = ["autoflow", *path.relative_to(PACKAGE).parent.parts]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for part in node.body
        for inner in ast.walk(part)
    }
    found = {name for node in ast.walk(tree) if id(node) not in types_only for name in named(node, package)}
    return {existing(name) for name in found if name.partition(".")[0] == "autoflow"} - {name_of(path)}


def named(node, package):
    """What a piece of code names, in full: ``from a import b`` as a.b, which is a module or something in a."""
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom():
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)
        case ast.Constant(value=str() as text) if re.fullmatch(r"autoflow(\.\w+)*:\w+", text):  # later()
            yield text.partition(":")[0]
        case ast.Call(args=[ast.Constant(value=str() as text), *_]) if "import_module" in ast.unparse(node.func):
            yield text
        case ast.Assign(targets=[ast.Name(id="LATER")], value=ast.Dict()) if package == ["autoflow"]:
            yield from (
                f"autoflow.{v.value or k.value}" for k, v in zip(node.value.keys, node.value.values, strict=True)
            )


def existing(name):
    """The module that the name is in, or is."""
    parts = name.split(".")[1:]
    while parts and not any([PACKAGE.joinpath(*parts).with_suffix(".py").exists(), PACKAGE.joinpath(*parts).is_dir()]):
        parts.pop()
    return ".".join(parts)


def is_upwards(path, name):
    return any([(name_of(path), name) == row[:2] for row in UPWARDS])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} is new: say in MAY_IMPORT what it may import"
    for name in arrows(path):
        allowed = name.partition(".")[0] in MAY_IMPORT[room] | {room} or is_upwards(path, name)
        assert allowed, f"{path.name} imports autoflow.{name}: not allowed to {room}"


def test_there_is_no_circle_of_files():
    """But for the calls upwards, which are few, and printed here (``pytest -s``) with their reasons."""
    every = {name_of(path): arrows(path) for path in [PACKAGE / "__init__.py", *FILES]}
    for file, called, reason in UPWARDS:
        assert called in every[file], f"{file} does not call {called}: take the row out"
        assert reason
        every[file].remove(called)
    assert len(UPWARDS) <= 25
    print("", *[f"{file} -> {called}: {reason}" for file, called, reason in UPWARDS], sep="\n")
    graphlib.TopologicalSorter(every).prepare()  # CycleError names the files


def test_the_rooms_stand_in_order():
    rooms = list(MAY_IMPORT)
    for place, room in enumerate(rooms):
        assert MAY_IMPORT[room] <= set(rooms[:place]), room


@pytest.mark.parametrize("room", ["compiler", "pictures"])
def test_folders_of_a_room_point_one_way(room):
    folders = {}
    for path in sorted((PACKAGE / room).rglob("*.py")):
        _, *here = name_of(path).split(".")
        inside = [name.split(".")[1] for name in arrows(path) if name.startswith(f"{room}.")]
        folders.setdefault((here or ["__init__"])[0], set()).update(inside)
    graphlib.TopologicalSorter({k: v - {k} for k, v in folders.items()}).prepare()


def test_arrows_of_every_kind_are_seen(tmp_path, monkeypatch):
    text = """
        from typing import TYPE_CHECKING
        from . import modes
        import autoflow.engine as e
        from autoflow.base.lazy import later
        if TYPE_CHECKING:
            from .grads import added
        LATER = {"fit": "train", "nn": "", "numpy": "numpy"}
        def f():
            from .rules.table import rule
            later("autoflow.passes:backward")
            importlib.import_module("autoflow.hooks")
        """
    names = "modes engine lazy grads train nn passes hooks"
    for name in [*names.split(), "rules/table"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "__init__.py").write_text(textwrap.dedent(text))
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    assert arrows(tmp_path / "__init__.py") == {*names.split(), "rules.table"} - {"grads"}


def test_the_engine_knows_no_arrays():
    path = PACKAGE / "backprop" / "engine.py"
    assert not arrows(path)
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
    others = {"backends", "rules", "nn", "optim", "implicit", "integrate", "compiler", "pictures", "stats", "lessons"}
    assert found == DOORLESS | others
    for name in DOORLESS:
        path = PACKAGE.joinpath(*name.split("."), "__init__.py")
        (docstring,) = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(docstring.value.value, str), path


def test_there_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", autoflow.__version__)


def alone(code):
    """Run ``code`` in a new Python and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, cwd=PACKAGE.parent, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_gives_nodes_all_that_they_have():
    """Here other tests may have imported what is missing."""
    code = (
        "import numpy as np, autoflow as af; x = af.Variable([1.0, 2.0]); y = np.sum(np.exp(x) * x.reshape(2)); "
        "y.backward(); print(np.allclose(x.grad, np.exp(x.value) * (1 + x.value)))"
    )
    assert alone(code) == ["True"]


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
        "arrays", "arrays.creation", "backends", "backends.registry", "backprop",
        "backprop.engine", "backprop.hooks", "backprop.opening", "backprop.passes", "backprop.quietly",
        "backprop.reuse", "backprop.saved_values", "errors", "forward", "forward.array_methods", "forward.callers",
        "forward.closures", "forward.deferring", "forward.dispatch", "forward.node_methods", "forward.operands",
        "forward.operators", "forward.python_protocols", "forward.recording", "lazy", "modes", "nodes",
        "nodes.coercion", "nodes.foreign", "nodes.freeing",
        "nodes.grads", "nodes.next_use", "nodes.nodes", "nodes.printing", "nodes.rebinding", "nodes.records",
        "nodes.versions", "numbering", "process", "pytree",
        "rules", "settings", "threads", "transformed", "transforms", "transforms.evaluation", "transforms.gradient",
    }  # fmt: skip
