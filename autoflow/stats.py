"""``autoflow.stats`` is the module :mod:`autoflow.scipy.stats`: distributions. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .scipy.stats import *  # noqa: F403
