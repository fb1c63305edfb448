"""A LostGradientError names what cut the history: variable, line, what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autoflow as af
from autoflow.nodes.cuts import CAUSES, explain


def detached(x: Any) -> Any:
    return np.sum(x.detach() * 2)


def stopped(x: Any) -> Any:
    return np.sum(af.stop_gradient(x))[None][0]


def not_recorded(x: Any) -> Any:
    with af.no_grad():
        y = x * 2
    return np.sum(y) + 1.0


def of_several_results(x: Any) -> Any:
    with af.no_grad():
        q, _ = np.linalg.qr(np.outer(x, x) + np.eye(2))
    return np.sum(q)


@af.no_grad()
def inner(x: Any) -> Any:
    return np.sum(x * x)


def decorated(x: Any) -> Any:
    return inner(x) * 2.0


def frozen(x: Any) -> Any:
    x.requires_grad = False
    return np.sum(np.exp(x))


def frozen_itself(x: Any) -> Any:
    x.requires_grad = False
    return x


def made_of_constants(x: Any) -> Any:
    c = af.Constant([1.0, 2.0])
    return np.sum(c * 2.0)


EXPECTED = {
    detached: "its history was cut by x.detach()",
    stopped: "its history was cut by af.stop_gradient(x)",
    not_recorded: "it was computed under af.no_grad()",
    of_several_results: "it was computed under af.no_grad()",
    decorated: "it was computed under af.no_grad()",
    frozen: "x is frozen. Set x.requires_grad = True",
    frozen_itself: "x is frozen. Set x.requires_grad = True",
    made_of_constants: "first of af.Constant([1.0, 2.0])",
}


@pytest.mark.parametrize(("f", "text"), EXPECTED.items())
def test_the_cause_is_named(f: Callable[[Any], Any], text: str) -> None:
    y = f(af.Variable([1.0, 2.0], name="x"))
    with pytest.raises(af.errors.LostGradientError) as caught:
        af.backward(y)
    message = str(caught.value)
    assert text in message
    assert "usual causes" not in message
    if "frozen" not in f.__name__ and f is not decorated:
        assert f"(line {f.__code__.co_firstlineno + 1} of test_cuts.py)" in message
    with pytest.raises(af.errors.LostGradientError) if not isinstance(y, af.Variable) else pytest.raises(TypeError):
        y.register_hook(print if not isinstance(y, af.Variable) else None)


def test_transforms_name_it_too() -> None:
    def f(v: Any) -> Any:
        return np.sum(v.detach() * 2.0)

    for differentiate in (af.grad, af.value_and_grad, af.jacobian, af.hessian):
        with pytest.raises(af.errors.LostGradientError, match=r"its history was cut by .*Leave out detach"):
            differentiate(f)(np.ones(2))
    x = af.Variable(np.ones(2), name="x")
    with pytest.raises(af.errors.LostGradientError, match="it is made of Constants"):
        af.gradients(np.sum(x * x), [af.Constant(1.0)])


def test_without_places_the_cause_is_named_all_the_same() -> None:
    with af.options(source=False):
        x = af.Variable([1.0, 2.0], name="x")
        assert explain(x.detach()).startswith("its history was cut by detach() or stop_gradient().")


def test_what_nothing_is_known_of() -> None:
    assert explain(np.ones(2)) == ""
    assert set(CAUSES) == {"detached", "not recorded", "frozen", "not a float", "made"}
