"""The pages "you write / we write": the right column is run, each example alone, and shows what it says.

The left column is run too where the peer is installed. And what all pages name or link to is there.
"""

import ast
import html
import itertools
import operator
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import autoflow as af
from autoflow.base import spellings

ROOT = Path(__file__).parent.parent
TOUR = ROOT / "autoflow" / "README.md"
GLOSSARY = ROOT / "docs" / "glossary.md"
NAMES = ROOT / "docs" / "coming-from.md"
LINKING = [*ROOT.glob("*.md"), TOUR, *(ROOT / "docs").glob("*.md")]
PAGES = sorted((ROOT / "docs").glob("from-*.md"))
PEERS = {"from-autograd": "autograd", "from-jax": "jax", "from-mygrad": "mygrad", "from-pytorch": "torch"}
ROW = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^(\S.*?)  # -> (.*)$")
ROWS = [
    pytest.param(page.stem, *[code for _, code in CODE.findall(body)], id=f"{page.stem}: {html.unescape(title)}")
    for page in PAGES
    for title, body in ROW.findall(page.read_text(encoding="utf-8"))
]


def differences(code, names):
    """Run the code; where it says ``expression  # -> result``, compare."""
    found = []
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        match = SHOWN.match(lines[statement.end_lineno - 1])
        if match is None:
            exec(compile(ast.Module([statement], []), "example", "exec"), names)
            continue
        shown = repr(eval(match[1], names))
        if shown != match[2]:
            found.append(f"{match[1]} is {shown}, not {match[2]}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_two_columns(page):
    rows = ROW.findall(page.read_text(encoding="utf-8"))
    assert len(rows) >= 5
    for title, body in rows:
        languages = [language for language, _ in CODE.findall(body)]
        assert len(languages) == 2, title
        assert languages[0] in ("py", "cpp", "rust"), title
        assert languages[1] == "python", title


@pytest.mark.parametrize(("page", "theirs", "ours"), ROWS)
def test_right_column(page, theirs, ours):
    names = {"np": np, "af": af}
    found = differences(ours, names)
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run(page):
    """None stands outside of the rows. (The left columns of Genesis, C++ and Rust are for reading.)"""
    text = page.read_text(encoding="utf-8")
    blocks = [code for _, code in CODE.findall(text)]
    in_rows = [code for row in ROWS if row.values[0] == page.stem for code in row.values[1:]]
    assert blocks == in_rows
    assert len(blocks) == text.count("\n```") // 2
    assert page.stem in PEERS or page.stem in ("from-burn", "from-cpp", "from-genesis")


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # what a peer says about itself
@pytest.mark.parametrize(("page", "theirs", "ours"), [row for row in ROWS if row.values[0] in PEERS])
def test_left_column(page, theirs, ours):
    pytest.importorskip(PEERS[page])
    exec(theirs, {})


def cells_of_names(column):
    """The code in one column of the table of names: (what it is for, code)."""
    text = NAMES.read_text(encoding="utf-8").partition("## Spellings")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line[:2] == "| "]
    return [(row[0].strip(), code) for row in rows[1:] for code in re.findall(r"`(.*?)`", row[column])]


@pytest.mark.parametrize(("purpose", "code"), cells_of_names(-1))
def test_names_here(purpose, code):
    a, v = np.array([0.5, 1.0]), np.ones(2)
    x = af.Variable(a)
    names = {"np": np, "af": af, "a": a, "v": v, "x": x, "f": lambda x: np.sum(np.sin(x)), "loss": np.sum(x * x)}
    eval(code, names)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_names_there():
    """Each name that begins with a library is one of that library."""
    for library in ("torch", "jax", "autograd", "mygrad"):
        pytest.importorskip(library)
    for _, code in itertools.chain.from_iterable(map(cells_of_names, range(1, 5))):
        name = re.match(r"[\w.]+", code)[0]
        if name.split(".")[0] in ("torch", "jax", "autograd", "mygrad", "numpy"):
            pkgutil.resolve_name(name)


def test_the_tour_names_files_that_are_there():
    names = re.findall(r"`([\w/]+\.py)`", TOUR.read_text(encoding="utf-8"))
    missing = [name for name in names if not any((root / name).exists() for root in (TOUR.parent, TOUR.parent.parent))]
    assert len(names) > 50
    assert not missing


def test_the_glossary_points_at_things_that_are_there():
    rows = re.findall(r"^\| (?!term|--)(.*?) \| (.*) \| (.*?) \|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 50
    for term, _, see in rows:
        names, lessons = re.findall(r"`(.*?)`", see), re.findall(r"\]\((.*?)\)", see)
        assert names or lessons, term
        for name in names:
            if name.startswith("af."):
                operator.attrgetter(name.removeprefix("af."))(af)
            else:
                assert (ROOT / name).is_file(), f"{term}: {name}"


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Those inside the repository."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_a_wrong_result_is_found():
    assert differences("x = 1\nx + 1  # -> 3\n", {}) == ["x + 1 is 2, not 3"]


def test_the_page_of_spellings_is_the_table():
    """docs/coming-from.md and the AttributeErrors say the same."""
    rows = NAMES.read_text(encoding="utf-8").partition("## Spellings")[2]
    listed = dict(re.findall(r"^\| `([\w.]+=?)` \| (.*) \|$", rows, re.MULTILINE))
    before = dict.fromkeys(spellings.tables(), "{}") | {
        "autoflow": "", "keywords": "", **{section: f"{section}." for section in ("x", "opt", "model", "nn", "optim")}
    }  # fmt: skip
    wanted = {f"{before[section]}{name}{'=' * (section == 'keywords')}": here
              for section, table in spellings.tables().items() for name, here in table.items()}  # fmt: skip
    assert listed == wanted
