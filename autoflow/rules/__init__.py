"""The table of derivatives. Importing this package fills it: one module for each family of functions.

    arithmetic.py      operators and powers; exp, sin, tanh ...; maximum, clip, sign; parts of a floating-point number
    reductions.py      sums, means, products; max and min; the same without NaN
    ordering.py        sort, unique; histograms of weights
    statistics.py      averages, covariance; median, percentile
    calculus.py        diff, gradient, trapezoid, interp, convolve; np.emath
    fourier.py         np.fft
    polynomials.py     vectors of coefficients
    structure.py       reshape, transpose, diagonals; pad
    joining.py         concatenate, split, repeat
    building.py        select, insert, linspace
    linalg.py          matmul, einsum, kron; powers; norms
    solving.py         inv, solve, det; least squares; eigenvalues, singular values, QR
    variants.py        np.add.reduce, .outer ...; calls that a row does not cover: where= of ufuncs, std(x, mean=m)

Read when the first function of SciPy meets a node: special.py, bessel.py, distributions.py; with ``autoflow.linalg``:
matrix_functions.py, e^x and √x of matrices. How a row is written is in ``autoflow/table/``: begin with ``table.py``.
"""

from ..table import indexing
from ..table.table import RULES, Example, Rule, kernel, of, primitive, rule
from . import (
    arithmetic,
    building,
    calculus,
    fourier,
    joining,
    linalg,
    ordering,
    polynomials,
    reductions,
    solving,
    statistics,
    structure,
    variants,
)

__all__ = [
    "RULES", "Example", "Rule", "arithmetic", "building", "calculus", "fourier", "indexing", "joining", "kernel",
    "linalg", "of", "ordering", "polynomials", "primitive", "reductions", "rule", "solving", "statistics", "structure",
    "variants",
]  # fmt: skip
