"""Write the lists of ``docs/scipy.md``: what every public function of SciPy does with a node, found by trying each.

    python docs/make_scipy.py    (SciPy's functions differ from version to version: the page says which was tried)

Each function is called with many arguments. Where SciPy takes them, the function under the same name in
``autoflow.scipy`` is given them as nodes, one at a time: it has SciPy's values and their differences, or it raises.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.stats import _distr_params

import autoflow as af
from autoflow.errors import AutoflowError
from autoflow.scipy.proofs import remedy

PAGE = Path(__file__).parent / "scipy.md"
MARK = "<!-- What follows is written by docs/make_scipy.py -->\n"
MODULES = (
    "linalg", "special", "stats", "signal", "integrate", "interpolate", "ndimage", "fft", "spatial.distance", "sparse",
    "sparse.linalg", "optimize",
)  # fmt: skip
# What SciPy leaves open: signs, triangles, matrices beside the symmetric ones, iterations; a check of its first call.
OPEN = {"linalg.cho_factor", "linalg.eigh", "sparse.linalg.cg", "sparse.linalg.minres", "sparse.linalg.factorized"}
REFUSES = """*SciPy's own code* has a derivative with some arguments at least, and is a NoRuleError with others that
take it to a part in C or to a solver: `stats.expectile` of numbers that are not all equal.
"""
KINDS = {"rule": "rule", "code": "SciPy's own code", "plain": "plain", "refused": "refused", "untried": "not tried"}
RNG = np.random.default_rng(0)


def draw(*shape: int) -> Any:
    """Numbers between 0.5 and 1.5."""
    return RNG.uniform(0.5, 1.5, shape)


SQUARE, SIGNAL = draw(4, 4) + 4 * np.eye(4), draw(40)
SYMMETRIC = SQUARE + SQUARE.T
SOS = np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.1]])
ARGUMENTS: list[tuple[Any, ...]] = [
    (draw(6),), (SYMMETRIC,), (SIGNAL,), (np.array(0.7),), (draw(6), draw(6)), (draw(6), 2), (SYMMETRIC, draw(4)),
    (np.array(0.7), np.array(0.4)), (SQUARE, SYMMETRIC), (5, np.array(0.7)), (2, draw(6)), (draw(6), np.array(0.7)),
    (SYMMETRIC, 2), (SIGNAL, 3), (draw(6), draw(6), draw(6)), (np.cumsum(draw(6)), draw(6), draw(3) + 1.5),
    (np.array(0.7), np.array(0.4), np.array(0.6)), (0.2 * draw(2), np.array([1.0, -0.4]), SIGNAL), (SOS, SIGNAL),
    (draw(3), draw(3, 3)), (draw(6), 3, 2), (SIGNAL, 7, 2),
    (1, np.array([0.3]), np.array([1.0]), 1.0), (0.3 * draw(4) / 2, draw(4), draw(4)), (2, 1, draw(6)),
    (SYMMETRIC, SYMMETRIC, SYMMETRIC), (5, 2, np.array(0.7)), (np.array(0.7), np.array(0.4), np.array(0.6), draw()),
    (SQUARE, SQUARE, SYMMETRIC, SYMMETRIC), (SQUARE, draw(4, 1), draw(1, 4), draw(1, 1)),
]  # fmt: skip

# Of as many start vectors as dimensions LAPACK chooses the signs, which differ from run to run; of one it has a sign.
STARTED: dict[str, list[tuple[Any, ...]]] = {"lobpcg": [(np.diag(np.arange(1.0, 9.0)) + 0.1, np.ones((8, 1)))]}

# What takes its arrays in pairs, lists or other orders: the arguments for SQUARE as v.
T, LINE = np.arange(6.0), draw(6)
GIVEN: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "cho_factor": lambda v: (v * np.eye(4),), "cho_solve": lambda v: ((v, False), LINE[:4]),
    "lu_solve": lambda v: ((v, np.arange(4)), LINE[:4]),
    "cho_solve_banded": lambda v: ((v, False), LINE[:4]), "solve_banded": lambda v: ((1, 2), v, LINE[:4]),
    "eigh_tridiagonal": lambda v: (v[0], v[1, :3]), "eigvalsh_tridiagonal": lambda v: (v[0], v[1, :3]),
    "leslie": lambda v: (v[0], v[1, :3]), "diagsvd": lambda v: (v[0], 4, 5), "funm": lambda v: (v, np.exp),
    "qr_delete": lambda v: (np.eye(4), v, 1), "qr_insert": lambda v: (np.eye(4), v, LINE[:4], 1),
    "sph_harm_y": lambda v: (3, 2, v[0], v[1]), "ellip_harm": lambda v: (1.5, 1.2, 2, 3, 1.3 + v[0, 0] / 99),
    "lmbda": lambda v: (2.5, v[0, 0]), "pbdv_seq": lambda v: (2.5, v[0, 0]), "riccati_jn": lambda v: (3, v[0, 0]),
    "pbvv_seq": lambda v: (2.5, v[0, 0]), "riccati_yn": lambda v: (3, v[0, 0]),
    "insert": lambda v: (1.5, (np.arange(10.0), np.append(v[0], v[1]), 3)),
    "splev": lambda v: (np.array([3.2, 4.1]), (np.arange(10.0), np.append(v[0], v[1]), 3)),
    "interpn": lambda v: ((np.arange(4.0), np.arange(4.0)), v, np.array([[0.3, 1.7], [2.2, 0.6]])),
    "make_interp_spline": lambda v: (T[:4], v[0]),
    "make_smoothing_spline": lambda v: (np.arange(8.0), np.append(v[0], v[1])),
    "splrep": lambda v: (T[:4], v[0]), "splint": lambda v: (0.3, 2.1, (np.arange(10.0), np.append(v[0], v[1]), 3)),
    "make_splrep": lambda v: (T[:4], v[0]),
    "make_lsq_spline": lambda v: (T, np.append(v[0], v[1, :2]), np.array([0.0] * 4 + [2.5] + [5.0] * 4)),
    "map_coordinates": lambda v: (v, np.array([[0.3, 1.7], [2.2, 0.6]])), "rank_filter": lambda v: (v, 1, 3),
    "affine_transform": lambda v: (v, np.array([[0.9, 0.2], [-0.1, 1.1]])), "histogram": lambda v: (v, 0, 9, 5),
    "geometric_transform": lambda v: (v, lambda i: (i[0] / 2, i[1] / 2)), "generic_filter": lambda v: (v, np.ptp, 3),
    "labeled_comprehension": lambda v: (v, np.arange(16).reshape(4, 4) % 3, [1, 2], np.mean, float, 0.0),
    "mahalanobis": lambda v: (LINE[:4], 2 * LINE[:4] + 1, v), "hstack": lambda v: ([rows(v), rows(v)],),
    "vstack": lambda v: ([rows(v), scipy.sparse.eye_array(4)],), "block_array": lambda v: ([[rows(v), None]],),
    "bmat": lambda v: ([[rows(v), rows(v)]],), "spdiags": lambda v: (v[:2], [0, 1], 4, 4),
    "block_diag": lambda v: ([rows(v), rows(v[:2])],), "norm": lambda v: (rows(v),), "inv": lambda v: (rows(v),),
    "splu": lambda v: (rows(v).tocsc(),), "factorized": lambda v: (rows(v).tocsc(),),
    "expand_dims": lambda v: (scipy.sparse.coo_array(np.eye(4)) * v[0],),
    "cont2discrete": lambda v: ((v[0, :2], v[0, 2:]), 0.1), "step": lambda v: ((v[0, :1], v[0, 1:]),),
    "impulse": lambda v: ((v[0, :1], v[0, 1:]),), "lsim": lambda v: ((v[0, :1], v[0, 1:]), LINE, T),
    "dlsim": lambda v: ((v[0, :1], v[0, 1:] / 9, 0.1), LINE), "dstep": lambda v: ((v[0, :1], v[0, 1:] / 9, 0.1),),
    "dimpulse": lambda v: ((v[0, :1], v[0, 1:] / 9, 0.1),), "ellip": lambda v: (4, 1.0, 40.0, v[0, 0] / 20),
    "firwin2": lambda v: (9, [0.0, 0.5, 1.0], v[0, :3]), "firls": lambda v: (9, [0.0, 0.4, 0.6, 1.0], v[0]),
    "iirfilter": lambda v: (3, v[0, :2] / 20 * np.array([1, 4])), "iircomb": lambda v: (0.25, v[0, 0]),
    "sosfilt_zi": lambda v: (SOS * v[0, 0],),
    "zpk2sos": lambda v: (v[0, :2], v[1, :2] / 9, 2.0), "order_filter": lambda v: (v, np.ones((3, 3)), 4),
    "symiirorder1": lambda v: (SIGNAL * v[0, 0], 1.0, 0.5), "peak_widths": lambda v: (np.append(v, v), [4]),
    "place_poles": lambda v: (v, np.eye(4)[:, :2], [-1.0, -2.0, -3.0, -4.0]),
    "sepfir2d": lambda v: (v, np.ones(3), np.ones(3)),
    "trimboth": lambda v: (v[0], 0.25), "ttest_ind_from_stats": lambda v: (v[0, 0], 1.0, 9, v[1, 1], 1.5, 8),
    "ks_1samp": lambda v: (v[0], scipy.special.ndtr), "check_COLA": lambda v: (v[0], 4, 2),
    "approx_fprime": lambda v: (v[0], np.sum),
}  # fmt: skip
USED: dict[str, Callable[[Any], Any]] = {"splu": lambda z: z.solve(LINE[:4]), "factorized": lambda z: z(LINE[:4])}

# Distributions: shape parameters that they take, by SciPy's own tests; and calls of those of vectors, for SQUARE as v.
SHAPES = {x: y for x, y in reversed([*_distr_params.distcont, *_distr_params.distdiscrete]) if isinstance(x, str)}
OF_VECTORS: dict[str, Callable[[Any, Any], Any]] = {
    "dirichlet": lambda d, v: d.logpdf([0.2, 0.3, 0.1, 0.4], v[0]), "matrix_normal": lambda d, v: d.logpdf(v),
    "multivariate_normal": lambda d, v: d.logpdf(LINE[:4], v[0], SYMMETRIC),
    "multivariate_t": lambda d, v: d.logpdf(LINE[:4], v[0], SYMMETRIC, 3.0),
    "wishart": lambda d, v: d.logpdf(SYMMETRIC, 7, v + v.T), "invwishart": lambda d, v: d.logpdf(SYMMETRIC, 7, v + v.T),
    "multinomial": lambda d, v: d.logpmf([1, 2, 1, 0], 4, v[0] / np.sum(v[0])),
    "dirichlet_multinomial": lambda d, v: d.logpmf([1, 2, 1, 0], v[0], 4),
    "normal_inverse_gamma": lambda d, v: d.logpdf(0.3, 1.5, v[0, 0], 1.0, 2.0, 1.5),
    "vonmises_fisher": lambda d, v: d.logpdf([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], v[0, 0]),
}  # fmt: skip


def rows(v: Any) -> Any:
    """A sparse matrix, of a node as well."""
    return importlib.import_module("autoflow.scipy.sparse").csr_array(v)


def parts(z: Any) -> list[Any]:
    """The arrays of floating-point numbers in a result."""
    if isinstance(z, (tuple, list)):
        named = getattr(z, "_fields", range(len(z)))
        return [part for key, x in zip(named, z, strict=False) if key != "pvalue" for part in parts(x)]
    if hasattr(z, "toarray") or hasattr(z, "tck"):
        return parts(z.toarray() if hasattr(z, "toarray") else z.c)
    if type(z).__name__.endswith("Result"):
        return [part for key, x in vars(z).items() if key[0] != "_" and key != "pvalue" for part in parts(x)]
    is_number = isinstance(z, (np.ndarray, np.generic, float, complex)) and np.result_type(z).kind in "fc"
    return [z] if is_number else []


def same_bits(a: list[Any], b: list[Any]) -> bool:
    """Are these the same arrays, of the same classes?"""
    if [type(x) for x in a] != [type(x) for x in b]:
        return False
    return all([np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True)])


def outcome(theirs: Callable[[Any], Any], ours: Callable[[Any], Any], x: Any, exact: bool = True) -> str:
    """What a call does with x as a node: "gradient", "plain", "refused"; "nothing" if SciPy itself raises. Raises
    AssertionError if it has not SciPy's values, or their differences; ``exact``: or if plain arrays have not its bits.
    """
    rtol = 1e-8
    v = af.Variable(x)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected, why = parts(theirs(x)), None
        except Exception as error:
            expected, why = [], error
        try:
            plain = expected if why or not exact else parts(ours(x))
            if not same_bits(plain, expected) and repeats(theirs, x, expected):
                raise AssertionError("plain arrays have not SciPy's bits")
            found = parts(ours(v))
        except Exception as error:
            if why is None and not isinstance(error, AutoflowError):
                raise AssertionError(f"{type(error).__name__}: {error}") from error
            return "nothing" if why else "refused"
        if isinstance(why, TypeError) and not any([isinstance(z, af.Operation) for z in found]):
            return "nothing"  # a 0-d node is what a number is, where SciPy takes numbers only
        if why is not None or [np.shape(z) for z in found] != [np.shape(z) for z in expected]:
            raise AssertionError(f"SciPy: {why or [np.shape(z) for z in expected]}")
        for z, want in zip(found, expected, strict=True):
            size = np.max(np.abs(want), initial=0, where=np.isfinite(want))
            try:
                np.testing.assert_allclose(getattr(z, "value", z), want, rtol=rtol, atol=rtol * size)
            except AssertionError:
                if repeats(theirs, x, expected):
                    raise
                return "nothing"
        rng = np.random.default_rng(0)
        weights = [rng.normal(size=np.shape(z)) * np.isfinite(z) for z in expected]
        d = rng.normal(size=x.shape)

        def loss(results: list[Any]) -> Any:
            return sum([np.sum(np.real(np.where(w == 0, 0, z) * w)) for z, w in zip(results, weights, strict=True)])

        try:
            if isinstance(total := loss(found), af.Operation):
                total.backward()
        except Exception:  # of a call that nobody means, or of an array that was written into
            return "refused"
        slope = 0.0 if v.grad is None else float(np.sum(np.real(v.grad) * d))

        def at(h: float) -> float:
            return float(loss(parts(theirs(x + h * d))))

        try:
            moved = [at(h) for h in (1e-6, -1e-6)]
        except Exception:  # SciPy takes no numbers beside these
            return "nothing"
        if np.isnan(slope) and not all([np.all(np.isfinite(z)) for z in expected]):
            return "gradient"  # where there is no number, there is no slope
        expected_slope = (moved[0] - moved[1]) / 2e-6
        if not np.isclose(slope, expected_slope, rtol=2e-4, atol=1e-5):
            with contextlib.suppress(Exception):  # numbers that are rounded coarsely need longer steps
                near, far = [at(h) - at(-h) for h in (1e-4, 2e-4)]
                if np.isclose(slope, (8 * near - far) / 12e-4, rtol=2e-4, atol=1e-5):
                    return "gradient" if v.grad is not None else "plain"
            further = [at(h) for h in (4e-6, -4e-6)]
            if not np.isclose((further[0] - further[1]) / 8e-6, expected_slope, rtol=1e-3, atol=1e-5):
                return "nothing"  # a jump, or numbers of an iteration, which are not exact
            after, before = [(z - float(loss(expected))) / h for z, h in zip(moved, (1e-6, -1e-6), strict=True)]
            if not np.isclose(before, after, rtol=1e-2, atol=1e-4):
                return "nothing"  # a kink
        np.testing.assert_allclose(slope, expected_slope, rtol=2e-4, atol=1e-5)
    return "gradient" if v.grad is not None else "plain"


def repeats(f: Callable[[Any], Any], x: Any, found: list[Any]) -> bool:
    """Does f(x) give the same bits again, whatever was in the memory that it takes?"""
    for k in range(9):
        junk = [np.full(np.shape(z), k + 0.5) for z in found for _ in range(4)]
        del junk
        if not same_bits(parts(f(x)), found):
            return False
    return True


def copies(*args: Any) -> list[Any]:
    """The same arguments, with copies of plain arrays: some functions write into them."""
    return [x.copy() if type(x) is np.ndarray else x for x in args]


# SciPy reads past the memory of a metric with another number of axes, or of no curve: the process may end there.
UNCHECKED = {"distance_transform_cdt", "splev", "splint"}
FILES = {"load_npz", "save_npz"}  # to which a whole number is an open file


def calls(theirs: Any, ours: Any) -> Iterator[tuple[Any, Any, Any]]:
    """SciPy's function and ours, as functions of one argument, and that argument."""
    name = getattr(theirs, "__name__", "")
    is_dense = getattr(theirs, "__module__", "").startswith("scipy.linalg")
    if (given := GIVEN.get(name)) and not (is_dense and name in ("block_diag", "inv", "norm")):
        use = USED.get(name, lambda z: z)
        yield *[lambda v, f=f: use(f(*given(v))) for f in (theirs, ours)], SQUARE
    for args in STARTED.get(name, ARGUMENTS):
        if len(args) > 1 and name in UNCHECKED:
            continue
        for k, x in enumerate(args):
            if isinstance(x, np.ndarray):
                of = [lambda v, f=f, k=k, args=args: f(*copies(*args[:k], v, *args[k + 1 :])) for f in (theirs, ours)]
                yield *of, x


def takes_whole_numbers(theirs: Any) -> bool:
    """Does it give something for a few whole numbers, and so has no argument that moves?"""
    for args in ((4,), (4, 3), (4, 3, 2)) if theirs.__name__ not in FILES else ():
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs(*args)
            return True
    return False


def of_distribution(name: str, theirs: Any, ours: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The same of the logarithm of a density, by the place or by a parameter."""
    if not hasattr(theirs, "numargs"):  # of vectors or matrices, each in its own way
        if call := OF_VECTORS.get(name):
            yield *[lambda v, d=d: call(d, v) for d in (theirs, ours)], SQUARE
        return
    shapes = [np.array(x) for x in SHAPES.get(name, ())]
    places, method = theirs.ppf([0.3, 0.6], *shapes), "logpmf" if hasattr(theirs, "logpmf") else "logpdf"
    for k in [k for k, x in enumerate(shapes) if x.dtype.kind == "f"]:
        of = [lambda v, d=d, k=k: getattr(d, method)(places, *shapes[:k], v, *shapes[k + 1 :]) for d in (theirs, ours)]
        yield *of, shapes[k]
    yield *[lambda v, d=d: getattr(d, method)(v, *shapes) for d in (theirs, ours)], places


def takes_function(theirs: Any) -> bool:
    """Is its first argument a function? (That it is refused if it captures nodes is tested.)"""
    with contextlib.suppress(ValueError, TypeError):
        return next(iter(inspect.signature(theirs).parameters), "") in ("f", "fun", "func", "function")
    return False


def kind_of(module: str, name: str, most: int = 100) -> tuple[str, list[str]]:
    """What a function does, and what was found wrong, in ``most`` calls without a gradient, or up to one with it."""
    theirs, home = getattr(importlib.import_module(f"scipy.{module}"), name), f"autoflow.scipy.{module}"
    ours, wrong, seen = getattr(importlib.import_module(home), name), [], []
    tried = of_distribution(name, theirs, ours) if hasattr(theirs, "rvs") else calls(theirs, ours)
    has_rule = isinstance(theirs, np.ufunc) or name in importlib.import_module(home).__all__
    if takes_function(theirs):
        return ("rule" if has_rule else "refused" if remedy(f"scipy.{module}.{name}") else "untried"), wrong
    for f, g, x in tried:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                seen.append(outcome(f, g, x, not (has_rule and module == "stats")))
        except AssertionError as error:
            if f"{module}.{name}" in OPEN:
                continue
            wrong.append(f"{module}.{name}: {' '.join(str(error).split())[:200]}")
        if len(seen) - seen.count("nothing") >= most or (most < 100 and "gradient" in seen):
            break
    if "gradient" in seen:
        return ("rule" if has_rule else "code"), wrong
    if "refused" not in seen and "plain" not in seen and not hasattr(theirs, "rvs") and takes_whole_numbers(theirs):
        return "plain", wrong
    return max([kind for kind in ("plain", "refused") if kind in seen], key=seen.count, default="untried"), wrong


def public_names(module: str) -> tuple[list[str], list[str]]:
    """The names of functions, and those of classes."""
    theirs = importlib.import_module(f"scipy.{module}")
    found = {name: getattr(theirs, name) for name in theirs.__all__}
    classes = [n for n, x in found.items() if isinstance(x, type) and not issubclass(x, (BaseException, tuple))]
    return [n for n, x in found.items() if callable(x) and not isinstance(x, type)], classes


def page() -> tuple[str, list[str]]:
    """The lists, and what was found wrong."""
    found: dict[tuple[str, str], list[str]] = {}
    wrong: list[str] = []
    classes: dict[str, list[str]] = {}
    for module in MODULES:
        functions, kinds = public_names(module)
        for name in functions:
            kind, errors = kind_of(module, name, 8)
            print(module, name, kind, *errors, flush=True)
            found.setdefault((module, kind), []).append(name)
            wrong += errors
        ours = importlib.import_module(f"autoflow.scipy.{module}")
        classes[module] = [name for name in kinds if name in ours.__all__]
    lines = [MARK, "## All functions\n", f"Tried with SciPy {scipy.__version__}.\n"]
    lines += [f"| module | {' | '.join(KINDS.values())} |", "|---|" + "---|" * len(KINDS)]
    for module in MODULES:
        lines.append(f"| `{module}` | {' | '.join([str(len(found.get((module, k), ()))) for k in KINDS])} |")
    total = [sum([len(found.get((m, k), ())) for m in MODULES]) for k in KINDS]
    lines.append(f"| all | {' | '.join(map(str, total))} |")
    lines.append("\n*Not tried*: no arguments that are tried fit. They are proved when they are called.")
    lines.append(REFUSES)
    for module, (kind, title) in itertools.product(MODULES, KINDS.items()):
        if names := found.get((module, kind)):
            lines.append(f"* `{module}`, {title}: {', '.join([f'`{name}`' for name in sorted(names)])}")
        if kind == "rule" and classes[module]:
            lines.append(f"* `{module}`, classes with rules: {', '.join([f'`{name}`' for name in classes[module]])}")
    return "\n".join(lines) + "\n", wrong


def main() -> int:
    """Write the page, and say what is wrong."""
    text, wrong = page()
    PAGE.write_text(PAGE.read_text(encoding="utf-8").partition(MARK)[0] + text, encoding="utf-8")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
