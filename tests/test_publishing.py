"""What a public project promises around its code: one version everywhere, pinned actions with few rights, one ruff."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest

import autoflow

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAY_WRITE = {"pages": ["pages: write", "id-token: write"]}  # workflow -> what its one job that publishes may do
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="not a checkout")


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_citation_is_of_this_version():
    assert re.findall(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE) == [autoflow.__version__]


def test_one_version_of_ruff():
    """pre-commit has its own copy of ruff: the one that is pinned for everybody."""
    hook = re.search(r"ruff-pre-commit\n +rev: v(.+)", read(".pre-commit-config.yaml"))[1]
    pins = [path.read_text(encoding="utf-8") for path in (ROOT / ".ci" / "constraints").glob("3.*.txt")]
    assert {re.search(r"^ruff==(.+)$", text, re.MULTILINE)[1] for text in pins} == {hook}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_may_only_read(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert used
    assert [name for name in used if not PINNED.fullmatch(name)] == []
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")
    assert "\npermissions:\n  contents: read\n" in text
    rights = re.findall(r"^      ([\w-]+: write)$", text, re.MULTILINE)
    assert rights == MAY_WRITE.get(path.stem, [])
    assert text.count(": write") == len(rights)
    assert text.count("permissions:") == 1 + bool(rights)


def test_the_job_that_publishes_runs_nothing_of_ours():
    job = read(".github/workflows/pages.yml").partition("\n  deploy:")[2]
    assert re.findall(r"uses: ([\w/-]+)", job) == ["actions/deploy-pages"]
    assert "run:" not in job
    assert "checkout" not in job


def test_an_action_has_one_version_everywhere():
    used = {name for path in WORKFLOWS for name in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8"))}
    assert len({name.partition("@")[0] for name in used}) == len(used)


@pytest.mark.parametrize("command", ["docs", "dist", "site", "types"])
def test_what_workflows_and_hooks_ask_of_make_is_there(command):
    asked = "".join(map(read, [*(str(path.relative_to(ROOT)) for path in WORKFLOWS), ".pre-commit-config.yaml"]))
    assert f"make {command}" in asked
    assert re.search(rf"^{command}:.*\.stamp", read("Makefile"), re.MULTILINE)


def test_the_extra_docs_has_what_the_pages_import():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    assert {"autoflow[scipy]", "pdoc"} <= set(parser["options.extras_require"]["docs"].split())


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda p: p.stem)
def test_templates_of_issues_are_forms(path):
    """Their fields are what GitHub asks for: an id, once, and a label."""
    yaml = pytest.importorskip("yaml")
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= set(form)
    names = [field["id"] for field in form["body"]]
    assert len(set(names)) == len(names)
    for field in form["body"]:
        assert field["type"] in ("input", "textarea")
        assert field["attributes"]["label"]
