"""For checkers of types only: Python finds the module :mod:`autoflow.scipy.stats`, as ``base/lazy.py`` says."""

from .scipy.stats import *  # noqa: F403
