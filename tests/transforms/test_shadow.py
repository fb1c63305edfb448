"""Numbers that NumPy reads past us: found in strict mode, in anomaly mode and by af.check, and nothing else is."""

import copy
import statistics
import warnings

import numpy as np
import pytest
from support import every_pair

import autoflow as af
from autoflow.base.modes import OTHER, modes, switched
from autoflow.errors import GradcheckError, LostGradientError
from autoflow.nodes.nodes import shadow_of, value_of
from autoflow.table.table import RULES

V = np.array([1.5, -0.7, 0.4])


def filled(v):
    """An array that was made before it had a history."""
    z = np.zeros_like(v)
    z[0] = v[0] ** 2
    return np.array([z, z])


def of_library(text, name="library"):
    """What an installed package makes of v, times v."""
    scope = {"__name__": name, "copy": copy}
    exec(compile(f"def f(v): return {text}", "site-packages/library.py", "exec"), scope)
    return lambda v: scope["f"](v * 1.0) * v


# Functions of a vector in which numbers are read past us; each also lets a gradient through.
READ = {
    "array of arrays": lambda v: np.array([v * 2, v]), "array of slices": lambda v: np.array([v[:2], v[1:]]),
    "full": lambda v: np.full(3, v[0] * 1.0), "asarray": lambda v: np.asarray(v) * v,
    "array": lambda v: np.array(v * v) * v, "float32": lambda v: np.float32(v[0]) * v,
    "complex numbers": lambda v: np.abs(np.array([v[0], 1j])),
    "list of complex numbers": lambda v: np.abs(np.sum([v[0] * 1j, v[1] * 1j]) * v[2]),
    "method of a plain array": lambda v: np.ones(v.shape).dot(v) * v,
    "slice of a plain array": lambda v: stored(np.zeros(3), v),
    "default of select": lambda v: np.select([V > 2], [V], default=v[0]), "written first": filled,
    "an outer generator": lambda v: np.random.random(3) * np.array([v, v]).sum(),
    "float in Python's library": lambda v: statistics.NormalDist(v[0] * 1.0, 2.0).pdf(0.3) * v,
    **{
        f"{name} in a library": of_library(text)
        for name, text in (("float", "float(v[0])"), ("item", "v[0].item()"), ("tolist", "v.tolist()[0]"))
    },
    "a copy in a library that draws": of_library("copy.copy(v)", "matplotlib.lines"),
}  # fmt: skip


def stored(plain, v):
    plain[:] = v
    return plain


# Functions in which nothing is lost; numbers leave on purpose, or do not matter.
KEPT = {
    "af.array": lambda v: af.array([v * 2, v]), "stack": lambda v: np.stack([v[:2], v[1:]]),
    "value, float, detach": lambda v: v * v.value * float(v[0]) * v.detach() * af.stop_gradient(v[1]) * v[2].item(),
    "kept for a picture": lambda v: (SEEN.append(np.asarray(v)), v)[1],
    "a condition": lambda v: np.where(np.asarray(v) > 0, v, -v),
    "steps": lambda v: v * np.argmax(np.asarray(v)) + np.sort(v) + v[np.argsort(np.array(v))],
    "views and writes": lambda v: written(v * 1.0), "c_ and r_": lambda v: np.c_[v, v][0] @ np.r_[v[0], v[1:2]],
    "c_ of operations": lambda v: np.c_[v * 2.0, v * v],
    "texts in a library": of_library("len(f'{v[0]:.3f}' + '%.3f' % v[1] + str(v[2]))"),
    "random numbers": lambda v: v * np.random.default_rng().normal(size=3),
    "an outer generator": lambda v: v * np.random.random(3),
    "a gradient inside": lambda v: af.grad(lambda x: np.sum(np.sin(x * v)))(v * 2.0),
    "a solved system": lambda v: np.linalg.solve(np.diag(v), v[::-1] * 2.0),
    "an unused list": lambda v: (np.array([v, v]), v * 2.0)[1],
}  # fmt: skip
SEEN = []


def written(a):
    b = a[1:]
    b *= a[0]
    a[0] = np.tanh(b[1])
    a.sort()
    return a


def loss(f):
    return lambda v: np.sum(np.sin(np.real(f(v)))) + np.sum(v * v)


MODES = {"strict": lambda: af.options(strict=True), "anomaly": af.detect_anomaly}
WORDS = (
    r"reach the result .* has numbers of nodes only, and .* \(line \d+ of test_shadow\.py\) computes with them\. Take"
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", READ)
def test_numbers_that_are_read_past_us_are_found(name, mode):
    f = loss(READ[name])
    with af.options(prove="never"):
        af.grad(f)(V)  # in silence, usually
    with MODES[mode](), pytest.raises(LostGradientError, match=WORDS):
        af.grad(f)(V)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_refused_where_nothing_is_lost(name, mode):
    f = loss(KEPT[name])
    with np.errstate(all="ignore"):
        np.random.seed(7)
        right = af.grad(f)(V)
        np.random.seed(7)
        with MODES[mode]():
            again = af.grad(f)(V)
    assert ("random" in name and "outer" not in name) or np.array_equal(right, again)


TRANSFORMS = {
    "vjp": lambda f: af.vjp(f, V), "jvp": lambda f: af.jvp(f, (V,), (V,)), "hvp": lambda f: af.hvp(f, (V,), (V,)),
    **{name: lambda f, name=name: getattr(af, name)(f)(V) for name in ["value_and_grad", "jacobian", "hessian"]},
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_looks(name):
    f = loss(READ["full"])
    with af.options(strict=True), pytest.raises(LostGradientError, match="numbers of nodes reach the result"):
        TRANSFORMS[name](f)


SECOND = {
    "hvp": TRANSFORMS["hvp"], "hessian": TRANSFORMS["hessian"],
    "grad of grad": lambda f: af.grad(lambda v: np.sum(af.grad(f)(v)))(V),
    "jacobian of value_and_grad": lambda f: af.jacobian(lambda v: af.value_and_grad(f)(v)[1])(V),
    "jvp of vjp": lambda f: af.jvp(lambda v: af.vjp(f, v)[1](1.0), (V,), (V,)),
    "grad of jvp": lambda f: af.grad(lambda v: af.jvp(f, (v,), (V,))[1])(V),
    "hessian of grad": lambda f: af.jacobian(af.hessian(f))(V),
    "newton": lambda f: af.minimize(f, V, method="Newton-CG"),
}  # fmt: skip
JOINED = {"added": lambda v, lost: np.sum(v**4) + lost, "multiplied": lambda v, lost: np.sum(v**4) * lost}


@pytest.mark.parametrize(("name", "read", "joined"), every_pair(SECOND, READ, JOINED))
def test_by_default_transforms_within_transforms_look_at_each_function(name, read, joined):
    """A number that is lost may be missing in the value of the inner function alone, and not in its gradient."""
    f = lambda v: JOINED[joined](v, np.sum(np.real(READ[read](v))))  # noqa: E731
    with af.options(prove="first"):
        with pytest.raises(LostGradientError):
            SECOND[name](f)
        with pytest.raises(LostGradientError):  # nothing was taken for proved
            af.grad(f)(V)
        if "outer" not in read:
            SECOND[name](lambda v: JOINED[joined](v, np.sum(np.sin(v))))


def test_a_function_is_proved_for_its_value_and_for_its_derivative():
    cube = af.primitive(lambda v: v**3).defvjp(v=lambda g, v: g * 3 * np.asarray(v) ** 2)
    f = lambda v: np.sum(cube(v))  # noqa: E731
    with af.options(prove="first"):
        np.testing.assert_allclose(af.grad(f)(V), 3 * V**2)
        for transform in (af.hessian, lambda f: af.grad(lambda v: np.sum(af.grad(f)(v)))):
            with pytest.raises(LostGradientError):
                transform(f)(V)


def test_check_says_what_is_wrong():
    report = af.check(loss(READ["array of arrays"]), V)
    assert not report
    assert any("numbers of nodes reach the result" in text for text in report.found)
    with pytest.raises(GradcheckError, match="numbers of nodes reach the result"):
        af.gradcheck(loss(READ["full"]), V)
    report = af.check(loss(lambda v: v * af.stop_gradient(v)), V)
    assert (bool(report), report.found) == (False, [])  # wrong, but on purpose


def test_the_line_is_that_of_the_first_operation():
    def f(v):
        a = v * 2.0
        b = np.full(3, a[0])
        c = a * 3.0
        return np.sum(c * b)  # here

    with af.options(strict=True), pytest.raises(LostGradientError) as caught:
        af.grad(f)(V)
    line = f.__code__.co_firstlineno + 4
    read = f"np.full(3, a[0]) has numbers of nodes only, and c * b (line {line} of test_shadow.py) computes with them"
    assert f"{read}. Take af.full to keep the history; or x.value" in str(caught.value)


WAYS = {
    "np.array([v, v * 2.0])": "af.array([...]) or np.stack", "np.asarray(v * 2.0)": "the node itself",
    "np.full((2, 3), v * 2.0)": "af.full", "stored": "NumPy's functions on nodes, af.zeros(...) or af.array([...])",
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_reads_past_us_is_named_with_its_remedy_and_nothing_else(way, tmp_path):
    lines = ["stored = np.zeros((2, 3))", "stored[1] = v * 2.0", f"return np.sum({way} * v)"]
    program = tmp_path / "program.py"
    program.write_text("\n    ".join(["def f(v, np):", *lines]), encoding="utf-8")
    scope = {}
    exec(compile(program.read_text(encoding="utf-8"), program, "exec"), scope)
    with af.options(strict=True), pytest.raises(LostGradientError) as caught:
        af.grad(scope["f"])(V, np)
    said = str(caught.value)
    assert f": {way} has numbers of nodes only, and {way} * v (line 4 of program.py) computes with them" in said
    assert [text for text in WAYS.values() if f"Take {text} to" in said] == [WAYS[way]]


def test_generators_go_on_as_if_there_had_been_one_run():
    def numbers(strict):
        rng = np.random.default_rng(3)
        with af.options(strict=strict):
            return [*af.grad(lambda v: np.sum(v * rng.normal(size=3)))(V), rng.normal()]

    assert numbers(True) == numbers(False)


def test_a_function_that_differs_each_time_is_not_judged():
    calls = []
    with af.options(strict=True):
        assert np.all(af.grad(lambda v: np.sum(v * len(calls.append(1) or calls)))(V) > 0)


def from_a_set(v, more):
    """The elements in another order in each run, as those of a set; this one for certain in the second run."""
    parts = [more(x * x) for x in v]
    return sum(parts[:: -1 if modes().shadow >= OTHER else 1])


@pytest.mark.parametrize("mode", MODES)
def test_a_sum_in_another_order_is_not_a_lost_number(mode):
    for more in (lambda x: x * 1.1, np.exp):
        with MODES[mode]():
            assert np.all(af.grad(from_a_set)(V, more) != 0)
    for more in (lambda x: x * np.asarray(x), lambda x: x + np.asarray(x) * 1e-14):
        with MODES[mode](), pytest.raises(LostGradientError, match="has numbers of nodes only"):
            af.grad(from_a_set)(V, more)


def test_memory_in_a_shadow_run_has_other_numbers():
    x = af.Variable([1.0, 0.0, -2.0])
    with switched(shadow=OTHER):
        y, s = x * 2.0, np.sum(x)
        z = np.positive(y)
    for node in (y, z, s, z[1:], z.T):
        assert not np.any(np.asarray(node) == value_of(node)) or node.base is not None
    assert y.tolist() == [2.0, 0.0, -4.0]
    assert (np.asarray(z) != z.value).all()
    assert (np.sign(np.asarray(z))[[0, 2]] == [1.0, -1.0]).all()
    z.sum().backward()
    assert x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "c16"])
@pytest.mark.parametrize("step", [OTHER, 9])
def test_other_numbers_have_the_same_signs_and_order(step, dtype):
    """And other ratios. A number by itself changes as it does in an array."""
    x = np.array([-40.0, -1.0, -0.25, 0.0, 0.5, 1.0, 60.0, 1e4]).astype(dtype)
    with switched(shadow=step), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = shadow_of(x)
        single = [shadow_of(x[k : k + 1].reshape(())) for k in range(len(x))]
        assert repr(shadow_of(np.array([np.nan, np.inf, np.finfo(float).max]))) == "array([nan, inf, inf])"
    assert found.dtype == x.dtype
    assert all([type(v) is np.ndarray and v.dtype == x.dtype and v.shape == () for v in single])
    assert (np.delete(found, 3) == np.delete(single, 3)).all()
    assert 0 < found[3].real < abs(found[[2, 4]]).min()
    assert single[3].real > 0
    assert (np.diff(found.real) > 0).all()
    assert (np.sign(found.real) == np.sign(x.real))[x != 0].all()
    ratios = found[4:7] / x[4:7]
    assert ratios[0] != ratios[2]
    assert (abs(ratios - 1) < 2 * 2.0**-step).all()


def test_rules_read_no_memory_of_nodes():
    """So a shadow run of any function in the table has the numbers of the other run: here on those of one array."""
    x = np.array([[0.3, 0.8], [0.6, 0.2]])
    functions = [f for f in RULES if isinstance(f, np.ufunc) and f.nin == 1 and hasattr(np, f.__name__)]
    for function in functions:
        with np.errstate(all="ignore"):
            plain = function(np.positive(af.Variable(x)))
            with switched(shadow=OTHER):
                shadow = function(np.positive(af.Variable(x)))
        assert np.array_equal(plain.value, shadow.value, equal_nan=True), function
    assert len(functions) > 30
