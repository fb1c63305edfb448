"""``autoflow.train``: the training loop, in :mod:`autoflow.nn.train`, which is the same module."""

import sys

from .nn import train
from .nn.train import *  # noqa: F403 - for checkers of types

sys.modules[__name__] = train
