"""The command line: formulas, their values and gradients, pictures, and everything that is refused."""

import importlib
import subprocess
import sys
import tempfile
import time
import webbrowser
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow.__main__ import main, protect_minus_signs
from autoflow.cli import commandline
from autoflow.cli.commandline import Calculator, Refused, format_value, nodes_of, print_table

EXAMPLE = "a1 = x + y + z; a2 = x*y*z; a1**2 * sin(a2) - a1*cos(a2)"
POINT = ["x=3", "y=5", "z=4"]


def compute(formula, **values):
    calculator = Calculator()
    for name, text in values.items():
        calculator.give(name, str(text))
    return calculator.run(formula)


def refusal(capsys, *argv):
    """The one line on stderr with which the command line refuses."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("autoflow: ")
    assert err.count("\n") == 1
    return err


# What is computed


def test_example_prints_values_and_gradients(capsys):
    assert main([EXAMPLE, *POINT]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = {words[0]: [float(word) for word in words[1:]] for words in map(str.split, lines[1:])}
    a1, a2 = 12.0, 60.0
    by_a1, by_a2 = 2 * a1 * np.sin(a2) - np.cos(a2), a1**2 * np.cos(a2) + a1 * np.sin(a2)
    np.testing.assert_allclose(table["x"], [3, by_a1 + 20 * by_a2], rtol=1e-9)
    np.testing.assert_allclose(table["y"], [5, by_a1 + 12 * by_a2], rtol=1e-9)
    np.testing.assert_allclose(table["z"], [4, by_a1 + 15 * by_a2], rtol=1e-9)
    np.testing.assert_allclose(table["a1"], [a1, by_a1], rtol=1e-9)
    np.testing.assert_allclose(table["a2"], [a2, by_a2], rtol=1e-9)
    np.testing.assert_allclose(table["subtract_0"], [a1**2 * np.sin(a2) - a1 * np.cos(a2), 1], rtol=1e-9)
    assert list(table)[:3] == ["x", "y", "z"]


@pytest.mark.parametrize(("formula", "expected"), [
    ("x + y", 5.0), ("x - y", -1.0), ("x * y", 6.0), ("x / y", 2 / 3), ("x // y", 0.0), ("x % y", 2.0), ("x ** y", 8.0),
    ("-x", -2.0), ("+x", 2.0), ("2 ** 3 ** 2 * x", 1024.0), ("x * pi", 2 * np.pi), ("x * e", 2 * np.e),
    ("exp(x)", np.exp(2.0)), ("add(x, y)", 5.0), ("sum([x, y, 1])", 6.0), ("1e2 * x", 200.0), ("\na = x\na * y\n", 6.0),
])  # fmt: skip
def test_formulas(formula, expected):
    assert float(compute(formula, x=2, y=3)) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("formula", "values", "expected"), [
    ("x @ w", {"x": "[[1, 2], [3, 4]]", "w": "[0.5, -1]"}, [-1.5, -2.5]), ("sum(x)", {"x": "[]"}, 0),
    ("sum(x, axis=0)", {"x": "[[1, 2], [3, 4]]"}, [4, 6]),
    ("max(x, axis=-1, keepdims=True)", {"x": "[[1, 2], [3, 4]]"}, [[2], [4]]),
    ("x + 0", {"x": "[pi/2, -1, 2**0.5]"}, [np.pi / 2, -1, 2**0.5]),  # values may be small formulas
])  # fmt: skip
def test_arrays_axes_and_products(formula, values, expected):
    np.testing.assert_array_equal(compute(formula, **values).value, expected)


def test_functions_are_numpys_and_those_of_the_table():
    known = commandline.functions()
    assert all([function is getattr(np, name) for name, function in known.items()])
    assert {"exp", "log", "tanh", "sum", "max", "multiply"} <= set(known)
    others = {"load", "save", "fromfile", "array", "zeros", "ones", "full", "eval", "frompyfunc", "matmul"}
    assert not others & set(known)


def test_a_part_keeps_its_name_and_an_input_too():
    root = compute("a = x; b = a * a; c = b; c + 1", x=2)
    assert {"x", "b"} <= {node.name for node in nodes_of(root)}
    assert "a" not in {node.name for node in nodes_of(root)}


@pytest.mark.parametrize(("argv", "shown", "hidden"), [
    (["a = w * 2; x * x", "x=[1,2]", "w=1"],
     ["Not used in the result: w, a.", "gradients of the sum of its elements", "[2, 4]"], "Note"),
    (["log(x)", "x=0"], ["-inf"], "Warning"), (["-x**2", "x=3"], ["\nnegative_0"], "Note"),
    # more than af.options.keep elements stay with the graph here: the table shows numbers
    (["x * y * 2", f"x=[{','.join('1' * 70)}]", f"y=[{','.join(['[2]'] * 70)}]"], [], "nan"),
])  # fmt: skip
def test_what_is_shown(argv, shown, hidden, capsys):
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert [text for text in shown if text not in out] == []
    assert hidden not in out
    assert not err


def test_a_formula_may_begin_with_a_minus_sign():
    assert protect_minus_signs(["-omega*t", "-h", "-o", "--demo"]) == [" -omega*t", "-h", "-o", "--demo"]


def test_options_may_stand_anywhere(tmp_path, capsys):
    assert main(["-o", str(tmp_path / "a.dot"), "x*y", "x=3", "y=2"]) == 0
    assert main(["x*y", "x=3", f"--output={tmp_path / 'b.dot'}", "y=2"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.dot", "b.dot"]
    assert main([EXAMPLE, *POINT, "-o", str(tmp_path / "g.dot")]) == 0
    text = (tmp_path / "g.dot").read_text(encoding="utf-8")
    assert "digraph" in text
    assert "a1" in text


def test_shown():
    assert format_value(np.array(1 / 3)) == "0.3333333333"
    assert format_value(np.arange(100.0)) == "[0, 1, 2, ..., 97, 98, 99]"
    assert "\n" not in format_value(np.ones((30, 30)))


def test_each_node_listed_attribute_once(capsys):
    x = af.Variable(2.0, "x")
    y = x * x
    root = y * y + y
    nodes = nodes_of(root)
    assert [node.name for node in nodes] == ["x", "multiply_0", "multiply_1", "add_0"]
    root.backward()
    print_table(nodes)
    assert capsys.readouterr().out.splitlines()[2].split() == ["multiply_0", "4", "9"]


# What is refused


REFUSED = {  # why -> what is refused
    "Attribute": ["x.value", "x.__class__"], "Subscript": ["x[0]"], "Lambda": ["lambda: x"],
    "ListComp": ["[i for i in x]"], "Set": ["{x}"], "Dict": ["{x: x}"], "Tuple": ["(x, x)"], "IfExp": ["x if x else x"],
    "Compare": ["x < 1"], "BoolOp": ["x and x"], "UnaryOp": ["not x", "~x"], "BinOp": ["x << 2", "x | 2"],
    "NamedExpr": ["(y := x)"], "JoinedStr": ["f'{x}'"], "not a": ["..."],
    "not a real number": ["'text'", "b'text'", "True", "None", "1j * x"], "complex": ["(-8) ** 0.5 * x"],
    "not a formula": ["import os", "from os import path", "del x", "a = b = x", "a, b = x", "x += 1", "x: float = 1",
        "def f(): pass", "while 1: x"],
    "no formula": [""], "no function '__import__'": ["__import__('os')"], "no function 'eval'": ["eval('x')"],
    "no function 'open'": ["open('x')"], "no function 'load'": ["load(x)"], "no function 'x'": ["x(2)"],
    "Call": ["x.sum()", "sin.reduce(x)", "(lambda: 1)()"], "no value": ["__builtins__"], "w has no value": ["w * x"],
    "write exp(...)": ["exp * x"], "not a name": ["a_1 = x; a_1", "_ = x"],
    "has a value already": ["x = x + 1", "a = x; a = a + 1"], "takes 1 value by position": ["exp(x, x)"],
    "takes 2 values by position": ["add(x)"], "written out": ["sum(x, axis=x)"], "not out": ["sum(x, out=x)"],
    "not **": ["sum(x, **x)"], "Starred": ["sum(*x)"], "axis": ["sum(x, axis=7)", "exp(x, axis=0)"],
    "sum": ["sum(x, axis='a')"], "division by zero": ["1 / 0 + x"], "invalid syntax": ["x +", "x +* y", " ; "],
    "null": ["x\0"], "nothing to differentiate": ["1 + 2"], "array": ["[x, [x, x]]"],
}  # fmt: skip


@pytest.mark.parametrize(("formula", "reason"), [(text, why) for why, texts in REFUSED.items() for text in texts])
def test_refused(formula, reason, capsys):
    assert reason in refusal(capsys, formula, "x=3")


@pytest.mark.parametrize(("formula", "reason"), [
    ("9**9**9 * x", "exponent"), ("x**1001", "exponent"), ("x**-1001", "exponent"), ("1e300 ** 5 * x", "pow"),
    ("1" + "0" * 400 + " * x", "too large"), ("9" * 5000, "digits"), ("x" + " + x" * 2500, "characters"),
    ("x" + " + x" * 200, "nested too deeply"), ("0" + "-" * 150 + "x", "nested too deeply"),
    ("0" + "-" * 9000 + "x", "nested too deeply"), ("exp(" * 110 + "x" + ")" * 110, "nested too deeply"),
    ("(" * 150 + "x" + ")" * 150 + "*", "invalid syntax"), ("[" * 3000, "deeply"), ("x*" * 4999, "deeply"),
])  # fmt: skip
def test_large_formulas_are_refused_at_once(formula, reason, capsys):
    start = time.process_time()
    reason = reason if reason != "deeply" else ""  # which of the parser's limits is met first depends on its version
    assert reason in refusal(capsys, formula, "x=3")
    assert time.process_time() - start < 2


def test_large_results_are_refused_before_they_are_computed(capsys):
    row = "x=[" + "1," * 4500 + "]"
    column = "y=[" + "[1]," * 2400 + "]"
    assert "at most 10,000,000" in refusal(capsys, "x * y", row, column)
    assert "at most 10,000,000" in refusal(capsys, "y @ [x]", row, column)
    column = "y=[" + "[1]," * 1200 + "]"
    assert "at most 10,000,000" in refusal(capsys, "a = x * y; a + a", row, column)  # all the results together


@pytest.mark.parametrize(("values", "reason"), [
    (["x"], "not of the form name=value"), (["x="], "must be a number"), (["x=y"], "y has no value"),
    (["x=3", "x=4"], "has a value already"), (["x=3", "y=x"], "must be a number"), (["x='a'"], "not a real number"),
    (["x=1; y=2"], "must be a number"), (["x=[1,[2]]"], "array"), (["x=None"], "not a real number"),
    (["_x=1"], "not a name"), (["2=1"], "not a name"), (["x y=1"], "not a name"), (["lambda=1"], "not a name"),
    (["x=open('f')"], "no function"),
])  # fmt: skip
def test_refused_values(values, reason, capsys):
    assert reason in refusal(capsys, "x * 2", *values)


@pytest.mark.parametrize(("formula", "meant"), [
    ("x^2", "x**2"), ("2x", "2*x"), ("3x^2 + 2 (x - 1)(x + 1)", "3*x**2 + 2*(x - 1)*(x + 1)"), ("1.5x", "1.5*x"),
    ("math.sin(x)", "sin(x)"), ("np.exp(-x) + numpy.cos(x)", "exp(-x) + cos(x)"), ("x² − 1", "x**2 - 1"),
    ("2·x", "2*x"), ("a = 2x; a^2", "a = 2*x; a**2"),
])  # fmt: skip
def test_a_refused_formula_is_guessed(formula, meant, capsys):
    assert refusal(capsys, formula, "x=3").endswith(f"; did you mean  {meant}\n")
    assert main([meant, "x=3"]) == 0


def test_guesses_leave_correct_formulas_alone():
    for formula in ("x**2", "2e5 * x", "log10(x)", "1e-3*x", "x1 + 2", "arctan2(x, 2)", "sum([x, 2], axis=0)", EXAMPLE):
        assert commandline.guess(formula) == formula
    for formula in ("x[0]", "x +"):
        assert "did you mean" not in refusal_of(formula)


def refusal_of(formula):
    with pytest.raises(Refused) as caught:
        compute(formula, x=3)
    return str(caught.value)


@pytest.mark.parametrize(("formula", "hint"), [
    ("sine(x)", "did you mean sin or "), ("tanhh(x)", "did you mean tanh"), ("ln(x)", "did you mean log"),
    ("sigmoid(x)", "did you mean 1 / (1 + exp(-x))"), ("x(2)", "for a product write x * (...)"),
    ("qqqqq(x)", "--help lists them"), ("w", "no value; give it one: w=2"), ("xx", "or, if you mean a product,  x * x"),
])  # fmt: skip
def test_unknown_names_are_guessed(formula, hint):
    assert hint in refusal_of(formula)


@pytest.mark.parametrize(("formula", "sentence"), [
    ("1/(x - 1)", "Note: the result is infinite (divide of 1 and subtract_0 = 0)."),
    ("log(x - 1)", "Note: the result is infinite (log of subtract_0 = 0)."),
    ("log(x - 2)", "Note: the result is NaN (not a number) (log of subtract_0 = -1)."),
    ("1/(x - 1)*0", "Note: it began with divide_0, which is infinite (divide of 1 and subtract_0 = 0)."),
    ("sqrt(x - 1)", "Note: the gradient of subtract_0 is infinite: the function has no finite slope here."),
])  # fmt: skip
def test_a_result_that_is_not_finite_is_mentioned(formula, sentence, capsys):
    af.reset()
    assert main([formula, "x=1"]) == 0
    out, err = capsys.readouterr()
    assert sentence in out.splitlines()
    assert not err
    assert main(["x*x", "x=1"]) == 0
    assert "Note" not in capsys.readouterr().out


# Pictures


def test_picture_is_written_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph").write_bytes(b"mine")
    (tmp_path / "graph.dot").write_bytes(b"mine")
    assert main([EXAMPLE, *POINT, "-o", "graph.svg"]) == 0
    assert "The graph is in graph.svg." in capsys.readouterr().out
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8").count("<svg") == 1
    assert (tmp_path / "graph").read_bytes() == (tmp_path / "graph.dot").read_bytes() == b"mine"
    assert len(list(tmp_path.iterdir())) == 3


def test_open_shows_a_page(tmp_path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda url: shown.append(url) or True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["x*x", "x=3", "--open"]) == 0
    (page,) = tmp_path.rglob("graph.html")
    assert shown == [page.as_uri()]
    assert f"The graph is in {page}." in capsys.readouterr().out
    assert "<html" in page.read_text(encoding="utf-8")
    assert main(["x*x", "x=3", "--open", "-o", str(tmp_path / "a.svg")]) == 0
    assert shown[1:] == [(tmp_path / "a.svg").as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert main(["x*x", "x=3", "--open"]) == 0
    assert "No browser was found" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["graph.exe", "graph", "graph.py"])
def test_unknown_formats_leave_the_file_alone(tmp_path, capsys, name):
    (tmp_path / name).write_bytes(b"mine")
    assert "was not written" in refusal(capsys, "x*x", "x=1", "-o", str(tmp_path / name))
    assert (tmp_path / name).read_bytes() == b"mine"


def test_places_that_cannot_be_written(tmp_path, capsys):
    assert "is a directory" in refusal(capsys, "x*x", "x=1", "-o", str(tmp_path))
    assert "was not written" in refusal(capsys, "x*x", "x=1", "-o", str(tmp_path / "no" / "graph.dot"))


def test_a_refused_formula_writes_nothing(tmp_path, capsys):
    refusal(capsys, "x.y", "x=1", "-o", str(tmp_path / "graph.svg"))
    assert not list(tmp_path.iterdir())


# The program


def program(*argv, **options):
    return subprocess.run(
        [sys.executable, "-m", "autoflow", *argv], capture_output=True, encoding="utf-8", timeout=60, check=False,
        cwd=Path(af.__file__).parent.parent, **options,
    )  # fmt: skip


USAGE = "usage: python -m autoflow"
HELP = ["--demo", "--version", "--output", "--open", "name=value", "sum(tanh(s))", "arctan2"]


@pytest.mark.parametrize(("argv", "status", "words", "said"), [
    (["x * y", "x=3", "y=5"], 0, ["name", "value", "gradient"], []), (["--help"], 0, HELP, []),
    (["--version"], 0, [f"autoflow {af.__version__}\n"], []), ([], 2, [USAGE, "x * exp(-x**2)"], []),
    (["__import__('os').getcwd()", "x=3"], 2, [], ["autoflow: "]), (["--nonsense"], 2, [], [USAGE]),
    (["x", "-o"], 2, [], [USAGE]),
])  # fmt: skip
def test_program(argv, status, words, said):
    done = program(*argv)
    assert done.returncode == status
    for text, wanted in ((done.stdout, words), (done.stderr, said)):
        assert [word for word in wanted if word not in text] == []
        assert bool(text) == bool(wanted)
    assert done.stderr.count("\n") == len(said) or USAGE in said


def test_importing_the_command_line_runs_nothing(capsys):
    importlib.import_module("autoflow.__main__")
    assert capsys.readouterr().out == ""
