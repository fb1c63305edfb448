"""Anomaly mode: the first value or gradient that is not finite, and where it was computed."""

import inspect
import re
from types import SimpleNamespace

import numpy as np
import pytest

import autoflow as af
from autoflow.backprop.anomaly import detect_anomaly
from autoflow.errors import AnomalyError
from autoflow.extending.function import Function

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def here(ahead=1):
    """This file, and a line of the caller so far ahead."""
    return re.escape(f"{__file__}:{inspect.stack()[1].lineno + ahead}")


@pytest.mark.parametrize("n", [3, 5000])
def test_the_first_bad_value(n):
    x = af.Variable(np.arange(float(n)), name="x")
    with detect_anomaly():
        y = x * 2.0
        line = here(2)
        with pytest.raises(AnomalyError, match=rf"log_0 became -inf at index \(0,\); .* \({n},\) -> .*{line}"):
            np.log(y)
    assert isinstance(np.log(y), af.Operation)


def test_line_and_cause():
    x = af.Variable(np.array([[1.0, 2.0], [np.nan, 0.0]]), name="x")
    with detect_anomaly():
        line = here(2)
        with pytest.raises(AnomalyError) as caught:
            x * 2.0
    assert re.search(
        rf"multiply_0 became nan at index \(1, 0\).*computed at {line}\. Here x already", str(caught.value)
    )
    for call, words in (
        (lambda: af.Variable(1.0) * np.inf, "a plain operand already had such entries"),
        (lambda: af.Variable(np.ones(5000)) + np.full(5000, np.nan), "a plain operand already had"),  # nobody needs it
        (lambda: np.exp(af.Variable(1000.0)), r"became inf; .*its operands are finite"),
    ):
        with detect_anomaly(), pytest.raises(AnomalyError, match=words):
            call()


@pytest.mark.parametrize("n", [(), (3,), (5000,)])
@pytest.mark.parametrize("create_graph", [False, True])
def test_the_first_bad_gradient(n, create_graph):
    x = af.Variable(np.zeros(n), name="x")
    with detect_anomaly():
        line = here()
        y = np.sqrt(x)
        z = (y * 3.0).sum()
        with pytest.raises(AnomalyError, match=rf"sqrt sent .* to x, though the gradient of sqrt_0 .*at {line}"):
            z.backward(create_graph=create_graph)
    assert x.grad is None
    z.backward()
    assert np.all(x.grad == np.inf)
    z = np.sqrt(x).sum()
    with detect_anomaly(), pytest.raises(AnomalyError, match="outside this mode"):
        z.backward()


def test_gradients_that_come_from_elsewhere():
    x = af.Variable([1.0, 2.0], name="x")
    with detect_anomaly():
        y = x * 2.0
        with pytest.raises(AnomalyError, match=r"gradient of multiply_0 became nan at index \(1,\): in the seed"):
            y.backward([1.0, np.nan])
        y.register_hook(lambda g: g * np.inf)
        with pytest.raises(AnomalyError, match="in a hook of it"):
            y.sum().backward()
        huge = af.Variable(np.float64(1e-10), name="huge")
        with pytest.raises(AnomalyError, match=r"gradient of huge became inf: .* added up"):
            (huge * 1.7e308 + huge * 1.7e308).backward()
        half = af.Variable(np.array(0.25, np.float16), name="half")
        for name, x in (("half", half), (r"multiply_\d+", half * np.float16(1))):
            with pytest.raises(AnomalyError, match=rf"gradient of {name} became inf.*(added up|rounded to float16)"):
                (x * np.float16(40_000) + x * np.float16(40_000)).backward()


def test_errors_in_a_rule_show_the_line():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError("oh")

    with detect_anomaly():
        line = here()
        y = Failing.apply(af.Variable(1.0))
        with pytest.raises(ZeroDivisionError) as caught:
            (y * 2.0).backward()
    assert re.search(f"while differentiating Failing_0, computed at {line}", caught.value.__notes__[0])


def test_nested_decorated_and_off_again():
    @detect_anomaly()
    def f(x):
        with detect_anomaly():
            return np.log(x)

    with pytest.raises(AnomalyError):
        f(af.Variable(0.0))
    assert f(af.Variable(1.0)).grad_fn.extra.line.startswith(__file__)
    assert (af.Variable(1.0) * 2).grad_fn.extra is None


def test_results_are_the_same():
    x = af.Variable([1.0, 2.0])
    with detect_anomaly():
        found = af.gradients(np.sum(np.sin(x) * x))[x]
    assert np.array_equal(found, af.gradients(np.sum(np.sin(x) * x))[x])
    assert af.grad(detect_anomaly()(lambda x: x**3))(2.0) == 12.0


@pytest.mark.parametrize(
    ("name", "place"), [(("Cell", "In[7]"), "Cell In[7], line 2"), (None, "<cell>:2"), ("", "<cell>:2")]
)
def test_a_notebook_says_which_cell(name, place):
    """Whose shell may know no name of the cell, or be none."""
    shell = None if name == "" else SimpleNamespace(compile=SimpleNamespace(format_code_name=lambda file: name))
    names = {"get_ipython": lambda: shell, "np": np, "x": af.Variable(0.0)}
    with pytest.raises(AnomalyError, match=re.escape(f"computed at {place}. ")), detect_anomaly():
        exec(compile("\ny = np.log(x)", "<cell>", "exec"), names)
