"""For checkers of types only: Python finds the module :mod:`autoflow.scipy.signal`, as ``base/lazy.py`` says."""

from .scipy.signal import *  # noqa: F403
