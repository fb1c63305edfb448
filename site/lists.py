"""What a list says of a lesson or of a page of documentation, taken from the text itself."""

from __future__ import annotations

import html
import re

# For whom a lesson is, by its number; the rest is for those who know the lessons before.
LEVELS = {"beginner": (0, 1, 2, 3), "intermediate": (4, 6, 7, 8, 9, 11, 13, 14, 16)}
LONGEST = 220  # characters of a summary


def lesson_item(number: int, name: str, title: str, opening: str) -> str:
    """The row of a lesson: its title, what one learns, minutes, level. ``opening``: the text of its first cell."""
    learns = plain(bullet(opening, "You will learn"))
    minutes = re.search(r"\d+ minutes", bullet(opening, "Time:"))
    if not learns or not minutes:
        raise ValueError(f"the first cell of {name} does not say what one will learn, or the time")
    level = next((level for level, numbers in LEVELS.items() if number in numbers), "advanced")
    return (
        f'<li><a href="{name}.html">{html.escape(title)}</a><small>Learn {html.escape(learns)}</small>'
        f'<small class="facts">{minutes[0]} · {level}</small></li>'
    )


def bullet(text: str, begins: str) -> str:
    """The rest of the item that begins with these words in bold."""
    found = re.search(rf"^\* \*\*{begins}\*\*\s*(.*?)(?=^\* |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def summary(text: str) -> str:
    """The first sentence of a page in Markdown; nothing if it begins with something else than a sentence."""
    prose = re.sub(r"^```.*?^```$", "", text.partition("\n")[2], flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", prose):
        if re.match(r"[A-Z`\[]", paragraph.strip()) and len(sentence := plain(first_sentence(paragraph))) > 20:
            return sentence if len(sentence) <= LONGEST else sentence[: LONGEST - 2].rpartition(" ")[0] + " …"
    return ""


def first_sentence(text: str) -> str:
    """Up to the first full stop, question mark or colon that ends something."""
    return re.split(r"(?<=[.?!])(?=\s|$)|:(?=\s*$)", " ".join(text.split()), maxsplit=1)[0]


def plain(text: str) -> str:
    """Markdown without its marks."""
    text = re.sub(r"!?\[(.*?)\]\(.*?\)", r"\1", " ".join(text.split()))
    return re.sub(r"\*\*|__|`|\$", "", re.sub(r"(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)", "", text)).strip()
