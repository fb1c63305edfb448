"""The picture at each of its steps, as SVG, and the film that these frames are: an animated GIF, or an MP4 (H.264).

A frame shows without a script what ``fragment.js`` shows in a page, and is made in the same way: from the first step
on, cards that wait are pale, numbers that are not there yet are hidden, the card at work has a thick outline. The rules
for that are those of ``fragment.css``. Above the picture stands what the step says.

For a film matplotlib draws the frames. Pillow puts a GIF together; the program ``ffmpeg``, or the one that the package
imageio-ffmpeg brings, an MP4.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ...base.lazy import load_package
from ..folding.views import visible_picture
from ..model.data import Array, GraphData, on_paper
from ..model.steps import Step, steps_of
from ..model.style import THEMES, break_words
from ..render.png import NoMatplotlibError, local_name, pixels, sides
from ..render.svg import MARGIN, to_svg
from .html import frame, pack_file

# ---------------------------------------------------------------- frames: an SVG for each step

LINE = 19.0  # of the caption
SVG = "{http://www.w3.org/2000/svg}"


def frames(graph: GraphData) -> Iterator[tuple[Step, Any]]:
    """Each step with the root of its SVG; all are of one size.

    Raises ValueError for a picture with folded boxes, whose parts have no cards to show a step on.
    """
    shown = on_paper(visible_picture(graph))
    if any([v.fold for v in shown.nodes]):
        raise ValueError("the steps of a folded picture cannot be drawn: node.step().save(...) draws all nodes")
    steps = steps_of(shown)
    told = [frame(shown, step) for step in steps]
    text = to_svg(replace(shown, look=replace(shown.look, engine="built-in")))
    wide = float(ElementTree.fromstring(text).get("width", "1")) - 2 * MARGIN  # noqa: S314 - our own text
    captions = [break_words(step.caption, wide, "numbers") for step in steps]
    lines = max(map(len, captions)) + 1
    for k, step in enumerate(steps):
        root = ElementTree.fromstring(text)  # noqa: S314
        set_classes(root, state_of(told, k), shown.look.theme)
        said = [f"{k} / {len(steps) - 1}  {step.phase}", *captions[k]]
        yield step, with_caption(root, said, lines)


@dataclass
class State:
    """What a step changes: ids of cards, names of arrows, rows of products, texts of sums that are not complete."""

    marks: dict[str, set[str]] = field(default_factory=dict)  # "n3" for a card, "e0-3-1" for an arrow: its classes
    received: set[int] = field(default_factory=set)
    sums: dict[int, str] = field(default_factory=dict)
    unsent: set[tuple[int, int]] = field(default_factory=set)  # card, and which of its products

    def mark(self, names: Iterable[str], kind: str) -> None:
        """Give them a class of the style sheet."""
        for name in names:
            self.marks.setdefault(name, set()).add(kind)


def state_of(told: Sequence[dict[str, Any]], k: int) -> State | None:
    """The state of step ``k``, made from the first one on; None: all is as in the finished picture."""
    if told[k]["phase"] == "end":
        return None
    state = State()
    for place, step in enumerate(told):
        done, products = place <= k, step.get("products", ())
        if step["phase"] == "forward" and not done:
            state.mark([f"n{step['node']}"], "wait")
        if not done:
            state.mark([f"e{p['edge']}" for p in products], "quiet")
            state.unsent |= {(step["node"], p["row"]) for p in products}
            continue
        arrived = [(step["node"], step)] if step["phase"] == "seed" else [(p["to"], p) for p in products]
        for receiver, sent in arrived:
            state.received.add(receiver)
            state.sums.pop(receiver, None)
            if not sent.get("complete", True):
                state.sums[receiver] = sent["sum"]
    step = told[k]
    state.mark([f"n{step['node']}"] if "node" in step else [], "act")
    state.mark([f"e{edge}" for edge in step.get("inputs", ())], "busy")
    state.mark([f"e{p['edge']}" for p in step.get("products", ())], "back")
    return state


def set_classes(root: Any, state: State | None, theme: str) -> None:
    """Put a state into an SVG, and the rules that say how it looks."""
    if state is None:
        return
    for group in root.iter(SVG + "g"):
        names: set[str] = set()
        if (edge := group.get("data-edge")) is not None:
            names = state.marks.get(f"e{edge}", names)
        elif (node := group.get("data-node")) is not None:
            names = set_card(group, int(node), state)
        group.set("class", " ".join([group.get("class", ""), *sorted(names)]).strip())
    sheet = next(e for e in root.iter() if local_name(e) == "style")
    sheet.text = f"{sheet.text}\n{step_rules(theme)}"


def set_card(group: Any, k: int, state: State) -> set[str]:
    """A card's texts, and its classes."""
    names = set(state.marks.get(f"n{k}", ()))
    if k not in state.received:
        names.add("dry")
    texts = [e for e in group if local_name(e) == "text"]
    if k in state.sums:
        names.add("partly")
        next(e for e in texts if e.get("class") == "gradient").text = state.sums[k]
    for row, e in enumerate([e for e in texts if e.get("class") == "sent"]):
        if (k, row) in state.unsent:
            e.set("class", "sent unsent")
    return names


@cache
def step_rules(theme: str) -> str:
    """The rules of ``fragment.css`` for steps, in the words that a picture's own style sheet uses."""
    rules = pack_file("fragment.css").partition("/* A step:")[2].partition("*/")[2].partition("@media")[0]
    rules = re.sub(r"var\(--([\w-]+)\)", lambda m: THEMES[theme][m[1]], rules)
    return rules.replace("visibility: hidden", "opacity: 0").replace(" !important", "")


def with_caption(root: Any, said: Sequence[str], lines: int) -> Any:
    """The picture with lines of text above it, in room for ``lines`` of them."""
    high = lines * LINE + MARGIN / 2
    _, *rest = [e for e in root if local_name(e) in ("rect", "g", "text")]
    for e in rest:
        root.remove(e)
    below = ElementTree.SubElement(root, SVG + "g", {"transform": f"translate(0 {high})"})
    below.extend(rest)
    for k, text in enumerate(said):
        where = {"class": "numbers", "x": str(MARGIN), "y": str(MARGIN / 2 + (k + 0.8) * LINE)}
        ElementTree.SubElement(root, SVG + "text", where).text = text
    height = float(root.get("height", "1")) + high
    root.set("height", str(round(height)))
    root.set("viewBox", f"0 0 {root.get('width')} {round(height)}")
    return root


# ---------------------------------------------------------------- films: GIF and MP4


SHARP = 1.5  # pixels of a frame per pixel of the SVG, as far as ...
WIDEST, HIGHEST = 1600, 1600  # ... no frame gets larger than that
REST = 3  # as many steps long stands the last frame
COLOURS, EXACT = 128, 32  # of a GIF; the most frequent ones, grounds and outlines, as they are


def film(graph: GraphData, form: str, seconds: float) -> bytes:
    """The steps as "gif" or "mp4"; ``seconds`` for each of them.

    Raises ImportError (Pillow, matplotlib) or FileNotFoundError (ffmpeg), which say what to install, and ValueError
    for a picture with folded boxes.
    """
    if not 0.02 <= seconds <= 600:
        raise ValueError(f"seconds={seconds}: a step lasts from 0.02 to 600 seconds")
    writers = {"gif": to_gif, "mp4": to_mp4}
    return writers[form](images(graph, form), seconds)


def images(graph: GraphData, form: str) -> Iterator[Array]:
    """The frames as arrays of pixels, with even sides: a video cannot have others."""
    for _, root in frames(graph):
        wide, high = sides(root)
        try:
            image = pixels(root, min(SHARP, WIDEST / wide, HIGHEST / high))
        except NoMatplotlibError:
            raise ImportError(
                f'matplotlib was not found: it draws the frames of a .{form} file. pip install "autoflow[images]"'
            ) from None
        odd = [(0, n % 2) for n in image.shape[:2]]
        yield np.pad(image, [*odd, (0, 0)], mode="edge")


def to_gif(pictures: Iterator[Array], seconds: float) -> bytes:
    """One palette for all frames, so that nothing flickers; without dithering, which would make the file large."""
    missing = 'Pillow was not found: it writes .gif files. pip install "autoflow[images]"'
    Image = load_package("PIL.Image", missing)  # noqa: N806
    drawn = list(pictures)
    sample = Image.fromarray(np.concatenate([drawn[-1], drawn[2 * len(drawn) // 3]]))
    often = sorted(sample.getcolors(sample.width * sample.height), reverse=True)[:EXACT]
    others = sample.quantize(COLOURS - EXACT).getpalette()
    palette = np.array([*[colour for _, colour in often], *np.reshape(others, (-1, 3))])
    first, *rest = [Image.fromarray(to_palette(picture, palette)) for picture in drawn]
    for one in (first, *rest):
        one.putpalette(palette.astype(np.uint8).tobytes())
    lengths = [round(1000 * seconds)] * len(drawn)
    lengths[-1] *= REST
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=rest, duration=lengths, loop=0, optimize=False, disposal=1)
    return file.getvalue()


def to_palette(picture: Array, palette: Array) -> Array:
    """For each pixel the number of the nearest colour. (Pillow is quicker and takes neighbours of the nearest.)"""
    packed = picture.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32)
    found, places = np.unique(packed, return_inverse=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=-1)
    nearest = ((colours[:, None] - palette) ** 2).sum(axis=-1).argmin(axis=-1)
    return nearest.astype(np.uint8)[places].reshape(packed.shape)


def to_mp4(pictures: Iterator[Array], seconds: float) -> bytes:
    """A frame per step; the last one stands longer. Every player shows it: H.264, 4:2:0."""
    program = ffmpeg()
    drawn = list(pictures)
    drawn += [drawn[-1]] * (REST - 1)
    high, wide, _ = drawn[0].shape
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        command = [
            program, "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{wide}x{high}",
            "-framerate", f"{1 / seconds:.6f}", "-i", "-", "-r", "25", "-c:v", "libx264", "-crf", "18",
            "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-bitexact", str(path),
        ]  # fmt: skip
        data = b"".join([picture.tobytes() for picture in drawn])
        done = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603 - our own words
        if done.returncode or not path.exists():
            said = done.stderr.decode(errors="replace").strip()
            raise OSError(f"{program} could not write an .mp4 file: {said[-500:]}")
        return path.read_bytes()


def ffmpeg() -> str:
    """The program. Raises FileNotFoundError, which says what to install."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise FileNotFoundError(
            'ffmpeg was not found: it writes .mp4 files. pip install "autoflow[video]", or save a .gif file'
        ) from None
