"""``autoflow.train`` is the module :mod:`autoflow.nn.train`: the training loop. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .nn.train import *  # noqa: F403
