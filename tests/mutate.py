"""Are the generated tests any good? Break each derivative in turn and see whether its own row's tests notice.

    python tests/mutate.py              the whole table, with the rows of autoflow.nn and those for SciPy
    python tests/mutate.py tanh sum     some rows
    python tests/mutate.py --seconds 60 as many rows as fit, evenly spread over the table

For each row and operand the mutants are: the wrong sign, a factor of 1.01, transposed (where both last axes are of
one length, else nothing changes), the sum over broadcast axes forgotten, the conjugate dropped. A mutant that
changes no number (the derivative is zero everywhere) is not counted. Printed: how many are caught, and the survivors.
The exit status is 1 if fewer than 98 of 100 are, or if the tests of a row fail without any mutant.

Each row has a process of its own, since a broken derivative may do anything: a mutant that ends it, or that takes
longer than --patience seconds, is caught as well.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TESTS = Path(__file__).resolve().parent
sys.path[:0] = [str(path) for path in (TESTS.parent, TESTS / "support", TESTS / "rules")]
import cases  # noqa: E402 - the tests' own modules, which pytest finds by its settings
from row_examples import examples_of  # noqa: E402
from support import rows  # noqa: E402

from autoflow.table.table import Rule  # noqa: E402

WANTED = 0.98
Mutant = tuple[str, str]  # operand, what is done to its derivative


def transposed(sent: Any) -> Any:
    """The last two axes swapped where the shape stays the same."""
    return np.swapaxes(sent, -1, -2) if sent.ndim > 1 and sent.shape[-1] == sent.shape[-2] else sent


MUTANTS: dict[str, Callable[[Any], Any]] = {
    "sign": lambda sent: -sent, "factor 1.01": lambda sent: sent * 1.01, "transposed": transposed,
    "no sum_to": lambda sent: sent, "no conjugate": lambda sent: sent,
}  # fmt: skip
FLAGS: dict[str, dict[str, Any]] = {"no sum_to": {"elementwise": False}, "no conjugate": {"holomorphic": False}}


def applies(row: Rule, operand: str, mutant: str) -> bool:
    """Is there anything to forget? What is summed over both axes may be transposed before as well."""
    if mutant == "transposed" and row.elementwise:
        shapes = [example.shapes[row.names.index(operand)] for example in examples_of(row)]
        return any([shape is not None and len(shape) > 1 and shape[-1] == shape[-2] for shape in shapes])
    if mutant == "no sum_to":
        return row.elementwise and row.operands > 1
    return mutant != "no conjugate" or row.holomorphic


def check(row: Rule) -> None:
    special = sys.modules.get("test_special")  # not there without SciPy
    if special is None or row not in special.OURS:
        cases.check_row(row)
        return
    with pytest.MonkeyPatch.context() as patch:  # of some of SciPy's functions not every dtype is right
        special.test_row(row, patch)


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
        with cases.broken(row, operand, wrong, **FLAGS.get(mutant, {})):
            check(row)
    except Exception:  # however it is noticed
        return "caught"
    finally:
        row.derivatives = before
    return "survived" if changed else "same"


# -- one process per row ---------------------------------------------------------------------------------------------


def answer(row: Rule, mutants: list[Mutant], pipe: Any) -> None:
    """In the row's process: what becomes of each mutant, sent as soon as it is known."""
    warnings.simplefilter("error")  # as pytest has it
    for operand, mutant in mutants:
        pipe.send(outcome(row, operand, mutant))


def outcomes(row: Rule, patience: float) -> Iterator[tuple[Mutant, str]]:
    """Each mutant of a row, and what became of it."""
    left = [(operand, name) for operand in row.derivatives for name in MUTANTS if applies(row, operand, name)]
    forked = multiprocessing.get_context("fork")  # the table is there already; functions cannot be sent
    while left:
        here, there = forked.Pipe(duplex=False)
        process = forked.Process(target=answer, args=(row, left, there))
        process.start()
        there.close()
        try:
            while left:
                if not here.poll(patience):
                    break
                found = here.recv()
                yield left.pop(0), found
        except EOFError:  # the process has ended
            pass
        process.kill()
        process.join()
        if left:
            yield left.pop(0), "caught"


def right(row: Rule) -> bool:
    """Do the row's tests pass as it is? Else they would notice any mutant."""
    try:
        check(row)
    except Exception as error:
        print(f"{row.name} fails without a mutant: {error}"[:500])
        return False
    return True


def everything() -> list[Rule]:
    """The rows of NumPy's functions, of autoflow.nn, and of SciPy's functions if SciPy is there."""
    import autoflow.nn  # noqa: F401 - it fills the table

    try:
        import test_special  # noqa: F401
    except pytest.skip.Exception:
        print("SciPy is not installed: without the rows for it")
    return [row for row in rows() if row.derivatives]


def main() -> int:
    """Run the mutants, print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="names of rows; all if none is given")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no row after so long")
    parser.add_argument("--patience", type=float, default=120.0, help="longest time for one mutant")
    asked = parser.parse_args()
    warnings.simplefilter("error")  # as pytest has it
    if not hasattr(os, "fork"):
        print("this needs processes that can be forked: Linux or macOS")
        return 0
    chosen = [row for row in everything() if not asked.rows or row.name in asked.rows]
    order = np.random.default_rng(0).permutation(len(chosen))
    start, count, survivors, red, seen = time.perf_counter(), {"caught": 0, "survived": 0, "same": 0}, [], [], 0
    for place in order:
        if time.perf_counter() - start > asked.seconds:
            break
        row, seen = chosen[place], seen + 1
        if not seen % 25:
            print(f"{seen} of {len(chosen)} rows", flush=True)
        if not right(row):
            red.append(row.name)
            continue
        for (operand, mutant), found in outcomes(row, asked.patience):
            count[found] += 1
            if found == "survived":
                survivors.append(f"{row.name}({operand}): {mutant}")
    took = time.perf_counter() - start
    return report(count, sorted(survivors), red, f"{seen} of {len(chosen)} rows in {took:.0f} s")


def report(count: dict[str, int], survivors: list[str], red: list[str], seen: str) -> int:
    """Say it; the exit status."""
    real = count["caught"] + count["survived"]
    share = count["caught"] / real if real else 1.0
    print("survivors:", *survivors or ["none"], sep="\n  ")
    print(f"{seen}, {real} mutants that change a number ({count['same']} that change none): "
          f"{100 * share:.1f} % caught")  # fmt: skip
    if red:
        print("not counted, since their tests fail without a mutant:", *red)
    return 0 if share >= WANTED and not red else 1


if __name__ == "__main__":
    sys.exit(main())
