"""L-BFGS: steps that know how the slope has changed. The method is SciPy's; here parameters become its vector.

For problems where all data fit into one loss without randomness: fits, small networks, images that are optimised. It
needs far fewer evaluations there than a method of gradients. With batches its picture of the curvature is wrong: take
Adam.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import AnomalyError, DataError, StateError
from ..forward.writing import overwrite
from ..lazy import load_package
from ..modes import enable_grad
from ..nodes.nodes import value_of
from ..rules.shapes import is_on_host
from .base import Optimiser

Array = Any


class LBFGS(Optimiser):
    """``step(closure)`` minimises what the closure computes, by at most ``max_iter`` iterations of L-BFGS-B.

    parameters : Variables; or ``model.parameters()``; or the model. They must be on the host.
    max_iter, max_eval : iterations and evaluations of the closure in one step (at most 1.25 times as many by default).
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

    def __init__(
        self, parameters: Any, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 10,
    ) -> None:  # fmt: skip
        super().__init__(parameters, 1.0, tolerance_grad=tolerance_grad, tolerance_change=tolerance_change)
        max_eval = max_iter * 5 // 4 + 1 if max_eval is None else max_eval
        for name, n in (("max_iter", max_iter), ("max_eval", max_eval), ("history_size", history_size)):
            if not isinstance(n, (int, np.integer)) or n < 1:
                raise ValueError(f"LBFGS: {name} must be a whole number of at least 1, not {n!r}")
            setattr(self, name, int(n))
        for p in self.parameters:
            if not is_on_host(value_of(p)):
                raise DataError(f"LBFGS computes with SciPy, on the host, and {p.name} is not there: model.to_cpu()")
        self.evaluations, self.message = 0, ""

    max_iter: int
    max_eval: int
    history_size: int
    tolerance_grad: float
    tolerance_change: float

    def step(self, closure: Callable[[], Any] | None = None) -> float:  # type: ignore[override]
        """Minimise; returns the loss as it was before.

        closure : computes the loss at the present parameters, calls ``backward()``, and returns the loss. Gradients
            are forgotten before each call, and after the step.

        Raises AnomalyError if the loss or a gradient is NaN or infinite, StateError if the closure leaves no gradient;
        then, and after any other exception, all parameters are as before.
        """
        if closure is None:
            raise TypeError("LBFGS.step takes a function that computes the loss, calls loss.backward() and returns it")
        moving = [p for p in self.parameters if p.requires_grad]
        before = [value_of(p).copy() for p in moving]
        losses: list[float] = []

        def evaluate(vector: Array) -> tuple[float, Array]:
            write_vector(moving, vector)
            self.zero_grad()
            with enable_grad():
                losses.append(float(value_of(closure())))
            return losses[-1], collect_gradients(moving, losses[-1])

        try:
            result = run_scipy(
                evaluate, np.concatenate([x.ravel().astype(float) for x in before]), maxiter=self.max_iter,
                maxfun=self.max_eval, gtol=self.tolerance_grad, ftol=self.tolerance_change, maxcor=self.history_size,
            )  # fmt: skip
            write_vector(moving, result.x)
        except BaseException:
            overwrite([value_of(p) for p in moving], before)
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


def write_vector(parameters: list[Any], vector: Array) -> None:
    """The numbers of a vector into the parameters, all or nothing."""
    values = [value_of(p) for p in parameters]
    ends = np.cumsum([x.size for x in values])
    parts = np.split(vector, ends[:-1])
    overwrite(values, [part.reshape(x.shape).astype(x.dtype) for part, x in zip(parts, values, strict=True)])


def run_scipy(evaluate: Callable[[Array], tuple[float, Array]], start: Array, **options: Any) -> Any:
    """SciPy's L-BFGS-B."""
    missing = "optim.LBFGS computes with SciPy, which is not installed: pip install scipy"
    minimize = load_package("scipy.optimize", missing).minimize
    return minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
