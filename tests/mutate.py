"""Are the generated tests any good? Break each derivative in turn and see whether its own row's tests notice.

    python tests/mutate.py              the whole table
    python tests/mutate.py tanh sum     some rows
    python tests/mutate.py --seconds 60 as many rows as fit, evenly spread over the table

For each row and operand the mutants are: the wrong sign, a factor of 1.01, transposed (where both last axes are of
one length, else nothing changes), the sum over broadcast axes forgotten, the conjugate dropped. A mutant that
changes no number (the derivative is zero everywhere) is not counted. Printed: how many are caught, and the survivors.
The exit status is 1 if fewer than 98 of 100 are.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from support import rows
from test_rules import broken, check_row

from autoflow.rules.table import Rule

WANTED = 0.98


def transposed(sent: Any) -> Any:
    """The last two axes swapped where the shape stays the same."""
    return np.swapaxes(sent, -1, -2) if sent.ndim > 1 and sent.shape[-1] == sent.shape[-2] else sent


MUTANTS: dict[str, Callable[[Any], Any]] = {
    "sign": lambda sent: -sent,
    "factor 1.01": lambda sent: sent * 1.01,
    "transposed": transposed,
    "no sum_to": lambda sent: sent,
    "no conjugate": lambda sent: sent,
}
FLAGS: dict[str, dict[str, Any]] = {"no sum_to": {"elementwise": False}, "no conjugate": {"holomorphic": False}}


def applies(row: Rule, operand: str, mutant: str) -> bool:
    """Is there anything to forget? What is summed over both axes may be transposed before as well."""
    if mutant == "transposed" and row.elementwise:
        shapes = [example.shapes[row.names.index(operand)] for example in row.examples]
        return any([shape is not None and len(shape) > 1 and shape[-1] == shape[-2] for shape in shapes])
    if mutant == "no sum_to":
        return row.elementwise and row.operands > 1
    return mutant != "no conjugate" or row.holomorphic


def outcome(row: Rule, operand: str, mutant: str) -> str:
    """``"caught"``, ``"survived"``, or ``"same"`` if the mutant changed no number."""
    changed = False
    right, before = row.derivatives[operand], row.derivatives

    def watched(g: Any, *saved: Any) -> Any:
        """The derivative; and is conj(f(conj(g))), what the row would send, something else?"""
        nonlocal changed
        sent = right(g, *saved)
        if mutant == "no conjugate" and type(sent) is np.ndarray and sent.dtype.kind == "c":
            changed = changed or not np.allclose(np.conjugate(right(np.conjugate(g), *saved)), sent, equal_nan=True)
        return sent

    def wrong(g: Any, sent: Any) -> Any:
        nonlocal changed
        new = MUTANTS[mutant](sent)
        a, b = np.asarray(getattr(sent, "value", sent)), np.asarray(getattr(new, "value", new))
        changed = changed or mutant == "no sum_to" or not np.array_equal(a, b, equal_nan=True)
        return new

    watched.__wrapped__ = right  # type: ignore[attr-defined]
    row.derivatives = {**before, operand: watched}
    try:
        with broken(row, operand, wrong, **FLAGS.get(mutant, {})):
            check_row(row)
    except Exception:  # however it is noticed
        return "caught"
    finally:
        row.derivatives = before
    return "survived" if changed else "same"


def main() -> int:
    """Run the mutants, print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="names of rows; all if none is given")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [row for row in rows() if row.derivatives and (not asked.rows or row.name in asked.rows)]
    order = np.random.default_rng(0).permutation(len(chosen))
    start, count, survivors, seen = time.perf_counter(), {"caught": 0, "survived": 0, "same": 0}, [], 0
    for place in order:
        if time.perf_counter() - start > asked.seconds:
            break
        row, seen = chosen[place], seen + 1
        for operand in row.derivatives:
            for mutant in MUTANTS:
                if applies(row, operand, mutant):
                    found = outcome(row, operand, mutant)
                    count[found] += 1
                    if found == "survived":
                        survivors.append(f"{row.name}({operand}): {mutant}")
    return report(count, sorted(survivors), seen, len(chosen))


def report(count: dict[str, int], survivors: list[str], seen: int, of: int) -> int:
    """Say it; the exit status."""
    real = count["caught"] + count["survived"]
    share = count["caught"] / real if real else 1.0
    print("survivors:", *survivors or ["none"], sep="\n  ")
    print(f"{seen} of {of} rows, {real} mutants that change a number ({count['same']} that change none): "
          f"{100 * share:.1f} % caught")  # fmt: skip
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
