"""Functions that worker processes import: of tests of pickling and of ``af.data_parallel``."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any

import numpy as np

import autoflow as af
from autoflow import nn


def tanh_loss(x: Any) -> Any:
    return np.sum(np.tanh(x) ** 2)


def tanh_loss_tangent(t: Any, z: Any, x: Any) -> Any:
    """How tanh_loss moves if x does."""
    return np.sum(2 * np.tanh(x) * (1 - np.tanh(x) ** 2) * t)


def no_op(node: Any) -> None:
    """What is told of an operation, and does nothing."""


def stretched(x: Any) -> Any:
    """Of one array, one of the same shape."""
    return np.exp(x) * x


def loss_and_more(x: Any) -> Any:
    return np.sum(x**3), {"mean": np.mean(x)}


def squares(w: Any, x: Any, y: Any) -> Any:
    """A mean over examples: x (n, features), w (features,), y (n,)."""
    return np.mean(np.tanh(x @ w - y) ** 2)


def sum_of_squares(w: Any, x: Any, y: Any) -> Any:
    return np.sum(np.tanh(x @ w - y) ** 2)


def network_loss(p: Any, batch: Any, scale: Any = 1.0) -> Any:
    """Of parameters and examples in containers."""
    h = np.tanh(batch["x"] @ p["w1"] + p["b1"])
    return scale * np.mean((h @ p["w2"] - batch["y"]) ** 2)


def noisy(w: Any, x: Any, *, rng: Any) -> Any:
    return np.mean((x * (rng.random(x.shape) < 0.5)) @ w)


def draws(w: Any, x: Any, *, rng: Any) -> Any:
    """Its value says which numbers were drawn."""
    return np.sum(w) * rng.random()


def draws_from_all(w: Any, x: Any) -> Any:
    """From the generator of the process."""
    return np.mean(w * x) * np.random.rand()


def masked(w: Any, x: Any) -> Any:
    """0 · inf in the pass back, but for af.safe_masking."""
    return np.mean(np.where(x > 0, np.sqrt(w * x), 0.0))


def fails_in_the_middle(w: Any, x: Any) -> Any:
    """An error in the part that has a negative row."""
    if np.any(x < 0):
        raise ZeroDivisionError("a bad row")
    return np.mean(w * x)


def dies_in_the_middle(w: Any, x: Any) -> Any:
    """Ends the process that has the part with a negative row."""
    if np.any(x < 0):
        os._exit(1)
    return np.mean(w * x)


def dies_once(w: Any, x: Any, path: str) -> Any:
    """The first process that comes here ends; those after it compute."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return np.mean(np.tanh(w * x))
    os._exit(1)


def fails_once(w: Any, x: Any, path: str) -> Any:
    """As :func:`dies_once`, with an exception."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return np.mean(np.tanh(w * x))
    raise OSError("for once")


def waits(w: Any, x: Any) -> Any:
    time.sleep(0.2)
    return np.mean(w * x)


def call_of(job: tuple[Any, tuple[Any, ...]]) -> Any:
    """For pools: a function and its arguments."""
    f, args = job
    return f(*args)


def problem(n: int = 203, dtype: Any = float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and examples for :func:`network_loss`."""
    rng = np.random.default_rng(0)
    p = {"w1": rng.normal(size=(5, 7)), "b1": rng.normal(size=7), "w2": rng.normal(size=(7, 2))}
    batch = {"x": rng.normal(size=(n, 5)), "y": rng.normal(size=(n, 2))}
    return {k: v.astype(dtype) for k, v in p.items()}, {k: v.astype(dtype) for k, v in batch.items()}


def digest(tree: Any) -> str:
    """Of all bits of a result."""
    found = hashlib.sha256()
    for x in af.pytree.tree_leaves(tree):
        array = np.asarray(x)
        found.update(repr(x).encode() if array.dtype.hasobject else array.tobytes())
    return found.hexdigest()[:16]


def step_digest(workers: Any, p: Any, batch: Any, **how: Any) -> str:
    """Of value and gradients of :func:`network_loss`."""
    total = af.data_parallel(network_loss, over=1, workers=workers, **how)
    return digest(af.value_and_grad(total)(p, batch))


def small_network() -> nn.Sequential:
    rng = np.random.default_rng(1)
    return nn.Sequential(nn.Linear(5, 7, rng=rng), np.tanh, nn.Linear(7, 2, rng=rng))


def model_loss(values: Any, x: Any, y: Any, model: Any) -> Any:
    return nn.mse_loss(nn.functional_call(model, values, x), y)
