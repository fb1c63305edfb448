"""What a newcomer does first: clone, then make. In an environment with nothing in it, so what only works where somebody
has worked before fails here: a package that another extra brought, a folder that is already there, a variable.

    AUTOFLOW_NIGHTLY=1 .venv/bin/python -m pytest tests/test_fresh_clone.py
"""

import configparser
import json
import os
import re
import shutil
import signal
import subprocess
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LESSONS = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
SECONDS = 1500  # for one target; most of it pip's
# What a login shell has, and how pip and npm reach their registries where not everything is reached directly.
KEPT = re.compile(
    r"PATH|HOME|USERPROFILE|SYSTEMROOT|PIP_\w+|NPM_CONFIG_\w+|(HTTPS?|ALL|NO)_PROXY|NODE_EXTRA_CA_CERTS"
    r"|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE",
    re.IGNORECASE,
)
pytestmark = [
    pytest.mark.nightly, pytest.mark.slow, pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
]  # fmt: skip


def environment():
    return {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}


def run(*command, cwd, seconds=SECONDS):
    """Exit status and output. What takes longer than ``seconds`` is ended, with all that it started."""
    with open(cwd / "output.log", "w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(
            list(map(str, command)), cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            status = process.wait(seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        log.seek(0)
        return status, log.read()


def why_not_fetched(python, folder, *packages):
    """What pip says if it cannot download these packages, each without those that it needs; None if it can."""
    words = ("download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", folder)
    status, said = run(python, "-I", "-m", "pip", *words, *packages, cwd=folder)
    return said[-300:] if status else None


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """Where pip gets packages; without it everything here is skipped."""
    folder = tmp_path_factory.mktemp("registry")
    venv.create(folder / "venv", with_pip=True)
    if trouble := why_not_fetched(folder / "venv" / "bin" / "python", folder, "graphviz"):
        pytest.skip(f"no package registry within reach: {trouble}")


@pytest.fixture
def clone(registry, tmp_path):
    """A clone of what was committed last, for one test."""
    status, said = run("git", "clone", "--quiet", ROOT, "clone", cwd=tmp_path)
    assert status == 0, said
    yield tmp_path / "clone"
    shutil.rmtree(tmp_path / "clone")  # pytest would keep it, up to 0.4 GB


def make(target, clone):
    """What ``make target`` prints. All that it leaves behind is known to .gitignore."""
    status, said = run("make", target, cwd=clone)
    if status and "no site: not to be had" in said:
        pytest.skip(said[said.index("not to be had") :])
    assert status == 0, said[-8000:]
    (clone / "output.log").unlink()
    assert subprocess.check_output(["git", "status", "--porcelain"], cwd=clone, encoding="utf-8") == ""
    return said


def read(path):
    return path.read_text(encoding="utf-8")


def lab_packages(clone):
    settings = configparser.ConfigParser()
    settings.read(clone / "setup.cfg", encoding="utf-8")
    return settings["options.extras_require"]["lab"].split()


def test_make_site(clone):
    """Playground, lessons, documentation, reference; the lessons as notebooks too, if JupyterLite can be had."""
    said = make("site", clone)
    site = clone / "build" / "site"
    assert "autoflow: type NumPy, see every gradient" in read(site / "index.html")
    assert json.loads(read(site / "examples" / "0.json"))["answer"]["error"] is None
    assert list(site.rglob("pyodide.asm.wasm"))
    pages = [path.stem for path in site.glob("lessons/[0-9]*.html")]
    frames = [name for name in pages if re.search(r"_\d+$", name)]  # what cells show with programs of its own
    assert sorted([f"{name}.ipynb" for name in {*pages} - {*frames}]) == LESSONS
    assert "glossary.html" in {path.name for path in (site / "docs").iterdir()}
    assert 'id="Variable.assign"' in read(site / "api" / "autoflow.html")
    told = re.search(r"^(lessons run in JupyterLite|no JupyterLite: .*)", said, re.MULTILINE)[1]
    if told != "lessons run in JupyterLite":
        assert not (site / "lab").exists()
        if "not to be had: " not in told:  # files of Pyodide, which nobody here has; else it is about packages
            packages = lab_packages(clone)
            assert why_not_fetched(clone / ".venv" / "bin" / "python", clone / "build", *packages), said[-8000:]
        return
    listed = json.loads(read(site / "lab" / "api" / "contents" / "all.json"))["content"]
    assert sorted([row["path"] for row in listed]) == LESSONS
    assert sorted([path.name for path in (site / "lab" / "files").iterdir()]) == LESSONS
    assert {"autoflow", "numpy", "scipy"} <= set(json.loads(read(site / "lab/pyodide/pyodide-lock.json"))["packages"])


def test_make_docs(clone):
    make("docs", clone)
    page = read(clone / "build" / "docs" / "autoflow.html")
    for place in ("i-want-to", "Variable.assign", "Node.backward", "grad", "fit"):
        assert f'id="{place}"' in page, place
    for name in ("nn", "optim", "pictures", "special"):
        assert list((clone / "build" / "docs" / "autoflow").rglob(f"{name}*")), name


def test_make_demo(clone):
    said = make("demo", clone)
    written = re.findall(r"the picture of it: (\S+)", said)
    assert written == ["demo/example.svg", "demo/example.dot", "demo/example.html"]
    for name, begins in zip(written, (r"<\?xml|<svg", "digraph", "<"), strict=True):
        assert re.match(begins, read(clone / name).strip()), name
    assert float(re.search(r"test accuracy: ([\d.]+)%", said)[1]) > 95
