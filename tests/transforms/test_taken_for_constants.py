"""A transform takes a Variable that its function captures for a constant. If a pass brings a gradient to that Variable
later, it may lack a part, and that is said; if it cannot, nothing is."""

import warnings

import numpy as np
import pytest

import autoflow as af
from autoflow.errors import UnprovedWarning

V, X = np.array([1.0, 2.0]), np.array([0.5, 0.3])
ROWS = np.stack([X, X])
TAKING = (
    "af.grad(f)(X)", "af.grad(f, allow_unused=True)(X)", "af.value_and_grad(f)(X)[0]", "af.value_and_grad(f)(X)[1]",
    "af.grad_and_aux(lambda x: (np.sum(x * x), w * x))(X)[1]", "af.grad_and_aux(lambda x: (np.sum(x * x), w))(X)[1]",
    "af.jvp(f, X, X)[0]", "af.jvp(f, X, X)[1]", "af.vjp(f, X)[0]", "af.vjp(f, X)[1](1.0)[0]",
    "af.linearize(f, X)[1](X)", "af.linear_transpose(lambda x: w * x, X)(X)[0]", "af.hvp(f, X, X)", "af.hessian(f)(X)",
    "af.jacobian(lambda x: w * x * x)(X)", "af.elementwise_grad(lambda x: w * x * x)(X)",
    "af.grad(lambda x: np.sum(h * x))(X)", "af.grad(af.grad(lambda x: w[0] * x**3))(2.0)",
    "af.grad(lambda x, w: np.sum(x * w))(X, w)", "af.grad(lambda p: f(p['x']))({'x': X})['x']",
    "af.grad(f)(w.detach())", "af.vmap(af.grad(f))(ROWS)", "af.vmap(lambda x: af.jvp(f, (x,), (x,))[1])(ROWS)",
    "af.compile(f)(X)", "again(X)", "af.compile(lambda x: h * x)(X)", "af.compile(af.grad(f))(X)",
    "af.compile(af.vmap(f))(ROWS)", "af.vmap(af.compile(af.grad(f)))(ROWS)",
)  # fmt: skip
NOT_TAKING = (
    "af.grad(lambda x: np.sum(w.value * x**2))(X)", "af.no_grad().call(af.grad(f), X)",
    "af.options(prove='never').call(af.grad(f), X)", "af.grad(lambda x: np.sum(x * x))(X)",
    "af.grad(lambda x, w: np.sum(x * w), (0, 1))(X, w)[0]", "af.grad(f)(w)", "af.jvp(f, (w,), (X,))[1]",
    "af.vmap(f)(ROWS)", "af.compile(f)(w)", "af.no_grad().call(again, X)",
    "af.check(f, X) and X", "af.gradcheck(f, X, order=2) and X", "af.compile(f).plan(X) and X",
    "af.compile(af.grad(f)).plan(X) and X", "af.compile(af.grad(f)).program(X) and X",
    "af.grad(lambda x: np.sum(other * x * x))(X)", "af.grad(lambda x: np.sum(af.Variable(V) * x))(X)",
)  # fmt: skip
PASSES = {
    "backward": lambda loss, w: loss.backward(), "gradients": lambda loss, w: af.gradients(loss),
    "gradients of w": lambda loss, w: af.gradients(loss, [w]),
}  # fmt: skip


def given(source, reach, between=lambda w: None, is_older=False):
    """The warnings of passes after the line ``source``."""
    w, other = af.Variable(V, name="w"), af.Variable(V, name="other")
    h = w * 2.0

    def f(x):
        return np.sum(np.tanh(w * x) ** 2)

    again = af.compile(f)
    af.no_grad().call(again, X)
    names = {"af": af, "np": np, "V": V, "X": X, "ROWS": ROWS, "w": w, "other": other, "h": h, "f": f, "again": again}
    before = np.sum(w * w)
    found = eval(compile(source, f"<{source}>", "eval"), names)
    between(w)
    loss = before if is_older else np.sum(w * w) + np.sum(np.asarray(found) ** 2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        reach(loss, w)
        reach(np.sum(w * w), w)  # it is said once for each call
    return [x for x in said if x.category is UnprovedWarning]


@pytest.mark.parametrize("source", TAKING)
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_to_what_was_taken_for_a_constant_is_told(source, name):
    (warning,) = given(source, PASSES[name])
    assert "takes w for a constant" in str(warning.message)
    assert (warning.filename, warning.lineno) == (f"<{source}>", 1)


@pytest.mark.parametrize("source", NOT_TAKING)
def test_what_is_right_or_meant_is_not_told(source):
    assert not given(source, PASSES["backward"])


def test_a_loss_that_cannot_contain_it_is_not_told():
    assert not given("af.grad(f)(X)", PASSES["backward"], is_older=True)
    assert not given("af.grad(f)(X)", PASSES["backward"], between=lambda w: w.assign(V))
    assert not given("af.grad(f)(X)", lambda loss, w: af.Variable(2.0).backward())
    assert not given("af.grad(f)(X)", lambda loss, w: np.sum(w * w).backward())
    assert not given("af.grad(f)(X)", lambda loss, w: np.sum(np.maximum(w, 0) ** 2 / 2).backward())


@pytest.mark.parametrize("reached", range(3))
def test_one_line_that_takes_several_variables_one_after_the_other(reached):
    def taking(w):
        return af.grad(lambda x: np.sum(np.tanh(w * x)))(X)

    ws = [af.Variable(V, name=name) for name in "abc"]
    found = [taking(w) for w in ws]
    ws[1].assign(V)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        np.sum(ws[reached] * found[reached]).backward()
    assert ["takes a for" in str(x.message) or "takes c for" in str(x.message) for x in said] == [True] * (reached != 1)


def test_optimisers_steps_are_writes():
    w = af.Variable(V, name="w")
    optimiser = af.optim.SGD([w], 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            np.sum(w * w).backward()
            af.grad(lambda x: np.sum(w * x))(X)  # a measure, between the pass and the step
            optimiser.step()
            optimiser.zero_grad()
