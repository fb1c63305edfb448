"""Every public callable of NumPy is in exactly one list of ``rules/outside.py``, and does there what the list says."""

import inspect
import io
import types

import numpy as np
import pytest

import autoflow as af
from autoflow import numbering
from autoflow.errors import NoRuleError
from autoflow.nodes import NodeRole, value_of
from autoflow.rules import outside
from autoflow.rules.outside import ABOUT, FRESH, MAKERS, OUT_OF_SCOPE, PLAIN, REFUSED, UNSEEN, WRITERS, advice
from autoflow.rules.table import COMPOSED, RULES

WALKED = [np, np.linalg, np.fft, np.emath, np.lib.stride_tricks, np.lib.array_utils]
LISTS = {
    "a row": RULES, "composed": COMPOSED, "FRESH": FRESH, "WRITERS": WRITERS, "PLAIN": PLAIN, "REFUSED": REFUSED,
    "UNSEEN": UNSEEN,
}  # fmt: skip


def public(space):
    """Names of a namespace and what they stand for. (getattr imports; where it need not, it may warn.)"""
    there = vars(space)
    return {n: there[n] if n in there else getattr(space, n) for n in dir(space) if not n.startswith("_")}


def callables(space):
    """Functions and ufuncs. Classes hold data, and NumPy does not ask a node when one is called."""
    return {
        name: thing
        for name, thing in public(space).items()
        if callable(thing) and not isinstance(thing, type | types.ModuleType) and name != "test"
    }


def problems(space):
    """What is not in exactly one list, and what to do about it."""
    short = space.__name__.replace("numpy", "np").replace("np.lib.scimath", "np.emath")
    for name, function in callables(space).items():
        found = [title for title, members in LISTS.items() if function in members]
        if not found:
            yield f"{short}.{name} is new: give it a row, compose it, or list it in rules/outside.py"
        if len(found) > 1:
            yield f"{short}.{name} is {' and '.join(found)}: take it out of all but one, in rules/outside.py"


def id_of(function):
    return outside.public_name(function)


def ordered(functions):
    return sorted(functions, key=id_of)


# -- the lists --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", WALKED, ids=lambda space: space.__name__)
def test_every_callable_is_in_exactly_one_list(space):
    assert not list(problems(space))


def test_a_new_function_is_noticed(monkeypatch):
    monkeypatch.setattr(np.linalg, "brand_new", lambda x: x, raising=False)
    assert list(problems(np.linalg)) == [
        "np.linalg.brand_new is new: give it a row, compose it, or list it in rules/outside.py"
    ]


def test_a_row_for_a_refused_function_is_noticed(monkeypatch):
    function = next(iter(f for f in REFUSED if f in vars(np).values()))
    monkeypatch.setitem(RULES, function, None)
    (problem,) = problems(np)
    assert problem.endswith("is a row and REFUSED: take it out of all but one, in rules/outside.py")


def namespaces(space=np):
    """All public namespaces of NumPy, by name."""
    found = {thing.__name__: thing for thing in public(space).values() if isinstance(thing, types.ModuleType)}
    if space is np:
        found |= namespaces(np.lib)
    return {name: module for name, module in found.items() if name.startswith("numpy.") and "._" not in name}


def test_every_namespace_is_walked_or_out_of_scope():
    walked = {space.__name__ for space in WALKED}
    new = set(namespaces()) - walked - set(OUT_OF_SCOPE)
    assert not new, f"{new} is new: walk it here, or list it with a reason in OUT_OF_SCOPE of rules/outside.py"
    assert not walked & set(OUT_OF_SCOPE)


@pytest.mark.parametrize(
    "names", ["max amax", "min amin", "round around", "concatenate concat", "transpose permute_dims", "power pow",
              "abs absolute", "invert bitwise_not bitwise_invert", "left_shift bitwise_left_shift", "conj conjugate",
              "divide true_divide", "arcsin asin", "remainder mod"],
)  # fmt: skip
def test_aliases_are_in_the_same_list(names):
    functions = [getattr(np, name) for name in names.split()]
    assert len({title for f in functions for title, members in LISTS.items() if f in members}) == 1


def asks(function):
    """Does NumPy ask the arguments' classes before it runs this function?"""
    return isinstance(function, np.ufunc) or hasattr(function, "_implementation")


@pytest.mark.parametrize("space", WALKED, ids=lambda space: space.__name__)
def test_unseen_are_those_that_numpy_does_not_ask_about(space):
    for name, function in callables(space).items():
        assert (function in UNSEEN) == (not asks(function)), name


# -- plain results ----------------------------------------------------------------------------------------------------

X = np.array([[0.5, -1.5, 2.5], [2.0, 0.5, np.nan]])
N = np.array([[3, 0, 2], [1, 7, 5]])


def leaves():
    """A matrix, a vector, a number; integers; booleans."""
    return af.Variable(X), af.Variable([0.5, 2.0, -1.0, 2.0]), af.Variable(2.0), af.Constant(N), af.Constant(N > 2)


# Calls of those that do not take one matrix, or are no ufunc of two numbers: x matrix, v vector, s number, n integers, b booleans.
CALLS = {
    "allclose": lambda f, x, v, s, n, b: f(x, [x[0].value, x[1]], equal_nan=True),
    "array_equal": lambda f, x, v, s, n, b: f(x, x),
    "array_equiv": lambda f, x, v, s, n, b: f(v, [v, v]),
    "bincount": lambda f, x, v, s, n, b: f(n[0], minlength=5, weights=[1.0, 0.5, 2.0]),
    "bitwise_count": lambda f, x, v, s, n, b: f(n),
    "can_cast": lambda f, x, v, s, n, b: f(x, np.float32),
    "diag_indices_from": lambda f, x, v, s, n, b: f(x[:, :2]),
    "digitize": lambda f, x, v, s, n, b: f(x, [s, af.Variable(3.0)]),
    "einsum_path": lambda f, x, v, s, n, b: f("ij,kj", x, x),
    "histogram": lambda f, x, v, s, n, b: f(v, bins=[-1.0, 0.0, s]),
    "histogram2d": lambda f, x, v, s, n, b: f(v, v, bins=2),
    "histogram_bin_edges": lambda f, x, v, s, n, b: f(v, 3),
    "histogramdd": lambda f, x, v, s, n, b: f((v, v), 2),
    "in1d": lambda f, x, v, s, n, b: f(v, [s]),
    "invert": lambda f, x, v, s, n, b: f(b),
    "isin": lambda f, x, v, s, n, b: f(x, [s, 0.5]),
    "isnat": lambda f, x, v, s, n, b: None,  # of dates only, which no node holds
    "ix_": lambda f, x, v, s, n, b: f(n[0], b[1]),
    "lexsort": lambda f, x, v, s, n, b: f((v, v)),
    "logical_not": lambda f, x, v, s, n, b: f(x),
    "may_share_memory": lambda f, x, v, s, n, b: f(x, x[1]),
    "nanargmax": lambda f, x, v, s, n, b: f(x, axis=1),
    "packbits": lambda f, x, v, s, n, b: f(b, axis=1),
    "ravel_multi_index": lambda f, x, v, s, n, b: f((n[0], n[1]), (8, 8)),
    "result_type": lambda f, x, v, s, n, b: f(x, n),
    "save": lambda f, x, v, s, n, b: written(f, x),
    "savetxt": lambda f, x, v, s, n, b: written(f, x),
    "savez": lambda f, x, v, s, n, b: written(f, x, name=v),
    "savez_compressed": lambda f, x, v, s, n, b: written(f, x, name=v),
    "searchsorted": lambda f, x, v, s, n, b: f([0.0, 1.0], v),
    "shares_memory": lambda f, x, v, s, n, b: f(x, x[1]),
    "unpackbits": lambda f, x, v, s, n, b: f(af.Constant(np.array([3, 5], np.uint8))),
    "unravel_index": lambda f, x, v, s, n, b: f(n, (4, 4)),
}
for _name in "argpartition".split():
    CALLS[_name] = lambda f, x, v, s, n, b: f(v, 2)
for _name in "isclose equal greater greater_equal less less_equal not_equal logical_and logical_or logical_xor".split():
    CALLS[_name] = lambda f, x, v, s, n, b: f(x, s)
for _name in "bitwise_and bitwise_or bitwise_xor gcd lcm left_shift right_shift".split():
    CALLS[_name] = lambda f, x, v, s, n, b: f(n, n[0])


def written(function, x, **options):
    """The bytes that a function writes to a file, without the time in a zip file."""
    file = io.BytesIO()
    function(file, x, **options)
    if not file.getvalue().startswith(b"PK"):
        return file.getvalue()
    file.seek(0)
    return list(np.load(file).items())


def parts(z):
    """What a result consists of, down to arrays and numbers."""
    return [p for part in z for p in parts(part)] if isinstance(z, (tuple, list)) else [z]


def on_plain(function):
    """The same function for plain values, so that a call can be repeated without nodes."""
    return lambda *args, **options: function(*value_of(args), **{k: value_of(v) for k, v in options.items()})


def made_by(call, function, nodes):
    """The result of a call, and how many nodes and records were made meanwhile."""
    before = numbering.now()
    return call(function, *nodes), numbering.now() - before


@pytest.mark.filterwarnings("ignore:`in1d`:DeprecationWarning")
@pytest.mark.parametrize("function", ordered(PLAIN), ids=id_of)
def test_plain_result(function):
    call = CALLS.get(function.__name__, lambda f, x, v, s, n, b: f(x))
    nodes = leaves()
    expected, _ = made_by(call, on_plain(function), nodes)
    _, by_arguments = made_by(call, lambda *args, **options: None, nodes)
    z, made = made_by(call, function, nodes)
    assert made == by_arguments
    assert not any(isinstance(p, NodeRole) for p in parts(z))
    assert len(parts(z)) == len(parts(expected))
    for ours, numpys in zip(parts(z), parts(expected), strict=True):
        assert type(ours) is type(numpys)
        np.testing.assert_array_equal(ours, numpys)


def test_out_and_where_of_plain_ufuncs():
    x, out = af.Variable([1.0, 2.0, 3.0]), np.zeros(3, bool)
    assert np.less(x, 2.5, out=out) is out
    assert out.tolist() == [True, True, False]
    np.greater(x, 0.0, out=out, where=x > 1.5)
    assert out.tolist() == [True, True, True]
    assert np.all(x, where=af.Constant([True, False, True]))


def test_methods_of_plain_ufuncs():
    x = af.Variable([1.0, 2.0, 0.0])
    assert np.less.outer(x, x).tolist() == np.less.outer(x.value, x.value).tolist()
    assert np.logical_and.reduce(x) is np.False_
    assert np.logical_or.accumulate(x).tolist() == [True, True, True]
    assert np.logical_or.reduceat(x, [0, 2]).tolist() == [True, False]


@pytest.mark.parametrize(
    "call",
    [lambda x: np.less(x, 0.0, out=x), lambda x: np.logical_and.reduce(x, out=x[0]), lambda x: np.all(x, out=x[0]),
     lambda x: np.argmax(x, 0, af.Constant(0)), lambda x: np.isnan(0.0, out=x)],
)  # fmt: skip
def test_plain_results_are_not_written_into_nodes(call):
    x = af.Variable([1.0, 2.0]) * 1.0
    with pytest.raises(NoRuleError, match=r"so out= must be a plain array. To write it into a node: a\[...\] = result"):
        call(x)
    assert x.value.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "call",
    [lambda i, w: np.bincount(i, w), lambda i, w: np.histogram(i, weights=w), lambda i, w: np.histogram(i, 2, None, False, w),
     lambda i, w: np.histogram2d(i, i, weights=w), lambda i, w: np.histogramdd((i, i), weights=w),
     lambda i, w: np.bincount(i, [w[0], 1.0, w[2]])],
)  # fmt: skip
def test_sums_of_weights_with_a_gradient_are_refused(call):
    i = af.Constant([0, 1, 1])
    with pytest.raises(NoRuleError, match=r"with weights \(w\) it is a sum"):
        call(i, af.Variable([1.0, 2.0, 3.0]))
    call(i, af.Constant([1.0, 2.0, 3.0]))


# -- arrays to be filled ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ordered(FRESH), ids=id_of)
@pytest.mark.parametrize("options", [{}, {"dtype": np.float32}, {"shape": (2, 2)}], ids=str)
def test_fresh_arrays_remember_what_is_written_into_them(function, options):
    x = af.Variable([1.0, 2.0, 3.0])
    z, numpys = function(x, **options), function(x.value, **options)
    assert isinstance(z, af.Constant)
    assert (z.dtype, z.shape) == (numpys.dtype, numpys.shape)
    if function is not np.empty_like:
        np.testing.assert_array_equal(z.value, numpys)
    z[0] = x[1] * x[1]
    assert isinstance(z, af.Operation)
    np.sum(z[0]).backward()
    assert x.grad[1] == 4.0 * np.size(z[0])


@pytest.mark.parametrize("options", [{}, {"dtype": np.float32}, {"dtype": int}, {"shape": (2, 2)}], ids=str)
@pytest.mark.parametrize("fill", [2.5, -0.0, [1.0, 2.0], af.Constant(1.5)], ids=str)
def test_full_like_of_plain_numbers(fill, options):
    x = af.Variable([[1.0, 2.0], [3.0, 4.0]])
    z, numpys = np.full_like(x, fill, **options), np.full_like(x.value, value_of(fill), **options)
    assert isinstance(z, af.Constant)
    assert z.dtype == numpys.dtype
    assert z.value.tobytes() == numpys.tobytes()
    assert z.value.flags.writeable


def test_full_like_of_a_node():
    x, s = af.Variable([[1.0, 2.0], [3.0, 4.0]]), af.Variable([1.0, 2.0])
    np.full_like(x, s).sum().backward()
    assert s.grad.tolist() == [2.0, 2.0]
    z = np.full_like(x, s[0], dtype=np.float32, shape=(3,))
    assert z.dtype == np.float32
    z.sum().backward()
    assert s.grad.tolist() == [5.0, 2.0]
    assert x.grad is None
    with pytest.raises(NoRuleError, match=r"make one node of it first, af.array"):
        np.full_like(x, [s[0], 1.0])


# -- refused ----------------------------------------------------------------------------------------------------------


def generic_call(function, x):
    """A call with ``x`` wherever an argument is required: NumPy asks before it looks at them."""
    if isinstance(function, np.ufunc):
        return function(*[x] * function.nin)
    needed = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return function(*[x] * max(len(needed), 1))


@pytest.mark.parametrize("function", ordered(REFUSED), ids=id_of)
def test_refused_with_name_and_advice(function):
    with pytest.raises(NoRuleError) as caught:
        generic_call(function, af.Variable([[2.0, 1.0], [1.0, 3.0]]))
    assert f"{outside.public_name(function)} of a node is not differentiated: " in str(caught.value)
    assert REFUSED[function] in str(caught.value)
    assert str(caught.value).endswith("For the numbers alone use x.value")


@pytest.mark.parametrize(
    ("function", "name"),
    [(np.vectorize(lambda a: a), r"<lambda> \(vectorized\)"), (np.frompyfunc(lambda a: a, 1, 1), r"<lambda> \(vectorized\)"),
     (np.strings.upper, "np.strings.upper"), (np.char.equal, "np.char.equal"), (np.strings.isalpha, "np.strings.isalpha")],
)  # fmt: skip
def test_unknown_functions_do_not_fall_through(function, name):
    with pytest.raises(NoRuleError, match=name + " of a node is not differentiated"):
        generic_call(function, af.Variable([1.0]))


def test_an_unknown_function_of_another_library():
    class Duck:
        __module__ = "ducks"

        def __call__(self, x):
            return x.__array_function__(self, (type(x),), (x,), {})

    with pytest.raises(NoRuleError, match="write it with functions that have a derivative"):
        Duck()(af.Variable([1.0]))


LIKE = {
    "arange": (3,), "array": ([1.0],), "asanyarray": ([1.0],), "asarray": ([1.0],), "ascontiguousarray": ([1.0],),
    "asfortranarray": ([1.0],), "empty": (3,), "eye": (3,), "frombuffer": (b"12345678",), "fromfile": ("no file",),
    "fromfunction": (abs, (3,)), "fromiter": ([1.0], float), "fromstring": ("1",), "full": (3, 1.0),
    "genfromtxt": (["1"],), "identity": (3,), "loadtxt": (["1"],), "ones": (3,), "require": ([1.0],), "tri": (3,),
    "zeros": (3,),
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE)
def test_like_is_refused_with_advice(name):
    assert getattr(np, name) in MAKERS
    with pytest.raises(NoRuleError, match=f"np.{name} of a node is not differentiated: like= needs no node"):
        getattr(np, name)(*LIKE[name], like=af.Variable([1.0]))


# -- methods of ufuncs ------------------------------------------------------------------------------------------------

DOUBLE = sorted({f for f in vars(np).values() if isinstance(f, np.ufunc) and (f.nin, f.nout, f.signature) == (2, 1, None)}, key=id_of)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "outer", "reduceat", "at"])
@pytest.mark.parametrize("ufunc", DOUBLE, ids=id_of)
def test_method_of_a_ufunc_is_recorded_or_plain_or_refused_by_name(ufunc, method):
    x = af.Variable([0.5, 1.5, 1.25])
    rest = {"outer": (x,), "reduceat": ([0, 2],), "at": ([0], 1.0)}.get(method, ())
    integers = ufunc in PLAIN and "d" not in "".join(ufunc.types)  # gcd, bitwise_and
    first = af.Constant([3, 5, 1]) if integers else x
    try:
        z = getattr(ufunc, method)(first, *[first if r is x else r for r in rest])
    except NoRuleError as error:
        assert ufunc not in PLAIN or method == "at"
        assert f"np.{ufunc.__name__}.{method}" in str(error)
        assert outside.BY_METHOD[method].format(name=ufunc.__name__) in str(error)
        assert x.value.tolist() == [0.5, 1.5, 1.25]
        return
    except (TypeError, ValueError) as error:  # NumPy has no such reduction
        assert "reduc" in str(error) or "accumul" in str(error) or "not supported" in str(error) or "loop" in str(error)
        assert ufunc in PLAIN
        return
    numpys = getattr(ufunc, method)(first.value, *[first.value if r is x else r for r in rest])
    np.testing.assert_array_equal(value_of(z), numpys)
    assert isinstance(z, NodeRole) == (ufunc not in PLAIN)


# -- the advice is right ----------------------------------------------------------------------------------------------


V = np.array([1.5, -0.5, 3.0, 2.0, 0.25])
W = np.array([0.5, 1.0, 2.0, 0.75, 4.0])
M = np.array([[1.0, 2.5, -1.0], [0.5, 3.0, 2.0]])
GAPS = np.array([1.5, np.nan, 3.0])
K = np.arange(5)
RECIPES = {  # NumPy's call on plain arrays; what the advice says, on nodes
    np.sort: (lambda: np.sort(V), lambda v, w, m, o: v[np.argsort(v)]),
    np.median: (lambda: np.median(V), lambda v, w, m, o: v[np.argsort(v)[5 // 2]]),
    np.unique: (lambda: np.unique(V), lambda v, w, m, o: v[np.unique(v.value, return_index=True)[1]]),
    np.extract: (lambda: np.extract(V > 1, V), lambda v, w, m, o: v[v > 1]),
    np.choose: (lambda: np.choose([0, 1, 0, 1, 1], [V, W]), lambda v, w, m, o: np.stack([v, w])[[0, 1, 0, 1, 1], np.arange(5)]),
    np.insert: (lambda: np.insert(V, 2, [7.0, 8.0]), lambda v, w, m, o: np.concatenate([v[:2], [7.0, 8.0], v[2:]])),
    np.take_along_axis: (lambda: np.take_along_axis(M, np.argsort(M), -1), lambda v, w, m, o: m[np.arange(2)[:, None], np.argsort(m)]),
    np.lib.stride_tricks.sliding_window_view: (
        lambda: np.lib.stride_tricks.sliding_window_view(V, 3), lambda v, w, m, o: np.stack([v[i : i + 3] for i in range(len(v) - 3 + 1)])),
    np.diff: (lambda: np.diff(V), lambda v, w, m, o: v[1:] - v[:-1]),
    np.gradient: (lambda: np.gradient(V)[1:-1], lambda v, w, m, o: (v[2:] - v[:-2]) / 2),
    np.trapezoid: (lambda: np.trapezoid(V, dx=0.5), lambda v, w, m, o: np.sum((v[1:] + v[:-1]) / 2 * 0.5)),
    np.unwrap: (lambda: np.unwrap(4 * V), lambda v, w, m, o: 4 * v + (np.unwrap(4 * v.value) - 4 * v.value)),
    np.correlate: (lambda: np.correlate(V, W[:2]), lambda v, w, m, o: sum(w[i] * v[i : i + 4] for i in range(2))),
    np.average: (lambda: np.average(V, weights=W), lambda v, w, m, o: np.sum(w * v) / np.sum(w)),
    np.cov: (lambda: np.cov(M), lambda v, w, m, o: (m - m.mean(axis=1, keepdims=True)) @ (m - m.mean(axis=1, keepdims=True)).T / 2),
    np.nansum: (lambda: np.nansum(GAPS), lambda v, w, m, o: np.sum(o, where=~np.isnan(o))),
    np.nanvar: (lambda: np.nanvar(GAPS), lambda v, w, m, o: np.var(o, where=~np.isnan(o))),
    np.nanmax: (lambda: np.nanmax(GAPS), lambda v, w, m, o: np.max(o, where=~np.isnan(o), initial=-np.inf)),
    np.nancumprod: (lambda: np.nancumprod(GAPS), lambda v, w, m, o: np.cumprod(np.where(~np.isnan(o), o, 1))),
    np.kron: (lambda: np.kron(M, M[:, :2]), lambda v, w, m, o: np.reshape(np.einsum("ij,kl->ikjl", m, m[:, :2]), (4, 6))),
    np.vander: (lambda: np.vander(V, 4), lambda v, w, m, o: v[:, None] ** np.arange(4)[::-1]),
    np.linspace: (lambda: np.linspace(V, W, 4), lambda v, w, m, o: v + (w - v) * np.linspace(0, 1, 4)[:, None]),
    np.logspace: (lambda: np.logspace(1.5, 0.5, 4), lambda v, w, m, o: 10 ** (v[0] + (w[0] - v[0]) * np.linspace(0, 1, 4))),
    np.geomspace: (lambda: np.geomspace(1.5, 0.5, 4), lambda v, w, m, o: v[0] * (w[0] / v[0]) ** np.linspace(0, 1, 4)),
    np.linalg.diagonal: (lambda: np.linalg.diagonal(M), lambda v, w, m, o: np.diagonal(m, axis1=-2, axis2=-1)),
    np.linalg.norm: (lambda: np.linalg.norm(M, axis=1), lambda v, w, m, o: np.sqrt(np.sum(m * m, axis=1))),
    np.fft.fft: (lambda: np.fft.fft(V), lambda v, w, m, o: np.exp(-2j * np.pi / 5 * np.outer(K, K)) @ v),
    np.fft.fftshift: (lambda: np.fft.fftshift(V), lambda v, w, m, o: np.roll(v, 5 // 2)),
    np.polyval: (lambda: np.polyval(W, V), lambda v, w, m, o: horner(w, v)),
    np.bincount: (lambda: np.bincount([0, 2, 2, 1, 0], W), lambda v, w, m, o: np.sum(np.where([0, 2, 2, 1, 0] == np.arange(3)[:, None], w, 0), axis=1)),
}  # fmt: skip


def horner(coefficients, x):
    z = 0
    for a in coefficients:
        z = z * x + a
    return z


@pytest.mark.parametrize("function", ordered(RECIPES), ids=id_of)
def test_the_advice_gives_what_numpy_gives(function):
    numpys, instead = RECIPES[function]
    z = instead(*[af.Variable(values) for values in (V, W, M, GAPS)])
    assert isinstance(z, af.Operation)
    np.testing.assert_allclose(z.value, numpys(), rtol=1e-12, atol=1e-12)


def test_advice_exists_for_whatever_is_asked():
    for function in [*RULES, *PLAIN, *UNSEEN, *WRITERS, len]:
        assert advice(function).endswith(". For the numbers alone use x.value")


# -- never asked ------------------------------------------------------------------------------------------------------


def test_some_makers_keep_only_numbers():
    x = af.Variable([1.0, 2.0])
    for z in (np.asarray(x), np.array(x), np.full((2, 2), x), np.fromiter(x, float), np.asfortranarray(x)):
        assert type(z) is np.ndarray
    assert np.asanyarray(x) is x


@pytest.mark.filterwarnings("ignore:`row_stack`:DeprecationWarning", "ignore:`trapz`:DeprecationWarning")
def test_those_written_with_functions_that_ask_are_recorded():
    x = af.Variable([1.0, 2.0])
    assert isinstance(np.row_stack([x, x]), af.Operation)
    assert {np.row_stack} <= outside.WRITTEN <= {np.row_stack, vars(np).get("trapz")}


def test_about_does_not_change_the_graph():
    x = af.Variable([1.0, 2.0])
    assert not np.isscalar(x)
    assert np.iterable(x)
    assert not np.isfortran(x)
    assert np.format_float_positional(x[0]) == "1."
    assert ABOUT
