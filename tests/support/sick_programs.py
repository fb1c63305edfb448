"""Programs with one thing wrong, each beside a healthy twin: ``PROGRAMS[kind]`` is a list of pairs of functions.

Each function makes its own Variables, and returns what is given to af.diagnose: a node, or a training step.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from healthy_programs import bound, descend, draw

import autoflow as af
from autoflow import nn

ONE, TWO = af.Variable(3.0, name="x"), af.Variable([1.0, 2.0], name="w")
EACH, SPAN = np.arange(20), np.linspace(-2, 6, 20)
LOGISTIC = 10 / (1 + np.exp(1 - SPAN))
PROGRAMS: dict[str, list[tuple[Callable[[], Any], Callable[[], Any]]]] = {}


def pair(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Of a function with an argument: True gives the sick program, False its twin."""

    def add(make: Callable[[bool], Any]) -> Callable[[bool], Any]:
        PROGRAMS.setdefault(kind, []).append((lambda: make(True), lambda: make(False)))
        return make

    return add


def model() -> tuple[Any, Any]:
    """A line and its data."""
    w, X = af.Variable([0.5, -0.5], name="w"), draw(20, 2)
    return w, lambda: np.mean((X @ w - X @ np.array([1.0, 2.0])) ** 2)


def trained(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A pair of steps of a line. ``update(sick, ...)`` asks by name for weights, loss, optimiser, data, and a dict that
    stays."""

    def add(update: Callable[..., Any]) -> Callable[[bool], Any]:
        def make(sick: bool) -> Any:
            w, loss = model()
            opt = af.optim.SGD([w], lr=0.05)
            return bound(update, {"sick": sick, "w": w, "loss": loss, "opt": opt, "X": draw(20, 2), "box": {}})

        return pair(kind)(make)

    return add


@trained("accumulated")
def no_zero_grad(sick: bool, loss: Any, opt: Any) -> None:
    if not sick:
        opt.zero_grad()
    loss().backward()
    opt.step()


FEW: list[tuple[Any, ...]] = [
    # a finding, numbers in which it is, those of the twin, what is computed of them, and by the twin if not the same
    ("nan value", [-1.0, 2.0], [1.0, 2.0], lambda x: np.sum(np.log(x))),
    ("infinite value", [np.inf, 2.0], [1.0, 2.0], lambda x: np.sum(x * 2.0)),
    ("infinite slope", [0.0, 4.0], [1e-12, 4.0], lambda x: np.sum(np.sqrt(x))),
    ("underflow", np.float16([1, 2]), np.float32([1, 2]),
     lambda x: np.sum(x * x.dtype.type(1e-4)) * x.dtype.type(1e-4) * x.dtype.type(1)),
    ("no history", [1.0, 2.0], [1.0, 2.0], lambda x: np.sum(x.detach() ** 2), lambda x: np.sum(x**2)),
    ("infinite value", [1.0, 800.0], [1.0, 800.0], lambda x: np.log(np.sum(np.exp(x))), af.special.logsumexp),
    ("masked nan", [0.0, 4.0], [0.0, 4.0], lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
     lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0))),
]  # fmt: skip
for kind, wrong, right, *computed in FEW:

    @pair(kind)
    def few_numbers(sick: bool, wrong: Any = wrong, right: Any = right, computed: Any = computed) -> Any:
        return computed[0 if sick else -1](af.Variable(wrong if sick else right, name="x"))


SHORT: list[tuple[str, Callable[[bool], Any]]] = [
    ("no history", lambda sick: af.Variable(3.0, name="w", requires_grad=not sick) * 2.0),
    ("no history", lambda sick: np.sum((af.Constant if sick else af.Variable)([1.0, 2.0]) * 2)),
    ("no history", lambda sick: lambda: np.mean(TWO > 1.5 if sick else nn.sigmoid(TWO - 1.5))),
    ("saturated", lambda sick: np.sum(np.tanh(draw(20, 3) @ af.Variable(draw(3, 4, seed=1) * (1000 if sick else 1))))),
    ("saturated", lambda sick: np.sum(nn.sigmoid(np.ones((8, 3)) @ af.Variable(np.full((3, 4), 50 if sick else 0.1))))),
    ("shapes", lambda sick: np.mean((draw(5, 3) @ af.Variable(draw(3, 1)) - draw(*[5, 1][: 2 - sick])) ** 2)),
    ("shapes", lambda sick: np.mean((np.tanh(af.Variable(draw(5, 1))) - draw(5)) ** 2 if sick else
                                    (af.Variable(draw(5, 1)) * af.Variable(draw(5)) - draw(5, 5)) ** 2)),
    ("unreached", lambda sick: lambda: (ONE * (TWO.detach() if sick else TWO), TWO)),
    ("range", lambda sick: np.mean(((1 if sick else 10) / (1 + np.exp(-af.Variable(0.5) * SPAN)) - LOGISTIC) ** 2)),
]  # fmt: skip
for kind, made in SHORT:
    pair(kind)(made)


for kind, factor, of in (("exploding", 4.0, np.positive), ("vanishing", 0.1, np.tanh)):

    @pair(kind)
    def chain_of_products(sick: bool, factor: float = factor, of: Any = of) -> Any:
        W, h = af.Variable(np.eye(4) * (factor if sick else 1.0), name="W"), np.ones(4) * 1e-9
        for _ in range(12):
            h = of(W @ h)
        return np.sum(h)


@pair("no history")
def under_no_grad(sick: bool) -> Any:
    x = af.Variable([1.0, 2.0], name="x")
    with af.set_grad_enabled(not sick):
        y = x * 2
    return np.sum(y) + 1


@pair("dead units")
def all_pass_a_little(sick: bool) -> Any:
    W = af.Variable(draw(3, 4), name="W")
    b = af.Variable(np.array([0.0, 0.0, -100.0, -100.0]), name="b")
    h = draw(40, 3) @ W + b
    return np.sum(np.maximum(0.0 if sick else 0.1 * h, h))


@trained("no backward")
def nothing_done(sick: bool, loss: Any) -> None:
    value = loss()
    if not sick:
        value.backward()


@trained("error")
def mutable_parameter(sick: bool, w: Any, loss: Any) -> None:
    loss().backward()
    with af.set_grad_enabled(sick):
        w[...] = w.value - 0.1 * w.grad
    w.zero_grad()


@pair("overwritten")
def overwritten(sick: bool) -> Any:
    x = af.Variable([1.0, 2.0], name="x")
    y = np.exp(x)
    z = y * y
    if sick:
        y.value = 0.0
    return np.sum(z)


@pair("nan value")
def data_with_a_gap(sick: bool) -> Any:
    X, w = draw(5, 2), af.Variable([1.0, 2.0], name="w")
    X[2, 1] = np.nan if sick else 1.0
    return np.mean((X @ w - 1.0) ** 2)


@pair("zero factor")
def zero_weights(sick: bool) -> Any:
    W1, W2 = af.Variable(draw(3, 4), name="W1"), af.Variable(np.zeros((4, 1)) if sick else draw(4, 1), name="W2")
    return np.mean((np.tanh(draw(20, 3) @ W1) @ W2 - 1.0) ** 2)


@pair("zero factor")
def layers_of_zeros(sick: bool) -> Any:
    """The last layer may begin with 0: in the first step it becomes another, and then the first one learns as well."""
    W1 = af.Variable(np.zeros((3, 4)) if sick else draw(3, 4), name="W1")
    W2, X, T = af.Variable(np.zeros(4), name="W2"), draw(20, 3), draw(20)
    return descend(lambda: np.mean((np.tanh(X @ W1) @ W2 - T) ** 2), W1, W2)


@pair("shapes")
def targets_made_a_column(sick: bool) -> Any:
    w, X, t = af.Variable(draw(3), name="w"), draw(20, 3), draw(20)
    return np.mean((X @ w - t.reshape((-1, 1) if sick else -1)) ** 2)


@pair("unmoved")
def forgotten_parameter(sick: bool) -> Any:
    w, loss = model()
    b = af.Variable(0.0, name="b")
    return descend(lambda: loss() + (b - 1.0) ** 2, *([w] if sick else [w, b]))


@pair("rebound")
def rebound(sick: bool) -> Any:
    box, X = {"w": model()[0]}, draw(20, 2)

    def step() -> None:
        w = box["w"]
        np.mean((X @ w - 1.0) ** 2).backward()
        if sick:
            box["w"] = w - 0.1 * w.grad
        else:
            with af.no_grad():
                w -= 0.1 * w.grad
            w.zero_grad()

    return step


@pair("growing")
def carried_state(sick: bool) -> Any:
    W, box = af.Variable(draw(3, 3) / 4, name="W"), {"h": np.ones(3)}
    opt = af.optim.SGD([W], lr=0.01)

    def step() -> None:
        h = np.tanh(W @ box["h"])
        opt.zero_grad()
        np.sum(h).backward()
        opt.step()
        box["h"] = h if sick else h.detach()

    return step


@trained("kept")
def losses_kept(sick: bool, loss: Any, opt: Any, box: Any) -> None:
    opt.zero_grad()
    value = loss()
    value.backward()
    opt.step()
    box.setdefault("losses", []).append(value if sick else float(value))


SUMS: list[Callable[[float, Any], Any]] = [lambda total, x: total + x, lambda total, x: 0.9 * total + 0.1 * x]
for added in SUMS:

    @trained("kept")
    def running_sum(sick: bool, loss: Any, opt: Any, box: Any, added: Callable[[float, Any], Any] = added) -> None:
        opt.zero_grad()
        value = loss()
        value.backward()
        opt.step()
        box["loss"] = added(box.get("loss", 0.0), value if sick else value.item())


@pair("learning rate")
def too_long(sick: bool) -> Any:
    w, loss = model()
    return descend(loss, w, lr=5.0 if sick else 0.1)


@pair("became nan")
def infinite_step(sick: bool) -> Any:
    w, loss = model()
    opt = af.optim.SGD([w], lr=1e308 if sick else 0.1)

    def step() -> None:
        opt.zero_grad()
        loss().backward()
        with np.errstate(all="ignore"):
            opt.step()

    return step


@trained("unmoved")
def no_step(sick: bool, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    loss().backward()
    if not sick:
        opt.step()


@trained("unmoved")
def cleared_before_the_step(sick: bool, loss: Any, opt: Any) -> None:
    if not sick:
        opt.zero_grad()
    loss().backward()
    if sick:
        opt.zero_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opt.step()
    else:
        opt.step()


@trained("unmoved")
def step_before_backward(sick: bool, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    value = loss()
    for do in (opt.step, value.backward) if sick else (value.backward, opt.step):
        do()


@pair("unmoved")
def learning_rate_of_0(sick: bool) -> Any:
    w, loss = model()
    return descend(loss, w, lr=0.0 if sick else 0.1)


@pair("unmoved")
def parameters_made_again(sick: bool) -> Any:
    w, loss = model()
    opt = af.optim.SGD([w if not sick else af.Variable([0.5, -0.5], name="w")], lr=0.1)

    def step() -> None:
        opt.zero_grad()
        loss().backward()
        if not sick:
            opt.step()

    return step


@pair("unmoved")
def steps_that_are_rounded_away(sick: bool) -> Any:
    w = af.Variable(np.full(2, 4.0, np.float16 if sick else np.float64), name="w")
    return descend(lambda: np.sum(w * w), w, lr=1e-5)


@trained("unmoved")
def computed_by_hand_and_written_nowhere(sick: bool, w: Any, loss: Any) -> None:
    loss().backward()
    new = w.value - 0.1 * w.grad
    if not sick:
        w.value = new
    w.zero_grad()


@trained("rebound")
def name_of_a_loop(sick: bool, w: Any, loss: Any) -> None:
    loss().backward()
    for p in [w]:
        if sick:
            p = p - 0.1 * p.grad
        else:
            p.value = p.value - 0.1 * p.grad
    w.zero_grad()


@trained("repeated")
def backward_twice(sick: bool, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    value = loss()
    value.backward()
    if sick:
        value.backward()
    opt.step()


@pair("unreached")
def parameter_behind_a_cut(sick: bool) -> Any:
    W, v, X = af.Variable(draw(2, 3), name="W"), af.Variable(draw(3), name="v"), draw(20, 2)

    def loss() -> Any:
        h = np.tanh(X @ W)
        return np.mean(((h.detach() if sick else h) @ v - 1.0) ** 2)

    return descend(loss, W, v)


@trained("no history")
def loss_wrapped_again(sick: bool, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    value = loss()
    (af.Variable(float(value)) if sick else value).backward()
    opt.step()


@pair("infinite value")
def too_large_for_half_precision(sick: bool) -> Any:
    return np.sum(af.Variable(np.array([300.0, 2.0], np.float16 if sick else np.float32), name="x") ** 2)


def layers_written_out(size: float) -> Any:
    W = [af.Variable(np.eye(4) * size, name=f"W{k}") for k in range(7)]
    h = np.ones(4) * 1e-8
    h = W[0] @ h
    h = W[1] @ h
    h = W[2] @ h
    h = W[3] @ h
    h = W[4] @ h
    h = W[5] @ h
    return np.sum(W[6] @ h)


@pair("exploding")
def exploding_layers(sick: bool) -> Any:
    return layers_written_out(20.0 if sick else 1.0)


@pair("vanishing")
def vanishing_layers(sick: bool) -> Any:
    return layers_written_out(0.05 if sick else 1.0)


@pair("dead")
def dead_below_another_layer(sick: bool) -> Any:
    X, W1 = np.abs(draw(20, 2)), af.Variable(draw(2, 3) if not sick else -np.ones((2, 3)), name="W1")
    W2 = af.Variable(draw(3, 1), name="W2")
    return np.mean((nn.relu(X @ W1) @ W2 - 1.0) ** 2)


@pair("unmoved")
def variables_made_again_in_each_step(sick: bool) -> Any:
    box = {"w": af.Variable([0.5, -0.5], name="w")}
    opt, X = af.optim.SGD([box["w"]], lr=0.1), draw(20, 2)

    def step() -> None:
        opt.zero_grad()
        np.mean((X @ box["w"] - 1.0) ** 2).backward()
        opt.step()
        if sick:
            box["w"] = af.Variable(box["w"].value.copy(), name="w")

    return step


@pair("rebound")
def list_of_results(sick: bool) -> Any:
    box, X = {"parameters": [model()[0]]}, draw(20, 2)

    def step() -> None:
        np.mean((X @ box["parameters"][0] - 1.0) ** 2).backward()
        if sick:
            box["parameters"] = [p - 0.1 * p.grad for p in box["parameters"]]
        else:
            box["parameters"] = [af.Variable(p.value - 0.1 * p.grad) for p in box["parameters"]]

    return step


@trained("growing")
def sum_of_all_losses(sick: bool, loss: Any, opt: Any, box: Any) -> None:
    opt.zero_grad()
    if not sick:
        box.clear()
    box[len(box)] = loss()
    sum(box.values()).backward()
    opt.step()


@pair("accumulated")
def another_optimiser_is_cleared(sick: bool) -> Any:
    w, loss = model()
    v = af.Variable([1.0, 1.0], name="v")
    of_w, of_v = af.optim.SGD([w], lr=0.01), af.optim.SGD([v], lr=0.01)

    def step() -> None:
        of_v.zero_grad()
        if not sick:
            of_w.zero_grad()
        (loss() + np.sum(v * v)).backward()
        of_w.step()
        of_v.step()

    return step


@pair("unmoved")
def only_the_first_layer_is_given(sick: bool) -> Any:
    W1, W2, X = af.Variable(draw(2, 3), name="W1"), af.Variable(draw(3), name="W2"), draw(20, 2)
    given = [W1] if sick else [W1, W2]
    return descend(lambda: np.mean((np.tanh(X @ W1) @ W2 - 1.0) ** 2), *given, kind=af.optim.Adam)


@trained("unmoved")
def thrown_away_without_zero_grad(sick: bool, w: Any, loss: Any) -> None:
    loss().backward()
    with af.no_grad():
        for p in [w]:
            if sick:
                p = p - 0.1 * p.grad
            else:
                p -= 0.1 * p.grad
    if not sick:
        w.zero_grad()


@trained("unmoved")
def an_update_that_is_only_computed(sick: bool, w: Any, loss: Any) -> None:
    loss().backward()
    new = w.value - 0.1 * w.grad
    if not sick:
        w.value = new
        w.zero_grad()


@pair("unmoved")
def steps_of_a_copy(sick: bool) -> Any:
    layer, X = nn.Linear(2, 1, rng=np.random.default_rng(0)), draw(20, 2)
    given = (copy.deepcopy(layer) if sick else layer).parameters()
    return descend(lambda: np.mean((layer(X) - 1.0) ** 2), *given)


@trained("unmoved")
def clipped_to_nothing(sick: bool, w: Any, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    loss().backward()
    af.optim.clip_grad_norm([w], 0.0 if sick else 1.0)
    opt.step()


@trained("rebound")
def an_expression_for_a_statement(sick: bool, w: Any, loss: Any) -> None:
    loss().backward()
    if sick:
        w - 0.1 * w.grad
    else:
        w.value = w.value - 0.1 * w.grad
    w.zero_grad()


@trained("uphill")
def up_the_gradient(sick: bool, w: Any, loss: Any) -> None:
    w.zero_grad()
    loss().backward()
    w.value = w.value + (0.05 if sick else -0.05) * w.grad


@pair("alike")
def units_that_begin_alike(sick: bool) -> Any:
    W, v = af.Variable(np.full((2, 4), 0.5) if sick else draw(2, 4), name="W"), af.Variable(np.full(4, 0.5), name="v")
    X = draw(20, 2)
    return descend(lambda: np.mean((np.tanh(X @ W) @ v - X[:, 0]) ** 2), W, v)


@pair("alike")
def rows_that_begin_alike(sick: bool) -> Any:
    W, v = af.Variable(np.full((4, 2), 0.5) if sick else draw(4, 2), name="W"), af.Variable(np.full(4, 0.5), name="v")
    return (v @ np.tanh(W @ np.array([1.0, 2.0]))) ** 2


@pair("twice")
def softmax_before_cross_entropy(sick: bool) -> Any:
    scores = draw(20, 2) @ af.Variable(draw(2, 3), name="W")
    return nn.cross_entropy(nn.softmax(scores) if sick else scores, np.zeros(20, int))


@pair("twice")
def sigmoid_before_its_loss(sick: bool) -> Any:
    scores = draw(20, 2) @ af.Variable(draw(2), name="w")
    return nn.binary_cross_entropy_with_logits(nn.sigmoid(scores) if sick else scores, np.ones(20))


@pair("repeated")
def loss_made_before_the_step(sick: bool) -> Any:
    w, loss = model()
    once = loss()
    return descend(lambda: once if sick else loss(), w)


@pair("lost")
def numpys_array_in_a_step(sick: bool) -> Any:
    w, X = af.Variable([0.5, -0.5], name="w"), draw(20, 2)

    def loss() -> Any:
        y = np.array([x * w for x in X]) if sick else np.stack([x * w for x in X])
        return np.mean((y - 1.0) ** 2) + np.sum(w * w)

    return descend(loss, w)


@pair("unreached")
def wrapped_in_a_constant(sick: bool) -> Any:
    W, v = af.Variable(draw(2, 3), name="W"), af.Variable(draw(3), name="v")
    opt, X = af.optim.SGD([W, v], lr=0.01), draw(20, 2)

    def step() -> None:
        opt.zero_grad()
        h = np.tanh(X @ W)
        if sick:
            h = af.Constant(h)
        np.mean((h @ v - 1.0) ** 2).backward()
        opt.step()

    return step


@trained("no history")
def backward_of_a_number(sick: bool, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    value = loss()
    (value.item() if sick else value).backward()
    opt.step()


@trained("no history")
def backward_of_an_accuracy(sick: bool, w: Any, opt: Any) -> None:
    opt.zero_grad()
    p = nn.sigmoid(draw(20, 2) @ w)
    (np.mean(p > 0.5) if sick else np.mean(p)).backward()
    opt.step()


@trained("no history")
def a_variable_of_the_loss(sick: bool, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    value = loss()
    (af.Variable(value) if sick else value).backward()
    opt.step()


@pair("step")
def signs_as_activation(sick: bool) -> Any:
    X, W, v = draw(20, 2), af.Variable(draw(2, 3), name="W"), af.Variable(draw(3), name="v")
    return np.mean(((np.sign if sick else np.tanh)(X @ W) @ v - 1.0) ** 2)


@trained("infinite slope")
def root_of_a_perfect_fit(sick: bool, w: Any, opt: Any) -> None:
    opt.zero_grad()
    np.sqrt(np.mean((w - (w.value if sick else 9.0)) ** 2)).backward()
    opt.step()


@trained("accumulated")
def no_zero_grad_around_a_checkpoint(sick: bool, w: Any, opt: Any) -> None:
    if not sick:
        opt.zero_grad()
    np.mean((af.checkpoint(lambda w: np.tanh(w * 2.0))(w) - 1.0) ** 2).backward()
    opt.step()


@pair("alike")
def layers_of_equal_weights(sick: bool) -> Any:
    rng = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(2, 8, rng=rng), np.tanh, nn.Linear(8, 1, rng=rng))
    if sick:
        for p in net.parameters():
            p.value = np.full(p.shape, 0.1)
    return descend(lambda: nn.mse_loss(net(draw(20, 2)), draw(20, 1, seed=1)), *net.parameters())


@trained("rebound")
def items_of_a_dict(sick: bool, w: Any, loss: Any, box: Any) -> None:
    box.setdefault("w", w)
    loss().backward()
    for name, p in box.items():
        if sick:
            box[name] = p - 0.1 * p.grad
        else:
            p.value = p.value - 0.1 * p.grad
            p.zero_grad()


LABELS = np.arange(20) % 3


@pair("made anew")
def adam_made_in_each_step(sick: bool) -> Any:
    w, loss = model()
    once = af.optim.Adam([w], lr=0.01)

    def step() -> None:
        opt = af.optim.Adam([w], lr=0.01) if sick else once
        opt.zero_grad()
        loss().backward()
        opt.step()

    return step


@pair("uphill")
def negated_mse_adam(sick: bool) -> Any:
    W, X, T = af.Variable(draw(2, 1), name="W"), draw(20, 2), draw(20, 1, seed=5)
    return descend(lambda: (-1.0 if sick else 1.0) * nn.mse_loss(X @ W, T), W, kind=af.optim.Adam)


@pair("uphill")
def one_minus_loss(sick: bool) -> Any:
    W, X = af.Variable(draw(2, 3), name="W"), draw(20, 2)

    def loss() -> Any:
        loss = nn.cross_entropy(X @ W, LABELS)
        return 1.0 - loss if sick else loss

    return descend(loss, W, lr=0.5)


@trained("clipped")
def clip_before_backward(sick: bool, w: Any, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    value = loss()
    if sick:
        af.optim.clip_grad_norm([w], 0.1)
        value.backward()
    else:
        value.backward()
        af.optim.clip_grad_norm([w], 0.1)
    opt.step()


@trained("clipped")
def clip_after_step(sick: bool, w: Any, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    loss().backward()
    if not sick:
        af.optim.clip_grad_value([w], 0.1)
    opt.step()
    if sick:
        af.optim.clip_grad_value([w], 0.1)


@trained("repeated")
def two_steps(sick: bool, loss: Any, opt: Any) -> None:
    opt.zero_grad()
    loss().backward()
    opt.step()
    if sick:
        opt.step()


@trained("cleared")
def zero_grad_in_the_accumulation(sick: bool, w: Any, opt: Any, X: Any) -> None:
    opt.zero_grad()
    for k in range(4):
        if sick:
            opt.zero_grad()
        (np.mean((X[k::4] @ w - 1.0) ** 2) / 4).backward()
    opt.step()


@trained("accumulated")
def zero_grad_outside_of_the_batches(sick: bool, w: Any, opt: Any, X: Any) -> None:
    opt.zero_grad()
    for k in range(4):
        if not sick:
            opt.zero_grad()
        np.mean((X[k::4] @ w - 1.0) ** 2).backward()
        opt.step()


@trained("accumulated")
def by_hand_without_zero_grad_in_batches(sick: bool, w: Any, X: Any) -> None:
    for k in range(4):
        np.mean((X[k::4] @ w - 1.0) ** 2).backward()
        w.value = w.value - 0.01 * w.grad
        if not sick:
            w.zero_grad()
    w.zero_grad()


@pair("growing")
def hidden_state_over_batches(sick: bool) -> Any:
    W, U, v = [
        af.Variable(draw(*s, seed=k) / 3, name=n)
        for k, (s, n) in enumerate([((4, 4), "W"), ((4, 2), "U"), ((4,), "v")])
    ]
    opt, box, X = af.optim.Adam([W, U, v], lr=0.01), {"h": np.zeros(4)}, draw(12, 2)

    def epoch() -> None:
        for k in range(3):
            h = box["h"] if sick else af.stop_gradient(box["h"])
            loss = 0.0
            for x in X[4 * k : 4 * k + 4]:
                h = np.tanh(W @ h + U @ x)
                loss = loss + (v @ h - 1.0) ** 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            box["h"] = h

    return epoch


@trained("growing")
def sum_of_losses_over_batches(sick: bool, w: Any, opt: Any, X: Any) -> None:
    total = 0.0
    for k in range(4):
        loss = np.mean((X[k::4] @ w - 1.0) ** 2)
        total += loss
        opt.zero_grad()
        (total if sick else loss).backward()
        opt.step()


@pair("dead")
def died_in_the_first_step(sick: bool) -> Any:
    X, W, v = np.abs(draw(30, 2)) + 1, af.Variable(np.abs(draw(2, 4)), name="W"), af.Variable(np.ones(4), name="v")
    return descend(lambda: np.mean((nn.relu(X @ W) @ v - 1.0) ** 2), W, v, lr=3.0 if sick else 1e-3)


@pair("zero factor")
def images_as_whole_numbers(sick: bool) -> Any:
    X, W = (np.abs(draw(20, 4)) * 80).astype(np.uint8), af.Variable(draw(4, 3), name="W")
    return nn.cross_entropy((X // 255 if sick else X / 255) @ W, LABELS)


@trained("unmoved")
def gradients_set_to_none_by_hand(sick: bool, w: Any, loss: Any, opt: Any) -> None:
    loss().backward()
    if sick:
        w.grad = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opt.step()
    w.grad = None


@pair("made anew")
def schedule_made_in_each_step(sick: bool) -> Any:
    w, loss = model()
    opt = af.optim.SGD([w], lr=0.05)
    once = af.optim.Schedule(opt, af.optim.cosine(100))

    def step() -> None:
        schedule = af.optim.Schedule(opt, af.optim.cosine(100)) if sick else once
        opt.zero_grad()
        loss().backward()
        opt.step()
        schedule.step()

    return step


@pair("shapes")
def mean_over_the_wrong_axis(sick: bool) -> Any:
    W, X, T = af.Variable(draw(2, 3), name="W"), draw(20, 2), draw(20, 3)
    opt = af.optim.SGD([W], lr=0.001)

    def step() -> None:
        opt.zero_grad()
        loss = np.mean((X @ W - T) ** 2, axis=1 if sick else None)
        loss.backward()
        opt.step()

    return step


@trained("uphill")
def value_in_the_place_of_grad(sick: bool, w: Any, loss: Any) -> None:
    loss().backward()
    with af.no_grad():
        w -= 0.1 * (w.value if sick else w.grad)
    w.zero_grad()


@pair("uphill")
def penalty_that_is_subtracted(sick: bool) -> Any:
    w, X, T = af.Variable([0.5, -0.5], name="w"), draw(20, 2), draw(20)

    def loss() -> Any:
        penalty = 0.1 * np.sum(w**2)
        return 1.0 + np.sum(np.stack([np.mean((X @ w - T) ** 2), -penalty if sick else penalty]))

    return descend(loss, w)


@pair("linear")
def nothing_between_two_layers(sick: bool) -> Any:
    rng = np.random.default_rng(0)
    between = [] if sick else [np.tanh]
    net = nn.Sequential(nn.Linear(2, 8, rng=rng), *between, nn.Linear(8, 1, rng=rng))
    return nn.mse_loss(net(draw(20, 2)), draw(20, 1))


@pair("linear")
def layers_written_by_hand(sick: bool) -> Any:
    W1, b1, W2 = af.Variable(draw(2, 4), name="W1"), af.Variable(draw(4), name="b1"), af.Variable(draw(4, 3), name="W2")
    h = draw(20, 2) @ W1 + b1
    return np.mean((h if sick else np.tanh(h)) @ W2)


@pair("linear")
def a_bottleneck_is_meant(sick: bool) -> Any:
    n = 3 if sick else 1
    W1, b1, W2 = af.Variable(draw(n, 3), name="W1"), af.Variable(draw(n), name="b1"), af.Variable(draw(3, n), name="W2")
    return np.sum(W2 @ (W1 @ draw(3) + b1))


@pair("range")
def targets_beyond_tanh(sick: bool) -> Any:
    w, X, T = af.Variable(draw(2), name="w"), draw(20, 2), np.linspace(-3.0, 3.0, 20)
    y = np.tanh(X @ w)
    return np.mean((y - (T if sick else T / 3)) ** 2)


@pair("range")
def targets_beyond_sigmoid(sick: bool) -> Any:
    net = nn.Sequential(nn.Linear(2, 1, rng=np.random.default_rng(0)), nn.sigmoid)
    return nn.mse_loss(net(draw(20, 2)), np.linspace(-2.0 if sick else 0.1, 0.9, 20)[:, None])


@pair("unreached")
def second_layer_is_not_used(sick: bool) -> Any:
    first, second = [nn.Linear(2, 2, rng=np.random.default_rng(k)) for k in range(2)]
    X = draw(20, 2)

    def loss() -> Any:
        h = np.tanh(first(X))
        return np.mean((h if sick else second(h)) ** 2)

    return descend(loss, *first.parameters(), *second.parameters())


@pair("infinite value")
def overflow_inside_of_a_finite_result(sick: bool) -> Any:
    x = af.Variable([1.0, 1000.0 if sick else 3.0], name="x")
    y = np.exp(x - 1.0)
    return (y / np.sum(y))[0]


@pair("nan value")
def nothing_in_this_is_spread(sick: bool) -> Any:
    x = af.Variable([1.0, 1.0, 1.0 if sick else 2.0], name="x")
    return np.sum(((x - np.mean(x)) / np.std(x)) ** 3)


@pair("dead")
def limits_that_are_too_narrow(sick: bool) -> Any:
    x = af.Variable([5.0, 7.0], name="x")
    return np.sum(np.clip(x, 0.0, 1.0 if sick else 9.0) ** 2)


@pair("no history")
def no_variable_at_all(sick: bool) -> Any:
    w, X = draw(2) if sick else af.Variable(draw(2), name="w"), draw(20, 2)
    return lambda: np.mean((X @ w) ** 2)


def halved_number(x: Any) -> Any:
    """A number that a function takes."""
    x = float(x)
    return x / 2


@pair("no history")
def number_taken_in_a_function(sick: bool) -> Any:
    x = af.Variable(3.0, name="x")
    return lambda: halved_number(x) if sick else x / 2


@pair("lost")
def stored_in_a_plain_array(sick: bool) -> Any:
    x = af.Variable([1.0, 2.0], name="x")

    def loss() -> Any:
        out = (np if sick else af).zeros((3, 2))
        out[1] = x * 2
        return np.sum(out * x)

    return loss


@pair("lost")
def full_of_a_parameter(sick: bool) -> Any:
    w, b, X = af.Variable(draw(3), name="w"), af.Variable(0.5, name="b"), draw(20, 3, seed=1)
    return descend(lambda: np.mean((X @ w + (np if sick else af).full(20, b) - 1.0) ** 2) + 0.1 * b**2, w, b)


@trained("unmoved")
def no_step_and_cleared_late(sick: bool, loss: Any, opt: Any) -> None:
    value = loss()
    opt.zero_grad()
    value.backward()
    if not sick:
        opt.step()


@pair("no history")
def the_largest_of_scores(sick: bool) -> Any:
    model, labels, X = nn.Linear(3, 3, rng=np.random.default_rng(0)), np.arange(20) % 3, draw(20, 3)

    def loss() -> Any:
        if sick:
            return np.mean((np.argmax(model(X), axis=1) - labels) ** 2)
        return nn.cross_entropy(model(X), labels)

    return descend(loss, *model.parameters())


@pair("unreached")
def value_between_two_networks(sick: bool) -> Any:
    rng, X = np.random.default_rng(0), draw(20, 3)
    body, head = nn.Linear(3, 4, rng=rng), nn.Linear(4, 1, rng=rng)
    opt = af.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)

    def step() -> None:
        h = np.tanh(body(X)).value if sick else np.tanh(body(X))
        loss = np.mean((head(h) - 1.0) ** 2)
        opt.zero_grad()
        loss.backward()
        opt.step()

    return step


@trained("learning rate")
def rate_that_is_0_after_the_first_step(sick: bool, loss: Any, opt: Any, box: Any) -> None:
    opt.zero_grad()
    loss().backward()
    opt.step()
    box["n"] = box.get("n", 0) + 1
    opt.lr = 0.05 * max(0.0, 1.0 - box["n"] / (1 if sick else 10))


@pair("made anew")
def parameter_made_in_each_step(sick: bool) -> Any:
    once, X = af.Variable([0.5, -0.5], name="w"), draw(20, 2)

    def step() -> None:
        w = af.Variable([0.5, -0.5], name="w") if sick else once
        w.zero_grad()
        np.mean((X @ w - 1.0) ** 2).backward()
        with af.no_grad():
            w -= 0.1 * w.grad

    return step


@pair("made anew")
def layer_made_in_each_call(sick: bool) -> Any:
    rng = np.random.default_rng(0)
    body, once, X = nn.Linear(2, 4, rng=rng), nn.Linear(4, 1, rng=rng), draw(20, 2)

    def loss() -> Any:
        head = nn.Linear(4, 1, rng=rng) if sick else once
        return np.mean((head(np.tanh(body(X))) - 1.0) ** 2)

    return descend(loss, *body.parameters(), *([] if sick else once.parameters()))


@pair("shapes")
def mask_of_whole_numbers(sick: bool) -> Any:
    w, X = af.Variable(draw(2), name="w"), draw(20, 2)
    mask = (X[:, 0] > 0).astype(int if sick else bool)
    return np.mean((X @ w)[mask] ** 2)


@pair("range")
def softmax_written_out_over_the_examples(sick: bool) -> Any:
    e = np.exp(draw(20, 2) @ af.Variable(draw(2, 3), name="W"))
    p = e / np.sum(e, axis=0 if sick else 1, keepdims=True)
    return -np.mean(np.log(p[np.arange(20), LABELS]))


@pair("lost")
def start_that_is_no_copy(sick: bool) -> Any:
    w, loss = model()
    start = w.value if sick else w.value.copy()
    return descend(lambda: loss() + 0.1 * np.sum((w - start) ** 2), w)


@pair("lost")
def drawn_from_parameters(sick: bool) -> Any:
    w, rng = af.Variable([1.0, 2.0], name="w"), np.random.default_rng(0)

    def loss() -> Any:
        drawn = rng.normal(w, 1.0) if sick else w + rng.normal(size=2)
        return np.sum(drawn * w)

    return loss


@pair("zero factor")
def a_mask_in_which_nothing_is_left(sick: bool) -> Any:
    w, X = af.Variable(draw(2), name="w"), draw(20, 2)
    mask = X[:, 0] > (9.0 if sick else 0.0)
    return np.sum((X @ w) ** 2 * mask)


@pair("no history")
def frozen_in_a_loop(sick: bool) -> Any:
    net = nn.Linear(2, 1, rng=np.random.default_rng(0))
    for p in net.parameters():
        p.requires_grad = not sick
    return np.sum(net(draw(20, 2)))


@pair("no history")
def array_of_an_output(sick: bool) -> Any:
    net, X = nn.Linear(2, 1, rng=np.random.default_rng(0)), draw(20, 2)
    return lambda: np.mean((np.asarray(net(X)) if sick else net(X)) ** 2)


@pair("error")
def labels_that_begin_at_1(sick: bool) -> Any:
    W, X = af.Variable(draw(2, 3), name="W"), draw(20, 2)

    def step() -> None:
        W.zero_grad()
        nn.cross_entropy(X @ W, LABELS + sick).backward()
        W.value = W.value - 0.1 * W.grad

    return step


@pair("uphill")
def a_name_that_changes_its_sign(sick: bool) -> Any:
    """The twin calls the logarithm of a likelihood a loss before it has a minus."""
    W, X = af.Variable(draw(2, 3), name="W"), draw(20, 2)
    opt = af.optim.SGD([W], lr=0.1)

    def step() -> None:
        opt.zero_grad()
        loss = (-1 if sick else 1) * np.mean(nn.log_softmax(X @ W)[np.arange(20), LABELS])
        (-loss).backward()
        opt.step()

    return step


@pair("uphill")
def penalty_with_a_mask_that_is_subtracted(sick: bool) -> Any:
    w, X, T, mask = af.Variable(draw(3), name="w"), draw(20, 3), draw(20), np.array([1.0, 1.0, 0.0])

    def loss() -> Any:
        penalty = 0.1 * np.sum(mask * w**2)
        return np.mean((X @ w - T) ** 2) + (-penalty if sick else penalty)

    return descend(loss, w)


@pair("uphill")
def steps_along_equal_weights(sick: bool) -> Any:
    """Signs of gradients may all be alike, as in the first step of Adam."""
    w = af.Variable(np.full(3, 0.1), name="w")
    w.value[0] += 0.1 * sick

    def step() -> None:
        w.zero_grad()
        loss = np.sum((w - 5.0 * np.arange(1, 4)) ** 2)
        loss.backward()
        w.value = w.value - 0.1 * (w.value if sick else np.sign(w.grad))

    return step


def written_softmax(x: Any, axis: int = 1) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def written_sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


BOTH = LABELS % 2
OF_SCORES: list[tuple[str, int, Callable[[Any], Any], Callable[[Any], Any]]] = [
    # a finding, how many classes there are, a loss of the scores in which it is, and the twin
    ("range", 3, lambda s: nn.nll_loss(nn.softmax(s), LABELS), lambda s: nn.nll_loss(nn.log_softmax(s), LABELS)),
    ("range", 3, lambda s: nn.kl_div(nn.softmax(s), np.full((20, 3), 1 / 3)),
     lambda s: nn.kl_div(nn.log_softmax(s), np.full((20, 3), 1 / 3))),
    ("range", 3, lambda s: nn.nll_loss(nn.log_softmax(s, axis=0), LABELS),
     lambda s: nn.nll_loss(nn.log_softmax(s, axis=1), LABELS)),
    ("range", 3, lambda s: -np.mean(np.log(nn.softmax(s, axis=0)[EACH, LABELS])),
     lambda s: -np.mean(np.log(nn.softmax(s, axis=1)[EACH, LABELS]))),
    ("range", 3, lambda s: -np.mean(np.sum(np.eye(3)[LABELS] * np.log(af.special.softmax(s, axis=0)), axis=1)),
     lambda s: -np.mean(np.sum(np.eye(3)[LABELS] * np.log(af.special.softmax(s, axis=1)), axis=1))),
    ("range", 1, lambda s: nn.binary_cross_entropy((LABELS > 0) * 1.0, nn.sigmoid(s)),
     lambda s: nn.binary_cross_entropy(nn.sigmoid(s), (LABELS > 0) * 1.0)),
    ("twice", 3, lambda s: nn.cross_entropy(written_softmax(s), LABELS), lambda s: nn.cross_entropy(s, LABELS)),
    ("twice", 3, lambda s: written_loss(nn.softmax(s)), lambda s: written_loss(s)),
    ("twice", 3, lambda s: -np.mean(np.log(nn.softmax(nn.softmax(s, axis=1), axis=1))[EACH, LABELS]),
     lambda s: -np.mean(np.log(nn.softmax(s, axis=1))[EACH, LABELS])),
    ("twice", 3, lambda s: -np.mean(np.log(written_softmax(written_softmax(s))[EACH, LABELS])),
     lambda s: -np.mean(np.log(written_softmax(s)[EACH, LABELS]))),
    ("twice", 1, lambda s: nn.binary_cross_entropy_with_logits(written_sigmoid(s), np.ones(20)),
     lambda s: nn.binary_cross_entropy_with_logits(s, np.ones(20))),
    ("twice", 1, lambda s: np.mean((written_sigmoid(written_sigmoid(s)) - BOTH) ** 2),
     lambda s: np.mean((written_sigmoid(s) - BOTH) ** 2)),
    ("saturated", 1, lambda s: np.mean((1 / (1 + np.exp(-1000 * s)) - 0.5) ** 2),
     lambda s: np.mean((1 / (1 + np.exp(-s)) - 0.5) ** 2)),
]  # fmt: skip


def written_loss(s: Any) -> Any:
    return np.mean(np.logaddexp.reduce(s, axis=1) - s[EACH, LABELS])


for kind, classes, wrong, right in OF_SCORES:

    @pair(kind)
    def loss_of_scores(sick: bool, classes: int = classes, wrong: Any = wrong, right: Any = right) -> Any:
        scores = draw(20, 2) @ af.Variable(draw(2, classes) if classes > 1 else draw(2), name="W")
        return (wrong if sick else right)(scores)


for activation in (lambda h: np.maximum(h, 0.0), lambda h: np.where(h <= 0, 0.0, h)):

    @pair("dead units")
    def half_dead(sick: bool, activation: Any = activation) -> Any:
        W = af.Variable(draw(3, 4), name="W")
        b = af.Variable(np.array([0.0, 0.0, -100.0, -100.0]) if sick else np.zeros(4), name="b")
        return np.sum(activation(draw(40, 3) @ W + b))


LIKELIHOODS: list[Callable[[Any], Any]] = [  # of the labels, of scores of three classes
    lambda s: np.mean(nn.log_softmax(s)[np.arange(20), LABELS]),
    lambda s: np.sum(np.log(written_softmax(s)[np.arange(20), LABELS] + 1e-12)) / 20,
    lambda s: np.mean((s - np.log(np.sum(np.exp(s), axis=1, keepdims=True)))[np.arange(20), LABELS]),
    lambda s: np.mean(np.take_along_axis(nn.log_softmax(s), LABELS[:, None], axis=1)),
    lambda s: np.mean(np.sum(np.eye(3)[LABELS] * np.log(nn.softmax(s)), axis=1)),
    lambda s: sum([np.log(nn.softmax(row))[t] for row, t in zip(s, LABELS, strict=True)]) / 20,
    lambda s: np.mean(LABELS % 2 * np.log(p := nn.sigmoid(s[:, 0])) + (1 - LABELS % 2) * np.log(1 - p)),
]


for of_scores in LIKELIHOODS:

    @pair("uphill")
    def likelihood_that_steps_lower(sick: bool, of_scores: Any = of_scores) -> Any:
        W, X = af.Variable(draw(2, 3), name="W"), draw(20, 2)
        return descend(lambda: of_scores(X @ W) if sick else -of_scores(X @ W), W)


GAINS: list[Callable[[Any], Any]] = [  # of numbers
    lambda m: (log_likelihood := -np.sum((draw(20, 2) - m) ** 2) / 2),  # noqa: F841 - the doctor reads it
    lambda m: (reward := nn.softmax(np.stack([m[0], 0 * m[0]]))[0]),  # noqa: F841 - the same
    lambda m: np.sum(af.stats.norm.logpdf(draw(20, 2), m, 1.0)),
    lambda m: np.mean(af.stats.poisson.logpmf(np.arange(4)[:, None], loc=0, mu=np.exp(m))),
    lambda m: -np.mean(losses := (draw(20, 2) - m) ** 2),  # noqa: F841 - the same
    lambda m: -(J := np.mean((draw(20, 2) - m) ** 2)),  # noqa: F841 - the same
    lambda m: -(z := nn.mse_loss(draw(20, 2) * m, draw(20, 2, seed=1))),  # noqa: F841 - the same
]


for of_numbers in GAINS:

    @pair("uphill")
    def gain_that_steps_lower(sick: bool, of_numbers: Any = of_numbers) -> Any:
        m = af.Variable([0.5, 0.4], name="m")
        return descend(lambda: of_numbers(m) if sick else -of_numbers(m), m)


@trained("uphill")
def steps_along_signs(sick: bool, w: Any, loss: Any) -> None:
    w.zero_grad()
    loss().backward()
    w.value = w.value + (0.02 if sick else -0.02) * np.sign(w.grad)


@pair("uphill")
def decay_of_the_wrong_sign(sick: bool) -> Any:
    net, X = nn.Sequential(nn.Linear(2, 4, rng=np.random.default_rng(0)), nn.tanh), draw(20, 2)

    def step() -> None:
        net.zero_grad()
        nn.cross_entropy(net(X), LABELS).backward()
        for p in net.parameters():
            p.value = p.value - 0.05 * (p.grad + (-0.01 if sick else 0.01) * p.value)

    return step


@pair("uphill")
def up_the_gradient_of_arrays(sick: bool) -> Any:
    params, X, T = {"w": np.zeros(3), "b": np.zeros(())}, draw(20, 3), draw(20, seed=1)

    def loss(p: Any) -> Any:
        return np.mean((X @ p["w"] + p["b"] - T) ** 2)

    def step() -> None:
        g = af.grad(loss)(params)
        params.update({k: p + (0.05 if sick else -0.05) * g[k] for k, p in params.items()})

    return step


@pair("learning rate")
def too_long_for_arrays(sick: bool) -> Any:
    box, X, T = [np.zeros(3)], draw(20, 3), draw(20, seed=1)

    def step() -> None:
        box[0] = box[0] - (5.0 if sick else 0.05) * af.grad(lambda w: np.mean((X @ w - T) ** 2))(box[0])

    return step


@pair("twice")
def sigmoid_of_a_sigmoid(sick: bool) -> Any:
    net, X = nn.Sequential(nn.Linear(2, 1, rng=np.random.default_rng(0)), nn.sigmoid), draw(20, 2)
    return np.mean(((nn.sigmoid(net(X)) if sick else net(X))[:, 0] - LABELS % 2) ** 2)


MISFITS: list[tuple[int, Callable[[Any, Any], Any]]] = [  # of predictions and targets, without a name; or the negative
    (1, lambda y, t: np.mean((y - t) ** 2)), (1, lambda y, t: np.sum(np.abs(t - y))),
    (1, lambda y, t: (y - t) @ (y - t) / 40), (1, lambda y, t: 0.5 * np.square(y - t).mean()),
    (1, lambda y, t: np.linalg.norm(y - t)), (-1, lambda y, t: -np.mean((y - t) ** 2)),
]  # fmt: skip
for sign, fn in MISFITS:

    @pair("uphill")
    def up_a_misfit_without_a_name(sick: bool, sign: int = sign, fn: Any = fn) -> Any:
        w, b, X, T = af.Variable(draw(3), name="w"), af.Variable(0.0, name="b"), draw(20, 3), draw(20, seed=1)

        def step() -> None:
            w.zero_grad(), b.zero_grad()
            fn(X @ w + b, T).backward()
            w.value, b.value = [p.value + (0.01 if sick else -0.01) * sign * p.grad for p in (w, b)]

        return step


for batches in (lambda rng: rng.permutation(20)[:, None], lambda rng: [rng.integers(0, 20, 2)]):

    @pair("uphill")
    def up_the_losses_of_batches(sick: bool, batches: Any = batches) -> Any:
        """The last of them may fall."""
        w, X, T, rng = af.Variable(draw(3), name="w"), draw(20, 3), draw(20, seed=1), np.random.default_rng(3)

        def epoch() -> None:
            for batch in batches(rng):
                w.zero_grad()
                loss = np.mean((X[batch] @ w - T[batch]) ** 2)
                loss.backward()
                w.value += (0.001 if sick else -0.001) * w.grad

        return epoch


@pair("alike")
def sigmoids_of_zeros(sick: bool) -> Any:
    """The last layer begins with 0, too: the first gets gradients from the second run on."""
    W1, W2 = af.Variable(np.zeros((3, 4)) if sick else draw(3, 4), name="W1"), af.Variable(np.zeros(4), name="W2")
    return descend(lambda: np.mean((nn.sigmoid(draw(20, 3) @ W1) @ W2 - 1.0) ** 2), W1, W2)


@trained("nan value")
def gap_in_the_second_of_three_batches(sick: bool, w: Any, X: Any) -> None:
    X[12, 1] = np.nan if sick else 1.0
    for k in range(0, 20, 7):
        w.zero_grad()
        np.mean((X[k : k + 7] @ w - 1.0) ** 2).backward()
        w.value = w.value - 0.01 * w.grad


@trained("became nan")
def loss_that_grows_beyond_all_numbers(sick: bool, w: Any, loss: Any) -> None:
    for _ in range(600):
        w.zero_grad()
        loss().backward()
        with np.errstate(all="ignore"):
            w.value = w.value - (5.0 if sick else 0.01) * w.grad


@pair("learning rate")
def weights_that_decay_beyond_0(sick: bool) -> Any:
    w, X, T, decay = af.Variable(draw(3), name="w"), draw(20, 3), draw(20, seed=1), 30.0 if sick else 0.1
    return descend(lambda: np.mean((X @ w - T) ** 2), w, kind=lambda p, lr: af.optim.SGD(p, 0.1, 0.0, decay))


@pair("learning rate")
def steps_that_saturate_a_layer(sick: bool) -> Any:
    W, v, X, T = af.Variable(draw(3, 8) / 2, name="W"), af.Variable(draw(8), name="v"), draw(40, 3), draw(40, seed=1)
    return descend(lambda: np.mean((np.tanh(X @ W) @ v - T) ** 2), W, v, lr=20.0 if sick else 0.01)


@trained("unmoved")
def a_step_of_0(sick: bool, w: Any, loss: Any) -> None:
    w.zero_grad()
    loss().backward()
    w.value = w.value - (0.0 if sick else 0.1) * w.grad


@pair("unmoved")
def a_bias_that_nothing_writes(sick: bool) -> Any:
    (w, loss), b = model(), af.Variable(0.5, name="b")

    def step() -> None:
        w.zero_grad(), b.zero_grad()
        (loss() + (b - 1.0) ** 2).backward()
        for p in [w] if sick else [w, b]:
            p.value -= 0.1 * p.grad

    return step


@pair("no history")
def classes_in_a_loss_before_an_update(sick: bool) -> Any:
    """What the update takes is no cause, nor what is taken of data."""
    W, X, hot = af.Variable(draw(2, 3), name="W"), draw(20, 2), np.eye(3)[LABELS]

    def step() -> float:
        z, t = X @ W, hot.argmax(1)
        loss = np.mean((z.argmax(1) - t) ** 2) if sick else nn.cross_entropy(z, t)
        W.zero_grad()
        loss.backward()
        W.value -= 0.1 * W.grad
        return float(loss.value)

    return step


@pair("dead units")
def one_row_in_the_place_of_a_batch(sick: bool) -> Any:
    places = np.zeros(20, int) if sick else np.arange(20)
    return np.sum(nn.relu(draw(20, 3)[places] @ af.Variable(draw(3, 8, seed=4), name="W")))
