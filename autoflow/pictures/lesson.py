"""``node.step()`` and ``node.steps()``: a node's own computation, one step at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .facade import Graph
from .folding.results import tidy
from .formulas.local_rules import rules
from .model.steps import Step, steps_of
from .pages.stepper import Stepper
from .walk import graph as picture_of

LIMIT = 400  # nodes; more are too many to step through


def steps(node: Any, *, limit: int = LIMIT) -> list[Step]:
    """The steps that lead to ``node`` and back from it, with ones as the seed: what ``backward()`` does, and its order.

    Whether ``backward()`` has been called makes no difference, and no node is changed. Of a large graph the ``limit``
    nodes nearest to the output.

    >>> import autoflow as af
    >>> x = af.Variable(2.0, name="x")
    >>> a = x * x
    >>> out = a + a * x
    >>> a.name, out.name = "a", "out"
    >>> for step in steps(out): print(step)
      0  start     x = 2
      1  forward   a = x*x = 4
      2  forward   a*x = 8
      3  forward   out = a + a*x = 12
      4  seed      ∂out/∂out = 1
      5  backward  out has gradient 1, sends back   to a: 1 × 1 = 1;   to a*x: 1 × 1 = 1
      6  backward  a*x has gradient 1, sends back   to a: 1 × 2 = 2   so far 3;   to x: 1 × 4 = 4
      7  backward  a has gradient 3, sends back   to x: 3 × 2 = 6   so far 10;   to x: 3 × 2 = 6   so far 16
      8  end       ∂out/∂x = 16
    """
    return steps_of(tidy(lesson(node, limit=limit)))


def lesson(node: Any, **options: Any) -> Graph:
    """The picture that is stepped through: with all numbers, and a card for every operation that was recorded."""
    picture = picture_of(node, "lesson", gradients=True, merge=False, fold=False, **options)
    return replace(picture, rules=rules(node if isinstance(node, (list, tuple)) else [node], picture))


def step(node: Any, *, limit: int = LIMIT, **options: Any) -> Stepper:
    """Step through the forward and the backward pass of ``node``: ◀ ▶ in a notebook, text in a terminal.

    Each step shows the products of the chain rule and the sums so far, in the order of ``backward()``; *predict
    first* hides each product until you ask. The last step is the picture that ``node.graph()`` draws. Options:
    ``direction``, ``constants``, ``legend``, ``theme`` as for ``node.graph()``.

    >>> import autoflow as af
    >>> x = af.Variable(3.0, name="x")
    >>> print(step(x * x))
      0  start     x = 3
      1  forward   x*x = 9
      2  seed      gradient of x*x = 1
      3  backward  x*x has gradient 1, sends back   to x: 1 × 3 = 3;   to x: 1 × 3 = 3   so far 6
      4  end       gradient of x = 6
    """
    return Stepper(lesson(node, limit=limit, **options))
