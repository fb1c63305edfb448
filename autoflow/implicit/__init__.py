"""Solutions of equations, and how they change with the parameters of the equations. Reading order:

vectors.py      unknowns in containers as one vector; a search as one call
linear.py       linear systems, by a matrix or by products alone: linear_solve
equations.py    the implicit function theorem
solvers.py      Newton, Anderson, and the solvers that users bring
points.py       root and fixed_point
minimizer.py    scipy.optimize.minimize with gradients, Hessian products and trees: af.minimize
optima.py       argmin, also with equality constraints
"""

from ..base.lazy import publish
from .linear import linear_solve
from .optima import argmin, fixed_point, root

__all__ = ["argmin", "fixed_point", "linear_solve", "root"]
publish(globals(), __all__)
