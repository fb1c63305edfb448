"""Does it work elsewhere? Parts of the suite in other surroundings: another locale, processor, user, folder, ...

    python tests/surroundings.py               every row of the table below, half an hour
    python tests/surroundings.py --list        their names
    python tests/surroundings.py locale path   those whose names begin so
    python tests/surroundings.py cheap         the few that `tests/test_surroundings.py` always runs

Each row has a process of its own. A line is printed per row: what ran, how it ended, seconds; or why it could not be
tried here. Below it stand the tests that failed. The exit status is 1 if any did.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from places import HOMES, Place, Untried, as_nobody, copied, in_pyodide, read_only, with_locale, without_cpu, works


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Which tests. Before them tests/probe.py runs, which needs nothing but autoflow.
GOLDEN = ("pictures/test_formats.py", "pictures/test_gallery.py::test_golden_files", "test_coverage.py")
NAMES = ("forward/test_array_methods.py", "table/test_table.py", "rules/test_keywords.py", "rules/test_structure.py")
NUMBERS = names("""
    nodes/test_nodes.py pictures/formulas/test_latex.py pictures/pages/test_html.py pictures/test_walk.py test_docs.py
""")
RUNS = names("""
    compiler/test_compile.py compiler/run/test_buffers.py optim/test_optimisers.py nn/test_train.py
    cli/test_commandline.py pictures/sliders/test_explore.py test_interop.py::test_save_and_load
    rules/test_rules.py::test_row_takes_float64_in_every_example
""")
BROAD = (*GOLDEN, *NAMES, *NUMBERS, *RUNS)
BRIEF = names("""
    nodes/test_nodes.py cli/test_commandline.py::test_program optim/test_optimisers.py::test_states_go_on
    pictures/test_formats.py::test_golden_files test_interop.py::test_save_and_load
""")
WASM = (
    NAMES
    + GOLDEN[:2]
    + names("""
    nodes/test_nodes.py nodes/test_freeing.py backprop/test_backward.py transforms/test_gradient_table.py
    rules/test_broadcasting.py backprop/test_engine.py forward/test_inplace.py compiler/test_compile.py
    compiler/run/test_buffers.py optim/test_optimisers.py pictures/pages/test_html.py pictures/formulas/test_latex.py
    pictures/formulas/test_why.py rules/test_dtypes.py rules/test_rules.py::test_row_takes_float64_in_every_example
""")
)
# Whatever compares bits, or numbers that BLAS, LAPACK or the processor rounds.
BITS = BROAD + names("""
    rules/test_rules.py rules/test_linalg.py rules/test_linalg_rules.py scipy/test_linalg.py scipy/test_special.py
    compiler/test_compile_rows.py compiler/test_compile_fuzz.py rules/test_composed.py nn/test_functions.py
    nn/test_layers.py nn/test_fused.py nn/test_plots.py backprop/test_reuse.py forward/test_replay.py
    backprop/test_checkpointing.py backprop/test_many_uses.py forward/test_inplace.py transforms/test_transforms.py
    test_programs.py rules/test_arithmetic.py rules/test_fourier.py rules/test_special.py rules/test_reductions.py
    rules/test_calculus.py forward/test_mixed_precision.py transforms/test_gradcheck.py rules/test_dtypes.py
""")

# Every process takes the user's locale, as a window system or readline does, and this autoflow, also under python -I.
PYTEST = """\
import contextlib, locale, sys
with contextlib.suppress(locale.Error):
    locale.setlocale(locale.LC_ALL, "")
root = sys.argv.pop(1)
sys.path.insert(0, root)
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


# -- the table -------------------------------------------------------------------------------------------------------

NO_HOME = dict.fromkeys(HOMES, "/dev/null/home")  # nobody can make a folder there, not even root
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
OLD = "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-AVX2,-FMA,-FMA4"  # of glibc's exp, sin and so on
AVX512, AVX2 = ("AVX512", "X86_V4"), ("AVX512", "X86_V4", "AVX2", "FMA3", "X86_V3")  # before and since NumPy 2.4
STRICT = ("-X", "warn_default_encoding", "-W", "error")  # a file that is opened without encoding= is an error, too
WITHOUT = ("matplotlib.font_manager", "numpy.lib._npyio_impl", "numpy.lib._datasource")
LIBRARIES = tuple(f"-Wignore::EncodingWarning:{name}" for name in WITHOUT)
NO_ASSERT = ("-W", "ignore:assertions not in test modules")  # pytest's own asserts, and those of tests, stay


def row(name: str, env: dict[str, str] | None = None, tests: tuple[str, ...] = BROAD, **more: Any) -> Place:
    return Place(name, env or {}, tests, **more)


# fmt: off
PLACES = [
    # Several at once, so that the cheap rows are few: what fails here is looked for in the rows below.
    row("cheap-ascii", ASCII | NO_HOME | {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "COLUMNS": "20"}, BRIEF),
    row("cheap-options", NO_HOME, (), python=("-OO", "-I", "-X", "dev", *STRICT)),

    *[row(f"seed-{n}", {"PYTHONHASHSEED": n}) for n in ("0", "1", "12345")],
    *[row(f"locale-{n}", {"LC_ALL": n}) for n in ("C", "C.UTF-8")],
    row("locale-decimal", ready=with_locale("de_DE")),  # 3,14
    row("locale-turkish", ready=with_locale("tr_TR")),  # the lower case of I is ı
    row("ascii", ASCII),
    row("time-east", {"TZ": "Pacific/Kiritimati"}),  # 14 hours before London
    row("time-west", {"TZ": "America/St_Johns"}),  # 3½ hours behind
    row("no-home", NO_HOME),
    row("no-network", ready=works("unshare", "-n")),
    row("path", ready=copied("a b é 漢")),
    row("read-only", ready=read_only),
    row("nobody", NO_HOME, ready=as_nobody),
    row("narrow", {"COLUMNS": "20", "LINES": "5", "TERM": "dumb", "NO_COLOR": "1"}),
    # -s, as pytest's own stand-in for the input fails where there is none, which IPython asks for its encoding.
    row("stdin-closed", before=("sh", "-c", 'exec "$@" <&-', "sh"), pytest=("-s",)),
    row("optimised", python=("-O",), pytest=NO_ASSERT),
    row("no-docstrings", python=("-OO",), pytest=NO_ASSERT),
    row("dev", python=("-X", "dev")),
    row("warnings", python=STRICT, pytest=LIBRARIES),
    row("isolated", python=("-I",)),
    row("safe-path", python=("-P",)),
    *[row(f"threads-{n}", {"OPENBLAS_NUM_THREADS": n, "OMP_NUM_THREADS": n}, BITS) for n in ("1", "2", "4")],
    row("blas-haswell", {"OPENBLAS_CORETYPE": "Haswell"}, BITS),
    row("blas-nehalem", {"OPENBLAS_CORETYPE": "Nehalem"}, BITS),
    row("no-avx512", {"OPENBLAS_CORETYPE": "Haswell"}, BITS, ready=without_cpu(*AVX512)),
    row("no-avx2", {"OPENBLAS_CORETYPE": "Nehalem", "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={OLD}"}, BITS,
          ready=without_cpu(*AVX2)),
    row("pyodide", {}, WASM, ready=in_pyodide, pytest=("-m", "not slow and not browser and not peers")),
]
# fmt: on
CHEAP = [place.name for place in PLACES if place.name.startswith("cheap-")]


# -- running ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of one row. ``failed``: names of tests, or the last line that a process said."""

    name: str
    said: str
    failed: tuple[str, ...]
    seconds: float
    untried: bool = False

    def __str__(self) -> str:
        line = f"{self.name:15} {self.seconds:6.1f} s  {self.said}"
        return "\n".join([line, *[f"    {name}" for name in self.failed]])


def run(place: Place, processes: int = 1) -> Outcome:
    """The probe and the tests of a row."""
    start = time.monotonic()
    with scratch_folder() as scratch:
        try:
            place = place.ready(place, scratch)
        except Untried as reason:
            return Outcome(place.name, f"could not be tried: {reason}", (), time.monotonic() - start, True)
        interpreter = (*place.before, sys.executable, *place.python)
        said, failed = "probe passed", ()
        if not place.runner:
            probe = started(place, *interpreter, str(place.tree / "tests" / "probe.py"))
            if probe.returncode:
                said, failed = "probe failed", tuple(probe.stderr.splitlines()[-12:])
        if place.tests and not failed:
            tests = [*OPTIONS, *place.pytest, *[f"tests/{test}" for test in place.tests]]
            tests += [f"-n{processes}"] if processes > 1 and not place.runner else []
            runner = place.runner or (*interpreter, "-c", PYTEST, str(place.tree))
            said, failed = counted(started(place, *runner, *tests))
    return Outcome(place.name, said, failed, time.monotonic() - start)


# Zarr's plugin imports CuPy, if both are installed, which wants a folder of its own, and warns.
OPTIONS = ("-q", "--tb=line", "-rfE", "-p", "no:cacheprovider", "-p", "no:zarr", "-m", "not browser and not peers")


def started(place: Place, *command: str) -> subprocess.CompletedProcess[str]:
    """The process, with nothing but the tree of the row to import autoflow from, and nothing written beside it."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(place.tree)}
    for name in ("LC_ALL", "LANG", "COLUMNS", "PYTHONHASHSEED", "AUTOFLOW_NIGHTLY", "AUTOFLOW_PART"):
        env.pop(name, None)
    return subprocess.run(
        command, cwd=place.tree, env=env | place.env, capture_output=True, encoding="utf-8", errors="replace",
        check=False, timeout=3600,
    )  # fmt: skip


def counted(done: subprocess.CompletedProcess[str]) -> tuple[str, tuple[str, ...]]:
    """pytest's last line, and what failed. Tests that do not even start are a failure, too."""
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    last = re.sub(r"^=+ | in [\d.]+s.*", "", lines[-1]) if lines else ""
    if done.returncode and not failed:
        failed = [f"exit status {done.returncode}", *lines[-5:], *done.stderr.splitlines()[-5:]]
    return last or "nothing was said", tuple(failed)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="autoflow-") as folder:
        try:
            yield Path(folder)
        finally:
            for path in Path(folder).rglob("*"):  # what is read-only cannot be deleted
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o755)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows of the table, or the beginnings of their names")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("-n", type=int, default=1, metavar="N", help="processes per row (pytest-xdist)")
    given = parser.parse_args(argv)
    chosen = [p for p in PLACES if not given.names or p.name.startswith(tuple(given.names))]
    if given.list or not chosen:
        print(*[place.name for place in PLACES])
        return 0 if given.list else 2
    failures = 0
    for place in chosen:
        outcome = run(place, given.n)
        print(outcome, flush=True)
        failures += bool(outcome.failed)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
