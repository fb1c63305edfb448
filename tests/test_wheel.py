"""What users install: the wheel, in an environment with nothing else. And the API reference that they read."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = """
import importlib.metadata as metadata, pkgutil, importlib, sys
import autoflow as af, numpy as np
x = af.Variable([1.0, 2.0], name="x")
y = np.sum(np.exp(x) * x)
y.backward()
assert np.allclose(x.grad, np.exp(x.value) * (1 + x.value))
assert "<svg" in y.graph().to_svg() and "digraph" in y.graph().to_dot()
from autoflow import nn, optim
model = nn.Linear(2, 1, rng=np.random.default_rng(0))
optim.Adam(model.parameters(), 0.1)
from autoflow.lessons import checker
assert checker("digits")(p_first=0.25)  # the text files of lessons are in the wheel
for info in pkgutil.walk_packages(af.__path__, "autoflow."):
    try:
        info.name.endswith("__main__") or importlib.import_module(info.name)
    except ImportError as missing:  # rows and widgets of libraries that are not there
        assert any(name in str(missing) for name in ("scipy", "anywidget")), info.name
names = sorted(d.metadata["Name"].lower() for d in metadata.distributions())
print(*names)
print(af.__file__)
"""


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", check=False, **options)


def sources(folder):
    """A copy of what a wheel is made from: building leaves files behind."""
    shutil.copytree(ROOT / "autoflow", folder / "autoflow", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.mark.slow
def test_the_wheel_needs_nothing_but_numpy_and_graphviz(tmp_path):
    """Every module of the wheel imports beside NumPy and graphviz, and works. (An environment of its own: by night.)"""
    build = "import setuptools.build_meta as b; b.build_wheel('.')"
    built = run(sys.executable, "-c", build, cwd=sources(tmp_path / "source"))
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "source").glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    packages = tmp_path / "packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    installed = Path(np.__file__).parents[1]
    for pattern in ("numpy", "numpy[.-]*", "graphviz", "graphviz-*"):
        for found in installed.glob(pattern):
            (packages / found.name).symlink_to(found)
    begin = f"import sys; sys.path.insert(0, {str(packages)!r})\n"
    done = run(sys.executable, "-I", "-S", "-c", begin + SCRIPT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names, where = done.stdout.splitlines()
    assert names.split() == ["autoflow", "graphviz", "numpy"]
    assert str(packages) in where
    command = "import runpy; runpy.run_module('autoflow', run_name='__main__')"
    shown = run(sys.executable, "-I", "-S", "-c", begin + command, "x*y + sin(x)", "x=2", "y=3", "-o", "graph.svg",
                cwd=tmp_path)  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "graph.svg").exists()


@pytest.mark.nightly
def test_the_wheel_installs_what_it_needs(tmp_path):
    """In an environment that pip fills with what the wheel asks for."""
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (python, "-I", "-m", "pip", "--quiet", "--disable-pip-version-check")
    built = run(*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, sources(tmp_path / "source"))
    if built.returncode and "autoflow" not in built.stderr:
        pytest.skip(f"no package registry within reach: {built.stderr[-200:]}")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    installed = run(*pip, "install", wheel)
    assert installed.returncode == 0, installed.stderr
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = run(python, "-I", "-c", SCRIPT, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    names, where = done.stdout.splitlines()
    assert set(names.split()) - {"pip", "setuptools"} == {"autoflow", "graphviz", "numpy"}
    assert str(tmp_path) in where
    shown = run(
        python, "-I", "-m", "autoflow", "x*y + sin(x)", "x=2", "y=3", "-o", "graph.svg", cwd=tmp_path, env=environment
    )
    assert shown.returncode == 0, shown.stderr


@pytest.mark.slow
@pytest.mark.nightly
def test_the_api_reference_is_built_without_a_warning(tmp_path):
    pytest.importorskip("pdoc", reason="pdoc is not installed (extra docs)")
    done = run(sys.executable, ROOT / "docs" / "make_api.py", tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "autoflow.html").read_text(encoding="utf-8")
    places = re.findall(r'id="([^"]+)"', page)
    assert {"Variable.assign", "Node.backward", "grad", "fit", "Autodiff", "options"} <= set(places)
    assert not {"Variable.create_node", "Node.role", "Node.family", "Node.sum", "Variable.parents"} & set(places)
    assert "Role" not in re.sub(r'<div class="pdoc-code.*?</div>', "", page, flags=re.DOTALL)
    assert page.index('id="i-want-to"') < page.index('id="Variable"') < page.index('id="Node"')
    tasks = page[page.index('id="i-want-to"') : page.index('id="Variable"')]
    links = re.findall(r"<td>.*?</td>", tasks, re.DOTALL)
    targets = re.findall(r'href="([^"]+)"', "".join(links))
    assert len(targets) > 40
    for file, place in (target.split("#") if "#" in target else (target, "") for target in targets):
        assert not file or (tmp_path / file).exists(), file
        assert file or place in places, place
    inventory = (tmp_path / "objects.inv").read_bytes().split(b"\n", 4)
    assert inventory[0] == b"# Sphinx inventory version 2"
    rows = [row.split(" ") for row in zlib.decompress(inventory[4]).decode().splitlines()]
    known = {name: (role, address) for name, role, _, address, _ in rows}
    assert known["autoflow.Node.backward"] == ("py:method", "autoflow.html#Node.backward")
    assert known["autoflow.special.logsumexp"] == ("py:function", "autoflow/scipy/special.html#logsumexp")
    assert {known[f"autoflow.{name}"][0] for name in ("Variable", "nn.Linear", "optim.Adam")} == {"py:class"}
    for _, address in known.values():
        file, _, place = address.partition("#")
        assert not place or f'id="{place}"' in (tmp_path / file).read_text(encoding="utf-8"), address
