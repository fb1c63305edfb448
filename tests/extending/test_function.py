"""Users' rules: Function classes, primitives, rows for other people's functions, names in af.ops."""

import weakref

import numpy as np
import pytest
from support import row_restored
from threads import in_threads
from user_functions import function, saving

import autoflow as af
from autoflow import ops
from autoflow.errors import GradientShapeError, InPlaceError, LostGradientError, NoRuleError, StaleValueError
from autoflow.extending.custom import primitive, register_rule
from autoflow.extending.function import Function
from autoflow.table import table

pytestmark = pytest.mark.usefixtures("rows_as_before")


def square(ctx, x):
    assert type(x) is np.ndarray
    ctx.save_for_backward(x)
    return x * x


Square = function(square, lambda ctx, g: g * 2 * ctx.saved_tensors[0], "Square")


class ExpAndPower(Function):
    """Two results, the first of which is saved; an option, a keyword-only option, a text."""

    calls = 0

    @staticmethod
    def forward(ctx, x, n=2, *, k=1.0, kind="plain"):
        assert kind in ("plain", "fancy")
        a = np.exp(x)
        ctx.save_for_backward(a, None, x)
        ctx.n, ctx.k = n, k
        return a, k * x**n

    @staticmethod
    def backward(ctx, ga, gb):
        ExpAndPower.calls += 1
        ExpAndPower.unused = ga is None, gb is None
        a, nothing, x = ctx.saved_variables
        assert nothing is None
        g = np.zeros_like(x)
        if ga is not None:
            g = g + ga * a
        if gb is not None:
            g = g + gb * ctx.k * ctx.n * x ** (ctx.n - 1)
        return g


def test_value_gradient_and_name():
    x = af.Variable([1.0, 2.0], name="x")
    z = Square.apply(x)
    assert z.opmethod == "Square"
    assert z.operands[0] is x
    z.sum().backward()
    assert np.array_equal(x.grad, [2.0, 4.0])
    assert z.name.startswith("Square_")


def test_derivatives_of_any_order():
    slope = lambda x: Square.apply(x) * x  # noqa: E731
    for expected in (12.0, 12.0, 6.0, 0.0):
        slope = af.grad(slope)
        assert slope(2.0) == expected


@pytest.mark.parametrize("use", ["both", "first", "second"])
def test_several_results(use):
    def mine(x):
        a, b = ExpAndPower.apply(x, 3, k=2.0, kind="fancy")
        return np.sum({"both": a * b, "first": a * a, "second": b * b}[use])

    def same(x):
        a, b = np.exp(x), 2.0 * x**3
        return np.sum({"both": a * b, "first": a * a, "second": b * b}[use])

    x = np.array([0.5, 2.0])
    ExpAndPower.calls = 0
    np.testing.assert_allclose(af.grad(mine)(x), af.grad(same)(x))
    assert ExpAndPower.calls == 1
    assert ExpAndPower.unused == (use == "second", use == "first")
    second = [af.grad(lambda x, f=f: np.sum(af.grad(f)(x) ** 2))(x) for f in (mine, same)]
    np.testing.assert_allclose(*second)


def test_all_gradients_kept_with_several_results():
    x = af.Variable([1.0, 2.0])
    a, b = ExpAndPower.apply(x)
    (a.sum() + b.sum()).backward(keep_grads=True)
    assert np.array_equal(a.grad, [1.0, 1.0])
    assert "ExpAndPower" in repr(a.operands[0])
    np.testing.assert_allclose(x.grad, np.exp(x.value) + 2 * x.value)


def test_needs_input_grad_and_nones():
    seen = []

    def forward(ctx, x, y, z):
        ctx.x = np.array(x)
        return x * y

    f = function(forward, lambda ctx, g: (seen.append(ctx.needs_input_grad), g * ctx.x))
    x, y = af.Variable(2.0), af.Variable(5.0)
    z = f.apply(x, y, af.Constant(1.0))
    assert z.noperands == 3
    z.backward()
    assert seen == [(True, True, False)]
    assert (x.grad, y.grad) == (0.0, 2.0)  # None for an argument that wants one is zero
    f.apply(3.0, y, "text").backward()
    assert seen[1] == (False, True, False)
    assert y.grad == 5.0


def test_the_same_argument_twice():
    x = af.Variable([3.0])
    product = function(saving(np.multiply), lambda ctx, g: tuple([g * v for v in ctx.saved_tensors[::-1]]))
    product.apply(x, x).backward()
    assert x.grad == 6.0


@pytest.mark.parametrize("kind", ["Function", "several results", "primitive"])
def test_a_node_from_outside_is_refused(kind):
    """A function gets plain arrays: through what it takes from outside nothing would flow."""
    outside, x = [af.Variable([3.0, 4.0])], af.Variable([1.0, 2.0])

    def forward(ctx, x):
        return (x * 2, x * outside[0]) if kind == "several results" else x * outside[0]

    f = function(forward, lambda ctx, *gs: gs[0] * 2).apply
    if kind == "primitive":
        f = primitive(lambda x: x * outside[0]).defvjp(x=lambda g: g * 2)
    with pytest.raises(LostGradientError, match="used a node from outside"):
        f(x)

    def of_outside(y):
        outside[0] = y
        return np.sum(f(x)[0])

    for transform in (af.grad, af.value_and_grad, af.jacobian, lambda f: af.vmap(af.grad(f))):
        with pytest.raises(LostGradientError, match="used a node from outside"):
            transform(of_outside)(np.ones((2, 2)))
    outside[0] = af.Constant([3.0, 4.0])
    f(x)
    outside[0] = af.Variable([3.0, 4.0])
    with af.no_grad():
        np.testing.assert_array_equal(np.ravel(f(x))[-2:], [3.0, 8.0])


def test_variable_arguments_and_many_operands():
    forward = lambda ctx, *xs, **named: sum(xs) + sum(named.values())  # noqa: E731
    f = function(forward, lambda ctx, g: [g * k for k in range(len(ctx.needs_input_grad))])
    xs = [af.Variable(1.0) for _ in range(70)]
    f.apply(*xs[:-1], last=xs[-1]).backward()
    assert [x.grad for x in xs] == list(range(len(xs)))


def test_non_differentiable_results():
    def forward(ctx, x):
        top, place, marked = x.max(), x.argmax(), x.min()
        ctx.save_for_backward(x)
        ctx.mark_non_differentiable(marked)
        return top, place, marked

    def backward(ctx, g, *others):
        assert others == (None, None)
        (x,) = ctx.saved_tensors
        return np.where(x == x.max(), g, 0.0)

    x = af.Variable([1.0, 3.0, 2.0])
    top, place, marked = function(forward, backward).apply(x)
    assert (type(place), type(marked), place.item()) == (af.Constant, af.Constant, 1)
    (2 * top * marked).backward()
    assert np.array_equal(x.grad, [0.0, 2.0, 0.0])


def test_nothing_is_recorded_where_nothing_flows():
    with af.no_grad():
        z = Square.apply(af.Variable(1.0))
    a, b = ExpAndPower.apply(2.0)
    assert {type(x) for x in (z, a, Square.apply(np.ones(2)))} == {af.Constant}
    assert b == 4.0


def test_saved_intermediates():
    """Right in a first derivative; an error, and not a missing term, in a second one."""
    forward = lambda ctx, x: ctx.save_for_backward(e := np.exp(x)) or e * x  # noqa: E731
    f = function(forward, lambda ctx, g: g * ctx.saved_tensors[0] * 2.0)
    assert af.grad(f.apply)(0.0) == 2.0
    with pytest.raises(LostGradientError, match=r"Made.backward reads a saved array, an array that forward made"):
        af.grad(af.grad(f.apply))(0.0)


def test_shapes_and_numbers_are_checked():
    x, y = af.Variable(np.ones(3), name="x"), af.Variable(1.0)
    product = lambda *returned: function(lambda ctx, a, b: a * b, lambda ctx, g: returned).apply(x, y).sum()  # noqa: E731
    with pytest.raises(GradientShapeError, match=r"Made.backward returned shape \(2,\) for the argument a, whose"):
        product(np.ones(2), None).backward()
    for returned in [(None, None, 1.0), (None,)]:
        with pytest.raises(GradientShapeError, match=r"returned . gradients, but forward has 2 arguments \(a, b\)"):
            product(*returned).backward()
    assert x.grad is None
    product(np.ones(3), 3.0, None, None).backward()
    assert y.grad == 3.0
    for call, error, words in (
        (lambda: function(lambda ctx, x: None, None).apply(x), TypeError, "forward returned None"),
        (Square.apply, TypeError, r"Square.forward: missing a required argument"),
        (Square, TypeError, r"Square.apply\(\.\.\.\)"),
        (lambda: type("Empty", (Function,), {}).apply(x), NotImplementedError, "forward"),
        (lambda: Square.apply([y]), NoRuleError, "its gradient would be lost"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_arguments_are_protected():
    x = af.Variable([1.0, 2.0])

    def writing(ctx, x):
        x += 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        function(writing, None).apply(x)
    same = function(lambda ctx, x: x, lambda ctx, g: g)
    z = same.apply(x)
    assert not np.shares_memory(z, x)
    big = af.Variable(np.ones(5000))
    z = Square.apply(big)
    with af.no_grad():
        big += 1
    with pytest.raises(StaleValueError):
        z.sum().backward()


def test_what_was_not_saved_is_freed(no_gc):
    x = af.Variable(np.ones(5000))
    y = x * 1.0
    z = function(lambda ctx, x: 2 * x, lambda ctx, g: 2 * g).apply(y)
    gone = weakref.ref(y)
    del y
    assert gone() is None
    z.sum().backward()
    gone = weakref.ref(z.grad_fn.saved[-2].ctx)
    del z
    assert gone() is None
    assert np.all(x.grad == 2.0)


def test_float32_and_numbers():
    x = af.Variable(np.float32(3.0))
    function(lambda ctx, x: x * x, lambda ctx, g: 6.0).apply(x).backward()
    assert (x.grad, x.grad.dtype) == (6.0, np.float32)


def test_an_error_in_backward_changes_nothing():
    x = af.Variable(3.0)

    def failing(ctx, g):
        raise KeyboardInterrupt

    z = x * function(lambda ctx, x: x + 0.0, failing).apply(x)
    with pytest.raises(KeyboardInterrupt):
        z.backward()
    assert x.grad is None


def test_threads_share_a_graph():
    x = af.Variable(np.arange(4.0))
    z = np.sum(Square.apply(x) ** 2)

    def work():
        z.grad_fn.operands[0](np.ones(4))
        z.backward()

    in_threads(*[work] * 8)
    np.testing.assert_allclose(x.grad, 8 * 4 * x.value**3)


# -- primitives and rows


def test_primitive():
    @primitive(label="f", latex="f($x)")
    def f(x, y, n=2, *, k=1.0):
        return k * x**n * y

    f.defvjp(x=lambda g, x, y, n, k: g * k * n * x ** (n - 1) * y)
    f.defvjp(y=lambda g, x, n, k: g * k * x**n)
    x, y = af.Variable(2.0), af.Variable(5.0)
    z = f(x, y=y, n=3, k=2.0)
    assert z == 80.0
    assert (z.opmethod, z.grad_fn.rule.label, z.grad_fn.options) == ("f", "f", {"n": 3, "k": 2.0})
    z.backward()
    assert (x.grad, y.grad) == (120.0, 16.0)
    assert af.grad(af.grad(lambda x: f(x, 1.0, 3)))(2.0) == 12.0
    assert f(2.0, 5.0) == 20.0
    assert type(f(np.ones(2), 5.0)) is np.ndarray


def test_primitive_broadcasts_if_it_says_so():
    mul = primitive(lambda x, y: x * y, elementwise=True)
    mul.defvjp(x=lambda g, y: g * y, y=lambda g, x: g * x)
    x, y = af.Variable(np.ones((2, 3))), af.Variable(np.arange(3.0))
    mul(x, y).sum().backward()
    assert np.array_equal(y.grad, [2.0, 2.0, 2.0])
    plain = primitive(lambda x, y: x * y)
    plain.defvjp(x=lambda g, y: g * y, y=lambda g, x: g * x)
    with pytest.raises(GradientShapeError, match=r"with respect to y returned shape \(2, 3\), but y has shape \(3,\)"):
        plain(x, y).sum().backward()


def test_primitive_without_a_rule_says_so():
    f = primitive(lambda x: x)
    with pytest.raises(NoRuleError):
        f(af.Variable(1.0))
    f.defvjp(x=lambda g: g)
    x = af.Variable([1.0])
    assert not np.shares_memory(f(x), x)
    with pytest.raises(TypeError, match=r"takes \*args"):
        primitive(lambda *x: x[0]).defvjp(x=lambda g: g)
    with pytest.raises(TypeError, match="has no argument w"):
        f.defvjp(w=lambda g: g)
    f(x).backward()
    assert x.grad == 1.0


def test_register_rule_for_a_ufunc():
    special = pytest.importorskip("scipy.special")
    f = special.zetac
    assert register_rule(f, label="ζ−1", latex=r"\zeta($x)-1", domain=(2.0, 3.0), x=lambda g, x: 0.5 * g) is f
    x = af.Variable([2.5, 3.0])
    z = f(x)
    assert z.grad_fn.rule.label == "ζ−1"
    z.sum().backward()
    assert np.array_equal(x.grad, [0.5, 0.5])
    with pytest.raises(ValueError, match="zetac has a rule"):
        register_rule(f, x=lambda g, x: g)
    register_rule(f, x=lambda g, x: 2 * g, replace=True)
    x.zero_grad()
    f(x).sum().backward()
    assert np.array_equal(x.grad, [2.0, 2.0])


def test_replacing_a_built_in_rule():
    with pytest.raises(ValueError, match="multiply has a rule"):
        register_rule(np.multiply, x=lambda g, y: g, y=lambda g, x: g)
    x = af.Variable(3.0)
    with row_restored(np.multiply) as row:
        register_rule(
            np.multiply, label="×", latex="$x $y", x=lambda g, y: 10 * g * y, y=lambda g, x: g * x, replace=True
        )
        assert af.rules.RULES[np.multiply] is row
        (x * 2.0).backward()
        np.multiply(x, 2.0).backward()
        assert x.grad == 40.0
    with pytest.raises(TypeError, match="has no argument w"):
        register_rule(np.multiply, w=lambda g: g, replace=True)
    x.zero_grad()
    (x * 2.0).backward()
    assert x.grad == 2.0


def test_register_rule_for_a_function():
    def outside(x, width=1.0):
        return np.exp(-(np.asarray(x) ** 2) / width)

    with pytest.raises(TypeError, match="needs derivatives"):
        register_rule(outside)
    inside = register_rule(outside, x=lambda g, x, z, width: g * z * -2 * x / width)
    x = af.Variable(1.0)
    inside(x, width=2.0).backward()
    np.testing.assert_allclose(x.grad, -np.exp(-0.5))
    assert inside(0.0) == 1.0


def test_names_in_ops(monkeypatch):
    monkeypatch.setattr(ops, "_REGISTERED", {})
    assert ops.sin is np.sin
    ops.register_function("square_of_mine", Square.apply)
    assert ops.square_of_mine(af.Variable(3.0)) == 9.0

    @ops.register_operation("swish")
    def swish(x):
        return x / (1 + np.exp(-x))

    assert ops.swish is swish
    assert {"swish", "sin"} <= set(dir(ops))
    for name, why in [("sin", "is built in"), ("swish", "was registered before")]:
        with pytest.raises(ValueError, match=f"af.ops.{name} {why}"):
            ops.register_operation(name, np.cos)
    ops.register_operation("sin", np.cos, replace=True)
    assert ops.sin is np.cos
    for name in ("two words", "_hidden", 3):
        with pytest.raises(ValueError, match="letters, digits"):
            ops.register_function(name, np.cos)
    with pytest.raises(TypeError, match="must be a function"):
        ops.register_function("three", 3)
    with pytest.raises(AttributeError, match=r"af.ops has no 'nothing'"):
        _ = ops.nothing


def test_a_grad_fn_that_computes_with_nodes_leaves_plain_gradients():
    x = af.Variable(3.0)
    z = af.Operation.create_node(x.value**2, "my_square", x)
    z.grad_fn = lambda g: g * 2.0 * x
    assert type(z.grad_fn(1.0)[0]) is np.ndarray
    z.backward()
    assert type(x.grad) is np.ndarray
    assert x.grad == 6.0
    slope = af.gradients(z, [x], create_graph=True)[x]
    assert af.gradients(slope, [x])[x] == 2.0


def test_rows_of_functions_and_checkpoints_are_never_in_the_table(monkeypatch):
    """Another thread may be walking through it."""

    class Closed(dict):
        def __setitem__(self, key, row):
            raise AssertionError(f"{row.name} is entered into the table")

    monkeypatch.setattr(table, "RULES", Closed(table.RULES))

    halves = function(lambda ctx, x, n=2: (x / n, x - x / n), lambda ctx, g, h: (g + h) / 2.0)
    x = af.Variable(np.ones(2))
    (af.checkpoint(lambda v: np.sin(v) * v)(x) + sum(halves.apply(x))).sum().backward()
    assert np.allclose(x.grad, np.sin(1.0) + np.cos(1.0) + 1.0)


@pytest.mark.parametrize("share", [lambda z: (z, z), lambda z: (z, z[:1]), lambda z: (z.T, z), lambda z: (z[1:], z)])
@pytest.mark.parametrize("way", ["Function", "checkpoint"])
def test_results_that_share_memory_are_written_into_one_at_a_time(share, way):
    """A write into one result would change the numbers of the other, and not its history."""

    def backward(ctx, *gs):
        whole = np.zeros(2)
        for k, g in enumerate(gs):
            part = share(whole)[k]
            part += 0.0 if g is None else g
        return 2 * whole

    shared = function(lambda ctx, x: share(2 * x), backward)
    x = af.Variable([1.0, 2.0])
    a, b = shared.apply(x) if way == "Function" else af.checkpoint(lambda x: share(2 * x))(x)
    before = b.value.copy()
    a *= 5
    np.testing.assert_array_equal(b, before)
    np.sum(a).backward()
    first, _ = x.grad, x.zero_grad()
    np.sum(b * b).backward()
    expected = af.Variable([1.0, 2.0])
    np.sum(5 * share(2 * expected)[0]).backward()
    np.testing.assert_array_equal(first, expected.grad)
    expected.zero_grad()
    np.sum(np.square(share(2 * expected)[1])).backward()
    np.testing.assert_array_equal(x.grad, expected.grad)


KEPT = {  # what forward keeps of an argument x and its result z, and how backward finds z again
    "x": (lambda ctx, x, z: setattr(ctx, "k", x), lambda ctx: np.exp(ctx.k)),
    "z": (lambda ctx, x, z: setattr(ctx, "k", z), lambda ctx: ctx.k),
    "x in a dict": (lambda ctx, x, z: setattr(ctx, "k", {"a": [x, 3]}), lambda ctx: np.exp(ctx.k["a"][0])),
    "a view of x": (lambda ctx, x, z: setattr(ctx, "k", x[::-1]), lambda ctx: np.exp(ctx.k[::-1])),
    "a view of z": (lambda ctx, x, z: setattr(ctx, "k", (z[::-1], "text")), lambda ctx: ctx.k[0][::-1]),
    "x, saved": (lambda ctx, x, z: ctx.save_for_backward(x), lambda ctx: np.exp(ctx.saved_tensors[0])),
    "a view of x, saved": (lambda ctx, x, z: ctx.save_for_backward(x.T), lambda ctx: np.exp(ctx.saved_tensors[0].T)),
    "a view of z, saved": (lambda ctx, x, z: ctx.save_for_backward(z[:], 1), lambda ctx: ctx.saved_tensors[0]),
}


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", KEPT)
def test_what_forward_keeps_of_arguments_and_results_is_right_or_stale_after_a_write(kind, several, size):
    keep, find = KEPT[kind]

    def forward(ctx, x, y):
        z = np.exp(x)
        keep(ctx, x, z)
        return (z, 2 * x) if several else z

    def backward(ctx, g, *more):
        return (g * find(ctx) + (2 * more[0] if several and more[0] is not None else 0), None)

    f = function(forward, backward)
    start = np.linspace(0.1, 1.0, size)
    for write in ("argument", "result", "plain argument"):
        x, mine = af.Variable(start), start.copy()
        a = x * 1.0
        z = f.apply(a, mine)[0] if several else f.apply(a, mine)
        total = np.sum(z)
        if write == "plain argument":
            mine *= 0
        else:
            target = a if write == "argument" else z
            target *= 3.0
        try:
            total.backward()
        except StaleValueError:
            assert write != "plain argument"
            continue
        np.testing.assert_allclose(x.grad, np.exp(start))
    v = af.Variable(start)
    d = np.full(size, 2.0)
    g = function(lambda ctx, x, d: setattr(ctx, "d", d) or x * d, lambda ctx, g: (g * ctx.d, None))
    z = np.sum(g.apply(v, d))
    d[:] = 5.0
    if size > 3:
        with pytest.raises(StaleValueError):
            z.backward()
    else:
        z.backward()
        np.testing.assert_array_equal(v.grad, 2.0)


def test_an_argument_in_an_attribute_can_be_differentiated_again():
    f = function(lambda ctx, x: setattr(ctx, "x", x) or x**3, lambda ctx, g: g * 3 * ctx.x**2)
    np.testing.assert_allclose(af.grad(af.grad(lambda x: np.sum(f.apply(x))))(2.0), 12.0)


def into_gradient(g, x):
    g *= 2.0
    return g


def into_saved(g, x):
    x *= 2.0 * g
    return x


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("kind", ["primitive", "Function", "grad_fn"])
@pytest.mark.parametrize("derivative", [into_gradient, into_saved])
def test_a_derivative_does_not_write_into_what_others_read(derivative, kind, recorded):
    """The gradient that reaches one operand of a sum is that of the other, and what is saved are a node's numbers."""

    def apply(x):
        if kind == "primitive":
            return af.primitive(lambda x: x * x).defvjp(x=lambda g, x: derivative(g, x))(x)
        if kind == "Function":
            return function(saving(np.square), lambda ctx, g: derivative(g, ctx.saved_tensors[0])).apply(x)
        z = af.Operation.create_node(x.value**2, "own_square", x)
        z.grad_fn = lambda g: derivative(g, x.value.copy())
        return z

    x, y = af.Variable([1.0, 2.0]), af.Variable([3.0, 4.0])
    z = (apply(x) + y) * np.array([5.0, 7.0])
    if kind == "grad_fn" or (kind == "Function" and derivative is into_gradient):  # they get copies
        z.backward(np.ones(2), create_graph=recorded)
        np.testing.assert_array_equal(y.grad, [5.0, 7.0])
        np.testing.assert_array_equal(x.grad, [10.0, 14.0] if derivative is into_gradient else [10.0, 28.0])
    else:
        with pytest.raises((ValueError, InPlaceError), match=r"read-only|is a Variable"):
            z.backward(np.ones(2), create_graph=recorded)
        assert y.grad is None
    np.testing.assert_array_equal(x.value, [1.0, 2.0])


@pytest.mark.parametrize("first", ["x", "y", "w"])
def test_derivatives_that_are_given_later_leave_older_graphs_as_they_were(first):
    """With more derivatives the operands stand in another order."""
    all_of_them = {
        "x": lambda g, y, w: g * y * y * w, "y": lambda g, x, y, w: g * 2 * x * y * w,
        "w": lambda g, x, y: g * x * y * y,
    }  # fmt: skip
    f = af.primitive(lambda x, y, w: x * y * y * w).defvjp(**{first: all_of_them[first]})
    values = {"x": 2.0, "y": 3.0, "w": 5.0}
    right = {"x": 45.0, "y": 60.0, "w": 18.0}
    v = af.Variable(values[first])
    older = f(**{**values, first: v})
    for name, derivative in all_of_them.items():
        if name != first:
            f.defvjp(**{name: derivative})
            older.backward()
            assert v.grad == right[first]
            v.zero_grad()
    nodes = {name: af.Variable(value) for name, value in values.items()}
    newer = f(**nodes)
    newer.backward()
    assert {name: float(node.grad) for name, node in nodes.items()} == right
    assert newer.grad_fn.count == older.grad_fn.count + 1


def sum_of(*xs):
    return sum([np.sum(x) for x in xs])


WITH_STEPS = {
    "checkpoint": af.checkpoint(sum_of), "data_parallel": af.data_parallel(sum_of, over=0, chunks=2, reduction="sum"),
    "Total": function(lambda ctx, *xs: sum_of(*xs), None, "Total").apply,
    "created": lambda *xs: af.Operation.create_node(1.0, "created", *xs), "stack": lambda *xs: np.stack(xs),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_STEPS)
def test_operations_of_one_name_are_counted_together_whatever_their_operands(name):
    x, y, z = [af.Variable(np.ones(4)) for _ in range(3)]
    for _ in range(2):  # the second time all rows are there
        af.reset()
        made = [WITH_STEPS[name](*xs) for xs in ([x], [x, y], [x], [x, y, z])]
        assert [node.name for node in made] == [f"{name}_{k}" for k in range(4)]
