"""``autoflow.integrate`` is the module :mod:`autoflow.scipy.integrate`: differential equations and integrals. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .scipy.integrate import *  # noqa: F403
