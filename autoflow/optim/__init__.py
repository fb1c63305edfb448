"""Optimisers: small steps down the gradient.

    base.py        Optimiser: what all of them share, and how a step stays safe
    optimisers.py  SGD, Adagrad, RMSprop, Adam, AdamW: an update rule each; LBFGS, whose step takes a closure
    schedules.py   the size of the steps over time; gradients of several batches; gradients that are too large

>>> from autoflow import optim
>>> w = af.Variable([1.0, -2.0], name="w")
>>> sgd = optim.SGD([w], lr=0.1)
>>> for _ in range(50):
...     (w * w).sum().backward()
...     sgd.step()
...     sgd.zero_grad()
>>> bool(np.all(np.abs(w.value) < 1e-4))
True
"""

from ..base.lazy import publish
from . import base, optimisers, schedules
from .base import *  # noqa: F403 - the names in its __all__
from .optimisers import *  # noqa: F403
from .schedules import *  # noqa: F403

__all__ = [*base.__all__, *optimisers.__all__, *schedules.__all__]
publish(globals(), __all__)
