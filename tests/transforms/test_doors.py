"""A number may leave the graph by any function that takes a node. Either its gradient is right, or there is an error.

Every public function of NumPy, every method of arrays and of Generator is called with a node (and with what else it
wants, or as one of its options) in a function that has a second term, which keeps a gradient. What ``af.grad`` gives,
with ``af.options(prove="first")``, is compared with differences, and so is what ``backward()`` gives, of which
docs/guarantees.md lists the functions that lose a node. No other function is named here, but for those that leave on
purpose: one that NumPy adds is tried as well.
"""

import copy
import inspect
import operator
import warnings

import numpy as np
import pytest
from doors import LOST, PAGE

import autoflow as af
from autoflow.errors import AutoflowError, UnprovedWarning

V = np.array([0.3, 0.72, 0.5, 0.9])
SPACES = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.lib.stride_tricks": np.lib.stride_tricks,
    "np.emath": np.emath, "np.ma": np.ma, "np.polynomial.polynomial": np.polynomial.polynomial, "np.char": np.char,
    "np.rec": np.rec, "np.lib.recfunctions": __import__("numpy.lib.recfunctions", fromlist=["x"]),
    "operator": operator, "copy": copy,
}  # fmt: skip
# These leave on purpose, as x.value does: see docs/guarantees.md.
WANTED = {"method item", "method tolist"}
# Not called: they write files, stop the program, or wait for somebody.
LEFT = {
    "save", "savez", "savez_compressed", "savetxt", "tofile", "dump", "fromfile", "memmap", "load", "loadtxt",
    "genfromtxt", "open_memmap", "DataSource", "test", "show_config", "show_runtime", "info", "source", "lookfor",
    "seterr", "seterrcall", "setbufsize", "setflags", "resize", "fromregex", "set_printoptions", "set_string_function",
    "bit_generator", "spawn", "__class__", "__init_subclass__",
}  # fmt: skip
ARGUMENTS = {  # what is called with a node x and a plain array a: by position
    "x": lambda x, a: (x,), "x a": lambda x, a: (x, a), "a x": lambda x, a: (a, x), "x 2": lambda x, a: (x, 2),
    "2 x": lambda x, a: (2, x), "list": lambda x, a: ([x, a],), "x x": lambda x, a: (x, x),
    "m x": lambda x, a: (M.copy(), x), "x 3 ints": lambda x, a: (x, [1, 0, 2]),
    "a ints x": lambda x, a: (a, [0, 1, 2, 3], x), "ints list": lambda x, a: ([0, 1, 0, 1], [x, a]),
    "mask": lambda x, a: (a > 0.6, x, a), "x[0] 4": lambda x, a: (x[0], 4), "4 x[0]": lambda x, a: (4, x[0]),
    "matrix": lambda x, a: (x.reshape(2, 2),), "x x[0]": lambda x, a: (a, x[0]),
}  # fmt: skip
OPTIONS = {  # what is given beside an option that is x or x[0]
    "a": lambda a: (a,), "a 1": lambda a: (a, 1), "a a": lambda a: (a, a), "masks, arrays": lambda a: ([a > 0.6], [a]),
}  # fmt: skip
PLAIN = {"dtype": object, "requirements": "E", "subok": False}  # options that change the kind of result
LISTS = {"list", "ints list"}  # of arrays: NumPy reads their memory, whatever the function is
M = np.array([[2.0, 0.1, 0.0, 0.35], [0.1, 3.0, 0.2, 0.0], [0.0, 0.2, 4.0, 0.1], [0.35, 0.0, 0.1, 5.0]])  # none is in V


def numbers_in(found, most=20):
    """All arrays and numbers in a result, also of iterators."""
    if isinstance(found, (str, bytes, type, np.dtype)) or found is None or isinstance(found, (bool, np.bool)):
        return
    if isinstance(found, (float, complex, np.inexact, np.ndarray)):
        if getattr(found, "dtype", np.dtype(float)).kind in "fcO":
            yield found
    elif isinstance(found, dict):
        for part in found.values():
            yield from numbers_in(part)
    elif isinstance(found, (list, tuple)) or hasattr(found, "__next__"):
        for part, _ in zip(found, range(most), strict=False):
            yield from numbers_in(part)


def total(found):
    """One number that depends on all of them."""
    parts = [np.sum(np.abs(np.asarray(p) if type(p) in (np.matrix, np.recarray) else p)) for p in numbers_in(found)]
    return sum(parts[1:], parts[0]) if parts else 0.0


def functions():
    """Name -> function of (arguments): what is called."""
    found = {}
    for space, module in SPACES.items():
        for name in dir(module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a name that NumPy is about to drop
                f = getattr(module, name)
            is_scalar = inspect.isclass(f) and issubclass(f, (BaseException, np.generic))
            if not name.startswith("_") and name not in LEFT and callable(f) and not is_scalar:
                found[f"{space}.{name}"] = f
    for name in [*dir(np.ndarray)]:
        if name not in LEFT and callable(getattr(np.ndarray, name)) and name not in dir(object):
            found[f"method {name}"] = lambda x, *rest, name=name: getattr(x, name)(*rest)
    for name in dir(np.random.Generator):
        if name not in LEFT and not name.startswith("_"):
            found[f"Generator.{name}"] = lambda *rest, name=name: getattr(np.random.default_rng(0), name)(*rest)
    return {name: f for name, f in found.items() if name not in WANTED}


FUNCTIONS = functions()


def calls(name):
    """How a function is called with a node: in words, and a function of the node."""
    called = FUNCTIONS[name]
    for how, arguments in ARGUMENTS.items():
        yield how, lambda x, arguments=arguments: called(*arguments(x, V * 1.1))
    try:
        parameters = inspect.signature(called).parameters.values()
    except ValueError:  # a function in C
        return
    for key in [p.name for p in parameters if p.default is not p.empty and p.kind != p.POSITIONAL_ONLY]:
        for how, arguments in OPTIONS.items() if key != "out" else ():
            yield f"{how}, {key}=x", lambda x, a=arguments, key=key: called(*a(V * 1.1), **{key: x})
            yield f"{how}, {key}=x[0]", lambda x, a=arguments, key=key: called(*a(V * 1.1), **{key: x[0]})
    for key in PLAIN.keys() & inspect.signature(called).parameters:
        for how in ARGUMENTS.keys() - LISTS:
            yield f"{how}, {key}=", lambda x, a=ARGUMENTS[how], key=key: called(*a(x, V * 1.1), **{key: PLAIN[key]})


def by_transform(f):
    """What is proved."""
    with af.options(prove="first"), warnings.catch_warnings(action="error", category=UnprovedWarning):
        return np.asarray(af.grad(f)(V))


def by_backward(f):
    """What is not."""
    x = af.Variable(V)
    with af.options(watched=()):
        f(x * 1.0).backward()  # a Variable itself copies to a new one
    return x.grad


def is_listed(name, how):
    """Does docs/guarantees.md say that it loses nodes under ``backward()``?"""
    option = how.rpartition(", ")[2].partition("=")[0]
    return how in LISTS or any([name == x or name.startswith(f"{x}.") or x == f"{name}({option})" for x in LOST])


def wrong_gradients(name):
    """The calls of a function whose gradient is another one than by differences, without an error."""
    found = []
    for how, call in calls(name):

        def f(x, call=call):
            return total(call(x)) + np.sum(x * x)

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                value = f(V.copy())
                if not np.abs(value) < 1e6 or np.imag(value):  # of larger numbers differences have no digits
                    continue
                steps = [np.asarray([f(V + h * e) - f(V - h * e) for e in np.eye(4)]) / (2 * h) for h in (1e-5, 1e-6)]
                right = np.asarray(steps, float)
            except Exception:  # NumPy does not take such arguments
                continue
            if not np.allclose(right[0], right[1], rtol=1e-3, atol=1e-3):
                continue  # it has a step there, or is random
            for way in (by_transform, *([] if is_listed(name, how) else [by_backward])):
                try:
                    ours = way(f)
                except (AutoflowError, TypeError, ValueError, AttributeError, IndexError, UnprovedWarning):
                    continue
                if not np.allclose(ours, right[1], rtol=1e-3, atol=1e-3):
                    found.append(f"{name}({how}) {way.__name__}: {ours}, by differences {right[1]}")
    return found


def check(first, names):
    found = [wrong for name in names[first::20] for wrong in wrong_gradients(name)]
    assert not found, "\n".join(found)


def test_the_page_lists_what_loses_nodes():
    page = PAGE.read_text(encoding="utf-8")
    assert ", ".join([f"`{name}`" for name in LOST]) in page


@pytest.mark.parametrize("first", range(4))
def test_the_gradient_is_right_or_there_is_an_error(first):
    """One in twenty, of all kinds."""
    check(first, list(FUNCTIONS)[::4])


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(20))
def test_of_all_functions(first):
    check(first, list(FUNCTIONS))
