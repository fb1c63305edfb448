"""Hooks on gradients and on operations; options."""

import sys
import weakref

import numpy as np
import pytest
from threads import in_threads

import autoflow as af
from autoflow.backprop.hooks import LEAF_HOOKS, on_operation
from autoflow.errors import GradientShapeError, InPlaceError, LostGradientError


def test_a_hook_sees_the_complete_gradient_once():
    x = af.Variable(2.0)
    a = x * x
    out, seen = a + a * x, []
    for name, node in {"a": a, "x": x, "out": out}.items():
        node.register_hook(lambda g, name=name: seen.append((name, float(g))))
    out.backward()
    assert seen == [("out", 1.0), ("a", 3.0), ("x", 16.0)]


def test_a_leaf_hook_sees_this_pass_only():
    x, seen = af.Variable([1.0, 2.0]), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_post_accumulate_hook(lambda v: seen.append((v is x, v.grad.tolist())))
    for _ in range(2):
        (x * 3.0).sum().backward()
    assert seen == [[3.0, 3.0], (True, [3.0, 3.0]), [3.0, 3.0], (True, [6.0, 6.0])]


@pytest.mark.parametrize("shape", [(), (3,), (5000,)])
def test_replacement_order_and_removal(shape):
    x = af.Variable(np.ones(shape))
    y = x * 2.0
    first = y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 10)
    leaf = x.register_hook(lambda g: -g)
    y.sum().backward(keep_grads=True)
    assert np.all(x.grad == -40.0)
    assert np.all(y.grad == 20.0)
    first.remove()
    first.remove()
    leaf.remove()
    x.zero_grad()
    y.sum().backward()
    assert np.all(x.grad == 20.0)


def test_a_hook_cannot_write_and_keeps_no_memory_shared():
    x = af.Variable(np.ones(3))
    kept = []

    def writing(g):
        kept.append(g)
        with pytest.raises(InPlaceError if isinstance(g, af.Node) else ValueError, match="read-only"):
            g += 1

    x.register_hook(writing)
    for create_graph in (True, False):
        x.zero_grad()
        (x * 2.0).sum().backward(create_graph=create_graph)
    assert not np.shares_memory(kept[1], x.grad)
    given = np.full(3, 7.0)
    x.register_hook(lambda g: given)
    x.zero_grad()
    (x * 2.0).sum().backward()
    given[:] = 0
    assert np.all(x.grad == 7.0)


def test_what_a_hook_writes_into_is_not_read_afterwards():
    x, w = af.Variable(np.ones(3)), af.Variable(np.ones(3))
    u = x * 1.0
    y = u * w
    y.register_hook(lambda g: u.__setitem__(0, 9.0))
    with pytest.raises(af.errors.StaleValueError, match="needs the value of u"):
        y.sum().backward()
    assert x.grad is None
    assert w.grad is None


def test_shape_dtype_and_kind_of_replacements():
    x = af.Variable(np.ones(3, np.float32), name="x")
    handle = x.register_hook(lambda g: g.astype(np.float64) * 2)
    x.sum().backward()
    assert x.grad.dtype == np.float32
    handle.remove()
    x.register_hook(lambda g: [1, 2, 3])
    x.zero_grad()
    x.sum().backward()
    assert np.array_equal(x.grad, [1, 2, 3])
    x.register_hook(lambda g: g[:2])
    before = x.grad.copy()
    with pytest.raises(GradientShapeError, match=r"a hook of x returned shape \(2,\) in place of .* \(3,\)"):
        x.sum().backward()
    assert np.array_equal(x.grad, before)


def test_on_the_root_and_on_a_root_that_is_a_leaf_and_of_complex_numbers():
    x = af.Variable(3.0)
    x.register_hook(lambda g: g * 2)
    x.backward()
    assert x.grad == 2.0
    y = x * 1.0
    y.register_hook(lambda g: g * 5)
    y.backward()
    assert x.grad == 12.0
    z = af.Variable(1.0 + 1.0j)
    z.register_hook(lambda g: g * 1j)
    (z * z.conj()).real.backward()
    assert z.grad == 2j * (1 + 1j)


def test_create_graph():
    x = af.Variable(2.0)
    y = x * x
    y.register_hook(lambda g: g * x)  # a node here: the gradient of y is used with the factor x
    y.backward(create_graph=True)
    assert x.grad == 8.0
    g, _ = x.grad, x.zero_grad()
    g.backward()  # d(2 x²)/dx
    assert x.grad == 8.0


def test_hooks_stay_with_the_value_they_were_registered_for():
    a = af.Variable(np.ones(3)) * 1.0
    seen = []
    a.register_hook(lambda g: seen.append(g.copy()))
    a *= 3.0
    a.sum().backward()
    assert np.array_equal(seen, [[3.0, 3.0, 3.0]])
    view = a[1:]
    view.register_hook(lambda g: seen.append(g.shape))
    (view * 2).sum().backward()
    assert [g for g in seen if type(g) is tuple] == [(2,)]


def test_transforms_and_grad_fn():
    x = af.Variable(2.0)
    seen = []
    x.register_hook(seen.append)
    assert af.grad(lambda y: y * x)(3.0) == 2.0  # x is no argument: its gradient is not asked for
    y = x * x
    y.register_hook(seen.append)
    y.grad_fn(1.0)
    assert seen == []


def test_where_no_gradient_flows():
    c = af.Constant(1.0, name="c")
    with pytest.raises(LostGradientError, match="no gradient flows to c, a Constant"):
        c.register_hook(print)
    with pytest.raises(TypeError, match="accumulate in Variables only"):
        (af.Variable(1.0) * 2).register_post_accumulate_hook(print)
    for register in (c.register_hook, af.Variable(1.0).register_hook, on_operation):
        with pytest.raises(TypeError, match="a hook is a function"):
            register(3)


def test_an_exception_in_a_hook():
    x = af.Variable(1.0)
    y = x * 2.0
    for node in (x, y):
        handle = node.register_hook(lambda g: sys.exit())
        with pytest.raises(SystemExit):
            y.backward()
        assert x.grad is None
        handle.remove()
    y.backward()
    assert x.grad == 2.0


def test_hooks_die_with_their_variable(no_gc):
    before = len(LEAF_HOOKS)
    x = af.Variable(1.0)
    x.register_hook(print)
    assert len(LEAF_HOOKS) == before + 1
    gone = weakref.ref(x)
    del x
    assert gone() is None
    assert len(LEAF_HOOKS) == before


# -- on_operation


@pytest.mark.parametrize("n", [3, 5000])
def test_every_recorded_operation_is_reported(n):
    x = af.Variable(np.ones(n))
    names = []
    with on_operation(lambda node: names.append(node.opmethod)):
        y = np.exp(x) * 2.0
        z = 1.0 - y[1:]
        np.concatenate([z, y]).sum()
        with af.no_grad():
            x * 3.0
        _ = af.Constant(1.0) * 2
    assert names == ["exp", "multiply", "getitem", "subtract", "concatenate", "sum"]
    _ = x * 2
    assert len(names) == 6


def test_listeners_nest_and_do_not_hear_themselves():
    x = af.Variable([1.0, 2.0])
    heard = []
    with on_operation(lambda node: heard.append(("outer", float((node * 2).sum())))):
        with on_operation(lambda node: heard.append(("inner", node.opmethod))):
            _ = x + 1
        with af.no_grad(), af.enable_grad():
            _ = x * 1
    assert heard == [("outer", 10.0), ("inner", "add"), ("outer", 6.0)]


def test_a_listener_as_a_decorator_and_with_an_error():
    heard, x = [], af.Variable(1.0)
    on_operation(lambda node: heard.append(node.opmethod))(lambda: x * x)()
    assert heard == ["multiply"]
    with pytest.raises(ZeroDivisionError), on_operation(lambda node: 1 // 0):
        _ = x * x
    assert (x * x).requires_grad


def test_other_threads_are_not_heard():
    heard, x = [], af.Variable(1.0)
    with on_operation(heard.append):
        in_threads(lambda: x * x)
    assert heard == []


# -- options


def test_options_hold_in_their_context():
    with af.options(keep=0, strict=True):
        assert in_threads(lambda: af.options.keep) == [4096]
        x = af.Variable([1.0, 2.0])
        y = x * x
        y.sum().backward()
        assert y.grad is None
        with pytest.raises(LostGradientError):
            int(y.sum())


def test_options_are_checked():
    with pytest.raises(ValueError, match=r"af.options.keep is a number of things, so it cannot be -1"):
        af.options(keep=-1)
    with pytest.raises(ValueError, match=r"af.options.digits"):
        af.options.digits = -5
