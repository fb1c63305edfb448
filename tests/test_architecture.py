"""Who may import whom, and what `import autoflow` costs."""

import ast
import functools
import graphlib
import importlib
import pkgutil
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from processes import alone

import autoflow
from autoflow.base import lazy

PACKAGE = Path(autoflow.__file__).parent

# A room (a module or subpackage of autoflow) and the rooms it may import, anywhere in its files; those above it in this
# list, so imports point one way. Rooms may import within themselves. What counts is said at arrows().
CORE = {"base", "program", "table", "rules", "backends", "nodes", "forward", "extending", "backprop"}
USERS = CORE | {"arrays", "batching", "transforms"}
MAY_IMPORT = {
    "base": set(),
    "program": set(),
    "table": {"base"},
    "rules": {"base", "table"},
    "backends": {"base", "program", "table"},
    "nodes": {"base", "program", "table", "backends"},
    "forward": {"base", "program", "table", "rules", "backends", "nodes"},
    "extending": CORE - {"extending", "backprop"},
    "backprop": CORE - {"backprop", "forward"},
    "arrays": CORE,
    "batching": CORE,
    "transforms": CORE | {"arrays", "batching"},
    "implicit": USERS,
    "scipy": USERS | {"implicit"},
    "mypy_plugin": {"base", "table", "rules"},
    # Of nodes the public attributes (tested below); the order of the engine; whether a value is still there.
    "pictures": {"base", "program", "table", "rules", "nodes", "backprop", "forward"},
    "compiler": USERS | {"pictures"},
    "livepage": USERS | {"pictures", "compiler"},
    "parallel": USERS | {"compiler"},
    "optim": USERS,
    "nn": USERS | {"optim", "parallel"},
    "lessons": USERS | {"nn"},  # and what a lesson's questions need to know
    "cli": {"base", "program", "table", "rules", "nodes", "arrays", "transforms", "nn", "optim"},
    "doctor": {"table", "base", "program", "rules", "nodes", "backprop", "transforms", "cli", "optim"},
    "__main__": {"base", "cli", "doctor"},
}
# Names that stay, for checkers of types: each file imports all of the module that Python finds.
STAY = {"errors", "integrate", "linalg", "ops", "signal", "special", "stats", "train"}
# Calls upwards: file, the room or the file that it calls, and why. Most are methods of nodes.
UPWARDS = [
    ("base.modes", "backprop.anomaly", "af.options(preset='classroom') looks for the first NaN"),
    ("nodes.nodes", "forward", "x.value = v is a write; and checkers of types see the methods that forward installs"),
    ("nodes.nodes", "extending.function", "x.grad_fn = f and x.create_node(...) make rules of the user's"),
    ("nodes.records", "backprop.passes", "record(g): what an operation sends back, for those who look at a graph"),
    ("forward.node_methods", "backprop", "x.backward(), x.zero_grad(), x.register_hook(f)"),
    ("forward.node_methods", "arrays", "x.to_gpu(), x.to_cpu()"),
    ("forward.node_methods", "pictures", "x.graph(), x.step(), x.formula(), x.why(w), what a notebook shows"),
    ("rules.matrix_functions", "nodes.nodes", "checkers of types see what af.linalg.expm gives; nothing is called"),
    ("forward.recording", "forward", "np.add(x, y, out=z) is a write; under af.autocast operands are cast first"),
    ("forward.node_methods", "doctor", "loss.diagnose()"),
]
# Modules that are public names of their package. (Of autoflow.rules all are.)
MODULES_BY_DESIGN = {
    "autoflow.implicit", "autoflow.integrate", "autoflow.linalg", "autoflow.nn", "autoflow.nn.init", "autoflow.ops",
    "autoflow.optim", "autoflow.pictures", "autoflow.signal", "autoflow.special", "autoflow.stats",
    "autoflow.scipy.integrate", "autoflow.scipy.linalg", "autoflow.scipy.signal", "autoflow.scipy.special",
    "autoflow.scipy.stats", "autoflow.scipy.fft", "autoflow.scipy.interpolate", "autoflow.scipy.ndimage",
    "autoflow.scipy.optimize", "autoflow.scipy.sparse", "autoflow.scipy.spatial", "autoflow.scipy.spatial.distance",
}  # fmt: skip
# Docstrings only: what they hold is imported from where it is.
DOORLESS = {
    "base", "doctor", "program", "table", "nodes", "forward", "backprop", "batching", "transforms", "extending", "cli",
    "livepage", "parallel", "compiler.jax", "compiler.llvm", "compiler.trace", "compiler.run", "compiler.text",
    "pictures.model", "pictures.folding", "pictures.layout", "pictures.render", "pictures.pages", "pictures.formulas",
    "pictures.sliders",
}  # fmt: skip
FILES = sorted(p for p in PACKAGE.rglob("*.py") if p not in [PACKAGE / f"{name}.py" for name in ("__init__", *STAY)])


def room_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def name_of(path):
    """``nodes/nodes.py`` -> ``nodes.nodes``, ``pictures/__init__.py`` -> ``pictures``; the package itself is ``""``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def arrows(path):
    """The modules that a file asks for, by their names in autoflow: imports wherever they stand, also in functions or
    for the type checker only, and what is called by name: ``later("backward")``."""
    package = ["autoflow", *path.relative_to(PACKAGE).parent.parts]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {name for node in ast.walk(tree) for name in named(node, package)}
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
        case ast.Call(func=ast.Name(id="later" | "by_name"), args=[ast.Constant(value=str() as text)]):
            yield f"autoflow.{lazy.CALLED[text]}"
        case ast.Call(args=[ast.Constant(value=str() as text), *_]) if "import_module" in ast.unparse(node.func):
            yield text
        case ast.Name(id="find_public") if package == ["autoflow"]:
            yield from (f"autoflow.{path or name}" for name, path in lazy.LATER.items())


def existing(name):
    """The module that the name is in, or is."""
    parts = name.split(".")[1:]
    while parts and not any([PACKAGE.joinpath(*parts).with_suffix(".py").exists(), PACKAGE.joinpath(*parts).is_dir()]):
        parts.pop()
    return ".".join(parts)


def is_upwards(path, name):
    return any([name_of(path) == file and name in called_in(called) for file, called, _ in UPWARDS])


def called_in(room):
    """The modules of a room, or the one file."""
    return {name_of(path) for path in FILES if f"{name_of(path)}.".startswith(f"{room}.")}


def test_imports_point_one_way():
    for path in FILES:
        room = room_of(path)
        assert room in MAY_IMPORT, f"{room} is new: say in MAY_IMPORT what it may import"
        for name in arrows(path):
            allowed = name.partition(".")[0] in MAY_IMPORT[room] | {room} or is_upwards(path, name)
            assert allowed, f"{path} imports autoflow.{name}: not allowed to {room}"


def test_there_is_no_circle_of_files():
    """But for the calls upwards, which are few, and printed here (``pytest -s``) with their reasons."""
    every = {name_of(path): {*arrows(path)} for path in [PACKAGE / "__init__.py", *FILES]}
    for file, called, reason in UPWARDS:
        assert every[file] & called_in(called), f"{file} does not call {called}: take the row out"
        assert reason
        every[file] -= called_in(called)
    assert len(UPWARDS) <= 10
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
        from autoflow.lazy import find_public, later
        if TYPE_CHECKING:
            from .grads import added
        __getattr__ = find_public
        def f():
            from .rules.table import rule
            later("backward")
            importlib.import_module("autoflow.hooks")
        """
    names = "modes engine lazy grads train nn passes hooks"
    for name in [*names.split(), "rules/table"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "__init__.py").write_text(textwrap.dedent(text))
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    monkeypatch.setattr(lazy, "LATER", {"fit": "train", "nn": ""})
    monkeypatch.setattr(lazy, "CALLED", {"backward": "passes"})
    assert arrows(tmp_path / "__init__.py") == {*names.split(), "rules.table"}


def test_the_engine_knows_no_arrays():
    path = PACKAGE / "backprop" / "engine.py"
    assert not arrows(path)
    assert re.findall(r"numpy|cupy|np\.", path.read_text(encoding="utf-8").lower()) == []


def test_pictures_read_public_attributes_only():
    """What is drawn is what any user could read: no slot of a node, no private part of a record."""
    files = (PACKAGE / "pictures").rglob("*.py")
    for path, node in [(p, node) for p in files for node in ast.walk(ast.parse(p.read_text(encoding="utf-8")))]:
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "sys")
            assert own, f"{path.name}:{node.lineno} reads {ast.unparse(node)}"


def test_modules_are_named_in_strings_in_one_file_only():
    """``base/lazy.py``: what stands in a string is followed by no tool. (Docstrings may name any.)"""
    names = {name_of(path) for path in FILES} | {f"autoflow.{name_of(path)}" for path in FILES}
    names = {name for name in names if not name.startswith("scipy.")}  # SciPy's own
    for path in {*FILES, PACKAGE / "__init__.py"} - {PACKAGE / "base" / "lazy.py"}:
        source = path.read_text(encoding="utf-8")
        quoted = {text.partition(":")[0] for text in re.findall(r"""(?<=["'])\w+(?:\.\w+)+(?::\w+)?(?=["'])""", source)}
        for node in ast.walk(ast.parse(source if quoted & names else "")):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if re.fullmatch(r"\w+(\.\w+)+(:\w+)?", text):
                assert text.partition(":")[0] not in names, f"{path.name}:{node.lineno} names a module: {text!r}"


def test_what_is_called_by_name_is_there():
    for table in (lazy.LATER, lazy.IN_PICKLES, lazy.CALLED):
        for name, path in table.items():
            assert path == "" or hasattr(importlib.import_module(f"autoflow.{path}"), name), name


@pytest.mark.parametrize("name", lazy.MOVED)
def test_modules_have_their_old_names_too(name):
    """One module by both names, so that what a program changes in one is changed in the other."""
    home = f"autoflow.{lazy.MOVED[name]}"
    assert importlib.import_module(f"autoflow.{name}") is importlib.import_module(home)
    assert importlib.import_module(home).__spec__.name == home
    file = PACKAGE.joinpath(*name.split(".")).with_suffix(".py")
    assert file.exists() == (name in STAY)
    if name in STAY:
        assert f"from .{lazy.MOVED[name]} import *" in file.read_text(encoding="utf-8")


IN_A_NEW_PROCESS = {  # where no other test has imported what is missing: expressions that are true
    "modules by their old names": (
        "from autoflow.rules import table; import autoflow.linalg as a, autoflow as af",
        "a is af.linalg and table.RULES is af.rules.RULES",
    ),
    "all that nodes have": (
        "import numpy as np, autoflow as af; x = af.Variable([1.0, 2.0]); np.sum(np.exp(x) * x.reshape(2)).backward()",
        "np.allclose(x.grad, np.exp(x.value) * (1 + x.value))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", IN_A_NEW_PROCESS)
def test_what_is_there_after_the_import(what):
    code, is_there = IN_A_NEW_PROCESS[what]
    assert alone(f"{code}; print({is_there})") == "True\n"


def test_the_rooms_are_few_and_the_tour_names_them():
    """As many as the plan in autoflow/README.md, in its order."""
    rooms = {path.name for path in PACKAGE.iterdir()} - {"__pycache__", "README.md", "py.typed"}
    assert len(rooms) <= 33 + len(STAY)
    plan = re.search(r"```text\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    named = re.findall(r"^(\w+)(?:\.py|/)", plan, re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == {path.removesuffix(".py") for path in rooms}
    assert set(MAY_IMPORT) == set(named) - {"__init__"} - STAY


# Classes that share a name with another one, in rooms apart.
TWO_MEANINGS = {"History", "Operand", "Rule"}


def test_a_class_has_a_name_of_its_own():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    names = Counter([n.name for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)])
    assert {name for name, n in names.items() if n > 1} <= TWO_MEANINGS


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


def test_no_module_of_the_tests_hides_another(pytestconfig):
    """Else which is imported depends on the tests that run first. (Scripts make.py are loaded by their paths.)"""
    files = [file.stem for folder in pytestconfig.getini("pythonpath") for file in Path(folder).glob("*.py")]
    assert [name for name, count in Counter(files).items() if count > 1] == ["make"]


def test_inner_packages_hold_a_docstring_and_nothing_else():
    found = {info.name.removeprefix("autoflow.") for info in walked() if info.ispkg}
    others = {
        "backends", "rules", "nn", "optim", "implicit", "scipy", "scipy.sparse", "scipy.spatial", "scipy.stats",
        "compiler", "pictures", "lessons",
    }  # fmt: skip
    assert found == DOORLESS | others
    for name in DOORLESS:
        path = PACKAGE.joinpath(*name.split("."), "__init__.py")
        (docstring,) = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(docstring.value.value, str), path


def test_there_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", autoflow.__version__)


def test_import_loads_nothing_beyond_numpy():
    new = alone(
        "import sys, numpy; before = set(sys.modules); import autoflow\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    assert set(new.split()) <= {"autoflow", "numpy"}


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
    assert seen == "1\n"


def test_import_loads_only_the_core():
    """What ``import autoflow`` costs is measured by benchmarks/startup.py; here, that nothing more is loaded."""
    code = (
        "import sys, autoflow; print(*[n.removeprefix('autoflow.') for n in sys.modules if n.startswith('autoflow.')])"
    )
    loaded = {name for name in alone(code).split() if not name.startswith(("rules.", "table."))}
    watching = {"transforms.monitoring"} if sys.version_info >= (3, 12) else set()
    assert loaded - watching <= {
        "arrays", "backends", "backends.registry", "backprop", "backprop.engine", "backprop.hooks",
        "backprop.opening", "backprop.passes", "base", "base.errors", "base.lazy", "base.modes",
        "base.numbering", "base.process", "base.pytree", "base.spellings", "base.transformed", "base.types",
        "forward", "forward.array_methods", "forward.takers", "forward.closures", "forward.dispatch",
        "forward.node_methods", "forward.operators", "forward.recording", "forward.templates", "nodes",
        "nodes.coercion", "nodes.cuts", "nodes.grads", "nodes.nodes", "nodes.numpy_warnings", "nodes.printing",
        "nodes.rebinding", "nodes.records", "nodes.versions", "program", "program.callers", "program.places", "rules",
        "table", "transforms", "transforms.evaluation", "transforms.gradient",
    }  # fmt: skip


# Of modules that the package uses, what the browser's Python (Pyodide 314) lacks.
NOT_IN_BROWSERS = {
    "time": "thread_time thread_time_ns tzset",
    "os": "copy_file_range geteuid getegid getgroups getrandom link nice pipe2 posix_spawn sched_getaffinity",
    "signal": "alarm pthread_kill setitimer", "threading": "get_native_id",
}  # fmt: skip


def test_browsers_are_asked_before():
    """What they lack is asked for (by ``hasattr``) in the function that uses it; LLVM is not to be had there."""
    for file in [f for f in PACKAGE.rglob("*.py") if "llvm" not in f.parts]:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text if any([f"{name}." in text for name in NOT_IN_BROWSERS]) else "")
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        for n in ast.walk(tree):
            if isinstance(n, ast.Attribute) and n.attr in NOT_IN_BROWSERS.get(getattr(n.value, "id", ""), "").split():
                around = [ast.unparse(f).replace("'", '"') for f in functions if n in ast.walk(f)]
                assert any([f'hasattr({n.value.id}, "{n.attr}")' in text for text in around]), (file, n.attr)
