"""Names of parametrised cases: a lambda is called by what it computes, ``test_values[np.exp(x) - 1]``.

conftest.py takes the hook; an id that a parametrize gives itself (``ids=``, ``pytest.param(..., id=)``) stays.
"""

from __future__ import annotations

import functools
import linecache
import re
import types
from typing import Any

LONGEST = 60  # characters


def text(f: types.FunctionType) -> str:
    """What stands behind the colon of a lambda, on one line. Of one made by a helper, ``of(lambda x: ...)``, the inner.

    Where Python keeps no columns (-X no_debug_ranges), or there is no source: the number of the line.
    """
    code = f.__code__
    inside = [cell.cell_contents for cell in f.__closure__ or ()]
    inner = [text(g) for g in inside if is_lambda(g) and g is not f]
    if inner:
        return ", ".join(inner)
    spans = [(first, start, last, end) for first, last, start, end in code.co_positions() if None not in (start, end)]
    spans = [span for span in spans if span[:2] != span[2:]]  # of what stands nowhere
    if spans:
        first, start = min([span[:2] for span in spans])
        last, end = max([span[2:] for span in spans])
        lines = [linecache.getline(code.co_filename, k).encode() for k in range(first, last + 1)]
        lines[-1] = lines[-1][:end]  # columns are counted in bytes
        lines[0] = lines[0][start:]
        if found := " ".join(b" ".join(lines).decode().split()):
            return found
    return f"line {code.co_firstlineno}"


def is_lambda(value: Any) -> bool:
    """Has the function no name of its own?"""
    return isinstance(value, types.FunctionType) and value.__name__ == "<lambda>"


def name(value: Any) -> str | None:
    """Of a lambda, what is made of one (``af.grad(lambda x: ...)``), or a partial function; None of anything else."""
    if is_lambda(value):
        found = text(value)
    elif isinstance(value, functools.partial):
        given = [*map(repr, value.args), *[f"{option}={v!r}" for option, v in value.keywords.items()]]
        found = f"{name(value.func) or value.func.__name__}({', '.join(given)})"
    elif getattr(value, "__name__", "") == "<lambda>" and callable(getattr(value, "f", None)):  # af.grad(lambda ...)
        found = text(value.f)
    else:
        return None
    return found if len(found) <= LONGEST else found[: LONGEST - 2] + ".."


def numbered(case: Any) -> bool:
    """Is a lambda among the parameters of a collected test, and nothing but a number says which?"""
    found = getattr(case, "callspec", None)
    if found is None:
        return False
    unnamed = [key for key, value in found.params.items() if name(value) is not None]
    words = "|".join([*map(re.escape, unnamed), "function", "partial"])
    return "<lambda>" in found.id or bool(unnamed and re.search(rf"(^|-)({words})\d+(-|$)", found.id))


def pytest_make_parametrize_id(val: Any) -> str | None:
    """pytest asks for each value of a parametrize without ids."""
    return name(val)
