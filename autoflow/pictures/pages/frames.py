"""The picture at each of its steps, and the film that these frames are: an animated GIF, or an MP4 (H.264).

A frame shows without a script what ``fragment.js`` shows in a page, and is made in the same way: from the first step
on, cards that wait are pale, numbers that are not there yet are hidden, the card at work has a thick outline: cards and
arrows have states, and :data:`~..render.display.STEPS` says what these look like. Above the picture stands what the
step says.

For a film matplotlib draws the frames. Pillow puts a GIF together; the program ``ffmpeg``, or the one that the package
imageio-ffmpeg brings, an MP4.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ...base.lazy import load_package
from ..folding.views import visible_picture
from ..model.data import Array, GraphData, on_paper
from ..model.steps import Step, steps_of
from ..model.style import break_words
from ..render.display import Drawing, Group, Item, Text
from ..render.drawing import drawing_of
from ..render.placing import MARGIN
from ..render.png import NoMatplotlibError, pixels
from .html import frame

# ---------------------------------------------------------------- frames: a display list for each step

LINE = 19.0  # of the caption


def frames(graph: GraphData) -> Iterator[tuple[Step, Drawing]]:
    """Each step with its picture; all are of one size.

    Raises ValueError for a picture with folded boxes, whose parts have no cards to show a step on.
    """
    picture = on_paper(visible_picture(graph))
    if any([v.fold for v in picture.nodes]):
        raise ValueError("the steps of a folded picture cannot be drawn: node.step().save(...) draws all nodes")
    steps = steps_of(picture)
    contents = [frame(picture, step) for step in steps]
    drawing = drawing_of(picture)
    captions = [break_words(step.caption, drawing.wide - 2 * MARGIN, "numbers") for step in steps]
    lines = max(map(len, captions)) + 1
    for k, step in enumerate(steps):
        state = state_of(contents, k)
        now = drawing if state is None else replace(drawing, items=tuple([in_state(x, state) for x in drawing.items]))
        yield step, with_caption(now, [f"{k} / {len(steps) - 1}  {step.phase}", *captions[k]], lines)


@dataclass
class State:
    """What a step changes: ids of cards, names of arrows, rows of products, texts of sums that are not complete."""

    marks: dict[str, set[str]] = field(default_factory=dict)  # "n3" for a card, "e0-3-1" for an arrow: its classes
    received: set[int] = field(default_factory=set)
    sums: dict[tuple[int, int], tuple[str, bool]] = field(default_factory=dict)  # of each result; is that all?
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
            if "sum" in sent:
                state.sums[receiver, sent.get("place", 0)] = sent["sum"], sent["complete"]
    step = told[k]
    state.mark([f"n{step['node']}"] if "node" in step else [], "act")
    state.mark([f"e{edge}" for edge in step.get("inputs", ())], "busy")
    state.mark([f"e{p['edge']}" for p in step.get("products", ())], "back")
    return state


def in_state(item: Item, state: State) -> Item:
    """A card or an arrow as it is at a step."""
    if not isinstance(item, Group) or not item.mark:
        return item
    names, items, k = set(state.marks.get(item.mark, ())), item.items, int(item.mark[1:].partition("-")[0])
    if item.mark.startswith("n"):
        items = tuple(set_texts(items, k, state))
        partly = gradients(item.items) != gradients(items)
        names |= {"dry"} if k not in state.received else {"partly"} if partly else set()
    return replace(item, items=items, states=(*item.states, *sorted(names)))


def gradients(items: Iterable[Item]) -> list[str]:
    """The texts of the gradients on a card: of several results there are several."""
    return [item.text for item in items if isinstance(item, Text) and item.role == "gradient"]


def set_texts(items: Sequence[Item], k: int, state: State) -> Iterator[Item]:
    """The items of card ``k``: sums that are not complete, and products that have not been sent."""
    row, places = 0, count()
    for item in items:
        if isinstance(item, Text) and item.role == "gradient":
            amount, is_all = state.sums.get((k, next(places)), ("", len(gradients(items)) == 1))
            item = item if is_all else replace(item, text=amount)
        if isinstance(item, Text) and item.role == "sent":
            row += 1
            if (k, row - 1) in state.unsent:
                continue
        yield item


def with_caption(drawing: Drawing, said: Sequence[str], lines: int) -> Drawing:
    """The picture with lines of text above it, in room for ``lines`` of them."""
    high = lines * LINE + MARGIN / 2
    texts = [Text("numbers", None, MARGIN, MARGIN / 2 + (k + 0.8) * LINE, text) for k, text in enumerate(said)]
    items: tuple[Item, ...] = (Group(drawing.items, (0.0, high)), *texts)
    return replace(drawing, high=round(drawing.high + high), items=items)


# ---------------------------------------------------------------- films: GIF and MP4


SHARP = 1.5  # pixels of a frame per pixel of the SVG, as far as ...
WIDEST, HIGHEST = 1600, 1600  # ... no frame gets larger than that
REST = 3  # the number of steps for which the last frame is shown
COLOURS, EXACT = 128, 32  # of a GIF; the most frequent ones, grounds and outlines, as they are


def film(graph: GraphData, form: str, seconds: float) -> bytes:
    """The steps as "gif" or "mp4"; ``seconds`` for each of them.

    Raises ImportError (Pillow, matplotlib) or FileNotFoundError (ffmpeg), which say what to install, and ValueError
    for a picture with folded boxes.
    """
    if not 0.02 <= seconds <= 600:
        raise ValueError(f"seconds={seconds}: a step lasts from 0.02 to 600 seconds")
    return {"gif": to_gif, "mp4": to_mp4}[form](images(graph, form), seconds)


def images(graph: GraphData, form: str) -> Iterator[Array]:
    """The frames as arrays of pixels, with even sides: a video cannot have others."""
    for _, drawing in frames(graph):
        try:
            image = pixels(drawing, min(SHARP, WIDEST / drawing.wide, HIGHEST / drawing.high))
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
    codes, places = np.unique(packed, return_inverse=True)
    colours = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1)
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
            error = done.stderr.decode(errors="replace").strip()
            raise OSError(f"{program} could not write an .mp4 file: {error[-500:]}")
        return path.read_bytes()


def ffmpeg() -> str:
    """The program. Raises FileNotFoundError, which says what to install."""
    if path := shutil.which("ffmpeg"):
        return path
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise FileNotFoundError(
            'ffmpeg was not found: it writes .mp4 files. pip install "autoflow[video]", or save a .gif file'
        ) from None
