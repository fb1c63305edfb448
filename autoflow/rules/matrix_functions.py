"""Functions of a matrix in SciPy's sense: e^x, √x, log x, x^t, for ``autoflow.linalg``.

The derivative of a matrix function f in the direction e is not a product but the linear map e ↦ df of N. J. Higham,
"Functions of Matrices", 2008, chapter 3 (there: the Fréchet derivative). Backwards it is the same map at xᵀ.

For the exponential, which has no branch cut, df is a corner of e^[x e; 0 x]. That block matrix has each eigenvalue
twice. At a branch cut, rounding may put the two copies of an eigenvalue on different sides, so √, log and powers start
from the *result* z instead, whose branch is settled:

    √      z z = x, so z dz + dz z = dx: a Sylvester equation.
    log    x^(1/2ᵏ) = e^(z/2ᵏ): k Sylvester equations lead to a root r near 1, where
           d log r = ∫ (1 + t (r − 1))⁻¹ dr (1 + t (r − 1))⁻¹ dt from 0 to 1 has no cut nearby.
    x^t    = e^(t log x), by the chain rule.

These hold for repeated, defective, negative and complex eigenvalues. Where two eigenvalues of √x add up to 0 (x has the
eigenvalue 0 twice, or −1 with both of its roots) the derivative does not exist: NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import NoRuleError
from ..base.lazy import load_package
from ..table.shapes import Array, like_argument, numbers_of
from ..table.table import kernel, rule
from ..table.vjps import adjoint

if TYPE_CHECKING:
    from ..nodes.nodes import Node

_X, _W = np.polynomial.legendre.leggauss(8)
NODES, WEIGHTS = ((_X + 1) / 2).tolist(), (_W / 2).tolist()  # on (0, 1)
NEAR = 0.25  # how far log r may be from 0 for that integral: 8 points then give 16 digits


def scipy_linalg(*arrays: Array) -> tuple[Any, list[Array]]:
    """scipy.linalg, imported when it is needed, and the operands in a precision that it takes.

    LAPACK computes in single and double precision. Half precision becomes single here: SciPy has always returned that,
    but from 1.18 on the caller has to cast. With long double some of SciPy's functions round, and some fail.
    """
    if any([x.dtype.char in "gG" for x in arrays]):
        raise TypeError("scipy.linalg computes in single and double precision: use x.astype(np.float64)")
    if arrays[0].ndim < 2:  # of numbers some SciPy functions make matrices, and sqrtm anything
        raise NoRuleError("scipy.linalg of a node takes matrices: use np.atleast_2d(x)")
    scipy = load_package("scipy.linalg", "af.linalg computes with SciPy, which is not installed: pip install scipy")
    return scipy, [x.astype(np.float32) if x.dtype == np.float16 else x for x in arrays]


@kernel
def expm(A: Array) -> Node:  # noqa: N803 - SciPy's name
    """The exponential of a matrix, 1 + A + A²/2 + ..., or of every matrix of a stack.

    >>> import autoflow as af
    >>> from autoflow import linalg
    >>> x = af.Variable([[0.0, 1.0], [0.0, 0.0]])
    >>> linalg.expm(x).backward()
    >>> x.grad
    array([[1.5       , 1.        ],
           [2.16666667, 1.5       ]])
    """
    scipy, (A,) = scipy_linalg(A)  # noqa: N806
    return scipy.expm(A)


@kernel
def sqrtm(A: Array) -> Node:  # noqa: N803
    """The square root of a matrix, z z = A; complex if A has negative eigenvalues. NaN may come back for a singular A.

    >>> from autoflow import linalg
    >>> linalg.sqrtm(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    scipy, (A,) = scipy_linalg(A)  # noqa: N806
    return scipy.sqrtm(A)


@kernel
def logm(A: Array) -> Node:  # noqa: N803
    """The principal logarithm of a matrix, e^z = A; complex if A has negative eigenvalues. A must not be singular.

    >>> from autoflow import linalg
    >>> linalg.logm(linalg.expm(np.array([[0.5, 1.0], [0.0, 0.25]]))).round(6)
    array([[0.5 , 1.  ],
           [0.  , 0.25]])
    """
    scipy, (A,) = scipy_linalg(A)  # noqa: N806
    return each(lambda a: rounded_once(scipy.logm, a), A)


@kernel
def power(x: Array, t: Array) -> Array:
    """scipy.linalg.fractional_matrix_power."""
    scipy, (x,) = scipy_linalg(x)
    return each(lambda a: rounded_once(lambda b: scipy.fractional_matrix_power(b, float(t)), a), x)


def rounded_once(function: Any, x: Array) -> Array:
    """The function in double precision, rounded once: in single precision SciPy loses half of the digits, and warns."""
    if x.dtype.char not in "fF":
        return function(x)
    z = function(x.astype(np.result_type(x, np.float64)))
    return z.astype(np.complex64 if z.dtype.kind == "c" else np.float32)


def each(function: Any, x: Array) -> Array:
    """The function applied to every matrix of a stack."""
    if x.ndim < 3:
        return function(x)
    results = [function(x[i]) for i in np.ndindex(x.shape[:-2])]
    return np.stack(results).reshape(x.shape) if results else x


@kernel
def sylvester(a: Array, b: Array, q: Array) -> Array:
    """The x with a x + x b = q, also for stacks of one shape; NaN where none of a's eigenvalues may be added to b's."""
    scipy, operands = scipy_linalg(*[np.asarray(x, np.result_type(a, b, q)) for x in (a, b, q)])
    z = np.empty_like(operands[2])
    for i in np.ndindex(z.shape[:-2]):
        a, b, q = [x[i] for x in operands]
        sums = np.abs(np.linalg.eigvals(a)[:, None] + np.linalg.eigvals(b))
        singular = sums.size and np.min(sums) <= len(a) * np.finfo(z.dtype).eps * np.max(sums)
        z[i] = np.nan if singular or not np.isfinite(q).all() else scipy.solve_sylvester(a, b, q)
    return z


def sylvester_q(g: Array, a: Array, b: Array) -> Array:
    """The adjoint equation, aᴴ y + y bᴴ = g: dL/dq = y, dL/da = -y xᴴ, dL/db = -xᴴ y."""
    return sylvester(adjoint(a), adjoint(b), g)


def expm_slope(g: Array, x: Array) -> Array:
    """The derivative of eˣ at x in direction g, forwards and backwards; R. Mathias, "A chain rule for matrix functions
    and applications", 1996. g is scaled to the size of x: for a large g, eˣ would be computed from a tiny x/2ᵏ."""
    n = x.shape[-1]
    size = largest(g) / np.maximum(largest(x), 1)
    size = np.where(size > 0, size, 1)
    upper, lower = np.concatenate([x, g / size], axis=-1), np.concatenate([0 * x, x], axis=-1)
    return size * expm(np.concatenate([upper, lower], axis=-2))[..., :n, n:]


def largest(x: Array) -> Array:
    """The largest absolute value in every matrix: (..., 1, 1), plain."""
    return np.max(np.abs(numbers_of(x)), axis=(-2, -1), keepdims=True, initial=0.0)


def logm_slope(g: Array, z: Array) -> Array:
    """dz for e^z = x in direction dx = g."""
    norm = float(np.max(np.sum(np.abs(numbers_of(z)), axis=-2), initial=0.0))
    halvings = 0 if not norm > NEAR or norm == np.inf else int(np.ceil(np.log2(norm / NEAR)))
    roots = [expm(z / 2**k) for k in range(1, halvings + 1)]
    for root in roots:
        g = sylvester(root, root, g)
    eye = np.identity(z.shape[-1], z.dtype, like=like_argument(z))
    far = (roots[-1] if roots else expm(z)) - eye
    total: Any = 0.0
    for t, weight in zip(NODES, WEIGHTS, strict=True):
        inverse = np.linalg.inv(eye + t * far)
        total = total + weight * (inverse @ g @ inverse)
    return 2**halvings * total


def power_x(g: Array, x: Array, t: Array) -> Array:
    """x^t = e^(t log x), backwards: at the transposed matrices, starting with the exponential."""
    log = logm(x.mT)
    return t * logm_slope(expm_slope(g, t * log), log)


# fmt: off
rule(expm, "x", "expm", r"e^{$x}", x=lambda g, x: expm_slope(g, x.mT), domain=(-1.0, 1.0))
rule(sqrtm, "x", "sqrtm", r"$x^{1/2}", x=lambda g, z: sylvester(z.mT, z.mT, g))
rule(logm, "x", "logm", r"\log $x", x=lambda g, z: logm_slope(g, z.mT))
rule(power, "x t", "x^t", r"{$x}^{$t}", x=power_x, t=lambda g, x, z: np.sum(g * (logm(x) @ z)),
     name="fractional_matrix_power", precedence=4, domain=(0.3, 0.8))
rule(sylvester, "a b q", "sylvester", r"\operatorname{sylvester}($a, $b, $q)", domain=(-1.0, 1.0), holomorphic=False,
     q=sylvester_q, a=lambda g, a, b, z: -sylvester_q(g, a, b) @ adjoint(z),
     b=lambda g, a, b, z: -adjoint(z) @ sylvester_q(g, a, b))
# fmt: on
