"""For checkers of types only: Python finds the module :mod:`autoflow.scipy.linalg`, as ``base/lazy.py`` says."""

from .scipy.linalg import *  # noqa: F403
