"""Every refusal is a CompileError, so ``fallback=True`` always gives what eager code gives."""

import contextlib
import contextvars
import operator
import random
import types
import warnings

import numpy as np
import pytest
from compiled import functions
from support import NIGHTLY

import autoflow as af
from autoflow.errors import CompileError

# Nothing that writes files, reads from the keyboard, or is another thing at each call. (np.bmat asks whether its
# argument is an ndarray, which cannot be seen.)
LEFT_OUT = {
    "save", "savez", "savez_compressed", "savetxt", "tofile", "dump", "memmap", "fromfile", "genfromtxt", "loadtxt",
    "load", "test", "info", "show_config", "show_runtime", "get_include", "empty", "empty_like", "setbufsize", "seterr",
    "seterrcall", "errstate", "set_printoptions", "printoptions", "fromregex", "nditer", "nested_iters", "frompyfunc",
    "resize", "vectorize", "__init_subclass__", "__subclasshook__", "__new__", "__class__", "__sizeof__", "__reduce__",
    "__reduce_ex__", "__getstate__", "__hash__", "__array_finalize__", "__init__", "__dir__", "__class_getitem__",
    "__buffer__", "__release_buffer__", "setflags", "__repr__", "__str__", "__dlpack__", "getbufsize", "busday_count",
    "DataSource", "iterable", "broadcast", "ndenumerate", "ndindex", "flatiter", "__array_wrap__", "bmat", "open",
}  # fmt: skip
METHODS = [name for name in dir(np.ndarray) if callable(getattr(np.ndarray, name)) and name not in LEFT_OUT]


def functions_of(module):
    """By name."""
    named = {name: getattr(module, name) for name in dir(module) if name[0] != "_" and name not in LEFT_OUT}
    return {name: f for name, f in named.items() if callable(f) and not isinstance(f, type)}


def halved(x):
    while np.abs(x).max() > 1.0:
        x = x / 2
    return x


def into_plain(x):
    z = np.zeros(x.shape)
    z[0] = x[0]
    return z


def written(x):
    x += 1.0
    return x * 2


def view_written(z):
    part = z[1:]
    part += 1.0
    return z


# Beside those of test_traced.py.
PROGRAMS = functions("""
    halved(x) | np.zeros(int(abs(x[0, 0])) + 1) | into_plain(x) | np.array([x[0, 0], x[1, 1]]) | np.mean(x[x > 0])
    written(x) | view_written(x * 2) | {1, 2} | np.array([None, x.shape], dtype=object) | copy.deepcopy(x) * 2
    np.ma.masked_less(np.arange(3.0), 1) | pickle.loads(pickle.dumps(x)) | [v * 2 for v in x.flat]
    x.view([("a", float)])["a"] | np.vectorize(lambda v: v + 1.0)(x) | [v.sum() for v in x]
    np.apply_along_axis(lambda v: v.sum(), 0, x) | np.piecewise(x, [x < 0, x >= 0], [-1.0, 1.0])
    sum([float(v) for v in np.nditer(x)]) | [v for _, v in np.ndenumerate(x)]
    af.grad(lambda y: y.sum() if y[0, 0] > 0 else (y * y).sum())(x) | af.grad(lambda y: y[y > 0].sum())(x)
    np.linalg.inv(x * 0.0) | x @ np.ones(7) | np.asmatrix(x) * np.asmatrix(x).T | np.emath.log(x)
""", "x", globals())  # fmt: skip
GENERATED = {
    **PROGRAMS, **{f"x.{name}()": operator.methodcaller(name) for name in METHODS},
    **{f"np.{name}(x)": f for name, f in functions_of(np).items()},
    **{f"np.linalg.{name}(x)": f for name, f in functions_of(np.linalg).items()},
}  # fmt: skip
ARRAYS = [np.array(v) for v in ([[2.0, 0.5], [-1.0, 3.0]], [[-2.0, -0.5], [1.0, -3.0]], [[1.0, 2.0], [3.0, 5.0]])]


def outcome(f, x):
    """What a call gives, or the class of what it raises; and what became of its argument."""
    x = x.copy()
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        try:
            result = f(x)
        except Exception as error:
            result = type(error)
    return result, x


def same(a, b):
    """Equal, also arrays in containers; 0-d arrays and numbers are one."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "fc":
            return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(same(v, w) for v, w in zip(a, b, strict=True))
    return type(a) is type(b) and (a == b or a != a or type(a).__eq__ is object.__eq__)


@pytest.mark.parametrize("name", GENERATED)
def test_refused_or_right_and_always_right_with_fallback(name):
    f = GENERATED[name]
    for first in range(len(ARRAYS) if NIGHTLY or name in PROGRAMS else 1):
        plain, falling = af.compile(f), af.compile(f, fallback=True)
        for x in (*ARRAYS[first:], *ARRAYS[:first], ARRAYS[first]):
            expected, left = outcome(f, x)
            ours, untouched = outcome(plain, x)
            assert ours is CompileError or same(ours, expected), "neither refused nor right"
            if ours is CompileError:
                np.testing.assert_array_equal(untouched, x)
            fallen, written = outcome(falling, x)
            assert same(fallen, expected)
            np.testing.assert_array_equal(written, left)


def test_some_are_refused():
    refused = [name for name, f in PROGRAMS.items() if outcome(af.compile(f), ARRAYS[0])[0] is CompileError]
    assert len(refused) > 12


@pytest.mark.parametrize(("option", "message"), [
    ({1}, "an argument of a compiled function is a set, which cannot be compared"),
    ([bytearray(b"a")], "is a bytearray, which cannot be compared"),
    (np.ma.masked_less(np.ones(2), 2), "arithmetic of its own: pass a plain array"),
    (np.eye(2).view(np.matrix), "arithmetic of its own: pass a plain array"),
])  # fmt: skip
def test_refused_arguments(option, message):
    def f(x, option):
        return x * 2

    with pytest.raises(CompileError, match=message):
        af.compile(f)(ARRAYS[0], option)
    assert af.compile(f, fallback=True)(ARRAYS[0], option).tolist() == f(ARRAYS[0], option).tolist()


def broken(*_, **__):
    raise KeyError("of ours")


def test_an_error_of_ours_is_a_refusal(monkeypatch):
    """Whatever goes wrong in recording, if eager code does not; what goes wrong in a run eager code does instead."""
    c = af.compile(lambda x: x * 2)
    c(ARRAYS[0])
    (entry,) = c.entries.values()
    entry.free[-1].run = broken
    assert c(ARRAYS[0]).tolist() == (ARRAYS[0] * 2).tolist()
    monkeypatch.setattr("autoflow.compiler.compiled.record", broken)
    with pytest.raises(CompileError, match=r"ended in KeyError: 'of ours'\. Eager code does not"):
        af.compile(lambda x: x * 2)(ARRAYS[0])
    assert af.compile(lambda x: x * 2, fallback=True)(ARRAYS[0]).tolist() == (ARRAYS[0] * 2).tolist()


# -- what a recording that was abandoned has changed

CHANGES = {
    "a global": "global COUNT; COUNT += 1; z = x * COUNT", "a list": "LIST.append(1); z = x * len(LIST)",
    "a list of results": "LIST.append(x); z = x * len(LIST)", "a default": "z = kept(x)",
    "a dict": "DICT['k'] = DICT.get('k', 0) + 1; z = x * DICT['k']", "a set": "SET.add(len(SET)); z = x * len(SET)",
    "an array": "ARRAY[1] += 1; z = x * ARRAY", "a view": "ARRAY[1:][0] += 1; z = x * ARRAY",
    "out=": "np.add(ARRAY, 1, out=ARRAY); z = x * ARRAY", "an attribute": "OBJECT.n += 1; z = x * OBJECT.n",
    "a generator": "z = x + RNG.normal(size=3)", "np.random": "z = x + np.random.normal(size=3)",
    "random": "z = x * random.random()", "a context variable": "VAR.set(VAR.get() + 1); z = x * VAR.get()",
    "a new attribute": "OBJECT.new = x; z = x * 2", "an element": "DICT.clear(); LIST[:] = [x]; z = x * 2",
    "flat": "ARRAY.flat[:] = 4; z = x * ARRAY", "a keyword's container": "store.append(1); z = x * len(store)",
}  # fmt: skip
AROUND = {
    "nothing more": "z", "a question": "z if x[0] > 0 else -z", "a text": "z * len(str(x))",
    "a number": "z * float(x[1])",
}  # fmt: skip


def changed_by(change, around, how, calls=(1.0, 2.0, -1.0, 1.0)):
    """The results of some calls, and everything outside afterwards. ``how``: the options of af.compile; None: eager."""
    np.random.seed(0)
    random.seed(0)
    scope = {
        "np": np, "random": random, "COUNT": 0, "LIST": [], "DICT": {}, "SET": set(), "ARRAY": np.ones(3),
        "OBJECT": types.SimpleNamespace(n=1), "RNG": np.random.default_rng(0),
        "VAR": contextvars.ContextVar("VAR", default=0),
    }  # fmt: skip
    exec("def kept(x, seen=[]):\n  seen.append(1)\n  return x * len(seen)", scope)
    exec(f"def f(x, store):\n  {CHANGES[change]}\n  return {AROUND[around]}", scope)
    f = scope["f"] if how is None else af.compile(scope["f"], **how)
    store: list[int] = []
    results = [outcome(lambda x: np.asarray(f(x, store)).tolist(), np.array([sign, 2.0, 3.0]))[0] for sign in calls]
    kept = [len(scope["LIST"]), scope["ARRAY"].tolist(), vars(scope["OBJECT"]).keys(), scope["VAR"].get()]
    kept += [scope["OBJECT"].n, *[scope[name] for name in ("DICT", "SET", "COUNT")]]
    drawn = scope["RNG"].random(), np.random.random(), random.random()
    return results, kept, drawn, scope["kept"].__defaults__, store


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("change", CHANGES)
def test_an_abandoned_recording_leaves_no_trace(change, around):
    assert changed_by(change, around, {"fallback": True}) == changed_by(change, around, None)
    refused, *left = changed_by(change, around, {})
    assert refused == [CompileError] * 4
    assert tuple(left) == changed_by(change, around, None, ())[1:]


def test_a_call_that_differs_from_eager_code_leaves_no_trace(monkeypatch):
    """What only the comparison finds: eager code has run then."""
    seen = []

    def f(x):
        if differs:
            seen.append(1)
        return x * (2.0 if differs else 1.0)

    differs, compiled = False, af.compile(f)
    compiled(ARRAYS[0])
    monkeypatch.setattr(next(iter(compiled.entries.values())), "guards_hold", None)
    monkeypatch.setattr(next(iter(compiled.entries.values())).recorded.guards, "hold", lambda: True)
    differs = True
    with pytest.raises(CompileError, match="disagree by 3"):
        compiled(ARRAYS[0])
    assert seen == []


def test_a_failure_of_ours_leaves_no_trace(monkeypatch):
    """Eager code has run, to see whose failure it is."""
    monkeypatch.setattr("autoflow.compiler.compiled.record", broken)
    for change in CHANGES:
        refused, *left = changed_by(change, "nothing more", {})
        assert refused == [CompileError] * 4
        assert tuple(left) == changed_by(change, "nothing more", None, ())[1:]


def test_an_iterator_is_not_moved_by_an_abandoned_recording():
    numbers = iter([1.0, 2.0, 3.0])
    f = af.compile(lambda x: x * next(numbers) * float(x[0]), fallback=True)
    assert [f(np.ones(1))[0] for _ in range(3)] == [1.0, 2.0, 3.0]
