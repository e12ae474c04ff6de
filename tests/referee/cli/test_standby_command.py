"""`referee standby`: the cases that it refuses, and where it writes the journal's path."""

from __future__ import annotations

import tomllib

import pytest

from referee.cli.standby_command import with_journal
from tests.contest_day import called

PLACE = '/srv/a "journal" \\ of ours'


@pytest.mark.parametrize(
    "text",
    [
        'name = "day"\n',
        'name = "day"\n[[stations]]\nname = "a"',
        'name = "day"\n[journal]\npath = "/mnt/b"   # there\nrequired = true\n[[stations]]\npath = "mine"\n',
        "[journal]\nrequired = true\n  path='/mnt/b'\n[backup]\n",
    ],
)
def test_the_place_of_the_journal_is_written_into_its_table_and_nowhere_else(
    text: str,
) -> None:
    before = tomllib.loads(text)
    after = tomllib.loads(with_journal(text, PLACE))
    assert after == before | {"journal": before.get("journal", {}) | {"path": PLACE}}


def test_without_the_first_hosts_address_it_must_be_told_to_take_over() -> None:
    told = called("standby", ".")
    assert told.returncode == 2
    assert ("--first URL is missing" in told.stderr) is True
