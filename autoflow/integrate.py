"""For checkers of types only: Python finds the module :mod:`autoflow.scipy.integrate`, as ``base/lazy.py`` says."""

from .scipy.integrate import *  # noqa: F403
