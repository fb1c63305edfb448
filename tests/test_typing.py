"""py.typed is true: what checkers of types see is what runs, and code as users write it has the types it should have.

``tests/typed/correct.py`` is given to mypy, to pyright (by night), and to Python itself; of ``tests/typed/wrong.py``
each line must be reported. Pages and examples may have the errors of ALLOWED, which ``docs/typing.md`` explains.
"""

import ast
import doctest
import importlib.util
import inspect
import json
import re
import runpy
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow.base.spellings import NODE
from autoflow.forward import operators
from autoflow.forward.array_methods import REFUSED
from autoflow.forward.node_methods import BITS
from autoflow.nodes.nodes import ROLES
from autoflow.rules import RULES

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "autoflow"
TYPED = Path(__file__).parent / "typed"
CHECKED = ("correct.py", "wrong.py")
PAGES = sorted([*ROOT.glob("*.md"), *PACKAGE.rglob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(python|pycon)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
ALLOWED = {  # kind of error in pages and examples: mypy's words. What to write instead is in docs/typing.md.
    "np.mean(node)": r'"float(64|ing\[Any\])" has no attribute "(backward|graph|grad_fn)"  \[attr-defined\]',
    "sum([...])": r'Value of type "Gradients \| Literal\[0\]" is not indexable  \[index\]',
}


# ---------------------------------------------------------------- what is declared is what there is


def types_only(tree):
    """The body of the first ``if TYPE_CHECKING:`` of a module or class, and its ``else``."""
    found = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    return found.body, found.orelse


def parsed(name):
    return ast.parse((PACKAGE / name).read_text(encoding="utf-8"))


def test_what_is_loaded_later_is_imported_for_checkers():
    body, _ = types_only(parsed("__init__.py"))
    seen = {alias.name: node.module or "" for node in body for alias in node.names}
    assert seen == {**af.LATER, "backends": "", "errors": ""}
    assert set(af.LATER) < set(af.__all__)


def test_operators_are_declared_that_are_made():
    (cls,) = [n for n in parsed("forward/operators.py").body if getattr(n, "name", "") == "Operators"]
    declared, _ = types_only(cls)
    made = [f"{way}{name}" for name in operators.BINARY for way in ("", "r", "i")]
    made += [*operators.UNARY, *operators.COMPARISONS]
    assert sorted([node.name for node in declared]) == sorted([f"__{name}__" for name in made])


def test_classes_are_declared_that_are_made():
    body = [node for node in parsed("nodes/nodes.py").body if isinstance(node, ast.If)][-1].body
    declared = {node.name: [ast.unparse(base) for base in node.bases] for node in body}
    assert list(declared) == list(ROLES)
    for name, bases in declared.items():
        assert bases[0] == ROLES[name].__name__
        made = [base.__name__ for base in getattr(af.nodes.nodes, name).__bases__[1:]]
        assert bases[-1].removeprefix("np.") == made[0]
    installed = [getattr(sys.modules[f"autoflow.forward.{module}"], cls) for module, cls in (
        ("operators", "Operators"), ("array_methods", "ArrayMethods"), ("node_methods", "NodeMethods"),
        ("node_methods", "Protocol"),
    )]  # fmt: skip
    assert declared["Node"][1:-1] == [cls.__name__ for cls in installed]
    seen = set().union(*[vars(cls) for cls in (*installed, af.nodes.nodes.NodeRole)], dir(np.ndarray), REFUSED)
    both = {f"__{way}{name}__" for name in (*BITS, *operators.BINARY) for way in ("", "r", "i")}
    assert set(dir(af.Node)) - seen - both - set(NODE) <= {"family", "role", *af.nodes.nodes.SLOTS}


# ---------------------------------------------------------------- typed code of users


def value_is(value, kind):
    """Is a value what the type says, as far as one can see?"""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, typing.types.UnionType):
        return any(value_is(value, one) for one in inner)
    if origin is np.ndarray:
        wanted = typing.get_args(inner[1])[0]
        return isinstance(value, np.ndarray) and (wanted is typing.Any or value.dtype == wanted)
    if origin is tuple and inner[-1] is not ...:
        return type(value) is tuple and all(map(value_is, value, inner))
    if origin in (list, tuple):
        return isinstance(value, origin) and all(value_is(one, inner[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(value_is(one, inner[1]) for one in value.values())
    assert origin is None
    return isinstance(value, type(None) if kind is None else kind)


def test_types_are_those_of_the_values(monkeypatch):
    seen = []

    def look(value, kind):
        line = inspect.currentframe().f_back.f_lineno
        assert value_is(value, kind), f"correct.py:{line}: {type(value).__name__}, not {kind}"
        seen.append(line)
        return value

    monkeypatch.setattr(typing, "assert_type", look)
    runpy.run_path(str(TYPED / "correct.py"), run_name="correct")
    mine = [function for function in RULES if getattr(function, "__module__", "") == "correct"]
    assert mine  # its primitive: other tests go through the table
    for function in mine:
        del RULES[function]
    lines = (TYPED / "correct.py").read_text(encoding="utf-8").splitlines()
    asserted = [number for number, line in enumerate(lines, 1) if line.startswith("assert_type(")]
    assert seen == asserted
    assert len(asserted) >= 70
    assert not [lines[number - 1] for number in asserted if lines[number - 1].endswith(", Any)")]


@pytest.mark.parametrize(("value", "kind"), [
    (1.0, int), (np.ones(2), af.Node), (np.ones(2), np.ndarray[tuple[int, ...], np.dtype[np.bool]]),
    ((1, 2), tuple[int, str]), ([1.0], list[int]), ({"a": 1}, dict[str, str]), (None, int | str),
])  # fmt: skip
def test_a_wrong_value_is_seen(value, kind):
    assert not value_is(value, kind)


def marked():
    """The lines of wrong.py that are wrong, and mypy's kind of error."""
    lines = (TYPED / "wrong.py").read_text(encoding="utf-8").splitlines()
    return {(number, line.rpartition("  # ")[2]) for number, line in enumerate(lines, 1) if "  # " in line}


def programs(folder):
    """Pages and examples as a package: of a page one program, with its lines where they are in the page; of the pages
    of two columns a program for each pair. Returns what each is called."""
    folder.mkdir()
    (folder / "__init__.py").touch()
    names = {}
    for path in sorted((ROOT / "examples").glob("*.py")):
        (folder / path.name).write_bytes(path.read_bytes())
        names[path.name] = path.name
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        starts = [m.start() for m in re.finditer("^## ", text, re.MULTILINE)] if page.stem.startswith("from-") else []
        for begin, end in zip([0, *starts], [*starts, len(text)], strict=True):
            code = written(text, begin, end)
            if code:
                name = f"{page.stem.replace('-', '_').lower()}_{begin}.py"
                (folder / name).write_text(code, encoding="utf-8")
                names[name] = page.name
    return names


def written(text, begin, end):
    """The Python in a part of a page, each line at its number."""
    lines = ["import numpy as np; import autoflow as af"] + [""] * text.count("\n")
    for match in BLOCK.finditer(text, begin, end):
        first = text.count("\n", 0, match.start(2))
        parts = [(first, match[2])]
        if match[1] == "pycon" or match[2].lstrip().startswith(">>>"):
            examples = doctest.DocTestParser().get_examples(match[2])
            parts = [(first + example.lineno, example.source) for example in examples]
        for start, source in parts:
            source = source.splitlines()
            lines[start : start + len(source)] = source
    return "\n".join(lines) if any(lines[1:]) else ""


def mypy_errors(folder):
    """What mypy says of all that is checked: (file, line, message)."""
    names = programs(folder)
    assert len(names) > 40
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--hide-error-context", "autoflow"]
    done = subprocess.run(
        [*command, *[str(TYPED / name) for name in CHECKED], str(folder)], cwd=ROOT, capture_output=True,
        encoding="utf-8", timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr  # there are errors: those that should be
    errors = re.findall(r"^(.*?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    found = [(Path(path), int(line), message) for path, line, message in errors]
    # By the last two parts: of a page that has not changed, mypy remembers the message with the path of an earlier run.
    return [
        (names[path.name] if path.parent.name == "pages" else "/".join(path.parts[-2:]), line, message)
        for path, line, message in found
    ]


@pytest.mark.slow  # `make check` runs mypy itself, on the package
def test_mypy_finds_what_it_should_and_nothing_else(tmp_path):
    """One run of mypy for all: of the package and of correct code nothing, of wrong.py each line, of pages and examples
    what is allowed."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (extra dev)")
    wrong, used = set(), set()
    for name, line, message in mypy_errors(tmp_path / "pages"):
        if name == "typed/wrong.py":
            wrong.add((line, message.rpartition("[")[2].rstrip("]")))
        else:
            kind = next((kind for kind, pattern in ALLOWED.items() if re.fullmatch(pattern, message)), None)
            assert kind, f"{name}:{line}: {message}"
            assert name.endswith(".md") or (ROOT / "examples" / name).exists(), f"{name}:{line}: {message}"
            used.add(kind)
    assert wrong == marked()
    assert used == set(ALLOWED)


def test_what_is_allowed_is_explained():
    page = (ROOT / "docs" / "typing.md").read_text(encoding="utf-8")
    assert [kind for kind in ALLOWED if f"`{kind}`" not in page] == []


@pytest.mark.nightly
def test_the_plugin_of_mypy_knows_functions_of_numpy(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (extra dev)")
    settings = tmp_path / "mypy.ini"
    settings.write_text(
        "[mypy]\nplugins = autoflow.mypy_plugin\nstrict = True\n[mypy-autoflow.*]\nignore_errors = True\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*command, str(TYPED / "plugin.py")], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_pyright_knows_the_types(tmp_path):
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed (extra nightly)")
    for name in CHECKED:
        (tmp_path / name).write_bytes((TYPED / name).read_bytes())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}))
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)],
        capture_output=True, encoding="utf-8", timeout=600, check=False,
    )  # fmt: skip
    errors = [e for e in json.loads(done.stdout)["generalDiagnostics"] if e["severity"] == "error"]
    lines = {
        name: [e["range"]["start"]["line"] + 1 for e in errors if Path(e["file"]).name == name] for name in CHECKED
    }
    assert lines["correct.py"] == []
    assert set(lines["wrong.py"]) == {line for line, _ in marked()}


# ---------------------------------------------------------------- nothing public is Any

UNTYPED = {  # what public functions and methods return without a type, and why
    "Function.forward": "written by users", "Function.backward": "written by users",
    "Module.forward": "written by users", "Sequential.__getitem__": "layers are of any class",
    "Gradients.get": "or the default", "Gradients.pop": "or the default", "tree_map": "the containers of its tree",
    "tree_unflatten": "the containers of its tree", "tree_reduce": "what the function returns",
    **dict.fromkeys(("root", "fixed_point", "argmin", "linear_solve"), "the containers of x0, or b"),
    "minimize": "SciPy's result, with the containers of x0 in it", "solve_ivp": "SciPy's result, with nodes in it",
    "Stepper.__getitem__": "a step, or several",
    **dict.fromkeys(("plot_boundary", "plot_loss", "plot_sizes", "plot_weights"), "matplotlib's axes"),
}  # fmt: skip
PACKAGES = [
    "", ".backends", ".implicit", ".integrate", ".linalg", ".nn", ".nn.init", ".optim", ".pictures", ".signal",
    ".special",
]  # fmt: skip


def public_functions():
    """By name: the functions and methods that autoflow exports, as they are written."""
    for package in PACKAGES:
        module = importlib.import_module(f"autoflow{package}")
        for name in dir(module):
            thing = getattr(module, name)
            parts = {name: thing}
            if inspect.isclass(thing) and not issubclass(thing, af.Node):
                members = {f"{name}.{key}": vars(thing)[key] for key in vars(thing)}
                parts = {key: value for key, value in members.items() if "._" not in key or key.endswith("__getitem__")}
            for key, part in parts.items():
                function = inspect.unwrap(getattr(part, "fget", getattr(part, "__func__", part)))
                home = function.__globals__["__name__"] if inspect.isfunction(function) else ""
                if home.startswith("autoflow") and home != "autoflow.scipy.mirrors":  # there they are SciPy's
                    yield key, function


def overloaded():
    """The names of functions that declare their types case by case."""
    texts = [path.read_bytes() for path in PACKAGE.rglob("*.py")]
    nodes = [node for text in texts if b"overload" in text for node in ast.walk(ast.parse(text))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return {f.name for f in functions if "overload" in [ast.unparse(decorator) for decorator in f.decorator_list]}


def test_what_public_functions_return_has_a_type():
    every = {name: function.__annotations__.get("return", "Any") for name, function in public_functions()}
    assert len(every) > 150
    assert {name for name, kind in every.items() if kind in ("Any", "Array")} - overloaded() == set(UNTYPED)
