"""Nodes: what they are, what they show, what they refuse (design: nodes and their records)."""

import weakref

import numpy as np
import pytest
from support import rows

import autoflow as af
from autoflow.errors import AutoflowError, DataError, GradientShapeError, LostGradientError


def test_a_node_is_an_array():
    x = af.Variable([[1.0, 2.0], [3.0, 4.0]], name="x")
    for node, kind in ((x, af.Variable), (af.Constant(x), af.Constant), (x * 2, af.Operation)):
        assert [isinstance(node, k) for k in (np.ndarray, af.Node)] == [True, True]
        assert [isinstance(node, k) for k in (af.Variable, af.Constant, af.Operation)].count(True) == 1
        assert isinstance(node, kind)
        assert (node.shape, len(node), node.ndim, node.size) == ((2, 2), 2, 2, 4)
        assert type(node.value) is np.ndarray
        assert np.shares_memory(node, node.value)
    assert issubclass(af.Variable, np.ndarray)
    assert issubclass(af.Operation, af.Node)
    assert not isinstance(np.zeros(2), af.Node)
    assert not isinstance(2.0, af.Variable)


def test_a_users_subclass_is_a_variable_and_not_the_other_way_round():
    Weight = type("Weight", (af.Variable,), {})
    w = Weight([1.0, 2.0])
    assert isinstance(w, af.Variable)
    assert not isinstance(af.Variable(1.0), Weight)
    (w * w).sum().backward()
    np.testing.assert_array_equal(w.grad, [2.0, 4.0])


@pytest.mark.parametrize(("value", "dtype"), [
    (3, "f8"), (True, "f8"), ([1, 2], "f8"), (np.int8(3), "f8"), (np.array([True]), "f8"), (np.float32(1), "f4"),
    (np.ones(2, "f2"), "f2"), (np.ones(2, np.longdouble), np.longdouble), (np.ones(2, "c8"), "c8"), (1j, "c16"),
    (np.ones(2, ">f8"), "f8"), (np.ones(2, ">f4"), "f4"),
])  # fmt: skip
def test_dtype_of_a_variable(value, dtype):
    x = af.Variable(value)
    assert x.dtype == np.dtype(dtype)
    assert x.dtype.isnative
    np.testing.assert_array_equal(x.value, value)


def test_dtype_of_a_constant_is_kept():
    for value in ([1, 2], [True]):
        assert af.Constant(value).dtype == np.array(value).dtype
    for kind in (af.Variable, af.Constant):
        assert kind([1, 2], dtype="f4").dtype == np.float32
    with pytest.raises(DataError, match="dtype int64 has no derivative"):
        af.Variable([1, 2], dtype=np.int64)


@pytest.mark.parametrize("kind", [af.Variable, af.Constant])
@pytest.mark.parametrize(("value", "words"), [
    ("text", "text has no derivative"), (b"text", "text has no derivative"),
    (np.array(["a"], np.dtypes.StringDType()), "text has no derivative"),
    (np.array([object()]), "Python objects have no arithmetic"), (None, "Python objects"),
    (np.array(["2020-01-01"], "M8[D]"), "dates have no derivative"),
    (np.array([1], "m8[s]"), "durations have no derivative"), (np.zeros(2, [("a", float)]), "has fields"),
    (np.ma.array([1.0, 2.0], mask=[0, 1]), "MaskedArray has arithmetic of its own"),
    (np.zeros((2, 2)).view(np.matrix), "matrix has arithmetic of its own"),
])  # fmt: skip
def test_data_that_cannot_be_a_node(kind, value, words):
    with pytest.raises(TypeError, match=words) as caught:
        kind(value)
    assert isinstance(caught.value, DataError)
    assert isinstance(caught.value, AutoflowError)


@pytest.mark.parametrize("call", [
    "np.cumsum(x, dtype=object)", "np.stack([x, x], dtype=object)", "x.sum(dtype=object)",
    "np.concatenate([x, x], dtype='S8', casting='unsafe')", "np.add.accumulate(x, dtype=object)",
    "np.einsum('i,i->i', x, x, dtype=object)",
])  # fmt: skip
def test_nor_can_results_be_objects_or_texts(call):
    with pytest.raises(DataError, match=r"arithmetic|no derivative"):
        eval(call, {"np": np, "x": af.Variable([1.0, 2.0])})


@pytest.mark.parametrize("dtype", [np.dtypes.Float32DType, np.float32, "f4"], ids=["Float32DType", "float32", "f4"])
@pytest.mark.parametrize("call", ["x.astype(d)", "x.astype(d, copy=False)", "np.add(x, 1, dtype=d)"])
def test_dtypes_by_their_class(call, dtype):
    x, f = np.array([1.0, 2.0]), eval(f"lambda x, d: {call}", {"np": np})
    for make in (f, lambda x, d: af.compile(f)(x, d), lambda x, d: af.vmap(lambda x: f(x, d))(x)):
        assert make(x, dtype).dtype == np.float32
    assert af.grad(lambda x: np.sum(f(x, dtype) * 2))(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("dtype", [np.dtypes.StrDType, np.dtypes.BytesDType, np.dtypes.TimeDelta64DType])
def test_dtypes_by_a_class_of_several(dtype):
    x = np.array([1.0, 2.0])
    assert {make(x).astype(dtype).dtype for make in (af.Variable, af.Constant)} == {x.astype(dtype).dtype}


def test_copy_and_sharing():
    data = np.array([1.0, 2.0])
    x = af.Variable(data)
    for kind in (af.Variable, af.Constant):
        assert not np.shares_memory(kind(data), data)
        assert np.shares_memory(kind(data, copy=False), data)
    assert not np.shares_memory(af.Variable(x), x)
    y = af.Variable(x * 2)
    assert (y.grad_fn, y.operands) == (None, ())


def test_graph_attributes():
    x, c = af.Variable(2.0, name="x"), af.Constant(3.0, name="c")
    z = x * x - c
    product, subtrahend = z.operands
    assert (z.opmethod, z.noperands, product.opmethod) == ("subtract", 2, "multiply")
    assert subtrahend is c
    double = x * 2.0
    assert [type(v) for v in double.operands] == [af.Variable, af.Constant]
    assert [type(v) for v in double.grad_fn.operands] == [af.Variable, float]  # as it was recorded
    assert all([operand is x for operand in product.operands])
    assert (x.operands, x.noperands, x.opmethod, x.grad_fn) == ((), 0, None, None)
    assert product.grad_fn is z.grad_fn.operands[0]
    assert product.grad_fn.name == "multiply_backward"
    assert "multiply_0" in repr(product.grad_fn)
    assert (z.requires_grad, x.requires_grad, c.requires_grad) == (True, True, False)


POINTS = [0.0, 1.0, 2.0], [0.0, 1.0, 4.0]
WITHOUT = {
    "clip": [(lambda x: x.clip(max=1.2), 2), (lambda x: np.clip(x, 1.0, None), 2), (lambda x: x.clip(None, None), 1)],
    "interp": [(lambda x: np.interp(x, *POINTS), 3), (lambda x: np.interp(x, *POINTS, right=3.0), 4)],
    "logsumexp": [(lambda x: af.special.logsumexp(x), 1)],  # SciPy may be missing
}


@pytest.mark.parametrize("row", [row for row in rows() if None in row.defaults[: row.operands]], ids=lambda r: r.name)
def test_what_was_not_given_is_no_operand(row):
    """np.clip(x, max=1.2) has no lower bound, neither in ``operands`` nor in pictures."""
    for call, given in WITHOUT[row.name]:
        z = call(af.Variable([0.5, 1.5]))
        assert z.noperands == len(z.operands) == given
        assert all(isinstance(y, af.Node) for y in z.operands)
        z.backward(np.ones(z.shape))
        assert "None" not in str(z.graph())


def test_a_number_is_wrapped_once_and_named_by_its_literal():
    x = af.Variable(2.0)
    z = x**3 + 0.5
    half = z.operands[1]
    assert type(half) is af.Constant
    assert z.operands[1] is half
    assert (half.name, z.operands[0].operands[1].name) == ("0.5", "3")


def test_grad_fn_returns_what_is_sent_to_each_operand():
    x, y = af.Variable([1.0, 2.0]), af.Variable([[3.0], [4.0]])
    to_x, to_y = (x * y).grad_fn(np.ones((2, 2)))
    np.testing.assert_array_equal(to_x, [7.0, 7.0])
    np.testing.assert_array_equal(to_y, [[3.0], [3.0]])
    assert (2.0 - x).grad_fn(np.ones(2))[0] is None
    with pytest.raises(GradientShapeError, match=r"shape \(2, 2\)"):
        (x * y).grad_fn(np.ones(3))


def test_names():
    x, y = af.Variable(1.0), af.Variable(2.0, name="speed")
    c = af.Constant(1.0)
    a, b = x + y, x + c
    s = np.sin(a)
    assert [n.name for n in (x, y, c, a, b, s)] == ["var_0", "speed", "const_0", "add_0", "add_1", "sin_0"]
    a.name = "total"
    assert a.name == "total"
    assert s.operands[0].name == "total"
    assert (x * 1.0).name == "multiply_0"
    af.reset()
    assert (x + y).name == "add_0"
    assert b.name == "add_1"


def test_equal_names_and_reset_harm_nothing():
    x, y = af.Variable(2.0, name="v"), af.Variable(3.0, name="v")
    z = x * y
    af.reset()
    (z * af.Variable(5.0, name="v")).backward()
    assert (x.grad, y.grad) == (15.0, 10.0)


def test_hash_is_identity_and_equality_elementwise():
    x, y = af.Variable([1.0, 2.0]), af.Variable([1.0, 2.0])
    assert len({x, y, x}) == 2
    assert x in {x: 1}
    np.testing.assert_array_equal(x == y, [True, True])
    assert type(x == y) is np.ndarray
    assert type(x < 2) is np.ndarray
    assert not isinstance(x > 1, af.Node)


def test_repr_shows_numbers_first():
    x = af.Variable([1.0, 2.0], name="x")
    assert repr(x) == "[1., 2.]  Variable x"
    assert repr(x.sum()) == "3.0  Operation sum_0 = sum(x)"
    assert repr(x * 2) == "[2., 4.]  Operation multiply_0 = multiply(x, 2)"
    assert repr(af.Constant(np.float32(1.5), name="c")) == "1.5  Constant c float32"
    assert repr(af.Variable(1.0, name="w", requires_grad=False)) == "1.0  Variable w frozen"
    assert repr(af.Variable(np.eye(2), name="m")).endswith("]]\nVariable m")
    assert str(x) == "[1. 2.]"
    assert f"{x.sum():.2f}" == "3.00"
    assert f"{x}" == "[1. 2.]"
    assert repr(np.stack([x] * 4)).endswith("= stack(x, x, x, x)")
    assert repr(np.stack([x] * 5)).endswith("= stack of 5 operands")
    large = af.Variable(np.arange(300.0))
    with np.printoptions(threshold=1000, edgeitems=1):
        assert str(large) == f"{large}" == str(large.value)


@pytest.mark.parametrize("dtype", "efdgFDiBQ?")
def test_a_number_is_shown_as_numpy_shows_it(dtype):
    """With all of its digits, of its own precision."""
    for x in (0.1, 1 / 3, 123456789, 1e16, 1e-5, -0.0, 2.0, 1.5):
        with np.errstate(all="ignore"):
            number = np.array(x).astype(dtype)[()]
        assert repr(af.Constant(number)).split("  ")[0] == str(number)
        literal = str(number).removesuffix(".0")
        assert f"multiply(w, {literal})" in repr(af.Variable(np.ones(2), name="w") * number)
    assert repr(af.Variable(3.0, name="w") * 123456789).endswith("= multiply(w, 123456789)")


def test_repr_records_nothing_and_stays_short():
    x = af.Variable(np.random.default_rng(0).normal(size=(40, 40, 3)), name="x" * 5000)
    z = np.concatenate([x] * 50)
    part = z[0, 0]
    before = af.Variable(1.0)._number
    for node in (x, z, part):
        assert len(repr(node)) <= 2000
        _ = str(node), f"{node}", np.array2string(node), np.array_repr(node)
    assert af.Variable(1.0)._number == before + 1


def test_large_intermediate_values_are_freed_when_the_user_drops_them():
    x = af.Variable(np.ones(10_000))
    a = x + 1.0  # no derivative needs its value
    alive = weakref.ref(a.value)
    z = (a + 1.0).sum()
    del a
    assert alive() is None
    z.backward()
    np.testing.assert_array_equal(x.grad, np.ones(10_000))
    gone = z.operands[0].operands[0]
    assert (gone.shape, gone.opmethod) == ((10_000,), "add")
    assert np.isnan(gone.value).all()


def test_small_values_stay_with_the_graph():
    x = af.Variable([1.0, 2.0])
    z = ((x + 1.0) * 3.0).sum()
    np.testing.assert_array_equal(z.operands[0].operands[0].value, [2.0, 3.0])
    with af.options(keep=0):
        z = ((x + 1.0) * 3.0).sum()
    assert z.grad_fn.operands[0].operands[0].value is None


def test_requires_grad_freezes_and_thaws():
    x, w = af.Variable(2.0), af.Variable(3.0)
    w.requires_grad = False
    z = x * w
    z.backward()
    assert x.grad == 3.0
    assert w.grad is None
    assert z.operands[1] is w
    assert isinstance(w * w, af.Constant)
    w.requires_grad = True
    (x * w).backward()
    assert w.grad == 2.0


def test_requires_grad_of_others_follows_from_their_operands():
    x = af.Variable(2.0, name="x")
    words = r"only a Variable's can be set. To stop gradients here: x\.detach\(\)"
    for node in (x * x, af.Constant(1.0)):
        with pytest.raises(AttributeError, match=words):
            node.requires_grad = False


def test_messages_say_the_names_that_users_know():
    x = af.Variable([1.0, 2.0])
    for call, words in [
        (af.Variable, r"Variable.__new__\(\) missing"), (lambda: af.Constant(1, 2, 3), r"Constant.__new__\(\) takes"),
        (lambda: af.Operation(3.0), ".*create_node"),
        (lambda: af.Operation.create_node(), r"Operation.create_node\(\) missing"),
        (lambda: x.sum(foo=1), r"Node.sum\(\) got"),
        (lambda: x.detach(1), r"Node.detach\(\) takes"), (lambda: x.__float__(1), r"Node.__float__\(\) takes"),
    ]:  # fmt: skip
        with pytest.raises(TypeError, match=f"^{words}"):
            call()


def test_the_repr_of_a_large_operation_says_how_to_keep_its_gradient():
    x = af.Variable(np.ones(5000))
    z = x * 2.0
    short = "Operation multiply_0 = multiply(var_0, 2)"
    for _ in range(2):
        assert repr(z).endswith(f"{short} (its gradient is kept only by backward(keep_grads=True))")
        z.sum().backward()
    assert z.grad is None
    z.sum().backward(keep_grads=True)
    assert repr(z).endswith(short)
    assert z.grad.shape == (5000,)
    assert repr(z).endswith(short)
    assert "keep" not in repr(x) + repr(x[:3] * 2)


def test_detach_and_stop_gradient():
    x = af.Variable([1.0, 2.0])
    a = x * 3
    d = a.detach()
    assert isinstance(d, af.Constant)
    assert np.shares_memory(d, a)
    assert not d.flags.writeable
    assert isinstance(af.stop_gradient(a), af.Constant)
    np.testing.assert_array_equal(af.stop_gradient(np.ones(2)), [1.0, 1.0])
    (a * d).sum().backward()
    np.testing.assert_array_equal(x.grad, 3 * d.value)


def test_operations_on_constants_record_nothing():
    c = af.Constant([1.0, 2.0])
    made = c * 2, np.sin(c), c @ c, c[0], c.reshape(2, 1), np.concatenate([c, c])
    assert {(type(z), z.grad_fn) for z in made} == {(af.Constant, None)}


def test_create_node():
    x = af.Variable.create_node(3.0, "x")
    c = af.Constant.create_node(2.0, name="c")
    z = af.Operation.create_node(6.0, "multiply", x, c, name="z")
    assert (z.name, z.opmethod, z.noperands) == ("z", "multiply", 2)
    z.backward()
    assert x.grad == 2.0
    assert c.grad is None
    own = af.Operation.create_node([9.0], "cubed by nobody", x)
    with pytest.raises(LostGradientError, match="no rule called 'cubed by nobody'"):
        own.backward()
    own.grad_fn = lambda g: g[0] * 3 * x.value**2
    x.zero_grad()
    own.backward()
    assert x.grad == 27.0
    assert af.variable(1.0, "v").name == "v"
    assert isinstance(af.constant(1.0), af.Constant)


def test_a_grad_fn_of_wrong_shape_or_number_is_named():
    x, y = af.Variable([1.0, 2.0], name="x"), af.Variable(2.0)
    z = af.Operation.create_node(3.0, "mine", x, y)
    for wrong, words in (
        (lambda g: (g, g), r"mine_0 returned shape \(\) for operand 0 \(x\), whose shape is \(2,\)"),
        (lambda g: [g], "returned 1 gradients for 2 operands"),
    ):
        z.grad_fn = wrong
        with pytest.raises(GradientShapeError, match=words):
            z.backward()
    z.grad_fn = lambda g: (np.full(2, g), None)
    z.backward()
    np.testing.assert_array_equal(x.grad, [1.0, 1.0])
    assert y.grad == 0.0


def test_setting_a_gradient():
    x = af.Variable([1.0, 2.0])
    x.grad = [3, 4]
    assert x.grad.dtype == np.float64
    (x * 1.0).sum().backward()
    np.testing.assert_array_equal(x.grad, [4.0, 5.0])
    with pytest.raises(GradientShapeError, match=r"has its shape \(2,\)"):
        x.grad = np.ones(3)
    x.grad = None
    assert x.grad is None


def test_gradients_have_memory_of_their_own():
    x, y = af.Variable(np.ones((3, 2))), af.Variable(np.ones((3, 2)))
    seed = np.ones((3, 2))
    a = x + y
    a.backward(seed)
    arrays = [x.grad, y.grad, a.grad, seed, x.value, y.value, a.value]
    for i, p in enumerate(arrays):
        assert type(p) is np.ndarray
        assert p.flags.writeable or p is arrays[-1]
        assert not any(np.shares_memory(p, q) for q in arrays[i + 1 :])
    assert x.grad is x.grad


def test_lists_and_unknown_operands():
    x = af.Variable([1.0, 2.0])
    np.testing.assert_array_equal((x + [1, 2]).value, [2.0, 4.0])  # noqa: RUF005
    np.testing.assert_array_equal(([1, 2] * x).value, [1.0, 4.0])
    for strange, words in [("2020-01-01", "dates"), ("text", "text"), ({}, "Python objects")]:
        array = np.array([strange], "M8[D]" if words == "dates" else None)
        for f in (lambda a: x + a, lambda a: a * x, lambda a: np.hypot(x, a)):
            with pytest.raises(DataError, match=f"cannot be a node: {words} ha"):
                f(array)
    np.testing.assert_array_equal((x + [x[0], 1.0]).value, [2.0, 3.0])  # noqa: RUF005
    for strange in (lambda: x + "a", lambda: x * object()):
        with pytest.raises(TypeError):
            strange()


def test_an_operand_that_wants_no_arrays_is_asked_by_python():
    asked = lambda self, other: "asked"  # noqa: E731
    Shy = type("Shy", (), {"__array_ufunc__": None, "__radd__": asked, "__mul__": asked})
    x = af.Variable([1.0])
    assert x + Shy() == "asked"
    assert Shy() * x == "asked"
