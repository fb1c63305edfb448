"""Whatever Python can ask an array: in a compiled function it is computed anew, or known for the signature, or refused.

Every attribute and method of ndarray, and every protocol of Python that arrays take part in, is in exactly one list. A
new one in NumPy fails here until it is.
"""

import numpy as np
import pytest
from compiled import check_same, functions

import autoflow as af
from autoflow.compiler.run.buffers import Plan
from autoflow.compiler.trace.doubts import Abandoned
from autoflow.compiler.trace.tape import Tape
from autoflow.compiler.trace.traced import Traced
from autoflow.errors import CompileError

# Computed anew in every call: name -> what is done with a vector, or with a matrix m of integers.
INPUT = {
    **functions("""
    T: m.T * 2 | mT: m.mT * 2 | real: x.real * 2 | imag: x.imag | all: x.all() | any: (x > 2).any() | argmax: x.argmax()
    argmin: x.argmin() | argpartition: x.argpartition(1)[1] | argsort: x.argsort() | astype: x.astype(int)
    choose: (m % 2).choose([m, -m]) | clip: x.clip(1.5, 2.5) | compress: x.compress([True, False, True])
    conj: x.conj() | conjugate: x.conjugate() | copy: x.copy() | cumprod: x.cumprod() | cumsum: x.cumsum()
    diagonal: m.diagonal() | dot: x.dot(x) | flatten: m.flatten() | max: x.max() | mean: x.mean() | min: x.min()
    nonzero: (x * 0 + 1).nonzero()[0] | prod: x.prod() | ravel: m.ravel() | repeat: x.repeat(2)
    reshape: m.reshape(3, 2) | round: x.round() | searchsorted: x.searchsorted(2.0) | squeeze: x[None].squeeze()
    std: x.std() | sum: x.sum() | swapaxes: m.swapaxes(0, 1) | take: x.take([0, 2]) | trace: m.trace()
    transpose: m.transpose(1, 0) | var: x.var() | view: x.view(np.int64) | getfield: x.getfield(np.float64)
    to_device: x.to_device("cpu") | ravel K: m.ravel("K") | ravel A: m.ravel(order="A") | flatten K: m.flatten("K")
    np.ravel K: np.ravel(m, "k") | flatten A: m.flatten(order="A") | reshape A: m.reshape(6, order="A")
    copy, then ravel: np.copy(m).ravel("K") | __abs__: abs(-x) | __add__: x + 2 | __radd__: 2 + x | __sub__: x - 2
    __rsub__: 2 - x | __mul__: x * 3 | __rmul__: 3 * x | __truediv__: x / 3 | __rtruediv__: 3 / x | __floordiv__: x // 2
    __rfloordiv__: 7 // x | __mod__: x % 2 | __rmod__: 7 % x | __divmod__: divmod(x, 2) | __rdivmod__: divmod(7, x)
    __pow__: x**3 | __rpow__: 2.0**x | __matmul__: m @ m.T | __rmatmul__: np.ones(2) @ m | __and__: m & 3
    __rand__: 3 & m | __xor__: m ^ 3 | __rxor__: 3 ^ m | __lshift__: m << 1 | __rlshift__: 1 << m | __rshift__: m >> 1
    __rrshift__: 99 >> m | __lt__: x < 2 | __le__: x <= 2 | __gt__: x > 2 | __ge__: x >= 2 | __eq__: x == 2
    __ne__: x != 2 | __neg__: -x | __pos__: +x | __invert__: ~m
    __getitem__: (x[1], x[1:], x[[0, 2]], m[..., None], m[:, ::-1]) | __iter__: sum([k * v for k, v in enumerate(x)])
    __copy__: copy.copy(x) * 2 | __deepcopy__: copy.deepcopy(x) * 2 | __array_ufunc__: np.exp(x)
    __array_function__: np.concatenate([x, x]) | unpacking: (lambda a, b, c: a * b - c)(*x) | reversed: [*reversed(x)]
    sum(): sum(x) | abs(): abs(x - 2) | __imatmul__: operator.imatmul(m @ m.T, np.eye(2, dtype=int))
    __setitem__: operator.setitem(z := x * 2, 1, x[0]) or z | fill: ((z := x * 1).fill(3.0), z)[1]
    real =: setattr(z := x * 1j, "real", x) or z | imag =: setattr(z := x * 1j, "imag", 3.0) or z
    real of real =: setattr(z := x * 1, "real", 2) or z | a number's copy: m.argmax().copy("F")
    a number's view: x.sum().view(np.int64) | a number's field: x.sum().getfield(np.int32)
    sort: ((z := x * 1).sort(), z)[1] | partition: ((z := x * 1).partition(1), z)[1]
    put: ((z := x * 1).put([0], 1.0), z)[1]
    __iadd__: operator.iadd(x * 2, 3) | __isub__: operator.isub(x * 2, 3) | __imul__: operator.imul(x * 2, 3)
    __itruediv__: operator.itruediv(x * 2, 3) | __ifloordiv__: operator.ifloordiv(x * 2, 3)
    __imod__: operator.imod(x * 2, 3) | __ipow__: operator.ipow(x * 2, 3) | __iand__: operator.iand(m * 2, 3)
    __ior__: operator.ior(m * 2, 3) | __ixor__: operator.ixor(m * 2, 3) | __ilshift__: operator.ilshift(m * 2, 3)
    __irshift__: operator.irshift(m * 2, 3)
""", "x, m", globals(), are_named=True),
    "__or__": lambda x, m: m | 3, "__ror__": lambda x, m: 3 | m,
}  # fmt: skip

# Known from the signature.
GUARD = functions("""
    shape: x * x.shape[0] | ndim: x * m.ndim | size: x * m.size | dtype: x * x.dtype.itemsize | itemsize: x * x.itemsize
    nbytes: x * x.nbytes | device: x * len(x.device) | __len__: x * len(x)
    __array_namespace__: x.__array_namespace__().sin(x) | isinstance: x * (x is not None)
    hasattr: x * hasattr(x, "shape")
""", "x, m", globals(), are_named=True)  # fmt: skip

# Refused with the line.
REFUSED = functions("""
    __repr__: (repr(x), x * 2)[1] | __str__: (str(x), x * 2)[1] | __format__: (f"{x}", x * 2)[1]
    flags: x * 2 if x.flags.c_contiguous else x * 3 | strides: x * x.strides[0] | base: x * (2 if x.base is None else 3)
    data: x * x.data.nbytes | ctypes: x * bool(x.ctypes.data) | flat: sum(x.flat) | item: x * x.item(0)
    tolist: x.tolist() | tobytes: x * x.tobytes()[0] | tofile: (x.tofile("/dev/null"), x)[1]
    dump: (x.dump("/dev/null"), x)[1] | dumps: x * len(x.dumps()) | resize: ((z := x * 1).resize(2), z)[1]
    setfield: ((z := x * 1).setfield(1.0, float), z)[1] | setflags: ((z := x * 1).setflags(write=False), z)[1]
    byteswap: x.byteswap() | __bool__: x if x[0] else -x | __float__: x * float(x[0]) | __int__: x * int(x[0])
    __complex__: x * complex(x[0]).real | __index__: x * operator.index(m[0, 0]) | __contains__: x * (2.0 in x)
    __array__: np.asarray(x) * 2 | __array_interface__: x * len(x.__array_interface__)
    __array_struct__: (x.__array_struct__, x)[1] | __dlpack__: np.from_dlpack(x)
    __dlpack_device__: x * x.__dlpack_device__()[1] | __reduce__: x * len(pickle.dumps(x))
    __reduce_ex__: x * len(x.__reduce_ex__(2)) | __setstate__: x.__setstate__(()) | __sizeof__: x * sys.getsizeof(x)
    __getstate__: (x.__getstate__(), x)[1] | __buffer__: x * memoryview(x).nbytes | __round__: round(x[0], 1)
    trunc: x * math.trunc(x[0]) | sorted: sorted(x) | max(): max(x) | math: x * math.sin(x[0])
    range: [x[k] for k in range(m[0, 0] % 3)]
    a list's index: x * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0][m[0, 0]]
    a list times a number: m[0, 0] * [1.0, 2.0] | a text times a number: "ab" * m[0, 0]
    a format with digits: (f"{x[0]:.1f}", x)[1] | text: str(x) | repr: repr(x) | text in a list: [f"{x[0]}"]
    shares_memory: x * np.shares_memory(x, x[1:]) | may_share_memory: x * np.may_share_memory(x, m)
    isfortran: x * np.isfortran(m) | min_scalar_type: x * np.min_scalar_type(x[0].astype(int)).itemsize
    bytes: x * bytes(x)[0] | json: json.dumps(x)
    write into the argument: operator.setitem(x, 0, 2.0) or x | shape is set: setattr(x, "shape", (3, 1)) or x
    dtype is set: setattr(x, "dtype", int) or x | __delitem__: operator.delitem(x, 0)
    strides of a node: x * af.Variable(x).strides[0]
    flags of a node: x * (2 if af.Variable(x).flags.c_contiguous else 3)
    value of a node: x * float((af.Variable(x) * 2).value[0])
    base of a node: x * (2 if (af.Variable(x) * 1)[1:].value.base is None else 3)
""", "x, m", globals(), are_named=True)  # fmt: skip

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
            check_same(c(x, m), f(x.copy(), m.copy("K")))


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
