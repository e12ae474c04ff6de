"""A recording in a with statement: what it gives, and what happens if the work, the meter or a person ends it."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_power import (
    DoubtfulEnergy,
    MeterError,
    OpenMeter,
    mark,
    open_meter,
    read_recorded,
)
from lpirc_power.marks.marking import ENVIRONMENT
from lpirc_power.recording_run import single_run
from lpirc_power.recording_run.recorder import Recorder
from lpirc_power.sampling.sampler import Sampler
from tests import warm_programs


class WorkFailed(Exception):
    """What the work raises."""


def test_a_recording_has_its_energy_within_the_stated_interval(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter, meter.recording("run.csv") as recording:
        until_measured(recording, 12)
    true_wh = 36 * recording.duration_s / 3600
    assert abs(recording.energy_wh - true_wh) <= recording.uncertainty_wh < math.inf
    assert recording.energy_j == recording.energy_wh * 3600
    assert 0 < recording.mean_power_uncertainty_w < math.inf
    off_w = abs(recording.mean_power_w - 36)
    mean = recording.recorded.mean_power
    assert mean is not None
    # The time is for certain within its half-width; rounding of WH is the rest.
    assert off_w <= 36 * mean.time.half_s / mean.time.lasted_s + 0.01
    assert recording.budget is not None
    assert recording.uncertainty_wh == recording.budget.coverage_wh
    assert recording.failed == ()
    assert recording.problem is None
    assert recording.meter == meter.identity
    assert recording.setup == meter.setup
    assert [one.code for one in recording.checks if not one.ok] == ["official-meter"]


def test_readings_are_columns_of_equal_length(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv") as recording:
        until_measured(recording, 6)
    readings = recording.readings
    assert {len(column) for column in readings.values()} == {
        len(recording.recorded.readings)
    }
    powers = readings["power_w"]
    assert powers.dtype == np.float64
    assert np.nanmin(powers) == np.nanmax(powers) == 36.0
    assert (np.diff(readings["time_s"]) > 0).all()
    assert readings["utc"].dtype == "datetime64[us]"
    assert not readings["over_range"].any()
    assert list(dict(readings)) == list(readings)
    assert f"{len(powers)} readings" in repr(readings)


def test_it_is_read_back_as_it_was(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    meter.idle(0.2)
    with meter.recording("run.csv") as recording, recording.mark("work"):
        until_measured(recording, 6)
    for file in ("run.csv", Path("run.json")):
        again = read_recorded(file)
        assert again.document() == recording.document()
        assert again.marks == recording.marks
        assert again.start == recording.start is not None
        assert again.problem == recording.problem
        assert again.notes == ()


def test_it_is_what_the_command_makes(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv") as recording:
        until_measured(recording, 6)
    options = ["--voltage-range", "150", "--current-range", "0.5", "--update", "0.1"]
    command = ["meter", "record", meter.address, "-o", "other.csv", *options]
    ended = warm_programs.run([*command, "--duration", "1", "--json"])
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told.keys() == recording.document().keys()
    assert [one["code"] for one in told["checks"]] == [
        one.code for one in recording.checks
    ]
    record = json.loads(Path("run.json").read_text())
    assert record.keys() == json.loads(Path("other.json").read_text()).keys()


def test_recordings_can_be_repeated_and_the_meter_has_its_settings_in_between(
    meter: OpenMeter,
    settings: Any,
    until_measured: Any,
) -> None:
    before = settings(meter)
    energies = []
    for _ in range(2):
        with meter.recording("run.csv", force=True) as recording:
            assert settings(meter) != before
            until_measured(recording, 3)
        energies.append(recording.energy_wh)
        assert settings(meter) == before
    assert len(set(energies)) == 2


def test_the_idle_power_is_that_of_the_recordings_after_it(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    idle = meter.idle(0.3)
    assert idle.power_w == 36.0
    with meter.recording("run.csv") as recording:
        until_measured(recording, 3)
    assert recording.idle == idle
    seconds = recording.recorded.measured.energy_s
    expected = recording.energy_wh - 36.0 * seconds / 3600
    assert recording.above_idle_wh == pytest.approx(expected, abs=1e-9)


def test_an_idle_time_of_its_own_is_measured_before_the_recording(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv", idle_s=0.3) as recording:
        until_measured(recording, 3)
    assert recording.idle is not None
    assert recording.idle.power_w == 36.0


def test_without_an_idle_power_there_is_no_energy_above_it(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv") as recording:
        until_measured(recording, 3)
    assert recording.idle is None
    assert math.isnan(recording.above_idle_wh)


def test_the_energy_is_refused_before_the_end(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    recording = meter.recording("run.csv")
    sentence = (
        "The recording run.csv has no energy before its with statement has ended."
    )
    with pytest.raises(MeterError) as early:
        _ = recording.energy_wh
    assert early.value.code == "recording-unfinished"
    assert early.value.sentence == sentence
    with recording:
        with pytest.raises(MeterError, match=sentence):
            _ = recording.uncertainty_wh
        assert repr(recording) == str(recording) == "<recording run.csv, not finished>"
        assert recording._repr_html_() == "&lt;recording run.csv, not finished&gt;"
        assert recording.path == Path("run.csv")
        until_measured(recording, 3)
    assert recording.energy_wh > 0


def test_what_was_measured_is_kept_when_the_work_raises(
    meter: OpenMeter,
    settings: Any,
    until_measured: Any,
) -> None:
    before = settings(meter)
    failure = WorkFailed("no weights")
    with pytest.raises(WorkFailed) as raised, meter.recording("run.csv") as recording:  # noqa: PT012
        until_measured(recording, 3)
        raise failure
    assert raised.value is failure
    assert recording.energy_wh > 0
    assert read_recorded("run.csv").energy_wh == recording.energy_wh
    assert settings(meter) == before
    with meter.recording("again.csv") as again:
        until_measured(again, 3)


def test_a_recording_is_made_once(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv") as recording:
        until_measured(recording, 2)
    with pytest.raises(MeterError, match=r"run\.csv has been made already; ask"):
        recording.__enter__()


def test_a_second_recording_at_the_same_time_is_refused_and_the_first_goes_on(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv") as recording:
        for second in (meter.recording("second.csv"), meter.recording("run.csv")):
            with pytest.raises(MeterError) as refused:
                second.__enter__()
            assert refused.value.code == "meter-busy"
            assert "is measuring run.csv; end that before you measure" in str(
                refused.value
            )
        with pytest.raises(MeterError, match="before you measure the idle power"):
            meter.idle(0.2)
        until_measured(recording, 3)
    assert recording.energy_wh > 0
    assert not Path("second.csv").exists()


def test_two_threads_take_turns_or_are_told(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    told: list[MeterError] = []

    def other() -> None:
        try:
            with meter.recording("other.csv") as recording:
                until_measured(recording, 3)
        except MeterError as error:
            told.append(error)

    with meter.recording("run.csv") as recording:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        until_measured(recording, 3)
    assert [one.code for one in told] == ["meter-busy"]
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert len(told) == 1
    assert read_recorded("other.csv").energy_wh > 0


def test_a_thread_that_is_not_the_main_one_may_record(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    energies: list[float] = []

    def work() -> None:
        with meter.recording("run.csv") as recording:
            until_measured(recording, 3)
        energies.append(recording.energy_wh)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert energies
    assert energies[0] > 0


def test_marks_come_from_any_thread_and_may_nest(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    recording = meter.recording("run.csv")

    def work() -> None:
        with recording.mark("other thread"):
            until_measured(recording, 4)

    with recording:
        thread = threading.Thread(target=work)
        with recording.mark("whole"):
            thread.start()
            with recording.mark("inner"):
                until_measured(recording, 4)
            thread.join()
    whole = recording.marks["whole"]
    assert next(iter(recording.marks)) == "whole"
    assert {*recording.marks} == {"whole", "inner", "other thread"}
    for one in recording.marks.values():
        assert one.count == 1
        assert 0 < one.duration_s <= whole.duration_s <= recording.duration_s
        assert one.mean_power_w == one.energy_wh * 3600 / one.duration_s
        assert one.each_wh == one.energy_wh
        assert one.budget is not None
        if one.budget.unknown:  # a busy host has missed updates of so short a mark
            assert math.isnan(one.uncertainty_wh)
            continue
        true_wh = 36 * one.duration_s / 3600
        assert abs(one.energy_wh - true_wh) <= one.uncertainty_wh
        assert 0 < one.uncertainty_wh == one.budget.coverage_wh


def test_stretches_of_one_name_are_added(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv") as recording:
        for rows in (2, 4, 6):
            with recording.mark("inference"):
                until_measured(recording, rows)
    one = recording.marks["inference"]
    assert one.count == 3
    assert one.each_wh == pytest.approx(one.energy_wh / 3)


def test_a_program_that_the_work_starts_may_mark_as_under_meter_record(
    meter: OpenMeter,
) -> None:
    code = "import time; from lpirc_power import mark\nwith mark('inference'): time.sleep(0.5)"
    with meter.recording("run.csv") as recording, recording.mark("whole"):
        subprocess.run([sys.executable, "-c", code], check=True)
    assert [*recording.marks] == ["whole", "inference"]
    assert 0.5 <= recording.marks["inference"].duration_s < recording.duration_s
    assert ENVIRONMENT not in os.environ


def test_code_that_marks_for_meter_record_marks_here_too_in_each_recording(
    meter: OpenMeter,
    until_measured: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for attempt in (1, 2):
        with (
            meter.recording("run.csv", force=True) as recording,
            mark(f"attempt {attempt}"),
        ):
            until_measured(recording, 3)
        assert [*recording.marks] == [f"attempt {attempt}"]
        assert recording.marks[f"attempt {attempt}"].count == 1
    assert caplog.messages == []


def test_marks_are_kept_in_case_the_kernel_is_killed(
    meter: OpenMeter,
    until: Any,
    until_measured: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(single_run, "INTERIM_S", 0.05)
    with meter.recording("run.csv") as recording:
        with recording.mark("first"):
            until_measured(recording, 3)
        until(lambda: '"first"' in Path("run.json").read_text())
        shutil.copy("run.csv", "killed.csv")
        shutil.copy("run.json", "killed.json")
    record = json.loads(Path("killed.json").read_text())
    Path("killed.json").write_text(json.dumps({**record, "file": "killed.csv"}))
    killed = read_recorded("killed.csv")
    assert [*killed.marks] == ["first"]
    assert [*recording.marks] == ["first"]


def test_a_mark_ends_when_its_work_raises(
    meter: OpenMeter,
) -> None:
    with (
        pytest.raises(WorkFailed),
        meter.recording("run.csv") as recording,
        recording.mark("broken"),
    ):
        raise WorkFailed
    assert recording.marks["broken"].count == 1


def test_a_mark_outside_of_the_recording_or_without_a_name_is_refused(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    recording = meter.recording("run.csv")
    with pytest.raises(MeterError, match=r"Nothing is being recorded to run\.csv"):
        recording.mark("early").__enter__()
    with recording:
        until_measured(recording, 3)
        with pytest.raises(MeterError) as nameless:
            recording.mark("  ").__enter__()
    assert nameless.value.code == "mark-name"
    with pytest.raises(MeterError, match=r"Nothing is being recorded to run\.csv"):
        recording.mark("late").__enter__()
    assert recording.marks == {}


def test_a_file_that_exists_is_kept_and_the_sentence_names_the_argument(
    meter: OpenMeter,
) -> None:
    Path("run.csv").write_text("mine")
    with pytest.raises(MeterError) as refused, meter.recording("run.csv"):
        pass
    assert refused.value.sentence == (
        "run.csv exists already; choose another name, or give force=True."
    )
    assert str(refused.value) == refused.value.sentence
    assert refused.value.code == "recording-file"
    assert Path("run.csv").read_text() == "mine"


def test_a_meter_that_is_in_use_is_refused_in_the_words_of_python(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with meter.recording("run.csv") as recording:
        other = open_meter(meter.address, update_interval_s=0.1)
        with pytest.raises(MeterError, match="give take_over=True") as refused:
            other.recording("second.csv").__enter__()
        assert refused.value.code == "meter-busy"
        until_measured(recording, 4)
    assert recording.energy_wh > 0


def test_a_recording_that_could_not_begin_leaves_the_meter_free(
    meter: OpenMeter,
    until_measured: Any,
) -> None:
    with pytest.raises(MeterError, match="There is no folder"):
        meter.recording("none/run.csv").__enter__()
    with meter.recording("run.csv") as recording:
        until_measured(recording, 3)


def test_a_doubtful_energy_is_a_warning_and_the_problem_says_what_is_wrong(
    simulate: Any,
    opened: Any,
    until_measured: Any,
) -> None:
    meter = opened(simulate("--load", "constant:36W,crest=9").address)
    with pytest.warns(DoubtfulEnergy, match="peak-clipping") as warned:  # noqa: SIM117
        with meter.recording("run.csv") as recording:
            until_measured(recording, 3)
    assert warned[0].filename == __file__
    failure = WorkFailed()
    with pytest.raises(WorkFailed), meter.recording("broken.csv") as broken:  # noqa: PT012
        until_measured(broken, 3)
        raise failure
    assert failure.__notes__ == [broken.problem]
    assert recording.failed == ("peak-clipping",)
    assert recording.problem is not None
    assert "needs review: peak-clipping" in recording.problem
    assert "peak-clipping" in str(read_recorded("run.csv").problem)


def test_a_meter_that_is_lost_at_the_end_fails_with_the_sentence_of_the_command(
    simulate: Any,
    opened: Any,
    until_measured: Any,
) -> None:
    simulator = simulate()
    recording = opened(simulator.address).recording("run.csv")
    with pytest.raises(MeterError, match="The energy could not be read"):  # noqa: PT012, SIM117
        with recording:
            until_measured(recording, 3)
            simulator.kill()
    with pytest.raises(MeterError, match="has no energy, since it ended with an error"):
        _ = recording.energy_wh
    cut = read_recorded("run.csv")
    assert cut.energy_wh > 0
    assert "cut off" in cut.notes[0]


def test_work_that_raises_while_the_meter_is_lost_raises_its_own_error_with_a_note(
    simulate: Any,
    opened: Any,
    until_measured: Any,
) -> None:
    simulator = simulate()
    recording = opened(simulator.address).recording("run.csv")
    with pytest.raises(WorkFailed) as raised, recording:  # noqa: PT012
        until_measured(recording, 3)
        simulator.kill()
        raise WorkFailed
    (note,) = raised.value.__notes__
    assert note.startswith("The recording failed, too: ")


def test_another_meter_at_the_address_is_not_measured(
    simulate: Any,
    relay: Any,
    opened: Any,
) -> None:
    cable = relay(simulate("--model", "WT310").port)
    meter = opened(cable.address)
    cable.lead_to(simulate("--model", "WT310E").port)
    with pytest.raises(MeterError, match="Another meter answers: YOKOGAWA WT310E"):
        meter.recording("run.csv").__enter__()
    assert not Path("run.csv").exists()


def test_a_closed_meter_records_no_more(
    meter: OpenMeter,
) -> None:
    with meter:
        pass
    with pytest.raises(MeterError) as closed, meter.recording("run.csv"):
        pass
    assert closed.value.code == "meter-closed"


def test_ctrl_c_in_the_work_ends_the_recording_with_its_energy(
    meter: OpenMeter,
    settings: Any,
    until_measured: Any,
) -> None:
    before = settings(meter)
    with pytest.raises(KeyboardInterrupt), meter.recording("run.csv") as recording:  # noqa: PT012
        until_measured(recording, 3)
        signal.raise_signal(signal.SIGINT)
    assert recording.energy_wh > 0
    assert settings(meter) == before


@pytest.mark.parametrize("step", ["arm", "start", "note_start"])
def test_ctrl_c_during_the_start_waits_for_the_answer_and_leaves_the_meter_as_it_was(
    meter: OpenMeter,
    settings: Any,
    until_measured: Any,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    before = settings(meter)
    done = getattr(Recorder, step)

    def interrupted(self: Recorder, *given: Any) -> object:
        signal.raise_signal(signal.SIGINT)
        return done(self, *given)

    monkeypatch.setattr(Recorder, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        meter.recording("run.csv").__enter__()
    monkeypatch.setattr(Recorder, step, done)
    assert settings(meter) == before
    assert [*Path().iterdir()] == []
    with meter.recording("run.csv") as recording:
        until_measured(recording, 3)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_at_the_end_does_not_cost_the_energy(
    meter: OpenMeter,
    settings: Any,
    until_measured: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = settings(meter)
    stop = Recorder.stop

    def interrupted(self: Recorder) -> object:
        signal.raise_signal(signal.SIGINT)
        return stop(self)

    monkeypatch.setattr(Recorder, "stop", interrupted)
    with pytest.raises(KeyboardInterrupt), meter.recording("run.csv") as recording:  # noqa: PT012
        until_measured(recording, 3)
        signal.raise_signal(signal.SIGINT)
    assert recording.energy_wh > 0
    assert read_recorded("run.csv").energy_wh == recording.energy_wh
    assert settings(meter) == before


def test_ctrl_c_ends_the_idle_measurement(
    meter: OpenMeter,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = settings(meter)
    arm = Sampler.arm

    def interrupted(self: Sampler, **given: Any) -> object:
        signal.raise_signal(signal.SIGINT)
        return arm(self, **given)

    monkeypatch.setattr(Sampler, "arm", interrupted)
    with pytest.raises(KeyboardInterrupt):
        meter.idle(3600)
    assert settings(meter) == before


def test_readings_go_on_over_a_cut_cable_and_the_energy_is_whole(
    simulate: Any,
    relay: Any,
    opened: Any,
    until: Any,
    until_measured: Any,
) -> None:
    cable = relay(simulate("--load", "constant:36W").port)
    with opened(cable.address).recording("run.csv") as recording:
        until_measured(recording, 3)
        cable.cut()
        until(lambda: recording_is_silent())
        cable.mend()
        until_measured(recording, recording_rows() + 3)
    true_wh = 36 * recording.duration_s / 3600
    assert abs(recording.energy_wh - true_wh) <= recording.uncertainty_wh
    assert [one.kind for one in recording.recorded.link_events] == [
        "meter-lost",
        "meter-back",
    ]


def recording_rows() -> int:
    return Path("run.csv").read_text().count("\n")


def recording_is_silent() -> bool:
    before = recording_rows()
    threading.Event().wait(0.4)
    return recording_rows() == before
