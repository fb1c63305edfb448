"""LLVM by llvmlite: from text to functions that can be called. The only file that imports llvmlite, and does so late.

Machine code may be kept on disk, for later processes: ``af.compile(f, engine="llvm", cache=folder)``. Anyone who can
write into the folder decides what is run. So it belongs to the user, and no one else may write into it or into one of
its files. The checks are made on the opened files, not on a path, which may soon lead elsewhere. The name of a file is
a digest of everything that machine code depends on (the program's text, LLVM's version, the processor), so after any
change it is another file. Its first 32 bytes are a digest of the rest: a file that was cut off or has changed is
compiled again. A file is written under another name and then renamed, so that a process finds all of it or nothing, and
if two write at once the last one wins, with the same bytes.

Then the compiler itself, and the options of ``af.compile`` that only this engine has.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import hashlib
import importlib
import os
import secrets
import stat
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ...base.lazy import load_package
from .functions import IRText, define

# ---------------------------------------------------------------- machine code on disk

UNSAFE = (
    "af.compile(f, cache={folder!r}): machine code would be run that others can write: {why}. Take a folder of your "
    "own, which only you can write (chmod 700)."
)
UNWRITABLE = "machine code was not kept in {folder!r}: {error}. It will be compiled again in the next process."
DIGEST = hashlib.sha256().digest_size
PRIVATE = 0o700


class Objects:
    """Machine code in a folder, which is created if missing.

    Raises PermissionError where the folder is not the user's alone, OSError where it cannot be made.

    >>> import tempfile
    >>> objects = Objects(os.path.join(tempfile.mkdtemp(), "code"))
    >>> key = key_of("a program", "a processor")
    >>> objects.read(key)
    >>> objects.write(key, b"its machine code")
    >>> objects.read(key)
    b'its machine code'
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.warned = False
        Path(self.folder).mkdir(PRIVATE, parents=True, exist_ok=True)
        os.close(self.open())

    def open(self) -> int:
        """The folder, opened and looked at; its files are opened from here, whatever its path means by then."""
        place = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        why = what_is_wrong(place)
        if why:
            os.close(place)
            raise PermissionError(UNSAFE.format(folder=self.folder, why=why))
        return place

    def read(self, key: str) -> bytes | None:
        """The machine code; None if it is missing or cannot be trusted."""
        try:
            place = self.open()
        except FileNotFoundError:
            return None
        try:
            with open(os.open(key, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place), "rb") as file:
                if what_is_wrong(file.fileno()) or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                content = file.read()
        except OSError:
            return None
        finally:
            os.close(place)
        digest, code = content[:DIGEST], content[DIGEST:]
        return code if code and digest == hashlib.sha256(code).digest() else None

    def write(self, key: str, code: bytes) -> None:
        """Write the machine code to the folder. If that fails, the program still runs; a warning is given once."""
        try:
            place = self.open()
            try:
                write_file(place, key, hashlib.sha256(code).digest() + code)
            finally:
                os.close(place)
        except OSError as error:
            if isinstance(error, PermissionError) and error.errno is None:  # the folder has been opened to others since
                raise
            if not self.warned:
                self.warned = True
                message = UNWRITABLE.format(folder=self.folder, error=error.strerror or error)
                warnings.warn(message, RuntimeWarning, stacklevel=2)


def what_is_wrong(opened: int) -> str:
    """Why what is open here cannot be trusted; "" if it can."""
    status = os.fstat(opened)
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    return "its group or others may write" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def write_file(place: int, name: str, content: bytes) -> None:
    """A file that is there with all of its content, or not at all."""
    other = f"{name}.{secrets.token_hex(8)}"
    new = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=place)
    try:
        with open(new, "wb") as file:
            file.write(content)
        os.replace(other, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        os.unlink(other, dir_fd=place)
        raise


def key_of(*parts: str) -> str:
    """The name of the file for all that the machine code depends on: each part with its length, so that none runs into
    the next."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


# ---------------------------------------------------------------- the compiler: from text to functions


MISSING = (
    'af.compile(f, engine="llvm") writes loops of its own with llvmlite, which is not installed: pip install '
    '"autoflow[llvm]", or leave engine="numpy".'
)
ATTRIBUTES = "\nattributes #0 = { nounwind }\n"
C_FUNCTIONS = ("exp", "log", "tanh", "sin", "cos", "feclearexcept", "fetestexcept")
# Bits of fetestexcept: divide, invalid, overflow, underflow (as C's <fenv.h> of these processors has them).
FLAGS = {"x86_64": (4, 1, 8, 16), "amd64": (4, 1, 8, 16), "aarch64": (2, 1, 4, 8), "arm64": (2, 1, 4, 8)}
KINDS = ("divide", "invalid", "over", "under")


def llvmlite() -> Any:
    """The package's binding, or an ImportError that says what to do."""
    return load_package("llvmlite.binding", MISSING)


def is_there() -> bool:
    """Could programs be compiled here?"""
    try:
        return machine() is not None
    except (ImportError, RuntimeError):
        return False


@functools.cache
def machine() -> tuple[Any, str, str]:
    """LLVM for this processor: its target, the processor's name and what it has."""
    llvm = llvmlite()
    check_layout()
    flag_bits()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    for name in C_FUNCTIONS:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.cache
def has_fma() -> bool:
    """Does the processor multiply and add in one step? Otherwise our functions would be slow, and stay NumPy's."""
    features = llvmlite().get_host_cpu_features()
    return bool(features.get("fma", False)) or flag_name() in ("aarch64", "arm64")


@functools.cache
def has_wide_registers() -> bool:
    """Does the processor have 32 registers of 64 bytes (AVX-512)?"""
    return bool(llvmlite().get_host_cpu_features().get("avx512f", False))


def flag_name() -> str:
    """The processor's name, as Python has it."""
    return importlib.import_module("platform").machine().lower()


def flag_bits() -> tuple[int, int, int, int]:
    """The bits for what has happened, in the order of KINDS."""
    if sys.platform == "win32" or flag_name() not in FLAGS:
        raise RuntimeError(f'engine="llvm" does not know the floating-point flags of {sys.platform} on {flag_name()}')
    return FLAGS[flag_name()]


def check_layout() -> None:
    """Raise RuntimeError unless arrays lie in memory as our functions read them.

    They are given a tuple, and find in it pointers to array objects, and in each the address of its numbers: three
    words after the head of a tuple, two after that of an object. That takes 0.01 µs for an array; ``x.ctypes.data``
    takes 0.4.
    """
    x = np.empty(3)
    word = ctypes.sizeof(ctypes.c_void_p)

    def read(address: int) -> int | None:
        return ctypes.c_void_p.from_address(address).value

    pair = (x, 1)
    fine = sys.implementation.name == "cpython" and object.__basicsize__ == 2 * word and word == 8
    fine = fine and read(id(pair) + tuple.__basicsize__) == id(x) and tuple.__basicsize__ == 3 * word
    if not fine or read(id(x) + word) != id(np.ndarray) or read(id(x) + 2 * word) != x.ctypes.data:
        raise RuntimeError(
            'engine="llvm" needs CPython with its global lock: without it objects are laid out differently in memory'
        )


class Binary:
    """Compiled functions; they live as long as this does.

    LLVM's passes over the text are left out: it is already written in vectors, so they save nothing (measured on chains
    and networks: 0 to 1 %) and take twice the time of making machine code.

    Machine code that is kept on disk (:class:`Objects`) is not made again; reading it takes 1 ms.
    """

    def __init__(self, text: str, level: int, objects: Objects | None = None) -> None:
        """``level``: of LLVM's effort, 0 to 3. ``objects``: where machine code is kept."""
        llvm = llvmlite()
        target, cpu, features = machine()
        key = key_of(text, str(level), target.triple, cpu, features, *versions()) if objects is not None else ""
        maker = target.create_target_machine(cpu=cpu, features=features, opt=level, jit=True)
        code = objects.read(key) if objects is not None else None
        self.was_kept = code is not None
        if code is None:
            module = llvm.parse_assembly(text)
            module.verify()
            code = maker.emit_object(module)
            if objects is not None:
                objects.write(key, code)
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), maker)  # the compiler takes the maker
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of a function."""
        return int(self.engine.get_function_address(name))


def versions() -> tuple[str, str]:
    """Those of llvmlite and LLVM: other versions may write other machine code."""
    return importlib.import_module("llvmlite").__version__, str(llvmlite().llvm_version_info)


def module_text(functions: list[str], texts: list[IRText]) -> str:
    """A module: the functions, and all that they declare and use."""
    declared = {line for t in texts for line in t.declared}
    defined = []
    for name, width in sorted({pair for t in texts for pair in t.helpers}):
        body, more = define(name, width)
        defined.append(body)
        declared |= more
    return "\n".join([*sorted(declared), *defined, *functions, ATTRIBUTES])


# ---------------------------------------------------------------- the options of this engine


NO_FMA = "own_functions=True needs a processor that multiplies and adds in one (fma); this one does not."


def options(how: dict[str, Any]) -> dict[str, Any]:
    """The options as they are kept; an error if they do not fit. engine="auto" takes LLVM if it is installed."""
    if how["engine"] == "auto" and not is_there():
        return {"engine": "numpy"}
    machine()
    if how["own_functions"] and not has_fma():
        raise RuntimeError(NO_FMA)
    folder = os.path.abspath(os.path.expanduser(how["cache"])) if how["cache"] is not None else None
    objects_in(folder)
    return {"engine": "llvm", "cache": folder, "own_functions": how["own_functions"]}


@functools.cache
def objects_in(folder: str | None) -> Objects | None:
    """Where machine code is kept on disk: one for each folder, so that each warns once."""
    return None if folder is None else Objects(folder)
