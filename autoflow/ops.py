"""``autoflow.ops``: operations by name, in :mod:`autoflow.extending.ops`, which is the same module."""

import sys

from .extending import ops
from .extending.ops import *  # noqa: F403 - for checkers of types

sys.modules[__name__] = ops
