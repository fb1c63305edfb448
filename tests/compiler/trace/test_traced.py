"""Whatever Python can ask an array: in a compiled function it is computed anew, or known for the signature, or refused.

Every attribute and method of ndarray, and every protocol of Python that arrays take part in, is in exactly one list. A
new one in NumPy fails here until it is.
"""

import copy
import operator
import pickle
import sys
from math import trunc

import numpy as np
import pytest

import autoflow as af
from autoflow.compiler.run.buffers import Plan
from autoflow.compiler.trace.doubts import Abandoned
from autoflow.compiler.trace.tape import Tape
from autoflow.compiler.trace.traced import Traced
from autoflow.errors import CompileError

# Computed anew in every call: name -> what is done with a vector, or with a matrix m of integers.
INPUT = {
    "T": lambda x, m: m.T * 2, "mT": lambda x, m: m.mT * 2, "real": lambda x, m: x.real * 2,
    "imag": lambda x, m: x.imag, "all": lambda x, m: x.all(), "any": lambda x, m: (x > 2).any(),
    "argmax": lambda x, m: x.argmax(), "argmin": lambda x, m: x.argmin(),
    "argpartition": lambda x, m: x.argpartition(1)[1], "argsort": lambda x, m: x.argsort(),
    "astype": lambda x, m: x.astype(int), "choose": lambda x, m: (m % 2).choose([m, -m]),
    "clip": lambda x, m: x.clip(1.5, 2.5), "compress": lambda x, m: x.compress([True, False, True]),
    "conj": lambda x, m: x.conj(), "conjugate": lambda x, m: x.conjugate(), "copy": lambda x, m: x.copy(),
    "cumprod": lambda x, m: x.cumprod(), "cumsum": lambda x, m: x.cumsum(), "diagonal": lambda x, m: m.diagonal(),
    "dot": lambda x, m: x.dot(x), "flatten": lambda x, m: m.flatten(), "max": lambda x, m: x.max(),
    "mean": lambda x, m: x.mean(), "min": lambda x, m: x.min(), "nonzero": lambda x, m: (x * 0 + 1).nonzero()[0],
    "prod": lambda x, m: x.prod(), "ravel": lambda x, m: m.ravel(), "repeat": lambda x, m: x.repeat(2),
    "reshape": lambda x, m: m.reshape(3, 2), "round": lambda x, m: x.round(),
    "searchsorted": lambda x, m: x.searchsorted(2.0), "squeeze": lambda x, m: x[None].squeeze(),
    "std": lambda x, m: x.std(), "sum": lambda x, m: x.sum(), "swapaxes": lambda x, m: m.swapaxes(0, 1),
    "take": lambda x, m: x.take([0, 2]), "trace": lambda x, m: m.trace(), "transpose": lambda x, m: m.transpose(1, 0),
    "var": lambda x, m: x.var(), "view": lambda x, m: x.view(np.int64), "getfield": lambda x, m: x.getfield(np.float64),
    "to_device": lambda x, m: x.to_device("cpu"), "ravel K": lambda x, m: m.ravel("K"),
    "ravel A": lambda x, m: m.ravel(order="A"), "flatten K": lambda x, m: m.flatten("K"),
    "np.ravel K": lambda x, m: np.ravel(m, "k"), "flatten A": lambda x, m: m.flatten(order="A"),
    "reshape A": lambda x, m: m.reshape(6, order="A"), "copy, then ravel": lambda x, m: np.copy(m).ravel("K"),
    "__abs__": lambda x, m: abs(-x), "__add__": lambda x, m: x + 2, "__radd__": lambda x, m: 2 + x,
    "__sub__": lambda x, m: x - 2, "__rsub__": lambda x, m: 2 - x, "__mul__": lambda x, m: x * 3,
    "__rmul__": lambda x, m: 3 * x, "__truediv__": lambda x, m: x / 3, "__rtruediv__": lambda x, m: 3 / x,
    "__floordiv__": lambda x, m: x // 2, "__rfloordiv__": lambda x, m: 7 // x, "__mod__": lambda x, m: x % 2,
    "__rmod__": lambda x, m: 7 % x, "__divmod__": lambda x, m: divmod(x, 2), "__rdivmod__": lambda x, m: divmod(7, x),
    "__pow__": lambda x, m: x**3, "__rpow__": lambda x, m: 2.0**x, "__matmul__": lambda x, m: m @ m.T,
    "__rmatmul__": lambda x, m: np.ones(2) @ m, "__and__": lambda x, m: m & 3, "__rand__": lambda x, m: 3 & m,
    "__or__": lambda x, m: m | 3, "__ror__": lambda x, m: 3 | m, "__xor__": lambda x, m: m ^ 3,
    "__rxor__": lambda x, m: 3 ^ m, "__lshift__": lambda x, m: m << 1, "__rlshift__": lambda x, m: 1 << m,
    "__rshift__": lambda x, m: m >> 1, "__rrshift__": lambda x, m: 99 >> m, "__lt__": lambda x, m: x < 2,
    "__le__": lambda x, m: x <= 2, "__gt__": lambda x, m: x > 2, "__ge__": lambda x, m: x >= 2,
    "__eq__": lambda x, m: x == 2, "__ne__": lambda x, m: x != 2, "__neg__": lambda x, m: -x,
    "__pos__": lambda x, m: +x, "__invert__": lambda x, m: ~m,
    "__getitem__": lambda x, m: (x[1], x[1:], x[[0, 2]], m[..., None], m[:, ::-1]),
    "__iter__": lambda x, m: sum([k * v for k, v in enumerate(x)]), "__copy__": lambda x, m: copy.copy(x) * 2,
    "__deepcopy__": lambda x, m: copy.deepcopy(x) * 2, "__array_ufunc__": lambda x, m: np.exp(x),
    "__array_function__": lambda x, m: np.concatenate([x, x]),
    "unpacking": lambda x, m: (lambda a, b, c: a * b - c)(*x), "reversed": lambda x, m: [*reversed(x)],
    "sum()": lambda x, m: sum(x), "abs()": lambda x, m: abs(x - 2),
    **{
        name: (lambda x, m, op=op: op(x * 2, 3))
        for name, op in {
            "__iadd__": operator.iadd,
            "__isub__": operator.isub,
            "__imul__": operator.imul,
            "__itruediv__": operator.itruediv,
            "__ifloordiv__": operator.ifloordiv,
            "__imod__": operator.imod,
            "__ipow__": operator.ipow,
        }.items()
    },
    **{
        name: (lambda x, m, op=op: op(m * 2, 3))
        for name, op in {
            "__iand__": operator.iand,
            "__ior__": operator.ior,
            "__ixor__": operator.ixor,
            "__ilshift__": operator.ilshift,
            "__irshift__": operator.irshift,
        }.items()
    },
    "__imatmul__": lambda x, m: operator.imatmul(m @ m.T, np.eye(2, dtype=int)),
    "__setitem__": lambda x, m: operator.setitem(z := x * 2, 1, x[0]) or z,
    "fill": lambda x, m: ((z := x * 1).fill(3.0), z)[1], "sort": lambda x, m: ((z := x * 1).sort(), z)[1],
    "partition": lambda x, m: ((z := x * 1).partition(1), z)[1], "put": lambda x, m: ((z := x * 1).put([0], 1.0), z)[1],
}  # fmt: skip

# Known from the signature.
GUARD = {
    "shape": lambda x, m: x * x.shape[0], "ndim": lambda x, m: x * m.ndim, "size": lambda x, m: x * m.size,
    "dtype": lambda x, m: x * x.dtype.itemsize, "itemsize": lambda x, m: x * x.itemsize,
    "nbytes": lambda x, m: x * x.nbytes, "device": lambda x, m: x * len(x.device), "__len__": lambda x, m: x * len(x),
    "__array_namespace__": lambda x, m: x.__array_namespace__().sin(x), "isinstance": lambda x, m: x * (x is not None),
    "hasattr": lambda x, m: x * hasattr(x, "shape"),
}  # fmt: skip

# Refused with the line.
REFUSED = {
    "__repr__": lambda x, m: (repr(x), x * 2)[1], "__str__": lambda x, m: (str(x), x * 2)[1],
    "__format__": lambda x, m: (f"{x}", x * 2)[1], "flags": lambda x, m: x * 2 if x.flags.c_contiguous else x * 3,
    "strides": lambda x, m: x * x.strides[0], "base": lambda x, m: x * (2 if x.base is None else 3),
    "data": lambda x, m: x * x.data.nbytes, "ctypes": lambda x, m: x * bool(x.ctypes.data),
    "flat": lambda x, m: sum(x.flat), "item": lambda x, m: x * x.item(0), "tolist": lambda x, m: x.tolist(),
    "tobytes": lambda x, m: x * x.tobytes()[0], "tofile": lambda x, m: (x.tofile("/dev/null"), x)[1],
    "dump": lambda x, m: (x.dump("/dev/null"), x)[1], "dumps": lambda x, m: x * len(x.dumps()),
    "resize": lambda x, m: ((z := x * 1).resize(2), z)[1],
    "setfield": lambda x, m: ((z := x * 1).setfield(1.0, float), z)[1],
    "setflags": lambda x, m: ((z := x * 1).setflags(write=False), z)[1], "byteswap": lambda x, m: x.byteswap(),
    "__bool__": lambda x, m: x if x[0] else -x, "__float__": lambda x, m: x * float(x[0]),
    "__int__": lambda x, m: x * int(x[0]), "__complex__": lambda x, m: x * complex(x[0]).real,
    "__index__": lambda x, m: x * operator.index(m[0, 0]), "__contains__": lambda x, m: x * (2.0 in x),
    "__array__": lambda x, m: np.asarray(x) * 2, "__array_interface__": lambda x, m: x * len(x.__array_interface__),
    "__array_struct__": lambda x, m: (x.__array_struct__, x)[1], "__dlpack__": lambda x, m: np.from_dlpack(x),
    "__dlpack_device__": lambda x, m: x * x.__dlpack_device__()[1], "__reduce__": lambda x, m: x * len(pickle.dumps(x)),
    "__reduce_ex__": lambda x, m: x * len(x.__reduce_ex__(2)), "__setstate__": lambda x, m: x.__setstate__(()),
    "__sizeof__": lambda x, m: x * sys.getsizeof(x), "__getstate__": lambda x, m: (x.__getstate__(), x)[1],
    "__buffer__": lambda x, m: x * memoryview(x).nbytes, "__round__": lambda x, m: round(x[0], 1),
    "trunc": lambda x, m: x * trunc(x[0]), "sorted": lambda x, m: sorted(x), "max()": lambda x, m: max(x),
    "math": lambda x, m: x * __import__("math").sin(x[0]), "range": lambda x, m: [x[k] for k in range(m[0, 0] % 3)],
    "a list's index": lambda x, m: x * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0][m[0, 0]],
    "a list times a number": lambda x, m: m[0, 0] * [1.0, 2.0], "a text times a number": lambda x, m: "ab" * m[0, 0],
    "a format with digits": lambda x, m: (f"{x[0]:.1f}", x)[1], "text": lambda x, m: str(x),
    "repr": lambda x, m: repr(x), "text in a list": lambda x, m: [f"{x[0]}"],
    "shares_memory": lambda x, m: x * np.shares_memory(x, x[1:]),
    "may_share_memory": lambda x, m: x * np.may_share_memory(x, m), "isfortran": lambda x, m: x * np.isfortran(m),
    "min_scalar_type": lambda x, m: x * np.min_scalar_type(x[0].astype(int)).itemsize,
    "bytes": lambda x, m: x * bytes(x)[0], "json": lambda x, m: __import__("json").dumps(x),
    "write into the argument": lambda x, m: operator.setitem(x, 0, 2.0) or x,
    "shape is set": lambda x, m: setattr(x, "shape", (3, 1)) or x,
    "dtype is set": lambda x, m: setattr(x, "dtype", int) or x, "__delitem__": lambda x, m: operator.delitem(x, 0),
    "strides of a node": lambda x, m: x * af.Variable(x).strides[0],
    "flags of a node": lambda x, m: x * (2 if af.Variable(x).flags.c_contiguous else 3),
    "value of a node": lambda x, m: x * float((af.Variable(x) * 2).value[0]),
    "base of a node": lambda x, m: x * (2 if (af.Variable(x) * 1)[1:].value.base is None else 3),
}  # fmt: skip

# Parts of the class, not of an array; nothing can be learned from them. (NumPy 2 has removed the last three.)
CLASS = """
    __array_finalize__ __array_priority__ __array_wrap__ __class__ __class_getitem__ __delattr__ __dir__ __doc__
    __getattribute__ __hash__ __init__ __init_subclass__ __module__ __new__ __setattr__ __subclasshook__
    itemset newbyteorder ptp
""".split()  # noqa: SIM905


def points():
    """Vectors and matrices of other numbers and other layouts, of the same shapes and dtypes."""
    m = np.arange(1, 7).reshape(2, 3)
    return [
        (np.array([1.0, 2.0, 3.0]), m),
        (np.arange(9.0, 0.0, -1.5)[::2], np.asfortranarray(m[::-1] + 1)),
        (np.array([2.5, 0.5, 1.0]), np.arange(30).reshape(5, 6)[::3, ::2] + 1),
    ]


def test_an_array_writes_down_what_is_done_with_it():
    """By hand: a recording, whose program gives the same for other numbers; and a question that ends it."""
    tape = Tape()
    x, w = [tape.borrow(tape.program.input(a)) for a in (np.arange(3.0), np.eye(3))]
    y = np.tanh(x @ w) + np.sum(x[1:] ** 2) / 2.0
    z = np.zeros_like(y)
    z[1:] = y[:-1]
    assert (type(z), z.shape, z.dtype, len(z), x.T is x) == (Traced, (3,), np.float64, 3, False)
    tape.program.outputs = [y.expr, z.expr]
    a, b = np.array([0.5, -1.0, 2.0]), np.arange(9.0).reshape(3, 3)
    expected = np.tanh(a @ b) + np.sum(a[1:] ** 2) / 2.0
    found = Plan(tape.program).run([a, b])
    np.testing.assert_allclose(found, [expected, [0.0, *expected[:-1]]], rtol=1e-15)
    for ask in (bool, float, str, np.asarray):
        tape.reason = None
        with pytest.raises(Abandoned):
            ask(x[1])
        assert isinstance(tape.reason, CompileError)


def test_every_attribute_is_classified():
    known = {*INPUT, *GUARD, *REFUSED, *CLASS}
    public = {name for name in dir(np.ndarray) if not name.startswith("_") or name.startswith("__")}
    assert public - known == set()
    assert len(known) == sum(map(len, (INPUT, GUARD, REFUSED, CLASS)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*INPUT, *GUARD])
def test_answered_anew(name):
    if name == "to_device" and not hasattr(np.ndarray, name):
        pytest.skip("this NumPy does not have it")
    f = {**INPUT, **GUARD}[name]
    for first in points():
        c = af.compile(f)
        for x, m in [first, *points()]:
            expected = f(x.copy(), m.copy("K"))
            for a, b in zip(af.pytree.tree_leaves(expected), af.pytree.tree_leaves(c(x, m)), strict=True):
                np.testing.assert_array_equal(b, np.asarray(a), strict=True)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    f, (x, m) = REFUSED[name], points()[0]
    try:
        f(x.copy(), m.copy())
        refusal = CompileError
    except Exception as error:  # eager code fails, too: with an error of its own
        refusal = (CompileError, type(error))
    with pytest.raises(refusal) as raised:
        af.compile(f)(x, m)
    if name not in BARE:
        assert isinstance(raised.value, CompileError)
        assert "test_traced.py" in str(raised.value) or name == "isfortran"  # that line is NumPy's
    equal_outcome(f, af.compile(f, fallback=True))


# Python refuses these before we are asked: a CompileError without the line, or the error that eager code has, too.
BARE = {"__buffer__", "bytes", "json", "math", "__delitem__", "shape is set", "dtype is set", "__dlpack__"}


def equal_outcome(f, c):
    """Both give the same, or the same class of error."""
    for x, m in points():
        outcomes = []
        for function in (f, c):
            try:
                outcomes.append(np.asarray(getattr(result := function(x.copy(), m.copy("K")), "value", result)))
            except Exception as error:
                outcomes.append(type(error).__name__)
        np.testing.assert_array_equal(*outcomes)
