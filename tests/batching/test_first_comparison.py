"""The first call of a kind is compared with one example; what a function finds outside is part of the kind.

A function is made twice. First it gets what leads to an array, and is right under vmap. Then it gets, in the same
place, what leads to one of NumPy's numbers, whose type it asks for: only the comparison with one example notices that.
"""

import copy
import functools
import operator
import os
import types
from unittest import mock

import numpy as np
import pytest
from by_loop import by_loop, difference, expressions, outcome
from calls import ARRAY_METHODS, CALLS, UFUNC_METHODS, VARIANT_CALLS
from support import NIGHTLY
from vmap_calls import EXPRESSIONS

import autoflow as af
from autoflow.batching import looping
from autoflow.errors import BatchError

X = np.array([[0.1, 0.5, 0.2], [0.3, -0.4, 0.9]])
PAIRS = {  # what leads to an array, and to a number
    "function": (np.cumsum, np.sum), "ufunc": (np.tanh, np.sum), "built in": (abs, sum), "text": ("tanh", "sum"),
    "flag": (False, True), "count": (3, 1), "none": (None, 1),
    "item": (operator.itemgetter(slice(3)), operator.itemgetter(0)),
    "method": (operator.methodcaller("cumsum"), operator.methodcaller("sum")),
}  # fmt: skip


def decide(op, x):
    if callable(op):
        return op(x)
    if isinstance(op, str):
        return getattr(np, op)(x)
    return x.sum() if op == 1 else x * 1


def typed(z):
    return z * (2.0 if type(z) is np.float64 else 1.0)


def by_keyword(op):
    def f(x, *, op=op):
        return typed(decide(op, x))

    return f


def of_a_global(x):
    return typed(decide(OP, x))  # noqa: F821 - a global of its copies


class Holder:
    def __init__(self, op):
        self.op = op

    def __call__(self, x):
        return typed(decide(self.op, x))


WAYS = {
    "default": lambda op: lambda x, op=op: typed(decide(op, x)), "keyword": by_keyword,
    "closure": lambda op: lambda x: typed(decide(op, x)), "attribute": Holder,
    "global": lambda op: types.FunctionType(of_a_global.__code__, {**globals(), "OP": op}),
    "partial": lambda op: functools.partial(lambda op, x: typed(decide(op, x)), op),
    "element": lambda op: (lambda ops: lambda x: typed(decide(ops[0], x)))([op]),
}  # fmt: skip
# What is not a function, in an attribute or a container, is not looked at: see docs/guarantees.md.
TRIED = [(way, kind) for way in WAYS for kind in PAIRS
         if way not in ("attribute", "element") or callable(PAIRS[kind][0])]  # fmt: skip


@pytest.mark.parametrize(("way", "kind"), TRIED)
def test_the_same_code_with_something_else_is_compared_again(way, kind):
    with mock.patch.dict(looping.KNOWN, clear=True):
        for op in PAIRS[kind]:
            f = WAYS[way](op)
            np.testing.assert_array_equal(af.vmap(f, loop="allow")(X), np.stack([f(x) for x in X]))


def test_classes_and_getters_are_told_apart():
    x = np.ones((2, 1))
    with mock.patch.dict(looping.KNOWN, clear=True):
        for alone in (lambda f: f, functools.partial):
            assert len(af.vmap(alone(list), loop="allow")(x)) == 1
            assert af.vmap(alone(set), loop="allow")(x) == {1.0}
            assert af.vmap(alone(operator.attrgetter("ndim")), loop="allow")(x).tolist() == [1, 1]
            assert af.vmap(alone(operator.attrgetter("base.ndim")), loop="allow")(x).tolist() == [2, 2]


def test_the_comparison_is_one_call():
    """It proves nothing: numbers that are read past us would have made the function run for each example."""
    read, write = os.pipe()

    def f(x):
        os.write(write, b"x")
        return np.sum(x**3)

    with mock.patch.dict(looping.KNOWN, clear=True):
        for batch in (X, X + 1.0):  # the second call needs no comparison
            af.vmap(af.grad(f))(batch)
    os.close(write)
    with os.fdopen(read) as calls:
        assert calls.read() == "xxx"


class Turned(np.ndarray):
    def __mul__(self, other):
        return np.asarray(self) + other

    __rmul__ = __mul__


class Doubled(np.ndarray):
    def __array_wrap__(self, array, *_):
        return np.asarray(array) * 2


NINE = np.arange(9.0).reshape(3, 3)
OF_CLASSES = [np.ma.array(NINE, mask=np.eye(3)), NINE.view(np.matrix), NINE.view(Turned), NINE.view(Doubled)]
MIXED = ["x*c", "c*x", "c-x", "x==c", "x@c", "np.outer(x,c)", "np.tensordot(x,c,1)", "np.multiply(x,c)", "np.dot(x,c)"]
TAKEN = ["np.linalg.norm({})", "({}).sum()", "np.sin({})", "({}).T*x", "np.max({})", "np.asarray({})"]


@pytest.mark.parametrize("c", OF_CLASSES, ids=lambda c: type(c).__name__)
def test_a_first_example_of_zeros_does_not_show_what_a_class_does(c):
    x = np.stack([np.zeros((3, 3)), NINE[::-1] - 4.0])
    for call in (taken.format(mixed) for mixed in MIXED for taken in TAKEN):
        f = eval(f"lambda x: {call}", {"np": np, "c": c})
        found = outcome(lambda x, f=f: np.asarray(af.vmap(f, loop="allow")(x)), x)
        assert not difference(found, outcome(by_loop, lambda x, f=f: np.asarray(f(x)), x), 1e-12), call


def test_one_object_for_all_examples_stays_one():
    f = af.vmap(lambda x, a, b, *, c: x * (2.0 if a is b is c else 3.0), (0, None, None), loop="refuse")
    np.testing.assert_array_equal(f(X, X, X + 1.0, c=X), X * 3.0)
    np.testing.assert_array_equal(f(X, X, X, c=X), X * 2.0)
    places = af.vmap(lambda i, *, table: table[i] + np.take(table, i, 0), loop="refuse")
    np.testing.assert_array_equal(places(np.array([1, 0]), table=X), 2.0 * X[::-1])


QUESTIONS = """
    type(x)is(np.ndarray)  type(x)==np.ndarray  type(x)in{np.ndarray}  type(x).__name__=="ndarray"
    {np.ndarray:1}.get(type(x),0)
    issubclass(type(x),np.ndarray)  hasattr(x,"__array_interface__")  hasattr(x[0],"__len__")  hasattr(x[0],"hex")
    getattr(x[0],"is_integer",0)  isinstance(x[0],float)  np.isscalar(x[0])  type(x[0])==np.float64
"""
SHOWN = """
    np.where(x>5,{}+2,1.)  1/(x>5)+{}  np.where(x>5,1.,np.nan)*({}+2)  np.minimum(x,5+{})  np.where(x>5,{},np.inf)
    {{bool({}):x}}  (x,x)if({})else[x,x]  [x,[x]]if({})else[[x],x]  x[None]if({})else[x]
"""


@pytest.mark.parametrize("shown", expressions(SHOWN))
def test_a_class_that_shows_in_some_numbers_or_in_containers(shown):
    for question in expressions(QUESTIONS):
        f = eval(f"lambda x: {shown.format(f'bool({question})')}")
        found = outcome(af.vmap(f, loop="allow"), np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 6.0]]))
        expected = outcome(by_loop, f, np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 6.0]]))
        assert not difference(found, expected), question


def test_containers_are_part_of_the_kind():
    f = af.vmap(lambda u: u * 2.0 if type(u) is np.ndarray else u[0] * 3.0, loop="allow")
    for u, expected in (([X], X * 3.0), (X, X * 2.0), ((X,), X * 3.0)):
        np.testing.assert_array_equal(f(u), expected)


@pytest.mark.parametrize(("given", "left"), [([[]], []), ([()], []), ([{}, 1.0], [{}, 1.0, 2])])
def test_a_container_for_all_examples_changes_as_in_a_loop(given, left):
    def f(x, u):
        u.append(2) if len(u) == 2 else u and u.pop()
        return x * 2.0

    af.vmap(f, (0, None), loop="allow")(X[:1], given)
    assert given == left


LAYOUTS = {
    "C": lambda a: a, "F": lambda a: a.copy("F"), "turned": lambda a: a.T, "backwards": lambda a: a[::-1, ::-1],
    "part": lambda a: a[:3].T, "one row": lambda a: np.broadcast_to(a[:1], a.shape),
    "three axes": lambda a: a.reshape(2, 2, 4).transpose(2, 0, 1), "one axis": lambda a: a.reshape(16),
}  # fmt: skip
READERS = {
    "ravel": lambda a, order: np.ravel(a, order), "flatten": lambda a, order: a.flatten(order),
    "reshape": lambda a, order: np.reshape(a, (2, -1), order), "copy": lambda a, order: a.copy(order).ravel("K"),
    "add": lambda a, order: np.add(a, 1.0, order=order).ravel("K"),
    "einsum": lambda a, order: np.einsum("...->...", a, order=order).ravel("K"),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_first_example_of_equal_numbers_shows_no_order(layout, reader):
    """Compared by its numbers, each order of reading it is right; the second example has others. And a batch of one
    lies in memory as its example does: what is learnt from it holds for no other batch."""
    x = np.stack([np.ones((4, 4)), np.arange(16.0).reshape(4, 4)])
    for order in ("C", "F", "A", "K", "c", "f", "a", "k", None):
        if reader == "reshape" and order in ("K", "k"):
            continue
        looping.KNOWN.clear()

        def f(a, order=order):
            return READERS[reader](LAYOUTS[layout](a), order)

        loop = "refuse" if order in ("C", "F") and layout == "one axis" else "allow"
        for xs in (x[1:], x):
            np.testing.assert_array_equal(af.vmap(f, loop=loop)(xs), np.stack([f(a) for a in xs]), err_msg=str(order))


OF_MATRICES = """
    (lambda b:np.random.default_rng(3).shuffle(b) or b)(x*1)
    np.vecdot(x,y,axis=0)  np.vecdot(s,x+1j)  np.matmul(x,y,axes=[(1,0),(0,1),(0,1)])
    np.matvec(x,y[0],axes=[(1,0),0,0])  np.linalg.norm(x,1,axis=0)  np.linalg.norm(x,axis=(1,0),ord=1)
    np.linalg.matrix_norm(x,ord=1)  np.cross(x[:3],y[:3],0,0,0)  np.linalg.pinv(x,x[0,0]*0)
    np.linalg.solve(s,np.stack([x,y]))  np.linalg.solve(np.stack([s,s+1]),x)  np.fft.fft2(x,axes=(1,0))
    np.rot90(x,1,(1,0))  np.roll(x,(1,1),(0,0))  np.roll(x,i,axis=0)  np.expand_dims(x,(0,-1))  np.trace(x,1,1,0)
    np.take(x,i,0,mode="clip")  np.take(x,-i,1,mode="wrap")  np.take_along_axis(s,np.argsort(x,1),1)  x[:,i]
    x[i[:,None],i]  x[i,None]  x[i,:,None]  x[1:3,i]  x[i,1:3]  s[:,i]  s[i,1:3]  s[1:3,i]  s[None,i,:1]
    np.stack([x,x])[0,:,i]  np.stack([s,s])[i*0,:,0]  np.stack([s,s])[0,:,i]  np.stack([s,s])[[0,1],:,i]
    np.stack([x,x])[0,:,[0,1]]  np.interp(s[0],np.arange(4.),x[0])  np.interp(x,np.arange(4.),s[0])
    np.quantile(s,abs(x[0])/99,axis=0)  np.quantile(x,[.2,.4],0)  np.average(x,0,s[0])  np.add.reduceat(x,[0,2,1],0)
    np.sum(x,0,initial=x[0,0])  np.sum(x,0,where=s>0)  np.sum(s,0,where=y[0]>0)  np.correlate(x[0],y[1],"same")
    np.correlate(x[0,:3],y[1],"same")  np.einsum(x,[0,...],s,[1,0],[1,0])  np.tensordot(s,x,((0,1),(1,0)))
    np.dot(np.stack([x,y]),s)  np.dot(s,np.stack([x,y]))  np.inner(s[0],np.stack([x,y]))
    np.matmul(x[0],np.stack([s,s]))  np.matmul(s,np.stack([x,y]))  np.matmul(x[:,:1],s[:1])  np.stack([x,s],-2)
    np.concatenate([s,x],-2)  np.linspace(s[0],x[0,0],3,axis=1)  np.full_like(x,x[0])  np.broadcast_to(x[0],(4,4))
    np.pad(x,((1,2),))  np.subtract.outer(s[0],y)  np.argmax(x,0,keepdims=True)  np.sum(x,(),keepdims=True)
    np.diff(x,1,0,prepend=x[:1])  np.lib.stride_tricks.sliding_window_view(x,(2,2),(0,0))  np.isclose(x,s[0])
    np.clip(x,s[0],y[:,:1])  np.argmin(x,keepdims=1)
"""


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_a_first_batch_of_equal_numbers_teaches_nothing_wrong(turned):
    """Where all axes have the same length and all numbers are equal, a form that takes a wrong axis is right. And an
    empty batch, with which nothing is compared but shapes, has those of other batches."""
    rng, wrong = np.random.default_rng(0), []
    numbers = [*rng.normal(size=(3, 4, 4, 4)) * 3, rng.integers(0, 4, (4, 2)), rng.normal(size=(4, 4))]
    axes = (0, 0, 0, 0, None)
    for text in expressions(EXPRESSIONS + OF_MATRICES):
        f = eval(f"lambda x, y, m, i, s: {text}")
        mapped = af.vmap(f, axes, loop="allow")
        looping.KNOWN.clear()
        for *batches, shared in ([np.ones_like(a) for a in numbers], numbers):
            batches = [a.swapaxes(1, -1).copy().swapaxes(1, -1) if turned else a for a in batches]
            expected = outcome(functools.partial(by_loop, in_axes=axes), f, *batches, shared)
            wrong += [text] if difference(outcome(mapped, *batches, shared), expected) else []
        empty = outcome(mapped, *[a[:0] for a in batches], shared)
        if type(empty) is not BatchError and type(expected) not in (np.linalg.LinAlgError, IndexError):
            kinds = [
                [(z.shape[1:], z.dtype) for z in af.tree_leaves(zs) if hasattr(z, "shape")] for zs in (empty, expected)
            ]
            wrong += [] if kinds[0] == kinds[1] != [] else [f"{text} of nothing"]
    assert wrong == []


def test_what_all_examples_share_is_what_was_given():
    """Also after calls with others, for which the function has been compared."""
    for given in (X[0], [X[0]], {"a": [1.0]}, [], (X[1], [0])):

        def f(x, c, given=(given,)):
            return x * (2.0 if c is given[0] else 1.0)

        for c in (copy.deepcopy(given), given, copy.deepcopy(given)):
            for found in (af.vmap(f, (0, None), loop="allow")(X, c), af.vmap(f, loop="allow")(X, c=c)):
                np.testing.assert_array_equal(found, X * (2.0 if c is given else 1.0))


EVERY = {f"{name} {k}": each for calls in (CALLS, ARRAY_METHODS, UFUNC_METHODS, VARIANT_CALLS)
         for name, of_one in calls.items() for k, each in enumerate(of_one)}  # fmt: skip


@pytest.mark.parametrize("size", [2, 3, 4] if NIGHTLY else [2, 3])
@pytest.mark.parametrize("first", ["zeros", "the middle"])
def test_numbers_of_the_first_call_decide_nothing(first, size):
    """Of all calls: a form may be right for numbers that are equal, and wrong for later ones."""
    wrong, tried = [], 0
    for name, each in EVERY.items():
        rng = np.random.default_rng(1)
        values = [np.asarray(rng.uniform(*each.domain, (size, *shape))) for shape in each.shapes]
        alike = [np.full_like(v, 0.0 if first == "zeros" else np.mean(each.domain)) for v in values]
        with mock.patch.dict(looping.KNOWN, clear=True), np.errstate(all="ignore"):
            f = af.vmap(lambda *xs, each=each: each.function(*xs), loop="allow")
            try:
                f(*alike)
                found = f(*values)
            except Exception:  # not for these numbers, or of other dtypes for some: test_composed has its values
                continue
        tried += 1
        wrong += [name] if difference(np.asarray(found), by_loop(each.function, *values), 1e-12) else []
    assert wrong == []
    assert tried > 300
