"""All methods of a distribution on the line, by its standard form: z = (x − loc)/scale.

First what all distributions share: a call takes shape parameters, then ``loc`` (and ``scale``), by position or by name.

A distribution of real numbers defines for the standard form, with its shape parameters: ``_support``, ``_logpdf``,
``_cdf``, ``_sf``, ``_ppf`` and ``_isf`` (the inverses of the last two), ``_mean``, ``_var``, ``_entropy`` (numbers, or
functions of the shape parameters); and ``_logcdf``, ``_logsf`` where the logarithm of ``_cdf``, ``_sf`` would vanish or
lose digits. For a density zᶜ (1 − z)ᵉ eʳ it defines c, e and r, as ``_powers``; e is None without a power of 1 − z.

A single formula is written as in a row of the table of rules, and formulas that belong together share a row: the lower
tail stands beside the upper one. The rest are methods. How loc and scale come in is written here, once.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import NoRuleError
from ...rules.distributions import log_powers, times_powers
from ...table.shapes import Array, as_array, as_dtype, floats, is_on_host, numbers_of, together, widen
from ..mirrors import Methods

if TYPE_CHECKING:
    from ...nodes.nodes import Node


FORMULA: Any = None  # what a distribution defines itself, or leaves out

# ---------------------------------------------------------------- what a call of a distribution means


class Distribution:
    """What all distributions share. A subclass has the names of its ``_parameters``, in SciPy's order, and the
    ``_defaults`` of the last ones; its methods are SciPy's.

    Calling it freezes it: ``norm(1.0, 2.0).logpdf(x)`` is ``norm.logpdf(x, 1.0, 2.0)``.
    """

    _name: str
    _parameters: tuple[str, ...]
    _defaults: tuple[tuple[str, Any], ...] = ()
    _drawn_with: int | None = None  # how many parameters rvs takes
    _valid = _powers = _logpdf = _cdf = _sf = _ppf = _isf = _mean = _var = _entropy = FORMULA
    _logcdf: Any = lambda self, x, *shapes: np.log(self._cdf(x, *shapes))
    _logsf: Any = lambda self, x, *shapes: np.log(self._sf(x, *shapes))

    def __call__(self, *args: object, **named: object) -> Frozen:
        """The distribution with these parameters."""
        return Frozen(self, self._bind("", args, named))

    def __getattr__(self, name: str) -> Any:
        """Methods without a rule are SciPy's: ``fit``, ``interval``, ``support`` ..."""
        if name.startswith("_") or name == "requires_grad":
            raise AttributeError(name)
        return getattr(self._scipys(), name)

    def _scipys(self) -> Methods:
        import scipy.stats

        return Methods(getattr(scipy.stats, self._name), f"scipy.stats.{self._name}")

    def __repr__(self) -> str:
        return f"<af.stats.{self._name}({', '.join(self._parameters)})>"

    def _bind(self, method: str, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The parameters in order. An argument without a place raises TypeError: no keyword is ignored."""
        call, names = f"af.stats.{self._name}{'.' if method else ''}{method}", self._parameters
        if len(args) > len(names):
            raise TypeError(f"{call} takes the parameters {', '.join(names)}, but was given {len(args)} by position")
        values = dict(zip(names, args, strict=False))
        for name in named:
            if name not in names:
                raise TypeError(f"{call} does not know {name}=. Its parameters are {', '.join(names)}")
            if name in values:
                raise TypeError(f"{call} was given {name} twice, by position and by name")
        values = {**dict(self._defaults), **values, **named}
        if missing := [name for name in names if name not in values]:
            raise TypeError(f"{call} needs {', '.join(missing)} as well")
        arguments = [getattr(v, "covariance", v) for v in map(values.get, names)]  # from SciPy's class Covariance
        # Whole numbers of few bits would overflow, and their logarithms would be in half precision.
        plain = (float, int, type(None))
        return tuple([v if type(v) in plain else widen(as_array(v), np.float16, "iub") for v in arguments])

    def _as_wide(self, z: Any, loc: Array) -> Array:
        """A number of the distribution that does not move with loc, but has its shape, as in SciPy."""
        z, shape = as_array(z), np.shape(numbers_of(loc))
        return z if shape in ((), z.shape) else np.broadcast_to(z, np.broadcast_shapes(z.shape, shape))


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
        if name.startswith("_") or name in self.__slots__:  # slots are empty while it is copied or unpickled
            raise AttributeError(f"a frozen distribution has no attribute {name!r}")
        if not callable(method := getattr(type(self.dist), name, None)):
            try:
                return getattr(self.dist._scipys()(*self.args), name)
            except ValueError as error:  # SciPy does not take these parameters
                raise AttributeError(f"this frozen distribution has no attribute {name!r}: {error}") from error
        if name == "rvs":
            return self._draws
        parameters = dict(zip(self.dist._parameters, self.args, strict=True))
        return lambda *x, **named: method(self.dist, *x, **parameters, **named)

    def _draws(self, size: object = None, random_state: Any = None) -> Array:
        options = {} if size is None else {"size": size}
        return self.dist.rvs(*self.args[: self.dist._drawn_with], random_state=random_state, **options)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self.dist) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<af.stats.{self.dist._name}({', '.join([str(numbers_of(v)) for v in self.args])})>"


def if_ok(inside: Array, z: Array, otherwise: Any, ok: Array) -> Array:
    """z where ``inside``; elsewhere ``otherwise``; NaN where the parameters are not ``ok``."""
    inside = inside & ok
    if is_on_host(inside) and np.all(inside):
        return z
    return np.where(inside, z, np.where(ok, otherwise, np.nan))


def harmless(inside: Array, z: Any, middle: float) -> Array:
    """z; outside, a number ``middle`` from which everything can be computed, so that no NaN arises."""
    if is_on_host(inside) and np.all(inside):
        return z
    return np.where(inside, z, middle)


def with_limits(
    compute: Any, operands: list[tuple[Any, float]], inside: Array, otherwise: Any, ok: Array, flat: Any = None
) -> Array:
    """compute(operands) where ``inside``, else the constant ``otherwise``, NaN where not ``ok``. No 0 · ∞ comes back:
    where a result is constant, its operands are replaced before anything is computed, each by the harmless number
    beside it. It is constant outside, and where ``flat`` is true for its value: where a density underflows, the
    derivative of its exponent may overflow.
    """
    inside = inside & ok
    value = compute(*[harmless(inside, x, middle) for x, middle in operands])
    if flat is not None and (not is_on_host(value) or has_history(value)):
        level = numbers_of(value)
        constant = inside & flat(level)
        if not is_on_host(constant) or np.any(constant):
            inside, otherwise = inside & ~constant, np.where(constant, level, otherwise)
            value = compute(*[harmless(inside, x, middle) for x, middle in operands])
    return if_ok(inside, value, otherwise, ok)


def has_history(*xs: Array) -> bool:
    """Do gradients flow to any of these?"""
    return any([getattr(x, "requires_grad", False) is True for x in xs])


def refuse_history(name: str, parameters: tuple[str, ...], values: tuple[Any, ...], instead: str) -> None:
    """Refuse nodes as parameters that draws do not move with: their gradient would be lost."""
    if names := [word for word, value in zip(parameters, values, strict=True) if has_history(value)]:
        raise NoRuleError(
            f"draws of af.stats.{name} do not move with {', '.join(names)}, so the gradient of the node there would be "
            f"lost. Draw with {names[0]}.value, and {instead}"
        )


def draw_with_scipy(name: str, values: Iterable[Any], size: object, random_state: object) -> Array:
    """SciPy's draws, which are plain. scipy.stats takes a second to load, so it is loaded here, at the first draw."""
    import scipy.stats

    return getattr(scipy.stats, name).rvs(*map(numbers_of, values), size=size, random_state=random_state)


def size_of(size: Any, *values: Array) -> tuple[int, ...]:
    """The shape of the draws: ``size``, or that of the parameters, each of which has its own draws. (Leading axes of
    length 1 before those of ``size`` are ignored, as in SciPy.)"""
    shape = np.broadcast_shapes(*[np.shape(numbers_of(v)) for v in values])
    size = shape if size is None else (int(size),) if np.ndim(size) == 0 else tuple([int(n) for n in size])
    if math.prod(np.broadcast_shapes(shape, size)) != math.prod(size):
        raise ValueError(f"draws of shape {size} are too few for parameters of shape {shape}")
    return size


# ---------------------------------------------------------------- distributions of real numbers


def formulas(*functions: Callable[..., Any]) -> tuple[Any, ...]:
    """Formulas in one row of a class: functions of the point and the shape parameters, without ``self``."""
    return tuple([staticmethod(f) for f in functions])


def tails_of(other: Continuous, operands: Callable[..., tuple[Any, ...]], *, mirrored: bool = False) -> tuple[Any, ...]:
    """``_cdf``, ``_sf``, ``_logcdf`` and ``_logsf`` from another distribution: ``operands`` computes its point and
    shape parameters from ours. ``mirrored``: its point falls as ours rises, so the tails are swapped."""
    names = ("_sf", "_cdf", "_logsf", "_logcdf") if mirrored else ("_cdf", "_sf", "_logcdf", "_logsf")
    return formulas(*[lambda *xs, name=name: getattr(other, name)(*operands(*xs)) for name in names])


RANGE = 1e-300, 1e300


def within_range(z: Array, d: Array) -> Array:
    """z = d/scale; where that is 0 or infinite although d is not, an end of the range of numbers. Plain."""
    gone = ((z == 0) & (d != 0)) | (np.isinf(z) & np.isfinite(d))
    if is_on_host(gone) and not np.any(gone):
        return z
    return np.where(gone, np.sign(d) * np.clip(np.absolute(z), *RANGE), z)


def move(z: Array, loc: Array, scale: Array) -> Array:
    """loc + scale z."""
    z = z if _is(scale, 1) else z * scale
    return z if _is(loc, 0) else z + loc


class Continuous(Distribution):
    """A distribution of real numbers."""

    _shapes: tuple[str, ...] = ()
    _support: tuple[float, float] = (-math.inf, math.inf)
    _middle = 0.5  # a point inside every support except that of pareto
    _defaults = ("loc", 0), ("scale", 1)
    _order = FORMULA  # p of the shape parameters: cdf ~ zᵖ at 0, where the support begins; else sf ~ z⁻ᵖ at infinity
    _drawn_by = ""  # SciPy's name for the standard form, if it is not that of the distribution

    def __init_subclass__(cls) -> None:
        cls._parameters = (*cls._shapes, "loc", "scale")

    # -- the standard form ---------------------------------------------------------------------------------------------

    def _valid(self, *shapes: object) -> Array:
        """Does such a distribution exist? Plain."""
        return functools.reduce(operator.and_, [numbers_of(v) > 0 for v in shapes], True)

    def _standard(self, call: str, args: Any, named: Any) -> tuple[list[Any], Any, Any]:
        """The shape parameters of the standard form, loc and scale."""
        *shapes, loc, scale = self._bind(call, args, named)
        return shapes, loc, scale

    # -- at a point ----------------------------------------------------------------------------------------------------

    def _at(self, method: str, x: Any, args: Any, named: object, *, closed: bool, below: float, above: float) -> Array:
        """The standard form's method inside the support (``closed``: with its ends); elsewhere ``below``, ``above``."""
        shapes, loc, scale = self._standard(method[1:], args, named)
        x = floats(x)
        with np.errstate(all="ignore"):  # outside the support, or if the parameters are invalid
            away, (low, high) = numbers_of(x) - numbers_of(loc), self._support
            exact = away / numbers_of(scale)
            at = within_range(exact, away)
            ok = self._valid(*shapes) & (numbers_of(scale) > 0) & (at == at)
            inside = (at >= low) & (at <= high) if closed else (at > low) & (at < high)
            otherwise: Any = below if below == above else np.where(at < high, below, above)
            beyond = self._beyond(method, at)

            def compute(x: Array, place: object, size: Any, *shapes: object) -> Array:
                d = x if _is(place, 0) else x - place
                if beyond is None:
                    return self._standard_form(method, d, self._point(d, size), size, shapes)
                power, end = self._order(*shapes) + (method == "_logpdf"), np.where(beyond, at, 1)
                further = np.log(np.where(beyond, d, 1) / end) - np.log(np.where(beyond, size, 1))
                z = self._point(np.where(beyond, end, d), np.where(beyond, 1, size))
                value = self._standard_form(method, d, z, size, shapes)
                return value + (power if low == 0 else -power) * further

            safe = [(x, self._middle), (loc, 0), (scale, 1), *[(v, 0.5) for v in shapes]]
            plain = [numbers_of(v) for v in shapes]
            flat = functools.partial(self._flat, method, exact if method == "_pdf" else at, plain)
            return with_limits(compute, safe, inside, otherwise, ok, flat)

    def _point(self, d: Array, scale: Array) -> Array:
        """The point of the standard form, d/scale."""
        return d if _is(scale, 1) else d / scale

    def _beyond(self, method: str, at: Array) -> Any:
        """Where z is beyond the range of numbers, and the logarithm continues as that of a power; None for nowhere."""
        tiny, huge = RANGE
        if self._order is None or (method == "_logpdf" and self._powers is not None):
            return None
        if self._support[0] == 0:
            ends = {"_logcdf": at == tiny}
        else:
            ends = {"_logcdf": at == -huge, "_logsf": at == huge, "_logpdf": np.absolute(at) == huge}
        mask = ends.get(method)
        return None if mask is None or (is_on_host(mask) and not np.any(mask)) else mask

    def _standard_form(self, method: str, d: Array, z: Array, scale: Any, shapes: Any) -> Array:
        """The method of the standard form at z. A density, or its logarithm, is taken at d = scale z: a power of z is a
        power of d times one of scale. Each has its limit at 0, where the derivative with respect to z may be infinite
        and dz/dscale is 0."""
        if method not in ("_logpdf", "_pdf"):
            return getattr(self, method)(z, *shapes)
        if self._powers is None:
            value = self._logpdf(z, *shapes)
            value = value if _is(scale, 1) else value - np.log(scale)
            return value if method == "_logpdf" else np.exp(value)
        kind = np.result_type(*[getattr(v, "dtype", v) for v in (z, *shapes)])
        d, z, scale, *shapes = [widen(v, np.float64) for v in (d, z, scale, *shapes)]  # large terms cancel
        c, e, rest = self._powers(z, *shapes)
        e, z = (0.0, 0.0) if e is None else (e, z)
        rest = rest if _is(scale, 1) else rest - (c + 1) * np.log(scale)
        return as_dtype((log_powers if method == "_logpdf" else times_powers)(*together(c, d, e, z, rest)), kind)

    def _flat(self, method: str, at: Array, shapes: list[Any], value: Array) -> Array:
        """Where the function is constant to the last digit, although inside: its slope is 0 there."""
        if method == "_logpdf":
            return False
        if method == "_pdf":
            if self._powers is None:
                return value == 0
            low, high = self._support
            return (value == 0) & ((self._powers(at, *shapes)[2] == -np.inf) | ((at != low) & (at != high)))
        full = value == 0 if "log" in method else value == 1
        if not is_on_host(full) or np.any(full):
            rest = self._sf if "cdf" in method else self._cdf
            gone = rest(self._point(np.where(full, at, self._middle), 1), *shapes) == 0
            full = full & (gone | (np.absolute(at) == RANGE[1]))
        return full if "log" in method else full | (value == 0)

    def logpdf(self, x: Array, *args: object, **named: object) -> Node:
        """The logarithm of the density; −∞ outside the support. Shapes broadcast."""
        return self._at("_logpdf", x, args, named, closed=True, below=-math.inf, above=-math.inf)

    def pdf(self, x: Array, *args: object, **named: object) -> Node:
        """The density; 0 outside the support."""
        return self._at("_pdf", x, args, named, closed=True, below=0.0, above=0.0)

    def cdf(self, x: Array, *args: object, **named: object) -> Node:
        """The probability of at most x."""
        return self._at("_cdf", x, args, named, closed=False, below=0.0, above=1.0)

    def sf(self, x: Array, *args: object, **named: object) -> Node:
        """The probability of more than x, exact where 1 − cdf is 0."""
        return self._at("_sf", x, args, named, closed=False, below=1.0, above=0.0)

    def logcdf(self, x: Array, *args: object, **named: object) -> Node:
        """The logarithm of cdf."""
        return self._at("_logcdf", x, args, named, closed=False, below=-math.inf, above=0.0)

    def logsf(self, x: Array, *args: object, **named: object) -> Node:
        """The logarithm of sf."""
        return self._at("_logsf", x, args, named, closed=False, below=0.0, above=-math.inf)

    def _inverse(self, method: str, q: Array, args: object, named: object, ends: tuple[float, float]) -> Array:
        """loc + scale times the standard form's quantile."""
        shapes, loc, scale = self._standard(method[1:], args, named)
        q = floats(q)
        with np.errstate(all="ignore"):
            at = numbers_of(q)
            ok = self._valid(*shapes) & (numbers_of(scale) > 0) & (at >= 0) & (at <= 1)
            inside = ((at > 0) | math.isfinite(ends[0])) & ((at < 1) | math.isfinite(ends[1]))
            safe = [(v, 0.5) for v in (q, *shapes)]
            z = with_limits(getattr(self, method), safe, inside, np.where(at == 0, *ends), ok)
            return move(z, loc, scale)

    def ppf(self, q: Array, *args: object, **named: object) -> Node:
        """The quantile: the x with cdf(x) = q. NaN where q is not a probability."""
        return self._inverse("_ppf", q, args, named, self._support)

    def isf(self, q: Array, *args: object, **named: object) -> Node:
        """The x with sf(x) = q."""
        return self._inverse("_isf", q, args, named, self._support[::-1])

    # -- of the parameters ---------------------------------------------------------------------------------------------

    def _moment(self, method: str, args: object, named: object, moved: Callable[..., Any]) -> Array:
        """``moved`` of the standard form's number, loc and scale."""
        shapes, loc, scale = self._standard(method[1:], args, named)
        moment = getattr(self, method)
        with np.errstate(all="ignore"):
            ok = self._valid(*shapes) & (numbers_of(scale) > 0) & (numbers_of(loc) == numbers_of(loc))
            z = if_ok(ok, moment(*shapes) if callable(moment) else moment, np.nan, ok)
        return self._as_wide(moved(z, loc, scale), loc)

    def mean(self, *args: object, **named: object) -> Node:
        """The expectation of x."""
        return self._moment("_mean", args, named, move)

    def var(self, *args: object, **named: object) -> Node:
        """The variance."""
        return self._moment("_var", args, named, lambda z, loc, scale: z * scale * scale)

    def std(self, *args: object, **named: object) -> Node:
        """The standard deviation."""
        return self._moment("_var", args, named, lambda z, loc, scale: np.sqrt(z) * scale)

    def entropy(self, *args: object, **named: object) -> Node:
        """The expectation of −logpdf(x)."""
        return self._moment("_entropy", args, named, lambda z, loc, scale: z + np.log(scale))

    def median(self, *args: object, **named: object) -> Node:
        """The quantile of 1/2."""
        return self.ppf(0.5, *args, **named)

    # -- draws ---------------------------------------------------------------------------------------------------------

    def rvs(self, *args: object, size: object = None, random_state: object = None, **named: object) -> Node:
        """Draws: SciPy's, for the same parameters and ``random_state``, and they move with nodes among the parameters.

        x = loc + scale z moves with loc and scale. With a shape parameter a draw z moves so that its cdf stays the
        same: it is computed again as the quantile of its own probability, equal up to rounding.

        >>> import autoflow as af
        >>> from autoflow import stats
        >>> scale = af.Variable(2.0)
        >>> x = stats.expon.rvs(0.0, scale, size=3, random_state=0)
        >>> x.sum().backward()
        >>> bool(scale.grad == x.sum().value / 2)
        True
        """
        if len(args) == len(self._parameters) + 1 and size is None:  # SciPy's order: shapes, loc, scale, size
            args, size = args[:-1], args[-1]
        shapes, loc, scale = self._standard("rvs", args, named)
        if not np.all(self._valid(*shapes) & (numbers_of(scale) >= 0)):
            raise ValueError(f"af.stats.{self._name}.rvs: there is no such distribution (a parameter is out of range)")
        shape = size_of(size, *shapes, loc, scale)
        z = draw_with_scipy(self._drawn_by or self._name, shapes, shape, random_state)
        x = move(self._follow(z, *shapes), loc, scale)
        return x if np.shape(numbers_of(x)) == shape else x.reshape(shape)

    def _follow(self, z: Array, *shapes: object) -> Array:
        """Draws of the standard form as quantiles that move with the shape parameters."""
        if not has_history(*shapes):
            return z
        z, fixed = as_array(z), [numbers_of(v) for v in shapes]
        at = self._point(z, 1)
        lower = self._cdf(at, *fixed)
        below = lower < 0.5
        low, high = np.where(below, lower, 0.25), np.where(below, 0.25, self._sf(at, *fixed))
        return np.where(below, self._ppf(low, *shapes), self._isf(high, *shapes))


class Symmetric(Continuous):
    """A distribution symmetric around 0: the probability above z is that below −z."""

    _sf: Any = lambda self, z, *shapes: self._cdf(-z, *shapes)
    _logsf: Any = lambda self, z, *shapes: self._logcdf(-z, *shapes)
    _isf: Any = lambda self, q, *shapes: -self._ppf(q, *shapes)


def _is(value: Array, number: int) -> bool:
    """Is it the default? Then nothing is computed with it, and a picture of the graph has a box less."""
    return type(value) is int and value == number
