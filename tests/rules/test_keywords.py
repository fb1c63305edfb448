"""No keyword is ignored: each of NumPy's is honoured, in value and gradient, or refused by its name.

A keyword is honoured if an example of the row (or a call of :mod:`calls`) gives it a value that is not its default:
then the generated tests compare values with NumPy's and gradients with differences. All others are given here, and
the error must name them. ``out`` is tried here for all functions at once.
"""

import copy
import inspect
import re
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from calls import ARRAY_METHODS, CALLS, UFUNC_METHODS
from row_examples import all_examples, examples_of
from signatures import signature_of
from support import call, plain, prepare, rows, same_bits, values_of

import autoflow as af
from autoflow.errors import NoRuleError
from autoflow.forward.dispatch import METHODS
from autoflow.table.outside import WRITERS
from autoflow.table.table import COMPOSED, RULES, Rule, of

KINDS = inspect.Parameter
# Behind **kwargs, as NumPy's documentation has them.
DOCUMENTED = {
    np.pad: "stat_length constant_values end_values reflect_type", np.einsum: "dtype order casting",
    np.clip: "where casting order dtype subok signature", np.piecewise: "factor", np.apply_along_axis: "factor",
    np.add.reduce: "keepdims initial where",
}  # fmt: skip
METHOD_KEYWORDS = {  # of methods, the same
    "sum": "keepdims initial where", "prod": "keepdims initial where", "mean": "keepdims where",
    "max": "keepdims initial where", "min": "keepdims initial where", "var": "keepdims where mean",
    "std": "keepdims where mean", "clip": "where casting order dtype subok signature",
}  # fmt: skip
# Keywords that make a call of its own: see VARIANT_CALLS of calls.py.
ELSEWHERE = {
    **dict.fromkeys((np.var, np.std, np.nanvar, np.nanstd), "mean"), np.vecdot: "axis axes keepdims", np.matmul: "axes",
    np.matvec: "axes", np.vecmat: "axes",
}  # fmt: skip
# A value that says something else than the default, for the call that must be refused.
VALUES = {
    "where": np.array(False), "casting": "unsafe", "order": "F", "dtype": np.float64, "subok": False,
    "signature": "d->d", "axes": [(0,), (0,), (0,)], "axis": 0,
    "keepdims": True, "initial": 1.0, "mean": np.array(0.5), "like": np.ones(2),
    "overwrite_input": True, "writeable": True, "copy": False, "rcond": 1e-3, "posinf": 1.0, "neginf": -1.0,
    "kind": "stable", "stable": True, "range": [(0.0, 2.0)], "density": True,
    "newshape": (2, 3), "interpolation": "lower", "bias": True, "ddof": 1,  # NumPy 2.3 has these still
}  # fmt: skip
FOLDING = {"initial": 2.5, "where": np.array([[True], [True], [False]]), "dtype": np.longdouble}  # for reduce
# What has no meaning for floats, or none for nodes, and why.
NEEDLESS = {
    (np.sort, "order"): "fields; nodes have none, and NumPy raises", (np.partition, "order"): "the same",
    (np.partition, "kind"): "there is one",
    (np.copy, "subok"): "a node stays a node, which it must to keep its gradient",
    (np.broadcast_to, "subok"): "the same", (np.lib.stride_tricks.sliding_window_view, "subok"): "the same",
    (np.corrcoef, "bias"): "without effect, and deprecated", (np.corrcoef, "ddof"): "the same",
    (np.full_like, "subok"): "what remembers is made to be written into, and a plain array cannot remember",
}  # fmt: skip


SPACES = np, np.linalg, np.fft, np.emath, np.lib.stride_tricks
NUMPYS = {id(thing) for space in SPACES for thing in vars(space).values()}


ROWS = [row for row in rows() if id(row.function) in NUMPYS]  # or it is one of ours, or SciPy's


def title(function):
    return f"{function.__module__}.{function.__name__}" if hasattr(function, "__module__") else function.__name__


def keywords(function):
    """The names by which arguments can be given, and their defaults."""
    found = {
        p.name: p.default
        for p in signature_of(function).parameters.values()
        if p.kind in (KINDS.POSITIONAL_OR_KEYWORD, KINDS.KEYWORD_ONLY)
    }
    return found | dict.fromkeys(DOCUMENTED.get(function, "").split(), np._NoValue)


def is_default(value, default):
    """Does ``value`` say nothing new?"""
    return value is default or (isinstance(value, (bool, int, float, str, tuple)) and value == default)


def given_to_row(row):
    """The keywords of NumPy's function that some example of its row gives."""
    theirs, given = keywords(row.function), set()
    for name, default in theirs.items():
        place = row._place(name)
        if place is None:
            continue
        if place < row.operands:
            given.add(name)
        values = [e.options[row.names[place]] for e in examples_of(row) if row.names[place] in e.options]
        if any([not is_default(value, default) for value in values]):
            given.add(name)
    return given


def given_to_composed(function, monkeypatch):
    """The keywords that some call gives, seen on the way."""
    theirs, signature, given = keywords(function), signature_of(function), set()
    ours = COMPOSED[function]

    def watched(*args, **options):
        bound = signature.bind(*args, **options).arguments
        many = [p.name for p in signature.parameters.values() if p.kind is KINDS.VAR_KEYWORD]
        for name, value in {**bound, **(bound.get(many[0], {}) if many else {})}.items():
            if name in theirs and not is_default(value, theirs[name]):
                given.add(name)
        return ours(*args, **options)

    monkeypatch.setitem(COMPOSED, function, watched)
    for each in CALLS[function]:
        each.call(*variables(each, each.example))
    return given


def variables(row, example):
    """The operands of an example as Variables."""
    made = [x if x is None or x.dtype == bool else af.Variable(x) for x in values_of(row, example)]
    return [example.prepare(made[0]), *made[1:]] if example.prepare else made


# -- all others are refused ------------------------------------------------------------------------------------------


def tried(run):
    """The result, or what the error says."""
    try:
        return run(), ""
    except (TypeError, ValueError) as error:
        return None, str(error)


def assert_refused(run, name, what):
    """An error that names the keyword. (A TypeError of Python's does as well.)"""
    with pytest.raises((TypeError, ValueError)) as caught:
        run()
    assert re.search(rf"\b{name}\b", str(caught.value)), f"{what}({name}=): the error does not say so: {caught.value}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_keywords_of_rows(row):
    others = set(keywords(row.function)) - given_to_row(row) - {"out", *ELSEWHERE.get(row.function, "").split()}
    others -= {"dtype"} if isinstance(row.function, np.ufunc) else set()  # see the next test
    example = next(e for e in examples_of(row) if all([shape != () and 0 not in shape for shape in e.shapes]))
    operands = variables(row, example)
    for name in [name for name in others if (row.function, name) not in NEEDLESS]:
        run = partial(call, row, operands, example.options | {name: VALUES[name]})
        if isinstance(row.function, np.ufunc):
            run = partial(row.function, *operands, **{name: VALUES[name]})
        assert_refused(run, name, title(row.function))


@pytest.mark.parametrize("row", [row for row in ROWS if isinstance(row.function, np.ufunc)], ids=lambda row: row.name)
def test_dtype_of_ufuncs(row):
    """``np.add(x, y, dtype=t)`` is np.add of x and y cast to t, backwards as well; or it is refused."""
    example = next(e for e in examples_of(row) if all([len(shape) > 1 and 0 not in shape for shape in e.shapes]))
    values = [x.astype(np.float32) for x in values_of(row, example)]
    for dtype in (np.float64, np.longdouble, np.float16, np.complex128, np.int64):
        leaves, others = [[af.Variable(x) for x in values] for _ in range(2)]
        with np.errstate(all="ignore"):
            z, error = tried(lambda: row.function(*leaves, dtype=dtype))  # noqa: B023 - called at once
            if error:
                assert re.search(r"\bdtype\b|\bcast", error), f"{row.name}(dtype={dtype.__name__}): {error}"
                continue
            assert same_bits(z.value, row.function(*values, dtype=dtype))
            row.function(*[np.astype(x, dtype) for x in others]).backward(np.ones(z.shape, z.dtype))
        z.backward(np.ones(z.shape, z.dtype))
        for x, y in zip(leaves, others, strict=True):
            assert same_bits(x.grad, y.grad), f"{row.name}(dtype={dtype.__name__}): {x.grad}, not {y.grad}"


@pytest.mark.parametrize("function", CALLS, ids=title)
def test_keywords_of_composed_functions(function, monkeypatch):
    others = set(keywords(function)) - given_to_composed(function, monkeypatch) - {"out"}
    monkeypatch.undo()
    ours, first = COMPOSED[function], CALLS[function][0]
    for name in [name for name in others if (function, name) not in NEEDLESS]:
        monkeypatch.setitem(COMPOSED, function, lambda *args, n=name, **given: ours(*args, **{**given, n: VALUES[n]}))
        assert_refused(lambda: first.call(*variables(first, first.example)), name, title(function))


@pytest.mark.parametrize("name", ARRAY_METHODS)
def test_keywords_of_methods(name, monkeypatch):
    method = getattr(np.ndarray, name)
    if not callable(method):
        return
    signature, given = signature_of(method), set()
    many = KINDS.VAR_POSITIONAL, KINDS.VAR_KEYWORD
    theirs = {p.name for p in signature.parameters.values() if p.kind not in many}
    theirs |= set(METHOD_KEYWORDS.get(name, "").split())
    ours = getattr(af.Node, name)

    def watched(self, *args, **options):
        bound = signature.bind(self, *args, **options).arguments
        given.update(set(bound) | set(bound.get("kwargs", ())))
        return ours(self, *args, **options)

    monkeypatch.setattr(af.Node, name, watched)
    for each in ARRAY_METHODS[name]:
        each.call(*variables(each, each.example))
    monkeypatch.undo()
    first = ARRAY_METHODS[name][0]
    x = variables(first, first.example)[0]
    for other in theirs - given - {"self", "out"}:
        if (getattr(np, name, None), other) in NEEDLESS:
            continue
        assert_refused(lambda: getattr(x, name)(**{other: VALUES[other]}), other, f"x.{name}")  # noqa: B023


@pytest.mark.parametrize("key", UFUNC_METHODS, ids=lambda key: f"{key[1].__name__}.{key[0]}")
def test_keywords_of_ufunc_methods(key):
    """``np.add.reduce(x, initial=1.0)`` and so on: honoured as the function does, or refused."""
    (method, ufunc), first = key, UFUNC_METHODS[key][0]
    bound, values, extra = getattr(ufunc, method), values_of(first, first.example), ()
    if method == "reduceat":
        values, extra = [np.arange(1.0, 4.0)], ([0, 2],)
    names = {"reduce": "dtype keepdims initial where", "outer": "where casting order dtype subok signature"}
    for name in names.get(method, "dtype").split():
        value = VALUES[name] if method == "outer" else FOLDING.get(name, VALUES[name])
        z, error = tried(lambda: bound(*[af.Variable(x) for x in values], *extra, **{name: value}))  # noqa: B023
        if error:
            assert re.search(rf"\b{name}\b", error), f"{key}({name}=): {error}"
        else:
            expected = bound(*values, *extra, **{name: value})
            assert z.dtype == expected.dtype, f"{key}({name}=) is ignored"
            np.testing.assert_array_equal(z.value, expected)


# -- out -------------------------------------------------------------------------------------------------------------


WITH_OUT = [(f, case, examples) for f, case, examples in (
    *[(row.function, row, examples_of(row)) for row in ROWS],
    *[(function, calls[0], [calls[0].example]) for function, calls in CALLS.items()],
) if "out" in keywords(f)]  # fmt: skip


@pytest.mark.parametrize(("function", "row", "examples"), WITH_OUT, ids=[title(f) for f, *_ in WITH_OUT])
def test_out_keeps_the_gradient(function, row, examples):
    """``f(x, out=a)`` writes into a, and a is then what f(x) is: its gradient reaches x."""
    for example in examples:
        leaves = variables(row, example)
        plain = call(row, leaves, example.options) if isinstance(row, Rule) else row.call(*leaves)
        parts = plain if isinstance(plain, tuple) else (plain,)
        if isinstance(plain, tuple) and not isinstance(function, np.ufunc):
            continue
        if any([z.dtype.kind not in "fc" or not z.ndim for z in parts]):
            continue
        outs = tuple([af.zeros(z.shape, z.dtype) for z in parts])
        again = given_out(function, row, example, leaves, outs if isinstance(plain, tuple) else outs[0])
        parts_again = again if isinstance(again, tuple) else (again,)
        for z, target, written in zip(parts, outs, parts_again, strict=True):
            np.testing.assert_array_equal(written.value, z.value)
            assert written is target
        for one, other in zip(*[gradients(zs, leaves) for zs in (parts, parts_again)], strict=True):
            np.testing.assert_array_equal(other, one)


def given_out(function, row, example, leaves, out):
    """The same call with ``out``."""
    if not isinstance(row, Rule):  # a lambda that calls the function: once more with the arguments that it gave
        args, options = given_by(function, row, leaves)
        return function(*args, **options, out=out)
    if isinstance(function, np.ufunc):
        return function(*leaves, *example.options.values(), out=out)
    if row.variadic and "dtype" in example.options:  # the dtype is that of out
        with pytest.raises(TypeError, match="dtype"):
            call(row, leaves, {**example.options, "out": out})
        return call(row, leaves, {**{k: v for k, v in example.options.items() if k != "dtype"}, "out": out})
    return call(row, leaves, {**example.options, "out": out})


def given_by(function, row, leaves):
    """The arguments that a lambda gives to ``function``."""
    seen, ours = [], COMPOSED[function]

    def watched(*args, **options):
        seen.append((args, options))
        return ours(*args, **options)

    COMPOSED[function] = watched
    try:
        row.call(*leaves)
    finally:
        COMPOSED[function] = ours
    return seen[0]


def gradients(zs, leaves):
    """Of Σ z², with respect to all leaves that are Variables."""
    for x in leaves:
        if isinstance(x, af.Variable):
            x.zero_grad()
    for z in zs:
        if getattr(z, "requires_grad", False):
            z.backward(2 * np.conjugate(z.value) if z.dtype.kind == "c" else 2 * z.value)
    return [np.zeros(()) if x.grad is None else np.array(x.grad) for x in leaves if isinstance(x, af.Variable)]


TAKES_OUT = [f for f in (*RULES, *CALLS) if id(f) in NUMPYS and "out" in keywords(f)]


@pytest.mark.parametrize("function", TAKES_OUT, ids=title)
def test_out_by_position(function):
    """Not ignored either: ``np.sum(x, 0, None, a)``."""
    names = [p.name for p in signature_of(function).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    if "out" not in names or isinstance(function, np.ufunc):
        return
    row = RULES.get(function)
    each = row if row is not None else CALLS[function][0]
    example = examples_of(each)[2 if len(examples_of(each)) > 2 else 0] if row is not None else each.example
    args, options = arguments(function, each, example)
    bound = signature_of(function).bind(*args, **options)
    bound.apply_defaults()
    before = list(bound.arguments.values())[: names.index("out")]
    z = function(*args, **options)
    if not isinstance(z, af.Node) or not z.ndim:
        return
    out = af.zeros(z.shape, z.dtype)
    assert function(*before, out) is out
    np.testing.assert_array_equal(out.value, z.value)


def arguments(function, each, example):
    """What the function is called with."""
    leaves = variables(each, example)
    if isinstance(each, Rule):
        options = {name: v for name, v in example.options.items() if name in keywords(function)}
        return ((leaves,) if each.variadic else tuple(leaves)), options
    return given_by(function, each, leaves)


# -- functions that write, and that make arrays ----------------------------------------------------------------------

MASK = np.array([[True, False, True], [False, True, True], [True, True, False], [False, False, True]])
WRITES = {
    np.copyto: lambda a, v: np.copyto(dst=a, src=v, casting="unsafe", where=MASK),
    np.put: lambda a, v: np.put(a, ind=[0, -30, 40], v=v, mode="clip"),
    np.putmask: lambda a, v: np.putmask(a, mask=MASK, values=v), np.place: lambda a, v: np.place(a, mask=MASK, vals=v),
    np.fill_diagonal: lambda a, v: np.fill_diagonal(a, val=v, wrap=True),
    np.put_along_axis: lambda a, v: np.put_along_axis(a, indices=np.array([[2, 0, 1]]), values=v[None], axis=0),
}  # fmt: skip


@pytest.mark.parametrize("function", sorted(WRITERS, key=title), ids=title)
def test_keywords_of_functions_that_write(function):
    """The array is NumPy's, in single precision too; and what was written sends back what its places receive."""
    dtype = np.float64 if function in (np.place, np.putmask) else np.float32  # in NumPy these two do not cast
    v, plain, numbers = af.Variable([5.0, 6.0, 7.0]), np.zeros((4, 3), dtype), np.zeros((4, 3))
    a = af.zeros((4, 3), dtype)
    write = WRITES[function]
    write(a, v)
    write(plain, v.value)
    assert same_bits(a.value, plain)
    write(numbers, np.array([1.0, 2.0, 3.0]))  # which element of v is where
    g = np.arange(12.0, dtype=dtype).reshape(4, 3)
    a.backward(g)
    assert v.grad.tolist() == [g[numbers == k].sum() for k in (1.0, 2.0, 3.0)]
    names = set(keywords(function)) - {"a", "arr"}
    given = [const for const in write.__code__.co_consts if isinstance(const, tuple)]  # their order is Python's own
    assert names <= {"arr"}.union(*given), "each keyword is given"


@pytest.mark.parametrize("function", [np.zeros_like, np.ones_like, np.empty_like], ids=title)
def test_keywords_of_functions_that_make_arrays(function):
    x = af.Variable(np.ones((2, 3)))
    options = {"dtype": np.float32, "order": "F", "shape": (4, 2), "device": "cpu", "subok": True}
    ours, theirs = function(x, **options), function(x.value, **options)
    assert isinstance(ours, af.Constant)
    assert (ours.dtype, ours.shape, ours.value.strides) == (theirs.dtype, theirs.shape, theirs.strides)


# -- a keyword that is ignored would be noticed ----------------------------------------------------------------------


def test_an_unused_keyword_is_noticed(monkeypatch):
    row = RULES[np.sum]
    monkeypatch.setitem(all_examples(), np.sum, tuple([e for e in examples_of(row) if "initial" not in e.options]))
    assert "initial" not in given_to_row(row)
    with pytest.raises(pytest.fail.Exception):
        test_keywords_of_rows(row)


def test_methods_are_all_of_them():
    assert set(METHODS) == {"reduce", "accumulate", "outer", "reduceat"}


# -- one argument in several spellings -------------------------------------------------------------------------------


@dataclass
class Whole:
    """A whole number, and nothing else."""

    value: int

    def __index__(self):
        return self.value


class Place(Whole):
    """The same of a class derived from it."""


NUMBERS = {"clip": 0, "wrap": 1, "raise": 2, "valid": 0, "same": 1, "full": 2}  # NumPy's enumerations


def spellings(value):
    """Other values that mean the same to some function of NumPy's."""
    match value:
        case bool():
            yield from (int(value), np.bool_(value))
        case int():
            yield from (np.int8(value), np.array(value), (value,), [value], np.array([value]))
            yield from (Whole(value), Place(value))
            yield from [bool(value)] if value in (0, 1) else []
            yield from [np.uint8(value)] if value >= 0 else []
        case float():
            yield from (np.float64(value), np.array(value))
        case str():
            yield from [np.str_(value)] + ([NUMBERS[value]] if value in NUMBERS else [])
        case type():
            yield from (np.dtype(value), np.dtype(value).char)
        case tuple() | list() if all([isinstance(part, int) for part in value]):
            yield from (tuple(value), list(value), np.array(value, int), np.array(value, np.int8), tuple(value[::-1]))
        case np.ndarray():
            yield from (value.tolist(), value.astype(np.int8) if value.dtype.kind == "i" else value.tolist())


SPELLED = [
    *[(row, e) for row in ROWS for e in examples_of(row) if e.options],
    *[(RULES[f], of(*shapes, mode=mode)) for f in (np.convolve, np.correlate)
      for shapes in (((5,), (3,)), ((2,), (5,))) for mode in ("valid", "same", "full")],
    (RULES[np.take], of((4,), indices=[-1, 2], mode="clip")),
]  # fmt: skip


@pytest.mark.parametrize(("row", "example"), SPELLED, ids=[f"{row.name}-{k}" for k, (row, _) in enumerate(SPELLED)])
def test_arguments_in_other_spellings(row, example):
    """What NumPy takes for an argument, a number for a mode, a list for a tuple, axes in another order, is taken here,
    too, with NumPy's result; and where the result is the same, so is the gradient."""
    values = values_of(row, example)

    def run(options, xs):
        given = [example.prepare(xs[0]), *xs[1:]] if example.prepare else xs
        return call(row, prepare(row, given), options)

    def gradients(options):
        leaves = [x if x is None or x.dtype == bool else af.Variable(x) for x in values]
        z = run(options, leaves)
        if getattr(z, "requires_grad", False):
            z.backward(np.cos(np.arange(z.size)).reshape(z.shape).astype(z.dtype))
        return plain(z), [getattr(x, "grad", None) for x in leaves]

    first, back = gradients(example.options)
    for name, value in example.options.items():
        for other in spellings(value):
            if name in ("ddof", "correction") and not np.isscalar(other):
                continue  # numbers; that NumPy subtracts a list, too, is an accident
            options = {**example.options, name: other}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    theirs = run({**options, name: copy.copy(other)}, values)  # rollaxis writes into it
            except Exception:  # not NumPy's spelling
                continue
            try:
                ours, grads = gradients(options)
            except NoRuleError:
                continue
            assert same_bits(np.asarray(ours), np.asarray(theirs)), f"{name}={other!r}"
            if same_bits(np.asarray(ours), np.asarray(first)):
                for g, right in zip(grads, back, strict=True):
                    np.testing.assert_array_equal(g, right, err_msg=f"{name}={other!r}")
