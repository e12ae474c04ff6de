"""docs/security.md names a test for each defence: they exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [
    row
    for row in PAGE.splitlines()
    if row.startswith("| ") and "µs" not in row and row.count("|") == 4
]


def test_every_test_that_the_page_names_exists() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
    named = re.findall(r"`(test_\w+)`", PAGE)
    assert len(named) > 50
    assert [name for name in named if name not in defined] == []


def test_every_attack_has_a_test() -> None:
    attacks = [row for row in ROWS if not row.endswith("| test |")]
    assert len(attacks) > 25
    assert [row for row in attacks if "`test_" not in row] == []
