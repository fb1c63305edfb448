"""For checkers of types only: Python finds the module :mod:`autoflow.scipy.special`, as ``base/lazy.py`` says."""

from .scipy.special import *  # noqa: F403
