from __future__ import annotations

from pathlib import Path

from lpirc_testsets import TestSet
from tests.contest_day import contest_day


def test_the_board_is_frozen_and_unveiled_from_the_command_line(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with contest_day(tmp_path / "contest", small_set.folder) as day:
        refused = day.refers("board", "freeze")
        assert refused.returncode == 1
        assert ("is not being served" in refused.stderr) is True
        day.serve()
        stderr = day.refers("board", "unveil").stderr
        assert "live, there is nothing to unveil" in stderr
        assert day.refers("board", "freeze").stdout.startswith(
            "The board has been frozen since 20"
        )
        assert day.refers("board", "unveil", "--all").stdout == "The board is live.\n"
