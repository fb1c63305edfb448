"""What a compiled function refuses: each message once. With ``fallback=True`` it is the function all the same.

Each program is there for the one check that gives this message: without it something would be recorded that holds for
the first call only.
"""

import itertools
import re
import threading
import types
import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import CompileError

X = np.array([1.0, -2.0])


def loud(x):
    with np.errstate(divide="raise"):
        return 1.0 / x


def heard(x):
    with np.errstate(divide="call", call=print):
        return 1.0 / x


def in_numbers(x):
    z = x.value * 1.0
    z[0] = x[1]
    return np.sum(x) + np.sum(z)


def counting():
    n = 0.0

    def f(x):
        nonlocal n
        n += 1.0
        return x

    return f


def with_outside(make, do):
    """Makes a function that does something with an object that it finds outside."""

    def program():
        outside = make()
        return lambda x: (do(outside, x), x * 2.0)[1]

    return program


OBJECTS = np.array([1.0, 2.0], object)
# The message, and what makes the function.
REFUSED = [
    ("computes under np.errstate", lambda: loud),
    ("computes under np.errstate", lambda: heard),
    ("x.strides asks where numbers lie in memory", lambda: lambda x: x * x.strides[0]),
    ("np.shares_memory asks where numbers lie in memory", lambda: lambda x: x * np.shares_memory(x, x[1:])),
    ("np.min_scalar_type of a number", lambda: lambda x: x * np.min_scalar_type(x[0]).itemsize),
    ("gives an object of an array of objects", lambda: lambda x: np.dot(x, OBJECTS)),
    ("makes a matrix, whose arithmetic", lambda: lambda x: np.asarray(x.view(np.matrix)) * 2),
    ("returns more than arrays", lambda: lambda x: x * len(np.array2string(x))),
    ("writes a node into a plain array", lambda: af.grad(in_numbers)),
    ("changes a variable of the function around it", counting),
    ("changes 'n', which it found outside",
     with_outside(lambda: types.SimpleNamespace(n=0.0), lambda o, x: setattr(o, "n", 1.0))),
    ("changes the element 0 of a list",
     with_outside(lambda: [(lambda: 1.0), (lambda: 2.0)], lambda o, x: o.reverse())),
    ("changes the length of a list", with_outside(list, lambda o, x: o.append(1.0))),
    ("changes the elements of a list", with_outside(lambda: [1.0, 2.0], lambda o, x: o.reverse())),
    ("changes the elements of a dict", with_outside(lambda: {"a": 1.0}, lambda o, x: o.update(a=2.0))),
    ("writes into a bytearray from outside", with_outside(lambda: bytearray(b"a"), lambda o, x: o.__setitem__(0, 7))),
    ("writes into an array of shape (5000,) from outside",
     with_outside(lambda: np.zeros(5000), lambda o, x: o.__setitem__(4321, 7.0))),
    ("finds an iterator outside", with_outside(lambda: itertools.islice(iter([1.0] * 9), 9), lambda o, x: next(o))),
    ("takes elements of an iterator from outside", with_outside(lambda: iter([1.0] * 9), lambda o, x: next(o))),
    ("draws random numbers", with_outside(lambda: np.random.default_rng(0), lambda o, x: o.normal())),
    ("draws random numbers", with_outside(lambda: np.random.SeedSequence(0), lambda o, x: o.spawn(1))),
    ("which would come back as a plain array", lambda: lambda x: (x * 2.0, np.ma.ones(2))[1]),
    ("which would come back as a plain array", lambda: lambda x: (x * 2.0, np.array([None, 1.0]))[1]),
    ("printing or drawing needs the value", lambda: af.grad(lambda x: np.sum(x) * len(str(x)))),
    ("a text of an array needs the value", lambda: lambda x: x * len(repr(x))),
    ("needs the value of an array", lambda: lambda x: x if x[0] > 0 else -x),
    ("was made outside of the compiled function", with_outside(lambda: np.zeros(2), lambda o, x: np.sin(x, out=o))),
    ("was made outside of the compiled function", with_outside(lambda: np.zeros(2), lambda o, x: np.copyto(o, x))),
    ("was made outside of the compiled function",
     with_outside(lambda: np.zeros(2), lambda o, x: np.add.at(o, [0], x[0]))),
    ("writes into an argument of a compiled function", lambda: lambda x: np.sin(x, out=x)),
    ("writes into an argument of a compiled function", lambda: lambda x: x[:1].fill(3.0)),
    ("changes np.seterr or the filters of warnings", lambda: lambda x: (np.seterr(divide="ignore"), x)[1]),
    ("keeps 1 of the arrays", with_outside(types.SimpleNamespace, lambda o, x: vars(o).update(z=x * 3.0))),
]  # fmt: skip


def outcome(f, x):
    """What a call returns, or the type of its exception."""
    with np.errstate(divide="warn"):
        try:
            return np.asarray(f(x)).tolist()
        except Exception as error:
            return type(error)


@pytest.mark.parametrize(("message", "program"), REFUSED)
def test_it_is_refused_in_these_words(message, program):
    with np.errstate(divide="warn"), pytest.raises(CompileError, match=re.escape(message)):
        af.compile(program())(X.copy())


@pytest.mark.parametrize(("message", "program"), REFUSED)
def test_and_eager_code_does_it(message, program):
    eager, falling = program(), af.compile(program(), fallback=True)
    for x, _ in itertools.product((X, X + 3.0), range(2)):
        assert outcome(falling, x.copy()) == outcome(eager, x.copy())


# Doors to what no guard can check, as expressions. What they give here is the same in every call, so that only their
# names are a reason to refuse them.
DOORS = {
    "reads the clock": """
        time.time() | time.time_ns() | time.monotonic() | time.monotonic_ns() | time.perf_counter() | time.asctime()
        time.perf_counter_ns() | time.process_time() | time.process_time_ns() | time.thread_time() | time.ctime()
        time.thread_time_ns() | time.localtime() | time.gmtime() | time.strftime('%H') | datetime.datetime.now()
        datetime.datetime.utcnow() | datetime.date.today() | datetime.datetime.today() | date.today() | now()
    """,
    "asks the system for random numbers": """
        secrets.token_bytes(1) | secrets.token_hex(1) | secrets.token_urlsafe(1) | secrets.randbelow(9) | uuid.uuid1()
        uuid.uuid4() | os.urandom(1) | random.SystemRandom() | CHANCE.random() | CHANCE.gauss | draw()
    """,
    "looks names up by text": """
        globals() | eval('2') | exec('2') is None | __import__('os') | importlib.import_module('os') | sys.modules
    """,
}
IMPORTS = """
import datetime, importlib, os, random, secrets, sys, time, uuid
from datetime import date
from time import time as now
CHANCE = random.SystemRandom()
draw = random.SystemRandom().random
"""
OPENED = [(what, each.strip()) for what, texts in DOORS.items() for line in texts.strip().splitlines()
          for each in line.split(" | ")]  # fmt: skip


@pytest.mark.parametrize(("what", "expression"), OPENED)
@pytest.mark.parametrize("where", ["{}", "(lambda: {})()", "[{} for _ in 'a'][0]"])
def test_a_door_is_refused_by_its_name(what, expression, where):
    scope = {}
    exec(IMPORTS, scope)
    exec(f"def f(x): return x * bool({where.format(expression)})", scope)
    with pytest.raises(CompileError, match=what):
        af.compile(scope["f"])(X)


@pytest.mark.parametrize("text", ["os.path.join('a', 'b')", "time.sleep(0)", "uuid.UUID(int=3)", "random.Random(3)",
                                  "datetime.date(2020, 1, 2)", "sys.maxsize", "np.random.default_rng(3)"])  # fmt: skip
def test_the_rest_of_such_a_module_is_no_door(text):
    scope = {"np": np}
    exec(f"import datetime, os, random, sys, time, uuid\ndef f(x): return x * bool(({text}, 1)[1])", scope)
    np.testing.assert_array_equal(af.compile(scope["f"])(X), X)


@pytest.mark.parametrize("method", ["__init__(self)", "__del__(self)", "__post_init__(self)", "__new__(cls)",
                                    "__init_subclass__(cls)"])  # fmt: skip
def test_what_makes_an_object_is_not_called_any_more(method):
    """It may read the clock: the object is there."""
    scope = {}
    exec(f"import time\nclass C:\n rate = 2.0\n def {method}: time.time()\nobject_of_c = object.__new__(C)", scope)
    exec("def f(x): return x * object_of_c.rate", scope)
    np.testing.assert_array_equal(af.compile(scope["f"])(X), X * 2.0)


ANSWERED_OTHERWISE = {  # by arrays that are recorded
    "hasattr": "hasattr(x, 'tape')", "getattr": "getattr(x, 'tape', None) is not None",
    "type": "type(x) is not np.ndarray", "except": "raises(lambda: x.tape)",
}  # fmt: skip


@pytest.mark.parametrize("question", ANSWERED_OTHERWISE.values(), ids=ANSWERED_OTHERWISE)
def test_whoever_may_ask_for_a_class_is_compared_at_the_first_call(question):
    scope = {"np": np, "raises": raises}
    exec(f"def f(x): return x * (2.0 if {question} else 3.0)", scope)
    compiled = af.compile(scope["f"])
    with pytest.raises(CompileError, match="differs from call to call"):
        compiled(X)
    np.testing.assert_array_equal(af.compile(scope["f"], fallback=True)(X), scope["f"](X))


def raises(ask):
    try:
        ask()
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("change", [
    "warnings.simplefilter('always')", "warnings.filterwarnings('always')", "warnings.resetwarnings()",
    "with warnings.catch_warnings(): warnings.filters.insert(0, ('always', None, Warning, None, 0)); x = x * 1.0",
])  # fmt: skip
def test_filters_that_the_function_names_are_its_own_beside_other_threads_too(change):
    scope, stop = {"warnings": warnings}, threading.Event()
    exec(f"def f(x):\n {change}\n return x * 2.0", scope)
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        with warnings.catch_warnings(), pytest.raises(CompileError, match="the filters of warnings"):
            af.compile(scope["f"])(X)
    finally:
        stop.set()
        other.join()
