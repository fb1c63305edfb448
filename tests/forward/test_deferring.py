"""Other classes beside a node: who computes, and that no history is lost. First small classes, then libraries."""

import copy
import sys
import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import DataError, MixedArraysError, NoRuleError
from autoflow.forward.closures import has_own_hook
from autoflow.nodes import coercion
from autoflow.program import callers


class Quantity(np.lib.mixins.NDArrayOperatorsMixin):
    """Metres. Its arithmetic goes on with the array that it was given."""

    __carries_nodes__ = "content"

    def __init__(self, content, power=1):
        self.content, self.power = content, power

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.content, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc in (np.add, np.subtract, np.less) and not all(isinstance(x, Quantity) for x in inputs):
            return NotImplemented
        contents = [x.content if isinstance(x, Quantity) else x for x in inputs]
        powers = [x.power if isinstance(x, Quantity) else 0 for x in inputs]
        power = {np.multiply: sum, np.divide: lambda p: p[0] - p[-1], np.matmul: sum}.get(ufunc, max)(powers)
        return Quantity(getattr(ufunc, method)(*contents, **options), power)

    def __array_function__(self, function, types, args, options):
        if function is not np.concatenate:
            return NotImplemented
        return Quantity(np.concatenate([x.content if isinstance(x, Quantity) else x for x in args[0]]))


class Undeclared(Quantity):
    """The same, but nobody said so."""

    __carries_nodes__ = None


class Preferred:
    """No hook, only a wish to be asked by plain arrays."""

    __array_priority__ = 1000

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)

    def __array__(self, dtype=None, copy=None):
        return self.numbers

    def __rmul__(self, other):
        return "asked"


class Lossy(np.lib.mixins.NDArrayOperatorsMixin, Preferred):
    """It takes the numbers of whatever it meets."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return Lossy(getattr(ufunc, method)(*[np.asarray(x) for x in inputs], **options))


class Logged(np.ndarray):
    """A subclass of ndarray with a hook of its own, as astropy's Quantity is."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [x.view(np.ndarray) if isinstance(x, Logged) else x for x in inputs]
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(Logged)


B = np.array([2.0, 3.0])


@pytest.fixture
def x():
    return af.Variable([0.5, 1.5], name="x")


def sent(z, x):
    """The gradient of the sum."""
    return af.gradients(z.sum(), [x])[x]


@pytest.fixture(params=["Variable", "Operation", "View"])
def node(request, x):
    return {"Variable": x, "Operation": x * 1.0, "View": (x * 1.0)[:]}[request.param]


# -- a class that keeps nodes

PRODUCTS = {
    "node * q": (lambda n, q: n * q, B, 1), "q * node": (lambda n, q: q * n, B, 1),
    "node / q": (lambda n, q: n / q, 1 / B, -1), "q / node": (lambda n, q: q / n, -B / np.array([0.5, 1.5]) ** 2, 1),
    "node @ q": (lambda n, q: n @ q, B, 1), "q @ node": (lambda n, q: q @ n, B, 1),
    "np.multiply(node, q)": (np.multiply, B, 1), "np.multiply(q, node)": (lambda n, q: np.multiply(q, n), B, 1),
    "np.multiply.outer(node, q)": (np.multiply.outer, [5.0, 5.0], 1),
    "np.maximum(node, q)": (np.maximum, [0.0, 0.0], 1), "number * q": (lambda n, q: n[1] * q, [0.0, 5.0], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_class_that_keeps_nodes_is_asked(x, node, name):
    compute, slope, power = PRODUCTS[name]
    answer = compute(node, Quantity(B))
    assert type(answer) is Quantity
    assert answer.power == power
    assert isinstance(answer.content, af.Operation)
    np.testing.assert_allclose(sent(answer.content, x), slope)


@pytest.mark.parametrize("order", ["node first", "node last"])
def test_functions_ask_such_a_class(x, node, order):
    parts = [node, Quantity(B)] if order == "node first" else [Quantity(B), node]
    answer = np.concatenate(parts)
    assert type(answer) is Quantity
    slopes = sent(answer.content * np.arange(1.0, 5.0), x)
    np.testing.assert_array_equal(slopes, [1.0, 2.0] if order == "node first" else [3.0, 4.0])


def test_what_such_a_class_refuses_is_refused(node):
    """Nobody adds metres to numbers: both sides say NotImplemented, and Python or NumPy says so."""
    q = Quantity(B)
    for wrong in (
        lambda: node + q, lambda: q - node, lambda: np.add(node, q), lambda: node < q, lambda: q < node,
        lambda: np.vstack([node, q]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"unsupported operand|returned NotImplemented|no implementation found"):
            wrong()


def test_such_a_class_answers_under_autocast_too(x):
    with af.autocast():
        assert type(x @ Quantity(B)) is Quantity
        with pytest.raises(MixedArraysError):
            x @ Undeclared(B)


def test_where_numpy_asks_nobody_an_object_is_the_array_in_it(x):
    """Also one with a history: np.asarray(q) would lose it."""

    class Labelled(Quantity):
        __array_function__ = None

    labelled = Labelled(x * 2.0)
    a = af.zeros(2)
    a[...] = labelled
    assert isinstance(a, af.Operation)
    np.testing.assert_array_equal(sent(a.sum() + (af.Constant(B) * 1.0).dot(labelled), x), 2.0 + 2.0 * B)


def test_without_a_history_any_class_is_asked(x):
    for kind in (Quantity, Undeclared, Lossy):
        with af.no_grad():
            answers = [x * kind(B), np.multiply(x, kind(B))]
        for answer in (*answers, x.detach() * kind(B), np.multiply(x.detach(), kind(B))):
            assert isinstance(answer, (Quantity, Lossy))
            np.testing.assert_array_equal(np.asarray(answer), x.value * B)
    assert type(x.detach() * B.view(Logged)) is Logged


# -- a class about which nothing is known


@pytest.mark.parametrize("make", [Undeclared, Lossy, lambda a: a.view(Logged)], ids=["keeps", "takes", "subclass"])
def test_an_unknown_class_is_refused_where_a_history_would_be_lost(x, node, make):
    other = make(B)
    for refused in (
        lambda: node * other, lambda: node @ other, lambda: node**other, lambda: np.multiply(node, other),
        lambda: np.multiply.outer(node, other), lambda: np.hypot(node, other), lambda: node[0] * other,
        lambda: divmod(node, other), lambda: np.multiply(node, other, out=af.zeros(2)),
    ):  # fmt: skip
        with pytest.raises(MixedArraysError, match=r"np\.\w+ of a node and .*\.(Undeclared|Lossy|Logged)[, ]"):
            refused()
    np.testing.assert_array_equal((node * np.asarray(other)).value, x.value * B)  # what the message says


def test_the_message_says_what_to_do(node):
    with pytest.raises(MixedArraysError, match=(
        r"^np\.multiply of a node and .*test_deferring\.Lossy, a class with arithmetic of its own that is not known to "
        r"keep a node: .* np\.asarray\(y\)\. .* Lossy\.__carries_nodes__ = 'attribute that holds it'\.$"
    )):  # fmt: skip
        node * Lossy(B)


def test_an_unknown_class_in_a_function(node):
    other = Undeclared(B)
    for parts in ([node, other], (B, node, other), [node, Quantity(B), other]):
        with pytest.raises(MixedArraysError, match=r"np\.concatenate of a node.*Undeclared"):
            np.concatenate(parts)
    with pytest.raises(MixedArraysError, match=r"np\.where of a node"):
        np.where([True, False], node, other)


def test_comparisons_lose_nothing(node):
    """The other class is asked with the numbers of the node."""
    assert type(node < Lossy(B)) is Lossy
    assert type(np.greater(node, Lossy(B))) is Lossy
    np.testing.assert_array_equal((node < Lossy(B)).numbers, [True, True])
    np.testing.assert_array_equal((node >= B.view(Logged)).view(np.ndarray), [False, False])


# -- in place


@pytest.mark.parametrize("make", [Quantity, Undeclared, Lossy, lambda a: a.view(Logged)])
@pytest.mark.parametrize("recording", [True, False])
def test_in_place_nothing_of_another_class_is_written(x, make, recording):
    """Not under no_grad either: ``w -= step`` must not rebind w to an object of another class."""
    a, w = x * 1.0, af.Variable(3.0)
    with af.set_grad_enabled(recording):
        for target in (a, x, w):
            with pytest.raises(MixedArraysError, match=r"of a node and .* in place: only numbers can be written"):
                target *= make(B)
            with pytest.raises(MixedArraysError, match="in place"):
                np.multiply(target, make(B), out=target)
    with pytest.raises(MixedArraysError, match="in place"):
        np.add.at(a, [0, 1], make(B))
    np.testing.assert_array_equal(a.value, [0.5, 1.5])
    np.testing.assert_array_equal(x.value, [0.5, 1.5])


def test_a_number_is_rebound_as_python_rebinds_numbers(x):
    n = x.sum()
    n *= Quantity(B)
    assert type(n) is Quantity
    np.testing.assert_array_equal(sent(n.content, x), [5.0, 5.0])


# -- classes that stay operands


def test_a_class_with_a_priority_only_is_data(x):
    assert np.ones(2) * Preferred(B) == "asked"
    z = x * Preferred(B)
    assert isinstance(z, af.Operation)
    np.testing.assert_array_equal(sent(z + np.add(Preferred(B), x), x), B + 1)


def test_which_hooks_are_a_classs_own():
    Plain, Shy = type("Plain", (np.ndarray,), {}), type("Shy", (), {"__array_ufunc__": None})
    kinds = [Quantity, Lossy, Logged, Shy, np.ndarray, Plain, np.memmap, np.ma.MaskedArray, list, float, Preferred]
    assert [kind for kind in kinds if has_own_hook(kind, "__array_ufunc__")] == kinds[:4]
    assert [kind for kind in kinds if has_own_hook(kind, "__array_function__")] == [Quantity]


def test_a_class_of_a_library_that_wants_numbers_is_data(x):
    InPandas = type("InPandas", (Lossy,), {"__module__": "pandas.core", "__array_ufunc__": Lossy.__array_ufunc__})
    OfTheUser = type("OfTheUser", (InPandas,), {})
    for kind in (InPandas, OfTheUser):
        z = x * kind(B)
        assert isinstance(z, af.Operation)
        np.testing.assert_array_equal(sent(z, x), B)


READS = ["node.value", "node.view(Logged)", "node.view(type=Logged)"]


@pytest.mark.parametrize("read", READS)
def test_code_that_would_take_the_numbers_of_a_node_is_refused(node, read):
    def read_in(module, node):
        return eval(read, {"__name__": module, "node": node, "Logged": Logged})

    copy = np.array(node, subok=True)  # made in C, its slots are empty
    for module, reason in callers.READERS.items():
        for live in (node, copy) if "view" in read else (node,):
            with pytest.raises(MixedArraysError, match=rf"^{module} would take the numbers of .*Give it x\.value"):
                read_in(module, live)
            with af.no_grad():
                np.testing.assert_array_equal(np.asarray(read_in(module, live)), [0.5, 1.5])
        for dead in (node.detach(), np.array(node.detach(), subok=True)):
            np.testing.assert_array_equal(np.asarray(read_in(module, dead)), [0.5, 1.5])
        assert len(reason) > 10
    np.testing.assert_array_equal(np.asarray(read_in("astropy.units", node)), [0.5, 1.5])


def test_the_table_is_read_by_package_and_class():
    DataArray = type("DataArray", (), {"__module__": "xarray.core.somewhere"})
    Mine = type("Mine", (DataArray,), {})
    Other = type("DataArray", (), {"__module__": "xarrays"})
    assert [coercion.kept_in(kind) for kind in (DataArray, Mine, Other)] == ["data", "data", None]
    Mine.__carries_nodes__ = "inside"
    assert coercion.kept_in(Mine) == "inside"


# -- libraries


def imported(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own imports
        return pytest.importorskip(name)


def test_pint(x):
    Q = imported("pint").UnitRegistry().Quantity
    metres = Q(np.array([2.0, 3.0]), "m")
    for answer, slope in (
        (x * metres, B), (metres * x, B), (np.multiply(x, metres), B), (np.multiply(metres, x), B),
        (x @ metres, B), (metres @ x, B), (np.dot(x, metres), B), (x / (1 / metres), B),
        (x * metres.units, [1.0, 1.0]), (metres.units * x, [1.0, 1.0]), (x[0] * metres, [5.0, 0.0]),
    ):  # fmt: skip
        assert str(answer.units) == "meter"
        assert isinstance(answer.magnitude, af.Operation)
        np.testing.assert_allclose(sent(answer.to("cm").magnitude, x), 100 * np.asarray(slope))
    for wrong in (lambda: x + metres, lambda: metres + x, lambda: np.concatenate([x, metres]), lambda: x < metres):
        with pytest.raises(imported("pint").DimensionalityError):
            wrong()
    with pytest.raises(MixedArraysError, match="in place"):
        x *= metres
    metres *= x
    np.testing.assert_array_equal(sent(metres.magnitude, x), B)


@pytest.mark.filterwarnings("ignore")
def test_xarray(x):
    xr = imported("xarray")
    for data in (xr.DataArray(B, dims="t", coords={"t": [10, 20]}), xr.Variable("t", B)):
        for answer, slope in (
            (x * data, B), (data * x, B), (np.multiply(x, data), B), (np.multiply(data, x), B), (x - data, [1.0, 1.0]),
            (data**x, B ** [0.5, 1.5] * np.log(B)), (np.exp(data * x), B * np.exp(B * [0.5, 1.5])),
        ):  # fmt: skip
            assert type(answer) is type(data)
            assert answer.dims == ("t",)
            assert isinstance(answer.data, af.Operation)
            np.testing.assert_allclose(sent(answer.sum().data, x), slope)
        np.testing.assert_array_equal((x < data).data, [True, True])
        both = np.concatenate([x * data, x])  # a node: xarray has no __array_function__
        np.testing.assert_array_equal(sent(both, x), B + 1)
    labelled = xr.DataArray(B, dims="t", coords={"t": [20, 10]})
    for same in (labelled * x, (labelled * x).copy(deep=True), (labelled * x).sortby("t"), copy.deepcopy(labelled * x)):
        np.testing.assert_array_equal(sent(same.sum().data, x), B)
    both = x.sum() * xr.Dataset({"a": ("t", B), "b": 4.0})
    np.testing.assert_array_equal(sent(both["a"].sum().data + both["b"].data, x), [9.0, 9.0])


def test_astropy(x):
    """Its Quantity is a subclass of ndarray and keeps numbers only: refused, in either order."""
    units = imported("astropy.units")
    metres = B * units.m
    for wrong in (
        lambda: x * metres, lambda: metres * x, lambda: x[0] * metres, lambda: metres / x, lambda: x + metres,
        lambda: metres + x, lambda: np.multiply(x, metres), lambda: np.multiply(metres, x), lambda: x @ metres,
        lambda: metres @ x, lambda: np.concatenate([x, metres]), lambda: x.__imul__(metres),
        lambda: metres.__imul__(x), lambda: x * (1 * units.one),
    ):  # fmt: skip
        with pytest.raises(MixedArraysError, match=r"astropy\.units\.quantity\.Quantity"):
            wrong()
    with pytest.raises(DataError):
        x * units.m
    for wrong in (
        lambda: units.Quantity(x, "m"), lambda: np.concatenate([B * units.one, x]), lambda: np.dot(metres, x),
        lambda: np.where([True, False], B * units.one, x), lambda: np.linalg.solve(np.eye(2) * units.m, x),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"would take the numbers of|cannot handle <"):
            wrong()
    np.testing.assert_array_equal(x < B * units.one, [True, True])
    np.testing.assert_array_equal(B * units.one < x, [False, False])
    answer = x.detach() * metres
    assert (type(answer), answer.unit) == (units.Quantity, units.m)
    np.testing.assert_array_equal((x * metres.value).value, x.value * B)


@pytest.mark.filterwarnings("ignore")
def test_dask(x, monkeypatch):
    monkeypatch.setitem(sys.modules, "sparse", None)  # which Dask looks for: a folder of tests is called so
    da = imported("dask.array")
    lazy = da.from_array(B, chunks=1)
    for wrong in (lambda: x * lazy, lambda: np.multiply(x, lazy), lambda: x @ lazy, lambda: np.concatenate([x, lazy])):
        with pytest.raises(MixedArraysError, match=r"dask\.array\.core\.Array"):
            wrong()
    with pytest.raises(NoRuleError):
        lazy * x
    with imported("dask.config").set(scheduler="synchronous"):  # its threads would stay, beside other tests
        np.testing.assert_array_equal((x * np.asarray(lazy)).value, x.value * B)
    with pytest.raises(DataError, match=r"^array\.view\(cls\) of a dask\.array\.core\.Array "):
        af.backends.register(da.Array, from_numpy=da.from_array, to_numpy=np.asarray)
    assert da.Array not in af.backends.NODE_TYPES


def test_pandas(x):
    pd = imported("pandas")
    weights = pd.Series(B)
    for z in (x * weights, np.multiply(x, weights), x[...] * weights, x * pd.Index(B), x @ weights):
        assert isinstance(z, af.Operation)
        np.testing.assert_array_equal(sent(z, x), B)
    assert type(x < weights) is pd.Series
    a = x * 1.0
    a *= weights
    np.testing.assert_array_equal(sent(a, x), B)


@pytest.mark.parametrize("transform", [af.compile, af.vmap, lambda f: af.compile(af.vmap(f))])
def test_under_other_transforms_it_computes_too(transform):
    found = transform(lambda x: (np.multiply(x, Quantity(3.0)) / Quantity(2.0)).content)(np.ones(2))
    np.testing.assert_array_equal(found, [1.5, 1.5], strict=True)
