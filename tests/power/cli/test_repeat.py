"""Series of attempts: counted, warmed up, cooled down, stable or not, and stopped by what fails."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.measurement_files.recorded_files import read_measurement
from lpirc_power.report.series_report import Series
from tests.power.cli.conftest import one_line
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
SHORT = ("--", sys.executable, "-c", "import time; time.sleep(0.6)")


def names_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.suffix == ".csv")


def test_attempts_are_counted_without_the_warm_up_and_read_back(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    ended = meter(
        "record", address, "-o", "run.csv", *FIXED, "--duration", "1", "--warm-up", "1",
        "--repeat", "3", "--cool-down", "0.3", "--json",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    assert names_in(tmp_path) == [
        "run-1.csv", "run-2.csv", "run-3.csv", "run-warm-up-1.csv",
    ]  # fmt: skip
    energies_wh = [one["energy_wh"] for one in facts["attempts"]]
    assert (len(energies_wh), len(facts["warm_up"])) == (3, 1)
    assert facts["mean_wh"] == pytest.approx(sum(energies_wh) / 3)
    low, high = facts["interval_wh"]
    assert low <= facts["mean_wh"] <= high
    assert facts["budget"]["coverage_wh"] >= (high - low) / 2
    assert "spread" in [term["code"] for term in facts["budget"]["terms"]]
    found = read_measurement(tmp_path / "run.json")
    assert isinstance(found, Series)
    assert found.energies_wh == energies_wh
    assert found.mean_wh == facts["mean_wh"]
    starts_s = [one.measured.start_s for one in (*found.warm_up, *found.recordings)]
    assert starts_s == sorted(starts_s)
    record = found.recordings[1].record
    assert record is not None
    assert record.cool_down_s == 0.3
    assert record.part is not None
    assert record.part.name == "attempt 2"


def test_each_attempt_is_listed_with_mean_deviation_and_interval(
    simulate: Any, meter: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    ended = meter("record", address, "-o", "run.csv", *FIXED, "--repeat", "2", *SHORT)
    lines = ended.stderr
    for word in ("attempt 1 ", "attempt 2 ", "mean energy ", "deviation ", "interval "):
        assert word in lines
    assert "NOT OFFICIAL" in lines
    assert lines.count("official-meter (all): ") == 1


def test_a_first_attempt_that_cannot_be_made_leaves_nothing(
    meter: Any, simulate: Any, tmp_path: Path
) -> None:
    gone = simulate()
    gone.kill()
    ended = meter("record", gone.address, "-o", "run.csv", "--repeat", "3", *SHORT)
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_a_series_ends_once_it_is_stable(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    ended = meter(
        "record", address, "-o", "run.csv", *FIXED, "--duration", "1",
        "--until-stable", "1%", "--json",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    # The timer ends each attempt, so the energies are the same to six digits.
    assert facts["count"] == 7
    assert facts["interval_percent"] < 1.0
    assert facts["stopped"] is None


def test_a_series_that_never_gets_stable_gives_up_and_says_so(
    simulate: Any, meter: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    different = (
        "import pathlib, time; place = pathlib.Path('more'); time.sleep(0.5 + place.exists()); "
        "place.unlink() if place.exists() else place.touch()"
    )
    ended = meter(
        "record", address, "-o", "run.csv", *FIXED, "--until-stable", "0.1%",
        "--repeat", "7", "--json", "--", sys.executable, "-c", different,
    )  # fmt: skip
    facts = json.loads(ended.stdout.splitlines()[-1])
    assert ended.returncode == 1
    assert facts["count"] == 7
    assert "After 7 attempts the interval of the mean is" in facts["stopped"]


def test_ctrl_c_ends_a_series_and_tells_what_there_is(
    simulate: Any, started: Any, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    series = started(
        "record", address, "-o", "run.csv", *FIXED, "--duration", "0.6", "--repeat", "3",
        "--cool-down", "60", "--json",
    )  # fmt: skip
    until(lambda: "run-1.json" in (tmp_path / "run.json").read_text()
          if (tmp_path / "run.json").exists() else False)  # fmt: skip
    series.send_signal(signal.SIGINT)
    told, complaint = series.communicate(timeout=TIMEOUT_S)
    assert (series.returncode, complaint) == (0, "")
    facts = json.loads(told)
    assert facts["count"] == 1
    assert "interrupted between two attempts" in facts["stopped"]


def test_a_killed_series_still_names_its_attempts(
    simulate: Any, started: Any, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    series = started(
        "record", address, "-o", "run.csv", *FIXED, "--duration", "0.6", "--repeat", "3",
        "--cool-down", "60",
    )  # fmt: skip
    until(lambda: "run-1.json" in (tmp_path / "run.json").read_text()
          if (tmp_path / "run.json").exists() else False)  # fmt: skip
    series.kill()
    series.wait()
    found = read_measurement(tmp_path / "run.json")
    assert isinstance(found, Series)
    assert len(found.recordings) == 1


def test_files_in_the_way_of_any_attempt_are_found_before_the_first(
    meter: Any, tmp_path: Path
) -> None:
    (tmp_path / "run-2.csv").write_text("precious")
    ended = meter("record", "sim:none", "-o", "run.csv", "--repeat", "3", *SHORT)
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "run-2.csv exists already" in ended.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run-2.csv"]


def test_a_warm_up_in_seconds_is_a_pause_before_the_start(
    simulate: Any, meter: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    ended = meter(
        "record",
        address,
        "-o",
        "run.csv",
        *FIXED,
        "--duration",
        "0.6",
        "--warm-up",
        "1s",
    )
    assert ended.returncode == 0, ended.stderr
    record = read_measurement(tmp_path / "run.csv").record
    assert record is not None
    assert record.warm_up_s == 1.0  # type: ignore[union-attr]
    waited = record.started.start.utc - record.written  # type: ignore[union-attr]
    assert waited.total_seconds() > 1.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--repeat", "3"), "needs an end"),
        (("--until-stable", "1%"), "needs an end"),
        (("--cool-down", "3", "--duration", "1"), "--cool-down is a pause"),
        (("--repeat", "0", "--duration", "1"), "--repeat"),
        (("--repeat", "1.5", "--duration", "1"), "--repeat"),
        (("--until-stable", "1", "--duration", "1"), "has no %"),
        (("--until-stable", "-1%", "--duration", "1"), "--until-stable"),
        (("--until-stable", "nan%", "--duration", "1"), "--until-stable"),
        (
            ("--until-stable", "1%", "--repeat", "6", "--duration", "1"),
            "--until-stable takes 7 attempts or more, and --repeat 6 allows no more",
        ),
        (("--warm-up", "-1", "--duration", "1"), "--warm-up"),
        (("--warm-up", "xs", "--duration", "1"), "--warm-up"),
        (
            ("--warm-up", "60m", "--duration", "1"),
            "'60m' is neither a number of attempts, such as 2, nor a time in seconds",
        ),
        (("--warm-up", "infs", "--duration", "1"), "--warm-up"),
        (("--cool-down", "-1", "--repeat", "2", "--duration", "1"), "--cool-down"),
    ],
)
def test_wrong_options_of_a_series_are_said(
    meter: Any, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    ended = meter("record", "sim:", "-o", "run.csv", *arguments)
    assert ended.returncode == 2
    assert told in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_is_too_short_is_told_how_often_to_run_it(
    simulate: Any, meter: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    run = ("record", address, "-o", "run.csv", "--force", "--json", *FIXED)
    facts = json.loads(meter(*run, *SHORT).stdout)
    times = facts["repeat_in_loop"]
    (term,) = [one for one in facts["budget"]["terms"] if one["code"] == "start-stop"]
    share = 100.0 * term["half_width"] / facts["duration_s"]
    assert share / times < 1.0 <= share / (times - 1)
    timed = json.loads(meter(*run, "--duration", "1").stdout)
    assert timed["repeat_in_loop"] is None
