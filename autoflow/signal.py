"""``autoflow.signal`` is the module :mod:`autoflow.scipy.signal`: convolution. Python finds it there (``base/lazy.py``), checkers
of types read this file."""

from .scipy.signal import *  # noqa: F403
