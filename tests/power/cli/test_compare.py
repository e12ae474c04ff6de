"""`meter compare`: what is said of two measurements, and what speaks against comparing them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.record.document import Mark
from lpirc_power.sampling.polling import Idle
from tests.power.cli.conftest import Run, one_line
from tests.power.made_recordings import IDENTITY, SETUP, Made, steady

FIRST = (6.0, 6.01, 5.99, 6.0, 6.005)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def loads(*watts: float, times: float = 1.0) -> list[object]:
    return [steady(one * times) for one in watts]


def test_two_series_of_one_meter_show_a_difference_of_3_percent(
    meter: Run,
    made: Made,
) -> None:
    made.series("a", loads(*FIRST))  # type: ignore[arg-type]
    made.series("b", loads(*FIRST, times=0.97), start_s=1000.0)  # type: ignore[arg-type]
    ended = meter(
        "compare",
        "a.json",
        "b.json",
    )
    assert ended.returncode == 0, ended.stderr
    first = ended.stdout.splitlines()[0]
    assert first.startswith("B takes 3.")
    assert " % less, interval " in first
    assert "warning" not in ended.stdout
    facts = json.loads(
        meter(
            "compare",
            "a.csv",
            "b.csv",
            "--json",
        ).stdout
    )
    assert facts["is_shown"] is True
    assert facts["ratio"] == pytest.approx(0.97, abs=1e-4)
    assert facts["ratio_interval"][1] < 1.0
    assert facts["is_same_meter_and_setup"] is True


def test_an_interval_is_of_the_files_without_times(meter: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Power (W),Note\n5,x\n5,y\n5,z\n")
    (tmp_path / "b.csv").write_text("Time (s),Power (W)\n0,6\n1,6\n2,6\n")
    ended = meter("compare", "a.csv", "b.csv", "--interval", "1")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("B takes 20")
    (tmp_path / "a.csv").write_text("Time (s),Power (W)\n0,5\n1,5\n2,5\n")
    ended = meter("compare", "a.csv", "b.csv", "--interval", "1")
    assert ended.returncode == 1
    assert "a.csv has times of its own, in the column 'Time (s)'; " in ended.stderr


def test_files_of_each_side_are_given_around_with(
    meter: Run,
    made: Made,
) -> None:
    for number, watts in enumerate(FIRST, start=1):
        made.recording(
            f"a-{number}",
            load=steady(watts),
            start_s=100.0 * number,
        )
        made.recording(
            f"b-{number}", load=steady(watts * 1.05), start_s=100.0 * number + 50
        )
    files = [f"a-{number}.csv" for number in range(1, 6)]
    others = [f"b-{number}.csv" for number in range(1, 6)]
    ended = meter(
        "compare", *files, "--with", *others, "--paired", "--names", "old", "new"
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("new takes 5.")
    assert "5 pairs" in ended.stdout
    assert "not made in turn" not in ended.stdout


def test_pairs_that_were_not_made_in_turn_are_warned_of(
    meter: Run,
    made: Made,
) -> None:
    made.series("a", loads(*FIRST))  # type: ignore[arg-type]
    made.series("b", loads(*FIRST), start_s=1000.0)  # type: ignore[arg-type]
    ended = meter("compare", "a.json", "b.json", "--paired")
    assert "were not made in turn" in ended.stdout


def test_no_difference_is_said_with_what_would_have_been_shown(
    meter: Run,
    made: Made,
) -> None:
    made.length_s = 50.0
    made.series("a", loads(6.0, 6.5, 5.5))  # type: ignore[arg-type]
    made.series("b", loads(6.1, 5.6, 6.4), start_s=1000.0)  # type: ignore[arg-type]
    ended = meter(
        "compare",
        "a.json",
        "b.json",
    )
    assert ended.returncode == 0
    first = ended.stdout.splitlines()[0]
    assert first.startswith("No difference is shown")
    assert ": B takes from " in first
    assert "more attempts of each would narrow that to +-2 %" in first


def test_errors_of_start_and_stop_are_not_made_smaller_by_attempts(
    meter: Run,
    made: Made,
) -> None:
    made.length_s = 4.0
    made.series("a", loads(6.0, 6.5, 5.5))  # type: ignore[arg-type]
    made.series("b", loads(6.1, 5.6, 6.4), start_s=1000.0)  # type: ignore[arg-type]
    said = meter(
        "compare",
        "a.json",
        "b.json",
    ).stdout.splitlines()[0]
    assert "more attempts alone would not narrow that to +-2 %" in said
    assert "longer recordings" in said


def test_single_recordings_cannot_show_a_difference(
    meter: Run,
    made: Made,
) -> None:
    made.recording(
        "a",
    )
    made.recording(
        "b",
        load=steady(7.0),
    )
    ended = meter(
        "compare",
        "a.csv",
        "b.csv",
    )
    assert ended.returncode == 0
    assert "a single attempt cannot tell" in ended.stdout
    assert (
        json.loads(
            meter(
                "compare",
                "a.csv",
                "b.csv",
                "--json",
            ).stdout
        )["is_shown"]
        is None
    )


def test_other_meters_setups_commands_and_lengths_are_warned_of(
    meter: Run,
    made: Made,
) -> None:
    other = replace(
        IDENTITY,
        serial="C2",
    )
    setup = replace(
        SETUP,
        current_range_a=0.2,
    )
    made.recording(
        "a",
    )
    made.recording(
        "b",
        identity=other,
        setup=setup,
        length_s=12.0,
    )
    ended = meter(
        "compare",
        "a.csv",
        "b.csv",
    )
    for words in ("The meters differ", "current_range_a", "last 10.000 s on average"):
        assert words in ended.stdout
    made.recording(
        "d",
        start_s=90_000.0,
    )
    assert (
        "lie 25 h apart"
        in meter(
            "compare",
            "a.csv",
            "d.csv",
        ).stdout
    )
    made.recording(
        "c",
        command=("./other",),
        start_s=300.0,
    )
    ended = meter("compare", "a.csv", "c.csv", "--with", "b.csv")
    assert "The commands of A differ: ./detect images; ./other." in ended.stdout


def test_the_energies_of_a_mark_are_compared(
    meter: Run,
    made: Made,
) -> None:
    def load(times: float) -> Callable[[float], float]:
        return lambda since_s: 6.0 * times if 2.0 < since_s < 8.0 else 2.0

    for number in range(3):
        start_s = 100.0 * number
        marks = (Mark("inference", start_s + 2.5, start_s + 7.5),)
        made.recording(
            f"a-{number}", load=load(1.0 + number / 1e3), start_s=start_s, marks=marks
        )
        start_s += 50.0
        marks = (Mark("inference", start_s + 2.5, start_s + 7.5),)
        made.recording(
            f"b-{number}", load=load(1.1 + number / 1e3), start_s=start_s, marks=marks
        )
    files = [f"a-{number}.csv" for number in range(3)]
    others = [f"b-{number}.csv" for number in range(3)]
    ended = meter("compare", *files, "--with", *others, "--mark", "inference", "--json")
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    assert facts["ratio"] == pytest.approx(1.1, abs=0.001)
    assert facts["mark"] == "inference"


def test_what_was_assumed_of_tables_of_other_programs_is_said_of_both_sides(
    meter: Run, made: Made
) -> None:
    for name, power_w in (("a", 6.0), ("b", 5.0), ("c", 5.1)):
        rows = "".join(f"{number},{power_w}\n" for number in range(1, 50))
        table = f"Zeit,Leistung\n0,1.5\n{rows}"
        (made.folder / f"{name}.csv").write_text(table)
    stated = ("--columns", "time:s=1,power:W=2")
    ended = meter("compare", "a.csv", "--with", "b.csv", "c.csv", *stated)
    assert ended.returncode == 0, ended.stderr
    checked = meter("check", "a.csv", *stated)
    notes = [one for one in checked.stdout.splitlines() if one.startswith("note ")]
    named = [one for one in notes if "does not name the meter" in one]
    assert len(named) == 1
    assert len(notes) > 1
    for one in {*notes} - {*named}:
        sentence = one.removeprefix("note").strip()
        assert ended.stdout.count(f"a.csv, b.csv, c.csv: {sentence}") == 1
    assert "does not name the meter" not in ended.stdout
    assert ended.stdout.count("The meter of a.csv, b.csv, c.csv is unknown") == 1


def test_a_csv_file_alone_that_may_be_cut_off_is_told(meter: Run, made: Made) -> None:
    made.recording("b", start_s=100.0)
    path = made.recording("a")
    path.with_suffix(".json").unlink()
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(rows[:-1]))
    ended = meter("compare", "a.csv", "b.csv")
    assert ended.returncode == 0, ended.stderr
    assert "a.csv: The recording does not say that the meter was stopped" in (
        ended.stdout
    )
    assert "There is no record" not in ended.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--names", "x", "x"), "--names gives 'x' and 'x'"),
        (("--names", "", "y"), "--names gives '' and 'y'"),
        (("--names", "x", "ratio"), "'ratio' begins another line of the result"),
        (("--names", "Difference", "x"), "'Difference' begins another line"),
        (("--names", "page", "x"), "'page' begins another line"),
        (("--least", "nan"), "nan is not a usable number"),
        (("--mark", ""), "--mark has no name"),
    ],
)
def test_options_that_say_nothing_are_refused(
    meter: Run, made: Made, options: tuple[str, ...], told: str
) -> None:
    made.recording("a")
    made.recording("b", start_s=100.0)
    ended = meter("compare", "a.csv", "b.csv", *options)
    assert ended.returncode == 2
    assert told in ended.stderr


def test_marks_that_were_set_another_number_of_times_are_a_warning(
    meter: Run,
    made: Made,
) -> None:
    once = (Mark("inference", 1.0, 4.0),)
    thrice = [Mark("inference", at_s, at_s + 1.0) for at_s in (1.0, 3.0, 5.0)]
    made.recording("a", marks=once)
    made.recording("b", start_s=100.0, marks=[Mark("inference", 101.0, 104.0)])
    later = [Mark("inference", 200 + one.begin_s, 200 + one.end_s) for one in thrice]  # type: ignore[operator]
    made.recording("c", start_s=200.0, marks=later)
    same = meter("compare", "a.csv", "b.csv", "--mark", "inference").stdout
    assert "The mark was set" not in same
    told = meter("compare", "a.csv", "c.csv", "--mark", "inference").stdout
    assert "set once in a recording of A and 3 times in a recording of B" in told
    told = meter(
        "compare", "a.csv", "c.csv", "--with", "b.csv", "--mark", "inference"
    ).stdout
    assert "set 1 or 3 times in a recording of A and once in a recording of B" in told


def test_the_energies_above_idle_are_compared(
    meter: Run,
    made: Made,
) -> None:
    made.idle = Idle(2.0, 5.0, 50, 0.01, 0.002, 9.0, 120.0, 2.0 / 120.0, 2.0)
    for number in range(3):
        made.recording(
            f"a-{number}",
            start_s=100.0 * number,
        )
        made.recording(
            f"b-{number}",
            load=steady(8.0),
            start_s=100.0 * number + 50,
        )
    files = [f"a-{number}.csv" for number in range(3)]
    others = [f"b-{number}.csv" for number in range(3)]
    ended = meter("compare", *files, "--with", *others, "--above-idle")
    assert ended.returncode == 0, ended.stderr
    assert "those above idle" in ended.stdout
    facts = json.loads(
        meter("compare", *files, "--with", *others, "--above-idle", "--json").stdout
    )
    assert facts["ratio"] == pytest.approx(1.5, abs=0.001)
    assert facts["above_idle"] is True
    made.idle = None
    made.recording(
        "c",
        start_s=900.0,
    )
    refused = meter("compare", "a-1.csv", "c.csv", "--above-idle")
    assert refused.returncode == 1
    assert "c.csv has no idle power" in refused.stderr


def test_attempts_that_warmed_up_are_left_out(
    meter: Run,
    made: Made,
) -> None:
    for number in range(4):
        made.recording(
            f"a-{number}",
            start_s=100.0 * number,
        )
    path = made.folder / "a-0.json"
    document = json.loads(path.read_text())
    document["part"] = {"kind": "series", "whole": "a.json", "name": "warm-up 1"}
    path.write_text(json.dumps(document))
    ended = meter("compare", "a-0.csv", "a-1.csv", "--with", "a-2.csv", "a-3.csv")
    assert ended.returncode == 0, ended.stderr
    assert "Left out, since they were recorded to warm up: a-0.csv." in ended.stdout
    assert "a single attempt cannot tell" in ended.stdout


def test_files_of_other_programs_are_compared_without_the_meter_s_errors(
    meter: Run, tmp_path: Path
) -> None:
    for name, watts in (("a", 6.0), ("b", 7.0)):
        rows = "".join(f"{second},{watts}\n" for second in range(20))
        (tmp_path / f"{name}.csv").write_text(f"t,P\n{rows}")
    ended = meter(
        "compare",
        "a.csv",
        "b.csv",
    )
    assert ended.returncode == 0, ended.stderr
    assert "The meter of a.csv, b.csv is unknown" in ended.stdout
    assert "the error of the reading is unknown and not in it." in ended.stdout


def attempts(made: Made, name: str, *watts: float, **different: object) -> list[str]:
    """Recordings of one side, and their files."""
    files = [f"{name}-{number}" for number in range(len(watts))]
    for number, (file, power_w) in enumerate(zip(files, watts, strict=True)):
        start_s = 100.0 * number + 20.0 * "abc".index(name[0])
        made.recording(
            file,
            load=steady(power_w),
            start_s=start_s,
            **different,
        )
    return [f"{file}.csv" for file in files]


def facts_of(
    meter: Run, first: list[str], second: list[str], *more: str
) -> dict[str, Any]:
    ended = meter("compare", *first, "--with", *second, "--json", *more)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_with_automatic_ranges_nothing_cancels(
    meter: Run,
    made: Made,
) -> None:
    """36 W in one range against 5 W in another once had an interval of 86.11 to 86.11 %."""
    automatic = replace(
        SETUP,
        voltage_range_v=None,
        current_range_a=None,
    )
    first = attempts(
        made,
        "a",
        6.0,
        6.0,
        setup=automatic,
    )
    second = attempts(
        made,
        "b",
        3.0,
        3.0,
        setup=automatic,
    )
    facts = facts_of(
        meter,
        first,
        second,
    )
    assert facts["cancels"] == "nothing"
    assert any("No fixed range is known" in one for one in facts["warnings"])
    low, high = facts["ratio_interval"]
    assert high - low > 0.004


def test_between_other_loads_in_one_range_only_the_reading_s_error_cancels(
    meter: Run,
    made: Made,
) -> None:
    first = attempts(
        made,
        "a",
        6.0,
        6.0,
    )
    for power_w, cancels in ((6.1, "all"), (5.6, "reading"), (3.0, "reading")):
        second = attempts(
            made,
            f"b{power_w}",
            power_w,
            power_w,
        )
        facts = facts_of(
            meter,
            first,
            second,
        )
        assert facts["cancels"] == cancels
    setup = replace(
        SETUP,
        current_range_a=0.2,
    )
    facts = facts_of(
        meter,
        first,
        attempts(
            made,
            "c",
            6.0,
            6.0,
            setup=setup,
        ),
    )
    assert facts["cancels"] == "nothing"


def test_the_verdict_is_the_same_whichever_side_is_first(
    meter: Run,
    made: Made,
) -> None:
    made.series("a", loads(6.0, 6.6, 5.2))  # type: ignore[arg-type]
    made.series("b", loads(4.0, 5.1, 4.5), start_s=1000.0)  # type: ignore[arg-type]
    forth, back = (
        json.loads(meter("compare", *files, "--json").stdout)
        for files in (("a.json", "b.json"), ("b.json", "a.json"))
    )
    assert forth["is_shown"] is back["is_shown"]
    low, high = forth["difference_interval_wh"]
    assert back["difference_interval_wh"] == [-high, -low]
    low, high = forth["ratio_interval"]
    assert back["ratio_interval"] == pytest.approx([1 / high, 1 / low])


def test_simulated_meters_without_a_serial_number_are_told_apart_by_their_addresses(
    meter: Run,
    made: Made,
) -> None:
    plain = replace(
        IDENTITY,
        serial="SIMULATED",
    )
    first = attempts(
        made,
        "a",
        6.0,
        6.0,
        identity=plain,
    )
    second = attempts(
        made,
        "b",
        6.01,
        6.01,
        identity=plain,
    )
    assert (
        facts_of(
            meter,
            first,
            second,
        )["cancels"]
        == "all"
    )
    for name in ("b-0", "b-1"):
        path = made.folder / f"{name}.json"
        document = json.loads(path.read_text())
        path.write_text(json.dumps(document | {"address": "sim:constant:6W"}))
    facts = facts_of(
        meter,
        first,
        second,
    )
    assert facts["cancels"] == "nothing"
    assert facts["is_same_meter_and_setup"] is False
    assert any("have several addresses" in one for one in facts["warnings"])


def test_recordings_of_a_part_of_the_work_are_named_and_count_only_if_asked_for(
    meter: Run,
    made: Made,
) -> None:
    first = attempts(
        made,
        "a",
        6.0,
        6.01,
        5.99,
        9.0,
        9.1,
    )
    second = attempts(
        made,
        "b",
        6.0,
        6.01,
    )
    for name, code in (("a-3", 3), ("a-4", 130)):
        path = made.folder / f"{name}.json"
        document = json.loads(path.read_text())
        document["ended"]["exit_code"] = code
        path.write_text(json.dumps(document))
    path = made.folder / "a-2.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"ended": None}))
    rows = path.with_suffix(".csv").read_text().splitlines(keepends=True)
    path.with_suffix(".csv").write_text("".join(rows[:-1]))  # without that of the stop
    facts = facts_of(
        meter,
        first,
        second,
    )
    assert facts["sides"][0]["files"] == ["a-0.csv", "a-1.csv"]
    said = " ".join(facts["warnings"])
    assert "a-2.csv was cut off; it does" in said
    assert "a-3.csv is of a COMMAND that failed, with exit code 3; it does not" in said
    assert "a-4.csv was interrupted: signal 2 ended its COMMAND; it does not" in said
    facts = facts_of(
        meter,
        first,
        second,
        "--incomplete",
    )
    assert len(facts["sides"][0]["files"]) == 5
    assert "a-3.csv is of a COMMAND that failed" in " ".join(facts["warnings"])
    refused = meter(
        "compare",
        "a-3.csv",
        "b-0.csv",
    )
    assert refused.returncode == 1
    assert "A has no attempt that counts: a-3.csv is of a COMMAND" in refused.stderr
    assert one_line(refused.stderr)


def test_an_attempt_that_its_series_has_too_is_named_with_the_series(
    meter: Run, made: Made
) -> None:
    folder = made.series("a", loads(6.0, 6.5)).parent  # type: ignore[arg-type]
    for number in (1, 2):
        path = folder / f"a-{number}.json"
        part = {"kind": "series", "whole": "a.json", "name": str(number)}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"part": part}))
    refused = meter("compare", "a.json", "a-1.csv")
    said = "a-1.csv is given by itself and as an attempt of a.json; give each"
    assert said in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("a.csv",), 2, "1 files are given"),
        (("a.csv", "b.csv", "a.csv"), 2, "3 files are given"),
        (("a.csv", "--with", "b.csv", "c.csv", "--paired"), 2, "A has 1, B has 2"),
        (
            ("a.csv", "a.csv", "--with", "b.csv"),
            1,
            "a.csv is given twice; give each recording once",
        ),
        (
            ("a.csv", "copy.csv", "--with", "b.csv"),
            1,
            "copy.csv is the recording that a.csv is",
        ),
        (("a.csv", "a.csv"), 1, "give each recording once"),
        (
            ("a.csv", "b.csv", "--mark", "load"),
            1,
            "no stretch that is marked 'load'; it has none",
        ),
        (("a.csv", "none.csv"), 1, "none.csv"),
        (("a.csv", "g.json"), 1, "several meters (main, board)"),
        (("a.csv", "zero.csv", "--incomplete"), 1, "energies above 0"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    meter: Run, made: Made, arguments: tuple[str, ...], code: int, words: str
) -> None:
    made.recording(
        "a",
    )
    made.recording(
        "b",
        start_s=100.0,
    )
    made.recording(
        "c",
        start_s=200.0,
    )
    made.recording(
        "copy",
    )
    made.recording(
        "zero",
        load=steady(0.0),
    )
    made.group("g", {"main": steady(7.0), "board": steady(6.0)})
    ended = meter("compare", *arguments)
    assert ended.returncode == code
    assert words in " ".join(ended.stderr.split())
    if code == 1:
        assert one_line(ended.stderr)


def test_two_attempts_by_meters_without_limits_have_the_interval_of_start_and_stop(
    meter: Run,
    made: Made,
) -> None:
    unknown = replace(
        IDENTITY,
        model="X1",
    )
    made.recording(
        "a",
        identity=unknown,
    )
    made.recording(
        "b",
        identity=unknown,
        start_s=1000.0,
    )
    ended = meter(
        "compare",
        "a.csv",
        "b.csv",
    )
    assert ended.returncode == 0, ended.stderr
    assert "The interval holds the known errors alone, since a single" in ended.stdout
    assert "the error of the reading is unknown and not in it." in ended.stdout
    assert "A and B: One term of the uncertainty is unknown: the error" in ended.stdout


def test_a_difference_of_other_programs_files_is_not_shown_while_the_meter_is_unknown(
    meter: Run, tmp_path: Path
) -> None:
    for side, watts in (("a", 6.0), ("b", 7.0)):
        for number in range(3):
            level = watts * (1 + 0.002 * number)
            rows = "".join(f"{second},{level}\n" for second in range(20))
            (tmp_path / f"{side}{number}.csv").write_text(f"t,P\n{rows}")
    files = [f"a{number}.csv" for number in range(3)]
    others = [f"b{number}.csv" for number in range(3)]
    ended = meter("compare", *files, "--with", *others, "--paired")
    assert ended.returncode == 0, ended.stderr
    first = ended.stdout.splitlines()[0]
    assert first.startswith(
        "No difference is shown, since the error of the reading is unknown. By the "
        "known errors alone, B would take 16.7 % more, interval "
    )
    told = meter("compare", *files, "--with", *others, "--paired", "--json")
    facts = json.loads(told.stdout)
    assert facts["is_shown"] is False
    assert facts["unknown"] == ["the error of the reading"]
    assert facts["meter_half_width_wh"] is None
    assert "in turn" not in ended.stdout
