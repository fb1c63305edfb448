"""``af.compile(f, engine="llvm", cache=folder)``: machine code kept on disk, and whom it is not taken from."""

import errno
import json
import multiprocessing
import os
import stat
import threading
import warnings

import numpy as np
import pytest
from loops import natives
from processes import alone

pytest.importorskip("llvmlite")

import autoflow as af
from autoflow.compiler.llvm import engine
from autoflow.errors import CompileError

X = np.linspace(-1.0, 1.0, 37)


@pytest.fixture(autouse=True)
def folders_as_in_a_new_process():
    """Each test looks at its folders anew."""
    engine.objects_in.cache_clear()


def f(x):
    """One loop."""
    return np.sum(np.exp(-(np.tanh(x * 2.0) ** 2)))


def was_kept(folder, g=f):
    """Compile, compare with eager code; did the machine code come from the folder?"""
    compiled = af.compile(g, engine="llvm", cache=folder)
    np.testing.assert_allclose(compiled(X), g(X), rtol=1e-13)
    (kept,) = {n.library.was_kept for n in natives(compiled)}
    return kept


def files(folder):
    """Those of machine code."""
    return sorted(folder.iterdir())


def test_a_second_process_compiles_nothing(tmp_path):
    """Counted: how often LLVM makes machine code, and whether the numbers are the same."""
    code = (
        "import json, sys, numpy as np, autoflow as af, llvmlite.binding as llvm\n"
        "from autoflow.compiler.llvm import engine\n"
        "engine.machine()\n"
        "made, emit = [], llvm.TargetMachine.emit_object\n"
        "llvm.TargetMachine.emit_object = lambda *args: made.append(1) or emit(*args)\n"
        "def f(w, x):\n"
        "    for _ in range(3):\n"
        "        x = np.tanh(x @ w)\n"
        "    return np.linalg.norm(np.sort(x, axis=0) * 2.0 - np.exp(x))\n"
        "rng = np.random.default_rng(0)\n"
        "step = af.compile(af.value_and_grad(f), engine='llvm', cache=sys.argv[1])\n"
        "value, slope = step(rng.standard_normal((5, 5)), rng.standard_normal((9, 5)))\n"
        "print(json.dumps([len(made), float(value), slope.tolist()]))\n"
    )
    folders = ("code", "code", "other")
    first, second, third = [json.loads(alone(code, str(tmp_path / folder))) for folder in folders]
    assert first[0] == third[0] >= 2  # two stretches: sort lies between
    assert second[0] == 0
    assert first[1:] == second[1:] == third[1:]


def test_files_are_the_users_alone(tmp_path):
    old = os.umask(0)
    try:
        assert not was_kept(tmp_path / "a" / "code")
    finally:
        os.umask(old)
    (file,) = files(tmp_path / "a" / "code")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert was_kept(tmp_path / "a" / "code")


def test_all_that_machine_code_depends_on_is_in_the_name(tmp_path, monkeypatch):
    was_kept(tmp_path)
    assert was_kept(tmp_path)
    assert not was_kept(tmp_path, lambda x: np.sum(np.exp(-(np.tanh(x * 3.0) ** 2))))
    target, cpu, features = engine.machine()
    others = [("versions", ("0.1", "(1, 0)")), ("machine", (target, "generic", features)),
              ("machine", (target, cpu, ""))]  # fmt: skip
    for name, value in others:
        with monkeypatch.context() as patch:
            patch.setattr(engine, name, lambda value=value: value)
            assert not was_kept(tmp_path)
    assert len(files(tmp_path)) == 5
    assert engine.key_of("ab", "c") != engine.key_of("a", "bc")


@pytest.mark.parametrize("change", [
    lambda code: code[:-1], lambda code: code[:40], lambda code: b"", lambda code: code[:32],
    lambda code: code[:100] + bytes([code[100] ^ 1]) + code[101:], lambda code: bytes([code[0] ^ 1]) + code[1:],
    lambda code: code + b"\0",
], ids=["cut", "cut short", "empty", "digest alone", "one bit", "bit of the digest", "longer"])  # fmt: skip
def test_altered_files_are_compiled_anew(tmp_path, change):
    was_kept(tmp_path)
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(change(whole))
    assert not was_kept(tmp_path)
    (file,) = files(tmp_path)
    assert file.read_bytes() == whole
    assert was_kept(tmp_path)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o722])
def test_folders_that_others_can_write_are_refused(tmp_path, mode):
    folder = tmp_path / "code"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError, match=r"its group or others may write.*chmod 700"):
        af.compile(f, engine="llvm", cache=folder)
    folder.chmod(0o755)
    assert not was_kept(folder)


def test_folders_of_other_users_are_refused(tmp_path, monkeypatch):
    was_kept(tmp_path)
    engine.objects_in.cache_clear()
    me = os.geteuid()
    monkeypatch.setattr(engine.os, "geteuid", lambda: me + 1)
    with pytest.raises(PermissionError, match="it belongs to another user"):
        af.compile(f, engine="llvm", cache=tmp_path)


def test_folders_opened_to_others_later_are_not_read(tmp_path):
    compiled = af.compile(f, engine="llvm", cache=tmp_path)
    tmp_path.chmod(0o777)
    with pytest.raises(CompileError, match="others can write"):
        compiled(X)
    tmp_path.chmod(0o700)
    assert compiled(X) == af.compile(f, engine="llvm")(X)


def test_files_that_others_can_write_are_not_read(tmp_path):
    was_kept(tmp_path)
    (file,) = files(tmp_path)
    file.chmod(0o620)
    assert not was_kept(tmp_path)
    (file,) = files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600  # a new one
    assert was_kept(tmp_path)


def test_files_of_other_users_are_not_read(tmp_path, monkeypatch):
    was_kept(tmp_path)
    look = engine.what_is_wrong
    monkeypatch.setattr(engine, "what_is_wrong", lambda opened: look(opened) or (
        "" if stat.S_ISDIR(os.fstat(opened).st_mode) else "it belongs to another user"
    ))  # fmt: skip
    assert not was_kept(tmp_path)


def test_links_and_pipes_are_not_read(tmp_path):
    folder = tmp_path / "code"
    was_kept(folder)
    (file,) = files(folder)
    other = tmp_path / "elsewhere"
    file.rename(other)
    file.symlink_to(other)
    assert not was_kept(folder)
    assert not file.is_symlink()
    assert other.exists()
    file.unlink()
    os.mkfifo(file)  # nobody writes into it: reading would wait for ever
    assert not was_kept(folder)
    assert file.is_file()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_disk_that_takes_nothing(tmp_path, monkeypatch, error):
    """The program runs, one warning says why nothing was kept, and no piece of a file is left."""

    def refuse(*names, **places):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(engine.os, "replace", refuse)
    with pytest.warns(RuntimeWarning, match=f"machine code was not kept in .*: {os.strerror(error)}") as told:
        was_kept(tmp_path)
    was_kept(tmp_path, lambda x: np.tanh(x * 2.0) + 1.0)  # is told nothing more: warnings are errors
    assert len(told) == 1
    assert not files(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="file"):
        af.compile(f, engine="llvm", cache=tmp_path / "file" / "code")
    with pytest.raises(OSError, match="file"):
        af.compile(f, engine="llvm", cache=tmp_path / "file")


def test_a_folder_that_is_gone(tmp_path):
    folder = tmp_path / "code"
    compiled = af.compile(f, engine="llvm", cache=folder)
    folder.rmdir()
    with pytest.warns(RuntimeWarning, match="machine code was not kept"):
        np.testing.assert_allclose(compiled(X), f(X), rtol=1e-13)


def write_often(folder, key, code):
    """In a process, or a thread."""
    kept = engine.Objects(folder)
    for _ in range(200):
        kept.write(key, code)


def test_two_that_write_and_one_that_reads(tmp_path):
    """Whoever reads finds all of it: a file is renamed when it is whole."""
    key, code = engine.key_of("x"), bytes(range(256)) * 400
    process = multiprocessing.get_context("spawn").Process(target=write_often, args=(str(tmp_path), key, code))
    thread = threading.Thread(target=write_often, args=(str(tmp_path), key, code))
    kept = engine.Objects(tmp_path)
    kept.write(key, code)
    process.start()
    thread.start()
    while thread.is_alive() or process.is_alive():
        assert kept.read(key) == code
    process.join()
    thread.join()
    assert process.exitcode == 0
    assert [file.name for file in files(tmp_path)] == [key]


def test_options_of_loops_need_llvm(tmp_path):
    for options in ({"cache": tmp_path}, {"own_functions": True}):
        with pytest.raises(ValueError, match=f'{next(iter(options))}=.* engine="llvm"'):
            af.compile(f, **options)
    assert af.compile(f, engine="auto", cache=tmp_path).how["cache"] == str(tmp_path)


def test_without_a_cache_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(engine.Objects, "write", lambda *args: pytest.fail("something was written"))
    with warnings.catch_warnings():
        assert not was_kept(None)
