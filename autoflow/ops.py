"""``autoflow.ops`` is the module :mod:`autoflow.extending.ops`: operations by name. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .extending.ops import *  # noqa: F403
from .extending.ops import __getattr__ as __getattr__
