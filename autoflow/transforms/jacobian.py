"""Whole Jacobians and Hessians: rows by passes back (reverse), or columns (forward).

Row i of J = ∂z/∂x is what the seed eᵢ sends back: one pass for each element of z. Column j is J eⱼ, by a pass
forward: as many as x has elements. Each pass fills its place in the finished array, so the peak of memory is that array
and one pass; the array is estimated, and refused if too large, before the first. Many passes run as one where that is
possible: ``batched_passes.py``.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..base import pytree
from ..base.errors import SeedError
from ..base.lazy import show_bar
from ..base.modes import modes, switched
from ..base.transformed import FunctionOfFunction
from ..nodes.grads import cast_gradient
from ..nodes.nodes import Array, value_of
from .batched_passes import batched_passes, sparse_jacobian
from .evaluation import Argnum, Trace, chosen_argnum, numbers_of
from .forward_pass import ForwardPass
from .gradient import grad

if TYPE_CHECKING:
    from typing import Unpack

    from .evaluation import A, How, HowBy, Jacobian, N, OfFirst, P

LONG = 5.0  # seconds after which a progress bar is shown


@overload
def jacobian(f: np.ufunc, *, mode: str = "auto", **how: Unpack[How]) -> Callable[..., np.ndarray]: ...
@overload
def jacobian(f: OfFirst[N, P], *, mode: str = "auto", **how: Unpack[How]) -> Jacobian[N, P]: ...
@overload
def jacobian(f: OfFirst[A, P], *, mode: str = "auto", **how: Unpack[How]) -> Jacobian[A, P]: ...
@overload
def jacobian(f: Callable[P, Any], argnum: Argnum, *, mode: str = "auto", **how: Unpack[How]) -> Callable[P, Any]: ...
@overload
def jacobian(f: Callable[P, Any], *, mode: str = "auto", **how: Unpack[HowBy]) -> Callable[P, Any]: ...
def jacobian(
    f: Callable[..., Any], argnum: Argnum | None = None, *, argnums: Argnum | None = None, mode: str = "auto",
    allow_unused: bool = False, holomorphic: bool = False, sparsity: Any = None,
) -> Callable[..., Any]:  # fmt: skip
    """All derivatives ∂zᵢ/∂xⱼ of a function, as a function: an array of shape ``z.shape + x.shape``.

    argnum, argnums : as in :func:`autoflow.grad`; containers of arguments and of results give containers of Jacobians.
    mode : "reverse" (a pass per element of z), "forward" (per element of x), "auto" (the fewer).
    holomorphic : needed if argument and result are complex; the derivative is then f'.
    sparsity : where derivatives may be nonzero: a boolean or SciPy sparse array of shape (z.size, x.size), for
        one real array in and one out. Rows, or columns, that do not overlap share a pass, and the result is a SciPy
        ``csr_array`` of that shape. One more pass checks the pattern.

    Passes are batched: many rows are computed in one pass, in chunks that fit into the processor's cache. Where that is
    not possible (a hook, a rule that looks at the numbers of g), there is one pass for each row.

    Raises MemoryError if the result would exceed ``af.options.max_bytes``, and InputError if ``sparsity`` leaves out
    derivatives that are not zero. A product with the Jacobian does not
    need the whole of it: see :func:`autoflow.vjp` and :func:`autoflow.jvp`.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    choice = chosen_argnum(f, argnum, argnums)
    if mode not in ("auto", "reverse", "forward"):
        raise ValueError(f"mode is 'auto', 'reverse' or 'forward', not {mode!r}")

    how = {"argnum": choice, "mode": mode, "allow_unused": allow_unused, "holomorphic": holomorphic}
    return JacobianFunction(f, {"sparsity": sparsity, **how})


class JacobianFunction(FunctionOfFunction):
    """The Jacobian as a function of the arguments of ``f``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """At these arguments."""
        how = self.how
        trace = Trace(self.f, how["argnum"], args, options)
        if how["sparsity"] is not None:
            return sparse_jacobian(trace, how["sparsity"], how["mode"])
        outputs = [z for z in pytree.tree_leaves(trace.z) if pytree.is_number(z)]
        check_size(outputs, trace.leaves)
        trace.checked_reach(outputs, how["allow_unused"])

        def part(z: Any) -> Any:
            if pytree.is_number(z):
                return trace.arrange_answers(of_output(trace, z, how["mode"], how["holomorphic"]))
            return None

        return pytree.tree_map(part, trace.z)


def jacfwd(f: Callable[..., Any], argnum: Argnum | None = None, **options: Any) -> Callable[..., Any]:
    """:func:`autoflow.jacobian` by columns, ``mode="forward"``: for few arguments and many results.

    >>> jacfwd(lambda x: np.stack([x, x**2, x**3]))(2.0)
    array([ 1.,  4., 12.])
    """
    of_leaves: Callable[..., Callable[..., Any]] = jacobian
    return of_leaves(f, argnum, mode="forward", **options)


def jacrev(f: Callable[..., Any], argnum: Argnum | None = None, **options: Any) -> Callable[..., Any]:
    """:func:`autoflow.jacobian` by rows, ``mode="reverse"``: for many arguments and few results.

    >>> jacrev(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    of_leaves: Callable[..., Callable[..., Any]] = jacobian
    return of_leaves(f, argnum, mode="reverse", **options)


@overload
def hessian(f: np.ufunc, **how: Unpack[How]) -> Callable[..., np.ndarray]: ...
@overload
def hessian(f: OfFirst[N, P], **how: Unpack[How]) -> Jacobian[N, P]: ...
@overload
def hessian(f: OfFirst[A, P], **how: Unpack[How]) -> Jacobian[A, P]: ...
@overload
def hessian(f: Callable[P, Any], argnum: Argnum, **how: Unpack[How]) -> Callable[P, Any]: ...
@overload
def hessian(f: Callable[P, Any], **how: Unpack[HowBy]) -> Callable[P, Any]: ...
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
    choice = chosen_argnum(f, argnum, argnums)
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
    push = functools.partial(trace.gradients, z)
    for start, end, found in batched_passes(z, trace.stop(z), z, push, watch=show_progress):
        for table, x, g in zip(tables, trace.leaves, found, strict=True):
            table.put(start, end, row_of(trace, g, x, conjugate))
    return [
        trace.keep_differentiable(k, table.rows()) if trace.nested else table.rows() for k, table in enumerate(tables)
    ]


def row_of(trace: Trace, g: Any, x: Any, conjugate: bool) -> Any:
    """One row or several, from what a pass has sent to the leaf ``x``."""
    if g is None:
        return None
    with switched(recording=trace.nested):
        g = cast_gradient(g, x.dtype)
        return np.conjugate(g) if conjugate else g


def by_columns(trace: Trace, z: Any) -> list[Any]:
    """A pass forward for each column: the tangent that is 1 at j, else 0, becomes column j."""
    forward = ForwardPass(trace, [z])
    answers = []
    for k, x in enumerate(trace.leaves):
        table = Table(trace.nested, x, z)

        def push(t: Any, k: int = k) -> list[Any]:
            return forward([t if i == k else None for i in range(len(trace.leaves))])

        for start, end, (found,) in batched_passes(z, trace.stop(z), x, push, watch=show_progress):
            table.put(start, end, found)
        whole = table.columns()
        answers.append(trace.keep_differentiable(k, whole) if trace.nested else whole)
    return answers


class Table:
    """A Jacobian that is filled line by line: an array, or (nodes cannot be written into it) a list of nodes."""

    def __init__(self, nested: bool, across: Any, along: Any) -> None:
        self.nested, self.across, self.along = nested, across.shape, along.shape
        self.zero = np.zeros_like(value_of(along))
        self.parts: list[Any] = []  # lines, or blocks of several lines
        if not nested:
            self.array = np.zeros_like(value_of(along), shape=(across.size, *along.shape))

    def put(self, start: int, end: int | None, part: Any) -> None:
        """Some lines, as one array, or line ``start`` alone; None is zero."""
        if self.nested:
            shape = self.along if end is None else (end - start, *self.along)
            self.parts.append(np.zeros(shape, self.zero.dtype) if part is None else part)
        elif part is not None:
            self.array[start if end is None else slice(start, end)] = numbers_of(part)

    def rows(self) -> Any:
        """Shape across + along."""
        if not self.nested:
            return self.array.reshape(self.across + self.along)
        with switched(recording=True):
            if not self.parts:
                return np.zeros(self.across + self.along, self.zero.dtype)
            join = np.stack if self.parts[0].shape == self.along else np.concatenate
            return np.reshape(join(self.parts), self.across + self.along)

    def columns(self) -> Any:
        """Shape along + across."""
        n = len(self.across)
        order = (*range(n, n + len(self.along)), *range(n))
        with switched(recording=self.nested):
            whole = np.transpose(self.rows(), order)
        if self.nested or type(whole) is not np.ndarray:
            return whole
        return np.ascontiguousarray(whole).reshape(self.along + self.across)


def zeros(z: Any, x: Any) -> Array:
    """The Jacobian of a result that does not depend on the leaf ``x``."""
    return np.zeros_like(value_of(x), shape=np.shape(z) + x.shape)


def show_progress(steps: range) -> Iterable[int]:
    """The steps, with a progress bar (tqdm's, if installed) once they turn out to take longer than ``LONG`` seconds."""
    start = time.perf_counter()
    for done, i in enumerate(steps, 1):
        yield i
        spent = time.perf_counter() - start
        if spent > LONG / 10 and spent / done * len(steps) > LONG:
            yield from show_bar(steps[done:], desc="Jacobian", initial=done, total=len(steps))
            return
