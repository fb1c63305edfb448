"""Who takes a number out of a node: functions of NumPy's are refused where a gradient would be lost, others get it."""

import functools
import math
import os
import sysconfig
from collections import UserList, deque

import numpy as np
import pytest
from processes import alone

import autoflow as af
from autoflow.errors import DataError, LostGradientError
from autoflow.forward import takers
from autoflow.nodes import grads
from autoflow.program import callers

# Calls in which NumPy asks nobody, and the name that the error says. n is a 0-d node, plain a vector of two.
REFUSED = {
    "np.array([n, n])": "np.array", "np.array([[0.0, -n], [n, 0.0]])": "np.array", "np.asarray((n, 1.0))": "np.asarray",
    "np.array([n], dtype=np.float32)": "np.array", "np.array(object=[n])": "np.array", "np.array(*[[n]])": "np.array",
    "np.sum([n, n])": "np.sum", "np.mean([n, n], axis=0)": "np.mean", "np.max([n])": "np.max", "np.std([n])": "np.std",
    "np.dot([n, n], plain)": "np.dot", "np.add([n], plain)": "np.add", "np.exp([n, n])": "np.exp",
    "np.add.reduce([n, n])": "np.add.reduce", "np.multiply.outer([n], plain)": "np.multiply.outer",
    "np.concatenate([[n], plain])": "np.concatenate", "np.hstack([[n], plain])": "np.hstack",
    "np.einsum('i,i', [n, n], plain)": "np.einsum", "np.where([True], [n], [1.0])": "np.where",
    "np.linalg.norm([n, n])": "np.linalg.norm", "np.linalg.solve([[n]], [1.0])": "np.linalg.solve",
    "np.interp(0.5, [0.0, 1.0], [n, n])": "np.interp", "np.cross([n, n, n], [1.0, 2.0, 3.0])": "np.cross",
    "np.full(2, [n, n])": "np.full", "np.arange(0.0, n)": "np.arange", "np.fromiter([n, n], float)": "np.fromiter",
    "np.fromiter((n * k for k in range(2)), float)": "np.fromiter", "np.r_[plain, [n, n]]": "np.r_",
    "np.sum(plain, initial=n)": "np.sum", "plain.dot([n, n])": "ndarray.dot", "plain.fill(n)": "ndarray.fill",
    "plain.clip(0.0, [n, n])": "ndarray.clip", "boxes.astype(float)": "ndarray.astype",
    "plain * [n, n]": "an operator", "[n, n] + plain": "an operator", "plain @ [n, n]": "an operator",
    "np.vectorize(lambda t: t * n)([1.0, 2.0])": "np.vectorize", "np.poly1d([n, 1.0])": "np.poly1d",
    "np.polynomial.Polynomial([n, 1.0])": "np.polynomial",
    "np.array([np.sum([n]) for _ in range(2)])": "np.sum", "[np.array([v]) for v in (n,)]": "np.array",
    "list(map(np.sum, [[n, n]]))": "np.sum", "(lambda: np.array([n]))()": "np.array", "array([n, n])": "np.array",
    "box.numpy.array([n, n])": "np.array", "box.slot([n, n])": "np.array", "box.static([n, n])": "np.array",
    "np.array([n]).sum()": "np.array", "np.sum([n]) + 1": "np.sum", "(np.sum([n]), np.array([1.0]).sum())": "np.sum",
}  # fmt: skip

# Calls that take a number on purpose, or whose result has no gradient to lose.
TAKEN = {
    "float(n)": 1.5, "int(n)": 1, "complex(n)": 1.5, "list(map(float, [n, n]))": [1.5, 1.5], "math.floor(n)": 1,
    "sum(map(float, [n, n]))": 3.0, "f'{n:.2f}'": "1.50", "'%.1f' % n": "1.5", "'{:.1f}'.format(n)": "1.5",
    "str(n)": "1.5", "math.sin(n)": math.sin(1.5), "np.argmax([n, 2 * n])": 1,
    "np.argsort([2 * n, n]).tolist()": [1, 0], "bool(np.isfinite([n, n]).all())": True,
    "np.allclose([n, n], 1.5)": True, "np.array_equal([n, n], [1.5, 1.5])": True,
    "(plain < [n, n]).tolist()": [True, False], "np.floor([n, n]).tolist()": [1.0, 1.0], "np.ndim([n])": 1,
    "np.shape([n, n])": (2,), "np.size([n, n])": 2, "np.searchsorted([1.0, 2.0], [n]).tolist()": [1],
    "np.testing.assert_allclose([n, n], [1.5, 1.5])": None, "np.array([n], dtype=int).tolist()": [1],
    "np.array([float(v) for v in (n, n)]).tolist()": [1.5, 1.5], "np.float64(n)": 1.5, "table['float'](n)": 1.5,
    "functools.partial(float, n)()": 1.5, "box.method(n)": 1.5, "box.callable(n)": 1.5,
}  # fmt: skip


class Box:
    """Objects that hold functions: in their dictionary, in a slot, in their class."""

    __slots__ = ("numpy", "slot")
    static = staticmethod(np.array)

    def __init__(self):
        self.numpy, self.slot = np, np.array

    @property
    def array(self):
        raise AssertionError("looking for a function runs no code of the user's")

    def method(self, x):
        return float(x)

    class Unhashable:
        def __hash__(self):
            raise AssertionError("looking at a function runs no code of the user's")

        __call__ = float

    callable = Unhashable()


def names():
    n = af.Variable(1.5) * 1.0
    boxes = np.array([None, None])
    boxes[:] = [n, n * 2.0]
    return {
        "np": np, "array": np.array, "math": math, "functools": functools, "n": n, "plain": np.array([1.0, 2.0]),
        "box": Box(), "boxes": boxes, "table": {"float": float},
    }  # fmt: skip


def evaluated(program, how):
    """The value of a program that is a module, the body of a function, or one whose names are its arguments."""
    given = names()
    if how == "module":
        exec(f"z = {program}", given)
        return given["z"]
    arguments = ", ".join(given) if how == "arguments" else ""
    exec(f"def f({arguments}):\n    if True:\n        return (\n            {program}\n        )", given)
    return given["f"](*[given[name] for name in arguments.split(", ") if name])


PLACES = "module", "function", "arguments"


@pytest.mark.parametrize("program", REFUSED)
def test_a_function_of_numpys_that_would_lose_a_gradient_is_refused(program):
    name = REFUSED[program].replace(".", r"\.")
    message = rf"^{name}\b.* would take the number of .*af\.array.*af\.stack.*float"
    for how in PLACES:
        with pytest.raises(LostGradientError, match=message):
            evaluated(program, how)


@pytest.mark.parametrize("program", TAKEN)
def test_a_number_that_is_wanted_is_given(program):
    assert [evaluated(program, how) for how in PLACES] == [TAKEN[program]] * 3


# "np.float64(n)": NumPy takes our error for "not a number", and reads the memory.
ALLOWED = ["float(n)", "f'{n:.2f}'", "'%.1f' % n", "'{:.1f}'.format(n)", "str(n)", "box.method(n)", "np.float64(n)"]


@pytest.mark.parametrize("program", [*TAKEN, *REFUSED])
def test_strict_mode_gives_numbers_to_float_and_for_printing_only(program):
    if program.startswith("np.array_equal"):
        return  # it takes any error for "no"
    with af.options(strict=True):
        if program in ALLOWED or program.startswith(("np.testing", "np.array([float")):
            assert evaluated(program, "function") == TAKEN[program]
        else:
            with pytest.raises(LostGradientError):
                evaluated(program, "function")


@pytest.mark.parametrize("file", ["site-packages/other/x.py", "dist-packages/x.py", "stdlib"])
def test_other_packages_get_numbers(file):
    path = os.path.join(sysconfig.get_paths()["stdlib"], "statistics.py") if file == "stdlib" else f"/usr/lib/{file}"
    given = {"np": np}
    exec(compile("def f(x): return np.array([x, x]) + np.sum([x, x])", path, "exec"), given)
    assert given["f"](af.Variable(1.5) * 1.0).tolist() == [4.5, 4.5]


def test_nothing_is_refused_where_no_gradient_flows():
    x, c = af.Variable(1.5), af.Constant(2.0)
    with af.no_grad():
        assert np.array([x, x * 2.0]).tolist() == [1.5, 3.0]
    assert np.sum([c, c * 2.0]) == 6.0
    assert np.sum([af.stop_gradient(x), x.detach()]) == 3.0
    x.requires_grad = False
    assert np.mean([x, x]) == 1.5


def test_kept_losses():
    """The one habit that has to change: the message says how."""
    w = af.Variable(2.0)
    losses = [w * w for _ in range(3)]
    with pytest.raises(LostGradientError, match=r"losses\.append\(float\(loss\)\)"):
        np.array(losses)
    assert np.array([float(loss) for loss in losses]).tolist() == [4.0] * 3


@pytest.mark.parametrize("parts", [deque, UserList, lambda parts: np.array([*parts, None])[:2]])
def test_other_collections_are_refused(parts):
    """They do not become arrays of nodes; but whoever makes arrays of them, NumPy or we, is seen."""
    x, s = af.Variable([1.0, 2.0]), af.Variable(1.5) * 1.0
    for f in (
        lambda v: x * v,
        lambda v: np.append(x, v),
        lambda v: np.hstack([x, v]),
        lambda v: np.exp(np.ones(2) * v),
    ):
        with pytest.raises((LostGradientError, DataError, TypeError)):
            f(parts([s, s]))


@pytest.mark.parametrize("store", ["plain[0] = n", "plain[:] = [n, n]", "plain[0:1] = [n]", "plain[0] = plain[1] = n"])
def test_stores_are_refused(store):
    with pytest.raises(LostGradientError, match=r"^plain\[i\] = .* would store the number only"):
        exec(store, names())


def test_names_are_looked_up_where_they_are_used():
    """A function of the user's may be called float or array: it is not Python's or NumPy's."""
    given = names()
    exec("def array(parts): return [math.floor(v) for v in parts]\nz = array([n, n])", given)
    assert given["z"] == [1, 1]
    exec("float = np.array", given)
    with pytest.raises(LostGradientError, match=r"np\.array"):
        exec("float([n, n])", given)
    assert takers.callee([], None) == ((), False)


def test_without_places_in_the_code_direct_calls_are_as_they_were():
    program = (
        "import numpy as np, autoflow as af\n"
        "from autoflow.errors import LostGradientError\n"
        "n = af.Variable(1.5) * 1.0\n"
        "print(float(n), np.array([n, n]).tolist(), np.dot([n], [2.0]))\n"
        "p = np.zeros(2)\n"
        "def store(): p[0] = n\n"
        "for f in (lambda: np.sum([n, n]), lambda: p.__setitem__(0, n), store):\n"
        "    try: print(type(f()).__name__)\n"
        "    except LostGradientError as error: print(str(error)[:9])\n"
        "with af.options(strict=True):\n"
        "    try: float(n)\n"
        "    except LostGradientError: print('strict')\n"
    )  # fmt: skip
    printed = alone(program, options=("-X", "no_debug_ranges"))
    assert printed.split("\n")[:5] == ["1.5 [1.5, 1.5] 3.0", "np.sum wo", "NoneType", "plain[i] ", "strict"]


def test_places_are_remembered_but_not_for_ever():
    x = af.Variable(1.5) * 1.0
    code = [compile(f"float(x) # {k}", "<many>", "eval") for k in range(grads.KEPT + 10)]
    for each in code:
        assert eval(each, {"x": x}) == 1.5
    assert len(grads.PLACES) <= grads.KEPT
    assert all([key[1] == id(code) for key, (code, _) in grads.PLACES.items()])


def test_whose_code_it_is():
    files = [np.__file__, "<frozen runpy>", __file__, "<stdin>", "/tmp/ipykernel_12/3.py"]
    assert [file for file in files if callers.is_library(file)] == files[:2]


def test_every_function_in_python_is_known_by_its_code():
    """So that np.mean is found whatever it calls: nearly all rows and composed functions of NumPy's have one."""
    takers.name_in_python((lambda: None).__code__)
    found = set(takers.IN_PYTHON.values())
    assert len(found) > 150
    assert {"np.sum", "np.mean", "np.linalg.solve", "np.fft.fft", "np.vectorize", "np.r_", "np.full"} <= found
    assert not {"np.argmax", "np.isclose", "np.allclose"} & found
