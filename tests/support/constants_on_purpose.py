"""Training programs that take numbers out of a graph because they mean it, or make what looks like a mistake: nothing
is wrong with them. Each function returns parameters and a loss, or a whole step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from healthy_programs import LABELS, T, X, descend, draw

import autoflow as af
from autoflow import nn

MEANT: list[Callable[[], Any]] = []


def meant(make: Callable[[], Any]) -> Callable[[], Any]:
    MEANT.append(make)
    return make


def as_step(make: Callable[[], Any]) -> Callable[[], Any]:
    made = make()
    if callable(made):
        return made
    parameters, loss = made
    return descend(loss, *parameters, lr=0.02)


def line(*shape: int) -> tuple[Any, Callable[[], Any]]:
    """A line, and its squared error."""
    w = af.Variable(draw(*(shape or (3,))) / 2, name="w")
    return w, lambda: np.mean((X @ w - T) ** 2)


@meant
def elastic_weight_consolidation() -> Any:
    w, loss = line()
    loss().backward()
    fisher, anchor = w.grad**2, w.value.copy()
    w.zero_grad()
    return [w], lambda: loss() + 10 * np.sum(fisher * (w - anchor) ** 2)


@meant
def penalty_from_where_the_step_begins() -> Any:
    w, loss = line()

    def penalised() -> Any:
        before = w.value.copy()
        return loss() + 0.1 * np.sum((w - before) ** 2)

    return [w], penalised


@meant
def trust_region() -> Any:
    W = af.Variable(draw(3, 2), name="W")
    old = nn.log_softmax(X @ W).value.copy()

    def loss() -> Any:
        new = nn.log_softmax(X @ W)
        return nn.nll_loss(new, LABELS) + 0.5 * np.mean(np.sum(np.exp(old) * (old - new), axis=1))

    return [W], loss


@meant
def proximal_policy() -> Any:
    W, advantage = af.Variable(draw(3, 2), name="W"), T - T.mean()

    def loss() -> Any:
        log_p = nn.log_softmax(X @ W)[np.arange(40), LABELS]
        ratio = np.exp(log_p - log_p.detach())
        return -np.mean(np.minimum(ratio * advantage, np.clip(ratio, 0.8, 1.2) * advantage))

    return [W], loss


@meant
def polyak_average_as_a_teacher() -> Any:
    w, loss = line()
    teacher, opt = {"w": w.value.copy()}, af.optim.SGD([w], lr=0.02)

    def step() -> None:
        opt.zero_grad()
        (loss() + 0.1 * np.mean((X @ w - X @ teacher["w"]) ** 2)).backward()
        opt.step()
        teacher["w"] = 0.9 * teacher["w"] + 0.1 * w.value

    return step


@meant
def targets_by_the_network_itself() -> Any:
    w, _ = line()
    return [w], lambda: np.mean((T + 0.9 * np.abs(X @ w.value) - X @ w) ** 2)


@meant
def target_network_that_is_frozen() -> Any:
    net = nn.Linear(3, 1, rng=np.random.default_rng(0))
    target = copy.deepcopy(net)
    for p in target.parameters():
        p.requires_grad = False
    return net.parameters(), lambda: np.mean((net(X)[:, 0] - T - 0.9 * target(X)[:, 0]) ** 2)


@meant
def advantage_over_a_baseline() -> Any:
    W, v = af.Variable(draw(3, 2), name="W"), af.Variable(draw(3), name="v")

    def loss() -> Any:
        log_p, values = nn.log_softmax(X @ W)[np.arange(40), LABELS], X @ v
        return -np.mean(log_p * (T - values.value)) + 0.5 * np.mean((T - values) ** 2)

    return [W, v], loss


@meant
def rounding_that_gradients_pass_through() -> Any:
    w, _ = line()
    return [w], lambda: np.mean((X @ (w + (np.round(w * 4) / 4 - w).detach()) - T) ** 2)


@meant
def signs_that_gradients_pass_through() -> Any:
    w, _ = line()
    return [w], lambda: np.mean((X @ (w + (np.sign(w.value) - w.value)) - T) ** 2)


@meant
def codebook() -> Any:
    W, C, D = [
        af.Variable(draw(*s, seed=k), name=n) for k, (s, n) in enumerate([((3, 2), "W"), ((5, 2), "C"), ((2, 3), "D")])
    ]

    def loss() -> Any:
        z = X @ W
        nearest = np.argmin(np.sum((z.value[:, None] - C.value) ** 2, axis=-1), axis=1)
        e = C[nearest]
        q = z + (e - z).detach()
        return np.mean((q @ D - X) ** 2) + np.mean((e - z.detach()) ** 2) + 0.25 * np.mean((e.detach() - z) ** 2)

    return [W, C, D], loss


@meant
def weights_from_the_last_residuals() -> Any:
    w, _ = line()

    def loss() -> Any:
        r = X @ w - T
        return np.mean(r**2 / (np.abs(r.value) + 1e-3))

    return [w], loss


@meant
def losses_scaled_by_their_own_size() -> Any:
    a, b = af.Variable(draw(3), name="a"), af.Variable(draw(3, seed=1), name="b")

    def loss() -> Any:
        first, second = np.mean((X @ a - T) ** 2), np.mean((X @ b - T**2) ** 2)
        return first / float(first) + second / float(second)

    return [a, b], loss


@meant
def soft_targets_of_a_teacher() -> Any:
    student, teacher = [nn.Linear(3, 2, rng=np.random.default_rng(k)) for k in range(2)]
    return student.parameters(), lambda: nn.kl_div(nn.log_softmax(student(X)), nn.softmax(teacher(X).value))


@meant
def a_slope_as_a_constant() -> Any:
    w, _ = line()

    def loss() -> Any:
        g = af.grad(lambda v: np.mean((X @ v - T) ** 2))(w.value)
        return np.mean((X @ (w - 0.1 * g) - T) ** 2)

    return [w], loss


@meant
def pairs_told_apart_from_all_others() -> Any:
    W, other = af.Variable(draw(3, 4), name="W"), X + 0.1 * draw(40, 3, seed=4)
    return [W], lambda: nn.cross_entropy((X @ W) @ (other @ W).T, np.arange(40))


@meant
def a_bias_that_cancels() -> Any:
    """In one of two passes: it never changes, and its gradient is that of the other pass."""
    net, rng = nn.Linear(3, 1, rng=np.random.default_rng(0)), np.random.default_rng(1)
    G = af.Variable(draw(2, 3), name="G")
    of_net, of_g = af.optim.Adam(net.parameters(), lr=1e-3), af.optim.Adam([G], lr=1e-3)

    def step() -> None:
        made = rng.normal(size=(40, 2)) @ G
        of_net.zero_grad()
        (np.mean(net(made.detach())) - np.mean(net(X))).backward()
        of_net.step()
        of_g.zero_grad()
        (-np.mean(net(made))).backward()
        of_g.step()

    return step


@meant
def a_penalty_on_slopes_of_the_input() -> Any:
    net = nn.Sequential(
        nn.Linear(3, 8, rng=np.random.default_rng(0)), np.tanh, nn.Linear(8, 1, rng=np.random.default_rng(1))
    )

    def loss() -> Any:
        x = af.Variable(X)
        (g,) = af.gradients(np.sum(net(x)), [x], create_graph=True)
        return np.mean((net(X)[:, 0] - T) ** 2) + 0.1 * np.mean(np.sum(g**2, axis=1))

    return net.parameters(), loss


@meant
def training_inside_of_a_function() -> Any:
    def fit() -> Any:
        w, loss = line()
        opt = af.optim.SGD([w], lr=0.1)
        for _ in range(5):
            opt.zero_grad()
            loss().backward()
            opt.step()
        return w.value

    return fit


@meant
def a_copy_that_adapts_to_each_task() -> Any:
    net = nn.Linear(3, 1, rng=np.random.default_rng(0))
    opt = af.optim.SGD(net.parameters(), lr=0.01)

    def step() -> None:
        fast = copy.deepcopy(net)
        inner = af.optim.SGD(fast.parameters(), lr=0.1)
        for part in (slice(20), slice(20, 40)):
            inner.zero_grad()
            nn.mse_loss(fast(X[part])[:, 0], T[part]).backward()
            if part == slice(20):
                inner.step()
        for p, q in zip(net.parameters(), fast.parameters(), strict=True):
            p.grad = q.grad
        opt.step()

    return step


@meant
def embeddings_of_two_classes() -> Any:
    E, v = af.Variable(draw(2, 4), name="E"), af.Variable(draw(4), name="v")
    return [E, v], lambda: np.mean((E[LABELS] @ v - T) ** 2)


@meant
def gradients_that_are_returned() -> Any:
    w, loss = line()

    def step() -> None:
        (g,) = af.gradients(loss(), [w])
        w.value = w.value - 0.1 * g

    return step
