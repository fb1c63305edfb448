"""``autoflow.special`` is the module :mod:`autoflow.scipy.special`: special functions. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .scipy.special import *  # noqa: F403
