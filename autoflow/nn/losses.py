"""Losses: how far predictions are from targets, as one number (``reduction="mean"`` or ``"sum"``) or many (``"none"``).

Names, formulas and reductions are PyTorch's. Predictions and targets have the same shape; they are not broadcast,
because (n, 1) against (n,) would silently compare everything with everything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.errors import DataError, InputError
from ..base.modes import modes
from ..nodes.nodes import Node
from ..table.shapes import Array, is_on_host
from ..table.table import primitive, rule
from .functions import log_softmax, relu, single, softplus
from .module import find_outside_labels, floats, labels, numbers_of

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "hinge_loss", "huber_loss", "kl_div",
    "l1_loss", "mse_loss", "nll_loss",
]  # fmt: skip


def reduce_loss(who: str, z: Array, reduction: str, count: Any = None) -> Array:
    """The mean (over ``count`` elements, if given), the sum, or z itself.

    A count on a GPU is not read: 0 / 0 is NaN there.
    """
    if reduction == "none":
        return z
    if reduction == "sum":
        return np.sum(z)
    if reduction != "mean":
        raise InputError(f"{who}: reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    is_readable = isinstance(count, int) or is_on_host(count)
    if not z.size or (is_readable and not count):
        raise InputError(f"{who}: there is no mean of nothing: the batch is empty, or every target is ignored")
    if count is None:
        return np.mean(z)
    half = z.dtype == np.float16  # in which a sum overflows before its mean does
    mean = np.sum(z.astype(np.float32) if half else z) / (int(count) if is_readable else count.astype(z.dtype))
    return mean.astype(z.dtype) if half else mean  # neither count makes float32 wider


def scores(who: str, x: Array, target: Array) -> None:
    """Refuse scores that are not floats; the message says so if they look like the labels."""
    kinds = [getattr(getattr(a, "dtype", None), "kind", "") for a in (x, target)]
    if kinds[0] in ("i", "u") and kinds[1] == "f":
        raise DataError(f"{who} takes the scores first and the labels second: {who}(scores, labels)")
    floats(who, x)


def pair(who: str, x: Array, target: Array) -> Array:
    """The targets, of x's shape. Integers (0 and 1, -1 and 1) become floats of x's dtype, not of twice its size; under
    autocast float16 becomes float32, and so does the loss of scores in float16."""
    floats(who, x)
    if np.shape(x) != np.shape(target):
        raise InputError(
            f"{who}: predictions have shape {np.shape(x)}, targets {np.shape(target)}. They must be the same; "
            f"reshape one of them."
        )
    kind = getattr(target, "dtype", np.dtype(object)).kind
    if kind == "c":
        floats(who, target)
    target = target if kind == "f" else numbers_of(target).astype(x.dtype)
    return target if modes().autocast is None else single(target)


def mse_loss(x: Array, target: Array, *, reduction: str = "mean") -> Node:
    """(x − target)²; any shape.

    >>> float(mse_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    d = x - pair("mse_loss", x, target)
    return reduce_loss("mse_loss", d * d, reduction)


def l1_loss(x: Array, target: Array, *, reduction: str = "mean") -> Node:
    """|x − target|; any shape.

    >>> float(l1_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    1.0
    """
    return reduce_loss("l1_loss", np.abs(x - pair("l1_loss", x, target)), reduction)


def huber_loss(x: Array, target: Array, *, delta: float = 1.0, reduction: str = "mean") -> Node:
    """d²/2 where d = |x − target| is at most δ, else δ (d − δ/2): squares near, straight lines far; any shape.

    Source: Huber, Annals of Mathematical Statistics 35, 1964.

    >>> float(huber_loss(np.array([1.0, 2.0]), np.array([1.0, 4.0]), reduction="sum"))
    1.5
    """
    d = np.abs(x - pair("huber_loss", x, target))
    if not delta > 0:
        raise InputError(f"huber_loss: delta must be positive, not {delta}")
    near = np.minimum(d, delta)
    return reduce_loss("huber_loss", near * (d - 0.5 * near), reduction)


@primitive
def bounded_log(x: Array) -> Array:
    """log x, but at least −100. The slope is at most 1e12: below that the worst prediction would have no slope."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), -100)


def bounded_log_x(g: Array, x: Array) -> Array:
    """1/x, of an x that is at least 1e-12 (of float16, which cannot hold that, at least its smallest number)."""
    return g / np.maximum(x, max(1e-12, float(np.finfo(x.dtype).tiny)))


rule(bounded_log, "x", "log", r"\log $x", x=bounded_log_x, elementwise=True, domain=(0.5, 2.0))


def binary_cross_entropy(x: Array, target: Array, *, reduction: str = "mean") -> Node:
    """−t log x − (1 − t) log(1 − x) for probabilities x; any shape. As in PyTorch logarithms are at least −100, and
    their slopes at most 1e12: a prediction of 0 for what is 1 costs 100 and is left, however wrong it is.

    From scores use :func:`binary_cross_entropy_with_logits`, which loses no digits.

    >>> float(binary_cross_entropy(np.array([0.5, 0.0]), np.array([1.0, 0.0]), reduction="sum"))
    0.693...
    """
    who = "binary_cross_entropy"
    target = pair(who, x, target)
    value = numbers_of(x)
    if not np.all((value >= 0) & (value <= 1)):
        raise InputError(f"{who}: x are probabilities, between 0 and 1; for scores use {who}_with_logits")
    z = -(target * bounded_log(x) + (1 - target) * bounded_log(1 - x))
    return reduce_loss(who, z, reduction)


def binary_cross_entropy_with_logits(x: Array, target: Array, *, reduction: str = "mean") -> Node:
    """The same of σ(x): (1 − t) x + log(1 + e⁻ˣ), which is finite for every x; any shape.

    >>> x = np.array([1000.0, -1000.0, 0.0])
    >>> binary_cross_entropy_with_logits(x, np.array([1.0, 1.0, 0.0]), reduction="none").tolist()
    [0.0, 1000.0, 0.6931471805599453]
    """
    who = "binary_cross_entropy_with_logits"
    target = pair(who, x, target)
    return reduce_loss(who, (1 - target) * x + softplus(-x), reduction)


def cross_entropy(
    x: Array, target: Array, *, ignore_index: int = -100, label_smoothing: float = 0.0, reduction: str = "mean"
) -> Node:  # fmt: skip
    """−Σ_c p_c log softmax(x)_c: how surprising the targets are, given the scores x.

    Shapes: x (n, classes) or (n, classes, ...) or (classes,); target either class numbers, of x's shape without the
    classes, or probabilities p, floats of x's shape (they need not add up to 1). Targets equal to ``ignore_index``
    do not count, not even in the mean. ``label_smoothing`` ε replaces p by (1 − ε) p + ε / classes.

    >>> x = np.array([[0.0, 0.0], [1000.0, 0.0]])
    >>> cross_entropy(x, np.array([0, 1]), reduction="none").tolist()
    [0.6931471805599453, 1000.0]
    >>> w = af.Variable(np.zeros((1, 3)))
    >>> cross_entropy(w, np.array([2])).backward()
    >>> w.grad.round(3)
    array([[ 0.333,  0.333, -0.667]])
    """
    who = "cross_entropy"
    scores(who, x, target)
    if not 0 <= label_smoothing <= 1:
        raise InputError(f"{who}: label_smoothing is between 0 and 1, not {label_smoothing}")
    axis = class_axis(who, x)
    log_p = log_softmax(x, axis=axis)
    if np.shape(target) == x.shape and getattr(target, "dtype", np.dtype(int)).kind == "f":
        p = target * (1 - label_smoothing) + label_smoothing / x.shape[axis] if label_smoothing else target
        impossible = (numbers_of(p) == 0) & (numbers_of(log_p) == -np.inf)  # 0 log 0 counts as 0
        z = -np.sum(p * np.where(impossible, 0, log_p), axis=axis)
        return reduce_loss(who, z, reduction, math.prod(x.shape[:axis] + x.shape[axis + 1 :]))
    z, counted = target_log_probabilities(who, log_p, target, axis, ignore_index)
    if label_smoothing:
        spread = np.where(counted, np.mean(log_p, axis=axis), 0)
        z = (1 - label_smoothing) * z + label_smoothing * spread
    return reduce_loss(who, -z, reduction, counted.sum())


def nll_loss(x: Array, target: Array, *, ignore_index: int = -100, reduction: str = "mean") -> Node:
    """−x[target]: the surprise, from logarithms of probabilities. Shapes as :func:`cross_entropy`, class numbers only.

    >>> float(nll_loss(np.log(np.array([[0.25, 0.75]])), np.array([0])))
    1.386...
    """
    scores("nll_loss", x, target)
    z, counted = target_log_probabilities("nll_loss", x, target, class_axis("nll_loss", x), ignore_index)
    return reduce_loss("nll_loss", -z, reduction, counted.sum())


def class_axis(who: str, x: Array) -> int:
    """The axis of the classes: the one after the examples."""
    if not x.ndim or not x.shape[min(x.ndim - 1, 1)]:
        raise InputError(f"{who} expected scores of shape (n, classes, ...), got {x.shape}")
    return 1 if x.ndim > 1 else 0


def target_log_probabilities(who: str, log_p: Array, target: Array, axis: int, ignore: int) -> tuple[Array, Array]:
    """log_p of the target classes, 0 where they are ignored, and where they are not.

    On a GPU an invalid label is not refused, which would wait for the device: its loss is NaN.
    """
    shape = log_p.shape[:axis] + log_p.shape[axis + 1 :]
    if np.shape(target) != shape:
        raise InputError(
            f"{who}: scores of shape {log_p.shape} need class numbers of shape {shape} or probabilities (floats) "
            f"of shape {log_p.shape}, got {np.shape(target)}"
        )
    target = labels(who, target, log_p.shape[axis], ignore)
    counted = target != ignore
    places = list(np.indices(shape, sparse=True))
    places.insert(axis, np.where(counted, target, 0))
    z = log_p[tuple(places)]
    if is_on_host(target):
        return (z if counted.all() else np.where(counted, z, 0)), counted
    wrong = find_outside_labels(target, log_p.shape[axis], ignore)
    return np.where(counted, np.where(wrong, np.nan, z), 0), counted


def kl_div(x: Array, target: Array, *, reduction: str = "mean", log_target: bool = False) -> Node:
    """t (log t − x), x the logarithms of the model's probabilities, t the true ones (or their logarithms); any shape.

    0 log 0 counts as 0. ``reduction="batchmean"``, the sum over the number of examples, is the Kullback-Leibler
    divergence; "mean" divides by the number of elements, as PyTorch does.

    >>> p = np.array([[0.5, 0.5]])
    >>> float(kl_div(np.log(p), np.array([[1.0, 0.0]]), reduction="batchmean"))
    0.693...
    """
    target = pair("kl_div", x, target)
    t = np.exp(target) if log_target else target
    counts = numbers_of(t) != 0
    log_t = np.where(counts, target, 0) if log_target else np.log(np.where(counts, t, 1))
    z = np.where(counts, t * (log_t - np.where(counts, x, 0)), 0)
    if reduction == "batchmean":
        return reduce_loss("kl_div", z, "mean", len(x) if x.ndim else 1)
    return reduce_loss("kl_div", z, reduction)


def hinge_loss(x: Array, target: Array, *, reduction: str = "mean") -> Node:
    """max(0, 1 − t x) for targets t = ±1; any shape. Not PyTorch's hinge_embedding_loss; the one of support vector
    machines. Source: Cortes and Vapnik, Machine Learning 20, 1995.

    >>> hinge_loss(np.array([2.0, 0.5]), np.array([1, -1]), reduction="none")
    array([0. , 1.5])
    """
    target = pair("hinge_loss", x, target)
    if not np.all(np.abs(numbers_of(target)) == 1):
        raise InputError("hinge_loss: targets are -1 or 1")
    return reduce_loss("hinge_loss", relu(1 - target * x), reduction)
