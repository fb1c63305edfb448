"""From a derivative in a row to a function of (g, saved): names become places in ``saved``."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .shapes import sum_to

VJP = Callable[[Any, tuple[Any, ...]], Any]
Needs = tuple[tuple[int, str], ...]  # what a derivative reads: (place in ``saved``, "", "shape" or "dtype")


def place_of(word: str, place: dict[str, int]) -> tuple[int, str]:
    """``"x_shape"`` -> (place of x, "shape")."""
    if word in place:
        return place[word], ""
    name, _, what = word.rpartition("_")
    return place[name], what


def vjp_by_position(derivative: Callable[..., Any], needs: Needs) -> VJP:
    """``derivative`` as a function of (g, saved). One closure per number of values: no loop, no names."""
    match needs:
        case ():
            return lambda g, saved: derivative(g)
        case ((i, ""),):
            return lambda g, saved: derivative(g, saved[i])
        case ((i, ""), (j, "")):
            return lambda g, saved: derivative(g, saved[i], saved[j])
        case ((i, "shape"), (j, "")):
            return lambda g, saved: derivative(g, saved[i].shape, saved[j])
        case ((i, ""), (j, "shape")):
            return lambda g, saved: derivative(g, saved[i], saved[j].shape)
        case ((i, "shape"), *rest) if len(rest) > 1 and not any([what for _, what in rest]):
            options = operator.itemgetter(*[j for j, _ in rest])
            return lambda g, saved: derivative(g, saved[i].shape, *options(saved))
    return lambda g, saved: derivative(g, *[getattr(saved[i], what) if what else saved[i] for i, what in needs])


def elementwise_vjp(derivative: Callable[..., Any], needs: Needs, k: int) -> VJP:
    """The same, with broadcasting undone: here, once, for every elementwise row. ``k`` is the operand's place."""
    match needs:
        case ():

            def vjp(g: Any, saved: tuple[Any, ...]) -> Any:  # fmt: skip
                shape = saved[k].shape  # nothing but g is read, so sum first: the derivative has less to do
                return derivative(g if g.shape == shape else sum_to(g, shape))
        case ((i, ""),):

            def vjp(g: Any, saved: tuple[Any, ...]) -> Any:  # fmt: skip
                sent, shape = derivative(g, saved[i]), saved[k].shape
                return sent if sent.shape == shape else sum_to(sent, shape)
        case _:
            plain = vjp_by_position(derivative, needs)

            def vjp(g: Any, saved: tuple[Any, ...]) -> Any:
                return sum_to(plain(g, saved), saved[k].shape)

    return vjp


def scalar_vjp(derivative: Callable[..., Any], needs: Needs) -> VJP:
    """The same for numbers, which never broadcast: np.float64, whose arithmetic is faster than that of 0-d arrays."""
    match needs:
        case ():
            return lambda g, saved: derivative(g)
        case ((i, ""),):
            return lambda g, saved: derivative(g, saved[i][()] if type(saved[i]) is np.ndarray else saved[i])
    return lambda g, saved: derivative(
        g, *[getattr(saved[i], what) if what else saved[i][()] if type(saved[i]) is np.ndarray else saved[i]
             for i, what in needs]
    )  # fmt: skip


def needs_of_sequence(derivative: Callable[..., Any], n: int, names: tuple[str, ...]) -> Needs:
    """What the derivative of each array of a sequence reads, as places in the flat ``saved``."""
    first, *options = names
    place = {name: n + i for i, name in enumerate(options)} | {"z": -1}
    needs: list[tuple[int, str]] = []
    for word in list(inspect.signature(derivative).parameters)[2:]:
        if word == first:
            needs += [(i, "") for i in range(n)]
        elif not word.startswith(first + "_"):
            needs.append(place_of(word, place))
    return tuple(needs)


class Shapes(tuple[tuple[int, ...], ...]):
    """The shapes of a sequence of arrays, and where each begins if they are joined."""

    def ends(self, axis: int | None) -> list[int]:
        """0, and where each array ends along ``axis``; if that is None, of all of them flattened."""
        known: dict[Any, list[int]] = self.__dict__.setdefault("known", {})
        if axis not in known:  # once for all arrays: to add them up for each again is quadratic
            lengths = [math.prod(shape) if axis is None else shape[axis] for shape in self]
            known[axis] = [0, *itertools.accumulate(lengths)]
        return known[axis]


def sequence_values(derivative: Callable[..., Any], n: int, names: tuple[str, ...]) -> Callable[[Any], list[Any]]:
    """What the derivatives of a sequence of n arrays read, as a function of ``saved``."""
    first, *options = names
    place = {name: n + i for i, name in enumerate(options)} | {"z": n + len(options)}
    words = list(inspect.signature(derivative).parameters)[2:]
    whole = {first: (-2, ""), first + "_shape": (-2, "shape")}  # of all arrays; the rest is as in any row
    needs = [whole[word] if word in whole else place_of(word, place) for word in words]

    def values(saved: tuple[Any, ...]) -> list[Any]:
        found: list[Any] = []
        for i, what in needs:
            if i == -2:
                found.append(Shapes([x.shape for x in saved[:n]]) if what else saved[:n])
            else:
                found.append(getattr(saved[i], what) if what else saved[i])
        return found

    return values


def sequence_vjp(derivative: Callable[..., Any], values: Callable[[Any], list[Any]], k: int) -> VJP:
    """The derivative of a sequence's k-th array as a function of (g, saved)."""
    return lambda g, saved: derivative(g, k, *values(saved))


def sequence_joint(derivative: Callable[..., Any], values: Callable[[Any], list[Any]]) -> VJP:
    """All of them at once, for long sequences: what they read is found once, and not once for each array."""

    def joint(g: Any, saved: tuple[Any, ...]) -> list[Any]:
        read, record = values(saved), saved[-1]
        return [None if p is None else derivative(g, k, *read) for k, p in enumerate(record.parents)]

    return joint


def conjugate_vjp(vjp: VJP) -> VJP:
    """g is conjugated on the way in, the answer on the way out."""
    return lambda g, saved: np.conjugate(vjp(np.conjugate(g), saved))
