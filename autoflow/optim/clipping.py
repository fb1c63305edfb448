"""Gradients that are too large, made smaller in place: between ``backward()`` and ``step()``."""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any

import numpy as np

from ..errors import AnomalyError
from ..nodes.nodes import value_of
from ..rules.shapes import is_on_host
from .base import not_negative, variables

Array = Any


def clip_grad_value(parameters: Any, bound: float) -> None:
    """Limit every element of every gradient to −bound ... bound.

    >>> w = af.Variable([1.0, 2.0])
    >>> w.grad = np.array([5.0, -0.5])
    >>> clip_grad_value([w], 1.0)
    >>> w.grad
    array([ 1. , -0.5])
    """
    bound = not_negative("clip_grad_value", "bound", bound)
    grads = [value_of(p.grad) for p in variables(parameters) if p.grad is not None]
    clipped = [np.clip(g, -bound, bound) for g in grads]
    list(map(np.copyto, grads, clipped))  # one call in C: Ctrl-C leaves all of them or none


def clip_grad_norm(parameters: Any, max_norm: float) -> float:
    """Multiply all gradients by one number, so that their norm, as one long vector, is at most ``max_norm``.

    The direction stays. Returns the norm that they had. Raises AnomalyError, and changes nothing, if that is not
    finite. On a GPU no value is read: the norm is a 0-d array there, and if it is not finite, all gradients become NaN.
    Source: Pascanu, Mikolov and Bengio, ICML 2013.

    >>> w = af.Variable([1.0, 2.0])
    >>> w.grad = np.array([3.0, 4.0])
    >>> clip_grad_norm([w], 1.0)
    5.0
    >>> w.grad.round(3)
    array([0.6, 0.8])
    """
    max_norm = not_negative("clip_grad_norm", "max_norm", max_norm)
    found = [(p, value_of(p.grad)) for p in variables(parameters) if p.grad is not None]
    if not all([is_on_host(g) for _, g in found]):
        return _clipped_there([g for _, g in found], max_norm)
    total = math.hypot(*[float(np.linalg.norm(g)) for _, g in found])
    if not math.isfinite(total):
        wrong = [p.name for p, g in found if not np.isfinite(g).all()]
        raise AnomalyError(f"clip_grad_norm: gradients with NaN or infinity, nothing was changed: {', '.join(wrong)}")
    if total + 1e-6 > max_norm:
        grads = [g for _, g in found]
        factor = max_norm / (total + 1e-6)  # the 1e-6 is PyTorch's
        list(map(np.multiply, grads, repeat(factor), grads))
    return total


def _clipped_there(grads: list[Array], max_norm: float) -> Array:
    """The same without bringing a number to the host."""
    total = np.sqrt(sum([np.sum(np.square(np.abs(g))) for g in grads]))
    factor = np.minimum(max_norm / (total + 1e-6), 1.0)
    list(map(np.multiply, grads, [factor.astype(g.dtype) for g in grads], grads))
    return total
