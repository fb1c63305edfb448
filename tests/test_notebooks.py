"""What readers of a notebook see: in JupyterLab and in pages of nbconvert, trusted or not, with scripts or without.

A notebook is executed once by a kernel. Then real programs show it, and a real browser says what can be seen.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import chromium
import pytest
from chromium import Chromium

import autoflow as af

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.filterwarnings("ignore")]

CELLS = [
    "import numpy as np, autoflow as af\nx = af.Variable(2.0, name='x'); a = x * x; out = a + a * x; out.backward()",
    "out",
    "out.graph()",
    "out.step()",
    "af.explore(out, x=(-3, 3))",
    "af.options.static = True\nout.graph()",
    "out.step()",
]
NODE, GRAPH, STEPS, SLIDERS, STATIC, STATIC_STEPS = range(6)  # of the cells that show something


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder for all that Jupyter reads and writes, with a kernel that finds autoflow; as environment variables."""
    folder = tmp_path_factory.mktemp("jupyter")
    spec = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "t",
            "language": "python"}  # fmt: skip
    (folder / "kernels" / "t").mkdir(parents=True)
    (folder / "kernels" / "t" / "kernel.json").write_text(json.dumps(spec))
    (folder / "root").mkdir()
    paths = {f"JUPYTER_{word}": str(folder / word.lower()) for word in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")}
    return {
        **paths, "JUPYTER_PATH": str(folder), "HOME": str(folder), "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONPATH": str(Path(af.__path__[0]).parent),
    }  # fmt: skip


@pytest.fixture(scope="module")
def notebook(home):
    """A notebook that was executed by a kernel."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    kernel = {"name": "t", "display_name": "t", "language": "python"}
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text) for text in CELLS], metadata={"kernelspec": kernel}
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, value in home.items():
            patch.setenv(name, value)
        nbclient.NotebookClient(made, kernel_name="t", timeout=60).execute()
    return made


@pytest.fixture(scope="module")
def browser():
    if reason := chromium.missing():
        pytest.skip(reason)
    with Chromium() as running:
        yield running
