"""``af.compile(f).program(...)`` as text: NumPy source gives the same bits, JavaScript (run by node) the same numbers.

All rows of the table are tried. A program that cannot be written has to be refused by name; which rows those are is
written down here, so that none is lost unseen.
"""

import doctest
import importlib.util
import inspect
import itertools
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from live_models import MODELS, model
from row_examples import examples_of
from support import rows, values_of

import autoflow as af
from autoflow.errors import CompileError

if importlib.util.find_spec("scipy"):  # these have rows, too
    for module in ("fft", "sparse.linalg"):
        importlib.import_module(f"autoflow.scipy.{module}")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def in_node(script):
    """What a script says as JSON, in which NaN and infinities are text."""
    tail = "console.log(JSON.stringify(RESULT, (k, x) => typeof x === 'number' && !isFinite(x) ? String(x) : x));"
    done = subprocess.run(["node", "-"], input=script + tail, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def numbers(x):
    return np.array([float(v) for v in x])


def as_json(x):
    return json.dumps([str(v) if not np.isfinite(v) else float(v) for v in np.ravel(x)])


def run_text(program):
    space = {}
    exec(program.to_python(), space)
    return space[program.name]


def program_of_row(row, example):
    """The program of a value and gradients, its arguments and what it should give; None if there is none."""
    values = values_of(row, example)
    places = tuple([k for k, v in enumerate(values) if v is not None and v.dtype.kind == "f"])
    if any([v is not None and v.dtype.kind == "c" for v in values]):
        return None

    def f(*operands):
        z = row.function(*([list(operands)] if row.variadic else operands), **example.options)
        return (z * np.sin(np.arange(1.0, np.size(z) + 1)).reshape(np.shape(z))).sum()

    eager = af.value_and_grad(f, places, allow_unused=True)
    with np.errstate(all="ignore"):
        try:
            given = [v for v in values if v is not None]
            return af.compile(eager).program(*values), given, af.tree_leaves(eager(*values))
        except Exception:  # the row wants other arguments, or cannot be compiled: it has tests of its own
            return None


def every_program(count):
    for row in rows(scipys=False):
        for example in examples_of(row)[:count]:
            if (found := program_of_row(row, example)) is not None:
                yield row, *found


def node_run(programs):
    """Run each (name, text, arguments) once; what all gave."""
    lines = ["const RESULT = {};"]
    for name, text, args in programs:
        filled = "".join([f"p.inputs[{k}].set({as_json(x)}.map(Number));" for k, x in enumerate(args)])
        run = f"const p = makeProgram(); {filled} p.run(); RESULT['{name}'] = p.outputs.map(a => Array.from(a));"
        lines.append(f"{{ {text}; {run} }}")
    return in_node("\n".join(lines))


LAST_BIT = {"norm"}  # as in test_compile_rows.py
NO_PYTHON = {  # a rule that is one call, a view that is no index, SciPy's functions in C
    "det", "irfft", "lstsq", "pinv", "put_view",
}  # fmt: skip
NO_JAVASCRIPT = {
    "convolve", "correlate", "det", "eigh", "eigvalsh", "frexp", "geomspace", "histogram", "interp", "irfft", "ldexp",
    "linspace", "lstsq", "modf", "nancumprod", "nancumsum", "nanmax", "nanmean",
    "nanmedian", "nanmin", "nanpercentile", "nanquantile", "nanstd", "nanvar", "nextafter",
    "partition", "percentile", "pinv", "qr", "quantile", "reduceat", "slogdet", "svd", "svdvals",
    "unwrap", "weighted_quantile",
}  # fmt: skip


@pytest.mark.slow
def test_rows_as_numpy_source():
    refused, tried = set(), 0
    for row, program, values, expected in every_program(3):
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
def test_rows_as_javascript():
    refused, programs, wanted = set(), [], {}
    for k, (row, program, values, expected) in enumerate(every_program(3)):
        try:
            programs.append((f"{row.name} {k}", program.to_javascript(), values))
            wanted[f"{row.name} {k}"] = expected
        except CompileError:
            refused.add(row.name)
    found = node_run(programs)
    for name, expected in wanted.items():
        for a, b in zip(found[name], expected, strict=True):
            if b is not None:
                np.testing.assert_allclose(numbers(a), np.ravel(b), rtol=1e-12, atol=1e-13, err_msg=name)
    assert refused == NO_JAVASCRIPT
    assert len(wanted) > 350


SPECIAL = {
    "erf": np.linspace(-6, 6, 241), "erfc": np.linspace(-6, 6, 241), "gammaln": np.linspace(-4.55, 60, 200),
    "psi": np.linspace(-4.55, 60, 200), "expit": np.linspace(-40, 40, 81), "logit": np.linspace(0.01, 0.99, 50),
    "log_expit": np.linspace(-40, 40, 81), "xlogy": np.linspace(0, 3, 31), "xlog1py": np.linspace(0, 3, 31),
}  # fmt: skip


@needs_node
def test_special_functions():
    """erf and gammaln to 1e-14, of numbers below 1 absolutely."""
    special = pytest.importorskip("scipy.special")
    programs = []
    for name, x in SPECIAL.items():
        f = getattr(special, name)
        wrapped = (lambda x, f=f: f(x, x + 0.5)) if name.startswith("xlog") else (lambda x, f=f: f(x))
        programs.append((name, af.compile(wrapped).program(x).to_javascript(), [x]))
        SPECIAL[name] = x, wrapped(x)
    for name, (values,) in node_run(programs).items():
        want = SPECIAL[name][1]
        error = np.abs(numbers(values) - want) / np.maximum(np.abs(want), 1)
        assert error.max() < 1e-14, (name, SPECIAL[name][0][error.argmax()], error.max())


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
    space = {}
    text = program.to_python(tmp_path / "step.py")
    assert (tmp_path / "step.py").read_text(encoding="utf-8") == text
    assert "autoflow" not in text
    exec(text, space)
    function = space[program.name]
    for a, b in zip(af.tree_leaves(function(*params, *data)), af.tree_leaves(f(*params, *data)), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    test = doctest.DocTestParser().get_doctest(function.__doc__, space, program.name, None, 0)
    results = doctest.DocTestRunner(verbose=False).run(test)
    assert results.failed == 0
    assert results.attempted >= 4 * len(params)


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
        "logistic": "z",
        "spirals": "h1 h2 y",
        "curve": "y",
        "digits": "z",
        "rnn": "h_3 y",
        "attention": "looks q",
    }
    for word in wanted[name].split():
        assert f"    {word} = " in text


def test_names_of_the_program_hide_no_argument_and_no_module():
    def program(w, x):
        np_, value = x * w, w + 1.0
        w = np.tanh(np_ * value)
        tanh_1 = np.tanh(w)
        return np.sum(np.tanh(w) * tanh_1 * np.tanh(value))

    f = af.value_and_grad(program)
    args = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    written = run_text(af.compile(f).program(*args))
    for a, b in zip(written(*args), f(*args), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_wrong_gradient_fails_in_the_example():
    f = af.value_and_grad(lambda w, x: np.sum(np.tanh(x @ w)))
    program = af.compile(f).program(np.ones(2), np.eye(2))
    text = program.to_python().replace("1 - np.square(tanh_1)", "0.9 - np.square(tanh_1)")
    space = {}
    exec(text, space)
    test = doctest.DocTestParser().get_doctest(space["program"].__doc__, space, "program", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed == 1


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
    text = program.to_python()
    assert "return result_1, {'w': result_2, 'b': result_3}" in text
    space = {}
    exec(text, space)
    params = {"w": np.array([1.0, -2.0, 0.5]), "b": np.array(2.0)}
    for a, b in zip(
        af.tree_leaves(space["step"](*params.values(), np.eye(3))), af.tree_leaves(step(params, np.eye(3))), strict=True
    ):
        np.testing.assert_array_equal(a, b)


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

    x = np.array([1.0, 2.0, 3.0])
    (found,) = node_run([("f", af.compile(f).program(x).to_javascript(), [x])]).values()
    for a, b in zip(found, f(x), strict=True):
        np.testing.assert_array_equal(numbers(a), np.ravel(b))


PARTS = {
    "i": np.array([2, -1]),
    "j": np.array([[0], [-3]]),
    "0": 0,
    ":": slice(None),
    "1:": slice(1, None),
    "::-2": slice(None, None, -2),
}


@needs_node
def test_indices_of_whole_numbers_that_are_arguments():
    """Each mixture with slices and numbers: read, written, and with the gradient."""
    x = np.arange(60.0).reshape(4, 3, 5)
    programs, wanted = [], {}
    for words in itertools.product(PARTS, repeat=3):
        if not {"i", "j"} & {*words}:
            continue

        def f(x, i, j, words=words):
            index = tuple([{"i": i, "j": j}.get(word, PARTS[word]) for word in words])
            y = af.grad(lambda x: np.sum(np.square(x[index])))(x)
            copy = x.copy()
            copy[index] = 7.0
            return x[index], y, copy

        name = " ".join(words)
        programs.append(
            (name, af.compile(f).program(x, PARTS["i"], PARTS["j"]).to_javascript(), [x, PARTS["i"], PARTS["j"]])
        )
        wanted[name] = f(x, PARTS["i"], PARTS["j"])
    for name, results in node_run(programs).items():
        for a, b in zip(results, wanted[name], strict=True):
            np.testing.assert_array_equal(numbers(a), np.ravel(b), err_msg=name)
    assert len(programs) == 6**3 - 4**3


@needs_node
def test_whole_numbers_masks_and_numbers_from_outside():
    mask, places = np.array([True, False, True, True]), np.array([3, 0])

    def f(x, n):
        kept = np.where(x > 0, x, -x)[mask]
        return kept, x[places], n + 1, (x > 0).astype(int), np.cumsum(n), x.std(), x[n[:2]]

    x, n = np.array([1.5, -2.0, 0.25, -0.0]), np.array([1, -1, 3])
    (found,) = node_run([("f", af.compile(f).program(x, n).to_javascript(), [x, n])]).values()
    for a, b in zip(found, f(x, n), strict=True):
        np.testing.assert_allclose(numbers(a), np.ravel(b), rtol=1e-15)
