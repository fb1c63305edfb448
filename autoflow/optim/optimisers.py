"""The update rules. x: parameter, g: gradient, t: number of the step, η: learning rate; a, b: scratch arrays.

Formulas, defaults and results are PyTorch's (the same to 1e-12 after 100 steps). ``weight_decay`` λ adds λx to the
gradient, the derivative of λ|x|²/2; in AdamW it shrinks x itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .base import Optimiser

Array = Any


def add_decay(g: Array, x: Array, decay: float, out: Array) -> Array:
    """g + λx in ``out``; g itself if λ is 0."""
    if not decay:
        return g
    np.multiply(x, decay, out=out)
    return np.add(out, g, out=out)


def towards(mean: Array, new: Array, keep: float, out: Array) -> None:
    """A running mean: mean ← keep · mean + (1 − keep) · new. ``out`` is scratch, and may be ``new``."""
    np.multiply(new, 1 - keep, out=out)
    np.multiply(mean, keep, out=mean)
    np.add(mean, out, out=mean)


def below_one(who: str, **settings: float) -> None:
    """Refuse settings of running means that are not in [0, 1)."""
    for name, value in settings.items():
        if not 0 <= value < 1:
            raise ValueError(f"{who}: {name} must be at least 0 and less than 1, not {value!r}")


class SGD(Optimiser):
    """x ← x − η g. With momentum μ: v ← μ v + g, x ← x − η v; Nesterov's: x ← x − η (g + μ v).

    Source: Robbins and Monro 1951; Polyak 1964; Nesterov 1983, in the form of Sutskever et al., ICML 2013.

    >>> from autoflow import optim
    >>> w = af.Variable(1.0)
    >>> (3 * w).backward()
    >>> optim.SGD([w], lr=0.1).step()
    >>> w.value.round(3)
    np.float64(0.7)
    """

    momentum: float
    weight_decay: float
    nesterov: bool

    def __init__(
        self, parameters: Any, lr: float = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:  # fmt: skip
        if nesterov and not momentum:
            raise ValueError("SGD: Nesterov's method needs a momentum")
        self.remembers = ("velocity",) if momentum else ()
        super().__init__(parameters, lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        d = add_decay(g, x, self.weight_decay, a)
        if self.momentum:
            v = memory["velocity"]
            np.multiply(v, self.momentum, out=v)
            np.add(v, d, out=v)
            if self.nesterov:
                np.multiply(v, self.momentum, out=b)
                d = np.add(b, d, out=b)
            else:
                d = v
        np.multiply(d, self.lr, out=a)
        np.subtract(x, a, out=x)


class Adagrad(Optimiser):
    """s ← s + g², x ← x − η g / (√s + ε): steps become smaller where gradients have been large.

    Source: Duchi, Hazan and Singer, JMLR 12, 2011.
    """

    remembers = ("squares",)
    lr_decay: float
    weight_decay: float
    eps: float

    def __init__(
        self, parameters: Any, lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0, eps: float = 1e-10
    ) -> None:  # fmt: skip
        super().__init__(parameters, lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        d, s = add_decay(g, x, self.weight_decay, a), memory["squares"]
        np.multiply(d, d, out=b)
        np.add(s, b, out=s)
        np.sqrt(s, out=b)
        np.add(b, self.eps, out=b)
        np.divide(d, b, out=a)
        np.multiply(a, self.lr / (1 + (t - 1) * self.lr_decay), out=a)
        np.subtract(x, a, out=x)


class RMSprop(Optimiser):
    """s ← α s + (1 − α) g², x ← x − η g / (√s + ε); ``momentum`` as in SGD; ``centered`` takes the variance, s − mean².

    Source: Tieleman and Hinton, Coursera lecture 6.5, 2012; centred: Graves, arXiv 1308.0850.
    """

    alpha: float
    eps: float
    weight_decay: float
    momentum: float
    centered: bool

    def __init__(
        self, parameters: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
        momentum: float = 0.0, centered: bool = False,
    ) -> None:  # fmt: skip
        below_one("RMSprop", alpha=alpha)
        self.remembers = ("squares", *["velocity"] * bool(momentum), *["mean"] * bool(centered))
        super().__init__(
            parameters, lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered
        )

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        d, s = add_decay(g, x, self.weight_decay, a), memory["squares"]
        np.multiply(d, d, out=b)
        towards(s, b, self.alpha, b)
        if self.centered:
            mean = memory["mean"]
            towards(mean, d, self.alpha, b)
            np.multiply(mean, mean, out=b)
            np.subtract(s, b, out=b)
            np.maximum(b, 0, out=b)  # rounding may have made it negative
            np.sqrt(b, out=b)
        else:
            np.sqrt(s, out=b)
        np.add(b, self.eps, out=b)
        np.divide(d, b, out=a)
        if self.momentum:
            v = memory["velocity"]
            np.multiply(v, self.momentum, out=v)
            np.add(v, a, out=v)
            np.multiply(v, self.lr, out=a)
        else:
            np.multiply(a, self.lr, out=a)
        np.subtract(x, a, out=x)


class Adam(Optimiser):
    """m ← β₁ m + (1 − β₁) g, s ← β₂ s + (1 − β₂) g², x ← x − η m̂ / (√ŝ + ε), m̂ = m / (1 − β₁ᵗ), ŝ = s / (1 − β₂ᵗ).

    The running means start at 0; the divisions correct for that. Source: Kingma and Ba, ICLR 2015.

    >>> from autoflow import optim
    >>> w = af.Variable([1.0, 1.0])
    >>> (w * np.array([3.0, 0.001])).backward()
    >>> optim.Adam([w], lr=0.1).step()  # the first step has the same size everywhere
    >>> w.value.round(4)
    array([0.9, 0.9])
    """

    remembers = ("mean", "squares")
    decoupled = False  # does weight decay shrink x itself, or is it part of the gradient?
    eps: float
    weight_decay: float

    def __init__(
        self, parameters: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        self.betas = float(betas[0]), float(betas[1])
        below_one(type(self).__name__, beta1=self.betas[0], beta2=self.betas[1])
        super().__init__(parameters, lr, eps=eps, weight_decay=weight_decay)

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        if self.decoupled:
            np.multiply(x, 1 - self.lr * self.weight_decay, out=x)
        d = g if self.decoupled else add_decay(g, x, self.weight_decay, a)
        (beta1, beta2), mean, squares = self.betas, memory["mean"], memory["squares"]
        towards(mean, d, beta1, b)
        np.multiply(d, d, out=b)
        towards(squares, b, beta2, b)
        np.sqrt(squares, out=b)
        np.divide(b, math.sqrt(1 - beta2**t), out=b)
        np.add(b, self.eps, out=b)
        np.divide(mean, b, out=b)
        np.multiply(b, self.lr / (1 - beta1**t), out=b)
        np.subtract(x, b, out=x)


class AdamW(Adam):
    """Adam, with weight decay that is not part of the gradient: x ← (1 − ηλ) x first.

    So the decay is the same for all parameters, however large their gradients are. Source: Loshchilov and Hutter, ICLR
    2019.
    """

    decoupled = True

    def __init__(
        self, parameters: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:  # fmt: skip
        super().__init__(parameters, lr, betas, eps, weight_decay)
