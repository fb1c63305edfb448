"""The index of the site, from the pages as they are built: sections of lessons and documentation, live pages, names of
the reference. ``page/search.js`` searches it in the reader's browser; no server takes part."""

from __future__ import annotations

import html
import importlib
import inspect
import json
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

FOLDERS = {"lessons": "lesson", "docs": "documentation", "live": "live network"}
HEADINGS = ("h1", "h2", "h3")
UNSEEN = ("script", "style", "header", "footer", "nav", "svg")
INSIDE = ("a", "b", "code", "em", "i", "mark", "small", "span", "strong", "sub", "sup")  # of words
TEX = re.compile(r"\\[()[\]]|\$\$")  # around formulas
LONGEST = 3000  # characters of a section: of long tables the beginning
LEFT_OUT = ("changelog.html", "index.html")
Entry = tuple[str, str, str, str, str]  # what it is, address, page, section, text


class Sections(HTMLParser):
    """The sections of a page: id of the heading, its text, the text below it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[str]] = [["", "", ""]]
        self.hidden = 0
        self.in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in UNSEEN
        if tag in HEADINGS:
            self.found.append([dict(attrs).get("id") or "", "", ""])
            self.in_heading = True

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in UNSEEN
        if tag in HEADINGS:
            self.in_heading = False
        if tag not in INSIDE:
            self.found[-1][1 if self.in_heading else 2] += " "

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.found[-1][1 if self.in_heading else 2] += data


def sections(text: str) -> list[tuple[str, str, str]]:
    """(id, heading, text) of the sections of a page."""
    reader = Sections()
    reader.feed(text.partition("<main>")[2].partition("</main>")[0])
    cleaned = [(name, *[" ".join(TEX.sub("", part).split()) for part in parts]) for name, *parts in reader.found]
    return [(name, heading, words[:LONGEST]) for name, heading, words in cleaned if heading or words]


def pages(out: Path) -> Iterator[Entry]:
    """The sections of all pages to read."""
    for folder, kind in FOLDERS.items():
        for path in sorted((out / folder).glob("*.html")):
            if path.name in LEFT_OUT:
                continue
            text = path.read_text(encoding="utf-8")
            title = html.unescape((re.search(r"<title>(.*?)(?: · autoflow)?</title>", text) or ["", path.stem])[1])
            address = f"{folder}/{path.name}"
            if "<main>" not in text:  # a live page: a program
                yield kind, address, title, "", ""
                continue
            for name, heading, words in sections(text):
                yield kind, f"{address}#{name}" if name else address, title, "" if heading == title else heading, words


def names(out: Path) -> Iterator[Entry]:
    """The names of the reference, each with the first sentence of its docstring."""
    for name, address in inventory(out / "api" / "objects.inv").items():
        if not name.endswith(".__init__"):  # its arguments stand where the class is described
            yield "reference", f"api/{address}", short(name), "", first_sentence(name)


def short(name: str) -> str:
    """As users write it."""
    return re.sub(r"^autoflow\b", "af", name)


def inventory(path: Path) -> dict[str, str]:
    """The addresses of an ``objects.inv`` by name; empty if there is no such file."""
    if not path.exists():
        return {}
    packed = path.read_bytes().split(b"\n", 4)[4]
    rows = [line.split(" ") for line in zlib.decompress(packed).decode().splitlines()]
    return {name: address.replace("$", name) for name, _, _, address, *_ in rows}


def first_sentence(name: str) -> str:
    """What the docstring begins with."""
    words = name.split(".")
    for count in range(len(words), 0, -1):
        try:
            thing = importlib.import_module(".".join(words[:count]))
            for word in words[count:]:
                thing = getattr(thing, word)
        except (ImportError, AttributeError):
            continue
        text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
        return re.sub(r":\w+:|`|~\.*", "", text)[:300]
    return ""


def build(out: Path) -> int:
    """Write ``search.json``; return how many entries it has."""
    entries = [*pages(out), *names(out)]
    (out / "search.json").write_text(json.dumps(entries, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    return len(entries)
