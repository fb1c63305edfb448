"""What a trial remembers of a function is what a search would find now, whatever has changed in between."""

import gc
import random
import sys
import types
import weakref

import numpy as np
import pytest
from scipy import stats

from autoflow.backprop import trials
from autoflow.backprop.second_runs import Globals

SOURCE = """
import numpy as np
W, n, helper_of = np.ones(3), 2, []
def inner(x, k=1): return x * W * k
def f(x): return np.sum(inner(x)) * n
def make():
    a, b = np.ones(2), 3
    def g(x): return x @ a * b + n
    def turn(new):
        nonlocal a
        a = new
    return g, turn
g, turn = make()
"""
CHANGES = {
    "nothing": "", "a number": "n = 3", "a number of another type": "n = 2.0", "an array": "W = np.zeros(3)",
    "the numbers of an array": "W[0] = 5.0", "a list in place of an array": "W = [1.0, 1.0, 1.0]",
    "a generator in place of a number": "n = np.random.default_rng(0)",
    "another function": "def inner(x): return x - W",
    "the code of a function": "inner.__code__ = (lambda x, k=1: x + W).__code__",
    "its default": "inner.__defaults__ = (2,)", "a default that is a list": "inner.__defaults__ = ([],)",
    "keyword defaults": "inner.__kwdefaults__ = {'k': []}", "an attribute": "inner.calls = []",
    "an attribute of the other": "f.calls = []; g.calls = []", "a global that was missing": "sum = [1]",
    "a global that is gone": "del n", "a variable of the outer function": "turn(np.zeros(2))",
    "another kind of variable": "turn([1, 2])", "the module": "np = {}",
}  # fmt: skip


def described(outlook):
    noted = [x for x in outlook.objects if not isinstance(x, (tuple, type))]
    found = [(x.scope["__name__"], x.old) if type(x) is Globals else x for x in noted]
    return outlook.codes, outlook.words, sorted(map(repr, found))


@pytest.fixture
def scope():
    module = types.ModuleType("written_by_a_user")
    exec(SOURCE, vars(module))
    return vars(module)


@pytest.mark.parametrize("name", ["f", "g"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_remembered_is_what_a_search_finds(scope, name, change):
    trials.Trial(scope[name])
    assert trials.look_again(scope[name]) is not None, "the function is not remembered at all"
    exec(CHANGES[change], scope)
    again = trials.look_again(scope[name])
    assert (again is not None) or change != "nothing"
    if again is not None:
        assert described(again) == described(trials.look(scope[name]))


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")  # NumPy 2.5
def test_an_array_that_is_given_another_shape_is_seen(scope):
    trials.Trial(scope["f"])
    scope["W"].shape = (3, 1)
    assert trials.look_again(scope["f"]) is None


MORE = {
    "an import": "def h(x):\n import os", "an import inside": "def h(x):\n def inside():\n  import os",
    "a function inside that sets": "def h(x):\n def inside(): x.a = 1", "a function that sets": "def h(x): x.a = 1",
    "by name": "def h(x): setattr(x, 'a', 1)", "a list": "def h(x): helper_of", "an object": "def h(x): config.a",
    "a generator": "def h(x): rng.normal()", "a class of the user's": "class C: a = []\ndef h(x): C.a",
    "an array of objects": "objects = np.array([[], {}], object)\ndef h(x): objects[0]",
    "a module of the user's": "def h(x): own.values", "a default": "def h(x, a=[]): a",
    "a keyword": "def h(x, *, a=[]): a", "an attribute": "def h(x): h\nh.calls = []",
    "a global that is set": "def h(x):\n global n\n n = 1", "a global that goes": "def h(x):\n global n\n del n",
    "a variable outside that is set": "def outer(n):\n def h(x):\n  nonlocal n\n  n = 1\n return h\nh = outer(1)",
    "the dict of globals": "def h(x): globals()", "a program": "def h(x): exec('n = 2', scope_of())",
    "through another": "def k(x): helper_of\ndef h(x): k(x)",
}  # fmt: skip


@pytest.mark.parametrize("reason", MORE)
def test_a_function_that_reaches_more_is_searched_each_time(scope, reason):
    own = types.ModuleType("own")
    own.values = []
    scope.update(config=types.SimpleNamespace(a=[]), rng=np.random.default_rng(0), own=own)
    exec(MORE[reason], scope)
    trials.Trial(scope["h"])
    assert trials.look_again(scope["h"]) is None


DRAWS = [
    "np.random.rand()", "getattr(np, 'random').rand()", "stats.norm.rvs()", "rand()", "rand_of_py()", "box.draw()",
    "getattr(np, NAME).normal()", "by_default()", "(lambda k='random': getattr(np, k).normal())()",
    "getattr(np, 'ran' + HALF).normal()",
]  # fmt: skip


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_are_noticed_each_time(scope, draw):
    scope |= {"rand": np.random.rand, "rand_of_py": random.random, "stats": stats}
    scope |= {"box": types.SimpleNamespace(draw=random.random), "NAME": "random", "HALF": "dom"}
    exec(f"def by_default(k='random'): return getattr(np, k).normal()\ndef h(x): return x * {draw}", scope)
    for _ in range(2):
        trial = trials.Trial(scope["h"])
        scope["h"](1.0)
        assert trial.restore() == "random generator"


def test_a_function_of_a_library_is_searched(scope):
    scope["__name__"] = "scipy.made_up"
    exec("def h(x): return x + n", scope)
    trials.Trial(scope["h"])
    assert trials.look_again(scope["h"]) is None


def test_what_is_shared_is_noted_too(scope):
    trials.Trial(scope["f"])
    array, objects = np.ones(2), [1]
    trial = trials.Trial(scope["f"], array, objects, 3)
    objects.append(2)
    assert any([x is array for x in trial.large]) != any([place is array for _, place, _ in trial.notes])
    assert trial.restore() == "list"
    assert objects == [1]


def test_nothing_is_kept_alive(scope):
    trials.Trial(scope["f"])
    array, function = weakref.ref(scope["W"]), weakref.ref(scope["inner"])
    scope.clear()
    gc.collect()
    assert (array(), function()) == (None, None)


def test_another_function_of_the_same_code_is_looked_at_itself(scope):
    first, _ = scope["make"]()
    second, turn = scope["make"]()
    trials.Trial(first)
    turn(np.full(2, 7.0))
    assert trials.look_again(second) is None
    trials.Trial(second)
    found = trials.look_again(second).objects
    assert any([isinstance(x, np.ndarray) and x[0] == 7.0 for x in found])


def test_memory_has_an_end(scope, monkeypatch):
    monkeypatch.setattr(trials.second_runs, "MANY", 3)
    for k in range(9):
        exec(f"def h(x): return x + {k}", scope)
        trials.Trial(scope["h"])
    assert len(trials.SEEN) <= 3
    assert sys.getrefcount(scope) < 30
