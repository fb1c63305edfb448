"""States in files: npz and safetensors. What must fit is tested with models and optimisers."""

import sys

import numpy as np
import pytest

import autoflow as af
from autoflow import nn, optim
from autoflow.base.saving import load_state, save_state
from autoflow.errors import StateError

STATE = {
    "w": np.arange(6, dtype=np.float32).reshape(2, 3).T, "steps": np.array([1, 2]), "lr": np.array(0.1),
    "on": np.array([True, False]), "none": np.zeros((0, 2), np.float16),
}  # fmt: skip


@pytest.fixture(params=["npz", "safetensors"])
def suffix(request):
    if request.param == "safetensors":
        pytest.importorskip("safetensors")
    return request.param


def test_arrays_come_back(suffix, tmp_path):
    path = save_state(tmp_path / f"state.{suffix}", STATE)
    assert path == tmp_path / f"state.{suffix}"
    found = load_state(path)
    assert set(found) == set(STATE)
    for name, x in STATE.items():
        np.testing.assert_array_equal(found[name], x)
        assert (found[name].dtype, found[name].shape) == (x.dtype, x.shape), name


def test_models_and_optimisers(suffix, tmp_path):
    model, other = [nn.Linear(2, 3, rng=np.random.default_rng(k)) for k in range(2)]
    adams = [optim.Adam(m, lr=0.1 / (k + 1)) for k, m in enumerate((model, other))]
    model(np.ones((4, 2))).sum().backward()
    adams[0].step()
    assert other.load(model.save(tmp_path / f"model.{suffix}")) is other
    adams[1].load(adams[0].save(tmp_path / f"adam.{suffix}"))
    np.testing.assert_array_equal(model.weight.value, other.weight.value)
    assert adams[1].lr == 0.1
    assert adams[1].steps == [1, 1]
    with pytest.raises(StateError, match="expected shape"):
        nn.Linear(3, 2, rng=np.random.default_rng(0)).load(tmp_path / f"model.{suffix}")


def test_a_file_without_a_suffix_is_an_npz(tmp_path):
    assert save_state(tmp_path / "state", STATE).name == "state.npz"
    assert set(load_state(tmp_path / "state")) == set(STATE)


def test_safetensors_as_others_write_and_read_it(tmp_path):
    """The format, by hand: the length of a header, the header in JSON, the numbers."""
    pytest.importorskip("safetensors")
    import json

    header = {"weight": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
              "bias": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}}  # fmt: skip
    text = json.dumps(header).encode()
    numbers = np.array([1.5, -2.0, 0.25], "<f4").tobytes()
    path = tmp_path / "theirs.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + numbers)
    layer = nn.Linear(2, 1, rng=np.random.default_rng(0), dtype=np.float32).load(path)
    assert layer.weight.value.tolist() == [[1.5, -2.0]]
    assert layer.bias.value.tolist() == [0.25]
    written = layer.save(tmp_path / "ours.safetensors").read_bytes()
    assert written.endswith(numbers) or written.endswith(numbers[8:] + numbers[:8])


@pytest.mark.peers
def test_pytorchs_weights(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from safetensors.torch import save_file

    theirs = torch.nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", norm_first=True, batch_first=True)
    save_file(theirs.state_dict(), tmp_path / "block.safetensors")
    ours = nn.TransformerBlock(8, 2, 12, rng=np.random.default_rng(0), dtype=np.float32)
    ours.load(tmp_path / "block.safetensors")
    x = np.random.default_rng(0).normal(size=(2, 5, 8)).astype(np.float32)
    np.testing.assert_allclose(ours(x).value, theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_what_cannot_be_saved(tmp_path, monkeypatch):
    path = tmp_path / "state.safetensors"
    with pytest.raises(StateError, match=r"holds real numbers and booleans, not w \(complex128\): save \.npz"):
        save_state(path, {"w": np.ones(2, complex)})
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    for call in (lambda: save_state(path, STATE), lambda: load_state(path)):
        with pytest.raises(ImportError, match="by the package safetensors, which is not installed: pip install"):
            call()
    assert not path.exists()
    assert af.nn.Linear(1, 1, rng=np.random.default_rng(0)).save(tmp_path / "model.npz").exists()
