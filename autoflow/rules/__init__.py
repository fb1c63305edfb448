"""The table of derivatives. Importing this package fills it: one module per family of functions.

    table.py          how a row is written, and run; vjps.py: its derivatives by position; shapes.py: shared helpers;
                      kernels.py: those that are there for speed; lists.py: lists in place of arrays
    arithmetic.py     operators, powers; elementary.py: exp, sin, tanh ...; comparing.py: maximum, clip, sign
    floats.py         the parts of a floating-point number
    scimath.py        np.emath: complex answers where real ones have none
    reductions.py     sums, means, products; extremes.py: max, min; nans.py: the same without NaN; ufuncs.py:
                      np.add.reduce, .outer ...
    ordering.py       sort, unique; quantiles.py: median, percentile
    statistics.py     averages, covariance; counting.py: histograms of weights
    calculus.py       diff, gradient, trapezoid, interp, convolve; fourier.py; polynomials.py
    structure.py      reshape, transpose, diagonals; indexing.py: x[i]
    joining.py        concatenate, split, repeat; building.py: select, insert, linspace; padding.py
    linalg.py         matmul, einsum; matrices.py; solving.py: inv, solve, det; norms.py; leastsquares.py
    variants.py       calls that a row does not cover: where= of ufuncs, std(x, mean=m)
    decompositions.py eigenvalues, singular values, QR; packed.py: functions with several results

Read when the first function of SciPy meets a node: special.py, with parameters.py (how its rows are written),
bessel.py, elliptic.py, orthogonal.py, distributions.py with incomplete.py; with autoflow.linalg: matrix_functions.py,
e^x and √x of matrices. And outside.py is about NumPy's functions that have no row,
versions.py about what differs between the versions of NumPy.
"""

from ..table import indexing
from ..table.table import RULES, Example, Rule, of, primitive, rule
from . import (
    arithmetic,
    building,
    calculus,
    decompositions,
    fourier,
    joining,
    linalg,
    matrices,
    ordering,
    polynomials,
    reductions,
    solving,
    statistics,
    structure,
    ufuncs,
    variants,
)

__all__ = ["RULES", "Example", "Rule", "arithmetic", "building", "calculus", "comparing", "counting",
           "decompositions", "elementary", "extremes", "floats", "fourier", "indexing", "joining", "leastsquares",
           "linalg", "matrices", "nans", "norms", "of", "ordering", "padding", "polynomials", "primitive", "quantiles",
           "reductions", "rule", "scimath", "solving", "statistics", "structure", "ufuncs", "variants"]  # fmt: skip
