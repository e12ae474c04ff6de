"""`referee init`: a contest folder that can be moved with its test set, and rules that prevent looking answers up."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.clock import Clock
from referee.config import read_config
from referee.contest import Contest, open_contest
from referee.errors import AttemptsUsed
from referee.runs.run_control import RunControl
from tests.contest_day import TIMEOUT_S, called
from tests.warm_programs import cold


def made(folder: Path, testset: Path, *options: str) -> str:
    told = called("init", str(folder), "--testset", str(testset), *options)
    assert told.returncode == 0, told.stderr
    return read_config(folder).testset


@pytest.fixture
def beside(tmp_path: Path, small_set: TestSet) -> Path:
    return Path(shutil.copytree(small_set.folder, tmp_path / "here" / "my set"))


def test_a_test_set_beside_or_in_the_folder_is_moved_with_it(
    tmp_path: Path,
    beside: Path,
) -> None:
    assert made(beside.parent / "day", beside) == "../my set"
    inside = Path(shutil.copytree(beside, beside.parent / "other" / "sets" / "a"))
    assert made(beside.parent / "other", inside) == "sets/a"
    moved = beside.parent.rename(tmp_path / "there")
    for name in ("day", "other"):
        with open_contest(moved / name) as contest:
            assert contest.test_set.folder.resolve().is_relative_to(moved)


def test_a_test_set_elsewhere_is_named_by_its_path(
    tmp_path: Path,
    beside: Path,
) -> None:
    assert made(tmp_path / "absolute", beside) == str(beside.resolve())


# Limits for teams


def test_without_a_terminal_the_rules_are_safe_and_it_says_which(
    tmp_path: Path,
    beside: Path,
) -> None:
    folder = tmp_path / "day"
    told = called("init", str(folder), "--testset", str(beside))
    assert told.stderr == (
        "Taken by default: --attempts 1 --per-attempt 0 --least-map 0.01 --backup-folder backups\n"
    )
    config = read_config(folder)
    assert config.attempts == 1
    assert config.images.per_attempt == 0
    assert config.least_map == 0.01
    assert (folder / config.backup.folder).is_dir()
    sound, advice = called("doctor", str(folder)).stdout.splitlines()
    assert sound == f"Nothing is wrong with {folder}."
    # The address at which it will be served is not known yet.
    assert advice.startswith("advice, unguarded: ")


def test_rules_that_are_given_stand_in_the_file_and_nothing_is_said_of_them(
    tmp_path: Path,
    beside: Path,
) -> None:
    folder = tmp_path / "day"
    copies = tmp_path / 'a "stick"'
    copies.mkdir()
    rules = (
        "--attempts",
        "2",
        "--per-attempt",
        "2",
        "--least-map",
        "0.2",
        "--backup-folder",
        str(copies),
    )
    told = called("init", str(folder), "--testset", str(beside), *rules)
    assert told.returncode == 0
    assert told.stderr == ""
    config = read_config(folder)
    assert config.attempts == 2
    assert config.images.per_attempt == 2
    assert config.least_map == 0.2
    assert config.backup.folder == str(copies)
    assert (folder / "backups").exists() is False


def test_a_folder_that_cannot_hold_a_backup_is_refused_before_anything_is_made(
    tmp_path: Path,
    beside: Path,
) -> None:
    folder = tmp_path / "day"
    for copies, sentence in (
        ("/proc", "No backup can be written into /proc ("),
        (str(tmp_path / "no"), f"There is no folder {tmp_path / 'no'} for backups; "),
    ):
        arguments = ("--testset", str(beside), "--backup-folder", copies)
        told = called("init", str(folder), *arguments)
        assert told.returncode == 1
        assert f"referee: {sentence}" in told.stderr
        assert told.stderr.endswith("name another folder.\n")
        assert not folder.exists()


def test_a_folder_for_backups_inside_the_contest_is_made_with_it(
    tmp_path: Path,
    beside: Path,
) -> None:
    folder = tmp_path / "day"
    made = called(
        "init", str(folder), "--testset", str(beside), "--backup-folder", "a/b"
    )
    assert made.returncode == 0
    assert (folder / "a" / "b").is_dir()


def test_rules_of_0_and_no_folder_are_taken_and_warned_of(
    tmp_path: Path,
    beside: Path,
) -> None:
    folder = tmp_path / "day"
    rules = (
        "--attempts",
        "0",
        "--per-attempt",
        "0",
        "--least-map",
        "0",
        "--backup-folder",
        "",
    )
    told = called("init", str(folder), "--testset", str(beside), *rules)
    assert told.stderr.startswith(
        "Warning: The test set has 5 images, for any number of runs of 5 images"
    )
    config = read_config(folder)
    assert config.attempts == 0
    assert config.images.per_attempt == 0
    assert config.least_map is None
    assert config.backup.folder == ""


def test_on_a_terminal_it_asks_for_what_is_not_given(
    tmp_path: Path,
    beside: Path,
) -> None:
    folder = tmp_path / "day"
    ours, theirs = os.openpty()
    words = [
        *cold(["referee", "init"]),
        str(folder),
        "--testset",
        str(beside),
        "--least-map",
        "0.1",
    ]
    with subprocess.Popen(
        words,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as asked:
        os.close(theirs)
        os.write(ours, b"2\n\n\n")  # two attempts, the rest as proposed
        _, said = asked.communicate(timeout=TIMEOUT_S)
    os.close(ours)
    assert asked.returncode == 0, said
    assert "Attempts of each team (0: no limit) [1]: " in said
    assert "Images of an attempt, of 5 (0: all) [2]: " in said
    assert "Least accuracy" not in said
    assert "Taken by default" not in said
    config = read_config(folder)
    assert config.attempts == 2
    assert config.images.per_attempt == 2
    assert config.least_map == 0.1
    assert config.backup.folder == "backups"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (("--attempts", "6"), "6 attempts of 5 images leave no image for each"),
        (
            ("--per-attempt", "6"),
            "--per-attempt 6 is more than the 5 images of the test set.",
        ),
        (("--least-map", "nan"), "nan is not in the range 0<=x<=1."),
    ],
)
def test_rules_that_cannot_be_are_refused_before_anything_is_made(
    tmp_path: Path,
    beside: Path,
    rules: tuple[str, str],
    words: str,
) -> None:
    told = called("init", str(tmp_path / "day"), "--testset", str(beside), *rules)
    assert (told.returncode, words in told.stderr) == (2, True), told.stderr
    assert not (tmp_path / "day").exists()


def fetched_and_logged_out(contest: Contest, control: RunControl) -> set[int]:
    """Return the test-set numbers of the images of a run that only fetches them."""
    run = control.arm("otters", "station-1")
    control.login("otters")
    numbers = range(1, run.images + 1)
    contest.store.served.append(run.id, [(number, 10) for number in numbers], 1.0)
    control.close(run.id, "logout")
    contest.store.served.flush()
    return set(contest.store.runs.image_order(run.id).tolist())


@pytest.mark.parametrize("attempts", [1, 2])
def test_by_default_no_run_gets_an_image_that_its_team_could_look_up(
    tmp_path: Path,
    beside: Path,
    attempts: int,
) -> None:
    """One run fetches all images and logs out; the next one is to answer by their bytes."""
    given = [] if attempts == 1 else ["--attempts", str(attempts)]
    made(tmp_path / "day", beside, *given)
    with open_contest(tmp_path / "day") as contest:
        contest.store.teams.add("otters", "", Clock().utc())
        control = RunControl(contest, Clock())
        had = set[int]()
        try:
            for _ in range(attempts):
                fresh = fetched_and_logged_out(contest, control)
                assert not fresh & had
                had |= fresh
            with pytest.raises(AttemptsUsed):
                control.arm("otters", "station-1")
        finally:
            control.shutdown()


def test_a_contest_of_a_task_needs_a_set_with_its_truth(
    tmp_path: Path,
    beside: Path,
) -> None:
    set_of_boxes = ("--testset", str(beside))
    folder = str(tmp_path / "day")
    told = called("init", folder, *set_of_boxes, "--task", "classification")
    assert told.returncode != 0
    assert "has no ground truth for the task classification" in told.stderr
    assert not (tmp_path / "day").exists()
    told = called("init", folder, *set_of_boxes, "--task", "boxing")
    assert "--task: task = 'boxing': There is no task 'boxing'" in told.stderr
    classes = synthesize(
        tmp_path / "classes", images=2, categories=2, task="classification"
    ).folder
    assert made(tmp_path / "day", classes, "--task", "classification") == "../classes"
    assert read_config(tmp_path / "day").task == "classification"


def test_commands_that_are_offered_name_a_folder_with_a_blank_so_that_a_shell_takes_it(
    tmp_path: Path,
    beside: Path,
) -> None:
    folder = tmp_path / "my day"
    folder.mkdir()
    told = called("run", "list", "--contest", str(folder)).stderr
    assert f"referee init '{folder}', or in the browser: referee setup '{folder}'" in told  # fmt: skip
    told = called("init", str(folder), "--testset", str(beside)).stdout
    assert f"--contest '{folder}'; referee serve '{folder}'" in told
    told = called("run", "list", "--contest", str(folder)).stderr
    told += called("run", "close", "1", "--contest", str(folder)).stderr
    assert f"start it: referee serve '{folder}'" in told
