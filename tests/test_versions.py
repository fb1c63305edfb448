"""NumPy's versions: what differs is recorded, and a newer one breaks nothing and is refused where it says more."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.table import outside, shapes
from autoflow.table.shapes import DEPRECATED, IN_C, KEYWORDS, UNTIL, since
from autoflow.table.table import RULES

LISTS = {"plain": outside.PLAIN, "unseen": outside.BYPASS_DISPATCH}


@pytest.mark.parametrize("name", UNTIL)
def test_functions_that_were_taken_away(name):
    last, kind = UNTIL[name]
    there = vars(np).get(name)
    assert (there is None) == (tuple(map(int, last.split("."))) < shapes.INSTALLED)
    assert there is None or there in LISTS[kind]


@pytest.mark.parametrize(("name", "keyword"), KEYWORDS)
def test_keywords_that_were_added(name, keyword):
    """Where NumPy knows them they are in a row, whose tests are generated; elsewhere NumPy says that it does not."""
    assert keyword in RULES[getattr(np, name)].names
    function, method = getattr(np, name), getattr(af.Variable([2.0, 1.0]) * 1.0, name)
    if since(KEYWORDS[name, keyword]):
        assert isinstance(function(af.Variable([2.0, 1.0]), **{keyword: True}), af.Operation)
        return
    for call in (lambda **options: function(af.Variable([2.0, 1.0]), **options), method):
        with pytest.raises(TypeError, match=keyword):
            call(**{keyword: True})


def test_arguments_that_numpy_tells_are_as_recorded(monkeypatch):
    for function in IN_C:
        recorded = IN_C[function].split()
        monkeypatch.setitem(IN_C, function, "")
        assert shapes.positional(function) == (recorded if since("2.4") else [])


def test_arguments_of_ufuncs_have_names_in_every_version():
    assert af.grad(np.multiply, "x2")(2.0, 3.0) == 2.0
    assert "kink at x = 0" in str(af.check(np.abs, 0.0))


@pytest.mark.parametrize("name", DEPRECATED)
def test_autoflow_itself_calls_nothing_that_is_deprecated(name):
    if name not in vars(np):
        return
    x = af.Variable([1.5, -0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function = getattr(np, name)
        z = function(x * 2.0)
        (z * z).sum().backward(create_graph=True)
        z.replay({x: np.array([2.5, 3.5])})
        af.compile(lambda x: function(x) * x)(x)
        af.jvp(function, (x.value,), (x.value,))
    with pytest.warns(DeprecationWarning, match=name) if since(DEPRECATED[name]) else warnings.catch_warnings():
        assert np.array_equal(z.value, function(2 * x.value))


# A NumPy of the future: functions gone, a function, a keyword of a row, one of a composed function, and a method more.
NEWER = """
import ctypes, gc
import numpy as np
from numpy._core.overrides import array_function_dispatch
from autoflow_names import gone

np.__version__ = "2.99.0"
for name in gone:
    vars(np).pop(name, None)

def with_shiny(function):
    def more(x, *args, shiny=None, **options):
        return function(x, *args, **options)
    more.__name__ = function.__name__
    return array_function_dispatch(lambda x, *args, **options: (x,), module="numpy", verify=False)(more)

np.brand_new = with_shiny(np.sum)
np.brand_new.__name__ = "brand_new"
np.mean, np.delete = with_shiny(np.mean), with_shiny(np.delete)
gc.get_referents(np.ndarray.__dict__)[0]["shine"] = lambda self: self.fill(0)
ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.ndarray))

import autoflow as af
x = af.Variable([1.0, 2.0, 4.0])
(np.mean(x * x) + np.delete(x * x, 1)[0]).backward()
print(x.grad)
for call in (lambda: np.brand_new(x), lambda: np.mean(x, shiny=1), lambda: np.delete(x, 0, shiny=1), lambda: x.shine()):
    try:
        print("not refused", call())
    except af.errors.NoRuleError as error:
        print(error)
print(x.value)
"""


def test_a_newer_numpy_breaks_nothing_and_is_refused_by_name(tmp_path):
    (tmp_path / "autoflow_names.py").write_text(f"gone = {[*UNTIL, *DEPRECATED]}\n")
    done = subprocess.run([sys.executable, "-W", "error", "-c", NEWER], check=False, capture_output=True, text=True,
                          env={"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    grad, function, row, composed, method, value = done.stdout.splitlines()
    assert grad == str(np.array([2 / 3 + 2, 4 / 3, 8 / 3]))
    assert function.startswith("np.brand_new of a node is not differentiated")
    assert row.startswith("mean of a node is differentiated as mean(")
    assert "not with shiny=" in row
    assert composed.startswith("np.delete of a node: got an unexpected keyword argument 'shiny'")
    assert method.startswith("x.shine() of a node is not recorded: autoflow does not know this method of NumPy 2.99.0")
    assert value == "[1. 2. 4.]"
