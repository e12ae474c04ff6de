"""`referee restore --journal`: a contest whose database is lost, damaged or of another contest."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from referee.served import is_served
from tests.contest_day import Day, called, refers, until
from tests.kept_heads import head_kept, shown_link
from tests.referee.store.test_journaling import content

MakeDay = Callable[..., Day]


def test_a_contest_whose_database_is_gone_has_everything_acknowledged_back(
    day: MakeDay,
) -> None:
    made = day()
    server = made.server
    token = str(made.login()["token"])
    for number in range(1, 4):
        assert made.post(token, [[number, 1, 0.5, 0, 0, 5, 5]]).status_code == 202
    kept = head_kept(made, token)
    busy = called("restore", "--journal", str(made.folder))
    assert busy.returncode == 1
    assert ("is being served; stop the server first" in busy.stderr) is True
    server.kill()
    until(lambda: not is_served(made.folder))
    before = content(made.folder / "contest.db")
    for one in made.folder.glob("contest.db*"):
        one.unlink()
    lost = refers("serve", str(made.folder), "--port", "0")
    assert "referee restore --journal" in lost.stderr
    found = called("restore", "--journal", str(made.folder))
    assert found.returncode == 0
    assert found.stderr == ""
    assert f"Made {made.folder}/contest.db from {made.folder}/journal: " in found.stdout
    after = content(made.folder / "contest.db")
    differing = {table for table in before if after[table] != before[table]}
    assert differing <= {"events", "published"}  # what is published is made again
    assert len(after["events"]) == len(before["events"]) + 1
    again = made.serve()
    until(lambda: again.ask("GET", "/v1/health").status_code == 200)
    log = made.post(token).json()["log"]  # what it says first
    assert log["events"] >= kept["events"]
    assert shown_link(again, kept["events"]) == kept["link"]


def test_the_journal_of_another_contest_changes_nothing(
    day: MakeDay,
    tmp_path: Path,
) -> None:
    made = day(served=False)
    other = tmp_path / "other"
    shutil.copytree(made.folder, other)
    (other / "secret").write_text("1" * 64 + "\n")
    held = (other / "contest.db").read_bytes()
    found = called("restore", "--journal", str(other))
    assert found.returncode == 1
    assert ("The journal belongs to contest " in found.stderr) is True
    assert (other / "contest.db").read_bytes() == held
