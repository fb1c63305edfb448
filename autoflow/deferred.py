"""Many small contributions to one gradient, added up at once.

A weight that a recurrent network uses at every step receives a product from each: Σₜ xₜᵀ gₜ. Computed one by one these
are many small products, each followed by a sum over the whole weight. With the steps put below each other,
X = [x₁; x₂; ...] and G = [g₁; g₂; ...], it is one product XᵀG. A bias receives Σₜ Σ_rows gₜ: there the gₜ are added
first, and the rows once. For 100 steps of 8 x 32 that makes a whole training step a fifth faster.

So where a parent has several consumers (:func:`engine.pull_back` knows), the pulls in ``DEFERRED`` send no array but a
:class:`Deferred` of what they would have computed. These add up, also with arrays, and are computed when all are there.
Only small arrays wait like that, which the graph keeps anyway. The sums are those of before in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .rules import RULES
from .rules.table import Pull

Array = Any
Term = tuple[Array, tuple[Any, ...]]  # a gradient, and what the record had saved
SMALL = 4096  # elements of an array that may wait
MOST = 64  # terms that wait for each other
FEWEST = 4  # below that many, putting them together takes longer than it saves
DOUBLE = np.dtype(np.float64)
ndarray = np.ndarray


class Deferred:
    """Σ pull(g, saved) over ``terms``, and an array ``rest``, not yet computed. All g have one shape."""

    __slots__ = ("join", "pull", "rest", "shape", "terms")
    __array_ufunc__ = None  # array + deferred is ours
    dtype = None

    def __init__(self, pull: Pull, join: Callable[[list[Term]], Array], g: Array, saved: tuple[Any, ...]) -> None:
        self.pull, self.join, self.shape, self.rest = pull, join, g.shape, None
        self.terms = [(g, saved)]

    def __add__(self, earlier: Any) -> Any:
        if type(earlier) is not Deferred:
            self.rest = earlier if self.rest is None else self.rest + earlier
            return self
        if earlier.pull is not self.pull or earlier.shape != self.shape:
            return self + total(earlier)
        earlier.terms += self.terms
        if len(earlier.terms) >= MOST:
            earlier.rest, earlier.terms = total(earlier), []
        return earlier

    __radd__ = __add__


def total(sent: Any) -> Array:
    """The array that is meant."""
    if type(sent) is not Deferred:
        return sent
    terms, sum_ = sent.terms, sent.rest
    if len(terms) >= FEWEST:
        joined = sent.join(terms)
        return joined if sum_ is None else joined + sum_
    for g, saved in terms:
        term = sent.pull(g, saved)
        sum_ = term if sum_ is None else term + sum_
    return sum_


def small(a: Any) -> bool:
    """Is it a matrix of float64 that may wait?"""
    return type(a) is ndarray and a.ndim == 2 and a.size <= SMALL and a.dtype is DOUBLE


# -- what is sent, and how it is put together ------------------------------------------------------------------------

# Any: a row may have operands without a derivative, these have none of those
PULLS: dict[Any, Any] = {ufunc: RULES[ufunc].pulls for ufunc in (np.matmul, np.add, np.subtract)}
MATMUL_X, MATMUL_Y = PULLS[np.matmul]


def product_x(g: Array, saved: tuple[Any, ...]) -> Any:
    """g yᵀ, with g (n, m), y (k, m)."""
    return Deferred(MATMUL_X, beside, g, saved) if small(g) and small(saved[1]) else MATMUL_X(g, saved)


def beside(terms: list[Term]) -> Array:
    """Σ g yᵀ = [g₁ g₂ ...] [y₁ y₂ ...]ᵀ."""
    return np.concatenate([g for g, _ in terms], axis=1) @ np.concatenate([s[1] for _, s in terms], axis=1).T


def product_y(g: Array, saved: tuple[Any, ...]) -> Any:
    """xᵀ g, with x (n, k), g (n, m)."""
    return Deferred(MATMUL_Y, below, g, saved) if small(g) and small(saved[0]) else MATMUL_Y(g, saved)


def below(terms: list[Term]) -> Array:
    """Σ xᵀ g = [x₁; x₂; ...]ᵀ [g₁; g₂; ...]."""
    return np.concatenate([s[0] for _, s in terms]).T @ np.concatenate([g for g, _ in terms])


def broadcast(pull: Pull, k: int) -> Callable[[Array, tuple[Any, ...]], Any]:
    """For a derivative that reads nothing but g (of a sum): if its operand was broadcast, the gₜ are added first."""

    def first(terms: list[Term]) -> Array:
        return pull(np.add.reduce(np.array([g for g, _ in terms])), terms[0][1])

    def send(g: Array, saved: tuple[Any, ...]) -> Any:
        if saved[k].shape != g.shape and small(g):
            return Deferred(pull, first, g, saved)
        return pull(g, saved)

    return send


DEFERRED: dict[Pull, Callable[[Array, tuple[Any, ...]], Any]] = {MATMUL_X: product_x, MATMUL_Y: product_y}
for _ufunc in (np.add, np.subtract):
    DEFERRED |= {pull: broadcast(pull, k) for k, pull in enumerate(PULLS[_ufunc])}
