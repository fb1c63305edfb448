"""The command line: a formula in, values, gradients and a picture out.

    python -m autoflow "a1 = x + y + z; a2 = x*y*z; a1**2 * sin(a2) - a1*cos(a2)" x=3 y=5 z=4 -o graph.svg
    python -m autoflow --demo
    python -m autoflow --check program.py its arguments
    python -m autoflow --coverage program.py --html page.html

What a formula may say is decided in ``cli/commandline.py``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import textwrap
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .base.errors import AutoflowError
from .base.modes import options
from .cli.commandline import NUMBERS, Calculator, Refused, format_value, functions, identity, nodes_of, print_table

EPILOG = """\
A formula is arithmetic (+ - * / // % ** @), numbers, pi, e, lists, and functions by their NumPy names; parts with a
name come first, separated by semicolons:

  python -m autoflow "x * exp(-x**2)" x=0.7
  python -m autoflow "s = w @ x; sum(tanh(s))" w=[[1,2],[3,4]] x=[0.5,-1] -o graph.svg
  python -m autoflow "x**3 - 2*x" x=2 -o graph.dot
  python -m autoflow "x * exp(-x**2)" x=0.7 --open
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status: 0, or 2 if the formula was refused (with one line that says why).

    >>> main(["x * y", "x=3", "y=5"])
    name        value  gradient
    x               3  5
    y               5  3
    multiply_0     15  1
    0
    """
    parser = make_parser()
    words = sys.argv[1:] if argv is None else argv
    args = parser.parse_intermixed_args(words if {"--check", "--coverage"} & {*words} else protect_minus_signs(words))
    if args.demo:
        from .cli import demo

        return demo.main()
    if args.check:
        from .cli import checking

        return checking.main(*args.check)
    if args.coverage:
        from .doctor import coverage

        return coverage.main(*args.coverage)
    if args.formula is None:
        parser.print_usage()
        print(f"\n{EPILOG}\n{parser.prog} --help says more.")
        return 2
    try:
        run(args.formula, args.values, args.output, args.open)
    except (Refused, AutoflowError) as error:
        print(f"autoflow: {str(error).partition(chr(10))[0]}", file=sys.stderr)
        return 2
    return 0


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line's arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m autoflow", description="Values and gradients of a formula, and a picture of the computation.",
        epilog=EPILOG + list_functions(), formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("formula", nargs="?", help='such as "a = x*y; a + sin(a)"')
    parser.add_argument("values", nargs="*", metavar="name=value", help="the point: x=3, x=[1,2], x=pi/2")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the graph: .svg .html .dot ...")
    parser.add_argument("--open", action="store_true", help="show the graph in a browser, to step through")
    parser.add_argument("--demo", action="store_true", help="examples with pictures; a network that learns digits")
    parser.add_argument(
        "--check", metavar="PROGRAM", nargs=argparse.REMAINDER,
        help="run a Python program four times, and find where NumPy reads numbers of nodes that have a gradient",
    )  # fmt: skip
    parser.add_argument(
        "--coverage", metavar="PROGRAM", nargs=argparse.REMAINDER,
        help="show what happens to derivatives on each line of a program: --coverage program.py [--html FILE] "
        "[--fail-under PERCENT]",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"autoflow {version()}")
    return parser


def list_functions() -> str:
    """The functions that a formula may call, as lines of text."""
    names = ", ".join(sorted(functions()))
    return "\nFunctions:\n" + textwrap.fill(names, 100, initial_indent="  ", subsequent_indent="  ")


def version() -> str:
    """The version of the package to which this file belongs."""
    return str(getattr(sys.modules[__package__ or "autoflow"], "__version__", "unknown"))


def protect_minus_signs(argv: Sequence[str]) -> list[str]:
    """``argv`` with a space before formulas that begin with a minus sign, which would pass for options.

    >>> protect_minus_signs(["-x**2", "x=3", "-o", "graph.svg"])
    [' -x**2', 'x=3', '-o', 'graph.svg']
    """
    return [
        " " + word if word.startswith("-") and not word.startswith("--") and word not in ("-o", "-h") else word
        for word in argv
    ]


def run(formula: str, values: Sequence[str], output: Path | None, is_shown: bool = False) -> None:
    """Compute, go back, print, draw, show."""
    calculator = Calculator()
    for word in values:
        name, equals, text = word.partition("=")
        if not equals:
            raise Refused(f"{word!r} is not of the form name=value")
        calculator.give(name.strip(), text)
    with options(keep=NUMBERS), np.errstate(all="ignore"):
        root = calculator.run(formula)
        if not getattr(root, "requires_grad", False):
            raise Refused(f"the result is {np.asarray(root)!s}, whatever the values: there is nothing to differentiate")
        root.backward()
        table = [node for node in nodes_of(root) if node.requires_grad]
        if is_shown and output is None:
            output = Path(tempfile.mkdtemp(prefix="autoflow-")) / "graph.html"
        if output is not None:
            draw(root, output)
        print_table(table)
    used = {identity(node) for node in table}
    named = {name: node for name, node in calculator.names.items() if getattr(node, "requires_grad", False)}
    if unused := [name for name, node in named.items() if identity(node) not in used]:
        print(f"Not used in the result: {', '.join(unused)}.")
    if root.ndim:
        print("The result is not a single number: these are the gradients of the sum of its elements.")
    if warning := describe_not_finite(root, table):
        print(warning)
    if output is not None:
        print(f"The graph is in {output}.")
    if output is not None and is_shown and not webbrowser.open(output.resolve().as_uri()):
        print("No browser was found to open it.")


def describe_not_finite(root: Any, nodes: Sequence[Any]) -> str:
    """A sentence about the first value, or gradient, that is infinite or NaN ("not a number"); empty without one."""
    for node in sorted(nodes, key=lambda node: node.number):
        if words := kinds_of(node.value):
            what = "the result is" if identity(node) == identity(root) else f"it began with {node.name}, which is"
            origin = f" ({node.opmethod} of {operands_in_words(node)})" if node.operands else ""
            return f"Note: {what} {words}{origin}."
    for node in sorted(nodes, key=lambda node: node.number, reverse=True):
        if words := kinds_of(node.grad):
            return f"Note: the gradient of {node.name} is {words}: the function has no finite slope here."
    return ""


def kinds_of(value: Any) -> str:
    """ "infinite", "NaN (not a number)" or both; empty if all is finite."""
    words = ["infinite"] * bool(np.isinf(value).any()) + ["NaN (not a number)"] * bool(np.isnan(value).any())
    return " and ".join(words)


def operands_in_words(node: Any) -> str:
    """``x = 0 and 2``."""
    pairs = [(x.name, format_value(x.value)) for x in node.operands]
    return " and ".join([value if name == value else f"{name} = {value}" for name, value in pairs])


def draw(root: Any, path: Path) -> None:
    """Write the picture into ``path``; temporary files of the drawing leave nothing behind."""
    if path.is_dir():
        raise Refused(f"{path} is a directory: -o names the file to be written")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / path.name
        try:
            root.graph().save(target)
            shutil.copyfile(target, path)
        except (OSError, ValueError, ImportError) as error:
            raise Refused(f"{path} was not written: {str(error).partition(chr(10))[0]}") from error


if __name__ == "__main__":
    sys.exit(main())
