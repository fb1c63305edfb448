"""The computations of a page, recorded: a step of training with all values and gradients, and the prediction on a
grid."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import takewhile
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from ..arrays import constant
from ..backprop.engine import topological
from ..backprop.hooks import on_operation
from ..base.errors import CompileError, InputError
from ..base.pytree import is_container, tree_leaves, tree_paths, tree_unflatten
from ..compiler.compiled import compile
from ..nodes.nodes import AnyFunction, ByName, Node, Operation, Variable, value_of
from ..nodes.records import Record
from ..program.source import code_of, expression_of, source_of, units
from ..transforms.gradient import gradients

SIDE, POINTS = 41, 121  # of the grid on a plane, of a curve
NO_PREDICTION = "const makePrediction = null;"
MARGIN = 1.12  # the plane is that much larger than the data


class Study:
    """A loss, its parameters and its data.

    moving : the data of floating-point numbers, which can be changed in the page. The program depends on whole numbers
        (labels, places), so they stay as they are.
    root : the loss, recorded once with Variables and Constants; ``records`` the operations behind it.
    kind : how data and prediction are shown. "plane": points of two numbers; "curve": of one; "images"; "pairs": each
        predicted number against its target.
    """

    def __init__(self, loss: AnyFunction, params: object, data: object, predict: object, grid: object) -> None:
        self.loss, self.tree = loss, params
        self.params = named_arrays(named_params(params, loss), "params")
        self.data = named_arrays(named_data(data, self.params, loss), "data")
        self.predict: Any = predict if self.data else None
        self.moving = [name for name, d in self.data.items() if d.dtype.kind == "f"]
        self.root = self.record(loss)
        if not isinstance(self.root, Operation) or self.root.size != 1:
            raise InputError("the loss has to return one number, computed from the parameters by NumPy's functions")
        self.root.name = "loss"
        self.records = operations_behind(self.root)
        self.sources = sources_of([code for code in map(code_of, self.records) if code is not None])
        self.area: list[float] | None = None
        self.grid: Any = None
        self.on_grid: list[tuple[int, ...]] = []  # shapes of the prediction's operations there
        self.kind: str | None = None
        if self.predict is not None:
            self.area, self.grid, self.kind = self.look(grid)

    def call(self, f: AnyFunction, params: Any, data: Any) -> Any:
        """``f`` called with these values: by name if it has parameters of these names, else as ``f(params, *data)``, in
        the user's containers."""
        by_name = dict(zip([*self.params, *self.data], [*params, *data], strict=False))
        arguments = data if f is self.loss else data[: len(parameters_of(f)) - 1]
        args, named = (tree_unflatten(self.tree, params), *arguments), {}
        if takes(f, [*self.params]):
            args, named = (), {name: x for name, x in by_name.items() if name in parameters_of(f)}
        try:
            inspect.signature(f).bind(*args, **named)
        except TypeError as error:
            what = "loss" if f is self.loss else "prediction"
            raise InputError(f"the {what} cannot be called with {', '.join(by_name)}: {error}") from error
        return f(*args, **named)

    def record(self, f: AnyFunction) -> Node:
        """The result of f for the parameters and the data, recorded."""
        variables = [Variable(p.copy(), name=n) for n, p in self.params.items()]
        constants = [constant(d, name=n) for n, d in self.data.items()]
        return self.call(f, variables, constants)

    # -- what is shown of the data

    def look(self, grid: Any) -> tuple[list[float] | None, Any, str]:
        """The area, the points at which the prediction is computed, and the kind."""
        x, *others = [np.asarray(d) for d in self.data.values()]
        if x.dtype.kind == "f" and x.ndim == 2 and x.shape[1] == 2:
            size = MARGIN * ends(np.abs(x))[1] or 1.0
            left, right, low, high = area = (-size, size, -size, size) if grid is None else grid
            across, up = np.linspace(left, right, SIDE), np.linspace(high, low, SIDE)
            return list(map(float, area)), np.stack([g.ravel() for g in np.meshgrid(across, up)], axis=1), "plane"
        if x.dtype.kind == "f" and (x.ndim == 1 or x.shape[1:] == (1,)) and others:
            (left, right), (low, high) = ends(x), ends(others[-1])
            wide, tall = [share * (MARGIN - 1) or 1.0 for share in (right - left, 2 * (high - low))]
            area = (left - wide, right + wide, low - tall, high + tall) if grid is None else grid
            points = np.linspace(area[0], area[1], POINTS)
            return list(map(float, area)), points.reshape(-1, *x.shape[1:]), "curve"
        side = round(x.shape[-1] ** 0.5)
        return None, x, "images" if others and x.ndim == 2 and side * side == x.shape[1] > 9 else "pairs"

    # -- the two programs

    def record_step(self, edges: list[tuple[int, int]]) -> str:
        """JavaScript of (parameters, data) -> loss, values of operations, gradients of parameters, gradients of
        operations, and the operands at these ``edges`` (operation, slot), which are not nodes."""
        names, call, loss_of, size = [*self.params], self.call, self.loss, len(self.records)

        fixed, moving = self.copies(), self.moving

        def step(params: Any, *changed: object) -> Any:
            data = {**fixed, **dict(zip(moving, changed, strict=True))}.values()
            variables = [Variable(p, name=n) for n, p in zip(names, params, strict=True)]
            loss, inside = with_operations(lambda: call(loss_of, variables, [*data]))
            if len(inside) != size:
                raise CompileError("its operations depend on the numbers in the data")
            g = gradients(loss, [*variables, *inside])
            plain = [value_of(inside[k].grad_fn.operands[slot]) for k, slot in edges]
            return loss, [n.value for n in inside], [g[v] for v in variables], [g[n] for n in inside], plain

        arrays = [p.copy() for p in self.params.values()]
        return compile(step).program(arrays, *[self.copies()[n] for n in moving]).to_javascript(name="makeStep")

    def record_prediction(self) -> tuple[str, tuple[int, ...]]:
        """JavaScript of (parameters, x, the other data that move) -> prediction, values of its operations; and the
        prediction's shape."""
        names, call, predict = [*self.params], self.call, self.predict
        first, fixed = next(iter(self.data)), self.copies()
        others = [name for name in self.moving if name != first]
        shapes: tuple[tuple[int, ...], ...] = ()

        def on_grid(params: Any, x: object, *changed: object) -> Any:
            nonlocal shapes
            data = {**fixed, first: x, **dict(zip(others, changed, strict=True))}.values()
            variables = [Variable(p, name=n) for n, p in zip(names, params, strict=True)]
            y, inside = with_operations(lambda: call(predict, variables, [*data]))
            shapes = y.shape, *[n.shape for n in inside]
            return y, [n.value for n in inside]

        def written() -> str:
            arrays, data = [p.copy() for p in self.params.values()], [fixed[name] for name in others]
            return compile(on_grid).program(arrays, np.array(self.grid), *data).to_javascript(name="makePrediction")

        text = ""
        with suppress(ValueError, IndexError):  # else it is one of the data only, as with a parameter for each
            text = written()
        if not text or (self.area and not self.is_by_point(shapes[0])):
            self.grid, self.area, self.kind = fixed[first], None, "pairs"
            text = written()
        shape, *self.on_grid = shapes
        if self.kind == "images" and (len(shape) < 2 or shape[-1] < 2):
            self.kind = "pairs"
        if self.kind == "pairs" and math.prod(shape) != [*self.data.values()][-1].size:
            self.kind, text = None, NO_PREDICTION
        return text, shape

    def is_by_point(self, shape: tuple[int, ...]) -> bool:
        """Does an array of that shape have a number, or on a plane a row, for each point of the grid?"""
        n, rest = len(self.grid), math.prod(shape[1:])
        return shape[:1] == (n,) and (len(shape) < 3 if self.kind == "plane" else rest == 1)

    def copies(self) -> dict[str, Any]:
        """Copies of the data, shared with nobody."""
        return {name: np.array(d) for name, d in self.data.items()}

    def maps(self) -> set[int]:
        """The operations that can be shown on the plane: the loss begins with them as the prediction does, and on the
        grid they have one row for each point."""
        if self.kind != "plane":
            return set()
        pairs = zip(self.records, operations_behind(self.record(self.predict)), strict=False)
        alike = takewhile(lambda pair: len({(code_of(r), r.last, r.rule) for r in pair}) == 1, pairs)
        return {k for k, _ in enumerate(alike) if self.is_by_point(self.on_grid[k])}

    def place(self, record: Record) -> list[int] | None:
        """The position of an operation: the function's number, and first line, first column, last line, last column in
        its source on the page, from 0."""
        if (expr := expression_of(record)) is None:
            return None
        span = expr.span
        for k, one in enumerate(self.sources):
            if one.file == expr.source.file and {span.line, span.end_line} <= {*one.rows}:
                ends = (span.line, span.column), (span.end_line, span.end_column)
                places = [(y - one.rows.start, units(expr.source.lines[y - 1], x) - one.indent) for y, x in ends]
                return [k, *places[0], *places[1]]
        return None


class Shown(NamedTuple):
    """The source of a function: its file, its lines there, their text without the indentation, how deep that was."""

    file: str
    rows: range
    lines: tuple[str, ...]
    indent: int


def ends(x: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest of the finite numbers; 0 if there are none."""
    finite = x[np.isfinite(x)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def sources_of(codes: Iterable[CodeType]) -> list[Shown]:
    """The sources of functions, as far as they are known. A lambda, a comprehension or a function inside another one
    that is shown appears there."""
    sources: dict[Shown, None] = {}
    for code in dict.fromkeys(codes):
        if (source := source_of(code)) is not None:
            first = code.co_firstlineno
            rows = inspect.getblock([line.decode() for line in source.lines[first - 1 :]])
            lines = "".join(rows).rstrip().split("\n")
            indent = len(lines[0]) - len(lines[0].lstrip())
            text = tuple([line[indent:] for line in lines])
            sources[Shown(source.file, range(first, first + len(lines)), text, indent)] = None
    return [x for x in sources if not any([x != y and x.file == y.file and {*x.rows} <= {*y.rows} for y in sources])]


def operations_behind(root: Node) -> list[Record]:
    """The records of the operations that a node was computed by, in the order of creation."""
    return sorted([r for r in topological(root.grad_fn) if r.parents], key=lambda r: r.number)


def with_operations(run: Callable[[], Any]) -> tuple[Any, list[Node]]:
    """The result, and the operations behind it, in the order of creation."""
    nodes: list[Any] = []
    with on_operation(nodes.append):
        root = run()
    if not isinstance(root, Operation):
        raise InputError("predict has to compute from the parameters")
    by_record, behind = {n.grad_fn: n for n in nodes}, operations_behind(root)
    if not by_record.keys() >= {*behind}:
        raise CompileError("it writes into an array that it has computed, and a card has one value: use np.where")
    return root, [by_record[r] for r in behind]


def parameters_of(f: AnyFunction) -> list[str]:
    """The names of its parameters, those of ``*args`` and ``**options`` left out."""
    return [p.name for p in inspect.signature(f).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def takes(f: AnyFunction, names: list[str]) -> bool:
    """Does the function have a parameter for each of these names?"""
    return {*names} <= {*parameters_of(f)}


def named_params(tree: Any, loss: Any) -> dict[str, Any]:
    """The parameters by name: the keys of a dict of arrays, else as the loss writes them: ``p[0]``, ``p['w'].bias``."""
    if isinstance(tree, dict) and not any(map(is_container, tree.values())):
        return tree
    return dict(zip(tree_paths(tree, [*parameters_of(loss), "params"][0]), tree_leaves(tree), strict=True))


def named_data(data: object, params: Any, loss: Any) -> dict[str, Any]:
    """The data by name. An array, or arrays in a tuple, get the names of the loss's parameters that follow."""
    if isinstance(data, Mapping):
        return dict(data)
    names = parameters_of(loss)
    free = [name for name in names if name not in params] if takes(loss, [*params]) else names[1:]
    arrays = data if isinstance(data, (tuple, list)) else [data]
    return {free[k] if k < len(free) else f"data {k + 1}": x for k, x in enumerate(arrays)}


def is_users(x: object) -> bool:
    """Is it an object of a user's class, which we cannot look into?"""
    return bool(getattr(x, "__dict__", None)) and not hasattr(x, "named_parameters")


def named_arrays(given: ByName, what: str) -> dict[str, Any]:
    """The same as arrays of numbers. Raises InputError for anything without numbers."""
    arrays = {str(name): np.array(value_of(x)) for name, x in given.items()}
    for name, x in arrays.items():
        if x.dtype.kind not in "biufc" or not x.size:
            raise InputError(
                f"{what}: {name} has to be an array of numbers, not {type(given[name]).__name__}"
                + f" of shape {x.shape}" * (not x.size)
                + ". For an autoflow.nn model pass {path: p.value for path, p in model.named_parameters().items()}, "
                "and call nn.functional_call(model, params, x) in the loss"
                * hasattr(given[name], "named_parameters")
                + ". Arrays may be in dicts, lists, tuples and dataclasses: for your own class pass vars(object), "
                "or make it a @dataclass" * is_users(given[name])
            )
    return arrays
