"""What the caller's program does next with an attribute: found in straight code, and nowhere guessed."""

import sys

import numpy as np
import pytest

import autoflow as af
from autoflow.nodes.grads import read_once, read_operator


class Asked:
    """Its attribute answers with the operator that will take the answer."""

    @property
    def grad(self):
        self.found = read_once(read_operator, sys._getframe(1), "grad")
        return 1.0


TAKEN = {
    "0.1 * a.grad": "*", "a.grad * 0.1": "*", "a.grad * 1000": "*", "0.1 * b * a.grad": "*", "a.grad - b.real": "-",
    "b - (b + 2.0) * a.grad": "*", "b @ a.grad if False else b / a.grad": "/", "-a.grad": "-", "a.grad ** 2": "**",
}  # fmt: skip
FREE = [
    "a.grad is None", "a.grad", "abs(a.grad)", "[a.grad]", "(a.grad, b)", "a.grad or 2", "not a.grad",
    "print(a.grad, end='')", "a.grad if b else 3", "[a.grad] + [b]", "(a.grad, 2) + (3,)", "{'g': a.grad}",
    "f'{a.grad}'", "a.grad == b", "a.grad.real", "str(a.grad) + 's'", "getattr(a, 'grad') * 2",
]  # fmt: skip


@pytest.mark.parametrize(("code", "found"), [*TAKEN.items(), *[(code, None) for code in FREE]])
def test_the_operator_that_takes_the_answer_is_found(code, found):
    a = Asked()
    eval(code, {"a": a, "b": np.float64(2.0)})
    assert a.found == found


def test_inside_functions_and_often():
    a, b = Asked(), 2.0

    def step(b):
        for _ in range(30):  # Python specialises what runs often
            b -= 0.1 * a.grad
        return b

    assert step(b) == pytest.approx(-1.0)
    assert a.found == "*"


def test_none_and_bytes_are_still_answers():
    w = af.Variable(2.0, name="w")
    grads = [w.grad for _ in range(3)]
    assert grads == [None, None, None]
    assert (w.grad is None, (w * 2).grad, af.Constant(1.0).grad) == (True, None, None)
    assert bytes(w.data) == np.float64(2.0).tobytes() == w.data.tobytes()
    assert af.Variable([1, 2]).data[1] == 2.0
    assert (w.data == w.data) is True


def test_adding_to_the_gradient_works_once_it_is_there():
    w = af.Variable(2.0, name="w")
    with pytest.raises(TypeError, match=r"w\.grad is None, and \+= needs numbers"):
        w.grad += 1.0
    (w * w).backward()
    w.grad += 1.0
    assert w.grad == 5.0
