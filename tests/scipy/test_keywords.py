"""Keywords of all functions that give gradients, drawn at random: values, bits and slopes are SciPy's, or an error is
raised.

Each public function of SciPy's is called with arguments that it takes (those of ``docs/make_scipy.py``) and with
keywords that fit their defaults, or are words in its docstring; each array in turn is a node. What is drawn depends on
a seed: by night it is 0, and then the date.
"""

import datetime
import importlib
import inspect
import itertools
import random
import re
import time

import numpy as np
import pytest

pytest.importorskip("scipy")


import make_scipy

from autoflow.scipy.sparse.linalg import ITERATIVE

SECONDS = 60.0  # for a module, at most
# Keywords that do not say what is computed, how far iterations go, and with which SciPy ends the process.
LEFT_OUT = {"out", "where", "callback", "rng", "random_state", "workers", "n_resamples", "rtol", "atol", "maxiter",
            "structure", "footprint", "relax", "panel_size", "overwrite_x", "overwrite_a", "overwrite_b"}  # fmt: skip
# What SciPy leaves open: signs and phases of vectors, what iterations or draws find; and the kinks of a median.
OPEN = {*make_scipy.OPEN, *[f"sparse.linalg.{name}" for name in (*ITERATIVE, "eigs", "lobpcg", "onenormest")],
        "interpolate.barycentric_interpolate", "stats.median_abs_deviation"}  # fmt: skip

BYTES = [x.tobytes() for args in make_scipy.ARGUMENTS for x in args if isinstance(x, np.ndarray)]


def candidates(default, words, said):
    """Values that a keyword with this default may have; ``said``: "array" or "float", if its docstring says so."""
    if isinstance(default, bool):
        return [True, False]
    if isinstance(default, str):
        return [default, *words]
    if isinstance(default, int):
        return [default, 0, 1, 2, 3, -1]
    if isinstance(default, float):
        return [default, 0.0, 0.3, 1.7]
    if isinstance(default, tuple):
        return [default]
    return [None, None, *KINDS_OF_NONE.get(said, [0, 1, -1, 2, True, (0, 1), *words[:3]])]


KINDS_OF_NONE = {"array": [np.array([0.7, 1.1, 0.4, 0.9]), np.linspace(0.5, 1.5, 6)], "float": [0.4, 1.3]}


@pytest.fixture(autouse=True)
def shared_arguments():
    """What other tests use as well stays as it is."""
    yield
    assert [x.tobytes() for args in make_scipy.ARGUMENTS for x in args if isinstance(x, np.ndarray)] == BYTES


def differentiated(module):
    """The functions of a module that ``docs/scipy.md`` says give gradients. (Some of the others end the process.)"""
    page = make_scipy.PAGE.read_text("utf-8")
    lists = re.findall(rf"\* `{re.escape(module)}`, (?:rule|SciPy's own code): (.*)", page)
    return re.findall(r"`(\w+)`", " ".join(lists))


def drawn_calls(module, name, rng, most):
    """Positional arguments that SciPy's function takes, and keywords."""
    theirs = getattr(importlib.import_module(f"scipy.{module}"), name)
    try:
        parameters = list(inspect.signature(theirs).parameters.values())
    except (ValueError, TypeError):
        return
    if name in make_scipy.UNCHECKED:
        return
    words = sorted(set(re.findall(r"['\"`‘]([a-zA-Z_-]{2,16})['\"`’]", theirs.__doc__ or "")))
    fitting = rng.sample(make_scipy.ARGUMENTS, len(make_scipy.ARGUMENTS))
    if module in ("stats", "ndimage"):  # ranks and extremes have kinks at ties
        fitting = [tuple([x + np.linspace(0, 0.0913, x.size).reshape(x.shape) if np.ndim(x) else x for x in args])
                   for args in fitting]  # fmt: skip
    needed = len([p for p in parameters if p.default is p.empty])
    spoiling = [k for k, p in enumerate(parameters) if p.name.startswith("overwrite")]
    fitting = [args for args in fitting  # an option is no array, and arguments stay as they are
               if not any([np.ndim(x) for x in args[needed:]]) and len(args) <= min(spoiling, default=9)]  # fmt: skip
    for _ in range(most):
        for args in fitting:
            rest = [p for k, p in enumerate(parameters) if p.default is not p.empty and p.name not in LEFT_OUT
                    and (k >= len(args) or p.kind is p.KEYWORD_ONLY)]  # fmt: skip
            if not rest:
                continue
            chosen = rng.sample(rest, min(len(rest), rng.choice((1, 1, 2, 3))))
            said = {p.name: re.search(rf"\b{p.name} ?: [^\n]*?(array|float)", theirs.__doc__ or "") for p in chosen}
            options = {p.name: rng.choice(candidates(p.default, words, (said[p.name] or [0, ""])[1])) for p in chosen}
            try:
                with np.errstate(all="ignore"):
                    found = theirs(*make_scipy.copies(*args), **options)  # some write into their arguments
            except Exception:
                continue
            if make_scipy.parts(found):
                yield args, options
                break
        rng.shuffle(fitting)


def wrong_calls(module, names, seed, most, seconds):
    """What is wrong in the calls that a seed draws, and how many of them have a gradient."""
    ours, theirs = [importlib.import_module(f"{home}.{module}") for home in ("autoflow.scipy", "scipy")]
    end, wrong, right = time.monotonic() + seconds, [], 0
    for name in names:
        f, g = getattr(theirs, name), getattr(ours, name)
        if hasattr(f, "rvs") or make_scipy.takes_function(f) or f"{module}.{name}" in OPEN:
            continue
        for args, options in drawn_calls(module, name, random.Random(f"{seed} {module} {name}"), most):
            for k, x in enumerate(args):
                if isinstance(x, np.ndarray) and (k == 0 or x.ndim) and time.monotonic() < end:  # the rest are options
                    calls = [lambda v, h=h, k=k: h(*make_scipy.copies(*args[:k], v, *args[k + 1 :]), **options)  # noqa: B023
                             for h in (f, g)]  # fmt: skip
                    try:
                        right += make_scipy.outcome(*calls, x) == "gradient"
                    except AssertionError as error:
                        said = " ".join(str(error).split())[:150]
                        wrong.append(f"{module}.{name} {[np.shape(v) or v for v in args]} by {k}, {options}: {said}")
    return wrong, right


def calls_by_options(f):
    """Arguments that SciPy's function takes, and a keyword with a number, for each keyword that may have one."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (ValueError, TypeError):
        return
    needed = len([p for p in parameters if p.default is p.empty])
    for p in parameters[needed:]:
        said = re.search(rf"\b{p.name} ?: [^\n]*?float", f.__doc__ or "")
        if type(p.default) is not float and not (p.default is None and said):
            continue
        for x, args in itertools.product((0.3, 1.3, p.default), make_scipy.ARGUMENTS):
            if type(x) is float and len(args) == needed:
                try:
                    with np.errstate(all="ignore"):
                        found = make_scipy.parts(f(*make_scipy.copies(*args), **{p.name: x}))
                except Exception:
                    continue
                if found:
                    yield args, p.name, np.array(x)
                    break


BY_DAY = {"signal", "ndimage", "sparse.linalg"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", [
    pytest.param(name, marks=[] if name in BY_DAY else pytest.mark.nightly) for name in make_scipy.MODULES
])  # fmt: skip
def test_numbers_in_options(module):
    """A tolerance, a width, a constant: as a node it is a gradient or an error, or nothing changes with it."""
    ours, theirs = [importlib.import_module(f"{home}.{module}") for home in ("autoflow.scipy", "scipy")]
    wrong, total = [], 0
    for name in differentiated(module):
        f, g = getattr(theirs, name), getattr(ours, name)
        if hasattr(f, "rvs") or make_scipy.takes_function(f) or f"{module}.{name}" in OPEN:
            continue
        for args, word, x in calls_by_options(f):
            calls = [lambda v, h=h, args=args, word=word: h(*make_scipy.copies(*args), **{word: v}) for h in (f, g)]
            total += 1
            try:
                make_scipy.outcome(*calls, x, exact=False)
            except AssertionError as error:
                wrong.append(f"{module}.{name} {[np.shape(v) or v for v in args]} {word}={x}: {str(error)[:150]}")
    assert not wrong, "\n".join(wrong)
    assert total > 3 or module not in BY_DAY, total


@pytest.mark.filterwarnings("ignore")
@pytest.mark.nightly
@pytest.mark.parametrize("module", make_scipy.MODULES)
def test_keywords(module):
    wrong = searched(module, 0)
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.nightly
@pytest.mark.parametrize("module", make_scipy.MODULES)
def test_keywords_of_the_day(module):
    seed = datetime.date.today().strftime("%Y%m%d")
    print(f"from seed {seed}:", *searched(module, seed), sep="\n")


def searched(module, seed):
    """What is wrong in a module's calls."""
    names = differentiated(module)
    random.Random(f"{seed}").shuffle(names)
    return wrong_calls(module, names, seed, 3, SECONDS)[0]
