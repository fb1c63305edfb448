"""A copy of a SciPy function is used if it was proved, once for each function and kind of arguments; which of the
numbers that SciPy treats specially (0, 1, NaN ...) occur belongs to the kind. Results without a history are proved at
each call.

A proof: the copy has SciPy's values; they stay the same when code that reads the memory of a node finds other numbers
there, as ``af.grad`` checks its functions (``transforms/shadow.py``); and in some direction its derivative is that of
SciPy's values. (Where the differences to both sides disagree there is a kink, and the derivative lies between them.)
"""

from __future__ import annotations

import functools
import itertools
import math
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..backprop.passes import run_pass
from ..base.errors import NoRuleError
from ..base.modes import switched
from ..nodes.nodes import NodeRole, Variable, gradient_target, value_of
from ..table.bodies import kept_in
from ..table.shapes import innermost
from ..transforms.shadow import checked_run
from .bodies import COPIES, SEEN, attributes, in_copies, is_copy, is_lazy, is_ours, load_rules, replaced

PROVED: dict[Any, str] = {}  # functions and kinds of arguments -> "plain", "code" or "flat"
MANY = 10_000  # this many are remembered
APART = -1.0, 0.0, 1.0, 2.0  # see numbers_apart
ADVICE = "write it with functions that have a derivative, or use x.value if only the numbers are meant"
SEARCH = "it searches in steps: use af.implicit.root, af.implicit.argmin, af.implicit.fixed_point or af.minimize"
EQUATION = "use af.integrate.odeint, af.integrate.solve_ivp or af.integrate.quad"
INTEGRATE = "cubature ode complex_ode solve_bvp dblquad nquad quad_vec tplquad"
POWERS = "boxcox", "yeojohnson"  # these search for a power only if none is given
FITS = "boxcox boxcox_normmax fit ppcc_max yeojohnson yeojohnson_normmax"


def remedy(name: str, power: object = None) -> str:
    """What to use instead of a function that a copy would unroll; empty for any other. ``power``: its lmbda."""
    home, _, last = name.rpartition(".")
    is_search = home == "scipy.optimize" and not (last.startswith("rosen") or last == "linear_sum_assignment")
    if is_search or (home == "scipy.stats" and last in FITS.split() and (power is None or last not in POWERS)):
        return SEARCH
    return EQUATION if home == "scipy.integrate" and last in INTEGRATE.split() else ""


def check_proof(theirs: object, name: str, args: Any, options: Any) -> str:
    """Raise NoRuleError if a copy of the function may not be used: found once for each kind of arguments. "plain" if
    the result has no floating-point numbers, and so no derivative to lose; "flat" if it does not change here, but may
    do so elsewhere: that is checked in each call."""
    if advice := remedy(name, *args[1:2] or [options.get("lmbda")]):
        raise NoRuleError(f"{name} of a node has no derivative here: {advice}")
    key = name, tuple(map(kind, args)), tuple([(k, kind(v)) for k, v in options.items()])
    if PROVED.get(key, "flat") == "flat":
        if len(PROVED) > MANY:
            PROVED.clear()
        PROVED[key] = prove(theirs, name, args, options)
    return PROVED[key]


def check_history(z: object, theirs: object, name: str, args: object, options: object) -> None:
    """The same for a result without a history, if a call of this kind had one: SciPy's code may have branched."""
    parts = list(leaves(z))
    if parts and not is_ours(parts):
        prove(theirs, name, args, options)


def with_errors(ours: Callable[[], Any], theirs: Any, args: Any, options: Any) -> Any:
    """The result of ``ours()``. Where it is not finite SciPy decides: of a batch of plain numbers (an example where it
    raises an error, or gives numbers, is a doubt); also of nodes where its code makes Python's numbers, in which ``1 /
    float(x)`` is an error, if the arguments are finite."""
    outer, SEEN.floats = SEEN.floats, False
    z = ours()
    has_floats, SEEN.floats = SEEN.floats, SEEN.floats or outer
    kept = kept_in([*args, *options.values()])
    if not (is_plain := all(map(is_plain_batch, kept))) and not has_floats:
        return z
    layers = [x.batch_layer for x in map(value_of, kept) if hasattr(x, "batch_layer")]
    layer = max(layers, key=lambda layer: layer.depth, default=None)
    results = [*leaves(z)]
    for k in np.flatnonzero(~are_finite(results) & (is_plain or are_finite(kept))).tolist():
        alone = functools.partial(example, wrap=lambda x: x[()], k=k)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                one = theirs(*[numbers(alone(x)) for x in args], **{n: numbers(alone(v)) for n, v in options.items()})
        except Exception:
            if layer is None:
                raise
            one = None
        pairs = itertools.zip_longest(map(np.isfinite, map(alone, results)), map(np.isfinite, leaves(one)))
        if layer is not None and not (layer.depth == 1 and all(itertools.starmap(np.array_equal, pairs))):
            layer.doubt("an error of SciPy's, or a result that is not finite,")
    return z


def is_plain_batch(x: Any) -> bool:
    """Is it a batch of numbers, without nodes inside or around it?"""
    while hasattr(x, "inner"):
        x = x.inner
    return type(x) is np.ndarray


def are_finite(x: Any) -> Any:
    """Are the numbers in it finite? One answer for each example of a batch."""
    if isinstance(x, list):
        return functools.reduce(np.logical_and, map(are_finite, x), np.True_)
    array, batch = innermost(x), value_of(x)
    if type(array) is not np.ndarray or array.dtype.kind not in "fc":
        return np.True_
    is_mapped = getattr(batch, "mapped", False) and type(value_of(batch.inner)) is np.ndarray
    return np.isfinite(array).all(tuple(range(is_mapped, array.ndim)))


def numbers(x: Any) -> Any:
    """Plain arrays in place of nodes; SciPy's objects in place of copies."""
    if type(x) in (list, tuple) and any([isinstance(v, (NodeRole, list, tuple)) or is_copy(v) for v in x]):
        return type(x)(map(numbers, x))
    if is_copy(x):
        return replaced(x, type(x).__bases__[-1], numbers)
    return value_of(x) if isinstance(x, NodeRole) else x.scipys if hasattr(type(x), "scipys") else x


def kind(x: Any) -> Any:
    """What two calls must have in common for one proof to hold for both."""
    if isinstance(x, (list, tuple, dict)):
        return type(x), *map(kind, x.items() if isinstance(x, dict) else x)
    if is_copy(x):
        return type(x), kind([*attributes(x).values()])
    if isinstance(x, np.inexact) or (hasattr(x, "dtype") and not isinstance(x, np.generic)):
        return x.shape, x.dtype, is_ours(x), type(x).__name__, numbers_apart(value_of(x))
    if isinstance(x, (str, int, float, np.generic)):
        return type(x), x
    return type(x), getattr(x, "__code__", getattr(x, "__qualname__", None))


def numbers_apart(x: object) -> tuple[bool, ...] | None:
    """Which numbers that code may treat specially are among the elements: often a formula has its limit there."""
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "fc":
        return None
    y: Any = x
    with np.errstate(all="ignore"):
        whole, total = y[np.rint(y) == y], np.sum(y)
    odd = () if np.isfinite(total) else (np.isnan(y).any(), np.isinf(y).any())
    return *[bool(np.any(whole == v)) for v in APART], *map(bool, odd)


def example(x: Any, wrap: Callable[[Any], Any], k: int = 0) -> Any:
    """An argument for a trial call: numbers in double precision, those of nodes wrapped; of a batch, example k."""
    if not is_ours(x):
        return numbers(x)
    if isinstance(x, dict):
        return {name: example(v, wrap, k) for name, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)([example(v, wrap, k) for v in x])
    if is_copy(x):
        return replaced(x, type(x), lambda v: example(v, wrap, k))
    y = value_of(x)
    while type(y) is not np.ndarray and hasattr(y, "inner"):
        y = value_of(value_of(y.inner)[k, ...] if y.mapped else y.inner)
    if type(y) is not np.ndarray:  # it is being compiled, and has no numbers yet
        y = np.random.default_rng(0).uniform(0.5, 1.5, x.shape)
    return wrap(y.astype(np.result_type(y.dtype, np.float64))) if x.dtype.kind in "fc" else y[()]


def prove(theirs: object, name: str, args: Any, options: Any) -> str:
    """Raise NoRuleError if a copy of the function loses a gradient, or gives different whole numbers."""
    load_rules()
    SEEN.array = None
    inputs: list[Any] = []

    def call(f: Any, wrap: Callable[[Any], Any]) -> list[Any]:
        change = numbers if f is theirs else in_copies
        arguments = [change(example(x, wrap)) for x in args]
        return list(leaves(f(*arguments, **{k: change(example(v, wrap)) for k, v in options.items()}), "fciub"))

    def variable(x: object) -> Any:
        inputs.append(Variable(x))
        return inputs[-1]

    why, cause = "it continues in C, or with the numbers alone", None
    clean: dict[str, Any] = {"depth": 0, "layer": None, "wrap_open_record": None, "listeners": (), "autocast": None}
    with switched(**clean, recording=True), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = call(theirs, lambda x: np.array(x)[()])  # a scalar, where it wants one
        except TypeError:  # it wants an array of no dimensions
            expected = call(theirs, np.array)
        try:
            is_inexact = any([np.result_type(value_of(x)).kind in "fc" for x in expected])
            if expected and not (is_inexact or any(map(is_lazy, kept_in([*args, *options.values()])))):
                return "plain"
            outputs = checked_run(lambda: call(COPIES.find(theirs), variable))
            if all([has_values(x, y) for x, y in itertools.zip_longest(outputs, expected)]):
                why = "its derivative is not that of its values"
                if is_slope(outputs, inputs, lambda move: call(theirs, move)):
                    return "code" if is_ours(outputs) else "flat"
        except Exception as error:
            why, cause = f"{type(error).__name__}: {error}".partition("\n")[0], error
    raise NoRuleError(f"{name} of a node has no derivative here ({why}): {ADVICE}") from cause


def has_values(x: object, y: object) -> bool:
    """Are these the same numbers, up to rounding relative to the largest?"""
    x, y = np.asarray(value_of(x)), np.asarray(y)
    size = np.max(np.abs(y), initial=0.0, where=np.isfinite(y))
    return x.shape == y.shape and np.allclose(x, y, 0, 1e-9 * size, equal_nan=True)


def is_slope(outputs: list[Any], inputs: list[Any], call: Callable[[Any], list[Any]]) -> bool:
    """Does the derivative of the results, in one direction, agree with differences of SciPy's values?"""
    rng = np.random.default_rng(0)
    here = [np.asarray(value_of(x)) for x in outputs]
    weights = [rng.normal(size=y.shape) * turn(y) for y in here]
    steps = [rng.uniform(0.5, 1.5, x.shape) * np.maximum(np.abs(x.value), 0.1) * turn(x) for x in inputs]

    def loss(results: list[Any]) -> Any:
        """Results that are not finite here are left out; those that are so only beyond a domain's end stay as here."""
        total: Any = 0.0
        for z, y, w in zip(results, here, weights, strict=True):
            ends = np.where(np.isfinite(y), y, 0)
            total = total + np.sum(np.real(np.where(np.isfinite(value_of(z)) & np.isfinite(y), z, ends) * w))
        return total

    def moved(h: float) -> float:
        left = iter(steps)
        return float(loss(call(lambda x: x + h * next(left))))

    sent_to: dict[int, Any] = {}  # not x.grad: a result may also depend on the user's nodes
    if gradient_target(total := loss(outputs)) is not None:
        sent_to = {id(x): g for x, g in run_pass(total)}
    sent: Any = np.zeros(1)
    some = any([np.isfinite(g).any() for g in sent_to.values()])  # then a NaN is a real one, to be left out
    for k, x in enumerate(inputs):
        g = sent_to.get(id(x), 0.0)
        stays = ~np.isfinite(x.value) | ((some | np.isin(x.value, APART)) & ~np.isfinite(g))  # as for log at 0
        steps[k] = np.where(stays, 0, steps[k])
        sent = np.append(sent, np.real(np.conjugate(np.where(stays, 0, g)) * steps[k]))
    middle, slope = float(value_of(total)), float(np.sum(sent))
    size = np.sum(np.abs(sent))
    for h in 1e-6, 1e-7, 1e-8:  # closer, if there is a jump on the way
        left, right = sorted([(middle - moved(-h)) / h, (moved(h) - middle) / h])
        if not (jumps := right - left > 1e3 * (size + abs(middle)) + 1):
            break
    slack = 1e-5 * (size + abs(left)) + 1e-14 / h * abs(middle) + 1e-9
    if not sent_to:  # without a gradient, a jump or a kink is no excuse; a stationary point is flatter nearby
        change = max(-left, right)
        near = [math.inf] if jumps else [abs(moved(k) - middle) * 10 / h for k in (-h / 10, h / 10)]
        return change <= slack or max(near) < change / 5
    return bool(left - slack <= slope <= right + slack)


def turn(x: Any) -> complex:
    """A factor for directions and weights, so that both parts of complex numbers matter."""
    return 1 + 0.5j if x.dtype.kind == "c" else 1


def leaves(x: Any, kinds: str = "fc") -> Iterator[Any]:
    """The floating-point numbers in a result: in containers, and in attributes of objects. p-values are numbers.

    kinds : those of the dtypes that count.
    """
    if isinstance(x, (int, float, complex, np.generic, np.ndarray)) or hasattr(x, "takes_primitives"):
        if np.result_type(x).kind in kinds:
            yield x
        elif np.result_type(x).kind == "O":
            yield from leaves(np.asarray(x).tolist(), kinds)
    elif isinstance(x, (list, tuple, dict)) or (hasattr(x, "__dict__") and not isinstance(x, types.ModuleType)):
        named = zip(getattr(x, "_fields", range(len(x))), x, strict=True) if isinstance(x, (list, tuple)) else None
        for key, v in named or (x if isinstance(x, dict) else attributes(x)).items():
            if key != "pvalue" and (not callable(v) or is_copy(v) or str(type(v).__module__).startswith("scipy.")):
                yield from leaves(v, kinds)
    elif str(type(x).__module__).startswith("scipy.") and not callable(x):
        raise NoRuleError(f"a {type(x).__name__} of a node has no derivative here (C holds its numbers): {ADVICE}")
