"""Draw every picture of this folder: python images/make.py (screenshots and step_*.gif with chromium and Pillow)

``GALLERY`` holds the reference graphs; the tests compare them with golden files in every format.
"""

from __future__ import annotations

import io
import itertools
import re
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import autoflow as af
from autoflow.cli.demo import example
from autoflow.nodes.records import scope
from autoflow.pictures import Graph

HERE = Path(__file__).parent
THEMES = ("light", "dark")
HIGH = 470  # of a frame of the animation: without the text below the page
TO_STEP_15 = """{
    const root = [...document.querySelectorAll('.autoflow-picture *')].find(e => e.shadowRoot).shadowRoot;
    const slider = root.querySelector('[type=range]');
    slider.value = 15;
    slider.dispatchEvent(new Event('input'));
    0 }"""


TO_STEP_900 = """{
    const page = document.querySelector('.autoflow-live').live;
    for (let k = 0; k < 900; k++) page.step();
    page.pick(page.cards.find((card) => card.title === 'w2'));
    page.draw();
    0 }"""


def lesson(**options: Any) -> Graph:
    """The example of the documentation, after ``backward()``."""
    a5 = example()
    a5.backward()
    return af.graph(a5, **options)


def readme(**options: Any) -> Graph:
    """The example that README.md opens with, word for word; it gives no names to the last two products."""
    x, y, z = af.Variable(3.0, name="x"), af.Variable(5.0, name="y"), af.Variable(4.0, name="z")
    a1 = x + y + z
    a2 = x * y * z
    a5 = a1**2 * np.sin(a2) - a1 * np.cos(a2)
    a5.backward()
    return af.graph(a5, **options)


def square(**options: Any) -> Graph:
    """One Variable that is used twice."""
    x = af.Variable(3.0, name="x")
    z = x * x
    z.backward()
    return af.graph(z, **options)


def spread(*shape: int) -> Any:
    """Numbers between -1 and 1 without any pattern, and the same on every machine."""
    n = int(np.prod(shape))
    return (np.arange(n) * 37 % 64 / 32 - 1).reshape(shape)


def network(**options: Any) -> Graph:
    """Two layers and a loss: boxes, and cards of arrays."""
    x, labels = af.Constant(spread(32, 64), name="x"), af.Constant(spread(32, 10), name="labels")
    w1, b1 = af.Variable(spread(64, 128) / 8, name="W1"), af.Variable(np.zeros(128), name="b1")
    w2, b2 = af.Variable(spread(128, 10) / 8, name="W2"), af.Variable(np.zeros(10), name="b2")
    with scope("hidden"):
        hidden = np.tanh(x @ w1 + b1)
    with scope("output"):
        logits = hidden @ w2 + b2
    loss = np.mean((logits - labels) ** 2)
    loss.backward()
    return af.graph(loss, **options)


def network_folded(**options: Any) -> Graph:
    """The same with folded boxes, from left to right."""
    return network(**{"depth": 0, "direction": "right", **options})


def recurrent(**options: Any) -> Graph:
    """Five steps with the same Variables."""
    w, u, b = af.Variable(spread(4, 4), name="W"), af.Variable(spread(3, 4), name="U"), af.Variable(spread(4), name="b")
    inputs = af.Constant(spread(5, 3) / 4, name="inputs")
    h = af.Constant(np.zeros(4), name="h0")
    for t in range(5):
        with scope("step"):
            h = np.tanh(h @ w + inputs[t] @ u + b)
    loss = np.sum(h * h)
    loss.backward()
    return af.graph(loss, **options)


def recurrent_folded(**options: Any) -> Graph:
    """The same, the steps in one box."""
    return recurrent(depth=0, **options)


def cross_entropy(**options: Any) -> Graph:
    """Softmax and the cross entropy of three classes."""
    logits = af.Variable([[2.0, 1.0, 0.5]], name="logits")
    target = af.Constant([[0.0, 1.0, 0.0]], name="target")
    weights = np.exp(logits)
    p = weights / np.sum(weights, axis=1, keepdims=True)
    loss = -np.sum(target * np.log(p))
    loss.backward()
    return af.graph(loss, **options)


def attention(**options: Any) -> Graph:
    """One head of attention over four words."""
    words = af.Constant(spread(4, 8), name="words")
    wq, wk, wv = [af.Variable(spread(8, 8)[::step] / 2, name=f"W{c}") for c, step in (("q", 1), ("k", -1), ("v", 1))]
    with scope("attention"):
        q, k, v = words @ wq, words @ wk, words @ wv
        with scope("softmax"):
            e = np.exp(q @ k.T / 4.0)
            weights = e / np.sum(e, axis=1, keepdims=True)
        out = weights @ v
    loss = np.mean(out**2)
    loss.backward()
    return af.graph(loss, **options)


def chain(**options: Any) -> Graph:
    """Sixty operations one after another."""
    x = af.Variable(0.5, name="x")
    y = x
    for k in range(60):
        y = (np.sin, np.cos, np.tanh, np.exp)[k * 7 % 4](y)
    y.backward()
    return af.graph(y, **options)


def large(**options: Any) -> Graph:
    """Three hundred operations in blocks, which fold by themselves."""
    h = af.Variable(spread(2, 2), name="start")
    with scope("model"):
        for block in range(20):
            w = af.Variable(spread(2, 2) / (block + 2), name=f"w{block}")
            with scope(f"block_{block}"):
                for _ in range(3):
                    with scope("layer"):
                        h = np.tanh(h @ w + h) * 0.5 - 0.125
    loss = np.sum(h)
    loss.backward()
    return af.graph(loss, **options)


def matrices(**options: Any) -> Graph:
    """Expressions of linear algebra."""
    a, b = af.Variable([[2.0, 1.0], [0.5, 3.0]], name="A"), af.Variable([1.0, 2.0], name="b")
    x = np.linalg.solve(a, b)
    r = a.T @ x - b
    z = np.sum(r * r) + np.log(np.linalg.det(a)) + np.trace(a @ a)
    z.backward()
    return af.graph(z, **options)


HOSTILE = (
    "</script><script>alert(1)</script>", '<b>"&amp;"</b> onclick=\'x\'', "back\\slash \\N \\G", "a\u202eb\x00c\nd",
    "javascript:alert(1)", "x" * 100_000, "日本語 👍🏽 {|}[]#;%%",
)  # fmt: skip


def hostile(**options: Any) -> Graph:
    """Names that a file format could obey."""
    total: Any = 1.0
    for k, name in enumerate(HOSTILE):
        with scope(name):
            total = af.Variable(k + 1.0, name=name) * total + 1.0
    total.name = HOSTILE[0]
    total.backward()
    return af.graph(total, **options)


def gradient(**options: Any) -> Graph:
    """The gradient of ``x**2 * sin(x)``, which is a graph as well."""
    x = af.Variable(2.0, name="x")
    z = x**2 * np.sin(x)
    z.backward(create_graph=True)
    slope = x.grad
    slope.name = "dz/dx"
    return af.graph(slope, gradients=True, **options)


def long_recurrent(**options: Any) -> Graph:
    """Thirty steps on plain arrays: the first and the last are drawn."""
    w, u, b = af.Variable(spread(4, 4), name="W"), af.Variable(spread(3, 4), name="U"), af.Variable(spread(4), name="b")
    inputs, h = spread(30, 3) / 4, np.zeros(4)
    for t in range(30):
        with scope("step"):
            h = np.tanh(h @ w + inputs[t] @ u + b)
    loss = np.sum(h * h)
    loss.backward()
    return af.graph(loss, **options)


def residual(**options: Any) -> Graph:
    """Fifty layers without boxes, each with a weight of its own."""
    h = af.Variable(spread(4, 8), name="x")
    for k in range(50):
        h = h + np.tanh(h @ af.Variable(spread(8, 8) / 32, name=f"W{k}"))
    loss = np.mean(h * h)
    loss.backward()
    return af.graph(loss, **options)


def transformer(**options: Any) -> Graph:
    """A block of a transformer: attention, two sums, two layers."""
    words = af.Variable(spread(4, 8), name="words")
    wq, wk, wv = [af.Variable(spread(8, 8)[::step] / 2, name=f"W{c}") for c, step in (("q", 1), ("k", -1), ("v", 1))]
    w1, w2 = af.Variable(spread(8, 16) / 4, name="W1"), af.Variable(spread(16, 8) / 4, name="W2")
    with scope("attention"):
        scores = (words @ wq) @ (words @ wk).T
        e = np.exp(scores / 4.0)
        mixed = (e / np.sum(e, axis=1, keepdims=True)) @ (words @ wv)
    first = words + mixed
    with scope("layers"):
        changed = np.maximum(first @ w1, 0.0) @ w2
    loss = np.mean((first + changed) ** 2)
    loss.backward()
    return af.graph(loss, **options)


def eigenvalues(**options: Any) -> Graph:
    """A function with two results."""
    a = af.Variable([[2.0, 1.0], [1.0, 3.0]], name="A")
    values, vectors = np.linalg.eigh(a)
    z = np.sum(values**2) + vectors[0, 0]
    z.backward()
    return af.graph(z, **options)


def stencil(**options: Any) -> Graph:
    """Heat in a rod: an array that is written into."""
    start = af.Variable(spread(8), name="start")
    u = start * 1.0
    u[1:-1] += 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    heat = np.sum(u**2)
    heat.backward()
    return af.graph(heat, **options)


def unet(**options: Any) -> Graph:
    """A U-Net on one line of numbers: values are used again, far from where they were made."""
    x = af.Variable(spread(2, 16), name="x")

    def layer(h: Any, name: str) -> Any:
        with scope(name):
            return np.tanh(af.Variable(spread(2, 2), name=f"W_{name}") @ h)

    high = layer(x, "down1")
    low = layer(high.reshape(2, 8, 2).mean(axis=2), "down2")
    bottom = layer(low.reshape(2, 4, 2).mean(axis=2), "bottom")
    up = layer(np.repeat(bottom, 2, axis=1) + low, "up2")
    out = layer(np.repeat(up, 2, axis=1) + high, "up1")
    loss = np.mean(out**2)
    loss.backward()
    return af.graph(loss, **options)


GALLERY: dict[str, Callable[..., Graph]] = {
    f.__name__: f
    for f in (
        lesson, square, network, network_folded, recurrent, recurrent_folded, cross_entropy, attention, chain, large,
        matrices, hostile, gradient, long_recurrent, residual, transformer, eigenvalues, stencil, unet,
    )
}  # fmt: skip


def screenshots(folder: Path) -> None:
    """What a browser makes of every picture, light and dark, and of the page that steps. Needs chromium and Pillow."""
    sys.path.insert(0, str(HERE.parent / "tests" / "support"))
    import chromium

    if reason := chromium.missing():
        print(f"{reason}: no screenshots")
        return
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chromium.Chromium() as browser:
        path = Path(place) / "picture.svg"
        for name, theme in itertools.product(GALLERY, THEMES):
            af.reset()
            with af.trace():
                GALLERY[name](theme=theme).save(path)
            wide, high = map(int, re.findall(r'(?:width|height)="(\d+)"', path.read_text(encoding="utf-8"))[:2])
            page = browser.open(path, width=wide, height=high)
            smaller(page.screenshot(folder / f"{name}_{theme}.png"))
        path = Path(place) / "page.html"
        path.write_text(lesson().step().to_html(), encoding="utf-8")
        for theme in THEMES:
            page = browser.open(path, width=1300, height=440, dark=theme == "dark")
            page.run(TO_STEP_15)
            smaller(page.screenshot(folder / f"step_{theme}.png"))
        path.write_text(live_page().to_html(), encoding="utf-8")
        for theme in THEMES:
            page = browser.open(path, width=1280, height=900, dark=theme == "dark")
            page.run(TO_STEP_900)
            smaller(page.screenshot(folder / f"live_{theme}.png"))


def live_page() -> Any:
    """The page of examples/live_network.py."""
    return runpy.run_path(str(HERE.parent / "examples" / "live_network.py"))["page"]


def animations(folder: Path) -> None:
    """The page that steps through the example, as an animated image of all its steps, light and dark."""
    sys.path.insert(0, str(HERE.parent / "tests" / "support"))
    import chromium

    if reason := chromium.missing():
        print(f"{reason}: no animation")
        return
    with tempfile.TemporaryDirectory() as place, chromium.Chromium() as browser:
        path, shot = Path(place) / "page.html", Path(place) / "frame.png"
        af.reset()
        stepper = readme().step()
        path.write_text(stepper.to_html(), encoding="utf-8")
        for theme in THEMES:
            page = browser.open(path, width=1300, height=HIGH, dark=theme == "dark")
            frames = []
            for step in range(len(stepper.steps)):
                page.run(TO_STEP_15.replace("15", str(step)))
                frames.append(page.screenshot(shot).read_bytes())
            animate(frames, folder / f"step_{theme}.gif")


def animate(frames: list[bytes], path: Path) -> None:
    """PNG files as one GIF, a step a second, the last one for three."""
    from PIL import Image

    images = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames]
    images = [image.crop((0, 0, image.width, min(HIGH, image.height))) for image in images]
    palette = images[-1].quantize(64)
    few = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    seconds = [1.0] * (len(few) - 1) + [3.0]
    few[0].save(path, save_all=True, append_images=few[1:], duration=[1000 * s for s in seconds], loop=0, optimize=True)


def smaller(path: Path) -> None:
    """The same picture in its 200 most frequent colours: all fills, and enough for the edges of letters."""
    from PIL import Image

    with Image.open(path) as file:
        image = file.convert("RGB")
    counted = sorted(image.getcolors(maxcolors=1 << 24), reverse=True)[:200]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, colour in counted for part in colour])
    few = image.quantize(palette=palette, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main(folder: Path = HERE) -> None:
    """Write the files."""
    for name, make in GALLERY.items():
        af.reset()
        with af.trace():
            make().save(folder / f"{name}.svg")
    for theme in THEMES:
        readme(theme=theme).save(folder / f"lesson_{theme}.svg")
        network_folded(theme=theme).save(folder / f"network_folded_{theme}.svg")
    lesson(detail="values", gradients=False, theme="light").save(folder / "values.svg")
    lesson(detail="names", theme="light").save(folder / "names.svg")
    screenshots(folder / "screenshots")
    animations(folder)


if __name__ == "__main__":
    main()
