"""A series of which no attempt counts, and several meters without an energy: a page, and exit code 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.record.document import (
    AnyRecord,
    GroupRecord,
    LeftOut,
    Member,
    SeriesRecord,
)
from lpirc_power.record.record_file import write_record
from tests.power.cli.conftest import Run

KILLED = SeriesRecord("test", (), (), 5)
STABLE = SeriesRecord("test", (), (), 60, stable=0.01)
FAILED = SeriesRecord("test", (), (), 1, left_out=(LeftOut("attempt 1", "It failed."),))
NO_METER = GroupRecord("test", (Member("board", "run.board.json", "It was lost."),))


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (KILLED, "attempt"),
        (STABLE, "attempt"),
        (FAILED, "attempt"),
        (NO_METER, "meter"),
    ],
)
def test_where_nothing_counts_there_is_a_page_and_exit_code_1(
    meter: Run, tmp_path: Path, record: AnyRecord, kind: str
) -> None:
    write_record(tmp_path / "run.json", record)
    ended = meter("report", "run.json")
    assert ended.returncode == 1
    assert ended.stdout == "run.html\n"
    assert ended.stderr == (
        f"meter: run.json has no {kind} that counts. The page says why.\n"
    )
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    assert meter("check", "run.json").returncode == 1
