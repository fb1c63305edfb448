"""For checkers of types only: Python finds the module :mod:`autoflow.base.errors`, as ``base/lazy.py`` says."""

from .base.errors import *  # noqa: F403
