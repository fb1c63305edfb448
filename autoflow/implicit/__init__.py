"""Solutions of equations, and how they change with the parameters of the equations. Reading order:

equations.py  the implicit function theorem; Newton, Anderson, and the solvers that users bring
linear.py     arguments in containers, as arrays and as one vector; other nodes that a function uses are refused;
              linear systems, by a matrix or by products alone: linear_solve
optima.py     root and fixed_point; argmin, also with equality constraints; af.minimize, by scipy.optimize
"""

from ..base.lazy import publish
from .linear import linear_solve
from .optima import argmin, fixed_point, root

__all__ = ["argmin", "fixed_point", "linear_solve", "root"]
publish(globals(), __all__)
