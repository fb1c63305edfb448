"""Layers with PyTorch's weights give PyTorch's values and gradients (tests/golden/layers.npz); attention and its masks.

With PyTorch, ``AUTOFLOW_FREEZE=1 pytest tests/nn/test_attention.py`` writes the file anew.
"""

from pathlib import Path

import numpy as np
import pytest
from frozen import check_frozen

import autoflow as af
from autoflow import nn, optim
from autoflow.errors import InputError

GOLDEN = Path(__file__).parents[1] / "golden" / "layers.npz"
LENGTHS = np.array([[True, True, True, False], [True, True, False, False]])  # of two sequences, filled up to 4
TABLE = np.array([[0.0, 0.5, -1.0, 0.0], [0.25, 0.0, 0.0, 2.0], [0.0, 0.0, -0.5, 0.0]])


def rng():
    return np.random.default_rng(3)


def numbers(*shape, start=0.0):
    """The same on every machine, as far as a cosine is."""
    return np.cos(0.7 * np.arange(np.prod(shape, dtype=int)) + start).reshape(shape)


QUERY, KEY, VALUE = numbers(2, 3, 6), numbers(2, 4, 6, start=1.0), numbers(2, 4, 6, start=2.0)
# name of the case: our layer, PyTorch's class and options, our call, PyTorch's call (of the same layer and arrays)
CASES = {
    "GRU": (
        lambda: nn.GRU(6, 4, rng=rng()), ("GRU", (6, 4), {"batch_first": True}),
        lambda layer, x: layer(x, numbers(2, 4))[0],
        lambda layer, torch, x: layer(x, torch.tensor(numbers(1, 2, 4)))[0], [QUERY],
    ),
    "attention to itself": (
        lambda: nn.MultiHeadAttention(6, 3, rng=rng()), ("MultiheadAttention", (6, 3), {"batch_first": True}),
        lambda layer, x: layer(x), lambda layer, torch, x: layer(x, x, x)[0], [QUERY],
    ),
    "attention": (
        lambda: nn.MultiHeadAttention(6, 2, rng=rng()), ("MultiheadAttention", (6, 2), {"batch_first": True}),
        lambda layer, q, k, v: layer(q, k, v, LENGTHS[:, None, :]),
        lambda layer, torch, q, k, v: layer(q, k, v, key_padding_mask=torch.tensor(~LENGTHS))[0], [QUERY, KEY, VALUE],
    ),
    "attention without bias": (
        lambda: nn.MultiHeadAttention(6, 1, bias=False, rng=rng()),
        ("MultiheadAttention", (6, 1), {"bias": False, "batch_first": True}),
        lambda layer, q, k: layer(q, k, attn_mask=TABLE),
        lambda layer, torch, q, k: layer(q, k, k, attn_mask=torch.tensor(TABLE))[0], [QUERY, KEY],
    ),
    "block": (
        lambda: nn.TransformerBlock(6, 2, 10, rng=rng()),
        ("TransformerEncoderLayer", (6, 2, 10), {"activation": "gelu", "norm_first": True, "batch_first": True}),
        lambda layer, x: layer(x, is_causal=True),
        lambda layer, torch, x: layer(x, torch.tensor(~np.tri(4, dtype=bool)), is_causal=True), [KEY],
    ),
    "block, norm last": (
        lambda: nn.TransformerBlock(6, 3, 8, activation=nn.relu, norm_first=False, rng=rng()),
        ("TransformerEncoderLayer", (6, 3, 8), {"batch_first": True}),
        lambda layer, x: layer(x, LENGTHS[:, None, :]),
        lambda layer, torch, x: layer(x, src_key_padding_mask=torch.tensor(~LENGTHS)), [KEY],
    ),
}  # fmt: skip
NAMES = {"weight_ih": "weight_ih_l0", "weight_hh": "weight_hh_l0", "bias": "bias_ih_l0", "bias_hh": "bias_hh_l0"}


def weights(layer):
    """Other weights than random ones, for each parameter."""
    return {path: numbers(*p.shape, start=k) for k, (path, p) in enumerate(layer.named_parameters().items())}


def ours(name):
    """The value, the gradients of the inputs, and those of the parameters by path."""
    make, _, call, _, arrays = CASES[name]
    layer, given = make(), [af.Variable(x) for x in arrays]
    layer.load_state_dict(weights(layer))
    z = call(layer, *given)
    z.backward(numbers(*z.shape, start=0.5))
    return {"value": z.value, **{f"input {k}": x.grad for k, x in enumerate(given)},
            **{path: p.grad for path, p in layer.named_parameters().items()}}  # fmt: skip


def pytorchs(name):
    """The same of PyTorch, whose parameters have our paths, but for those of its recurrent layers."""
    import torch

    make, (kind, sizes, options), _, call, arrays = CASES[name]
    more = {} if kind != "TransformerEncoderLayer" else {"dropout": 0.0}
    layer = getattr(torch.nn, kind)(*sizes, **options, **more, dtype=torch.float64)
    paths = {path: NAMES[path] if kind == "GRU" else path for path in weights(make())}
    layer.load_state_dict({paths[path]: torch.tensor(w) for path, w in weights(make()).items()})
    given = [torch.tensor(x, requires_grad=True) for x in arrays]
    z = call(layer, torch, *given)
    z.backward(torch.tensor(numbers(*z.shape, start=0.5)))
    theirs = dict(layer.named_parameters())
    return {"value": z.detach().numpy(), **{f"input {k}": x.grad.numpy() for k, x in enumerate(given)},
            **{path: theirs[own].grad.numpy() for path, own in paths.items()}}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_pytorchs(name):
    found = ours(name)
    with np.load(GOLDEN) as file:
        assert {f"{name}: {key}" for key in found} == {key for key in file if key.startswith(f"{name}: ")}
        for key, x in found.items():
            np.testing.assert_allclose(x, file[f"{name}: {key}"], rtol=1e-9, atol=1e-11, err_msg=key)


@pytest.mark.peers
def test_the_golden_results_are_those_of_the_pytorch_here():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    results = {f"{name}: {key}": x for name in CASES for key, x in pytorchs(name).items()}
    check_frozen(GOLDEN, results)


# -- what they promise -----------------------------------------------------------------------------------------------


def test_what_is_hidden_does_not_matter():
    """Neither the future, nor what fills up a sequence; nor do gradients go there."""
    block, changed = nn.TransformerBlock(6, 2, rng=rng()), KEY.copy()
    changed[:, 2:] *= -1.0
    with af.no_grad():
        np.testing.assert_array_equal(block(KEY, is_causal=True)[:, :2], block(changed, is_causal=True)[:, :2])
        hidden = np.array([True, True, False, False])
        np.testing.assert_allclose(block(KEY, hidden)[:, :2], block(changed, hidden)[:, :2], rtol=1e-14)
        assert not np.allclose(block(KEY)[:, :2], block(changed)[:, :2])
    x = af.Variable(KEY)
    block(x, is_causal=True)[:, 1].sum().backward()
    assert not x.grad[:, 2:].any()
    assert x.grad[:, :2].all()


def test_attention_without_a_batch_and_with_more_axes():
    layer = nn.MultiHeadAttention(6, 2, rng=rng())
    whole = layer(QUERY, KEY).value
    np.testing.assert_allclose(layer(QUERY[0], KEY[0]).value, whole[0], rtol=1e-14)
    np.testing.assert_allclose(layer(QUERY[None], KEY[None]).value, whole[None], rtol=1e-14)
    np.testing.assert_allclose(af.vmap(layer)(QUERY, KEY), whole, rtol=1e-14)


def test_second_derivatives_and_compiled_ones():
    block = nn.TransformerBlock(6, 2, 8, rng=rng())
    values = {path: p.value for path, p in block.named_parameters().items()}
    direction = {path: numbers(*w.shape) for path, w in values.items()}

    def loss(v):
        return (nn.functional_call(block, v, KEY, None, True) ** 2).sum()

    product = af.hvp(loss, values, direction)
    slope, h = af.grad(loss), 1e-5
    ends = [slope({path: w + s * h * direction[path] for path, w in values.items()}) for s in (1, -1)]
    for path, found in product.items():
        np.testing.assert_allclose(found, (ends[0][path] - ends[1][path]) / (2 * h), rtol=1e-5, atol=1e-5)
    fast = af.compile(slope)(values)
    for path, g in slope(values).items():
        np.testing.assert_allclose(fast[path], g, rtol=1e-12, atol=1e-13)


def test_a_block_and_its_dropout_in_training_only():
    block = nn.TransformerBlock(6, 2, dropout=0.5, rng=rng())
    assert not np.array_equal(block(KEY).value, block(KEY).value)
    block.eval()
    np.testing.assert_array_equal(block(KEY).value, block(KEY).value)
    assert block.linear1.weight.shape == (24, 6)
    assert block(KEY).grad_fn.scope[0] == "TransformerBlock"
    layer = nn.MultiHeadAttention(6, 2, 1.0, rng=rng())  # all weights dropped: only the bias is left
    assert not layer(KEY).value.any()


@pytest.mark.parametrize(("message", "sizes", "args", "how"), [
    (r"MultiHeadAttention: size 6 cannot be shared among 4 heads", (6, 4), [], {}),
    (r"MultiHeadAttention: p is the probability", (6, 2, 2.0), [], {}),
    (r"MultiHeadAttention\(6, 2\) expected query of shape \(\.\.\., length, 6\), got \(2, 3, 5\)", (6, 2),
     [QUERY[..., :5]], {}),
    (r"expected value of shape \(\.\.\., 4, e\)", (6, 2), [QUERY, KEY, QUERY], {}),
    (r"give attn_mask or is_causal, not both", (6, 2), [QUERY], {"attn_mask": np.ones((3, 3)), "is_causal": True}),
])  # fmt: skip
def test_bad_input(message, sizes, args, how):
    with pytest.raises(InputError, match=message):
        nn.MultiHeadAttention(*sizes, rng=rng())(*args, **how)
    with pytest.raises(InputError, match="outputs must be a whole number"):
        nn.TransformerBlock(6, 2, 0, rng=rng())


class Copying(nn.Module):
    """Says at each place what stood three places before: a thing for attention."""

    def __init__(self, r):
        self.letters, self.places = nn.Embedding(4, 12, rng=r), nn.Embedding(9, 12, rng=r)
        self.block, self.scores = nn.TransformerBlock(12, 2, 16, rng=r), nn.Linear(12, 4, rng=r)

    def forward(self, x):
        return self.scores(self.block(self.letters(x) + self.places(np.arange(x.shape[1])), is_causal=True))


def test_a_transformer_learns_to_look_back():
    r = np.random.default_rng(1)
    x = r.integers(0, 4, (64, 9))
    model = Copying(r)
    adam = optim.Adam(model, lr=0.02)
    for _ in range(60):
        adam.zero_grad()
        nn.cross_entropy(model(x)[:, 3:].reshape(-1, 4), x[:, :-3].ravel()).backward()
        adam.step()
    with af.no_grad():
        new = r.integers(0, 4, (100, 9))
        assert np.mean(np.argmax(model(new)[:, 3:], axis=-1) == new[:, :-3]) > 0.95
