"""Every public callable of NumPy is in exactly one list of ``table/outside.py``, and does there what the list says."""

import inspect
import io
import types

import numpy as np
import pytest
from support import same_bits

import autoflow as af
from autoflow.base import numbering
from autoflow.errors import LostGradientError, NoRuleError
from autoflow.forward.dispatch import METHODS
from autoflow.nodes.nodes import NodeRole, value_of
from autoflow.table import outside
from autoflow.table.outside import ALLOCATORS, BYPASS_DISPATCH, PLAIN, REFUSED, WRITERS, advice, public_name
from autoflow.table.shapes import name_out, since
from autoflow.table.table import COMPOSED, RULES

WALKED = [np, np.linalg, np.fft, np.emath, np.lib.stride_tricks, np.lib.array_utils]
LISTS = {
    "a row": RULES, "composed": COMPOSED, "ALLOCATORS": ALLOCATORS, "WRITERS": WRITERS, "PLAIN": PLAIN,
    "REFUSED": REFUSED, "BYPASS_DISPATCH": BYPASS_DISPATCH,
}  # fmt: skip


def public(space):
    """Names of a namespace and what they stand for. (getattr imports; where it need not, it may warn.)"""
    there = vars(space)
    return {n: there[n] if n in there else getattr(space, n) for n in dir(space) if not n.startswith("_")}


def callables(space):
    """Functions and ufuncs. Classes hold data, and NumPy does not ask a node when one is called."""
    no_functions = type, types.ModuleType
    return {n: f for n, f in public(space).items() if callable(f) and not isinstance(f, no_functions) and n != "test"}


def problems(space):
    """What is not in exactly one list, and what to do about it."""
    short = space.__name__.replace("numpy", "np")
    for name, function in callables(space).items():
        found = [title for title, members in LISTS.items() if function in members]
        if not found:
            yield f"{short}.{name} is new: give it a row, compose it, or list it in table/outside.py"
        if len(found) > 1:
            yield f"{short}.{name} is {' and '.join(found)}: take it out of all but one, in table/outside.py"


def ordered(functions):
    return sorted(functions, key=public_name)


def asks(function):
    """Does NumPy ask the arguments' classes before it runs this function?"""
    return isinstance(function, np.ufunc) or hasattr(function, "_implementation")


# -- the lists --------------------------------------------------------------------------------------------------------

walk = pytest.mark.parametrize("space", WALKED, ids=lambda space: space.__name__)


@walk
def test_every_callable_is_in_exactly_one_list(space):
    assert not list(problems(space))


@walk
def test_unseen_are_those_that_numpy_does_not_ask_about(space):
    for name, function in callables(space).items():
        assert (function in BYPASS_DISPATCH) == (not asks(function)), name


def test_what_is_in_no_list_or_in_two_is_noticed(monkeypatch):
    monkeypatch.setattr(np.linalg, "brand_new", lambda x: x, raising=False)
    new = "np.linalg.brand_new is new: give it a row, compose it, or list it in table/outside.py"
    assert list(problems(np.linalg)) == [new]
    monkeypatch.setitem(LISTS, "REFUSED", {**REFUSED, np.sin: ""})
    twice = "np.sin is a row and REFUSED: take it out of all but one, in table/outside.py"
    assert list(problems(np)) == [twice]


def namespaces(space=np):
    """The public namespaces of NumPy, by name."""
    found = {thing.__name__: thing for thing in public(space).values() if isinstance(thing, types.ModuleType)}
    if space is np:
        found |= namespaces(np.lib)
    return {name: module for name, module in found.items() if name.startswith("numpy.") and "._" not in name}


def test_every_namespace_is_walked_or_out_of_scope():
    walked = {space.__name__ for space in WALKED}
    new = set(namespaces()) - walked - set(outside.OUT_OF_SCOPE)
    assert not new, f"{new} is new: walk it here, or list it with a reason in OUT_OF_SCOPE of table/outside.py"
    assert not walked & set(outside.OUT_OF_SCOPE)


ALIASES = """max=amax min=amin round=around concatenate=concat transpose=permute_dims power=pow absolute=abs
    invert=bitwise_not invert=bitwise_invert left_shift=bitwise_left_shift right_shift=bitwise_right_shift
    conjugate=conj divide=true_divide remainder=mod degrees=rad2deg radians=deg2rad
    arcsin=asin arccos=acos arctan=atan arctan2=atan2 arcsinh=asinh arccosh=acosh arctanh=atanh"""


@pytest.mark.parametrize("names", ALIASES.split())
def test_aliases_are_in_the_same_list(names):
    one, other = [getattr(np, name) for name in names.split("=")]
    for members in LISTS.values():
        assert (one in members) == (other in members)


# -- plain results ----------------------------------------------------------------------------------------------------

# f: the function; x: a matrix, v: a vector, s: a number (Variables); n: integers, b: booleans (Constants).
# A function that is not here is called f(x).
CALLS = {
    "allclose": "f(x, [x[0].value, x[1]], equal_nan=True)", "argpartition": "f(v, 2)", "array_equal": "f(x, x)",
    "array_equiv": "f(v, [v, v])", "bincount": "f(n[0], minlength=5, weights=[1.0, 0.5, 2.0])", "bitwise_count": "f(n)",
    "can_cast": "f(x.dtype, np.float32)", "diag_indices_from": "f(x[:, :2])", "digitize": "f(x, [s, s + 1])",
    "einsum_path": "f('ij,kj', x, x)", "gcd": "f(n, n[0])", "histogram": "f(v, bins=[-1.0, 0.0, s])",
    "histogram_bin_edges": "f(v, 3)", "in1d": "f(v, [s])", "invert": "f(b)", "isclose": "f(x, s)",
    "isin": "f(x, [s, 0.5])",
    "isnat": "None",  # asks about dates, which no node holds
    "ix_": "f(n[0], b[1])", "lcm": "f(n, n[0])", "left_shift": "f(n, n[0])", "lexsort": "f((v, v))",
    "matrix_rank": "f(x[:, :2])", "may_share_memory": "f(x, x[1])", "nanargmax": "f(x, axis=1)",
    "packbits": "f(b, axis=1)", "ravel_multi_index": "f((n[0], n[1]), (8, 8))", "result_type": "f(x, n)",
    "right_shift": "f(n, n[0])", "save": "written(f, x)", "savetxt": "written(f, x)", "savez": "written(f, x, name=v)",
    "savez_compressed": "written(f, x, name=v)", "searchsorted": "f([0.0, 1.0], v)", "shares_memory": "f(x, x[1])",
    "unpackbits": "f(b * np.uint8(1))", "unravel_index": "f(n, (4, 4))",
}  # fmt: skip


def call_of(function):
    """An expression with ``f``, see CALLS."""
    if isinstance(function, np.ufunc) and function.nin == 2 and function.__name__ not in CALLS:
        return "f(n, n[0])" if "bitwise" in function.__name__ else "f(x, s)"
    return CALLS.get(function.__name__, "f(x)")


def written(function, x, **options):
    """What a function writes to a file."""
    file = io.BytesIO()
    function(file, x, **options)
    if not file.getvalue().startswith(b"PK"):
        return file.getvalue()
    file.seek(0)  # a zip file: it has the time in it
    return list(np.load(file).items())


def parts(z):
    """What a result consists of, down to arrays and numbers."""
    return [p for part in z for p in parts(part)] if isinstance(z, (tuple, list)) else [z]


def made_by(expression, function, names):
    """The value of an expression, and how many nodes and records it makes."""
    before = numbering.now()
    return eval(expression, {"f": function, "np": np, "written": written, **names}), numbering.now() - before


@pytest.mark.filterwarnings("ignore:`in1d`:DeprecationWarning")
@pytest.mark.parametrize("function", ordered(PLAIN), ids=public_name)
def test_plain_result(function):
    call = call_of(function)
    x, n = np.array([[0.5, -1.5, 2.5], [2.0, 0.5, np.nan]]), np.array([[3, 0, 2], [1, 7, 5]])
    names = {"x": af.Variable(x), "v": af.Variable([0.5, 2.0, -1.0, 2.0]), "s": af.Variable(2.0)}
    names |= {"n": af.Constant(n), "b": af.Constant(n > 2)}

    def on_plain(*args, **options):
        return function(*value_of(args), **{k: value_of(v) for k, v in options.items()})

    numpys, _ = made_by(call, on_plain, names)
    _, by_arguments = made_by(call, lambda *args, **options: None, names)
    ours, made = made_by(call, function, names)
    assert made == by_arguments
    assert not any(isinstance(p, NodeRole) for p in parts(ours))
    for p, q in zip(parts(ours), parts(numpys), strict=True):
        assert type(p) is type(q)
        np.testing.assert_array_equal(p, q)


def test_out_and_where_of_plain_ufuncs():
    x, out = af.Variable([1.0, 2.0, 3.0]), np.zeros(3, bool)
    assert np.less(x, 2.5, out=out) is out
    assert out.tolist() == [True, True, False]
    np.greater(x, 0.0, out=out, where=x > 2.5)
    assert out.tolist() == [True, True, True]
    where = af.Constant([True, False, True])  # a node that only says where
    assert np.all(x, where=where)
    assert np.sum(x.value, where=where) == 4.0
    assert np.multiply.reduce(x.value, where=where) == 3.0
    assert af.grad(lambda x: x.sum(where=where))(x.value).tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("call", [
    lambda x, t: np.subtract(x, 0.3, dtype=t), lambda x, t: np.exp(x, dtype=t),
    lambda x, t: np.hypot([1, 2, 3], x, dtype=t), lambda x, t: np.multiply(x, x, dtype=t),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64, "f2", np.longdouble])
def test_dtype_of_a_ufunc_is_that_in_which_it_computes(call, dtype):
    for start in (np.float64, np.float32):
        x = af.Variable(np.array([0.5, 1.5, 2.5], start))
        z, numpys = call(x, dtype), call(x.value, dtype)
        assert z.dtype == numpys.dtype
        np.testing.assert_array_equal(z.value, numpys, strict=True)
        z.sum().backward()
        above, below = [call(x.value.astype(float) + step, np.float64) for step in (1e-6, -1e-6)]
        np.testing.assert_allclose(x.grad, (above - below) / 2e-6, rtol=1e-2)
        assert x.grad.dtype == start


def test_other_dtypes_of_a_ufunc_are_refused():
    for ufunc, args, dtype in ((np.add, (1.0, 1), int), (np.absolute, (1j,), float), (np.add, (1j, 1), float)):
        with pytest.raises(NoRuleError, match="not with dtype="):
            ufunc(af.Variable(args[0]), *args[1:], dtype=dtype)


@pytest.mark.parametrize("call", [
    lambda x: np.less(x, 0.0, out=x), lambda x: np.isnan(0.0, out=x), lambda x: np.logical_and.reduce(x, out=x[0]),
    lambda x: np.all(x, out=x[0]), lambda x: np.argmax(x, 0, af.Constant(0)),
])  # fmt: skip
def test_plain_results_are_not_written_into_nodes(call):
    x = af.Variable([1.0, 2.0]) * 1.0
    with pytest.raises(NoRuleError, match=r"so out= must be a plain array. To write it into a node: a\[...\] = result"):
        call(x)
    assert x.value.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("function", ordered(PLAIN), ids=public_name)
def test_places_of_out(function):
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # not even NumPy knows
        return
    asked_by_place = "out" in names and not isinstance(function, np.ufunc)  # of ufuncs NumPy always tells it by name
    found = name_out(function, tuple(range(9)), {})[1].get("out")  # what stands there
    assert found == (names.index("out") if asked_by_place else None)


# -- arrays to be filled, and functions that write --------------------------------------------------------------------


@pytest.mark.parametrize("function", ordered(ALLOCATORS), ids=public_name)
@pytest.mark.parametrize("options", [{}, {"dtype": np.float32}, {"shape": (2, 2)}], ids=str)
def test_fresh_arrays_remember_what_is_written_into_them(function, options):
    x = af.Variable([1.0, 2.0, 3.0])
    z, numpys = function(x, **options), function(x.value, **options)
    assert isinstance(z, af.Constant)
    assert (z.dtype, z.shape) == (numpys.dtype, numpys.shape)
    if function is not np.empty_like:
        np.testing.assert_array_equal(z.value, numpys)
    z[0] = x[1] * x[1]
    np.sum(z[0]).backward()
    assert x.grad.tolist() == [0.0, 4.0 * np.size(z[0]), 0.0]


@pytest.mark.parametrize("options", [{}, {"dtype": np.float32}, {"dtype": int}, {"shape": (3, 2)}], ids=str)
@pytest.mark.parametrize("fill", [2.5, -0.0, [1.0, 2.0], af.Constant(1.5)], ids=str)
def test_full_like_of_plain_numbers(fill, options):
    x = af.Variable([[1.0, 2.0], [3.0, 4.0]])
    z, numpys = np.full_like(x, fill, **options), np.full_like(x.value, value_of(fill), **options)
    assert isinstance(z, af.Constant)
    assert same_bits(z.value, numpys)
    assert z._value.flags.writeable


def test_full_like_of_a_node():
    x, s = af.Variable([[1.0, 2.0], [3.0, 4.0]]), af.Variable([1.0, 2.0])
    narrow = np.full_like(x, s[0], dtype=np.float32, shape=(3,))
    assert narrow.dtype == np.float32
    for z, total in ((np.full_like(x, s), [2, 2]), (narrow, [5, 2]), (np.full_like(x, [s[0], 1.0]), [7, 2])):
        z.sum().backward()
        assert s.grad.tolist() == total
    assert x.grad is None


# -- refused ----------------------------------------------------------------------------------------------------------


def generic_call(function, x):
    """A call with ``x`` wherever an argument is required: NumPy asks before it looks at them."""
    for n in range(1, 5):
        try:
            return function(*[x] * n)
        except NoRuleError:
            raise
        except TypeError:  # it takes more
            pass
    raise AssertionError(f"{function} was not called")


@pytest.mark.parametrize("function", ordered(REFUSED), ids=public_name)
def test_refused_with_name_and_advice(function):
    with pytest.raises(NoRuleError) as caught:
        generic_call(function, af.Variable([[2.0, 1.0], [1.0, 3.0]]))
    assert str(caught.value) == (
        f"{public_name(function)} of a node is not differentiated: {REFUSED[function]}. "
        f"For the numbers alone use x.value"
    )


def untold(a):
    """A function that nobody has heard of."""
    return a


UNKNOWN = {
    r"np\.strings\.upper": np.strings.upper, r"np\.char\.equal": np.char.equal,
    r"np\.strings\.isalpha": np.strings.isalpha, r"untold \(vectorized\)": np.frompyfunc(untold, 1, 1),
    r".*untold": lambda x: x.__array_function__(untold, (type(x),), (x,), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_in_no_list_does_not_fall_through(name):
    with pytest.raises(NoRuleError, match=f"^{name} of a node is not differentiated: .*For the numbers alone"):
        generic_call(UNKNOWN[name], af.Variable([1.0]))


def test_vectorize_is_refused():
    with pytest.raises((NoRuleError, LostGradientError)):  # NumPy 2.3 gives the function copies without a history
        np.vectorize(untold)(af.Variable([1.0]))


LIKE = {
    "arange": (3,), "array": ([1.0],), "asanyarray": ([1.0],), "asarray": ([1.0],), "ascontiguousarray": ([1.0],),
    "asfortranarray": ([1.0],), "empty": (3,), "eye": (3,), "frombuffer": (b"12345678",), "fromfile": ("no file",),
    "fromfunction": (abs, (3,)), "fromiter": ([1.0], float), "fromstring": ("1",), "full": (3, 1.0),
    "genfromtxt": (["1"],), "identity": (3,), "loadtxt": (["1"],), "ones": (3,), "require": ([1.0],), "tri": (3,),
    "zeros": (3,),
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE)
def test_like_is_refused_with_advice(name):
    assert getattr(np, name) in outside.CONSTRUCTORS
    # with a name: np.frombuffer(..., like=) of NumPy 2.3 to 2.5 crashes with any subclass without
    x = af.Variable([1.0])
    with pytest.raises(NoRuleError, match=f"np.{name} of a node is not differentiated: like= needs no node"):
        getattr(np, name)(*LIKE[name], like=x)


# -- methods of ufuncs ------------------------------------------------------------------------------------------------

ARGUMENTS = {"reduce": (), "accumulate": (), "outer": ([2, 1],), "reduceat": ([0, 2],), "at": ([0], 1)}
FLOATS, INTEGERS = [0.5, 1.5, 1.25], [3, 5, 1]


def method_works(ufunc, method, values):
    """Does NumPy have this method of this ufunc?"""
    try:
        getattr(ufunc, method)(np.array(values), *ARGUMENTS[method])
    except (TypeError, ValueError, RuntimeError):
        return False
    return True


CASES = [
    (ufunc, method, values)
    for ufunc in ordered({f for f in vars(np).values() if isinstance(f, np.ufunc)})
    for method in ARGUMENTS
    for values in [next((v for v in (FLOATS, INTEGERS) if method_works(ufunc, method, v)), None)]
    if values
]


@pytest.mark.parametrize(("ufunc", "method", "values"), CASES, ids=[public_name(u, m) for u, m, _ in CASES])
def test_method_of_a_ufunc_is_recorded_or_plain_or_refused_by_name(ufunc, method, values):
    x = (af.Constant if values is INTEGERS else af.Variable)(values)
    if method == "at" and (ufunc in RULES or values is INTEGERS):  # where there is no gradient, as NumPy does it
        a, plain = af.Constant(values), np.array(values)
        for array in (a, plain):
            ufunc.at(array, [0], *ARGUMENTS["at"][1:])
        np.testing.assert_array_equal(a.value, plain)
    elif ufunc in METHODS.get(method, ()) or (ufunc in PLAIN and method != "at"):
        z = getattr(ufunc, method)(x, *ARGUMENTS[method])
        assert isinstance(z, af.Operation) == (ufunc not in PLAIN)
        np.testing.assert_array_equal(value_of(z), getattr(ufunc, method)(x.value, *ARGUMENTS[method]))
    elif values is INTEGERS:
        z = getattr(ufunc, method)(x, *ARGUMENTS[method])
        np.testing.assert_array_equal(z, getattr(ufunc, method)(x.value, *ARGUMENTS[method]), strict=True)
    else:
        with pytest.raises(NoRuleError) as caught:
            getattr(ufunc, method)(x, *ARGUMENTS[method])
        assert str(caught.value).startswith(f"np.{ufunc.__name__}.{method} ")
        assert outside.BY_METHOD[method].format(name=ufunc.__name__) in str(caught.value)
        assert x.value.tolist() == values


# -- the advice is right ----------------------------------------------------------------------------------------------

Y = [0.5, 1.0, 2.0, 0.75, 4.0]


@pytest.mark.parametrize(("method", "numpys", "instead"), [
    ((np.multiply, "outer"), lambda x: np.multiply.outer(x, Y), "np.multiply(x[:, None], y)"),
    ((np.add, "reduceat"), lambda x: np.add.reduceat(x, [0, 2]),
     "np.stack([x[i:j].sum() for i, j in zip(starts, ends)])"),
])  # fmt: skip
def test_the_advice_gives_what_numpy_gives(method, numpys, instead):
    x = af.Variable([1.5, -0.5, 3.0, 2.0, 0.25])
    z = eval(instead, {"np": np, "x": x, "y": Y, "starts": [0, 2], "ends": [2, 5]})
    assert instead in advice(*method)
    assert isinstance(z, af.Operation)
    np.testing.assert_allclose(z.value, numpys(x.value), rtol=1e-12, atol=1e-12)


def test_there_is_advice_for_everything():
    for function in [*RULES, *COMPOSED, *PLAIN, *BYPASS_DISPATCH, *WRITERS, *REFUSED, len]:
        assert advice(function).endswith(". For the numbers alone use x.value")


# -- never asked ------------------------------------------------------------------------------------------------------


def test_some_makers_keep_only_numbers_and_questions_about_nodes_are_answered():
    x = af.Variable([1.0, 2.0])
    for z in (np.asarray(x), np.array(x), np.full((2, 2), x), np.asfortranarray(x)):
        assert type(z) is np.ndarray
    assert np.asanyarray(x) is x
    assert (np.isscalar(x), np.iterable(x), np.isfortran(x)) == (False, True, False)
    assert np.format_float_positional(x[0]) == "1."


@pytest.mark.filterwarnings("ignore:`row_stack`:DeprecationWarning", "ignore:`trapz`:DeprecationWarning")
def test_functions_written_with_functions_that_ask_are_recorded():
    x = af.Variable([1.0, 2.0])
    for name, given in {"row_stack": [x, x], "trapz": x}.items():
        assert (name in vars(np)) == (not since("2.5" if name == "row_stack" else "2.4"))
        assert name not in vars(np) or isinstance(getattr(np, name)(given), af.Operation)
