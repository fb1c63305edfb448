"""Whole Jacobians and Hessians: one pass per row (reverse) or per column (forward).

Row i of J = ∂z/∂x is what the seed eᵢ sends back: as many passes as z has elements. Column j is J eⱼ, from the recorded
pass of ``vjp_jvp.transposed``: as many as x has elements. Each pass fills its place in the finished array, so the peak
of memory is that array and one pass; the array is estimated, and refused if too large, before the first.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .. import pytree
from ..errors import SeedError
from ..modes import modes, switched
from ..nodes.grads import cast_gradient
from ..nodes.nodes import gradient_target, value_of
from .evaluation import Argnum, Trace, chosen_argnum
from .gradient import grad
from .vjp_jvp import pulled_to, transpose

Array = Any
LONG = 5.0  # seconds after which a progress bar is shown


def jacobian(
    f: Callable[..., Any], argnum: Argnum | None = None, *, argnums: Argnum | None = None, mode: str = "auto",
    allow_unused: bool = False, holomorphic: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """All derivatives ∂zᵢ/∂xⱼ of a function, as a function: an array of shape ``z.shape + x.shape``.

    argnum, argnums : as in :func:`autoflow.grad`; containers of arguments and of results give containers of Jacobians.
    mode : "reverse" (a pass per element of z), "forward" (per element of x), "auto" (the fewer).
    holomorphic : needed if argument and result are complex; the derivative is then f'.

    Raises MemoryError if the result would exceed ``af.options.max_bytes``. A product with the Jacobian does not need
    it: see :func:`autoflow.vjp` and :func:`autoflow.jvp`.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    choice = chosen_argnum(argnum, argnums)
    if mode not in ("auto", "reverse", "forward"):
        raise ValueError(f"mode is 'auto', 'reverse' or 'forward', not {mode!r}")

    @functools.wraps(f)
    def matrix(*args: Any, **options: Any) -> Any:
        trace = Trace(f, choice, args, options)
        outputs = [z for z in pytree.tree_leaves(trace.z) if pytree.is_number(z)]
        check_size(outputs, trace.leaves)
        trace.checked_reach(outputs, allow_unused)

        def part(z: Any) -> Any:
            return trace.arrange_answers(of_output(trace, z, mode, holomorphic)) if pytree.is_number(z) else None

        return pytree.tree_map(part, trace.z)

    return matrix


def hessian(
    f: Callable[..., Any], argnum: Argnum | None = None, *, argnums: Argnum | None = None,
    allow_unused: bool = False, holomorphic: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """All second derivatives of a scalar function, as a function: an array of shape ``x.shape + x.shape``.

    A tuple of arguments gives a tuple of tuples, ``h[i][j]`` = ∂²f/∂xᵢ∂xⱼ. The rest as in :func:`autoflow.jacobian`;
    for products with the Hessian see :func:`autoflow.hvp`.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    choice = chosen_argnum(argnum, argnums)
    slope = grad(f, choice, allow_unused=allow_unused, holomorphic=holomorphic)
    return jacobian(slope, choice, mode="reverse", allow_unused=allow_unused, holomorphic=holomorphic)


def check_size(outputs: list[Any], leaves: list[Any]) -> None:
    """Raise MemoryError if the result would exceed the limit."""
    n = sum([np.size(value_of(z)) for z in outputs])
    total = sum([n * x.size * x.dtype.itemsize for x in leaves])
    if total > modes().max_bytes:
        raise MemoryError(
            f"the Jacobian of {n:,} results for {sum([x.size for x in leaves]):,} arguments takes {total:,} bytes, "
            f"more than af.options.max_bytes = {modes().max_bytes:,}. Products with it need no such array: af.vjp, "
            f"af.jvp, af.hvp. Or allow it: with af.options(max_bytes={total}): ..."
        )


def of_output(trace: Trace, z: Any, mode: str, holomorphic: bool) -> list[Any]:
    """The Jacobian of one result for each leaf."""
    if not trace.reaches(z):
        return [zeros(z, x) for x in trace.leaves]
    forward = mode == "forward" or (mode == "auto" and z.size > sum([x.size for x in trace.leaves]))
    complex_x = any([x.dtype.kind == "c" for x in trace.leaves])
    if z.dtype.kind == "c" and not holomorphic:
        if complex_x or mode == "reverse":
            raise SeedError(
                "the Jacobian of a complex result: say holomorphic=True if the function is complex-differentiable, "
                "or take real and imaginary parts. (Of real arguments the forward mode gives it.)"
            )
        forward = True
    elif complex_x and not holomorphic:
        forward = False  # the gradient dz/da + i dz/db of a real z is what a pass back gives
    conjugate = holomorphic and not forward  # a pass gives conj f': see Rule.complex_vjps
    return by_columns(trace, z) if forward else by_rows(trace, z, conjugate)


def by_rows(trace: Trace, z: Any, conjugate: bool) -> list[Any]:
    """A pass for each row: the seed that is 1 at i, else 0, sends back row i."""
    tables = [Table(trace.nested, z, x) for x in trace.leaves]
    for i in show_progress(range(z.size)):
        for table, x, g in zip(tables, trace.leaves, trace.gradients(z, unit(z, i)), strict=True):
            if g is not None:
                with switched(recording=trace.nested):
                    g = cast_gradient(g, x.dtype)
                    g = np.conjugate(g) if conjugate else g
            table.put_line(i, g)
    return [
        trace.keep_differentiable(k, table.rows()) if trace.nested else table.rows() for k, table in enumerate(tables)
    ]


def by_columns(trace: Trace, z: Any) -> list[Any]:
    """A pass for each column: J eⱼ is column j, from going back through the recorded pass."""
    u, back = transpose(trace, z)
    answers = []
    for k, (x, w) in enumerate(zip(trace.leaves, back, strict=True)):
        table = Table(trace.nested, x, z)
        for j in show_progress(range(x.size)) if gradient_target(w) is not None else ():
            with switched(recording=trace.nested):
                table.put_line(j, pulled_to(u, w, unit(x, j), trace.nested))
        whole = table.columns()
        answers.append(trace.keep_differentiable(k, whole) if trace.nested else whole)
    return answers


class Table:
    """A Jacobian that is filled line by line: an array, or (nodes cannot be written into it) a list of nodes."""

    def __init__(self, nested: bool, across: Any, along: Any) -> None:
        self.nested, self.across, self.along = nested, across.shape, along.shape
        self.zero = np.zeros_like(value_of(along))
        self.lines: list[Any] = []
        if not nested:
            self.array = np.zeros_like(value_of(along), shape=(across.size, *along.shape))

    def put_line(self, i: int, line: Any) -> None:
        """Line i; None is zero."""
        if self.nested:
            self.lines.append(self.zero if line is None else line)
        elif line is not None:
            self.array[i] = value_of(line)

    def rows(self) -> Any:
        """Shape across + along."""
        if not self.nested:
            return self.array.reshape(self.across + self.along)
        with switched(recording=True):
            if not self.lines:
                return np.zeros(self.across + self.along, self.zero.dtype)
            return np.reshape(np.stack(self.lines), self.across + self.along)

    def columns(self) -> Any:
        """Shape along + across."""
        n = len(self.across)
        order = (*range(n, n + len(self.along)), *range(n))
        with switched(recording=self.nested):
            whole = np.transpose(self.rows() if self.lines or not self.nested else self._empty(), order)
        return whole if self.nested else np.ascontiguousarray(whole).reshape(self.along + self.across)

    def _empty(self) -> Any:
        return np.zeros(self.across + self.along, self.zero.dtype)


def zeros(z: Any, x: Any) -> Array:
    """The Jacobian of a result that does not depend on the leaf ``x``."""
    return np.zeros_like(value_of(x), shape=np.shape(z) + x.shape)


def unit(x: Any, i: int) -> Array:
    """An array like ``x``, with a one at its i-th element and zeros elsewhere."""
    one = np.zeros_like(value_of(x), shape=(math.prod(x.shape),))
    one[i] = 1
    return one.reshape(x.shape)


def show_progress(steps: range) -> Iterable[int]:
    """The steps, with a progress bar (tqdm's, if installed) once they turn out to take longer than ``LONG`` seconds."""
    start = time.perf_counter()
    for i in steps:
        yield i
        spent = time.perf_counter() - start
        if spent > LONG / 10 and spent / (i + 1) * len(steps) > LONG:
            yield from bar(steps[i + 1 :], len(steps))
            return


def bar(steps: range, total: int) -> Iterator[int]:
    """The remaining steps, with a progress bar where tqdm is there to draw one."""
    if importlib.util.find_spec("tqdm") is None:
        yield from steps
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a notebook has no widgets installed: then the bar is text
        from tqdm.auto import tqdm
    yield from tqdm(steps, desc="Jacobian", initial=total - len(steps), total=total)
