"""scipy.integrate for nodes, which SciPy's own functions would not record. Reading order:

odes.py         odeint and solve_ivp: the adjoint equation; events, and the solution between the steps
quadrature.py   areas under functions (quad, fixed_quad) and under samples (trapezoid, simpson)

How arguments in lists and dicts are taken apart is in ``autoflow/implicit/problems.py``.
"""

from ...base.lazy import publish
from .odes import odeint, solve_ivp
from .quadrature import cumulative_trapezoid, fixed_quad, quad, simpson, trapezoid

__all__ = ["cumulative_trapezoid", "fixed_quad", "odeint", "quad", "simpson", "solve_ivp", "trapezoid"]
publish(globals(), __all__)
