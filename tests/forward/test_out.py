"""``out=`` of every function and method that has one, by name and by position: eager, batched and compiled.

Each program writes into an array of its own, which it has read before and reads again.
"""

import numpy as np
import pytest

import autoflow as af
from autoflow.compiler.llvm import engine as engines
from autoflow.errors import NoRuleError

needs_llvm = pytest.mark.skipif(not engines.is_there(), reason="llvmlite is not installed")
BEFORE = {  # of functions that are methods, too: what stands between x and out
    "argmax": (0,), "argmin": (0,), "clip": (0.2, 0.6), "compress": None, "cumprod": (0, None), "cumsum": (0, None),
    "dot": (np.array([[0.5, 1.0, 2.0]] * 3),), "max": (0,), "mean": (0, None), "min": (0,), "prod": (0, None),
    "round": (1,), "std": (0, None), "sum": (0, None), "take": ([1, 0, 2], 0), "trace": (0, 0, 1, None),
    "var": (0, None),
}  # fmt: skip
ONLY_FUNCTIONS = {
    "all": (0,), "any": (0,), "around": (1,), "median": (0,), "nancumsum": (0, None), "nanmax": (0,),
    "nanmean": (0, None), "nanmedian": (0,), "nansum": (0, None), "nanvar": (0, None), "quantile": (0.3, 0),
    "add.reduce": (0, None), "add.accumulate": (0, None), "matmul": (np.array([[0.5, 1.0, 2.0]] * 3),),
}  # fmt: skip
OTHERS = {
    "np.compress, by position": lambda x, z: np.compress([True, False, True], x, 0, z),
    "x.compress, by position": lambda x, z: x.compress([True, False, True], 0, z),
    "x.compress, by name": lambda x, z: x.compress([True, False, True], 0, out=z),
    "np.stack": lambda x, z: np.stack([x[0], x[1]], out=z),
    "np.concatenate": lambda x, z: np.concatenate([x[:1], x[1:]], out=z),
    "np.einsum": lambda x, z: np.einsum("ij,jk->ik", x, x, out=z),
    "np.einsum, a sum": lambda x, z: np.einsum("ij->j", x, out=z), "np.ptp": lambda x, z: np.ptp(x, 0, out=z),
    "np.maximum.reduce": lambda x, z: np.maximum.reduce(x, 0, out=z),
    "np.fmin.reduce": lambda x, z: np.fmin.reduce(x, 0, out=z),
    "np.add.reduceat": lambda x, z: np.add.reduceat(x, [0, 1], 0, out=z),
    "np.subtract.accumulate": lambda x, z: np.subtract.accumulate(x, 0, out=z),
    "np.add.outer": lambda x, z: np.add.outer(x[0], x[1], out=z)[0],
    "np.cumulative_prod": lambda x, z: np.cumulative_prod(x, axis=0, out=z),
    "np.cumulative_sum": lambda x, z: np.cumulative_sum(x, axis=0, out=z),
}  # fmt: skip
X = np.array([[0.31, 0.93, 0.457], [0.62, 0.153, 0.77], [0.5, 0.23, 0.1]])


def of_function(name, before, by_name):
    function = np.add if name.startswith("add.") else getattr(np, name)
    function = getattr(function, name.removeprefix("add.")) if name.startswith("add.") else function
    return lambda x, z: function(x, *before, out=z) if by_name else function(x, *before, z)


def of_method(name, before, by_name):
    return lambda x, z: getattr(x, name)(*before, out=z) if by_name else getattr(x, name)(*before, z)


def all_writes():
    for name, before in (BEFORE | ONLY_FUNCTIONS).items():
        for by_name in (True, False) if before is not None else ():
            how = "by name" if by_name else "by position"
            yield f"np.{name}, {how}", of_function(name, before, by_name)
            if name in BEFORE:
                yield f"x.{name}, {how}", of_method(name, before, by_name)


WRITES = {**dict(all_writes()), **OTHERS}
NO_DERIVATIVE = ("all", "any", "argmax", "argmin")


def array_for(write):
    """An array into which it writes."""
    for shape in ((3, 3), (3,), (2, 3), ()):
        for dtype in (float, np.intp, bool):
            z = np.zeros(shape, dtype)
            try:
                write(X, z)
            except (ValueError, TypeError):
                continue
            return z
    raise AssertionError("no array fits")


def program(name):
    like = array_for(WRITES[name])

    def f(x):
        z = np.zeros_like(x, shape=like.shape, dtype=like.dtype)
        z[...] = x.sum() > 1
        before = z * 2
        returned = WRITES[name](x * 1, z)
        return before + z * 3 + returned + np.sum(x)

    return f


@pytest.mark.parametrize("name", [name for name in WRITES if not any(word in name for word in NO_DERIVATIVE)])
def test_eager(name):
    f = program(name)
    x = af.Variable(X)
    np.testing.assert_allclose(f(x).value, f(X), rtol=1e-14)
    af.gradcheck(f, x)


@pytest.mark.parametrize("name", WRITES)
def test_batched(name):
    f = program(name)
    points = np.stack([X, X * 0.9, X[::-1]])
    np.testing.assert_allclose(af.vmap(f)(points), [f(x) for x in points], rtol=1e-14)


@pytest.mark.parametrize("engine", ["numpy", pytest.param("llvm", marks=needs_llvm)])
@pytest.mark.parametrize("name", WRITES)
def test_compiled(name, engine):
    f = program(name)
    compiled = af.compile(f, engine=engine)
    for x in (X, X[::-1].copy()):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore:Implicit casting")  # by NumPy 2.5
@pytest.mark.parametrize("name", WRITES)
def test_compiled_into_an_array_of_another_dtype(name):
    """In which sums are then computed: NumPy's bits, or an error where NumPy raises one."""
    like = array_for(WRITES[name])
    for given, dtype in (("f4", "f8"), ("f8", "f4"), ("f4", "c16"), ("i1", "f4"), ("i1", "i2"), ("f8", "i8")):

        def f(x, dtype=dtype):
            z = np.zeros_like(x, shape=like.shape, dtype=dtype)
            WRITES[name](x, z)
            return z

        x = (X * 100).astype(given)
        try:
            expected = f(x)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                af.compile(f)(x)
        else:
            np.testing.assert_array_equal(af.compile(f)(x), expected, strict=True)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")  # of take from NumPy 2.5 on
@pytest.mark.parametrize("name", [name for name in WRITES if not any(word in name for word in NO_DERIVATIVE)])
@pytest.mark.parametrize(
    ("given", "dtype"), [("f4", "f8"), ("f8", "f4"), ("f4", "c16"), ("f2", "f2"), ("f2", "f4"), ("i4", "f8")]
)
def test_results_of_nodes_and_of_examples_are_computed_in_the_dtype_of_the_array(name, given, dtype):
    """NumPy's bits, or an error where NumPy raises one."""
    shape, x = array_for(WRITES[name]).shape, (X * (1.001 if given[0] == "f" else 1e7)).astype(given)

    def f(x):
        z = np.zeros_like(x, shape=shape, dtype=dtype)
        WRITES[name](x, z)
        return z

    batched = af.vmap(f, loop="allow")
    try:
        expected = np.stack([f(x), f(x[::-1])])
    except (TypeError, ValueError) as error:
        for g in (f, af.vmap(f, loop="allow")):
            if g is not f or given != "i4":
                with pytest.raises(type(error)):
                    g(af.Variable(x) if g is f else x[None])
        return
    batched(np.stack([x * 0, x * 0]))
    np.testing.assert_array_equal(batched(np.stack([x, x[::-1]])), expected, strict=True)
    if given != "i4":
        np.testing.assert_array_equal(f(af.Variable(x)).value, expected[0], strict=True)


@pytest.mark.parametrize(
    "name", [n for n in WRITES if n.endswith("by position") and "add." not in n and "matmul" not in n]
)
def test_none_by_position_is_no_array(name):
    def f(x):
        return WRITES[name](x, None)

    np.testing.assert_allclose(af.vmap(f)(X[None]), f(X)[None], rtol=1e-14)
    np.testing.assert_allclose(af.compile(f)(X), f(X), rtol=1e-14)


@pytest.mark.parametrize("ufunc", [np.divmod, np.modf, np.frexp, np.ldexp, np.add, np.exp])
@pytest.mark.parametrize("option", [{"subok": False}, {"order": "F"}, {"casting": "unsafe"}], ids=str)
def test_keywords_of_ufuncs_without_a_derivative(ufunc, option):
    first, second = np.array([[0.5, 1.5, -2.5]] * 2), np.array([[1, 2, 3]] * 2)
    plain = (first, second)[: ufunc.nin]
    with pytest.raises(NoRuleError, match=f"{next(iter(option))}="):
        ufunc(af.Variable(first), *plain[1:], **option)
    expected = [ufunc(*plain, **option)] if ufunc.nout == 1 else ufunc(*plain, **option)
    out = [af.Constant(np.empty_like(x)) for x in expected]
    ufunc(af.Constant(first), *plain[1:], out=tuple(out), **option)
    for z, x in zip(out, expected, strict=True):
        np.testing.assert_array_equal(z.value, x)
