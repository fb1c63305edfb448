"""Pictures of training: what they show is what there is, in autoflow's colours, on light and dark."""

import pickle
import re
import sys

import numpy as np
import pytest

import autoflow as af
from autoflow import nn
from autoflow.nn import plots
from autoflow.nn.module import InputError
from autoflow.pictures.model import style

pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex
from matplotlib.figure import Figure


@pytest.fixture
def ax():
    return Figure().subplots()


def deep(layers=4):
    rng = np.random.default_rng(0)
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(8, 8, rng=rng), nn.tanh)])


def rms(x):
    return np.sqrt(np.mean(x * x))


def test_a_watched_sequential_notes_every_part():
    model, x = deep(2), np.random.default_rng(1).normal(size=(5, 8))
    watched = af.watch(model)
    hidden = np.tanh(model[0](x))
    before = model[2](hidden)
    np.tanh(before).backward(keep_grads=True)
    watched(x).sum().backward()
    assert watched.layers == ["Linear_0", "tanh", "Linear_2", "tanh 2"]
    (activations,), (gradients,) = watched.activations, watched.gradients
    for name, node in {"tanh": hidden, "Linear_2": before}.items():
        assert activations[name] == pytest.approx(rms(node.value))
        assert gradients[name] == pytest.approx(rms(node.grad))
    assert gradients["tanh 2"] == pytest.approx(1)


def test_a_plain_function_is_watched_by_its_scopes():
    w = af.Variable(np.full((3, 3), 0.1))

    def f(x):
        for k in range(3):
            with af.scope(f"layer {k}"):
                x = np.tanh(x @ w)
        return x.mean()

    watched = af.watch(f)
    with af.scope("around"):  # a box outside of the model is not one of its layers
        watched(np.ones((2, 3))).backward()
    assert watched.layers == ["layer 0", "layer 1", "layer 2", "mean"]
    sizes = list(watched.gradients[0].values())
    assert sizes[0] < sizes[1] < sizes[2]


def test_the_same_box_twice_is_two_layers():
    cell = nn.Linear(3, 3, rng=np.random.default_rng(0))
    watched = af.watch(lambda x: cell(cell(x)))
    watched(np.ones((1, 3)))
    assert watched.layers == ["Linear", "Linear 2"]
    assert np.isnan(list(watched.gradients[0].values())).all()


def test_nothing_is_noted_where_nothing_is_recorded():
    watched = af.watch(deep())
    with af.no_grad():
        watched(np.ones((1, 8)))
    assert watched.activations == watched.gradients == watched.layers == []


def test_a_watched_model_is_the_model():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(2, 4, rng=rng), nn.tanh, nn.Linear(4, 2, rng=rng))
    watched, x = af.watch(model), rng.normal(size=(20, 2))
    optimiser = af.optim.Adam(watched, lr=0.1)
    af.fit(watched, x, (x[:, 0] > 0).astype(int), loss=nn.cross_entropy, optimiser=optimiser, rng=rng, epochs=3,
           progress=False)  # fmt: skip
    assert len(watched.gradients) == 3
    assert not model.training
    assert np.array_equal(watched(x), model(x))
    with pytest.raises(AttributeError):
        watched.no_such_thing  # noqa: B018 - asking is the test
    assert pickle.loads(pickle.dumps(af.watch(np.tanh))).layers == []


@pytest.mark.parametrize("of", ["gradients", "activations"])
def test_sizes(ax, of):
    watched = af.watch(deep())
    for k in range(3):
        watched(np.full((2, 8), 1.0 + k)).sum().backward()
    assert af.plot_sizes(watched, of, ax=ax) is ax
    assert ax.get_yscale() == "log"
    assert len(ax.lines) == 8
    assert [line.get_ydata()[0] for line in ax.lines] == list(getattr(watched, of)[0].values())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Linear_0 (first)", "tanh 4 (last)"]
    ax.clear()
    af.plot_sizes(watched, of, along="layers", ax=ax)
    drawn = {line.get_label(): list(line.get_ydata()) for line in ax.lines}
    sizes = [list(row.values()) for row in getattr(watched, of)]
    assert drawn == {"first step": sizes[0], "last step": sizes[2]}
    assert len(ax.get_xticklabels()) == 8


def test_sizes_that_are_not_there(ax):
    watched = af.watch(deep())
    with pytest.raises(InputError, match="call the watched model"):
        af.plot_sizes(watched, ax=ax)
    watched(np.ones((2, 8)))
    with pytest.raises(InputError, match=r"was backward\(\) called"):
        af.plot_sizes(watched, ax=ax)
    af.plot_sizes(watched, "activations", ax=ax)
    with pytest.raises(ValueError, match="'gradients' or 'activations', not 'weights'"):
        af.plot_sizes(watched, "weights", ax=ax)
    with pytest.raises(ValueError, match="'steps' or 'layers', not 'time'"):
        af.plot_sizes(watched, along="time", ax=ax)


def test_losses(ax):
    loss = [af.Variable(2.0), 1.0]
    af.plot_loss(loss, ax=ax)
    assert np.array(ax.lines[0].get_data()).tolist() == [[1, 2], [2.0, 1.0]]
    assert ax.get_xlabel() == "step"
    ax.clear()
    af.plot_loss({"loss": [1], "val_loss": [2], "val_other": [3]}, ax=ax)
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines) == ["loss", "val_loss", "val_other"]
    assert lines["loss"].get_color() == lines["val_loss"].get_color() != lines["val_other"].get_color()
    assert lines["val_loss"].get_linestyle() == "--"


def test_one_value_is_a_dot(ax):
    af.plot_loss({"loss": [1.0], "val_loss": [2.0]}, ax=ax)
    plots.draw_sizes(ax, {"first": np.array([0.5])}, "gradients")
    assert [line.get_marker() for line in ax.lines] == ["."] * 3
    ax.clear()
    af.plot_loss([1.0, 2.0], ax=ax)
    assert ax.lines[0].get_marker() == "None"
    (dot,) = re.findall(r'<polyline points="(\S+) (\S+)" .*stroke-linecap="round"', plots.line_chart({"loss": [1.0]}))
    assert dot[0] == dot[1]
    assert "linecap" not in plots.line_chart({"loss": [1.0, 2.0]})


def test_weights(ax):
    model, names = deep(2), lambda: [t.get_text() for t in ax.get_yticklabels()]
    af.plot_weights(model, ax=ax)
    assert names() == ["0.weight", "0.bias", "2.weight", "2.bias"]
    first = ax.patches[0].get_data()
    assert first.values.max() == pytest.approx(3.8)  # the top row begins at 3 and is 0.8 high
    assert ax.texts[0].get_text() == f"sd {model[0].weight.std():.2g}"
    for other, label in ((np.zeros(3), "array 1"), (af.Variable([2.0, 3.0], name="w"), "w 2")):
        ax.clear()
        af.plot_weights([af.Variable([1.0], name="w"), other], ax=ax)
        assert names() == ["w", label]
    for given, message in (({"w": np.array([np.nan])}, "w has NaN"), ({"w": np.array([])}, "w is empty"), ({}, "no p")):
        with pytest.raises(InputError, match=message):
            af.plot_weights(given, ax=ax)


def test_the_boundary_is_where_the_decision_changes(ax):
    x, y = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, 1])

    def scores(x):
        return np.stack([0 * x[:, 0], 2 * x[:, 0] - 1], axis=1)  # the first class where x < 0.5

    for model in (scores, lambda x: scores(x)[:, 1], lambda x: scores(x)[:, 1:]):
        ax.clear()
        assert af.plot_boundary(model, x, y, points=21, ax=ax) is ax
        regions = [c for c in ax.collections if c.get_label().startswith("_")]
        corners = np.concatenate([path.vertices for c in regions[1::2] for path in c.get_paths()])
        assert corners[:, 0] == pytest.approx(0.5)
        assert [to_hex(regions[k].get_facecolor()[0]).upper() for k in (0, 2)] == list(plots.LIGHT["classes"][:2])
        left, right = [regions[k].get_paths()[0].vertices[:, 0] for k in (0, 2)]
        assert left.max() == pytest.approx(0.5)
        assert right.min() == pytest.approx(0.5)


def test_the_boundary_of_a_module_is_that_in_use(ax):
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Dropout(0.9, rng=rng), nn.Linear(2, 3, rng=rng), nn.BatchNorm(3))
    model[2].eval()
    x, state, random = rng.normal(size=(9, 2)), model.state_dict(), rng.bit_generator.state
    af.plot_boundary(model, x, np.arange(9) % 3, points=5, ax=ax)
    af.plot_boundary(af.watch(model), x, np.arange(9) % 3, points=5, ax=ax)
    assert rng.bit_generator.state == random  # dropout drew nothing
    assert [part.training for part in model.modules()] == [True, True, True, False]
    assert all([np.array_equal(state[name], x) for name, x in model.state_dict().items()])


@pytest.mark.parametrize("y", [[-1, 1, -1, 1], [0, 1, 2, 7], [0.0, 1.0, 1.0, 0.5], [True, False, True, True]])
def test_every_example_is_drawn(ax, y):
    af.plot_boundary(lambda x: x[:, 0], np.arange(8.0).reshape(4, 2), np.array(y), points=5, ax=ax)
    drawn = {c.get_label(): len(c.get_offsets()) for c in ax.collections if not c.get_label().startswith("_")}
    assert sum(drawn.values()) == 4
    assert {f"class {k}" for k in y} - {"class True", "class False", "class 0.0", "class 1.0"} <= set(drawn)


@pytest.mark.parametrize(("model", "m", "n", "message"), [
    (np.tanh, (4, 3), 4, r"of shape \(n, 2\), got \(4, 3\)"),
    (np.tanh, (4, 2), 3, r"classes of shape \(4,\), got \(3,\)"),
    (lambda x: np.zeros(3), (4, 2), 4, r"scores of shape \(25, classes\)"),
])  # fmt: skip
def test_boundaries_of_wrong_shapes(ax, model, m, n, message):
    with pytest.raises(InputError, match=message):
        af.plot_boundary(model, np.zeros(m), np.zeros(n), points=5, ax=ax)


def test_colours_are_those_of_all_pictures():
    for ours, theirs in ((plots.LIGHT, style.LIGHT), (plots.DARK, style.DARK)):
        assert [ours[name] for name in ("weights", "ink", "note")] == [theirs[k] for k in ("var-line", "ink", "sub")]
        assert list(ours["classes"][:3]) == [theirs[f"{kind}-line"] for kind in ("var", "op", "con")]


def test_colours_follow_the_background_and_the_theme(ax):
    from matplotlib import pyplot

    dark = Figure().subplots()
    dark.set_facecolor("black")
    with af.options(theme="dark"):
        new = af.plot_loss([1.0, 2.0])
    assert to_hex(new.get_facecolor()) == "#000000"
    for axes in (ax, dark):
        af.plot_loss([1.0, 2.0], ax=axes)
    for axes, colours in ((ax, plots.LIGHT), (dark, plots.DARK), (new, plots.DARK)):
        assert axes.lines[0].get_color() == colours["classes"][0]
    pyplot.close(new.figure)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib, or pip install \"autoflow\[notebooks\]\""):
        af.plot_loss([1.0])
