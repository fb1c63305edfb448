"""Derivatives of functions: every transform, its arguments, its refusals; transforms of transforms."""

import sys
import weakref
from importlib.util import find_spec

import numpy as np
import pytest
import support
from processes import alone
from row_examples import examples_of

import autoflow as af
from autoflow.errors import DataError, InPlaceError, LostGradientError, SeedError
from autoflow.transforms import evaluation, jacobian as jacobians
from autoflow.transforms.gradient import elementwise_grad, grad, grad_and_aux, value_and_grad
from autoflow.transforms.jacobian import hessian, jacobian
from autoflow.transforms.vjp_jvp import hvp, jvp, vjp

RNG = np.random.default_rng(5)
X, Y, W = np.array([1.0, 2.0]), np.array([3.0, 4.0]), af.Variable(2.0)


def product(x, y):
    return np.sum(x * x * y)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    assert np.shape(a) == np.shape(b)


# -- grad and its sisters --------------------------------------------------------------------------------------------


def test_grad():
    same(grad(product)(X, Y), 2 * X * Y)
    same(grad(product, 1)(X, Y), X * X)
    gx, gy = grad(product, (0, 1))(X, Y)
    same(gx, 2 * X * Y)
    same(gy, X * X)
    assert type(gx) is np.ndarray
    assert af.grad is grad


def test_a_scalar_gives_0d_arrays():
    value, slope = value_and_grad(lambda x: x * x)(3.0)
    assert (value, slope) == (9.0, 6.0)
    assert type(value) is type(slope) is np.ndarray
    assert value.shape == slope.shape == ()


def test_results_share_memory_with_nothing():
    x = np.ones(3)
    gx, gy = grad(lambda x, y: np.sum(x + y), (0, 1))(x, x)
    gx += 1
    assert gy.sum() == x.sum() == 3
    value, g = value_and_grad(lambda x: x)(np.ones(1))
    assert not np.shares_memory(value, g)
    assert grad(np.sum)(np.ones((2, 3))).flags.writeable
    numbers, seed = np.arange(1.0, 6.0), np.ones(5)
    for f in (lambda x: x, lambda x: +x, lambda x: x[:], lambda x: x * 1.0, lambda x: x * numbers, np.copy, np.ravel,
              lambda x: np.stack([x])[0], lambda x: np.broadcast_to(x, 5), lambda x: x + x):  # fmt: skip
        x = np.arange(5.0)
        z, pull = vjp(f, x)
        (g,), (again,) = pull(seed), pull(seed)
        assert not any([np.shares_memory(g, other) for other in (x, z, numbers, seed, again)])
        assert g.flags.carray


@pytest.mark.usefixtures("rows_as_before")
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="references are counted in another way from Python 3.14 on")
def test_a_gradient_that_nobody_else_has_is_not_copied():
    made = []

    @af.primitive
    def twice(x):
        return x * 2.0

    def double(g):
        made.append(weakref.ref(new := g * 2.0))
        return new

    twice.defvjp(x=double)
    g = grad(lambda x: np.sum(twice(x)))(np.ones(3))
    assert made[-1]() is g


@pytest.mark.parametrize("transform", [grad, value_and_grad, elementwise_grad, jacobian, hessian])
def test_argnum(transform):
    def f(x, y, *, scale=2.0):
        return x * y * scale

    def of(*args, **options):
        answer = transform(f, *args, **options)(3.0, 5.0)
        return answer[1] if transform is value_and_grad else answer

    x, y = of(), of(1)
    assert of("x") == of(argnums=0) == of(argnum=0) == of(argnums="x") == x
    assert of("y") == of(-1) == of(np.int64(1)) == y
    assert of((0, "y")) == of(argnums=[0, 1]) == of((0, 1))
    assert isinstance(of((0,)), tuple)
    assert of("scale") is not None
    with pytest.raises(TypeError, match="the same"):
        transform(f, 0, argnums=0)
    with pytest.raises(TypeError, match="twice"):
        of((0, "x"))
    for wrong in (True, 1.5, None, (0, None)):
        if wrong is not None:
            with pytest.raises(TypeError, match="position, a name"):
                transform(f, wrong)
    for missing in (7, "nobody", -3):
        with pytest.raises(TypeError, match="without the argument"):
            of(missing)


def scaled(x, y=5.0, **more):
    return x * y * more.get("z", 1.0)


def cube(z):
    return z**3


def repeated(times):
    f = np.sin
    for _ in range(times):
        f = grad(f)
    return f


def stacked(x):
    return np.stack([x[0] * x[1], np.sin(x[1]), x[0]])


POINTS, Z = np.linspace(0.1, 2.0, 6).reshape(2, 3), 0.3 + 0.4j
VALUES = [
    # Arguments by name.
    *[(call, 3.0) for call in (
        lambda: grad(scaled, 1)(3.0, y=2.0), lambda: grad(scaled, "y")(3.0, y=2.0), lambda: grad(scaled, "y")(3.0),
        lambda: grad(scaled)(y=3.0, x=1.0), lambda: grad(np.multiply, 1)(3.0, 4.0),
    )],
    (lambda: grad(scaled, "z")(3.0, 2.0, z=7.0), 6.0), (lambda: grad(grad(scaled, "y"), "x")(3.0, y=2.0), 1.0),
    (lambda: grad(lambda *xs: xs[0] * xs[1], (0, 1))(3.0, 4.0), (4.0, 3.0)),
    # Each element by itself.
    (lambda: elementwise_grad(np.sin)(POINTS), np.cos(POINTS)),
    (lambda: elementwise_grad(elementwise_grad(np.sin))(POINTS), -np.sin(POINTS)),
    (lambda: elementwise_grad(np.power, 1)(POINTS, 2 * np.ones(3)), (POINTS**2 * np.log(POINTS)).sum(axis=0)),
    # High orders.
    *[(lambda k=k: repeated(k)(0.7), np.sin(0.7 + k * np.pi / 2)) for k in range(1, 7)],
    # Gradients that are constant have the derivative zero.
    (lambda: grad(grad(lambda x: 2 * x))(1.0), 0.0), (lambda: grad(grad(lambda x: W * x))(1.0), 0.0),
    (lambda: grad(grad(grad(lambda x: x * x)))(1.0), 0.0), (lambda: hvp(lambda x: W * x, 1.0, 1.0), 0.0),
    (lambda: hessian(lambda x: np.sum(3 * x))(X), np.zeros((2, 2))),
    (lambda: grad(lambda x, y: x * x, (0, 1))(3.0, X)[1], np.zeros(2)),
    (lambda: jacobian(lambda x: jvp(lambda v: 3.0 * v, x, 1.0)[1])(1.0), 0.0),
    # The derivatives of two transforms are told apart.
    (lambda: grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0), 1.0),
    (lambda: grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0), 6.0),
    (lambda: grad(lambda x: x * grad(lambda x: x * x)(x))(3.0), 12.0),
    (lambda: grad(lambda x: grad(lambda y: grad(lambda x: x * y)(x) * x)(x))(5.0), 1.0),
    (lambda: grad(lambda x: x * jvp(lambda y: x * y, 2.0, 1.0)[1])(3.0), 6.0),
    (lambda: jvp(lambda x: x * jvp(lambda y: x + y, 1.0, 1.0)[1], 1.0, 1.0)[1], 1.0),
    # The result may be the argument.
    (lambda: grad(lambda x: x)(3.0), 1.0), (lambda: grad(lambda x: grad(lambda y: y)(x) * x)(3.0), 1.0),
    (lambda: jacobian(lambda x: x)(X), np.eye(2)), (lambda: jacobian(lambda x: x, mode="forward")(X), np.eye(2)),
    (lambda: jvp(lambda x: x, 3.0, 2.0), (3.0, 2.0)),
    # Functions of complex numbers, holomorphic and not.
    (lambda: grad(np.exp, holomorphic=True)(Z), np.exp(Z)), (lambda: grad(cube, holomorphic=True)(Z), 3 * Z**2),
    (lambda: grad(grad(cube, holomorphic=True), holomorphic=True)(Z), 6 * Z),
    (lambda: hessian(cube, holomorphic=True)(Z), 6 * Z), (lambda: grad(lambda z: np.abs(z) ** 2)(3 + 4j), 6 + 8j),
    (lambda: elementwise_grad(np.sin, holomorphic=True)(np.array([Z, 1j])), np.cos([Z, 1j])),
    *[(lambda mode=mode: jacobian(np.sin, holomorphic=True, mode=mode)(np.array([Z, 1j])), np.diag(np.cos([Z, 1j])))
      for mode in ("reverse", "forward")],
    (lambda: jacobian(np.abs)(np.array([3 + 4j])), [[(3 + 4j) / 5]]),
    (lambda: jacobian(lambda x: np.exp(1j * x))(0.5), 1j * np.exp(0.5j)),
    # Jacobians by their other names.
    *[(lambda of=of: of(stacked)(X), [[2, 1], [0, np.cos(2)], [1, 0]]) for of in (jacobian, af.jacfwd, af.jacrev)],
    *[(lambda of=of: of(lambda x: product(np.sin(x), x[::-1]))(X),
       [[4 * np.cos(2), np.sin(2) + np.sin(4)], [np.sin(2) + np.sin(4), 2 * np.cos(4)]])
      for of in (hessian, lambda f: af.jacfwd(af.jacrev(f)))],
    (lambda: af.jacfwd(lambda x, y: x * y, 1)(X, X), np.diag(X)),
    # Tangents and cotangents may be lists in the places of arrays.
    (lambda: hvp(lambda x: np.sum(x**3), X, [1.0, 0.5]), [6.0, 6.0]),
    (lambda: jvp(lambda x, y: np.sum(x * y), (X, 2.0), ([1.0, 0.5], 1.0))[1], 6.0),
    (lambda: af.linearize(lambda x: x * x, X)[1]([1.0, 0.5]), [2.0, 2.0]),
    (lambda: vjp(lambda p: {"a": p[0] * 2, "b": p[1]}, [X, X])[1]({"a": [1.0, 0.5], "b": [3, 4]})[0][0], [2.0, 1.0]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "right"), VALUES)
def test_values(call, right):
    found = call()
    np.testing.assert_allclose(found, right, rtol=1e-14, atol=1e-15)
    assert np.shape(found) == np.shape(right)


def test_grad_and_aux():
    def f(x):
        y = x * 2.0
        return y * y, {"y": y, "text": "aux", "n": 3}

    g, aux = grad_and_aux(f)(3.0)
    assert g == 24.0
    assert aux["text"] == "aux"
    assert aux["y"] == 6.0
    assert type(aux["y"]) is np.ndarray
    assert grad(lambda x: grad_and_aux(f)(x)[0] * grad_and_aux(f)(x)[1]["y"])(1.0) == 32.0


def test_dtypes():
    assert grad(lambda x: np.sum(x * 2.0))(np.ones(2, np.float32)).dtype == np.float32
    assert grad(lambda x: x * x)(3) == 6.0
    assert grad(lambda x: np.sum(x * x))(np.arange(3)).dtype == np.float64
    assert jacobian(lambda x: x * x)(np.ones(2, np.float32)).dtype == np.float32
    value, tangent = jvp(lambda x: x * x, np.float32(2.0), 1.0)
    assert value.dtype == tangent.dtype == np.float32


REFUSED = [
    (lambda: grad(lambda x: x * 2)(X), TypeError, r"returned shape.*elementwise_grad.*jacobian"),
    (lambda: grad(lambda x: x)("text"), DataError, "text"),
    (lambda: grad(lambda x: 3.0)(1.0), LostGradientError, "depends on none of the arguments"),
    (lambda: grad(lambda x: grad(lambda y: y * y)(3.0))(1.0), LostGradientError, "depends on none of the arguments"),
    (lambda: grad_and_aux(lambda x: x)(1.0), TypeError, "number, anything"),
    (lambda: grad(lambda x: (x, "aux"))(1.0), TypeError, "grad_and_aux"),
    (lambda: grad(lambda x: x.__setitem__(0, 5.0))(X), InPlaceError, "Variable"),
    (lambda: vjp(lambda x: x * 2, X)[1](1.0), SeedError, "shape"),
    (lambda: jvp(np.sin, X, np.ones(3)), SeedError, "shape"),
    (lambda: jvp(np.sin, (X,), ()), SeedError, "containers"),
    (lambda: jvp(np.sin, X, X * 1j), SeedError, "complex"),
    (lambda: jvp(np.multiply, (1.0, 2.0), ([1.0, 2.0], [])), SeedError, r"shape \(2,\), but its shape is \(\)"),
    (lambda: jvp(np.positive, (X,), ([1.0],)), SeedError, "shape"),
    (lambda: jvp(np.positive, (X,), ([[1.0, 0.5]],)), SeedError, "shape"),
    (lambda: jvp(np.positive, (X,), ([1.0, [0.5]],)), ValueError, "inhomogeneous"),
    (lambda: af.linearize(lambda p: p["a"] * 2, {"a": X})[1](X), SeedError, "containers"),
    (lambda: jacobian(np.sin, mode="backward"), ValueError, "mode is"),
    (lambda: hessian(lambda x: np.sum(x * x))(np.ones(100_000)), MemoryError, r"af\.vjp"),
    (lambda: grad(np.exp)(1j), SeedError, "holomorphic=True"),
    (lambda: jacobian(np.exp)(np.array([1j])), SeedError, "holomorphic=True"),
    (lambda: grad(np.exp, holomorphic=True)(1.0), TypeError, "complex arguments"),
    (lambda: grad(np.conjugate, holomorphic=True)(1j), TypeError, "not holomorphic"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("f", [lambda x: 3.0, lambda x: x.value * 2.0, lambda x: np.floor(x.value)])
def test_lost(f):
    x = np.ones(())
    for lost in (
        lambda **how: grad(f, **how)(x), lambda **how: value_and_grad(f, **how)(x)[1],
        lambda **how: elementwise_grad(f, **how)(x), lambda **how: jacobian(f, **how)(x),
        lambda **how: hessian(f, **how)(x), lambda **how: vjp(f, x, **how)[1](1.0)[0],
        lambda **how: jvp(f, (x,), (x,), **how)[1], lambda **how: hvp(f, x, x, **how),
    ):  # fmt: skip
        with pytest.raises(LostGradientError, match="usual causes" if f(af.Variable(x)) == 3.0 else r"at x\.value \("):
            lost()
        answer = lost(allow_unused=True)
        assert answer == 0.0
        assert answer.shape == ()


def test_a_nested_function_that_writes_is_right():
    def f(x):
        x[0] = 5.0
        return np.sum(x * x)

    same(grad(lambda x: np.sum(grad(f)(x * 1.0)))(np.ones(2)), [0.0, 2.0])


def test_errors_leave_no_trace():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        grad(broken)(1.0)
    assert type(grad(lambda x: x * x)(1.0)) is np.ndarray
    assert type(np.sin(af.Variable(1.0))) is af.Operation


# -- whose derivative is whose ---------------------------------------------------------------------------------------


def test_no_grad_is_touched():
    x = af.Variable(3.0)
    assert grad(lambda v: v * x)(2.0) == 3.0
    assert x.grad is None


def test_of_a_node_it_can_be_differentiated_again():
    x = af.Variable(2.0)
    slope = grad(lambda v: v**3)(x)
    (slope * slope).backward()
    assert x.grad == 2 * 12 * 12
    with af.no_grad():
        assert type(grad(lambda v: v**3)(x)) is np.ndarray
    assert vjp(lambda v: v**3, x)[1](1.0)[0].requires_grad
    assert jvp(lambda v: v**3, 2.0, x)[1].requires_grad
    pushforward = af.linearize(lambda v: v**3, 2.0)[1]
    assert pushforward(x).requires_grad
    with af.no_grad():
        assert type(pushforward(x)) is np.ndarray


def test_no_grad_inside_and_outside():
    def f(x):
        with af.no_grad():
            slope = grad(lambda y: y * y)(x)
        assert type(slope) is np.ndarray
        return x * slope

    assert grad(f)(3.0) == 6.0
    with af.no_grad():
        assert grad(lambda x: x**3)(2.0) == jvp(lambda x: x**3, 2.0, 1.0)[1] == hessian(lambda x: x**3)(2.0) == 12.0
    assert af.is_grad_enabled()


def test_no_work_for_what_is_not_wanted():
    """Nothing behind a captured Variable is computed: its rules are not called."""
    called, w = [], af.Variable(2.0)

    def watched():
        node = af.Operation.create_node(5.0, "watched", w)
        node.grad_fn = lambda g: called.append(g) or g
        return node

    from_outside = watched()
    assert grad(lambda x: x * from_outside)(3.0) == grad(lambda x: x * watched())(3.0) == 5.0
    assert called == []


def test_hooks():
    """Those of the argument are called; those of what is not asked for are not, or with the whole gradient."""
    seen = []
    w = af.Variable(2.0)
    w.register_hook(lambda g: seen.append(("w", float(g))))
    inside = w * 3.0
    inside.register_hook(lambda g: seen.append(("inside", float(g))))

    def f(x):
        x.register_hook(lambda g: seen.append(("x", float(g))))
        return x * w + x * inside + inside * inside

    assert grad(f)(5.0) == 8.0
    assert ("x", 8.0) in seen
    assert set(seen) <= {("x", 8.0), ("inside", 5.0 + 2 * 6.0)}


def test_border():
    x, w = af.Variable(1.0), af.Variable(2.0)
    z = (x * w) * np.exp(w)
    assert evaluation.stop_set((w * 2.0).grad_fn, {x}, x.number) == (None, 1)
    stop, count = evaluation.stop_set(z.grad_fn, {x}, x.number)
    assert stop == {x, w, z.operands[1].grad_fn}
    assert count == 3


# -- products with Jacobians -----------------------------------------------------------------------------------------


def tricky(x, y):
    """Several rows at once: a matrix product, a reduction, an index, a joint rule of several arrays."""
    h = np.tanh(x @ y)
    return np.concatenate([h[0] * np.sum(x), np.sort(h[1]), np.cumsum(y[:, 0])])


A, B = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4))


def test_vjp():
    value, pullback = vjp(tricky, A, B)
    ja, jb = jacobian(tricky, (0, 1))(A, B)
    u = RNG.normal(size=value.shape)
    for _ in range(2):
        ga, gb = pullback(u)
        same(ga, np.tensordot(u, ja, 1))
        same(gb, np.tensordot(u, jb, 1))
    assert type(value) is type(ga) is np.ndarray
    assert vjp(np.sin, 0.0)[1](2.0) == (2.0,)


def test_several_results_some_of_which_are_no_numbers():
    def f(p):
        return {"sum": p[0] + p[1], "product": p[0] * p[1], "n": 3, "name": "text", "on": True}

    value, pullback = vjp(f, [2.0, 5.0])
    assert value == {"sum": 7.0, "product": 10.0, "n": 3, "name": "text", "on": True}
    assert pullback({"sum": 1.0, "product": 10.0, "n": 0.0, "name": None, "on": None}) == ([51.0, 21.0],)
    rest = {"n": 0.0, "name": None, "on": None}
    assert jvp(f, [2.0, 5.0], [1.0, 10.0])[1] == {"sum": 11.0, "product": 25.0, **rest}
    assert jacobian(f)([2.0, 5.0]) == {"sum": [1.0, 1.0], "product": [5.0, 2.0], **rest, "n": [0.0, 0.0]}


def test_pullback_is_differentiable():
    def f(u):
        return vjp(np.sin, 0.5)[1](u)[0]

    same(grad(f)(1.0), np.cos(0.5))
    _, pullback = vjp(lambda x: x**3, 2.0)
    assert grad(lambda u: pullback(u)[0] * u)(1.0) == 24.0
    same(grad(lambda x: vjp(np.sin, x)[1](2.0)[0])(0.5), -2 * np.sin(0.5))


def test_jvp():
    ja, jb = jacobian(tricky, (0, 1))(A, B)
    ta, tb = RNG.normal(size=A.shape), RNG.normal(size=B.shape)
    value, tangent = jvp(tricky, (A, B), (ta, tb))
    same(value, tricky(A, B))
    np.testing.assert_allclose(tangent, np.tensordot(ja, ta, 2) + np.tensordot(jb, tb, 2), rtol=1e-12)
    assert type(tangent) is np.ndarray
    assert jvp(lambda x: (x, 2.0 * x, 7.0), 3.0, 1.0)[1] == (1.0, 2.0, 0.0)
    assert jvp(lambda p: p["a"] * p["b"], {"a": 2.0, "b": 3.0}, {"a": 1.0, "b": 10.0})[1] == 23.0


def test_a_rule_on_plain_arrays_has_no_forward_mode():
    def f(x):
        z = af.Operation.create_node(x.value**2, "my_square", x)
        z.grad_fn = lambda g: np.asarray(getattr(g, "value", g)) * 2 * x.value
        return z

    assert jacobian(f)(3.0) == 6.0
    with pytest.raises(LostGradientError, match=r"my_square.*forward"):
        jacobian(f, mode="forward")(3.0)


def test_hvp():
    def f(x, y):
        return np.sum(np.tanh(x @ y) ** 2)

    vx, vy = RNG.normal(size=A.shape), RNG.normal(size=B.shape)
    (hxx, hxy), (hyx, hyy) = hessian(f, (0, 1))(A, B)
    px, py = hvp(f, (A, B), (vx, vy))
    np.testing.assert_allclose(px, np.tensordot(hxx, vx, 2) + np.tensordot(hxy, vy, 2), rtol=1e-11)
    np.testing.assert_allclose(py, np.tensordot(hyx, vx, 2) + np.tensordot(hyy, vy, 2), rtol=1e-11)
    assert hvp(lambda p: p["a"] ** 2 * p["b"], {"a": 2.0, "b": 3.0}, {"a": 1.0, "b": 0.0}) == {"a": 6.0, "b": 4.0}
    assert grad(lambda x: hvp(lambda v: v**4, x, 1.0))(2.0) == 48.0


# -- Jacobians -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reverse", "forward", "auto"])
def test_jacobian(mode):
    def f(x, y):
        return np.outer(np.sin(x), y)[:, ::2]

    x, y = RNG.normal(size=2), RNG.normal(size=3)
    jx, jy = jacobian(f, (0, 1), mode=mode)(x, y)
    same(jx, np.einsum("i,il,j->ijl", np.cos(x), np.eye(2), y[::2]))
    same(jy, np.einsum("i,jl->ijl", np.sin(x), np.eye(3)[::2]))
    assert jx.flags.c_contiguous
    same(jacobian(lambda x: x[:0], mode=mode)(x), np.zeros((0, 2)))
    same(jacobian(lambda x: np.sum(x), mode=mode)(np.ones((0, 2))), np.zeros((0, 2)))


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("outer", ["reverse", "forward"])
def test_jacobians_of_jacobians(mode, outer):
    want = np.einsum("i,ij,jk->ijk", -np.sin(X), np.eye(2), np.eye(2))
    same(jacobian(jacobian(np.sin, mode=mode), mode=outer)(X), want)


@pytest.mark.thorough
@pytest.mark.parametrize("row", support.rows(), ids=lambda row: row.name)
def test_forward_is_reverse_for_every_row(row):
    """The forward mode runs each derivative on a node for g and plain arrays for the rest."""
    example = examples_of(row)[0]
    xs, places = support.values_of(row, example), support.differentiable(row, example)

    def f(*some):
        inputs = [some[places.index(k)] if k in places else x for k, x in enumerate(xs)]
        return support.call(row, support.prepare(row, inputs), example.options)

    args = [xs[k] for k in places]
    try:
        real = all(np.asarray(z).dtype.kind != "c" for z in af.tree_leaves(f(*args)))
    except np.linalg.LinAlgError:  # the row is tested on matrices that are made of its inputs
        return
    if args and real:
        every = tuple(range(len(args)))
        found = [jacobian(f, every, mode=mode, allow_unused=True)(*args) for mode in ("reverse", "forward")]
        for a, b in zip(*map(af.tree_leaves, found), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def test_containers_of_jacobians():
    def f(p, q):
        return {"z": p["a"] * q, "y": q}

    j = jacobian(f, (0, 1))({"a": X}, Y)
    same(j["z"][0]["a"], np.diag(Y))
    same(j["z"][1], np.diag(X))
    same(j["y"][0]["a"], np.zeros((2, 2)))
    same(j["y"][1], np.eye(2))
    h = hessian(lambda p: p["a"] ** 2 * p["b"])({"a": 2.0, "b": 3.0})
    assert h == {"a": {"a": 6.0, "b": 4.0}, "b": {"a": 4.0, "b": 0.0}}


def test_modes_are_chosen_by_shape(monkeypatch):
    used = []
    for name in ("by_rows", "by_columns"):
        real = getattr(jacobians, name)
        monkeypatch.setattr(jacobians, name, lambda *args, real=real, name=name: used.append(name) or real(*args))
    jacobian(lambda x: np.sum(x * x, axis=0))(np.ones((3, 2)))
    jacobian(lambda x: np.outer(x, x))(np.ones(2))
    jacobian(lambda x: np.exp(1j * x))(np.ones(2))
    assert used == ["by_rows", "by_columns", "by_columns"]


def test_large_jacobians_are_refused():
    with af.options(max_bytes=1000), pytest.raises(MemoryError, match=r"20 results for 20 .*3,200 bytes.*max_bytes"):
        jacobian(np.sin)(np.ones(20))
    with af.options(max_bytes=3200):
        jacobian(np.sin)(np.ones(20))


def test_long_jacobians_show_a_bar(monkeypatch, capfd):
    monkeypatch.setattr(jacobians, "LONG", 0.0)
    monkeypatch.setattr(jacobians, "CHUNK_BYTES", 10 * 2 * 240)  # ten rows
    x = np.arange(30.0)
    same(jacobian(np.sin)(x), np.diag(np.cos(x)))
    assert ("Jacobian" in capfd.readouterr().err) is (find_spec("tqdm") is not None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    same(jacobian(np.sin)(x), np.diag(np.cos(x)))
    assert capfd.readouterr().err == ""


def test_a_bar_that_comes_late_leaves_out_no_rows(monkeypatch):
    """The steps of a Jacobian by blocks are 0, 10, 20, ...: how many are done is not their number."""
    times = iter([0.0, 0.1, *range(100, 1000, 100)])
    monkeypatch.setattr(jacobians.time, "perf_counter", lambda: next(times))
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert list(jacobians.show_progress(range(0, 100, 10))) == list(range(0, 100, 10))


def test_importing_and_short_jacobians_leave_tqdm_alone():
    alone("""
        import sys, numpy as np
        from autoflow.transforms.jacobian import jacobian
        jacobian(np.sin)(np.ones(3))
        assert "tqdm" not in sys.modules
    """)


@pytest.mark.parametrize(("given", "dtype"), [("f4", "f8"), ("f8", "f4"), ("f2", "f4"), ("f4", "c8"), ("f8", "f8")])
@pytest.mark.parametrize("n", [1, 3, 12])
@pytest.mark.parametrize("nested", [False, True])
def test_dtypes_of_jacobians(given, dtype, n, nested):
    """By rows that of the argument, by columns that of the result; by default the shapes do not change it."""
    x = np.arange(1.0, 4.0).astype(given)

    def f(x):
        return np.resize(np.arange(1.0, 4.0), (n, 3)).astype(dtype) @ x.astype(dtype), np.ones(2, dtype)

    for mode, expected in {"reverse": given, "forward": dtype, "auto": dtype if dtype == "c8" else given}.items():
        if mode == "reverse" and dtype == "c8":
            continue
        found = []

        def of_found(x, mode=mode, found=found):
            found += jacobian(f, mode=mode)(x)
            return sum([np.sum(np.real(j)) for j in found])

        grad(of_found)(x) if nested else of_found(x)
        unreached = given if mode == "auto" else expected
        assert [str(j.dtype) for j in found[:2]] == [str(np.dtype(expected)), str(np.dtype(unreached))]
        np.testing.assert_allclose(found[0], np.resize(np.arange(1.0, 4.0), (n, 3)).astype(dtype))
        if dtype != "c8" and not nested and given != "f2":
            sparse = jacobian(lambda x: f(x)[0], mode=mode, sparsity=np.ones((n, 3)))(x)
            assert sparse.dtype == expected


def test_linearize():
    ran = []

    def f(x, y):
        ran.append(1)
        return {"z": x["a"] * np.sin(y), "n": None}

    x, y = {"a": np.array([1.0, 2.0])}, np.array([0.5, -0.5])
    value, push = af.linearize(f, x, y)
    for t, u in (({"a": np.ones(2)}, np.zeros(2)), ({"a": np.zeros(2)}, np.array([1.0, 3.0]))):
        same(push(t, u)["z"], af.jvp(lambda x, y: f(x, y)["z"], (x, y), (t, u))[1])
    assert len(ran) == 3
    same(value["z"], x["a"] * np.sin(y))
    slope = af.grad(lambda t: np.sum(push({"a": t}, t)["z"] ** 2))(np.array([1.0, -1.0]))
    right = af.grad(lambda t: np.sum((t * np.sin(y) + x["a"] * np.cos(y) * t) ** 2))(np.array([1.0, -1.0]))
    same(slope, right)
    again = af.grad(lambda y: np.sum(af.linearize(lambda y: y**3, y)[1](np.ones(2))))(y)
    same(again, 6 * y)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_holomorphic_is_for_complex_arguments_and_results_alone(mode):
    """Of real arguments f' would lose its imaginary part."""
    x, z = np.array([1.0, 2.0]), np.array([1.0 + 1j, 2.0])
    wrong = [(lambda a: a * 1j, (x,), 0), (lambda a, b: a * b, (x, z), (0, 1)), (np.real, (z,), 0), (np.sin, (x,), 0)]
    for f, args, argnum in wrong:
        with pytest.raises(TypeError, match="complex arguments and a complex result"):
            jacobian(f, argnum, holomorphic=True, mode=mode)(*args)
    same(jacobian(lambda a, b: a * b, 1, holomorphic=True, mode=mode)(x, z), np.diag(x))
