"""Who calls: the user, autoflow itself, NumPy, a library that wants numbers, or another one?

What a node answers may depend on that, and what is done about a gradient. :func:`who` says it of a frame; what asks on
fast paths asks :func:`wants_numbers` of the name of the caller's module, ``getframe(1).f_globals.get("__name__")``.

Most libraries begin with ``np.asarray``: they have the numbers, and nothing is left to be done. Those in the
tables keep the array that they were given and go on with it, through NumPy's hooks and past them. What they want are
numbers (a plot, a table, an optimum), and a history would only be in their way: kept alive as long as a figure, or
joined to rows without a history. So their calls of NumPy's functions, and of the few methods with which they begin, are
answered with plain arrays. Operators, ``x[0]`` and ``x[1:]`` do not ask who calls: that would cost every user's
operation 0.1 µs. Everything else, SciPy's functions written with NumPy among them, is differentiated as if the user had
written it.
"""

from __future__ import annotations

import enum
import functools
import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from types import FrameType
from typing import Any

getframe = sys._getframe
PACKAGE = __name__.partition(".")[0]
OWN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
LIBRARIES = (sys.stdlib_module_names | {"numpy", "scipy", PACKAGE, "dask", "distributed"}) - {"__main__"}

# ---------------------------------------------------------------- other people's code, by the names of its modules

# Module or package -> why it gets numbers.
NUMBERS = {
    "matplotlib": "it draws numbers, and a figure would keep the graph alive",
    "mpl_toolkits": "as matplotlib",
    "pandas": "a Series copies, aligns and caches its array, often in C",
    "numpy.ma": "a masked array is an array of another class over the same numbers",
    "numpy.testing": "it compares numbers",
    "scipy.optimize": "it iterates in arrays of its own; give it the gradient by jac=af.grad(f)",
    "scipy.io": "it writes files",
    "scipy.linalg.blas": "what is public and not in C chooses a routine",
    "scipy.linalg.lapack": "as scipy.linalg.blas",
    "sklearn.metrics": "what it returns is looked at, not differentiated",
    "sklearn.model_selection": "it chooses rows",
}
# Module or package -> what to use instead: it copies the numbers halfway, so that what it answers would have half a
# gradient, or none.
HALFWAY = {
    "scipy.special._logsumexp": "use af.special.logsumexp",
    "scipy.integrate._quadpack_py": "use af.integrate.quad",
    "scipy.integrate._quad_vec": "use af.integrate.quad",
    "scipy.integrate._ivp": "use af.integrate.solve_ivp",
    "scipy.sparse": "use autoflow.scipy.sparse, matrix.toarray(), or x.value if no gradient is wanted",
}

# Package and class (or a base of it) -> its ``__carries_nodes__``. None of them is a subclass of ndarray: such an array
# has memory of its own and keeps the numbers only.
CARRIERS = {
    "pint.PlainQuantity": "magnitude",
    "pint.PlainUnit": "",
    "xarray.DataArray": "data",
    "xarray.Dataset": "",
    "xarray.Variable": "data",
}
# Module -> why: it takes the numbers of a node (``node.value``, ``node.view(cls)``) where it should ask the node.
READERS = {"astropy.units.quantity": "a Quantity takes the value of whatever has one, and views arrays as Quantities"}


@functools.cache
def carries_nodes(module: str | None) -> bool:
    """Is the module of that name in a package of :data:`CARRIERS`?

    >>> carries_nodes("xarray.core.variable"), carries_nodes("copy")
    (True, False)
    """
    return module is not None and module.partition(".")[0] in {name.partition(".")[0] for name in CARRIERS}


@functools.cache
def wants_numbers(module: str | None) -> bool:
    """Is the module of that name in one of the tables?

    Who calls is ``sys._getframe(1).f_globals.get("__name__")``; to ask takes 0.1 µs.

    >>> wants_numbers("matplotlib.axes"), wants_numbers("matplot"), wants_numbers("__main__")
    (True, False, False)
    """
    return is_listed(module, NUMBERS) or is_listed(module, HALFWAY)


def is_listed(module: str | None, names: Iterable[str]) -> bool:
    """Is the module of that name, or a package that it is in, among these names?"""
    return module is not None and any([f"{module}.".startswith(f"{name}.") for name in names])


# Whose code calls: that of the user, which is not installed as a package; ours, on behalf of the user; NumPy's; that of
# a library which wants numbers; Python's own, or that of another package.
Caller = enum.Enum("Caller", "USER OURS NUMPY NUMBERS LIBRARY")
USERS = Caller.USER, Caller.OURS


def who(frame: FrameType) -> Caller:
    """Whose code this frame runs."""
    return whose(frame.f_globals.get("__name__"), frame.f_code.co_filename)


@functools.lru_cache(1000)
def whose(module: str | None, file: str) -> Caller:
    """Whose code it is, by its module and file.

    >>> whose("numpy.linalg", ""), whose("pandas.core", ""), whose("__main__", "<stdin>")
    (<Caller.NUMPY: 3>, <Caller.NUMBERS: 4>, <Caller.USER: 1>)
    """
    if wants_numbers(module):
        return Caller.NUMBERS
    if is_listed(module, (PACKAGE, "numpy")):
        return Caller.OURS if is_listed(module, (PACKAGE,)) else Caller.NUMPY
    return Caller.LIBRARY if is_library(file) else Caller.USER


def is_ours(depth: int = 2) -> bool:
    """Was the caller's caller written by us? Rows and nodes may know more than a user's function."""
    return getframe(depth).f_globals.get("__name__", "").startswith(f"{PACKAGE}.")


def of_library(module: str | None) -> bool:
    return str(module).partition(".")[0] in LIBRARIES  # Cython has types whose module is not a string


@functools.cache
def is_foreign(module: str | None) -> bool:
    """Is it a module of Python, of this package or of another one that is installed? Such code is not searched; objects
    of its classes are."""
    if of_library(module):
        return True
    root = sys.modules.get(str(module).partition(".")[0])
    file = getattr(root, "__file__", None) or " ".join(getattr(root, "__path__", ()))
    # The user's script is, even if a tool that is installed runs it. Debian has the second folder.
    return module != "__main__" and ("site-packages" in file or "dist-packages" in file)


# ---------------------------------------------------------------- by files


@functools.lru_cache(1000)
def is_packages(file: str) -> bool:
    """Is this file one of autoflow's, of Python's library or of an installed package?"""
    return file.startswith(OWN) or is_library(file)


@functools.lru_cache(1000)
def is_library(file: str) -> bool:
    """Is this file one of Python's own, or of an installed package?

    >>> is_library(os.__file__), is_library("<stdin>"), is_library("/home/me/model.py")
    (True, False, False)
    """
    if file.startswith("<frozen"):
        return True
    parts = file.replace("\\", "/").split("/")
    return "site-packages" in parts or "dist-packages" in parts or file.startswith(library_folders())


@functools.cache
def library_folders() -> tuple[str, ...]:
    """The folders of Python's library and of installed packages."""
    paths = [sysconfig.get_paths().get(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    users = [site.getusersitepackages()] if hasattr(site, "getusersitepackages") else []
    return tuple([os.path.join(path, "") for path in [*paths, *users] if path])


# ---------------------------------------------------------------- the user's frame


def caller() -> str:
    """File and line of the first frame outside autoflow; in a notebook, the number that Jupyter gives to the cell."""
    return where(user_frame())


def where(frame: FrameType) -> str:
    """File and line of this frame."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    if "get_ipython" in frame.f_globals:  # in a notebook files are numbers in a temporary folder
        compiler: Any = getattr(frame.f_globals["get_ipython"](), "compile", None)
        if hasattr(compiler, "format_code_name") and (cell := compiler.format_code_name(file)):
            return f"{' '.join(cell)}, line {line}"
    return f"{file}:{line}"


def calling_module() -> str | None:
    """The module outside autoflow from which we were called."""
    return user_frame().f_globals.get("__name__")


def user_frame(*others: str) -> FrameType:
    """The first frame outside autoflow, and outside other packages; the outermost one if all are inside."""
    frame = getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (PACKAGE, *others):
        frame = frame.f_back
    return frame
