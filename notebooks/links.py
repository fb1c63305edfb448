"""Links of lessons that have left the repository: in a folder for a class, in the browser.

There a lesson finds the glossary and other lessons at another place, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import nbformat

# A link to a file of the repository: what is clicked on, the file, and the place in it.
LINK = re.compile(r"\[([^\[\]]+)\]\(([\w./-]+\.(?:md|ipynb))(#[^()\s]*)?\)")


def relink(text: str, place: Callable[[str], str | None]) -> str:
    """Markdown with each link to a file of the repository where ``place`` says; without one its words stay.

    >>> relink("[a **node**](../docs/glossary.md#node), [why](why.md)", {"../docs/glossary.md": "g.html"}.get)
    '[a **node**](g.html#node), why'
    """

    def moved(found: re.Match[str]) -> str:
        words, file, anchor = found.groups()
        there = place(file)
        return words if there is None else f"[{words}]({there}{anchor or ''})"

    return LINK.sub(moved, text)


def relink_notebook(notebook: Any, place: Callable[[str], str | None]) -> Any:
    """A copy of a notebook with the links of its text changed so."""
    copied = nbformat.from_dict(notebook)
    for cell in copied.cells:
        if cell.cell_type == "markdown":
            cell.source = relink(cell.source, place)
    return copied
