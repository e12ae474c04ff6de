"""`referee doctor`: all findings of a contest folder at once, and what to do about each."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_testsets import TestSet
from referee.auth.signing import new_key
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.findings import host_findings, meter_findings
from referee.runs.run_control import RunControl
from referee.store.records import RunState
from tests.contest_day import called, contest_day
from tests.forbidden import LOOP, loop_at
from tests.referee.factories import START, config_text, station, stored_run
from tests.timeouts import TIMEOUT_S

SERVE = f"""
import sys, threading
from referee.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    for watch in (thread for thread in threading.enumerate() if thread.name == "watch-worker"):
        watch.join({TIMEOUT_S})
    print(end.code, any(thread.name == "watch-worker" for thread in threading.enumerate()))
"""
"""Program that serves, and prints its exit code and whether its watch still runs.

A separate process can do more than a thread of the test.
"""
SECRETS = ("secret", "operator-key")
SAFE = {
    "attempts": 1,
    "least_map": 0.01,
    "backup": {"folder": "."},
    "trusted_proxy": ["127.0.0.1"],
}
"""Settings for which doctor has no advice."""


@pytest.fixture
def made(tmp_path: Path, small_set: TestSet) -> Callable[[str], Path]:
    def make(name: str) -> Path:
        create_contest(tmp_path / name, config_text(small_set, **SAFE))
        return tmp_path / name

    return make


@pytest.fixture
def folder(made: Callable[[str], Path]) -> Path:
    return made("contest")


def codes(folder: Path, *options: str) -> list[str]:
    """Return the codes of all findings that are not advice."""
    told = called("doctor", str(folder), "--json", *options)
    found = [one["code"] for one in json.loads(told.stdout) if not one["advice"]]
    assert told.returncode == (1 if found else 0)
    return found


def sentence_of(folder: Path) -> str:
    with pytest.raises(RefereeError) as failure, open_contest(folder):
        pass
    return failure.value.sentence


def test_a_sound_folder_has_no_finding(folder: Path) -> None:
    assert codes(folder) == []
    told = called("doctor", str(folder))
    assert told.returncode == 0
    assert told.stdout == f"Nothing is wrong with {folder}.\n"


def test_a_track_whose_test_set_is_not_there_is_found(folder: Path) -> None:
    tracks = '\n[[tracks]]\nname = "files"\nrule = "results"\ntestset = "sets/none"\n'
    (folder / "contest.toml").write_text((folder / "contest.toml").read_text() + tracks)
    assert codes(folder) == ["testset-missing"]


def test_a_track_whose_lot_leaves_no_image_for_the_final_board_is_found(
    folder: Path,
) -> None:
    config = folder / "contest.toml"
    (testset,) = (
        line
        for line in config.read_text().splitlines()
        if line.startswith("testset = ")
    )
    tracks = f'\n[[tracks]]\nname = "files"\nrule = "results"\n{testset}\nholdout_part = 1e-9\n'
    config.write_text(f"{config.read_text()}{tracks}")
    assert codes(folder) == []
    config.write_text(f"{config.read_text()}holdout_until = 2099-01-01T00:00:00Z\n")
    assert codes(folder) == ["testset-unfit"]


def test_all_findings_are_told_at_once(folder: Path) -> None:
    (folder / "contest.db").unlink()
    (folder / "secret").unlink()
    (folder / "contest.toml").write_text("nonsense")
    assert codes(folder) == ["bad-config", "secret-missing", "database-missing"]
    told = called("doctor", str(folder)).stdout
    assert told.count("\n") == 3
    assert "\ndatabase-missing: " in told
    assert "cannot be read (No such file or directory)" in told


def test_a_missing_database_is_not_made_again(folder: Path) -> None:
    (folder / "contest.db").unlink()
    assert (
        "is missing or empty; make it from the journal: referee restore --journal"
        in sentence_of(folder)
    )
    assert not (folder / "contest.db").exists()


def test_a_folder_for_scheduled_backups_that_is_missing_is_told(folder: Path) -> None:
    path = folder / "contest.toml"
    path.write_text(
        re.sub("backup = .*", "backup = { folder = 'copies' }", path.read_text())
    )
    assert codes(folder) == ["backup-folder"]
    told = called("doctor", str(folder)).stdout
    assert (
        f"[backup] folder = 'copies': There is no folder {folder / 'copies'} for backups; mount its disk, or make it"
        in told
    )
    (folder / "copies").mkdir()
    assert codes(folder) == []


def test_a_key_that_signs_nothing_is_told_and_not_served(folder: Path) -> None:
    (folder / "signing-key").write_text("no key")
    assert codes(folder) == ["secret-missing"]
    command = [sys.executable, "-c", SERVE, "serve", str(folder), "--port", "0"]
    told = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "it is not an Ed25519 key in PEM" in told.stderr
    # Whether it said before where it serves is a race.
    assert told.stdout.splitlines()[-1] == "1 False"
    (folder / "signing-key").write_bytes(new_key())
    assert codes(folder) == ["contest-mixed"]


def test_a_contest_whose_key_is_lost_goes_on_with_a_new_one_on_record(
    folder: Path,
) -> None:
    (folder / "signing-key").unlink()
    assert codes(folder) == ["secret-missing"]
    assert f"make a new key: referee doctor {folder} --accept" in sentence_of(folder)
    assert codes(folder, "--accept") == []
    with open_contest(folder) as contest:
        log = [
            (one.kind, one.values.get("public_key"))
            for one in contest.store.log.after(0)
        ]
        assert contest.key.public == contest.store.identity.public_key()
    (_, before), (_, after) = [one for one in log if one[0] == "signing-key"]
    assert (before != after) is True
    assert after == contest.key.public
    assert [kind for kind, _ in log][-2:] == ["operator", "signing-key"]


def test_an_older_copy_of_the_database_is_completed_from_the_journal(
    folder: Path,
) -> None:
    shutil.copy(folder / "contest.db", folder / "copy")
    with open_contest(folder) as contest:
        stored_run(contest.store)
    (folder / "copy").replace(folder / "contest.db")
    with open_contest(folder) as contest:
        assert len(contest.store.runs.find()) == 1
    assert codes(folder) == []


def test_an_older_copy_without_a_journal_is_told_and_accepted_on_record(
    folder: Path,
) -> None:
    shutil.copy(folder / "contest.db", folder / "copy")
    with open_contest(folder) as contest:
        stored_run(contest.store)
    (folder / "copy").replace(folder / "contest.db")
    shutil.rmtree(folder / "journal")
    assert "lacks the last 1 of 2 records" in sentence_of(folder)
    assert codes(folder) == ["database-cut"]
    assert codes(folder, "--accept") == []
    with open_contest(folder) as contest:
        _, events = contest.store.log.newest_after(0, 9)
    acts = [one["detail"] for one in events if one["kind"] == "operator"]
    assert [(one["action"], one["operator"]) for one in acts] == [("accept", "command")]


@pytest.mark.parametrize("foreign", ["contest.db", *SECRETS, "contest.toml"])
def test_a_file_of_another_contest_is_named(
    folder: Path,
    made: Callable[[str], Path],
    foreign: str,
) -> None:
    shutil.copy(made("other") / foreign, folder / foreign)
    odd = "secret or operator-key" if foreign in SECRETS else foreign
    assert f"contests; {odd} does not belong. Put" in sentence_of(folder)
    assert codes(folder) == ["contest-mixed"]


def test_what_is_to_be_one_contest_from_now_on_can_be_accepted(
    folder: Path,
    made: Callable[[str], Path],
) -> None:
    other = made("other")
    for name in (*SECRETS, "contest.toml"):
        shutil.copy(other / name, folder / name)
    assert "contests; contest.db does not belong." in sentence_of(folder)
    assert codes(folder, "--accept") == []


def test_a_copied_configuration_goes_on_with_the_id_that_is_told(
    folder: Path,
    made: Callable[[str], Path],
) -> None:
    path = folder / "contest.toml"
    shutil.copy(made("other") / "contest.toml", path)
    line = sentence_of(folder).partition("write ")[2].partition(" into")[0]
    path.write_text("\n".join([line, *path.read_text().splitlines()[1:]]))
    assert codes(folder) == []
    # As in a folder of an earlier version.
    path.write_text("\n".join(path.read_text().splitlines()[1:]))
    assert codes(folder) == []


def test_a_folder_of_an_earlier_version_gets_its_id_at_its_first_opening(
    folder: Path,
    made: Callable[[str], Path],
) -> None:
    path = folder / "contest.toml"
    path.write_text(written := path.read_text().partition("\n")[2])
    with closing(sqlite3.connect(folder / "contest.db", isolation_level=None)) as old:
        old.execute("DROP TABLE contest")
        old.execute("PRAGMA user_version = 9")
    assert codes(folder) == []
    assert path.read_text() == written
    shutil.copy(made("other") / "secret", folder / "secret")
    assert codes(folder) == ["contest-mixed"]
    assert (
        "contests; contest.db or secret or operator-key does not belong."
        in sentence_of(folder)
    )


def test_a_folder_whose_configuration_is_lost_is_not_made_again(
    folder: Path,
    small_set: TestSet,
) -> None:
    (folder / "contest.toml").unlink()
    secret = (folder / "secret").read_text()
    with pytest.raises(RefereeError, match=r"it has contest\.db") as failure:
        create_contest(folder, config_text(small_set))
    assert failure.value.code == "contest-exists"
    assert (folder / "secret").read_text() == secret


def test_what_a_deleted_contest_left_is_no_alarm_for_the_next_one(
    folder: Path,
    small_set: TestSet,
) -> None:
    with open_contest(folder) as contest:
        stored_run(contest.store)
    for name in ("contest.toml", "contest.db"):
        (folder / name).unlink()
    create_contest(folder, config_text(small_set))
    assert codes(folder) == []


# Rules


def advice(folder: Path) -> dict[str, str]:
    """Return the sentences of the findings that are advice, by code."""
    told = called("doctor", str(folder), "--json")
    return {
        one["code"]: one["sentence"] for one in json.loads(told.stdout) if one["advice"]
    }


@pytest.fixture
def ruled(tmp_path: Path, small_set: TestSet) -> Callable[..., Path]:
    """Make a contest with the safe settings and these keys of contest.toml; None removes a safe setting."""

    def make(*stations: dict[str, object], **keys: object) -> Path:
        given = {
            key: value for key, value in (SAFE | keys).items() if value is not None
        }
        create_contest(tmp_path / "ruled", config_text(small_set, *stations, **given))
        return tmp_path / "ruled"

    return make


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        ({"attempts": None}, "attempts-unlimited", "write attempts = 1"),
        (
            {"attempts": None},
            "images-repeated",
            "any number of runs of 5 images of each team: a team that keeps the images",
        ),
        (
            {"attempts": 2},
            "images-repeated",
            "2 attempts of 5 images of each team: a team that keeps the images of one run can",
        ),
        (
            {"attempts": 2},
            "images-repeated",
            "write per_attempt = 2 in [images], or attempts = 1",
        ),
        ({"least_map": None}, "least-map-missing", "a hundred guesses"),
        ({"backup": None}, "backup-missing", "folder in [backup]"),
        (
            {"trusted_proxy": None},
            "unguarded",
            "put nginx before the referee as docs/deploy does",
        ),
        (
            {"trusted_proxy": None},
            "unguarded",
            "And no clients are set for station 'one': log-ins and HTML forms from every",
        ),
        (
            {"teams_see_score": True},
            "score-seen-by-team",
            "rounded to two digits, every 30 s",
        ),
        ({"public_score": True}, "score-public", "the team itself and its rivals too"),
        ({"count_unserved": True}, "unserved-counted", "saves the energy of fetching"),
        (
            {"shuffle": False},
            "order-known",
            "the answers of a neighbour or of an earlier run",
        ),
        (
            {"auto_arm": True},
            "arms-by-itself",
            "anyone with a team's password begins a measured run",
        ),
    ],
)
def test_what_a_rule_lacks_or_gives_away_is_named_with_what_to_write(
    ruled: Callable[..., Path],
    keys: dict[str, object],
    code: str,
    words: str,
) -> None:
    folder = ruled(**keys)
    assert words in advice(folder)[code]
    told = called("doctor", str(folder))
    assert told.returncode == 0
    assert told.stdout.startswith(f"Nothing is wrong with {folder}.\nadvice, ")
    assert all(line.endswith(".") for line in told.stdout.splitlines())


def test_attempts_that_leave_every_run_its_own_images_repeat_none(
    ruled: Callable[..., Path],
) -> None:
    assert advice(ruled(attempts=2, images={"per_attempt": 2})) == {}


def refused_alike(folder: Path) -> str:
    """Return the code and the sentence with which arming is refused; doctor must have the same finding."""
    with open_contest(folder) as contest:
        contest.store.teams.add("otters", "", START)
        control = RunControl(contest, Clock())
        try:
            with pytest.raises((RefereeError, MeterError)) as refusal:
                control.arm("otters", "one")
        finally:
            control.shutdown()
    found = told(folder)
    assert refusal.value.sentence in found[refusal.value.code]
    assert codes(folder) == [refusal.value.code]
    return found[refusal.value.code]


def test_more_images_than_there_are_are_refused_before_the_day(
    ruled: Callable[..., Path],
    tmp_path: Path,
) -> None:
    sentence = refused_alike(ruled(images={"per_attempt": 6}))
    assert (
        sentence
        == "[images] per_attempt = 6, but the test set has 5 images; choose fewer."
    )
    assert advice(tmp_path / "ruled") == {}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"voltage_range_v": 100},
            "has no voltage range 100 V; it has 15, 30, 60, 150, 300, 600 V.",
        ),
        ({"current_range_a": 0.3}, "has no current range 0.3 A; it has 0.005,"),
        (
            {"crest_factor": 6, "voltage_range_v": 600},
            "has no voltage range 600 V; it has 7.5,",
        ),
        ({"update_interval_s": 0.3}, "has no update interval 0.3 s; it has 0.1, 0.25,"),
        ({"element": "2"}, "has no element '2': a WT310 has element 1 only"),
    ],
)
@pytest.mark.parametrize("meter", ["simulated", "answering"])
def test_what_a_meter_does_not_have_is_refused_before_the_day(
    ruled: Callable[..., Path],
    instrument: Callable[..., Any],
    keys: dict[str, object],
    words: str,
    meter: str,
) -> None:
    fixed = {"voltage_range_v": 150, "current_range_a": 0.5} | keys
    at = (
        "sim:constant:36W"
        if meter == "simulated"
        else instrument("--load", "constant:36W").address
    )
    sentence = refused_alike(ruled(station(meter=at, **fixed)))
    assert sentence.startswith("Station one cannot be armed: ")
    assert words in sentence


# Stations and host


def told(folder: Path, *options: str) -> dict[str, str]:
    answer = called("doctor", str(folder), "--json", *options)
    return {one["code"]: one["sentence"] for one in json.loads(answer.stdout)}


@pytest.fixture
def metered(
    tmp_path: Path,
    small_set: TestSet,
    instrument: Callable[..., Any],
) -> Callable[..., tuple[Path, Any]]:
    """A contest whose only station has a simulated meter in a process of its own, at a network address."""

    def make(*options: str, **keys: object) -> tuple[Path, Any]:
        meter = instrument("--load", "constant:36W", *options)
        at = {"voltage_range_v": 150, "current_range_a": 0.5} | keys
        one = station(meter=meter.address, **at)
        create_contest(tmp_path / "metered", config_text(small_set, one, **SAFE))
        return tmp_path / "metered", meter

    return make


def test_a_meter_that_answers_with_fixed_ranges_is_no_finding(
    metered: Callable[..., Any],
) -> None:
    folder, meter = metered()
    assert codes(folder) == []
    meter.die()
    ((code, sentence),) = told(folder).items()
    assert code.startswith("meter-")
    assert sentence.startswith("Station one: ")


def test_automatic_ranges_and_another_meter_than_that_of_the_last_run_are_told(
    metered: Callable[..., Any],
) -> None:
    folder, _ = metered()
    config = folder / "contest.toml"
    config.write_text(config.read_text().replace("current_range_a = 0.5\n", ""))
    with open_contest(folder) as contest:
        stored_run(contest.store, meter_identity="YOKOGAWA WT310 C2PH13047V F1.03")
    found = told(folder)
    assert list(found) == ["range-automatic", "meter-changed"]
    assert "current_range_a not fixed" in found["range-automatic"]
    assert (
        "run 1 was measured by YOKOGAWA WT310 C2PH13047V F1.03"
        in found["meter-changed"]
    )


def test_a_trial_run_measures_and_leaves_no_trace(
    metered: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, _ = metered()
    monkeypatch.setattr(meter_findings.trial_run, "__defaults__", (2,))
    before = {
        path: path.read_bytes()
        for path in folder.iterdir()
        if path.name in ("contest.toml", "secret")
    }
    assert codes(folder, "--run") == []
    with open_contest(folder) as contest:
        assert contest.store.runs.find() == []
        assert contest.store.teams.all() == {}
        assert [one["kind"] for one in contest.store.log.newest_after(0, 10)[1]] == [
            "signing-key"
        ]
    assert all(path.read_bytes() == content for path, content in before.items())


def test_a_trial_run_tells_what_its_checks_find(
    metered: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, _ = metered(current_range_a=0.005)
    monkeypatch.setattr(meter_findings.trial_run, "__defaults__", (2,))
    found = told(folder, "--run")
    assert found
    assert all(
        sentence.startswith("Station one, trial run: ") for sentence in found.values()
    )


def test_a_meter_that_may_hold_an_energy_is_left_alone(
    metered: Callable[..., Any],
) -> None:
    folder, _ = metered()
    with open_contest(folder) as contest:
        run = stored_run(contest.store)
        contest.store.log.append(START, run.id, "meter-start")
        contest.store.runs.change(
            run.id,
            (RunState.ARMED,),
            state="closed",
            start_s=1.0,
            meter_identity=None,
        )
    assert list(told(folder, "--run")) == ["energy-held"]


def test_while_the_contest_is_served_no_meter_is_asked(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with contest_day(tmp_path / "day", small_set.folder) as day:
        day.serve()
        answer = called("doctor", str(day.folder))
        assert answer.returncode == 0
        assert ("its meters are not asked" in answer.stderr) is True
        assert codes(day.folder, "--run") == ["contest-busy"]


def test_a_busy_port_a_clock_that_is_behind_and_little_room_are_told(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert codes(folder, "--port", str(taken.getsockname()[1])) == ["port-busy"]
    with open_contest(folder) as contest:
        contest.store.log.append(
            datetime.now(UTC) + timedelta(hours=1),
            None,
            "accepted",
        )
    assert "set the clock" in told(folder)["clock-behind"]
    monkeypatch.setattr(host_findings, "LEAST_FREE_BYTES", 2**60)
    assert codes(folder) == ["no-room", "clock-behind"]


def test_a_key_that_cannot_be_looked_at_is_neither_lost_nor_forgotten(
    folder: Path,
) -> None:
    (folder / "signing-key").rename(folder / "kept")
    loop = loop_at(folder / "signing-key")
    assert sentence_of(folder) == f"{loop} cannot be accessed: {LOOP}."
    assert codes(folder) == ["not-accessible"]
    refused = called("doctor", str(folder), "--accept")
    assert refused.returncode == 1
    assert (LOOP in refused.stderr) is True
    loop.unlink()
    (folder / "kept").rename(loop)
    assert codes(folder) == []


def test_a_folder_that_is_no_contest_has_that_finding_alone(tmp_path: Path) -> None:
    assert codes(tmp_path) == ["contest-missing"]
