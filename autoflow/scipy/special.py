"""scipy.special for nodes: the functions that do not ask a node.

Most of SciPy's special functions are ufuncs, which take nodes under their own names: ``scipy.special.erf(x)``. Some
are written in Python and turn a node into plain numbers without asking it, or copy the numbers halfway. Those are here,
with SciPy's names, arguments and values.

    from autoflow import special
    special.logsumexp(x, axis=1), special.softmax(x), special.polygamma(1, x), special.spherical_jn(2, x)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ..base.errors import NoRuleError
from ..rules.arithmetic import exp_above
from ..rules.variants import share_of_logsumexp
from ..table.shapes import Array, Axis, as_array, numbers_of, restore_axes, sum_to
from ..table.table import COMPOSED, kernel, rule
from .bodies import COPIES, of_list
from .mirrors import mirrored

try:
    from scipy import special as scipy_special
except ImportError as error:
    raise ImportError("af.special computes with SciPy, which is not installed: pip install scipy") from error
from ..rules import bessel as bessel

if TYPE_CHECKING:
    from ..nodes.nodes import Node

__all__ = [  # noqa: F822 - most of them are SciPy's own bodies
    "diric", "factorial", "lambertw", "log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax",
    "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn",
]  # fmt: skip

# ---------------------------------------------------------------- sums of exponentials


@kernel
def sum_of_exponentials(x: Array, b: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """``scipy.special.logsumexp``."""
    return scipy_special.logsumexp(x, axis=axis, b=b, keepdims=keepdims)


def exponentials_x(g: Array, x: Array, b: Array, z: Array, axis: Axis, keepdims: bool) -> Array:
    """z = log Σ b eˣ, so dz/dx = b eˣ / Σ b eˣ. Without weights it is the softmax: :func:`share_of_logsumexp`."""
    if b is None:
        return share_of_logsumexp(g, x, z, axis, keepdims, np.exp, None)
    slope, masked = slope_in_weight(g, x, b, z, axis, keepdims)
    return sum_to(np.where(masked, 0, slope) * b, x.shape)


def exponentials_b(g: Array, x: Array, b: Array, z: Array, axis: Axis, keepdims: bool) -> Array:
    """dz/db = eˣ / Σ b eˣ."""
    return sum_to(slope_in_weight(g, x, b, z, axis, keepdims)[0], b.shape)


def slope_in_weight(g: Array, x: Array, b: Array, z: Array, axis: Axis, keepdims: bool) -> tuple[Array, Array]:
    """g eˣ / Σ b eˣ for each element; and where eˣ is infinite and b is 0, so that their product would be NaN."""
    shape = np.broadcast_shapes(x.shape, b.shape)
    e = exp_above(x, restore_axes(z, shape, axis, keepdims), np.exp)
    masked = (numbers_of(b) == 0) & (numbers_of(e) == np.inf)
    total = np.sum(np.where(masked, 0, e) * b, axis, keepdims=True)
    return restore_axes(g, shape, axis, keepdims) / total * e, masked


rule(sum_of_exponentials, "x b=None | axis=None keepdims=False", "logΣexp", r"\log \sum e^{$x}", name="logsumexp",
     x=exponentials_x, b=exponentials_b, domain=(0.2, 2.0))  # fmt: skip


@overload
def logsumexp(
    a: Array, axis: Axis = None, b: Array = None, keepdims: bool = False, return_sign: Literal[False] = False
) -> Node: ...
@overload
def logsumexp(
    a: Array, axis: Axis = None, b: Array = None, keepdims: bool = False, *, return_sign: Literal[True]
) -> tuple[Node, np.ndarray]: ...
def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Node | tuple[Node, np.ndarray]:
    """log Σ b eᵃ, which does not overflow. Shapes: as for a sum of ``a``; ``b`` broadcasts. ``return_sign``: the pair
    of log |Σ b eᵃ| and the sign of the sum, for real numbers.

    >>> import autoflow as af
    >>> from autoflow import special
    >>> x = af.Variable([1000.0, 1000.0])
    >>> special.logsumexp(x).backward()
    >>> x.grad
    array([0.5, 0.5])
    """
    a, b = as_array(a), None if b is None else as_array(b)
    if not return_sign:
        return sum_of_exponentials(a, b, axis, keepdims)
    if "c" in (a.dtype.kind, getattr(b, "dtype", a.dtype).kind):
        raise NoRuleError("af.special.logsumexp of complex nodes does not take return_sign: the sign has a derivative")
    plain = None if b is None else numbers_of(b)
    _, sign = scipy_special.logsumexp(numbers_of(a), axis=axis, b=plain, keepdims=True, return_sign=True)
    z = sum_of_exponentials(a, sign if b is None else b * sign, axis, keepdims)
    return z, np.reshape(sign, z.shape)


# ---------------------------------------------------------------- others

COPIES[id(scipy_special.gammaln)] = of_list(scipy_special.gammaln)  # multigammaln's
COPIES |= {
    id(f): COMPOSED[f] for f in [getattr(scipy_special, f"spherical_{kind}") for kind in ("jn", "yn", "in", "kn")]
}
__getattr__, __dir__ = mirrored(globals(), __all__)
