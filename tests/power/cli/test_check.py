"""`meter check` on our recordings and on those of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.power.cli.conftest import Run, one_line
from tests.power.made_recordings import Made, steady

STEADY = "".join(f"{1690000000 + second},36.0,36.0,0.3,120\n" for second in range(61))
HEAD = "T,P,S,I,V\n"


def test_a_table_of_another_program_is_checked_and_says_what_is_unknown(
    meter: Run, tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text(HEAD + STEADY)
    ended = meter("check", "old.csv")
    assert ended.returncode == 0, ended.stderr
    assert "0.6 Wh = 2160 J" in ended.stdout
    (left_out,) = [one for one in ended.stdout.splitlines() if one.startswith("not ch")]
    for code in ("accuracy", "negative-power", "low-load"):
        assert code in left_out
        assert f"holds            {code}" not in ended.stdout
    assert "has no energy of the meter's integrator" in ended.stdout
    assert "so the energy has no uncertainty" in ended.stdout
    assert "official-meter:" not in ended.stdout


def test_a_short_table_speaks_of_no_command_to_an_integrator(
    meter: Run, tmp_path: Path
) -> None:
    rows = "".join(STEADY.splitlines(keepends=True)[:4])
    (tmp_path / "old.csv").write_text(HEAD + rows)
    stated = ["--model", "WT310E", "--voltage-range", "150", "--current-range", "0.5"]
    ended = meter("check", "old.csv", *stated, "--budget", "csv")
    assert "time of both commands" not in ended.stdout
    assert "the readings begin and end somewhere within an update" in ended.stdout
    shown = meter("check", "old.csv").stdout
    assert "less than 10 updates of 1 s, too few for a mean" in shown
    assert "starting and stopping" not in shown


def test_a_model_and_its_ranges_give_the_limits_of_error(
    meter: Run, tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text(HEAD + STEADY)
    stated = ["--model", "WT310E", "--voltage-range", "150", "--current-range", "0.5"]
    ended = meter("check", "old.csv", *stated, "--json")
    facts = json.loads(ended.stdout)
    codes = {check["code"]: check["ok"] for check in facts["checks"]}
    assert codes["accuracy"] is True
    assert not {"accuracy", "negative-power", "low-load"} & {*facts["unanswered"]}
    assert codes["low-load"] is codes["negative-power"] is True


def test_a_reading_of_0_is_told_though_the_range_is_unknown(
    meter: Run, tmp_path: Path
) -> None:
    rows = STEADY + "1690000061,0,0,0,120\n"
    (tmp_path / "old.csv").write_text(HEAD + rows)
    ended = meter("check", "old.csv", "--json")
    facts = json.loads(ended.stdout)
    assert "low-load" not in facts["unanswered"]
    failed = [one["code"] for one in facts["checks"] if not one["ok"]]
    assert "low-load" in failed


def test_a_failed_check_of_severity_error_is_exit_code_1(
    meter: Run, tmp_path: Path
) -> None:
    rows = STEADY.replace("36.0,36.0", "-36.0,36.0")
    (tmp_path / "old.csv").write_text(HEAD + rows)
    ended = meter("check", "old.csv")
    assert ended.returncode == 1
    assert one_line(ended.stderr)
    assert "negative-power" in ended.stderr


def test_over_range_in_another_program_s_file_fails_though_its_absence_proves_nothing(
    meter: Run, tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text(HEAD + STEADY + "1690000061,OL,36.0,0.3,120\n")
    ended = meter("check", "old.csv")
    assert ended.returncode == 1
    assert "over-range" in ended.stderr


def test_the_edges_are_in_doubt_by_an_interval_whether_the_length_is_whole_or_not(
    meter: Run, tmp_path: Path
) -> None:
    stated = ["--model", "WT310E", "--voltage-range", "150", "--current-range", "0.5"]
    shares = []
    for first in ("1690000000", "1690000000.4"):
        rows = STEADY.replace("1690000000,", f"{first},")
        (tmp_path / "old.csv").write_text(HEAD + rows)
        facts = json.loads(meter("check", "old.csv", *stated, "--json").stdout)
        shares.append(facts["accuracy"]["start_stop_percent"])
    assert shares[0] == pytest.approx(shares[1], rel=0.05)
    assert shares[0] > 1.0


def test_powers_that_are_all_no_data_are_one_sentence(
    meter: Run, tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text("t,P\n0,nan\n1,nan\n")
    ended = meter("check", "old.csv")
    assert ended.returncode == 1
    assert ended.stderr == "meter: No reading of the recording old.csv has a power.\n"


@pytest.mark.parametrize("rows", ["1,36\n", "1,36\n1,36\n", "1,36\n1,37\n"])
def test_readings_of_one_time_have_no_energy_and_are_not_called_a_single_one(
    meter: Run, tmp_path: Path, rows: str
) -> None:
    (tmp_path / "old.csv").write_text(f"time_s,power_w\n{rows}")
    ended = meter("check", "old.csv")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "holds the readings of one time alone" in ended.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a,b\rc\xff,d\r1,2\r", "meter: old.csv"),
        (b"\r\r\xfe\x01\r,,\r", "old.csv has a heading, but no reading"),
        (b"time_s,power_w\n1e308,36\n1.1e308,36\n", "more than 1e+09 s after"),
        (b"PAR1\r\xff\r", "it is Parquet"),
    ],
)
@pytest.mark.parametrize("has_record", [False, True])
def test_files_that_are_no_table_are_one_sentence(
    meter: Run, tmp_path: Path, content: bytes, told: str, has_record: bool
) -> None:
    if has_record:
        Made(tmp_path).recording("old")
    (tmp_path / "old.csv").write_bytes(content)
    ended = meter("check", "old.csv")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    if not has_record or content.startswith(b"PAR1"):
        assert told in ended.stderr


@pytest.mark.parametrize("content", ["[]", ' [{"kind": "recording"}]', '"run"', "null"])
@pytest.mark.parametrize("command", ["check", "report"])
def test_json_that_is_no_record_is_not_read_as_a_table(
    meter: Run, tmp_path: Path, content: str, command: str
) -> None:
    (tmp_path / "run.json").write_text(content)
    ended = meter(command, "run.json")
    assert ended.returncode == 1
    assert ended.stderr == (
        "meter: run.json cannot be used: it is not the record of a recording; name the .csv file "
        "that `meter record` wrote, or the .json file beside it.\n"
    )


def test_a_table_whose_heading_begins_with_a_bracket_is_a_table(
    meter: Run, tmp_path: Path
) -> None:
    rows = "".join(f"{number},6.0\n" for number in range(20))
    (tmp_path / "run.csv").write_text(f"[time s],[power W]\n{rows}")
    columns = ("--columns", "time:s=1,power:W=2")
    ended = meter("check", "run.csv", *columns)
    assert ended.returncode == 0, ended.stderr


def test_a_quantity_may_be_named_once(meter: Run, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(HEAD + STEADY)
    ended = meter("check", "old.csv", "--columns", "power=P,power=T")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "--columns names power twice" in ended.stderr


def test_a_column_has_one_quantity(meter: Run, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(HEAD + STEADY)
    ended = meter("check", "old.csv", "--columns", "power=P,current=P,time=T")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "takes 'P' for power and for current" in ended.stderr


def test_a_pause_beyond_all_others_is_no_update_interval(
    meter: Run, tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text("time_s,power_w\n0,36\n1,36\n100000,36\n")
    assert "warning          reading-gaps: Gaps" in meter("check", "old.csv").stdout


def test_a_name_of_another_ending_is_not_the_recording_of_that_name(
    meter: Run, tmp_path: Path
) -> None:
    made = Made(tmp_path)
    made.recording()
    made.series("some", [steady(6.0)])
    ended = meter("check", "run.nonsense")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert "There is no file run.nonsense; run.json is the record of" in ended.stderr
    ended = meter("check", "some.nonsense")
    assert (ended.returncode, one_line(ended.stderr)) == (1, True)
    assert meter("check", "some.csv").returncode == 0


def test_the_budget_and_json_are_not_given_together(meter: Run, tmp_path: Path) -> None:
    Made(tmp_path).recording()
    ended = meter("check", "run.csv", "--budget", "csv", "--json")
    assert ended.returncode == 2
    assert "Give --budget or --json" in ended.stderr


def test_each_meter_of_several_is_named(meter: Run, tmp_path: Path) -> None:
    Made(tmp_path).group("pair", {"main": steady(6.0), "board": steady(5.0)})
    shown = meter("check", "pair.json").stdout.split("\n\n")
    assert [one.splitlines()[0].split() for one in shown] == [
        ["name", "main"],
        ["name", "board"],
    ]
    facts = json.loads(meter("check", "pair.json", "--json").stdout)
    assert [one["name"] for one in facts] == ["main", "board"]


def test_marks_of_a_power_log_have_their_energies(meter: Run, tmp_path: Path) -> None:
    stamp = "Time,01-22-2021 15:05:{:02}.322,Watts,36.0,Volts,120.0,Amps,0.3,PF,1.0"
    rows = [stamp.format(second) for second in range(60)]
    marks = ["notset"] * 10 + ["loadgen"] * 41 + ["notset"] * 9
    marked = [f"{row},Mark,{mark}" for row, mark in zip(rows, marks, strict=True)]
    (tmp_path / "spl.txt").write_text("\n".join(marked))
    ended = meter("check", "spl.txt")
    assert ended.returncode == 0, ended.stderr
    assert (
        "mark             loadgen: 0.4 Wh of unknown uncertainty, 36 W over 40 s"
        in ended.stdout
    )


def test_an_unknown_model_is_named(meter: Run, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text(HEAD + STEADY)
    ended = meter("check", "old.csv", "--model", "WT9000")
    assert ended.returncode == 1
    assert one_line(ended.stderr)
    assert "WT9000" in ended.stderr


def test_a_recording_of_2015_is_checked_without_claims_about_its_meter(
    meter: Run, recordings: Path
) -> None:
    ended = meter("check", str(recordings / "wt310_readings_user_330.csv"))
    assert ended.returncode == 0, ended.stderr
    assert "0.000729776 Wh" in ended.stdout
    assert "official" not in ended.stdout.split("not checked")[0]
    assert "holds            peak-clipping" not in ended.stdout


def test_a_file_that_is_not_there_is_one_sentence(meter: Run) -> None:
    ended = meter("check", "none.csv")
    assert ended.returncode == 1
    assert one_line(ended.stderr)
    assert "none.csv" in ended.stderr


def test_a_meter_or_an_attempt_that_has_no_energy_is_named_and_fails(
    meter: Run, tmp_path: Path
) -> None:
    made = Made(tmp_path)
    made.group("pair", {"main": steady(6.0), "board": steady(5.0)})
    made.series("some", [steady(6.0), steady(6.0)])
    for name, change, said in (
        ("pair", _main_lost, "main has no energy: No meter answers."),
        ("some", _stopped, "The series is not whole: attempt 3 ended the series."),
    ):
        assert meter("check", f"{name}.json").returncode == 0
        path = tmp_path / f"{name}.json"
        document = json.loads(path.read_text("utf-8"))
        change(document)
        path.write_text(json.dumps(document), "utf-8")
        ended = meter("check", f"{name}.json")
        assert ended.returncode == 1
        assert ended.stderr == f"meter: {said}\n"


def _main_lost(document: dict[str, Any]) -> None:
    document["members"][0]["failed"] = "No meter answers."


def _stopped(document: dict[str, Any]) -> None:
    document["stopped"] = "attempt 3 ended the series."
