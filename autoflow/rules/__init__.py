"""The table of derivatives. Importing this package fills it: one module per family of functions."""

from . import (
    arithmetic,
    building,
    calculus,
    comparing,
    counting,
    decompositions,
    elementary,
    floats,
    fourier,
    indexing,
    joining,
    leastsquares,
    linalg,
    matrices,
    nans,
    norms,
    ordering,
    padding,
    polynomials,
    reductions,
    scimath,
    solving,
    statistics,
    structure,
    ufuncs,
)
from .table import RULES, Example, Rule, of, primitive, rule

__all__ = ["RULES", "Example", "Rule", "arithmetic", "building", "calculus", "comparing", "counting",
           "decompositions", "elementary", "floats", "fourier", "indexing", "joining", "leastsquares", "linalg",
           "matrices", "nans", "norms", "of", "ordering", "padding", "polynomials", "primitive", "reductions", "rule",
           "scimath", "solving", "statistics", "structure", "ufuncs"]  # fmt: skip
