"""What a call of a distribution means: shape parameters, then ``loc`` (and ``scale``), by position or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NoRuleError
from ..rules.shapes import as_array, is_on_host, numbers_of

Array = Any


class Distribution:
    """What all distributions share. A subclass says the names of its ``_parameters``, in SciPy's order, and the
    ``_defaults`` of the last ones; its methods are those of SciPy.

    Calling it freezes it: ``norm(1.0, 2.0).logpdf(x)`` is ``norm.logpdf(x, 1.0, 2.0)``.
    """

    _name: str
    _parameters: tuple[str, ...]
    _defaults: tuple[tuple[str, Any], ...] = ()
    _of_parameters: tuple[str, ...] = ("mean", "var", "std", "median", "entropy")  # methods that take no point

    _drawn_with: int | None = None  # so many parameters rvs takes
    _cdf: Any
    _sf: Any

    def __call__(self, *args: Any, **named: Any) -> Frozen:
        """The distribution with these parameters."""
        return Frozen(self, self._bind("", args, named))

    def __repr__(self) -> str:
        return f"<af.stats.{self._name}({', '.join(self._parameters)})>"

    def _bind(self, method: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The parameters in order. What has no place raises TypeError: no keyword is ignored."""
        call, names = f"af.stats.{self._name}{'.' if method else ''}{method}", self._parameters
        if len(args) > len(names):
            raise TypeError(f"{call} takes the parameters {', '.join(names)}, but was given {len(args)} by position")
        values = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{call} does not know {name}=. Its parameters are {', '.join(names)}")
            if name in values:
                raise TypeError(f"{call} was given {name} twice, by position and by name")
            values[name] = value
        values = {**dict(self._defaults), **values}
        if missing := [name for name in names if name not in values]:
            raise TypeError(f"{call} needs {', '.join(missing)} as well")
        return tuple(
            [v if (v := values[name]) is None or isinstance(v, (int, float)) else as_array(v) for name in names]
        )

    def _logcdf(self, x: Array, *shapes: Any) -> Array:
        return np.log(self._cdf(x, *shapes))

    def _logsf(self, x: Array, *shapes: Any) -> Array:
        return np.log(self._sf(x, *shapes))


class Frozen:
    """A distribution with its parameters: ``norm(1.0, 2.0)`` has the methods of ``norm``, without these arguments.

    >>> from autoflow import stats
    >>> stats.norm(1.0, 2.0).cdf(1.0)
    np.float64(0.5)
    """

    __slots__ = ("args", "dist")

    def __init__(self, dist: Any, args: tuple[Any, ...]) -> None:
        self.dist, self.args = dist, args

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not callable(method := getattr(self.dist, name, None)):
            raise AttributeError(f"af.stats.{self.dist._name} has no method {name!r}")
        if name in self.dist._of_parameters:
            return lambda: method(*self.args)
        if name == "rvs":
            return self._draws
        return lambda x: method(x, *self.args)

    def _draws(self, size: Any = None, random_state: Any = None) -> Array:
        given = {} if size is None else {"size": size}
        return self.dist.rvs(*self.args[: self.dist._drawn_with], random_state=random_state, **given)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self.dist) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<af.stats.{self.dist._name}({', '.join([str(numbers_of(v)) for v in self.args])})>"


def floats(x: Any) -> Array:
    """An array or node; of whole numbers floats."""
    x = as_array(x)
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


def chosen(inside: Array, z: Array, otherwise: Any, ok: Array) -> Array:
    """z where ``inside``; elsewhere ``otherwise``; NaN where the parameters are not ``ok``."""
    inside = inside & ok
    if is_on_host(inside) and np.all(inside):
        return z
    return np.where(inside, z, np.where(ok, otherwise, np.nan))


def harmless(inside: Array, z: Array, middle: float) -> Array:
    """z; where it is not ``inside``, a number from which everything can be computed, so that no NaN arises there."""
    return z if is_on_host(inside) and np.all(inside) else np.where(inside, z, middle)


def has_history(*xs: Any) -> bool:
    """Do gradients flow to any of these?"""
    return any([getattr(x, "requires_grad", False) is True for x in xs])


def refuse_history(name: str, parameters: tuple[str, ...], values: tuple[Any, ...], instead: str) -> None:
    """Draws that do not move with their parameters would lose the gradient."""
    held = [word for word, value in zip(parameters, values, strict=True) if has_history(value)]
    if held:
        raise NoRuleError(
            f"draws of af.stats.{name} do not move with {', '.join(held)}, so the gradient of the node there would be "
            f"lost. Draw with {held[0]}.value, and {instead}"
        )


def size_of(size: Any, *values: Any) -> tuple[int, ...]:
    """The shape of the draws: ``size``, or that of the parameters."""
    if size is None:
        return np.broadcast_shapes(*[np.shape(numbers_of(v)) for v in values])
    return (int(size),) if np.ndim(size) == 0 else tuple([int(n) for n in size])
