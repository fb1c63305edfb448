"""Formulas as text: the computation of ``python -m autoflow "x*y + sin(x)" x=3 y=5``, and the table that it prints.

The text is parsed by Python's own parser, and the tree is walked by :class:`Calculator`. Nothing is ever handed to
``eval``: a tree holds only what the ``match`` in :meth:`Calculator.value` names, so there is no way from a formula
to a file, an attribute or an import. What is left to abuse is size, and that is bounded: of the text, of the
tree, of exponents, and of all results together.

The table has a line for each node: name, value, gradient. The demo prints the same.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import array
from ..base.columns import aligned
from ..base.errors import AutoflowError
from ..nodes.nodes import AnyFunction, Operation, Variable
from ..rules import RULES
from ..table.table import COMPOSED

# ---------------------------------------------------------------- formulas: parsed, checked, computed

Value = Any  # a number or a node
LONGEST, DEEPEST, EXPONENT, NUMBERS = 10_000, 100, 1_000, 10_000_000
CONSTANTS = {"pi": math.pi, "e": math.e}
BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
}  # fmt: skip
UNARY: dict[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
REDUCTIONS = "sum prod mean var std max min amax amin ptp median cumsum cumprod".split()  # noqa: SIM905 - easier to read


# What other programs call them.
OTHER_NAMES = {
    "ln": "log", "lg": "log10", "tg": "tan", "sqr": "square", "root": "sqrt", "average": "mean", "avg": "mean",
    "sigmoid": "1 / (1 + exp(-x))", "relu": "maximum(x, 0)", "sec": "1 / cos(x)", "cot": "1 / tan(x)",
}  # fmt: skip
# How formulas are written elsewhere -> how they are written here. In this order.
SPELLINGS = [
    (r"\^", "**"),
    ("²", "**2"), ("³", "**3"), ("[×·⋅]", "*"), ("÷", "/"), ("−", "-"), ("√", "sqrt"), ("π", "pi"),
    (r"\b(?:math|cmath|np|numpy|torch|jnp)\.(?=\w)", ""),
    (r"(?<![\w.])(\d+\.?\d*|\.\d+)(?![eE][+-]?\d) *(?=[A-Za-z(])", r"\1*"),
    (r"\) *(?=[\w(])", ")*"),
]  # fmt: skip


def guess(text: str) -> str:
    """The formula as it may have been meant.

    >>> guess("3x^2 + math.sin(2 x)"), guess("(x + 1)(x - 1)")
    ('3*x**2 + sin(2*x)', '(x + 1)*(x - 1)')
    """
    for pattern, replacement in SPELLINGS:
        text = re.sub(pattern, replacement, text)
    return text.strip()


def with_guess(error: Refused, text: str) -> Refused:
    """The refusal of a formula, with a guess at the intended one if that differs and can be parsed."""
    nearest = guess(text)
    if len(text) > 200 or nearest == text.strip() or "\n" in nearest:
        return error
    try:
        ast.parse(nearest)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return error
    return Refused(f"{error}; did you mean  {nearest}")


class Refused(Exception):  # noqa: N818 - the formula is refused, the program is all right
    """This formula is not computed; the message is one line that says why."""


def functions() -> dict[str, Any]:
    """The functions that a formula may call, by NumPy's name: the elementwise ones of the table, sums and the like."""
    ufuncs = {name: f for name, f in vars(np).items() if isinstance(f, np.ufunc) and f in RULES}
    elementwise = {name: f for name, f in ufuncs.items() if RULES[f].elementwise}
    return elementwise | {name: f for name in REDUCTIONS if (f := getattr(np, name)) in RULES or f in COMPOSED}


class Calculator:
    """Computes formulas on named values.

    >>> calculator = Calculator()
    >>> calculator.give("x", "[1, 2]")
    >>> calculator.run("a = x * x; sum(a)")
    5.0  Operation sum_0 = sum(a)
    """

    def __init__(self) -> None:
        self.names: dict[str, Value] = {}
        self.functions = functions()
        self.size = 0  # elements of all the results so far

    def give(self, name: str, text: str) -> None:
        """``give("x", "[1, 2]")``: make a Variable of that name."""
        self.check_name(name)
        value = self.value(body(parse_short(text, f"the value of {name}"), f"the value of {name}"))
        if getattr(value, "requires_grad", False):
            raise Refused(f"the value of {name} must be a number or a list of numbers")
        self.names[name] = Variable(value, name)

    def run(self, text: str) -> Value:
        """The value of the last of the formulas in ``text``; ``a = ...`` gives one a name for the next."""
        try:
            return self.run_statements(parse_short(text, "the formula"))
        except Refused as error:
            raise with_guess(error, text) from error

    def run_statements(self, statements: list[ast.stmt]) -> Value:
        """The value of the last of these parsed statements."""
        result = None
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=formula):
                    self.check_name(name)
                    result = self.names[name] = self.value(formula)
                    if isinstance(result, Operation) and not isinstance(formula, ast.Name):
                        result.name = name
                case ast.Expr(value=formula):
                    result = self.value(formula)
                case _:
                    raise Refused(f"{ast.unparse(statement)[:60]!r} is not a formula; write  a = x + y; a * a")
        if result is None:
            raise Refused("there is no formula")
        return result

    def check_name(self, name: str) -> None:
        """A name is made of letters and digits, and has one meaning."""
        if not name.isidentifier() or keyword.iskeyword(name) or "_" in name:
            raise Refused(f"{name!r} is not a name: use letters and digits, a letter first")
        if name in self.names:
            raise Refused(f"{name} has a value already: choose another name for the second")

    def value(self, formula: ast.expr) -> Value:
        """The value of a formula: this function defines the language."""
        match formula:
            case ast.Constant(value=bool() | complex() | str() | bytes() | None):
                raise Refused(f"{ast.unparse(formula)[:60]} is not a real number")
            case ast.Constant(value=int() | float() as number):  # 9**9**9 of integers would fill the memory; floats
                return attempt(float, number)  # overflow at once
            case ast.Name(id=name):
                return self.look_up(name)
            case ast.List(elts=parts):
                return attempt(array, [self.value(part) for part in parts])
            case ast.UnaryOp(op=op, operand=x) if type(op) in UNARY:
                return self.call_bounded(UNARY[type(op)], self.value(x))
            case ast.BinOp(left=x, op=op, right=y) if type(op) in BINARY:
                return self.call_bounded(BINARY[type(op)], self.value(x), self.value(y))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                return self.call(name, args, keywords)
        kind = type(formula).__name__
        raise Refused(f"{ast.unparse(formula)[:60]!r} ({kind}) is not arithmetic: + - * / // % ** @ and functions are")

    def look_up(self, name: str) -> Value:
        """The value that a name stands for."""
        if name in (names := CONSTANTS | self.names):
            return names[name]
        hint = f"{name} is a function: write {name}(...)" if name in self.functions else f"give it one: {name}=2"
        if len(name) > 1 and all([letter in self.names for letter in name]):
            hint += f"; or, if you mean a product,  {' * '.join(name)}"
        raise Refused(f"{name} has no value; {hint}")

    def nearest(self, name: str) -> str:
        """The known function whose name is nearest to an unknown one."""
        if name in OTHER_NAMES:
            return f"did you mean {OTHER_NAMES[name]}"
        if names := difflib.get_close_matches(name, self.functions, 3, 0.65):
            return f"did you mean {' or '.join(names)}"
        if name in self.names:
            return f"for a product write {name} * (...)"
        return "there are exp, log, sin, cos, tanh, sqrt, sum, mean and others: --help lists them"

    def call(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Value:
        """``sum(x, axis=0)``: arrays by position, options by name and written out."""
        function = self.functions.get(name)
        if function is None:
            raise Refused(f"there is no function {name!r}; {self.nearest(name)}")
        count = RULES[function].operands if function in RULES else 1
        if len(args) != count:
            values = f"{count} value{'s' * (count > 1)}"
            raise Refused(f"{name} takes {values} by position, not {len(args)}; options by name")
        options = {}
        for option in keywords:
            if option.arg not in ("axis", "keepdims", "ddof"):
                raise Refused(f"{name}: only axis=, keepdims= and ddof= are understood here, not {option.arg or '**'}")
            options[option.arg] = literal(option.value)
        return self.call_bounded(function, *[self.value(x) for x in args], **options)

    def call_bounded(self, function: AnyFunction, *values: Value, **options: object) -> Value:
        """``function(*values)``, refused beforehand if the result would be too large."""
        if function is operator.pow and isinstance(values[1], float) and abs(values[1]) > EXPONENT:
            raise Refused(f"the exponent {values[1]:g} is too large: at most {EXPONENT}")
        shapes = [np.shape(v) for v in values]
        if function is operator.matmul:
            shapes = [(*x[:-1], 1) for x in shapes[:1]] + [(*y[:-2], 1, *y[-1:]) for y in shapes[1:]]
        self.size += math.prod(attempt(np.broadcast_shapes, *shapes))
        if self.size > NUMBERS:
            raise Refused(f"this needs {self.size:,} numbers: at most {NUMBERS:,}")
        result = attempt(function, *values, **options)
        if isinstance(result, complex):  # plain numbers: the root of -1
            raise Refused(f"{function.__name__}: the result is complex, and formulas here are real")
        return float(result) if isinstance(result, np.floating) else result


def attempt(function: AnyFunction, *values: object, **options: object) -> Any:
    """``function(...)``; what NumPy objects to becomes a refusal with the first line of its message."""
    try:
        return function(*values, **options)
    except (AutoflowError, ArithmeticError, TypeError, ValueError, IndexError, MemoryError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise Refused(f"{getattr(function, '__name__', 'this')}: {reason}") from error


def parse_short(text: str, what: str) -> list[ast.stmt]:
    """The statements in ``text``, if it is Python, short, and not deeply nested."""
    if len(text) > LONGEST:
        raise Refused(f"{what} has {len(text):,} characters: at most {LONGEST:,}")
    try:
        tree = ast.parse(text.strip(), mode="exec")
    except (SyntaxError, ValueError) as error:
        raise Refused(f"{what} is not a formula: {getattr(error, 'msg', error)}") from error
    except (MemoryError, RecursionError) as error:  # the parser's own limits
        raise Refused(f"{what} is nested too deeply: at most {DEEPEST} levels") from error
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST + 2):  # the module, the statement, and then the formula
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
    if level:
        raise Refused(f"{what} is nested too deeply: at most {DEEPEST} levels; name the parts, a = ...; b = ...")
    return tree.body


def body(statements: list[ast.stmt], what: str) -> ast.expr:
    """The one formula in ``statements``."""
    if len(statements) == 1 and isinstance(statements[0], ast.Expr):
        return statements[0].value
    raise Refused(f"{what} must be a number or a list of numbers")


def literal(formula: ast.expr) -> Any:
    """An option as it is written: a number, True, False, None, or a tuple of them."""
    try:
        return ast.literal_eval(formula)
    except (ValueError, TypeError) as error:
        raise Refused(f"the option {ast.unparse(formula)[:60]!r} must be written out, as axis=0") from error


# ---------------------------------------------------------------- the table: name, value and gradient of each node


def nodes_of(root: Any) -> list[Any]:
    """Every node that ``root`` was computed from, and ``root``: leaves first, operands before results."""
    nodes: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        if identity(node := waiting.pop()) not in nodes:
            nodes[identity(node)] = node
            waiting += node.operands
    return sorted(nodes.values(), key=lambda node: (node.grad_fn is not None, node.number))


def identity(node: Any) -> int:
    """The key that tells nodes apart: several arrays may show one operation, which has one ``grad_fn``."""
    return id(node.grad_fn or node)


def print_table(nodes: Sequence[Any]) -> None:
    """Name, value and gradient, a line each."""
    rows = [("name", "value", "gradient")] + [(n.name, format_value(n.value), format_value(n.grad)) for n in nodes]
    print(*aligned(rows, right={1}), sep="\n")


def format_value(value: Any) -> str:
    """Numbers on one line, shortened if there are many.

    >>> format_value(np.float64(2.0)), format_value(np.array([[1.0, 2.5]]))
    ('2', '[[1, 2.5]]')
    """
    if np.ndim(value) == 0:
        return f"{float(value):.10g}"
    text = np.array2string(
        value, separator=", ", threshold=20, edgeitems=3, max_line_width=10**6, formatter={"all": lambda v: f"{v:.6g}"}
    )
    return " ".join(text.split())
