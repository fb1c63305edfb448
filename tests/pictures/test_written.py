"""The pictures of programs as their authors write them, unopened: each fits on a screen, and is the one looked at.

After a change that is meant: AUTOFLOW_GOLDEN=write pytest ..., and look at them again, light and dark.
"""

import linecache
import os
import re
from pathlib import Path

import numpy as np
import pytest
from eyes import root_of, size
from written import PROGRAMS

import autoflow as af

GOLDEN = Path(__file__).parents[1] / "golden" / "written"
CELL = """w = af.Variable(np.eye(3))
b = af.Variable(np.zeros(3))
x = np.linspace(0, 1, 6).reshape(2, 3)
h = np.tanh(x @ w + b)
loss = (h**2).sum()
"""


def cell():
    """A cell of a notebook, as IPython runs it."""
    name, names = "<ipython-input-1>", {"af": af, "np": np}
    linecache.cache[name] = len(CELL), None, CELL.splitlines(True), name
    exec(compile(CELL, name, "exec"), names)
    return names["loss"]


@pytest.mark.parametrize("program", [*PROGRAMS, cell], ids=lambda f: f.__name__)
def test_the_picture_fits_on_a_screen_and_is_the_golden_one(program):
    af.reset()
    picture = af.graph(program(), gradients=True)
    wide, high = size(root_of(picture))
    assert wide <= 1280
    assert high <= 900
    assert 4 <= len(picture.drawn.nodes) <= 40
    smallest = min([float(pixels) for pixels in re.findall(r"font-size:([\d.]+)px", picture.to_svg())])
    assert smallest >= 10  # it fits, though no letter is smaller than elsewhere
    file = GOLDEN / f"{program.__name__}.svg"
    if os.environ.get("AUTOFLOW_GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(picture.to_svg(), encoding="utf-8", newline="\n")
    assert picture.to_svg() == file.read_text(encoding="utf-8")
