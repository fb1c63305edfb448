"""Everything that one can do on a live page, on models that nobody has tried there: after each action the page has the
numbers that NumPy has.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from live_models import HELPERS as PAGE, drag
from seeds import by_day

import autoflow as af
from autoflow import nn

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("browser")]

HELPERS = PAGE + "const gradients = () => all(L.params.map((p, k) => L.S.outputs[1 + L.operations + k]));"
RATE = 0.125


def normalised(w, gain, shift, v, x):
    z = x @ w
    z = (z - np.mean(z, axis=0)) / np.sqrt(np.var(z, axis=0) + 1e-5)
    return np.tanh(gain * z + shift) @ v


def batch_norm(rng: Any) -> Any:
    """Mean and variance of the batch; on the plane those of the grid."""
    t = np.repeat([1.0, -1.0], 12)
    x = rng.normal(size=(24, 2)) + t[:, None] * [0.7, -0.4]
    params = {"w": rng.normal(size=(2, 5)), "gain": np.ones(5), "shift": np.zeros(5), "v": rng.normal(size=5)}

    def loss(w, gain, shift, v, x, t):
        return np.mean(np.logaddexp(0.0, -t * normalised(w, gain, shift, v, x)))

    return loss, params, {"x": x, "t": t}, normalised


def filtered(k, w, b, x):
    image = x.reshape(-1, 6, 6)
    z = sum([k[i, j] * image[:, i : i + 4, j : j + 4] for i in range(3) for j in range(3)])
    h = np.maximum(z, 0.0)
    pooled = (h[:, ::2, ::2] + h[:, 1::2, ::2] + h[:, ::2, 1::2] + h[:, 1::2, 1::2]) / 4
    return pooled.reshape(-1, 4) @ w + b


def convolution(rng: Any) -> Any:
    """By slices, with relu and pooling; labels are whole numbers."""
    params = {"k": rng.normal(size=(3, 3)) * 0.5, "w": rng.normal(size=(4, 3)), "b": np.zeros(3)}

    def loss(k, w, b, x, labels):
        return nn.cross_entropy(filtered(k, w, b, x), labels)

    return loss, params, {"x": rng.normal(size=(10, 36)), "labels": rng.integers(0, 3, 10)}, filtered


def densities(mu, log_s, share, x):
    rest = (x[:, None] - mu) / np.exp(log_s)[:, None]
    return nn.log_softmax(share) - 2 * log_s - 0.5 * np.sum(rest * rest, axis=-1)


def mixture(rng: Any) -> Any:
    """Of three Gaussians on the plane, without targets."""
    x = np.concatenate([rng.normal(size=(8, 2)) * 0.3 + c for c in ([1.0, 0.0], [-1.0, 0.5], [0.0, -1.0])])
    params = {"mu": rng.normal(size=(3, 2)), "log_s": np.zeros(3), "share": np.zeros(3)}

    def loss(mu, log_s, share, x):
        return -np.mean(af.special.logsumexp(densities(mu, log_s, share, x), axis=1))

    return loss, params, {"x": x}, densities


def quantiles(rng: Any) -> Any:
    """The upper quartile of what is not masked: the pinball loss, with its kink."""
    x = rng.uniform(-1, 1, size=20)
    seen = rng.random(20) < 0.7

    def predict(slope, bend, start, x):
        return start + slope * x + bend * x * x

    def loss(slope, bend, start, x, seen, t):
        d = t - predict(slope, bend, start, x)
        pinball = np.where(d > 0, 0.75 * d, -0.25 * d)
        return np.sum(np.where(seen, pinball, 0.0)) / np.sum(seen)

    params = {"slope": np.array(0.3), "bend": np.array(0.1), "start": np.array(-0.2)}
    return loss, params, {"x": x, "seen": seen, "t": np.sin(2 * x) + rng.normal(size=20) * 0.2}, predict


def oscillator(rng: Any) -> Any:
    """A damped oscillation, by its parameters in an array."""
    x = np.linspace(0.0, 4.0, 25)

    def predict(p, x):
        size, decay, pace, phase = p[0], p[1], p[2], p[3]
        return np.exp(size) * np.exp(-np.log1p(np.exp(decay)) * x) * np.sin(pace * x + phase)

    def loss(p, x, t):
        return np.mean((predict(p, x) - t) ** 2)

    t = 1.3 * np.exp(-0.4 * x) * np.sin(2.1 * x + 0.3) + rng.normal(size=25) * 0.02
    return loss, {"p": np.array([0.1, -0.5, 1.8, 0.0])}, {"x": x, "t": t}, predict


def autoencoder(rng: Any) -> Any:
    """Images of 4 × 4 through three numbers, and back by the same weights."""
    params = {"w": rng.normal(size=(16, 3)) * 0.5, "a": np.zeros(3), "b": np.zeros(16)}

    def predict(w, a, b, x):
        return nn.sigmoid(np.tanh(x @ w + a) @ w.T + b)

    def loss(w, a, b, x):
        return np.mean(np.sum((predict(w, a, b, x) - x) ** 2, axis=1))

    return loss, params, {"x": (rng.random((9, 16)) < 0.5) * 1.0}, predict


MODELS = [batch_norm, convolution, mixture, quantiles, oscillator, autoencoder]


class Twin:
    """What the page should have: parameters, data and the optimiser, computed by NumPy."""

    def __init__(self, loss: Any, params: dict[str, Any], data: dict[str, Any]) -> None:
        self.loss, self.data = loss, {name: np.array(d) for name, d in data.items()}
        self.params = {name: np.array(p, float) for name, p in params.items()}
        self.past = [self.params]
        self.memory: Any = [{name: np.zeros_like(p) for name, p in self.params.items()} for _ in range(2)]

    def value_and_grad(self) -> tuple[float, dict[str, Any]]:
        value, g = af.value_and_grad(lambda p: self.loss(**p, **self.data))(self.params)
        return float(value), g

    def step(self, adams: int = 0) -> None:
        """Of gradient descent, or the first or second one of Adam."""
        _, g = self.value_and_grad()
        if adams:
            m, v = self.memory
            for name in self.params:
                m[name] = 0.9 * m[name] + 0.1 * g[name]
                v[name] = 0.999 * v[name] + 0.001 * g[name] ** 2
            a, b = 1 - 0.9**adams, 1 - 0.999**adams
            g = {name: m[name] / a / (np.sqrt(v[name] / b) + 1e-8) for name in self.params}
        self.params = {name: p - RATE * g[name] for name, p in self.params.items()}
        self.past.append(self.params)

    def back(self) -> None:
        """To where it was before the last step."""
        self.past.pop()
        self.params = self.past[-1]


def check(one: Any, twin: Twin, what: str) -> None:
    """Compare step, loss, parameters, and gradients."""
    value, g = twin.value_and_grad()
    at, loss, params, grads = one.run("[L.state.at, L.losses[L.state.at], all(L.params), gradients()]")
    assert at == len(twin.past) - 1, what
    assert loss == pytest.approx(value, rel=1e-11, abs=1e-14), what
    for name, a, b in zip(twin.params, params, grads, strict=True):
        np.testing.assert_allclose(a, np.ravel(twin.params[name]), rtol=1e-10, atol=1e-12, err_msg=what)
        np.testing.assert_allclose(b, np.ravel(g[name]), rtol=1e-9, atol=1e-11, err_msg=what)


@pytest.mark.parametrize("make", by_day(MODELS, {"quantiles"}, lambda make: make.__name__))
def test_after_each_action_the_page_has_numpys_numbers(show: Any, make: Any) -> None:
    loss, params, data, predict = make(np.random.default_rng(7))
    page = af.live(loss, params, data, predict, lr=RATE)
    assert page.reason is None
    one, twin = show(page.to_html(), height=1600), Twin(loss, params, data)
    one.run(f"L.operations = {page.about['operations']}; frames(3)")
    check(one, twin, "at the start")
    for button, act in [("one", twin.step)] * 3 + [("back", twin.back)] * 2:
        one.run(f"click('{button}')")
        act()
        check(one, twin, f"the button {button}")

    move_weight(one, twin)
    one.run("click('one')")
    twin.step()
    check(one, twin, "a step after a weight was moved")
    if page.study.kind in ("plane", "curve", "pairs"):
        move_point(one, twin, page)
        one.run("click('back', 'one')")
        twin.back()
        twin.step()
        check(one, twin, "back and again, with the data as they are now")

    before = len(twin.past) - 1
    one.run(f"click('play'); until({before + 2})")
    one.run("click('play')")
    at = one.run("frames(2).then(() => L.state.at)")
    for _ in range(at - before):
        twin.step()
    check(one, twin, f"{at - before} steps of training")
    answer_first(one, twin)
    one.run("$('rule').value = 'adam'; $('rule').onchange(); click('one', 'one')")
    twin.step(adams=1)
    twin.step(adams=2)
    check(one, twin, "two steps of Adam")
    one.run("click('reset')")
    check(one, Twin(loss, params, data), "the start again")
    if page.study.kind is not None:
        check_prediction(one, page)


def move_weight(one: Any, twin: Twin) -> None:
    """Drag the first entry of each parameter on its card, by 20 pixels: 0.4."""
    for k, name in enumerate(twin.params):
        one.run(f"L.pick(null); card('{name}').g.scrollIntoView({{block: 'center'}}); frames(2)")
        x, y, _, _ = one.run(f"place(card('{name}').g)")
        down = (13.0, 36.0) if np.ndim(twin.params[name]) else (8.0, 8.0)
        drag(one, (x + down[0], y + down[1]), (0, -20))
        p = np.array(twin.params[name])
        p.flat[0] += 0.4
        twin.params = twin.past[-1] = {**twin.params, name: p}
        check(one, twin, f"{name} was dragged")
        one.run("frames(2)")  # the panel draws the loss along this entry, by the same program
        check(one, twin, f"the loss along an entry of {name} was drawn")
        assert one.run("heading()").startswith(name), k


def move_point(one: Any, twin: Twin, page: Any) -> None:
    """Drag the point in front."""
    one.run("$('plane').scrollIntoView({block: 'center'}); frames(2)")
    before, (left, top, wide, high) = one.run("[all(L.data), place($('plane'))]")
    drag(one, (left + wide / 2, top + high / 2), (9, -6))
    after = one.run("all(L.data)")
    changed = [np.flatnonzero(np.not_equal(a, b)).tolist() for a, b in zip(before, after, strict=True)]
    assert 0 < sum(map(len, changed)) <= 2
    for name, new in zip(page.study.moving, after, strict=True):
        twin.data[name] = np.reshape(new, twin.data[name].shape)
    check(one, twin, "a point was dragged")


def answer_first(one: Any, twin: Twin) -> None:
    """Gradients are hidden until there is an answer, which is right or wrong as NumPy's sign is."""
    _, g = twin.value_and_grad()
    one.run("click('quiz')")
    for k, (name, gradient) in enumerate(g.items()):
        first = np.ravel(gradient)[0]
        one.run(f"L.pick(card('{name}').c); frames(3)")
        assert one.run(f"hidden('{name}')") == ["?", "gradient ?"]
        says = -np.sign(first) if k % 2 else np.sign(first)
        one.run(f"say({says:.0f}); frames(3)")
        assert one.run("$('question').textContent").startswith("Right" if k % 2 else "No"), name
        text = one.run("$('gradientText').textContent").rpartition(" ")[2]
        digits = 1e-3 if 1e-3 <= abs(first) < 1e5 else 0.07  # small and large ones are shown with two digits
        assert float(text.replace("−", "-")) == pytest.approx(first, rel=digits, abs=1e-12), name
    one.run("click('quiz')")
    for k in range(one.run("L.cards.length")):  # each card says something, and computes nothing else
        one.run(f"L.pick(L.cards[{k}]); frames(1)")
        assert not re.search("undefined|NaN", one.run("$('panel').textContent"))
    check(one, twin, "all cards were looked at")


def check_prediction(one: Any, page: Any) -> None:
    """What the page draws, where it draws it."""
    study = page.study
    x = study.grid if study.area else next(iter(study.data.values()))
    start = [np.array(p, float) for p in study.params.values()]
    expected = study.call(study.predict, start, [x, *list(study.data.values())[1:]])
    one.run("L.draw()")
    found = one.run("Array.from(L.P.outputs[0])")
    np.testing.assert_allclose(found, np.ravel(np.asarray(expected)), rtol=1e-10, atol=1e-12)
