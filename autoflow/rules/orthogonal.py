"""Orthogonal polynomials: the derivative of one of degree n is one of another family, of degree n − 1 (DLMF 18.9).

All of them come from two: those of Gegenbauer, C' = 2α C⁽ᵅ⁺¹⁾, and of Jacobi. So the derivative is right at the ends ±1
too, where formulas with a division by 1 − x² are not. Degree and parameters are options; the degree may be a fraction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .parameters import with_parameters

Array = Any


def lower(polynomial: Any, n: Any, *rest: Any) -> Array:
    """The polynomial of degree n − 1, and 0 where there is none."""
    n = np.asarray(n)
    return np.where(n == 0, 0, polynomial(np.where(n == 0, 0, n - 1), *rest))


def gegenbauer(n: Any, alpha: Any, x: Array) -> Array:
    """C_{n−1} with the parameter α: what most derivatives below are."""
    return lower(special.eval_gegenbauer, n, alpha, x)


# fmt: off
RANGE = (-0.9, 0.9)
with_parameters(special.eval_legendre, "x | n", "P", r"P_{$n}\left($x\right)",
     x=lambda g, x, n: g * gegenbauer(n, 1.5, x),                  domain=RANGE)
with_parameters(special.eval_chebyt,   "x | n", "T", r"T_{$n}\left($x\right)",
     x=lambda g, x, n: g * (n * lower(special.eval_chebyu, n, x)), domain=RANGE)
with_parameters(special.eval_chebyu,   "x | n", "U", r"U_{$n}\left($x\right)",
     x=lambda g, x, n: g * (2 * gegenbauer(n, 2.0, x)),            domain=RANGE)
with_parameters(special.eval_chebyc,   "x | n", "C", r"C_{$n}\left($x\right)",
     x=lambda g, x, n: g * (n * lower(special.eval_chebys, n, x)), domain=RANGE)
with_parameters(special.eval_chebys,   "x | n", "S", r"S_{$n}\left($x\right)",
     x=lambda g, x, n: g * gegenbauer(n, 2.0, x / 2),              domain=RANGE)
with_parameters(special.eval_sh_legendre, "x | n", "P*", r"P^*_{$n}\left($x\right)",
     x=lambda g, x, n: g * (2 * gegenbauer(n, 1.5, 2 * x - 1)),           domain=(0.1, 0.9))
with_parameters(special.eval_sh_chebyt,   "x | n", "T*", r"T^*_{$n}\left($x\right)",
     x=lambda g, x, n: g * (2 * n * lower(special.eval_sh_chebyu, n, x)), domain=(0.1, 0.9))
with_parameters(special.eval_sh_chebyu,   "x | n", "U*", r"U^*_{$n}\left($x\right)",
     x=lambda g, x, n: g * (4 * gegenbauer(n, 2.0, 2 * x - 1)),           domain=(0.1, 0.9))
with_parameters(special.eval_gegenbauer, "x | n alpha", "C", r"C^{($alpha)}_{$n}\left($x\right)",
     x=lambda g, x, n, alpha: g * (2 * alpha * gegenbauer(n, alpha + 1, x)), domain=RANGE)
with_parameters(special.eval_jacobi, "x | n a b", "P", r"P^{($a, $b)}_{$n}\left($x\right)",
     x=lambda g, x, n, a, b: g * ((n + a + b + 1) / 2 * lower(special.eval_jacobi, n, a + 1, b + 1, x)), domain=RANGE)
with_parameters(special.eval_sh_jacobi, "x | n p q", "G", r"G^{($p, $q)}_{$n}\left($x\right)",
     x=lambda g, x, n, p, q: g * ((n + p) * lower(special.eval_jacobi, n, p - q + 1, q, 2 * x - 1)
                                  / special.binom(2 * n + p - 1, n)), domain=(0.1, 0.9))
with_parameters(special.eval_laguerre,    "x | n", "L", r"L_{$n}\left($x\right)",
     x=lambda g, x, n: g * -lower(special.eval_genlaguerre, n, 1.0, x))
with_parameters(special.eval_genlaguerre, "x | n alpha", "L", r"L^{($alpha)}_{$n}\left($x\right)",
     x=lambda g, x, n, alpha: g * -lower(special.eval_genlaguerre, n, alpha + 1, x))
with_parameters(special.eval_hermite,     "x | n", "H",  r"H_{$n}\left($x\right)",
     x=lambda g, x, n: g * (2 * n * lower(special.eval_hermite, n, x)))
with_parameters(special.eval_hermitenorm, "x | n", "He", r"He_{$n}\left($x\right)",
     x=lambda g, x, n: g * (n * lower(special.eval_hermitenorm, n, x)))
# fmt: on
