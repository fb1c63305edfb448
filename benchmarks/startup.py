"""How long `import autoflow` takes, NumPy being there already: the least of several fresh processes.

    python benchmarks/startup.py [--repeats 10]

Target: at most 0.1 s.
"""

from __future__ import annotations

import argparse

from measuring import digits, fresh, setting, table

CODE = """
from time import perf_counter
start = perf_counter()
import numpy
middle = perf_counter()
import autoflow
end = perf_counter()
print('{"numpy": %f, "autoflow": %f}' % (middle - start, end - middle))
"""


def main() -> None:
    """Measure and print. (The first process may compile to __pycache__: the minimum forgets it.)"""
    parser = argparse.ArgumentParser(description="Seconds that importing takes.")
    parser.add_argument("--repeats", type=int, default=10, help="processes; the best counts (10)")
    processes = parser.parse_args().repeats
    found = [fresh("-c", CODE) for _ in range(processes)]
    names = {"numpy": "import numpy", "autoflow": "import autoflow, on top (target 0.1)"}
    rows = [[words, digits(min(times[name] for times in found))] for name, words in names.items()]
    print(table(["", "seconds"], rows))
    print("", f"{setting()}; best of {processes} processes", sep="\n")


if __name__ == "__main__":
    main()
