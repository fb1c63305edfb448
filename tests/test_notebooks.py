"""What readers of a notebook see: in JupyterLab and in pages of nbconvert, trusted or not, with scripts or without.

A kernel executes the notebook once. Then the real programs show it, and a real browser says what can be seen.
"""

import contextlib
import copy
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from chromium import Page

import autoflow as af

pytestmark = [
    pytest.mark.slow, pytest.mark.browser, pytest.mark.xdist_group("browser"),
    pytest.mark.filterwarnings("ignore"),  # of Jupyter's programs, which are not ours
]  # fmt: skip

CELLS = [
    "import numpy as np, autoflow as af\nx = af.Variable(2.0, name='$x$'); a = x * x; out = a + a * x; out.backward()",
    "out", "out.graph()", "out.step()", "af.explore(out)", "af.options.static = af.options.tables = True\nout.graph()",
    "out.step()", "af.explore(out)",
    # None of the kernel's threads counts as the user's, or nothing would be proved in a notebook.
    "from autoflow.backprop.snapshots import others_run\nassert not others_run()",
]  # fmt: skip
SHOWN = 9  # outputs: two of each static picture
NODE, GRAPH, STEPS, SLIDERS, IMAGE, NODES, STEPS_IMAGE, STEPS_TABLE, EXPLORED = range(SHOWN)

# What can be seen of each output: the sizes of loaded images, living pictures, rows of tables, all that is written.
SEEN = """[...document.querySelectorAll('.jp-OutputArea-output, .output_subarea')].map((e) => {
  const live = e.querySelector('.autoflow-picture > div, .autoflow-explore > div')?.shadowRoot;
  const shown = (x) => x.getClientRects().length > 0;
  for (const d of e.querySelectorAll('details')) d.open = true;
  return {
    images: [...e.querySelectorAll('img')].filter(shown).map((i) => i.complete ? i.naturalWidth : 0),
    live: live ? live.querySelector('svg').getBoundingClientRect().width : 0,
    controls: live ? live.querySelectorAll('input').length : 0,
    rows: [...e.querySelectorAll('tr')].filter(shown).length,
    text: e.innerText, math: e.querySelectorAll('mjx-container, .MathJax').length,
  };
})"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder for all that Jupyter reads and writes, with a kernel that finds autoflow; as environment variables."""
    folder = tmp_path_factory.mktemp("jupyter")
    spec = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "t",
            "language": "python"}  # fmt: skip
    (folder / "kernels" / "t").mkdir(parents=True)
    (folder / "kernels" / "t" / "kernel.json").write_text(json.dumps(spec))
    for name in ("root", "config", "data", "runtime"):
        (folder / name).mkdir()
    # Matplotlib makes its list of fonts here: in a kernel of a busy machine it would say so in a cell's output.
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("matplotlib.font_manager")
    return {
        "HOME": str(folder), "JUPYTER_PATH": str(folder), "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "PYTHONPATH": str(Path(af.__path__[0]).parent), "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "MPLCONFIGDIR": matplotlib.get_cachedir(),
    }  # fmt: skip


@pytest.fixture(scope="module")
def notebook(home):
    """A notebook that was executed by a kernel."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    kernel = {"name": "t", "display_name": "t", "language": "python"}
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS]
    made = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    with pytest.MonkeyPatch.context() as patch:
        for name, value in home.items():
            patch.setenv(name, value)
        nbclient.NotebookClient(made, kernel_name="t", timeout=60).execute()
    return made


def outputs(notebook):
    """The bundles of all outputs."""
    return [output["data"] for cell in notebook.cells for output in cell["outputs"]]


def test_what_the_cells_hold(notebook):
    bundles = outputs(notebook)
    assert len(bundles) == SHOWN
    assert "<div>out: Operation add · gradient 1</div>" in bundles[NODE]["text/html"]  # the notebook's name for it
    assert "so far 16" in bundles[STEPS]["text/plain"]
    for k in (GRAPH, STEPS):
        assert {"text/html", "text/plain"} == set(bundles[k])
    for k in (IMAGE, STEPS_IMAGE, EXPLORED):
        assert set(bundles[k]) in ({"image/png", "text/plain"}, {"image/svg+xml", "text/plain"})
    for k in (NODES, STEPS_TABLE):
        assert set(bundles[k]) == {"text/html", "text/plain"}
    assert bundles[NODES]["text/plain"].startswith("node  title")


def converted(notebook, folder, **options):
    nbconvert = pytest.importorskip("nbconvert")
    text, _ = nbconvert.HTMLExporter(**options).from_notebook_node(notebook)
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


def see(page):
    """What is in the outputs, when nothing changes any more."""
    before, end = None, time.monotonic() + 10
    while (now := page.run(SEEN)) != before and time.monotonic() < end:
        before = now
        time.sleep(0.2)
    return now


def check_static(seen):
    """Pictures under ``af.options.static``, and under ``tables`` the tables below them."""
    for k in (IMAGE, STEPS_IMAGE, EXPLORED):
        (width,) = seen[k]["images"]
        assert width > 300
    assert (seen[NODES]["rows"], seen[STEPS_TABLE]["rows"]) == (5, 10)


def check_live(seen):
    """Living pictures, and tables behind a click."""
    for k in (GRAPH, STEPS, SLIDERS):
        assert seen[k]["live"] > 300
        assert seen[k]["controls"] > 0
        assert seen[k]["images"] == []
    assert seen[GRAPH]["rows"] == seen[STEPS]["rows"] == 10


def check_node(seen):
    """Numbers first, the picture behind a click."""
    assert seen[NODE]["text"].startswith("12.0")
    (width,) = seen[NODE]["images"]
    assert width > 300


def check_names(seen, formulas=0):
    """No program makes formulas of names; of the rules in the steps' tables those that have MathJax at hand."""
    for k, one in enumerate(seen):
        assert one["math"] == formulas * (k in (STEPS, STEPS_TABLE))


@pytest.mark.nightly
def test_nbconvert(notebook, browser, tmp_path):
    page = browser.open(converted(notebook, tmp_path))
    seen = see(page)
    check_node(seen)
    check_live(seen)
    check_static(seen)
    check_names(seen)


@pytest.mark.nightly
def test_nbconvert_without_a_page_around(notebook, browser, tmp_path):
    path = converted(notebook, tmp_path, template_name="basic")
    seen = see(browser.open(path))
    check_live(seen)
    check_static(seen)


def test_nbconvert_sanitized(notebook, browser, tmp_path):
    """HTML has only rows and cells then: static pictures are whole, others say what to do and are text."""
    page = browser.open(converted(notebook, tmp_path, sanitize_html=True))
    seen = see(page)
    check_static(seen)
    check_names(seen)
    for k in (GRAPH, STEPS):
        assert seen[k]["text"].startswith("This page removes pictures. Those drawn under af.options(static=True")
        assert "out  add = 12" in seen[k]["text"].partition("<img")[0]
        assert seen[k]["rows"] == 10
        assert '{"start"' not in seen[k]["text"]


def test_nbconvert_to_latex_and_markdown(notebook):
    """What PDFs are made of: trees, images, tables as text. No other program is needed, such as one for SVG."""
    nbconvert = pytest.importorskip("nbconvert")
    if "image/png" not in outputs(notebook)[IMAGE]:
        pytest.skip("nothing here draws PNG")
    for exporter in (nbconvert.LatexExporter(), nbconvert.MarkdownExporter()):
        text, resources = exporter.from_notebook_node(copy.deepcopy(notebook))
        assert len(resources["outputs"]) == 3
        assert all([data.startswith(b"\x89PNG") for data in resources["outputs"].values()])
        assert "node" in text
        assert "so far 16" in text


@pytest.fixture(scope="module")
def lab(home, notebook):
    """The address of a running JupyterLab, which has the notebook twice: trusted and not."""
    if importlib.util.find_spec("jupyterlab") is None:
        pytest.skip("jupyterlab is not installed")
    import nbformat
    from nbformat.sign import NotebookNotary

    root = Path(home["HOME"], "root")
    for name in ("untrusted", "trusted"):
        notebook.metadata["name"] = name  # trust goes by content
        nbformat.write(notebook, root / f"{name}.ipynb")
    NotebookNotary(data_dir=home["JUPYTER_DATA_DIR"]).sign(nbformat.read(root / "trusted.ipynb", 4))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    options = {
        "ip": "127.0.0.1", "port": port, "ServerApp.port_retries": 0, "IdentityProvider.token": "",
        "ServerApp.password": "", "ServerApp.root_dir": root, "LabApp.news_url": "None",
    }  # fmt: skip
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    with open(root.parent / "log", "wb") as log, subprocess.Popen(
        [*command, *[f"--{name}={value}" for name, value in options.items()]],
        env={**os.environ, **home}, stdout=log, stderr=log, cwd=root,
    ) as server:  # fmt: skip
        try:
            yield ready(f"http://127.0.0.1:{port}", server, root.parent / "log")
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:  # it waits for its kernels, and they for a slow machine
                server.kill()


def ready(address, server, log):
    """The address, as soon as somebody answers there."""
    end = time.monotonic() + 90
    while server.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api/status", timeout=5).close()
            return address
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab does not start:\n{log.read_text(errors='replace')[-2000:]}")


@contextlib.contextmanager
def opened(browser, lab, name):
    """A tab with JupyterLab and a notebook, and what it shows."""
    page = Page(browser, 1300, 6000)  # high: JupyterLab draws what can be seen
    page.navigate(f"{lab}/lab/workspaces/{name}/tree/{name}.ipynb")
    end = time.monotonic() + 90
    drawn = f"document.querySelectorAll('.jp-OutputArea-output').length >= {SHOWN}"
    typeset = "document.querySelector('mjx-container, .MathJax') !== null"  # which begins late
    while not page.run(f"{drawn} && {typeset}"):
        assert time.monotonic() < end, "the notebook does not open, or its formulas stay as they are"
        time.sleep(0.2)
    seen = see(page)
    page.keep(f"lab_{name}")
    yield page, seen
    page.call("Page.close")


@pytest.mark.nightly  # by day the pages of nbconvert show the same outputs, with scripts and without
def test_jupyterlab_untrusted(browser, lab):
    """No scripts: the images, and the tables behind a click."""
    with opened(browser, lab, "untrusted") as (_, seen):
        check_node(seen)
    for k in (GRAPH, STEPS, SLIDERS):
        (width,) = seen[k]["images"]
        assert width > 300
        assert seen[k]["live"] == 0
        assert "This page removes" not in seen[k]["text"]
    assert seen[GRAPH]["rows"] == seen[STEPS]["rows"] == 10
    assert seen[SLIDERS]["rows"] == 5
    check_static(seen)
    check_names(seen, 3)


@pytest.mark.nightly
def test_jupyterlab_trusted(browser, lab):
    with opened(browser, lab, "trusted") as (page, seen):
        check_node(seen)
        check_live(seen)
        check_static(seen)
        check_names(seen, 3)
        use_the_keyboard(page)


def use_the_keyboard(page):
    """Arrow keys step, and no key reaches the notebook, where `b` would insert a cell."""
    root = "[...document.querySelectorAll('.autoflow-picture > div')].at(-1).shadowRoot"
    cells = page.run("document.querySelectorAll('.jp-Cell').length")
    page.run(f"{root}.querySelector('.page').focus()")
    for key in ("ArrowRight", "ArrowRight", "b", "ArrowRight"):
        page.press(key)
    assert page.run(f"{root}.querySelector('.where').textContent").startswith("3 / 8")
    assert page.run("document.querySelectorAll('.jp-Cell').length") == cells
