"""Exit codes and output: 2 for wrong usage, 1 and one line for an expected failure, one JSON document with --json."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lpirc_score.metrics.evaluation_result import VERSION
from lpirc_testsets import load_test_set, synthesize
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.runs.run_control import RunControl
from tests import warm_programs
from tests.contest_day import PASSWORD, TEAM, Day, called, contest_day, program, refers
from tests.timeouts import TIMEOUT_S


@pytest.fixture(scope="module")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "small"
    return synthesize(
        folder,
        images=3,
        categories=2,
        seed=4,
        size=(96, 64),
    ).folder


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory, small_set: Path) -> Iterator[Day]:
    with contest_day(
        tmp_path_factory.mktemp("day") / "contest",
        small_set,
        teams=(TEAM, "bee"),
    ) as made:
        yield made


def stated(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("referee: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "init",
        "init x --window 0",
        "init x --window 86401",
        "init x --unknown",
        "serve",
        "serve . --port 65536",
        "serve . --tls-cert pyproject.toml",
        "serve . --tls-cert nowhere --tls-key nowhere",
        "team",
        "team add",
        "run",
        "run arm",
        "run start",
        "run versus 1",
        "run versus 1 x",
        "run show x",
        "run show 0",
        "run show 99999999999999999999",
        "run close",
        "run void 1",
        "judge",
        "judge 1 --all",
        "judge x",
        "rehearse --images 0",
        "rehearse --window 0",
        "rehearse more",
    ],
)
def test_wrong_use_ends_with_two_and_says_how_it_goes(line: str) -> None:
    ask = refers if line.startswith("serve") else called
    result = ask(*line.split())
    assert result.returncode == 2
    assert result.stdout == ""
    assert "Usage: referee" in result.stderr


@pytest.mark.parametrize("name", warm_programs.ENTRIES)
def test_help_and_version_are_answers_of_a_program_started_from_scratch_too(
    name: str,
) -> None:
    cold = subprocess.run(
        warm_programs.cold([name, "--help"]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert cold.stdout.lower().startswith(f"usage: {name}")
    assert warm_programs.run([name, "--help"]).stdout == cold.stdout
    assert refers("-h").stdout.startswith("Usage: referee")
    assert refers("--version").stdout == f"referee {VERSION}\n"


def test_init_makes_a_contest_that_can_be_served(
    tmp_path: Path,
    small_set: Path,
) -> None:
    folder = tmp_path / "deep" / 'a "contest"'
    made = refers(
        "init",
        str(folder),
        "--testset",
        str(small_set),
        "--name",
        'Ü "quoted" \\ name',
        "--window",
        "5",
    )
    assert made.returncode == 0
    assert made.stderr.startswith("Taken by default: --attempts 1 ")
    for secret in ("secret", "operator-key"):
        assert (folder / secret).stat().st_mode & 0o777 == 0o600
    assert called("run", "list", "--json", "--contest", str(folder)).stdout == "[]\n"
    assert "contest folder already" in stated(
        called("init", str(folder), "--testset", str(small_set))
    )


def test_init_makes_a_test_set_when_none_is_given(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("referee.cli.init_command.DEFAULT_IMAGES", 5)
    monkeypatch.chdir(tmp_path)
    made = called("init", "contest")
    assert made.returncode == 0
    assert made.stderr.splitlines()[-1] == "Preparing contest/testset"
    assert len(load_test_set(tmp_path / "contest" / "testset").images) == 5


def test_init_refuses_what_could_not_be_served(tmp_path: Path, small_set: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert str(tmp_path / "none") in stated(
        called("init", str(tmp_path / "x"), "--testset", str(tmp_path / "none"))
    )
    assert "manifest.json" in stated(
        called("init", str(tmp_path / "x"), "--testset", str(tmp_path))
    )
    wrong_meter = called(
        "init",
        str(tmp_path / "x"),
        "--testset",
        str(small_set),
        "--meter",
        "192.168.1.20",
    )
    assert "not the address of a meter" in stated(wrong_meter)
    a_file = called("init", str(file), "--testset", str(small_set))
    assert a_file.returncode == 2
    assert f"{file} is a file, and a folder is needed" in a_file.stderr
    assert not (tmp_path / "x").exists()


def test_teams_are_added_listed_and_disabled(day: Day, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("from a file\r\nsecond line\n")
    stdout = day.refers("team", "add", "fox", "--password-file", str(password)).stdout
    assert stdout == "Registered fox.\n"
    by_variable = called(
        "team", "add", "gnu", "--contest", str(day.folder), LPIRC_PASSWORD=PASSWORD
    )
    assert by_variable.returncode == 0
    stdout = day.refers("team", "disable", "gnu").stdout
    assert stdout == "gnu is disabled: it can no longer log in.\n"
    listed = {
        one["team"]: one["disabled"]
        for one in json.loads(day.refers("team", "list", "--json").stdout)
    }
    assert listed["fox"] is False
    assert listed["gnu"] is True
    assert "gnu (disabled)\n" in day.refers("team", "list").stdout


def test_a_disabled_team_is_called_so_everywhere_and_can_be_enabled(
    day: Day,
    tmp_path: Path,
) -> None:
    team = ("eel", "--contest", str(day.folder))
    assert called("team", "add", *team, LPIRC_PASSWORD=PASSWORD).returncode == 0
    assert called("team", "disable", *team).returncode == 0
    with open_contest(day.folder) as contest:
        with pytest.raises(
            RefereeError,
            match="'eel' is disabled; see: referee team enable",
        ):
            RunControl(contest, Clock()).arm("eel", "station-1")
        with pytest.raises(RefereeError, match="no team 'cod'; see: referee team list"):
            RunControl(contest, Clock()).arm("cod", "station-1")
        assert contest.store.teams.password_hash("eel") is None
    assert called("team", "enable", *team).stdout == "eel is enabled: it can log in.\n"
    with open_contest(day.folder) as contest:
        assert contest.store.teams.password_hash("eel") is not None
    assert "no team 'cod'" in stated(
        called("team", "enable", "cod", "--contest", str(day.folder))
    )


def test_a_contest_without_teams_says_so(tmp_path: Path, small_set: Path) -> None:
    called("init", str(tmp_path / "day"), "--testset", str(small_set))
    listed = called("team", "list", "--contest", str(tmp_path / "day"))
    assert listed.returncode == 0
    assert listed.stdout == ""
    assert listed.stderr == "No team is registered yet; see: referee team add --help\n"


def test_judging_needs_no_number_with_all() -> None:
    assert "Usage: referee judge [OPTIONS] [RUN]\n" in called("judge", "--help").stdout


def test_the_contest_may_come_from_the_environment_or_the_present_folder(
    day: Day,
    tmp_path: Path,
) -> None:
    expected = day.refers("team", "list").stdout
    assert refers("team", "list", cwd=day.folder).stdout == expected
    stdout = refers(
        "team",
        "list",
        cwd=tmp_path,
        REFEREE_CONTEST=str(day.folder),
    ).stdout
    assert stdout == expected
    told = stated(refers("team", "list", cwd=tmp_path))
    assert "Name the contest's folder with --contest FOLDER, or export" in told
    no = refers("team", "list", cwd=tmp_path, REFEREE_CONTEST="hall")
    assert "REFEREE_CONTEST is set to 'hall': There is no folder hall;" in stated(no)


@pytest.mark.parametrize(
    ("name", "password", "words"),
    [
        ("ant", "x", "exists already"),
        ("", "x", "is blank"),
        ("two\nlines", "x", "printed on a line"),
        ("owl", "", "password is empty"),
        ("owl", None, "--password-file"),
    ],
)
def test_a_team_that_cannot_be_is_refused(
    day: Day,
    name: str,
    password: str | None,
    words: str,
) -> None:
    variable = {} if password is None else {"LPIRC_PASSWORD": password}
    assert words in stated(
        called("team", "add", name, "--contest", str(day.folder), **variable)
    )


def test_a_short_password_of_an_operator_is_refused(day: Day) -> None:
    given = ("operator", "add", "eve", "--contest", str(day.folder))
    told = stated(called(*given, LPIRC_PASSWORD="four"))
    assert "The password has 4 characters; choose one of 8 or more." in told


def test_a_name_that_is_not_unicode_is_refused(day: Day) -> None:
    assert "printed on a line" in stated(
        refers(
            "team",
            "add",
            os.fsdecode(b"\xff"),
            "--contest",
            str(day.folder),
            LPIRC_PASSWORD="x",
        )
    )


def test_a_password_is_asked_for_twice_on_a_terminal(day: Day) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal:
        arguments = [
            program("referee"),
            "team",
            "add",
            "yak",
            "--contest",
            str(day.folder),
        ]
        process = subprocess.Popen(
            arguments,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        shown = b""
        for _ in range(2):
            while not shown.endswith(b": "):
                shown += os.read(ours, 1024)
            os.write(ours, b"hidden\n")
            shown += os.read(ours, 1024)
        assert process.wait(TIMEOUT_S) == 0
    os.close(ours)
    assert b"hidden" not in shown
    assert '"yak"' in day.refers("team", "list", "--json").stdout


@pytest.mark.parametrize(
    "line",
    [
        "run show 7",
        "run versus 7 8",
        "run start nowhere",
        "run arm ant",
        "run close 1",
        "run void 1 --reason x",
        "judge 7",
        "team disable nobody",
    ],
)
def test_what_is_not_there_is_told_in_one_line(day: Day, line: str) -> None:
    stated(day.refers(*line.split()))


def test_what_another_program_answers_on_the_old_port_is_no_server(day: Day) -> None:
    (day.folder / "server").write_text(f"http://127.0.0.1:{day.meter.port}\n")
    assert "is not being served" in stated(day.refers("run", "arm", TEAM))


def test_nothing_to_judge_is_no_failure(day: Day) -> None:
    result = day.refers("judge", "--all")
    assert result.returncode == 0
    assert result.stdout == ""
    assert day.refers("judge", "--all", "--json").stdout == "[]\n"


def test_a_reader_that_goes_away_gets_no_traceback(day: Day) -> None:
    command = [program("referee"), "run", "list", "--contest", str(day.folder)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait()


def test_a_contest_of_any_printable_name_can_be_read_again(
    tmp_path: Path,
    small_set: Path,
) -> None:
    name = 'Contest \U0001f600 "q" \\ ü'
    made = called(
        "init", str(tmp_path / "day"), "--testset", str(small_set), "--name", name
    )
    assert made.returncode == 0
    with open_contest(tmp_path / "day") as contest:
        assert contest.config.name == name


@pytest.mark.parametrize("name", ["bell \x7f\x07", "tab\there"])
def test_a_name_that_cannot_be_printed_makes_no_contest(
    tmp_path: Path,
    small_set: Path,
    name: str,
) -> None:
    folder = tmp_path / "day"
    told = called("init", str(folder), "--testset", str(small_set), "--name", name)
    assert told.returncode == 1
    assert "the contest's name" in told.stderr
    assert not folder.exists()


def test_a_contest_s_files_are_its_owner_s_only(
    tmp_path: Path,
    small_set: Path,
) -> None:
    called("init", str(tmp_path / "day"), "--testset", str(small_set))
    for file in ("contest.db", "secret", "operator-key"):
        assert (tmp_path / "day" / file).stat().st_mode & 0o077 == 0
