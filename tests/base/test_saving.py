"""States in files: npz and safetensors. No state is lost, none is half loaded, and none changes on the way."""

import gc
import io
import os
import pickle
import sys
import zipfile

import interrupts
import numpy as np
import pytest
from interrupts import interrupt, places

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


def same(found, state):
    """Are names, dtypes, shapes and bytes the same?"""
    kinds = [{n: (x.dtype, x.shape, x.tobytes()) for n, x in arrays.items()} for arrays in (found, state)]
    return kinds[0] == kinds[1]


def test_arrays_come_back(suffix, tmp_path):
    path = save_state(tmp_path / f"state.{suffix}", STATE)
    assert path == tmp_path / f"state.{suffix}"
    assert same(load_state(path), STATE)


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


# ---------------------------------------------------------------- writing: the old state or the new one


EARLIER = {"w": np.full(5, 7.0)}  # the file is longer or shorter than the new one


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file that is closed by a finalizer
@pytest.mark.parametrize("there", ["nothing", "a state", "a link"])
def test_an_exception_at_any_line_leaves_the_old_file_or_the_new_one(suffix, there, tmp_path):
    """Nothing else stays in the folder."""
    path, elsewhere = tmp_path / f"state.{suffix}", tmp_path / f"elsewhere.{suffix}"
    if there == "a link":
        path.symlink_to(elsewhere)
    seen = set()
    for k in places(lambda: lambda: save_state(path, STATE), by_day=80):
        path.unlink(missing_ok=there == "nothing") if there != "a link" else None
        if there != "nothing":
            save_state(path, EARLIER)
        files = sorted(os.listdir(tmp_path))
        interrupt(lambda: save_state(path, STATE), k)
        new = path.exists() and same(load_state(path), STATE)
        assert new or (same(load_state(path), EARLIER) if there != "nothing" else not path.exists()), f"place {k}"
        assert set(os.listdir(tmp_path)) - {path.name} == set(files) - {path.name}, f"place {k}"
        assert path.is_symlink() == (there == "a link")
        seen.add(new)
    assert False in seen
    gc.collect()  # else such a file may be closed during the next test


@pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of files are POSIX's")
def test_a_full_disk_leaves_the_old_file(suffix, tmp_path):
    import resource

    path = save_state(tmp_path / f"state.{suffix}", EARLIER)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in range(0, 1000, 50):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(OSError, match=r"File too large"):
                save_state(path, {"w": np.ones(1000)})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert same(load_state(path), EARLIER)
        assert os.listdir(tmp_path) == [path.name]


def test_permissions_stay(suffix, tmp_path):
    path = save_state(tmp_path / f"state.{suffix}", EARLIER)
    (tmp_path / "other").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    path.chmod(0o640)
    assert save_state(path, STATE).stat().st_mode & 0o777 == 0o640
    path.chmod(0o400)
    if not os.access(path, os.W_OK):  # root may write everywhere
        with pytest.raises(PermissionError):
            save_state(path, EARLIER)
    assert same(load_state(path), STATE)


def test_folders_and_devices_are_not_replaced(suffix, tmp_path):
    (tmp_path / f"folder.{suffix}").mkdir()
    for place in (tmp_path / f"folder.{suffix}", tmp_path / f"link.{suffix}"):
        if not place.exists():
            place.symlink_to(os.devnull)
        with pytest.raises(StateError, match="is a folder or a device: a state is saved in a file"):
            save_state(place, STATE)
    assert not os.path.isfile(os.devnull)
    with pytest.raises(FileNotFoundError):
        save_state(tmp_path / "missing" / f"state.{suffix}", STATE)


# ---------------------------------------------------------------- names and numbers: as they were, or an error

NAMES = ["file", "allow_pickle", "args", "kwds", "self", "arr_0", "a.b", "a/b", "../a", "/a", "w", "w.npy", "w.npy.npy",
         ".npy", "", " ", "ä", "a\u0308", "a\nb", "a\\b", "a:b", "CON", "a" * 300, "__metadata__", "a\0b", "a\0c",
         "a\ud800"]  # fmt: skip
DTYPES = ["?", "i1", "u8", "f2", ">f4", "f8", "g", ">i2", "c8", "G", "U3", "S2", "M8[s]", "O", "f4,i2", "O,i2", "V3"]


@pytest.mark.parametrize("seed", range(20))
def test_names_and_dtypes_come_back_or_are_refused(suffix, seed, tmp_path):
    rng = np.random.default_rng(seed)
    refused = 0
    for k in range(10):
        state = {}
        for name in rng.choice(NAMES, int(rng.integers(1, 5))):
            x = np.zeros(rng.integers(0, 3, int(rng.integers(3))), rng.choice(DTYPES[: 6 if k % 2 else None]))
            state[str(name)] = np.moveaxis(x, 0, -1) if x.ndim else x
        path = save_state(tmp_path / f"state.{suffix}", EARLIER)
        try:
            save_state(path, state)
        except StateError:
            refused += 1
            assert same(load_state(path), EARLIER)
        else:
            native = {
                n: x.astype(x.dtype.newbyteorder("=")) if suffix == "safetensors" else x for n, x in state.items()
            }
            assert same(load_state(path), native)
        assert os.listdir(tmp_path) == [path.name]
    assert refused < 10


@pytest.mark.parametrize("name", [name for name in NAMES if "\0" not in name and "\ud800" not in name])
def test_parameters_with_any_name(name, tmp_path):
    """Alone, and beside others."""
    state = {name: np.ones(2), "v": np.zeros(1)}
    assert same(load_state(save_state(tmp_path / "state", state)), state)


def test_what_the_formats_cannot_hold(tmp_path):
    with pytest.raises(StateError, match=r"cannot be saved in .*, which is unchanged: Object arrays cannot be saved"):
        save_state(tmp_path / "state", {"w": np.array([{}])})
    with pytest.raises(StateError, match=r"cannot be saved in .*, which is unchanged: .*not those that were written"):
        save_state(tmp_path / "state", {"a\0b": np.ones(1)})
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------- reading: what was written, or StateError


def check_damaged(path, content, model, optimiser, state):
    """A file with this content is the same state, or cannot be loaded and changes nothing. Was it refused?

    An npz file that has lost the list of its arrays, or a part of it, is one with fewer arrays.
    """
    path.write_bytes(content)
    message = r"is damaged, cut off, or no .* file of arrays"
    try:
        found = load_state(path)
        assert same(found, {name: state[name] for name in found})
        if len(found) == len(state):
            return False
        message = "missing: "
    except StateError:
        pass
    for thing in (model, optimiser):
        before = thing.state_dict()
        with pytest.raises(StateError, match=message):
            thing.load(path)
        assert same(thing.state_dict(), before)
    return True


@pytest.fixture
def saved(suffix, tmp_path):
    """A file, and what it might be loaded into."""
    model = nn.Sequential(nn.Linear(2, 3, rng=np.random.default_rng(0)), nn.BatchNorm(3))
    state = model.state_dict()
    path = model.save(tmp_path / f"model.{suffix}")
    model.load_state_dict({name: x + 1 for name, x in state.items()})
    return path, model, optim.Adam(model, lr=0.1), state


def test_files_that_were_cut_off(saved):
    path, *rest = saved
    content = path.read_bytes()
    for end in range(0, len(content), 1 if interrupts.NIGHTLY else 17):
        assert check_damaged(path, content[:end], *rest), end
        assert check_damaged(path, content[end + 1 :], *rest) or path.suffix == ".npz", end
        assert check_damaged(path, content[:end] + bytes(len(content) - end), *rest) or not any(content[end:]), end


def test_files_with_a_byte_that_is_another(saved):
    path, *rest = saved
    content, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for k in range(len(content)) if interrupts.NIGHTLY else rng.choice(len(content), 300):
        bits = int(rng.integers(1, 256))
        refused += check_damaged(path, content[:k] + bytes([content[k] ^ bits]) + content[k + 1 :], *rest)
    assert refused > 100


def test_headers_that_ask_for_less_than_there_is(saved):
    """Another dtype or shape, of fewer bytes: what was not asked for is not forgotten."""
    path, *rest = saved
    content = path.read_bytes()
    for old, new in [(b"<f8", b"<f4"), (b"<f8", b"<i8"), (b"F64", b"F32"), (b"F64", b"I64"), (b"(3, 2)", b"(2, 2)")]:
        for k in range(len(content)):
            if content[k:].startswith(old):
                assert check_damaged(path, content[:k] + new + content[k + len(old) :], *rest)
    large = save_state(path, {"w": np.ones(5000)}).read_bytes()  # zipfile reads it in several parts
    for old, new in [(b"<f8", b"<f4"), (b"(5000,)", b"(4000,)"), (b"F64", b"I64"), (b"[5000]", b"[4000]")]:
        if old in large:
            path.write_bytes(large.replace(old, new))
            with pytest.raises(StateError, match="is damaged"):
                load_state(path)


def test_files_of_other_formats(saved):
    path, *rest = saved
    content = {"npz": io.BytesIO(), "npy": io.BytesIO(), "zip": io.BytesIO(), "objects": io.BytesIO()}
    np.savez(content["npz"], w=np.ones(2))
    np.save(content["npy"], np.ones(2))
    np.savez(content["objects"], w=np.array([{}], object))
    with zipfile.ZipFile(content["zip"], "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    others = [buffer.getvalue() for buffer in content.values()][path.suffix == ".npz" :]
    others += [b"", b"\0" * 100, b"\xff" * 100, b"{}", b"weights", pickle.dumps({"w": 1}), os.urandom(500)]
    for k, other in enumerate(others):
        assert check_damaged(path, other, *rest), k


def test_files_of_others_are_read(tmp_path):
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "theirs.npz", **STATE)
        assert same(load_state(tmp_path / "theirs.npz"), STATE)
    save_state(tmp_path / "ours.npz", STATE)
    with np.load(tmp_path / "ours.npz") as file:
        assert same(dict(file), STATE)


# ---------------------------------------------------------------- loading: all of it or nothing


def hostile(x, rng):
    """Something that must not be loaded into x."""
    large = np.full(x.shape, -1.0 if x.dtype == np.float64 else 1e39)
    return [
        np.ma.array(x, mask=True), np.rec.array(np.zeros(x.shape, "f8,f8")), type("Values", (np.ndarray,), {})(x.shape),
        np.ones((*x.shape, 1)), np.ones((2, *x.shape)), x + 1j, x.astype(object), [x.tolist()], None, "w",
        np.full(x.shape, "w"), np.full(x.shape, np.datetime64("2020-01-01")), large, [[large]],
    ][rng.integers(14)]  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_states_that_do_not_fit_change_nothing(seed):
    rng = np.random.default_rng(seed)
    dtype = [np.float16, np.float32][seed % 2]
    model = nn.Sequential(nn.Linear(2, 3, rng=rng, dtype=dtype), nn.BatchNorm(3, dtype=dtype))
    optimiser = optim.Adam(model, lr=0.1)
    schedule = optim.Schedule(optimiser, optim.cosine(5))
    for thing in (model, optimiser, schedule):
        state = thing.state_dict()
        name = list(state)[rng.integers(len(state))]
        wrong = {n: np.asarray(x) + 1 for n, x in state.items()} | {name: hostile(np.asarray(state[name]), rng)}
        before = [model.state_dict(), optimiser.state_dict(), schedule.state_dict()]
        with pytest.raises(StateError, match=f"{name}: expected"):
            thing.load_state_dict(wrong)
        assert str(before) == str([model.state_dict(), optimiser.state_dict(), schedule.state_dict()])
        thing.load_state_dict(state)


@pytest.mark.parametrize("value", [-5, -1e-300, np.nan, np.inf])
def test_steps_and_rates_are_at_least_zero(value):
    optimiser = optim.SGD([af.Variable([1.0, 2.0])], lr=0.1)
    for thing in (optimiser, optim.Schedule(optimiser, optim.cosine(5))):
        for name, x in thing.state_dict().items():
            with pytest.raises(StateError, match=f"{name}: expected"):
                thing.load_state_dict(thing.state_dict() | {name: np.full(np.shape(x), value)})
    with pytest.raises(StateError, match=r"steps: expected finite numbers of at least 0, got \[-5\]"):
        optimiser.load_state_dict(optimiser.state_dict() | {"steps": np.array([-5])})


def module(**parts):
    made = nn.Module()
    vars(made).update(parts)
    return made


def test_whole_numbers_and_texts_that_would_become_others():
    for mine, new in [("i1", np.array([300])), ("i8", np.array([2**63 + 1], "u8")), ("U2", np.array(["abc"]))]:
        part = module(x=np.zeros(1, mine))
        with pytest.raises(StateError, match="got numbers that are too large for it"):
            part.load_state_dict({"x": new})
        assert not part.x.any()
    part.load_state_dict({"x": np.array(["ab"])})
    assert part.x.tolist() == ["ab"]
    module(x=np.zeros(2, "f4")).load_state_dict({"x": np.array([np.inf, 1e-300])})


def test_arrays_that_cannot_be_written_are_found_before_others_are():
    part = module(w=af.Variable([1.0]), table=np.ones(1))
    part.table.flags.writeable = False
    with pytest.raises(StateError, match="table: the array to load into is read-only"):
        part.load_state_dict({"w": np.zeros(1), "table": np.zeros(1)})
    assert part.w.value == [1.0]


def test_an_optimiser_loads_all_of_its_state_or_nothing():
    def make():
        optimiser = optim.Adam([af.Variable([1.0, 2.0]), af.Variable(1.0)], lr=0.1)
        return optimiser, optim.Schedule(optimiser, optim.cosine(5))

    for which in (0, 1):
        state = {name: x + 1 for name, x in make()[which].state_dict().items()}
        wanted = make()
        wanted[which].load_state_dict(state)
        after, before = [str([x.state_dict() for x in things]) for things in (wanted, make())]
        for k in places(lambda: lambda: make()[which].load_state_dict(state), by_day=60):  # noqa: B023 - called at once
            things = make()
            interrupt(lambda: things[which].load_state_dict(state), k)  # noqa: B023 - called at once
            assert str([x.state_dict() for x in things]) in (before, after), f"place {k}"
            things[0].check_finished()
