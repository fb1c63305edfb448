"""For checkers of types only: Python finds the module :mod:`autoflow.nn.train`, as ``base/lazy.py`` says."""

from .nn.train import *  # noqa: F403
