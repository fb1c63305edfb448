"""Forward mode, row by row: what is pushed is what the transposed passes say; and that it nests with everything.

(``test_forward_and_back.py`` compares with differences, on every row at night.)
"""

import importlib.util
import tracemalloc
from typing import Any

import numpy as np
import pytest
from cases import Case
from row_examples import examples_of
from support import NIGHTLY, assert_close, directional, is_scipys, rows

import autoflow as af
from autoflow.errors import AnomalyError, LostGradientError, NoRuleError, StaleValueError
from autoflow.rules import RULES
from autoflow.transforms import forward_pass
from autoflow.transforms.evaluation import Trace
from autoflow.transforms.forward_pass import ForwardPass, pushes_of, transposed_graph

Array = Any
SCIPY = importlib.util.find_spec("scipy.special") is not None
ROWS = rows(SCIPY)
RARE = ["float32", "float64 complex128", "complex128 float64", "float16"]
# By day complex numbers go through those rows only that are not analytic: there it matters how they are read.
EVERY = [(row, dtypes) for row in ROWS for dtypes in ["float64", "complex128"] + RARE * NIGHTLY
         if dtypes == "float64" or NIGHTLY or not row.holomorphic]  # fmt: skip
RNG = np.random.default_rng(11)
X, Y = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3))


def direction(x, k):
    rng = np.random.default_rng([x.size, k])
    t = rng.normal(size=x.shape)
    return (t + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else t).astype(x.dtype)


def functions_of(row, dtypes):
    """The row on each of its examples, as functions of the operands that are differentiated, and these."""
    for example in examples_of(row):
        case = Case(row, example)
        values = case.values(dtypes)
        try:
            with np.errstate(all="ignore"):
                case.run(values)
        except TypeError:  # NumPy does not take this dtype
            continue
        live = [k for k in case.live if values[k].dtype.kind in "fc"]

        def f(*moving, case=case, values=values, live=live):
            given = dict(zip(live, moving, strict=True))
            return case.run([given.get(k, x) for k, x in enumerate(values)])

        yield f, [values[k] for k in live]


def as_numbers(t, z):
    return np.zeros(z.shape, z.dtype) if t is None else np.asarray(t)


@pytest.mark.parametrize(("row", "dtypes"), EVERY, ids=[f"{row.name}-{dtypes}" for row, dtypes in EVERY])
@pytest.mark.filterwarnings("ignore")
def test_every_row_pushes_what_the_transposed_pass_says(row, dtypes):
    for number, (f, xs) in enumerate(functions_of(row, dtypes)):
        ts = [direction(x, k) for k, x in enumerate(xs)]
        trace = Trace(f, tuple(range(len(xs))), tuple(xs), {})
        root = trace.z
        if not trace.reaches(root):
            continue
        forward = ForwardPass(trace, [root])
        alone = [[t if j == k else None for j, t in enumerate(ts)] for k in range(len(ts)) if len(ts) > 1]
        if not NIGHTLY:  # one of them in each example, in turn
            alone = alone[number % len(ts) :][:1]
        for given in [ts, *alone]:
            try:
                theirs = as_numbers(transposed_graph(trace, root, given, False), root)
            except NoRuleError:  # not for complex numbers
                with pytest.raises(NoRuleError):
                    forward(given)
                continue
            (ours,) = forward(given)
            ours = as_numbers(ours, root)
            assert ours.dtype == root.dtype == theirs.dtype
            digits = max([np.finfo(x.dtype).eps for x in xs])
            finite = np.isfinite(theirs) & np.isfinite(ours)
            assert_close(ours[finite], theirs[finite], 2e3 * digits, f"{row.name}, {dtypes}")
            assert np.array_equal(np.isnan(ours), np.isnan(theirs)) or dtypes == "float16"


def test_rows_are_read_as_what_they_are():
    assert pushes_of(RULES[np.add]).is_simple
    assert pushes_of(RULES[np.concatenate].of_arity(3)).together is not None
    forward = (np.multiply, 0), (np.sum, 0), (np.matmul, 1), (np.max, 0), (np.linalg.solve, 1)
    for f, k in (*forward, (np.linalg.solve, 0), (np.sort, 0)):  # the last two by the transposed pass
        assert (pushes_of(RULES[f]).each[k] is not None) == ((f, k) in forward)
    transposed = {row.name for row in ROWS if not row.variadic and any([
        push is None and read is not None for push, read in zip(pushes_of(row).each, row.needs, strict=True)
    ]) and pushes_of(row).together is None}  # fmt: skip
    assert len(transposed) < 60, f"more rows than before are not read forward: {sorted(transposed)}"


def test_a_users_row_is_not_taken_for_linear():
    """A rounding whose derivative is said to be 1 reads no numbers, and is not linear."""

    @af.primitive
    def rounded(x):
        return np.round(x)

    rounded.defvjp(x=lambda g: g)
    np.testing.assert_array_equal(af.jvp(rounded, np.array([0.4, 1.7]), np.array([0.3, 0.6]))[1], [0.3, 0.6])


def test_another_derivative_is_read_again():
    @af.primitive(elementwise=True)
    def twice(x):
        return 2 * x

    twice.defvjp(x=lambda g: 2 * g)
    assert af.jvp(twice, 1.0, 3.0)[1] == 6.0
    twice.defvjp(x=lambda g: 5 * g)
    assert af.jvp(twice, 1.0, 3.0)[1] == 15.0


# -- everything that it meets ----------------------------------------------------------------------------------------


class Halves(af.Function):
    """Two results."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return np.sin(x), x**2

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return (0 if g is None else g * np.cos(x)) + (0 if h is None else h * 2 * x)


@af.custom_jvp
def softplus(x):
    return np.log1p(np.exp(x))


@softplus.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return softplus(x), t / (1 + np.exp(-x))


def written(x):
    y = np.sin(x)
    y[0] = y[1] * x[0]
    y[:, 1] += np.sin(x[:, 0])
    y.T[2] = 0.5
    return y


def recomputed(x):
    with af.checkpointing():
        return np.sin(np.exp(x)) * x


MEETINGS = {
    "two results": (lambda x: sum(Halves.apply(x)), lambda x: np.sin(x) + x**2),
    "one of two results": (lambda x: Halves.apply(x)[1], lambda x: x**2),
    "custom_jvp": (softplus, lambda x: np.log(1 + np.exp(x))),
    "checkpoint": (af.checkpoint(lambda x: np.sin(x) * x), lambda x: np.sin(x) * x),
    "checkpointing": (recomputed, lambda x: np.sin(np.exp(x)) * x),
    "compile": (af.compile(lambda x: np.sin(x) * x), lambda x: np.sin(x) * x),
    "vmap": (af.vmap(lambda r: np.cumsum(r) * np.sort(r)), lambda x: np.cumsum(x, 1) * np.sort(x, 1)),
    "in place": (written, None),
    "the same operand twice": (lambda x: x * x + np.einsum("ij,ij->ij", x, x), lambda x: 2 * x**2),
    "a list": (lambda x: np.stack([x[0, 0], 2.0, x[1, 2] * x[0, 0]]), None),
    "joined with constants": (lambda x: np.concatenate([x, np.ones((1, 3)), x * x]), None),
    "grad": (af.grad(lambda x: np.sum(np.tanh(x) ** 2 * x)), None),
    "reductions": (lambda x: np.max(x, axis=0) * x + np.cumprod(x)[:3] + np.linalg.norm(x, axis=1)[:, None], None),
    "jvp": (lambda x: af.jvp(np.sin, x, x**2)[1], lambda x: np.cos(x) * x**2),
}  # fmt: skip


def differences(f, x, t):
    return directional(lambda xs: np.asarray(f(*xs)), [x], [t])


@pytest.mark.parametrize("name", MEETINGS)
def test_it_meets(name):
    """First derivatives; jvp of jvp, grad of jvp and jvp of grad; many tangents at once; compiled."""
    f, plain = MEETINGS[name]
    value, tangent = af.jvp(f, X, Y)
    assert_close(tangent, differences(f, X, Y), 1e-9, "jvp")
    if plain is not None:
        assert_close(value, plain(X), 1e-13, "value")
        assert_close(tangent, af.jvp(plain, X, Y)[1], 1e-12, "without it")
    move = lambda x: af.jvp(f, x, Y)[1]  # noqa: E731
    assert_close(af.jvp(move, X, Y)[1], differences(move, X, Y), 1e-8, "jvp of jvp")
    loss = lambda x: np.sum(f(x) ** 2)  # noqa: E731
    slope = af.grad(loss)
    assert_close(af.jvp(slope, X, Y)[1], differences(slope, X, Y), 1e-8, "jvp of grad")
    again = af.grad(lambda x: af.jvp(loss, x, Y)[1])(X)
    assert_close(again, af.jvp(slope, X, Y)[1], 1e-11, "grad of jvp")
    assert_close(af.jacfwd(f)(X), af.jacrev(f)(X), 1e-12, "jacfwd")
    hessian = af.hessian(loss)(X)
    assert_close(af.jacrev(af.jacfwd(loss))(X), hessian, 1e-11, "jacrev of jacfwd")
    assert_close(af.hvp(loss, X, Y), np.tensordot(hessian, Y, 2), 1e-11, "hvp")


@pytest.mark.parametrize("name", ["two results", "custom_jvp", "in place", "the same operand twice", "a list"])
def test_it_meets_compile_and_vmap(name):
    f = MEETINGS[name][0]
    move = lambda x, t: af.jvp(f, x, t)[1]  # noqa: E731
    if name not in ("two results", "in place"):  # af.compile takes neither Functions nor writes into nodes
        assert_close(af.compile(move)(X, Y), move(X, Y), 1e-14, "compiled")
    xs = np.stack([X, Y, X + Y])
    assert_close(af.vmap(move)(xs, xs[::-1]), np.stack(list(map(move, xs, xs[::-1]))), 1e-13, "vmap")
    shared = af.vmap(lambda t: move(X, t))(xs)
    assert_close(shared, np.stack([move(X, t) for t in xs]), 1e-13, "vmap over tangents")


def test_orders_up_to_five():
    f = lambda x: np.sin(x) * np.exp(x)  # noqa: E731
    for order in range(5):
        want = np.sqrt(2) ** order * np.exp(0.3) * np.sin(0.3 + order * np.pi / 4)
        assert f(0.3) == pytest.approx(want, rel=1e-12)
        f = lambda x, f=f: af.jvp(f, x, 1.0)[1]  # noqa: E731


def test_linearize_runs_f_once_and_looks_for_nan_once():
    calls = []

    @af.primitive(elementwise=True)
    def cube(x):
        return x**3

    cube.defvjp(x=lambda g, x: 3 * x**2 * g)
    cube.defjvp(x=lambda t, x: calls.append(t) or 3 * x**2 * t)
    _, push = af.linearize(lambda x: np.sqrt(np.maximum(cube(x), 0)), np.array([1.0, -1.0]))
    for turn in range(1, 4):
        np.testing.assert_array_equal(push(np.ones(2)), [1.5, 0])
        assert len(calls) == turn + 1  # once more after the first NaN
        assert np.isfinite(calls).all()
    calls.clear()

    def f(x):
        calls.append(0)
        return np.sort(x, axis=None) * np.linalg.det(x @ x.T)

    _, push = af.linearize(f, X)
    for t in (Y, X, 2 * Y):
        assert_close(push(t), af.jvp(f, X, t)[1], 1e-13, "pushforward")
    assert len(calls) == 4


# -- hard points -----------------------------------------------------------------------------------------------------


def test_shapes_and_dtypes():
    _, t = af.jvp(lambda x, y: x + y, (np.float32(1), np.ones((2, 3), np.float32)), (1.0, np.zeros((2, 3))))
    assert (t.dtype, t.shape, t.tolist()) == (np.float32, (2, 3), [[1, 1, 1]] * 2)
    t += 1  # our own array, though the tangent was broadcast
    _, t = af.jvp(lambda x: x * (1 + 2j), 3.0, 1.0)
    assert t == 1 + 2j
    _, t = af.jvp(lambda x: (x + 1j).real, 3.0, 1.0)
    assert (t, t.dtype) == (1.0, np.float64)
    assert type(af.jvp(lambda x: x * x, 3.0, 1.0)[1]) is np.ndarray
    direction = np.ones(3)
    _, t = af.jvp(lambda x: x, np.zeros(3), direction)
    assert not np.shares_memory(t, direction)
    _, t = af.jvp(lambda x: np.sum(x, initial=5.0) + np.pad(x, 1, constant_values=7.0)[0], np.zeros(2), np.ones(2))
    assert t == 2.0


def test_what_does_not_move():
    assert af.jvp(lambda x: (x, x * 0 + 1, np.floor(x), 3.0), 2.0, 1.0)[1] == (1.0, 0.0, 0.0, 0.0)
    with pytest.raises(LostGradientError, match="depends on none of the arguments"):
        af.jvp(lambda x: np.ones(2), 1.0, 1.0)
    assert af.jvp(lambda x: np.ones(2), 1.0, 1.0, allow_unused=True)[1].tolist() == [0, 0]
    outside = af.Variable(2.0)
    assert af.jvp(lambda x: x * outside, 3.0, 1.0)[1] == 2.0
    assert af.jvp(lambda x: x * 3.0, outside, 1.0)[1].requires_grad is True


def test_stale_values_are_noticed():
    def f(x):
        y = np.exp(x)
        z = y * y
        y[0] = 1.0
        return z

    with pytest.raises(StaleValueError, match=r"needs the value of exp_0, which .* has overwritten since"):
        af.jvp(f, np.zeros(2), np.ones(2))
    held = np.ones(5000)

    def g(x):
        z = x * held
        held[:] = 7.0
        return z

    with pytest.raises(StaleValueError, match="has been written into since"):
        af.jvp(g, np.ones(5000), np.ones(5000))


def test_anomaly_mode_uses_the_passes_that_it_watches_and_hooks_do_not_see_them():
    with pytest.raises(AnomalyError), af.detect_anomaly(), np.errstate(all="ignore"):
        af.jvp(np.sqrt, np.zeros(2), np.ones(2))

    def f(x):
        y = x * x
        y.register_hook(lambda g: 1 // 0)
        return y * 3.0

    assert af.jvp(f, 2.0, 1.0)[1] == 12.0


def chain(x, n):
    for _ in range(n):
        x = -x
    return x


def test_long_chains_need_no_stack_and_tangents_are_forgotten_when_they_were_used():
    assert af.jvp(lambda x: chain(x, 20_000), 2.0, 3.0)[1] == 3.0
    trace = Trace(lambda x: chain(x, 30), (0,), (np.ones(100_000),), {})
    forward = ForwardPass(trace, [trace.z])
    tracemalloc.start()
    forward([np.ones(100_000)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 800_000


def test_only_what_depends_on_the_arguments_is_visited():
    w = af.Variable(np.ones(3))
    other = np.sin(w) * 2.0
    trace = Trace(lambda x: x * other.value + np.cos(x), (0,), (np.ones(3),), {})
    order, older = forward_pass.records_between([trace.z.grad_fn], set(trace.records), trace.first)
    assert [r.rule.name for r in order] == ["multiply", "cos", "add"]
    assert not older


# -- linear_transpose ------------------------------------------------------------------------------------------------


def test_linear_transpose():
    a = RNG.normal(size=(2, 3))
    (sent,) = af.linear_transpose(lambda x: a @ x, np.zeros(3))(np.ones(2))
    np.testing.assert_allclose(sent, a.sum(0))
    b = a + 1j * a[::-1]
    (sent,) = af.linear_transpose(lambda x: b @ x, np.zeros(3, complex))(np.array([1.0, 2j]))
    np.testing.assert_allclose(sent, b.T @ [1.0, 2j])
    both = af.linear_transpose(lambda p, q: {"sum": p["x"] + 2 * q, "part": q[:1]}, {"x": np.zeros(2)}, np.zeros(2))
    p, q = both({"sum": np.array([1.0, 2.0]), "part": np.array([10.0])})
    assert (p["x"].tolist(), q.tolist()) == ([1, 2], [12, 4])


@pytest.mark.parametrize("f", [np.sin, lambda x: x + 1, np.abs, lambda x: x * np.abs(x)])
def test_only_linear_functions_are_transposed(f):
    with pytest.raises(TypeError, match=r"linear_transpose: .* is not linear"):
        af.linear_transpose(f, np.zeros(4))


LEAVE_OUT = {  # functions that do not read the third of four elements
    "nansum": np.nansum, "nanmean": np.nanmean, "nanvar": np.nanvar, "nanstd": np.nanstd, "nanprod": np.nanprod,
    "nanmax": np.nanmax, "nanmin": np.nanmin, "nanmedian": np.nanmedian,
    "nanquantile": lambda x: np.nanquantile(x, 0.3), "nancumsum": lambda x: np.nancumsum(x)[-1],
    "nan_to_num": lambda x: np.nan_to_num(x).sum(), "sum, where": lambda x: np.sum(x, where=~np.isnan(x)),
    "mean, where": lambda x: np.mean(x, where=~np.isnan(x)), "var, where": lambda x: np.var(x, where=~np.isnan(x)),
    "prod, where": lambda x: np.prod(x, where=~np.isnan(x)),
    "max, where": lambda x: np.max(x, where=~np.isnan(x), initial=0.0),
    "reduce, where": lambda x: np.add.reduce(x, where=~np.isnan(x)),
    "where": lambda x: np.where(np.isnan(x), 0, x).sum(), "mask": lambda x: x[~np.isnan(x)].sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVE_OUT)
def test_the_tangent_of_what_is_left_out_may_be_nan(name):
    """x² is NaN where x is, and so is its tangent; the function reads neither."""
    f = LEAVE_OUT[name]
    x = np.array([0.31, 0.93, np.nan, 0.62])
    wanted = af.grad(lambda numbers: f(np.insert(numbers**2, 2, np.nan)))(x[[0, 1, 3]])
    found = af.jacfwd(lambda x: f(x**2))(x)
    np.testing.assert_allclose(found, np.insert(wanted, 2, 0), rtol=1e-12)
    twice = af.jacfwd(lambda x: af.jvp(lambda x: f(x**2), x, np.ones(4))[1])(x)
    wanted = af.hessian(lambda numbers: f(np.insert(numbers**2, 2, np.nan)))(x[[0, 1, 3]]) @ np.ones(3)
    np.testing.assert_allclose(twice, np.insert(wanted, 2, 0), rtol=1e-12, atol=1e-14)


# -- infinite and undefined tangents ---------------------------------------------------------------------------------

POINTS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan])
CHOOSING = {
    "abs": np.abs, "clip": lambda x: np.clip(x, 0.0, 1.0), "fmax": lambda x: np.fmax(x, 0.5), "floor": np.floor,
    "maximum": lambda x: np.maximum(x, 0.0), "minimum": lambda x: np.minimum(1.0, x), "nan_to_num": np.nan_to_num,
    "piecewise": lambda x: np.piecewise(x, [x < 0, x > 1], [0.0, lambda v: v * v, lambda v: -v]), "round": np.round,
    "select": lambda x: np.select([x < 0, x > 1], [x, 0.5 * x], 0.25), "sign": np.sign,
    "where": lambda x: np.where(x > 0, x, 0.5), "max": lambda x: np.max(np.stack([x, 0.5 * x]), axis=0),
    "sort": lambda x: np.sort(np.stack([x, 0.5 * x]), axis=0)[1],
    "nansum": lambda x: np.nansum(np.stack([x, 1 + x]), axis=0),
}  # fmt: skip
STEEP = {
    "root": np.sqrt, "log": np.log, "1/x": lambda x: 1 / x, "exp": np.exp, "0/0": lambda x: x / (x * 0.0),
    "arcsin": np.arcsin, "cbrt": np.cbrt, "sinc": np.sinc, "x log x": lambda x: x * np.log(x), "square": np.square,
}  # fmt: skip


# (Some of SciPy's functions compute for minutes at such points.)
CHOSEN = [row for row in ROWS if (row.elementwise or row in forward_pass.DIAGONAL) and not is_scipys(row)]


@pytest.mark.parametrize("row", CHOSEN, ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore")
def test_elementwise_rows_give_the_same_both_ways_for_every_tangent(row):
    """At all points, and for tangents that are infinite or NaN: both ways choose, or both ways multiply."""
    case, checked = Case(row, examples_of(row)[0]), 0
    given = case.values("float64")
    for turn in range(len(POINTS) if NIGHTLY else 2):
        values = [np.roll(POINTS, turn * k) if x.dtype.kind == "f" else np.resize(x, POINTS.size)
                  for k, x in enumerate(given)]  # fmt: skip
        for k in case.live:

            def f(x, k=k, values=values):
                return case.run([*values[:k], x, *values[k + 1 :]])

            _, push = af.linearize(f, values[k])
            _, pull = af.vjp(f, values[k])
            for t in (1.0, -np.inf, np.nan):
                t = np.full(POINTS.shape, t)
                np.testing.assert_array_equal(push(t), pull(t)[0], f"{row.name}, operand {k}: {values}, {t}")
                checked += 1
        if len(given) == 1:
            break
    assert checked


def slopes_both_ways(f):
    with np.errstate(all="ignore"):
        return [np.asarray(af.jvp(f, POINTS, np.ones(POINTS.shape))[1]), af.elementwise_grad(f)(POINTS)]


@pytest.mark.parametrize("steep", STEEP)
@pytest.mark.parametrize("choosing", CHOOSING)
@pytest.mark.filterwarnings("ignore")
def test_both_modes_agree_where_both_give_a_number(choosing, steep):
    """Also for second derivatives, forward over reverse. Not NaN for NaN: a zero that a choice sends meets an infinite
    slope afterwards, and which of the two comes first depends on the direction."""
    a, b = CHOOSING[choosing], STEEP[steep]
    for f in (lambda x: a(b(x)), lambda x: b(a(x)), lambda x: a(b(a(x))), lambda x: a(x) * b(x)):
        for g in (f, af.elementwise_grad(f)):
            forward, back = slopes_both_ways(g)
            both = ~np.isnan(forward) & ~np.isnan(back)
            np.testing.assert_allclose(forward[both], back[both], rtol=1e-12)
            assert np.any(both) or steep == "0/0"


@pytest.mark.parametrize(("f", "k", "right"), [
    (lambda x: np.nan_to_num(1 / x), 0, [0.0, np.nan]),  # backwards the 0 meets the slope: docs/forward-mode.md
    (lambda x: np.sqrt(np.clip(x, 0, 1)), 3, [0.0, 0.0]),
    (lambda x: np.log(3 * np.sqrt(np.maximum(x, 0)).reshape(3, 3).T).T.reshape(-1), 3, [0.0, 0.0]),
    (lambda x: np.sqrt(np.sum(np.fmax(np.stack([x, 0 * POINTS]), 0), axis=0)), 3, [0.0, 0.0]),
    (lambda x: np.maximum(x, 0) ** 0.5 * np.sqrt(1 + x * x), 3, [0.0, 0.0]),
    (lambda x: af.nn.huber_loss(x, 0 * np.arange(9.0), reduction="none"), 6, [1.0, 1.0]),
    (lambda x: np.sqrt((x + 1) ** 2), 3, [np.nan, np.nan]),  # 0 without a choice: |x + 1| has no slope here
    (lambda x: np.sqrt(np.prod(np.stack([x, x]), axis=0)), 0, [np.nan, np.nan]),  # nor has |x|
    (lambda x: np.sqrt(np.var(np.stack([x, 0 * POINTS]), axis=0)), 0, [np.nan, np.nan]),
    (lambda x: np.sqrt((1j * x).imag), 0, [np.inf, np.nan]),  # backwards 1j meets ∞
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_a_zero_that_was_chosen_meets_an_infinite_slope(f, k, right):
    np.testing.assert_array_equal([slopes[k] for slopes in slopes_both_ways(f)], right)
    if np.isfinite(right).all():
        x, t = POINTS[k : k + 1], np.ones(1)
        at_one = lambda x: f(np.where(np.arange(9) == k, x, POINTS))[k]  # noqa: E731
        slope = lambda x: af.jvp(at_one, x, t)[1]  # noqa: E731
        twice = af.hvp(at_one, x, t), af.grad(slope)(x), af.jacfwd(af.jacfwd(at_one))(x)[0]
        np.testing.assert_array_equal(twice, np.zeros((3, 1)))
        assert af.compile(slope)(x) == right[0]
