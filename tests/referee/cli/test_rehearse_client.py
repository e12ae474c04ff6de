"""`referee rehearse --client`: the output of the program is shown, and its failure is reported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from referee.cli.child_processes import HELD, Child
from referee.cli.rehearsal_plan import Plan
from referee.cli.rehearsed_client import await_client, closed_run
from referee.cli.rehearsed_faults import Hall
from referee.errors import RefereeError
from tests.contest_day import until
from tests.referee.factories import House


def test_all_that_a_client_says_is_shown_and_one_without_a_log_in_is_told(
    tmp_path: Path,
    build: Callable[..., House],
    capsys: pytest.CaptureFixture[str],
) -> None:
    house = build()
    plan = Plan(house.folder, 1, 60, "", None, None, None, client=("x",))
    hall = cast(Hall, None)  # which is looked at only in a run
    with Child(
        "client",
        [sys.executable, "-c", HELD],
        house.folder / "client.log",
    ) as client:
        code = "import sys; print('a' * 3_000_000 + sys.stdin.read()); sys.exit(7)"
        client.write(json.dumps([sys.executable, "-c", code]))
        told = await_client(plan, client, hall, 1)
    assert capsys.readouterr().err == "a" * 3_000_000 + "\n"
    assert told == [
        f"The client failed with exit code 7; see {house.folder / 'client.log'}."
    ]
    with pytest.raises(RefereeError) as failure:
        closed_run(plan, hall, told)
    assert (
        failure.value.sentence
        == f"The client never logged in, so there is no run. {told[0]}"
    )


def test_a_script_that_no_system_executes_is_told_in_its_log(tmp_path: Path) -> None:
    script = tmp_path / "a script"
    script.write_text("no interpreter is named\n")
    script.chmod(0o755)
    with Child("client", [sys.executable, "-c", HELD], tmp_path / "log") as client:
        client.write(json.dumps([str(script)]))
        until(lambda: client.exit_code is not None)
        assert client.exit_code == 1
    text = (tmp_path / "log").read_text()
    assert text == f"{script} cannot be executed: Exec format error\n"
