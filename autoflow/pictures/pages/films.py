"""The steps as a film: an animated GIF, or an MP4 (H.264).

The frames are those of :mod:`.frames`, drawn by matplotlib. Pillow puts a GIF together; the program ``ffmpeg``, or the
one that the package imageio-ffmpeg brings, an MP4.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...lazy import load_package
from ..model.data import GraphData
from ..render.png import NoMatplotlibError, pixels, sides
from .frames import frames

Array = Any
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
