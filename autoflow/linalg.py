"""``autoflow.linalg`` is the module :mod:`autoflow.scipy.linalg`: linear algebra. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .scipy.linalg import *  # noqa: F403
