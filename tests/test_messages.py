"""Typical mistakes, and what a newcomer reads: each message says what to do. One table."""

# ruff: noqa: E501 - a table of messages

import math
import operator
import re
import sys

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim
from autoflow.base.spellings import tables
from autoflow.forward.array_methods import PLAIN


def matrix():
    return af.Variable(np.ones((3, 4)), name="W")


def vector(n=3):
    return af.Variable(np.ones(n), name="x")


def number(name="w"):
    return af.Variable(2.0, name=name)


def in_a_loop(ask):
    """The line of the textbook, and what is asked of the new ``w``."""
    w = number()
    optimiser = optim.SGD([w], lr=0.1)
    for _ in range(3):
        loss = (w - 3.0) ** 2
        loss.backward()
        w = w - 0.1 * w.grad
        ask(w, optimiser)


def add_to_data():
    p = number("p")
    p.data += -0.1 * 2.0


def way_round():
    x = number("x")
    y = x * x
    y.name = "y"
    return y.why(x)


def with_local_names():
    weights, inputs = af.Variable(np.ones((3, 4))), np.ones(3)
    return weights @ inputs


def in_place():
    W, x = matrix(), vector()
    with af.no_grad():
        W += x


# fmt: off
ROWS = {
    # shapes: the type and text are NumPy's, the note is ours
    "matrix @ vector": (lambda: matrix() @ vector(), ValueError,
        "W has shape (3, 4), x has shape (3,): (n, k) @ (k, m) needs 4 == 3; x @ W and W.T @ x fit"),
    "plain @ vector": (lambda: np.ones((3, 4)) @ vector(), ValueError,
        "the left operand has shape (3, 4), x has shape (3,): (n, k) @ (k, m) needs 4 == 3"),
    "names of the caller": (with_local_names, ValueError, "weights has shape (3, 4), inputs has shape (3,): (n, k) @"),
    "np.dot": (lambda: np.dot(matrix(), vector()), ValueError, "(n, k) @ (k, m) needs 4 == 3"),
    "number @ array": (lambda: np.matmul(number(), vector()), ValueError, "a number is multiplied by *"),
    "stacks of matrices": (lambda: np.ones((2, 3, 4)) @ af.Variable(np.ones((5, 4, 3)), name="B"), ValueError,
        "the axes before the last two, (2,) and (5,), must be equal or 1"),
    "matrix + vector": (lambda: matrix() + vector(), ValueError,
        "axes are compared from the last one on, and 4 and 3 are neither equal nor 1; x[:, np.newaxis] fits"),
    "np.multiply": (lambda: np.multiply(vector(2), vector(3)), ValueError, "x has shape (2,), x has shape (3,): axes"),
    "in place": (in_place, ValueError, "W has shape (3, 4), x has shape (3,): axes"),
    "into a part": (lambda: operator.setitem(af.zeros(4), slice(1, 3), vector()), ValueError, "x has shape (3,)"),
    "reshape": (lambda: vector().reshape(2, 2), ValueError, "3 elements, and (2, 2) has 4; -1 in place of one length"),
    "reshape(-1)": (lambda: vector().reshape(2, -1), ValueError, "3 elements, which cannot be divided by 2"),
    "concatenate": (lambda: np.concatenate([matrix(), vector()]), ValueError, "all need the same number of axes"),
    "concatenate lengths": (lambda: np.concatenate([matrix(), matrix().T]), ValueError,
        "but that of the joined axis must be equal"),
    "stack": (lambda: np.stack([vector(2), vector(3)]), ValueError, "np.stack needs equal shapes"),
    "einsum": (lambda: np.einsum("ij,j->i", matrix(), vector()), ValueError, "W has shape (3, 4), x has shape (3,)"),
    "solve": (lambda: np.linalg.solve(matrix(), vector()), np.linalg.LinAlgError,
        "W has shape (3, 4), x has shape (3,)"),
    "axis": (lambda: matrix().sum(axis=2), np.exceptions.AxisError, "W has shape (3, 4)"),
    "index": (lambda: vector()[5], IndexError, "x has shape (3,)"),
    "ragged": (lambda: af.Variable([[1, 2], [3]]), ValueError,
        "The rows of this list have lengths 2, 1: an array needs equal ones. Pad them"),
    "ragged operand": (lambda: vector() * [[1, 2], [3]], ValueError, "Pad them"),
    # before the backward pass
    "lr * None": (lambda: 0.1 * number().grad, TypeError,
        "w.grad is None, and * needs numbers: no backward pass has reached w yet"),
    "None * lr": (lambda: number().grad * 0.1, TypeError, "Call loss.backward() first"),
    "-None": (lambda: -number().grad, TypeError, "w.grad is None"),
    "w - lr * None": (lambda: number() - 0.1 * number().grad, TypeError, "w.grad is None"),
    "of a Constant": (lambda: 0.1 * af.Constant(2.0, name="c").grad, TypeError,
        "c gets none, because it is a Constant"),
    "of an Operation": (lambda: 0.1 * (vector() * np.ones(3)).grad, TypeError, "keep_grads=True"),
    "node * None": (lambda: number() * (lambda: None)(), TypeError,
        "One operand is None. A gradient (w.grad) is None until backward()"),
    "step() without gradients": (lambda: optim.SGD([number()], lr=0.1).step(), RuntimeWarning,
        "none of its 1 parameters has a gradient. Call zero_grad(), then loss.backward(), then step()"),
    "backward(1.0)": (lambda: (vector() * 2).backward(1.0), af.errors.SeedError,
        "Leave it out for the gradient of multiply_0.sum()"),
    # w = w - lr * w.grad
    "zero_grad in a loop": (lambda: in_a_loop(lambda w, _: w.zero_grad()), TypeError,
        "w = w - lr * w.grad has made an Operation of it, and the graph grows with each step. Write into the Variable instead: with af.no_grad(): w -= lr * w.grad"),
    "step in a loop": (lambda: in_a_loop(lambda _, optimiser: optimiser.step()), TypeError,
        "SGD.step() changes Variables, and subtract_1 is no longer one: w = w - lr * w.grad has"),
    "optimiser in a loop": (lambda: in_a_loop(lambda w, _: optim.SGD([w], lr=0.1)), TypeError,
        "with af.no_grad(): w -= lr * w.grad"),
    "optimiser of arrays": (lambda: optim.SGD([np.ones(3)], lr=0.1), TypeError, "wrap it, w = af.Variable(w)"),
    "groups of parameters": (lambda: optim.SGD([{"params": [af.Variable(1.0)]}], lr=0.1), TypeError, "for each group"),
    "optimiser of operations": (lambda: optim.SGD([vector() * 2], lr=0.1), TypeError,
        "give it what this was computed from"),
    # the wrong thing, the wrong way round
    "af.grad(node)": (lambda: af.grad(number() * 2.0), TypeError,
        "multiply_0 is a node. The gradients of a node: multiply_0.backward(), then x.grad; or gx, gy = af.gradients(multiply_0, [x, y])"),
    "af.grad(node, node)": (lambda: (lambda x: af.grad(x * x, x))(number("x")), TypeError, "af.gradients(multiply_0, [x, y])"),
    "af.grad(number)": (lambda: af.grad(3.0), TypeError, "as in af.grad(lambda x: x * x)(3.0), not float 3.0"),
    "y.why(x)": (way_round, af.errors.LostGradientError,
        "because y was computed from x: the other way round, x.why(y)"),
    # as in PyTorch
    "view(shape)": (lambda: vector(6).view(2, 3), af.errors.NoRuleError,
        "x.view takes a dtype, as in NumPy; the same numbers in another shape: x.reshape(2, 3)"),
    "view((-1,))": (lambda: vector(6).view((-1,)), af.errors.NoRuleError, "x.reshape(-1)"),
    "x.std(dim=)": (lambda: matrix().std(dim=0), af.errors.NoRuleError, "For dim= write axis="),
    "backward(retain_graph=)": (lambda: number().backward(retain_graph=True), TypeError,
        "Node.backward() got an unexpected keyword argument 'retain_graph': for retain_graph= write nothing: graphs stay"),
    "softmax(dim=)": (lambda: nn.softmax(matrix(), dim=0), af.errors.NoRuleError, "For dim= write axis="),
    "x.sum(nonsense=)": (lambda: matrix().sum(nonsense=0), TypeError,
        "Node.sum() got an unexpected keyword argument 'nonsense'"),
    "p.data += ...": (add_to_data, TypeError,
        "p.data is NumPy's memoryview of the bytes, which += does not take. The numbers are p.value. To change a Variable: with af.no_grad(): p -= lr * p.grad"),
    "p.data * 2": (lambda: number("p").data * 2, TypeError, "The numbers are p.value"),
    "Linear without rng": (lambda: nn.Linear(3, 4), TypeError,
        "Linear needs rng=, a Generator to draw from, one for all layers: rng = np.random.default_rng(0), then Linear(..., rng=rng)"),
    # lists of numbers: found without any option
    "np.array([x, y])": (lambda: np.array([number(), number()]), af.errors.LostGradientError,
        "np.array would take the number of w"),
    "np.sum([x, y])": (lambda: np.sum([number(), number()]), af.errors.LostGradientError,
        "Write af.array([...]) or af.stack"),
    "np.mean([x, y])": (lambda: np.mean([number(), number()]), af.errors.LostGradientError,
        "Write af.array([...]) or af.stack"),
    "a method of PyTorch": (lambda: vector().exp(), AttributeError, "has no attribute 'exp': here it is np.exp(x)"),
    "an attribute of PyTorch": (lambda: vector().is_leaf, AttributeError, "here it is x.grad_fn is None"),
    "a function of JAX": (lambda: af.jit, AttributeError,
        "'autoflow' has no attribute 'jit': here it is af.compile(f)"),
    "a function of NumPy": (lambda: af.exp, AttributeError, "here it is np.exp(x)"),
    "a layer of PyTorch": (lambda: nn.ReLU, AttributeError,
        "'autoflow.nn' has no attribute 'ReLU': here it is af.nn.relu"),
    "an optimiser of Keras": (lambda: optim.RMSProp, AttributeError, "here it is af.optim.RMSprop"),
    "name and value swapped": (lambda: af.Variable("x", 2.0), af.errors.DataError, "af.Variable(2.0, 'x')"),
    "scores and labels swapped": (lambda: nn.cross_entropy(np.array([0, 1]), af.Variable(np.ones((2, 3)))), af.errors.DataError,
        "takes the scores first and the labels second: cross_entropy(scores, labels)"),
    "unknown preset": (lambda: af.options(preset="kindergarten"), ValueError,
        "there is no preset 'kindergarten'; there are default, classroom"),
}
REDUCTIONS = ["sum", "mean", "prod", "max", "min"]
ROWS |= {f"x.{name}(dim=)": (lambda name=name: getattr(matrix(), name)(dim=0), TypeError, "for dim= write axis=")
         for name in [*REDUCTIONS, "cumsum", "cumprod", "squeeze", *PLAIN.split()]}
ROWS |= {f"x.{name}(keepdim=)": (lambda name=name: getattr(matrix(), name)(0, keepdim=True), TypeError, "for keepdim= write keepdims=")
         for name in REDUCTIONS}
ROWS["x.sum(dim=)"] = (*ROWS["x.sum(dim=)"][:2], "Node.sum() got an unexpected keyword argument 'dim': for dim= write axis=")
OF_FUNCTIONS = {**dict.fromkeys(["value_and_grad", "grad_and_aux", "elementwise_grad", "jacobian", "jacfwd", "jacrev", "hessian"], ()),
                "vjp": (1.0,), "linearize": (1.0,), "jvp": (1.0, 1.0), "hvp": (1.0, 1.0)}
ROWS |= {f"af.{name}(node)": (lambda name=name, more=more: getattr(af, name)(number() * 2.0, *more), TypeError, "a function is needed here")
         for name, more in OF_FUNCTIONS.items()}
# fmt: on


def told(error):
    """All that a traceback would show of it."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


@pytest.mark.parametrize("mistake", ROWS)
def test_a_message_says_what_to_do(mistake):
    run, kind, text = ROWS[mistake]
    with pytest.raises(kind) as caught:
        run()
    assert text in told(caught.value)


def test_a_note_never_hides_the_error():
    with pytest.raises(ValueError, match="all input arrays must have the same shape") as caught:
        np.stack([vector(2), [1.0, 2.0, 3.0], [[1.0]]])
    assert "x has shape (2,)" in told(caught.value)
    with pytest.raises(ValueError, match="can only specify one unknown dimension"):
        vector().reshape(-2, -2)

    class Odd:
        def __eq__(self, other):
            raise RuntimeError

    odd = Odd()  # a variable of the caller's
    with pytest.raises(ValueError, match="broadcast"):
        vector(2) + np.ones(3)
    assert odd is not None


def lose(x):
    """A number read with ``float``, and a gradient lost."""
    return math.sin(x)


# fmt: off
CLASSROOM = {
    "math.sin(x)": (lambda: lose(number()), af.errors.LostGradientError, "strict mode refuses that"),
    "int(x)": (lambda: int(number()), af.errors.LostGradientError, "strict mode refuses that"),
    "log(0)": (lambda: np.log(af.Variable([1.0, 0.0], name="x")), af.errors.AnomalyError, "log_0 became -inf"),
    "0 / 0 on the way back": (lambda: np.sqrt(af.Variable(0.0, name="x")).backward(), af.errors.AnomalyError,
        "sqrt sent inf to x"),
    "a list of arrays": (lambda: af.grad(lambda v: np.sum(v * v) + np.sum(np.sum([v, v])))(np.ones(2)), af.errors.LostGradientError,
        ""),
    "np.asarray": (lambda: af.grad(lambda v: np.sum(v * np.asarray(v)))(np.ones(2)), af.errors.LostGradientError, ""),
}
# fmt: on


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("mistake", CLASSROOM)
def test_the_classroom_finds_more(mistake):
    run, kind, text = CLASSROOM[mistake]
    with af.options(preset="classroom"), pytest.raises(kind) as caught:
        run()
    assert text in told(caught.value)


HOLDERS = {"x": lambda: vector() * 2.0, "opt": lambda: optim.Adam([vector()], lr=0.1), "model": lambda: network(),
           "autoflow": lambda: af, "nn": lambda: nn, "optim": lambda: optim}  # fmt: skip
SPELLINGS = [(section, name) for section in HOLDERS for name in tables()[section]]


def network():
    return nn.Sequential(nn.Linear(2, 3, rng=np.random.default_rng(0)), np.tanh)


@pytest.mark.parametrize("section", HOLDERS)
def test_every_spelling_of_others_is_answered_and_none_is_there(section):
    holder = HOLDERS[section]()
    for name, here in tables()[section].items():
        with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}: here it is {here}")):
            getattr(holder, name)
        assert name not in dir(holder)


def test_what_spellings_advise_is_there():
    scope = {"af": af, "np": np, "scipy": pytest.importorskip("scipy", reason="SciPy is not installed")}
    for section, name in SPELLINGS:
        for text in re.findall(r"\b(?:af|np)\.[\w.]*\w", tables()[section][name]):
            eval(text, scope)
        for attribute in (
            re.findall(rf"^{section}\.([a-z_]\w*)", tables()[section][name]) if section in ("opt", "model") else ()
        ):
            assert hasattr(HOLDERS[section](), attribute)


MATRIX, IMAGES = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]]), np.random.default_rng(0).normal(size=(2, 3, 4, 5))
MEANT = {  # by section and name: x, and what the advice gives
    ("x", "kthvalue"): (MATRIX, [2.0, 5.0]), ("x", "topk"): (MATRIX, [[3.0, 2.0], [6.0, 5.0]]),
    ("keywords", "descending"): (MATRIX, [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]),
    ("autoflow", "std_mean"): (np.array([1.0, 2.0, 3.0]), [1.0, 2.0]),
    ("nn", "InstanceNorm2d"): (
        IMAGES, (IMAGES - IMAGES.mean((2, 3), keepdims=True)) / np.sqrt(IMAGES.var((2, 3), keepdims=True) + 1e-5)
    ),
    ("optim", "global_norm"): (None, 5.0),
}  # fmt: skip


@pytest.mark.parametrize("where", MEANT)
def test_spellings_advise_what_was_meant(where):
    x, wanted = MEANT[where]
    w = af.Variable([1.0, 2.0])
    w.grad = np.array([3.0, 4.0])
    found = eval(tables()[where[0]][where[1]], {"af": af, "np": np, "x": x, "k": 2, "parameters": [w]})
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_spellings_of_dropout_recurrence_and_schedules_advise_what_was_meant():
    scope = {"af": af, "np": np, "x": IMAGES, "p": 0.5, "rng": np.random.default_rng(0), "rate": 0.1, "places": [2, 3]}
    for name in ("Dropout2d", "SpatialDropout2D"):
        kept = eval(tables()["nn"][name], scope) / IMAGES
        assert set(np.unique(kept.round(9))) == {0.0, 2.0}
        assert np.array_equal(kept.min((2, 3)), kept.max((2, 3)))  # whole channels
    for text in (tables()["nn"]["Bidirectional"], tables()["keywords"]["bidirectional"]):
        assert np.array_equal(eval(text.partition(" on ")[2], scope), np.flip(IMAGES, 1))  # (n, time, inputs)
    sgd = optim.SGD([af.Variable(1.0)], lr=1.0)
    schedule = eval(tables()["optim"]["MultiStepLR"], scope | {"opt": sgd})
    rates = [sgd.lr, *[schedule.step() or sgd.lr for _ in range(3)]]
    np.testing.assert_allclose(rates, [1, 1, 0.1, 0.01])
    x = scope["x"] = af.Variable(MATRIX)
    eval(tables()["x"]["clamp_"], scope | {"low": 2.0, "high": 5.0})
    assert np.array_equal(x.value, np.clip(MATRIX, 2, 5))


def test_a_name_of_ones_own_comes_before_a_spelling():
    class Net(nn.Module):
        def __init__(self):
            self.weights = [af.Variable(1.0)]

        def predict(self):
            return 3.0

    assert Net().weights[0].value == 1.0
    assert Net().predict() == 3.0
    with pytest.raises(AttributeError, match=r"'Net' object has no attribute 'fit': here it is af.fit"):
        Net().fit  # noqa: B018 - reading it is the test


@pytest.mark.parametrize("module", ["", ".nn", ".optim"])
def test_names_of_the_table_are_found_in_capitals_and_without(module):
    """Each name also as the other libraries write it in their other places: ``smooth_l1_loss``, ``SmoothL1Loss``."""
    holder = sys.modules[f"autoflow{module}"]
    for name in tables()[module[1:] or "autoflow"]:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).split("_")
        for other in ("_".join(words).lower(), "".join([word[:1].upper() + word[1:] for word in words])):
            if not hasattr(holder, other):
                with pytest.raises(AttributeError, match="here it is"):
                    getattr(holder, other)


ELSEWHERE = {
    "CrossEntropyLoss": "af.nn.cross_entropy", "pi": "np.pi", "fft": "np.fft", "float32": "np.float32", "lerp": "x + w",
    "Linear": "af.nn.Linear", "clamp": "np.clip(", "sgd": "af.optim.SGD",
}  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_of_another_module_of_ours_is_found(name):
    with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}: here it is {ELSEWHERE[name]}")):
        getattr(af, name)
