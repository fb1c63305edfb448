"""Matrices as small images on cards: cells have the colours of their numbers, in all formats, and a true scale."""

import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import autoflow as af
from autoflow.pictures.model.data import LEVELS, MOST_SIDE, image_of
from autoflow.pictures.model.style import THEMES
from autoflow.pictures.pages.frames import frames
from autoflow.pictures.render.cards import Cells, draw_cells
from autoflow.pictures.render.display import CELLS, Group, Path, Rect, Text, resolve
from autoflow.pictures.render.drawing import drawing_of
from autoflow.pictures.render.png import pixels

SIDES = st.tuples(st.integers(4, 40), st.integers(4, 40))
VALUES = st.floats(-1e6, 1e6) | st.sampled_from([0.0, np.nan, np.inf, -np.inf])


def blocks(x):
    """The parts of a matrix that are one cell each."""
    high, wide = [-(-n // MOST_SIDE) for n in x.shape]
    return [[x[i : i + high, j : j + wide] for j in range(0, x.shape[1], wide)] for i in range(0, x.shape[0], high)]


@given(arrays.arrays(float, SIDES, elements=VALUES))
def test_each_cell_has_the_number_that_is_furthest_from_zero(x):
    image = image_of(x)
    finite = x[np.isfinite(x)]
    if not finite.size or not abs(finite).max():
        assert image is None
        return
    assert image.top == abs(finite).max()
    for row, parts in zip(image.levels, blocks(x), strict=True):
        for level, part in zip(row, parts, strict=True):
            assert (level is None) == (not np.isfinite(part).all())
            if level is not None:
                assert abs(abs(level) / LEVELS * image.top - abs(part).max()) <= image.top / LEVELS / 2 * (1 + 1e-9)
                assert level * part.flat[abs(part).argmax()] >= 0 or part.max() == -part.min()


@given(arrays.arrays(float, SIDES, elements=st.integers(-50, 50)))
def test_what_is_drawn_says_the_numbers(x):
    image = image_of(x)
    if image is None:
        return
    cells = Cells(image, ("warm", "cold"), "numbers", 4)
    shapes = draw_cells(cells, 10.0, 40.0)
    ground = next(s for s in shapes if isinstance(s, Rect))
    read = np.zeros((len(image.levels), len(image.levels[0])), int)
    for s in shapes:
        if isinstance(s, Path) and s.d[0][1] < ground.x + ground.width:
            for (_, left, middle), (_, long) in zip(s.d[::2], s.d[1::2], strict=True):
                row, column = (middle - ground.y) / cells.side - 0.5, (left - ground.x) / cells.side
                sign = -1 if s.role == "cold" else 1
                level = sign * round(float(s.stroke_opacity) * LEVELS)
                read[round(row), round(column) : round(column + long / cells.side)] += level
    assert read.tolist() == [list(row) for row in image.levels]
    low, top = [float(s.text.replace("−", "-")) for s in shapes if isinstance(s, Text)]
    assert low <= x.min()
    assert top >= x.max()


def paths(drawing):
    return [shape for shape, _, _ in resolve(drawing) if isinstance(shape, Path)]


def network():
    rng = np.random.default_rng(0)
    W = af.Variable(rng.normal(size=(6, 5)), name="W")
    x = rng.normal(size=(20, 6))
    return np.tanh(x @ W).sum()


def test_weights_activations_and_gradients_are_images_where_there_is_room():
    picture = af.graph(network(), gradients=True, theme="light")
    assert {"warm", "cold", "more", "less"} <= {path.role for path in paths(drawing_of(picture))}
    drawn = {v.title: (v.value.image is not None, bool(v.gradient and v.gradient.image)) for v in picture.drawn.nodes}
    assert drawn["W"] == drawn["x @ W"] == (True, True)
    assert drawn["x"] == (True, False)
    crowded = af.graph(sum([network() for _ in range(9)]), gradients=True, theme="light")
    assert not crowded.look.images
    assert "ground" not in crowded.to_svg().partition("</style>")[2]
    assert af.graph(network(), "arrays", direction="down").look.images


def test_a_matrix_of_zeros_or_of_few_rows_has_no_image():
    others = [np.ones(9), np.ones((4, 4, 4)), np.ones((4, 4)) * 1j, np.eye(4, dtype=object)]
    assert {image_of(x) for x in (np.zeros((5, 5)), np.ones((3, 9)), *others)} == {None}
    assert [image_of(x).range for x in (np.eye(4, dtype=bool), -np.eye(4))] == [(0, LEVELS), (-LEVELS, 0)]


def test_all_formats_have_the_cells(tmp_path):
    pytest.importorskip("matplotlib")
    picture = af.graph(network(), gradients=True, theme="light")
    cells = [path for path in paths(drawing_of(picture)) if path.role in CELLS]
    svg, tex = picture.to_svg(), picture.save(tmp_path / "a.tex").read_text(encoding="utf-8")
    assert svg.count("stroke-opacity") == len(cells)
    faint = [cell for cell in cells if float(cell.stroke_opacity) < 1]
    assert tex.count(",opacity=") >= len(faint) > 20
    seen = {tuple(colour) for colour in pixels(drawing_of(picture), 2.0).reshape(-1, 3).tolist()}
    for role in ("warm", "cold", "more", "less"):
        colour = THEMES["light"][CELLS[role]]
        assert tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5)) in seen


def test_steps_hide_images_until_their_numbers_are_there():
    picture = af.graph(network(), gradients=True, merge=False, theme="light")
    shown = [{path.role for path in paths(drawing)} & {"warm", "more"} for _, drawing in frames(picture)]
    assert (shown[0], shown[-1]) == ({"warm"}, {"warm", "more"})  # first those of what is not computed
    assert [group for group in drawing_of(picture).items if isinstance(group, Group)]
