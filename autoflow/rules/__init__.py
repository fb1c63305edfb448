"""The table of derivatives. Importing this package fills it: one module per family of functions."""

from . import arithmetic, comparing, elementary, indexing, joining, linalg, reductions, structure
from .table import RULES, Example, Rule, of, primitive, rule

__all__ = ["RULES", "Example", "Rule", "arithmetic", "comparing", "elementary", "indexing", "joining", "linalg", "of",
           "primitive", "reductions", "rule", "structure"]  # fmt: skip
