"""Where the instructions of an eager step go: a busy machine changes times, and hardly these counts.

    python benchmarks/instructions.py [WORKLOAD ...]     # needs valgrind; minutes

Each stage runs n times and 2n times under ``valgrind --tool=callgrind``: the difference is what n of them cost, without
starting Python. It is split into the interpreter and the rest, which is NumPy and the C library.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring import setting, table
from workloads import WORKLOADS

import autoflow as af
from autoflow.base.modes import switched

STAGES = ("by hand", "f of plain arrays", "Variables", "f of nodes", "backward", "all", "all, without places")
TIMES = 100


def run(name: str, stage: str, times: int) -> None:
    """Some steps, each as far as ``stage``."""
    work, depth = WORKLOADS[name](), STAGES.index(stage)
    for _ in range(20 + times):
        if depth == 0:
            work.by_hand(*work.data, *work.parameters)
        parameters = work.parameters if depth < 2 else [af.Variable(a, copy=False) for a in work.parameters]
        z = work.forward(np, *work.data, *parameters) if depth not in (0, 2) else None
        if depth > 3:
            af.backward(z)
        if depth > 4:
            [v.grad for v in parameters]


def counted(name: str, stage: str, times: int) -> tuple[int, int]:
    """Instructions of such a process: the interpreter's, and the others."""
    with tempfile.TemporaryDirectory() as folder:
        valgrind = f"valgrind --tool=callgrind --callgrind-out-file={folder}/out {sys.executable} {__file__}".split()
        subprocess.run([*valgrind, "--run", name, stage, str(times)], check=True, stderr=subprocess.DEVNULL)  # noqa: S603
        text = Path(folder, "out").read_text(encoding="utf-8")
    names = dict(re.findall(r"^c?ob=(\(\d+\)) (.+)$", text, re.M))
    found = {True: 0, False: 0}
    for number, part in re.findall(r"^ob=(\(\d+\)).*\n((?:(?!ob=).*\n)*)", text, re.M):
        part = re.sub(r"^calls=.*\n.*\n", "", part, flags=re.M)  # what was called is counted where it is
        found["python3" in Path(names[number]).name] += sum(map(int, re.findall(r"^[-+*\d]\S* (\d+)$", part, re.M)))
    return found[True], found[False]


if __name__ == "__main__":
    rows = []
    if sys.argv[1:2] == ["--run"]:
        with switched(source=sys.argv[3] != STAGES[-1]):
            run(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        sys.exit()
    for name in sys.argv[1:] or ("chain-1k", "mlp-tiny"):
        for stage in STAGES:
            pairs = zip(counted(name, stage, TIMES), counted(name, stage, 2 * TIMES), strict=True)
            python, others = [(many - few) / TIMES / 1000 for few, many in pairs]
            rows.append([f"{name}: {stage}", f"{python + others:.0f}", f"{others:.0f}", f"{python:.0f}"])
    print(table(["instructions of a step, in thousands", "all", "NumPy, C", "Python"], rows), setting(), sep="\n\n")
