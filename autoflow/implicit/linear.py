"""Linear systems A x = b: by a matrix, or by products A v alone; and their derivatives.

First how the arguments of a user's function become arrays that gradients flow to, which integrators need, too; trees of
arrays as one vector, which solvers work on; and a search as one call, on numbers alone.

Then the systems. dA x + A dx = db, so the gradient of b is u with Aᵀ u = g, and that of A is −u xᵀ: a system with the
transposed matrix, whose products are those of a vjp. That system is differentiated in the same way, to any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from types import ModuleType
from typing import Any

import numpy as np

from ..backends.registry import family_of, layer_of
from ..base import pytree
from ..base.errors import CompileError, ConvergenceError, InputError, LostGradientError
from ..base.lazy import load_package
from ..base.modes import modes, switched
from ..extending.function import Function
from ..nodes.nodes import AnyFunction, NodeRole, value_of
from ..table.shapes import Array, as_array, as_dtype, is_on_host
from ..transforms.evaluation import plain_numbers
from ..transforms.jacobian import jacobian
from ..transforms.vjp_jvp import vjp

# ---------------------------------------------------------------- arguments: the arrays in them


def scipy_integrate() -> ModuleType:
    """The module, imported when it is needed."""
    missing = "af.integrate computes with SciPy, which is not installed: pip install scipy"
    return load_package("scipy.integrate", missing)


def real_array(x: Any, name: str) -> Array:
    """``x`` as an array of floats. Raises TypeError for complex numbers: the equation is one for real numbers."""
    x = as_array(x)
    if x.dtype.kind == "c":
        raise TypeError(f"{name} is complex: integrate real and imaginary part, np.concatenate([z.real, z.imag])")
    return x if x.dtype.kind == "f" else x.astype(float)


def taken_apart(args: object) -> tuple[list[Array], Callable[[Sequence[Any]], Any]]:
    """The arrays of floats in ``args``, at any depth in lists, tuples, dicts and dataclasses, and the function that
    puts others in their place. Whole numbers, text and functions stay where they are: nothing flows to them.

    >>> arrays, put = taken_apart(({"w": 2.0, "n": 3}, np.ones(2)))
    >>> arrays
    [array(2.), array([1., 1.])]
    >>> put(["a", "b"])
    ({'w': 'a', 'n': 3}, 'b')
    """
    leaves = pytree.tree_leaves(args)
    places = [k for k, x in enumerate(leaves) if is_real(x)]
    rest = pytree.tree_map(lambda x: None if is_real(x) else x, args)  # without the arrays: it may outlive the call

    def put(values: Sequence[Any]) -> Any:
        new = pytree.tree_leaves(rest)
        for k, value in zip(places, values, strict=True):
            new[k] = value
        return pytree.tree_unflatten(rest, iter(new))

    for x in leaves:
        if getattr(x, "requires_grad", False) and not is_real(x):
            raise TypeError(f"{x.name}, an argument, is {x.dtype}: give its real and imaginary part")
    return [as_array(leaves[k]) for k in places], put


def is_real(x: object) -> bool:
    """Is it a float, or an array of floats?"""
    return isinstance(x, float) or getattr(getattr(x, "dtype", None), "kind", "") == "f"


def refuse_hidden(values: object, name: str, place: str = "args=(...)") -> None:
    """Raise LostGradientError if a function of plain arrays has returned nodes: then it uses nodes that are not among
    its arguments. The integrator would take their numbers, and no gradient would come back to them.
    """
    nodes = [x for x in pytree.tree_leaves(values) if isinstance(x, NodeRole) and x.requires_grad]
    if nodes and modes().apart:
        raise LostGradientError(
            f"{name} uses a node that is not one of its arguments ({nodes[0].name} was computed from it), and no "
            f"gradient would come back to it: pass it in {place}, or use node.value if it is fixed"
        )


def numbers_alone(z: object, name: str) -> Any:
    """The numbers in the result of such a function; without a name nothing is refused."""
    if name and isinstance(z, NodeRole):
        refuse_hidden(z, name)
    return value_of(z)


def plain_arrays(xs: Sequence[Array]) -> list[Array]:
    """Copies of the numbers, for a first try."""
    return [np.array(getattr(x, "value", x)) for x in xs]


def unit(g: Array) -> Array:
    """The largest absolute value in a gradient, plain; 1 if that is 0 or not finite."""
    size = np.max(np.abs(plain_numbers(g)), initial=0.0)
    return np.where((size > 0) & np.isfinite(size), size, 1.0)


# ---------------------------------------------------------------- vectors: trees of arrays as one


class Layout:
    """Which places of a vector are which arrays of a tree.

    tree : an array, a number, or nested containers of them, all real.
    weak : the dtype of leaves that are Python numbers or integers.

    >>> layout = Layout({"a": np.ones((2, 1)), "b": 3.0}, "x0")
    >>> layout.ravel({"a": np.array([[1.0], [2.0]]), "b": 5.0}, "x")
    array([1., 2., 5.])
    >>> layout.unravel(np.array([1.0, 2.0, 5.0]))["a"].shape
    (2, 1)
    """

    def __init__(self, tree: object, name: str, weak: Any = np.float64) -> None:
        self.name = name
        tree = as_array(tree) if is_list_of_numbers(tree) else tree
        leaves, self.paths = pytree.tree_leaves(tree), pytree.tree_paths(tree, name)
        for x, path in zip(leaves, self.paths, strict=True):
            if not pytree.is_number(x) or getattr(x, "dtype", np.dtype(type(x))).kind == "c":
                what = f"{x.dtype}" if hasattr(x, "dtype") else type(x).__name__
                raise TypeError(f"{path} is {what}: the unknowns are real numbers and arrays of them, in containers")
        self.shapes = [np.shape(x) for x in leaves]
        self.dtypes = [x.dtype if is_real(x) and hasattr(x, "dtype") else np.dtype(weak) for x in leaves]
        self.ends = [0, *accumulate([math.prod(shape) for shape in self.shapes])]
        self.size = self.ends[-1]
        self.dtype = np.result_type(np.float32, *self.dtypes)  # linear algebra has no half precision
        self.eps = max([float(np.finfo(dtype).eps) for dtype in self.dtypes])
        self.containers = pytree.tree_map(lambda x: None, tree)  # without the arrays: a layout may outlive the call
        if not self.size:
            raise InputError(f"{name} has no elements: there is nothing to find")

    def ravel(self, tree: object, what: str) -> Array:
        """A tree of these containers and shapes as a vector (n,). Raises InputError for others."""
        if not pytree.is_container(self.containers):
            tree = as_array(tree)
        if pytree.tree_paths(tree) != pytree.tree_paths(self.containers):
            own = pytree.tree_paths(tree, "it")
            raise InputError(f"{what} has the parts {own}, but {self.name} has {self.paths}: the same are needed")
        parts = [as_array(x) for x in pytree.tree_leaves(tree)]
        for x, shape, path in zip(parts, self.shapes, self.paths, strict=True):
            if np.shape(x) != shape:
                raise InputError(f"{what} has shape {np.shape(x)} where {path} has {shape}: the same shape is needed")
            if x.dtype.kind not in "fiub":
                raise TypeError(f"{what} is {x.dtype}: it has to be real")
        flat = [np.reshape(x, -1) if len(np.shape(x)) != 1 else x for x in parts]
        z = flat[0] if len(flat) == 1 else np.concatenate(flat)
        return z if z.dtype == self.dtype else z.astype(self.dtype)

    def unravel(self, x: Array) -> Any:
        """The tree with the numbers of a vector (n,)."""
        many = len(self.shapes) > 1
        parts = [x[a:b] if many else x for a, b in pairwise(self.ends)]
        arrays = [
            as_dtype(part if shape == part.shape else np.reshape(part, shape), dtype)
            for part, shape, dtype in zip(parts, self.shapes, self.dtypes, strict=True)
        ]
        return pytree.tree_unflatten(self.containers, iter(arrays))


def is_list_of_numbers(x: object) -> bool:
    """Is it a vector as SciPy's users write it, ``[1.0, 2.0]``? (A list of arrays is a container.)"""
    rows = x if isinstance(x, list) else []
    inside = [v for row in rows for v in (row if isinstance(row, list) and row else [row])]
    return bool(inside) and all([isinstance(v, (int, float)) for v in inside])


def weak_dtype(arrays: Sequence[Any]) -> np.dtype[Any]:
    """The dtype that Python numbers take beside these arrays: theirs, or float64 without arrays."""
    return np.result_type(*[x.dtype for x in arrays]) if arrays else np.dtype(np.float64)


def call_on_numbers(function: Callable[..., Array], arrays: Sequence[Array], name: str) -> Array:
    """``function(*arrays)`` for a function that needs numbers: of NumPy arrays at once; of arrays that hide a batch or
    are being compiled, as one call that their library makes. ``function`` returns one plain array."""
    values = [value_of(x) for x in arrays]
    if all([isinstance(x, (np.ndarray, np.generic)) for x in values]):
        return function(*values)
    ends = [0, *accumulate([x.size for x in values])]
    shapes, dtypes = [x.shape for x in values], [x.dtype for x in values]

    def call(packed: Array) -> Array:
        family = None if isinstance(packed, (np.ndarray, np.generic)) else family_of(packed)
        if family is not None:
            return family.call(call, packed)  # and again, where a batch is being compiled
        parts = [packed[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), shapes, strict=True)]
        return function(*[x.astype(dtype) for x, dtype in zip(parts, dtypes, strict=True)])

    module, _, call.__name__ = name.replace("af.", "autoflow.").rpartition(".")
    call.__module__, call.__qualname__ = module, call.__name__  # for messages that say what is called
    return call(np.concatenate([np.reshape(x, -1) for x in values]))


def refuse_outside(values: object, name: str) -> None:
    """Raise an error if a function of plain arrays returns something else: then it uses nodes or traced arrays that are
    not among its arguments, which would receive no gradient."""
    refuse_hidden(values, name, "theta")
    for x in map(value_of, pytree.tree_leaves(values)):
        if not isinstance(x, (np.ndarray, np.generic)) and not pytree.is_number(x):
            raise TypeError(f"{name} returned {type(x).__name__}: it returns numbers, arrays, or containers of them")
        if not isinstance(x, (np.ndarray, np.generic, int, float)):
            if (layer := layer_of(x)) is not None:
                layer.doubt(f"{name}, which uses an array that is not one of its arguments (pass it in theta),")
            raise CompileError(
                f"{name} uses an array of a surrounding af.compile that is not one of its arguments: pass it in theta, "
                f"as an array of floats"
            )


# ---------------------------------------------------------------- linear systems


NO_SCIPY = (
    "af.implicit solves large linear systems with SciPy, which is not installed: pip install scipy; or give a "
    "solver of your own, a function of (product, b)"
)
DENSE = 500  # by default, up to this many unknowns a matrix is made: 2 MB, and 10 ms to solve
# The modes in which a solver runs: on plain arrays alone, in full precision, and with trial steps that may give NaN.
ONE_AT_A_TIME: dict[str, Any] = {
    "recording": True, "depth": 0, "layer": None, "wrap_open_record": None, "listeners": (), "anomaly": False,
    "autocast": None, "safe_masking": False,
}  # fmt: skip


@dataclass(frozen=True)
class Solve:
    """How linear systems are solved.

    method : "auto", "dense", "cg", "gmres", or a function of (product, b) with product(v) = A v.
    tol : of the residual |A x − b| in units of |b|; None: eps to the power of 2/3 (4e-11 in float64).
    """

    method: Any = "auto"
    tol: float | None = None
    maxiter: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.method) and self.method not in ("auto", "dense", "cg", "gmres"):
            raise ValueError(f"a linear system is solved by 'auto', 'dense', 'cg', 'gmres' or a function of (product, "
                             f"b), not by {self.method!r}")  # fmt: skip

    def is_dense(self, n: int) -> bool:
        """Is a matrix made of n unknowns?"""
        return self.method == "dense" or (self.method == "auto" and n <= DENSE)

    def tolerance(self, dtype: Any) -> float:
        """For numbers of that dtype."""
        return float(np.finfo(dtype).eps) ** (2 / 3) if self.tol is None else self.tol


@dataclass(frozen=True)
class Operator:
    """A linear map of vectors (n,) that depends on arrays.

    at : of these arrays; returns the function that takes v to A v.
    name : for messages.
    check : of the product and b, before a solver uses it.
    """

    at: Callable[..., Callable[[Array], Array]]
    n: int
    dtype: Any
    how: Solve
    name: str
    check: Callable[[Callable[[Array], Array], Array], None] | None = None

    def transpose(self) -> Operator:
        """Aᵀ: its products are what the backward pass of v ↦ A v sends to v."""

        def at(*values: Array) -> Callable[[Array], Array]:
            _, pullback = vjp(self.at(*values), np.zeros(self.n, self.dtype), allow_unused=True)
            return lambda u: pullback(u)[0]

        return replace(self, at=at, check=None)

    def solve(self, b: Array, *values: Array) -> Array:
        """x with A x = b, recorded."""
        return Solution.apply(b, *values, system=self)

    def find(self, b: Array, *values: Array) -> Array:
        """The same with plain arrays, checked."""
        with switched(**ONE_AT_A_TIME):
            product = self.at(*values)
            if self.check is not None:
                self.check(product, b)
            return solve_by_products(lambda v: value_of(product(v)), b, self.how, self.name)

    def send_back(self, g: Array, x: Array, values: Sequence[Array]) -> tuple[Any, ...]:
        """The gradients of b and the values, given that of the solution x."""
        u, at = self.transpose().solve(g, *values), self.at  # a proof looks at the function
        return (u, *send_to_parameters(lambda *v: at(*v)(x), values, u))


class Solution(Function):
    """What ``system.find`` finds, and its derivative. system : an :class:`Operator` or an equation, which has the same
    methods; it depends on the arrays."""

    @staticmethod
    def forward(ctx: Any, first: Array, *arrays: Array, system: Any) -> Array:
        ctx.system = system
        x = call_on_numbers(system.find, [first, *arrays], system.name)
        ctx.save_for_backward(x, *arrays)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Array) -> tuple[Any, ...]:
        (x, *arrays), (g,) = ctx.saved_tensors, grads
        return ctx.system.send_back(g, x, arrays)


def send_to_parameters(residual: Callable[..., Array], values: Sequence[Array], u: Array) -> tuple[Any, ...]:
    """The gradient of θ if ``residual(θ)`` stays 0 at the solution: −uᵀ ∂F/∂θ."""
    if not values:
        return ()
    _, pullback = vjp(residual, *values, allow_unused=True)
    return tuple(pullback(-u))


def solve_by_products(product: Callable[[Array], Array], b: Array, how: Solve, name: str) -> Array:
    """x with A x = b, all plain. Raises ConvergenceError if it was not found."""
    n, size, tol = b.size, float(np.linalg.norm(b)), how.tolerance(b.dtype)
    if not size:
        return np.zeros_like(b)
    if callable(how.method):
        x = np.asarray(value_of(how.method(product, b)), b.dtype)
        if x.shape != b.shape:
            raise InputError(f"{name}: the linear solver returned shape {x.shape} for a system of shape {b.shape}")
    elif how.method == "dense":
        x = solve_dense(np.stack([product(e) for e in np.eye(n, dtype=b.dtype)], axis=1), b, name)
    else:
        sparse = load_package("scipy.sparse.linalg", NO_SCIPY)
        maxiter = 10 * n + 100 if how.maxiter is None else how.maxiter
        operator = sparse.LinearOperator((n, n), product, dtype=b.dtype)
        more: Any = {} if how.method == "cg" else {"restart": min(n, 100)}
        maxiter = maxiter if how.method == "cg" else -(-maxiter // more["restart"])
        with np.errstate(all="ignore"):
            solver = sparse.cg if how.method == "cg" else sparse.gmres
            x, _ = solver(operator, b, rtol=0.1 * tol, atol=0.0, maxiter=maxiter, **more)
        x = x.astype(b.dtype)
    with np.errstate(all="ignore"):
        off = float(np.linalg.norm(product(x) - b)) / size
    if not off <= 10 * tol:
        raise ConvergenceError(
            f"{name}: a linear system of {n} unknowns was not solved by "
            f"{getattr(how.method, '__name__', repr(how.method))}: the residual is {off:.2g} of the right side, "
            f"the tolerance {10 * tol:.2g}. Is it singular, or (for 'cg') not symmetric and "
            f"positive definite? For n up to some thousands 'dense' is exact."
        )
    return x


def solve_dense(a: Array, b: Array, name: str) -> Array:
    """a⁻¹ b, recorded. Raises LinAlgError with the reason if a is singular to rounding.

    Shapes: a (n, n), b (n,). In a batch, or while compiling, only NumPy checks the numbers.
    """
    if is_on_host(a) and is_singular(value_of(a)):
        raise np.linalg.LinAlgError(
            f"{name}: the matrix of its linear system, {a.shape[0]} × {a.shape[0]}, is singular or not finite. So "
            f"there is no solution, or more than one: is an equation given twice, or is the solution one of many?"
        )
    z: Any = np.linalg.solve(a, b)
    return z


def is_singular(a: Array) -> bool:
    """To rounding, after scaling rows and columns to at most 1."""
    if not np.isfinite(a).all():
        return True
    for axis in (1, 0):
        largest = np.abs(a).max(axis=axis, keepdims=True)
        if not largest.all():
            return True
        a = a / largest
    return len(a) > 1 and not np.linalg.cond(a, 1) < 1 / np.finfo(a.dtype).eps


def solve_transposed(residual: Callable[..., Array], x: Array, arrays: Any, g: Array, how: Solve, name: str) -> Array:
    """u with (∂F/∂x)ᵀ u = g, recorded: by the matrix, or by the products of F's backward pass."""
    if how.is_dense(x.size):
        a: Any = jacobian(residual, allow_unused=True)(x, *arrays)
        return solve_dense(a.mT, g, name)

    def at(x: Array, *values: Array) -> Callable[[Array], Array]:
        _, pullback = vjp(lambda x: residual(x, *values), x, allow_unused=True)
        return lambda u: pullback(u)[0]

    return Operator(at, x.size, x.dtype, how, name).solve(g, x, *arrays)


def linear_solve(
    matvec: AnyFunction, b: object, theta: object = None, *, solver: object = "gmres", tol: float | None = None,
    maxiter: int | None = None,
) -> Any:  # fmt: skip
    """x with A(θ) x = b, where A is given only by ``matvec(x, theta)``, which is A(θ) x. Gradients flow to b and θ.

    matvec : a linear function of x, written with NumPy. x and b are arrays of the same shape, or containers of them.
    theta : an array, a number or nested containers that A depends on. Without it, ``matvec(x)``.
    solver : "gmres"; "cg" for a symmetric positive definite A; "dense", which makes the matrix. The first two are
        SciPy's, the last is NumPy's. Or a function of (product, b), vectors of shape (n,), with product(v) = A v.
    tol : |A x − b| / |b| that is accepted; by default 4e-10 (float64) and 2e-4 (float32).
    maxiter : about the largest number of products; by default 10 n + 100.

    The backward pass solves the transposed system in the same way, with products by a vjp. There are derivatives of
    every order. b is real; x has its shapes and dtypes.

    Raises ConvergenceError if the residual stays larger; LinAlgError for a singular matrix with "dense"; InputError if
    matvec is not linear or returns another shape; LostGradientError if it uses other nodes than its arguments.

    >>> import autoflow as af
    >>> stiffness = lambda x, k: k * (2 * x - np.roll(x, 1) - np.roll(x, -1)) + x
    >>> k = af.Variable(2.0)
    >>> x = linear_solve(stiffness, np.array([1.0, 0.0, 0.0]), k, solver="dense")
    >>> x.sum().backward()  # each x is 1/3 of what the whole ring has, for every k
    >>> float(x.sum().round(9)), abs(float(k.grad)) < 1e-9
    (1.0, True)
    """
    name = "af.implicit.linear_solve"
    arrays, put = taken_apart(theta)
    layout = Layout(b, "b", weak_dtype(arrays))
    has_theta = theta is not None

    def at(*values: Array) -> Callable[[Array], Array]:
        args = (put(values),) if has_theta else ()
        return lambda v: layout.ravel(matvec(layout.unravel(v), *args), f"what matvec of {name} returns")

    def check(product: Callable[[Array], Array], b: Array) -> None:
        zero = product(np.zeros(layout.size, layout.dtype))
        refuse_outside(zero, f"matvec of {name}")
        if np.any(value_of(zero)):
            raise InputError(
                f"matvec of {name} is not linear: for zeros it does not return zeros. Terms that do not depend on x "
                f"belong to the other side, in b"
            )
        once, turned = [value_of(product(t * b)) for t in (1, -2)]
        if np.any(np.abs(turned + 2 * once) > layout.eps**0.5 * np.max(np.abs(once))):
            raise InputError(f"matvec of {name} is not linear: for −2 b it does not return −2 times its result for b")

    how = Solve("gmres" if solver == "auto" else solver, tol, maxiter)
    operator = Operator(at, layout.size, layout.dtype, how, name, check)
    right = layout.ravel(b, "b")
    z = operator.solve(right, *arrays)
    return layout.unravel(z if any([isinstance(x, NodeRole) for x in (right, *arrays)]) else value_of(z))
