"""What can be live: losses, their parameters and data; else the reason has its name."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import autoflow as af
from autoflow import nn
from autoflow.errors import InputError
from autoflow.livepage.page import LARGEST


def test_how_the_functions_are_called():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(5, 2)), np.ones(5)
    params = {"w": np.ones(2)}
    for page in (
        af.live(lambda w, x, t: np.mean((x @ w - t) ** 2), params, {"x": x, "t": t}, lambda w, x: x @ w),
        af.live(lambda p, x, t: np.mean((x @ p["w"] - t) ** 2), params, (x, t), lambda p, x: x @ p["w"]),
        af.live(lambda w, t, x: np.mean((x @ w - t) ** 2), params, {"x": x, "t": t}),
    ):
        assert page.reason is None
        assert page.study.root.item() == pytest.approx(np.mean((x @ params["w"] - t) ** 2))
    assert repr(page).startswith("<live page of loss: w (2,)")


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray


MODEL = nn.Linear(2, 1, rng=np.random.default_rng(0))
W, B = np.array([[0.5], [-0.25]]), np.array([0.125])
CONTAINERS = {  # of the same numbers: the parameters, how the loss takes them, their names in the page
    "a dict": ({"w": W, "b": B}, lambda p, x: x @ p["w"] + p["b"], ["w", "b"]),
    "a list": ([W, B], lambda p, x: x @ p[0] + p[1], ["p[0]", "p[1]"]),
    "nested": ({"one": [W, {"b": B}]}, lambda p, x: x @ p["one"][0] + p["one"][1]["b"],
               ["p['one'][0]", "p['one'][1]['b']"]),
    "a dataclass": (Layer(W, B), lambda p, x: x @ p.w + p.b, ["p.w", "p.b"]),
    "a model": ({"weight": W.T, "bias": B}, lambda p, x: nn.functional_call(MODEL, p, x), ["weight", "bias"]),
    "an array": (np.vstack([W, B]), lambda p, x: x @ p[:2] + p[2], ["p"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTAINERS)
def test_parameters_are_in_the_loss_s_containers(name):
    """The same loss in each, and data by their order, whatever options the loss has besides."""
    params, predict, names = CONTAINERS[name]
    x, t = np.array([[0.5, 1.0], [-1.0, 0.25], [1.0, -0.5]]), np.ones((3, 1))

    def loss(p, x, t, power=2):
        return np.mean((predict(p, x) - t) ** power)

    page = af.live(loss, params, (x, t), lambda p, x: predict(p, x))
    assert page.reason is None
    assert [*page.params] == names
    assert [*page.study.data] == ["x", "t"]
    assert page.study.root.item() == pytest.approx(np.mean((x @ W + B - t) ** 2))
    assert page.study.kind == "plane"


def test_a_loss_may_have_no_data():
    page = af.live(lambda x, y: (1 - x) ** 2 + 5 * (y - x**2) ** 2, {"x": -1.0, "y": 1.0}, predict=lambda x, y: x)
    assert (page.reason, page.study.kind, page.about["data"]) == (None, None, [])
    assert "makePrediction = null" in page.program


def test_what_cannot_be_live_says_why_and_is_a_picture():
    x = np.arange(1.0, 5.0)
    page = af.live(lambda w, x: np.sum(np.unique(w * x)), {"w": np.array(2.0)}, {"x": x})
    assert "np.unique" in page.reason
    assert "<img alt=" in page.to_html()
    assert "<script>" not in page.to_html()
    page = af.live(lambda w, x: np.sum(x) * (w if w > 0 else -w), {"w": np.array(2.0)}, {"x": x})
    assert page.reason is not None

    def long(w, x):
        for _ in range(LARGEST + 1):
            w = w * x
        return w

    assert f"at most {LARGEST}" in af.live(long, {"w": np.array(2.0)}, {"x": np.array(1.0)}).reason


def writes(w, x, t):
    z = x @ w
    z[0] = 0.0
    return np.mean((z - t) ** 2)


def loops(w, x, t):
    for _ in range(3):
        x = np.tanh(x * w)
    return np.linalg.norm(x @ w - t)


LOSSES = {  # of w, x and t: what the reason says, None if there is none
    "a loop and a norm": (loops, None),
    "a mean over np.where": (lambda w, x, t: np.mean(np.where(x @ w > 0, t * (x @ w), np.exp(x @ w))), None),
    "a derivative": (lambda w, x, t: np.sum(af.grad(lambda u: np.sum(np.tanh(x @ u)))(w) ** 2), None),
    "a percentile": (lambda w, x, t: np.percentile(np.abs(x @ w - t), 40), None),
    "weights from outside": (lambda w, x, t: np.average((x @ w - t) ** 2, weights=np.abs(t)), None),
    "a mask that is known": (lambda w, x, t: np.mean(((x @ w - t) ** 2)[np.arange(8) % 3 > 0]), None),
    "a mask in the mean": (lambda w, x, t: np.mean((x @ w - t) ** 2, where=t > 0), None),
    "a mask that picks": (lambda w, x, t: np.sum((x @ w)[x @ w > 0]), "np.where keeps all"),
    "the share that is right": (lambda w, x, t: np.mean(x @ w) + np.mean(x @ w * t > 0), None),
    "smallest of all powers": (lambda w, x, t: np.linalg.norm(x @ w - t, 3) + np.linalg.norm(w, np.inf), None),
    "a sliding sum": (lambda w, x, t: np.sum(np.convolve(x[:, 0], w, "same") ** 2), None),
    "sorted": (lambda w, x, t: np.mean((np.sort(x @ w) - np.sort(t)) ** 2), None),
    "a system": (lambda w, x, t: np.sum(np.linalg.solve(x.T @ x + np.diag(w), x.T @ t) ** 2), None),
    "of one entry": (lambda w, x, t: np.mean((x @ w - t) ** 2, keepdims=True), None),
    "writes": (writes, "writes into an array that it has computed"),
    "random": (lambda w, x, t: np.mean((x * np.random.random(x.shape)) @ w), "draws random numbers"),
    "asks": (lambda w, x, t: np.sum(w) if w[0] > 0 else np.sum(-w), "needs the value of an array"),
    "a transform": (lambda w, x, t: np.sum(np.abs(np.fft.fft(x @ w)) ** 2), "np.fft.fft"),
    "many": (lambda w, x, t: np.sum(w * np.arange(60_000.0)[:, None]), "its page would have"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_live_or_the_reason_has_its_name(name):
    loss, reason = LOSSES[name]
    x = np.random.default_rng(0).normal(size=(8, 2))
    page = af.live(loss, {"w": np.array([0.5, -1.0])}, {"x": x, "t": np.repeat([1.0, -1.0], 4)})
    assert (page.reason is None) is (reason is None), page.reason
    assert reason is None or reason in page.reason
    assert "fallback" not in str(page.reason)
    assert len(page.to_html()) < 400_000


@pytest.mark.parametrize(("a", "predict", "kind"), [
    (2.0, lambda a, x: np.sum(a * x), None), (2.0, lambda a, x: a * x[:3], None),
    (2.0, lambda a, x: np.outer(a * x, x), None), (np.ones(4), lambda a, x: a * x, "pairs"),
])  # fmt: skip
def test_a_prediction_that_is_none_for_each_point_is_not_drawn_as_one(a, predict, kind):
    """One that fits no grid is shown beside the targets."""
    data = {"x": np.arange(1.0, 5.0), "t": np.arange(4.0)}
    page = af.live(lambda a, x, t: np.mean((a * x - t) ** 2), {"a": np.array(a)}, data, predict)
    assert (page.reason, page.study.kind, page.study.area) == (None, kind, None)
    assert ("makePrediction = null" in page.program) is (kind is None)


ONES, THREE = {"w": np.ones(3)}, {"x": np.ones(3)}
WRONG = [  # the arguments of af.live, and what the error says
    ((lambda p, x: np.sum(x), {"layer": ["w"]}, THREE),
     r"params: p\['layer'\]\[0\] has to be an array of numbers, not str"),
    ((lambda net, x: np.sum(net(x)), nn.Linear(3, 1, rng=np.random.default_rng(0)), THREE),
     r"params: net has to be .* not Linear\. For an .* nn.functional_call"),
    ((lambda net, x: np.sum(net.w * x), SimpleNamespace(w=np.ones(3)), THREE),
     r"not SimpleNamespace\. Arrays may be in dicts, .* pass vars\(object\), or make it"),
    ((lambda w, x, t: np.sum(w * x * t), ONES, THREE),
     "the loss cannot be called with w, x: missing a required argument: 't'"),
    ((lambda: np.ones(3), ONES), "the loss cannot be called with w: too many positional arguments"),
    ((lambda w, x: np.sum(w * x), ONES, THREE, lambda: 1.0),
     "the prediction cannot be called with w, x: too many positional arguments"),
    ((lambda w, x: np.sum(w * x), {"w": np.ones(2)}, {"x": np.ones((0, 2))}),
     r"data: x has to be .* not ndarray of shape \(0, 2\)"),
    ((lambda w, x: np.sum(w * x), ONES, THREE, lambda w, x: w), "predict has to compute"),
    ((lambda w, x: w * x, ONES, THREE), "one number"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_arguments(arguments, said):
    with pytest.raises(InputError, match=said):
        af.live(*arguments)


def test_wrong_options(tmp_path):
    def live(**options):
        return af.live(lambda w, x: np.sum(w * x), ONES, THREE, **options)

    with pytest.raises(ValueError, match="optimizer is one of 'sgd', 'momentum', 'adam'"):
        live(optimizer="lbfgs")
    for lr in (-1.0, np.inf, "fast", None):
        with pytest.raises(ValueError, match="lr has to be positive and finite"):
            live(lr=lr)
    with pytest.raises(ValueError, match=r"saved as \.html"):
        live().save(tmp_path / "page.pdf")


def test_each_line_is_shown_once():
    """What is written inside of a function is shown there; a function without a source moves no mark."""
    names = {}
    exec("def helper(w, x):\n    return w * x", names)
    helper = names["helper"]

    def loss(w, x, y):
        def error(z):
            return z - y

        parts = [helper(w, x) * k for k in (1.0, 2.0)]
        return np.mean((lambda e: e * e)(error(sum(parts))))

    page = af.live(loss, {"w": np.ones(())}, {"x": np.ones(3), "y": np.zeros(3)})
    (lines,) = page.about["source"]
    places = [card["place"] for card in page.about["cards"] if card.get("place")]
    marked = [lines[line][begin:end] for k, line, begin, _, end in places if k == 0]
    assert {"helper(w, x) * k", "z - y", "e * e", "sum(parts)"} < {*marked}
    assert lines[0] == "def loss(w, x, y):"
    assert len(lines) == 6


def test_a_program_that_was_changed_is_not_shown(tmp_path):
    file, names = tmp_path / "program.py", {"np": np}
    file.write_text("def loss(w):\n    return np.sum(w * w)\n")
    exec(compile(file.read_text(), file, "exec"), names)
    file.write_text("def loss(w):\n    return np.sum(w * 3.0)\n")
    page = af.live(names["loss"], {"w": np.ones(2)})
    assert page.about["source"] == []
    assert not any([card.get("place") for card in page.about["cards"]])
