"""LLVM by llvmlite: from text to functions that can be called. The only file that imports llvmlite, and that late."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib
import sys
from typing import Any

import numpy as np

from ...lazy import load_package
from .functions import define
from .objects import Objects, key_of
from .text import Text

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


def choose_engine(name: str) -> str:
    """The engine that the user asks for; "auto" takes LLVM where it is."""
    if name == "auto":
        return "llvm" if is_there() else "numpy"
    if name not in ("numpy", "llvm"):
        raise ValueError(f'engine is "numpy", "llvm", "jax" or "auto", not {name!r}')
    if name == "llvm":
        machine()
    return name


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
    """Does the processor multiply and add in one? Without it our functions would be slow, and stay NumPy's."""
    found = llvmlite().get_host_cpu_features()
    return bool(found.get("fma", False)) or flag_name() in ("aarch64", "arm64")


def flag_name() -> str:
    """The processor's name, as Python has it."""
    return importlib.import_module("platform").machine().lower()


def flag_bits() -> tuple[int, int, int, int]:
    """The bits that say what has happened, in the order of KINDS."""
    if sys.platform == "win32" or flag_name() not in FLAGS:
        raise RuntimeError(f'engine="llvm" does not know the floating-point flags of {sys.platform} on {flag_name()}')
    return FLAGS[flag_name()]


def check_layout() -> None:
    """Raise RuntimeError unless arrays lie in memory as our functions read them.

    They are given a tuple, and find in it pointers to array objects, and in each the address of its numbers: three
    words behind the head of a tuple, two behind that of an object. That takes 0.01 µs for an array; ``x.ctypes.data``
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


class Library:
    """Compiled functions; they live as long as this does.

    LLVM's passes over the text are left out: it is written in vectors as it is to run, so they save nothing (measured
    on chains and networks: 0 to 1 %) and take twice the time of making machine code.

    Machine code that is kept on disk (objects.py) is not made again; reading it takes 1 ms.
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
        """Of a function."""
        return int(self.engine.get_function_address(name))


def versions() -> tuple[str, str]:
    """Of llvmlite and of LLVM: another one may write other machine code."""
    return importlib.import_module("llvmlite").__version__, str(llvmlite().llvm_version_info)


def module_text(functions: list[str], texts: list[Text]) -> str:
    """A module: the functions, and all that they declare and use."""
    declared = {line for t in texts for line in t.declared}
    defined = []
    for name, width in sorted({pair for t in texts for pair in t.helpers}):
        body, more = define(name, width)
        defined.append(body)
        declared |= more
    return "\n".join([*sorted(declared), *defined, *functions, ATTRIBUTES])
