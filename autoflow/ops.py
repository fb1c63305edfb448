"""For checkers of types only: Python finds the module :mod:`autoflow.extending.ops`, as ``base/lazy.py`` says."""

from .extending.ops import *  # noqa: F403
from .extending.ops import __getattr__ as __getattr__
