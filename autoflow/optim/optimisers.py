"""The update rules. x: parameter, g: gradient, t: number of the step, η: learning rate; a, b: scratch arrays.

Formulas, defaults and results are PyTorch's (the same to 1e-12 after 100 steps). ``weight_decay`` λ adds λx to the
gradient, the derivative of λ|x|²/2; in AdamW it shrinks x itself.

L-BFGS takes steps that know how the slope has changed. The method is SciPy's; here parameters become its vector. It is
for problems where all data fit into one loss without randomness: fits, small networks, images that are optimised. It
needs far fewer evaluations there than a method of gradients. With batches its picture of the curvature is wrong: take
Adam.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import AnomalyError, DataError, StateError
from ..base.lazy import load_package
from ..base.modes import enable_grad
from ..base.pytree import tree_ravel
from ..forward.writing import overwrite
from ..nodes.nodes import value_of
from ..table.shapes import Array, is_on_host
from .base import Optimiser, below_one, not_negative, setting, whole_numbers

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "RMSprop"]

# ---------------------------------------------------------------- methods of gradients


def add_scaled(g: Array, x: Array, factor: float, out: Array) -> Array:
    """g + λx in ``out``, which may be ``x``; g itself if λ is 0."""
    if not factor:
        return g
    np.multiply(x, factor, out=out)
    return np.add(out, g, out=out)


def towards(mean: Array, new: Array, keep: float, out: Array) -> None:
    """A running mean: mean ← keep · mean + (1 − keep) · new. ``out`` is scratch, and may be ``new``."""
    np.multiply(new, 1 - keep, out=out)
    np.multiply(mean, keep, out=mean)
    np.add(mean, out, out=mean)


def move(x: Array, d: Array, lr: float, out: Array) -> None:
    """x ← x − η d. ``out`` is scratch, and may be ``d``."""
    np.multiply(d, lr, out=out)
    np.subtract(x, out, out=x)


def two_below_one(who: str, name: str, betas: tuple[float, float]) -> tuple[float, float]:
    """The settings beta1 and beta2."""
    if np.shape(betas) != (2,):
        raise ValueError(f"{who}: {name} must be a pair of numbers, (0.9, 0.999), not {betas!r}")
    return below_one(who, "beta1", betas[0]), below_one(who, "beta2", betas[1])


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

    nesterov: bool = setting()

    def __init__(
        self, parameters: object, lr: float = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:  # fmt: skip
        if nesterov and not momentum:
            raise ValueError("SGD: Nesterov's method needs a momentum")
        super().__init__(parameters, lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)

    @property
    def remembers(self) -> tuple[str, ...]:
        """The velocity, if there is a momentum."""
        return ("velocity",) if self.momentum else ()

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        d = add_scaled(g, x, self.weight_decay, a)
        if self.momentum:
            v = memory["velocity"]
            add_scaled(d, v, self.momentum, v)
            d = add_scaled(d, v, self.momentum, b) if self.nesterov else v
        move(x, d, self.lr, a)


class Adagrad(Optimiser):
    """s ← s + g², x ← x − η g / (√s + ε): steps become smaller where gradients have been large.

    Source: Duchi, Hazan and Singer, JMLR 12, 2011.
    """

    remembers = ("squares",)
    lr_decay: float = setting(not_negative)

    def __init__(
        self, parameters: object, lr: float = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0, eps: float = 1e-10
    ) -> None:  # fmt: skip
        super().__init__(parameters, lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        d, s = add_scaled(g, x, self.weight_decay, a), memory["squares"]
        np.multiply(d, d, out=b)
        np.add(s, b, out=s)
        np.sqrt(s, out=b)
        np.add(b, self.eps, out=b)
        np.divide(d, b, out=a)
        move(x, a, self.lr / (1 + (t - 1) * self.lr_decay), a)


class RMSprop(Optimiser):
    """s ← α s + (1 − α) g², x ← x − η g / (√s + ε); ``momentum`` as in SGD; ``centered`` takes the variance, s − mean².

    Source: Tieleman and Hinton, Coursera lecture 6.5, 2012; centred: Graves, arXiv 1308.0850.
    """

    alpha: float = setting(below_one)
    centered: bool = setting()

    def __init__(
        self, parameters: object, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
        momentum: float = 0.0, centered: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            parameters, lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered
        )

    @property
    def remembers(self) -> tuple[str, ...]:
        """The squares; with a momentum the velocity; the mean, if it is taken off."""
        return ("squares", *["velocity"] * bool(self.momentum), *["mean"] * self.centered)

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        d, s = add_scaled(g, x, self.weight_decay, a), memory["squares"]
        np.multiply(d, d, out=b)
        towards(s, b, self.alpha, b)
        if self.centered:
            mean = memory["mean"]
            towards(mean, d, self.alpha, b)
            np.multiply(mean, mean, out=b)
            np.subtract(s, b, out=b)
            s = np.maximum(b, 0, out=b)  # rounding may have made it negative
        np.sqrt(s, out=b)
        np.add(b, self.eps, out=b)
        d = np.divide(d, b, out=a)
        if self.momentum:
            v = memory["velocity"]
            d = add_scaled(d, v, self.momentum, v)
        move(x, d, self.lr, a)


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
    betas: tuple[float, float] = setting(two_below_one)
    decoupled = False  # does weight decay shrink x itself, or is it part of the gradient?

    def __init__(
        self, parameters: object, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def update(self, x: Array, g: Array, t: int, a: Array, b: Array, **memory: Array) -> None:
        """One step of one parameter."""
        if self.decoupled:
            np.multiply(x, 1 - self.lr * self.weight_decay, out=x)
        d = g if self.decoupled else add_scaled(g, x, self.weight_decay, a)
        (beta1, beta2), mean, squares = self.betas, memory["mean"], memory["squares"]
        towards(mean, d, beta1, b)
        np.multiply(d, d, out=b)
        towards(squares, b, beta2, b)
        np.sqrt(squares, out=b)
        np.divide(b, math.sqrt(1 - beta2**t), out=b)
        np.add(b, self.eps, out=b)
        np.divide(mean, b, out=b)
        move(x, b, self.lr / (1 - beta1**t), b)


class AdamW(Adam):
    """Adam, with weight decay that is not part of the gradient: x ← (1 − ηλ) x first.

    So the decay is the same for all parameters, however large their gradients are. Source: Loshchilov and Hutter, ICLR
    2019.
    """

    decoupled = True

    def __init__(
        self, parameters: object, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:  # fmt: skip
        super().__init__(parameters, lr, betas, eps, weight_decay)


# ---------------------------------------------------------------- L-BFGS


class LBFGS(Optimiser):
    """``step(closure)`` minimises what the closure computes, by at most ``max_iter`` iterations of L-BFGS-B.

    parameters : Variables; or ``model.parameters()``; or the model. They must be on the host.
    max_iter, max_eval : no iteration begins after this many iterations in one step, or after more than this many
        evaluations of the closure (by default 1.25 times max_iter, and one).
    tolerance_grad : a step ends when no element of the gradient is larger,
    tolerance_change : or when the loss falls by less, relative to its size.
    history_size : how many changes of the gradient are remembered. Each step begins without any, so a few steps with
        many iterations are better than many steps with few.

    A line search finds the sizes of the moves, so there is no learning rate. After a step, ``evaluations`` is the
    number of calls of the closure, and ``message`` says in SciPy's words why it ended. Needs SciPy. Source: Byrd, Lu,
    Nocedal and Zhu, SIAM J. Sci. Comput. 16, 1995.

    >>> from autoflow import optim
    >>> w = af.Variable([-1.0, 2.0])
    >>> lbfgs = optim.LBFGS([w], max_iter=100)
    >>> def closure():  # as in PyTorch
    ...     lbfgs.zero_grad()
    ...     loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> lbfgs.step(closure)  # the loss at the start
    104.0
    >>> w.value.round(4)
    array([1., 1.])
    """

    tolerance_grad: float = setting(not_negative)
    tolerance_change: float = setting(not_negative)

    def __init__(
        self, parameters: object, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 10,
    ) -> None:  # fmt: skip
        super().__init__(parameters, 1.0, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change)
        max_eval = max_iter * 5 // 4 + 1 if max_eval is None else max_eval
        whole_numbers("LBFGS", max_iter=max_iter, max_eval=max_eval, history_size=history_size)
        self.max_iter, self.max_eval, self.history_size = int(max_iter), int(max_eval), int(history_size)
        for p in self.parameters:
            if not is_on_host(value_of(p)):
                raise DataError(f"LBFGS computes with SciPy, on the host, and {p.name} is not there: model.to_cpu()")
        self.evaluations, self.message = 0, ""

    def step(self, closure: Callable[[], Any] | None = None) -> float:  # type: ignore[override]
        """Minimise; returns the loss as it was before.

        closure : computes the loss at the present parameters, calls ``backward()``, and returns the loss. Gradients
            are forgotten before each call, and after the step.

        Raises AnomalyError if the loss or a gradient is NaN or infinite, StateError if the closure leaves no gradient
        or all parameters are frozen; then, and after any other exception, all parameters are as before.
        """
        if closure is None:
            raise TypeError("LBFGS.step takes a function that computes the loss, calls loss.backward() and returns it")
        if not (moving := [p for p in self.parameters if p.requires_grad]):
            raise StateError("LBFGS: all parameters are frozen (requires_grad is False): there is nothing to minimise")
        missing = "optim.LBFGS computes with SciPy, which is not installed: pip install scipy"
        minimize = load_package("scipy.optimize", missing).minimize
        values = [value_of(p) for p in moving]
        before, (start, arrays_of) = [x.copy() for x in values], tree_ravel(values)
        losses: list[float] = []

        def evaluate(vector: Array) -> tuple[float, Array]:
            overwrite(values, arrays_of(vector))
            self.zero_grad()
            with enable_grad():
                losses.append(float(value_of(closure())))
            return losses[-1], collect_gradients(moving, losses[-1])

        try:
            result = minimize(evaluate, start.astype(float), jac=True, method="L-BFGS-B", options={
                "maxiter": self.max_iter, "maxfun": self.max_eval, "gtol": self.tolerance_grad,
                "ftol": self.tolerance_change, "maxcor": self.history_size,
            })  # fmt: skip
            overwrite(values, arrays_of(result.x))
        except BaseException:
            overwrite(values, before)
            raise
        self.zero_grad()
        self.evaluations, self.message = len(losses), str(result.message)
        self.steps = [t + p.requires_grad for t, p in zip(self.steps, self.parameters, strict=True)]
        return losses[0]

    def __repr__(self) -> str:
        return f"LBFGS({len(self.parameters)} parameters, max_iter={self.max_iter})"


def collect_gradients(moving: list[Any], loss: float) -> Array:
    """All gradients as one vector, checked."""
    if all([p.grad is None for p in moving]):
        raise StateError("LBFGS: the closure left no gradient of any parameter: call loss.backward() in it")
    grads = [np.zeros(p.shape) if p.grad is None else value_of(p.grad) for p in moving]
    vector = np.concatenate([np.ravel(g).astype(float) for g in grads])
    if not (np.isfinite(loss) and np.isfinite(vector).all()):
        raise AnomalyError(
            f"LBFGS: the loss is {loss:g}, or a gradient contains NaN or infinity. All parameters are as before "
            f"the step. Look at the data and the loss, or start elsewhere."
        )
    return vector
