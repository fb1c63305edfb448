"""Modules and layers: names, states, files, modes, pictures; PyTorch's values; bad input; trainings that succeed."""

import ast
import collections
import inspect
import math
import re
from functools import partial

import numpy as np
import pytest
from support import plain
from threads import in_threads

import autoflow as af
from autoflow import nn, optim
from autoflow.base.pytree import tree_leaves
from autoflow.base.saving import StateError
from autoflow.compiler import compiled as compiling
from autoflow.errors import DataError
from autoflow.nn import layers as layers_module
from autoflow.nn.module import InputError


def rng(seed=3):
    return np.random.default_rng(seed)


def network(seed=3):
    r = rng(seed)
    return nn.Sequential(
        nn.Conv2d(1, 2, 3, rng=r), nn.BatchNorm(2), nn.relu, nn.Dropout(0.5, rng=r), lambda x: x.reshape(len(x), -1),
        nn.LayerNorm(8), nn.Linear(8, 3, rng=r),
    )  # fmt: skip


IMAGES = np.random.default_rng(0).normal(size=(5, 1, 4, 4))

# -- Module ----------------------------------------------------------------------------------------------------------


class Parts(nn.Module):
    def __init__(self):
        self.shared = nn.Linear(2, 2, rng=rng())
        self.more = [self.shared, {"deep": nn.Linear(2, 1, bias=False, rng=rng())}]
        self.scale = af.Variable(1.0, "mine")
        self.table = np.zeros(3)
        self.number, self.text = 3, "words"
        self._private = af.Variable(2.0)


def test_names_and_parts():
    parts = Parts()
    names = ["shared.weight", "shared.bias", "more.1.deep.weight", "scale"]
    assert list(parts.named_parameters()) == names
    assert parts.scale.name == "mine"
    assert parts.shared.weight.name == "weight"
    assert [p.name for p in parts.parameters()] == names
    assert parts.scale.name == "scale"
    assert parts.modules() == [parts, parts.shared, parts.more[1]["deep"]]
    assert "table" in parts.state_dict()
    assert repr(parts) == "Parts(shared=Linear(2, 2))"
    with pytest.raises(NotImplementedError, match="Parts has no forward"):
        parts(1)


def test_train_and_eval():
    model = network()
    for training in (True, False):
        assert {m.training for m in model.modules()} == {training}
        assert np.array_equal(model(IMAGES).value, model(IMAGES).value) is not training
        assert (model.eval() if training else model.train()) is model
    assert all([m.training for m in model.modules()])


def test_states_and_files(tmp_path):
    model, other = network(3), network(4)
    model(IMAGES)
    path = model.save(tmp_path / "model")
    assert path.name == "model.npz"
    assert other.load(path) is other
    for name, array in model.state_dict().items():
        assert np.array_equal(other.state_dict()[name], array), name
    state = model.state_dict()
    state["0.weight"][:] = 9
    assert not np.any(model[0].weight.value == 9)
    assert np.array_equal(model.eval()(IMAGES).value, other.eval()(IMAGES).value)
    np.savez(tmp_path / "bad.npz", weight=np.array([{}], object))
    with pytest.raises(ValueError, match="allow_pickle"):
        other.load(tmp_path / "bad.npz")


def test_a_state_that_does_not_fit_changes_nothing():
    layer = nn.Linear(2, 3, rng=rng())
    before = layer.state_dict()
    for state, message in [
        ({"weight": np.zeros((3, 2))}, "missing: bias"), (before | {"more": 1.0}, "unexpected: more"),
        (before | {"weight": np.zeros((2, 3))}, r"Linear\(2, 3\).*unchanged:\n  weight: expected shape \(3, 2\), got"),
        (before | {"weight": np.zeros((3, 2)), "bias": np.zeros(3, complex)}, "bias: expected float64, got complex128"),
    ]:  # fmt: skip
        with pytest.raises(StateError, match=message):
            layer.load_state_dict(state)
        for name, array in layer.state_dict().items():
            assert np.array_equal(array, before[name])


def test_loading_takes_nodes_and_other_precisions():
    layer = nn.Linear(2, 1, rng=rng(), dtype=np.float32)
    layer.load_state_dict({"weight": af.Variable([[1.0, 2.0]]), "bias": np.array([3.0])})
    assert layer.weight.value.tolist() == [[1, 2]]
    assert layer.weight.dtype == np.float32


def test_scopes():
    """Every operation stands in the box of its layer."""
    x, model = np.ones((1, 2)), nn.Sequential(nn.Linear(2, 3, rng=rng()), nn.tanh, nn.Linear(3, 1, rng=rng()))
    assert model(x).grad_fn.scope == ("Sequential", "Linear_2")
    assert Parts().shared(x).grad_fn.scope == ("shared",)
    with af.no_grad():
        assert not model(x).requires_grad


# -- layers ----------------------------------------------------------------------------------------------------------

# what a layer says of itself, and what makes it -> the shape of an input, the shapes that it takes, more for its making
LAYERS = {
    "Linear(2, 3)": ((4, 2), "(..., 2)", {}), "Conv2d(1, 2, (3, 3))": ((5, 1, 4, 4), "(n, 1, height, width)", {}),
    "Conv2d(4, 2, (3, 2))": ((2, 4, 5, 4), "(n, 4, height, width)", {"groups": 2, "stride": 2, "bias": False}),
    "ConvTranspose2d(1, 4, (3, 3))": ((2, 1, 4, 4), "(n, 1, height, width)",
                                      {"stride": 2, "padding": 1, "output_padding": 1}),
    "ConvTranspose2d(4, 2, (3, 3))": ((1, 4, 2, 3), "(n, 4, height, width)", {"groups": 2, "bias": False}),
    "BatchNorm(3)": ((5, 3, 2), "(n, 3, ...)", {}), "LayerNorm((3, 2))": ((4, 3, 2), "(..., 3, 2)", {}),
    "GroupNorm(2, 4)": ((3, 4, 2), "(n, 4, ...)", {}), "Dropout(0.5)": ((4, 3), None, {}),
    "Embedding(4, 2)": (None, None, {}), "RNN(2, 3)": ((3, 4, 2), "(n, time, 2)", {}),
    "LSTM(2, 3)": ((3, 4, 2), "(n, time, 2)", {}), "GRU(2, 3)": ((3, 4, 2), "(n, time, 2)", {}),
    "MultiHeadAttention(6, 2)": ((2, 3, 6), "(..., length, 6)", {}),
    "TransformerBlock(6, 2)": ((2, 3, 6), "(..., length, 6)", {"dropout": 0.25, "hidden": 8}),
}  # fmt: skip
every_layer = pytest.mark.parametrize("text", LAYERS)


def layer_of(text, dtype=float, **drawing):
    cls = getattr(nn, text.partition("(")[0])
    known, sizes = inspect.signature(cls).parameters, ast.literal_eval(f"{text.removeprefix(cls.__name__)[:-1]},)")
    return cls(*sizes, **LAYERS[text][2], **{k: v for k, v in {"dtype": dtype, **drawing}.items() if k in known})


def input_of(text, dtype=float):
    shape = LAYERS[text][0]
    return np.array([1, 1, 3]) if shape is None else np.random.default_rng(0).normal(size=shape).astype(dtype)


def test_every_layer_is_in_the_table():
    layers = {name for name in layers_module.__all__ if isinstance(getattr(nn, name), type)}
    assert {text.partition("(")[0] for text in LAYERS} == layers - {"Sequential"}


def test_what_a_sequence_says_of_itself():
    parts = "Conv2d(1, 2, (3, 3)), BatchNorm(2), relu, Dropout(0.5), <lambda>, LayerNorm((8,)), Linear(8, 3)"
    assert (repr(network()), len(network())) == (f"Sequential({parts})", 7)


@every_layer
def test_how_a_layer_is_made(text):
    layer, without = layer_of(text, rng=rng()), "bias" in LAYERS[text][2] or text.startswith(("Dropout", "Embedding"))
    assert repr(layer) == text
    assert any("bias" in path for path in layer.named_parameters()) is not without
    if not text.startswith(("BatchNorm", "LayerNorm", "GroupNorm")):
        who = text.partition("(")[0].replace("TransformerBlock", "MultiHeadAttention")
        with pytest.raises(TypeError, match=rf"^{who} needs rng="):
            layer_of(text)


@every_layer
def test_single_precision_stays(text):
    layer = layer_of(text, np.float32, rng=rng())
    made = tree_leaves(layer(input_of(text, np.float32)))  # a recurrent layer has several results
    if layer.parameters():
        af.backward(sum(np.sum(z) for z in made))
    assert {z.dtype for z in (*made, *[p.grad for p in layer.parameters()])} == {np.dtype(np.float32)}


@every_layer
def test_gradients_of_a_layer(text):
    """dL/d(parameter) along one direction each, against differences."""
    layer, x = layer_of(text, rng=rng()), input_of(text)
    if text.startswith("Transformer"):
        layer.eval()

    def loss():
        return sum(np.sum(z**2 + z) for z in tree_leaves(layer(x)))

    for name, p in layer.named_parameters().items():
        layer.zero_grad()
        af.backward(loss())
        d = np.random.default_rng(1).normal(size=p.shape)
        value, ends = p.value.copy(), []
        for h in (1e-5, -1e-5):
            p.assign(value + h * d)
            ends.append(float(loss()))
        p.assign(value)
        assert np.sum(p.grad * d) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-8), name
    layer.zero_grad()
    assert all(p.grad is None for p in layer.parameters())


@pytest.mark.parametrize("text", [text for text, (shape, _, _) in LAYERS.items() if shape])
def test_what_a_layer_refuses(text):
    """Anything but real floats of the shapes that it takes, by its name."""
    layer, (shape, wanted, _) = layer_of(text, rng=rng()), LAYERS[text]
    name = re.escape(text)
    ints, waves = np.ones(shape, np.int64), np.ones(shape, complex)
    for x, what in ((ints, "floats, got int64 of .* by 255"), (waves, "real floats, got"), ([1.0], "an array of")):
        with pytest.raises(DataError, match=f"^{name} expected {what}"):
            layer(x)
    words = [] if wanted is None else wanted[1:-1].split(", ")
    bad = [(*shape[:k], shape[k] + 1, *shape[k + 1 :]) for k, word in enumerate(words) if word.isdigit()]
    for other in [*bad, ()] if words else []:
        message = rf"^{name} expected (input|query) of shape {re.escape(wanted)}, got {re.escape(str(other))}$"
        with pytest.raises(InputError, match=message):
            layer(np.ones(other))


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_a_sequence_in_two_parts(kind):
    layer, x = kind(3, 4, rng=rng()), rng(0).normal(size=(2, 5, 3))
    (whole, _), (first, memory) = layer(x), layer(x[:, :2])
    second, _ = layer(x[:, 2:], memory)
    np.testing.assert_allclose(np.concatenate([first, second], axis=1).value, whole.value, rtol=1e-14)
    assert layer(x[:, :0])[0].shape == (2, 0, 4)


@pytest.mark.peers
def test_weights_of_pytorch_load_unchanged():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).double().eval()
    ours = nn.Sequential(nn.Conv2d(1, 2, 3, rng=rng()), nn.BatchNorm(2)).eval()
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    np.testing.assert_allclose(ours(IMAGES).value, theirs(torch.tensor(IMAGES)).detach().numpy(), rtol=1e-10)


def test_what_pytorchs_batch_norm_counts_is_left_out():
    model, other = nn.Sequential(nn.BatchNorm(2)), nn.BatchNorm(2)
    state = {path: x + 1 for path, x in model.state_dict().items()}
    model.load_state_dict({**state, "0.num_batches_tracked": np.array(7)})
    assert all(np.array_equal(x, state[path]) for path, x in model.state_dict().items())
    with pytest.raises(StateError, match=r"unexpected: num_batches$"):
        other.load_state_dict({**other.state_dict(), "num_batches": np.array(7)})
    other.num_batches_tracked = np.array(1)  # a buffer of the user's own
    other.load_state_dict({**other.state_dict(), "num_batches_tracked": np.array(7)})
    assert other.num_batches_tracked == 7


SIZES = {"glorot": lambda i, o: 2 / (i + o), "he": lambda i, o: 2 / i, "lecun": lambda i, o: 1 / i}


@pytest.mark.parametrize("name", [f"{who}_{what}" for who in SIZES for what in ("uniform", "normal")])
def test_initialisers(name):
    shape = (100, 60, 3, 3)
    w = getattr(nn.init, name)(rng(), shape, np.float32)
    assert (w.dtype, w.shape) == (np.float32, shape)
    right = SIZES[name.partition("_")[0]](540, 900)
    assert w.var() == pytest.approx(right, rel=0.03)
    assert w.mean() == pytest.approx(0, abs=4 * math.sqrt(right / w.size))
    if name.endswith("uniform"):
        assert np.abs(w).max() <= math.sqrt(3 * right)
    assert np.array_equal(getattr(nn.init, name)(rng(), shape, np.float32), w)


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (4, 1, 2, 2)])
def test_orthogonal(shape):
    w = nn.init.orthogonal(rng(), shape, gain=2.0).reshape(shape[0], -1)
    small = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_orthogonal_matrices_are_equally_likely():
    """LAPACK's own signs are not: they make the first element negative."""
    r = rng()
    assert np.mean([nn.init.orthogonal(r, (3, 3))[0, 0] for _ in range(300)]) == pytest.approx(0, abs=0.13)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_transposed_convolution_in_groups_starts_as_large_as_one_in_each_group(groups):
    layer = nn.ConvTranspose2d(64, 32, 3, groups=groups, rng=rng())
    assert layer.weight.shape == (64, 32 // groups, 3, 3)
    assert layer.weight.value.var() == pytest.approx(2 / (64 // groups * 9), rel=0.1)


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "message", "make"), [
    (InputError, r"Embedding\(3, 2\): label 3 is not one of the 3 classes",
     lambda: nn.Embedding(3, 2, rng=rng())(np.array([3]))),
    (InputError, r"LSTM\(2, 3\) expected cell memory of shape \(5, 3\), got \(5, 2\)",
     lambda: nn.LSTM(2, 3, rng=rng())(np.zeros((5, 1, 2)), (np.zeros((5, 3)), np.zeros((5, 2))))),
    (InputError, r"GRU\(2, 3\) expected memory of shape \(5, 3\), got \(5, 2\)",
     lambda: nn.GRU(2, 3, rng=rng())(np.zeros((5, 1, 2)), np.zeros((5, 2)))),
    (InputError, r"GroupNorm: 4 channels cannot be shared among 3 groups", lambda: nn.GroupNorm(3, 4)),
    (InputError, r"ConvTranspose2d: 3 channels in, 2 out cannot be shared among 2 groups",
     lambda: nn.ConvTranspose2d(3, 2, 3, groups=2, rng=rng())),
    (TypeError, r"part 1 must be a Module or another function", lambda: nn.Sequential(nn.relu, "relu")),
    (InputError, r"outputs must be a whole number", lambda: nn.Linear(2, 0, rng=rng())),
    (InputError, r"shared among 2 groups", lambda: nn.Conv2d(2, 3, 1, groups=2, rng=rng())),
    (InputError, r"kernel_size is an integer", lambda: nn.Conv2d(2, 3, (1, 2, 3), rng=rng())),
    (InputError, r"a weight has shape", lambda: nn.init.he_normal(rng(), (3,))),
], ids=lambda x: x[:20] if isinstance(x, str) else "")  # fmt: skip
def test_bad_input(kind, message, make):
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize("number", [int, np.int64, np.uint8])
def test_sizes_may_be_numpys_integers(number):
    n, two, three = number(4), number(2), number(3)
    images = np.ones((1, 4, 6, 6))
    conv = nn.Conv2d(n, n, three, stride=two, padding=three, groups=two, rng=rng())
    assert conv(images).shape == (1, 4, 5, 5)
    assert nn.max_pool2d(images, two, stride=three, padding=number(1)).shape == (1, 4, 3, 3)
    assert repr(nn.LayerNorm(n)) == "LayerNorm((4,))"
    assert nn.layer_norm(np.ones((5, 4)), n).shape == (5, 4)
    for make in (lambda: nn.layer_norm(np.ones((5, 1)), n), lambda: nn.LayerNorm([n])(np.ones((5, 1))),
                 lambda: nn.GroupNorm(two, n)(np.ones((5, 2))), lambda: conv(np.ones((1, 2, 6, 6)))):  # fmt: skip
        with pytest.raises(InputError, match="expected input of shape"):
            make()


def test_empty_batches():
    """Layers take them; the mean of no losses is an error."""
    model = nn.Sequential(nn.Linear(2, 3, rng=rng()), nn.relu)
    assert model(np.zeros((0, 2))).shape == (0, 3)
    assert nn.conv2d(np.zeros((0, 1, 4, 4)), np.ones((2, 1, 2, 2))).shape == (0, 2, 3, 3)
    with pytest.raises(InputError, match="the batch is empty"):
        nn.cross_entropy(model(np.zeros((0, 2))), np.zeros(0, int))


# -- they learn ------------------------------------------------------------------------------------------------------


def learn(model, x, y, steps, optimiser):
    for _ in range(steps):
        optimiser.zero_grad()
        nn.cross_entropy(model(x), y).backward()
        optimiser.step()
    with af.no_grad():
        return float(np.mean(np.argmax(plain(model.eval()(x)), axis=-1) == y))


def test_a_network_learns_exclusive_or():
    x, r = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.random.default_rng(1)
    model = nn.Sequential(nn.Linear(2, 8, rng=r), nn.tanh, nn.Linear(8, 2, rng=r))
    assert learn(model, x, np.array([0, 1, 1, 0]), 200, optim.Adam(model, lr=0.05)) == 1


def test_a_convolution_learns_directions():
    """Stripes across or down, at any place: 100 % of 60 images."""
    r = np.random.default_rng(1)
    y = r.integers(0, 2, 60)
    x = r.normal(0, 0.3, (60, 1, 6, 6))
    for image, down in zip(x[:, 0], y, strict=True):
        if down:
            image[:, r.integers(6)] += 1
        else:
            image[r.integers(6)] += 1
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, rng=r), nn.BatchNorm(4), nn.relu, lambda z: nn.max_pool2d(z, 4), lambda z: z.reshape(60, 4),
        nn.Linear(4, 2, rng=r),
    )  # fmt: skip
    assert learn(model, x, y, 100, optim.AdamW(model, lr=0.03)) >= 0.98


def test_an_lstm_remembers():
    """It says at the end what the first letter was."""
    r = np.random.default_rng(1)
    x = r.integers(0, 4, (64, 8))
    lstm = nn.Embedding(4, 6, rng=r), nn.LSTM(6, 10, rng=r), lambda z: z[1][0]
    model = nn.Sequential(*lstm, nn.Linear(10, 4, rng=r))
    assert learn(model, x, x[:, 0], 60, optim.Adam(model, lr=0.03)) >= 0.98


# -- models as functions of their parameters ---------------------------------------------------------------------------


def test_functional_call_is_the_model_with_other_arrays():
    model, expected = network().eval(), network(4).eval()
    before = model.state_dict()
    other = {path: w + 0.1 for path, w in before.items()}
    expected.load_state_dict(other)
    for state, whole in ((before, model), (other, expected)):
        np.testing.assert_array_equal(nn.functional_call(model, state, IMAGES), whole(IMAGES).value)
    for path, w in model.state_dict().items():
        np.testing.assert_array_equal(w, before[path])


def test_functional_call_gives_gradients_as_backward_does():
    model = network().eval()
    model(IMAGES).sum().backward()
    values = {path: p.value for path, p in model.named_parameters().items()}
    gradients = af.grad(lambda v: nn.functional_call(model, v, IMAGES).sum())(values)
    for path, p in model.named_parameters().items():
        np.testing.assert_array_equal(gradients[path], p.grad, path)


def test_functional_call_keeps_what_is_shared_and_what_is_not_given():
    class Tied(nn.Module):
        def __init__(self):
            self.first = nn.Linear(2, 2, rng=rng())
            self.parts = [self.first, {"again": self.first}]
            self.scale = af.Variable(2.0)

        def forward(self, x):
            return self.parts[1]["again"](self.first(x)) * self.scale

    model, x = Tied(), np.ones((1, 2))
    unit = {"first.weight": np.eye(2), "first.bias": np.zeros(2)}
    np.testing.assert_array_equal(nn.functional_call(model, unit, x), [[2.0, 2.0]])
    with pytest.raises(StateError, match=r"'weight' of shape \(2, 2\).*: it has first.weight"):
        nn.functional_call(model, {"weight": np.eye(2)}, x)
    with pytest.raises(StateError, match=r"that entry has shape \(2, 2\)"):
        nn.functional_call(model, {"first.weight": np.eye(3)}, x)


def test_functional_call_reaches_layers_by_any_way():
    """Also by closures, bound methods and private names; and everything is as before, after errors too."""

    class Odd(nn.Module):
        def __init__(self):
            self.a = nn.Linear(2, 2, rng=rng())
            self._alias = self.a
            self.v = self.w = af.Variable(np.ones(2))
            self.steps = nn.Sequential(lambda x: self.a(x), self.a.forward)
            self.pair = [self.w, (self.v, 3.0)]

        def forward(self, x):
            return self._alias(self.steps(x)) * self.pair[1][0] + self.v - self.w

    model = Odd()
    before = dict(vars(model))
    values = {path: 0 * p.value + 1.0 for path, p in model.named_parameters().items()}
    assert set(values) == {"a.weight", "a.bias", "v"}
    np.testing.assert_array_equal(nn.functional_call(model, values, np.ones((1, 2))), [[15.0, 15.0]])
    assert vars(model) == before
    with pytest.raises(TypeError):
        nn.functional_call(model, values, np.ones((1, 2)), 1, 2)
    assert vars(model) == before
    with pytest.raises(StateError, match="another value by another path"):
        nn.functional_call(model, {"v": np.ones(2), "w": np.zeros(2)}, np.ones((1, 2)))


def test_functional_call_inside_functional_call_and_parameters_inside_forward():
    class Decayed(nn.Module):
        def __init__(self):
            self.w = af.Variable(np.ones(2))

        def forward(self, x):
            return (x * self.w).sum() + sum((p**2).sum() for p in self.parameters())

    model, w = Decayed(), {"w": np.ones(2)}
    f = partial(nn.functional_call, model, x=np.ones(2))
    assert f(w) == model(np.ones(2)).value == 4.0
    np.testing.assert_array_equal(af.hvp(f, w, w)["w"], [2.0, 2.0])
    assert af.grad(lambda t: f({"w": np.ones(2) * t}))(1.0) == 6.0

    class Outer(nn.Module):
        def __init__(self):
            self.part, self.scale = nn.Linear(2, 2, rng=rng()), af.Variable(2.0)

        def forward(self, x):
            return nn.functional_call(self.part, {"weight": self.part.weight * self.scale}, x).sum()

    outer = Outer()
    values = {path: p.value for path, p in outer.named_parameters().items()}
    product = af.hvp(lambda v: nn.functional_call(outer, v, np.ones((1, 2))), values, values)
    np.testing.assert_allclose(product["scale"], outer.part.weight.value.sum())


def test_functional_call_in_threads():
    model = nn.Linear(1, 1, rng=rng())
    found = {}

    def work(k):
        value = {"weight": np.full((1, 1), float(k)), "bias": np.zeros(1)}
        found[k] = {float(nn.functional_call(model, value, np.ones((1, 1)))[0, 0]) for _ in range(50)}

    in_threads(*[partial(work, k) for k in range(4)])
    assert found == {k: {float(k)} for k in range(4)}


def test_a_compiled_training_step_of_a_model(monkeypatch):
    """With an optimiser that writes into the model's Variables: recorded four times at most, equal to eager code."""
    recorded, record = [], compiling.record
    monkeypatch.setattr(compiling, "record", lambda *args: recorded.append(1) or record(*args))
    models = [nn.Sequential(nn.Linear(3, 4, rng=rng()), nn.tanh, nn.Linear(4, 1, rng=rng())) for _ in range(2)]
    x, y = rng().normal(size=(8, 3)), rng().normal(size=(8, 1))
    eager, compiled = models

    def loss(values, x, y):
        return nn.mse_loss(nn.functional_call(compiled, values, x), y)

    step = af.compile(af.value_and_grad(loss))
    optimisers = [optim.Adam(model, lr=0.05) for model in models]
    for _ in range(20):
        eager.zero_grad()
        nn.mse_loss(eager(x), y).backward()
        optimisers[0].step()
        parameters = compiled.named_parameters()
        _, gradients = step({path: p.value for path, p in parameters.items()}, x, y)
        for path, p in parameters.items():
            p.grad = gradients[path]
        optimisers[1].step()
    assert len(recorded) <= 4
    for a, b in zip(*[model.parameters() for model in models], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [int, np.int8, bool, complex])
def test_layers_of_other_dtypes_are_refused(dtype):
    """Weights of whole numbers were 0, and stayed 0; running means of whole numbers stayed where they were."""
    makes = [partial(layer_of, text, dtype, rng=rng()) for text in LAYERS if not text.startswith("Dropout")]
    for make in (*makes, lambda: nn.init.normal(rng(), (2, 3), 1.0, dtype)):
        with pytest.raises(DataError, match="the dtype of parameters is one of real floats"):
            make()


@pytest.mark.parametrize("kind", [set, frozenset, collections.deque])
def test_containers_in_which_no_parameter_is_found_are_refused(kind):
    module = nn.Module()
    for part in (nn.Linear(2, 2, rng=rng()), af.Variable(1.0)):
        with pytest.raises(StateError, match=rf"layers is a {kind.__name__}, .* make it a list"):
            module.layers = kind([part])
    module.names = kind(["a", 1])


# -- recurrent layers ------------------------------------------------------------------------------------------------


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def rnn(z, h, c, u, d):
    return np.tanh(z + h @ u.T + d), c


def lstm(z, h, c, u, d):
    i, f, g, o = np.split(z + h @ u.T + d, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(z, h, c, u, d):
    (r, i, new), (r2, i2, new2) = np.split(z, 3, axis=-1), np.split(h @ u.T + d, 3, axis=-1)
    n, keep = np.tanh(new + sigmoid(r + r2) * new2), sigmoid(i + i2)
    return (1 - keep) * n + keep * h, c


@pytest.mark.parametrize("one_step", [rnn, lstm, gru])
def test_recurrent_layers_take_the_steps_of_their_formulas(one_step):
    layer, draw = getattr(nn, one_step.__name__.upper()), rng().normal
    net, x, h, c = layer(3, 2, rng=rng()), draw(size=(4, 5, 3)), draw(size=(4, 2)), draw(size=(4, 2))
    for p in net.parameters():
        p.value[...] = draw(size=p.shape)
    outputs, last = net(x, (h, c)) if layer is nn.LSTM else net(x, h)
    w, u, b = net.weight_ih.value, net.weight_hh.value, net.bias.value
    d = net.bias_hh.value if layer is nn.GRU else np.zeros(len(b))
    for t in range(5):
        h, c = one_step(x[:, t] @ w.T + b, h, c, u, d)
        np.testing.assert_allclose(outputs[:, t], h, rtol=1e-12)
    np.testing.assert_allclose(last, [h, c] if layer is nn.LSTM else h, rtol=1e-12)


def test_an_lstm_forgets_nothing_at_first():
    """The bias of the gate f alone is 1."""
    np.testing.assert_array_equal(nn.LSTM(2, 3, rng=rng()).bias.value, np.repeat([0, 1, 0, 0], 3))
