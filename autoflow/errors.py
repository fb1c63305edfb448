"""``autoflow.errors``: everything that can go wrong, in :mod:`autoflow.base.errors`, which is the same module."""

import sys

from .base import errors
from .base.errors import *  # noqa: F403 - for checkers of types

sys.modules[__name__] = errors
