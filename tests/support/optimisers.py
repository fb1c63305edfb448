"""Optimisers, schedules and clipping: what is tried, and what PyTorch makes of it (tests/golden/optim.npz).

The problem is a double well that is pushed about: its gradient is made of +, − and · only, so that every machine
computes the same numbers. Where PyTorch is, ``AUTOFLOW_FREEZE=1 pytest tests/optim/test_optimisers.py`` writes the file
anew (this one is of PyTorch 2.13.0).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parent.parent / "golden" / "optim.npz"
SHOWN = (1, 10, 100)  # the steps after which the parameters are looked at
LIMITS = (0.1, 1.0, 1e3)  # for clipping by norm; all of it by 0.05 afterwards


@functools.cache
def golden() -> dict[str, Any]:
    with np.load(GOLDEN) as file:
        return dict(file)


# Each option of each optimiser alone, with a value that is not its default, then together.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}), ("SGD", {"lr": 0.01}), ("SGD", {"lr": 0.01, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9}), ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}), ("Adagrad", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "eps": 0.01}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 0.01}),
    ("RMSprop", {}), ("RMSprop", {"lr": 0.02, "alpha": 0.9}), ("RMSprop", {"lr": 0.01, "eps": 0.01}),
    ("RMSprop", {"lr": 0.01, "weight_decay": 0.1}), ("RMSprop", {"lr": 0.01, "momentum": 0.5}),
    ("RMSprop", {"lr": 0.01, "centered": True}), ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "eps": 0.01, "momentum": 0.9, "weight_decay": 0.1, "centered": True}),
    ("Adam", {}), ("Adam", {"lr": 0.01}), ("Adam", {"lr": 0.05, "betas": (0.8, 0.9)}),
    ("Adam", {"lr": 0.01, "eps": 0.01}), ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.1}), ("AdamW", {}),
    ("AdamW", {"lr": 0.01}), ("AdamW", {"lr": 0.05, "betas": (0.8, 0.9)}), ("AdamW", {"lr": 0.01, "eps": 0.01}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2}), ("AdamW", {"lr": 0.05, "weight_decay": 0.0}),
    ("AdamW", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.2}),
]  # fmt: skip
IDS = [" ".join([name, *[f"{option}={value}" for option, value in options.items()]]) for name, options in CASES]


def start() -> list[np.ndarray]:
    """Three parameters, one of them 0-d; in different wells, one near the top between them."""
    return [np.array([[1.5, -0.75], [0.125, -2.0], [0.5, 1.0]]), np.array([-1.25, 0.25, 2.5, -0.5]), np.array(0.5)]


def gradient(k: int, x: np.ndarray, t: int) -> np.ndarray | None:
    """Of parameter k in step t: that of (x² − 1)² / 4, and a push of −1 ... 1 that differs in each step.

    The last parameter is not used in each third step: it has no gradient then, and stays where it is.
    """
    if k == 2 and t % 3 == 1:
        return None
    push = (7 * t + 3 * np.arange(x.size)) % 11 / 5 - 1
    return x * (x * x - 1) + push.reshape(x.shape)


def pytorch() -> dict[str, np.ndarray]:
    """PyTorch's results: per case the flat parameters after each number of SHOWN; learning rates; clipped gradients."""
    import torch

    found = {}
    for (name, options), label in zip(CASES, IDS, strict=True):
        parameters = [torch.tensor(x, requires_grad=True) for x in start()]
        optimiser = getattr(torch.optim, name)(parameters, **options)
        rows = []
        for t in range(max(SHOWN)):
            for k, p in enumerate(parameters):
                g = gradient(k, p.detach().numpy(), t)
                p.grad = None if g is None else torch.tensor(g)
            optimiser.step()
            if t + 1 in SHOWN:
                rows.append(np.concatenate([p.detach().numpy().ravel() for p in parameters]))
        found[label] = np.array(rows)
    schedulers = torch.optim.lr_scheduler

    def rates(make: Callable[[Any], Any]) -> np.ndarray:
        """The learning rates of 13 steps, from 0.1."""
        optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        schedule, rates = make(optimiser), []
        for _ in range(13):
            rates.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            schedule.step()
        return np.array(rates)

    def warm_then_cosine(optimiser: Any) -> Any:
        parts = [schedulers.LinearLR(optimiser, 0.25, 1.0, 4), schedulers.CosineAnnealingLR(optimiser, 8, 0.01)]
        return schedulers.SequentialLR(optimiser, parts, [4])

    found["step_decay"] = rates(lambda optimiser: schedulers.StepLR(optimiser, 3, 0.5))
    found["cosine"] = rates(lambda optimiser: schedulers.CosineAnnealingLR(optimiser, 12, 0.01))
    found["warm_up"] = rates(lambda optimiser: schedulers.LinearLR(optimiser, 0.25, 1.0, 4))
    found["warm_up, cosine"] = rates(warm_then_cosine)
    found["linear"] = rates(lambda optimiser: schedulers.LinearLR(optimiser, 1.0, 0.2, 9))
    for limit in LIMITS:
        parameters = [torch.tensor(x, requires_grad=True) for x in start()]
        for p in parameters:
            p.grad = 3 * p.detach()
        total = float(torch.nn.utils.clip_grad_norm_(parameters, limit))
        by_norm = [p.grad.numpy().ravel().copy() for p in parameters]
        torch.nn.utils.clip_grad_value_(parameters, 0.05)
        by_value = [p.grad.numpy().ravel() for p in parameters]
        found[f"clip {limit:g}"] = np.concatenate([[total], *by_norm, *by_value])
    return found
