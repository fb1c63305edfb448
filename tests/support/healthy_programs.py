"""Training programs as people write them, with nothing wrong: each function returns a step for af.diagnose."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import autoflow as af
from autoflow import nn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
T = np.tanh(X @ np.array([1.0, -2.0, 0.5])) + 0.1 * RNG.normal(size=40)
LABELS = (T > 0).astype(int)
HEALTHY: list[Callable[[], Any]] = []


def healthy(make: Callable[[], Any]) -> Callable[[], Any]:
    HEALTHY.append(make)
    return make


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def weights(*shape: int, name: str, seed: int = 1) -> Any:
    """A Variable of small random numbers."""
    return af.Variable(draw(*shape, seed=seed) / 2, name=name)


def descend(
    loss: Callable[[], Any], *parameters: Any, lr: float = 0.05, kind: Any = af.optim.SGD
) -> Callable[[], None]:
    """A step of an optimiser down a loss."""
    opt = kind(parameters, lr=lr)

    def step() -> None:
        opt.zero_grad()
        value = loss()
        value.backward()
        opt.step()

    return step


def distance(w: Any) -> Any:
    """Of a line from the targets."""
    return np.mean((X @ w - T) ** 2)


def bound(update: Callable[..., Any], every: dict[str, Any]) -> Callable[[], Any]:
    """A step: the function with those of the values that it asks for by name."""
    given = {name: x for name, x in every.items() if name in update.__annotations__}

    def step() -> Any:
        return update(**given)

    return step


def healthy_step(update: Callable[..., Any]) -> Callable[[], Any]:
    """Add the program of which this is the step: weights, an optimiser, a dict that stays."""

    def make() -> Any:
        w = weights(3, name="w")
        return bound(update, {"w": w, "opt": af.optim.SGD([w], lr=0.1), "box": {}})

    make.__name__ = update.__name__
    return healthy(make)


@healthy
def scalars_as_in_micrograd() -> Any:
    class Neuron:
        def __init__(self, n: int, rng: Any) -> None:
            self.w = [af.Variable(rng.uniform(-1, 1)) for _ in range(n)]
            self.b = af.Variable(0.0)

        def __call__(self, x: Any) -> Any:
            return np.tanh(sum((w * v for w, v in zip(self.w, x, strict=True)), self.b))

        def parameters(self) -> list[Any]:
            return [*self.w, self.b]

    rng = np.random.default_rng(0)
    hidden, last = [Neuron(3, rng) for _ in range(4)], Neuron(4, rng)

    def step() -> None:
        scores = [last([n(x) for n in hidden]) for x in X[:5]]
        loss = sum((score - t) ** 2 for score, t in zip(scores, T[:5], strict=True))
        parameters = [p for n in (*hidden, last) for p in n.parameters()]
        for p in parameters:
            p.zero_grad()
        loss.backward()
        for p in parameters:
            with af.no_grad():
                p -= 0.05 * p.grad

    return step


@healthy
def values_replaced_as_in_a_textbook() -> Any:
    w, b = weights(3, name="w"), af.Variable(0.0, name="b")

    def step() -> float:
        loss = np.mean((X @ w + b - T) ** 2)
        loss.backward()
        for p in (w, b):
            p.value = p.value - 0.1 * p.grad
            p.zero_grad()
        return float(loss)

    return step


@healthy
def model_and_optimiser_as_in_pytorch() -> Any:
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(3, 8, rng=rng), nn.relu, nn.Linear(8, 1, rng=rng))
    opt, history = af.optim.Adam(model.parameters(), lr=0.01), []

    def step() -> Any:
        loss = nn.mse_loss(model(X)[:, 0], T)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(float(loss))
        return loss

    return step


@healthy
def clipped_batches_that_are_shuffled() -> Any:
    W = weights(3, 2, name="W")
    opt, rng, running = af.optim.SGD([W], lr=0.1, momentum=0.9), np.random.default_rng(0), {"loss": 0.0}

    def epoch() -> None:
        order = rng.permutation(len(X))
        for k in range(0, len(X), 10):
            opt.zero_grad()
            loss = nn.cross_entropy(X[order[k : k + 10]] @ W, LABELS[order[k : k + 10]])
            loss.backward()
            af.optim.clip_grad_norm([W], 1.0)
            opt.step()
            running["loss"] += loss.item()

    return epoch


@healthy_step
def gradients_collected_over_four_parts(w: Any, opt: Any) -> Any:
    opt.zero_grad()
    for part in range(4):
        loss = np.mean((X[part::4] @ w - T[part::4]) ** 2) / 4
        loss.backward()
    opt.step()


@healthy_step
def gradients_collected_over_five_calls(w: Any, opt: Any, box: Any) -> Any:
    k = box.get("n", 0) % 5
    (np.mean((X[k::5] @ w - T[k::5]) ** 2) / 5).backward()
    box["n"] = k + 1
    if k == 4:
        opt.step()
        opt.zero_grad()


@healthy
def function_of_a_dict_with_value_and_grad() -> Any:
    box = {"parameters": {"w": np.zeros(3), "b": 0.0}}

    def loss(p: Any) -> Any:
        return np.mean((X @ p["w"] + p["b"] - T) ** 2)

    def step() -> Any:
        value, grads = af.value_and_grad(loss)(box["parameters"])
        box["parameters"] = {k: v - 0.1 * grads[k] for k, v in box["parameters"].items()}
        return value

    return step


@healthy
def generator_and_judge_in_turns() -> Any:
    G, D = weights(2, 3, name="G"), weights(3, name="D", seed=2)
    of_g, of_d = af.optim.SGD([G], lr=0.01), af.optim.SGD([D], lr=0.01)
    rng = np.random.default_rng(0)

    def step() -> None:
        made = rng.normal(size=(20, 2)) @ G
        of_d.zero_grad()
        judged = np.mean(nn.softplus(made.detach() @ D)) + np.mean(nn.softplus(-(X @ D)))
        judged.backward()
        of_d.step()
        of_g.zero_grad()
        np.mean(nn.softplus(-(made @ D.detach()))).backward()
        of_g.step()

    return step


@healthy
def recurrent_network_with_a_state_that_is_cut() -> Any:
    W, U, v = weights(4, 4, name="W"), weights(4, 3, name="U"), weights(4, name="v")
    opt, box = af.optim.Adam([W, U, v], lr=0.01), {"h": np.zeros(4)}

    def step() -> None:
        h, loss = box["h"], 0.0
        for x, t in zip(X[:8], T[:8], strict=True):
            h = np.tanh(W @ h + U @ x)
            loss = loss + (v @ h - t) ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        box["h"] = h.detach()

    return step


@healthy
def inner_steps_through_which_gradients_flow() -> Any:
    w = weights(3, name="w")

    def loss(w: Any, part: int) -> Any:
        return np.mean((X[part::2] @ w - T[part::2]) ** 2)

    def after_a_step() -> Any:
        (g,) = af.gradients(loss(w, 0), [w], create_graph=True)
        return loss(w - 0.1 * g, 1)

    return descend(after_a_step, w)


@healthy
def frozen_features_under_a_trained_head() -> Any:
    body, head = weights(3, 6, name="body"), weights(6, name="head", seed=3)
    body.requires_grad = False
    return descend(lambda: np.mean((np.tanh(X @ body) @ head - T) ** 2), head)


@healthy_step
def best_model_kept_and_learning_rate_lowered(w: Any, opt: Any, box: Any) -> Any:
    opt.zero_grad()
    loss = distance(w)
    loss.backward()
    opt.step()
    box["n"] = box.get("n", 0) + 1
    opt.lr = 0.2 / box["n"]
    if loss < box.get("loss", np.inf):
        box.update(loss=float(loss), w=w.value.copy())


@healthy
def attack_on_an_image() -> Any:
    W, x = weights(3, name="W"), af.Variable(X[0], name="x")
    W.requires_grad = False

    def step() -> None:
        loss = nn.softplus(-(x @ W))
        loss.backward()
        with af.no_grad():
            x[...] = np.clip(x.value + 0.01 * np.sign(x.grad), -3, 3)
        x.zero_grad()

    return step


@healthy_step
def gradients_alone(w: Any) -> Any:
    distance(w).backward()
    return w.grad


@healthy_step
def rows_of_a_jacobian_one_after_another(w: Any) -> Any:
    y, found = np.tanh(X[:2] @ w), []
    for row in np.eye(2):
        w.zero_grad()
        y.backward(row)
        found.append(w.grad)
    return found


@healthy
def compiled_step() -> Any:
    @af.compile
    def gradient(w: Any, x: Any, t: Any) -> Any:
        return af.value_and_grad(lambda w: np.mean((x @ w - t) ** 2))(w)

    state = {"w": np.zeros(3)}

    def step() -> Any:
        value, g = gradient(state["w"], X, T)
        state["w"] = state["w"] - 0.1 * g
        return value

    return step


@healthy
def clusters_chosen_by_the_smallest_distance() -> Any:
    centres = weights(2, 3, name="centres")

    def loss() -> Any:
        distances = np.sum((X[:, None] - centres) ** 2, axis=-1)
        return np.mean(distances[np.arange(40), np.argmin(np.asarray(distances), axis=1)])

    return descend(loss, centres)


@healthy
def zeros_where_they_are_right() -> Any:
    W, b, scale = weights(3, 8, name="W"), af.Variable(np.zeros(8), name="b"), af.Variable(np.ones(8), name="scale")
    v = weights(8, 2, name="v", seed=3)
    return descend(lambda: nn.cross_entropy(np.maximum((X @ W + b) * scale, 0.0) @ v, LABELS), W, b, scale, v)


@healthy
def logistic_regression_that_begins_at_0() -> Any:
    W, b = af.Variable(np.zeros((3, 2)), name="W"), af.Variable(np.zeros(2), name="b")
    return descend(lambda: nn.cross_entropy(X @ W + b, LABELS), W, b)


@healthy
def attention_whose_weights_are_normalised_twice_on_purpose() -> Any:
    W = weights(3, 3, name="W")

    def loss() -> Any:
        a = nn.softmax(X[:8] @ W @ X[:8].T, axis=0)
        b = nn.softmax(a / np.mean(a), axis=1)
        return np.mean((b @ T[:8] - T[:8]) ** 2)

    return descend(loss, W)


@healthy_step
def ascent_on_a_likelihood(w: Any) -> Any:
    likelihood = np.mean(nn.log_softmax(np.stack([X @ w, -(X @ w)], axis=1))[np.arange(40), LABELS])
    likelihood.backward()
    w.value = w.value + 0.1 * w.grad
    w.zero_grad()


@healthy
def ones_by_adam() -> Any:
    """Its first step is a multiple of the signs, and so of the weights."""
    w, b = af.Variable(np.ones(3), name="w"), af.Variable(0.0, name="b")
    return descend(lambda: np.mean((X @ w + b - 9.0) ** 2), w, b, lr=0.01, kind=af.optim.Adam)


@healthy
def two_networks_against_each_other() -> Any:
    """The one ends and the other begins with a linear layer."""
    rng = np.random.default_rng(0)
    make = nn.Linear(2, 2, rng=rng)
    judge = nn.Sequential(nn.Linear(2, 8, rng=rng), nn.leaky_relu, nn.Linear(8, 1, rng=rng))
    making, judging = af.optim.Adam(make.parameters(), lr=0.01), af.optim.Adam(judge.parameters(), lr=0.01)

    def step() -> None:
        z, real = rng.normal(size=(16, 2)), rng.normal(size=(16, 2)) + 2
        judging.zero_grad()
        np.mean(nn.softplus(-judge(real)) + nn.softplus(judge(make(z).detach()))).backward()
        judging.step()
        making.zero_grad()
        np.mean(nn.softplus(-judge(make(z)))).backward()
        making.step()

    return step


@healthy
def a_reward_that_is_0_at_times() -> Any:
    theta, rng = af.Variable(np.zeros(3), name="theta"), np.random.default_rng(0)

    def loss() -> Any:
        log_p = nn.log_softmax(theta)
        choice = rng.choice(3, p=np.exp(log_p.value))
        return -log_p[choice] * [0.0, 1.0, 0.5][choice]

    return descend(loss, theta)


@healthy
def an_image_that_fools_a_network() -> Any:
    model = nn.Linear(3, 2, rng=np.random.default_rng(0))

    def attack() -> Any:
        x = af.Variable(X)
        nn.cross_entropy(model(x), LABELS).backward()
        return X + 0.1 * np.sign(x.grad)

    return attack


@healthy
def the_start_is_pulled_at() -> Any:
    start = np.full(3, 0.1)
    w = af.Variable(start, name="w")
    before = w.value.copy()
    return descend(lambda: distance(w) + 0.01 * np.sum((w - start) ** 2) + 0.01 * np.sum((w - before) ** 2), w)


@healthy
def a_compiled_loss_and_a_slow_copy() -> Any:
    w, slow = af.Variable(np.zeros(3), name="w"), af.Variable(np.zeros(3), name="slow")
    loss = af.compile(lambda w, x, t: np.mean((x @ w - t) ** 2))
    descended = descend(lambda: loss(w, X, T), w)

    def step() -> None:
        descended()
        slow.value = 0.9 * slow.value + 0.1 * w.value

    return step


LENGTHS, STEPS = np.random.default_rng(3).integers(3, 9, len(X)), 20
INSIDE = np.arange(STEPS) < LENGTHS[:, None]  # the others are padding
SEQUENCES = np.random.default_rng(4).normal(size=(len(X), STEPS, 3))


@healthy
def padding_that_the_loss_leaves_out() -> Any:
    w, v = weights(3, 4, name="w"), weights(4, name="v", seed=2)

    def loss() -> Any:
        errors = (np.tanh(SEQUENCES @ w) @ v - T[:, None]) ** 2
        return np.sum(np.where(INSIDE, errors, 0)) / INSIDE.sum()

    return descend(loss, w, v)


@healthy
def padding_that_has_no_label() -> Any:
    w, labels = weights(3, 4, name="w"), np.where(INSIDE, np.argmax(SEQUENCES, axis=2), -100)
    return descend(lambda: nn.cross_entropy((SEQUENCES @ w).swapaxes(1, 2), labels), w)


@healthy
def padding_that_is_not_attended_to() -> Any:
    rng = np.random.default_rng(0)
    block, head = nn.TransformerBlock(3, 1, rng=rng), nn.Linear(3, 1, rng=rng)

    def loss() -> Any:
        scores = head(block(SEQUENCES, attn_mask=INSIDE[:, None, :]))[..., 0]
        return nn.mse_loss(np.sum(np.where(INSIDE, scores, 0), axis=1) / LENGTHS, T)

    return descend(loss, *block.parameters(), *head.parameters())


@healthy_step
def norm_of_the_gradient_that_is_looked_at_later(w: Any, opt: Any, box: Any) -> Any:
    opt.zero_grad()
    distance(w).backward()
    opt.step()
    box.setdefault("norms", []).append(af.optim.clip_grad_norm([w], np.inf))


@healthy
def a_judge_that_makes_five_steps_for_one() -> Any:
    rng, turn = np.random.default_rng(0), {"n": 0}
    maker, judge = (
        nn.Linear(2, 3, rng=rng),
        nn.Sequential(nn.Linear(3, 8, rng=rng), nn.leaky_relu, nn.Linear(8, 1, rng=rng)),
    )
    making, judging = af.optim.RMSprop(maker, lr=1e-3), af.optim.RMSprop(judge, lr=1e-3)

    def step() -> None:
        turn["n"] += 1
        noise = rng.normal(size=(16, 2))
        judging.zero_grad()
        (np.mean(judge(maker(noise).detach())) - np.mean(judge(X[:16]))).backward()
        judging.step()
        if turn["n"] % 5 == 0:
            making.zero_grad()
            (-np.mean(judge(maker(noise)))).backward()
            making.step()

    return step


@healthy
def columns_that_are_turned_one_after_another() -> Any:
    """A few records of views of views, picked as if by chance, hold the node that they are views of."""
    W = weights(2, 150, name="W")

    def step() -> None:
        W.zero_grad()
        sum([np.sum((W[:, k : k + 1].T - 1.0) ** 2) for k in range(150)]).backward()
        with af.no_grad():
            W[...] -= 0.1 * W.grad

    return step


@healthy
def fits_that_are_squares_of_the_parameter() -> Any:
    """What a loss lowers may have the form of a penalty: not where it takes data, nor in the square of a difference."""
    v, u = weights(3, name="v"), weights(3, name="u", seed=2)

    def loss() -> Any:
        return -(v @ (X.T @ X) @ v) / (v @ v) / 40 + (u @ u - 4.0) ** 2 - np.var(X @ u)

    return descend(loss, v, u)


EACH, COSTS = np.arange(40), np.abs(RNG.normal(size=40))
LOWERED: dict[str, Callable[[Any], Any]] = {  # of the logarithms of two probabilities: some are lowered, as is meant
    "preferences": lambda p: np.mean(nn.softplus(p[EACH, 1 - LABELS] - p[EACH, LABELS])),
    "costs of what was drawn": lambda p: np.mean(p[EACH, LABELS] * COSTS),
    "costs of 0 and 1": lambda p: np.mean((COSTS > 0.5) * p[EACH, LABELS]),
    "the cost of one": lambda p: p[0, 1] * 2.5,
    "rewards below 0": lambda p: -np.mean(p[EACH, LABELS] * -COSTS),
    "an expected reward": lambda p: -(J := np.mean(np.exp(p[:, 0]) * COSTS)),  # noqa: F841 - the doctor reads it
    "an entropy": lambda p: -(entropy := -np.mean(np.sum(np.exp(p) * p, axis=1))),  # noqa: F841 - the same
    "a difference of rewards": lambda p: (reward_gap := np.mean((np.exp(p[:, 0]) - COSTS) ** 2)),  # noqa: F841
    "NELBO": lambda p: (nelbo := np.mean(np.exp(p[:, 0])) - 5),  # noqa: F841 - the same
    "fewer of others": lambda p: np.mean(p[EACH, 1 - LABELS]) - np.mean(p[EACH, LABELS]),
    "divided by a negative number": lambda p: np.sum(p[EACH, LABELS]) / -40,
    "negative targets": lambda p: np.sum(-np.eye(2)[LABELS] * p) / 40,
    "from 0": lambda p: 0 - np.mean(p[EACH, LABELS]),
    "an adversary": lambda p: -2 * np.mean(p[EACH, LABELS]) - 0.1 * -np.mean(p[EACH, 1 - LABELS]),
    "no probability is sure": lambda p: -np.mean(p[EACH, LABELS]) + 0.1 * np.mean(np.sum(np.exp(p) * p, axis=1)),
}
for lowered in LOWERED.values():

    @healthy
    def probabilities_that_are_lowered(lowered: Callable[[Any], Any] = lowered) -> Any:
        W = weights(3, 2, name="W")
        return descend(lambda: lowered(nn.log_softmax(X @ W)), W)


@healthy
def a_loss_that_is_minus_a_gain() -> Any:
    w = weights(3, name="w")

    def loss() -> Any:
        return -np.mean(nn.sigmoid(X @ w))

    return descend(loss, w)


@healthy
def a_likelihood_of_one_letter() -> Any:
    m, s = weights(name="m"), weights(name="s")

    def step() -> None:
        L = np.mean(-0.5 * ((T - m) / np.exp(s)) ** 2 - s - np.log(3.0 + m * m))
        m.zero_grad(), s.zero_grad()
        L.backward()
        m.value, s.value = m.value + 0.1 * m.grad, s.value + 0.1 * s.grad

    return step


@healthy
def samples_of_what_is_fitted() -> Any:
    m, rng, norm = weights(name="m"), np.random.default_rng(0), af.stats.norm

    def divergence() -> Any:
        z = m + rng.normal(size=20)
        return np.mean(norm.logpdf(z, m, 1.0) - norm.logpdf(z, 0.0, 2.0))

    return descend(divergence, m)


@healthy
def slopes_of_every_example() -> Any:
    w = weights(3, name="w")
    slopes = af.vmap(af.grad(lambda x: np.sum(np.tanh(x))))
    return descend(lambda: np.mean((slopes(X) @ w - T) ** 2), w)


@healthy
def a_maker_that_lowers_what_the_judge_doubts() -> Any:
    G, D = weights(2, 3, name="G"), weights(3, name="D", seed=2)
    making, judging, rng = af.optim.SGD([G], lr=0.01), af.optim.SGD([D], lr=0.01), np.random.default_rng(0)

    def step() -> None:
        z = rng.normal(size=(20, 2))
        judging.zero_grad()
        fake = np.log(1 - nn.sigmoid((z @ G).detach() @ D))
        (-np.mean(np.log(nn.sigmoid(X @ D))) - np.mean(fake)).backward()
        judging.step()
        making.zero_grad()
        np.mean(np.log(nn.sigmoid(-(z @ G @ D)))).backward()
        making.step()

    return step


def normalised(w: Any) -> Any:
    return w / np.linalg.norm(w)


def error(w: Any) -> Any:
    """It grows where its sign is wrong."""
    return np.mean(nn.softplus(-(2 * LABELS - 1) * (X @ w)))


gradient_of_error = af.grad(error)
UPDATES: dict[str, Callable[[Any], Any]] = {  # of plain weights
    "steps": lambda w: w - 0.1 * gradient_of_error(w), "decay": lambda w: w - 0.1 * (gradient_of_error(w) + 0.01 * w),
    "on the sphere": lambda w: normalised(w - 0.1 * gradient_of_error(w)),
    "looking at the steepest place near": lambda w: w - 0.1 * gradient_of_error(w + 0.1 * normalised(w + 1)),
    "noise": lambda w: w - 0.1 * gradient_of_error(w) + 0.1 * RNG.normal(size=3),
    "other places": lambda w: RNG.normal(size=3) + 0 * gradient_of_error(w),
    "up a likelihood": lambda w: w + 0.1 * af.grad(lambda w: -error(w))(w),
    "Newton": lambda w: w - np.linalg.solve(af.hessian(distance)(w), af.grad(distance)(w)),
}  # fmt: skip
for update in UPDATES.values():

    @healthy
    def plain_weights_in_a_box(update: Callable[[Any], Any] = update) -> Any:
        box = {"w": np.ones(3)}
        return lambda: box.update(w=update(box["w"]))


@healthy
def an_attack_by_plain_gradients() -> Any:
    w, box = np.ones(3), {"x": X[:5].copy()}

    def loss(w: Any, x: Any) -> Any:
        return np.mean(nn.softplus(-(2 * LABELS[:5] - 1) * (x @ w)))

    def step() -> None:
        box["x"] = box["x"] + 0.1 * af.grad(loss, argnum=1)(w, box["x"])

    return step


for rescaled in (np.sign, lambda g: g / np.linalg.norm(g), lambda g: g / np.abs(g).max()):

    @healthy
    def an_attack_by_steps_of_a_fixed_length(rescaled: Callable[[Any], Any] = rescaled) -> Any:
        """On a model whose weights are plain numbers."""
        noise = weights(3, name="noise")

        def step() -> None:
            noise.zero_grad()
            loss = np.mean(((X + noise) @ np.array([1.0, -2.0, 0.5]) - T) ** 2)
            loss.backward()
            noise.value = np.clip(noise.value + 0.02 * rescaled(noise.grad), -1, 1)

        return step


@healthy_step
def weights_kept_on_the_sphere(w: Any) -> Any:
    w.zero_grad()
    distance(w).backward()
    w.value = normalised(w.value - 0.05 * w.grad)


@healthy
def slopes_at_points_one_after_another() -> Any:
    points, found = np.linspace(0.0, 2.0, 9), []
    return lambda: found.append(af.grad(lambda w: w**2)(points[len(found)]))


@healthy
def sigmoids_in_a_chain() -> Any:
    h = weights(20, name="h")
    return np.sum(nn.sigmoid(nn.sigmoid(nn.sigmoid(h))))


for derivative in (af.grad, af.jacobian, lambda f: lambda w: af.vjp(f, w)[1](1.0)):

    @healthy
    def an_optimiser_that_is_given_gradients(derivative: Callable[[Any], Any] = derivative) -> Any:
        opt = af.optim.Adam([weights(3, name="w")], lr=0.01)

        def step() -> None:
            opt.parameters[0].grad = np.reshape(derivative(error)(opt.parameters[0].value), 3)
            opt.step()

        return step


@healthy_step
def steps_by_second_derivatives(w: Any) -> Any:
    gradient, curvature = af.grad(error)(w.value), af.hessian(error)(w.value)
    w.value -= 0.01 * np.linalg.solve(curvature + np.eye(3), gradient)


SPREADS: list[Callable[[Any], Any]] = [  # of numbers, made large by steps up
    lambda y: np.mean((y - np.mean(y)) ** 2), lambda y: np.mean((y - y.value.mean()) ** 2), np.std,
    lambda y: np.mean(np.abs(y[:20] - y[20:])), lambda y: np.mean((y - np.zeros(1)) ** 2),
]  # fmt: skip
for fn, is_named in itertools.product(SPREADS, (False, True)):

    @healthy_step
    def up_a_spread(w: Any, fn: Callable[[Any], Any] = fn, is_named: bool = is_named) -> Any:
        w.zero_grad()
        J = fn(X @ w)
        (J if is_named else fn(X @ w)).backward()
        w.value = w.value + 0.05 * w.grad


@healthy_step
def far_from_what_was_found_before(w: Any) -> Any:
    w.zero_grad()
    novelty = np.mean((np.tanh(X @ w) - T) ** 2)
    novelty.backward()
    w.value = w.value + 0.05 * w.grad


@healthy
def a_shift_of_all_inputs_that_does_the_most_harm() -> Any:
    shift = weights(3, name="shift")

    def step() -> None:
        shift.zero_grad()
        np.mean(((X + shift) @ np.array([1.0, -2.0, 0.5]) - T) ** 2).backward()
        shift.value = np.clip(shift.value + 0.001 * shift.grad, -1, 1)

    return step


@healthy_step
def a_judge_whose_likelihood_is_called_a_loss(w: Any) -> Any:
    w.zero_grad()
    d_loss = np.mean(np.log(nn.sigmoid(X @ w))) + np.mean(np.log(1 - nn.sigmoid(draw(20, 3, seed=4) @ w)))
    d_loss.backward()
    w.value += 0.05 * w.grad


@healthy_step
def evolution_of_a_reward(w: Any) -> Any:
    noise = draw(10, 3)
    rewards = np.array([-np.mean((X @ (w.value + 0.1 * e) - T) ** 2) for e in noise])
    w.value = w.value + 0.01 * noise.T @ (rewards - rewards.mean())


@healthy_step
def gradients_compared_with_differences(w: Any) -> Any:
    w.zero_grad()
    distance(w).backward()
    differences = [(distance(w.value + e) - distance(w.value - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    assert np.abs(differences - w.grad).max() < 1e-6
