"""Write the tables of ``docs/jax.md``, between their marks, from ``table.py`` and ``lowering.py`` of
``autoflow/compiler/jax``.

python docs/make_jax.py
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from autoflow.compiler.jax import lowering, table

PAGE = Path(__file__).parent / "jax.md"
MARKS = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


EXPLAINED = {  # the expression, and the form that computes it
    "`x[i]` with arrays": lowering.get_items,
    "`np.take`, `np.take_along_axis`": lowering.take,
    "`x[i] = y` with arrays": lowering.items_set,
    "`np.add.at(x, i, y)`": lowering.updated_at,
    "`np.copyto`": lowering.written_into,
    "`np.linalg.cholesky`, `eigh`, `eigvalsh`": lowering.of_one_triangle,
    "`//`, `%`, `np.fmod`, `np.divmod`": lowering.OF_DTYPES[np.floor_divide],
    "`np.power`, `x**n`": lowering.power_in,
}


def described(function: Any) -> str:
    """The first sentence of a form's docstring, as the end of a row."""
    text = " ".join((getattr(function, "func", function).__doc__ or "").replace("``", "`").split())
    return text.partition(". ")[0].rstrip(".") + "."


def names_table() -> list[str]:
    """Other names."""
    return ["| NumPy, SciPy | JAX |", "|---|---|", *[f"| `{a}` | `{b}` |" for a, b in table.OTHER_NAMES.items()]]


def left_table() -> list[str]:
    """What NumPy keeps, and why."""
    return ["| stays NumPy's | because |", "|---|---|", *[f"| `{name}` | {why} |" for name, why in table.LEFT.items()]]


def scipys_table() -> list[str]:
    """The functions of scipy.special that have a counterpart."""
    others = [name.rpartition(".")[2] for name in table.OTHER_NAMES if name.startswith("scipy.")]
    names = ", ".join([f"`{name}`" for name in sorted([*table.SCIPYS, *others])])
    return textwrap.wrap(f"JAX computes these functions of `scipy.special`: {names}.", 120, break_on_hyphens=False)


def forms_table() -> list[str]:
    """Where the same name is not enough."""
    rows = [f"| {what} | {described(function)} |" for what, function in EXPLAINED.items()]
    return ["| written | computed |", "|---|---|", *rows]


TABLES = {"names": names_table, "left": left_table, "scipys": scipys_table, "forms": forms_table}


def page(text: str) -> str:
    """The page with its tables as they should be."""
    return MARKS.sub(lambda m: m[1] + "\n".join(TABLES[m[2]]()) + "\n" + m[3], text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
