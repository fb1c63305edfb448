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
from .base import Optimiser
from .optimisers import LBFGS, SGD, Adagrad, Adam, AdamW, RMSprop
from .schedules import (
    Accumulation,
    Schedule,
    clip_grad_norm,
    clip_grad_value,
    cosine,
    inverse_square_root,
    linear,
    step_decay,
    warm_up,
)

__all__ = [
    "LBFGS", "SGD", "Accumulation", "Adagrad", "Adam", "AdamW", "Optimiser", "RMSprop", "Schedule", "clip_grad_norm",
    "clip_grad_value", "cosine", "inverse_square_root", "linear", "step_decay", "warm_up",
]  # fmt: skip
publish(globals(), __all__)
