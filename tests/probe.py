"""A little of everything, without pytest and without assert: python tests/probe.py (see surroundings.py).

It computes, goes back, compiles, prints, draws, saves and runs the command line, and ends with status 1 and one line
where something is not as it should be.
"""

import contextlib
import locale
import os
import sys
import tempfile

with contextlib.suppress(locale.Error):  # what a window system or readline does: numbers and sorting as the user's
    locale.setlocale(locale.LC_ALL, "")
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np

import autoflow as af
from autoflow.__main__ import main


def wanted(what, found, right):
    """Ends the program where they differ. (An assert is gone under python -O.)"""
    if found != right:
        raise SystemExit(f"{what}: {found!r}, not {right!r}")


x, y = af.Variable(1234.5, name="x"), af.Variable([0.5, 2.0], name="y")
z = (x * y).sum() ** 2
z.backward()
wanted("value", z.item(), 3086.25**2)
wanted("gradient", x.grad.item(), 2 * 3086.25 * 2.5)
wanted("shown", repr(x), "1234.5  Variable x")
compiled = af.compile(af.value_and_grad(lambda a: (a * a).sum()))
wanted("compiled", [np.sum(value).item() for value in compiled(np.arange(3.0))], [5.0, 6.0])
picture = z.graph()
print(picture)
print(picture.table())
wanted("numbers in a table", "[617.2, 2469]" in picture.table(), True)
wanted("numbers in a picture", "9.525e6" in picture.to_svg(), True)
with tempfile.TemporaryDirectory() as folder:
    for kind in ("svg", "html", "dot", "mmd", "txt", "json"):
        path = picture.save(os.path.join(folder, f"picture.{kind}"))
        wanted(kind, os.path.getsize(path) > 100, True)
    optimiser = af.optim.Adam([x, y])
    optimiser.step()
    wanted("saved", os.path.getsize(optimiser.save(os.path.join(folder, "state"))) > 100, True)
wanted("command line", main(["x*y", "x=3", "y=5"]), 0)
