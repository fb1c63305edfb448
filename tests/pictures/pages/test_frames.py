"""Films of the steps: the frames without a browser, GIF, MP4; and pictures for TeX."""

import io
import re
import shutil
import subprocess
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from graphs import EVIL, lesson, shared
from picture_pages import PARTS

import autoflow as af
from autoflow.pictures import graph
from autoflow.pictures.model.style import break_words
from autoflow.pictures.pages import frames as films
from autoflow.pictures.pages.frames import frames
from autoflow.pictures.render.display import Group, Text, resolve
from autoflow.pictures.render.drawing import drawing_of
from autoflow.pictures.render.tikz import n, tex_letter, to_tex


def groups(drawing):
    """The cards and arrows of a frame, by their marks."""
    ((picture, *_),) = [drawing.items]
    return {group.mark: group for group in picture.items if isinstance(group, Group) and group.mark}


def text_of(card, role):
    """The texts of a role."""
    return [x.text for x in card.items if isinstance(x, Text) and x.role == role]


def opacities(drawing):
    """Text and opacity of all that can be seen."""
    return [(shape.text, float(look["opacity"])) for shape, _, look in resolve(drawing) if isinstance(shape, Text)]


# ------------------------------------------------------------------ frames


def test_frames_show_what_the_steps_say():
    a5, _ = lesson()
    stepper = a5.step()
    shown = list(frames(stepper.graph))
    assert [step for step, _ in shown] == list(stepper)
    assert len({(drawing.wide, drawing.high) for _, drawing in shown}) == 1
    for k, (step, drawing) in enumerate(shown):
        said = [text for text, _ in opacities(drawing)]
        assert f"{k} / 22  {step.phase}" in said
        assert "".join(step.caption.split()) in "".join("".join(said).split())
        found = groups(drawing)
        active = [mark for mark, group in found.items() if "act" in group.states]
        assert active == ([f"n{step.node}"] if step.node is not None else [])
        for p in step.products:
            (sum_now,) = text_of(found[f"n{p.source}"], "gradient")
            assert sum_now == p.so_far.text(4)
            assert f"= {p.sent.text(4)}" in text_of(found[f"n{step.node}"], "sent")


def test_frames_hide_what_is_still_to_come():
    (start, begin), *_, (end, last) = frames(lesson()[0].step().graph)
    assert (start.phase, end.phase) == ("start", "end")
    seen = {text for text, opacity in opacities(begin) if opacity}
    assert {"x", "2", "sin(a2)"} <= seen
    assert not {"10.31", "0.8415", "= 5.89", "24.48"} & seen
    assert {"10.31", "0.8415", "= 5.89", "24.48"} <= {text for text, opacity in opacities(last) if opacity == 1}


def test_each_of_several_results_has_the_gradient_that_has_arrived():
    w, v = np.linalg.eigh(af.Variable(np.array([[2.0, 1.0], [1.0, 3.0]]), name="x"))
    out = np.sum(w * w) + np.sum(v[0] * 2.0)
    seen = []
    for step, drawing in frames(out.step().graph):
        sent = [p.title for p in step.products]
        texts = [text_of(card, "gradient") for card in groups(drawing).values()]
        seen += [(sent, *[[bool(text) for text in found] for found in texts if len(found) == 2])]
    at = [k for k, (sent, _) in enumerate(seen) if set(sent) & {"w", "v"}]
    assert [seen[k] for k in at] == [(["w", "w"], [True, False]), (["v"], [True, True])]
    assert all([there == [False, False] for _, there in seen[: at[0]]])


HELPERS = (
    PARTS
    + """
const marks = () => [...r().querySelectorAll('[data-node], [data-edge]')].map((e) => [
  e.dataset.node ?? e.dataset.edge, [...e.classList].sort().join(' '), e.querySelectorAll('.unsent').length,
  e.querySelector('.gradient')?.textContent ?? '']);
"""
)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_frames_of_the_page_are_these(show):
    """The same classes on the same cards and arrows as a browser has."""
    stepper = shared()[0].step()
    page = show(stepper.to_html())
    found = [groups(drawing) for _, drawing in frames(stepper.graph)]
    sent = {mark: len(text_of(group, "sent")) for mark, group in found[-1].items()}
    for k, cards in enumerate(found):
        ours = [[mark[1:], " ".join(sorted(group.states)), sent[mark] - len(text_of(group, "sent")),
                 (text_of(group, "gradient") or [""])[0]] for mark, group in cards.items()]  # fmt: skip
        assert sorted(page.run(f"slide({k}); marks()")) == sorted(ours), k


def test_captions_are_broken_where_they_fit():
    lines = break_words("a3 has gradient 1, sends back   to b: 1 × 2 = 2;   to c: 1 × 3 = 3", 200.0, "numbers")
    assert len(lines) > 2
    assert " ".join(" ".join(lines).split()) == "a3 has gradient 1, sends back to b: 1 × 2 = 2; to c: 1 × 3 = 3"
    assert break_words("", 200.0, "numbers") == [""]


def test_folded_pictures_have_no_frames():
    with af.scope("box"):
        y = np.tanh(af.Variable(1.0)) * 3.0
    with pytest.raises(ValueError, match=r"node\.step\(\)\.save"):
        next(frames(graph(y * 2, gradients=True, depth=0)))


# ------------------------------------------------------------------ films


@pytest.mark.slow
@pytest.mark.nightly
def test_a_gif_has_a_frame_for_each_step(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pytest.importorskip("matplotlib")
    stepper = shared()[0].step(theme="dark")
    path = stepper.save(tmp_path / "a.gif", seconds=0.5)
    film = image.open(io.BytesIO(path.read_bytes()))
    assert film.n_frames == len(stepper) == 9
    film.seek(1)
    assert (film.info["duration"], film.info["loop"]) == (500, 0)
    assert film.convert("RGB").getpixel((2, 2)) == (0x11, 0x16, 0x1C)
    film.seek(8)
    assert film.info["duration"] == 1500
    whole = np.asarray(film.convert("RGB")).astype(int)
    (*_, (_, drawing)) = frames(stepper.graph)
    exact = films.pixels(drawing, films.SHARP)[: whole.shape[0], : whole.shape[1]]
    assert abs(whole[: len(exact), : exact.shape[1]] - exact).max(axis=-1).mean() < 1.0


PROGRAM = """#!{python}
import pathlib, sys
size = sys.argv[sys.argv.index("-s") + 1]
data = sys.stdin.buffer.read()
pathlib.Path(sys.argv[-1]).write_text(f"{{size}} {{len(data)}} " + " ".join(sys.argv[1:-1]))
sys.exit({code})
"""


def fake_ffmpeg(monkeypatch, tmp_path, code=0):
    """A program that writes down what it is given."""
    path = tmp_path / "ffmpeg"
    path.write_text(PROGRAM.format(python=sys.executable, code=code))
    path.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(path) if name == "ffmpeg" else None)


def test_ffmpeg_gets_all_frames(monkeypatch, tmp_path):
    fake_ffmpeg(monkeypatch, tmp_path)
    pictures = [np.full((4, 6, 3), k, np.uint8) for k in range(5)]
    size, amount, *words = films.to_mp4(iter(pictures), 0.5).decode().split()
    assert size == "6x4"
    assert int(amount) == 4 * 6 * 3 * (5 + films.REST - 1)
    assert words[words.index("-framerate") + 1] == "2.000000"
    fake_ffmpeg(monkeypatch, tmp_path, code=1)
    with pytest.raises(OSError, match=r"could not write an \.mp4 file"):
        films.to_mp4(iter(pictures), 0.5)


@pytest.mark.slow
def test_an_mp4(tmp_path):
    pytest.importorskip("matplotlib")
    try:
        films.ffmpeg()
    except FileNotFoundError:
        pytest.skip("ffmpeg is not installed")
    data = shared()[0].step().save(tmp_path / "a.mp4", seconds=0.2).read_bytes()
    assert data[4:8] == b"ftyp"
    assert len(data) > 5000


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    stepper = shared()[0].step()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(FileNotFoundError, match=r'pip install "autoflow\[video\]"'):
        films.to_mp4(iter([]), 1.0)
    with monkeypatch.context() as hidden:
        hidden.setitem(sys.modules, "PIL.Image", None)
        with pytest.raises(ImportError, match=r'Pillow was not found.*pip install "autoflow\[images\]"'):
            stepper.save(tmp_path / "a.gif")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"matplotlib was not found: it draws the frames of a \.gif file"):
        next(films.images(stepper.graph, "gif"))
    for seconds in (0, 1e4):
        with pytest.raises(ValueError, match=r"from 0\.02 to 600 seconds"):
            stepper.save(tmp_path / "a.gif", seconds=seconds)
    own = types.ModuleType("imageio_ffmpeg")
    own.get_ffmpeg_exe = lambda: "/there/ffmpeg"
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", own)
    assert films.ffmpeg() == "/there/ffmpeg"


def test_sides_of_frames_are_even(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(films, "pixels", lambda drawing, sharp: np.zeros((7, 5, 3), np.uint8))
    assert next(films.images(shared()[0].step().graph, "mp4")).shape == (8, 6, 3)


# ------------------------------------------------------------------ TeX


def test_tex_has_all_texts_at_the_places_of_the_svg():
    a5, _ = lesson()
    g = graph(a5, gradients=True)
    text = g.to_tex()
    assert text.startswith("% Made by autoflow")
    assert text.rstrip().endswith("\\end{document}")
    part = g.to_tex(full=False)  # for a document
    assert part in text
    assert part.count(r"\begin{tikzpicture}") == part.count(r"\end{tikzpicture}") == 1
    assert "documentclass" not in part
    nodes = re.findall(r"^\\node\[.*?\] at \(([-\d.]+),([-\d.]+)\) \{(.*)\};$", text, re.MULTILINE)
    shapes = list(resolve(drawing_of(replace(g, look=replace(g.look, theme="light")))))
    texts = [(shape, at) for shape, at, _ in shapes if isinstance(shape, Text)]
    assert len(nodes) == len(texts)
    for (x, y, said), (shape, at) in zip(nodes, texts, strict=True):
        assert (x, y) == (n(at[0] + shape.x), n(at[1] + shape.y))
        assert said == "".join(map(tex_letter, shape.text))
    paths = re.findall(r"^\\path\[(.*?)\] (.*);$", text, re.MULTILINE)
    assert len(paths) == len(shapes) - len(texts)
    defined = set(re.findall(r"\\definecolor\{(\w+)\}\{HTML\}\{[0-9A-F]{6}\}", text))
    assert set(re.findall(r"(?:fill|draw|text)=(\w+)", text)) <= defined


def test_tex_makes_no_sign_of_two():
    assert "".join(map(tex_letter, "--x'")) == "{-}{-}x{'}"


@pytest.mark.parametrize("name", [*EVIL[:-1], r"\input{x}", "%", "#1", "$x$", "a_b^c", "naïve", "αβΩ", "−2 ∂ ⊙ …"])
def test_tex_obeys_no_name(name):
    x = af.Variable(2.0, name=name)
    text = to_tex(graph(x * x))
    known = {"textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "char"}
    known |= {"textasciigrave", "ldots", "partial", "odot", "times", "alpha", "beta", "Omega", "cdot"}
    inside = "".join(re.findall(r"^\\node\[.*?\] at \S+ \{(.*)\};$", text, re.MULTILINE))
    assert set(re.findall(r"\\([a-zA-Z]+)", inside)) <= known
    assert inside.count("$") % 2 == inside.count(r"\$") % 2
    assert all([ord(c) < 256 for c in text])
    assert not re.search(r"(?<!\\)[#$%&_^~]", re.sub(r"(?<!\\)\$.*?(?<!\\)\$", "", inside))
    groups = re.sub(r"\\[{}]", "", inside)
    assert groups.count("{") == groups.count("}")


@pytest.mark.slow
def test_pdflatex_draws_it(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    w = af.Variable(np.linspace(0, 1, 12).reshape(3, 4), name="$w_1$ \\frac^~{}α日")
    with af.scope("50% & more"):
        h = np.tanh(np.ones((5, 3)) @ w)
    path = graph(np.sum(h**2), gradients=True, highlight=w).save(tmp_path / "g.tex")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    assert b"(1 page" in done.stdout
    assert b"Overfull" not in done.stdout
