"""Compiled programs of numbers: the dtype and the bits of eager code, whatever meets whatever."""

import collections
import operator
import time
import warnings

import numpy as np
import pytest
from programs import plan_of

import autoflow as af
from autoflow.compiler.run.scalars import Slots
from autoflow.errors import CompileError

UNARY = (
    np.sin, np.exp, np.tanh, np.abs, np.negative, np.square, np.sqrt, np.real, np.imag, np.conj, np.sign, np.floor,
    np.isnan, np.logical_not, np.invert, np.positive, np.reciprocal, np.log1p,
    lambda x: x.astype(int), lambda x: x.astype(complex), lambda x: x.astype(np.float32), lambda x: x.astype(bool),
    lambda x: x.astype(float), lambda x: x**2, lambda x: x**3, lambda x: x**0.5, lambda x: x * 1, lambda x: +x,
    lambda x: np.ldexp(x, 3), lambda x: x.sum(), lambda x: np.mean(x), lambda x: x & 1, lambda x: x << 2, np.spacing,
    lambda x: np.where(x, x, 0), lambda x: np.clip(x, 0, 2), lambda x: np.where(x, 1, 2.5),
)  # fmt: skip
BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.gt, operator.le, operator.eq, operator.ne, operator.and_, operator.or_, operator.xor, np.maximum,
    np.minimum, np.arctan2, np.hypot, np.copysign, np.logical_and, np.logaddexp, np.fmod, np.ldexp, np.nextafter,
    np.float_power, np.heaviside, lambda x, y: np.where(x, x, y), lambda x, y: np.where(x > 0, y, 1),
)  # fmt: skip
CONSTANTS = (
    2, -1, 0, 1, 3, 2**53 + 1, -(2**60), True, False, 2.0, -0.5, 1e300, 0.0, -1.0, 1.0, float("inf"), 1j, 2 - 0.5j,
    np.float32(0.1), np.float64(0.1), np.int8(3), np.uint8(200), np.uint8(1), np.int64(7), np.bool_(True),
    np.float16(0.3), np.complex64(1j), np.array(3), np.array(2.5), np.array(True), np.array(2, np.uint8),
)  # fmt: skip
DTYPES = (*[np.float64] * 6, np.float32, np.int64, np.bool_, np.complex128, np.uint8)


def a_number(x, kind):
    """As a 0-d array; complex ones are not real."""
    return np.array(x * (0.6 + 0.8j) if kind is np.complex128 else x).astype(kind)


def random_numbers(seed):
    """A function of 0-d arrays, or of NumPy's numbers, that mixes dtypes wherever NumPy allows it, and arguments:
    (function, [arguments])."""
    rng = np.random.default_rng(seed)
    kinds = [DTYPES[i] for i in rng.integers(len(DTYPES), size=rng.integers(1, 4))]
    calls = [
        [a_number(x, kind)[()] if seed % 2 else a_number(x, kind) for x, kind in zip(drawn, kinds, strict=True)]
        for drawn in rng.uniform(0, 3, (3, len(kinds)))
    ]
    values, steps = list(calls[0]), []

    def operand():
        if rng.random() < 0.2:
            return CONSTANTS[rng.integers(len(CONSTANTS))]
        return int(rng.integers(max(0, len(values) - 6), len(values))), "place"

    def looked_up(x, values):
        return values[x[0]] if type(x) is tuple else x

    def drawn():
        function = UNARY[rng.integers(len(UNARY))] if rng.random() < 0.4 else BINARY[rng.integers(len(BINARY))]
        operands = [(int(rng.integers(len(values))), "place")] + [operand()] * (function in BINARY)
        return function, operands[:: int(rng.choice((-1, 1)))]

    while len(steps) < 3 + seed % 9:
        function, operands = drawn()
        if function is operator.pow and isinstance(operands[0], np.generic):
            continue  # NumPy's number asks np.power, whose last bits are others (guarantees.md)
        try:
            new = function(*[looked_up(x, values) for x in operands])
        except (TypeError, ValueError, OverflowError, AttributeError):
            continue  # no such dtypes
        values.append(new)
        steps.append((function, operands))

    def f(*arguments):
        values = list(arguments)
        for function, operands in steps:
            values.append(function(*[looked_up(x, values) for x in operands]))
        return tuple(values[len(arguments) :][-3:])

    return f, calls


def outcome(f, arguments):
    """What a call gives, or raises."""
    try:
        return f(*arguments)
    except (ValueError, OverflowError) as error:  # integers to negative powers
        return type(error)


def check(seed):
    """Compare three calls. Was it a program of Python's floats?"""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        f, calls = random_numbers(seed)
        compiled = af.compile(f)
        for arguments in calls:
            expected, ours = outcome(f, arguments), outcome(compiled, arguments)
            assert type(ours) is type(expected)
            for a, b in zip(expected, ours, strict=True) if type(expected) is tuple else ():
                np.testing.assert_array_equal(b, np.asarray(a), f"seed {seed}", strict=True)
    return any(type(plan) is Slots for entry in compiled.entries.values() for plan in entry.free)


MANY = 2500


@pytest.mark.thorough
def test_random_programs():
    """As many as fit into three seconds."""
    quick, end = 0, time.perf_counter() + 3
    for seed in range(MANY):
        quick += check(seed)
        if seed >= 100 and time.perf_counter() > end:
            break
    assert quick > 10


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, MANY, 500))
def test_many_random_programs(first):
    for seed in range(first, first + 500):
        check(seed)


COMPLEX = {
    "x * y": lambda x, y: x * y, "conjugate": lambda x, y: x * x.conj() * y, "abs": lambda x, y: abs(x) * y,
    "np.abs": lambda x, y: np.abs(x) * y, "np.multiply": lambda x, y: np.multiply(x, y) * 3,
    "powers": lambda x, y: x**2 / y**3, "chain": lambda x, y: np.exp(x * y) * np.sin(y) * np.multiply(x, y),
    "Python's": lambda x, y: (2.5 - 0.3j) * x * y * (0.1 + 0.7j), "real": lambda x, y: x.real * y * True * 3,
    "in place": lambda x, y: times(x, y), "elements": lambda x, y: (np.arange(3) * x)[1] * (y * np.ones(2))[0],
}  # fmt: skip


def times(x, y):
    z = +x
    z *= y
    z *= 0.3 + 2j
    return z


@pytest.mark.parametrize("kind", [np.complex128, np.complex64, np.array, lambda z: np.array(z, "F")])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_have_the_bits_of_eager_code(name, kind):
    """NumPy multiplies two numbers in other code than arrays, with other last bits."""
    f, rng = COMPLEX[name], np.random.default_rng(0)
    compiled = af.compile(f)
    for _ in range(40):
        x, y = (kind(complex(*rng.normal(size=2))) for _ in "xy")
        assert compiled(x, y).tobytes() == np.asarray(f(x, y)).tobytes()


@pytest.mark.parametrize("f", [
    lambda x: (x > 0) * 2, lambda x: x.astype(int) * (2**53 + 1), lambda x: x * (2**53 + 1),
    lambda x: ((x > 0) * 3) // ((x > 99) * 1), lambda x: np.abs(x * 1j), lambda x: np.logical_and(x, 1j),
    lambda x: x.astype(int) & 1, lambda x: x * np.float32(0.1), lambda x: np.uint8(3) * -(x.astype(np.float32)),
    af.grad(lambda x: np.abs(x * 1j)), af.grad(lambda x: (x.astype(np.float32) * 2).sum()),
])  # fmt: skip
def test_what_is_no_float_goes_the_way_of_arrays(f):
    compiled = af.compile(f)
    with np.errstate(all="ignore"):
        for x in (1.5, -2.5, 0.0, 3.0):
            np.testing.assert_array_equal(compiled(np.array(x)), np.asarray(f(np.array(x))), strict=True)
    assert type(plan_of(compiled)) is not Slots


@pytest.mark.parametrize("f", [
    lambda x: x * 3 + 1, lambda x: (x > 0) & (x < 3), lambda x: (x > 0) * 2.0, lambda x: (x > 0) / -1,
    lambda x: np.where(x > 0, x, 0.5), lambda x: 1 / np.sin(x) + np.sin(x) / np.sin(x), lambda x: (x * 2.0) ** 3,
    af.grad(lambda x: np.ldexp(x, 3)),
])  # fmt: skip
def test_floats_are_pythons(f):
    """Also where Python's division fails, which eager code is not asked about."""
    compiled = af.compile(f, verify=False)
    compiled.run_eagerly = None
    with np.errstate(all="ignore"):
        for x in (1.5, -2.5, 0.0, -0.0, np.inf, np.nan):
            np.testing.assert_array_equal(compiled(np.array(x)), np.asarray(f(np.array(x))), strict=True)
    assert type(plan_of(compiled)) is Slots


NODES = {
    "single": lambda x: np.sqrt(x.sum()) * np.float64(0.3), "half": lambda x: np.exp(np.mean(x)) / np.array(7.0),
    "norm": lambda x: np.float64(0.1) * np.linalg.norm(x), "exp": lambda x: np.exp(x[0]) * x.max(),
    "interp": lambda x: np.real(np.interp(x[0] * np.complex64(1j), [0.0, 1.0], [1.0, 2.0]) * x[0]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", NODES)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_node_without_axes_is_no_number(name, dtype):
    """Its row is called with an array, and its gradient has its dtype."""
    f = af.value_and_grad(NODES[name])
    compiled = af.compile(f, verify=False)
    for seed in range(9):
        x = np.random.default_rng(seed).uniform(0.5, 2.0, 3).astype(dtype) * (seed > 0)

        def answer(f, x=x):
            try:
                return [(z.dtype, z.tobytes()) for z in f(x)]
            except TypeError:  # of np.interp, whose numbers may be complex
                return TypeError

        with np.errstate(all="ignore"):
            assert answer(compiled) == answer(f)


def test_dtypes_that_depend_on_values_are_refused():
    compiled = af.compile(lambda x: np.emath.sqrt(x) * 2)
    assert compiled(np.array(4.0)) == 4.0
    with pytest.raises(CompileError, match="returned complex128"):
        compiled(np.array(-4.0))


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_a_number_and_an_array_without_axes_have_a_program_each(dtype, engine):
    """What the function does with the one says nothing of the other."""
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    for f in (
        lambda z: z * 2 if isinstance(z, np.ndarray) else z * 3,
        lambda z: np.add(z, 1) if np.isscalar(z) else z,
        lambda z: z * z + np.square(z / 3),
    ):
        compiled = af.compile(f, engine=engine)
        for x in (2.7 + 1.3j, 1.1 - 0.2j, 0.3 + 0.7j):
            number = dtype(x if dtype is np.complex128 else x.real)
            for given in (number, number, np.asarray(number), np.asarray(number), number):
                np.testing.assert_allclose(compiled(given), f(given), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # of Python's, from 3.12 on
@pytest.mark.parametrize("engine", ["numpy", "llvm", "jax"])
def test_truth_values_of_python_compute_as_pythons(engine):
    """What np.allclose and np.array_equal give is no number of NumPy's, nor are their sum and 1j + x.sum()."""
    if engine != "numpy":
        pytest.importorskip({"llvm": "llvmlite"}.get(engine, engine))
    a, b = "np.allclose(x, x)", "np.array_equal(x, 2 * x)"
    texts = [f"{sign}{a}" for sign in "~-+"] + [f"{a} {sign} {b}" for sign in "+-*&|^<"]
    texts += [f"1 - {a}", f"abs({a})", f"{a} / 2", f"2.5 * {a} * x", f"sum([{a}, {b}, {a}])", f"np.add({a}, {b})", a]
    texts += [f"{a} == [1, 2]", f"{a} != None", f"(1, 1) == {a}", "1j * np.sum(x) == [0, 0]"]
    texts += [f"(1j {sign} (x + 0.5).astype(float).sum()) * x" for sign in "+-*/"] + ["(1j + x[0].astype(float)).real"]
    for text in [*texts, f"operator.iadd(operator.iadd(0, {a}), {a})"]:
        f = eval(f"lambda x: {text}", {"np": np, "operator": operator})
        compiled = af.compile(f, engine=engine, verify=False)
        for x in (np.ones(2, np.float32), np.zeros(2, np.float32), np.ones(2, np.float32)):
            found, expected = compiled(x), f(x)
            np.testing.assert_array_equal(found, expected, err_msg=text, strict=hasattr(expected, "dtype"))
            assert isinstance(found, np.ndarray if hasattr(expected, "dtype") else type(expected)), text


@pytest.mark.parametrize("number", ["x", "x[0]", "(x[0] > 0)", "np.allclose(x, x)", "(1j + x.sum())", "np.argmax(x)"])
@pytest.mark.filterwarnings("ignore")
def test_operators_with_sequences_are_pythons(number):
    """They are right, or refused: [0] * 2 repeats a list, True + [0] is an error, and a bytearray compares bytes."""
    names = {"np": np, "deque": collections.deque}
    for other in ("[0, 1, 2]", "(0,)", "range(3)", "deque([1])", "bytearray(b'a')", "memoryview(b'ab')", "2"):
        for sign in ["+", "-", "*", "/", "//", "%", "&", "<<", "<", "==", "!=", ">="]:
            for text in (f"{number} {sign} {other}", f"{other} {sign} {number}", f"divmod({number}, {other})"):
                f, x = eval(f"lambda x: {text}", names), np.array([1.0, 2.0, 4.0])
                try:
                    found = af.compile(f, verify=False)(x)
                except CompileError:
                    continue
                except Exception as error:
                    with pytest.raises(type(error)):
                        f(x)
                    continue
                expected = f(x)
                assert hasattr(found, "dtype") is hasattr(expected, "dtype"), text
                np.testing.assert_array_equal(found, expected, err_msg=text)


def test_the_square_of_a_complex_number_is_written_as_numpys():
    compiled = af.compile(lambda z: np.square(z / 1.5))
    text = str(compiled.program(np.complex128(1 + 2j)).to_python())
    assert "np.square(z / 1.5)" in text


def test_numbers_that_are_almost_one():
    """What is saved of 1 · x is not saved of them: some are 1 as a float of Python's."""
    one = np.longdouble(1)
    numbers = [np.nextafter(one, 2), np.nextafter(one, 0), -np.nextafter(one, 2), one, -one]
    numbers += [10**400] * (np.finfo(np.longdouble).maxexp > 2000)
    x = np.linspace(1, 2, 5, dtype=np.longdouble)
    for c in numbers:
        for f in (operator.add, operator.sub, operator.mul, operator.truediv):
            for g in (lambda x, f=f, c=c: f(x, c), lambda x, f=f, c=c: f(c, x), lambda x, f=f, c=c: -f(-x, c)):
                np.testing.assert_array_equal(af.compile(g)(x), g(x), strict=True)


def test_texts_are_put_together_in_their_order():
    names = np.array(["x", "yy", "z"])
    for f in (
        lambda x: np.add("up", np.where(x > 0, "a", "b")),
        lambda x: np.add(np.where(x > 0, "a", "b"), "up"),
        lambda x: np.add(names, np.where(x > 0, "a", "b")),
        lambda x: (y := np.where(x > 0, "a", "b"), np.add(np.where(x > 1, "c", "d"), y), np.add(y, names))[1:],
    ):
        x = np.array([-1.0, 1.0, 2.0])
        np.testing.assert_array_equal(af.compile(f)(x), f(x), strict=True)
