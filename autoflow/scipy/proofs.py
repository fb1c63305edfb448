"""A copy of a function of SciPy's is used if it was proved, once for each function and kind of arguments.

It has SciPy's values; they stay what they are when whoever reads the memory of a node, or takes a float out of it,
finds other numbers there (``transforms/shadow.py``); and in some direction its derivative is that of SciPy's values.
(Where the differences to both sides disagree there is a kink, and the derivative is between them.)
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..base.errors import NoRuleError
from ..base.modes import TAKEN, TRUE, modes, switched
from ..nodes.nodes import NodeRole, Variable, gradient_target, value_of
from .bodies import SEEN, copied, in_copies, is_copy, is_ours, load_rules, replaced

PROVED: set[Any] = set()  # functions and kinds of arguments
ADVICE = "write it with functions that have a derivative, or use x.value if only the numbers are meant"


SEARCH = "it searches in steps: use af.implicit.root, af.implicit.argmin, af.implicit.fixed_point or af.minimize"
SOLVES = "use af.integrate.odeint or af.integrate.solve_ivp"
AREA = "use af.integrate.quad"
# What a copy of a function would unroll, and what to use instead.
REMEDIES = {f"scipy.{name}": advice for advice, names in {
    SEARCH: """
        optimize.anderson optimize.basinhopping optimize.bisect optimize.bracket optimize.brent optimize.brenth
        optimize.brentq optimize.broyden1 optimize.broyden2 optimize.brute optimize.curve_fit optimize.diagbroyden
        optimize.differential_evolution optimize.direct optimize.dual_annealing optimize.excitingmixing
        optimize.fixed_point optimize.fmin optimize.fmin_bfgs optimize.fmin_cg optimize.fmin_cobyla
        optimize.fmin_l_bfgs_b optimize.fmin_ncg optimize.fmin_powell optimize.fmin_slsqp optimize.fmin_tnc
        optimize.fminbound optimize.fsolve optimize.golden optimize.isotonic_regression optimize.least_squares
        optimize.leastsq optimize.linearmixing optimize.linprog optimize.lsq_linear optimize.milp optimize.minimize
        optimize.minimize_scalar optimize.newton optimize.newton_krylov optimize.nnls optimize.quadratic_assignment
        optimize.ridder optimize.root optimize.root_scalar optimize.shgo optimize.toms748
        stats.boxcox stats.boxcox_normmax stats.fit stats.ppcc_max stats.yeojohnson stats.yeojohnson_normmax""",
    SOLVES: "integrate.ode integrate.complex_ode integrate.solve_bvp",
    AREA: "integrate.dblquad integrate.nquad integrate.quad_vec integrate.tplquad",
}.items() for name in names.split()}  # fmt: skip


def on_nodes(theirs: Any, name: str) -> Any:
    """SciPy's function, for nodes and arrays: a gradient, or NoRuleError."""

    def run(*args: Any, **options: Any) -> Any:
        if not modes().recording or not any(map(is_ours, (*args, *options.values()))):
            return in_ours(theirs(*map(numbers, args), **{k: numbers(v) for k, v in options.items()}))
        if name in REMEDIES:
            raise NoRuleError(f"{name} of a node has no derivative here: {REMEDIES[name]}")
        key = id(theirs), tuple(map(kind, args)), tuple([(k, kind(v)) for k, v in options.items()])
        if key not in PROVED:
            prove(theirs, name, args, options)
            PROVED.add(key)
        return copied(theirs)(*map(in_copies, args), **{k: in_copies(v) for k, v in options.items()})

    run.__name__ = run.__qualname__ = name.rpartition(".")[2]
    run.__module__ = "autoflow." + name.rpartition(".")[0]
    run.__doc__ = (theirs.__doc__ or "").partition(">>>")[0]  # SciPy's examples are SciPy's to run
    return run


def in_ours(x: Any) -> Any:
    """An object of a public class of SciPy's as one of ours, which it is by that name; anything else as it is."""
    home = type(x).__module__.partition("._")[0]
    if not home.startswith("scipy.") or not hasattr(x, "__dict__") or isinstance(x, (tuple, dict)):
        return x
    with contextlib.suppress(ImportError, AttributeError, TypeError):
        kind = getattr(import_module(f"autoflow.{home}"), type(x).__name__)
        if issubclass(kind, type(x)):
            return replaced(x, kind, lambda v: v)
    return x


def never_lost(kind: type) -> type:
    """A copied class, whose public methods raise NoRuleError if of an object with nodes they give numbers alone."""

    def checked(method: Any, name: str) -> Any:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **options: Any) -> Any:
            z = method(self, *args, **options)
            if not modes().recording or not is_ours([self, *args, *options.values()]):
                return z
            made = name == "__init__"  # what is made of nodes holds some
            parts = list(leaves(self if made and type(self) is kind else z))
            if parts and not is_ours(parts):
                raise NoRuleError(f"{kind.__name__}.{name} has no derivative here (it gives numbers alone): {ADVICE}")
            return z

        return run

    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        if type(method) is types.FunctionType and (name[0] != "_" or name in OPERATORS):
            setattr(kind, name, checked(method, name))
    return kind


OPERATORS = [f"__{name}__" for name in (
    "abs", "add", "call", "getitem", "init", "matmul", "mul", "neg", "pow", "radd", "rmatmul", "rmul", "rsub", "sub",
    "truediv",
)]  # fmt: skip


def numbers(x: Any) -> Any:
    """Plain arrays, of the numbers of nodes; SciPy's objects."""
    if type(x) in (list, tuple) and any([isinstance(v, (NodeRole, list, tuple)) or is_copy(v) for v in x]):
        return type(x)(map(numbers, x))
    if is_copy(x):
        return replaced(x, type(x).__bases__[-1], numbers)
    return value_of(x) if isinstance(x, NodeRole) else x


def kind(x: Any) -> Any:
    """What two calls must have in common to be proved by one of them."""
    if isinstance(x, (list, tuple)):
        return type(x), *map(kind, x)
    if hasattr(x, "dtype"):
        return x.shape, x.dtype, is_ours(x), type(x).__name__
    return (type(x), x) if isinstance(x, (str, int, float, type(None))) else (type(x), id(x) if callable(x) else 0)


def example(x: Any, wrap: Callable[[Any], Any]) -> Any:
    """An argument of a call that is tried: numbers in double precision, those of nodes wrapped."""
    if not is_ours(x):
        return numbers(x)
    if isinstance(x, (list, tuple)):
        return type(x)([example(v, wrap) for v in x])
    if is_copy(x):
        return replaced(x, type(x), lambda v: example(v, wrap))
    y = value_of(x)
    while type(y) is not np.ndarray and hasattr(y, "inner"):  # of a batch the first one
        y = value_of(value_of(y.inner)[0])
    if type(y) is not np.ndarray:  # it is being compiled, and has no numbers yet
        y = np.random.default_rng(0).uniform(0.5, 1.5, x.shape)
    return wrap(y.astype(np.result_type(y.dtype, np.float64))) if x.dtype.kind in "fc" else y


def prove(theirs: Any, name: str, args: Any, options: Any) -> None:
    """Raise NoRuleError if a copy of the function loses a gradient."""
    load_rules()
    SEEN.array = None

    def call(f: Any, wrap: Callable[[Any], Any]) -> list[Any]:
        change = numbers if f is theirs else in_copies
        given = [change(example(x, wrap)) for x in args]
        return list(leaves(f(*given, **{k: change(example(v, wrap)) for k, v in options.items()})))

    why, cause = "it goes on in C, or with the numbers alone", None
    clean: dict[str, Any] = {"depth": 0, "layer": None, "wrap_open_record": None, "listeners": (), "autocast": None}
    with switched(**clean, recording=True), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected, inputs = call(theirs, np.array), []
        try:
            with switched(shadow=TRUE):
                found = call(copied(theirs), lambda x: (inputs.append(Variable(x)), inputs[-1])[1])  # type: ignore[func-returns-value]
                again = call(copied(theirs), Variable)  # it may draw random numbers, and be right
            with switched(shadow=TAKEN):
                others = call(copied(theirs), Variable)
            if apart(expected, found) <= 2.0**-30 and apart(found, others) <= max(2.0**-46, 4 * apart(found, again)):
                why = "its derivative is not that of its values"
                if is_slope(found, inputs, lambda move: call(theirs, move)):
                    return
        except Exception as error:
            why, cause = f"{type(error).__name__}: {error}".partition("\n")[0], error
    raise NoRuleError(f"{name} of a node has no derivative here ({why}): {ADVICE}") from cause


def apart(a: list[Any], b: list[Any]) -> float:
    """The largest difference between two results, in shares of the largest number; infinity for other shapes."""
    a, b = [[np.asarray(value_of(x)) for x in xs] for xs in (a, b)]
    if [x.shape for x in a] != [x.shape for x in b] or any(
        [np.any(np.isnan(x) != np.isnan(y)) for x, y in zip(a, b, strict=True)]
    ):
        return np.inf
    scale = [np.max(np.abs(x), initial=0.0, where=np.isfinite(x)) or 1.0 for x in a]
    return max([float(np.max(np.abs(x - y), initial=0.0, where=np.isfinite(x))) / s
                for x, y, s in zip(a, b, scale, strict=True)], default=0.0)  # fmt: skip


def is_slope(found: list[Any], inputs: list[Any], call: Callable[[Any], list[Any]]) -> bool:
    """Is the derivative of the results, in one direction, what differences of SciPy's say?"""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=np.shape(x)) for x in found]
    steps = [rng.uniform(0.5, 1.5, x.shape) * np.maximum(np.abs(x.value), 0.1) for x in inputs]

    def loss(results: list[Any]) -> Any:
        parts = [np.where(np.isfinite(value_of(z)), z, 0) * w for z, w in zip(results, weights, strict=True)]
        return sum([np.sum(np.real(part)) for part in parts])

    def moved(h: float) -> float:
        steps_left = iter(steps)
        return float(loss(call(lambda x: x + h * next(steps_left))))

    total = loss(found)
    if gradient_target(total) is not None:
        total.backward()
    sent = [0.0 if x.grad is None else np.real(x.grad) * step for x, step in zip(inputs, steps, strict=True)]
    slope, size = sum([float(np.sum(x)) for x in sent]), sum([float(np.sum(np.abs(x))) for x in sent])
    try:
        middle, sides = float(value_of(total)), (moved(-1e-6), moved(1e-6))
    except Exception:
        return True
    left, right = sorted([(middle - sides[0]) / 1e-6, (sides[1] - middle) / 1e-6])
    slack = 1e-5 * (size + abs(left)) + 1e-8 * abs(middle) + 1e-9
    return not np.isfinite([left, right]).all() or left - slack <= slope <= right + slack


def leaves(x: Any) -> Iterator[Any]:
    """The floating-point numbers in a result: in containers, and in attributes of objects. p-values are numbers."""
    if isinstance(x, (float, complex, np.generic, np.ndarray)):
        if np.result_type(x).kind in "fc":
            yield x
        elif np.result_type(x).kind == "O":
            yield from leaves(np.asarray(x).tolist())
    elif isinstance(x, (list, tuple, dict)) or (hasattr(x, "__dict__") and type(x) is not types.ModuleType):
        named = zip(getattr(x, "_fields", range(len(x))), x, strict=True) if isinstance(x, (list, tuple)) else None
        for key, v in named or (x if isinstance(x, dict) else vars(x)).items():
            if key != "pvalue" and (not callable(v) or is_copy(v) or type(v).__module__.startswith("scipy.")):
                yield from leaves(v)
