"""What a release is named by agrees: versions, citation, changelog."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "referee" / "pyproject.toml").read_text())["project"][
    "version"
]


def test_the_citation_has_what_its_form_asks_for_and_the_version_of_the_distributions() -> (
    None
):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {
        "cff-version",
        "message",
        "title",
        "authors",
        "type",
        "license",
        "abstract",
    } <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert all(one.keys() & {"name", "family-names"} for one in citation["authors"])
    client = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]
    assert citation["version"] == VERSION
    assert client["version"] == VERSION
    assert citation["license"] == client["license"]


def test_the_changelog_has_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    first, *released = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    assert all(
        re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one) for one in released
    ), released
    kinds = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert set(kinds) <= {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    }
    for heading in (first, *released):
        assert re.search(
            rf"^{re.escape(heading.partition(' ')[0])}: \S+$",
            text,
            re.MULTILINE,
        ), heading
