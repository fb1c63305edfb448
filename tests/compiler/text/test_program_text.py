"""``af.compile(f).program(...)`` as text: NumPy source gives the same bits, JavaScript (run by node) the same numbers.

All rows of the table are tried. A program that cannot be written has to be refused by name; which rows those are is
written down here, so that none is lost unseen.
"""

import doctest
import enum
import importlib.util
import inspect
import itertools
import json
import math
import re
import shutil
import warnings
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
from cases import EVERY
from compiled import check_calls, check_same, value_and_slopes, weighted_sum
from live_models import MODELS, model
from processes import in_node
from row_examples import examples_of
from support import rows

import autoflow as af
from autoflow import nn
from autoflow.compiler.text.javascript import FORMULAS, OF_BOOLEANS
from autoflow.errors import CompileError, InPlaceError

if importlib.util.find_spec("scipy"):  # these have rows, too
    for module in ("fft", "sparse.linalg"):
        importlib.import_module(f"autoflow.scipy.{module}")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def numbers(x):
    return np.array([float(v) for v in x])


def as_json(x):
    return json.dumps([str(v).replace("inf", "Infinity") if not np.isfinite(v) else float(v) for v in np.ravel(x)])


def run_text(program):
    space = {}
    exec(program.to_python(), space)
    return space[program.name]


def run_example(made, out=None):
    """The example in a docstring: how many lines failed, of how many, and the names that it has set."""
    test = doctest.DocTestParser().get_doctest(made.__doc__, made.__globals__, "program", None, 0)
    return *doctest.DocTestRunner().run(test, out=out, clear_globs=False), test.globs


def program_of_row(row, example):
    """The program of a value and gradients, its arguments and what it should give; None if there is none."""
    eager, values = value_and_slopes(row, example)
    if any([v is not None and v.dtype.kind == "c" for v in values]):
        return None
    with np.errstate(all="ignore"):
        try:
            given = [v for v in values if v is not None]
            return af.compile(eager).program(*values), given, af.tree_leaves(eager(*values))
        except Exception:  # the row wants other arguments, or cannot be compiled: it has tests of its own
            return None


def program_of_call(each):
    """The same of a call as users write it; several results are made into one."""
    rng = np.random.default_rng(0)
    values = [np.asarray(rng.uniform(*each.domain, shape)) for shape in each.shapes]

    def f(*operands):
        z = each.function(*operands)
        return weighted_sum(z * 1.0 if z.dtype.kind != "c" else z.real + z.imag)

    eager = af.value_and_grad(f, tuple(range(len(values))), allow_unused=True)
    with np.errstate(all="ignore"):
        try:
            return af.compile(eager).program(*values), values, af.tree_leaves(eager(*values))
        except (CompileError, InPlaceError):  # np.gradient of NumPy 2.3 sets a shape
            return None


@pytest.fixture(scope="module")
def programs_of_rows():
    found = [(row, program_of_row(row, each)) for row in rows(scipys=False) for each in examples_of(row)[:3]]
    return [(row, *program) for row, program in found if program is not None]


def node_run(programs):
    """Run each (name, text, arguments) once; what all gave."""
    lines = ["const RESULT = {};"]
    for name, text, args in programs:
        filled = "".join([f"p.inputs[{k}].set({as_json(x)}.map(Number));" for k, x in enumerate(args)])
        run = f"const p = makeProgram(); {filled} p.run(); RESULT['{name}'] = p.outputs.map(a => Array.from(a));"
        lines.append(f"{{ {text}; {run} }}")
    return in_node("\n".join(lines))


def check_numbers(found, wanted, rtol=0.0, atol=0.0, name=""):
    """What node gave is what NumPy gave."""
    for a, b in zip(found, wanted, strict=True):
        if b is not None:
            np.testing.assert_allclose(numbers(a), np.ravel(b).astype(float), rtol, atol, err_msg=name)


def check_in_node(calls, rtol=0.0):
    """The programs of these functions, with their arguments by name, in JavaScript."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = {name: af.tree_leaves(f(*args)) for name, (f, *args) in calls.items()}
        texts = [(name, af.compile(f).program(*args).to_javascript(), args) for name, (f, *args) in calls.items()]
    for name, found in node_run(texts).items():
        check_numbers(found, wanted[name], rtol, name=name)


NOT_COMPILED = {"np.corrcoef", "np.linalg.cond", "np.linalg.lstsq", "np.polyfit", "np.roots", "np.setdiff1d"}
REFUSED_CALLS = {
    "JavaScript": {
        "a constant of complex128", "arrays of complex128",
        "an index with a mask or a new axis that is known only when it runs (np.where keeps all)",
        "np.add.reduceat", "np.argwhere",
        "np.fft.fft", "np.fft.ifft", "np.fft.irfft", "np.fft.rfft", "np.frexp", "np.histogram", "np.interp", "np.ldexp",
        "np.linalg.eig", "np.linalg.eigh", "np.linalg.eigvals", "np.linalg.qr", "np.linalg.slogdet", "np.linalg.svd",
        "np.linspace", "np.modf", "np.nextafter", "np.partition", "np.searchsorted", "np.unique",
    },
    "NumPy source": {"autoflow.table.vjps.<lambda>"},
}  # fmt: skip
LAST_BIT = {"norm"}  # as in test_compile_rows.py
NO_PYTHON = {  # a rule that is one call, a view that is no index, SciPy's functions in C
    "det", "irfft", "lstsq", "pinv", "put_view", "rfft",
}  # fmt: skip
NO_JAVASCRIPT = {
    "astype", "det", "eig", "eigh", "eigvals", "eigvalsh", "fft", "frexp", "geomspace", "histogram", "ifft", "interp",
    "irfft", "ldexp", "linspace", "lstsq", "modf", "nanmedian", "nanpercentile", "nanquantile", "nextafter",
    "partition", "percentile", "pinv", "qr", "quantile", "reduceat", "rfft", "slogdet", "svd", "svdvals",
}  # fmt: skip


@pytest.mark.slow
def test_rows_as_numpy_source(programs_of_rows):
    refused, tried = set(), 0
    for row, program, values, expected in programs_of_rows:
        try:
            f = run_text(program)
        except CompileError:
            refused.add(row.name)
            continue
        with np.errstate(all="ignore"):
            results = af.tree_leaves(f(*values))
        for a, b in zip(results, expected, strict=True):
            if row.name in LAST_BIT:
                np.testing.assert_allclose(a, b, rtol=1e-15)
            else:
                np.testing.assert_array_equal(a, b, err_msg=row.name)
        tried += 1
    assert refused == NO_PYTHON
    assert tried > 350


@needs_node
@pytest.mark.slow
def test_rows_as_javascript(programs_of_rows):
    refused, programs, wanted = set(), [], {}
    for k, (row, program, values, expected) in enumerate(programs_of_rows):
        try:
            programs.append((f"{row.name} {k}", program.to_javascript(), values))
            wanted[f"{row.name} {k}"] = expected
        except CompileError:
            refused.add(row.name)
    for name, found in node_run(programs).items():
        check_numbers(found, wanted[name], 1e-12, 1e-13, name)
    assert refused == NO_JAVASCRIPT
    assert len(wanted) > 350


@needs_node
@pytest.mark.slow
def test_calls_as_users_write_them():
    """Functions that are composed of others, and every keyword: the right numbers in both languages, or refused."""
    programs, wanted, refused, not_compiled = [], {}, {"JavaScript": set(), "NumPy source": set()}, set()
    for each in EVERY:
        if (found := program_of_call(each)) is None:
            not_compiled.add(each.name.partition(" ")[0])
            continue
        program, values, expected = found
        try:
            with np.errstate(all="ignore"):
                for a, b in zip(af.tree_leaves(run_text(program)(*values)), expected, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15, err_msg=each.name)
        except CompileError as error:
            refused["NumPy source"].add(str(error).rpartition(": ")[2])
        try:
            programs.append((each.name, program.to_javascript(), values))
            wanted[each.name] = expected
        except CompileError as error:
            refused["JavaScript"] |= {*str(error).rpartition(": ")[2].split("; ")}
    for name, found in node_run(programs).items():
        check_numbers(found, wanted[name], 1e-11, 1e-12, name)
    if np.lib.NumpyVersion(np.__version__) < "2.4.0":  # it sets the shape of an array
        not_compiled.remove("np.gradient")
    assert not_compiled == NOT_COMPILED
    refused["JavaScript"].discard("np.sort(descending=)")  # of NumPy 2.5 and newer
    assert refused == REFUSED_CALLS
    assert len(wanted) > 270


METHODS = "linear lower higher nearest midpoint hazen weibull inverted_cdf median_unbiased".split()  # noqa: SIM905
OF_ONE_ARRAY = {  # that no row or call above has: known shares, modes, masks, whole numbers
    **{f"quantile {m}": lambda x, m=m: np.quantile(x, [0.1, 0.5, 1.0], axis=1, method=m) for m in METHODS},
    "percentile": lambda x: np.percentile(x, 30, axis=(0, -1), keepdims=True),
    "quantile of NaN": lambda x: np.quantile(np.where(x > 1.9, np.nan, x), 0.3, axis=0),
    "median of infinity": lambda x: np.median(np.where(x > 1.9, np.inf, x), axis=0),
    **{f"convolve {m} {n}": lambda x, m=m, n=n: np.convolve(x[0], x[1, :n], m) for m in ("full", "same", "valid")
       for n in (1, 2, 3, 4)},
    **{f"correlate {m} {n}": lambda x, m=m, n=n: np.correlate(x[1, :n], x[0], m) for m in ("full", "same", "valid")
       for n in (1, 2, 3, 4)},
    "share that is right": lambda x: np.mean(x > 1) + np.mean((x > 1).astype(int), axis=0),
    "masked mean": lambda x: np.mean(x, axis=1, where=x > 0.7),
    "masked largest": lambda x: np.max(x, axis=1, where=x > 0.7, initial=-1.0),
    "standard error": lambda x: np.std(x, 0, ddof=1) / np.sqrt(len(x)),
    "masked write": lambda x: np.where(x > 1, 0, 1) * (y := x * 1) + (y.__setitem__(y < 1, 0.5) or y),
    "without NaN": lambda x: np.nanmean(np.where(x > 1.5, np.nan, x), axis=0),
    "a quantile loss": lambda x: np.quantile(np.abs(x - np.mean(x)), 0.9),
    "norms": lambda x: sum([np.linalg.norm(x, p, axis=1) for p in (1, 2, 3, np.inf, -np.inf)]),
}  # fmt: skip


@needs_node
def test_options_of_reductions_in_javascript():
    x = np.random.default_rng(1).uniform(0.5, 2.0, (3, 4))
    check_in_node({name: (f, x) for name, f in OF_ONE_ARRAY.items()}, 1e-12)


EDGES = [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 1.0, -1.0, 3.0, 1e-20, -1e-20, 7e15, 1e300, np.inf, -np.inf, np.nan]
OF_EDGES = {
    "where": lambda x: np.where(x, 1.0, 2.0), "boolean": lambda x: x.astype(bool), "any": lambda x: np.any(x[-1:]),
    "all": np.all, "round": lambda x: np.round(x, 1), "angle": np.angle, "degrees": lambda x: np.angle(x, deg=True),
    "sort": np.sort, "clip": lambda x: np.clip(x, -1, 1), "nan_to_num": np.nan_to_num, "nanmax": np.nanmax,
}  # fmt: skip


@needs_node
def test_elementwise_functions_at_the_edges_in_javascript():
    """Every formula at zeros of both signs, halves, infinities and NaN, and at all pairs of them."""
    pairs = [x.ravel().copy() for x in np.meshgrid(EDGES, EDGES)]
    ufuncs = [f for f in FORMULAS if isinstance(f, np.ufunc) and f.nin < 3 and f not in {np.invert, *OF_BOOLEANS}]
    calls = {f.__name__: (f, *pairs) if f.nin == 2 else (f, np.array(EDGES)) for f in ufuncs}
    calls |= {name: (f, np.array(EDGES)) for name, f in OF_EDGES.items()}
    check_in_node(calls, 1e-12)
    assert len(calls) > 60


def test_reciprocals_of_whole_numbers_are_refused_in_javascript():
    with pytest.raises(CompileError, match=r"np\.reciprocal of integers"):
        af.compile(np.reciprocal).program(np.array([1, 2])).to_javascript()


@pytest.mark.parametrize("name", ["prod", "cumprod", "nanprod"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_products_that_wrap_are_refused_in_javascript(name, dtype):
    """Of many whole numbers: no double holds them."""
    with pytest.raises(CompileError, match="prod"):
        af.compile(lambda n: getattr(np, name)(n, dtype=dtype)).program(np.full(6, 30007)).to_javascript()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4), (0, 0)])
def test_arrays_without_elements_keep_their_shape_in_numpy_source(shape):
    empty, x = np.zeros(shape), np.ones(shape)
    f = af.compile(lambda x: np.concatenate([x, empty, x], axis=-1))
    assert run_text(f.program(x))(x).shape == f(x).shape


ODD = [np.array([1.0, np.nan, -np.inf]), np.zeros((0, 3)), np.array([[1.0, 2.0], [3.0, 4.0]], np.float32).T,
       np.array([complex(1.0, -0.0), complex(-0.0, np.inf), complex(np.nan, 1.0)]), np.array(True)]  # fmt: skip


@pytest.mark.parametrize("x", ODD)
def test_odd_numbers_in_numpy_source_are_the_same_and_its_example_runs(x):
    """As arguments, as arrays from outside, and as numbers in the program; with the signs of zeros."""
    number = complex(-0.0, np.inf)

    def f(a):
        return np.stack([a, x]), np.where(a == a, a, number)

    with np.errstate(all="ignore"):
        program = af.compile(f).program(x)
        for found, want in zip(run_text(program)(x), f(x), strict=True):
            assert found.dtype == want.dtype
            assert found.tobytes() == np.asarray(want).tobytes()
    failed, _, names = run_example(run_text(program))
    assert not failed
    np.testing.assert_array_equal(names["a"], x, strict=True)


def test_questions_of_numpys_own_code_are_asked_in_every_run():
    """The sum of weights may be zero: an error of NumPy's, none in the recording, and no number in the text."""

    def loss(w, x, k):
        return np.average(np.square(x @ w), weights=k)

    args = np.array([0.5, -1.0]), np.array([[1.0, 2.0], [0.5, 0.25], [3.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    zero = np.array([1.0, 0.0, -1.0])
    f = af.compile(af.value_and_grad(loss))
    np.testing.assert_array_equal(f(*args)[1], af.grad(loss)(*args))
    with pytest.raises(ZeroDivisionError, match="sum to zero"):
        f(*args[:2], zero)
    program = f.program(*args)
    with pytest.raises(ValueError, match="another way than in the recording"):
        run_text(program)(*args[:2], zero)
    if shutil.which("node"):
        (found,) = node_run([("f", program.to_javascript(), (*args[:2], zero))]).values()
        assert all([np.isnan(numbers(x)).all() for x in found])


@needs_node
def test_a_run_without_numbers_leaves_the_next_one_alone():
    """Results may be arguments, arrays from outside, and places that no run writes."""
    outside = np.array([4.0, 5.0])

    def f(w, k):
        value, g = af.value_and_grad(lambda w: np.average(w * w, weights=k))(w)
        return value, g, np.tril(np.outer(w, w)), w, outside

    w, k = np.array([1.0, -2.0]), np.array([1.0, 3.0])
    text = af.compile(f).program(w, k).to_javascript()
    runs = "".join([f"p.inputs[1].set({each}); p.run(); RESULT.push(p.outputs.map(a => Array.from(a)));"
                    for each in ([1.0, -1.0], k.tolist())])  # fmt: skip
    none, found = in_node(f"{text}; const RESULT = [], p = makeProgram(); p.inputs[0].set({w.tolist()}); {runs}")
    assert all([np.isnan(numbers(x)).all() for x in none])
    check_numbers(found, f(w, k))


@pytest.mark.parametrize("edge", [[0.0, 1.0, 2.0, 4.0], [0.0, 1.0, 2.0, 3.0]])
def test_a_quicker_way_of_numpys_is_taken_only_where_eager_code_takes_it(edge):
    x, even = np.array([1.0, 3.0, 2.0, 5.0]), np.array([0.0, 1.0, 2.0, 3.0])

    check_calls(af.value_and_grad(lambda x, c: np.sum(np.gradient(x, c) ** 2), (0, 1)), (x, even), (x, np.array(edge)))


NEAR = np.concatenate([[-(10.0**-k), 10.0**-k] for k in range(1, 14)])
SPECIAL = {
    "erf": np.linspace(-6, 6, 241), "erfc": np.linspace(-6, 26, 321),
    "gammaln": np.concatenate([np.linspace(-4.55, 60, 200), 1 + NEAR[6:], 2 + NEAR[6:], 10.0 ** np.arange(-9, 300, 9)]),
    "psi": np.linspace(-4.55, 60, 200), "expit": np.linspace(-40, 40, 81), "log_expit": np.linspace(-40, 40, 81),
    "logit": np.concatenate([np.linspace(0.01, 0.99, 50), 0.5 + NEAR / 2, [1e-300, 1 - 1e-16]]),
    "xlogy": np.linspace(0, 3, 31), "xlog1py": np.linspace(0, 3, 31),
}  # fmt: skip
EXTREME = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 2.0, -1.0, 0.5, 1e306, -1e17])


@needs_node
def test_special_functions():
    """To 1e-14, also near their zeros; those of psi, and of gammaln below 0, to 1e-14 absolutely."""
    special = pytest.importorskip("scipy.special")
    programs, wanted = [], {}
    for name, x in SPECIAL.items():
        f = getattr(special, name)
        wrapped = (lambda x, f=f: f(x, x + 0.5)) if name.startswith("xlog") else (lambda x, f=f: f(x))
        x = np.concatenate([x, EXTREME])
        programs.append((name, af.compile(wrapped).program(x).to_javascript(), [x]))
        with np.errstate(all="ignore"):
            want = wrapped(x)
        if name == "erfc":  # SciPy's own is less exact for large numbers, and its gammaln near 1 and 2
            want = np.vectorize(math.erfc)(x)
        if name == "gammaln":
            t = np.clip(x - np.clip(np.rint(x), 1, 2), -1, 1)
            series = -np.euler_gamma * t + np.pi**2 / 12 * t**2 - 0.40068563438653143 * t**3 + np.pi**4 / 360 * t**4
            near = np.abs(t) < 2e-4
            want[near] = series[near] + (x[near] > 1.5) * np.log1p(t[near])
        wanted[name] = x, want
    for name, (values,) in node_run(programs).items():
        (x, want), got = wanted[name], numbers(values)
        fine = np.isfinite(want)
        np.testing.assert_array_equal(got[~fine], want[~fine], err_msg=name)
        x, want, got = x[fine], want[fine], got[fine]
        absolute = (want == 0) | (name == "psi") | ((name == "gammaln") & (x < 0))
        error = np.abs(got - want) / np.where(absolute, np.maximum(np.abs(want), 1), np.abs(want))
        assert error.max() < 1e-14, (name, x[error.argmax()], error.max())


# -- six models, 200 steps each


def in_order(name):
    loss, _, params, data, lr = model(name)
    return loss, [*params.values()], [*data.values()], lr


STEPS = 200
TRAIN = """
const p = makeProgram(), RESULT = [];
FIRST.forEach((x, k) => p.inputs[k].set(x));
for (let s = 0; s < STEPS; s++) {
  p.run();
  for (let k = 0; k < N; k++) p.inputs[k].forEach((x, i) => { p.inputs[k][i] = x - LR * p.outputs[1 + k][i]; });
  RESULT.push([[p.outputs[0][0]], ...p.inputs.slice(0, N).map(a => Array.from(a))]);
}
"""


@needs_node
@pytest.mark.parametrize("name", MODELS)
def test_training_in_javascript_is_that_of_numpy(name):
    loss, params, data, lr = in_order(name)
    f = af.value_and_grad(loss, tuple(range(len(params))))
    text = af.compile(f).program(*params, *data).to_javascript()
    first = f"[{', '.join([as_json(x) for x in (*params, *data)])}]"
    theirs = in_node(f"{text}const FIRST = {first}, N = {len(params)}, STEPS = {STEPS}, LR = {lr};{TRAIN}")
    start = float(f(*params, *data)[0])
    for row in theirs:
        value, grads = f(*params, *data)
        params = [p - lr * g for p, g in zip(params, grads, strict=True)]
        for a, b in zip([value, *params], row, strict=True):
            assert np.max(np.abs(np.ravel(a) - b)) <= 1e-12 * max(1.0, np.max(np.abs(a)))
    assert value < 0.9 * start  # it has learnt something


@pytest.mark.parametrize("name", MODELS)
def test_numpy_source_has_the_same_bits_and_its_example_runs(name, tmp_path):
    loss, params, data, _ = in_order(name)
    f = af.value_and_grad(loss, tuple(range(len(params))))
    program = af.compile(f).program(*params, *data)
    text = program.to_python(tmp_path / "step.py")
    assert (tmp_path / "step.py").read_text(encoding="utf-8") == text == program.to_python()
    assert "autoflow" not in text
    function = run_text(program)
    check_same(function(*params, *data), f(*params, *data))
    failed, attempted, _ = run_example(function)
    assert not failed
    assert attempted >= 4 * len(params)


@pytest.mark.parametrize("name", MODELS)
def test_lines_and_names_are_those_of_the_source(name):
    loss, params, data, _ = in_order(name)
    program = af.compile(af.value_and_grad(loss, tuple(range(len(params))))).program(*params, *data)
    text = program.to_python()
    source = inspect.getsource(inspect.getmodule(loss) or loss).splitlines() if name != "spirals" else None
    noted = re.findall(r"^ *# (back through )?line (\d+): (.*)$", text, re.MULTILINE)
    assert {bool(back) for back, *_ in noted} == {True, False}
    for _, number, line in noted:
        assert source is None or source[int(number) - 1].strip() == line
    assert noted[0][2].startswith(("z = ", "h1 = ", "q, k, v", "y = ", "return x @ w", "h = ", "return powers"))
    wanted = {
        "logistic": "z", "spirals": "h1 h2 y", "curve": "y", "digits": "z", "rnn": "h_3 y", "attention": "looks q",
    }  # fmt: skip
    for word in wanted[name].split():
        assert f"    {word} = " in text


def test_names_of_the_program_hide_no_argument_and_no_module():
    def program(w, x):
        np_, value = x * w, w + 1.0
        w = np.tanh(np_ * value)
        tanh_1, erf, bool = np.tanh(w), nn.erf(w), w * 2.0
        is_large = (bool > 0.1).astype(float)
        return np.sum(np.tanh(w) * tanh_1 * np.tanh(value) * nn.erf(erf) * bool * is_large)

    f = af.value_and_grad(program)
    args = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    check_same(run_text(af.compile(f).program(*args))(*args), f(*args))


ARGUMENTS = {
    "words of Python's": {"lambda": np.ones(2), "in": np.ones(2)}, "modules": {"np": np.ones(2), "math": np.ones(2)},
    "functions": {"bool": np.ones(2), "slice": np.ones(2)}, "differences": {"difference": np.ones(2), "x": np.ones(2)},
    "two of one name": {"a": {"b": np.ones(2)}, "a_b": np.ones(2)},
    "results": {"value": np.ones(2), "results": np.ones(2)},
    "words of the example": {"rng": np.ones(40), "step": np.ones(40)},
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_any_name_have_one_in_numpy_source_and_its_example_runs(name):
    def loss(tree):
        w, x = af.tree_leaves(tree)
        return np.sum(np.tanh(np.linspace(0.1, 0.9, x.size) * x * (w > 0.5).astype(bool)) * w)

    leaves = af.tree_leaves(ARGUMENTS[name])
    for f in (loss, af.value_and_grad(loss), lambda tree: [loss(tree), loss(tree)]):
        made = run_text(af.compile(f).program(ARGUMENTS[name]))
        check_same(made(*leaves), f(ARGUMENTS[name]))
        assert not run_example(made)[0]


class Color(enum.Enum):
    RED = 1


Pair = namedtuple("Pair", "a b")
RESULTS = {
    "nothing": (), "infinity": float("inf"), "nan": (float("nan"), complex(0.0, -np.inf)), "text": "inf", "bytes": b"a",
    "dtype": [np.dtype(np.float32)], "others": {"a": (None, True, ...), 2: range(3)}, "one": ("a",), "list": [[]],
    "member": Color.RED, "class": int, "named tuple": Pair(1, 2), "ordered": OrderedDict(a=1), "key": {Color.RED: 1},
}  # fmt: skip


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("name", RESULTS)
def test_results_that_are_no_arrays_are_the_same_in_numpy_source_or_refused(name, beside):
    def f(x):
        return (x * 2.0, RESULTS[name]) if beside else RESULTS[name]

    program = af.compile(f).program(np.ones(2))
    if name in ("dtype", "member", "class", "named tuple", "ordered", "key"):
        with pytest.raises(CompileError, match="cannot be written as NumPy source: it returns"):
            program.to_python()
        return
    made = run_text(program)
    assert repr(made(np.ones(2))) == repr(f(np.ones(2)))
    assert not run_example(made)[0]


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4"])
def test_the_other_byte_order_in_numpy_source(n, dtype):
    other = np.arange(n).astype(dtype)

    def f(x):
        return x + other, x.astype(dtype), np.stack([other, x])

    for x in (np.ones(n), other):
        made = run_text(af.compile(f).program(x))
        check_same(made(x), f(x))
        assert not run_example(made)[0]


def test_a_wrong_gradient_fails_in_the_example():
    f = af.value_and_grad(lambda w, x: np.sum(np.tanh(x @ w)))
    program = af.compile(f).program(np.ones(2), np.eye(2))
    space = {}
    exec(program.to_python().replace("1 - np.square(tanh_1)", "0.9 - np.square(tanh_1)"), space)
    assert run_example(space["program"], out=lambda _: None)[0] == 1


def test_arguments_of_the_last_call_and_containers():
    @af.compile
    def step(params, x):
        loss, g = af.value_and_grad(lambda p: np.mean((x @ p["w"] + p["b"]) ** 2))(params)
        return loss, {key: params[key] - 0.1 * g[key] for key in params}

    with pytest.raises(CompileError, match="nothing was recorded yet"):
        step.program()
    step({"w": np.ones(3), "b": np.array(0.5)}, np.eye(3))
    program = step.program()
    assert [*program.inputs] == ["w", "b", "x"]
    assert repr(program).startswith("<program of step: w float64(3,), b float64(), x float64(3, 3);")
    assert "return result_1, {'w': result_2, 'b': result_3}" in program.to_python()
    params = {"w": np.array([1.0, -2.0, 0.5]), "b": np.array(2.0)}
    check_same(run_text(program)(*params.values(), np.eye(3)), step(params, np.eye(3)))


def test_what_cannot_be_written_is_named_all_of_it():
    program = af.compile(lambda x: np.fft.ifft(np.fft.fft(x)).real + np.linalg.det(np.diag(x))).program(np.ones(4))
    with pytest.raises(CompileError, match=r"cannot be written as JavaScript: np\.fft\.fft; np\.linalg\.det") as caught:
        program.to_javascript()
    assert "ifft" not in str(caught.value)  # its operand is the reason
    with pytest.raises(CompileError, match="arrays of float16"):
        af.compile(lambda x: x * x).program(np.ones(2, np.float16)).to_javascript()
    with pytest.raises(CompileError, match="axes are not in C order"):
        af.compile(lambda x: x * 2).program(np.ones((2, 3)).T).to_javascript()


@needs_node
def test_large_numbers_that_are_moved_are_no_addresses():
    def f(x):
        wide = np.pad(x, 1, constant_values=np.inf)
        wide[1] = 3e12
        return wide, np.concatenate([x, np.full(2, 1e300), [np.nan]]), np.stack([x, np.full(3, -np.inf)])

    check_in_node({"f": (f, np.array([1.0, 2.0, 3.0]))})


PARTS = {
    "i": np.array([2, -1]), "j": np.array([[0], [-3]]), "0": 0, ":": slice(None), "1:": slice(1, None),
    "::-2": slice(None, None, -2),
}  # fmt: skip


@needs_node
def test_indices_of_whole_numbers_that_are_arguments():
    """Each mixture with slices and numbers: read, written, and with the gradient."""
    calls = {}
    for words in itertools.product(PARTS, repeat=3):
        if not {"i", "j"} & {*words}:
            continue

        def f(x, i, j, words=words):
            index = tuple([{"i": i, "j": j}.get(word, PARTS[word]) for word in words])
            y = af.grad(lambda x: np.sum(np.square(x[index])))(x)
            copy = x.copy()
            copy[index] = 7.0
            return x[index], y, copy

        calls[" ".join(words)] = f, np.arange(60.0).reshape(4, 3, 5), PARTS["i"], PARTS["j"]
    check_in_node(calls)
    assert len(calls) == 6**3 - 4**3


@needs_node
def test_whole_numbers_masks_and_numbers_from_outside():
    mask, places = np.array([True, False, True, True]), np.array([3, 0])

    def f(x, n):
        kept = np.where(x > 0, x, -x)[mask]
        return kept, x[places], n + 1, (x > 0).astype(int), np.cumsum(n), x.std(), x[n[:2]]

    check_in_node({"f": (f, np.array([1.5, -2.0, 0.25, -0.0]), np.array([1, -1, 3]))}, 1e-15)


def assigned(a, index, new):
    a = a.copy()
    a[index] = new
    return a


def copied(a, new):
    a = a.copy()
    np.copyto(a, new, casting="unsafe")
    return a


ONES = np.ones((), np.float32)
OF_DTYPES = {  # what a typed array, or JavaScript, does otherwise than NumPy
    "whole numbers are not -0": lambda n: 1.0 / np.concatenate([n * -n, -n, np.cumprod(-n)]),
    "products wrap": lambda n: n * n * n, "squares wrap": np.square,
    "without signs": lambda n: n.astype(np.uint32) * n.astype(np.uint32),
    "sums of products wrap": lambda n: np.einsum("i,i->", n, n), "a number of Python": lambda n: n * ONES * 0.1,
    "equal to a number of Python": lambda n: (n * ONES / 10).astype(np.float32) == 0.3,
    "at least": lambda n: (n * ONES / 10).astype(np.float32) >= 0.7,
    "the largest number": lambda n: np.nan_to_num((n / np.zeros(1)).astype(np.float32)),
    "written": lambda n: assigned(n, 1, 2.7),
    "written by another array": lambda n: assigned(n, slice(1, 3), np.array([0.5, 1.0]) * n[:2] / 3),
    "written all": lambda n: np.full_like(n, 2.7) + n, "inserted": lambda n: np.insert(n, 1, 2.7),
    "padded": lambda n: np.pad(n, 1, constant_values=-2.7), "copied": lambda n: copied(n, 2.7),
    "joined": lambda n: np.concatenate([n, n / 3], dtype=np.float32),
    "stacked": lambda n: np.stack([n / 3, n], dtype=np.float32),
    "sums of cut numbers": lambda n: np.cumsum(n / 2, dtype=int),
    "sums of cut numbers, by place": lambda n: np.cumsum(n / 2, 0, int),
    "a sum of cut numbers": lambda n: np.sum(n / 2, 0, int),
    "a sum in another dtype": lambda n: np.sum((n / 3).astype(np.float32), None, float),
    "a mean": lambda n: np.mean((n / 3).astype(np.float32), dtype=float),
    "a mean of a short dtype": lambda n: np.mean((n / 7).astype(np.float32)) == np.float32(0.2),
    "a variance": lambda n: np.var((n / 3).astype(np.float32), dtype=float),
    "a product of booleans": lambda n: (np.outer(n, n) > -9) @ (np.outer(n, n) > 0),
    "how many are true": lambda n: np.sum((np.outer(n, n) > -9) @ (np.outer(n, n) > 0)),
    "einsum of booleans": lambda n: np.sum(np.einsum("i,j->", n > -9, n > -9)),
    "booleans": lambda n: (n / np.zeros(1)).astype(bool),
    "a remainder": lambda n: np.fmod(n, n - n) if n.dtype.kind in "iu" else n,
    "a turned mask": lambda n: assigned(n, (n > 1)[::-1], 9),
    "a mask that is a part": lambda n: assigned(n[:2], (n > 1)[2:4], 9),
    "a transposed mask": lambda n: assigned(np.outer(n, n), (n[:, None] > n + 1).T, 0),
    "a repeated mask": lambda n: assigned(np.outer(n, n), np.broadcast_to(n[:, None] > 1, (n.size, n.size)), 0),
    "running sums of short numbers": lambda n: np.cumsum(np.append(n / 3, [1e8, 0.3, -1e8]).astype(np.float32)),
    "a short sum": lambda n: np.sum(n.astype(np.int8) * 100, dtype=np.int8),
    "an address": lambda n: np.pad(n / 3, 1, constant_values=1.0996e12),
    "-0": lambda n: 1 / np.pad(n / 3, 1, constant_values=-0.0),
    "too few for a variance": lambda n: np.stack([np.var(n, ddof=k) for k in (n.size, n.size + 1)]),
    "too few that are numbers": lambda n: np.nanstd(np.where(n > 0, n, np.nan), ddof=3),
    "no numbers": lambda n: np.nanvar(np.where(n > 0, n, np.nan), ddof=4),
}  # fmt: skip


@needs_node
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "float64", "float32"])
def test_dtypes_are_those_of_numpy_in_javascript(dtype):
    """Values and typed arrays, whether NumPy computes in integers of any size, truth, or short numbers."""
    n = np.array([3, 0, 7, 2**30 + 7 if dtype == "int32" else 5]).astype(dtype)
    check_in_node({name: (f, n) for name, f in OF_DTYPES.items()}, 1e-12)
