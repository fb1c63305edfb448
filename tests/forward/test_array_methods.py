"""Array methods, attributes and Python's protocols: each name of ndarray has one answer, with ndarray's signature."""

# ruff: noqa: E501 - tables of calls

import copy
import inspect
import io
import math
import operator
import pickle
import re
import sys
import weakref
from itertools import product

import numpy as np
import pytest
from checks import check
from signatures import signature_of
from support import same_bits

import autoflow as af
from autoflow.base import numbering
from autoflow.errors import InPlaceError, LostGradientError, NoRuleError
from autoflow.forward import array_methods, node_methods
from autoflow.nodes.nodes import NodeRole

A = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
OPERATORS = {f"__{r}{name}__" for name in ARITHMETIC for r in ("", "r", "i")}
OPERATORS |= {f"__{name}__" for name in ("neg", "pos", "abs", "lt", "le", "gt", "ge", "eq", "ne", "divmod", "rdivmod")}
BITS = {f"__{r}{name}__" for name in node_methods.BITS for r in ("", "r", "i")}
# fmt: off
# Special methods that are right as ndarray has them, or that every Python object has.
INHERITED = {
    "__array__", "__array_finalize__", "__array_interface__", "__array_namespace__", "__array_priority__", "__array_struct__", "__buffer__",
    "__class__", "__class_getitem__", "__delattr__", "__delitem__", "__dir__", "__dlpack_device__", "__doc__", "__getattribute__",
    "__getstate__", "__init__", "__init_subclass__", "__len__", "__setattr__", "__sizeof__", "__subclasshook__",
}
NODES = {  # in nodes/nodes.py
    "__array_function__", "__array_ufunc__", "__array_wrap__", "__format__", "__hash__", "__iter__", "__new__", "__repr__", "__str__",
}
# fmt: on
# What this version of NumPy has. (2.3 has names that say only that they are gone.)
NAMES = {name for name in dir(np.ndarray) if hasattr(np.ones((1, 1)), name)}
# NumPy's own, from 2.5 on: refused, as everything that is not named in forward/array_methods.py
UNNAMED = {"_set_dtype", "_set_shape"}
FULL_RO = 0x11C  # inspect.BufferFlags.FULL_RO, which Python 3.11 does not have


def test_every_name_of_ndarray_is_classified_once():
    recorded = {n for n in vars(array_methods.ArrayMethods) if n == "__getitem__" or not n.startswith("__")}
    special = {n for n, member in vars(node_methods.Protocol).items() if callable(member)}
    classes = [recorded, set(array_methods.PLAIN.split()), set(array_methods.KEPT.split()), set(array_methods.REFUSED), OPERATORS,
               BITS, special, INHERITED, NODES, {"__setitem__"}, UNNAMED & array_methods.unknown_names()]  # fmt: skip
    for name in NAMES:
        places = [k for k, names in enumerate(classes) if name in names]
        assert len(places) == 1, f"ndarray.{name} is in {places}: say in forward/array_methods.py what a node answers"
        defined = any([name in vars(cls) for cls in af.Variable.__mro__ if cls not in (np.ndarray, object)])
        assert defined or name[0] == "_" or name in array_methods.KEPT.split(), f"{name} is inherited unawares"


READ = {
    "data": memoryview.tobytes, "ctypes": lambda c: c.data, "to_device": lambda f: f("cpu").tolist(),
    "base": lambda b: None,
}  # fmt: skip


@pytest.mark.parametrize("name", array_methods.KEPT.split())
def test_kept_attributes_say_the_same_of_the_numbers_and_record_nothing(name):
    x = af.Variable(A)
    for node in (x, x * 2, (x * 2).T, af.Constant(A)):
        read = READ.get(name, lambda a: a)
        before = numbering.now()
        assert read(getattr(node, name)) == read(getattr(node.value, name))
        assert not isinstance(node.base, NodeRole)
        assert numbering.now() == before + 1


def cannot(error, f, *args):
    with pytest.raises(error):
        f(*args)
    return True


# What each inherited special method answers, for a node ``a`` whose numbers are ``b``.
HARMLESS = {
    "__array__": lambda a, b: type(a.__array__()) is np.ndarray and np.shares_memory(a.__array__(), b),
    "__array_finalize__": lambda a, b: a.__array_finalize__(b) is None,  # views made in C: see test_interop.py
    "__array_interface__": lambda a, b: (  # read-only
        a.__array_interface__ == {**b.__array_interface__, "data": (b.ctypes.data, True)}
    ),
    "__array_namespace__": lambda a, b: a.__array_namespace__() is np,
    "__array_priority__": lambda a, b: isinstance(a.__array_priority__, float),
    "__array_struct__": lambda a, b: type(a.__array_struct__) is type(b.__array_struct__),
    "__buffer__": lambda a, b: a.__buffer__(FULL_RO).tobytes() == b.tobytes(),  # memoryview(a) asks it from 3.12 on
    "__class__": lambda a, b: a.__class__ is type(a),
    "__class_getitem__": lambda a, b: af.Variable[int, float].__origin__ is af.Variable,
    "__delattr__": lambda a, b: cannot(AttributeError, a.__delattr__, "shape"),
    "__delitem__": lambda a, b: cannot(ValueError, a.__delitem__, 0),
    "__dir__": lambda a, b: "backward" in a.__dir__() and set(dir(b)) <= set(dir(a)),
    "__dlpack_device__": lambda a, b: a.__dlpack_device__() == b.__dlpack_device__(),
    "__doc__": lambda a, b: isinstance(a.__doc__, str) or sys.flags.optimize == 2,
    "__getattribute__": lambda a, b: a.__getattribute__("shape") == b.shape,
    "__getstate__": lambda a, b: a.__reduce_ex__(2)[0] is node_methods.restore,  # pickle and copy do not ask for it
    "__init__": lambda a, b: a.__init__() is None and (a.value == b).all(),
    "__init_subclass__": lambda a, b: issubclass(type("Mine", (af.Variable,), {}), af.Node),
    "__len__": lambda a, b: len(a) == len(b),
    "__setattr__": lambda a, b: cannot(AttributeError, a.__setattr__, "nothing", 1),
    "__sizeof__": lambda a, b: a.__sizeof__() > 0, "__subclasshook__": lambda a, b: issubclass(type(a), np.ndarray),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(INHERITED & NAMES))
def test_inherited_special_methods_are_harmless(name):
    x = af.Variable(A)
    for node in (x, x * 2, (x * 2)[1:], af.Constant(A)):
        record, before = node.grad_fn, numbering.now()
        assert HARMLESS[name](node, node.value)
        assert numbering.now() == before + 1
        assert node.grad_fn is record


@pytest.mark.parametrize(
    "name", sorted(n for n, m in vars(array_methods.ArrayMethods).items() if inspect.isfunction(m) and n[0] != "_")
)
def test_signatures_are_those_of_ndarray(name):
    method = getattr(np.ndarray, name)
    theirs = signature_of(method).parameters
    ours = inspect.signature(getattr(af.Variable, name)).parameters
    known = [n for n, p in theirs.items() if p.kind is not p.VAR_KEYWORD and p.kind is not p.VAR_POSITIONAL]
    assert [n for n in ours if n in known] == known or any([p.kind is p.VAR_POSITIONAL for p in ours.values()])
    for n in known[1:]:
        if n in ours and theirs[n].default is not inspect.Parameter.empty:
            assert ours[n].default == theirs[n].default, n


@pytest.mark.parametrize("name", array_methods.PLAIN.split())
def test_plain_answers(name, tmp_path):
    x, arguments = af.Variable([3.0, 1.0, 2.0]) * 1.0, {"argpartition": (1,), "searchsorted": (2.5,), "item": (1,)}
    if name in ("dump", "tofile"):
        getattr(x, name)(tmp_path / "x")
        assert (tmp_path / "x").stat().st_size
        return
    ours, theirs = getattr(x, name)(*arguments.get(name, ())), getattr(x.value, name)(*arguments.get(name, ()))
    assert type(ours) is type(theirs)
    np.testing.assert_equal(ours, theirs)


@pytest.mark.parametrize("name", sorted(array_methods.REFUSED))
def test_refused_with_advice(name):
    for x in (af.Variable(A), af.Variable(A) * 2, *[af.Constant(A)] * (name not in array_methods.READING)):
        with pytest.raises(NoRuleError, match=rf"x\.{name}\(\) of a node is not recorded: .*(use|before)"):
            getattr(x, name)()


def test_bytes_of_what_has_no_gradient_are_read_as_in_numpy():
    x = af.Constant(A)
    np.testing.assert_array_equal(x.byteswap(), A.byteswap())
    np.testing.assert_array_equal(x.getfield("f4"), A.getfield("f4"))
    np.testing.assert_array_equal(x.view("i8"), A.view("i8"))
    for write in (lambda: x.byteswap(inplace=True), lambda: x.view("i8").fill(0), lambda: x.getfield("f4").fill(0)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    np.testing.assert_array_equal(x.value, A)


@pytest.mark.parametrize("name", ["data", "dtype", "strides"])
def test_attributes_that_are_not_assigned_to(name):
    for x in (af.Variable(A), af.Variable(A) * 2, af.Constant(A)[1:], *[af.Constant(A)] * (name == "data")):
        with pytest.raises(InPlaceError, match="cannot be assigned to"):
            setattr(x, name, getattr(x, name))
        assert x.shape == x.value.shape


@pytest.mark.parametrize(("name", "new"), [
    ("strides", (0, 8)), ("strides", (16, 8)), ("dtype", ">f8"), ("dtype", "i8"), ("dtype", "f4"), ("shape", (3, 2)),
    ("shape", -1), ("flat", [7.0, 8.0, 9.0, 1.0]), ("flat", 5.0), ("dtype", "M8[s]"), ("strides", (800, 8)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_constant_is_assigned_another_layout_as_in_numpy(name, new):
    ours, plain = af.zeros((2, 3)), np.zeros((2, 3))
    ours[...] = plain[...] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    try:
        setattr(plain, name, new)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            setattr(ours, name, new)
    else:
        if plain.dtype.kind in "Mm":
            with pytest.raises(InPlaceError, match="dates have no derivative"):
                setattr(ours, name, new)
            return
        setattr(ours, name, new)
    assert (ours.dtype, ours.shape, ours.strides) == (plain.dtype, plain.shape, plain.strides)
    np.testing.assert_array_equal(ours.value, plain)


def test_parts_of_complex_numbers_are_written():
    z = af.Variable([1 + 2j, 3 - 1j])
    a = 2.0 * z
    a.real, a.imag = z.imag, [5.0, 6.0]
    np.testing.assert_array_equal(a.value, [2 + 5j, -1 + 6j])
    np.sum(np.abs(a) ** 2).backward()
    np.testing.assert_allclose(z.grad, [4j, -2j])  # d(Im z)²/d(Im z)
    x = af.Variable([1.0, 2.0])
    b = 2.0 * x
    b.real = x[::-1]
    np.testing.assert_array_equal(af.gradients(np.sum(b * [1.0, 10.0]))[x], [10.0, 1.0])
    with pytest.raises(TypeError, match="imaginary part"):
        b.imag = 0.0
    with pytest.raises(InPlaceError, match="is a view of the Variable"):
        z.real = 0.0


def test_shape_can_be_assigned_to():
    x = af.Variable(np.arange(1.0, 7.0), name="x")
    y = 2.0 * x
    wave, y.shape = np.exp(0.1 * y), (2, -1)
    record, y.shape = y.grad_fn, (2, 3)
    assert y.shape == y.value.shape == (2, 3)
    assert y.grad_fn is record
    y += 1.0
    y[0] = 5.0
    weights = np.arange(6.0).reshape(2, 3)
    (np.sum(weights * y) + wave.sum()).backward()
    expected = 0.2 * np.exp(0.2 * x.value) + 2.0 * np.where(np.arange(6) < 3, 0.0, np.arange(6.0))
    np.testing.assert_allclose(x.grad, expected, rtol=1e-15)
    for node, what in ((x, "is a Variable"), (y.T, "is a view"), (y[0], "is a view")):
        with pytest.raises(InPlaceError, match=what):
            node.shape = node.shape
    with pytest.raises(ValueError, match="cannot reshape"):
        y.shape = 7
    assert y.shape == (2, 3)


@pytest.mark.parametrize(
    "use", [lambda v, x: v * 2.0, lambda v, x: v.__setitem__(0, x[0]), lambda v, x: v.__iadd__(x[0])]
)
@pytest.mark.parametrize("make", [lambda x: af.zeros(4), lambda x: x * 1.0])
def test_a_view_of_an_array_that_was_given_another_shape_is_refused(make, use):
    x = af.Variable(np.arange(4.0))
    a = make(x)
    v = a[1:]
    a.shape = (2, 2)
    a[0] = x[:2]
    with pytest.raises(InPlaceError, match=r"its shape was \(4,\); then its shape was set to \(2, 2\)"):
        use(v, x)
    a.sum().backward()


REFUSALS = [
    (lambda x: x.view("f4"), NoRuleError, "reads the bytes"),
    (lambda x: x.view(np.int64), NoRuleError, "reads the bytes"),
    (lambda x: x.view(af.Constant), NoRuleError, "reads the bytes"),
    (lambda x: x.astype(float, subok=False), NoRuleError, "subok"),
    (lambda x: x.astype(np.float32, casting="safe"), TypeError, "Cannot cast"),
    (lambda x: x.choose([x, x]), TypeError, "Cannot cast"),
    (lambda x: round(x, 1), TypeError, r"one number, not shape \(2, 3\)"),
    (lambda x: af.zeros(3).fill([1, 2, 3]), ValueError, "one number"),
    (lambda x: x.fill(1.0), InPlaceError, "Variable"),
    (lambda x: np.copyto((x * 1.0).flat, 1.0), TypeError, "no array"),
    (lambda x: np.sin(x.flat, out=x.flat), TypeError, "no array"),
    (lambda x: np.cumsum(x.flat, out=x.flat), TypeError, "no array"),
    (lambda x: np.add.at(x.flat, 0, 1.0), TypeError, "no array"),
    (lambda x: operator.iadd(x.flat, 1.0), TypeError, "no array"),
    (lambda x: x.__setstate__(np.zeros(2).__reduce__()[2]), InPlaceError, "restore"),
    (lambda x: range(x[0, 0]), TypeError, "integer"), (bool, ValueError, "ambiguous"),
    (lambda x: x & 1, TypeError, "not supported"), (lambda x: np.add(x, None), TypeError, "unsupported operand"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), REFUSALS)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call(af.Variable(A))


def test_round_gives_the_number_and_flags_are_those_of_the_memory():
    for node in (af.Variable(2.34567), 1.0 * af.Variable(2.34567), a := af.Constant(2.34567)):
        assert (round(node, 3), round(node)) == (2.346, 2)
        assert not isinstance(round(node, 3), af.Node)
    a.flags.writeable = False
    with pytest.raises(InPlaceError, match="read-only"):
        a[...] = 1.0


def test_which_methods_give_the_array_itself_and_which_plain_ones():
    x = af.Variable(A)
    assert x.conj() is x.conjugate() is x.astype(float, copy=False) is x  # it is real
    assert type(x.view(np.ndarray)) is type(x.astype(int)) is np.ndarray
    assert np.shares_memory(x.view(type=np.ndarray), x.value)
    assert x.view().requires_grad
    assert x.astype(str).dtype.kind == "U"
    np.testing.assert_array_equal(x.argmax(axis=1, keepdims=True), A.argmax(axis=1, keepdims=True))
    assert x[0].searchsorted(v=x[0, 0], sorter=np.argsort(A[0])) == 2


TAKEN = [
    lambda f: f[1:3], lambda f: f[...], lambda f: f[[0, 2]], lambda f: np.stack([*f.base.flat]), np.cos,
    lambda f: np.dot(f, f) * f.copy(), lambda f: f[len(f) - 1] * f[f == f.copy()],
    lambda f: next(f) - f[(1,)] * next(f) * next(f) + f.index * next(f) + sum(f) + len([*f]),
]  # fmt: skip
STORED = [
    lambda a, f, v: a.__setitem__(0, v), lambda a, f, v: f.__setitem__(slice(1, 4), v * v),
    lambda a, f, v: f.__setitem__(2, v * f[1]), lambda a, f, v: f.__setitem__([4, 1], f[:2] * v),
    lambda a, f, v: a.__imul__(v), lambda a, f, v: setattr(a, "flat", f[::-1]),
]  # fmt: skip


@pytest.mark.parametrize("layout", [lambda x: x * 1.0, lambda x: (x * 1.0).T, lambda x: np.stack([x, x])[:, 0]])
def test_flat_shows_what_is_in_the_array_and_gives_copies(layout):
    for take, store in product(TAKEN, STORED):

        def f(x, take=take, store=store):
            a = layout(x)
            early, flat = take(a.flat), a.flat
            store(a, flat, x[0, 1])
            return early * take(flat) + np.sum(a * a)

        check(f, A)


SORTED = {
    "sort": lambda a: a.sort(), "sort 0": lambda a: a.sort(0), "stable": lambda a: a.sort(axis=0, stable=True), "kind": lambda a: a.sort(kind="heapsort"),
    "partition": lambda a: a.partition(1), "partition 0": lambda a: a.partition([0, 1], axis=0), "put": lambda a: a.put([0, -1], [7.0, 8.0]),
    "wrap": lambda a: a.put(9, 7.0, mode="wrap"), "of T": lambda a: a.T.sort(), "of a row": lambda a: a[1].sort(), "backwards": lambda a: a[:, ::-1].sort(),
}  # fmt: skip


@pytest.mark.parametrize("name", SORTED)
def test_methods_that_write_into_their_array(name):
    f = SORTED[name]
    weights = np.arange(6.0).reshape(2, 3)

    def loss(x):
        a = x * 1.0
        f(a)
        return (weights * a).sum()

    x, plain = af.Variable(A), A.copy()
    a = x * 1.0
    assert f(a) is None
    f(plain)
    assert same_bits(a.value, plain)
    check(loss, A)
    c = af.Constant(A)
    f(c)
    assert same_bits(c.value, plain)
    with pytest.raises(InPlaceError, match="Variable"):
        f(x)


def test_choose():
    x, i = af.Variable(A), af.Constant([[0, 1, 0], [1, 1, 0]])
    z = i.choose([x, x * x])
    assert same_bits(z.value, i.value.choose([A, A * A]))
    np.testing.assert_array_equal(af.gradients(z.sum())[x], np.where(i.value == 1, 2 * A, 1.0))
    a = af.zeros((2, 3))
    assert i.choose([x, 0.0], out=a) is a
    assert same_bits(a.value, i.value.choose([A, 0.0]))
    assert same_bits((i - 1).choose([x, 0.0], mode="clip").value, (i.value - 1).choose([A, 0.0], mode="clip"))


def test_fill():
    x, a = af.Variable(2.0), af.zeros(3)
    a.fill(x * x)
    assert af.gradients(a.sum())[x] == 12.0


# -- Python's protocols


def store(plain, v):
    plain[0, 1] = v


def store_in_flat(plain, v):
    plain.flat[1] = v


def add_to(plain, v):
    plain[1, 1] += v


@pytest.mark.parametrize("dtype", [float, np.float32, np.float16, int])
def test_a_number_that_is_stored_in_a_plain_array_is_refused(dtype):
    x, plain = af.Variable(2.0, name="x"), np.zeros((2, 2), dtype)
    for write in [store, add_to] * 20:  # the interpreter specialises what runs often
        with pytest.raises(LostGradientError, match="its gradient would be lost"):
            write(plain, x * x)
    with pytest.raises(LostGradientError, match="would store the number only"):
        store(plain, x)
    with pytest.raises(ValueError, match="single item"):  # what NumPy makes of our error there
        store_in_flat(plain, x * x)
    assert not plain.any()


def test_a_number_that_is_asked_for_is_given():
    x = af.Variable(2.5)
    plain, seen = np.zeros(3), {}
    plain[0] = float(x)
    plain[1] = af.Constant(1.0)
    plain[2] = x.detach()
    seen[float(x)] = x
    with af.no_grad():
        plain[2] = x
    np.testing.assert_array_equal(plain, [2.5, 1.0, 2.5])
    assert (float(x), int(x), complex(x), bool(x), f"{x:.1f}") == (2.5, 2, 2.5 + 0j, True, "2.5")
    assert list(range(3))[af.Constant(1)] == 1
    assert 2.5 in x.reshape(1)
    assert 3.0 not in x.reshape(1)


def test_strict_mode_refuses_numbers_but_for_float():
    x = af.Variable(2.0)
    with af.options(strict=True):
        assert float(x * x) == 4.0
        for f in (int, complex, math.sqrt):
            with pytest.raises(LostGradientError, match="strict"):
                f(x * x)
        assert float(af.Constant(1.0)) == 1.0
        assert (x * x).value.item() == 4.0


def test_bits():
    a, mask = af.Constant([True, False, True]), np.array([True, True, False])
    for z in (a & mask, mask & a, a | False, a ^ mask, ~a):
        assert type(z) is np.ndarray
    i = af.Constant([1, 2, 3])
    np.testing.assert_array_equal(1 << i, [2, 4, 8])
    np.testing.assert_array_equal(i >> 1, [0, 1, 1])
    i &= 1
    a |= mask
    np.testing.assert_array_equal(i.value, [1, 0, 1])
    assert a.value.all()
    assert isinstance(a, af.Constant)


PICKLED = [lambda x, k=k: pickle.loads(pickle.dumps(x, k)) for k in (None, 2, 5)]
COPIES = [copy.copy, copy.deepcopy, lambda x: copy.deepcopy({"w": [x]})["w"][0]]


@pytest.mark.parametrize("again", COPIES)
def test_an_argument_of_a_transform_keeps_its_gradient_in_a_copy(again):
    np.testing.assert_array_equal(af.grad(lambda x: np.sum(again(x) * again(x * 2)))(A), 4 * A)


@pytest.mark.parametrize("again", [*COPIES, *PICKLED])
def test_copies_and_pickles(again):
    x = af.Variable(A.astype(np.float32), name="x", requires_grad=False)
    x.grad = np.ones_like(A)
    y = again(x)
    assert type(y) is af.Variable
    assert (y.name, y.dtype, y.requires_grad) == ("x", np.float32, False)
    np.testing.assert_array_equal(y.value, x.value)
    np.testing.assert_array_equal(y.grad, x.grad)
    assert not np.shares_memory(y.value, x.value)
    assert not np.shares_memory(y.grad, x.grad)
    w = af.Variable(A, name="w")
    z = again(w * 2)
    assert type(z) is (af.Constant if again in PICKLED else af.Operation)
    if again not in PICKLED:
        np.testing.assert_array_equal(af.gradients(z.sum())[w], np.full_like(A, 2))
    np.testing.assert_array_equal(z.value, 2 * A)
    i = again(af.Constant([1, 2], name="i"))
    assert (type(i), i.name, i.dtype) == (af.Constant, "i", np.dtype(int))


@pytest.mark.parametrize("again", [copy.deepcopy, *PICKLED])
def test_one_object_copied_twice_stays_one(again):
    a, b = again([af.Variable(A)] * 2)
    assert a is b


def test_a_pickle_names_nothing_but_our_constructor_and_arrays():
    found = []

    class Names(pickle.Unpickler):
        def find_class(self, module, name):
            found.append((module.partition(".")[0], name))
            return super().find_class(module, name)

    Names(io.BytesIO(pickle.dumps(af.Variable(A) * 2))).load()
    assert ("autoflow", "restore") in found
    assert {module for module, _ in found} <= {"autoflow", "numpy"}
    assert af.Variable(A).__reduce__()[0] is node_methods.restore


def test_dlpack_and_buffers_are_those_of_the_plain_array():
    x = af.Variable(A)
    assert np.shares_memory(np.from_dlpack(x), x.value)
    assert np.shares_memory(np.asarray(memoryview(x)), x.value)


def test_methods_make_no_cycles(no_gc):
    x = af.Variable(A)
    z = x.T.reshape(-1).mean()
    gone = weakref.ref(z.grad_fn.parents[0].saved[-1])
    z.backward()
    del z
    assert gone() is None


class Upside:
    """A class that compares by itself."""

    __array_ufunc__ = None
    __hash__ = None
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = lambda self, other: "its answer"


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize(
    "other", ["a", None, object(), Upside(), [1.0, 2.0, 3.0], 1.5, ()], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_are_those_of_the_numbers(name, other, shape):
    compare, x = getattr(operator, name), np.full(shape, 1.5)
    for pair in (lambda x: compare(x, other), lambda x: compare(other, x)):
        try:
            expected = pair(x)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                pair(af.Variable(x))
        else:
            np.testing.assert_array_equal(pair(af.Variable(x)), expected)


@pytest.mark.parametrize("function", [np.equal, np.not_equal])
def test_none_is_an_operand(function):
    np.testing.assert_array_equal(function(af.Variable([1.0, 2.0]), None), function(np.ones(2), None))
