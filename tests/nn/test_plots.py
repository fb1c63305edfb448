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


def deep(layers=4, rng=None, **options):
    rng = np.random.default_rng(0) if rng is None else rng
    parts = [part for _ in range(layers) for part in (nn.Linear(8, 8, rng=rng, **options), nn.tanh)]
    return nn.Sequential(*parts)


def rms(x):
    return np.sqrt(np.mean(x * x))


def test_a_watched_sequential_notes_every_part():
    rng = np.random.default_rng(0)
    model, x = deep(2, rng), rng.normal(size=(5, 8))
    watched = af.watch(model)
    hidden = np.tanh(model[0](x))
    before = model[2](hidden)
    out = np.tanh(before)
    out.backward(keep_grads=True)
    watched(x).sum().backward()
    assert watched.layers == ["Linear_0", "tanh", "Linear_2", "tanh 2"]
    (activations,), (gradients,) = watched.activations, watched.gradients
    assert activations["tanh"] == pytest.approx(rms(hidden.value))
    assert activations["Linear_2"] == pytest.approx(rms(before.value))
    assert gradients["tanh 2"] == pytest.approx(1)
    assert gradients["Linear_2"] == pytest.approx(rms(before.grad))
    assert gradients["tanh"] == pytest.approx(rms(hidden.grad))


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
    model = deep(2)
    af.plot_weights(model, ax=ax)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    first = ax.patches[0].get_data()
    assert first.values.max() == pytest.approx(3.8)  # the top row begins at 3 and is 0.8 high
    assert ax.texts[0].get_text() == f"sd {model[0].weight.std():.2g}"
    ax.clear()
    af.plot_weights([af.Variable([1.0], name="w"), np.zeros(3)], ax=ax)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["w", "array 1"]
    ax.clear()
    af.plot_weights([af.Variable([1.0], name="w"), af.Variable([2.0, 3.0], name="w")], ax=ax)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["w", "w 2"]
    with pytest.raises(InputError, match="w has NaN"):
        af.plot_weights({"w": np.array([np.nan])}, ax=ax)
    with pytest.raises(InputError, match="w is empty"):
        af.plot_weights({"w": np.array([])}, ax=ax)
    with pytest.raises(InputError, match="there are no parameters"):
        af.plot_weights({}, ax=ax)


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


def test_boundaries_of_wrong_shapes(ax):
    x = np.zeros((4, 2))
    with pytest.raises(InputError, match=r"of shape \(n, 2\), got \(4, 3\)"):
        af.plot_boundary(np.tanh, np.zeros((4, 3)), np.zeros(4), ax=ax)
    with pytest.raises(InputError, match=r"classes of shape \(4,\), got \(3,\)"):
        af.plot_boundary(np.tanh, x, np.zeros(3), ax=ax)
    with pytest.raises(InputError, match=r"scores of shape \(25, classes\)"):
        af.plot_boundary(lambda x: np.zeros(3), x, np.zeros(4), points=5, ax=ax)


def test_colours_are_those_of_all_pictures():
    for ours, theirs in ((plots.LIGHT, style.LIGHT), (plots.DARK, style.DARK)):
        assert ours["weights"] == theirs["var-line"]
        assert ours["ink"] == theirs["ink"]
        assert ours["note"] == theirs["sub"]
        assert list(ours["classes"][:3]) == [theirs[f"{kind}-line"] for kind in ("var", "op", "con")]


def test_colours_follow_the_background(ax):
    af.plot_loss([1.0, 2.0], ax=ax)
    assert ax.lines[0].get_color() == plots.LIGHT["classes"][0]
    dark = Figure().subplots()
    dark.set_facecolor("black")
    af.plot_loss([1.0, 2.0], ax=dark)
    assert dark.lines[0].get_color() == plots.DARK["classes"][0]


def test_new_figures_follow_the_theme():
    from matplotlib import pyplot

    with af.options(theme="dark"):
        made = af.plot_loss([1.0, 2.0])
    assert to_hex(made.get_facecolor()) == "#000000"
    assert made.lines[0].get_color() == plots.DARK["classes"][0]
    pyplot.close(made.figure)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib, or pip install \"autoflow\[notebooks\]\""):
        af.plot_loss([1.0])
