"""`referee practice`: a referee on one's own machine, with faults that a team's client survives."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import tomllib
from pathlib import Path
from typing import Any

import pytest
import requests

from lpirc_testsets import TestSet, synthesize
from referee.cli.practice_command import prepare, set_meter
from referee.cli.practice_photographs import default_folder
from referee.config.contest_text import config_text
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.web.sole_server import sole_server
from tests import warm_programs
from tests.contest_day import (
    TIMEOUT_S,
    called,
    descendants_of,
    is_running,
    processes_naming,
    until,
)

FAULTS = "drop:25%,slow:10ms,meter-gap:1s,restart:2s"


class Contestant:
    """A client that repeats a request that was cut off until it is answered, as a real client must."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.repeated = 0
        self.headers: dict[str, str] = {}

    def ask(
        self,
        method: str,
        path: str,
        **more: Any,
    ) -> requests.Response:
        while True:
            try:
                with requests.Session() as session:
                    session.trust_env = False
                    headers = self.headers | more.pop("headers", {})
                    return session.request(
                        method,
                        self.url + path,
                        timeout=TIMEOUT_S,
                        headers=headers,
                        **more,
                    )
            except requests.ConnectionError:
                self.repeated += 1


def test_a_run_goes_through_the_faults_and_its_score_is_told_and_on_the_board(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    folder = tmp_path / "my home"
    where = [str(folder), "--testset", str(small_set.folder), "--port", "0"]
    process = warm_programs.start(
        ["referee", "practice", *where, "--faults", FAULTS, "--seed", "4"]
    )
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(6)]
    assert all(told), process.communicate()
    _, board, _, url = (told[0] + told[1]).split()[:4]
    client = shlex.split(told[3].removeprefix("a client"))
    assert client[1:] == ["lpirc-client", "run", url, "--team", "practice"]
    body = json.loads(shlex.split(told[4])[-1])
    assert client[0] == f"LPIRC_PASSWORD={body['password']}"
    assert (folder / "practice-password").read_text().strip() == body["password"]
    assert (folder / "practice-password").stat().st_mode & 0o777 == 0o600

    team = Contestant(url)
    team.headers["Authorization"] = (
        f"Bearer {team.ask('POST', '/v1/session', json=body).json()['token']}"
    )
    for image in range(1, 6):
        assert team.ask("GET", f"/v1/images/{image}").status_code == 200
        rows = [[image, category, 0.5, 0, 0, 95, 63] for category in (1, 2, 3)]
        post = team.ask(
            "POST",
            "/v1/detections",
            json=rows,
            headers={"Idempotency-Key": f"key-{image}"},
        )
        assert post.status_code == 202
    until(lambda: team.ask("GET", "/v1/session").json()["remaining_s"] < 597)
    status = team.ask("GET", "/v1/session").json()
    assert status["run"] == 1
    assert status["detections_accepted"] == 15
    assert status["images_served"] == 5
    assert "provisional" in status
    assert team.ask("DELETE", "/v1/session").status_code == 200
    line = process.stdout.readline()
    assert re.match(r"Run 1: mAP 0\.\d+, 0\.\d+ Wh, score [\d.]+; checks: ", line), line
    assert line.endswith(f"; referee report 1 --contest {shlex.quote(str(folder))}\n")
    shown = Contestant(board.rstrip("/"))
    until(
        lambda: (
            [one["run"] for one in shown.ask("GET", "/board.json").json()["ranking"]]
            == [1]
        )
    )
    assert team.repeated > 0

    family = descendants_of(process.pid)
    os.kill(process.pid, signal.SIGINT)
    rest, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert ("Traceback" in stderr) is False
    cut, gap, restart = rest.splitlines()
    assert re.fullmatch(
        r"\d+ of \d+ requests were cut off, .* Each answer was 0\.01 s late\.",
        cut,
    )
    silence = re.fullmatch(
        r"Run 1, after (1\.\d) s: the meter answered nothing for 1 s\.",
        gap,
    )
    assert silence is not None, gap
    began_s = float(silence[1])
    with open_contest(folder) as contest:
        read_s = [one.monotonic_s for one in contest.store.readings.of_run(1, 0.0)]
    assert [one for one in read_s if began_s + 0.3 < one < began_s + 0.8] == []
    assert min(read_s) < began_s
    assert re.fullmatch(
        r"Run 1, after [23]\.\d s: the server was killed, and answered again .* s later\.",
        restart,
    )
    until(
        lambda: not any(map(is_running, family)) and not processes_naming(str(folder))
    )


def test_what_there_is_goes_on_with_another_meter(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    folder = tmp_path / "home"
    password = prepare(folder, small_set.folder, "sim:")
    config = folder / "contest.toml"
    config.write_text(config.read_text().replace("window_s = 600", "window_s = 60"))
    assert prepare(folder, small_set.folder, "sim:") == password
    set_meter(config, 'TCPIP::10.0.0.1,"\\9::INSTR')
    meter = tomllib.loads(config.read_text())["stations"][0]["meter"]
    assert meter == 'TCPIP::10.0.0.1,"\\9::INSTR'
    set_meter(config, "rapl:")
    with open_contest(folder) as contest:
        assert [*contest.store.teams.all()] == ["practice"]
        assert contest.config.window_s == 60
        assert contest.config.stations[0].meter == "rapl:"
        assert contest.config.auto_arm
        assert contest.config.public_score
        assert contest.config.teams_see_score


def test_a_contest_that_is_served_keeps_its_meter(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    folder = tmp_path / "home"
    prepare(folder, small_set.folder, "sim:constant:7W")
    before = (folder / "contest.toml").read_bytes()
    with sole_server(folder):
        result = called("practice", str(folder), "--port", "0")
    assert result.returncode == 1
    assert result.stdout == ""
    assert (
        f"{folder} is being served already by process {os.getpid()}; stop that server first."
        in result.stderr
    )
    assert (folder / "contest.toml").read_bytes() == before


def test_a_load_that_there_is_not_makes_nothing(tmp_path: Path) -> None:
    result = called("practice", str(tmp_path / "home"), "--meter", "sim:bogus:5W")
    assert result.returncode == 1
    assert [*tmp_path.iterdir()] == []
    assert "There is no load 'bogus:5W'" in result.stderr


def test_another_test_set_or_a_contest_of_others_is_refused(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    prepare(tmp_path / "home", small_set.folder, "sim:")
    other = synthesize(
        tmp_path / "other",
        images=1,
        categories=1,
        seed=1,
        size=(96, 64),
    )
    create_contest(
        tmp_path / "day",
        config_text("Day", 60, "sim:", str(other.folder), auto_arm=False),
    )
    (tmp_path / "day" / "password").touch()  # as a rehearsal has one
    before = (tmp_path / "day" / "contest.toml").read_bytes()
    with pytest.raises(RefereeError, match=r"has the test set .*; choose another DIR"):
        prepare(tmp_path / "home", other.folder, "sim:")
    with pytest.raises(
        RefereeError,
        match="is not a practice contest; choose another DIR",
    ):
        prepare(tmp_path / "day", None, "sim:")
    assert (tmp_path / "day" / "contest.toml").read_bytes() == before


def test_a_task_has_a_folder_of_its_own_with_its_truth(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    testset = synthesize(
        tmp_path / "set",
        images=2,
        categories=2,
        size=(96, 64),
        task="classification",
    )
    prepare(folder, testset.folder, "sim:", "classification")
    with open_contest(folder) as contest:
        assert contest.config.task == "classification"
    prepare(folder, None, "sim:")  # goes on with what there is
    with pytest.raises(RefereeError, match="is for the task classification; choose"):
        prepare(folder, None, "sim:", "segmentation")
    assert default_folder(None, "segmentation") == Path("practice-segmentation")


def test_a_set_without_the_truth_of_a_task_makes_no_contest(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    folder = tmp_path / "home"
    with pytest.raises(RefereeError, match="has no ground truth for the task"):
        prepare(folder, small_set.folder, "sim:", "classification")
    assert not folder.exists()
    result = called("practice", "--task", "classification", "--images", str(tmp_path))
    assert result.returncode == 2
    assert "Photographs have no ground truth for a task" in result.stderr
