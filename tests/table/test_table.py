"""How a row is written, looked up and called: :mod:`autoflow.table.table`. What the rows say: test_rules.py."""

import inspect

import numpy as np
import pytest
from row_examples import LATE, all_examples, examples_of
from support import differentiable, rows
from surface import CASES

import autoflow as af
from autoflow import nn
from autoflow.errors import NoRuleError
from autoflow.forward.recording import apply
from autoflow.nodes.records import needs_grad
from autoflow.table import shapes, table
from autoflow.table.shapes import since
from autoflow.table.table import MISSING, RULES, primitive, rule

pytestmark = pytest.mark.usefixtures("rows_as_before")


@primitive
def affine(x, y, scale=1.0, shift=0.0):
    """A function for the tests to write rows for."""
    return x * y * scale + shift


def write(arguments="x y | scale=1.0 shift=0.0", **options):
    """A row of :func:`affine`."""
    derivatives = {"x": lambda g, y, scale: g * y * scale, "y": lambda g, x, scale: g * x * scale}
    return rule(affine, arguments, "a", "$x", **{**derivatives, **options})


# -- every row -------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_row_is_complete(row):
    assert row.name
    assert row.label
    assert "$" in row.latex, "the formula has a place for the argument"
    for operand in row.names[: row.operands]:
        if row.latex.count("$") >= row.operands:
            assert f"${operand}" in row.latex or "$" + operand.rstrip("s") in row.latex
    assert examples_of(row), "a row without examples is not tested"
    assert row.derivatives, "a row without derivatives is a plain result: it belongs into outside.py"
    assert set(row.derivatives) <= set(row.names[: row.operands])
    assert any(differentiable(row, example) for example in examples_of(row))
    low, high = row.domain
    assert low < high
    for example in examples_of(row):
        assert set(example.options) <= set(row.names), f"{example} names an option that the row does not have"
        assert row.variadic or len(example.shapes) <= row.operands
    assert RULES[row.function] is row
    # Derivatives name g, arguments, z, and their shape or dtype; ``k`` for a sequence.
    for derivative in row.derivatives.values():
        first, *words = inspect.signature(derivative).parameters
        assert first == "g"
        for word in words[row.variadic :]:
            name, _, what = word.rpartition("_")
            if word not in (*row.names, "z"):
                assert name in (*row.names, "z")
                assert what in ("shape", "dtype", "ndim", "size") or (what == "others" and row.variadic)


def test_a_linear_function_does_not_keep_its_operand():
    """It may be freed, and overwritten. (The twins for NaN look where it has NaN.)"""
    found = {}
    for case in [case for case, live in CASES[False] if 0 in live]:
        x, *others = case.values("float64")
        y = 3 * np.cos(7 * x) - 1
        with np.errstate(all="ignore"):
            z, *zs = [case.run([p, *others]) for p in (af.Variable(x), y, x - 2 * y, -x)]
        record = z.grad_fn
        if record is not None and isinstance(record.parents[0], af.Variable):
            is_linear = np.allclose([z - 2 * zs[0], -z], zs[1:], rtol=1e-9, atol=1e-9) and np.any(z)
            found.setdefault(record.rule.name, []).append((is_linear, 0 in record.rule.must_save(needs_grad(record))))
    linear = {row: any(keeps for _, keeps in seen) for row, seen in found.items() if all(linear for linear, _ in seen)}
    assert not [row for row, keeps in linear.items() if keeps and "nan" not in row]
    assert len(linear) > 40


def signature(row):
    """The parameters of the function; none for ufuncs, and where it takes whatever comes."""
    try:
        theirs = dict(inspect.signature(row.function).parameters)
    except (ValueError, TypeError):
        return {}
    if isinstance(row.function, np.ufunc) or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in theirs.values()):
        return {}
    return theirs


@pytest.mark.parametrize("row", [row for row in rows() if signature(row)], ids=lambda row: row.name)
def test_options_have_numpys_names_and_defaults(row):
    """So that a keyword means the same with and without nodes."""
    theirs = signature(row)
    for name, default in list(zip(row.names, row.defaults, strict=True))[1 if row.variadic else row.operands :]:
        if not since(shapes.KEYWORDS.get((row.name, name), "2.3")) or name.startswith("_"):
            continue
        assert name in theirs, f"{row.name} has no argument {name!r}"
        their = theirs[name].default
        if default is not None and default is not MISSING and their is not np._NoValue:
            assert default == their, f"{row.name}({name}={default!r}), but NumPy's default is {their!r}"


# -- calls -----------------------------------------------------------------------------------------------------------


def test_bind_fills_in_what_is_not_given():
    row = RULES[np.sum]
    assert [row.bind(args, {})[:2] for args in ((7.0,), (7.0, 1))] == [(7.0, None), (7.0, 1)]
    bound = dict(zip(row.names, row.bind((7.0,), {"keepdims": True, "axis": 0}), strict=True))
    assert (bound["x"], bound["axis"], bound["keepdims"]) == (7.0, 0, True)
    defaults = dict(zip(row.names, row.defaults, strict=True))
    assert all(bound[name] is defaults[name] for name in set(bound) - {"x", "axis", "keepdims"})


def test_bind_takes_numpys_own_names():
    x = af.Variable([1.0, 2.0])
    assert np.sum(a=x).value == np.sum(a=x, axis=0).value == 3.0
    assert np.transpose(a=x).opmethod == "transpose"


def test_unknown_keyword_is_refused_by_name():
    with pytest.raises(NoRuleError, match=r"sum.*colour="):
        RULES[np.sum].bind((af.Variable([1.0, 2.0]),), {"colour": "red"})
    with pytest.raises(NoRuleError, match=r"exp.*where=(.|\n)*x\.value"):  # and what to do instead
        np.exp(af.Variable([1.0, 2.0]), where=[True, False])


@pytest.mark.parametrize(("args", "options", "message"), [
    ((1, 2, 3), {"scale": 4}, "scale= given twice"), ((1, 2, 3, 4, 5), {}, "5 positional arguments"),
    ((1,), {"scale": 4}, r"affine.*with y"), ((1,), {}, r"affine.*with y"),
])  # fmt: skip
def test_arguments_given_twice_or_too_many_or_not_at_all_are_refused(args, options, message):
    with pytest.raises(NoRuleError, match=message):
        write().bind(args, options)


@pytest.mark.parametrize("row", [row for row in rows() if signature(row)], ids=lambda row: row.name)
def test_no_keyword_is_ignored(row):
    """Every argument of NumPy's function that the row has no place for is refused, whatever its value."""
    theirs = signature(row).values()
    known = {p.name for p, _ in zip(theirs, row.names, strict=False)} | set(row.names)
    for parameter in theirs:
        if parameter.name not in known:
            with pytest.raises(NoRuleError, match=f"{row.name}.*{parameter.name}="):
                row.bind((0.0,) * row.required, {parameter.name: 1})


def test_row_written_twice_is_refused():
    assert write().signature() == "affine(x, y, scale=1.0, shift=0.0)"
    with pytest.raises(ValueError, match="affine: written twice"):
        write()


@pytest.mark.parametrize(("derivative", "error", "message"), [
    ({"q": lambda g: g}, ValueError, r"affine: .*a derivative of no operand"),
    ({"scale": lambda g: g}, ValueError, "affine"),  # an option: it stands behind the bar
    *[({"x": f}, TypeError, f"reads {word}: it may read x, y, scale, shift, z")
      for word, f in (("nonsense", lambda g, nonsense: g), ("x_strides", lambda g, x_strides: g))],
])  # fmt: skip
def test_derivative_of_no_operand_or_by_something_unknown_is_refused(derivative, error, message):
    with pytest.raises(error, match=message):
        write(**derivative)
    assert affine not in RULES


def test_examples_are_of_functions_that_have_rows():
    """An entry of another function, or of another name of one that has a row, would not be run."""
    every = [*all_examples(), *[function for late in LATE.values() for function in late()]]
    assert not [function for function in every if function not in RULES or RULES[function].function is not function]
    assert all(function.__module__ == home for home, late in LATE.items() for function in late())


def test_aliases_share_a_row():
    assert RULES[np.amax] is RULES[np.max]
    assert RULES[np.divide] is RULES[np.true_divide]


# -- what a row keeps in memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "live", "kept"), [
    (np.add, (True, True), ""), (np.add, (False, False), ""), (np.multiply, (True, True), "xy"),
    (np.multiply, (True, False), "y"), (np.multiply, (False, True), "x"), (np.divide, (True, False), "y"),
    (np.divide, (False, True), "yz"), (np.tanh, (True,), "z"), (np.log, (True,), "x"),
])  # fmt: skip
def test_keeps_what_the_live_derivatives_read(function, live, kept):
    row = RULES[function]
    places = [len(row.names) if letter == "z" else row.names.index(letter) for letter in kept]
    assert row.must_save(live) == frozenset(places)


def test_options_that_derivatives_read_are_among_them_but_not_what_has_only_its_shape_read():
    """A sum must know how long its argument was, and not its numbers."""
    assert write().must_save((True, False)) == {1, 2}  # y and scale
    assert RULES[affine].must_save((False, False)) == frozenset()
    assert not {0, len(RULES[np.sum].names)} & RULES[np.sum].must_save((True,))


# -- sequences -------------------------------------------------------------------------------------------------------


@primitive
def glue(xs, axis=0):
    """A function of a sequence for the tests."""
    return np.concatenate([np.asarray(x) for x in xs], axis)


def _glued(g, k, xs, xs_shape, axis):
    start = sum(shape[axis] for shape in xs_shape[:k])
    return g[start : start + xs_shape[k][axis]] + 0 * xs[k]


def test_of_arity_makes_one_row_per_length():
    row = rule(glue, "*xs | axis=0", "glue", "$xs", xs=_glued)
    two, three = row.of_arity(2), row.of_arity(3)
    assert row.of_arity(2) is two
    assert two is not three
    assert (two.names, two.operands, two.required) == (("xs0", "xs1", "axis"), 2, 2)
    assert (three.operands, three.defaults[:3]) == (3, (MISSING,) * 3)
    assert (two.name, two.variadic, row.variadic) == ("glue", False, True)
    arrays = np.ones((2, 3)), np.zeros((1, 3))
    assert two.compute(*arrays, 0).shape == (3, 3)
    # all values, for xs, and the axis
    assert two.must_save((True, False)) == {0, 1, 2}
    g = np.arange(9.0).reshape(3, 3)
    vjp = two.vjps[1]
    assert np.array_equal(vjp(g, (*arrays, 0, g)), g[2:])


def test_names_of_all_lengths_are_counted_together():
    rule(glue, "*xs | axis=0", "glue", "$xs", xs=_glued)
    af.reset()
    x = af.Variable(np.ones(2))
    assert [apply(RULES[glue], ([x] * n,)).name for n in (1, 2, 3, 2)] == ["glue_0", "glue_1", "glue_2", "glue_3"]
    af.reset()
    assert apply(RULES[glue], ([x, x],)).name == "glue_0"


def test_every_array_of_a_sequence_gets_its_gradient():
    rule(glue, "*xs | axis=0", "glue", "$xs", xs=_glued)
    x, y = af.Variable([1.0, 2.0]), af.Variable([3.0])
    apply(RULES[glue], ([x, np.zeros(2), y, x],)).backward(np.arange(7.0))
    assert x.grad.tolist() == [5.0, 7.0]
    assert y.grad.tolist() == [4.0]


# -- complex gradients -----------------------------------------------------------------------------------------------


def test_complex_pulls_conjugate_around_holomorphic_rows():
    row, g, x, y = RULES[np.multiply], 1 + 2j, np.array(3 + 4j), np.array(1 - 1j)
    (vjp, _), saved = row.complex_vjps(), (x, y, x * y)
    assert row.holomorphic
    assert vjp(np.array(g), saved) == g * np.conj(y)
    assert row.complex_vjps() is row.complex_vjps(), "made once"


def test_complex_pulls_of_other_rows_are_their_own_and_absent_ones_stay_absent():
    row = write(holomorphic=False)
    assert row.complex_vjps() is row.vjps
    del RULES[affine]
    row = rule(affine, "x y | scale=1.0 shift=0.0", "a", "$x", x=lambda g, y, scale: g * y * scale)
    assert [vjp is None for vjp in row.complex_vjps()] == [False, True]
    assert row.needs[1] is None


# -- elementwise rows ------------------------------------------------------------------------------------------------


def test_ufuncs_are_elementwise_and_generalised_ufuncs_are_not():
    assert RULES[np.add].elementwise
    assert not RULES[np.matmul].elementwise
    assert not RULES[np.sum].elementwise


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_broadcasting_is_undone_for_every_number_of_values(n):
    """The table has a closure of its own for each of the common cases."""
    full = {
        0: lambda g: g, 1: lambda g, y: g * y, 2: lambda g, y, z: g * y + 0 * z,
        3: lambda g, x, y, z_shape: g * y + 0 * x,
    }  # fmt: skip
    row = write(elementwise=True, x=full[n])
    vjp, vjp_0d = row.vjps[0], row.scalar_vjps[0]
    x, y, g = np.ones((2, 1)), np.full(3, 2.0), np.ones((2, 3))
    assert np.array_equal(vjp(g, (x, y, 1.0, 0.0, x * y)), np.full((2, 1), 6.0 if n else 3.0))
    one, two = np.array(1.0), np.array(2.0)
    sent = vjp_0d(np.float64(1.0), (one, two, 1.0, 0.0, two))
    assert sent == (2.0 if n else 1.0)
    assert type(sent) is np.float64, "numbers stay numbers: they are ten times faster"


def test_a_primitive_is_plain_numpy_for_plain_arrays():
    z = affine(np.ones(2), 2.0)
    assert type(z) is np.ndarray
    assert affine.compute(1.0, 2.0) == 2.0
    assert affine.__name__ == "affine"


def test_a_primitive_sees_nodes_that_are_given_by_name():
    x = af.Variable([1.0, -2.0])
    z = nn.relu(x=x)
    assert isinstance(z, af.Operation)
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_composed_functions_stand_in_for_numpys():
    twice = table.composed(affine)(lambda x: x + x)
    z = affine(af.Variable(3.0))
    del table.COMPOSED[affine]
    assert twice(3.0) == z.value == 6.0
    assert z.opmethod == "add"
