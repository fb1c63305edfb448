"""What ``af.compile(f).program(...)`` returns: the recorded program, to be written in another language."""

from __future__ import annotations

import keyword
import math
import os
import re
from collections.abc import Callable, Container
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from ...backprop.hooks import on_operation
from ...base import pytree
from ...base.errors import CompileError
from ...base.modes import modes, switched
from ...nodes.nodes import AnyFunction, Node, Values, value_of
from ...program.names import Naming
from ...program.source import expression_of
from ...table.shapes import positional
from ..matching import NUMBERS_AND_TEXT, Nth, Value
from ..program import Program
from ..signature import is_array
from ..trace.recorded import record
from ..trace.tape import tape_here
from .javascript import to_javascript
from .python import RESERVED, Python, Word, array_text, digits, dtype_text

FEW = 12  # numbers of an argument that the doctest writes out


class ProgramText:
    """A recorded program: names and shapes of its arguments, and its text in other languages.

    inputs : the arguments, by name.
    """

    def __init__(self, f: Any, args: Values) -> None:
        recorded = record(with_lines(f), args, {}, is_array)
        self.program = recorded.program
        self.tree, self.f = recorded.tree, f
        self.title = getattr(f, "__name__", "function")
        self.name = self.title if self.title.isidentifier() else "program"
        arrays = [
            pair for pair in zip(pytree.tree_paths(args), pytree.tree_leaves(args), strict=True) if is_array(pair[1])
        ]
        self.paths, self.leaves = [path for path, _ in arrays], [x for _, x in arrays]
        self.inputs = dict(zip(input_names(f, self.paths), self.program.inputs, strict=True))

    def __repr__(self) -> str:
        shapes = ", ".join([f"{name} {v.dtype}{v.shape}" for name, v in self.inputs.items()])
        return f"<program of {self.title}: {shapes}; {len(self.program.order())} values>"

    def to_python(self, path: object = None) -> str:
        """NumPy source that does not need autoflow: one function, with an example in its docstring that compares
        gradients with differences. Its results are those of the function to the last bit. Names and comments are those
        of the function's source. Arrays from outside are written into it as they are now.

        path : where to save it, too.

        Raises CompileError if a call of the program has no such source, and says which.

        >>> import autoflow as af
        >>> def loss(w, x):
        ...     h = np.tanh(x @ w)
        ...     return np.sum(h)
        >>> f = af.compile(af.value_and_grad(loss))
        >>> print(f.program(np.ones(2), np.eye(2)).to_python().partition("# the program\\n")[2])
            # line 2: h = np.tanh(x @ w)
            h = np.tanh(x @ w)
            # line 3: return np.sum(h)
            value = np.sum(h)
            # back through line 2: h = np.tanh(x @ w)
            grad_w = np.reshape(x.T @ np.reshape(1 - np.square(h), (2, 1)), (2,))
            return value, grad_w
        <BLANKLINE>
        """
        outputs, lines = self.output_names(), self.program.lines
        names = dict(zip(self.program.inputs, self.inputs, strict=True))
        pairs = [*zip(self.program.outputs, outputs, strict=True), *lines.names.items()]
        for v, name in pairs:
            if name not in {*names.values(), self.name, *RESERVED}:
                names.setdefault(v, name)
        w = Python(self.program, names, lines.texts)
        results = result_text(self.tree, [w.known[v] for v in self.program.outputs])
        arguments = ", ".join(self.inputs)
        head = [*sorted(w.modules), *["\n" + x + "\n" if x.startswith("def") else x for x in w.outside.values()]]
        body = "\n".join([*self.docstring(outputs), "# the program", *w.lines, f"return {results}"])
        text = "\n".join([*head, "", "", f"def {self.name}({arguments}):", indent(body, "    ")]) + "\n"
        return saved(text, path)

    def to_javascript(self, path: object = None, name: str = "makeProgram") -> str:
        """A function in JavaScript that makes ``{inputs, outputs, run}``: typed arrays in the order of the arguments
        and of the results, and what computes the results from the arguments. For small arrays.

        Numbers agree with NumPy's to about 14 digits; near their zeros ``psi``, and ``gammaln`` below 0, to 14 digits
        behind the point. Whole numbers are exact below 2⁵³. Arrays from outside are written into it as they are now.

        Raises CompileError if a call of the program cannot be written in JavaScript, and says which.

        >>> import autoflow as af
        >>> print(af.compile(lambda x: np.exp(x) * 2.0).program(np.ones(3)).to_javascript())
        function makeProgram() {
          const v1 = new Float64Array(3);
          const v2 = new Float64Array(3);
          const v3 = new Float64Array(3);
          const outputs = [v3.subarray(0, 3)];
          function run() {
          for (let q0 = 0; q0 < 3; q0++) v2[q0] = Math.exp(v1[q0]);
          for (let q0 = 0; q0 < 3; q0++) v3[q0] = (v2[q0] * 2.0);
          }
          return { inputs: [v1], outputs, run };
        }
        <BLANKLINE>
        """
        return saved(to_javascript(self.program, name), path)

    # -- the docstring of the source

    def gradients(self) -> list[str]:
        """The arguments whose gradients follow the value, if it is ``af.value_and_grad`` of a function."""
        if getattr(self.f, "how", {}).get("which") != (0, 1) or not isinstance(self.tree, tuple):
            return []
        arguments = [*zip(self.inputs, map(first, self.paths), strict=True)]
        names = [name for number in np.ravel(self.f.how["argnum"]) for name, k in arguments if k == number]
        return names if len(names) == len(self.program.outputs) - 1 else []

    def output_names(self) -> list[str]:
        """``value``, ``grad_w``; else ``result_1``."""
        n = len(self.program.outputs)
        names = ["result"] if n == 1 else [f"result_{k + 1}" for k in range(n)]
        if arguments := self.gradients():
            names = ["value", *[f"grad_{name}" for name in arguments]]
        return [unused(name, self.inputs) for name in names]

    def docstring(self, outputs: list[str]) -> list[str]:
        """What goes in and comes out, and an example."""
        results = result_text(self.tree, outputs)
        rng, step, difference = [unused(word, self.inputs) for word in ("rng", "step", "difference")]
        wide = max([len(name) for name in [*self.inputs, *outputs]], default=0)
        lines = [f'"""``{results} = {self.name}({", ".join(self.inputs)})``', ""]
        lines += [f"{name:{wide}} : {v.shape}, {v.dtype}" for name, v in self.inputs.items()]
        lines += ["", "Results:", ""]
        pairs = zip(outputs, self.program.outputs, strict=True)
        lines += [f"{name:{wide}} : {v.shape}, {v.dtype}" for name, v in pairs]
        lines += ["", f">>> {rng} = np.random.default_rng(0)"]
        lines += [f">>> {name} = {example(x, rng)}" for name, x in zip(self.inputs, self.leaves, strict=True)]
        target = results if is_target(self.tree) else unused("results", self.inputs)
        lines += [f">>> {target} = {self.name}({', '.join(self.inputs)})"]
        gradients = self.gradients() if target == results else []
        lines += ["", "Gradients agree with differences:", ""] * bool(gradients)
        for name, grad in zip(gradients, outputs[1:], strict=False):
            moved = [f"{x} {{}} 1e-6 * {step}" if x == name else x for x in self.inputs]
            there, back = [f"{self.name}({', '.join(moved)})[0]".format(sign) for sign in "+-"]
            lines += [
                f">>> {step} = {rng}.normal(size=np.shape({name}))",
                f">>> {difference} = ({there} - {back}) / 2e-6",
                f">>> bool(abs(np.sum({grad} * {step}) - {difference}) < 1e-4 * (1 + abs({difference})))", "True",
            ]  # fmt: skip
        return [*lines, '"""']


def input_names(f: AnyFunction, paths: list[str]) -> list[str]:
    """Names for the arrays in the arguments: those of the function's parameters; of arrays in containers, their keys.

    >>> input_names(lambda p, x: 0, ["[0]['W']", "[0]['b'][1]", "[1]"])
    ['W', 'b_1', 'x']
    """
    parameters, short, long = positional(f), list[str](), list[str]()
    for path in paths:
        k, keys = first(path), re.findall(r"\w+", path)[1:]
        long.append("_".join([parameters[k] if k < len(parameters) else f"x{k}", *keys]))
        whole = "_".join(keys)
        short.append(whole if whole.isidentifier() else long[-1])
    names: list[str] = []
    for name in short if len({*short}) == len(short) else long:
        names.append(unused(name, {*names, *RESERVED}))
    return names


def unused(name: str, taken: Container[str]) -> str:
    """The name, or a similar one if it is taken or a Python keyword.

    >>> unused("w", {"x"}), unused("x", {"x", "x_"}), unused("lambda", ())
    ('w', 'x__', 'lambda_')
    """
    while name in taken or keyword.iskeyword(name):
        name += "_"
    return name


def first(path: str) -> int:
    """Which argument a path begins with."""
    return int(re.findall(r"\d+", path)[0])


def result_text(tree: object, names: list[str]) -> str:
    """The results in their containers.

    >>> result_text((Nth(0), {"w": Nth(1)}), ["value", "grad_w"])
    "value, {'w': grad_w}"
    """

    def leaf(x: object) -> Any:
        return Word(names[x.k] if type(x) is Nth else digits(x)) if type(x) in (Nth, float, complex) else x

    if not has_text(tree):
        raise CompileError("this program cannot be written as NumPy source: it returns an object that has no text")
    text = repr(pytree.tree_map(leaf, tree))
    return text[1:-1] if type(tree) is tuple and tree else text


def has_text(x: Any) -> bool:
    """Does it show itself as Python reads it?"""
    if type(x) in (tuple, list, dict):
        return all(map(has_text, x)) and (type(x) is not dict or all(map(has_text, x.values())))
    return type(x) in (Nth, *NUMBERS_AND_TEXT)


def is_target(tree: Any) -> bool:
    """Can results in such containers be assigned to names at once?"""
    return type(tree) is Nth or (type(tree) in (tuple, list) and all(map(is_target, tree)))


def example(x: object, rng: str) -> str:
    """An argument for the example: few numbers as they are, others of the same range from the generator ``rng``."""
    x = np.asarray(x)
    if x.size <= FEW or x.dtype.kind not in "f":
        return array_text(x)
    low, high = float(np.min(x)), float(np.max(x))
    if not math.isfinite(low + high):
        low, high = 0.5, 1.5
    kind = f".astype({dtype_text(x.dtype)})" if x.dtype != np.float64 else ""
    return f"{rng}.uniform({low:.3g}, {high:.3g}, size={x.shape}){kind}"


def saved(text: str, path: Any) -> str:
    """The text, which is also in a file, if there is a path."""
    if path is not None:
        Path(os.fspath(path)).write_text(text, encoding="utf-8")
    return text


# ---------------------------------------------------------------- lines: where values come from, and their names
#
# Values have numbers in the order in which they are made. So whenever an operation has been recorded, all values since
# the last one come from its line; and while a backward pass has a record open, from the derivative of that line.

BACK = "back through "
PLAIN = {ord(small): f"_{digit}" for digit, small in enumerate("₀₁₂₃₄₅₆₇₈₉")}


class Lines:
    """What is noted in one recording.

    texts : the number of a value -> its line.
    names : the values that have a name in the user's program.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.back = program, ""
        self.texts: dict[int, str] = {}
        self.names: dict[Value, str] = {}

    def note(self, text: str) -> None:
        """All values since the last one that is known come from there."""
        self.texts.update(dict.fromkeys(range(len(self.texts) + 1, self.program.count + 1), text))

    def open_record(self, inner: Callable[[Any], Any], pair: Any) -> Any:
        """The function that a backward pass calls instead of ``inner``."""
        self.note(self.back)
        self.back = BACK + line if (line := line_of(pair[0])) else ""
        return inner(pair)

    def name(self, nodes: list[Node]) -> None:
        """The names of recorded values that are also names in Python."""
        naming = Naming([node.grad_fn for node in nodes])
        for node in nodes:
            name = str(naming.name(node.grad_fn)).translate(PLAIN)
            if name.isidentifier() and not keyword.iskeyword(name):
                self.names.setdefault(value_of(node).expr, name)


def line_of(record: Any) -> str:
    """``line 3: h = np.tanh(x @ w)``; empty if there is no source."""
    expr = expression_of(record)
    if expr is None:
        return ""
    return f"line {expr.span.line}: {expr.source.lines[expr.span.line - 1].decode().strip()}"


def with_lines(f: AnyFunction) -> AnyFunction:
    """``f``, to be recorded: its program then has ``lines``."""

    def run(*args: object) -> Any:
        program, nodes = tape_here().program, []
        program.lines = lines = Lines(program)

        def see(node: Node) -> None:
            nodes.append(node)
            lines.note(line_of(node.grad_fn) or lines.back)

        around = modes().wrap_open_record
        with on_operation(see), switched(wrap_open_record=lambda inner: partial(lines.open_record, around(inner))):
            result = f(*args)
        lines.note(lines.back)
        lines.name(nodes)
        return result

    return run
