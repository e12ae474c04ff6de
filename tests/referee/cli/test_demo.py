"""`referee demo`: a contest day to look at within seconds, alive, and gone with Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import requests

from referee.contest import open_contest
from referee.judging.results import standings
from referee.store.records import RunState
from tests import warm_programs
from tests.contest_day import TIMEOUT_S, descendants_of, is_running, processes_naming, until


def test_a_demo_shows_a_day_of_16_teams_and_a_run_that_goes_on_until_it_is_interrupted(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "demo"
    process = warm_programs.start(["referee", "demo", "--folder", str(folder), "--port", "0"])
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    assert all(lines), process.communicate()
    url = re.findall(r"board +(http\S+)/\n", lines[0])[0]
    password = re.findall(r"/operator/ .* as demo with the password (\S+)\n", lines[1])[0]

    with open_contest(folder) as contest, requests.Session() as session:
        session.trust_env = False
        store = contest.store
        until(lambda: store.runs(RunState.OPEN) and store.served_images(store.runs(RunState.OPEN)[0].id))
        assert "demo" in contest.config.name.lower()
        assert len(store.teams()) == 16
        assert [len(store.runs(state)) for state in (RunState.VOID, RunState.JUDGED)] == [1, 15]
        board = standings(contest)
        places = board.places
        assert places[0].standing.team == "Juniper"
        assert round(places[0].standing.score, 3) == 6.356
        assert [one.standing.team for one in board.unranked] == ["Heron", "Nimbus"]
        assert [run.team for run in store.runs() if store.count_refused(run.id)] == ["Kestrel"]
        assert "Nimbus" not in [one.standing.team for one in places]
        assert store.queue()
        assert store.announcements()
        browser = {"Accept": "text/html"}
        assert "Juniper" in session.get(f"{url}/", headers=browser, timeout=TIMEOUT_S).text
        form = {"name": "demo", "password": password}
        console = session.post(f"{url}/operator/login", data=form, headers=browser, timeout=TIMEOUT_S)
        assert (console.status_code, console.url) == (200, f"{url}/operator/")

    family = descendants_of(process.pid)
    os.kill(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    until(lambda: not any(map(is_running, family)) and not processes_naming(str(folder)))


def test_a_demo_never_takes_a_folder_with_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    told = warm_programs.run(["referee", "demo", "--folder", str(tmp_path)])
    assert (told.returncode, told.stdout) == (1, "")
    assert "is not empty" in told.stderr
