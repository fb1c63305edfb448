"""``autoflow.errors`` is the module :mod:`autoflow.base.errors`: everything that can go wrong. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .base.errors import *  # noqa: F403
